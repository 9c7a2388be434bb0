use super::{Unread, answer, le16, rpm};
use crate::units::{PhysicalSize, SectorSize};

const LEN: usize = 512;
/// Word 255 holds a checksum when its low byte is this.
const CHECKED: u8 = 0xA5;
/// Bits 15:14 of words 106 and 209 are 01 where the word is valid.
const VALIDITY: u16 = 0xC000;
const VALID: u16 = 0x4000;
const SEVERAL_PER_PHYSICAL: u16 = 1 << 13;
const LARGE_LOGICAL: u16 = 1 << 12;
const MODEL_WORDS: std::ops::Range<usize> = 27..47;

/// The answer to ATA IDENTIFY DEVICE, as far as it is about sectors (the standard ACS-4). Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtaIdentity {
    /// The model, trimmed (words 27 to 46).
    pub model: String,
    /// Logical sector size (words 106, 117 and 118); `None` where word 106 is not valid, as on old drives.
    pub logical: Option<u64>,
    /// Physical sector size: 2^k logical ones (word 106); `None` as above.
    pub physical: Option<u64>,
    /// From LBA 0 to the first physical boundary (word 209). The word says where LBA 0 lies inside its physical
    /// sector, so a drive with the jumper for Windows XP says 1 and means 7 sectors.
    pub alignment_offset: Option<u64>,
    /// The rotation rate, 1 for a drive that does not rotate (word 217).
    pub rpm: Option<u32>,
}

impl AtaIdentity {
    /// Takes the 512 bytes of the answer, words in little-endian order.
    ///
    /// # Errors
    /// When the answer is short, blank, noise, that of a device that is no disk, or has a wrong checksum.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unread> {
        let bytes = answer(bytes, LEN)?;
        let word = |number: usize| le16(bytes, number * 2);
        // Older drives have no checksum.
        let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        if bytes.get(LEN - 2) == Some(&CHECKED) && sum != 0 {
            return Err(Unread::BadChecksum);
        }
        if word(0) & 0x8000 != 0 {
            return Err(Unread::Garbage("it is not that of an ATA disk"));
        }
        let model = model(bytes).ok_or(Unread::Garbage("the model is no text"))?;
        let (logical, exponent) = sizes(word(106), word(117), word(118)).unzip();
        let physical = logical.zip(exponent).and_then(|(logical, exponent)| logical.checked_shl(exponent));
        let physical = physical.and_then(PhysicalSize::new).map(PhysicalSize::bytes);
        Ok(Self {
            model,
            logical: logical.filter(|_| physical.is_some()),
            physical,
            alignment_offset: physical.and_then(|_| offset(word(209), logical?, exponent?)),
            rpm: rpm(word(217)),
        })
    }
}

/// The model's text has the two bytes of each word swapped. Noise is hardly ever forty printable characters.
fn model(bytes: &[u8]) -> Option<String> {
    let field = bytes.get(MODEL_WORDS.start * 2..MODEL_WORDS.end * 2)?;
    let text: Vec<u8> = field.chunks_exact(2).flat_map(|pair| pair.iter().rev()).copied().collect();
    // Some drives fill it up with zeros.
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let text = std::str::from_utf8(text.get(..end)?).ok()?;
    let printable = text.chars().all(|character| matches!(character, ' '..='~'));
    let text = text.trim();
    (printable && !text.is_empty()).then(|| text.to_owned())
}

/// The logical size in bytes and the exponent of logical sectors per physical one.
fn sizes(word_106: u16, low: u16, high: u16) -> Option<(u64, u32)> {
    if word_106 & VALIDITY != VALID {
        return None;
    }
    let logical = match word_106 & LARGE_LOGICAL {
        0 => SectorSize::B512,
        _ => SectorSize::new((u64::from(high) << 16 | u64::from(low)) * 2)?,
    };
    let exponent = if word_106 & SEVERAL_PER_PHYSICAL == 0 { 0 } else { word_106 & 0xF };
    Some((logical.bytes(), exponent.into()))
}

