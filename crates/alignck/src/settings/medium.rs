use align_core::check::Options;
use align_core::device::linux::Host;
use align_core::patch::Folder;
use align_core::topology::Reported;
use align_core::units::{PhysicalSize, Size};

use super::usage;
use crate::cli::{HostArgs, MediumArgs};

/// Where disks are looked for.
pub(super) fn host(args: HostArgs) -> Host {
    args.sysroot.map_or_else(Host::here, Host::recorded)
}

/// What a disk is taken for: for what it reports, with the writes that were not seen to end.
pub(super) fn as_reported() -> Options {
    let unfinished = Folder::of_user().map(|folder| folder.unfinished()).unwrap_or_default();
    Options { unfinished: unfinished.into(), ..Options::default() }
}

/// What a disk is taken for, by the options.
pub(super) fn medium(args: MediumArgs) -> Result<Options, clap::Error> {
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
    Ok(Options { pretend, physical, ..as_reported() })
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

pub(super) fn bytes(text: &str) -> Result<u64, String> {
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
