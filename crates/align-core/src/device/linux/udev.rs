//! The few properties that udev has recorded under `/run/udev/data`, readable without root.

use std::fs;
use std::path::Path;

/// The value of `key` that udev recorded for the block device `major_minor` ("8:1").
pub(super) fn property(root: &Path, major_minor: &str, key: &str) -> Option<String> {
    let record = fs::read_to_string(root.join("run/udev/data").join(format!("b{major_minor}"))).ok()?;
    record
        .lines()
        .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.to_owned())
}
