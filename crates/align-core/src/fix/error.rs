use std::path::PathBuf;

use thiserror::Error as ThisError;

use crate::compose::ComposeError;
use crate::device::ReadError;
use crate::patch::{BackupError, PatchError, Spot};
use crate::realign::RealignError;
use crate::write::WriteError;

/// Why partitions were not moved, or not to the end.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum FixError {
    /// The disk cannot be looked at or written; nothing was written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It cannot be done, for this reason; nothing was written. Whoever passes it on names the disk.
    #[error("{0}; nothing was written")]
    Refused(String),
    /// A part of the disk that must be known cannot be read; nothing was written.
    #[error("{}{source}; nothing was written", of_partition(*partition))]
    Read {
        /// The partition that it is in, where it is in one.
        partition: Option<u32>,
        /// What is wrong.
        source: ReadError,
    },
    /// The new table cannot be made; nothing was written.
    #[error("{0}; nothing was written")]
    Compose(#[from] ComposeError),
    /// The disk is not as it was; nothing was written.
    #[error("{0}; nothing was written")]
    Patch(#[from] PatchError),
    /// The move began and did not come to its end.
    #[error(
        "{}: {source}. The move is unfinished, and nothing is lost: `alignck resume {}` finishes it, `alignck undo {}` \
         takes it back; the journal is in {journal}",
        path.display(), path.display(), path.display()
    )]
    Unfinished {
        /// The disk.
        path: PathBuf,
        /// Where the journal is.
        journal: Spot,
        /// What happened.
        source: Box<RealignError>,
    },
    /// It could not begin; nothing was written but the journal, which is gone again.
    #[error("{}: {source}; nothing was moved", path.display())]
    NotBegun {
        /// The disk.
        path: PathBuf,
        /// What happened.
        source: Box<RealignError>,
    },
}

impl FixError {
    /// Whether a move or another write to the disk is unfinished.
    pub fn is_unfinished(&self) -> bool {
        match self {
            Self::Unfinished { .. } => true,
            Self::Write(error) => error.is_unfinished(),
            _ => false,
        }
    }

    /// Whether the text says which disk it is about.
    pub fn names_disk(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Unfinished { .. } | Self::NotBegun { .. })
    }

    /// Whether it was stopped by whoever watched.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Unfinished { source, .. } if matches!(**source, RealignError::Stopped { .. }))
    }
}

impl From<BackupError> for FixError {
    fn from(error: BackupError) -> Self {
        Self::Write(error.into())
    }
}

impl From<crate::Error> for FixError {
    fn from(error: crate::Error) -> Self {
        Self::Write(error.into())
    }
}

fn of_partition(number: Option<u32>) -> String {
    number.map(|number| format!("partition {number}: ")).unwrap_or_default()
}
