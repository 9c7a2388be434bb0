//! A write that is cut off: every state in which it can leave the disk, and the way out of each.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use align_core::check::{self, Code, Options};
use align_core::device::{Disk, Reader};
use align_core::patch::{Backup, Folder, Patch, PatchError, Side, Stage, State};
use align_core::plan::{Request, TableKind};
use align_core::table::{Label, Partition, Table};
use align_core::topology::Reported;
use align_core::units::{SectorSize, Size};
use align_core::write::{BackupPlace, Proposal, Wishes, WriteError};
use common::platter::{self, Bytes, Crash, Platter};
use fixtures::{GptEntry, GptSpec, HeaderFields, Image, Logical, MbrEntry, gpt, guid, mbr};

const MIB: u64 = 1 << 20;
const DISK: u64 = 16 * MIB;
const UNITS: [SectorSize; 2] = [SectorSize::B512, SectorSize::B4096];
const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";

/// A disk with what it holds, and what shall be written to it.
struct Scenario {
    name: &'static str,
    old: Image,
    /// The sectors of the disk; `None` for an image, which reports none.
    logical: Option<SectorSize>,
    /// The sectors of the old table, if there is one.
    from: SectorSize,
    /// The sectors of the new table.
    unit: SectorSize,
    what: What,
    /// Whether a crash may leave neither the old table nor the new one.
    exposed: bool,
}

enum What {
    Fresh(Request),
    Beside(Request),
    Conversion,
}

impl Scenario {
    fn fresh(name: &'static str, old: Image, unit: SectorSize, request: Request) -> Self {
        let what = What::Fresh(request);
        Self { name, old, logical: Some(unit), from: unit, unit, what, exposed: false }
    }

    fn beside(name: &'static str, old: Image, unit: SectorSize, request: Request) -> Self {
        let what = What::Beside(request);
        Self { name, old, logical: Some(unit), from: unit, unit, what, exposed: false }
    }

    /// The table in sectors of the other size, on a disk whose sectors are of this one.
    fn conversion(name: &'static str, old: Image, from: SectorSize, logical: Option<SectorSize>) -> Self {
        Self { name, old, logical, from, unit: other(from), what: What::Conversion, exposed: false }
    }

    fn exposed(self) -> Self {
        Self { exposed: true, ..self }
    }

    fn options(&self) -> Options {
        let pretend = Reported { logical: self.logical.map(SectorSize::bytes), ..Reported::default() };
        Options { pretend, ..Options::default() }
    }

    /// As whoever converts the table says which it is: an image with an MBR does not.
    fn options_for_old(&self) -> Options {
        let pretend = Reported { logical: Some(self.from.bytes()), ..Reported::default() };
        Options { pretend, ..Options::default() }
    }

    fn propose(&self, disk: &Disk) -> Proposal {
        let options = self.options();
        let medium = Proposal::medium(disk, &options).expect("a disk in memory can be looked at");
        let layout = match &self.what {
            What::Fresh(request) => request.lay_out(&medium),
            What::Beside(request) => {
                let table = Table::read(&Reader::new(disk.device().expect("it was opened")), Some(self.unit))
                    .expect("it can be read");
                request.lay_out_beside(&table, &medium)
            }
            What::Conversion => {
                return Proposal::of_conversion(disk, self.unit, &self.options_for_old(), false)
                    .unwrap_or_else(|error| panic!("{}: {error}", self.name));
            }
        };
        let layout = layout.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let wishes = Wishes { options, ..Wishes::default() };
        Proposal::of_layout(disk, &layout, &wishes).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Writes to a disk in memory, to see what is written in which order.
    fn play(&self) -> Play<'_> {
        let old = Bytes::of(&self.old);
        let proposal = self.propose(&Disk::image("scenario.img", Platter::new(&old)));
        let disk = Platter::new(&old);
        proposal.patch.write(&disk).expect("nothing fails");
        let (new, epochs) = (disk.bytes(), disk.epochs());
        assert_eq!(epochs.last(), Some(&Vec::new()), "{}: all was flushed", self.name);
        let table = Table::read(&Reader::new(&Platter::new(&old)), Some(self.from)).expect("it can be read");
        let records = table.mbr.iter().flat_map(|mbr| &mbr.chains).flat_map(|chain| &chain.ebrs);
        let records = records.map(|ebr| ebr.lba.number() * table.sector_size.bytes());
        Play {
            switches: records.chain([0]).collect(),
            views: [View::of(&old, self.logical), View::of(&new, self.logical)],
            always_readable: proposal.always_readable,
            patch: proposal.patch,
            scenario: self,
            old,
            new,
            epochs,
        }
    }
}

/// What a reader finds.
#[derive(Clone, Debug, PartialEq)]
struct View {
    label: Label,
    unit: Option<SectorSize>,
    partitions: Vec<Partition>,
}

