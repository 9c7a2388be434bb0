//! Loop devices: images as disks of the machine.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use super::tools::{note, run, said, text};
use super::{files_in, resize};

/// Loop devices belong to the whole machine: they are bound and released one at a time.
static LOOPS: Mutex<()> = Mutex::new(());

/// While this is held, no other test binds or releases one.
pub fn lock_loops() -> MutexGuard<'static, ()> {
    // A test that failed has released its device all the same.
    LOOPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loop device that is released at the end, also of a test that fails.
pub struct Loop {
    pub node: PathBuf,
}

impl Loop {
    pub fn attach(image: &Path, sector_size: u64, options: &[&str]) -> Self {
        let _one_at_a_time = lock_loops();
        let sector_size = sector_size.to_string();
        let mut arguments = vec!["--find", "--show", "--sector-size", &sector_size];
        arguments.extend(options);
        arguments.push(text(image));
        let printed = run("losetup", &arguments, "");
        Self { node: PathBuf::from(printed.output.trim()) }
    }

    /// A device whose sectors from `byte` on cannot be read: the image behind it ends there. `None` where the
    /// kernel invents zeros for them.
    pub fn failing_from(image: &Path, byte: u64) -> Option<Self> {
        let device = Self::attach(image, 512, &[]);
        resize(image, byte);
        let mut file = File::open(&device.node).expect("root may open a loop device");
        file.seek(SeekFrom::Start(byte)).expect("the device is longer");
        if file.read_exact(&mut [0; 512]).is_ok() {
            note("this kernel reads zeros where the file behind a loop device has ended");
            return None;
        }
        Some(device)
    }

    pub fn path(&self) -> &str {
        text(&self.node)
    }

    pub fn name(&self) -> &str {
        self.node.file_name().and_then(|name| name.to_str()).expect("losetup prints a path in /dev")
    }

    /// The node of a partition.
    pub fn partition(&self, number: u64) -> String {
        format!("{}p{number}", self.path())
    }

    /// Makes the kernel's partitions those of the table, also where the kernel reads no tables itself. `partx
    /// --update` would stop at the first that was removed from the table.
    pub fn show_to_kernel(&self) {
        self.hide_from_kernel();
        run("partx", &["--add", self.path()], "");
    }

    /// Makes the kernel's partitions those of the table, except for those that it refuses.
    pub fn offer_to_kernel(&self) {
        self.hide_from_kernel();
        said("partx", &["--add", self.path()]);
    }

    fn hide_from_kernel(&self) {
        if !self.kernel_partitions().is_empty() {
            run("partx", &["--delete", self.path()], "");
        }
    }

    /// Start and size of each partition that the kernel has, in units of 512 bytes.
    pub fn kernel_partitions(&self) -> BTreeMap<u64, (u64, u64)> {
        let folders = files_in(&Path::new("/sys/block").join(self.name()));
        let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let partition = |folder: PathBuf| {
            let number = |attribute: &str| number(folder.join(attribute));
            Some((number("partition")?, (number("start")?, number("size")?)))
        };
        folders.into_iter().filter_map(partition).collect()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _one_at_a_time = lock_loops();
        if !self.kernel_partitions().is_empty() {
            said("partx", &["--delete", self.path()]);
        }
        said("losetup", &["--detach", self.path()]);
        // What was mounted by a program of its own is let go by that a moment after the unmount, and only then is
        // the device free.
        let bound = Path::new("/sys/block").join(self.name()).join("loop/backing_file");
        for _ in 0..200 {
            if !bound.exists() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
    }
}
