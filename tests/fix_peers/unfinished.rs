//! A move that was cut off, and what everybody makes of the disk then.

use std::fs;
use std::path::Path;

use crate::bench::{Bench, assert_same, len_of, part, place_of, writable_part};
use crate::common::tools::{run, said, said_with, text};
use crate::contents::{Fields, named};
use crate::{LOGICAL, Made, ODD, PRIMARY, SECTOR, Scene};

/// The kernel ends the command at some of its writes, and each time half-moved bytes are taken for nothing; then it is
/// finished or taken back in turn.
fn cut_off(content: &str, scene: &'static Scene, nth_move: usize) {
    let bench = Bench::new();
    let made = Made::new(&bench, named(content), scene);
    let (asked, to) = scene.moves[nth_move];
    let fix = [&["fix", "--yes"], asked, &[made.path()]].concat();
    let undo = ["undo", "--yes", made.path()];
    let writes = bench.writes(&fix);
    bench.ends(0, &undo);
    for (turn, nth) in writes.on_the_way(4).into_iter().enumerate() {
        let context = format!("{}, killed at write {nth} of {writes:?}", made.context());
        assert_ne!(bench.signalled("SIGKILL", nth, &fix).exit, 0, "{context}");
        bench.ends(5, &[made.path()]);
        let (by_table, _) = place_of(&made.image, scene.number);
        for start in [by_table, scene.start * SECTOR, to * SECTOR] {
            assert_nobody_knows_it(&bench, &made, start, &context);
        }
        assert_nothing_else_begins(&bench, &made);
        if turn % 2 == 0 {
            bench.ends(0, &["resume", "--yes", made.path()]);
            made.assert_moved(&bench, to);
            bench.ends(0, &undo);
        } else {
            bench.ends(0, &undo);
        }
        made.assert_as_before(&context);
    }
}

/// When all bytes are there, their front and the table are written: until the table has the new place, nothing is at
/// the old one. From there it is only finished.
fn cut_off_at_the_end(content: &str, scene: &'static Scene, nth_move: usize) {
    let bench = Bench::new();
    let made = Made::new(&bench, named(content), scene);
    let (asked, to) = scene.moves[nth_move];
    let fix = [&["fix", "--yes"], asked, &[made.path()]].concat();
    let undo = ["undo", "--yes", made.path()];
    let writes = bench.writes(&fix);
    bench.ends(0, &undo);
    for nth in writes.moving.end + 2..=writes.over {
        let context = format!("{}, killed at write {nth} of {writes:?}", made.context());
        assert_ne!(bench.signalled("SIGKILL", nth, &fix).exit, 0, "{context}");
        bench.ends(5, &[made.path()]);
        let (by_table, _) = place_of(&made.image, scene.number);
        if by_table != to * SECTOR {
            assert_nobody_knows_it(&bench, &made, by_table, &context);
        }
        if nth % 2 == 0 {
            bench.ends(0, &["resume", "--yes", made.path()]);
        } else {
            let said = bench.ends(2, &undo).output;
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("It has come too far to be taken back"), "{context}: {said}");
            assert!(said.contains("moves everything back ("), "{context}: {said}");
        }
        made.assert_moved(&bench, to);
        bench.ends(0, &undo);
        made.assert_as_before(&context);
    }
}

