use super::PartitionReport;
use crate::device::{Disk, Reader};
use crate::table::{Partition, Table};
use crate::topology::Topology;
use crate::units::SectorSize;

/// What a check looks at: everything that is known of one disk.
pub struct Subject<'a> {
    /// The disk, with what the kernel knows of it.
    pub disk: &'a Disk,
    /// Its bytes, unless it may not be opened.
    pub reader: Option<&'a Reader<'a>>,
    /// What is judged by.
    pub topology: &'a Topology,
    /// The table, unless it could not be read.
    pub table: Option<&'a Table>,
    /// The partitions with their verdicts.
    pub partitions: &'a [PartitionReport],
    /// The unit of the partitions' LBAs.
    pub unit: SectorSize,
    /// Whether partitions are looked into also where nothing speaks for it.
    pub look_inside: bool,
}

impl Subject<'_> {
    /// The size of the disk in whole sectors of the table's unit, `None` when the end was not seen.
    pub fn disk_sectors(&self) -> Option<u64> {
        Some(self.disk.size()? / self.unit.bytes())
    }

    /// The bare partitions.
    pub fn bare_partitions(&self) -> impl Iterator<Item = &Partition> {
        self.partitions.iter().map(|report| &report.partition)
    }
}
