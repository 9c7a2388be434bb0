use super::space::Space;
use super::{Align, Grain, Medium, PlanError, Request, TableKind, Wanted};
use crate::table::{PartitionKind, PartitionType};
use crate::units::{Lba, SectorSize, Size};

/// What a fresh GPT holds.
const MOST_GPT: usize = 128;
/// What an MBR holds without a container.
const MOST_PRIMARY: usize = 4;
/// What an MBR holds with one: 3 primaries, and as many EBRs as are read.
const MOST_MBR: usize = 3 + crate::table::mbr::MAX_LINKS;
/// The number of the first logical partition.
const FIRST_LOGICAL: u32 = 5;
/// The type of a container that is made here.
const CONTAINER_TYPE: u8 = 0x05;
/// The gap in front of a logical partition under [`Align::Minimal`], 64 sectors of 512 bytes.
const MINIMAL_GAP: u64 = 32 << 10;

/// Where partitions go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The kind of table.
    pub table: TableKind,
    /// The unit of all LBAs.
    pub sector_size: SectorSize,
    /// How many sectors the disk has that it is for.
    pub disk_sectors: u64,
    /// What starts are multiples of, and why.
    pub grain: Grain,
    /// Bytes from the start of the disk to the first physical boundary.
    pub alignment_offset: u64,
    /// The partitions, by number; the container before its logical ones.
    pub partitions: Vec<Planned>,
}

/// A partition that is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The number that the kernel will give it.
    pub number: u32,
    /// Its place in the scheme of the table.
    pub kind: PartitionKind,
    /// The first sector.
    pub first: Lba,
    /// The last sector, itself part of the partition.
    pub last: Lba,
    /// What was asked for; a container was not.
    pub asked: Option<Size>,
    /// What it is for.
    pub type_: PartitionType,
    /// Its name, in a GPT.
    pub name: Option<String>,
    /// The EBR of a logical partition.
    pub ebr: Option<Lba>,
}

impl Planned {
    /// The size in sectors.
    pub fn sectors(&self) -> u64 {
        self.first.sectors_through(self.last).unwrap_or(0)
    }
}

pub(super) fn lay_out(request: &Request, medium: &Medium) -> Result<Layout, PlanError> {
    let primaries = primaries(request)?;
    for (index, wanted) in (1..).zip(&request.partitions) {
        if matches!(wanted.size, Size::Bytes(0) | Size::Sectors(0) | Size::MilliPercent(0)) {
            return Err(PlanError::Empty { partition: index });
        }
        if wanted.size == Size::Rest && index < request.partitions.len() {
            return Err(PlanError::AfterRest { partition: index.saturating_add(1) });
        }
    }
    let capacity = Lba::new(medium.sectors).position(medium.sector_size);
    let grain = Grain::choose(request.align, &medium.topology, capacity).ok_or(PlanError::Grain {
        bytes: match request.align {
            Align::Grain(bytes) => bytes,
            Align::Optimal | Align::Minimal => 0,
        },
    })?;
    let space = Space::of_disk(request.table, medium, grain)?;
    let mut planner = Planner { request, medium, space, grain, partitions: Vec::new() };
    planner.place_all(primaries)?;
    Ok(Layout {
        table: request.table,
        sector_size: medium.sector_size,
        disk_sectors: medium.sectors,
        grain,
        alignment_offset: medium.topology.alignment_offset,
        partitions: planner.partitions,
    })
}

/// How many of the partitions are primaries: all, or those in front of the container.
fn primaries(request: &Request) -> Result<usize, PlanError> {
    let asked = request.partitions.len();
    let most = match request.table {
        TableKind::Gpt => MOST_GPT,
        TableKind::Mbr => MOST_MBR,
    };
    if asked == 0 {
        return Err(PlanError::Nothing);
    }
    if asked > most {
        return Err(PlanError::TooMany { asked, most, table: request.table.name() });
    }
    if request.table == TableKind::Gpt {
        return Ok(asked);
    }
    let Some(given) = request.primaries else {
        return Ok(if asked > MOST_PRIMARY { 3 } else { asked });
    };
    let wanted = usize::try_from(given).unwrap_or(usize::MAX);
    let possible = if asked > wanted { 1..=3 } else { 1..=MOST_PRIMARY };
    if possible.contains(&wanted) {
        Ok(wanted.min(asked))
    } else {
        Err(PlanError::Primaries { asked: given })
    }
}

struct Planner<'r> {
    request: &'r Request,
    medium: &'r Medium,
    space: Space,
    grain: Grain,
    partitions: Vec<Planned>,
}

