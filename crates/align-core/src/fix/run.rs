use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::posix_fallocate;

use super::{FixError, Proposal, Work};
use crate::check::{Options, Report};
use crate::device::linux;
use crate::device::{BlockDevice, BulkDevice, FileDevice, Reader};
use crate::patch::{Backup, Spot, Stage};
use crate::realign::{Care, Ended, Mover, RealignError, Watch, journal_len};
use crate::table::Table;
use crate::units::SectorSize;
use crate::write::{self, BackupPlace, KernelState, Saved, Target, WriteError};

/// What was done.
#[derive(Debug)]
pub struct Fixed {
    /// The disk as it is now.
    pub report: Report,
    /// What the kernel uses now.
    pub kernel: KernelState,
    /// What notes how to move everything back; `None` when nothing had to be moved, or it was taken back.
    pub backup: Option<Backup>,
    /// Whether everything is at its new place; else it is back where it was.
    pub is_forward: bool,
    /// What could not be read and was written as zeros, in bytes from the start of the disk, where it was.
    pub skipped: Vec<Range<u64>>,
    /// What went wrong behind the move, without harm to it.
    pub warnings: Vec<String>,
}

/// Zeros are written in pieces of this length.
const PIECE: u64 = 1 << 20;

pub(super) fn commit(
    proposal: Proposal,
    place: &BackupPlace,
    watch: &mut dyn Watch,
) -> Result<Fixed, FixError> {
    let path = proposal.path.clone();
    let Some(work) = proposal.work else {
        return Ok(Fixed {
            report: proposal.before,
            kernel: KernelState::NotConcerned,
            backup: None,
            is_forward: true,
            skipped: Vec::new(),
            warnings: Vec::new(),
        });
    };
    let exclusively = proposal.uses.is_empty();
    let target = Target::open(&path, exclusively)?;
    target.check_unchanged(&path, proposal.before.size)?;
    target.check_uses(&path, exclusively, &proposal.table.partitions, proposal.unit, &work.patch)?;
    let old_table = read_table(&target, proposal.unit)?;
    let numbers: Vec<u32> = proposal.moves.iter().map(|moved| moved.number).collect();
    forget_nodes(&path, &target, &numbers, &old_table)?;

    let identity =
        target.identity(&path).ok_or_else(|| WriteError::refused(&path, "its size is not known"))?;
    let Work { job, window, moved, patch, undoes } = work;
    let undone = undoes.as_ref().map(|backup| backup.id);
    let saved = Saved::new(place, &identity, |file| Backup {
        id: job.id,
        undoes: undone,
        moved: Some(moved.clone()),
        ..Backup::new(file, identity.clone(), proposal.what.clone(), proposal.unit, patch)
    });
    let give_back_nodes = || linux_rescan(&target, &old_table);
    let mut saved = saved.inspect_err(|_| give_back_nodes())?;
    let not_begun = |source: RealignError| {
        saved.discard();
        give_back_nodes();
        FixError::NotBegun { path: path.clone(), source: Box::new(source) }
    };
    let journal = JournalDevice::create(&moved.journal, journal_len(&job, window)).map_err(|error| {
        not_begun(RealignError::Journal { offset: 0, reason: format!("{}: {error}", moved.journal) })
    })?;
    let disk = bulk(&path, &target).inspect_err(|_| {
        let _ = journal.remove(&target.device, 0);
        saved.discard();
        give_back_nodes();
    })?;
    let (device, start) = journal.device(&disk);
    let begun = Mover::begin(&disk, device, start, &job, window);
    let mut mover = match begun {
        Ok(mover) => mover.with_care(proposal.care),
        Err(error) => {
            let _ = journal.remove(&target.device, journal_len(&job, window));
            return Err(not_begun(error));
        }
    };
    let ended = mover.forward(watch).map_err(|source| FixError::Unfinished {
        path: path.clone(),
        journal: moved.journal.clone(),
        source: Box::new(source),
    })?;
    let skipped = mover.skipped().to_vec();
    let len = mover.journal_len();
    drop(mover);
    write::mark(&mut saved.backup, Stage::Written, &mut saved.warnings);
    if let Some(mut undone) = undoes {
        write::mark(&mut undone, Stage::Undone, &mut saved.warnings);
    }
    close(&journal, &target, len, &mut saved.warnings);
    let settled = write::settle(&path, target, &proposal.table, proposal.unit, &proposal.options)?;
    saved.warnings.extend(settled.warnings);
    Ok(Fixed {
        report: settled.report,
        kernel: settled.kernel,
        backup: Some(saved.backup),
        is_forward: ended == Ended::Forward,
        skipped,
        warnings: saved.warnings,
    })
}

/// How an unfinished move is brought to its end.
pub(super) struct Ending<'a> {
    pub(super) path: &'a Path,
    pub(super) spot: &'a Spot,
    pub(super) numbers: &'a [u32],
    pub(super) unit: SectorSize,
    pub(super) options: &'a Options,
    pub(super) care: Care,
    pub(super) backup: Option<Backup>,
    pub(super) exclusively: bool,
}

