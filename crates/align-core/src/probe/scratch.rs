use std::fs::File;
use std::path::Path;

use nix::sys::statfs::{BTRFS_SUPER_MAGIC, FsType, TMPFS_MAGIC, statfs};
use nix::unistd::{Whence, lseek64};

use super::{Area, ProbeError};
use crate::Error;

/// File systems on which a write to a file does not go where its bytes are. The numbers are those of
/// `include/uapi/linux/magic.h`, and of the file systems themselves for the last three.
const MOVING: [(FsType, &str, &str); 6] = [
    (BTRFS_SUPER_MAGIC, "btrfs", ELSEWHERE),
    (TMPFS_MAGIC, "tmpfs", "which is memory"),
    (FsType(0x858458f6), "ramfs", "which is memory"),
    (FsType(0x2fc1_2fc1), "ZFS", ELSEWHERE),
    (FsType(0xca45_1a4e), "bcachefs", ELSEWHERE),
    (FsType(0xf2f5_2010), "F2FS", ELSEWHERE),
];
const ELSEWHERE: &str = "which writes new bytes to another place than the old ones";

/// Refuses a scratch file whose bytes are not where writes would go.
pub(super) fn check(path: &Path, area: Area) -> Result<(), ProbeError> {
    let file = File::open(path).map_err(|source| Error::open(path, source))?;
    let kind = statfs(path).map(|statfs| statfs.filesystem_type());
    if let Some((_, kind, why)) = MOVING.iter().find(|(moving, ..)| kind.is_ok_and(|kind| kind == *moving)) {
        return Err(ProbeError::Moving { path: path.to_owned(), kind, why });
    }
    let start = i64::try_from(area.start).unwrap_or(i64::MAX);
    // A file system that cannot tell has no holes; the end of a file counts as one.
    let hole = lseek64(&file, start, Whence::SeekHole).ok().and_then(|hole| u64::try_from(hole).ok());
    match hole.filter(|hole| *hole < area.end()) {
        Some(offset) => Err(ProbeError::Hole { path: path.to_owned(), offset }),
        None => Ok(()),
    }
}