/// At this byte there is nothing for anybody, and the disk itself is one with a table and nothing else.
fn assert_nobody_knows_it(bench: &Bench, made: &Made, start: u64, context: &str) {
    assert_eq!(place_of(&made.image, made.scene.number).1, made.len, "{context}");
    {
        let context = format!("{context}, at sector {}", start / SECTOR);
        let device = part(&made.image, start, made.len);
        let node = device.path();
        // What the device held for the test before is not what is asked for.
        run("blockdev", &["--flushbufs", node], "");
        let blkid = said_with("blkid", &["-p", node], "");
        assert_eq!((&*blkid.output, blkid.exit), ("", 2), "{context}");
        assert_eq!(run("wipefs", &["-n", node], "").output, "", "{context}");
        let mdadm = said("mdadm", &["--examine", node]);
        assert!(mdadm.contains("No md superblock detected"), "{context}: {mdadm}");
        let filter =
            format!("devices{{filter=[\"a|^{node}$|\",\"r|.*|\"] use_devicesfile=0 hints=\"none\"}}");
        for tool in ["pvck", "pvs"] {
            let found = said_with(tool, &["--config", &filter, node], "");
            assert_ne!(found.exit, 0, "{context}: {tool} {}", found.output);
        }
        assert_ne!(said_with("cryptsetup", &["isLuks", node], "").exit, 0, "{context}");
        assert_ne!(said_with("swaplabel", &[node], "").exit, 0, "{context}");
        assert_ne!(said_with("ntfs-3g.probe", &["--readonly", node], "").exit, 0, "{context}");
        let place = bench.path("half");
        fs::create_dir_all(&place).expect("the scratch folder can be written");
        let found = said_with("mount", &["-o", "ro", node, text(&place)], "");
        if found.exit == 0 {
            said("umount", &[text(&place)]);
        }
        assert_ne!(found.exit, 0, "{context}: it was mounted");
    }
    let listed = run("wipefs", &["-n", "--noheadings", "--output", "TYPE", made.path()], "").output;
    let only_tables = listed.lines().all(|kind| ["dos", "gpt", "PMBR"].contains(&kind.trim()));
    assert!(only_tables, "{context}: {listed}");
    let seen = run("blkid", &["-p", "-o", "export", made.path()], "").output;
    assert!(!seen.lines().any(|line| line.starts_with("TYPE=")), "{context}: {seen}");
}

/// No other command writes to the disk.
fn assert_nothing_else_begins(bench: &Bench, made: &Made) {
    let blank = bench.blank("blank.img", len_of(&made.image));
    let plan = bench.path("plan.json");
    let printed = bench.ends(0, &["plan", "--table", "gpt", "--size", "rest", text(&blank), "--json"]);
    fs::write(&plan, printed.output).expect("the scratch folder can be written");
    let commands: [&[&str]; 4] = [
        &["fix", "--yes"],
        &["fix", "--yes", "--table-only"],
        &["convert", "--to", "4096", "--yes"],
        &["apply", "--yes", text(&plan)],
    ];
    let half = bench.keep(&made.image, "half.img");
    for command in commands {
        let said = bench.ends(5, &[command, &[made.path()]].concat());
        said.assert_one_line(&["resume", "undo"]);
    }
    assert_same(&made.image, &half, "something was written");
}

#[test]
fn half_an_ext4_is_nothing() {
    cut_off("ext4", &PRIMARY, 0);
    cut_off("ext4", &ODD, 1);
    cut_off("ext4", &LOGICAL, 0);
}

#[test]
fn half_an_xfs_is_nothing() {
    cut_off("XFS", &PRIMARY, 1);
}

#[test]
fn half_a_btrfs_is_nothing() {
    cut_off("btrfs", &ODD, 0);
}

#[test]
fn half_of_what_windows_made_is_nothing() {
    cut_off("NTFS", &ODD, 0);
    cut_off("FAT32", &LOGICAL, 0);
    cut_off("FAT16", &PRIMARY, 1);
    cut_off("exFAT", &PRIMARY, 0);
}

#[test]
fn half_a_swap_or_a_luks_volume_is_nothing() {
    cut_off("swap", &ODD, 1);
    cut_off("LUKS2", &PRIMARY, 1);
}

#[test]
fn half_a_physical_volume_is_nothing() {
    cut_off("LVM", &PRIMARY, 0);
}

#[test]
fn half_a_member_of_an_array_is_nothing() {
    cut_off("md 1.2", &PRIMARY, 1);
    cut_off("md 1.0", &ODD, 0);
    cut_off("md 0.90", &ODD, 1);
}

#[test]
fn what_has_come_too_far_to_be_taken_back_is_finished() {
    cut_off_at_the_end("ext4", &PRIMARY, 0);
    cut_off_at_the_end("NTFS", &ODD, 0);
}

#[test]
fn signals_stop_it_where_it_can_go_on() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &PRIMARY);
    for (asked, to) in PRIMARY.moves {
        let fix = [&["fix", "--yes"], *asked, &[made.path()]].concat();
        let middle = bench.writes(&fix).on_the_way(2)[0];
        bench.ends(0, &["undo", "--yes", made.path()]);
        for (signal, and) in [("SIGINT", "resume"), ("SIGTERM", "undo"), ("SIGHUP", "resume")] {
            let said = bench.signalled(signal, middle, &fix);
            said.assert_exit(5, signal);
            said.assert_one_line(&["alignck resume", "alignck undo", "nothing is lost"]);
            bench.ends(5, &[made.path()]);
            bench.ends(0, &[and, "--yes", made.path()]);
            if and == "resume" {
                made.assert_moved(&bench, *to);
                bench.ends(0, &["undo", "--yes", made.path()]);
            }
            made.assert_as_before(signal);
        }
    }
}

