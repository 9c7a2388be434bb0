use std::ops::Range;
use std::sync::Arc;

use uuid::Uuid;

use super::ahead::Ahead;
use super::care::Care;
use super::course::{Course, Place};
use super::journal::{Journal, journal_len};
use super::load::Load;
use super::progress::{Pending, Progress, Stage};
use super::reading::{again, read_around};
use super::recovery::repair;
use super::runs::merged;
use super::step::{LONGEST, Lengths, Step, Way};
use super::{Job, RealignError, Stand, Watch};
use crate::device::BlockDevice;

/// Does a job, forwards or back, from wherever it was cut off.
#[derive(Debug)]
pub struct Mover<'d> {
    disk: &'d dyn BlockDevice,
    journal: Journal<'d>,
    job: Arc<Job>,
    /// All bytes that the job may write: no others are.
    owned: Arc<[Range<u64>]>,
    lengths: Lengths,
    care: Care,
    /// What could not be read and became zeros.
    skipped: Vec<Range<u64>>,
    /// The newest record in the journal.
    record: Progress,
    /// How far it is: the record, and what has been written since.
    stage: Stage,
    place: Place,
    /// Whether an error may have left a step half-done.
    is_cut_off: bool,
}

/// How a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All is at its new place.
    Forward,
    /// All is as it was.
    Back,
}

/// Linux has no more partitions on a disk.
const MOST_SHIFTS: usize = 256;
/// Over a shorter distance, a flush for each step takes longer than to write all bytes twice: at 1 MiB by far, at 8
/// MiB no more.
const DIRECT_FROM: u64 = 8 << 20;
/// Where no byte has moved.
const START: Place = Place { shift: 0, moved: 0 };
const NOT_OWNED: RealignError = RealignError::Job("it writes bytes that do not belong to it");
impl<'d> Mover<'d> {
    /// A new job on `disk`, with a journal at byte `start` of a device, which may be the disk itself where nothing of
    /// the job comes. Steps that go through the journal have `window` bytes at most, and no more than
    /// [`WINDOW`](super::WINDOW). Nothing of the job is done yet, but it can be found from now on.
    ///
    /// # Errors
    /// When the disk is not as the marks of the job say, the job makes no sense, or the journal cannot be written.
    pub fn begin(
        disk: &'d dyn BlockDevice,
        journal: &'d dyn BlockDevice,
        start: u64,
        job: &Job,
        window: u64,
    ) -> Result<Self, RealignError> {
        check(job, disk.size())?;
        job.marks.verify(disk)?;
        let taken = start..start.saturating_add(journal_len(job, window));
        let is_taken = |owned: &Range<u64>| owned.start < taken.end && taken.start < owned.end;
        if std::ptr::addr_eq(disk, journal) && job.owned().iter().any(is_taken) {
            return Err(RealignError::Job("its journal lies where it writes"));
        }
        let record = Progress { sequence: 1, stage: Stage::Marking, place: START, pending: None };
        let journal = Journal::create(journal, start, job, window, &record)?;
        Ok(Self::at(disk, journal, job.clone(), record))
    }

    /// The job that was begun there. What a crash left of its last steps is written again.
    ///
    /// # Errors
    /// When there is no journal there, or the disk fails. [`RealignError::Foreign`] when somebody else has written to
    /// what the job had marked or kept: nothing was written then.
    pub fn recover(
        disk: &'d dyn BlockDevice,
        journal: &'d dyn BlockDevice,
        start: u64,
    ) -> Result<Self, RealignError> {
        let (journal, job) = Journal::open(journal, start)?;
        check(&job, disk.size())?;
        let first = Progress { sequence: 0, stage: Stage::Marking, place: START, pending: None };
        let mut mover = Self::at(disk, journal, job, first);
        mover.repair()?;
        Ok(mover)
    }

    /// The same move, done so.
    #[must_use]
    pub fn with_care(self, care: Care) -> Self {
        Self { care, ..self }
    }

    /// What could not be read since this was made, and is zeros at its new place: where it was, in order, without
    /// those of an earlier run.
    pub fn skipped(&self) -> &[Range<u64>] {
        &self.skipped
    }

    /// By which the job is known.
    pub fn id(&self) -> Uuid {
        self.job.id
    }

    /// How long its journal is, in bytes.
    pub(crate) fn journal_len(&self) -> u64 {
        super::journal_len(&self.job, self.journal.window())
    }

    /// What is done, or taken back.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// How far it has come, roughly.
    pub fn stand(&self) -> Stand {
        self.stage.into()
    }

    /// How many bytes are at their new place, of how many that move.
    pub fn done(&self) -> (u64, u64) {
        (self.moved_bytes(), self.job.bytes())
    }

