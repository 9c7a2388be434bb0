//! Partitions that are moved: where they go, that every byte comes along, that whatever stops the move leaves a disk
//! from which it is finished or taken back to the byte, and that nobody takes half-moved data for whole meanwhile.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use align_core::check::{self, Code, Health, Options, Status, Verdict};
use align_core::content;
use align_core::device::{BlockDevice, Disk, MemoryDevice, Reader};
use align_core::fix::{FixError, Fixed, Proposal, Unfinished, Wishes};
use align_core::patch::{Backup, Folder, Move, Spot};
use align_core::realign::{self, Care, Ended, Mover, Quiet, RealignError, Watch};
use align_core::table::{Partition, PartitionKind, Table};
use align_core::units::{Lba, SectorSize};
use align_core::write::{BackupPlace, WriteError};
use common::platter::{self, Bytes, Platter};
use fixtures::{GptEntry, GptSpec, Image, Logical, MbrEntry};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

/// A disk with something to move, and where it goes.
struct Scene {
    name: &'static str,
    image: Image,
    unit: u64,
    wishes: Wishes,
    /// Number, start and new start of what moves, in sectors.
    moves: &'static [(u32, u64, u64)],
}

/// Bytes that are nobody else's: no two sectors are the same.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_le_bytes()
    };
    let mut sector: Vec<u8> = (0..64).flat_map(|_| next()).collect();
    let mut bytes = Vec::with_capacity(len + 512);
    while bytes.len() < len {
        sector[8..16].copy_from_slice(&next());
        bytes.extend_from_slice(&sector);
    }
    bytes.truncate(len);
    bytes
}

/// An ext4 file system by its magic, full of noise.
fn ext4(seed: u64, len: u64) -> Vec<u8> {
    let mut bytes = noise(seed, usize::try_from(len).expect("it can be done"));
    if len > 4096 {
        bytes[..4096].fill(0);
        bytes[1024..1032].copy_from_slice(&[0, 1, 0, 0, 0, 4, 0, 0]);
        bytes[1048] = 2;
        bytes[1080..1082].copy_from_slice(&[0x53, 0xEF]);
        bytes[1120] = 0x42;
    }
    bytes
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).expect("the disks are small")
}

/// An MBR with partitions and logicals: first sector and number of sectors; of a logical its EBR in front.
fn mbr(
    size: u64,
    unit: u64,
    primaries: &[(u64, u64)],
    container: Option<(u64, u64)>,
    logicals: &[(u64, u64, u64)],
) -> Image {
    let mut image = Image::blank(size);
    let mut entries: Vec<MbrEntry> = primaries
        .iter()
        .map(|(start, sectors)| MbrEntry {
            boot: 0,
            kind: 0x83,
            start: narrow(*start),
            sectors: narrow(*sectors),
        })
        .collect();
    entries.extend(container.map(|(start, sectors)| MbrEntry {
        boot: 0,
        kind: 5,
        start: narrow(start),
        sectors: narrow(sectors),
    }));
    fixtures::mbr::write(&mut image, unit, 0x1234_5678, &entries);
    if let Some((start, _)) = container {
        let logicals: Vec<Logical> = logicals
            .iter()
            .map(|(ebr, start, sectors)| Logical {
                ebr: narrow(*ebr),
                kind: 0x83,
                start: narrow(*start),
                sectors: narrow(*sectors),
            })
            .collect();
        fixtures::mbr::write_chain(&mut image, unit, narrow(start), &logicals);
    }
    for (seed, (start, sectors)) in primaries
        .iter()
        .copied()
        .chain(logicals.iter().map(|(_, start, sectors)| (*start, *sectors)))
        .enumerate()
    {
        image.put(start * unit, &ext4(seed as u64 + 7, sectors * unit));
    }
    image
}

fn gpt(size: u64, unit: u64, partitions: &[(u64, u64)]) -> Image {
    let mut image = Image::blank(size);
    let entries = (0..).zip(partitions).map(|(slot, (start, sectors))| GptEntry {
        slot,
        kind: fixtures::guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4"),
        id: std::array::from_fn(|at| {
            u8::try_from(at).expect("it can be done") + 16 * u8::try_from(slot).expect("it can be done") + 1
        }),
        first: *start,
        last: start + sectors - 1,
        attributes: 4,
        name: format!("partition {slot}"),
    });
    fixtures::gpt::write(
        &mut image,
        &GptSpec { sector_size: unit, entries: entries.collect(), ..GptSpec::default() },
    );
    for (seed, (start, sectors)) in (70..).zip(partitions) {
        image.put(start * unit, &ext4(seed, sectors * unit));
    }
    image
}

fn wishes(partitions: &[u32], to: Option<u64>) -> Wishes {
    Wishes { partitions: partitions.to_vec(), to: to.map(Lba::new), ..Wishes::default() }
}

