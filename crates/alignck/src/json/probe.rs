//! The document of a probe.

use std::path::Path;
use std::time::Duration;

use align_core::check::Report;
use align_core::probe::{Measured, Outcome, Samples};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::DiskDocument;

/// `alignck probe --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ProbeDocument {
    /// Always "alignck-probe".
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT)))]
    pub format: &'static str,
    /// 1; a higher number when a key changes its meaning.
    pub version: u32,
    /// The disk or scratch file.
    pub path: String,
    /// "found"; "no-difference" when no offset is better than another; "unclear" when three measurements
    /// show three different things; "failed" when it was not measured, or not to the end.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["found", "no-difference", "unclear", "failed"])))]
    pub result: &'static str,
    /// Why it failed; null when it did not.
    pub error: Option<String>,
    /// The physical sector size in bytes; null where none was found.
    pub physical: Option<u64>,
    /// The byte at which the first physical sector begins; null where none was found.
    pub alignment_offset: Option<u64>,
    /// What was measured, in that order. One that shows something is made again.
    pub series: Vec<SeriesDocument>,
    /// The disk, judged by what was found; null for a scratch file, or where nothing was.
    pub disk: Option<DiskDocument>,
}

/// Writes of one size at every offset.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SeriesDocument {
    /// The size of each write in bytes.
    pub block: u64,
    /// How many writes there were.
    pub writes: usize,
    /// The times by offset.
    pub offsets: Vec<OffsetDocument>,
}

/// How long writes at one offset take.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OffsetDocument {
    /// In bytes, from a place that is a multiple of 65536 bytes.
    pub offset: u64,
    /// The middle of the times in nanoseconds.
    pub median_ns: u64,
}

const FORMAT: &str = "alignck-probe";
const VERSION: u32 = 1;

impl ProbeDocument {
    /// It was not measured, or not to the end.
    pub(crate) fn failed(path: &Path, error: &str) -> Self {
        Self {
            format: FORMAT,
            version: VERSION,
            path: path.display().to_string(),
            result: "failed",
            error: Some(error.to_owned()),
            physical: None,
            alignment_offset: None,
            series: Vec::new(),
            disk: None,
        }
    }

    /// What was found, and what that makes of the disk.
    pub(crate) fn new(path: &Path, measured: &Measured, judged: Option<&Report>) -> Self {
        let (result, sectors) = match measured.outcome {
            Outcome::Found(sectors) => ("found", Some(sectors)),
            Outcome::NoDifference => ("no-difference", None),
            Outcome::Unclear(_) => ("unclear", None),
        };
        Self {
            format: FORMAT,
            version: VERSION,
            path: path.display().to_string(),
            result,
            error: None,
            physical: sectors.map(|sectors| sectors.physical.bytes()),
            alignment_offset: sectors.map(|sectors| sectors.offset),
            series: measured.samples.iter().map(Into::into).collect(),
            disk: judged.map(Into::into),
        }
    }
}

impl From<&Samples> for SeriesDocument {
    fn from(samples: &Samples) -> Self {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let offsets = samples.series.offsets().map(|offset| OffsetDocument {
            offset,
            median_ns: nanoseconds(samples.median(|other| other == offset)),
        });
        Self { block: samples.series.block, writes: samples.writes(), offsets: offsets.collect() }
    }
}
