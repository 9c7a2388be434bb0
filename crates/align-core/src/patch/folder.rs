use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Backup, BackupError, DiskIdentity, Stage};

/// The folder in which backups are kept when no other place is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

/// How the names of backups end.
const SUFFIX: &str = ".backup";
/// As often as another name is tried for the second of its kind in one second.
const MAX_NAMES: u32 = 1000;

impl Folder {
    /// The state folder of the user: `alignck` below `$XDG_STATE_HOME`, or below `~/.local/state`. `None` when
    /// neither that nor `HOME` is set.
    pub fn of_user() -> Option<Self> {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
        Some(Self { path: state.join("alignck") })
    }

    /// Another folder.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in the folder, which is made if need be, for a new backup of `disk`.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new_path(&self, disk: &DiskIdentity) -> Result<PathBuf, BackupError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|source| BackupError::Write { path: self.path.clone(), source })?;
        let name = Path::new(&disk.path).file_name().map(|name| name.to_string_lossy().into_owned());
        let name: String = name.unwrap_or_default().chars().filter(|c| !c.is_control()).take(100).collect();
        let now = Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
        let path = |more: &str| self.path.join(format!("{name}-{now}{more}{SUFFIX}"));
        let numbered = (2..MAX_NAMES).map(|number| path(&format!("-{number}")));
        let mut names = std::iter::once(path("")).chain(numbered);
        Ok(names.find(|path| !path.exists()).unwrap_or_else(|| path("-again")))
    }

    /// All backups of `disk`, the newest first. Files that are no whole backups are left out.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn backups_of(&self, disk: &DiskIdentity) -> Result<Vec<Backup>, BackupError> {
        let files = self.files().map_err(|source| BackupError::Read { path: self.path.clone(), source })?;
        let read = files.iter().filter_map(|path| Backup::read(path).ok());
        let mut backups: Vec<Backup> = read.filter(|backup| backup.disk.is(disk)).collect();
        backups.sort_by_key(|backup| std::cmp::Reverse(backup.made));
        Ok(backups)
    }

    /// The backups whose write was not seen to end, of all disks. What cannot be read is left out.
    pub fn unfinished(&self) -> Vec<Backup> {
        let files = self.files().unwrap_or_default();
        let writing = files.iter().filter(|path| Backup::peek(path) == Some(Stage::Writing));
        writing.filter_map(|path| Backup::read(path).ok()).collect()
    }

    /// The backup with this id.
    pub fn find(&self, id: uuid::Uuid) -> Option<Backup> {
        let files = self.files().unwrap_or_default();
        files.iter().filter_map(|path| Backup::read(path).ok()).find(|backup| backup.id == id)
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            entries => entries?,
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
        paths.sort();
        Ok(paths)
    }
}
