use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::table::PartitionType;
use crate::units::Lba;

/// The layout of sector 0 and of every EBR.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct RawSector {
    _boot_code: [u8; 440],
    pub(super) disk_signature: U32,
    _copy_protected: [u8; 2],
    pub(super) entries: [RawEntry; 4],
    pub(super) signature: [u8; 2],
}

/// One of four entries on the disk.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct RawEntry {
    pub(super) boot_indicator: u8,
    pub(super) chs_first: [u8; 3],
    pub(super) type_byte: u8,
    pub(super) chs_last: [u8; 3],
    pub(super) start: U32,
    pub(super) sectors: U32,
}

const _: () = assert!(size_of::<RawSector>() == super::SECTOR_LEN);

impl RawSector {
    pub(super) fn has_signature(&self) -> bool {
        self.signature == [0x55, 0xAA]
    }

    pub(super) fn entries(&self) -> [MbrEntry; 4] {
        self.entries.map(|raw| MbrEntry {
            boot_indicator: raw.boot_indicator,
            type_byte: raw.type_byte,
            start: raw.start.get(),
            sectors: raw.sectors.get(),
        })
    }
}

/// An entry of sector 0 or of an EBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbrEntry {
    /// 80 for the active partition, else 00.
    pub boot_indicator: u8,
    /// The type.
    pub type_byte: u8,
    /// The start: absolute in sector 0; in an EBR relative to it, or to the container for a link.
    pub start: u32,
    /// The size in sectors.
    pub sectors: u32,
}

impl MbrEntry {
    /// Whether it describes a partition. As for the kernel, the size decides: an entry of type 0 or at LBA 0
    /// (isohybrid images have both) is used.
    pub fn is_used(&self) -> bool {
        self.sectors > 0
    }

    /// Whether it is a container, or in an EBR a link.
    pub fn is_extended(&self) -> bool {
        PartitionType::Mbr(self.type_byte).is_extended()
    }

    /// The first sector, taking the start as absolute.
    pub fn first(&self) -> Lba {
        Lba::new(self.start.into())
    }

    /// The last sector, taking the start as absolute. Of an unused entry it is meaningless.
    pub fn last(&self) -> Lba {
        let past = u64::from(self.start).saturating_add(self.sectors.into());
        Lba::new(past.saturating_sub(1))
    }
}
