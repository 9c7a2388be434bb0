//! Tables, file systems and failures that the other tools of a machine make now: what we print is what they print.
//!
//! Needs root, loop devices and the tools. A missing tool fails the test and names its package; where the kernel of
//! the machine lacks something (device-mapper, say), the test says so and ends.

mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use common::listing::{Listing, Row, by_sfdisk, by_sgdisk, rows};
use common::loops::{Loop, lock_loops};
use common::tools::{note, parted, run, said, said_with, text};
use common::{poke, resize};
use serde_json::Value;

const MIB: u64 = 1 << 20;

// ---------------------------------------------------------------------------------------------------------------
// Tables as the tools make them

/// What is typed into sfdisk.
const SFDISK_SCRIPTS: [(&str, &str); 9] = [
    ("primaries on the MiB", "label: dos\n,4M\n,4M,7\n,,c,*\n"),
    ("a start of 63", "label: dos\nstart=63, size=20000\nstart=20063, size=10000, type=82\n"),
    ("logicals", "label: dos\n,4M\n,4M\n,4M\n,,E\n,4M\n,4M\n,\n"),
    ("a container between primaries", "label: dos\n,4M\nstart=20480, size=40960, type=f\n\n,4M,82\n"),
    (
        "tight logicals",
        "label: dos\nstart=2048,type=5\nstart=2049,size=100\nstart=2150,size=77\nstart=2228,size=1\n",
    ),
    ("an empty MBR", "label: dos\n"),
    ("GPT on the MiB", "label: gpt\n,4M,U\n,4M,S\n,,L\n"),
    ("GPT from 34 on", "label: gpt\nfirst-lba: 34\nstart=34, size=1000\nstart=1035, size=2, name=\"odd\"\n"),
    ("a short GPT", "label: gpt\ntable-length: 8\nsize=4M, name=\"größe\", attrs=LegacyBIOSBootable\n,\n"),
];

#[test]
fn what_sfdisk_makes_on_files_is_what_every_tool_prints() {
    let folder = common::scratch();
    for (name, script) in SFDISK_SCRIPTS {
        let image = blank(folder.path(), 64 * MIB);
        run("sfdisk", &["-q", text(&image)], script);
        assert_all_agree(name, &image);
    }
}

#[test]
fn what_sgdisk_makes_on_files_is_what_every_tool_prints() {
    let folder = common::scratch();
    for (name, options) in [
        ("gaps", "-n 2:0:+4M -t 2:ef00 -c 2:boot -n 5:0:+3M -n 128:+1M:+2M -t 128:8200"),
        ("a BIOS boot at 34", "-a 1 -n 1:34:2047 -t 1:ef02 -n 2:2048:0"),
        ("a moved array", "-j 2048 -n 1:0:+4M -n 2:0:0"),
        ("256 entries", "-S 256 -n 1:0:+1M -n 200:0:+4M -n 256:0:+1M"),
        ("a hybrid", "-n 1:0:+1M -n 2:0:+2M -n 3:0:+4M -h 1:3"),
        ("a type that no list has", "-n 1:0:+1M -t 1:12345678-9abc-def0-1234-56789abcdef0"),
    ] {
        let image = blank(folder.path(), 64 * MIB);
        let options: Vec<&str> = options.split(' ').chain([text(&image)]).collect();
        run("sgdisk", &options, "");
        let disk = assert_all_agree(name, &image);
        assert_eq!(codes(&disk).contains("gpt-hybrid-mbr"), name == "a hybrid");
    }
}

#[test]
fn what_parted_makes_on_files_is_what_every_tool_prints() {
    let folder = common::scratch();
    for (name, commands) in PARTED_COMMANDS {
        let image = blank(folder.path(), 64 * MIB);
        parted(&image, commands);
        assert_all_agree(name, &image);
    }
}

const PARTED_COMMANDS: [(&str, &str); 3] = [
    (
        "logicals",
        "mklabel msdos mkpart primary ext4 1MiB 5MiB mkpart extended 5MiB 100% mkpart logical ntfs 6MiB 10MiB \
         mkpart logical 12MiB 20MiB mkpart logical linux-swap 30MiB 100%",
    ),
    ("an empty container", "mklabel msdos mkpart extended 1MiB 100%"),
    ("GPT", "mklabel gpt mkpart esp fat32 1MiB 10MiB mkpart root ext4 10MiB 100% set 1 esp on"),
];

#[test]
fn on_loop_devices_of_512_and_4096_bytes_too() {
    let folder = common::scratch();
    for sector_size in [512, 4096] {
        let image = blank(folder.path(), 64 * MIB);
        let device = Loop::attach(&image, sector_size, &[]);
        let unit = sector_size / 512;
        for (name, script) in [
            ("sfdisk MBR", "label: dos\n,4M\n,4M,7\n,4M,82\n,,E\n,4M\n,4M\n,\n".to_owned()),
            ("sfdisk MBR, odd", format!("label: dos\nstart={}, size={}\n", 63 / unit, 20001 / unit)),
            ("sfdisk GPT", "label: gpt\n,4M,U\n,4M,S\n,,L\n".to_owned()),
        ] {
            run("sfdisk", &["-q", "--no-reread", "--no-tell-kernel", "-w", "always", device.path()], &script);
            assert_all_agree(name, &device.node);
        }
        for (name, commands) in PARTED_COMMANDS {
            parted(&device.node, commands);
            let disk = assert_all_agree(name, &device.node);
            assert_eq!(stale(&disk), None, "{name}");
        }
        run("sgdisk", &["--zap-all", device.path()], "");
        run("sgdisk", &["-n", "3:0:+4M", "-n", "9:+1M:+5M", "-t", "9:ef00", device.path()], "");
        let disk = assert_all_agree("sgdisk", &device.node);
        assert_eq!(disk["table"]["sector_size"], sector_size);
        assert_eq!(disk["topology"]["reported"]["logical"], sector_size);
    }
}

/// 15 tables of each label, the same in every run.
#[test]
fn thirty_random_tables_are_what_sfdisk_prints() {
    let folder = common::scratch();
    let mut random = Random(0x5EED);
    for round in 0..15 {
        for (label, script) in [("mbr", random.mbr_script()), ("gpt", random.gpt_script())] {
            let image = blank(folder.path(), 512 * MIB);
            run("sfdisk", &["-q", text(&image)], &script);
            let (disk, _) = check(&image, &[]);
            let context = format!("round {round}\n{script}");
            assert_eq!(disk["table"]["label"], label, "{context}");
            assert_eq!(rows(&disk), by_sfdisk(&image).rows, "{context}");
            assert!(rows(&disk).len() >= 2, "{context}");

            assert_eq!(table_codes(&disk), BTreeSet::new(), "{context}{disk:#}");
        }
    }
}

