//! What holds of every table, every corruption of one, every size and every report of a device.
//!
//! The seed is fixed, so a run is the same everywhere. `PROPTEST_RNG_SEED=7 PROPTEST_CASES=20000 cargo test --test
//! properties` looks elsewhere and longer.

mod common;

use align_core::check::{self, Options, PartitionReport, Report};
use align_core::device::{BlockDevice, Disk, FaultDevice, MemoryDevice, Reader};
use align_core::table::{Partition, Table};
use align_core::topology::Reported;
use align_core::units::SectorSize;
use common::stream::Stream;
use common::{Shared, config, layouts};
use fixtures::{GptEntry, GptSpec, Image, Logical, MbrEntry};
use proptest::prelude::*;
use proptest::sample::{Index, select};

fn logical(bytes: u64) -> Reported {
    Reported { logical: Some(bytes), ..Reported::default() }
}

fn bare(report: &Report) -> Vec<Partition> {
    report.partitions.iter().map(|report| report.partition.clone()).collect()
}

/// What other crates write, we read the same.
mod peers {
    use std::collections::BTreeMap;

    use super::layouts::{Placed, Row};
    use super::*;

    fn report(stream: Stream, logical: Option<u64>) -> Report {
        let options = Options { pretend: Reported { logical, ..Reported::default() }, ..Options::default() };
        check::run(&Disk::image("peer.img", stream.device), &options).expect("a disk")
    }

    /// Disks of 8 MiB to 8 TiB, in sectors of both sizes, with a layout on them.
    fn gpt_disk() -> impl Strategy<Value = (u64, u64, Vec<Placed>)> {
        (select(vec![512_u64, 4096]), 23_u32..43).prop_flat_map(|(unit, log)| {
            let size = 1_u64 << log;
            // Both crates put 128 entries of 128 bytes on either side: 32 sectors, or 4 of 4096.
            let array = 128 * 128 / unit;
            layouts::apart(8, 2 + array, size / unit - 2 - array).prop_map(move |placed| (unit, size, placed))
        })
    }

    fn write_with_gpt(unit: u64, size: u64, placed: &[Placed]) -> Stream {
        let partitions: BTreeMap<u32, gpt::partition::Partition> = (1..)
            .zip(placed)
            .map(|(number, placed)| {
                let part_type_guid = gpt::partition_types::Type {
                    guid: uuid::Uuid::from_bytes_le(placed.kind),
                    os: gpt::partition_types::OperatingSystem::None,
                };
                let partition = gpt::partition::Partition {
                    part_type_guid,
                    part_guid: uuid::Uuid::from_bytes_le(placed.id),
                    first_lba: placed.first,
                    last_lba: placed.last,
                    flags: placed.attributes,
                    name: placed.name.clone(),
                };
                (number, partition)
            })
            .collect();
        let lb_size = gpt::disk::LogicalBlockSize::try_from(unit).expect("512 or 4096");
        let config = gpt::GptConfig::new().writable(true).logical_block_size(lb_size);
        let mut disk = config.create_from_device(Stream::new(size), None).expect("a table");
        disk.update_partitions(partitions).expect("the table has room");
        let mut stream = disk.write().expect("the disk takes it");
        let sectors = u32::try_from(size / unit - 1).unwrap_or(u32::MAX);
        let protective = gpt::mbr::ProtectiveMBR::with_lb_size(sectors);
        protective.overwrite_lba0(&mut stream).expect("the disk takes it");
        stream
    }

    fn write_with_gptman(unit: u64, size: u64, placed: &[(u32, Placed)]) -> Stream {
        let mut stream = Stream::new(size);
        let mut table = gptman::GPT::new_from(&mut stream, unit, [0xAB; 16]).expect("a table");
        for (slot, placed) in placed {
            table[slot + 1] = gptman::GPTPartitionEntry {
                partition_type_guid: placed.kind,
                unique_partition_guid: placed.id,
                starting_lba: placed.first,
                ending_lba: placed.last,
                attribute_bits: placed.attributes,
                partition_name: placed.name.as_str().into(),
            };
        }
        table.write_into(&mut stream).expect("the disk takes it");
        gptman::GPT::write_protective_mbr_into(&mut stream, unit).expect("the disk takes it");
        stream
    }

    /// A container on a disk, its logicals, and primaries around it; all EBRs lie below 4 GiB, beyond which mbrman
    /// writes to the wrong place.
    #[derive(Clone, Debug)]
    struct MbrLayout {
        unit: u32,
        primaries: Vec<(u8, u32, u32)>,
        container: Option<(u8, u32, u32)>,
        logicals: Vec<(u8, u32, u32, u32)>,
    }

    /// Type bytes that mean the same to both: mbrman takes C5 and D5 for containers too.
    fn type_byte() -> impl Strategy<Value = u8> {
        any::<u8>().prop_filter("a container, or a GPT", |byte| {
            !matches!(byte, 0 | 0x05 | 0x0F | 0x85 | 0xC5 | 0xD5 | 0xEE)
        })
    }

    fn mbr_layout() -> impl Strategy<Value = MbrLayout> {
        let cell = 1 << 16;
        let part = || (type_byte(), 1_u32..1 << 15, 1_u32..1 << 15);
        let parts = (prop::collection::vec(part(), 0..=3), prop::collection::vec(part(), 0..=6));
        (select(vec![512_u32, 4096]), select(vec![0x05_u8, 0x0F, 0x85]), any::<bool>(), parts).prop_map(
            move |(unit, kind, contained, (primaries, logicals))| {
                // Each partition has a cell of its own, and the container those behind the primaries.
                let place = |index: usize| u32::try_from(index).expect("few") * cell;
                let start = place(primaries.len()) + 2048;
                let inside = |(index, (kind, at, len)): (usize, (u8, u32, u32))| {
                    let ebr = start + place(index);
                    (kind, ebr, ebr + at, len)
                };
                let logicals: Vec<_> = logicals.into_iter().enumerate().map(inside).collect();
                let cells = logicals.len().max(1);
                let primary =
                    |(index, (kind, at, len)): (usize, (u8, u32, u32))| (kind, place(index) + at, len);
                MbrLayout {
                    unit,
                    primaries: primaries.into_iter().enumerate().map(primary).collect(),
                    container: contained.then_some((kind, start, place(cells))),
                    logicals: if contained { logicals } else { Vec::new() },
                }
            },
        )
    }

