use std::path::Path;

use super::layout::{check_editable, check_health};
use super::rehearsal::Rehearsal;
use super::target::{self, Looked};
use super::{Action, Proposal, WriteError};
use crate::check::{self, Code, Options, Report};
use crate::compose;
use crate::device::{Disk, Reader, Source};
use crate::patch::{Draft, Patch, Side};
use crate::table::{Partition, PartitionKind, SectorSizeBasis, Table};
use crate::topology::Reported;
use crate::units::SectorSize;

pub(super) fn propose(
    disk: &Disk,
    to: SectorSize,
    options: &Options,
    force: bool,
) -> Result<Proposal, WriteError> {
    let path = disk.path();
    let Looked { report: before, table, device } = target::look(disk, options)?;
    check_editable(path, &before)?;
    let done = table.sector_size == to;
    if !done && !force {
        check_device(disk, &before, &table, to)?;
    }
    let draft = match done {
        true => Draft::new(),
        false => compose::convert(&table, to, &Reader::new(device))
            .map_err(|source| WriteError::compose(path, source))?,
    };
    let patch = draft.against(device).map_err(|source| WriteError::patch(path, source))?;
    let fronts = fronts(&table);
    let rehearsal = Rehearsal::of(disk, &patch, &fronts, to)?;
    // What comes out is looked at as where it has such sectors: elsewhere an MBR would seem to be another.
    let pretend = Reported { logical: Some(to.bytes()), ..options.pretend.clone() };
    let after = Options { pretend, look_inside: true, ..options.clone() };
    let outcome = rehearsal.play(disk, &patch, Side::After, &after)?;
    if !done {
        check_outcome(path, &table, &outcome.table, &outcome.report)?;
    }
    let (in_the_way, uses) = target::uses(path, &outcome.table.partitions, to, &patch);
    if !patch.is_empty() && !in_the_way.is_empty() {
        return Err(WriteError::InUse { path: path.to_owned(), uses: in_the_way });
    }
    let what = match done {
        true if is_guess(disk, options, &table) => format!(
            "its table is taken to count in sectors of {to} bytes already, but neither an MBR nor an image says in which; if \
             it was made for others, say so: -t logical={}",
            if to == SectorSize::B512 { SectorSize::B4096 } else { SectorSize::B512 }
        ),
        true => format!("its table counts in sectors of {to} bytes already"),
        false => {
            format!("the same partitions in a table for sectors of {to} bytes (now {})", table.sector_size)
        }
    };
    Ok(Proposal {
        what,
        warnings: warnings(&outcome.report),
        before,
        after: outcome.report,
        patch: if done { Patch::default() } else { patch },
        contents: Vec::new(),
        uses,
        always_readable: outcome.always_readable,
        table: outcome.table,
        unit: to,
        action: Action::Write { undoes: None },
        options: after,
        path: path.to_owned(),
    })
}

/// Whether nothing says in which sectors the table counts.
fn is_guess(disk: &Disk, options: &Options, table: &Table) -> bool {
    table.sector_size_basis == SectorSizeBasis::Device
        && disk.reported().logical.is_none()
        && options.pretend.logical.is_none()
}

/// On a device that has other sectors, the partitions would be gone.
fn check_device(disk: &Disk, before: &Report, table: &Table, to: SectorSize) -> Result<(), WriteError> {
    let device = before.topology.logical;
    if disk.source() != Source::Block || device == to {
        return Ok(());
    }
    let path = disk.path();
    let now =
        if table.sector_size == device { "its table is right for it" } else { "its table is for yet others" };
    Err(WriteError::refused(
        path,
        format!(
            "this device has sectors of {device} bytes, and {now}: in a table for sectors of {to} its partitions would not \
             be found here. Use --to {device}, or --force for a disk that goes where it has sectors of {to}"
        ),
    ))
}

/// The first bytes of the partitions, by which file systems tell the sector size that they are for.
pub(super) fn fronts(table: &Table) -> Vec<std::ops::Range<u64>> {
    let holding = table.partitions.iter().filter(|partition| partition.kind != PartitionKind::Extended);
    let starts = holding.filter_map(|partition| partition.first.checked_byte(table.sector_size));
    starts.map(|start| start..start.saturating_add(SectorSize::B4096.bytes())).collect()
}

/// Every partition has its number and its bytes, and nothing is wrong with the table.
fn check_outcome(path: &Path, old: &Table, new: &Table, report: &Report) -> Result<(), WriteError> {
    check_health(path, report)?;
    let bytes = |partition: &Partition, unit| {
        (partition.number, partition.start_position(unit), partition.end_position(unit))
    };
    let expected = old.partitions.iter().map(|partition| bytes(partition, old.sector_size));
    let found = new.partitions.iter().map(|partition| bytes(partition, new.sector_size));
    if expected.ne(found) {
        let reason = "tried on a copy, the new table would not hold every partition where it is";
        return Err(WriteError::refused(path, reason));
    }
    Ok(())
}

/// What inside the partitions will not work.
fn warnings(after: &Report) -> Vec<String> {
    let of_contents = after.findings.iter().filter(|finding| finding.code == Code::ContentOtherSectorSize);
    let warning = |finding: &check::Finding| match finding.partition {
        Some(number) => {
            format!("partition {number} {}. {}", finding.message, finding.help.trim_end_matches('.'))
        }
        None => finding.message.clone(),
    };
    of_contents.map(warning).collect()
}
