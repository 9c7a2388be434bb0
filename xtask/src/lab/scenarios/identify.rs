//! What drives say of themselves, asked for real: against what QEMU and scsi_debug were told to be, and what the kernel
//! makes of it.

use std::fs::File;
use std::time::Duration;

use serde_json::{Value, json};

use super::drives::{Asked, CONTROLLERS, DEBUG_DRIVES, DRIVES, Drive};
use crate::at;
use crate::lab::console::Transcript;
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(300);
pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "identify")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/identify.sh"));
    machine.arguments(CONTROLLERS.iter().flat_map(|controller| ["-device", controller]));
    for drive in &DRIVES {
        let image = folder.join(format!("{}.img", drive.name));
        let file = File::create(&image).map_err(at(&image))?;
        file.set_len(drive.size).map_err(at(&image))?;
        machine.disk(drive.device, &format!("format=raw,discard=unmap,file={}", image.display()));
    }
    let list = DRIVES.iter().map(|drive| {
        let hide = if drive.asked == Asked::AtaItself { "hide" } else { "" };
        format!("{} {} {hide}\n", drive.name, drive.size / 512)
    });
    machine.file("drives", list.collect::<String>());
    let list = DEBUG_DRIVES.iter().map(|drive| format!("{} {}\n", drive.name, drive.device));
    machine.file("debug-drives", list.collect::<String>());
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for drive in DRIVES.iter().chain(&DEBUG_DRIVES) {
        judge(&mut outcome, &transcript, drive)?;
    }
    let unreadable = &transcript.json("unreadable")?["disks"][0];
    let reason = findings(unreadable, "table-not-read");
    outcome.same("unreadable: that it is said", &reason.len(), &1);
    outcome.check(reason.iter().any(|finding| finding.to_string().contains("Permission denied")), || {
        format!("unreadable: the reason is {reason:?}")
    });
    // sata-512e, whose answer the kernel has.
    outcome.same("unreadable: the drive's own word", &identified(&unreadable["topology"]), &DRIVES[1].drive);
    outcome.same("unreadable: the status", &unreadable["status"], &json!("unknown"));
    Ok(outcome)
}

