use thiserror::Error;
use uuid::Uuid;

use crate::device::ReadError;

/// Why a layout cannot become a table.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// A part of the disk that must be known cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A number of a partition has no place in the table.
    #[error("partition {number}: sectors {first} to {last} cannot be written in {table}")]
    OutOfRange {
        /// Which.
        number: u32,
        /// Its first sector.
        first: u64,
        /// Its last sector.
        last: u64,
        /// The kind of table, for people.
        table: &'static str,
    },
    /// A number that the table cannot give, or has given already.
    #[error("partition {number}: {table} has no free slot with this number")]
    NoSlot {
        /// Which.
        number: u32,
        /// The kind of table, for people.
        table: &'static str,
    },
    /// A partition that is not there.
    #[error("the table has no partition {number}")]
    NoPartition {
        /// Which.
        number: u32,
    },
    /// The type of a partition is none of this table.
    #[error("partition {number}: its type is none that {table} can hold")]
    Type {
        /// Which.
        number: u32,
        /// The kind of table, for people.
        table: &'static str,
    },
    /// A container or a logical partition where there are only primaries.
    #[error("partition {number}: in {table} every partition is primary")]
    Kind {
        /// Which.
        number: u32,
        /// The kind of table, for people.
        table: &'static str,
    },
    /// A unique GUID that is not unique, or all zero.
    #[error("partition {number}: its GUID {id} is that of another partition, or none at all")]
    NotUnique {
        /// Which.
        number: u32,
        /// The GUID.
        id: Uuid,
    },
    /// A name that does not fit.
    #[error("partition {number}: its name is longer than 36 UTF-16 units, the room that a GPT has for it")]
    Name {
        /// Which.
        number: u32,
    },
    /// A logical partition whose EBR has no place.
    #[error("partition {number}: there is no room for its boot record (EBR) in front of it")]
    NoRecord {
        /// Which.
        number: u32,
    },
    /// A logical partition without a container.
    #[error("partition {number} is logical, and there is no extended container for it")]
    NoContainer {
        /// Which.
        number: u32,
    },
    /// The start of a container is what its chain counts from.
    #[error(
        "partition {number} is an extended container: its boot records (EBRs) count from its start, which stays"
    )]
    ContainerMoves {
        /// Which.
        number: u32,
    },
    /// A partition that does not begin or end on a sector of the other size.
    #[error(
        "partition {number} {what} at byte {byte}, which is no multiple of {to}: a table in sectors of {to} bytes cannot \
         describe it"
    )]
    NotWhole {
        /// Which.
        number: u32,
        /// "begins" or "ends".
        what: &'static str,
        /// The byte.
        byte: u128,
        /// The other sector size.
        to: u64,
    },
    /// An EBR that is on no sector of the other size.
    #[error(
        "partition {number}: its boot record (EBR) at byte {byte} is on no sector of {to} bytes, so its chain cannot be \
         followed there"
    )]
    RecordNotWhole {
        /// The partition that it describes; of one that describes none, its container.
        number: u32,
        /// Where it is.
        byte: u128,
        /// The other sector size.
        to: u64,
    },
    /// A partition that lies where the table of the other sector size has to be.
    #[error(
        "partition {number} lies where a GPT in sectors of {to} bytes has its own place (bytes {start} to {end})"
    )]
    TableMeets {
        /// Which.
        number: u32,
        /// The other sector size.
        to: u64,
        /// The first byte of the table's part.
        start: u128,
        /// One past its last byte.
        end: u128,
    },
    /// An entry that a hybrid MBR has beside the GPT cannot follow it.
    #[error("in the hybrid MBR, {0}")]
    Hybrid(Box<Self>),
    /// The table is in a state in which it cannot be edited.
    #[error("the partition table cannot be edited: {0}")]
    NotEditable(&'static str),
    /// The disk is too small for the table.
    #[error("the disk of {sectors} sectors is too small for this table")]
    TooSmall {
        /// How many sectors it has.
        sectors: u64,
    },
    /// An identifier of another kind of table.
    #[error("the identifier of the table is not one of {table}")]
    Identifier {
        /// The kind of table, for people.
        table: &'static str,
    },
}
