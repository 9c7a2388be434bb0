//! Bytes that move, cut off everywhere: whatever a crash leaves, going on gives exactly the expected disk, and going
//! back exactly the original.
//!
//! The disk of these tests loses any of the sectors that were not flushed, and tears blocks of 4096 bytes: their rest
//! is older, or all of such a block is noise, what nobody wrote to in it included.

mod common;

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use align_core::device::{BlockDevice, BulkDevice, FaultDevice, FileDevice, MemoryDevice, ReadError};
use align_core::patch::{Change, Patch};
use align_core::realign::{
    Care, Ended, Job, Mover, Quiet, RealignError, Shift, Stand, Watch, journal_len, peek,
};
use common::platter::{self, Bytes, Platter, Write};

const SECTOR: u64 = 512;
const BLOCK: u64 = 4096;
/// The longest step that goes through the journal. A distance of as much can do without.
const WINDOW: u64 = 8192;

/// A job on a small disk of noise, with its journal at the end of the same disk.
struct Scene {
    job: Job,
    journal: u64,
    old: Bytes,
    /// All in front of the journal, as it was and as it shall be.
    before: Vec<u8>,
    after: Vec<u8>,
    /// Which of these bytes belong to the job.
    owned: Vec<bool>,
    /// Where bytes were that have moved, and none came: nobody's from then on.
    left_behind: Vec<bool>,
}

/// What a crash may have taken beside what it says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Harm {
    /// Nothing that was not written just then.
    None,
    /// All of a block of which a part was written.
    Blocks,
}

fn len(bytes: u64) -> usize {
    usize::try_from(bytes).expect("the disks are small")
}

fn range(start: u64, bytes: u64) -> Range<usize> {
    len(start)..len(start + bytes)
}

impl Scene {
    /// Sectors from, to and how many; what is in front of them and behind them belongs to somebody else.
    fn new(shifts: &[(u64, u64, u64)]) -> Self {
        let shift = |(from, to, sectors): &(u64, u64, u64)| Shift {
            from: from * SECTOR,
            to: to * SECTOR,
            len: sectors * SECTOR,
        };
        let shifts: Vec<Shift> = shifts.iter().map(shift).collect();
        let end =
            shifts.iter().map(|shift| shift.from.max(shift.to) + shift.len).max().expect("there is one");
        let journal = (end + 2 * BLOCK).next_multiple_of(BLOCK);
        let before = noise(journal);
        let mut after = before.clone();
        for shift in &shifts {
            after.copy_within(range(shift.from, shift.len), len(shift.to));
        }
        // A table in the third sector, and beside it what is only final.
        let table = range(2 * SECTOR, SECTOR);
        let mark =
            Change { offset: 2 * SECTOR, before: before[table.clone()].to_vec(), after: vec![0xAA; 512] };
        let kept = shifts.iter().map(|shift| overwritten(&before, &shifts, *shift));
        let marks = Patch { steps: vec![vec![mark], kept.flatten().collect()] };
        let finals = vec![(2 * SECTOR, vec![0xBB; 512]), (3 * SECTOR + 8, vec![0xCC; 9])];
        for (offset, bytes) in &finals {
            after[range(*offset, bytes.len() as u64)].copy_from_slice(bytes);
        }
        // What is final only has to be put back too.
        let beside = Change {
            offset: 3 * SECTOR,
            before: before[1536..2048].to_vec(),
            after: before[1536..2048].to_vec(),
        };
        let job = Job {
            marks: Patch { steps: [marks.steps, vec![vec![beside]]].concat() },
            shifts,
            finals,
            ..Job::default()
        };
        let mut owned = vec![false; before.len()];
        for shift in &job.shifts {
            owned[range(shift.from, shift.len)].fill(true);
            owned[range(shift.to, shift.len)].fill(true);
        }
        owned[range(2 * SECTOR, 2 * SECTOR)].fill(true);
        let mut left_behind = vec![false; before.len()];
        job.shifts.iter().for_each(|shift| left_behind[range(shift.from, shift.len)].fill(true));
        job.shifts.iter().for_each(|shift| left_behind[range(shift.to, shift.len)].fill(false));
        let old = Bytes::new(journal + journal_len(&job, WINDOW)).with_bytes(0, &before);
        Self { job, journal, old, before, after, owned, left_behind }
    }

