//! Plans that are written: what is read again is what was planned, other crates read the same, and what was there
//! before comes back byte for byte.
//!
//! The seed is fixed, so a run is the same everywhere; `PROPTEST_RNG_SEED=7 PROPTEST_CASES=20000` looks elsewhere and
//! longer.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use align_core::check::{self, Options, Report};
use align_core::device::{BlockDevice, Disk, MemoryDevice, Reader};
use align_core::patch::Patch;
use align_core::plan::{Align, Layout, Medium, PlanError, Request, TableKind};
use align_core::table::{Partition, Table};
use align_core::topology::{Reported, Topology};
use align_core::units::{Lba, PhysicalSize, SectorSize, Size};
use align_core::write::{Proposal, Wishes, WriteError};
use common::stream::Stream;
use common::{Shared, config, invariants, layouts, requests};
use fixtures::{GptEntry, GptSpec, Image, Logical, MbrEntry};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A disk in memory, and what it is taken for.
struct Scene {
    image: Image,
    device: Shared<MemoryDevice>,
    disk: Disk,
    options: Options,
}

impl Scene {
    fn new(image: Image, pretend: Reported, physical: Option<PhysicalSize>) -> Self {
        let device = Shared::new(common::memory(&image));
        let disk = Disk::image("test.img", device.clone());
        Self { image, device, disk, options: Options { pretend, physical, ..Options::default() } }
    }

    /// An image of which nothing is reported.
    fn plain(image: Image) -> Self {
        Self::new(image, Reported::default(), None)
    }

    fn table(&self) -> Table {
        let (_, table) = check::examine(&self.disk, &self.options).unwrap();
        table.unwrap()
    }

    fn report(&self) -> Report {
        check::run(&self.disk, &self.options).unwrap()
    }

    fn medium(&self) -> Medium {
        Proposal::medium(&self.disk, &self.options).unwrap()
    }

    fn beside(&self, request: &Request) -> Result<Layout, PlanError> {
        request.lay_out_beside(&self.table(), &self.medium())
    }

    /// Writes the layout as `apply` would.
    fn write(&self, layout: &Layout) -> Result<Patch, WriteError> {
        let wishes = Wishes { options: self.options.clone(), ..Wishes::default() };
        let patch = Proposal::of_layout(&self.disk, layout, &wishes)?.patch;
        patch.write(&self.device).unwrap();
        Ok(patch)
    }

    /// Takes the patch back, and fails when not every byte is as it was.
    fn assert_undone(&self, patch: &Patch) {
        patch.reversed().write(&self.device).unwrap();
        let written = self.image.writes.iter().map(|(offset, bytes)| (*offset, bytes.len()));
        let changed = patch.changes().map(|change| (change.offset, change.before.len()));
        for (offset, len) in written.chain(changed) {
            let mut found = vec![0; len];
            self.device.read_at(offset, &mut found).unwrap();
            assert!(found == self.image.get(offset, len), "{len} bytes at {offset} are not as they were");
        }
    }
}

