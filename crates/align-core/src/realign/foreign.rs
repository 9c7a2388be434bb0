use std::ops::Range;

use super::progress::Stage;
use super::runs::{length, merged, pieces};
use super::{BLOCK, Job};
use crate::device::BlockDevice;

/// So much is compared at once.
const PIECE: u64 = 1 << 20;

/// The first byte that somebody else has written since the job was cut off, as far as its marks show that: what they
/// keep and what they write is known, except where bytes move. `torn` is what a crash may have left half-written.
pub(super) fn first_foreign(
    disk: &dyn BlockDevice,
    job: &Job,
    stage: Stage,
    torn: impl Iterator<Item = Range<u64>>,
) -> Option<u64> {
    let known = Known::of(job, stage)?;
    let block = |range: Range<u64>| {
        let end = range.end.checked_next_multiple_of(BLOCK).unwrap_or(range.end);
        range.start & !(BLOCK - 1)..end
    };
    let mut unknown: Vec<Range<u64>> = torn.map(block).collect();
    // Before that, no byte has moved.
    if stage != Stage::Marking {
        let moved = |start: u64, len: u64| start..start.saturating_add(len);
        let both = job.shifts.iter().flat_map(|shift| [(shift.from, shift.len), (shift.to, shift.len)]);
        unknown.extend(both.map(|(start, len)| moved(start, len)));
    }
    let unknown = merged(unknown);
    let marks = merged(job.marks.changes().map(|mark| mark.offset..mark.end()).collect());
    let mut sweep = Sweep { coming: &known.0, here: Vec::new() };
    let pieces = marks.into_iter().flat_map(|run| pieces(run, PIECE));
    pieces.into_iter().find_map(|piece| sweep.first_foreign(disk, piece, &unknown))
}

/// Bytes that may be where they are, by their place.
struct Known<'j>(Vec<(u64, &'j [u8])>);

impl<'j> Known<'j> {
    /// `None` when nothing will be written any more, and so nothing has to be known.
    fn of(job: &'j Job, stage: Stage) -> Option<Self> {
        let after = job.marks.changes().map(|mark| (mark.offset, &mark.after[..]));
        let mut known: Vec<_> = after.collect();
        match stage {
            Stage::Restored => return None,
            Stage::Moving => {}
            Stage::Marking | Stage::Restoring => {
                known.extend(job.marks.changes().map(|mark| (mark.offset, &mark.before[..])));
            }
            Stage::Finishing | Stage::Finished => {
                known.extend(job.finals.iter().map(|(offset, bytes)| (*offset, &bytes[..])));
            }
        }
        known.sort_by_key(|(offset, _)| *offset);
        Some(Self(known))
    }
}

/// What is known at the place that a search has come to, from the start of the disk to its end.
struct Sweep<'k, 'j> {
    coming: &'k [(u64, &'j [u8])],
    here: Vec<(u64, &'j [u8])>,
}

impl Sweep<'_, '_> {
    fn first_foreign(
        &mut self,
        disk: &dyn BlockDevice,
        piece: Range<u64>,
        unknown: &[Range<u64>],
    ) -> Option<u64> {
        self.here.retain(|(start, bytes)| end(*start, bytes) > piece.start);
        while let Some(((start, bytes), rest)) =
            self.coming.split_first().filter(|((start, _), _)| *start < piece.end)
        {
            if end(*start, bytes) > piece.start {
                self.here.push((*start, bytes));
            }
            self.coming = rest;
        }
        let mut foreign = vec![true; length(&piece)];
        for range in unknown {
            if let Some((within, _)) = overlap(&piece, range) {
                foreign.get_mut(within)?.fill(false);
            }
        }
        let found = found(disk, &piece, &mut foreign);
        for (start, bytes) in &self.here {
            let Some((within, part)) = overlap(&piece, &(*start..end(*start, bytes))) else { continue };
            let found = found.get(within.clone())?.iter().zip(bytes.get(part)?);
            for (foreign, (found, known)) in foreign.get_mut(within)?.iter_mut().zip(found) {
                *foreign &= found != known;
            }
        }
        let first = foreign.iter().position(|foreign| *foreign)?;
        Some(piece.start.saturating_add(first as u64))
    }
}

/// What is there. Where it cannot be read nobody can tell.
fn found(disk: &dyn BlockDevice, piece: &Range<u64>, foreign: &mut [bool]) -> Vec<u8> {
    let mut found = vec![0; length(piece)];
    if disk.read_at(piece.start, &mut found).is_ok() {
        return found;
    }
    for part in pieces(piece.clone(), BLOCK) {
        let Some((within, _)) = overlap(piece, &part) else { continue };
        let Some(buffer) = found.get_mut(within.clone()) else { continue };
        if disk.read_at(part.start, buffer).is_err()
            && let Some(foreign) = foreign.get_mut(within)
        {
            foreign.fill(false);
        }
    }
    found
}

/// Where two ranges are the same, counted from the start of each.
fn overlap(one: &Range<u64>, other: &Range<u64>) -> Option<(Range<usize>, Range<usize>)> {
    let both = one.start.max(other.start)..one.end.min(other.end);
    let from = |start: u64| {
        let first = usize::try_from(both.start.checked_sub(start)?).ok()?;
        Some(first..first.checked_add(usize::try_from(both.end.checked_sub(both.start)?).ok()?)?)
    };
    (both.start < both.end).then_some((from(one.start)?, from(other.start)?))
}

fn end(start: u64, bytes: &[u8]) -> u64 {
    start.saturating_add(bytes.len() as u64)
}
