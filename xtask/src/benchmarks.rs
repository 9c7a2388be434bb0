//! `docs/BENCHMARKS.md`, which several chores write: each its own part.

use std::fs;

use crate::{at, root};

/// What has no other part: it begins the page.
pub(crate) const MEASURED: &str = "";
/// What moves of a partition cost.
pub(crate) const MOVES: &str = "## Moving a partition of 1 GiB\n";
/// What `read-modify-write` measures.
pub(crate) const START_OF_63: &str = "## What a drive with 4096-byte sectors pays for a start of 63\n";
/// What `move-story` measures.
pub(crate) const MOVED: &str = "## What a move of the partition changes there\n";

/// The parts behind the first, in their order; each lasts to the next.
const HEADINGS: [&str; 3] = [MOVES, START_OF_63, MOVED];

/// Writes the part with that heading; the others stay.
pub(crate) fn write(heading: &str, text: &str) -> Result<(), String> {
    let path = root().join("docs/BENCHMARKS.md");
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, with(&old, heading, text)).map_err(at(&path))
}

fn with(old: &str, written: &str, text: &str) -> String {
    let starts: Vec<usize> = HEADINGS.iter().filter_map(|heading| old.find(heading)).collect();
    let end_of =
        |start: usize| starts.iter().copied().filter(|next| *next > start).min().unwrap_or(old.len());
    let first_end = starts.iter().copied().min().unwrap_or(old.len());
    let first = if written == MEASURED { text } else { &old[..first_end] };
    let mut parts = vec![first.trim().to_owned()];
    for heading in HEADINGS {
        let kept = old.find(heading).map(|start| old[start..end_of(start)].trim().to_owned());
        let part = if written == heading { Some(format!("{heading}\n{}", text.trim())) } else { kept };
        parts.extend(part);
    }
    parts.retain(|part| !part.is_empty());
    format!("{}\n", parts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_stays_when_another_is_written() {
        let one = with("# Benchmarks\n\nold\n", START_OF_63, "lab\n");
        assert_eq!(one, format!("# Benchmarks\n\nold\n\n{START_OF_63}\nlab\n"));
        let all = with(&with(&one, MOVES, "moves\n"), MOVED, "moved\n");
        let expected =
            format!("# Benchmarks\n\nold\n\n{MOVES}\nmoves\n\n{START_OF_63}\nlab\n\n{MOVED}\nmoved\n");
        assert_eq!(all, expected);
        assert_eq!(with(&all, MEASURED, "# Benchmarks\n\nnew\n"), all.replace("old", "new"));
        assert_eq!(with(&all, MOVES, "faster\n"), all.replace("moves\n", "faster\n"));
        assert_eq!(with(&all, START_OF_63, "other\n"), all.replace("lab\n", "other\n"));
        assert_eq!(with(&all, MOVED, "other\n"), all.replace("moved\n", "other\n"));
    }
}
