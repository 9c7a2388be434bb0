//! Partitions that move with what real tools have put into them, in the eyes of those tools, of the kernel, and of
//! whoever uses the disk: whole at the new place, nothing at all on the way, and to the byte as before when they are
//! back.
//!
//! Needs root, loop devices and the tools. A missing tool fails the test and names its package; where the kernel of
//! the machine lacks something, the test says so and does what is left.

#[path = "fix_peers/bench.rs"]
mod bench;
mod common;
#[path = "fix_peers/contents.rs"]
mod contents;
#[path = "fix_peers/devices.rs"]
mod devices;
#[path = "fix_peers/journals.rs"]
mod journals;
#[path = "fix_peers/unfinished.rs"]
mod unfinished;

use std::path::{Path, PathBuf};

use bench::{Bench, assert_same, but_for_places, noise, part, place_of, writable_part, write_table};
use common::loops::Loop;
use common::poke;
use common::tools::text;
use contents::{Content, Fields, Tree, grow, named};

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

// ---------------------------------------------------------------------------------------------------------------
// Scenes

/// Where a partition is, and where it goes.
struct Scene {
    name: &'static str,
    /// The table for a content of so many sectors.
    table: fn(&Content, u64) -> String,
    /// What is asked for, and the sector that the partition then begins at.
    moves: &'static [(&'static [&'static str], u64)],
    number: u64,
    start: u64,
    /// What the content counts its place from, in sectors: the disk, or the boot record of a logical partition.
    counts_from: u64,
}

const PRIMARY: Scene = Scene {
    name: "a primary partition at 63",
    table: |content, sectors| {
        format!(
            "label: dos\nlabel-id: 0x12345678\nstart=63, size={sectors}, type={}, bootable",
            content.types.0
        )
    },
    moves: &[(&["--partition", "1", "--to", "64"], 64), (&[], 2048)],
    number: 1,
    start: 63,
    counts_from: 0,
};

/// The partition behind it leaves only the way to the left.
const ODD: Scene = Scene {
    name: "a partition at an odd place of a GPT",
    table: |content, sectors| {
        format!(
            "label: gpt\nlabel-id: 0F0E0D0C-0B0A-4908-8706-050403020100\n\
             N3: start=4099, size={sectors}, type={}, name=\"größe\", attrs=\"RequiredPartition GUID:60,63\", \
             uuid=00112233-4455-4677-8899-AABBCCDDEEFF\n\
             N1: start={}, size=2048, type=L, name=\"behind\"",
            content.types.1,
            4099 + sectors
        )
    },
    moves: &[(&[], 4096), (&["--partition", "3", "--to", "2048"], 2048)],
    number: 3,
    start: 4099,
    counts_from: 0,
};

const LOGICAL: Scene = Scene {
    name: "a logical partition behind its boot record",
    table: |content, sectors| {
        let second = 126 + sectors + 63;
        format!(
            "label: dos\nlabel-id: 0x12345678\n\
             N1: start=63, size={}, type=f\n\
             N5: start=126, size={sectors}, type={}\n\
             N6: start={second}, size=4096, type=83",
            second + 4096 - 63 + 7,
            content.types.0
        )
    },
    moves: &[(&[], 2048), (&["--partition", "5", "--to", "128"], 128)],
    number: 5,
    start: 126,
    counts_from: 63,
};

/// A disk with a content in one of its partitions.
struct Made {
    image: PathBuf,
    kept: PathBuf,
    content: &'static Content,
    scene: &'static Scene,
    /// The length of the partition, in bytes.
    len: u64,
    identity: String,
    files: Option<Tree>,
    table: Vec<String>,
}

impl Made {
    fn new(bench: &Bench, content: &'static Content, scene: &'static Scene) -> Self {
        // So that the partition behind an odd one is at a multiple of 8.
        let sectors = content.mebibytes * MIB / SECTOR + 5;
        let (start, len) = (scene.start * SECTOR, sectors * SECTOR);
        let image = bench.blank("disk.img", len + 12 * MIB);
        write_table(&image, &(scene.table)(content, sectors));
        // Nobody's: it neither moves nor is it lost; and what other partitions hold.
        let behind = (scene.start + sectors) * SECTOR;
        match scene.number {
            3 => poke(&image, behind, &noise(70, 1 << 20)),
            5 => poke(&image, behind + 63 * SECTOR, &noise(71, 2 << 20)),
            _ => {}
        }
        let tree = make(bench, &image, content, scene, len);
        let mut made = Self {
            kept: bench.keep(&image, "kept.img"),
            table: but_for_places(&image, scene.name),
            image,
            content,
            scene,
            len,
            identity: String::new(),
            files: None,
        };
        assert_eq!(place_of(&made.image, scene.number), (start, len));
        (made.identity, made.files) = made.seen(bench, start);
        if made.files.is_some() {
            assert_eq!(made.files, tree, "{}: at first", made.context());
        }
        made.assert_as_before("looked at");
        made
    }

