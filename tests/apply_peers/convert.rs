//! Tables that were converted, in the eyes of the other tools and of the kernel where the sectors have the other size.

use super::*;

fn other(sector_size: u64) -> u64 {
    if sector_size == 512 { 4096 } else { 512 }
}

/// A table by another tool, on a device of either sector size.
struct Made {
    name: &'static str,
    make: fn(&Path),
}

const GPTS: &[Made] = &[
    Made {
        name: "a GPT of sfdisk with holes, odd numbers, names and attributes",
        make: |disk| {
            sfdisk_quietly(
                disk,
                "label: gpt\nN2: size=4M, type=U, name=\"größe\", attrs=\"RequiredPartition GUID:60,63\"\n\
                 N7: size=1M, type=S, attrs=LegacyBIOSBootable\nN128: size=2M\nN5: type=L\n",
            );
        },
    },
    Made {
        name: "a GPT of sgdisk with attributes",
        make: |disk| {
            sgdisk(
                disk,
                "-n 2:1M:+4M -t 2:ef00 -c 2:boot -A 2:set:2 -n 5:+2M:+3M -A 5:set:60 -n 128:+1M:+2M",
            );
        },
    },
    Made {
        name: "a GPT with 256 entries",
        make: |disk| sgdisk(disk, "-S 256 -n 1:1M:+1M -n 200:0:+4M -n 255:0:+1M"),
    },
    Made {
        name: "a GPT with its array elsewhere",
        make: |disk| sgdisk(disk, "-j 64 -n 1:2M:+4M -n 2:0:+4M"),
    },
    Made {
        name: "a short GPT",
        make: |disk| sfdisk_quietly(disk, "label: gpt\ntable-length: 8\nsize=4M\nsize=4M\n"),
    },
    Made { name: "an empty GPT", make: |disk| sfdisk_quietly(disk, "label: gpt\n") },
    Made {
        name: "a GPT of parted",
        make: |disk| {
            parted(disk, "mklabel gpt mkpart esp fat32 1MiB 10MiB mkpart root ext4 20MiB 30MiB set 1 esp on");
        },
    },
];

const MBRS: &[Made] = &[
    Made {
        name: "primaries of sfdisk",
        make: |disk| sfdisk_quietly(disk, "label: dos\n,4M,7,*\n,8M,82\n,,83\n"),
    },
    Made {
        name: "primaries of parted",
        make: |disk| parted(disk, "mklabel msdos mkpart primary 1MiB 5MiB mkpart primary 8MiB 20MiB"),
    },
    Made {
        name: "a chain of sfdisk",
        make: |disk| sfdisk_quietly(disk, "label: dos\n,2M\n,2M\n,2M\n,,E\n,4M\n,4M,7\n,8M,82\n"),
    },
    Made { name: "an empty container", make: |disk| sfdisk_quietly(disk, "label: dos\n,4M\n,,f\n") },
    Made {
        name: "a chain whose first logical partition was deleted",
        make: |disk| {
            sfdisk_quietly(disk, "label: dos\n,4M\n,,E\n,4M\n,4M\n,4M\n");
            run("sfdisk", &["-q", "--no-reread", "--no-tell-kernel", "--delete", text(disk), "5"], "");
        },
    },
];

/// A partition as the tools print it, in sectors of another size.
fn scaled(listing: &Listing, from: u64, to: u64) -> Listing {
    let scale = |sector: u64| sector * from / to;
    let rows = listing.rows.iter().map(|row| Row {
        start: scale(row.start),
        end: scale(row.end + 1) - 1,
        ..row.clone()
    });
    Listing { sector_size: to, rows: rows.collect(), ..listing.clone() }
}

/// What a dump says of the partitions beside their places: types, identifiers, names, attributes.
fn beside_places(disk: &Path) -> BTreeMap<u64, Vec<String>> {
    let is_place = |word: &&str| word.starts_with("start=") || word.starts_with("size=");
    let words = |values: String| {
        values.split(", ").filter(|word| !is_place(word)).map(|word| word.trim().to_owned()).collect()
    };
    Dump::of(disk).partitions.into_iter().map(|(number, values)| (number, words(values))).collect()
}

/// What is written at the end of a partition.
fn mark(row: &Row) -> u8 {
    row.number.to_le_bytes()[0] | 0x80
}