    fn begin<'d>(&self, disk: &'d Platter) -> Mover<'d> {
        Mover::begin(disk, disk, self.journal, &self.job, WINDOW).expect("the disk is as the job says")
    }

    /// Goes on and goes back from what a crash left, and gives the writes of both.
    fn settle(&self, left: &Bytes, harm: Harm) -> [Vec<Vec<Write>>; 2] {
        [true, false].map(|goes_on| {
            let disk = Platter::new(left);
            let ended = match Mover::recover(&disk, &disk, self.journal) {
                Ok(mut mover) if goes_on => mover.forward(&mut Quiet),
                Ok(mut mover) => mover.back(&mut Quiet),
                // It was cut off before it could be found: then nothing was done of it.
                Err(RealignError::NoJournal { .. }) => Ok(Ended::Back),
                Err(error) => Err(error),
            };
            self.expect(&disk, ended.expect("the disk works"), harm);
            disk.epochs()
        })
    }

    /// Every byte in front of the journal is as it shall be then.
    fn expect(&self, disk: &Platter, ended: Ended, harm: Harm) {
        let expected = if ended == Ended::Forward { &self.after } else { &self.before };
        let matters = |at: usize| ended == Ended::Back || !self.left_behind[at];
        let found = disk.bytes().get(0, len(self.journal));
        let is_beside = |at: usize| {
            let block = at - at % len(BLOCK);
            !self.owned[at] && self.owned[block..self.owned.len().min(block + len(BLOCK))].contains(&true)
        };
        let mut differs =
            found.iter().zip(expected).enumerate().filter(|(_, (found, expected))| found != expected);
        let differs = differs.find(|(at, _)| matters(*at) && (harm == Harm::None || !is_beside(*at)));
        if let Some((at, _)) = differs {
            panic!("{:?}: {ended:?}, and byte {at} (sector {}) is wrong", self.job.shifts, at / 512);
        }
    }

    /// Tries some of the crashes that the writes can leave between each two flushes.
    fn crash(
        &self,
        before: &Bytes,
        epochs: &[Vec<Write>],
        crashes: usize,
        mut each: impl FnMut(&Bytes, Harm),
    ) {
        let mut base = before.clone();
        let mut dice = 1;
        for epoch in epochs {
            let cut = platter::cut_off_somewhere(&base, epoch, crashes, &mut dice);
            cut.iter().for_each(|left| each(left, Harm::None));
            let smeared = platter::smeared(&base, epoch);
            let stride = smeared.len().div_ceil(crashes).max(1);
            smeared.iter().step_by(stride).for_each(|left| each(left, Harm::Blocks));
            base = base.after(std::slice::from_ref(epoch));
        }
    }
}

/// How many crashes are tried between each two flushes: `REALIGN_CRASHES`, or so many.
fn crashes(usual: usize) -> usize {
    std::env::var("REALIGN_CRASHES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Bytes in the place that a shift goes to, and that move nowhere themselves.
fn overwritten(before: &[u8], shifts: &[Shift], shift: Shift) -> Vec<Change> {
    let moves =
        |sector: u64| shifts.iter().any(|shift| (shift.from..shift.from + shift.len).contains(&sector));
    let sectors = (shift.to..shift.to + shift.len).step_by(512).filter(|sector| !moves(*sector));
    let change = |offset: u64| {
        let bytes = before[range(offset, SECTOR)].to_vec();
        Change { offset, before: bytes.clone(), after: bytes }
    };
    sectors.map(change).collect()
}

fn noise(bytes: u64) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[7]
    };
    (0..bytes).map(next).collect()
}

