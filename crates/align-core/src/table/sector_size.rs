use super::gpt::{CopyFault, Gpt, GptHeader, PRIMARY_LBA, last_lba};
use super::mbr::Mbr;
use crate::content::{self, Kind};
use crate::device::Reader;
use crate::units::{Lba, SectorSize};

/// How many partitions are probed to find the unit of an MBR.
const MAX_PROBES: usize = 4;
/// Partitioners put partitions on whole MiB.
const MEBIBYTE: u128 = 1 << 20;
/// The sizes between which an MBR can be in doubt.
const MBR_SIZES: [SectorSize; 2] = [SectorSize::B512, SectorSize::B4096];

/// How the unit of a table was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectorSizeBasis {
    /// It is the device's own; of an image without a table, or with an MBR, 512.
    Device,
    /// A GPT header stands where this size, and no other, puts it.
    GptHeader,
    /// The MBR makes no sense in the device's own unit.
    Evidence(Evidence),
    /// Several sizes have a valid GPT header: which one counts is not known, and no partition is read.
    Ambiguous(Vec<SectorSize>),
}

/// What speaks for another unit of an MBR than the device's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// This partition would end beyond the device, and in the other unit all fit.
    BeyondDevice {
        /// The number of the partition.
        partition: u32,
    },
    /// The content of this partition is where the other unit puts it, and not in the device's own.
    ContentAt {
        /// The number of the partition.
        partition: u32,
        /// What was recognised there.
        name: &'static str,
        /// At which byte.
        position: u64,
    },
}

/// A GPT with the unit in which it was found.
pub(super) struct Located {
    pub(super) gpt: Gpt,
    pub(super) basis: SectorSizeBasis,
}

/// Reads the GPT in the device's own sectors, or in the sectors in which its header is valid.
pub(super) fn locate_gpt(reader: &Reader<'_>, logical: Option<SectorSize>) -> Located {
    let own = logical.map(|logical| Gpt::read(reader, logical));
    let own = match own {
        Some(gpt) if gpt.header().is_some() => return Located { gpt, basis: SectorSizeBasis::Device },
        own => own,
    };
    let others = || candidates(None).filter(|size| Some(*size) != logical);
    let mut found: Vec<SectorSize> = others().filter(|size| has_primary(reader, *size)).collect();
    if found.is_empty() {
        found = others().filter(|size| has_backup(reader, *size)).collect();
    }
    match found.as_slice() {
        [size] => {
            let gpt = Gpt::read(reader, *size);
            // A header alone is no copy: a table that is being written for another size may have its backup already.
            let whole = |size| Some(Gpt::read(reader, size)).filter(|gpt| gpt.header().is_some());
            let mut backups = others().filter(|other| other != size && has_backup(reader, *other));
            let instead = if gpt.header().is_some() { None } else { backups.find_map(whole) };
            Located { gpt: instead.unwrap_or(gpt), basis: SectorSizeBasis::GptHeader }
        }
        [first, ..] => {
            let mut gpt = Gpt::read(reader, *first);
            gpt.entries.clear();
            Located { gpt, basis: SectorSizeBasis::Ambiguous(found) }
        }
        [] => {
            let gpt = own.unwrap_or_else(|| Gpt::read(reader, damaged_size(reader)));
            Located { gpt, basis: SectorSizeBasis::Device }
        }
    }
}

/// The sector size of a valid primary GPT header, the device's own first.
pub(super) fn find_primary(reader: &Reader<'_>, logical: Option<SectorSize>) -> Option<SectorSize> {
    candidates(logical).find(|size| has_primary(reader, *size))
}

/// The sector size of a valid GPT header in the last sector, the device's own first.
pub(super) fn find_backup(reader: &Reader<'_>, logical: Option<SectorSize>) -> Option<SectorSize> {
    candidates(logical).find(|size| has_backup(reader, *size))
}

