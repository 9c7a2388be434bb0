use super::ComposeError;
use crate::patch::Draft;
use crate::plan::{Layout, Planned, TableId};
use crate::table::gpt::{Array, Header, PRIMARY_LBA};
use crate::table::{Label, PartitionType, Table, mbr};
use crate::units::{Lba, SectorSize};

/// What a fresh GPT has: 128 entries of 128 bytes.
const ENTRIES: u32 = 128;
const ENTRY_LEN: u32 = 128;
/// The protective MBR and the header are in front of the primary array.
const ARRAY_LBA: Lba = Lba::new(2);
const TABLE: &str = "a GPT";

/// A copy of a GPT with its places in bytes.
pub(super) struct Copy {
    pub(super) array: (u64, Vec<u8>),
    pub(super) header: (u64, Vec<u8>),
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
    let slot = number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok());
    let Some(slot) = slot else { return Err(no_slot) };
    let id = planned.id.unwrap_or_default();
    array.add(slot, type_id, id, (planned.first, planned.last), name).ok_or(no_slot)
}

/// The protective MBR. Boot code of an earlier table stays; that of a file system does not.
fn front(layout: &Layout, old: &Table) -> (u64, Vec<u8>) {
    let mut sector = mbr::Sector::empty();
    sector.set_protective(layout.disk_sectors);
    (0, super::mbr::sector_zero(&sector, old))
}

/// The pieces in such an order that the old table can be read until the new one can.
fn in_order(primary: Copy, backup: Copy, front: (u64, Vec<u8>), old: &Table) -> Draft {
    let of_chain = |copy: &Copy| {
        let chains = old.mbr.iter().flat_map(|mbr| &mbr.chains).flat_map(|chain| &chain.ebrs);
        let records = chains.filter_map(|ebr| ebr.lba.checked_byte(old.sector_size));
        let start = copy.array.0.min(copy.header.0);
        let end = |(offset, bytes): &(u64, Vec<u8>)| offset.saturating_add(bytes.len() as u64);
        let end = end(&copy.array).max(end(&copy.header));
        let past = |record: u64| record.saturating_add(mbr::SECTOR_LEN as u64);
        old.label == Label::Mbr && records.into_iter().any(|record| record < end && start < past(record))
    };
    let only_backup = old.gpt.as_ref().is_some_and(|gpt| gpt.primary.is_err() && gpt.backup.is_ok());
    let pair = |copy: Copy| vec![copy.array, copy.header];
    let switch = vec![front];
    let steps = match (only_backup, of_chain(&primary), of_chain(&backup)) {
        // The old table lives in its backup: it goes when the new primary is there.
        (true, ..) => [pair(primary), pair(backup), switch],
        // A copy that would cut an old chain waits until sector 0 has switched over to the other.
        (_, false, true) => [pair(primary), switch, pair(backup)],
        (_, true, false) => [pair(backup), switch, pair(primary)],
        _ => [pair(backup), pair(primary), switch],
    };
    let mut draft = Draft::new();
    for step in steps {
        for (offset, bytes) in step {
            draft.write(offset, bytes);
        }
        draft.barrier();
    }
    draft
}