    fn write_with_mbrman(layout: &MbrLayout) -> Stream {
        let entry = |(sys, starting_lba, sectors)| mbrman::MBRPartitionEntry {
            boot: mbrman::BOOT_INACTIVE,
            first_chs: mbrman::CHS::empty(),
            sys,
            last_chs: mbrman::CHS::empty(),
            starting_lba,
            sectors,
        };
        let mut stream = Stream::new(u64::from(layout.unit) << 20);
        let signature = [0xBC, 0x10, 0xBD, 0x10];
        let mut table = mbrman::MBR::new_from(&mut stream, layout.unit, signature).expect("a table");
        for (number, primary) in (1..).zip(&layout.primaries) {
            table[number] = entry(*primary);
        }
        table.header.partition_4 = layout.container.map_or_else(mbrman::MBRPartitionEntry::empty, entry);
        for (sys, ebr, start, sectors) in &layout.logicals {
            table.logical_partitions.push(mbrman::LogicalPartition {
                partition: entry((*sys, *start, *sectors)),
                absolute_ebr_lba: *ebr,
                ebr_sectors: Some(start + sectors - ebr),
                ebr_first_chs: mbrman::CHS::empty(),
                ebr_last_chs: Some(mbrman::CHS::empty()),
                bootstrap_code: [0; 446],
            });
        }
        table.write_into(&mut stream).expect("the disk takes it");
        if let (Some((_, start, _)), []) = (layout.container, &*layout.logicals) {
            // mbrman leaves a container empty without an EBR; fdisk writes an empty one.
            stream
                .device
                .write_at(u64::from(start) * u64::from(layout.unit) + 510, &[0x55, 0xAA])
                .expect("in place");
        }
        stream
    }

    impl MbrLayout {
        fn rows(&self) -> Vec<Row> {
            let row = |number, kind: u8, start: u32, sectors: u32| {
                let last = u64::from(start) + u64::from(sectors) - 1;
                (number, u64::from(start), last, format!("0x{kind:02x}"), None, None)
            };
            let primaries = (1..)
                .zip(&self.primaries)
                .map(|(number, (kind, start, len))| row(number, *kind, *start, *len));
            let container = self.container.map(|(kind, start, len)| row(4, kind, start, len));
            let logicals = (5..)
                .zip(&self.logicals)
                .map(|(number, (kind, _, start, len))| row(number, *kind, *start, *len));
            primaries.chain(container).chain(logicals).collect()
        }
    }

    proptest! {
        #![proptest_config(config(60))]

        #[test]
        fn what_gpt_writes((unit, size, placed) in gpt_disk(), known in any::<bool>()) {
            let report = report(write_with_gpt(unit, size, &placed), known.then_some(unit));
            // It numbers densely, whatever the numbers were.
            let expected: Vec<Row> = (0..).zip(&placed).map(|(slot, placed)| placed.row(slot)).collect();
            prop_assert_eq!(layouts::rows(&bare(&report)), expected);
            prop_assert_eq!(report.table.sector_size.map(SectorSize::bytes), Some(unit));
            prop_assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
        }

        #[test]
        fn what_gptman_writes((unit, size, placed) in gpt_disk(), slots in layouts::slots(128), known in any::<bool>()) {
            let mut placed: Vec<_> = slots.into_iter().zip(placed).collect();
            let report = report(write_with_gptman(unit, size, &placed), known.then_some(unit));
            placed.sort_by_key(|(slot, _)| *slot);
            let expected: Vec<Row> = placed.iter().map(|(slot, placed)| placed.row(*slot)).collect();
            prop_assert_eq!(layouts::rows(&bare(&report)), expected);
            prop_assert_eq!(report.table.id, Some("ABABABAB-ABAB-ABAB-ABAB-ABABABABABAB".to_owned()));
            prop_assert_eq!(report.table.sector_size.map(SectorSize::bytes), Some(unit));
            prop_assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
        }

        #[test]
        fn what_mbrman_writes(layout in mbr_layout()) {
            let report = report(write_with_mbrman(&layout), Some(layout.unit.into()));
            prop_assert_eq!(layouts::rows(&bare(&report)), layout.rows());
            prop_assert_eq!(report.table.label.map(|label| label.word()), Some("mbr"));
            prop_assert_eq!(report.table.id, Some("0x10bd10bc".to_owned()));
            prop_assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
        }
    }
}

/// What our own builders write, we read the same: they can do more than the other crates.
mod builders {
    use super::layouts::{Placed, Row};
    use super::*;

    const SIZE: u64 = 1 << 30;

    #[derive(Clone, Debug)]
    pub struct GptDisk {
        pub spec: GptSpec,
        placed: Vec<(u32, Placed)>,
    }

    impl GptDisk {
        pub fn image(&self) -> Image {
            let mut image = Image::blank(SIZE);
            fixtures::gpt::write(&mut image, &self.spec);
            image
        }
    }

    /// Tables of every sector and entry size, with the array where it usually is or far behind all partitions.
    pub fn gpt_disk() -> impl Strategy<Value = GptDisk> {
        let unit = select(SectorSize::OF_TABLES.map(SectorSize::bytes).to_vec());
        let shape = (unit, select(vec![128_u32, 256, 512]), 8_u32..=200, any::<bool>(), any::<u16>());
        shape.prop_flat_map(|(unit, entry_size, entry_count, moved, header_size)| {
            let array = (u64::from(entry_count) * u64::from(entry_size)).div_ceil(unit);
            let sectors = SIZE / unit;
            let from = if moved { 2 } else { 2 + array };
            let to = if moved { sectors / 2 - 1 } else { sectors - 2 - array };
            let header_size = 92 + u32::from(header_size) % u32::try_from(unit - 91).expect("small");
            let spec = GptSpec {
                sector_size: unit,
                disk_id: [0xCD; 16],
                entry_count,
                entry_size,
                header_size,
                primary_array: moved.then_some(sectors / 2),
                first_usable: Some(from),
                ..GptSpec::default()
            };
            (layouts::apart(8, from, to), layouts::slots(entry_count)).prop_map(move |(placed, slots)| {
                let placed: Vec<_> = slots.into_iter().zip(placed).collect();
                let entries = placed.iter().map(|(slot, placed)| placed.entry(*slot)).collect();
                GptDisk { spec: GptSpec { entries, ..spec.clone() }, placed }
            })
        })
    }

    #[derive(Clone, Debug)]
    pub struct MbrDisk {
        pub unit: u64,
        pub container: u32,
        pub logicals: Vec<Logical>,
    }

    impl MbrDisk {
        pub fn image(&self) -> Image {
            let mut image = Image::blank(SIZE);
            let entry = MbrEntry { boot: 0, kind: 0x05, start: self.container, sectors: 12 * CELL };
            fixtures::mbr::write(&mut image, self.unit, 1, &[entry]);
            fixtures::mbr::write_chain(&mut image, self.unit, self.container, &self.logicals);
            image
        }
    }

