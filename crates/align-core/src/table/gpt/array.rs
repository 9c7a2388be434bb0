use uuid::Uuid;
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CopyFault, GptHeader};
use crate::device::Reader;
use crate::units::Lba;

/// The largest array that is read: 2 GiB, which is 16 million entries. A usual one has 16 KiB.
pub const MAX_ARRAY_BYTES: u64 = 2 << 30;
/// How many used entries are kept. Linux itself has no more than 256 partitions per disk.
pub const MAX_ENTRIES: usize = 16384;
/// As much of a large array as is read at once: a multiple of every entry size.
const STEP: usize = 1 << 20;

/// An entry as it is on the disk (UEFI specification 2.10, section 5.3.3).
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct RawEntry {
    pub(super) type_id: [u8; 16],
    pub(super) id: [u8; 16],
    pub(super) first: U64,
    pub(super) last: U64,
    pub(super) attributes: U64,
    pub(super) name: [U16; 36],
}

const _: () = assert!(size_of::<RawEntry>() == 128);

/// A used entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GptEntry {
    /// Its place in the array, from 0.
    pub slot: u32,
    /// The type.
    pub type_id: Uuid,
    /// The unique GUID.
    pub id: Uuid,
    /// The first sector.
    pub first: Lba,
    /// The last sector, itself part of the partition.
    pub last: Lba,
    /// All 64 attribute bits.
    pub attributes: u64,
    /// The entry as it was read, whatever its size.
    pub raw: Box<[u8]>,
}

impl GptEntry {
    /// The name up to the first NUL. Unpaired surrogates are replaced here; [`raw`](Self::raw) keeps them.
    pub fn name(&self) -> String {
        let Ok((raw, _)) = RawEntry::read_from_prefix(&self.raw) else { return String::new() };
        let units = raw.name.into_iter().map(U16::get).take_while(|unit| *unit != 0);
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

/// What reading an array is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Its used entries.
    Entries,
    /// Only its checksum.
    Nothing,
}

/// The used entries of an array whose checksum is right.
pub(super) struct Array {
    pub(super) entries: Vec<GptEntry>,
    pub(super) truncated: bool,
}

/// Reads the array of `header`, in steps, so that its size costs time but no memory.
pub(super) fn read(reader: &Reader<'_>, header: &GptHeader, keep: Keep) -> Result<Array, CopyFault> {
    let mut offset = header.array_offset(reader.size())?;
    let mut left = header.array_bytes();
    let mut hasher = crc32fast::Hasher::new();
    let mut array = Array { entries: Vec::new(), truncated: false };
    let mut slots = 0_u32..;
    while left > 0 {
        let step = usize::try_from(left).map_or(STEP, |left| left.min(STEP));
        let bytes = reader.read(offset, step)?;
        hasher.update(&bytes);
        if keep == Keep::Entries {
            let entry_len = usize::try_from(header.entry_size).unwrap_or(STEP);
            for (entry, slot) in bytes.chunks_exact(entry_len).zip(&mut slots) {
                array.take(slot, entry);
            }
        }
        left = left.saturating_sub(step as u64);
        offset = offset.saturating_add(step as u64);
    }
    let crc = hasher.finalize();
    if crc != header.array_crc {
        return Err(CopyFault::Array(format!(
            "its checksum is {crc:08x}, not {:08x} as the header says",
            header.array_crc
        )));
    }
    Ok(array)
}

impl Array {
    fn take(&mut self, slot: u32, entry: &[u8]) {
        let Ok((raw, _)) = RawEntry::read_from_prefix(entry) else { return };
        let type_id = Uuid::from_bytes_le(raw.type_id);
        if type_id.is_nil() {
            return;
        }
        if self.entries.len() >= MAX_ENTRIES {
            self.truncated = true;
            return;
        }
        self.entries.push(GptEntry {
            slot,
            type_id,
            id: Uuid::from_bytes_le(raw.id),
            first: Lba::new(raw.first.get()),
            last: Lba::new(raw.last.get()),
            attributes: raw.attributes.get(),
            raw: entry.into(),
        });
    }
}
