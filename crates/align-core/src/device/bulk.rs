use std::io;

use super::{BlockDevice, DirectDevice, FileDevice, ReadError};

/// An image file or a block device of which much is read and written: what is large goes past the system's cache,
/// which would copy it once more, and push out what others have there.
///
/// A write is on the medium when a flush behind it has returned, as with any device.
#[derive(Debug)]
pub struct BulkDevice {
    cached: FileDevice,
    /// `None` where the file system cannot do it.
    direct: Option<DirectDevice>,
}

/// Less is not worth the wait for the drive.
const LARGE: usize = 64 << 10;

impl BulkDevice {
    /// The same file. Where the system cannot go past its cache, all goes through it.
    pub fn new(device: FileDevice) -> Self {
        let direct = DirectDevice::for_bulk(device.file()).ok();
        Self { cached: device, direct }
    }

    /// The device past the cache, where it takes as many bytes as these.
    fn direct(&self, offset: u64, len: usize) -> Option<&DirectDevice> {
        let is_whole = |device: &&DirectDevice| {
            let unit = device.granularity();
            offset.is_multiple_of(unit) && (len as u64).is_multiple_of(unit)
        };
        self.direct.as_ref().filter(is_whole)
    }
}

impl BlockDevice for BulkDevice {
    fn size(&self) -> Option<u64> {
        self.cached.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        match self.direct(offset, buffer.len()) {
            Some(direct) if buffer.len() >= LARGE => direct.read_at(offset, buffer),
            // The cache reads whole pages: a bad sector takes its neighbours along.
            Some(direct) => self.cached.read_at(offset, buffer).or_else(|_| direct.read_at(offset, buffer)),
            None => self.cached.read_at(offset, buffer),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self.direct(offset, bytes.len()) {
            Some(direct) if bytes.len() >= LARGE => direct.write_at(offset, bytes),
            _ => self.cached.write_at(offset, bytes),
        }
    }

    fn flush(&self) -> io::Result<()> {
        // Both are one file to the system.
        self.cached.flush()
    }

    fn forget_cached(&self) {
        self.cached.forget_cached();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_see_the_same_bytes() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, vec![0; 1 << 20]).unwrap();
        let device = BulkDevice::new(FileDevice::open_writable(&path).unwrap());
        let large: Vec<u8> = (0..4 * LARGE).map(|at| (at / 512) as u8).collect();
        device.write_at(77, b"through the cache").unwrap();
        device.write_at(4096, &large).unwrap();
        // Neither its place in memory nor that on the disk is one that a drive takes.
        device.write_at(512 << 10, &large[1..=LARGE]).unwrap();
        device.write_at((768 << 10) + 1, &large[1..=LARGE]).unwrap();
        device.write_at(4096 + 100, b"over it").unwrap();
        device.flush().unwrap();
        let mut expected = vec![0; 1 << 20];
        expected[77..94].copy_from_slice(b"through the cache");
        expected[4096..4096 + large.len()].copy_from_slice(&large);
        expected[512 << 10..(512 << 10) + LARGE].copy_from_slice(&large[1..=LARGE]);
        expected[(768 << 10) + 1..=(768 << 10) + LARGE].copy_from_slice(&large[1..=LARGE]);
        expected[4196..4203].copy_from_slice(b"over it");
        let mut found = vec![0; 1 << 20];
        device.read_at(0, &mut found).unwrap();
        assert!(found == expected);
        assert!(std::fs::read(&path).unwrap() == expected);
        let mut part = vec![0; 5000];
        device.read_at(4000, &mut part).unwrap();
        assert_eq!(part, expected[4000..9000]);
        assert!(matches!(device.read_at(1 << 20, &mut vec![0; LARGE]), Err(ReadError::PastEnd { .. })));
        assert!(device.write_at(1 << 20, &vec![0; LARGE]).is_err());
    }
}
