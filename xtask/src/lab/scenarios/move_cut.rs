//! Partitions move, and the machine loses its power, again and again: the next start knows that, nobody takes what is
//! there for whole, and it comes to either end with every byte.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::at;
use crate::lab::cached_drive::{CachedDrive, Power, Unplugged};
use crate::lab::console::Transcript;
use crate::lab::judge::{Places, kernel_partitions, places};
use crate::lab::machine::Machine;
use crate::lab::random::Random;
use crate::lab::{Lab, Outcome};

/// Of one start.
const LIMIT: Duration = Duration::from_secs(120);
const DISK: &str = "virtio-blk-pci,logical_block_size=512,physical_block_size=4096";
/// The journal has room for short steps only: there are more of them.
const DISK_SIZE: usize = 60 << 20;
/// For journals and records: nobody asks how it is aligned.
const SECOND_DISK: &str = "virtio-blk-pci";
const SECOND_DISK_SIZE: usize = 96 << 20;
/// In free space, and where no journal begins.
const MARK: u64 = (35 << 20) + (12 << 10);
/// Larger than a step of a file system, and no multiple of one.
const NOISE_LEN: usize = (500 << 10) + 4321;
/// In memory: it is gone after each cut.
const STATE_IN_MEMORY: &str = "/run/state";
const STATE: &str = "/keep";

/// A disk that is to be fixed.
struct Layout {
    table: &'static str,
    /// Number and file system of each partition.
    file_systems: &'static str,
    /// Number, start and size of the partitions. Of a container the kernel shows two sectors.
    old: &'static [(u64, u64, u64)],
    /// Where they have to be when it is fixed: at the next whole MiB.
    fixed: &'static [(u64, u64, u64)],
}

/// Starts and ends in the middle of physical sectors.
const GPT: Layout = Layout {
    table: "label: gpt\nfirst-lba: 34\nstart=63,size=20487\nstart=24577,size=8192\nstart=36865,size=20480\n",
    file_systems: "1 ext4\n2 vfat\n3 ext4\n",
    old: &[(1, 63, 20487), (2, 24577, 8192), (3, 36865, 20480)],
    fixed: &[(1, 2048, 20487), (2, 26624, 8192), (3, 38912, 20480)],
};
const MBR: Layout = Layout {
    table: "label: dos\nstart=63,size=10001\nstart=13000,size=45000,type=5\nstart=13063,size=20000\nstart=35003,size=16000\n",
    file_systems: "1 vfat\n5 ext4\n6 ext4\n",
    old: &[(1, 63, 10001), (2, 13000, 2), (5, 13063, 20000), (6, 35003, 16000)],
    fixed: &[(1, 2048, 10001), (2, 13000, 2), (5, 14336, 20000), (6, 36864, 16000)],
};

/// What a start finds, and does.
struct Start<'s> {
    name: String,
    layout: &'s Layout,
    /// The first one makes the disk.
    makes_disk: bool,
    what: &'s str,
    options: &'s str,
    state: &'s str,
    /// What a check has to say in the end.
    exit: u8,
    /// In which write to the first or the second disk the power goes.
    cut: Option<(usize, u64)>,
    /// The checksums of the files.
    sums: Vec<(String, String)>,
}

struct Bench<'l> {
    lab: &'l Lab,
    folder: PathBuf,
    outcome: Outcome,
    noise: Vec<u8>,
    /// How often the kernel had partitions in the middle of a move.
    with_nodes: usize,
}

/// Both disks.
type Disks = [Vec<u8>; 2];

pub(super) fn run(lab: &Lab) -> Result<Outcome, String> {
    let folder = super::folder(lab, "move-cut")?;
    let noise = Random::new(0).bytes(NOISE_LEN);
    let mut bench = Bench { lab, folder, outcome: Outcome::default(), noise, with_nodes: 0 };
    let (filled, sums) = bench.resumed_as_if_whole()?;
    bench.undone(&filled, &sums)?;
    bench.with_journal_on_second_disk()?;
    // Else nothing was tried with them.
    let with_nodes = bench.with_nodes;
    bench.outcome.check(with_nodes >= 4, || format!("the kernel had partitions {with_nodes} times only"));
    Ok(bench.outcome)
}

