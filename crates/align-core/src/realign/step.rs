use std::ops::Range;

use super::{BLOCK, Shift};

/// Which way bytes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To their new place.
    Forward,
    /// To where they were.
    Back,
}

/// The next bytes of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Where they are read.
    pub(super) read: u64,
    /// Where they are written.
    pub(super) write: u64,
    pub(super) len: u64,
    /// Whether they can be copied without the journal.
    pub(super) is_direct: bool,
}

/// No direct step is longer: so much is done again after a crash at most.
pub(super) const LONGEST: u64 = 16 << 20;

/// How long steps are, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    /// The longest that goes through the journal.
    pub(super) journalled: u64,
    /// The longest that does not.
    pub(super) direct: u64,
    /// Below this distance all go through the journal: many short steps with two flushes each are slower.
    pub(super) direct_from: u64,
}

impl Step {
    /// The next step of a shift of which `moved` bytes are at their new place. `None` when there is no more.
    pub(super) fn next(shift: Shift, moved: u64, way: Way, lengths: Lengths) -> Option<Self> {
        let left = match way {
            Way::Forward => shift.len.checked_sub(moved)?,
            Way::Back => moved,
        };
        if left == 0 {
            return None;
        }
        let (source, target) = match way {
            Way::Forward => (shift.from, shift.to),
            Way::Back => (shift.to, shift.from),
        };
        // Else they would land on those that have still to go.
        let leaves_from_end = target > source;
        // Where those begin that have still to go, counted from the start of the shift.
        let first = match (way, shift.is_right()) {
            (Way::Forward, true) | (Way::Back, false) => 0,
            (Way::Forward, false) => moved,
            (Way::Back, true) => shift.len.checked_sub(moved)?,
        };
        let range = (target.checked_add(first)?, target.checked_add(first)?.checked_add(left)?);
        let (len, is_direct) = if leaves_from_end {
            cut_from_end(range, shift.distance(), lengths)
        } else {
            cut_from_start(range, shift.distance(), lengths)
        };
        let write = if leaves_from_end { range.1.checked_sub(len)? } else { range.0 };
        let read = write.checked_sub(target)?.checked_add(source)?;
        Some(Self { read, write, len, is_direct })
    }
}

impl Step {
    /// Whether its last bytes leave first. Else they would land on those that have still to go.
    pub(super) fn leaves_from_end(self) -> bool {
        self.write > self.read
    }

    /// As much of it as leaves before these bytes, which it reads. `None` when that is nothing.
    pub(super) fn up_to(self, bad: Range<u64>) -> Option<Self> {
        let end = self.read.checked_add(self.len)?;
        let good = if self.leaves_from_end() {
            end.checked_sub(bad.end)?
        } else {
            bad.start.checked_sub(self.read)?
        };
        // Less than a block can only go through the journal.
        let is_direct = self.is_direct && good >= BLOCK;
        let len = if is_direct { good & !(BLOCK - 1) } else { good };
        let skipped = if self.leaves_from_end() { self.len.checked_sub(len)? } else { 0 };
        let (read, write) = (self.read.checked_add(skipped)?, self.write.checked_add(skipped)?);
        (len > 0).then_some(Self { read, write, len, is_direct })
    }
}

/// The longest step at the end of what has still to be written, and whether it is direct.
fn cut_from_end((start, end): (u64, u64), distance: u64, lengths: Lengths) -> (u64, bool) {
    let left = end.saturating_sub(start);
    let most = most_direct(distance, lengths);
    if end.is_multiple_of(BLOCK) && most > 0 {
        let first = end.saturating_sub(most.min(left)).checked_next_multiple_of(BLOCK).unwrap_or(end);
        if first < end {
            return (end.saturating_sub(first), true);
        }
    }
    // To the nearest boundary when the rest can be direct, else as much as fits.
    let most_here = if most > 0 && !end.is_multiple_of(BLOCK) { end % BLOCK } else { lengths.journalled };
    let len = most_here.min(left);
    let first = end.saturating_sub(len);
    let rounded = first.checked_next_multiple_of(BLOCK).unwrap_or(end);
    // A whole number of blocks is left for the next, where there is one.
    let first = if first > start && rounded < end { rounded } else { first };
    (end.saturating_sub(first), false)
}

