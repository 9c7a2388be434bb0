use std::ops::Range;

use super::RealignError;
use crate::device::{BlockDevice, ReadError};

/// A read that fails is tried so often again.
const RETRIES: usize = 3;
/// The smallest part of a disk that can be bad by itself.
const SECTOR: u64 = 512;

/// Reads all that can be read of these bytes. `on_bad` hears of every sector that cannot, and may end it; what it
/// lets pass is zeros. Sectors come in the order in which bytes leave: `from_end` says whether that is from the last
/// to the first.
pub(super) fn read_around(
    disk: &dyn BlockDevice,
    start: u64,
    buffer: &mut [u8],
    from_end: bool,
    on_bad: &mut dyn FnMut(Range<u64>, ReadError) -> Result<(), RealignError>,
) -> Result<(), RealignError> {
    match again(disk, start, buffer) {
        Ok(()) => Ok(()),
        Err(error) => halves(disk, start, buffer, from_end, on_bad, error),
    }
}

/// Reads, and tries again when that fails.
pub(super) fn again(disk: &dyn BlockDevice, start: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
    let first = disk.read_at(start, buffer);
    (0..RETRIES).fold(first, |read, _| read.or_else(|_| disk.read_at(start, buffer)))
}

/// What has just failed as a whole.
fn halves(
    disk: &dyn BlockDevice,
    start: u64,
    buffer: &mut [u8],
    from_end: bool,
    on_bad: &mut dyn FnMut(Range<u64>, ReadError) -> Result<(), RealignError>,
    error: ReadError,
) -> Result<(), RealignError> {
    let end = start.saturating_add(buffer.len() as u64);
    let first_boundary = (start & !(SECTOR - 1)).saturating_add(SECTOR);
    if end <= first_boundary {
        return again(disk, start, buffer).or_else(|error| {
            buffer.fill(0);
            on_bad(start..end, error)
        });
    }
    let middle = (start.midpoint(end) & !(SECTOR - 1)).max(first_boundary);
    let front_len = usize::try_from(middle.saturating_sub(start)).unwrap_or(usize::MAX);
    let Some((front, back)) = buffer.split_at_mut_checked(front_len) else {
        return on_bad(start..end, error);
    };
    let mut parts = [(start, front), (middle, back)];
    if from_end {
        parts.reverse();
    }
    for (start, part) in parts {
        if let Err(error) = disk.read_at(start, part) {
            halves(disk, start, part, from_end, on_bad, error)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::device::{FaultDevice, MemoryDevice};

    fn bad(disk: &dyn BlockDevice, range: Range<u64>, from_end: bool) -> (Vec<Range<u64>>, Vec<u8>) {
        let mut buffer = vec![9; (range.end - range.start) as usize];
        let mut bad = Vec::new();
        read_around(disk, range.start, &mut buffer, from_end, &mut |range, _| {
            bad.push(range);
            Ok(())
        })
        .unwrap();
        (bad, buffer)
    }

    #[test]
    fn bad_sectors_are_found_in_the_order_in_which_bytes_leave() {
        let disk = MemoryDevice::new(1 << 16);
        disk.write_at(0, &[7; 1 << 16]).unwrap();
        let disk = FaultDevice::new(disk).with_bad_bytes(1000..1025).with_bad_bytes(40_000..40_001);
        let sectors = [512..1024, 1024..1536, 39_936..40_448];
        let (forwards, bytes) = bad(&disk, 0..1 << 16, false);
        assert_eq!(forwards, sectors);
        let (backwards, same) = bad(&disk, 0..1 << 16, true);
        assert_eq!(backwards.into_iter().rev().collect::<Vec<_>>(), sectors);
        assert_eq!(bytes, same);
        let expected = |at: u64| if sectors.iter().any(|bad| bad.contains(&at)) { 0 } else { 7 };
        assert!((0..1 << 16).zip(bytes).all(|(at, byte)| byte == expected(at)));
        // Bytes that begin and end within sectors.
        assert_eq!(bad(&disk, 700..40_100, false).0, [700..1024, 1024..1536, 39_936..40_100]);
        assert_eq!(bad(&disk, 1000..1002, true).0.first(), Some(&(1000..1002)));
    }

    /// A disk of which every read but each fourth fails.
    #[derive(Debug)]
    struct Shaky(MemoryDevice, AtomicUsize);

    impl BlockDevice for Shaky {
        fn size(&self) -> Option<u64> {
            self.0.size()
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
            if self.1.fetch_add(1, Ordering::Relaxed) % 4 == 3 {
                return self.0.read_at(offset, buffer);
            }
            Err(ReadError::Io { offset, source: io::Error::other("the arm was elsewhere") })
        }

        fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
            unreachable!("it is only read")
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_read_is_tried_three_times_again() {
        let disk = Shaky(MemoryDevice::new(1 << 16), AtomicUsize::new(0));
        assert_eq!(bad(&disk, 0..1 << 16, false), (vec![], vec![0; 1 << 16]));
        assert_eq!(disk.1.into_inner(), 4);
    }
}
