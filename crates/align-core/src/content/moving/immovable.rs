use std::fmt;

use uuid::{Uuid, uuid};

use super::super::FRONT_LEN;
use super::inside::{Inside, bytes};
use super::ntfs::Ntfs;
use crate::device::ReadError;
use crate::table::PartitionType;

/// Why the content of a partition must stay where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Immovable {
    /// What it is: "a hibernated Windows".
    pub what: &'static str,
    /// What to do first, or instead.
    pub remedy: &'static str,
}

impl Immovable {
    /// Whether it is a system that sleeps, and goes on with what it remembers of the whole disk.
    pub fn is_asleep(&self) -> bool {
        [HIBERNATED_LINUX, HIBERNATED_WINDOWS].contains(self)
    }
}

impl fmt::Display for Immovable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.remedy)
    }
}

/// What in a partition of `len` bytes must not be moved: a hibernated system, which would go on with the table that
/// it remembers, and tables of other systems that count sectors from the start of the disk.
///
/// A table of Solaris in an x86 partition counts from the start of that partition (`block/partitions/msdos.c` of the
/// kernel) and may move. A system that is hibernated into a file of a Linux file system is not seen, and a hibernated
/// system remembers the other partitions of its disk, too.
///
/// # Errors
/// When the front of the partition, its last sector, or what leads to the hibernation file cannot be read.
pub fn immovable(
    inside: &dyn Fn(u64, usize) -> Result<Vec<u8>, ReadError>,
    len: u64,
) -> Result<Option<Immovable>, ReadError> {
    let inside = Inside::new(inside, len);
    let front = inside.front(FRONT_LEN)?;
    if has_hibernated_linux(&front) {
        return Ok(Some(HIBERNATED_LINUX));
    }
    if is_disklabel(&front) {
        return Ok(Some(DISKLABEL));
    }
    if bytes(&front, UNIXWARE_AT) == Some(UNIXWARE) {
        return Ok(Some(UNIXWARE_TABLE));
    }
    if is_dynamic_disk(inside, &front)? {
        return Ok(Some(DYNAMIC_DISK));
    }
    let hibernated = has_hibernated_windows(inside, &front)?;
    Ok(hibernated.then_some(HIBERNATED_WINDOWS))
}

/// Why a partition of this type must stay where it is whatever it holds: it belongs to a dynamic disk of Windows,
/// whose database says where on the disk its volumes are.
pub fn is_immovable_type(type_: PartitionType) -> Option<&'static str> {
    match type_ {
        PartitionType::Mbr(0x42) => Some(DYNAMIC_DISK.what),
        PartitionType::Gpt(guid) if LDM_TYPES.contains(&guid) => Some(DYNAMIC_DISK.what),
        PartitionType::Mbr(_) | PartitionType::Gpt(_) | PartitionType::Unknown => None,
    }
}

const HIBERNATED_LINUX: Immovable = Immovable {
    what: "a hibernated Linux",
    remedy: "start that system and shut it down, without hibernation",
};
const HIBERNATED_WINDOWS: Immovable = Immovable {
    what: "a hibernated Windows",
    remedy: "start that system and shut it down: hold Shift while choosing Shut down, or run `powercfg /h off` as \
             administrator before",
};
const DYNAMIC_DISK: Immovable = Immovable {
    what: "a dynamic disk of Windows, whose database says where its volumes are",
    remedy: "back up its volumes, convert it to a basic disk in Windows, and make them anew",
};
const DISKLABEL: Immovable = Immovable {
    what: "a BSD disklabel, which counts from the start of the disk",
    remedy: "back up its file systems, and make the label anew at the new place with the tools of that system",
};
const UNIXWARE_TABLE: Immovable = Immovable {
    what: "a UnixWare table, which counts from the start of the disk",
    remedy: "back up its file systems, and make the table anew at the new place with the tools of that system",
};

/// The LDM metadata and data partitions of a GPT.
const LDM_TYPES: [Uuid; 2] =
    [uuid!("5808C8AA-7E8F-42E0-85D2-E1E90434CFB3"), uuid!("AF9B60A0-1431-4F62-BC68-3311714A69AD")];

