//! Tables for sectors of another size: every partition keeps its bytes, nothing else on the disk changes, and back
//! again everything is as it was.
//!
//! What is on a disk is read here byte by byte, without the library: a mistake in it must not be able to hide. The seed
//! is fixed, so a run is the same everywhere; `PROPTEST_RNG_SEED=7 PROPTEST_CASES=20000` looks elsewhere and longer.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use std::fmt;
use std::ops::Range;

use align_core::check::{self, Code, Options, Report};
use align_core::device::{BlockDevice, Disk, MemoryDevice};
use align_core::patch::{Folder, Patch};
use align_core::topology::Reported;
use align_core::units::SectorSize;
use align_core::write::{BackupPlace, Proposal, WriteError};
use common::stream::Stream;
use common::{Shared, config, layouts};
use fixtures::{GptEntry, GptSpec, Image, Logical, MbrEntry};
use proptest::prelude::*;
use proptest::sample::{Index, select};

const MIB: u64 = 1 << 20;

/// The size to which one in sectors of `unit` bytes is converted.
fn other(unit: u64) -> u64 {
    if unit == 512 { 4096 } else { 512 }
}

// ---------------------------------------------------------------------------------------------------------------
// What is on a disk, byte by byte

/// A partition with everything that a conversion keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    /// Where its entry is: "GPT 3", "MBR 2", "EBR at 1048576, 1".
    place: String,
    bytes: Range<u64>,
    /// All of the entry but where the partition begins and ends: type, GUID, name, attributes, boot indicator.
    rest: Vec<u8>,
}

/// A table in sectors of some size.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    partitions: Vec<Held>,
    /// What belongs to the whole table: boot code, signature, GUID, the number and size of the entries.
    rest: Vec<Vec<u8>>,
    /// The bytes that a GPT gives to partitions.
    usable: Range<u64>,
    /// How many sectors each protective entry covers, from which on.
    protective: Vec<(u64, u64)>,
    /// Where the table lies.
    areas: Vec<Range<u64>>,
}