impl View {
    fn of(bytes: &Bytes, logical: Option<SectorSize>) -> Self {
        let table = Table::read(&Reader::new(&Platter::new(bytes)), logical).expect("it can be read");
        let unit = Some(table.sector_size).filter(|_| table.label != Label::None);
        Self { label: table.label, unit, partitions: table.partitions }
    }
}

/// A write that came to its end.
struct Play<'s> {
    scenario: &'s Scenario,
    old: Bytes,
    new: Bytes,
    patch: Patch,
    always_readable: bool,
    epochs: Vec<Vec<platter::Write>>,
    views: [View; 2],
    /// Where sectors lie that readers of the old table look at, without a checksum or a second copy.
    switches: Vec<u64>,
}

impl Play<'_> {
    /// Whether a reader finds the old table or the new one.
    fn reads(&self, bytes: &Bytes) -> bool {
        self.views.contains(&View::of(bytes, self.scenario.logical))
    }

    fn assert_recovers(&self, bytes: &Bytes) {
        for (side, whole) in [(Side::Before, &self.old), (Side::After, &self.new)] {
            let disk = Platter::new(bytes);
            self.patch.recover(&disk, side).unwrap_or_else(|error| panic!("{}: {error}", self.scenario.name));
            assert!(disk.bytes() == *whole, "{}: {side:?} is not exact", self.scenario.name);
        }
    }

    /// A reader finds one of the tables, or is told that the write is unfinished; and there is a way to both.
    /// True when it found none.
    fn survives(&self, crash: &Crash) -> bool {
        let name = self.scenario.name;
        let reads = self.reads(&crash.bytes);
        if !reads {
            let may_be_torn = crash.torn.is_some_and(|sector| self.switches.contains(&sector));
            let view = View::of(&crash.bytes, self.scenario.logical);
            assert!(self.scenario.exposed || may_be_torn, "{name}: {:?}: {view:#?}", crash.torn);
            let state = self.patch.state(&Platter::new(&crash.bytes)).expect("it can be read");
            assert_eq!(state, State::Torn, "{name}");
        }
        self.assert_recovers(&crash.bytes);
        !reads
    }

    /// What is there after each of the changes.
    fn stages(&self) -> Vec<Bytes> {
        let mut bytes = self.old.clone();
        let changes = self.patch.changes().filter(|change| !change.is_kept());
        let stages = changes.map(|change| {
            bytes.put(change.offset, &change.after);
            bytes.clone()
        });
        stages.collect()
    }
}

/// Cuts the write and its undo off in every way, and the recovery from some of these states once more.
fn assert_survives(scenario: &Scenario) {
    let play = scenario.play();
    let name = scenario.name;
    assert_ne!(play.views[0], play.views[1], "{name}: old and new can be told apart");
    let readable = play.stages().iter().all(|bytes| play.reads(bytes));
    assert_eq!(play.always_readable, readable, "{name}: what the proposal says of its changes");

    let undo = Platter::new(&play.new);
    play.patch.reversed().write(&undo).expect("nothing fails");
    assert!(undo.bytes() == play.old, "{name}: undone to the byte");
    let mut crashes = platter::cut_off(&play.old, &play.epochs);
    crashes.extend(platter::cut_off(&play.new, &undo.epochs()));
    let lost = crashes.iter().filter(|crash| play.survives(crash)).count();
    assert_eq!(lost > 0, scenario.exposed, "{name}: {lost} of {} states", crashes.len());
    for crash in platter::torn(&play.old, &play.epochs) {
        play.survives(&crash);
    }
    for crash in crashes.iter().step_by(crashes.len().div_ceil(6)) {
        for side in [Side::Before, Side::After] {
            let disk = Platter::new(&crash.bytes);
            play.patch.recover(&disk, side).expect("nothing fails");
            for again in platter::cut_off(&crash.bytes, &disk.epochs()) {
                play.survives(&again);
            }
        }
    }
}

// What disks hold.

fn other(unit: SectorSize) -> SectorSize {
    if unit == SectorSize::B512 { SectorSize::B4096 } else { SectorSize::B512 }
}

fn blank() -> Image {
    Image::blank(DISK)
}

fn spec(unit: SectorSize) -> GptSpec {
    let mib = MIB / unit.bytes();
    let entry = |slot: u32| {
        let first = u64::from(slot + 1) * mib;
        let id = [slot as u8 + 1; 16];
        GptEntry {
            slot,
            kind: guid(LINUX),
            id,
            first,
            last: first + mib / 2 - 1,
            name: format!("old {slot}"),
            ..GptEntry::default()
        }
    };
    GptSpec {
        sector_size: unit.bytes(),
        disk_id: [0xD1; 16],
        entries: (0..6).map(entry).collect(),
        first_usable: Some(mib),
        ..GptSpec::default()
    }
}

