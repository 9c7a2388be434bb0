//! A folder for images, the command, and what the tests do with both.

use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::common::loops::Loop;
use crate::common::tools::{Printed, note, run, said, said_with, text};
use crate::common::{self, files_in};

const SECTOR: u64 = 512;

/// A folder for the images and the backups of one test.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { folder: common::scratch() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A name that nothing else on the machine has.
    pub fn group(&self) -> String {
        let name = self.folder.path().file_name().and_then(|name| name.to_str()).expect("it is in UTF-8");
        format!("alignck_{}", name.trim_start_matches('.'))
    }

    /// A new sparse image in place of the last of this name.
    pub fn blank(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        let _ = fs::remove_file(&path);
        let made = File::create_new(&path).and_then(|file| file.set_len(size));
        made.expect("the scratch folder takes sparse files");
        path
    }

    /// A copy of an image as it is now.
    pub fn keep(&self, image: &Path, name: &str) -> PathBuf {
        let kept = self.path(name);
        run("cp", &["--sparse=always", text(image), text(&kept)], "");
        kept
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = common::alignck();
        command.args(arguments).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    pub fn alignck(&self, arguments: &[&str]) -> Printed {
        Printed::of(self.command(arguments), "")
    }

    /// What a command prints that must end so.
    pub fn ends(&self, exit: i32, arguments: &[&str]) -> Printed {
        let printed = self.alignck(arguments);
        printed.assert_exit(exit, &arguments.join(" "));
        printed
    }

    /// The command under strace.
    pub fn traced(&self, options: &[&str], arguments: &[&str]) -> Printed {
        let command = self.command(arguments);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-e", "trace=pwrite64"]).args(options);
        traced.arg(command.get_program()).args(command.get_args());
        traced.env("LC_ALL", "C").env("XDG_STATE_HOME", self.path("state"));
        Printed::of(traced, "")
    }

    /// The writes of a move that must succeed.
    pub fn writes(&self, arguments: &[&str]) -> Writes {
        let trace = self.path("trace");
        self.traced(&["-o", text(&trace)], arguments).assert_exit(0, &arguments.join(" "));
        let trace = fs::read_to_string(trace).expect("strace wrote it");
        let writes: Vec<Write<'_>> = trace.lines().filter_map(Write::of).collect();
        let is = |write: &Write<'_>, mark: &str| write.bytes.starts_with(mark);
        // What describes the job is the last thing in the journal, and is written before its head.
        let head = writes.iter().position(|write| is(write, "alignck journal")).expect("it has a journal");
        let end = writes[..head].iter().map(|write| write.offset + write.len).max();
        let journal = writes[head].offset..end.expect("the job is described");
        let is_record = |at: usize| is(&writes[at], "ALCKSTEP");
        let is_journal =
            |write: &Write<'_>| write.file == writes[head].file && journal.contains(&write.offset);
        let begins = |at: &usize| is_record(*at) && !is_journal(&writes[*at - 1]);
        let ends = |at: &usize| is_record(*at) && is_record(*at - 1);
        let moves = (head..writes.len()).find(begins).expect("bytes begin to move");
        let moved = (head + 2..writes.len()).rfind(ends).expect("all bytes have moved");
        let over = (head..writes.len()).rfind(|at| is_record(*at)).expect("it is over");
        Writes { moving: moves + 2..moved, over: over + 1 }
    }

    /// Sends a signal to the command at its nth write.
    pub fn signalled(&self, signal: &str, nth: usize, arguments: &[&str]) -> Printed {
        let inject = format!("inject=pwrite64:signal={signal}:when={nth}");
        self.traced(&["-o", "/dev/null", "-e", &inject], arguments)
    }

    pub fn backups(&self) -> Vec<PathBuf> {
        files_in(&self.path("state/alignck"))
    }

    /// It is refused with this exit code and one line that has all of these words, and not one byte is written.
    pub fn assert_refused(&self, exit: i32, arguments: &[&str], image: &Path, words: &[&str]) {
        let (kept, backups) = (self.keep(image, "refused.img"), self.backups());
        let said = self.ends(exit, arguments);
        said.assert_one_line(words);
        assert_same(image, &kept, &words.join(", "));
        assert_eq!(self.backups(), backups, "{words:?}");
    }
}

