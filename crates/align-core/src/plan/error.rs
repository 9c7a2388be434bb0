use thiserror::Error;

/// Why a layout cannot be made. Partitions are counted as they were asked for, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nothing was asked for.
    #[error("no partition was asked for; give at least one size")]
    Nothing,
    /// A size of 0.
    #[error("partition {partition}: a size of 0 is no partition")]
    Empty {
        /// Which.
        partition: usize,
    },
    /// Something comes after the rest.
    #[error("partition {partition}: it comes after the one that takes the rest, which leaves nothing for it")]
    AfterRest {
        /// Which.
        partition: usize,
    },
    /// The space ends before the partition does.
    #[error(
        "partition {partition} does not fit: {missing} bytes are missing ({asked} are asked for, {available} are left)"
    )]
    DoesNotFit {
        /// Which.
        partition: usize,
        /// Its size in bytes.
        asked: u128,
        /// How many of them fit.
        available: u128,
        /// How many do not.
        missing: u128,
    },
    /// Logical partitions do not fit; each costs a gap for its boot record besides its size.
    #[error(
        "partition {partition} does not fit: {missing} bytes are missing ({asked} are asked for, {available} are \
         left; each logical partition costs {gap} more in front of it for its boot record)"
    )]
    LogicalDoesNotFit {
        /// Which.
        partition: usize,
        /// Its size in bytes.
        asked: u128,
        /// How many of them fit.
        available: u128,
        /// How many do not.
        missing: u128,
        /// The gap in bytes.
        gap: u128,
    },
    /// More partitions than the table holds.
    #[error("{asked} partitions are asked for, a fresh {table} holds {most}")]
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// How many there can be.
        most: usize,
        /// The kind of table, for people.
        table: &'static str,
    },
    /// A number of primaries that an MBR cannot have.
    #[error("{asked} primary partitions are not possible: 1 to 4 without logical ones, 1 to 3 beside them")]
    Primaries {
        /// How many were asked for.
        asked: u32,
    },
    /// A grain of 0 or beyond any disk.
    #[error("a grain of {bytes} bytes is not possible; usual are 1 MiB and 4 MiB")]
    Grain {
        /// The grain.
        bytes: u64,
    },
    /// There is not even room for the table.
    #[error("the disk of {bytes} bytes is too small for a {table} and a partition")]
    DiskTooSmall {
        /// The size of the disk.
        bytes: u128,
        /// The kind of table, for people.
        table: &'static str,
    },
    /// The grid of the medium has no position that is a whole sector.
    #[error(
        "no {sector}-byte sector number lies on the grain: the alignment offset is {offset} bytes; say what is right \
         with --topology offset=BYTES"
    )]
    OffGrid {
        /// The logical sector size.
        sector: u64,
        /// The offset.
        offset: u64,
    },
}
