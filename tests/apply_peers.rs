//! What `apply` writes, in the eyes of the other tools of a machine, of its kernel, and of whoever uses its disks.
//!
//! Needs root, loop devices and the tools. A missing tool fails the test and names its package; where the kernel of
//! the machine lacks something, the test says so and ends.

mod common;
#[path = "apply_peers/convert.rs"]
mod convert;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::listing::{Listing, Row, by_sfdisk, by_sgdisk, number_of, rows};
use common::loops::Loop;
use common::tools::{Printed, note, parted, run, said, said_with, start, text};
use common::{files_in, poke, resize};
use serde_json::Value;

const MIB: u64 = 1 << 20;

// ---------------------------------------------------------------------------------------------------------------
// The tools as oracles

/// MiB of the disk, and what to ask for. Each fits in sectors of 512 and of 4096 bytes.
const LAYOUTS: &[(u64, &str)] = &[
    (64, "--table gpt --size rest"),
    (
        64,
        "--table gpt --size 4M,type=esp,name=EFI --size 1M,type=bios-boot --size 8M,type=swap,name=größe \
         --size rest,type=lvm,name=日本語",
    ),
    (136, "--table gpt --size 1M x128"),
    (64, "--table gpt --size 100K x128 --align minimal"),
    (64, "--table gpt --size 4M x3 --grain 4M"),
    (64, "--table gpt --size 1001s x3"),
    (1, "--table gpt --size rest"),
    (64, "--table mbr --size rest"),
    (64, "--table mbr --size 4M,type=esp --size 4M,type=swap --size 4M,type=0x07 --size rest,type=lvm"),
    (64, "--table mbr --size 4M x2 --primaries 1"),
    (64, "--table mbr --size 1M x5"),
    (64, "--table mbr --size 1M x23"),
    (64, "--table mbr --size 1M x23 --align minimal"),
    (64, "--table mbr --size 1001s x6 --align minimal --primaries 2"),
    (256, "--table mbr --size 4M x10 --grain 4M"),
    (1, "--table mbr --size rest"),
    (2, "--table mbr --size 100K x8"),
];

/// Those of a disk whose first physical boundary is at byte 3584.
const OFFSET_LAYOUTS: &[(u64, &str)] = &[
    (64, "--table gpt --size 4M x3 -t physical=4096,offset=3584"),
    (64, "--table mbr --size 2M x7 -t physical=4096,offset=3584"),
    (64, "--table mbr --size 2M x7 --align minimal -t physical=4096,offset=3584"),
];

#[test]
fn no_tool_finds_a_fault_in_an_image_that_we_wrote() {
    let bench = Bench::new();
    for (mebibytes, request) in LAYOUTS.iter().chain(OFFSET_LAYOUTS) {
        let image = bench.blank("disk.img", mebibytes * MIB);
        let plan = bench.plan(request, &image);
        bench.apply(&plan, &image).assert_exit(0, request);
        assert_peers_agree(request, &image, &planned(&plan));
    }
}

#[test]
fn no_tool_finds_a_fault_on_devices_of_512_and_4096_bytes() {
    let bench = Bench::new();
    for sector_size in [512, 4096] {
        for (mebibytes, request) in LAYOUTS {
            let image = bench.blank("disk.img", mebibytes * MIB);
            let device = Loop::attach(&image, sector_size, &[]);
            let plan = bench.plan(request, &device.node);
            bench.apply(&plan, &device.node).assert_exit(0, request);
            assert_peers_agree(&format!("{request}, {sector_size}"), &device.node, &planned(&plan));
        }
    }
}

/// Of the tools only sfdisk prints such names, and none writes them: the entry itself is looked at, too.
#[test]
fn a_name_beyond_the_basic_plane_is_written_as_utf_16() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let plan = bench.plan("--table gpt --size 4M,name=a😀b --size rest,name=🦀", &image);
    bench.apply(&plan, &image).assert_exit(0, "names");
    let names: Vec<String> = by_sfdisk(&image).rows.into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["a😀b", "🦀"]);
    assert_eq!(read_at(&image, 2 * 512 + 56, 10), b"a\0\x3D\xD8\x00\xDEb\0\0\0");
}

/// The one thing that a script for sfdisk cannot say is where the boot record of a logical partition goes: there the
/// plan is told sfdisk's own places.
#[test]
fn sfdisk_writes_the_same_bytes_when_it_is_given_the_same_values() {
    let bench = Bench::new();
    let images = [512, 4096].map(|sector_size| (sector_size, LAYOUTS)).into_iter();
    for (sector_size, layouts) in images.chain([(512, OFFSET_LAYOUTS)]) {
        for (mebibytes, request) in layouts {
            let (ours, theirs) =
                (bench.blank("ours.img", mebibytes * MIB), bench.blank("theirs.img", mebibytes * MIB));
            let (our_device, their_device) =
                (Loop::attach(&ours, sector_size, &[]), Loop::attach(&theirs, sector_size, &[]));
            let mut plan: Value =
                serde_json::from_str(&bench.plan(request, &our_device.node)).expect("the plan is JSON");
            give_identifiers(&mut plan);
            let script = bench.run(
                &format!("plan {request} --output sfdisk {}", our_device.path())
                    .split(' ')
                    .collect::<Vec<_>>(),
            );
            sfdisk_quietly(&their_device.node, &with_identifiers(&script, &plan));
            give_places_of_records(&mut plan, &theirs, sector_size);
            bench.apply(&plan.to_string(), &our_device.node).assert_exit(0, request);
            drop((our_device, their_device));
            let context = format!("{request}, sectors of {sector_size}");
            assert_eq!(first_difference(&ours, &theirs), None, "{context}");
        }
    }
}

/// Makes every identifier of a plan a certain one.
fn give_identifiers(plan: &mut Value) {
    if plan["table"] == "mbr" {
        plan["table_id"] = "0x1234abcd".into();
        return;
    }
    plan["table_id"] = "0F0E0D0C-0B0A-4908-8706-050403020100".into();
    for partition in plan["partitions"].as_array_mut().expect("an array") {
        let number = partition["number"].as_u64().expect("a number");
        partition["id"] = format!("00112233-4455-4677-8899-{number:012X}").into();
    }
}

/// The script with the identifiers of the plan.
fn with_identifiers(script: &str, plan: &Value) -> String {
    let word = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let ids: BTreeMap<String, Option<String>> = plan["partitions"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|partition| (partition["number"].to_string(), word(&partition["id"])))
        .collect();
    let table_id = word(&plan["table_id"]).expect("it was given");
    let line = |line: &str| match line.split_once(" : ") {
        Some((number, _)) => match &ids[number] {
            Some(id) => format!("{line}, uuid={id}\n"),
            None => format!("{line}\n"),
        },
        None if line.starts_with("label:") => format!("{line}\nlabel-id: {table_id}\n"),
        None => format!("{line}\n"),
    };
    script.lines().map(line).collect()
}

/// Puts the EBRs of the plan where they are on the image.
fn give_places_of_records(plan: &mut Value, image: &Path, sector_size: u64) {
    let partitions = plan["partitions"].as_array_mut().expect("an array");
    let container = partitions.iter().find(|partition| partition["kind"] == "extended");
    let Some(container) = container.and_then(|container| container["start"].as_u64()) else { return };
    let mut records = chain(image, container, sector_size).into_iter();
    for logical in partitions.iter_mut().filter(|partition| partition["kind"] == "logical") {
        logical["ebr"] = records.next().expect("each logical partition has one").into();
    }
    assert_eq!(records.next(), None);
}

