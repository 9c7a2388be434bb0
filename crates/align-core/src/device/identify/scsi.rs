use super::{Unread, answer, be16, be32, rpm};
use crate::units::{PhysicalSize, SectorSize};

/// The answer to SCSI READ CAPACITY (16) (the standard SBC-4). Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCapacity {
    /// The size of a logical block.
    pub logical: u64,
    /// The size of a physical block: 2^exponent logical ones.
    pub physical: u64,
    /// From LBA 0 to the first physical boundary: the lowest aligned LBA, so 7 means 3584.
    pub alignment_offset: u64,
}

impl ReadCapacity {
    /// Takes the answer, of which the first 16 bytes count.
    ///
    /// # Errors
    /// When it is short or blank, or its sizes cannot be.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unread> {
        let bytes = answer(bytes, 16)?;
        let logical = SectorSize::new(be32(bytes, 8).into());
        let logical = logical.ok_or(Unread::Garbage("no block can be of that size"))?.bytes();
        let exponent = be16(bytes, 12) & 0xF;
        let physical = logical.checked_shl(exponent.into()).and_then(PhysicalSize::new);
        let physical = physical.ok_or(Unread::Garbage("no physical block can be that large"))?.bytes();
        let alignment_offset = u64::from(be16(bytes, 14) & 0x3FFF) * logical;
        if alignment_offset >= physical {
            return Err(Unread::Garbage("the first physical block begins behind its own size"));
        }
        Ok(Self { logical, physical, alignment_offset })
    }
}

/// The optimal transfer length in logical blocks by VPD page B0, block limits; `None` for 0.
///
/// # Errors
/// When it is short, or another page.
pub fn optimal_transfer_blocks(bytes: &[u8]) -> Result<Option<u32>, Unread> {
    let blocks = be32(page(bytes, 0xB0, 16)?, 12);
    Ok((blocks > 0).then_some(blocks))
}

/// The rotation rate by VPD page B1, block device characteristics: 1 for a drive that does not rotate, `None` where it
/// is not said.
///
/// # Errors
/// When it is short, or another page.
pub fn rotation_rate(bytes: &[u8]) -> Result<Option<u32>, Unread> {
    page(bytes, 0xB1, 6).map(|page| rpm(be16(page, 4)))
}

/// The sizes in bytes of the logical blocks to which the drive can be formatted without protection information, by
/// VPD page B4.
///
/// # Errors
/// When it is short, or another page.
pub fn block_lengths(bytes: &[u8]) -> Result<Vec<u64>, Unread> {
    let page = page(bytes, 0xB4, 12)?;
    let descriptors = page.get(4..).unwrap_or_default().chunks_exact(8);
    let lengths = descriptors.filter_map(|descriptor| SectorSize::new(be32(descriptor, 0).into()));
    Ok(lengths.map(SectorSize::bytes).collect())
}

/// A vital product data page as long as it says itself, at least `needed` bytes.
fn page(bytes: &[u8], code: u8, needed: usize) -> Result<&[u8], Unread> {
    let bytes =
        bytes.get(..4.max(needed)).map(|_| bytes).ok_or(Unread::Short { len: bytes.len(), needed })?;
    match bytes.get(1) {
        // Devices that know no pages answer with zeros, or with what they always say.
        Some(own) if *own == code => {}
        _ => return Err(Unread::Garbage("it is another page")),
    }
    let len = usize::from(be16(bytes, 2)) + 4;
    if len < needed {
        return Err(Unread::Short { len, needed });
    }
    Ok(bytes.get(..len).unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2 TB in logical blocks of this size, with bytes 13 to 15.
    fn capacity(logical: u32, tail: [u8; 3]) -> Vec<u8> {
        let mut bytes = vec![0; 32];
        bytes[..8].copy_from_slice(&3_907_029_167_u64.to_be_bytes());
        bytes[8..12].copy_from_slice(&logical.to_be_bytes());
        bytes[13..16].copy_from_slice(&tail);
        bytes
    }

    #[test]
    fn the_lowest_aligned_lba_is_the_offset() {
        let sizes = |logical, tail| {
            let capacity = ReadCapacity::decode(&capacity(logical, tail)).unwrap();
            (capacity.logical, capacity.physical, capacity.alignment_offset)
        };
        assert_eq!(sizes(512, [3, 0, 7]), (512, 4096, 3584));
        // Provisioning bits stand in the same byte; so do those of protection.
        assert_eq!(sizes(512, [0x23, 0xC0, 0]), (512, 4096, 0));
        assert_eq!(sizes(4096, [0, 0, 0]), (4096, 4096, 0));
        assert_eq!(sizes(512, [0, 0, 0]), (512, 512, 0));
    }

    #[test]
    fn capacities_that_cannot_be_are_refused() {
        assert_eq!(
            ReadCapacity::decode(&capacity(512, [3, 0, 7])[..8]),
            Err(Unread::Short { len: 8, needed: 16 })
        );
        assert_eq!(ReadCapacity::decode(&[0; 32]), Err(Unread::Blank));
        for bad in [
            capacity(520, [3, 0, 0]),
            capacity(0, [3, 0, 0]),
            capacity(512, [15, 0, 0]),
            capacity(512, [3, 0, 8]),
        ] {
            assert!(matches!(ReadCapacity::decode(&bad), Err(Unread::Garbage(_))), "{bad:?}");
        }
    }

    #[test]
    fn pages_are_read_as_far_as_they_go() {
        let mut limits = vec![0, 0xB0, 0, 0x3C];
        limits.resize(64, 0);
        assert_eq!(optimal_transfer_blocks(&limits), Ok(None));
        limits[12..16].copy_from_slice(&1024_u32.to_be_bytes());
        assert_eq!(optimal_transfer_blocks(&limits), Ok(Some(1024)));
        // The page of an older standard ends before.
        assert_eq!(
            optimal_transfer_blocks(&[0, 0xB0, 0, 4, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9]),
            Err(Unread::Short { len: 8, needed: 16 })
        );

        let mut characteristics = vec![0, 0xB1, 0, 0x3C, 0x1C, 0x20];
        characteristics.resize(64, 0);
        assert_eq!(rotation_rate(&characteristics), Ok(Some(7200)));
        assert!(matches!(rotation_rate(&[0; 64]), Err(Unread::Garbage(_))));

        let lengths =
            [0, 0xB4, 0, 24, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 8, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0];
        assert_eq!(block_lengths(&lengths), Ok(vec![512, 4096]));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_possible_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(capacity) = ReadCapacity::decode(&bytes) {
                prop_assert!(capacity.physical.is_power_of_two() && capacity.physical <= 1 << 20);
                prop_assert!(capacity.alignment_offset < capacity.physical);
                prop_assert!(capacity.alignment_offset.is_multiple_of(capacity.logical));
            }
            for (code, refused) in [
                (0xB0, optimal_transfer_blocks(&bytes).is_err()),
                (0xB1, rotation_rate(&bytes).is_err()),
                (0xB4, block_lengths(&bytes).is_err()),
            ] {
                prop_assert!(refused || bytes[1] == code);
            }
        }
    }
}
