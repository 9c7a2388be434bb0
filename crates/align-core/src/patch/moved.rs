use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A partition that changes its place with all its bytes. Places are in bytes from the start of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Its number.
    pub number: u32,
    /// Its first byte, where it is.
    pub from: u64,
    /// Its first byte, where it will be.
    pub to: u64,
    /// How many bytes it has.
    pub len: u64,
}

/// Where the journal of a move is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spot {
    /// On the disk itself, from this byte on.
    Disk(u64),
    /// In this file.
    File(PathBuf),
}

/// What a [`Backup`](super::Backup) says of bytes that moved beside what its patch changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The partitions.
    pub moves: Vec<Move>,
    /// Where bytes were overwritten that belonged to no partition: first and one past the last. What is not in
    /// [`overwritten`](Self::overwritten) was zero.
    pub cleared: Vec<(u64, u64)>,
    /// Those bytes, with their places.
    pub overwritten: Vec<(u64, Bytes)>,
    /// Where the journal is, until the move is over.
    pub journal: Spot,
}

/// Bytes that are written as hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(#[serde(with = "hex::serde")] pub Vec<u8>);

impl Move {
    /// How far it goes, in bytes.
    pub fn distance(self) -> u64 {
        self.from.abs_diff(self.to)
    }

    /// One past its last byte, where it is.
    pub fn old_end(self) -> u64 {
        self.from.saturating_add(self.len)
    }

    /// One past its last byte, where it will be.
    pub fn new_end(self) -> u64 {
        self.to.saturating_add(self.len)
    }

    /// The same partition on its way back.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { from: self.to, to: self.from, ..self }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(byte) => write!(f, "the free space of the disk, at byte {byte}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}
