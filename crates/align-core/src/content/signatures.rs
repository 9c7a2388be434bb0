use super::{Content, Kind, Trace};

/// How many bytes from the start on the signatures reach: btrfs has its magic behind the first 64 KiB.
pub const FRONT_LEN: usize = 68 << 10;

/// The cookie of the last 512 bytes of a fixed VHD image (Microsoft's VHD specification).
pub const FIXED_VHD_FOOTER: &[u8] = b"conectix";

/// A magic at a place.
struct Signature {
    content: Content,
    offset: usize,
    magic: &'static [u8],
    /// What else must hold.
    also: Option<fn(&[u8]) -> bool>,
}

impl Signature {
    fn matches(&self, front: &[u8]) -> bool {
        let here = front.get(self.offset..).is_some_and(|rest| rest.starts_with(self.magic));
        here && self.also.is_none_or(|also| also(front))
    }

    const fn new(kind: Kind, name: &'static str, offset: usize, magic: &'static [u8]) -> Self {
        Self { content: Content { kind, name, remedy: "" }, offset, magic, also: None }
    }

    const fn container(
        name: &'static str,
        offset: usize,
        magic: &'static [u8],
        remedy: &'static str,
    ) -> Self {
        Self { content: Content { kind: Kind::Container, name, remedy }, offset, magic, also: None }
    }

    const fn when(mut self, also: fn(&[u8]) -> bool) -> Self {
        self.also = Some(also);
        self
    }
}

const CONVERT: &str =
    "convert it with `qemu-img convert -O raw`, or attach it with `qemu-nbd`, and check that";
const UNPACK: &str = "unpack it, or pipe what unpacks it into `alignck -`";
const FLATTEN: &str = "turn it into a raw image with the tool that made it, and check that";

