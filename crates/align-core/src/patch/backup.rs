use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use nix::libc;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use super::{Bytes, Change, Moved, Patch};
use crate::units::SectorSize;

/// The first line, and the beginning of the second, in front of the word for the stage.
const PREAMBLE: &str = "alignck backup 1\nstage ";
/// Every word for a stage is as long as this, so one takes the place of the other.
const STAGE_LEN: usize = 7;
/// Larger files are none of ours: a patch of tables has some hundred KiB.
const MAX_LEN: u64 = 256 << 20;

/// A patch that was saved before it is written: what puts everything back, and what shows that a write was cut off.
///
/// The file is text: a line for the format, one for the stage, one with the checksum of the rest, and JSON.
#[derive(Clone, Debug)]
pub struct Backup {
    /// The file.
    pub path: PathBuf,
    /// How far the write came, as the file says. The bytes of the disk say it better: [`Patch::state`].
    pub stage: Stage,
    /// Names this write.
    pub id: Uuid,
    /// When it was made.
    pub made: Timestamp,
    /// The disk that it is of.
    pub disk: DiskIdentity,
    /// What was written, for people: "a GPT with 3 partitions".
    pub what: String,
    /// The backup that this write put back, if it did.
    pub undoes: Option<Uuid>,
    /// The unit of the table that was written.
    pub sector_size: SectorSize,
    /// The changes. Of a move those of the table.
    pub patch: Patch,
    /// What moved beside, if something did: then neither the patch alone puts it back, nor finishes it.
    pub moved: Option<Moved>,
}

/// How far a write came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It was about to begin.
    Writing,
    /// All was written.
    Written,
    /// All was written and put back later.
    Undone,
}

/// What a disk is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskIdentity {
    /// Its path; of an image with all links resolved.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// The world-wide name or serial number, where there is one.
    pub serial: Option<String>,
}

/// Why a backup cannot be used or made. The text names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackupError {
    /// It cannot be read.
    #[error("{}: the backup cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is no backup, or a damaged one.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// It cannot be written, so the disk is not either.
    #[error("{}: the backup cannot be written: {source}; name another place with --backup PATH", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no folder for it.
    #[error(
        "there is no place for the backup: neither XDG_STATE_HOME nor HOME is set; name one with --backup PATH"
    )]
    NoFolder,
}

/// The JSON below the preamble.
#[derive(Serialize, Deserialize)]
struct Body {
    id: Uuid,
    made: Timestamp,
    disk: DiskIdentity,
    what: String,
    undoes: Option<Uuid>,
    sector_size: u64,
    steps: Vec<Vec<ChangeBody>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved: Option<Moved>,
}

#[derive(Serialize, Deserialize)]
struct ChangeBody {
    offset: u64,
    #[serde(with = "hex::serde")]
    before: Vec<u8>,
    /// `None`: what was there stays.
    after: Option<Bytes>,
}

impl Backup {
    /// A backup that is about to be written to `path`.
    pub fn new(
        path: PathBuf,
        disk: DiskIdentity,
        what: String,
        sector_size: SectorSize,
        patch: Patch,
    ) -> Self {
        Self {
            path,
            stage: Stage::Writing,
            id: Uuid::new_v4(),
            made: Timestamp::now(),
            disk,
            what,
            undoes: None,
            sector_size,
            patch,
            moved: None,
        }
    }

