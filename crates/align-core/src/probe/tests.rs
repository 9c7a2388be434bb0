//! Drives of which the sectors are known, and which take as long as a drive would: on a clock of their own.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::error::Fault;
use super::*;
use crate::device::{MemoryDevice, ReadError};
use crate::units::PhysicalSize;

const SIZE: u64 = 64 << 20;

/// What a write costs.
#[derive(Clone, Copy, Debug)]
enum Cost {
    /// A disk with platters: the next block comes by after any part of a turn, and once more for the rest of a
    /// sector.
    Platters,
    /// The same in microseconds for every whole write, and as much for every part of a sector, give or take percents.
    Flash { write: u64, part: u64, noise: u64 },
}

#[derive(Debug)]
struct Drive {
    memory: MemoryDevice,
    physical: u64,
    offset: u64,
    cost: Cost,
    nanoseconds: AtomicU64,
    dice: Mutex<fastrand::Rng>,
    reads: AtomicUsize,
    writes: AtomicUsize,
    fault: Fails,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    Never,
    /// Every read is another.
    Reads,
    /// What is written is lost.
    Writes,
    /// It is no longer there after this many writes.
    After(usize),
}

impl Drive {
    fn new(physical: u64, offset: u64, cost: Cost, seed: u64) -> Self {
        let memory = MemoryDevice::new(SIZE);
        let mut dice = fastrand::Rng::with_seed(seed);
        for mebibyte in 0..SIZE >> 20 {
            memory.write_at(mebibyte << 20, &dice.u64(..).to_le_bytes()).unwrap();
        }
        Self {
            memory,
            physical,
            offset,
            cost,
            nanoseconds: AtomicU64::new(0),
            dice: Mutex::new(dice),
            reads: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
            fault: Fails::Never,
        }
    }

    fn measure(&self, step: u64) -> Result<Measured, Fault> {
        let now = || Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        let area = Area::on("drive".as_ref(), SIZE).unwrap();
        measure(self, &now, area, step, &mut |_| {})
    }

    fn outcome(&self, step: u64) -> Outcome {
        self.measure(step).unwrap().outcome
    }

    /// How many sectors have to be read for a write, since it covers parts of them.
    fn parts(&self, offset: u64, len: u64) -> u64 {
        let into = |byte: u64| (byte + self.physical - self.offset) % self.physical;
        let (start, end) = (into(offset), into(offset + len));
        let is_within = start + len < self.physical;
        if is_within { 1 } else { u64::from(start != 0) + u64::from(end != 0) }
    }

    fn pass(&self, microseconds: u64) {
        self.nanoseconds.fetch_add(microseconds * 1000, Ordering::Relaxed);
    }
}

impl BlockDevice for Drive {
    fn size(&self) -> Option<u64> {
        self.memory.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        self.memory.read_at(offset, buffer)?;
        if self.fault == Fails::Reads {
            buffer[0] ^= u8::try_from(reads % 251).unwrap();
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut there = vec![0; bytes.len()];
        self.memory.read_at(offset, &mut there).unwrap();
        assert_eq!(there, bytes, "what is written is what is there");
        let writes = self.writes.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fails::Writes => self.memory.write_at(offset, &[!bytes[0]])?,
            Fails::After(most) if writes >= most => return Err(io::Error::other("the drive is gone")),
            _ => {}
        }
        let parts = self.parts(offset, bytes.len() as u64);
        let dice = &mut self.dice.lock().unwrap();
        let mut microseconds = match self.cost {
            Cost::Platters => dice.u64(0..8333) + bytes.len() as u64 / 128 + if parts > 0 { 8333 } else { 0 },
            Cost::Flash { write, part, noise } => {
                let whole = write + part * parts;
                whole + whole * dice.u64(0..=noise) / 100
            }
        };
        // Now and then it does something else first.
        if dice.u8(0..50) == 0 {
            microseconds += 50_000;
        }
        self.pass(microseconds);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        unreachable!("every write is on the medium when it returns")
    }
}

fn found(physical: u64, offset: u64) -> Outcome {
    Outcome::Found(Sectors { physical: PhysicalSize::new(physical).unwrap(), offset })
}

const FLASH: Cost = Cost::Flash { write: 50, part: 20, noise: 15 };

#[test]
fn the_lying_the_jumpered_and_the_plain_drive_are_told_apart() {
    for cost in [Cost::Platters, FLASH] {
        assert_eq!(Drive::new(4096, 0, cost, 1).outcome(512), found(4096, 0));
        assert_eq!(Drive::new(4096, 3584, cost, 2).outcome(512), found(4096, 3584));
        assert_eq!(Drive::new(512, 0, cost, 3).outcome(512), Outcome::NoDifference);
        assert_eq!(Drive::new(4096, 0, cost, 4).outcome(4096), Outcome::NoDifference);
    }
}

#[test]
fn sectors_that_are_too_large_are_not_taken_for_smaller_ones() {
    for physical in [131_072, 262_144, 1 << 20] {
        for offset in [0, 4096, 61_440, 65_024, 65_536, 66_048, 126_976] {
            let drive = Drive::new(physical, offset, Cost::Platters, offset + physical);
            assert_eq!(drive.outcome(512), Outcome::NoDifference, "{physical} at {offset}");
        }
    }
}