/// The unit of an MBR. Its LBAs carry none, so the device's own counts unless the disk contradicts it.
pub(super) fn of_mbr(
    reader: &Reader<'_>,
    logical: Option<SectorSize>,
    mbr: &Mbr,
) -> (SectorSize, SectorSizeBasis) {
    let own = logical.unwrap_or(SectorSize::B512);
    let evidence = MBR_SIZES
        .into_iter()
        .filter(|other| *other != own)
        .find_map(|other| Some((other, SectorSizeBasis::Evidence(contradiction(reader, own, other, mbr)?))));
    evidence.unwrap_or((own, SectorSizeBasis::Device))
}

fn candidates(logical: Option<SectorSize>) -> impl Iterator<Item = SectorSize> {
    logical.into_iter().chain(SectorSize::OF_TABLES.into_iter().filter(move |size| Some(*size) != logical))
}

/// Whether a valid header stands where sectors of this size have the primary one.
fn has_primary(reader: &Reader<'_>, size: SectorSize) -> bool {
    GptHeader::read(reader, size, PRIMARY_LBA).is_ok()
}

/// Whether a valid header stands where sectors of this size have the backup: in the last one.
fn has_backup(reader: &Reader<'_>, size: SectorSize) -> bool {
    last_lba(reader, size).is_some_and(|lba| GptHeader::read(reader, size, lba).is_ok())
}

/// The size in which a GPT without a valid header is described: where its signature still stands, else 512.
fn damaged_size(reader: &Reader<'_>) -> SectorSize {
    let signed = |size: &SectorSize| {
        !matches!(
            GptHeader::read(reader, *size, PRIMARY_LBA),
            Err(CopyFault::NoSignature { .. } | CopyFault::PastEnd { .. })
        )
    };
    SectorSize::OF_TABLES.into_iter().find(signed).unwrap_or(SectorSize::B512)
}

/// What speaks for the unit `other` and against `own`. Costs reads only where the table itself is in doubt.
fn contradiction(reader: &Reader<'_>, own: SectorSize, other: SectorSize, mbr: &Mbr) -> Option<Evidence> {
    let size = u128::from(reader.size()?);
    let end = |last: Lba, unit: SectorSize| last.position(unit).saturating_add(u128::from(unit.bytes()));
    if mbr.ordinary().any(|(_, entry)| end(entry.last(), other) > size) {
        return None;
    }
    let beyond = mbr.ordinary().find(|(_, entry)| end(entry.last(), own) > size);
    if let Some((partition, _)) = beyond {
        return Some(Evidence::BeyondDevice { partition });
    }
    if !suits(mbr, own, other, size) {
        return None;
    }
    for (partition, entry) in mbr.ordinary().filter(|(_, entry)| entry.start > 0).take(MAX_PROBES) {
        if probe(reader, entry.first(), own, entry.is_extended()).is_some() {
            return None;
        }
        if let Some((name, position)) = probe(reader, entry.first(), other, entry.is_extended()) {
            return Some(Evidence::ContentAt { partition, name, position });
        }
    }
    None
}

/// Whether a table that fits the disk in both units looks as if it were written in `other`. Seen in smaller sectors
/// such a table always does; seen in larger ones it should fill most of the disk, or begin on whole MiB only there.
fn suits(mbr: &Mbr, own: SectorSize, other: SectorSize, size: u128) -> bool {
    let furthest = mbr.ordinary().map(|(_, entry)| entry.last().position(other)).max().unwrap_or(0);
    let on_mebibytes =
        |unit| mbr.ordinary().all(|(_, entry)| entry.first().position(unit).is_multiple_of(MEBIBYTE));
    other < own || furthest >= size.div_euclid(2) || (on_mebibytes(other) && !on_mebibytes(own))
}

/// What a partition at `first` holds in this unit, and at which byte.
fn probe(reader: &Reader<'_>, first: Lba, unit: SectorSize, extended: bool) -> Option<(&'static str, u64)> {
    let position = first.checked_byte(unit)?;
    let left = reader.size()?.saturating_sub(position);
    let len = usize::try_from(left).map_or(content::FRONT_LEN, |left| left.min(content::FRONT_LEN));
    let front = reader.read(position, len).ok()?;
    if extended {
        return Mbr::parse(&front).map(|_| ("an extended boot record", position));
    }
    let content = content::recognise(&front).filter(|content| content.kind == Kind::FileSystem)?;
    Some((content.name, position))
}
