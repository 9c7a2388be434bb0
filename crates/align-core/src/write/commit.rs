use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};

use super::target::Target;
use super::{Action, BackupPlace, Proposal, WriteError};
use crate::check::{self, Code, Options, Report};
use crate::device::Disk;
use crate::device::linux::{self, SysDisk};
use crate::patch::{Backup, BackupError, DiskIdentity, Folder, PatchError, Side, Stage};
use crate::table::Table;
use crate::units::SectorSize;

/// What was done.
#[derive(Debug)]
pub struct Written {
    /// What puts it back; `None` when nothing had to be changed.
    pub backup: Option<Backup>,
    /// The disk as it is now.
    pub report: Report,
    /// What the kernel uses now.
    pub kernel: KernelState,
    /// What went wrong behind the write, without harm to it.
    pub warnings: Vec<String>,
}

/// Whether the kernel uses the partitions that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelState {
    /// It has none of this disk: an image, or a device whose tables it does not read.
    NotConcerned,
    /// It uses the new partitions.
    Current,
    /// It still uses others; the text says which differ.
    Stale(String),
}

pub(super) fn commit(proposal: Proposal, place: &BackupPlace) -> Result<Written, WriteError> {
    let path = proposal.path.clone();
    if proposal.changes_nothing() {
        let report = proposal.before;
        return Ok(Written { backup: None, report, kernel: KernelState::NotConcerned, warnings: Vec::new() });
    }
    // Beside partitions in use the whole disk cannot be had alone.
    let exclusively = proposal.uses.is_empty();
    let target = Target::open(&path, exclusively)?;
    target.check_unchanged(&path, proposal.before.size)?;
    target.check_uses(&path, exclusively, proposal.partitions(), proposal.unit, &proposal.patch)?;
    let (backup, mut warnings) = match proposal.action {
        Action::Write { undoes } => {
            let identity =
                target.identity(&path).ok_or_else(|| WriteError::refused(&path, "its size is not known"))?;
            proposal.patch.verify(&target.device).map_err(|source| WriteError::patch(&path, source))?;
            let undone = undoes.as_ref().map(|backup| backup.id);
            let (what, patch) = (proposal.what.clone(), proposal.patch.clone());
            let mut saved = Saved::new(place, &identity, |path| Backup {
                undoes: undone,
                ..Backup::new(path, identity.clone(), what, proposal.unit, patch)
            })?;
            let written = proposal.patch.write(&target.device);
            if written.as_ref().is_err_and(PatchError::wrote_nothing) {
                saved.discard();
            }
            finish(&path, &saved.backup, written)?;
            mark(&mut saved.backup, Stage::Written, &mut saved.warnings);
            if let Some(mut undone) = undoes {
                mark(&mut undone, Stage::Undone, &mut saved.warnings);
            }
            (saved.backup, saved.warnings)
        }
        Action::Recover { mut backup, side } => {
            let mut warnings = Vec::new();
            finish(&path, &backup, backup.patch.recover(&target.device, side))?;
            let stage = if side == Side::After { Stage::Written } else { Stage::Undone };
            mark(&mut backup, stage, &mut warnings);
            if let (Side::After, Some(id)) = (side, backup.undoes)
                && let Some(mut undone) = folder_of(&backup).find(id)
            {
                mark(&mut undone, Stage::Undone, &mut warnings);
            }
            (*backup, warnings)
        }
    };
    let settled = settle(&path, target, &proposal.table, proposal.unit, &proposal.options)?;
    warnings.extend(settled.warnings);
    Ok(Written { backup: Some(backup), report: settled.report, kernel: settled.kernel, warnings })
}

/// How a disk is after a write.
pub(crate) struct Settled {
    pub(crate) report: Report,
    pub(crate) kernel: KernelState,
    pub(crate) warnings: Vec<String>,
}

