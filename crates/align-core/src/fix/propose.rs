use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use uuid::Uuid;

use super::choose::{Choice, Room, Stuck, Wanted, Why};
use super::draw_up::{self, Described, Drawn, Goal};
use super::unfinished::Note;
use super::{FixError, Inside, Proposal, Wishes, Work, attention, spot};
use crate::check::{Report, Verdict};
use crate::compose::Arrangement;
use crate::content::{self, moving};
use crate::device::{BlockDevice, Disk};
use crate::patch::{Backup, Move, Moved, Patch, Side, Spot, State};
use crate::plan::{Align, Grain};
use crate::realign::Marker;
use crate::table::mbr::SECTOR_LEN;
use crate::table::{Label, Partition, PartitionKind, Table};
use crate::units::{ByteCount, Lba, SectorSize};
use crate::write::{self, Looked, Rehearsal, WriteError};

/// Boot loaders of an MBR disk use the gap in front of the first partition: GRUB needs this much behind sector 0.
const BOOT_GAP: u64 = 31 << 10;
/// Boot loaders have the space in front of this byte, at most.
const FIRST_MEBIBYTE: u64 = 1 << 20;
/// Where boot code ends in sector 0.
const BOOT_CODE_LEN: usize = 440;
/// A partition whose first bytes are all zero holds nothing.
const HOLDS_NOTHING: u64 = 1 << 20;
/// Read to measure how fast the disk is.
const SAMPLE: u64 = 16 << 20;
/// An MBR counts to here; the last LBAs stay free, as other partitioners leave them.
const MBR_SECTORS: u64 = u32::MAX as u64;

pub(super) fn fix(disk: &Disk, wishes: &Wishes) -> Result<Proposal, FixError> {
    let looked = look(disk, wishes)?;
    let (table, before, device) = (&looked.table, &looked.report, looked.device);
    let path = disk.path();
    let wanted = wanted(path, before, table, wishes)?;
    let usable = usable(table, disk.size().unwrap_or(0));
    let room = room(device, table, before, wanted, usable.clone(), wishes)?;
    let choice = room.choose();
    let stuck: Vec<_> = choice.stuck.iter().map(|stuck| explain(stuck, before, device, path)).collect();
    if let (Some(to), Some((number, why))) = (wishes.to, stuck.first()) {
        return Err(refused(path, format!("partition {number} cannot begin at sector {to}: {why}")));
    }
    check_movable(path, device, table, &choice.moves)?;
    let (arrangement, described) = arrange(table, &choice);
    let what = what(&choice.moves);
    let looked_at = LookedAt { disk, looked: &looked, usable, wishes };
    let mut proposal =
        looked_at.propose(choice.moves, &described, &Goal::Arranged(&arrangement), what, None)?;
    proposal.stuck = stuck;
    Ok(proposal)
}

pub(super) fn undo(disk: &Disk, backup: Backup, wishes: &Wishes) -> Result<Proposal, FixError> {
    let path = disk.path();
    let looked = look(disk, wishes)?;
    let identity = disk.identity().ok_or_else(|| refused(path, "its size is not known"))?;
    if let Some(mismatch) = backup.disk.mismatch(&identity) {
        return Err(refused(path, format!("the record {} {mismatch}", backup.path.display())));
    }
    let Some(moved) = backup.moved.clone() else {
        return Err(refused(path, "it is a write that moved nothing"));
    };
    match backup.patch.state(looked.device).map_err(|source| write_error(path, source))? {
        State::After => {}
        State::Before => {
            return Err(refused(
                path,
                format!("its table is as before {}: there is nothing to take back", backup.what),
            ));
        }
        State::Torn | State::Foreign(_) => {
            return Err(refused(
                path,
                format!(
                    "its partitions have changed since {}: what moved cannot be moved back by what was noted then",
                    backup.what
                ),
            ));
        }
    }
    let moves: Vec<Move> = moved.moves.iter().map(|moved| moved.reversed()).collect();
    check_movable(path, looked.device, &looked.table, &moves)?;
    let what = format!("the way back of {}, done on {}", backup.what, backup.made_text());
    let described = described_back(&looked.table, &backup.patch, &moved, &moves);
    let goal =
        Goal::Restored { table: &backup.patch, cleared: &moved.cleared, overwritten: &moved.overwritten };
    let usable = usable(&looked.table, disk.size().unwrap_or(0));
    let looked_at = LookedAt { disk, looked: &looked, usable, wishes };
    looked_at.propose(moves, &described, &goal, what, Some(Box::new(backup.clone())))
}

