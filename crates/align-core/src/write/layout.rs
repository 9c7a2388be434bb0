use std::path::Path;

use super::rehearsal::{Outcome, Rehearsal};
use super::target::{self, Looked};
use super::{Action, Proposal, Wishes, WriteError};
use crate::check::{self, Health, Options, Report, Verdict};
use crate::compose::{self, Arrangement};
use crate::device::{Disk, Reader};
use crate::patch::{Patch, PatchError, Side};
use crate::plan::{Layout, Planned};
use crate::table::{Label, Partition, PartitionKind, Table};
use crate::topology::{Grid, Topology};
use crate::units::Lba;

pub(super) fn propose(disk: &Disk, layout: &Layout, wishes: &Wishes) -> Result<Proposal, WriteError> {
    let path = disk.path();
    // An image does not say in which unit its table counts.
    let options = &wishes.options.in_sectors_of(disk, layout.sector_size);
    let Looked { report: before, table, device } = target::look(disk, options)?;
    let refused = |reason: String| WriteError::refused(path, reason);
    let reader = Reader::new(device);
    check_disk(disk, layout, &before)?;
    check_policy(path, layout)?;
    if let Some(expected) = wishes.fingerprint {
        let found = table.fingerprint(&reader).map_err(|error| refused(error.to_string()))?;
        if found != expected {
            // Whoever uses the disk as a whole changes it all the time: that is the better reason.
            let (whole, _) = target::uses(path, &[], layout.sector_size, &Patch::default());
            let whole: Vec<_> = whole.into_iter().filter(|used| used.partition.is_none()).collect();
            if !whole.is_empty() {
                return Err(WriteError::InUse { path: path.to_owned(), uses: whole });
            }
            return Err(refused(
                "it is not as it was when the plan was made: another disk, or its partition table was changed since; \
                 plan again for the disk as it is"
                    .into(),
            ));
        }
    }
    if layout.kept.is_some() {
        check_editable(path, &before)?;
    }
    let mut layout = layout.clone().identified();
    if let Some(kept) = &mut layout.kept {
        kept.clone_from(&table.partitions);
    }
    let composed = match layout.kept {
        Some(_) => compose::add(&layout, &table, &reader),
        None => compose::fresh(&layout, &table, &reader),
    };
    let mut draft = composed.map_err(|source| WriteError::compose(path, source))?;
    let contents = compose::contents(&layout, &reader).map_err(|source| WriteError::compose(path, source))?;
    if wishes.wipe {
        compose::wipe(&mut draft, &layout, &reader).map_err(|source| WriteError::compose(path, source))?;
    }
    let patch = draft.against(device).map_err(|source| not_ours(path, source))?;

    let rehearsal = Rehearsal::of(disk, &patch, &[], layout.sector_size)?;
    let outcome = rehearsal.play(disk, &patch, Side::After, options)?;
    check_outcome(path, &layout, &table, &outcome)?;
    let (in_the_way, uses) = target::uses(path, &outcome.table.partitions, layout.sector_size, &patch);
    if !in_the_way.is_empty() {
        return Err(WriteError::InUse { path: path.to_owned(), uses: in_the_way });
    }
    let mut warnings = warnings(&before, &outcome.report, &layout, wishes)?;
    warnings.extend(lost_partitions(&table, &outcome.table));
    Ok(Proposal {
        what: what(&layout),
        before,
        after: outcome.report,
        patch,
        contents,
        warnings,
        uses,
        always_readable: outcome.always_readable,
        table: outcome.table,
        unit: layout.sector_size,
        action: Action::Write { undoes: None },
        options: options.clone(),
        path: path.to_owned(),
    })
}

