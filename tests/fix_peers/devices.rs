//! Disks of the kernel: its partitions follow, and what is in use stays.

use std::fs;
use std::path::Path;

use crate::bench::{
    Bench, Mounted, assert_same, but_for_places, len_of, place_of, writable_part, write_table,
};
use crate::common::loops::Loop;
use crate::common::resize;
use crate::common::tools::{note, run, said, said_with, text};
use crate::contents::{Files, grow, named, tree};
use crate::{MIB, Made, ODD, PRIMARY, SECTOR};

#[test]
fn the_kernel_uses_the_new_places() {
    for scene in [&PRIMARY, &ODD] {
        let bench = Bench::new();
        let made = Made::new(&bench, named("ext4"), scene);
        let device = Loop::attach(&made.image, SECTOR, &[]);
        device.show_to_kernel();
        let before = device.kernel_partitions();
        let sectors = made.len / SECTOR;
        assert_eq!(before[&scene.number], (scene.start, sectors));
        for (asked, to) in scene.moves {
            let said = bench.ends(0, &[&["fix", "--yes"], *asked, &[device.path()]].concat());
            assert!(said.output.contains("The kernel uses the new partitions."), "{}", said.output);
            let mut expected = before.clone();
            expected.insert(scene.number, (*to, sectors));
            assert_eq!(device.kernel_partitions(), expected);
            let listed = run("partx", &["--raw", "--noheadings", "-o", "NR,START", device.path()], "");
            assert!(
                listed.output.lines().any(|line| line == format!("{} {to}", scene.number)),
                "{}",
                listed.output
            );
            let node = device.partition(scene.number);
            run("e2fsck", &["-fn", &node], "");
            assert_eq!(made.content.files.tree(&bench, &node), made.files);
            bench.ends(0, &["undo", "--yes", device.path()]);
            assert_eq!(device.kernel_partitions(), before);
        }
        drop(device);
        made.assert_as_before("by way of a device");
    }
}

#[test]
fn the_node_of_what_moves_is_gone_meanwhile() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &ODD);
    let device = Loop::attach(&made.image, SECTOR, &[]);
    device.show_to_kernel();
    let before = device.kernel_partitions();
    let node = device.partition(3);
    let fix = ["fix", "--yes", device.path()];
    let writes = bench.writes(&fix);
    bench.ends(0, &["undo", "--yes", device.path()]);
    for (and, nth) in ["resume", "undo"].into_iter().zip(writes.on_the_way(3)) {
        assert_ne!(bench.signalled("SIGKILL", nth, &fix).exit, 0, "{writes:?}");
        let numbers: Vec<u64> = device.kernel_partitions().into_keys().collect();
        assert_eq!(numbers, [1], "{and}");
        assert!(!Path::new(&node).exists());
        bench.ends(5, &[device.path()]);
        // Whoever reads the table again gets a node, and nothing on it.
        device.show_to_kernel();
        let seen = said("blkid", &["-p", "-o", "export", &node]);
        assert!(!seen.lines().any(|line| line.starts_with("TYPE=")), "{seen}");
        assert_eq!(run("wipefs", &["-n", &node], "").output, "");
        let place = bench.path("half");
        fs::create_dir_all(&place).expect("the scratch folder can be written");
        assert_ne!(said_with("mount", &[&node, text(&place)], "").exit, 0);
        bench.ends(0, &[and, "--yes", device.path()]);
        let mut expected = before.clone();
        if and == "resume" {
            expected.insert(3, (4096, made.len / SECTOR));
        }
        assert_eq!(device.kernel_partitions(), expected, "{and}");
        if and == "resume" {
            bench.ends(0, &["undo", "--yes", device.path()]);
        }
        assert_eq!(device.kernel_partitions(), before, "{and}");
    }
    drop(device);
    made.assert_as_before("by way of a device");
}

/// Sectors of 4096 bytes that hide physical ones of 16384.
#[test]
fn a_table_in_sectors_of_4096_bytes_is_kept_in_them() {
    const UNIT: u64 = 4096;
    for (label, kind) in [("gpt", "L"), ("dos", "83")] {
        let bench = Bench::new();
        let image = bench.blank("disk.img", 80 * MIB);
        let device = Loop::attach(&image, UNIT, &[]);
        write_table(&device.node, &format!("label: {label}\nstart=257, size=12291, type={kind}"));
        device.show_to_kernel();
        let node = device.partition(1);
        run("mkfs.ext4", &["-q", &node], "");
        let folder = bench.path("tree");
        let files = Files::Kernel("ro,noload");
        let grown = grow(&folder);
        files.fill(&bench, &node, &folder);
        run("sync", &[], "");
        let kept = bench.keep(&image, "kept.img");
        let table = but_for_places(&device.node, label);
        let asked: [(&[&str], u64); 3] = [
            (&["-t", "physical=16384"], 512),
            (&["-t", "physical=16384", "--partition", "1", "--to", "260"], 260),
            (&["-t", "physical=16384", "--partition", "1", "--to", "256"], 256),
        ];
        for (asked, to) in asked {
            let context = format!("{label}, to {to}");
            bench.ends(0, &[&["fix", "--yes"], asked, &[device.path()]].concat());
            assert_eq!(place_of(&device.node, 1), (to * UNIT, 12291 * UNIT), "{context}");
            assert_eq!(but_for_places(&device.node, &context), table, "{context}");
            assert_eq!(device.kernel_partitions()[&1], (to * 8, 12291 * 8), "{context}");
            run("e2fsck", &["-fn", &node], "");
            assert_eq!(files.tree(&bench, &node).as_ref(), Some(&grown), "{context}");
            bench.ends(0, &["undo", "--yes", device.path()]);
            assert_eq!(device.kernel_partitions()[&1], (257 * 8, 12291 * 8), "{context}");
            run("sync", &[], "");
            assert_same(&image, &kept, &context);
        }
        // Off the physical sectors only by force.
        let off = ["fix", "--yes", "-t", "physical=16384", "--partition", "1", "--to", "258", device.path()];
        bench.assert_refused(2, &off, &image, &["sector 258", "256 and 260", "--force"]);
    }
}