/// Tells the kernel of the table that was written, lets the disk go, and looks at it again.
pub(crate) fn settle(
    path: &Path,
    target: Target,
    table: &Table,
    unit: SectorSize,
    options: &Options,
) -> Result<Settled, WriteError> {
    // A table for other sectors than the device has is none to the kernel.
    let reads = |sys: &&SysDisk| target.concerns_kernel && sys.reported().logical == Some(unit.bytes());
    if let Some(sys) = target.sys.as_ref().filter(reads) {
        linux::rescan(target.device.file(), sys, table);
    }
    drop(target);
    let disk = Disk::open(path)?;
    let report = check::run(&disk, options)?;
    let stale = report.findings.iter().find(|finding| finding.code == Code::KernelTableStale);
    let kernel = match (disk.kernel(), stale) {
        (_, Some(finding)) => KernelState::Stale(finding.message.clone()),
        (Some(view), None) if view.is_concerned() => KernelState::Current,
        _ => KernelState::NotConcerned,
    };
    let mut warnings = Vec::new();
    let found: Vec<_> = report.partitions.iter().map(|report| &report.partition).collect();
    if found.into_iter().ne(&table.partitions) {
        warnings.push(
            "read again, the disk does not show the partitions that were written: something else wrote to it"
                .into(),
        );
    }
    Ok(Settled { report, kernel, warnings })
}

/// A failed write is unfinished, unless it is certain that it never began.
fn finish(path: &Path, backup: &Backup, written: Result<(), PatchError>) -> Result<(), WriteError> {
    match written {
        Ok(()) => Ok(()),
        Err(source) if source.wrote_nothing() => Err(WriteError::patch(path, source)),
        Err(source) => {
            Err(WriteError::Unfinished { path: path.to_owned(), backup: backup.path.clone(), source })
        }
    }
}

/// A backup that is on its medium.
pub(crate) struct Saved {
    pub(crate) backup: Backup,
    pub(crate) warnings: Vec<String>,
    link: Option<PathBuf>,
}

impl Saved {
    /// Saves what `make` makes of a path in the place.
    pub(crate) fn new(
        place: &BackupPlace,
        identity: &DiskIdentity,
        make: impl FnOnce(PathBuf) -> Backup,
    ) -> Result<Self, WriteError> {
        let file = match place {
            BackupPlace::Folder(folder) => folder.new_path(identity)?,
            BackupPlace::File { path, .. } if path.is_dir() => Folder::at(path).new_path(identity)?,
            BackupPlace::File { path, .. } => path.clone(),
        };
        let backup = make(file);
        backup.save()?;
        let mut warnings = volatile(&backup.path);
        let link = link(place, &backup, &mut warnings);
        Ok(Self { backup, warnings, link })
    }

    /// Removes the backup of a write that never began: it is the backup of nothing.
    pub(crate) fn discard(&self) {
        for file in self.link.iter().chain([&self.backup.path]) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Leaves a link to a backup in another place, where the backups of all disks are looked for.
fn link(place: &BackupPlace, backup: &Backup, warnings: &mut Vec<String>) -> Option<PathBuf> {
    let BackupPlace::File { known_in: Some(folder), .. } = place else { return None };
    let linked = fs::canonicalize(&backup.path).and_then(|file| {
        let link = folder.new_path(&backup.disk).map_err(io::Error::other)?;
        symlink(file, &link)?;
        // After a power cut the link is what `check` finds the backup by.
        File::open(folder.path()).and_then(|folder| folder.sync_all())?;
        Ok(link)
    });
    match linked {
        Ok(link) => Some(link),
        Err(error) => {
            warnings.push(format!(
                "{} cannot be noted in {} ({error}): name it to `alignck undo` and `alignck resume`",
                backup.path.display(),
                folder.path().display()
            ));
            None
        }
    }
}

/// The bytes of the disk tell the stage too, so a file that cannot be marked is only worth a word.
pub(crate) fn mark(backup: &mut Backup, stage: Stage, warnings: &mut Vec<String>) {
    let marked: Result<(), BackupError> = backup.mark(stage);
    warnings.extend(marked.err().map(|error| error.to_string()));
}

fn folder_of(backup: &Backup) -> Folder {
    Folder::at(backup.path.parent().unwrap_or(Path::new(".")))
}

/// A backup in memory does not survive the power cut that it is made for.
fn volatile(path: &Path) -> Vec<String> {
    let warning = || {
        format!(
            "the backup {} lies in memory and is lost at the next restart; copy it to a disk",
            path.display()
        )
    };
    is_in_memory(path).then(warning).into_iter().collect()
}

/// Whether a file lies in memory, and goes with the next restart.
pub(crate) fn is_in_memory(path: &Path) -> bool {
    statfs(path).is_ok_and(|fs| [TMPFS_MAGIC, RAMFS_MAGIC].contains(&fs.filesystem_type()))
}

/// Of `include/uapi/linux/magic.h`.
const RAMFS_MAGIC: FsType = FsType(0x8584_58F6);
