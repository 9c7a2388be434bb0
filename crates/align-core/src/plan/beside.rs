use std::collections::BTreeSet;
use std::ops::Range;

use super::layout::{MOST_PRIMARY, Sizes};
use super::space::Space;
use super::{Align, Grain, Layout, Medium, PlanError, Planned, Request, TableKind, Wanted};
use crate::table::mbr::{Chain, MAX_LINKS};
use crate::table::{Label, Mbr, Partition, PartitionKind, Table};
use crate::units::{Lba, Size};

/// Lays partitions out in the free space of a table.
pub(super) fn lay_out(request: &Request, medium: &Medium, table: &Table) -> Result<Layout, PlanError> {
    let grain = super::layout::grain_of(request, medium)?;
    super::layout::check_sizes(request)?;
    let kind = match table.label {
        Label::Gpt => TableKind::Gpt,
        Label::Mbr => TableKind::Mbr,
        Label::None => return Err(PlanError::NothingToKeep),
    };
    if request.table != kind {
        return Err(PlanError::OtherTable { there: kind.name(), asked: request.table.name() });
    }
    if table.sector_size != medium.sector_size {
        return Err(PlanError::OtherSectorSize {
            table: table.sector_size.bytes(),
            disk: medium.sector_size.bytes(),
        });
    }
    let space = match &table.gpt {
        Some(gpt) => Space::of_gpt(gpt, medium, grain)?,
        None => Space::of_disk(TableKind::Mbr, medium, grain)?,
    };
    let mut beside = Beside::new(request, medium, table, grain, space);
    beside.place_all()?;
    let header = table.gpt.as_ref().and_then(|gpt| gpt.header());
    Ok(Layout {
        first_usable: header.map_or(Lba::ZERO, |header| header.first_usable),
        kept: Some(table.partitions.clone()),
        ..Layout::new(request, medium, grain, beside.partitions)
    })
}

/// A stretch of the disk in which nothing is, in bytes.
#[derive(Clone, Debug)]
struct Free {
    bytes: Range<u128>,
    place: Place,
}

/// What a stretch is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The disk: for primaries.
    Disk,
    /// A container: for logical partitions, each behind an EBR of its own.
    Container,
    /// The empty container whose first EBR, at its start, is there already.
    EmptyContainer { ebr: u128 },
}

struct Beside<'r> {
    request: &'r Request,
    space: Space,
    sizes: Sizes<'r>,
    free: Vec<Free>,
    /// The numbers that primaries can still get, the lowest last.
    slots: Vec<u32>,
    /// The number of the next logical partition, and how many EBRs can still be added.
    next_logical: u32,
    links: usize,
    has_container: bool,
    /// Where the stretch ends in which a container is made.
    container_in: Option<u128>,
    /// How much `%` is of: what the largest stretch has room for.
    whole: u128,
    partitions: Vec<Planned>,
}

impl<'r> Beside<'r> {
    fn new(request: &'r Request, medium: &'r Medium, table: &Table, grain: Grain, space: Space) -> Self {
        let chains: Vec<&Chain> = table.mbr.iter().flat_map(|mbr| &mbr.chains).collect();
        let ebrs = chains.iter().map(|chain| chain.ebrs.len()).sum();
        let logicals =
            table.partitions.iter().filter(|partition| partition.kind == PartitionKind::Logical).count();
        let most = match &table.gpt {
            Some(gpt) => gpt.header().map_or(0, |header| header.entry_count),
            None => u32::try_from(MOST_PRIMARY).unwrap_or(4),
        };
        let taken: BTreeSet<u32> = table.partitions.iter().map(|partition| partition.number).collect();
        let free_numbers = (1..=most).filter(|number| !taken.contains(number));
        // A table may claim millions of entries.
        let mut slots: Vec<u32> = free_numbers.take(request.partitions.len()).collect();
        slots.reverse();
        let free = free(table, chains.last().copied(), &space);
        Self {
            request,
            sizes: Sizes { request, medium, grain },
            space,
            free,
            slots,
            next_logical: super::layout::FIRST_LOGICAL
                .saturating_add(u32::try_from(logicals).unwrap_or(u32::MAX)),
            links: MAX_LINKS.saturating_sub(ebrs),
            has_container: !chains.is_empty(),
            container_in: None,
            whole: 0,
            partitions: Vec::new(),
        }
    }

