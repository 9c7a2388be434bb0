use std::fmt;

use super::SectorSize;

/// A sector number: a logical block address, counted from 0 at the start of the disk.
///
/// It has a place on the disk only together with the size of a sector, and that size is the unit in which the
/// partition table was written: not necessarily that of the device that holds it now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(u64);

impl Lba {
    /// The first sector of a disk.
    pub const ZERO: Self = Self(0);

    /// Sector number `number`.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The bare number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The sector `sectors` behind this one, unless that leaves 64 bits.
    pub fn checked_add(self, sectors: u64) -> Option<Self> {
        self.0.checked_add(sectors).map(Self)
    }

    /// The sector `sectors` before this one, unless that is before the disk.
    pub fn checked_sub(self, sectors: u64) -> Option<Self> {
        self.0.checked_sub(sectors).map(Self)
    }

    /// How many sectors there are from this one to `last`, both included; `None` when `last` comes first or
    /// the count needs more than 64 bits.
    pub fn sectors_through(self, last: Self) -> Option<u64> {
        last.0.checked_sub(self.0)?.checked_add(1)
    }

    /// The position in bytes for arithmetic. It cannot overflow: 2^64 sectors of 64 KiB need 80 bits.
    pub fn position(self, sector: SectorSize) -> u128 {
        u128::from(self.0) * u128::from(sector.bytes())
    }

    /// The position in bytes for reading and writing, `None` when it needs more than 64 bits.
    pub fn checked_byte(self, sector: SectorSize) -> Option<u64> {
        u64::try_from(self.position(sector)).ok()
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_counts_both_of_its_ends() {
        assert_eq!(Lba::new(2048).sectors_through(Lba::new(4095)), Some(2048));
        assert_eq!(Lba::new(7).sectors_through(Lba::new(7)), Some(1));
        assert_eq!(Lba::new(8).sectors_through(Lba::new(7)), None);
        assert_eq!(Lba::ZERO.sectors_through(Lba::new(u64::MAX)), None);
    }
}