    /// So many sectors each logical has for itself and its EBR.
    const CELL: u32 = 4096;

    /// Chains of up to twelve EBRs that run through the container in any order from its first sector on.
    pub fn mbr_disk() -> impl Strategy<Value = MbrDisk> {
        let order = Just((1..12_u32).collect::<Vec<_>>()).prop_shuffle();
        let parts = prop::collection::vec((any::<u8>(), 1..CELL / 2, 1..CELL / 2), 0..=12);
        (select(vec![512_u64, 4096]), 1_u32..10_000, order, parts).prop_map(
            |(unit, container, order, parts)| {
                let cells = std::iter::once(0).chain(order);
                let logical = |(cell, (kind, at, sectors)): (u32, (u8, u32, u32))| {
                    let ebr = container + cell * CELL;
                    // In an EBR, these types would be links.
                    let kind = if matches!(kind, 0x05 | 0x0F | 0x85) { 0x83 } else { kind };
                    Logical { ebr, kind, start: ebr + at, sectors }
                };
                MbrDisk { unit, container, logicals: cells.zip(parts).map(logical).collect() }
            },
        )
    }

    proptest! {
        #![proptest_config(config(60))]

        #[test]
        fn a_gpt(disk in gpt_disk()) {
            let device = common::memory(&disk.image());
            let table = Table::read(&Reader::new(&device), None).expect("sector 0 can be read");

            let mut placed = disk.placed.clone();
            placed.sort_by_key(|(slot, _)| *slot);
            let expected: Vec<Row> = placed.iter().map(|(slot, placed)| placed.row(*slot)).collect();
            prop_assert_eq!(layouts::rows(&table.partitions), expected);
            prop_assert_eq!(table.sector_size.bytes(), disk.spec.sector_size);
            let gpt = table.gpt.expect("it is a GPT");
            prop_assert!(gpt.primary.is_ok() && gpt.backup.is_ok(), "{:?} {:?}", gpt.primary, gpt.backup);
            let attributes: Vec<u64> = gpt.entries.iter().map(|entry| entry.attributes).collect();
            let expected: Vec<u64> = placed.iter().map(|(_, placed)| placed.attributes).collect();
            prop_assert_eq!(attributes, expected);
            prop_assert!(gpt.entries.iter().all(|entry| entry.raw.len() == disk.spec.entry_size as usize));
        }

        #[test]
        fn an_mbr_with_its_chain_in_any_order(disk in mbr_disk()) {
            let report = common::report_as(&disk.image(), logical(disk.unit));

            let listed = |(number, logical): (u32, &Logical)| {
                let last = u64::from(logical.start) + u64::from(logical.sectors) - 1;
                (number, u64::from(logical.start), last, format!("0x{:02x}", logical.kind), None, None)
            };
            let container = u64::from(disk.container);
            let first: Row = (1, container, container + u64::from(12 * CELL) - 1, "0x05".to_owned(), None, None);
            let expected: Vec<Row> =
                std::iter::once(first).chain((5..).zip(&disk.logicals).map(listed)).collect();
            prop_assert_eq!(layouts::rows(&bare(&report)), expected);
            prop_assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
        }

        #[test]
        fn any_bit_of_a_gpt_costs_one_copy_and_no_partition(
            disk in gpt_disk(),
            backup in any::<bool>(),
            in_header in any::<bool>(),
            place in any::<Index>(),
            bit in 0_u32..8,
        ) {
            let mut image = disk.image();
            let whole = common::report(&image);
            let spec = &disk.spec;
            let array_len = u64::from(spec.entry_count) * u64::from(spec.entry_size);
            let last = SIZE / spec.sector_size - 1;
            let (header, array) = if backup {
                (last, last - array_len.div_ceil(spec.sector_size))
            } else {
                (1, spec.primary_array.unwrap_or(2))
            };
            let (lba, len) = if in_header { (header, spec.header_size.into()) } else { (array, array_len) };
            let len = usize::try_from(len).expect("an array is small");
            let offset = lba * spec.sector_size + place.index(len) as u64;
            let byte = image.get(offset, 1)[0];
            image.put(offset, &[byte ^ (1 << bit)]);
            let report = common::report(&image);

            prop_assert_eq!(bare(&report), bare(&whole));
            prop_assert_eq!(report.table.sector_size.map(SectorSize::bytes), Some(spec.sector_size));
            prop_assert_eq!(report.table.health.word(), "repairable", "{:#?}", report.findings);
            let codes = common::codes(&report);
            prop_assert_eq!(codes.contains(&"gpt-primary-bad"), !backup);
            prop_assert_eq!(codes.contains(&"gpt-backup-bad"), backup);
        }

        #[test]
        fn a_bad_record_hides_what_comes_behind_it_only(disk in mbr_disk(), bad in any::<Index>()) {
            prop_assume!(!disk.logicals.is_empty());
            let mut image = disk.image();
            let whole = common::report_as(&image, logical(disk.unit));
            let bad = bad.index(disk.logicals.len());
            image.put(u64::from(disk.logicals[bad].ebr) * disk.unit + 510, &[0]);
            let report = common::report_as(&image, logical(disk.unit));

            // The container comes first in the list.
            prop_assert_eq!(bare(&report), &bare(&whole)[..1 + bad]);
            prop_assert!(common::codes(&report).contains(&"mbr-ebr-bad"));
            prop_assert_eq!(report.table.health.word(), "damaged");
        }
    }
}

/// What must agree within a report, by arithmetic that has nothing of the library's.
mod consistent {
    use super::*;

    /// Types whose speed does not matter: containers, PReP, OEM utilities, BIOS boot, Microsoft reserved.
    const EXEMPT: [&str; 8] = [
        "0x05",
        "0x0f",
        "0x85",
        "0x41",
        "0xde",
        "21686148-6449-6E6F-744E-656564454649",
        "E3C9E316-0B5C-4DB8-817D-F92DF00215AE",
        "9E1A2D38-C612-4316-AA26-8B49521E5A8B",
    ];
    const STALE: [&str; 2] = ["gpt-backup-misplaced", "gpt-protective-mbr-stale"];
    const REPAIRABLE: [&str; 4] =
        ["gpt-primary-bad", "gpt-backup-bad", "gpt-copies-differ", "gpt-protective-mbr-missing"];
    const DAMAGED: [&str; 9] = [
        "mbr-ebr-loop",
        "mbr-ebr-bad",
        "mbr-ebr-too-many",
        "mbr-ebr-inside-partition",
        "partitions-overlap",
        "partition-beyond-disk",
        "partition-inverted",
        "partition-over-table",
        "table-sector-size-ambiguous",
    ];
    /// Behind each of these, partitions may hide.
    const HIDING: [&str; 6] = [
        "mbr-ebr-loop",
        "mbr-ebr-bad",
        "mbr-ebr-too-many",
        "gpt-primary-bad",
        "gpt-too-many-entries",
        "table-sector-size-ambiguous",
    ];

