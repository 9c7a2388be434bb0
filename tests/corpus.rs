//! The corpora of the fuzz targets: seeds made from the recorded tables, and every input that ever failed.

#[path = "../fuzz/bodies.rs"]
mod bodies;

use std::fs;
use std::path::Path;

#[allow(clippy::print_stdout, reason = "the last name printed is that of the input that failed")]
fn replay(target: &str, least: usize, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for file in fs::read_dir(&folder).expect("the corpus is in the repository") {
        let path = file.expect("a file").path();
        println!("{}", path.display());
        body(&fs::read(&path).expect("a file"));
        inputs += 1;
    }
    assert!(inputs >= least, "only {inputs} inputs in {}", folder.display());
}

#[test]
fn mbr() {
    replay("mbr", 8, bodies::mbr);
}

#[test]
fn gpt() {
    replay("gpt", 8, bodies::gpt);
}

#[test]
fn image() {
    replay("image", 8, bodies::image);
}

#[test]
fn size() {
    replay("size", 8, bodies::size);
}

#[test]
fn plan() {
    replay("plan", 30, bodies::plan);
}

#[test]
fn journal() {
    replay("journal", 6, bodies::journal);
}
