use std::collections::BTreeMap;
use std::io::{self, Write};

use align_core::check::Report;
use align_core::table::PartitionKind;
use align_core::topology::Grid;

use super::{INDENT, enumerate};

/// A sector is drawn with as many cells as it has logical ones, up to this.
const MOST_CELLS: u64 = 8;

/// Draws one sector of the grid for each place at which partitions begin in it.
pub(super) fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let physical = report.topology.physical;
    let title = format!("Where partitions begin in a physical sector ({physical} bytes):");
    draw(out, report, report.topology.physical_grid(), &title)?;
    match report.topology.optimal_grid().filter(|grid| grid.size() > physical.bytes()) {
        Some(grid) => {
            draw(out, report, grid, &format!("Where they begin in the optimal grid ({} bytes):", grid.size()))
        }
        None => Ok(()),
    }
}

fn draw(out: &mut dyn Write, report: &Report, grid: Grid, title: &str) -> io::Result<()> {
    let unit = report.unit();
    let mut places: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for partition in report.partitions.iter().map(|report| &report.partition) {
        // A container is only a frame.
        if partition.kind != PartitionKind::Extended {
            places.entry(grid.remainder(partition.start_position(unit))).or_default().push(partition.number);
        }
    }
    if places.is_empty() {
        return Ok(());
    }
    writeln!(out, "{INDENT}{title}")?;
    let cells = (grid.size() / unit.bytes()).clamp(1, MOST_CELLS);
    for (remainder, numbers) in places {
        let at = u128::from(remainder) * u128::from(cells) / u128::from(grid.size());
        let sector: String = (0..u128::from(cells)).map(|cell| if cell == at { '#' } else { '.' }).collect();
        let place = match remainder {
            0 => "on the boundary".to_owned(),
            late => format!("{late} bytes past it"),
        };
        writeln!(out, "{INDENT}{INDENT}|{sector}|  {place}: {}", enumerate(&numbers))?;
    }
    Ok(())
}
