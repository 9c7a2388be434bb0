use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::table::{SectorSizeBasis, Table};

/// A disk that is used whole, without partitions, begins at byte 0: is that on the grid?
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let used_whole = subject.table.is_some_and(is_known_to_be_empty);
    let grid = subject.topology.physical_grid();
    if !used_whole || grid.contains(0) {
        return Ok(Vec::new());
    }
    Ok(vec![Finding::disk(
        Code::WholeDiskOffPhysical,
        format!(
            "byte 0 of the disk is {} bytes past a {}-byte physical boundary (alignment offset {})",
            grid.remainder(0),
            subject.topology.physical,
            subject.topology.alignment_offset
        ),
        "Whatever uses the whole disk without a partition (LVM, md, ZFS, a file system) is misaligned. Use a \
         partition instead, and let it begin on the grid; a jumper that shifts the drive by one sector is best \
         removed before there is data on it.",
    )])
}

/// There is no partition, and that is not because a table could not be read.
fn is_known_to_be_empty(table: &Table) -> bool {
    let readable = table.gpt.as_ref().is_none_or(|gpt| gpt.header().is_some());
    let ambiguous = matches!(table.sector_size_basis, SectorSizeBasis::Ambiguous(_));
    table.partitions.is_empty() && readable && !ambiguous
}