/// Works out how the entries of misaligned partitions are changed without their bytes, which hold nothing.
///
/// # Errors
/// As [`Proposal::of_fix`]; and when a partition holds something.
pub fn table_only(disk: &Disk, wishes: &Wishes) -> Result<write::Proposal, FixError> {
    let looked = look(disk, wishes)?;
    let (table, before, device) = (&looked.table, &looked.report, looked.device);
    let path = disk.path();
    let wanted = wanted(path, before, table, wishes)?;
    let usable = usable(table, disk.size().unwrap_or(0));
    let choice = room(device, table, before, wanted, usable, wishes)?.choose();
    if let Some(stuck) = choice.stuck.first() {
        let (number, why) = explain(stuck, before, device, path);
        return Err(refused(path, format!("partition {number} has no place to go: {why}")));
    }
    for moved in &choice.moves {
        let inside = Inside { device, start: moved.from, len: moved.len };
        let len = draw_up::usize_of(moved.len.min(HOLDS_NOTHING));
        let front = inside.read(0, len)?;
        let name = content::recognise(&front).map(|content| content.name);
        if name.is_some() || front.iter().any(|byte| *byte != 0) {
            let holds = name.unwrap_or("something");
            return Err(refused(
                path,
                format!(
                    "partition {} holds {holds}, which would not be found at its new place: without --table-only it moves \
                     with the partition",
                    moved.number
                ),
            ));
        }
    }
    let (arrangement, _) = arrange(table, &choice);
    let what = format!("new places for {} without their bytes", partitions(&choice.moves));
    Ok(write::Proposal::of_arrangement(disk, &arrangement, what, &wishes.options)?)
}

fn refused(path: &Path, reason: impl Into<String>) -> FixError {
    FixError::Write(WriteError::refused(path, reason))
}

fn write_error(path: &Path, source: crate::patch::PatchError) -> FixError {
    FixError::Write(WriteError::Patch { path: path.to_owned(), source })
}

/// Looks at the disk, and refuses what cannot be moved on.
fn look<'d>(disk: &'d Disk, wishes: &Wishes) -> Result<Looked<'d>, FixError> {
    let path = disk.path();
    let looked = write::look(disk, &wishes.options)?;
    let report = &looked.report;
    write::check_editable(path, report)?;
    if write::sys_of(path).is_some_and(|sys| sys.is_zoned()) {
        return Err(refused(path, "it is a zoned disk, which takes writes only at certain places"));
    }
    if report.unit() != report.topology.logical && disk.reported().logical.is_some() {
        return Err(refused(
            path,
            "its table counts in other sectors than the device has: see `alignck convert`",
        ));
    }
    if looked.table.is_isohybrid() {
        return Err(refused(
            path,
            "it is the image of an optical disc too, which has places of its own in the partitions",
        ));
    }
    let is_hybrid = looked.table.label == Label::Gpt
        && looked.table.mbr.as_ref().is_some_and(|mbr| mbr.ordinary().next().is_some());
    if is_hybrid {
        return Err(refused(
            path,
            "beside the GPT its MBR has entries of its own (a hybrid), which would not move with it",
        ));
    }
    Ok(looked)
}

