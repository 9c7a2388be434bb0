//! `cargo xtask bench --moves`: a partition's bytes on their way, against a plain copy and against sfdisk.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use fixtures::{Image, MbrEntry};

use crate::{at, root};

const SECTOR: u64 = 512;
/// Where the partition begins, and how long it is, in sectors.
const FROM: u32 = 63;
const SECTORS: u32 = 2 << 20;
/// The journal is behind everything.
const JOURNAL: u64 = 1100 << 20;
const DISK: u64 = 1200 << 20;
const RUNS: usize = 3;

/// Measures moves of a partition, and gives the table. Needs root, for a loop device.
pub(crate) fn measure() -> Result<String, String> {
    let shift = build()?;
    // The scratch folder of the other figures may be in memory.
    let target = root().join("target");
    let scratch = tempfile::tempdir_in(&target).map_err(at(&target))?;
    let path = scratch.path().join("disk.img");
    let disk = Disk::attach(&path)?;
    let mut text = String::from(HEAD);
    for to in [2048, 64, FROM + (16 << 11)] {
        let mut seconds = [const { Vec::new() }; 3];
        let mut peak = 0;
        // One after the other, so that all of them meet the same moods of the machine.
        for _ in 0..RUNS {
            seconds[0].push(disk.timed(&mut dd(&disk.node, to))?);
            seconds[1].push(disk.timed_sfdisk(to)?);
            let (time, memory) = disk.timed_shift(&shift, to)?;
            seconds[2].push(time);
            peak = peak.max(memory);
        }
        let [dd, sfdisk, own] = seconds.map(best);
        let _ = writeln!(
            text,
            "| {FROM} to {to} | {dd:.2} s | {sfdisk:.2} s | {own:.2} s | {:.2} | {:.1} | {} MiB |",
            dd / own,
            sfdisk / own,
            peak >> 10
        );
    }
    Ok(text)
}

const HEAD: &str = "\
Written by `cargo xtask bench --moves`. A partition of 1 GiB moves on a loop device, its file on the disk of the
machine; nothing of it is in memory before. `dd bs=8M conv=fsync` copies as many bytes to the same place, which is
no move, and keeps no journal. The best of 3 runs each, in turns: the machine has other work, too.

| sectors | `dd` | `sfdisk --move-data` | alignck | its speed, `dd` being 1 | times as fast as `sfdisk` | its peak memory |
|---|---|---|---|---|---|---|
";

fn build() -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--release", "--package", "align-core", "--example", "shift"];
    let status = Command::new("cargo").args(arguments).current_dir(root()).status();
    match status {
        Ok(status) if status.success() => Ok(root().join("target/release/examples/shift")),
        _ => Err("the example could not be built".into()),
    }
}

/// A loop device over an image with one partition.
struct Disk {
    image: PathBuf,
    node: String,
}

