//! Moves misaligned partitions to where they should be, with every byte.
//!
//! A [`Proposal`] says before anything is written which partitions go where, why others cannot, what will need
//! attention afterwards, and how the disk will look. [`Proposal::commit`] does it by way of [`realign`](crate::realign):
//! whatever happens meanwhile, [`Unfinished`] finds what was begun, and finishes it or takes it back.
//!
//! ```no_run
//! use align_core::device::Disk;
//! use align_core::fix::{Proposal, Wishes};
//! use align_core::patch::Folder;
//! use align_core::realign::Quiet;
//! use align_core::write::BackupPlace;
//!
//! let disk = Disk::open("/dev/sdz")?;
//! let folder = Folder::of_user().expect("HOME is set");
//! let proposal = Proposal::of_fix(&disk, &Wishes { state: Some(folder.clone()), ..Wishes::default() })?;
//! for moved in &proposal.moves {
//!     println!("partition {}: byte {} to byte {}", moved.number, moved.from, moved.to);
//! }
//! let fixed = proposal.commit(&BackupPlace::Folder(folder), &mut Quiet)?;
//! println!("it is {} now", fixed.report.status.word());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod attention;
mod choose;
mod draw_up;
mod error;
mod parts;
mod propose;
mod run;
mod spot;
mod unfinished;

pub use error::FixError;
pub use propose::table_only;
pub use run::Fixed;
pub use unfinished::{Note, Unfinished};

use std::path::PathBuf;

use uuid::Uuid;

use crate::check::{Options, Report};
use crate::device::linux::Use;
use crate::device::{BlockDevice, Disk, ReadError};
use crate::patch::{Backup, Folder, Move, Moved, Patch};
use crate::realign::{Care, Job, Watch};
use crate::table::Table;
use crate::units::{Lba, SectorSize};
use crate::write::BackupPlace;

/// How partitions are to be moved.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// What the disk is taken for.
    pub options: Options,
    /// The numbers of the partitions; none: all that are misaligned.
    pub partitions: Vec<u32>,
    /// Where the one partition that is named shall begin, in sectors of the table.
    pub to: Option<Lba>,
    /// Also over what lies in front of the first partition, and to a place off the physical sectors.
    pub force: bool,
    /// Where the journal goes: a new file, or a folder.
    pub journal: Option<PathBuf>,
    /// Where it goes when nothing is named and the disk has no room for it.
    pub state: Option<Folder>,
    /// How carefully bytes are moved.
    pub care: Care,
}

/// A move that is worked out and not done yet.
#[derive(Debug)]
pub struct Proposal {
    /// The disk as it is.
    pub before: Report,
    /// The disk as it will be.
    pub after: Report,
    /// What moves, in the order of the disk.
    pub moves: Vec<Move>,
    /// The partitions that should move and cannot: number, and why, with what would help.
    pub stuck: Vec<(u32, String)>,
    /// What is worth knowing before it is done.
    pub warnings: Vec<String>,
    /// What will need attention afterwards.
    pub attention: Vec<String>,
    /// Who uses the disk, without being touched by this.
    pub uses: Vec<Use>,
    /// About how long it takes, in seconds, by a short measurement; `None` where that was not possible.
    pub seconds: Option<u64>,
    /// What it is, for people.
    pub what: String,
    work: Option<Work>,
    table: Table,
    unit: SectorSize,
    options: Options,
    path: PathBuf,
    care: Care,
}

/// What is done when partitions move.
#[derive(Debug)]
struct Work {
    job: Job,
    window: u64,
    moved: Moved,
    patch: Patch,
    undoes: Option<Box<Backup>>,
}

impl Proposal {
    /// Works out where the misaligned partitions of a disk can go.
    ///
    /// # Errors
    /// When the disk cannot be read, its table is not whole, a partition that would move is in use or cannot be moved,
    /// or there is no place for the journal.
    pub fn of_fix(disk: &Disk, wishes: &Wishes) -> Result<Self, FixError> {
        propose::fix(disk, wishes)
    }

    /// Works out how a finished move is taken back by moving everything to where it was.
    ///
    /// # Errors
    /// As [`of_fix`](Self::of_fix); also when the partitions have changed since.
    pub fn of_undo(disk: &Disk, backup: Backup, wishes: &Wishes) -> Result<Self, FixError> {
        propose::undo(disk, backup, wishes)
    }

    /// Whether nothing moves.
    pub fn changes_nothing(&self) -> bool {
        self.work.is_none()
    }

    /// How many bytes move.
    pub fn bytes(&self) -> u64 {
        self.moves.iter().fold(0, |sum, moved| sum.saturating_add(moved.len))
    }

    /// Where the journal will be, for people; `None` when nothing moves.
    pub fn journal(&self) -> Option<&crate::patch::Spot> {
        self.work.as_ref().map(|work| &work.moved.journal)
    }

    /// The id of the move, by which its journal and its backup are known.
    pub fn id(&self) -> Option<Uuid> {
        self.work.as_ref().map(|work| work.job.id)
    }

    /// What is done, with the longest step that goes through its journal: for whoever does it on another device than the
    /// disk, such as a simulated one.
    pub fn job(&self) -> Option<(&Job, u64)> {
        self.work.as_ref().map(|work| (&work.job, work.window))
    }

    /// Does it.
    ///
    /// # Errors
    /// When the disk is not as it was, or in use now: nothing was moved. When it failed or was stopped in the middle:
    /// [`FixError::is_unfinished`], and nothing is lost.
    pub fn commit(self, place: &BackupPlace, watch: &mut dyn Watch) -> Result<Fixed, FixError> {
        run::commit(self, place, watch)
    }
}

/// The bytes of a partition.
struct Inside<'d> {
    device: &'d dyn BlockDevice,
    start: u64,
    len: u64,
}

impl Inside<'_> {
    fn read_raw(&self, offset: u64, len: usize) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; len];
        self.device.read_at(self.start.saturating_add(offset), &mut bytes)?;
        Ok(bytes)
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, FixError> {
        self.read_raw(offset, len).map_err(|source| FixError::Read { partition: None, source })
    }
}
