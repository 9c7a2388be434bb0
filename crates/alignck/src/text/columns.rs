use std::io::{self, Write};

use align_core::check::{PartitionReport, Report, Verdict};
use align_core::table::PartitionKind;
use align_core::units::{ByteCount, SectorSize};

use super::{BAD, DOUBTFUL, FAINT, HEADING, INDENT, plain};
use anstyle::Style;

const TITLES: [&str; 8] = ["Nr", "Start", "End", "Size", "Type", "Verdict", "Off by", "Name"];
/// The columns of numbers are flushed right.
const RIGHT: [bool; 8] = [true, true, true, true, false, false, true, false];
const TYPE: usize = 4;
const NAME: usize = 7;
/// The name has its column from this width of the terminal on.
const WIDTH_WITH_NAMES: usize = 100;
const GAP: &str = "  ";

/// Prints the partitions as a table no wider than `width`, unless the numbers themselves are.
pub(super) fn write(out: &mut dyn Write, report: &Report, width: usize) -> io::Result<()> {
    let unit = report.table.sector_size.unwrap_or(report.topology.logical);
    let has_names = report
        .partitions
        .iter()
        .any(|partition| !partition.partition.name.as_ref().is_none_or(String::is_empty));
    let columns = if has_names && width >= WIDTH_WITH_NAMES { TITLES.len() } else { NAME };
    let rows: Vec<[String; 8]> = report.partitions.iter().map(|partition| cells(partition, unit)).collect();
    let mut widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().map(|row| textwrap::core::display_width(&row[column]));
            cells.chain([TITLES[column].len()]).max().unwrap_or(0)
        })
        .collect();
    shrink(&mut widths, width);

    let titles: Vec<String> = TITLES.iter().map(ToString::to_string).collect();
    writeln!(out, "{INDENT}{HEADING}{}{HEADING:#}", line(&titles, &widths))?;
    for (row, partition) in rows.iter().zip(&report.partitions) {
        let style = match partition.verdict {
            Verdict::Misaligned => BAD,
            Verdict::Suboptimal | Verdict::Unknown => DOUBTFUL,
            Verdict::Exempt => FAINT,
            Verdict::Aligned => Style::new(),
        };
        writeln!(out, "{INDENT}{style}{}{style:#}", line(row, &widths))?;
    }
    Ok(())
}

fn cells(report: &PartitionReport, unit: SectorSize) -> [String; 8] {
    let partition = &report.partition;
    let size = partition.sectors().map(|sectors| u128::from(sectors) * u128::from(unit.bytes()));
    let type_ = match (partition.type_.name(), partition.type_.code()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(code)) => code,
        (None, None) => "not known".to_owned(),
    };
    [
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

/// Takes from the name and the type what does not fit, down to a readable rest.
fn shrink(widths: &mut [usize], width: usize) {
    let total: usize =
        INDENT.len() + widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
    let mut excess = total.saturating_sub(width);
    for column in [NAME, TYPE] {
        if let Some(cell) = widths.get_mut(column) {
            let spare = cell.saturating_sub(8).min(excess);
            *cell -= spare;
            excess -= spare;
        }
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded = cells.iter().zip(widths).zip(RIGHT).map(|((cell, width), right)| {
        let cell = cut(cell, *width);
        let space = " ".repeat(width.saturating_sub(textwrap::core::display_width(&cell)));
        if right { space + &cell } else { cell + &space }
    });
    padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

/// The text, or as much of it as fits with `..` at its end.
fn cut(text: &str, width: usize) -> String {
    if textwrap::core::display_width(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        let longer = format!("{short}{letter}");
        if textwrap::core::display_width(&longer) + 2 > width {
            break;
        }
        short = longer;
    }
    short + ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_in_dots_within_their_width() {
        assert_eq!(cut("Linux", 5), "Linux");
        assert_eq!(cut("Microsoft basic data", 12), "Microsoft ..");
        assert_eq!(cut("\u{4e2d}\u{6587}\u{4e2d}\u{6587}", 7), "\u{4e2d}\u{6587}..");
    }
}
