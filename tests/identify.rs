//! What drives say of themselves, from recorded machines: answers as the standards lay them out, beside what the
//! kernel shows of the same disk.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use align_core::check::{self, Code, Finding, Options, Report, Status, Verdict};
use align_core::device::Disk;
use align_core::device::identify::{Question, Unread};
use align_core::device::linux::Host;
use align_core::plan::{Request, TableKind};
use align_core::topology::{Basis, Reported};
use align_core::units::{PhysicalSize, Size};
use align_core::write::{Proposal, Wishes};
use fixtures::{Image, MbrEntry};

const TB: u64 = 1_953_525_168;

/// A machine with one disk that says 512/512 to the kernel, with a partition at `start`.
struct Machine {
    root: tempfile::TempDir,
    name: &'static str,
}

impl Machine {
    fn new(name: &'static str, subsystem: &str, sectors: u64, start: u32) -> Self {
        let root = common::scratch();
        let machine = Self { root, name };
        let dir = machine.dir();
        fs::create_dir_all(dir.join("device")).unwrap();
        fs::create_dir_all(machine.root.path().join("dev")).unwrap();
        symlink(format!("../../../../bus/{subsystem}"), dir.join("device/subsystem")).unwrap();
        machine.set("size", &sectors.to_string());
        machine.set("ext_range", "1");
        machine.kernel(512, 512, 0);
        let mut image = Image::blank(sectors * 512);
        fixtures::mbr::write(&mut image, 512, 1, &[MbrEntry { boot: 0, kind: 0x83, start, sectors: 20_480 }]);
        image.write_to(&machine.node()).unwrap();
        machine
    }

    fn sata(start: u32) -> Self {
        Self::new("sda", "scsi", TB, start)
    }

    fn dir(&self) -> PathBuf {
        self.root.path().join("sys/block").join(self.name)
    }

    fn node(&self) -> PathBuf {
        self.root.path().join("dev").join(self.name)
    }

    fn set(&self, attribute: &str, text: &str) {
        write(&self.dir().join(attribute), format!("{text}\n").as_bytes());
    }

    fn kernel(&self, logical: u64, physical: u64, offset: i64) {
        self.set("queue/logical_block_size", &logical.to_string());
        self.set("queue/physical_block_size", &physical.to_string());
        self.set("queue/minimum_io_size", &physical.to_string());
        self.set("queue/optimal_io_size", "0");
        self.set("alignment_offset", &offset.to_string());
    }

    fn says(&self, file: &str, answer: &[u8]) {
        write(&self.dir().join("identify").join(file), answer);
    }

    fn report(&self) -> Report {
        self.report_as(&Options::default())
    }