/// In the order in which they are tried: what is certain first.
static ALL: &[Signature] = &[
    Signature::container("a qcow2 image", 0, b"QFI\xFB", CONVERT),
    Signature::container("a QED image", 0, b"QED\0", CONVERT),
    Signature::container("a VMDK image", 0, b"KDMV", CONVERT),
    Signature::container("a VMDK image", 0, b"COWD", CONVERT),
    Signature::container("a VMDK descriptor", 0, b"# Disk DescriptorFile", CONVERT),
    Signature::container("a VHDX image", 0, b"vhdxfile", CONVERT),
    Signature::container("a VHD image", 0, b"conectix", CONVERT),
    Signature::container("a VDI image", 0x40, b"\x7F\x10\xDA\xBE", CONVERT),
    Signature::container("a Parallels image", 0, b"WithoutFreeSpace", CONVERT),
    Signature::container("a Parallels image", 0, b"WithouFreSpacExt", CONVERT),
    Signature::container("a Bochs image", 0, b"Bochs Virtual HD Image", CONVERT),
    Signature::container(
        "an Android sparse image",
        0,
        b"\x3A\xFF\x26\xED",
        "expand it with `simg2img` and check that",
    ),
    Signature::container("an EWF evidence image", 0, b"EVF\x09\x0D\x0A\xFF\0", FLATTEN),
    Signature::container("a Windows imaging file", 0, b"MSWIM\0\0\0", FLATTEN),
    Signature::container("a partclone image", 0, b"partclone-image", FLATTEN),
    Signature::container("a partimage image", 0, b"PaRtImAgE-VoLuMe", FLATTEN),
    Signature::container("a gzip file", 0, b"\x1F\x8B\x08", UNPACK)
        .when(|front| front.get(3).is_some_and(|flags| flags & 0xE0 == 0)),
    Signature::container("an xz file", 0, b"\xFD7zXZ\0", UNPACK),
    Signature::container("a zstd file", 0, b"\x28\xB5\x2F\xFD", UNPACK),
    Signature::container("an lz4 file", 0, b"\x04\x22\x4D\x18", UNPACK),
    Signature::container("an lz4 file", 0, b"\x02\x21\x4C\x18", UNPACK),
    Signature::container("a zstd file", 1, b"\x2A\x4D\x18", UNPACK)
        .when(|front| front.first().is_some_and(|first| (0x50..=0x5F).contains(first))),
    Signature::container("an lzma file", 0, b"\x5D\0\0\x80\0\xFF\xFF", UNPACK),
    Signature::container("an lzip file", 0, b"LZIP\x01", UNPACK),
    Signature::container("an lzop file", 0, b"\x89LZO\0\x0D\x0A\x1A\x0A", UNPACK),
    Signature::container("a bzip2 file", 0, b"BZh", UNPACK).when(|front| front.get(4..10) == Some(b"1AY&SY")),
    Signature::container("a 7z file", 0, b"7z\xBC\xAF\x27\x1C", UNPACK),
    Signature::container("a zip file", 0, b"PK\x03\x04", UNPACK),
    Signature::container("a RAR file", 0, b"Rar!\x1A\x07", UNPACK),
    Signature::container("a tar file", 257, b"ustar\0", UNPACK),
    Signature::container("a tar file", 257, b"ustar  \0", UNPACK),
    Signature::new(Kind::FileSystem, "LUKS", 0, b"LUKS\xBA\xBE"),
    Signature::new(Kind::FileSystem, "Ceph BlueStore", 0, b"bluestore block device"),
    Signature::new(Kind::FileSystem, "VDO", 0, b"dmvdo001"),
    Signature::new(Kind::FileSystem, "XFS", 0, b"XFSB"),
    Signature::new(Kind::FileSystem, "squashfs", 0, b"hsqs"),
    Signature::new(Kind::FileSystem, "BitLocker", 3, b"-FVE-FS-"),
    Signature::new(Kind::FileSystem, "ReFS", 3, b"ReFS\0"),
    Signature::new(Kind::FileSystem, "LVM physical volume", 0, b"LABELONE").when(|front| is_lvm(front, 0)),
    Signature::new(Kind::FileSystem, "LVM physical volume", 512, b"LABELONE")
        .when(|front| is_lvm(front, 512)),
    Signature::new(Kind::FileSystem, "LVM physical volume", 1024, b"LABELONE")
        .when(|front| is_lvm(front, 1024)),
    Signature::new(Kind::FileSystem, "LVM physical volume", 1536, b"LABELONE")
        .when(|front| is_lvm(front, 1536)),
    Signature::new(Kind::FileSystem, "md RAID member", 4096, b"\xFC\x4E\x2B\xA9\x01\0\0\0"),
    Signature::new(Kind::FileSystem, "md RAID member", 0, b"\xFC\x4E\x2B\xA9\x01\0\0\0"),
    Signature::new(
        Kind::FileSystem,
        "bcache",
        4120,
        b"\xC6\x85\x73\xF6\x4E\x1A\x45\xCA\x82\x65\xF5\x7F\x48\xBA\x6D\x81",
    ),
    Signature::new(
        Kind::FileSystem,
        "bcachefs",
        4120,
        b"\xC6\x85\x73\xF6\x66\xCE\x90\xA9\xD9\x6A\x60\xCF\x80\x3D\xF7\xEF",
    ),
    Signature::new(Kind::FileSystem, "swap", 4086, b"SWAPSPACE2"),
    Signature::new(Kind::FileSystem, "swap", 65526, b"SWAPSPACE2"),
    Signature::new(Kind::FileSystem, "suspended system in swap", 4086, b"S1SUSPEND"),
    Signature::new(Kind::FileSystem, "btrfs", 0x10040, b"_BHRfS_M"),
    Signature::new(Kind::FileSystem, "F2FS", 1024, b"\x10\x20\xF5\xF2"),
    Signature::new(Kind::FileSystem, "APFS", 32, b"NXSB"),
    Signature::new(Kind::FileSystem, "HFS+", 1024, b"H+\0\x04"),
    Signature::new(Kind::FileSystem, "HFSX", 1024, b"HX\0\x05"),
    Signature::new(Kind::FileSystem, "reiserfs", 0x10034, b"ReIsErFs"),
    Signature::new(Kind::FileSystem, "reiserfs", 0x10034, b"ReIsEr2Fs"),
    Signature::new(Kind::FileSystem, "JFS", 0x8000, b"JFS1"),
    Signature::new(Kind::FileSystem, "NILFS2", 1030, b"\x34\x34")
        .when(|front| front.get(1024..1028) == Some(b"\x02\0\0\0")),
    Signature::new(Kind::FileSystem, "EROFS", 1024, b"\xE2\xE1\xF5\xE0"),
    Signature::new(Kind::FileSystem, "ext4", 0x438, b"\x53\xEF")
        .when(|front| is_ext(front) && ext_word(front, 0x60) & EXT4_INCOMPAT != 0),
    Signature::new(Kind::FileSystem, "ext3", 0x438, b"\x53\xEF")
        .when(|front| is_ext(front) && ext_word(front, 0x5C) & EXT3_COMPAT != 0),
    Signature::new(Kind::FileSystem, "ext2", 0x438, b"\x53\xEF").when(is_ext),
    Signature::new(Kind::Optical, "ISO 9660", 0x8001, b"CD001"),
    Signature::new(Kind::Optical, "UDF", 0x8001, b"BEA01"),
    Signature::new(Kind::OtherTable, "an Apple partition map", 512, b"PM\0\0")
        .when(|front| front.starts_with(b"ER")),
    Signature::new(Kind::OtherTable, "a BSD disklabel", 64, b"\x57\x45\x56\x82")
        .when(|front| front.get(64 + 132..64 + 136) == Some(b"\x57\x45\x56\x82")),
    Signature::new(Kind::OtherTable, "a BSD disklabel", 512, b"\x57\x45\x56\x82")
        .when(|front| front.get(512 + 132..512 + 136) == Some(b"\x57\x45\x56\x82")),
    Signature::new(Kind::OtherTable, "an SGI disk label", 0, b"\x0B\xE5\xA9\x41"),
    Signature::new(Kind::OtherTable, "a Sun disk label", 508, b"\xDA\xBE").when(sun_checksum),
    Signature::new(Kind::OtherTable, "an Amiga rigid disk block", 0, b"RDSK"),
    Signature::new(Kind::OtherTable, "an AIX physical volume", 0, b"\xC9\xC2\xD4\xC1"),
];