fn old_gpt(unit: SectorSize) -> Image {
    let mut image = blank();
    gpt::write(&mut image, &spec(unit));
    image
}

fn unprotected_gpt(unit: SectorSize) -> Image {
    let mut image = blank();
    gpt::write(&mut image, &GptSpec { protective: false, ..spec(unit) });
    image
}

/// The mark of a file system in sector 0, beside whatever else there is.
fn with_xfs(mut image: Image) -> Image {
    image.put(0, b"XFSB");
    image
}

/// The array of the primary copy does not stand behind its header.
fn relocated_gpt(unit: SectorSize) -> Image {
    let mut image = blank();
    gpt::write(&mut image, &GptSpec { primary_array: Some(100), ..spec(unit) });
    image
}

/// The disk grew by so many bytes since, so the backup is not at its end.
fn grown_gpt(unit: SectorSize, by: u64) -> Image {
    let mut image = Image::blank(DISK - by);
    gpt::write(&mut image, &spec(unit));
    image.size = DISK;
    image
}

/// The primary names a backup in the middle of the disk, and there stands one of another table.
fn gpt_with_a_stranger_as_backup(unit: SectorSize) -> Image {
    let mut image = grown_gpt(unit, 4 * MIB);
    let mut stranger = Image::blank(DISK - 4 * MIB);
    gpt::write(&mut stranger, &GptSpec { entries: spec(unit).entries[1..].to_vec(), ..spec(unit) });
    let backup = stranger.size - MIB;
    image.put(backup, &stranger.get(backup, MIB as usize));
    image
}

/// Both headers name one array, at the end of the disk.
fn gpt_with_one_array(unit: SectorSize) -> Image {
    let mut image = blank();
    let spec = spec(unit);
    gpt::write_protective(&mut image, unit.bytes());
    let array = gpt::array_bytes(&spec.entries, spec.entry_count, spec.entry_size);
    let last = DISK / unit.bytes() - 1;
    let fields = HeaderFields {
        alternate_lba: last,
        first_usable: MIB / unit.bytes(),
        last_usable: last - 40,
        disk_id: spec.disk_id,
        array_lba: last - 16384 / unit.bytes(),
        array_crc: crc32fast::hash(&array),
        ..HeaderFields::default()
    };
    let backup = HeaderFields { my_lba: last, alternate_lba: 1, ..fields.clone() };
    image.put(fields.array_lba * unit.bytes(), &array);
    for header in [fields, backup] {
        image.put(header.my_lba * unit.bytes(), &gpt::header_bytes(&header, unit.bytes()));
    }
    image
}

/// The image with one byte of it made wrong.
fn spoiled(mut image: Image, at: u64) -> Image {
    let byte = image.get(at, 1)[0];
    image.put(at, &[!byte]);
    image
}

fn primary(unit: SectorSize, mib: u64, sectors: u64, kind: u8) -> MbrEntry {
    MbrEntry { boot: 0, kind, start: (mib * MIB / unit.bytes()) as u32, sectors: sectors as u32 }
}

fn two_primaries(unit: SectorSize) -> Image {
    let mut image = blank();
    let mib = MIB / unit.bytes();
    image.put(0, &[0xB0; 440]);
    let entries = [primary(unit, 1, mib, 0x83), primary(unit, 3, mib, 0x07)];
    mbr::write(&mut image, unit.bytes(), 0x10BD_10BC, &entries);
    image
}

/// An MBR with a container whose EBRs are at these sectors; each logical partition begins one sector behind.
fn chain_at(unit: SectorSize, records: &[u64]) -> Image {
    let mut image = blank();
    let sectors = DISK / unit.bytes();
    let container = records[0] as u32;
    let entries = [
        MbrEntry::default(),
        MbrEntry { boot: 0, kind: 0x05, start: container, sectors: sectors as u32 - container },
    ];
    mbr::write(&mut image, unit.bytes(), 0x10BD_10BC, &entries);
    let logicals: Vec<Logical> = records
        .iter()
        .map(|ebr| Logical { ebr: *ebr as u32, kind: 0x83, start: *ebr as u32 + 1, sectors: 1 })
        .collect();
    mbr::write_chain(&mut image, unit.bytes(), container, &logicals);
    image
}

