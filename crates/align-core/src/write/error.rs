use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error as ThisError;

use crate::Error;
use crate::compose::ComposeError;
use crate::device::linux::Use;
use crate::patch::{BackupError, PatchError};

/// Why a disk was not written, or not to the end. The text names the disk, the reason and the remedy.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum WriteError {
    /// The disk cannot be looked at.
    #[error(transparent)]
    Disk(#[from] Error),
    /// It cannot be written, for a reason that continues "PATH: ...".
    #[error("{}: {reason}; nothing was written", path.display())]
    Refused {
        /// The disk.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// It, or a partition that would change, is in use.
    #[error("{}: it is in use, and nothing was written: {}", path.display(), listed(uses))]
    InUse {
        /// The disk.
        path: PathBuf,
        /// By whom.
        uses: Vec<Use>,
    },
    /// It cannot be opened for writing.
    #[error("{}: cannot be opened for writing: {source}{}", path.display(), remedy(source))]
    Open {
        /// The disk.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Another program holds the lock on the disk.
    #[error(
        "{}: another program holds the lock on it for more than {} s{}; nothing was written, try again when that is done",
        path.display(), waited.as_secs(), holder(by)
    )]
    Locked {
        /// The disk.
        path: PathBuf,
        /// How long was waited.
        waited: Duration,
        /// Who, as far as known.
        by: Vec<String>,
    },
    /// The layout cannot become a table.
    #[error("{}: {source}; nothing was written", path.display())]
    Compose {
        /// The disk.
        path: PathBuf,
        /// Why not.
        source: ComposeError,
    },
    /// The disk is not as it was, or cannot be read. Nothing was written.
    #[error("{}: {source}; nothing was written", path.display())]
    Patch {
        /// The disk.
        path: PathBuf,
        /// What is wrong.
        source: PatchError,
    },
    /// There is no backup, or it cannot be written. Nothing was written.
    #[error("{0}; nothing was written")]
    Backup(#[from] BackupError),
    /// It failed in the middle.
    #[error(
        "{}: {source}. The write is unfinished: `alignck resume {} {backup}` finishes it, `alignck undo {} {backup}` \
         puts back what was there",
        path.display(), path.display(), path.display(), backup = backup.display()
    )]
    Unfinished {
        /// The disk.
        path: PathBuf,
        /// What finishes it or takes it back.
        backup: PathBuf,
        /// What failed.
        source: PatchError,
    },
    /// An earlier write was cut off.
    #[error("{}: an earlier write or move was cut off: finish it with `alignck resume {}` or take it back with `alignck undo {}` first", path.display(), path.display(), path.display())]
    UnfinishedBefore {
        /// The disk.
        path: PathBuf,
    },
}

impl WriteError {
    /// Whether a write to the disk is unfinished, this one or an earlier.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Self::Unfinished { .. } | Self::UnfinishedBefore { .. })
    }

    pub(crate) fn refused(path: &Path, reason: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.into() }
    }

    pub(super) fn compose(path: &Path, source: ComposeError) -> Self {
        Self::Compose { path: path.to_owned(), source }
    }

    pub(super) fn patch(path: &Path, source: PatchError) -> Self {
        Self::Patch { path: path.to_owned(), source }
    }
}

fn listed(uses: &[Use]) -> String {
    uses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn holder(by: &[String]) -> String {
    if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) }
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied if !nix::unistd::geteuid().is_root() => {
            "; writing a disk needs root: try again with sudo"
        }
        io::ErrorKind::PermissionDenied => "; it is read-only or protected",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; it is read-only: check its switch, or the mount that the image is on"
        }
        io::ErrorKind::ResourceBusy => "; it is in use",
        _ => "",
    }
}