    fn place_all(&mut self) -> Result<(), PlanError> {
        let request = self.request;
        let has_container = self.has_container || request.table == TableKind::Gpt;
        let asked = request.partitions.len();
        // Without a container, the last free slot becomes one when there are not enough of them.
        let mut primaries = match request.primaries {
            Some(primaries) => usize::try_from(primaries).unwrap_or(usize::MAX),
            None if !has_container && asked > self.slots.len() => self.slots.len().saturating_sub(1),
            None => self.slots.len(),
        };
        let makes_container = !has_container && asked > primaries;
        let rooms = self.free.iter().filter(|free| self.is_usable(free, primaries > 0 || makes_container));
        self.whole = rooms.map(|free| self.room(free)).max().unwrap_or(0);
        for (index, wanted) in (1..).zip(&request.partitions) {
            if makes_container && self.partitions.len() == primaries {
                self.add_container(index)?;
                primaries = 0;
            }
            self.place(index, wanted, primaries > self.count(PartitionKind::Primary))?;
        }
        // By number, as every layout.
        self.partitions.sort_by_key(|planned| planned.number);
        Ok(())
    }

    fn count(&self, kind: PartitionKind) -> usize {
        self.partitions.iter().filter(|planned| planned.kind == kind).count()
    }

    /// The first stretch in which it fits, in the order of the disk; the rest takes the largest.
    fn place(&mut self, index: usize, wanted: &Wanted, primary: bool) -> Result<(), PlanError> {
        let asked = self.sizes.least_of(wanted.size, self.whole);
        let usable = || self.free.iter().enumerate().filter(|(_, free)| self.is_usable(free, primary));
        let mut fitting = usable().filter(|(_, free)| self.missing(free, asked) == 0);
        let best = match wanted.size {
            // Of equal ones the first.
            Size::Rest => fitting.rev().max_by_key(|(_, free)| self.room(free)),
            _ => fitting.next(),
        };
        let no_slot = PlanError::NoSlot { partition: index, table: self.request.table.name() };
        let Some((at, free)) = best else {
            let missing = usable().map(|(_, free)| self.missing(free, asked)).min().ok_or(no_slot)?;
            let largest = usable().map(|(_, free)| self.room(free)).max().unwrap_or(0);
            return Err(PlanError::NoRoom { partition: index, asked, largest, missing });
        };
        let (ebr, start) = self.start_in(free);
        let end = match wanted.size {
            Size::Rest => self.space.down(free.bytes.end),
            _ => start.saturating_add(asked),
        };
        let kind = if ebr.is_some() { PartitionKind::Logical } else { PartitionKind::Primary };
        let number = self.number(kind).ok_or(no_slot)?;
        if let Some(free) = self.free.get_mut(at) {
            free.bytes.start = end;
            if let Place::EmptyContainer { .. } = free.place {
                free.place = Place::Container;
            } else if free.place == Place::Container {
                self.links = self.links.saturating_sub(1);
            }
        }
        self.partitions.push(self.space.planned(number, kind, (start, end), Some(wanted), ebr));
        Ok(())
    }

    /// Whether there is a number, or an EBR, for a partition in this stretch.
    fn is_usable(&self, free: &Free, primary: bool) -> bool {
        match free.place {
            Place::Disk => primary && !self.slots.is_empty(),
            Place::Container => self.links > 0,
            Place::EmptyContainer { .. } => true,
        }
    }

    /// How large a partition in this stretch can be.
    fn room(&self, free: &Free) -> u128 {
        free.bytes.end.saturating_sub(self.start_in(free).1)
    }

    /// How much longer the stretch would have to be for so many bytes: its first place may lie beyond it.
    fn missing(&self, free: &Free, asked: u128) -> u128 {
        let end = self.start_in(free).1.saturating_add(asked);
        match self.container_in {
            // The new container ends on the grain.
            Some(limit) => self.space.up(end).saturating_sub(limit),
            None => end.saturating_sub(free.bytes.end),
        }
    }

    /// Where a partition begins in a stretch, and its EBR where it needs one.
    fn start_in(&self, free: &Free) -> (Option<u128>, u128) {
        let gap = self.sizes.gap();
        let ebr = match free.place {
            Place::Disk => return (None, self.space.up(free.bytes.start)),
            Place::EmptyContainer { ebr } => ebr,
            Place::Container => self.space.up(free.bytes.start),
        };
        let start = match (self.request.align, free.place) {
            (Align::Minimal, Place::Container) => {
                self.sizes.minimal_start(&self.space, free.bytes.start, ebr)
            }
            _ => self.space.up(ebr.saturating_add(gap).max(free.bytes.start)),
        };
        (Some(ebr), start)
    }