/// Three primaries of a MiB, and so many logical partitions of a MiB, each behind an EBR on a whole MiB.
fn mbr_with_chain(unit: SectorSize, logicals: u64) -> Image {
    let mut image = blank();
    let mib = MIB / unit.bytes();
    let container = (4 * mib) as u32;
    let entries = [
        primary(unit, 1, mib, 0x83),
        primary(unit, 2, mib, 0x83),
        primary(unit, 3, mib, 0x83),
        primary(unit, 4, DISK / unit.bytes() - 4 * mib, 0x05),
    ];
    mbr::write(&mut image, unit.bytes(), 0x10BD_10BC, &entries);
    let logical = |index: u64| Logical {
        ebr: ((4 + 2 * index) * mib) as u32,
        kind: 0x83,
        start: ((5 + 2 * index) * mib) as u32,
        sectors: mib as u32,
    };
    mbr::write_chain(&mut image, unit.bytes(), container, &(0..logicals).map(logical).collect::<Vec<_>>());
    image
}

/// An MBR over a whole GPT that an earlier use left, with an EBR where a new primary copy goes.
fn chain_over_a_gpt(unit: SectorSize) -> Image {
    let mut image = relocated_gpt(unit);
    image.writes.extend(chain_at(unit, &[3, 2000]).writes);
    image
}

fn ext4() -> Image {
    let mut image = blank();
    let mut superblock = [0; 1024];
    superblock[..8].copy_from_slice(&[0, 1, 0, 0, 0, 4, 0, 0]);
    superblock[0x38..0x3A].copy_from_slice(&[0x53, 0xEF]);
    superblock[0x60] = 0x42;
    image.put(1024, &superblock);
    image
}

/// A file system over the whole disk, with the backup of a GPT behind it.
fn ext4_over_a_gpt(unit: SectorSize) -> Image {
    let mut image = old_gpt(unit);
    image.put(0, &[0; 32 << 10]);
    image.writes.extend(ext4().writes);
    image
}

fn fat() -> Image {
    let mut image = blank();
    image.put(0, &[0xEB, 0x3C, 0x90]).put(11, &[0, 2, 4, 1, 0, 2, 0, 2, 0, 0, 0xF8]);
    image.put(62, &[0xFA; 300]).put(510, &[0x55, 0xAA]);
    image
}

fn gpt_of(count: usize) -> Request {
    Request::new(TableKind::Gpt, [vec![Size::Bytes(MIB); count], vec![Size::Rest]].concat())
}

fn mbr_of(sizes: impl IntoIterator<Item = u64>) -> Request {
    Request::new(TableKind::Mbr, sizes.into_iter().map(Size::Bytes))
}

fn logicals_of(sizes: impl IntoIterator<Item = u64>) -> Request {
    Request { primaries: Some(0), ..mbr_of(sizes) }
}

// What is written to them.

fn gpts_on_disks_without_one(unit: SectorSize) -> Vec<Scenario> {
    let make = |name, old| Scenario::fresh(name, old, unit, gpt_of(5));
    let last = DISK / unit.bytes() - 1;
    vec![
        make("blank -> GPT", blank()),
        make("ext4 -> GPT", ext4()),
        make("ext4 over the backup of a GPT -> GPT", ext4_over_a_gpt(unit)),
        make("FAT -> GPT", fat()),
        make("MBR -> GPT", two_primaries(unit)),
        make("MBR with a chain -> GPT", mbr_with_chain(unit, 3)),
        make("MBR with EBRs where the primary copy goes -> GPT", chain_at(unit, &[3, 2000])),
        make("MBR with EBRs where the backup goes -> GPT", chain_at(unit, &[1000, last - 2])),
        make("MBR with EBRs where both copies go -> GPT", chain_at(unit, &[3, last - 2])).exposed(),
        make("MBR over an old GPT -> GPT", chain_over_a_gpt(unit)),
    ]
}

fn gpts_over_others(unit: SectorSize) -> Vec<Scenario> {
    let make = |name, old| Scenario::fresh(name, old, unit, gpt_of(4));
    let other = other(unit);
    let (header, array) = (unit.bytes() + 60, 2 * unit.bytes() + 60);
    vec![
        make("GPT -> GPT", old_gpt(unit)),
        make("GPT without a protective MBR -> GPT", unprotected_gpt(unit)),
        make("GPT without a protective MBR, in front of it XFS -> GPT", with_xfs(unprotected_gpt(unit))),
        make("GPT with a relocated array -> GPT", relocated_gpt(unit)),
        make("GPT of which only the backup is whole -> GPT", spoiled(old_gpt(unit), header)),
        make("GPT of which the primary array is bad -> GPT", spoiled(old_gpt(unit), array)),
        make(
            "GPT of which only the primary is whole -> GPT",
            spoiled(old_gpt(unit), DISK - unit.bytes() + 60),
        ),
        make("GPT with one array for both copies -> GPT", gpt_with_one_array(unit)),
        make("GPT on a disk that grew -> GPT", grown_gpt(unit, 4 * MIB)),
        make("GPT on a disk that grew a little -> GPT", grown_gpt(unit, 2 * unit.bytes())),
        make("GPT with a bad array on a disk that grew -> GPT", spoiled(grown_gpt(unit, 4 * MIB), array)),
        make("GPT that names the backup of another -> GPT", gpt_with_a_stranger_as_backup(unit)),
        make("GPT in other sectors -> GPT", old_gpt(other)),
        make(
            "GPT in other sectors of which only the backup is whole -> GPT",
            spoiled(old_gpt(other), other.bytes() + 60),
        ),
        make(
            "GPT in other sectors of which only the primary is whole -> GPT",
            spoiled(old_gpt(other), DISK - other.bytes() + 60),
        ),
    ]
}

