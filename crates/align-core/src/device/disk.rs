use std::fs;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::identify::Identification;
use super::linux::{DeviceFacts, Disagreement, Host, KernelView, SysDisk};
use super::{BlockDevice, FileDevice, StreamDevice};
use crate::Error;
use crate::patch::DiskIdentity;
use crate::topology::Reported;

/// A disk that was opened for reading, with what is known of it from outside its bytes.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    given: PathBuf,
    source: Source,
    bytes: Result<Box<dyn BlockDevice>, Error>,
    facts: DeviceFacts,
    size: Option<u64>,
    kernel: Option<KernelView>,
    description: Option<String>,
    serial: Option<String>,
}

/// What sort of thing a disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A block device of the machine.
    Block,
    /// An image file, or a device made by a program: nothing is reported of it.
    Image,
    /// An image on standard input.
    Stream,
}

impl Disk {
    /// Opens a block device or an image file of this machine, for reading only. A partition's node leads to
    /// its disk.
    ///
    /// A block device that may not be opened is no error while sysfs shows its partitions: see
    /// [`unread`](Self::unread).
    ///
    /// # Errors
    /// When there is nothing at `path` that can be a disk, or it may not be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_on(&Host::here(), path)
    }

    /// Opens a disk of another [`Host`], such as a recorded one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(host: &Host, path: impl AsRef<Path>) -> Result<Self, Error> {
        let given = path.as_ref();
        let metadata = fs::metadata(given).map_err(|source| Error::open(given, source))?;
        let kind = metadata.file_type();
        let sys = host.disk_of(given);
        if sys.is_some() || kind.is_block_device() {
            return Self::open_block(given, sys.as_ref());
        }
        if kind.is_dir() {
            return Err(Error::unusable(given, "is a directory; give a disk or an image file"));
        }
        if kind.is_fifo() {
            let reason = format!("is a pipe; read it as `alignck - < {}`", given.display());
            return Err(Error::unusable(given, reason));
        }
        if !kind.is_file() {
            return Err(Error::unusable(given, "is neither a block device nor a file"));
        }
        let device = FileDevice::open(given).map_err(|source| Error::open(given, source))?;
        Ok(Self::of(given, Source::Image, Box::new(device)))
    }

    /// An image that arrives on a pipe; `path` is what messages call it.
    pub fn stream(path: impl AsRef<Path>, source: impl Read + Send + 'static) -> Self {
        Self::of(path.as_ref(), Source::Stream, Box::new(StreamDevice::new(source)))
    }

    /// A disk over any device, as an image of which nothing is reported.
    pub fn image(path: impl AsRef<Path>, device: impl BlockDevice + 'static) -> Self {
        Self::of(path.as_ref(), Source::Image, Box::new(device))
    }

    /// A disk in memory of which the same is reported as of `original`.
    pub(crate) fn stand_in(original: &Self, device: impl BlockDevice + 'static) -> Self {
        let (reported, identification) =
            (original.facts.reported.clone(), original.facts.identification.clone());
        let facts = DeviceFacts { reported, identification, disagreements: Vec::new() };
        Self { facts, ..Self::image(&original.path, device) }
    }

    fn of(path: &Path, source: Source, device: Box<dyn BlockDevice>) -> Self {
        Self {
            path: path.to_owned(),
            given: path.to_owned(),
            source,
            size: device.size(),
            bytes: Ok(device),
            facts: DeviceFacts::default(),
            kernel: None,
            description: None,
            serial: None,
        }
    }

    fn open_block(given: &Path, sys: Option<&SysDisk>) -> Result<Self, Error> {
        let path = match sys {
            Some(sys) if sys.through_partition => sys.node(),
            _ => given.to_owned(),
        };
        let opened = FileDevice::open(&path).map_err(|source| Error::open(&path, source));
        let facts = DeviceFacts::gather(sys, opened.as_ref().ok().map(FileDevice::file));
        let kernel = sys.map(SysDisk::kernel_view);
        let size = opened.as_ref().ok().and_then(BlockDevice::size).or(sys.and_then(SysDisk::size));
        let shows_partitions = kernel.as_ref().is_some_and(|kernel| !kernel.partitions.is_empty());
        let bytes: Result<Box<dyn BlockDevice>, Error> = match opened {
            Ok(device) => Ok(Box::new(device)),
            Err(error) if shows_partitions => Err(error),
            Err(error) => return Err(error),
        };
        Ok(Self {
            path,
            given: given.to_owned(),
            source: Source::Block,
            bytes,
            facts,
            size,
            kernel,
            description: sys.and_then(SysDisk::description),
            serial: sys.and_then(SysDisk::serial),
        })
    }

    /// The path of the whole disk.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path that was asked for, where that is a partition of this disk.
    pub fn given_partition(&self) -> Option<&Path> {
        (self.given != self.path).then_some(&*self.given)
    }

    /// What sort of thing it is.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The size in bytes, `None` for a pipe.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// The bytes, unless the device may not be opened.
    pub fn device(&self) -> Option<&dyn BlockDevice> {
        self.bytes.as_deref().ok()
    }

    /// Why there are no bytes: then only the kernel's list of partitions is known.
    pub fn unread(&self) -> Option<&Error> {
        self.bytes.as_ref().err()
    }

    /// What the disk is known by, also after it is plugged in elsewhere; `None` for a pipe.
    pub fn identity(&self) -> Option<DiskIdentity> {
        Some(DiskIdentity::of(&self.path, self.size?, self.serial.clone()))
    }

    /// What the device reports of its geometry.
    pub fn reported(&self) -> &Reported {
        &self.facts.reported
    }

    /// The values of which sysfs and the device itself tell different things.
    pub fn disagreements(&self) -> &[Disagreement] {
        &self.facts.disagreements
    }

    /// What the drive says of itself; empty where it was not asked.
    pub fn identification(&self) -> &Identification {
        &self.facts.identification
    }

    /// The kernel's own list of the partitions, for a block device that sysfs knows.
    pub fn kernel(&self) -> Option<&KernelView> {
        self.kernel.as_ref()
    }

    /// The model, the file behind a loop device, or the name of a volume.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }
}
