use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::{BlockDevice, ReadError, check_range, read_only};

/// An image file or a block device of the machine.
#[derive(Debug)]
pub struct FileDevice {
    file: File,
    size: u64,
    writable: bool,
}

impl FileDevice {
    /// Opens `path` for reading only.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::new(File::open(path)?, false)
    }

    /// Opens `path` for reading and writing.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open_writable(path: &Path) -> io::Result<Self> {
        Self::new(OpenOptions::new().read(true).write(true).open(path)?, true)
    }

    /// A file that was opened for reading and writing.
    ///
    /// # Errors
    /// When its end cannot be found.
    pub fn of_writable(file: File) -> io::Result<Self> {
        Self::new(file, true)
    }

    fn new(mut file: File, writable: bool) -> io::Result<Self> {
        // The length in a block device's metadata is 0: only seeking finds its end.
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, size, writable })
    }

    /// The open file, for what only the operating system can be asked.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl BlockDevice for FileDevice {
    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        check_range(offset, buffer.len(), self.size)?;
        self.file.read_exact_at(buffer, offset).map_err(|source| ReadError::Io { offset, source })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if !self.writable {
            return Err(read_only());
        }
        // A write past the end would silently make an image larger than its disk.
        check_range(offset, bytes.len(), self.size).map_err(io::Error::other)?;
        self.file.write_all_at(bytes, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn forget_cached(&self) {
        // Advice: where it is not taken, reads come from memory.
        let _ = posix_fadvise(&self.file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_never_grows_and_a_check_never_writes() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, [0; 1024]).unwrap();

        let device = FileDevice::open_writable(&path).unwrap();
        device.write_at(1000, &[7; 24]).unwrap();
        assert!(device.write_at(1000, &[7; 25]).is_err());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 1024);

        let device = FileDevice::open(&path).unwrap();
        assert_eq!(device.write_at(0, &[1]).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(matches!(device.read_at(u64::MAX, &mut [0; 2]), Err(ReadError::PastEnd { size: 1024, .. })));
    }
}
