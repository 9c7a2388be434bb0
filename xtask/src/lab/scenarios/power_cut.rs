//! The whole machine loses its power after each write of `apply` in turn, and in the middle of each; the next start finds
//! it, and settles it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::at;
use crate::lab::drive::Drive;
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome, tools};

/// Of one start.
const LIMIT: Duration = Duration::from_secs(120);
const DISK: &str = "ide-hd,bus=ide.0,serial=LAB,logical_block_size=512,physical_block_size=4096";
const DISK_SIZE: u64 = 16 << 20;
const SECTOR: usize = 512;
const OLD: &str = "label: dos\nstart=63,size=1000\nstart=2048,size=20000,type=5\nstart=2111,size=5000\nstart=9000,size=777\n";

/// What a start needs: the disk, and the file system with the backups.
struct Bench<'l> {
    lab: &'l Lab,
    folder: PathBuf,
    disk: PathBuf,
    backups: PathBuf,
}

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "power-cut")?;
    let (old, empty) = (folder.join("old.img"), folder.join("empty.img"));
    old_disk(&old)?;
    file_system(&empty)?;
    let bench = Bench { lab, disk: folder.join("disk.img"), backups: folder.join("backups.img"), folder };
    let old = fs::read(&old).map_err(at(&old))?;
    let mut outcome = Outcome::default();
    for table in ["gpt", "mbr"] {
        // Once to the end: what it has to become, and how many writes that takes.
        bench.reset(&old, &empty)?;
        let (mut machine, drive) = bench.slow_machine(&format!("{table}-whole"))?;
        machine.file("what", "plan");
        machine.file("table", table);
        let transcript = machine.run(LIMIT)?;
        outcome.add(&transcript);
        let plan = transcript.value("plan")?.to_owned();
        let writes = drive.requests()?.iter().filter(|request| request.is_write).count();
        drop(drive);
        let new = fs::read(&bench.disk).map_err(at(&bench.disk))?;
        outcome.check(writes >= 2 && new != old, || format!("{table}: only {writes} writes"));
        let mut variants = 0;

        // What each cut leaves: all writes up to it.
        let mut left = vec![old.clone()];
        for count in 1..writes {
            bench.reset(&old, &empty)?;
            let (mut machine, drive) = bench.slow_machine(&format!("{table}-{count}-cut"))?;
            machine.file("what", "apply");
            machine.file("plan", plan.clone());
            let mut running = machine.start()?;
            let done = running.until(LIMIT, |_| {
                Ok(drive.requests()?.iter().filter(|request| request.is_write).count() >= count)
            })?;
            running.kill();
            drop(drive);
            outcome.check(done && !running.transcript()?.is_whole(), || {
                format!("{table}, write {count} of {writes}: the power was not cut in the middle")
            });
            left.push(fs::read(&bench.disk).map_err(at(&bench.disk))?);
            let kept = bench.backups_after(table, count);
            fs::rename(&bench.backups, &kept).map_err(at(&kept))?;
        }
        left.push(new.clone());

        for count in 1..writes {
            let cut = left.get(count).ok_or("a cut is missing")?;
            fs::write(&bench.disk, cut).map_err(at(&bench.disk))?;
            let kept = bench.backups_after(table, count);
            fs::rename(&kept, &bench.backups).map_err(at(&kept))?;
            let mut machine = bench.machine(&format!("{table}-{count}-settle"));
            machine.disk(DISK, &format!("format=raw,file={}", bench.disk.display()));
            machine.file("what", "settle");
            machine.file("old", old.clone());
            machine.file("new", new.clone());
            // The first write begins with the same backup as the second.
            let mut torn = torn_states(cut, left.get(count + 1), "/tmp/as-cut");
            if count == 1 {
                torn.extend(torn_states(&old, Some(cut), "/lab/old"));
            }
            variants += torn.len();
            attach(&mut machine, &torn);
            let mut transcript = machine.run(LIMIT)?;
            transcript.prefix(&format!("{table}, after write {count} of {writes}"));
            outcome.add(&transcript);
        }
        outcome.check(variants > 0, || format!("{table}: no write was torn"));
    }
    Ok(outcome)
}

/// A write that was cut off: of the sectors that it changes only some are there.
struct Torn {
    /// Where the script has the disk as it was before this write.
    base: &'static str,
    /// The new ones that are there, and where.
    sectors: Vec<(usize, Vec<u8>)>,
}