    pub fn assert(report: &Report) {
        let codes = common::codes(report);
        assert_numbers(report);
        for partition in &report.partitions {
            assert_verdict(report, partition);
            assert_findings(report, partition);
        }
        assert_overlaps(report);
        assert_status(report, &codes);
        assert_eq!(report.table.health.word(), health(&codes), "{:#?}", report.findings);
    }

    fn assert_numbers(report: &Report) {
        let numbers: Vec<u32> = report.partitions.iter().map(|report| report.partition.number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        for finding in &report.findings {
            assert!(finding.partition.is_none_or(|number| numbers.contains(&number)), "{finding:?}");
        }
        if report.table.sector_size.is_none() {
            assert!(numbers.is_empty(), "{numbers:?}");
        }
    }

    /// The unit of the partitions in bytes.
    fn unit(report: &Report) -> i128 {
        report.table.sector_size.map_or(1, |size| size.bytes()).into()
    }

    fn assert_verdict(report: &Report, judged: &PartitionReport) {
        let start = i128::from(judged.partition.first.number()) * unit(report);
        let past = start - i128::from(report.topology.alignment_offset);
        let remainder = past.rem_euclid(report.topology.physical.bytes().into());
        assert_eq!(i128::from(judged.remainder), remainder, "{judged:?}");

        let optimal = report.topology.optimal_grid.is_none_or(|grid| past.rem_euclid(grid.into()) == 0);
        let exempt = judged.partition.type_.code().is_some_and(|code| EXEMPT.contains(&&*code));
        let expected = match (remainder == 0, optimal) {
            (true, true) => "aligned",
            _ if exempt => "exempt",
            (true, false) => "suboptimal",
            (false, _) => "misaligned",
        };
        assert_eq!(judged.verdict.word(), expected, "{judged:?}");
    }

    fn assert_findings(report: &Report, judged: &PartitionReport) {
        let partition = &judged.partition;
        let found = |code: &str| {
            let mine = report.findings.iter().filter(|finding| finding.partition == Some(partition.number));
            mine.filter(|finding| finding.code.word() == code).count() == 1
        };
        let (first, last) = (partition.first.number(), partition.last.number());
        assert_eq!(found("start-off-physical"), judged.verdict.word() == "misaligned", "{judged:?}");
        assert_eq!(found("start-off-optimal"), judged.verdict.word() == "suboptimal", "{judged:?}");
        assert_eq!(found("partition-inverted"), last < first, "{judged:?}");
        let beyond =
            report.size.is_some_and(|size| i128::from(first.max(last)) >= i128::from(size) / unit(report));
        assert_eq!(found("partition-beyond-disk"), beyond, "{judged:?}");
    }

    /// Compares each with each, where the library looks at neighbours.
    fn assert_overlaps(report: &Report) {
        let is_mbr = report.table.label.is_some_and(|label| label.word() == "mbr");
        let considered = report.partitions.iter().map(|judged| &judged.partition).filter(|partition| {
            partition.first <= partition.last && !(is_mbr && partition.first.number() == 0)
        });
        let considered: Vec<&Partition> = considered.collect();
        let overlap = considered.iter().enumerate().any(|(index, one)| {
            considered.iter().take(index).any(|other| {
                let levels = [one.kind.word(), other.kind.word()];
                let nested = levels.contains(&"extended") && levels.contains(&"logical");
                !nested && one.first <= other.last && other.first <= one.last
            })
        });
        let found = common::codes(report).contains(&"partitions-overlap");
        assert_eq!(found, overlap, "{considered:#?}");
    }

    fn assert_status(report: &Report, codes: &[&str]) {
        let has = |verdict| report.partitions.iter().any(|judged| judged.verdict.word() == verdict);
        let hidden = HIDING.iter().any(|code| codes.contains(code)) || report.size.is_none();
        let worst = match report.partitions.as_slice() {
            _ if has("misaligned") => "misaligned",
            _ if has("suboptimal") => "suboptimal",
            [] => "unpartitioned",
            _ => "aligned",
        };
        let unknown = hidden && report.status.word() == "unknown" && !has("misaligned") && !has("suboptimal");
        assert!(unknown || report.status.word() == worst, "{:?}: {:#?}", report.status, report.findings);
    }

    pub fn health(codes: &[&str]) -> &'static str {
        let one_of = |list: &[&str]| list.iter().any(|code| codes.contains(code));
        let both_bad = codes.contains(&"gpt-primary-bad") && codes.contains(&"gpt-backup-bad");
        if both_bad || one_of(&DAMAGED) || codes.contains(&"gpt-too-many-entries") {
            "damaged"
        } else if one_of(&REPAIRABLE) {
            "repairable"
        } else if one_of(&STALE) {
            "stale"
        } else if codes.contains(&"end-not-seen") {
            "unknown"
        } else {
            "ok"
        }
    }
}

/// Whatever happens to a table, the report stays honest and its cost bounded.
mod corruption {
    use std::fmt;
    use std::sync::LazyLock;

    use super::*;

    /// Both windows, 256 EBRs, what partitions hold, and small arrays that were moved out of the windows.
    const MOST_READS: u64 = 2 * 256 + 64;
    const LARGEST_READ: u64 = 1 << 20;

    /// A disk before anything happened to it.
    #[derive(Clone)]
    struct Original {
        name: String,
        image: Image,
        reported: Reported,
    }

