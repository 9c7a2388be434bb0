/// The boot sector of a Microsoft file system. It ends in 55AA, as an MBR does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootSector {
    /// FAT12, FAT16 or FAT32.
    Fat,
    /// NTFS.
    Ntfs,
    /// exFAT.
    ExFat,
}

impl BootSector {
    /// The name of the file system.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fat => "FAT",
            Self::Ntfs => "NTFS",
            Self::ExFat => "exFAT",
        }
    }
}

/// Whether a sector is the boot sector of FAT, NTFS or exFAT.
///
/// FAT has no magic: the fields of its BIOS parameter block must make sense together (Microsoft's FAT
/// specification, `fs/fat/inode.c` of the kernel).
pub fn boot_sector(sector: &[u8]) -> Option<BootSector> {
    if sector.get(510..512)? != [0x55, 0xAA] {
        return None;
    }
    match sector.get(3..11)? {
        b"NTFS    " => return Some(BootSector::Ntfs),
        b"EXFAT   " => return Some(BootSector::ExFat),
        _ => {}
    }
    is_fat(sector).then_some(BootSector::Fat)
}

fn is_fat(sector: &[u8]) -> bool {
    let byte = |at: usize| sector.get(at).copied().unwrap_or(0);
    let word = |at: usize| u16::from_le_bytes([byte(at), byte(at + 1)]);
    let jump = matches!((byte(0), byte(2)), (0xEB, 0x90)) || byte(0) == 0xE9;
    let sector_size = word(11);
    let cluster = byte(13);
    let media = byte(21);
    jump && (512..=4096).contains(&sector_size)
        && sector_size.is_power_of_two()
        && cluster.is_power_of_two()
        && word(14) > 0
        && matches!(byte(16), 1 | 2)
        && (media == 0xF0 || media >= 0xF8)
}
