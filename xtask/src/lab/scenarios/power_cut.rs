//! The whole machine loses its power after each write of `apply` in turn; the next start finds it, and settles it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::at;
use crate::lab::drive::Drive;
use crate::lab::machine::Machine;
use crate::lab::{Lab, Outcome, tools};

/// Of one start.
const LIMIT: Duration = Duration::from_secs(300);
const DISK: &str = "ide-hd,bus=ide.0,serial=LAB,logical_block_size=512,physical_block_size=4096";
const DISK_SIZE: u64 = 16 << 20;
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

        for count in 1..writes {
            let context = format!("{table}, after write {count} of {writes}");
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
                format!("{context}: the power was not cut in the middle")
            });

            let mut machine = bench.machine(&format!("{table}-{count}-settle"));
            machine.disk(DISK, &format!("format=raw,file={}", bench.disk.display()));
            machine.file("what", "settle");
            machine.file("old", old.clone());
            machine.file("new", new.clone());
            let mut transcript = machine.run(LIMIT)?;
            transcript.prefix(&context);
            outcome.add(&transcript);
        }
    }
    Ok(outcome)
}

impl<'l> Bench<'l> {
    fn reset(&self, old: &[u8], empty: &Path) -> Result<(), String> {
        fs::write(&self.disk, old).map_err(at(&self.disk))?;
        fs::copy(empty, &self.backups).map_err(at(&self.backups))?;
        Ok(())
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
