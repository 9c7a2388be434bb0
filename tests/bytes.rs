//! The bytes that a plan becomes: those that fdisk and sfdisk write for the same partitions, by the MD5 sums of whole
//! images; and, where a table stays, only those that have to change.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use align_core::compose::{self, Arrangement, ComposeError};
use align_core::device::{BlockDevice, MemoryDevice, Reader};
use align_core::patch::Draft;
use align_core::plan::{Align, Grain, GrainReason, Layout, Planned, TableId, TableKind};
use align_core::table::{PartitionKind, PartitionType, Table};
use align_core::units::{Lba, PhysicalSize, SectorSize};
use md5::{Digest, Md5};

fn md5(disk: &MemoryDevice) -> String {
    let mut bytes = vec![0; usize::try_from(disk.size().unwrap()).unwrap()];
    disk.read_at(0, &mut bytes).unwrap();
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn table_of(disk: &MemoryDevice, unit: SectorSize) -> Table {
    Table::read(&Reader::new(disk), Some(unit)).unwrap()
}

/// The table with a partition from one sector to another.
fn place(
    table: &Table,
    number: u32,
    (first, last): (Lba, Lba),
    disk: &MemoryDevice,
) -> Result<Draft, ComposeError> {
    let mut arrangement = Arrangement::default();
    arrangement.place(number, first, last);
    compose::arrange(table, &arrangement, &Reader::new(disk))
}

fn layout(table: TableKind, id: TableId, disk: &MemoryDevice, unit: SectorSize) -> Layout {
    Layout {
        table,
        sector_size: unit,
        disk_sectors: disk.size().unwrap() / unit.bytes(),
        grain: Grain { bytes: 1 << 20, reason: GrainReason::Mebibyte, small_disk: false },
        alignment_offset: 0,
        align: Align::Optimal,
        physical: PhysicalSize::new(4096).unwrap(),
        optimal_grid: None,
        first_usable: Lba::new((1 << 20) / unit.bytes()),
        table_id: Some(id),
        kept: None,
        partitions: Vec::new(),
    }
}

fn planned(number: u32, kind: PartitionKind, (first, last): (u64, u64), type_: PartitionType) -> Planned {
    Planned {
        number,
        kind,
        first: Lba::new(first),
        last: Lba::new(last),
        asked: None,
        type_,
        name: None,
        ebr: None,
        id: None,
        attributes: 0,
    }
}

fn write(draft: &Draft, disk: &MemoryDevice) {
    draft.against(disk).unwrap().write(disk).unwrap();
}

/// A new table with these partitions over whatever is on the disk.
fn write_fresh(layout: &Layout, disk: &MemoryDevice) {
    let old = table_of(disk, layout.sector_size);
    write(&compose::fresh(layout, &old, &Reader::new(disk)).unwrap(), disk);
}

/// These partitions beside those of the disk.
fn write_beside(layout: &Layout, disk: &MemoryDevice) {
    let table = table_of(disk, layout.sector_size);
    write(&compose::add(layout, &table, &Reader::new(disk)).unwrap(), disk);
}

/// The images of util-linux's own test `fdisk/mbr-nondos-mode`: 20 MiB, disk identifier 1.
mod fdisk {
    use super::*;

    const LINUX: PartitionType = PartitionType::Mbr(0x83);

    fn primary(number: u32, first: u64, last: u64) -> Planned {
        planned(number, PartitionKind::Primary, (first, last), LINUX)
    }

    fn container() -> Planned {
        planned(3, PartitionKind::Extended, (12288, 40959), PartitionType::Mbr(0x05))
    }

    fn logical(number: u32, ebr: u64, first: u64) -> Planned {
        let logical = planned(number, PartitionKind::Logical, (first, first + 4095), LINUX);
        Planned { ebr: Some(Lba::new(ebr)), ..logical }
    }

    /// Everything that the test makes, in the order in which it makes it.
    fn all() -> [Planned; 7] {
        [
            primary(1, 2048, 8191),
            primary(2, 8192, 12287),
            container(),
            logical(5, 12288, 14336),
            logical(6, 18432, 20480),
            logical(7, 24576, 26624),
            logical(8, 30720, 32768),
        ]
    }

    /// How many of them are there, and the sum of the image then.
    const STATES: [(usize, &str); 5] = [
        (0, "4e23561dcb81678bb1bd678722c7cbb7"),
        (1, "e21e16b7452d82e2a2810a1de8c3db05"),
        (2, "3e928fabe884f6d4906b4d9335e7c6a3"),
        (3, "eed98bd91ea08e63ab6cd9aa18ce544e"),
        (7, "7fda11a0988bcb4822105c70cf75c1f2"),
    ];

    fn blank() -> MemoryDevice {
        MemoryDevice::new(20 << 20)
    }

    fn with(partitions: &[Planned], disk: &MemoryDevice) -> Layout {
        let empty = layout(TableKind::Mbr, TableId::Mbr(1), disk, SectorSize::B512);
        Layout { partitions: partitions.to_vec(), ..empty }
    }

    #[test]
    fn a_new_table_is_that_of_fdisk_in_every_state() {
        for (count, sum) in STATES {
            let disk = blank();
            write_fresh(&with(&all()[..count], &disk), &disk);
            assert_eq!(md5(&disk), sum, "with {count} partitions");
        }
    }

    #[test]
    fn partitions_that_are_added_one_by_one_come_to_the_same() {
        let disk = blank();
        write_fresh(&with(&[], &disk), &disk);
        for (index, planned) in all().into_iter().enumerate() {
            write_beside(&with(&[planned], &disk), &disk);
            if let Some((count, sum)) = STATES.iter().find(|(count, _)| *count == index + 1) {
                assert_eq!(md5(&disk), *sum, "with {count} partitions");
            }
        }
    }

    #[test]
    fn a_container_and_its_partitions_that_are_added_at_once_come_to_the_same() {
        let disk = blank();
        write_fresh(&with(&all()[..2], &disk), &disk);
        write_beside(&with(&all()[2..], &disk), &disk);
        assert_eq!(md5(&disk), STATES[4].1);
    }

    #[test]
    fn a_logical_partition_in_front_of_another_comes_behind_it_in_the_chain() {
        let disk = blank();
        write_fresh(&with(&all(), &disk), &disk);
        // fdisk deleted all but 26624, whose entry moved to the first record; the others' records stay unlinked.
        let mut image = fixtures::Image::blank(20 << 20);
        let left = fixtures::Logical { ebr: 12288, kind: 0x83, start: 26624, sectors: 4096 };
        fixtures::mbr::write_chain(&mut image, 512, 12288, &[left]);
        for (offset, bytes) in &image.writes {
            disk.write_at(*offset, bytes).unwrap();
        }
        assert_eq!(md5(&disk), "e2b25d19e00bfe88ed44ca4ac9216c39", "the state before it");

        write_beside(&with(&[logical(6, 12289, 14336)], &disk), &disk);
        assert_eq!(md5(&disk), "640065c08c007d78166954475cd08ff8");
    }

    #[test]
    fn addresses_by_cylinder_are_those_that_fdisk_shows() {
        let disk = blank();
        write_fresh(&with(&all()[..3], &disk), &disk);
        let mut entries = [0; 48];
        disk.read_at(446, &mut entries).unwrap();
        // Head, sector with the high bits of the cylinder, cylinder: fdisk shows 0/32/33 to 0/130/2, 0/130/3 to
        // 0/195/3, 0/195/4 to 2/140/10.
        assert_eq!((&entries[1..4], &entries[5..8]), (&[32, 33, 0][..], &[130, 2, 0][..]));
        assert_eq!((&entries[17..20], &entries[21..24]), (&[130, 3, 0][..], &[195, 3, 0][..]));
        assert_eq!((&entries[33..36], &entries[37..40]), (&[195, 4, 0][..], &[140, 10, 2][..]));
    }

    #[test]
    fn the_records_of_4096_byte_sectors_count_as_fdisk_lets_them() {
        // `fdisk -b 4096`: a container from 256 on, +10M twice.
        let disk = MemoryDevice::new(100 << 20);
        let empty = layout(TableKind::Mbr, TableId::Mbr(1), &disk, SectorSize::B4096);
        let logical = |number, ebr, range| Planned {
            ebr: Some(Lba::new(ebr)),
            ..planned(number, PartitionKind::Logical, range, LINUX)
        };
        let container = planned(1, PartitionKind::Extended, (256, 25599), PartitionType::Mbr(0x05));
        let partitions = vec![container, logical(5, 256, (512, 3071)), logical(6, 3072, (3328, 5887))];
        write_fresh(&Layout { partitions, ..empty }, &disk);
        let mut record = [0; 32];
        disk.read_at(256 * 4096 + 446, &mut record).unwrap();
        let numbers: Vec<u32> =
            [8, 12, 24, 28].map(|at| u32::from_le_bytes(record[at..at + 4].try_into().unwrap())).into();
        assert_eq!(numbers, [256, 2560, 2816, 2816]);
    }
}

/// The image of 10 MiB that sfdisk writes for these partitions, and the same layout in sectors of 4096 bytes.
mod sfdisk {
    use super::*;

    fn guid(text: &str) -> PartitionType {
        PartitionType::from_code(text)
    }

    fn esp(unit: u64) -> Planned {
        let range = ((1 << 20) / unit, (2 << 20) / unit - 1);
        Planned {
            name: Some("ESP".into()),
            id: Some("AAAAAAAA-0000-0000-0000-000000000001".parse().unwrap()),
            ..planned(1, PartitionKind::Primary, range, guid("C12A7328-F81F-11D2-BA4B-00A0C93EC93B"))
        }
    }

    fn root(unit: u64) -> Planned {
        let range = ((2 << 20) / unit, (9 << 20) / unit - 1);
        Planned {
            name: Some("root".into()),
            id: Some("AAAAAAAA-0000-0000-0000-000000000002".parse().unwrap()),
            attributes: 1 << 59,
            ..planned(2, PartitionKind::Primary, range, guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4"))
        }
    }

    fn with(partitions: Vec<Planned>, disk: &MemoryDevice, unit: SectorSize) -> Layout {
        let id = TableId::Gpt("11111111-2222-3333-4444-555555555555".parse().unwrap());
        Layout { partitions, ..layout(TableKind::Gpt, id, disk, unit) }
    }

    const SUMS: [(SectorSize, &str); 2] = [
        (SectorSize::B512, "33d5b8882c65bd308a94efe6b639d028"),
        (SectorSize::B4096, "483763c9941c62501e97efe76a80b7ee"),
    ];

    #[test]
    fn a_new_gpt_is_that_of_sfdisk() {
        for (unit, sum) in SUMS {
            let disk = MemoryDevice::new(10 << 20);
            write_fresh(&with(vec![esp(unit.bytes()), root(unit.bytes())], &disk, unit), &disk);
            assert_eq!(md5(&disk), sum, "in sectors of {unit} bytes");
        }
    }

    #[test]
    fn partitions_that_are_added_in_any_order_come_to_the_same() {
        for (unit, sum) in SUMS {
            let disk = MemoryDevice::new(10 << 20);
            write_fresh(&with(Vec::new(), &disk, unit), &disk);
            write_beside(&with(vec![root(unit.bytes())], &disk, unit), &disk);
            write_beside(&with(vec![esp(unit.bytes())], &disk, unit), &disk);
            assert_eq!(md5(&disk), sum, "in sectors of {unit} bytes");
        }
    }
}

/// On a disk full of bytes that nobody takes for anything: whoever lost a table writes it again, and finds what was in
/// its partitions.
mod regained {
    use super::*;

    const SIZE: u64 = 4 << 20;
    const DATA: u8 = 0xA5;

    #[test]
    fn a_new_table_writes_its_own_sectors_and_no_others() {
        let gpt = TableId::Gpt("0F0E0D0C-0B0A-4908-8706-050403020100".parse().unwrap());
        for unit in [SectorSize::B512, SectorSize::B4096] {
            let (sector, array) = (unit.bytes(), 128 * 128);
            // What is written begins and ends with these bytes, and the next one is data.
            for (kind, id, type_, front, back) in [
                (TableKind::Mbr, TableId::Mbr(1), "0x83", sector, 0),
                (
                    TableKind::Gpt,
                    gpt,
                    "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
                    2 * sector + array,
                    array + sector,
                ),
            ] {
                let disk = MemoryDevice::from_bytes(&vec![DATA; usize::try_from(SIZE).unwrap()]);
                let range = ((1 << 20) / sector, (SIZE - back) / sector - 1);
                let whole = planned(1, PartitionKind::Primary, range, PartitionType::from_code(type_));
                write_fresh(&Layout { partitions: vec![whole], ..layout(kind, id, &disk, unit) }, &disk);

                let mut kept = vec![0; usize::try_from(SIZE - front - back).unwrap()];
                disk.read_at(front, &mut kept).unwrap();
                let lost = kept.iter().position(|byte| *byte != DATA).map(|at| front + at as u64);
                assert_eq!(lost, None, "{} in sectors of {unit}", kind.name());
            }
        }
    }

    #[test]
    fn of_what_is_cleared_only_the_marks_go() {
        const START: u64 = 1 << 20;
        // What each writes (`include/uapi/linux/raid/md_p.h`, mdadm's `super-intel.h`, mkswap) over all of a disk, and
        // in its partition.
        let marks: [(u64, &[u8]); 5] = [
            (SIZE - 0x1_0000, b"\xFC\x4E\x2B\xA9\0\0\0\0"),
            (SIZE - 0x2000, b"\xFC\x4E\x2B\xA9\x01\0\0\0"),
            (SIZE - 1024, b"Intel Raid ISM Cfg Sig. "),
            (4086, b"SWAPSPACE2"),
            (START + 4086, b"SWAPSPACE2"),
        ];
        let mut expected = vec![DATA; usize::try_from(SIZE).unwrap()];
        let disk = MemoryDevice::from_bytes(&expected);
        for (at, mark) in marks {
            disk.write_at(at, mark).unwrap();
            expected[usize::try_from(at).unwrap()..][..mark.len()].fill(0);
        }
        let range = (START / 512, SIZE / 512 - 1);
        let whole = planned(1, PartitionKind::Primary, range, PartitionType::Mbr(0x83));
        let empty = layout(TableKind::Mbr, TableId::Mbr(1), &disk, SectorSize::B512);
        let layout = Layout { partitions: vec![whole], ..empty };
        let old = table_of(&disk, SectorSize::B512);
        let mut draft = compose::fresh(&layout, &old, &Reader::new(&disk)).unwrap();
        compose::wipe(&mut draft, &layout, &Reader::new(&disk)).unwrap();
        write(&draft, &disk);

        let mut found = vec![0; expected.len()];
        disk.read_at(0, &mut found).unwrap();
        let differs = (512..expected.len()).find(|at| found[*at] != expected[*at]);
        assert_eq!(differs, None, "the first byte behind sector 0");
    }
}

/// What changes in a table that stays.
mod lossless {
    use std::collections::BTreeSet;
    use std::ops::Range;

    use super::*;
    use fixtures::{GptEntry, GptSpec, Image, MbrEntry, Recorded};

    const STEP: usize = 4096;

    /// The bytes that differ between the image and the disk.
    fn changed(image: &Image, disk: &MemoryDevice) -> BTreeSet<u64> {
        let before = common::memory(image);
        let (mut old, mut new) = (vec![0; STEP], vec![0; STEP]);
        let mut changed = BTreeSet::new();
        for at in (0..image.size).step_by(STEP) {
            let len = STEP.min(usize::try_from(image.size - at).unwrap());
            before.read_at(at, &mut old[..len]).unwrap();
            disk.read_at(at, &mut new[..len]).unwrap();
            // Comparing slices is far quicker than looking at every byte.
            if old[..len] != new[..len] {
                let pairs = old[..len].iter().zip(&new[..len]).zip(at..);
                changed.extend(pairs.filter(|((old, new), _)| old != new).map(|(_, at)| at));
            }
        }
        changed
    }

    /// Fails when a byte changed outside of these ranges; their names are for the reader.
    fn assert_only(changed: &BTreeSet<u64>, allowed: &[(&str, Range<u64>)], name: &str) {
        assert!(!changed.is_empty(), "{name}: nothing changed");
        let elsewhere = changed.iter().find(|byte| !allowed.iter().any(|(_, range)| range.contains(byte)));
        assert_eq!(elsewhere, None, "{name}: a byte outside of {allowed:?}");
    }

    /// The checksums of both headers and of the array in both.
    fn checksums(table: &Table) -> Vec<(&'static str, Range<u64>)> {
        let gpt = table.gpt.as_ref().unwrap();
        let of = |lba: Lba| {
            let header = lba.checked_byte(table.sector_size).unwrap();
            [("header CRC", header + 16..header + 20), ("array CRC", header + 88..header + 92)]
        };
        let headers = [&gpt.primary, &gpt.backup].map(|header| header.as_ref().unwrap().my_lba);
        headers.into_iter().flat_map(of).collect()
    }

    /// Some bytes of an entry in both arrays.
    fn entry(
        table: &Table,
        number: u32,
        name: &'static str,
        bytes: Range<u64>,
    ) -> Vec<(&'static str, Range<u64>)> {
        let gpt = table.gpt.as_ref().unwrap();
        let headers = [&gpt.primary, &gpt.backup].map(|header| header.as_ref().unwrap());
        let at = headers.map(|header| {
            let array = header.array.checked_byte(table.sector_size).unwrap();
            array + u64::from(number - 1) * u64::from(header.entry_size)
        });
        at.into_iter().map(|at| (name, at + bytes.start..at + bytes.end)).collect()
    }

    fn unit_of(recorded: &Recorded) -> SectorSize {
        SectorSize::new(recorded.sector_size).unwrap()
    }

    /// Recorded tables whose copies are where they belong, with partitions in them.
    fn recorded(label: &str) -> Vec<Recorded> {
        let all = fixtures::recorded::all().into_iter();
        let wanted = all.filter(|recorded| {
            recorded.name.contains(label)
                && !recorded.listing.is_empty()
                && recorded.name != "sfdisk-gpt-grown"
        });
        wanted.collect()
    }

    /// A GPT with everything that a tool could lose: boot code, a disk signature, a hybrid entry, a header of 128 bytes
    /// with something in its reserved end, entries of 256 bytes in no order, attributes, half a surrogate pair in a
    /// name, and an array that was moved.
    fn odd_gpt() -> Image {
        let entry = |slot, first, last, attributes, name: &str| GptEntry {
            slot,
            kind: fixtures::guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4"),
            id: [u8::try_from(slot + 1).unwrap(); 16],
            first,
            last,
            attributes,
            name: name.into(),
        };
        let spec = GptSpec {
            disk_id: [0xD1; 16],
            entry_count: 60,
            entry_size: 256,
            header_size: 128,
            primary_array: Some(1000),
            first_usable: Some(1500),
            entries: vec![
                entry(7, 2048, 4095, 1 << 63 | 4, "ends in half a pair "),
                entry(2, 10_000, 12_001, 0, "in front of it"),
            ],
            ..GptSpec::default()
        };
        let mut image = Image::blank(10 << 20);
        fixtures::gpt::write(&mut image, &spec);
        image.put(0, &[0xFA; 440]).put(440, &[1, 2, 3, 4]);
        // The second entry of a hybrid is partition 8.
        image.put(462, &[0x80, 32, 33, 0, 0x83, 65, 1, 0, 0, 8, 0, 0, 0, 8, 0, 0]);
        let sectors = image.size / 512;
        let name_end = 7 * 256 + 56 + 38;
        let mut array = image.get(1000 * 512, 60 * 256);
        array[name_end..name_end + 2].copy_from_slice(&[0x00, 0xD8]);
        array[7 * 256 + 128..8 * 256].fill(0xE7);
        let crc = crc32fast::hash(&array);
        for (header, at) in [(1, 1000), (sectors - 1, sectors - 1 - 30)] {
            let mut sector = image.get(header * 512, 512);
            sector[88..92].copy_from_slice(&crc.to_le_bytes());
            sector[92..128].fill(0x92);
            sector[300..310].fill(0x30);
            sector[16..20].fill(0);
            let crc = crc32fast::hash(&sector[..128]);
            sector[16..20].copy_from_slice(&crc.to_le_bytes());
            image.put(header * 512, &sector).put(at * 512, &array);
        }
        image
    }

    /// The recorded tables and the odd one, each with its name and its unit.
    fn gpts() -> impl Iterator<Item = (String, SectorSize, Image)> {
        let recorded = recorded("gpt").into_iter().filter(|recorded| recorded.name != "sfdisk-mbr-over-gpt");
        let images = recorded.map(|recorded| (recorded.name.clone(), unit_of(&recorded), recorded.image()));
        images.chain([("odd".to_owned(), SectorSize::B512, odd_gpt())])
    }

    #[test]
    fn the_odd_gpt_is_whole() {
        let report = common::report(&odd_gpt());
        assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
        assert_eq!(report.partitions[1].partition.name.as_deref(), Some("ends in half a pair\u{FFFD}"));
    }

    #[test]
    fn a_gpt_entry_that_is_placed_changes_its_two_numbers_and_the_checksums() {
        let mut compared = 0;
        for (name, unit, image) in gpts() {
            let disk = common::memory(&image);
            let table = table_of(&disk, unit);
            for partition in &table.partitions {
                let disk = common::memory(&image);
                let first = partition.first.checked_add(1).unwrap();
                let last = partition.last.checked_add(1).unwrap();
                write(&place(&table, partition.number, (first, last), &disk).unwrap(), &disk);

                let numbers = entry(&table, partition.number, "first and last", 32..48);
                assert_only(&changed(&image, &disk), &[checksums(&table), numbers].concat(), &name);
                let placed = table_of(&disk, unit);
                assert_eq!(placed.partition(partition.number).unwrap().first, first, "{name}");
                compared += 1;
            }
        }
        assert!(compared >= 20, "only {compared} partitions");
    }

    #[test]
    fn a_gpt_entry_that_is_added_fills_its_slot_and_changes_the_checksums() {
        let mut compared = 0;
        for (name, unit, image) in gpts() {
            let disk = common::memory(&image);
            let table = table_of(&disk, unit);
            let header = table.gpt.as_ref().unwrap().header().unwrap();
            let free = (1..=header.entry_count).find(|number| table.partition(*number).is_none());
            let Some(number) = free else { continue };
            let id = TableId::Gpt(header.disk_id);
            let type_ = PartitionType::from_code("0FC63DAF-8483-4772-8E79-3D69D8477DE4");
            let range = (header.last_usable.number() - 7, header.last_usable.number());
            let added = Planned {
                id: Some("AAAAAAAA-0000-0000-0000-00000000000A".parse().unwrap()),
                ..planned(number, PartitionKind::Primary, range, type_)
            };
            write_beside(
                &Layout { partitions: vec![added], ..layout(TableKind::Gpt, id, &disk, unit) },
                &disk,
            );

            let slot = entry(&table, number, "the slot", 0..128);
            assert_only(&changed(&image, &disk), &[checksums(&table), slot].concat(), &name);
            assert_eq!(table_of(&disk, unit).partition(number).unwrap().first.number(), range.0, "{name}");
            compared += 1;
        }
        assert!(compared >= 8, "only {compared} tables");
    }

    #[test]
    fn a_backup_that_goes_to_the_end_leaves_the_rest_as_it_was() {
        let recorded = fixtures::recorded::named("sfdisk-gpt-grown");
        let image = recorded.image();
        let disk = common::memory(&image);
        let table = table_of(&disk, SectorSize::B512);
        let partition = table.partitions[0].clone();
        let last = partition.last.checked_sub(8).unwrap();
        write(&place(&table, partition.number, (partition.first, last), &disk).unwrap(), &disk);

        let sectors = image.size / 512;
        let old = table.gpt.as_ref().unwrap().backup.as_ref().unwrap().my_lba.number();
        let allowed = [
            ("sectors that are protected", 446 + 12..446 + 16),
            ("header CRC", 512 + 16..512 + 20),
            ("where the backup is", 512 + 32..512 + 40),
            ("the last usable sector", 512 + 48..512 + 56),
            ("array CRC", 512 + 88..512 + 92),
            ("last sector", 1024 + 40..1024 + 48),
            ("the old backup's header", old * 512..(old + 1) * 512),
            ("the new backup", (sectors - 33) * 512..sectors * 512),
        ];
        assert_only(&changed(&image, &disk), &allowed, "grown");
        let report = common::report(&{
            let mut after = Image::blank(image.size);
            let mut bytes = vec![0; usize::try_from(image.size).unwrap()];
            disk.read_at(0, &mut bytes).unwrap();
            after.put(0, &bytes);
            after
        });
        assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
    }

    /// Where the fields of a placed partition are: in its own entry, and of a logical one in the link to it.
    fn fields_of(table: &Table, number: u32) -> Vec<(&'static str, Range<u64>)> {
        let mbr = table.mbr.as_ref().unwrap();
        let fields = |sector: u64, slot: usize| {
            let at = sector + 446 + 16 * slot as u64;
            [("CHS of the start", at + 1..at + 4), ("CHS of the end, start, sectors", at + 5..at + 16)]
        };
        if number <= 4 {
            return fields(0, number as usize - 1).into();
        }
        let byte = |lba: Lba| lba.checked_byte(table.sector_size).unwrap();
        let ebrs: Vec<_> = mbr.chains.iter().flat_map(|chain| &chain.ebrs).collect();
        let first = table.partition(number).unwrap().first;
        let own = ebrs.iter().find(|ebr| ebr.logicals().any(|logical| logical.first == first)).unwrap();
        let slot = own.logicals().next().unwrap().slot;
        let before = ebrs.iter().find(|ebr| ebr.link().is_some_and(|link| link.lba == own.lba));
        // Of a link only the end changes.
        let link = before.map(|before| {
            let at = byte(before.lba) + 462;
            [("CHS of the link's end", at + 5..at + 8), ("sectors of the link", at + 12..at + 16)]
        });
        fields(byte(own.lba), slot).into_iter().chain(link.into_iter().flatten()).collect()
    }

    #[test]
    fn an_mbr_entry_that_is_placed_changes_its_numbers_and_the_link_to_it() {
        let mut compared = 0;
        for recorded in [recorded("mbr"), recorded("isohybrid")].concat() {
            let (name, unit, image) = (&recorded.name, unit_of(&recorded), recorded.image());
            let table = table_of(&common::memory(&image), unit);
            let kinds = [PartitionKind::Primary, PartitionKind::Logical];
            for partition in table.partitions.iter().filter(|partition| kinds.contains(&partition.kind)) {
                let disk = common::memory(&image);
                let first = partition.first.checked_add(1).unwrap();
                let last = partition.last.checked_sub(1).unwrap();
                write(&place(&table, partition.number, (first, last), &disk).unwrap(), &disk);

                assert_only(&changed(&image, &disk), &fields_of(&table, partition.number), name);
                let placed = table_of(&disk, unit);
                let found = placed.partition(partition.number).unwrap();
                assert_eq!((found.first, found.last), (first, last), "{name}");
                assert_eq!(placed.partitions.len(), table.partitions.len(), "{name}");
                compared += 1;
            }
        }
        assert!(compared >= 20, "only {compared} partitions");
    }

    #[test]
    fn an_end_that_stays_keeps_the_address_that_another_geometry_gave_it() {
        // parted counts 4 heads and 32 sectors on an image: sector 2048 is 16/0/1, 4095 is 31/3/32.
        let mut image = Image::blank(10 << 20);
        fixtures::mbr::write(
            &mut image,
            512,
            1,
            &[MbrEntry { boot: 0x80, kind: 7, start: 2048, sectors: 2048 }],
        );
        image.put(447, &[0, 1, 16]).put(451, &[3, 32, 31]);
        let disk = common::memory(&image);
        let table = table_of(&disk, SectorSize::B512);
        write(&place(&table, 1, (Lba::new(2048), Lba::new(8191)), &disk).unwrap(), &disk);
        let mut entry = [0; 16];
        disk.read_at(446, &mut entry).unwrap();
        assert_eq!(entry, [0x80, 0, 1, 16, 7, 130, 2, 0, 0, 8, 0, 0, 0, 24, 0, 0]);
    }

    #[test]
    fn a_container_grows_and_does_not_move() {
        let recorded = fixtures::recorded::named("sfdisk-mbr-logicals");
        let image = recorded.image();
        let disk = common::memory(&image);
        let table = table_of(&disk, SectorSize::B512);
        let container =
            table.partitions.iter().find(|partition| partition.kind == PartitionKind::Extended).unwrap();
        let place = |first: Lba, last: Lba| place(&table, container.number, (first, last), &disk);
        let moved = place(container.first.checked_sub(1).unwrap(), container.last).unwrap_err();
        assert!(moved.to_string().contains("count from its start, which stays"), "{moved}");

        let shorter = container.last.checked_sub(1).unwrap();
        write(&place(container.first, shorter).unwrap(), &disk);
        let slot = u64::from(container.number - 1) * 16 + 446;
        let end = [("CHS of the end", slot + 5..slot + 8), ("sectors", slot + 12..slot + 16)];
        assert_only(&changed(&image, &disk), &end, "the container");
        assert_eq!(table_of(&disk, SectorSize::B512).partitions.len(), table.partitions.len());
    }

    #[test]
    fn a_logical_partition_that_is_added_changes_one_link() {
        let mut compared = 0;
        for recorded in recorded("mbr") {
            let (name, unit, image) = (&recorded.name, unit_of(&recorded), recorded.image());
            let disk = common::memory(&image);
            let table = table_of(&disk, unit);
            let chains = &table.mbr.as_ref().unwrap().chains;
            let Some(chain) = chains.first() else { continue };
            let container = table.partition(chain.container).unwrap();
            let is_empty = chain.ebrs.len() == 1 && chain.ebrs[0].logicals().next().is_none();
            let logicals =
                table.partitions.iter().filter(|partition| partition.kind == PartitionKind::Logical);
            let number = 5 + u32::try_from(logicals.count()).unwrap();
            let last = container.last.number();
            let ebr = if is_empty { container.first.number() } else { last - 16 };
            let added = Planned {
                ebr: Some(Lba::new(ebr)),
                ..planned(number, PartitionKind::Logical, (last - 7, last), PartitionType::Mbr(0x83))
            };
            write_beside(
                &Layout { partitions: vec![added], ..layout(TableKind::Mbr, TableId::Mbr(1), &disk, unit) },
                &disk,
            );

            let tail = chain.ebrs.last().unwrap().lba.checked_byte(unit).unwrap();
            let record = ebr * unit.bytes();
            let allowed = match is_empty {
                true => vec![("the entry", record + 446..record + 462)],
                false => vec![("the link", tail + 462..tail + 478), ("the record", record..record + 512)],
            };
            assert_only(&changed(&image, &disk), &allowed, name);
            let found = table_of(&disk, unit);
            assert_eq!(found.partition(number).unwrap().last.number(), last, "{name}");
            assert_eq!(found.partitions[..table.partitions.len()], table.partitions, "{name}");
            compared += 1;
        }
        assert!(compared >= 6, "only {compared} chains");
    }

    #[test]
    fn a_primary_partition_that_is_added_fills_its_entry() {
        let mut compared = 0;
        for recorded in [recorded("mbr"), recorded("isohybrid")].concat() {
            let (name, unit, image) = (&recorded.name, unit_of(&recorded), recorded.image());
            let disk = common::memory(&image);
            let table = table_of(&disk, unit);
            let Some(number) = (1..=4).find(|number| table.partition(*number).is_none()) else { continue };
            let last = image.size / unit.bytes() - 1;
            let added = planned(number, PartitionKind::Primary, (last - 7, last), PartitionType::Mbr(0x83));
            write_beside(
                &Layout { partitions: vec![added], ..layout(TableKind::Mbr, TableId::Mbr(1), &disk, unit) },
                &disk,
            );

            let slot = 446 + 16 * u64::from(number - 1);
            assert_only(&changed(&image, &disk), &[("the entry", slot..slot + 16)], name);
            compared += 1;
        }
        assert!(compared >= 6, "only {compared} tables");
    }
}