/// Shifts of every kind, in sectors: from, to and how many.
const KINDS: &[&[(u64, u64, u64)]] = &[
    &[(63, 64, 50)],
    &[(64, 63, 50)],
    &[(63, 56, 41)],
    &[(63, 70, 33)],
    &[(65, 72, 7)],
    &[(64, 72, 40)],
    &[(72, 64, 40)],
    &[(64, 96, 80)],
    &[(96, 64, 83)],
    &[(63, 96, 77)],
    &[(64, 200, 60)],
    &[(200, 63, 60)],
    &[(63, 64, 1)],
    // The later makes room for the earlier.
    &[(100, 112, 30), (63, 72, 30)],
    &[(63, 56, 30), (100, 88, 30)],
    &[(100, 101, 9), (63, 64, 20)],
];

#[test]
fn whatever_a_crash_leaves_it_can_go_on_and_go_back() {
    for kind in KINDS {
        let scene = Scene::new(kind);
        let disk = Platter::new(&scene.old);
        assert_eq!(scene.begin(&disk).forward(&mut Quiet).expect("nothing fails"), Ended::Forward);
        scene.expect(&disk, Ended::Forward, Harm::None);
        let mut tried = 0;
        scene.crash(&scene.old, &disk.epochs(), crashes(3), |left, harm| {
            scene.settle(left, harm);
            tried += 1;
        });
        assert!(tried > 50, "{kind:?}: {tried} crashes");
    }
}

#[test]
fn a_crash_on_the_way_on_or_back_can_go_on_and_go_back_too() {
    for kind in KINDS.iter().step_by(2) {
        let scene = Scene::new(kind);
        let disk = Platter::new(&scene.old);
        scene.begin(&disk).forward(&mut Quiet).expect("nothing fails");
        let epochs = disk.epochs();
        let middle = epochs.len() / 2;
        let mut base = scene.old.clone();
        for (at, epoch) in epochs.iter().enumerate() {
            if at % 7 == middle % 7 {
                for again in scene.settle(&base, Harm::None) {
                    scene.crash(&base, &again, crashes(1), |left, harm| drop(scene.settle(left, harm)));
                }
            }
            base = base.after(std::slice::from_ref(epoch));
        }
    }
}

/// One of two disks that lose what was not flushed independently of each other.
#[derive(Debug)]
struct Twin<'p> {
    own: &'p Platter,
    both: [&'p Platter; 2],
    /// Where both were right before each flush of one.
    moments: &'p Mutex<Vec<[(usize, usize); 2]>>,
}

impl BlockDevice for Twin<'_> {
    fn size(&self) -> Option<u64> {
        self.own.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.own.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.own.write_at(offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.moments.lock().expect("nothing panics").push(self.both.map(Platter::position));
        self.own.flush()
    }
}

/// Runs something on a disk and a disk for its journal, and tries some of the crashes that both can leave right
/// before each flush of one: any of the sectors of either, and noise in a block of one.
fn crash_twins(
    old: [&Bytes; 2],
    crashes: usize,
    run: impl FnOnce(&dyn BlockDevice, &dyn BlockDevice),
    mut each: impl FnMut([&Bytes; 2], Harm),
) {
    let (platters, moments) = (old.map(Platter::new), Mutex::new(Vec::new()));
    let both = platters.each_ref();
    let [disk, journal] = both.map(|own| Twin { own, both, moments: &moments });
    run(&disk, &journal);
    let epochs = both.map(Platter::epochs);
    let mut dice = 7;
    let mut bases = old.map(Clone::clone);
    let mut flushed = [0, 0];
    for moment in moments.lock().expect("nothing panics").iter() {
        let mut left: [Vec<Bytes>; 2] = [Vec::new(), Vec::new()];
        let mut smeared = [Vec::new(), Vec::new()];
        for at in 0..2 {
            let (epoch, writes) = moment[at];
            bases[at] = bases[at].after(&epochs[at][flushed[at]..epoch]);
            flushed[at] = epoch;
            let open = &epochs[at][epoch][..writes];
            left[at] = platter::cut_off_somewhere(&bases[at], open, crashes + 1, &mut dice);
            smeared[at] = platter::smeared(&bases[at], open);
        }
        for disk in &left[0] {
            left[1].iter().for_each(|journal| each([disk, journal], Harm::None));
        }
        for (journal, at) in left[1].iter().zip(0..) {
            let stride = smeared[0].len().div_ceil(crashes).max(1);
            smeared[0].iter().skip(at).step_by(stride).for_each(|disk| each([disk, journal], Harm::Blocks));
        }
        for (disk, at) in left[0].iter().zip(0..) {
            let stride = smeared[1].len().div_ceil(crashes).max(1);
            smeared[1].iter().skip(at).step_by(stride).for_each(|journal| each([disk, journal], Harm::None));
        }
    }
}

