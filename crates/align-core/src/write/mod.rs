//! From a layout to a changed disk, and back.
//!
//! A [`Proposal`] is everything that is known before anything is written: what is there, what will be, the patch in
//! between, and what speaks against it. It was tried on a copy in memory already. [`Proposal::commit`] does it: under the
//! lock that udev honours, after one more look at who uses the disk and whether it is still the same, with a backup
//! first, flushes in between, and a look at the result.
//!
//! ```no_run
//! use align_core::device::Disk;
//! use align_core::patch::Folder;
//! use align_core::plan::{Request, TableKind};
//! use align_core::units::Size;
//! use align_core::write::{BackupPlace, Proposal, Wishes};
//!
//! let disk = Disk::open("/dev/sdz")?;
//! let wishes = Wishes::default();
//! let medium = Proposal::medium(&disk, &wishes.options)?;
//! let layout = Request::new(TableKind::Gpt, [Size::Bytes(10 << 30), Size::Rest]).lay_out(&medium)?;
//! let proposal = Proposal::of_layout(&disk, &layout, &wishes)?;
//! assert!(proposal.uses.is_empty(), "nobody uses it");
//! let folder = Folder::of_user().expect("HOME is set");
//! let written = proposal.commit(&BackupPlace::Folder(folder))?;
//! println!("the old table is in {}", written.backup.expect("something changed").path.display());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commit;
mod convert;
mod error;
mod layout;
mod past;
mod rehearsal;
mod target;

pub use commit::{KernelState, Written};
pub use error::WriteError;

pub(crate) use commit::{Saved, is_in_memory, mark, settle};
pub(crate) use layout::{check_editable, check_health};
pub(crate) use rehearsal::Rehearsal;
pub(crate) use target::{Looked, Target, check_writable, look, sys_of, uses, uses_of};

use std::path::PathBuf;

use crate::check::{self, Options, Report};
use crate::compose::Arrangement;
use crate::device::Disk;
use crate::device::linux::Use;
use crate::patch::{Backup, Folder, Patch, Side};
use crate::plan::{Layout, Medium};
use crate::table::{Fingerprint, Partition, Table};
use crate::units::SectorSize;

/// How a layout is to be written.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// What the disk is taken for.
    pub options: Options,
    /// Whether file systems that begin where new partitions do are cleared.
    pub wipe: bool,
    /// What the disk looked like when the layout was made for it; another disk is refused.
    pub fingerprint: Option<Fingerprint>,
}

/// Where the bytes are saved that a write replaces.
#[derive(Clone, Debug)]
pub enum BackupPlace {
    /// A file in this folder, with a name of its own.
    Folder(Folder),
    /// A new file.
    File {
        /// The file, which must not exist; or a folder, in which it gets a name of its own.
        path: PathBuf,
        /// The folder in which a link to it is left, so that it is found without being named.
        known_in: Option<Folder>,
    },
}

/// A write that is worked out, tried on a copy, and not done yet.
#[derive(Debug)]
pub struct Proposal {
    /// The disk as it is.
    pub before: Report,
    /// The disk as it will be.
    pub after: Report,
    /// What changes.
    pub patch: Patch,
    /// What it is, for people: "a GPT with 3 partitions".
    pub what: String,
    /// File systems that begin where new partitions do: number and name.
    pub contents: Vec<(u32, &'static str)>,
    /// What is worth knowing before it is done.
    pub warnings: Vec<String>,
    /// Who uses the disk, without being touched by this.
    pub uses: Vec<Use>,
    /// Whether the table can be read after every change of the write, as the old one or the new one. Else a power cut
    /// leaves a disk that has to be finished or taken back.
    pub always_readable: bool,
    /// The partitions as they will be.
    table: Table,
    unit: SectorSize,
    action: Action,
    options: Options,
    path: PathBuf,
}

/// How the patch is to be written.
#[derive(Debug)]
enum Action {
    /// As a new write, which undoes this one.
    Write { undoes: Option<Box<Backup>> },
    /// As the end of a write that was cut off, on one of its sides.
    Recover { backup: Box<Backup>, side: Side },
}

impl Proposal {
    /// What a plan for this disk needs to know of it.
    ///
    /// # Errors
    /// When the disk cannot be looked at.
    pub fn medium(disk: &Disk, options: &Options) -> Result<Medium, WriteError> {
        let report = check::run(disk, options)?;
        Ok(Medium::of(disk.size().unwrap_or(0), report.topology))
    }

    /// Works out how the layout gets on the disk.
    ///
    /// # Errors
    /// When it is not for this disk, the disk is in use where it would change, or the result would not be right.
    pub fn of_layout(disk: &Disk, layout: &Layout, wishes: &Wishes) -> Result<Self, WriteError> {
        layout::propose(disk, layout, wishes)
    }

    /// Works out how the table is written for sectors of another size, every partition keeping its bytes. `force` does
    /// it also on a device that does not have such sectors.
    ///
    /// # Errors
    /// When a partition cannot be described in such sectors, the table is not whole, or the disk is in use.
    pub fn of_conversion(
        disk: &Disk,
        to: SectorSize,
        options: &Options,
        force: bool,
    ) -> Result<Self, WriteError> {
        convert::propose(disk, to, options, force)
    }

    /// Works out how entries of the table are changed, and nothing else.
    pub(crate) fn of_arrangement(
        disk: &Disk,
        arrangement: &Arrangement,
        what: String,
        options: &Options,
    ) -> Result<Self, WriteError> {
        layout::propose_arrangement(disk, arrangement, what, options)
    }

    /// Works out how a finished write, or one that was cut off, is put back. `force` puts it back over what others
    /// wrote there since.
    ///
    /// # Errors
    /// When the backup is of another disk, the disk is in use, or it does not hold what was written (without `force`).
    pub fn of_undo(disk: &Disk, backup: Backup, options: &Options, force: bool) -> Result<Self, WriteError> {
        past::undo(disk, backup, options, force)
    }

    /// Works out how a write that was cut off is finished.
    ///
    /// # Errors
    /// When the backup is of another disk, the disk is in use, or something else wrote to it since.
    pub fn of_resume(disk: &Disk, backup: Backup, options: &Options) -> Result<Self, WriteError> {
        past::resume(disk, backup, options)
    }

    /// The partitions as they will be.
    pub fn partitions(&self) -> &[Partition] {
        &self.table.partitions
    }

    /// Whether there is nothing to do: the disk is like that already.
    pub fn changes_nothing(&self) -> bool {
        matches!(self.action, Action::Write { .. }) && self.patch.is_empty()
    }

    /// Whether it ends a write that was cut off: then the backup of that write serves again, and no new one is made.
    pub fn is_recovery(&self) -> bool {
        matches!(self.action, Action::Recover { .. })
    }

    /// Does it.
    ///
    /// # Errors
    /// When the disk is not as it was, or in use now: nothing was written. When it failed in the middle:
    /// [`WriteError::is_unfinished`], and the backup finishes it or takes it back.
    pub fn commit(self, place: &BackupPlace) -> Result<Written, WriteError> {
        commit::commit(self, place)
    }
}
