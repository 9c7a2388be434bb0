use std::time::Duration;

use super::series::{Samples, quantile};
use crate::topology::Reported;
use crate::units::PhysicalSize;

/// Physical sectors, as writes show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sectors {
    /// Their size.
    pub physical: PhysicalSize,
    /// The byte at which the first of them begins, counted from the start of the disk: its alignment offset.
    pub offset: u64,
}

impl Sectors {
    /// Whether a write at `offset` begins where a sector does.
    pub fn begin_at(&self, offset: u64) -> bool {
        offset % self.physical.bytes() == self.offset
    }
}

/// As if the device reported them, to judge its partitions by.
impl From<Sectors> for Reported {
    fn from(sectors: Sectors) -> Self {
        Self {
            physical: Some(sectors.physical.bytes()),
            alignment_offset: i64::try_from(sectors.offset).ok(),
            ..Self::default()
        }
    }
}

impl Samples {
    /// The sectors that the times show. Sectors of another size or offset call for other offsets to be quick and
    /// slow; where the times allow for several by chance, those are meant that leave the fewest exceptions.
    pub fn sectors(&self) -> Option<Sectors> {
        let sizes = std::iter::successors(Some(self.series.step * 2), |size| Some(size * 2))
            .take_while(|size| *size <= self.series.block)
            .filter_map(PhysicalSize::new);
        let all = sizes.flat_map(|physical| {
            (0..physical.bytes() / self.series.step)
                .map(move |index| Sectors { physical, offset: index * self.series.step })
        });
        all.filter(|sectors| self.show(*sectors)).min_by_key(|sectors| self.exceptions(*sectors))
    }

    /// Whether writes of whole sectors are quicker without a doubt: by the middle of the times at each offset, more
    /// than half of them at each offset than three quarters of all others, and the other way round. Where there is no
    /// difference, chance hardly brings that about, and never twice.
    fn show(&self, sectors: Sectors) -> bool {
        let medians = |whole: bool| {
            let offsets = self.by_offset().filter(move |(offset, _)| sectors.begin_at(*offset) == whole);
            offsets.map(|(_, times)| quantile(times, 1, 2))
        };
        let (Some(slowest_whole), Some(quickest_part)) = (medians(true).max(), medians(false).min()) else {
            return false;
        };
        let most_whole = quantile(&self.pool(|offset| sectors.begin_at(offset)), 3, 4);
        let most_part = quantile(&self.pool(|offset| !sectors.begin_at(offset)), 1, 4);
        let is_more_than_rounding = slowest_whole + slowest_whole / 10 < quickest_part;
        is_more_than_rounding
            && most_whole < most_part
            && slowest_whole < most_part
            && most_whole < quickest_part
    }

    /// How many times are on the wrong side of the time that parts whole sectors from others best.
    fn exceptions(&self, sectors: Sectors) -> usize {
        let mut times: Vec<(Duration, bool)> = self
            .by_offset()
            .flat_map(|(offset, times)| times.iter().map(move |time| (*time, sectors.begin_at(offset))))
            .collect();
        times.sort_unstable();
        let whole = times.iter().filter(|(_, whole)| *whole).count();
        // Below the first of all, every whole one is on the wrong side.
        let mut wrong = whole;
        let mut fewest = wrong;
        for (_, is_whole) in times {
            wrong = if is_whole { wrong - 1 } else { wrong + 1 };
            fewest = fewest.min(wrong);
        }
        fewest
    }
}
