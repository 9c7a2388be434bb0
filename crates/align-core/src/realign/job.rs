use std::ops::Range;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::runs::merged;
use crate::patch::Patch;

/// Bytes that change their place on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// The first byte, where it is.
    pub from: u64,
    /// The first byte, where it will be.
    pub to: u64,
    /// How many bytes.
    pub len: u64,
}

/// What moves, and what is written around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// By which its journal and its marks are known.
    pub id: Uuid,
    /// What whoever made the job has to know of it later, in a text of their own. The journal keeps it.
    pub note: String,
    /// Written before the first byte moves, and taken back when all are back: marks, a table entry that nobody
    /// mounts. Its ranges may lie where bytes move to, but not among those that move. What it only keeps (the bytes
    /// that will be overwritten and belong to nobody) is put back as well.
    pub marks: Patch,
    /// What moves, in this order. None may land on bytes that a later one has still to move.
    pub shifts: Vec<Shift>,
    /// Written when all bytes have moved, one after the other: places and bytes. What was cut off from the moved
    /// bytes for the marks is among them, and the table with the new places.
    pub finals: Vec<(u64, Vec<u8>)>,
}

impl Shift {
    /// How far it goes, in bytes.
    pub fn distance(self) -> u64 {
        self.from.abs_diff(self.to)
    }

    /// Whether it goes towards the end of the disk.
    pub fn is_right(self) -> bool {
        self.to > self.from
    }

    /// The same bytes on their way back.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { from: self.to, to: self.from, len: self.len }
    }
}

impl Job {
    /// All bytes that it may write, in runs that do not touch: where bytes were and will be, and what is put around
    /// them.
    pub(super) fn owned(&self) -> Vec<Range<u64>> {
        let end = |start: u64, len: usize| start.saturating_add(len as u64);
        let moved = self
            .shifts
            .iter()
            .flat_map(|shift| [shift.from, shift.to].map(|start| start..start.saturating_add(shift.len)));
        let marks = self.marks.changes().map(|change| change.offset..change.end());
        let finals = self.finals.iter().map(|(start, bytes)| *start..end(*start, bytes.len()));
        merged(moved.chain(marks).chain(finals).collect())
    }

    /// How many bytes move.
    pub fn bytes(&self) -> u64 {
        self.shifts.iter().fold(0, |sum, shift| sum.saturating_add(shift.len))
    }
}
