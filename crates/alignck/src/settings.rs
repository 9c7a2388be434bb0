//! From what was typed to what is meant: after this, nobody sees a text again.

use std::path::PathBuf;

use align_core::check::{Code, Options};
use align_core::device::linux::Host;
use align_core::topology::Reported;
use align_core::units::{PhysicalSize, Size};
use clap::error::ErrorKind;

use crate::cli::{self, CheckArgs, Cli, Command, FailOnArg};

/// What was asked for.
pub(crate) enum Action {
    Check(CheckSettings),
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
        let mut pretend = Reported::default();
        for pair in args.topology.iter().flat_map(|list| list.split(',')) {
            set(&mut pretend, pair).map_err(|reason| usage(format!("--topology {pair}: {reason}")))?;
        }
        let physical = args
            .physical_sector
            .map(|text| {
                physical_size(&text).map_err(|reason| usage(format!("--physical-sector {text}: {reason}")))
            })
            .transpose()?;
        Ok(Self {
            disks: if args.all { Disks::All } else { Disks::Named(args.disks) },
            host: args.sysroot.map_or_else(Host::here, Host::recorded),
            options: Options { pretend, physical },
            format: if args.json { Format::Json } else { Format::Text { verbose: args.verbose } },
            fail_on: match args.fail_on {
                FailOnArg::Misaligned => FailOn::Misaligned,
                FailOnArg::Suboptimal => FailOn::Suboptimal,
                FailOnArg::Never => FailOn::Never,
            },
        })
    }
}

/// Takes one `KEY=VALUE` of `--topology`. Impossible sizes are let through: a device can report them too.
fn set(reported: &mut Reported, pair: &str) -> Result<(), String> {
    let (key, value) = pair.split_once('=').ok_or("write it as KEY=VALUE, for example physical=4096")?;
    let bytes = || bytes(value).map(Some);
    match key.trim() {
        "logical" => reported.logical = bytes()?,
        "physical" => reported.physical = bytes()?,
        "min-io" => reported.minimum_io = bytes()?,
        "opt-io" => reported.optimal_io = bytes()?,
        "offset" => {
            let negative = value.trim().parse::<i64>().ok().filter(|offset| *offset < 0);
            reported.alignment_offset = match negative {
                Some(offset) => Some(offset),
                None => bytes()?.map(i64::try_from).transpose().map_err(|_| "larger than any disk")?,
            };
        }
        "rotational" => {
            reported.rotational = Some(match value.trim() {
                "yes" => true,
                "no" => false,
                _ => return Err("say yes or no".into()),
            });
        }
        "rpm" => {
            let rpm = value.trim().parse();
            reported.rpm = Some(rpm.map_err(|_| "give the rotation rate as a whole number, 0 for flash")?);
        }
        _ => {
            let known = "logical, physical, min-io, opt-io, offset, rotational or rpm";
            return Err(format!("unknown key; the keys are {known}"));
        }
    }
    Ok(())
}

fn bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Size::Bytes(bytes)) => Ok(bytes),
        Ok(_) => Err("give it in bytes, for example 4096 or 4KiB".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn physical_size(text: &str) -> Result<PhysicalSize, String> {
    PhysicalSize::new(bytes(text)?).ok_or_else(|| {
        "a physical sector is a power of two from 512 bytes to 1 MiB; usual are 512 and 4096".into()
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(list: &str) -> Result<Reported, String> {
        let mut reported = Reported::default();
        list.split(',').try_for_each(|pair| set(&mut reported, pair))?;
        Ok(reported)
    }

    #[test]
    fn a_topology_is_taken_as_a_device_could_report_it() {
        let reported = topology("logical=512,physical=3,opt-io=33553920,offset=-1,rotational=yes,rpm=5400");
        let expected = Reported {
            logical: Some(512),
            physical: Some(3),
            minimum_io: None,
            optimal_io: Some(33_553_920),
            alignment_offset: Some(-1),
            rotational: Some(true),
            rpm: Some(5400),
        };
        assert_eq!(reported, Ok(expected));
        assert_eq!(topology("min-io=64K").map(|reported| reported.minimum_io), Ok(Some(65536)));
    }

    #[test]
    fn nonsense_says_what_is_expected() {
        for (list, part) in [
            ("physical", "KEY=VALUE"),
            ("speed=9", "the keys are logical"),
            ("physical=big", "'big' is not a size"),
            ("physical=8s", "give it in bytes"),
            ("rotational=maybe", "yes or no"),
            ("rpm=-1", "whole number"),
            ("offset=9223372036854775808", "larger than any disk"),
            ("", "KEY=VALUE"),
        ] {
            let error = topology(list).expect_err(list);
            assert!(error.contains(part), "{list}: {error}");
        }
    }
}