fn offset(word_209: u16, logical: u64, exponent: u32) -> Option<u64> {
    let (per_physical, first) = (1_u64 << exponent, u64::from(word_209 & !VALIDITY));
    if word_209 & VALIDITY != VALID || first >= per_physical {
        return None;
    }
    Some((per_physical - first) % per_physical * logical)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An answer with these words, a model and a right checksum, as a drive of 2010 on would give it.
    fn identify(words: &[(usize, u16)]) -> Vec<u8> {
        let mut bytes = vec![0; LEN];
        let model = format!("{:<40}", "WDC WD20EARS-00MVWB0");
        for (at, pair) in model.as_bytes().chunks(2).enumerate() {
            bytes[54 + 2 * at] = pair[1];
            bytes[55 + 2 * at] = pair[0];
        }
        for (word, value) in words {
            bytes[word * 2..word * 2 + 2].copy_from_slice(&value.to_le_bytes());
        }
        bytes[510] = CHECKED;
        let sum = bytes[..511].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        bytes[511] = sum.wrapping_neg();
        bytes
    }

    fn sizes_of(words: &[(usize, u16)]) -> (Option<u64>, Option<u64>, Option<u64>) {
        let ata = AtaIdentity::decode(&identify(words)).unwrap();
        (ata.logical, ata.physical, ata.alignment_offset)
    }

    #[test]
    fn the_words_mean_what_the_standard_says() {
        // 512e: bit 14 valid, bit 13 several logical sectors, 2^3 of them.
        assert_eq!(sizes_of(&[(106, 0x6003)]), (Some(512), Some(4096), None));
        assert_eq!(sizes_of(&[(106, 0x6003), (209, 0x4000)]), (Some(512), Some(4096), Some(0)));
        // The jumper: LBA 0 is the second of its physical sector, the next boundary is 7 sectors on.
        assert_eq!(sizes_of(&[(106, 0x6003), (209, 0x4001)]), (Some(512), Some(4096), Some(3584)));
        assert_eq!(sizes_of(&[(106, 0x6003), (209, 0x4007)]), (Some(512), Some(4096), Some(512)));
        // 4Kn: bit 12, 2048 words of 2 bytes.
        assert_eq!(sizes_of(&[(106, 0x5000), (117, 2048)]), (Some(4096), Some(4096), None));
        assert_eq!(sizes_of(&[(106, 0x7002), (117, 2048)]), (Some(4096), Some(16384), None));
        assert_eq!(sizes_of(&[(106, 0x4000)]), (Some(512), Some(512), None));
        assert_eq!(AtaIdentity::decode(&identify(&[])).unwrap().model, "WDC WD20EARS-00MVWB0");
    }

    #[test]
    fn what_is_not_valid_says_nothing() {
        for word_106 in [0, 0x2003, 0xE003, 0xA003, 0xFFFF] {
            assert_eq!(sizes_of(&[(106, word_106), (209, 0x4001)]), (None, None, None), "{word_106:#06x}");
        }
        for word_209 in [0, 1, 0x8001, 0xC001, 0x4008] {
            let (_, physical, offset) = sizes_of(&[(106, 0x6003), (209, word_209)]);
            assert_eq!((physical, offset), (Some(4096), None), "{word_209:#06x}");
        }
        // Logical sectors of 520 bytes, or of none: then the physical ones are not known either.
        assert_eq!(sizes_of(&[(106, 0x7003), (117, 260)]), (None, None, None));
        assert_eq!(sizes_of(&[(106, 0x7003)]), (None, None, None));
    }

    #[test]
    fn rotation_rates_are_those_of_word_217() {
        let rpm = |value| AtaIdentity::decode(&identify(&[(217, value)])).unwrap().rpm;
        assert_eq!([5400, 7200, 1].map(rpm), [Some(5400), Some(7200), Some(1)]);
        assert_eq!([0, 2, 0x0400, 0xFFFF].map(rpm), [None; 4]);
    }

    #[test]
    fn an_answer_that_is_none_is_refused() {
        let good = identify(&[(106, 0x6003)]);
        assert_eq!(AtaIdentity::decode(&good[..36]), Err(Unread::Short { len: 36, needed: 512 }));
        assert_eq!(AtaIdentity::decode(&[0; 512]), Err(Unread::Blank));
        assert_eq!(AtaIdentity::decode(&[0xFF; 512]), Err(Unread::Blank));
        let mut flipped = good.clone();
        flipped[212] ^= 1;
        assert_eq!(AtaIdentity::decode(&flipped), Err(Unread::BadChecksum));
        // Without a checksum, as drives before ATA-5 answer, it counts.
        flipped[510] = 0;
        assert_eq!(AtaIdentity::decode(&flipped).unwrap().physical, Some(2048));
        assert!(matches!(AtaIdentity::decode(&identify(&[(0, 0x8580)])), Err(Unread::Garbage(_))));
        assert!(matches!(AtaIdentity::decode(&identify(&[(30, 0x0107)])), Err(Unread::Garbage(_))));
    }

    proptest! {
        #[test]
        fn noise_is_no_answer(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(AtaIdentity::decode(&bytes).is_err());
        }

        #[test]
        fn words_that_are_not_valid_give_no_facts(word_106: u16, word_209: u16, low: u16, high: u16) {
            let words = [(106, word_106), (117, low), (118, high), (209, word_209)];
            let (logical, physical, offset) = sizes_of(&words);
            if word_106 >> 14 != 1 {
                prop_assert_eq!((logical, physical, offset), (None, None, None));
            }
            if word_209 >> 14 != 1 {
                prop_assert_eq!(offset, None);
            }
            if let Some(physical) = physical {
                let logical = logical.unwrap();
                prop_assert!(physical.is_power_of_two() && physical >= logical && physical <= 1 << 20);
                prop_assert!(offset.is_none_or(|offset| offset < physical && offset.is_multiple_of(logical)));
            }
        }
    }
}
