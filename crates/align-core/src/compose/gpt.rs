use std::ops::Range;

use super::{ComposeError, Piece, touches};
use crate::patch::Draft;
use crate::plan::{Layout, Planned, TableId};
use crate::table::gpt::{Array, Entry, Header, PRIMARY_LBA};
use crate::table::{PartitionType, Table, mbr};
use crate::units::{Lba, SectorSize};

/// What a fresh GPT has: 128 entries of 128 bytes.
const ENTRIES: u32 = 128;
const ENTRY_LEN: u32 = 128;
/// The protective MBR and the header are in front of the primary array.
const ARRAY_LBA: Lba = Lba::new(2);
const TABLE: &str = "a GPT";

/// A copy of a GPT with its places in bytes.
pub(super) struct Copy {
    pub(super) array: Piece,
    pub(super) header: Piece,
}

pub(super) fn fresh(layout: &Layout, old: &Table) -> Result<Draft, ComposeError> {
    let unit = layout.sector_size;
    let too_small = ComposeError::TooSmall { sectors: layout.disk_sectors };
    let mut array = Array::empty(ENTRIES as usize, ENTRY_LEN as usize);
    for planned in &layout.partitions {
        add(&mut array, planned)?;
    }
    let Some(TableId::Gpt(disk_id)) = layout.table_id else {
        return Err(ComposeError::Identifier { table: TABLE });
    };
    let array_sectors = (array.bytes().len() as u64).div_ceil(unit.bytes());
    let places = || {
        let last = Lba::new(layout.disk_sectors).checked_sub(1)?;
        let backup_array = last.checked_sub(array_sectors)?;
        let last_usable = backup_array.checked_sub(1)?;
        // The copies must not meet.
        let end = ARRAY_LBA.checked_add(array_sectors)?;
        (end <= last_usable).then_some((last, backup_array, last_usable))
    };
    let (last, backup_array, last_usable) = places().ok_or(too_small)?;
    let header = |my_lba, alternate, array_lba| Header {
        my_lba,
        alternate,
        first_usable: layout.first_usable,
        last_usable,
        disk_id,
        array: array_lba,
        entry_count: ENTRIES,
        entry_size: ENTRY_LEN,
        array_crc: array.crc(),
    };
    let sectors = array.sectors(unit);
    let primary = copy(&header(PRIMARY_LBA, last, ARRAY_LBA), unit, None, sectors.clone())?;
    let backup = copy(&header(last, PRIMARY_LBA, backup_array), unit, None, sectors)?;
    Ok(in_order(primary, backup, front(layout, old), old))
}

/// A copy with a header; of an old header everything stays that is not set.
pub(super) fn copy(
    header: &Header,
    unit: SectorSize,
    old: Option<&[u8]>,
    array: Vec<u8>,
) -> Result<Copy, ComposeError> {
    let unusable = || ComposeError::NotEditable("a header of the GPT has fields that make no sense");
    let sector = header.sector(unit, old).ok_or_else(unusable)?;
    Ok(Copy {
        array: (header.array.checked_byte(unit).ok_or_else(unusable)?, array),
        header: (header.my_lba.checked_byte(unit).ok_or_else(unusable)?, sector),
    })
}

pub(super) fn add(array: &mut Array, planned: &Planned) -> Result<(), ComposeError> {
    let number = planned.number;
    let no_slot = ComposeError::NoSlot { number, table: TABLE };
    let PartitionType::Gpt(type_id) = planned.type_ else {
        return Err(ComposeError::Type { number, table: TABLE });
    };
    let name = planned.name.as_deref().unwrap_or_default();
    if name.encode_utf16().count() > crate::table::gpt::NAME_UNITS {
        return Err(ComposeError::Name { number });
    }
    let entry = Entry {
        type_id,
        id: planned.id.unwrap_or_default(),
        first: planned.first,
        last: planned.last,
        attributes: planned.attributes,
        name,
    };
    let slot = number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok());
    slot.and_then(|slot| array.add(slot, &entry)).ok_or(no_slot)
}

/// The protective MBR. Boot code of an earlier table stays; that of a file system does not.
fn front(layout: &Layout, old: &Table) -> Piece {
    let mut sector = mbr::Sector::empty();
    sector.set_protective(layout.disk_sectors);
    (0, super::mbr::sector_zero(&sector, old))
}

/// The pieces in such an order that the old table can be read until the new one can.
fn in_order(primary: Copy, backup: Copy, front: Piece, old: &Table) -> Draft {
    let pair = |copy: Copy| [copy.header, copy.array];
    let (mut first, mut second) = (pair(backup), pair(primary));
    // The backup comes first, unless everything that is whole of the old GPT lies where it goes.
    let takes =
        |areas: &Vec<Range<u64>>| first.iter().any(|piece| areas.iter().any(|area| touches(piece, area)));
    if old.gpt.as_ref().is_some_and(|gpt| gpt.header().is_some() && gpt.whole_areas().iter().all(takes)) {
        std::mem::swap(&mut first, &mut second);
    }
    // What would cut an old chain waits until sector 0 has switched over to the other copy. The header of a copy
    // does not wait for its array: in its place there may be one of a still older GPT, which must not count then.
    let records = old.record_areas();
    let cuts_chain = |piece: &Piece| records.iter().any(|record| touches(piece, record));
    let can_wait = !(first.iter().any(cuts_chain) && second.iter().any(cuts_chain));
    let waits = |piece: &Piece| can_wait && cuts_chain(piece);
    let (waiting, first): (Vec<_>, Vec<_>) = first.into_iter().partition(waits);
    let (waiting_too, second): (Vec<_>, Vec<_>) = second.into_iter().partition(waits);
    // The header in a step of its own: an old one in front of a new array would lead to whatever backup it names.
    let second = second.into_iter().map(|piece| vec![piece]);
    let mut steps: Vec<_> = std::iter::once(first).chain(second).collect();
    // Without a protective MBR the old GPT counts only while its primary copy is whole, where a file system is seen too.
    let unprotected = old.gpt.is_some() && old.mbr.is_none();
    steps.insert(if unprotected { 1 } else { steps.len() }, vec![front]);
    steps.push([waiting, waiting_too].concat());
    let mut draft = Draft::new();
    for step in steps {
        for (offset, bytes) in step {
            draft.write(offset, bytes);
        }
        draft.barrier();
    }
    draft
}
