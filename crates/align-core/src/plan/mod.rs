//! Where partitions go: from a request to a layout, by arithmetic alone.
//!
//! Nothing is read or written here. A [`Request`] and a [`Topology`](crate::topology::Topology) give a [`Layout`]
//! in which every start is on the grain, nothing overlaps, and no size is changed beyond the next physical sector;
//! or a [`PlanError`] that names the partition and what is missing. Nothing is planned half.
//!
//! ```
//! use align_core::plan::{Medium, Request, TableKind};
//! use align_core::topology::{Reported, Topology};
//! use align_core::units::{Size, SectorSize};
//!
//! let medium = Medium {
//!     sectors: 1_953_525_168,
//!     sector_size: SectorSize::B512,
//!     topology: Topology::judge(&Reported::default(), None, None, None),
//! };
//! let request = Request::new(TableKind::Gpt, [Size::Bytes(512 << 20), Size::Rest]);
//! let layout = request.lay_out(&medium)?;
//! let starts: Vec<u64> = layout.partitions.iter().map(|partition| partition.first.number()).collect();
//! assert_eq!(starts, [2048, 1_050_624]);
//! # Ok::<(), align_core::plan::PlanError>(())
//! ```
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod beside;
mod error;
mod grain;
mod layout;
mod request;
mod space;
mod types;

pub use error::PlanError;
pub use grain::{Align, Grain, GrainReason};
pub use layout::{Layout, Planned, TableId};
pub use request::{Medium, Request, TableKind, Wanted};
