//! Where bytes come from: files, block devices, memory, standard input, and what Linux knows of a device.
//!
//! Everything above this room works on the [`BlockDevice`] trait, so an image file, a disk and a simulated
//! disk of the tests are read by the same code. [`Disk::open`] is the door: it tells an image from a block
//! device, leads from a partition's node to its disk, and gathers what the kernel reports.
//!
//! ```
//! use align_core::device::{BlockDevice, MemoryDevice};
//!
//! let disk = MemoryDevice::new(18_000_000_000_000); // takes memory only where something is written
//! disk.write_at(512, b"EFI PART")?;
//! let mut signature = [0; 8];
//! disk.read_at(512, &mut signature)?;
//! assert_eq!(&signature, b"EFI PART");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;

use thiserror::Error;

mod bulk;
mod direct;
mod disk;
mod fault;
mod file;
pub mod identify;
pub mod linux;
mod memory;
mod reader;
mod stream;

pub use bulk::BulkDevice;
pub use direct::DirectDevice;
pub use disk::{Disk, Source};
pub use fault::FaultDevice;
pub use file::FileDevice;
pub use memory::MemoryDevice;
pub use reader::{Front, Reader};
pub use stream::StreamDevice;

/// Positional reads and writes, and a barrier.
///
/// Offsets and sizes are in bytes from the start of the disk. Methods take `&self`: a device is shared by the
/// threads that read it.
pub trait BlockDevice: Send + Sync + std::fmt::Debug {
    /// The size in bytes, `None` when the end has not been seen (a pipe).
    fn size(&self) -> Option<u64>;

    /// Fills `buffer` with the bytes at `offset`, all of it or nothing.
    ///
    /// # Errors
    /// [`ReadError`] says whether the disk ends before, the bytes were never seen, or the medium failed.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// When the device was opened for reading only, ends before, or fails.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything that was written before is on the medium: no later write can overtake it.
    ///
    /// # Errors
    /// When the device fails; then nothing is known of the writes since the last flush.
    fn flush(&self) -> io::Result<()>;

    /// Lets the next read come from the medium and not from memory, where the system can do that.
    fn forget_cached(&self) {}
}

/// Why bytes could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The disk is known to end before the last of the bytes.
    #[error("the disk ends at byte {size}, before byte {end}")]
    PastEnd {
        /// The size of the disk.
        size: u64,
        /// One past the last byte that was asked for.
        end: u128,
    },
    /// The bytes did not arrive on a pipe, or passed already.
    #[error("byte {offset} was not seen on standard input")]
    NotSeen {
        /// The first byte that was asked for.
        offset: u64,
        /// How many bytes arrived from the start on.
        seen: u64,
    },
    /// The medium or the file system below failed.
    #[error("reading byte {offset} failed: {source}")]
    Io {
        /// The first byte that was asked for.
        offset: u64,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Whether `len` bytes at `offset` lie on a disk of `size` bytes.
fn check_range(offset: u64, len: usize, size: u64) -> Result<(), ReadError> {
    let end = u128::from(offset) + len as u128;
    if end > u128::from(size) { Err(ReadError::PastEnd { size, end }) } else { Ok(()) }
}

/// The answer of a device that cannot be written.
fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "opened for reading only")
}
