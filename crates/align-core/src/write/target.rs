use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;

use super::WriteError;
use crate::check::{self, Options, Report};
use crate::device::linux::{self, Host, KernelPartition, SysDisk, Use, UseKind};
use crate::device::{BlockDevice, Disk, FileDevice, Source};
use crate::patch::{DiskIdentity, Patch};
use crate::realign::search;
use crate::table::{Partition, Table};
use crate::units::SectorSize;

/// How long is waited for the lock: udev holds it while it looks at a device.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// A disk that is open for writing, under the lock that udev and its kin honour.
pub(crate) struct Target {
    pub(crate) device: FileDevice,
    /// What sysfs has on it, when it is a block device.
    pub(crate) sys: Option<SysDisk>,
    /// Whether the kernel had partitions of it, or looks for them: also when it has let go of all of them since.
    pub(crate) concerns_kernel: bool,
}

/// Refuses what is no whole disk or image of this machine that could be written.
pub(crate) fn check_writable(disk: &Disk) -> Result<(), WriteError> {
    let path = disk.path();
    if let Some(partition) = disk.given_partition() {
        let whole = path.display();
        return Err(WriteError::refused(
            partition,
            format!("is a partition; only a whole disk is written: {whole}"),
        ));
    }
    if disk.source() == Source::Stream {
        return Err(WriteError::refused(path, "standard input cannot be written"));
    }
    if let Some(error) = disk.unread() {
        return Err(WriteError::refused(path, error.to_string()));
    }
    if sys_of(path).is_some_and(|sys| sys.is_read_only()) {
        return Err(WriteError::refused(path, "is read-only: check its switch, or `blockdev --setrw`"));
    }
    Ok(())
}

/// A disk that may be written, with its table.
pub(crate) struct Looked<'d> {
    pub(crate) report: Report,
    pub(crate) table: Table,
    pub(crate) device: &'d dyn BlockDevice,
}

/// Looks at a disk before a new write. One of which an earlier write was cut off is refused.
pub(crate) fn look<'d>(disk: &'d Disk, options: &Options) -> Result<Looked<'d>, WriteError> {
    let path = disk.path();
    check_writable(disk)?;
    let (report, table) = check::examine(disk, options)?;
    // Where nothing in the table says so, the journal of a move is looked for too: what is written stays.
    let moving = disk.device().and_then(search);
    if report.is_unfinished() || moving.is_some() {
        return Err(WriteError::UnfinishedBefore { path: path.to_owned() });
    }
    match (disk.device(), table) {
        (Some(device), Some(table)) => Ok(Looked { report, table, device }),
        _ => Err(WriteError::refused(path, "cannot be read")),
    }
}

impl Target {
    /// Opens the disk for writing and waits for the lock. `exclusively`: nobody can mount any of it meanwhile.
    pub(crate) fn open(path: &Path, exclusively: bool) -> Result<Self, WriteError> {
        let sys = sys_of(path);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if exclusively && sys.is_some() {
            options.custom_flags(libc::O_EXCL);
        }
        let file = options.open(path).map_err(|source| match &sys {
            Some(sys) if linux::is_busy(&source) => {
                let uses = linux::of_block(sys);
                let unknown = || Use {
                    node: path.display().to_string(),
                    partition: None,
                    kind: UseKind::Exclusive,
                    how: "opened exclusively by another program".into(),
                };
                let uses = if uses.is_empty() { vec![unknown()] } else { uses };
                WriteError::InUse { path: path.to_owned(), uses }
            }
            _ => WriteError::Open { path: path.to_owned(), source },
        })?;
        lock(path, &file)?;
        let device = FileDevice::of_writable(file);
        let device = device.map_err(|source| WriteError::Open { path: path.to_owned(), source })?;
        let concerns_kernel = sys.as_ref().is_some_and(|sys| sys.kernel_view().is_concerned());
        Ok(Self { device, sys, concerns_kernel })
    }

