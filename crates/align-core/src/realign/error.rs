use std::io;

use thiserror::Error as ThisError;

use crate::device::ReadError;
use crate::patch::PatchError;
use crate::units::ByteCount;

/// Why a move did not come to its end. Whatever was begun can be finished or taken back.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum RealignError {
    /// It was stopped; all that has moved is on the medium.
    #[error("stopped when {} of {} had moved", ByteCount::new(*done), ByteCount::new(*of))]
    Stopped {
        /// So many bytes have moved.
        done: u64,
        /// Of so many.
        of: u64,
    },
    /// Bytes that shall move cannot be read. All in front of them (on the way right: behind them) have moved, and
    /// that is on the medium.
    #[error("the bytes at {offset} cannot be read: {source}")]
    Read {
        /// The first byte of the sector.
        offset: u64,
        /// What is wrong.
        source: ReadError,
    },
    /// Bytes cannot be written to the disk.
    #[error("the bytes at {offset} cannot be written: {source}")]
    Write {
        /// The first byte.
        offset: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// Bytes that were written and flushed are not what is read there.
    #[error(
        "the disk did not take what was written: of the bytes from {offset} on others are read back; nothing is lost, but \
         the disk or its cable cannot be trusted"
    )]
    NotTaken {
        /// The first byte of those that were compared.
        offset: u64,
    },
    /// What was written is not on the medium.
    #[error("what was written cannot be flushed to the medium: {0}")]
    Flush(io::Error),
    /// The journal cannot be read or written.
    #[error("the journal fails at byte {offset}: {reason}")]
    Journal {
        /// The byte of the device that it is on.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// There is no journal there, or it is damaged.
    #[error("there is no journal of a move at byte {offset}: {reason}")]
    NoJournal {
        /// Where it was looked for.
        offset: u64,
        /// What speaks against it.
        reason: &'static str,
    },
    /// Bytes that only the move should have written are others.
    #[error(
        "somebody else wrote to byte {offset} since the move stopped: neither what was there nor what the move writes \
         is there now, so nothing was written; take that change back and try again"
    )]
    Foreign {
        /// The first byte that is neither.
        offset: u64,
    },
    /// The disk is not as it was when the job was made.
    #[error(transparent)]
    Marks(#[from] PatchError),
    /// The job cannot be done as it is.
    #[error("a job that cannot be done: {0}")]
    Job(&'static str),
}
