//! From moves to the job that does them, and to what is kept so that it can be taken back.

use std::ops::Range;

use uuid::Uuid;

use super::parts::{Hidden, Parts, without};
use super::{FixError, Inside};
use crate::compose::{self, Arrangement};
use crate::content::{self, moving};
use crate::device::{BlockDevice, Reader};
use crate::patch::{Bytes, Draft, Move, Patch};
use crate::realign::{Job, moving_type};
use crate::table::Table;
use crate::units::Lba;

/// A job that lacks its id, its marker and its note, and what is known of it beside.
pub(super) struct Drawn {
    pub(super) parts: Vec<Parts>,
    marks: Draft,
    finals: Vec<(u64, Vec<u8>)>,
    /// What changes of the table, and what stays around it.
    pub(super) table: Patch,
    /// Where bytes of nobody are overwritten, and those of them that are not zero.
    pub(super) cleared: Vec<Range<u64>>,
    pub(super) overwritten: Vec<(u64, Bytes)>,
    /// How many bytes of nobody are overwritten without being kept.
    pub(super) given_up: u64,
    pub(super) warnings: Vec<String>,
}

/// So many bytes of nobody are kept.
const MOST_KEPT: u64 = 64 << 20;
/// So many bytes of the ends of partitions are held in memory.
const MOST_ENDS: u64 = 40 << 20;
/// Bytes of nobody are kept in pieces of this length, of which those of zeros are left out.
const PIECE: u64 = 4096;

/// The boot record (EBR) of a logical partition: where it is, and where it will be, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Described {
    pub(super) number: u32,
    pub(super) old: u64,
    pub(super) new: u64,
}