fn gpts_with_more(unit: SectorSize) -> Vec<Scenario> {
    let make = |name, old| Scenario::beside(name, old, unit, gpt_of(1));
    vec![
        make("GPT + partitions", old_gpt(unit)),
        make("GPT with a relocated array + partitions", relocated_gpt(unit)),
        make("GPT on a disk that grew + partitions", grown_gpt(unit, 4 * MIB)),
        make("GPT on a disk that grew a little + partitions", grown_gpt(unit, 2 * unit.bytes())),
    ]
}

fn mbrs(unit: SectorSize) -> Vec<Scenario> {
    let make = |name, old, count| Scenario::fresh(name, old, unit, mbr_of([MIB].repeat(count)));
    let other = other(unit);
    vec![
        make("blank -> primaries", blank(), 3),
        make("blank -> chain", blank(), 6),
        make("ext4 -> chain", ext4(), 6),
        make("FAT -> chain", fat(), 6),
        make("MBR -> chain", two_primaries(unit), 6),
        make("GPT -> primaries", old_gpt(unit), 3),
        make("GPT -> chain", old_gpt(unit), 6),
        make("GPT in other sectors -> chain", old_gpt(other), 6),
        make(
            "GPT in other sectors of which only the primary is whole -> primaries",
            spoiled(old_gpt(other), DISK - other.bytes() + 60),
            3,
        ),
        make("GPT on a disk that grew -> chain", grown_gpt(unit, 4 * MIB), 6),
        make("GPT of which only the backup is whole -> chain", spoiled(old_gpt(unit), unit.bytes() + 60), 6),
    ]
}

fn mbrs_with_more(unit: SectorSize) -> Vec<Scenario> {
    let make = |name, old, request| Scenario::beside(name, old, unit, request);
    let mib = MIB / unit.bytes();
    vec![
        make("MBR + primary", two_primaries(unit), mbr_of([MIB])),
        make("MBR + container", two_primaries(unit), mbr_of([MIB; 4])),
        make("chain + logicals", mbr_with_chain(unit, 3), logicals_of([MIB; 2])),
        make("empty chain + logicals", mbr_with_chain(unit, 0), logicals_of([MIB; 3])),
        // Sector 0 and the last EBR cannot both switch over at once.
        make(
            "chain + primaries and logicals",
            chain_at(unit, &[4 * mib, 6 * mib]),
            mbr_of([2 * MIB, MIB, MIB]),
        )
        .exposed(),
    ]
}

fn chains_in_place(unit: SectorSize) -> Vec<Scenario> {
    let make = |name, old, count: usize| {
        let sizes = [vec![MIB; 3], vec![MIB / 2; count]].concat();
        Scenario::fresh(name, old, unit, mbr_of(sizes)).exposed()
    };
    vec![
        make("chain of 2 -> chain of 4", mbr_with_chain(unit, 2), 4),
        make("chain of 4 -> chain of 2", mbr_with_chain(unit, 4), 2),
        make("chain of 3 -> chain of 3", mbr_with_chain(unit, 3), 3),
    ]
}

/// The disk ends inside a sector of 4096 bytes.
fn gpt_on_an_odd_disk(unit: SectorSize) -> Image {
    let mut image = Image::blank(DISK + 3 * 512);
    gpt::write(&mut image, &spec(unit));
    image
}

fn short_gpt(unit: SectorSize, entries: u32) -> Image {
    let mut image = blank();
    gpt::write(&mut image, &GptSpec { entry_count: entries, ..spec(unit) });
    image
}

/// The array lies where a sector of the other size begins, so it stays there.
fn gpt_whose_array_stays(unit: SectorSize) -> Image {
    let mut image = blank();
    let primary_array = Some(40 * 4096 / unit.bytes());
    gpt::write(&mut image, &GptSpec { primary_array, ..spec(unit) });
    image
}

