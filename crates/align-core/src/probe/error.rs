use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

use crate::Error;
use crate::device::ReadError;
use crate::write::WriteError;

/// Why a disk was not probed, or not to the end. No byte of it has changed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum ProbeError {
    /// The disk cannot be looked at.
    #[error(transparent)]
    Disk(#[from] Error),
    /// The disk may not be written.
    #[error(transparent)]
    Target(#[from] WriteError),
    /// There is no room for blocks.
    #[error("{}: has {size} bytes; a probe needs 1 MiB to write blocks back in", path.display())]
    TooSmall {
        /// The disk or file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// A scratch file has no bytes on the medium there.
    #[error(
        "{}: has no bytes of its own at byte {offset} (it is sparse), so that a write would not meet the medium; make a \
         file that has: `dd if=/dev/urandom of=alignck-scratch bs=1M count=256 conv=fsync`", path.display()
    )]
    Hole {
        /// The file.
        path: PathBuf,
        /// The first byte without a place.
        offset: u64,
    },
    /// The file system writes new bytes to another place than old ones, or has no medium.
    #[error("{}: is on {kind}, {why}; give a disk, or a file on ext4 or XFS", path.display())]
    Moving {
        /// The file.
        path: PathBuf,
        /// The file system.
        kind: &'static str,
        /// What speaks against it.
        why: &'static str,
    },
    /// The system does not let anybody write past its cache here.
    #[error(
        "{}: cannot be written past the system's cache (O_DIRECT: {source}), and the cache would hide what the drive \
         does; give a disk, or a file on ext4 or XFS", path.display()
    )]
    NotDirect {
        /// The disk or file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A block cannot be read.
    #[error("{}: {source}; nothing was written there: a disk with errors has to be saved before it is measured", path.display())]
    Read {
        /// The disk.
        path: PathBuf,
        /// What is wrong.
        source: ReadError,
    },
    /// The same bytes were read in two ways.
    #[error(
        "{}: byte {offset} was read twice and was not the same: another program writes to it, or drive, cable or memory \
         fail. Nothing was written there", path.display()
    )]
    Unsteady {
        /// The disk.
        path: PathBuf,
        /// The first byte of the block.
        offset: u64,
    },
    /// What was written back is not there.
    #[error(
        "{}: byte {offset} was written back as it was, and is another now: another program writes to it, or drive, cable \
         or memory fail. Save what is on it", path.display()
    )]
    Lost {
        /// The disk.
        path: PathBuf,
        /// The first byte of the block.
        offset: u64,
    },
    /// A block cannot be written.
    #[error("{}: writing byte {offset} back failed: {source}", path.display())]
    Write {
        /// The disk.
        path: PathBuf,
        /// The first byte of the block.
        offset: u64,
        /// What the operating system said.
        source: io::Error,
    },
}

impl ProbeError {
    /// Whether an earlier write to the disk is unfinished.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Self::Target(error) if error.is_unfinished())
    }
}

/// What went wrong on a device, which does not know its path.
#[derive(Debug)]
pub(super) enum Fault {
    Read(ReadError),
    Unsteady { offset: u64 },
    Lost { offset: u64 },
    Write { offset: u64, source: io::Error },
}

impl Fault {
    pub(super) fn on(self, path: &Path) -> ProbeError {
        let path = path.to_owned();
        match self {
            Self::Read(source) => ProbeError::Read { path, source },
            Self::Unsteady { offset } => ProbeError::Unsteady { path, offset },
            Self::Lost { offset } => ProbeError::Lost { path, offset },
            Self::Write { offset, source } => ProbeError::Write { path, offset, source },
        }
    }
}
