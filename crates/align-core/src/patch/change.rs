use super::{PatchError, Side};
use crate::device::BlockDevice;

/// A range of bytes, with what is there and what will be. Both sides have the same length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The first byte, from the start of the disk.
    pub offset: u64,
    /// What is there.
    pub before: Vec<u8>,
    /// What will be there.
    pub after: Vec<u8>,
}

impl Change {
    /// Whether nothing changes: the range is only watched, and saved.
    pub fn is_kept(&self) -> bool {
        self.before == self.after
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.before.len() as u64)
    }

    pub(super) fn reversed(&self) -> Self {
        Self { offset: self.offset, before: self.after.clone(), after: self.before.clone() }
    }

    pub(crate) fn side(&self, side: Side) -> &[u8] {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }

    pub(crate) fn read(&self, device: &dyn BlockDevice) -> Result<Vec<u8>, PatchError> {
        let mut found = vec![0; self.before.len()];
        device
            .read_at(self.offset, &mut found)
            .map_err(|source| PatchError::Read { offset: self.offset, source })?;
        Ok(found)
    }

    /// Fails at the first byte that is not as on this side.
    pub(super) fn expect(&self, device: &dyn BlockDevice, side: Side) -> Result<(), PatchError> {
        match self.difference(device, side)? {
            None => Ok(()),
            Some((offset, expected, found)) => Err(PatchError::Changed { offset, expected, found }),
        }
    }

    pub(super) fn read_back(&self, device: &dyn BlockDevice, side: Side) -> Result<(), PatchError> {
        let difference = self.difference(device, side).map_err(|error| match error {
            PatchError::Read { offset, source } => PatchError::ReadBack { offset, source },
            other => other,
        })?;
        match difference {
            None => Ok(()),
            Some((offset, written, found)) => Err(PatchError::NotTaken { offset, written, found }),
        }
    }

    pub(super) fn put(&self, device: &dyn BlockDevice, side: Side) -> Result<(), PatchError> {
        let written = device.write_at(self.offset, self.side(side));
        written.map_err(|source| PatchError::Write { offset: self.offset, source })
    }

    /// Where the disk first differs from this side, with the byte that was expected and the one that was found.
    pub(super) fn difference(
        &self,
        device: &dyn BlockDevice,
        side: Side,
    ) -> Result<Option<(u64, u8, u8)>, PatchError> {
        let found = self.read(device)?;
        // Usually nothing differs, and that is seen at once.
        if found == self.side(side) {
            return Ok(None);
        }
        let pairs = self.side(side).iter().zip(&found).zip(0_u64..);
        let differs = pairs.into_iter().find(|((expected, found), _)| expected != found);
        Ok(differs.map(|((expected, found), at)| (self.offset.saturating_add(at), *expected, *found)))
    }
}
