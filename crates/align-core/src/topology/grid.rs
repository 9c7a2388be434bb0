/// Equidistant positions on a disk: `offset`, `offset + size`, `offset + 2 * size`, ...
///
/// A position `b` is on the grid iff `(b - offset) mod size = 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    size: u64,
    offset: u64,
}

impl Grid {
    /// The grid of `size` bytes that begins `offset` bytes into the disk. `None` for a size of 0.
    pub const fn new(size: u64, offset: u64) -> Option<Self> {
        if size == 0 { None } else { Some(Self { size, offset }) }
    }

    /// The distance between two positions in bytes.
    pub const fn size(self) -> u64 {
        self.size
    }

    /// How many bytes `position` lies past the last position of the grid at or before it: 0 on the grid,
    /// always less than the size.
    pub fn remainder(self, position: u128) -> u64 {
        let size = u128::from(self.size);
        let offset = u128::from(self.offset) % size;
        let remainder = (position % size + size - offset) % size;
        u64::try_from(remainder).expect("a remainder is less than the 64-bit size")
    }

    /// Whether `position` is on the grid.
    pub fn contains(self, position: u128) -> bool {
        self.remainder(position) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jumpered_drive_has_its_boundaries_at_7_modulo_8() {
        let grid = Grid::new(4096, 3584).unwrap();
        for (lba, remainder) in [(7, 0), (63, 0), (2055, 0), (64, 512), (2048, 512), (0, 512), (8, 512)] {
            assert_eq!(grid.remainder(lba * 512), remainder, "LBA {lba}");
        }
    }

    #[test]
    fn positions_before_the_first_boundary_and_beyond_64_bits_count_too() {
        assert_eq!(Grid::new(786_432, 1_048_576).unwrap().remainder(0), 524_288);
        assert_eq!(Grid::new(4096, 0).unwrap().remainder(u128::from(u64::MAX) * 65536 + 513), 513);
        assert_eq!(Grid::new(u64::MAX, u64::MAX).unwrap().remainder(5), 5);
        assert_eq!(Grid::new(0, 0), None);
    }
}
