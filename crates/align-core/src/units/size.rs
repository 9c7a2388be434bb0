use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A size as people write it: `512`, `4KiB`, `10M`, `1.5T`, `10MB`, `2048s`, `25%`, `rest`.
///
/// Bare letters and `iB` are powers of 1024, as in sfdisk and sgdisk; `kB`, `MB`, ... are powers of 1000. A
/// fraction that is no whole number of bytes is rounded up to the next byte. `s` counts logical sectors.
///
/// ```
/// use align_core::units::Size;
///
/// assert_eq!("10G".parse(), Ok(Size::Bytes(10 << 30)));
/// assert_eq!("10GB".parse(), Ok(Size::Bytes(10_000_000_000)));
/// assert_eq!("2048s".parse(), Ok(Size::Sectors(2048)));
/// let error = "10Q".parse::<Size>().unwrap_err();
/// assert_eq!(error.to_string(), "'10Q' is not a size: unknown unit 'Q' (use K, M, G, T, P, E, KiB, kB, MB, ..., s or %)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// So many bytes.
    Bytes(u64),
    /// Exactly so many logical sectors.
    Sectors(u64),
    /// So many thousandths of a percent of the usable space: `25%` is 25000. At most 100%.
    MilliPercent(u32),
    /// All that is left.
    Rest,
}

/// Why a text is no [`Size`]; it quotes the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is not a size: {reason}")]
pub struct SizeError {
    text: String,
    reason: String,
}

/// As many decimals as are kept; a longer fraction adds less than a byte to any size that fits.
const MAX_DECIMALS: usize = 18;
/// As much of a wrong text as an error repeats.
const MAX_QUOTED: usize = 40;

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        parse(text.trim()).map_err(|reason| SizeError { text: quotable(text), reason })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Sectors(sectors) => write!(f, "{sectors}s"),
            Self::MilliPercent(milli) if milli % 1000 == 0 => write!(f, "{}%", milli / 1000),
            Self::MilliPercent(milli) => write!(f, "{}.{:03}%", milli / 1000, milli % 1000),
            Self::Rest => f.write_str("rest"),
        }
    }
}

fn parse(text: &str) -> Result<Size, String> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text.eq_ignore_ascii_case("rest") {
        return Ok(Size::Rest);
    }
    if text.starts_with('-') {
        return Err("a size cannot be negative".into());
    }
    let number_len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_len);
    let number = Decimal::parse(number)?;
    match unit.trim_start() {
        "s" => number.whole().map(Size::Sectors),
        "%" => number.milli_percent().map(Size::MilliPercent),
        unit => number.times(multiplier(unit)?).map(Size::Bytes),
    }
}

/// How many bytes a unit stands for.
fn multiplier(unit: &str) -> Result<u64, String> {
    let unknown =
        || format!("unknown unit '{}' (use K, M, G, T, P, E, KiB, kB, MB, ..., s or %)", quotable(unit));
    let mut letters = unit.chars();
    let Some(first) = letters.next() else { return Ok(1) };
    if unit == "B" {
        return Ok(1);
    }
    let power = match first.to_ascii_uppercase() {
        'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        'E' => 6,
        _ => return Err(unknown()),
    };
    match letters.as_str() {
        "" | "iB" => Ok(1024_u64.pow(power)),
        "B" => Ok(1000_u64.pow(power)),
        "b" | "ib" => Err(format!("'{}' would be bits; write a capital B for bytes", quotable(unit))),
        _ => Err(unknown()),
    }
}