/// Goes on or back from what a crash left of both.
fn go(disk: &dyn BlockDevice, journal: &dyn BlockDevice, goes_on: bool) -> Ended {
    let ended = match Mover::recover(disk, journal, 0) {
        Ok(mut mover) if goes_on => mover.forward(&mut Quiet),
        Ok(mut mover) => mover.back(&mut Quiet),
        Err(RealignError::NoJournal { .. }) => Ok(Ended::Back),
        Err(error) => Err(error),
    };
    ended.expect("the disks work")
}

#[test]
fn a_journal_on_another_disk_may_lose_what_the_disk_keeps_and_the_other_way_round() {
    for kind in KINDS {
        let scene = Scene::new(kind);
        let journal = Bytes::new(journal_len(&scene.job, WINDOW));
        let settle = |left: [&Bytes; 2], harm: Harm| {
            for goes_on in [true, false] {
                let [disk, journal] = left.map(Platter::new);
                let ended = go(&disk, &journal, goes_on);
                scene.expect(&disk, ended, harm);
            }
        };
        let mut tried = 0;
        let move_all = |disk: &dyn BlockDevice, journal: &dyn BlockDevice| {
            let begun = Mover::begin(disk, journal, 0, &scene.job, WINDOW);
            begun.expect("nothing fails").forward(&mut Quiet).expect("nothing fails");
        };
        crash_twins([&scene.old, &journal], crashes(1), move_all, |left, harm| {
            settle(left, harm);
            tried += 1;
            // Some of them once more on the way on or back.
            if tried % 97 == 0 && harm == Harm::None {
                let go_again = |disk: &dyn BlockDevice, journal: &dyn BlockDevice| {
                    go(disk, journal, tried % 2 == 0);
                };
                crash_twins(left, 1, go_again, settle);
            }
        });
        assert!(tried > 50, "{kind:?}: {tried} crashes");
    }
}

/// Somebody who stops it after so many bytes.
struct StopAt(u64, u64);

impl Watch for StopAt {
    fn moved(&mut self, done: u64, _of: u64) {
        self.1 = done;
    }

    fn is_stopped(&self) -> bool {
        self.1 >= self.0
    }
}

#[test]
fn what_was_stopped_can_go_on_and_go_back_with_a_journal_elsewhere() {
    for kind in KINDS {
        let scene = Scene::new(kind);
        let of = scene.job.bytes();
        for (stop, goes_on) in [(0, true), (1, false), (of / 2, true), (of / 2, false), (of, false)] {
            let (disk, journal) = (Platter::new(&scene.old), MemoryDevice::new(4 << 20));
            let mut mover = Mover::begin(&disk, &journal, 8192, &scene.job, WINDOW).expect("nothing fails");
            let stopped = mover.forward(&mut StopAt(stop, 0));
            assert!(
                matches!(stopped, Err(RealignError::Stopped { done, .. }) if done >= stop),
                "{stopped:?}"
            );
            assert!(disk.epochs().last().expect("there is one").is_empty(), "all is on the medium");
            let mut mover = Mover::recover(&disk, &journal, 8192).expect("it is found again");
            assert_eq!(mover.id(), scene.job.id);
            let ended = if goes_on { mover.forward(&mut Quiet) } else { mover.back(&mut Quiet) };
            assert_eq!(ended.expect("nothing fails"), if goes_on { Ended::Forward } else { Ended::Back });
            scene.expect(&disk, if goes_on { Ended::Forward } else { Ended::Back }, Harm::None);
        }
    }
}

