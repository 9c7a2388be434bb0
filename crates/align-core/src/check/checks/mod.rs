//! The checks themselves, one file for each entry of the registry.

pub(super) mod contents;
pub(super) mod gpt;
pub(super) mod kernel;
pub(super) mod mbr;
pub(super) mod partitions;
pub(super) mod starts;
pub(super) mod table;
pub(super) mod topology;
pub(super) mod whole_disk;
