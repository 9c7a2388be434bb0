use std::cmp::Ordering;

use super::super::inside::{double, long, word};

/// Where a name leads in the node of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// To the record of the file.
    File(u64),
    /// To the block with the names between two of this node.
    Below(u64),
    /// Nowhere.
    Nothing,
}

/// The record number in a reference; above it is how often that record was used.
const NUMBER: u64 = 0x0000_FFFF_FFFF_FFFF;

/// Looks for a name in a node, from its header on: its entries are in ascending order, and each can have a block of
/// names before it.
pub(super) fn search(node: &[u8], name: &str) -> Found {
    let size = |at| double(node, at).and_then(|size| usize::try_from(size).ok());
    let (Some(first), Some(end)) = (size(0), size(4)) else { return Found::Nothing };
    let mut rest = node.get(first..end.min(node.len())).unwrap_or_default();
    while let Some((entry, behind)) = Entry::split(rest) {
        match entry.compared_with(name) {
            Some(Ordering::Equal) => return Found::File(entry.file),
            Some(Ordering::Less) => rest = behind,
            Some(Ordering::Greater) => return entry.below.map_or(Found::Nothing, Found::Below),
            None => return Found::Nothing,
        }
    }
    Found::Nothing
}

struct Entry<'n> {
    file: u64,
    below: Option<u64>,
    /// The key, `None` for the entry behind all names.
    key: Option<&'n [u8]>,
}

impl<'n> Entry<'n> {
    const HEADER_LEN: usize = 16;

    fn split(node: &'n [u8]) -> Option<(Self, &'n [u8])> {
        let len = usize::from(word(node, 8)?);
        let (bytes, behind) = node.split_at_checked(len).filter(|_| len >= Self::HEADER_LEN)?;
        let flags = word(bytes, 12)?;
        let below = if flags & 1 == 0 { None } else { Some(long(bytes, len.checked_sub(8)?)?) };
        let key = if flags & 2 == 0 { Some(bytes.get(Self::HEADER_LEN..)?) } else { None };
        Some((Self { file: long(bytes, 0)? & NUMBER, below, key }, behind))
    }

    /// How the name of the entry is ordered to this one: by its UTF-16 units in upper case, of which only those of
    /// ASCII are told apart from lower case, since the name that is looked for has no others.
    fn compared_with(&self, name: &str) -> Option<Ordering> {
        let Some(key) = self.key else { return Some(Ordering::Greater) };
        let len = usize::from(*key.get(0x40)?).checked_mul(2)?;
        let units = key.get(0x42..)?.get(..len)?.chunks_exact(2);
        let units = units.filter_map(|unit| unit.try_into().ok().map(u16::from_le_bytes));
        Some(units.map(upper).cmp(name.encode_utf16().map(upper)))
    }
}

fn upper(unit: u16) -> u16 {
    u8::try_from(unit).map_or(unit, |letter| letter.to_ascii_uppercase().into())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{entry, node};
    use super::*;

    #[test]
    fn a_name_is_found_in_its_place() {
        let node = node(&[
            entry(1, Some("boot"), Some(10)),
            entry(2 | 7 << 48, Some("hiberfil.SYS"), None),
            entry(3, Some("pagefile.sys"), None),
            entry(0, None, Some(11)),
        ]);
        assert_eq!(search(&node, "HIBERFIL.sys"), Found::File(2));
        assert_eq!(search(&node, "autoexec.bat"), Found::Below(10));
        assert_eq!(search(&node, "io.sys"), Found::Nothing);
        assert_eq!(search(&node, "windows"), Found::Below(11));
    }

    #[test]
    fn nodes_without_sense_have_nothing() {
        let sound = node(&[entry(1, Some("boot"), Some(10)), entry(0, None, Some(11))]);
        for len in 0..sound.len() {
            assert!(matches!(search(&sound[..len], "windows"), Found::Nothing | Found::Below(11)));
        }
        assert_eq!(search(&[0xFF; 64], "boot"), Found::Nothing);
        assert_eq!(search(&[0; 64], "boot"), Found::Nothing);
    }
}
