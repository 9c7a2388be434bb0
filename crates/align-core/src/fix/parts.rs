//! How a partition is cut for its way: what moves in steps, and what waits in the journal meanwhile.

use std::ops::Range;

use crate::patch::Move;
use crate::realign::{MARKER_LEN, Shift};

/// A partition that moves, cut in three. Its head and its tail wait in the journal, since by them it would be
/// recognised; the middle moves in steps.
///
/// While bytes move, a range of the disk stands for the partition in its table: it begins with the head mark and ends
/// with the tail mark, and no step writes into either. Over short distances that is where the partition was: its head
/// and its tail are longer by the distance than what has to be hidden, so the middle never leaves the old place, and
/// moves of neighbours do not meet. Over a long distance, which only one partition alone can go, it is the old and the
/// new place together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) moved: Move,
    /// How many bytes the head has, and the tail.
    pub(super) head: u64,
    pub(super) tail: u64,
    /// What stands for the partition meanwhile.
    pub(super) stand_in: Range<u64>,
    /// Where its head mark and its tail mark are.
    pub(super) marks: [Range<u64>; 2],
}

/// How much of both ends has to be hidden, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) head: u64,
    pub(super) tail: u64,
}

/// As far as this, the middle stays inside the old place.
const NEAR: u64 = 16 << 20;
/// What is written whole or torn.
const BLOCK: u64 = 4096;
/// A middle of less is not worth steps.
const LEAST_MIDDLE: u64 = 64 << 10;

impl Parts {
    /// `alone`: no other partition moves with it.
    pub(super) fn of(moved: Move, hidden: Hidden, alone: bool) -> Self {
        let is_near = !alone || moved.distance() <= NEAR;
        let slack = if is_near { moved.distance() } else { 0 };
        let longer =
            |least: u64| least.saturating_add(slack).checked_next_multiple_of(BLOCK).unwrap_or(least);
        let ends = longer(hidden.head).saturating_add(longer(hidden.tail));
        let middle = moved.len.saturating_sub(ends) & !(BLOCK - 1);
        let old = moved.from..moved.old_end();
        if middle < LEAST_MIDDLE {
            let rest = old.end..old.end;
            return Self { head: moved.len, tail: 0, stand_in: old.clone(), marks: [old, rest], moved };
        }
        let head = longer(hidden.head);
        let tail = moved.len.saturating_sub(head).saturating_sub(middle);
        let overlaps = moved.distance() < moved.len;
        let stand_in = match (is_near || !overlaps, moved.to > moved.from) {
            (true, _) => old,
            (false, true) => moved.from..moved.new_end(),
            (false, false) => moved.to..moved.old_end(),
        };
        let marks = [
            stand_in.start..stand_in.start.saturating_add(head),
            stand_in.end.saturating_sub(tail)..stand_in.end,
        ];
        Self { moved, head, tail, stand_in, marks }
    }

    /// What moves in steps, if there is something.
    pub(super) fn shift(&self) -> Option<Shift> {
        let len = self.moved.len.saturating_sub(self.head).saturating_sub(self.tail);
        let at = |start: u64| start.saturating_add(self.head);
        (len > 0).then_some(Shift { from: at(self.moved.from), to: at(self.moved.to), len })
    }

    /// Where the head is, and the tail, before the move.
    pub(super) fn old_ends(&self) -> [Range<u64>; 2] {
        let Move { from, .. } = self.moved;
        let end = self.moved.old_end();
        [from..from.saturating_add(self.head), end.saturating_sub(self.tail)..end]
    }

    /// Where a byte of the old place will be.
    pub(super) fn new_place(&self, old: u64) -> u64 {
        old.saturating_sub(self.moved.from).saturating_add(self.moved.to)
    }

    /// What is written over its marks: the first bytes of the stand-in are `marker`, all others zero.
    pub(super) fn marked(&self, marker: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let zeros = |range: &Range<u64>| {
            let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
            (range.start, vec![0; len])
        };
        let [head, tail] = &self.marks;
        let len = MARKER_LEN.min(usize::try_from(self.head).unwrap_or(MARKER_LEN));
        let first = marker.get(..len).unwrap_or(marker).to_vec();
        let behind = head.start.saturating_add(len as u64)..head.end;
        let all = [(head.start, first), zeros(&behind), zeros(tail)];
        all.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect()
    }
}

/// The parts of a range that lie in none of the others.
pub(super) fn without(range: Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut others: Vec<_> = others.iter().filter(|other| other.start < other.end).collect();
    others.sort_by_key(|other| other.start);
    let mut parts = Vec::new();
    let mut start = range.start;
    for other in others {
        if other.end <= start || other.start >= range.end {
            continue;
        }
        if other.start > start {
            parts.push(start..other.start);
        }
        start = start.max(other.end);
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const HIDDEN: Hidden = Hidden { head: MIB, tail: MIB };

    fn ranges(shift: Shift) -> [Range<u64>; 2] {
        [shift.from, shift.to].map(|start| start..start + shift.len)
    }

    fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
        a.start < b.end && b.start < a.end
    }

    proptest! {
        #[test]
        fn no_step_writes_into_a_mark_and_no_mark_lies_among_what_moves(
            from in 0..1_u64 << 20,
            to in 0..1_u64 << 20,
            sectors in 1..1_u64 << 20,
            alone: bool,
        ) {
            prop_assume!(from != to);
            let moved = Move { number: 1, from: from * 512, to: to * 512, len: sectors * 512 };
            let parts = Parts::of(moved, HIDDEN, alone);
            prop_assert_eq!(parts.marks[0].start, parts.stand_in.start);
            prop_assert_eq!(parts.marks[1].end, parts.stand_in.end);
            if let Some(shift) = parts.shift() {
                prop_assert_eq!(parts.head % BLOCK, 0);
                prop_assert_eq!(shift.len % BLOCK, 0);
                prop_assert!(parts.head >= HIDDEN.head && parts.tail >= HIDDEN.tail);
                let [source, target] = ranges(shift);
                for (mark, hidden) in parts.marks.iter().zip([
                    parts.stand_in.start..parts.stand_in.start + HIDDEN.head,
                    parts.stand_in.end - HIDDEN.tail..parts.stand_in.end,
                ]) {
                    prop_assert!(!meet(mark, &source));
                    prop_assert!(!meet(&hidden, &target), "{parts:?}");
                }
                if !alone {
                    let old = moved.from..moved.old_end();
                    prop_assert!(old.start <= target.start && target.end <= old.end);
                }
            } else {
                prop_assert_eq!(parts.head, moved.len);
            }
        }
    }

    #[test]
    fn a_range_without_others_is_what_is_left() {
        assert_eq!(without(10..20, &[12..14, 5..11, 18..30, 13..15]), [11..12, 15..18]);
        assert_eq!(without(10..20, &[0..15, 15..30]), []);
        assert_eq!(without(10..20, &[]).first(), Some(&(10..20)));
    }
}
