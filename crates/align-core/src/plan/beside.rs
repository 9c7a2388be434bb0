use std::ops::Range;

use super::layout::{CONTAINER_TYPE, MOST_PRIMARY, Sizes};
use super::space::Space;
use super::{Align, Grain, Layout, Medium, PlanError, Planned, Request, TableKind, Wanted};
use crate::table::mbr::{Chain, MAX_LINKS};
use crate::table::{Label, Partition, PartitionKind, PartitionType, Table};
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
    grain: Grain,
    space: Space,
    sizes: Sizes<'r>,
    free: Vec<Free>,
    /// The numbers that primaries can still get, the lowest last.
    slots: Vec<u32>,
    /// The number of the next logical partition, and how many EBRs can still be added.
    next_logical: u32,
    links: usize,
    /// How much `%` is of: the largest stretch.
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
        let mut slots: Vec<u32> = (1..=most).filter(|number| table.partition(*number).is_none()).collect();
        slots.reverse();
        let free = free(table, &chains, &space);
        let whole = free.iter().map(|free| space.room(&free.bytes)).max().unwrap_or(0);
        Self {
            request,
            grain,
            sizes: Sizes { request, medium, grain },
            space,
            free,
            slots,
            next_logical: super::layout::FIRST_LOGICAL
                .saturating_add(u32::try_from(logicals).unwrap_or(u32::MAX)),
            links: MAX_LINKS.saturating_sub(ebrs),
            whole,
            partitions: Vec::new(),
        }
    }

    fn place_all(&mut self) -> Result<(), PlanError> {
        let request = self.request;
        let has_container = self.free.iter().any(|free| free.place != Place::Disk)
            || request.table == TableKind::Gpt
            || self.links < MAX_LINKS;
        let asked = request.partitions.len();
        // Without a container, the last free slot becomes one when there are not enough of them.
        let mut primaries = match request.primaries {
            Some(primaries) => usize::try_from(primaries).unwrap_or(usize::MAX),
            None if !has_container && asked > self.slots.len() => self.slots.len().saturating_sub(1),
            None => self.slots.len(),
        };
        let makes_container = !has_container && asked > primaries;
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
        let bytes = self.sizes.bytes_of(wanted.size, self.whole);
        let unit = u128::from(self.space.unit().bytes());
        let usable = |free: &Free| match free.place {
            Place::Disk => primary && !self.slots.is_empty(),
            Place::Container => self.links > 0,
            Place::EmptyContainer { .. } => true,
        };
        let mut best: Option<(usize, u128, u128, Option<u128>)> = None;
        let mut most = 0;
        for (at, free) in self.free.iter().enumerate().filter(|(_, free)| usable(free)) {
            let (ebr, start) = self.start_in(free);
            let room = free.bytes.end.saturating_sub(start);
            most = most.max(room);
            if wanted.size == Size::Rest {
                let end = self.space.down(free.bytes.end);
                let better = best.is_none_or(|(_, start, end, _)| end.saturating_sub(start) < room);
                if end >= start.saturating_add(unit) && better {
                    best = Some((at, start, end, ebr));
                }
            } else if bytes <= room {
                best = Some((at, start, start.saturating_add(bytes), ebr));
                break;
            }
        }
        let Some((at, start, end, ebr)) = best else {
            let asked = bytes.max(unit);
            return Err(if self.free.iter().any(usable) {
                PlanError::NoRoom {
                    partition: index,
                    asked,
                    largest: most,
                    missing: asked.saturating_sub(most),
                }
            } else {
                PlanError::NoSlot { partition: index, table: self.request.table.name() }
            });
        };
        let kind = if ebr.is_some() { PartitionKind::Logical } else { PartitionKind::Primary };
        let number = self
            .number(kind)
            .ok_or(PlanError::NoSlot { partition: index, table: self.request.table.name() })?;
        if let Some(free) = self.free.get_mut(at) {
            free.bytes.start = end;
            if let Place::EmptyContainer { .. } = free.place {
                free.place = Place::Container;
            } else if free.place == Place::Container {
                self.links = self.links.saturating_sub(1);
            }
        }
        self.push(number, kind, (start, end), Some(wanted), ebr);
        Ok(())
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
            _ => self.space.up(ebr.saturating_add(gap)),
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

    /// Makes the largest stretch a container.
    fn add_container(&mut self, index: usize) -> Result<(), PlanError> {
        let no_slot = PlanError::NoSlot { partition: index, table: self.request.table.name() };
        let largest = self.free.iter_mut().max_by_key(|free| free.bytes.end.saturating_sub(free.bytes.start));
        let Some(largest) = largest else { return Err(no_slot) };
        let (start, end) = (self.space.up(largest.bytes.start), self.space.down(largest.bytes.end));
        if start >= end {
            return Err(PlanError::NoRoom {
                partition: index,
                asked: self.grain.bytes.into(),
                largest: 0,
                missing: self.grain.bytes.into(),
            });
        }
        largest.bytes = start..end;
        largest.place = Place::EmptyContainer { ebr: start };
        let number = self.slots.pop().ok_or(no_slot)?;
        self.slots.clear();
        self.push(number, PartitionKind::Extended, (start, end), None, None);
        Ok(())
    }

    fn push(
        &mut self,
        number: u32,
        kind: PartitionKind,
        bytes: (u128, u128),
        wanted: Option<&Wanted>,
        ebr: Option<u128>,
    ) {
        let container = PartitionType::Mbr(CONTAINER_TYPE);
        let type_ = wanted
            .map_or(container, |wanted| wanted.type_.unwrap_or_else(|| self.request.table.default_type()));
        self.partitions.push(self.space.planned(number, kind, bytes, type_, wanted, ebr));
    }
}

