//! The only way to change a disk: a list of changes, in order, with barriers between them.
//!
//! A [`Patch`] knows for each range of bytes what is there and what will be. Right before it writes, it compares
//! the first with the disk: a difference refuses all of it, and nothing is written. After it wrote, it reads back.
//! A patch that was cut off in the middle (power, cable, kill) is recognised by its bytes, and can be finished or
//! taken back: see [`Patch::state`] and [`Patch::recover`]. That needs the patch to outlive the crash: a [`Backup`]
//! is the file in which it does.
//!
//! ```
//! use align_core::device::{BlockDevice, MemoryDevice};
//! use align_core::patch::{Draft, State};
//!
//! let disk = MemoryDevice::new(1 << 20);
//! let mut draft = Draft::new();
//! draft.write(4096, vec![1; 512]);
//! draft.barrier();
//! draft.write(0, vec![2; 512]);
//! let patch = draft.against(&disk)?;
//!
//! patch.write(&disk)?;
//! assert_eq!(patch.state(&disk)?, State::After);
//! patch.reversed().write(&disk)?;
//! assert_eq!(patch.state(&disk)?, State::Before);
//! # Ok::<(), align_core::patch::PatchError>(())
//! ```
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod backup;
mod change;
mod draft;
mod error;
mod folder;
mod moved;

pub use backup::{Backup, BackupError, DiskIdentity, Stage};
pub use change::Change;
pub use draft::Draft;
pub use error::PatchError;
pub use folder::Folder;
pub use moved::{Bytes, Move, Moved, Spot};

use crate::device::BlockDevice;

/// So many bytes are compared at once: a whole sector is usually old or new.
const STRIDE: usize = 512;

/// Changes of a disk that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The steps in order. Between two of them is a barrier: nothing of the second is written before all of the
    /// first is on the medium.
    pub steps: Vec<Vec<Change>>,
}

/// What the disk holds where a patch changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All that was there before.
    Before,
    /// All that the patch writes.
    After,
    /// Some of both: the patch was cut off.
    Torn,
    /// Something else at this byte: somebody wrote there since.
    Foreign(u64),
}

/// Which bytes a disk shall end up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those that were there before the patch.
    Before,
    /// Those that the patch writes.
    After,
}