    fn report_as(&self, options: &Options) -> Report {
        let disk = Disk::open_on(&Host::recorded(self.root.path()), self.node()).unwrap();
        check::run(&disk, options).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> std::process::Output {
        let sysroot = ["--sysroot", self.root.path().to_str().unwrap()];
        common::alignck().args(sysroot).args(arguments).arg(self.node()).output().unwrap()
    }
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// IDENTIFY DEVICE with these words, and a right checksum (ACS-4, 7.13.6).
fn ata(model: &str, words: &[(usize, u16)]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    let padded = format!("{model:<40}");
    for (at, pair) in padded.as_bytes().chunks(2).enumerate() {
        bytes[54 + 2 * at..56 + 2 * at].copy_from_slice(&[pair[1], pair[0]]);
    }
    for (word, value) in words {
        bytes[word * 2..word * 2 + 2].copy_from_slice(&value.to_le_bytes());
    }
    bytes[510] = 0xA5;
    bytes[511] = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg();
    bytes
}

/// READ CAPACITY (16): logical block length, exponent, lowest aligned LBA (SBC-4, 5.20).
fn capacity(logical: u32, exponent: u8, lowest: u8) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[..8].copy_from_slice(&(TB - 1).to_be_bytes());
    bytes[8..12].copy_from_slice(&logical.to_be_bytes());
    (bytes[13], bytes[15]) = (exponent, lowest);
    bytes
}

fn finding(report: &Report, code: Code) -> Option<&Finding> {
    report.findings.iter().find(|finding| finding.code == code)
}

fn physical(report: &Report) -> (u64, Basis) {
    (report.topology.physical.bytes(), report.topology.physical_basis)
}

#[test]
fn a_drive_with_its_jumper_set_is_judged_by_its_own_offset() {
    let machine = Machine::sata(63);
    machine.kernel(512, 4096, 0);
    machine.says("ata", &ata("WDC WD20EARS-00MVWB0", &[(106, 0x6003), (209, 0x4001)]));
    let report = machine.report();
    assert_eq!(physical(&report), (4096, Basis::Identified));
    assert_eq!((report.topology.alignment_offset, report.topology.offset_basis), (3584, Basis::Identified));
    // 63 = 7 modulo 8: exactly what the jumper is for.
    assert_eq!(report.partitions[0].verdict, Verdict::Aligned);
    let message = &finding(&report, Code::DriveAndKernelDisagree).unwrap().message;
    assert!(message.contains("alignment offset is 0 bytes, the drive itself says 3584"), "{message}");

    let modern = Machine::sata(2048);
    modern.kernel(512, 4096, 3584);
    modern.says("ata", &ata("WDC WD20EARS-00MVWB0", &[(106, 0x6003), (209, 0x4001)]));
    let report = modern.report();
    assert_eq!((report.status, report.partitions[0].remainder), (Status::Misaligned, 512));
    assert_eq!(finding(&report, Code::DriveAndKernelDisagree), None);
}

#[test]
fn behind_a_bridge_that_says_512_the_drive_is_heard() {
    let machine = Machine::sata(63);
    machine.says("ata", &ata("ST1000LM024 HN-M101MBB", &[(106, 0x6003), (209, 0x4000), (217, 5400)]));
    let report = machine.report();
    assert_eq!(physical(&report), (4096, Basis::Identified));
    assert_eq!(report.topology.reported.rpm, Some(5400));
    assert_eq!(report.partitions[0].remainder, 3584);
    assert_eq!(finding(&report, Code::PhysicalSizeAssumed), None);
    let message = &finding(&report, Code::DriveAndKernelDisagree).unwrap().message;
    let expected = "physical sector size is 512 bytes, the drive itself says 4096; judged by 4096";
    assert!(message.contains(expected), "{message}");

    let output = machine.command(&["--json"]);
    let (document, exit) = common::json(&output);
    assert_eq!(exit, 1);
    let topology = &document["disks"][0]["topology"];
    assert_eq!(topology["physical_basis"], "identified");
    assert_eq!(topology["identified"]["physical"], 4096);
    assert_eq!(topology["identified"]["answered"][0], "ATA IDENTIFY DEVICE");
    assert_eq!(topology["reported"]["physical"], 512);
    let text = String::from_utf8(machine.command(&[]).stdout).unwrap();
    assert!(text.contains("Drive    says sectors of 512 / 4096 bytes, 5400 rpm"), "{text}");
    assert!(text.contains("physical sectors of 4096 bytes (identified)"), "{text}");
}

#[test]
fn where_the_kernel_says_more_the_larger_size_counts() {
    let machine = Machine::sata(63);
    machine.kernel(512, 4096, 0);
    machine.says("ata", &ata("OLD DRIVE", &[(106, 0x4000)]));
    let report = machine.report();
    assert_eq!(physical(&report), (4096, Basis::Reported));
    assert!(finding(&report, Code::DriveAndKernelDisagree).is_some());

    // A bridge that shows sectors of 4096 bytes: LBAs count in them, whatever the drive has.
    let translating = Machine::sata(256);
    translating.kernel(4096, 4096, 0);
    translating.says("ata", &ata("WDC WD30EZRX-00MMMB0", &[(106, 0x6003)]));
    let report = translating.report();
    assert_eq!((report.topology.logical.bytes(), report.topology.logical_basis), (4096, Basis::Reported));
    assert_eq!(physical(&report), (4096, Basis::Identified));
    let message = &finding(&report, Code::DriveAndKernelDisagree).unwrap().message;
    assert!(message.contains("logical sector size is 4096 bytes, the drive itself says 512"), "{message}");
}

#[test]
fn a_small_disk_that_rotates_by_its_own_word_may_have_512() {
    let rotating = ata("ST340014A", &[(106, 0x4000), (217, 7200)]);
    let machine = Machine::new("sda", "scsi", 78_165_360, 63);
    machine.says("ata", &rotating);
    let report = machine.report();
    assert_eq!(physical(&report), (512, Basis::Identified));
    assert_eq!(report.status, Status::Aligned);

    let large = Machine::sata(63);
    large.says("ata", &rotating);
    assert_eq!(physical(&large.report()), (4096, Basis::Assumed));

    let flash = Machine::new("sda", "scsi", 78_165_360, 63);
    flash.says("ata", &ata("SSD", &[(106, 0x4000), (217, 1)]));
    assert_eq!(physical(&flash.report()), (4096, Basis::Assumed));
}

#[test]
fn answers_that_are_none_change_nothing_and_are_named() {
    let good = ata("WDC WD20EZRX-00DC0B0", &[(106, 0x6003), (209, 0x4001), (217, 5400)]);
    let mut flipped = good.clone();
    flipped[100] ^= 4;
    let noise: Vec<u8> = (0..512_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 & 0x7F).collect();
    let cases = [
        (flipped, Unread::BadChecksum),
        (vec![0; 512], Unread::Blank),
        (vec![0xFF; 512], Unread::Blank),
        (good[..36].to_vec(), Unread::Short { len: 36, needed: 512 }),
        (Vec::new(), Unread::Short { len: 0, needed: 512 }),
        (noise, Unread::Garbage("the model is no text")),
    ];
    for (answer, why) in cases {
        let machine = Machine::sata(2048);
        let silent = machine.report();
        machine.says("ata", &answer);
        let report = machine.report();
        assert_eq!(report.topology, silent.topology);
        assert_eq!(report.findings, silent.findings);
        assert_eq!(report.identification.unread, [(Question::AtaIdentify, why.clone())]);
        let text = String::from_utf8(machine.command(&[]).stdout).unwrap();
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(&format!("Drive ATA IDENTIFY DEVICE: {why}")), "{text}");
    }
}

