use std::borrow::Cow;
use std::cell::OnceCell;

use super::{BlockDevice, ReadError};

/// Enough for the protective MBR, the header and a usual array of both 512- and 4096-byte sectors, and for the
/// volume descriptor of ISO 9660 at 32 KiB.
const HEAD_LEN: u64 = 36 << 10;
/// Enough for a usual backup array and its header, of both sector sizes.
const TAIL_LEN: u64 = 32 << 10;

/// Reads a disk's tables with few requests: the head and the tail are fetched once, whole.
///
/// A healthy GPT costs two reads. Where a large read fails, the small one that was asked for is tried by
/// itself, so one bad sector does not hide its neighbours.
pub struct Reader<'a> {
    device: &'a dyn BlockDevice,
    head: OnceCell<Window>,
    tail: OnceCell<Window>,
}

/// The first bytes of a disk.
pub struct Front<'r> {
    /// As many as there are.
    pub bytes: Cow<'r, [u8]>,
    /// Why there are no more, when the medium failed.
    pub fault: Option<ReadError>,
}

struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// A reader of `device`; nothing is read yet.
    pub fn new(device: &'a dyn BlockDevice) -> Self {
        Self { device, head: OnceCell::new(), tail: OnceCell::new() }
    }

    /// The device below.
    pub fn device(&self) -> &'a dyn BlockDevice {
        self.device
    }

    /// The size of the disk in bytes, `None` when the end was not seen.
    pub fn size(&self) -> Option<u64> {
        self.device.size()
    }

    /// The `len` bytes at `offset`, all of them.
    ///
    /// # Errors
    /// Those of [`BlockDevice::read_at`].
    pub fn read(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>, ReadError> {
        if let Some(size) = self.size() {
            super::check_range(offset, len, size)?;
        }
        if let Some(bytes) = self.head_window(offset, len).or_else(|| self.tail_window(offset, len)) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = vec![0; len];
        self.device.read_at(offset, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// As many of the first `len` bytes as the disk has and can be read; where the medium fails, the first sector
    /// and why there are no more.
    ///
    /// # Errors
    /// When not even the first 512 bytes can be read for another reason than the disk's end.
    pub fn front(&self, len: usize) -> Result<Front<'_>, ReadError> {
        let whole = |bytes| Front { bytes, fault: None };
        let len = self.size().map_or(len, |size| usize::try_from(size).map_or(len, |size| size.min(len)));
        match self.read(0, len) {
            Err(ReadError::NotSeen { seen, .. }) if seen > 0 => {
                self.read(0, usize::try_from(seen).map_or(len, |seen| seen.min(len))).map(whole)
            }
            Err(fault @ ReadError::Io { .. }) if len > 512 => {
                Ok(Front { bytes: self.read(0, 512)?, fault: Some(fault) })
            }
            other => other.map(whole),
        }
    }

    fn head_window(&self, offset: u64, len: usize) -> Option<&[u8]> {
        if offset >= HEAD_LEN || u128::from(offset) + len as u128 > u128::from(HEAD_LEN) {
            return None;
        }
        let window = self.head.get_or_init(|| {
            let len = self.size().map_or(HEAD_LEN, |size| size.min(HEAD_LEN));
            self.fetch(0, len)
        });
        window.part(offset, len)
    }

    fn tail_window(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let size = self.size()?;
        let start = size.saturating_sub(TAIL_LEN).max(HEAD_LEN);
        if offset < start || len as u64 > TAIL_LEN {
            return None;
        }
        let window = self.tail.get_or_init(|| self.fetch(start, size.saturating_sub(start)));
        window.part(offset, len)
    }

    /// The window that could be read: shorter on a pipe that ended, empty where the medium fails.
    fn fetch(&self, start: u64, len: u64) -> Window {
        let mut bytes = vec![0; usize::try_from(len).expect("a window is 36 KiB at most")];
        match self.device.read_at(start, &mut bytes) {
            Ok(()) => {}
            Err(ReadError::NotSeen { seen, .. }) => {
                bytes.truncate(usize::try_from(seen.saturating_sub(start)).unwrap_or(0));
                if self.device.read_at(start, &mut bytes).is_err() {
                    bytes.clear();
                }
            }
            Err(_) => bytes.clear(),
        }
        Window { start, bytes }
    }
}

impl Window {
    fn part(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{FaultDevice, MemoryDevice, StreamDevice};

    #[test]
    fn head_and_tail_are_fetched_once() {
        let disk = FaultDevice::new(MemoryDevice::new(1 << 30));
        let reader = Reader::new(&disk);
        for offset in [0, 512, 1024, (1 << 30) - 512, (1 << 30) - 16896] {
            reader.read(offset, 512).unwrap();
        }
        assert_eq!(disk.reads(), 2);
    }

    #[test]
    fn a_bad_sector_does_not_hide_its_neighbours() {
        let disk = FaultDevice::new(MemoryDevice::new(1 << 20)).with_bad_bytes(512..1024);
        let reader = Reader::new(&disk);
        assert!(reader.read(0, 512).is_ok());
        assert!(reader.read(512, 512).is_err());
        assert!(reader.read(1024, 16384).is_ok());
        assert_eq!(reader.front(4096).unwrap().bytes.len(), 512);
    }

    #[test]
    fn small_disks_and_short_pipes_give_what_they_have() {
        let disk = MemoryDevice::new(1000);
        assert_eq!(Reader::new(&disk).front(4096).unwrap().bytes.len(), 1000);
        assert!(Reader::new(&disk).read(512, 512).is_err());
        let pipe = StreamDevice::new(&[9_u8; 700][..]);
        let reader = Reader::new(&pipe);
        assert_eq!(reader.front(4096).unwrap().bytes.len(), 700);
        assert_eq!(reader.read(512, 188).unwrap().len(), 188);
        assert!(reader.read(512, 189).is_err());
    }
}