#[test]
fn what_is_read_in_two_ways_is_not_written() {
    let drive = Drive { fault: Fails::Reads, ..Drive::new(4096, 0, FLASH, 1) };
    assert!(matches!(drive.measure(512), Err(Fault::Unsteady { .. })));
    assert_eq!(drive.writes.into_inner(), 0);
}

#[test]
fn bytes_that_do_not_come_back_end_it() {
    let drive = Drive { fault: Fails::Writes, ..Drive::new(4096, 0, FLASH, 1) };
    assert!(matches!(drive.measure(512), Err(Fault::Lost { .. })));
    assert_eq!(drive.writes.into_inner(), 250, "of the rounds for which there are places");
}

#[test]
fn a_drive_that_goes_away_ends_it() {
    let drive = Drive { fault: Fails::After(17), ..Drive::new(4096, 0, FLASH, 1) };
    assert!(matches!(drive.measure(512), Err(Fault::Write { .. })));
}

#[test]
fn a_slow_drive_is_measured_in_bounded_time() {
    let second = Cost::Flash { write: 900_000, part: 300_000, noise: 5 };
    let drive = Drive::new(65_536, 512, second, 1);
    assert_eq!(drive.outcome(4096), Outcome::NoDifference);
    let drive = Drive::new(65_536, 4096, second, 1);
    let measured = drive.measure(4096).unwrap();
    assert_eq!(measured.outcome, found(65_536, 4096));
    let fewest = 8 * 18;
    assert_eq!(measured.samples.iter().map(Samples::writes).collect::<Vec<_>>(), [fewest, fewest]);
}

/// Drives of which one after the other answers, for as many writes each.
#[derive(Debug)]
struct Moody(Vec<Drive>, usize, AtomicUsize);

impl Moody {
    fn outcome(drives: Vec<Drive>) -> Outcome {
        // The smaller blocks make a series of 320 writes.
        let moody = Self(drives, 320, AtomicUsize::new(0));
        let clock = |drive: &Drive| drive.nanoseconds.load(Ordering::Relaxed);
        let now = || Duration::from_nanos(moody.0.iter().map(clock).sum());
        let area = Area::on("drive".as_ref(), SIZE).unwrap();
        measure(&moody, &now, area, 512, &mut |_| {}).unwrap().outcome
    }
}

impl BlockDevice for Moody {
    fn size(&self) -> Option<u64> {
        Some(SIZE)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.0[0].read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let turn = self.2.fetch_add(1, Ordering::Relaxed) / self.1;
        self.0[turn.min(self.0.len() - 1)].write_at(offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_shown_twice_counts() {
    let drive = |physical, offset| Drive::new(physical, offset, FLASH, 5);
    let plain = || drive(512, 0);
    assert_eq!(Moody::outcome(vec![drive(4096, 0), plain()]), Outcome::NoDifference);
    assert_eq!(Moody::outcome(vec![drive(4096, 0), plain(), drive(4096, 0)]), found(4096, 0));
    assert_eq!(Moody::outcome(vec![drive(2048, 0), drive(4096, 512), drive(4096, 512)]), found(4096, 512));
    let Outcome::Unclear(shown) = Moody::outcome(vec![drive(4096, 0), plain(), drive(4096, 512)]) else {
        panic!("three different things");
    };
    let offsets = shown.map(|sectors| sectors.map(|sectors| sectors.offset));
    assert_eq!(offsets, [Some(0), None, Some(512)]);
}

#[test]
fn an_area_lies_in_the_middle_and_blocks_stay_inside() {
    for size in [1 << 20, (3 << 20) + 512, 64 << 20, 1 << 40, u64::MAX] {
        let area = Area::on("disk".as_ref(), size).unwrap();
        assert!(area.end() <= size && area.start.is_multiple_of(1 << 20));
        for number in [0, 1, area.places() - 1, area.places(), u64::MAX] {
            let furthest = 65_536 + 4096 + 65_536;
            assert!(area.place(number) >= area.start && area.place(number) + furthest <= area.end());
        }
    }
    assert!(matches!(Area::on("disk".as_ref(), (1 << 20) - 1), Err(ProbeError::TooSmall { .. })));
}

proptest! {
    // Thousands of cases were right; these are the same in every run, since chance is part of what is tested.
    #![proptest_config(ProptestConfig {
        cases: 20,
        rng_seed: RngSeed::Fixed(4096),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn sectors_of_every_size_and_offset_are_found(
        power in 1_u32..=7,
        at in any::<u64>(),
        platters in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let physical = 512 << power;
        let offset = at % (physical / 512) * 512;
        let cost = if platters { Cost::Platters } else { FLASH };
        prop_assert_eq!(Drive::new(physical, offset, cost, seed).outcome(512), found(physical, offset));
    }

    #[test]
    fn noise_is_no_difference(write in 5_u64..20_000, noise in 0_u64..400, seed in any::<u64>()) {
        let cost = Cost::Flash { write, part: 0, noise };
        prop_assert_eq!(Drive::new(4096, 0, cost, seed).outcome(512), Outcome::NoDifference);
    }
}
