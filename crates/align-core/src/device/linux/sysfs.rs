use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use nix::sys::stat::{major, minor};

use super::kernel_view::{KernelPartition, KernelView};
use super::udev;
use crate::Error;
use crate::topology::Reported;

/// Where `sys`, `dev` and `run` of a machine are: `/`, or the folder of a recorded machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    root: PathBuf,
}

/// A whole disk in sysfs.
#[derive(Clone, Debug)]
pub struct SysDisk {
    host: Host,
    dir: PathBuf,
    /// The partition that led here, when a partition was asked for.
    pub(crate) through_partition: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self::here()
    }
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// A machine whose `sys`, `dev` and `run` folders were copied to below `root`. There a regular file
    /// `dev/sda` stands for the device, and files in `sys/block/sda/identify` for the drive's own answers: `ata`
    /// (IDENTIFY DEVICE), `readcap16`, `vpd-b0`, `vpd-b1`, `vpd-b4`, `nvme-ns` (Identify Namespace), byte by byte.
    pub fn recorded(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The paths of all whole disks, in the order of their names, numbers as numbers.
    ///
    /// Left out: devices without a medium, unbound loop devices, zram and RAM disks, hidden paths of
    /// multipath NVMe, optical drives, and device-mapper volumes other than multipath disks (what they hold
    /// is on disks that are listed).
    ///
    /// # Errors
    /// When the folder `sys/block` cannot be read.
    pub fn whole_disks(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = self.root.join("sys/block");
        let entries = fs::read_dir(&folder).map_err(|source| Error::list(&folder, source))?;
        let mut disks: Vec<SysDisk> = entries
            .filter_map(|entry| self.disk_at(&entry.ok()?.path()))
            .filter(SysDisk::is_listed)
            .collect();
        disks.sort_by_key(|disk| natural_key(&disk.name()));
        Ok(disks.iter().map(SysDisk::node).collect())
    }

    /// What sysfs has on the block device `path`; a partition leads to its disk. `None` for everything that
    /// is no block device, or where sysfs does not know it.
    pub fn disk_of(&self, path: &Path) -> Option<SysDisk> {
        let metadata = fs::metadata(path).ok()?;
        if metadata.file_type().is_block_device() {
            let device = metadata.rdev();
            let number = format!("{}:{}", major(device), minor(device));
            return self.whole(fs::canonicalize(self.root.join("sys/dev/block").join(number)).ok()?);
        }
        // A plain file in the `dev` of a recorded machine.
        let name = self.recorded_name(path)?;
        let by_class = self.root.join("sys/class/block").join(&name);
        let dir = fs::canonicalize(by_class).ok().or_else(|| self.search_partition(&name))?;
        self.whole(dir)
    }

    /// The name in sysfs of a file in the `dev` folder of a recorded machine.
    fn recorded_name(&self, path: &Path) -> Option<String> {
        if self.root == Path::new("/") {
            return None;
        }
        let dev = fs::canonicalize(self.root.join("dev")).ok()?;
        let path = fs::canonicalize(path).ok()?;
        let name = path.strip_prefix(dev).ok()?.to_str()?;
        Some(name.replace('/', "!"))
    }

    /// Looks for `name` as a disk, then below each disk, where `class/block` was not recorded.
    fn search_partition(&self, name: &str) -> Option<PathBuf> {
        let block = self.root.join("sys/block");
        if let Ok(disk) = fs::canonicalize(block.join(name)) {
            return Some(disk);
        }
        fs::read_dir(block).ok()?.find_map(|disk| fs::canonicalize(disk.ok()?.path().join(name)).ok())
    }

    /// The whole disk of the device in folder `dir`.
    fn whole(&self, dir: PathBuf) -> Option<SysDisk> {
        if dir.join("partition").exists() {
            let mut disk = self.disk_at(dir.parent()?)?;
            disk.through_partition = true;
            return Some(disk);
        }
        let disk = self.disk_at(&dir)?;
        match disk.disk_of_mapped_partition() {
            Some(mut below) => {
                below.through_partition = true;
                Some(below)
            }
            None => Some(disk),
        }
    }

    fn disk_at(&self, dir: &Path) -> Option<SysDisk> {
        let dir = fs::canonicalize(dir).ok()?;
        Some(SysDisk { host: self.clone(), dir, through_partition: false })
    }
}