#[test]
fn what_is_mounted_from_it_is_refused_by_name() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &PRIMARY);
    let fix = ["fix", "--yes", made.path()];
    let place = bench.path("in-use");
    {
        let part = writable_part(&made.image, 63 * SECTOR, made.len);
        bench.assert_refused(2, &fix, &made.image, &["in use", part.path()]);
        let _mounted = Mounted::by_kernel(&place, part.path(), "ro,noload").expect("every kernel has ext4");
        bench.assert_refused(2, &fix, &made.image, &["in use", part.path()]);
        // The same of another device on the same file.
        let whole = Loop::attach(&made.image, SECTOR, &[]);
        bench.assert_refused(2, &["fix", "--yes", whole.path()], &made.image, &["in use", part.path()]);
    }
    let whole = Loop::attach(&made.image, SECTOR, &[]);
    bench.assert_refused(2, &fix, &made.image, &["in use", whole.path()]);
    whole.show_to_kernel();
    {
        let node = whole.partition(1);
        let _mounted = Mounted::by_kernel(&place, &node, "ro,noload").expect("every kernel has ext4");
        let words = ["in use", &node, text(&place)];
        bench.assert_refused(2, &["fix", "--yes", whole.path()], &made.image, &words);
        assert_eq!(whole.kernel_partitions()[&1].0, 63);
        assert!(Path::new(&node).exists());
    }
    drop(whole);
    made.assert_as_before("refused");
    bench.ends(0, &fix);
}

/// What does not move may be in use, and stays so.
#[test]
fn a_partition_moves_while_another_is_mounted() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &ODD);
    let device = Loop::attach(&made.image, SECTOR, &[]);
    device.show_to_kernel();
    run("mkfs.ext4", &["-q", "-F", &device.partition(1)], "");
    let place = bench.path("neighbour");
    let mounted = Mounted::by_kernel(&place, &device.partition(1), "rw").expect("every kernel has ext4");
    fs::write(place.join("before"), "before").expect("it is mounted");
    let sectors = made.len / SECTOR;
    let (asked, to) = ODD.moves[1];
    bench.ends(0, &[&["fix", "--yes"], asked, &[device.path()]].concat());
    assert_eq!(device.kernel_partitions()[&3], (to, sectors));
    fs::write(place.join("between"), "between").expect("it is mounted");
    assert_eq!(made.content.files.tree(&bench, &device.partition(3)), made.files);
    // A journal on the disk that is being changed would move or be cut off with it.
    let on_itself =
        ["fix", "--yes", "--partition", "3", "--to", "3000", "--journal", text(&place), device.path()];
    let said = bench.ends(2, &on_itself);
    said.assert_one_line(&["the journal", text(&place), "lies on the disk itself"]);
    bench.ends(0, &["undo", "--yes", device.path()]);
    assert_eq!(device.kernel_partitions()[&3], (ODD.start, sectors));
    assert_eq!(tree(&place).len(), 2);
    drop(mounted);
    run("e2fsck", &["-fn", &device.partition(1)], "");
    run("e2fsck", &["-fn", &device.partition(3)], "");
    assert_eq!(made.content.files.tree(&bench, &device.partition(3)), made.files);
}

#[test]
fn what_cannot_be_read_stops_it_in_front_of_that() {
    if said_with("dmsetup", &["version"], "").exit != 0 {
        note(
            "this kernel has no device mapper: instead of bad sectors the file behind a loop device ends early",
        );
    }
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &PRIMARY);
    let (start, whole) = (PRIMARY.start * SECTOR, len_of(&made.image));
    let bad_from = start + made.len - 3 * MIB - 7 * SECTOR;
    let Some(device) = Loop::failing_from(&made.image, bad_from) else { return };
    let cut = bench.keep(&made.image, "cut.img");
    let said = bench.alignck(&["fix", "--yes", device.path()]);
    assert!([2, 5].contains(&said.exit), "{}{}", said.output, said.errors);
    drop(device);
    resize(&made.image, whole);
    resize(&cut, whole);
    note(&format!("exit {}: {}", said.exit, said.errors));
    if said.exit == 5 {
        bench.ends(5, &[made.path()]);
        bench.ends(0, &["undo", "--yes", made.path()]);
    }
    // The end went with the file; all in front of it is as it was.
    assert_same(&made.image, &cut, &said.errors);
}
