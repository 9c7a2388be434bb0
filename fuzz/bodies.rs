//! What each fuzz target does with its input. The ordinary tests replay the corpora through the same functions.
#![allow(dead_code, reason = "each target uses one of them")]

use std::path::Path;

use align_core::check::{self, Options, Report, Verdict};
use align_core::compose;
use align_core::device::{BlockDevice, Disk, FaultDevice, MemoryDevice, Reader};
use align_core::patch::Backup;
use align_core::plan::{Align, Layout, Medium, Request, TableKind};
use align_core::realign::{self, Mover, Quiet};
use align_core::table::{Label, Table};
use align_core::topology::{Reported, Topology};
use align_core::units::{SectorSize, Size};
use alignck::json::PlanDocument;

#[path = "../tests/common/invariants.rs"]
mod invariants;

/// No disk, however hostile, costs more reads than this: 256 links, arrays of 2 GiB in steps of 1 MiB twice over,
/// and what is looked at besides.
const MOST_READS: u64 = 256 + 2 * 2 * 2048 + 64;
/// Nor more memory at once than one step.
const LARGEST_READ: u64 = 1 << 20;

/// An MBR with its chains. The input is a byte of flags, then records of an LBA (4 bytes) and the last 66 bytes of
/// the sector there; the first is sector 0 whatever its LBA says.
pub fn mbr(data: &[u8]) {
    let Some((flags, _)) = data.split_first() else { return };
    let Some((sector, disk)) = mbr_disk(data) else { return };
    look(disk, *flags & 4 != 0, sector);
}

fn mbr_disk(data: &[u8]) -> Option<(SectorSize, MemoryDevice)> {
    let (flags, records) = data.split_first()?;
    let sector = sector_size(*flags);
    let disk = MemoryDevice::new(1 << 44);
    for (index, record) in records.chunks_exact(70).enumerate() {
        let lba = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
        let offset = if index == 0 { 0 } else { u64::from(lba) * sector.bytes() };
        disk.write_at(offset + 446, &record[4..]).expect("2^32 sectors of 4096 bytes fit the disk");
    }
    Some((sector, disk))
}

/// A GPT of which only the checksums are made right. The input is a byte of flags, the logarithm of the disk's
/// size, the 92 bytes of a header, and the array.
pub fn gpt(data: &[u8]) {
    let Some((flags, _)) = data.split_first() else { return };
    let Some((sector, disk)) = gpt_disk(data) else { return };
    look(disk, flags & 4 != 0, sector);
}

fn gpt_disk(data: &[u8]) -> Option<(SectorSize, MemoryDevice)> {
    let (flags, rest) = data.split_first()?;
    let (exponent, rest) = rest.split_first()?;
    let (header, array) = rest.split_at_checked(92)?;
    let sector = sector_size(*flags);
    // Larger disks only make larger arrays legal, and each try slower.
    let size = 1_u64 << (17 + exponent % 12);
    let disk = MemoryDevice::new(size);
    let protective = [0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF];
    disk.write_at(446, &protective).expect("the disk is larger");
    disk.write_at(510, &[0x55, 0xAA]).expect("the disk is larger");

    let mut header = header.to_vec();
    header[..8].copy_from_slice(b"EFI PART");
    let field = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let (my_lba, array_lba) = (field(24), field(72));
    let byte = |lba: u64| lba.checked_mul(sector.bytes());
    if let Some(offset) = byte(array_lba) {
        // Off the disk there is nothing to write.
        let _ = disk.write_at(offset, array);
    }
    let count = u32::from_le_bytes(header[80..84].try_into().expect("four bytes"));
    let entry_size = u32::from_le_bytes(header[84..88].try_into().expect("four bytes"));
    let len = usize::try_from(u64::from(count) * u64::from(entry_size)).unwrap_or(usize::MAX);
    if len <= 1 << 20 {
        let mut covered = array.to_vec();
        covered.resize(len, 0);
        header[88..92].copy_from_slice(&crc32fast::hash(&covered).to_le_bytes());
    }
    // A header size of 92, since only so many bytes are given.
    header[12..16].copy_from_slice(&92_u32.to_le_bytes());
    header[16..20].fill(0);
    let crc = crc32fast::hash(&header);
    header[16..20].copy_from_slice(&crc.to_le_bytes());
    if let Some(offset) = byte(my_lba) {
        let _ = disk.write_at(offset, &header);
    }
    Some((sector, disk))
}

