use std::fs;
use std::path::PathBuf;

use super::{Lab, Outcome};
use crate::at;

mod apply;
mod convert;
mod drives;
mod identify;
mod in_use;
mod killed;
mod mounted;
mod move_cut;
mod move_members;
mod move_story;
mod power_cut;
mod probe;
mod read_modify_write;
mod stale;
mod topology;
mod verdicts;

/// Something that is shown in a virtual machine.
pub(super) struct Scenario {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// What it shows.
    pub(super) what: &'static str,
    /// Whether it measures time, and must have the machine for itself.
    pub(super) measures: bool,
    /// Shows it.
    pub(super) run: fn(&Lab) -> Result<Outcome, String>,
}

const fn scenario(
    name: &'static str,
    what: &'static str,
    run: fn(&Lab) -> Result<Outcome, String>,
) -> Scenario {
    Scenario { name, what, measures: false, run }
}

/// All of them, the longest first.
pub(super) const SCENARIOS: [Scenario; 14] = [
    scenario("power-cut", "a power cut at every write is settled byte for byte", power_cut::run),
    scenario("move-cut", "a move that loses its power, again and again, loses no byte", move_cut::run),
    scenario("probe", "physical sectors found by timing, and no byte changed", probe::run),
    scenario("apply", "plan, apply and undo: kernel, sfdisk, parted and lsblk agree", apply::run),
    scenario("verdicts", "our verdicts against the kernel's alignment_offset", verdicts::run),
    scenario("identify", "what drives say of themselves, and what the kernel makes of it", identify::run),
    scenario(
        "convert",
        "tables for 512 and 4096 bytes: same partitions, same files, every byte back",
        convert::run,
    ),
    scenario("killed", "apply killed in the middle of a slow write is settled", killed::run),
    scenario("mounted", "partitions come and go beside a mounted one", mounted::run),
    scenario("in-use", "a disk in use is refused, and who uses it is named; --all", in_use::run),
    scenario(
        "move-members",
        "moves beside what is in use, and of members of volumes and arrays",
        move_members::run,
    ),
    scenario("stale", "a kernel that keeps the old table gives exit code 4", stale::run),
    Scenario {
        measures: true,
        ..scenario(
            "read-modify-write",
            "what a drive with 4096-byte sectors pays for a start of 63",
            read_modify_write::run,
        )
    },
    Scenario {
        measures: true,
        ..scenario(
            "move-story",
            "what such a drive pays before a move to where it should be, and behind",
            move_story::run,
        )
    },
];

/// A fresh folder for the disks and consoles of a scenario.
fn folder(lab: &Lab, name: &str) -> Result<PathBuf, String> {
    let folder = lab.folder.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    Ok(folder)
}
