//! New tables on every kind of disk: the kernel's own parser and the other tools see what was planned.

use std::time::Duration;

use super::topology::{self, TOPOLOGIES, Topology};
use crate::lab::console::Transcript;
use crate::lab::judge::{kernel_partitions, places, places_of_ours, places_of_sfdisk};
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(600);

/// The sizes that `apply.sh` asks for, in bytes; what takes the rest comes after them.
const ASKED: [u64; 6] = [3 << 20, 1_000_000, 2 << 20, 2 << 20, 2 << 20, 2 << 20];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "apply")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/apply.sh"));
    topology::attach(&mut machine)?;
    // An old table of logicals, some of them off every grid.
    machine.file(
        "old",
        "label: dos\nstart=63,size=1000\nstart=1100,size=10000,type=5\nstart=1163,size=100\nstart=1400,size=777\n",
    );
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for topology in &TOPOLOGIES {
        for table in ["gpt", "mbr"] {
            judge(&mut outcome, &transcript, topology, table)?;
        }
    }
    Ok(outcome)
}

fn judge(outcome: &mut Outcome, said: &Transcript, of: &Topology, table: &str) -> Result<(), String> {
    let key = format!("{}/{table}", of.name);
    let [logical, physical, minimum, optimal, offset] =
        of.limits.map(|limit| u64::try_from(limit).unwrap_or(0));
    let plan = said.json(&format!("plan/{key}"))?;
    let planned = places_of_ours(&plan, logical);
    let sfdisk = places_of_sfdisk(&said.json(&format!("sfdisk/{key}"))?);
    outcome.same(&format!("{key}: sfdisk's partitions"), &sfdisk, &planned);
    let check = said.json(&format!("check/{key}"))?;
    outcome.same(
        &format!("{key}: the check's partitions"),
        &places_of_ours(&check["disks"][0], logical),
        &planned,
    );
    outcome.same(&format!("{key}: the check's exit code"), &said.value(&format!("exit/{key}"))?, &"0");
    let verify = said.value(&format!("verify/{key}"))?;
    outcome.check(verify.contains("No errors"), || format!("{key}: sfdisk --verify says: {verify}"));

    let containers: Vec<u64> = plan["partitions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|partition| partition["kind"] == "extended")
        .filter_map(|partition| partition["number"].as_u64())
        .collect();
    outcome.same(&format!("{key}: containers"), &containers.len(), &usize::from(table == "mbr"));
    if of.kernel_scans {
        for moment in ["kernel", "reread"] {
            let kernel = kernel_partitions(said.value(&format!("{moment}/{key}"))?)?;
            outcome.same(&format!("{key}: the kernel's partitions ({moment})"), &places(&kernel), &planned);
            let off: Vec<_> = kernel.iter().filter(|partition| partition.alignment_offset != 0).collect();
            outcome.check(off.is_empty(), || format!("{key}: off the kernel's grid: {off:?}"));
        }
        let lsblk = said.json(&format!("lsblk/{key}"))?;
        let children = lsblk["blockdevices"][0]["children"].as_array().map_or(&[][..], Vec::as_slice);
        outcome.same(&format!("{key}: partitions that lsblk lists"), &children.len(), &planned.len());
        let off: Vec<_> = children.iter().filter(|child| child["alignment"] != 0).collect();
        outcome.check(off.is_empty(), || format!("{key}: lsblk calls misaligned: {off:?}"));
    }

    // The sizes are those that were asked for; starts are on the grids, the first of them in the second MiB or as
    // near as the grid allows.
    let data: Vec<_> = planned.iter().filter(|(number, ..)| !containers.contains(number)).collect();
    outcome.same(&format!("{key}: how many partitions"), &data.len(), &(ASKED.len() + 1));
    let physical = if physical == 512 { 4096 } else { physical };
    for ((number, _, size), asked) in data.iter().zip(ASKED) {
        let expected = asked.next_multiple_of(physical) / 512;
        outcome.same(&format!("{key}: the size of partition {number}"), size, &expected);
    }
    let grid = if optimal > 0 && optimal != 33_553_920 { optimal } else { minimum.max(physical) };
    for (number, start, _) in &data {
        let past = (start * 512).wrapping_sub(offset) % grid;
        outcome.same(&format!("{key}: partition {number} past the grid of {grid}"), &past, &0);
    }
    let first = data.first().map_or(0, |(_, start, _)| start * 512);
    let mebibyte = 1 << 20;
    outcome.check((mebibyte..mebibyte + grid.max(4096)).contains(&first), || {
        format!("{key}: the first partition begins at byte {first}")
    });

    for kind in ["minimal", "optimal"] {
        // parted takes the placeholder of a USB bridge for a grid: there it has no say.
        if kind == "optimal" && of.name == "usb-bridge" {
            continue;
        }
        let said = said.value(&format!("parted-{kind}/{key}"))?;
        // The status of parted, and how many partitions it was asked about.
        let expected = format!("0 {}", data.len());
        outcome.check(said.trim() == expected, || format!("{key}: parted align-check {kind} says {said}"));
    }
    Ok(())
}
