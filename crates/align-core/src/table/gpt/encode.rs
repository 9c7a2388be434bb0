use uuid::Uuid;
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32, U64};

use super::array::RawEntry;
use super::header::{RawHeader, checksum};
use super::{HEADER_LEN, SIGNATURE};
use crate::units::{Lba, SectorSize};

/// How many UTF-16 units the name of a partition has room for.
pub(crate) const NAME_UNITS: usize = 36;
const REVISION: u32 = 0x0001_0000;

/// The fields of a header that is written.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) my_lba: Lba,
    pub(crate) alternate: Lba,
    pub(crate) first_usable: Lba,
    pub(crate) last_usable: Lba,
    pub(crate) disk_id: Uuid,
    pub(crate) array: Lba,
    pub(crate) entry_count: u32,
    pub(crate) entry_size: u32,
    pub(crate) array_crc: u32,
}

/// The fields of an entry that is written.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'n> {
    pub(crate) type_id: Uuid,
    pub(crate) id: Uuid,
    pub(crate) first: Lba,
    pub(crate) last: Lba,
    pub(crate) attributes: u64,
    pub(crate) name: &'n str,
}

/// The array of entries that is written: all that is not set stays as it was.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    bytes: Vec<u8>,
    entry_len: usize,
}

impl Header {
    /// The sector of a header. Of an `old` one everything is kept that has no field here: its size, its revision, what
    /// stands behind it. `None` when the old one is no header.
    pub(crate) fn sector(&self, unit: SectorSize, old: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut sector = match old {
            Some(old) => old.to_vec(),
            None => fresh(unit),
        };
        let (raw, _) = RawHeader::mut_from_prefix(&mut sector).ok()?;
        raw.my_lba = U64::new(self.my_lba.number());
        raw.alternate_lba = U64::new(self.alternate.number());
        raw.first_usable = U64::new(self.first_usable.number());
        raw.last_usable = U64::new(self.last_usable.number());
        raw.disk_id = self.disk_id.to_bytes_le();
        raw.array_lba = U64::new(self.array.number());
        raw.entry_count = U32::new(self.entry_count);
        raw.entry_size = U32::new(self.entry_size);
        raw.array_crc = U32::new(self.array_crc);
        let size = usize::try_from(raw.header_size.get()).ok().filter(|size| *size <= unit.byte_len())?;
        let crc = checksum(&sector, size);
        let (raw, _) = RawHeader::mut_from_prefix(&mut sector).ok()?;
        raw.header_crc = U32::new(crc);
        Some(sector)
    }
}

fn fresh(unit: SectorSize) -> Vec<u8> {
    let mut sector = vec![0; unit.byte_len()];
    if let Ok((raw, _)) = RawHeader::mut_from_prefix(&mut sector) {
        raw.signature = SIGNATURE;
        raw.revision = U32::new(REVISION);
        raw.header_size = U32::new(u32::try_from(HEADER_LEN).unwrap_or_default());
        raw.reserved = U32::new(0);
    }
    sector
}

impl Array {
    /// An array of free entries.
    pub(crate) fn empty(entry_count: usize, entry_len: usize) -> Self {
        Self { bytes: vec![0; entry_count.saturating_mul(entry_len)], entry_len }
    }

    /// An array as it is on the disk.
    pub(crate) fn of(bytes: Vec<u8>, entry_len: usize) -> Self {
        Self { bytes, entry_len }
    }

    /// Fills a free slot. `None` when there is no such slot, or the name is too long.
    #[must_use]
    pub(crate) fn add(&mut self, slot: usize, entry: &Entry<'_>) -> Option<()> {
        let raw = self.entry(slot)?;
        raw.type_id = entry.type_id.to_bytes_le();
        raw.id = entry.id.to_bytes_le();
        raw.first = U64::new(entry.first.number());
        raw.last = U64::new(entry.last.number());
        raw.attributes = U64::new(entry.attributes);
        raw.name = [U16::new(0); NAME_UNITS];
        let mut units = raw.name.iter_mut();
        for unit in entry.name.encode_utf16() {
            *units.next()? = U16::new(unit);
        }
        Some(())
    }

    /// Changes where an entry begins and ends, and nothing else of it.
    #[must_use]
    pub(crate) fn place(&mut self, slot: usize, (first, last): (Lba, Lba)) -> Option<()> {
        let raw = self.entry(slot)?;
        raw.first = U64::new(first.number());
        raw.last = U64::new(last.number());
        Some(())
    }

    /// Gives an entry another type, and changes nothing else of it.
    #[must_use]
    pub(crate) fn retype(&mut self, slot: usize, type_id: Uuid) -> Option<()> {
        self.entry(slot)?.type_id = type_id.to_bytes_le();
        Some(())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn crc(&self) -> u32 {
        crc32fast::hash(&self.bytes)
    }

    /// The array with zeros up to a whole sector.
    pub(crate) fn sectors(&self, unit: SectorSize) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().next_multiple_of(unit.byte_len()), 0);
        bytes
    }

    fn entry(&mut self, slot: usize) -> Option<&mut RawEntry> {
        let from = slot.checked_mul(self.entry_len)?;
        let entry = self.bytes.get_mut(from..from.checked_add(self.entry_len)?)?;
        Some(RawEntry::mut_from_prefix(entry).ok()?.0)
    }
}