fn get(device: &dyn BlockDevice, at: u64, len: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(len).unwrap()];
    device.read_at(at, &mut bytes).unwrap();
    bytes
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()).into()
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Facts {
    fn of(device: &dyn BlockDevice, unit: u64) -> Self {
        let front = get(device, 0, 512);
        assert_eq!(front[510..], [0x55, 0xAA]);
        let mut facts = Self {
            partitions: Vec::new(),
            rest: vec![front[..446].to_vec()],
            usable: 0..0,
            protective: Vec::new(),
            areas: std::iter::once(0..512).collect(),
        };
        let is_gpt = (0..4).any(|slot| front[446 + 16 * slot + 4] == 0xEE);
        facts.read_front(&front, unit);
        if is_gpt {
            facts.read_gpt(device, unit);
        } else {
            facts.read_chains(device, &front, unit);
        }
        facts.partitions.sort_by(|one, other| one.place.cmp(&other.place));
        facts
    }

    fn read_front(&mut self, front: &[u8], unit: u64) {
        for slot in 0..4 {
            let entry = &front[446 + 16 * slot..446 + 16 * (slot + 1)];
            match (word(entry, 12), entry[4]) {
                (0, _) => {}
                (sectors, 0xEE) => self.protective.push((word(entry, 8), sectors)),
                _ => self.hold(format!("MBR {}", slot + 1), entry, 0, unit),
            }
        }
    }

    fn hold(&mut self, place: String, entry: &[u8], base: u64, unit: u64) {
        let start = (base + word(entry, 8)) * unit;
        let bytes = start..start + word(entry, 12) * unit;
        self.partitions.push(Held { place, bytes, rest: vec![entry[0], entry[4]] });
    }

    fn read_chains(&mut self, device: &dyn BlockDevice, front: &[u8], unit: u64) {
        for slot in 0..4 {
            let entry = &front[446 + 16 * slot..446 + 16 * (slot + 1)];
            if word(entry, 12) == 0 || ![0x05, 0x0F, 0x85].contains(&entry[4]) {
                continue;
            }
            let container = word(entry, 8);
            let mut next = Some(container);
            while let Some(ebr) = next.take() {
                let sector = get(device, ebr * unit, 512);
                assert_eq!(sector[510..], [0x55, 0xAA], "the EBR at {ebr}");
                self.areas.push(ebr * unit..ebr * unit + 512);
                self.rest.push(sector[..446].to_vec());
                for slot in 0..2 {
                    let entry = &sector[446 + 16 * slot..446 + 16 * (slot + 1)];
                    let place = format!("EBR at {}, {slot}", ebr * unit);
                    match (word(entry, 12), entry[4]) {
                        (0, _) => {}
                        (_, 0x05 | 0x0F | 0x85) => {
                            self.hold(place, entry, container, unit);
                            next = Some(container + word(entry, 8));
                        }
                        _ => self.hold(place, entry, ebr, unit),
                    }
                }
            }
        }
    }

    /// Both copies: each in its place, each with its checksums, both with the same partitions.
    fn read_gpt(&mut self, device: &dyn BlockDevice, unit: u64) {
        let last = device.size().unwrap() / unit - 1;
        let mut arrays = Vec::new();
        for (lba, alternate) in [(1, last), (last, 1)] {
            let mut header = get(device, lba * unit, unit);
            assert_eq!(header[..8], *b"EFI PART", "LBA {lba} of {unit}");
            let len = usize::try_from(word(&header, 12)).unwrap();
            let crc = std::mem::take(&mut header[16..20].to_vec());
            header[16..20].fill(0);
            assert_eq!(crc32fast::hash(&header[..len]).to_le_bytes(), *crc, "header at {lba}");
            assert_eq!((long(&header, 24), long(&header, 32)), (lba, alternate));
            let (count, size) = (word(&header, 80), word(&header, 84));
            let array = get(device, long(&header, 72) * unit, count * size);
            assert_eq!(u64::from(crc32fast::hash(&array)), word(&header, 88), "array of {lba}");
            let usable = long(&header, 40) * unit..(long(&header, 48) + 1) * unit;
            let at = long(&header, 72) * unit;
            self.areas.push(lba * unit..(lba + 1) * unit);
            self.areas.push(at..at + count * size);
            // What is usable holds neither copy.
            assert!(at + count * size <= usable.start || usable.end <= at, "{usable:?}, array at {at}");
            // The revision, the GUID, the number and size of entries, and what is behind the known fields.
            let behind = header[92..512].to_vec();
            self.rest.extend([
                header[8..16].to_vec(),
                header[56..72].to_vec(),
                header[80..88].to_vec(),
                behind,
            ]);
            arrays.push((array, size, usable));
        }
        assert_eq!(arrays[0], arrays[1], "the copies are one table");
        let (array, size, usable) = arrays.swap_remove(0);
        for (entry, number) in array.chunks(usize::try_from(size).unwrap()).zip(1..) {
            if entry[..16] == [0; 16] {
                continue;
            }
            let bytes = long(entry, 32) * unit..(long(entry, 40) + 1) * unit;
            assert!(usable.start <= bytes.start && bytes.end <= usable.end, "{bytes:?} in {usable:?}");
            let rest = [&entry[..32], &entry[48..]].concat();
            self.partitions.push(Held { place: format!("GPT {number}"), bytes, rest });
        }
        self.usable = usable;
    }

    fn is_table(&self, at: u64) -> bool {
        self.areas.iter().any(|area| area.contains(&at))
    }

    /// Containers and the links of records hold nothing themselves.
    fn is_held(&self, at: u64) -> bool {
        let holding =
            |held: &Held| held.place.starts_with("GPT") || !matches!(held.rest[1], 0x05 | 0x0F | 0x85);
        self.partitions.iter().any(|held| holding(held) && held.bytes.contains(&at))
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Conversions

/// A disk in memory.
struct Scene {
    device: Shared<MemoryDevice>,
    disk: Disk,
}

impl Scene {
    fn new(image: &Image) -> Self {
        let device = Shared::new(common::memory(image));
        Self { disk: Disk::image("test.img", device.clone()), device }
    }

    /// Converts a table that counts in sectors of `unit` bytes to the other size.
    fn convert(&self, unit: u64) -> Result<Proposal, WriteError> {
        Proposal::of_conversion(
            &self.disk,
            SectorSize::new(other(unit)).unwrap(),
            &in_sectors_of(unit),
            false,
        )
    }

    fn facts(&self, unit: u64) -> Facts {
        Facts::of(&self.device, unit)
    }

    /// Converts and says what changed; fails when a byte changed that is part of no table.
    fn converted(&self, unit: u64) -> Result<Patch, WriteError> {
        let old = self.facts(unit);
        let proposal = self.convert(unit)?;
        let patch = &proposal.patch;
        patch.write(&self.device).unwrap();
        let new = self.facts(other(unit));
        assert_eq!(new.partitions, old.partitions, "{unit}");
        assert!(new.rest == old.rest, "what belongs to the whole table");
        for (at, _) in differences(patch) {
            assert!(old.is_table(at) || new.is_table(at), "byte {at} is part of no table");
            // A partition from sector 0 on has the table in it.
            assert!(at < 512 || !old.is_held(at), "byte {at} is in a partition");
        }
        let options = in_sectors_of(other(unit));
        let (report, table) = check::examine(&self.disk, &options).unwrap();
        assert_eq!(report.table.health.word(), "ok", "{:#?}", report.findings);
        assert_eq!(table.unwrap().sector_size.bytes(), other(unit));
        let remains = |report: &Report| common::codes(report).contains(&"gpt-remains");
        assert_eq!(remains(&report), remains(&proposal.before), "{:#?}", report.findings);
        peers::assert_read(&self.device, &new, other(unit));
        Ok(proposal.patch)
    }
}

fn in_sectors_of(unit: u64) -> Options {
    let pretend = Reported { logical: Some(unit), ..Reported::default() };
    Options { pretend, ..Options::default() }
}

/// The bytes that a patch changes, with what is there afterwards.
fn differences(patch: &Patch) -> impl Iterator<Item = (u64, u8)> {
    patch.changes().flat_map(|change| {
        let bytes = (change.offset..).zip(change.before.iter().zip(&change.after));
        bytes.filter(|(_, (before, after))| before != after).map(|(at, (_, after))| (at, *after))
    })
}

/// Converts there and back. Slack is what is neither in a partition nor part of a table of either size: there zeros
/// may stand for what a table of the other size left. All else is as it was, and so is every byte after the undo.
fn assert_there_and_back(image: &Image, unit: u64) -> Result<(), WriteError> {
    let scene = Scene::new(image);
    let original = scene.facts(unit);
    let there = scene.converted(unit)?;
    let back = scene.converted(other(unit)).unwrap();
    assert!(scene.facts(unit) == original, "there and back the table is another");
    let touched: Vec<_> =
        there.changes().chain(back.changes()).map(|change| change.offset..change.end()).collect();
    for range in touched {
        let found = get(&scene.device, range.start, range.end - range.start);
        let old = image.get(range.start, found.len());
        for (at, (found, old)) in (range.start..).zip(found.iter().zip(&old)) {
            let is_slack = !original.is_table(at);
            assert!(found == old || (is_slack && *found == 0), "byte {at} was {old}, is {found}");
        }
    }
    for patch in [&back, &there] {
        patch.reversed().write(&scene.device).unwrap();
    }
    for change in there.changes().chain(back.changes()) {
        let len = change.before.len();
        assert!(get(&scene.device, change.offset, len as u64) == image.get(change.offset, len), "undone");
    }
    Ok(())
}

/// A partition that one of the two sizes cannot have: the refusal names it.
fn assert_refused(error: &WriteError, offenders: &[String]) {
    let said = error.to_string();
    let names =
        |offender: &String| said.contains(&format!("{offender} ")) || said.contains(&format!("{offender}: "));
    assert!(offenders.iter().any(names), "{said}\n  should name one of {offenders:?}");
    assert!(said.ends_with("nothing was written"), "{said}");
}

/// The partitions as other crates read them; where they can, see docs/DESIGN.md.
mod peers {
    use super::*;

    pub fn assert_read(device: &Shared<MemoryDevice>, facts: &Facts, unit: u64) {
        let of = |kind: &str| -> Vec<(u64, u64)> {
            let own = facts.partitions.iter().filter(|held| held.place.starts_with(kind));
            let mut own: Vec<_> =
                own.map(|held| (held.bytes.start / unit, held.bytes.end / unit - 1)).collect();
            own.sort_unstable();
            own
        };
        let header = get(device, unit, 512);
        if facts.protective.is_empty() {
            if suits_mbrman(facts) {
                let mut both = [of("MBR"), logicals(facts, unit)].concat();
                both.sort_unstable();
                assert_eq!(with_mbrman(device, unit), both);
            }
        } else if word(&header, 12) == 92 && word(&header, 84) == 128 {
            // Neither takes another size of the header or of entries.
            assert_eq!(with_gptman(device, unit), of("GPT"));
            assert_eq!(with_gpt(device, unit), of("GPT"));
        }
    }

    fn is_container(held: &&Held) -> bool {
        matches!(held.rest[1], 0x05 | 0x0F | 0x85)
    }

    fn logicals(facts: &Facts, unit: u64) -> Vec<(u64, u64)> {
        let records =
            facts.partitions.iter().filter(|held| held.place.starts_with("EBR") && !is_container(held));
        records.map(|held| (held.bytes.start / unit, held.bytes.end / unit - 1)).collect()
    }

    /// Whether mbrman reads the table: it wants a chain in the order of the disk, with a partition in every record, and
    /// knows no partition that begins in sector 0.
    fn suits_mbrman(facts: &Facts) -> bool {
        let containers =
            facts.partitions.iter().filter(|held| held.place.starts_with("MBR")).filter(is_container);
        let records = facts.areas.len() - 1;
        if facts.partitions.iter().any(|held| held.bytes.start == 0) {
            return false;
        }
        match containers.count() {
            0 => true,
            1 => facts.areas.is_sorted_by_key(|area| area.start) && logicals(facts, 512).len() == records,
            _ => false,
        }
    }

    fn with_gpt(device: &Shared<MemoryDevice>, unit: u64) -> Vec<(u64, u64)> {
        let lb_size = gpt::disk::LogicalBlockSize::try_from(unit).unwrap();
        let config = gpt::GptConfig::new().writable(false).logical_block_size(lb_size);
        let disk = config.open_from_device(Stream::over(device.clone())).unwrap();
        let mut found: Vec<_> =
            disk.partitions().values().map(|partition| (partition.first_lba, partition.last_lba)).collect();
        found.sort_unstable();
        found
    }

    fn with_gptman(device: &Shared<MemoryDevice>, unit: u64) -> Vec<(u64, u64)> {
        let table = gptman::GPT::read_from(&mut Stream::over(device.clone()), unit).unwrap();
        let used = table.iter().filter(|(_, partition)| partition.is_used());
        let mut found: Vec<_> =
            used.map(|(_, partition)| (partition.starting_lba, partition.ending_lba)).collect();
        found.sort_unstable();
        found
    }

    fn with_mbrman(device: &Shared<MemoryDevice>, unit: u64) -> Vec<(u64, u64)> {
        let sector = u32::try_from(unit).unwrap();
        let table = mbrman::MBR::read_from(&mut Stream::over(device.clone()), sector).unwrap();
        let used = table.iter().filter(|(_, partition)| partition.is_used());
        let mut found: Vec<_> = used
            .map(|(_, partition)| {
                let first = u64::from(partition.starting_lba);
                (first, first + u64::from(partition.sectors) - 1)
            })
            .collect();
        found.sort_unstable();
        found
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Any table

/// A disk with a table.
#[derive(Clone)]
struct Existing {
    image: Image,
    unit: u64,
    /// What the other size cannot have, as a refusal names it: "partition 3".
    offenders: Vec<String>,
}

/// What a failure prints: an image as lists of numbers would fill pages.
impl fmt::Debug for Existing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} bytes in sectors of {}; to refuse: {:?}",
            self.image.size, self.unit, self.offenders
        )?;
        let facts = Facts::of(&common::memory(&self.image), self.unit);
        for held in facts.partitions {
            writeln!(f, "  {}: {:?}", held.place, held.bytes)?;
        }
        writeln!(
            f,
            "  table at {:?}, {:?} usable, {:?} protected",
            facts.areas, facts.usable, facts.protective
        )
    }
}