    fn at(disk: &'d dyn BlockDevice, journal: Journal<'d>, job: Job, record: Progress) -> Self {
        let window = journal.window();
        let lengths = Lengths { journalled: window, direct: LONGEST, direct_from: window.min(DIRECT_FROM) };
        Self {
            disk,
            journal,
            owned: job.owned().into(),
            job: Arc::new(job),
            lengths,
            care: Care::default(),
            skipped: Vec::new(),
            stage: record.stage,
            place: record.place,
            record,
            is_cut_off: false,
        }
    }

    /// Goes to where the journal says that the job is, and does again what a crash may have left of its last steps.
    fn repair(&mut self) -> Result<(), RealignError> {
        let (record, is_done) = repair(self.disk, &self.journal, &self.job, &self.owned)?;
        (self.record, self.stage, self.place) = (record, record.stage, record.place);
        if let Some(pending) = record.pending {
            if is_done {
                self.place = self.place.advanced(pending.way, pending.len);
            }
            self.settle()?;
        }
        self.is_cut_off = false;
        Ok(())
    }

    /// Does what is left of the job.
    ///
    /// # Errors
    /// When the disk fails, or it is stopped: then it can go on, or back, from there.
    pub fn forward(&mut self, watch: &mut dyn Watch) -> Result<Ended, RealignError> {
        self.unless_cut_off(|mover| mover.go_forward(watch))
    }

    fn go_forward(&mut self, watch: &mut dyn Watch) -> Result<Ended, RealignError> {
        loop {
            match self.stage {
                Stage::Marking | Stage::Restoring => {
                    // What is only kept is put back, but never marked.
                    let job = Arc::clone(&self.job);
                    let marks = job.marks.changes().filter(|change| !change.is_kept());
                    self.put(marks.map(|change| (change.offset, &change.after[..])))?;
                    self.enter(Stage::Moving, START)?;
                }
                Stage::Moving => {
                    self.run(Way::Forward, watch)?;
                    self.enter(Stage::Finishing, self.place)?;
                }
                Stage::Finishing => {
                    let job = Arc::clone(&self.job);
                    self.put(job.finals.iter().map(|(offset, bytes)| (*offset, &bytes[..])))?;
                    self.enter(Stage::Finished, self.place)?;
                }
                Stage::Finished => return Ok(Ended::Forward),
                Stage::Restored => return Ok(Ended::Back),
            }
        }
    }

