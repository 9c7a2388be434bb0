//! The document of a plan.

use align_core::plan::{Align, Grain, GrainReason, Layout, Planned, TableId, TableKind};
use align_core::table::{Fingerprint, PartitionKind, PartitionType};
use align_core::units::{Lba, PhysicalSize, SectorSize};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// `alignck plan --output json`.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PlanDocument {
    /// Always "alignck-plan".
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT)))]
    pub format: String,
    /// 1; a higher number when a key changes its meaning.
    pub version: u32,
    /// "gpt" or "mbr".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["gpt", "mbr"])))]
    pub table: String,
    /// The unit of all LBAs, in bytes.
    pub sector_size: u64,
    /// How many sectors the disk has that the plan is for.
    pub disk_sectors: u64,
    /// What the disk looked like for which the plan was made, which `apply` then demands; null for a plan without a
    /// disk.
    pub disk_fingerprint: Option<FingerprintDocument>,
    /// Whether the partitions that are there stay; `partitions` are then those that are added.
    pub keep_existing: bool,
    /// What the layout follows.
    pub policy: PolicyDocument,
    /// The disk signature or GUID; null for a random one.
    pub table_id: Option<String>,
    /// The partitions, by number; a container before its logical ones.
    pub partitions: Vec<PlannedDocument>,
}

/// What a disk looked like.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FingerprintDocument {
    /// Its size in bytes.
    pub size_bytes: u64,
    /// CRC-32 of where its partition table lies, and of its front when it has no partitions.
    pub table_crc32: u32,
}

/// What a layout follows; sizes in bytes.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PolicyDocument {
    /// "optimal" or "minimal".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["optimal", "minimal"])))]
    pub align: String,
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
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PlannedDocument {
    /// The number that the kernel will give it.
    pub number: u32,
    /// "primary", "extended" or "logical".
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["primary", "extended", "logical"])))]
    pub kind: String,
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
    /// The sector of the boot record (EBR) of a logical partition; null for others.
    pub ebr: Option<u64>,
}

const FORMAT: &str = "alignck-plan";
const VERSION: u32 = 1;

impl PlanDocument {
    pub(crate) fn new(layout: &Layout, fingerprint: Option<Fingerprint>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            table: match layout.table {
                TableKind::Gpt => GPT,
                TableKind::Mbr => MBR,
            }
            .to_owned(),
            sector_size: layout.sector_size.bytes(),
            disk_sectors: layout.disk_sectors,
            disk_fingerprint: fingerprint
                .map(|found| FingerprintDocument { size_bytes: found.size, table_crc32: found.crc }),
            keep_existing: layout.kept.is_some(),
            policy: PolicyDocument {
                align: match layout.align {
                    Align::Minimal => MINIMAL,
                    Align::Optimal | Align::Grain(_) => OPTIMAL,
                }
                .to_owned(),
                grain: layout.grain.bytes,
                alignment_offset: layout.alignment_offset,
                physical: layout.physical.bytes(),
                optimal_grid: layout.optimal_grid,
            },
            table_id: layout.table_id.map(|id| match id {
                TableId::Mbr(signature) => format!("0x{signature:08x}"),
                TableId::Gpt(guid) => upper(guid),
            }),
            partitions: layout.partitions.iter().map(Into::into).collect(),
        }
    }

    /// The layout that the document describes, and what the disk has to look like for it.
    ///
    /// # Errors
    /// When a value makes no sense; the text names it.
    pub fn into_layout(self) -> Result<(Layout, Option<Fingerprint>), String> {
        if self.format != FORMAT || self.version != VERSION {
            return Err(format!(
                "it is '{}' version {}, not '{FORMAT}' version {VERSION}",
                quotable(&self.format),
                self.version
            ));
        }
        let table = match &*self.table {
            GPT => TableKind::Gpt,
            MBR => TableKind::Mbr,
            other => return Err(format!("table '{}' is neither {GPT} nor {MBR}", quotable(other))),
        };
        let policy = &self.policy;
        let sector_size = SectorSize::new(self.sector_size)
            .ok_or(format!("sector_size {} is no power of two from 512 to 65536", self.sector_size))?;
        let physical = PhysicalSize::new(policy.physical)
            .filter(|physical| *physical >= sector_size.into())
            .ok_or(format!("policy.physical {} is no physical sector size", policy.physical))?;
        if policy.grain == 0 {
            return Err("policy.grain is 0".into());
        }
        let table_id = self.table_id.as_deref().map(|id| {
            let signature = || u32::from_str_radix(id.strip_prefix("0x")?, 16).ok().map(TableId::Mbr);
            let found = match table {
                TableKind::Mbr => signature(),
                TableKind::Gpt => Uuid::try_parse(id).ok().map(TableId::Gpt),
            };
            found.ok_or(format!("table_id '{}' is no identifier of such a table", quotable(id)))
        });
        let align = match &*policy.align {
            OPTIMAL => Align::Optimal,
            MINIMAL => Align::Minimal,
            other => {
                return Err(format!("policy.align '{}' is neither {OPTIMAL} nor {MINIMAL}", quotable(other)));
            }
        };
        let mut layout = Layout {
            table,
            sector_size,
            disk_sectors: self.disk_sectors,
            grain: Grain { bytes: policy.grain, reason: GrainReason::Given, small_disk: false },
            alignment_offset: policy.alignment_offset,
            align,
            physical,
            optimal_grid: policy.optimal_grid,
            first_usable: Lba::ZERO,
            table_id: table_id.transpose()?,
            kept: self.keep_existing.then(Vec::new),
            partitions: self
                .partitions
                .iter()
                .map(|document| planned(document, table))
                .collect::<Result<_, _>>()?,
        };
        layout.place_records();
        layout.first_usable = layout.usual_first_usable();
        let fingerprint = self
            .disk_fingerprint
            .map(|document| Fingerprint { size: document.size_bytes, crc: document.table_crc32 });
        if self.keep_existing && fingerprint.is_none() {
            return Err("keep_existing needs the disk_fingerprint of the disk that it was made for".into());
        }
        Ok((layout, fingerprint))
    }
}

