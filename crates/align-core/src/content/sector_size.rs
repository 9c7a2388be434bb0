use super::{BootSector, boot_sector};

/// The sector size that the file system in these first bytes was made for, where its kind cares: FAT, NTFS and exFAT
/// hold it in their boot sector, XFS in its superblock. Only the first 512 bytes are looked at.
pub fn sector_size(front: &[u8]) -> Option<u64> {
    let byte = |at: usize| front.get(at).copied();
    let size = match boot_sector(front) {
        Some(BootSector::Fat | BootSector::Ntfs) => u64::from(u16::from_le_bytes([byte(11)?, byte(12)?])),
        Some(BootSector::ExFat) => 1_u64.checked_shl(byte(0x6C)?.into())?,
        None if front.starts_with(b"XFSB") => u64::from(u16::from_be_bytes([byte(102)?, byte(103)?])),
        None => return None,
    };
    (size.is_power_of_two() && (512..=65536).contains(&size)).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_care_are_asked() {
        let mut xfs = vec![0; 512];
        xfs[..4].copy_from_slice(b"XFSB");
        xfs[102..104].copy_from_slice(&[0x10, 0]);
        assert_eq!(sector_size(&xfs), Some(4096));
        let mut ntfs = vec![0; 512];
        ntfs[3..11].copy_from_slice(b"NTFS    ");
        ntfs[510..].copy_from_slice(&[0x55, 0xAA]);
        ntfs[11..13].copy_from_slice(&512_u16.to_le_bytes());
        assert_eq!(sector_size(&ntfs), Some(512));
        ntfs[11..13].copy_from_slice(&[3, 0]);
        assert_eq!(sector_size(&ntfs), None);
        assert_eq!(sector_size(&[0; 512]), None);
    }
}