    /// What a failure prints: an image as lists of numbers would fill pages.
    impl fmt::Debug for Original {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            writeln!(f, "{} of {} bytes, {:?}", self.name, self.image.size, self.reported)?;
            for (offset, bytes) in self.image.writes.iter().filter(|_| self.name == "built") {
                let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let hex: String = bytes[..used].iter().map(|byte| format!("{byte:02x}")).collect();
                writeln!(f, "  at {offset}: {hex}")?;
            }
            Ok(())
        }
    }

    static ORIGINALS: LazyLock<Vec<Original>> = LazyLock::new(|| {
        let recorded = fixtures::recorded::all().into_iter().flat_map(|recorded| {
            let known = Original {
                name: recorded.name.clone(),
                image: recorded.image(),
                reported: logical(recorded.sector_size),
            };
            [Original { reported: Reported::default(), ..known.clone() }, known]
        });
        let cases = fixtures::cases::check().into_iter().map(|case| Original {
            name: case.id.clone(),
            image: case.image(),
            reported: Reported {
                logical: Some(case.disk.logical),
                physical: Some(case.disk.physical),
                minimum_io: Some(case.disk.minimum_io),
                optimal_io: Some(case.disk.optimal_io),
                alignment_offset: Some(case.disk.alignment_offset),
                rotational: case.disk.rotational,
                rpm: case.disk.rpm,
            },
        });
        recorded.chain(cases).collect()
    });

    fn original() -> impl Strategy<Value = Original> {
        let built =
            |image: Image| Original { name: "built".to_owned(), image, reported: Reported::default() };
        prop_oneof![
            4 => any::<Index>().prop_map(|index| index.get(&ORIGINALS).clone()),
            1 => builders::gpt_disk().prop_map(move |disk| built(disk.image())),
            1 => builders::mbr_disk().prop_map(move |disk| built(disk.image())),
            1 => wild_gpt().prop_map(built),
            2 => wild_mbr().prop_map(built),
        ]
    }

    /// A whole GPT whose entries say anything.
    fn wild_gpt() -> impl Strategy<Value = Image> {
        let lba = || {
            prop_oneof![
                2 => 0_u64..4096,
                1 => select(vec![0, 1, 33, 34, 16350, 16383, 16384, u64::MAX - 1, u64::MAX]),
                1 => any::<u64>(),
            ]
        };
        let entries = prop::collection::btree_map(0_u32..128, (any::<u8>(), lba(), lba()), 0..12);
        entries.prop_map(|entries| {
            let entry = |(slot, (kind, first, last))| GptEntry {
                slot,
                kind: [kind; 16],
                first,
                last,
                ..GptEntry::default()
            };
            let entries = entries.into_iter().map(entry).collect();
            let mut image = Image::blank(8 << 20);
            fixtures::gpt::write(&mut image, &GptSpec { entries, ..GptSpec::default() });
            image
        })
    }

    /// Sectors full of entries, linked in every way that chance finds.
    fn wild_mbr() -> impl Strategy<Value = Image> {
        let kind = select(vec![0x05_u8, 0x0F, 0x85, 0x83, 0x83, 0x07, 0xDE, 0]);
        let number =
            || prop_oneof![6 => 0_u32..40, 2 => 0_u32..16384, 1 => Just(u32::MAX), 1 => any::<u32>()];
        let entry = (kind, number(), number());
        let table = prop::collection::vec(entry, 0..=4);
        prop::collection::btree_map(0_u64..40, table, 1..30).prop_map(|mut tables| {
            let mut image = Image::blank(8 << 20);
            let entries = |table: Vec<(u8, u32, u32)>| -> Vec<MbrEntry> {
                table
                    .into_iter()
                    .map(|(kind, start, sectors)| MbrEntry { boot: 0, kind, start, sectors })
                    .collect()
            };
            let first = tables.remove(&0).unwrap_or_else(|| vec![(0x05, 1, 16000)]);
            fixtures::mbr::write(&mut image, 512, 1, &entries(first));
            for (lba, table) in tables {
                fixtures::mbr::write_raw_ebr(&mut image, 512, lba, &entries(table));
            }
            image
        })
    }

    /// Something that happens to a disk. Places are chosen among the sectors that are not blank.
    #[derive(Clone, Debug)]
    enum Mishap {
        /// Bits change.
        Flip { sector: Index, byte: usize, mask: u8 },
        /// Bytes are overwritten.
        Put { sector: Index, byte: usize, bytes: Vec<u8> },
        /// Sectors are written to another place.
        Splice { from: Index, to: Index, sectors: usize },
        /// A range is cleared.
        Zero { sector: Index, len: usize },
        /// The disk becomes shorter or longer: at a sector, and off it by some bytes.
        Resize { sector: Index, by: i64 },
        /// A field of a GPT header says something else, and the checksum is right again.
        Header { backup: bool, field: (usize, usize), value: u64 },
    }

    fn mishap() -> impl Strategy<Value = Mishap> {
        let sector = any::<Index>;
        let field =
            select(vec![(12, 4), (24, 8), (32, 8), (40, 8), (48, 8), (56, 8), (72, 8), (80, 4), (84, 4)]);
        // Counts from 2^17 to 2^24 would be read to their end on the largest disks, for seconds.
        let value = select(vec![
            0,
            1,
            2,
            3,
            34,
            92,
            127,
            128,
            129,
            256,
            512,
            2048,
            4096,
            1 << 31,
            0xFFFF_FFFF,
            u64::MAX,
        ]);
        prop_oneof![
            4 => (sector(), 0..512_usize, 1_u8..).prop_map(|(sector, byte, mask)| Mishap::Flip { sector, byte, mask }),
            2 => (sector(), 0..512_usize, prop::collection::vec(any::<u8>(), 1..32))
                .prop_map(|(sector, byte, bytes)| Mishap::Put { sector, byte, bytes }),
            3 => (sector(), sector(), 1..40_usize).prop_map(|(from, to, sectors)| Mishap::Splice { from, to, sectors }),
            2 => (sector(), 1..40_960_usize).prop_map(|(sector, len)| Mishap::Zero { sector, len }),
            2 => (sector(), prop_oneof![Just(0), -600_i64..600, -40_960_i64..(16 << 20)])
                .prop_map(|(sector, by)| Mishap::Resize { sector, by }),
            3 => (any::<bool>(), field, value).prop_map(|(backup, field, value)| Mishap::Header { backup, field, value }),
        ]
    }

    impl Original {
        /// The disk after all of these, in order.
        fn after(&self, mishaps: &[Mishap]) -> MemoryDevice {
            let sectors = self.sectors();
            let place = |index: &Index| *index.get(&sectors);
            let resized = mishaps.iter().rev().find_map(|mishap| match mishap {
                Mishap::Resize { sector, by } => Some(place(sector).saturating_add_signed(*by)),
                _ => None,
            });
            let device = MemoryDevice::new(resized.unwrap_or(self.image.size));
            for (offset, bytes) in &self.image.writes {
                put(&device, *offset, bytes);
            }
            for mishap in mishaps {
                match mishap {
                    Mishap::Flip { sector, byte, mask } => {
                        let offset = place(sector) + *byte as u64;
                        let flipped: Vec<u8> =
                            get(&device, offset, 1).iter().map(|byte| byte ^ mask).collect();
                        put(&device, offset, &flipped);
                    }
                    Mishap::Put { sector, byte, bytes } => put(&device, place(sector) + *byte as u64, bytes),
                    Mishap::Splice { from, to, sectors } => {
                        put(&device, place(to), &get(&device, place(from), sectors * 512));
                    }
                    Mishap::Zero { sector, len } => put(&device, place(sector), &vec![0; *len]),
                    Mishap::Resize { .. } => {}
                    Mishap::Header { backup, field, value } => {
                        self.change_header(&device, *backup, *field, *value);
                    }
                }
            }
            device
        }

        /// The 512-byte blocks that something was written to, the first and the last one, and what is behind it.
        fn sectors(&self) -> Vec<u64> {
            let written = self.image.writes.iter().flat_map(|(offset, bytes)| {
                let end = offset + bytes.len() as u64;
                (offset / 512..end.div_ceil(512)).map(|block| block * 512)
            });
            let size = self.image.size;
            let mut sectors: Vec<u64> = written.chain([0, size.saturating_sub(512) & !511, size]).collect();
            sectors.sort_unstable();
            sectors.dedup();
            sectors
        }

        fn change_header(&self, device: &MemoryDevice, backup: bool, (at, len): (usize, usize), value: u64) {
            let signed = |sector: &u64| get(device, *sector, 8) == *b"EFI PART";
            let mut headers: Vec<u64> = self.sectors().into_iter().filter(signed).collect();
            let Some(offset) = (if backup { headers.pop() } else { headers.first().copied() }) else {
                return;
            };
            let mut header = get(device, offset, 4096);
            if header.len() < 512 {
                return;
            }
            header[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
            header[16..20].fill(0);
            let size = u32::from_le_bytes(header[12..16].try_into().expect("four bytes")) as usize;
            let crc = common::Crc::START.bytes(&header[..size.min(header.len())]).finish();
            header[16..20].copy_from_slice(&crc.to_le_bytes());
            put(device, offset, &header);
        }
    }

    /// As many of the bytes as there are.
    fn get(device: &MemoryDevice, offset: u64, len: usize) -> Vec<u8> {
        let left = device.size().map_or(0, |size| size.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(len).min(len)];
        if !bytes.is_empty() {
            device.read_at(offset, &mut bytes).expect("it is on the disk");
        }
        bytes
    }

    /// Writes as many of the bytes as there is room for.
    fn put(device: &MemoryDevice, offset: u64, bytes: &[u8]) {
        let left = device.size().map_or(0, |size| size.saturating_sub(offset));
        let len = usize::try_from(left).unwrap_or(bytes.len()).min(bytes.len());
        if len > 0 {
            device.write_at(offset, &bytes[..len]).expect("it is on the disk");
        }
    }

    fn options(original: &Original) -> Options {
        Options { pretend: original.reported.clone(), physical: None, ..Options::default() }
    }

    /// What was off the grid and is still listed in the same place is off the grid.
    fn assert_no_fault_is_lost(before: &Report, after: &Report) {
        let same_judge = before.table.sector_size == after.table.sector_size
            && before.topology.physical == after.topology.physical;
        if !same_judge {
            return;
        }
        for old in before.partitions.iter().filter(|old| old.verdict.word() == "misaligned") {
            let still = after.partitions.iter().filter(|new| new.partition.first == old.partition.first);
            for new in still {
                assert_ne!(new.verdict.word(), "aligned", "{old:?} {new:?}");
                assert_eq!(new.remainder, old.remainder);
            }
        }
    }

    proptest! {
        #![proptest_config(config(1600))]

        #[test]
        fn a_report_agrees_with_itself_and_its_cost_is_bounded(
            original in original(),
            mishaps in prop::collection::vec(mishap(), 0..4),
        ) {
            let device = Shared::new(FaultDevice::new(original.after(&mishaps)));
            let disk = Disk::image(&original.name, device.clone());
            let Ok(report) = check::run(&disk, &options(&original)) else { return Ok(()) };

            consistent::assert(&report);
            prop_assert!(device.0.reads() <= MOST_READS, "{} reads", device.0.reads());
            prop_assert!(device.0.largest_read() <= LARGEST_READ, "{} bytes at once", device.0.largest_read());
            let whole = Disk::image(&original.name, original.after(&[]));
            if let Ok(before) = check::run(&whole, &options(&original)) {
                assert_no_fault_is_lost(&before, &report);
            }
        }

        #[test]
        fn a_pipe_tells_nothing_else_than_the_image(
            original in original(),
            mishaps in prop::collection::vec(mishap(), 0..2),
        ) {
            let device = original.after(&mishaps);
            let bytes = get(&device, 0, 3 << 20);
            let piped = Disk::stream("-", std::io::Cursor::new(bytes));
            let Ok(report) = check::run(&piped, &options(&original)) else { return Ok(()) };

            consistent::assert(&report);
            prop_assert_eq!(report.size, None);
            prop_assert!(common::codes(&report).contains(&"end-not-seen"));
            prop_assert_ne!(report.table.health.word(), "ok");
        }
    }

    proptest! {
        #![proptest_config(config(12))]

        #[test]
        fn the_exit_code_follows_from_the_report(
            recorded in select(fixtures::recorded::all()),
            mishaps in prop::collection::vec(mishap(), 0..3),
        ) {
            let image = recorded.image();
            let original = Original { name: recorded.name, image, reported: Reported::default() };
            let device = original.after(&mishaps);
            let folder = common::scratch();
            let path = common::file(folder.path(), "disk.img", &snapshot(&device, &original));
            let output = common::alignck().args(["check", "--json"]).arg(&path).output().expect("the command runs");

            let expected = match check::run(&Disk::image("disk.img", device), &Options::default()) {
                Err(_) => 2,
                Ok(report) => match report.table.health.word() {
                    "damaged" | "repairable" => 3,
                    _ if report.status.word() == "misaligned" => 1,
                    _ => 0,
                },
            };
            prop_assert_eq!(output.status.code(), Some(expected), "{:?}", original.name);
        }
    }

    /// The device as an image: a mishap reaches no further than 40 KiB behind a sector that was written to.
    fn snapshot(device: &MemoryDevice, original: &Original) -> Image {
        let mut image = Image::blank(device.size().expect("a disk in memory has a size"));
        for sector in original.sectors() {
            let bytes = get(device, sector, 40_960);
            if !bytes.is_empty() {
                image.put(sector, &bytes);
            }
        }
        image
    }
}

