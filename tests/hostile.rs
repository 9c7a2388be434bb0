//! Tables that are broken by accident or on purpose. Each has a right answer, and a bound of what it may cost.

mod common;

use std::io::Cursor;

use align_core::check::{self, Options, Report, Severity};
use align_core::device::{BlockDevice, Disk, FaultDevice, MemoryDevice, ReadError};
use align_core::topology::Reported;
use fixtures::{GptEntry, GptSpec, HeaderFields, Image, Logical, MbrEntry, gpt, guid, mbr};

/// The size of most disks here: 20480 sectors of 512 bytes.
const DISK: u64 = 10 << 20;
/// Their last sector, where a backup GPT is.
const LAST: u64 = DISK / 512 - 1;
/// As much as is read at once, however large an array claims to be.
const STEP: u64 = 1 << 20;
/// What a table of usual size may cost: its head, its tail, and a look at what partitions hold.
const USUAL_BYTES: u64 = 512 << 10;

/// Both partitions of [`gpt_image`].
const TWO: &[(u32, u64, u64)] = &[(1, 2048, 4095), (2, 4096, 8191)];

/// A number, a first and a last sector.
type Listed = (u32, u64, u64);

// What follows is the part of each test that says what is right.

/// `findings` are the codes from warnings on, each once, in alphabetical order.
#[track_caller]
fn assert_table(report: &Report, label: &str, health: &str, partitions: &[Listed], findings: &[&str]) {
    let found: Vec<Listed> = report
        .partitions
        .iter()
        .map(|report| {
            (report.partition.number, report.partition.first.number(), report.partition.last.number())
        })
        .collect();
    assert_eq!(report.table.label.map(|label| label.word()), Some(label), "{:#?}", report.findings);
    assert_eq!(found, partitions, "{:#?}", report.findings);
    assert_eq!(severe(report), findings, "{:#?}", report.findings);
    assert_eq!(report.table.health.word(), health, "{:#?}", report.findings);
}

