use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::stat::{major, minor};

use super::sysfs::SysDisk;

/// A use of a disk, of one of its partitions or of an image by somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// What is in use: `/dev/sda2`, or the image.
    pub node: String,
    /// The number of the partition; `None` when it is the whole disk.
    pub partition: Option<u32>,
    /// In which way.
    pub kind: UseKind,
    /// How, and by whom; it continues "/dev/sda2 is ...".
    pub how: String,
}

/// A way of using a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// A file system on it is mounted.
    Mounted,
    /// It is swapped on.
    Swap,
    /// A device-mapper volume, an md array or the like is on top of it.
    Holder,
    /// A loop device is on top of it.
    Loop,
    /// Somebody opened it so that nobody else may use it.
    Exclusive,
    /// Somebody holds a lock on the image.
    Locked,
    /// Somebody has the image open for writing.
    Open,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.node, self.how)
    }
}

/// A device node with its number, as it is known to everybody.
struct Node {
    path: String,
    partition: Option<u32>,
    device: u64,
    dir: PathBuf,
}

/// Who uses the block device or one of its partitions: mounts, swap, device-mapper and md volumes on top, loop
/// devices, and whoever opened it exclusively. As far as can be seen: other mount namespaces show by the last only.
pub(crate) fn of_block(disk: &SysDisk) -> Vec<Use> {
    let nodes = nodes(disk);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let of_node = |node: &Node| {
        let mut how = of_kind(UseKind::Mounted, mounted(&mounts, node.device));
        how.extend(swap(&swaps, node.device).map(|()| (UseKind::Swap, "used as swap".to_owned())));
        how.extend(of_kind(UseKind::Holder, holders(&node.dir)));
        how.extend(of_kind(UseKind::Loop, loops_on(|metadata| metadata.rdev() == node.device)));
        if node.partition.is_none() {
            how.extend(of_kind(UseKind::Loop, siblings(disk)));
        }
        how
    };
    let mut found: Vec<(&Node, Vec<(UseKind, String)>)> =
        nodes.iter().map(|node| (node, of_node(node))).collect();
    let unexplained = taken(&found);
    for (node, how) in &mut found {
        if unexplained.iter().any(|taken| taken.device == node.device) {
            let by = openers(&|metadata| metadata.rdev() == node.device, false);
            let by = if by.is_empty() {
                "opened exclusively by another program, or in use in another container".to_owned()
            } else {
                format!("opened exclusively, perhaps by {}", by.join(", "))
            };
            how.push((UseKind::Exclusive, by));
        }
    }
    let uses = found.into_iter().flat_map(|(node, how)| {
        how.into_iter().map(|(kind, how)| Use {
            node: node.path.clone(),
            partition: node.partition,
            kind,
            how,
        })
    });
    uses.collect()
}

/// The nodes that somebody has opened exclusively, of those for which nothing else explains it. Who has the whole disk
/// keeps everybody from its partitions, and who has a partition keeps everybody from the whole disk: one of them is
/// meant, not all.
fn taken<'n>(found: &[(&'n Node, Vec<(UseKind, String)>)]) -> Vec<&'n Node> {
    // A loop device does not claim what it is on.
    let is_explained = |how: &[(UseKind, String)]| how.iter().any(|(kind, _)| *kind != UseKind::Loop);
    let (whole, partitions): (Vec<_>, Vec<_>) = found.iter().partition(|(node, _)| node.partition.is_none());
    if whole.iter().any(|(_, how)| is_explained(how)) {
        return Vec::new();
    }
    let whole: Vec<&Node> =
        whole.into_iter().map(|(node, _)| *node).filter(|node| is_exclusive(&node.path)).collect();
    if whole.is_empty() {
        return Vec::new();
    }
    let unexplained = partitions.iter().filter(|(_, how)| !is_explained(how)).map(|(node, _)| *node);
    let taken: Vec<&Node> = unexplained.filter(|node| is_exclusive(&node.path)).collect();
    // While the whole disk is somebody's, none of its partitions is free, or claimed by another.
    if taken.len() < partitions.len() {
        return taken;
    }
    let is_open = |nodes: &[&Node]| {
        !openers(&|metadata| nodes.iter().any(|node| metadata.rdev() == node.device), false).is_empty()
    };
    // When nobody can be seen it is the whole disk, since then nothing of it may be touched.
    if !is_open(&whole) && is_open(&taken) { taken } else { whole }
}