/// The same at the start.
fn cut_from_start((start, end): (u64, u64), distance: u64, lengths: Lengths) -> (u64, bool) {
    let left = end.saturating_sub(start);
    let most = most_direct(distance, lengths);
    if start.is_multiple_of(BLOCK) && most > 0 {
        let last = start.saturating_add(most.min(left)) & !(BLOCK - 1);
        if last > start {
            return (last.saturating_sub(start), true);
        }
    }
    let to_boundary = start.checked_next_multiple_of(BLOCK).unwrap_or(end).saturating_sub(start);
    let most_here = if most > 0 && to_boundary > 0 { to_boundary } else { lengths.journalled };
    let len = most_here.min(left);
    let last = start.saturating_add(len);
    let rounded = last & !(BLOCK - 1);
    let last = if last < end && rounded > start { rounded } else { last };
    (last.saturating_sub(start), false)
}

/// The longest direct step over this distance; 0 when there is none.
fn most_direct(distance: u64, lengths: Lengths) -> u64 {
    let most = distance.min(lengths.direct) & !(BLOCK - 1);
    if distance < lengths.direct_from { 0 } else { most }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Forwards and back, from wherever: the steps take every byte once, in an order in which none is lost.
        #[test]
        fn steps_take_every_byte_and_lose_none(
            from in 0_u64..300,
            to in 0_u64..300,
            sectors in 0_u64..200,
            turn in any::<prop::sample::Index>(),
        ) {
            prop_assume!(from != to);
            let shift = Shift { from: from * 512, to: to * 512, len: sectors * 512 };
            let lengths = Lengths { journalled: 8192, direct: 16384, direct_from: 8192 };
            let mut moved = 0;
            let mut visited = vec![0];
            while let Some(step) = Step::next(shift, moved, Way::Forward, lengths) {
                check(shift, moved, step, Way::Forward, lengths)?;
                moved += step.len;
                visited.push(moved);
            }
            prop_assert_eq!(moved, shift.len);
            moved = visited[turn.index(visited.len())];
            while let Some(step) = Step::next(shift, moved, Way::Back, lengths) {
                check(shift, moved, step, Way::Back, lengths)?;
                moved -= step.len;
            }
            prop_assert_eq!(moved, 0);
        }
    }

    fn check(shift: Shift, moved: u64, step: Step, way: Way, lengths: Lengths) -> Result<(), TestCaseError> {
        let (source, target) =
            if way == Way::Forward { (shift.from, shift.to) } else { (shift.to, shift.from) };
        let left = if way == Way::Forward { shift.len - moved } else { moved };
        prop_assert!(step.len > 0 && step.len <= left);
        prop_assert_eq!(step.write - target, step.read - source);
        let is_whole = step.write.is_multiple_of(BLOCK) && step.len.is_multiple_of(BLOCK);
        if step.is_direct {
            prop_assert!(is_whole && step.len <= shift.distance() && step.len <= lengths.direct);
        } else {
            prop_assert!(step.len <= lengths.journalled);
        }
        // What it writes is nobody's, or among what it moves itself: where the bytes are that have still to go behind
        // it.
        let first = step.read - source;
        let rest = if target > source { 0..first } else { first + step.len..shift.len };
        let rest = match (way, shift.is_right()) {
            (Way::Forward, _) => rest,
            (Way::Back, true) => first + step.len..shift.len,
            (Way::Back, false) => 0..first,
        };
        let written = step.write..step.write + step.len;
        let still_there = source + rest.start..source + rest.end;
        prop_assert!(
            rest.is_empty() || written.end <= still_there.start || still_there.end <= written.start,
            "{step:?} overwrites bytes at {still_there:?}"
        );
        Ok(())
    }
}
