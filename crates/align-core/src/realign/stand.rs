use super::journal::{Journal, newest};
use super::progress::Stage;
use super::{Job, RealignError};
use crate::device::BlockDevice;

/// How far a job has come, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It can be found, and its marks may be written. No byte has moved.
    Begun,
    /// Bytes move, one way or the other.
    Moving,
    /// All bytes have moved; the final ones are written. Only forwards leads out of it.
    Finishing,
    /// All is at its new place.
    Finished,
    /// All bytes are back; the marks are taken back.
    Restoring,
    /// All is as it was.
    Restored,
}

impl Stand {
    /// Whether the job has come to one of its two ends.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Restored)
    }
}

impl From<Stage> for Stand {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Marking => Self::Begun,
            Stage::Moving => Self::Moving,
            Stage::Finishing => Self::Finishing,
            Stage::Finished => Self::Finished,
            Stage::Restoring => Self::Restoring,
            Stage::Restored => Self::Restored,
        }
    }
}

/// Looks at the journal at byte `start` of a device: which job it is of, and how far that has come. Nothing is
/// written, neither there nor to the disk of the job.
///
/// # Errors
/// When there is no journal there, it is damaged, or the device cannot be read.
pub fn peek(device: &dyn BlockDevice, start: u64) -> Result<(Job, Stand), RealignError> {
    let (journal, job) = Journal::open(device, start)?;
    let newest = newest(&journal)?;
    let none = RealignError::NoJournal { offset: start, reason: "no record of its progress is whole" };
    let newest = newest.first().ok_or(none)?;
    Ok((job, newest.record.stage.into()))
}