/// Any bytes as a whole image.
pub fn image(data: &[u8]) {
    look(MemoryDevice::from_bytes(data), false, SectorSize::B512);
    let stream = Disk::stream("fuzz", std::io::Cursor::new(data.to_vec()));
    if let Ok(report) = check::run(&stream, &Options::default()) {
        consistent(&report);
    }
}

/// Any text as a size: what is understood, prints as something that is understood the same.
pub fn size(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<Size>() {
        Ok(size) => assert_eq!(size.to_string().parse(), Ok(size), "{text:?}"),
        Err(error) => assert!(error.to_string().len() < 500, "an error repeats the whole of {text:?}"),
    }
}

/// Anything that a plan is made from, or is read from. The first byte says what: the text of a plan, the bytes of a
/// backup, or a request for a disk that is blank, has an MBR, or has a GPT.
pub fn plan(data: &[u8]) {
    let Some((what, data)) = data.split_first() else { return };
    let mut input = Input(data);
    match what % 5 {
        0 => document(data),
        1 => backup(data),
        2 => fresh(&mut input).unwrap_or_default(),
        3 => beside(&mut input, mbr_disk).unwrap_or_default(),
        _ => beside(&mut input, gpt_disk).unwrap_or_default(),
    }
}

/// A journal of a move. The first byte says what follows: the bytes of a device; or the description of a job, its bytes
/// and a record, below heads whose checksums are right.
pub fn journal(data: &[u8]) {
    let Some((what, data)) = data.split_first() else { return };
    let bytes = if what % 2 == 0 { Some(data.to_vec()) } else { journal_of(data) };
    let Some(bytes) = bytes else { return };
    let device = FaultDevice::new(MemoryDevice::from_bytes(&bytes));
    let found = realign::peek(&device, 0);
    assert!(device.largest_read() <= MOST_OF_A_JOURNAL, "a read of {} bytes", device.largest_read());
    assert_eq!(device.writes(), 0, "a look writes nothing");
    let Ok((job, _)) = found else { return };
    let disk = MemoryDevice::new(JOURNALLED_DISK);
    if what & 4 != 0 {
        // As if they had been written. Where the disk ends, so do they.
        job.marks.changes().for_each(|mark| drop(disk.write_at(mark.offset, &mark.after)));
    }
    let Ok(mut mover) = Mover::recover(&disk, device.inner(), 0) else { return };
    assert_eq!(mover.job(), &job);
    let (done, of) = mover.done();
    // What is small is done, too. Hostile jobs may fail in any way but a panic.
    if of <= JOURNALLED_DISK && done <= of {
        let _ = if what & 2 == 0 { mover.forward(&mut Quiet) } else { mover.back(&mut Quiet) };
    }
}

/// As much of a journal as is read at once: its bytes, or those of a step.
const MOST_OF_A_JOURNAL: u64 = 192 << 20;
const JOURNALLED_DISK: u64 = 1 << 20;
/// The parts of a journal have this distance, so that no power cut tears two of them.
const APART: usize = 64 << 10;

