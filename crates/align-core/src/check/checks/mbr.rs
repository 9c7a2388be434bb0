use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::table::mbr::{Chain, ChainFault, Ebr, EbrProblem, MAX_LINKS};
use crate::table::{Label, PartitionKind};
use crate::units::Lba;

/// The EBR chains of an MBR are whole and lie between partitions, and logicals lie in their containers.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let mbr = subject.table.filter(|table| table.label == Label::Mbr).and_then(|table| table.mbr.as_ref());
    let Some(mbr) = mbr else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    for chain in &mbr.chains {
        findings.extend(chain.fault.as_ref().and_then(|fault| broken(subject, chain, fault)));
        findings.extend(chain.ebrs.iter().filter_map(|ebr| inside_partition(subject, ebr.lba)));
        findings.extend(outside(subject, chain));
    }
    Ok(findings)
}

fn broken(subject: &Subject<'_>, chain: &Chain, fault: &ChainFault) -> Option<Finding> {
    let ChainFault { lba, problem } = fault;
    let read = chain.ebrs.iter().map(|ebr| ebr.logicals().count()).sum::<usize>();
    let kept = match read {
        0 => format!("no logical partition of container {} could be read", chain.container),
        1 => format!("1 logical partition of container {} could be read", chain.container),
        _ => format!("{read} logical partitions of container {} could be read", chain.container),
    };
    let (code, what) = match problem {
        EbrProblem::Loop => {
            (Code::MbrEbrLoop, format!("the chain of logical partitions comes to LBA {lba} a second time"))
        }
        EbrProblem::TooMany => (
            Code::MbrEbrTooMany,
            format!(
                "the chain of logical partitions has more than {MAX_LINKS} links; the next would be at LBA {lba}"
            ),
        ),
        EbrProblem::NoSignature => (
            Code::MbrEbrBad,
            format!("at LBA {lba} there is no extended boot record (signature 55AA is missing)"),
        ),
        EbrProblem::PastEnd => (
            Code::MbrEbrBad,
            format!("the next extended boot record would be at LBA {lba}, beyond the end of the disk"),
        ),
        EbrProblem::Unreadable(reason) => {
            (Code::MbrEbrBad, format!("the extended boot record at LBA {lba} cannot be read: {reason}"))
        }
        // That the end was not seen is a finding of its own; a record that passed is a limit of the pipe.
        EbrProblem::NotSeen if subject.disk.size().is_none() => {
            return Some(Finding::disk(
                Code::EndNotSeen,
                format!("the extended boot record at LBA {lba} was not seen on standard input; {kept}"),
                "Check the image itself to see all logical partitions.",
            ));
        }
        EbrProblem::NotSeen => return None,
    };
    Some(Finding::disk(
        code,
        format!("{what}; {kept}"),
        "Logical partitions behind this point are lost from sight. Do not write to the table; `testdisk` can search \
         for them. A container that never held any is mended by saving its table anew (`sfdisk --dump`).",
    ))
}

fn inside_partition(subject: &Subject<'_>, ebr: Lba) -> Option<Finding> {
    let holder = subject
        .bare_partitions()
        .find(|partition| partition.kind != PartitionKind::Extended && partition.covers(ebr))?;
    Some(Finding::partition(
        Code::MbrEbrInsidePartition,
        holder.number,
        format!("covers LBA {ebr}, where an extended boot record of the chain stands"),
        "Writing to the partition destroys the chain, and with it logical partitions; saving the table destroys \
         data. Back up what is in it, then create it anew so that it ends before that sector.",
    ))
}

fn outside(subject: &Subject<'_>, chain: &Chain) -> Vec<Finding> {
    let Some(container) = subject.bare_partitions().find(|partition| partition.number == chain.container)
    else {
        return Vec::new();
    };
    let entries: Vec<_> = chain.ebrs.iter().flat_map(Ebr::logicals).collect();
    subject
        .bare_partitions()
        .filter(|partition| partition.kind == PartitionKind::Logical)
        .filter(|partition| {
            let of_chain = entries.iter().any(|entry| entry.first == partition.first && entry.last == partition.last);
            of_chain && !(container.covers(partition.first) && container.covers(partition.last))
        })
        .map(|partition| {
            Finding::partition(
                Code::MbrLogicalOutside,
                partition.number,
                format!(
                    "lies at LBA {} to {}, not within its container at LBA {} to {}",
                    partition.first, partition.last, container.first, container.last
                ),
                "Linux uses it all the same; other systems and tools may not see it, or take the space for free.",
            )
        })
        .collect()
}