const GPT: &str = "gpt";
const MBR: &str = "mbr";
const OPTIMAL: &str = "optimal";
const MINIMAL: &str = "minimal";

impl From<&Planned> for PlannedDocument {
    fn from(planned: &Planned) -> Self {
        Self {
            number: planned.number,
            kind: planned.kind.word().to_owned(),
            start: planned.first.number(),
            end: planned.last.number(),
            sectors: planned.sectors(),
            type_code: planned.type_.code(),
            name: planned.name.clone(),
            id: planned.id.map(upper),
            ebr: planned.ebr.map(Lba::number),
        }
    }
}

fn planned(document: &PlannedDocument, table: TableKind) -> Result<Planned, String> {
    let number = document.number;
    let bad = |reason: String| format!("partition {number}: {reason}");
    let kinds = [PartitionKind::Primary, PartitionKind::Extended, PartitionKind::Logical];
    let kind = kinds.into_iter().find(|kind| kind.word() == document.kind);
    let (first, last) = (Lba::new(document.start), Lba::new(document.end));
    if first.sectors_through(last) != Some(document.sectors) {
        return Err(bad(format!("from sector {first} to {last} are not {} sectors", document.sectors)));
    }
    if document.ebr.is_some() && kind != Some(PartitionKind::Logical) {
        return Err(bad("only a logical partition has an ebr".into()));
    }
    if table == TableKind::Mbr && (document.name.is_some() || document.id.is_some()) {
        return Err(bad("an MBR has neither names nor GUIDs; name and id have to be null".into()));
    }
    if document.name.as_ref().is_some_and(|name| name.contains('\0')) {
        return Err(bad("its name holds a NUL, at which every reader stops".into()));
    }
    let type_ = document.type_code.as_deref().map_or(PartitionType::Unknown, PartitionType::from_code);
    if type_ == PartitionType::Unknown {
        return Err(bad(format!(
            "type '{}' is neither a code such as 0x83 nor a GUID",
            quotable(document.type_code.as_deref().unwrap_or("null"))
        )));
    }
    let id = document
        .id
        .as_deref()
        .map(|id| Uuid::try_parse(id).map_err(|_| bad(format!("id '{}' is no GUID", quotable(id)))));
    Ok(Planned {
        number,
        kind: kind.ok_or(bad(format!("kind '{}' is not known", quotable(&document.kind))))?,
        first,
        last,
        asked: None,
        type_,
        name: document.name.clone(),
        ebr: document.ebr.map(Lba::new),
        id: id.transpose()?,
        attributes: 0,
    })
}

fn upper(guid: Uuid) -> String {
    guid.hyphenated().to_string().to_uppercase()
}

/// A text of the document as an error may repeat it.
fn quotable(text: &str) -> String {
    text.escape_debug().take(40).collect()
}
