//! The verdict: named checks over topology and table, and the report that they make.
//!
//! ```
//! use align_core::check::{self, Code, Options, Status, Verdict};
//! use align_core::device::{BlockDevice, Disk, MemoryDevice};
//!
//! let bytes = MemoryDevice::new(1 << 30);
//! bytes.write_at(446, &[0, 1, 1, 0, 0x83, 0xFE, 0xFF, 0xFF, 63, 0, 0, 0, 0, 0, 0x10, 0])?;
//! bytes.write_at(510, &[0x55, 0xAA])?;
//!
//! let report = check::run(&Disk::image("old.img", bytes), &Options::default())?;
//! assert_eq!(report.status, Status::Misaligned);
//! assert_eq!(report.partitions[0].verdict, Verdict::Misaligned);
//! assert_eq!(report.partitions[0].remainder, 3584);
//! assert!(report.findings.iter().any(|finding| finding.code == Code::StartOffPhysical));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checks;
mod code;
mod finding;
mod registry;
mod report;
mod run;
mod subject;
mod unfinished;
mod verdict;

pub use code::{Code, Severity};
pub use finding::Finding;
pub use registry::{Check, REGISTRY};
pub use report::{Health, PartitionReport, Report, Status, TableReport};
pub use run::{Options, examine, run};
pub use subject::Subject;
pub use verdict::Verdict;
