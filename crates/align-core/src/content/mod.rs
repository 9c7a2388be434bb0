//! What bytes look like: file systems, foreign containers, tables of other systems.
//!
//! Recognition is by the magic that each format documents, and by nothing else: it names what is there, it
//! does not vouch for its health.
//!
//! ```
//! use align_core::content::{self, Kind};
//!
//! let mut front = vec![0; 4096];
//! front[..4].copy_from_slice(b"XFSB");
//! let content = content::recognise(&front).expect("XFS");
//! assert_eq!((content.name, content.kind), ("XFS", Kind::FileSystem));
//! ```

use std::ops::Range;

mod boot_sector;
pub mod moving;
mod sector_size;
mod signatures;

pub use boot_sector::{BootSector, boot_sector};
pub use sector_size::sector_size;
pub use signatures::{FIXED_VHD_FOOTER, FRONT_LEN, at_end};

/// Something that was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// What it is.
    pub kind: Kind,
    /// Its name, for people: "ext4", "qcow2".
    pub name: &'static str,
    /// What to do with a [`Kind::Container`] so that the disk inside can be looked at; empty for others.
    pub remedy: &'static str,
}

/// The sorts of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file system, swap, an encrypted volume, a RAID or LVM member: what a partition or a whole disk holds.
    FileSystem,
    /// An optical file system: its first 32 KiB are free for boot code, and often hold a table beside it.
    Optical,
    /// A disk image in a format of its own, or a compressed file: the bytes are not those of the disk.
    Container,
    /// A partition table of another system.
    OtherTable,
}

/// What the first bytes of a disk or of a partition look like; [`FRONT_LEN`] of them see everything.
pub fn recognise(front: &[u8]) -> Option<Content> {
    signatures::first(front, |_| true).or_else(|| {
        boot_sector(front).map(|sector| Content { kind: Kind::FileSystem, name: sector.name(), remedy: "" })
    })
}

/// The bytes by which something is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What is recognised by them.
    pub name: &'static str,
    /// Where they are, from the front on. Without them it is not recognised any more.
    pub range: Range<usize>,
}

/// Everything that the first bytes look like, with the bytes that say so: what was made last, and what shows through
/// from before.
pub fn traces(front: &[u8]) -> Vec<Trace> {
    let sector = boot_sector(front).map(|sector| Trace { name: sector.name(), range: 0..BOOT_SECTOR_LEN });
    let mut traces: Vec<Trace> = signatures::all(front).chain(sector).collect();
    // The boot sector contains the marks of some formats.
    traces.sort_by_key(|trace| (trace.range.start, std::cmp::Reverse(trace.range.end)));
    traces
}

/// The length of a boot sector.
const BOOT_SECTOR_LEN: usize = 512;

/// What the first bytes look like, if that is a foreign container.
pub fn recognise_container(front: &[u8]) -> Option<Content> {
    signatures::first(front, |kind| kind == Kind::Container)
}
