use super::{Unread, answer, le16};
use crate::units::SectorSize;

const LEN: usize = 4096;
const FORMATS: usize = 128;
const MOST_FORMATS: u8 = 64;
/// Bit 4 of NSFEAT: the preferred sizes are there.
const PREFERENCES: u8 = 1 << 4;

/// The answer to NVMe Identify Namespace, as far as it is about sectors (the NVM Command Set specification). Sizes in
/// bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeNamespace {
    /// The format in use.
    pub format: LbaFormat,
    /// A format without metadata that the drive says to be faster than the one in use, the fastest there is; of
    /// equally fast ones that of 4096 bytes, else the largest.
    pub better: Option<LbaFormat>,
    /// The smallest write that the drive prefers, on the boundary that it prefers (NPWG and NPWA).
    pub write_granularity: Option<u64>,
    /// The write that it likes best (NOWS).
    pub optimal_write: Option<u64>,
}

/// An LBA format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LbaFormat {
    /// Its number.
    pub index: u8,
    /// The size of a sector.
    pub size: u64,
    /// Bytes of metadata for each sector.
    pub metadata: u16,
    /// Relative performance: 0 best, 1 better, 2 good, 3 degraded.
    pub performance: u8,
}

impl NvmeNamespace {
    /// Takes the 4096 bytes of the answer.
    ///
    /// # Errors
    /// When it is short or blank, or its format in use cannot be.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unread> {
        let bytes = answer(bytes, LEN)?;
        let [features, number, in_use] = [24, 25, 26].map(|at: usize| bytes.get(at).copied().unwrap_or(0));
        let last = number.min(MOST_FORMATS - 1);
        // With more than 16 formats the upper bits of the number stand apart.
        let index = if last < 16 { in_use & 0xF } else { in_use & 0xF | (in_use >> 5 & 3) << 4 };
        let format = (index <= last).then(|| LbaFormat::decode(bytes, index)).flatten();
        let format = format.ok_or(Unread::Garbage("the sector format in use is none"))?;
        let faster = (0..=last).filter_map(|index| LbaFormat::decode(bytes, index)).filter(|other| {
            other.metadata == 0 && other.performance < format.performance && other.size >= format.size
        });
        let better =
            faster.min_by_key(|other| (other.performance, other.size != 4096, std::cmp::Reverse(other.size)));
        let blocks = |at: usize| (u64::from(le16(bytes, at)) + 1).checked_mul(format.size);
        let prefers = features & PREFERENCES != 0;
        let write_granularity = blocks(64)
            .zip(blocks(66))
            .filter(|_| prefers)
            .map(|(size, boundary)| if boundary.is_multiple_of(size) { boundary } else { size });
        // NOWS of 0 is none, not one block.
        let optimal_write = blocks(72).filter(|_| prefers && le16(bytes, 72) > 0);
        Ok(Self { format, better, write_granularity, optimal_write })
    }
}

