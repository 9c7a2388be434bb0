/// Where a partition begins, in the two ways in which a file system inside may have noted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// In bytes from the start of the disk.
    pub absolute: u64,
    /// Of a logical partition: in bytes from its own EBR.
    pub relative: Option<u64>,
}

/// The start that a field has to hold after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    bytes: u64,
    unit: u64,
}

impl Start {
    /// What a field with this `value` has to become, in the manner in which it holds the start now. `None` when it
    /// does not hold the old start, as after a move by a tool that did not know of it, or when it was never filled
    /// in.
    ///
    /// The value counts sectors of the file system's own size. What asks the kernel for it (`HDIO_GETGEO`) is told
    /// 512-byte sectors instead, and some write those down as they are.
    pub(super) fn of(value: u64, sector_size: u64, old: Origin, new: Origin) -> Option<Self> {
        let held = |unit: u64| {
            let held = value.checked_mul(unit).filter(|held| *held > 0)?;
            if held == old.absolute {
                return Some(Self { bytes: new.absolute, unit });
            }
            let is_relative = old.relative == Some(held);
            is_relative.then(|| Self { bytes: new.relative.unwrap_or(new.absolute), unit })
        };
        held(sector_size).or_else(|| held(512))
    }

    /// The value, `None` when it is no whole number of sectors or above `max`.
    pub(super) fn value(self, max: u64) -> Option<u64> {
        let whole = self.bytes.checked_rem(self.unit)? == 0;
        self.bytes.checked_div(self.unit).filter(|value| whole && *value <= max)
    }

    /// In bytes from the start of the disk or from the EBR.
    pub(super) fn bytes(self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Origin = Origin { absolute: 1_000_448, relative: Some(63 * 512) };
    const NEW: Origin = Origin { absolute: 1 << 20, relative: Some(2048 * 512) };

    fn value(held: u64, sector_size: u64) -> Option<u64> {
        Start::of(held, sector_size, OLD, NEW)?.value(u32::MAX.into())
    }

    #[test]
    fn the_manner_stays() {
        assert_eq!(value(1954, 512), Some(2048));
        assert_eq!(value(63, 512), Some(2048));
        assert_eq!(value(62, 512), None);
        assert_eq!(value(0, 512), None);
    }

    #[test]
    fn own_sectors_come_first_and_those_of_the_kernel_second() {
        let old = Origin { absolute: 1 << 20, relative: None };
        let new = Origin { absolute: 2 << 20, relative: None };
        let value = |held| Start::of(held, 4096, old, new)?.value(u32::MAX.into());
        assert_eq!(value(256), Some(512));
        assert_eq!(value(2048), Some(4096));
    }

    #[test]
    fn a_logical_partition_that_becomes_a_primary_one_has_only_its_absolute_start() {
        let primary = Origin { absolute: 4 << 20, relative: None };
        assert_eq!(Start::of(63, 512, OLD, primary).unwrap().value(u64::MAX), Some(8192));
    }

    #[test]
    fn what_cannot_be_said_is_not_said() {
        let odd = Origin { absolute: 63 * 512, relative: None };
        let old = Origin { absolute: 1 << 20, relative: None };
        assert_eq!(Start::of(256, 4096, old, odd).unwrap().value(u64::MAX), None);
        let far = Origin { absolute: 1 << 41, relative: None };
        assert_eq!(Start::of(2048, 512, old, far).unwrap().value(u32::MAX.into()), None);
        assert_eq!(Start::of(2048, 512, old, far).unwrap().value(u64::MAX), Some(1 << 32));
    }
}
