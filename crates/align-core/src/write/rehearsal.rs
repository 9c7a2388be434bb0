use std::ops::Range;

use super::WriteError;
use crate::check::{self, Options, Report};
use crate::device::{BlockDevice, Disk, MemoryDevice, Reader};
use crate::patch::{Patch, Side};
use crate::table::{Partition, Table};
use crate::topology::Reported;
use crate::units::SectorSize;

/// As much of each end of the disk is copied.
const END_LEN: u64 = 1 << 20;

/// A disk in memory that has the tables of a real one: a patch is tried on it first.
pub(crate) struct Rehearsal {
    copy: MemoryDevice,
    unit: SectorSize,
}

/// What came out of a rehearsal.
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) table: Table,
    /// Whether after each change of the patch the old partitions can be read, or the new ones.
    pub(crate) always_readable: bool,
}

impl Rehearsal {
    /// Copies the head and the tail of the disk, whatever the patch touches, and these ranges.
    pub(crate) fn of(
        disk: &Disk,
        patch: &Patch,
        also: &[Range<u64>],
        unit: SectorSize,
    ) -> Result<Self, WriteError> {
        let refused = |reason: String| WriteError::refused(disk.path(), reason);
        let device = disk.device().ok_or_else(|| refused("cannot be read".into()))?;
        let size = device.size().ok_or_else(|| refused("its size is not known".into()))?;
        let copy = MemoryDevice::new(size);
        let ends = [0..size.min(END_LEN), size.saturating_sub(END_LEN)..size];
        let touched = patch.changes().map(|change| change.offset..change.end());
        let also = also.iter().map(|range| range.start.min(size)..range.end.min(size));
        for range in ends.into_iter().chain(touched).chain(also) {
            let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
            let mut bytes = vec![0; len];
            device.read_at(range.start, &mut bytes).map_err(|error| refused(error.to_string()))?;
            copy.write_at(range.start, &bytes).map_err(|error| refused(error.to_string()))?;
        }
        Ok(Self { copy, unit })
    }

    /// Plays the patch change by change, whatever is there, and reads what comes out.
    pub(crate) fn play(
        self,
        original: &Disk,
        patch: &Patch,
        side: Side,
        options: &Options,
    ) -> Result<Outcome, WriteError> {
        let refused = |reason: String| WriteError::refused(original.path(), reason);
        let before = self.partitions();
        let mut states = Vec::new();
        let mut changes: Vec<_> = patch.changes().collect();
        if side == Side::Before {
            changes.reverse();
        }
        for change in changes {
            self.copy
                .write_at(change.offset, change.side(side))
                .map_err(|error| refused(error.to_string()))?;
            if !change.is_kept() {
                states.push(self.partitions());
            }
        }
        let after = self.partitions();
        let always_readable = states.iter().all(|state| *state == before || *state == after);
        let pretend = Reported { logical: Some(self.unit.bytes()), ..options.pretend.clone() };
        let options = Options {
            pretend,
            physical: options.physical,
            look_inside: options.look_inside,
            ..Options::default()
        };
        let disk = Disk::stand_in(original, self.copy);
        let (report, table) = check::examine(&disk, &options)?;
        let table = table.ok_or_else(|| refused("the copy in memory cannot be read".into()))?;
        Ok(Outcome { report, table, always_readable })
    }

    fn partitions(&self) -> Vec<Partition> {
        Table::read(&Reader::new(&self.copy), Some(self.unit))
            .map(|table| table.partitions)
            .unwrap_or_default()
    }
}