/// Second copies, by which tools recognise what is gone from the front. Nothing is named after them: they outlive what
/// they belong to under whatever comes next.
static SECOND: &[Signature] = &[
    // The second header of LUKS2 (on-disk format specification, section 2.1), as far as the front reaches.
    Signature::new(Kind::FileSystem, "LUKS", 0x4000, LUKS2_SECOND),
    Signature::new(Kind::FileSystem, "LUKS", 0x8000, LUKS2_SECOND),
    Signature::new(Kind::FileSystem, "LUKS", 0x10000, LUKS2_SECOND),
];

const LUKS2_SECOND: &[u8] = b"SKUL\xBA\xBE";

/// A magic at the end of a disk: its place by the size of the disk, and its bytes.
type AtEnd = (fn(u64) -> Option<u64>, &'static [u8]);

/// What members of arrays keep at their end, where a file system or a table at the front does not reach it. Whoever
/// assembles arrays takes the whole disk for one as long as it is there.
static AT_END: &[AtEnd] = &[
    // md 0.90 and 1.0 (`include/uapi/linux/raid/md_p.h`), Intel Matrix, DDF (SNIA, section 5.2).
    (|size| (size & !0xFFFF).checked_sub(0x1_0000), b"\xFC\x4E\x2B\xA9\0\0\0\0"),
    (|size| Some(size.checked_sub(0x2000)? & !0xFFF), b"\xFC\x4E\x2B\xA9\x01\0\0\0"),
    (|size| (size & !0x1FF).checked_sub(1024), b"Intel Raid ISM Cfg Sig. "),
    (|size| (size & !0x1FF).checked_sub(512), b"\xDE\x11\xDE\x11"),
];

/// Where on a disk of `size` bytes a member of an array would have its magic, and that magic.
pub fn at_end(size: u64) -> impl Iterator<Item = (u64, &'static [u8])> {
    AT_END.iter().filter_map(move |(place, magic)| Some((place(size)?, *magic)))
}

/// The first signature of a wanted kind that matches.
pub(super) fn first(front: &[u8], wanted: impl Fn(Kind) -> bool) -> Option<Content> {
    let mut wanted = ALL.iter().filter(|signature| wanted(signature.content.kind));
    wanted.find(|signature| signature.matches(front)).map(|signature| signature.content)
}

/// Every signature of what a disk or partition can hold that matches, with the place of its magic.
pub(super) fn all(front: &[u8]) -> impl Iterator<Item = Trace> {
    let held = ALL.iter().chain(SECOND).filter(|signature| signature.content.kind != Kind::Container);
    held.filter(|signature| signature.matches(front)).map(|signature| Trace {
        name: signature.content.name,
        range: signature.offset..signature.offset + signature.magic.len(),
    })
}

/// ext4 features that older drivers refuse: extents, 64bit, flex_bg.
const EXT4_INCOMPAT: u32 = 0x40 | 0x80 | 0x200;
/// The journal of ext3.
const EXT3_COMPAT: u32 = 0x4;

fn ext_word(front: &[u8], at: usize) -> u32 {
    front
        .get(1024 + at..1024 + at + 4)
        .map_or(0, |word| u32::from_le_bytes(word.try_into().expect("four bytes")))
}

/// The magic of ext is two bytes: the counts of inodes and blocks and the block size must make sense too.
fn is_ext(front: &[u8]) -> bool {
    ext_word(front, 0) > 0 && ext_word(front, 4) > 0 && ext_word(front, 0x18) <= 6
}

fn is_lvm(front: &[u8], label: usize) -> bool {
    front.get(label + 24..label + 32) == Some(b"LVM2 001")
}

/// The words of a Sun label XOR to zero.
fn sun_checksum(front: &[u8]) -> bool {
    front.get(..512).is_some_and(|label| {
        label.chunks_exact(2).fold(0, |sum, word| sum ^ u16::from_be_bytes([word[0], word[1]])) == 0
    })
}

#[cfg(test)]
mod tests {
    use super::super::recognise;
    use super::*;

    #[test]
    fn every_signature_lies_in_the_front_that_is_read() {
        for signature in ALL.iter().chain(SECOND) {
            assert!(signature.offset + signature.magic.len() <= FRONT_LEN, "{}", signature.content.name);
        }
    }

    #[test]
    fn two_bytes_alone_are_no_ext() {
        let mut front = vec![0; FRONT_LEN];
        front[0x438..0x43A].copy_from_slice(b"\x53\xEF");
        assert_eq!(recognise(&front), None);
        front[1024] = 1;
        front[1028] = 1;
        assert_eq!(recognise(&front).map(|content| content.name), Some("ext2"));
    }

    #[test]
    fn a_second_header_is_a_trace_and_names_nothing() {
        let mut front = vec![0; FRONT_LEN];
        front[0x4000..0x4006].copy_from_slice(LUKS2_SECOND);
        assert_eq!(recognise(&front), None);
        let ranges: Vec<_> = all(&front).map(|trace| trace.range).collect();
        assert_eq!(ranges.as_slice(), std::slice::from_ref(&(0x4000..0x4006)));
    }

    #[test]
    fn what_stands_at_the_end_stays_on_the_disk() {
        for size in [0, 511, 512, 4096, 65536, 1 << 20, (1 << 30) + 777, u64::MAX] {
            for (start, magic) in at_end(size) {
                assert!(start + magic.len() as u64 <= size, "{start} of {size}");
            }
        }
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(recognise(&[]), None);
        assert_eq!(recognise(&[0; 512]), None);
        assert_eq!(recognise(&vec![0xFF; FRONT_LEN]), None);
    }
}
