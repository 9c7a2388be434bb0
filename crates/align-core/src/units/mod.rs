//! Quantities that must not be confused: sector numbers, sector sizes, byte counts.
//!
//! A sector number says nothing without the size of its sector, and most disasters of partitioning tools
//! begin where the two were multiplied by habit. So each quantity is a type of its own, without operators:
//! arithmetic is by `checked_*` methods.
//!
//! ```
//! use align_core::units::{Lba, SectorSize};
//!
//! let start = Lba::new(63);
//! assert_eq!(start.position(SectorSize::B512), 32256);
//! assert_eq!(start.position(SectorSize::B4096), 258048);
//! assert_eq!(Lba::new(u64::MAX).checked_byte(SectorSize::B512), None);
//! ```

mod byte_count;
mod lba;
mod sector_size;
mod size;

pub use byte_count::ByteCount;
pub use lba::Lba;
pub use sector_size::{PhysicalSize, SectorSize};
pub use size::{Size, SizeError};
