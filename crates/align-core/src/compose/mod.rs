//! From a layout to the bytes of its table, in the order in which a disk may lose its power.
//!
//! [`fresh`] makes a new table, [`add`] puts partitions beside those that are there, [`arrange`] changes where they
//! begin and end, [`convert`](fn@convert) writes the table for sectors of another size. What comes out is a [`Draft`]: the
//! order of its steps is such that a reader finds the old table or the new one after each of them, as far as that is
//! possible:
//!
//! - GPT: the backup, the primary, sector 0. While the primary is half written, the backup is whole.
//! - MBR: the EBRs of a new chain lie where the old table has nothing, so they come first; then sector 0 switches
//!   over. An EBR that takes the place of an old one cannot be part of both chains: it comes next to the switch.
//! - What would be taken for a table or a file system later is cleared last.
//!
//! Everything that belongs to the old table and is not overwritten is kept in the draft too, so that it is saved and
//! a change of it is noticed.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod arrange;
mod beside;
mod convert;
mod error;
mod gpt;
mod leftovers;
mod mbr;

pub use arrange::{Arrangement, EntryChange};
pub use error::ComposeError;

use std::collections::BTreeSet;
use std::ops::Range;

use uuid::Uuid;

use crate::device::Reader;
use crate::patch::Draft;
use crate::plan::{Layout, TableId, TableKind};
use crate::table::{PartitionKind, Table};
use crate::units::SectorSize;

/// Bytes with their place on the disk.
type Piece = (u64, Vec<u8>);

/// Whether a piece has a byte in the area.
fn touches((offset, bytes): &Piece, area: &Range<u64>) -> bool {
    *offset < area.end && area.start < offset.saturating_add(bytes.len() as u64)
}

/// The largest array of a GPT that is edited or saved: 8192 entries of 128 bytes.
const MAX_ARRAY: u64 = 1 << 20;

/// A new table for the layout on the disk that now has the table `old`. Nothing of the old one stays, except boot
/// code in sector 0.
///
/// # Errors
/// When the layout cannot be written in such a table, or the disk cannot be read.
pub fn fresh(layout: &Layout, old: &Table, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    check_ids(layout, &[])?;
    let mut draft = match layout.table {
        TableKind::Gpt => gpt::fresh(layout, old)?,
        TableKind::Mbr => mbr::fresh(layout, old)?,
    };
    leftovers::clear(&mut draft, layout, old, reader)?;
    leftovers::keep(&mut draft, old, reader)?;
    Ok(draft)
}

/// The partitions of the layout beside those of `table`, of which every byte stays but those that must change.
///
/// # Errors
/// When there is no room in the table, or the disk cannot be read.
pub fn add(layout: &Layout, table: &Table, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let there: Vec<Uuid> = table.partitions.iter().filter_map(|partition| partition.id).collect();
    check_ids(layout, &there)?;
    let mut draft = match layout.table {
        TableKind::Gpt => beside::gpt(layout, table, reader)?,
        TableKind::Mbr => beside::mbr(layout, table)?,
    };
    leftovers::keep(&mut draft, table, reader)?;
    Ok(draft)
}

/// The table with some of its entries and boot records (EBRs) changed, and all else of it as it is.
///
/// # Errors
/// When there is no such partition, a number does not fit into the table, or the disk cannot be read.
pub fn arrange(table: &Table, arrangement: &Arrangement, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let mut draft = arrange::draft(table, arrangement, reader)?;
    leftovers::keep(&mut draft, table, reader)?;
    Ok(draft)
}

/// The same partitions, each with the same bytes, in a table that counts in sectors of `to` bytes.
///
/// # Errors
/// When a partition begins or ends inside such a sector, lies where the table has to be, or a number does not fit into
/// the table; when the table is not whole, or the disk cannot be read.
pub fn convert(table: &Table, to: SectorSize, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let mut draft = convert::draft(table, to, reader)?;
    leftovers::keep(&mut draft, table, reader)?;
    Ok(draft)
}

/// Partitions are found by their GUIDs, so no two may have the same.
fn check_ids(layout: &Layout, there: &[Uuid]) -> Result<(), ComposeError> {
    let mut seen: BTreeSet<Uuid> = there.iter().copied().chain([Uuid::nil()]).collect();
    for planned in layout.partitions.iter().filter(|_| layout.table == TableKind::Gpt) {
        if planned.kind != PartitionKind::Primary {
            return Err(ComposeError::Kind { number: planned.number, table: "a GPT" });
        }
        if let Some(id) = planned.id.filter(|id| !seen.insert(*id)) {
            return Err(ComposeError::NotUnique { number: planned.number, id });
        }
    }
    match layout.table_id {
        Some(TableId::Gpt(id)) if id.is_nil() => Err(ComposeError::Identifier { table: "a GPT" }),
        _ => Ok(()),
    }
}

/// Clears what begins inside the partitions of the layout and is recognised, so that nobody takes it for theirs.
///
/// # Errors
/// When the disk cannot be read.
pub fn wipe(draft: &mut Draft, layout: &Layout, reader: &Reader<'_>) -> Result<(), ComposeError> {
    leftovers::wipe(draft, layout, reader)
}

/// What begins at the starts of the layout's partitions: number and name.
///
/// # Errors
/// When the disk cannot be read.
pub fn contents(layout: &Layout, reader: &Reader<'_>) -> Result<Vec<(u32, &'static str)>, ComposeError> {
    leftovers::contents(layout, reader)
}
