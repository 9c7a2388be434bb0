use std::ops::Range;

use super::Scale;
use super::mbr::number_in_front;
use crate::compose::beside::GptEdit;
use crate::compose::gpt::{Copy, copy};
use crate::compose::{ComposeError, leftovers};
use crate::device::Reader;
use crate::patch::Draft;
use crate::table::gpt::{GptHeader, Header, PRIMARY_LBA};
use crate::table::mbr::{MbrEntry, PROTECTIVE_TYPE, Sector};
use crate::table::{Mbr, Partition, Table};
use crate::units::{Lba, SectorSize};

/// Where the array of a GPT usually begins, in every sector size.
const USUAL_ARRAY: Lba = Lba::new(2);

/// Where a GPT has its parts on the disk, in its own sectors.
struct Places {
    last: Lba,
    primary_array: Lba,
    backup_array: Lba,
    first_usable: Lba,
    last_usable: Lba,
}

pub(super) fn draft(table: &Table, scale: Scale, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let mut edit = GptEdit::of(table, reader)?;
    for partition in &table.partitions {
        let range = scale.range(partition.number, partition.first, partition.last)?;
        let slot = partition.number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok());
        let missing = ComposeError::NoPartition { number: partition.number };
        slot.and_then(|slot| edit.array.place(slot, range)).ok_or(missing)?;
    }
    let places = places(table, &edit, scale, reader.size().unwrap_or(0))?;
    let made = |old: &GptHeader, my_lba, alternate, array| -> Result<Copy, ComposeError> {
        let header = Header {
            my_lba,
            alternate,
            first_usable: places.first_usable,
            last_usable: places.last_usable,
            disk_id: edit.primary.disk_id,
            array,
            entry_count: edit.primary.entry_count,
            entry_size: edit.primary.entry_size,
            array_crc: edit.array.crc(),
        };
        let mut template = old.sector.clone();
        template.resize(scale.to.byte_len(), 0);
        copy(&header, scale.to, Some(&template), edit.array.bytes().to_vec())
    };
    let primary = made(edit.primary, PRIMARY_LBA, places.last, places.primary_array)?;
    let backup = made(edit.backup, places.last, PRIMARY_LBA, places.backup_array)?;
    let front = front(edit.mbr, scale, reader.size().unwrap_or(0), places.last)?;
    Ok(in_order(table, [primary, backup], front, &edit))
}

fn places(table: &Table, edit: &GptEdit<'_>, scale: Scale, size: u64) -> Result<Places, ComposeError> {
    let array_sectors = |unit: SectorSize| (edit.array.bytes().len() as u64).div_ceil(unit.bytes());
    let too_small = ComposeError::TooSmall { sectors: size.div_euclid(scale.to.bytes()) };
    let behind_usual = |unit| USUAL_ARRAY.checked_add(array_sectors(unit));
    // An array in another place stays there, if it can.
    let old_array = edit.primary.array;
    let kept = scale.lba(old_array).filter(|array| old_array != USUAL_ARRAY && *array > PRIMARY_LBA);
    let primary_array = kept.unwrap_or(USUAL_ARRAY);
    let compute = || {
        let last = Lba::new(size.div_euclid(scale.to.bytes())).checked_sub(1)?;
        let backup_array = last.checked_sub(array_sectors(scale.to))?;
        let behind_array = primary_array.checked_add(array_sectors(scale.to))?;
        // What is as early as it can be stays so; else it is the same byte.
        let as_early = behind_usual(scale.from) == Some(edit.primary.first_usable);
        let first_usable =
            if as_early { behind_usual(scale.to)? } else { scale.up(edit.primary.first_usable) };
        let as_late = edit.backup.array.checked_sub(1) == Some(edit.primary.last_usable);
        let latest = backup_array.checked_sub(1)?;
        let behind_last = edit.primary.last_usable.checked_add(1)?.position(scale.from);
        let same = Lba::new(u64::try_from(behind_last.checked_div(scale.to.bytes().into())?).ok()?)
            .checked_sub(1)?;
        let last_usable = if as_late { latest } else { same.min(latest) };
        Some(Places {
            last,
            primary_array,
            backup_array,
            first_usable: if kept.is_none() { first_usable.max(behind_array) } else { first_usable },
            last_usable,
        })
    };
    let mut places = compute().ok_or(too_small)?;
    if places.primary_array.checked_add(array_sectors(scale.to)).is_none_or(|end| end > places.backup_array) {
        return Err(ComposeError::NotEditable(
            "in the other size its array of entries would meet the backup",
        ));
    }
    let bytes = |first: Lba, sectors: u64| {
        let start = first.position(scale.to);
        start..start.saturating_add(Lba::new(sectors).position(scale.to))
    };
    let array = array_sectors(scale.to);
    let taken = [
        bytes(Lba::ZERO, 2),
        bytes(places.primary_array, array),
        bytes(places.backup_array, array.saturating_add(1)),
    ];
    let meets = |number, held: &Range<u128>| {
        let area = taken.iter().find(|area| held.start < area.end && area.start < held.end)?;
        Some(ComposeError::TableMeets { number, to: scale.to.bytes(), start: area.start, end: area.end })
    };
    for partition in &table.partitions {
        let held = partition.start_position(scale.from)..partition.end_position(scale.from);
        meets(partition.number, &held).map_or(Ok(()), Err)?;
    }
    // An entry of a hybrid that lies over the table as it is, such as one for the whole disk, holds nothing there.
    let old = table.areas();
    for (number, entry) in edit.mbr.ordinary() {
        let behind = entry.last().checked_add(1).unwrap_or(entry.last());
        let held = entry.first().position(scale.from)..behind.position(scale.from);
        if old.iter().all(|area| held.end <= area.start.into() || u128::from(area.end) <= held.start) {
            meets(number, &held).map_or(Ok(()), |source| Err(in_hybrid(source)))?;
        }
    }
    // Partitions that begin before what would be the first usable sector keep their place.
    let firsts = table.partitions.iter().filter_map(|partition| scale.lba(partition.first));
    let lasts = table.partitions.iter().filter_map(|partition| scale.lba(partition.last.checked_add(1)?));
    places.first_usable = firsts.fold(places.first_usable, Lba::min);
    places.last_usable = lasts.filter_map(|behind| behind.checked_sub(1)).fold(places.last_usable, Lba::max);
    Ok(places)
}