fn scene(name: &'static str, image: Image, moves: &'static [(u32, u64, u64)]) -> Scene {
    Scene { name, image, unit: 512, wishes: Wishes::default(), moves }
}

fn scenes() -> Vec<Scene> {
    let xp = || {
        mbr(
            40 * MIB,
            512,
            &[(63, 16002)],
            Some((16065, 48195)),
            &[(16065, 16129, 16000), (32130, 32193, 32067)],
        )
    };
    let util_linux = || {
        mbr(
            80 * MIB,
            512,
            &[],
            Some((20480, 122_880)),
            &[(20480, 40960, 20480), (81792, 81920, 20480), (122_752, 122_880, 20480)],
        )
    };
    let mut scenes = vec![
        scene("one at 63, room behind it", mbr(24 * MIB, 512, &[(63, 20480)], None, &[]), &[(1, 63, 2048)]),
        scene(
            "one at 63, little room",
            mbr(16 * MIB, 512, &[(63, 32768 - 63 - 500)], None, &[]),
            &[(1, 63, 64)],
        ),
        scene("a full disk", mbr(16 * MIB, 512, &[(63, 32768 - 63)], None, &[]), &[(1, 63, 56)]),
        scene(
            "two one behind the other",
            mbr(32 * MIB, 512, &[(63, 20000), (20063, 20001)], None, &[]),
            &[(1, 63, 2048), (2, 20063, 22528)],
        ),
        scene(
            "two with their space in front",
            mbr(20 * MIB, 512, &[(4099, 16000), (20101, 40960 - 20101)], None, &[]),
            &[(1, 4099, 4096), (2, 20101, 20096)],
        ),
        scene("a container that moves", xp(), &[(1, 63, 2048), (5, 16129, 18432), (6, 32193, 34816)]),
        scene("GPT", gpt(32 * MIB, 512, &[(34, 20000), (20034, 20000)]), &[(1, 34, 2048), (2, 20034, 22528)]),
        scene(
            "a GPT up to its end",
            gpt(16 * MIB, 512, &[(2048, 2048), (4097, 32768 - 34 - 4097 + 1)]),
            &[(2, 4097, 4096)],
        ),
        scene("smaller than its way", mbr(16 * MIB, 512, &[(63, 100)], None, &[]), &[(1, 63, 2048)]),
        scene("of one sector", mbr(16 * MIB, 512, &[(63, 1)], None, &[]), &[(1, 63, 2048)]),
        Scene {
            wishes: wishes(&[5], Some(61432)),
            ..scene("a logical over the EBR of the next", util_linux(), &[(5, 40960, 61432)])
        },
        Scene {
            wishes: wishes(&[6], Some(61448)),
            ..scene("a logical to the left", util_linux(), &[(6, 81920, 61448)])
        },
        Scene {
            wishes: wishes(&[1], Some(2048 * 20)),
            ..scene(
                "far to the right, over itself",
                mbr(46 * MIB, 512, &[(2048, 2048 * 24)], None, &[]),
                &[(1, 2048, 2048 * 20)],
            )
        },
        Scene {
            wishes: wishes(&[1], Some(2048)),
            ..scene(
                "far to the left, over itself",
                mbr(46 * MIB, 512, &[(2048 * 20, 2048 * 24)], None, &[]),
                &[(1, 2048 * 20, 2048)],
            )
        },
        Scene {
            wishes: wishes(&[1], Some(2048 * 40)),
            ..scene("far away", mbr(64 * MIB, 512, &[(2048, 2048 * 4)], None, &[]), &[(1, 2048, 2048 * 40)])
        },
        Scene {
            wishes: wishes(&[1, 2], None),
            ..scene(
                "an aligned one makes room",
                mbr(24 * MIB, 512, &[(63, 2048 * 4 - 63), (2048 * 4, 2048 * 4)], None, &[]),
                &[(1, 63, 2048), (2, 2048 * 4, 2048 * 5)],
            )
        },
    ];
    let to_4096 = |offset: i64| {
        let pretend = align_core::topology::Reported {
            logical: Some(512),
            physical: Some(4096),
            alignment_offset: Some(offset),
            ..align_core::topology::Reported::default()
        };
        Wishes { options: Options { pretend, ..Options::default() }, ..Wishes::default() }
    };
    scenes.push(Scene {
        wishes: to_4096(3584),
        ..scene("a jumpered drive", mbr(24 * MIB, 512, &[(64, 20480)], None, &[]), &[(1, 64, 2055)])
    });
    // In the free space there is what somebody may still want.
    for scene in &mut scenes {
        let end = scene.image.size - MIB;
        let holds = scene.image.get(end, 4096).iter().any(|byte| *byte != 0);
        if scene.name == "one at 63, room behind it" || scene.name == "far away" {
            assert!(!holds);
            scene.image.put(scene.moves[0].2 * 512 + 2048 * 512 * 3, &noise(99, 9000));
        }
    }
    scenes
}

