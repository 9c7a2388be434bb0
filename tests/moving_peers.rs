//! What is said of the content of a partition that moves, held against the tools that made it: the fields that follow
//! are what these tools write at the new place, they find no fault in it, and what they refuse to touch stays.
//!
//! Needs root, loop devices and the tools. A missing tool fails the test and names its package; where the kernel of
//! the machine lacks something, the test says so and ends.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use align_core::content::FRONT_LEN;
use align_core::content::moving::{Fields, Origin, Reach, immovable, place_fields, reach, shrink_advice};
use align_core::device::ReadError;
use common::loops::Loop;
use common::tools::{note, run, said, said_with, text};
use common::{poke, resize, scratch};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

// ---------------------------------------------------------------------------------------------------------------
// The fields that hold the start

/// Kind, MiB, and further options.
const FATS: &[(&str, u64, &[&str])] = &[
    ("12", 4, &[]),
    ("16", 32, &[]),
    ("32", 64, &[]),
    ("32", 64, &["-b", "3", "-R", "9"]),
    ("32", 300, &["-S", "4096"]),
    ("16", 64, &["-S", "2048"]),
];

#[test]
fn fat_at_its_new_place_is_what_mkfs_makes_there() {
    let bench = Bench::new();
    for (kind, mebibytes, options) in FATS {
        let make = |name, start: u64| {
            let image = bench.blank(name, mebibytes * MIB);
            let start = start.to_string();
            let given = ["-F", kind, "--invariant", "-h", &start];
            run("mkfs.vfat", &[&given[..], options, &[text(&image)]].concat(), "");
            image
        };
        let context = format!("FAT{kind} {options:?}");
        let (moved, expected) = (make("moved.img", 63), make("expected.img", 2048));
        let sector_size = if options.contains(&"4096") { 4096 } else { 512 };
        let sector_size = if options.contains(&"2048") { 2048 } else { sector_size };
        let fields = follow(&moved, at(63 * sector_size), at(2048 * sector_size));
        assert_eq!(fields.changes.len(), if *kind == "32" { 2 } else { 1 }, "{context}");
        assert!(fs::read(&moved).ok() == fs::read(&expected).ok(), "{context}");
        run("fsck.vfat", &["-n", text(&moved)], "");
    }
}

#[test]
fn a_logical_partition_counts_from_its_boot_record() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 32 * MIB);
    let logical = |first: u64, gap: u64| Origin { absolute: first * 512, relative: Some(gap * 512) };
    run("mkfs.vfat", &["-F", "16", "-h", "63", text(&image)], "");
    follow(&image, logical(1_000_063, 63), logical(1_001_472, 2048));
    assert_eq!(word(&image, 0x1C), 2048);
    run("mkfs.vfat", &["-F", "16", "-h", "1000063", text(&image)], "");
    follow(&image, logical(1_000_063, 63), logical(1_001_472, 2048));
    assert_eq!(word(&image, 0x1C), 1_001_472);
    run("mkfs.vfat", &["-F", "16", "-h", "64", text(&image)], "");
    assert_eq!(follow(&image, logical(1_000_063, 63), logical(1_001_472, 2048)), Fields::default());
}

#[test]
fn ntfs_at_its_new_place_says_what_mkfs_says_there() {
    let bench = Bench::new();
    for sector_size in [512, 4096] {
        let make = |name, start: u64| {
            let image = bench.blank(name, 32 * MIB);
            let (start, sector_size) = (start.to_string(), sector_size.to_string());
            let place = ["-p", &start, "-H", "255", "-S", "63", "-s", &sector_size];
            run("mkfs.ntfs", &[&["-F", "-q"][..], &place, &[text(&image)]].concat(), "");
            image
        };
        let (moved, expected) = (make("moved.img", 63), make("expected.img", 2048));
        let before = fs::read(&moved).expect("it was made");
        let fields = follow(&moved, at(63 * sector_size), at(2048 * sector_size));
        assert_eq!((fields.changes.len(), fields.warnings.len()), (2, 0));
        for offset in [0x1C, 32 * MIB - sector_size + 0x1C] {
            assert_eq!((word(&moved, offset), word(&expected, offset)), (2048, 2048), "{sector_size}");
        }
        assert!(differences(&before, &fs::read(&moved).expect("it was made")) <= 8);
        // It compares the boot sector with its copy.
        let found = run("ntfsfix", &["-n", text(&moved)], "").output;
        assert!(found.contains("alternate boot sector... OK"), "{found}");
    }
}