#[test]
fn a_model_that_is_known_to_misreport_is_judged_by_what_it_has() {
    let machine = Machine::sata(63);
    // As the kernel has it: cut after 16 characters.
    machine.set("device/model", "WDC WD10EARS-00Y");
    let report = machine.report();
    assert_eq!(physical(&report), (4096, Basis::KnownModel));
    assert_eq!(report.status, Status::Misaligned);
    let message = &finding(&report, Code::StartOffPhysical).unwrap().message;
    assert!(message.contains("this model is known to have them"), "{message}");
    assert_eq!(finding(&report, Code::PhysicalSizeAssumed), None);

    // The drive's own word, where that is the same lie.
    machine.set("device/model", "USB 3.0 bridge");
    machine.says("ata", &ata("WDC WD10EARS-00Y5B1", &[(106, 0x4000)]));
    assert_eq!(physical(&machine.report()), (4096, Basis::KnownModel));
    let (document, _) = common::json(&machine.command(&["--json"]));
    assert_eq!(document["disks"][0]["topology"]["physical_basis"], "known-model");
}

#[test]
fn what_the_user_says_goes_before_the_drive() {
    let machine = Machine::sata(63);
    machine.says("ata", &ata("WDC WD20EARS-00MVWB0", &[(106, 0x6003), (209, 0x4001), (217, 5400)]));
    let forced = Options { physical: PhysicalSize::new(512), ..Options::default() };
    assert_eq!(physical(&machine.report_as(&forced)), (512, Basis::Forced));

    let pretend = Reported { physical: Some(8192), alignment_offset: Some(0), ..Reported::default() };
    let report = machine.report_as(&Options { pretend, ..Options::default() });
    assert_eq!(physical(&report), (8192, Basis::Reported));
    assert_eq!(report.topology.alignment_offset, 0);
    assert_eq!(finding(&report, Code::DriveAndKernelDisagree), None);
}

#[test]
fn a_scsi_disk_says_its_lowest_aligned_lba() {
    let machine = Machine::sata(63);
    machine.says("readcap16", &capacity(512, 3, 7));
    let mut limits = vec![0, 0xB0, 0, 0x3C];
    limits.resize(64, 0);
    limits[12..16].copy_from_slice(&1024_u32.to_be_bytes());
    machine.says("vpd-b0", &limits);
    let mut characteristics = vec![0, 0xB1, 0, 0x3C, 0x2A, 0x30];
    characteristics.resize(64, 0);
    machine.says("vpd-b1", &characteristics);
    let report = machine.report();
    assert_eq!(physical(&report), (4096, Basis::Identified));
    assert_eq!(report.topology.alignment_offset, 3584);
    assert_eq!(report.topology.optimal_grid, Some(524_288));
    assert_eq!(report.topology.reported.rpm, Some(10_800));
    assert_eq!(report.partitions[0].remainder, 0);
    assert_eq!(finding(&report, Code::BetterLbaFormat), None);

    let lengths = [0, 0xB4, 0, 16, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0];
    machine.says("vpd-b4", &lengths);
    let help = &finding(&machine.report(), Code::BetterLbaFormat).unwrap().help.clone();
    assert!(help.contains("sg_format --format --size=4096"), "{help}");
    assert!(help.contains("ERASES EVERYTHING"), "{help}");
}