    fn context(&self) -> String {
        format!("{}, {}", self.content.name, self.scene.name)
    }

    fn path(&self) -> &str {
        text(&self.image)
    }

    /// What the tools see at a place: the checker has nothing to say, its identity, and its files.
    fn seen(&self, bench: &Bench, start: u64) -> (String, Option<Tree>) {
        let device = part(&self.image, start, self.len);
        let identity = (self.content.check)(bench, device.path());
        let files = self.content.files.tree(bench, device.path());
        assert_eq!(
            (self.content.check)(bench, device.path()),
            identity,
            "{}: looked at twice",
            self.context()
        );
        (identity, files)
    }

    /// All is at the new place, in the table and in the partition.
    fn assert_moved(&self, bench: &Bench, to: u64) {
        let context = format!("{}, to {to}", self.context());
        assert_eq!(place_of(&self.image, self.scene.number), (to * SECTOR, self.len), "{context}");
        assert_eq!(but_for_places(&self.image, &context), self.table, "{context}");
        let from = self.scene.start * SECTOR;
        let hidden = to - self.counts_from();
        let (before, after) = ((&*self.kept, from), (&*self.image, to * SECTOR));
        self.content.fields.assert_moved(before, after, self.len, hidden, &context);
        let seen = self.seen(bench, to * SECTOR);
        assert_eq!(seen.0, self.identity, "{context}");
        assert_eq!(seen.1, self.files, "{context}");
        if self.scene.number != 1 {
            self.assert_neighbour(&context);
        }
    }

    /// The other partition is whole, wherever it is.
    fn assert_neighbour(&self, context: &str) {
        let number = if self.scene.number == 5 { 6 } else { 1 };
        let (from, len) = place_of(&self.kept, number);
        let (to, _) = place_of(&self.image, number);
        Fields::None.assert_moved((&self.kept, from), (&self.image, to), len, 0, context);
    }

    /// A boot record that a logical partition counts from is the first of the container.
    fn counts_from(&self) -> u64 {
        if self.scene.counts_from > 0 && counts_from_record(self.content) {
            place_of(&self.image, 1).0 / SECTOR
        } else {
            0
        }
    }

    fn assert_as_before(&self, context: &str) {
        assert_same(&self.image, &self.kept, &format!("{}, {context}", self.context()));
    }
}

/// Of a logical partition FAT and NTFS may count from the boot record, exFAT asks the kernel.
fn counts_from_record(content: &Content) -> bool {
    matches!(content.fields, Fields::Fat16 | Fields::Fat32 | Fields::Ntfs)
}

/// Makes the content in its partition, and fills it.
fn make(bench: &Bench, image: &Path, content: &Content, scene: &Scene, len: u64) -> Option<Tree> {
    let start = scene.start * SECTOR;
    let place = if counts_from_record(content) { scene.start - scene.counts_from } else { scene.start };
    if content.fields == Fields::ExFat {
        let device = Loop::attach(image, SECTOR, &[]);
        device.show_to_kernel();
        (content.make)(bench, &device.partition(scene.number), place);
    } else {
        let device = writable_part(image, start, len);
        (content.make)(bench, device.path(), place);
    }
    let folder = bench.path("tree");
    let tree = grow(&folder);
    let device = writable_part(image, start, len);
    content.files.fill(bench, device.path(), &folder);
    Some(tree)
}

// ---------------------------------------------------------------------------------------------------------------
// There and back

fn there_and_back(content: &str) {
    for scene in [&PRIMARY, &ODD, &LOGICAL] {
        let bench = Bench::new();
        let made = Made::new(&bench, named(content), scene);
        for (asked, to) in scene.moves {
            let arguments = [&["fix", "--yes"], *asked, &[made.path()]].concat();
            bench.ends(0, &arguments);
            made.assert_moved(&bench, *to);
            bench.ends(0, &["undo", "--yes", made.path()]);
            made.assert_as_before(&format!("to {to} and back"));
        }
    }
}

#[test]
fn ext4_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("ext4");
}

#[test]
fn xfs_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("XFS");
}

#[test]
fn btrfs_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("btrfs");
}

#[test]
fn ntfs_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("NTFS");
}

#[test]
fn fat32_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("FAT32");
}

#[test]
fn fat16_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("FAT16");
}

#[test]
fn exfat_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("exFAT");
}

#[test]
fn swap_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("swap");
}

#[test]
fn luks2_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("LUKS2");
}

#[test]
fn lvm_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("LVM");
}

#[test]
fn md_1_2_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("md 1.2");
}

#[test]
fn md_1_0_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("md 1.0");
}

#[test]
fn md_0_90_is_whole_at_its_new_place_and_as_before_when_it_is_back() {
    there_and_back("md 0.90");
}
