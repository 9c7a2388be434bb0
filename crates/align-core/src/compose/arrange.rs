use std::collections::BTreeMap;

use super::ComposeError;
use super::beside::GptEdit;
use crate::device::Reader;
use crate::patch::Draft;
use crate::table::mbr::{Chain, Ebr, LogicalEntry, Sector};
use crate::table::{Label, Mbr, Partition, PartitionType, Table};
use crate::units::Lba;

/// What of a table becomes another; all else stays, number, name and boot flag of every partition included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// What changes of which partition.
    pub entries: BTreeMap<u32, EntryChange>,
    /// Which EBRs go to another sector, and to which. The one at the start of a container goes with it.
    pub records: BTreeMap<Lba, Lba>,
}

/// What of an entry becomes another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryChange {
    /// The new first and last sector.
    pub place: Option<(Lba, Lba)>,
    /// The new type.
    pub type_: Option<PartitionType>,
}

impl Arrangement {
    /// Lets a partition begin and end elsewhere.
    pub fn place(&mut self, number: u32, first: Lba, last: Lba) {
        self.entries.entry(number).or_default().place = Some((first, last));
    }

    /// Gives a partition another type.
    pub fn retype(&mut self, number: u32, type_: PartitionType) {
        self.entries.entry(number).or_default().type_ = Some(type_);
    }

    fn of(&self, number: u32) -> EntryChange {
        self.entries.get(&number).copied().unwrap_or_default()
    }

    fn record(&self, lba: Lba) -> Lba {
        self.records.get(&lba).copied().unwrap_or(lba)
    }
}

pub(super) fn draft(
    table: &Table,
    arrangement: &Arrangement,
    reader: &Reader<'_>,
) -> Result<Draft, ComposeError> {
    if let Some(number) = arrangement.entries.keys().find(|number| table.partition(**number).is_none()) {
        return Err(ComposeError::NoPartition { number: *number });
    }
    match table.label {
        Label::Gpt => gpt(table, arrangement, reader),
        Label::Mbr => mbr(table, arrangement),
        Label::None => Err(ComposeError::NotEditable("there is none")),
    }
}

fn gpt(table: &Table, arrangement: &Arrangement, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let mut edit = GptEdit::of(table, reader)?;
    for (number, change) in &arrangement.entries {
        let missing = ComposeError::NoPartition { number: *number };
        let slot = number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok());
        let slot = slot.ok_or(ComposeError::NoPartition { number: *number })?;
        if let Some(place) = change.place {
            edit.array.place(slot, place).ok_or(missing)?;
        }
        match change.type_ {
            Some(PartitionType::Gpt(id)) => {
                edit.array.retype(slot, id).ok_or(ComposeError::NoPartition { number: *number })?;
            }
            Some(_) => return Err(ComposeError::Type { number: *number, table: "a GPT" }),
            None => {}
        }
    }
    let sectors = reader.size().map_or(0, |size| size.div_euclid(table.sector_size.bytes()));
    edit.draft(sectors)
}

fn mbr(table: &Table, arrangement: &Arrangement) -> Result<Draft, ComposeError> {
    let mbr = table.mbr.as_ref().ok_or(ComposeError::NotEditable("there is no MBR"))?;
    let mut sectors = vec![(Lba::ZERO, front(mbr, table, arrangement)?)];
    for chain in &mbr.chains {
        if chain.fault.is_some() && chain_changes(table, chain, arrangement) {
            return Err(ComposeError::NotEditable("its chain of boot records (EBRs) is broken"));
        }
        for ebr in &chain.ebrs {
            let sector = record(table, chain, ebr, arrangement)?;
            sectors.push((arrangement.record(ebr.lba), sector));
        }
    }
    let mut draft = Draft::new();
    // Sector 0 comes last, and each record before the one that leads to it.
    for (lba, sector) in sectors.into_iter().rev() {
        if is_there(mbr, lba, &sector) {
            continue;
        }
        let offset =
            lba.checked_byte(table.sector_size).ok_or(ComposeError::NotEditable("an EBR is out of reach"))?;
        draft.write(offset, sector.bytes().to_vec());
        draft.barrier();
    }
    Ok(draft)
}

/// Whether the sector holds these bytes already.
fn is_there(mbr: &Mbr, lba: Lba, sector: &Sector) -> bool {
    let ebrs = mbr.chains.iter().flat_map(|chain| &chain.ebrs);
    let there = ebrs.map(|ebr| (ebr.lba, &*ebr.sector)).chain([(Lba::ZERO, mbr.sector())]);
    there.into_iter().any(|(at, bytes)| at == lba && bytes[..] == *sector.bytes())
}

