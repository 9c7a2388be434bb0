use std::io::{self, BufWriter, Write};
use std::path::Path;

use align_core::Error;
use align_core::check::{self, Health, Report};
use align_core::device::{Disk, Reader};
use align_core::plan::{Layout, Medium, Request, TableKind, Wanted};
use align_core::table::{Fingerprint, Label, Table};
use align_core::topology::{Reported, Topology};
use align_core::units::{SectorSize, Size};
use anstream::AutoStream;

use crate::cli::OutputArg;
use crate::exit::Exit;
use crate::json::{PlanDocument, write_indented};
use crate::scripts;
use crate::settings::{PlanSettings, WantedText};
use crate::text::{self, Page};

/// What a plan is for.
pub(crate) struct Target {
    /// What people call it: the path of the disk, or words.
    pub(crate) name: String,
    pub(crate) medium: Medium,
    /// The kind of table that it has now.
    table: Option<TableKind>,
    fingerprint: Option<Fingerprint>,
    /// What is there now, where that shall stay.
    kept: Option<Table>,
    /// Whether there is a table of which the partitions could not all be read.
    pub(crate) is_damaged: bool,
}

impl Target {
    /// A disk that is not there yet.
    fn to_come(name: String, medium: Medium) -> Self {
        Self { name, medium, table: None, fingerprint: None, kept: None, is_damaged: false }
    }
}

/// Disks that are made to measure end on whole MiB.
const MEBIBYTE: u64 = 1 << 20;

/// `alignck plan`: lays partitions out and prints the layout; nothing is written.
pub(crate) fn run(settings: &PlanSettings) -> Exit {
    let printed = match make(settings) {
        Ok((target, layout)) => print(settings, target, &layout),
        Err(message) => {
            text::complain(&message);
            return Exit::Failed;
        }
    };
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            text::complain(&format!("the output cannot be written: {error}"));
            Exit::Failed
        }
        _ => Exit::Good,
    }
}

fn make(settings: &PlanSettings) -> Result<(Target, Layout), String> {
    let target = match &settings.disk {
        Some(path) => existing(settings, path).map_err(|error| error.to_string())?,
        None => to_measure(settings)?,
    };
    let table = settings.table.or(target.table).unwrap_or(TableKind::Gpt);
    let request = request(settings, table)?;
    if settings.keep && matches!(settings.output, OutputArg::Sgdisk | OutputArg::Sfdisk | OutputArg::Parted) {
        return Err("--keep goes with --output table or json; `alignck apply` writes it".into());
    }
    let layout = match &target.kept {
        Some(table) => request.lay_out_beside(table, &target.medium),
        None => request.lay_out(&target.medium),
    };
    let layout = layout.map_err(|error| format!("{}: {error}", target.name))?;
    if let Some(reason) = scripts::cannot_say(settings.output, &layout) {
        return Err(reason);
    }
    Ok((target, layout))
}

fn request(settings: &PlanSettings, table: TableKind) -> Result<Request, String> {
    let wanted = |wanted: &WantedText| {
        let type_ = wanted.type_.as_deref().map(|word| {
            table.partition_type(word).ok_or_else(|| {
                let word: String = word.escape_debug().collect();
                format!(
                    "type={word} is no type of a {}; use linux, esp, swap, lvm, raid, home, root, bios-boot, msr, \
                     prep, ntfs, fat32, or a {}",
                    table.name(),
                    if table == TableKind::Gpt { "GUID" } else { "code such as 0x83" }
                )
            })
        });
        Ok::<_, String>(Wanted { size: wanted.size, type_: type_.transpose()?, name: wanted.name.clone() })
    };
    Ok(Request {
        table,
        partitions: settings.partitions.iter().map(wanted).collect::<Result<_, _>>()?,
        align: settings.align,
        primaries: settings.primaries,
    })
}

