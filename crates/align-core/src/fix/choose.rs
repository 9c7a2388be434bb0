//! Where misaligned partitions go: by arithmetic alone, in bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::patch::Move;
use crate::table::{PartitionKind, Table};
use crate::topology::Grid;
use crate::units::Lba;

/// A partition that has no place to go, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) number: u32,
    /// By how much the content of the last of the partitions that lie one behind the other would have to shrink.
    pub(super) missing: u64,
    /// The partition that would have to shrink.
    pub(super) last: u32,
    /// What is behind that: another partition, or the end of the space for partitions.
    pub(super) behind: Option<u32>,
    /// Whether there would be a boundary in front of it, were it not for what lies there.
    pub(super) is_kept_from_front: bool,
    /// Where it shall go to the left: the partition in whose way that is, 0 for what is in front of the first.
    pub(super) in_front: Option<u32>,
}

/// What comes out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// What moves, in the order of the disk.
    pub(super) moves: Vec<Move>,
    pub(super) stuck: Vec<Stuck>,
    /// The EBRs that go elsewhere.
    pub(super) records: BTreeMap<Lba, Lba>,
    /// The new ends of containers: number, first and one past the last byte.
    pub(super) containers: Vec<(u32, u64, u64)>,
}

/// What may move, and the space for it.
pub(super) struct Room<'t> {
    pub(super) table: &'t Table,
    /// Where partitions should begin.
    pub(super) places: Grid,
    /// Where physical sectors begin.
    pub(super) boundaries: Grid,
    /// Which partitions shall move.
    pub(super) wanted: Vec<Wanted>,
    /// The space for partitions, in bytes.
    pub(super) usable: Range<u64>,
    /// What lies in front of the first partition belongs to somebody from here on down.
    pub(super) front: u64,
}

/// A partition that shall or may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) number: u32,
    pub(super) why: Why,
    /// Where it shall go, if that is said.
    pub(super) to: Option<u64>,
}

/// Why a partition may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It begins off the physical sectors.
    Misaligned,
    /// It begins off the optimal grid.
    Suboptimal,
    /// It is named, and makes room for others.
    MakesRoom,
}

/// A partition that holds something, in the order of the disk.
struct Leaf {
    number: u32,
    start: u64,
    end: u64,
    wanted: Option<Wanted>,
    /// The EBRs between the partition in front and this one.
    records: Vec<Record>,
    options: Vec<Place>,
}

/// A boot record in front of a partition.
#[derive(Clone, Copy)]
struct Record {
    at: u64,
    /// Whether it is the one that the container begins with.
    is_first: bool,
    /// The start of the partition that it describes.
    describes: Option<u64>,
}

/// A start that is possible, and how much others are preferred.
#[derive(Clone, Copy)]
struct Place {
    start: u64,
    cost: u64,
}

/// On a finer grid than this, in bytes, a partition also goes one place further than it has to.
const FINE: u64 = 4 << 20;
/// Worse than all places of all partitions of a disk.
const STAYS: u64 = 1 << 20;

