use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::table::gpt::GptHeader;
use crate::table::{Label, Partition, PartitionKind};
use crate::units::Lba;

const DO_NOT_WRITE: &str = "Do not write to it before the table is right: one of the numbers is wrong, and data \
                            may be under it.";

/// Partitions lie on the disk, apart from each other and from the table, and end after they begin.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let mut findings: Vec<Finding> =
        subject.bare_partitions().flat_map(|partition| one(subject, partition)).collect();
    findings.extend(overlaps(subject));
    Ok(findings)
}

fn one(subject: &Subject<'_>, partition: &Partition) -> Vec<Finding> {
    let mut findings = Vec::new();
    if partition.is_inverted() {
        findings.push(Finding::partition(
            Code::PartitionInverted,
            partition.number,
            format!("ends at LBA {}, before it begins at LBA {}", partition.last, partition.first),
            DO_NOT_WRITE,
        ));
    }
    if let Some(sectors) = subject.disk_sectors()
        && partition.last.number().max(partition.first.number()) >= sectors
    {
        findings.push(Finding::partition(
            Code::PartitionBeyondDisk,
            partition.number,
            format!(
                "lies at LBA {} to {}, but the disk has only {sectors} sectors of {} bytes",
                partition.first, partition.last, subject.unit
            ),
            "Was the disk or image cut, or does the adapter hide a part? What lies beyond cannot be read. Do \
             not shrink or repair anything before the missing part is back or given up.",
        ));
    }
    findings.extend(over_table(subject, partition));
    findings
}

/// A GPT partition over a header or an array of its own table. Of an MBR that is LBA 0, which isohybrid images
/// cover on purpose.
fn over_table(subject: &Subject<'_>, partition: &Partition) -> Option<Finding> {
    let gpt = subject.table?.gpt.as_ref()?;
    if partition.is_inverted() {
        return None;
    }
    let meets = |first: Lba, last: Lba| partition.first <= last && first <= partition.last;
    let covers = |header: &GptHeader| {
        meets(header.my_lba, header.my_lba)
            || header.array_last().is_some_and(|last| header.array <= last && meets(header.array, last))
    };
    let copies = [gpt.primary.as_ref().ok(), gpt.backup.as_ref().ok()];
    let covered = partition.first == Lba::ZERO || copies.into_iter().flatten().any(covers);
    covered.then(|| {
        Finding::partition(
            Code::PartitionOverTable,
            partition.number,
            format!("lies at LBA {} to {}, over the partition table itself", partition.first, partition.last),
            DO_NOT_WRITE,
        )
    })
}

/// Neighbours that share sectors, each named once with the one before it.
fn overlaps(subject: &Subject<'_>) -> Vec<Finding> {
    let is_mbr = subject.table.is_some_and(|table| table.label == Label::Mbr);
    let mut order: Vec<&Partition> = subject
        .bare_partitions()
        .filter(|partition| !partition.is_inverted())
        // Isohybrid images have an entry from LBA 0 over all others on purpose.
        .filter(|partition| !(is_mbr && partition.first == Lba::ZERO))
        .collect();
    order.sort_by_key(|partition| (partition.first, partition.number));
    let logicals = order.iter().copied().filter(|partition| partition.kind == PartitionKind::Logical);
    let primaries = order.iter().copied().filter(|partition| partition.kind != PartitionKind::Logical);
    // Logicals lie in their container, so each level is compared with itself, and logicals with the primaries
    // that are no containers.
    let mut findings = neighbours(primaries.clone());
    let plain = primaries.filter(|partition| partition.kind == PartitionKind::Primary);
    let mut level: Vec<&Partition> = logicals.collect();
    if !level.is_empty() {
        let only_primaries = neighbours(plain.clone());
        level.extend(plain);
        level.sort_by_key(|partition| (partition.first, partition.number));
        let mixed = neighbours(level.into_iter());
        findings.extend(mixed.into_iter().filter(|finding| !only_primaries.contains(finding)));
    }
    findings
}

/// Of partitions in the order of their starts, those that begin before an earlier one ends.
fn neighbours<'p>(order: impl Iterator<Item = &'p Partition>) -> Vec<Finding> {
    let mut furthest: Option<&Partition> = None;
    let mut findings = Vec::new();
    for partition in order {
        match furthest {
            Some(before) if partition.first <= before.last => {
                let shared_to = partition.last.min(before.last);
                findings.push(Finding::partition(
                    Code::PartitionsOverlap,
                    partition.number,
                    format!(
                        "shares LBA {} to {shared_to} with partition {}",
                        partition.first, before.number
                    ),
                    "What is written to one destroys the other. Find out which of the two is right (what does \
                     each hold?) and back both up before you change the table.",
                ));
            }
            _ => {}
        }
        if furthest.is_none_or(|before| partition.last > before.last) {
            furthest = Some(partition);
        }
    }
    findings
}
