use std::ops::Range;

use uuid::Uuid;

use super::course::Place;
use super::step::Way;

/// How far a job has come, as it stands in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Counts the records: the one with the largest number is the newest.
    pub(super) sequence: u64,
    pub(super) stage: Stage,
    pub(super) place: Place,
    /// The step that begins there: it may not be on the medium yet.
    pub(super) pending: Option<Pending>,
}

/// A step that is about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) way: Way,
    /// Whether its bytes are not in the journal: then they still are where they come from, as long as no later record
    /// says that they have been copied.
    pub(super) is_direct: bool,
    /// How many bytes it moves.
    pub(super) len: u64,
    /// The first of the whole blocks that are written for it.
    pub(super) start: u64,
    /// How many bytes these are.
    pub(super) blocks_len: u64,
    /// CRC-32 of those.
    pub(super) crc: u32,
}

/// What is done at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The marks are written.
    Marking,
    /// Bytes move, one way or the other.
    Moving,
    /// The final bytes are written.
    Finishing,
    /// All is at its new place.
    Finished,
    /// All has moved back, and the marks are taken back.
    Restoring,
    /// All is as it was.
    Restored,
}

/// A record has a block of its own.
pub(super) const RECORD_LEN: usize = 4096;
const MAGIC: [u8; 8] = *b"ALCKSTEP";
/// The fields, and the CRC-32 of them behind.
const FIELDS_LEN: usize = 88;

const STAGES: [Stage; 6] =
    [Stage::Marking, Stage::Moving, Stage::Finishing, Stage::Finished, Stage::Restoring, Stage::Restored];

impl Pending {
    /// What is written for it.
    pub(super) fn place(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.blocks_len)
    }
}

/// The ways of steps by their numbers; 0 is for none.
const WAYS: [(Way, bool); 4] =
    [(Way::Forward, false), (Way::Back, false), (Way::Forward, true), (Way::Back, true)];

impl Progress {
    pub(super) fn encode(&self, id: Uuid) -> Vec<u8> {
        let stage = STAGES.iter().position(|stage| *stage == self.stage).unwrap_or(0) as u64;
        let number = |pending: Pending| {
            WAYS.iter().zip(1_u64..).find(|(way, _)| **way == (pending.way, pending.is_direct))
        };
        let way = self.pending.and_then(number).map_or(0, |(_, number)| number);
        let (len, start, blocks_len, crc) = self
            .pending
            .map_or((0, 0, 0, 0), |pending| (pending.len, pending.start, pending.blocks_len, pending.crc));
        let numbers = [
            self.sequence,
            stage << 32 | u64::from(self.place.shift),
            self.place.moved,
            len,
            start,
            blocks_len,
            way << 32 | u64::from(crc),
        ];
        let mut bytes = Vec::with_capacity(RECORD_LEN);
        bytes.extend(MAGIC);
        bytes.extend(id.as_bytes());
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.resize(FIELDS_LEN, 0);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.resize(RECORD_LEN, 0);
        bytes
    }

    /// The record in these bytes, if it is one of this job and whole.
    pub(super) fn decode(bytes: &[u8], id: Uuid) -> Option<Self> {
        let fields = bytes.get(..FIELDS_LEN)?;
        let crc = bytes.get(FIELDS_LEN..)?.first_chunk().copied().map(u32::from_le_bytes)?;
        let rest = fields.strip_prefix(&MAGIC)?.strip_prefix(id.as_bytes())?;
        if crc32fast::hash(fields) != crc {
            return None;
        }
        let mut numbers = rest.as_chunks().0.iter().copied().map(u64::from_le_bytes);
        let mut next = || numbers.next();
        let (sequence, stage_and_shift, moved) = (next()?, next()?, next()?);
        let (len, start, blocks_len, way_and_crc) = (next()?, next()?, next()?, next()?);
        let way = match (way_and_crc >> 32).checked_sub(1) {
            None => None,
            Some(index) => Some(*WAYS.get(usize::try_from(index).ok()?)?),
        };
        let crc = low(way_and_crc);
        let stage = *STAGES.get(usize::try_from(stage_and_shift >> 32).ok()?)?;
        let pending = way.map(|(way, is_direct)| Pending { way, is_direct, len, start, blocks_len, crc });
        let place = Place { shift: low(stage_and_shift), moved };
        Some(Self { sequence, stage, place, pending })
    }
}

fn low(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_one_of_another_job_does_not() {
        let (id, other) = (Uuid::from_u128(7), Uuid::from_u128(8));
        let pending = |(way, is_direct)| Pending {
            way,
            is_direct,
            len: 512,
            start: 4096,
            blocks_len: 8192,
            crc: u32::MAX,
        };
        for pending in WAYS.map(pending).map(Some).into_iter().chain([None]) {
            for stage in STAGES {
                let record = Progress {
                    sequence: 1 << 40,
                    stage,
                    place: Place { shift: 3, moved: u64::MAX },
                    pending,
                };
                let bytes = record.encode(id);
                assert_eq!((bytes.len(), Progress::decode(&bytes, id)), (RECORD_LEN, Some(record)));
                assert_eq!(Progress::decode(&bytes, other), None);
            }
        }
    }

    #[test]
    fn a_torn_record_is_none() {
        let id = Uuid::from_u128(7);
        let at = |moved| Place { shift: 0, moved };
        let record = Progress { sequence: 5, stage: Stage::Moving, place: at(77), pending: None };
        let (old, new) = (record.encode(id), Progress { sequence: 7, place: at(99), ..record }.encode(id));
        for cut in 1..FIELDS_LEN + 4 {
            let torn = [&new[..cut], &old[cut..]].concat();
            let found = Progress::decode(&torn, id);
            assert!(found.is_none() || torn == new || torn == old, "cut at {cut}");
        }
        assert_eq!(Progress::decode(&[], id), None);
    }
}