/// A byte for the window, a record of 7 numbers, 2 bytes for the length of the description, that, and the bytes.
fn journal_of(data: &[u8]) -> Option<Vec<u8>> {
    let mut input = Input(data);
    let window = input.number(1)? << 9;
    let mut numbers = Vec::new();
    for _ in 0..7 {
        // Short ones make sense more often. The last ends with a checksum.
        let number = input.number(4)?;
        numbers.push(number);
    }
    let description_len = usize::try_from(input.number(2)?).ok()?;
    let (description, bytes) = input.0.split_at_checked(description_len)?;
    let step_len = (usize::try_from(window).ok()? + 8192).next_multiple_of(APART);
    let (first_step, job) = (3 * APART, 3 * APART + 2 * step_len);
    let bytes_start = job + description.len().next_multiple_of(4096);
    let mut journal = vec![0; bytes_start + bytes.len()];
    let id = [7; 16];

    let mut head = b"alignck journal\n".to_vec();
    let crcs = u64::from(crc32fast::hash(description)) << 32 | u64::from(crc32fast::hash(bytes));
    head.extend([7; 16]);
    for number in [1, window, description.len() as u64, bytes.len() as u64, crcs] {
        head.extend(number.to_le_bytes());
    }
    head.extend(crc32fast::hash(&head).to_le_bytes());
    journal[..head.len()].copy_from_slice(&head);
    journal[job..job + description.len()].copy_from_slice(description);
    journal[bytes_start..].copy_from_slice(bytes);

    // Stage and way stand in the upper halves.
    let [sequence, stage, shift, moved, len, start, blocks_len] = numbers[..] else { return None };
    let way = stage >> 8 & 7;
    let step = first_step + if sequence % 2 == 0 { 0 } else { step_len };
    let content = journal.get(step..step + usize::try_from(blocks_len).ok()?.min(step_len))?;
    let crc = u64::from(crc32fast::hash(content));
    let mut record = b"ALCKSTEP".to_vec();
    record.extend(id);
    for number in [sequence, (stage & 7) << 32 | shift, moved, len, start, blocks_len, way << 32 | crc] {
        record.extend(number.to_le_bytes());
    }
    record.resize(88, 0);
    record.extend(crc32fast::hash(&record).to_le_bytes());
    let place = APART * if sequence % 2 == 0 { 1 } else { 2 };
    journal[place..place + record.len()].copy_from_slice(&record);
    Some(journal)
}

/// Numbers from the front of an input.
struct Input<'d>(&'d [u8]);

