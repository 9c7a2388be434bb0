//! What people give to the command that is no disk, or only a part of one.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::process::{Output, Stdio};

use fixtures::Image;

/// Runs the command with these bytes on standard input.
fn piped(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut command = common::alignck();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command stops to read when it has seen enough.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child.wait_with_output().unwrap()
}

fn gpt() -> Vec<u8> {
    fixtures::recorded::named("sfdisk-gpt").image().bytes()
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn what_is_too_short_for_a_disk_says_so() {
    let folder = common::scratch();
    for (len, text) in [(0, "is empty"), (1, "has only 1 bytes"), (511, "has only 511 bytes")] {
        let path = common::file(folder.path(), "short", &Image::blank(len));
        let output = common::alignck().arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains(text), "{}", errors(&output));
        assert!(errors(&output).contains(&path.display().to_string()));
    }
    let one_sector = common::file(folder.path(), "sector", &Image::blank(512));
    assert_eq!(common::alignck().arg(one_sector).output().unwrap().status.code(), Some(0));
}

#[test]
fn random_bytes_are_no_table() {
    let folder = common::scratch();
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(1 << 20)
    .collect();
    let path = folder.path().join("noise");
    fs::write(&path, noise).unwrap();
    let output = common::alignck().arg(path).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("unpartitioned: no partition table, and nothing that is known"), "{text}");
}

#[test]
fn one_that_cannot_be_checked_does_not_stop_the_others() {
    let folder = common::scratch();
    let good = common::file(folder.path(), "good", &fixtures::recorded::named("sfdisk-gpt").image());
    let container =
        common::file(folder.path(), "disk.qcow2", &fixtures::recorded::named("qemu-qcow2").image());
    let output = common::alignck()
        .arg("--json")
        .args([folder.path().join("missing"), good.clone(), folder.path().to_owned(), container, good])
        .output()
        .unwrap();
    let (document, exit) = common::json(&output);
    assert_eq!(exit, 2);
    assert_eq!(document["disks"].as_array().unwrap().len(), 2);
    let messages: Vec<_> =
        document["errors"].as_array().unwrap().iter().map(|error| &error["message"]).collect();
    assert_eq!(messages.len(), 3);
    assert!(messages[0].as_str().unwrap().contains("No such file"));
    assert!(messages[1].as_str().unwrap().contains("is a directory"));
    assert!(messages[2].as_str().unwrap().contains("qemu-img convert"));
    assert!(output.stderr.is_empty(), "{}", errors(&output));
}

#[test]
fn a_pipe_shows_all_but_the_end() {
    let (document, exit) = common::json(&piped(&["--json", "-"], &gpt()));
    let disk = &document["disks"][0];
    assert_eq!(exit, 0);
    assert_eq!(disk["status"], "aligned");
    assert_eq!(disk["table"]["health"], "unknown");
    assert_eq!(disk["size_bytes"], serde_json::Value::Null);
    assert_eq!(disk["partitions"].as_array().unwrap().len(), 2);
}

#[test]
fn the_front_of_an_image_is_enough() {
    let whole = common::json(&piped(&["--json", "-"], &gpt()));
    let front = common::json(&piped(&["--json", "-"], &gpt()[..34 * 512]));
    assert_eq!(front, whole);
}

#[test]
fn a_pipe_with_a_bad_primary_needs_the_image() {
    let mut bytes = gpt();
    bytes[512] ^= 1;
    let output = piped(&["-"], &bytes);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("unknown: its partitions could not be read"), "{text}");
    assert!(text.contains("gpt-primary-bad"), "{text}");
}

#[test]
fn what_arrives_on_a_pipe_may_be_nothing_or_packed() {
    let nothing = piped(&["-"], b"");
    assert_eq!(nothing.status.code(), Some(2));
    assert!(errors(&nothing).contains("nothing arrived on standard input"), "{}", errors(&nothing));
    let packed = piped(&["-"], &fixtures::recorded::named("gzip").image().bytes());
    assert_eq!(packed.status.code(), Some(2));
    assert!(errors(&packed).contains("this is a gzip file"), "{}", errors(&packed));
    let short = piped(&["-"], &[0; 100]);
    assert!(errors(&short).contains("has only 100 bytes"), "{}", errors(&short));
}

#[test]
fn whoever_stops_reading_ends_the_command_quietly() {
    let folder = common::scratch();
    let image = common::file(folder.path(), "image", &fixtures::recorded::named("sfdisk-gpt").image());
    for format in ["--verbose", "--json"] {
        let mut command = common::alignck();
        command.arg(format).args(vec![image.clone(); 2000]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(errors(&output), "", "{format}");
        assert_eq!(output.status.code(), Some(0), "{format}");
    }
}

#[test]
fn a_full_disk_under_the_output_is_said() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let image = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/images/aligned.img");
    let output = common::alignck().arg(image).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("the output cannot be written"), "{}", errors(&output));
}

#[test]
fn colour_is_for_terminals_and_on_request() {
    let image = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/images/aligned.img");
    let text = |name: &str, value: &str| {
        let output = common::alignck().arg(image).env(name, value).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!text("NO_COLOR", "1").contains('\u{1b}'));
    assert!(!text("TERM", "xterm").contains('\u{1b}'), "a pipe is no terminal");
    assert!(text("CLICOLOR_FORCE", "1").contains('\u{1b}'));
}

#[test]
fn the_locale_changes_nothing() {
    let image = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/images/old-installer.img");
    let run =
        |locale| common::alignck().args(["--json", image]).env("LC_ALL", locale).output().unwrap().stdout;
    assert_eq!(run("de_DE.UTF-8"), run("C"));
}

#[test]
fn names_on_a_disk_cannot_steer_the_terminal() {
    let mut image = Image::blank(4 << 20);
    let kind = fixtures::guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4");
    let name = "\u{1b}[2J\u{7}gone".to_owned();
    let entry = fixtures::GptEntry { kind, first: 2048, last: 4095, name, ..Default::default() };
    fixtures::gpt::write(&mut image, &fixtures::GptSpec { entries: vec![entry], ..Default::default() });
    let folder = common::scratch();
    let path = common::file(folder.path(), "\u{1b}[31mred.img", &image);
    let output = common::alignck().arg(path).output().unwrap();
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn a_full_output_says_whether_the_disk_was_written() {
    let folder = common::scratch();
    let disk = common::file(folder.path(), "disk.img", &Image::blank(16 << 20));
    let plan = folder.path().join("plan.json");
    let planned = common::alignck().args(["plan", "--json", "--size", "4M"]).arg(&disk).output().unwrap();
    fs::write(&plan, planned.stdout).unwrap();
    let apply = |more: &[&str]| {
        let mut command = common::alignck();
        command
            .arg("apply")
            .arg(&plan)
            .arg(&disk)
            .args(["--yes", "--backup"])
            .arg(folder.path().join("backup"));
        command.args(more).stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap()
    };
    let before = fs::read(&disk).unwrap();
    let output = apply(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("nothing was written to the disk"), "{}", errors(&output));
    assert_eq!(fs::read(&disk).unwrap(), before);
    let output = apply(&["--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("the disk was written"), "{}", errors(&output));
    assert_ne!(fs::read(&disk).unwrap(), before);
}