/// After it was made smaller, the copy of the boot sector is in the middle of what was its partition.
#[test]
fn the_copy_of_a_volume_that_was_resized_is_found() {
    let bench = Bench::new();
    for cluster in ["512", "4096", "65536"] {
        let image = bench.blank("disk.img", 64 * MIB);
        run("mkfs.ntfs", &["-F", "-q", "-p", "63", "-H", "255", "-S", "63", "-c", cluster, text(&image)], "");
        for size in [40 * MIB, 30 * MIB + 5 * 4096] {
            run("ntfsresize", &["--force", "--size", &size.to_string(), text(&image)], "y\n");
            let changes = follow(&image, at(63 * 512), at(2048 * 512)).changes;
            let places: Vec<u64> = changes.into_iter().map(|(place, _)| place).collect();
            // The stale copy of the whole partition is one of the same volume, except for its size.
            assert_eq!(places, [0x1C, size - 512 + 0x1C], "clusters of {cluster}");
            follow(&image, at(2048 * 512), at(63 * 512));
        }
    }
}

#[test]
fn exfat_at_its_new_place_says_what_mkfs_says_there() {
    let bench = Bench::new();
    for sector_size in [512, 4096] {
        let image = bench.blank("disk.img", 72 * MIB);
        let device = Loop::attach(&image, sector_size, &[]);
        let Some(moved) = made_at(&bench, &device, "moved.img", MIB, sector_size, &["mkfs.exfat"]) else {
            return;
        };
        let Some(expected) = made_at(&bench, &device, "expected.img", 3 * MIB, sector_size, &["mkfs.exfat"])
        else {
            return;
        };
        let fields = follow(&moved, at(MIB), at(3 * MIB));
        assert_eq!((fields.changes.len(), fields.warnings.len()), (4, 0));
        for offset in [0x40, 12 * sector_size + 0x40] {
            assert_eq!(read(&moved, offset, 8), (3 * MIB / sector_size).to_le_bytes());
            assert_eq!(read(&expected, offset, 8), read(&moved, offset, 8));
        }
        // It looks at the checksum of the sectors: without a new one it complains.
        run("fsck.exfat", &["-n", text(&moved)], "");
        poke(&moved, 0x40, &MIB.to_le_bytes());
        assert!(said("fsck.exfat", &["-n", text(&moved)]).contains("checksum"));
    }
}

/// Sectors of another size than that of the disk: mkfs writes down what the kernel says, in units of 512 bytes.
#[test]
fn sectors_of_the_kernel_are_understood() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 72 * MIB);
    let device = Loop::attach(&image, 512, &[]);
    let mkfs = ["mkfs.vfat", "-S", "4096"];
    let Some(moved) = made_at(&bench, &device, "moved.img", MIB, 512, &mkfs) else { return };
    assert_eq!(word(&moved, 0x1C), 2048);
    follow(&moved, at(MIB), at(3 * MIB));
    assert_eq!(word(&moved, 0x1C), 6144);
    run("fsck.vfat", &["-n", text(&moved)], "");
}

