//! The document of a check.

use std::io::{self, Write};
use std::path::Path;

use align_core::Error;
use align_core::check::{Finding, PartitionReport, Report};
use align_core::device::Source;
use align_core::device::identify::Identification;
use align_core::topology::{Reported, Topology};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::write_indented;

/// `alignck check --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckDocument {
    /// Always "alignck-check".
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT)))]
    pub format: &'static str,
    /// 1; a higher number when a key changes its meaning.
    pub version: u32,
    /// The disks that could be checked, in the order of the command line.
    pub disks: Vec<DiskDocument>,
    /// What could not be checked.
    pub errors: Vec<ErrorDocument>,
}

const FORMAT: &str = "alignck-check";
const VERSION: u32 = 1;

/// A disk that was checked.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DiskDocument {
    /// The whole disk or image.
    pub path: String,
    /// The partition that was given on the command line, when one led to the disk.
    pub given: Option<String>,
    /// "block", "image" or "stream".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["block", "image", "stream"])))]
    pub source: &'static str,
    /// The model, the file behind a loop device, or the name of a volume.
    pub description: Option<String>,
    /// "aligned", "suboptimal", "misaligned", "unpartitioned" or "unknown".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["aligned", "suboptimal", "misaligned", "unpartitioned", "unknown"])))]
    pub status: &'static str,
    /// Null for standard input.
    pub size_bytes: Option<u64>,
    /// What was reported and what is judged by.
    pub topology: TopologyDocument,
    /// The partition table.
    pub table: TableDocument,
    /// What the disk holds as a whole, where that was recognised.
    pub content: Option<&'static str>,
    /// The partitions, by number.
    pub partitions: Vec<PartitionDocument>,
    /// What was found.
    pub findings: Vec<FindingDocument>,
}

/// The topology of a disk; sizes in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TopologyDocument {
    /// As the device said it; null for what it did not say.
    pub reported: ReportedDocument,
    /// What partitions are judged by.
    pub effective: EffectiveDocument,
    /// What the drive said of itself, asked past the kernel; null where no drive was asked.
    pub identified: Option<IdentifiedDocument>,
    /// Why the physical size is judged by: "reported", "identified" (by the drive itself), "known-model" (that
    /// misreports), "assumed" or "forced".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["reported", "identified", "known-model", "assumed", "forced"])))]
    pub physical_basis: &'static str,
    /// The same for the logical size.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["reported", "identified", "assumed"])))]
    pub logical_basis: &'static str,
    /// The same for the alignment offset.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["reported", "identified", "assumed"])))]
    pub offset_basis: &'static str,
}

/// What a device reports; sizes in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ReportedDocument {
    /// Logical sector size.
    pub logical: Option<u64>,
    /// Physical sector size.
    pub physical: Option<u64>,
    /// Minimum I/O size.
    pub minimum_io: Option<u64>,
    /// Optimal I/O size, 0 for none.
    pub optimal_io: Option<u64>,
    /// From the start of the disk to the first physical boundary; -1 where no offset suits a stack.
    pub alignment_offset: Option<i64>,
    /// The kernel's flag.
    pub rotational: Option<bool>,
    /// The rotation rate by the drive's own word.
    pub rpm: Option<u32>,
}

/// What a drive says of itself; sizes in bytes, null for what it does not say.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct IdentifiedDocument {
    /// The model.
    pub model: Option<String>,
    /// Logical sector size.
    pub logical: Option<u64>,
    /// Physical sector size.
    pub physical: Option<u64>,
    /// From LBA 0 to the first physical boundary.
    pub alignment_offset: Option<u64>,
    /// The smallest write that it prefers.
    pub write_granularity: Option<u64>,
    /// The transfer that it prefers.
    pub optimal_io: Option<u64>,
    /// The rotation rate, 1 for a drive that does not rotate.
    pub rpm: Option<u32>,
    /// The physical sector size that the model is known to have, where it is known to misreport.
    pub known_physical: Option<u64>,
    /// The questions that it answered.
    pub answered: Vec<String>,
    /// The questions whose answers are missing or worth nothing.
    pub unanswered: Vec<UnansweredDocument>,
}

/// A question to a drive without an answer.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct UnansweredDocument {
    /// The question.
    pub question: String,
    /// Why there is no answer.
    pub reason: String,
}