impl Input<'_> {
    fn number(&mut self, len: usize) -> Option<u64> {
        let (front, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(front.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// 13 bytes: the logarithm of the physical size, both hints, and the offset.
    fn medium(&mut self, sector_size: SectorSize, sectors: u64) -> Option<Medium> {
        let reported = Reported {
            logical: Some(sector_size.bytes()),
            physical: Some(1 << (self.number(1)? % 24)),
            minimum_io: Some(self.number(4)?),
            optimal_io: Some(self.number(4)?),
            alignment_offset: Some(self.number(4)?.cast_signed() - 1),
            ..Reported::default()
        };
        let capacity = sectors.checked_mul(sector_size.bytes());
        Some(Medium { sectors, sector_size, topology: Topology::judge(&reported, capacity, None, None) })
    }

    /// A byte for the table, the policy and the primaries, 8 for the grain, a count, and 9 bytes a partition.
    fn request(&mut self) -> Option<Request> {
        let flags = self.number(1)?;
        let grain = self.number(8)?;
        let sizes = (0..self.number(1)?).map_while(|_| {
            let (kind, number) = (self.number(1)?, self.number(8)?);
            Some(match kind % 4 {
                0 => Size::Bytes(number),
                1 => Size::Sectors(number),
                2 => Size::MilliPercent((number % (1 << 32)).try_into().expect("32 bits")),
                _ => Size::Rest,
            })
        });
        let table = if flags & 1 == 0 { TableKind::Gpt } else { TableKind::Mbr };
        let mut request = Request::new(table, sizes.collect::<Vec<_>>());
        request.align = match flags >> 1 & 3 {
            0 | 1 => Align::Optimal,
            2 => Align::Minimal,
            _ => Align::Grain(grain),
        };
        request.primaries = (flags & 8 != 0).then_some((flags >> 4).try_into().expect("four bits"));
        Some(request)
    }
}

fn fresh(input: &mut Input<'_>) -> Option<()> {
    let sector = SectorSize::OF_TABLES[usize::try_from(input.number(1)? % 4).expect("two bits")];
    let sectors = input.number(8)?;
    let medium = input.medium(sector, sectors)?;
    let layout = input.request()?.lay_out(&medium).ok()?;
    invariants::fresh(&layout, &medium);
    write(&layout, &MemoryDevice::new(sectors.checked_mul(sector.bytes())?))
}

fn beside(input: &mut Input<'_>, disk: fn(&[u8]) -> Option<(SectorSize, MemoryDevice)>) -> Option<()> {
    // The table comes last: what it needs is known when it is read.
    let mut table = Input(input.0.get(13..)?);
    let mut request = table.request()?;
    let (sector, disk) = disk(table.0)?;
    let medium = input.medium(sector, disk.size()? / sector.bytes())?;
    let table = Table::read(&Reader::new(&disk), Some(sector)).ok()?;
    request.table = if table.label == Label::Gpt { TableKind::Gpt } else { TableKind::Mbr };
    let layout = request.lay_out_beside(&table, &medium).ok()?;
    invariants::beside(&layout, &medium, &table);
    write(&layout, &disk)
}

/// What can be composed and does not overlap can be written and taken back.
fn write(layout: &Layout, disk: &MemoryDevice) -> Option<()> {
    let reader = Reader::new(disk);
    let table = Table::read(&reader, Some(layout.sector_size)).ok()?;
    let layout = layout.clone().identified();
    let composed = match layout.kept {
        Some(_) => compose::add(&layout, &table, &reader),
        None => compose::fresh(&layout, &table, &reader),
    };
    let patch = composed.ok()?.against(disk).ok()?;
    patch.write(disk).expect("nobody else writes to it");
    patch.reversed().write(disk).expect("nobody else writes to it");
    Some(())
}

fn document(data: &[u8]) {
    let Ok(document) = serde_json::from_slice::<PlanDocument>(data) else { return };
    let Ok((layout, _)) = document.into_layout() else { return };
    let Some(size) = layout.disk_sectors.checked_mul(layout.sector_size.bytes()) else { return };
    let _ = write(&layout, &MemoryDevice::new(size));
}

/// As a whole file, and as what stands below a right checksum.
fn backup(data: &[u8]) {
    let crc = crc32fast::hash(data);
    let head = format!("alignck backup 1\nstage writing\ncrc32 {crc:08x}\n");
    let disk = MemoryDevice::new(1 << 20);
    for bytes in [data, &[head.as_bytes(), data].concat()] {
        let Ok(backup) = Backup::parse(Path::new("fuzz"), bytes) else { continue };
        let _ = (backup.patch.state(&disk), backup.patch.write(&disk), backup.patch.reversed().write(&disk));
    }
}

fn sector_size(flags: u8) -> SectorSize {
    SectorSize::OF_TABLES[usize::from(flags & 3)]
}

fn look(disk: MemoryDevice, report_sector: bool, sector: SectorSize) {
    let logical = report_sector.then_some(sector);
    let counted = FaultDevice::new(disk);
    let _ = Table::read(&Reader::new(&counted), logical);
    assert!(counted.reads() <= MOST_READS, "{} reads", counted.reads());
    assert!(counted.largest_read() <= LARGEST_READ, "a read of {} bytes", counted.largest_read());

    let pretend = Reported { logical: logical.map(SectorSize::bytes), ..Reported::default() };
    if let Ok(report) =
        check::run(&Disk::image("fuzz", counted), &Options { pretend, physical: None, ..Options::default() })
    {
        consistent(&report);
    }
}

/// The verdicts follow from the starts by arithmetic of its own.
fn consistent(report: &Report) {
    let unit = report.table.sector_size.map_or(512, SectorSize::bytes);
    let physical = u128::from(report.topology.physical.bytes());
    for partition in &report.partitions {
        let start = u128::from(partition.partition.first.number()) * u128::from(unit);
        assert_eq!(u128::from(partition.remainder), start % physical);
        match partition.verdict {
            Verdict::Aligned | Verdict::Suboptimal => assert_eq!(start % physical, 0),
            Verdict::Misaligned => assert_ne!(start % physical, 0),
            Verdict::Exempt => assert!(partition.partition.type_.is_exempt()),
            Verdict::Unknown => panic!("the type of a partition that was read is known"),
        }
    }
}
