use super::{Code, Finding};
use crate::device::Disk;
use crate::patch::{Backup, State};
use crate::realign::{self, Found, Stand};
use crate::table::Table;

/// The write or the move that left this disk in between, if one did.
pub(super) fn find(disk: &Disk, table: Option<&Table>, unfinished: &[Backup]) -> Option<Finding> {
    let device = disk.device()?;
    let of_disk: Vec<&Backup> = match disk.identity() {
        Some(identity) => unfinished.iter().filter(|backup| backup.disk.is(&identity)).collect(),
        None => Vec::new(),
    };
    let moves: Vec<&Backup> = of_disk.iter().filter(|backup| backup.moved.is_some()).copied().collect();
    if let Some(found) = realign::find(device, table, &moves) {
        return Some(cut_off_move(disk, &found));
    }
    // A write that came to its end, or never began, leaves nothing to do; nor does one over which others wrote.
    let mut writes = of_disk.into_iter().filter(|backup| backup.moved.is_none());
    let backup = writes.find(|backup| matches!(backup.patch.state(device), Ok(State::Torn)))?;
    let path = disk.path().display();
    Some(Finding::disk(
        Code::UnfinishedWrite,
        format!(
            "a write to this disk was cut off in the middle ({}, begun {}); what it holds is neither the old table nor \
             the new one",
            backup.what,
            backup.made_text()
        ),
        format!(
            "Write nothing else to it. `alignck resume {path}` finishes the write, `alignck undo {path}` puts back what \
             was there before. Everything that both need is in {}.",
            backup.path.display()
        ),
    ))
}

fn cut_off_move(disk: &Disk, found: &Found) -> Finding {
    let path = disk.path().display();
    let (message, help) = match &found.journal {
        Ok((job, stand)) => {
            let way = if *stand == Stand::Restoring { "back to where they were" } else { "to another place" };
            let parts = match job.shifts.len() {
                0 | 1 => "a partition of this disk is",
                _ => "partitions of this disk are",
            };
            (
                format!("{parts} on the way {way}, and stopped in the middle; nothing is lost"),
                format!(
                    "Mount nothing of what moves, and write nothing else to the disk. `alignck resume {path}` finishes the \
                     move, `alignck undo {path}` takes it back. All that both need is in {}.",
                    found.spot
                ),
            )
        }
        Err(reason) => (
            format!(
                "partitions of this disk are on the way to another place and stopped in the middle, and the journal of the \
                 move cannot be read: {reason}"
            ),
            format!(
                "Write nothing to this disk. Connect the medium with {}, then `alignck resume {path}` finishes the move and \
                 `alignck undo {path}` takes it back; --journal PATH names the journal where it is now.",
                found.spot
            ),
        ),
    };
    Finding::disk(Code::UnfinishedMove, message, help)
}
