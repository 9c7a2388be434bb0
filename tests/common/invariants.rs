//! What holds for every layout, by arithmetic that has nothing of the library's.

use std::ops::RangeInclusive;

use align_core::plan::{Layout, Medium, Planned, TableKind};
use align_core::table::{Gpt, Label, PartitionKind, Table};
use align_core::units::{Lba, Size};

type Sectors = RangeInclusive<i128>;

/// An MBR counts in 32 bits, and partitioners leave its last two sectors free.
const MBR_SECTORS: i128 = u32::MAX as i128;

/// A layout for a disk without a table.
pub fn fresh(layout: &Layout, medium: &Medium) {
    let sectors = i128::from(medium.sectors);
    let array = array_sectors(16384, medium);
    let usable = match layout.table {
        TableKind::Gpt => 2 + array..=sectors - 2 - array,
        TableKind::Mbr => 1..=sectors.min(MBR_SECTORS) - 1,
    };
    assert!(layout.kept.is_none());
    for planned in &layout.partitions {
        in_place(planned, layout, medium, &usable);
    }
    apart(&layout.partitions, &[]);
    let container = layout.partitions.iter().find(|planned| planned.kind == PartitionKind::Extended);
    for logical in logicals(layout) {
        let container = container.expect("logical partitions have a container");
        assert!(contains(&sectors_of(container), &with_record(logical)), "{logical:?}");
    }
}

/// A layout beside the partitions of a table.
pub fn beside(layout: &Layout, medium: &Medium, table: &Table) {
    assert_eq!(layout.kept.as_ref(), Some(&table.partitions));
    let usable = match &table.gpt {
        Some(gpt) => usable_of(gpt, medium),
        None => 1..=i128::from(medium.sectors).min(MBR_SECTORS) - 1,
    };
    for planned in &layout.partitions {
        in_place(planned, layout, medium, &usable);
        assert!(table.partition(planned.number).is_none(), "{planned:?} takes a number that is there");
    }
    apart(&layout.partitions, &holding(table));
    let of_kind = |kind| table.partitions.iter().filter(move |partition| partition.kind == kind);
    let containers: Vec<Sectors> =
        of_kind(PartitionKind::Extended).map(|found| range(found.first, found.last)).collect();
    for planned in layout.partitions.iter().filter(|planned| planned.kind != PartitionKind::Logical) {
        let planned = sectors_of(planned);
        assert!(!containers.iter().any(|container| meet(container, &planned)), "{planned:?}");
    }
    let made = layout.partitions.iter().filter(|planned| planned.kind == PartitionKind::Extended);
    let all: Vec<Sectors> = containers.into_iter().chain(made.map(sectors_of)).collect();
    for logical in logicals(layout) {
        assert!(all.iter().any(|all| contains(all, &with_record(logical))), "{logical:?}");
    }
    let first = 5 + u32::try_from(of_kind(PartitionKind::Logical).count()).expect("few");
    let numbers: Vec<u32> = logicals(layout).map(|planned| planned.number).collect();
    assert!(numbers.iter().copied().eq((first..).take(numbers.len())), "{numbers:?} from {first}");
}

/// The start is on the grain, the size is what was asked for, the end is on the disk.
fn in_place(planned: &Planned, layout: &Layout, medium: &Medium, usable: &Sectors) {
    let unit = i128::from(medium.sector_size.bytes());
    let physical = i128::from(medium.topology.physical.bytes());
    let offset = i128::from(medium.topology.alignment_offset);
    let grain = i128::from(layout.grain.bytes);
    assert_eq!(grain % physical, 0);
    let (first, last) = (i128::from(planned.first.number()), i128::from(planned.last.number()));
    assert!(first <= last && contains(usable, &(first..=last)), "{planned:?} not within {usable:?}");
    assert_eq!((first * unit - offset).rem_euclid(grain), 0, "{planned:?}");
    let size = (last - first + 1) * unit;
    match planned.asked {
        Some(Size::Bytes(bytes)) => {
            assert!((0..physical).contains(&(size - i128::from(bytes))), "{planned:?}");
        }
        Some(Size::Sectors(sectors)) => assert_eq!(size, i128::from(sectors) * unit),
        Some(Size::MilliPercent(_)) => assert_eq!(size % physical, 0),
        Some(Size::Rest) | None => {
            assert_eq!(((last + 1) * unit - offset).rem_euclid(grain), 0, "{planned:?}");
        }
    }
    assert_eq!(planned.ebr.is_some(), planned.kind == PartitionKind::Logical, "{planned:?}");
    assert!(planned.ebr.is_none_or(|ebr| ebr < planned.first), "{planned:?}");
}

