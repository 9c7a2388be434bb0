//! The smallest volume that leads to a file in the root directory by every kind of step.

const CLUSTER: usize = 1024;
const MFT_AT: usize = 4;
const BLOCK_AT: usize = 20;
const FILE_AT: usize = 24;

/// A volume with this file, of `len` bytes of which the first ones are given. The MFT is in two parts: the record of
/// the file is in the second, which the attribute list of the first record leads to.
pub(in super::super) fn volume(name: &str, content: &[u8], len: u64) -> Vec<u8> {
    let mut volume = vec![0; 32 * CLUSTER];
    let mut boot = vec![0; 512];
    boot[..16].copy_from_slice(b"\xEB\x52\x90NTFS    \0\x02\x02\0\0");
    boot[0x30..0x38].copy_from_slice(&(MFT_AT as u64).to_le_bytes());
    boot[0x40] = 0xF6;
    boot[510..].copy_from_slice(b"\x55\xAA");
    put(&mut volume, 0, &boot);

    let list = [listed(0x80, 0), listed(0x80, 1)].concat();
    let mft = [resident(0x20, "", &list), clusters(0x80, "", 0, &[0x11, 6, 4, 0], 6 * 1024)];
    put(&mut volume, MFT_AT, &record(&mft));
    put(&mut volume, MFT_AT + 1, &record(&[clusters(0x80, "", 6, &[0x11, 2, 12, 0], 2 * 1024)]));
    let root = [
        resident(0x90, "$I30", &[&index_root()[..], &node(&[entry(0, None, Some(0))])].concat()),
        clusters(0xA0, "$I30", 0, &[0x11, 1, 20, 0], 1024),
    ];
    put(&mut volume, MFT_AT + 5, &record(&root));
    let names = [entry(5, Some("."), None), entry(6, Some(name), None), entry(0, None, None)];
    let mut block = b"INDX".to_vec();
    block.resize(0x18, 0);
    block.extend(node(&names));
    put(&mut volume, BLOCK_AT, &protect(block, 0x2A0));
    put(&mut volume, 12, &record(&[clusters(0x80, "", 0, &[0x11, 4, 24, 0], len)]));
    put(&mut volume, FILE_AT, content);
    volume
}

/// The clusters that have something, in bytes.
pub(in super::super) fn used() -> Vec<usize> {
    let clusters = [0, MFT_AT, MFT_AT + 1, MFT_AT + 5, BLOCK_AT, 12].into_iter();
    clusters.flat_map(|cluster| cluster * CLUSTER..cluster * CLUSTER + 0x200).collect()
}

fn put(volume: &mut [u8], cluster: usize, bytes: &[u8]) {
    volume[cluster * CLUSTER..cluster * CLUSTER + bytes.len()].copy_from_slice(bytes);
}

fn record(attributes: &[Vec<u8>]) -> Vec<u8> {
    let mut record = b"FILE".to_vec();
    record.resize(0x38, 0);
    record[0x14] = 0x38;
    record[0x16] = 1;
    record.extend(attributes.concat());
    record.extend([0xFF; 8]);
    protect(record, 0x2A0)
}

fn protect(mut record: Vec<u8>, sequence_at: u16) -> Vec<u8> {
    record.resize(1024, 0);
    record[4..6].copy_from_slice(&sequence_at.to_le_bytes());
    record[6..8].copy_from_slice(&[3, 0]);
    let at = usize::from(sequence_at);
    record[at..at + 2].copy_from_slice(&[1, 2]);
    for (nth, end) in [512, 1024].into_iter().enumerate() {
        record.copy_within(end - 2..end, at + 2 + 2 * nth);
        record[end - 2..end].copy_from_slice(&[1, 2]);
    }
    record
}

fn padded(mut attribute: Vec<u8>) -> Vec<u8> {
    attribute.resize(attribute.len().next_multiple_of(8), 0);
    let len = u32::try_from(attribute.len()).unwrap();
    attribute[4..8].copy_from_slice(&len.to_le_bytes());
    attribute
}

/// An attribute up to the end of its name, which is behind the fixed part of `fixed` bytes.
fn named(kind: u32, name: &str, fixed: u8) -> Vec<u8> {
    let mut attribute = kind.to_le_bytes().to_vec();
    attribute.resize(fixed.into(), 0);
    attribute[9] = u8::try_from(name.len()).unwrap();
    attribute[10] = fixed;
    attribute.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
    attribute
}

fn resident(kind: u32, name: &str, value: &[u8]) -> Vec<u8> {
    let mut attribute = named(kind, name, 0x18);
    let at = u16::try_from(attribute.len()).unwrap();
    attribute[0x10..0x14].copy_from_slice(&u32::try_from(value.len()).unwrap().to_le_bytes());
    attribute[0x14..0x16].copy_from_slice(&at.to_le_bytes());
    attribute.extend(value);
    padded(attribute)
}

fn clusters(kind: u32, name: &str, first: u64, runs: &[u8], len: u64) -> Vec<u8> {
    let mut attribute = named(kind, name, 0x40);
    attribute[8] = 1;
    attribute[0x10..0x18].copy_from_slice(&first.to_le_bytes());
    let at = u16::try_from(attribute.len()).unwrap();
    attribute[0x20..0x22].copy_from_slice(&at.to_le_bytes());
    attribute[0x30..0x38].copy_from_slice(&len.to_le_bytes());
    attribute[0x38..0x40].copy_from_slice(&len.to_le_bytes());
    attribute.extend(runs);
    padded(attribute)
}

/// An entry of an attribute list.
fn listed(kind: u32, record: u64) -> Vec<u8> {
    let mut entry = kind.to_le_bytes().to_vec();
    entry.resize(0x20, 0);
    entry[4] = 0x20;
    entry[7] = 0x1A;
    entry[0x10..0x18].copy_from_slice(&(record | 1 << 48).to_le_bytes());
    entry
}

fn index_root() -> [u8; 16] {
    let mut root = [0; 16];
    root[8..12].copy_from_slice(&1024_u32.to_le_bytes());
    root
}

/// An entry of a directory.
pub(super) fn entry(file: u64, name: Option<&str>, below: Option<u64>) -> Vec<u8> {
    let mut key = Vec::new();
    if let Some(name) = name {
        key.extend([0; 0x40]);
        key.extend([u8::try_from(name.len()).unwrap(), 1]);
        key.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
        key.resize(key.len().next_multiple_of(8), 0);
    }
    let len = 16 + key.len() + if below.is_some() { 8 } else { 0 };
    let flags = u8::from(below.is_some()) | if name.is_none() { 2 } else { 0 };
    let mut entry = file.to_le_bytes().to_vec();
    entry.extend(u16::try_from(len).unwrap().to_le_bytes());
    entry.extend([0, 0, flags, 0, 0, 0]);
    entry.extend(key);
    entry.extend(below.map(u64::to_le_bytes).into_iter().flatten());
    entry
}

/// A node of a directory from its header on.
pub(super) fn node(entries: &[Vec<u8>]) -> Vec<u8> {
    let entries = entries.concat();
    let mut node = 16_u32.to_le_bytes().to_vec();
    node.extend((16 + u32::try_from(entries.len()).unwrap()).to_le_bytes());
    node.extend([0; 8]);
    node.extend(entries);
    node
}
