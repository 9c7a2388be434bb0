use std::borrow::Cow;
use std::ops::Range;

use super::{ComposeError, MAX_ARRAY};
use crate::content::{self, Kind};
use crate::device::{ReadError, Reader};
use crate::patch::Draft;
use crate::plan::{Layout, Planned};
use crate::table::mbr::SECTOR_LEN;
use crate::table::{PartitionKind, Table, gpt};
use crate::units::{Lba, SectorSize};

/// Clears what an earlier use of the disk left behind and would be taken for a table, or for a file system or a member
/// of an array over the whole disk.
pub(super) fn clear(
    draft: &mut Draft,
    layout: &Layout,
    old: &Table,
    reader: &Reader<'_>,
) -> Result<(), ComposeError> {
    let size = Lba::new(layout.disk_sectors).checked_byte(layout.sector_size).unwrap_or(u64::MAX);
    let size = reader.size().unwrap_or(size);
    let mut clear = Vec::new();
    for header in headers(old, size) {
        let sector = header..header.saturating_add(SECTOR_LEN as u64);
        let found = reader.read(sector.start, SECTOR_LEN)?;
        // Under a new GPT its own headers are no leftovers; they are part of the draft.
        if found.starts_with(&gpt::SIGNATURE) {
            clear.push(sector);
        }
    }
    for (start, magic) in content::at_end(size) {
        if *reader.read(start, magic.len())? == *magic {
            clear.push(start..start.saturating_add(magic.len() as u64));
        }
    }
    clear.extend(front(reader, 0, size)?.map(|front| traces(0, &front)).unwrap_or_default());
    // The rest of a large sector 0 waits until here: a GPT in smaller sectors begins in it.
    clear.push(SECTOR_LEN as u64..layout.sector_size.bytes());
    draft.barrier();
    for range in clear {
        zero(draft, range);
    }
    Ok(())
}

/// Where a header of a GPT can be, in any sector size, and where an old one says that its copy is.
fn headers(old: &Table, size: u64) -> Vec<u64> {
    let whole = |unit: SectorSize| size.div_euclid(unit.bytes()).checked_sub(1).map(Lba::new);
    let of_unit = |unit: SectorSize| {
        let primary = gpt::PRIMARY_LBA.checked_byte(unit);
        let backup = whole(unit).and_then(|last| last.checked_byte(unit));
        [primary, backup]
    };
    let usual = SectorSize::OF_TABLES.into_iter().flat_map(of_unit).flatten();
    let named = old.gpt.iter().flat_map(|gpt| {
        let elsewhere = gpt.primary.as_ref().ok().map(|header| header.alternate);
        let found = gpt.backup.as_ref().ok().map(|header| header.my_lba);
        [elsewhere, found].into_iter().flatten().filter_map(|lba| lba.checked_byte(gpt.sector_size))
    });
    let on_disk = |at: &u64| at.checked_add(SECTOR_LEN as u64).is_some_and(|end| end <= size);
    let mut headers: Vec<u64> = usual.chain(named).filter(on_disk).collect();
    headers.sort_unstable();
    headers.dedup();
    headers
}

/// Keeps in the draft what belongs to the old table and is not overwritten.
pub(super) fn keep(draft: &mut Draft, old: &Table, reader: &Reader<'_>) -> Result<(), ComposeError> {
    let size = reader.size().unwrap_or(0);
    for area in old.areas() {
        let area = area.start.min(size)..area.end.min(size);
        // An array that nobody needs so large is not copied into a backup.
        if area.end.saturating_sub(area.start) > MAX_ARRAY {
            continue;
        }
        for part in uncovered(draft, area) {
            if let Ok(len) = usize::try_from(part.end.saturating_sub(part.start)) {
                draft.keep(part.start, len);
            }
        }
    }
    Ok(())
}

pub(super) fn contents(
    layout: &Layout,
    reader: &Reader<'_>,
) -> Result<Vec<(u32, &'static str)>, ComposeError> {
    let mut contents = Vec::new();
    for planned in holding(layout) {
        let Some(front) = front_of(layout, planned, reader)? else { continue };
        let found = content::recognise(&front).filter(|content| content.kind != Kind::Container);
        contents.extend(found.map(|content| (planned.number, content.name)));
    }
    Ok(contents)
}

pub(super) fn wipe(draft: &mut Draft, layout: &Layout, reader: &Reader<'_>) -> Result<(), ComposeError> {
    draft.barrier();
    for planned in holding(layout) {
        for range in traces_of(layout, planned, reader)? {
            zero(draft, range);
        }
    }
    Ok(())
}

/// The partitions that hold something: not containers.
fn holding(layout: &Layout) -> impl Iterator<Item = &Planned> {
    layout.partitions.iter().filter(|planned| planned.kind != PartitionKind::Extended)
}

fn traces_of(
    layout: &Layout,
    planned: &Planned,
    reader: &Reader<'_>,
) -> Result<Vec<Range<u64>>, ComposeError> {
    let (Some(start), Some(front)) =
        (planned.first.checked_byte(layout.sector_size), front_of(layout, planned, reader)?)
    else {
        return Ok(Vec::new());
    };
    Ok(traces(start, &front))
}

/// The first bytes of a partition; `None` when the disk ends before.
fn front_of<'r>(
    layout: &Layout,
    planned: &Planned,
    reader: &'r Reader<'_>,
) -> Result<Option<Cow<'r, [u8]>>, ComposeError> {
    let unit = layout.sector_size;
    let end = planned.last.checked_add(1).and_then(|past| past.checked_byte(unit));
    match (planned.first.checked_byte(unit), end) {
        (Some(start), Some(end)) => front(reader, start, end),
        _ => Ok(None),
    }
}

/// As many of the bytes from `start` to `end` as are needed to recognise something.
fn front<'r>(reader: &'r Reader<'_>, start: u64, end: u64) -> Result<Option<Cow<'r, [u8]>>, ComposeError> {
    let len = end.saturating_sub(start).min(content::FRONT_LEN as u64);
    let Ok(len) = usize::try_from(len) else { return Ok(None) };
    match reader.read(start, len) {
        // A plan can be for more than there is; that is somebody else's error.
        Err(ReadError::PastEnd { .. }) => Ok(None),
        front => Ok(Some(front?)),
    }
}

/// The marks of everything that is recognised in a front that begins at `start`.
fn traces(start: u64, front: &[u8]) -> Vec<Range<u64>> {
    let at = |within: usize| start.saturating_add(within as u64);
    content::traces(front).into_iter().map(|trace| at(trace.range.start)..at(trace.range.end)).collect()
}

/// Writes zeros where the draft does not write yet.
pub(super) fn zero(draft: &mut Draft, range: Range<u64>) {
    for part in uncovered(draft, range) {
        if let Ok(len) = usize::try_from(part.end.saturating_sub(part.start)) {
            draft.write(part.start, vec![0; len]);
        }
    }
}

/// The parts of a range that the draft does not touch yet.
pub(super) fn uncovered(draft: &Draft, range: Range<u64>) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for touched in draft.ranges() {
        if touched.end <= start || touched.start >= range.end {
            continue;
        }
        if touched.start > start {
            parts.push(start..touched.start);
        }
        start = touched.end;
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}
