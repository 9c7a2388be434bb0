use std::fmt;

/// A number of bytes that is printed for people: `931.5 GiB`.
///
/// The printed number is rounded down to one decimal, so it never claims more than there is, and it never
/// reads `1024.0 KiB`. A count below 1 KiB is printed exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u128);

impl ByteCount {
    /// A count of `bytes`.
    pub fn new(bytes: impl Into<u128>) -> Self {
        Self(bytes.into())
    }

    /// The count in bytes.
    pub fn bytes(self) -> u128 {
        self.0
    }
}

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut unit = 1024_u128;
        let mut name = UNITS[0];
        for larger in &UNITS[1..] {
            if self.0 / unit < 1024 {
                break;
            }
            unit <<= 10;
            name = larger;
        }
        let whole = self.0 / unit;
        let tenth = (self.0 % unit) * 10 / unit;
        // `pad` honours the width and alignment that the caller asks for.
        if self.0.is_multiple_of(unit) {
            f.pad(&format!("{whole} {name}"))
        } else {
            f.pad(&format!("{whole}.{tenth} {name}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_print_in_the_largest_unit_that_keeps_a_whole_digit() {
        let printed = |bytes: u128| ByteCount::new(bytes).to_string();
        assert_eq!(printed(0), "0 B");
        assert_eq!(printed(1023), "1023 B");
        assert_eq!(printed(1024), "1 KiB");
        assert_eq!(printed(1_048_575), "1023.9 KiB");
        assert_eq!(printed(1_000_204_886_016), "931.5 GiB");
        assert_eq!(printed(18_000_207_937_536), "16.3 TiB");
        assert_eq!(printed(1 << 80), "1048576 EiB");
    }

    #[test]
    fn a_width_is_honoured() {
        assert_eq!(format!("{:>8}", ByteCount::new(1024_u32)), "   1 KiB");
    }
}