impl Ending<'_> {
    pub(super) fn run(self, forward: bool, watch: &mut dyn Watch) -> Result<Fixed, FixError> {
        let path = self.path;
        let target = Target::open(path, self.exclusively)?;
        let old_table = read_table(&target, self.unit)?;
        forget_nodes(path, &target, self.numbers, &old_table)?;
        let unfinished = |source: RealignError| FixError::Unfinished {
            path: path.to_owned(),
            journal: self.spot.clone(),
            source: Box::new(source),
        };
        let journal = JournalDevice::open(self.spot).map_err(|error| {
            unfinished(RealignError::Journal { offset: 0, reason: format!("{}: {error}", self.spot) })
        })?;
        let disk = bulk(path, &target)?;
        let (device, start) = journal.device(&disk);
        let mover = Mover::recover(&disk, device, start).map_err(unfinished)?;
        let mut mover = mover.with_care(self.care);
        let ended = if forward { mover.forward(watch) } else { mover.back(watch) }.map_err(unfinished)?;
        let skipped = mover.skipped().to_vec();
        let len = mover.journal_len();
        drop(mover);
        let mut warnings = Vec::new();
        let is_forward = ended == Ended::Forward;
        let backup = self.backup.map(|mut backup| {
            let stage = if is_forward { Stage::Written } else { Stage::Undone };
            write::mark(&mut backup, stage, &mut warnings);
            backup
        });
        close(&journal, &target, len, &mut warnings);
        let table = read_table(&target, self.unit)?;
        let settled = write::settle(path, target, &table, self.unit, self.options)?;
        warnings.extend(settled.warnings);
        Ok(Fixed {
            report: settled.report,
            kernel: settled.kernel,
            backup: backup.filter(|_| is_forward),
            is_forward,
            skipped,
            warnings,
        })
    }
}

/// The open disk once more, for much that is read and written.
fn bulk(path: &Path, target: &Target) -> Result<BulkDevice, FixError> {
    let opened = target.device.file().try_clone().and_then(FileDevice::of_writable);
    let opened = opened.map_err(|source| WriteError::Open { path: path.to_owned(), source });
    Ok(BulkDevice::new(opened?))
}

fn read_table(target: &Target, unit: SectorSize) -> Result<Table, FixError> {
    Table::read(&Reader::new(&target.device), Some(unit))
        .map_err(|source| FixError::Read { partition: None, source })
}

/// Nobody can begin to use what moves: the kernel has no such partitions any more.
fn forget_nodes(path: &Path, target: &Target, numbers: &[u32], table: &Table) -> Result<(), FixError> {
    let Some(sys) = &target.sys else { return Ok(()) };
    linux::delete_partitions(target.device.file(), sys, numbers).map_err(|number| {
        linux_rescan(target, table);
        FixError::Write(WriteError::refused(
            path,
            format!(
                "partition {number} is in use: the kernel does not let it go; unmount it, and close what is on top of it"
            ),
        ))
    })
}

fn linux_rescan(target: &Target, table: &Table) {
    if let Some(sys) = target.sys.as_ref().filter(|_| target.concerns_kernel) {
        linux::rescan(target.device.file(), sys, table);
    }
}

/// A journal that nobody needs any more goes; one that stays is only in the way.
fn close(journal: &JournalDevice, target: &Target, len: u64, warnings: &mut Vec<String>) {
    if let Err(error) = journal.remove(&target.device, len) {
        warnings.push(format!("the journal, which is not needed any more, cannot be removed: {error}"));
    }
}

/// Where the journal is, open.
enum JournalDevice {
    OnDisk(u64),
    InFile { path: PathBuf, device: BulkDevice },
}

impl JournalDevice {
    /// A file with room for the journal, on its medium.
    fn create(spot: &Spot, len: u64) -> io::Result<Self> {
        let path = match spot {
            Spot::Disk(start) => return Ok(Self::OnDisk(*start)),
            Spot::File(path) => path.clone(),
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let made = reserve(&file, len).and_then(|()| {
            file.sync_all()?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())?;
            Ok(BulkDevice::new(FileDevice::of_writable(file)?))
        });
        match made {
            Ok(device) => Ok(Self::InFile { path, device }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    fn open(spot: &Spot) -> io::Result<Self> {
        Ok(match spot {
            Spot::Disk(start) => Self::OnDisk(*start),
            Spot::File(path) => {
                let device = BulkDevice::new(FileDevice::open_writable(path)?);
                Self::InFile { path: path.clone(), device }
            }
        })
    }

    fn device<'d>(&'d self, disk: &'d BulkDevice) -> (&'d dyn BlockDevice, u64) {
        match self {
            Self::OnDisk(start) => (disk, *start),
            Self::InFile { device, .. } => (device, 0),
        }
    }

    fn remove(&self, disk: &FileDevice, len: u64) -> io::Result<()> {
        match self {
            Self::InFile { path, .. } => fs::remove_file(path),
            // As it was; the head last, by which it is known.
            Self::OnDisk(start) => {
                let mut left = len;
                while left > 0 {
                    let piece = left.min(PIECE);
                    left = left.saturating_sub(piece);
                    let zeros = vec![0; usize::try_from(piece).unwrap_or(0)];
                    disk.write_at(start.saturating_add(left), &zeros)?;
                }
                disk.flush()
            }
        }
    }
}

/// Takes the room for the file now, and not in the middle of the move.
fn reserve(file: &File, len: u64) -> io::Result<()> {
    let len_i64 = i64::try_from(len).map_err(io::Error::other)?;
    match posix_fallocate(file, 0, len_i64) {
        Ok(()) => Ok(()),
        Err(nix::errno::Errno::EOPNOTSUPP | nix::errno::Errno::EINVAL) => file.set_len(len),
        Err(error) => Err(error.into()),
    }
}
