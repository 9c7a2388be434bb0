use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use nix::libc;

use super::{BlockDevice, ReadError, check_range};

/// An image file or a block device, past the system's cache: reads come from the drive, and a write returns when it
/// is on the medium.
///
/// Offsets and lengths have to be whole multiples of [`granularity`](Self::granularity).
#[derive(Debug)]
pub struct DirectDevice {
    file: File,
    size: u64,
    granularity: u64,
}

/// The system takes bytes from memory, and puts them there, only where a page of this size begins, or finer.
const PAGE: usize = 4096;
/// No device has larger logical sectors.
const COARSEST: u64 = 65536;

impl DirectDevice {
    /// Opens what is open for writing once more, past the cache.
    ///
    /// # Errors
    /// Those of the operating system; among them that the file system cannot do it.
    pub fn again(file: &File) -> io::Result<Self> {
        Self::open(file, libc::O_DIRECT | libc::O_DSYNC)
    }

    /// The same, but a write is on the medium only when a flush behind it has returned.
    pub(super) fn for_bulk(file: &File) -> io::Result<Self> {
        Self::open(file, libc::O_DIRECT)
    }

    fn open(file: &File, flags: i32) -> io::Result<Self> {
        // By the descriptor, so that it is the same file whatever its path leads to by now.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let size = file.seek(SeekFrom::End(0))?;
        let mut device = Self { file, size, granularity: 512 };
        // Neither the logical sector nor the file system's block is always the smallest unit.
        while let Err(error) = device.fill(device.granularity, &mut vec![0; device.unit_len()]) {
            if !is_invalid(&error) || device.granularity >= COARSEST {
                return Err(error);
            }
            device.granularity *= 2;
        }
        Ok(device)
    }

    /// The smallest unit of reads and writes in bytes, a power of two.
    pub fn granularity(&self) -> u64 {
        self.granularity
    }

    fn unit_len(&self) -> usize {
        usize::try_from(self.granularity).unwrap_or(PAGE)
    }

    /// Whether the drive can take these bytes from where they are in memory, or put them there. Most can.
    fn is_in_place(&self, bytes: &[u8]) -> bool {
        bytes.as_ptr().align_offset(self.unit_len()) == 0
    }

    fn fill(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.is_in_place(buffer) {
            let filled = self.file.read_exact_at(buffer, offset);
            if !filled.as_ref().is_err_and(is_invalid) {
                return filled;
            }
        }
        let mut memory = vec![0; buffer.len() + PAGE];
        let page = on_page(&mut memory, buffer.len());
        self.file.read_exact_at(page, offset)?;
        buffer.copy_from_slice(page);
        Ok(())
    }
}

/// What the system says of bytes that are not where it wants them.
fn is_invalid(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

/// The part of `memory` that begins with a page.
fn on_page(memory: &mut [u8], len: usize) -> &mut [u8] {
    let start = memory.as_ptr().align_offset(PAGE);
    memory.get_mut(start..start + len).expect("there is a page more than is asked for")
}

impl BlockDevice for DirectDevice {
    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        check_range(offset, buffer.len(), self.size)?;
        self.fill(offset, buffer).map_err(|source| ReadError::Io { offset, source })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        check_range(offset, bytes.len(), self.size).map_err(io::Error::other)?;
        if self.is_in_place(bytes) {
            let written = self.file.write_all_at(bytes, offset);
            if !written.as_ref().is_err_and(is_invalid) {
                return written;
            }
        }
        let mut memory = vec![0; bytes.len() + PAGE];
        let page = on_page(&mut memory, bytes.len());
        page.copy_from_slice(bytes);
        self.file.write_all_at(page, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
