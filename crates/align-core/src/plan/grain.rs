use crate::topology::{Grid, Topology};
use crate::units::PhysicalSize;

/// Partitions begin on whole MiB where nothing asks for more.
const MEBIBYTE: u64 = 1 << 20;
/// A common multiple of hints beyond this is no grid that anybody meant.
const LARGEST_COMMON: u64 = 64 << 20;
/// A disk of so many grains or fewer gets a smaller grain.
const FEW_GRAINS: u128 = 4;

/// How starts are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// On the optimal grid of the medium, at least on whole MiB.
    #[default]
    Optimal,
    /// On the physical sectors, and no coarser.
    Minimal,
    /// On this many bytes, and on the physical sectors.
    Grain(u64),
}

/// The distance between two places where a partition may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// In bytes: a multiple of the physical sector.
    pub bytes: u64,
    /// Why it is this one.
    pub reason: GrainReason,
    /// Whether the disk is so small that even the first MiB is used.
    pub small_disk: bool,
}

/// Why a grain is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrainReason {
    /// Whole MiB, as every system uses today.
    Mebibyte,
    /// The hints of the medium do not fit into a MiB.
    Hints,
    /// The disk is too small for the grain of its hints: whole MiB instead.
    FewGrains,
    /// The disk is too small for whole MiB: physical sectors.
    SmallDisk,
    /// Physical sectors were asked for.
    Minimal,
    /// The user's, made a multiple of the physical sector.
    Given,
}

impl Grain {
    /// The grain of a disk of `capacity` bytes, `None` when the grain that was asked for is 0 or too large.
    pub fn choose(align: Align, topology: &Topology, capacity: u128) -> Option<Self> {
        let physical = topology.physical;
        let mebibyte = MEBIBYTE.max(physical.bytes());
        let small_disk = capacity <= u128::from(mebibyte) * FEW_GRAINS;
        let grain = |bytes, reason| Some(Self { bytes, reason, small_disk });
        match align {
            Align::Grain(given) => {
                let bytes = lcm(physical.bytes(), given)?;
                Some(Self { bytes, reason: GrainReason::Given, small_disk: false })
            }
            Align::Minimal => grain(physical.bytes(), GrainReason::Minimal),
            Align::Optimal => {
                let (bytes, reason) = optimal(topology, physical);
                if capacity > u128::from(bytes) * FEW_GRAINS {
                    Some(Self { bytes, reason, small_disk: false })
                } else if small_disk {
                    grain(physical.bytes(), GrainReason::SmallDisk)
                } else {
                    grain(mebibyte, GrainReason::FewGrains)
                }
            }
        }
    }

    /// The places that the grain gives to a disk whose first physical boundary is at `offset`.
    pub fn grid(self, offset: u64) -> Grid {
        Grid::new(self.bytes, offset).expect("a grain is a multiple of a physical sector, so not 0")
    }
}

/// The common multiple of the physical sector and the credible hints, doubled to at least a MiB. Hints that lead
/// beyond 64 MiB together are dropped, the optimal one first.
fn optimal(topology: &Topology, physical: PhysicalSize) -> (u64, GrainReason) {
    let minimum = topology.minimum.credible();
    let optimal = topology.optimal.credible();
    let common = |hints: [Option<u64>; 2]| {
        let all = hints.into_iter().flatten().try_fold(physical.bytes(), lcm)?;
        (all <= LARGEST_COMMON).then_some(all)
    };
    let mut bytes =
        common([minimum, optimal]).or_else(|| common([minimum, None])).unwrap_or(physical.bytes());
    while bytes < MEBIBYTE {
        bytes = bytes.saturating_mul(2);
    }
    (bytes, if bytes == MEBIBYTE { GrainReason::Mebibyte } else { GrainReason::Hints })
}

/// The least common multiple; `None` for 0 or beyond 64 bits.
fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while let Some(remainder) = divisor.checked_rem(rest) {
        (divisor, rest) = (rest, remainder);
    }
    a.checked_div(divisor)?.checked_mul(b).filter(|multiple| *multiple > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Reported;

    const TB: u128 = 1_000_204_886_016;

    fn grain(physical: u64, minimum_io: u64, optimal_io: u64, capacity: u128) -> u64 {
        let reported = Reported {
            logical: Some(512),
            physical: Some(physical),
            minimum_io: Some(minimum_io),
            optimal_io: Some(optimal_io),
            ..Reported::default()
        };
        let topology = Topology::judge(&reported, u64::try_from(capacity).ok(), None, None);
        Grain::choose(Align::Optimal, &topology, capacity).unwrap().bytes
    }

    #[test]
    fn the_grains_of_libstorage_ng() {
        // testsuite/Utils/alignment.cc, test_grain.
        for (optimal_io, expected) in
            [(0, 1 << 20), (4096, 1 << 20), (32768, 1 << 20), (1 << 20, 1 << 20), (8 << 20, 8 << 20)]
        {
            assert_eq!(grain(4096, 4096, optimal_io, TB), expected);
        }
        assert_eq!(grain(4096, 4096, 768 << 10, TB), 1536 << 10);
    }

    #[test]
    fn minimum_and_optimal_are_combined() {
        assert_eq!(grain(4096, 262_144, 786_432, TB), 1_572_864);
        assert_eq!(grain(4096, 196_608, 196_608, TB), 1_572_864);
        // Their common multiple of 189 MiB is nobody's grid: the optimal size is dropped.
        assert_eq!(grain(4096, 7 << 20, 27 << 20, TB), 7 << 20);
    }

    #[test]
    fn small_disks_get_smaller_grains() {
        assert_eq!(grain(4096, 4096, 16 << 20, 65 << 20), 16 << 20);
        assert_eq!(grain(4096, 4096, 16 << 20, 64 << 20), 1 << 20);
        assert_eq!(grain(4096, 4096, 16 << 20, 4 << 20), 4096);
        assert_eq!(grain(4096, 4096, 0, (4 << 20) + 1), 1 << 20);
    }

    #[test]
    fn a_given_grain_becomes_a_multiple_of_the_physical_sector() {
        let topology = Topology::judge(&Reported::default(), None, None, None);
        let given = |bytes| Grain::choose(Align::Grain(bytes), &topology, TB).map(|grain| grain.bytes);
        assert_eq!(given(4 << 20), Some(4 << 20));
        assert_eq!(given(6000), Some(1_536_000));
        assert_eq!(given(0), None);
        assert_eq!(given(u64::MAX), None);
    }
}
