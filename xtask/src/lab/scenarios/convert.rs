//! Disks that go from sectors of one size to those of the other and back, with file systems in their partitions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::lab::console::Transcript;
use crate::lab::judge::{Places, kernel_partitions, places, places_of_ours, places_of_sfdisk};
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};
use crate::{at, root};

const LIMIT: Duration = Duration::from_secs(600);

/// A disk with its table, which begins and ends with the sectors of `born`.
struct Kind {
    name: &'static str,
    mebibytes: u64,
    born: u64,
    table: &'static str,
    /// Partitions with file systems, and whether those work on sectors of the other size.
    contents: &'static [(u64, &'static str, bool)],
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "gpt",
        mebibytes: 400,
        born: 512,
        table: "label: gpt\nstart=2048,size=40960,name=data\nstart=43008,size=20480\nstart=65536,size=700000\n\
                start=800000,size=1000\n",
        contents: &[(1, "ext4", true), (2, "vfat", false), (3, "xfs", false)],
    },
    Kind {
        name: "mbr",
        mebibytes: 64,
        born: 512,
        table: "label: dos\nstart=2048,size=40960\nstart=45056,size=80000,type=5\nstart=47104,size=30000\n\
                start=81920,size=20000\n",
        contents: &[(1, "ext4", true), (5, "ext4", true), (6, "vfat", false)],
    },
    Kind {
        name: "native",
        mebibytes: 64,
        born: 4096,
        table: "label: gpt\nstart=256,size=5120\nstart=5376,size=2560\n",
        contents: &[(1, "ext4", true)],
    },
];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "convert")?;
    for kind in &KINDS {
        let image = image(&folder, kind);
        let file = fs::File::create(&image).map_err(at(&image))?;
        file.set_len(kind.mebibytes << 20).map_err(at(&image))?;
    }
    let mut outcome = Outcome::default();
    let born = boot(lab, &folder, "born", |kind| kind.born, &["table", "make", "see", "here"])?;
    outcome.add(&born);
    for kind in &KINDS {
        let (old, image) = (folder.join(format!("{}.old", kind.name)), image(&folder, kind));
        fs::copy(&image, &old).map_err(at(&old))?;
        convert(&folder, kind, kind.born, other(kind.born))?;
    }
    let moved = boot(lab, &folder, "moved", |kind| other(kind.born), &["see"])?;
    outcome.add(&moved);
    for kind in &KINDS {
        compare(&mut outcome, kind, &born, &moved)?;
        convert(&folder, kind, other(kind.born), kind.born)?;
        let (old, image) = (folder.join(format!("{}.old", kind.name)), image(&folder, kind));
        let is_same = fs::read(&old).map_err(at(&old))? == fs::read(&image).map_err(at(&image))?;
        outcome.check(is_same, || format!("{}: there and back it is another disk", kind.name));
    }
    Ok(outcome)
}

fn other(size: u64) -> u64 {
    if size == 512 { 4096 } else { 512 }
}

fn image(folder: &Path, kind: &Kind) -> PathBuf {
    folder.join(format!("{}.img", kind.name))
}

/// A machine in which each disk has sectors of the size that `size` says, and the steps are done with each.
fn boot(
    lab: &Lab,
    folder: &Path,
    name: &str,
    size: impl Fn(&Kind) -> u64,
    steps: &[&str],
) -> Result<Transcript, String> {
    let mut machine = Machine::new(lab, folder, name, include_str!("../../../lab/convert.sh"));
    machine.arguments(["-device", "virtio-scsi-pci"]);
    let mut list = String::new();
    for kind in &KINDS {
        let back_end = format!("format=raw,file={}", image(folder, kind).display());
        let device = if size(kind) == 512 { "scsi-hd" } else { "nvme" };
        let sizes = format!("logical_block_size={},physical_block_size=4096", size(kind));
        machine.disk(&format!("{device},serial=lab-{},{sizes}", kind.name), &back_end);
        for step in steps {
            list.push_str(&format!("{step} {} {}\n", kind.name, other(size(kind))));
        }
        machine.file(&format!("table-{}", kind.name), kind.table);
        for (number, file_system, _) in kind.contents {
            machine.file(&format!("fs-{}-{number}", kind.name), format!("{file_system}\n"));
        }
    }
    machine.file("steps", list);
    machine.run(LIMIT)
}

