use super::{Grid, Hint, Identified, Reported};
use crate::units::{PhysicalSize, SectorSize};

/// A 512/512 claim is believed only below this capacity in bytes: larger disks were hardly made with
/// 512-byte physical sectors.
const LARGEST_BELIEVED_512: u64 = 300_000_000_000;
/// Rotation rates up to 1 mean "does not rotate" (ATA word 217).
const SLOWEST_ROTATION: u32 = 2;

/// Why a value is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The device said so.
    Reported,
    /// The drive itself said so, asked past the kernel.
    Identified,
    /// The model is known to have it, whatever it says.
    KnownModel,
    /// Nothing credible was said; the safe value is used.
    Assumed,
    /// The user said so.
    Forced,
}

/// What became of the alignment offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetVerdict {
    /// Used as it came, or none was reported.
    Used,
    /// -1: no offset suits all layers of the stack. 0 is used.
    StackMisaligned,
    /// No multiple of the logical sector size, or negative. 0 is used.
    Invalid(i64),
}

/// A value that the kernel and the drive itself tell differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What it is: "physical sector size".
    pub what: &'static str,
    /// By the kernel, in bytes.
    pub kernel: u64,
    /// By the drive, in bytes.
    pub drive: u64,
    /// What is judged by, in bytes.
    pub used: u64,
}

/// What partitions are judged by, beside what was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// As it came.
    pub reported: Reported,
    /// What the drive said of itself.
    pub identified: Identified,
    /// Logical sector size of the device.
    pub logical: SectorSize,
    /// Where the logical size comes from.
    pub logical_basis: Basis,
    /// A logical size that was reported but is none, if so.
    pub logical_invalid: Option<u64>,
    /// Physical sector size: the grid on which a start has to lie.
    pub physical: PhysicalSize,
    /// Where the physical size comes from.
    pub physical_basis: Basis,
    /// A physical size that was reported but cannot be one, if so.
    pub physical_invalid: Option<u64>,
    /// Bytes from the start of the disk to the first physical boundary.
    pub alignment_offset: u64,
    /// Where the offset comes from.
    pub offset_basis: Basis,
    /// What became of the reported offset.
    pub offset_verdict: OffsetVerdict,
    /// What the minimum I/O size is worth.
    pub minimum: Hint,
    /// What the optimal I/O size is worth.
    pub optimal: Hint,
    /// The grid on which a start should lie for full speed (of a stripe, say), in bytes.
    pub optimal_grid: Option<u64>,
}

impl Topology {
    /// Judges what a device of `capacity` bytes reports.
    ///
    /// `forced` is the physical size by the user's word. `table` is the sector size in which its table is
    /// written; it stands in for the logical size of what does not report one, such as an image file.
    pub fn judge(
        reported: &Reported,
        capacity: Option<u64>,
        forced: Option<PhysicalSize>,
        table: Option<SectorSize>,
    ) -> Self {
        Self::judge_identified(reported, &Identified::default(), capacity, forced, table)
    }

