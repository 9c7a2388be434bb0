//! Tells whether a disk is partitioned right for its real physical sectors.
//!
//! Drives of today have physical sectors of 4096 bytes behind logical ones of 512. A partition that does not
//! begin on a physical boundary makes each small write touch two physical sectors, and the drive read before
//! it can write. The fault is invisible, and slow.
//!
//! One sentence for the whole library: *bytes become facts, facts become a verdict, a verdict becomes a plan, a plan
//! becomes a patch.* The rooms in that order:
//!
//! - [`units`]: sector numbers, sector sizes, byte counts, each a type of its own.
//! - [`device`]: where bytes come from: images, block devices, pipes, memory, and what Linux reports of them.
//! - [`topology`]: from what a device reports to what is believed.
//! - [`content`]: what bytes look like: file systems, foreign image formats.
//! - [`table`]: MBR and GPT, read losslessly and without trust.
//! - [`check`]: named checks over topology and table, and their report.
//! - [`plan`]: from a request to a layout, by arithmetic alone.
//! - [`compose`]: from a layout to the bytes of its table.
//! - [`patch`]: the only way to change a disk: verified before, read back after, reversible, recognised when cut off.
//! - [`write`](mod@write): all of that done to a real disk: who uses it, the backup, the lock, the kernel's view.
//! - [`probe`]: the physical sectors by timing, where no report is to be trusted.
//! - [`realign`]: bytes that move on their disk, while the power may fail.
//!
//! The library prints nothing and exits nowhere. Only [`write::Proposal::commit`] and [`probe::Probe::run`] open a disk
//! for writing.
//!
//! ```no_run
//! use align_core::check::{self, Options, Verdict};
//! use align_core::device::Disk;
//!
//! let disk = Disk::open("/dev/sda")?;
//! let report = check::run(&disk, &Options::default())?;
//! for partition in &report.partitions {
//!     if partition.verdict == Verdict::Misaligned {
//!         println!("partition {} is {} bytes off", partition.partition.number, partition.remainder);
//!     }
//! }
//! # Ok::<(), align_core::Error>(())
//! ```

pub mod check;
pub mod compose;
pub mod content;
pub mod device;
pub mod fix;
pub mod patch;
pub mod plan;
pub mod probe;
pub mod realign;
pub mod table;
pub mod topology;
pub mod units;
pub mod write;

mod error;

pub use error::Error;

/// The examples of the READMEs are compiled too.
#[cfg(doctest)]
mod readme {
    #[doc = include_str!("../../../README.md")]
    struct Project;
    #[doc = include_str!("../README.md")]
    struct Library;
}
