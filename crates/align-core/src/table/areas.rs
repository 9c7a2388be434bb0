use std::iter;
use std::ops::Range;

use super::gpt::{GptHeader, PRIMARY_LBA};
use super::mbr::SECTOR_LEN;
use super::{Gpt, Label, Table};
use crate::units::{Lba, SectorSize};

impl Table {
    /// Where the table lies, in bytes: sector 0, the headers and arrays of a GPT, the EBRs of an MBR; in the order of
    /// the disk, apart from each other. Of a disk without a table: sector 0.
    pub fn areas(&self) -> Vec<Range<u64>> {
        let mut areas: Vec<_> = iter::once(0..SECTOR_LEN as u64).collect();
        if let Some(gpt) = &self.gpt {
            areas.extend(gpt.primary_areas());
            areas.extend(gpt.backup_areas());
        }
        areas.extend(self.record_areas());
        merged(areas)
    }

    /// Where the EBRs of an MBR lie, in bytes.
    pub(crate) fn record_areas(&self) -> Vec<Range<u64>> {
        let mbr = self.mbr.as_ref().filter(|_| self.label == Label::Mbr);
        let records = mbr.into_iter().flat_map(|mbr| &mbr.chains).flat_map(|chain| &chain.ebrs);
        records.filter_map(|ebr| sectors(ebr.lba, SECTOR_LEN as u64, self.sector_size)).collect()
    }
}

impl Gpt {
    /// Where the primary copy lies, in bytes; of a bad one only the header's sector.
    pub(crate) fn primary_areas(&self) -> Vec<Range<u64>> {
        match &self.primary {
            Ok(header) => header.areas(),
            Err(_) => self.sector(PRIMARY_LBA),
        }
    }

    /// Where the backup lies, in bytes; of a bad one only the sector in which its header should be.
    pub(crate) fn backup_areas(&self) -> Vec<Range<u64>> {
        match (&self.backup, self.last_lba) {
            (Ok(header), _) => header.areas(),
            (Err(_), Some(last)) => self.sector(last),
            (Err(_), None) => Vec::new(),
        }
    }

    /// Where each copy lies that is whole, in bytes.
    pub(crate) fn whole_areas(&self) -> Vec<Vec<Range<u64>>> {
        let copies = [(&self.primary, self.primary_areas()), (&self.backup, self.backup_areas())];
        copies.into_iter().filter(|(copy, _)| copy.is_ok()).map(|(_, areas)| areas).collect()
    }

    fn sector(&self, lba: Lba) -> Vec<Range<u64>> {
        sectors(lba, self.sector_size.bytes(), self.sector_size).into_iter().collect()
    }
}

impl GptHeader {
    fn areas(&self) -> Vec<Range<u64>> {
        let header = sectors(self.my_lba, self.sector_size.bytes(), self.sector_size);
        let array = sectors(self.array, self.array_bytes(), self.sector_size);
        header.into_iter().chain(array).collect()
    }
}

fn sectors(lba: Lba, len: u64, unit: SectorSize) -> Option<Range<u64>> {
    let start = lba.checked_byte(unit)?;
    Some(start..start.checked_add(len)?)
}

/// The ranges in order, those that touch made one.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![8..9, 0..4, 4..6, 5..6]), [0..6, 8..9]);
    }
}