impl Room<'_> {
    /// Chooses places: as many partitions as possible come to one, and of all ways the one that is preferred: to the
    /// right before to the left, a place before a mere boundary.
    pub(super) fn choose(&self) -> Choice {
        let mut leaves = self.leaves();
        let chosen = self.cheapest(&mut leaves);
        let starts: Vec<u64> = chosen
            .iter()
            .zip(&leaves)
            .map(|(chosen, leaf)| leaf.options.get(*chosen).map_or(leaf.start, |place| place.start))
            .collect();
        let mut choice = Choice::default();
        for (leaf, start) in leaves.iter().zip(&starts) {
            let len = leaf.end.saturating_sub(leaf.start);
            if *start != leaf.start {
                choice.moves.push(Move { number: leaf.number, from: leaf.start, to: *start, len });
            }
        }
        self.place_records(&leaves, &starts, &mut choice);
        self.place_containers(&mut choice);
        for (index, leaf) in leaves.iter().enumerate() {
            let moves = starts.get(index).is_some_and(|start| *start != leaf.start);
            let is_there = |wanted: &Wanted| wanted.to == Some(leaf.start);
            let needs = |wanted: &Wanted| wanted.why != Why::MakesRoom && !moves && !is_there(wanted);
            if let Some(wanted) = leaf.wanted.filter(needs) {
                choice.stuck.push(self.explain(&leaves, index, wanted));
            }
        }
        choice
    }

    fn unit(&self) -> u64 {
        self.table.sector_size.bytes()
    }

    fn byte(&self, lba: Lba) -> u64 {
        lba.checked_byte(self.table.sector_size).unwrap_or(u64::MAX)
    }

    /// One past the last byte of a partition.
    fn end(&self, last: Lba) -> u64 {
        self.byte(last).saturating_add(self.unit())
    }

    fn leaves(&self) -> Vec<Leaf> {
        let chains: Vec<_> = self.table.mbr.iter().flat_map(|mbr| &mbr.chains).collect();
        let mut records = Vec::new();
        for chain in &chains {
            let first = self.table.partition(chain.container).map(|container| container.first);
            for ebr in &chain.ebrs {
                records.push(Record {
                    at: self.byte(ebr.lba),
                    is_first: Some(ebr.lba) == first,
                    describes: ebr.logicals().next().map(|logical| self.byte(logical.first)),
                });
            }
        }
        records.sort_by_key(|record| record.at);
        // An empty container is in the way as a whole.
        let is_empty = |number| {
            let of_container = chains.iter().filter(|chain| chain.container == number);
            of_container.flat_map(|chain| &chain.ebrs).all(|ebr| ebr.logicals().next().is_none())
        };
        let holds = |kind, number| kind != PartitionKind::Extended || is_empty(number);
        let mut leaves: Vec<Leaf> = self
            .table
            .partitions
            .iter()
            .filter(|partition| holds(partition.kind, partition.number))
            .map(|partition| Leaf {
                number: partition.number,
                start: self.byte(partition.first),
                end: self.end(partition.last),
                wanted: self.wanted.iter().find(|wanted| wanted.number == partition.number).copied(),
                records: Vec::new(),
                options: Vec::new(),
            })
            .collect();
        leaves.sort_by_key(|leaf| leaf.start);
        for record in records {
            match leaves.iter_mut().find(|leaf| record.at < leaf.end) {
                Some(leaf) if record.at < leaf.start => leaf.records.push(record),
                // That of an empty container.
                Some(_) => {}
                None => leaves.push(Leaf {
                    number: 0,
                    start: record.at,
                    end: record.at.saturating_add(self.unit()),
                    wanted: None,
                    records: Vec::new(),
                    options: Vec::new(),
                }),
            }
        }
        for leaf in &mut leaves {
            leaf.options = self.options(leaf.start, leaf.wanted);
        }
        leaves
    }

    /// Where a partition could begin, the preferred first.
    fn options(&self, start: u64, wanted: Option<Wanted>) -> Vec<Place> {
        let stay = |cost| Place { start, cost };
        let Some(wanted) = wanted else { return vec![stay(0)] };
        if let Some(to) = wanted.to {
            return vec![Place { start: to, cost: 0 }, stay(STAYS)];
        }
        let place = next(self.places, start);
        // One further makes room for the place of a neighbour.
        let further = place.filter(|_| self.places.size() <= FINE).and_then(|place| next(self.places, place));
        let boundary = |found: Option<u64>| found.filter(|_| wanted.why != Why::Suboptimal);
        let all = [
            (place, 0_u64),
            (further, 2),
            (boundary(next(self.boundaries, start)), 5),
            (previous(self.places, start), 10),
            (boundary(previous(self.boundaries, start)), 15),
        ];
        let dearer = if wanted.why == Why::MakesRoom { 6 } else { 0 };
        let on_disk = |start: &u64| *start >= self.usable.start && start.is_multiple_of(self.unit());
        let all = all.into_iter().filter_map(|(place, cost)| {
            let start = place.filter(on_disk)?;
            Some(Place { start, cost: cost.saturating_add(dearer) })
        });
        all.chain([stay(if wanted.why == Why::MakesRoom { 0 } else { STAYS })]).collect()
    }

    /// The option of each leaf so that all fit together and the sum of the costs is least.
    fn cheapest(&self, leaves: &mut [Leaf]) -> Vec<usize> {
        // What does not fit on the disk by itself is no option.
        let last = leaves.len().saturating_sub(1);
        for (index, leaf) in leaves.iter_mut().enumerate() {
            let (start, len) = (leaf.start, leaf.end.saturating_sub(leaf.start));
            let records = self.unit().saturating_mul(leaf.records.len() as u64);
            let lowest = if index == 0 { self.front.saturating_add(records) } else { 0 };
            let fits = |to: u64| to >= lowest && (index < last || to.saturating_add(len) <= self.usable.end);
            leaf.options.retain(|place| place.start == start || fits(place.start));
        }
        // Costs so far, and where they come from, for each option of each leaf.
        let mut ways: Vec<Vec<Option<(u64, usize)>>> = Vec::new();
        for (index, leaf) in leaves.iter().enumerate() {
            let way = |place: &Place| match index.checked_sub(1).and_then(|before| leaves.get(before)) {
                None => Some((place.cost, 0)),
                Some(before) => {
                    let reached = ways.last().into_iter().flatten().enumerate();
                    let reached = reached.filter_map(|(option, way)| {
                        let place_before = before.options.get(option)?;
                        self.fits(before, *place_before, leaf, *place)
                            .then_some(((*way)?.0.saturating_add(place.cost), option))
                    });
                    reached.min_by_key(|(cost, _)| *cost)
                }
            };
            ways.push(leaf.options.iter().map(way).collect());
        }
        // From the last leaf back.
        let best = |options: &Vec<Option<(u64, usize)>>| {
            (0..).zip(options).filter_map(|(option, way)| Some((way.as_ref()?.0, option))).min()
        };
        let mut chosen = Vec::new();
        let mut option = ways.last().and_then(best).map_or(0, |(_, option): (u64, usize)| option);
        for options in ways.iter().rev() {
            chosen.push(option);
            option = options.get(option).copied().flatten().map_or(0, |(_, from)| from);
        }
        chosen.reverse();
        chosen
    }

    /// Whether two neighbours do not touch, with room for the boot records between them.
    fn fits(&self, before: &Leaf, place_before: Place, leaf: &Leaf, place: Place) -> bool {
        if place_before.start == before.start && place.start == leaf.start {
            return true;
        }
        let end = place_before.start.saturating_add(before.end.saturating_sub(before.start));
        let records = self.unit().saturating_mul(leaf.records.len() as u64);
        end.saturating_add(records) <= place.start
    }

    /// Where the boot records go in the gaps that have changed: as far in front of their partition as before, where
    /// that is free.
    fn place_records(&self, leaves: &[Leaf], starts: &[u64], choice: &mut Choice) {
        let mut gap_start = self.front;
        let mut has_moved = false;
        for (leaf, start) in leaves.iter().zip(starts) {
            let moves = *start != leaf.start;
            if moves || has_moved {
                let mut free_from = gap_start;
                for (index, record) in leaf.records.iter().enumerate() {
                    let behind = leaf.records.len().saturating_sub(index).saturating_sub(1) as u64;
                    // Those behind it need room too.
                    let latest = start.saturating_sub(self.unit().saturating_mul(behind.saturating_add(1)));
                    // The start of a container, and a record of another partition, stay where they can.
                    let follows = record.describes == Some(leaf.start) && !record.is_first;
                    let wanted = if follows {
                        start.saturating_sub(leaf.start.saturating_sub(record.at))
                    } else {
                        record.at
                    };
                    let at = wanted.clamp(free_from.min(latest), latest);
                    free_from = at.saturating_add(self.unit());
                    if at != record.at {
                        choice.records.insert(self.lba(record.at), self.lba(at));
                    }
                }
            }
            has_moved = moves;
            gap_start = start.saturating_add(leaf.end.saturating_sub(leaf.start));
        }
    }

    fn lba(&self, byte: u64) -> Lba {
        Lba::new(byte.checked_div(self.unit()).unwrap_or(0))
    }

    /// Containers begin with their first record, and end behind their last partition; what else they cover stays as
    /// far as it is free.
    fn place_containers(&self, choice: &mut Choice) {
        let new_range = |number: u32| {
            let partition = self.table.partition(number)?;
            let moved = choice.moves.iter().find(|moved| moved.number == number);
            Some(match moved {
                Some(moved) => (moved.to, moved.new_end()),
                None => (self.byte(partition.first), self.end(partition.last)),
            })
        };
        let mut containers = Vec::new();
        for chain in self.table.mbr.iter().flat_map(|mbr| &mbr.chains) {
            let Some(container) = self.table.partition(chain.container) else { continue };
            let (old_first, old_end) = (self.byte(container.first), self.end(container.last));
            let first = choice.records.get(&container.first).map_or(old_first, |lba| self.byte(*lba));
            let inside = |partition: &&crate::table::Partition| {
                partition.kind == PartitionKind::Logical
                    && container.first <= partition.first
                    && partition.first <= container.last
            };
            let ends = self.table.partitions.iter().filter(inside);
            let last_end = ends.filter_map(|partition| Some(new_range(partition.number)?.1)).max();
            let next = self
                .table
                .partitions
                .iter()
                .filter(|other| other.kind == PartitionKind::Primary && other.first > container.last)
                .filter_map(|other| Some(new_range(other.number)?.0))
                .min();
            let end = old_end.max(last_end.unwrap_or(0)).min(next.unwrap_or(u64::MAX));
            if (first, end) != (old_first, old_end) {
                containers.push((container.number, first, end));
            }
        }
        choice.containers = containers;
    }

    /// Why a partition stays.
    fn explain(&self, leaves: &[Leaf], index: usize, wanted: Wanted) -> Stuck {
        let from = leaves.get(index..).unwrap_or_default();
        let distance = |leaf: &Leaf| {
            let to = wanted.to.filter(|_| leaf.number == wanted.number);
            let to = to.or_else(|| next(self.boundaries, leaf.start)).unwrap_or(leaf.start);
            to.saturating_sub(leaf.start)
        };
        // The partitions that would have to go with it: those that shall move and have no room in front of the next.
        let mut needed = from.first().map_or(0, distance);
        let mut last = from.first();
        let mut behind = None;
        let mut missing = 0;
        for (position, leaf) in from.iter().enumerate() {
            let following = from.get(position.saturating_add(1));
            let limit = following.map_or(self.usable.end, |next| {
                let records = self.unit().saturating_mul(next.records.len() as u64);
                next.start.saturating_sub(records)
            });
            let free = limit.saturating_sub(leaf.end);
            last = Some(leaf);
            behind = following.map(|next| next.number);
            missing = needed.saturating_sub(free);
            match following {
                Some(next) if missing > 0 && next.wanted.is_some() && wanted.to.is_none() => {
                    needed = distance(next).max(missing);
                }
                _ => break,
            }
        }
        let is_first = index == 0;
        let start = leaves.get(index).map_or(0, |leaf| leaf.start);
        let in_front = wanted.to.filter(|to| *to < start).map(|_| {
            index.checked_sub(1).and_then(|before| leaves.get(before)).map_or(0, |before| before.number)
        });
        let has_boundary = previous(self.boundaries, start).is_some_and(|to| to >= self.usable.start);
        Stuck {
            number: wanted.number,
            missing,
            last: last.map_or(wanted.number, |leaf| leaf.number),
            behind,
            is_kept_from_front: is_first && wanted.to.is_none() && has_boundary,
            in_front,
        }
    }
}

/// The next position of the grid behind this one.
fn next(grid: Grid, position: u64) -> Option<u64> {
    position.checked_add(grid.size().checked_sub(grid.remainder(position.into()))?)
}

/// The last position of the grid in front of this one.
fn previous(grid: Grid, position: u64) -> Option<u64> {
    match grid.remainder(position.into()) {
        0 => position.checked_sub(grid.size()),
        past => position.checked_sub(past),
    }
}