/// Lists a partition beside the protective entry.
fn hybrid_gpt(unit: SectorSize) -> Image {
    let mut image = old_gpt(unit);
    let mib = (MIB / unit.bytes()) as u32;
    let entry = [[0, 0, 0, 0, 0x83, 0, 0, 0], [0; 8]].concat();
    image.put(462, &entry).put(462 + 8, &mib.to_le_bytes()).put(462 + 12, &(mib / 2).to_le_bytes());
    image.put(446 + 12, &(mib - 1).to_le_bytes());
    image
}

/// On an image, on a device with the sectors of the old table, and on one with those of the new.
fn conversions(from: SectorSize) -> Vec<Scenario> {
    let on = |logical: Option<SectorSize>| {
        let make = |name, old| Scenario::conversion(name, old, from, logical);
        vec![
            make("GPT, converted", old_gpt(from)),
            make("GPT on an odd disk, converted", gpt_on_an_odd_disk(from)),
            make("GPT of 8 entries, converted", short_gpt(from, 8)),
            make("GPT of 40 entries, converted", short_gpt(from, 40)),
            make("GPT of 200 entries, converted", short_gpt(from, 200)),
            make("GPT with a relocated array, converted", relocated_gpt(from)),
            make("GPT with an array that stays, converted", gpt_whose_array_stays(from)),
            make("GPT with a hybrid MBR, converted", hybrid_gpt(from)),
            make("GPT on a disk that grew, converted", grown_gpt(from, 4 * MIB)),
            make("GPT on a disk that grew a little, converted", grown_gpt(from, 8192)),
            make("MBR, converted", two_primaries(from)),
            make("empty chain, converted", mbr_with_chain(from, 0)),
            make("chain, converted", mbr_with_chain(from, 3)).exposed(),
        ]
    };
    [None, Some(from), Some(other(from))].into_iter().flat_map(on).collect()
}

/// The scenario's disk as a file, and a folder for backups beside it.
struct Files {
    folder: tempfile::TempDir,
    image: PathBuf,
    backups: Folder,
}

impl Files {
    fn of(bytes: &Bytes) -> Self {
        let folder = common::scratch();
        let image = folder.path().join("disk.img");
        bytes.write_to(&image);
        Self { backups: Folder::at(folder.path().join("alignck")), image, folder }
    }

    /// The folder in which the command would keep its own for backups.
    fn state(&self) -> &Path {
        self.folder.path()
    }

    fn disk(&self) -> Disk {
        Disk::open(&self.image).expect("the image is there")
    }

    fn place(&self) -> BackupPlace {
        BackupPlace::Folder(self.backups.clone())
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.image).expect("the image is there")
    }

    fn has_backups(&self) -> bool {
        fs::read_dir(self.backups.path()).is_ok_and(|mut files| files.next().is_some())
    }
}

fn of_all_units(scenarios: impl Fn(SectorSize) -> Vec<Scenario>) -> Vec<Scenario> {
    UNITS.into_iter().flat_map(scenarios).collect()
}

fn all() -> Vec<Scenario> {
    let groups = [
        gpts_on_disks_without_one,
        gpts_over_others,
        gpts_with_more,
        mbrs,
        mbrs_with_more,
        chains_in_place,
        conversions,
    ];
    groups.into_iter().flat_map(of_all_units).collect()
}

#[test]
fn a_first_gpt_is_there_or_what_was_before() {
    of_all_units(gpts_on_disks_without_one).iter().for_each(assert_survives);
}

#[test]
fn a_gpt_over_another_is_one_or_the_other() {
    of_all_units(gpts_over_others).iter().for_each(assert_survives);
}

#[test]
fn a_gpt_with_more_partitions_has_them_or_has_not() {
    of_all_units(gpts_with_more).iter().for_each(assert_survives);
}

#[test]
fn primaries_and_a_fresh_chain_are_there_or_what_was_before() {
    of_all_units(mbrs).iter().for_each(assert_survives);
}

#[test]
fn an_mbr_with_more_partitions_has_them_or_has_not() {
    of_all_units(mbrs_with_more).iter().for_each(assert_survives);
}

#[test]
fn a_chain_in_the_place_of_another_is_one_the_other_or_unfinished() {
    of_all_units(chains_in_place).iter().for_each(assert_survives);
}

#[test]
fn a_table_for_other_sectors_is_one_the_other_or_unfinished() {
    of_all_units(conversions).iter().for_each(assert_survives);
}

#[test]
fn what_was_written_and_undone_is_as_it_was_to_the_byte() {
    for scenario in all() {
        let files = Files::of(&Bytes::of(&scenario.old));
        let old = files.bytes();
        let written = scenario.propose(&files.disk()).commit(&files.place()).unwrap();
        let backup = written.backup.expect("something changed");
        let undo = Proposal::of_undo(&files.disk(), backup, &scenario.options(), false).unwrap();
        undo.commit(&files.place()).unwrap();
        assert!(files.bytes() == old, "{}", scenario.name);
    }
}