fn severe(report: &Report) -> Vec<&'static str> {
    let severe = report.findings.iter().filter(|finding| finding.severity() >= Severity::Warning);
    let mut codes: Vec<_> = severe.map(|finding| finding.code.word()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Both copies of the GPT are bad: nothing of it is known.
#[track_caller]
fn assert_lost(report: &Report) {
    assert_table(report, "gpt", "damaged", &[], &["gpt-backup-bad", "gpt-primary-bad"]);
    assert_eq!(report.status.word(), "unknown");
}

fn refusal(device: impl BlockDevice + 'static) -> String {
    check::run(&Disk::image("test.img", device), &Options::default()).expect_err("no disk").to_string()
}

fn logical(bytes: u64) -> Reported {
    Reported { logical: Some(bytes), ..Reported::default() }
}

// And this is the part that makes the disks.

fn linux(slot: u32, first: u64, last: u64) -> GptEntry {
    GptEntry {
        slot,
        kind: guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4"),
        id: guid(&format!("5A3F0B52-7C1E-4D0A-9B7E-{slot:012X}")),
        first,
        last,
        ..GptEntry::default()
    }
}

/// Two partitions that are right in every way: what is wrong with a disk is what a test did to it.
fn two_partitions() -> GptSpec {
    GptSpec { entries: vec![linux(0, 2048, 4095), linux(1, 4096, 8191)], ..GptSpec::default() }
}

fn gpt_image(spec: &GptSpec) -> Image {
    let mut image = Image::blank(DISK);
    gpt::write(&mut image, spec);
    image
}

fn gpt_with(entries: Vec<GptEntry>) -> Image {
    gpt_image(&GptSpec { entries, ..GptSpec::default() })
}

/// Changes fields of the header at `lba` in sectors of 512 bytes, and makes its checksum right again.
fn change_header(image: &mut Image, lba: u64, change: impl Fn(&mut HeaderFields)) {
    let sector = image.get(lba * 512, 92);
    let word = |at: usize| u32::from_le_bytes(sector[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight bytes"));
    let mut fields = HeaderFields {
        header_size: word(12),
        my_lba: long(24),
        alternate_lba: long(32),
        first_usable: long(40),
        last_usable: long(48),
        disk_id: sector[56..72].try_into().expect("sixteen bytes"),
        array_lba: long(72),
        entry_count: word(80),
        entry_size: word(84),
        array_crc: word(88),
        ..HeaderFields::default()
    };
    change(&mut fields);
    image.put(lba * 512, &gpt::header_bytes(&fields, 512));
}

fn change_both_headers(image: &mut Image, change: impl Fn(&mut HeaderFields)) {
    change_header(image, 1, &change);
    change_header(image, LAST, &change);
}

/// The same bytes on a disk of another size: what lies beyond its end is cut off.
fn resized(image: &Image, size: u64) -> Image {
    let mut other = Image::blank(size);
    for (offset, bytes) in image.writes.iter().filter(|(offset, _)| *offset < size) {
        let left = usize::try_from(size - offset).unwrap_or(usize::MAX).min(bytes.len());
        other.put(*offset, &bytes[..left]);
    }
    other
}

fn entry(kind: u8, start: u32, sectors: u32) -> MbrEntry {
    MbrEntry { boot: 0, kind, start, sectors }
}

fn mbr_image(entries: &[MbrEntry]) -> Image {
    let mut image = Image::blank(DISK);
    mbr::write(&mut image, 512, 0x10bd_10bc, entries);
    image
}

/// A primary at sectors 2048 to 4095 and a container from there to the end; its chain is yet to be written.
fn mbr_with_container() -> Image {
    mbr_image(&[entry(0x83, 2048, 2048), entry(0x05, 4096, 16384)])
}

/// The partitions of such a disk, with these logicals.
fn with_container(logicals: &[Listed]) -> Vec<Listed> {
    [&[(1, 2048, 4095), (2, 4096, 20479)], logicals].concat()
}

/// The front of an ext4 file system, as far as it is recognised.
fn ext4() -> Vec<u8> {
    let mut front = vec![0; 2048];
    front[1024] = 16; // inodes
    front[1028] = 64; // blocks
    front[1024 + 0x38..1024 + 0x3A].copy_from_slice(b"\x53\xEF");
    front[1024 + 0x60] = 0x40; // extents
    front
}

/// A boot sector of NTFS, as far as it is recognised.
fn ntfs() -> Vec<u8> {
    let mut sector = vec![0; 512];
    sector[..11].copy_from_slice(b"\xEB\x52\x90NTFS    ");
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

mod gpt_headers {
    use super::*;

    #[test]
    fn an_absurd_number_of_entries_costs_no_memory() {
        for count in [u32::MAX, 1 << 30] {
            let mut image = gpt_image(&two_partitions());
            change_both_headers(&mut image, |header| header.entry_count = count);
            let (report, device) = common::report_counted(common::memory(&image));
            assert_lost(&report);
            assert!(device.largest_read() <= STEP, "{}", device.largest_read());
            assert!(device.bytes_read() <= USUAL_BYTES, "{}", device.bytes_read());
        }
    }

    #[test]
    fn sixteen_million_entries_are_read_in_steps() {
        const COUNT: u32 = 16_000_000;
        const ARRAY: u64 = COUNT as u64 * 128;
        let size = 64 << 30;
        let last = size / 512 - 1;
        let entries = [linux(0, 1 << 23, (1 << 24) - 1), linux(COUNT - 1, 1 << 24, (1 << 25) - 1)];
        let slots = entries.clone().map(|entry| gpt::array_bytes(&[GptEntry { slot: 0, ..entry }], 1, 128));
        let crc = common::Crc::START.bytes(&slots[0]).zeros(ARRAY - 256).bytes(&slots[1]).finish();

        let mut image = Image::blank(size);
        let primary = HeaderFields {
            alternate_lba: last,
            first_usable: 2 + ARRAY / 512,
            last_usable: last - ARRAY / 512 - 1,
            entry_count: COUNT,
            array_crc: crc,
            ..HeaderFields::default()
        };
        let array_lba = last - ARRAY / 512;
        let backup = HeaderFields { my_lba: last, alternate_lba: 1, array_lba, ..primary.clone() };
        gpt::write_protective(&mut image, 512);
        for header in [primary, backup] {
            image.put(header.my_lba * 512, &gpt::header_bytes(&header, 512));
            image.put(header.array_lba * 512, &slots[0]);
            image.put(header.array_lba * 512 + ARRAY - 128, &slots[1]);
        }
        let (report, device) = common::report_counted(common::memory(&image));

        let expected = [(1, 1 << 23, (1 << 24) - 1), (16_000_000, 1 << 24, (1 << 25) - 1)];
        assert_table(&report, "gpt", "ok", &expected, &[]);
        assert!(device.largest_read() <= STEP, "{}", device.largest_read());
        assert!(device.bytes_read() <= 2 * ARRAY + USUAL_BYTES, "{}", device.bytes_read());
        assert!(device.reads() <= 2 * ARRAY.div_ceil(STEP) + 16, "{}", device.reads());
    }

    #[test]
    fn entries_of_every_legal_size_are_read() {
        for entry_size in [128, 256, 512, 1024, 4096] {
            let image = gpt_image(&GptSpec { entry_size, ..two_partitions() });
            // Entries of 4096 bytes make an array of 1024 sectors, which still ends before sector 2048.
            assert_table(&common::report(&image), "gpt", "ok", TWO, &[]);
        }
    }

    #[test]
    fn entries_of_any_other_size_make_the_header_bad() {
        for entry_size in [0, 1, 127, 129, 192, 384, 1 << 31, u32::MAX] {
            let mut image = gpt_image(&two_partitions());
            // Where there is an array of that size, its checksum is right: only the size is wrong.
            let len = 128 * usize::try_from(entry_size.min(512)).expect("small");
            let crc = common::Crc::START.bytes(&image.get(1024, len)).finish();
            change_both_headers(&mut image, |header| {
                header.entry_size = entry_size;
                header.array_crc = crc;
                header.array_lba = 2;
            });
            let (report, device) = common::report_counted(common::memory(&image));
            assert_lost(&report);
            assert!(device.bytes_read() <= USUAL_BYTES, "{entry_size}: {}", device.bytes_read());
        }
    }

    #[test]
    fn a_header_is_as_long_as_it_says_up_to_a_sector() {
        for header_size in [92, 93, 512] {
            let mut image = gpt_image(&GptSpec { header_size, ..two_partitions() });
            // What lies behind the known fields belongs to the checksum too.
            assert_table(&common::report(&image), "gpt", "ok", TWO, &[]);
            image.put(512 + u64::from(header_size) - 1, &[0xFF]);
            let report = common::report(&image);
            assert_table(&report, "gpt", "repairable", TWO, &["gpt-primary-bad"]);
        }
        let mut image = Image::blank(DISK);
        let entries = vec![linux(0, 256, 511)];
        gpt::write(
            &mut image,
            &GptSpec { sector_size: 4096, header_size: 4096, entries, ..two_partitions() },
        );
        assert_table(&common::report(&image), "gpt", "ok", &[(1, 256, 511)], &[]);
    }

    #[test]
    fn a_header_shorter_than_its_fields_or_longer_than_a_sector_is_bad() {
        for header_size in [0, 91, 513, u32::MAX] {
            let mut image = gpt_image(&two_partitions());
            change_both_headers(&mut image, |header| header.header_size = header_size);
            assert_lost(&common::report(&image));
        }
    }

    #[test]
    fn an_array_may_be_far_away_but_on_the_disk() {
        let spec = GptSpec { primary_array: Some(10_000), first_usable: Some(34), ..two_partitions() };
        assert_table(&common::report(&gpt_image(&spec)), "gpt", "ok", TWO, &[]);

        for array_lba in [u64::MAX, u64::MAX / 512, LAST - 30, LAST + 1] {
            let mut image = gpt_image(&two_partitions());
            change_both_headers(&mut image, |header| header.array_lba = array_lba);
            assert_lost(&common::report(&image));
        }
    }

    #[test]
    fn a_header_that_belongs_elsewhere_is_bad() {
        let mut image = gpt_image(&two_partitions());
        change_header(&mut image, 1, |header| header.my_lba = 2);
        assert_table(&common::report(&image), "gpt", "repairable", TWO, &["gpt-primary-bad"]);

        let mut image = gpt_image(&two_partitions());
        change_header(&mut image, LAST, |header| header.my_lba = LAST - 1);
        assert_table(&common::report(&image), "gpt", "repairable", TWO, &["gpt-backup-bad"]);
    }

    #[test]
    fn absurd_usable_bounds_hide_no_partition() {
        let usable = |first_usable, last_usable| {
            let spec = GptSpec {
                first_usable: Some(first_usable),
                last_usable: Some(last_usable),
                ..two_partitions()
            };
            common::report(&gpt_image(&spec))
        };
        assert_table(&usable(0, u64::MAX), "gpt", "ok", TWO, &[]);
        assert_table(&usable(u64::MAX, 0), "gpt", "ok", TWO, &["gpt-outside-usable"]);
    }

    #[test]
    fn an_array_without_entries_is_an_empty_table() {
        let report = common::report(&gpt_image(&GptSpec { entry_count: 0, ..GptSpec::default() }));
        assert_table(&report, "gpt", "ok", &[], &[]);
        assert_eq!(report.status.word(), "unpartitioned");
    }
}

mod gpt_entries {
    use super::*;

    #[test]
    fn partitions_at_the_end_of_64_bits() {
        let report = common::report(&gpt_with(vec![
            linux(0, u64::MAX - 7, u64::MAX),
            linux(1, u64::MAX - 14, u64::MAX - 8),
            linux(2, 2048, u64::MAX - 15),
        ]));
        let expected =
            [(1, u64::MAX - 7, u64::MAX), (2, u64::MAX - 14, u64::MAX - 8), (3, 2048, u64::MAX - 15)];
        let findings =
            ["gpt-outside-usable", "partition-beyond-disk", "partition-over-table", "start-off-physical"];
        assert_table(&report, "gpt", "damaged", &expected, &findings);
        // 2^64 - 8 sectors are whole blocks of 4096 bytes, 2^64 - 15 are one sector more than that.
        let judged: Vec<_> =
            report.partitions.iter().map(|report| (report.verdict.word(), report.remainder)).collect();
        assert_eq!(judged, [("aligned", 0), ("misaligned", 512), ("aligned", 0)]);
    }

    #[test]
    fn a_partition_over_all_of_64_bits_is_not_inverted() {
        let report = common::report(&gpt_with(vec![linux(0, 0, u64::MAX)]));
        let findings = ["gpt-outside-usable", "partition-beyond-disk", "partition-over-table"];
        assert_table(&report, "gpt", "damaged", &[(1, 0, u64::MAX)], &findings);
    }

    #[test]
    fn a_partition_over_the_table_is_named() {
        for (first, last) in [(0, 0), (0, 100), (1, 1), (8, 63), (LAST - 31, LAST - 8), (LAST, LAST)] {
            let report = common::report(&gpt_with(vec![linux(6, first, last)]));
            assert_eq!(report.table.health.word(), "damaged", "{first}");
            assert!(severe(&report).contains(&"partition-over-table"), "{first}: {:?}", severe(&report));
            assert_eq!(report.partitions[0].partition.number, 7);
        }
    }

    #[test]
    fn a_partition_that_ends_before_it_begins_is_listed_and_named() {
        let report = common::report(&gpt_with(vec![linux(0, 2048, 2047), linux(1, 4096, 8191)]));
        let expected = [(1, 2048, 2047), (2, 4096, 8191)];
        assert_table(&report, "gpt", "damaged", &expected, &["partition-inverted"]);

        let report = common::report(&gpt_with(vec![linux(0, u64::MAX, 0)]));
        let findings = ["partition-beyond-disk", "partition-inverted", "start-off-physical"];
        assert_table(&report, "gpt", "damaged", &[(1, u64::MAX, 0)], &findings);
    }

    #[test]
    fn partitions_that_share_a_sector_overlap() {
        let report = common::report(&gpt_with(vec![linux(0, 4096, 8191), linux(3, 2048, 4096)]));
        let expected = [(1, 4096, 8191), (4, 2048, 4096)];
        assert_table(&report, "gpt", "damaged", &expected, &["partitions-overlap"]);
    }

    #[test]
    fn a_small_partition_far_inside_another_overlaps_too() {
        // The neighbour in the order of starts is not the one that is overlapped.
        let entries = vec![linux(0, 2048, 20_000), linux(1, 4096, 4103), linux(2, 8192, 8199)];
        let report = common::report(&gpt_with(entries));
        let overlapping =
            report.findings.iter().filter(|finding| finding.code.word() == "partitions-overlap");
        assert_eq!(overlapping.map(|finding| finding.partition).collect::<Vec<_>>(), [Some(2), Some(3)]);
    }

    #[test]
    fn a_name_ends_at_its_first_nul_and_what_is_no_utf_16_is_replaced() {
        let full = "abcdefghijklmnopqrstuvwxyz0123456789";
        for (units, name) in [
            (&[0x61, 0, 0x62][..], "a"),
            (&[0xD800, 0x61], "\u{FFFD}a"),
            (&[0x61, 0xDC00], "a\u{FFFD}"),
            (&[0xD83D, 0xDCBE], "\u{1F4BE}"),
            (&full.encode_utf16().collect::<Vec<_>>(), full),
        ] {
            let mut image = gpt_with(vec![linux(0, 2048, 4095)]);
            let bytes: Vec<u8> = units.iter().copied().flat_map(u16::to_le_bytes).collect();
            image.put(1024 + 56, &bytes).put((LAST - 32) * 512 + 56, &bytes);
            let crc = common::Crc::START.bytes(&image.get(1024, 128 * 128)).finish();
            change_both_headers(&mut image, |header| header.array_crc = crc);
            let report = common::report(&image);
            assert_table(&report, "gpt", "ok", &[(1, 2048, 4095)], &[]);
            assert_eq!(report.partitions[0].partition.name.as_deref(), Some(name));
        }
    }
}

mod gpt_copies {
    use super::*;

    #[test]
    fn one_bad_copy_is_repairable_from_the_other() {
        for (damaged_byte, finding) in [
            (512, "gpt-primary-bad"),                   // its signature
            (512 + 56, "gpt-primary-bad"),              // the disk GUID in its header
            (1024 + 40, "gpt-primary-bad"),             // an entry of its array
            (LAST * 512, "gpt-backup-bad"),             // and the same of the backup
            (LAST * 512 + 91, "gpt-backup-bad"),        //
            ((LAST - 32) * 512 + 40, "gpt-backup-bad"), //
            ((LAST - 1) * 512 + 511, "gpt-backup-bad"), // the last byte of an array
        ] {
            let mut image = gpt_image(&two_partitions());
            let byte = image.get(damaged_byte, 1)[0];
            image.put(damaged_byte, &[byte ^ 1]);
            assert_table(&common::report(&image), "gpt", "repairable", TWO, &[finding]);
        }
    }

    #[test]
    fn two_bad_copies_are_damage() {
        for (primary, backup) in [(512, LAST * 512), (512, (LAST - 32) * 512), (1024, LAST * 512)] {
            let mut image = gpt_image(&two_partitions());
            image.put(primary, &[0xFF]).put(backup, &[0xFF]);
            assert_lost(&common::report(&image));
        }
    }

    #[test]
    fn copies_that_are_both_whole_and_not_the_same_are_named() {
        let other = GptSpec { entries: vec![linux(0, 2048, 4095)], ..GptSpec::default() };
        let mut image = gpt_image(&other);
        image.put(512, &gpt_image(&two_partitions()).get(512, 33 * 512));
        assert_table(&common::report(&image), "gpt", "repairable", TWO, &["gpt-copies-differ"]);

        let mut image = gpt_image(&two_partitions());
        change_header(&mut image, LAST, |header| header.disk_id = [7; 16]);
        assert_table(&common::report(&image), "gpt", "repairable", TWO, &["gpt-copies-differ"]);
    }

    #[test]
    fn a_disk_that_grew_is_stale() {
        let grown = resized(&gpt_image(&two_partitions()), 2 * DISK);
        let findings = ["gpt-backup-misplaced", "gpt-protective-mbr-stale"];
        assert_table(&common::report(&grown), "gpt", "stale", TWO, &findings);
    }

    #[test]
    fn on_a_disk_that_grew_a_whole_header_with_a_bad_array_still_leads_to_the_backup() {
        let mut grown = resized(&gpt_image(&two_partitions()), 2 * DISK);
        grown.put(1024, &[0xFF]);
        let findings = ["gpt-backup-misplaced", "gpt-primary-bad", "gpt-protective-mbr-stale"];
        assert_table(&common::report(&grown), "gpt", "repairable", TWO, &findings);
    }

    #[test]
    fn on_a_disk_that_grew_nothing_leads_from_a_bad_header_to_the_backup() {
        let mut grown = resized(&gpt_image(&two_partitions()), 2 * DISK);
        grown.put(512, &[0xFF]);
        let report = common::report(&grown);
        let findings = ["gpt-backup-bad", "gpt-primary-bad", "gpt-protective-mbr-stale"];
        assert_table(&report, "gpt", "damaged", &[], &findings);
        assert_eq!(report.status.word(), "unknown");
    }

    #[test]
    fn a_disk_that_was_cut_has_lost_its_backup() {
        let cut = resized(&gpt_image(&two_partitions()), 8192 * 512);
        let findings = ["gpt-backup-bad", "gpt-protective-mbr-stale"];
        assert_table(&common::report(&cut), "gpt", "repairable", TWO, &findings);

        let cut = resized(&gpt_image(&two_partitions()), 8191 * 512);
        let findings = ["gpt-backup-bad", "gpt-protective-mbr-stale", "partition-beyond-disk"];
        assert_table(&common::report(&cut), "gpt", "damaged", TWO, &findings);
    }

    #[test]
    fn a_backup_in_the_last_sector_is_found_whatever_the_primary_says() {
        for alternate in [0, 1, LAST - 1, LAST + 1, u64::MAX] {
            let mut image = gpt_image(&two_partitions());
            change_header(&mut image, 1, |header| header.alternate_lba = alternate);
            assert_table(&common::report(&image), "gpt", "repairable", TWO, &["gpt-copies-differ"]);
        }
    }

    #[test]
    fn a_primary_is_no_backup_of_itself() {
        for alternate in [0, 1, LAST + 1, u64::MAX] {
            let mut image = gpt_image(&two_partitions());
            change_header(&mut image, 1, |header| header.alternate_lba = alternate);
            image.put(LAST * 512, &[0]);
            assert_table(&common::report(&image), "gpt", "repairable", TWO, &["gpt-backup-bad"]);
        }
    }

    #[test]
    fn one_unreadable_sector_costs_one_copy() {
        let array = (LAST - 32) * 512;
        for (bad, finding) in [
            (512..1024, "gpt-primary-bad"),
            (2048..2560, "gpt-primary-bad"),
            (LAST * 512..DISK, "gpt-backup-bad"),
            (array..array + 512, "gpt-backup-bad"),
            (DISK - (1 << 20)..DISK, "gpt-backup-bad"),
        ] {
            let device = FaultDevice::new(common::memory(&gpt_image(&two_partitions()))).with_bad_bytes(bad);
            let report = check::run(&Disk::image("test.img", device), &Options::default());
            assert_table(&report.expect("sector 0 can be read"), "gpt", "repairable", TWO, &[finding]);
        }
    }

    #[test]
    fn without_sector_0_nothing_can_be_said() {
        let device = common::memory(&gpt_image(&two_partitions()));
        let refusal = refusal(FaultDevice::new(device).with_bad_bytes(0..512));
        assert!(refusal.starts_with("test.img: reading byte 0 failed"), "{refusal}");
    }
}

mod which_table_counts {
    use super::*;

    #[test]
    fn a_protective_entry_without_a_gpt_is_a_lost_gpt() {
        let mut image = Image::blank(DISK);
        gpt::write_protective(&mut image, 512);
        assert_lost(&common::report(&image));
    }

    #[test]
    fn a_protective_entry_counts_in_every_slot() {
        for slot in 0..4 {
            let mut image = gpt_image(&two_partitions());
            let mut entries = [MbrEntry::default(); 4];
            entries[slot] = entry(0xEE, 1, 20479);
            mbr::write(&mut image, 512, 0, &entries);
            assert_table(&common::report(&image), "gpt", "ok", TWO, &[]);
        }
    }

    #[test]
    fn a_protective_entry_that_does_not_begin_at_1_protects_nothing() {
        // Linux takes an entry for protective only where it begins at 1 (`pmbr_part_valid` in `efi.c`).
        let mut image = gpt_image(&two_partitions());
        mbr::write(&mut image, 512, 0, &[entry(0xEE, 0, 20480)]);
        let findings = ["gpt-protective-mbr-missing"];
        assert_table(&common::report(&image), "gpt", "repairable", TWO, &findings);
    }

    #[test]
    fn a_protective_entry_that_covers_something_else_is_stale() {
        for sectors in [0, 1, 20478, 20480, u32::MAX - 1] {
            let mut image = gpt_image(&two_partitions());
            mbr::write(&mut image, 512, 0, &[entry(0xEE, 1, sectors)]);
            assert_table(&common::report(&image), "gpt", "stale", TWO, &["gpt-protective-mbr-stale"]);
        }
        let mut image = gpt_image(&two_partitions());
        mbr::write(&mut image, 512, 0, &[entry(0xEE, 1, u32::MAX)]);
        assert_table(&common::report(&image), "gpt", "ok", TWO, &[]);
    }

    #[test]
    fn a_gpt_without_an_mbr_counts() {
        let image = gpt_image(&GptSpec { protective: false, ..two_partitions() });
        let findings = ["gpt-protective-mbr-missing"];
        assert_table(&common::report(&image), "gpt", "repairable", TWO, &findings);
    }

    #[test]
    fn a_backup_alone_without_an_mbr_counts_on_an_empty_front_only() {
        let spec = GptSpec { protective: false, ..two_partitions() };
        let mut image = gpt_image(&spec);
        image.put(0, &[0; 34 * 512]);
        let findings = ["gpt-primary-bad", "gpt-protective-mbr-missing"];
        assert_table(&common::report(&image), "gpt", "repairable", TWO, &findings);

        image.put(0, &ext4());
        let report = common::report(&image);
        assert_table(&report, "none", "ok", &[], &["gpt-remains"]);
        assert_eq!(report.content.map(|content| content.name), Some("ext4"));
    }

    #[test]
    fn a_gpt_behind_an_mbr_with_entries_of_its_own_is_a_leftover() {
        for sector_size in [512, 4096] {
            let mut image = Image::blank(DISK);
            let entries = vec![linux(0, 256, 511)];
            gpt::write(&mut image, &GptSpec { sector_size, entries, ..GptSpec::default() });
            mbr::write(&mut image, 512, 0, &[entry(0x83, 2048, 2048)]);
            let report = common::report(&image);
            assert_table(&report, "mbr", "ok", &[(1, 2048, 4095)], &["gpt-remains"]);
            assert_eq!(report.table.sector_size.map(|size| size.bytes()), Some(512));
        }
    }

    #[test]
    fn boot_indicators_other_than_00_and_80_are_no_table() {
        for slot in 0..4 {
            let mut entries =
                [entry(0x83, 2048, 2048), MbrEntry::default(), MbrEntry::default(), MbrEntry::default()];
            entries[slot].boot = 0x01;
            entries[slot].kind = 0x83;
            assert_table(&common::report(&mbr_image(&entries)), "none", "ok", &[], &[]);
        }
        let entries = [MbrEntry { boot: 0x80, ..entry(0x83, 2048, 2048) }];
        assert_table(&common::report(&mbr_image(&entries)), "mbr", "ok", &[(1, 2048, 4095)], &[]);
    }

    #[test]
    fn the_boot_sector_of_a_file_system_with_junk_for_a_table_is_no_table() {
        let beyond = [entry(0x83, 2048, u32::MAX)];
        let overlapping = [entry(0x83, 2048, 2048), entry(0x07, 4000, 100)];
        for junk in [&beyond[..], &overlapping, &[]] {
            for (name, content) in [("mkfs-fat", "FAT"), ("mkfs-ntfs", "NTFS")] {
                let mut image = fixtures::recorded::named(name).image();
                mbr::write(&mut image, 512, 0, junk);
                let report = common::report(&image);
                assert_table(&report, "none", "ok", &[], &[]);
                assert_eq!(report.content.map(|content| content.name), Some(content));
                assert_eq!(report.status.word(), "unpartitioned");
            }
        }
    }
}

mod sector_size_of_a_gpt {
    use super::*;

    /// A whole GPT for sectors of 512 bytes and another for 4096, each with its array out of the other's way.
    fn ambiguous() -> Image {
        let mut image = Image::blank(DISK);
        let entries = vec![linux(0, 256, 511)];
        gpt::write(&mut image, &GptSpec { sector_size: 4096, entries, ..GptSpec::default() });
        let spec = GptSpec { primary_array: Some(64), alternate: Some(LAST - 100), ..two_partitions() };
        gpt::write(&mut image, &spec);
        image
    }

    #[test]
    fn two_valid_headers_are_one_too_many_for_an_image() {
        let report = common::report(&ambiguous());
        assert_table(&report, "gpt", "damaged", &[], &["table-sector-size-ambiguous"]);
        assert_eq!(report.status.word(), "unknown");
    }

    #[test]
    fn of_two_valid_headers_the_one_for_the_device_counts() {
        let report = common::report_as(&ambiguous(), logical(512));
        assert_table(&report, "gpt", "stale", TWO, &["gpt-backup-misplaced"]);
        assert_eq!(report.table.sector_size.map(|size| size.bytes()), Some(512));

        let report = common::report_as(&ambiguous(), logical(4096));
        // The protective entry is that of the table for 512: it was written last.
        assert_table(&report, "gpt", "stale", &[(1, 256, 511)], &["gpt-protective-mbr-stale"]);
        assert_eq!(report.table.sector_size.map(|size| size.bytes()), Some(4096));
    }

    #[test]
    fn an_image_tells_its_own_sector_size() {
        for sector_size in [512, 1024, 2048, 4096] {
            let mut image = Image::blank(DISK);
            let entries = vec![linux(0, 1024, 1279)];
            gpt::write(&mut image, &GptSpec { sector_size, entries, ..GptSpec::default() });
            let report = common::report(&image);
            assert_table(&report, "gpt", "ok", &[(1, 1024, 1279)], &[]);
            assert_eq!(report.table.sector_size.map(|size| size.bytes()), Some(sector_size));
        }
    }

    #[test]
    fn a_device_says_when_the_table_is_for_another_one() {
        for (sector_size, device) in [(512, 4096), (1024, 512), (2048, 512), (4096, 512)] {
            let mut image = Image::blank(DISK);
            let entries = vec![linux(0, 1024, 1279)];
            gpt::write(&mut image, &GptSpec { sector_size, entries, ..GptSpec::default() });
            let report = common::report_as(&image, logical(device));
            assert_table(&report, "gpt", "ok", &[(1, 1024, 1279)], &["table-other-sector-size"]);
            assert_eq!(report.table.sector_size.map(|size| size.bytes()), Some(sector_size));
        }
    }

    #[test]
    fn sectors_larger_than_the_front_that_is_fetched_at_once() {
        for sector_size in [8192, 65536] {
            let mut image = Image::blank(DISK);
            let entries = vec![linux(0, 16, 31)];
            gpt::write(&mut image, &GptSpec { sector_size, entries, ..GptSpec::default() });
            let report = common::report_as(&image, logical(sector_size));
            assert_table(&report, "gpt", "ok", &[(1, 16, 31)], &[]);
            assert_eq!(report.topology.physical.bytes(), sector_size);
        }
    }

    #[test]
    fn the_backup_tells_the_sector_size_too() {
        for sector_size in [512, 1024, 2048, 4096] {
            let mut image = Image::blank(DISK);
            let entries = vec![linux(0, 1024, 1279)];
            gpt::write(&mut image, &GptSpec { sector_size, entries, ..GptSpec::default() });
            image.put(sector_size, &[0; 92]);
            let report = common::report(&image);
            assert_table(&report, "gpt", "repairable", &[(1, 1024, 1279)], &["gpt-primary-bad"]);
        }
    }
}

mod sector_size_of_an_mbr {
    use super::*;

    const ROOMY: u64 = 64 << 20;

    /// A partition from sector 256 or 2048, 1 MiB in the unit that it was written in. In sectors of 4096 bytes it is
    /// more than half of the disk: a table that leaves most of the disk unused would be weaker evidence.
    fn with_partition(start: u32) -> Image {
        let mut image = Image::blank(ROOMY);
        mbr::write(&mut image, 512, 0, &[entry(0x83, start, 8192)]);
        image
    }

    #[track_caller]
    fn assert_unit(report: &Report, unit: u64, findings: &[&str]) {
        assert_eq!(report.table.sector_size.map(|size| size.bytes()), Some(unit), "{:#?}", report.findings);
        // What the file system makes of the unit is another question.
        let mut found = severe(report);
        found.retain(|code| *code != "content-other-sector-size");
        assert_eq!(found, findings, "{:#?}", report.findings);
    }

    #[test]
    fn content_where_the_other_unit_puts_it_decides() {
        for content in [ext4(), ntfs()] {
            let mut image = with_partition(256);
            image.put(256 * 4096, &content);
            assert_unit(&common::report(&image), 4096, &["table-other-sector-size"]);
            let report = common::report_as(&image, logical(512));
            assert_unit(&report, 4096, &["table-other-sector-size"]);
            assert_eq!(report.status.word(), "aligned");

            let mut image = with_partition(2048);
            image.put(2048 * 512, &content);
            let report = common::report_as(&image, logical(4096));
            assert_unit(&report, 512, &["table-other-sector-size"]);
            assert_eq!(report.status.word(), "aligned");
        }
    }

    #[test]
    fn the_chain_is_followed_in_the_unit_that_was_found() {
        let mut image = Image::blank(ROOMY);
        mbr::write(&mut image, 4096, 0, &[entry(0x05, 256, 8192)]);
        mbr::write_chain(
            &mut image,
            4096,
            256,
            &[Logical { ebr: 256, kind: 0x83, start: 512, sectors: 256 }],
        );
        let report = common::report_as(&image, logical(512));
        let expected = [(1, 256, 8447), (5, 512, 767)];
        assert_table(&report, "mbr", "ok", &expected, &["table-other-sector-size"]);
    }

    #[test]
    fn the_devices_own_unit_wins_when_both_have_content() {
        for (start, own) in [(256, 512), (2048, 4096)] {
            let mut image = with_partition(start);
            image.put(u64::from(start) * 512, &ntfs());
            image.put(u64::from(start) * 4096, &ext4());
            assert_unit(&common::report_as(&image, logical(own)), own, &[]);
        }
    }

    #[test]
    fn the_devices_own_unit_stays_when_nothing_is_recognised() {
        for (start, own) in [(256, 512), (2048, 4096)] {
            assert_unit(&common::report_as(&with_partition(start), logical(own)), own, &[]);
        }
    }

    #[test]
    fn content_counts_only_where_the_other_unit_has_room_for_all() {
        let mut image = Image::blank(ROOMY);
        mbr::write(&mut image, 512, 0, &[entry(0x83, 256, 4096), entry(0x83, 8192, 16384)]);
        image.put(256 * 4096, &ext4());
        assert_unit(&common::report_as(&image, logical(512)), 512, &[]);
    }

    #[test]
    fn partitions_that_fit_in_the_other_unit_only_decide() {
        let mut image = Image::blank(ROOMY);
        mbr::write(&mut image, 512, 0, &[entry(0x83, 2048, 129_024)]);
        let report = common::report_as(&image, logical(4096));
        assert_unit(&report, 512, &["table-other-sector-size"]);
    }

    #[test]
    fn partitions_that_fit_in_no_unit_are_beyond_the_disk() {
        let mut image = Image::blank(ROOMY);
        mbr::write(&mut image, 512, 0, &[entry(0x83, 2048, 200_000)]);
        let report = common::report_as(&image, logical(4096));
        assert_unit(&report, 4096, &["partition-beyond-disk"]);
    }
}

mod mbr_entries {
    use super::*;

    #[test]
    fn an_entry_at_sector_0_is_used() {
        let report = common::report(&mbr_image(&[entry(0x83, 0, 20480)]));
        assert_table(&report, "mbr", "ok", &[(1, 0, 20479)], &[]);
    }

    #[test]
    fn an_entry_is_used_by_its_size_whatever_its_type() {
        let report = common::report(&mbr_image(&[entry(0x00, 2048, 2048), entry(0x83, 4096, 0)]));
        assert_table(&report, "mbr", "ok", &[(1, 2048, 4095)], &[]);
    }

    #[test]
    fn an_entry_at_the_end_of_32_bits_does_not_wrap() {
        let report = common::report(&mbr_image(&[entry(0x83, u32::MAX, u32::MAX)]));
        // 2^32 - 1 sectors of 512 bytes end 3584 bytes into a block of 4096.
        let findings = ["partition-beyond-disk", "start-off-physical"];
        let expected = [(1, 4_294_967_295, 8_589_934_589)];
        assert_table(&report, "mbr", "damaged", &expected, &findings);
        assert_eq!(report.partitions[0].remainder, 3584);
    }

    #[test]
    fn a_second_container_is_followed_too() {
        for (first, second) in [(0x05, 0x0F), (0x85, 0x05), (0x0F, 0x85)] {
            let mut image = mbr_image(&[entry(first, 4096, 4096), entry(second, 8192, 8192)]);
            let logical = |ebr| Logical { ebr, kind: 0x83, start: ebr + 2048, sectors: 1024 };
            mbr::write_chain(&mut image, 512, 4096, &[logical(4096)]);
            mbr::write_chain(&mut image, 512, 8192, &[logical(8192), logical(12288)]);
            let expected =
                [(1, 4096, 8191), (2, 8192, 16383), (5, 6144, 7167), (6, 10240, 11263), (7, 14336, 15359)];
            assert_table(&common::report(&image), "mbr", "ok", &expected, &[]);
        }
    }
}

mod mbr_chains {
    use super::*;

    /// The data entry of an EBR: 1024 sectors, 2048 behind it.
    const DATA: MbrEntry = MbrEntry { boot: 0, kind: 0x83, start: 2048, sectors: 1024 };

    /// A disk with a container whose EBRs are these: place, and entries as they stand there.
    fn chain(ebrs: &[(u64, &[MbrEntry])]) -> Image {
        let mut image = mbr_with_container();
        for (lba, entries) in ebrs {
            mbr::write_raw_ebr(&mut image, 512, *lba, entries);
        }
        image
    }

    /// A link to the EBR at `lba`.
    fn link(lba: u32) -> MbrEntry {
        entry(0x05, lba - 4096, 4096)
    }

    #[test]
    fn a_record_that_links_to_itself_is_read_once() {
        let image = chain(&[(4096, &[DATA, link(4096)])]);
        let expected = with_container(&[(5, 6144, 7167)]);
        assert_table(&common::report(&image), "mbr", "damaged", &expected, &["mbr-ebr-loop"]);
    }

    #[test]
    fn two_records_that_link_to_each_other_are_read_once() {
        let image = chain(&[(4096, &[DATA, link(8192)]), (8192, &[DATA, link(4096)])]);
        let expected = with_container(&[(5, 6144, 7167), (6, 10240, 11263)]);
        assert_table(&common::report(&image), "mbr", "damaged", &expected, &["mbr-ebr-loop"]);
    }

    #[test]
    fn a_loop_hides_what_may_be_misaligned() {
        let image = chain(&[(4096, &[DATA, link(4096)])]);
        assert_eq!(common::report(&image).status.word(), "unknown");

        let off = MbrEntry { start: 2049, ..DATA };
        let image = chain(&[(4096, &[off, link(4096)])]);
        assert_eq!(common::report(&image).status.word(), "misaligned");
    }

    #[test]
    fn a_link_into_another_container_lists_nothing_twice() {
        let mut image = mbr_image(&[entry(0x05, 12288, 8192), entry(0x05, 4096, 8192)]);
        mbr::write_raw_ebr(&mut image, 512, 12288, &[DATA]);
        mbr::write_raw_ebr(&mut image, 512, 4096, &[DATA, link(12288)]);
        let expected = [(1, 12288, 20479), (2, 4096, 12287), (5, 14336, 15359), (6, 6144, 7167)];
        assert_table(&common::report(&image), "mbr", "damaged", &expected, &["mbr-ebr-loop"]);
    }

    #[test]
    fn of_300_records_256_are_read() {
        let mut image = mbr_with_container();
        let place = |index: u32| 4096 + 16 * index;
        let logicals: Vec<Logical> = (0..300)
            .map(|index| Logical { ebr: place(index), kind: 0x83, start: place(index) + 8, sectors: 8 })
            .collect();
        mbr::write_chain(&mut image, 512, 4096, &logicals);
        let (report, device) = common::report_counted(common::memory(&image));

        let listed = |index: u32| (5 + index, u64::from(place(index)) + 8, u64::from(place(index)) + 15);
        let expected = with_container(&(0..256).map(listed).collect::<Vec<_>>());
        assert_table(&report, "mbr", "damaged", &expected, &["mbr-ebr-too-many"]);
        assert_eq!(report.status.word(), "unknown");
        assert!(device.reads() <= 256 + 16, "{}", device.reads());
    }

    #[test]
    fn a_chain_without_end_is_left() {
        let (report, device) = common::report_counted(EndlessChain);
        let expected = [(1, 2048, 4_294_967_294)];
        assert_table(&report, "mbr", "damaged", &expected, &["mbr-ebr-too-many"]);
        assert!(device.reads() <= 256 + 16, "{}", device.reads());
        assert!(device.bytes_read() <= USUAL_BYTES, "{}", device.bytes_read());
    }

    /// A disk of 3 TiB whose every sector from 2048 on is an EBR that links to the next one.
    #[derive(Debug)]
    struct EndlessChain;

    impl BlockDevice for EndlessChain {
        fn size(&self) -> Option<u64> {
            Some(3 << 40)
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
            for (sector, lba) in buffer.chunks_mut(512).zip(offset / 512..) {
                let mut image = Image::blank(512);
                match u32::try_from(lba) {
                    Ok(0) => mbr::write(&mut image, 512, 0, &[entry(0x05, 2048, u32::MAX - 2048)]),
                    Ok(lba) if lba >= 2048 => {
                        let next = entry(0x05, lba - 2047, 1);
                        mbr::write_raw_ebr(&mut image, 512, 0, &[MbrEntry::default(), next]);
                    }
                    _ => {}
                }
                sector.copy_from_slice(&image.get(0, sector.len()));
            }
            Ok(())
        }

        fn write_at(&self, _offset: u64, _bytes: &[u8]) -> std::io::Result<()> {
            unreachable!("a check never writes")
        }

        fn flush(&self) -> std::io::Result<()> {
            unreachable!("a check never writes")
        }
    }

    #[test]
    fn a_chain_need_not_follow_the_order_of_the_disk() {
        let mut image = mbr_with_container();
        let logical = |ebr| Logical { ebr, kind: 0x83, start: ebr + 2048, sectors: 1024 };
        mbr::write_chain(&mut image, 512, 4096, &[logical(4096), logical(16384), logical(8192)]);
        let expected = with_container(&[(5, 6144, 7167), (6, 18432, 19455), (7, 10240, 11263)]);
        assert_table(&common::report(&image), "mbr", "ok", &expected, &[]);
    }

    #[test]
    fn records_without_a_partition_take_no_number() {
        let nothing = MbrEntry::default();
        let image = chain(&[
            (4096, &[nothing, link(8192)]),
            (8192, &[link(12288)]), // DR-DOS puts the link first
            (12288, &[DATA, link(16384)]),
            (16384, &[nothing]),
        ]);
        let expected = with_container(&[(5, 14336, 15359)]);
        assert_table(&common::report(&image), "mbr", "ok", &expected, &[]);
    }

    #[test]
    fn what_was_read_before_a_bad_record_is_kept() {
        let kept = with_container(&[(5, 6144, 7167)]);
        // Beyond the end, without a signature, and the first sector of all without one.
        let past_end = chain(&[(4096, &[DATA, link(30000)])]);
        assert_table(&common::report(&past_end), "mbr", "damaged", &kept, &["mbr-ebr-bad"]);
        let unsigned = chain(&[(4096, &[DATA, link(8192)])]);
        assert_table(&common::report(&unsigned), "mbr", "damaged", &kept, &["mbr-ebr-bad"]);
        let report = common::report(&mbr_with_container());
        assert_table(&report, "mbr", "damaged", &with_container(&[]), &["mbr-ebr-bad"]);
        assert_eq!(report.status.word(), "unknown");
    }

    #[test]
    fn an_unreadable_record_ends_the_chain_only() {
        let image = chain(&[(4096, &[DATA, link(8192)]), (8192, &[DATA])]);
        let device = FaultDevice::new(common::memory(&image)).with_bad_bytes(8192 * 512..8193 * 512);
        let report = check::run(&Disk::image("test.img", device), &Options::default());
        let kept = with_container(&[(5, 6144, 7167)]);
        assert_table(&report.expect("sector 0 can be read"), "mbr", "damaged", &kept, &["mbr-ebr-bad"]);
    }

    #[test]
    fn the_third_and_fourth_entry_count_when_they_make_sense() {
        let legal = entry(0x83, 4096, 1024);
        let also_legal = entry(0x07, 6144, 1024);
        let image = chain(&[(4096, &[DATA, MbrEntry::default(), legal, also_legal])]);
        let expected = with_container(&[(5, 6144, 7167), (6, 8192, 9215), (7, 10240, 11263)]);
        assert_table(&common::report(&image), "mbr", "ok", &expected, &[]);

        let garbage = [entry(0x72, 0x6F72_7245, 0x2E72), entry(0x83, 8192, 16384)];
        let image = chain(&[(4096, &[DATA, MbrEntry::default(), garbage[0], garbage[1]])]);
        let expected = with_container(&[(5, 6144, 7167)]);
        assert_table(&common::report(&image), "mbr", "ok", &expected, &[]);
    }

    #[test]
    fn a_record_inside_a_partition_is_named() {
        let long = entry(0x83, 2048, 4096);
        let image = chain(&[(4096, &[long, link(8192)]), (8192, &[MbrEntry { start: 4096, ..DATA }])]);
        let expected = with_container(&[(5, 6144, 10239), (6, 12288, 13311)]);
        assert_table(&common::report(&image), "mbr", "damaged", &expected, &["mbr-ebr-inside-partition"]);
    }

    #[test]
    fn a_partition_that_begins_at_its_own_record_covers_it() {
        let image = chain(&[(4096, &[MbrEntry { start: 0, ..DATA }])]);
        let expected = with_container(&[(5, 4096, 5119)]);
        assert_table(&common::report(&image), "mbr", "damaged", &expected, &["mbr-ebr-inside-partition"]);
    }

    #[test]
    fn a_logical_partition_outside_its_container_is_used_all_the_same() {
        let mut image = mbr_image(&[entry(0x05, 4096, 4096)]);
        mbr::write_raw_ebr(&mut image, 512, 4096, &[entry(0x83, 2048, 4096)]);
        let expected = [(1, 4096, 8191), (5, 6144, 10239)];
        assert_table(&common::report(&image), "mbr", "ok", &expected, &["mbr-logical-outside"]);
    }

    #[test]
    fn a_container_at_the_end_of_32_bits_does_not_wrap() {
        let report = common::report(&mbr_image(&[entry(0x05, u32::MAX - 7, 8)]));
        let expected = [(1, 4_294_967_288, 4_294_967_295)];
        assert_table(&report, "mbr", "damaged", &expected, &["mbr-ebr-bad", "partition-beyond-disk"]);

        // On a disk that large, a link is added in more than 32 bits.
        let mut image = Image::blank(6 << 40);
        let container = 0xFFFF_F000;
        mbr::write(&mut image, 512, 0, &[entry(0x05, container, 0xFFF)]);
        let next = entry(0x05, u32::MAX, 64);
        mbr::write_raw_ebr(&mut image, 512, container.into(), &[entry(0x83, 8, 8), next]);
        mbr::write_raw_ebr(&mut image, 512, 8_589_930_495, &[entry(0x83, 9, 8)]);
        let expected = [
            (1, 4_294_963_200, 4_294_967_294),
            (5, 4_294_963_208, 4_294_963_215),
            (6, 8_589_930_504, 8_589_930_511),
        ];
        assert_table(&common::report(&image), "mbr", "ok", &expected, &["mbr-logical-outside"]);
    }
}

mod sizes {
    use super::*;

    #[test]
    fn less_than_a_sector_is_no_disk() {
        for (size, reason) in [(0, "is empty"), (1, "has only 1 bytes"), (511, "has only 511 bytes")] {
            let refusal = refusal(MemoryDevice::new(size));
            assert!(refusal.starts_with(&format!("test.img: {reason}")), "{refusal}");
        }
    }

    #[test]
    fn a_blank_disk_of_any_size_is_unpartitioned() {
        for size in [512, 513, 1023, 1024, 4095, 4096, 33 * 512, 34 * 512, 36 << 10, 68 << 10, DISK + 1] {
            let report = common::report(&Image::blank(size));
            assert_table(&report, "none", "ok", &[], &[]);
            assert_eq!(report.status.word(), "unpartitioned", "{size}");
        }
    }

    #[test]
    fn the_front_of_a_gpt_alone_is_read_as_far_as_it_goes() {
        let stale = ["gpt-backup-bad", "gpt-primary-bad", "gpt-protective-mbr-stale"];
        for size in [512, 513, 1024, 33 * 512, 34 * 512 - 1] {
            let report = common::report(&resized(&gpt_image(&two_partitions()), size));
            assert_table(&report, "gpt", "damaged", &[], &stale);
            assert_eq!(report.status.word(), "unknown", "{size}");
        }
        let report = common::report(&resized(&gpt_image(&two_partitions()), 34 * 512));
        let findings = ["gpt-backup-bad", "gpt-protective-mbr-stale", "partition-beyond-disk"];
        assert_table(&report, "gpt", "damaged", TWO, &findings);
    }

    #[test]
    fn an_incomplete_last_sector_does_not_count() {
        let longer = resized(&gpt_image(&two_partitions()), DISK + 511);
        assert_table(&common::report(&longer), "gpt", "ok", TWO, &[]);

        let shorter = resized(&gpt_image(&two_partitions()), DISK - 1);
        let findings = ["gpt-backup-bad", "gpt-protective-mbr-stale"];
        assert_table(&common::report(&shorter), "gpt", "repairable", TWO, &findings);
    }
}

mod streams {
    use super::*;

    /// The report on the first `len` bytes of an image that come through a pipe.
    fn piped(image: &Image, len: usize) -> Report {
        let disk = Disk::stream("-", Cursor::new(image.get(0, len)));
        check::run(&disk, &Options::default()).expect("there is a sector")
    }

    #[test]
    fn the_front_of_a_gpt_is_enough_for_its_partitions() {
        let image = gpt_image(&two_partitions());
        for len in [34 * 512, 64 << 10, 3 << 20, 10 << 20] {
            let report = piped(&image, len);
            assert_table(&report, "gpt", "unknown", TWO, &[]);
            assert!(common::codes(&report).contains(&"end-not-seen"));
            assert_eq!((report.size, report.status.word()), (None, "aligned"));
        }
    }

    #[test]
    fn a_gpt_that_did_not_arrive_whole_is_not_called_damaged() {
        let image = gpt_image(&two_partitions());
        for len in [512, 1000, 1024, 20 * 512, 34 * 512 - 1] {
            let report = piped(&image, len);
            assert_table(&report, "gpt", "unknown", &[], &[]);
            assert!(common::codes(&report).contains(&"end-not-seen"));
            assert_eq!(report.status.word(), "unknown");
        }
    }

    #[test]
    fn a_bad_gpt_that_arrived_is_bad_and_its_backup_not_known() {
        let mut image = gpt_image(&two_partitions());
        image.put(512 + 56, &[0xFF]);
        let report = piped(&image, 64 << 10);
        assert_table(&report, "gpt", "repairable", &[], &["gpt-primary-bad"]);
        assert_eq!(report.status.word(), "unknown");
    }

    #[test]
    fn a_record_beyond_the_kept_front_is_read_when_it_comes() {
        let mut image = mbr_with_container();
        let logical = |ebr| Logical { ebr, kind: 0x83, start: ebr + 2048, sectors: 1024 };
        mbr::write_chain(&mut image, 512, 4096, &[logical(4096), logical(8192)]);
        let expected = with_container(&[(5, 6144, 7167), (6, 10240, 11263)]);
        let report = piped(&image, 10 << 20);
        assert_table(&report, "mbr", "unknown", &expected, &[]);
        assert_eq!(report.status.word(), "aligned");

        // The second record is at byte 4 MiB: it never comes, or its last byte does not.
        for len in [1 << 20, 4 << 20, (4 << 20) + 511] {
            let report = piped(&image, len);
            let kept = if len < 2 << 20 { &[][..] } else { &[(5, 6144, 7167)] };
            assert_table(&report, "mbr", "unknown", &with_container(kept), &[]);
            assert_eq!(report.status.word(), "unknown");
        }
    }

    #[test]
    fn a_record_that_went_by_is_not_called_damaged() {
        let mut image = mbr_with_container();
        let logical = |ebr| Logical { ebr, kind: 0x83, start: ebr + 2048, sectors: 1024 };
        mbr::write_chain(&mut image, 512, 4096, &[logical(4096), logical(16384), logical(8192)]);
        let report = piped(&image, 10 << 20);
        let kept = with_container(&[(5, 6144, 7167), (6, 18432, 19455)]);
        assert_table(&report, "mbr", "unknown", &kept, &[]);
        assert_eq!(report.status.word(), "unknown");
    }

    #[test]
    fn less_than_a_sector_is_no_disk() {
        for (len, reason) in [(0, "nothing arrived"), (1, "has only 1 bytes"), (511, "has only 511 bytes")] {
            let disk = Disk::stream("-", Cursor::new(vec![0; len]));
            let refusal = check::run(&disk, &Options::default()).expect_err("no disk").to_string();
            assert!(refusal.starts_with(&format!("-: {reason}")), "{refusal}");
        }
    }
}