/// The kernel, when it is told the table, has the same bytes in each partition. It refuses containers on such sectors.
fn assert_known_bytes(device: &Loop, listing: &Listing, from: u64, context: &str) {
    said("partx", &["--add", device.path()]);
    let known = device.kernel_partitions();
    for row in listing.rows.iter().filter(|row| !["0x05", "0x0f", "0x85"].contains(&&*row.type_)) {
        let (start, sectors) = (row.start * from / 512, (row.end + 1 - row.start) * from / 512);
        assert_eq!(known.get(&row.number), Some(&(start, sectors)), "{context}: partition {}", row.number);
    }
}

/// Makes the table on a device of one sector size and looks at it on one of the other, once it was converted there:
/// without a word more where the table itself tells its size, else as an image of which that is said.
fn assert_converted(bench: &Bench, made: &Made, from: u64, size: u64, tells: bool) {
    let context = format!("{}, from {from}", made.name);
    let to = other(from);
    let image = bench.blank("disk.img", size);
    let (before, listing, words) = {
        let device = Loop::attach(&image, from, &[]);
        (made.make)(&device.node);
        let rows = by_sfdisk(&device.node);
        for row in rows.rows.iter().filter(|row| row.end > row.start) {
            poke(&device.node, (row.end + 1) * from - 4096, &[mark(row); 4096]);
        }
        run("sync", &[], "");
        (checksum(&device.node), rows, beside_places(&device.node))
    };
    let to_word = to.to_string();
    let topology = format!("logical={from}");
    if !tells {
        let arguments = ["convert", text(&image), "--to", &to_word, "--yes", "-t", &topology];
        bench.alignck(&arguments, "").assert_exit(0, &context);
    }
    {
        let device = Loop::attach(&image, to, &["--partscan"]);
        if tells {
            bench
                .alignck(&["convert", device.path(), "--to", &to_word, "--yes"], "")
                .assert_exit(0, &context);
            device.assert_known_to_kernel(&context);
        }
        assert_peers_agree(&context, &device.node, &scaled(&listing, from, to));
        assert_eq!(beside_places(&device.node), words, "{context}");
        assert_known_bytes(&device, &listing, from, &context);
        for row in listing.rows.iter().filter(|row| row.end > row.start) {
            let end = read_at(&device.node, (row.end + 1) * from - 4096, 4096);
            assert!(end == [mark(row); 4096], "{context}: partition {}", row.number);
        }
        if tells {
            bench.alignck(&["undo", device.path(), "--yes"], "").assert_exit(0, &context);
        }
    }
    if !tells {
        bench.alignck(&["undo", text(&image), "--yes"], "").assert_exit(0, &context);
    }
    assert_eq!(checksum(&image), before, "{context}: undone");
}

#[test]
fn a_gpt_of_any_tool_is_right_on_sectors_of_the_other_size() {
    let bench = Bench::new();
    for made in GPTS {
        for from in [512, 4096] {
            assert_converted(&bench, made, from, 64 * MIB, true);
        }
    }
}

#[test]
fn an_mbr_of_any_tool_is_right_on_sectors_of_the_other_size() {
    let bench = Bench::new();
    for made in MBRS {
        for from in [512, 4096] {
            assert_converted(&bench, made, from, 64 * MIB, false);
        }
    }
}

/// What a device of 512 bytes holds behind the last whole sector of 4096.
#[test]
fn a_disk_that_ends_inside_a_larger_sector_is_converted() {
    let bench = Bench::new();
    let image = bench.blank("disk.img", 64 * MIB + 1536);
    sfdisk_quietly(&image, "label: gpt\n,4M\n,8M\n");
    let (before, listing) = (checksum(&image), by_sfdisk(&image));
    bench.alignck(&["convert", text(&image), "--to", "4096", "--yes"], "").assert_exit(0, "an odd size");
    {
        // A device has whole sectors.
        let device = Loop::attach(&image, 4096, &["--sizelimit", "67108864"]);
        assert_peers_agree("an odd size", &device.node, &scaled(&listing, 512, 4096));
    }
    bench.alignck(&["convert", text(&image), "--to", "512", "--yes"], "").assert_exit(0, "and back");
    assert_peers_agree("and back", &image, &listing);
    assert_eq!(checksum(&image), before, "and back");
}

