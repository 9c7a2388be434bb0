//! What has to be known of the content of a partition before its bytes move, and what has to be written after.
//!
//! Most file systems count from the start of their partition and do not care where that is. Some hold the place all
//! the same: [`place_fields`] says what it has to become. And some content must stay where it is, which [`immovable`]
//! finds. [`reach`] says how much of it has to be covered so that nobody uses it half moved, and [`shrink_advice`]
//! what people do when there is not enough room for it.
//!
//! Everything is read through a closure over the partition, which takes an offset in bytes from its start and
//! a length; nothing is asked for that lies behind its end.
//!
//! ```
//! use align_core::content::moving::{Origin, place_fields};
//!
//! // The boot sector of a FAT file system that was made for a partition at sector 63.
//! let mut partition = vec![0; 4096];
//! partition[..3].copy_from_slice(b"\xEB\x3C\x90");
//! partition[11..13].copy_from_slice(&512_u16.to_le_bytes());
//! partition[13..17].copy_from_slice(&[1, 1, 0, 2]);
//! partition[21..24].copy_from_slice(&[0xF8, 1, 0]);
//! partition[28..32].copy_from_slice(&63_u32.to_le_bytes());
//! partition[510..512].copy_from_slice(b"\x55\xAA");
//!
//! let inside = |at: u64, len: usize| Ok(partition[at as usize..][..len].to_vec());
//! let at = |sector: u64| Origin { absolute: sector * 512, relative: None };
//! let fields = place_fields(&inside, 4096, at(63), at(2048))?;
//! assert_eq!(fields.changes, [(28, 2048_u32.to_le_bytes().to_vec())]);
//! # Ok::<(), align_core::device::ReadError>(())
//! ```
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod boot_code;
mod exfat;
mod fields;
mod immovable;
mod inside;
mod ntfs;
mod origin;
mod reach;
mod shrink;

pub use fields::{Fields, place_fields};
pub use immovable::{Immovable, immovable, is_immovable_type};
pub use origin::Origin;
pub use reach::{Reach, reach};
pub use shrink::shrink_advice;
