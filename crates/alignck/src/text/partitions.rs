use std::io::{self, Write};

use align_core::check::{PartitionReport, Report, Verdict};
use align_core::table::PartitionKind;
use align_core::units::{ByteCount, SectorSize};
use anstyle::Style;

use super::columns::{Column, print};
use super::map::Stretch;
use super::{BAD, DOUBTFUL, FAINT, plain};

const COLUMNS: [Column; 8] = [
    Column::right("Nr"),
    Column::right("Start"),
    Column::right("End"),
    Column::right("Size"),
    Column::shrinking("Type"),
    Column::left("Verdict"),
    Column::right("Off by"),
    Column::shrinking("Name"),
];
/// The name has its column from this width of the terminal on.
const WIDTH_WITH_NAMES: usize = 100;

/// Prints the partitions of a report with their verdicts.
pub(super) fn write(out: &mut dyn Write, report: &Report, width: usize) -> io::Result<()> {
    let unit = report.unit();
    let has_name =
        |report: &PartitionReport| report.partition.name.as_ref().is_some_and(|name| !name.is_empty());
    let with_names = width >= WIDTH_WITH_NAMES && report.partitions.iter().any(has_name);
    let columns = if with_names { &COLUMNS[..] } else { &COLUMNS[..COLUMNS.len() - 1] };
    let rows: Vec<Vec<String>> = report.partitions.iter().map(|partition| cells(partition, unit)).collect();
    print(out, columns, &rows, width, |index| match report.partitions[index].verdict {
        Verdict::Misaligned => BAD,
        Verdict::Suboptimal | Verdict::Unknown => DOUBTFUL,
        Verdict::Exempt => FAINT,
        Verdict::Aligned => Style::new(),
    })
}

/// The partitions as stretches of the map.
pub(super) fn stretches(report: &Report) -> Vec<Stretch> {
    let unit = report.unit();
    let stretch = |report: &PartitionReport| Stretch {
        number: report.partition.number,
        is_container: report.partition.kind == PartitionKind::Extended,
        start: report.partition.start_position(unit),
        end: report.partition.end_position(unit),
    };
    report.partitions.iter().map(stretch).collect()
}

fn cells(report: &PartitionReport, unit: SectorSize) -> Vec<String> {
    let partition = &report.partition;
    let size = partition.sectors().map(|sectors| u128::from(sectors) * u128::from(unit.bytes()));
    let type_ = match (partition.type_.name(), partition.type_.code()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(code)) => code,
        (None, None) => "not known".to_owned(),
    };
    vec![
        partition.number.to_string(),
        partition.first.to_string(),
        partition.last.to_string(),
        size.map_or("inverted".to_owned(), |size| ByteCount::new(size).to_string()),
        if partition.kind == PartitionKind::Extended { "(container)".to_owned() } else { type_ },
        report.verdict.word().to_owned(),
        if report.remainder == 0 { "-".to_owned() } else { format!("{} B", report.remainder) },
        plain(partition.name.as_deref().unwrap_or_default()),
    ]
}