/// The same table with some of its entries elsewhere.
pub(super) fn propose_arrangement(
    disk: &Disk,
    arrangement: &Arrangement,
    what: String,
    options: &Options,
) -> Result<Proposal, WriteError> {
    let path = disk.path();
    let Looked { report: before, table, device } = target::look(disk, options)?;
    let draft = compose::arrange(&table, arrangement, &Reader::new(device));
    let draft = draft.map_err(|source| WriteError::compose(path, source))?;
    let patch = draft.against(device).map_err(|source| not_ours(path, source))?;
    let rehearsal = Rehearsal::of(disk, &patch, &[], table.sector_size)?;
    let outcome = rehearsal.play(disk, &patch, Side::After, options)?;
    check_health(path, &outcome.report)?;
    let (in_the_way, uses) = target::uses(path, &outcome.table.partitions, table.sector_size, &patch);
    if !in_the_way.is_empty() {
        return Err(WriteError::InUse { path: path.to_owned(), uses: in_the_way });
    }
    Ok(Proposal {
        what,
        before,
        after: outcome.report,
        patch,
        contents: Vec::new(),
        warnings: Vec::new(),
        uses,
        always_readable: outcome.always_readable,
        unit: table.sector_size,
        table: outcome.table,
        action: Action::Write { undoes: None },
        options: options.clone(),
        path: path.to_owned(),
    })
}

/// Two parts of one table in the same place are a mistake of the layout.
fn not_ours(path: &Path, source: PatchError) -> WriteError {
    match source {
        PatchError::Overlap { offset } => WriteError::refused(
            path,
            format!(
                "in this layout two boot records (EBRs), or one and the table, would share byte {offset}"
            ),
        ),
        source => WriteError::patch(path, source),
    }
}

/// The layout is for a disk of this size, in these sectors.
fn check_disk(disk: &Disk, layout: &Layout, before: &Report) -> Result<(), WriteError> {
    let refused = |reason: String| Err(WriteError::refused(disk.path(), reason));
    let unit = before.topology.logical;
    if unit != layout.sector_size {
        return refused(format!(
            "the plan counts in sectors of {} bytes, the disk has sectors of {unit}; plan for this disk",
            layout.sector_size
        ));
    }
    let size = disk.size().unwrap_or(0);
    let sectors = size / layout.sector_size.bytes();
    if sectors != layout.disk_sectors {
        return refused(format!(
            "the plan is for a disk of {} sectors of {} bytes, this one has {sectors}; plan for this disk",
            layout.disk_sectors, layout.sector_size
        ));
    }
    Ok(())
}

/// Every start lies where the layout's own policy wants it.
fn check_policy(path: &Path, layout: &Layout) -> Result<(), WriteError> {
    let Some(grid) = Grid::new(layout.physical.bytes(), layout.alignment_offset) else { return Ok(()) };
    for planned in &layout.partitions {
        if planned.first == Lba::ZERO {
            return Err(WriteError::refused(
                path,
                format!(
                    "partition {} of the plan begins at sector 0, over the partition table",
                    planned.number
                ),
            ));
        }
        let past = grid.remainder(planned.first.position(layout.sector_size));
        if past != 0 && !planned.type_.is_exempt() {
            return Err(WriteError::refused(
                path,
                format!(
                    "partition {} of the plan begins {past} bytes past a physical sector of {} bytes (sector {}); \
                     `alignck plan` makes a layout that does not",
                    planned.number, layout.physical, planned.first
                ),
            ));
        }
    }
    Ok(())
}

/// Nothing is wrong with the table that came out of a rehearsal.
pub(crate) fn check_health(path: &Path, after: &Report) -> Result<(), WriteError> {
    if after.table.health == Health::Ok {
        return Ok(());
    }
    let finding = after.findings.iter().find(|finding| finding.code.health() != Health::Ok);
    let finding = finding.map(|finding| match finding.partition {
        Some(number) => format!("partition {number} {}", finding.message),
        None => finding.message.clone(),
    });
    let finding = finding.unwrap_or_else(|| after.table.health.word().to_owned());
    Err(WriteError::refused(path, format!("tried on a copy, the new table would not be right: {finding}")))
}

/// A table that stays must be whole.
pub(crate) fn check_editable(path: &Path, before: &Report) -> Result<(), WriteError> {
    let reason = match (before.table.label, before.table.health) {
        (None | Some(Label::None), _) => "there is no partition table",
        (_, Health::Ok | Health::Stale) => return Ok(()),
        (_, Health::Unknown | Health::Repairable | Health::Damaged) => {
            "its partition table is not whole, so nothing in it is changed: see `alignck check`, and repair it first"
        }
    };
    Err(WriteError::refused(path, reason))
}

