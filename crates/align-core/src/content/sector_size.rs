use super::{BootSector, boot_sector, recognise};

/// The sector size that the file system in these first bytes was made for, where its kind cares: FAT, NTFS and exFAT
/// hold it in their boot sector, XFS in its superblock. Of ext2 to ext4 it is the size of a block, than which no sector
/// may be larger. Only the first 2048 bytes are looked at.
pub fn sector_size(front: &[u8]) -> Option<u64> {
    let byte = |at: usize| front.get(at).copied();
    let size = match boot_sector(front) {
        Some(BootSector::Fat | BootSector::Ntfs) => u64::from(u16::from_le_bytes([byte(11)?, byte(12)?])),
        Some(BootSector::ExFat) => 1_u64.checked_shl(byte(0x6C)?.into())?,
        None if front.starts_with(b"XFSB") => u64::from(u16::from_be_bytes([byte(102)?, byte(103)?])),
        None => match recognise(front)?.name {
            "ext2" | "ext3" | "ext4" => 1024_u64.checked_shl(byte(0x418)?.into())?,
            _ => return None,
        },
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
        let mut ext = vec![0; 2048];
        ext[0x400..0x408].copy_from_slice(&[0, 1, 0, 0, 0, 4, 0, 0]);
        ext[0x438..0x43A].copy_from_slice(&[0x53, 0xEF]);
        assert_eq!(sector_size(&ext), Some(1024));
        ext[0x418] = 2;
        assert_eq!(sector_size(&ext), Some(4096));
    }
}
