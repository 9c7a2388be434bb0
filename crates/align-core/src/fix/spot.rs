//! Where the journal of a move goes: never on what moves, and where a restart does not take it away.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, statfs};

use super::FixError;
use crate::device::BlockDevice;
use crate::device::linux::{SysDisk, lies_on};
use crate::patch::{Folder, Spot};
use crate::realign::{Job, SPOTS_EVERY, SPOTS_REACH, WINDOW, journal_len};
use crate::write::is_in_memory;

/// So much is read at once.
const CHUNK: u64 = 1 << 20;
/// So many places are looked at whether they are all zero.
const MOST_TRIED: usize = 8;
/// The longest step through the journal, the preferred first: the longer, the fewer times the medium has to flush.
const WINDOWS: [u64; 6] = [WINDOW, 8 << 20, 4 << 20, 1 << 20, 256 << 10, 64 << 10];

/// Where it goes, with the window that fits.
pub(super) struct Chosen {
    pub(super) spot: Spot,
    pub(super) window: u64,
}

/// `taken`: what may not be written. `usable`: the space for partitions, in which there may be free space.
pub(super) fn choose(
    device: &dyn BlockDevice,
    job: &Job,
    usable: &Range<u64>,
    taken: &[Range<u64>],
    named: Option<&Path>,
    state: Option<&Folder>,
    (path, sys): (&Path, Option<&SysDisk>),
) -> Result<Chosen, FixError> {
    let beside = Beside { sys, is_volatile: sys.is_none() && is_volatile(path) };
    if let Some(path) = named {
        let path = if path.is_dir() { path.join(file_name(job)) } else { path.to_owned() };
        if path.exists() {
            return Err(FixError::Refused(format!(
                "{}: there is such a file already, and a journal needs a new one",
                path.display()
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        beside
            .check_folder(folder)
            .map_err(|reason| FixError::Refused(format!("the journal cannot go there: {reason}")))?;
        return Ok(Chosen { spot: Spot::File(absolute(&path)), window: WINDOW });
    }
    for window in WINDOWS {
        if let Some(start) = on_disk(device, journal_len(job, window), usable, taken)? {
            return Ok(Chosen { spot: Spot::Disk(start), window });
        }
    }
    let remedy = "name a place on another disk with --journal PATH";
    let no_room = "there is no free space on the disk for the journal of the move that is all zero";
    let Some(folder) = state else {
        return Err(FixError::Refused(format!(
            "{no_room}, and neither XDG_STATE_HOME nor HOME is set; {remedy}"
        )));
    };
    fs::create_dir_all(folder.path()).map_err(|error| {
        FixError::Refused(format!(
            "{no_room}, and {} cannot be made ({error}); {remedy}",
            folder.path().display()
        ))
    })?;
    beside
        .check_folder(folder.path())
        .map_err(|reason| FixError::Refused(format!("{no_room}, and {reason}; {remedy}")))?;
    Ok(Chosen { spot: Spot::File(absolute(&folder.path().join(file_name(job)))), window: WINDOW })
}

fn file_name(job: &Job) -> String {
    format!("{}.journal", job.id)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The disk that a journal is for.
struct Beside<'s> {
    sys: Option<&'s SysDisk>,
    /// An image in memory is lost together with its journal.
    is_volatile: bool,
}

impl Beside<'_> {
    /// Whether a journal in the folder outlives a power cut, and is not in the way of what moves.
    fn check_folder(&self, folder: &Path) -> Result<(), String> {
        let shown = folder.display();
        if !folder.is_dir() {
            return Err(format!("{shown} is no folder"));
        }
        if is_volatile(folder) && !self.is_volatile {
            return Err(format!("{shown} may lie in memory, where a restart takes the journal away"));
        }
        if self.sys.is_some_and(|sys| lies_on(folder, sys)) {
            return Err(format!("{shown} lies on the disk itself"));
        }
        Ok(())
    }
}

/// Whether a restart may take a file away: on a live system everything lies in memory.
fn is_volatile(path: &Path) -> bool {
    let is_overlay = statfs(path).is_ok_and(|fs| fs.filesystem_type() == OVERLAYFS_SUPER_MAGIC);
    is_in_memory(path) || is_overlay
}

/// Free space of so many bytes at a place where it is looked for later, in which nobody has left anything.
fn on_disk(
    device: &dyn BlockDevice,
    len: u64,
    usable: &Range<u64>,
    taken: &[Range<u64>],
) -> Result<Option<u64>, FixError> {
    let is_free =
        |start: u64| !taken.iter().any(|range| range.start < start.saturating_add(len) && start < range.end);
    let latest = usable.end.checked_sub(len).map(|start| start & !(SPOTS_EVERY - 1));
    let Some(latest) = latest else { return Ok(None) };
    let size = device.size().unwrap_or(usable.end);
    let earliest = size.saturating_sub(SPOTS_REACH).max(usable.start);
    let from_end = (0..)
        .map_while(|steps: u64| latest.checked_sub(steps.checked_mul(SPOTS_EVERY)?))
        .take_while(|start| *start >= earliest);
    let in_front = SPOTS_EVERY;
    let fits_in_front = in_front >= usable.start && in_front.saturating_add(len) <= usable.end;
    let all = from_end.chain(fits_in_front.then_some(in_front));
    for start in all.filter(|start| is_free(*start)).take(MOST_TRIED) {
        if is_zero(device, start..start.saturating_add(len))? {
            return Ok(Some(start));
        }
    }
    Ok(None)
}

/// Whether all bytes of a range are zero.
pub(super) fn is_zero(device: &dyn BlockDevice, range: Range<u64>) -> Result<bool, FixError> {
    let zeros = vec![0; super::draw_up::usize_of(CHUNK)];
    let mut buffer = zeros.clone();
    let mut at = range.start;
    while at < range.end {
        let len = range.end.saturating_sub(at).min(CHUNK);
        let (Some(bytes), Some(zeros)) =
            (buffer.get_mut(..super::draw_up::usize_of(len)), zeros.get(..super::draw_up::usize_of(len)))
        else {
            return Ok(false);
        };
        device.read_at(at, bytes).map_err(|source| FixError::Read { partition: None, source })?;
        if bytes != zeros {
            return Ok(false);
        }
        at = at.saturating_add(len);
    }
    Ok(true)
}
