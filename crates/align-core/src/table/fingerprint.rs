use super::{Label, Table};
use crate::content;
use crate::device::{ReadError, Reader};

/// As much of an array as is part of a fingerprint; its checksum is in the header anyway.
const MAX_AREA: u64 = 1 << 20;

/// What tells whether a disk still holds the table that somebody looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The size of the disk in bytes.
    pub size: u64,
    /// The CRC-32 of where the table lies, of places and bytes; of a disk without partitions also of its front, where
    /// a file system would begin.
    pub crc: u32,
}

impl Table {
    /// The fingerprint of the disk with this table. Partitions in use may change what they hold without changing it.
    ///
    /// # Errors
    /// When the size is not known, or the table cannot be read any more.
    pub fn fingerprint(&self, reader: &Reader<'_>) -> Result<Fingerprint, ReadError> {
        let size = reader.size().ok_or(ReadError::NotSeen { offset: 0, seen: 0 })?;
        let mut areas = self.areas();
        if self.label == Label::None || self.partitions.is_empty() {
            areas.push(0..content::FRONT_LEN as u64);
        }
        let mut hasher = crc32fast::Hasher::new();
        for area in areas {
            let end = area.end.min(size);
            let len = end.saturating_sub(area.start).min(MAX_AREA);
            let Some(len) = usize::try_from(len).ok().filter(|len| *len > 0) else { continue };
            hasher.update(&area.start.to_le_bytes());
            hasher.update(&(len as u64).to_le_bytes());
            hasher.update(&reader.read(area.start, len)?);
        }
        Ok(Fingerprint { size, crc: hasher.finalize() })
    }
}