/// The EBRs of the chain that begins with the container.
fn chain(image: &Path, container: u64, sector_size: u64) -> Vec<u64> {
    let file = File::open(image).expect("the image is there");
    let mut records = vec![container];
    loop {
        let mut sector = [0; 512];
        let last = records.last().expect("it begins with one");
        file.read_exact_at(&mut sector, last * sector_size).expect("the EBR is on the disk");
        let link = &sector[446 + 16..446 + 32];
        if link[4] != 5 {
            return records;
        }
        records.push(container + u64::from(u32::from_le_bytes([link[8], link[9], link[10], link[11]])));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Beside what other tools made

/// A table by another tool on an image of 64 MiB, and what is put beside it.
struct Beside {
    name: &'static str,
    make: fn(&Path),
    request: &'static str,
}

const BESIDE: &[Beside] = &[
    Beside {
        name: "a GPT of sfdisk with holes, odd numbers, names and attributes",
        make: |image| {
            sfdisk_quietly(
                image,
                "label: gpt\n\
                 N2: start=4096, size=8192, type=U, name=\"größe\", attrs=\"RequiredPartition GUID:60,63\"\n\
                 N7: start=30720, size=2048, type=S, attrs=LegacyBIOSBootable\n\
                 N128: start=16385, size=77\n",
            );
        },
        request: "--size 4M,type=esp,name=Grün --size 1M x6 --size rest,type=lvm",
    },
    Beside {
        name: "a GPT of sgdisk with attributes",
        make: |image| {
            sgdisk(
                image,
                "-n 2:0:+4M -t 2:ef00 -c 2:boot -A 2:set:2 -n 5:+2M:+3M -A 5:set:60 -A 5:set:63 -n 128:+1M:+2M",
            );
        },
        request: "--size 1M x3 --size rest",
    },
    Beside {
        name: "a GPT with a BIOS boot partition in front of the first MiB",
        make: |image| sgdisk(image, "-a 1 -n 1:34:2047 -t 1:ef02 -n 2:2048:+8M"),
        request: "--size 1M --size rest",
    },
    Beside {
        name: "a GPT with 256 entries",
        make: |image| sgdisk(image, "-S 256 -n 1:0:+1M -n 200:0:+4M -n 256:0:+1M"),
        request: "--size 100K x130 --align minimal",
    },
    Beside {
        name: "a GPT with its array elsewhere",
        make: |image| sgdisk(image, "-j 2048 -n 1:0:+4M -n 2:0:+4M"),
        request: "--size 1M --size rest",
    },
    Beside {
        name: "a short GPT",
        make: |image| sfdisk_quietly(image, "label: gpt\ntable-length: 8\nsize=4M, name=\"a\"\nsize=4M\n"),
        request: "--size 1M x6",
    },
    Beside {
        name: "a GPT of parted",
        make: |image| {
            parted(
                image,
                "mklabel gpt mkpart esp fat32 1MiB 10MiB mkpart root ext4 20MiB 30MiB set 1 esp on",
            );
        },
        request: "--size 8M --size rest,type=home",
    },
    Beside {
        name: "an MBR with one primary",
        make: |image| sfdisk_quietly(image, "label: dos\n,4M,7,*\n"),
        request: "--size 1M x2 --size rest",
    },
    Beside {
        name: "an MBR with holes in its slots, and more asked than they hold",
        make: |image| {
            sfdisk_quietly(
                image,
                "label: dos\nN2: start=63, size=20000\nN4: start=40000, size=2000, type=82\n",
            );
        },
        request: "--size 1M x4",
    },
    Beside {
        name: "an empty container of sfdisk",
        make: |image| sfdisk_quietly(image, "label: dos\n,4M\n,,E\n"),
        request: "--size 1M x6 --primaries 1",
    },
    Beside {
        name: "an empty container of parted",
        make: |image| parted(image, "mklabel msdos mkpart extended 1MiB 100%"),
        request: "--size 1M x6 --size rest",
    },
    Beside {
        name: "an empty container of another type between primaries",
        make: |image| {
            sfdisk_quietly(
                image,
                "label: dos\n,4M\nstart=20480, size=40960, type=f\nstart=61440, size=2048\n",
            );
        },
        request: "--size 1M x4",
    },
    Beside {
        name: "a chain of sfdisk with room in it",
        make: |image| {
            sfdisk_quietly(
                image,
                "label: dos\n,2M\n,2M\n,2M\n,,E\nstart=20480, size=4096\nstart=40960, size=4096, type=7\n",
            );
        },
        request: "--size 1M x8 --size rest,type=swap",
    },
    Beside {
        name: "a chain of sfdisk in another order than the disk",
        make: |image| {
            sfdisk_quietly(
                image,
                "label: dos\nN1: size=2M\nN4: start=8192, type=5\nN5: start=65536, size=4096\n\
                 N6: start=20480, size=4096\nN7: start=40960, size=8192, type=82\n",
            );
        },
        request: "--size 1M x7 --align minimal",
    },
    Beside {
        name: "a chain of parted, whose records lie close to their partitions",
        make: |image| {
            parted(
                image,
                "mklabel msdos mkpart primary ext4 1MiB 5MiB mkpart extended 5MiB 100% mkpart logical 6MiB 10MiB \
                 mkpart logical 20MiB 24MiB mkpart logical 12MiB 18MiB",
            );
        },
        request: "--size 1M x3 --size rest --primaries 1",
    },
    Beside {
        name: "a chain whose first logical partition was deleted",
        make: |image| {
            sfdisk_quietly(image, "label: dos\n,4M\n,,E\n,4M\n,4M\n,4M\n");
            run("sfdisk", &["-q", "--delete", text(image), "5"], "");
        },
        request: "--size 1M x5 --primaries 1",
    },
    Beside {
        name: "a chain whose only logical partition was deleted",
        make: |image| {
            sfdisk_quietly(image, "label: dos\n,4M\n,,E\n,4M\n");
            run("sfdisk", &["-q", "--delete", text(image), "5"], "");
        },
        request: "--size 1M x5 --primaries 1",
    },
    Beside {
        name: "all four slots taken, one by a container",
        make: |image| sfdisk_quietly(image, "label: dos\n,4M\n,4M\n,4M\n,,E\n,4M\n"),
        request: "--size 1M x3 --size rest,type=lvm",
    },
];

#[test]
fn what_was_there_stays_to_the_last_attribute() {
    let bench = Bench::new();
    for Beside { name, make, request } in BESIDE {
        let image = bench.blank("disk.img", 64 * MIB);
        make(&image);
        let (old, before) = (checksum(&image), Dump::of(&image));
        let kept = by_sfdisk(&image);
        let plan = bench.plan(&format!("--keep {request}"), &image);
        bench.apply(&plan, &image).assert_exit(0, name);
        Dump::of(&image).assert_holds(&before, name);
        let mut expected = planned(&plan);
        assert!(!expected.rows.is_empty(), "{name}");
        expected.rows.extend(kept.rows);
        expected.rows.sort_by_key(|row| row.number);
        assert_peers_agree(name, &image, &expected);
        bench.alignck(&["undo", text(&image), "--yes"], "").assert_exit(0, name);
        assert_eq!(checksum(&image), old, "{name}: undone");
    }
}

#[test]
fn on_sectors_of_4096_bytes_what_was_there_stays_too() {
    let bench = Bench::new();
    for (name, script, request) in [
        (
            "a GPT",
            "label: gpt\nN3: size=4M, name=\"größe\", attrs=LegacyBIOSBootable\n",
            "--size 1M --size rest",
        ),
        ("a chain", "label: dos\n,4M\n,,E\n,4M\n,4M\n", "--size 1M x3 --primaries 1"),
        ("an empty container", "label: dos\n,4M\n,,E\n", "--size 1M x3 --primaries 1"),
    ] {
        let image = bench.blank("disk.img", 64 * MIB);
        let device = Loop::attach(&image, 4096, &[]);
        sfdisk_quietly(&device.node, script);
        let before = Dump::of(&device.node);
        let kept = by_sfdisk(&device.node);
        let plan = bench.plan(&format!("--keep {request}"), &device.node);
        bench.apply(&plan, &device.node).assert_exit(0, name);
        Dump::of(&device.node).assert_holds(&before, name);
        let mut expected = planned(&plan);
        expected.rows.extend(kept.rows);
        expected.rows.sort_by_key(|row| row.number);
        assert_peers_agree(name, &device.node, &expected);
    }
}

#[test]
fn a_full_table_is_refused_and_stays() {
    let bench = Bench::new();
    for (name, script, words) in [
        ("four primaries", "label: dos\n,4M\n,4M\n,4M\n,4M\n", "no free"),
        ("eight entries", "label: gpt\ntable-length: 4\n,1M\n,1M\n,1M\n,1M\n", "no free"),
        ("no room", "label: gpt\n,\n", "does not fit"),
    ] {
        let image = bench.blank("disk.img", 64 * MIB);
        sfdisk_quietly(&image, script);
        let before = checksum(&image);
        let refused = bench.alignck(&["plan", "--keep", "--size", "1M", text(&image), "--json"], "");
        refused.assert_exit(2, name);
        assert!(refused.errors.contains(words), "{name}: {}", refused.errors);
        assert_eq!(checksum(&image), before, "{name}");
    }
}

#[test]
fn on_a_grown_image_the_backup_goes_to_the_new_end() {
    let bench = Bench::new();
    for (name, make) in [
        ("sgdisk", (|image| sgdisk(image, "-n 3:0:+4M -c 3:boot -A 3:set:2 -n 9:+1M:+5M")) as fn(&Path)),
        ("sfdisk", |image| sfdisk_quietly(image, "label: gpt\n,4M,U\n,4M,S\n")),
        ("parted", |image| parted(image, "mklabel gpt mkpart a 1MiB 10MiB mkpart b 10MiB 100%")),
    ] {
        let image = bench.blank("disk.img", 64 * MIB);
        make(&image);
        resize(&image, 100 * MIB);
        let before = Dump::of(&image);
        let kept = by_sfdisk(&image);
        let plan = bench.plan("--keep --size 8M --size rest", &image);
        bench.apply(&plan, &image).assert_exit(0, name);
        Dump::of(&image).assert_holds_partitions(&before, name);
        let mut expected = planned(&plan);
        expected.rows.extend(kept.rows);
        expected.rows.sort_by_key(|row| row.number);
        assert_peers_agree(name, &image, &expected);
        let end = expected.rows.iter().map(|row| row.end).max().expect("there are some");
        assert!(end > 64 * MIB / 512, "{name}: the new room is used");
        let protective = read_at(&image, 446 + 12, 4);
        assert_eq!(protective, u32::try_from(100 * MIB / 512 - 1).expect("small").to_le_bytes(), "{name}");
        assert_eq!(read_at(&image, 100 * MIB - 512, 8), b"EFI PART", "{name}");
        assert_ne!(read_at(&image, 64 * MIB - 512, 8), b"EFI PART", "{name}: the old backup is gone");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Disks in use

/// A GPT with three partitions of 16 MiB on an image of 64 MiB.
const THREE: &str = "label: gpt\n,16M\n,16M\n,16M\n";

#[test]
fn a_mounted_partition_keeps_its_disk_from_a_new_table() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    run("mkfs.ext2", &["-q", &device.partition(2)], "");
    let mounted = Mounted::on(&bench.path("a place"), &device.partition(2), &[]);
    let plan = bench.plan("--table gpt --size rest", &device.node);
    let by = format!("{} is mounted on {}", device.partition(2), text(&mounted.0));
    bench.assert_refused(&plan, &device.node, &[&by]);
    drop(mounted);
    bench.apply(&plan, &device.node).assert_exit(0, "it is free again");
}

/// The new table has the partition where it is, but its file system would be cleared.
#[test]
fn a_mounted_partition_that_would_be_wiped_in_its_place_is_in_the_way() {
    let bench = Bench::new();
    let device = bench.device("label: gpt\n,16M\n");
    run("mkfs.ext2", &["-q", &device.partition(1)], "");
    let _mounted = Mounted::on(&bench.path("mounted"), &device.partition(1), &[]);
    let plan = bench.plan("--table gpt --size 16M", &device.node);
    let before = checksum(&device.node);
    let said = bench.alignck(&["apply", "-", device.path(), "--yes", "--wipe"], &plan);
    said.assert_exit(2, "--wipe");
    said.assert_one_line(&["it is in use, and nothing was written", &device.partition(1)]);
    assert_eq!(checksum(&device.node), before);
}

#[test]
fn beside_a_mounted_partition_another_is_added_and_the_kernel_uses_it() {
    let bench = Bench::new();
    for (label, script, added) in [("gpt", THREE, 4), ("mbr", "label: dos\n,16M\n,16M\n,,E\n,8M\n", 4)] {
        let device = bench.device(script);
        run("mkfs.ext2", &["-q", &device.partition(2)], "");
        let mounted = Mounted::on(&bench.path("place"), &device.partition(2), &[]);
        fs::write(mounted.0.join("file"), "content").expect("it can be written");
        let plan = bench.plan("--keep --size 2M", &device.node);
        let number = planned(&plan).rows[0].number;
        assert_eq!(number, if label == "gpt" { added } else { 6 }, "{plan}");
        let document = bench.apply_json(&plan, &device.node, 0);
        assert_eq!(document["kernel"], "current", "{document:#}");
        device.assert_known_to_kernel(label);
        assert_eq!(fs::read_to_string(mounted.0.join("file")).expect("it is mounted"), "content");

        // And back again, while it is still mounted.
        bench.alignck(&["undo", device.path(), "--yes"], "").assert_exit(0, label);
        device.assert_known_to_kernel(label);
        assert!(!device.kernel_partitions().contains_key(&number), "{label}");
    }
}

#[test]
fn a_partition_that_is_swapped_on_keeps_its_disk_from_a_new_table() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    run("mkswap", &["-q", &device.partition(3)], "");
    let Some(swapped) = Swapped::on(&device.partition(3)) else { return };
    let plan = bench.plan("--table gpt --size rest", &device.node);
    bench.assert_refused(&plan, &device.node, &[&format!("{} is used as swap", device.partition(3))]);
    drop(swapped);
    bench.apply(&plan, &device.node).assert_exit(0, "it is free again");
}

#[test]
fn a_whole_disk_that_is_mounted_gets_no_table() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let device = Loop::attach(&image, 512, &["--partscan"]);
    run("mkfs.ext2", &["-q", device.path()], "");
    let mounted = Mounted::on(&bench.path("place"), device.path(), &[]);
    let plan = bench.plan("--table mbr --size rest", &device.node);
    let by = format!("{} is mounted on {}", device.path(), text(&mounted.0));
    bench.assert_refused(&plan, &device.node, &[&by]);
}

#[test]
fn whoever_has_a_disk_or_a_partition_for_himself_is_named() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    let fresh = bench.plan("--table gpt --size rest", &device.node);
    let beside = bench.plan("--keep --size 2M", &device.node);

    let whole = Other::exclusively(device.path());
    let by = format!("{} is opened exclusively", device.path());
    bench.assert_refused(&fresh, &device.node, &[&by, &whole.name()]);
    bench.assert_refused(&beside, &device.node, &[&by, &whole.name()]);
    drop(whole);

    let partition = Other::exclusively(&device.partition(2));
    let by = format!("{} is opened exclusively", device.partition(2));
    bench.assert_refused(&fresh, &device.node, &[&by, &partition.name()]);
    bench.apply(&beside, &device.node).assert_exit(0, "a partition that stays is in nobody's way");
    device.assert_known_to_kernel("beside it");
    drop(partition);
}

