use std::fmt;

use crate::units::{PhysicalSize, SectorSize};

/// The largest hint that is believed. Stacking multiplies placeholders, so they come in all large sizes.
const LARGEST: u64 = 64 << 20;
/// Placeholders are all-ones block counts of 15 to 32 bits.
const PLACEHOLDER_BITS: std::ops::RangeInclusive<u32> = 15..=32;

/// What a minimum or optimal I/O size is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// None was reported (0 means the same).
    Absent,
    /// A minimum that is no larger than the physical sector says nothing new.
    NothingNew(u64),
    /// Believed.
    Credible(u64),
    /// Not believed, and why.
    Implausible(u64, Implausible),
}

/// Why a hint is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implausible {
    /// (2^bits - 1) blocks of `block` bytes: the largest value that fits a field, not a preference.
    Placeholder {
        /// The number of one-bits in the block count.
        bits: u32,
        /// The size of such a block in bytes.
        block: u64,
    },
    /// No multiple of the logical or physical sector size, given here.
    NotAMultiple(u64),
    /// More than 64 MiB.
    TooLarge,
}

impl Hint {
    /// Judges an optimal I/O size of `reported` bytes.
    pub fn optimal(reported: Option<u64>, logical: SectorSize, physical: PhysicalSize) -> Self {
        match reported {
            None | Some(0) => Self::Absent,
            Some(value) => match implausible(value, logical, physical) {
                Some(why) => Self::Implausible(value, why),
                None => Self::Credible(value),
            },
        }
    }

    /// Judges a minimum I/O size of `reported` bytes.
    pub fn minimum(reported: Option<u64>, logical: SectorSize, physical: PhysicalSize) -> Self {
        match reported {
            Some(value) if value > 0 && value <= physical.bytes() => Self::NothingNew(value),
            other => Self::optimal(other, logical, physical),
        }
    }

    /// The value, if it is believed.
    pub fn credible(self) -> Option<u64> {
        match self {
            Self::Credible(value) => Some(value),
            _ => None,
        }
    }
}

fn implausible(value: u64, logical: SectorSize, physical: PhysicalSize) -> Option<Implausible> {
    // The placeholder comes first: it is the most useful of the reasons that may hold at once.
    if let Some(placeholder) = placeholder(value, logical, physical) {
        return Some(placeholder);
    }
    if value > LARGEST {
        return Some(Implausible::TooLarge);
    }
    [logical.bytes(), physical.bytes()]
        .into_iter()
        .find(|unit| !value.is_multiple_of(*unit))
        .map(Implausible::NotAMultiple)
}

/// (2^n - 1) blocks of 512 bytes or of one logical sector, exactly or rounded down to the physical sector.
fn placeholder(value: u64, logical: SectorSize, physical: PhysicalSize) -> Option<Implausible> {
    let blocks = [SectorSize::B512.bytes(), logical.bytes()];
    PLACEHOLDER_BITS.flat_map(|bits| blocks.map(|block| (bits, block))).find_map(|(bits, block)| {
        let exactly = ((1_u64 << bits) - 1) * block;
        let rounded = exactly - exactly % physical.bytes();
        (value == exactly || value == rounded).then_some(Implausible::Placeholder { bits, block })
    })
}

impl fmt::Display for Implausible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placeholder { bits, block } => write!(
                f,
                "it is {} blocks of {block} bytes, the largest number that fits {bits} bits: a placeholder, \
                 not a preference",
                (1_u64 << bits) - 1
            ),
            Self::NotAMultiple(unit) => write!(f, "it is no multiple of a sector of {unit} bytes"),
            Self::TooLarge => write!(f, "it is more than 64 MiB; stacked placeholders come as large as that"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn optimal(value: u64, logical: u64, physical: u64) -> Hint {
        let logical = SectorSize::new(logical).unwrap();
        Hint::optimal(Some(value), logical, PhysicalSize::new(physical).unwrap())
    }

    #[test]
    fn placeholders_seen_in_the_wild_are_recognised() {
        for (value, logical, physical, bits, block) in [
            (33_553_920, 512, 4096, 16, 512),
            (33_553_920, 512, 512, 16, 512),
            (268_431_360, 4096, 4096, 16, 4096),
            (16_776_704, 512, 512, 15, 512),
            (16_773_120, 512, 4096, 15, 512),
            (2_199_023_255_040, 512, 512, 32, 512),
        ] {
            let expected = Hint::Implausible(value, Implausible::Placeholder { bits, block });
            assert_eq!(optimal(value, logical, physical), expected);
        }
    }

    #[test]
    fn real_preferences_are_believed() {
        for value in [4096, 65536, 262_144, 786_432, 1_310_720, 16 << 20, 64 << 20] {
            assert_eq!(optimal(value, 512, 4096), Hint::Credible(value));
        }
    }

    #[test]
    fn sizes_off_the_sector_and_giants_are_not() {
        assert_eq!(optimal(6144, 512, 4096), Hint::Implausible(6144, Implausible::NotAMultiple(4096)));
        assert_eq!(optimal(1000, 512, 4096), Hint::Implausible(1000, Implausible::NotAMultiple(512)));
        let stacked = 33_553_920_u64 * 128;
        assert_eq!(optimal(stacked, 512, 4096), Hint::Implausible(stacked, Implausible::TooLarge));
    }

    #[test]
    fn a_minimum_within_the_physical_sector_says_nothing_new() {
        let minimum = |value| Hint::minimum(Some(value), SectorSize::B512, PhysicalSize::B4096);
        assert_eq!(minimum(0), Hint::Absent);
        assert_eq!(minimum(512), Hint::NothingNew(512));
        assert_eq!(minimum(3), Hint::NothingNew(3));
        assert_eq!(minimum(65536), Hint::Credible(65536));
    }
}