/// Which partitions shall move.
fn wanted(path: &Path, before: &Report, table: &Table, wishes: &Wishes) -> Result<Vec<Wanted>, FixError> {
    let unit = table.sector_size;
    let verdict = |number: u32| before.partitions.iter().find(|report| report.partition.number == number);
    let why = |verdict| match verdict {
        Verdict::Misaligned => Some(Why::Misaligned),
        Verdict::Suboptimal => Some(Why::Suboptimal),
        Verdict::Aligned | Verdict::Exempt | Verdict::Unknown => None,
    };
    if wishes.partitions.is_empty() {
        if wishes.to.is_some() {
            return Err(refused(path, "--to is for one partition: name it with --partition"));
        }
        let misaligned = before.partitions.iter().filter(|report| report.verdict == Verdict::Misaligned);
        let numbers = misaligned.map(|report| report.partition.number);
        return Ok(numbers.map(|number| Wanted { number, why: Why::Misaligned, to: None }).collect());
    }
    let mut all = Vec::new();
    for number in &wishes.partitions {
        let Some(report) = verdict(*number) else {
            return Err(refused(path, format!("there is no partition {number}")));
        };
        if report.partition.kind == PartitionKind::Extended {
            return Err(refused(
                path,
                format!(
                    "partition {number} is a container; name the logical partitions in it, and it goes with them"
                ),
            ));
        }
        if report.partition.sectors().is_none() {
            return Err(refused(path, format!("partition {number} ends before it begins")));
        }
        let to = wishes.to.map(|to| {
            let byte = to.checked_byte(unit).filter(|byte| Some(*byte) < before.size);
            byte.ok_or_else(|| refused(path, format!("sector {to} is beyond the disk")))
        });
        let to = to.transpose()?;
        if let Some(to) = to {
            check_target(path, before, *number, to, unit, wishes)?;
        }
        let why = why(report.verdict).unwrap_or(Why::MakesRoom);
        // A partition that is told where to go shall go there.
        let why = if to.is_some() { Why::Misaligned } else { why };
        all.push(Wanted { number: *number, why, to });
    }
    match (wishes.to, all.len()) {
        (Some(_), 2..) => Err(refused(path, "--to is for one partition")),
        _ => Ok(all),
    }
}

/// A place that is named is on the physical sectors, or forced.
fn check_target(
    path: &Path,
    before: &Report,
    number: u32,
    to: u64,
    unit: SectorSize,
    wishes: &Wishes,
) -> Result<(), FixError> {
    let grid = before.topology.physical_grid();
    let past = grid.remainder(to.into());
    if past == 0 || wishes.force {
        return Ok(());
    }
    let sector = |byte: u64| byte.checked_div(unit.bytes()).unwrap_or(0);
    let down = to.saturating_sub(past);
    Err(refused(
        path,
        format!(
            "partition {number} would begin {past} bytes past a physical sector at sector {}; sectors {} and {} are \
             aligned, --force moves it all the same",
            sector(to),
            sector(down),
            sector(down.saturating_add(grid.size()))
        ),
    ))
}

/// The space for partitions, in bytes.
fn usable(table: &Table, size: u64) -> Range<u64> {
    let unit = table.sector_size;
    let byte = |lba: Lba| lba.checked_byte(unit).unwrap_or(u64::MAX);
    let whole = size.saturating_sub(size.checked_rem(unit.bytes()).unwrap_or(0));
    match table.gpt.as_ref().and_then(|gpt| gpt.header()) {
        Some(header) => {
            let end = byte(header.last_usable).saturating_add(unit.bytes());
            byte(header.first_usable)..end.min(whole)
        }
        None => unit.bytes()..whole.min(MBR_SECTORS.saturating_mul(unit.bytes())),
    }
}

fn room<'t>(
    device: &dyn BlockDevice,
    table: &'t Table,
    before: &Report,
    wanted: Vec<Wanted>,
    usable: Range<u64>,
    wishes: &Wishes,
) -> Result<Room<'t>, FixError> {
    let topology = &before.topology;
    let size = before.size.unwrap_or(0);
    let grain = Grain::choose(Align::Optimal, topology, size.into());
    let boundaries = topology.physical_grid();
    let places = grain.map_or(boundaries, |grain| grain.grid(topology.alignment_offset));
    // Who names a place knows what is there.
    let is_named = wanted.iter().any(|wanted| wanted.to.is_some());
    let reach = if is_named { 0 } else { places.size().max(boundaries.size()) };
    let front = if wishes.force { usable.start } else { front(device, table, &usable, reach)? };
    Ok(Room { table, places, boundaries, wanted, usable, front })
}

