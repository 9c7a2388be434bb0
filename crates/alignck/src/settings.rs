//! From what was typed to what is meant: after this, nobody sees a text again.

use std::path::PathBuf;

use align_core::check::{Code, Options};
use align_core::device::linux::Host;
use align_core::patch::Folder;
use align_core::plan::{Align, TableKind};
use align_core::topology::Reported;
use align_core::units::{PhysicalSize, Size};
use clap::error::ErrorKind;

use crate::cli::{
    self, AlignArg, ApplyArgs, CheckArgs, Cli, Command, FailOnArg, HostArgs, MediumArgs, OutputArg, PlanArgs,
    TableArg, Word, WriteArgs,
};

/// What was asked for.
pub(crate) enum Action {
    Check(CheckSettings),
    Plan(PlanSettings),
    Write(WriteSettings),
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

pub(crate) struct PlanSettings {
    pub(crate) disk: Option<PathBuf>,
    pub(crate) host: Host,
    pub(crate) options: Options,
    pub(crate) partitions: Vec<WantedText>,
    /// `None`: that of the disk.
    pub(crate) table: Option<TableKind>,
    pub(crate) align: Align,
    pub(crate) primaries: Option<u32>,
    /// `None`: as large as needed.
    pub(crate) disk_size: Option<u64>,
    /// Whether the partitions that are there stay.
    pub(crate) keep: bool,
    pub(crate) output: OutputArg,
}

/// Something that is written to a disk.
pub(crate) struct WriteSettings {
    pub(crate) disk: PathBuf,
    pub(crate) what: WriteWhat,
    pub(crate) options: Options,
    pub(crate) consent: Consent,
    /// `None`: the state folder of the user.
    pub(crate) backup: Option<PathBuf>,
    pub(crate) json: bool,
}

pub(crate) enum WriteWhat {
    /// The plan in this file; `-` is standard input.
    Apply { plan: PathBuf, wipe: bool },
    /// The write of this backup, or of the newest.
    Resume { from: Option<PathBuf> },
    /// What this backup holds, or the newest.
    Undo { from: Option<PathBuf>, force: bool },
}

/// What has to be said before something is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// It is asked for.
    Ask,
    /// It was given on the command line.
    Given,
    /// Nothing is written.
    DryRun,
}

/// A partition of a plan; what its type stands for depends on the table, which the disk may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedText {
    pub(crate) size: Size,
    pub(crate) type_: Option<String>,
    pub(crate) name: Option<String>,
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
            Some(Command::Apply(apply)) => WriteSettings::of_apply(apply).map(Self::Write),
            Some(Command::Resume(resume)) => {
                let what = WriteWhat::Resume { from: resume.from };
                Ok(Self::Write(WriteSettings::new(resume.disk, what, options(&[], None)?, resume.write)))
            }
            Some(Command::Undo(undo)) => {
                let what = WriteWhat::Undo { from: undo.from, force: undo.force };
                Ok(Self::Write(WriteSettings::new(undo.disk, what, options(&[], None)?, undo.write)))
            }
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

impl TryFrom<PlanArgs> for PlanSettings {
    type Error = clap::Error;

    fn try_from(args: PlanArgs) -> Result<Self, clap::Error> {
        let (host, options) = (host(args.host), medium(args.medium)?);
        let (disk, partitions) = words(&args.words).map_err(usage)?;
        if args.keep && disk.is_none() {
            return Err(usage("--keep is for a disk that is there: name it"));
        }
        if disk.is_some() && args.disk_size.is_some() {
            return Err(usage("--disk-size is for a plan without a disk; the disk has a size of its own"));
        }
        let size_of = |option: &str, text: Option<String>| {
            text.map(|text| bytes(&text).map_err(|reason| usage(format!("{option} {text}: {reason}"))))
                .transpose()
        };
        let grain = size_of("--grain", args.grain)?;
        let align = match (args.align, grain) {
            (AlignArg::Minimal, Some(_)) => {
                return Err(usage(
                    "--align minimal uses the physical sectors; leave it out to give a --grain",
                ));
            }
            (AlignArg::Minimal, None) => Align::Minimal,
            (AlignArg::Optimal, Some(grain)) => Align::Grain(grain),
            (AlignArg::Optimal, None) => Align::Optimal,
        };
        Ok(Self {
            disk,
            host,
            options,
            partitions,
            table: args.table.map(|table| match table {
                TableArg::Gpt => TableKind::Gpt,
                TableArg::Mbr => TableKind::Mbr,
            }),
            align,
            primaries: args.primaries,
            disk_size: size_of("--disk-size", args.disk_size)?,
            keep: args.keep,
            output: if args.json { OutputArg::Json } else { args.output },
        })
    }
}

impl WriteSettings {
    fn of_apply(args: ApplyArgs) -> Result<Self, clap::Error> {
        let what = WriteWhat::Apply { plan: args.plan, wipe: args.wipe };
        Ok(Self::new(args.disk, what, medium(args.medium)?, args.write))
    }

