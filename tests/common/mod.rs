//! What several tests need: images as devices and files, and the command.
#![allow(dead_code, reason = "each test uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use align_core::check::{self, Options, Report};
use align_core::device::{BlockDevice, Disk, MemoryDevice};
use align_core::topology::Reported;
use fixtures::Image;

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
    let options = Options { pretend, physical: None };
    check::run(&Disk::image("test.img", memory(image)), &options).expect("the image can be checked")
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

/// The command, without the caller's locale and colours.
pub fn alignck() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_alignck"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("LC_ALL", "C");
    command
}

/// The JSON on standard output and the exit code.
pub fn json(output: &Output) -> (serde_json::Value, i32) {
    let text = std::str::from_utf8(&output.stdout).expect("JSON is UTF-8");
    let value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (value, output.status.code().expect("not killed"))
}
