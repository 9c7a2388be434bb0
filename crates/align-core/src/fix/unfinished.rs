use serde::{Deserialize, Serialize};

use super::FixError;
use super::run::{Ending, Fixed};
use crate::check::Options;
use crate::device::{Disk, Reader};
use crate::patch::{Backup, DiskIdentity, Move, Spot};
use crate::realign::{Care, Found, Stand, Watch, find, search};
use crate::table::Table;
use crate::units::SectorSize;
use crate::write::{self, WriteError};

/// A move that began on a disk and did not come to its end.
#[derive(Debug)]
pub struct Unfinished {
    /// Where its journal is.
    pub journal: Spot,
    /// How far it has come.
    pub stand: Stand,
    /// What it moves, and on which disk.
    pub note: Note,
    id: uuid::Uuid,
}

/// What a journal says of the move beside what it needs itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The disk.
    pub disk: DiskIdentity,
    /// What it is, for people.
    pub what: String,
    /// The partitions that move.
    pub moves: Vec<Move>,
    /// The unit of the table, in bytes.
    pub sector_size: u64,
}

impl Unfinished {
    /// The move that is unfinished on the disk, if there is one. `noted` are the backups of which the end was not seen,
    /// of any disk.
    ///
    /// # Errors
    /// When there is one, and its journal cannot be read or is of another disk.
    pub fn find(disk: &Disk, noted: &[Backup]) -> Result<Option<Self>, FixError> {
        let (Some(device), Some(identity)) = (disk.device(), disk.identity()) else { return Ok(None) };
        let unit = disk.reported().logical.and_then(SectorSize::new);
        let table = Table::read(&Reader::new(device), unit).ok();
        let noted: Vec<&Backup> = noted.iter().filter(|backup| backup.disk.is(&identity)).collect();
        let Some(found) = find(device, table.as_ref(), &noted).or_else(|| search(device)) else {
            return Ok(None);
        };
        Self::of(disk, &identity, found).map(Some)
    }

    fn of(disk: &Disk, identity: &DiskIdentity, found: Found) -> Result<Self, FixError> {
        let path = disk.path();
        let refused = |reason: String| FixError::Write(WriteError::refused(path, reason));
        let Found { id, spot, journal } = found;
        let (job, stand) = journal.map_err(|reason| {
            refused(format!(
                "a move of its partitions is unfinished, and its journal is not to be had ({reason}). Connect the medium \
                 that {spot} is on, or name the journal with --journal PATH; write nothing else to this disk"
            ))
        })?;
        let note: Note = serde_json::from_str(&job.note)
            .map_err(|error| refused(format!("the journal of its move says nothing of the disk: {error}")))?;
        match note.disk.mismatch(identity) {
            Some(mismatch) => Err(refused(format!("the journal in {spot} {mismatch}"))),
            None => Ok(Self { journal: spot, stand, note, id }),
        }
    }

    /// Takes the journal from another place than the one that was noted.
    ///
    /// # Errors
    /// When there is none of this disk.
    pub fn with_journal(disk: &Disk, path: &std::path::Path) -> Result<Self, FixError> {
        let refused = |reason: String| FixError::Write(WriteError::refused(disk.path(), reason));
        let identity = disk.identity().ok_or_else(|| refused("its size is not known".into()))?;
        let spot = Spot::File(path.to_owned());
        let file = crate::device::FileDevice::open(path)
            .map_err(|error| refused(format!("the journal {}: {error}", path.display())))?;
        let journal = crate::realign::peek(&file, 0);
        let journal = journal.map_err(|error| refused(format!("{}: {error}", path.display())))?;
        let id = journal.0.id;
        Self::of(disk, &identity, Found { id, spot, journal: Ok(journal) })
    }

    /// Brings it to its end: forward, or back to how it was. One that has all but finished goes forward either way.
    ///
    /// # Errors
    /// When the disk is in use, was changed by somebody else since, or fails.
    pub fn finish(
        self,
        disk: &Disk,
        forward: bool,
        options: &Options,
        care: Care,
        backup: Option<Backup>,
        watch: &mut dyn Watch,
    ) -> Result<Fixed, FixError> {
        let path = disk.path();
        write::check_writable(disk)?;
        let unit = SectorSize::new(self.note.sector_size)
            .ok_or_else(|| WriteError::refused(path, "the journal of its move has no sector size"))?;
        let numbers: Vec<u32> = self.note.moves.iter().map(|moved| moved.number).collect();
        let (in_the_way, others): (Vec<_>, Vec<_>) = write::uses_of(path)
            .into_iter()
            .partition(|used| used.partition.is_none_or(|number| numbers.contains(&number)));
        if !in_the_way.is_empty() {
            return Err(FixError::Write(WriteError::InUse { path: path.to_owned(), uses: in_the_way }));
        }
        let backup = backup.filter(|backup| backup.id == self.id);
        let ending = Ending {
            path,
            spot: &self.journal,
            numbers: &numbers,
            unit,
            options,
            care,
            backup,
            exclusively: others.is_empty(),
        };
        ending.run(forward, watch)
    }

    /// By which its record is known.
    pub fn id(&self) -> uuid::Uuid {
        self.id
    }
}
