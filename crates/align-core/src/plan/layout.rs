use uuid::Uuid;

use super::space::Space;
use super::{Align, Grain, Medium, PlanError, Request, TableKind, Wanted};
use crate::table::gpt::NAME_UNITS;
use crate::table::{Partition, PartitionKind, PartitionType};
use crate::units::{Lba, PhysicalSize, SectorSize, Size};

/// What a fresh GPT holds.
const MOST_GPT: usize = 128;
/// What an MBR holds without a container.
pub(super) const MOST_PRIMARY: usize = 4;
/// What an MBR holds with one: 3 primaries, and as many EBRs as are read.
const MOST_MBR: usize = 3 + crate::table::mbr::MAX_LINKS;
/// The number of the first logical partition.
pub(super) const FIRST_LOGICAL: u32 = 5;
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
    /// How starts were chosen.
    pub align: Align,
    /// The physical sector size that it is for.
    pub physical: PhysicalSize,
    /// The grid for full speed, in bytes, where the disk has one.
    pub optimal_grid: Option<u64>,
    /// The first sector that a fresh GPT gives to partitions.
    pub first_usable: Lba,
    /// What names the disk; `None` for a random one.
    pub table_id: Option<TableId>,
    /// The partitions that are there and stay; `None` when the table is made anew.
    pub kept: Option<Vec<Partition>>,
    /// The partitions, by number; the container before its logical ones. Of a table that stays only the new ones.
    pub partitions: Vec<Planned>,
}

/// What names a disk in its partition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableId {
    /// The disk signature of an MBR.
    Mbr(u32),
    /// The disk GUID of a GPT.
    Gpt(Uuid),
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
    /// The unique GUID of a GPT entry; `None` for a random one.
    pub id: Option<Uuid>,
    /// The attribute bits of a GPT entry.
    pub attributes: u64,
}

impl Layout {
    pub(super) fn new(request: &Request, medium: &Medium, grain: Grain, partitions: Vec<Planned>) -> Self {
        Self {
            table: request.table,
            sector_size: medium.sector_size,
            disk_sectors: medium.sectors,
            grain,
            alignment_offset: medium.topology.alignment_offset,
            align: request.align,
            physical: medium.topology.physical,
            optimal_grid: medium.topology.optimal_grid,
            first_usable: Lba::ZERO,
            table_id: None,
            kept: None,
            partitions,
        }
    }

    /// The layout with a random identifier wherever none is given.
    #[must_use]
    pub fn identified(mut self) -> Self {
        let table = self.table;
        self.table_id.get_or_insert_with(|| match table {
            TableKind::Gpt => TableId::Gpt(Uuid::new_v4()),
            TableKind::Mbr => TableId::Mbr(random_signature()),
        });
        for planned in self.partitions.iter_mut().filter(|_| table == TableKind::Gpt) {
            planned.id.get_or_insert_with(Uuid::new_v4);
        }
        self
    }
}

impl Layout {
    /// Gives every logical partition that has none a boot record: the first one at the start of its container, the
    /// others one grain in front of them, or right behind the partition before where there is less room. One that has
    /// no room gets none.
    pub fn place_records(&mut self) {
        let container = self.partitions.iter().find(|planned| planned.kind == PartitionKind::Extended);
        let mut next = container.map(|container| (container.first, true));
        let grain = self.grain.bytes.checked_div(self.sector_size.bytes()).unwrap_or(1).max(1);
        for planned in self.partitions.iter_mut().filter(|planned| planned.kind == PartitionKind::Logical) {
            let Some((least, is_first)) = next else { return };
            if planned.ebr.is_none() {
                let usual = planned.first.checked_sub(grain).filter(|usual| *usual >= least && !is_first);
                planned.ebr = Some(usual.unwrap_or(least)).filter(|ebr| *ebr < planned.first);
            }
            next = planned.last.checked_add(1).map(|behind| (behind, false));
        }
    }

    /// What the header of a fresh GPT calls the first usable sector: the one at 1 MiB, as libfdisk does, so that no
    /// tool fills the gap in front with something misaligned; or all that there is where partitions begin before that.
    pub fn usual_first_usable(&self) -> Lba {
        let sectors = |bytes: u64| Lba::new(bytes.div_ceil(self.sector_size.bytes()));
        let mebibyte = sectors(super::space::FIRST_MEBIBYTE);
        if self.partitions.iter().all(|planned| planned.first >= mebibyte) {
            return mebibyte;
        }
        let array = super::space::GPT_ARRAY_BYTES.div_ceil(self.sector_size.bytes());
        Lba::new(super::space::GPT_FRONT.saturating_add(array))
    }
}

