use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::device::identify::BetterFormat;
use crate::device::{Disk, Source};
use crate::topology::{Basis, Contradiction, Hint, OffsetVerdict, Topology};

/// What the device reports can be believed.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let topology = subject.topology;
    let mut findings = Vec::new();
    findings.extend(topology.logical_invalid.map(|value| logical_invalid(topology, value)));
    findings.extend(topology.physical_invalid.map(|value| physical_invalid(topology, value)));
    if topology.physical_basis == Basis::Assumed {
        findings.push(physical_assumed(topology, subject.disk.source()));
    }
    findings.extend(implausible("minimum", topology.minimum));
    findings.extend(implausible("optimal", topology.optimal));
    findings.extend(offset(topology));
    findings.extend(topology.contradictions().iter().map(contradiction));
    findings.extend(better_format(subject.disk));
    findings.extend(subject.disk.disagreements().iter().map(|disagreement| {
        Finding::disk(
            Code::KernelSourcesDisagree,
            format!(
                "sysfs says that the {} is {}, the device itself says {}",
                disagreement.what, disagreement.sysfs, disagreement.ioctl
            ),
            "The value of sysfs was used. Was the device set up anew meanwhile? Check again; if it stays so, \
             say what is right with --topology.",
        )
    }));
    Ok(findings)
}

fn logical_invalid(topology: &Topology, value: u64) -> Finding {
    Finding::disk(
        Code::LogicalSizeInvalid,
        format!(
            "the reported logical sector size is {value} bytes, which no partition table can be written in; judged \
             by {} bytes",
            topology.logical
        ),
        "A real one is a power of two from 512 to 65536. Say what is right with --topology logical=BYTES.",
    )
}

fn physical_invalid(topology: &Topology, value: u64) -> Finding {
    Finding::disk(
        Code::PhysicalSizeInvalid,
        format!(
            "the reported physical sector size is {value} bytes, which cannot be; judged by {} bytes",
            topology.physical
        ),
        format!(
            "A real one is a power of two, at least the logical {} bytes and at most 1 MiB. Say what is right with \
             --physical-sector BYTES.",
            topology.logical
        ),
    )
}

fn physical_assumed(topology: &Topology, source: Source) -> Finding {
    let claim = match (source, topology.reported.physical) {
        (_, Some(_)) if topology.physical_invalid.is_some() => "the reported size cannot be right".to_owned(),
        (_, Some(claimed)) => {
            format!(
                "physical sectors of {claimed} bytes are claimed, as by many drives that have larger ones"
            )
        }
        (Source::Block, None) => "the device does not report its physical sectors".to_owned(),
        (_, None) => "an image does not know the disk that it is for".to_owned(),
    };
    let help = if topology.logical.bytes() < topology.physical.bytes() {
        format!(
            "A layout that is right for {0} bytes is right for less, too. If you know better, say so with \
             --physical-sector {1}.",
            topology.physical, topology.logical
        )
    } else {
        "It is the sector size of the table. If you know better, say so with --physical-sector BYTES."
            .to_owned()
    };
    Finding::disk(
        Code::PhysicalSizeAssumed,
        format!("{claim}; judged by physical sectors of {} bytes", topology.physical),
        help,
    )
}

fn implausible(which: &str, hint: Hint) -> Option<Finding> {
    let Hint::Implausible(value, why) = hint else { return None };
    Some(Finding::disk(
        Code::HintImplausible,
        format!("the reported {which} I/O size of {value} bytes was ignored: {why}"),
        "USB bridges and stacked devices report such values. Other tools take them for a grid and warn about, \
         or plan by, partitions that are fine.",
    ))
}

fn offset(topology: &Topology) -> Option<Finding> {
    match topology.offset_verdict {
        OffsetVerdict::Used => None,
        OffsetVerdict::StackMisaligned => Some(Finding::disk(
            Code::StackMisaligned,
            "the kernel reports an alignment offset (where the first physical sector begins) of -1: the layers of \
             the device are shifted against each other, and no start suits them all",
            "Judged as if the offset were 0. Look at the layers below (lsblk -t): one of them begins off the \
             grid of another.",
        )),
        OffsetVerdict::Invalid(value) => Some(Finding::disk(
            Code::AlignmentOffsetInvalid,
            if value < 0 {
                format!(
                    "the reported alignment offset is {value} bytes, and a first boundary before the disk cannot be"
                )
            } else {
                format!(
                    "the reported alignment offset of {value} bytes is no whole number of {}-byte sectors",
                    topology.logical
                )
            },
            "Judged as if the offset were 0. Say what is right with --topology offset=BYTES.",
        )),
    }
}

fn contradiction(values: &Contradiction) -> Finding {
    let Contradiction { what, kernel, drive, used } = values;
    Finding::disk(
        Code::DriveAndKernelDisagree,
        format!(
            "the kernel says that the {what} is {kernel} bytes, the drive itself says {drive}; judged by {used}"
        ),
        "A bridge between the two (a USB enclosure, a RAID controller) does not pass on what the drive says, or \
         translates; or Linux did not ask, because the drive names an old standard. Look at the drive without a bridge \
         before anything is moved; if you know better, say so with --topology.",
    )
}

fn better_format(disk: &Disk) -> Option<Finding> {
    const WORDS: [&str; 4] = ["best", "better", "good", "degraded"];
    let path = disk.path().display();
    let (message, command) = match disk.identification().better_format? {
        BetterFormat::Nvme { index, size, performance, now } => {
            let word = |performance: u8| WORDS.get(usize::from(performance)).copied().unwrap_or("degraded");
            let (then, now) = (word(performance), word(now));
            (
                format!(
                    "the drive calls its speed in sectors of {size} bytes (LBA format {index}) \"{then}\", in those of \
                     now \"{now}\""
                ),
                format!("nvme format {path} --lbaf={index}"),
            )
        }
        BetterFormat::Scsi { size } => (
            format!(
                "the drive can be formatted to logical sectors of {size} bytes, as large as its physical ones"
            ),
            format!("sg_format --format --size={size} {path}"),
        ),
    };
    Some(Finding::disk(
        Code::BetterLbaFormat,
        message,
        format!(
            "Nothing is wrong as it is. `{command}` would do it, and ERASES EVERYTHING on the drive; the page of this \
             finding says when that is worth while."
        ),
    ))
}