/// A drive keeps sectors whole, and may begin at either end: the first ones are there, or the last ones.
fn torn_states(before: &[u8], after: Option<&Vec<u8>>, base: &'static str) -> Vec<Torn> {
    let sectors = before.chunks(SECTOR).zip(after.map_or(&[][..], Vec::as_slice).chunks(SECTOR));
    let changed: Vec<(usize, Vec<u8>)> = sectors
        .enumerate()
        .filter(|(_, (before, after))| before != after)
        .map(|(number, (_, after))| (number, after.to_vec()))
        .collect();
    let cuts = (1..changed.len()).map(|cut| changed.split_at(cut));
    cuts.flat_map(|(first, last)| [first, last]).map(|part| Torn { base, sectors: part.to_vec() }).collect()
}

/// Gives the script the list of them, and their sectors.
fn attach(machine: &mut Machine<'_>, torn: &[Torn]) {
    let mut list = String::new();
    for (variant, Torn { base, sectors }) in torn.iter().enumerate() {
        let numbers: Vec<String> = sectors.iter().map(|(number, _)| number.to_string()).collect();
        list.push_str(&format!("{variant} {base} {}\n", numbers.join(" ")));
        let bytes: Vec<u8> = sectors.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        machine.file(&format!("sectors-{variant}"), bytes);
    }
    machine.file("torn", list);
}

impl<'l> Bench<'l> {
    fn reset(&self, old: &[u8], empty: &Path) -> Result<(), String> {
        fs::write(&self.disk, old).map_err(at(&self.disk))?;
        fs::copy(empty, &self.backups).map_err(at(&self.backups))?;
        Ok(())
    }

    /// The file system with the backups as a cut left it.
    fn backups_after(&self, table: &str, count: usize) -> PathBuf {
        self.folder.join(format!("{table}-{count}-backups.img"))
    }

    fn machine(&self, name: &str) -> Machine<'l> {
        let script = include_str!("../../../lab/power-cut.sh");
        let mut machine = Machine::new(self.lab, &self.folder, name, script);
        machine.disk("virtio-blk-pci", &format!("format=raw,file={}", self.backups.display()));
        machine
    }

    /// A machine whose disk takes its time for each write, and the drive that shows them.
    fn slow_machine(&self, name: &str) -> Result<(Machine<'l>, Drive), String> {
        let file = format!("file={}", self.disk.display());
        let drive = Drive::serve(&self.folder, name, &["delay"], &["file", &file, "wdelay=300ms"])?;
        let mut machine = self.machine(name);
        machine.disk(DISK, &drive.back_end());
        Ok((machine, drive))
    }
}

fn old_disk(path: &Path) -> Result<(), String> {
    let file = File::create(path).map_err(at(path))?;
    file.set_len(DISK_SIZE).map_err(at(path))?;
    let script = path.with_extension("sfdisk");
    fs::write(&script, OLD).map_err(at(&script))?;
    let input = File::open(&script).map_err(at(&script))?;
    run_tool("sfdisk", &["--quiet"], path, Stdio::from(input))
}

fn file_system(path: &Path) -> Result<(), String> {
    let file = File::create(path).map_err(at(path))?;
    file.set_len(16 << 20).map_err(at(path))?;
    run_tool("mke2fs", &["-q", "-F", "-t", "ext4"], path, Stdio::null())
}

fn run_tool(name: &str, arguments: &[&str], path: &Path, input: Stdio) -> Result<(), String> {
    let tool = tools::find(name).ok_or_else(|| format!("{name} is missing"))?;
    let output = Command::new(tool).args(arguments).arg(path).stdin(input).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{name} {}: {}", path.display(), String::from_utf8_lossy(&output.stderr).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_write_has_its_first_sectors_or_its_last() {
        let before = vec![0; 4 * SECTOR];
        let mut after = before.clone();
        for sector in [0, 2, 3] {
            after[sector * SECTOR] = 1;
        }
        let states = torn_states(&before, Some(&after), "");
        let numbers = |torn: &Torn| torn.sectors.iter().map(|(number, _)| *number).collect::<Vec<_>>();
        let expected = [vec![0], vec![2, 3], vec![0, 2], vec![3]];
        assert_eq!(states.iter().map(numbers).collect::<Vec<_>>(), expected);
        // A single sector is there or not.
        after.truncate(SECTOR);
        assert!(torn_states(&before, Some(&after), "").is_empty());
    }
}
