use std::fmt;

/// The size of a logical sector: what an LBA counts. A power of two from 512 to 65536 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectorSize(u32);

impl SectorSize {
    /// 512 bytes: nearly every disk, and every disk that emulates the old size.
    pub const B512: Self = Self(512);
    /// 4096 bytes: 4Kn disks, and many USB docks.
    pub const B4096: Self = Self(4096);

    /// The sizes in which partition tables are met: a table written for one of them can turn up on a device
    /// of another.
    pub const OF_TABLES: [Self; 4] = [Self(512), Self(1024), Self(2048), Self(4096)];

    /// The size of `bytes`, unless that is no power of two or not in 512..=65536.
    pub const fn new(bytes: u64) -> Option<Self> {
        if bytes.is_power_of_two() && bytes >= 512 && bytes <= 65536 {
            #[allow(clippy::cast_possible_truncation, reason = "just checked to be at most 65536")]
            Some(Self(bytes as u32))
        } else {
            None
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0 as u64
    }

    /// The size as a length of memory.
    pub const fn byte_len(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for SectorSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The size of a physical sector: what the medium can write without reading first. A power of two from 512
/// bytes to 1 MiB, never smaller than the logical sector of its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhysicalSize(u32);

impl PhysicalSize {
    /// 512 bytes: disks of before 2010, and a claim of many later ones.
    pub const B512: Self = Self(512);
    /// 4096 bytes: Advanced Format.
    pub const B4096: Self = Self(4096);
    /// The largest physical sector that is believed: 1 MiB.
    pub const MAX: Self = Self(1 << 20);

    /// The size of `bytes`, unless that is no power of two or not in 512..=1048576.
    pub const fn new(bytes: u64) -> Option<Self> {
        if bytes.is_power_of_two() && bytes >= 512 && bytes <= Self::MAX.0 as u64 {
            #[allow(clippy::cast_possible_truncation, reason = "just checked to be at most 1 MiB")]
            Some(Self(bytes as u32))
        } else {
            None
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0 as u64
    }
}

impl From<SectorSize> for PhysicalSize {
    fn from(logical: SectorSize) -> Self {
        Self(logical.0)
    }
}

impl fmt::Display for PhysicalSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_in_range_are_sector_sizes() {
        for good in [512, 4096, 65536] {
            assert_eq!(SectorSize::new(good).map(SectorSize::bytes), Some(good));
        }
        for bad in [0, 3, 256, 520, 4160, 131_072, u64::MAX] {
            assert_eq!(SectorSize::new(bad), None, "{bad}");
        }
        assert!(PhysicalSize::new(1 << 20).is_some());
        assert!(PhysicalSize::new(1 << 21).is_none());
    }
}
