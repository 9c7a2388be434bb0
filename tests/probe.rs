//! `alignck probe` on a scratch file. What it finds there depends on the disk of this machine; that no byte changes does
//! not. What it makes of known drives is in the library's tests of the room `probe`, and in the lab.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use std::fs;
use std::path::PathBuf;

/// A scratch file with bytes of its own, on the disk that the project is on: the folder of temporary files may be memory.
fn scratch(name: &str, mebibytes: usize) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let bytes: Vec<u8> =
        (0..mebibytes << 20).map(|byte| u8::try_from(byte * 7919 / 512 % 251).unwrap()).collect();
    fs::write(&path, bytes).unwrap();
    fs::File::open(&path).unwrap().sync_all().unwrap();
    path
}

#[test]
fn a_scratch_file_is_the_same_after_it() {
    let path = scratch("probed.img", 4);
    let before = fs::read(&path).unwrap();
    let output = common::alignck().args(["probe", "--write", "--yes", "--json"]).arg(&path).output().unwrap();
    let (document, _) = common::json(&output);
    assert_eq!(fs::read(&path).unwrap(), before);
    let code = output.status.code();
    match document["result"].as_str().unwrap() {
        "found" => assert_eq!((code, document["physical"].is_u64()), (Some(0), true)),
        "no-difference" => assert_eq!((code, document["physical"].is_null()), (Some(0), true)),
        "unclear" => assert_eq!((code, document["physical"].is_null()), (Some(2), true)),
        _ => {
            // The file system cannot do it, and the message says so.
            let error = document["error"].as_str().unwrap();
            assert!(error.contains("give a disk, or a file on ext4 or XFS"), "{error}");
            assert_eq!(code, Some(2));
            return;
        }
    }
    let first = &document["series"][0];
    let offsets = first["offsets"].as_array().unwrap();
    let rounds = first["writes"].as_u64().unwrap() / offsets.len() as u64;
    assert!((8..=32).contains(&rounds), "{first}");
    assert!(offsets.iter().all(|offset| offset["median_ns"].as_u64() > Some(0)), "{first}");
}

#[test]
fn what_cannot_be_measured_is_refused_before_a_write() {
    let sparse = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sparse.img");
    fs::File::create(&sparse).unwrap().set_len(8 << 20).unwrap();
    let small = scratch("small.img", 1);
    fs::OpenOptions::new().write(true).open(&small).unwrap().set_len(4096).unwrap();
    let held = scratch("held.img", 1);
    let lock = fs::OpenOptions::new().read(true).write(true).open(&held).unwrap();
    lock.lock().unwrap();
    for (path, reason) in [
        (&sparse, "it is sparse"),
        (&small, "a probe needs 1 MiB"),
        (&held, "it is in use, and nothing was written"),
        (&PathBuf::from("-"), "standard input cannot be measured"),
        (&PathBuf::from(env!("CARGO_MANIFEST_DIR")), "is a directory"),
    ] {
        let output = common::alignck().args(["probe", "--write", "--yes"]).arg(path).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        // On a file system that cannot be measured at all that is the reason.
        let is_named = text.contains(reason) || text.contains("give a disk, or a file on ext4 or XFS");
        assert!(is_named, "{}: {text}", path.display());
        assert_eq!(output.status.code(), Some(2), "{text}");
    }
    let blocks = std::os::unix::fs::MetadataExt::blocks(&sparse.metadata().unwrap());
    assert_eq!(blocks, 0, "still sparse");
}

#[test]
fn without_being_asked_to_it_writes_nothing() {
    let path = scratch("asked.img", 1);
    for (arguments, reason) in
        [(&[][..], "--write reads blocks"), (&["--write"][..], "nobody can be asked here")]
    {
        let output = common::alignck().arg("probe").args(arguments).arg(&path).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(reason) || text.contains("give a disk, or a file on"), "{text}");
        assert_eq!(output.status.code(), Some(2), "{text}");
    }
}
