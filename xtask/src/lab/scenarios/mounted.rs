//! A disk of which a partition is mounted: what stays is left alone, what goes is refused.

use std::time::Duration;

use crate::lab::judge::{kernel_partitions, places, places_of_ours, places_of_sfdisk};
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(400);
const TABLES: [(&str, &str); 2] = [
    ("gpt", "label: gpt\nstart=2048,size=30000\nstart=40960,size=20000\n"),
    (
        "mbr",
        "label: dos\nstart=63,size=30000\nstart=40960,size=80000,type=5\nstart=43008,size=5000\nstart=50000,size=999\n",
    ),
];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "mounted")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/mounted.sh"));
    machine.blank_disk("ide-hd,bus=ide.0,logical_block_size=512,physical_block_size=4096", 64)?;
    for (name, script) in TABLES {
        machine.file(name, script);
    }
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for (name, _) in TABLES {
        let seen = |moment: &str| {
            let kernel = kernel_partitions(transcript.value(&format!("{moment}/{name}"))?)?;
            Ok::<_, String>(places(&kernel))
        };
        let before = seen("before")?;
        // The plan names what is added; what was there keeps number and place.
        let mut expected = before.clone();
        expected.extend(places_of_ours(&transcript.json(&format!("plan/{name}"))?, 512));
        expected.sort_unstable();
        outcome.same(&format!("{name}: new partitions"), &(expected.len() - before.len()), &2);
        outcome.same(&format!("{name}: the kernel's partitions after apply"), &seen("after")?, &expected);
        let sfdisk = places_of_sfdisk(&transcript.json(&format!("sfdisk/{name}"))?);
        outcome.same(&format!("{name}: sfdisk's partitions after apply"), &sfdisk, &expected);
        outcome.same(&format!("{name}: the kernel's partitions after undo"), &seen("undone")?, &before);
        outcome.same(&format!("{name}: its own parser after undo"), &seen("reread")?, &before);
    }
    Ok(outcome)
}
