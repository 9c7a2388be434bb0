use super::{Code, Finding};
use crate::device::Disk;
use crate::patch::{Backup, State};

/// The write that left this disk half written, if one did.
pub(super) fn find(disk: &Disk, unfinished: &[Backup]) -> Option<Finding> {
    if unfinished.is_empty() {
        return None;
    }
    let (device, identity) = (disk.device()?, disk.identity()?);
    let of_disk = unfinished.iter().filter(|backup| backup.disk.is(&identity));
    // A write that came to its end, or never began, leaves nothing to do; nor does one over which others wrote.
    let backup = of_disk.into_iter().find(|backup| matches!(backup.patch.state(device), Ok(State::Torn)))?;
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