/// The stretches of the disk that nothing uses, in its order.
fn free(table: &Table, chains: &[&Chain], space: &Space) -> Vec<Free> {
    let unit = table.sector_size;
    let bytes = |partition: &Partition| partition.start_position(unit)..partition.end_position(unit);
    let sector = |lba: Lba| {
        let start = lba.position(unit);
        start..start.saturating_add(unit.bytes().into())
    };
    let of_kind = |logical: bool| {
        table.partitions.iter().filter(move |partition| (partition.kind == PartitionKind::Logical) == logical)
    };
    let outside = gaps(space.first_byte()..space.end, of_kind(false).map(bytes).collect());
    let mut free: Vec<Free> = outside.into_iter().map(|bytes| Free { bytes, place: Place::Disk }).collect();
    for chain in chains {
        let Some(container) = table.partition(chain.container) else { continue };
        let records = chain.ebrs.iter().map(|ebr| sector(ebr.lba));
        let inside = of_kind(true).map(bytes).chain(records).collect();
        let end = container.end_position(unit).min(space.end);
        let is_empty = matches!(chain.ebrs.as_slice(), [only] if only.logicals().next().is_none() && only.link().is_none());
        for bytes in gaps(container.start_position(unit)..end, inside) {
            let place = if is_empty {
                Place::EmptyContainer { ebr: container.start_position(unit) }
            } else {
                Place::Container
            };
            free.push(Free { bytes, place });
        }
    }
    free.sort_by_key(|free| free.bytes.start);
    free
}

/// What is left of a range without the used ones.
fn gaps(whole: Range<u128>, mut used: Vec<Range<u128>>) -> Vec<Range<u128>> {
    used.sort_by_key(|range| range.start);
    let mut gaps = Vec::new();
    let mut start = whole.start;
    for range in used {
        if range.start > start && range.start < whole.end {
            gaps.push(start..range.start);
        }
        start = start.max(range.end);
    }
    if start < whole.end {
        gaps.push(start..whole.end);
    }
    gaps
}
