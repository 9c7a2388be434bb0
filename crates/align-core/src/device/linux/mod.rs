//! What Linux knows of a block device: sysfs first, ioctl second.
//!
//! sysfs can be read without root and without opening the device. Where it is missing (a chroot without
//! `/sys`) the ioctls answer; where the two disagree, both values are kept for a finding.
//!
//! A [`Host`] is the place where `/sys` and `/dev` are looked for, so recorded trees of other machines serve
//! as tests:
//!
//! ```no_run
//! use align_core::device::linux::Host;
//!
//! for disk in Host::here().whole_disks()? {
//!     println!("{}", disk.display());
//! }
//! # Ok::<(), align_core::Error>(())
//! ```

mod facts;
mod ioctl;
mod sysfs;
mod udev;

pub use facts::{Disagreement, KernelPartition, KernelView};
pub use sysfs::{Host, SysDisk};

pub(super) use facts::DeviceFacts;
