use crate::Error;
use crate::check::{Code, Finding, PartitionReport, Subject, Verdict};
use crate::topology::{Basis, Grid};
use crate::units::{ByteCount, Lba};

/// Where partitioners of today put partitions.
const MEBIBYTE: u64 = 1 << 20;

/// Partitions begin and end on the grids of the medium.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for report in subject.partitions {
        match report.verdict {
            Verdict::Misaligned => findings.push(off_physical(subject, report)),
            Verdict::Suboptimal => findings.extend(off_optimal(subject, report)),
            Verdict::Aligned => findings.extend(off_mebibyte(subject, report)),
            Verdict::Exempt | Verdict::Unknown => {}
        }
        findings.extend(end_off_physical(subject, report));
    }
    Ok(findings)
}

fn off_physical(subject: &Subject<'_>, report: &PartitionReport) -> Finding {
    let topology = subject.topology;
    let grid = topology.physical_grid();
    let basis = match topology.physical_basis {
        Basis::Reported => "",
        Basis::Assumed => " (the size is assumed)",
        Basis::Forced => " (the size is yours)",
    };
    Finding::partition(
        Code::StartOffPhysical,
        report.partition.number,
        format!(
            "starts {} bytes past a {}-byte physical sector boundary{basis}",
            report.remainder, topology.physical
        ),
        format!(
            "Each small write touches two physical sectors and makes the drive read before it writes: up to \
             about five times slower for small synchronous writes, hardly felt in reads. {}",
            remedy(subject, report, grid)
        ),
    )
}

fn off_optimal(subject: &Subject<'_>, report: &PartitionReport) -> Option<Finding> {
    let grid = subject.topology.optimal_grid()?;
    let remainder = grid.remainder(report.partition.start_position(subject.unit));
    Some(Finding::partition(
        Code::StartOffOptimal,
        report.partition.number,
        format!("starts {remainder} bytes past a boundary of the optimal I/O size of {} bytes", grid.size()),
        format!(
            "On the physical sectors it is fine. Requests of the optimal size (a stripe of an array, say) are \
             split in two. Worth mending when the partition is made anew. {}",
            remedy(subject, report, grid)
        ),
    ))
}

/// Which sector would be right: the next on the grid, and what is customary where that differs.
fn remedy(subject: &Subject<'_>, report: &PartitionReport, grid: Grid) -> String {
    let start = report.partition.start_position(subject.unit);
    let unit = u128::from(subject.unit.bytes());
    let next = |grid: Grid| {
        let position = start + u128::from(grid.size() - grid.remainder(start));
        (position % unit == 0).then(|| Lba::new(u64::try_from(position / unit).unwrap_or(u64::MAX)))
    };
    let Some(nearest) = next(grid) else {
        return format!("No {}-byte sector number lies on this grid.", subject.unit);
    };
    let customary = customary_grid(grid, subject.topology.alignment_offset).and_then(next);
    let choice = match customary {
        Some(customary) if customary != nearest => {
            format!("sector {nearest}, or better {customary} (on the MiB grid)")
        }
        _ => format!("sector {nearest}"),
    };
    format!("The next right start is {choice}: back up, create the partition anew there, and restore.")
}

/// The grid of whole MiB, where it fits into the other.
fn customary_grid(grid: Grid, offset: u64) -> Option<Grid> {
    if MEBIBYTE.is_multiple_of(grid.size()) { Grid::new(MEBIBYTE, offset) } else { None }
}

/// Fine here, but off the convention. Where the optimal grid does not fit into a MiB, it takes the place of the
/// convention.
fn off_mebibyte(subject: &Subject<'_>, report: &PartitionReport) -> Option<Finding> {
    let topology = subject.topology;
    let fits = topology.optimal_grid.is_none_or(|grid| MEBIBYTE.is_multiple_of(grid));
    let grid = Grid::new(MEBIBYTE, topology.alignment_offset)?;
    let start = report.partition.start_position(subject.unit);
    if report.partition.type_.is_exempt() || !fits || grid.contains(start) {
        return None;
    }
    Some(Finding::partition(
        Code::StartOffMebibyte,
        report.partition.number,
        format!(
            "starts on a physical boundary, but {} past a whole MiB",
            ByteCount::new(grid.remainder(start))
        ),
        "Nothing needs to be done: this disk does not mind. A medium with larger blocks (flash, a stripe) to \
         which the layout is copied might.",
    ))
}

fn end_off_physical(subject: &Subject<'_>, report: &PartitionReport) -> Option<Finding> {
    let partition = &report.partition;
    let grid = subject.topology.physical_grid();
    let end = partition.end_position(subject.unit);
    if partition.type_.is_exempt() || partition.sectors().is_none() || grid.contains(end) {
        return None;
    }
    Some(Finding::partition(
        Code::EndOffPhysical,
        partition.number,
        format!("ends {} bytes past a physical boundary: its last block is partial", grid.remainder(end)),
        "File systems leave the rest unused. LUKS2 and VDO with 4096-byte sectors refuse such a size, and a \
         partition that begins right behind it is misaligned. Let it end on the grid when it is made anew.",
    ))
}
