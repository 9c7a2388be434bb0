//! What Linux knows of a block device: sysfs first, ioctl second.
//!
//! sysfs can be read without root and without opening the device. Where it is missing (a chroot without
//! `/sys`) the ioctls answer; where the two disagree, both values are kept for a finding.
//!
//! The drive itself is asked where that can be done without risk: see `identify.rs` in this folder.
//!
//! A [`Host`] is the place where `/sys` and `/dev` are looked for, so recorded trees of other machines serve
//! as tests:
//!
//! ```
//! use align_core::device::linux::Host;
//!
//! match Host::here().whole_disks() {
//!     Ok(disks) => disks.iter().for_each(|disk| println!("{}", disk.display())),
//!     Err(error) => println!("no sysfs here: {error}"),
//! }
//! ```

mod facts;
mod identify;
mod ioctl;
mod kernel_view;
mod lies_on;
mod rescan;
mod sysfs;
mod udev;
mod uses;

pub use facts::Disagreement;
pub use kernel_view::{KernelPartition, KernelView};
pub use sysfs::{Host, SysDisk};
pub use uses::{Use, UseKind};

pub(crate) use lies_on::lies_on;
pub(crate) use rescan::{delete_partitions, rescan};
pub(crate) use uses::{is_busy, locks, of_block, of_image};

pub(super) use facts::DeviceFacts;
