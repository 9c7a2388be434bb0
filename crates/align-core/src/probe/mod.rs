//! The physical sectors of a disk, found by timing.
//!
//! A drive that gets a part of a physical sector has to read the rest before it can write: on a disk with platters
//! that takes one more turn. So blocks are written at every offset, past all caches, and the time is taken. Where the
//! whole blocks begin at which writing is quicker, there the physical sectors begin; no report of the drive is
//! involved.
//!
//! What is written is what was just read, twice and the same; no byte of the disk changes, wherever it is cut off.
//!
//! ```no_run
//! use align_core::check::Options;
//! use align_core::device::Disk;
//! use align_core::probe::{Outcome, Probe};
//!
//! let disk = Disk::open("/dev/sdz")?;
//! let probe = Probe::of(&disk, &Options::default())?;
//! let measured = probe.run(&mut |_| {})?;
//! if let Outcome::Found(sectors) = measured.outcome {
//!     println!("sectors of {} bytes, the first at byte {}", sectors.physical, sectors.offset);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod area;
mod error;
mod judge;
mod scratch;
mod series;
mod timing;

pub use area::Area;
pub use error::ProbeError;
pub use judge::Sectors;
pub use series::{Samples, Series};
pub use timing::Progress;

use std::path::PathBuf;
use std::time::Duration;

use crate::check::{self, Options, Report};
use crate::device::linux::UseKind;
use crate::device::{BlockDevice, DirectDevice, Disk, Source};
use crate::write::{Target, WriteError, check_writable, sys_of, uses_of};

/// A probe of a disk or a scratch file that may be written, before anything is.
#[derive(Debug)]
pub struct Probe {
    /// The disk as it is, and what is believed of it without a probe.
    pub report: Report,
    /// The bytes among which blocks are read and written back.
    pub area: Area,
    path: PathBuf,
}

/// What a probe found.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What it shows.
    pub outcome: Outcome,
    /// The times that it shows it by, in the order in which they were taken.
    pub samples: Vec<Samples>,
}

/// What the times show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Physical sectors that are larger than the steps in which the disk can be written, by two measurements.
    Found(Sectors),
    /// No offset is better than another: sectors as small as the steps, or a drive that hides them.
    NoDifference,
    /// Three measurements showed three different things: something else keeps the disk or the machine busy.
    Unclear([Option<Sectors>; 3]),
}

impl Probe {
    /// Finds out whether the disk may be probed, and where. Nothing is written.
    ///
    /// # Errors
    /// When it is in use, cannot be written, holds a write that was cut off, or has no place for blocks.
    pub fn of(disk: &Disk, options: &Options) -> Result<Self, ProbeError> {
        let path = disk.path();
        check_writable(disk)?;
        let report = check::run(disk, options)?;
        if report.is_unfinished() {
            return Err(WriteError::UnfinishedBefore { path: path.to_owned() }.into());
        }
        if sys_of(path).is_some_and(|sys| sys.is_zoned()) {
            let reason =
                "has zones that are written from their start only (SMR), so no block can be written back";
            return Err(WriteError::refused(path, reason).into());
        }
        let uses = uses_of(path);
        if !uses.is_empty() {
            return Err(WriteError::InUse { path: path.to_owned(), uses }.into());
        }
        let area = Area::on(path, disk.size().unwrap_or(0))?;
        if disk.source() == Source::Image {
            scratch::check(path, area)?;
        }
        Ok(Self { area, path: path.to_owned(), report })
    }

    /// Measures. `progress` hears of every round.
    ///
    /// # Errors
    /// When the disk is in use now, cannot be written past the caches, or does not give back what it holds.
    pub fn run(&self, progress: &mut dyn FnMut(Progress)) -> Result<Measured, ProbeError> {
        let target = Target::open(&self.path, true)?;
        // That it is had exclusively now, is by ourselves.
        let uses: Vec<_> =
            uses_of(&self.path).into_iter().filter(|used| used.kind != UseKind::Exclusive).collect();
        if !uses.is_empty() {
            return Err(WriteError::InUse { path: self.path.clone(), uses }.into());
        }
        let device = DirectDevice::again(target.device.file())
            .map_err(|source| ProbeError::NotDirect { path: self.path.clone(), source })?;
        if device.size() != self.report.size {
            let reason = format!("it has {} bytes now, and had others before", device.size().unwrap_or(0));
            return Err(WriteError::refused(&self.path, reason).into());
        }
        let begun = std::time::Instant::now();
        let now = || begun.elapsed();
        let step = device.granularity();
        measure(&device, &now, self.area, step, progress).map_err(|fault| fault.on(&self.path))
    }
}

/// Measures one series after the other until one shows something, and shows it again.
fn measure(
    device: &dyn BlockDevice,
    now: &dyn Fn() -> Duration,
    area: Area,
    step: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, error::Fault> {
    let mut samples: Vec<Samples> = Vec::new();
    let mut shown = |series: Series, turn: u8| {
        let taken = timing::time(device, now, area, series, turn, progress)?;
        let sectors = taken.sectors();
        samples.push(taken);
        Ok(sectors)
    };
    let mut outcome = Outcome::NoDifference;
    for series in Series::all(step) {
        let first = shown(series, 1)?;
        if first.is_none() {
            continue;
        }
        let second = shown(series, 2)?;
        let third = if second == first { second } else { shown(series, 3)? };
        outcome = match (first, second, third) {
            (Some(sectors), _, _) if second == first || third == first => Outcome::Found(sectors),
            (_, Some(sectors), _) if third == second => Outcome::Found(sectors),
            // Once is chance.
            (_, None, None) => continue,
            _ => Outcome::Unclear([first, second, third]),
        };
        break;
    }
    Ok(Measured { outcome, samples })
}

#[cfg(test)]
mod tests;
