//! A kernel that keeps a partition: what was written is written, and the exit code says that it is not in use yet.

use std::time::Duration;

use crate::lab::judge::{kernel_partitions, places, places_of_ours, places_of_sfdisk};
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(400);
/// Partition 1 ends where no new one does.
const TABLE: &str = "label: gpt\nstart=4096,size=20000\nstart=40960,size=20000\n";

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "stale")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/stale.sh"));
    machine.blank_disk("ide-hd,bus=ide.0,logical_block_size=512,physical_block_size=4096", 64)?;
    machine.file("table", TABLE);
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for table in ["gpt", "mbr"] {
        let planned = places_of_ours(&transcript.json(&format!("plan/{table}"))?, 512);
        let kernel = |moment: &str| {
            let kernel = kernel_partitions(transcript.value(&format!("{moment}/{table}"))?)?;
            Ok::<_, String>(places(&kernel))
        };
        let kept = kernel("open")?;
        outcome.check(kept.contains(&(1, 4096, 20000)), || {
            format!("{table}: the kernel did not keep the open partition: {kept:?}")
        });
        let sfdisk = places_of_sfdisk(&transcript.json(&format!("sfdisk/{table}"))?);
        outcome.same(&format!("{table}: what is on the disk"), &sfdisk, &planned);
        let check = transcript.json(&format!("check/{table}"))?;
        let codes: Vec<&str> = check["disks"][0]["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|finding| finding["code"].as_str())
            .collect();
        outcome.check(codes.contains(&"kernel-table-stale"), || {
            format!("{table}: the check does not say that the kernel's table is stale: {codes:?}")
        });
        outcome.same(
            &format!("{table}: the kernel's partitions when it is closed"),
            &kernel("closed")?,
            &planned,
        );
    }
    Ok(outcome)
}