/// A line of strace: `PID pwrite64(FD, "BYTES"..., LENGTH, OFFSET) = LENGTH`.
struct Write<'l> {
    file: &'l str,
    bytes: &'l str,
    len: u64,
    offset: u64,
}

impl<'l> Write<'l> {
    fn of(line: &'l str) -> Option<Self> {
        let (_, call) = line.split_once("pwrite64(")?;
        let (file, rest) = call.split_once(", \"")?;
        // The bytes may hold a quote, the numbers behind them do not.
        let (bytes, numbers) = rest.rsplit_once("\"..., ").or_else(|| rest.rsplit_once("\", "))?;
        let (len, offset) = numbers.split_once(", ")?;
        let digits =
            |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
        Some(Self { file, bytes, len: digits(len)?, offset: digits(offset)? })
    }
}

/// The writes of a move, numbered from 1.
#[derive(Debug)]
pub struct Writes {
    /// Those while bytes are on their way: what tells of them is marked, and not there yet.
    pub moving: Range<usize>,
    /// The one that says that the move is over. Behind it the journal is removed.
    pub over: usize,
}

impl Writes {
    /// The writes by which bytes come to their new place, from the first to the last, in so many parts.
    pub fn on_the_way(&self, parts: usize) -> Vec<usize> {
        let of = self.moving.len();
        (1..parts).map(|part| self.moving.start + of * part / parts).collect()
    }
}

/// A part of an image as a device that nobody can write.
pub fn part(image: &Path, start: u64, len: u64) -> Loop {
    Loop::attach(
        image,
        SECTOR,
        &["--offset", &start.to_string(), "--sizelimit", &len.to_string(), "--read-only"],
    )
}

/// A part of an image as a device.
pub fn writable_part(image: &Path, start: u64, len: u64) -> Loop {
    Loop::attach(image, SECTOR, &["--offset", &start.to_string(), "--sizelimit", &len.to_string()])
}

/// Bytes that are nobody else's.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(state >> 24).to_le_bytes()[..5]);
    }
    bytes.truncate(len);
    bytes
}

pub fn read_at(file: &Path, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    File::open(file).and_then(|file| file.read_exact_at(&mut bytes, offset)).expect("it can be read");
    bytes
}

/// The length of a file or a device.
pub fn len_of(file: &Path) -> u64 {
    use std::io::{Seek, SeekFrom};
    File::open(file).and_then(|mut file| file.seek(SeekFrom::End(0))).expect("it can be opened")
}

/// Two images have the same bytes.
pub fn assert_same(one: &Path, other: &Path, context: &str) {
    assert_eq!(first_difference(one, other), None, "{context}: the first byte that differs");
}

/// Whole slices are compared much faster than their bytes.
fn first_difference(one: &Path, other: &Path) -> Option<u64> {
    assert_eq!(len_of(one), len_of(other), "{}", one.display());
    let open = |path: &Path| File::open(path).expect("it can be opened");
    let (mut ours, mut theirs) = (open(one), open(other));
    let (mut at, mut left, mut right) = (0, vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        let len = ours.read(&mut left).expect("it can be read");
        if len == 0 {
            return None;
        }
        theirs.read_exact(&mut right[..len]).expect("it is as long");
        if left[..len] != right[..len] {
            let first = left.iter().zip(&right).position(|(one, other)| one != other);
            return first.map(|first| at + first as u64);
        }
        at += len as u64;
    }
}

/// A file system that is unmounted at the end.
pub struct Mounted(PathBuf);