/// What partitions are judged by; sizes in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct EffectiveDocument {
    /// Logical sector size of the device.
    pub logical: u64,
    /// Physical sector size.
    pub physical: u64,
    /// The grid for full speed, null where there is none.
    pub optimal_grid: Option<u64>,
    /// From the start of the disk to the first physical boundary.
    pub alignment_offset: u64,
}

/// The partition table.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TableDocument {
    /// "mbr", "gpt" or "none"; null when the table could not be read.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["mbr", "gpt", "none", null])))]
    pub label: Option<&'static str>,
    /// The unit of all LBAs, in bytes; null without a table.
    pub sector_size: Option<u64>,
    /// "ok", "stale", "repairable", "damaged" or "unknown".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["ok", "stale", "repairable", "damaged", "unknown"])))]
    pub health: &'static str,
    /// The disk signature ("0x10bd10bc") or the disk GUID.
    pub id: Option<String>,
}

/// A partition; LBAs in the unit of the table.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PartitionDocument {
    /// The number that the kernel gives it.
    pub number: u32,
    /// The first sector.
    pub start: u64,
    /// The last sector, itself part of the partition.
    pub end: u64,
    /// The size in sectors; null when the end comes before the start.
    pub sectors: Option<u64>,
    /// "0x83" or a GUID in upper case; null when it is not known.
    #[serde(rename = "type")]
    pub type_code: Option<String>,
    /// What people call the type; null for one that is in no list.
    pub type_name: Option<&'static str>,
    /// "primary", "extended" or "logical".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["primary", "extended", "logical"])))]
    pub kind: &'static str,
    /// "aligned", "suboptimal", "misaligned", "exempt" or "unknown".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["aligned", "suboptimal", "misaligned", "exempt", "unknown"])))]
    pub verdict: &'static str,
    /// Bytes past the last effective physical boundary.
    pub remainder: u64,
    /// The kernel's device node; null for an image, or where the kernel does not know the partition.
    pub node: Option<String>,
    /// The name in a GPT entry.
    pub name: Option<String>,
    /// The unique GUID of a GPT entry.
    pub id: Option<String>,
}

/// Something that was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FindingDocument {
    /// The code: `alignck explain CODE` has a page on it.
    pub code: &'static str,
    /// "error", "warning" or "info".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["error", "warning", "info"])))]
    pub severity: &'static str,
    /// The partition that it is about; null when it is about the disk.
    pub partition: Option<u32>,
    /// What was seen.
    pub message: String,
    /// Why it matters and what to do.
    pub help: String,
}

/// A disk that could not be checked.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ErrorDocument {
    /// As it was given.
    pub path: String,
    /// What was wrong and what to do.
    pub message: String,
}

/// Takes the parts of a document while the disks are still being checked.
pub(crate) struct Sink<'w> {
    out: &'w mut dyn Write,
    disks: usize,
    errors: Vec<ErrorDocument>,
}

/// Writes a document, disk by disk as `fill` brings them: many disks take no more memory than one.
pub(crate) fn write_document(
    out: &mut dyn Write,
    fill: impl FnOnce(&mut Sink<'_>) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "{{\n  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},")?;
    write!(out, "  \"disks\": [")?;
    let mut sink = Sink { out, disks: 0, errors: Vec::new() };
    fill(&mut sink)?;
    let Sink { out, disks, errors } = sink;
    write!(out, "{}],\n  \"errors\": ", if disks > 0 { "\n  " } else { "" })?;
    write_indented(out, &errors, "  ")?;
    writeln!(out, "\n}}")
}

impl Sink<'_> {
    pub(crate) fn disk(&mut self, report: &Report) -> io::Result<()> {
        write!(self.out, "{}\n    ", if self.disks > 0 { "," } else { "" })?;
        self.disks += 1;
        write_indented(self.out, &DiskDocument::from(report), "    ")
    }

    pub(crate) fn error(&mut self, path: &Path, error: &Error) {
        self.errors.push(ErrorDocument { path: path.display().to_string(), message: error.to_string() });
    }
}

