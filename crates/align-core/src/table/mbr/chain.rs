use std::collections::HashSet;

use zerocopy::FromBytes;

use super::raw::RawSector;
use super::{MbrEntry, SECTOR_LEN};
use crate::device::{ReadError, Reader};
use crate::units::{Lba, SectorSize};

/// How many EBRs are followed on one disk. Linux itself has no more than 256 partitions per disk.
pub const MAX_LINKS: usize = 256;

/// The chain of EBRs of one container.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The number of the container.
    pub container: u32,
    /// The EBRs that could be read, in the order of the chain: not always that of the disk.
    pub ebrs: Vec<Ebr>,
    /// Why the chain ended before its end, if it did.
    pub fault: Option<ChainFault>,
}

/// An extended boot record: the sector that describes one logical partition and links to the next record.
#[derive(Clone, Debug)]
pub struct Ebr {
    /// Where it is.
    pub lba: Lba,
    /// The bytes as they were read.
    pub sector: Box<[u8; SECTOR_LEN]>,
    logicals: Vec<LogicalEntry>,
    link: Option<Link>,
}

/// The entry of an EBR that points at the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where the next EBR is.
    pub lba: Lba,
    /// How many sectors, from that EBR on, are its own.
    pub sectors: u64,
}

/// A logical partition in absolute sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalEntry {
    /// The slot of the EBR, 0 to 3.
    pub slot: usize,
    /// The type.
    pub type_byte: u8,
    /// The first sector.
    pub first: Lba,
    /// The last sector.
    pub last: Lba,
}

/// Where and why a chain could not be followed further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFault {
    /// The EBR at which the chain broke.
    pub lba: Lba,
    /// What was wrong there.
    pub problem: EbrProblem,
}

/// What is wrong with a link of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EbrProblem {
    /// The sector lacks the signature 55AA.
    NoSignature,
    /// The disk ends before it.
    PastEnd,
    /// It could not be read; the text is the operating system's.
    Unreadable(String),
    /// It did not arrive on standard input.
    NotSeen,
    /// It was visited before: the chain runs in a circle.
    Loop,
    /// More links than [`MAX_LINKS`].
    TooMany,
}

impl Ebr {
    /// The logical partitions of this record: one, or none where it was deleted. The kernel takes further
    /// ones too.
    pub fn logicals(&self) -> impl Iterator<Item = &LogicalEntry> {
        self.logicals.iter()
    }

    /// The next record of the chain.
    pub fn link(&self) -> Option<Link> {
        self.link
    }

    /// Interprets the record that `here` points at, `None` without the signature. The rules for slots 3 and 4
    /// are the kernel's (`parse_extended` in `block/partitions/msdos.c`).
    fn parse(sector: &[u8], here: Link, container: &MbrEntry) -> Option<Self> {
        let (raw, _) = RawSector::read_from_prefix(sector).ok()?;
        if !raw.has_signature() {
            return None;
        }
        let entries = raw.entries();
        let logicals = entries.iter().enumerate().filter_map(|(slot, entry)| {
            if !entry.is_used() || entry.is_extended() {
                return None;
            }
            let first = here.lba.checked_add(entry.start.into())?;
            let last = first.checked_add(u64::from(entry.sectors).saturating_sub(1))?;
            let relative_end = u64::from(entry.start).saturating_add(entry.sectors.into());
            let inside =
                first >= container.first() && last <= container.last() && relative_end <= here.sectors;
            // The last two slots sometimes hold garbage.
            (slot < 2 || inside).then_some(LogicalEntry { slot, type_byte: entry.type_byte, first, last })
        });
        let link = entries.iter().find(|entry| entry.is_used() && entry.is_extended());
        Some(Self {
            lba: here.lba,
            sector: Box::new(sector.get(..SECTOR_LEN)?.try_into().ok()?),
            logicals: logicals.collect(),
            link: link.and_then(|link| {
                let lba = container.first().checked_add(link.start.into())?;
                Some(Link { lba, sectors: link.sectors.into() })
            }),
        })
    }
}

/// Reads the chains of all containers; a record belongs to the first chain that reaches it.
pub(super) fn read_all<'e>(
    reader: &Reader<'_>,
    unit: SectorSize,
    containers: impl Iterator<Item = (u32, &'e MbrEntry)>,
) -> Vec<Chain> {
    let mut visited = HashSet::new();
    containers.map(|(number, entry)| read_chain(reader, unit, number, entry, &mut visited)).collect()
}

fn read_chain(
    reader: &Reader<'_>,
    unit: SectorSize,
    number: u32,
    container: &MbrEntry,
    visited: &mut HashSet<Lba>,
) -> Chain {
    let mut chain = Chain { container: number, ebrs: Vec::new(), fault: None };
    let mut next = Some(Link { lba: container.first(), sectors: container.sectors.into() });
    while let Some(here) = next {
        let read = if visited.contains(&here.lba) {
            Err(EbrProblem::Loop)
        } else if visited.len() >= MAX_LINKS {
            Err(EbrProblem::TooMany)
        } else {
            visited.insert(here.lba);
            read_ebr(reader, unit, here, container)
        };
        match read {
            Ok(ebr) => {
                next = ebr.link();
                chain.ebrs.push(ebr);
            }
            Err(problem) => {
                chain.fault = Some(ChainFault { lba: here.lba, problem });
                break;
            }
        }
    }
    chain
}

fn read_ebr(
    reader: &Reader<'_>,
    unit: SectorSize,
    here: Link,
    container: &MbrEntry,
) -> Result<Ebr, EbrProblem> {
    let offset = here.lba.checked_byte(unit).ok_or(EbrProblem::PastEnd)?;
    let sector = reader.read(offset, SECTOR_LEN).map_err(|error| match error {
        ReadError::PastEnd { .. } => EbrProblem::PastEnd,
        ReadError::NotSeen { .. } => EbrProblem::NotSeen,
        ReadError::Io { source, .. } => EbrProblem::Unreadable(source.to_string()),
    })?;
    Ebr::parse(&sector, here, container).ok_or(EbrProblem::NoSignature)
}