/// The marks at the end of the first page of a swap area that holds a system (`kernel/power/swap.c` of the kernel,
/// uswsusp, TuxOnIce).
const SUSPENDED: [&[u8]; 5] =
    [b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001", b"\xED\xC3\x02\xE9\x98\x56\xE5\x0C"];
/// How far before the end of the page the mark begins.
const MARK_LEN: usize = 10;

fn has_hibernated_linux(front: &[u8]) -> bool {
    let ends = [4_usize << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
    let marks = ends.iter().filter_map(|end| front.get(end.checked_sub(MARK_LEN)?..*end));
    marks.into_iter().any(|mark| SUSPENDED.iter().any(|suspended| mark.starts_with(suspended)))
}

/// The magic of a disklabel, which has it twice (`block/partitions/msdos.c` of the kernel; `bsd.c` of libblkid for
/// the places).
const LABEL: [u8; 4] = 0x8256_4557_u32.to_le_bytes();
const LABEL_AT: [usize; 6] = [0, 64, 128, 512, 512 + 64, 4096];
const LABEL_AGAIN: usize = 132;

fn is_disklabel(front: &[u8]) -> bool {
    let is_label = |label: &[u8]| [0, LABEL_AGAIN].into_iter().all(|at| bytes(label, at) == Some(LABEL));
    LABEL_AT.into_iter().any(|at| front.get(at..).is_some_and(is_label))
}

/// The magic in the label of UnixWare, which is in sector 29.
const UNIXWARE: [u8; 4] = 0xCA5E_600D_u32.to_le_bytes();
const UNIXWARE_AT: usize = 29 * 512 + 4;

/// Whether the private head of a dynamic disk is where it may be in a partition: in its first sector, where a whole
/// disk has it (sector 6), and in the last one of the metadata partition of a GPT.
fn is_dynamic_disk(inside: Inside<'_>, front: &[u8]) -> Result<bool, ReadError> {
    const HEAD: &[u8] = b"PRIVHEAD";
    if [0, 6 * 512].into_iter().any(|at| front.get(at..).is_some_and(|rest| rest.starts_with(HEAD))) {
        return Ok(true);
    }
    let Some(last) = inside.len().checked_sub(512) else { return Ok(false) };
    Ok(inside.read(last, HEAD.len())?.is_some_and(|bytes| bytes == HEAD))
}

/// The first bytes of the hibernation file that say something about it.
const HIBERFILE_LEN: usize = 4096;

/// Whether the volume of Windows belongs to a system that is hibernated, or was shut down so that it starts fast. As
/// with the other drivers for NTFS, a file that is too short for its own header is what a volume has whose system is
/// hibernated on another one.
fn has_hibernated_windows(inside: Inside<'_>, front: &[u8]) -> Result<bool, ReadError> {
    let Some(ntfs) = Ntfs::open(inside, front)? else { return Ok(false) };
    let Some(file) = ntfs.file_in_root("hiberfil.sys", HIBERFILE_LEN)? else { return Ok(false) };
    let is_short = file.len < HIBERFILE_LEN as u64;
    Ok(is_short || matches!(file.front.get(..4), Some(b"hibr" | b"HIBR")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::ntfs;
    use super::*;

    fn found(partition: &[u8]) -> Option<&'static str> {
        let read = |at: u64, len: usize| Ok(partition[usize::try_from(at).unwrap()..][..len].to_vec());
        immovable(&read, partition.len() as u64).unwrap().map(|immovable| immovable.what)
    }

    fn with(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut partition = vec![0; 128 << 10];
        for (at, part) in parts {
            partition[*at..*at + part.len()].copy_from_slice(part);
        }
        partition
    }

    #[test]
    fn a_suspended_system_is_seen_with_pages_of_every_size() {
        for page in [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10] {
            assert_eq!(found(&with(&[(page - 10, b"S1SUSPEND\0")])), Some(HIBERNATED_LINUX.what));
            assert_eq!(found(&with(&[(page - 10, b"SWAPSPACE2")])), None);
        }
    }

    #[test]
    fn tables_that_count_from_the_start_of_the_disk_stay() {
        for at in LABEL_AT {
            assert_eq!(found(&with(&[(at, &LABEL), (at + 132, &LABEL)])), Some(DISKLABEL.what));
            assert_eq!(found(&with(&[(at, &LABEL)])), None);
        }
        assert_eq!(found(&with(&[(UNIXWARE_AT, &UNIXWARE)])), Some(UNIXWARE_TABLE.what));
        for at in [0, 0xC00, (128 << 10) - 512] {
            assert_eq!(found(&with(&[(at, b"PRIVHEAD")])), Some(DYNAMIC_DISK.what));
        }
    }

    #[test]
    fn types_of_dynamic_disks_stay() {
        let stays = |code| is_immovable_type(PartitionType::from_code(code)).is_some();
        assert!(stays("0x42") && stays("5808C8AA-7E8F-42E0-85D2-E1E90434CFB3"));
        assert!(stays("AF9B60A0-1431-4F62-BC68-3311714A69AD"));
        assert!(!stays("0x07") && !stays("EBD0A0A2-B9E5-4433-87C0-68B6B72699C7") && !stays(""));
    }

    #[test]
    fn the_hibernation_file_says_whether_windows_will_go_on() {
        let found = |front: &[u8], len| found(&ntfs::sample::volume("hiberfil.sys", front, len));
        for hibernated in [b"hibr", b"HIBR"] {
            assert_eq!(found(hibernated, 4096), Some(HIBERNATED_WINDOWS.what));
        }
        for awake in [b"wake", b"WAKE", b"RSTR", &[0; 4]] {
            assert_eq!(found(awake, 4096), None);
        }
        assert_eq!(found(b"wake", 4095), Some(HIBERNATED_WINDOWS.what), "hibernated on another volume");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn partitions_of_any_length_have_an_answer(len in 0_usize..70_000, end in select(vec![0, 8, 16])) {
            let bytes = with(&[(4086, b"S1SUSPEND\0")]);
            let is_whole = len >= 4096;
            prop_assert_eq!(found(&bytes[..len]).is_some(), is_whole);
            let volume = ntfs::sample::volume("hiberfil.sys", b"hibr", 4096);
            found(&volume[..len.saturating_sub(end).min(volume.len())]);
        }
    }
}
