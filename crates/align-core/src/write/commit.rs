use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};
use uuid::Uuid;

use super::target::{self, Target};
use super::{Action, BackupPlace, Proposal, WriteError};
use crate::check::{self, Code, Report};
use crate::device::linux::{self, SysDisk, Use, UseKind};
use crate::device::{BlockDevice, Disk};
use crate::patch::{Backup, BackupError, DiskIdentity, Folder, Patch, PatchError, Side, Stage};
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
    let size = target.device.size();
    if size != proposal.before.size {
        let size = size.unwrap_or(0);
        let reason = format!("it has {size} bytes now, and had {} before", proposal.before.size.unwrap_or(0));
        return Err(WriteError::refused(&path, reason));
    }
    let (in_the_way, _) = target::uses(&path, proposal.partitions(), proposal.unit, &proposal.patch);
    // What is opened exclusively now, is so by ourselves.
    let is_our_own = |used: &Use| exclusively && target.sys.is_some() && used.kind == UseKind::Exclusive;
    let in_the_way: Vec<_> = in_the_way.into_iter().filter(|used| !is_our_own(used)).collect();
    if !in_the_way.is_empty() {
        return Err(WriteError::InUse { path, uses: in_the_way });
    }
    let (backup, mut warnings) = match proposal.action {
        Action::Write { undoes } => {
            let identity =
                target.identity(&path).ok_or_else(|| WriteError::refused(&path, "its size is not known"))?;
            proposal.patch.verify(&target.device).map_err(|source| WriteError::patch(&path, source))?;
            let undone = undoes.as_ref().map(|backup| backup.id);
            let mut backup = save(place, identity, &proposal.what, proposal.unit, &proposal.patch, undone)?;
            let mut warnings = volatile(&backup.path);
            let link = link(place, &backup, &mut warnings);
            let written = proposal.patch.write(&target.device);
            if written.as_ref().is_err_and(PatchError::wrote_nothing) {
                // It is the backup of nothing.
                for file in link.iter().chain([&backup.path]) {
                    let _ = fs::remove_file(file);
                }
            }
            finish(&path, &backup, written)?;
            mark(&mut backup, Stage::Written, &mut warnings);
            if let Some(mut undone) = undoes {
                mark(&mut undone, Stage::Undone, &mut warnings);
            }
            (backup, warnings)
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
    // A table for other sectors than the device has is none to the kernel.
    let reads = |sys: &&SysDisk| sys.reported().logical == Some(proposal.unit.bytes());
    if let Some(sys) = target.sys.as_ref().filter(reads) {
        linux::rescan(target.device.file(), sys, &proposal.table);
    }
    drop(target);
    let disk = Disk::open(&path)?;
    let report = check::run(&disk, &proposal.options)?;
    let stale = report.findings.iter().find(|finding| finding.code == Code::KernelTableStale);
    let kernel = match (disk.kernel(), stale) {
        (_, Some(finding)) => KernelState::Stale(finding.message.clone()),
        (Some(view), None) if view.is_concerned() => KernelState::Current,
        _ => KernelState::NotConcerned,
    };
    let found: Vec<_> = report.partitions.iter().map(|report| &report.partition).collect();
    if found.into_iter().ne(&proposal.table.partitions) {
        warnings.push(
            "read again, the disk does not show the partitions that were written: something else wrote to it"
                .into(),
        );
    }
    Ok(Written { backup: Some(backup), report, kernel, warnings })
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

fn save(
    place: &BackupPlace,
    identity: DiskIdentity,
    what: &str,
    unit: SectorSize,
    patch: &Patch,
    undoes: Option<Uuid>,
) -> Result<Backup, WriteError> {
    let file = match place {
        BackupPlace::Folder(folder) => folder.new_path(&identity)?,
        BackupPlace::File { path, .. } if path.is_dir() => Folder::at(path).new_path(&identity)?,
        BackupPlace::File { path, .. } => path.clone(),
    };
    let backup = Backup { undoes, ..Backup::new(file, identity, what.to_owned(), unit, patch.clone()) };
    backup.save()?;
    Ok(backup)
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
fn mark(backup: &mut Backup, stage: Stage, warnings: &mut Vec<String>) {
    let marked: Result<(), BackupError> = backup.mark(stage);
    warnings.extend(marked.err().map(|error| error.to_string()));
}

fn folder_of(backup: &Backup) -> Folder {
    Folder::at(backup.path.parent().unwrap_or(Path::new(".")))
}

/// A backup in memory does not survive the power cut that it is made for.
fn volatile(path: &Path) -> Vec<String> {
    let is_volatile = statfs(path).is_ok_and(|fs| {
        let kind = fs.filesystem_type();
        kind == TMPFS_MAGIC || kind == RAMFS_MAGIC
    });
    let warning = || {
        format!(
            "the backup {} lies in memory and is lost at the next restart; copy it to a disk",
            path.display()
        )
    };
    is_volatile.then(warning).into_iter().collect()
}

/// Of `include/uapi/linux/magic.h`.
const RAMFS_MAGIC: FsType = FsType(0x8584_58F6);