/// With one partition the kernel refuses both nodes, whichever was opened.
#[test]
fn the_only_partition_and_its_disk_are_told_apart() {
    let bench = Bench::new();
    let device = bench.device("label: gpt\n,16M\n");
    let beside = bench.plan("--keep --size 2M", &device.node);
    let whole = Other::exclusively(device.path());
    bench.assert_refused(&beside, &device.node, &[&format!("{} is opened exclusively", device.path())]);
    let on_partition = Loop::attach(Path::new(&device.partition(1)), 512, &[]);
    bench.assert_refused(
        &beside,
        &device.node,
        &[&format!("{} is opened exclusively", device.path()), &whole.name()],
    );
    drop((on_partition, whole));
    let partition = Other::exclusively(&device.partition(1));
    bench.apply(&beside, &device.node).assert_exit(0, "a partition that stays is in nobody's way");
    drop(partition);
}

#[test]
fn a_loop_device_on_a_partition_or_an_image_is_named() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    let fresh = bench.plan("--table gpt --size rest", &device.node);
    let on_partition = Loop::attach(Path::new(&device.partition(1)), 512, &[]);
    let by = format!("{} is attached as {}", device.partition(1), on_partition.path());
    bench.assert_refused(&fresh, &device.node, &[&by]);
    drop(on_partition);

    let image = bench.path("disk.img");
    let plan = bench.plan("--table gpt --size rest", &image);
    bench.assert_refused(&plan, &image, &[&format!("{} is attached as {}", text(&image), device.path())]);
}