    /// Takes back what was done of the job. One that has come to its final bytes is finished instead: from there only
    /// another job leads back.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn back(&mut self, watch: &mut dyn Watch) -> Result<Ended, RealignError> {
        self.unless_cut_off(|mover| mover.go_back(watch))
    }

    fn go_back(&mut self, watch: &mut dyn Watch) -> Result<Ended, RealignError> {
        loop {
            match self.stage {
                Stage::Marking => self.enter(Stage::Restoring, START)?,
                Stage::Moving => {
                    self.run(Way::Back, watch)?;
                    self.enter(Stage::Restoring, START)?;
                }
                Stage::Restoring => {
                    let job = Arc::clone(&self.job);
                    self.put(job.marks.changes().rev().map(|change| (change.offset, &change.before[..])))?;
                    self.enter(Stage::Restored, START)?;
                }
                Stage::Finishing | Stage::Finished | Stage::Restored => return self.go_forward(watch),
            }
        }
    }

    /// An error may have come in the middle of a step: what that left is repaired before anything else.
    fn unless_cut_off(
        &mut self,
        go: impl FnOnce(&mut Self) -> Result<Ended, RealignError>,
    ) -> Result<Ended, RealignError> {
        if self.is_cut_off {
            self.repair()?;
        }
        self.is_cut_off = true;
        let ended = go(self);
        self.is_cut_off = ended.is_err();
        ended
    }

    /// Moves bytes until none is left to move that way.
    fn run(&mut self, way: Way, watch: &mut dyn Watch) -> Result<(), RealignError> {
        loop {
            let (disk, owned, course) = (self.disk, Arc::clone(&self.owned), self.course(way));
            let can_be_read = std::thread::scope(|scope| {
                let ahead = Ahead::start(scope, disk, owned, course);
                self.take(&ahead, way, watch)
            })?;
            if can_be_read {
                break;
            }
            if let Some((place, step)) = self.course(way).next() {
                self.place = place;
                self.step_with_care(step, way)?;
            }
        }
        self.report(watch)?;
        self.settle()
    }

    /// Does all steps that can be read. `false` when one cannot.
    fn take(&mut self, ahead: &Ahead, way: Way, watch: &mut dyn Watch) -> Result<bool, RealignError> {
        while let Some(mut ready) = ahead.next() {
            self.report(watch)?;
            self.place = ready.place;
            if !ready.is_read {
                return Ok(false);
            }
            self.step(ready.step, &mut ready.load, way)?;
            ahead.take_back(ready.load);
        }
        Ok(true)
    }

    /// Tells how far it is, and stops there when it shall.
    fn report(&mut self, watch: &mut dyn Watch) -> Result<(), RealignError> {
        let (done, of) = self.done();
        watch.moved(done, of);
        if watch.is_stopped() {
            self.settle()?;
            return Err(RealignError::Stopped { done, of });
        }
        Ok(())
    }

    /// Does a step, or as much of it as can be read.
    fn step_with_care(&mut self, step: Step, way: Way) -> Result<(), RealignError> {
        let mut load = Load::default();
        let place = step.write..step.write.saturating_add(step.len);
        load.lay(place, &self.owned).ok_or(NOT_OWNED)?;
        let Care { skip_bad, .. } = self.care;
        let mut skipped = Vec::new();
        let mut first_bad = None;
        let read =
            read_around(self.disk, step.read, load.body_mut(), step.leaves_from_end(), &mut |bad, source| {
                if skip_bad {
                    skipped.push(bad);
                    return Ok(());
                }
                first_bad = Some(bad.clone());
                Err(RealignError::Read { offset: bad.start, source })
            });
        let Some(bad) = first_bad else {
            read?;
            self.step(step, &mut load, way)?;
            skipped.append(&mut self.skipped);
            self.skipped = merged(skipped);
            return Ok(());
        };
        let Some(step) = step.up_to(bad) else {
            self.settle()?;
            return read;
        };
        load.shorten(step.write..step.write.saturating_add(step.len), &self.owned).ok_or(NOT_OWNED)?;
        self.step(step, &mut load, way)
    }

    /// Does a step whose bytes have been read.
    fn step(&mut self, step: Step, load: &mut Load, way: Way) -> Result<(), RealignError> {
        if step.is_direct {
            self.direct(load, way, step.len)?;
        } else {
            self.through_journal(load, way, step.len)?;
        }
        self.place = self.place.advanced(way, step.len);
        Ok(())
    }

    /// Writes bytes to where they come to, and a record by which it can be told whether they have arrived.
    fn direct(&mut self, load: &Load, way: Way, moves: u64) -> Result<(), RealignError> {
        // What a step through the journal has written may not be on the medium yet.
        if self.record.pending.is_some_and(|pending| !pending.is_direct) {
            self.settle()?;
        }
        let (start, bytes) = load.written();
        let record = self.announce(load, way, moves, true);
        write(self.disk, start, bytes)?;
        self.journal.write_record(&record)?;
        self.flush_both()?;
        self.record = record;
        if self.care.verify { self.verify(load) } else { Ok(()) }
    }

    /// Writes what does not move, in this order: none of it reaches the medium before the one in front of it.
    fn put<'b>(&mut self, writes: impl Iterator<Item = (u64, &'b [u8])>) -> Result<(), RealignError> {
        let longest = usize::try_from(self.lengths.journalled).unwrap_or(usize::MAX);
        let mut load = Load::default();
        for (offset, bytes) in writes {
            let mut at = offset;
            for part in bytes.chunks(longest.max(1)) {
                let end = at.saturating_add(part.len() as u64);
                load.lay(at..end, &self.owned).ok_or(NOT_OWNED)?;
                load.body_mut().copy_from_slice(part);
                self.through_journal(&mut load, Way::Forward, 0)?;
                at = end;
            }
        }
        Ok(())
    }

    /// Writes bytes with the rest of the blocks that they lie in, as far as those belong to the job, by way of the
    /// journal. `moves`: how many bytes have moved by it.
    fn through_journal(&mut self, load: &mut Load, way: Way, moves: u64) -> Result<(), RealignError> {
        load.read_rest(self.disk);
        let (start, bytes) = load.written();
        let record = self.announce(load, way, moves, false);
        self.journal.write_step(record.sequence, bytes)?;
        self.journal.write_record(&record)?;
        // This also makes durable what the step before has written to the disk, whose journalled bytes the next step
        // overwrites.
        self.flush_both()?;
        self.record = record;
        write(self.disk, start, bytes)?;
        if self.care.verify {
            self.flush()?;
            self.verify(load)?;
        }
        Ok(())
    }

    /// The record of a step that is written next.
    fn announce(&self, load: &Load, way: Way, moves: u64, is_direct: bool) -> Progress {
        let (start, bytes) = load.written();
        let crc = crc32fast::hash(bytes);
        let blocks_len = bytes.len() as u64;
        let pending = Pending { way, is_direct, len: moves, start, blocks_len, crc };
        Progress {
            sequence: self.record.sequence.saturating_add(1),
            stage: self.stage,
            place: self.place,
            pending: Some(pending),
        }
    }

    /// Compares what is on the medium with what was written last.
    fn verify(&self, load: &Load) -> Result<(), RealignError> {
        let (start, bytes) = load.written();
        self.disk.forget_cached();
        let mut found = Load::default();
        let place = start..start.saturating_add(bytes.len() as u64);
        found.lay(place, &self.owned).ok_or(NOT_OWNED)?;
        let read = again(self.disk, start, found.body_mut());
        let crc = self.record.pending.map(|pending| pending.crc);
        let is_same = read.is_ok() && Some(crc32fast::hash(found.body_mut())) == crc;
        if is_same { Ok(()) } else { Err(RealignError::NotTaken { offset: start }) }
    }

    /// Makes a record of how far it is, once all that was written for it is on the medium.
    fn enter(&mut self, stage: Stage, place: Place) -> Result<(), RealignError> {
        self.flush()?;
        let sequence = self.record.sequence.saturating_add(1);
        let record = Progress { sequence, stage, place, pending: None };
        self.journal.write_record(&record)?;
        self.journal.flush()?;
        (self.record, self.stage, self.place) = (record, stage, place);
        Ok(())
    }

    /// The same where the newest record is not of where it is.
    fn settle(&mut self) -> Result<(), RealignError> {
        let is_settled = self.record.pending.is_none() && self.record.place == self.place;
        if is_settled { Ok(()) } else { self.enter(self.stage, self.place) }
    }

    fn flush_both(&self) -> Result<(), RealignError> {
        self.flush()?;
        if self.journal.is_on(self.disk) { Ok(()) } else { self.journal.flush() }
    }

    fn flush(&self) -> Result<(), RealignError> {
        self.disk.flush().map_err(RealignError::Flush)
    }

    /// The steps from here on.
    fn course(&self, way: Way) -> Course {
        Course { job: Arc::clone(&self.job), lengths: self.lengths, way, place: self.place }
    }

    /// How many of all bytes are at their new place.
    fn moved_bytes(&self) -> u64 {
        let before = self.job.shifts.iter().take(usize::try_from(self.place.shift).unwrap_or(usize::MAX));
        before.fold(self.place.moved, |sum, shift| sum.saturating_add(shift.len))
    }
}

