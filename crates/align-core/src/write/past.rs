use super::convert::fronts;
use super::layout::lost_partitions;
use super::rehearsal::Rehearsal;
use super::{Action, Proposal, WriteError, target};
use crate::check::{self, Options};
use crate::device::{BlockDevice, Disk};
use crate::patch::{Backup, Patch, PatchError, Side, Stage, State};

/// As many differences are named.
const MAX_NAMED: usize = 8;

pub(super) fn undo(
    disk: &Disk,
    backup: Backup,
    options: &Options,
    force: bool,
) -> Result<Proposal, WriteError> {
    let path = disk.path();
    let device = look(disk, &backup)?;
    let state = backup.patch.state(device).map_err(|source| WriteError::patch(path, source))?;
    let what = format!("what was there before {} was written on {}", backup.what, backup.made_text());
    match state {
        State::After => {
            let patch = backup.patch.reversed();
            let action = Action::Write { undoes: Some(Box::new(backup)) };
            propose(disk, patch, Side::After, what, action, Vec::new(), options)
        }
        State::Before => Err(WriteError::refused(
            path,
            format!("it holds what it held before {}: there is nothing to put back", backup.what),
        )),
        State::Torn if backup.stage != Stage::Undone => {
            let patch = backup.patch.clone();
            let action = Action::Recover { backup: Box::new(backup), side: Side::Before };
            propose(disk, patch, Side::Before, what, action, Vec::new(), options)
        }
        State::Torn | State::Foreign(_) => {
            let differences =
                differences(&backup.patch, device).map_err(|source| WriteError::patch(path, source))?;
            if !force {
                return Err(WriteError::refused(
                    path,
                    format!(
                        "it does not hold any more what was written ({}): {}. Something wrote there since; --force puts \
                         the old bytes there all the same",
                        backup.what,
                        differences.join("; ")
                    ),
                ));
            }
            let patch = over(&backup.patch, device).map_err(|source| WriteError::patch(path, source))?;
            let warnings =
                differences.into_iter().map(|range| format!("others wrote there since: {range}")).collect();
            let action = Action::Write { undoes: Some(Box::new(backup)) };
            propose(disk, patch, Side::After, what, action, warnings, options)
        }
    }
}

pub(super) fn resume(disk: &Disk, backup: Backup, options: &Options) -> Result<Proposal, WriteError> {
    let path = disk.path();
    let device = look(disk, &backup)?;
    let state = backup.patch.state(device).map_err(|source| WriteError::patch(path, source))?;
    match state {
        State::After => Err(WriteError::refused(
            path,
            format!("the write is whole ({}): there is nothing to finish", backup.what),
        )),
        State::Foreign(offset) => Err(WriteError::patch(path, PatchError::Foreign { offset })),
        State::Before if backup.stage != Stage::Writing => Err(WriteError::refused(
            path,
            format!("the write was put back ({}): there is nothing to finish", backup.what),
        )),
        State::Before | State::Torn => {
            let patch = backup.patch.clone();
            let what = format!("the rest of {}, begun on {}", backup.what, backup.made_text());
            let action = Action::Recover { backup: Box::new(backup), side: Side::After };
            propose(disk, patch, Side::After, what, action, Vec::new(), options)
        }
    }
}

/// The disk can be written and is the one of the backup.
fn look<'d>(disk: &'d Disk, backup: &Backup) -> Result<&'d dyn BlockDevice, WriteError> {
    let path = disk.path();
    target::check_writable(disk)?;
    if backup.moved.is_some() {
        return Err(WriteError::refused(
            path,
            format!(
                "{} is the record of a move, which a change of the table alone neither finishes nor takes back; no move of \
                 it is under way",
                backup.path.display()
            ),
        ));
    }
    let identity = disk.identity().ok_or_else(|| WriteError::refused(path, "its size is not known"))?;
    if let Some(mismatch) = backup.disk.mismatch(&identity) {
        return Err(WriteError::refused(path, format!("the backup {} {mismatch}", backup.path.display())));
    }
    disk.device().ok_or_else(|| WriteError::refused(path, "cannot be read"))
}

fn propose(
    disk: &Disk,
    patch: Patch,
    side: Side,
    what: String,
    action: Action,
    warnings: Vec<String>,
    options: &Options,
) -> Result<Proposal, WriteError> {
    let path = disk.path();
    let (before, table) = check::examine(disk, options)?;
    let backup = match &action {
        Action::Write { undoes: Some(backup) } | Action::Recover { backup, .. } => backup,
        Action::Write { undoes: None } => {
            return Err(WriteError::refused(path, "there is nothing to put back"));
        }
    };
    // The unit of the table that was there may be another one: it is looked for as in every check.
    let unit = match side {
        Side::After if matches!(action, Action::Recover { .. }) => backup.sector_size,
        _ => before.topology.logical,
    };
    // By what partitions hold an MBR tells that it is for sectors of another size.
    let fronts = table.as_ref().map(fronts).unwrap_or_default();
    let rehearsal = Rehearsal::of(disk, &patch, &fronts, unit)?;
    let outcome = rehearsal.play(disk, &patch, side, options)?;
    let (in_the_way, uses) = target::uses(path, &outcome.table.partitions, outcome.table.sector_size, &patch);
    if !in_the_way.is_empty() {
        return Err(WriteError::InUse { path: path.to_owned(), uses: in_the_way });
    }
    let mut all_warnings = warnings;
    // What a half-written table shows are no partitions that anybody made.
    if let Some(table) = table.filter(|_| !before.is_unfinished()) {
        all_warnings.extend(lost_partitions(&table, &outcome.table));
    }
    Ok(Proposal {
        before,
        after: outcome.report,
        patch,
        what,
        contents: Vec::new(),
        warnings: all_warnings,
        uses,
        always_readable: outcome.always_readable,
        unit: outcome.table.sector_size,
        table: outcome.table,
        action,
        options: options.clone(),
        path: path.to_owned(),
    })
}

/// Where the disk is not as the patch left it, for people.
fn differences(patch: &Patch, device: &dyn BlockDevice) -> Result<Vec<String>, PatchError> {
    let mut named = Vec::new();
    let mut more = 0_usize;
    for change in patch.changes() {
        let found = change.read(device)?;
        let differs =
            || found.iter().zip(&change.after).zip(0_u64..).filter(|((found, new), _)| found != new);
        let (Some((_, first)), Some((_, last))) = (differs().next(), differs().last()) else { continue };
        if named.len() < MAX_NAMED {
            let (first, last) = (change.offset.saturating_add(first), change.offset.saturating_add(last));
            named.push(format!("{} of the bytes {first} to {last}", differs().count()));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        named.push(format!("and {more} more ranges"));
    }
    Ok(named)
}

/// The patch that puts the old bytes over whatever is there.
fn over(patch: &Patch, device: &dyn BlockDevice) -> Result<Patch, PatchError> {
    let mut reversed = patch.reversed();
    for change in reversed.steps.iter_mut().flatten() {
        change.before = change.read(device)?;
    }
    Ok(reversed)
}
