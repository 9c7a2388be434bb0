//! As much of NTFS as leads to the first bytes of a file in the root directory.
//!
//! Every walk has an end: a record and a block have a largest size, a description of runs has a largest number of
//! them, and all reads together have a largest number. What makes no sense is as if it were not there.

mod index;
mod record;
#[cfg(test)]
pub(super) mod sample;
mod stream;

use std::cell::Cell;
use std::ops::RangeInclusive;

use self::index::Found;
use self::record::{Attribute, Kind, Record};
use self::stream::Stream;
use super::super::{BootSector, boot_sector};
use super::inside::{Inside, double, long, word};
use crate::device::ReadError;

/// How many records and index blocks are read for one volume. An MFT that is in many pieces has some dozen records
/// that say where it is.
const MAX_RECORDS: u32 = 2048;
/// Records are of 1024 or 4096 bytes.
const RECORD_LENS: RangeInclusive<u64> = 512..=8192;
const BLOCK_LENS: RangeInclusive<u64> = 512..=65536;
/// The longest attribute list that is read, the same as in Windows and in the drivers of Linux.
const MAX_LIST: u64 = 256 << 10;
/// The deepest index that is walked.
const MAX_DEPTH: u32 = 16;
const MFT: u64 = 0;
const ROOT: u64 = 5;

/// An NTFS volume.
pub(super) struct Ntfs<'a> {
    inside: Inside<'a>,
    cluster_size: u64,
    record_len: u64,
    mft: Stream,
    records_left: Cell<u32>,
}

/// A file of the root directory.
pub(super) struct File {
    /// How many bytes it has.
    pub(super) len: u64,
    /// The first of them, as many as were asked for and as can be found.
    pub(super) front: Vec<u8>,
}

impl<'a> Ntfs<'a> {
    /// The volume whose boot sector this is, `None` when it is none or leads nowhere.
    ///
    /// # Errors
    /// When the MFT cannot be read.
    pub(super) fn open(inside: Inside<'a>, front: &[u8]) -> Result<Option<Self>, ReadError> {
        let Some(mut ntfs) = Self::by_boot_sector(inside, front) else { return Ok(None) };
        let start = long(front, 0x30).and_then(|cluster| cluster.checked_mul(ntfs.cluster_size));
        let Some(start) = start else { return Ok(None) };
        let bytes = inside.read(start, usize::try_from(ntfs.record_len).unwrap_or(usize::MAX))?;
        let Some(record) = bytes.and_then(|bytes| Record::restore(bytes, b"FILE")) else { return Ok(None) };
        // The first part of the MFT is described in its first record, and has the records that describe the next.
        ntfs.mft.add_parts(&record, Kind::DATA);
        for other in ntfs.listed(&record, MFT, Kind::DATA)? {
            let Some(record) = ntfs.record(other)? else { continue };
            ntfs.mft.add_parts(&record, Kind::DATA);
        }
        Ok(Some(ntfs))
    }

    fn by_boot_sector(inside: Inside<'a>, front: &[u8]) -> Option<Self> {
        if boot_sector(front) != Some(BootSector::Ntfs) {
            return None;
        }
        let sectors = match *front.get(0x0D)? {
            count @ ..=0x80 => u64::from(count),
            shift => power(shift)?,
        };
        let cluster_size = u64::from(word(front, 0x0B)?).checked_mul(sectors)?;
        if !cluster_size.is_power_of_two() || !(512..=2 << 20).contains(&cluster_size) {
            return None;
        }
        let record_len = match *front.get(0x40)? {
            clusters @ ..0x80 => cluster_size.checked_mul(clusters.into())?,
            shift => power(shift)?,
        };
        if !record_len.is_power_of_two() || !RECORD_LENS.contains(&record_len) {
            return None;
        }
        let records_left = Cell::new(MAX_RECORDS);
        Some(Self { inside, cluster_size, record_len, mft: Stream::default(), records_left })
    }

    /// The file of this name in the root directory, and the first `len` bytes of it. The name is in the letters of
    /// ASCII, whose case does not matter.
    ///
    /// # Errors
    /// When something that leads there cannot be read.
    pub(super) fn file_in_root(&self, name: &str, len: usize) -> Result<Option<File>, ReadError> {
        let Some(number) = self.find_in_root(name)? else { return Ok(None) };
        let parts = self.parts(number, Kind::DATA)?;
        let mut attributes = parts.iter().flat_map(|record| record.all(Kind::DATA));
        let Some(first) = attributes.find(|attribute| attribute.is_first()) else { return Ok(None) };
        let Some((all, written)) = first.lens() else { return Ok(None) };
        let wanted = usize::try_from(all).unwrap_or(usize::MAX).min(len);
        let front = match first.value() {
            Some(value) => value.get(..wanted).map(<[u8]>::to_vec),
            None => Stream::of(&parts, Kind::DATA).read(self.inside, self.cluster_size, 0, wanted)?,
        };
        let mut front = front.unwrap_or_default();
        if let Some(unwritten) = usize::try_from(written).ok().and_then(|written| front.get_mut(written..)) {
            unwritten.fill(0);
        }
        Ok(Some(File { len: all, front }))
    }