#[test]
fn an_nvme_drive_names_a_better_format() {
    let machine = Machine::new("nvme0n1", "nvme", TB, 63);
    let mut namespace = vec![0; 4096];
    namespace[..8].copy_from_slice(&TB.to_le_bytes());
    (namespace[24], namespace[25]) = (1 << 4, 1);
    // Formats: 512 bytes, "good"; 4096 bytes, "best". Preferred writes of 8 sectors.
    namespace[64..66].copy_from_slice(&7_u16.to_le_bytes());
    namespace[128..136].copy_from_slice(&[0, 0, 9, 2, 0, 0, 12, 0]);
    machine.says("nvme-ns", &namespace);
    let report = machine.report();
    let found = finding(&report, Code::BetterLbaFormat).unwrap();
    assert!(found.message.contains("4096 bytes (LBA format 1) \"best\""), "{}", found.message);
    assert!(found.help.contains("--lbaf=1` would do it, and ERASES EVERYTHING"), "{}", found.help);
    assert_eq!(physical(&report), (4096, Basis::Identified));
    assert_eq!(report.status, Status::Misaligned);
    // That the preference is no physical sector is not a disagreement.
    assert_eq!(finding(&report, Code::DriveAndKernelDisagree), None);

    namespace[26] = 1;
    let in_use = Machine::new("nvme0n1", "nvme", TB, 2048);
    in_use.kernel(4096, 4096, 0);
    in_use.says("nvme-ns", &namespace);
    assert_eq!(finding(&in_use.report(), Code::BetterLbaFormat), None);
}

#[test]
fn what_is_no_drive_is_not_asked() {
    for (name, subsystem) in [("vda", "virtio"), ("mmcblk0", "mmc"), ("sda", "block")] {
        let machine = Machine::new(name, subsystem, TB, 2048);
        machine.says("ata", &ata("WDC WD20EARS-00MVWB0", &[(106, 0x6003), (209, 0x4001)]));
        let report = machine.report();
        assert!(report.identification.is_empty(), "{name}");
        assert_eq!(physical(&report), (4096, Basis::Assumed));
    }
    // An optical drive is SCSI as well.
    let optical = Machine::sata(2048);
    optical.set("device/type", "5");
    optical.says("ata", &ata("WDC WD20EARS-00MVWB0", &[(106, 0x6003)]));
    assert!(optical.report().identification.is_empty());
}

#[test]
fn every_document_fits_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/alignck-check.json");
    let schema = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let machine = Machine::sata(63);
    for answer in [ata("WDC WD10EARS-00Y5B1", &[(106, 0x4000)]), ata("X", &[(106, 0x6003)]), vec![0; 512]] {
        machine.says("ata", &answer);
        let (document, _) = common::json(&machine.command(&["--json"]));
        let complaints: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(complaints, Vec::<String>::new());
    }
}

#[test]
fn a_plan_follows_the_drive_and_is_rehearsed_by_its_word() {
    let machine = Machine::new("sda", "scsi", 2_097_152, 2048);
    machine.kernel(512, 4096, 0);
    machine.says("ata", &ata("WDC WD20EARS-00MVWB0", &[(106, 0x6003), (209, 0x4001)]));
    let disk = Disk::open_on(&Host::recorded(machine.root.path()), machine.node()).unwrap();
    let wishes = Wishes::default();
    let medium = Proposal::medium(&disk, &wishes.options).unwrap();
    let layout = Request::new(TableKind::Mbr, [Size::Bytes(100 << 20)]).lay_out(&medium).unwrap();
    assert_eq!(layout.partitions[0].first.number(), 2055);
    let proposal = Proposal::of_layout(&disk, &layout, &wishes).unwrap();
    assert_eq!(proposal.after.topology.alignment_offset, 3584);
    assert_eq!((proposal.after.status, proposal.after.partitions[0].remainder), (Status::Aligned, 0));
}
