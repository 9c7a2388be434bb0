use std::sync::Arc;

use super::unfinished;
use super::{Finding, Health, PartitionReport, REGISTRY, Report, Status, Subject, TableReport, Verdict};
use crate::Error;
use crate::content::{self, Kind};
use crate::device::linux::KernelView;
use crate::device::{Disk, ReadError, Reader, Source};
use crate::patch::Backup;
use crate::table::mbr::SECTOR_LEN;
use crate::table::{Label, Partition, PartitionKind, PartitionType, SectorSizeBasis, Table};
use crate::topology::{Reported, Topology};
use crate::units::{Lba, PhysicalSize, SectorSize};

/// What the caller knows better than the device.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Taken as if the device reported it; where a value is `None`, what it does report stays.
    pub pretend: Reported,
    /// The physical sector size to judge by, whatever is reported.
    pub physical: Option<PhysicalSize>,
    /// Writes that were not seen to end, of any disk: where one of them left this disk half written, that is said
    /// first of all. See [`Folder::unfinished`](crate::patch::Folder::unfinished).
    pub unfinished: Arc<[Backup]>,
    /// Look for file systems of another sector size also where nothing speaks for it: before a disk goes elsewhere.
    pub look_inside: bool,
}

impl Options {
    /// The same, with this logical sector size for a disk that reports none and of which nothing else is pretended.
    #[must_use]
    pub fn in_sectors_of(&self, disk: &Disk, unit: SectorSize) -> Self {
        let logical = self.pretend.logical.or(disk.reported().logical).or(Some(unit.bytes()));
        Self { pretend: Reported { logical, ..self.pretend.clone() }, ..self.clone() }
    }
}

/// Checks one disk.
///
/// # Errors
/// When the disk cannot be looked at: it cannot be read, is too short, or is an image in a foreign format.
/// What is wrong *on* a disk is in the report.
pub fn run(disk: &Disk, options: &Options) -> Result<Report, Error> {
    examine(disk, options).map(|(report, _)| report)
}

/// Checks one disk, and gives its table too; `None` when there are no bytes to read.
///
/// # Errors
/// As [`run`].
pub fn examine(disk: &Disk, options: &Options) -> Result<(Report, Option<Table>), Error> {
    let reported = disk.reported().overridden_by(&options.pretend);
    let logical = reported.logical.and_then(SectorSize::new);
    let reader = disk.device().map(Reader::new);
    let table = match &reader {
        Some(reader) => Some(read_table(disk, reader, logical)?),
        None => None,
    };
    let in_use = table.as_ref().filter(|table| table.label != Label::None).map(|table| table.sector_size);
    let identified = disk.identification().facts.unless_said(&options.pretend);
    let topology = Topology::judge_identified(&reported, &identified, disk.size(), options.physical, in_use);
    check_forced(disk, options.physical, &topology)?;

    let unit = in_use.unwrap_or(topology.logical);
    let bare = match (&table, disk.kernel()) {
        (Some(table), _) => table.partitions.clone(),
        (None, Some(kernel)) => kernel_partitions(kernel, unit),
        (None, None) => Vec::new(),
    };
    let partitions = judge_all(bare, unit, &topology, disk.kernel());
    let subject = Subject {
        disk,
        reader: reader.as_ref(),
        topology: &topology,
        table: table.as_ref(),
        partitions: &partitions,
        unit,
        look_inside: options.look_inside,
    };
    // What is half written is not judged, and nothing else may be done before it is finished or taken back.
    if let Some(cut_off) = unfinished::find(disk, table.as_ref(), &options.unfinished) {
        let report = report(disk, topology, table.as_ref(), Vec::new(), vec![cut_off]);
        return Ok((Report { status: Status::Unknown, ..report }, table));
    }
    let mut findings = Vec::new();
    for check in REGISTRY {
        findings.extend((check.run)(&subject)?);
    }
    Ok((report(disk, topology, table.as_ref(), partitions, findings), table))
}

/// Reads the table, after making sure that these are the bytes of a disk.
fn read_table(disk: &Disk, reader: &Reader<'_>, logical: Option<SectorSize>) -> Result<Table, Error> {
    let path = disk.path();
    let front = reader.front(SECTOR_LEN).map_err(|error| match error {
        ReadError::NotSeen { .. } => Error::unusable(path, "nothing arrived on standard input"),
        other => Error::read(path, other),
    })?;
    let front = front.bytes;
    if let Some(container) = content::recognise_container(&front) {
        return Err(Error::container(path, container.name, container.remedy));
    }
    if front.len() < SECTOR_LEN {
        let reason = match front.len() {
            0 if disk.source() == Source::Block => {
                return Err(Error::unusable(path, "has no medium, or none of any size"));
            }
            0 => "is empty".to_owned(),
            len => format!("has only {len} bytes, less than one sector of {SECTOR_LEN}"),
        };
        return Err(Error::unusable(path, format!("{reason}; a disk image is larger")));
    }
    if disk.source() == Source::Image && is_fixed_vhd(reader) {
        let remedy = "convert it with `qemu-img convert -f vpc -O raw` and check that";
        return Err(Error::container(path, "a fixed VHD image", remedy));
    }
    let table = Table::read(reader, logical).map_err(|error| Error::read(path, error))?;
    match table.content.filter(|content| content.kind == Kind::OtherTable) {
        Some(other) if table.label == Label::None => Err(Error::unusable(
            path,
            format!("has {}, which alignck cannot read (only MBR and GPT)", other.name),
        )),
        _ => Ok(table),
    }
}