#[test]
fn a_look_at_a_journal_tells_the_job_and_its_stand_and_writes_nothing() {
    let scene = Scene::new(KINDS[0]);
    let job = Job { note: "who asked".into(), ..scene.job.clone() };
    let of = job.bytes();
    let disk = Platter::new(&scene.old);
    let journal = FaultDevice::new(MemoryDevice::new(4 << 20));
    let mut mover = Mover::begin(&disk, &journal, 0, &job, WINDOW).expect("nothing fails");
    let look = |mover: &Mover<'_>| {
        let writes = journal.writes();
        let (found, stand) = peek(&journal, 0).expect("the journal is whole");
        assert_eq!((found, stand), (mover.job().clone(), mover.stand()));
        assert_eq!(journal.writes(), writes, "nothing was written");
        stand
    };
    assert_eq!((look(&mover), mover.done()), (Stand::Begun, (0, of)));
    assert_eq!(mover.job(), &job);
    mover.forward(&mut StopAt(of / 2, 0)).expect_err("it is stopped");
    assert_eq!(look(&mover), Stand::Moving);
    let (done, _) = mover.done();
    assert!((of / 2..of).contains(&done), "{done} of {of}");
    let mut again = Mover::recover(&disk, &journal, 0).expect("the journal is whole");
    assert_eq!((again.job(), again.done()), (&job, (done, of)));
    again.back(&mut Quiet).expect("nothing fails");
    assert_eq!((look(&again), again.done()), (Stand::Restored, (0, of)));

    let mut mover = Mover::begin(&disk, &journal, 0, &job, WINDOW).expect("nothing fails");
    assert_eq!(look(&mover), Stand::Begun, "over an old journal");
    mover.forward(&mut Quiet).expect("nothing fails");
    assert_eq!((look(&mover), mover.done()), (Stand::Finished, (of, of)));
    assert!(matches!(peek(&journal, 4096), Err(RealignError::NoJournal { offset: 4096, .. })));
}

/// How many bytes move before those of a shift that begin at `from`.
fn bytes_before(job: &Job, at: usize, from: u64, bytes: u64) -> u64 {
    let shift = job.shifts[at];
    let earlier: u64 = job.shifts[..at].iter().map(|shift| shift.len).sum();
    let front = if shift.to > shift.from { shift.from + shift.len - from - bytes } else { from - shift.from };
    earlier + front
}

#[test]
fn a_bad_sector_anywhere_stops_it_and_it_can_go_back_or_on_without_it() {
    for kind in KINDS {
        let scene = Scene::new(kind);
        for (at, shift) in scene.job.shifts.iter().enumerate() {
            for sector in (shift.from..shift.from + shift.len).step_by(512) {
                let what = format!("{kind:?}, sector {}", sector / SECTOR);
                let bad_disk =
                    || FaultDevice::new(Platter::new(&scene.old)).with_bad_bytes(sector..sector + 1);
                for goes_on in [false, true] {
                    let disk = bad_disk();
                    let journal = MemoryDevice::new(4 << 20);
                    let mut mover = Mover::begin(&disk, &journal, 0, &scene.job, WINDOW)
                        .expect("it is not looked at yet");
                    let failed = mover.forward(&mut Quiet).expect_err("it cannot be read");
                    assert!(
                        matches!(failed, RealignError::Read { offset, .. } if offset == sector),
                        "{failed}"
                    );
                    let before = bytes_before(&scene.job, at, sector, SECTOR);
                    assert_eq!(mover.done().0, before, "{what}: all before it has moved");
                    let mut mover = Mover::recover(&disk, &journal, 0).expect("the journal is whole");
                    assert_eq!(mover.done().0, before, "{what}: and that was on the medium");
                    if !goes_on {
                        assert_eq!(mover.back(&mut Quiet).expect("what moved can be read"), Ended::Back);
                        assert_eq!(mover.skipped(), []);
                        scene.expect(disk.inner(), Ended::Back, Harm::None);
                        continue;
                    }
                    mover = mover.with_care(Care { skip_bad: true, verify: false });
                    assert_eq!(mover.forward(&mut Quiet).expect("it is left out"), Ended::Forward, "{what}");
                    assert_eq!(mover.skipped(), std::slice::from_ref(&(sector..sector + SECTOR)), "{what}");
                    let place = range(sector - shift.from + shift.to, SECTOR);
                    assert_eq!(disk.inner().bytes().get(place.start as u64, place.len()), [0; 512], "{what}");
                    disk.inner().write_at(place.start as u64, &scene.after[place]).expect("it is a disk");
                    scene.expect(disk.inner(), Ended::Forward, Harm::None);
                }
            }
        }
    }
}