/// Sizes as people write them.
mod sizes {
    use align_core::units::Size;

    use super::*;

    /// What a unit stands for, by hand.
    const UNITS: [(&str, u128); 24] = [
        ("", 1),
        ("B", 1),
        ("K", 1 << 10),
        ("k", 1 << 10),
        ("KiB", 1 << 10),
        ("kiB", 1 << 10),
        ("kB", 1_000),
        ("KB", 1_000),
        ("M", 1 << 20),
        ("m", 1 << 20),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("G", 1 << 30),
        ("g", 1 << 30),
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("T", 1 << 40),
        ("TiB", 1 << 40),
        ("TB", 1_000_000_000_000),
        ("P", 1 << 50),
        ("PiB", 1 << 50),
        ("PB", 1_000_000_000_000_000),
        ("E", 1 << 60),
        ("EB", 1_000_000_000_000_000_000),
    ];

    /// A whole number and a fraction of up to 18 digits, as text and as numerator over a power of ten.
    fn number() -> impl Strategy<Value = (u64, String)> {
        let whole = prop_oneof![0_u64..2000, any::<u64>(), select(vec![15, 16, 17, u64::MAX])];
        (whole, prop_oneof!["[0-9]{0,3}", "[0-9]{0,18}", "9{18}"])
    }

