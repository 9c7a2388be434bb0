//! Partition tables, read without losing or repairing anything.
//!
//! [`Table::read`] decides which table counts as the kernel does, and keeps beside the partitions what the
//! checks need to know of the table's own state: both GPT copies, the EBR chain, what else was found. What is
//! read keeps its raw bytes, so a later change can touch exactly the fields that it means to.
//!
//! No number on the disk is trusted: arrays are bounded before memory is taken, chains have a limit and loop
//! detection, arithmetic cannot wrap.
//!
//! ```
//! use align_core::device::{BlockDevice, MemoryDevice, Reader};
//! use align_core::table::{Label, Table};
//!
//! let disk = MemoryDevice::new(1 << 30);
//! // One Linux partition from sector 63, as partitioners of the 1990s made it.
//! disk.write_at(446, &[0, 1, 1, 0, 0x83, 0xFE, 0xFF, 0xFF, 63, 0, 0, 0, 0, 0, 0x10, 0])?;
//! disk.write_at(510, &[0x55, 0xAA])?;
//!
//! let table = Table::read(&Reader::new(&disk), None)?;
//! assert_eq!(table.label, Label::Mbr);
//! assert_eq!(table.partitions[0].first.number(), 63);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

use crate::content::{self, BootSector, Content, Kind};
use crate::device::{ReadError, Reader};
use crate::units::SectorSize;

mod areas;
mod fingerprint;
pub mod gpt;
pub mod mbr;
mod partition;
mod sector_size;

pub use fingerprint::Fingerprint;
pub use gpt::Gpt;
pub use mbr::Mbr;
pub use partition::{Partition, PartitionKind, PartitionType};
pub use sector_size::{Evidence, SectorSizeBasis};

/// Where ISO 9660 has its volume descriptor.
const VOLUME_DESCRIPTOR: u128 = 0x8000;
/// As much of the front as shows the volume descriptor of ISO 9660; it is part of what is read anyway.
const HYBRID_ISO_FRONT: usize = 36 << 10;

/// The kind of partition table that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The table of the PC BIOS, also called DOS or msdos.
    Mbr,
    /// GUID partition table, by the UEFI specification.
    Gpt,
    /// No table.
    None,
}

impl Label {
    /// The word used in documents: `mbr`, `gpt`, `none`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mbr => "mbr",
            Self::Gpt => "gpt",
            Self::None => "none",
        }
    }
}

/// The partition table of a disk, and what else was seen while looking for it.
#[derive(Clone, Debug)]
pub struct Table {
    /// Which kind of table counts.
    pub label: Label,
    /// The unit of all its LBAs. Without a table, the device's own or 512.
    pub sector_size: SectorSize,
    /// How that unit was found.
    pub sector_size_basis: SectorSizeBasis,
    /// The partitions, by number: containers too, the protective entry not.
    pub partitions: Vec<Partition>,
    /// The master boot record of sector 0, where it has the signature; of a GPT, the protective one.
    pub mbr: Option<Mbr>,
    /// The GPT, if that is the label.
    pub gpt: Option<Gpt>,
    /// The sector size of a GPT that was left behind by an earlier use of the disk, if there is one.
    pub gpt_remains: Option<SectorSize>,
    /// What the disk holds as a whole, as far as its first sectors show: a file system without a table, or
    /// the ISO 9660 of a hybrid image.
    pub content: Option<Content>,
    /// Why not all of the front could be read that was looked at for want of a table.
    pub unread_front: Option<String>,
}

impl Table {
    /// Reads the table of a disk. `logical` is the sector size of the device, `None` for an image file.
    ///
    /// # Errors
    /// When sector 0 cannot be read: then nothing can be said. Everything else that cannot be read is part of
    /// the answer.
    pub fn read(reader: &Reader<'_>, logical: Option<SectorSize>) -> Result<Self, ReadError> {
        let mbr = Mbr::parse(&reader.read(0, mbr::SECTOR_LEN)?);
        match mbr {
            Some(mbr) if mbr.protective().is_some() => Ok(read_protected(reader, logical, mbr)),
            Some(mbr) => read_mbr(reader, logical, mbr),
            None => read_without_mbr(reader, logical),
        }
    }

    /// The partition with this number.
    pub fn partition(&self, number: u32) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.number == number)
    }

    /// Whether this is the image of an optical disc that is a disk too: a partition covers the volume descriptor.
    /// On a stick that was partitioned anew, the descriptor of an image can be left in front of the partitions.
    pub fn is_isohybrid(&self) -> bool {
        let covers_descriptor = |partition: &Partition| {
            partition.start_position(self.sector_size) <= VOLUME_DESCRIPTOR
                && VOLUME_DESCRIPTOR < partition.end_position(self.sector_size)
        };
        self.content.is_some_and(|content| content.kind == Kind::Optical)
            && self.partitions.iter().any(covers_descriptor)
    }

    /// Forgets the descriptor of a disc image that the disk held before it was partitioned.
    fn without_old_disc(mut self) -> Self {
        let is_disc = self.content.is_some_and(|content| content.kind == Kind::Optical);
        if is_disc && !self.partitions.is_empty() && !self.is_isohybrid() {
            self.content = None;
        }
        self
    }

    fn none(logical: Option<SectorSize>, (content, unread_front): Seen, remains: Option<SectorSize>) -> Self {
        Self {
            label: Label::None,
            sector_size: logical.unwrap_or(SectorSize::B512),
            sector_size_basis: SectorSizeBasis::Device,
            partitions: Vec::new(),
            mbr: None,
            gpt: None,
            gpt_remains: remains,
            content,
            unread_front,
        }
    }

    fn gpt(gpt: Gpt, sector_size_basis: SectorSizeBasis, mbr: Option<Mbr>, content: Option<Content>) -> Self {
        Self {
            label: Label::Gpt,
            sector_size: gpt.sector_size,
            sector_size_basis,
            partitions: gpt.partitions(),
            mbr,
            gpt: Some(gpt),
            gpt_remains: None,
            content,
            unread_front: None,
        }
    }
}