/// A disk or image that is there.
fn existing(settings: &PlanSettings, path: &Path) -> Result<Target, Error> {
    if path == Path::new("-") {
        return Err(Error::unusable(path, "standard input is no disk that a plan could be for; name it"));
    }
    let disk = Disk::open_on(&settings.host, path)?;
    if let Some(partition) = disk.given_partition() {
        let whole = disk.path().display();
        return Err(Error::unusable(partition, format!("is a partition; a plan is for its disk, {whole}")));
    }
    let (report, table) = check::examine(&disk, &settings.options)?;
    if report.is_unfinished() {
        let reason =
            "an earlier write to it was cut off; `alignck resume` finishes it, `alignck undo` takes it back";
        return Err(Error::unusable(path, reason));
    }
    let size = disk.size().ok_or_else(|| Error::unusable(path, "its size is not known"))?;
    let fingerprint = match (disk.device(), &table) {
        (Some(device), Some(table)) => {
            let found = table.fingerprint(&Reader::new(device));
            Some(found.map_err(|error| Error::unusable(path, error.to_string()))?)
        }
        _ => None,
    };
    let kept = if settings.keep { Some(kept(path, &report, table)?) } else { None };
    Ok(Target {
        name: path.display().to_string(),
        medium: Medium::of(size, report.topology),
        table: match report.table.label {
            Some(Label::Mbr) => Some(TableKind::Mbr),
            Some(Label::Gpt) => Some(TableKind::Gpt),
            Some(Label::None) | None => None,
        },
        fingerprint,
        kept,
        is_damaged: matches!(report.table.health, Health::Damaged | Health::Unknown),
    })
}

/// The table of a disk, if it is such that something can be put beside it.
fn kept(path: &Path, report: &Report, table: Option<Table>) -> Result<Table, Error> {
    let reason = match (report.table.label, report.table.health) {
        (_, Health::Repairable | Health::Damaged | Health::Unknown) => {
            "its partition table is not whole: `alignck check` says why; repair it before something is put beside it"
        }
        (Some(Label::None), _) => "has no partition table that could be kept; leave --keep out to make one",
        (_, Health::Ok | Health::Stale) => match table {
            Some(table) => return Ok(table),
            None => "its partition table cannot be read",
        },
    };
    Err(Error::unusable(path, reason))
}

/// A 512e disk that is not there yet: of the size that is given, or as large as the partitions need.
fn to_measure(settings: &PlanSettings) -> Result<Target, String> {
    let usual = Reported { logical: Some(512), physical: Some(4096), ..Reported::default() };
    let reported = usual.overridden_by(&settings.options.pretend);
    let medium = |bytes: Option<u64>| {
        let topology = Topology::judge(&reported, bytes, settings.options.physical, None);
        let sector_size = topology.logical;
        // A disk without end, of which what is not used can be cut off.
        let sectors = bytes.map_or(u64::MAX / sector_size.bytes(), |bytes| bytes / sector_size.bytes());
        Medium { sectors, sector_size, topology }
    };
    if let Some(bytes) = settings.disk_size {
        let name = format!("a disk of {bytes} bytes");
        return Ok(Target::to_come(name, medium(Some(bytes))));
    }
    let open_ended = |wanted: &WantedText| matches!(wanted.size, Size::Rest | Size::MilliPercent(_));
    if settings.partitions.iter().any(open_ended) {
        return Err("rest and % need to know the disk: name it, or give its --disk-size".into());
    }
    let table = settings.table.unwrap_or(TableKind::Gpt);
    let name = "a disk as large as needed".to_owned();
    let endless = medium(None);
    let layout = request(settings, table)?.lay_out(&endless).map_err(|error| format!("{name}: {error}"))?;
    let bytes = enough(&layout, endless.sector_size).ok_or("the partitions are too large for any disk")?;
    Ok(Target::to_come(name, medium(Some(bytes))))
}

/// The smallest whole MiB, and whole grain, on which the layout fits with the table's own copy at the end.
fn enough(layout: &Layout, unit: SectorSize) -> Option<u64> {
    let placed = layout.partitions.iter().filter(|planned| planned.asked.is_some());
    let last = placed.map(|planned| planned.last.number()).max()?;
    let backup = match layout.table {
        TableKind::Gpt => 16384_u64.div_ceil(unit.bytes()).checked_add(1)?,
        TableKind::Mbr => 0,
    };
    let used = last.checked_add(1)?.checked_add(backup)?.checked_mul(unit.bytes())?;
    let grain = layout.grain.bytes.max(MEBIBYTE);
    used.checked_next_multiple_of(grain)?.checked_add(layout.alignment_offset)
}

fn print(settings: &PlanSettings, target: Target, layout: &Layout) -> io::Result<()> {
    let disk = settings.disk.as_deref();
    let mut out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
    match settings.output {
        OutputArg::Table => Page::of_terminal().plan(&mut out, &target, layout)?,
        OutputArg::Json => {
            write_indented(&mut out, &PlanDocument::new(layout, target.fingerprint), "")?;
            writeln!(out)?;
        }
        OutputArg::Sfdisk => scripts::sfdisk(&mut out, layout)?,
        OutputArg::Sgdisk => scripts::sgdisk(&mut out, layout, disk)?,
        OutputArg::Parted => scripts::parted(&mut out, layout, disk)?,
    }
    out.flush()
}