/// Partitions of both sizes, or anywhere.
fn placed(count: usize, unit: u64, from: u64, to: u64) -> impl Strategy<Value = Vec<layouts::Placed>> {
    (prop::bool::weighted(0.85)).prop_flat_map(move |whole| {
        let scale = if whole { 4096 / unit } else { 1 };
        let (from, to) = (from.div_ceil(scale), ((to + 1) / scale).saturating_sub(1));
        layouts::apart(count, from.min(to), to).prop_map(move |mut placed| {
            for placed in &mut placed {
                placed.first *= scale;
                placed.last = (placed.last + 1) * scale - 1;
            }
            placed
        })
    })
}

fn is_whole(placed: &layouts::Placed, unit: u64) -> bool {
    (placed.first * unit).is_multiple_of(other(unit))
        && ((placed.last + 1) * unit).is_multiple_of(other(unit))
}

/// GPTs that both sizes can describe exactly: arrays at a byte that is a sector of both, or in the usual place.
fn gpt() -> impl Strategy<Value = Existing> {
    let entry =
        (select(vec![128_u32, 128, 128, 256, 512]), prop_oneof![3 => Just(128_u32), 2 => 4_u32..=256]);
    let moved = prop::option::weighted(0.3, 3_u64..1000);
    let shape = (select(vec![512_u64, 4096]), 25_u32..45, 0_u64..4000, entry, moved);
    let more = (0_u32..420, 0_u8..3, 0_u8..2, any::<bool>(), any::<u8>());
    (shape, more).prop_flat_map(
        |((unit, log, extra, (entry_size, entry_count), moved), (header, first, last, hybrid, code))| {
            let image_size = (1_u64 << log) + extra * 512;
            let sectors = image_size / unit;
            let entries_len = u64::from(entry_count) * u64::from(entry_size);
            let array = entries_len.div_ceil(unit);
            let primary_array = moved.map(|block| block * 4096 / unit);
            let backup = sectors - 1 - array;
            // Where the first copy ends and the backup begins in sectors of a size, in bytes.
            let behind =
                |unit| moved.map_or(2 * unit, |block| block * 4096) + entries_len.next_multiple_of(unit);
            let before = |unit: u64| image_size / unit * unit - unit - entries_len.next_multiple_of(unit);
            let clear = behind(4096).max(behind(512)).next_multiple_of(4096);
            // Right behind the usual place of the array; where fdisk has it; or somewhere behind the array.
            let first_usable = match first {
                0 if moved.is_none() => behind(unit),
                1 if clear <= MIB => MIB,
                _ => clear + 4096,
            };
            // Right before the backup; or as far from the end as the first is from the start, as gdisk has it.
            let symmetric = (image_size - first_usable) / 4096 * 4096;
            let is_last = last == 0 || symmetric >= before(512).min(before(4096));
            let first_usable = first_usable / unit;
            let last_usable = if is_last { backup - 1 } else { symmetric / unit - 1 };
            let spec = GptSpec {
                sector_size: unit,
                disk_id: [code; 16],
                entry_count,
                entry_size,
                header_size: if header % 2 == 0 { 92 } else { 92 + header },
                primary_array,
                first_usable: Some(first_usable),
                last_usable: Some(last_usable),
                ..GptSpec::default()
            };
            let partitions = placed(6, unit, first_usable, last_usable);
            (partitions, layouts::slots(entry_count)).prop_map(move |(placed, slots)| {
                let entries: Vec<GptEntry> =
                    slots.iter().zip(&placed).map(|(slot, placed)| placed.entry(*slot)).collect();
                let mut image = Image::blank(image_size);
                fixtures::gpt::write(&mut image, &GptSpec { entries: entries.clone(), ..spec.clone() });
                image.put(0, &[code; 446]);
                if hybrid {
                    mirror(&mut image, &entries);
                }
                let taken = places(&spec, image_size);
                let bytes = |entry: &GptEntry| entry.first * unit..(entry.last + 1) * unit;
                let meets = |entry: &GptEntry| {
                    let held = bytes(entry);
                    taken.iter().any(|area| held.start < area.end && area.start < held.end)
                };
                let refused = entries.iter().zip(&placed);
                let refused = refused.filter(|(entry, placed)| meets(entry) || !is_whole(placed, unit));
                let mut offenders: Vec<String> =
                    refused.map(|(entry, _)| format!("partition {}", entry.slot + 1)).collect();
                offenders.extend(mirrored(&image, unit));
                Existing { image, unit, offenders }
            })
        },
    )
}