impl Patch {
    /// All changes, in the order in which they are written.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.steps.iter().flatten()
    }

    /// Whether no byte would change.
    pub fn is_empty(&self) -> bool {
        self.changes().all(Change::is_kept)
    }

    /// How many bytes are written.
    pub fn bytes(&self) -> u64 {
        let lens = self.changes().filter(|change| !change.is_kept()).map(|change| change.after.len() as u64);
        lens.fold(0, u64::saturating_add)
    }

    /// The patch that takes this one back.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let steps = self.steps.iter().rev();
        let reverse = |step: &Vec<Change>| step.iter().rev().map(Change::reversed).collect();
        Self { steps: steps.map(reverse).collect() }
    }

    /// Compares what is there with what the patch expects to be there.
    ///
    /// # Errors
    /// [`PatchError::Changed`] names the first byte that differs; or the device cannot be read.
    pub fn verify(&self, device: &dyn BlockDevice) -> Result<(), PatchError> {
        self.changes().try_for_each(|change| change.expect(device, Side::Before))
    }

    /// Verifies, writes step by step with a flush behind each, and reads back.
    ///
    /// # Errors
    /// When the disk is not as the patch expects: then nothing was written. When a write, a flush or the comparison
    /// afterwards fails: then [`state`](Self::state) says how far it came.
    pub fn write(&self, device: &dyn BlockDevice) -> Result<(), PatchError> {
        self.verify(device)?;
        self.put(device, Side::After)
    }

    /// What the disk holds now where the patch changes it.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn state(&self, device: &dyn BlockDevice) -> Result<State, PatchError> {
        let (mut before, mut after) = (true, true);
        for change in self.changes() {
            let found = change.read(device)?;
            let sides = change.before.chunks(STRIDE).zip(change.after.chunks(STRIDE));
            for ((found, (old, new)), start) in found.chunks(STRIDE).zip(sides).zip((0_u64..).step_by(STRIDE))
            {
                let (is_old, is_new) = (found == old, found == new);
                before &= is_old;
                after &= is_new;
                if is_old || is_new {
                    continue;
                }
                let bytes = found.iter().zip(old.iter().zip(new)).zip(start..);
                let foreign = bytes.into_iter().find(|((found, (old, new)), _)| found != old && found != new);
                if let Some((_, at)) = foreign {
                    return Ok(State::Foreign(change.offset.saturating_add(at)));
                }
            }
        }
        Ok(match (before, after) {
            // What changes nothing is done.
            (_, true) => State::After,
            (true, false) => State::Before,
            (false, false) => State::Torn,
        })
    }

    /// Finishes a patch that was cut off, or takes it back. What is there may be the old bytes, the new ones, or a
    /// tear of both, and nothing else.
    ///
    /// # Errors
    /// [`PatchError::Foreign`] names the first byte that is neither: nothing was written. Else as [`write`](Self::write).
    pub fn recover(&self, device: &dyn BlockDevice, side: Side) -> Result<(), PatchError> {
        if let State::Foreign(offset) = self.state(device)? {
            return Err(PatchError::Foreign { offset });
        }
        self.put(device, side)
    }

    /// Writes one side over whatever is there, in the order that belongs to it.
    fn put(&self, device: &dyn BlockDevice, side: Side) -> Result<(), PatchError> {
        let put = |step: &mut dyn Iterator<Item = &Change>| {
            let mut written = false;
            for change in step.filter(|change| !change.is_kept()) {
                change.put(device, side)?;
                written = true;
            }
            if written { device.flush().map_err(|source| PatchError::Flush { source }) } else { Ok(()) }
        };
        match side {
            Side::After => self.steps.iter().try_for_each(|step| put(&mut step.iter()))?,
            Side::Before => self.steps.iter().rev().try_for_each(|step| put(&mut step.iter().rev()))?,
        }
        device.forget_cached();
        self.changes().try_for_each(|change| change.read_back(device, side))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::device::{FaultDevice, MemoryDevice, ReadError};

    fn patch(disk: &dyn BlockDevice) -> Patch {
        let mut draft = Draft::new();
        draft.write(8192, vec![0x11; 1024]);
        draft.write(512, vec![0x22; 512]);
        draft.barrier();
        draft.write(0, vec![0x33; 512]);
        draft.keep(65536, 512);
        draft.against(disk).unwrap()
    }

    fn bytes(disk: &dyn BlockDevice) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 17];
        disk.read_at(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_was_written_can_be_taken_back_byte_for_byte() {
        let disk = MemoryDevice::new(1 << 17);
        disk.write_at(0, &[0xAB; 9000]).unwrap();
        let old = bytes(&disk);
        let patch = patch(&disk);
        patch.write(&disk).unwrap();
        assert_ne!(bytes(&disk), old);
        patch.reversed().write(&disk).unwrap();
        assert_eq!(bytes(&disk), old);
    }

    #[test]
    fn a_changed_byte_refuses_everything_and_is_named() {
        let disk = MemoryDevice::new(1 << 17);
        let patch = patch(&disk);
        for offset in [3, 8192 + 700, 65536 + 511] {
            disk.write_at(offset, &[7]).unwrap();
            let old = bytes(&disk);
            let error = patch.write(&disk).unwrap_err();
            assert!(
                matches!(error, PatchError::Changed { offset: at, expected: 0, found: 7 } if at == offset),
                "{error}"
            );
            assert_eq!(bytes(&disk), old, "nothing was written");
            disk.write_at(offset, &[0]).unwrap();
        }
    }

    #[test]
    fn what_is_as_it_shall_be_already_must_stay_so() {
        let disk = MemoryDevice::new(1 << 17);
        let mut draft = Draft::new();
        draft.write(4096, vec![1; 512]);
        draft.barrier();
        draft.write(0, vec![0; 512]);
        let patch = draft.against(&disk).unwrap();
        disk.write_at(0, &[7]).unwrap();
        assert!(matches!(patch.write(&disk), Err(PatchError::Changed { offset: 0, .. })));
    }

    #[test]
    fn a_torn_patch_is_finished_or_taken_back_and_a_foreign_byte_stops_both() {
        let disk = MemoryDevice::new(1 << 17);
        let old = bytes(&disk);
        let patch = patch(&disk);
        disk.write_at(8192, &[0x11; 100]).unwrap();
        disk.write_at(200, &[0x33; 300]).unwrap();
        assert_eq!(patch.state(&disk).unwrap(), State::Torn);
        patch.recover(&disk, Side::Before).unwrap();
        assert_eq!(bytes(&disk), old);
        disk.write_at(200, &[0x33; 300]).unwrap();
        patch.recover(&disk, Side::After).unwrap();
        assert_eq!(patch.state(&disk).unwrap(), State::After);
        disk.write_at(9000, &[0x99]).unwrap();
        let error = patch.recover(&disk, Side::Before).unwrap_err();
        assert!(matches!(error, PatchError::Foreign { offset: 9000 }), "{error}");
    }

    #[test]
    fn a_patch_does_not_reach_out_of_its_disk() {
        let disk = MemoryDevice::new(1 << 17);
        let mut draft = Draft::new();
        draft.write((1 << 17) - 256, vec![0; 512]);
        assert!(matches!(draft.against(&disk), Err(PatchError::Read { .. })));
        let mut draft = Draft::new();
        draft.write(0, vec![0; 512]);
        draft.write(511, vec![0; 512]);
        assert!(matches!(draft.against(&disk), Err(PatchError::Overlap { offset: 511 })));
    }

    #[test]
    fn a_bad_sector_is_met_before_anything_is_written() {
        let disk = MemoryDevice::new(1 << 17);
        let patch = patch(&disk);
        let failing = FaultDevice::new(disk).with_bad_bytes(65536..65537);
        assert!(matches!(patch.write(&failing), Err(PatchError::Read { .. })));
        assert_eq!(failing.writes(), 0);
    }

    /// A drive that calls a write done that it lost, as long as it is asked what is cached of it.
    #[derive(Debug)]
    struct Forgetful {
        medium: MemoryDevice,
        cache: MemoryDevice,
        lost: u64,
        is_cached: AtomicBool,
    }

    impl BlockDevice for Forgetful {
        fn size(&self) -> Option<u64> {
            self.medium.size()
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
            let is_cached = self.is_cached.load(Ordering::Relaxed);
            if is_cached { self.cache.read_at(offset, buffer) } else { self.medium.read_at(offset, buffer) }
        }

        fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            self.cache.write_at(offset, bytes)?;
            if offset == self.lost { Ok(()) } else { self.medium.write_at(offset, bytes) }
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }

        fn forget_cached(&self) {
            self.is_cached.store(false, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_write_that_the_drive_lost_is_no_success() {
        let blank = || MemoryDevice::new(1 << 17);
        let disk = Forgetful { medium: blank(), cache: blank(), lost: 512, is_cached: AtomicBool::new(true) };
        let error = patch(&disk).write(&disk).unwrap_err();
        assert!(matches!(error, PatchError::NotTaken { offset: 512, written: 0x22, found: 0 }), "{error}");
        assert!(!error.wrote_nothing(), "{error}");
    }
}
