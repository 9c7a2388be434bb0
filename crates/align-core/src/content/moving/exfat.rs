use super::super::{BootSector, boot_sector};
use super::fields::Fields;
use super::inside::{Inside, long};
use super::origin::{Origin, Start};
use crate::device::ReadError;

/// The sectors of a boot region, of which the last holds the checksum of the others (exFAT specification, section 3).
const REGION: u64 = 12;
const PARTITION_OFFSET: usize = 0x40;
const SECTOR_SHIFT: usize = 0x6C;
/// The bytes that change without the checksum: the volume's flags and how full it is (section 3.4).
const UNCHECKED: [usize; 3] = [106, 107, 112];

/// Adds what the main boot region and its backup behind it have to become.
pub(super) fn place(
    inside: Inside<'_>,
    front: &[u8],
    old: Origin,
    new: Origin,
    fields: &mut Fields,
) -> Result<(), ReadError> {
    let shift = front.get(SECTOR_SHIFT).copied().filter(|shift| (9..=12).contains(shift));
    let Some(sector_size) = shift.and_then(|shift| 1_u64.checked_shl(shift.into())) else { return Ok(()) };
    let region_len = sector_size.saturating_mul(REGION);
    for (offset, name) in [(0, "boot region"), (region_len, "backup of the boot region")] {
        let Some(region) = Region::read(inside, offset, sector_size)? else { continue };
        let Some(start) = region.start(old, new) else { continue };
        if !region.is_sound() {
            fields.warnings.push(format!(
                "the {name} of exFAT has a wrong checksum, and is left as it is: let `fsck.exfat` repair it"
            ));
            continue;
        }
        // What cannot be said is said to be unknown: "the value 0 indicates that it shall be ignored".
        fields.changes.extend(region.changes(start.value(u64::MAX).unwrap_or(0)));
    }
    Ok(())
}

/// The boot region at an offset.
struct Region {
    offset: u64,
    sector_size: u64,
    checked: Vec<u8>,
    checksum: Vec<u8>,
}

impl Region {
    fn read(inside: Inside<'_>, offset: u64, sector_size: u64) -> Result<Option<Self>, ReadError> {
        let len = sector_size.saturating_mul(REGION);
        let Some(mut checked) = inside.read(offset, usize::try_from(len).unwrap_or(usize::MAX))? else {
            return Ok(None);
        };
        if boot_sector(&checked) != Some(BootSector::ExFat) {
            return Ok(None);
        }
        let last = usize::try_from(len.saturating_sub(sector_size)).unwrap_or(usize::MAX);
        let checksum = checked.split_off(last.min(checked.len()));
        Ok(Some(Self { offset, sector_size, checked, checksum }))
    }

    fn start(&self, old: Origin, new: Origin) -> Option<Start> {
        Start::of(long(&self.checked, PARTITION_OFFSET)?, self.sector_size, old, new)
    }

    /// Whether the checksum is that of the sectors before.
    fn is_sound(&self) -> bool {
        self.checksum == checksum_sector(&self.checked, self.checksum.len())
    }

    fn changes(mut self, value: u64) -> Vec<(u64, Vec<u8>)> {
        let field = value.to_le_bytes();
        let Some(place) = self.checked.get_mut(PARTITION_OFFSET..PARTITION_OFFSET + 8) else {
            return Vec::new();
        };
        if *place == field {
            return Vec::new();
        }
        place.copy_from_slice(&field);
        let sector = checksum_sector(&self.checked, self.checksum.len());
        let last = self.sector_size.saturating_mul(REGION - 1);
        let at = |within: u64| self.offset.saturating_add(within);
        vec![(at(PARTITION_OFFSET as u64), field.to_vec()), (at(last), sector)]
    }
}

/// The checksum of the bytes, repeated over a sector of `len` bytes.
fn checksum_sector(bytes: &[u8], len: usize) -> Vec<u8> {
    let checked = bytes.iter().enumerate().filter(|(at, _)| !UNCHECKED.contains(at));
    let sum = checked.fold(0_u32, |sum, (_, byte)| sum.rotate_right(1).wrapping_add((*byte).into()));
    sum.to_le_bytes().into_iter().cycle().take(len).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fields::place_fields;
    use super::*;

    const OLD: Origin = Origin { absolute: 1 << 20, relative: None };
    const NEW: Origin = Origin { absolute: 2 << 20, relative: None };

    fn region(sector_size: usize, start: u64) -> Vec<u8> {
        let mut region = vec![0; sector_size * 11];
        region[..11].copy_from_slice(b"\xEB\x76\x90EXFAT   ");
        region[0x40..0x48].copy_from_slice(&start.to_le_bytes());
        region[0x6C] = sector_size.trailing_zeros().to_le_bytes()[0];
        region[510..512].copy_from_slice(b"\x55\xAA");
        let checksum = checksum_sector(&region, sector_size);
        region.extend(checksum);
        region
    }

    fn fields(partition: &[u8], old: Origin, new: Origin) -> Fields {
        let read = |at: u64, len: usize| Ok(partition[usize::try_from(at).unwrap()..][..len].to_vec());
        place_fields(&read, partition.len() as u64, old, new).unwrap()
    }

    #[test]
    fn both_regions_and_their_checksums_follow() {
        for sector_size in [512, 4096] {
            let [before, after] = [OLD, NEW].map(|origin| {
                let region = region(sector_size, origin.absolute / sector_size as u64);
                [region.clone(), region].concat()
            });
            let found = fields(&before, OLD, NEW);
            assert_eq!((found.changes.len(), found.warnings.len()), (4, 0));
            let mut moved = before;
            for (at, bytes) in found.changes {
                moved[usize::try_from(at).unwrap()..][..bytes.len()].copy_from_slice(&bytes);
            }
            assert!(moved == after);
        }
    }

    #[test]
    fn a_region_that_is_damaged_is_left_alone() {
        let mut volume = [region(512, 2048), region(512, 2048)].concat();
        volume[6144 + 200] ^= 1;
        let found = fields(&volume, OLD, NEW);
        assert_eq!((found.changes.len(), found.warnings.len()), (2, 1));
    }

    #[test]
    fn a_start_that_was_never_filled_in_stays_so() {
        assert_eq!(fields(&region(512, 0), OLD, NEW), Fields::default());
    }
}
