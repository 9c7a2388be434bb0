use std::io::{self, Write};

use align_core::check::{PartitionReport, Report};
use align_core::table::PartitionKind;
use align_core::units::ByteCount;

use super::INDENT;

/// Cells of a map, within the width of the terminal.
const MOST_CELLS: usize = 100;
const FREE: u8 = b'.';
const CONTAINER: u8 = b'-';

/// Draws the disk to scale: each cell is the partition that holds most of it, a dot where it is free.
pub(super) fn write(out: &mut dyn Write, report: &Report, width: usize) -> io::Result<()> {
    let Some(size) = report.size.filter(|size| *size > 0) else { return Ok(()) };
    let end = ByteCount::new(size).to_string();
    let frame = INDENT.len() + "0 [] ".len() + end.len();
    let cells = width.saturating_sub(frame).clamp(10, MOST_CELLS);
    writeln!(out, "{INDENT}0 [{}] {end}", String::from_utf8_lossy(&draw(report, u128::from(size), cells)))
}

fn draw(report: &Report, size: u128, cells: usize) -> Vec<u8> {
    let unit = report.table.sector_size.unwrap_or(report.topology.logical);
    let mut map = vec![FREE; cells];
    let is_container = |partition: &&PartitionReport| partition.partition.kind == PartitionKind::Extended;
    let containers = report.partitions.iter().filter(is_container);
    let others = report.partitions.iter().filter(|partition| !is_container(partition));
    for partition in containers.chain(others) {
        let start = partition.partition.start_position(unit).min(size);
        let end = partition.partition.end_position(unit).clamp(start, size);
        // Rounded, and never less than the cell in which it begins.
        let cell =
            |position: u128| usize::try_from((position * cells as u128 + size / 2) / size).unwrap_or(cells);
        let from = cell(start).min(cells - 1);
        let to = cell(end).clamp(from + 1, cells);
        map[from..to].fill(mark(&partition.partition));
    }
    map
}

/// The last digit of the number tells neighbours apart.
fn mark(partition: &align_core::table::Partition) -> u8 {
    if partition.kind == PartitionKind::Extended {
        return CONTAINER;
    }
    b'0' + u8::try_from(partition.number % 10).expect("a digit")
}