#[test]
fn other_file_systems_hold_no_start() {
    let bench = Bench::new();
    let makers: [&[&str]; 5] =
        [&["mkfs.ext4", "-q"], &["mkfs.xfs", "-q"], &["mkfs.btrfs", "-q"], &["mkswap"], &["mkfs.ext2", "-q"]];
    for maker in makers {
        let image = bench.blank("disk.img", 400 * MIB);
        run(maker[0], &[&maker[1..], &[text(&image)]].concat(), "");
        assert_eq!(follow(&image, at(MIB), at(2 * MIB)), Fields::default(), "{maker:?}");
        assert_eq!(stays(&image), None, "{maker:?}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What must stay

#[test]
fn windows_that_ntfs_3g_takes_for_hibernated_stays() {
    let bench = Bench::new();
    let cases: [(&[u8], usize, bool); 7] = [
        (b"hibr", 8192, true),
        (b"HIBR", 8192, true),
        (b"wake", 8192, false),
        (b"WAKE", 8192, false),
        (b"", 8192, false),
        (b"wake", 4095, true),
        (b"wake", 100, true),
    ];
    for (magic, len, hibernated) in cases {
        let image = bench.ntfs();
        let file = bench.folder.path().join("hiberfile");
        let mut bytes = magic.to_vec();
        bytes.resize(len, 0);
        fs::write(&file, bytes).expect("the folder can be written");
        run("ntfscp", &[text(&image), text(&file), "hiberfil.sys"], "");
        let context = format!("{:?} of {len}", String::from_utf8_lossy(magic));
        let expected = hibernated.then_some("a hibernated Windows");
        assert_eq!(stays(&image), expected, "{context}");
        if let Some(mounted) = bench.mount_ntfs(&image, "rw") {
            assert_eq!(mounted.errors.contains("ibernated"), hibernated, "{context}: {}", mounted.errors);
        }
    }
}

/// A root directory of many blocks.
#[test]
fn the_hibernation_file_is_found_among_thousands() {
    let bench = Bench::new();
    let image = bench.ntfs();
    let Some(mounted) = bench.mount_ntfs(&image, "rw") else { return };
    let path = |name: &str| mounted.path.join(name);
    for nth in 0..3000_u32 {
        // Names on both sides of the one that is looked for, and close to it.
        let name = format!(
            "{}-{nth:04}-{}",
            ["a", "HIBERFIL", "hiberfil.sy", "z"][nth as usize % 4],
            "ä".repeat(40)
        );
        fs::write(path(&name), vec![1; 3000]).expect("the file system takes files");
    }
    fs::write(path("hiberfil.sys"), [b"hibr".to_vec(), vec![0; 8188]].concat()).expect("one more");
    drop(mounted);
    assert_eq!(stays(&image), Some("a hibernated Windows"));
    drop(bench.mount_ntfs(&image, "remove_hiberfile"));
    assert_eq!(stays(&image), None);
}

#[test]
fn a_system_suspended_to_swap_stays() {
    let bench = Bench::new();
    for page in [4096, 8192, 16384, 32768, 65536] {
        let image = bench.blank("swap.img", 16 * MIB);
        run("mkswap", &["--pagesize", &page.to_string(), text(&image)], "");
        assert_eq!(stays(&image), None);
        poke(&image, page - 10, b"S1SUSPEND\0");
        assert!(run("blkid", &["-p", text(&image)], "").output.contains("\"swsuspend\""));
        assert_eq!(stays(&image), Some("a hibernated Linux"), "{page}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What nobody recognises any more

#[test]
fn nothing_recognises_what_is_overwritten_as_far_as_it_reaches() {
    let bench = Bench::new();
    let luks =
        ["cryptsetup", "luksFormat", "-q", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--type"];
    let luks1 = [&luks[..], &["luks1"]].concat();
    let luks2 = [&luks[..], &["luks2", "--luks2-metadata-size"]].concat();
    let sizes = ["16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m", "4m"];
    let all_luks2 = sizes.map(|size| [&luks2[..], &[size, "--luks2-keyslots-size", "1m"]].concat());
    let makers: [&[&str]; 9] = [
        &["mkfs.ext4", "-q"],
        &["mkfs.xfs", "-q"],
        &["mkfs.btrfs", "-q"],
        &["mkfs.vfat"],
        &["mkfs.ntfs", "-F", "-q"],
        &["mkfs.exfat"],
        &["mkswap"],
        &["sgdisk", "-n", "1:0:0"],
        &luks1,
    ];
    for maker in makers.into_iter().chain(all_luks2.iter().map(Vec::as_slice)) {
        let image = bench.blank("disk.img", 400 * MIB);
        run(maker[0], &[&maker[1..], &[text(&image)]].concat(), "password");
        assert!(is_recognised(&image), "{maker:?}");
        cover(&image, reach(&read(&image, 0, FRONT_LEN)));
        assert!(!is_recognised(&image), "{maker:?}: {}", said("wipefs", &[text(&image)]));
        assert_ne!(said_with("cryptsetup", &["isLuks", text(&image)], "").exit, 0, "{maker:?}");
    }
}

/// VMFS has no mark at its front; these are those that libblkid looks for.
#[test]
fn what_begins_behind_the_first_mebibyte_is_covered_too() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    poke(&image, MIB, b"\x0D\xD0\x01\xC0");
    poke(&image, 2 * MIB, b"\x5E\xF1\xAB\x2F");
    assert!(is_recognised(&image));
    cover(&image, reach(&read(&image, 0, FRONT_LEN)));
    assert!(!is_recognised(&image));
}

fn is_recognised(image: &Path) -> bool {
    let by_blkid = said_with("blkid", &["-p", text(image)], "");
    let by_wipefs = run("wipefs", &["--no-act", "--noheadings", text(image)], "");
    !by_blkid.output.is_empty() || !by_wipefs.output.trim().is_empty()
}

fn cover(image: &Path, reach: Reach) {
    let zeros = |len: u64| vec![0; usize::try_from(len).expect("some MiB")];
    poke(image, 0, &zeros(reach.head));
    poke(image, len(image) - reach.tail, &zeros(reach.tail));
}

// ---------------------------------------------------------------------------------------------------------------
// What shrinks

#[test]
fn the_commands_that_are_named_make_room() {
    let bench = Bench::new();
    let cases: [(&[&str], &str, &[&str]); 3] = [
        (&["mkfs.ext4", "-q"], "ext4", &["fsck.ext4", "-fn"]),
        (&["mkfs.ext2", "-q"], "ext2", &["fsck.ext4", "-fn"]),
        (&["mkfs.ntfs", "-F", "-q"], "NTFS", &["ntfsfix", "-n"]),
    ];
    for (maker, name, check) in cases {
        let image = bench.blank("disk.img", 400 * MIB);
        run(maker[0], &[&maker[1..], &[text(&image)]].concat(), "");
        let to_bytes = 200 * MIB + 3 * 4096;
        follow_advice(name, text(&image), to_bytes, "");
        resize(&image, to_bytes);
        run(check[0], &[&check[1..], &[text(&image)]].concat(), "");
    }
}

#[test]
fn btrfs_shrinks_while_it_is_mounted() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 600 * MIB);
    run("mkfs.btrfs", &["-q", text(&image)], "");
    let mounted = bench.folder.path().join("mounted");
    fs::create_dir_all(&mounted).expect("the folder can be written");
    if said_with("mount", &["-o", "loop", text(&image), text(&mounted)], "").exit != 0 {
        note("this kernel does not mount btrfs");
        return;
    }
    follow_advice("btrfs", text(&image), 400 * MIB + 512, text(&mounted));
    run("umount", &[text(&mounted)], "");
    resize(&image, 400 * MIB + 512);
    run("btrfs", &["check", text(&image)], "");
}

/// Runs the commands of an advice.
fn follow_advice(name: &str, node: &str, to_bytes: u64, mounted: &str) {
    let advice = shrink_advice(name, node, to_bytes).expect("it is known");
    for command in advice.split('`').skip(1).step_by(2) {
        // Without a terminal it asks nothing.
        let command = command.replace("MOUNTPOINT", mounted).replace("e2fsck -f", "e2fsck -fp");
        let words: Vec<&str> = command.split(' ').collect();
        run(words[0], &words[1..], "y\n");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Helpers

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: scratch() }
    }

    fn blank(&self, name: &str, size: u64) -> PathBuf {
        let path = self.folder.path().join(name);
        let file = File::create(&path).and_then(|file| file.set_len(size));
        file.expect("the scratch folder takes sparse images");
        path
    }

    fn ntfs(&self) -> PathBuf {
        let image = self.blank("ntfs.img", 64 * MIB);
        run("mkfs.ntfs", &["-F", "-q", text(&image)], "");
        image
    }

    /// What ntfs-3g makes of the image; `None` where the kernel has no FUSE.
    fn mount_ntfs(&self, image: &Path, options: &str) -> Option<Mounted> {
        if !Path::new("/dev/fuse").exists() {
            note("this machine has no /dev/fuse");
            return None;
        }
        let path = self.folder.path().join("mounted");
        fs::create_dir_all(&path).expect("the folder can be written");
        // Of a block device the end of `umount` is the end of the writing, of a file it is not.
        let device = Loop::attach(image, 512, &[]);
        let printed = said_with("ntfs-3g", &["-o", options, device.path(), text(&path)], "");
        printed.assert_exit(0, "ntfs-3g");
        Some(Mounted { path, errors: printed.errors, _device: device })
    }
}

/// A mounted file system, until the end of the test.
struct Mounted {
    path: PathBuf,
    errors: String,
    _device: Loop,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        said("umount", &[text(&self.path)]);
    }
}

/// The content of a partition that begins at a byte of the device, made there. `None` where the kernel knows no
/// partitions of loop devices.
fn made_at(
    bench: &Bench,
    device: &Loop,
    name: &str,
    start: u64,
    sector_size: u64,
    mkfs: &[&str],
) -> Option<PathBuf> {
    let table = format!("label: gpt\nstart={}, size={}", start / sector_size, 64 * MIB / sector_size);
    run("sfdisk", &["--quiet", "--no-reread", "--no-tell-kernel", "--wipe", "always", device.path()], &table);
    device.show_to_kernel();
    let node = device.partition(1);
    if !Path::new(&node).exists() {
        note("this machine makes no nodes for partitions of loop devices");
        return None;
    }
    run(mkfs[0], &[&mkfs[1..], &[&node]].concat(), "");
    let image = bench.blank(name, 0);
    let bytes = read(&device.node, start, usize::try_from(64 * MIB).expect("64 MiB"));
    fs::write(&image, bytes).expect("the folder can be written");
    Some(image)
}

/// A partition that begins at a byte of the disk.
fn at(absolute: u64) -> Origin {
    Origin { absolute, relative: None }
}

fn read(image: &Path, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let file = File::open(image).and_then(|file| file.read_exact_at(&mut bytes, offset));
    file.expect("the image can be read");
    bytes
}

fn word(image: &Path, offset: u64) -> u32 {
    u32::from_le_bytes(read(image, offset, 4).try_into().expect("four bytes"))
}

fn differences(one: &[u8], other: &[u8]) -> usize {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).filter(|(one, other)| one != other).count()
}

/// The closure over the image of a partition.
fn inside(image: &Path) -> impl Fn(u64, usize) -> Result<Vec<u8>, ReadError> {
    let file = File::open(image).expect("the image can be read");
    move |offset, len| {
        let mut bytes = vec![0; len];
        let read = file.read_exact_at(&mut bytes, offset);
        read.map(|()| bytes).map_err(|source| ReadError::Io { offset, source })
    }
}

fn len(image: &Path) -> u64 {
    fs::metadata(image).expect("the image is there").len()
}

/// Writes what has to follow into the image of a partition that moves.
fn follow(image: &Path, old: Origin, new: Origin) -> Fields {
    let fields = place_fields(&inside(image), len(image), old, new).expect("the image can be read");
    for (offset, bytes) in &fields.changes {
        poke(image, *offset, bytes);
    }
    fields
}

fn stays(image: &Path) -> Option<&'static str> {
    immovable(&inside(image), len(image)).expect("the image can be read").map(|found| found.what)
}
