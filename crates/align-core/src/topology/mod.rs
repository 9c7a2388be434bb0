//! From what a device reports to what its partitions are judged by.
//!
//! Devices lie about their sectors: bridges report placeholders as preferred sizes, drives claim 512-byte
//! physical sectors for compatibility, virtual disks pass on defaults. [`Topology::judge`] keeps what was
//! [`Reported`] beside what is believed, each value with its [`Basis`], and notes what it did not believe.
//! [`Topology::judge_identified`] also hears what the drive said of itself ([`Identified`]).
//!
//! ```
//! use align_core::topology::{Basis, Reported, Topology};
//! use align_core::units::PhysicalSize;
//!
//! // A USB bridge that claims 512/512 and passes on 65535 blocks as "optimal".
//! let reported = Reported {
//!     logical: Some(512),
//!     physical: Some(512),
//!     optimal_io: Some(33_553_920),
//!     ..Reported::default()
//! };
//! let topology = Topology::judge(&reported, Some(1_000_204_886_016), None, None);
//! assert_eq!(topology.physical, PhysicalSize::B4096);
//! assert_eq!(topology.physical_basis, Basis::Assumed);
//! assert_eq!(topology.optimal_grid, None);
//! ```

mod grid;
mod hint;
mod identified;
mod judge;
mod reported;

pub use grid::Grid;
pub use hint::{Hint, Implausible};
pub use identified::Identified;
pub use judge::{Basis, Contradiction, OffsetVerdict, Topology};
pub use reported::Reported;
