use crate::Error;
use crate::check::{Code, Finding, Subject};

/// A disk that is used whole, without partitions, begins at byte 0: is that on the grid?
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let used_whole = subject.table.is_some() && subject.partitions.is_empty();
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
        "What uses the whole disk without a partition (LVM, md, ZFS, a file system) is misaligned. Use a \
         partition instead, and let it begin on the grid; a jumper that shifts the drive by one sector is best \
         removed before there is data on it.",
    )])
}
