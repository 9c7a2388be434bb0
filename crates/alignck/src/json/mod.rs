//! The JSON documents. Programs depend on their keys: they are added, never renamed. What does not apply is null,
//! never absent.

use std::io::{self, Write};

use serde::Serialize;

mod check;
mod fix;
mod plan;
mod probe;
mod write;

pub use check::{
    CheckDocument, DiskDocument, EffectiveDocument, ErrorDocument, FindingDocument, PartitionDocument,
    ReportedDocument, TableDocument, TopologyDocument,
};
pub use fix::{FixDocument, MoveDocument, SkippedDocument, StuckDocument};
pub use plan::{FingerprintDocument, PlanDocument, PlannedDocument, PolicyDocument};
pub use probe::{OffsetDocument, ProbeDocument, SeriesDocument};
pub use write::{ChangeDocument, WriteDocument};

pub(crate) use check::write_document;

/// Writes a value as it stands in a larger document, its lines after the first indented.
pub(crate) fn write_indented(out: &mut dyn Write, value: &impl Serialize, indent: &str) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    out.write_all(text.replace('\n', &format!("\n{indent}")).as_bytes())
}
