use crate::Error;
use crate::check::{Code, Finding, PartitionReport, Subject, Verdict};
use crate::device::Source;
use crate::table::{Partition, Table};
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
        Basis::Reported | Basis::Identified => "",
        Basis::KnownModel => " (this model is known to have them, whatever it reports)",
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
            "Small writes (of 4 KiB, say) touch one physical sector more and can make the drive read before it \
             writes: small synchronous writes can be up to about five times slower, reads hardly. {}",
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

/// Which sector would be right: the next on the grid, and what is customary where that differs. Only places
/// inside the partition are named: what lies around it may belong to others.
fn remedy(subject: &Subject<'_>, report: &PartitionReport, grid: Grid) -> String {
    if subject.table.is_some_and(Table::is_isohybrid) {
        return "It is part of the image of an optical disc, which is only read: leave it.".to_owned();
    }
    let next = |grid: Grid| next_start(subject, &report.partition, grid);
    let customary = customary_grid(grid, subject.topology.alignment_offset).and_then(next);
    let choice = match (next(grid), customary) {
        (Some(nearest), Some(customary)) if nearest != customary => {
            format!("sector {nearest}, or better {customary} (on the MiB grid)")
        }
        (Some(nearest), _) => format!("sector {nearest}"),
        (None, _) => "none that lies inside it".to_owned(),
    };
    let named = match report.verdict {
        Verdict::Misaligned => String::new(),
        _ => format!(" --partition {}", report.partition.number),
    };
    let disk = match subject.disk.source() {
        Source::Stream => "DISK".into(),
        Source::Block | Source::Image => subject.disk.path().display().to_string(),
    };
    format!(
        "The next right start is {choice}. `alignck fix{named} {disk}` finds out where the partition can go, and moves it \
         with all its bytes."
    )
}

/// The next place on the grid that is a whole sector, that the table gives to partitions, and that lies in the
/// partition itself.
fn next_start(subject: &Subject<'_>, partition: &Partition, grid: Grid) -> Option<Lba> {
    let gpt = subject.table.and_then(|table| table.gpt.as_ref());
    let first_usable = gpt.and_then(|gpt| gpt.header()).map(|header| header.first_usable);
    let from = first_usable.unwrap_or(Lba::ZERO).max(partition.first).position(subject.unit);
    let unit = u128::from(subject.unit.bytes());
    let past = grid.remainder(from);
    let place = if past == 0 { from } else { from + u128::from(grid.size() - past) };
    let lba = Lba::new(u64::try_from(place.checked_div(unit).filter(|_| place % unit == 0)?).ok()?);
    partition.covers(lba).then_some(lba)
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
            "starts on a physical boundary, but {} past a whole MiB{}",
            ByteCount::new(grid.remainder(start)),
            if topology.alignment_offset > 0 { " from the first boundary" } else { "" }
        ),
        "Nothing needs to be done: this disk does not mind. A medium with larger blocks (flash, a stripe) to \
         which the layout is copied might.",
    ))
}

fn end_off_physical(subject: &Subject<'_>, report: &PartitionReport) -> Option<Finding> {
    let partition = &report.partition;
    let grid = subject.topology.physical_grid();
    let end = partition.end_position(subject.unit);
    if partition.type_.is_exempt() || partition.is_inverted() || grid.contains(end) {
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