impl Disk {
    fn attach(image: &Path) -> Result<Self, String> {
        table().write_to(image).map_err(at(image))?;
        // Else the file system has nothing to read.
        let file = OpenOptions::new().write(true).open(image).map_err(at(image))?;
        let mut state = 1_u64;
        let mut bytes = vec![0; 1 << 20];
        for offset in (1 << 20..DISK).step_by(bytes.len()) {
            for word in bytes.as_chunks_mut::<8>().0 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *word = state.to_le_bytes();
            }
            file.write_all_at(&bytes, offset).map_err(at(image))?;
        }
        let printed = Command::new("losetup").args(["--find", "--show"]).arg(image).output();
        let printed = printed.map_err(|error| format!("losetup: {error}"))?;
        let node = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
        if !printed.status.success() {
            return Err(format!("losetup: {}", String::from_utf8_lossy(&printed.stderr)));
        }
        Ok(Self { image: image.to_owned(), node })
    }

    /// The same table for everybody, and nothing in memory.
    fn begin(&self) -> Result<(), String> {
        let node = Path::new(&self.node);
        let file = OpenOptions::new().write(true).open(node).map_err(at(node))?;
        for (offset, bytes) in table().writes {
            file.write_all_at(&bytes, offset).map_err(at(node))?;
        }
        file.sync_all().map_err(at(node))?;
        let image = File::open(&self.image).map_err(at(&self.image))?;
        image.sync_all().map_err(at(&self.image))?;
        let caches = Path::new("/proc/sys/vm/drop_caches");
        fs::write(caches, "3").map_err(at(caches))
    }

    fn timed(&self, command: &mut Command) -> Result<f64, String> {
        self.begin()?;
        let start = Instant::now();
        let status = command.status().map_err(|error| error.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        if status.success() { Ok(seconds) } else { Err(format!("{command:?}: {status}")) }
    }

    fn timed_sfdisk(&self, to: u32) -> Result<f64, String> {
        self.begin()?;
        let mut command = Command::new("sfdisk");
        command.args(["--quiet", "--no-reread", "--no-tell-kernel", "--move-data", "-N", "1", &self.node]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().map_err(|error| format!("sfdisk: {error}"))?;
        let script = format!("{to},\n");
        let written = child.stdin.take().map(|mut input| input.write_all(script.as_bytes()));
        written.transpose().map_err(|error| format!("sfdisk: {error}"))?;
        let status = child.wait().map_err(|error| format!("sfdisk: {error}"))?;
        // Its last bytes are still in memory.
        let node = Path::new(&self.node);
        File::open(node).and_then(|file| file.sync_all()).map_err(at(node))?;
        let seconds = start.elapsed().as_secs_f64();
        if status.success() { Ok(seconds) } else { Err(format!("sfdisk: {status}")) }
    }

    /// Seconds, and KiB of memory.
    fn timed_shift(&self, shift: &Path, to: u32) -> Result<(f64, u64), String> {
        let before = self.checksum(FROM)?;
        self.begin()?;
        let bytes = |sectors: u32| (u64::from(sectors) * SECTOR).to_string();
        let mut command = Command::new("/usr/bin/time");
        command.args(["-f", "%M"]).arg(shift).arg(&self.node);
        command.args([bytes(FROM), bytes(to), bytes(SECTORS), JOURNAL.to_string()]);
        let start = Instant::now();
        let output = command.output().map_err(|error| format!("/usr/bin/time: {error}"))?;
        let seconds = start.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stderr);
        let memory = said.lines().last().and_then(|line| line.parse().ok());
        if !output.status.success() || self.checksum(to)? != before {
            return Err(format!("the move to {to} failed: {said}"));
        }
        Ok((seconds, memory.ok_or("/usr/bin/time says no memory")?))
    }

    /// Of the partition's bytes at this start.
    fn checksum(&self, start: u32) -> Result<u32, String> {
        let node = Path::new(&self.node);
        let file = File::open(node).map_err(at(node))?;
        let mut hasher = crc32fast::Hasher::new();
        let mut bytes = vec![0; 1 << 20];
        let start = u64::from(start) * SECTOR;
        for offset in (start..start + u64::from(SECTORS) * SECTOR).step_by(bytes.len()) {
            file.read_exact_at(&mut bytes, offset).map_err(at(node))?;
            hasher.update(&bytes);
        }
        Ok(hasher.finalize())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.node]).status();
    }
}

fn table() -> Image {
    let mut image = Image::blank(DISK);
    let entry = MbrEntry { boot: 0, kind: 0x83, start: FROM, sectors: SECTORS };
    fixtures::mbr::write(&mut image, 512, 1, &[entry]);
    image
}

fn dd(node: &str, to: u32) -> Command {
    let bytes = |sectors: u32| u64::from(sectors) * SECTOR;
    let mut command = Command::new("dd");
    command.args(["bs=8M", "conv=fsync,notrunc", "status=none"]);
    command.args(["iflag=skip_bytes,count_bytes", "oflag=seek_bytes"]);
    command.args([format!("if={node}"), format!("of={node}")]);
    command.args([
        format!("skip={}", bytes(FROM)),
        format!("seek={}", bytes(to)),
        format!("count={}", bytes(SECTORS)),
    ]);
    command
}

fn best(seconds: Vec<f64>) -> f64 {
    seconds.into_iter().fold(f64::INFINITY, f64::min)
}