/// The copy holds what was planned, and nothing is wrong with it.
fn check_outcome(path: &Path, layout: &Layout, old: &Table, outcome: &Outcome) -> Result<(), WriteError> {
    let report = &outcome.report;
    check_health(path, report)?;
    let kept = layout.kept.is_some().then_some(&old.partitions).into_iter().flatten();
    let mut expected: Vec<Place> =
        kept.map(Place::of).chain(layout.partitions.iter().map(Place::planned)).collect();
    let mut found: Vec<Place> = outcome.table.partitions.iter().map(Place::of).collect();
    expected.sort();
    found.sort();
    if expected != found {
        let differs = expected
            .iter()
            .find(|place| !found.contains(place))
            .or_else(|| found.iter().find(|place| !expected.contains(place)));
        let number = differs.map_or(0, |place| place.number);
        return Err(WriteError::refused(
            path,
            format!("tried on a copy, the table would not hold partition {number} as it was planned"),
        ));
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    number: u32,
    first: Lba,
    last: Lba,
}

impl Place {
    fn of(partition: &Partition) -> Self {
        Self { number: partition.number, first: partition.first, last: partition.last }
    }

    fn planned(planned: &Planned) -> Self {
        Self { number: planned.number, first: planned.first, last: planned.last }
    }
}

/// What is worth a word; an error where the disk itself says that a layout made for none in particular is wrong for it.
fn warnings(
    before: &Report,
    after: &Report,
    layout: &Layout,
    wishes: &Wishes,
) -> Result<Vec<String>, WriteError> {
    let mut warnings = Vec::new();
    let own = |partition: &&check::PartitionReport| {
        layout.partitions.iter().any(|planned| planned.number == partition.partition.number)
    };
    let misaligned = after.partitions.iter().filter(own).find(|report| report.verdict == Verdict::Misaligned);
    if let Some(report) = misaligned {
        let message = format!(
            "partition {} would begin {} bytes past a physical sector of this disk ({})",
            report.partition.number,
            report.remainder,
            grid(&after.topology)
        );
        if wishes.fingerprint.is_none() {
            let reason = format!(
                "{message}: the plan was made for another sort of disk; plan for this one, or say what it really is \
                 with --physical-sector or --topology"
            );
            return Err(WriteError::refused(&after.path, reason));
        }
        warnings.push(format!("{message}; that is what the plan was made for"));
    }
    if matches!(before.table.health, Health::Damaged | Health::Unknown) && layout.kept.is_none() {
        warnings.push(
            "the partition table that is there is damaged, so partitions that cannot be read may go too: `alignck \
             check` says what is wrong with it"
                .into(),
        );
    }
    if let Some(content) = before.content
        && layout.kept.is_none()
    {
        warnings.push(format!("the whole disk holds {}, which will not be found any more", content.name));
    }
    Ok(warnings)
}

/// The partitions that will not be found any more where they were. Containers hold nothing themselves.
pub(super) fn lost_partitions(before: &Table, after: &Table) -> Option<String> {
    // By their bytes: a conversion counts them in other sectors.
    let place = |of: &Table, partition: &Partition| {
        (partition.start_position(of.sector_size), partition.end_position(of.sector_size))
    };
    let stays = |old: &Partition| after.partitions.iter().any(|new| place(after, new) == place(before, old));
    let lost: Vec<String> = before
        .partitions
        .iter()
        .filter(|old| old.kind != PartitionKind::Extended && !stays(old))
        .map(|old| old.number.to_string())
        .collect();
    let (last, others) = lost.split_last()?;
    let (partitions, hold) = match others {
        [] => (format!("partition {last} goes"), "it holds"),
        [..] => (format!("partitions {} and {last} go", others.join(", ")), "they hold"),
    };
    Some(format!("{partitions}: what {hold} is lost as soon as something is written over it"))
}

fn grid(topology: &Topology) -> String {
    match topology.alignment_offset {
        0 => format!("{} bytes", topology.physical),
        offset => format!("{} bytes, the first boundary at byte {offset}", topology.physical),
    }
}

fn what(layout: &Layout) -> String {
    let partitions = |count: usize| format!("{count} partition{}", if count == 1 { "" } else { "s" });
    let asked = layout.partitions.iter().filter(|planned| !planned.type_.is_extended()).count();
    match &layout.kept {
        None => format!("a new {} with {}", layout.table.name(), partitions(asked)),
        Some(kept) => {
            format!("{} more beside the {} of the {}", partitions(asked), kept.len(), layout.table.name())
        }
    }
}