/// Sector 0 for the other sector size: the protective entry, and those of a hybrid.
fn front(mbr: &Mbr, scale: Scale, size: u64, last: Lba) -> Result<Vec<u8>, ComposeError> {
    let mut sector = Sector::of(mbr.sector());
    let ours = |entry: &MbrEntry| entry.type_byte != PROTECTIVE_TYPE;
    super::mbr::scale_entries(&mut sector, scale, |slot, entry| {
        ours(entry).then_some((Lba::ZERO, number_in_front(slot)))
    })
    .map_err(in_hybrid)?;
    // As many sectors as an entry covers that protects all behind sector 0.
    let all = |last: Lba| u32::try_from(last.number()).unwrap_or(u32::MAX);
    let old_all = all(Lba::new(size.div_euclid(scale.from.bytes()).saturating_sub(1)));
    let is_hybrid = mbr.ordinary().next().is_some();
    for (slot, entry) in mbr.entries().iter().enumerate().filter(|(_, entry)| !ours(entry)) {
        let Some(behind) = entry.last().checked_add(1) else { continue };
        let from_header = entry.first() == PRIMARY_LBA;
        let range = if from_header && (entry.sectors == old_all || !is_hybrid && entry.sectors != u32::MAX) {
            (PRIMARY_LBA, Lba::new(all(last).into()))
        } else if entry.is_used() && entry.sectors != u32::MAX {
            // Beside the entries of a hybrid it covers the rest.
            let first = if from_header { PRIMARY_LBA } else { scale.up(entry.first()) };
            let behind = scale.down(behind).min(last.checked_add(1).unwrap_or(last));
            match behind.checked_sub(1).filter(|last| first <= *last) {
                Some(last) => (first, last),
                None => continue,
            }
        } else {
            continue;
        };
        let moved = sector.move_entry(slot, (entry.first(), entry.last()), Lba::ZERO, range);
        moved.ok_or(ComposeError::NotEditable("the protective entry of its MBR makes no sense"))?;
    }
    Ok(sector.bytes().to_vec())
}

fn in_hybrid(source: ComposeError) -> ComposeError {
    ComposeError::Hybrid(Box::new(source))
}

/// The backup; then sector 0, without the old header in front of which nothing new would count; then the primary, its
/// array first. Where both sizes have their copies overlaps, so at each moment one of three can be read: the old
/// primary, the new backup, the new primary.
fn in_order(table: &Table, [primary, backup]: [Copy; 2], front: Vec<u8>, edit: &GptEdit<'_>) -> Draft {
    let mut new = Draft::new();
    for (offset, bytes) in [&primary.array, &primary.header, &backup.array, &backup.header] {
        new.write(*offset, bytes.clone());
    }
    new.write(0, front.clone());
    let in_partition = |range: &Range<u64>| {
        let meets = |partition: &Partition| {
            let held = partition.start_position(table.sector_size)..partition.end_position(table.sector_size);
            held.start < range.end.into() && u128::from(range.start) < held.end
        };
        table.partitions.iter().any(meets)
    };
    let left =
        |range: Range<u64>| leftovers::uncovered(&new, range).into_iter().filter(|part| !in_partition(part));
    let header = |header: &GptHeader| {
        let start = header.my_lba.checked_byte(table.sector_size).unwrap_or(0);
        start..start.saturating_add(table.sector_size.bytes())
    };
    let mut draft = Draft::new();
    draft.write(backup.array.0, backup.array.1);
    draft.write(backup.header.0, backup.header.1);
    // Where it ends behind the new backup, the old one would seem to be another at the same time.
    for part in left(header(edit.backup)) {
        leftovers::zero(&mut draft, part);
    }
    draft.barrier();
    draft.write(0, front);
    for part in left(header(edit.primary)) {
        leftovers::zero(&mut draft, part);
    }
    draft.barrier();
    draft.write(primary.array.0, primary.array.1);
    draft.barrier();
    draft.write(primary.header.0, primary.header.1);
    draft.barrier();
    for part in table.areas().into_iter().flat_map(left) {
        leftovers::zero(&mut draft, part);
    }
    draft
}
