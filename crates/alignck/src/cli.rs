//! The arguments as they are typed: texts that nobody has judged yet.

use std::path::PathBuf;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Is this disk partitioned right for its real physical sectors?
///
/// Reads the partition table of disks and image files and says which partitions do not begin where the
/// medium's physical sectors do, why, and what to do. Plans layouts that are right, writes them safely, and takes
/// back what it wrote. Only apply, resume and undo write to a disk, and only after a question.
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
  5  a write is unfinished: alignck resume, or alignck undo

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
    /// Finish a write that was cut off
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Resume(ResumeArgs),
    /// Put back what a write replaced, byte for byte
    #[command(arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
    Undo(UndoArgs),
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

/// What to lay out.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The disk or image that the layout is for, as it is now (nothing is written to it); and after a
    /// size xN, which asks for it N times
    #[arg(value_name = "DISK|xN")]
    pub operands: Vec<String>,

    /// A partition: 10G, 512M,type=esp,name=EFI, 2048s (sectors), 25%, rest; K, M, G, T are powers of 1024,
    /// kB, MB, ... of 1000
    #[arg(short, long = "size", value_name = "SIZE[,type=TYPE][,name=NAME]", required = true)]
    pub sizes: Vec<String>,

    /// Keep the partitions that are there, and use the free space beside them, containers included
    #[arg(long, conflicts_with = "disk_size")]
    pub keep: bool,

    /// The kind of table; without it that of the disk, else gpt
    #[arg(long, value_enum, value_name = "KIND")]
    pub table: Option<TableArg>,

    /// Where partitions begin: on the optimal grid of the disk, or only on its physical sectors
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = AlignArg::Optimal)]
    pub align: AlignArg,

    /// Let partitions begin on multiples of this size, such as 4M for a memory card
    #[arg(long, value_name = "SIZE")]
    pub grain: Option<String>,

    /// How many partitions of an MBR are primary, beside logical ones
    #[arg(long, value_name = "N")]
    pub primaries: Option<u32>,

    /// The size of the disk where there is none yet; without it as large as needed
    #[arg(long, value_name = "SIZE")]
    pub disk_size: Option<String>,

    /// What to print: a table to read, JSON, or what makes sfdisk, sgdisk or parted do it
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = OutputArg::Table)]
    pub output: OutputArg,

    /// The same as --output json
    #[arg(long, conflicts_with = "output")]
    pub json: bool,

    /// What the disk is taken for.
    #[command(flatten)]
    pub medium: MediumArgs,

    /// Where it is looked for.
    #[command(flatten)]
    pub host: HostArgs,

    /// Sizes and operands in the order in which they were typed.
    #[arg(skip)]
    pub words: Vec<Word>,
}

/// A word of a plan: `xN` belongs to the size in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The value of a `--size`.
    Size(String),
    /// Anything without an option.
    Operand(String),
}

/// The kinds of tables that can be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableArg {
    /// GUID partition table
    Gpt,
    /// The table of the PC BIOS, also called DOS or msdos
    Mbr,
}

/// The policies of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlignArg {
    /// On the optimal grid of the disk, at least on whole MiB
    Optimal,
    /// On the physical sectors, and no coarser
    Minimal,
}

/// The forms in which a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputArg {
    /// A table to read
    Table,
    /// A document for programs
    Json,
    /// A script for the input of sfdisk
    Sfdisk,
    /// A command line of sgdisk
    Sgdisk,
    /// A command line of parted
    Parted,
}

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

/// What to finish.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The whole disk or image
    #[arg(value_name = "DISK")]
    pub disk: PathBuf,

    /// The backup of the write; without it the newest of this disk that is unfinished
    #[arg(value_name = "BACKUP")]
    pub from: Option<PathBuf>,

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
        plan.words = in_order(plan, matches);
    }
    Ok(cli)
}

/// The sizes and operands of a plan as they were typed, one after the other.
fn in_order(plan: &PlanArgs, matches: &ArgMatches) -> Vec<Word> {
    let places = |id| matches.indices_of(id).into_iter().flatten();
    let sizes = places("sizes").zip(plan.sizes.iter().cloned().map(Word::Size));
    let operands = places("operands").zip(plan.operands.iter().cloned().map(Word::Operand));
    let mut words: Vec<(usize, Word)> = sizes.chain(operands).collect();
    words.sort_by_key(|(place, _)| *place);
    words.into_iter().map(|(_, word)| word).collect()
}

/// The definition of the command, from which its man page and completions are made.
pub fn command() -> clap::Command {
    Cli::command()
}
