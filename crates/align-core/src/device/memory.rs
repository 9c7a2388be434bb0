use std::collections::BTreeMap;
use std::io;
use std::sync::{PoisonError, RwLock};

use super::{BlockDevice, ReadError, check_range};

const PAGE: u64 = 4096;
const PAGE_LEN: usize = 4096;

/// A sparse disk in memory: 4096-byte pages that nothing was written to cost nothing and read as zeros.
#[derive(Debug)]
pub struct MemoryDevice {
    size: u64,
    pages: RwLock<BTreeMap<u64, Box<[u8; PAGE_LEN]>>>,
}

impl MemoryDevice {
    /// A disk of `size` bytes, all zero.
    pub fn new(size: u64) -> Self {
        Self { size, pages: RwLock::default() }
    }

    /// A disk that holds `bytes` and ends with them.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let device = Self::new(bytes.len() as u64);
        device.store(0, bytes);
        device
    }

    fn store(&self, offset: u64, bytes: &[u8]) {
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        for (page, within, part) in pages_of(offset, bytes.len()) {
            let stored = pages.entry(page).or_insert_with(|| Box::new([0; PAGE_LEN]));
            let len = part.len();
            stored[within..within + len].copy_from_slice(&bytes[part]);
        }
    }
}

impl BlockDevice for MemoryDevice {
    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        check_range(offset, buffer.len(), self.size)?;
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        for (page, within, part) in pages_of(offset, buffer.len()) {
            let len = part.len();
            match pages.get(&page) {
                Some(stored) => buffer[part].copy_from_slice(&stored[within..within + len]),
                None => buffer[part].fill(0),
            }
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        check_range(offset, bytes.len(), self.size).map_err(io::Error::other)?;
        self.store(offset, bytes);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Splits `len` bytes at `offset` at the page boundaries: page number, place within it, part of the buffer.
fn pages_of(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let position = offset + done as u64;
        let within = usize::try_from(position % PAGE).expect("below the page size");
        let part = done..len.min(done + PAGE_LEN - within);
        done = part.end;
        Some((position / PAGE, within, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_page_boundaries() {
        let device = MemoryDevice::new(3 * PAGE);
        let bytes: Vec<u8> = (0..5000_u32).map(|n| n as u8).collect();
        device.write_at(4000, &bytes).unwrap();
        let mut back = vec![0xFF; 5002];
        device.read_at(3999, &mut back).unwrap();
        assert_eq!(back[0], 0);
        assert_eq!(&back[1..5001], bytes);
        assert_eq!(back[5001], 0);
    }
}