/// Also what finishes a move, or takes it back, may be cut off, and that again.
#[test]
fn what_is_cut_off_again_and_again_comes_to_its_end() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &PRIMARY);
    let (asked, to) = PRIMARY.moves[0];
    let fix = [&["fix", "--yes"], asked, &[made.path()]].concat();
    let (resume, undo) = (["resume", "--yes", made.path()], ["undo", "--yes", made.path()]);
    let writes = bench.writes(&fix);
    bench.ends(0, &undo);
    let points = writes.on_the_way(8);
    for (first, again) in [(points[0], &resume), (points[6], &undo)] {
        bench.signalled("SIGKILL", first, &fix);
        for _ in 0..3 {
            // A few steps each time.
            assert_ne!(bench.signalled("SIGKILL", 8, again).exit, 0);
            bench.ends(5, &[made.path()]);
            let (by_table, _) = place_of(&made.image, made.scene.number);
            assert_nobody_knows_it(&bench, &made, by_table, "again");
        }
        bench.ends(0, again);
        if *again == resume {
            made.assert_moved(&bench, to);
            // The way back, cut off, and the rest of it, cut off.
            bench.signalled("SIGTERM", points[3], &undo).assert_exit(5, "the way back");
            assert_ne!(bench.signalled("SIGKILL", 8, &resume).exit, 0);
            bench.ends(5, &[made.path()]);
            bench.ends(0, &resume);
        }
        made.assert_as_before("at last");
    }
}

/// The move is over, and the journal is being removed: what is left of that lies in free space, and harms nobody.
#[test]
fn what_is_left_of_a_journal_is_in_the_way_of_nobody() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &PRIMARY);
    let (asked, to) = PRIMARY.moves[0];
    let fix = [&["fix", "--yes"], asked, &[made.path()]].concat();
    let undo = ["undo", "--yes", made.path()];
    let over = bench.writes(&fix).over;
    bench.ends(0, &undo);
    for nth in [over + 1, over + 2, over + 4] {
        fs::copy(&made.kept, &made.image).expect("the scratch folder can be written");
        assert_ne!(bench.signalled("SIGKILL", nth, &fix).exit, 0);
        bench.ends(0, &[made.path()]);
        made.assert_moved(&bench, to);
        bench.ends(0, &undo);
        let start = PRIMARY.start * SECTOR;
        let (before, after) = ((&*made.kept, 0), (&*made.image, 0));
        Fields::None.assert_moved(before, after, start + made.len, 0, "the table and the partition");
        // And again, with a journal beside what is left.
        bench.ends(0, &fix);
        made.assert_moved(&bench, to);
        bench.ends(0, &undo);
        Fields::None.assert_moved(before, after, start + made.len, 0, "the table and the partition, again");
    }
}

/// To take a move back is to move everything back, with what has been written in the meantime.
#[test]
fn what_was_written_since_comes_back_too() {
    let bench = Bench::new();
    for (content, scene) in [("ext4", &PRIMARY), ("FAT32", &LOGICAL), ("NTFS", &ODD)] {
        let made = Made::new(&bench, named(content), scene);
        let (asked, to) = scene.moves[0];
        bench.ends(0, &[&["fix", "--yes"], asked, &[made.path()]].concat());
        let newer = bench.path("newer");
        let tree = crate::contents::grow(&newer.join("newer"));
        made.content.files.fill(&bench, writable_part(&made.image, to * SECTOR, made.len).path(), &newer);
        bench.ends(0, &["undo", "--yes", made.path()]);
        let device = part(&made.image, scene.start * SECTOR, made.len);
        (made.content.check)(&bench, device.path());
        let Some(found) = made.content.files.tree(&bench, device.path()) else { continue };
        let mut expected = made.files.clone().expect("it could be looked at before");
        expected.extend(tree.into_iter().map(|(path, file)| (Path::new("newer").join(path), file)));
        assert_eq!(found, expected, "{content}");
    }
}
