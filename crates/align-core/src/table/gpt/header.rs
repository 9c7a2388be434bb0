use uuid::Uuid;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CopyFault, MAX_ARRAY_BYTES};
use crate::device::{ReadError, Reader};
use crate::units::{Lba, SectorSize};

/// The first eight bytes of a GPT header.
pub const SIGNATURE: [u8; 8] = *b"EFI PART";
/// The size of the fields that the UEFI specification defines; a header may say that it is longer.
pub const HEADER_LEN: usize = 92;
/// The smallest entry, of which all others are a power-of-two multiple.
const ENTRY_LEN: u32 = 128;
/// The largest entry that is believed.
const MAX_ENTRY_LEN: u32 = 64 << 10;

/// The header as it is on the disk (UEFI specification 2.10, section 5.3.2).
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct RawHeader {
    pub(super) signature: [u8; 8],
    pub(super) revision: U32,
    pub(super) header_size: U32,
    pub(super) header_crc: U32,
    pub(super) reserved: U32,
    pub(super) my_lba: U64,
    pub(super) alternate_lba: U64,
    pub(super) first_usable: U64,
    pub(super) last_usable: U64,
    pub(super) disk_id: [u8; 16],
    pub(super) array_lba: U64,
    pub(super) entry_count: U32,
    pub(super) entry_size: U32,
    pub(super) array_crc: U32,
}

const _: () = assert!(size_of::<RawHeader>() == HEADER_LEN);

/// A header whose checksum is right and whose fields can be worked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GptHeader {
    /// The whole sector as it was read.
    pub sector: Vec<u8>,
    /// The unit of its LBAs.
    pub sector_size: SectorSize,
    /// Where it is, by its own word and in fact.
    pub my_lba: Lba,
    /// Where the other copy is, by its own word.
    pub alternate: Lba,
    /// The first sector that partitions may use.
    pub first_usable: Lba,
    /// The last sector that partitions may use.
    pub last_usable: Lba,
    /// The GUID of the disk.
    pub disk_id: Uuid,
    /// The first sector of the array of entries.
    pub array: Lba,
    /// How many entries the array has, used or not.
    pub entry_count: u32,
    /// The size of an entry in bytes: 128 times a power of two.
    pub entry_size: u32,
    /// The checksum of the array.
    pub array_crc: u32,
}

impl GptHeader {
    /// Reads the header at `lba`.
    ///
    /// # Errors
    /// When it cannot be read, has no signature, a wrong checksum, or fields that cannot be worked with.
    pub(crate) fn read(reader: &Reader<'_>, sector_size: SectorSize, lba: Lba) -> Result<Self, CopyFault> {
        let offset = lba.checked_byte(sector_size).ok_or(CopyFault::PastEnd { lba })?;
        let sector = reader.read(offset, sector_size.byte_len()).map_err(|error| match error {
            ReadError::PastEnd { .. } => CopyFault::PastEnd { lba },
            other => other.into(),
        })?;
        Self::parse(&sector, sector_size, lba)
    }

    fn parse(sector: &[u8], sector_size: SectorSize, lba: Lba) -> Result<Self, CopyFault> {
        let bad = |reason: String| Err(CopyFault::Header(reason));
        let Ok((raw, _)) = RawHeader::read_from_prefix(sector) else {
            return Err(CopyFault::NoSignature { lba });
        };
        if raw.signature != SIGNATURE {
            return Err(CopyFault::NoSignature { lba });
        }
        let size = usize::try_from(raw.header_size.get()).unwrap_or(usize::MAX);
        if !(HEADER_LEN..=sector.len()).contains(&size) {
            return bad(format!("its size of {size} bytes is not from {HEADER_LEN} to {}", sector.len()));
        }
        let crc = checksum(sector, size);
        if crc != raw.header_crc.get() {
            return bad(format!("its checksum is {crc:08x}, not {:08x} as it says", raw.header_crc.get()));
        }
        if raw.my_lba.get() != lba.number() {
            return bad(format!("it says that it is at LBA {}, but it is at LBA {lba}", raw.my_lba.get()));
        }
        let entry_size = raw.entry_size.get();
        let multiple = entry_size.checked_div(ENTRY_LEN).unwrap_or(0);
        if !entry_size.is_multiple_of(ENTRY_LEN) || !multiple.is_power_of_two() || entry_size > MAX_ENTRY_LEN
        {
            return bad(format!("its entry size of {entry_size} bytes is not 128 times a power of two"));
        }
        Ok(Self {
            sector: sector.to_vec(),
            sector_size,
            my_lba: lba,
            alternate: Lba::new(raw.alternate_lba.get()),
            first_usable: Lba::new(raw.first_usable.get()),
            last_usable: Lba::new(raw.last_usable.get()),
            disk_id: Uuid::from_bytes_le(raw.disk_id),
            array: Lba::new(raw.array_lba.get()),
            entry_count: raw.entry_count.get(),
            entry_size,
            array_crc: raw.array_crc.get(),
        })
    }

    /// The size of the array in bytes. It cannot overflow: both factors have 32 bits.
    pub fn array_bytes(&self) -> u64 {
        u64::from(self.entry_count).saturating_mul(self.entry_size.into())
    }

    /// The last sector of the array, of an empty one the sector before it; `None` beyond 64 bits.
    pub fn array_last(&self) -> Option<Lba> {
        let sectors = self.array_bytes().div_ceil(self.sector_size.bytes());
        self.array.checked_add(sectors)?.checked_sub(1)
    }

    /// Where the array begins in bytes, if all of it lies on a disk of `disk_size` bytes and is no larger than
    /// is believed. Decided before any memory is taken for it.
    pub(super) fn array_offset(&self, disk_size: Option<u64>) -> Result<u64, CopyFault> {
        let bytes = self.array_bytes();
        let bad = |reason: String| Err(CopyFault::Array(reason));
        if bytes > MAX_ARRAY_BYTES {
            return bad(format!(
                "{} entries of {} bytes are not believed",
                self.entry_count, self.entry_size
            ));
        }
        let offset = self.array.checked_byte(self.sector_size);
        let end = offset.and_then(|offset| offset.checked_add(bytes));
        match (offset, end) {
            (Some(offset), Some(end)) if disk_size.is_none_or(|size| end <= size) => Ok(offset),
            _ => bad(format!(
                "{} entries of {} bytes at LBA {} reach beyond the end of the disk",
                self.entry_count, self.entry_size, self.array
            )),
        }
    }
}

/// The CRC32 of the first `size` bytes with the checksum's own field taken as zero.
pub(super) fn checksum(sector: &[u8], size: usize) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(sector.get(..16).unwrap_or_default());
    hasher.update(&[0; 4]);
    hasher.update(sector.get(20..size).unwrap_or_default());
    hasher.finalize()
}
