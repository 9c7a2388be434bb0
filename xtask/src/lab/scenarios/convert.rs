//! Disks with tables and file systems that move between 512-byte and 4096-byte sectors: the kernel and the other tools
//! find every partition where it was, and the way back gives every byte.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::at;
use crate::lab::console::Transcript;
use crate::lab::initramfs::alignck;
use crate::lab::judge::{
    Places, kernel_partitions, places, places_of_lsblk, places_of_ours, places_of_parted, places_of_sfdisk,
};
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(300);

/// A disk that moves.
struct Traveller {
    name: &'static str,
    mebibytes: u64,
    /// The devices for QEMU where it is made, and where it goes.
    devices: [&'static str; 2],
    /// The sectors it has there, in bytes.
    sectors: [u64; 2],
    table: &'static str,
    /// What makes the table.
    tool: &'static str,
    /// As that tool takes it.
    layout: &'static str,
    /// How the table is converted: as an image on the way, or by the device where it arrives.
    by: &'static str,
    /// Numbers of partitions, and what they hold.
    contents: &'static str,
}

const GPT: &str = "label: gpt\nstart=1MiB,size=9MiB\nstart=10MiB,size=18MiB\nstart=28MiB,size=4MiB\nstart=33MiB,size=2MiB\n";
/// The last one has five sectors of 4096 bytes, and is off every other grid.
const GPT_512: &str = "label: gpt\nstart=1MiB,size=9MiB\nstart=10MiB,size=18MiB\nstart=28MiB,size=4MiB\n\
    start=33MiB,size=4MiB\nstart=77848,size=40\n";
const GPT_SIZES: &str = "--size 9M --size 18M --size 4M --size 4M --size 20K";
const MBR: &str = "label: dos\nstart=1MiB,size=1MiB\nstart=2MiB,size=4MiB,type=c\nstart=7MiB,size=36MiB,type=5\n\
    start=8MiB,size=9MiB\nstart=18MiB,size=18MiB\nstart=38MiB,size=4MiB,type=e\n";
const MBR_SIZES: &str = "--size 1M --size 4M --size 20K --size 9M --size 18M --size 4M";
const IN_GPT: &str = "1:ext4 2:xfs 3:vfat 4:ext4-1k 5:raw";
const IN_MBR: &str = "1:raw 2:vfat 3:raw 5:ext4 6:xfs 7:vfat";

const TRAVELLERS: [Traveller; 5] = [
    Traveller {
        name: "gpt-to-nvme",
        mebibytes: 44,
        devices: [
            "virtio-blk-pci,physical_block_size=4096",
            "nvme,serial=lab-0,logical_block_size=4096,physical_block_size=4096",
        ],
        sectors: [512, 4096],
        table: "gpt",
        tool: "sfdisk",
        layout: GPT_512,
        by: "image",
        contents: IN_GPT,
    },
    Traveller {
        name: "mbr-to-virtio",
        mebibytes: 45,
        devices: ["virtio-blk-pci", "virtio-blk-pci,logical_block_size=4096,physical_block_size=4096"],
        sectors: [512, 4096],
        table: "mbr",
        tool: "sfdisk",
        layout: MBR,
        by: "device",
        contents: "1:raw 2:vfat 5:ext4 6:xfs 7:vfat",
    },
    Traveller {
        name: "gpt-to-scsi",
        mebibytes: 46,
        devices: [
            "ide-hd,bus=ide.0,physical_block_size=4096",
            "scsi-hd,bus=scsi.0,logical_block_size=4096,physical_block_size=4096",
        ],
        sectors: [512, 4096],
        table: "gpt",
        tool: "alignck",
        layout: GPT_SIZES,
        by: "device",
        contents: IN_GPT,
    },
    Traveller {
        name: "gpt-from-nvme",
        mebibytes: 47,
        devices: [
            "nvme,serial=lab-1,logical_block_size=4096,physical_block_size=4096",
            "ide-hd,bus=ide.0,physical_block_size=4096",
        ],
        sectors: [4096, 512],
        table: "gpt",
        tool: "sfdisk",
        layout: GPT,
        by: "image",
        contents: "1:ext4 2:xfs 3:vfat 4:raw",
    },
    Traveller {
        name: "mbr-from-scsi",
        mebibytes: 48,
        devices: ["scsi-hd,bus=scsi.0,logical_block_size=4096,physical_block_size=4096", "nvme,serial=lab-2"],
        sectors: [4096, 512],
        table: "mbr",
        tool: "alignck",
        layout: MBR_SIZES,
        by: "image",
        contents: IN_MBR,
    },
];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "convert")?;
    for traveller in &TRAVELLERS {
        let image = traveller.image(&folder);
        let file = File::create(&image).map_err(at(&image))?;
        file.set_len(traveller.mebibytes << 20).map_err(at(&image))?;
    }
    let made = machine(lab, &folder, "make", 0).run(LIMIT)?;
    let mut outcome = Outcome::of(&made);
    let mut conversions = Vec::new();
    for traveller in &TRAVELLERS {
        let (image, kept) = (traveller.image(&folder), traveller.kept(&folder));
        fs::copy(&image, &kept).map_err(at(&kept))?;
        conversions.push(
            (traveller.by == "image").then(|| convert_image(&image, traveller.sectors[1])).transpose()?,
        );
    }
    let moved = machine(lab, &folder, "moved", 1).run(LIMIT)?;
    outcome.add(&moved);
    for (traveller, conversion) in TRAVELLERS.iter().zip(conversions) {
        judge(&mut outcome, &made, &moved, traveller)?;
        let conversion = conversion.map_or_else(|| moved.json(&format!("convert/{}", traveller.name)), Ok)?;
        judge_warnings(&mut outcome, &conversion, traveller);
        let (image, kept) = (traveller.image(&folder), traveller.kept(&folder));
        let read = |path: &Path| fs::read(path).map_err(at(path));
        let (now, before) = (read(&image)?, read(&kept)?);
        let different = now.iter().zip(&before).position(|(now, before)| now != before);
        outcome.same(&format!("{}: the first byte that is not back", traveller.name), &different, &None);
        fs::remove_file(&kept).map_err(at(&kept))?;
    }
    Ok(outcome)
}

