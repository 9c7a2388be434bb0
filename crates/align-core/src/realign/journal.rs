use uuid::Uuid;

use super::description::Description;
use super::progress::{Pending, Progress, RECORD_LEN};
use super::{BLOCK, Job, RealignError, WINDOW};
use crate::device::BlockDevice;

/// A journal in a stretch of a device: a head, two places for records of progress, two for the bytes of steps, and
/// the job itself.
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
/// The description of a job is small; what it writes is its bytes. In memory it takes up to 50 times as much.
const MAX_DESCRIPTION: u64 = 1 << 20;
/// Ends of partitions, tables, and what is overwritten: as much is held in memory. Those that are stored once and
/// named more often count each time.
const MAX_BYTES: u64 = 192 << 20;
/// The bytes of a job are written in pieces of this length.
const PIECE: usize = 1 << 20;

/// How many bytes a journal for the job takes. `window` as in [`Mover::begin`](super::Mover::begin).
pub fn journal_len(job: &Job, window: u64) -> u64 {
    let window = window.min(WINDOW);
    let (description, strings) = Description::of(job);
    let description_len = (encode(&description).len() as u64).next_multiple_of(BLOCK);
    let bytes_len = total(&strings).checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX);
    job_offset(window).saturating_add(description_len).saturating_add(bytes_len)
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
        let window = window.min(WINDOW);
        let (description, strings) = Description::of(job);
        let text = encode(&description);
        if text.len() as u64 > MAX_DESCRIPTION || description.bytes() > MAX_BYTES {
            return Err(RealignError::Job("it is larger than a journal may be"));
        }
        let journal = Self { device, start, id: job.id, window };
        let at = job_offset(window);
        journal.write(at, &padded(text.clone()))?;
        journal.write_strings(at.saturating_add((text.len() as u64).next_multiple_of(BLOCK)), &strings)?;
        journal.write_record(first)?;
        // One of an earlier move may be there, and later.
        journal.write(record_offset(first.sequence.wrapping_add(1) % 2), &[0; RECORD_LEN])?;
        journal.flush()?;
        // A journal without a head is none.
        journal.write(0, &journal.head(&text, &strings))?;
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
        if window > WINDOW || description_len > MAX_DESCRIPTION || bytes_len > MAX_BYTES {
            return Err(none("it claims to be larger than a journal may be"));
        }
        journal.id = Uuid::from_u64_pair(id_high, id_low);
        journal.window = window;
        let at = job_offset(window);
        let text = journal.read(at, description_len)?;
        let (text_crc, bytes_crc) = halves(crcs);
        if crc32fast::hash(&text) != text_crc {
            return Err(none("the checksum of its job is wrong"));
        }
        let incomplete = none("its job is not complete");
        let Ok(description) = serde_json::from_slice::<Description>(&text) else { return Err(incomplete) };
        if description.bytes() > MAX_BYTES {
            return Err(none("it claims to be larger than a journal may be"));
        }
        let mut at = at.saturating_add(description_len.next_multiple_of(BLOCK));
        let end = at.saturating_add(bytes_len);
        let mut hasher = crc32fast::Hasher::new();
        let job = description.restore(journal.id, |len| {
            let bytes = journal.read(at, len)?;
            hasher.update(&bytes);
            at = at.saturating_add(len);
            Ok(bytes)
        })?;
        let job = job.filter(|_| at == end).ok_or(incomplete)?;
        if hasher.finalize() != bytes_crc {
            return Err(none("the checksum of its bytes is wrong"));
        }
        Ok((journal, job))
    }

    pub(super) fn start(&self) -> u64 {
        self.start
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

    fn head(&self, description: &[u8], strings: &[&[u8]]) -> Vec<u8> {
        let (id_high, id_low) = self.id.as_u64_pair();
        let mut hasher = crc32fast::Hasher::new();
        strings.iter().for_each(|string| hasher.update(string));
        let crcs = pair(crc32fast::hash(description), hasher.finalize());
        let lens = [description.len() as u64, total(strings)];
        let numbers = [id_low, id_high, u64::from(VERSION), self.window, lens[0], lens[1], crcs];
        let mut head = MAGIC.to_vec();
        numbers.iter().for_each(|number| head.extend(number.to_le_bytes()));
        head.extend(crc32fast::hash(&head).to_le_bytes());
        head.resize(HEAD_LEN, 0);
        head
    }

    /// One behind the other, up to the end of a block.
    fn write_strings(&self, start: u64, strings: &[&[u8]]) -> Result<(), RealignError> {
        let mut at = start;
        let mut piece = Vec::new();
        for part in strings.iter().flat_map(|string| string.chunks(PIECE)) {
            let (now, later) = part.split_at(part.len().min(PIECE.saturating_sub(piece.len())));
            piece.extend_from_slice(now);
            if piece.len() == PIECE {
                self.write(at, &piece)?;
                at = at.saturating_add(PIECE as u64);
                piece.clear();
            }
            piece.extend_from_slice(later);
        }
        if piece.is_empty() { Ok(()) } else { self.write(at, &padded(piece)) }
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

fn halves(pair: u64) -> (u32, u32) {
    let half = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
    (half(pair >> 32), half(pair))
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(HEAD_LEN), 0);
    bytes
}

fn encode(description: &Description) -> Vec<u8> {
    // Text, numbers and lists only.
    serde_json::to_vec(description).unwrap_or_default()
}

fn total(strings: &[&[u8]]) -> u64 {
    strings.iter().fold(0, |sum, string| sum.saturating_add(string.len() as u64))
}

/// A record, with the bytes of the step that it announces if these are in the journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) record: Progress,
    pub(super) step: Option<Vec<u8>>,
}

