//! The command `alignck`: arguments in, text or JSON out, an exit code.
//!
//! Everything that decides is in [`align_core`]; this crate parses what people type, and prints. It is a
//! library only so that the project's chores can generate the man page, the completions and the JSON Schema
//! from the command's own definition. Programs link `align_core`.

use std::process::ExitCode;

mod check;
pub mod cli;
mod consent;
mod exit;
mod explain;
mod fix;
pub mod json;
mod plan;
mod probe;
mod scripts;
mod settings;
mod targets;
mod text;
mod write;

/// Runs the command on the arguments of the process.
pub fn run() -> ExitCode {
    let exit = match cli::parse().and_then(settings::Action::try_from) {
        Ok(settings::Action::Check(check)) => check::run(&check),
        Ok(settings::Action::Plan(plan)) => plan::run(&plan),
        Ok(settings::Action::Write(write)) => write::run(&write),
        Ok(settings::Action::Fix(fix)) => fix::run(&fix),
        Ok(settings::Action::Probe(probe)) => probe::run(&probe),
        Ok(settings::Action::Explain(code)) => explain::run(code),
        Err(usage) => usage.exit(),
    };
    exit.into()
}
