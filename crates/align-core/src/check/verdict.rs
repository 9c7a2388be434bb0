use crate::table::PartitionType;
use crate::topology::Topology;

/// How a partition begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// On the physical grid, and on the optimal grid where there is one.
    Aligned,
    /// On the physical grid, off the optimal grid.
    Suboptimal,
    /// Off the physical grid: small writes need a read first.
    Misaligned,
    /// Off a grid, but nothing lives there whose speed matters.
    Exempt,
    /// Off the physical grid, and its type could not be read: it may be exempt.
    Unknown,
}

/// The largest partition in bytes that may turn out to be one of the exempt types.
const LARGEST_EXEMPT: u128 = 128 << 20;

impl Verdict {
    /// Judges a partition of type `type_` and `size` bytes that begins at byte `start`.
    pub fn judge(topology: &Topology, start: u128, size: Option<u128>, type_: PartitionType) -> Self {
        let on_physical = topology.physical_grid().contains(start);
        let on_optimal = topology.optimal_grid().is_none_or(|grid| grid.contains(start));
        match (on_physical, on_optimal) {
            (true, true) => Self::Aligned,
            _ if type_.is_exempt() => Self::Exempt,
            (true, false) => Self::Suboptimal,
            (false, _) => {
                let may_be_exempt = size.is_some_and(|size| size <= LARGEST_EXEMPT);
                if type_ == PartitionType::Unknown && may_be_exempt {
                    Self::Unknown
                } else {
                    Self::Misaligned
                }
            }
        }
    }

    /// The word used in documents: `aligned`, `misaligned`, ...
    pub fn word(self) -> &'static str {
        match self {
            Self::Aligned => "aligned",
            Self::Suboptimal => "suboptimal",
            Self::Misaligned => "misaligned",
            Self::Exempt => "exempt",
            Self::Unknown => "unknown",
        }
    }
}
