use super::Scale;
use crate::compose::ComposeError;
use crate::patch::Draft;
use crate::table::mbr::{MbrEntry, Sector};
use crate::table::{PartitionKind, Table};
use crate::units::Lba;

/// Every EBR stays at its byte, so each sector of the chain changes in its place: they go together, sector 0 last.
pub(super) fn draft(table: &Table, scale: Scale) -> Result<Draft, ComposeError> {
    let mbr = table.mbr.as_ref().ok_or(ComposeError::NotEditable("there is no MBR"))?;
    let mut draft = Draft::new();
    for chain in &mbr.chains {
        if chain.fault.is_some() {
            return Err(ComposeError::NotEditable("its chain of boot records (EBRs) is broken"));
        }
        let container = table.partition(chain.container).map_or(Lba::ZERO, |container| container.first);
        for ebr in chain.ebrs.iter().rev() {
            let place = ebr.lba.checked_byte(table.sector_size).filter(|_| scale.lba(ebr.lba).is_some());
            let place = place.ok_or_else(|| ComposeError::RecordNotWhole {
                byte: ebr.lba.position(scale.from),
                to: scale.to.bytes(),
            })?;
            let mut sector = Sector::of(&ebr.sector);
            scale_entries(&mut sector, scale, |_, entry| {
                let base = if entry.is_extended() { container } else { ebr.lba };
                let first = base.checked_add(entry.start.into())?;
                let logical = |kind, lba| kind == PartitionKind::Logical && lba == first;
                let partition =
                    table.partitions.iter().find(|partition| logical(partition.kind, partition.first));
                Some((base, partition.map_or(0, |partition| partition.number)))
            })?;
            draft.write(place, sector.bytes().to_vec());
        }
    }
    let mut front = Sector::of(mbr.sector());
    scale_entries(&mut front, scale, |slot, _| Some((Lba::ZERO, slot.saturating_add(1))))?;
    draft.write(0, front.bytes().to_vec());
    draft.barrier();
    Ok(draft)
}

/// Scales the used entries of a sector. `about` tells of an entry what its start counts from and which partition it is
/// of; entries of which it tells nothing stay.
pub(super) fn scale_entries(
    sector: &mut Sector,
    scale: Scale,
    about: impl Fn(u32, &MbrEntry) -> Option<(Lba, u32)>,
) -> Result<(), ComposeError> {
    let entries = sector.entries();
    for ((slot, entry), index) in (0_u32..).zip(&entries).zip(0_usize..) {
        let Some((base, number)) = about(slot, entry).filter(|_| entry.is_used()) else { continue };
        let out_of_range = || ComposeError::OutOfRange {
            number,
            first: entry.start.into(),
            last: u64::from(entry.start).saturating_add(entry.sectors.into()).saturating_sub(1),
            table: "an MBR",
        };
        let first = base.checked_add(entry.start.into()).ok_or_else(out_of_range)?;
        let last = first.checked_add(u64::from(entry.sectors).saturating_sub(1)).ok_or_else(out_of_range)?;
        let is_link = entry.is_extended() && base != Lba::ZERO;
        // How long a link calls what it leads to is nobody's boundary.
        let range = match (is_link, scale.lba(first)) {
            (true, Some(new_first)) => {
                let behind = scale.up(last.checked_add(1).ok_or_else(out_of_range)?);
                (new_first, behind.checked_sub(1).unwrap_or(new_first))
            }
            _ => scale.range(number, first, last)?,
        };
        let new_base = scale.lba(base).ok_or_else(out_of_range)?;
        sector.move_entry(index, (first, last), new_base, range).ok_or_else(out_of_range)?;
    }
    Ok(())
}
