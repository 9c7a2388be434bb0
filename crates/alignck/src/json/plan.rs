//! The document of a plan.

use align_core::plan::{Align, Layout, TableKind};
use align_core::topology::Topology;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// `alignck plan --output json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PlanDocument {
    /// Always "alignck-plan".
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT)))]
    pub format: &'static str,
    /// 1; a higher number when a key changes its meaning.
    pub version: u32,
    /// "gpt" or "mbr".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["gpt", "mbr"])))]
    pub table: &'static str,
    /// The unit of all LBAs, in bytes.
    pub sector_size: u64,
    /// How many sectors the disk has that the plan is for.
    pub disk_sectors: u64,
    /// What the disk looked like for which the plan was made; null for a plan without a disk.
    pub disk_fingerprint: Option<FingerprintDocument>,
    /// Whether partitions that are there stay.
    pub keep_existing: bool,
    /// What the layout follows.
    pub policy: PolicyDocument,
    /// The disk signature or GUID; null for a random one.
    pub table_id: Option<String>,
    /// The partitions, by number; a container before its logical ones.
    pub partitions: Vec<PlannedDocument>,
}

/// What a disk looked like.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FingerprintDocument {
    /// Its size in bytes.
    pub size_bytes: u64,
    /// CRC-32 of its first MiB, or of all of a smaller disk.
    pub head_crc32: u32,
    /// CRC-32 of its last MiB, or of all of a smaller disk.
    pub tail_crc32: u32,
}

/// What a layout follows; sizes in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PolicyDocument {
    /// "optimal" or "minimal".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["optimal", "minimal"])))]
    pub align: &'static str,
    /// What starts are multiples of, from the alignment offset on.
    pub grain: u64,
    /// From the start of the disk to the first physical boundary.
    pub alignment_offset: u64,
    /// The physical sector size.
    pub physical: u64,
    /// The grid for full speed, null where there is none.
    pub optimal_grid: Option<u64>,
}

/// A partition that is planned.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PlannedDocument {
    /// The number that the kernel will give it.
    pub number: u32,
    /// "primary", "extended" or "logical".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["primary", "extended", "logical"])))]
    pub kind: &'static str,
    /// The first sector.
    pub start: u64,
    /// The last sector, itself part of the partition.
    pub end: u64,
    /// The size in sectors.
    pub sectors: u64,
    /// "0x83" or a GUID in upper case.
    #[serde(rename = "type")]
    pub type_code: Option<String>,
    /// The name in a GPT entry; null for none.
    pub name: Option<String>,
    /// The unique GUID of a GPT entry; null for a random one.
    pub id: Option<String>,
}

const FORMAT: &str = "alignck-plan";
const VERSION: u32 = 1;

impl PlanDocument {
    pub(crate) fn new(
        layout: &Layout,
        align: Align,
        topology: &Topology,
        disk_fingerprint: Option<FingerprintDocument>,
    ) -> Self {
        Self {
            format: FORMAT,
            version: VERSION,
            table: match layout.table {
                TableKind::Gpt => "gpt",
                TableKind::Mbr => "mbr",
            },
            sector_size: layout.sector_size.bytes(),
            disk_sectors: layout.disk_sectors,
            disk_fingerprint,
            keep_existing: false,
            policy: PolicyDocument {
                align: match align {
                    Align::Minimal => "minimal",
                    Align::Optimal | Align::Grain(_) => "optimal",
                },
                grain: layout.grain.bytes,
                alignment_offset: layout.alignment_offset,
                physical: topology.physical.bytes(),
                optimal_grid: topology.optimal_grid,
            },
            table_id: None,
            partitions: layout
                .partitions
                .iter()
                .map(|planned| PlannedDocument {
                    number: planned.number,
                    kind: planned.kind.word(),
                    start: planned.first.number(),
                    end: planned.last.number(),
                    sectors: planned.sectors(),
                    type_code: planned.type_.code(),
                    name: planned.name.clone(),
                    id: None,
                })
                .collect(),
        }
    }
}
