use std::collections::BTreeMap;

use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::device::linux::{KernelPartition, KernelView};
use crate::table::gpt::GptHeader;
use crate::table::{Mbr, Partition, PartitionKind, PartitionType, SectorSizeBasis, Table};
use crate::units::SectorSize;

/// The sanity word of a Solaris x86 label, 12 bytes into the second sector of its partition.
const SOLARIS_MAGIC: [u8; 4] = 0x600D_DEEE_u32.to_le_bytes();
const SOLARIS_MAGIC_AT: u64 = 512 + 12;
/// How many differences a message names.
const MAX_NAMED: usize = 4;

/// The kernel uses the partitions that the table has.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let (Some(table), Some(kernel)) = (subject.table, subject.disk.kernel()) else { return Ok(Vec::new()) };
    // Where no table is looked for, no partitions are expected. In another sector size, the kernel reads other
    // numbers or none; that is a finding already.
    let unreadable = kernel.partitions.is_empty() && !kernel_reads(subject, table);
    if !kernel.is_concerned() || unreadable || table.sector_size_basis != SectorSizeBasis::Device {
        return Ok(Vec::new());
    }
    let differences = differences(subject, table, kernel);
    if differences.is_empty() {
        return Ok(Vec::new());
    }
    let mut named = differences.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join("; ");
    if differences.len() > MAX_NAMED {
        named.push_str(&format!("; and {} more", differences.len() - MAX_NAMED));
    }
    Ok(vec![Finding::disk(
        Code::KernelTableStale,
        format!("the kernel does not use the partitions of the table on the disk: {named}"),
        "Until the kernel reads the table again, every access goes to the old places. `partprobe DISK` (or \
         `blockdev --rereadpt DISK`) asks it to; when partitions are in use, unmount them first or restart.",
    )])
}

/// Whether the kernel takes this table at all: of a GPT only a primary that is protected and ends on the disk
/// (`block/partitions/efi.c`). That it does not is a finding about the table.
fn kernel_reads(subject: &Subject<'_>, table: &Table) -> bool {
    let Some(gpt) = &table.gpt else { return true };
    let protected = table.mbr.as_ref().and_then(Mbr::protective).is_some_and(|entry| entry.start == 1);
    let fits = |header: &GptHeader| {
        subject.disk_sectors().is_none_or(|sectors| header.last_usable.number() < sectors)
    };
    protected && gpt.primary.as_ref().is_ok_and(fits)
}

fn differences(subject: &Subject<'_>, table: &Table, kernel: &KernelView) -> Vec<String> {
    let known: BTreeMap<u32, &KernelPartition> =
        kernel.partitions.iter().map(|partition| (partition.number, partition)).collect();
    let mut missing = Vec::new();
    let mut differences = Vec::new();
    for partition in table.partitions.iter().filter(|partition| kernel_takes(subject, partition)) {
        match known.get(&partition.number) {
            // Nothing is accessed through a container; small ones do not fit every kernel.
            None if partition.kind == PartitionKind::Extended => {}
            None => missing.push(partition.number.to_string()),
            Some(known) => differences.extend(difference(partition, known, table.sector_size)),
        }
    }
    if let Some((last, others)) = missing.split_last() {
        let named = match others {
            [] => format!("partition {last} is"),
            [..] if others.len() < MAX_NAMED => format!("partitions {} and {last} are", others.join(", ")),
            [..] => format!("{} partitions are", missing.len()),
        };
        differences.insert(0, format!("{named} not known to it"));
    }
    let extra = known.values().filter(|known| table.partition(known.number).is_none());
    let extra = extra.filter(|known| !nested(subject, known, table));
    differences
        .extend(extra.map(|known| format!("it has a partition {} that the table lacks", known.number)));
    differences
}

/// Whether the kernel makes a device of this partition with just these numbers: not of one that is inverted or
/// leaves the disk, which it drops or cuts.
fn kernel_takes(subject: &Subject<'_>, partition: &Partition) -> bool {
    let on_disk = subject.disk_sectors().is_none_or(|sectors| partition.last.number() < sectors);
    !partition.is_inverted() && on_disk
}

fn difference(partition: &Partition, known: &KernelPartition, unit: SectorSize) -> Option<String> {
    let in_units = unit.bytes() / SectorSize::B512.bytes();
    let start = u128::from(known.start_512);
    if u128::from(partition.first.number()) * u128::from(in_units) != start {
        return Some(format!(
            "partition {} begins at sector {}, for the kernel at {}",
            partition.number,
            partition.first,
            known.start_512 / in_units
        ));
    }
    // Of a container the kernel shows its first KiB or sector only.
    let sectors = partition.sectors().filter(|_| partition.kind != PartitionKind::Extended)?;
    (u128::from(sectors) * u128::from(in_units) != u128::from(known.size_512)).then(|| {
        format!(
            "partition {} has {sectors} sectors, for the kernel {}",
            partition.number,
            known.size_512 / in_units
        )
    })
}

/// Whether a partition of the kernel's is one inside a partition of the table: the kernel also reads the tables
/// of Unix systems there (`block/partitions/msdos.c`: Unixware, Minix, Solaris, the BSDs).
fn nested(subject: &Subject<'_>, known: &KernelPartition, table: &Table) -> bool {
    let start = u128::from(known.start_512) * 512;
    let end = start + u128::from(known.size_512) * 512;
    table.partitions.iter().any(|partition| {
        let has_own_table = match partition.type_ {
            PartitionType::Mbr(0x63 | 0x81 | 0xA5 | 0xA6 | 0xA9) => true,
            // Solaris shares its type with Linux swap.
            PartitionType::Mbr(0x82 | 0xBF) => has_solaris_label(subject, partition, table.sector_size),
            _ => false,
        };
        let outer = (partition.start_position(table.sector_size), partition.end_position(table.sector_size));
        has_own_table && outer.0 <= start && end <= outer.1
    })
}

/// Whether the second sector of a partition is the label of Solaris, by its magic.
fn has_solaris_label(subject: &Subject<'_>, partition: &Partition, unit: SectorSize) -> bool {
    let offset = partition.first.checked_byte(unit).and_then(|start| start.checked_add(SOLARIS_MAGIC_AT));
    let magic = subject.reader.zip(offset).and_then(|(reader, offset)| reader.read(offset, 4).ok());
    magic.is_some_and(|magic| *magic == SOLARIS_MAGIC)
}
