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
    #[error("the disk of {bytes} bytes is too small for a partition and its table ({table})")]
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
    /// A type that the table does not have.
    #[error("partition {partition}: its type is none that a {table} can hold")]
    Type {
        /// Which.
        partition: usize,
        /// The kind of table, for people.
        table: &'static str,
    },
    /// A name for a partition of an MBR.
    #[error("partition {partition}: an MBR has no names; leave name= out, or use a GPT")]
    NoNames {
        /// Which.
        partition: usize,
    },
    /// A name that does not fit into a GPT.
    #[error("partition {partition}: its name has {units} UTF-16 units, and a GPT has room for 36")]
    NameTooLong {
        /// Which.
        partition: usize,
        /// How long it is.
        units: usize,
    },
    /// There is no table beside which partitions could be put.
    #[error("there is no partition table that could be kept; leave --keep out to make one")]
    NothingToKeep,
    /// A table stays, and another kind was asked for.
    #[error("the table that is kept is a {there}, not a {asked}")]
    OtherTable {
        /// The kind that is there, for people.
        there: &'static str,
        /// The kind that was asked for.
        asked: &'static str,
    },
    /// A table stays that is written for other sectors.
    #[error("the table that is kept counts in sectors of {table} bytes, and the disk has sectors of {disk}")]
    OtherSectorSize {
        /// Bytes of a sector of the table.
        table: u64,
        /// Bytes of a logical sector of the disk.
        disk: u64,
    },
    /// No stretch of free space is large enough.
    #[error(
        "partition {partition} does not fit beside what is there: {missing} bytes are missing ({asked} are asked for, \
         the largest free stretch for it has {largest})"
    )]
    NoRoom {
        /// Which.
        partition: usize,
        /// Its size in bytes.
        asked: u128,
        /// The size of the largest stretch that it could take.
        largest: u128,
        /// How much is missing there.
        missing: u128,
    },
    /// Space there may be, but no number.
    #[error("partition {partition}: the {table} that is kept has no free place for another partition")]
    NoSlot {
        /// Which.
        partition: usize,
        /// The kind of table, for people.
        table: &'static str,
    },
}
