//! The other tools of a machine. A missing one fails the test and names its package.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The Debian package of each tool.
const PACKAGES: &[(&str, &str)] = &[
    ("blkid", "util-linux"),
    ("blockdev", "util-linux"),
    ("btrfs", "btrfs-progs"),
    ("cp", "coreutils"),
    ("cryptsetup", "cryptsetup-bin"),
    ("dmsetup", "dmsetup"),
    ("e2fsck", "e2fsprogs"),
    ("flock", "util-linux"),
    ("fsck.exfat", "exfatprogs"),
    ("fsck.ext4", "e2fsprogs"),
    ("fsck.vfat", "dosfstools"),
    ("kpartx", "kpartx"),
    ("losetup", "mount"),
    ("mcopy", "mtools"),
    ("mdadm", "mdadm"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.exfat", "exfatprogs"),
    ("mkfs.ext2", "e2fsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.ntfs", "ntfs-3g"),
    ("mkfs.vfat", "dosfstools"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkswap", "util-linux"),
    ("modprobe", "kmod"),
    ("mount", "mount"),
    ("mount.exfat-fuse", "exfat-fuse"),
    ("ntfs-3g", "ntfs-3g"),
    ("ntfs-3g.probe", "ntfs-3g"),
    ("ntfscp", "ntfs-3g"),
    ("ntfsfix", "ntfs-3g"),
    ("ntfsresize", "ntfs-3g"),
    ("parted", "parted"),
    ("partx", "util-linux"),
    ("perl", "perl-base"),
    ("pvck", "lvm2"),
    ("pvcreate", "lvm2"),
    ("pvs", "lvm2"),
    ("qemu-img", "qemu-utils"),
    ("resize2fs", "e2fsprogs"),
    ("script", "bsdutils"),
    ("sfdisk", "fdisk"),
    ("sgdisk", "gdisk"),
    ("strace", "strace"),
    ("swaplabel", "util-linux"),
    ("swapoff", "mount"),
    ("swapon", "mount"),
    ("sync", "coreutils"),
    ("umount", "mount"),
    ("vgck", "lvm2"),
    ("vgcreate", "lvm2"),
    ("wipefs", "util-linux"),
    ("xfs_repair", "xfsprogs"),
    ("xorriso", "xorriso"),
];

/// What a program printed.
pub struct Printed {
    pub output: String,
    pub errors: String,
    pub exit: i32,
}

impl Printed {
    pub fn of(command: Command, input: &str) -> Self {
        let mut child = start(command);
        let mut stdin = child.stdin.take().expect("stdin was asked to be a pipe");
        // What reads no input closes the pipe, which is no failure.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("it can be waited for");
        Self {
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
            exit: output.status.code().unwrap_or(-1),
        }
    }

    pub fn assert_exit(&self, exit: i32, context: &str) {
        assert_eq!(self.exit, exit, "{context}\n{}{}", self.output, self.errors);
    }

    /// All that is said about the trouble is one line, with all of these words.
    pub fn assert_one_line(&self, words: &[&str]) {
        assert_eq!(self.errors.lines().count(), 1, "{}", self.errors);
        for word in words {
            assert!(self.errors.contains(word), "{word:?} is not in {}", self.errors);
        }
    }
}

/// Starts a program with pipes.
pub fn start(mut command: Command) -> Child {
    let spawned = command
        .env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let tool = command.get_program().display();
    match spawned {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let package = PACKAGES.iter().find(|(name, _)| *name == command.get_program());
            let (_, package) = package.expect("every tool is in the list");
            panic!("{tool} is missing: apt-get install {package} (see the feature peer-tests)")
        }
        spawned => spawned.unwrap_or_else(|error| panic!("{tool}: {error}")),
    }
}

/// Runs a tool that must succeed.
pub fn run(tool: &str, arguments: &[&str], input: &str) -> Printed {
    let printed = said_with(tool, arguments, input);
    assert_eq!(printed.exit, 0, "{tool} {arguments:?}\n{input}{}{}", printed.output, printed.errors);
    printed
}

/// Everything a tool says, whether it succeeds or not.
pub fn said(tool: &str, arguments: &[&str]) -> String {
    let printed = said_with(tool, arguments, "");
    printed.output + &printed.errors
}

pub fn said_with(tool: &str, arguments: &[&str], input: &str) -> Printed {
    assert!(PACKAGES.iter().any(|(name, _)| *name == tool), "{tool} is not in the list of packages");
    let mut command = Command::new(tool);
    // sfdisk takes names that are not ASCII only in a locale that has them.
    command.args(arguments).env("LC_ALL", "C.UTF-8");
    Printed::of(command, input)
}

pub fn parted(disk: &Path, commands: &str) {
    let arguments: Vec<&str> = ["-s", text(disk)].into_iter().chain(commands.split_whitespace()).collect();
    run("parted", &arguments, "");
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("the scratch folder has a name in UTF-8")
}

/// Says why a test ends early; cargo shows it with `--show-output`.
#[allow(clippy::print_stdout, reason = "it is for whoever runs the tests")]
pub fn note(why: &str) {
    println!("{why}");
}
