//! The arguments as they are typed: texts that nobody has judged yet.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

mod fix;
mod plan;
mod probe;
mod write;

pub use fix::{FixArgs, MoveArgs, ProgressArg};
pub use plan::{AlignArg, OutputArg, PlanArgs, TableArg, Word};
pub use probe::ProbeArgs;
pub use write::{ApplyArgs, ConvertArgs, ResumeArgs, UndoArgs, WriteArgs};

/// Is this disk partitioned right for its real physical sectors?
///
/// Reads the partition table of disks and image files and says which partitions do not begin where the
/// medium's physical sectors do, why, and what to do. Plans layouts that are right, writes them safely, moves
/// partitions that are not, and takes back what it wrote. Only apply, fix, convert, resume, undo and probe write to a
/// disk, and only after a question.
#[derive(Debug, Parser)]
#[command(
    name = "alignck",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    help_expected = true,
    max_term_width = 80,
    after_help = EXIT_CODES,
    after_long_help = EXIT_CODES
)]
pub struct Cli {
    /// What to do; without a word: check.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The arguments of a check.
    #[command(flatten)]
    pub check: CheckArgs,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  all good
  1  something is misaligned (by --fail-on)
  2  it could not be done: usage, input or permission
  3  a partition table is repairable or damaged
  4  written, but the kernel still uses the old table
  5  a write or a move is unfinished: alignck resume, or alignck undo

Of several disks the most severe counts, in the order 5, 2, 3, 1, 0.";

/// The words that a command line can begin with.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say which partitions are misaligned, and why
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Check(CheckArgs),
    /// Lay out a disk so that every partition is aligned; nothing is written
    #[command(arg_required_else_help = true)]
    Plan(PlanArgs),
    /// Write a layout that was planned, after a backup and a question
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Apply(ApplyArgs),
    /// Move misaligned partitions to where they should be, with every byte; safe against power cuts
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Fix(FixArgs),
    /// Rewrite a table for sectors of another size; every partition keeps its bytes
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Convert(ConvertArgs),
    /// Finish a write or a move that was cut off
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Resume(ResumeArgs),
    /// Put back what a write or a move changed, byte for byte
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Undo(UndoArgs),
    /// Find the physical sectors of a disk by timing, whatever it reports
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Probe(ProbeArgs),
    /// Say what a finding means and what to do; without a code, list them all
    Explain(ExplainArgs),
}

/// What to check, and how.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Block device, image file, or - for an image on standard input; a partition leads to its disk
    #[arg(value_name = "DISK", required_unless_present = "all", conflicts_with = "all")]
    pub disks: Vec<PathBuf>,

    /// Check every whole disk of this machine
    #[arg(long)]
    pub all: bool,

    /// What the disk is taken for.
    #[command(flatten)]
    pub medium: MediumArgs,

    /// Where it is looked for.
    #[command(flatten)]
    pub host: HostArgs,

    /// Print one JSON document, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,

    /// What makes the exit code 1
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FailOnArg::Misaligned)]
    pub fail_on: FailOnArg,

    /// Show all of every disk; of several disks, those that are all right take one line otherwise
    #[arg(short, long)]
    pub verbose: bool,
}

/// What a disk is taken for.
#[derive(Debug, Args)]
pub struct MediumArgs {
    /// Pretend that the device reports this: logical, physical, min-io, opt-io, offset (in bytes),
    /// rotational=yes|no, rpm
    #[arg(short, long, value_name = "KEY=VALUE,...")]
    pub topology: Vec<String>,

    /// Judge by physical sectors of this size, whatever is reported
    #[arg(long, value_name = "BYTES")]
    pub physical_sector: Option<String>,
}

/// Where disks are looked for.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Take /sys, /dev and /run from below this folder: a recorded machine
    #[arg(long, value_name = "FOLDER")]
    pub sysroot: Option<PathBuf>,
}

/// The statuses that `--fail-on` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOnArg {
    /// A partition off the physical sectors
    Misaligned,
    /// Also a partition off the optimal I/O size
    Suboptimal,
    /// Nothing: only what could not be done and bad tables
    Never,
}

/// Which finding to explain.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code of the finding, such as start-off-physical
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

/// Parses the arguments of the process; help and version are printed here.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches()?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let (Some(Command::Plan(plan)), Some(matches)) = (&mut cli.command, matches.subcommand_matches("plan"))
    {
        plan.words = plan::in_order(plan, matches);
    }
    Ok(cli)
}

/// The definition of the command, from which its man page and completions are made.
pub fn command() -> clap::Command {
    Cli::command()
}
