//! The document of moves.

use std::path::Path;

use align_core::fix::{Fixed, Proposal, Unfinished};
use align_core::patch::{Move, Spot};
use align_core::units::SectorSize;
use align_core::write::KernelState;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::DiskDocument;

/// `alignck fix --json`, and the same of `resume` and `undo` where they are about a move.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FixDocument {
    /// Always "alignck-fix".
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT)))]
    pub format: &'static str,
    /// 1; a higher number when a key changes its meaning.
    pub version: u32,
    /// "fix", "resume" or "undo".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["fix", "resume", "undo"])))]
    pub command: &'static str,
    /// The disk or image.
    pub path: String,
    /// "moved"; "taken-back" when an unfinished move went back; "unchanged" when nothing has to move or can; "dry-run";
    /// "failed" when nothing was moved; "unfinished" when it has to be resumed or undone.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["moved", "taken-back", "unchanged", "dry-run", "failed", "unfinished"])))]
    pub result: &'static str,
    /// Why it failed or stopped; null when it did not.
    pub error: Option<String>,
    /// What it is, for people; null when it failed before that was known.
    pub what: Option<String>,
    /// The partitions that move, in the order of the disk.
    pub moves: Vec<MoveDocument>,
    /// The partitions that should move and cannot.
    pub stuck: Vec<StuckDocument>,
    /// How many bytes move.
    pub bytes: u64,
    /// About how long it takes, in seconds, by a short measurement; null where that is not known.
    pub seconds: Option<u64>,
    /// Where the journal is until the move is over: a file, or null where it is in free space of the disk or there is
    /// none.
    pub journal: Option<String>,
    /// The byte of the disk at which the journal begins; null where it is in a file or there is none.
    pub journal_offset: Option<u64>,
    /// The file by which everything can be moved back; null when there is none.
    pub backup: Option<String>,
    /// Whether the kernel uses the new partitions: "current" or "stale"; null for an image, or when nothing was moved.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["current", "stale", null])))]
    pub kernel: Option<&'static str>,
    /// What is worth knowing.
    pub warnings: Vec<String>,
    /// What will need attention afterwards.
    pub attention: Vec<String>,
    /// What could not be read and was written as zeros: where it was.
    pub skipped: Vec<SkippedDocument>,
    /// The disk before; null when it is not known.
    pub before: Option<DiskDocument>,
    /// The disk after it, or as it will be; null when that is not known.
    pub after: Option<DiskDocument>,
}

/// A partition that moves.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MoveDocument {
    /// Its number.
    pub number: u32,
    /// Its first sector, where it is.
    pub from: u64,
    /// Its first sector, where it will be.
    pub to: u64,
    /// How many sectors it has.
    pub sectors: u64,
}

/// A partition that should move and cannot.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StuckDocument {
    /// Its number.
    pub number: u32,
    /// Why, and what would help.
    pub reason: String,
}

/// Bytes that could not be read.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SkippedDocument {
    /// The first byte, from the start of the disk.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

const FORMAT: &str = "alignck-fix";
const VERSION: u32 = 1;

impl FixDocument {
    fn empty(command: &'static str, path: &Path, result: &'static str) -> Self {
        Self {
            format: FORMAT,
            version: VERSION,
            command,
            path: path.display().to_string(),
            result,
            error: None,
            what: None,
            moves: Vec::new(),
            stuck: Vec::new(),
            bytes: 0,
            seconds: None,
            journal: None,
            journal_offset: None,
            backup: None,
            kernel: None,
            warnings: Vec::new(),
            attention: Vec::new(),
            skipped: Vec::new(),
            before: None,
            after: None,
        }
    }

    /// What would be moved.
    pub(crate) fn proposed(command: &'static str, proposal: &Proposal) -> Self {
        let result = if proposal.changes_nothing() { "unchanged" } else { "dry-run" };
        let unit = proposal.before.unit();
        let stuck = proposal
            .stuck
            .iter()
            .map(|(number, reason)| StuckDocument { number: *number, reason: reason.clone() });
        Self {
            what: Some(proposal.what.clone()),
            moves: proposal.moves.iter().map(|moved| MoveDocument::new(*moved, unit)).collect(),
            stuck: stuck.collect(),
            bytes: proposal.bytes(),
            seconds: proposal.seconds,
            warnings: proposal.warnings.clone(),
            attention: proposal.attention.clone(),
            before: Some((&proposal.before).into()),
            after: Some((&proposal.after).into()),
            ..Self::empty(command, &proposal.before.path, result)
        }
        .in_spot(proposal.journal())
    }

    /// What would be finished or taken back.
    pub(crate) fn unfinished(command: &'static str, path: &Path, unfinished: &Unfinished) -> Self {
        let unit = SectorSize::new(unfinished.note.sector_size).unwrap_or(SectorSize::B512);
        let moves = &unfinished.note.moves;
        Self {
            what: Some(unfinished.note.what.clone()),
            moves: moves.iter().map(|moved| MoveDocument::new(*moved, unit)).collect(),
            bytes: moves.iter().fold(0, |sum, moved| sum.saturating_add(moved.len)),
            ..Self::empty(command, path, "dry-run")
        }
        .in_spot(Some(&unfinished.journal))
    }

    fn in_spot(mut self, spot: Option<&Spot>) -> Self {
        match spot {
            Some(Spot::File(path)) => self.journal = Some(path.display().to_string()),
            Some(Spot::Disk(offset)) => self.journal_offset = Some(*offset),
            None => {}
        }
        self
    }

    /// What came of it.
    pub(crate) fn with_outcome(mut self, fixed: &Fixed) -> Self {
        self.result = if fixed.is_forward { "moved" } else { "taken-back" };
        self.backup = fixed.backup.as_ref().map(|backup| backup.path.display().to_string());
        self.kernel = match &fixed.kernel {
            KernelState::NotConcerned => None,
            KernelState::Current => Some("current"),
            KernelState::Stale(_) => Some("stale"),
        };
        self.warnings.extend(fixed.warnings.iter().cloned());
        let skipped = fixed.skipped.iter().map(|range| SkippedDocument {
            offset: range.start,
            bytes: range.end.saturating_sub(range.start),
        });
        self.skipped = skipped.collect();
        self.after = Some((&fixed.report).into());
        self
    }

    /// Why nothing came of it, or not all.
    pub(crate) fn with_error(mut self, error: &str, is_unfinished: bool) -> Self {
        self.result = if is_unfinished { "unfinished" } else { "failed" };
        self.error = Some(error.to_owned());
        self.after = None;
        self
    }

    /// Nothing came of it, and nothing is known.
    pub(crate) fn failed(command: &'static str, path: &Path) -> Self {
        Self::empty(command, path, "failed")
    }
}

impl MoveDocument {
    fn new(moved: Move, unit: SectorSize) -> Self {
        let sectors = |bytes: u64| bytes / unit.bytes();
        Self {
            number: moved.number,
            from: sectors(moved.from),
            to: sectors(moved.to),
            sectors: sectors(moved.len),
        }
    }
}