/// Refuses what would lose bytes, or lies beyond the disk.
fn check(job: &Job, size: Option<u64>) -> Result<(), RealignError> {
    let size = size.unwrap_or(0);
    if job.shifts.len() > MOST_SHIFTS {
        return Err(RealignError::Job("it has more parts than a disk has partitions"));
    }
    for shift in &job.shifts {
        let is_inside = |start: u64| start.checked_add(shift.len).is_some_and(|end| end <= size);
        if !is_inside(shift.from) || !is_inside(shift.to) {
            return Err(RealignError::Job("it goes beyond the disk"));
        }
        if shift.distance() == 0 {
            return Err(RealignError::Job("bytes that stay where they are do not move"));
        }
    }
    if job.marks.changes().any(|mark| mark.before.len() != mark.after.len()) {
        return Err(RealignError::Job("a mark has two sides of different lengths"));
    }
    let touches =
        |a: u64, a_len: u64, b: u64, b_len: u64| a < b.saturating_add(b_len) && b < a.saturating_add(a_len);
    for (index, shift) in job.shifts.iter().enumerate() {
        let later = job.shifts.iter().skip(index).skip(1);
        if later.into_iter().any(|later| touches(shift.to, shift.len, later.from, later.len)) {
            return Err(RealignError::Job("bytes would land on others that have still to move"));
        }
        let landed = job.shifts.iter().take(index);
        if landed.into_iter().any(|landed| touches(shift.to, shift.len, landed.to, landed.len)) {
            return Err(RealignError::Job("two lots of bytes would land in the same place"));
        }
        if job
            .marks
            .changes()
            .any(|mark| mark.offset < shift.from.saturating_add(shift.len) && shift.from < mark.end())
        {
            return Err(RealignError::Job("a mark lies among the bytes that move"));
        }
    }
    Ok(())
}

pub(super) fn write(disk: &dyn BlockDevice, offset: u64, bytes: &[u8]) -> Result<(), RealignError> {
    disk.write_at(offset, bytes).map_err(|source| RealignError::Write { offset, source })
}