    fn text(whole: u64, fraction: &str, unit: &str) -> String {
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{whole}{point}{fraction}{unit}")
    }

    fn numerator(fraction: &str) -> u128 {
        format!("0{fraction}").parse().expect("at most 19 digits")
    }

    fn scale(fraction: &str) -> u128 {
        10_u128.pow(u32::try_from(fraction.len()).expect("at most 18"))
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn no_text_is_too_strange(text in prop_oneof![".*", "[0-9]{0,45}\\.?[0-9]{0,25} ?[kKMGTPEsiBb%]{0,3}", "-?[0-9.%s]{0,6}"]) {
            match text.parse::<Size>() {
                Ok(size) => prop_assert_eq!(size.to_string().parse(), Ok(size)),
                Err(error) => {
                    prop_assert!(error.to_string().len() < 700);
                    prop_assert!(!error.to_string().contains(char::is_control), "{error:?}");
                }
            }
        }

        #[test]
        fn a_printed_size_is_read_back(number in any::<u64>(), milli in 0_u32..=100_000) {
            for size in [Size::Bytes(number), Size::Sectors(number), Size::MilliPercent(milli), Size::Rest] {
                prop_assert_eq!(size.to_string().parse(), Ok(size));
            }
        }

        #[test]
        fn bytes_are_those_of_exact_arithmetic((whole, fraction) in number(), (unit, factor) in select(UNITS.to_vec())) {
            // Whole and fraction apart, so that neither product leaves 128 bits.
            let part = (numerator(&fraction) * factor).div_ceil(scale(&fraction));
            let expected = u64::try_from(u128::from(whole) * factor + part).ok().map(Size::Bytes);
            prop_assert_eq!(text(whole, &fraction, unit).parse().ok(), expected);
        }

        #[test]
        fn sectors_are_whole_and_percentages_at_most_100((whole, fraction) in number()) {
            let numerator = numerator(&fraction);
            let sectors = (numerator == 0).then_some(Size::Sectors(whole));
            prop_assert_eq!(text(whole, &fraction, "s").parse().ok(), sectors);

            let milli = numerator * 1000 / scale(&fraction) + u128::from(whole) * 1000;
            let exact = (numerator * 1000).is_multiple_of(scale(&fraction)) && milli <= 100_000;
            let percent = exact.then(|| Size::MilliPercent(u32::try_from(milli).expect("at most 100000")));
            prop_assert_eq!(text(whole, &fraction, "%").parse().ok(), percent);
        }

        #[test]
        fn a_larger_number_is_no_smaller_size(
            one in number(),
            other in number(),
            (unit, _) in select(UNITS.to_vec()),
        ) {
            let padded = |(whole, fraction): &(u64, String)| (*whole, format!("{fraction:0<18}"));
            let (small, large) = if padded(&one) <= padded(&other) { (one, other) } else { (other, one) };
            let bytes = |(whole, fraction): &(u64, String)| match text(*whole, fraction, unit).parse() {
                Ok(Size::Bytes(bytes)) => Some(bytes),
                Ok(other) => panic!("{other:?} is no number of bytes"),
                Err(_) => None,
            };
            match (bytes(&small), bytes(&large)) {
                (Some(small), Some(large)) => prop_assert!(small <= large),
                (None, large) => prop_assert_eq!(large, None, "the smaller one does not fit"),
                (Some(_), None) => {}
            }
        }
    }
}

/// Whatever a device says of itself, it is judged by something that can be.
mod topology {
    use align_core::topology::{Basis, Identified, Topology};
    use align_core::units::PhysicalSize;

    use super::*;

    fn size() -> impl Strategy<Value = Option<u64>> {
        let odd = select(vec![
            0,
            1,
            3,
            511,
            513,
            520,
            4160,
            6144,
            33_553_920,
            268_431_360,
            16_773_120,
            4_294_967_295,
        ]);
        let power = (0_u32..64).prop_map(|log| 1_u64 << log);
        let sector = select(vec![512, 4096]);
        let stripe = (1_u64..20_000).prop_map(|blocks| blocks * 4096);
        let full = (14_u32..34, 9_u32..17, any::<bool>())
            .prop_map(|(bits, log, down)| (((1_u64 << bits) - 1) << log) & if down { !4095 } else { !0 });
        prop_oneof![1 => Just(None), 8 => prop_oneof![odd, power, sector, stripe, full, any::<u64>()].prop_map(Some)]
    }

    fn offset() -> impl Strategy<Value = Option<i64>> {
        let sectors = (0_i64..1 << 54).prop_map(|sectors| sectors * 512);
        prop_oneof![Just(None), Just(Some(-1)), sectors.prop_map(Some), any::<i64>().prop_map(Some)]
    }

    fn reported() -> impl Strategy<Value = Reported> {
        let rpm = prop::option::of(prop_oneof![0_u32..3, Just(7200), any::<u32>()]);
        (size(), size(), size(), size(), offset(), any::<Option<bool>>(), rpm).prop_map(
            |(logical, physical, minimum_io, optimal_io, alignment_offset, rotational, rpm)| Reported {
                logical,
                physical,
                minimum_io,
                optimal_io,
                alignment_offset,
                rotational,
                rpm,
            },
        )
    }

    fn capacity() -> impl Strategy<Value = Option<u64>> {
        let limit = select(vec![0, 299_999_999_999, 300_000_000_000, u64::MAX]);
        prop_oneof![
            Just(None),
            limit.prop_map(Some),
            any::<u64>().prop_map(Some),
            (0_u64..1 << 38).prop_map(Some)
        ]
    }