#[test]
fn bad_sectors_that_touch_are_listed_as_one_and_a_crash_among_them_is_none() {
    for kind in KINDS {
        let mut scene = Scene::new(kind);
        let shift = scene.job.shifts[0];
        let bad = shift.from..shift.from + shift.len.min(5 * SECTOR);
        let disk = FaultDevice::new(Platter::new(&scene.old)).with_bad_bytes(bad.clone());
        let care = Care { skip_bad: true, verify: false };
        let mut mover = Mover::begin(&disk, &disk, scene.journal, &scene.job, WINDOW)
            .expect("nothing fails")
            .with_care(care);
        mover.forward(&mut Quiet).expect("they are left out");
        assert_eq!(mover.skipped(), std::slice::from_ref(&bad));
        scene.after[range(shift.to, bad.end - bad.start)].fill(0);
        scene.expect(disk.inner(), Ended::Forward, Harm::None);
        scene.crash(&scene.old, &disk.inner().epochs(), crashes(1), |left, harm| {
            let disk = FaultDevice::new(Platter::new(left)).with_bad_bytes(bad.clone());
            match Mover::recover(&disk, &disk, scene.journal) {
                Ok(mover) => {
                    let ended = mover.with_care(care).forward(&mut Quiet).expect("they are left out");
                    scene.expect(disk.inner(), ended, harm);
                }
                Err(RealignError::NoJournal { .. }) => {}
                Err(error) => panic!("{kind:?}: {error}"),
            }
        });
    }
}

/// A disk that says that a write is done, and forgets it.
#[derive(Debug)]
struct Forgetful {
    disk: Platter,
    /// How many writes come before the one that is lost.
    works_for: AtomicUsize,
    lost: AtomicU64,
}

impl BlockDevice for Forgetful {
    fn size(&self) -> Option<u64> {
        self.disk.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.disk.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.works_for.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.lost.store(offset, Ordering::Relaxed);
            return Ok(());
        }
        self.disk.write_at(offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.disk.flush()
    }
}

#[test]
fn a_write_that_the_disk_forgot_is_noticed_and_nothing_is_lost() {
    for kind in KINDS {
        let scene = Scene::new(kind);
        for writes in 0.. {
            let disk = Forgetful {
                disk: Platter::new(&scene.old),
                works_for: AtomicUsize::new(writes),
                lost: AtomicU64::new(0),
            };
            let journal = MemoryDevice::new(4 << 20);
            let begun = Mover::begin(&disk, &journal, 0, &scene.job, WINDOW).expect("nothing is written");
            let mut mover = begun.with_care(Care { verify: true, skip_bad: false });
            let Err(failed) = mover.forward(&mut Quiet) else {
                assert!(writes > 3, "all writes were tried");
                scene.expect(&disk.disk, Ended::Forward, Harm::None);
                break;
            };
            let lost = disk.lost.load(Ordering::Relaxed);
            assert!(
                matches!(failed, RealignError::NotTaken { offset } if offset == lost),
                "{kind:?}: {failed}"
            );
            if writes % 3 == 0 {
                mover = Mover::recover(&disk, &journal, 0).expect("the journal is whole");
            }
            let goes_on = writes % 2 == 0;
            let ended = if goes_on { mover.forward(&mut Quiet) } else { mover.back(&mut Quiet) };
            scene.expect(&disk.disk, ended.expect("it works again"), Harm::None);
        }
    }
}