/// How far down the space in front of the first partition is free: of the boot gap all is looked at, of what is behind that
/// as much as lies within `reach` of the partition.
fn front(device: &dyn BlockDevice, table: &Table, usable: &Range<u64>, reach: u64) -> Result<u64, FixError> {
    let starts =
        table.partitions.iter().filter_map(|partition| partition.first.checked_byte(table.sector_size));
    let Some(first) = starts.min() else { return Ok(usable.start) };
    let unit = table.sector_size.bytes();
    // One past the last sector that is not all zero.
    let used = |range: Range<u64>| -> Result<Option<u64>, FixError> {
        let len = range.end.saturating_sub(range.start);
        let bytes = Inside { device, start: range.start, len }.read(0, draw_up::usize_of(len))?;
        let last = bytes.iter().rposition(|byte| *byte != 0);
        Ok(last.map(|at| {
            let sector = range.start.saturating_add(at as u64).checked_div(unit).unwrap_or(0);
            sector.saturating_add(1).saturating_mul(unit)
        }))
    };
    let boot_gap = usable.start..first.min(FIRST_MEBIBYTE).max(usable.start);
    let near = first.saturating_sub(reach).max(boot_gap.end)..first.max(boot_gap.end);
    if let Some(end) = used(near)? {
        return Ok(end);
    }
    let has_boot_code = table.label == Label::Mbr
        && table.mbr.as_ref().is_some_and(|mbr| {
            mbr.sector().get(..BOOT_CODE_LEN).is_some_and(|code| code.iter().any(|byte| *byte != 0))
        });
    let used = used(boot_gap)?;
    // A boot loader that begins in sector 0 may go on behind it, whatever is there now.
    let least = if table.label == Label::Mbr && (has_boot_code || used.is_some()) {
        unit.saturating_add(BOOT_GAP)
    } else {
        usable.start
    };
    Ok(used.unwrap_or(usable.start).max(least).max(usable.start))
}

/// What a boot loader may have put in front of the first partition.
const FRONT: &str = "in front of it is what a boot loader may need (--force moves it there all the same, and the boot \
                     loader has to be installed again)";

fn explain(stuck: &Stuck, before: &Report, device: &dyn BlockDevice, path: &Path) -> (u32, String) {
    match stuck.in_front {
        Some(0) => return (stuck.number, FRONT.to_owned()),
        Some(number) => {
            let why = format!("partition {number}, or the boot record (EBR) behind it, is in the way");
            return (stuck.number, why);
        }
        None => {}
    }
    let unit = before.unit().bytes();
    let report = before.partitions.iter().find(|report| report.partition.number == stuck.last);
    let behind = match stuck.behind {
        Some(0) => "a boot record (EBR)".to_owned(),
        Some(number) => format!("partition {number}"),
        None => "the end of the space for partitions".to_owned(),
    };
    let physical = before.topology.physical.bytes();
    let shrink = stuck.missing.checked_next_multiple_of(physical).unwrap_or(stuck.missing);
    let mut text = format!("{} lacks {} in front of {behind}", which(stuck), ByteCount::new(stuck.missing));
    if let Some(report) = report {
        let partition = &report.partition;
        let len = partition.sectors().unwrap_or(0).saturating_mul(unit);
        let start = partition.first.checked_byte(before.unit()).unwrap_or(0);
        let inside = Inside { device, start, len };
        let front = inside.read(0, content::FRONT_LEN.min(draw_up::usize_of(len))).unwrap_or_default();
        let content = content::recognise(&front);
        let is_image = report.node.is_none();
        let node = report.node.clone().unwrap_or_else(|| format!("/dev/loopNp{}", partition.number));
        let least = len.saturating_sub(shrink);
        let advice = content.and_then(|content| moving::shrink_advice(content.name, &node, least));
        text.push_str(&format!(
            "; partition {} would have to be {} smaller",
            partition.number,
            ByteCount::new(shrink)
        ));
        match advice {
            Some(advice) if is_image => {
                text.push_str(&format!(
                    " (attach the image with `losetup -fP {}`): {advice}",
                    path.display()
                ));
            }
            Some(advice) => text.push_str(&format!(": {advice}")),
            None => {}
        }
    }
    if stuck.is_kept_from_front {
        text.push_str(&format!("; {FRONT}"));
    }
    (stuck.number, text)
}