impl SysDisk {
    /// The kernel's name: `sda`, `nvme0n1`, `dm-0`.
    pub fn name(&self) -> String {
        self.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The device node: `/dev/sda`. sysfs writes `!` for the `/` in names such as `cciss/c0d0`.
    pub fn node(&self) -> PathBuf {
        self.host.root.join("dev").join(self.name().replace('!', "/"))
    }

    /// The folder in sysfs.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether this is a disk of the machine itself, of which real commands can be asked.
    pub(super) fn is_here(&self) -> bool {
        self.host.root == Path::new("/")
    }

    /// What drives it: `scsi` (ATA drives too), `nvme`, `virtio`; `None` for what is made of other devices.
    pub(super) fn subsystem(&self) -> Option<String> {
        let link = fs::read_link(self.dir.join("device/subsystem")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    /// Whether it hangs on a USB port.
    pub(super) fn is_on_usb(&self) -> bool {
        let is_port = |name: &str| name.strip_prefix("usb").is_some_and(|rest| rest.parse::<u32>().is_ok());
        self.dir.components().any(|folder| folder.as_os_str().to_str().is_some_and(is_port))
    }

    /// The raw bytes of an attribute or of a recorded answer, `None` where it is missing.
    pub(super) fn bytes(&self, attribute: &str) -> Option<Vec<u8>> {
        fs::read(self.dir.join(attribute)).ok()
    }

    /// What tells this device from all others: a world-wide name, a serial number, or the UUID of a volume. `None`
    /// where it has none, as loop devices.
    pub fn serial(&self) -> Option<String> {
        let attributes = ["wwid", "device/wwid", "device/serial", "serial", "dm/uuid", "md/uuid"];
        attributes.into_iter().find_map(|attribute| self.text(attribute))
    }

    /// Whether it cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.number::<u8>("ro") == Some(1)
    }

    /// Whether it has zones that want to be written from their start (SMR); such a disk refuses other writes there.
    pub fn is_zoned(&self) -> bool {
        self.text("queue/zoned").is_some_and(|zoned| zoned != "none")
    }

    /// The size in bytes. sysfs counts 512-byte units, whatever the sector is.
    pub fn size(&self) -> Option<u64> {
        self.number::<u64>("size")?.checked_mul(512)
    }

    /// What people know the device by: the model of a drive, the file behind a loop device, a volume's name.
    pub fn description(&self) -> Option<String> {
        if let Some(file) = self.text("loop/backing_file") {
            return Some(format!("loop device on {file}"));
        }
        if let Some(name) = self.text("dm/name") {
            return Some(format!("device-mapper volume {name}"));
        }
        if let Some(level) = self.text("md/level") {
            return Some(format!("md array, {level}"));
        }
        let vendor = self.text("device/vendor").filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
        let words: Vec<String> = [vendor, self.text("device/model")].into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// What the kernel reports of the disk's geometry.
    pub fn reported(&self) -> Reported {
        Reported {
            logical: self.number("queue/logical_block_size"),
            physical: self.number("queue/physical_block_size"),
            minimum_io: self.number("queue/minimum_io_size"),
            optimal_io: self.number("queue/optimal_io_size"),
            alignment_offset: self.number("alignment_offset"),
            rotational: self.number::<u8>("queue/rotational").map(|flag| flag != 0),
            rpm: None,
        }
    }

    /// The kernel's partitions of this disk.
    pub fn kernel_view(&self) -> KernelView {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut partitions: Vec<_> = entries.filter_map(|entry| self.partition(&entry.path())).collect();
        partitions.sort_by_key(|partition| partition.number);
        KernelView { partitions, scans: self.scans_partitions() }
    }

    fn partition(&self, dir: &Path) -> Option<KernelPartition> {
        let name = dir.file_name()?.to_str()?.to_owned();
        let device_number = read_text(&dir.join("dev"));
        let udev_type = |number: String| udev::property(&self.host.root, &number, "ID_PART_ENTRY_TYPE");
        Some(KernelPartition {
            number: read_number(&dir.join("partition"))?,
            node: self.host.root.join("dev").join(name.replace('!', "/")).display().to_string(),
            start_512: read_number(&dir.join("start"))?,
            size_512: read_number(&dir.join("size"))?,
            kind: device_number.and_then(udev_type),
        })
    }

    /// Whether the kernel reads partition tables of this device (`partscan` since Linux 6.10, before that the
    /// loop driver's own flag and the number of minors).
    fn scans_partitions(&self) -> bool {
        if let Some(flag) = self.number::<u8>("partscan") {
            return flag != 0;
        }
        if self.number::<u8>("loop/partscan") == Some(0) {
            return false;
        }
        self.number::<u32>("ext_range").is_none_or(|minors| minors > 1)
    }

    /// The disk of a partition that kpartx mapped: its device-mapper UUID begins with `part1-`.
    fn disk_of_mapped_partition(&self) -> Option<Self> {
        let uuid = self.text("dm/uuid")?;
        let (part, _) = uuid.split_once('-')?;
        part.strip_prefix("part")?.parse::<u32>().ok()?;
        let below = fs::read_dir(self.dir.join("slaves")).ok()?.flatten().next()?;
        self.host.disk_at(&below.path())
    }

    fn is_listed(&self) -> bool {
        let name = self.name();
        let without_medium = self.size().unwrap_or(0) == 0;
        let unbound_loop = name.starts_with("loop") && !self.dir.join("loop/backing_file").exists();
        let in_memory = name.starts_with("zram") || name.starts_with("ram");
        let optical = name.starts_with("sr");
        let hidden = self.number::<u8>("hidden").is_some_and(|flag| flag != 0);
        let volume = self.text("dm/uuid").is_some_and(|uuid| !uuid.starts_with("mpath-"))
            || (self.dir.join("dm").exists() && self.text("dm/uuid").is_none());
        !(without_medium || unbound_loop || in_memory || optical || hidden || volume)
    }

    pub(super) fn text(&self, attribute: &str) -> Option<String> {
        read_text(&self.dir.join(attribute))
    }

    fn number<T: FromStr>(&self, attribute: &str) -> Option<T> {
        read_number(&self.dir.join(attribute))
    }
}

/// The trimmed text of a sysfs attribute, `None` where it is missing or empty.
fn read_text(path: &Path) -> Option<String> {
    let bytes: io::Result<Vec<u8>> = fs::read(path);
    let text = String::from_utf8_lossy(&bytes.ok()?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn read_number<T: FromStr>(path: &Path) -> Option<T> {
    read_text(path)?.parse().ok()
}

/// Sorts `sdb` before `sdaa` and `loop2` before `loop10`: runs of digits or of other characters, shorter
/// runs first.
fn natural_key(name: &str) -> Vec<(usize, String)> {
    let mut runs: Vec<(usize, String)> = Vec::new();
    let mut in_digits = None;
    for character in name.chars() {
        if in_digits.replace(character.is_ascii_digit()) != Some(character.is_ascii_digit()) {
            runs.push((0, String::new()));
        }
        if let Some((len, run)) = runs.last_mut() {
            *len += 1;
            run.push(character);
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_sort_as_people_count() {
        let mut names = ["sdaa", "sdb", "loop10", "loop2", "nvme10n1", "nvme2n1", "sda"];
        names.sort_by_key(|name| natural_key(name));
        assert_eq!(names, ["sda", "sdb", "loop2", "loop10", "nvme2n1", "nvme10n1", "sdaa"]);
    }
}