/// Who uses an image file: loop devices on it, locks of other programs, and whoever opened it for writing.
pub(crate) fn of_image(path: &Path, metadata: &Metadata) -> Vec<Use> {
    let same = |other: &Metadata| other.dev() == metadata.dev() && other.ino() == metadata.ino();
    let mut how = of_kind(UseKind::Loop, loops_on(same));
    how.extend(locks(metadata).into_iter().map(|by| (UseKind::Locked, format!("locked by {by}"))));
    if how.is_empty() && is_range_locked(path) {
        how.push((UseKind::Locked, "locked by another program".to_owned()));
    }
    if how.is_empty() {
        let open = openers(&same, true).into_iter().map(|by| format!("open for writing in {by}"));
        how.extend(of_kind(UseKind::Open, open.collect()));
    }
    let node = path.display().to_string();
    how.into_iter().map(|(kind, how)| Use { node: node.clone(), partition: None, kind, how }).collect()
}

/// Whether somebody holds a lock on a part of the file. The list of all locks names files by the number of a device,
/// which on some file systems (btrfs, overlayfs) is not the one that the file itself has.
fn is_range_locked(path: &Path) -> bool {
    let mut lock = libc::flock {
        l_type: lock_type(libc::F_WRLCK),
        l_whence: lock_type(libc::SEEK_SET),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let asked = File::open(path).map(|file| fcntl(&file, FcntlArg::F_OFD_GETLK(&mut lock)));
    matches!(asked, Ok(Ok(_))) && lock.l_type != lock_type(libc::F_UNLCK)
}

fn lock_type(constant: libc::c_int) -> libc::c_short {
    libc::c_short::try_from(constant).unwrap_or_default()
}

fn of_kind(kind: UseKind, how: Vec<String>) -> Vec<(UseKind, String)> {
    how.into_iter().map(|how| (kind, how)).collect()
}

/// The partitions, then the whole disk.
fn nodes(disk: &SysDisk) -> Vec<Node> {
    let whole = (disk.node().display().to_string(), None, disk.dir().to_owned());
    let view = disk.kernel_view();
    let partitions = view.partitions.into_iter().map(|partition| {
        let name = Path::new(&partition.node).file_name().map(|name| disk.dir().join(name));
        (partition.node.clone(), Some(partition.number), name.unwrap_or_default())
    });
    let with_device = |(path, partition, dir): (String, Option<u32>, PathBuf)| {
        let device = fs::read_to_string(dir.join("dev")).ok()?;
        let (high, low) = device.trim().split_once(':')?;
        let device = nix::sys::stat::makedev(high.parse().ok()?, low.parse().ok()?);
        Some(Node { path, partition, device, dir })
    };
    partitions.chain([whole]).filter_map(with_device).collect()
}

/// Where the device is mounted. btrfs and others mount under a number of their own: there the source tells.
fn mounted(mountinfo: &str, device: u64) -> Vec<String> {
    let number = format!("{}:{}", major(device), minor(device));
    let mut places = BTreeSet::new();
    for line in mountinfo.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (Some(of), Some(place)) = (fields.get(2), fields.get(4)) else { continue };
        let source = fields.iter().position(|field| *field == "-").and_then(|dash| fields.get(dash + 2));
        let by_source = || source.is_some_and(|source| device_of(&unescaped(source)) == Some(device));
        if *of == number || (of.starts_with("0:") && by_source()) {
            places.insert(unescaped(place));
        }
    }
    places.into_iter().map(|place| format!("mounted on {place}")).collect()
}

fn swap(swaps: &str, device: u64) -> Option<()> {
    let mut files = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    files.any(|file| device_of(&unescaped(file)) == Some(device)).then_some(())
}

fn device_of(path: &str) -> Option<u64> {
    let metadata = path.starts_with('/').then(|| fs::metadata(path).ok())??;
    metadata.file_type().is_block_device().then(|| metadata.rdev())
}

/// Spaces and the like are written as octal numbers in `/proc`.
fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (octal, letter) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(octal, letter);
    }
    plain
}

/// The volumes on top of the device.
fn holders(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("holders")).into_iter().flatten().flatten();
    let names = entries.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let read = |attribute| fs::read_to_string(Path::new("/sys/block").join(&name).join(attribute)).ok();
        match read("dm/name") {
            Some(volume) => format!("part of the volume {} ({name})", volume.trim()),
            None if read("md/level").is_some() => format!("part of the md array {name}"),
            None => format!("held by {name}"),
        }
    });
    names.collect()
}