#[test]
fn an_image_that_another_program_writes_or_locks_is_left_alone() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let plan = bench.plan("--table gpt --size rest", &image);
    let flock = |kind: &str| {
        format!("use Fcntl ':flock'; open(F, '<', $ARGV[0]) or die $!; flock(F, {kind}) or die $!;")
    };
    let record = |command: u8, mode: &str, kind: &str| {
        format!(
            "use Fcntl; open(F, '{mode}', $ARGV[0]) or die $!; \
             my $lock = pack('s s x4 q q i x4', {kind}, 0, 0, 0, 0); fcntl(F, {command}, $lock) or die $!;"
        )
    };
    // A lock of an open file, as those of QEMU, has no process in the kernel's list.
    const POSIX: u8 = 6;
    const OF_OPEN_FILE: u8 = 37;
    for (script, how) in [
        ("open(F, '+<', $ARGV[0]) or die $!;".to_owned(), "open for writing in"),
        (flock("LOCK_EX"), "locked by"),
        (flock("LOCK_SH"), "locked by"),
        (record(POSIX, "+<", "F_WRLCK"), "locked by"),
        (record(POSIX, "<", "F_RDLCK"), "locked by"),
        (record(OF_OPEN_FILE, "+<", "F_WRLCK"), "locked by"),
        (record(OF_OPEN_FILE, "<", "F_RDLCK"), "locked by"),
    ] {
        let holder = Other::perl(&script, text(&image));
        bench.assert_refused(&plan, &image, &["is in use", how, &holder.name()]);
    }
    bench.apply(&plan, &image).assert_exit(0, "it is free again");
}

#[test]
fn an_image_that_flock_guards_is_left_alone() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let plan = bench.plan("--table gpt --size rest", &image);
    let holder = Other::flock(text(&image), "");
    bench.assert_refused(&plan, &image, &["locked by", &holder.name()]);
}

#[test]
fn a_reader_of_an_image_is_in_nobodys_way() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let plan = bench.plan("--table gpt --size rest", &image);
    let reader = Other::reader(text(&image));
    bench.apply(&plan, &image).assert_exit(0, "a reader");
    drop(reader);
}

#[test]
fn a_lock_on_a_disk_is_waited_for() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    let plan = bench.plan("--table gpt --size rest", &device.node);
    let holder = Other::flock(device.path(), "sleep 2");
    let begun = Instant::now();
    bench.apply(&plan, &device.node).assert_exit(0, "the lock was released in time");
    assert!(begun.elapsed() > Duration::from_secs(1), "it was waited for");
    drop(holder);
    assert_peers_agree("after the wait", &device.node, &planned(&plan));
}

#[test]
fn a_lock_on_a_disk_that_is_not_released_is_named_after_a_while() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    let plan = bench.plan("--table gpt --size rest", &device.node);
    let holder = Other::flock(device.path(), "");
    let begun = Instant::now();
    bench.assert_refused(&plan, &device.node, &["holds the lock", &holder.name()]);
    let waited = begun.elapsed();
    assert!((Duration::from_secs(9)..Duration::from_secs(20)).contains(&waited), "{waited:?}");
}

// ---------------------------------------------------------------------------------------------------------------
// What the kernel uses

#[test]
fn the_kernel_uses_what_was_written_and_what_was_put_back() {
    let bench = Bench::new();
    for sector_size in [512, 4096] {
        let image = bench.blank("disk.img", 64 * MIB);
        let blank = checksum(&image);
        let device = Loop::attach(&image, sector_size, &["--partscan"]);
        assert!(device.kernel_partitions().is_empty());
        for request in [
            "--table gpt --size 4M x3 --size rest",
            "--table mbr --size 2M x9",
            "--table gpt --size 1M x20",
            "--table mbr --size 4M x2",
            "--table mbr --size 2M x6 --align minimal --primaries 1",
        ] {
            let plan = bench.plan(request, &device.node);
            let document = bench.apply_json(&plan, &device.node, 0);
            assert_eq!(document["kernel"], "current", "{request}: {document:#}");
            device.assert_known_to_kernel(request);
        }
        // Each undo takes back the newest that was not taken back yet.
        for left in (0..5).rev() {
            bench.alignck(&["undo", device.path(), "--yes"], "").assert_exit(0, "undo");
            device.assert_known_to_kernel("undo");
            assert_eq!(device.kernel_partitions().is_empty(), left == 0);
        }
        assert_eq!(checksum(&image), blank, "it is as blank as before");
    }
}

/// parted makes partitions on any loop device; they have to follow the table as those that were found.
#[test]
fn a_device_without_partscan_that_has_partitions_keeps_up() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let device = Loop::attach(&image, 512, &[]);
    let plan = bench.plan("--table gpt --size 4M x3", &device.node);
    bench.apply(&plan, &device.node).assert_exit(0, "nothing is expected of the kernel");
    parted(&device.node, "mklabel gpt mkpart a 1MiB 10MiB mkpart b 10MiB 20MiB");
    assert_eq!(device.kernel_partitions().len(), 2);
    let plan = bench.plan("--table gpt --size 4M x3", &device.node);
    let document = bench.apply_json(&plan, &device.node, 0);
    assert_eq!(document["kernel"], "current", "{document:#}");
    device.assert_known_to_kernel("after parted");
}

/// Whoever only reads a partition does not claim it, but the kernel does not let go of it either.
#[test]
fn a_partition_that_is_being_read_leaves_the_kernel_behind() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    let plan = bench.plan("--table gpt --size rest", &device.node);
    let reader = Other::reader(&device.partition(2));
    let document = bench.apply_json(&plan, &device.node, 4);
    assert_eq!((document["result"].as_str(), document["kernel"].as_str()), (Some("written"), Some("stale")));
    assert_peers_agree("the disk itself is right", &device.node, &planned(&plan));
    drop(reader);

    let said = bench.alignck(&["undo", device.path(), "--yes"], "");
    said.assert_exit(0, "it is free again");
    device.assert_known_to_kernel("undo");
}

// ---------------------------------------------------------------------------------------------------------------
// What is refused

#[test]
fn a_plan_for_another_disk_is_refused() {
    let bench = Bench::new();
    let (small, large) = (bench.blank("small.img", 64 * MIB), bench.blank("large.img", 65 * MIB));
    let plan = bench.plan("--table gpt --size rest", &small);
    bench.assert_refused(&plan, &large, &["the plan is for a disk of 131072 sectors"]);

    let device = Loop::attach(&small, 4096, &[]);
    bench.assert_refused(&plan, &device.node, &["sectors of 512 bytes", "sectors of 4096"]);
    drop(device);

    run("mkfs.ext2", &["-q", "-F", text(&small)], "");
    bench.assert_refused(&plan, &small, &["not as it was when the plan was made"]);
}