    /// As [`judge`](Self::judge), hearing what the drive says of itself too: of two physical sizes the larger one
    /// counts, and the drive's offset where the kernel reports none.
    pub fn judge_identified(
        reported: &Reported,
        identified: &Identified,
        capacity: Option<u64>,
        forced: Option<PhysicalSize>,
        table: Option<SectorSize>,
    ) -> Self {
        let said = reported.logical.and_then(SectorSize::new);
        let by_drive = identified.logical.and_then(SectorSize::new);
        // What an LBA counts is up to the kernel: a bridge may translate.
        let logical = said.or(by_drive).or(table).unwrap_or(SectorSize::B512);
        let logical_basis = match (said, by_drive) {
            (Some(_), _) => Basis::Reported,
            (None, Some(_)) => Basis::Identified,
            (None, None) => Basis::Assumed,
        };
        let logical_invalid = reported.logical.filter(|_| said.is_none());

        let possible = |size: &PhysicalSize| size.bytes() >= logical.bytes();
        let credible = reported.physical.and_then(PhysicalSize::new).filter(possible);
        let physical_invalid = reported.physical.filter(|_| credible.is_none());
        let own = identified.physical.and_then(PhysicalSize::new).filter(possible);
        let known = identified.known_physical.and_then(PhysicalSize::new).filter(possible);
        let claimed = credible.unwrap_or_else(|| logical.into());
        let (physical, physical_basis) = match (forced, own) {
            (Some(forced), _) => (forced.max(logical.into()), Basis::Forced),
            (None, Some(own)) if own >= claimed && own > PhysicalSize::B512 => (own, Basis::Identified),
            // Nothing was said: an image. Its table may be written in larger sectors than the usual ones.
            (None, None) if said.is_none() && credible.is_none() => {
                let (least, basis) = least(known, identified);
                (claimed.max(least), basis)
            }
            (None, _) if claimed > PhysicalSize::B512 => (claimed, Basis::Reported),
            (None, Some(_)) if known.is_none() && believes_512(reported, identified, capacity) => {
                (claimed, Basis::Identified)
            }
            (None, None)
                if known.is_none()
                    && said.is_some()
                    && credible.is_some()
                    && believes_512(reported, identified, capacity) =>
            {
                (claimed, Basis::Reported)
            }
            (None, _) => least(known, identified),
        };

        let (reported_offset, offset_verdict) = judge_offset(reported.alignment_offset, logical);
        let own_offset = identified.alignment_offset.filter(|offset| offset.is_multiple_of(logical.bytes()));
        let (alignment_offset, offset_basis) = match (reported.alignment_offset, own_offset) {
            (Some(0) | None, Some(own)) => (own, Basis::Identified),
            (Some(kernel), Some(own)) if i64::try_from(own) == Ok(kernel) => (own, Basis::Identified),
            (Some(_), _) if offset_verdict == OffsetVerdict::Used => (reported_offset, Basis::Reported),
            _ => (reported_offset, Basis::Assumed),
        };
        let minimum_io = match (reported.minimum_io, identified.write_granularity) {
            (Some(kernel), Some(own)) => Some(kernel.max(own)),
            (kernel, own) => kernel.or(own),
        };
        let minimum = Hint::minimum(minimum_io, logical, physical);
        // The kernel drops some preferences for reasons of its own, and so it says nothing of those that are none.
        let own_optimal = Hint::optimal(identified.optimal_io, logical, physical);
        let optimal = match Hint::optimal(reported.optimal_io, logical, physical) {
            Hint::Absent if own_optimal.credible().is_some() => own_optimal,
            by_kernel => by_kernel,
        };
        let beyond_physical = |value: &u64| *value > physical.bytes();
        let optimal_grid = optimal.credible().or(minimum.credible().filter(beyond_physical));
        Self {
            reported: reported.clone(),
            identified: identified.clone(),
            logical,
            logical_basis,
            logical_invalid,
            physical,
            physical_basis,
            physical_invalid,
            alignment_offset,
            offset_basis,
            offset_verdict,
            minimum,
            optimal,
            optimal_grid,
        }
    }

    /// What the kernel and the drive itself tell differently. Values that cannot be are no contradiction.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let (kernel, drive) = (&self.reported, &self.identified);
        let size = |value: Option<u64>| value.and_then(PhysicalSize::new).map(PhysicalSize::bytes);
        let kernel_offset = kernel
            .alignment_offset
            .filter(|_| self.offset_verdict == OffsetVerdict::Used)
            .map(i64::unsigned_abs);
        [
            ("logical sector size", size(kernel.logical), size(drive.logical), self.logical.bytes()),
            ("physical sector size", size(kernel.physical), size(drive.physical), self.physical.bytes()),
            ("alignment offset", kernel_offset, drive.alignment_offset, self.alignment_offset),
        ]
        .into_iter()
        .filter_map(|(what, kernel, drive, used)| {
            Some(Contradiction { what, kernel: kernel?, drive: drive?, used })
        })
        .filter(|values| values.kernel != values.drive)
        .collect()
    }

    /// The grid of the physical sector boundaries.
    pub fn physical_grid(&self) -> Grid {
        Grid::new(self.physical.bytes(), self.alignment_offset).expect("a physical size is at least 512")
    }

    /// The grid of the credible optimal or minimum I/O size, where there is one.
    pub fn optimal_grid(&self) -> Option<Grid> {
        Grid::new(self.optimal_grid?, self.alignment_offset)
    }
}

/// The physical size of what makes no claim that is believed. A model that is known has it, a drive that prefers
/// whole blocks of 4096 bytes says as much; else it is assumed.
fn least(known: Option<PhysicalSize>, identified: &Identified) -> (PhysicalSize, Basis) {
    let prefers =
        |granularity: u64| granularity > 0 && granularity.is_multiple_of(PhysicalSize::B4096.bytes());
    match known {
        Some(known) => (known, Basis::KnownModel),
        None if identified.write_granularity.is_some_and(prefers) => (PhysicalSize::B4096, Basis::Identified),
        None => (PhysicalSize::B4096, Basis::Assumed),
    }
}

/// Whether a claim of 512-byte physical sectors is believed: a small disk that names its own rotation rate.
fn believes_512(reported: &Reported, identified: &Identified, capacity: Option<u64>) -> bool {
    let small = capacity.is_some_and(|capacity| capacity < LARGEST_BELIEVED_512);
    let rotates = reported.rpm.or(identified.rpm).is_some_and(|rpm| rpm >= SLOWEST_ROTATION);
    small && rotates
}

