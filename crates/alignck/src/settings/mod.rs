//! From what was typed to what is meant: after this, nobody sees a text again.

use std::path::PathBuf;

use align_core::check::{Code, Options};
use align_core::device::linux::Host;
use clap::error::ErrorKind;

use self::medium::{host, medium};
use crate::cli::{self, CheckArgs, Cli, Command, FailOnArg};

mod fix;
mod medium;
mod plan;
mod probe;
mod write;

pub(crate) use fix::{FixSettings, MoveSettings};
pub(crate) use plan::{PlanSettings, WantedText};
pub(crate) use probe::ProbeSettings;
pub(crate) use write::{Consent, WriteSettings, WriteWhat};

/// What was asked for.
pub(crate) enum Action {
    Check(CheckSettings),
    Plan(PlanSettings),
    Write(WriteSettings),
    Fix(FixSettings),
    Probe(ProbeSettings),
    /// A code, or all of them.
    Explain(Option<Code>),
}

pub(crate) struct CheckSettings {
    pub(crate) disks: Disks,
    pub(crate) host: Host,
    pub(crate) options: Options,
    pub(crate) format: Format,
    pub(crate) fail_on: FailOn,
}

pub(crate) enum Disks {
    /// Every whole disk of the machine.
    All,
    /// These; `-` is standard input.
    Named(Vec<PathBuf>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text { verbose: bool },
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailOn {
    Misaligned,
    Suboptimal,
    Never,
}

impl TryFrom<Cli> for Action {
    type Error = clap::Error;

    fn try_from(cli: Cli) -> Result<Self, clap::Error> {
        match cli.command {
            Some(Command::Explain(explain)) => match explain.code {
                None => Ok(Self::Explain(None)),
                Some(word) => {
                    word.parse().map(|code| Self::Explain(Some(code))).map_err(|()| unknown_code(&word))
                }
            },
            Some(Command::Plan(plan)) => PlanSettings::try_from(plan).map(Self::Plan),
            Some(Command::Apply(apply)) => WriteSettings::try_from(apply).map(Self::Write),
            Some(Command::Fix(fix)) => FixSettings::try_from(fix).map(Self::Fix),
            Some(Command::Convert(convert)) => WriteSettings::try_from(convert).map(Self::Write),
            Some(Command::Resume(resume)) => Ok(Self::Write(resume.into())),
            Some(Command::Undo(undo)) => Ok(Self::Write(undo.into())),
            Some(Command::Probe(probe)) => Ok(Self::Probe(probe.into())),
            Some(Command::Check(check)) => CheckSettings::try_from(check).map(Self::Check),
            None => CheckSettings::try_from(cli.check).map(Self::Check),
        }
    }
}

impl TryFrom<CheckArgs> for CheckSettings {
    type Error = clap::Error;

    fn try_from(args: CheckArgs) -> Result<Self, clap::Error> {
        if args.disks.iter().filter(|disk| disk.as_os_str() == "-").count() > 1 {
            return Err(usage("standard input (-) can be checked only once"));
        }
        let (host, options) = (host(args.host), medium(args.medium)?);
        Ok(Self {
            disks: if args.all { Disks::All } else { Disks::Named(args.disks) },
            host,
            options,
            format: if args.json { Format::Json } else { Format::Text { verbose: args.verbose } },
            fail_on: match args.fail_on {
                FailOnArg::Misaligned => FailOn::Misaligned,
                FailOnArg::Suboptimal => FailOn::Suboptimal,
                FailOnArg::Never => FailOn::Never,
            },
        })
    }
}

fn unknown_code(word: &str) -> clap::Error {
    let shared =
        |code: &Code| code.word().split('-').filter(|part| word.split('-').any(|own| own == *part)).count();
    let similar = Code::ALL.iter().max_by_key(|code| shared(code)).filter(|code| shared(code) > 0);
    let hint = similar.map_or(String::new(), |code| format!("; did you mean '{code}'?"));
    let word: String = word.escape_debug().collect();
    usage(format!("there is no finding '{word}'{hint} (`alignck explain` lists them)"))
}

fn usage(message: impl std::fmt::Display) -> clap::Error {
    cli::command().error(ErrorKind::ValueValidation, message)
}