#[test]
fn a_table_that_changed_since_the_plan_is_refused() {
    let bench = Bench::new();
    for (script, command, arguments) in [
        (THREE, "sgdisk", vec!["-c", "2:other"]),
        (THREE, "sgdisk", vec!["-d", "3"]),
        ("label: dos\n,4M\n,,E\n,4M\n,4M\n", "sfdisk", vec!["-q", "--part-type", "IMAGE", "6", "7"]),
        ("label: dos\n,4M\n,,E\n,4M\n,4M\n", "sfdisk", vec!["-q", "--activate", "IMAGE", "1"]),
    ] {
        let image = bench.blank("disk.img", 64 * MIB);
        sfdisk_quietly(&image, script);
        let kept = bench.plan("--keep --size 2M", &image);
        let fresh = bench.plan("--table gpt --size rest", &image);
        let mut arguments: Vec<&str> =
            arguments.into_iter().map(|word| if word == "IMAGE" { text(&image) } else { word }).collect();
        if !arguments.contains(&text(&image)) {
            arguments.push(text(&image));
        }
        run(command, &arguments, "");
        for plan in [kept, fresh] {
            bench.assert_refused(&plan, &image, &["not as it was when the plan was made"]);
        }
    }
}

#[test]
fn a_backup_of_another_disk_is_not_put_back() {
    let bench = Bench::new();
    let (one, other) = (bench.blank("one.img", 64 * MIB), bench.blank("other.img", 32 * MIB));
    bench.apply(&bench.plan("--table gpt --size rest", &one), &one).assert_exit(0, "one");
    let backup = bench.backups().pop().expect("there is one");
    for (disk, words) in [
        (&other, "is of a disk of 67108864 bytes"),
        (&bench.blank("third.img", 64 * MIB), "nothing to put back"),
    ] {
        let before = checksum(disk);
        let said = bench.alignck(&["undo", text(disk), text(&backup), "--yes"], "");
        said.assert_exit(2, words);
        said.assert_one_line(&[words]);
        assert_eq!(checksum(disk), before);
        let said = bench.alignck(&["undo", text(disk), "--yes"], "");
        said.assert_exit(2, words);
        said.assert_one_line(&["no backup of this disk"]);
    }
}

#[test]
fn what_is_read_only_is_refused_before_anything_else() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let plan = bench.plan("--table gpt --size rest", &image);
    let device = Loop::attach(&image, 512, &["--read-only"]);
    bench.assert_refused(&plan, &device.node, &["is read-only"]);
    drop(device);

    let device = Loop::attach(&image, 512, &[]);
    run("blockdev", &["--setro", device.path()], "");
    bench.assert_refused(&plan, &device.node, &["is read-only"]);
    run("blockdev", &["--setrw", device.path()], "");
    drop(device);

    let folder = Mounted::memory(&bench.path("read only"), "size=80m");
    let image = folder.0.join("disk.img");
    File::create(&image).and_then(|file| file.set_len(64 * MIB)).expect("there is room");
    run("mount", &["-o", "remount,ro", text(&folder.0)], "");
    bench.assert_refused(&plan, &image, &["cannot be opened for writing", "read-only"]);
}

#[test]
fn what_is_no_whole_disk_is_refused() {
    let bench = Bench::new();
    let device = bench.device(THREE);
    let plan = bench.plan("--table gpt --size rest", &device.node);
    let partition = device.partition(1);
    bench.assert_refused(&plan, Path::new(&partition), &["is a partition", device.path()]);

    for format in ["qcow2", "vmdk", "vdi"] {
        let image = bench.path(&format!("disk.{format}"));
        run("qemu-img", &["create", "-q", "-f", format, text(&image), "64M"], "");
        bench.assert_refused(
            &plan,
            &image,
            &[&format!("{} image", format.replace("vmdk", "VMDK").replace("vdi", "VDI"))],
        );
    }
    for (path, words) in [
        (bench.path("missing.img"), "No such file"),
        (bench.folder.path().to_owned(), "is a directory"),
        (PathBuf::from("/dev/null"), "neither a block device nor a file"),
    ] {
        let said = bench.apply(&plan, &path);
        said.assert_exit(2, words);
        said.assert_one_line(&[words]);
    }
}

#[test]
fn without_a_backup_nothing_is_written() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let plan = bench.plan("--table gpt --size rest", &image);
    let before = checksum(&image);
    let full = Mounted::memory(&bench.path("full"), "size=16k");
    let locked = Mounted::memory(&bench.path("locked"), "size=16k");
    run("mount", &["-o", "remount,ro", text(&locked.0)], "");
    let existing = bench.path("existing.backup");
    fs::write(&existing, "mine").expect("the scratch folder can be written");
    for (place, words) in [
        (full.0.clone(), "No space left"),
        (full.0.join("a.backup"), "No space left"),
        (locked.0.clone(), "Read-only file system"),
        (locked.0.join("a.backup"), "Read-only file system"),
        (existing.clone(), "File exists"),
        (bench.path("missing/a.backup"), "No such file"),
    ] {
        let said = bench.alignck(&["apply", "-", text(&image), "--yes", "--backup", text(&place)], &plan);
        said.assert_exit(2, text(&place));
        said.assert_one_line(&["the backup cannot be written", words, "nothing was written"]);
        assert_eq!(checksum(&image), before, "{}", place.display());
    }
    for state in [&full.0, &locked.0] {
        let mut command = bench.command(&["apply", "-", text(&image), "--yes"]);
        command.env("XDG_STATE_HOME", state);
        let said = Printed::of(command, &plan);
        said.assert_exit(2, text(state));
        said.assert_one_line(&["the backup cannot be written", "--backup PATH", "nothing was written"]);
        assert_eq!(checksum(&image), before, "{}", state.display());
    }
    for folder in [full.0.clone(), full.0.join("alignck")] {
        let halves = files_in(&folder).into_iter().filter(|path| path.is_file());
        assert_eq!(halves.count(), 0, "half a backup is none");
    }
    assert_eq!(fs::read_to_string(&existing).expect("it is there"), "mine");
}

/// Else a power cut could leave half a table, and nothing that puts the old one back.
#[test]
fn the_backup_and_its_folder_are_on_the_medium_before_the_disk_changes() {
    let bench = Bench::new();
    let plan = bench.path("plan.json");
    let (state, elsewhere) = (bench.path("state/alignck"), bench.path("elsewhere"));
    fs::create_dir(&elsewhere).expect("the scratch folder can be written");
    for (place, folders) in [(None, vec![&state]), (Some(&elsewhere), vec![&elsewhere, &state])] {
        let image = bench.blank("disk.img", 64 * MIB);
        fs::write(&plan, bench.plan("--table gpt --size rest", &image))
            .expect("the scratch folder can be written");
        let mut arguments = vec!["apply", text(&plan), text(&image), "--yes"];
        arguments.extend(place.iter().flat_map(|place| ["--backup", text(place)]));
        let calls = bench.calls("trace=write,pwrite64,fsync,fdatasync", &arguments);
        let first = |call: &str, to: &dyn Fn(&Path) -> bool| {
            let at = calls.iter().position(|(called, path)| called == call && to(path));
            at.unwrap_or_else(|| panic!("no {call}: {calls:?}"))
        };
        let written = first("pwrite64", &|path| path == image);
        let is_backup = |path: &Path| path.extension().is_some_and(|extension| extension == "backup");
        let saved = first("fsync", &is_backup);
        assert!(first("write", &is_backup) < saved && saved < written, "{calls:?}");
        for folder in folders {
            assert!(first("fsync", &|path| path == folder) < written, "{}: {calls:?}", folder.display());
        }
        let last = calls.iter().rfind(|(_, path)| *path == image).map(|(call, _)| &**call);
        assert_eq!(last, Some("fdatasync"), "{calls:?}");
    }
}

#[test]
fn without_a_yes_nothing_is_written() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let plan = bench.plan("--table gpt --size rest", &image);
    let file = bench.path("plan.json");
    fs::write(&file, &plan).expect("the scratch folder can be written");
    let before = checksum(&image);
    for (arguments, input) in
        [(vec!["apply", text(&file), text(&image)], "yes\n"), (vec!["apply", "-", text(&image)], &*plan)]
    {
        let said = bench.alignck(&arguments, input);
        said.assert_exit(2, "no terminal");
        said.assert_one_line(&["nobody can be asked here", "--yes"]);
    }
    let said = bench.alignck(&["apply", text(&file), text(&image), "--json"], "yes\n");
    said.assert_exit(2, "JSON");
    let document: Value = serde_json::from_str(&said.output).expect("one document");
    assert_eq!(document["result"], "failed");
    assert!(document["error"].as_str().is_some_and(|error| error.contains("--yes")), "{document:#}");
    assert_eq!(checksum(&image), before);
    assert_eq!(bench.backups(), Vec::<PathBuf>::new());
}

