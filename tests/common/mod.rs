//! What several tests need: images as devices and files, and the command.
#![allow(dead_code, reason = "each test uses a part of this")]

pub mod invariants;
pub mod layouts;
#[cfg(feature = "peer-tests")]
pub mod listing;
#[cfg(feature = "peer-tests")]
pub mod loops;
pub mod platter;
pub mod requests;
pub mod stream;
#[cfg(feature = "peer-tests")]
pub mod tools;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use align_core::check::{self, Options, Report};
use align_core::device::{BlockDevice, Disk, FaultDevice, MemoryDevice, ReadError};
use align_core::topology::Reported;
use fixtures::Image;
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// Of 256 cases that are the default, `share` in percent, and the same ones in every run.
pub fn config(share: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let seed = match asked.rng_seed {
        RngSeed::Random => RngSeed::Fixed(4096),
        fixed => fixed,
    };
    let cases = (asked.cases * share / 100).max(1);
    ProptestConfig { cases, rng_seed: seed, failure_persistence: None, ..asked }
}

/// The image as a sparse disk in memory.
pub fn memory(image: &Image) -> MemoryDevice {
    let device = MemoryDevice::new(image.size);
    for (offset, bytes) in &image.writes {
        device.write_at(*offset, bytes).expect("fixtures write within their image");
    }
    device
}

/// The report on an image of which nothing is reported.
pub fn report(image: &Image) -> Report {
    report_as(image, Reported::default())
}

/// The report on an image as if its device reported this.
pub fn report_as(image: &Image, pretend: Reported) -> Report {
    let options = Options { pretend, physical: None, ..Options::default() };
    check::run(&Disk::image("test.img", memory(image)), &options).expect("the image can be checked")
}

/// A device that the test still holds while a [`Disk`] owns it: to count reads, or to let another crate write.
#[derive(Debug)]
pub struct Shared<D>(pub Arc<D>);

impl<D> Shared<D> {
    pub fn new(device: D) -> Self {
        Self(Arc::new(device))
    }
}

impl<D> Clone for Shared<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: BlockDevice> BlockDevice for Shared<D> {
    fn size(&self) -> Option<u64> {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.0.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn flush(&self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// The report on a device of which nothing is reported, and how the device was read for it.
pub fn report_counted<D: BlockDevice + 'static>(device: D) -> (Report, Arc<FaultDevice<D>>) {
    let shared = Shared::new(FaultDevice::new(device));
    let disk = Disk::image("test.img", shared.clone());
    (check::run(&disk, &Options::default()).expect("the image can be checked"), shared.0)
}

/// The codes of a report, each once, in alphabetical order.
pub fn codes(report: &Report) -> Vec<&'static str> {
    let mut codes: Vec<_> = report.findings.iter().map(|finding| finding.code.word()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// A folder for sparse images of any size, removed when it goes out of scope.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(fixtures::scratch_dir()).expect("the scratch folder can be written")
}

/// Writes the image into the folder.
pub fn file(folder: &Path, name: &str, image: &Image) -> PathBuf {
    let path = folder.join(name);
    image.write_to(&path).expect("the scratch folder takes sparse images");
    path
}

/// Writes these bytes over those of an image or a device.
pub fn poke(image: &Path, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(image);
    file.and_then(|file| file.write_all_at(bytes, offset)).expect("the image can be written");
}

/// Lets an image end at another byte.
pub fn resize(image: &Path, size: u64) {
    let file = OpenOptions::new().write(true).open(image);
    file.and_then(|file| file.set_len(size)).expect("the image can be written");
}

/// What a folder holds, by name; nothing where there is no folder.
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The command, without the caller's locale, colours and backups.
pub fn alignck() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_alignck"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("LC_ALL", "C");
    command.env("XDG_STATE_HOME", "/dev/null/state");
    command
}

/// The JSON on standard output and the exit code.
pub fn json(output: &Output) -> (serde_json::Value, i32) {
    let text = std::str::from_utf8(&output.stdout).expect("JSON is UTF-8");
    let value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (value, output.status.code().expect("not killed"))
}

/// The CRC-32 of a GPT, bit by bit, with a shortcut for runs of zeros.
pub struct Crc(u32);

impl Crc {
    pub const START: Self = Self(u32::MAX);
    const POLYNOMIAL: u32 = 0xEDB8_8320;

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 ^= u32::from(*byte);
            for _ in 0..8 {
                self.0 = Self::times_x(self.0);
            }
        }
        self
    }

    /// A zero byte multiplies the remainder by x^8, so `count` of them by (x^8)^count.
    pub fn zeros(self, count: u64) -> Self {
        let (mut factor, mut power, mut left) = (1 << 31, 1 << 23, count);
        while left > 0 {
            if left & 1 == 1 {
                factor = Self::product(factor, power);
            }
            power = Self::product(power, power);
            left >>= 1;
        }
        Self(Self::product(self.0, factor))
    }

    pub fn finish(self) -> u32 {
        !self.0
    }

    /// Polynomials are kept with the coefficient of x^0 in the highest bit.
    fn times_x(polynomial: u32) -> u32 {
        polynomial >> 1 ^ if polynomial & 1 == 1 { Self::POLYNOMIAL } else { 0 }
    }

    fn product(one: u32, mut other: u32) -> u32 {
        let mut product = 0;
        for bit in (0..32).rev() {
            if one >> bit & 1 == 1 {
                product ^= other;
            }
            other = Self::times_x(other);
        }
        product
    }
}