fn which(stuck: &Stuck) -> String {
    if stuck.last == stuck.number { "it".to_owned() } else { format!("partition {}", stuck.last) }
}

/// Refuses to move what keeps places of its own; and anything on a disk of a system that is asleep, which remembers all of
/// the disk.
fn check_movable(
    path: &Path,
    device: &dyn BlockDevice,
    table: &Table,
    moves: &[Move],
) -> Result<(), FixError> {
    let byte = |lba: Lba| lba.checked_byte(table.sector_size).unwrap_or(u64::MAX);
    for partition in table.partitions.iter().filter(|_| !moves.is_empty()) {
        let number = partition.number;
        let is_moved = moves.iter().any(|moved| moved.number == number);
        if partition.kind == PartitionKind::Extended {
            continue;
        }
        if let Some(why) = moving::is_immovable_type(partition.type_).filter(|_| is_moved) {
            return Err(refused(path, format!("partition {number} cannot be moved: {why}")));
        }
        let len = partition.sectors().unwrap_or(0).saturating_mul(table.sector_size.bytes());
        let inside = Inside { device, start: byte(partition.first), len };
        let read = |offset: u64, len: usize| inside.read_raw(offset, len);
        let immovable = match moving::immovable(&read, len) {
            Ok(immovable) => immovable,
            // What stays may have bad sectors.
            Err(_) if !is_moved => None,
            Err(source) => return Err(FixError::Read { partition: Some(number), source }),
        };
        match immovable {
            Some(why) if is_moved => {
                return Err(refused(path, format!("partition {number} cannot be moved: it holds {why}")));
            }
            Some(why) if why.is_asleep() => {
                return Err(refused(
                    path,
                    format!("partition {number} holds {why}; it remembers where everything on this disk is"),
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The new table, and the boot records of what moves.
fn arrange(table: &Table, choice: &Choice) -> (Arrangement, Vec<Described>) {
    let unit = table.sector_size;
    let lba = |byte: u64| Lba::new(byte.checked_div(unit.bytes()).unwrap_or(0));
    let mut arrangement = Arrangement { records: choice.records.clone(), ..Arrangement::default() };
    let mut place = |number: u32, start: u64, end: u64| {
        arrangement.place(number, lba(start), lba(end).checked_sub(1).unwrap_or(Lba::ZERO));
    };
    for moved in &choice.moves {
        place(moved.number, moved.to, moved.new_end());
    }
    for (number, start, end) in &choice.containers {
        place(*number, *start, *end);
    }
    let described = choice.moves.iter().filter_map(|moved| {
        let old = record_of(table, table.partition(moved.number)?)?;
        let new = choice.records.get(&old).copied().unwrap_or(old);
        Some(Described { number: moved.number, old: old.checked_byte(unit)?, new: new.checked_byte(unit)? })
    });
    let described = described.collect();
    (arrangement, described)
}

/// The EBR of a logical partition.
fn record_of(table: &Table, partition: &Partition) -> Option<Lba> {
    let ebrs = table.mbr.iter().flat_map(|mbr| &mbr.chains).flat_map(|chain| &chain.ebrs);
    let mut holding = ebrs.filter(|ebr| ebr.logicals().any(|logical| logical.first == partition.first));
    holding.next().filter(|_| partition.kind == PartitionKind::Logical).map(|ebr| ebr.lba)
}

/// The boot records of what moves back. The old ones are where the table changed, or among what partitions came to lie
/// over.
fn described_back(table: &Table, patch: &Patch, moved: &Moved, moves: &[Move]) -> Vec<Described> {
    let unit = table.sector_size;
    let overwritten = moved.overwritten.iter().flat_map(|(start, bytes)| {
        let sectors = (*start..).step_by(SECTOR_LEN).zip(bytes.0.chunks(SECTOR_LEN));
        sectors.collect::<Vec<_>>()
    });
    let changed = patch.changes().map(|change| (change.offset, &change.before[..]));
    let records: Vec<(u64, &[u8])> = changed.chain(overwritten).filter(|(offset, _)| *offset > 0).collect();
    // The first byte of the partition that a record describes.
    let describes = |(offset, sector): &(u64, &[u8])| {
        let mbr = crate::table::Mbr::parse(sector)?;
        let entry = mbr.entries().iter().find(|entry| entry.is_used() && !entry.is_extended())?;
        offset.checked_add(u64::from(entry.start).checked_mul(unit.bytes())?)
    };
    let described = moves.iter().filter_map(|moved| {
        let old = record_of(table, table.partition(moved.number)?)?.checked_byte(unit)?;
        let new = records.iter().find(|record| describes(record) == Some(moved.to));
        Some(Described { number: moved.number, old, new: new.map_or(old, |(offset, _)| *offset) })
    });
    described.collect()
}

fn what(moves: &[Move]) -> String {
    if moves.is_empty() { "nothing to move".to_owned() } else { format!("the move of {}", partitions(moves)) }
}

fn partitions(moves: &[Move]) -> String {
    let numbers: Vec<String> = moves.iter().map(|moved| moved.number.to_string()).collect();
    match numbers.split_last() {
        None => "no partition".to_owned(),
        Some((one, [])) => format!("partition {one}"),
        Some((last, others)) => format!("partitions {} and {last}", others.join(", ")),
    }
}

/// A disk that may be fixed.
struct LookedAt<'a, 'd> {
    disk: &'d Disk,
    looked: &'a Looked<'d>,
    usable: Range<u64>,
    wishes: &'a Wishes,
}

impl LookedAt<'_, '_> {
    fn propose(
        &self,
        moves: Vec<Move>,
        described: &[Described],
        goal: &Goal<'_>,
        what: String,
        undoes: Option<Box<Backup>>,
    ) -> Result<Proposal, FixError> {
        let path = self.disk.path();
        let (table, before, device) = (&self.looked.table, &self.looked.report, self.looked.device);
        let nothing = |after: Report| Proposal {
            before: before.clone(),
            after,
            moves: Vec::new(),
            stuck: Vec::new(),
            warnings: Vec::new(),
            attention: Vec::new(),
            uses: Vec::new(),
            seconds: None,
            what: what.clone(),
            work: None,
            table: table.clone(),
            unit: table.sector_size,
            options: self.wishes.options.clone(),
            path: path.to_owned(),
            care: self.wishes.care,
        };
        if moves.is_empty() {
            return Ok(nothing(before.clone()));
        }
        let drawn = draw_up::draw_up(device, table, &moves, described, goal)?;
        let patch = drawn.rehearsal(device)?;
        // What of the table stays is looked at too.
        let kept: Vec<Range<u64>> =
            drawn.table.changes().map(|change| change.offset..change.end()).chain(table.areas()).collect();
        let rehearsal = Rehearsal::of(self.disk, &patch, &kept, table.sector_size)?;
        let outcome = rehearsal.play(self.disk, &patch, Side::After, &self.wishes.options)?;
        write::check_health(path, &outcome.report)?;
        check_places(path, &outcome.table, &moves)?;

        let (in_the_way, uses) =
            write::uses(path, &outcome.table.partitions, table.sector_size, &drawn.table);
        if !in_the_way.is_empty() {
            return Err(FixError::Write(WriteError::InUse { path: path.to_owned(), uses: in_the_way }));
        }
        let identity = self.disk.identity().ok_or_else(|| refused(path, "its size is not known"))?;
        let note = Note {
            disk: identity,
            what: what.clone(),
            moves: moves.clone(),
            sector_size: table.sector_size.bytes(),
        };
        // Numbers and texts only.
        let note = serde_json::to_string(&note).unwrap_or_default();
        let (job, window, journal) = self.with_journal(&drawn, note)?;
        let mut warnings = drawn.warnings.clone();
        if drawn.given_up > 0 {
            warnings.push(format!(
                "{} of free space that moved partitions come to lie over are not kept: should something be there that you \
                 still want, such as a deleted partition, it cannot be had back",
                ByteCount::new(drawn.given_up)
            ));
        }
        let moved = Moved {
            moves: moves.clone(),
            cleared: drawn.cleared.iter().map(|range| (range.start, range.end)).collect(),
            overwritten: drawn.overwritten.clone(),
            journal,
        };
        Ok(Proposal {
            attention: attention::list(device, table, &moves),
            uses,
            seconds: seconds(device, &moves),
            work: Some(Work { job, window, moved, patch: drawn.table.clone(), undoes }),
            table: outcome.table,
            warnings,
            moves,
            ..nothing(outcome.report)
        })
    }

    /// The job with its marker, and the place for its journal.
    fn with_journal(
        &self,
        drawn: &Drawn,
        note: String,
    ) -> Result<(crate::realign::Job, u64, Spot), FixError> {
        let device = self.looked.device;
        let id = Uuid::new_v4();
        let marker = |journal: Spot| {
            Marker { id, journal: journal.clone() }.encode().ok_or_else(|| {
                FixError::Refused(format!("{journal}: so long a path cannot be noted on the disk"))
            })
        };
        // As long as any, to find out how long the journal is.
        let draft = drawn.job(device, id, &vec![1; crate::realign::MARKER_LEN], note.clone())?;
        let mut taken = drawn.touched();
        let table = &self.looked.table;
        taken.extend(table.areas());
        let byte = |lba: Lba| lba.checked_byte(table.sector_size).unwrap_or(u64::MAX);
        taken.extend(table.partitions.iter().map(|partition| {
            byte(partition.first)..byte(partition.last).saturating_add(table.sector_size.bytes())
        }));
        let sys = write::sys_of(self.disk.path());
        let chosen = spot::choose(
            device,
            &draft,
            &self.usable,
            &taken,
            self.wishes.journal.as_deref(),
            self.wishes.state.as_ref(),
            (self.disk.path(), sys.as_ref()),
        )?;
        let job = drawn.job(device, id, &marker(chosen.spot.clone())?, note)?;
        Ok((job, chosen.window, chosen.spot))
    }
}

/// The copy has every partition that moves where it shall be.
fn check_places(path: &Path, after: &Table, moves: &[Move]) -> Result<(), FixError> {
    let unit = after.sector_size;
    for moved in moves {
        let found = after.partition(moved.number).and_then(|partition| {
            let len = partition.sectors()?.checked_mul(unit.bytes())?;
            Some((partition.first.checked_byte(unit)?, len))
        });
        if found != Some((moved.to, moved.len)) {
            let reason =
                format!("tried on a copy, partition {} would not be where it moves to", moved.number);
            return Err(refused(path, reason));
        }
    }
    Ok(())
}

/// About how long the moves take: everything is read and written, and what goes through the journal is written twice.
fn seconds(device: &dyn BlockDevice, moves: &[Move]) -> Option<u64> {
    let largest = moves.iter().max_by_key(|moved| moved.len)?;
    // In the middle, where nobody has just read.
    let len = largest.len.min(SAMPLE);
    let start = largest.from.saturating_add(largest.len.saturating_sub(len) / 2);
    let mut buffer = vec![0; draw_up::usize_of(len)];
    device.forget_cached();
    let begun = Instant::now();
    device.read_at(start, &mut buffer).ok()?;
    let nanos = begun.elapsed().as_nanos().max(1);
    let work: u128 = moves
        .iter()
        .map(|moved| {
            let times = if moved.distance() < 8 << 20 { 3 } else { 2 };
            u128::from(moved.len).saturating_mul(times)
        })
        .sum();
    let nanos = work.saturating_mul(nanos).checked_div(u128::from(len.max(1)))?;
    u64::try_from(nanos.div_ceil(1_000_000_000)).ok()
}
