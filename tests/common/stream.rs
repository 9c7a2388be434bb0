use std::io::{self, Read, Seek, SeekFrom, Write};

use align_core::device::{BlockDevice, MemoryDevice};

use super::Shared;

/// A sparse disk as the other crates want it.
#[derive(Debug)]
pub struct Stream {
    pub device: Shared<MemoryDevice>,
    at: u64,
}

impl Stream {
    pub fn new(size: u64) -> Self {
        Self::over(Shared::new(MemoryDevice::new(size)))
    }

    pub fn over(device: Shared<MemoryDevice>) -> Self {
        Self { device, at: 0 }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.device.size().map_or(0, |size| size.saturating_sub(self.at));
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        self.device.read_at(self.at, &mut buffer[..len]).map_err(io::Error::other)?;
        self.at += len as u64;
        Ok(len)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.device.write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Stream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let size = self.device.size().expect("a disk in memory has a size");
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::End(by) => size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or_else(|| io::Error::other("before the start"))?;
        Ok(self.at)
    }
}