/// Where a GPT has its parts in the other sector size, whatever the partitions.
fn places(spec: &GptSpec, size: u64) -> [Range<u64>; 3] {
    let to = other(spec.sector_size);
    let array = u64::from(spec.entry_count * spec.entry_size).next_multiple_of(to);
    let primary = spec.primary_array.map_or(2 * to, |array| array * spec.sector_size);
    let end = size / to * to;
    [0..2 * to, primary..primary + array, end - to - array..end]
}

/// Lists the first partitions beside the protective entry too, as sgdisk does it.
fn mirror(image: &mut Image, entries: &[GptEntry]) {
    let narrow = |entry: &&GptEntry| u32::try_from(entry.last + 1).is_ok();
    let entries: Vec<_> = entries.iter().filter(narrow).take(3).collect();
    for (slot, entry) in (1_u64..).zip(&entries) {
        let mut bytes = [0; 16];
        bytes[4] = 0x83;
        bytes[8..12].copy_from_slice(&u32::try_from(entry.first).unwrap().to_le_bytes());
        bytes[12..].copy_from_slice(&u32::try_from(entry.last - entry.first + 1).unwrap().to_le_bytes());
        image.put(446 + 16 * slot, &bytes);
    }
    if let Some(first) = entries.iter().map(|entry| entry.first).min() {
        image.put(446 + 12, &u32::try_from(first - 1).unwrap().to_le_bytes());
    }
}

/// The entries of sector 0 that do not fit into 32 bits in the other size.
fn mirrored(image: &Image, unit: u64) -> Vec<String> {
    let front = image.get(0, 512);
    let fits = |entry: &[u8]| {
        let numbers = [word(entry, 8), word(entry, 12)];
        entry[4] == 0xEE || numbers.iter().all(|number| number * unit / other(unit) <= u64::from(u32::MAX))
    };
    let entries = front[446..510].chunks(16).zip(1..);
    entries.filter(|(entry, _)| !fits(entry)).map(|(_, number)| format!("partition {number}")).collect()
}

fn narrow(lba: u64) -> u32 {
    u32::try_from(lba).unwrap()
}

/// Types that are no containers and mean something.
fn type_byte(placed: &layouts::Placed) -> u8 {
    if matches!(placed.kind[0], 0 | 0x05 | 0x0F | 0x85 | 0xC5 | 0xD5 | 0xEE) { 0x83 } else { placed.kind[0] }
}

