//! Partitions that begin everywhere, on every kind of disk: our verdict against the kernel's `alignment_offset`.

use std::time::Duration;

use serde_json::Value;

use super::topology::{self, TOPOLOGIES, Topology};
use crate::lab::judge::{KernelPartition, kernel_partitions, places, places_of_ours};
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(300);

/// Where the partitions of each table begin, in sectors of 512 bytes: every remainder by 8, and the grids of arrays.
const GPT: &str = "label: gpt\nfirst-lba: 34\nstart=34,size=6\nstart=40,size=9\nstart=63,size=512\nstart=2048,size=1000\n\
    start=4097,size=1000\nstart=6146,size=1000\nstart=8195,size=1000\nstart=10244,size=1000\nstart=12293,size=1000\n\
    start=14342,size=1000\nstart=16391,size=1000\nstart=18432,size=512\nstart=18944,size=1000\nstart=20480,size=100\n\
    start=36864,size=1000\nstart=65535,size=1000\nstart=70016,size=16\nstart=70048,size=100\n";
const MBR: &str = "label: dos\nstart=63,size=1000\nstart=2048,size=1000\nstart=4095,size=1\nstart=5120,size=100000,type=5\n\
    start=5183,size=1000\nstart=8192,size=1000\nstart=10241,size=1000\nstart=12295,size=1000\nstart=14348,size=1000\n\
    start=16512,size=1000\nstart=18432,size=1000\nstart=20480,size=1000\nstart=36864,size=1000\n";
/// The same in sectors of 4096 bytes.
const GPT_4K: &str = "label: gpt\nfirst-lba: 6\nstart=6,size=1\nstart=63,size=100\nstart=256,size=100\nstart=511,size=1\n\
    start=512,size=100\nstart=1001,size=1000\n";
const MBR_4K: &str = "label: dos\nstart=1,size=10\nstart=63,size=100\nstart=256,size=100\nstart=512,size=8000,type=5\n\
    start=575,size=100\nstart=1024,size=100\nstart=1281,size=100\n";

/// Volumes over the 1-aligned disk and one that is not, in the words of dmsetup. The second
/// half of the last one has its boundaries elsewhere than the first, so no start suits both.
const STACKS: [(Topology, &str); 3] = [
    (volume("off-by-63", [512, 4096, 4096, 0, 512]), "0 WHOLE linear /dev/sda 63"),
    (volume("jumper-undone", [512, 4096, 4096, 524_288, 0]), "0 WHOLE linear /dev/sdb 7"),
    (
        volume("shifted", [512, 4096, 4096, 524_288, -1]),
        "0 HALF linear /dev/sdb 0, HALF HALF linear /dev/sda 0",
    ),
];

const fn volume(name: &'static str, limits: [i64; 5]) -> Topology {
    Topology { name, disk: "", limits, kernel_scans: false }
}

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "verdicts")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/verdicts.sh"));
    topology::attach(&mut machine)?;
    for (name, script) in [("gpt", GPT), ("mbr", MBR), ("gpt-4k", GPT_4K), ("mbr-4k", MBR_4K)] {
        machine.file(name, script);
    }
    let stacks = STACKS.iter().map(|(stack, table)| format!("{} {table}\n", stack.name));
    machine.file("stacks", stacks.collect::<String>());
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for topology in TOPOLOGIES.iter().chain(STACKS.iter().map(|(stack, _)| stack)) {
        let limits = transcript.value(&format!("limits/{}", topology.name))?;
        let limits: Vec<i64> = limits.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        outcome.same(
            &format!("{}: what the kernel reports", topology.name),
            &limits,
            &topology.limits.to_vec(),
        );
        for table in ["gpt", "mbr"] {
            let context = format!("{}, {table}", topology.name);
            let kernel = transcript.value(&format!("kernel/{}/{table}", topology.name))?;
            let kernel = kernel_partitions(kernel)?;
            let document = transcript.json(&format!("check/{}/{table}", topology.name))?;
            judge(&mut outcome, &context, topology, &kernel, &document["disks"][0]);
        }
    }
    Ok(outcome)
}

fn judge(outcome: &mut Outcome, context: &str, of: &Topology, kernel: &[KernelPartition], disk: &Value) {
    let [logical, physical, minimum, optimal, offset] = of.limits;
    let ours = places_of_ours(disk, u64::try_from(logical).unwrap_or(512));
    if of.kernel_scans {
        outcome.same(&format!("{context}: the partitions"), &ours, &places(kernel));
    } else {
        // There the script made a volume over each partition that is no container.
        outcome.check(kernel.len() >= 6, || format!("{context}: only {} volumes were made", kernel.len()));
    }
    // The kernel believes every 512/512; we do so of no disk that does not name its rotation rate.
    let ours_physical = if physical == 512 { 4096 } else { physical };
    let reported = &disk["topology"]["effective"]["physical"];
    outcome.check(reported == ours_physical, || {
        format!("{context}: physical is {reported}, expected {ours_physical}")
    });
    // Where no offset suits all layers there is none, and that is said.
    let nowhere = offset == -1;
    let effective = &disk["topology"]["effective"]["alignment_offset"];
    outcome.same(&format!("{context}: the offset"), effective, &Value::from(offset.max(0)));
    let codes = disk["findings"].as_array().into_iter().flatten().map(|finding| &finding["code"]);
    let is_said = codes.filter(|code| *code == "stack-misaligned").count();
    outcome.same(&format!("{context}: that no offset suits is said"), &is_said, &usize::from(nowhere));
    for partition in kernel {
        let found = disk["partitions"]
            .as_array()
            .and_then(|ours| ours.iter().find(|ours| ours["number"] == partition.number));
        let Some(found) = found else {
            outcome.check(false, || format!("{context}: partition {} is missing", partition.number));
            continue;
        };
        // What the kernel's offset says of our grid: its own grid is a multiple of ours, except for 512/512.
        let grid = physical.max(minimum);
        outcome.check(!nowhere || partition.alignment_offset == -1, || {
            format!("{context}: the kernel has the offset {}", partition.alignment_offset)
        });
        let past = if grid >= ours_physical && !nowhere {
            (ours_physical - partition.alignment_offset % ours_physical) % ours_physical
        } else {
            i64::try_from(partition.start).unwrap_or(0) * 512 % ours_physical
        };
        let on_kernel_grid = partition.alignment_offset == 0 || nowhere;
        let has_larger = grid > ours_physical || (optimal > ours_physical && optimal != 33_553_920);
        let verdicts: &[&str] = match (past == 0, on_kernel_grid) {
            _ if found["kind"] == "extended" => &["exempt", "aligned"],
            (false, _) => &["misaligned"],
            // Larger than the kernel's grid is only the optimal size, of which it does not speak.
            (true, true) if has_larger => &["aligned", "suboptimal"],
            (true, false) if has_larger => &["suboptimal"],
            (true, _) => &["aligned"],
        };
        let verdict = found["verdict"].as_str().unwrap_or_default();
        let name = format!("{context}: partition {} at {}", partition.number, partition.start);
        outcome.check(verdicts.contains(&verdict), || {
            format!(
                "{name} is {verdict}, and the kernel's alignment_offset {} says {}",
                partition.alignment_offset,
                verdicts.join(" or ")
            )
        });
        let remainder = found["remainder"].as_i64().unwrap_or(-1);
        outcome.same(&format!("{name}: bytes past a boundary"), &remainder, &past);
    }
}
