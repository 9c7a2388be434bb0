//! Drives of which the physical sectors are known, since they are made here: a probe has to find them by timing.

use std::time::Duration;

use serde_json::{Value, json};

use crate::lab::drive::Drive;
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(600);

/// A drive, what it says of itself, and what is to be found.
struct Kind {
    name: &'static str,
    filters: &'static [&'static str],
    /// Parameters of the plugin and its filters.
    parameters: &'static [&'static str],
    reports: &'static str,
    /// Physical size and offset, in bytes.
    sectors: Option<(u64, u64)>,
    /// The verdict on a start of sector 63, where the sectors decide it.
    verdict: &'static str,
}

/// A write of less than a sector makes them read first, which takes as long as four such writes do here.
const ADVANCED: &[&str] = &["blocksize", "delay"];
const TURN: &str = "rdelay=2ms";

const KINDS: [Kind; 5] = [
    Kind {
        name: "lying",
        filters: ADVANCED,
        parameters: &["16M", "minblock=4096", TURN],
        reports: "logical_block_size=512,physical_block_size=512",
        sectors: Some((4096, 0)),
        verdict: "misaligned",
    },
    // One sector of the medium lies before the first that is shown.
    Kind {
        name: "jumpered",
        filters: &["offset", "blocksize", "delay"],
        parameters: &["17M", "minblock=4096", TURN, "offset=512", "range=16M"],
        reports: "logical_block_size=512,physical_block_size=512",
        sectors: Some((4096, 3584)),
        verdict: "aligned",
    },
    Kind {
        name: "large",
        filters: ADVANCED,
        parameters: &["16M", "minblock=16384", TURN],
        reports: "logical_block_size=512,physical_block_size=4096",
        sectors: Some((16384, 0)),
        verdict: "misaligned",
    },
    Kind {
        name: "plain",
        filters: &[],
        parameters: &["16M"],
        reports: "logical_block_size=512,physical_block_size=512",
        sectors: None,
        verdict: "",
    },
    Kind {
        name: "native",
        filters: &[],
        parameters: &["16M"],
        reports: "logical_block_size=4096,physical_block_size=4096",
        sectors: None,
        verdict: "",
    },
];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "probe")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/probe.sh"));
    machine.arguments(["-device", "virtio-scsi-pci"]);
    let mut drives = Vec::new();
    for kind in &KINDS {
        let plugin: Vec<&str> = ["memory"].into_iter().chain(kind.parameters.iter().copied()).collect();
        let drive = Drive::serve(&folder, kind.name, kind.filters, &plugin)?;
        machine.disk(&format!("scsi-hd,product={},{}", kind.name, kind.reports), &drive.back_end());
        drives.push(drive);
    }
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for kind in &KINDS {
        let found = transcript.json(&format!("probe/{}", kind.name))?;
        outcome.same(kind.name, &sectors(&found), &expected(kind.sectors));
        if kind.sectors.is_some() {
            let verdict = &found["disk"]["partitions"][0]["verdict"];
            outcome.same(&format!("{}: the verdict on 63", kind.name), verdict, &json!(kind.verdict));
        }
    }
    // A file of a file system that begins at sector 63 begins 512 bytes before a sector.
    for (start, offset) in [(63, 512), (64, 0)] {
        let found = transcript.json(&format!("scratch/{start}"))?;
        outcome.same(&format!("a file at {start}"), &sectors(&found), &expected(Some((4096, offset))));
    }
    Ok(outcome)
}

fn sectors(document: &Value) -> Value {
    json!([document["result"], document["physical"], document["alignment_offset"]])
}

fn expected(sectors: Option<(u64, u64)>) -> Value {
    match sectors {
        Some((physical, offset)) => json!(["found", physical, offset]),
        None => json!(["no-difference", null, null]),
    }
}
