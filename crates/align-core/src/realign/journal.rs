use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::progress::{Pending, Progress, RECORD_LEN};
use super::{BLOCK, Job, RealignError, Shift};
use crate::device::BlockDevice;
use crate::patch::{Change, Patch};

/// A journal in a stretch of a device: a head, two places for records of progress, two for the bytes of steps, and the
/// job itself.
#[derive(Debug)]
pub(super) struct Journal<'d> {
    device: &'d dyn BlockDevice,
    start: u64,
    id: Uuid,
    /// The longest step that goes through it, in bytes.
    window: u64,
}

/// Beside what may be torn together, also on flash.
const APART: u64 = 64 << 10;
const MAGIC: [u8; 16] = *b"alignck journal\n";
const VERSION: u32 = 1;
const HEAD_LEN: usize = 4096;
const HEAD_FIELDS_LEN: usize = 72;
/// The description of a job is small; what it writes is its bytes.
const MAX_DESCRIPTION: u64 = 16 << 20;
/// Ends of partitions, tables, and what is overwritten: as much is held in memory.
const MAX_BYTES: u64 = 192 << 20;
/// The longest window that is believed.
const MAX_WINDOW: u64 = 64 << 20;

/// A job without its bytes, which follow in the same order.
#[derive(Serialize, Deserialize)]
struct Description {
    shifts: Vec<Shift>,
    /// Offset and length of each change; of each first what was there, then what is written.
    marks: Vec<Vec<(u64, u64)>>,
    finals: Vec<(u64, u64)>,
}

/// How many bytes a journal for the job takes.
pub fn journal_len(job: &Job, window: u64) -> u64 {
    let (description, bytes) = describe(job);
    let len = |bytes: &[u8]| (bytes.len() as u64).next_multiple_of(BLOCK);
    job_offset(window).saturating_add(len(&description)).saturating_add(len(&bytes))
}

fn step_len(window: u64) -> u64 {
    window.saturating_add(2 * BLOCK).next_multiple_of(APART)
}

fn step_offset(window: u64, which: u64) -> u64 {
    (3 * APART).saturating_add(step_len(window).saturating_mul(which))
}

fn job_offset(window: u64) -> u64 {
    step_offset(window, 2)
}

impl<'d> Journal<'d> {
    /// Writes a new one, with its first record, and flushes it.
    pub(super) fn create(
        device: &'d dyn BlockDevice,
        start: u64,
        job: &Job,
        window: u64,
        first: &Progress,
    ) -> Result<Self, RealignError> {
        let (description, bytes) = describe(job);
        if description.len() as u64 > MAX_DESCRIPTION || bytes.len() as u64 > MAX_BYTES || window > MAX_WINDOW
        {
            return Err(RealignError::Job("it is larger than a journal may be"));
        }
        let journal = Self { device, start, id: job.id, window };
        let at = job_offset(window);
        journal.write(at, &padded(&description))?;
        let at = at.saturating_add((description.len() as u64).next_multiple_of(BLOCK));
        journal.write(at, &padded(&bytes))?;
        journal.write_record(first)?;
        journal.flush()?;
        // A journal without a head is none.
        journal.write(0, &journal.head(&description, &bytes))?;
        journal.flush()?;
        Ok(journal)
    }

