use std::fmt;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use super::{BlockDevice, ReadError, read_only};

/// As much of the front of a stream as is kept: every table and its arrays lie there, EBRs may not.
const KEPT_PREFIX: usize = 1 << 20;
/// As much as is read at once.
const STEP: usize = 64 << 10;

/// An image that arrives on a pipe.
///
/// It is read only as far as is asked for. The first MiB is kept; beyond it the stream can be followed forwards
/// but not backwards, and what passed is [`ReadError::NotSeen`]. The end of a pipe says nothing about the end
/// of the disk (`head -c 1M disk | ...`), so the size stays unknown.
pub struct StreamDevice {
    state: Mutex<State>,
}

struct State {
    source: Box<dyn Read + Send>,
    prefix: Vec<u8>,
    /// The last bytes that were read beyond the prefix, and where they begin.
    recent: (u64, Vec<u8>),
    /// How many bytes arrived so far.
    position: u64,
    ended: bool,
}

impl StreamDevice {
    /// A device that reads from `source`.
    pub fn new(source: impl Read + Send + 'static) -> Self {
        let state = State {
            source: Box::new(source),
            prefix: Vec::new(),
            recent: (0, Vec::new()),
            position: 0,
            ended: false,
        };
        Self { state: Mutex::new(state) }
    }
}

impl BlockDevice for StreamDevice {
    fn size(&self) -> Option<u64> {
        None
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.read_at(offset, buffer)
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

impl State {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let not_seen = |state: &Self| ReadError::NotSeen { offset, seen: state.position };
        let end = offset.checked_add(buffer.len() as u64).ok_or_else(|| not_seen(self))?;
        if end <= KEPT_PREFIX as u64 {
            self.extend_prefix(end).map_err(|source| ReadError::Io { offset, source })?;
            let from = self.prefix.get(offset as usize..end as usize).ok_or_else(|| not_seen(self))?;
            buffer.copy_from_slice(from);
            return Ok(());
        }
        self.extend_prefix(KEPT_PREFIX as u64).map_err(|source| ReadError::Io { offset, source })?;
        if let Some(within) = within(&self.recent, offset, end) {
            buffer.copy_from_slice(&self.recent.1[within]);
            return Ok(());
        }
        if offset < self.position {
            return Err(not_seen(self));
        }
        self.skip_to(offset).map_err(|source| ReadError::Io { offset, source })?;
        let arrived = self.fill(buffer.len()).map_err(|source| ReadError::Io { offset, source })?;
        if arrived.len() < buffer.len() {
            return Err(not_seen(self));
        }
        buffer.copy_from_slice(&arrived);
        self.recent = (offset, arrived);
        Ok(())
    }

    fn extend_prefix(&mut self, end: u64) -> io::Result<()> {
        while (self.prefix.len() as u64) < end && !self.ended {
            let more = self.fill(STEP.min(KEPT_PREFIX - self.prefix.len()))?;
            self.prefix.extend_from_slice(&more);
        }
        Ok(())
    }

    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        while self.position < offset && !self.ended {
            let step = usize::try_from(offset - self.position).map_or(STEP, |left| left.min(STEP));
            self.fill(step)?;
        }
        Ok(())
    }

    /// The next `len` bytes, fewer only at the end of the stream.
    fn fill(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(len);
        self.source.by_ref().take(len as u64).read_to_end(&mut bytes)?;
        self.position += bytes.len() as u64;
        self.ended = bytes.len() < len;
        Ok(bytes)
    }
}

/// Where the bytes from `offset` to `end` lie in `recent`, if all of them do.
fn within(recent: &(u64, Vec<u8>), offset: u64, end: u64) -> Option<std::ops::Range<usize>> {
    let from = usize::try_from(offset.checked_sub(recent.0)?).ok()?;
    let to = usize::try_from(end.checked_sub(recent.0)?).ok()?;
    (to <= recent.1.len()).then_some(from..to)
}

impl fmt::Debug for StreamDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamDevice").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of which every 8 bytes are their own index, and the count of bytes taken from it.
    fn numbered(len: u64) -> StreamDevice {
        let bytes: Vec<u8> = (0..len / 8).flat_map(u64::to_le_bytes).collect();
        StreamDevice::new(io::Cursor::new(bytes))
    }

    fn number_at(device: &StreamDevice, offset: u64) -> Result<u64, ReadError> {
        let mut bytes = [0; 8];
        device.read_at(offset, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    #[test]
    fn the_front_is_kept_and_the_rest_goes_forwards_only() {
        let device = numbered(4 << 20);
        assert_eq!(number_at(&device, 512).unwrap(), 64);
        assert_eq!(number_at(&device, 3 << 20).unwrap(), (3 << 20) / 8);
        assert_eq!(number_at(&device, 3 << 20).unwrap(), (3 << 20) / 8);
        assert_eq!(number_at(&device, 0).unwrap(), 0);
        assert!(matches!(number_at(&device, 2 << 20), Err(ReadError::NotSeen { .. })));
        assert!(matches!(number_at(&device, u64::MAX - 8), Err(ReadError::NotSeen { .. })));
        assert_eq!(number_at(&device, (1 << 20) - 8).unwrap(), (1 << 17) - 1);
    }

    #[test]
    fn a_short_stream_tells_how_much_was_seen() {
        let device = numbered(1000);
        assert!(matches!(number_at(&device, 1000), Err(ReadError::NotSeen { seen: 1000, .. })));
        assert_eq!(number_at(&device, 992).unwrap(), 124);
        assert_eq!(device.size(), None);
    }
}
