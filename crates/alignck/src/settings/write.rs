use std::path::PathBuf;

use align_core::check::Options;
use align_core::fix::Wishes;
use align_core::units::SectorSize;

use super::medium::{as_reported, bytes, medium};
use super::{MoveSettings, usage};
use crate::cli::{ApplyArgs, ConvertArgs, ResumeArgs, UndoArgs, WriteArgs};

/// Something that is written to a disk.
pub(crate) struct WriteSettings {
    pub(crate) disk: PathBuf,
    pub(crate) what: WriteWhat,
    pub(crate) options: Options,
    pub(crate) consent: Consent,
    /// `None`: the state folder of the user.
    pub(crate) backup: Option<PathBuf>,
    pub(crate) json: bool,
}

pub(crate) enum WriteWhat {
    /// The plan in this file; `-` is standard input.
    Apply { plan: PathBuf, wipe: bool },
    /// The places of partitions that hold nothing.
    TableOnly { wishes: Box<Wishes> },
    /// The table for sectors of this size.
    Convert { to: SectorSize, force: bool },
    /// The write of this backup, or of the newest.
    Resume { from: Option<PathBuf>, moving: MoveSettings },
    /// What this backup holds, or the newest.
    Undo { from: Option<PathBuf>, force: bool, moving: MoveSettings },
}

/// What has to be said before something is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// It is asked for.
    Ask,
    /// It was given on the command line.
    Given,
    /// Nothing is written.
    DryRun,
}

impl TryFrom<ApplyArgs> for WriteSettings {
    type Error = clap::Error;

    fn try_from(args: ApplyArgs) -> Result<Self, clap::Error> {
        let what = WriteWhat::Apply { plan: args.plan, wipe: args.wipe };
        Ok(Self::new(args.disk, what, medium(args.medium)?, args.write))
    }
}

impl TryFrom<ConvertArgs> for WriteSettings {
    type Error = clap::Error;

    fn try_from(args: ConvertArgs) -> Result<Self, clap::Error> {
        let to = bytes(&args.to).ok().and_then(SectorSize::new);
        let to = to.filter(|to| [SectorSize::B512, SectorSize::B4096].contains(to)).ok_or_else(|| {
            usage(format!(
                "--to {}: tables are written for sectors of 512 or 4096 bytes",
                args.to.escape_debug()
            ))
        })?;
        let what = WriteWhat::Convert { to, force: args.force };
        Ok(Self::new(args.disk, what, medium(args.medium)?, args.write))
    }
}

impl From<ResumeArgs> for WriteSettings {
    fn from(args: ResumeArgs) -> Self {
        let what = WriteWhat::Resume { from: args.from, moving: args.moving.into() };
        Self::new(args.disk, what, as_reported(), args.write)
    }
}

impl From<UndoArgs> for WriteSettings {
    fn from(args: UndoArgs) -> Self {
        let what = WriteWhat::Undo { from: args.from, force: args.force, moving: args.moving.into() };
        Self::new(args.disk, what, as_reported(), args.write)
    }
}

/// What the options say about the question.
pub(super) fn consent(args: &WriteArgs) -> Consent {
    match (args.yes, args.dry_run) {
        (_, true) => Consent::DryRun,
        (true, false) => Consent::Given,
        (false, false) => Consent::Ask,
    }
}

impl WriteSettings {
    fn new(disk: PathBuf, what: WriteWhat, options: Options, args: WriteArgs) -> Self {
        Self { disk, what, options, consent: consent(&args), backup: args.backup, json: args.json }
    }
}