/// Some versions of libfdisk put the EBR of a logical partition a MiB before it, whatever is there (util-linux
/// issue 3925). Others refuse, or find a better place: what matters is that we see what was done.
#[test]
fn an_ebr_that_sfdisk_puts_into_a_partition_is_found() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    let written = said_with("sfdisk", &["-q", text(&image)], TIGHT_LOGICALS);
    if written.exit != 0 {
        note(&format!("this sfdisk does not write such a table: {}", written.errors));
        return;
    }
    let (disk, _) = check(&image, &[]);
    assert_eq!(rows(&disk), by_sfdisk(&image).rows);
    let holders = holders_of_ebrs(&image, &rows(&disk));
    assert_eq!(partitions_of(&disk, "mbr-ebr-inside-partition"), holders, "{disk:#}");
    assert_eq!(table_codes(&disk).is_empty(), holders.is_empty(), "{disk:#}");
}

/// The third logical begins less than 2048 sectors behind the second.
const TIGHT_LOGICALS: &str = "\
label: dos
first-lba: 1
start=43814, size=65296, type=f
N5: start=49913, size=16114
N6: start=69397, size=18584
N7: start=89438, size=10449
";

/// The partitions in which an EBR of the first container's chain stands.
fn holders_of_ebrs(image: &Path, rows: &[Row]) -> BTreeSet<u64> {
    let is_container = |row: &&Row| row.type_ == "0x05" || row.type_ == "0x0f";
    let file = File::open(image).expect("the image is there");
    let container = rows.iter().find(is_container).expect("each random MBR has one").start;
    let mut holders = BTreeSet::new();
    let mut next = Some(container);
    while let Some(ebr) = next {
        let holder = rows.iter().find(|row| !is_container(row) && (row.start..=row.end).contains(&ebr));
        holders.extend(holder.map(|row| row.number));
        let mut sector = [0; 512];
        file.read_exact_at(&mut sector, ebr * 512).expect("the EBR is on the disk");
        assert_eq!(sector[510..], [0x55, 0xAA]);
        let link = &sector[446 + 16..446 + 32];
        let start = u32::from_le_bytes([link[8], link[9], link[10], link[11]]);
        next = (link[4] == 5).then_some(container + u64::from(start));
    }
    holders
}

#[test]
fn an_optical_image_for_sticks_has_the_partitions_that_sfdisk_prints() {
    let folder = common::scratch();
    let (tree, fat) = (folder.path().join("tree"), folder.path().join("efi.img"));
    fs::create_dir(&tree).expect("the scratch folder can be written");
    fs::write(tree.join("file"), "content").expect("the scratch folder can be written");
    File::create(&fat).and_then(|file| file.set_len(2 * MIB)).expect("the scratch folder can be written");
    run("mkfs.vfat", &[text(&fat)], "");
    for (name, options) in
        [("MBR", &["-partition_offset", "16"][..]), ("GPT", &["-appended_part_as_gpt"]), ("bare MBR", &[])]
    {
        let image = folder.path().join("image.iso");
        let mut all = vec!["-as", "mkisofs", "-quiet", "-V", "TEST", "-o", text(&image)];
        all.extend(options);
        all.extend(["-append_partition", "2", "0xef", text(&fat), text(&tree)]);
        run("xorriso", &all, "");
        let (disk, _) = check(&image, &[]);
        let listing = by_sfdisk(&image);
        assert_eq!(disk["table"]["label"], listing.label, "{name}");
        assert_eq!(bare(rows(&disk)), bare(listing.rows), "{name}");
        assert_eq!(disk["table"]["health"], "ok", "{name}: {disk:#}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Damage, as the tools name it

/// A table after something happened to it.
struct Damage {
    name: &'static str,
    /// What happens to an image of 64 MiB.
    act: fn(&Path),
    /// Our codes about the table: these and no others.
    codes: &'static [&'static str],
    health: &'static str,
    exit: i32,
    /// What `sgdisk -v` says.
    sgdisk: &'static [&'static str],
    /// What `parted print` says.
    parted: &'static str,
    /// What `sfdisk --json` says beside the table.
    sfdisk: &'static str,
    /// Whether sfdisk reads the right table all the same.
    sfdisk_reads: bool,
}

const LAST: u64 = 64 * MIB / 512 - 1;

const GPT_DAMAGES: &[Damage] = &[
    Damage {
        name: "nothing happened",
        act: |_| {},
        codes: &[],
        health: "ok",
        exit: 0,
        sgdisk: &["No problems found"],
        parted: "",
        sfdisk: "",
        sfdisk_reads: true,
    },
    Damage {
        name: "the primary header is zeroed",
        act: |image| zero(image, 1, 1),
        codes: &["gpt-primary-bad"],
        health: "repairable",
        exit: 3,
        sgdisk: &["Main header: ERROR", "Backup header: OK", "Backup partition table: OK"],
        parted: "unrecognised disk label",
        sfdisk: "The primary GPT table is corrupt, but the backup appears OK",
        sfdisk_reads: true,
    },
    Damage {
        name: "a byte of the primary header is another",
        act: |image| poke(image, 512 + 48, b"\xEE"),
        codes: &["gpt-primary-bad"],
        health: "repairable",
        exit: 3,
        sgdisk: &["Main header: ERROR", "Backup header: OK"],
        parted: "The primary GPT table is corrupt, but the backup appears OK",
        sfdisk: "The primary GPT table is corrupt, but the backup appears OK",
        sfdisk_reads: true,
    },
    Damage {
        name: "a byte of the primary array is another",
        act: |image| poke(image, 2 * 512 + 2 * 128 + 60, b"\xEE"),
        codes: &["gpt-primary-bad"],
        health: "repairable",
        exit: 3,
        sgdisk: &["Main header: OK", "Main partition table: ERROR", "Backup partition table: OK"],
        parted: "The primary GPT table is corrupt, but the backup appears OK",
        sfdisk: "The primary GPT table is corrupt, but the backup appears OK",
        sfdisk_reads: true,
    },
    Damage {
        name: "the backup header is zeroed",
        act: |image| zero(image, LAST, 1),
        codes: &["gpt-backup-bad"],
        health: "repairable",
        exit: 3,
        sgdisk: &["Main header: OK", "Backup header: ERROR"],
        parted: "The backup GPT table is corrupt, but the primary appears OK",
        sfdisk: "The backup GPT table is corrupt, but the primary appears OK",
        sfdisk_reads: true,
    },
    Damage {
        name: "a byte of the backup array is another",
        act: |image| poke(image, (LAST - 32) * 512 + 2 * 128 + 60, b"\xEE"),
        codes: &["gpt-backup-bad"],
        health: "repairable",
        exit: 3,
        sgdisk: &["Backup header: OK", "Backup partition table: ERROR", "Main partition table: OK"],
        parted: "",
        sfdisk: "The backup GPT table is corrupt, but the primary appears OK",
        sfdisk_reads: true,
    },
    Damage {
        name: "both arrays are damaged",
        act: |image| {
            poke(image, 2 * 512 + 2 * 128 + 60, b"\xEE");
            poke(image, (LAST - 32) * 512 + 2 * 128 + 60, b"\xEF");
        },
        codes: &["gpt-backup-bad", "gpt-primary-bad"],
        health: "damaged",
        exit: 3,
        sgdisk: &["Main partition table: ERROR", "Backup partition table: ERROR"],
        parted: "Both the primary and backup GPT tables are corrupt",
        sfdisk: "",
        sfdisk_reads: false,
    },
    Damage {
        name: "the image grew",
        act: |image| resize(image, 74 * MIB),
        codes: &["gpt-backup-misplaced", "gpt-protective-mbr-stale"],
        health: "stale",
        exit: 0,
        sgdisk: &[
            "secondary header's self-pointer indicates that it doesn't reside",
            "Identified 1 problems",
        ],
        parted: "Not all of the space available",
        sfdisk: "The backup GPT table is not on the end of the device",
        sfdisk_reads: true,
    },
    Damage {
        name: "the image was cut",
        act: |image| resize(image, 14 * MIB),
        codes: &["gpt-backup-bad", "gpt-protective-mbr-stale", "partition-beyond-disk"],
        health: "damaged",
        exit: 3,
        sgdisk: &["Backup header: ERROR", "Disk is too small", "partition 7 is too big for the disk"],
        parted: "end of file while reading",
        sfdisk: "GPT PMBR size mismatch (131071 != 28671)",
        sfdisk_reads: false,
    },
    Damage {
        name: "the protective MBR is zeroed",
        act: |image| zero(image, 0, 1),
        codes: &["gpt-protective-mbr-missing"],
        health: "repairable",
        exit: 3,
        sgdisk: &["Found valid GPT with corrupt MBR"],
        parted: "unrecognised disk label",
        sfdisk: "does not contain a recognized partition table",
        sfdisk_reads: false,
    },
];

#[test]
fn damage_to_a_gpt_is_named_as_the_tools_name_it() {
    let folder = common::scratch();
    for damage in GPT_DAMAGES {
        let name = damage.name;
        let image = blank(folder.path(), 64 * MIB);
        run("sgdisk", &["-n", "3:2048:+10M", "-c", "3:boot", "-n", "7:0:+5M", text(&image)], "");
        let (intact, _) = check(&image, &[]);
        (damage.act)(&image);

        let (disk, exit) = check(&image, &[]);
        assert_eq!(table_codes(&disk), damage.codes.iter().copied().collect(), "{name}: {disk:#}");
        assert_eq!(disk["table"]["health"], damage.health, "{name}");
        assert_eq!(exit, damage.exit, "{name}");
        let lost = name == "both arrays are damaged";
        assert_eq!(rows(&disk), if lost { Vec::new() } else { rows(&intact) }, "{name}");

        assert_says(name, &said("sgdisk", &["-v", text(&image)]), damage.sgdisk);
        assert_says(name, &said("parted", &["-sm", text(&image), "unit", "s", "print"]), &[damage.parted]);
        assert_says(name, &said("sfdisk", &["--json", text(&image)]), &[damage.sfdisk]);
        if damage.sfdisk_reads {
            assert_eq!(rows(&disk), by_sfdisk(&image).rows, "{name}");
        }
    }
}

#[test]
fn a_healthy_gpt_costs_no_tool_a_word() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    run("sgdisk", &["-n", "1:0:0", text(&image)], "");
    let (disk, exit) = check(&image, &[]);
    assert_eq!((table_codes(&disk), exit), (BTreeSet::new(), 0));
    assert!(!said("sgdisk", &["-v", text(&image)]).contains("ERROR"));
    // parted also asks dmidecode about the machine, which may be missing.
    let parted = run("parted", &["-sm", text(&image), "print"], "").errors;
    assert!(!parted.contains("Error") && !parted.contains("Warning"), "{parted}");
    assert_eq!(run("sfdisk", &["--json", text(&image)], "").errors, "");
}

