use std::path::Path;

use super::ProbeError;

/// The bytes of a disk among which blocks are read and written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The first byte, at a whole MiB.
    pub start: u64,
    /// How many, whole MiB.
    pub len: u64,
}

const MEBIBYTE: u64 = 1 << 20;
/// Wide enough that the small memory of a drive does not answer for the medium.
const WIDEST: u64 = 256 * MEBIBYTE;
/// Every block has a place of its own, which begins where sectors of any size do.
pub(super) const PLACE: u64 = 256 << 10;

impl Area {
    /// The middle of a disk of `size` bytes: there are no tables there, and no end.
    pub(super) fn on(path: &Path, size: u64) -> Result<Self, ProbeError> {
        let mebibytes = size / MEBIBYTE;
        let len = mebibytes.min(WIDEST / MEBIBYTE);
        if len == 0 {
            return Err(ProbeError::TooSmall { path: path.to_owned(), size });
        }
        Ok(Self { start: (mebibytes - len) / 2 * MEBIBYTE, len: len * MEBIBYTE })
    }

    /// One past the last byte.
    pub fn end(self) -> u64 {
        self.start.saturating_add(self.len)
    }

    /// The place of a number, the first again after the last.
    pub(super) fn place(self, number: u64) -> u64 {
        self.start + number % self.places() * PLACE
    }

    /// How many places there are, at least four.
    pub(super) fn places(self) -> u64 {
        self.len / PLACE
    }
}