/// A non-negative decimal number, exactly.
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    fn parse(text: &str) -> Result<Self, String> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || fraction.contains('.') || text.ends_with('.') {
            return Err("it does not begin with a number such as 10 or 1.5".into());
        }
        if fraction.len() > MAX_DECIMALS {
            return Err(format!("more than {MAX_DECIMALS} decimals"));
        }
        let mut digits = 0_u128;
        for digit in whole.bytes().chain(fraction.bytes()) {
            digits = digits
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(u128::from(digit - b'0')))
                .ok_or_else(too_large)?;
        }
        Ok(Self { digits, decimals: u32::try_from(fraction.len()).map_err(|_| too_large())? })
    }

    /// The number times `factor`, rounded up to a whole.
    fn times(&self, factor: u64) -> Result<u64, String> {
        let product = self.digits.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
        u64::try_from(product.div_ceil(self.scale())).map_err(|_| too_large())
    }

    fn whole(&self) -> Result<u64, String> {
        if !self.digits.is_multiple_of(self.scale()) {
            return Err("there is no part of a sector".into());
        }
        u64::try_from(self.digits / self.scale()).map_err(|_| too_large())
    }

    fn milli_percent(&self) -> Result<u32, String> {
        let thousand = self.digits.checked_mul(1000).ok_or_else(too_large)?;
        if !thousand.is_multiple_of(self.scale()) {
            return Err("a percentage has at most three decimals".into());
        }
        match u32::try_from(thousand / self.scale()) {
            Ok(milli) if milli <= 100_000 => Ok(milli),
            _ => Err("more than 100%".into()),
        }
    }

    fn scale(&self) -> u128 {
        10_u128.pow(self.decimals)
    }
}

fn too_large() -> String {
    format!("it is larger than {} bytes", u64::MAX)
}

/// The text as an error may repeat it: short, and without characters that steer a terminal.
fn quotable(text: &str) -> String {
    let mut quoted = String::new();
    for letter in text.chars() {
        // Counted as printed: an escape is longer than what it stands for.
        if quoted.len() >= MAX_QUOTED {
            quoted.push_str("...");
            break;
        }
        quoted.extend(letter.escape_debug());
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<u64, String> {
        match text.parse() {
            Ok(Size::Bytes(bytes)) => Ok(bytes),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn bare_letters_are_powers_of_1024_as_in_sfdisk() {
        assert_eq!(bytes("1M"), Ok(1_048_576));
        assert_eq!(bytes("1MiB"), Ok(1_048_576));
        assert_eq!(bytes("1MB"), Ok(1_000_000));
        assert_eq!(bytes("4kB"), Ok(4000));
        assert_eq!(bytes("512"), Ok(512));
        assert_eq!(bytes("512B"), Ok(512));
        assert_eq!(bytes(" 10 GiB "), Ok(10 << 30));
        assert_eq!(bytes("1.5T"), Ok(3 << 39));
        assert_eq!(bytes("15E"), Ok(15 << 60));
    }

    #[test]
    fn a_part_of_a_byte_is_rounded_up() {
        assert_eq!(bytes("0.1K"), Ok(103));
        assert_eq!(bytes("1.3G"), Ok(1_395_864_372));
        assert_eq!(bytes("0.000001B"), Ok(1));
    }

    #[test]
    fn nonsense_and_overflow_quote_the_text() {
        for (text, part) in [
            ("", "it is empty"),
            ("-1M", "negative"),
            ("16E", "larger than"),
            ("99999999999TiB", "larger than"),
            ("340282366920938463463374607431768211456", "larger than"),
            ("1.2.3M", "does not begin with a number"),
            (".5M", "does not begin with a number"),
            ("5.", "does not begin with a number"),
            ("M", "does not begin with a number"),
            ("10Mb", "bits"),
            ("10MM", "unknown unit 'MM'"),
            ("1.5s", "no part of a sector"),
            ("101%", "more than 100%"),
            ("0x10", "unknown unit"),
            ("٣M", "does not begin with a number"),
        ] {
            let error = text.parse::<Size>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("'{text}'")), "{error}");
            assert!(error.contains(part), "{error}");
        }
        let long = "9".repeat(100_000);
        assert!(long.parse::<Size>().expect_err("too long").to_string().len() < 200);
        assert!("\u{1b}[2J".parse::<Size>().expect_err("no size").to_string().is_ascii());
    }

    #[test]
    fn sectors_percentages_and_the_rest() {
        assert_eq!("2048s".parse(), Ok(Size::Sectors(2048)));
        assert_eq!("12.5%".parse(), Ok(Size::MilliPercent(12_500)));
        assert_eq!("100%".parse(), Ok(Size::MilliPercent(100_000)));
        assert_eq!("rest".parse(), Ok(Size::Rest));
        for text in ["2048s", "12.500%", "25%", "rest", "4096"] {
            assert_eq!(text.parse::<Size>().map(|size| size.to_string()).as_deref(), Ok(text));
        }
    }
}
