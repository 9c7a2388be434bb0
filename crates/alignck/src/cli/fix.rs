use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{MediumArgs, WriteArgs};

/// What to move, and how.
#[derive(Debug, Args)]
pub struct FixArgs {
    /// The whole disk or image
    #[arg(value_name = "DISK")]
    pub disk: PathBuf,

    /// Move this partition; may be given again. Without it all that are misaligned
    #[arg(short, long = "partition", value_name = "N")]
    pub partitions: Vec<u32>,

    /// The sector at which the one partition that is named shall begin
    #[arg(long, value_name = "LBA", requires = "partitions")]
    pub to: Option<u64>,

    /// Change the table only, and move no bytes: for partitions that hold nothing
    #[arg(long, conflicts_with_all = ["verify", "skip_bad", "journal"])]
    pub table_only: bool,

    /// Also over what lies in front of the first partition, and to a place off the physical sectors
    #[arg(long)]
    pub force: bool,

    /// How bytes are moved.
    #[command(flatten)]
    pub moving: MoveArgs,

    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,

    /// What the disk is taken for.
    #[command(flatten)]
    pub medium: MediumArgs,
}

/// How bytes are moved.
#[derive(Debug, Args)]
pub struct MoveArgs {
    /// The journal of the move: a new file or a folder for it, on another disk
    #[arg(long, value_name = "PATH")]
    pub journal: Option<PathBuf>,

    /// Read back everything that has moved, and compare it
    #[arg(long)]
    pub verify: bool,

    /// Write zeros for sectors that cannot be read, and list them
    #[arg(long)]
    pub skip_bad: bool,

    /// How the progress is shown on standard error
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ProgressArg::Bar)]
    pub progress: ProgressArg,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressArg {
    /// A bar, where it is a terminal
    Bar,
    /// One JSON object a line
    Json,
    /// Not at all
    None,
}