/// What a break after each write and flush of a job leaves, on the way on and, begun in its middle, on the way back.
fn breaks(scene: &Scene) -> Vec<Bytes> {
    let mut left = Vec::new();
    for goes_on in [true, false] {
        for operations in (0..).step_by(if goes_on { 1 } else { 2 }) {
            let disk = Platter::new(&scene.old);
            let mut mover = scene.begin(&disk);
            if !goes_on {
                mover.forward(&mut StopAt(scene.job.bytes() / 2, 0)).expect_err("it is stopped");
            }
            disk.fail_after(operations);
            let ended = if goes_on { mover.forward(&mut Quiet) } else { mover.back(&mut Quiet) };
            left.push(disk.bytes());
            if ended.is_ok() {
                break;
            }
        }
    }
    left
}

#[test]
fn what_somebody_else_wrote_to_a_mark_is_never_overwritten() {
    let (mut refused, mut taken) = (0, 0);
    for kind in KINDS.iter().step_by(3) {
        let scene = Scene::new(kind);
        let moves = |byte: u64| {
            let is_in = |start: u64, len: u64| (start..start + len).contains(&byte);
            scene.job.shifts.iter().any(|shift| is_in(shift.from, shift.len) || is_in(shift.to, shift.len))
        };
        let marks = scene.job.marks.changes();
        let bytes = marks.flat_map(|mark| [mark.offset + 10, mark.offset + 200]);
        let bytes: Vec<u64> = bytes.filter(|byte| !moves(*byte)).collect();
        for left in breaks(&scene) {
            for byte in &bytes {
                // No byte of these that anybody else writes.
                let foreign = if scene.before[len(*byte)] == b'?' { b'!' } else { b'?' };
                let disk = Platter::new(&left.clone().with_bytes(*byte, &[foreign]));
                match Mover::recover(&disk, &disk, scene.journal) {
                    Err(RealignError::Foreign { offset }) if offset == *byte && !disk.was_written() => {
                        refused += 1;
                    }
                    // It lies in a block that was just being written, and which is written again.
                    Ok(_) if disk.bytes().get(*byte, 1) != [foreign] => taken += 1,
                    Ok(mover) if mover.stand() == Stand::Restored => {}
                    other => panic!("{kind:?}, byte {byte}: {other:?}"),
                }
            }
        }
    }
    assert!(refused > 2 * taken && taken > 0, "{refused} refused, {taken} taken");
}

/// Steps that are long enough to go past the system's cache.
#[test]
fn a_file_moves_past_the_cache_there_and_back() {
    let path = tempfile::NamedTempFile::new().expect("the folder can be written").into_temp_path();
    let (journal, size) = (44 << 20, 80 << 20);
    for (to, moved) in [(64, 20 << 20), (2048, 20 << 20), (20_480, 23 << 20)] {
        let mut old = noise(journal);
        old.resize(len(size), 0);
        std::fs::write(&path, &old).expect("the folder has room");
        let disk = BulkDevice::new(FileDevice::open_writable(&path).expect("it is there"));
        let shift = Shift { from: 63 * SECTOR, to: to * SECTOR, len: moved };
        let job = Job { shifts: vec![shift], ..Job::default() };
        let mut mover = Mover::begin(&disk, &disk, journal, &job, 4 << 20).expect("nothing fails");
        mover.forward(&mut StopAt(moved / 2, 0)).expect_err("it is stopped");
        let recovered = Mover::recover(&disk, &disk, journal).expect("it is found again");
        let mut mover = recovered.with_care(Care { verify: true, skip_bad: false });
        assert_eq!(mover.back(&mut Quiet).expect("nothing fails"), Ended::Back);
        let found = std::fs::read(&path).expect("it is there");
        let source = range(shift.from, moved);
        assert!(found[source.clone()] == old[source.clone()], "63 to {to} and back");

        let begun = Mover::begin(&disk, &disk, journal, &job, 4 << 20).expect("nothing fails");
        let mut mover = begun.with_care(Care { verify: true, skip_bad: false });
        assert_eq!(mover.forward(&mut Quiet).expect("nothing fails"), Ended::Forward);
        let found = std::fs::read(&path).expect("it is there");
        assert!(found[range(shift.to, moved)] == old[source], "63 to {to}");
        let end = len(shift.to + moved);
        assert!(
            found[..len(shift.from)] == old[..len(shift.from)]
                && found[end..len(journal)] == old[end..len(journal)]
        );
    }
}