/// The loop devices whose file is the one that is meant.
fn loops_on(is: impl Fn(&Metadata) -> bool) -> Vec<String> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let loops = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("loop"));
    let attached = loops.filter(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).ok();
        file.and_then(|file| fs::metadata(file.trim_end_matches('\n')).ok())
            .is_some_and(|metadata| is(&metadata))
    });
    attached.map(|entry| format!("attached as /dev/{}", entry.file_name().to_string_lossy())).collect()
}

/// The other loop devices on the file of this one: what is mounted from them is in the same bytes.
fn siblings(disk: &SysDisk) -> Vec<String> {
    let Some(metadata) = disk.text("loop/backing_file").and_then(|file| fs::metadata(file).ok()) else {
        return Vec::new();
    };
    let own = format!("attached as /dev/{}", disk.name());
    let all = loops_on(|other| other.dev() == metadata.dev() && other.ino() == metadata.ino());
    all.into_iter()
        .filter(|other| *other != own)
        .map(|other| format!("not the only one on its file, which is {other} too"))
        .collect()
}

fn is_exclusive(node: &str) -> bool {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(node);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// The other programs that have the file open, as far as they may be looked at: `qemu (process 123)`.
fn openers(is: &dyn Fn(&Metadata) -> bool, only_writers: bool) -> Vec<String> {
    let own = std::process::id();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_open = |id: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        descriptors.into_iter().any(|descriptor| {
            fs::metadata(descriptor.path()).is_ok_and(|metadata| is(&metadata))
                && (!only_writers || is_for_writing(*id, &descriptor.file_name().to_string_lossy()))
        })
    };
    ids.filter(|id| *id != own).filter(has_open).map(named).collect()
}

fn is_for_writing(process: u32, descriptor: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

fn named(process: u32) -> String {
    match fs::read_to_string(format!("/proc/{process}/comm")) {
        Ok(name) => format!("{} (process {process})", name.trim()),
        Err(_) => format!("process {process}"),
    }
}

/// Who holds a lock on the file. A lock of an open file description has no process.
pub(crate) fn locks(metadata: &Metadata) -> Vec<String> {
    let own = std::process::id();
    let file = format!("{:02x}:{:02x}:{}", major(metadata.dev()), minor(metadata.dev()), metadata.ino());
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut by = BTreeSet::new();
    let mut unnamed = false;
    for line in locks.lines() {
        let fields: Vec<&str> = line.split_whitespace().filter(|field| *field != "->").collect();
        if fields.get(5) == Some(&&*file)
            && let Some(process) = fields.get(4)
        {
            match process.parse::<u32>() {
                Ok(process) if process == own => {}
                Ok(process) if process > 0 => drop(by.insert(named(process))),
                _ => unnamed = true,
            }
        }
    }
    let mut by: Vec<String> = by.into_iter().collect();
    if unnamed {
        let open = openers(&|other| other.dev() == metadata.dev() && other.ino() == metadata.ino(), false);
        by.push(match open.as_slice() {
            [] => "another program".to_owned(),
            open => format!("another program, perhaps {}", open.join(", ")),
        });
    }
    by
}

/// Tells apart why an exclusive open failed.
pub(crate) fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_by_number_and_by_source() {
        let device = nix::sys::stat::makedev(8, 2);
        let mountinfo = "\
36 35 8:2 / /home\\040of\\040all rw,noatime shared:1 - ext4 /dev/sda2 rw
37 35 8:3 / /srv rw - ext4 /dev/sda3 rw
38 35 8:2 /sub /var rw - ext4 /dev/sda2 rw";
        assert_eq!(mounted(mountinfo, device), ["mounted on /home of all", "mounted on /var"]);
        assert!(mounted(mountinfo, nix::sys::stat::makedev(8, 1)).is_empty());
    }

    #[test]
    fn an_image_that_another_program_writes_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.img");
        fs::write(&path, [0; 512]).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(of_image(&path, &metadata), []);
        let script = format!("exec 9<>'{}'; echo ready; read line", path.display());
        let mut other = std::process::Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let uses = of_image(&path, &metadata);
        assert_eq!(uses.len(), 1, "{uses:?}");
        assert!(uses[0].how.contains(&format!("process {}", other.id())), "{uses:?}");
        drop(other.stdin.take());
        other.wait().unwrap();
        assert_eq!(of_image(&path, &metadata), []);
    }
}