/// The new table, and where the bytes of nobody come from that belong into the gaps.
pub(super) enum Goal<'a> {
    /// A table with these changes.
    Arranged(&'a Arrangement),
    /// What was there before an earlier move: the bytes of its table, and those of nobody.
    Restored { table: &'a Patch, cleared: &'a [(u64, u64)], overwritten: &'a [(u64, Bytes)] },
}

pub(super) fn draw_up(
    device: &dyn BlockDevice,
    table: &Table,
    moves: &[Move],
    records: &[Described],
    goal: &Goal<'_>,
) -> Result<Drawn, FixError> {
    let reader = Reader::new(device);
    let mut parts = Vec::new();
    for moved in moves {
        let inside = Inside { device, start: moved.from, len: moved.len };
        let hidden = hidden(&inside)?;
        parts.push(Parts::of(*moved, hidden, moves.len() == 1));
    }
    let ends: u64 = parts.iter().map(|parts| parts.head.saturating_add(parts.tail)).sum();
    if ends > MOST_ENDS {
        return Err(FixError::Refused(format!(
            "the ends of {} partitions that move together do not fit into memory; name some of them with --partition, \
             and move the others afterwards",
            parts.len()
        )));
    }
    check_stand_ins(table, &parts)?;

    let new_places: Vec<Range<u64>> = moves.iter().map(|moved| moved.to..moved.new_end()).collect();
    let old_places: Vec<Range<u64>> = moves.iter().map(|moved| moved.from..moved.old_end()).collect();
    let final_table = match goal {
        Goal::Arranged(arrangement) => compose::arrange(table, arrangement, &reader)?,
        Goal::Restored { table, .. } => restored(table, &new_places),
    };
    let table_writes: Vec<(u64, Vec<u8>)> =
        final_table.writes().map(|(offset, bytes)| (offset, bytes.to_vec())).collect();
    let hiding = hiding(table, &parts, &reader)?;
    let mut finals = Vec::new();
    let mut warnings = Vec::new();
    for parts in &parts {
        finals.extend(ends_of(device, parts, records, &mut warnings)?);
    }
    // What the marks leave behind, where nothing else comes.
    let written: Vec<Range<u64>> = table_writes
        .iter()
        .map(|(offset, bytes)| *offset..offset.saturating_add(bytes.len() as u64))
        .collect();
    let taken = [new_places.clone(), written].concat();
    let left_behind = |range: &Range<u64>| without(range.clone(), &taken);
    let marks: Vec<Range<u64>> = parts.iter().flat_map(|parts| parts.marks.clone()).collect();
    let mut emptied: Vec<Range<u64>> = marks.iter().flat_map(left_behind).collect();
    if let Goal::Restored { cleared, .. } = goal {
        let cleared: Vec<Range<u64>> = cleared.iter().map(|(start, end)| *start..*end).collect();
        emptied.extend(cleared.iter().flat_map(|range| without(range.clone(), &[&*marks, &taken].concat())));
    }
    for range in emptied {
        finals.push((range.start, vec![0; usize_of(range.end.saturating_sub(range.start))]));
    }
    if let Goal::Restored { overwritten, .. } = goal {
        finals.extend(overwritten.iter().map(|(offset, bytes)| (*offset, bytes.0.clone())));
    }
    // What only hides partitions is put back, where the new table does not come.
    for (offset, bytes) in hiding.writes() {
        for range in without(offset..offset.saturating_add(bytes.len() as u64), &taken) {
            let mut old = vec![0; usize_of(range.end.saturating_sub(range.start))];
            device
                .read_at(range.start, &mut old)
                .map_err(|source| FixError::Read { partition: None, source })?;
            finals.push((range.start, old));
        }
    }
    finals.extend(table_writes);
    let (cleared, overwritten, given_up) = of_nobody(device, &new_places, &old_places)?;

    let shifts = parts.iter().filter_map(Parts::shift);
    let mut marks = hiding;
    let targets: Vec<Range<u64>> = shifts.map(|shift| shift.to..shift.to.saturating_add(shift.len)).collect();
    keep_targets(&mut marks, &parts, &targets, &cleared);
    let table = table_patch(&final_table, device, &new_places)?;
    Ok(Drawn { parts, marks, finals, table, cleared, overwritten, given_up, warnings })
}

/// The table while bytes move: what moves has a type that nobody mounts, and a place in which nothing moves about.
fn hiding(table: &Table, parts: &[Parts], reader: &Reader<'_>) -> Result<Draft, FixError> {
    let mut hiding = Arrangement::default();
    for parts in parts {
        if let Some(type_) = moving_type(table.label) {
            hiding.retype(parts.moved.number, type_);
        }
        if parts.stand_in != (parts.moved.from..parts.moved.old_end()) {
            let lba = |byte: u64| Lba::new(byte.div_euclid(table.sector_size.bytes()));
            let last = lba(parts.stand_in.end).checked_sub(1).unwrap_or(Lba::ZERO);
            hiding.place(parts.moved.number, lba(parts.stand_in.start), last);
        }
    }
    Ok(compose::arrange(table, &hiding, reader)?)
}

impl Drawn {
    /// The job, with the marker by which it is known.
    pub(super) fn job(
        &self,
        device: &dyn BlockDevice,
        id: Uuid,
        marker: &[u8],
        note: String,
    ) -> Result<Job, FixError> {
        // The marks before the table: what is still whole under its old type may be mounted, and changed.
        let mut marks = Draft::new();
        for parts in &self.parts {
            parts.marked(marker).into_iter().for_each(|(offset, bytes)| marks.write(offset, bytes));
        }
        marks.append(self.marks.clone());
        let marks = marks.against(device)?;
        let shifts = self.shifts();
        Ok(Job { id, marks, shifts, finals: self.finals.clone(), note })
    }

    /// What moves in steps, in such an order that nothing lands on what has still to move.
    fn shifts(&self) -> Vec<crate::realign::Shift> {
        self.parts.iter().filter_map(Parts::shift).collect()
    }

    /// The change of everything by which the new disk is told from the old: the table and what is around it, and the
    /// fronts of the partitions.
    pub(super) fn rehearsal(&self, device: &dyn BlockDevice) -> Result<Patch, FixError> {
        let mut draft = Draft::new();
        // What is written last counts.
        for (offset, bytes) in self.finals.iter().rev() {
            let len = bytes.len().min(content::FRONT_LEN) as u64;
            for range in without(*offset..offset.saturating_add(len), &draft.ranges()) {
                let at = usize_of(range.start.saturating_sub(*offset));
                let len = usize_of(range.end.saturating_sub(range.start));
                let part = bytes.get(at..).and_then(|rest| rest.get(..len)).unwrap_or_default();
                draft.write(range.start, part.to_vec());
            }
        }
        Ok(draft.against(device)?)
    }

    /// Everything that is written or read, in bytes: where no journal may be.
    pub(super) fn touched(&self) -> Vec<Range<u64>> {
        let end = |offset: u64, len: usize| offset.saturating_add(len as u64);
        let moved = self.parts.iter().flat_map(|parts| {
            [parts.moved.from..parts.moved.old_end(), parts.moved.to..parts.moved.new_end()]
        });
        let finals = self.finals.iter().map(|(offset, bytes)| *offset..end(*offset, bytes.len()));
        let table = self.table.changes().map(|change| change.offset..change.end());
        moved.chain(finals).chain(table).chain(self.marks.ranges()).collect()
    }
}

/// How much of a partition is hidden while it moves.
fn hidden(inside: &Inside<'_>) -> Result<Hidden, FixError> {
    let len = inside.len.min(content::FRONT_LEN as u64);
    let reach = moving::reach(&inside.read(0, usize_of(len))?);
    Ok(Hidden { head: reach.head, tail: reach.tail })
}

/// Over a long distance the old and the new place are one for a while, and nobody else may be between them.
fn check_stand_ins(table: &Table, parts: &[Parts]) -> Result<(), FixError> {
    for parts in parts {
        let range = &parts.stand_in;
        let byte = |lba: Lba| lba.checked_byte(table.sector_size).unwrap_or(u64::MAX);
        let touches = |start: u64, end: u64| start < range.end && range.start < end;
        let other = table.partitions.iter().find(|other| {
            other.number != parts.moved.number
                && !other.type_.is_extended()
                && touches(byte(other.first), byte(other.last).saturating_add(table.sector_size.bytes()))
        });
        if let Some(other) = other {
            return Err(FixError::Refused(format!(
                "partition {} would have to pass partition {}, which it cannot",
                parts.moved.number, other.number
            )));
        }
        if table.record_areas().iter().any(|record| touches(record.start, record.end)) {
            return Err(FixError::Refused(format!(
                "on so long a way partition {} would meet the boot record (EBR) of another; move it in steps of at most \
                 16 MiB",
                parts.moved.number
            )));
        }
    }
    Ok(())
}

/// The ends of a partition at their new place, with the fields changed that hold where it begins.
fn ends_of(
    device: &dyn BlockDevice,
    parts: &Parts,
    records: &[Described],
    warnings: &mut Vec<String>,
) -> Result<Vec<(u64, Vec<u8>)>, FixError> {
    let moved = parts.moved;
    let inside = Inside { device, start: moved.from, len: moved.len };
    let record = records.iter().find(|record| record.number == moved.number);
    let origin = |start: u64, record: Option<u64>| moving::Origin {
        absolute: start,
        relative: record.and_then(|record| start.checked_sub(record)),
    };
    let old = origin(moved.from, record.map(|record| record.old));
    let new = origin(moved.to, record.map(|record| record.new));
    let read = |offset: u64, len: usize| inside.read_raw(offset, len);
    let fields = moving::place_fields(&read, moved.len, old, new)
        .map_err(|source| FixError::Read { partition: Some(moved.number), source })?;
    warnings.extend(fields.warnings.iter().map(|warning| format!("partition {}: {warning}", moved.number)));
    let mut pieces = Vec::new();
    for end in parts.old_ends() {
        let len = end.end.saturating_sub(end.start);
        if len == 0 {
            continue;
        }
        let bytes = inside.read(end.start.saturating_sub(moved.from), usize_of(len))?;
        pieces.push((parts.new_place(end.start), bytes));
    }
    for (offset, bytes) in fields.changes {
        let at = moved.to.saturating_add(offset);
        let of_end = pieces.iter_mut().find_map(|(start, piece)| {
            let within = usize_of(at.checked_sub(*start)?);
            piece.get_mut(within..)?.get_mut(..bytes.len())
        });
        match of_end {
            Some(place) => place.copy_from_slice(&bytes),
            // In the middle: changed when all has arrived.
            None => pieces.push((at, bytes)),
        }
    }
    Ok(pieces)
}

/// The bytes of nobody that the partitions come to lie over.
type OfNobody = (Vec<Range<u64>>, Vec<(u64, Bytes)>, u64);

fn of_nobody(
    device: &dyn BlockDevice,
    new_places: &[Range<u64>],
    old_places: &[Range<u64>],
) -> Result<OfNobody, FixError> {
    let (mut cleared, mut kept, mut given_up, mut left) = (Vec::new(), Vec::new(), 0_u64, MOST_KEPT);
    for range in new_places.iter().flat_map(|place| without(place.clone(), old_places)) {
        let len = range.end.saturating_sub(range.start);
        let keeps = len.min(left);
        given_up = given_up.saturating_add(len.saturating_sub(keeps));
        left = left.saturating_sub(keeps);
        if keeps == 0 {
            continue;
        }
        let range = range.start..range.start.saturating_add(keeps);
        let mut at = range.start;
        while at < range.end {
            let len = range.end.saturating_sub(at).min(PIECE);
            let mut bytes = vec![0; usize_of(len)];
            device.read_at(at, &mut bytes).map_err(|source| FixError::Read { partition: None, source })?;
            if !is_zero(&bytes) {
                kept.push((at, Bytes(bytes)));
            }
            at = at.saturating_add(len);
        }
        cleared.push(range);
    }
    Ok((cleared, kept, given_up))
}

/// Keeps in the marks what steps write over, so that it can be put back: the ends of the partition itself that wait in
/// the journal, and bytes of nobody.
fn keep_targets(marks: &mut Draft, parts: &[Parts], targets: &[Range<u64>], cleared: &[Range<u64>]) {
    let sources: Vec<Range<u64>> = parts
        .iter()
        .filter_map(Parts::shift)
        .map(|shift| shift.from..shift.from.saturating_add(shift.len))
        .collect();
    let own_ends = parts.iter().flat_map(Parts::old_ends);
    let all: Vec<Range<u64>> = own_ends.chain(cleared.iter().cloned()).collect();
    for target in targets {
        let inside = all.iter().filter_map(|range| {
            let (start, end) = (range.start.max(target.start), range.end.min(target.end));
            (start < end).then_some(start..end)
        });
        for range in inside.collect::<Vec<_>>() {
            let marked: Vec<Range<u64>> = parts.iter().flat_map(|parts| parts.marks.clone()).collect();
            let taken = [marks.ranges(), sources.clone(), marked].concat();
            for part in without(range, &taken) {
                marks.keep(part.start, usize_of(part.end.saturating_sub(part.start)));
            }
        }
    }
}

/// What changes of the table, and what stays of it, but for what partitions come to lie over.
fn table_patch(
    draft: &Draft,
    device: &dyn BlockDevice,
    new_places: &[Range<u64>],
) -> Result<Patch, FixError> {
    let mut patch = draft.against(device)?;
    let is_under = |start: u64, end: u64| new_places.iter().any(|new| start < new.end && new.start < end);
    for step in &mut patch.steps {
        step.retain(|change| !(change.is_kept() && is_under(change.offset, change.end())));
    }
    patch.steps.retain(|step| !step.is_empty());
    Ok(patch)
}

/// The draft that writes the old side of a patch, but for what lay in a partition that comes back: that moves.
fn restored(patch: &Patch, places: &[Range<u64>]) -> Draft {
    let is_inside = |start: u64, end: u64| places.iter().any(|place| start < place.end && place.start < end);
    let mut draft = Draft::new();
    for step in patch.reversed().steps {
        for change in step {
            if is_inside(change.offset, change.end()) {
                continue;
            }
            if change.is_kept() {
                draft.keep(change.offset, change.before.len());
            } else {
                draft.write(change.offset, change.after);
            }
        }
        draft.barrier();
    }
    draft
}

/// Whether all bytes are zero.
fn is_zero(bytes: &[u8]) -> bool {
    // The first is zero, and each is as the one in front of it.
    bytes.first().is_none_or(|first| *first == 0)
        && bytes.get(1..).unwrap_or_default()
            == bytes.get(..bytes.len().saturating_sub(1)).unwrap_or_default()
}

/// What is read into memory is bounded before.
pub(super) fn usize_of(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}
