//! What drives say of themselves, asked for real: it has to be what they were made with.

use std::time::Duration;

use serde_json::{Value, json};

use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(600);

/// A drive, how it is found, and what is known of it.
struct Kind {
    name: &'static str,
    /// What is in its model or its serial number.
    mark: &'static str,
    device: &'static str,
    /// Logical and physical size and alignment offset in bytes, as the drive says itself.
    says: [Option<u64>; 3],
    rpm: Option<u64>,
    /// The physical size that it is judged by, and why.
    judged: (u64, &'static str),
    /// A finding that belongs to it.
    finding: Option<&'static str>,
}

const fn kind(name: &'static str, device: &'static str, says: [Option<u64>; 3]) -> Kind {
    Kind { name, mark: name, device, says, rpm: None, judged: (4096, "identified"), finding: None }
}

const KINDS: [Kind; 12] = [
    Kind {
        rpm: Some(7200),
        ..kind(
            "lab-512e",
            "ide-hd,bus=ide.0,serial=lab-512e,rotation_rate=7200,logical_block_size=512,physical_block_size=4096",
            [Some(512), Some(4096), None],
        )
    },
    Kind {
        rpm: Some(1),
        ..kind(
            "lab-ssd",
            "ide-hd,bus=ide.1,serial=lab-ssd,rotation_rate=1,logical_block_size=512,physical_block_size=4096",
            [Some(512), Some(4096), None],
        )
    },
    // Small, and names its rotation rate: that is believed.
    Kind {
        rpm: Some(5400),
        judged: (512, "identified"),
        ..kind(
            "lab-512n",
            "ide-hd,bus=ide.2,serial=lab-512n,rotation_rate=5400,logical_block_size=512,physical_block_size=512",
            [Some(512), Some(512), None],
        )
    },
    // Names its rate too, but is known to lie.
    Kind {
        mark: "WD10EARS",
        rpm: Some(5400),
        judged: (4096, "known-model"),
        ..kind(
            "ears",
            "ide-hd,bus=ide.3,model=WDC WD10EARS-00Y5B1,rotation_rate=5400,logical_block_size=512,physical_block_size=512",
            [Some(512), Some(512), None],
        )
    },
    kind(
        "lab-scsi-512e",
        "scsi-hd,bus=scsi.0,serial=lab-scsi-512e,logical_block_size=512,physical_block_size=4096",
        [Some(512), Some(4096), Some(0)],
    ),
    kind(
        "lab-scsi-4kn",
        "scsi-hd,bus=scsi.0,serial=lab-scsi-4kn,logical_block_size=4096,physical_block_size=4096",
        [Some(4096), Some(4096), Some(0)],
    ),
    Kind {
        judged: (16384, "identified"),
        ..kind(
            "lab-scsi-16k",
            "scsi-hd,bus=scsi.0,serial=lab-scsi-16k,logical_block_size=512,physical_block_size=16384",
            [Some(512), Some(16384), Some(0)],
        )
    },
    Kind {
        rpm: Some(10_000),
        judged: (512, "identified"),
        ..kind(
            "lab-scsi-512n",
            "scsi-hd,bus=scsi.0,serial=lab-scsi-512n,rotation_rate=10000,logical_block_size=512,physical_block_size=512",
            [Some(512), Some(512), Some(0)],
        )
    },
    // It comes with the kernel and not with the machine.
    Kind { mark: "scsi_debug", rpm: Some(1), ..kind("1-aligned", "", [Some(512), Some(4096), Some(3584)]) },
    // All of its formats are as good by its own word.
    Kind {
        judged: (4096, "assumed"),
        ..kind(
            "lab-nvme-512",
            "nvme,serial=lab-nvme-512,logical_block_size=512,physical_block_size=512",
            [Some(512), None, None],
        )
    },
    Kind {
        judged: (4096, "reported"),
        ..kind(
            "lab-nvme-4k",
            "nvme,serial=lab-nvme-4k,logical_block_size=4096,physical_block_size=4096",
            [Some(4096), None, None],
        )
    },
    // Its bridge does not know the question.
    Kind {
        mark: "behind-usb",
        judged: (4096, "assumed"),
        ..kind("lab-usb", "usb-storage,bus=xhci.0,serial=lab-usb,removable=off", [None, None, None])
    },
];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "identify")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/identify.sh"));
    machine.arguments(["-device", "virtio-scsi-pci,id=scsi", "-device", "qemu-xhci,id=xhci"]);
    for kind in KINDS.iter().filter(|kind| !kind.device.is_empty()) {
        machine.blank_disk(kind.device, 8)?;
    }
    let marks = KINDS.iter().map(|kind| format!("{}={}\n", kind.name, kind.mark));
    machine.file("drives", marks.collect::<String>());
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for kind in &KINDS {
        let document = transcript.json(&format!("check/{}", kind.name))?;
        let disk = &document["disks"][0];
        judge(&mut outcome, kind, disk);
        let limits = transcript.value(&format!("limits/{}", kind.name))?;
        let limits: Vec<u64> = limits.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        // What a drive says and what the kernel made of the same answer.
        for (of, said) in [(0, kind.says[0]), (1, kind.says[1]), (4, kind.says[2])] {
            if let Some(said) = said {
                outcome.same(
                    &format!("{}: limit {of} of the kernel", kind.name),
                    &limits.get(of),
                    &Some(&said),
                );
            }
        }
    }
    // The kernel has what a SATA disk says, so that no command is needed; of SCSI disks it has all but two answers.
    for (name, questions) in [("lab-512e", 0), ("lab-scsi-512e", 2), ("lab-nvme-512", 1)] {
        let times = transcript.value(&format!("questions/{name}"))?;
        outcome.same(&format!("{name}: commands sent"), &times.split_whitespace().count(), &questions);
    }
    let nobody = transcript.json("check/nobody")?;
    let unanswered = nobody["disks"][0]["topology"]["identified"]["unanswered"].as_array().map(Vec::len);
    outcome.check(unanswered > Some(0), || format!("without root nothing is unanswered: {nobody}"));
    outcome.same(
        "without root: the physical size is the kernel's",
        &nobody["disks"][0]["topology"]["effective"]["physical"],
        &json!(4096),
    );
    Ok(outcome)
}

fn judge(outcome: &mut Outcome, kind: &Kind, disk: &Value) {
    let identified = &disk["topology"]["identified"];
    let mut same = |what: &str, found: &Value, expected: Value| {
        outcome.same(&format!("{}: {what}", kind.name), found, &expected);
    };
    let [logical, physical, offset] = kind.says;
    same("logical", &identified["logical"], json!(logical));
    same("physical", &identified["physical"], json!(physical));
    same("alignment offset", &identified["alignment_offset"], json!(offset));
    same("rotation rate", &identified["rpm"], json!(kind.rpm));
    let (size, basis) = kind.judged;
    same("judged by", &disk["topology"]["effective"]["physical"], json!(size));
    same("since", &disk["topology"]["physical_basis"], json!(basis));
    same("judged from", &disk["topology"]["effective"]["alignment_offset"], json!(offset.unwrap_or(0)));
    let findings: Vec<&str> = disk["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|finding| finding["code"].as_str())
        .collect();
    for code in ["better-lba-format", "drive-and-kernel-disagree", "kernel-sources-disagree"] {
        let is_expected = kind.finding == Some(code);
        outcome.check(findings.contains(&code) == is_expected, || {
            format!("{}: {code} is there: {}", kind.name, !is_expected)
        });
    }
}