fn front(mbr: &Mbr, table: &Table, arrangement: &Arrangement) -> Result<Sector, ComposeError> {
    let mut front = Sector::of(mbr.sector());
    for (number, _) in mbr.ordinary() {
        let Some(partition) = table.partition(number) else { continue };
        let change = arrangement.of(number);
        let slot = number.checked_sub(1).and_then(|slot| usize::try_from(slot).ok()).unwrap_or(usize::MAX);
        let first = change.place.map_or(partition.first, |(first, _)| first);
        let is_container = mbr.chains.iter().any(|chain| chain.container == number);
        if is_container && arrangement.record(partition.first) != first {
            return Err(ComposeError::ContainerMoves { number });
        }
        set(&mut front, slot, partition, change, (Lba::ZERO, Lba::ZERO))?;
    }
    Ok(front)
}

/// An EBR as it will be: its own partition, and the link to the next.
fn record(
    table: &Table,
    chain: &Chain,
    ebr: &Ebr,
    arrangement: &Arrangement,
) -> Result<Sector, ComposeError> {
    let missing = ComposeError::NoPartition { number: chain.container };
    let mut sector = Sector::of(&ebr.sector);
    for logical in ebr.logicals() {
        let Some(partition) = logical_of(table, logical) else { continue };
        let bases = (ebr.lba, arrangement.record(ebr.lba));
        set(&mut sector, logical.slot, partition, arrangement.of(partition.number), bases)?;
    }
    let Some(container) = table.partition(chain.container) else { return Err(missing) };
    let Some(link) = ebr.link() else { return Ok(sector) };
    let next = chain.ebrs.iter().find(|next| next.lba == link.lba);
    let described = next.and_then(|next| next.logicals().next());
    let described = described.and_then(|logical| logical_of(table, logical));
    let end = |lba: Lba| lba.checked_add(link.sectors)?.checked_sub(1);
    let out_of_range = |number| ComposeError::OutOfRange {
        number,
        first: link.lba.number(),
        last: end(link.lba).map_or(u64::MAX, Lba::number),
        table: TABLE,
    };
    let last = end(link.lba).ok_or(out_of_range(chain.container))?;
    let lba = arrangement.record(link.lba);
    let placed = described.and_then(|partition| Some((partition, arrangement.of(partition.number).place?)));
    let new_last = match placed {
        // Only where it said where this partition ends.
        Some((partition, (_, new_last))) if partition.last == last => new_last,
        Some((_, (_, new_last))) => last.max(new_last),
        None => last,
    };
    let number = described.map_or(chain.container, |partition| partition.number);
    let slot = sector.link_slot().ok_or(ComposeError::NoPartition { number })?;
    let base = container.first;
    let new_base = arrangement.record(base);
    let placed = sector.place(slot, (base, (link.lba, last)), (new_base, (lba, new_last)));
    placed.ok_or(out_of_range(number))?;
    Ok(sector)
}

fn chain_changes(table: &Table, chain: &Chain, arrangement: &Arrangement) -> bool {
    let logicals = chain.ebrs.iter().flat_map(Ebr::logicals);
    let numbers = logicals.filter_map(|logical| logical_of(table, logical)).map(|partition| partition.number);
    numbers.chain([chain.container]).any(|number| arrangement.entries.contains_key(&number))
        || chain.ebrs.iter().any(|ebr| arrangement.records.contains_key(&ebr.lba))
}

fn logical_of<'t>(table: &'t Table, logical: &LogicalEntry) -> Option<&'t Partition> {
    let mut logicals = table.partitions.iter().filter(|partition| !partition.type_.is_extended());
    logicals.find(|partition| {
        partition.number >= crate::table::mbr::FIRST_LOGICAL
            && (partition.first, partition.last) == (logical.first, logical.last)
    })
}

/// Changes an entry. `bases`: what its start counted from, and what it will count from.
fn set(
    sector: &mut Sector,
    slot: usize,
    partition: &Partition,
    change: EntryChange,
    bases: (Lba, Lba),
) -> Result<(), ComposeError> {
    let number = partition.number;
    let old = (partition.first, partition.last);
    let new = change.place.unwrap_or(old);
    let out_of_range =
        ComposeError::OutOfRange { number, first: new.0.number(), last: new.1.number(), table: TABLE };
    sector.place(slot, (bases.0, old), (bases.1, new)).ok_or(out_of_range)?;
    match change.type_ {
        Some(PartitionType::Mbr(byte)) => {
            sector.retype(slot, byte).ok_or(ComposeError::NoPartition { number })
        }
        Some(_) => Err(ComposeError::Type { number, table: TABLE }),
        None => Ok(()),
    }
}

const TABLE: &str = "an MBR";
