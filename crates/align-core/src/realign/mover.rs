use std::ops::Range;
use std::sync::Arc;

use uuid::Uuid;

use super::foreign::first_foreign;
use super::journal::{Journal, Recorded, newest};
use super::progress::{Pending, Progress, Stage};
use super::step::{Lengths, Step, Way};
use super::{BLOCK, Job, RealignError, Shift, Stand, Watch};
use crate::device::BlockDevice;

/// Does a job, forwards or back, from wherever it was cut off.
#[derive(Debug)]
pub struct Mover<'d> {
    disk: &'d dyn BlockDevice,
    journal: Journal<'d>,
    job: Arc<Job>,
    /// All bytes that the job may write: no others are.
    owned: Vec<Range<u64>>,
    lengths: Lengths,
    /// The newest record in the journal.
    record: Progress,
    /// How far it is: the record, and what has been written since.
    stage: Stage,
    shift: u32,
    moved: u64,
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
/// So much is copied at once.
const CHUNK: u64 = 8 << 20;
/// A direct step: so much is done again after a crash at most.
const LONGEST_DIRECT: u64 = 64 << 20;

impl<'d> Mover<'d> {
    /// A new job on `disk`, with a journal at byte `start` of a device, which may be the disk itself where nothing of the
    /// job comes. Steps that go through the journal have `window` bytes at most. Nothing of the job is done yet, but it can
    /// be found from now on.
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
        let record = Progress { sequence: 1, stage: Stage::Marking, shift: 0, moved: 0, pending: None };
        let journal = Journal::create(journal, start, job, window, &record)?;
        Ok(Self::at(disk, journal, job.clone(), record))
    }

    /// The job that was begun there. What a crash left of its last steps is written again.
    ///
    /// # Errors
    /// When there is no journal there, or the disk fails. [`RealignError::Foreign`] when somebody else has written to what
    /// the job had marked or kept: nothing was written then.
    pub fn recover(
        disk: &'d dyn BlockDevice,
        journal: &'d dyn BlockDevice,
        start: u64,
    ) -> Result<Self, RealignError> {
        let (journal, job) = Journal::open(journal, start)?;
        check(&job, disk.size())?;
        let none = |reason| RealignError::NoJournal { offset: start, reason };
        let records = newest(&journal)?;
        let [newest, older @ ..] = &records[..] else {
            return Err(none("no record of its progress is whole"));
        };
        let record = newest.record;
        let is_before = |older: &&Recorded| older.record.sequence.checked_add(1) == Some(record.sequence);
        // The older first: the newer knows what it is beside. Behind a record without a step all is on the medium.
        let again = newest.step.iter().flat_map(|_| older.iter().filter(is_before).chain([newest]));
        let again =
            again.filter_map(|recorded| Some((recorded.record.pending?.start, recorded.step.as_ref()?)));
        let again: Vec<_> = again.collect();
        let torn = again.iter().map(|(start, bytes)| *start..start.saturating_add(bytes.len() as u64));
        if let Some(offset) = first_foreign(disk, &job, record.stage, torn) {
            return Err(RealignError::Foreign { offset });
        }
        for (start, bytes) in again {
            write(disk, start, bytes)?;
        }
        let mut mover = Self::at(disk, journal, job, record);
        if let Some(pending) = record.pending {
            mover.advance(pending.way, pending.len);
            mover.settle()?;
        }
        Ok(mover)
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
        let lengths =
            Lengths { journalled: journal.window(), direct: LONGEST_DIRECT, direct_from: journal.window() };
        let Progress { stage, shift, moved, .. } = record;
        Self { disk, journal, owned: job.owned(), job: Arc::new(job), lengths, record, stage, shift, moved }
    }

    /// Does what is left of the job.
    ///
    /// # Errors
    /// When the disk fails, or it is stopped: then it can go on, or back, from there.
    pub fn forward(&mut self, watch: &mut dyn Watch) -> Result<Ended, RealignError> {
        loop {
            match self.stage {
                Stage::Marking | Stage::Restoring => {
                    // What is only kept is put back, but never marked.
                    let job = Arc::clone(&self.job);
                    let marks = job.marks.changes().filter(|change| !change.is_kept());
                    self.put(marks.map(|change| (change.offset, &change.after[..])))?;
                    self.enter(Stage::Moving, 0, 0)?;
                }
                Stage::Moving => {
                    self.run(Way::Forward, watch)?;
                    self.enter(Stage::Finishing, self.shift, self.moved)?;
                }
                Stage::Finishing => {
                    let job = Arc::clone(&self.job);
                    self.put(job.finals.iter().map(|(offset, bytes)| (*offset, &bytes[..])))?;
                    self.enter(Stage::Finished, self.shift, self.moved)?;
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
        loop {
            match self.stage {
                Stage::Marking => self.enter(Stage::Restoring, 0, 0)?,
                Stage::Moving => {
                    self.run(Way::Back, watch)?;
                    self.enter(Stage::Restoring, 0, 0)?;
                }
                Stage::Restoring => {
                    let job = Arc::clone(&self.job);
                    self.put(job.marks.changes().rev().map(|change| (change.offset, &change.before[..])))?;
                    self.enter(Stage::Restored, 0, 0)?;
                }
                Stage::Finishing | Stage::Finished | Stage::Restored => return self.forward(watch),
            }
        }
    }

    /// Moves bytes until none is left to move that way.
    fn run(&mut self, way: Way, watch: &mut dyn Watch) -> Result<(), RealignError> {
        while let Some(shift) = self.current() {
            let (done, of) = self.done();
            watch.moved(done, of);
            if watch.is_stopped() {
                self.settle()?;
                return Err(RealignError::Stopped { done, of });
            }
            match Step::next(shift, self.moved, way, self.lengths) {
                Some(step) if step.is_direct => self.direct(step, way)?,
                Some(step) => self.journalled(step, way)?,
                None if !self.next_shift(way) => break,
                None => {}
            }
        }
        let (done, of) = self.done();
        watch.moved(done, of);
        self.settle()
    }

    fn direct(&mut self, step: Step, way: Way) -> Result<(), RealignError> {
        self.settle()?;
        // In the order in which they leave.
        let from_end = step.write > step.read;
        let mut left = step.len;
        while left > 0 {
            let len = left.min(CHUNK);
            let done = step.len.saturating_sub(left);
            let at = if from_end { left.saturating_sub(len) } else { done };
            let bytes = read(self.disk, step.read.saturating_add(at), len)?;
            write(self.disk, step.write.saturating_add(at), &bytes)?;
            left = left.saturating_sub(len);
        }
        self.advance(way, step.len);
        self.enter(Stage::Moving, self.shift, self.moved)
    }

    fn journalled(&mut self, step: Step, way: Way) -> Result<(), RealignError> {
        let bytes = read(self.disk, step.read, step.len)?;
        self.through_journal(step.write, &bytes, way, step.len)?;
        self.advance(way, step.len);
        Ok(())
    }

    /// Writes what does not move, in this order: none of it reaches the medium before the one in front of it.
    fn put<'b>(&mut self, writes: impl Iterator<Item = (u64, &'b [u8])>) -> Result<(), RealignError> {
        let longest = usize::try_from(self.lengths.journalled).unwrap_or(usize::MAX);
        for (offset, bytes) in writes {
            let mut at = offset;
            for part in bytes.chunks(longest.max(1)) {
                self.through_journal(at, part, Way::Forward, 0)?;
                at = at.saturating_add(part.len() as u64);
            }
        }
        Ok(())
    }

    /// Writes bytes with the rest of the blocks that they lie in, as far as those belong to the job, by way of the
    /// journal. `moves`: how many bytes have moved by it.
    fn through_journal(&mut self, at: u64, bytes: &[u8], way: Way, moves: u64) -> Result<(), RealignError> {
        let end = at.saturating_add(bytes.len() as u64);
        let owned = self.owned.iter().find(|owned| owned.start <= at && end <= owned.end);
        let owned = owned.ok_or(RealignError::Job("it writes bytes that do not belong to it"))?;
        let start = (at & !(BLOCK - 1)).max(owned.start);
        let end = end.checked_next_multiple_of(BLOCK).unwrap_or(end).min(owned.end);
        let (start, blocks) = match read(self.disk, start, end.saturating_sub(start)) {
            Ok(mut blocks) => {
                let within = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
                let place = blocks.get_mut(within..).and_then(|rest| rest.get_mut(..bytes.len()));
                place.ok_or(RealignError::Job("it goes beyond the disk"))?.copy_from_slice(bytes);
                (start, blocks)
            }
            // A bad sector beside them cannot be kept, and is no reason to leave these out.
            Err(_) => (at, bytes.to_vec()),
        };
        let crc = crc32fast::hash(&blocks);
        let pending = Pending { way, len: moves, start, blocks_len: blocks.len() as u64, crc };
        let sequence = self.record.sequence.saturating_add(1);
        let record = Progress {
            sequence,
            stage: self.stage,
            shift: self.shift,
            moved: self.moved,
            pending: Some(pending),
        };
        self.journal.write_step(sequence, &blocks)?;
        self.journal.write_record(&record)?;
        // This also makes durable what the step before has written to the disk, whose journalled bytes the next step
        // overwrites.
        self.flush()?;
        if !self.journal.is_on(self.disk) {
            self.journal.flush()?;
        }
        self.record = record;
        write(self.disk, start, &blocks)
    }

    /// Makes a record of how far it is, once all that was written for it is on the medium.
    fn enter(&mut self, stage: Stage, shift: u32, moved: u64) -> Result<(), RealignError> {
        self.flush()?;
        let sequence = self.record.sequence.saturating_add(1);
        let record = Progress { sequence, stage, shift, moved, pending: None };
        self.journal.write_record(&record)?;
        self.journal.flush()?;
        (self.record, self.stage, self.shift, self.moved) = (record, stage, shift, moved);
        Ok(())
    }

    /// The same where the newest record is not of where it is.
    fn settle(&mut self) -> Result<(), RealignError> {
        let is_settled = self.record.pending.is_none()
            && (self.record.shift, self.record.moved) == (self.shift, self.moved);
        if is_settled { Ok(()) } else { self.enter(self.stage, self.shift, self.moved) }
    }

    fn flush(&self) -> Result<(), RealignError> {
        self.disk.flush().map_err(RealignError::Flush)
    }

    fn advance(&mut self, way: Way, len: u64) {
        self.moved = match way {
            Way::Forward => self.moved.saturating_add(len),
            Way::Back => self.moved.saturating_sub(len),
        };
    }

    fn current(&self) -> Option<Shift> {
        self.job.shifts.get(usize::try_from(self.shift).ok()?).copied()
    }

    /// Goes to the next shift of that way. `false` when there is none.
    fn next_shift(&mut self, way: Way) -> bool {
        let next = match way {
            Way::Forward => self.shift.checked_add(1),
            Way::Back => self.shift.checked_sub(1),
        };
        let found = next.and_then(|next| Some((next, *self.job.shifts.get(usize::try_from(next).ok()?)?)));
        if let Some((next, shift)) = found {
            self.shift = next;
            self.moved = if way == Way::Back { shift.len } else { 0 };
        }
        found.is_some()
    }

    /// How many of all bytes are at their new place.
    fn moved_bytes(&self) -> u64 {
        let before = self.job.shifts.iter().take(usize::try_from(self.shift).unwrap_or(usize::MAX));
        before.fold(self.moved, |sum, shift| sum.saturating_add(shift.len))
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

fn read(disk: &dyn BlockDevice, offset: u64, len: u64) -> Result<Vec<u8>, RealignError> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    disk.read_at(offset, &mut bytes).map_err(|source| RealignError::Read { offset, source })?;
    Ok(bytes)
}

fn write(disk: &dyn BlockDevice, offset: u64, bytes: &[u8]) -> Result<(), RealignError> {
    disk.write_at(offset, bytes).map_err(|source| RealignError::Write { offset, source })
}
