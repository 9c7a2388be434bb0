use std::io;

use thiserror::Error;

use crate::device::ReadError;

/// Why a patch could not be made, written, finished or taken back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A range could not be read.
    #[error("the bytes from {offset} on cannot be read: {source}")]
    Read {
        /// The first byte of the range.
        offset: u64,
        /// Why not.
        source: ReadError,
    },
    /// Two writes of one patch would touch the same byte.
    #[error("two parts of the change would both write byte {offset}")]
    Overlap {
        /// The byte.
        offset: u64,
    },
    /// The disk is not as it was when the patch was made. Nothing was written.
    #[error(
        "byte {offset} of the disk has changed since it was looked at ({expected:#04x} before, {found:#04x} now)"
    )]
    Changed {
        /// The first byte that differs.
        offset: u64,
        /// What was there.
        expected: u8,
        /// What is there.
        found: u8,
    },
    /// A patch that was cut off is neither old nor new at a byte. Nothing was written.
    #[error(
        "byte {offset} is neither as it was before the write nor as the write left it: something else wrote there"
    )]
    Foreign {
        /// The byte.
        offset: u64,
    },
    /// A write failed.
    #[error("writing at byte {offset} failed: {source}")]
    Write {
        /// The first byte of the range.
        offset: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// A flush failed: what was written may not be on the medium.
    #[error("the disk did not confirm that the data is on the medium: {source}")]
    Flush {
        /// What the operating system said.
        source: io::Error,
    },
    /// What was written cannot be read again.
    #[error("the bytes from {offset} on were written, and cannot be read again: {source}")]
    ReadBack {
        /// The first byte of the range.
        offset: u64,
        /// Why not.
        source: ReadError,
    },
    /// The disk took the write, and returns something else.
    #[error(
        "byte {offset} was written as {written:#04x} and reads as {found:#04x}: the disk does not keep what it is given"
    )]
    NotTaken {
        /// The byte.
        offset: u64,
        /// What was written.
        written: u8,
        /// What was read.
        found: u8,
    },
}

impl PatchError {
    /// Whether it is certain that no byte was written.
    pub fn wrote_nothing(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Overlap { .. } | Self::Changed { .. } | Self::Foreign { .. })
    }
}
