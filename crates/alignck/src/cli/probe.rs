use std::path::PathBuf;

use clap::Args;

/// What to measure.
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// A whole disk that nobody uses, or a scratch file on the disk (of 256 MiB, with no holes)
    #[arg(value_name = "DISK")]
    pub disk: PathBuf,

    /// Write blocks back as they were read: without it nothing can be measured
    #[arg(long)]
    pub write: bool,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,

    /// Print one JSON document, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}
