//! The GPT: a header and an array of entries at the front of the disk, and a copy of both at its end.
//!
//! ```
//! use align_core::table::gpt;
//! use align_core::table::PartitionType;
//!
//! let type_ = PartitionType::from_code("21686148-6449-6E6F-744E-656564454649");
//! assert_eq!(type_.name(), Some("BIOS boot"));
//! let PartitionType::Gpt(guid) = type_ else { unreachable!("it is a GUID") };
//! assert!(gpt::EXEMPT_TYPES.contains(&guid));
//! ```

use uuid::Uuid;

mod array;
mod encode;
mod header;
mod types;

pub use array::{GptEntry, MAX_ARRAY_BYTES, MAX_ENTRIES};
pub use header::{GptHeader, HEADER_LEN, SIGNATURE};
pub use types::{EXEMPT_TYPES, MOVING_TYPE, type_name};

pub(crate) use encode::{Array, Entry, Header, NAME_UNITS};

use self::array::Keep;
use super::{Partition, PartitionKind, PartitionType};
use crate::device::{ReadError, Reader};
use crate::units::{Lba, SectorSize};

/// Where the primary header is, in every sector size.
pub const PRIMARY_LBA: Lba = Lba::new(1);

/// A GUID partition table with the state of both of its copies.
#[derive(Clone, Debug)]
pub struct Gpt {
    /// The unit of its LBAs.
    pub sector_size: SectorSize,
    /// The copy at LBA 1.
    pub primary: Result<GptHeader, CopyFault>,
    /// The copy at the end of the disk, wherever it was found.
    pub backup: Result<GptHeader, CopyFault>,
    /// Where a backup at its place would be: the last LBA. `None` when the end was not seen.
    pub last_lba: Option<Lba>,
    /// The used entries of the copy that counts: the primary if it is whole, else the backup.
    pub entries: Vec<GptEntry>,
    /// Whether there are more used entries than are kept.
    pub truncated: bool,
}

/// Why a copy of a GPT does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyFault {
    /// No signature where the header should be.
    NoSignature {
        /// The sector that was looked at.
        lba: Lba,
    },
    /// The header is not what its checksum or its own fields say; the text tells which.
    Header(String),
    /// The header is whole, but the array of entries is not.
    Array(String),
    /// The disk ends before the place where the copy should be.
    PastEnd {
        /// The place that the other copy names.
        lba: Lba,
    },
    /// The end of the disk did not arrive on standard input.
    NotSeen,
    /// It could not be read; the text is the operating system's.
    Unreadable(String),
}

impl Gpt {
    /// Reads both copies in sectors of `sector_size`: the primary at LBA 1, the backup where the primary says,
    /// else in the last LBA.
    pub(super) fn read(reader: &Reader<'_>, sector_size: SectorSize) -> Self {
        let last_lba = last_lba(reader, sector_size);
        let mut entries = Vec::new();
        let mut truncated = false;
        let mut keep = |found: array::Array| {
            entries = found.entries;
            truncated = found.truncated;
        };
        let primary_header = GptHeader::read(reader, sector_size, PRIMARY_LBA);
        // A header can be whole and still belong to a bad copy: it knows where the backup is all the same.
        let alternate = primary_header.as_ref().ok().map(|header| header.alternate);
        let primary = primary_header.and_then(|header| {
            keep(array::read(reader, &header, Keep::Entries)?);
            Ok(header)
        });
        let wanted = if primary.is_ok() { Keep::Nothing } else { Keep::Entries };
        let backup = read_backup(reader, sector_size, alternate, last_lba, wanted).map(|(header, found)| {
            if wanted == Keep::Entries {
                keep(found);
            }
            header
        });
        Self { sector_size, primary, backup, last_lba, entries, truncated }
    }

    /// The header of the copy that counts.
    pub fn header(&self) -> Option<&GptHeader> {
        self.primary.as_ref().or(self.backup.as_ref()).ok()
    }

    /// The GUID of the disk.
    pub fn disk_id(&self) -> Option<Uuid> {
        self.header().map(|header| header.disk_id)
    }

    /// The used entries as partitions; the number is the slot plus one.
    pub(super) fn partitions(&self) -> Vec<Partition> {
        self.entries
            .iter()
            .map(|entry| Partition {
                number: entry.slot.saturating_add(1),
                kind: PartitionKind::Primary,
                first: entry.first,
                last: entry.last,
                type_: PartitionType::Gpt(entry.type_id),
                name: Some(entry.name()),
                id: Some(entry.id),
            })
            .collect()
    }
}

/// The last LBA of the disk; `None` when the end was not seen or there is no whole sector.
pub(super) fn last_lba(reader: &Reader<'_>, sector_size: SectorSize) -> Option<Lba> {
    reader.size()?.div_euclid(sector_size.bytes()).checked_sub(1).map(Lba::new)
}

fn read_backup(
    reader: &Reader<'_>,
    sector_size: SectorSize,
    alternate: Option<Lba>,
    last_lba: Option<Lba>,
    keep: Keep,
) -> Result<(GptHeader, array::Array), CopyFault> {
    let read_at = |lba: Lba| {
        let header = GptHeader::read(reader, sector_size, lba)?;
        let array = array::read(reader, &header, keep)?;
        Ok((header, array))
    };
    // A primary that calls itself its own alternate has no backup there.
    let alternate = alternate.filter(|lba| *lba > PRIMARY_LBA);
    let Some(first_choice) = alternate.or(last_lba) else { return Err(CopyFault::NotSeen) };
    let found = match last_lba {
        Some(last) if first_choice > last => Err(CopyFault::PastEnd { lba: first_choice }),
        None => Err(CopyFault::NotSeen),
        Some(_) => read_at(first_choice),
    };
    match (found, last_lba) {
        (Err(fault), Some(last)) if last != first_choice && last > PRIMARY_LBA => {
            read_at(last).map_err(|_| fault)
        }
        (found, _) => found,
    }
}

impl From<ReadError> for CopyFault {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotSeen { .. } => Self::NotSeen,
            other => Self::Unreadable(other.to_string()),
        }
    }
}
