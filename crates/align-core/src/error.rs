use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

use crate::device::ReadError;

/// Why a disk could not be looked at. Its text names the path, the reason and the remedy.
///
/// What *was* seen on a disk is never an error but a [`Finding`](crate::check::Finding).
#[derive(Debug, ThisError)]
#[error(transparent)]
pub struct Error(#[from] ErrorKind);

#[derive(Debug, ThisError)]
enum ErrorKind {
    #[error("{}: {}", path.display(), explain_open(source))]
    Open { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("{}: this is {name}, not a disk: {remedy}", path.display())]
    Container { path: PathBuf, name: &'static str, remedy: &'static str },
    #[error("{}: {source}; the drive or its connection is failing: copy it with ddrescue before anything else", path.display())]
    Read { path: PathBuf, source: ReadError },
    #[error("the list of disks in {} could not be read: {source}", path.display())]
    List { path: PathBuf, source: io::Error },
}

impl Error {
    /// Whether the operating system did not permit it; root may be needed.
    pub fn is_permission(&self) -> bool {
        matches!(&self.0, ErrorKind::Open { source, .. } if is_permission(source))
    }

    /// Whether the drive is there but holds no medium.
    pub fn is_no_medium(&self) -> bool {
        matches!(&self.0, ErrorKind::Open { source, .. }
            if source.raw_os_error() == Some(nix::libc::ENOMEDIUM))
    }

    /// Whether the input is an image in a format that has to be unpacked or converted first.
    pub fn is_foreign_container(&self) -> bool {
        matches!(self.0, ErrorKind::Container { .. })
    }

    pub(crate) fn open(path: &Path, source: io::Error) -> Self {
        ErrorKind::Open { path: path.to_owned(), source }.into()
    }

    /// What is at `path` cannot be used as a disk, for a reason that continues "PATH: ...".
    pub fn unusable(path: &Path, reason: impl Into<String>) -> Self {
        ErrorKind::Unusable { path: path.to_owned(), reason: reason.into() }.into()
    }

    pub(crate) fn container(path: &Path, name: &'static str, remedy: &'static str) -> Self {
        ErrorKind::Container { path: path.to_owned(), name, remedy }.into()
    }

    pub(crate) fn read(path: &Path, source: ReadError) -> Self {
        ErrorKind::Read { path: path.to_owned(), source }.into()
    }

    pub(crate) fn list(path: &Path, source: io::Error) -> Self {
        ErrorKind::List { path: path.to_owned(), source }.into()
    }
}

fn is_permission(source: &io::Error) -> bool {
    source.kind() == io::ErrorKind::PermissionDenied
}

fn explain_open(source: &io::Error) -> String {
    let remedy = match source.kind() {
        io::ErrorKind::PermissionDenied if nix::unistd::geteuid().is_root() => {
            "; not even root may: it is locked, or kept from this container"
        }
        io::ErrorKind::PermissionDenied => "; reading it needs root: try again with sudo",
        io::ErrorKind::NotFound => "; `lsblk` lists the disks of this machine",
        _ => "",
    };
    format!("cannot be opened for reading: {source}{remedy}")
}
