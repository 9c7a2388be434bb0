use std::sync::Arc;

use super::Job;
use super::step::{Lengths, Step, Way};

/// The steps of a job from some place on, one way.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub(super) job: Arc<Job>,
    pub(super) lengths: Lengths,
    pub(super) way: Way,
    pub(super) place: Place,
}

/// A place in a job: which of its shifts is under way, and how many bytes of that are at their new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) shift: u32,
    pub(super) moved: u64,
}

impl Place {
    /// The place behind so many bytes more.
    pub(super) fn advanced(self, way: Way, len: u64) -> Self {
        let moved = match way {
            Way::Forward => self.moved.saturating_add(len),
            Way::Back => self.moved.saturating_sub(len),
        };
        Self { moved, ..self }
    }
}

impl Iterator for Course {
    type Item = (Place, Step);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let shift = self.job.shifts.get(usize::try_from(self.place.shift).ok()?)?;
            let place = self.place;
            if let Some(step) = Step::next(*shift, place.moved, self.way, self.lengths) {
                self.place = place.advanced(self.way, step.len);
                return Some((place, step));
            }
            let next = match self.way {
                Way::Forward => place.shift.checked_add(1)?,
                Way::Back => place.shift.checked_sub(1)?,
            };
            let shift = self.job.shifts.get(usize::try_from(next).ok()?)?;
            let moved = if self.way == Way::Back { shift.len } else { 0 };
            self.place = Place { shift: next, moved };
        }
    }
}