impl LbaFormat {
    fn decode(bytes: &[u8], index: u8) -> Option<Self> {
        let at = FORMATS + 4 * usize::from(index);
        let [size, performance] = [at + 2, at + 3].map(|at| bytes.get(at).copied().unwrap_or(0));
        let size = 1_u64.checked_shl(size.into()).and_then(SectorSize::new)?.bytes();
        Some(Self { index, size, metadata: le16(bytes, at), performance: performance & 3 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// (metadata, log2 of the size, relative performance) of each format, and which is in use.
    fn namespace(formats: &[(u16, u8, u8)], in_use: u8) -> Vec<u8> {
        let mut bytes = vec![0; LEN];
        bytes[..8].copy_from_slice(&1_000_215_216_u64.to_le_bytes());
        bytes[25] = u8::try_from(formats.len()).unwrap() - 1;
        bytes[26] = in_use;
        for (at, (metadata, log, performance)) in formats.iter().enumerate() {
            bytes[128 + 4 * at..130 + 4 * at].copy_from_slice(&metadata.to_le_bytes());
            bytes[130 + 4 * at] = *log;
            bytes[131 + 4 * at] = *performance;
        }
        bytes
    }

    fn better(formats: &[(u16, u8, u8)], in_use: u8) -> Option<(u8, u64)> {
        NvmeNamespace::decode(&namespace(formats, in_use))
            .unwrap()
            .better
            .map(|format| (format.index, format.size))
    }

    #[test]
    fn a_format_is_better_where_the_drive_says_that_it_is_faster() {
        assert_eq!(better(&[(0, 9, 2), (0, 12, 1)], 0), Some((1, 4096)));
        assert_eq!(better(&[(0, 9, 2), (0, 12, 1)], 1), None);
        assert_eq!(better(&[(0, 9, 0), (0, 12, 0)], 0), None);
        // With metadata it is for other uses; a number that was never filled in is no format.
        assert_eq!(better(&[(0, 9, 2), (8, 12, 0), (0, 0, 0)], 0), None);
        assert_eq!(better(&[(0, 9, 3), (0, 13, 0), (0, 12, 0)], 0), Some((2, 4096)));
    }

    #[test]
    fn the_number_in_use_has_bits_in_two_places() {
        let mut formats = vec![(0, 9, 0); 20];
        formats[17] = (0, 12, 0);
        let in_use = NvmeNamespace::decode(&namespace(&formats, 0b0010_0001)).unwrap().format;
        assert_eq!((in_use.index, in_use.size), (17, 4096));
        // Bit 4 tells where the metadata is; with few formats the bits above mean nothing.
        let in_use = NvmeNamespace::decode(&namespace(&[(0, 9, 0), (8, 12, 0)], 0b0011_0001)).unwrap().format;
        assert_eq!((in_use.index, in_use.metadata), (1, 8));
    }

    #[test]
    fn preferences_count_where_they_are_said_to() {
        let mut bytes = namespace(&[(0, 9, 0)], 0);
        bytes[64..66].copy_from_slice(&7_u16.to_le_bytes());
        bytes[66..68].copy_from_slice(&31_u16.to_le_bytes());
        bytes[72..74].copy_from_slice(&255_u16.to_le_bytes());
        let silent = NvmeNamespace::decode(&bytes).unwrap();
        assert_eq!((silent.write_granularity, silent.optimal_write), (None, None));
        bytes[24] = PREFERENCES;
        let preferred = NvmeNamespace::decode(&bytes).unwrap();
        assert_eq!((preferred.write_granularity, preferred.optimal_write), (Some(16384), Some(131_072)));
        bytes[66..68].copy_from_slice(&0_u16.to_le_bytes());
        assert_eq!(NvmeNamespace::decode(&bytes).unwrap().write_granularity, Some(4096));
    }

    #[test]
    fn an_answer_that_is_none_is_refused() {
        assert_eq!(NvmeNamespace::decode(&[1; 512]), Err(Unread::Short { len: 512, needed: 4096 }));
        assert_eq!(NvmeNamespace::decode(&[0; LEN]), Err(Unread::Blank));
        for bad in [namespace(&[(0, 9, 0)], 1), namespace(&[(0, 0, 0)], 0), namespace(&[(0, 200, 0)], 0)] {
            assert!(matches!(NvmeNamespace::decode(&bad), Err(Unread::Garbage(_))));
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_possible_or_refused(head in prop::collection::vec(any::<u8>(), 384)) {
            let mut bytes = head;
            bytes.resize(LEN, 0);
            if let Ok(namespace) = NvmeNamespace::decode(&bytes) {
                prop_assert!(namespace.format.size.is_power_of_two() && namespace.format.size >= 512);
                prop_assert!(namespace.better.is_none_or(|better| better.performance < namespace.format.performance));
                prop_assert!(bytes[24] & 16 != 0 || namespace.write_granularity.is_none());
            }
        }
    }
}
