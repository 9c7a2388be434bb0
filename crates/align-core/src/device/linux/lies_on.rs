use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};

use super::sysfs::SysDisk;

/// Volumes on volumes are followed so far.
const MOST_LEVELS: u32 = 16;

/// Whether a file lies on the disk: in a file system on one of its partitions, or on a volume above them. Where that
/// cannot be found out, it counts as lying there.
pub(crate) fn lies_on(path: &Path, disk: &SysDisk) -> bool {
    let Ok(disk) = fs::canonicalize(disk.dir()) else { return true };
    let Some(device) = device_of(path) else {
        // A file system without a device, such as one of the network.
        return false;
    };
    is_above(&device, &disk, MOST_LEVELS)
}

/// The folder of sysfs of the block device that a file lies on.
fn device_of(path: &Path) -> Option<PathBuf> {
    let device = fs::metadata(path).ok()?.dev();
    if major(device) != 0 {
        return of_number(major(device), minor(device));
    }
    // btrfs and its kin give out numbers of their own: the list of mounts has the device.
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let below = mounts.lines().filter_map(|line| {
        let (fields, behind) = line.split_once(" - ")?;
        let point = PathBuf::from(fields.split(' ').nth(4)?.replace("\\040", " "));
        let source = PathBuf::from(behind.split(' ').nth(1)?);
        path.starts_with(&point).then_some((point, source))
    });
    // Of two at the same place the later one covers the earlier.
    let (_, source) = below.max_by_key(|(point, _)| point.as_os_str().len())?;
    let number = fs::metadata(source).ok()?.rdev();
    of_number(major(number), minor(number))
}

fn of_number(major: u64, minor: u64) -> Option<PathBuf> {
    if major == 0 {
        return None;
    }
    Some(
        fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).unwrap_or_else(|_| PathBuf::from("/sys")),
    )
}

/// Whether a block device is the disk, one of its partitions, or made of them.
fn is_above(device: &Path, disk: &Path, levels: u32) -> bool {
    if device.starts_with(disk) || device == Path::new("/sys") {
        return true;
    }
    let Some(levels) = levels.checked_sub(1) else { return true };
    let whole = if device.join("partition").exists() { device.parent().unwrap_or(device) } else { device };
    let slaves = fs::read_dir(whole.join("slaves")).into_iter().flatten().flatten();
    let mut slaves = slaves.filter_map(|slave| fs::canonicalize(slave.path()).ok());
    if slaves.any(|slave| is_above(&slave, disk, levels)) {
        return true;
    }
    let backing = fs::read_to_string(whole.join("loop/backing_file")).ok();
    let file = backing.map(|file| PathBuf::from(file.trim_end_matches('\n')));
    file.and_then(|file| device_of(&file)).is_some_and(|below| is_above(&below, disk, levels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::linux::Host;

    #[test]
    fn a_file_lies_on_the_disk_of_its_file_system() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let Some(device) = device_of(here) else { return };
        assert!(is_above(&device, &device, 1));
        assert!(!is_above(&device, Path::new("/sys/devices/none"), MOST_LEVELS));
        let lies = Host::here().whole_disks().unwrap_or_default().into_iter();
        let lies = lies.filter_map(|disk| Host::here().disk_of(&disk));
        // Above loop devices, volumes and partitions there is a disk that it lies on.
        assert!(lies.clone().next().is_none() || lies.into_iter().any(|disk| lies_on(here, &disk)));
    }
}