    fn new(disk: PathBuf, what: WriteWhat, options: Options, args: WriteArgs) -> Self {
        let consent = match (args.yes, args.dry_run) {
            (_, true) => Consent::DryRun,
            (true, false) => Consent::Given,
            (false, false) => Consent::Ask,
        };
        Self { disk, what, options, consent, backup: args.backup, json: args.json }
    }
}

/// Where disks are looked for.
fn host(args: HostArgs) -> Host {
    args.sysroot.map_or_else(Host::here, Host::recorded)
}

/// What a disk is taken for.
fn medium(args: MediumArgs) -> Result<Options, clap::Error> {
    options(&args.topology, args.physical_sector)
}

fn options(topology: &[String], physical_sector: Option<String>) -> Result<Options, clap::Error> {
    let mut pretend = Reported::default();
    for pair in topology.iter().flat_map(|list| list.split(',')) {
        set(&mut pretend, pair).map_err(|reason| usage(format!("--topology {pair}: {reason}")))?;
    }
    let physical = physical_sector
        .map(|text| {
            physical_size(&text).map_err(|reason| usage(format!("--physical-sector {text}: {reason}")))
        })
        .transpose()?;
    let unfinished = Folder::of_user().map(|folder| folder.unfinished()).unwrap_or_default();
    Ok(Options { pretend, physical, unfinished: unfinished.into() })
}

/// The disk and the partitions of a plan, each as often as the xN behind it says.
fn words(words: &[Word]) -> Result<(Option<PathBuf>, Vec<WantedText>), String> {
    let mut disk = None;
    let mut partitions: Vec<WantedText> = Vec::new();
    let mut repeatable = false;
    for word in words {
        match word {
            Word::Size(text) => {
                partitions.push(wanted(text)?);
                repeatable = true;
                continue;
            }
            Word::Operand(text) => match repeats(text) {
                Some(times) => {
                    let last = partitions.last().filter(|_| repeatable).cloned();
                    let last =
                        last.ok_or_else(|| format!("{text} stands behind no --size that it could repeat"))?;
                    let times =
                        times.ok_or_else(|| format!("{text}: ask for a size from x1 to x{MAX_REPEATS}"))?;
                    partitions.extend(std::iter::repeat_n(last, times.saturating_sub(1)));
                }
                None if disk.is_none() => disk = Some(PathBuf::from(text)),
                None => return Err(format!("{text}: a plan is for one disk")),
            },
        }
        repeatable = false;
    }
    Ok((disk, partitions))
}

/// As often as one size can be repeated; no table holds more.
const MAX_REPEATS: usize = 1000;

/// The N of an `xN`; an inner `None` when it is no sensible number.
fn repeats(word: &str) -> Option<Option<usize>> {
    let digits = word.strip_prefix('x').filter(|digits| !digits.is_empty())?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().ok().filter(|times| (1..=MAX_REPEATS).contains(times)))
}

/// `SIZE[,type=TYPE][,name=NAME]`.
fn wanted(text: &str) -> Result<WantedText, String> {
    let mut parts = text.split(',');
    let size = parts.next().unwrap_or_default().parse().map_err(|error| format!("--size {text}: {error}"))?;
    let mut wanted = WantedText { size, type_: None, name: None };
    for part in parts {
        match part.split_once('=') {
            Some(("type", type_)) => wanted.type_ = Some(type_.to_owned()),
            Some(("name", name)) => wanted.name = Some(name.to_owned()),
            _ => return Err(format!("--size {text}: '{part}' is neither type=TYPE nor name=NAME")),
        }
    }
    Ok(wanted)
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
    fn a_size_is_repeated_by_the_word_behind_it() {
        let typed = [
            Word::Size("512M,type=esp,name=EFI".into()),
            Word::Size("10G".into()),
            Word::Operand("x3".into()),
            Word::Operand("disk.img".into()),
            Word::Size("rest".into()),
        ];
        let (disk, partitions) = words(&typed).unwrap();
        assert_eq!(disk, Some(PathBuf::from("disk.img")));
        let sizes: Vec<_> = partitions.iter().map(|wanted| wanted.size).collect();
        let ten = Size::Bytes(10 << 30);
        assert_eq!(sizes, [Size::Bytes(512 << 20), ten, ten, ten, Size::Rest]);
        assert_eq!(partitions[0].name.as_deref(), Some("EFI"));
    }

    #[test]
    fn repeats_without_a_size_or_a_number_are_refused() {
        let size = Word::Size("1G".into());
        let operand = |text: &str| Word::Operand(text.into());
        for (typed, part) in [
            (vec![operand("x5"), size.clone()], "behind no --size"),
            (vec![size.clone(), operand("x2"), operand("x2")], "behind no --size"),
            (vec![size.clone(), operand("x0")], "from x1 to x1000"),
            (vec![size.clone(), operand("x99999999999999999999")], "from x1 to x1000"),
            (vec![size, operand("a.img"), operand("b.img")], "one disk"),
            (vec![Word::Size("1G,kind=esp".into())], "neither type=TYPE nor name=NAME"),
            (vec![Word::Size("huge".into())], "'huge' is not a size"),
        ] {
            let error = words(&typed).unwrap_err();
            assert!(error.contains(part), "{typed:?}: {error}");
        }
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
