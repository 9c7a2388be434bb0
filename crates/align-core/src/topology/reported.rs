/// What a device says of itself, as it came: nothing is checked yet. `None` is "not said".
///
/// Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Logical sector size: what an LBA counts.
    pub logical: Option<u64>,
    /// Physical sector size. A `3` has been seen.
    pub physical: Option<u64>,
    /// Minimum I/O size: the smallest request without a penalty.
    pub minimum_io: Option<u64>,
    /// Optimal I/O size, 0 for none: often a placeholder.
    pub optimal_io: Option<u64>,
    /// From the start of the disk to the first physical sector boundary; -1 where the kernel found none that
    /// suits all layers of a stack.
    pub alignment_offset: Option<i64>,
    /// The kernel's flag: a default that virtual disks and bridges leave standing.
    pub rotational: Option<bool>,
    /// The rotation rate that the drive itself names; 0 or 1 for a drive that does not rotate.
    pub rpm: Option<u32>,
}

impl Reported {
    /// These values, each replaced by that of `other` where `other` has one.
    #[must_use]
    pub fn overridden_by(&self, other: &Self) -> Self {
        Self {
            logical: other.logical.or(self.logical),
            physical: other.physical.or(self.physical),
            minimum_io: other.minimum_io.or(self.minimum_io),
            optimal_io: other.optimal_io.or(self.optimal_io),
            alignment_offset: other.alignment_offset.or(self.alignment_offset),
            rotational: other.rotational.or(self.rotational),
            rpm: other.rpm.or(self.rpm),
        }
    }
}
