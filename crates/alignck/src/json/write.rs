//! The document of everything that writes.

use std::path::Path;

use align_core::patch::Change;
use align_core::write::{KernelState, Proposal, WriteError, Written};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::DiskDocument;

/// `alignck apply --json`, and the same of `convert`, `resume` and `undo`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WriteDocument {
    /// Always "alignck-write".
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT)))]
    pub format: &'static str,
    /// 1; a higher number when a key changes its meaning.
    pub version: u32,
    /// "apply", "convert", "fix" (with --table-only), "resume" or "undo".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["apply", "convert", "fix", "resume", "undo"])))]
    pub command: &'static str,
    /// The disk or image.
    pub path: String,
    /// "written"; "unchanged" when it was like that already; "dry-run"; "failed" when nothing was written;
    /// "unfinished" when it has to be resumed or undone.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["written", "unchanged", "dry-run", "failed", "unfinished"])))]
    pub result: &'static str,
    /// Why it failed; null when it did not.
    pub error: Option<String>,
    /// What is written, for people; null when it failed before that was known.
    pub what: Option<String>,
    /// The file that puts it back; null when nothing was written.
    pub backup: Option<String>,
    /// Whether the kernel uses what was written: "current" or "stale"; null for an image, or when nothing was written.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["current", "stale", null])))]
    pub kernel: Option<&'static str>,
    /// Whether the table can be read after every step of the write, as the old one or the new one.
    pub always_readable: Option<bool>,
    /// What is worth knowing.
    pub warnings: Vec<String>,
    /// The bytes that change, in the order in which they are written.
    pub changes: Vec<ChangeDocument>,
    /// The disk before; null when it could not be looked at.
    pub before: Option<DiskDocument>,
    /// The disk after it, or as it will be; null when that is not known.
    pub after: Option<DiskDocument>,
}

/// A range of bytes that changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ChangeDocument {
    /// The step; everything of one step is on the medium before the next begins.
    pub step: usize,
    /// The first byte, from the start of the disk.
    pub offset: u64,
    /// How many bytes.
    pub bytes: usize,
}

const FORMAT: &str = "alignck-write";
const VERSION: u32 = 1;

impl WriteDocument {
    fn empty(command: &'static str, path: &Path, result: &'static str) -> Self {
        Self {
            format: FORMAT,
            version: VERSION,
            command,
            path: path.display().to_string(),
            result,
            error: None,
            what: None,
            backup: None,
            kernel: None,
            always_readable: None,
            warnings: Vec::new(),
            changes: Vec::new(),
            before: None,
            after: None,
        }
    }

    /// What would be written.
    pub(crate) fn proposed(command: &'static str, proposal: &Proposal) -> Self {
        let steps = proposal.patch.steps.iter().filter(|step| !step.iter().all(Change::is_kept));
        let changes = steps.enumerate().flat_map(|(step, changes)| {
            changes.iter().filter(|change| !change.is_kept()).map(move |change| ChangeDocument {
                step: step + 1,
                offset: change.offset,
                bytes: change.after.len(),
            })
        });
        let contents = proposal
            .contents
            .iter()
            .map(|(number, name)| format!("partition {number} begins where {name} begins now"));
        Self {
            what: Some(proposal.what.clone()),
            always_readable: Some(proposal.always_readable),
            warnings: proposal.warnings.iter().cloned().chain(contents).collect(),
            changes: changes.collect(),
            before: Some((&proposal.before).into()),
            after: Some((&proposal.after).into()),
            ..Self::empty(command, &proposal.before.path, "dry-run")
        }
    }

    /// What came of it.
    pub(crate) fn with_outcome(mut self, written: &Written) -> Self {
        self.result = if written.backup.is_some() { "written" } else { "unchanged" };
        self.backup = written.backup.as_ref().map(|backup| backup.path.display().to_string());
        self.kernel = match &written.kernel {
            KernelState::NotConcerned => None,
            KernelState::Current => Some("current"),
            KernelState::Stale(_) => Some("stale"),
        };
        self.warnings.extend(written.warnings.iter().cloned());
        self.after = Some((&written.report).into());
        self
    }

    /// Why nothing came of it.
    pub(crate) fn with_error(mut self, error: &WriteError) -> Self {
        self.result = if error.is_unfinished() { "unfinished" } else { "failed" };
        if let WriteError::Unfinished { backup, .. } = error {
            self.backup = Some(backup.display().to_string());
        }
        self.error = Some(error.to_string());
        self.after = None;
        self
    }

    /// Why it did not begin.
    pub(crate) fn with_message(mut self, message: &str) -> Self {
        self.result = "failed";
        self.error = Some(message.to_owned());
        self.after = None;
        self
    }

    /// Nothing came of it, and nothing is known.
    pub(crate) fn failed(command: &'static str, path: &Path) -> Self {
        Self::empty(command, path, "failed")
    }
}
