use super::gpt::{Copy, copy};
use super::{ComposeError, MAX_ARRAY, Piece, mbr};
use crate::device::Reader;
use crate::patch::Draft;
use crate::plan::{Layout, Planned};
use crate::table::gpt::{Array, GptHeader, Header};
use crate::table::mbr::{Chain, SECTOR_LEN, Sector};
use crate::table::{Gpt, Mbr, PartitionKind, Table};
use crate::units::{Lba, SectorSize};

pub(super) fn gpt(layout: &Layout, table: &Table, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let mut edit = GptEdit::of(table, reader)?;
    for planned in &layout.partitions {
        let taken = edit.gpt.entries.iter().any(|entry| entry.slot.checked_add(1) == Some(planned.number));
        if taken {
            return Err(ComposeError::NoSlot { number: planned.number, table: "a GPT" });
        }
        super::gpt::add(&mut edit.array, planned)?;
    }
    edit.draft(layout.disk_sectors)
}

pub(super) fn mbr(layout: &Layout, table: &Table) -> Result<Draft, ComposeError> {
    let unit = layout.sector_size;
    let mbr = table.mbr.as_ref().ok_or(ComposeError::NotEditable("there is no MBR"))?;
    let mut front = Sector::of(mbr.sector());
    let of_kind = |kind| layout.partitions.iter().filter(move |planned| planned.kind == kind);
    for planned in of_kind(PartitionKind::Primary).chain(of_kind(PartitionKind::Extended)) {
        if table.partition(planned.number).is_some() {
            return Err(ComposeError::NoSlot { number: planned.number, table: "an MBR" });
        }
        mbr::set_primary(&mut front, planned)?;
    }
    let logicals: Vec<&Planned> = of_kind(PartitionKind::Logical).collect();
    let (records, tail) = match (of_kind(PartitionKind::Extended).next(), logicals.first()) {
        (Some(container), _) => (mbr::chain(container.first, &logicals, unit)?, None),
        (None, Some(first)) => append(mbr, table, first, &logicals, unit)?,
        (None, None) => (Vec::new(), None),
    };
    let mut draft = Draft::new();
    for (offset, bytes) in records {
        draft.write(offset, bytes);
    }
    // Each of these switches its part over by itself.
    for (offset, bytes) in tail.into_iter().chain([(0, front.bytes().to_vec())]) {
        draft.barrier();
        draft.write(offset, bytes);
    }
    Ok(draft)
}

/// The records of logical partitions at the end of an existing chain, and the record that has to point at them.
/// Those that are there keep their numbers: the kernel counts along the chain.
fn append(
    mbr: &Mbr,
    table: &Table,
    first: &Planned,
    logicals: &[&Planned],
    unit: SectorSize,
) -> Result<(Vec<Piece>, Option<Piece>), ComposeError> {
    let no_container = ComposeError::NoContainer { number: first.number };
    let holds = |chain: &&Chain| table.partition(chain.container).is_some_and(|all| all.covers(first.first));
    let Some(chain) = mbr.chains.iter().find(holds) else { return Err(no_container) };
    let container = table.partition(chain.container).map_or(Lba::ZERO, |container| container.first);
    let (Some(tail), None) = (chain.ebrs.last(), &chain.fault) else {
        return Err(ComposeError::NotEditable("its chain of boot records (EBRs) is broken"));
    };
    let place = tail.lba.checked_byte(unit).ok_or(no_container)?;
    let mut sector = Sector::of(&tail.sector);
    let mut rest = logicals;
    if first.ebr == Some(tail.lba) {
        // The record at the start of an empty container is there already.
        mbr::set(&mut sector, 0, first, tail.lba)?;
        rest = logicals.get(1..).unwrap_or_default();
    }
    if let Some(next) = rest.first() {
        let slot = sector.free_slot().ok_or(ComposeError::NoRecord { number: next.number })?;
        mbr::link(&mut sector, slot, next, container)?;
    }
    let nexts = rest.iter().skip(1).map(Some).chain([None]);
    let records =
        rest.iter().zip(nexts).map(|(planned, next)| mbr::record(planned, next.copied(), container, unit));
    let mut records = records.collect::<Result<Vec<_>, _>>()?;
    records.reverse();
    Ok((records, Some((place, sector.bytes().to_vec()))))
}

