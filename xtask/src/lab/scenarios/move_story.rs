//! The whole story on a drive that can only write whole sectors of 4096 bytes: what a start of 63 costs, the move, and
//! what is left of the cost.

use std::ops::Range;
use std::time::Duration;

use super::read_modify_write::{MEGABYTES, SECTOR, rounds};
use crate::benchmarks::MOVED;
use crate::lab::drive::Drive;
use crate::lab::machine::Machine;
use crate::lab::random::Random;
use crate::lab::{Lab, Outcome};

/// Beside the rounds, and of each pass over both.
const LIMIT: Duration = Duration::from_secs(200);
/// Where the script reads its marks: behind the partition, in front of the journal.
const MARKS: Range<u64> = 150_000 * SECTOR..151_000 * SECTOR;
/// What moves: a million sectors of 512 bytes.
const MOVED_MEBIBYTES: f64 = 1_000_000.0 / 2048.0;

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "move-story")?;
    let drive = Drive::serve(
        &folder,
        "drive",
        &["blocksize", "delay"],
        &["memory", "1G", "minblock=4096", "rdelay=8ms"],
    )?;
    let mut machine = Machine::new(lab, &folder, "machine", include_str!("../../../lab/move-story.sh"));
    machine.arguments(["-device", "virtio-scsi-pci"]);
    machine.disk("scsi-hd,logical_block_size=512,physical_block_size=4096", &drive.back_end());
    machine.file("passes", lab.passes.to_string());
    machine.file("noise", Random::new(0).bytes(1 << 20));
    let transcript = machine.run(LIMIT * (1 + lab.passes))?;
    let mut outcome = Outcome::of(&transcript);
    for (moment, expected) in [("before", "1 63 1000000 512;"), ("after", "1 2048 1000000 0;")] {
        let found = transcript.value(&format!("partitions/{moment}"))?;
        outcome.same(&format!("the kernel's partition {moment}"), &found, &expected);
    }
    let counts = rounds(&drive.requests()?, &MARKS);
    let passes = usize::try_from(lab.passes).unwrap_or(1);
    outcome.same("rounds in the drive's log", &counts.len(), &(2 * passes + 1));
    if counts.len() != 2 * passes + 1 {
        return Ok(outcome);
    }
    let seconds = |key: String| -> Result<f64, String> {
        transcript.value(&key)?.parse().map_err(|_| format!("{key} is no number"))
    };
    let of = |moment: &str, counts: &[usize]| -> Result<([f64; 2], [usize; 3]), String> {
        let mut counts = counts.to_vec();
        counts.sort_unstable();
        let [mut best, mut worst] = [f64::MAX, 0.01_f64];
        for pass in 1..=passes {
            let took = seconds(format!("seconds/{moment}/{pass}"))?.max(0.01);
            (best, worst) = (best.min(took), worst.max(took));
        }
        let speeds = [best, worst].map(|took| MEGABYTES * 1.048_576 / took);
        Ok((speeds, [counts[passes / 2], counts[0], counts[passes - 1]]))
    };
    let ([best_before, worst_before], [before, fewest_before, most_before]) =
        of("before", &counts[..passes])?;
    let ([best_after, worst_after], [after, fewest_after, most_after]) = of("after", &counts[passes + 1..])?;
    let (moved, took) = (counts[passes], seconds("seconds/move".into())?);
    // The bounds of the scenario read-modify-write.
    outcome.check(before >= 20 && after <= 10, || {
        format!("ext4: {before} read-modify-writes before the move, and {after} behind it")
    });
    outcome.measure(
        MOVED,
        format!(
            "Written by `cargo xtask lab --record`. The same drive as above, and an ext4 on it that begins at sector 63, with\n\
             files in it: `alignck` says misaligned, `alignck fix` moves it to sector 2048, `alignck` says aligned, `e2fsck`\n\
             finds no fault, and the files are the same. Three files of 64 MiB, 300 small ones and one `sync` are measured\n\
             before and behind it, on the same file system, in {passes} passes each. Counts vary with when the kernel\n\
             writes what, and speeds with what else the machine does, which is an emulated one: the best and the worst pass\n\
             say how much of a difference is noise.\n\n\
             | ext4 | MB/s, best | worst | read-modify-writes, middle | fewest | most |\n\
             |---|---|---|---|---|---|\n\
             | at 63, misaligned | {best_before:.0} | {worst_before:.0} | {before} | {fewest_before} | {most_before} |\n\
             | at 2048, after `alignck fix` | {best_after:.0} | {worst_after:.0} | {after} | {fewest_after} | {most_after} |\n\n\
             The move of {MOVED_MEBIBYTES:.0} MiB took {took:.0} s, with a build for tests, and {moved} read-modify-writes.\n"
        ),
    );
    Ok(outcome)
}
