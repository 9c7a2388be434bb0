//! The kernel that the virtual machine boots: the newest one that is installed with its modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools;
use crate::at;

/// A kernel with its modules.
pub(super) struct Kernel {
    pub(super) image: PathBuf,
    /// As the folder of its modules is called.
    pub(super) release: String,
}

/// The drivers, file systems and volume managers of the scenarios.
const MODULES: [&str; 23] = [
    "virtio_pci",
    "virtio_blk",
    "virtio_scsi",
    "sd_mod",
    "ahci",
    "nvme",
    "scsi_debug",
    "xhci_pci",
    "usb_storage",
    "uas",
    "loop",
    "dm_mod",
    "md_mod",
    "raid0",
    "raid1",
    "ext4",
    "vfat",
    "nls_cp437",
    "nls_ascii",
    "nls_utf8",
    "xfs",
    "crc32c_generic",
    "libcrc32c",
];

/// What `modprobe` looks up in the folder of the modules.
const INDEXES: [&str; 8] = [
    "modules.dep",
    "modules.dep.bin",
    "modules.alias.bin",
    "modules.symbols.bin",
    "modules.softdep",
    "modules.builtin.bin",
    "modules.builtin.alias.bin",
    "modules.order",
];

/// The newest kernel in `/boot` that has its modules.
pub(super) fn find() -> Result<Kernel, String> {
    let boot = Path::new("/boot");
    let files = fs::read_dir(boot).map_err(at(boot))?.flatten();
    let with_modules = files.filter_map(|file| {
        let release = file.file_name().to_str()?.strip_prefix("vmlinuz-")?.to_owned();
        let has_modules = folder(&release).join("modules.dep").exists();
        has_modules.then(|| Kernel { image: file.path(), release })
    });
    let newest = with_modules.max_by_key(|kernel| natural_key(&kernel.release));
    newest.ok_or_else(|| {
        format!("/boot has no kernel with its modules: apt-get install {}", tools::KERNEL_PACKAGE)
    })
}

impl Kernel {
    /// The files of all modules that the scenarios load, with those that they depend on, and the indexes.
    pub(super) fn module_files(&self) -> Result<BTreeSet<PathBuf>, String> {
        let indexes = INDEXES.iter().map(|name| folder(&self.release).join(name));
        let mut files: BTreeSet<PathBuf> = indexes.filter(|path| path.exists()).collect();
        let modprobe = tools::find("modprobe").ok_or("modprobe is missing")?;
        for module in MODULES {
            let output = Command::new(&modprobe)
                .args(["-S", &self.release, "--show-depends", module])
                .output()
                .map_err(at(&modprobe))?;
            if !output.status.success() {
                return Err(format!(
                    "the kernel {} has no module {module}: {}",
                    self.release,
                    String::from_utf8_lossy(&output.stderr).trim()
                ));
            }
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let insmods = printed.lines().filter_map(|line| line.strip_prefix("insmod "));
            files.extend(insmods.filter_map(|line| line.split_whitespace().next()).map(PathBuf::from));
        }
        Ok(files)
    }
}

fn folder(release: &str) -> PathBuf {
    Path::new("/lib/modules").join(release)
}

/// Numbers as numbers: 6.1.0-9 comes before 6.1.0-10.
fn natural_key(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        assert!(natural_key("6.1.0-9-amd64") < natural_key("6.1.0-10-amd64"));
        assert!(natural_key("6.1.0-57-amd64") < natural_key("6.12.3-1-amd64"));
    }
}