#[test]
fn what_others_wrote_since_is_not_undone_unless_it_is_forced() {
    let groups = [gpts_over_others, chains_in_place, conversions].into_iter();
    for scenario in groups.flat_map(|group| group(SectorSize::B512).into_iter().take(1)) {
        let files = Files::of(&Bytes::of(&scenario.old));
        let old = files.bytes();
        let written = scenario.propose(&files.disk()).commit(&files.place()).expect("nothing is in the way");
        let backup = written.backup.expect("something changed");
        let change = backup.patch.changes().find(|change| !change.is_kept()).expect("something changed");
        let at = change.end() - 1;
        let mut changed = files.bytes();
        changed[usize::try_from(at).expect("of a small image")] ^= 0xFF;
        fs::write(&files.image, &changed).expect("the scratch folder can be written");

        let options = scenario.options();
        let refused = Proposal::of_undo(&files.disk(), backup.clone(), &options, false).err();
        let error =
            refused.unwrap_or_else(|| panic!("{}: it goes over byte {at}", scenario.name)).to_string();
        assert!(
            error.contains(&format!("1 of the bytes {at} to {at}")) && error.contains("--force"),
            "{error}"
        );
        assert!(files.bytes() == changed, "{}", scenario.name);

        let forced = Proposal::of_undo(&files.disk(), backup, &options, true).expect("it is forced");
        assert_eq!(forced.warnings[0], format!("others wrote there since: 1 of the bytes {at} to {at}"));
        forced.commit(&files.place()).expect("nothing is in the way");
        assert!(files.bytes() == old, "{}", scenario.name);
    }
}

#[test]
fn an_unfinished_chain_is_reported_and_finished_or_taken_back() {
    let converted = of_all_units(conversions).into_iter().filter(|scenario| scenario.exposed);
    for scenario in of_all_units(chains_in_place).into_iter().chain(converted) {
        let play = scenario.play();
        let crashes = platter::cut_off(&play.old, &play.epochs);
        let lost: Vec<&Crash> = crashes.iter().filter(|crash| !play.reads(&crash.bytes)).collect();
        assert!(!lost.is_empty(), "{}", scenario.name);
        for crash in lost {
            for (whole, stage) in [(&play.new, Stage::Written), (&play.old, Stage::Undone)] {
                assert_way_out(&play, crash, whole, stage);
            }
        }
    }
}

/// The crash left a backup whose stage is that of the beginning; `resume` or `undo` leads to these bytes.
fn assert_way_out(play: &Play<'_>, crash: &Crash, whole: &Bytes, stage: Stage) {
    let (scenario, files) = (play.scenario, Files::of(&crash.bytes));
    let identity = files.disk().identity().expect("images have one");
    let file = files.backups.new_path(&identity).expect("the scratch folder can be written");
    let patch = play.patch.clone();
    Backup::new(file.clone(), identity, "a chain".into(), scenario.unit, patch)
        .save()
        .expect("the scratch folder can be written");

    let options = Options { unfinished: files.backups.unfinished().into(), ..scenario.options() };
    let report = check::run(&files.disk(), &options).expect("the image can be checked");
    assert_eq!(report.findings.first().map(|finding| finding.code), Some(Code::UnfinishedWrite));
    // Whatever else is to be written waits for that.
    let another = Proposal::of_conversion(&files.disk(), other(scenario.unit), &options, true);
    assert!(matches!(another, Err(WriteError::UnfinishedBefore { .. })), "{}", scenario.name);

    let backup = Backup::read(&file).expect("it was just saved");
    let way_out = match stage {
        Stage::Written => Proposal::of_resume(&files.disk(), backup, &options),
        _ => Proposal::of_undo(&files.disk(), backup, &options, false),
    };
    way_out.expect("there is one").commit(&files.place()).expect("nothing is in the way");
    assert!(Platter::of_file(&files.image).bytes() == *whole, "{}: {stage:?}", scenario.name);
    assert_eq!(Backup::read(&file).expect("it is still there").stage, stage);
}

#[test]
fn a_disk_that_changed_since_the_plan_is_refused_and_not_written() {
    for scenario in all() {
        let play = scenario.play();
        for change in &play.patch.steps.concat() {
            for at in [change.offset, change.end() - 1] {
                let mut changed = play.old.clone();
                changed.put(at, &[!changed.get(at, 1)[0]]);
                let disk = Platter::new(&changed);
                let error = play.patch.write(&disk).unwrap_err();
                assert!(matches!(error, PatchError::Changed { offset, .. } if offset == at), "{error}");
                assert!(!disk.was_written() && error.wrote_nothing(), "{}: byte {at}", scenario.name);
            }
        }
    }
}

