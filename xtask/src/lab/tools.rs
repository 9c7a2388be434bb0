//! What the lab takes from the machine that it runs on.

use std::env;
use std::path::{Path, PathBuf};

/// A program and the Debian package that it is in.
pub(super) struct Tool {
    pub(super) name: &'static str,
    package: &'static str,
}

const fn tool(name: &'static str, package: &'static str) -> Tool {
    Tool { name, package }
}

/// What runs on this machine.
const HOST: [Tool; 7] = [
    tool("qemu-system-x86_64", "qemu-system-x86"),
    tool("nbdkit", "nbdkit"),
    tool("modprobe", "kmod"),
    tool("ldd", "libc-bin"),
    tool("sfdisk", "fdisk"),
    tool("mke2fs", "e2fsprogs"),
    tool("busybox", "busybox-static"),
];

/// What is copied into the virtual machine, with the libraries that it needs.
pub(super) const GUEST: [Tool; 20] = [
    tool("sfdisk", "fdisk"),
    tool("parted", "parted"),
    tool("lsblk", "util-linux"),
    tool("blkid", "util-linux"),
    tool("blockdev", "util-linux"),
    tool("mkswap", "util-linux"),
    tool("setpriv", "util-linux"),
    tool("losetup", "mount"),
    tool("swapon", "mount"),
    tool("mke2fs", "e2fsprogs"),
    tool("e2fsck", "e2fsprogs"),
    tool("mkfs.vfat", "dosfstools"),
    tool("fsck.vfat", "dosfstools"),
    tool("mkfs.xfs", "xfsprogs"),
    tool("dmsetup", "dmsetup"),
    tool("lvm", "lvm2"),
    tool("mdadm", "mdadm"),
    tool("modprobe", "kmod"),
    tool("cmp", "diffutils"),
    // The shell of busybox prefers its own programs to those in the search path.
    tool("dash", "dash"),
];

/// The package of the kernel, which is no program.
pub(super) const KERNEL_PACKAGE: &str = "linux-image-amd64";

/// Says which packages are missing, and how they are installed.
pub(super) fn require() -> Result<(), String> {
    let mut missing: Vec<&str> =
        HOST.iter().chain(&GUEST).filter(|tool| find(tool.name).is_none()).map(|tool| tool.package).collect();
    if super::kernel::find().is_err() {
        missing.push(KERNEL_PACKAGE);
    }
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the lab needs packages that are missing; as root: apt-get install --no-install-recommends {}",
        missing.join(" ")
    ))
}

/// The program of that name: in the search path, or where administrators' programs are.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(more).map(|folder| folder.join(name)).find(|file| is_file(file))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
