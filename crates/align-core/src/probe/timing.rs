use std::time::Duration;

use super::Area;
use super::error::Fault;
use super::series::{Samples, Series};
use crate::device::BlockDevice;

/// How far a series has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The series.
    pub series: Series,
    /// 1; 2 when it is measured again since the first time showed something; 3 when the second did not show the same.
    pub turn: u8,
    /// The rounds that are done. Each writes at every offset once.
    pub done: u64,
    /// The rounds that there are at most.
    pub rounds: u64,
}

/// A series of a slow drive ends after as long, once it has the fewest rounds that say something.
const PATIENCE: Duration = Duration::from_secs(60);
const FEWEST: u64 = 8;
/// As many bytes are held in memory at once.
const MOST_BYTES: u64 = 16 << 20;

/// A block that was read, and goes back.
struct Block {
    /// Of the offsets of the series, the one that it is of.
    index: usize,
    /// The first byte on the disk.
    start: u64,
    bytes: Vec<u8>,
}

/// Reads and writes back blocks at every offset of the series, round after round in a new order, and takes the time
/// of every write.
///
/// Many rounds are read, at many places, before the first of them is written: a drive that still has a block in its
/// own memory need not read to write a part of a sector.
pub(super) fn time(
    device: &dyn BlockDevice,
    now: &dyn Fn() -> Duration,
    area: Area,
    series: Series,
    turn: u8,
    progress: &mut dyn FnMut(Progress),
) -> Result<Samples, Fault> {
    let mut samples = Samples::new(series);
    // Any order will do, as long as it is none; and another every time.
    let mut dice = fastrand::Rng::with_seed(u64::from(turn));
    let mut places = dice.u64(0..area.places())..;
    let begun = now();
    let is_late = || now().saturating_sub(begun) > PATIENCE;
    let rounds = series.rounds();
    let fit_in_memory = MOST_BYTES / (series.count() * series.block);
    let at_once = fit_in_memory.min(area.places() / series.count()).max(1);
    let mut done = 0;
    while done < rounds && !(done >= FEWEST && is_late()) {
        progress(Progress { series, turn, done, rounds });
        let mut held = Vec::new();
        for _ in 0..at_once.min(rounds - done) {
            held.push(read_round(device, area, series, &mut dice, &mut places)?);
            if is_late() {
                break;
            }
        }
        for block in held.iter().flatten() {
            if block.is_other(device)? {
                return Err(Fault::Unsteady { offset: block.start });
            }
        }
        let mut written = Vec::new();
        for round in held {
            for block in &round {
                let took = block.write(device, now)?;
                samples.times.get_mut(block.index).into_iter().for_each(|times| times.push(took));
            }
            written.extend(round);
            done += 1;
            progress(Progress { series, turn, done, rounds });
            if done >= FEWEST && is_late() {
                break;
            }
        }
        for block in &written {
            if block.is_other(device)? {
                return Err(Fault::Lost { offset: block.start });
            }
        }
    }
    samples.times.iter_mut().for_each(|times| times.sort_unstable());
    Ok(samples)
}

/// One block of every offset, each at a place of its own.
fn read_round(
    device: &dyn BlockDevice,
    area: Area,
    series: Series,
    dice: &mut fastrand::Rng,
    places: &mut impl Iterator<Item = u64>,
) -> Result<Vec<Block>, Fault> {
    let mut offsets: Vec<(usize, u64)> = series.offsets().enumerate().collect();
    dice.shuffle(&mut offsets);
    let starts = offsets.into_iter().zip(places);
    let blocks = starts
        .map(|((index, offset), place)| Block::read(device, index, area.place(place) + offset, series.block));
    blocks.collect()
}

impl Block {
    fn read(device: &dyn BlockDevice, index: usize, start: u64, len: u64) -> Result<Self, Fault> {
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        device.read_at(start, &mut bytes).map_err(Fault::Read)?;
        Ok(Self { index, start, bytes })
    }

    /// Writes it back. Gives the time that it took.
    fn write(&self, device: &dyn BlockDevice, now: &dyn Fn() -> Duration) -> Result<Duration, Fault> {
        let before = now();
        let written = device.write_at(self.start, &self.bytes);
        written.map_err(|source| Fault::Write { offset: self.start, source })?;
        Ok(now().saturating_sub(before))
    }

    /// Whether the disk holds other bytes there.
    fn is_other(&self, device: &dyn BlockDevice) -> Result<bool, Fault> {
        let there = Self::read(device, self.index, self.start, self.bytes.len() as u64)?;
        Ok(there.bytes != self.bytes)
    }
}