fn judge(outcome: &mut Outcome, said: &Transcript, drive: &Drive) -> Result<(), String> {
    let name = drive.name;
    let limits = said.value(&format!("limits/{name}"))?;
    let limits: Vec<i64> = limits.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [logical, physical, _, optimal, offset] = limits[..] else {
        return Err(format!("{name}: {limits:?}"));
    };
    outcome.same(&format!("{name}: the kernel's sizes"), &[logical, physical, offset], &drive.kernel);

    let check = said.json(&format!("check/{name}"))?;
    let disk = &check["disks"][0];
    let topology = &disk["topology"];
    let [by_kernel_logical, by_kernel_physical, by_kernel_offset] = drive.kernel;
    let reported = ["logical", "physical", "alignment_offset"].map(|key| &topology["reported"][key]);
    let kernel = [by_kernel_logical, by_kernel_physical, by_kernel_offset].map(Value::from);
    outcome.same(&format!("{name}: the kernel's word"), &reported, &kernel.each_ref());
    let own = identified(topology);
    outcome.same(&format!("{name}: the drive's own word"), &own, &drive.drive);
    let (size, first, basis) = drive.counts;
    let effective = ["physical", "alignment_offset"].map(|key| topology["effective"][key].as_u64());
    outcome.same(&format!("{name}: what counts"), &effective, &[Some(size), Some(first)]);
    outcome.same(&format!("{name}: why"), &topology["physical_basis"], &json!(basis));
    // What the drive prefers, or the kernel for it; a preference that is no multiple, or the placeholder, is none.
    let preference = drive.drive[4].or(u64::try_from(optimal).ok().filter(|optimal| *optimal > 0));
    let preference = preference.filter(|optimal| optimal.is_multiple_of(size) && *optimal != 33_553_920);
    outcome.same(&format!("{name}: the grid"), &topology["effective"]["optimal_grid"].as_u64(), &preference);

    // A partition at sector 63, by what the drive was told to be.
    let unit = u64::try_from(logical).unwrap_or(512);
    let past = (63 * unit).wrapping_sub(first) % size;
    outcome.same(&format!("{name}: past a boundary"), &disk["partitions"][0]["remainder"], &json!(past));
    let verdict = &disk["partitions"][0]["verdict"];
    outcome.check((verdict == "misaligned") == (past > 0), || format!("{name}: the verdict is {verdict}"));

    let differ = |kernel: i64, own: Option<u64>| own.is_some_and(|own| i64::try_from(own) != Ok(kernel));
    let disagreements = drive.kernel.iter().zip(drive.drive).filter(|(kernel, own)| differ(**kernel, *own));
    let found = findings(disk, "drive-and-kernel-disagree");
    outcome.same(&format!("{name}: contradictions"), &found.len(), &disagreements.count());
    // QEMU's namespaces have a format of 4096 bytes and call all their formats equally fast.
    outcome.same(&format!("{name}: better formats"), &findings(disk, "better-lba-format").len(), &0);
    if drive.name == "sata-known" {
        outcome.same(
            &format!("{name}: the model"),
            &topology["identified"]["model"],
            &json!("WDC WD10EARS-00Y5B1"),
        );
    }

    // READ, and what the comments of the module promise; nothing else goes to a drive.
    let commands = said.value(&format!("commands/{name}"))?;
    let asked: Vec<&str> = commands.split_whitespace().filter(|code| !matches!(*code, "28" | "88")).collect();
    let expected: &[&str] = match drive.asked {
        Asked::Ata | Asked::Nvme => &[],
        Asked::Scsi => &["12/b4", "9e/10"],
        Asked::OldScsi => &["12/b0", "12/b1", "12/b4", "9e/10"],
        Asked::Usb | Asked::AtaItself => &["85/ec"],
    };
    outcome.same(&format!("{name}: commands that reached the drive"), &asked.as_slice(), &expected);

    // Without privileges: what the kernel lets everybody ask is the same, the rest is named, and the check goes on.
    let user = said.json(&format!("user/{name}"))?;
    let refused: &[&str] = match drive.asked {
        Asked::Ata | Asked::Scsi | Asked::OldScsi => &[],
        Asked::Usb | Asked::AtaItself => &["ATA IDENTIFY DEVICE"],
        Asked::Nvme => &["NVMe Identify Namespace"],
    };
    let topology = &user["disks"][0]["topology"];
    let [logical, physical, _, rpm, _] = drive.drive;
    let expected = match drive.asked {
        Asked::Ata | Asked::Scsi | Asked::OldScsi => drive.drive,
        // He may still ask the kernel's translation of ATA for the capacity and the pages.
        Asked::AtaItself => [logical, physical, Some(0), rpm, None],
        Asked::Usb | Asked::Nvme => [None; 5],
    };
    outcome.same(&format!("{name}: what a user may ask"), &identified(topology), &expected);
    let unanswered = topology["identified"]["unanswered"].as_array().into_iter().flatten();
    let not_permitted: Vec<_> = unanswered
        .filter(|question| question["reason"].as_str().is_some_and(|why| why.contains("not permitted")))
        .filter_map(|question| question["question"].as_str())
        .collect();
    outcome.same(&format!("{name}: what a user may not ask"), &not_permitted.as_slice(), &refused);
    outcome.same(
        &format!("{name}: the verdict for a user"),
        &user["disks"][0]["partitions"][0]["verdict"],
        verdict,
    );
    Ok(())
}

/// What the drive said of itself: logical and physical size, offset, rotation rate, optimal size.
fn identified(topology: &Value) -> [Option<u64>; 5] {
    ["logical", "physical", "alignment_offset", "rpm", "optimal_io"]
        .map(|key| topology["identified"][key].as_u64())
}

fn findings<'v>(disk: &'v Value, code: &str) -> Vec<&'v Value> {
    disk["findings"].as_array().into_iter().flatten().filter(|finding| finding["code"] == code).collect()
}
