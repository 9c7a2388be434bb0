use std::path::PathBuf;

use clap::Args;

use super::{MediumArgs, MoveArgs};

/// What to write, and where.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// The plan, as `alignck plan --json` prints it; - for standard input
    #[arg(value_name = "PLAN.json")]
    pub plan: PathBuf,

    /// The whole disk or image to write it to
    #[arg(value_name = "DISK")]
    pub disk: PathBuf,

    /// Clear file systems that begin where new partitions do (they are in the backup too)
    #[arg(long)]
    pub wipe: bool,

    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,

    /// What the disk is taken for.
    #[command(flatten)]
    pub medium: MediumArgs,
}

/// Which table to rewrite, and for which sectors.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The whole disk or image
    #[arg(value_name = "DISK")]
    pub disk: PathBuf,

    /// The sector size that the table shall count in: 512 or 4096
    #[arg(long, value_name = "BYTES")]
    pub to: String,

    /// Convert it even for sectors that this device does not have
    #[arg(long)]
    pub force: bool,

    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,

    /// What the disk is taken for.
    #[command(flatten)]
    pub medium: MediumArgs,
}

/// What to finish.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The whole disk or image
    #[arg(value_name = "DISK")]
    pub disk: PathBuf,

    /// The backup of the write; without it the newest of this disk that is unfinished
    #[arg(value_name = "BACKUP")]
    pub from: Option<PathBuf>,

    /// How bytes are moved.
    #[command(flatten)]
    pub moving: MoveArgs,

    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// What to put back.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The whole disk or image
    #[arg(value_name = "DISK")]
    pub disk: PathBuf,

    /// The backup to put back; without it the newest of this disk that was not put back yet
    #[arg(value_name = "BACKUP")]
    pub from: Option<PathBuf>,

    /// Put the old bytes back even where something else wrote since
    #[arg(long)]
    pub force: bool,

    /// How bytes are moved.
    #[command(flatten)]
    pub moving: MoveArgs,

    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// How something is written.
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,

    /// Show what would be written, and write nothing
    #[arg(short = 'n', long, conflicts_with = "yes")]
    pub dry_run: bool,

    /// Save what is replaced in this new file, or in this folder; without it in the user's state folder
    #[arg(long, value_name = "PATH")]
    pub backup: Option<PathBuf>,

    /// Print one JSON document, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}
