use std::process::ExitCode;

use align_core::check::{Health, Report, Status};

use crate::settings::FailOn;

/// What the exit code says, from the mildest to the most severe: of several disks the most severe counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// 0: all good.
    Good,
    /// 1: something is misaligned, by `--fail-on`.
    Misaligned,
    /// 3: a partition table is repairable or damaged.
    Table,
    /// 4: written, but the kernel still uses the old table.
    Stale,
    /// 2: it could not be done.
    Failed,
    /// 5: a write is unfinished.
    Unfinished,
}

impl Exit {
    /// What a report calls for.
    pub(crate) fn of(report: &Report, fail_on: FailOn) -> Self {
        let misaligned = match fail_on {
            FailOn::Misaligned => report.status == Status::Misaligned,
            FailOn::Suboptimal => matches!(report.status, Status::Misaligned | Status::Suboptimal),
            FailOn::Never => false,
        };
        if report.is_unfinished() {
            return Self::Unfinished;
        }
        match report.table.health {
            Health::Repairable | Health::Damaged => Self::Table,
            Health::Ok | Health::Stale | Health::Unknown if misaligned => Self::Misaligned,
            Health::Ok | Health::Stale | Health::Unknown => Self::Good,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Good => 0,
            Exit::Misaligned => 1,
            Exit::Failed => 2,
            Exit::Table => 3,
            Exit::Stale => 4,
            Exit::Unfinished => 5,
        })
    }
}