    /// Opens the one that is there, with its job.
    pub(super) fn open(device: &'d dyn BlockDevice, start: u64) -> Result<(Self, Job), RealignError> {
        let none = |reason| RealignError::NoJournal { offset: start, reason };
        let mut journal = Self { device, start, id: Uuid::nil(), window: 0 };
        let head = journal.read(0, HEAD_LEN as u64)?;
        let fields = head.get(..HEAD_FIELDS_LEN).ok_or(none("it is too short"))?;
        let rest = fields.strip_prefix(&MAGIC).ok_or(none("its first bytes are others"))?;
        let crc = head.get(HEAD_FIELDS_LEN..).and_then(|rest| rest.first_chunk()).copied();
        if crc.map(u32::from_le_bytes) != Some(crc32fast::hash(fields)) {
            return Err(none("the checksum of its head is wrong"));
        }
        let numbers: Vec<u64> = rest.as_chunks().0.iter().copied().map(u64::from_le_bytes).collect();
        let [id_low, id_high, version, window, description_len, bytes_len, crcs] = numbers[..] else {
            return Err(none("it is too short"));
        };
        if version != u64::from(VERSION) {
            return Err(none("it is of another version"));
        }
        if window > MAX_WINDOW || description_len > MAX_DESCRIPTION || bytes_len > MAX_BYTES {
            return Err(none("it claims to be larger than a journal may be"));
        }
        journal.id = Uuid::from_u64_pair(id_high, id_low);
        journal.window = window;
        let at = job_offset(window);
        let description = journal.read(at, description_len)?;
        let bytes = journal.read(at.saturating_add(description_len.next_multiple_of(BLOCK)), bytes_len)?;
        if crcs != pair(crc32fast::hash(&description), crc32fast::hash(&bytes)) {
            return Err(none("the checksum of its job is wrong"));
        }
        let job = serde_json::from_slice(&description)
            .ok()
            .and_then(|description| restore(journal.id, description, &bytes));
        Ok((journal, job.ok_or(none("its job is not complete"))?))
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// The records that are whole, the newest first.
    pub(super) fn records(&self) -> Result<Vec<Progress>, RealignError> {
        let mut records = Vec::new();
        for which in 0..2 {
            let bytes = self.read(record_offset(which), RECORD_LEN as u64)?;
            records.extend(Progress::decode(&bytes, self.id));
        }
        records.sort_by_key(|record| std::cmp::Reverse(record.sequence));
        Ok(records)
    }

    pub(super) fn write_record(&self, record: &Progress) -> Result<(), RealignError> {
        self.write(record_offset(record.sequence % 2), &record.encode(self.id))
    }

    /// Writes the bytes of the step of the record with that number.
    pub(super) fn write_step(&self, sequence: u64, bytes: &[u8]) -> Result<(), RealignError> {
        self.write(step_offset(self.window, sequence % 2), bytes)
    }

    /// The bytes of a step, if they are those that the record means.
    pub(super) fn step(&self, sequence: u64, pending: &Pending) -> Result<Option<Vec<u8>>, RealignError> {
        if pending.blocks_len > step_len(self.window) {
            return Ok(None);
        }
        let bytes = self.read(step_offset(self.window, sequence % 2), pending.blocks_len)?;
        Ok((crc32fast::hash(&bytes) == pending.crc).then_some(bytes))
    }

    pub(super) fn flush(&self) -> Result<(), RealignError> {
        self.device.flush().map_err(|source| self.failed(0, source.to_string()))
    }

    /// Whether it lies on that device, so that one flush is for both.
    pub(super) fn is_on(&self, disk: &dyn BlockDevice) -> bool {
        std::ptr::addr_eq(self.device, disk)
    }

    fn head(&self, description: &[u8], bytes: &[u8]) -> Vec<u8> {
        let (id_high, id_low) = self.id.as_u64_pair();
        let lens = [description.len() as u64, bytes.len() as u64];
        let crcs = pair(crc32fast::hash(description), crc32fast::hash(bytes));
        let numbers = [id_low, id_high, u64::from(VERSION), self.window, lens[0], lens[1], crcs];
        let mut head = MAGIC.to_vec();
        numbers.iter().for_each(|number| head.extend(number.to_le_bytes()));
        head.extend(crc32fast::hash(&head).to_le_bytes());
        head.resize(HEAD_LEN, 0);
        head
    }

    fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, RealignError> {
        let at = self.start.saturating_add(offset);
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        self.device.read_at(at, &mut bytes).map_err(|source| self.failed(offset, source.to_string()))?;
        Ok(bytes)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), RealignError> {
        let at = self.start.saturating_add(offset);
        self.device.write_at(at, bytes).map_err(|source| self.failed(offset, source.to_string()))
    }

    fn failed(&self, offset: u64, reason: String) -> RealignError {
        RealignError::Journal { offset: self.start.saturating_add(offset), reason }
    }
}

fn record_offset(which: u64) -> u64 {
    which.saturating_add(1).saturating_mul(APART)
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(HEAD_LEN), 0);
    bytes
}

fn describe(job: &Job) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = Vec::new();
    let marks = job.marks.steps.iter().map(|step| {
        let describe = |change: &Change| {
            bytes.extend(&change.before);
            bytes.extend(&change.after);
            (change.offset, change.before.len() as u64)
        };
        step.iter().map(describe).collect()
    });
    let marks = marks.collect();
    let finals = job.finals.iter().map(|(offset, written)| {
        bytes.extend(written);
        (*offset, written.len() as u64)
    });
    let description = Description { finals: finals.collect(), shifts: job.shifts.clone(), marks };
    // Numbers and lists only.
    (serde_json::to_vec(&description).unwrap_or_default(), bytes)
}

fn restore(id: Uuid, description: Description, bytes: &[u8]) -> Option<Job> {
    let mut rest = bytes;
    let mut take = |len: u64| {
        let (taken, left) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        rest = left;
        Some(taken.to_vec())
    };
    let mut steps = Vec::new();
    for step in description.marks {
        let mut change = |(offset, len)| Some(Change { offset, before: take(len)?, after: take(len)? });
        steps.push(step.into_iter().map(&mut change).collect::<Option<_>>()?);
    }
    let finals = description.finals.into_iter().map(|(offset, len)| Some((offset, take(len)?)));
    let finals = finals.collect::<Option<_>>()?;
    Some(Job { id, marks: Patch { steps }, shifts: description.shifts, finals })
}