/// MBRs with partitions anywhere, and a container with a chain in any order, or an empty one.
fn mbr() -> impl Strategy<Value = Existing> {
    let unit = select(vec![512_u64, 4096]);
    let container = prop::option::of((any::<Index>(), select(vec![0x05_u8, 0x0F, 0x85])));
    let shape = (unit, 40_000_u64..1 << 33, prop::bool::weighted(0.8), container, any::<u8>(), any::<bool>());
    shape.prop_flat_map(|(unit, sectors, small, container, code, foreign)| {
        let sectors = if small { 40_000 + sectors % 10_000_000 } else { sectors };
        let end = sectors.min(u64::from(u32::MAX)) - 1;
        (placed(4, unit, 8, end), layouts::slots(4)).prop_flat_map(move |(placed, slots)| {
            let mut entries = vec![MbrEntry::default(); 4];
            for (slot, placed) in slots.iter().zip(&placed) {
                entries[*slot as usize] = MbrEntry {
                    boot: if *slot == 1 { 0x80 } else { 0 },
                    kind: type_byte(placed),
                    start: narrow(placed.first),
                    sectors: narrow(placed.last - placed.first + 1),
                };
            }
            let container = container.filter(|_| !placed.is_empty()).map(|(index, kind)| {
                let at = index.index(placed.len());
                entries[slots[at] as usize].kind = kind;
                (slots[at] + 1, placed[at].first, placed[at].last)
            });
            let (from, to) = container.map_or((8, 8), |(_, first, last)| (first + 8, last.max(first + 8)));
            let inside =
                (self::placed(6, unit, from, to), Just((0..6).collect::<Vec<usize>>()).prop_shuffle());
            let numbers: Vec<(u32, layouts::Placed)> =
                slots.into_iter().map(|slot| slot + 1).zip(placed).collect();
            inside.prop_map(move |(inside, order)| {
                let mut image = Image::blank(sectors * unit);
                image.put(0, &[code; 446]);
                fixtures::mbr::write(&mut image, unit, 0xD15C_0000 + u32::from(code), &entries);
                let mut offenders = offenders(&numbers, unit);
                if let Some((number, start, last)) = container {
                    let room = |placed: &&layouts::Placed| {
                        placed.last <= last && placed.last - placed.first >= 4096 / unit
                    };
                    let chain = order.iter().filter_map(|at| inside.get(*at)).filter(room).enumerate();
                    let chain: Vec<Logical> =
                        chain.map(|(index, placed)| logical(index, placed, start, unit)).collect();
                    fixtures::mbr::write_chain(&mut image, unit, narrow(start), &chain);
                    offenders.extend(logical_offenders(&chain, number, start, unit));
                }
                if foreign {
                    // 4 heads and 32 sectors, as parted counts on images.
                    image.put(447, &[0, 1, 16]).put(451, &[3, 0x20 | 0xC0, 31]);
                }
                Existing { image, unit, offenders }
            })
        })
    })
}

fn fits(number: u64, unit: u64) -> bool {
    number * unit / other(unit) <= u32::MAX.into()
}

fn offenders(numbers: &[(u32, layouts::Placed)], unit: u64) -> Vec<String> {
    let bad = numbers.iter().filter(|(_, placed)| {
        !is_whole(placed, unit) || !fits(placed.first, unit) || !fits(placed.last - placed.first + 1, unit)
    });
    bad.map(|(number, _)| format!("partition {number}")).collect()
}

/// A logical partition somewhere in its range behind its record; the first of a chain has it where the container
/// begins.
fn logical(index: usize, placed: &layouts::Placed, container: u64, unit: u64) -> Logical {
    let scale = if is_whole(placed, unit) { 4096 / unit } else { 1 };
    let room = (placed.last - placed.first + 1) / scale - 1;
    let start = placed.first + scale * (1 + placed.attributes % room.max(1)).min(room);
    Logical {
        ebr: narrow(if index == 0 { container } else { placed.first }),
        kind: type_byte(placed),
        start: narrow(start),
        sectors: narrow(placed.last - start + 1),
    }
}

fn logical_offenders(chain: &[Logical], container: u32, start: u64, unit: u64) -> Vec<String> {
    let whole = |lba: u64| (lba * unit).is_multiple_of(other(unit));
    let mut offenders = Vec::new();
    for (logical, number) in chain.iter().zip(5..) {
        let (ebr, first, sectors) =
            (u64::from(logical.ebr), u64::from(logical.start), u64::from(logical.sectors));
        let is_whole = [ebr, first, first + sectors].into_iter().all(whole);
        let fits =
            [ebr - start, first - ebr, first + sectors - ebr].into_iter().all(|number| fits(number, unit));
        if !is_whole || !fits {
            offenders.push(format!("partition {number}"));
        }
    }
    if chain.is_empty() && !whole(start) {
        offenders.push(format!("partition {container}"));
    }
    offenders
}

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn any_gpt_keeps_its_partitions_there_and_back_or_is_refused(existing in gpt()) {
        assert_kept_or_refused(&existing);
    }

    #[test]
    fn any_mbr_keeps_its_partitions_there_and_back_or_is_refused(existing in mbr()) {
        assert_kept_or_refused(&existing);
    }
}