/// A random disk signature. 0 would mean that there is none.
fn random_signature() -> u32 {
    Uuid::new_v4().as_fields().0.max(1)
}

impl Planned {
    /// The size in sectors.
    pub fn sectors(&self) -> u64 {
        self.first.sectors_through(self.last).unwrap_or(0)
    }
}

pub(super) fn lay_out(request: &Request, medium: &Medium) -> Result<Layout, PlanError> {
    let primaries = primaries(request)?;
    check_sizes(request)?;
    let grain = grain_of(request, medium)?;
    let space = Space::of_disk(request.table, medium, grain)?;
    let sizes = Sizes { request, medium, grain };
    let mut planner = Planner { request, space, sizes, partitions: Vec::new() };
    planner.place_all(primaries)?;
    let mut layout = Layout::new(request, medium, grain, planner.partitions);
    layout.first_usable = layout.usual_first_usable();
    Ok(layout)
}

/// Refuses what is wrong with the partitions wherever they go.
pub(super) fn check_sizes(request: &Request) -> Result<(), PlanError> {
    if request.partitions.is_empty() {
        return Err(PlanError::Nothing);
    }
    for (index, wanted) in (1..).zip(&request.partitions) {
        if matches!(wanted.size, Size::Bytes(0) | Size::Sectors(0) | Size::MilliPercent(0)) {
            return Err(PlanError::Empty { partition: index });
        }
        if wanted.size == Size::Rest && index < request.partitions.len() {
            return Err(PlanError::AfterRest { partition: index.saturating_add(1) });
        }
        let suits = match (request.table, wanted.type_) {
            (TableKind::Gpt, Some(PartitionType::Gpt(guid))) => !guid.is_nil(),
            (TableKind::Mbr, Some(type_ @ PartitionType::Mbr(byte))) => byte != 0 && !type_.is_extended(),
            (_, type_) => type_.is_none(),
        };
        if !suits {
            return Err(PlanError::Type { partition: index, table: request.table.name() });
        }
        match (request.table, &wanted.name) {
            (TableKind::Mbr, Some(_)) => return Err(PlanError::NoNames { partition: index }),
            (TableKind::Gpt, Some(name)) if name.encode_utf16().count() > NAME_UNITS => {
                return Err(PlanError::NameTooLong { partition: index, units: name.encode_utf16().count() });
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn grain_of(request: &Request, medium: &Medium) -> Result<Grain, PlanError> {
    let capacity = Lba::new(medium.sectors).position(medium.sector_size);
    Grain::choose(request.align, &medium.topology, capacity).ok_or(PlanError::Grain {
        bytes: match request.align {
            Align::Grain(bytes) => bytes,
            Align::Optimal | Align::Minimal => 0,
        },
    })
}

/// How many of the partitions are primaries: all, or those in front of the container.
fn primaries(request: &Request) -> Result<usize, PlanError> {
    let asked = request.partitions.len();
    let most = match request.table {
        TableKind::Gpt => MOST_GPT,
        TableKind::Mbr => MOST_MBR,
    };
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
    space: Space,
    sizes: Sizes<'r>,
    partitions: Vec<Planned>,
}

/// How large partitions and the gaps in front of logical ones become, in bytes.
pub(super) struct Sizes<'r> {
    pub(super) request: &'r Request,
    pub(super) medium: &'r Medium,
    pub(super) grain: Grain,
}

impl<'r> Planner<'r> {
    fn place_all(&mut self, primaries: usize) -> Result<(), PlanError> {
        let request = self.request;
        let wanted: Vec<(usize, &Wanted)> = (1..).zip(&request.partitions).collect();
        let mut start = self.space.first_place();
        let mut numbers = 1_u32..;
        for ((index, wanted), number) in wanted.iter().take(primaries).zip(&mut numbers) {
            let end = self.end_of(*index, wanted.size, start, self.space.end, None)?;
            self.partitions.push(self.space.planned(
                number,
                PartitionKind::Primary,
                (start, end),
                Some(wanted),
                None,
            ));
            start = self.space.up(end);
        }
        let logicals = wanted.get(primaries..).unwrap_or_default();
        let (Some((first, wanted)), Some(number)) = (logicals.first(), numbers.next()) else { return Ok(()) };
        let container_end = self.space.down(self.space.end);
        if start >= container_end {
            let gap = self.sizes.gap();
            let asked = self.least_of(wanted.size);
            return Err(self.does_not_fit(
                *first,
                asked,
                start.saturating_add(gap),
                container_end,
                Some(gap),
            ));
        }
        self.partitions.push(self.space.planned(
            number,
            PartitionKind::Extended,
            (start, container_end),
            None,
            None,
        ));
        self.place_logicals(logicals, start, container_end)
    }

    /// Each logical partition stands behind its EBR by a gap, and the EBR on the place behind the partition before.
    fn place_logicals(
        &mut self,
        wanted: &[(usize, &'r Wanted)],
        container: u128,
        container_end: u128,
    ) -> Result<(), PlanError> {
        let gap = self.sizes.gap();
        let mut ebr = container;
        let mut start = container.saturating_add(gap);
        for (number, (index, wanted)) in (FIRST_LOGICAL..).zip(wanted) {
            let end = self.end_of(*index, wanted.size, start, container_end, Some(gap))?;
            self.partitions.push(self.space.planned(
                number,
                PartitionKind::Logical,
                (start, end),
                Some(wanted),
                Some(ebr),
            ));
            ebr = self.space.up(end);
            start = match self.request.align {
                Align::Minimal => self.sizes.minimal_start(&self.space, end, ebr),
                Align::Optimal | Align::Grain(_) => ebr.saturating_add(gap),
            };
        }
        Ok(())
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
        let asked = self.least_of(size);
        let end = start.saturating_add(asked);
        if end > limit {
            return Err(self.does_not_fit(index, asked, start, limit, gap));
        }
        Ok(if size == Size::Rest { self.space.down(limit) } else { end })
    }

    /// The size in bytes; of the rest, which ends on the grain, the least that it can be.
    fn least_of(&self, size: Size) -> u128 {
        let whole = self.space.end.saturating_sub(self.space.first_place());
        self.sizes.least_of(size, whole)
    }

    /// So many bytes more on the disk would do.
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
        let end = start.saturating_add(asked);
        match gap {
            None => {
                let missing = end.saturating_sub(self.space.end);
                PlanError::DoesNotFit { partition, asked, available, missing }
            }
            Some(gap) => {
                // The container ends on the grain.
                let missing = self.space.up(end).saturating_sub(self.space.end);
                PlanError::LogicalDoesNotFit { partition, asked, available, missing, gap }
            }
        }
    }
}

impl Sizes<'_> {
    /// The size in bytes: rounded up to the physical sector, except when sectors were asked for. A percentage is of
    /// `whole`. The rest, which begins and ends on the grain, has at least one.
    pub(super) fn least_of(&self, size: Size, whole: u128) -> u128 {
        let whole_physical =
            |bytes: u128| bytes.next_multiple_of(self.medium.topology.physical.bytes().into());
        match size {
            Size::Bytes(bytes) => whole_physical(bytes.into()),
            Size::Sectors(sectors) => Lba::new(sectors).position(self.medium.sector_size),
            Size::MilliPercent(milli) => {
                // Of little, a small part is still a partition.
                let part = whole.saturating_mul(milli.into()).checked_div(100_000).unwrap_or(0);
                whole_physical(part.max(1))
            }
            Size::Rest => self.grain.bytes.into(),
        }
    }

    /// The room for an EBR in front of a logical partition.
    pub(super) fn gap(&self) -> u128 {
        match self.request.align {
            Align::Minimal => MINIMAL_GAP.max(self.medium.topology.physical.bytes()).into(),
            Align::Optimal | Align::Grain(_) => self.grain.bytes.into(),
        }
    }

    /// Where the next logical partition begins under [`Align::Minimal`], behind what ends at `end` and its own `ebr`.
    pub(super) fn minimal_start(&self, space: &Space, end: u128, ebr: u128) -> u128 {
        // The gap is counted from the last sector that is used.
        let last = end.saturating_sub(self.medium.sector_size.bytes().into());
        let physical = u128::from(self.medium.topology.physical.bytes());
        space.up(last.saturating_add(self.gap())).max(ebr.saturating_add(physical))
    }
}
