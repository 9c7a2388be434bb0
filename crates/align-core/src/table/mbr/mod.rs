//! The MBR: four entries in sector 0, and the chains of EBRs below extended entries.
//!
//! ```
//! use align_core::table::Mbr;
//!
//! let mut sector = [0; 512];
//! assert!(Mbr::parse(&sector).is_none());
//! sector[510..].copy_from_slice(&[0x55, 0xAA]);
//! sector[446..462].copy_from_slice(&[0x80, 1, 1, 0, 7, 0xFE, 0xFF, 0xFF, 63, 0, 0, 0, 0, 0, 1, 0]);
//! let mbr = Mbr::parse(&sector).expect("it has the signature now");
//! let (number, entry) = mbr.ordinary().next().expect("one entry is used");
//! assert_eq!((number, entry.start, entry.sectors), (1, 63, 65536));
//! ```

use zerocopy::FromBytes;

mod chain;
mod encode;
mod raw;
mod types;

pub use chain::{Chain, ChainFault, Ebr, EbrProblem, LogicalEntry, MAX_LINKS};
pub use raw::MbrEntry;
pub use types::type_name;

pub(crate) use encode::{Entry, Sector};

use super::{Partition, PartitionKind, PartitionType};
use crate::device::Reader;
use crate::units::{Lba, SectorSize};

/// How many bytes of a sector hold the table, whatever the sector size.
pub const SECTOR_LEN: usize = 512;
/// The type of the entry that protects a GPT from tools that do not know it.
pub const PROTECTIVE_TYPE: u8 = 0xEE;
/// The number of the first logical partition.
pub(crate) const FIRST_LOGICAL: u32 = 5;

/// A master boot record, with the chains of its containers once they were read.
#[derive(Clone, Debug)]
pub struct Mbr {
    sector: [u8; SECTOR_LEN],
    entries: [MbrEntry; 4],
    /// The EBR chain of each extended entry, in the order of the entries.
    pub chains: Vec<Chain>,
}

impl Mbr {
    /// The record of sector 0, `None` without the signature 55AA. Chains are not read yet.
    pub fn parse(sector: &[u8]) -> Option<Self> {
        let (raw, _) = raw::RawSector::read_from_prefix(sector).ok()?;
        if !raw.has_signature() {
            return None;
        }
        let bytes = sector.get(..SECTOR_LEN)?.try_into().ok()?;
        Some(Self { sector: bytes, entries: raw.entries(), chains: Vec::new() })
    }

    /// The bytes as they were read.
    pub fn sector(&self) -> &[u8; SECTOR_LEN] {
        &self.sector
    }

    /// The four entries, used or not.
    pub fn entries(&self) -> &[MbrEntry; 4] {
        &self.entries
    }

    /// The disk signature at byte 440, by which Windows and PARTUUIDs name the disk.
    pub fn disk_signature(&self) -> u32 {
        let bytes = self.sector.get(440..444).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    /// The entry that protects a GPT: of several the one that begins at LBA 1, as Linux wants it.
    pub fn protective(&self) -> Option<&MbrEntry> {
        let mut protective = self.entries.iter().filter(|entry| entry.type_byte == PROTECTIVE_TYPE);
        protective.clone().find(|entry| entry.start == 1).or_else(|| protective.next())
    }

    /// The used entries that are not protective, with their numbers. A GPT with such entries is a hybrid.
    pub fn ordinary(&self) -> impl Iterator<Item = (u32, &MbrEntry)> {
        (1..).zip(&self.entries).filter(|(_, entry)| entry.is_used() && entry.type_byte != PROTECTIVE_TYPE)
    }

    /// Whether every entry has the boot indicator 00 or 80, without which the kernel sees no table.
    pub(super) fn boot_indicators_valid(&self) -> bool {
        self.entries.iter().all(|entry| matches!(entry.boot_indicator, 0x00 | 0x80))
    }

    /// Whether there are entries, and all are on the disk and apart from each other.
    pub(super) fn entries_make_sense(&self, disk_sectors: Option<u64>) -> bool {
        let used: Vec<&MbrEntry> = self.entries.iter().filter(|entry| entry.is_used()).collect();
        let on_disk = |entry: &&MbrEntry| disk_sectors.is_none_or(|sectors| entry.last().number() < sectors);
        let apart = |a: &MbrEntry, b: &MbrEntry| a.last() < b.first() || b.last() < a.first();
        !used.is_empty()
            && used.iter().all(on_disk)
            && used.iter().enumerate().all(|(index, a)| used.iter().take(index).all(|b| apart(a, b)))
    }

    /// Follows the chain of each container.
    pub(super) fn read_chains(&mut self, reader: &Reader<'_>, unit: SectorSize) {
        let containers = (1..).zip(&self.entries).filter(|(_, entry)| entry.is_used() && entry.is_extended());
        self.chains = chain::read_all(reader, unit, containers);
    }

    /// All partitions: the used entries, then the logicals, numbered as the kernel does.
    pub(super) fn partitions(&self) -> Vec<Partition> {
        let primaries = self.ordinary().map(|(number, entry)| {
            let kind = if entry.is_extended() { PartitionKind::Extended } else { PartitionKind::Primary };
            partition(number, kind, entry.type_byte, entry.first(), entry.last())
        });
        let logicals = self.chains.iter().flat_map(|chain| &chain.ebrs).flat_map(Ebr::logicals);
        let logicals = (FIRST_LOGICAL..).zip(logicals).map(|(number, logical)| {
            partition(number, PartitionKind::Logical, logical.type_byte, logical.first, logical.last)
        });
        primaries.chain(logicals).collect()
    }
}

fn partition(number: u32, kind: PartitionKind, type_byte: u8, first: Lba, last: Lba) -> Partition {
    Partition { number, kind, first, last, type_: PartitionType::Mbr(type_byte), name: None, id: None }
}
