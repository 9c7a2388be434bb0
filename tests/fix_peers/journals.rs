//! Where the journal of a move is, when it is not on the disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::{Bench, Mounted, assert_same};
use crate::common::files_in;
use crate::common::loops::Loop;
use crate::common::tools::{run, text};
use crate::contents::named;
use crate::{LOGICAL, MIB, Made, ODD, PRIMARY, SECTOR};

#[test]
fn a_journal_on_another_file_system_is_found_and_goes() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &PRIMARY);
    let (_mounted, _device, elsewhere) = file_system(&bench, 64 * MIB);
    let file = elsewhere.join("a.journal");
    for journal in [&file, &elsewhere] {
        let fix = ["fix", "--yes", "--journal", text(journal), made.path()];
        let writes = bench.writes(&fix);
        made.assert_moved(&bench, 2048);
        assert_eq!(journals_in(&elsewhere).len(), 0, "it is not needed any more");
        bench.ends(0, &["undo", "--yes", "--journal", text(journal), made.path()]);
        made.assert_as_before("with a journal elsewhere");
        for (and, nth) in ["resume", "undo"].into_iter().zip(writes.on_the_way(3)) {
            bench.signalled("SIGKILL", nth, &fix);
            let left = journals_in(&elsewhere);
            assert_eq!(left.len(), 1, "{left:?}");
            let said = bench.ends(5, &[made.path()]).output;
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(text(&left[0])), "{said}");
            bench.ends(0, &[and, "--yes", made.path()]);
            if and == "resume" {
                made.assert_moved(&bench, 2048);
                bench.ends(0, &["undo", "--yes", made.path()]);
            }
            made.assert_as_before(and);
            assert_eq!(journals_in(&elsewhere).len(), 0);
        }
    }
}

/// Its medium was taken away, or it was carried to another place.
#[test]
fn without_its_journal_nothing_is_written() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &ODD);
    let (first, second) = (bench.path("first.journal"), bench.path("second.journal"));
    let fix = ["fix", "--yes", "--journal", text(&first), made.path()];
    let middle = bench.writes(&fix).on_the_way(2)[0];
    bench.ends(0, &["undo", "--yes", made.path()]);
    for and in ["resume", "undo"] {
        bench.signalled("SIGKILL", middle, &fix);
        fs::rename(&first, &second).expect("it is there");
        let half = bench.keep(&made.image, "half.img");
        for refused in [[and, "--yes", made.path()], ["fix", "--yes", made.path()]] {
            let said = bench.alignck(&refused);
            assert!([2, 5].contains(&said.exit), "{refused:?}: {}", said.errors);
            assert!(said.errors.contains("unfinished") || said.errors.contains("cut off"), "{}", said.errors);
        }
        bench.ends(5, &[made.path()]);
        assert_same(&made.image, &half, "something was written");
        bench.ends(0, &[and, "--yes", "--journal", text(&second), made.path()]);
        if and == "resume" {
            made.assert_moved(&bench, 4096);
            bench.ends(0, &["undo", "--yes", made.path()]);
        }
        made.assert_as_before(and);
        assert!(!second.exists());
    }
}

#[test]
fn a_journal_that_has_no_room_is_said_before_anything_is_moved() {
    let bench = Bench::new();
    let made = Made::new(&bench, named("ext4"), &PRIMARY);
    let (_mounted, _device, place) = file_system(&bench, 2 * MIB);
    // Until nothing more fits.
    let mut filler = vec![7; 1 << 20];
    let mut nth = 0;
    while filler.len() > 16 {
        if fs::write(place.join(nth.to_string()), &filler).is_err() {
            filler.truncate(filler.len() / 2);
        }
        nth += 1;
    }
    let names = files_in(&place);
    for journal in [place.clone(), place.join("a.journal")] {
        let fix = ["fix", "--yes", "--journal", text(&journal), made.path()];
        bench.assert_refused(2, &fix, &made.image, &["journal", text(&place), "No space left"]);
        assert_eq!(files_in(&place), names, "half a journal is none");
    }
    made.assert_as_before("refused");
}

#[test]
fn what_has_moved_is_read_back_when_asked_for() {
    for scene in [&PRIMARY, &LOGICAL] {
        let bench = Bench::new();
        let made = Made::new(&bench, named("NTFS"), scene);
        let (asked, to) = scene.moves[0];
        bench.ends(0, &[&["fix", "--yes", "--verify"], asked, &[made.path()]].concat());
        made.assert_moved(&bench, to);
        bench.ends(0, &["undo", "--yes", "--verify", made.path()]);
        made.assert_as_before("read back");
    }
}

/// A file system of another disk.
fn file_system(bench: &Bench, size: u64) -> (Mounted, Loop, PathBuf) {
    let image = bench.blank("other.img", size);
    run("mkfs.ext4", &["-q", "-F", text(&image)], "");
    let device = Loop::attach(&image, SECTOR, &[]);
    let place = bench.path("elsewhere");
    let mounted = Mounted::by_kernel(&place, device.path(), "rw").expect("every kernel has ext4");
    (mounted, device, place)
}

fn journals_in(folder: &Path) -> Vec<PathBuf> {
    files_in(folder).into_iter().filter(|path| !path.ends_with("lost+found")).collect()
}
