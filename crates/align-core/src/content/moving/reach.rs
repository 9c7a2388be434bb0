use super::super::{recognise, traces};

/// How much of a partition has to be overwritten so that nothing takes half-moved content for whole, in bytes. What
/// overlaps in a small partition, or reaches behind its end, is the whole of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// From its start on.
    pub head: u64,
    /// Up to its end.
    pub tail: u64,
}

/// How much of a partition that begins with these bytes has to be overwritten;
/// [`FRONT_LEN`](crate::content::FRONT_LEN) of them see everything.
///
/// Of most formats all that `blkid`, `mount`, `mdadm`, LVM, and ZFS go by is in the first and in the last MiB: the
/// superblock of btrfs is at 64 KiB (its copies at 64 MiB and 256 GiB are only read when asked for), the labels of
/// ZFS and the superblocks of md are in the last 768 KiB, the second boot sector of NTFS, the second volume header of
/// HFS+ and the second header of a GPT are in the last sectors. But `blkid` and `cryptsetup` find the second header
/// of LUKS at any power of two up to 4 MiB, bcachefs has a second superblock 1 MiB behind the first, and VMFS, which
/// has no mark at the front, begins at 1 MiB. So what is not known to be harmless is overwritten further.
pub fn reach(front: &[u8]) -> Reach {
    let is_deep = |name| matches!(name, "LUKS" | "bcachefs");
    let known = recognise(front).is_some();
    if known && !traces(front).iter().any(|trace| is_deep(trace.name)) {
        Reach { head: MIB, tail: MIB }
    } else {
        Reach { head: LAST_HEADER + BEHIND_HEADER, tail: LAST_LABEL }
    }
}

const MIB: u64 = 1 << 20;
/// The last place of the second header of LUKS2 (on-disk format specification, section 2.1), and enough for its
/// magic.
const LAST_HEADER: u64 = 4 << 20;
const BEHIND_HEADER: u64 = 64 << 10;
/// Promise arrays have their label up to 3087 sectors before the end (`promise_raid.c` of libblkid).
const LAST_LABEL: u64 = 2 << 20;

#[cfg(test)]
mod tests {
    use super::super::super::FRONT_LEN;
    use super::*;

    fn with(at: usize, magic: &[u8]) -> Reach {
        let mut front = vec![0; FRONT_LEN];
        front[at..at + magic.len()].copy_from_slice(magic);
        reach(&front)
    }

    #[test]
    fn what_has_a_second_header_far_inside_is_overwritten_further() {
        let near = Reach { head: 1 << 20, tail: 1 << 20 };
        let far = Reach { head: (4 << 20) + (64 << 10), tail: 2 << 20 };
        assert_eq!(with(0, b"XFSB"), near);
        assert_eq!(with(0x10040, b"_BHRfS_M"), near);
        assert_eq!(with(0, b"LUKS\xBA\xBE"), far);
        assert_eq!(with(0x4000, b"SKUL\xBA\xBE"), far);
        assert_eq!(with(4120, b"\xC6\x85\x73\xF6\x66\xCE\x90\xA9\xD9\x6A\x60\xCF\x80\x3D\xF7\xEF"), far);
        assert_eq!(reach(&[]), far);
    }
}
