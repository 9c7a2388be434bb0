use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Job, RealignError, Shift};
use crate::patch::{Change, Patch};

/// A job without its bytes. They are strings of bytes that are stored behind it, each once, in the order of their
/// numbers.
///
/// String 0 is all zeros and is not stored. Any other number is one that was named before, or the next one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Description {
    note: String,
    shifts: Vec<Shift>,
    /// Offset and length of each change, then the strings that were there and that are written.
    marks: Vec<Vec<(u64, u64, u64, u64)>>,
    /// Offset, length and string of each.
    finals: Vec<(u64, u64, u64)>,
}

const ZEROS: u64 = 0;

impl Description {
    /// Of a job, with the strings that have to be stored.
    pub(super) fn of(job: &Job) -> (Self, Vec<&[u8]>) {
        let mut strings = Strings::default();
        let mut marks = Vec::new();
        for step in &job.marks.steps {
            let describe = |change| strings.describe(change);
            marks.push(step.iter().map(describe).collect());
        }
        let finals = job.finals.iter();
        let finals = finals.map(|(offset, bytes)| (*offset, bytes.len() as u64, strings.number(bytes)));
        let finals = finals.collect();
        let description = Self { note: job.note.clone(), shifts: job.shifts.clone(), marks, finals };
        (description, strings.stored)
    }

    /// How many bytes the job holds in memory: every string counts as often as it is named.
    pub(super) fn bytes(&self) -> u64 {
        let finals = self.finals.iter().map(|(_, len, _)| *len);
        let marks = self.marks.iter().flatten().flat_map(|(_, len, ..)| [*len, *len]);
        marks.chain(finals).fold(0, u64::saturating_add)
    }

    /// The job again. `read` gives the next stored string, which has so many bytes. `None` when the numbers of the
    /// strings or their lengths do not fit together.
    pub(super) fn restore(
        self,
        id: Uuid,
        read: impl FnMut(u64) -> Result<Vec<u8>, RealignError>,
    ) -> Result<Option<Job>, RealignError> {
        let Some(uses) = self.uses() else { return Ok(None) };
        let mut shelf = Shelf { uses, stored: Vec::new(), read };
        let mut steps = Vec::with_capacity(self.marks.len());
        for step in self.marks {
            let mut changes = Vec::with_capacity(step.len());
            for (offset, len, before, after) in step {
                let (Some(before), Some(after)) = (shelf.take(before, len)?, shelf.take(after, len)?) else {
                    return Ok(None);
                };
                changes.push(Change { offset, before, after });
            }
            steps.push(changes);
        }
        let mut finals = Vec::with_capacity(self.finals.len());
        for (offset, len, number) in self.finals {
            let Some(bytes) = shelf.take(number, len)? else { return Ok(None) };
            finals.push((offset, bytes));
        }
        Ok(Some(Job { id, note: self.note, marks: Patch { steps }, shifts: self.shifts, finals }))
    }

    /// How often each stored string is named. `None` when a number is left out.
    fn uses(&self) -> Option<Vec<u64>> {
        let mut uses: Vec<u64> = Vec::new();
        let marks = self.marks.iter().flatten().flat_map(|(_, _, before, after)| [*before, *after]);
        let named = marks.chain(self.finals.iter().map(|(_, _, number)| *number));
        for number in named.filter(|number| *number != ZEROS) {
            let index = usize::try_from(number.saturating_sub(1)).ok()?;
            if index == uses.len() {
                uses.push(0);
            }
            let count = uses.get_mut(index)?;
            *count = count.saturating_add(1);
        }
        Some(uses)
    }
}

/// The different strings of a job.
#[derive(Default)]
struct Strings<'j> {
    numbers: BTreeMap<&'j [u8], u64>,
    stored: Vec<&'j [u8]>,
}

impl<'j> Strings<'j> {
    fn describe(&mut self, change: &'j Change) -> (u64, u64, u64, u64) {
        let (before, after) = (self.number(&change.before), self.number(&change.after));
        (change.offset, change.before.len() as u64, before, after)
    }

    fn number(&mut self, bytes: &'j [u8]) -> u64 {
        if is_zero(bytes) {
            return ZEROS;
        }
        let next = (self.stored.len() as u64).saturating_add(1);
        let number = *self.numbers.entry(bytes).or_insert(next);
        if number == next {
            self.stored.push(bytes);
        }
        number
    }
}

/// Compared with themselves, one byte further: megabytes are looked at several times, and nothing is faster.
fn is_zero(bytes: &[u8]) -> bool {
    match (bytes.split_first(), bytes.split_last()) {
        (Some((first, behind)), Some((_, in_front))) => *first == 0 && behind == in_front,
        _ => true,
    }
}

/// The stored strings that were read, as long as they are named once more.
struct Shelf<R> {
    uses: Vec<u64>,
    stored: Vec<Vec<u8>>,
    read: R,
}

impl<R: FnMut(u64) -> Result<Vec<u8>, RealignError>> Shelf<R> {
    fn take(&mut self, number: u64, len: u64) -> Result<Option<Vec<u8>>, RealignError> {
        let Ok(memory_len) = usize::try_from(len) else { return Ok(None) };
        if number == ZEROS {
            return Ok(Some(vec![0; memory_len]));
        }
        let Ok(index) = usize::try_from(number.saturating_sub(1)) else { return Ok(None) };
        if index == self.stored.len() {
            self.stored.push((self.read)(len)?);
        }
        let (Some(stored), Some(uses)) = (self.stored.get_mut(index), self.uses.get_mut(index)) else {
            return Ok(None);
        };
        if stored.len() != memory_len {
            return Ok(None);
        }
        *uses = uses.saturating_sub(1);
        Ok(Some(if *uses == 0 { std::mem::take(stored) } else { stored.clone() }))
    }
}
