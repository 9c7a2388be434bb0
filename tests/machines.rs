//! What Linux knows of disks, from recorded machines: sysfs trees with the bytes of the disks beside them.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use align_core::check::{self, Code, Finding, Options, Report, Status, Verdict};
use align_core::device::linux::Host;
use align_core::device::{Disk, Source};
use align_core::topology::Basis;
use fixtures::{GptEntry, GptSpec, Image, Logical, MbrEntry, guid};

const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
const ESP: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";

fn workstation() -> tempfile::TempDir {
    let root = common::scratch();
    fixtures::machine::lay_out("workstation", root.path()).unwrap();
    root
}

/// The MBR that the kernel of the recorded machine has read from `sda`.
fn sda() -> Image {
    let mut image = Image::blank(1_953_525_168 * 512);
    let primary = MbrEntry { boot: 0x80, kind: 0x83, start: 63, sectors: 20_971_521 };
    let container = MbrEntry { boot: 0, kind: 0x05, start: 20_973_568, sectors: 1_932_548_096 };
    fixtures::mbr::write(&mut image, 512, 0x10bd_10bc, &[primary, container]);
    let logical = Logical { ebr: 20_973_568, kind: 0x83, start: 20_975_616, sectors: 1_932_546_048 };
    fixtures::mbr::write_chain(&mut image, 512, 20_973_568, &[logical]);
    image
}

/// The GPT that the kernel has read from `sdb`, in sectors of 4096 bytes.
fn sdb() -> Image {
    let mut image = Image::blank(7_814_037_168 * 512);
    let entry =
        |slot, kind, first, last| GptEntry { slot, kind: guid(kind), first, last, ..GptEntry::default() };
    let entries = vec![entry(0, ESP, 256, 65791), entry(1, LINUX, 65792, 976_754_303)];
    fixtures::gpt::write(&mut image, &GptSpec { sector_size: 4096, entries, ..GptSpec::default() });
    image
}

fn report(root: &Path, name: &str) -> Report {
    let disk = Disk::open_on(&Host::recorded(root), root.join("dev").join(name)).unwrap();
    check::run(&disk, &Options::default()).unwrap()
}

fn finding(report: &Report, code: Code) -> Option<&Finding> {
    report.findings.iter().find(|finding| finding.code == code)
}

#[test]
fn all_lists_whole_disks_with_a_medium() {
    let root = workstation();
    let disks = Host::recorded(root.path()).whole_disks().unwrap();
    let names: Vec<_> = disks.iter().map(|disk| disk.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["md127", "dm-1", "sda", "sdb", "sdc", "sdd", "loop0", "nvme0n1"]);
}

#[test]
fn a_disk_that_the_kernel_has_read_gets_nodes_and_no_complaint() {
    let root = workstation();
    sda().write_to(&root.path().join("dev/sda")).unwrap();
    let report = report(root.path(), "sda");
    assert_eq!(report.source, Source::Block);
    assert_eq!(report.description.as_deref(), Some("WDC WD10EZEX-08W"));
    assert_eq!(report.status, Status::Misaligned);
    assert_eq!(report.topology.physical_basis, Basis::Reported);
    let nodes: Vec<_> = report.partitions.iter().map(|partition| partition.node.clone().unwrap()).collect();
    let expected =
        ["sda1", "sda2", "sda5"].map(|name| root.path().join("dev").join(name).display().to_string());
    assert_eq!(nodes, expected);
    assert_eq!(finding(&report, Code::KernelTableStale), None);
}

#[test]
fn sysfs_counts_in_512_byte_units_on_a_4kn_disk_too() {
    let root = workstation();
    sdb().write_to(&root.path().join("dev/sdb")).unwrap();
    let report = report(root.path(), "sdb");
    assert_eq!(report.status, Status::Aligned);
    assert_eq!(report.table.sector_size.map(|size| size.bytes()), Some(4096));
    assert_eq!(finding(&report, Code::KernelTableStale), None);
}

#[test]
fn a_kernel_that_uses_other_partitions_is_stale() {
    let root = workstation();
    sda().write_to(&root.path().join("dev/sda")).unwrap();
    let sys = root.path().join("sys/block/sda");

    fs::write(sys.join("sda1/start"), "2048\n").unwrap();
    let moved = report(root.path(), "sda");
    let message = &finding(&moved, Code::KernelTableStale).unwrap().message;
    assert!(message.contains("partition 1 begins at sector 63, for the kernel at 2048"), "{message}");

    fs::write(sys.join("sda1/start"), "63\n").unwrap();
    fs::write(sys.join("sda5/size"), "2048\n").unwrap();
    let resized = report(root.path(), "sda");
    let message = &finding(&resized, Code::KernelTableStale).unwrap().message;
    assert!(message.contains("partition 5 has 1932546048 sectors, for the kernel 2048"), "{message}");

    fs::remove_dir_all(sys.join("sda5")).unwrap();
    let missing = report(root.path(), "sda");
    let message = &finding(&missing, Code::KernelTableStale).unwrap().message;
    assert!(message.contains("partition 5 is not known to it"), "{message}");

    Image::blank(1_953_525_168 * 512).write_to(&root.path().join("dev/sda")).unwrap();
    let gone = report(root.path(), "sda");
    assert_eq!(gone.status, Status::Unpartitioned);
    assert!(finding(&gone, Code::KernelTableStale).is_some());
}