#[test]
fn a_device_keeps_its_own_size_unless_it_is_forced() {
    let bench = Bench::new();
    for (from, script) in
        [(512, "label: gpt\n,4M\n,8M\n"), (4096, "label: gpt\n,4M\n,8M\n"), (512, "label: dos\n,4M\n,8M\n")]
    {
        let to = other(from).to_string();
        let image = bench.blank("disk.img", 64 * MIB);
        let device = Loop::attach(&image, from, &["--partscan"]);
        sfdisk_quietly(&device.node, script);
        device.show_to_kernel();
        let (before, known) = (checksum(&device.node), device.kernel_partitions());
        let backups = bench.backups();

        let refused = bench.alignck(&["convert", device.path(), "--to", &to, "--yes"], "");
        refused.assert_exit(2, script);
        let own = format!("this device has sectors of {from} bytes, and its table is right for it");
        refused.assert_one_line(&[&own, "--force", "nothing was written"]);
        assert_eq!((checksum(&device.node), bench.backups()), (before, backups), "{script}");

        let forced = bench.alignck(&["convert", device.path(), "--to", &to, "--yes", "--force"], "");
        forced.assert_exit(0, script);
        assert!(!forced.output.contains("something else wrote"), "{script}: {}", forced.output);
        assert_ne!(checksum(&device.node), before, "{script}");
        assert_eq!(device.kernel_partitions(), known, "{script}: the kernel is told nothing");

        bench.alignck(&["undo", device.path(), "--yes"], "").assert_exit(0, script);
        assert_eq!(checksum(&device.node), before, "{script}: undone");
        assert_eq!(device.kernel_partitions(), known, "{script}: undone");
    }
}

/// What a file system does on the other sectors.
enum Elsewhere {
    /// It is named, and cannot be mounted.
    Lost,
    /// It is named, and Linux mounts it.
    Linux,
    /// It is fine.
    Fine,
}
use Elsewhere::{Fine, Linux, Lost};

type MakeContent = (&'static str, &'static str, &'static [&'static str], [Elsewhere; 2]);

/// Type for mount, name, how it is made, and what it does when made on 512 and used on 4096, and the other way round.
const CONTENTS: &[MakeContent] = &[
    ("vfat", "FAT", &["mkfs.vfat"], [Lost, Linux]),
    ("exfat", "exFAT", &["mkfs.exfat"], [Lost, Linux]),
    ("ntfs3", "NTFS", &["mkfs.ntfs", "-q", "-f"], [Lost, Linux]),
    ("xfs", "XFS", &["mkfs.xfs", "-q", "-f"], [Lost, Fine]),
    ("ext4", "ext4", &["mkfs.ext4", "-q", "-b", "4096"], [Fine, Fine]),
];

#[test]
fn what_file_systems_do_on_other_sectors_is_what_is_said_of_them() {
    let bench = Bench::new();
    for (kind, name, make, elsewhere) in CONTENTS {
        for (from, elsewhere) in [512, 4096].into_iter().zip(elsewhere) {
            assert_content(&bench, (kind, name), make, from, elsewhere);
        }
    }
    assert_content(&bench, ("ext4", "ext4"), &["mkfs.ext4", "-q", "-b", "1024"], 512, &Lost);
}

fn assert_content(
    bench: &Bench,
    (kind, name): (&str, &str),
    make: &[&str],
    from: u64,
    elsewhere: &Elsewhere,
) {
    let context = format!("{make:?} on {from}");
    let image = bench.blank("disk.img", 400 * MIB);
    {
        let device = Loop::attach(&image, from, &["--partscan"]);
        sfdisk_quietly(&device.node, "label: gpt\nsize=350M\n");
        device.show_to_kernel();
        let partition = device.partition(1);
        let arguments: Vec<&str> = make[1..].iter().copied().chain([&*partition]).collect();
        run(make[0], &arguments, "");
        run("sync", &[], "");
    }
    let to = other(from).to_string();
    let said = bench.run(&["convert", text(&image), "--to", &to, "--yes", "--json"]);
    let document: Value = serde_json::from_str(&said).expect("one document");
    let warnings = document["warnings"].as_array().expect("an array");
    let warned = warnings.iter().any(|text| {
        let text = text.as_str().unwrap_or_default();
        text.starts_with(&format!("partition 1 holds {name}")) && text.contains("copy what it holds")
    });
    assert_eq!(warned, !matches!(elsewhere, Fine), "{context}: {warnings:?}");

    let device = Loop::attach(&image, other(from), &["--partscan"]);
    device.show_to_kernel();
    let place = bench.path("mounted");
    let _ = fs::create_dir(&place);
    let mounted = said_with("mount", &["-t", kind, "-o", "ro", &device.partition(1), text(&place)], "");
    if mounted.exit == 0 {
        run("umount", &[text(&place)], "");
    } else if !fs::read_to_string("/proc/filesystems").unwrap_or_default().contains(kind) {
        return note(&format!("the kernel has no {kind}"));
    }
    assert_eq!(mounted.exit == 0, !matches!(elsewhere, Lost), "{context}: {}", mounted.errors);
}