fn judge_offset(reported: Option<i64>, logical: SectorSize) -> (u64, OffsetVerdict) {
    match reported {
        None => (0, OffsetVerdict::Used),
        Some(-1) => (0, OffsetVerdict::StackMisaligned),
        Some(value) => match u64::try_from(value) {
            Ok(offset) if offset.is_multiple_of(logical.bytes()) => (offset, OffsetVerdict::Used),
            _ => (0, OffsetVerdict::Invalid(value)),
        },
    }
}

impl Basis {
    /// The word used in documents: `reported`, `identified`, `known-model`, `assumed`, `forced`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Identified => "identified",
            Self::KnownModel => "known-model",
            Self::Assumed => "assumed",
            Self::Forced => "forced",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TB: u64 = 1_000_204_886_016;

    fn claim(logical: u64, physical: u64) -> Reported {
        Reported { logical: Some(logical), physical: Some(physical), ..Reported::default() }
    }

    fn physical(reported: &Reported, capacity: u64) -> (u64, Basis) {
        let topology = Topology::judge(reported, Some(capacity), None, None);
        (topology.physical.bytes(), topology.physical_basis)
    }

    #[test]
    fn a_512_byte_claim_needs_a_small_disk_that_names_its_rotation_rate() {
        let rotating = Reported { rpm: Some(5400), ..claim(512, 512) };
        assert_eq!(physical(&rotating, 40_020_664_320), (512, Basis::Reported));
        assert_eq!(physical(&rotating, 299_999_999_999), (512, Basis::Reported));
        assert_eq!(physical(&rotating, 300_000_000_000), (4096, Basis::Assumed));
        let flash = Reported { rpm: Some(1), ..claim(512, 512) };
        assert_eq!(physical(&flash, 40_020_664_320), (4096, Basis::Assumed));
        let kernel_flag = Reported { rotational: Some(true), ..claim(512, 512) };
        assert_eq!(physical(&kernel_flag, 40_020_664_320), (4096, Basis::Assumed));
    }

    #[test]
    fn larger_sectors_are_believed() {
        assert_eq!(physical(&claim(512, 4096), TB), (4096, Basis::Reported));
        assert_eq!(physical(&claim(4096, 4096), TB), (4096, Basis::Reported));
        assert_eq!(physical(&claim(512, 16384), TB), (16384, Basis::Reported));
    }

    #[test]
    fn impossible_physical_sizes_fall_back_to_the_logical_one() {
        for bad in [3, 0, 256, 1 << 21, 1536] {
            let topology = Topology::judge(&claim(512, bad), Some(TB), None, None);
            assert_eq!(topology.physical_invalid, Some(bad));
            assert_eq!((topology.physical.bytes(), topology.physical_basis), (4096, Basis::Assumed));
        }
        let smaller_than_logical = Topology::judge(&claim(4096, 512), Some(TB), None, None);
        assert_eq!(smaller_than_logical.physical_invalid, Some(512));
        assert_eq!(smaller_than_logical.physical.bytes(), 4096);
    }

    #[test]
    fn an_image_takes_the_sector_size_of_its_table() {
        let topology = Topology::judge(&Reported::default(), Some(TB), None, SectorSize::new(4096));
        assert_eq!((topology.logical.bytes(), topology.logical_basis), (4096, Basis::Assumed));
        assert_eq!((topology.physical.bytes(), topology.physical_basis), (4096, Basis::Assumed));
        let small = Topology::judge(&Reported::default(), Some(TB), None, SectorSize::new(1024));
        assert_eq!((small.logical.bytes(), small.physical.bytes()), (1024, 4096));
    }

    #[test]
    fn offsets_are_signed_and_whole_sectors() {
        let offset = |value| {
            let reported = Reported { alignment_offset: Some(value), ..claim(512, 4096) };
            let topology = Topology::judge(&reported, Some(TB), None, None);
            (topology.alignment_offset, topology.offset_verdict)
        };
        assert_eq!(offset(3584), (3584, OffsetVerdict::Used));
        assert_eq!(offset(-1), (0, OffsetVerdict::StackMisaligned));
        assert_eq!(offset(3585), (0, OffsetVerdict::Invalid(3585)));
        assert_eq!(offset(-512), (0, OffsetVerdict::Invalid(-512)));
    }

    #[test]
    fn the_optimal_grid_is_the_optimal_size_or_a_large_minimum() {
        let grid = |minimum_io, optimal_io| {
            let reported =
                Reported { minimum_io: Some(minimum_io), optimal_io: Some(optimal_io), ..claim(512, 4096) };
            Topology::judge(&reported, Some(TB), None, None).optimal_grid
        };
        assert_eq!(grid(262_144, 786_432), Some(786_432));
        assert_eq!(grid(65536, 0), Some(65536));
        assert_eq!(grid(65536, 4_294_901_760), Some(65536));
        assert_eq!(grid(4096, 0), None);
        assert_eq!(grid(4096, 33_553_920), None);
    }
}
