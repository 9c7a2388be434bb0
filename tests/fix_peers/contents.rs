//! What a partition can hold, as the tools make it that own it, and what they say of it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::bench::{Bench, Mounted, len_of, noise, read_at};
use crate::common::poke;
use crate::common::tools::{note, run, said_with, text};

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// A kind of content.
pub struct Content {
    pub name: &'static str,
    pub mebibytes: u64,
    /// The type of its partition, by the letters and numbers of sfdisk, in an MBR and in a GPT.
    pub types: (&'static str, &'static str),
    /// Makes it on a node. The place is what has to be written into it.
    pub make: fn(&Bench, &str, u64),
    /// How files come into it and out again.
    pub files: Files,
    /// Its own checker is content; what identifies it.
    pub check: fn(&Bench, &str) -> String,
    pub fields: Fields,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Mounted by the kernel, with options under which it writes nothing.
    Kernel(&'static str),
    /// Mounted by a FUSE program.
    Fuse(&'static str),
    /// Copied by mtools.
    Mtools,
    /// It is no file system.
    None,
}

/// The fields that hold the place of the partition, in sectors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    None,
    Fat16,
    Fat32,
    Ntfs,
    ExFat,
}

impl Fields {
    /// Where the fields are in a partition of this length, and how wide.
    fn places(self, len: u64) -> Vec<(u64, usize)> {
        match self {
            Self::None => Vec::new(),
            Self::Fat16 => vec![(0x1C, 4)],
            Self::Fat32 => vec![(0x1C, 4), (6 * SECTOR + 0x1C, 4)],
            Self::Ntfs => vec![(0x1C, 4), (len / SECTOR * SECTOR - SECTOR + 0x1C, 4)],
            Self::ExFat => vec![(0x40, 8), (12 * SECTOR + 0x40, 8)],
        }
    }

    /// All that differs at another place: the fields, and the checksums over them.
    fn differs(self, len: u64) -> Vec<Range<u64>> {
        let fields = self.places(len).into_iter().map(|(at, width)| at..at + width as u64);
        let checksums = if self == Self::ExFat { vec![11, 23] } else { Vec::new() };
        fields.chain(checksums.into_iter().map(|at| at * SECTOR..(at + 1) * SECTOR)).collect()
    }