/// Nothing of the layout lies in anything else, boot records included.
fn apart(planned: &[Planned], others: &[Sectors]) {
    let used = |planned: &Planned| {
        let record = planned.ebr.map(|ebr| range(ebr, ebr));
        let own = (planned.kind != PartitionKind::Extended).then(|| sectors_of(planned));
        [record, own].into_iter().flatten()
    };
    let mut used: Vec<Sectors> = planned.iter().flat_map(used).collect();
    for mine in &used {
        let other = others.iter().find(|other| meet(mine, other));
        assert!(other.is_none(), "{mine:?} meets {other:?}");
    }
    used.sort_by_key(|range| *range.start());
    assert!(used.windows(2).all(|pair| !meet(&pair[0], &pair[1])), "{used:?}");
    // A container and what is beside it.
    let outer = planned.iter().filter(|planned| planned.kind != PartitionKind::Logical).map(sectors_of);
    let mut outer: Vec<Sectors> = outer.collect();
    outer.sort_by_key(|range| *range.start());
    assert!(outer.windows(2).all(|pair| !meet(&pair[0], &pair[1])), "{outer:?}");
}

/// What a table and its partitions use; an empty record at the start of a container waits for its partition.
fn holding(table: &Table) -> Vec<Sectors> {
    let unit = table.sector_size.bytes();
    let holding = table.partitions.iter().filter(|partition| partition.kind != PartitionKind::Extended);
    let mut used: Vec<Sectors> = holding.map(|partition| range(partition.first, partition.last)).collect();
    let chains = table.mbr.iter().flat_map(|mbr| &mbr.chains);
    for chain in chains.filter(|_| table.label == Label::Mbr) {
        let is_empty = chain.ebrs.len() == 1 && chain.ebrs[0].logicals().next().is_none();
        used.extend(chain.ebrs.iter().filter(|_| !is_empty).map(|ebr| range(ebr.lba, ebr.lba)));
    }
    if let Some(gpt) = &table.gpt {
        let header = gpt.header().expect("nothing is planned beside a GPT that cannot be read");
        let array = i128::from(header.array_bytes().div_ceil(unit));
        used.extend([
            0..=1,
            i128::from(header.array.number())..=i128::from(header.array.number()) + array - 1,
        ]);
        let entries = table.mbr.iter().flat_map(|mbr| mbr.ordinary());
        used.extend(entries.map(|(_, entry)| range(entry.first(), entry.last())));
    }
    // Those that are inverted use nothing.
    used.retain(|range| !range.is_empty());
    used
}

/// What a GPT leaves to partitions; a backup that is not at the end of the disk will be put there.
fn usable_of(gpt: &Gpt, medium: &Medium) -> Sectors {
    let header = gpt.header().expect("nothing is planned beside a GPT that cannot be read");
    let last = i128::from(medium.sectors) - 1;
    let at_end = gpt.backup.as_ref().is_ok_and(|backup| i128::from(backup.my_lba.number()) == last);
    let array = array_sectors(header.array_bytes(), medium);
    let end = if at_end { i128::from(header.last_usable.number()) } else { last - array - 1 };
    i128::from(header.first_usable.number())..=end
}

fn array_sectors(bytes: u64, medium: &Medium) -> i128 {
    bytes.div_ceil(medium.sector_size.bytes()).into()
}

fn logicals(layout: &Layout) -> impl Iterator<Item = &Planned> {
    layout.partitions.iter().filter(|planned| planned.kind == PartitionKind::Logical)
}

fn sectors_of(planned: &Planned) -> Sectors {
    range(planned.first, planned.last)
}

fn with_record(logical: &Planned) -> Sectors {
    range(logical.ebr.expect("a logical partition has a record"), logical.last)
}

fn range(first: Lba, last: Lba) -> Sectors {
    first.number().into()..=last.number().into()
}

fn meet(one: &Sectors, other: &Sectors) -> bool {
    one.start() <= other.end() && other.start() <= one.end()
}

fn contains(outer: &Sectors, inner: &Sectors) -> bool {
    outer.start() <= inner.start() && inner.end() <= outer.end()
}