#[test]
fn a_broken_chain_keeps_the_logicals_that_sfdisk_keeps() {
    let folder = common::scratch();
    for (name, act, parted) in [
        ("the second EBR is zeroed", (|image| zero(image, 18432, 1)) as fn(&Path), "wrong signature"),
        ("the image is cut before it", |image| resize(image, 9 * MIB), "outside the disk"),
    ] {
        let image = blank(folder.path(), 64 * MIB);
        run("sfdisk", &["-q", text(&image)], THREE_LOGICALS);
        act(&image);
        let (disk, exit) = check(&image, &[]);
        assert_eq!(rows(&disk), by_sfdisk(&image).rows, "{name}");
        assert!(table_codes(&disk).contains("mbr-ebr-bad"), "{name}: {disk:#}");
        assert_eq!((disk["table"]["health"].as_str(), exit), (Some("damaged"), 3), "{name}");
        assert_says(name, &said("parted", &["-sm", text(&image), "print"]), &[parted]);
    }
}

/// One primary; EBRs at 8192, 18432 and 28672.
const THREE_LOGICALS: &str = "\
label: dos
start=2048, size=2048
start=8192, type=5
start=10240, size=4096
start=20480, size=4096
start=30720, size=4096
";

#[test]
fn overlapping_partitions_are_named_as_the_tools_name_them() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    run("sfdisk", &["-q", text(&image)], "label: dos\nstart=2048, size=4096\nstart=8192, size=4096\n");
    poke(&image, 446 + 16 + 8, &6143_u32.to_le_bytes());
    let (disk, exit) = check(&image, &[]);
    assert_eq!((table_codes(&disk), exit), (BTreeSet::from(["partitions-overlap"]), 3));
    assert_says(
        "overlap",
        &said("sfdisk", &["--verify", text(&image)]),
        &["Partition 1: overlaps partition 2"],
    );
    assert_says(
        "overlap",
        &said("parted", &["-sm", text(&image), "print"]),
        &["Can't have overlapping partitions"],
    );

    poke(&image, 446 + 16 + 8, &6144_u32.to_le_bytes());
    let (disk, exit) = check(&image, &[]);
    assert_eq!((table_codes(&disk), exit), (BTreeSet::new(), 0));
    assert_says("apart", &said("sfdisk", &["--verify", text(&image)]), &["No errors detected"]);
}

