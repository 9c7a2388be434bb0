use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{BlockDevice, ReadError};

/// A device with bad sectors, that counts how it is read: for tests of what is built on top.
///
/// ```
/// use align_core::device::{BlockDevice, FaultDevice, MemoryDevice};
///
/// let disk = FaultDevice::new(MemoryDevice::new(1 << 20)).with_bad_bytes(512..1024);
/// assert!(disk.read_at(0, &mut [0; 512]).is_ok());
/// assert!(disk.read_at(0, &mut [0; 513]).is_err());
/// assert_eq!(disk.reads(), 2);
/// ```
#[derive(Debug)]
pub struct FaultDevice<D> {
    inner: D,
    bad: Vec<Range<u64>>,
    reads: AtomicU64,
    bytes_read: AtomicU64,
    largest_read: AtomicU64,
    writes: AtomicU64,
}

impl<D: BlockDevice> FaultDevice<D> {
    /// A device without faults yet.
    pub fn new(inner: D) -> Self {
        Self {
            inner,
            bad: Vec::new(),
            reads: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            largest_read: AtomicU64::new(0),
            writes: AtomicU64::new(0),
        }
    }

    /// Makes every read fail that touches one of these bytes.
    #[must_use]
    pub fn with_bad_bytes(mut self, bytes: Range<u64>) -> Self {
        self.bad.push(bytes);
        self
    }

    /// The device without the faults.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// How many reads were tried.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// How many writes were tried.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// How many bytes the reads asked for together.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// How many bytes the largest of them asked for: a bound of what the reader allocated.
    pub fn largest_read(&self) -> u64 {
        self.largest_read.load(Ordering::Relaxed)
    }
}

impl<D: BlockDevice> BlockDevice for FaultDevice<D> {
    fn size(&self) -> Option<u64> {
        self.inner.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let len = buffer.len() as u64;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(len, Ordering::Relaxed);
        self.largest_read.fetch_max(len, Ordering::Relaxed);
        let end = offset.saturating_add(len);
        if self.bad.iter().any(|bad| bad.start < end && offset < bad.end) {
            let source = io::Error::from_raw_os_error(nix::libc::EIO);
            return Err(ReadError::Io { offset, source });
        }
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.inner.write_at(offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.inner.flush()
    }
}
