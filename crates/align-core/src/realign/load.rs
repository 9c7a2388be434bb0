use std::ops::Range;

use super::BLOCK;
use super::runs::length;
use crate::device::BlockDevice;

/// Bytes on their way to a place, with room for the rest of the blocks there. Its memory is used again.
#[derive(Debug, Default)]
pub(super) struct Load {
    memory: Vec<u8>,
    /// Where a page begins in the memory: devices past the cache take no other.
    page: usize,
    /// The blocks, as far as they belong to the job.
    blocks: Range<u64>,
    /// What comes to its place.
    body: Range<u64>,
    /// What is written of the blocks.
    written: Range<u64>,
}

const PAGE: usize = 4096;

impl Load {
    /// Makes room for bytes that shall be in `body`, which lies in one of the ranges that belong to the job. `None`
    /// when it does not.
    pub(super) fn lay(&mut self, body: Range<u64>, owned: &[Range<u64>]) -> Option<()> {
        let owned = owned.iter().find(|owned| owned.start <= body.start && body.end <= owned.end)?;
        let start = (body.start & !(BLOCK - 1)).max(owned.start);
        let end = body.end.checked_next_multiple_of(BLOCK).unwrap_or(body.end).min(owned.end);
        self.blocks = start..end;
        self.written = self.blocks.clone();
        self.body = body;
        let len = length(&self.blocks).checked_add(PAGE)?;
        if self.memory.len() < len {
            self.memory = vec![0; len];
            self.page = self.memory.as_ptr().align_offset(PAGE).min(PAGE);
        }
        Some(())
    }

    /// Cuts off what has not been read of the body: its front stays, or its end.
    pub(super) fn shorten(&mut self, body: Range<u64>, owned: &[Range<u64>]) -> Option<()> {
        let kept = self.part(&body)?.to_vec();
        self.lay(body, owned)?;
        self.body_mut().copy_from_slice(&kept);
        Some(())
    }

    /// The bytes that come to their place.
    pub(super) fn body_mut(&mut self) -> &mut [u8] {
        self.part_mut(&self.body.clone())
    }

    /// Reads the rest of the blocks.
    pub(super) fn read_rest(&mut self, disk: &dyn BlockDevice) {
        let rest = [self.blocks.start..self.body.start, self.body.end..self.blocks.end];
        for range in rest.into_iter().filter(|range| range.start < range.end) {
            let start = range.start;
            if disk.read_at(start, self.part_mut(&range)).is_err() {
                // A bad sector beside them cannot be kept, and is no reason to leave these out.
                self.written = self.body.clone();
            }
        }
    }

    /// What is written, and where it begins.
    pub(super) fn written(&self) -> (u64, &[u8]) {
        (self.written.start, self.part(&self.written).unwrap_or_default())
    }

    fn part(&self, range: &Range<u64>) -> Option<&[u8]> {
        self.memory.get(self.place(range)?)
    }

    fn part_mut(&mut self, range: &Range<u64>) -> &mut [u8] {
        let place = self.place(range);
        place.and_then(|place| self.memory.get_mut(place)).unwrap_or_default()
    }

    fn place(&self, range: &Range<u64>) -> Option<Range<usize>> {
        let within = usize::try_from(range.start.checked_sub(self.blocks.start)?).ok()?;
        let start = self.page.checked_add(within)?;
        Some(start..start.checked_add(length(range))?)
    }
}