/// The records of a journal that count, the newest first.
pub(super) fn newest(journal: &Journal<'_>) -> Result<Vec<Recorded>, RealignError> {
    let mut newest = Vec::new();
    for record in journal.records()? {
        let pending = record.pending.filter(|pending| !pending.is_direct);
        let step = pending.map(|pending| journal.step(record.sequence, &pending)).transpose()?;
        // A step whose bytes did not arrive was not begun either: the record before counts.
        if step != Some(None) {
            newest.push(Recorded { record, step: step.flatten() });
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{FaultDevice, MemoryDevice};
    use crate::patch::{Change, Patch};
    use crate::realign::Shift;
    use crate::realign::course::Place;
    use crate::realign::progress::Stage;

    const SHORT: u64 = 4096;
    const FIRST: Progress =
        Progress { sequence: 1, stage: Stage::Marking, place: Place { shift: 0, moved: 0 }, pending: None };

    /// Three partitions' worth of what a move of them needs.
    fn job() -> Job {
        let text = |byte: u8| vec![byte; 9000];
        let change = |offset, before: &[u8], after: &[u8]| Change {
            offset,
            before: before.to_vec(),
            after: after.to_vec(),
        };
        let (head, marker, blank) = (text(1), text(2), text(0));
        Job {
            id: Uuid::from_u128(7),
            note: r#"{"what": "a \"note\""}"#.into(),
            marks: Patch {
                steps: vec![
                    vec![change(0, &head, &marker), change(10_000, &blank, &marker)],
                    Vec::new(),
                    vec![change(20_000, &text(3), &text(3)), change(40_000, &[], &[])],
                ],
            },
            shifts: vec![Shift { from: 512, to: 1024, len: 2048 }],
            finals: vec![(30_000, head), (50_000, blank[..77].to_vec())],
        }
    }

    #[test]
    fn a_job_comes_back_and_equal_bytes_are_stored_once() {
        let device = MemoryDevice::new(1 << 20);
        Journal::create(&device, 512, &job(), SHORT, &FIRST).unwrap();
        let (_, found) = Journal::open(&device, 512).unwrap();
        assert_eq!(found, job());
        let (_, strings) = Description::of(&found);
        assert_eq!(strings.iter().map(|string| string[0]).collect::<Vec<_>>(), [1, 2, 3]);
        // Description and bytes: one block, and seven.
        assert_eq!(journal_len(&job(), SHORT), job_offset(SHORT) + 8 * BLOCK);
        let exact = MemoryDevice::new(512 + journal_len(&job(), SHORT));
        Journal::create(&exact, 512, &job(), SHORT, &FIRST).unwrap();
        assert_eq!(Journal::open(&exact, 512).unwrap().1, job());
    }

    #[test]
    fn long_strings_are_written_in_pieces() {
        let bytes = |len: usize, byte: u8| (0..len).map(|at| (at / 100) as u8 ^ byte).collect::<Vec<u8>>();
        let lens = [1, PIECE - 1, PIECE, PIECE + 1, 77, 3 * PIECE + 5];
        let finals = lens.into_iter().zip(1..).map(|(len, byte)| (0, bytes(len, byte)));
        let job = Job { finals: finals.collect(), ..Job::default() };
        let device = MemoryDevice::new(journal_len(&job, SHORT));
        Journal::create(&device, 0, &job, SHORT, &FIRST).unwrap();
        assert_eq!(Journal::open(&device, 0).unwrap().1, job);
    }

    /// A journal with this description, all of whose checksums are right.
    fn hostile(description: &str, bytes: &[u8]) -> FaultDevice<MemoryDevice> {
        let device = MemoryDevice::new(1 << 30);
        let journal = Journal { device: &device, start: 0, id: Uuid::nil(), window: SHORT };
        let at = job_offset(SHORT);
        journal.write(at, description.as_bytes()).unwrap();
        journal.write(at + (description.len() as u64).next_multiple_of(BLOCK), bytes).unwrap();
        journal.write(0, &journal.head(description.as_bytes(), &[bytes])).unwrap();
        FaultDevice::new(device)
    }

    fn describe(marks: &str, finals: &str) -> String {
        format!(r#"{{"note":"","shifts":[],"marks":[{marks}],"finals":[{finals}]}}"#)
    }

    /// The most memory that this process has had, in bytes.
    fn peak_memory() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    #[test]
    fn a_hostile_job_takes_little_memory() {
        let bytes = vec![7; 1 << 20];
        let shared = |times: usize| vec!["[0,1048576,1]"; times].join(",");
        let mark = |times: usize| format!("[{}]", vec!["[0,1048576,1,1]"; times].join(","));
        let whole = MAX_DESCRIPTION as usize;
        let empty_steps = describe(&"[],".repeat(whole / 3 - 30).replace("[],", ",[]")[1..], &shared(1));
        let empty_changes = "[0,0,0,0],".repeat(whole / 10 - 400);
        let empty_changes = describe(
            &format!("[{}]", empty_changes.trim_end_matches(',')),
            &shared(MAX_BYTES as usize >> 20),
        );
        let opened = |description: &str| {
            let device = hostile(description, &bytes);
            let opened = Journal::open(&device, 0).map(|(_, job)| job);
            assert!(device.largest_read() <= 1 << 20, "a read of {} bytes", device.largest_read());
            opened
        };
        // The largest ones that are taken.
        assert_eq!(opened(&describe("", &shared(192))).unwrap().finals.len(), 192);
        assert_eq!(opened(&describe(&mark(96), "")).unwrap().marks.changes().count(), 96);
        assert!(opened(&empty_steps).is_ok() && opened(&empty_changes).is_ok());
        for refused in [
            describe("", &shared(193)),
            describe(&mark(97), ""),
            describe("", &format!("[0,{},0]", MAX_BYTES + 1)),
            describe("", &format!("[0,{},0],[0,{},0]", u64::MAX, u64::MAX)),
            // Strings that are shorter than they say, that are left out, that are not named, and more than are
            // stored.
            describe("", "[0,1048576,1],[0,1048575,1]"),
            describe("", "[0,1048576,2]"),
            describe("", &format!("[0,1048576,{}]", u64::MAX)),
            describe("", "[0,1048576,0]"),
            describe("", "[0,524288,1]"),
            describe("", "[0,1048576,1],[0,1,2]"),
            describe("[[0,1048576,1]]", ""),
            String::new(),
        ] {
            let found = opened(&refused).map(|_| ());
            assert!(matches!(found, Err(RealignError::NoJournal { .. })), "{refused:.100}: {found:?}");
        }
        let peak = peak_memory();
        assert!(peak < 256 << 20, "{} MiB", peak >> 20);
    }

    #[test]
    fn what_a_journal_would_not_take_back_is_not_begun() {
        let device = MemoryDevice::new(1 << 30);
        let begin = |job: &Job| Journal::create(&device, 0, job, SHORT, &FIRST).map(|_| ());
        let bytes = vec![0; MAX_BYTES as usize];
        let mut job = Job { finals: vec![(0, bytes)], ..Job::default() };
        assert_eq!(begin(&job).map_err(|error| error.to_string()), Ok(()));
        job.finals.push((0, vec![1]));
        assert!(matches!(begin(&job), Err(RealignError::Job(_))));
        let long = Job { note: "x".repeat(MAX_DESCRIPTION as usize), ..Job::default() };
        assert!(matches!(begin(&long), Err(RealignError::Job(_))));
    }
}