/// A GPT of which both copies are whole, on the way to another.
pub(super) struct GptEdit<'t> {
    gpt: &'t Gpt,
    pub(super) mbr: &'t Mbr,
    pub(super) primary: &'t GptHeader,
    pub(super) backup: &'t GptHeader,
    pub(super) array: Array,
}

impl<'t> GptEdit<'t> {
    pub(super) fn of(table: &'t Table, reader: &Reader<'_>) -> Result<Self, ComposeError> {
        let gpt = table.gpt.as_ref().ok_or(ComposeError::NotEditable("there is no GPT"))?;
        let (Ok(primary), Ok(backup)) = (&gpt.primary, &gpt.backup) else {
            return Err(ComposeError::NotEditable("one copy of the GPT is bad; repair it first"));
        };
        let mbr = table.mbr.as_ref().ok_or(ComposeError::NotEditable("the GPT has no protective MBR"))?;
        let len = primary.array_bytes();
        let offset = primary.array.checked_byte(gpt.sector_size);
        let (Some(offset), Ok(len)) = (offset, usize::try_from(len)) else {
            return Err(ComposeError::NotEditable("its array is out of reach"));
        };
        if len as u64 > MAX_ARRAY || primary.array_bytes() != backup.array_bytes() {
            return Err(ComposeError::NotEditable(
                "its array of entries is unusually large, or the copies differ",
            ));
        }
        let bytes = reader.read(offset, len)?.into_owned();
        let array = Array::of(bytes, usize::try_from(primary.entry_size).unwrap_or(usize::MAX));
        Ok(Self { gpt, mbr, primary, backup, array })
    }

    /// Both copies with the array as it is now; the backup goes to the end of the disk if it is not there.
    pub(super) fn draft(&self, disk_sectors: u64) -> Result<Draft, ComposeError> {
        let unit = self.gpt.sector_size;
        let too_small = || ComposeError::TooSmall { sectors: disk_sectors };
        let last = Lba::new(disk_sectors).checked_sub(1).ok_or_else(too_small)?;
        let moved = self.backup.my_lba != last;
        let (backup_array, last_usable) = if moved {
            let sectors = (self.array.bytes().len() as u64).div_ceil(unit.bytes());
            let array = last.checked_sub(sectors).ok_or_else(too_small)?;
            (array, array.checked_sub(1).ok_or_else(too_small)?)
        } else {
            (self.backup.array, self.primary.last_usable)
        };
        let made = |old: &GptHeader, alternate, array| -> Result<Copy, ComposeError> {
            let my_lba = if old.my_lba == self.primary.my_lba { old.my_lba } else { last };
            let header = Header {
                my_lba,
                alternate,
                first_usable: self.primary.first_usable,
                last_usable,
                disk_id: self.primary.disk_id,
                array,
                entry_count: self.primary.entry_count,
                entry_size: self.primary.entry_size,
                array_crc: self.array.crc(),
            };
            copy(&header, unit, Some(&old.sector), self.array.bytes().to_vec())
        };
        let backup = made(self.backup, self.primary.my_lba, backup_array)?;
        let primary = made(self.primary, last, self.primary.array)?;
        let mut draft = Draft::new();
        for copy in [backup, primary] {
            draft.write(copy.array.0, copy.array.1);
            draft.write(copy.header.0, copy.header.1);
            draft.barrier();
        }
        if let Some(front) = self.front(disk_sectors) {
            draft.write(0, front);
            draft.barrier();
        }
        if let Some(old) = self.backup.my_lba.checked_byte(unit).filter(|_| moved) {
            super::leftovers::zero(&mut draft, old..old.saturating_add(unit.bytes()));
        }
        Ok(draft)
    }

    /// Sector 0, when its protective entry does not fit the disk.
    fn front(&self, disk_sectors: u64) -> Option<Vec<u8>> {
        let protective = self.mbr.protective()?;
        let whole = u32::try_from(disk_sectors.saturating_sub(1)).unwrap_or(u32::MAX);
        if protective.sectors == whole
            || protective.sectors == u32::MAX
            || self.mbr.ordinary().next().is_some()
        {
            return None;
        }
        let mut sector = Sector::of(self.mbr.sector());
        sector.resize_protective(disk_sectors);
        sector.bytes().get(..SECTOR_LEN).map(<[u8]>::to_vec)
    }
}
