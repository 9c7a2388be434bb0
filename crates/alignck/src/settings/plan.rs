use std::path::PathBuf;

use align_core::check::Options;
use align_core::device::linux::Host;
use align_core::plan::{Align, TableKind};
use align_core::units::Size;

use super::medium::{bytes, host, medium};
use super::usage;
use crate::cli::{AlignArg, OutputArg, PlanArgs, TableArg, Word};

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

/// A partition of a plan; what its type stands for depends on the table, which the disk may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedText {
    pub(crate) size: Size,
    pub(crate) type_: Option<String>,
    pub(crate) name: Option<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