fn assert_kept_or_refused(existing: &Existing) {
    match assert_there_and_back(&existing.image, existing.unit) {
        Ok(()) => assert!(existing.offenders.is_empty(), "{:?} was not refused", existing.offenders),
        Err(error) => assert_refused(&error, &existing.offenders),
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Tables of other tools

/// What comes of a table that a tool made.
enum Comes {
    /// It is converted, and back again it is the same.
    Back,
    /// It is converted, and mended on the way: its backup was not at the end of the disk.
    There,
    /// It is refused with these words.
    Refused(&'static str),
}
use Comes::{Back, Refused, There};

const OF_TOOLS: &[(&str, Comes)] = &[
    ("fdisk-gpt-4096", Back),
    ("fdisk-mbr-4096", Back),
    ("fdisk-mbr-chain-out-of-order", Refused("partition 6: its boot record (EBR) at byte 6291968")),
    ("mkfs-fat-mbr", Back),
    ("parted-gpt", Refused("partition 2 ends at byte 33537536")),
    ("parted-mbr-extended-empty", Back),
    ("parted-mbr-logicals", Back),
    ("sfdisk-gpt", Back),
    ("sfdisk-gpt-4-entries", Back),
    ("sfdisk-gpt-grown", There),
    ("sfdisk-mbr-first-ebr-empty", Back),
    ("sfdisk-mbr-first-logical-deleted", Back),
    ("sfdisk-mbr-logicals", Back),
    ("sfdisk-mbr-over-gpt", Back),
    ("sfdisk-mbr-second-ebr-empty", Back),
    ("sgdisk-gpt-256-entries", Back),
    ("sgdisk-gpt-bios-boot-at-34", Refused("partition 1 begins at byte 17408")),
    ("sgdisk-gpt-gaps", Back),
    ("sgdisk-gpt-hybrid", Back),
    ("sgdisk-gpt-moved-array", Back),
    ("xorriso-isohybrid", Back),
    ("xorriso-isohybrid-efi", Back),
];

#[test]
fn tables_of_other_tools_are_converted_or_refused() {
    for (name, comes) in OF_TOOLS {
        let recorded = fixtures::recorded::named(name);
        let image = recorded.image();
        let unit = recorded.sector_size;
        let refused = match comes {
            Back => assert_there_and_back(&image, unit).err(),
            There | Refused(_) => assert_there(&image, unit).err(),
        };
        let said = refused.map(|error| error.to_string()).unwrap_or_default();
        match comes {
            Back | There => assert_eq!(said, "", "{name}"),
            Refused(words) => assert!(!said.is_empty() && said.contains(words), "{name}: {said}"),
        }
    }
}

fn assert_there(image: &Image, unit: u64) -> Result<(), WriteError> {
    let scene = Scene::new(image);
    let proposal = scene.convert(unit)?;
    proposal.patch.write(&scene.device).unwrap();
    assert_eq!(proposal.after.table.health.word(), "ok");
    let places = |report: &Report, unit: u64| -> Vec<(u32, u64)> {
        let partitions = report.partitions.iter().map(|report| &report.partition);
        partitions.map(|partition| (partition.number, partition.first.number() * unit)).collect()
    };
    assert_eq!(places(&proposal.after, other(unit)), places(&proposal.before, unit));
    assert_eq!(scene.facts(other(unit)).partitions.len(), proposal.before.partitions.len());
    Ok(())
}

#[test]
fn every_recorded_table_is_in_the_list() {
    let tables = fixtures::recorded::all().into_iter().filter(|recorded| {
        let table = Scene::new(&recorded.image());
        check::examine(&table.disk, &Options::default())
            .is_ok_and(|(report, _)| report.table.label.is_some_and(|label| label.word() != "none"))
    });
    let missing: Vec<String> = tables
        .map(|recorded| recorded.name)
        .filter(|name| OF_TOOLS.iter().all(|(listed, _)| listed != name))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

// ---------------------------------------------------------------------------------------------------------------
// One thing each

fn entry(slot: u32, first: u64, last: u64) -> GptEntry {
    let kind = fixtures::guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4");
    GptEntry { slot, kind, id: [slot as u8 + 1; 16], first, last, ..GptEntry::default() }
}

fn gpt_of(size: u64, spec: GptSpec) -> Image {
    let mut image = Image::blank(size);
    fixtures::gpt::write(&mut image, &GptSpec { disk_id: [0xD1; 16], ..spec });
    image
}

fn mbr_of(size: u64, unit: u64, entries: &[MbrEntry]) -> Image {
    let mut image = Image::blank(size);
    fixtures::mbr::write(&mut image, unit, 1, entries);
    image
}

fn primary(kind: u8, start: u32, sectors: u32) -> MbrEntry {
    MbrEntry { boot: 0, kind, start, sectors }
}

#[test]
fn refusals_name_the_partition_and_why() {
    let gpt = |entries: Vec<GptEntry>| gpt_of(64 * MIB, GptSpec { entries, ..GptSpec::default() });
    // It ends inside a sector of 4096 bytes, where a table in sectors of 512 has more room.
    let odd = |entries: Vec<GptEntry>, primary_array: Option<u64>| {
        let first_usable = Some(2048);
        let last_usable = primary_array.map(|array| array - 1);
        gpt_of(
            64 * MIB + 1536,
            GptSpec { entries, primary_array, first_usable, last_usable, ..GptSpec::default() },
        )
    };
    let mut stray = gpt(vec![entry(0, 2048, 4095)]);
    stray.put(462, &[0, 0, 0, 0, 0x83, 0, 0, 0, 40, 0, 0, 0, 8, 0, 0, 0]);
    let mut cut = stray.clone();
    cut.put(462 + 8, &[1, 16, 0, 0, 8, 0, 0, 0]);
    let chain = |ebr: u32| {
        let mut image = mbr_of(64 * MIB, 512, &[primary(0x05, 2048, 8192)]);
        let logical = |ebr: u32, start: u32| Logical { ebr, kind: 0x83, start, sectors: 1024 };
        fixtures::mbr::write_chain(&mut image, 512, 2048, &[logical(2048, 4096), logical(ebr, ebr + 1024)]);
        image
    };
    let odd_chain = {
        let mut image = mbr_of(64 * MIB, 512, &[MbrEntry::default(), primary(0x05, 2049, 8192)]);
        fixtures::mbr::write_chain(&mut image, 512, 2049, &[]);
        image
    };
    let far = |start: u32, sectors: u32| mbr_of(20 << 40, 4096, &[primary(0x83, start, sectors)]);
    let far_logical = {
        let mut image = mbr_of(20 << 40, 4096, &[primary(0x05, 256, 0x2000_0000)]);
        let logical = Logical { ebr: 256, kind: 0x83, start: 512, sectors: 0x1FFF_FE00 };
        let second = Logical { ebr: 0x2000_0000, kind: 0x83, start: 0x2000_0010, sectors: 16 };
        fixtures::mbr::write_chain(&mut image, 4096, 256, &[Logical { sectors: 1024, ..logical }, second]);
        image
    };
    let mut broken = chain(6144);
    broken.put(6144 * 512 + 510, &[0, 0]);
    let mut damaged = gpt(vec![entry(0, 2048, 4095)]);
    damaged.put(600, &[1]);
    for (image, unit, words) in [
        (
            gpt(vec![entry(4, 2047, 4095)]),
            512,
            "partition 5 begins at byte 1048064, which is no multiple of 4096",
        ),
        (
            gpt(vec![entry(4, 2048, 4094)]),
            512,
            "partition 5 ends at byte 2096640, which is no multiple of 4096",
        ),
        (
            gpt(vec![entry(6, 40, 55)]),
            512,
            "partition 7 lies where a GPT in sectors of 4096 bytes has its own place (bytes 8192 to 24576)",
        ),
        (
            odd(vec![entry(2, 4096, 131_039)], None),
            512,
            "partition 3 lies where a GPT in sectors of 4096 bytes has its own place (bytes 67088384 to 67108864)",
        ),
        (odd(Vec::new(), Some(131_008)), 512, "in the other size its array of entries would meet the backup"),
        (stray, 512, "in the hybrid MBR, partition 2 lies where a GPT"),
        (cut, 512, "in the hybrid MBR, partition 2 begins at byte 2097664, which is no multiple of 4096"),
        (mbr_of(64 * MIB, 512, &[primary(7, 63, 8001)]), 512, "partition 1 begins at byte 32256"),
        (
            mbr_of(64 * MIB, 512, &[MbrEntry::default(), primary(7, 64, 8001)]),
            512,
            "partition 2 ends at byte",
        ),
        (
            chain(6147),
            512,
            "partition 6: its boot record (EBR) at byte 3147264 is on no sector of 4096 bytes",
        ),
        (odd_chain, 512, "partition 2 begins at byte 1049088"),
        (broken, 512, "its partition table is not whole"),
        (damaged, 512, "its partition table is not whole"),
        (
            far(0x2000_0000, 16),
            4096,
            "partition 1: sectors 536870912 to 536870927 cannot be written in an MBR",
        ),
        (far(256, 0x2000_0000), 4096, "partition 1: sectors 256 to 536871167 cannot be written in an MBR"),
        (far_logical, 4096, "partition 1: sectors 256 to 536871167 cannot be written in an MBR"),
        (Image::blank(MIB), 512, "there is no partition table"),
    ] {
        let scene = Scene::new(&image);
        let said = scene.convert(unit).map(|proposal| proposal.what).unwrap_err().to_string();
        assert!(said.contains(words), "{said}\n  should say {words}");
        assert!(said.ends_with("; nothing was written"), "{said}");
    }
}

#[test]
fn what_protects_a_large_disk_is_as_long_as_it_can_be_in_either_size() {
    for (size, small, large) in [
        (3 << 40, u32::MAX, 805_306_367),
        ((3 << 40) + 512, u32::MAX, 805_306_367),
        (20 << 40, u32::MAX, u32::MAX),
        (1 << 40, 2_147_483_647, 268_435_455),
    ] {
        for (unit, other_unit, [before, after]) in [(512, 4096, [small, large]), (4096, 512, [large, small])]
        {
            let mib = MIB / unit;
            let entries = vec![entry(0, mib, size / 2 / MIB * mib - 1)];
            let mut image = gpt_of(size, GptSpec { sector_size: unit, entries, ..GptSpec::default() });
            image.put(446 + 12, &before.to_le_bytes());
            assert_there_and_back(&image, unit).unwrap();
            let scene = Scene::new(&image);
            scene.converted(unit).unwrap();
            assert_eq!(scene.facts(other_unit).protective, [(1, u64::from(after))], "{size}");
        }
    }
}

/// Windows protects any disk with as much as an entry can say.
#[test]
fn what_protects_more_than_the_disk_stays() {
    for unit in [512, 4096] {
        let mut image = gpt_of(64 * MIB, GptSpec { sector_size: unit, ..GptSpec::default() });
        image.put(446 + 12, &[0xFF; 4]);
        assert_there_and_back(&image, unit).unwrap();
        let scene = Scene::new(&image);
        scene.converted(unit).unwrap();
        assert_eq!(scene.facts(other(unit)).protective, [(1, u64::from(u32::MAX))]);
    }
}

#[test]
fn beside_the_entries_of_a_hybrid_what_protects_covers_the_rest() {
    for unit in [512, 4096] {
        let mib = MIB / unit;
        let entries = vec![entry(0, mib, 2 * mib - 1), entry(1, 4 * mib, 5 * mib - 1)];
        let mut image =
            gpt_of(64 * MIB, GptSpec { sector_size: unit, entries: entries.clone(), ..GptSpec::default() });
        mirror(&mut image, &entries);
        // A second one behind the partitions, up to the end of the disk, as gdisk offers it.
        let mut rest = [0, 0, 0, 0, 0xEE, 0, 0, 0].to_vec();
        rest.extend(u32::try_from(5 * mib).unwrap().to_le_bytes());
        rest.extend(u32::try_from(59 * mib).unwrap().to_le_bytes());
        image.put(446 + 48, &rest);
        assert_there_and_back(&image, unit).unwrap();
        let scene = Scene::new(&image);
        scene.converted(unit).unwrap();
        let new = MIB / other(unit);
        assert_eq!(scene.facts(other(unit)).protective, [(1, new - 1), (5 * new, 59 * new)]);
    }
}

#[test]
fn garbage_in_the_last_slots_of_a_boot_record_stays() {
    let mut image = mbr_of(64 * MIB, 512, &[primary(0x05, 2048, 8192)]);
    fixtures::mbr::write_chain(
        &mut image,
        512,
        2048,
        &[Logical { ebr: 2048, kind: 0x83, start: 4096, sectors: 1024 }],
    );
    image.put(2048 * 512 + 446 + 32, &[0xAB; 32]);
    assert_there_and_back(&image, 512).unwrap();
    let scene = Scene::new(&image);
    scene.converted(512).unwrap();
    assert_eq!(get(&scene.device, 2048 * 512 + 446 + 32, 32), [0xAB; 32]);
}

/// Of an address by cylinder only one in our geometry is understood.
#[test]
fn addresses_in_another_geometry_stay_and_ours_follow() {
    let mut image = mbr_of(64 * MIB, 512, &[primary(0x83, 2048, 2048), primary(0x83, 4096, 2048)]);
    image.put(447, &[0, 1, 16]).put(451, &[3, 32, 31]);
    let scene = Scene::new(&image);
    scene.converted(512).unwrap();
    let front = get(&scene.device, 446, 32);
    assert_eq!((&front[1..4], &front[5..8]), (&[0, 1, 16][..], &[3, 32, 31][..]));
    let ours = [fixtures::mbr::chs(512), fixtures::mbr::chs(767)];
    assert_eq!((&front[17..20], &front[21..24]), (&ours[0][..], &ours[1][..]));
    assert_there_and_back(&image, 512).unwrap();
}

#[test]
fn a_size_that_the_table_has_changes_nothing() {
    for unit in [512, 4096] {
        let mib = MIB / unit;
        let image = gpt_of(
            64 * MIB,
            GptSpec { sector_size: unit, entries: vec![entry(0, mib, 2 * mib)], ..GptSpec::default() },
        );
        let scene = Scene::new(&image);
        let to = SectorSize::new(unit).unwrap();
        let proposal = Proposal::of_conversion(&scene.disk, to, &Options::default(), false).unwrap();
        assert!(proposal.changes_nothing());
        assert_eq!(proposal.what, format!("its table counts in sectors of {unit} bytes already"));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What is in the partitions

fn boot_sector(name: &[u8; 8], sector: u16) -> Vec<u8> {
    let mut front = vec![0; 4096];
    front[..3].copy_from_slice(&[0xEB, 0x3C, 0x90]);
    front[3..11].copy_from_slice(name);
    front[11..13].copy_from_slice(&sector.to_le_bytes());
    front[13..22].copy_from_slice(&[4, 1, 0, 2, 0, 2, 0, 2, 0xF8]);
    front[0x6C] = u8::try_from(sector.trailing_zeros()).unwrap();
    front[510..512].copy_from_slice(&[0x55, 0xAA]);
    front
}

fn xfs(sector: u16) -> Vec<u8> {
    let mut front = vec![0; 4096];
    front[..4].copy_from_slice(b"XFSB");
    front[102..104].copy_from_slice(&sector.to_be_bytes());
    front
}

fn ext4(log: u8) -> Vec<u8> {
    let mut front = vec![0; 4096];
    front[1024..1032].copy_from_slice(&[0, 1, 0, 0, 0, 4, 0, 0]);
    front[0x418] = log;
    front[0x438..0x43A].copy_from_slice(&[0x53, 0xEF]);
    front[0x460] = 0x42;
    front
}

#[test]
fn what_will_not_work_is_named_with_what_to_do() {
    let contents = [
        (boot_sector(b"MSDOS5.0", 512), "FAT", [false, true]),
        (boot_sector(b"MSDOS5.0", 4096), "FAT", [true, false]),
        (boot_sector(b"NTFS    ", 512), "NTFS", [false, true]),
        (boot_sector(b"NTFS    ", 4096), "NTFS", [true, false]),
        (boot_sector(b"EXFAT   ", 512), "exFAT", [false, true]),
        (boot_sector(b"EXFAT   ", 4096), "exFAT", [true, false]),
        (xfs(512), "XFS", [false, true]),
        (xfs(4096), "XFS", [false, false]),
        (ext4(0), "ext4", [false, true]),
        (ext4(2), "ext4", [false, false]),
    ];
    for (unit, toward) in [(512, 1), (4096, 0)] {
        let mib = MIB / unit;
        let entries = (0_u32..).zip(&contents).map(|(slot, _)| {
            let first = u64::from(slot + 1) * mib;
            entry(slot, first, first + mib - 1)
        });
        let mut image =
            gpt_of(64 * MIB, GptSpec { sector_size: unit, entries: entries.collect(), ..GptSpec::default() });
        for (at, (front, ..)) in (MIB..).step_by(usize::try_from(MIB).unwrap()).zip(&contents) {
            image.put(at, front);
        }
        let proposal = Scene::new(&image).convert(unit).unwrap();
        let named = |number: u32| {
            let code = Code::ContentOtherSectorSize;
            proposal
                .after
                .findings
                .iter()
                .find(|finding| finding.code == code && finding.partition == Some(number))
        };
        for ((_, name, minds), number) in contents.iter().zip(1..) {
            let finding = named(number);
            assert_eq!(finding.is_some(), minds[toward], "{number}: {name} to {}", other(unit));
            let Some(finding) = finding else { continue };
            assert!(
                finding.message.contains(name) && finding.help.contains("copy what it holds"),
                "{finding:?}"
            );
            let warning = proposal
                .warnings
                .iter()
                .find(|text| text.contains(&format!("partition {number} holds {name}")));
            assert!(warning.is_some(), "{:#?}", proposal.warnings);
        }
    }
}

#[test]
fn the_undo_of_a_conversion_takes_no_partition_away() {
    for unit in [512, 4096] {
        // From 1 MiB to 11 MiB.
        let (first, sectors) = (MIB / unit, 10 * MIB / unit);
        let mut mbr = mbr_of(64 * MIB, unit, &[primary(0x83, narrow(first), narrow(sectors))]);
        mbr.put(MIB, &ext4(2));
        let entries = vec![entry(0, first, first + sectors - 1)];
        let gpt = gpt_of(64 * MIB, GptSpec { sector_size: unit, entries, ..GptSpec::default() });
        for image in [mbr, gpt] {
            let folder = common::scratch();
            let path = folder.path().join("disk.img");
            image.write_to(&path).unwrap();
            let disk = || Disk::open(&path).unwrap();
            let options = Options::default();
            let to = SectorSize::new(other(unit)).unwrap();
            let converted = Proposal::of_conversion(&disk(), to, &options, false).unwrap();
            let place = BackupPlace::Folder(Folder::at(folder.path().join("backups")));
            let backup = converted.commit(&place).unwrap().backup.unwrap();
            let undo = Proposal::of_undo(&disk(), backup, &options, false).unwrap();
            assert_eq!(undo.warnings, Vec::<String>::new());
            // The table that comes back counts in its own sectors again.
            let partition = &undo.after.partitions[0].partition;
            assert_eq!(undo.after.table.sector_size, SectorSize::new(unit));
            assert_eq!((partition.first.number(), partition.sectors()), (first, Some(sectors)));
        }
    }
}