/// A protective entry in sector 0: the GPT counts, whatever its state.
fn read_protected(reader: &Reader<'_>, logical: Option<SectorSize>, mbr: Mbr) -> Table {
    let located = sector_size::locate_gpt(reader, logical);
    // Whoever used the whole disk later may have overwritten the primary copy.
    let content = match located.gpt.primary {
        Ok(_) => hybrid_iso(reader),
        Err(_) => recognise_front(reader).ok().and_then(|(content, _)| content),
    };
    Table::gpt(located.gpt, located.basis, Some(mbr), content).without_old_disc()
}

/// The signature 55AA in sector 0 and no protective entry: an MBR, or the boot sector of a file system.
fn read_mbr(reader: &Reader<'_>, logical: Option<SectorSize>, mut mbr: Mbr) -> Result<Table, ReadError> {
    let gpt_remains = sector_size::find_primary(reader, logical);
    if !is_table(reader, logical, &mbr) {
        // A file system made over the disk often leaves the copy at its end standing.
        let remains = gpt_remains.or_else(|| sector_size::find_backup(reader, logical));
        return Ok(Table::none(logical, recognise_front(reader)?, remains));
    }
    let (sector_size, sector_size_basis) = sector_size::of_mbr(reader, logical, &mbr);
    mbr.read_chains(reader, sector_size);
    let partitions = mbr.partitions();
    // A boot loader in the first sector of a file system leaves an empty table behind it.
    let (content, unread_front) =
        if partitions.is_empty() { recognise_front(reader)? } else { (hybrid_iso(reader), None) };
    Ok(Table {
        label: Label::Mbr,
        sector_size,
        sector_size_basis,
        partitions,
        mbr: Some(mbr),
        gpt: None,
        gpt_remains,
        content,
        unread_front,
    }
    .without_old_disc())
}

/// No signature in sector 0: a GPT whose protective MBR is lost, or no table.
fn read_without_mbr(reader: &Reader<'_>, logical: Option<SectorSize>) -> Result<Table, ReadError> {
    let seen = recognise_front(reader)?;
    let primary = sector_size::find_primary(reader, logical);
    let backup_only = || primary.is_none().then(|| sector_size::find_backup(reader, logical)).flatten();
    let Some(size) = primary.or_else(backup_only) else {
        return Ok(Table::none(logical, seen, None));
    };
    let located = sector_size::locate_gpt(reader, logical);
    // A file system that was made over the disk leaves parts of the old GPT standing: only a whole primary
    // copy is stronger evidence than what begins at byte 0.
    let whole_primary = located.gpt.primary.is_ok();
    if whole_primary || (seen.0.is_none() && located.gpt.backup.is_ok()) {
        return Ok(Table::gpt(located.gpt, located.basis, None, None));
    }
    Ok(Table::none(logical, seen, Some(size)))
}

/// Whether the four entries of a sector with the signature are a partition table (`block/partitions/msdos.c`).
fn is_table(reader: &Reader<'_>, logical: Option<SectorSize>, mbr: &Mbr) -> bool {
    if !mbr.boot_indicators_valid() {
        return false;
    }
    let boot_sector: Option<BootSector> = content::boot_sector(mbr.sector());
    if boot_sector.is_none() {
        return true;
    }
    // A boot sector of FAT or NTFS can hold a table of its own (`mkfs.fat --mbr`), then it makes sense.
    let unit = logical.unwrap_or(SectorSize::B512);
    mbr.entries_make_sense(reader.size().map(|size| size.div_euclid(unit.bytes())))
}

/// What the front of a disk looks like, and why not all of it could be read.
type Seen = (Option<Content>, Option<String>);

fn recognise_front(reader: &Reader<'_>) -> Result<Seen, ReadError> {
    let front = reader.front(content::FRONT_LEN)?;
    Ok((content::recognise(&front.bytes), front.fault.map(|fault| fault.to_string())))
}

/// The ISO 9660 file system beside an MBR, as isohybrid images have it: both are meant.
fn hybrid_iso(reader: &Reader<'_>) -> Option<Content> {
    let front = reader.read(0, HYBRID_ISO_FRONT).ok()?;
    content::recognise(&front).filter(|content| content.kind == Kind::Optical)
}