/// A scene in a file, with a folder for what is kept.
struct OnDisk {
    _folder: tempfile::TempDir,
    path: PathBuf,
    state: Folder,
}

impl OnDisk {
    fn of(image: &Image) -> Self {
        let folder = common::scratch();
        let path = common::file(folder.path(), "disk.img", image);
        let state = Folder::at(folder.path().join("state"));
        Self { path, state, _folder: folder }
    }

    fn disk(&self) -> Disk {
        Disk::open(&self.path).expect("it can be done")
    }

    fn wishes(&self, wishes: &Wishes) -> Wishes {
        Wishes { state: Some(self.state.clone()), ..wishes.clone() }
    }

    fn propose(&self, wishes: &Wishes) -> Result<Proposal, FixError> {
        Proposal::of_fix(&self.disk(), &self.wishes(wishes))
    }

    fn place(&self) -> BackupPlace {
        BackupPlace::Folder(self.state.clone())
    }

    fn undo(&self, backup: Backup, wishes: &Wishes) -> Result<Fixed, FixError> {
        let proposal = Proposal::of_undo(&self.disk(), backup, &self.wishes(wishes))?;
        proposal.commit(&self.place(), &mut Quiet)
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).expect("it can be done")
    }

    fn unfinished(&self) -> Option<Unfinished> {
        Unfinished::find(&self.disk(), &self.state.unfinished()).expect("it can be done")
    }

    /// The status and the codes of a check that knows what was noted.
    fn check(&self) -> (Status, Vec<Code>) {
        let options = Options { unfinished: self.state.unfinished().into(), ..Options::default() };
        let report = check::run(&self.disk(), &options).expect("it can be done");
        (report.status, report.findings.iter().map(|finding| finding.code).collect())
    }
}

fn table_of(device: &dyn BlockDevice, unit: u64) -> Table {
    Table::read(&Reader::new(device), SectorSize::new(unit)).expect("it can be done")
}

/// Every partition that moved has its old bytes at its new place.
fn assert_moved(name: &str, old: &[u8], new: &[u8], moves: &[Move]) {
    for moved in moves {
        let at = |start: u64, bytes: &[u8]| {
            let start = usize::try_from(start).expect("it can be done");
            bytes[start..start + usize::try_from(moved.len).expect("it can be done")].to_vec()
        };
        assert!(at(moved.from, old) == at(moved.to, new), "{name}: the bytes of partition {}", moved.number);
    }
}

#[test]
fn partitions_go_where_the_rules_say() {
    for scene in scenes() {
        let disk = OnDisk::of(&scene.image);
        let proposal = disk.propose(&scene.wishes).unwrap_or_else(|error| panic!("{}: {error}", scene.name));
        let moves: Vec<_> = proposal
            .moves
            .iter()
            .map(|moved| (moved.number, moved.from / scene.unit, moved.to / scene.unit))
            .collect();
        assert_eq!(moves, scene.moves, "{}", scene.name);
        assert!(proposal.stuck.is_empty(), "{}: {:?}", scene.name, proposal.stuck);
        assert_ne!(proposal.after.status, Status::Misaligned, "{}", scene.name);
    }
}

#[test]
fn every_byte_comes_along_and_the_way_back_is_exact() {
    for scene in scenes() {
        let disk = OnDisk::of(&scene.image);
        let before = disk.bytes();
        let proposal = disk.propose(&scene.wishes).unwrap();
        let moves = proposal.moves.clone();
        let others: Vec<_> = table_of(&MemoryDeviceOf::of(&before), scene.unit).partitions;
        let fixed = proposal
            .commit(&disk.place(), &mut Quiet)
            .unwrap_or_else(|error| panic!("{}: {error}", scene.name));
        assert!(
            fixed.is_forward && fixed.warnings.iter().all(|warning| warning.contains("lies in memory")),
            "{}: {:?}",
            scene.name,
            fixed.warnings
        );
        let after = disk.bytes();
        assert_moved(scene.name, &before, &after, &moves);
        // All else of the table is as it was.
        let table = table_of(&MemoryDeviceOf::of(&after), scene.unit);
        assert_eq!(table.partitions.len(), others.len(), "{}", scene.name);
        for (old, new) in others.iter().zip(&table.partitions) {
            assert_eq!(
                (old.number, old.type_, &old.name, old.id),
                (new.number, new.type_, &new.name, new.id)
            );
            if old.type_.is_extended() || moves.iter().any(|moved| moved.number == old.number) {
                continue;
            }
            assert_eq!((old.first, old.last), (new.first, new.last), "{}", scene.name);
        }
        assert_eq!(disk.unfinished().map(|unfinished| unfinished.note), None, "{}", scene.name);
        assert!(!disk.check().1.contains(&Code::UnfinishedMove), "{}", scene.name);
        assert!(common::files_in(disk.state.path()).iter().all(|path| path.extension().unwrap() == "backup"));

        let undone = disk.undo(fixed.backup.unwrap(), &scene.wishes);
        undone.unwrap_or_else(|error| panic!("{}: {error}", scene.name));
        let back = disk.bytes();
        if back != before {
            let at = (0..before.len()).find(|at| back[*at] != before[*at]).unwrap();
            panic!("{}: byte {at} (sector {}) is not as it was", scene.name, at / 512);
        }
    }
}

