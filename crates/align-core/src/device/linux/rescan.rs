use std::collections::BTreeMap;
use std::fs::File;
use std::thread;
use std::time::Duration;

use super::ioctl;
use super::kernel_view::KernelPartition;
use super::sysfs::SysDisk;
use crate::table::{Partition, PartitionKind, Table};
use crate::units::SectorSize;

/// udev opens what it is told of for a moment, and the kernel refuses then.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// Of a container the kernel shows this much.
const CONTAINER_BYTES: u64 = 1024;

/// Tells the kernel of the partitions of `table`: all at once where none is in use, else one by one, those that
/// changed and no others. Whether it worked shows in the kernel's own list afterwards. Only for a disk whose partitions
/// are any of the kernel's business: it forgets that of a loop device when it lets go of the last one.
pub(crate) fn rescan(file: &File, disk: &SysDisk, table: &Table) {
    if ioctl::reread_partitions(file).is_ok() && is_current(disk, table) {
        return;
    }
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        one_by_one(file, disk, table);
        if is_current(disk, table) {
            return;
        }
    }
}

/// Lets the kernel forget partitions, so that nobody can begin to use them. `Err` names the first that it holds on to.
pub(crate) fn delete_partitions(file: &File, disk: &SysDisk, numbers: &[u32]) -> Result<(), u32> {
    for number in numbers {
        let is_known = || disk.kernel_view().partitions.iter().any(|known| known.number == *number);
        let mut attempts = 0..ATTEMPTS;
        while is_known() && ioctl::delete_partition(file, *number).is_err() {
            if attempts.next().is_none() {
                return Err(*number);
            }
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

fn is_current(disk: &SysDisk, table: &Table) -> bool {
    let known = disk.kernel_view().partitions;
    let wanted = wanted(table);
    known.len() == wanted.len()
        && known.iter().all(|known| {
            let place = wanted.get(&known.number);
            place.is_some_and(|(start, len)| *start == start_of(known) && *len == len_of(known))
        })
}

/// Start and length in bytes, by number. What the kernel could not take is left out.
fn wanted(table: &Table) -> BTreeMap<u32, (u64, u64)> {
    let place = |partition: &Partition| {
        let start = partition.first.checked_byte(table.sector_size)?;
        let len = partition.sectors()?.checked_mul(table.sector_size.bytes())?;
        let len = match partition.kind {
            PartitionKind::Extended => len.min(CONTAINER_BYTES.max(table.sector_size.bytes())),
            PartitionKind::Primary | PartitionKind::Logical => len,
        };
        Some((partition.number, (start, len)))
    };
    table.partitions.iter().filter_map(place).collect()
}

fn one_by_one(file: &File, disk: &SysDisk, table: &Table) {
    let wanted = wanted(table);
    let known: BTreeMap<u32, KernelPartition> =
        disk.kernel_view().partitions.into_iter().map(|partition| (partition.number, partition)).collect();
    // First what goes, or its place would still be taken. What fails shows in the comparison afterwards.
    for (number, known) in &known {
        match wanted.get(number) {
            Some((start, len)) if *start == start_of(known) => {
                if *len < len_of(known) {
                    let _ = ioctl::resize_partition(file, *number, *start, *len);
                }
            }
            _ => drop(ioctl::delete_partition(file, *number)),
        }
    }
    for (number, (start, len)) in &wanted {
        match known.get(number) {
            Some(known) if *start == start_of(known) => {
                if *len > len_of(known) {
                    let _ = ioctl::resize_partition(file, *number, *start, *len);
                }
            }
            _ => drop(ioctl::add_partition(file, *number, *start, *len)),
        }
    }
}

fn start_of(partition: &KernelPartition) -> u64 {
    partition.start_512.saturating_mul(SectorSize::B512.bytes())
}

fn len_of(partition: &KernelPartition) -> u64 {
    partition.size_512.saturating_mul(SectorSize::B512.bytes())
}
