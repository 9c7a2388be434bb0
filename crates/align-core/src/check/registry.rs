use super::checks::{contents, gpt, kernel, mbr, partitions, starts, table, topology, whole_disk};
use super::{Finding, Subject};
use crate::Error;

/// A named check.
///
/// The outer result is "could not look", the findings are "what was seen": a check that sees nothing wrong
/// returns none.
pub struct Check {
    /// Its name, for people who read or test the registry.
    pub name: &'static str,
    /// What it looks for, in a sentence.
    pub about: &'static str,
    pub(super) run: fn(&Subject<'_>) -> Result<Vec<Finding>, Error>,
}

/// All checks, in the order of the report: what was judged by, the table, the partitions, the kernel.
pub static REGISTRY: &[Check] = &[
    Check { name: "topology", about: "What the device reports can be believed.", run: topology::check },
    Check { name: "table", about: "The table was read whole, in a unit that is known.", run: table::check },
    Check { name: "gpt", about: "Both copies of a GPT are whole, equal and in place.", run: gpt::check },
    Check {
        name: "mbr",
        about: "The EBR chains of an MBR are whole and lie between partitions.",
        run: mbr::check,
    },
    Check {
        name: "partitions",
        about: "Partitions lie on the disk, apart from each other and from the table.",
        run: partitions::check,
    },
    Check {
        name: "starts",
        about: "Partitions begin and end on the grids of the medium.",
        run: starts::check,
    },
    Check {
        name: "whole-disk",
        about: "A disk that is used whole begins on the grid.",
        run: whole_disk::check,
    },
    Check {
        name: "contents",
        about: "File systems are made for the sectors of the device.",
        run: contents::check,
    },
    Check { name: "kernel", about: "The kernel uses the partitions that the table has.", run: kernel::check },
];
