use std::path::PathBuf;

use align_core::check::Options;
use align_core::fix::Wishes;
use align_core::patch::Folder;
use align_core::realign::Care;
use align_core::units::Lba;

use super::Consent;
use super::medium::medium;
use super::write::consent;
use crate::cli::{FixArgs, MoveArgs, ProgressArg};

/// Partitions that are to be moved.
pub(crate) struct FixSettings {
    pub(crate) disk: PathBuf,
    pub(crate) wishes: Wishes,
    pub(crate) table_only: bool,
    pub(crate) progress: ProgressArg,
    pub(crate) consent: Consent,
    /// `None`: the state folder of the user.
    pub(crate) backup: Option<PathBuf>,
    pub(crate) json: bool,
}

/// How bytes are moved by `resume` and `undo`.
pub(crate) struct MoveSettings {
    pub(crate) journal: Option<PathBuf>,
    pub(crate) care: Care,
    pub(crate) progress: ProgressArg,
}

impl TryFrom<FixArgs> for FixSettings {
    type Error = clap::Error;

    fn try_from(args: FixArgs) -> Result<Self, clap::Error> {
        let moving = MoveSettings::from(args.moving);
        let wishes = Wishes {
            partitions: args.partitions,
            to: args.to.map(Lba::new),
            force: args.force,
            ..moving.wishes(medium(args.medium)?)
        };
        Ok(Self {
            disk: args.disk,
            wishes,
            table_only: args.table_only,
            progress: moving.progress,
            consent: consent(&args.write),
            backup: args.write.backup,
            json: args.write.json,
        })
    }
}

impl From<MoveArgs> for MoveSettings {
    fn from(args: MoveArgs) -> Self {
        let care = Care { verify: args.verify, skip_bad: args.skip_bad };
        Self { journal: args.journal, care, progress: args.progress }
    }
}

impl MoveSettings {
    /// What is wished of any move.
    pub(crate) fn wishes(&self, options: Options) -> Wishes {
        Wishes {
            options,
            journal: self.journal.clone(),
            state: Folder::of_user(),
            care: self.care,
            ..Wishes::default()
        }
    }
}
