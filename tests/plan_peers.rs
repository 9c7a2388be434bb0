//! Plans in the hands of the tools that carry them out: sfdisk, sgdisk and parted make exactly the sectors that were
//! planned. Needs those tools; a missing one fails the test.

mod common;

use std::path::Path;
use std::process::Command;

use common::loops::Loop;
use common::tools::{run, text};
use serde_json::Value;

/// What to ask for: policies, odd sizes, a container, names and types.
const REQUESTS: &[&[&str]] = &[
    &[
        "--table",
        "gpt",
        "--size",
        "64M,type=esp,name=EFI system",
        "--size",
        "100M",
        "x2",
        "--size",
        "rest,type=lvm",
    ],
    &["--table", "gpt", "--size", "1000001s", "--size", "64M,type=swap", "x3", "--align", "minimal"],
    &["--table", "gpt", "--size", "25%", "x3", "--grain", "4M"],
    &["--table", "mbr", "--size", "100M", "x2", "--size", "10MB,type=esp"],
    &[
        "--table", "mbr", "--size", "100M", "x2", "--size", "1000001s", "--size", "64M", "x3", "--size",
        "rest",
    ],
    &["--table", "mbr", "--size", "100M", "x3", "--size", "64M,type=swap", "x3", "--align", "minimal"],
    &["--table", "mbr", "--size", "64M", "x6", "--grain", "4M", "--primaries", "1"],
];

/// The output of `alignck plan REQUEST DISK --output FORMAT`.
fn plan(request: &[&str], disk: &Path, format: &str) -> String {
    let output = common::alignck().arg("plan").args(request).arg(disk).args(["--output", format]).output();
    let output = output.expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Number, start, end, type and name of each partition, of a plan or of a check.
fn partitions(list: &Value) -> Vec<(u64, u64, u64, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().expect("a number");
    let partitions = list.as_array().expect("an array").iter();
    let found = partitions.map(|partition| {
        // parted writes the other type of a container, with the same meaning.
        let type_ = text(&partition["type"]).replace("0x0f", "0x05");
        let (start, end) = (number(&partition["start"]), number(&partition["end"]));
        (number(&partition["number"]), start, end, type_, text(&partition["name"]))
    });
    found.collect()
}

/// What the check finds after a tool has carried out the plan.
fn made(disk: &Path) -> Vec<(u64, u64, u64, String, String)> {
    let (document, exit) =
        common::json(&common::alignck().arg("--json").arg(disk).output().expect("the command runs"));
    assert_eq!(exit, 0, "{document:#}");
    assert_eq!(document["disks"][0]["table"]["health"], "ok", "{document:#}");
    partitions(&document["disks"][0]["partitions"])
}

fn fresh(folder: &Path) -> std::path::PathBuf {
    common::file(folder, "disk.img", &fixtures::Image::blank(2 << 30))
}

fn planned(request: &[&str], disk: &Path) -> Vec<(u64, u64, u64, String, String)> {
    let document: Value = serde_json::from_str(&plan(request, disk, "json")).expect("JSON");
    partitions(&document["partitions"])
}

/// Runs a command line as a person would paste it.
fn paste(line: &str) {
    let output = Command::new("bash").args(["-ec", line]).output().expect("bash runs");
    assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn sfdisk_makes_what_was_planned() {
    let folder = common::scratch();
    for request in REQUESTS {
        let disk = fresh(folder.path());
        let expected = planned(request, &disk);
        let script = plan(request, &disk, "sfdisk");
        let options = ["--quiet", "--wipe", "never", "--wipe-partitions", "never", text(&disk)];
        run("sfdisk", &options, &script);
        assert_eq!(made(&disk), expected, "{script}");
    }
}

#[test]
fn sgdisk_makes_what_was_planned() {
    let folder = common::scratch();
    for request in REQUESTS.iter().filter(|request| request.contains(&"gpt")) {
        let disk = fresh(folder.path());
        let expected = planned(request, &disk);
        let line = plan(request, &disk, "sgdisk");
        paste(&line);
        assert_eq!(made(&disk), expected, "{line}");
    }
}

#[test]
fn parted_makes_what_was_planned() {
    let folder = common::scratch();
    for request in REQUESTS {
        let disk = fresh(folder.path());
        let expected = planned(request, &disk);
        let line = plan(request, &disk, "parted");
        paste(&line);
        assert_eq!(made(&disk), expected, "{line}");
    }
}

#[test]
fn sectors_of_4096_bytes_are_planned_and_made_in_their_own_unit() {
    let folder = common::scratch();
    let request = ["--size", "64M,type=esp,name=EFI", "--size", "100M", "x2", "--size", "rest"];
    let file = fresh(folder.path());
    let device = Loop::attach(&file, 4096, &[]);
    let disk = &*device.node;
    let expected = planned(&request, disk);
    assert_eq!(expected[0].1, 256, "1 MiB is LBA 256");
    let line = plan(&request, disk, "sgdisk");
    paste(&line);
    assert_eq!(made(disk), expected, "{line}");
}