#[test]
fn on_a_terminal_only_a_yes_writes() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB);
    let file = bench.path("plan.json");
    fs::write(&file, bench.plan("--table gpt --size rest", &image))
        .expect("the scratch folder can be written");
    let before = checksum(&image);
    let command = bench.command(&["apply", text(&file), text(&image)]);
    let line = format!("{} apply '{}' '{}'", command.get_program().display(), text(&file), text(&image));
    for (answer, exit) in [("no\n", 2), ("\n", 2), ("y\n", 2), ("yes\n", 0)] {
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        script.env("XDG_STATE_HOME", bench.path("state"));
        let said = Printed::of(script, answer);
        said.assert_exit(exit, answer);
        assert!(said.output.contains("Type yes"), "{}", said.output);
        assert_eq!(checksum(&image) == before, exit == 2, "{answer:?}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What was there before

/// What filled a disk before it gets a table, as wipefs calls it; the MiB that it needs; and what makes it.
const OLD_USES: &[OldUse] = &[
    ("ext4", 32, |image| drop(run("mkfs.ext4", &["-q", "-F", text(image)], ""))),
    ("xfs", 320, |image| drop(run("mkfs.xfs", &["-q", "-f", text(image)], ""))),
    ("btrfs", 128, |image| drop(run("mkfs.btrfs", &["-q", "-f", text(image)], ""))),
    ("vfat", 32, |image| drop(run("mkfs.vfat", &["-I", text(image)], ""))),
    ("ntfs", 32, |image| drop(run("mkfs.ntfs", &["-q", "-F", "-f", text(image)], ""))),
    ("swap", 32, |image| drop(run("mkswap", &["-q", "-f", text(image)], ""))),
    ("crypto_LUKS", 32, |image| luks(image, "luks1")),
    ("crypto_LUKS", 32, |image| luks(image, "luks2")),
    ("iso9660", 32, iso),
    ("linux_raid_member", 32, |image| md(image, 0)),
    ("linux_raid_member", 32, |image| md(image, 1)),
    ("isw_raid_member", 32, |image| poke(image, 32 * MIB - 1024, b"Intel Raid ISM Cfg Sig. 1.0.00")),
    ("dos", 32, |image| sfdisk_quietly(image, "label: dos\n,4M\n,,E\n,4M\n,4M\n")),
    ("gpt", 32, |image| sgdisk(image, "-n 1:0:+4M -n 2:0:0")),
];

type OldUse = (&'static str, u64, fn(&Path));

/// As much of the superblock of an md array as tells that it is one (`include/uapi/linux/raid/md_p.h`). Those of
/// version 0.90 and 1.0 stand at the end; mdadm makes them only where the kernel has md.
fn md(image: &Path, version: u32) {
    let size = fs::metadata(image).expect("the image is there").len();
    let place = if version == 0 { size / 65536 * 65536 - 65536 } else { (size - 8192) / 4096 * 4096 };
    let mut superblock = [0; 256];
    superblock[..4].copy_from_slice(&0xA92B_4EFC_u32.to_le_bytes());
    superblock[4..8].copy_from_slice(&version.to_le_bytes());
    if version == 0 {
        superblock[32..36].copy_from_slice(&1024_u32.to_le_bytes());
    } else {
        superblock[144..152].copy_from_slice(&(place / 512).to_le_bytes());
    }
    poke(image, place, &superblock);
}

fn luks(image: &Path, kind: &str) {
    let quick = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--key-file", "-"];
    let arguments = [&["luksFormat", "--batch-mode", "--type", kind][..], &quick, &[text(image)]].concat();
    run("cryptsetup", &arguments, "secret");
}

fn iso(image: &Path) {
    let tree = image.with_extension("tree");
    let _ = fs::create_dir(&tree);
    fs::write(tree.join("file"), "content").expect("the scratch folder can be written");
    let _ = fs::remove_file(image);
    run("xorriso", &["-as", "mkisofs", "-quiet", "-V", "TEST", "-o", text(image), text(&tree)], "");
    resize(image, 32 * MIB);
}

#[test]
fn of_an_old_use_of_the_whole_disk_no_tool_sees_anything() {
    let bench = Bench::new();
    for (old, mebibytes, make) in OLD_USES {
        for table in ["gpt", "dos"] {
            let image = bench.blank("disk.img", mebibytes * MIB);
            make(&image);
            assert!(signatures(&image).contains(*old), "{old}: {:?}", signatures(&image));
            let before = checksum(&image);
            let kind = if table == "gpt" { "gpt" } else { "mbr" };
            let plan = bench.plan(&format!("--table {kind} --size 4M --size rest"), &image);
            bench.apply(&plan, &image).assert_exit(0, old);
            assert_only_new_table(&image, table, &format!("{table} over {old}"));
            assert_peers_agree(old, &image, &planned(&plan));
            if table == "dos" {
                let said = said("sgdisk", &["-p", text(&image)]);
                assert!(!said.contains("Found valid GPT") && !said.contains("damaged"), "{old}: {said}");
            }
            bench.alignck(&["undo", text(&image), "--yes"], "").assert_exit(0, old);
            assert_eq!(checksum(&image), before, "{table} over {old} and back");
        }
    }
}

/// The kernel looks for one in its own sector size; other tools do in others too.
#[test]
fn of_a_gpt_in_another_sector_size_no_tool_sees_anything() {
    let bench = Bench::new();
    for (old, new) in [(512, 4096), (4096, 512)] {
        for table in ["gpt", "mbr"] {
            let image = bench.blank("disk.img", 64 * MIB);
            let device = Loop::attach(&image, old, &[]);
            sfdisk_quietly(&device.node, "label: gpt\n,4M\n,4M\n");
            drop(device);
            let device = Loop::attach(&image, new, &[]);
            let plan = bench.plan(&format!("--table {table} --size 4M"), &device.node);
            bench.apply(&plan, &device.node).assert_exit(0, table);
            let label = if table == "mbr" { "dos" } else { "gpt" };
            assert_only_new_table(&device.node, label, table);
            drop(device);
            let device = Loop::attach(&image, old, &[]);
            assert!(!signatures(&device.node).contains("gpt"), "{old}: {:?}", signatures(&device.node));
        }
    }
}

#[test]
fn a_file_system_at_the_start_of_a_partition_is_wiped_when_asked_for_and_comes_back() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 192 * MIB);
    let device = Loop::attach(&image, 512, &["--partscan"]);
    let plan = bench.plan("--table gpt --size 32M --size rest", &device.node);
    bench.apply(&plan, &device.node).assert_exit(0, "a first table");
    run("mkfs.ext4", &["-q", &device.partition(1)], "");
    run("mkfs.btrfs", &["-q", "-f", &device.partition(2)], "");
    run("sync", &[], "");
    let places = [(1, "ext4", MIB), (2, "btrfs", 33 * MIB)];
    let type_at = |offset: u64| {
        let offset = offset.to_string();
        said_with("blkid", &["-p", "-O", &offset, "-o", "value", "-s", "TYPE", device.path()], "").output
    };
    for (_, name, offset) in places {
        assert_eq!(type_at(offset).trim(), name);
    }

    let plan = bench.plan("--table mbr --size 32M --size rest", &device.node);
    let said = bench.apply(&plan, &device.node);
    said.assert_exit(0, "without --wipe");
    for (number, name, offset) in places {
        assert_eq!(type_at(offset).trim(), name, "it stays");
        let told = format!("{name} begins where partition {number} will begin");
        assert!(said.output.to_lowercase().contains(&told), "{}", said.output);
    }
    bench.alignck(&["undo", device.path(), "--yes"], "").assert_exit(0, "undo");

    let plan = bench.plan("--table mbr --size 32M --size rest", &device.node);
    bench.alignck(&["apply", "-", device.path(), "--yes", "--wipe"], &plan).assert_exit(0, "with --wipe");
    for (number, _, offset) in places {
        assert_eq!(type_at(offset).trim(), "");
        let partition = device.partition(number);
        assert_eq!(run("wipefs", &["--noheadings", &partition], "").output, "", "{partition}");
    }

    bench.alignck(&["undo", device.path(), "--yes"], "").assert_exit(0, "undo");
    for (_, name, offset) in places {
        assert_eq!(type_at(offset).trim(), name, "it is back");
    }
    run("fsck.ext4", &["-n", "-f", &device.partition(1)], "");
    run("btrfs", &["check", &device.partition(2)], "");
}

/// Everything that wipefs would wipe, by type.
fn signatures(disk: &Path) -> BTreeSet<String> {
    let listed = run("wipefs", &["--noheadings", "--output", "TYPE", text(disk)], "").output;
    listed.lines().map(|line| line.trim().to_owned()).collect()
}

fn assert_only_new_table(disk: &Path, table: &str, context: &str) {
    let expected: &[&str] = if table == "gpt" { &["PMBR", "gpt"] } else { &["dos"] };
    assert_eq!(signatures(disk), expected.iter().map(ToString::to_string).collect(), "{context}");
    let seen = run("blkid", &["-p", "-o", "export", text(disk)], "").output;
    assert!(seen.lines().any(|line| line == format!("PTTYPE={table}")), "{context}: {seen}");
    assert!(!seen.lines().any(|line| line.starts_with("TYPE=")), "{context}: {seen}");
}

// ---------------------------------------------------------------------------------------------------------------
// What the tools see

/// The table that a plan has.
fn planned(plan: &str) -> Listing {
    let plan: Value = serde_json::from_str(plan).expect("the plan is JSON");
    Listing {
        label: plan["table"].as_str().expect("a text").to_owned(),
        sector_size: plan["sector_size"].as_u64().expect("a number"),
        id: String::new(),
        rows: rows(&plan),
    }
}

/// No tool that knows the table has a complaint, and each prints these partitions.
fn assert_peers_agree(context: &str, disk: &Path, expected: &Listing) {
    let listing = by_sfdisk(disk);
    assert_eq!(listing.label, expected.label, "{context}");
    let without_ids = |rows: &[Row]| -> Vec<Row> {
        rows.iter().map(|row| Row { id: String::new(), ..row.clone() }).collect()
    };
    assert_eq!(without_ids(&listing.rows), without_ids(&expected.rows), "{context}: sfdisk");
    let dumped: BTreeSet<u64> = Dump::of(disk).partitions.into_keys().collect();
    assert_eq!(dumped, expected.rows.iter().map(|row| row.number).collect(), "{context}: sfdisk --dump");
    let verified = run("sfdisk", &["--verify", text(disk)], "");
    assert!(verified.output.contains("No errors detected"), "{context}: {}", verified.output);
    assert_eq!(verified.errors, "", "{context}: sfdisk --verify");

    let by_parted = by_parted(context, disk);
    let places = |rows: &[Row]| -> Vec<(u64, u64, u64, Option<&str>)> {
        rows.iter().map(|row| (row.number, row.start, row.end, flag(&row.type_))).collect()
    };
    assert_eq!(by_parted, places(&expected.rows), "{context}: parted");

    // sgdisk reads an MBR only to make a GPT of it.
    if expected.label == "gpt" {
        assert_eq!(by_sgdisk(disk), listing.rows, "{context}: sgdisk");
        let verified = run("sgdisk", &["-v", text(disk)], "");
        assert!(verified.output.contains("No problems found"), "{context}: {}", verified.output);
    }
}

/// Number, start, end and the flag that stands for the type.
fn by_parted(context: &str, disk: &Path) -> Vec<(u64, u64, u64, Option<&'static str>)> {
    let printed = run("parted", &["-sm", text(disk), "unit", "s", "print"], "");
    // parted also asks dmidecode about the machine, which may be missing.
    let complains = printed.errors.contains("Error") || printed.errors.contains("Warning");
    assert!(!complains, "{context}: {}", printed.errors);
    let number = |word: &str| word.trim_end_matches('s').parse::<u64>().expect("a number");
    let mut rows: Vec<_> = printed
        .output
        .lines()
        .skip(2)
        .map(|line| {
            let fields: Vec<&str> = line.trim_end_matches(';').split(':').collect();
            let flags: Vec<&str> = fields.last().expect("the flags").split(", ").collect();
            let flag = FLAGS.iter().map(|(_, flag)| *flag).find(|flag| flags.contains(flag));
            (number(fields[0]), number(fields[1]), number(fields[2]), flag)
        })
        .collect();
    rows.sort_by_key(|row| row.0);
    rows
}

/// What parted calls some types.
const FLAGS: [(&str, &str); 7] = [
    ("C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "esp"),
    ("21686148-6449-6E6F-744E-656564454649", "bios_grub"),
    ("0657FD6D-A4AB-43C4-84E5-0933C84B4F4F", "swap"),
    ("E6D6D379-F507-44C2-A23C-238F2A3DF928", "lvm"),
    ("0xef", "esp"),
    ("0x82", "swap"),
    ("0x8e", "lvm"),
];

fn flag(type_: &str) -> Option<&'static str> {
    FLAGS.iter().find(|(of, _)| *of == type_).map(|(_, flag)| *flag)
}

/// A table as sfdisk would make it again: lines about all of it, and one for each partition.
#[derive(Debug, PartialEq, Eq)]
struct Dump {
    head: Vec<String>,
    partitions: BTreeMap<u64, String>,
}

impl Dump {
    fn of(disk: &Path) -> Self {
        let printed = run("sfdisk", &["--dump", text(disk)], "").output;
        let mut dump = Self { head: Vec::new(), partitions: BTreeMap::new() };
        for line in printed.lines() {
            match line.split_once(" : ") {
                Some((node, values)) => {
                    dump.partitions.insert(number_of(node, disk), values.to_owned());
                }
                None => dump.head.push(line.to_owned()),
            }
        }
        dump
    }

    fn assert_holds(&self, before: &Self, context: &str) {
        assert_eq!(self.head, before.head, "{context}");
        self.assert_holds_partitions(before, context);
    }

    fn assert_holds_partitions(&self, before: &Self, context: &str) {
        for (number, values) in &before.partitions {
            assert_eq!(self.partitions.get(number), Some(values), "{context}: partition {number}");
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The command and the tools

/// A folder for the images and the backups of one test.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: common::scratch() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A new sparse image in place of the last of this name.
    fn blank(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        let _ = fs::remove_file(&path);
        let made = File::create_new(&path).and_then(|file| file.set_len(size));
        made.expect("the scratch folder takes sparse files");
        path
    }

    /// A loop device of 64 MiB with a table of sfdisk, which the kernel uses.
    fn device(&self, script: &str) -> Loop {
        let device = Loop::attach(&self.blank("disk.img", 64 * MIB), 512, &["--partscan"]);
        sfdisk_quietly(&device.node, script);
        device.show_to_kernel();
        device.assert_known_to_kernel(script);
        device
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = common::alignck();
        command.args(arguments).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    fn alignck(&self, arguments: &[&str], input: &str) -> Printed {
        Printed::of(self.command(arguments), input)
    }

    /// The calls of a command that must succeed, each with the file that it is about.
    fn calls(&self, which: &str, arguments: &[&str]) -> Vec<(String, PathBuf)> {
        let (command, trace) = (self.command(arguments), self.path("trace"));
        let mut traced = Command::new("strace");
        traced.args(["-f", "-y", "-e", which, "-o", text(&trace)]);
        traced.arg(command.get_program()).args(command.get_args());
        traced.env("LC_ALL", "C").env("XDG_STATE_HOME", self.path("state"));
        Printed::of(traced, "").assert_exit(0, &arguments.join(" "));
        // A line is `PID CALL(FD<FILE>, ...`.
        let call = |line: &str| {
            let (call, rest) = line.split_once(' ')?.1.trim_start().split_once('(')?;
            let (_, file) = rest.split_once('<')?;
            Some((call.to_owned(), PathBuf::from(file.split_once('>')?.0)))
        };
        let trace = fs::read_to_string(trace).expect("strace wrote it");
        trace.lines().filter_map(call).collect()
    }

    /// What a command prints that must succeed.
    fn run(&self, arguments: &[&str]) -> String {
        let printed = self.alignck(arguments, "");
        printed.assert_exit(0, &arguments.join(" "));
        printed.output
    }

    fn plan(&self, request: &str, disk: &Path) -> String {
        let words = request.split_whitespace();
        let arguments: Vec<&str> = ["plan"].into_iter().chain(words).chain([text(disk), "--json"]).collect();
        self.run(&arguments)
    }

    fn apply(&self, plan: &str, disk: &Path) -> Printed {
        self.alignck(&["apply", "-", text(disk), "--yes"], plan)
    }

    fn apply_json(&self, plan: &str, disk: &Path, exit: i32) -> Value {
        let printed = self.alignck(&["apply", "-", text(disk), "--yes", "--json"], plan);
        printed.assert_exit(exit, "apply");
        serde_json::from_str(&printed.output).expect("one document")
    }

    /// Applying the plan is refused with one line that has all of these words, and not one byte is written.
    fn assert_refused(&self, plan: &str, disk: &Path, words: &[&str]) {
        let (before, backups) = (checksum(disk), self.backups());
        let said = self.apply(plan, disk);
        said.assert_exit(2, &words.join(", "));
        said.assert_one_line(words);
        assert_eq!(checksum(disk), before, "{words:?}: something was written");
        assert_eq!(self.backups(), backups, "{words:?}");
    }

    fn backups(&self) -> Vec<PathBuf> {
        files_in(&self.path("state/alignck"))
    }
}

/// Writes a table without a word to the kernel, and leaves everything else as it is.
fn sfdisk_quietly(disk: &Path, script: &str) {
    let options = [
        "-q",
        "--no-reread",
        "--no-tell-kernel",
        "--wipe",
        "never",
        "--wipe-partitions",
        "never",
        text(disk),
    ];
    run("sfdisk", &options, script);
}

fn sgdisk(disk: &Path, options: &str) {
    let options: Vec<&str> = options.split(' ').chain([text(disk)]).collect();
    run("sgdisk", &options, "");
}

// ---------------------------------------------------------------------------------------------------------------
// Files

/// The length of a file or device, and the CRC-32 of all of it.
fn checksum(file: &Path) -> (usize, u32) {
    let (mut len, mut hasher) = (0, crc32fast::Hasher::new());
    for_each_chunk(file, |chunk| {
        len += chunk.len();
        hasher.update(chunk);
    });
    (len, hasher.finalize())
}

/// The first byte that differs of two images of the same length.
fn first_difference(one: &Path, other: &Path) -> Option<u64> {
    let other = File::open(other).expect("it can be opened");
    let (mut at, mut difference, mut buffer) = (0, None, vec![0; CHUNK]);
    for_each_chunk(one, |chunk| {
        let theirs = &mut buffer[..chunk.len()];
        other.read_exact_at(theirs, at).expect("it is as long");
        // Whole slices are compared much faster than their bytes.
        if difference.is_none() && chunk != theirs {
            difference =
                (at..).zip(chunk.iter().zip(theirs)).find(|(_, (one, other))| one != other).map(|(at, _)| at);
        }
        at += chunk.len() as u64;
    });
    difference
}

const CHUNK: usize = 1 << 20;

/// Reads a file in pieces: whole images are much memory for many tests at once.
fn for_each_chunk(file: &Path, mut take: impl FnMut(&[u8])) {
    let mut file = File::open(file).expect("it can be opened");
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk).expect("it can be read") {
            0 => return,
            len => take(&chunk[..len]),
        }
    }
}

fn read_at(file: &Path, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    File::open(file).and_then(|file| file.read_exact_at(&mut bytes, offset)).expect("it can be read");
    bytes
}

// ---------------------------------------------------------------------------------------------------------------
// Whoever uses a disk

/// Another program, which ends when it goes out of scope.
///
/// A file that the test opened itself would be open for a moment longer: in whatever other tests start just then.
struct Other(Child);

impl Other {
    /// Perl that does this, and then waits.
    fn perl(script: &str, argument: &str) -> Self {
        let script = format!("{script} $| = 1; print qq(ready\\n); <STDIN>;");
        let mut command = Command::new("perl");
        command.args(["-e", &script, argument]);
        Self::ready(command)
    }

    /// Perl that has a block device open so that nobody else can.
    fn exclusively(node: &str) -> Self {
        Self::perl("use Fcntl; sysopen(F, $ARGV[0], O_RDONLY | O_EXCL) or die $!;", node)
    }

    /// Perl that has a file open for reading.
    fn reader(path: &str) -> Self {
        Self::perl("open(F, '<', $ARGV[0]) or die $!;", path)
    }

    /// flock, which holds its lock while a shell does this, or until the end.
    fn flock(path: &str, meanwhile: &str) -> Self {
        let meanwhile = if meanwhile.is_empty() { "read line" } else { meanwhile };
        let mut command = Command::new("flock");
        command.args([path, "sh", "-c", &format!("echo ready; {meanwhile}")]);
        Self::ready(command)
    }

    fn ready(command: Command) -> Self {
        let mut other = Self(start(command));
        let mut line = String::new();
        let output = other.0.stdout.as_mut().expect("it was asked to be a pipe");
        BufReader::new(output).read_line(&mut line).expect("it says that it is ready");
        assert_eq!(line, "ready\n");
        other
    }

    /// What a message calls it.
    fn name(&self) -> String {
        let id = self.0.id();
        let name = fs::read_to_string(format!("/proc/{id}/comm")).expect("it runs");
        format!("{} (process {id})", name.trim())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Each of them ends with its input.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A file system that is unmounted at the end.
struct Mounted(PathBuf);

impl Mounted {
    fn on(place: &Path, node: &str, options: &[&str]) -> Self {
        fs::create_dir_all(place).expect("the scratch folder can be written");
        run("mount", &[options, &[node, text(place)]].concat(), "");
        let mounted = Self(place.to_owned());
        // What the file system writes at first is written.
        run("sync", &["--file-system", text(place)], "");
        mounted
    }

    fn memory(place: &Path, options: &str) -> Self {
        Self::on(place, "tmpfs", &["-t", "tmpfs", "-o", options])
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        said("umount", &[text(&self.0)]);
    }
}

/// Swap that is switched off at the end.
struct Swapped(String);

impl Swapped {
    /// `None` where the kernel has no swap.
    fn on(node: &str) -> Option<Self> {
        if !Path::new("/proc/swaps").exists() {
            note("this kernel has no swap");
            return None;
        }
        run("swapon", &[node], "");
        Some(Self(node.to_owned()))
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        said("swapoff", &[&self.0]);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Loop devices

impl Loop {
    /// The kernel has the partitions of the table on the disk, and no others.
    fn assert_known_to_kernel(&self, context: &str) {
        let known = self.kernel_partitions();
        let unit: u64 =
            run("blockdev", &["--getss", self.path()], "").output.trim().parse().expect("a number");
        let has_table = said("blkid", &["-p", self.path()]).contains("PTTYPE=");
        let rows = if has_table { by_sfdisk(&self.node).rows } else { Vec::new() };
        let in_512 = |sectors: u64| sectors * unit / 512;
        let expected = rows.iter().map(|row| {
            let start = in_512(row.start);
            // Of a container the kernel shows its beginning only.
            let is_container = ["0x05", "0x0f", "0x85"].contains(&&*row.type_);
            let size = if is_container { known.get(&row.number).map(|known| known.1) } else { None };
            (row.number, (start, size.unwrap_or_else(|| in_512(row.end + 1 - row.start))))
        });
        assert_eq!(known, expected.collect(), "{context}");
    }
}
