use std::path::Path;

use uuid::Uuid;

use super::{Job, Marker, RealignError, Stand, moving_type, peek};
use crate::device::{BlockDevice, FileDevice};
use crate::patch::{Backup, Spot};
use crate::table::Table;

/// A journal on a disk begins at a multiple of this, in bytes.
pub const SPOTS_EVERY: u64 = 1 << 20;
/// And not further in front of its end, or at the first such place.
pub const SPOTS_REACH: u64 = 256 << 20;

/// A move that began and was not seen to end.
#[derive(Debug)]
pub struct Found {
    /// Its id.
    pub id: Uuid,
    /// Where its journal is.
    pub spot: Spot,
    /// What the journal says; the text says why it cannot be read.
    pub journal: Result<(Job, Stand), String>,
}

impl Found {
    /// How far it has come; `None` when its journal cannot be read.
    pub fn stand(&self) -> Option<Stand> {
        self.journal.as_ref().ok().map(|(_, stand)| *stand)
    }
}

/// The move that is unfinished on a disk: by the markers of its partitions, or by what was noted of it elsewhere.
/// Costs no reads where no partition has the type that it has while its bytes move.
pub fn find(device: &dyn BlockDevice, table: Option<&Table>, noted: &[&Backup]) -> Option<Found> {
    let moving = table.into_iter().flat_map(|table| {
        let type_ = moving_type(table.label);
        let moving = table.partitions.iter().filter(move |partition| Some(partition.type_) == type_);
        moving.filter_map(|partition| partition.first.checked_byte(table.sector_size))
    });
    let moving: Vec<u64> = moving.collect();
    let marked = moving.iter().filter_map(|start| Marker::read(device, *start));
    let mut lost = None;
    for (id, spot, is_marked) in marked
        .map(|marker| (marker.id, marker.journal, true))
        .chain(noted.iter().filter_map(|backup| Some((backup.id, backup.moved.clone()?.journal, false))))
    {
        match open(device, &spot, Some(id)) {
            Ok((job, stand)) if !stand.is_over() => {
                return Some(Found { id, spot, journal: Ok((job, stand)) });
            }
            Ok(_) => {}
            // What was only noted may never have begun, or be over.
            Err(reason) if is_marked => lost = lost.or(Some(Found { id, spot, journal: Err(reason) })),
            Err(_) => {}
        }
    }
    // A marker may be half written.
    if lost.is_none() && !moving.is_empty() {
        return search(device);
    }
    lost
}

/// The move that is unfinished on a disk, looked for at every place where its journal may be.
pub fn search(device: &dyn BlockDevice) -> Option<Found> {
    let size = device.size()?;
    let last = size & !(SPOTS_EVERY - 1);
    let earliest = size.saturating_sub(SPOTS_REACH);
    let from_end = (0..).map_while(|steps: u64| last.checked_sub(steps.checked_mul(SPOTS_EVERY)?));
    let from_end = from_end.take_while(|start| *start >= earliest && *start > 0);
    from_end.chain([SPOTS_EVERY]).find_map(|start| {
        let (job, stand) = peek(device, start).ok().filter(|(_, stand)| !stand.is_over())?;
        Some(Found { id: job.id, spot: Spot::Disk(start), journal: Ok((job, stand)) })
    })
}

fn open(device: &dyn BlockDevice, spot: &Spot, id: Option<Uuid>) -> Result<(Job, Stand), String> {
    let text = |error: RealignError| error.to_string();
    let (job, stand) = match spot {
        Spot::Disk(start) => peek(device, *start).map_err(text)?,
        Spot::File(path) => {
            let file = regular(path).map_err(|error| format!("{}: {error}", path.display()))?;
            peek(&file, 0).map_err(|error| format!("{}: {error}", path.display()))?
        }
    };
    match id {
        Some(id) if id != job.id => Err(format!("{spot} holds the journal of another move")),
        _ => Ok((job, stand)),
    }
}

/// A name from a disk may lead to anything.
fn regular(path: &Path) -> std::io::Result<FileDevice> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("is no file"));
    }
    FileDevice::open(path)
}