impl<'r> Planner<'r> {
    fn place_all(&mut self, primaries: usize) -> Result<(), PlanError> {
        let request = self.request;
        let wanted: Vec<(usize, &Wanted)> = (1..).zip(&request.partitions).collect();
        let mut start = self.space.first_place();
        let mut numbers = 1_u32..;
        for ((index, wanted), number) in wanted.iter().take(primaries).zip(&mut numbers) {
            let end = self.end_of(*index, wanted.size, start, self.space.end, None)?;
            self.push(number, PartitionKind::Primary, (start, end), Some(wanted), None);
            start = self.space.up(end);
        }
        let logicals = wanted.get(primaries..).unwrap_or_default();
        let (Some((first, wanted)), Some(number)) = (logicals.first(), numbers.next()) else { return Ok(()) };
        let container_end = self.space.down(self.space.end);
        if start >= container_end {
            let bytes = self.bytes_of(wanted.size);
            return Err(self.does_not_fit(*first, bytes, start, container_end, Some(self.gap())));
        }
        self.push(number, PartitionKind::Extended, (start, container_end), None, None);
        self.place_logicals(logicals, start, container_end)
    }

    /// Each logical partition stands behind its EBR by a gap, and the EBR on the place behind the partition before.
    fn place_logicals(
        &mut self,
        wanted: &[(usize, &'r Wanted)],
        container: u128,
        container_end: u128,
    ) -> Result<(), PlanError> {
        let gap = self.gap();
        let mut ebr = container;
        let mut start = container.saturating_add(gap);
        for (number, (index, wanted)) in (FIRST_LOGICAL..).zip(wanted) {
            let end = self.end_of(*index, wanted.size, start, container_end, Some(gap))?;
            self.push(number, PartitionKind::Logical, (start, end), Some(wanted), Some(ebr));
            ebr = self.space.up(end);
            start = match self.request.align {
                Align::Minimal => {
                    // The gap is counted from the last sector that is used.
                    let last = end.saturating_sub(self.medium.sector_size.bytes().into());
                    let physical = u128::from(self.medium.topology.physical.bytes());
                    self.space.up(last.saturating_add(gap)).max(ebr.saturating_add(physical))
                }
                Align::Optimal | Align::Grain(_) => ebr.saturating_add(gap),
            };
        }
        Ok(())
    }

    /// The room for an EBR in front of a logical partition.
    fn gap(&self) -> u128 {
        match self.request.align {
            Align::Minimal => MINIMAL_GAP.max(self.medium.topology.physical.bytes()).into(),
            Align::Optimal | Align::Grain(_) => self.grain.bytes.into(),
        }
    }

    /// Where a partition of this size ends that begins at `start`, in front of `limit`.
    fn end_of(
        &self,
        index: usize,
        size: Size,
        start: u128,
        limit: u128,
        gap: Option<u128>,
    ) -> Result<u128, PlanError> {
        if size == Size::Rest {
            let end = self.space.down(limit);
            let least = u128::from(self.medium.sector_size.bytes());
            return if end > start { Ok(end) } else { Err(self.does_not_fit(index, least, start, end, gap)) };
        }
        let bytes = self.bytes_of(size);
        match start.checked_add(bytes) {
            Some(end) if end <= limit => Ok(end),
            _ => Err(self.does_not_fit(index, bytes, start, limit, gap)),
        }
    }

    /// The size in bytes: rounded up to the physical sector, except when sectors were asked for.
    fn bytes_of(&self, size: Size) -> u128 {
        let whole_physical =
            |bytes: u128| bytes.next_multiple_of(self.medium.topology.physical.bytes().into());
        match size {
            Size::Bytes(bytes) => whole_physical(bytes.into()),
            Size::Sectors(sectors) => Lba::new(sectors).position(self.medium.sector_size),
            Size::MilliPercent(milli) => {
                let space = self.space.end.saturating_sub(self.space.first_place());
                whole_physical(space.saturating_mul(milli.into()).checked_div(100_000).unwrap_or(0))
            }
            Size::Rest => 0,
        }
    }

    fn does_not_fit(
        &self,
        partition: usize,
        asked: u128,
        start: u128,
        limit: u128,
        gap: Option<u128>,
    ) -> PlanError {
        let available = limit.saturating_sub(start);
        // The start itself may lie beyond the limit.
        let missing = start.saturating_add(asked).saturating_sub(limit);
        match gap {
            None => PlanError::DoesNotFit { partition, asked, available, missing },
            Some(gap) => PlanError::LogicalDoesNotFit { partition, asked, available, missing, gap },
        }
    }

    fn push(
        &mut self,
        number: u32,
        kind: PartitionKind,
        (start, end): (u128, u128),
        wanted: Option<&Wanted>,
        ebr: Option<u128>,
    ) {
        let sector = u128::from(self.medium.sector_size.bytes());
        let type_ = match wanted {
            Some(wanted) => wanted.type_.unwrap_or_else(|| self.request.table.default_type()),
            None => PartitionType::Mbr(CONTAINER_TYPE),
        };
        self.partitions.push(Planned {
            number,
            kind,
            first: self.space.lba(start),
            last: self.space.lba(end.saturating_sub(sector)),
            asked: wanted.map(|wanted| wanted.size),
            type_,
            name: wanted.and_then(|wanted| wanted.name.clone()),
            ebr: ebr.map(|ebr| self.space.lba(ebr)),
        });
    }
}
