use clap::{ArgMatches, Args, ValueEnum};

use super::{HostArgs, MediumArgs};

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

/// The sizes and operands of a plan as they were typed, one after the other.
pub(super) fn in_order(plan: &PlanArgs, matches: &ArgMatches) -> Vec<Word> {
    let places = |id| matches.indices_of(id).into_iter().flatten();
    let sizes = places("sizes").zip(plan.sizes.iter().cloned().map(Word::Size));
    let operands = places("operands").zip(plan.operands.iter().cloned().map(Word::Operand));
    let mut words: Vec<(usize, Word)> = sizes.chain(operands).collect();
    words.sort_by_key(|(place, _)| *place);
    words.into_iter().map(|(_, word)| word).collect()
}