#[test]
fn jobs_that_would_lose_bytes_are_refused() {
    let disk = MemoryDevice::new(1 << 20);
    let journal = MemoryDevice::new(4 << 20);
    let shift = |from: u64, to: u64, len: u64| Shift { from, to, len };
    let begin = |job: &Job| Mover::begin(&disk, &journal, 0, job, WINDOW).map(|_| ());
    for shifts in [
        vec![shift(0, 4096, 1 << 20)],
        vec![shift(u64::MAX, 4096, 1)],
        vec![shift(512, 512, 512)],
        // The first lands on the second, which has still to move.
        vec![shift(0, 8192, 4096), shift(8192, 16384, 4096)],
        vec![shift(0, 8192, 4096), shift(4096, 10240, 4096)],
        vec![shift(0, 8192, 512); 257],
    ] {
        let refused = begin(&Job { shifts, ..Job::default() });
        assert!(matches!(refused, Err(RealignError::Job(_))), "{refused:?}");
    }
    let simple = Job { shifts: vec![shift(8192, 4096, 4096)], ..Job::default() };
    let inside = Mover::begin(&disk, &disk, 12_000, &simple, WINDOW).map(|_| ());
    assert!(matches!(inside, Err(RealignError::Job(_))), "{inside:?}");
    let mark = Change { offset: 512, before: vec![0; 512], after: vec![1; 512] };
    let marks = Patch { steps: vec![vec![mark.clone()]] };
    let among = begin(&Job { marks: marks.clone(), shifts: vec![shift(0, 8192, 4096)], ..Job::default() });
    assert!(matches!(among, Err(RealignError::Job(_))), "{among:?}");
    let changed = Change { before: vec![9; 512], ..mark };
    let changed = begin(&Job { marks: Patch { steps: vec![vec![changed]] }, ..Job::default() });
    assert!(matches!(changed, Err(RealignError::Marks(_))), "{changed:?}");
    assert!(
        matches!(Mover::recover(&disk, &journal, 0), Err(RealignError::NoJournal { .. })),
        "nothing was begun"
    );
}

#[test]
fn a_journal_that_is_not_whole_is_none() {
    let scene = Scene::new(KINDS[0]);
    let disk = Platter::new(&scene.old);
    let journal = MemoryDevice::new(4 << 20);
    drop(Mover::begin(&disk, &journal, 0, &scene.job, WINDOW).expect("nothing fails"));
    let mut head = [0; 4096];
    journal.read_at(0, &mut head).expect("it is that long");
    // Its fields and their checksum; the rest of the block is padding.
    for byte in 0..76 {
        let mut other = head;
        other[byte] ^= 0x10;
        journal.write_at(0, &other).expect("it is that long");
        let found = Mover::recover(&disk, &journal, 0).map(|_| ());
        assert!(matches!(found, Err(RealignError::NoJournal { .. })), "byte {byte}: {found:?}");
    }
    journal.write_at(0, &head).expect("it is that long");
    assert!(Mover::recover(&disk, &journal, 0).is_ok());
    let short = MemoryDevice::from_bytes(&head);
    assert!(matches!(Mover::recover(&disk, &short, 0).map(|_| ()), Err(RealignError::Journal { .. })));
}
