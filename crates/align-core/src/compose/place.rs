use std::collections::BTreeMap;

use super::ComposeError;
use super::beside::GptEdit;
use crate::device::Reader;
use crate::patch::Draft;
use crate::table::mbr::{Ebr, Sector};
use crate::table::{Label, Mbr, Partition, PartitionKind, Table};
use crate::units::Lba;

/// Where a partition shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Which.
    pub number: u32,
    /// Its new first sector.
    pub first: Lba,
    /// Its new last sector.
    pub last: Lba,
}

pub(super) fn draft(
    table: &Table,
    placements: &[Placement],
    reader: &Reader<'_>,
) -> Result<Draft, ComposeError> {
    match table.label {
        Label::Gpt => gpt(table, placements, reader),
        Label::Mbr => mbr(table, placements),
        Label::None => Err(ComposeError::NotEditable("there is none")),
    }
}

fn gpt(table: &Table, placements: &[Placement], reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let mut edit = GptEdit::of(table, reader)?;
    for placement in placements {
        let number = placement.number;
        let missing = ComposeError::NoPartition { number };
        if table.partition(number).is_none() {
            return Err(missing);
        }
        let slot = number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok());
        let placed = slot.and_then(|slot| edit.array.place(slot, (placement.first, placement.last)));
        placed.ok_or(missing)?;
    }
    let sectors = reader.size().map_or(0, |size| size.div_euclid(table.sector_size.bytes()));
    edit.draft(sectors)
}

fn mbr(table: &Table, placements: &[Placement]) -> Result<Draft, ComposeError> {
    let mbr = table.mbr.as_ref().ok_or(ComposeError::NotEditable("there is no MBR"))?;
    let mut sectors = Sectors { mbr, changed: BTreeMap::new() };
    for placement in placements {
        let missing = ComposeError::NoPartition { number: placement.number };
        let Some(partition) = table.partition(placement.number) else { return Err(missing) };
        match partition.kind {
            PartitionKind::Logical => sectors.place_logical(table, partition, placement)?,
            PartitionKind::Primary | PartitionKind::Extended => {
                sectors.place_primary(partition, placement)?;
            }
        }
    }
    let mut draft = Draft::new();
    // Sector 0 comes last: it is the first in order.
    for (lba, sector) in sectors.changed.iter().rev() {
        let offset =
            lba.checked_byte(table.sector_size).ok_or(ComposeError::NotEditable("an EBR is out of reach"))?;
        draft.write(offset, sector.bytes().to_vec());
        draft.barrier();
    }
    Ok(draft)
}

/// Sector 0 and EBRs on the way to others.
struct Sectors<'t> {
    mbr: &'t Mbr,
    changed: BTreeMap<Lba, Sector>,
}

impl Sectors<'_> {
    fn place_primary(&mut self, partition: &Partition, placement: &Placement) -> Result<(), ComposeError> {
        let number = partition.number;
        if partition.kind == PartitionKind::Extended && placement.first != partition.first {
            return Err(ComposeError::ContainerMoves { number });
        }
        let slot = number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok()).unwrap_or(usize::MAX);
        let front = self.changed.entry(Lba::ZERO).or_insert_with(|| Sector::of(self.mbr.sector()));
        front.place(slot, Lba::ZERO, placement.first, placement.last).ok_or(out_of_range(placement))
    }

    /// Changes the entry in the partition's own EBR, and the length in the link that leads to it.
    fn place_logical(
        &mut self,
        table: &Table,
        partition: &Partition,
        placement: &Placement,
    ) -> Result<(), ComposeError> {
        let missing = ComposeError::NoPartition { number: partition.number };
        let holds = |ebr: &&Ebr| {
            ebr.logicals().any(|logical| logical.first == partition.first && logical.last == partition.last)
        };
        let chain = self.mbr.chains.iter().find(|chain| chain.ebrs.iter().any(|ebr| holds(&ebr)));
        let Some(chain) = chain else { return Err(missing) };
        let Some(ebr) = chain.ebrs.iter().find(holds) else { return Err(missing) };
        let Some(logical) = ebr.logicals().find(|logical| logical.first == partition.first) else {
            return Err(missing);
        };
        let sector = self.changed.entry(ebr.lba).or_insert_with(|| Sector::of(&ebr.sector));
        let placed = sector.place(logical.slot, ebr.lba, placement.first, placement.last);
        placed.ok_or(out_of_range(placement))?;
        let before = chain.ebrs.iter().find(|before| before.link().is_some_and(|link| link.lba == ebr.lba));
        let container = table.partition(chain.container);
        if let (Some(before), Some(container)) = (before, container) {
            let link = before.link().and_then(|link| link.lba.checked_add(link.sectors)?.checked_sub(1));
            // Only where it said where this partition ends.
            if link == Some(partition.last) {
                let sector = self.changed.entry(before.lba).or_insert_with(|| Sector::of(&before.sector));
                let slot = sector.link_slot().ok_or(missing)?;
                let placed = sector.place(slot, container.first, ebr.lba, placement.last);
                placed.ok_or(out_of_range(placement))?;
            }
        }
        Ok(())
    }
}

fn out_of_range(placement: &Placement) -> ComposeError {
    ComposeError::OutOfRange {
        number: placement.number,
        first: placement.first.number(),
        last: placement.last.number(),
        table: "an MBR",
    }
}