impl From<&Report> for DiskDocument {
    fn from(report: &Report) -> Self {
        Self {
            path: report.path.display().to_string(),
            given: report.given_partition.as_ref().map(|path| path.display().to_string()),
            source: match report.source {
                Source::Block => "block",
                Source::Image => "image",
                Source::Stream => "stream",
            },
            description: report.description.clone(),
            status: report.status.word(),
            size_bytes: report.size,
            topology: TopologyDocument {
                identified: (!report.identification.is_empty()).then(|| (&report.identification).into()),
                ..(&report.topology).into()
            },
            table: TableDocument {
                label: report.table.label.map(align_core::table::Label::word),
                sector_size: report.table.sector_size.map(align_core::units::SectorSize::bytes),
                health: report.table.health.word(),
                id: report.table.id.clone(),
            },
            content: report.content.map(|content| content.name),
            partitions: report.partitions.iter().map(Into::into).collect(),
            findings: report.findings.iter().map(Into::into).collect(),
        }
    }
}

impl From<&Topology> for TopologyDocument {
    fn from(topology: &Topology) -> Self {
        Self {
            reported: (&topology.reported).into(),
            identified: None,
            effective: EffectiveDocument {
                logical: topology.logical.bytes(),
                physical: topology.physical.bytes(),
                optimal_grid: topology.optimal_grid,
                alignment_offset: topology.alignment_offset,
            },
            physical_basis: topology.physical_basis.word(),
            logical_basis: topology.logical_basis.word(),
            offset_basis: topology.offset_basis.word(),
        }
    }
}

impl From<&Identification> for IdentifiedDocument {
    fn from(identification: &Identification) -> Self {
        let facts = &identification.facts;
        let unanswered = identification.unread.iter();
        Self {
            model: identification.model.clone(),
            logical: facts.logical,
            physical: facts.physical,
            alignment_offset: facts.alignment_offset,
            write_granularity: facts.write_granularity,
            optimal_io: facts.optimal_io,
            rpm: facts.rpm,
            known_physical: facts.known_physical,
            answered: identification.heard.iter().map(ToString::to_string).collect(),
            unanswered: unanswered
                .map(|(question, why)| UnansweredDocument {
                    question: question.to_string(),
                    reason: why.to_string(),
                })
                .collect(),
        }
    }
}

impl From<&Reported> for ReportedDocument {
    fn from(reported: &Reported) -> Self {
        Self {
            logical: reported.logical,
            physical: reported.physical,
            minimum_io: reported.minimum_io,
            optimal_io: reported.optimal_io,
            alignment_offset: reported.alignment_offset,
            rotational: reported.rotational,
            rpm: reported.rpm,
        }
    }
}

impl From<&PartitionReport> for PartitionDocument {
    fn from(report: &PartitionReport) -> Self {
        let partition = &report.partition;
        Self {
            number: partition.number,
            start: partition.first.number(),
            end: partition.last.number(),
            sectors: partition.sectors(),
            type_code: partition.type_.code(),
            type_name: partition.type_.name(),
            kind: partition.kind.word(),
            verdict: report.verdict.word(),
            remainder: report.remainder,
            node: report.node.clone(),
            name: partition.name.clone(),
            id: partition.id.map(|id| id.hyphenated().to_string().to_uppercase()),
        }
    }
}

impl From<&Finding> for FindingDocument {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code.word(),
            severity: finding.severity().word(),
            partition: finding.partition,
            message: finding.message.clone(),
            help: finding.help.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use align_core::check::{self, Options};
    use align_core::device::{Disk, MemoryDevice};

    #[test]
    fn what_is_written_bit_by_bit_is_the_document() {
        let disk = Disk::image("blank.img", MemoryDevice::new(1 << 20));
        let report = check::run(&disk, &Options::default()).unwrap();
        let missing = Disk::open("/nonexistent/disk").unwrap_err();
        let mut written = Vec::new();
        write_document(&mut written, |sink| {
            sink.disk(&report)?;
            sink.error(Path::new("/nonexistent/disk"), &missing);
            sink.disk(&report)
        })
        .unwrap();

        let document = CheckDocument {
            format: FORMAT,
            version: VERSION,
            disks: vec![(&report).into(), (&report).into()],
            errors: vec![ErrorDocument { path: "/nonexistent/disk".into(), message: missing.to_string() }],
        };
        let expected = serde_json::to_string_pretty(&document).unwrap() + "\n";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
