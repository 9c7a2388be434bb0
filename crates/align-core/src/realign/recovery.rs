use std::ops::Range;

use super::foreign::first_foreign;
use super::journal::{Journal, Recorded, newest};
use super::load::Load;
use super::mover::write;
use super::progress::{Pending, Progress};
use super::reading::read_around;
use super::step::{LONGEST, Way};
use super::{Job, RealignError};
use crate::device::BlockDevice;

/// Writes again what a crash may have left half-written of the last two steps. The newest record, and whether its
/// step is done by now.
///
/// Nothing is written when somebody else wrote to the marks of the job, or to a step that is not whole.
pub(super) fn repair(
    disk: &dyn BlockDevice,
    journal: &Journal<'_>,
    job: &Job,
    owned: &[Range<u64>],
) -> Result<(Progress, bool), RealignError> {
    let none = |reason| RealignError::NoJournal { offset: journal.start(), reason };
    let records = newest(journal)?;
    let [newest, older @ ..] = &records[..] else {
        return Err(none("no record of its progress is whole"));
    };
    let record = newest.record;
    let is_before = |older: &&Recorded| older.record.sequence.checked_add(1) == Some(record.sequence);
    // The older first: the newer knows what it is beside. Behind a record without journalled bytes all is on the
    // medium.
    let again = newest.step.iter().flat_map(|_| older.iter().filter(is_before).chain([newest]));
    let again =
        again.filter_map(|recorded| Some((recorded.record.pending?.place(), recorded.step.as_ref()?)));
    let again: Vec<(Range<u64>, &Vec<u8>)> = again.collect();
    let is_owned =
        |place: &Range<u64>| owned.iter().any(|own| own.start <= place.start && place.end <= own.end);
    if !again.iter().all(|(place, _)| is_owned(place)) {
        return Err(none("it writes bytes that do not belong to its job"));
    }
    if let Some(offset) = first_foreign(disk, job, record.stage, again.iter().map(|(place, _)| place.clone()))
    {
        return Err(RealignError::Foreign { offset });
    }
    for (place, bytes) in &again {
        write(disk, place.start, bytes)?;
    }
    let is_done = match record.pending {
        Some(pending) if pending.is_direct => {
            is_copied(disk, job, &record, pending)?.ok_or(none("a step of it makes no sense"))?
        }
        pending => pending.is_some(),
    };
    Ok((record, is_done))
}

/// Whether a direct step has reached the medium: its record may have, and the bytes not. `None` when there is no such
/// step.
fn is_copied(
    disk: &dyn BlockDevice,
    job: &Job,
    record: &Progress,
    pending: Pending,
) -> Result<Option<bool>, RealignError> {
    let shift = usize::try_from(record.place.shift).ok().and_then(|shift| job.shifts.get(shift));
    let is_sane = pending.len == pending.blocks_len && pending.len <= LONGEST;
    let Some(shift) = shift.filter(|_| is_sane) else { return Ok(None) };
    let (source, target) = match pending.way {
        Way::Forward => (shift.from, shift.to),
        Way::Back => (shift.to, shift.from),
    };
    let from = pending.start.checked_sub(target).and_then(|within| within.checked_add(source));
    let Some(from) = from else { return Ok(None) };
    let mut load = Load::default();
    let mut is_there = |start: u64| {
        let all = 0..u64::MAX;
        let mut bad = 0_u64;
        load.lay(start..start.saturating_add(pending.len), &[all])?;
        // What could not be read was zeros then, too.
        read_around(disk, start, load.body_mut(), false, &mut |_, _| {
            bad = bad.saturating_add(1);
            Ok(())
        })
        .ok()?;
        let is_same = crc32fast::hash(load.body_mut()) == pending.crc;
        (is_same || bad == 0).then_some(is_same)
    };
    let arrived = is_there(pending.start);
    if arrived == Some(true) {
        return Ok(Some(true));
    }
    // As long as they have not arrived for certain, the next step, which would overwrite them, is not begun.
    if is_there(from) == Some(true) {
        return Ok(Some(false));
    }
    match arrived {
        // They have, and cannot be read any more.
        None => Ok(Some(true)),
        Some(_) => Err(RealignError::Foreign { offset: pending.start }),
    }
}
