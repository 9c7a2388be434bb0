//! What each fuzz target does with its input. The ordinary tests replay the corpora through the same functions.
#![allow(dead_code, reason = "each target uses one of them")]

use align_core::check::{self, Options, Report, Verdict};
use align_core::device::{BlockDevice, Disk, FaultDevice, MemoryDevice, Reader};
use align_core::table::Table;
use align_core::topology::Reported;
use align_core::units::{SectorSize, Size};

/// No disk, however hostile, costs more reads than this: 256 links, arrays of 2 GiB in steps of 1 MiB twice over,
/// and what is looked at besides.
const MOST_READS: u64 = 256 + 2 * 2 * 2048 + 64;
/// Nor more memory at once than one step.
const LARGEST_READ: u64 = 1 << 20;

/// An MBR with its chains. The input is a byte of flags, then records of an LBA (4 bytes) and the last 66 bytes of
/// the sector there; the first is sector 0 whatever its LBA says.
pub fn mbr(data: &[u8]) {
    let Some((flags, records)) = data.split_first() else { return };
    let sector = sector_size(*flags);
    let disk = MemoryDevice::new(1 << 44);
    for (index, record) in records.chunks_exact(70).enumerate() {
        let lba = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
        let offset = if index == 0 { 0 } else { u64::from(lba) * sector.bytes() };
        disk.write_at(offset + 446, &record[4..]).expect("2^32 sectors of 4096 bytes fit the disk");
    }
    look(disk, *flags & 4 != 0, sector);
}

/// A GPT of which only the checksums are made right. The input is a byte of flags, the logarithm of the disk's
/// size, the 92 bytes of a header, and the array.
pub fn gpt(data: &[u8]) {
    let Some((flags, rest)) = data.split_first() else { return };
    let Some((exponent, rest)) = rest.split_first() else { return };
    let Some((header, array)) = rest.split_at_checked(92) else { return };
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
    look(disk, flags & 4 != 0, sector);
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
