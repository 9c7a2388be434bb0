//! What people are told to do must not cost them their data, and what could not be read must not be called empty.

mod common;

use align_core::check::{self, Code, Finding, Options, Report, Status};
use align_core::device::{Disk, FaultDevice};
use fixtures::{GptEntry, GptSpec, Image, MbrEntry, guid};

const SIZE: u64 = 64 << 20;

/// A healthy GPT with one Linux partition.
fn gpt() -> Image {
    let mut image = Image::blank(SIZE);
    let kind = guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4");
    let entries = vec![GptEntry { kind, first: 2048, last: 126_975, ..GptEntry::default() }];
    fixtures::gpt::write(&mut image, &GptSpec { entries, ..GptSpec::default() });
    image
}

fn finding(report: &Report, code: Code) -> &Finding {
    let found = report.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("{code} is missing from {:#?}", report.findings))
}

/// The report on an image of which these bytes cannot be read.
fn with_bad_bytes(image: &Image, bad: std::ops::Range<u64>) -> Report {
    let device = FaultDevice::new(common::memory(image)).with_bad_bytes(bad);
    check::run(&Disk::image("failing", device), &Options::default()).expect("sector 0 can be read")
}

#[test]
fn a_gpt_that_a_whole_disk_volume_overwrote_is_not_to_be_restored() {
    for (offset, magic, name) in
        [(4096, &b"\xFC\x4E\x2B\xA9\x01\0\0\0"[..], "md RAID member"), (4086, &b"SWAPSPACE2"[..], "swap")]
    {
        let mut image = gpt();
        image.put(offset, magic);
        let report = common::report(&image);
        assert_eq!(report.content.map(|content| content.name), Some(name));
        let help = &finding(&report, Code::GptPrimaryBad).help;
        assert!(help.starts_with("Do not restore it") && help.contains(name), "{help}");
        assert!(!help.contains("sfdisk"), "{help}");
    }
}

#[test]
fn a_protective_mbr_alone_names_what_the_disk_holds() {
    let mut image = Image::blank(SIZE);
    fixtures::gpt::write_protective(&mut image, 512);
    image.put(0x10040, b"_BHRfS_M");
    let report = common::report(&image);
    assert_eq!((report.status, report.table.health.word()), (Status::Unknown, "damaged"));
    assert_eq!(report.content.map(|content| content.name), Some("btrfs"));
    assert!(finding(&report, Code::GptPrimaryBad).help.contains("btrfs"));
}

#[test]
fn one_of_several_protective_entries_at_lba_1_is_enough() {
    let mut image = gpt();
    let entry = |kind, start, sectors| MbrEntry { boot: 0, kind, start, sectors };
    fixtures::mbr::write(
        &mut image,
        512,
        0,
        &[entry(0xEE, 126_976, 4095), entry(0xEE, 1, 2047), entry(0x83, 2048, 124_928)],
    );
    let report = common::report(&image);
    assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
    finding(&report, Code::GptHybridMbr);
}

#[test]
fn a_failing_drive_is_to_be_copied_and_not_written() {
    let last = SIZE - 512;
    for (bad, code) in [(512..1024, Code::GptPrimaryBad), (last..SIZE, Code::GptBackupBad)] {
        let report = with_bad_bytes(&gpt(), bad);
        let help = &finding(&report, code).help;
        assert!(help.contains("ddrescue") && !help.contains("sfdisk"), "{help}");
    }
}

#[test]
fn what_could_not_be_read_is_not_called_empty() {
    for bad in [512..1024, 2048..4096, 65536..66048] {
        let report = with_bad_bytes(&Image::blank(SIZE), bad);
        assert_eq!((report.status, report.table.health.word()), (Status::Unknown, "unknown"));
        assert!(finding(&report, Code::ReadError).message.contains("Input/output error"));
    }
}

#[test]
fn a_gpt_behind_an_empty_mbr_may_be_the_one_to_keep() {
    let mut image = gpt();
    image.put(446, &[0; 64]);
    let report = common::report(&image);
    assert_eq!(report.status, Status::Unpartitioned);
    assert!(finding(&report, Code::GptRemains).help.contains("what you want back"));
}

#[test]
fn a_disc_image_with_a_gpt_is_left_alone() {
    let mut image = Image::blank(SIZE);
    let kind = guid("EBD0A0A2-B9E5-4433-87C0-68B6B72699C7");
    // As xorriso makes it for installation images: a partition from the volume descriptor on.
    let entries = vec![GptEntry { kind, first: 64, last: 99_999, ..GptEntry::default() }];
    fixtures::gpt::write(&mut image, &GptSpec { entries, ..GptSpec::default() });
    image.put(0x8001, b"CD001");
    // Written to a larger stick.
    image.size = 2 * SIZE;
    let report = common::report(&image);
    finding(&report, Code::Isohybrid);
    assert!(finding(&report, Code::GptBackupMisplaced).help.contains("leave it"));
}

#[test]
fn a_stick_that_held_a_disc_image_before_is_an_ordinary_disk() {
    let mut image = gpt();
    image.put(0x8001, b"CD001");
    let report = common::report(&image);
    assert!(report.findings.iter().all(|finding| finding.code != Code::Isohybrid), "{:#?}", report.findings);
    assert_eq!(report.content, None);
}

#[test]
fn packed_and_whole_disk_formats_are_named() {
    let first = |bytes: &[u8]| {
        let mut image = Image::blank(SIZE);
        image.put(0, bytes);
        check::run(&Disk::image("image", common::memory(&image)), &Options::default())
    };
    for (bytes, name) in [
        (&b"\x02\x21\x4C\x18"[..], "an lz4 file"),
        (&b"\x51\x2A\x4D\x18"[..], "a zstd file"),
        (&b"\x5D\0\0\x80\0\xFF\xFF"[..], "an lzma file"),
    ] {
        assert!(first(bytes).expect_err(name).to_string().contains(name));
    }
    for (bytes, name) in [(&b"bluestore block device"[..], "Ceph BlueStore"), (&b"dmvdo001"[..], "VDO")] {
        assert_eq!(first(bytes).expect(name).content.map(|content| content.name), Some(name));
    }
}