    /// The number of the record that the root directory has under this name.
    fn find_in_root(&self, name: &str) -> Result<Option<u64>, ReadError> {
        let parts = self.parts(ROOT, Kind::INDEX_ROOT)?;
        let Some(root) =
            parts.iter().flat_map(|record| record.all(Kind::INDEX_ROOT)).find_map(Attribute::value)
        else {
            return Ok(None);
        };
        let mut found = index::search(root.get(16..).unwrap_or_default(), name);
        if let Found::File(number) = found {
            return Ok(Some(number));
        }
        let Some(block_len) = double(root, 8).map(u64::from).filter(|len| BLOCK_LENS.contains(len)) else {
            return Ok(None);
        };
        // Blocks are counted in clusters, or in 512 bytes where a cluster is larger than a block.
        let unit = if self.cluster_size <= block_len { self.cluster_size } else { 512 };
        let blocks = Stream::of(&self.parts(ROOT, Kind::INDEX_ALLOCATION)?, Kind::INDEX_ALLOCATION);
        for _ in 0..MAX_DEPTH {
            let block = match found {
                Found::File(number) => return Ok(Some(number)),
                Found::Nothing => return Ok(None),
                Found::Below(block) => block,
            };
            let Some(offset) = block.checked_mul(unit) else { return Ok(None) };
            let Some(block) = self.protected(&blocks, offset, block_len, b"INDX")? else { return Ok(None) };
            found = index::search(block.bytes().get(0x18..).unwrap_or_default(), name);
        }
        Ok(None)
    }

    /// The records of a file that have attributes of this kind: its own, and those that its attribute list names.
    fn parts(&self, number: u64, kind: Kind) -> Result<Vec<Record>, ReadError> {
        let Some(record) = self.record(number)?.filter(Record::is_in_use) else { return Ok(Vec::new()) };
        let others = self.listed(&record, number, kind)?;
        let mut parts = vec![record];
        for other in others {
            parts.extend(self.record(other)?);
        }
        Ok(parts)
    }

    /// The other records in which the attribute list of a record has attributes of this kind, in the order of the
    /// list.
    fn listed(&self, record: &Record, number: u64, kind: Kind) -> Result<Vec<u64>, ReadError> {
        let Some(attribute) = record.all(Kind::ATTRIBUTE_LIST).next() else { return Ok(Vec::new()) };
        let list = match (attribute.value(), attribute.lens()) {
            (Some(value), _) => Some(value.to_vec()),
            (None, Some((len, _))) if len <= MAX_LIST => {
                let mut runs = Stream::default();
                runs.add_parts(record, Kind::ATTRIBUTE_LIST);
                runs.read(self.inside, self.cluster_size, 0, usize::try_from(len).unwrap_or(0))?
            }
            (None, _) => None,
        };
        let mut numbers = kind.listed(&list.unwrap_or_default());
        numbers.retain(|other| *other != number);
        numbers.dedup();
        Ok(numbers)
    }

    /// A record of the MFT, `None` when it is not there or torn.
    fn record(&self, number: u64) -> Result<Option<Record>, ReadError> {
        let Some(offset) = number.checked_mul(self.record_len) else { return Ok(None) };
        self.protected(&self.mft, offset, self.record_len, b"FILE")
    }

    fn protected(
        &self,
        stream: &Stream,
        offset: u64,
        len: u64,
        magic: &[u8; 4],
    ) -> Result<Option<Record>, ReadError> {
        let (Some(left), Ok(len)) = (self.records_left.get().checked_sub(1), usize::try_from(len)) else {
            return Ok(None);
        };
        self.records_left.set(left);
        let bytes = stream.read(self.inside, self.cluster_size, offset, len)?;
        Ok(bytes.and_then(|bytes| Record::restore(bytes, magic)))
    }
}

/// The size of which the byte is the negative logarithm.
fn power(shift: u8) -> Option<u64> {
    1_u64.checked_shl(u8::wrapping_neg(shift).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// The file, and how many reads led to it.
    fn find(volume: &[u8], name: &str) -> (Option<File>, u32) {
        let reads = Cell::new(0);
        let read = |at: u64, len: usize| {
            reads.set(reads.get() + 1);
            Ok(volume[usize::try_from(at).unwrap()..][..len].to_vec())
        };
        let inside = Inside::new(&read, volume.len() as u64);
        let ntfs = Ntfs::open(inside, &volume[..512]).unwrap();
        (ntfs.and_then(|ntfs| ntfs.file_in_root(name, 4096).unwrap()), reads.get())
    }

    #[test]
    fn a_file_is_found_through_lists_and_blocks() {
        let volume = sample::volume("Hiberfil.sys", b"content", 3000);
        let file = find(&volume, "hiberfil.sys").0.expect("it is there");
        assert_eq!((file.len, file.front.len(), &file.front[..7]), (3000, 3000, &b"content"[..]));
        assert!(find(&volume, "hiberfil.sy").0.is_none());
        assert!(find(&volume, "pagefile.sys").0.is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn damaged_volumes_have_an_end(
            damage in proptest::collection::vec((select(sample::used()), any::<u8>()), 1..6),
        ) {
            let mut volume = sample::volume("hiberfil.sys", b"hibr", 4096);
            for (at, byte) in damage {
                volume[at] = byte;
            }
            let (_, reads) = find(&volume, "hiberfil.sys");
            prop_assert!(reads < 2 * MAX_RECORDS, "{reads}");
        }
    }
}
