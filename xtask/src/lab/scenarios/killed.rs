//! `apply` is killed while a slow disk is writing; the disk and the kernel live on.

use std::time::Duration;

use crate::lab::drive::Drive;
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome};

const LIMIT: Duration = Duration::from_secs(600);
/// Both tables begin where the other one has to be taken away.
const OLD: &str = "label: dos\nstart=63,size=1000\nstart=2048,size=20000,type=5\nstart=2111,size=5000\nstart=9000,size=777\n";

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "killed")?;
    let drive = Drive::serve(&folder, "drive", &["delay"], &["memory", "16M", "wdelay=400ms"])?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/killed.sh"));
    machine.disk("ide-hd,bus=ide.0,logical_block_size=512,physical_block_size=4096", &drive.back_end());
    machine.file("old", OLD);
    let transcript = machine.run(LIMIT)?;
    let mut outcome = Outcome::of(&transcript);
    for table in ["gpt", "mbr"] {
        let states = (1..=4).map(|count| transcript.value(&format!("killed/{table}/{count}")));
        let states = states.collect::<Result<Vec<_>, _>>()?;
        // Else there was no middle in which it was killed.
        outcome
            .check(states.contains(&"torn"), || format!("{table}: the disk was left {states:?}, never torn"));
    }
    Ok(outcome)
}
