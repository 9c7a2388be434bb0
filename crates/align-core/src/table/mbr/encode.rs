use zerocopy::little_endian::U32;
use zerocopy::{FromZeros, IntoBytes, TryFromBytes};

use super::raw::{RawEntry, RawSector};
use super::{MbrEntry, SECTOR_LEN};
use crate::units::Lba;

/// The geometry in which addresses by cylinder, head and sector are written where nobody reads them any more.
const HEADS: u64 = 255;
const SECTORS: u64 = 63;
/// The last cylinder that fits; what lies behind is written as its last sector.
const LAST_CYLINDER: u64 = 1023;

/// Sector 0 or an EBR that is being written: all that is not set stays as it was.
#[derive(Clone)]
pub(crate) struct Sector {
    raw: RawSector,
}

/// An entry as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) boot_indicator: u8,
    pub(crate) type_byte: u8,
    /// What the start counts from: the EBR for a logical partition, the container for a link, else 0.
    pub(crate) base: Lba,
    pub(crate) first: Lba,
    pub(crate) last: Lba,
}

impl Sector {
    /// A sector with nothing but the signature 55AA.
    pub(crate) fn empty() -> Self {
        let mut raw = RawSector::new_zeroed();
        raw.signature = [0x55, 0xAA];
        Self { raw }
    }

    /// The sector as it is on the disk.
    pub(crate) fn of(bytes: &[u8; SECTOR_LEN]) -> Self {
        // Every pattern of bytes is one.
        Self { raw: RawSector::try_read_from_bytes(bytes).unwrap_or_else(|_| Self::empty().raw) }
    }

    pub(crate) fn set_disk_signature(&mut self, signature: u32) {
        self.raw.disk_signature = U32::new(signature);
    }

    /// Writes an entry; `None` when a number does not fit into its 32 bits or there is no such slot.
    #[must_use]
    pub(crate) fn set(&mut self, slot: usize, entry: &Entry) -> Option<()> {
        let start = entry.first.number().checked_sub(entry.base.number())?;
        let raw = RawEntry {
            boot_indicator: entry.boot_indicator,
            chs_first: chs(entry.first),
            type_byte: entry.type_byte,
            chs_last: chs(entry.last),
            start: U32::new(u32::try_from(start).ok()?),
            sectors: U32::new(u32::try_from(entry.first.sectors_through(entry.last)?).ok()?),
        };
        *self.raw.entries.get_mut(slot)? = raw;
        Some(())
    }

    /// Changes where an entry begins and ends, from one base with its ends to another, and nothing else of it: an
    /// address of an end that stays is left as it is, whatever geometry it was made for. `None` as for
    /// [`set`](Self::set).
    #[must_use]
    pub(crate) fn place(
        &mut self,
        slot: usize,
        old: (Lba, (Lba, Lba)),
        new: (Lba, (Lba, Lba)),
    ) -> Option<()> {
        if old == new {
            return Some(());
        }
        let raw = self.raw.entries.get_mut(slot)?;
        let (base, (first, last)) = new;
        let start = u32::try_from(first.number().checked_sub(base.number())?).ok()?;
        raw.sectors = U32::new(u32::try_from(first.sectors_through(last)?).ok()?);
        raw.start = U32::new(start);
        if old.1.0 != first {
            raw.chs_first = chs(first);
        }
        if old.1.1 != last {
            raw.chs_last = chs(last);
        }
        Some(())
    }

    /// Gives an entry another type. `None` when there is no such slot.
    #[must_use]
    pub(crate) fn retype(&mut self, slot: usize, type_byte: u8) -> Option<()> {
        self.raw.entries.get_mut(slot)?.type_byte = type_byte;
        Some(())
    }

    /// Lets an entry begin and end at other sectors, counted from another base. Addresses by cylinder are written anew
    /// where they were those of the old ends in our geometry.
    #[must_use]
    pub(crate) fn move_entry(
        &mut self,
        slot: usize,
        old: (Lba, Lba),
        base: Lba,
        new: (Lba, Lba),
    ) -> Option<()> {
        let raw = self.raw.entries.get_mut(slot)?;
        let start = u32::try_from(new.0.number().checked_sub(base.number())?).ok()?;
        raw.sectors = U32::new(u32::try_from(new.0.sectors_through(new.1)?).ok()?);
        raw.start = U32::new(start);
        for (address, old, new) in [(&mut raw.chs_first, old.0, new.0), (&mut raw.chs_last, old.1, new.1)] {
            if *address == chs(old) {
                *address = chs(new);
            }
        }
        Some(())
    }

