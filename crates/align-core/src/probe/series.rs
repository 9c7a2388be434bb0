use std::time::Duration;

/// Writes of one size at every offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The size of each write in bytes.
    pub block: u64,
    /// The distance of the offsets in bytes.
    pub step: u64,
}

/// The times of a series.
#[derive(Clone, Debug)]
pub struct Samples {
    /// What was written.
    pub series: Series,
    /// How long each write took: for each offset of the series in their order, the shortest first.
    pub times: Vec<Vec<Duration>>,
}

/// Most sectors are of 4096 bytes, and small writes show them best: a large one takes long by itself.
const SMALL: u64 = 4096;
/// As large as sectors are met.
const LARGE: u64 = 65536;
/// Enough of each offset to have a middle and quarters.
const ROUNDS: std::ops::RangeInclusive<u64> = 12..=32;
/// About as many writes are a series.
const WRITES: u64 = 512;

impl Series {
    /// What is measured where `step` is the smallest write: first what is most likely to show something. Large
    /// sectors nearly always begin at a multiple of 4096 bytes.
    pub(super) fn all(step: u64) -> impl Iterator<Item = Self> {
        let all = [(SMALL, step), (LARGE, SMALL.max(step)), (LARGE, step)];
        let is_new = move |index: &usize| *index != 2 || step < SMALL;
        let useful = all.into_iter().enumerate().filter(move |(index, _)| is_new(index));
        useful.map(|(_, (block, step))| Self { block, step }).filter(|series| series.step < series.block)
    }

    /// The offsets: from 0 to the block's size, where the sectors repeat, and one more. That one tells sectors of the
    /// block's size from larger ones of which a boundary happens to lie there.
    pub fn offsets(self) -> impl Iterator<Item = u64> + Clone {
        (0..self.count()).map(move |index| index * self.step)
    }

    /// How many offsets there are.
    pub(super) fn count(self) -> u64 {
        self.block / self.step + 2
    }

    /// How often each offset is written.
    pub(super) fn rounds(self) -> u64 {
        (WRITES / self.count()).clamp(*ROUNDS.start(), *ROUNDS.end())
    }
}

impl Samples {
    pub(super) fn new(series: Series) -> Self {
        Self { series, times: vec![Vec::new(); usize::try_from(series.count()).unwrap_or(0)] }
    }

    /// The offsets with their times.
    pub fn by_offset(&self) -> impl Iterator<Item = (u64, &[Duration])> {
        self.series.offsets().zip(self.times.iter().map(Vec::as_slice))
    }

    /// How many writes there were.
    pub fn writes(&self) -> usize {
        self.times.iter().map(Vec::len).sum()
    }

    /// The middle of the times at the offsets that are `wanted`; zero where there are none.
    pub fn median(&self, wanted: impl Fn(u64) -> bool) -> Duration {
        quantile(&self.pool(wanted), 1, 2)
    }

    pub(super) fn pool(&self, wanted: impl Fn(u64) -> bool) -> Vec<Duration> {
        let mut pool: Vec<Duration> = self
            .by_offset()
            .filter(|(offset, _)| wanted(*offset))
            .flat_map(|(_, times)| times)
            .copied()
            .collect();
        pool.sort_unstable();
        pool
    }
}

/// The value that `part` of `whole` parts of the sorted times do not exceed.
pub(super) fn quantile(sorted: &[Duration], part: usize, whole: usize) -> Duration {
    sorted.get(sorted.len().saturating_sub(1) * part / whole).copied().unwrap_or_default()
}