    fn number(&mut self, kind: PartitionKind) -> Option<u32> {
        match kind {
            PartitionKind::Logical => {
                let number = self.next_logical;
                self.next_logical = number.checked_add(1)?;
                Some(number)
            }
            PartitionKind::Primary | PartitionKind::Extended => self.slots.pop(),
        }
    }

    /// Makes the largest stretch a container for this partition and those behind it. Where it has no room for a
    /// container, the partition will have none either.
    fn add_container(&mut self, index: usize) -> Result<(), PlanError> {
        let no_slot = PlanError::NoSlot { partition: index, table: self.request.table.name() };
        let number = self.slots.pop().ok_or(no_slot)?;
        let largest = self.free.iter().rev().max_by_key(|free| self.room(free)).cloned();
        let stretch = largest.map_or(self.space.end..self.space.end, |largest| largest.bytes);
        let (start, end) = (self.space.up(stretch.start), self.space.down(stretch.end));
        self.container_in = Some(stretch.end);
        self.free = vec![Free { bytes: start..end, place: Place::EmptyContainer { ebr: start } }];
        self.partitions.push(self.space.planned(number, PartitionKind::Extended, (start, end), None, None));
        Ok(())
    }
}

/// The stretches of the disk that nothing uses, in its order. Of several containers only the last one is given more:
/// logical partitions of an earlier one come first in the kernel's numbers, and would move those of the later.
fn free(table: &Table, last: Option<&Chain>, space: &Space) -> Vec<Free> {
    let unit = table.sector_size;
    let bytes = |partition: &Partition| partition.start_position(unit)..partition.end_position(unit);
    let holding = || table.partitions.iter().filter(|partition| partition.kind != PartitionKind::Extended);
    let outside = table.partitions.iter().map(bytes).chain(of_table(table)).collect();
    let outside = gaps(space.first_byte()..space.end, outside);
    let mut free: Vec<Free> = outside.into_iter().map(|bytes| Free { bytes, place: Place::Disk }).collect();
    // To a broken chain nothing can be added.
    let last = last.filter(|chain| chain.fault.is_none());
    if let Some((chain, container)) = last.and_then(|chain| Some((chain, table.partition(chain.container)?)))
    {
        let start = container.start_position(unit);
        let is_empty = matches!(chain.ebrs.as_slice(), [only] if only.logicals().next().is_none() && only.link().is_none());
        // Its one EBR is for one partition, if nothing lies over it.
        let (place, most) = match (is_empty, holding().any(|partition| partition.covers(container.first))) {
            (false, _) => (Place::Container, usize::MAX),
            (true, covered) => (Place::EmptyContainer { ebr: start }, usize::from(!covered)),
        };
        let inside = holding().map(bytes).chain(of_table(table)).collect();
        let inside = gaps(start..container.end_position(unit).min(space.end), inside);
        free.extend(inside.into_iter().take(most).map(|bytes| Free { bytes, place }));
    }
    free.sort_by_key(|free| free.bytes.start);
    free
}

/// What the table itself takes: its EBRs, or what stays of a GPT where it is; and what a hybrid MBR has beside a GPT.
fn of_table(table: &Table) -> Vec<Range<u128>> {
    let unit = table.sector_size;
    let whole_sectors = |areas: Vec<Range<u64>>| {
        let end = |area: &Range<u64>| u128::from(area.end).next_multiple_of(unit.bytes().into());
        areas.into_iter().map(move |area| area.start.into()..end(&area))
    };
    let Some(gpt) = &table.gpt else { return whole_sectors(table.areas()).collect() };
    let mut used: Vec<_> = whole_sectors(gpt.primary_areas()).collect();
    if super::space::is_backup_in_place(gpt) {
        used.extend(whole_sectors(gpt.backup_areas()));
    }
    let ordinary = table.mbr.iter().flat_map(Mbr::ordinary);
    let past = |lba: Lba| lba.position(unit).saturating_add(unit.bytes().into());
    used.extend(ordinary.map(|(_, entry)| entry.first().position(unit)..past(entry.last())));
    used
}

/// What is left of a range without the used ones.
fn gaps(whole: Range<u128>, mut used: Vec<Range<u128>>) -> Vec<Range<u128>> {
    // An inverted partition uses nothing.
    used.retain(|range| !range.is_empty());
    used.sort_by_key(|range| range.start);
    let mut gaps = Vec::new();
    let mut start = whole.start;
    for range in used {
        let end = range.start.min(whole.end);
        if start < end {
            gaps.push(start..end);
        }
        start = start.max(range.end);
    }
    if start < whole.end {
        gaps.push(start..whole.end);
    }
    gaps
}