    /// The four entries as they are now.
    pub(crate) fn entries(&self) -> [MbrEntry; 4] {
        self.raw.entries()
    }

    /// Writes the entry that protects a GPT on a disk of so many sectors, with the bytes that the UEFI specification
    /// gives as addresses by cylinder.
    pub(crate) fn set_protective(&mut self, disk_sectors: u64) {
        let sectors = u32::try_from(disk_sectors.saturating_sub(1)).unwrap_or(u32::MAX);
        if let Some(entry) = self.raw.entries.first_mut() {
            *entry = RawEntry {
                boot_indicator: 0,
                chs_first: [0x00, 0x02, 0x00],
                type_byte: super::PROTECTIVE_TYPE,
                chs_last: [0xFF, 0xFF, 0xFF],
                start: U32::new(1),
                sectors: U32::new(sectors),
            };
        }
    }

    /// Changes how many sectors a protective entry covers, and nothing else of it.
    pub(crate) fn resize_protective(&mut self, disk_sectors: u64) {
        let sectors = u32::try_from(disk_sectors.saturating_sub(1)).unwrap_or(u32::MAX);
        for entry in self.raw.entries.iter_mut().filter(|entry| entry.type_byte == super::PROTECTIVE_TYPE) {
            entry.sectors = U32::new(sectors);
        }
    }

    /// The slot for a link: the usual second one, or another that is free.
    pub(crate) fn free_slot(&self) -> Option<usize> {
        let free = |slot: &usize| self.raw.entries.get(*slot).is_some_and(|entry| entry.sectors.get() == 0);
        [1, 2, 3, 0].into_iter().find(free)
    }

    /// The slot of the link that is followed.
    pub(crate) fn link_slot(&self) -> Option<usize> {
        self.raw.entries().iter().position(|entry| entry.is_used() && entry.is_extended())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.raw.as_bytes()
    }
}

/// An LBA as head, sector with the high bits of the cylinder, and the low bits of the cylinder.
fn chs(lba: Lba) -> [u8; 3] {
    let per_cylinder = HEADS.saturating_mul(SECTORS);
    let last = LAST_CYLINDER.saturating_add(1).saturating_mul(per_cylinder).saturating_sub(1);
    let lba = lba.number().min(last);
    let cylinder = lba.div_euclid(per_cylinder);
    let head = lba.div_euclid(SECTORS).rem_euclid(HEADS);
    let sector = lba.rem_euclid(SECTORS).saturating_add(1);
    let low = |number: u64| number.to_le_bytes()[0];
    [low(head), low(sector | (cylinder >> 2 & 0xC0)), low(cylinder)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_fdisk_writes() {
        // Of the tests of util-linux (fdisk/mbr-nondos-mode): cylinder/head/sector.
        for (lba, cylinder, head, sector) in [
            (2048, 0, 32, 33),
            (8191, 0, 130, 2),
            (8192, 0, 130, 3),
            (12287, 0, 195, 3),
            (40959, 2, 140, 10),
            (16_450_559, 1023, 254, 63),
            (16_450_560, 1023, 254, 63),
            (u64::MAX, 1023, 254, 63),
        ] {
            let cylinder_high = u8::try_from(cylinder >> 8).unwrap() << 6;
            let cylinder_low = u8::try_from(cylinder & 0xFF).unwrap();
            assert_eq!(chs(Lba::new(lba)), [head, sector | cylinder_high, cylinder_low], "{lba}");
        }
    }

    #[test]
    fn what_is_not_set_stays() {
        let old: [u8; SECTOR_LEN] = std::array::from_fn(|at| at.to_le_bytes()[0]);
        let mut sector = Sector::of(&old);
        let entry = Entry {
            boot_indicator: 0x80,
            type_byte: 7,
            base: Lba::ZERO,
            first: Lba::new(63),
            last: Lba::new(126),
        };
        sector.set(2, &entry).unwrap();
        let new = sector.bytes();
        assert_eq!(new[..478], old[..478]);
        assert_eq!(new[494..], old[494..]);
        assert_eq!(new[478..494], [0x80, 1, 1, 0, 7, 2, 1, 0, 63, 0, 0, 0, 64, 0, 0, 0]);
        let too_far = Entry { last: Lba::new(1 << 32), first: Lba::new(1 << 32), ..entry };
        assert!(sector.set(0, &too_far).is_none());
        assert!(sector.set(4, &entry).is_none());
    }
}