    /// The fields say `hidden`, and nothing else is different.
    pub fn assert_moved(
        self,
        (before, from): (&Path, u64),
        (after, to): (&Path, u64),
        len: u64,
        hidden: u64,
        context: &str,
    ) {
        for (at, width) in self.places(len) {
            let found = read_at(after, to + at, width);
            assert_eq!(found, hidden.to_le_bytes()[..width], "{context}: the field at {at}");
        }
        let mut at = 0;
        while at < len {
            let piece = usize::try_from(MIB.min(len - at)).expect("a MiB");
            let (mut old, mut new) = (read_at(before, from + at, piece), read_at(after, to + at, piece));
            if old != new {
                for range in self.differs(len) {
                    let inside = |byte: u64| usize::try_from(byte.clamp(at, at + piece as u64) - at);
                    let range = inside(range.start).expect("a MiB")..inside(range.end).expect("a MiB");
                    old[range.clone()].fill(0);
                    new[range].fill(0);
                }
                let first = old.iter().zip(&new).position(|(old, new)| old != new);
                assert_eq!(first, None, "{context}: a byte behind {at}");
            }
            at += piece as u64;
        }
    }
}

pub const CONTENTS: &[Content] = &[
    Content {
        name: "ext4",
        mebibytes: 40,
        types: ("83", "L"),
        make: |_, node, _| drop(run("mkfs.ext4", &["-q", "-L", "files", node], "")),
        files: Files::Kernel("ro,noload"),
        check: |_, node| {
            run("e2fsck", &["-fn", node], "");
            by_blkid(node)
        },
        fields: Fields::None,
    },
    Content {
        name: "XFS",
        mebibytes: 308,
        types: ("83", "L"),
        make: |_, node, _| drop(run("mkfs.xfs", &["-q", "-L", "files", node], "")),
        files: Files::Kernel("ro,norecovery,nouuid"),
        check: |_, node| {
            run("xfs_repair", &["-n", node], "");
            by_blkid(node)
        },
        fields: Fields::None,
    },
    Content {
        name: "btrfs",
        mebibytes: 130,
        types: ("83", "L"),
        make: |_, node, _| drop(run("mkfs.btrfs", &["-q", "-L", "files", node], "")),
        files: Files::Kernel("ro"),
        check: |_, node| {
            run("btrfs", &["check", "--check-data-csum", node], "");
            by_blkid(node)
        },
        fields: Fields::None,
    },
    Content {
        name: "NTFS",
        mebibytes: 40,
        types: ("7", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"),
        make: |_, node, place| {
            let place = place.to_string();
            run("mkfs.ntfs", &["-q", "-F", "-f", "-p", &place, "-H", "255", "-S", "63", node], "");
        },
        files: Files::Fuse("ntfs-3g"),
        check: |_, node| {
            let found = run("ntfsfix", &["-n", node], "").output;
            assert!(found.contains("alternate boot sector... OK"), "{found}");
            run("ntfs-3g.probe", &["--readonly", node], "");
            by_blkid(node)
        },
        fields: Fields::Ntfs,
    },
    Content {
        name: "FAT32",
        mebibytes: 48,
        types: ("c", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"),
        make: |_, node, place| drop(run("mkfs.vfat", &["-F", "32", "-h", &place.to_string(), node], "")),
        files: Files::Mtools,
        check: fat,
        fields: Fields::Fat32,
    },
    Content {
        name: "FAT16",
        mebibytes: 32,
        types: ("e", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"),
        make: |_, node, place| drop(run("mkfs.vfat", &["-F", "16", "-h", &place.to_string(), node], "")),
        files: Files::Mtools,
        check: fat,
        fields: Fields::Fat16,
    },
    Content {
        name: "exFAT",
        mebibytes: 40,
        types: ("7", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"),
        // It takes no place on the command line, and asks the kernel for that of its node.
        make: |_, node, _| drop(run("mkfs.exfat", &[node], "")),
        files: Files::Fuse("mount.exfat-fuse"),
        check: |_, node| {
            let found = run("fsck.exfat", &["-n", node], "").output;
            assert!(found.contains(": clean."), "{found}");
            by_blkid(node)
        },
        fields: Fields::ExFat,
    },
    Content {
        name: "swap",
        mebibytes: 16,
        types: ("82", "S"),
        make: |_, node, _| {
            run("mkswap", &["-q", "-L", "room", node], "");
            poke(Path::new(node), 4 * MIB, &noise(9, 8 << 20));
        },
        files: Files::None,
        check: |_, node| run("swaplabel", &[node], "").output + &by_blkid(node),
        fields: Fields::None,
    },
    Content {
        name: "LUKS2",
        mebibytes: 32,
        types: ("83", "CA7D7CCB-63ED-4C53-861C-1742536059CC"),
        make: |_, node, _| {
            let quick = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--key-file", "-"];
            let arguments = [&["luksFormat", "-q", "--type", "luks2"][..], &quick, &[node]].concat();
            run("cryptsetup", &arguments, "secret");
            poke(Path::new(node), 17 * MIB, &noise(5, 8 << 20));
        },
        files: Files::None,
        check: luks,
        fields: Fields::None,
    },
    Content {
        name: "LVM",
        mebibytes: 32,
        types: ("8e", "V"),
        make: |bench, node, _| {
            let config = lvm_only(node);
            run("pvcreate", &["--config", &config, "-q", "-y", node], "");
            run("vgcreate", &["--config", &config, "-q", &bench.group(), node], "");
            poke(Path::new(node), 2 * MIB, &noise(6, 8 << 20));
        },
        files: Files::None,
        check: lvm,
        fields: Fields::None,
    },
    Content {
        name: "md 1.2",
        mebibytes: 24,
        types: ("fd", "R"),
        make: |_, node, _| md(node, "1.2"),
        files: Files::None,
        check: |_, node| by_mdadm(node, "1.2"),
        fields: Fields::None,
    },
    Content {
        name: "md 1.0",
        mebibytes: 24,
        types: ("fd", "R"),
        make: |_, node, _| md(node, "1.0"),
        files: Files::None,
        check: |_, node| by_mdadm(node, "1.0"),
        fields: Fields::None,
    },
    Content {
        name: "md 0.90",
        mebibytes: 24,
        types: ("fd", "R"),
        make: |_, node, _| md(node, "0.90"),
        files: Files::None,
        check: |_, node| by_mdadm(node, "0.90"),
        fields: Fields::None,
    },
];

pub fn named(name: &str) -> &'static Content {
    CONTENTS.iter().find(|content| content.name == name).expect("it is in the list")
}

/// What blkid finds at the front of a node or at its end.
fn by_blkid(node: &str) -> String {
    let found = run("blkid", &["-p", "-o", "export", node], "").output;
    found.lines().filter(|line| !line.starts_with("DEVNAME=")).map(|line| format!("{line}\n")).collect()
}

fn fat(_: &Bench, node: &str) -> String {
    run("fsck.vfat", &["-n", node], "");
    by_blkid(node)
}

/// The header, and that a passphrase still opens a key of it: for that no device mapper is needed.
fn luks(bench: &Bench, node: &str) -> String {
    run("cryptsetup", &["isLuks", node], "");
    let open = ["open", "--readonly", "--type", "luks2", "--key-file", "-", node];
    run("cryptsetup", &[&open[..], &["--test-passphrase"]].concat(), "secret");
    let mut found = run("cryptsetup", &["luksDump", node], "").output;
    if said_with("dmsetup", &["version"], "").exit == 0 {
        let name = bench.group();
        run("cryptsetup", &[&open[..], &[&name]].concat(), "secret");
        let plain = fs::read(format!("/dev/mapper/{name}"));
        run("cryptsetup", &["close", &name], "");
        found.push_str(&crc32fast::hash(&plain.expect("it was opened")).to_string());
    } else {
        note("this kernel has no device mapper: the volume is not opened, only its passphrase tried");
    }
    found
}

/// LVM that looks at this node only, and leaves nothing on the machine.
fn lvm_only(node: &str) -> String {
    format!(
        "devices{{filter=[\"a|^{node}$|\",\"r|.*|\"] use_devicesfile=0 hints=\"none\"}} backup{{backup=0 archive=0}}"
    )
}

fn lvm(bench: &Bench, node: &str) -> String {
    note("no logical volume is made: that needs a device mapper; the rest of the volume holds noise");
    let config = lvm_only(node);
    let columns = "pv_uuid,pv_size,vg_name,vg_uuid,pv_missing";
    let listed = run("pvs", &["--config", &config, "--noheadings", "-o", columns, node], "").output;
    assert!(listed.contains(&bench.group()), "{listed}");
    run("pvck", &["--config", &config, node], "");
    run("vgck", &["--config", &config, &bench.group()], "");
    listed + &run("pvck", &["--config", &config, "--dump", "headers", node], "").output.replace(node, "")
}

/// The superblock of a member of a mirror of two, as `include/uapi/linux/raid/md_p.h` has it: mdadm makes one only
/// where the kernel has md.
fn md(node: &str, version: &str) {
    poke(Path::new(node), 0, &noise(3, 20 << 20));
    let len = len_of(Path::new(node));
    let (place, superblock) = if version == "0.90" {
        (len / 65536 * 65536 - 65536, superblock_0(len))
    } else {
        let place = if version == "1.2" { 4096 } else { (len - 8192) / 4096 * 4096 };
        (place, superblock_1(len, place))
    };
    poke(Path::new(node), place, &superblock);
}

fn superblock_1(len: u64, place: u64) -> Vec<u8> {
    let mut bytes = vec![0; 256 + 2 * 128];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let data = if place == 4096 { 2048 } else { 0 };
    let sectors = (if place == 4096 { len / SECTOR } else { place / SECTOR }) - data;
    put(0, &0xA92B_4EFC_u32.to_le_bytes());
    put(4, &1_u32.to_le_bytes());
    put(16, b"0123456789abcdef");
    put(32, b"machine:array");
    put(64, &1_700_000_000_u64.to_le_bytes());
    put(72, &1_u32.to_le_bytes());
    put(80, &sectors.to_le_bytes());
    put(92, &2_u32.to_le_bytes());
    put(128, &data.to_le_bytes());
    put(136, &sectors.to_le_bytes());
    put(144, &(place / SECTOR).to_le_bytes());
    put(168, b"fedcba9876543210");
    put(192, &1_700_000_000_u64.to_le_bytes());
    put(200, &17_u64.to_le_bytes());
    put(208, &u64::MAX.to_le_bytes());
    put(220, &128_u32.to_le_bytes());
    for role in 0..128_u16 {
        put(256 + 2 * usize::from(role), &(if role < 2 { role } else { 0xFFFF }).to_le_bytes());
    }
    let sum = folded_sum(&bytes);
    bytes[216..220].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn superblock_0(len: u64) -> Vec<u8> {
    let mut words = [0_u32; 1024];
    words[0] = 0xA92B_4EFC;
    (words[1], words[2]) = (0, 90);
    (words[5], words[13], words[14], words[15]) = (0x0123_4567, 0x89AB_CDEF, 0x0246_8ACE, 0x1357_9BDF);
    (words[6], words[7]) = (1_700_000_000, 1);
    words[8] = u32::try_from((len / 65536 * 65536 - 65536) / 1024).expect("it is small");
    (words[9], words[10]) = (2, 2);
    // Its state: when it was written, that it is clean, how many work, and how often it was written.
    (words[32], words[33], words[34], words[35]) = (1_700_000_000, 1, 2, 2);
    words[39] = 17;
    // The two disks, and this one again.
    for (at, number) in [(128, 0), (160, 1), (992, 0)] {
        (words[at], words[at + 3], words[at + 4]) = (number, number, 6);
    }
    let bytes = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    words[38] = folded_sum(&bytes(&words));
    bytes(&words)
}

fn folded_sum(bytes: &[u8]) -> u32 {
    let words =
        bytes.chunks(4).map(|word| u64::from(u32::from_le_bytes(word.try_into().expect("four bytes"))));
    let sum: u64 = words.sum();
    u32::try_from((sum & 0xFFFF_FFFF) + (sum >> 32)).expect("the sum of some words")
}

fn by_mdadm(node: &str, version: &str) -> String {
    note("this superblock is not mdadm's: --create needs a kernel with md; mdadm reads it");
    let examined = run("mdadm", &["--examine", node], "").output;
    assert!(examined.contains(&format!("Version : {version}")), "{examined}");
    assert!(examined.contains("- correct"), "{examined}");
    let mut lines = examined.lines();
    assert_eq!(lines.next(), Some(&*format!("{node}:")), "{examined}");
    // It says of 0.90 which of the members this node is, by the numbers of the device.
    lines.map(|line| format!("{line}\n")).collect::<String>() + &by_blkid(node)
}

// ---------------------------------------------------------------------------------------------------------------
// Files

/// The path of every file, its length and checksum.
pub type Tree = BTreeMap<PathBuf, (usize, u32)>;

/// Some MiB in few files, many small ones, and a deep tree.
pub fn grow(folder: &Path) -> Tree {
    let write = |path: &Path, bytes: &[u8]| {
        fs::create_dir_all(path.parent().expect("it is inside")).expect("the scratch folder can be written");
        fs::write(path, bytes).expect("the scratch folder can be written");
    };
    for nth in 0..3_usize {
        write(&folder.join(format!("large-{nth}.bin")), &noise(nth as u64, (2 << 20) + 777 * nth));
    }
    for nth in 0..150_usize {
        write(&folder.join(format!("many/{nth:03}.bin")), &noise(nth as u64 + 100, nth * 37));
    }
    let mut deep = folder.join("deep");
    for level in 0..12 {
        deep = deep.join(format!("a folder of level {level}"));
        write(&deep.join("file.txt"), &noise(level + 300, 5000));
    }
    tree(folder)
}

pub fn tree(folder: &Path) -> Tree {
    let (mut tree, mut folders) = (Tree::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.ends_with("lost+found") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let inside = path.strip_prefix(folder).expect("it is inside").to_owned();
            tree.insert(inside, (bytes.len(), crc32fast::hash(&bytes)));
        }
    }
    tree
}

impl Files {
    /// Copies the files of a folder into the file system on a node.
    pub fn fill(self, bench: &Bench, node: &str, folder: &Path) {
        let place = bench.path("mounted");
        let names: Vec<PathBuf> = crate::common::files_in(folder);
        let names: Vec<&str> = names.iter().map(|path| text(path)).collect();
        let copy = |place: &Path| drop(run("cp", &[&["-r"], &names[..], &[text(place)]].concat(), ""));
        match self {
            Self::None => {}
            Self::Mtools => drop(run("mcopy", &[&["-s", "-i", node], &names[..], &["::/"]].concat(), "")),
            Self::Kernel(_) => {
                if let Some(_mounted) = Mounted::by_kernel(&place, node, "rw") {
                    copy(&place);
                }
            }
            Self::Fuse(program) => {
                if let Some(_mounted) = Mounted::by_fuse(&place, program, node, "rw") {
                    copy(&place);
                }
            }
        }
    }

    /// What is in the file system on a node; `None` where this machine cannot look, which is said.
    pub fn tree(self, bench: &Bench, node: &str) -> Option<Tree> {
        let place = bench.path("mounted");
        match self {
            Self::None => None,
            Self::Mtools => {
                let folder = bench.path("copied");
                let _ = fs::remove_dir_all(&folder);
                fs::create_dir_all(&folder).expect("the scratch folder can be written");
                run("mcopy", &["-s", "-n", "-i", node, "::/", text(&folder)], "");
                Some(tree(&folder))
            }
            Self::Kernel(options) => Mounted::by_kernel(&place, node, options).map(|_mounted| tree(&place)),
            Self::Fuse(program) => Mounted::by_fuse(&place, program, node, "ro").map(|_mounted| tree(&place)),
        }
    }
}
