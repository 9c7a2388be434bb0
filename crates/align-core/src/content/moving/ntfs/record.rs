use super::super::inside::{double, long, word};

/// A record of the MFT or a block of an index, as it was before it was protected against torn writes.
pub(super) struct Record {
    bytes: Vec<u8>,
}

impl Record {
    /// Checks the magic, and puts the last two bytes of each 512 back where the update sequence has replaced them.
    /// `None` when they do not agree: the record was torn, or is none.
    pub(super) fn restore(mut bytes: Vec<u8>, magic: &[u8; 4]) -> Option<Self> {
        if !bytes.starts_with(magic) {
            return None;
        }
        let at = usize::from(word(&bytes, 4)?);
        let count = usize::from(word(&bytes, 6)?);
        let sequence = bytes.get(at..at.checked_add(count.checked_mul(2)?)?)?.to_vec();
        let (number, originals) = sequence.split_at_checked(2)?;
        let strides = bytes.chunks_exact_mut(512);
        if strides.len() != originals.len().checked_div(2)? {
            return None;
        }
        for (stride, original) in strides.zip(originals.chunks_exact(2)) {
            let place = stride.last_chunk_mut::<2>()?;
            if place.as_slice() != number {
                return None;
            }
            place.copy_from_slice(original);
        }
        Some(Self { bytes })
    }

    /// All of it.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the record of the MFT belongs to a file.
    pub(super) fn is_in_use(&self) -> bool {
        word(&self.bytes, 0x16).is_some_and(|flags| flags & 1 != 0)
    }

    /// The attributes of a kind.
    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = Attribute<'_>> {
        self.attributes().filter(move |attribute| kind.is(double(attribute.bytes, 0), attribute.name()))
    }

    /// The attributes, as far as each has a length that leads to the next one.
    fn attributes(&self) -> impl Iterator<Item = Attribute<'_>> {
        let mut rest = word(&self.bytes, 0x14).and_then(|first| self.bytes.get(usize::from(first)..));
        std::iter::from_fn(move || {
            let here = rest?;
            let len = usize::try_from(double(here, 4)?).ok()?;
            if double(here, 0)? == END || len < Attribute::HEADER_LEN {
                return None;
            }
            rest = here.get(len..);
            here.get(..len).map(|bytes| Attribute { bytes })
        })
    }
}

const END: u32 = 0xFFFF_FFFF;
/// The shortest entry of an attribute list.
const LISTED_LEN: usize = 0x1A;

/// The kinds of attributes that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    code: u32,
    /// Its name is this one, in the letters of ASCII.
    name: &'static str,
}

impl Kind {
    /// Which other records belong to a file.
    pub(super) const ATTRIBUTE_LIST: Self = Self { code: 0x20, name: "" };
    /// The bytes of a file.
    pub(super) const DATA: Self = Self { code: 0x80, name: "" };
    /// The first node of a directory.
    pub(super) const INDEX_ROOT: Self = Self { code: 0x90, name: "$I30" };
    /// The other nodes of a directory.
    pub(super) const INDEX_ALLOCATION: Self = Self { code: 0xA0, name: "$I30" };

    /// The numbers of the records in which an attribute list has attributes of this kind.
    pub(super) fn listed(self, list: &[u8]) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut rest = list;
        while let Some(len) = word(rest, 4).map(usize::from).filter(|len| *len >= LISTED_LEN) {
            let Some((entry, behind)) = rest.split_at_checked(len) else { break };
            let name_len = entry.get(6).map_or(0, |units| usize::from(*units)).saturating_mul(2);
            let name = entry.get(7).and_then(|at| entry.get(usize::from(*at)..)?.get(..name_len));
            let record = long(entry, 0x10).filter(|_| self.is(double(entry, 0), name));
            numbers.extend(record.map(|record| record & 0x0000_FFFF_FFFF_FFFF));
            rest = behind;
        }
        numbers
    }

    /// Whether an attribute, or an entry of an attribute list, says that it is one of these.
    fn is(self, code: Option<u32>, name: Option<&[u8]>) -> bool {
        let wanted = self.name.encode_utf16().flat_map(u16::to_le_bytes);
        code == Some(self.code) && name.is_some_and(|name| name.iter().copied().eq(wanted))
    }
}

/// An attribute of a record.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'r> {
    bytes: &'r [u8],
}

impl<'r> Attribute<'r> {
    const HEADER_LEN: usize = 0x18;

    fn name(self) -> Option<&'r [u8]> {
        let len = usize::from(*self.bytes.get(9)?).checked_mul(2)?;
        let at = usize::from(word(self.bytes, 0x0A)?);
        self.bytes.get(at..at.checked_add(len)?)
    }

    fn is_resident(self) -> bool {
        self.bytes.get(8) == Some(&0)
    }

    /// The value, when it is in the record.
    pub(super) fn value(self) -> Option<&'r [u8]> {
        if !self.is_resident() {
            return None;
        }
        let len = usize::try_from(double(self.bytes, 0x10)?).ok()?;
        let at = usize::from(word(self.bytes, 0x14)?);
        self.bytes.get(at..at.checked_add(len)?)
    }

    /// Whether it is the whole value or the first part of it, which alone says how long the value is.
    pub(super) fn is_first(self) -> bool {
        self.is_resident() || long(self.bytes, 0x10) == Some(0)
    }

    /// When the value is in clusters of its own: the first of them that this part is about, counted in the value, and
    /// the description of the runs.
    pub(super) fn runs(self) -> Option<(u64, &'r [u8])> {
        if self.is_resident() {
            return None;
        }
        Some((long(self.bytes, 0x10)?, self.bytes.get(usize::from(word(self.bytes, 0x20)?)..)?))
    }

    /// How long the value is in bytes, and how many of them were ever written: the others read as zeros.
    pub(super) fn lens(self) -> Option<(u64, u64)> {
        if self.is_resident() {
            let len = u64::from(double(self.bytes, 0x10)?);
            return Some((len, len));
        }
        Some((long(self.bytes, 0x30)?, long(self.bytes, 0x38)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected() -> Vec<u8> {
        let mut bytes = vec![7; 1024];
        bytes[..8].copy_from_slice(b"FILE\x30\0\x03\0");
        bytes[0x30..0x36].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        bytes[510..512].copy_from_slice(&[1, 2]);
        bytes[1022..].copy_from_slice(&[1, 2]);
        bytes
    }

    #[test]
    fn what_the_update_sequence_has_replaced_comes_back() {
        let record = Record::restore(protected(), b"FILE").unwrap();
        assert_eq!((&record.bytes()[510..512], &record.bytes()[1022..]), (&[3, 4][..], &[5, 6][..]));
    }

    #[test]
    fn a_torn_record_is_none() {
        let mut torn = protected();
        torn[1022] = 0;
        assert!(Record::restore(torn, b"FILE").is_none());
        assert!(Record::restore(protected(), b"INDX").is_none());
    }
}
