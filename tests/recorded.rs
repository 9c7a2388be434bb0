//! Tables that real tools wrote, recorded as text: what we read is what those tools print.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use align_core::check::{self, Options, Report, Status};
use align_core::device::Disk;
use align_core::topology::Reported;
use fixtures::Recorded;

fn report(recorded: &Recorded) -> Report {
    let pretend = Reported { logical: Some(recorded.sector_size), ..Reported::default() };
    common::report_as(&recorded.image(), pretend)
}

fn refusal(name: &str) -> String {
    let image = fixtures::recorded::named(name).image();
    let disk = Disk::image(name, common::memory(&image));
    check::run(&disk, &Options::default()).expect_err(name).to_string()
}

#[test]
fn numbers_starts_sizes_and_types_are_those_that_the_tools_print() {
    let mut compared = 0;
    for recorded in fixtures::recorded::all() {
        if recorded.listing.is_empty() {
            continue;
        }
        let report = report(&recorded);
        let found: Vec<_> = report
            .partitions
            .iter()
            .map(|report| {
                let partition = &report.partition;
                let kind = partition.type_.code().unwrap_or_default();
                let bare = kind.trim_start_matches("0x").trim_start_matches('0').to_ascii_lowercase();
                (partition.number, partition.first.number(), partition.sectors().unwrap_or(0), bare)
            })
            .collect();
        let listed: Vec<_> = recorded
            .listing
            .iter()
            .map(|listed| {
                let bare = listed.kind.trim_start_matches('0').to_ascii_lowercase();
                (listed.number, listed.start, listed.sectors, bare)
            })
            .collect();
        assert_eq!(found, listed, "{} by {}", recorded.name, recorded.made_by);
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} recordings with a listing");
}

#[test]
fn tables_that_real_tools_wrote_are_healthy() {
    let by_tools = |recorded: &Recorded| {
        let tables = ["sfdisk-", "fdisk-", "parted-", "sgdisk-"];
        tables.iter().any(|tool| recorded.name.starts_with(tool)) && !recorded.name.ends_with("-grown")
    };
    for recorded in fixtures::recorded::all().iter().filter(|recorded| by_tools(recorded)) {
        let report = report(recorded);
        assert_eq!(report.table.health.word(), "ok", "{}: {:#?}", recorded.name, report.findings);
    }
}

#[test]
fn a_grown_image_is_stale_and_works() {
    let report = report(&fixtures::recorded::named("sfdisk-gpt-grown"));
    assert_eq!(report.table.health.word(), "stale");
    let codes = common::codes(&report);
    assert!(codes.contains(&"gpt-backup-misplaced"), "{codes:?}");
    assert!(codes.contains(&"gpt-protective-mbr-stale"), "{codes:?}");
}

#[test]
fn an_mbr_over_an_old_gpt_counts_and_the_remains_are_named() {
    let report = report(&fixtures::recorded::named("sfdisk-mbr-over-gpt"));
    assert_eq!(report.table.label.map(|label| label.word()), Some("mbr"));
}

#[test]
fn a_hybrid_is_a_gpt() {
    let report = report(&fixtures::recorded::named("sgdisk-gpt-hybrid"));
    assert_eq!(report.table.label.map(|label| label.word()), Some("gpt"));
    assert!(common::codes(&report).contains(&"gpt-hybrid-mbr"));
}

#[test]
fn a_disk_without_a_table_is_named_by_what_it_holds() {
    for (name, content) in [
        ("mkfs-fat", "FAT"),
        ("mkfs-ntfs", "NTFS"),
        ("mkfs-ext4", "ext4"),
        ("mkfs-xfs", "XFS"),
        ("mkswap", "swap"),
        ("cryptsetup-luks2", "LUKS"),
    ] {
        let report = common::report(&fixtures::recorded::named(name).image());
        assert_eq!(report.status, Status::Unpartitioned, "{name}");
        assert_eq!(report.table.label.map(|label| label.word()), Some("none"), "{name}");
        assert_eq!(report.content.map(|content| content.name), Some(content), "{name}");
        assert_eq!(report.table.health.word(), "ok", "{name}");
    }
}

#[test]
fn a_fat_that_brings_a_table_of_its_own_has_a_partition_at_0() {
    let report = common::report(&fixtures::recorded::named("mkfs-fat-mbr").image());
    assert_eq!(report.table.label.map(|label| label.word()), Some("mbr"));
    assert_eq!(report.partitions[0].partition.first.number(), 0);
    assert_eq!(report.table.health.word(), "ok", "{:?}", report.findings);
}

#[test]
fn isohybrid_images_are_no_damage() {
    for name in ["xorriso-isohybrid", "xorriso-isohybrid-efi"] {
        let report = common::report(&fixtures::recorded::named(name).image());
        assert_eq!(report.table.label.map(|label| label.word()), Some("mbr"), "{name}");
        assert_eq!(report.table.health.word(), "ok", "{name}: {:#?}", report.findings);
        assert!(common::codes(&report).contains(&"isohybrid"), "{name}");
    }
}

#[test]
fn foreign_containers_are_refused_by_name() {
    for (file, name) in [
        ("qemu-qcow2", "a qcow2 image"),
        ("qemu-vmdk", "a VMDK image"),
        ("qemu-vhd", "a VHD image"),
        ("qemu-vhd-fixed", "a fixed VHD image"),
        ("qemu-vhdx", "a VHDX image"),
        ("qemu-vdi", "a VDI image"),
        ("gzip", "a gzip file"),
        ("xz", "an xz file"),
        ("zstd", "a zstd file"),
    ] {
        let refusal = refusal(file);
        assert!(refusal.contains(&format!("this is {name}, not a disk")), "{refusal}");
    }
}
