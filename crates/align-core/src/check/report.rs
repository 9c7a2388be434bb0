use std::path::PathBuf;

use super::{Code, Finding, Verdict};
use crate::content::Content;
use crate::device::Source;
use crate::device::identify::Identification;
use crate::table::{Label, Partition};
use crate::topology::Topology;
use crate::units::SectorSize;

/// What a check found out about one disk.
#[derive(Clone, Debug)]
pub struct Report {
    /// The whole disk or image.
    pub path: PathBuf,
    /// The partition that was asked for, when one led to the disk.
    pub given_partition: Option<PathBuf>,
    /// What sort of thing it is.
    pub source: Source,
    /// The model, the file behind a loop device, or the name of a volume.
    pub description: Option<String>,
    /// The size in bytes, `None` when the end was not seen.
    pub size: Option<u64>,
    /// The verdict on the disk: that of its worst partition.
    pub status: Status,
    /// What was judged by.
    pub topology: Topology,
    /// What the drive said of itself, and what it could not be asked.
    pub identification: Identification,
    /// The table.
    pub table: TableReport,
    /// What the disk holds as a whole, where that was recognised.
    pub content: Option<Content>,
    /// The partitions, by number.
    pub partitions: Vec<PartitionReport>,
    /// What was found, in the order of the registry.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether a write to this disk or a move on it was cut off, and has to be finished or taken back before anything else.
    pub fn is_unfinished(&self) -> bool {
        let unfinished = [Code::UnfinishedWrite, Code::UnfinishedMove];
        self.findings.iter().any(|finding| unfinished.contains(&finding.code))
    }

    /// The unit of all LBAs of the report, in bytes: that of the table, or of the device where there is none.
    pub fn unit(&self) -> SectorSize {
        self.table.sector_size.unwrap_or(self.topology.logical)
    }
}

/// The table, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// The kind of table, `None` when it could not be read.
    pub label: Option<Label>,
    /// The unit of the LBAs of all partitions, `None` without a table.
    pub sector_size: Option<SectorSize>,
    /// Whether the table is as it should be.
    pub health: Health,
    /// The disk signature (`0x10bd10bc`) or the disk GUID.
    pub id: Option<String>,
}

/// A partition with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionReport {
    /// The partition, in sectors of the table's unit.
    pub partition: Partition,
    /// How it begins.
    pub verdict: Verdict,
    /// How many bytes it begins past the last effective physical boundary.
    pub remainder: u64,
    /// The kernel's device node, where the kernel knows the partition.
    pub node: Option<String>,
}

/// The verdict on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Every partition that matters is on its grids.
    Aligned,
    /// At least one is off the optimal grid, none off the physical.
    Suboptimal,
    /// At least one is off the physical grid.
    Misaligned,
    /// There is no table, or an empty one.
    Unpartitioned,
    /// The partitions could not be read.
    Unknown,
}

impl Status {
    /// The status of a disk whose worst partition decides.
    pub(super) fn of(verdicts: impl Iterator<Item = Verdict>) -> Self {
        let rank = |status: &Self| match status {
            Self::Unpartitioned | Self::Aligned => 0,
            Self::Unknown => 1,
            Self::Suboptimal => 2,
            Self::Misaligned => 3,
        };
        let statuses = verdicts.map(|verdict| match verdict {
            Verdict::Aligned | Verdict::Exempt => Self::Aligned,
            Verdict::Suboptimal => Self::Suboptimal,
            Verdict::Misaligned => Self::Misaligned,
            Verdict::Unknown => Self::Unknown,
        });
        statuses.max_by_key(rank).unwrap_or(Self::Unpartitioned)
    }

    /// The word used in documents: `aligned`, `misaligned`, ...
    pub fn word(self) -> &'static str {
        match self {
            Self::Aligned => "aligned",
            Self::Suboptimal => "suboptimal",
            Self::Misaligned => "misaligned",
            Self::Unpartitioned => "unpartitioned",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether a table is as it should be, in rising order of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// Nothing is wrong.
    Ok,
    /// Part of the table could not be seen.
    Unknown,
    /// It works, but does not fit the disk as it is now.
    Stale,
    /// One of two copies is bad; the other can restore it.
    Repairable,
    /// It contradicts itself or the disk.
    Damaged,
}

impl Health {
    /// The health that a list of findings adds up to.
    pub(super) fn of(findings: &[Finding]) -> Self {
        let has = |code| findings.iter().any(|finding| finding.code == code);
        if has(Code::GptPrimaryBad) && has(Code::GptBackupBad) {
            return Self::Damaged;
        }
        findings.iter().map(|finding| finding.code.health()).max().unwrap_or(Self::Ok)
    }

    /// The word used in documents: `ok`, `stale`, `repairable`, `damaged`, `unknown`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Stale => "stale",
            Self::Repairable => "repairable",
            Self::Damaged => "damaged",
            Self::Unknown => "unknown",
        }
    }
}
