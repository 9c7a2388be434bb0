use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::content;
use crate::table::{Partition, PartitionKind, SectorSizeBasis};
use crate::units::SectorSize;

/// As many partitions are looked into; each costs a read.
const MAX_LOOKED_INTO: usize = 32;
/// What tells the sector size of a file system stands in its first bytes.
const FRONT_LEN: usize = 2048;

/// File systems that hold a sector size can be used in that of the device. Looked at only where they may well not: on
/// devices of larger sectors, where the table itself is for others, and where it is asked for.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let (Some(table), Some(reader)) = (subject.table, subject.reader) else { return Ok(Vec::new()) };
    let device = subject.topology.logical;
    let may_not = device != SectorSize::B512 || table.sector_size_basis != SectorSizeBasis::Device;
    if !may_not && !subject.look_inside {
        return Ok(Vec::new());
    }
    let holding = subject.bare_partitions().filter(|partition| partition.kind != PartitionKind::Extended);
    let finding = |partition: &Partition| {
        let start = partition.first.checked_byte(subject.unit)?;
        let front = reader.read(start, FRONT_LEN).ok()?;
        let size = content::sector_size(&front).filter(|size| *size != device.bytes())?;
        let name = content::recognise(&front)?.name;
        // Linux mounts larger sectors on a device of smaller ones; of its own file systems that is all that counts.
        let is_ext = name.starts_with("ext");
        if size > device.bytes() && (is_ext || name == "XFS") {
            return None;
        }
        let made = if is_ext { "in blocks" } else { "made for sectors" };
        let help = if size < device.bytes() {
            "A file system in smaller sectors than the device has cannot be mounted: copy what it holds while the disk is \
             where it worked, make the file system anew here, and copy it back."
        } else {
            "Linux mounts it all the same; Windows and firmware look for the sectors of the device and do not. If they \
             need it, copy what it holds and make it anew here."
        };
        Some(Finding::partition(
            Code::ContentOtherSectorSize,
            partition.number,
            format!("holds {name} {made} of {size} bytes, and the disk has sectors of {device}"),
            help,
        ))
    };
    Ok(holding.take(MAX_LOOKED_INTO).filter_map(finding).collect())
}