#[test]
fn images_in_the_formats_of_qemu_are_refused_by_name() {
    let folder = common::scratch();
    let raw = blank(folder.path(), 8 * MIB);
    run("sgdisk", &["-n", "1:0:0", text(&raw)], "");
    for (format, name) in [
        ("qcow2", "a qcow2 image"),
        ("vmdk", "a VMDK image"),
        ("vdi", "a VDI image"),
        ("vhdx", "a VHDX image"),
        ("vpc", "a VHD image"),
    ] {
        let image = folder.path().join(format!("image.{format}"));
        run("qemu-img", &["convert", "-f", "raw", "-O", format, text(&raw), text(&image)], "");
        let output = common::alignck().arg("--json").arg(&image).output().expect("the command runs");
        let (document, exit) = common::json(&output);
        let message = document["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(name), "{format}: {document:#}");
        assert_eq!((document["disks"].as_array().map(Vec::len), exit), (Some(0), 2), "{format}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The kernel's view

#[test]
fn a_table_that_changed_under_the_kernel_is_stale_until_it_is_read_again() {
    let folder = common::scratch();
    for sector_size in [512, 4096] {
        let image = blank(folder.path(), 64 * MIB);
        let device = Loop::attach(&image, sector_size, &[]);
        write_quietly(&device, "label: gpt\n,4M\n,4M\n");
        device.show_to_kernel();
        let (disk, _) = check(&device.node, &[]);
        assert_eq!(stale(&disk), None);
        assert_eq!(nodes(&disk), [device.partition(1), device.partition(2)]);

        // Larger: only the size differs.
        run("sfdisk", &["-q", "--no-reread", "--no-tell-kernel", "-N", "2", device.path()], ",8M\n");
        let message = stale(&check(&device.node, &[]).0).expect("the kernel has the old size");
        let sectors = 8 * MIB / sector_size;
        assert!(message.contains(&format!("partition 2 has {sectors} sectors")), "{message}");
        assert!(!message.contains("partition 1"), "{message}");

        run("partx", &["--update", device.path()], "");
        assert_eq!(stale(&check(&device.node, &[]).0), None);

        // Elsewhere, one more, one less.
        let (second, third) = (20 * MIB / sector_size, 40 * MIB / sector_size);
        write_quietly(
            &device,
            &format!("label: gpt\nN2: start={second}, size=4M\nN3: start={third}, size=4M\n"),
        );
        let message = stale(&check(&device.node, &[]).0).expect("the kernel has the old table");
        assert!(message.contains(&format!("partition 2 begins at sector {second}")), "{message}");
        assert!(message.contains("partition 3 is not known to it"), "{message}");
        assert!(message.contains("it has a partition 1 that the table lacks"), "{message}");

        device.show_to_kernel();
        assert_eq!(stale(&check(&device.node, &[]).0), None);
    }
}

#[test]
fn the_kernels_view_of_an_mbr_with_a_container_is_not_stale() {
    let folder = common::scratch();
    for sector_size in [512, 4096] {
        let image = blank(folder.path(), 64 * MIB);
        let device = Loop::attach(&image, sector_size, &[]);
        write_quietly(&device, "label: dos\n,4M\n,,E\n,4M\n,4M\n");
        // On sectors of 4096 bytes partx asks for a container of 1024 bytes, which the kernel refuses.
        device.offer_to_kernel();
        let known: BTreeSet<u64> = device.kernel_partitions().into_keys().collect();
        assert!(known.is_superset(&BTreeSet::from([1, 5, 6])), "{known:?}");
        let (disk, _) = check(&device.node, &[]);
        assert_eq!(stale(&disk), None, "{sector_size}, the kernel has {known:?}");
        assert_eq!(rows(&disk).len(), 4);
    }
}

/// parted tells the kernel each partition by itself, with another size of the container than partx.
#[test]
fn what_parted_tells_the_kernel_is_not_stale() {
    let folder = common::scratch();
    for sector_size in [512, 4096] {
        let image = blank(folder.path(), 64 * MIB);
        let device = Loop::attach(&image, sector_size, &[]);
        parted(&device.node, PARTED_COMMANDS[0].1);
        let (disk, _) = check(&device.node, &[]);
        let known: BTreeSet<u64> = device.kernel_partitions().into_keys().collect();
        assert_eq!(known, BTreeSet::from([1, 2, 5, 6, 7]));
        assert_eq!(stale(&disk), None, "{sector_size}");
        assert_eq!(nodes(&disk), known.iter().map(|number| device.partition(*number)).collect::<Vec<_>>());

        run("sfdisk", &["-q", "--no-reread", "--no-tell-kernel", "--delete", device.path(), "6"], "");
        let message = stale(&check(&device.node, &[]).0).expect("the kernel has a logical that is gone");
        assert!(message.contains("partition 6") && message.contains("partition 7"), "{message}");
    }
}

/// Where the kernel was asked to read the table, it has it or it is stale; where it was not, nothing is expected.
#[test]
fn a_device_that_the_kernel_does_not_scan_is_not_stale() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    run("sfdisk", &["-q", text(&image)], "label: gpt\n,4M\n,4M\n");

    let device = Loop::attach(&image, 512, &[]);
    if device.kernel_partitions().is_empty() {
        assert_eq!(stale(&check(&device.node, &[]).0), None);
    } else {
        note("this kernel scans all loop devices (loop.max_part)");
    }
    drop(device);

    let device = Loop::attach(&image, 512, &["--partscan"]);
    let scanned = !device.kernel_partitions().is_empty();
    assert_eq!(stale(&check(&device.node, &[]).0).is_none(), scanned);
    device.show_to_kernel();
    assert_eq!(stale(&check(&device.node, &[]).0), None);
}

#[test]
fn the_node_of_a_partition_leads_to_its_disk() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    let device = Loop::attach(&image, 512, &[]);
    write_quietly(&device, "label: gpt\n,4M\n,4M\n");
    device.show_to_kernel();
    let (first, second) = (device.partition(1), device.partition(2));

    let (disk, _) = check(Path::new(&first), &[]);
    assert_eq!(disk["path"], device.path());
    assert_eq!(disk["given"], first);
    assert_eq!(rows(&disk).len(), 2);
    assert_eq!(check(&device.node, &[]).0["given"], Value::Null);

    let output = common::alignck().args(["--json", &first, &second, device.path()]).output();
    let (document, _) = common::json(&output.expect("the command runs"));
    assert_eq!(document["disks"].as_array().map(Vec::len), Some(1), "{document:#}");
}

#[test]
fn all_lists_the_loop_devices_that_are_bound_and_no_others() {
    let folder = common::scratch();
    let (good, bad) = (blank(folder.path(), 64 * MIB), folder.path().join("bad.img"));
    run("sgdisk", &["-n", "1:0:0", text(&good)], "");
    fs::copy(&good, &bad).expect("the scratch folder can be written");
    run("sfdisk", &["-q", "-w", "always", text(&bad)], "label: dos\nstart=63\n");
    let (good, bad) = (Loop::attach(&good, 512, &[]), Loop::attach(&bad, 512, &[]));

    // No other test binds or releases one meanwhile, and one that is unbound exists.
    let loops = lock_loops();
    run("losetup", &["-f"], "");
    let output = common::alignck().args(["--all", "--json"]).output().expect("the command runs");
    let bound = run("losetup", &["-n", "-l", "-O", "NAME"], "").output;
    drop(loops);

    let (document, exit) = common::json(&output);
    let listed: Vec<&Value> = document["disks"].as_array().expect("an array").iter().collect();
    let paths = || listed.iter().map(|disk| disk["path"].as_str().expect("a text"));
    let errors = document["errors"].as_array().expect("an array");
    let failed = || errors.iter().map(|error| error["path"].as_str().expect("a text"));
    for device in [&good, &bad] {
        assert_eq!(paths().filter(|path| *path == device.path()).count(), 1, "{document:#}");
    }
    for path in paths().chain(failed()).filter(|path| path.starts_with("/dev/loop")) {
        assert!(bound.lines().any(|line| line.trim() == path), "{path} is not bound");
    }
    let in_memory = |path: &str| path.starts_with("/dev/zram") || path.starts_with("/dev/ram");
    assert!(!paths().chain(failed()).any(in_memory), "{document:#}");
    // A disk that may not be opened (the machine's own, perhaps) counts for more than one that is misaligned.
    let any = |key: &str, words: &[&str]| {
        let value =
            |disk: &Value| if key == "status" { disk[key].clone() } else { disk["table"][key].clone() };
        listed.iter().any(|disk| words.iter().any(|word| value(disk) == *word))
    };
    let expected = match () {
        () if !errors.is_empty() => 2,
        () if any("health", &["repairable", "damaged"]) => 3,
        () if any("status", &["misaligned"]) => 1,
        () => 0,
    };
    assert_eq!(exit, expected, "{document:#}");
    assert!(exit != 0, "{} is misaligned", bad.path());
}

// ---------------------------------------------------------------------------------------------------------------
// A medium that fails

#[test]
fn a_medium_that_cannot_be_read_at_all_does_not_stop_the_others() {
    let folder = common::scratch();
    let (bad, good) = (blank(folder.path(), 64 * MIB), folder.path().join("good.img"));
    run("sgdisk", &["-n", "1:0:0", text(&bad)], "");
    fs::copy(&bad, &good).expect("the scratch folder can be written");
    let Some(device) = Loop::failing_from(&bad, 0) else { return };
    let output = common::alignck().args(["--json", device.path(), text(&good)]).output();
    let (document, exit) = common::json(&output.expect("the command runs"));
    assert_eq!(exit, 2);
    assert_eq!(document["errors"][0]["path"], device.path(), "{document:#}");
    let message = document["errors"][0]["message"].as_str().expect("a text");
    assert!(message.contains("Input/output error"), "{message}");
    assert_eq!(document["disks"][0]["path"], text(&good), "{document:#}");
    assert_eq!(document["disks"][0]["table"]["health"], "ok");
}

#[test]
fn an_unreadable_ebr_keeps_what_lies_before_it() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    run("sfdisk", &["-q", text(&image)], THREE_LOGICALS);
    let Some(device) = Loop::failing_from(&image, 18432 * 512) else { return };
    let (disk, exit) = check(&device.node, &[]);
    assert_eq!(table_codes(&disk), BTreeSet::from(["mbr-ebr-bad"]), "{disk:#}");
    let message = message_of(&disk, "mbr-ebr-bad").expect("it was just found");
    assert!(message.contains("LBA 18432") && message.contains("cannot be read"), "{message}");
    assert_eq!(rows(&disk).iter().map(|row| row.number).collect::<Vec<_>>(), [1, 2, 5]);
    assert_eq!((disk["table"]["health"].as_str(), exit), (Some("damaged"), 3));
}

#[test]
fn an_unreadable_end_costs_the_backup_only() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    run("sgdisk", &["-n", "1:0:+4M", "-n", "2:0:+4M", text(&image)], "");
    let (intact, _) = check(&image, &[]);
    let Some(device) = Loop::failing_from(&image, 64 * MIB - 4096) else { return };
    let (disk, exit) = check(&device.node, &[]);
    assert_eq!(table_codes(&disk), BTreeSet::from(["gpt-backup-bad"]), "{disk:#}");
    let message = message_of(&disk, "gpt-backup-bad").expect("it was just found");
    assert!(message.contains("cannot be read"), "{message}");
    assert_eq!(rows(&disk), rows(&intact));
    assert_eq!((disk["table"]["health"].as_str(), exit), (Some("repairable"), 3));
}

// ---------------------------------------------------------------------------------------------------------------
// Device-mapper

#[test]
fn a_mapped_volume_is_checked_as_a_disk() {
    let Some(folder) = scratch_with_device_mapper() else { return };
    let image = blank(folder.path(), 64 * MIB);
    let device = Loop::attach(&image, 512, &[]);
    let volume = Mapped::create("linear", &format!("0 {} linear {} 0\n", LAST + 1, device.path()));
    run("sgdisk", &["-n", "1:0:+4M", "-n", "2:0:+4M", volume.path()], "");
    let disk = assert_all_agree("linear", &volume.node);
    assert_eq!(disk["source"], "block");
    assert_eq!(stale(&disk), None, "partitions of a volume are mapped, not scanned");
}

#[test]
fn a_partition_that_kpartx_mapped_leads_to_its_disk() {
    let Some(folder) = scratch_with_device_mapper() else { return };
    let image = blank(folder.path(), 64 * MIB);
    let device = Loop::attach(&image, 512, &[]);
    write_quietly(&device, "label: gpt\n,4M\n,4M\n");
    let _unmap = Unmap(device.path().to_owned());
    run("kpartx", &["-a", "-s", device.path()], "");
    let mapped = PathBuf::from("/dev/mapper").join(format!("{}p2", device.name()));
    let (disk, _) = check(&mapped, &[]);
    assert_eq!(disk["path"], device.path());
    assert_eq!(disk["given"], text(&mapped));
    assert_eq!(rows(&disk).len(), 2);
}

#[test]
fn bad_sectors_in_the_middle_cost_what_is_in_them() {
    let Some(folder) = scratch_with_device_mapper() else { return };
    if !has_target("error") {
        note("this kernel has no device-mapper target 'error'");
        return;
    }
    let sectors = LAST + 1;
    let (mbr, gpt) = (folder.path().join("mbr.img"), folder.path().join("gpt.img"));
    for (image, tool, arguments, script) in [
        (&mbr, "sfdisk", vec!["-q"], THREE_LOGICALS),
        (&gpt, "sgdisk", vec!["-n", "1:0:+4M", "-n", "2:0:+4M"], ""),
    ] {
        File::create(image)
            .and_then(|file| file.set_len(64 * MIB))
            .expect("the scratch folder can be written");
        run(tool, &[arguments, vec![text(image)]].concat(), script);
    }
    let (mbr, gpt) = (Loop::attach(&mbr, 512, &[]), Loop::attach(&gpt, 512, &[]));
    let without = |device: &Loop, first: u64, count: u64| {
        let (path, after) = (device.path(), first + count);
        let before = if first > 0 { format!("0 {first} linear {path} 0\n") } else { String::new() };
        let behind = if after < sectors {
            format!("{after} {} linear {path} {after}\n", sectors - after)
        } else {
            String::new()
        };
        format!("{before}{first} {count} error\n{behind}")
    };

    // Whole blocks of 4096 bytes: the kernel reads no less at once.
    for (name, table, code, exit) in [
        ("sector 0", without(&gpt, 0, 8), None, 2),
        ("the primary array", without(&gpt, 8, 8), Some("gpt-primary-bad"), 3),
        ("the last sector", without(&gpt, LAST, 1), Some("gpt-backup-bad"), 3),
        ("the second EBR", without(&mbr, 18432, 8), Some("mbr-ebr-bad"), 3),
        ("data", without(&gpt, 10000, 8), None, 0),
    ] {
        let volume = Mapped::create("bad", &table);
        let output = common::alignck().args(["--json", volume.path()]).output().expect("the command runs");
        let (document, code_of_exit) = common::json(&output);
        assert_eq!(code_of_exit, exit, "{name}: {document:#}");
        assert_eq!(document["errors"].as_array().map(Vec::len), Some(usize::from(exit == 2)), "{name}");
        if let Some(code) = code {
            assert_eq!(table_codes(&document["disks"][0]), BTreeSet::from([code]), "{name}: {document:#}");
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Alignment and content

/// parted's optimal grid is a MiB here: as ours with an optimal I/O size of 1 MiB.
#[test]
fn parted_and_we_call_the_same_starts_aligned() {
    let folder = common::scratch();
    let mut random = Random(0xA119);
    for sector_size in [512, 4096] {
        let image = blank(folder.path(), 512 * MIB);
        let device = Loop::attach(&image, sector_size, &[]);
        let grain = MIB / sector_size;
        let starts: Vec<u64> = (1..=12)
            .map(|slot| slot * 40 * grain + if random.below(2) == 0 { 0 } else { random.below(grain) })
            .collect();
        let lines = starts.iter().map(|start| format!("start={start}, size={grain}\n"));
        write_quietly(&device, &format!("label: gpt\n{}", lines.collect::<String>()));
        let physical = sector_size.to_string();
        let (disk, _) = check(&device.node, &["--physical-sector", &physical, "-t", "opt-io=1M"]);
        let verdicts: Vec<&str> = words(&disk, "verdict");
        let by_parted = |grid: &str, number: u64| {
            let number = number.to_string();
            said_with("parted", &["-s", device.path(), "align-check", grid, &number], "").exit == 0
        };
        for (number, (start, verdict)) in (1..).zip(starts.iter().zip(&verdicts)) {
            let context = format!("start {start}, sectors of {sector_size}");
            assert_eq!(by_parted("min", number), *verdict != "misaligned", "{context}: {verdict}");
            assert_eq!(by_parted("opt", number), *verdict == "aligned", "{context}: {verdict}");
        }
        assert!(verdicts.contains(&"aligned") && verdicts.contains(&"suboptimal"), "{verdicts:?}");
    }
}

/// From 279 GiB on sgdisk doubts a claim of 512 as we do, and then cautions by 8 sectors, about ends too.
#[test]
fn sgdisk_cautions_about_the_starts_and_ends_that_we_name() {
    let folder = common::scratch();
    let mut random = Random(0xCA07);
    let image = blank(folder.path(), 400 << 30);
    let lines: String = (1..=16_u64)
        .map(|slot| {
            let nudge = |random: &mut Random| if random.below(2) == 0 { 0 } else { 1 + random.below(7) };
            let start = slot * 100_000 + nudge(&mut random);
            let end = slot * 100_000 + 80_000 - 1 + nudge(&mut random);
            format!("start={start}, size={}\n", end - start + 1)
        })
        .collect();
    run("sfdisk", &["-q", text(&image)], &format!("label: gpt\n{lines}start=2000001, size=7\n"));
    let (disk, exit) = check(&image, &[]);
    let cautions = said("sgdisk", &["-v", text(&image)]).replace('\n', " ");
    let mut seen = BTreeSet::new();
    for partition in disk["partitions"].as_array().expect("an array") {
        let number = partition["number"].as_u64().expect("a number");
        let named = |code: &str| partitions_of(&disk, code).contains(&number);
        let cautioned = |word: &str| {
            cautions.contains(&format!("Caution: Partition {number} doesn't {word} on a 8-sector boundary."))
        };
        assert_eq!(cautioned("begin"), named("start-off-physical"), "{partition:#}\n{cautions}");
        assert_eq!(cautioned("begin"), partition["verdict"] == "misaligned", "{partition:#}");
        assert_eq!(cautioned("end"), named("end-off-physical"), "{partition:#}\n{cautions}");
        seen.insert((cautioned("begin"), cautioned("end")));
    }
    assert_eq!(seen.len(), 4, "each combination occurs: {seen:?}");
    assert_eq!(exit, 1);
}

#[test]
fn what_mkfs_puts_on_a_whole_device_is_named() {
    let folder = common::scratch();
    for sector_size in [512, 4096] {
        for (tool, options, content) in [
            ("mkfs.ext4", &["-q", "-F"][..], "ext4"),
            ("mkfs.ext2", &["-q", "-F"], "ext2"),
            ("mkfs.xfs", &["-q", "-f"], "XFS"),
            ("mkfs.vfat", &["-I"], "FAT"),
            ("mkfs.ntfs", &["-q", "-F", "-f"], "NTFS"),
            ("mkswap", &["-q"], "swap"),
        ] {
            let image = blank(folder.path(), 320 * MIB);
            let device = Loop::attach(&image, sector_size, &[]);
            run(tool, &[options, &[device.path()]].concat(), "");
            let (disk, exit) = check(&device.node, &[]);
            assert_eq!(disk["content"], content, "{tool}, {sector_size}");
            assert_eq!(disk["status"], "unpartitioned", "{tool}, {sector_size}: {disk:#}");
            assert_eq!(disk["table"]["label"], "none", "{tool}, {sector_size}");
            assert_eq!(exit, 0, "{tool}, {sector_size}");
        }
    }
}

/// mkfs.ext4 also clears the end; these two overwrite the primary copy and leave the backup.
#[test]
fn what_is_left_of_a_gpt_under_a_file_system_is_named_as_long_as_wipefs_lists_it() {
    let folder = common::scratch();
    for (tool, options, content) in [
        ("mkfs.ext4", &["-q", "-F"][..], "ext4"),
        ("mkswap", &["-q", "-f"], "swap"),
        ("mkfs.vfat", &["-I"], "FAT"),
    ] {
        let image = blank(folder.path(), 64 * MIB);
        run("sgdisk", &["-n", "1:0:0", text(&image)], "");
        run(tool, &[options, &[text(&image)]].concat(), "");
        assert_eq!(wipefs_lists_gpt(&image), tool != "mkfs.ext4");
        assert_remains(&image, content);

        run("wipefs", &["--all", "--force", "--types", "gpt,PMBR", text(&image)], "");
        assert!(!wipefs_lists_gpt(&image));
        assert_remains(&image, content);
    }
}

fn wipefs_lists_gpt(image: &Path) -> bool {
    let listed = run("wipefs", &["--noheadings", "--parsable", text(image)], "").output;
    listed.lines().any(|line| line.ends_with(",gpt"))
}

fn assert_remains(image: &Path, content: &str) {
    let (disk, exit) = check(image, &[]);
    assert_eq!((disk["status"].as_str(), disk["content"].as_str()), (Some("unpartitioned"), Some(content)));
    assert_eq!(codes(&disk).contains("gpt-remains"), wipefs_lists_gpt(image), "{content}: {disk:#}");
    assert_eq!(exit, 0, "{content}");
}

#[test]
fn a_physical_volume_of_lvm_is_named() {
    let folder = common::scratch();
    let image = blank(folder.path(), 64 * MIB);
    let device = Loop::attach(&image, 512, &[]);
    // Without device-mapper in the kernel it works too, with complaints.
    let quiet = "devices { use_devicesfile=0 } activation { udev_sync=0 udev_rules=0 }";
    run("pvcreate", &["--config", quiet, "-ff", "-y", device.path()], "");
    let (disk, _) = check(&device.node, &[]);
    assert_eq!(disk["content"], "LVM physical volume");
    assert_eq!(disk["status"], "unpartitioned");
}

// ---------------------------------------------------------------------------------------------------------------
// How much is read

#[test]
fn a_check_reads_little() {
    let folder = common::scratch();
    let logicals = format!("label: dos\n,4M\n,,E\n{}\n,\n", ",2M\n".repeat(9));
    for (name, script, most) in [
        ("a GPT", "label: gpt\n,4M\n,4M\n,\n", 6),
        ("an MBR", "label: dos\n,4M\n,\n", 1),
        ("an MBR with ten logicals", &logicals, 1 + 10),
    ] {
        let image = blank(folder.path(), 64 * MIB);
        run("sfdisk", &["-q", text(&image)], script);
        let reads = reads_of(folder.path(), &image);
        assert!((1..=most).contains(&reads), "{name}: {reads} reads, not up to {most}");
    }
}

/// How often the command reads from the image.
fn reads_of(folder: &Path, image: &Path) -> usize {
    let trace = folder.join("trace");
    let calls = "trace=read,pread64,readv,preadv,preadv2";
    let command = common::alignck();
    let program = command.get_program().to_str().expect("a path in UTF-8");
    let traced =
        said_with("strace", &["-f", "-y", "-e", calls, "-o", text(&trace), program, text(image)], "");
    assert_eq!(traced.exit, 0, "{}", traced.errors);
    let trace = fs::read_to_string(trace).expect("strace wrote it");
    trace.lines().filter(|line| line.contains(&format!("<{}>", image.display()))).count()
}

// ---------------------------------------------------------------------------------------------------------------
// What the tools print

/// Checks the disk and compares it with what every tool that knows its label prints. It must be healthy.
fn assert_all_agree(context: &str, path: &Path) -> Value {
    let (disk, _) = check(path, &[]);
    assert_eq!(disk["table"]["health"], "ok", "{context}: {disk:#}");

    let listing = by_sfdisk(path);
    assert_eq!(disk["table"]["label"], listing.label, "{context}");
    assert_eq!(disk["table"]["sector_size"], listing.sector_size, "{context}");
    assert_eq!(disk["table"]["id"], listing.id, "{context}");
    assert_eq!(rows(&disk), listing.rows, "{context}: sfdisk");

    let listing = by_parted(path, &disk);
    assert_eq!(disk["table"]["label"], listing.label, "{context}: parted");
    assert_eq!(disk["table"]["sector_size"], listing.sector_size, "{context}: parted");
    assert_eq!(bare(rows(&disk)), listing.rows, "{context}: parted");

    if disk["table"]["label"] == "gpt" {
        assert_eq!(rows(&disk), by_sgdisk(path), "{context}: sgdisk");
        assert_says(context, &said("sgdisk", &["-v", text(path)]), &["No problems found"]);
    }
    disk
}

/// Without what only some tools print.
fn bare(rows: Vec<Row>) -> Vec<Row> {
    let empty = String::new;
    rows.into_iter().map(|row| Row { type_: empty(), id: empty(), name: empty(), ..row }).collect()
}

/// What parted prints; of a device also compares the sector sizes that the kernel reports.
fn by_parted(path: &Path, disk: &Value) -> Listing {
    let printed = run("parted", &["-sm", text(path), "unit", "s", "print"], "").output;
    let mut lines = printed.lines().map(|line| line.trim_end_matches(';').split(':').collect::<Vec<_>>());
    let head = lines.nth(1).unwrap_or_else(|| panic!("{printed}"));
    // path:size:transport:logical:physical:label:model:flags
    let number =
        |word: &str| word.trim_end_matches('s').parse::<u64>().unwrap_or_else(|_| panic!("{printed}"));
    let (logical, physical) = (number(head[3]), number(head[4]));
    assert_eq!(disk["size_bytes"], number(head[1]) * logical, "{printed}");
    if disk["source"] == "block" {
        assert_eq!(disk["topology"]["reported"]["logical"], logical, "{printed}");
        assert_eq!(disk["topology"]["reported"]["physical"], physical, "{printed}");
    }
    let mut rows: Vec<Row> = lines
        .map(|fields| Row {
            number: number(fields[0]),
            start: number(fields[1]),
            end: number(fields[2]),
            type_: String::new(),
            id: String::new(),
            name: String::new(),
        })
        .collect();
    rows.sort_by_key(|row| row.number);
    let label = match head[5] {
        "msdos" => "mbr",
        "gpt" => "gpt",
        other => panic!("parted sees a table of the kind {other}"),
    };
    Listing { label: label.to_owned(), sector_size: logical, id: String::new(), rows }
}

fn assert_says(context: &str, said: &str, expected: &[&str]) {
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in expected {
        assert!(flat.contains(part), "{context}: {part:?} is not in\n{said}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What we print

/// The only disk of the document, and the exit code.
fn check(path: &Path, options: &[&str]) -> (Value, i32) {
    let output = common::alignck().args(["check", "--json"]).args(options).arg(path).output();
    let (document, exit) = common::json(&output.expect("the command runs"));
    assert_eq!(document["errors"], Value::Array(Vec::new()), "{}", path.display());
    (document["disks"][0].clone(), exit)
}

fn codes(disk: &Value) -> BTreeSet<&str> {
    disk["findings"]
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|finding| finding["code"].as_str())
        .collect()
}

/// The codes that are about the table, not about alignment or topology.
fn table_codes(disk: &Value) -> BTreeSet<&str> {
    let about_table =
        |code: &&str| ["gpt-", "mbr-", "partition", "table-"].iter().any(|part| code.starts_with(part));
    codes(disk).into_iter().filter(about_table).collect()
}

fn message_of(disk: &Value, code: &str) -> Option<String> {
    let findings = disk["findings"].as_array().expect("an array");
    let finding = findings.iter().find(|finding| finding["code"] == code)?;
    finding["message"].as_str().map(ToOwned::to_owned)
}

/// The partitions with this finding.
fn partitions_of(disk: &Value, code: &str) -> BTreeSet<u64> {
    let findings = disk["findings"].as_array().expect("an array").iter();
    findings
        .filter(|finding| finding["code"] == code)
        .filter_map(|finding| finding["partition"].as_u64())
        .collect()
}

/// What the finding about the kernel's view says, if there is one.
fn stale(disk: &Value) -> Option<String> {
    message_of(disk, "kernel-table-stale")
}

fn words<'d>(disk: &'d Value, key: &str) -> Vec<&'d str> {
    disk["partitions"]
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|partition| partition[key].as_str())
        .collect()
}

/// The nodes that the document names.
fn nodes(disk: &Value) -> Vec<String> {
    words(disk, "node").into_iter().map(ToOwned::to_owned).collect()
}

// ---------------------------------------------------------------------------------------------------------------
// Running the tools

/// Writes a table without a word to the kernel.
fn write_quietly(device: &Loop, script: &str) {
    let options = ["-q", "--no-reread", "--no-tell-kernel", "--wipe", "always", device.path()];
    run("sfdisk", &options, script);
}

// ---------------------------------------------------------------------------------------------------------------
// Images

/// A new sparse image of `size` bytes in place of the last.
fn blank(folder: &Path, size: u64) -> PathBuf {
    let path = folder.join("disk.img");
    let _ = fs::remove_file(&path);
    File::create_new(&path)
        .and_then(|file| file.set_len(size))
        .expect("the scratch folder takes sparse files");
    path
}

fn zero(image: &Path, sector: u64, count: usize) {
    poke(image, sector * 512, &vec![0; 512 * count]);
}

// ---------------------------------------------------------------------------------------------------------------
// Device-mapper volumes

/// A folder, where the kernel has device-mapper.
fn scratch_with_device_mapper() -> Option<tempfile::TempDir> {
    said("modprobe", &["dm-mod"]);
    let devices = fs::read_to_string("/proc/misc").unwrap_or_default();
    if !devices.lines().any(|line| line.ends_with(" device-mapper")) {
        note("this kernel has no device-mapper");
        return None;
    }
    Some(common::scratch())
}

fn has_target(name: &str) -> bool {
    run("dmsetup", &["targets"], "").output.lines().any(|line| line.split_whitespace().next() == Some(name))
}

/// A volume that is removed at the end.
struct Mapped {
    name: String,
    node: PathBuf,
}

impl Mapped {
    fn create(name: &str, table: &str) -> Self {
        let name = format!("alignck-{}-{name}", std::process::id());
        let volume = Self { node: Path::new("/dev/mapper").join(&name), name };
        run("dmsetup", &["create", &volume.name], table);
        volume.settle();
        volume
    }

    /// Makes or removes the node, where no udev does.
    fn settle(&self) {
        said("dmsetup", &["mknodes", &self.name]);
    }

    fn path(&self) -> &str {
        text(&self.node)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        said("dmsetup", &["remove", "--retry", &self.name]);
        self.settle();
    }
}

/// Removes the mappings of a disk's partitions at the end.
struct Unmap(String);

impl Drop for Unmap {
    fn drop(&mut self) {
        said("kpartx", &["-d", &self.0]);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Chance

/// SplitMix64: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'p>(&mut self, choices: &[&'p str]) -> &'p str {
        choices[usize::try_from(self.below(choices.len() as u64)).expect("below a length")]
    }

    /// Up to three primaries and a container with logicals, anywhere in the order of the entries.
    fn mbr_script(&mut self) -> String {
        // libfdisk refuses most logicals that leave less.
        const EBR_ROOM: u64 = 2048;
        const TYPES: [&str; 9] = ["83", "7", "c", "82", "8e", "fd", "41", "de", "1"];
        let mut script = String::from("label: dos\n");
        let mut next = 1 + self.below(4096);
        let container = 1 + self.below(4);
        let mut logicals = Vec::new();
        for number in 1..=4 {
            let start = next + self.below(60_000);
            if number == container {
                let mut last = start;
                for _ in 0..self.below(12) {
                    let (first, size) = (last + EBR_ROOM + self.below(7000), 1 + self.below(20_000));
                    logicals.push(format!("start={first}, size={size}, type={}\n", self.pick(&TYPES)));
                    last = first + size;
                }
                next = last + 1 + self.below(1000);
                script += &format!(
                    "N{number}: start={start}, size={}, type={}\n",
                    next - start,
                    self.pick(&["5", "f"])
                );
            } else {
                let size = 1 + self.below(100_000);
                script += &format!("N{number}: start={start}, size={size}, type={}\n", self.pick(&TYPES));
                next = start + size;
            }
        }
        for (number, logical) in (5..).zip(logicals) {
            script += &format!("N{number}: {logical}");
        }
        script
    }

    /// Up to 20 entries in any slots and any order.
    fn gpt_script(&mut self) -> String {
        const TYPES: [&str; 5] = [
            "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
            "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
            "21686148-6449-6E6F-744E-656564454649",
            "E3C9E316-0B5C-4DB8-817D-F92DF00215AE",
            "01234567-89AB-CDEF-0123-456789ABCDEF",
        ];
        let mut script = String::from("label: gpt\nfirst-lba: 34\n");
        let mut next = 34;
        let mut used = BTreeSet::new();
        for _ in 0..2 + self.below(19) {
            let number = 1 + self.below(128);
            if !used.insert(number) {
                continue;
            }
            let start = next + self.below(20_000) * self.below(2);
            let size = 1 + self.below(30_000);
            let (type_, name) = (self.pick(&TYPES), self.pick(&["root", "größe 😀", "a b", ""]));
            script += &format!("N{number}: start={start}, size={size}, type={type_}, name=\"{name}\"\n");
            next = start + size;
        }
        script
    }
}