/// A fixed VHD is a raw image with a footer of 512 bytes behind it. Its disk has an even number of sectors (whole
/// cylinders of at least four heads, or whole MiB), so only an odd number is worth a look at the tail.
fn is_fixed_vhd(reader: &Reader<'_>) -> bool {
    let Some(size) = reader.size().filter(|size| size % 1024 == 512) else { return false };
    let footer = reader.read(size - 512, content::FIXED_VHD_FOOTER.len());
    footer.is_ok_and(|bytes| *bytes == *content::FIXED_VHD_FOOTER)
}

fn check_forced(disk: &Disk, forced: Option<PhysicalSize>, topology: &Topology) -> Result<(), Error> {
    match forced {
        Some(forced) if forced < topology.logical.into() => Err(Error::unusable(
            disk.path(),
            format!(
                "a physical sector of {forced} bytes cannot be smaller than the logical sector of {} bytes; \
                 give {} or more",
                topology.logical, topology.logical
            ),
        )),
        _ => Ok(()),
    }
}

fn judge_all(
    bare: Vec<Partition>,
    unit: SectorSize,
    topology: &Topology,
    kernel: Option<&KernelView>,
) -> Vec<PartitionReport> {
    let judge = |partition: Partition| {
        let start = partition.start_position(unit);
        let size = partition.sectors().map(|sectors| u128::from(sectors) * u128::from(unit.bytes()));
        let known = kernel.into_iter().flat_map(|kernel| &kernel.partitions);
        let node = known.into_iter().find(|known| known.number == partition.number);
        PartitionReport {
            verdict: Verdict::judge(topology, start, size, partition.type_),
            remainder: topology.physical_grid().remainder(start),
            node: node.map(|known| known.node.clone()),
            partition,
        }
    };
    bare.into_iter().map(judge).collect()
}

/// The partitions that the kernel shows of a disk that may not be read, in its logical sectors.
fn kernel_partitions(kernel: &KernelView, unit: SectorSize) -> Vec<Partition> {
    let in_units = unit.bytes() / SectorSize::B512.bytes();
    let has_logicals = kernel.partitions.iter().any(|partition| partition.number >= 5);
    let convert = |known: &crate::device::linux::KernelPartition| {
        let type_ = known.kind.as_deref().map_or(PartitionType::Unknown, PartitionType::from_code);
        // The kernel shows of a container its first KiB or sector only.
        let stub = has_logicals && known.number < 5 && known.size_512 <= in_units.max(2);
        let kind = match (type_.is_extended() || stub, type_) {
            (true, _) => PartitionKind::Extended,
            (false, PartitionType::Gpt(_)) => PartitionKind::Primary,
            (false, _) if known.number >= 5 => PartitionKind::Logical,
            (false, _) => PartitionKind::Primary,
        };
        let first = known.start_512 / in_units;
        let sectors = known.size_512 / in_units;
        Partition {
            number: known.number,
            kind,
            first: Lba::new(first),
            last: Lba::new(first.saturating_add(sectors).saturating_sub(1)),
            type_: if stub && type_ == PartitionType::Unknown { PartitionType::Mbr(0x05) } else { type_ },
            name: None,
            id: None,
        }
    };
    kernel.partitions.iter().map(convert).collect()
}

fn report(
    disk: &Disk,
    topology: Topology,
    table: Option<&Table>,
    partitions: Vec<PartitionReport>,
    findings: Vec<Finding>,
) -> Report {
    Report {
        path: disk.path().to_owned(),
        given_partition: disk.given_partition().map(ToOwned::to_owned),
        source: disk.source(),
        description: disk.description().map(ToOwned::to_owned),
        size: disk.size(),
        status: status(table, &partitions),
        topology,
        identification: disk.identification().clone(),
        table: TableReport {
            label: table.map(|table| table.label),
            sector_size: table.filter(|table| table.label != Label::None).map(|table| table.sector_size),
            health: Health::of(&findings),
            id: table.and_then(id),
        },
        content: table.and_then(|table| table.content),
        partitions,
        findings,
    }
}

fn status(table: Option<&Table>, partitions: &[PartitionReport]) -> Status {
    let unreadable_gpt = table.and_then(|table| table.gpt.as_ref()).is_some_and(|gpt| gpt.header().is_none());
    let ambiguous =
        table.is_some_and(|table| matches!(table.sector_size_basis, SectorSizeBasis::Ambiguous(_)));
    // Logical partitions that a broken chain hides may be misaligned too.
    let broken_chain = table
        .and_then(|table| table.mbr.as_ref())
        .is_some_and(|mbr| mbr.chains.iter().any(|chain| chain.fault.is_some()));
    let unread = table.is_some_and(|table| table.unread_front.is_some());
    let cut_short = table.and_then(|table| table.gpt.as_ref()).is_some_and(|gpt| gpt.truncated);
    if unreadable_gpt || ambiguous {
        return Status::Unknown;
    }
    match Status::of(partitions.iter().map(|report| report.verdict)) {
        Status::Aligned | Status::Unpartitioned if broken_chain || unread || cut_short => Status::Unknown,
        status => status,
    }
}

fn id(table: &Table) -> Option<String> {
    match table.label {
        Label::Mbr => table.mbr.as_ref().map(|mbr| format!("0x{:08x}", mbr.disk_signature())),
        Label::Gpt => {
            let id = table.gpt.as_ref()?.disk_id()?;
            Some(id.hyphenated().to_string().to_uppercase())
        }
        Label::None => None,
    }
}