    /// Refuses a disk that is not as large as it was when it was looked at.
    pub(crate) fn check_unchanged(&self, path: &Path, size_before: Option<u64>) -> Result<(), WriteError> {
        let size = self.device.size();
        if size == size_before {
            return Ok(());
        }
        let (size, before) = (size.unwrap_or(0), size_before.unwrap_or(0));
        Err(WriteError::refused(path, format!("it has {size} bytes now, and had {before} before")))
    }

    /// Refuses a disk that somebody uses where the patch and the new partitions are in the way.
    pub(crate) fn check_uses(
        &self,
        path: &Path,
        exclusively: bool,
        after: &[Partition],
        unit: SectorSize,
        patch: &Patch,
    ) -> Result<(), WriteError> {
        let (in_the_way, _) = uses(path, after, unit, patch);
        // What is opened exclusively now, is so by ourselves.
        let is_our_own = |used: &Use| exclusively && self.sys.is_some() && used.kind == UseKind::Exclusive;
        let uses: Vec<_> = in_the_way.into_iter().filter(|used| !is_our_own(used)).collect();
        if uses.is_empty() { Ok(()) } else { Err(WriteError::InUse { path: path.to_owned(), uses }) }
    }

    /// What the open disk is known by: not the one that was looked at before, which may have been unplugged since.
    pub(crate) fn identity(&self, path: &Path) -> Option<DiskIdentity> {
        let serial = self.sys.as_ref().and_then(SysDisk::serial);
        Some(DiskIdentity::of(path, self.device.size()?, serial))
    }
}

fn lock(path: &Path, file: &File) -> Result<(), WriteError> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            // A file system without locks has nobody who holds one.
            Err(TryLockError::Error(_)) => return Ok(()),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let by = file.metadata().map(|metadata| linux::locks(&metadata)).unwrap_or_default();
                return Err(WriteError::Locked { path: path.to_owned(), waited: PATIENCE, by });
            }
        }
    }
}

/// Who uses the disk: first those in whose way a change to the partitions `after` would be, then the others. A
/// partition that keeps its number and both of its ends is in nobody's way, unless the patch writes into it.
pub(crate) fn uses(
    path: &Path,
    after: &[Partition],
    unit: SectorSize,
    patch: &Patch,
) -> (Vec<Use>, Vec<Use>) {
    let uses = uses_of(path);
    let Some(sys) = sys_of(path) else { return (uses, Vec::new()) };
    let in_units = u128::from(unit.bytes() / SectorSize::B512.bytes());
    let known = sys.kernel_view().partitions;
    let stays = |number: u32| {
        let known = known.iter().find(|known| known.number == number);
        let after = after.iter().find(|partition| partition.number == number);
        known.zip(after).is_some_and(|(known, after)| {
            !writes_into(patch, known)
                && u128::from(after.first.number()) * in_units == u128::from(known.start_512)
                && after.sectors().map(u128::from).map(|sectors| sectors * in_units)
                    == Some(u128::from(known.size_512))
        })
    };
    uses.into_iter().partition(|used| !used.partition.is_some_and(stays))
}

/// Everybody who uses the disk or the image.
pub(crate) fn uses_of(path: &Path) -> Vec<Use> {
    match sys_of(path) {
        Some(sys) => linux::of_block(&sys),
        None => fs::metadata(path).map(|metadata| linux::of_image(path, &metadata)).unwrap_or_default(),
    }
}

/// Whether a byte of the partition changes, such as the signature of a file system that is cleared.
fn writes_into(patch: &Patch, partition: &KernelPartition) -> bool {
    let byte = |sectors: u64| sectors.saturating_mul(SectorSize::B512.bytes());
    let (start, end) =
        (byte(partition.start_512), byte(partition.start_512.saturating_add(partition.size_512)));
    patch.changes().any(|change| !change.is_kept() && change.offset < end && start < change.end())
}

pub(crate) fn sys_of(path: &Path) -> Option<SysDisk> {
    let is_block = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    is_block.then(|| Host::here().disk_of(path)).flatten()
}