fn machine<'l>(lab: &'l Lab, folder: &Path, stage: &str, place: usize) -> Machine<'l> {
    let mut machine = Machine::new(lab, folder, stage, include_str!("../../../lab/convert.sh"));
    machine.file("stage", stage);
    machine.arguments(["-device", "virtio-scsi-pci,id=scsi"]);
    let mut list = String::new();
    for traveller in &TRAVELLERS {
        let Traveller { name, mebibytes, table, tool, by, contents, .. } = traveller;
        list.push_str(&format!("{name} {} {table} {tool} {by} {contents}\n", mebibytes * 2048));
        machine.file(name, traveller.layout);
        let back_end = format!("format=raw,file={}", traveller.image(folder).display());
        machine.disk(traveller.devices[place], &back_end);
    }
    machine.file("disks", list);
    machine
}

/// Converts it where no device says anything, and gives the document about it.
fn convert_image(image: &Path, to: u64) -> Result<Value, String> {
    let backup = image.with_extension("backup");
    let output = Command::new(alignck())
        .args(["convert", "--yes", "--json", "--to", &to.to_string(), "--backup"])
        .arg(&backup)
        .arg(image)
        .output()
        .map_err(at(image))?;
    let document = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(format!("{}: {document}", image.display()));
    }
    serde_json::from_str(&document).map_err(at(image))
}

impl Traveller {
    fn image(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.img", self.name))
    }

    /// The numbers of partitions, and the file systems in them.
    fn file_systems(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let pairs = self.contents.split(' ').filter_map(|content| content.split_once(':'));
        pairs
            .filter(|(_, kind)| *kind != "raw")
            .filter_map(|(number, kind)| Some((number.parse().ok()?, kind)))
    }

    /// Whether a file system from where it was made has smaller sectors, or blocks, than where it goes.
    fn is_too_small(&self, kind: &str) -> bool {
        self.sectors[1] == 4096 && kind != "ext4"
    }

    /// A copy from before the journey.
    fn kept(&self, folder: &Path) -> PathBuf {
        self.image(folder).with_extension("before")
    }
}

