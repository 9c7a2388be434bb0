use super::ComposeError;
use crate::device::Reader;
use crate::patch::Draft;
use crate::table::{Label, Table};
use crate::units::{Lba, SectorSize};

mod gpt;
mod mbr;

pub(super) fn draft(table: &Table, to: SectorSize, reader: &Reader<'_>) -> Result<Draft, ComposeError> {
    let scale = Scale { from: table.sector_size, to };
    match table.label {
        Label::Gpt => gpt::draft(table, scale, reader),
        Label::Mbr => mbr::draft(table, scale),
        Label::None => Err(ComposeError::NotEditable("there is none")),
    }
}

/// From sectors of one size to those of another.
#[derive(Clone, Copy, Debug)]
struct Scale {
    from: SectorSize,
    to: SectorSize,
}

impl Scale {
    /// The sector that begins at the same byte, `None` when none does.
    fn lba(self, lba: Lba) -> Option<Lba> {
        let position = lba.position(self.from);
        let unit = u128::from(self.to.bytes());
        let number = position.checked_div(unit).filter(|_| position.is_multiple_of(unit))?;
        u64::try_from(number).ok().map(Lba::new)
    }

    /// The sectors with the same bytes as these of a partition.
    fn range(self, number: u32, first: Lba, last: Lba) -> Result<(Lba, Lba), ComposeError> {
        let not_whole = |what, lba: Lba| ComposeError::NotWhole {
            number,
            what,
            byte: lba.position(self.from),
            to: self.to.bytes(),
        };
        let behind = last.checked_add(1).filter(|_| first <= last);
        let behind = behind.ok_or(ComposeError::NotEditable("a partition ends before it begins"))?;
        let new_first = self.lba(first).ok_or_else(|| not_whole("begins", first))?;
        let new_behind = self.lba(behind).ok_or_else(|| not_whole("ends", behind))?;
        Ok((new_first, new_behind.checked_sub(1).unwrap_or(new_first)))
    }

    /// The sector that begins at or before the same byte.
    fn down(self, lba: Lba) -> Lba {
        let sectors = lba.position(self.from).div_euclid(self.to.bytes().into());
        Lba::new(u64::try_from(sectors).unwrap_or(u64::MAX))
    }

    /// The sector that begins at or after the same byte.
    fn up(self, lba: Lba) -> Lba {
        let sectors = lba.position(self.from).div_ceil(self.to.bytes().into());
        Lba::new(u64::try_from(sectors).unwrap_or(u64::MAX))
    }
}
