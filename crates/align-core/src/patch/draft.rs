use std::ops::Range;

use super::{Change, Patch, PatchError};
use crate::device::BlockDevice;

/// What shall be written, before it is known what is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    steps: Vec<Vec<Item>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    offset: u64,
    len: usize,
    /// `None`: what is there stays.
    bytes: Option<Vec<u8>>,
}

impl Draft {
    /// A draft of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes these bytes at `offset`.
    pub fn write(&mut self, offset: u64, bytes: Vec<u8>) {
        self.push(Item { offset, len: bytes.len(), bytes: Some(bytes) });
    }

    /// Leaves `len` bytes at `offset` as they are, but saves and watches them: the patch is refused when they change.
    pub fn keep(&mut self, offset: u64, len: usize) {
        self.push(Item { offset, len, bytes: None });
    }

    /// Everything after this is written when everything before is on the medium.
    pub fn barrier(&mut self) {
        self.steps.push(Vec::new());
    }

    /// Does all of another draft behind a barrier.
    pub fn append(&mut self, other: Self) {
        self.steps.extend(other.steps);
    }

    /// The ranges that it writes or keeps, in the order of the disk.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<_> = self.items().map(|item| item.offset..item.end()).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// What it writes, in this order: places and bytes.
    pub fn writes(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.items().filter_map(|item| Some((item.offset, item.bytes.as_deref()?)))
    }

    /// The patch that does this to `device` as it is now. What would change nothing is kept: the rest of the draft may
    /// rely on it.
    ///
    /// # Errors
    /// When the device ends before, cannot be read, or two writes of the draft overlap.
    pub fn against(&self, device: &dyn BlockDevice) -> Result<Patch, PatchError> {
        for pair in self.ranges().windows(2) {
            if let [one, next] = pair
                && next.start < one.end
            {
                return Err(PatchError::Overlap { offset: next.start });
            }
        }
        let mut steps = Vec::new();
        for step in &self.steps {
            let mut changes = Vec::new();
            for item in step {
                let mut before = vec![0; item.len];
                let read = device.read_at(item.offset, &mut before);
                read.map_err(|source| PatchError::Read { offset: item.offset, source })?;
                let after = item.bytes.clone().unwrap_or_else(|| before.clone());
                changes.push(Change { offset: item.offset, before, after });
            }
            if !changes.is_empty() {
                steps.push(changes);
            }
        }
        Ok(Patch { steps })
    }

    fn items(&self) -> impl Iterator<Item = &Item> {
        self.steps.iter().flatten()
    }

    fn push(&mut self, item: Item) {
        match self.steps.last_mut() {
            Some(step) => step.push(item),
            None => self.steps.push(vec![item]),
        }
    }
}

impl Item {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.len as u64)
    }
}
