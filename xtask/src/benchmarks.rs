//! `docs/BENCHMARKS.md`, which several chores write: each its own part.

use std::fs;

use crate::{at, root};

/// Where the parts behind the first begin; each lasts to the next.
const HEADINGS: [&str; 2] =
    ["## Moving a partition of 1 GiB\n", "## What a drive with 4096-byte sectors pays for a start of 63\n"];

/// A part of the page.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// What has no other.
    Measured,
    /// Moves of a partition.
    Moves,
    /// What the lab measures.
    Lab,
}

/// Writes a part; the others stay.
pub(crate) fn write(part: Part, text: &str) -> Result<(), String> {
    let path = root().join("docs/BENCHMARKS.md");
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, with(&old, part, text)).map_err(at(&path))
}

fn with(old: &str, part: Part, text: &str) -> String {
    let [moves, lab] = HEADINGS.map(|heading| old.find(heading));
    let lab_start = lab.unwrap_or(old.len());
    let moves_start = moves.unwrap_or(lab_start);
    let mut parts = [&old[..moves_start], &old[moves_start..lab_start], &old[lab_start..]].map(str::to_owned);
    match part {
        Part::Measured => text.clone_into(&mut parts[0]),
        Part::Moves => parts[1] = format!("{}\n{text}", HEADINGS[0]),
        Part::Lab => parts[2] = format!("{}\n{text}", HEADINGS[1]),
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    format!("{}\n", parts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_stays_when_another_is_written() {
        let lab = with("# Benchmarks\n\nold\n", Part::Lab, "lab\n");
        assert_eq!(lab, format!("# Benchmarks\n\nold\n\n{}\nlab\n", HEADINGS[1]));
        let all = with(&lab, Part::Moves, "moves\n");
        assert_eq!(all, format!("# Benchmarks\n\nold\n\n{}\nmoves\n\n{}\nlab\n", HEADINGS[0], HEADINGS[1]));
        assert_eq!(with(&all, Part::Measured, "# Benchmarks\n\nnew\n"), all.replace("old", "new"));
        assert_eq!(with(&all, Part::Moves, "faster\n"), all.replace("moves\n", "faster\n"));
        assert_eq!(with(&all, Part::Lab, "other\n"), all.replace("lab\n", "other\n"));
    }
}
