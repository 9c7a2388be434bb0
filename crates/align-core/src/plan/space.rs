use std::ops::Range;

use super::{Grain, Medium, PlanError, Planned, TableKind, Wanted};
use crate::table::{Gpt, PartitionKind, PartitionType};
use crate::topology::Grid;
use crate::units::{Lba, SectorSize};

/// What a new container is: "extended".
const CONTAINER_TYPE: u8 = 0x05;
/// The array of a fresh GPT: 128 entries of 128 bytes.
pub(super) const GPT_ARRAY_BYTES: u64 = 128 * 128;
/// The protective MBR and the header in front of the array.
pub(super) const GPT_FRONT: u64 = 2;
/// MBR fields have 32 bits; the last two LBAs stay free, as other partitioners leave them.
const MBR_SECTORS: u64 = u32::MAX as u64;
/// Boot loaders expect the first MiB for themselves.
pub(super) const FIRST_MEBIBYTE: u64 = 1 << 20;

/// The space of a disk that a table gives to partitions, in bytes, and the places in it.
pub(super) struct Space {
    /// The first byte for partitions.
    first: u128,
    /// One past the last byte.
    pub(super) end: u128,
    grid: Grid,
    unit: SectorSize,
    table: TableKind,
}

impl Space {
    /// The space of a whole disk with a fresh table.
    pub(super) fn of_disk(table: TableKind, medium: &Medium, grain: Grain) -> Result<Self, PlanError> {
        let unit = medium.sector_size;
        let bytes = |sectors: u64| Lba::new(sectors).position(unit);
        let too_small = || PlanError::DiskTooSmall { bytes: bytes(medium.sectors), table: table.name() };
        let array = GPT_ARRAY_BYTES.div_ceil(unit.bytes());
        let (front, end) = match table {
            TableKind::Gpt => {
                let front = GPT_FRONT.saturating_add(array);
                // The backup array and its header end the disk.
                let behind = array.saturating_add(1);
                (front, medium.sectors.checked_sub(behind).ok_or_else(too_small)?)
            }
            TableKind::Mbr => (1, medium.sectors.min(MBR_SECTORS)),
        };
        if front >= end {
            return Err(too_small());
        }
        Self::new(table, bytes(front)..bytes(end), medium, grain)
    }

    /// The space of a GPT that is there. A backup that is not at the end of the disk will be put there.
    pub(super) fn of_gpt(gpt: &Gpt, medium: &Medium, grain: Grain) -> Result<Self, PlanError> {
        let unit = medium.sector_size;
        let too_small = PlanError::DiskTooSmall {
            bytes: Lba::new(medium.sectors).position(unit),
            table: TableKind::Gpt.name(),
        };
        let Some(header) = gpt.header() else { return Err(PlanError::NothingToKeep) };
        let array = header.array_bytes().div_ceil(unit.bytes());
        let end = match is_backup_in_place(gpt) {
            // It may say that more is usable than there is.
            true => header.last_usable.checked_add(1).map(|end| end.min(Lba::new(medium.sectors))),
            false => Lba::new(medium.sectors).checked_sub(array.saturating_add(1)),
        };
        let end = end.filter(|end| *end > header.first_usable).ok_or(too_small)?;
        Self::new(TableKind::Gpt, header.first_usable.position(unit)..end.position(unit), medium, grain)
    }

    fn new(table: TableKind, usable: Range<u128>, medium: &Medium, grain: Grain) -> Result<Self, PlanError> {
        let unit = medium.sector_size;
        let gap =
            if grain.small_disk { medium.topology.physical.bytes().into() } else { FIRST_MEBIBYTE.into() };
        let offset = medium.topology.alignment_offset;
        if !offset.is_multiple_of(unit.bytes()) {
            return Err(PlanError::OffGrid { sector: unit.bytes(), offset });
        }
        Ok(Self { first: usable.start.max(gap), end: usable.end, grid: grain.grid(offset), unit, table })
    }

    /// A partition from the first to one past the last of these bytes: one that is wanted, or a container.
    pub(super) fn planned(
        &self,
        number: u32,
        kind: PartitionKind,
        (start, end): (u128, u128),
        wanted: Option<&Wanted>,
        ebr: Option<u128>,
    ) -> Planned {
        Planned {
            number,
            kind,
            first: self.lba(start),
            last: self.lba(end.saturating_sub(self.unit.bytes().into())),
            asked: wanted.map(|wanted| wanted.size),
            type_: wanted.map_or(PartitionType::Mbr(CONTAINER_TYPE), |wanted| {
                wanted.type_.unwrap_or_else(|| self.table.default_type())
            }),
            name: wanted.and_then(|wanted| wanted.name.clone()),
            ebr: ebr.map(|ebr| self.lba(ebr)),
            id: None,
            attributes: 0,
        }
    }

    /// The first byte for partitions.
    pub(super) fn first_byte(&self) -> u128 {
        self.first
    }

    /// The first place for a partition.
    pub(super) fn first_place(&self) -> u128 {
        self.up(self.first)
    }

    /// The place at or after `position`.
    pub(super) fn up(&self, position: u128) -> u128 {
        match self.grid.remainder(position) {
            0 => position,
            past => position.saturating_add(self.grid.size().saturating_sub(past).into()),
        }
    }

    /// The place at or before `position`, 0 when there is none.
    pub(super) fn down(&self, position: u128) -> u128 {
        position.saturating_sub(self.grid.remainder(position).into())
    }

    /// The sector at `position`, which is a whole number of sectors: places are, and so are sizes.
    pub(super) fn lba(&self, position: u128) -> Lba {
        let sectors = position.checked_div(self.unit.bytes().into()).unwrap_or(0);
        Lba::new(u64::try_from(sectors).unwrap_or(u64::MAX))
    }
}

/// Whether the backup is at the end of the disk: one that is not will be put there.
pub(super) fn is_backup_in_place(gpt: &Gpt) -> bool {
    gpt.backup.as_ref().is_ok_and(|backup| Some(backup.my_lba) == gpt.last_lba)
}