    fn forced() -> impl Strategy<Value = Option<PhysicalSize>> {
        prop::option::weighted(
            0.3,
            (9_u32..=20).prop_map(|log| PhysicalSize::new(1 << log).expect("in range")),
        )
    }

    fn table() -> impl Strategy<Value = Option<SectorSize>> {
        prop::option::of(select(SectorSize::OF_TABLES.to_vec()))
    }

    /// (2^n - 1) blocks of 512 or of a logical sector, n from 15 to 32, exactly or rounded down to the physical one.
    fn is_placeholder(value: u64, topology: &Topology) -> bool {
        (15..=32).any(|bits| {
            [512, topology.logical.bytes()].iter().any(|block| {
                let exact = (2_u64.pow(bits) - 1) * block;
                value == exact || value == exact / topology.physical.bytes() * topology.physical.bytes()
            })
        })
    }

    fn is_credible(value: u64, topology: &Topology) -> bool {
        let whole =
            value.is_multiple_of(topology.logical.bytes()) && value.is_multiple_of(topology.physical.bytes());
        value > 0 && whole && value <= 64 << 20 && !is_placeholder(value, topology)
    }

    fn assert_grid(reported: &Reported, topology: &Topology) {
        let credible = |value: Option<u64>| value.filter(|value| is_credible(*value, topology));
        let minimum = credible(reported.minimum_io).filter(|value| *value > topology.physical.bytes());
        let expected = credible(reported.optimal_io).or(minimum);
        assert_eq!(topology.optimal_grid, expected, "{topology:#?}");
    }

    fn assert_sizes(reported: &Reported, capacity: Option<u64>, topology: &Topology) {
        let (logical, physical) = (topology.logical.bytes(), topology.physical.bytes());
        assert!(logical.is_power_of_two() && (512..=65536).contains(&logical), "{topology:#?}");
        assert!(physical.is_power_of_two() && (logical..=1 << 20).contains(&physical), "{topology:#?}");
        assert!(topology.alignment_offset.is_multiple_of(logical), "{topology:#?}");
        if physical == 512 && topology.physical_basis != Basis::Forced {
            let small = capacity.is_some_and(|capacity| capacity < 300_000_000_000);
            let claimed = (reported.logical, reported.physical) == (Some(512), Some(512));
            assert!(small && claimed && reported.rpm.is_some_and(|rpm| rpm > 1), "{topology:#?}");
        }
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn effective_values_are_possible(
            reported in reported(),
            capacity in capacity(),
            forced in forced(),
            table in table(),
        ) {
            let topology = Topology::judge(&reported, capacity, forced, table);
            assert_sizes(&reported, capacity, &topology);
            assert_grid(&reported, &topology);
            prop_assert_eq!(&topology.reported, &reported);
            if let Some(forced) = forced {
                prop_assert_eq!(topology.physical.bytes(), forced.bytes().max(topology.logical.bytes()));
                prop_assert_eq!(topology.physical_basis, Basis::Forced);
            }
        }

        #[test]
        fn whatever_a_drive_says_the_larger_size_counts_and_the_user_goes_first(
            reported in reported(),
            (drive, offset, forced) in (reported(), offset(), forced()),
            known_physical in prop::option::of(Just(4096)),
            capacity in capacity(),
        ) {
            let identified = Identified {
                logical: drive.logical,
                physical: drive.physical,
                alignment_offset: offset.and_then(|offset| u64::try_from(offset).ok()),
                write_granularity: drive.minimum_io,
                optimal_io: drive.optimal_io,
                rpm: drive.rpm,
                known_physical,
            };
            let topology = Topology::judge_identified(&reported, &identified, capacity, None, None);
            let (logical, physical) = (topology.logical.bytes(), topology.physical.bytes());
            prop_assert!(physical.is_power_of_two() && (logical..=1 << 20).contains(&physical));
            prop_assert!(topology.alignment_offset.is_multiple_of(logical));
            for said in [reported.physical, identified.physical] {
                let possible = said.filter(|size| PhysicalSize::new(*size).is_some() && *size >= logical);
                prop_assert!(possible.is_none_or(|size| physical >= size), "{topology:#?}");
            }
            if reported.alignment_offset.is_some_and(|offset| offset != 0) {
                let kernel = Topology::judge(&reported, capacity, None, None).alignment_offset;
                prop_assert!(topology.alignment_offset == kernel || topology.logical_basis == Basis::Identified);
            }
            for values in topology.contradictions() {
                prop_assert!(values.kernel != values.drive);
            }
            if let Some(forced) = forced {
                let topology =
                    Topology::judge_identified(&reported, &identified, capacity, Some(forced), None);
                prop_assert_eq!(topology.physical.bytes(), forced.bytes().max(logical));
            }
            // What the user says in full leaves nothing to the drive.
            let full = Reported {
                logical: reported.logical.or(Some(512)),
                physical: reported.physical.or(Some(512)),
                minimum_io: reported.minimum_io.or(Some(512)),
                optimal_io: reported.optimal_io.or(Some(0)),
                alignment_offset: reported.alignment_offset.or(Some(0)),
                rotational: None,
                rpm: reported.rpm.or(Some(0)),
            };
            prop_assert_eq!(identified.unless_said(&full), Identified::default());
        }

        #[test]
        fn what_can_be_is_believed(logical_log in 9_u32..=16, more in 0_u32..=11, capacity in capacity()) {
            let logical = 1_u64 << logical_log;
            let physical = (logical << more).min(1 << 20);
            prop_assume!(physical > 512);
            let reported =
                Reported { logical: Some(logical), physical: Some(physical), ..Reported::default() };
            let topology = Topology::judge(&reported, capacity, None, None);
            prop_assert_eq!((topology.logical.bytes(), topology.physical.bytes()), (logical, physical));
            prop_assert_eq!((topology.logical_basis, topology.physical_basis), (Basis::Reported, Basis::Reported));
            prop_assert_eq!((topology.logical_invalid, topology.physical_invalid), (None, None));
        }

        #[test]
        fn a_report_agrees_with_itself_whatever_the_device_says(
            disk in builders::mbr_disk(),
            reported in reported(),
            forced in forced(),
        ) {
            let options = Options { pretend: reported, physical: forced, ..Options::default() };
            let device = Disk::image("test.img", common::memory(&disk.image()));
            // A physical sector smaller than the logical one is refused.
            if let Ok(report) = check::run(&device, &options) {
                consistent::assert(&report);
            }
        }
    }
}
