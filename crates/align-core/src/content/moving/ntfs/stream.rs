use super::super::inside::Inside;
use super::record::{Attribute, Kind, Record};
use crate::device::ReadError;

/// How many runs of a value are looked at; a file of more is not read beyond them.
const MAX_RUNS: usize = 1 << 16;

/// The value of an attribute that is in clusters of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stream {
    runs: Vec<Run>,
}

/// Clusters that are next to each other in the value and on the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The first one, counted in the value.
    first: u64,
    count: u64,
    /// The first one, counted on the volume; `None` for a hole.
    place: Option<u64>,
}

impl Stream {
    /// The value of the attribute of this kind, of which the records have the parts.
    pub(super) fn of(records: &[Record], kind: Kind) -> Self {
        let mut stream = Self::default();
        for record in records {
            stream.add_parts(record, kind);
        }
        stream
    }

    /// Adds the parts of the value that a record has.
    pub(super) fn add_parts(&mut self, record: &Record, kind: Kind) {
        for (first, described) in record.all(kind).filter_map(Attribute::runs) {
            self.add(first, described);
        }
    }

    /// Adds the runs of a part of the value that begins with its cluster `first`, as far as they make sense.
    fn add(&mut self, first: u64, described: &[u8]) {
        let mut next = first;
        let mut place = 0_i64;
        let mut rest = described;
        while let Some((count, distance, left)) = run(rest) {
            let end = next.checked_add(count);
            let (Some(end), true) = (end, self.runs.len() < MAX_RUNS) else { return };
            let cluster = match distance {
                None => None,
                Some(distance) => {
                    let Some(moved) = place.checked_add(distance).filter(|moved| *moved >= 0) else { return };
                    place = moved;
                    Some(moved.unsigned_abs())
                }
            };
            self.runs.push(Run { first: next, count, place: cluster });
            (next, rest) = (end, left);
        }
    }

    /// The `len` bytes at `offset` of the value; holes read as zeros. `None` when a byte is in no run, or its run
    /// leads out of the partition.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn read(
        &self,
        inside: Inside<'_>,
        cluster_size: u64,
        offset: u64,
        len: usize,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let mut bytes = Vec::new();
        while bytes.len() < len {
            let at = u64::try_from(bytes.len()).ok().and_then(|done| offset.checked_add(done));
            let Some((place, left)) = at.and_then(|at| self.find(at, cluster_size)) else { return Ok(None) };
            // A run has at least one byte left, so that every turn takes some.
            let here = usize::try_from(left).unwrap_or(usize::MAX).min(len.saturating_sub(bytes.len()));
            match place {
                None => bytes.resize(bytes.len().saturating_add(here), 0),
                Some(place) => {
                    let Some(read) = inside.read(place, here)? else { return Ok(None) };
                    bytes.extend(read);
                }
            }
        }
        Ok(Some(bytes))
    }

    /// Where a byte of the value is on the volume, and how many follow it there, itself included.
    fn find(&self, at: u64, cluster_size: u64) -> Option<(Option<u64>, u64)> {
        let cluster = at.checked_div(cluster_size)?;
        let run =
            self.runs.iter().find(|run| cluster.checked_sub(run.first).is_some_and(|nth| nth < run.count))?;
        let within = at.checked_sub(run.first.checked_mul(cluster_size)?)?;
        let left = run.count.checked_mul(cluster_size)?.checked_sub(within)?;
        let place = match run.place {
            None => None,
            Some(place) => Some(place.checked_mul(cluster_size)?.checked_add(within)?),
        };
        Some((place, left))
    }
}

/// The first run of a description: how many clusters, how far they begin from the start of the run before (`None` for
/// a hole), and the rest. `None` at the end and for what is no run.
fn run(described: &[u8]) -> Option<(u64, Option<i64>, &[u8])> {
    let (head, rest) = described.split_first()?;
    let (count, rest) = rest.split_at_checked(usize::from(head & 0x0F))?;
    let (distance, rest) = rest.split_at_checked(usize::from(head >> 4))?;
    let count = u64::try_from(signed(count)?).ok().filter(|count| *count > 0)?;
    let distance = if distance.is_empty() { None } else { Some(signed(distance)?) };
    Some((count, distance, rest))
}

/// A little-endian number of one to eight bytes, whose highest bit is its sign.
fn signed(bytes: &[u8]) -> Option<i64> {
    let sign = if bytes.last()? & 0x80 == 0 { 0 } else { 0xFF };
    let mut whole = [sign; 8];
    whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_lead_back_and_forth_and_over_holes() {
        let mut stream = Stream::default();
        stream.add(0, &[0x11, 2, 0x40, 0x01, 3, 0x21, 1, 0xF0, 0xFF, 0]);
        let run = |first, count, place| Run { first, count, place };
        assert_eq!(stream.runs, [run(0, 2, Some(0x40)), run(2, 3, None), run(5, 1, Some(0x30))]);
    }

    #[test]
    fn a_description_without_sense_ends() {
        let mut stream = Stream::default();
        for described in
            [&[][..], &[0x11], &[0x11, 0, 1], &[0x11, 1, 0xFF], &[0x1F, 1], &[0x19; 12], &[0x11, 0xFF, 1]]
        {
            stream.add(0, described);
        }
        assert_eq!(stream, Stream::default());
        stream.add(u64::MAX, &[0x11, 1, 1]);
        assert_eq!(stream, Stream::default());
    }
}
