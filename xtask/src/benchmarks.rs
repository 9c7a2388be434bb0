//! `docs/BENCHMARKS.md`, which two chores write: each its own part.

use std::fs;

use crate::{at, root};

/// Where the part of the lab begins; it lasts to the end.
const LAB: &str = "## What a drive with 4096-byte sectors pays for a start of 63\n";

/// Writes the part in front of the lab's, which stays.
pub(crate) fn write_measured(text: &str) -> Result<(), String> {
    write(|old| with_measured(old, text))
}

/// Writes the part of the lab, behind the rest, which stays.
pub(crate) fn write_lab(text: &str) -> Result<(), String> {
    write(|old| with_lab(old, text))
}

fn with_measured(old: &str, text: &str) -> String {
    match old.find(LAB) {
        Some(lab) => format!("{}\n\n{}", text.trim_end(), &old[lab..]),
        None => text.to_owned(),
    }
}

fn with_lab(old: &str, text: &str) -> String {
    let measured = old.find(LAB).map_or(old, |lab| &old[..lab]);
    format!("{}\n\n{LAB}\n{text}", measured.trim_end())
}

fn write(change: impl FnOnce(&str) -> String) -> Result<(), String> {
    let path = root().join("docs/BENCHMARKS.md");
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, change(&old)).map_err(at(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_stays_when_the_other_is_written() {
        let both = with_lab("# Benchmarks\n\nold\n", "lab\n");
        assert_eq!(both, format!("# Benchmarks\n\nold\n\n{LAB}\nlab\n"));
        assert_eq!(with_measured(&both, "# Benchmarks\n\nnew\n"), both.replace("old", "new"));
        assert_eq!(with_lab(&both, "other\n"), both.replace("lab\n", "other\n"));
    }
}