    /// Writes the file and its folder to the medium. It must not exist.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn save(&self) -> Result<(), BackupError> {
        let failed = |source| BackupError::Write { path: self.path.clone(), source };
        let body = serde_json::to_string(&self.body()).map_err(io::Error::other).map_err(failed)?;
        let text =
            format!("{PREAMBLE}{}\ncrc32 {:08x}\n{body}\n", self.stage, crc32fast::hash(body.as_bytes()));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&self.path).map_err(failed)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let sync_folder =
            || File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        let saved =
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| sync_folder());
        saved.map_err(|source| {
            // Half a backup is none, and it would be in the way of the next attempt.
            let _ = fs::remove_file(&self.path);
            failed(source)
        })
    }

    /// When it was made, for people: to the second, in UTC.
    pub fn made_text(&self) -> String {
        self.made.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    }

    /// Notes in the file how far the write came. It is not urgent: the bytes of the disk tell the same.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn mark(&mut self, stage: Stage) -> Result<(), BackupError> {
        let word = format!("{stage}");
        let file = OpenOptions::new().write(true).open(&self.path);
        file.and_then(|file| file.write_all_at(word.as_bytes(), PREAMBLE.len() as u64))
            .map_err(|source| BackupError::Write { path: self.path.clone(), source })?;
        self.stage = stage;
        Ok(())
    }

    /// Reads a backup.
    ///
    /// # Errors
    /// When the file cannot be read, is no backup, or its checksum is wrong.
    pub fn read(path: &Path) -> Result<Self, BackupError> {
        let failed = |source| BackupError::Read { path: path.to_owned(), source };
        let damaged = |reason: String| BackupError::Damaged { path: path.to_owned(), reason };
        let file = open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() || metadata.len() > MAX_LEN {
            return Err(damaged("is not a backup file of alignck".into()));
        }
        let mut bytes = Vec::new();
        file.take(MAX_LEN).read_to_end(&mut bytes).map_err(failed)?;
        Self::parse(path, &bytes)
    }

    /// The backup that `path` holds, from its bytes.
    ///
    /// # Errors
    /// When it is no backup, or its checksum is wrong.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, BackupError> {
        let damaged = |reason: String| BackupError::Damaged { path: path.to_owned(), reason };
        let not_ours = || damaged("is not a backup file of alignck, or of a newer one".into());
        let stage = stage(bytes).ok_or_else(not_ours)?;
        let text = std::str::from_utf8(bytes).map_err(|_| not_ours())?;
        let mut lines = text.lines().skip(2);
        let crc = lines.next().and_then(|line| line.strip_prefix("crc32 ")).ok_or_else(not_ours)?;
        let body = lines.next().unwrap_or_default();
        let found = format!("{:08x}", crc32fast::hash(body.as_bytes()));
        if found != crc {
            return Err(damaged(format!(
                "the backup is damaged or was cut off: its checksum is {found}, not {crc}; nothing in it can be trusted"
            )));
        }
        let body: Body = serde_json::from_str(body).map_err(|error| damaged(error.to_string()))?;
        Self::of(path, stage, body).ok_or_else(|| damaged("its two sides do not have the same length".into()))
    }

    /// The stage of the backup at `path`, without reading all of it; `None` when it is none.
    pub(super) fn peek(path: &Path) -> Option<Stage> {
        let mut head = [0; PREAMBLE.len() + STAGE_LEN];
        open(path).ok()?.read_exact(&mut head).ok()?;
        stage(&head)
    }

    fn of(path: &Path, stage: Stage, body: Body) -> Option<Self> {
        let change = |change: ChangeBody| {
            let after = change.after.map_or_else(|| change.before.clone(), |after| after.0);
            (after.len() == change.before.len()).then_some(Change {
                offset: change.offset,
                before: change.before,
                after,
            })
        };
        let steps = body.steps.into_iter().map(|step| step.into_iter().map(change).collect());
        Some(Self {
            path: path.to_owned(),
            stage,
            id: body.id,
            made: body.made,
            disk: body.disk,
            what: body.what,
            undoes: body.undoes,
            sector_size: SectorSize::new(body.sector_size)?,
            patch: Patch { steps: steps.collect::<Option<_>>()? },
            moved: body.moved,
        })
    }

    fn body(&self) -> Body {
        let change = |change: &Change| ChangeBody {
            offset: change.offset,
            before: change.before.clone(),
            after: (!change.is_kept()).then(|| Bytes(change.after.clone())),
        };
        Body {
            id: self.id,
            made: self.made,
            disk: self.disk.clone(),
            what: self.what.clone(),
            undoes: self.undoes,
            sector_size: self.sector_size.bytes(),
            steps: self.patch.steps.iter().map(|step| step.iter().map(change).collect()).collect(),
            moved: self.moved.clone(),
        }
    }
}

/// Of a pipe without a writer, too: its end is reached at once.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

