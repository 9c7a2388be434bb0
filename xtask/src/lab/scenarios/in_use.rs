//! Who uses a disk is named, and nothing is pulled away from under anybody.

use std::time::Duration;

use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(400);
const TABLE: &str = "label: gpt\nstart=2048,size=20000\nstart=24576,size=40000\nstart=65536,size=20000\n";

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "in-use")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/in-use.sh"));
    machine.blank_disk("ide-hd,bus=ide.0,logical_block_size=512,physical_block_size=4096", 64)?;
    machine.blank_disk("virtio-blk-pci", 64)?;
    machine.blank_disk("nvme,serial=lab,logical_block_size=4096,physical_block_size=4096", 64)?;
    machine.file("table", TABLE);
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    let all = transcript.json("all")?;
    let mut found: Vec<&str> =
        all["disks"].as_array().into_iter().flatten().filter_map(|disk| disk["path"].as_str()).collect();
    found.sort_unstable();
    // Loop devices without a file are no disks; the member of the array is one.
    outcome.same("--all", &found, &vec!["/dev/md5", "/dev/nvme0n1", "/dev/sda", "/dev/vda"]);
    // 5 MiB and the rest, on whole MiB.
    outcome.same("the disk when it is free", &transcript.value("free")?, &"1 2048 10240 0;2 12288 116736 0;");
    Ok(outcome)
}