/// A copy of bytes in memory.
struct MemoryDeviceOf;

impl MemoryDeviceOf {
    fn of(bytes: &[u8]) -> MemoryDevice {
        let device = MemoryDevice::new(bytes.len() as u64);
        device.write_at(0, bytes).expect("it can be done");
        device
    }
}

/// Stops when it was told of so much progress.
struct StopAfter(u32);

impl Watch for StopAfter {
    fn moved(&mut self, _done: u64, _of: u64) {
        self.0 = self.0.saturating_sub(1);
    }

    fn is_stopped(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_move_that_is_stopped_is_finished_or_taken_back() {
    for (index, scene) in scenes().into_iter().enumerate() {
        let disk = OnDisk::of(&scene.image);
        let before = disk.bytes();
        let proposal = disk.propose(&scene.wishes).unwrap();
        let moves = proposal.moves.clone();
        let has_steps = proposal.job().is_some_and(|(job, _)| !job.shifts.is_empty());
        if !has_steps {
            continue;
        }
        // Right at the beginning, and somewhere in the middle.
        for (goes_on, after) in [(index % 2 == 0, 1), (index % 2 == 1, 2)] {
            fs::write(&disk.path, &before).unwrap();
            let proposal = disk.propose(&scene.wishes).unwrap();
            let stopped = proposal.commit(&disk.place(), &mut StopAfter(after));
            let Err(error) = stopped else { continue };
            assert!(error.is_unfinished() && error.is_stopped(), "{}: {error}", scene.name);
            assert!(error.to_string().contains("alignck resume"), "{error}");

            // Whoever looks at it now sees that, and nothing that could be mounted.
            let (status, codes) = disk.check();
            assert_eq!(
                (status, &codes[..]),
                (Status::Unknown, &[Code::UnfinishedMove][..]),
                "{}",
                scene.name
            );
            let open = disk.disk();
            let table = table_of(open.device().unwrap(), scene.unit);
            for moved in &moves {
                let partition = table.partition(moved.number).unwrap();
                let start = partition.first.checked_byte(table.sector_size).unwrap();
                let mut front = vec![0; content::FRONT_LEN];
                open.device().unwrap().read_at(start, &mut front).unwrap();
                assert_eq!(content::recognise(&front), None, "{}: partition {}", scene.name, moved.number);
            }
            // Nothing else writes to it, also without what was noted elsewhere.
            for options in [
                Options::default(),
                Options { unfinished: disk.state.unfinished().into(), ..Options::default() },
            ] {
                let again = Proposal::of_fix(&open, &Wishes { options, ..disk.wishes(&scene.wishes) });
                assert!(
                    matches!(again, Err(FixError::Write(WriteError::UnfinishedBefore { .. }))),
                    "{}",
                    scene.name
                );
            }

            let unfinished = disk.unfinished().expect("it is found");
            assert_eq!(unfinished.note.moves, moves);
            let record = disk.state.find(unfinished.id());
            let options = Options::default();
            let ended = unfinished.finish(&open, goes_on, &options, Care::default(), record, &mut Quiet);
            let fixed = ended.unwrap_or_else(|error| panic!("{}: {error}", scene.name));
            assert_eq!(fixed.is_forward, goes_on, "{}", scene.name);
            let bytes = disk.bytes();
            if goes_on {
                assert_moved(scene.name, &before, &bytes, &moves);
                disk.undo(fixed.backup.expect("it was noted"), &scene.wishes).unwrap();
            }
            assert!(disk.bytes() == before, "{}: it is as it was", scene.name);
            assert!(disk.unfinished().is_none(), "{}", scene.name);
        }
    }
}

#[test]
fn what_was_written_since_stays_when_a_move_is_taken_back() {
    let scenes = scenes();
    let scene = scenes.iter().find(|scene| scene.name == "a container that moves").unwrap();
    let disk = OnDisk::of(&scene.image);
    let before = disk.bytes();
    let proposal = disk.propose(&scene.wishes).unwrap();
    let moves = proposal.moves.clone();
    let fixed = proposal.commit(&disk.place(), &mut Quiet).unwrap();
    // Every sector of every partition is somebody's new data.
    let mut expected = before.clone();
    for moved in &moves {
        let new = noise(moved.from + 1000, usize::try_from(moved.len).unwrap());
        common::poke(&disk.path, moved.to, &new);
        let start = usize::try_from(moved.from).unwrap();
        expected[start..start + new.len()].copy_from_slice(&new);
    }
    disk.undo(fixed.backup.unwrap(), &scene.wishes).unwrap();
    assert!(disk.bytes() == expected);
}

#[test]
fn the_place_that_a_file_system_notes_goes_along_and_comes_back() {
    // The first comes to lie over the boot record from which the field of the logical partition counts.
    let mut image = mbr(24 * MIB, 512, &[(63, 16000)], Some((16063, 20063)), &[(16063, 16126, 20000)]);
    let mut front = vec![0; 512];
    front[..3].copy_from_slice(b"\xEB\x3C\x90");
    front[11..13].copy_from_slice(&512_u16.to_le_bytes());
    front[13..17].copy_from_slice(&[1, 1, 0, 2]);
    front[21..24].copy_from_slice(&[0xF8, 1, 0]);
    front[28..32].copy_from_slice(&63_u32.to_le_bytes());
    front[510..].copy_from_slice(b"\x55\xAA");
    image.put(16126 * 512, &front);
    let disk = OnDisk::of(&image);
    let before = disk.bytes();
    let fixed = disk.propose(&Wishes::default()).unwrap().commit(&disk.place(), &mut Quiet).unwrap();
    let after = disk.bytes();
    let table = table_of(&MemoryDeviceOf::of(&after), 512);
    let record = table.mbr.as_ref().unwrap().chains[0].ebrs[0].lba.number();
    let start = table.partition(5).unwrap().first.number();
    assert!(record > 16063 && start > 16126, "both have moved");
    let field = usize::try_from(start * 512 + 28).unwrap();
    assert_eq!(after[field..field + 4], narrow(start - record).to_le_bytes());
    disk.undo(fixed.backup.unwrap(), &Wishes::default()).unwrap();
    assert!(disk.bytes() == before);
}

#[test]
fn a_move_is_taken_back_only_while_the_partitions_are_as_it_left_them() {
    let disk = OnDisk::of(&mbr(24 * MIB, 512, &[(63, 20480)], None, &[]));
    let fixed = disk.propose(&Wishes::default()).unwrap().commit(&disk.place(), &mut Quiet).unwrap();
    let backup = fixed.backup.unwrap();
    // The partition became shorter meanwhile.
    common::poke(&disk.path, 446 + 12, &10000_u32.to_le_bytes());
    let after = disk.bytes();
    let error = disk.undo(backup, &Wishes::default()).unwrap_err().to_string();
    assert!(error.contains("its partitions have changed since"), "{error}");
    assert!(disk.bytes() == after);
}

/// So many crashes of a move are tried.
const MOST_CRASHES: usize = 24;
/// The kinds of them: nothing of the last writes is there, all, a part.
const KINDS: usize = 5;

#[test]
fn whatever_a_crash_leaves_is_settled() {
    let names = ["one at 63, little room", "a container that moves", "a GPT up to its end"];
    for scene in scenes().into_iter().filter(|scene| names.contains(&scene.name)) {
        let old = Bytes::of(&scene.image);
        let folder = common::scratch();
        let wishes = Wishes { state: Some(Folder::at(folder.path())), ..scene.wishes.clone() };
        let path = common::file(folder.path(), "disk.img", &Image::blank(512));
        let proposal = Proposal::of_fix(&Disk::image(&path, Platter::new(&old)), &wishes).unwrap();
        let (job, window) = proposal.job().unwrap();
        // A journal in a file lies behind the disk here: another medium that fails together with it.
        let size = scene.image.size;
        let (start, len) = match proposal.journal().unwrap() {
            Spot::Disk(start) => (*start, 0),
            Spot::File(_) => (size, realign::journal_len(job, window)),
        };
        let longer = Bytes::new(size + len).with_bytes(0, &old.get(0, usize::try_from(size).unwrap()));
        let disk = Platter::new(&longer);
        Mover::begin(&disk, &disk, start, job, window).unwrap().forward(&mut Quiet).unwrap();
        let (new, epochs) = (disk.bytes(), disk.epochs());
        let shown = usize::try_from(start.min(size)).unwrap();
        let expected = [longer.get(0, shown), new.get(0, shown)];
        assert_moved(scene.name, &expected[0], &expected[1], &proposal.moves);

        let mut base = longer.clone();
        let mut dice = 1;
        let mut tried = 0;
        // Of the many steps some; what a step may leave is tried elsewhere, all of it.
        let stride = epochs.len().div_ceil(MOST_CRASHES);
        for (index, epoch) in epochs.iter().enumerate() {
            let crashes = if index % stride == 0 { KINDS } else { 0 };
            let crash = platter::cut_off_somewhere(&base, epoch, crashes, &mut dice)
                .into_iter()
                .nth(index / stride % KINDS);
            if let Some(crash) = crash {
                for goes_on in [true, false] {
                    let disk = Platter::new(&crash);
                    let ended = match Mover::recover(&disk, &disk, start) {
                        Ok(mut mover) if goes_on => mover.forward(&mut Quiet),
                        Ok(mut mover) => mover.back(&mut Quiet),
                        Err(RealignError::NoJournal { .. }) => Ok(Ended::Back),
                        Err(error) => panic!("{}: {error}", scene.name),
                    };
                    let side = usize::from(ended.unwrap() == Ended::Forward);
                    assert!(disk.bytes().get(0, shown) == expected[side], "{}: side {side}", scene.name);
                    tried += 1;
                }
            }
            base = base.after(std::slice::from_ref(epoch));
        }
        assert!(tried >= 16, "{}: only {tried}", scene.name);
    }
}

#[test]
fn what_cannot_be_done_is_refused_and_says_why() {
    let refused = |image: &Image, wishes: &Wishes, words: &[&str]| {
        let disk = OnDisk::of(image);
        let before = disk.bytes();
        let error = disk.propose(wishes).map(|proposal| proposal.moves).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert!(disk.bytes() == before);
    };
    let one = || mbr(24 * MIB, 512, &[(63, 20480)], None, &[]);
    refused(&one(), &wishes(&[2], None), &["no partition 2"]);
    refused(&one(), &wishes(&[1], Some(63 + 8)), &["begin 3584 bytes past", "sectors 64 and 72"]);
    refused(&one(), &wishes(&[1], Some(1 << 40)), &["beyond the disk"]);
    refused(&one(), &wishes(&[1], Some(40960)), &["partition 1 cannot begin at sector 40960"]);
    refused(
        &one(),
        &Wishes { journal: Some("/dev/null/none/x".into()), ..Wishes::default() },
        &["/dev/null/none"],
    );
    // A table that contradicts itself.
    refused(
        &mbr(24 * MIB, 512, &[(63, 20480), (10000, 20480)], None, &[]),
        &Wishes::default(),
        &["repair it first"],
    );
    // No table.
    refused(&Image::blank(24 * MIB), &Wishes::default(), &["no partition table"]);
    // What keeps places of its own.
    let mut dynamic = one();
    dynamic.put(446 + 4, &[0x42]);
    refused(&dynamic, &Wishes::default(), &["partition 1 cannot be moved"]);
    let mut asleep = one();
    asleep.put(63 * 512 + 4086, b"S1SUSPEND");
    refused(&asleep, &Wishes::default(), &["partition 1 cannot be moved"]);
}

#[test]
fn what_has_no_place_says_what_is_missing() {
    let stuck = |image: &Image| {
        let disk = OnDisk::of(image);
        let proposal = disk.propose(&Wishes::default()).unwrap();
        assert!(proposal.changes_nothing());
        proposal.stuck
    };
    // Boot code, and no room behind.
    let mut full = mbr(16 * MIB, 512, &[(63, 32768 - 63)], None, &[]);
    full.put(0, &[0xEB]);
    let [(1, why)] = &stuck(&full)[..] else { panic!("one") };
    assert!(why.contains("lacks 512 B") && why.contains("boot loader"), "{why}");
    // Two without a free byte between them; the first cannot go to the left.
    let mut two = mbr(16 * MIB, 512, &[(63, 10000), (10063, 32768 - 10063)], None, &[]);
    two.put(0, &[0xEB]);
    let stuck = stuck(&two);
    assert_eq!(stuck.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2]);
    assert!(stuck.iter().all(|(_, why)| why.contains("partition 2 would have to be")), "{stuck:?}");
}

#[test]
fn a_disk_that_somebody_changed_meanwhile_is_left_alone() {
    let disk = OnDisk::of(&mbr(24 * MIB, 512, &[(63, 20480)], None, &[]));
    let proposal = disk.propose(&Wishes::default()).unwrap();
    common::poke(&disk.path, 63 * 512 + 100, b"changed");
    let before = disk.bytes();
    let error = proposal.commit(&disk.place(), &mut Quiet).unwrap_err();
    assert!(!error.is_unfinished(), "{error}");
    assert!(error.to_string().contains("nothing was moved"), "{error}");
    assert!(disk.bytes() == before);
    assert!(common::files_in(disk.state.path()).is_empty(), "no record of nothing");

    // Between a stop and what follows.
    let proposal = disk.propose(&Wishes::default()).unwrap();
    proposal.commit(&disk.place(), &mut StopAfter(1)).unwrap_err();
    common::poke(&disk.path, 446 + 8, &[1]);
    let before = disk.bytes();
    let finish = |goes_on| {
        let unfinished = disk.unfinished().expect("by its record");
        let ended =
            unfinished.finish(&disk.disk(), goes_on, &Options::default(), Care::default(), None, &mut Quiet);
        ended.unwrap_err().to_string()
    };
    for goes_on in [true, false] {
        let error = finish(goes_on);
        assert!(error.contains("somebody else wrote"), "{error}");
        assert!(disk.bytes() == before);
    }
}

#[test]
fn a_lost_journal_is_named_and_can_be_named_anew() {
    // No room on the disk.
    let disk = OnDisk::of(&mbr(16 * MIB, 512, &[(63, 32768 - 63)], None, &[]));
    let before = disk.bytes();
    let proposal = disk.propose(&Wishes::default()).unwrap();
    let Some(Spot::File(journal)) = proposal.journal().cloned() else { panic!("a file") };
    proposal.commit(&disk.place(), &mut StopAfter(1)).unwrap_err();
    let elsewhere = disk.path.with_file_name("elsewhere.journal");
    fs::rename(&journal, &elsewhere).unwrap();

    let (_, codes) = disk.check();
    assert_eq!(codes, [Code::UnfinishedMove]);
    let error = Unfinished::find(&disk.disk(), &[]).unwrap_err().to_string();
    assert!(error.contains(journal.to_str().unwrap()) && error.contains("--journal"), "{error}");
    // That of another disk does not do.
    let other = OnDisk::of(&mbr(17 * MIB, 512, &[(63, 34816 - 63)], None, &[]));
    let error = Unfinished::with_journal(&other.disk(), &elsewhere).unwrap_err().to_string();
    assert!(error.contains("is of a disk of"), "{error}");

    let unfinished = Unfinished::with_journal(&disk.disk(), &elsewhere).unwrap();
    unfinished.finish(&disk.disk(), false, &Options::default(), Care::default(), None, &mut Quiet).unwrap();
    assert!(disk.bytes() == before);
    assert!(!elsewhere.exists());
}

#[test]
fn only_the_table_changes_where_partitions_hold_nothing() {
    let mut image = Image::blank(24 * MIB);
    let entry = MbrEntry { boot: 0, kind: 0x83, start: 63, sectors: 20480 };
    fixtures::mbr::write(&mut image, 512, 1, &[entry]);
    let disk = OnDisk::of(&image);
    let proposal = align_core::fix::table_only(&disk.disk(), &Wishes::default()).unwrap();
    proposal.commit(&disk.place()).unwrap();
    assert_eq!(disk.check().0, Status::Aligned);

    let disk = OnDisk::of(&mbr(24 * MIB, 512, &[(63, 20480)], None, &[]));
    let error = align_core::fix::table_only(&disk.disk(), &Wishes::default()).unwrap_err().to_string();
    assert!(error.contains("partition 1 holds ext4"), "{error}");
}

/// Gaps and lengths in sectors, in the order of the disk: of primaries, then of logicals.
type Lengths = Vec<(u64, u64)>;

fn lengths(count: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Lengths> {
    let gap = prop_oneof![Just(1), Just(2), 1..70_u64, 1..3000_u64];
    let len = prop_oneof![1..20_u64, 1..9000_u64];
    prop::collection::vec((gap, len), count)
}

/// An MBR with primaries and logicals as they come, each logical behind an EBR somewhere in its gap.
fn any_mbr() -> impl Strategy<Value = Image> {
    (lengths(0..=3), lengths(0..=3), 0..3000_u64, any::<[bool; 3]>(), 0..64_u64).prop_map(
        |(primaries, logicals, rest, [has_code, is_dos, is_filled], ebr)| {
            let mut at = if is_dos { 63 } else { 1 + rest % 80 };
            let mut placed = Vec::new();
            for (gap, len) in primaries {
                placed.push((at, len));
                at += len + gap - 1;
            }
            let container = at;
            let mut inside = Vec::new();
            for (index, (gap, len)) in logicals.into_iter().enumerate() {
                let record = if index == 0 { at } else { at + ebr % gap };
                inside.push((record, at + gap, len));
                at += gap + len;
            }
            let container = (!inside.is_empty()).then_some((container, at - container));
            let size = ((at + rest) * 512).max(MIB);
            let mut image = mbr(size, 512, &placed, container, &inside);
            if has_code {
                image.put(0, &[0xEB]);
            }
            if is_filled && rest > 0 {
                image.put(at * 512, &noise(3, usize::try_from(rest * 512).expect("small")));
            }
            image
        },
    )
}

fn any_gpt() -> impl Strategy<Value = Image> {
    (lengths(1..=5), 0..4000_u64).prop_map(|(partitions, rest)| {
        let mut at = 34;
        let mut placed = Vec::new();
        for (gap, len) in partitions {
            placed.push((at + gap - 1, len));
            at += gap - 1 + len;
        }
        gpt((at + rest + 34) * 512, 512, &placed)
    })
}

proptest! {
    #![proptest_config(common::config(20))]

    #[test]
    fn any_table_moves_with_its_bytes_and_comes_back(image in prop_oneof![any_mbr(), any_gpt()]) {
        let disk = OnDisk::of(&image);
        let before = disk.bytes();
        let proposal = disk.propose(&Wishes::default());
        // Where nothing is wrong with the table, something comes of it.
        let proposal = match proposal {
            Ok(proposal) => proposal,
            Err(error) => {
                let known = ["no partition table", "not whole"];
                prop_assert!(known.iter().any(|known| error.to_string().contains(known)), "{error}");
                return Ok(());
            }
        };
        let moves = proposal.moves.clone();
        let (old, stuck) = (proposal.before.clone(), proposal.stuck.clone());
        // Each misaligned partition moves to a boundary, or it is said why not.
        for report in old.partitions.iter().filter(|report| report.verdict == Verdict::Misaligned) {
            let number = report.partition.number;
            let moved = moves.iter().find(|moved| moved.number == number);
            prop_assert!(moved.is_none_or(|moved| moved.to % 4096 == 0));
            prop_assert!(moved.is_some() != stuck.iter().any(|(stuck, _)| *stuck == number), "{number}: {stuck:?}");
        }
        if moves.is_empty() {
            return Ok(());
        }
        let fixed = proposal.commit(&disk.place(), &mut Quiet).unwrap();
        let after = disk.bytes();
        assert_moved("any", &before, &after, &moves);
        prop_assert_eq!(fixed.report.table.health, Health::Ok);
        prop_assert_eq!(fixed.report.partitions.len(), old.partitions.len());
        for (new, old) in fixed.report.partitions.iter().zip(&old.partitions) {
            let (new, old) = (&new.partition, &old.partition);
            prop_assert_eq!((new.number, new.type_, new.kind, &new.name, new.id), (old.number, old.type_, old.kind, &old.name, old.id));
            if old.kind == PartitionKind::Extended || moves.iter().any(|moved| moved.number == old.number) {
                continue;
            }
            let place = |partition: &Partition| (partition.first, partition.last);
            prop_assert_eq!(place(new), place(old));
            let range = usize::try_from(old.first.number() * 512).unwrap()..usize::try_from((old.last.number() + 1) * 512).unwrap();
            prop_assert!(before[range.clone()] == after[range], "partition {}", old.number);
        }
        disk.undo(fixed.backup.unwrap(), &Wishes::default()).unwrap();
        prop_assert!(disk.bytes() == before, "it came back");
    }
}

/// The command on a file of its own.
fn run(folder: &Path, arguments: &[&str]) -> std::process::Output {
    common::alignck()
        .env("XDG_STATE_HOME", folder.join("state"))
        .args(arguments)
        .output()
        .expect("it can be done")
}

#[test]
fn the_command_says_what_it_did() {
    let folder = common::scratch();
    let path = common::file(folder.path(), "disk.img", &mbr(24 * MIB, 512, &[(63, 20480)], None, &[]));
    let disk = path.to_str().unwrap();
    let before = fs::read(&path).unwrap();

    let (document, code) = common::json(&run(folder.path(), &["fix", "--dry-run", "--json", disk]));
    assert_eq!((document["result"].as_str(), code), (Some("dry-run"), 0));
    assert!(fs::read(&path).unwrap() == before);
    // Nobody can be asked.
    let output = run(folder.path(), &["fix", disk]);
    assert_eq!(output.status.code(), Some(2));
    assert!(fs::read(&path).unwrap() == before);

    let output = run(folder.path(), &["fix", "--json", "--yes", "--verify", "--progress", "json", disk]);
    let (document, code) = common::json(&output);
    assert_eq!((document["result"].as_str(), code), (Some("moved"), 0), "{document}");
    assert_eq!(document["moves"][0]["to"], 2048);
    assert_eq!(document["after"]["status"], "aligned");
    let progress = String::from_utf8(output.stderr).unwrap();
    let last = progress.lines().last().expect("a line at the end at least");
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["bytes_done"], last["bytes"]);
    // Nothing to do any more.
    let (document, code) = common::json(&run(folder.path(), &["fix", "--json", "--yes", disk]));
    assert_eq!((document["result"].as_str(), code), (Some("unchanged"), 0));

    let (document, code) = common::json(&run(folder.path(), &["undo", "--json", "--yes", disk]));
    assert_eq!((document["result"].as_str(), code), (Some("moved"), 0), "{document}");
    assert!(fs::read(&path).unwrap() == before);
    let output = run(folder.path(), &["resume", "--yes", disk]);
    assert_eq!(output.status.code(), Some(2));
    // By the record of a move no table is changed alone.
    for record in common::files_in(&folder.path().join("state/alignck")) {
        let output = run(folder.path(), &["resume", "--yes", disk, record.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(fs::read(&path).unwrap() == before);
    }
}
