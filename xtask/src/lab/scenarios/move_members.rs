//! Moves on a disk that is in use: what is in use is refused by name, what is not moves beside it. Members of volume
//! groups and arrays move when these are not active, and are found again.

use std::time::Duration;

use crate::lab::judge::{Places, kernel_partitions, places};
use crate::lab::machine::Machine;
use crate::lab::random::Random;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(400);
/// A file system that is mounted, another one, a physical volume of LVM, a member of an array, swap. All begin one
/// sector past a MiB, the first where disks once did.
const TABLE: &str = "label: gpt\nfirst-lba: 34\nstart=63,size=16384\nstart=20481,size=16384\n\
    start=40961,size=24576\nstart=69633,size=24576\nstart=98305,size=8192\n";
const OLD: [(u64, u64, u64); 5] =
    [(1, 63, 16384), (2, 20481, 16384), (3, 40961, 24576), (4, 69633, 24576), (5, 98305, 8192)];
/// At the next whole MiB.
const FIXED: [(u64, u64, u64); 5] =
    [(1, 2048, 16384), (2, 22528, 16384), (3, 43008, 24576), (4, 71680, 24576), (5, 100_352, 8192)];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "move-members")?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/move-members.sh"));
    machine.blank_disk("virtio-blk-pci,logical_block_size=512,physical_block_size=4096", 128)?;
    machine.blank_disk("virtio-blk-pci", 12)?;
    machine.blank_disk("virtio-blk-pci", 64)?;
    machine.file("table", TABLE);
    machine.file("noise", Random::new(0).bytes(1 << 20));
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    let mut one_moved = OLD;
    one_moved[1] = FIXED[1];
    for (moment, expected) in [("before", OLD), ("beside", one_moved), ("after", FIXED), ("reread", FIXED)] {
        let found: Places = places(&kernel_partitions(transcript.value(moment)?)?);
        outcome.same(&format!("the kernel's partitions {moment}"), &found, &expected.to_vec());
    }
    Ok(outcome)
}
