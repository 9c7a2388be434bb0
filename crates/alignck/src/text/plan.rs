use std::io::{self, Write};

use align_core::plan::{GrainReason, Layout, Planned};
use align_core::table::{Partition, PartitionKind};
use align_core::topology::Topology;
use align_core::units::{ByteCount, Lba, SectorSize, Size};

use super::columns::{Column, print};
use super::map::{self, Stretch};
use super::{BAD, HEADING, INDENT, Page, count, plain};
use crate::plan::Target;

const COLUMNS: [Column; 7] = [
    Column::right("Nr"),
    Column::right("Start"),
    Column::right("End"),
    Column::right("Size"),
    Column::left("Asked"),
    Column::shrinking("Type"),
    Column::shrinking("Name"),
];

impl Page {
    /// A layout: what was asked for, what came out, and why.
    pub(crate) fn plan(&self, out: &mut dyn Write, target: &Target, layout: &Layout) -> io::Result<()> {
        let topology = &target.medium.topology;
        let unit = layout.sector_size;
        let size = Lba::new(layout.disk_sectors).position(unit);
        let asked = layout.partitions.iter().filter(|planned| planned.asked.is_some()).count();
        let line = match &layout.kept {
            None => format!(
                "{} with {} for {}",
                layout.table.name(),
                count(asked, "partition"),
                plain(&target.name)
            ),
            Some(kept) => {
                let more = count(asked, "new partition");
                let kept = count(kept.len(), "partition");
                format!("{more} beside the {kept} of the {} of {}", layout.table.name(), plain(&target.name))
            }
        };
        writeln!(out, "{HEADING}{}{HEADING:#}", textwrap::fill(&line, self.options("", INDENT)))?;
        writeln!(out)?;
        let disk = format!("{}, {} sectors of {unit} bytes", ByteCount::new(size), layout.disk_sectors);
        self.fact(out, "Disk", &disk)?;
        let physical =
            format!("physical sectors of {} bytes ({})", topology.physical, topology.physical_basis.word());
        self.fact(out, "Medium", &physical)?;
        self.fact(out, "Grain", &grain(layout, topology))?;
        writeln!(out)?;
        let kept = layout.kept.iter().flatten();
        let mut rows: Vec<(u32, Vec<String>)> =
            kept.clone().map(|partition| (partition.number, kept_cells(partition, unit))).collect();
        rows.extend(layout.partitions.iter().map(|planned| (planned.number, cells(planned, layout))));
        rows.sort_by_key(|(number, _)| *number);
        let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, cells)| cells).collect();
        let named = rows.iter().any(|cells| cells.last().is_some_and(|name| !name.is_empty()));
        let columns = if named { 7 } else { 6 };
        print(out, &COLUMNS[..columns], &rows, self.width, |_| anstyle::Style::new())?;
        writeln!(out)?;
        let stretch = |number, kind, first: Lba, last: Lba| Stretch {
            number,
            is_container: kind == PartitionKind::Extended,
            start: first.position(unit),
            end: last.position(unit) + u128::from(unit.bytes()),
        };
        let there = kept.map(|kept| stretch(kept.number, kept.kind, kept.first, kept.last));
        let new = layout.partitions.iter().map(|new| stretch(new.number, new.kind, new.first, new.last));
        map::write(out, &there.chain(new).collect::<Vec<_>>(), size, self.width)?;
        writeln!(out)?;
        if target.is_damaged {
            let warning = "The table that is there is damaged, and may be the only way to what the disk holds: see `alignck \
                           check` before this is written over it.";
            writeln!(out, "{BAD}{}{BAD:#}", textwrap::fill(warning, self.options(INDENT, INDENT)))?;
        }
        let note = match layout.kept {
            None => {
                "Nothing was written. --json prints the plan for `alignck apply`; --output sfdisk, sgdisk or parted \
                 prints what makes those tools do it."
            }
            Some(_) => "Nothing was written. --json prints the plan for `alignck apply`.",
        };
        writeln!(out, "{}", textwrap::fill(note, self.options(INDENT, INDENT)))
    }
}

fn grain(layout: &Layout, topology: &Topology) -> String {
    let why = match layout.grain.reason {
        GrainReason::Mebibyte => "whole MiB, as every system uses today".to_owned(),
        GrainReason::Hints => "from 1 MiB on, the first that suits the I/O sizes of the disk".to_owned(),
        GrainReason::FewGrains => {
            "whole MiB: the disk is too small for the grain of its I/O sizes".to_owned()
        }
        GrainReason::SmallDisk => "physical sectors: the disk is too small for whole MiB".to_owned(),
        GrainReason::Minimal => "physical sectors, as asked".to_owned(),
        GrainReason::Given => format!("as asked, on physical sectors of {} bytes", topology.physical),
    };
    let offset = match layout.alignment_offset {
        0 => String::new(),
        offset => format!("; counted from byte {offset}, where the first physical sector begins"),
    };
    format!("{} ({why}){offset}", ByteCount::new(layout.grain.bytes))
}

/// A partition that is there and stays.
fn kept_cells(partition: &Partition, unit: SectorSize) -> Vec<String> {
    let size = partition.sectors().map(|sectors| u128::from(sectors) * u128::from(unit.bytes()));
    let type_ =
        partition.type_.name().map(str::to_owned).or_else(|| partition.type_.code()).unwrap_or_default();
    vec![
        partition.number.to_string(),
        partition.first.to_string(),
        partition.last.to_string(),
        size.map_or("inverted".to_owned(), |size| ByteCount::new(size).to_string()),
        "stays".to_owned(),
        if partition.kind == PartitionKind::Extended { "(container)".to_owned() } else { type_ },
        plain(partition.name.as_deref().unwrap_or_default()),
    ]
}

fn cells(planned: &Planned, layout: &Layout) -> Vec<String> {
    let unit = u128::from(layout.sector_size.bytes());
    let size = u128::from(planned.sectors()) * unit;
    let asked = match planned.asked {
        None => "-".to_owned(),
        Some(Size::Bytes(bytes)) if size == u128::from(bytes) => "as asked".to_owned(),
        Some(Size::Bytes(bytes)) => format!("{bytes} B, +{}", size - u128::from(bytes)),
        Some(size) => size.to_string(),
    };
    let type_ = planned.type_.name().map(str::to_owned).or_else(|| planned.type_.code()).unwrap_or_default();
    vec![
        planned.number.to_string(),
        planned.first.to_string(),
        planned.last.to_string(),
        ByteCount::new(size).to_string(),
        asked,
        if planned.kind == PartitionKind::Extended { "(container)".to_owned() } else { type_ },
        plain(planned.name.as_deref().unwrap_or_default()),
    ]
}
