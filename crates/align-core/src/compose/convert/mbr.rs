use super::Scale;
use crate::compose::ComposeError;
use crate::patch::Draft;
use crate::table::mbr::{Chain, Ebr, MbrEntry, Sector};
use crate::table::{PartitionKind, Table};
use crate::units::Lba;

/// Every EBR stays at its byte, so each sector of the chain changes in its place: they go together, sector 0 last.
pub(super) fn draft(table: &Table, scale: Scale) -> Result<Draft, ComposeError> {
    let mbr = table.mbr.as_ref().ok_or(ComposeError::NotEditable("there is no MBR"))?;
    let mut draft = Draft::new();
    // First, since chains count from the containers.
    let mut front = Sector::of(mbr.sector());
    scale_entries(&mut front, scale, |slot, _| Some((Lba::ZERO, number_in_front(slot))))?;
    for chain in &mbr.chains {
        if chain.fault.is_some() {
            return Err(ComposeError::NotEditable("its chain of boot records (EBRs) is broken"));
        }
        let container = table.partition(chain.container).map_or(Lba::ZERO, |container| container.first);
        for ebr in chain.ebrs.iter().rev() {
            let place = ebr.lba.checked_byte(table.sector_size).filter(|_| scale.lba(ebr.lba).is_some());
            let place = place.ok_or_else(|| ComposeError::RecordNotWhole {
                number: number_of(table, chain, ebr),
                byte: ebr.lba.position(scale.from),
                to: scale.to.bytes(),
            })?;
            let mut sector = Sector::of(&ebr.sector);
            let link_slot = sector.link_slot();
            scale_entries(&mut sector, scale, |slot, entry| {
                if entry.is_extended() {
                    let next =
                        chain.ebrs.iter().find(|next| ebr.link().is_some_and(|link| link.lba == next.lba));
                    let number = next.map_or(chain.container, |next| number_of(table, chain, next));
                    return (link_slot == Some(slot)).then_some((container, number));
                }
                // What is nobody's partition there may be garbage.
                let logical = ebr.logicals().find(|logical| logical.slot == slot)?;
                Some((ebr.lba, number_at(table, logical.first)?))
            })?;
            draft.write(place, sector.bytes().to_vec());
        }
    }
    draft.write(0, front.bytes().to_vec());
    draft.barrier();
    Ok(draft)
}

/// The partition that a record describes; of one that describes none, its container.
fn number_of(table: &Table, chain: &Chain, ebr: &Ebr) -> u32 {
    let number = ebr.logicals().next().and_then(|logical| number_at(table, logical.first));
    number.unwrap_or(chain.container)
}

fn number_at(table: &Table, first: Lba) -> Option<u32> {
    let logicals = table.partitions.iter().filter(|partition| partition.kind == PartitionKind::Logical);
    logicals.into_iter().find(|partition| partition.first == first).map(|partition| partition.number)
}

/// The number of an entry of sector 0.
pub(super) fn number_in_front(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX).saturating_add(1)
}

/// Scales the used entries of a sector. `about` tells of an entry what its start counts from and which partition it is
/// of; entries of which it tells nothing stay.
pub(super) fn scale_entries(
    sector: &mut Sector,
    scale: Scale,
    about: impl Fn(usize, &MbrEntry) -> Option<(Lba, u32)>,
) -> Result<(), ComposeError> {
    for (slot, entry) in sector.entries().iter().enumerate() {
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
        sector.move_entry(slot, (first, last), new_base, range).ok_or_else(out_of_range)?;
    }
    Ok(())
}