fn judge(outcome: &mut Outcome, made: &Transcript, moved: &Transcript, of: &Traveller) -> Result<(), String> {
    let name = of.name;
    let check = moved.json(&format!("check/{name}"))?;
    let disk = &check["disks"][0];
    let partitions = disk["partitions"].as_array().map_or(&[][..], Vec::as_slice);
    let containers: Vec<u64> = partitions
        .iter()
        .filter(|partition| partition["kind"] == "extended")
        .filter_map(|partition| partition["number"].as_u64())
        .collect();
    outcome.same(&format!("{name}: containers"), &containers.len(), &usize::from(of.table == "mbr"));
    // Of a container the kernel shows what an MBR of its sectors takes.
    let holding = |places: Places| -> Places {
        places.into_iter().filter(|(number, ..)| !containers.contains(number)).collect()
    };
    let starts = |places: &Places| -> Vec<(u64, u64)> {
        places.iter().map(|(number, start, _)| (*number, *start)).collect()
    };
    let before = places(&kernel_partitions(made.value(&format!("made/{name}"))?)?);
    let count = of.contents.split(' ').count();
    outcome.same(&format!("{name}: how many partitions"), &holding(before.clone()).len(), &count);

    let kernel = places(&kernel_partitions(moved.value(&format!("kernel/{name}"))?)?);
    let sfdisk = places_of_sfdisk(&moved.json(&format!("sfdisk/{name}"))?);
    let ours = places_of_ours(disk, of.sectors[1]);
    for (who, seen) in [("the kernel", kernel), ("sfdisk", sfdisk), ("the check", ours)] {
        outcome.same(&format!("{name}: where {who} has them"), &starts(&seen), &starts(&before));
        outcome.same(&format!("{name}: what {who} has"), &holding(seen), &holding(before.clone()));
    }
    let parted = places_of_parted(moved.value(&format!("parted/{name}"))?);
    outcome.same(&format!("{name}: what parted has"), &holding(parted), &holding(before.clone()));
    let lsblk = places_of_lsblk(&moved.json(&format!("lsblk/{name}"))?);
    outcome.same(&format!("{name}: what lsblk has"), &holding(lsblk), &holding(before));
    let verify = moved.value(&format!("verify/{name}"))?;
    outcome.check(verify.contains("No errors"), || format!("{name}: sfdisk --verify says: {verify}"));
    outcome.same(
        &format!("{name}: the partitions' checksums"),
        &moved.value(&format!("moved-checksums/{name}"))?,
        &made.value(&format!("checksums/{name}"))?,
    );
    outcome.same(&format!("{name}: the table"), &disk["table"]["health"], &Value::from("ok"));
    // With --force it is converted where the device has other sectors, and a check there says so.
    for moment in ["forced", "back"] {
        let forced =
            &(if moment == "forced" { made } else { moved }).json(&format!("{moment}/{name}"))?["disks"][0];
        let sector_size = &forced["table"]["sector_size"];
        let elsewhere = if moment == "forced" { of.sectors[1] } else { of.sectors[0] };
        outcome.same(&format!("{name}: the table ({moment})"), sector_size, &Value::from(elsewhere));
        let is_said = forced["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|finding| finding["code"] == "table-other-sector-size");
        outcome
            .check(is_said, || format!("{name}: that the table is for other sectors is not said ({moment})"));
    }

    for (number, kind) in of.file_systems() {
        let mounted = moved.value(&format!("mount/{name}/{number}"))?;
        // In the words of the kernel that the page of the finding quotes.
        let complaint = match kind {
            "xfs" => "device supports 4096 byte sectors (not 512)",
            "vfat" => "logical sector size too small for device",
            _ => "bad block size 1024",
        };
        let is_expected = match of.is_too_small(kind) {
            true => mounted.contains("refused") && mounted.contains(complaint),
            false => mounted.ends_with("mounted 0"),
        };
        outcome.check(is_expected, || format!("{name}: partition {number}: {mounted}"));
        // Where sectors have 512 bytes a check does not look into partitions.
        let is_named =
            disk["findings"].as_array().into_iter().flatten().any(|finding| {
                finding["code"] == "content-other-sector-size" && finding["partition"] == number
            });
        outcome.same(&format!("{name}: {kind} in {number} is named"), &is_named, &of.is_too_small(kind));
    }
    Ok(())
}

/// The conversion itself names what will not work: with Linux, or, FAT in larger sectors, with others.
fn judge_warnings(outcome: &mut Outcome, conversion: &Value, of: &Traveller) {
    let warnings = conversion["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    for (number, kind) in of.file_systems() {
        let is_named = |warning: &Value| {
            warning.as_str().is_some_and(|text| text.starts_with(&format!("partition {number} holds ")))
        };
        let expected = of.is_too_small(kind) || of.sectors[1] == 512 && kind == "vfat";
        let found = warnings.iter().any(is_named);
        outcome.same(&format!("{}: a warning of {kind} in {number}", of.name), &found, &expected);
    }
}