#[test]
fn a_table_that_changed_between_proposal_and_commit_is_refused_and_leaves_no_backup() {
    for scenario in all().iter().filter(|scenario| scenario.unit == SectorSize::B512) {
        let old = Bytes::of(&scenario.old);
        let table = Table::read(&Reader::new(&Platter::new(&old)), Some(scenario.from)).unwrap();
        for area in table.areas() {
            let files = Files::of(&old);
            let proposal = scenario.propose(&files.disk());
            let mut changed = old.clone();
            changed.put(area.end - 1, &[!changed.get(area.end - 1, 1)[0]]);
            changed.write_to(&files.image);
            let refused = proposal.commit(&files.place()).err();
            let error = refused.unwrap_or_else(|| panic!("{}: {area:?} was not watched", scenario.name));
            assert!(matches!(error, WriteError::Patch { source: PatchError::Changed { .. }, .. }), "{error}");
            assert!(Platter::of_file(&files.image).bytes() == changed, "{}: {area:?}", scenario.name);
            assert!(!files.has_backups(), "{}: {area:?}", scenario.name);
        }
    }
}

#[test]
fn a_disk_that_grew_between_proposal_and_commit_is_refused_and_leaves_no_backup() {
    for scenario in [gpts_over_others, mbrs].into_iter().flat_map(|group| group(SectorSize::B512)) {
        let files = Files::of(&Bytes::of(&scenario.old));
        let proposal = scenario.propose(&files.disk());
        let mut grown = files.bytes();
        grown.resize(grown.len() + 4096, 0);
        fs::write(&files.image, &grown).expect("the scratch folder can be written");
        let refused = proposal.commit(&files.place()).err();
        let error = refused.unwrap_or_else(|| panic!("{}: it was not seen", scenario.name)).to_string();
        assert!(error.contains(&format!("it has {} bytes now", grown.len())), "{error}");
        assert!(files.bytes() == grown && !files.has_backups(), "{}", scenario.name);
    }
}

#[test]
fn a_disk_that_fails_in_the_middle_can_be_finished_or_taken_back() {
    for scenario in all() {
        let play = scenario.play();
        let operations = play.epochs.iter().map(|epoch| epoch.len() + 1).sum::<usize>() - 1;
        for works_for in 0..operations {
            let disk = Platter::that_fails_after(&play.old, works_for);
            let error = play.patch.write(&disk).unwrap_err();
            assert!(matches!(error, PatchError::Write { .. } | PatchError::Flush { .. }), "{error}");
            assert!(!error.wrote_nothing(), "{}: it cannot be known", scenario.name);
            play.assert_recovers(&disk.bytes());
        }
    }
}

/// An image that cannot be written behind its third MiB stands for a disk that fails there: sector 0 leads to the new
/// chain already, and the first of its EBRs in the place of an old one is not written.
#[test]
fn a_write_that_fails_in_the_middle_leaves_the_backup_that_settles_it() {
    for word in ["undo", "resume"] {
        let files = Files::of(&Bytes::of(&mbr_with_chain(SectorSize::B512, 2)));
        let old = files.bytes();
        let run = |mut command: Command, arguments: &[&str]| {
            let image = files.image.as_os_str();
            command.args(arguments).arg(image).arg("--yes").env("XDG_STATE_HOME", files.state());
            let output = command.output().expect("it runs");
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let sizes = ["1M", "x4", "--size", "2M"];
        let plan = common::alignck()
            .args(["plan", "--table", "mbr", "--json", "--size"])
            .args(sizes)
            .arg(&files.image)
            .output();
        let file = files.state().join("plan.json");
        fs::write(&file, plan.expect("it runs").stdout).expect("the scratch folder can be written");

        let mut limited = Command::new("sh");
        // Blocks of 512 bytes, or 1024 in some shells. Without the signal, the write itself fails.
        limited.args(["-c", "trap '' XFSZ && ulimit -f 6144 && exec \"$0\" \"$@\""]);
        limited.arg(common::alignck().get_program());
        let (exit, said) = run(limited, &["apply", file.to_str().expect("a path in UTF-8")]);
        assert_eq!(exit, Some(5), "{said}");
        assert!(said.contains("File too large") && said.contains("alignck resume"), "{said}");
        assert!(files.bytes() != old, "it failed in the middle");

        let unfinished = files.backups.unfinished();
        let [backup] = unfinished.as_slice() else { panic!("{unfinished:?}") };
        let (exit, said) = run(common::alignck(), &[word]);
        assert_eq!(exit, Some(0), "{word}: {said}");
        let state =
            backup.patch.state(files.disk().device().expect("it can be read")).expect("it can be read");
        assert_eq!(state, if word == "undo" { State::Before } else { State::After });
        assert_eq!(files.bytes() == old, word == "undo");
    }
}