impl Mounted {
    /// `None` where the kernel does not know the file system, which is said.
    pub fn by_kernel(place: &Path, node: &str, options: &str) -> Option<Self> {
        fs::create_dir_all(place).expect("the scratch folder can be written");
        let kind = run("blkid", &["-p", "-o", "value", "-s", "TYPE", node], "").output;
        let printed = said_with("mount", &["-t", kind.trim(), "-o", options, node, text(place)], "");
        if printed.exit != 0 && printed.errors.contains("unknown filesystem type") {
            note(&format!("this kernel mounts no {}: only its bytes are compared", kind.trim()));
            return None;
        }
        printed.assert_exit(0, node);
        Some(Self(place.to_owned()))
    }

    /// `None` where the kernel has no FUSE, which is said.
    pub fn by_fuse(place: &Path, program: &str, node: &str, options: &str) -> Option<Self> {
        if !Path::new("/dev/fuse").exists() {
            note("this machine has no /dev/fuse: only bytes are compared");
            return None;
        }
        fs::create_dir_all(place).expect("the scratch folder can be written");
        run(program, &["-o", options, node, text(place)], "");
        Some(Self(place.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A file of it that another test's child got with the fork is open until that child is another program.
        for _ in 0..200 {
            if said_with("umount", &[text(&self.0)], "").exit == 0 {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        note(&format!("{} cannot be unmounted: {}", self.0.display(), said("umount", &[text(&self.0)])));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Tables

/// Writes a table without a word to the kernel.
pub fn write_table(disk: &Path, script: &str) {
    let options = ["-q", "--no-reread", "--no-tell-kernel", "--wipe", "never", "--wipe-partitions", "never"];
    run("sfdisk", &[&options[..], &[text(disk)]].concat(), script);
}

/// Start and length of a partition, in bytes, by sfdisk.
pub fn place_of(disk: &Path, number: u64) -> (u64, u64) {
    let document = table_of(disk);
    let unit = document["sectorsize"].as_u64().expect("a number");
    let partitions = document["partitions"].as_array().expect("an array");
    let ends = |partition: &&Value| {
        let node = partition["node"].as_str().expect("a text");
        node == format!("{}{number}", disk.display()) || node == format!("{}p{number}", disk.display())
    };
    let found = partitions.iter().find(ends).unwrap_or_else(|| panic!("no partition {number}: {document:#}"));
    let bytes = |key: &str| found[key].as_u64().expect("a number") * unit;
    (bytes("start"), bytes("size"))
}

pub fn table_of(disk: &Path) -> Value {
    let printed = run("sfdisk", &["--json", text(disk)], "").output;
    let document: Value = serde_json::from_str(&printed).expect("sfdisk prints JSON");
    document["partitiontable"].clone()
}

/// All of a table by sfdisk, and all that parted says of it, but for the places; neither they nor sgdisk complain.
pub fn but_for_places(disk: &Path, context: &str) -> Vec<String> {
    let verified = run("sfdisk", &["--verify", text(disk)], "");
    assert!(verified.output.contains("No errors detected"), "{context}: {}", verified.output);
    let mut table = table_of(disk);
    if table["label"] == "gpt" {
        let verified = run("sgdisk", &["-v", text(disk)], "").output;
        assert!(verified.contains("No problems found"), "{context}: {verified}");
    }
    for partition in table["partitions"].as_array_mut().expect("an array") {
        partition["start"] = 0.into();
        // A container grows with what is in it.
        if ["5", "f", "85"].contains(&partition["type"].as_str().unwrap_or_default()) {
            partition["size"] = 0.into();
        }
    }
    let printed = run("parted", &["-sm", text(disk), "unit", "s", "print"], "");
    let complains = printed.errors.contains("Error") || printed.errors.contains("Warning");
    assert!(!complains, "{context}: {}", printed.errors);
    // NUMBER:START:END:SIZE:FILE SYSTEM:NAME:FLAGS; behind the line of the disk.
    let mut lines: Vec<String> = printed
        .output
        .lines()
        .skip(2)
        .map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            format!("{}:{}", fields[0], fields[4..].join(":"))
        })
        .collect();
    lines.sort();
    lines.push(format!("{table:#}"));
    lines
}