/// What is compared of a partition: number, kind, first and last sector, type, name.
type Row = (u32, &'static str, u64, u64, String, String);

fn found(partitions: &[Partition]) -> Vec<Row> {
    let row = |found: &Partition| {
        let (first, last) = (found.first.number(), found.last.number());
        let type_ = found.type_.code().unwrap();
        (found.number, found.kind.word(), first, last, type_, found.name.clone().unwrap_or_default())
    };
    partitions.iter().map(row).collect()
}

/// The partitions that the layout leaves behind, by number.
fn planned(layout: &Layout) -> Vec<Row> {
    let mut rows = found(layout.kept.as_deref().unwrap_or_default());
    rows.extend(layout.partitions.iter().map(|planned| {
        let (first, last) = (planned.first.number(), planned.last.number());
        let type_ = planned.type_.code().unwrap();
        (planned.number, planned.kind.word(), first, last, type_, planned.name.clone().unwrap_or_default())
    }));
    rows.sort();
    rows
}

/// Number, first and last sector of what is planned.
fn places(layout: &Layout) -> Vec<(u32, u64, u64)> {
    let places = layout.partitions.iter();
    places.map(|planned| (planned.number, planned.first.number(), planned.last.number())).collect()
}

/// What holds after a write: the table is whole, nothing new is misaligned, and it holds what was planned.
fn assert_written(scene: &Scene, layout: &Layout) {
    let report = scene.report();
    assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
    assert_eq!(found(&scene.table().partitions), planned(layout));
    let own = |number: u32| layout.partitions.iter().any(|planned| planned.number == number);
    for judged in report.partitions.iter().filter(|judged| own(judged.partition.number)) {
        assert_ne!(judged.verdict.word(), "misaligned", "{judged:?}");
    }
}

/// The partitions as other crates read them; where they can, see docs/DESIGN.md.
mod peers {
    use super::*;

    /// By position, since `gpt` counts densely.
    pub fn with_gpt(device: &Shared<MemoryDevice>, unit: SectorSize) -> Vec<(u64, u64)> {
        let lb_size = gpt::disk::LogicalBlockSize::try_from(unit.bytes()).unwrap();
        let config = gpt::GptConfig::new().writable(false).logical_block_size(lb_size);
        let disk = config.open_from_device(Stream::over(device.clone())).unwrap();
        disk.partitions().values().map(|partition| (partition.first_lba, partition.last_lba)).collect()
    }

    pub fn with_gptman(device: &Shared<MemoryDevice>, unit: SectorSize) -> Vec<(u32, u64, u64)> {
        let table = gptman::GPT::read_from(&mut Stream::over(device.clone()), unit.bytes()).unwrap();
        let used = table.iter().filter(|(_, partition)| partition.is_used());
        used.map(|(number, partition)| (number, partition.starting_lba, partition.ending_lba)).collect()
    }

    pub fn with_mbrman(device: &Shared<MemoryDevice>, unit: SectorSize) -> Vec<(u32, u64, u64)> {
        let sector = u32::try_from(unit.bytes()).unwrap();
        let table = mbrman::MBR::read_from(&mut Stream::over(device.clone()), sector).unwrap();
        let used = table.iter().filter(|(_, partition)| partition.is_used());
        used.map(|(number, partition)| {
            let first = u64::from(partition.starting_lba);
            (u32::try_from(number).unwrap(), first, first + u64::from(partition.sectors) - 1)
        })
        .collect()
    }

    /// Whether mbrman reads the chain: it wants it in the order of the disk, with a partition in every record.
    pub fn suits_mbrman(table: &Table) -> bool {
        let chains = &table.mbr.as_ref().unwrap().chains;
        let in_order = |chain: &align_core::table::mbr::Chain| {
            chain.ebrs.is_sorted_by_key(|ebr| ebr.lba)
                && chain.ebrs.iter().all(|ebr| ebr.logicals().count() == 1 || chain.ebrs.len() == 1)
        };
        chains.len() <= 1 && chains.iter().all(in_order)
    }

    pub fn assert_read_the_same(scene: &Scene) {
        let table = scene.table();
        let rows: Vec<_> = found(&table.partitions).iter().map(|row| (row.0, row.2, row.3)).collect();
        let unit = table.sector_size;
        match &table.gpt {
            Some(gpt) => {
                let header = gpt.header().unwrap();
                // Neither takes another size of the header or of entries.
                if header.sector[12..16] != [92, 0, 0, 0] || header.entry_size != 128 {
                    return;
                }
                assert_eq!(with_gptman(&scene.device, unit), rows);
                if [512, 4096].contains(&unit.bytes()) {
                    let places: Vec<_> = rows.iter().map(|(_, first, last)| (*first, *last)).collect();
                    assert_eq!(with_gpt(&scene.device, unit), places);
                }
            }
            None if suits_mbrman(&table) => assert_eq!(with_mbrman(&scene.device, unit), rows),
            None => {}
        }
    }
}

/// New tables over whatever was there.
mod fresh {
    use std::sync::LazyLock;

    use super::*;

    /// What was on the disk: nothing, or what a tool left there. Images in foreign formats are never written.
    static OLD: LazyLock<Vec<Image>> = LazyLock::new(|| {
        let is_disk = |name: &str| {
            ["fdisk-", "sfdisk-", "sgdisk-", "parted-", "xorriso-", "mkfs-", "mkswap", "cryptsetup-"]
                .iter()
                .any(|tool| name.starts_with(tool))
        };
        let recorded = fixtures::recorded::all().into_iter().filter(|recorded| is_disk(&recorded.name));
        std::iter::once(Image::blank(0)).chain(recorded.map(|recorded| recorded.image())).collect()
    });

    /// A disk that is taken for the medium, with something on it; as large as both need.
    fn scene(old: Index, medium: &Medium) -> Scene {
        let mut image = old.get(&OLD).clone();
        let unit = medium.sector_size.bytes();
        image.size = image.size.max(medium.sectors * unit).next_multiple_of(unit);
        Scene::new(image, medium.topology.reported.clone(), None)
    }

    proptest! {
        #![proptest_config(config(120))]

        #[test]
        fn what_is_written_is_what_was_planned_and_can_be_taken_back(
            medium in requests::media(),
            request in requests::all(),
            old in any::<Index>(),
        ) {
            let scene = scene(old, &medium);
            let Ok(layout) = request.lay_out(&scene.medium()) else { return Ok(()) };

            let patch = scene.write(&layout).unwrap();

            assert_written(&scene, &layout);
            peers::assert_read_the_same(&scene);
            let report = scene.report();
            prop_assert!(report.content.is_none(), "{:?} is left", report.content);
            prop_assert!(!common::codes(&report).contains(&"gpt-remains"), "{:#?}", report.findings);
            scene.assert_undone(&patch);
        }
    }

    #[test]
    fn every_case_is_read_as_it_was_planned() {
        for case in fixtures::cases::plan() {
            let disk = &case.disk;
            let reported = Reported {
                logical: Some(disk.logical),
                minimum_io: Some(disk.minimum_io),
                optimal_io: Some(disk.optimal_io),
                alignment_offset: Some(disk.alignment_offset),
                ..Reported::default()
            };
            let scene = Scene::new(Image::blank(disk.bytes()), reported, PhysicalSize::new(disk.physical));
            let layout = requests::of_case(&case).lay_out(&scene.medium()).unwrap();
            let patch = scene.write(&layout).unwrap();
            assert_written(&scene, &layout);
            peers::assert_read_the_same(&scene);
            let expected: Vec<_> = case
                .partitions
                .iter()
                .map(|partition| (partition.number, partition.start, partition.end))
                .collect();
            let read: Vec<_> =
                found(&scene.table().partitions).iter().map(|row| (row.0, row.2, row.3)).collect();
            assert_eq!(read, expected, "{}: {}", case.id, case.title);
            scene.assert_undone(&patch);
        }
    }
}

/// Partitions beside those of any table.
mod beside {
    use std::fmt;

    use super::*;

    /// A disk with a history.
    #[derive(Clone)]
    struct Existing {
        image: Image,
        unit: u64,
        kind: TableKind,
    }

    /// What a failure prints: an image as lists of numbers would fill pages.
    impl fmt::Debug for Existing {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            writeln!(f, "{:?}, {} sectors of {}", self.kind, self.image.size / self.unit, self.unit)?;
            let table = Table::read(&Reader::new(&common::memory(&self.image)), SectorSize::new(self.unit));
            let table = table.map_err(|_| fmt::Error)?;
            for row in found(&table.partitions) {
                writeln!(f, "  {row:?}")?;
            }
            let chains = table.mbr.iter().flat_map(|mbr| &mbr.chains);
            let records: Vec<u64> =
                chains.flat_map(|chain| &chain.ebrs).map(|ebr| ebr.lba.number()).collect();
            writeln!(f, "  records at {records:?}, areas {:?}", table.areas())
        }
    }

    /// GPTs of every sector and entry size; with a moved array, a backup that is not at the end, or a hybrid MBR.
    fn gpt() -> impl Strategy<Value = Existing> {
        let unit = select(SectorSize::OF_TABLES.map(SectorSize::bytes).to_vec());
        let entry = (select(vec![128_u32, 128, 128, 256, 512]), 4_u32..=128);
        let shape = (unit, 25_u32..42, any::<u16>(), entry, prop::option::of(2_u64..1000));
        let more = (any::<u16>(), prop::option::of(2_u64..50), any::<bool>());
        (shape, more).prop_flat_map(
            |((unit, log, extra, (entry_size, entry_count), primary_array), (header, grown, hybrid))| {
                let sectors = (1_u64 << log) / unit + u64::from(extra);
                let array = (u64::from(entry_count) * u64::from(entry_size)).div_ceil(unit);
                let alternate = grown.map_or(sectors - 1, |share| sectors / 2 + sectors / 2 / share);
                let first_usable = primary_array.unwrap_or(2) + array;
                let spec = GptSpec {
                    sector_size: unit,
                    disk_id: [0xCD; 16],
                    entry_count,
                    entry_size,
                    header_size: if header % 2 == 0 {
                        92
                    } else {
                        92 + u32::from(header) % u32::try_from(unit - 91).unwrap()
                    },
                    primary_array,
                    alternate: Some(alternate),
                    first_usable: Some(first_usable),
                    ..GptSpec::default()
                };
                let placed = layouts::apart(6, first_usable, alternate - array - 1);
                (placed, layouts::slots(entry_count)).prop_map(move |(placed, slots)| {
                    let entry = |(slot, placed): (u32, layouts::Placed)| GptEntry {
                        slot,
                        kind: placed.kind,
                        id: placed.id,
                        first: placed.first,
                        last: placed.last,
                        attributes: placed.attributes,
                        name: placed.name,
                    };
                    let entries: Vec<GptEntry> = slots.into_iter().zip(placed).map(entry).collect();
                    let mut image = Image::blank(sectors * unit);
                    fixtures::gpt::write(&mut image, &GptSpec { entries: entries.clone(), ..spec.clone() });
                    if hybrid {
                        mirror(&mut image, &entries);
                    }
                    Existing { image, unit, kind: TableKind::Gpt }
                })
            },
        )
    }

    /// Lists the first partitions beside the protective entry too, as a hybrid MBR does.
    fn mirror(image: &mut Image, entries: &[GptEntry]) {
        for (slot, entry) in (1..4).zip(entries) {
            let sectors = u32::try_from(entry.last - entry.first + 1);
            let (Ok(start), Ok(sectors)) = (u32::try_from(entry.first), sectors) else { continue };
            let mut bytes = [0; 16];
            bytes[4] = 0x83;
            bytes[8..12].copy_from_slice(&start.to_le_bytes());
            bytes[12..].copy_from_slice(&sectors.to_le_bytes());
            image.put(446 + 16 * slot, &bytes);
        }
    }

    /// Types that are no containers and mean something.
    fn type_byte(placed: &layouts::Placed) -> u8 {
        if matches!(placed.kind[0], 0 | 0x05 | 0x0F | 0x85 | 0xC5 | 0xD5 | 0xEE) {
            0x83
        } else {
            placed.kind[0]
        }
    }

    fn narrow(lba: u64) -> u32 {
        u32::try_from(lba).unwrap()
    }

    /// MBRs with partitions anywhere, and a container with a chain in any order, or an empty one.
    fn mbr() -> impl Strategy<Value = Existing> {
        let unit = select(vec![512_u64, 4096]);
        let container = prop::option::of((any::<Index>(), select(vec![0x05_u8, 0x0F, 0x85])));
        (unit, 40_000_u64..1 << 33, any::<bool>(), container).prop_flat_map(
            |(unit, sectors, small, container)| {
                let sectors = if small { 40_000 + sectors % 10_000_000 } else { sectors };
                let end = sectors.min(u64::from(u32::MAX)) - 1;
                let placed = (layouts::apart(4, 1, end), layouts::slots(4));
                placed.prop_flat_map(move |(placed, slots)| {
                    let mut entries = vec![MbrEntry::default(); 4];
                    for (slot, placed) in slots.iter().zip(&placed) {
                        entries[*slot as usize] = MbrEntry {
                            boot: 0,
                            kind: type_byte(placed),
                            start: narrow(placed.first),
                            sectors: narrow(placed.last - placed.first + 1),
                        };
                    }
                    let container = container.filter(|_| !placed.is_empty()).map(|(index, kind)| {
                        let at = index.index(placed.len());
                        entries[slots[at] as usize].kind = kind;
                        (placed[at].first, placed[at].last)
                    });
                    let (from, to) = container.map_or((1, 1), |(first, last)| (first + 1, last));
                    let inside = (
                        layouts::apart(6, from.min(to), to),
                        Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
                    );
                    inside.prop_map(move |(inside, order)| {
                        let mut image = Image::blank(sectors * unit);
                        fixtures::mbr::write(&mut image, unit, 1, &entries);
                        if let Some((start, _)) = container {
                            let chain = order.iter().filter_map(|at| inside.get(*at)).enumerate();
                            let chain: Vec<Logical> =
                                chain.map(|(index, placed)| logical(index, placed, start)).collect();
                            fixtures::mbr::write_chain(&mut image, unit, narrow(start), &chain);
                        }
                        Existing { image, unit, kind: TableKind::Mbr }
                    })
                })
            },
        )
    }

    /// A logical partition somewhere in its range behind its record; the first of a chain has it where the container
    /// begins.
    fn logical(index: usize, placed: &layouts::Placed, container: u64) -> Logical {
        let room = placed.last - placed.first;
        let start = placed.first + 1 + placed.attributes % room;
        Logical {
            ebr: narrow(if index == 0 { container } else { placed.first }),
            kind: type_byte(placed),
            start: narrow(start),
            sectors: narrow(placed.last - start + 1),
        }
    }

    fn reported(unit: u64) -> impl Strategy<Value = Reported> {
        let physical = select(vec![512_u64, 4096, 4096, 65536]);
        let optimal = select(vec![0_u64, 0, 768 << 10, 3 << 20, 33_553_920]);
        let offset = select(vec![0_i64, 0, 0, 3584, 4096]);
        (physical, optimal, offset).prop_map(move |(physical, optimal, offset)| Reported {
            logical: Some(unit),
            physical: Some(physical),
            optimal_io: Some(optimal),
            // An offset that is no whole sector is not used.
            alignment_offset: Some(offset),
            ..Reported::default()
        })
    }

    fn existing() -> impl Strategy<Value = (Existing, Reported)> {
        prop_oneof![gpt(), mbr()].prop_flat_map(|existing| (Just(existing.clone()), reported(existing.unit)))
    }

    proptest! {
        #![proptest_config(config(200))]

        #[test]
        fn what_is_there_stays_and_what_is_new_is_right(
            (existing, reported) in existing(),
            request in requests::all(),
        ) {
            let request = Request { table: existing.kind, ..request };
            let scene = Scene::new(existing.image, reported, None);
            let (table, medium) = (scene.table(), scene.medium());
            let health = scene.report().table.health.word();
            prop_assert!(["ok", "stale"].contains(&health), "{health}: {:#?}", scene.report().findings);

            let layout = match request.lay_out_beside(&table, &medium) {
                Ok(layout) => layout,
                Err(error) => {
                    prop_assert!(!error.to_string().is_empty());
                    return Ok(());
                }
            };

            invariants::beside(&layout, &medium, &table);
            prop_assert_eq!(request.lay_out_beside(&table, &medium), Ok(layout.clone()));
            let patch = scene.write(&layout).unwrap();
            assert_written(&scene, &layout);
            peers::assert_read_the_same(&scene);
            scene.assert_undone(&patch);
        }
    }

    /// A table whose only free stretch ends where the disk does, however long that is.
    fn open_ended(kind: &str, unit: u64, size: u64) -> Image {
        let mebibyte = (1 << 20) / unit;
        let mut image = Image::blank(size);
        let entry = MbrEntry { boot: 0, kind: 0x83, start: narrow(mebibyte), sectors: narrow(mebibyte) };
        match kind {
            "gpt" => {
                let entry = GptEntry {
                    kind: [1; 16],
                    first: mebibyte,
                    last: 2 * mebibyte - 1,
                    ..GptEntry::default()
                };
                let spec = GptSpec {
                    sector_size: unit,
                    alternate: Some(8 * mebibyte),
                    entries: vec![entry],
                    ..GptSpec::default()
                };
                fixtures::gpt::write(&mut image, &spec);
            }
            "mbr" => fixtures::mbr::write(&mut image, unit, 1, &[entry]),
            "container" => {
                let sectors = narrow(size / unit - mebibyte);
                fixtures::mbr::write(&mut image, unit, 1, &[MbrEntry { kind: 0x05, sectors, ..entry }]);
                fixtures::mbr::write_chain(&mut image, unit, narrow(mebibyte), &[]);
            }
            _ => {
                let sectors = narrow(size / unit - mebibyte);
                fixtures::mbr::write(&mut image, unit, 1, &[MbrEntry { kind: 0x05, sectors, ..entry }]);
                let ebr = narrow(mebibyte);
                let logical = Logical { ebr, kind: 0x83, start: ebr + 1, sectors: 4001 };
                fixtures::mbr::write_chain(&mut image, unit, narrow(mebibyte), &[logical]);
            }
        }
        image
    }

    proptest! {
        #![proptest_config(config(200))]

        #[test]
        fn so_many_bytes_more_as_are_missing_would_do(
            kind in select(vec!["gpt", "mbr", "container", "chain"]),
            unit in select(vec![512_u64, 4096]),
            optimal in select(vec![0_u64, 768 << 10, 16 << 20]),
            sectors in 32_768_u64..100_000,
            sizes in prop::collection::vec(1_u64..300 << 20, 0..4),
            in_sectors in any::<bool>(),
            rest in any::<bool>(),
            align in prop_oneof![Just(Align::Optimal), Just(Align::Minimal), (1_u64..1 << 23).prop_map(Align::Grain)],
        ) {
            let size = |bytes: u64| if in_sectors { Size::Sectors(bytes.div_ceil(unit)) } else { Size::Bytes(bytes) };
            let sizes = sizes.into_iter().map(size).chain(rest.then_some(Size::Rest));
            let table = if kind == "gpt" { TableKind::Gpt } else { TableKind::Mbr };
            let request = Request { align, ..Request::new(table, sizes) };
            let reported = Reported { logical: Some(unit), optimal_io: Some(optimal), ..Reported::default() };
            let plan = |size: u64| Scene::new(open_ended(kind, unit, size), reported.clone(), None).beside(&request);

            let bytes = (128 << 20) + sectors * unit;
            let Err(PlanError::NoRoom { partition, asked, largest, missing }) = plan(bytes) else { return Ok(()) };
            prop_assert!(largest < asked && missing > 0);
            let missing = u64::try_from(missing).unwrap();
            prop_assert!(missing.is_multiple_of(unit));

            match plan(bytes + missing) {
                Ok(_) => {}
                Err(PlanError::NoRoom { partition: later, .. } | PlanError::NoSlot { partition: later, .. }) => {
                    prop_assert!(later > partition);
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
            let almost = plan(bytes + missing - unit).unwrap_err();
            let one_sector = matches!(
                almost,
                PlanError::NoRoom { partition: same, missing, .. } if same == partition && missing == u128::from(unit)
            );
            prop_assert!(one_sector, "{almost}");
        }
    }
}

/// What a plan is told before it is written.
mod told {
    use super::*;

    #[test]
    fn a_damaged_table_is_not_replaced_without_a_word() {
        let mut image = fixtures::recorded::named("sfdisk-gpt").image();
        let size = image.size;
        let request = Request::new(TableKind::Gpt, [Size::Rest]);
        let warnings = |image: Image| {
            let scene = Scene::plain(image);
            let layout = request.lay_out(&scene.medium()).unwrap();
            Proposal::of_layout(&scene.disk, &layout, &Wishes::default()).unwrap().warnings.join("; ")
        };
        assert!(!warnings(image.clone()).contains("damaged"));
        image.put(512, &[0; 512]).put(size - 512, &[0; 512]);
        let told = warnings(image);
        assert!(told.contains("the partition table that is there is damaged"), "{told}");
    }

    #[test]
    fn no_partition_of_a_plan_begins_over_the_table() {
        let scene = Scene::plain(Image::blank(64 << 20));
        let mut layout =
            Request::new(TableKind::Mbr, [Size::Bytes(8 << 20)]).lay_out(&scene.medium()).unwrap();
        layout.partitions[0].first = Lba::ZERO;
        let error = scene.write(&layout).unwrap_err().to_string();
        assert!(error.contains("partition 1 of the plan begins at sector 0"), "{error}");
    }
}

/// What people ask for beside what they have.
mod keep {
    use super::*;

    fn mbr(sectors: u64, entries: &[MbrEntry]) -> Image {
        let mut image = Image::blank(sectors * 512);
        fixtures::mbr::write(&mut image, 512, 1, entries);
        image
    }

    fn linux(start: u32, sectors: u32) -> MbrEntry {
        MbrEntry { boot: 0, kind: 0x83, start, sectors }
    }

    fn container(start: u32, sectors: u32) -> MbrEntry {
        MbrEntry { boot: 0, kind: 0x05, start, sectors }
    }

    fn gpt(sectors: u64, ranges: &[(u32, u64, u64)]) -> Image {
        let mut image = Image::blank(sectors * 512);
        let entry = |(slot, first, last): &(u32, u64, u64)| GptEntry {
            slot: *slot,
            kind: fixtures::guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4"),
            id: [u8::try_from(slot + 1).unwrap(); 16],
            first: *first,
            last: *last,
            ..GptEntry::default()
        };
        let entries = ranges.iter().map(entry).collect();
        fixtures::gpt::write(&mut image, &GptSpec { entries, ..GptSpec::default() });
        image
    }

    fn mib(count: u64) -> Size {
        Size::Bytes(count << 20)
    }

    /// The places that the request gets beside the partitions of the image, after they were written and read again.
    fn placed(image: Image, request: &Request) -> Vec<(u32, u64, u64)> {
        let scene = Scene::plain(image);
        let layout = scene.beside(request).unwrap();
        scene.write(&layout).unwrap();
        assert_written(&scene, &layout);
        places(&layout)
    }

    fn refused(image: Image, request: &Request) -> PlanError {
        Scene::plain(image).beside(request).unwrap_err()
    }

    #[test]
    fn a_live_stick_gets_a_partition_for_its_data() {
        // The image of a disc on a stick of 64 MiB: its first partition begins at sector 0.
        let mut image = fixtures::recorded::named("xorriso-isohybrid").image();
        image.size = 64 << 20;
        let request = Request::new(TableKind::Mbr, [Size::Rest]);
        assert_eq!(placed(image, &request), [(2, 2048, 131_071)]);
    }

    #[test]
    fn four_primaries_leave_no_place_for_a_fifth() {
        let entries = [linux(2048, 2048), linux(4096, 2048), linux(6144, 2048), linux(8192, 2048)];
        let request = Request::new(TableKind::Mbr, [mib(1)]);
        let error = refused(mbr(1 << 20, &entries), &request);
        assert_eq!(error, PlanError::NoSlot { partition: 1, table: "MBR" });
    }

    #[test]
    fn four_primaries_that_fill_the_disk_have_no_place_either() {
        let entries = [linux(2048, 2048), linux(4096, 2048), linux(6144, 2048), linux(8192, 24_576)];
        let request = Request::new(TableKind::Mbr, [Size::Rest]);
        let error = refused(mbr(32_768, &entries), &request);
        assert_eq!(error, PlanError::NoSlot { partition: 1, table: "MBR" });
    }

    #[test]
    fn beside_two_primaries_five_become_one_more_a_container_and_four_logical_ones() {
        let entries = [linux(2048, 2048), linux(4096, 2048)];
        let request = Request::new(TableKind::Mbr, [mib(10), mib(10), mib(10), mib(10), Size::Rest]);
        let placed = placed(mbr(204_800, &entries), &request);
        let expected = [
            (3, 6144, 26_623),
            (4, 26_624, 204_799),
            (5, 28_672, 49_151),
            (6, 51_200, 71_679),
            (7, 73_728, 94_207),
            (8, 96_256, 204_799),
        ];
        assert_eq!(placed, expected);
    }

    #[test]
    fn beside_two_primaries_two_more_need_no_container() {
        let entries = [linux(2048, 2048), linux(4096, 2048)];
        let request = Request::new(TableKind::Mbr, [mib(10), Size::Rest]);
        assert_eq!(placed(mbr(204_800, &entries), &request), [(3, 6144, 26_623), (4, 26_624, 204_799)]);
    }

    #[test]
    fn a_hole_in_a_container_is_used_before_its_end() {
        // Logical partitions of 10 MiB with 20 MiB between them.
        let mut image = mbr(204_800, &[container(2048, 202_752)]);
        let logical = |ebr, start| Logical { ebr, kind: 0x83, start, sectors: 20_480 };
        fixtures::mbr::write_chain(&mut image, 512, 2048, &[logical(2048, 4096), logical(65_536, 67_584)]);
        let request = Request::new(TableKind::Mbr, [mib(18), mib(1), mib(30)]);
        // Behind the first: a record and 18 MiB; the next does not fit in front of the record at 65536 any more.
        let expected = [(7, 26_624, 63_487), (8, 90_112, 92_159), (9, 94_208, 155_647)];
        assert_eq!(placed(image, &request), expected);
    }

    #[test]
    fn primaries_go_beside_a_container_as_long_as_there_are_numbers() {
        let entries = [container(2048, 40_960), linux(51_200, 2048), linux(53_248, 2048)];
        let mut image = mbr(204_800, &entries);
        fixtures::mbr::write_chain(&mut image, 512, 2048, &[]);
        let request = Request::new(TableKind::Mbr, [mib(40), mib(1), mib(1)]);
        assert_eq!(placed(image, &request), [(4, 55_296, 137_215), (5, 4096, 6143), (6, 8192, 10_239)]);
    }

    #[test]
    fn what_a_container_cannot_take_is_no_reason_to_leave_it() {
        let entries = [container(2048, 8192), linux(51_200, 2048), linux(53_248, 2048), linux(55_296, 2048)];
        let mut image = mbr(204_800, &entries);
        fixtures::mbr::write_chain(&mut image, 512, 2048, &[]);
        let error = refused(image, &Request::new(TableKind::Mbr, [mib(10)]));
        let expected =
            PlanError::NoRoom { partition: 1, asked: 10 << 20, largest: 3 << 20, missing: 7 << 20 };
        assert_eq!(error, expected);
    }

    #[test]
    fn of_two_containers_the_last_one_grows_so_that_numbers_stay() {
        let mut image = mbr(204_800, &[container(2048, 40_960), container(51_200, 40_960)]);
        let logical = |ebr, start| Logical { ebr, kind: 0x83, start, sectors: 2048 };
        fixtures::mbr::write_chain(&mut image, 512, 2048, &[logical(2048, 4096)]);
        fixtures::mbr::write_chain(&mut image, 512, 51_200, &[logical(51_200, 53_248)]);
        let request = Request { primaries: Some(0), ..Request::new(TableKind::Mbr, [mib(1)]) };
        assert_eq!(placed(image, &request), [(7, 57_344, 59_391)]);
    }

    #[test]
    fn a_gpt_of_3_tib_takes_partitions_beyond_32_bits() {
        let image = gpt(6 << 30, &[(0, 2048, (5 << 30) - 1)]);
        let request = Request::new(TableKind::Gpt, [Size::Bytes(100 << 30), Size::Rest]);
        let placed = placed(image, &request);
        assert_eq!(placed, [(2, 5_368_709_120, 5_578_424_319), (3, 5_578_424_320, 6_442_448_895)]);
    }

    #[test]
    fn the_rest_takes_the_largest_stretch_and_a_size_the_first_that_fits() {
        // 3 MiB, 40 MiB and 19 MiB are free.
        let ranges = [(0, 2048, 4095), (1, 10_240, 20_479), (4, 102_400, 163_839)];
        let image = || gpt(204_800, &ranges);
        let places = placed(image(), &Request::new(TableKind::Gpt, [mib(2), mib(4), Size::Rest]));
        assert_eq!(places, [(3, 4096, 8191), (4, 20_480, 28_671), (6, 28_672, 102_399)]);
    }

    #[test]
    fn a_percentage_is_of_the_largest_stretch() {
        let ranges = [(0, 2048, 4095), (1, 10_240, 20_479), (4, 102_400, 204_766)];
        let request = Request::new(TableKind::Gpt, [Size::MilliPercent(50_000), Size::MilliPercent(50_000)]);
        // 40 MiB are free in one piece.
        assert_eq!(placed(gpt(204_800, &ranges), &request), [(3, 20_480, 61_439), (4, 61_440, 102_399)]);
    }

    #[test]
    fn a_percentage_leaves_space_out_that_no_number_is_left_for() {
        // 72 MiB behind the container, and all four numbers taken: only its own 18 MiB and a record count.
        let entries =
            [container(2048, 40_960), linux(51_200, 2048), linux(53_248, 2048), linux(55_296, 2048)];
        let mut image = mbr(204_800, &entries);
        fixtures::mbr::write_chain(&mut image, 512, 2048, &[]);
        let request = Request::new(TableKind::Mbr, [Size::MilliPercent(100_000)]);
        assert_eq!(placed(image, &request), [(5, 4096, 43_007)]);
    }

    #[test]
    fn a_small_part_of_little_is_still_a_partition() {
        let image = gpt(204_800, &[(0, 2048, 202_751)]);
        let request = Request::new(TableKind::Gpt, [Size::MilliPercent(1)]);
        assert_eq!(placed(image, &request), [(2, 202_752, 202_759)]);
    }

    #[test]
    fn a_grown_disk_is_used_to_its_new_end() {
        let mut image = gpt(20_480, &[(0, 2048, 18_431)]);
        image.size = 20 << 20;
        // As fdisk does after it relocated the backup (its test gpt-resize).
        assert_eq!(placed(image, &Request::new(TableKind::Gpt, [Size::Rest])), [(2, 18_432, 38_911)]);
    }

    #[test]
    fn a_partition_that_only_a_hybrid_mbr_has_is_left_alone() {
        let mut image = gpt(204_800, &[(0, 2048, 4095)]);
        // 10 MiB behind it, in the second entry of the MBR.
        image.put(462, &[0, 0, 0, 0, 0x07, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x50, 0, 0]);
        let request = Request::new(TableKind::Gpt, [mib(1)]);
        assert_eq!(placed(image, &request), [(2, 24_576, 26_623)]);
    }

    #[test]
    fn an_array_among_the_partitions_is_left_alone() {
        let mut image = Image::blank(100 << 20);
        let spec = GptSpec { primary_array: Some(4096), first_usable: Some(34), ..GptSpec::default() };
        fixtures::gpt::write(&mut image, &spec);
        let request = Request::new(TableKind::Gpt, [mib(1), mib(1)]);
        assert_eq!(placed(image, &request), [(1, 2048, 4095), (2, 6144, 8191)]);
    }

    #[test]
    fn a_deleted_partition_leaves_its_number_and_its_place_to_the_next() {
        let ranges: Vec<_> =
            (0..8).filter(|slot| *slot != 1).map(|slot| (slot, 2048 + 2048 * u64::from(slot))).collect();
        let ranges: Vec<_> = ranges.into_iter().map(|(slot, first)| (slot, first, first + 2047)).collect();
        // util-linux, fdisk/gpt: delete 2 of eight, make it again with the defaults.
        assert_eq!(placed(gpt(20_480, &ranges), &Request::new(TableKind::Gpt, [mib(1)])), [(2, 4096, 6143)]);
    }
}

/// Layouts that the tests of other tools expect, where our rules come to the same.
mod tools {
    use super::*;

    fn disk(sectors: u64, unit: u64, reported: Reported) -> Medium {
        let reported = Reported { logical: Some(unit), ..reported };
        Medium {
            sectors,
            sector_size: SectorSize::new(unit).unwrap(),
            topology: Topology::judge(&reported, Some(sectors * unit), None, None),
        }
    }

    fn image(bytes: u64) -> Medium {
        disk(bytes / 512, 512, Reported::default())
    }

    fn laid_out(request: &Request, medium: &Medium) -> Vec<(u32, u64, u64)> {
        places(&request.lay_out(medium).unwrap())
    }

    fn mib(count: u64) -> Size {
        Size::Bytes(count << 20)
    }

    #[test]
    fn fdisk_aligns_512_and_4096_byte_disks_alike() {
        // util-linux, fdisk/align-512-512, -topology and align-512-4K; the records byte-checked.
        let request = Request::new(TableKind::Mbr, [mib(10), mib(10), mib(10), mib(5), mib(5), Size::Rest]);
        let expected = [
            (1, 2048, 22_527),
            (2, 22_528, 43_007),
            (3, 43_008, 63_487),
            (4, 63_488, 102_399),
            (5, 65_536, 75_775),
            (6, 77_824, 88_063),
            (7, 90_112, 102_399),
        ];
        for physical in [512, 4096] {
            let medium = disk(102_400, 512, Reported { physical: Some(physical), ..Reported::default() });
            let layout = request.lay_out(&medium).unwrap();
            assert_eq!(places(&layout), expected);
            let records: Vec<_> = layout.partitions.iter().filter_map(|planned| planned.ebr).collect();
            assert_eq!(records.iter().map(|ebr| ebr.number()).collect::<Vec<_>>(), [63_488, 75_776, 88_064]);
        }
    }

    #[test]
    fn fdisk_keeps_the_sectors_that_it_is_given() {
        // fdisk/align-512-4K-md: "+49150" is the 49151st sector.
        let request = Request::new(TableKind::Mbr, [Size::Sectors(49_151), Size::Sectors(49_151)]);
        assert_eq!(laid_out(&request, &image(50 << 20)), [(1, 2048, 51_198), (2, 51_200, 100_350)]);
        let stripe = Reported { minimum_io: Some(65_536), ..Reported::default() };
        let request = Request::new(TableKind::Mbr, [mib(10), mib(10)]);
        assert_eq!(laid_out(&request, &disk(97_792, 512, stripe)), [(1, 2048, 22_527), (2, 22_528, 43_007)]);
    }

    #[test]
    fn sfdisk_fills_50_mib_alike() {
        // sfdisk/dos, simple-commas.
        let sizes = [mib(3), mib(3), mib(3), mib(3), Size::Rest];
        let expected = [
            (1, 2048, 8191),
            (2, 8192, 14_335),
            (3, 14_336, 20_479),
            (4, 20_480, 102_399),
            (5, 22_528, 28_671),
            (6, 30_720, 102_399),
        ];
        assert_eq!(laid_out(&Request::new(TableKind::Mbr, sizes), &image(50 << 20)), expected);
        // sfdisk/gpt, gpt-all-defaults.
        let sizes = [mib(5), mib(5), mib(5), mib(5), Size::Rest];
        let starts = [(1, 2048, 12_287), (2, 12_288, 22_527), (3, 22_528, 32_767), (4, 32_768, 43_007)];
        let expected = [&starts[..], &[(5, 43_008, 100_351)]].concat();
        assert_eq!(laid_out(&Request::new(TableKind::Gpt, sizes), &image(50 << 20)), expected);
    }

    #[test]
    fn sfdisks_default_partition_is_our_rest() {
        // Bytes of the image, the end in an MBR and in a GPT.
        for (bytes, mbr, gpt) in [
            (5_242_880, 10_240, 8192),
            (10_485_760, 20_480, 18_432),
            (104_857_600, 204_800, 202_752),
            (1_073_741_824, 2_097_152, 2_095_104),
        ] {
            for (table, end) in [(TableKind::Mbr, mbr), (TableKind::Gpt, gpt)] {
                let request = Request::new(table, [Size::Rest]);
                assert_eq!(laid_out(&request, &image(bytes)), [(1, 2048, end - 1)], "{bytes} bytes");
            }
        }
        let request = Request::new(TableKind::Gpt, [Size::Rest]);
        assert_eq!(laid_out(&request, &image(4_194_816)), [(1, 2048, 6143)]);
        assert_eq!(laid_out(&request, &image(3 << 40)), [(1, 2048, 6_442_448_895)]);
        assert_eq!(laid_out(&request, &image(100_000_001)), [(1, 2048, 194_559)]);
    }

    #[test]
    fn sfdisks_default_partition_on_a_tiny_mbr_is_our_rest_for_physical_sectors_of_512() {
        // It believes an image that its physical sectors have 512 bytes.
        for (bytes, end) in [(1_048_576, 2047), (4_193_792, 8190), (4_194_304, 8191)] {
            let mut medium = image(bytes);
            let physical = PhysicalSize::new(512);
            medium.topology = Topology::judge(&Reported::default(), Some(bytes), physical, None);
            let request = Request::new(TableKind::Mbr, [Size::Rest]);
            assert_eq!(laid_out(&request, &medium), [(1, 1, end)], "{bytes} bytes");
        }
    }

    #[test]
    fn fdisk_counts_a_mebibyte_in_larger_sectors() {
        for (unit, start, mbr, gpt) in [(2048, 512, 51_199, 50_687), (4096, 256, 25_599, 25_343)] {
            let medium = disk((100 << 20) / unit, unit, Reported::default());
            let rest = |table| laid_out(&Request::new(table, [Size::Rest]), &medium);
            assert_eq!(rest(TableKind::Mbr), [(1, start, mbr)], "in sectors of {unit}");
            assert_eq!(rest(TableKind::Gpt), [(1, start, gpt)], "in sectors of {unit}");
        }
        let tiny = disk(1024, 4096, Reported::default());
        assert_eq!(laid_out(&Request::new(TableKind::Mbr, [Size::Rest]), &tiny), [(1, 1, 1023)]);
    }

    #[test]
    fn fdisk_fills_a_container_of_4096_byte_sectors_alike() {
        let mut image = Image::blank(100 << 20);
        let entry = MbrEntry { boot: 0, kind: 0x05, start: 256, sectors: 25_344 };
        fixtures::mbr::write(&mut image, 4096, 1, &[entry]);
        fixtures::mbr::write_chain(&mut image, 4096, 256, &[]);
        let scene = Scene::new(image, Reported { logical: Some(4096), ..Reported::default() }, None);
        let layout = scene.beside(&Request::new(TableKind::Mbr, [mib(10), mib(10)])).unwrap();
        assert_eq!(places(&layout), [(5, 512, 3071), (6, 3328, 5887)]);
        assert_eq!(
            layout.partitions[1].ebr.unwrap().number(),
            3072,
            "2816 sectors behind the container's start"
        );
    }

    #[test]
    fn fdisk_begins_behind_a_used_record_where_we_do() {
        // fdisk/mbr-logical-ebr-gap: 788480 is refused, the least is 790528.
        let mut image = Image::blank(1 << 30);
        let entry = MbrEntry { boot: 0, kind: 0x05, start: 2048, sectors: 2_095_104 };
        fixtures::mbr::write(&mut image, 512, 1, &[entry]);
        let logical = Logical { ebr: 2048, kind: 0x83, start: 6145, sectors: 782_335 };
        fixtures::mbr::write_chain(&mut image, 512, 2048, &[logical]);
        let layout = Scene::plain(image).beside(&Request::new(TableKind::Mbr, [Size::Rest])).unwrap();
        assert_eq!(places(&layout), [(6, 790_528, 2_097_151)]);
    }

    /// The request fits into so many sectors from there on, and one more does not.
    fn assert_holds_exactly(
        lay_out: impl Fn(&Request) -> Result<Layout, PlanError>,
        table: TableKind,
        (start, sectors): (u64, u64),
    ) {
        let asked = |sectors| Request::new(table, [Size::Sectors(sectors)]);
        let layout = lay_out(&asked(sectors)).unwrap();
        assert_eq!(layout.partitions.last().unwrap().first.number(), start);
        let error = lay_out(&asked(sectors + 1)).unwrap_err();
        let unit = u128::from(layout.sector_size.bytes());
        let one_sector = matches!(
            error,
            PlanError::NoRoom { missing, .. } | PlanError::DoesNotFit { missing, .. } if missing == unit
        );
        assert!(one_sector, "{error}");
    }

    #[test]
    fn libstorage_ng_finds_the_same_free_slots() {
        // testsuite/partitions/slots.cc and usable-region.cc.
        let fresh = |medium: Medium| move |request: &Request| request.lay_out(&medium);
        let mbr = TableKind::Mbr;
        assert_holds_exactly(fresh(disk(1_000_000, 512, Reported::default())), mbr, (2048, 997_952));
        assert_holds_exactly(fresh(disk(20_000_000, 4096, Reported::default())), mbr, (256, 19_999_744));
        assert_holds_exactly(fresh(disk(2_097_152, 512, Reported::default())), mbr, (2048, 2_095_104));
        // Sector 4294967294 is the last of an MBR.
        assert_holds_exactly(
            fresh(disk(6_442_450_944, 512, Reported::default())),
            mbr,
            (2048, 4_294_965_247),
        );

        let mut image = Image::blank(1_000_000 * 512);
        let entry = GptEntry { kind: [1; 16], first: 2048, last: 102_399, ..GptEntry::default() };
        fixtures::gpt::write(&mut image, &GptSpec { entries: vec![entry], ..GptSpec::default() });
        let scene = Scene::plain(image);
        let free = 1_000_000 - 102_400 - 33;
        assert_holds_exactly(|request| scene.beside(request), TableKind::Gpt, (102_400, free));
    }

    #[test]
    fn libstorage_ng_finds_the_same_free_slots_in_a_container() {
        // It keeps 128 sectors in front of a logical partition for its record.
        let mut image = Image::blank(31_459_328 * 512);
        let entry = MbrEntry { boot: 0, kind: 0x05, start: 2048, sectors: 31_457_280 };
        fixtures::mbr::write(&mut image, 512, 1, &[entry]);
        let logical = |ebr, start, sectors| Logical { ebr, kind: 0x83, start, sectors };
        let chain = [logical(2048, 2_103_296, 4_194_304), logical(12_593_024, 12_593_152, 8_388_608)];
        fixtures::mbr::write_chain(&mut image, 512, 2048, &chain);
        let scene = Scene::plain(image);
        let largest = |sectors| scene.beside(&Request::new(TableKind::Mbr, [Size::Sectors(sectors)]));
        let start = |sectors| largest(sectors).unwrap().partitions[0].first.number();
        assert_eq!(start(6_293_376), 6_299_648);
        assert_eq!(start(6_293_377), 20_983_808);
        assert_eq!(start(10_475_520), 20_983_808);
        assert!(matches!(largest(10_475_521), Err(PlanError::NoRoom { missing: 512, .. })));
    }

    #[test]
    fn repart_places_a_partition_beside_misaligned_ones_alike() {
        // systemd, TEST-58-REPART, testcase_unaligned: its grain of 4096 bytes is our minimal policy.
        let mut image = Image::blank(10 << 30);
        let entry = |slot, first, sectors| GptEntry {
            slot,
            kind: [1; 16],
            id: [u8::try_from(slot + 1).unwrap(); 16],
            first,
            last: first + sectors - 1,
            ..GptEntry::default()
        };
        let entries = vec![entry(0, 2048, 69_044), entry(1, 71_092, 3_591_848)];
        fixtures::gpt::write(&mut image, &GptSpec { entries, ..GptSpec::default() });
        let request = Request { align: Align::Minimal, ..Request::new(TableKind::Gpt, [Size::Rest]) };
        let layout = Scene::plain(image).beside(&request).unwrap();
        assert_eq!(places(&layout), [(3, 3_662_944, 3_662_944 + 17_308_536 - 1)]);
    }
}
