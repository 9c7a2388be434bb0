//! Bytes that move to another place on their disk, while the power may fail at any instant.
//!
//! A [`Job`] says which bytes move ([`Shift`]) and what is written around them: marks before, so that nobody takes
//! half-moved data for whole, and the final bytes behind. A [`Mover`] does it, forwards or back, from wherever it was
//! cut off: all that it needs to know is in a journal, which is on the medium before the first byte of the job.
//!
//! ```
//! use align_core::device::{BlockDevice, MemoryDevice};
//! use align_core::realign::{Job, Mover, Quiet, Shift};
//!
//! let disk = MemoryDevice::new(1 << 20);
//! disk.write_at(63 * 512, b"data")?;
//! let job = Job { shifts: vec![Shift { from: 63 * 512, to: 64 * 512, len: 8192 }], ..Job::default() };
//! let journal = MemoryDevice::new(1 << 20);
//!
//! Mover::begin(&disk, &journal, 0, &job, 4096)?.forward(&mut Quiet)?;
//! let mut found = [0; 4];
//! disk.read_at(64 * 512, &mut found)?;
//! assert_eq!(&found, b"data");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why nothing is lost
//!
//! Right after a flush has returned, each byte that moves is whole in one of two places, and the newest record of
//! progress says in which. A step takes the next bytes:
//!
//! - A *direct* step is no longer than the distance, so what it overwrites is no byte that still has to move: they
//!   are copied, together with a record that holds their checksum, and flushed. The checksum tells after a crash
//!   whether they have arrived. If not, they are still where they were, and are copied again.
//! - A *journalled* step goes through the journal first: the whole blocks of 4096 bytes that it will write, what is
//!   around the moved bytes in them included, with a checksum in the record of progress. Cut off, it is written again
//!   from there. It is needed when the distance is small, and where a step does not begin and end with a block: a
//!   power cut may tear the block that is being written, and with it bytes that nobody meant to write.
//!
//! Two records alternate, and two places for journalled bytes. The flush that makes the second record durable also
//! makes what the step before has written durable, so that one flush a step is enough; after a crash the last two
//! steps are written again.
//!
//! # What cannot be read
//!
//! A read that fails is tried again, then in halves, down to the sector that is bad. All in front of it still moves;
//! then the move stops where it can go on or back, or with [`Care::skip_bad`] puts zeros in its place.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

mod ahead;
mod care;
mod course;
mod description;
mod error;
mod find;
mod foreign;
mod job;
mod journal;
mod load;
mod marker;
mod mover;
mod progress;
mod reading;
mod recovery;
mod runs;
mod stand;
mod step;

pub use care::Care;
pub use error::RealignError;
pub use find::{Found, SPOTS_EVERY, SPOTS_REACH, find, search};
pub use job::{Job, Shift};
pub use journal::journal_len;
pub use marker::{MARKER_LEN, Marker, moving_type};
pub use mover::{Ended, Mover};
pub use stand::{Stand, peek};

/// The largest physical sector that a power cut may tear: no byte in it is safe while a part of it is written.
const BLOCK: u64 = 4096;

/// The longest step that goes through a journal, in bytes. Two are in memory at once; longer ones were not faster.
pub const WINDOW: u64 = 16 << 20;

/// Who is told how far a move has come, and may stop it.
pub trait Watch {
    /// So many of all bytes are at their new place (or back at the old one).
    fn moved(&mut self, done: u64, of: u64);

    /// Whether it shall stop at the next moment at which it can go on later.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Watch for Quiet {
    fn moved(&mut self, _done: u64, _of: u64) {}
}