#[test]
fn a_device_that_the_kernel_does_not_scan_has_no_stale_view() {
    let root = workstation();
    let mut image = Image::blank(409_600 * 512);
    let entry = MbrEntry { boot: 0, kind: 0x83, start: 2048, sectors: 407_552 };
    fixtures::mbr::write(&mut image, 512, 1, &[entry]);
    image.write_to(&root.path().join("dev/loop0")).unwrap();
    let report = report(root.path(), "loop0");
    assert_eq!(report.description.as_deref(), Some("loop device on /var/lib/images/disk.img"));
    assert_eq!(finding(&report, Code::KernelTableStale), None);
}

#[test]
fn a_partition_leads_to_its_disk() {
    let root = workstation();
    sda().write_to(&root.path().join("dev/sda")).unwrap();
    fs::write(root.path().join("dev/sda5"), "").unwrap();
    let through_partition = report(root.path(), "sda5");
    assert_eq!(through_partition.path, root.path().join("dev/sda"));
    assert_eq!(through_partition.given_partition, Some(root.path().join("dev/sda5")));
    assert_eq!(through_partition.partitions.len(), 3);

    Image::blank(2_097_152 * 512).write_to(&root.path().join("dev/dm-1")).unwrap();
    fs::write(root.path().join("dev/dm-2"), "").unwrap();
    let through_kpartx = report(root.path(), "dm-2");
    assert_eq!(through_kpartx.path, root.path().join("dev/dm-1"));
    assert_eq!(through_kpartx.description.as_deref(), Some("device-mapper volume mpatha"));
}

#[test]
fn a_disk_that_may_not_be_opened_is_judged_by_what_the_kernel_shows() {
    let root = workstation();
    // A socket is there and cannot be opened, whoever tries.
    let _sockets: Vec<_> = ["sda", "sdb", "sdc", "sdd", "nvme0n1"]
        .map(|name| UnixListener::bind(root.path().join("dev").join(name)).unwrap())
        .into();

    let sda = report(root.path(), "sda");
    assert_eq!(sda.status, Status::Misaligned);
    assert_eq!(sda.table.label, None);
    assert_eq!(sda.table.health.word(), "unknown");
    let kinds: Vec<_> = sda.partitions.iter().map(|report| report.partition.kind.word()).collect();
    assert_eq!(kinds, ["primary", "extended", "logical"]);
    let message = &finding(&sda, Code::TableNotRead).unwrap().message;
    assert!(message.contains(&root.path().join("dev/sda").display().to_string()), "{message}");

    // On a 4Kn disk the LBAs are sectors of 4096 bytes, not the units of sysfs.
    let sdb = report(root.path(), "sdb");
    assert_eq!(sdb.status, Status::Aligned);
    assert_eq!(sdb.partitions[1].partition.first.number(), 65792);

    // What udev has recorded tells that the first partition is BIOS boot.
    let sdc = report(root.path(), "sdc");
    assert_eq!(sdc.status, Status::Aligned);
    assert_eq!(sdc.partitions[0].verdict, Verdict::Exempt);
    assert!(finding(&sdc, Code::HintImplausible).is_some());

    // Sector 63 is a physical boundary of this drive, though not one of its optimal size. Without a type a
    // small partition may be one that does not matter.
    let sdd = report(root.path(), "sdd");
    assert_eq!(sdd.topology.alignment_offset, 3584);
    let verdicts: Vec<_> = sdd.partitions.iter().map(|report| report.verdict).collect();
    assert_eq!(verdicts, [Verdict::Suboptimal, Verdict::Unknown]);
    assert_eq!(sdd.status, Status::Suboptimal);
    assert_eq!(report(root.path(), "nvme0n1").status, Status::Aligned);
}

#[test]
fn an_array_reports_its_grid() {
    let root = workstation();
    let _socket = UnixListener::bind(root.path().join("dev/md127")).unwrap();
    let report = report(root.path(), "md127");
    assert_eq!(report.description.as_deref(), Some("md array, raid5"));
    assert_eq!(report.topology.optimal_grid, Some(131_072));
    assert_eq!(report.status, Status::Aligned);
}

#[test]
fn a_machine_without_disks_says_so() {
    let root = common::scratch();
    fs::create_dir_all(root.path().join("sys/block")).unwrap();
    let output = common::alignck().args(["--all", "--json", "--sysroot"]).arg(root.path()).output().unwrap();
    let (document, exit) = common::json(&output);
    assert_eq!(exit, 2);
    let message = document["errors"][0]["message"].as_str().unwrap();
    assert_eq!(message, "--all: there is no disk with a medium on this machine");
}

#[test]
fn the_command_checks_all_of_a_recorded_machine() {
    let root = workstation();
    sda().write_to(&root.path().join("dev/sda")).unwrap();
    sdb().write_to(&root.path().join("dev/sdb")).unwrap();
    let output = common::alignck().args(["--all", "--json", "--sysroot"]).arg(root.path()).output().unwrap();
    let (document, exit) = common::json(&output);
    // The others of its disks have no node: that is an error each, and the two are checked all the same.
    assert_eq!(exit, 2);
    let checked: Vec<_> = document["disks"].as_array().unwrap().iter().map(|disk| &disk["status"]).collect();
    assert_eq!(checked, ["misaligned", "aligned"]);
    assert_eq!(document["errors"].as_array().unwrap().len(), 6);
}
