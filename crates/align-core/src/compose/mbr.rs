use super::{ComposeError, Piece, touches};
use crate::content;
use crate::patch::Draft;
use crate::plan::{Layout, Planned, TableId};
use crate::table::mbr::{Entry, SECTOR_LEN, Sector};
use crate::table::{Label, PartitionKind, PartitionType, Table};
use crate::units::{Lba, SectorSize};

/// How many bytes of sector 0 are boot code.
const BOOT_CODE_LEN: usize = 440;
/// The type of a link to the next EBR.
const LINK_TYPE: u8 = 0x05;
/// The slots of an EBR: its partition, and the link.
const DATA_SLOT: usize = 0;
const LINK_SLOT: usize = 1;
const TABLE: &str = "an MBR";

pub(super) fn fresh(layout: &Layout, old: &Table) -> Result<Draft, ComposeError> {
    let unit = layout.sector_size;
    let mut sector = Sector::empty();
    match layout.table_id {
        Some(TableId::Mbr(signature)) => sector.set_disk_signature(signature),
        _ => return Err(ComposeError::Identifier { table: TABLE }),
    }
    let of_kind = |kind| layout.partitions.iter().filter(move |planned| planned.kind == kind);
    for planned in of_kind(PartitionKind::Primary).chain(of_kind(PartitionKind::Extended)) {
        set_primary(&mut sector, planned)?;
    }
    let logicals: Vec<&Planned> = of_kind(PartitionKind::Logical).collect();
    let records = match (of_kind(PartitionKind::Extended).next(), logicals.first()) {
        (Some(container), _) => chain(container.first, &logicals, unit)?,
        (None, Some(logical)) => return Err(ComposeError::NoContainer { number: logical.number }),
        (None, None) => Vec::new(),
    };
    let (first, last) = around_the_switch(records, old);
    let mut draft = Draft::new();
    for (offset, bytes) in first {
        draft.write(offset, bytes);
    }
    draft.barrier();
    draft.write(0, sector_zero(&sector, old));
    for (offset, bytes) in last {
        draft.barrier();
        draft.write(offset, bytes);
    }
    draft.barrier();
    Ok(draft)
}

pub(super) fn set_primary(sector: &mut Sector, planned: &Planned) -> Result<(), ComposeError> {
    let number = planned.number;
    let slot = number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok()).filter(|slot| *slot < 4);
    let slot = slot.ok_or(ComposeError::NoSlot { number, table: TABLE })?;
    set(sector, slot, planned, Lba::ZERO)
}

/// The records of a chain that begins with the container, from the last to the first.
pub(super) fn chain(
    container: Lba,
    logicals: &[&Planned],
    unit: SectorSize,
) -> Result<Vec<Piece>, ComposeError> {
    let mut records = Vec::new();
    for (index, planned) in logicals.iter().enumerate() {
        let next = logicals.get(index.saturating_add(1)).copied();
        let ebr = planned.ebr.ok_or(ComposeError::NoRecord { number: planned.number })?;
        if index == 0 && ebr != container {
            return Err(ComposeError::NoRecord { number: planned.number });
        }
        records.push(record(planned, next, container, unit)?);
    }
    if logicals.is_empty() {
        let offset = container.checked_byte(unit).ok_or(ComposeError::NoContainer { number: 0 })?;
        records.push((offset, padded(Sector::empty().bytes(), unit)));
    }
    records.reverse();
    Ok(records)
}

/// The EBR of a logical partition, with a link to the next.
pub(super) fn record(
    planned: &Planned,
    next: Option<&Planned>,
    container: Lba,
    unit: SectorSize,
) -> Result<Piece, ComposeError> {
    let no_record = ComposeError::NoRecord { number: planned.number };
    let Some(ebr) = planned.ebr else { return Err(no_record) };
    let mut sector = Sector::empty();
    set(&mut sector, DATA_SLOT, planned, ebr)?;
    if let Some(next) = next {
        link(&mut sector, LINK_SLOT, next, container)?;
    }
    let offset = ebr.checked_byte(unit).ok_or(no_record)?;
    Ok((offset, padded(sector.bytes(), unit)))
}

/// Lets an EBR point at that of `next`.
pub(super) fn link(
    sector: &mut Sector,
    slot: usize,
    next: &Planned,
    container: Lba,
) -> Result<(), ComposeError> {
    let number = next.number;
    let ebr = next.ebr.ok_or(ComposeError::NoRecord { number })?;
    let entry =
        Entry { boot_indicator: 0, type_byte: LINK_TYPE, base: container, first: ebr, last: next.last };
    sector.set(slot, &entry).ok_or(ComposeError::NoRecord { number })
}

pub(super) fn set(
    sector: &mut Sector,
    slot: usize,
    planned: &Planned,
    base: Lba,
) -> Result<(), ComposeError> {
    let PartitionType::Mbr(type_byte) = planned.type_ else {
        return Err(ComposeError::Type { number: planned.number, table: TABLE });
    };
    let entry = Entry { boot_indicator: 0, type_byte, base, first: planned.first, last: planned.last };
    sector.set(slot, &entry).ok_or(ComposeError::OutOfRange {
        number: planned.number,
        first: planned.first.number(),
        last: planned.last.number(),
        table: TABLE,
    })
}

/// The bytes of sector 0 that hold the table. The boot code of an earlier table stays: without it the disk would not
/// start. The boot sector of a file system goes, or the disk would still be taken for that.
pub(super) fn sector_zero(sector: &Sector, old: &Table) -> Vec<u8> {
    let mut bytes = sector.bytes().to_vec();
    let mbr = old.mbr.as_ref().filter(|_| old.label != Label::None);
    if let Some(mbr) = mbr.filter(|mbr| content::boot_sector(mbr.sector()).is_none())
        && let (Some(new), Some(code)) = (bytes.get_mut(..BOOT_CODE_LEN), mbr.sector().get(..BOOT_CODE_LEN))
    {
        new.copy_from_slice(code);
    }
    bytes
}

fn padded(sector: &[u8], unit: SectorSize) -> Vec<u8> {
    let mut bytes = sector.to_vec();
    bytes.resize(unit.byte_len().max(SECTOR_LEN), 0);
    bytes
}

/// The records that can be written while the old table counts, and those that must wait until sector 0 has switched
/// over: they lie where the old table has its own.
fn around_the_switch(records: Vec<Piece>, old: &Table) -> (Vec<Piece>, Vec<Piece>) {
    let areas = old.areas();
    // A GPT has two copies: while one of them is whole and apart from the new chain, it can be read.
    if let Some(gpt) = &old.gpt {
        let stays = |copy: &Vec<std::ops::Range<u64>>| {
            !records.iter().any(|record| copy.iter().any(|area| touches(record, area)))
        };
        if gpt.whole_areas().iter().any(stays) {
            return (records, Vec::new());
        }
    }
    records.into_iter().partition(|record| !areas.iter().any(|area| touches(record, area)))
}