impl Bench<'_> {
    /// Once without a cut, and once with several, to and fro: the disk is the same. Gives the disks as they were before.
    fn resumed_as_if_whole(&mut self) -> Result<(Disks, Vec<(String, String)>), String> {
        let random = &mut Random::new(1);
        let mut start = Start::new("gpt-whole", &GPT, "fix");
        start.makes_disk = true;
        let blank = [vec![0; DISK_SIZE], vec![0; SECOND_DISK_SIZE]];
        let (transcript, [disk, second]) = self.start(&start, blank, random)?;
        self.has_places(&start, &transcript, start.layout.fixed)?;
        let filled = [disk.at_mark.ok_or("the mark was not read")?, second.medium];
        start.sums = sums(&start, &transcript)?;
        start.makes_disk = false;
        // About a third of the writes makes the journal, and a third empties it: between them bytes move.
        let third = disk.writes / 3;
        let cuts = [
            ("fix", third + third / 2 + random.below(third / 2)),
            ("undo", 2 + random.below(third / 4)),
            ("resume", 2 + random.below(third / 2)),
        ];
        let mut disks = filled.clone();
        for (what, cut) in cuts {
            start = Start { name: format!("gpt-{what}-cut"), what, cut: Some((0, cut)), ..start };
            disks = self.cut(&start, disks, random)?;
        }
        start = Start { name: "gpt-resume".into(), what: "resume", cut: None, ..start };
        let (transcript, [resumed, _]) = self.start(&start, disks, random)?;
        self.has_places(&start, &transcript, start.layout.fixed)?;
        self.same_bytes("GPT: resumed, against never cut", &resumed.medium, &disk.medium)?;
        Ok((filled, start.sums))
    }

    /// Cut off, and taken back.
    fn undone(&mut self, filled: &Disks, sums: &[(String, String)]) -> Result<(), String> {
        let random = &mut Random::new(3);
        let mut start = Start { sums: sums.to_vec(), ..Start::new("undo-fix-cut", &GPT, "fix") };
        start.cut = Some((0, 75 + random.below(25)));
        let disks = self.cut(&start, filled.clone(), random)?;
        start = Start { name: "undo".into(), what: "undo", cut: None, exit: 1, ..start };
        let (transcript, [undone, _]) = self.start(&start, disks, random)?;
        self.has_places(&start, &transcript, start.layout.old)?;
        self.same_bytes("GPT: undone, against never begun", &undone.medium, &filled[0])
    }

    /// The journal is a file on the second disk, which loses its power too, and in a write to which it happens.
    fn with_journal_on_second_disk(&mut self) -> Result<(), String> {
        let random = &mut Random::new(4);
        let mut start = Start::new("mbr-fix-cut", &MBR, "fix");
        start.makes_disk = true;
        start.options = "--journal /keep/journal";
        start.state = STATE;
        start.cut = Some((1, 75 + random.below(15)));
        let blank = [vec![0; DISK_SIZE], vec![0; SECOND_DISK_SIZE]];
        let (transcript, drives) = self.cut_off(&start, blank, random)?;
        start.sums = sums(&start, &transcript)?;
        start.makes_disk = false;
        start = Start { name: "mbr-resume".into(), what: "resume", cut: None, ..start };
        let (transcript, _) = self.start(&start, drives.map(|drive| drive.medium), random)?;
        self.has_places(&start, &transcript, start.layout.fixed)
    }

    /// Starts the machine, and cuts its power; what it leaves.
    fn cut(&mut self, start: &Start<'_>, disks: Disks, random: &mut Random) -> Result<Disks, String> {
        Ok(self.cut_off(start, disks, random)?.1.map(|drive| drive.medium))
    }

    fn cut_off(
        &mut self,
        start: &Start<'_>,
        disks: Disks,
        random: &mut Random,
    ) -> Result<(Transcript, [Unplugged; 2]), String> {
        let (transcript, drives) = self.start(start, disks, random)?;
        self.outcome.check(!transcript.is_whole(), || {
            let writes = drives.each_ref().map(|drive| drive.writes);
            format!("{}: it ended after {writes:?} writes, before the cut {:?}", start.name, start.cut)
        });
        Ok((transcript, drives))
    }

    /// Starts the machine, with the disks as they are, and lets it run to its end or to its power cut.
    fn start(
        &mut self,
        start: &Start<'_>,
        [disk, second]: Disks,
        random: &mut Random,
    ) -> Result<(Transcript, [Unplugged; 2]), String> {
        let power = Arc::new(Power::default());
        let cut_of = |drive| start.cut.filter(|(number, _)| *number == drive).map(|(_, write)| write);
        let drive = CachedDrive::serve(disk, &power, Some(MARK), cut_of(0))?;
        let second = CachedDrive::serve(second, &power, None, cut_of(1))?;
        let script = include_str!("../../../lab/move-cut.sh");
        let mut machine = Machine::new(self.lab, &self.folder, &start.name, script);
        machine.disk(DISK, &drive.back_end());
        machine.disk(SECOND_DISK, &second.back_end());
        machine.file("what", start.what);
        machine.file("options", start.options);
        machine.file("file-systems", start.layout.file_systems);
        machine.file("state", start.state);
        machine.file("exit", start.exit.to_string());
        machine.file("mark", (MARK / 4096).to_string());
        if start.makes_disk {
            machine.file("table", start.layout.table);
            machine.file("noise", self.noise.clone());
        }
        for (number, sum) in &start.sums {
            machine.file(&format!("sums{number}"), sum.clone());
        }
        let mut running = machine.start()?;
        let has_ended = running.until(LIMIT, |_| Ok(power.is_off()))?;
        running.kill();
        let drives = [drive.unplug(random)?, second.unplug(random)?];
        let mut transcript = running.transcript()?;
        transcript.prefix(&start.name);
        self.outcome.check(has_ended, || format!("{}: the time limit passed", start.name));
        self.with_nodes += usize::from(transcript.value("nodes").is_ok_and(|nodes| !nodes.is_empty()));
        if power.is_off() {
            self.outcome.add_cut_off(&transcript);
        } else {
            self.outcome.add(&transcript);
        }
        Ok((transcript, drives))
    }

    /// The kernel has the partitions there, as it was told and as it reads them itself.
    fn has_places(
        &mut self,
        start: &Start<'_>,
        transcript: &Transcript,
        expected: &[(u64, u64, u64)],
    ) -> Result<(), String> {
        for moment in ["partitions", "reread"] {
            let found: Places = places(&kernel_partitions(transcript.value(moment)?)?);
            self.outcome.same(&format!("{}: the kernel's {moment}", start.name), &found, &expected.to_vec());
        }
        Ok(())
    }

    fn same_bytes(&mut self, name: &str, found: &[u8], expected: &[u8]) -> Result<(), String> {
        if found == expected {
            self.outcome.check(true, String::new);
            return Ok(());
        }
        let first = found.iter().zip(expected).position(|(found, expected)| found != expected);
        self.outcome.check(false, || format!("{name}: the first byte that differs is {first:?}"));
        for (end, bytes) in [("found", found), ("expected", expected)] {
            let path = self.folder.join(format!("{}.{end}", name.replace([' ', ',', ':'], "-")));
            fs::write(&path, bytes).map_err(at(&path))?;
        }
        Ok(())
    }
}

impl<'s> Start<'s> {
    fn new(name: &str, layout: &'s Layout, what: &'s str) -> Self {
        Self {
            name: name.to_owned(),
            layout,
            makes_disk: false,
            what,
            options: "",
            state: STATE_IN_MEMORY,
            exit: 0,
            cut: None,
            sums: Vec::new(),
        }
    }
}

/// What the script found in the files.
fn sums(start: &Start<'_>, transcript: &Transcript) -> Result<Vec<(String, String)>, String> {
    let numbers = start.layout.file_systems.lines().filter_map(|line| line.split_whitespace().next());
    numbers
        .map(|number| Ok((number.to_owned(), transcript.value(&format!("sums/{number}"))?.to_owned())))
        .collect()
}