fn stage(head: &[u8]) -> Option<Stage> {
    let word = head.strip_prefix(PREAMBLE.as_bytes())?.get(..STAGE_LEN)?;
    [Stage::Writing, Stage::Written, Stage::Undone]
        .into_iter()
        .find(|stage| stage.to_string().as_bytes() == word)
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Writing => "writing",
            Self::Written => "written",
            Self::Undone => "undone ",
        })
    }
}

impl DiskIdentity {
    /// Of the disk at `path`, of which links are followed.
    pub(crate) fn of(path: &Path, size: u64, serial: Option<String>) -> Self {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Self { path: path.to_string_lossy().into_owned(), size, serial }
    }

    /// Why `other` is another disk, as far as can be told; it continues "the backup ...". Paths are not compared:
    /// disks change their names, and images are copied.
    pub fn mismatch(&self, other: &Self) -> Option<String> {
        match (&self.serial, &other.serial) {
            (Some(own), Some(other)) if own != other => {
                return Some(format!("is of the disk with serial number {own}, this is {other}"));
            }
            _ => {}
        }
        (self.size != other.size)
            .then(|| format!("is of a disk of {} bytes, this one has {}", self.size, other.size))
    }

    /// Whether `other` is surely meant: the same serial number, or without one the same path; and the same size.
    pub fn is(&self, other: &Self) -> bool {
        let same_place = match (&self.serial, &other.serial) {
            (Some(own), Some(other)) => own == other,
            _ => self.path == other.path,
        };
        same_place && self.size == other.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::MemoryDevice;
    use crate::patch::Draft;

    fn backup(path: PathBuf) -> Backup {
        let mut draft = Draft::new();
        draft.write(0, vec![0xA5; 512]);
        draft.barrier();
        draft.keep(4096, 512);
        let patch = draft.against(&MemoryDevice::new(1 << 20)).unwrap();
        let disk = DiskIdentity { path: "/dev/sdz".into(), size: 1 << 20, serial: Some("S1".into()) };
        Backup::new(path, disk, "a test".into(), SectorSize::B512, patch)
    }

    #[test]
    fn what_is_saved_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut saved = backup(folder.path().join("one.backup"));
        saved.save().unwrap();
        let read = Backup::read(&saved.path).unwrap();
        assert_eq!((read.id, read.made, &read.patch), (saved.id, saved.made, &saved.patch));
        assert_eq!(read.stage, Stage::Writing);
        saved.mark(Stage::Undone).unwrap();
        assert_eq!(Backup::read(&saved.path).unwrap().stage, Stage::Undone);
        assert!(saved.save().is_err(), "a backup is never overwritten");
    }

    #[test]
    fn a_pipe_is_no_backup_and_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.backup");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(Backup::peek(&path), None);
        assert!(matches!(Backup::read(&path), Err(BackupError::Damaged { .. })));
    }

    #[test]
    fn no_damaged_byte_goes_unnoticed() {
        let folder = tempfile::tempdir().unwrap();
        let saved = backup(folder.path().join("one.backup"));
        saved.save().unwrap();
        let whole = std::fs::read(&saved.path).unwrap();
        let stage = PREAMBLE.len()..PREAMBLE.len() + STAGE_LEN;
        for at in (0..whole.len() - 1).filter(|at| !stage.contains(at)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&saved.path, &bytes).unwrap();
            assert!(Backup::read(&saved.path).is_err(), "byte {at}");
            std::fs::write(&saved.path, &whole[..at]).unwrap();
            assert!(Backup::read(&saved.path).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn another_disk_is_told_apart() {
        let disk = |path: &str, size, serial: Option<&str>| DiskIdentity {
            path: path.into(),
            size,
            serial: serial.map(Into::into),
        };
        let own = disk("/dev/sda", 1000, Some("A"));
        assert!(own.is(&disk("/dev/sdb", 1000, Some("A"))), "it was plugged in elsewhere");
        assert!(!own.is(&disk("/dev/sda", 1000, Some("B"))));
        assert!(own.mismatch(&disk("/dev/sda", 1000, Some("B"))).unwrap().contains("serial number A"));
        assert!(own.mismatch(&disk("/dev/sda", 999, None)).unwrap().contains("1000 bytes, this one has 999"));
        assert_eq!(own.mismatch(&disk("/tmp/copy.img", 1000, None)), None);
    }
}
