use super::{Align, Layout, PlanError, beside, layout, types};
use crate::table::{PartitionType, Table};
use crate::topology::Topology;
use crate::units::{SectorSize, Size};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The kind of table.
    pub table: TableKind,
    /// The partitions in the order of the disk.
    pub partitions: Vec<Wanted>,
    /// How starts are chosen.
    pub align: Align,
    /// How many partitions of an MBR are primaries when there are logical ones too, 1 to 3; 3 when not said.
    pub primaries: Option<u32>,
}

/// A partition that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// How large.
    pub size: Size,
    /// What for; Linux when not said.
    pub type_: Option<PartitionType>,
    /// Its name, in a GPT.
    pub name: Option<String>,
}

impl From<Size> for Wanted {
    fn from(size: Size) -> Self {
        Self { size, type_: None, name: None }
    }
}

/// The kind of a table that is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// GUID partition table.
    Gpt,
    /// The table of the PC BIOS.
    Mbr,
}

/// The disk that a layout is for.
#[derive(Clone, Debug)]
pub struct Medium {
    /// How many logical sectors it has.
    pub sectors: u64,
    /// The size of a logical sector: the unit of the layout.
    pub sector_size: SectorSize,
    /// What is known of its physical sectors and hints.
    pub topology: Topology,
}

impl Medium {
    /// A disk of `size` bytes with these sectors.
    pub fn of(size: u64, topology: Topology) -> Self {
        let sectors = size.checked_div(topology.logical.bytes()).unwrap_or(0);
        Self { sectors, sector_size: topology.logical, topology }
    }
}

impl Request {
    /// A request for partitions of these sizes, aligned as the medium likes it best.
    pub fn new(table: TableKind, sizes: impl IntoIterator<Item = Size>) -> Self {
        let partitions = sizes.into_iter().map(Wanted::from).collect();
        Self { table, partitions, align: Align::Optimal, primaries: None }
    }

    /// Lays the partitions out on a medium.
    ///
    /// # Errors
    /// When something that was asked for is not possible; the error names it with its numbers.
    pub fn lay_out(&self, medium: &Medium) -> Result<Layout, PlanError> {
        layout::lay_out(self, medium)
    }

    /// Lays the partitions out in the free space of a table that stays as it is, containers included. Each takes the
    /// first stretch in which it fits; the rest takes the largest, and a percentage is of what the largest has room
    /// for. Numbers that are given stay: new logical partitions come at the end of the last chain.
    ///
    /// # Errors
    /// When something that was asked for is not possible; the error names it with its numbers.
    pub fn lay_out_beside(&self, table: &Table, medium: &Medium) -> Result<Layout, PlanError> {
        beside::lay_out(self, medium, table)
    }
}

impl TableKind {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt => "GPT",
            Self::Mbr => "MBR",
        }
    }

    /// The type of a partition of which nothing is said: Linux.
    pub fn default_type(self) -> PartitionType {
        types::named(self, "linux").unwrap_or(PartitionType::Unknown)
    }

    /// The type that a word stands for in such a table: an alias (`esp`, `linux`, `swap`, `lvm`, `raid`, `home`,
    /// `root`, `bios-boot`, `msr`, `prep`, `ntfs`, `fat32`), a code (`0x83`, `83`) or a GUID. `None` when it stands
    /// for nothing there.
    pub fn partition_type(self, word: &str) -> Option<PartitionType> {
        types::named(self, word).or_else(|| types::coded(self, word))
    }
}
