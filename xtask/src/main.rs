//! The project's own chores: `cargo xtask fixtures | docs | bench | lab`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to whoever runs it")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod benchmarks;
mod docs;
mod lab;
mod moves;
mod recordings;

/// The project's own chores
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Record the tables of real tools anew; write the bundled images and the seeds of the fuzz targets
    Fixtures {
        /// Keep the recorded tables, and write only what is made of them
        #[arg(long)]
        keep_recorded: bool,
    },
    /// Write the man pages, shell completions and JSON Schema from the command's definition
    Docs {
        /// Only say whether the committed files are up to date
        #[arg(long)]
        check: bool,
    },
    /// Measure against other tools in the same run, and write docs/BENCHMARKS.md
    Bench {
        /// Only moves of a partition
        #[arg(long)]
        moves: bool,
    },
    /// Show on disks of every kind, in a virtual machine, that the kernel and other tools agree with us
    Lab {
        /// Only this scenario
        scenario: Option<String>,
        /// Write what was measured into docs/BENCHMARKS.md
        #[arg(long)]
        record: bool,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Fixtures { keep_recorded } => recordings::run(keep_recorded),
        Chore::Docs { check } => docs::run(check),
        Chore::Bench { moves } => bench::run(moves),
        Chore::Lab { scenario, record } => lab::run(scenario.as_deref(), record),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The top of the project.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask is a folder of the project").to_owned()
}

/// An error's text with the path that it is about.
fn at<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> String {
    move |error| format!("{}: {error}", path.display())
}