/// Converts the image on this machine, as somebody without privileges could.
fn convert(folder: &Path, kind: &Kind, from: u64, to: u64) -> Result<(), String> {
    let alignck = root().join("target/debug/alignck");
    let output = Command::new(&alignck)
        .args(["convert", "--yes", "--to", &to.to_string(), "-t", &format!("logical={from}")])
        .arg(image(folder, kind))
        .env("XDG_STATE_HOME", folder)
        .output()
        .map_err(at(&alignck))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{}: it cannot be converted to {to}: {complaint}", kind.name))
}

fn compare(outcome: &mut Outcome, kind: &Kind, born: &Transcript, moved: &Transcript) -> Result<(), String> {
    let name = kind.name;
    let seen = |transcript: &Transcript, size: u64| -> Result<[Places; 3], String> {
        let kernel = kernel_partitions(transcript.value(&format!("kernel/{name}"))?)?;
        let sfdisk = places_of_sfdisk(&transcript.json(&format!("sfdisk/{name}"))?);
        let ours = transcript.json(&format!("check/{name}"))?;
        Ok([places(&kernel), sfdisk, places_of_ours(&ours["disks"][0], size)])
    };
    let (before, after) = (seen(born, kind.born)?, seen(moved, other(kind.born))?);
    outcome.check(!before[0].is_empty(), || format!("{name}: the kernel sees no partitions"));
    for (who, after) in ["the kernel", "sfdisk", "alignck"].iter().zip(&after) {
        // Of a container the kernel shows two sectors of its own.
        let without_containers =
            |places: &Places| -> Places { places.iter().copied().filter(|(_, _, size)| *size > 8).collect() };
        outcome.same(
            &format!("{name}: the bytes of the partitions by {who}"),
            &without_containers(after),
            &without_containers(&before[0]),
        );
    }
    let ranges = |transcript: &Transcript| -> Result<Vec<String>, String> {
        let printed = transcript.value(&format!("parted/{name}"))?;
        let lines = printed.split(';').skip(2).filter(|line| !line.trim().is_empty());
        Ok(lines.map(|line| line.split(':').take(4).collect::<Vec<_>>().join(":")).collect())
    };
    outcome.same(&format!("{name}: the bytes of the partitions by parted"), &ranges(moved)?, &ranges(born)?);
    let document = moved.json(&format!("check/{name}"))?;
    let disk = &document["disks"][0];
    outcome.same(&format!("{name}: its health"), &disk["table"]["health"], &json!("ok"));
    outcome.same(&format!("{name}: its unit"), &disk["table"]["sector_size"], &json!(other(kind.born)));
    for (number, file_system, works) in kind.contents {
        let key = format!("sums/{name}/{number}");
        let expected = if *works { born.value(&key)? } else { "refused" };
        outcome.same(&format!("{name}: the files of {file_system} {number}"), &moved.value(&key)?, &expected);
        let warned = findings(disk, *number).any(|code| code == "content-other-sector-size");
        outcome.same(&format!("{name}: {file_system} {number} is warned of"), &warned, &!works);
    }
    let forced = born.json(&format!("forced/{name}"))?;
    let codes: Vec<&Value> = forced["disks"][0]["findings"].as_array().into_iter().flatten().collect();
    let is_named = codes.iter().any(|finding| finding["code"] == "table-other-sector-size");
    outcome.check(is_named, || format!("{name}: forced here, it is not named: {codes:?}"));
    Ok(())
}

fn findings(disk: &Value, partition: u64) -> impl Iterator<Item = &str> {
    let findings = disk["findings"].as_array().into_iter().flatten();
    findings
        .filter(move |finding| finding["partition"] == partition)
        .filter_map(|finding| finding["code"].as_str())
}
