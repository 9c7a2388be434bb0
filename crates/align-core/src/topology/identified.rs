use super::Reported;

/// What a drive says of itself when it is asked past the kernel, and what is known of its model. `None` is "not
/// said", also where the drive marks its own answer as not valid.
///
/// Sizes are in bytes. [`Identification`](crate::device::identify::Identification) is where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identified {
    /// Logical sector size of the drive. Behind a bridge LBAs may count in another unit.
    pub logical: Option<u64>,
    /// Physical sector size.
    pub physical: Option<u64>,
    /// From LBA 0 to the first physical sector boundary. `Some(0)` is "LBA 0 is one".
    pub alignment_offset: Option<u64>,
    /// The smallest write that is made without reading before (NVMe NPWG). A preference: the kernel passes it on as
    /// the minimum I/O size.
    pub write_granularity: Option<u64>,
    /// The preferred size of a transfer (SCSI block limits, NVMe NOWS).
    pub optimal_io: Option<u64>,
    /// The rotation rate; 1 for a drive that does not rotate.
    pub rpm: Option<u32>,
    /// The physical sector size that this model is known to have, whatever it reports.
    pub known_physical: Option<u64>,
}

impl Identified {
    /// These values without those of which the user says something else.
    #[must_use]
    pub fn unless_said(&self, by_user: &Reported) -> Self {
        fn unless<T, U>(own: Option<T>, said: Option<U>) -> Option<T> {
            if said.is_some() { None } else { own }
        }
        Self {
            logical: unless(self.logical, by_user.logical),
            physical: unless(self.physical, by_user.physical),
            alignment_offset: unless(self.alignment_offset, by_user.alignment_offset),
            write_granularity: unless(self.write_granularity, by_user.minimum_io.or(by_user.physical)),
            optimal_io: unless(self.optimal_io, by_user.optimal_io),
            rpm: unless(self.rpm, by_user.rpm),
            known_physical: unless(self.known_physical, by_user.physical),
        }
    }
}
