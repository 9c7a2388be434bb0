//! What a drive says of itself: the answers to the questions that only the drive can answer, decoded.
//!
//! Decoding is pure: bytes go in, [`Identified`] facts come out, or the reason why the answer is worth nothing.
//! Drives and bridges answer with zeros, with half of an answer, with noise; of those nothing is taken. Asking is
//! the business of [`linux`](super::linux).
//!
//! ```
//! use align_core::device::identify::{Identification, Question, Unread};
//!
//! let mut identification = Identification::default();
//! identification.hear(Question::AtaIdentify, Ok(vec![0; 512]));
//! assert_eq!(identification.unread, [(Question::AtaIdentify, Unread::Blank)]);
//! assert_eq!(identification.facts.physical, None);
//! ```

use std::fmt;

use crate::topology::Identified;

mod ata;
mod models;
mod nvme;
mod scsi;

pub use ata::AtaIdentity;
pub use models::{KNOWN_MODELS, KnownModel};
pub use nvme::{LbaFormat, NvmeNamespace};
pub use scsi::{ReadCapacity, block_lengths, optimal_transfer_blocks, rotation_rate};

/// A question to a drive. All of them only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// ATA IDENTIFY DEVICE: 512 bytes.
    AtaIdentify,
    /// SCSI READ CAPACITY (16): 32 bytes.
    ReadCapacity,
    /// SCSI vital product data page B0, block limits.
    BlockLimits,
    /// SCSI vital product data page B1, block device characteristics.
    Characteristics,
    /// SCSI vital product data page B4, supported block lengths.
    BlockLengths,
    /// NVMe Identify Namespace: 4096 bytes.
    NvmeNamespace,
}

/// Why an answer is worth nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The system does not let this user ask.
    NotPermitted,
    /// The driver does not pass the question on, or the device does not know it.
    NotKnown,
    /// It could not be asked; in the system's words.
    Failed(String),
    /// So few bytes came, and so many are needed.
    Short {
        /// How many came.
        len: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Zeros, or all bits set.
    Blank,
    /// The checksum in the answer is not that of the answer.
    BadChecksum,
    /// What it says cannot be; with an example.
    Garbage(&'static str),
}

/// All that was heard from one drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identification {
    /// What partitions are judged by.
    pub facts: Identified,
    /// The model by the drive's own word (ATA), else by the kernel's.
    pub model: Option<String>,
    /// Which questions were answered.
    pub heard: Vec<Question>,
    /// Which were not, and why.
    pub unread: Vec<(Question, Unread)>,
    /// A format of its sectors that the drive itself calls better than the one in use.
    pub better_format: Option<BetterFormat>,
}

/// A format to which a drive could be set. Doing so erases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BetterFormat {
    /// An NVMe LBA format.
    Nvme {
        /// Its number, for `nvme format --lbaf`.
        index: u8,
        /// Its sector size in bytes.
        size: u64,
        /// Its relative performance, 0 for the best.
        performance: u8,
        /// The relative performance of the format in use.
        now: u8,
    },
    /// Logical blocks as large as the physical ones, in bytes, for `sg_format --size`.
    Scsi {
        /// The size of a logical block in bytes.
        size: u64,
    },
}

impl Identification {
    /// Takes the answer to a question, or the reason why there is none. What was heard first stays.
    pub fn hear(&mut self, question: Question, answer: Result<Vec<u8>, Unread>) {
        match answer.and_then(|bytes| self.decode(question, &bytes)) {
            Ok(()) => self.heard.push(question),
            Err(why) => self.unread.push((question, why)),
        }
    }

    /// Looks the model up among those that are known to misreport; the drive's own word goes before `by_kernel`,
    /// which may be cut short.
    pub fn look_up_model(&mut self, by_kernel: Option<String>) {
        self.model = self.model.take().or(by_kernel);
        let known = self.model.as_deref().and_then(KnownModel::find);
        self.facts.known_physical = known.map(|known| known.physical);
    }

    /// Whether there is nothing to say: no question was asked and the model is not known.
    pub fn is_empty(&self) -> bool {
        self.heard.is_empty() && self.unread.is_empty() && self.facts == Identified::default()
    }

    fn decode(&mut self, question: Question, bytes: &[u8]) -> Result<(), Unread> {
        let facts = &mut self.facts;
        match question {
            Question::AtaIdentify => {
                let ata = AtaIdentity::decode(bytes)?;
                facts.logical = facts.logical.or(ata.logical);
                facts.physical = facts.physical.or(ata.physical);
                facts.alignment_offset = facts.alignment_offset.or(ata.alignment_offset);
                facts.rpm = facts.rpm.or(ata.rpm);
                self.model = self.model.take().or(Some(ata.model));
            }
            Question::ReadCapacity => {
                let capacity = ReadCapacity::decode(bytes)?;
                facts.logical = facts.logical.or(Some(capacity.logical));
                facts.physical = facts.physical.or(Some(capacity.physical));
                facts.alignment_offset = facts.alignment_offset.or(Some(capacity.alignment_offset));
            }
            Question::BlockLimits => {
                let blocks = optimal_transfer_blocks(bytes)?;
                let size =
                    blocks.zip(facts.logical).and_then(|(blocks, size)| size.checked_mul(blocks.into()));
                facts.optimal_io = facts.optimal_io.or(size);
            }
            Question::Characteristics => facts.rpm = facts.rpm.or(rotation_rate(bytes)?),
            Question::BlockLengths => {
                let lengths = block_lengths(bytes)?;
                let better = facts.physical.filter(|physical| {
                    lengths.contains(physical) && facts.logical.is_some_and(|logical| logical < *physical)
                });
                self.better_format = better.map(|size| BetterFormat::Scsi { size });
            }
            Question::NvmeNamespace => {
                let namespace = NvmeNamespace::decode(bytes)?;
                facts.logical = facts.logical.or(Some(namespace.format.size));
                facts.write_granularity = facts.write_granularity.or(namespace.write_granularity);
                facts.optimal_io = facts.optimal_io.or(namespace.optimal_write);
                self.better_format = namespace.better.map(|better| BetterFormat::Nvme {
                    index: better.index,
                    size: better.size,
                    performance: better.performance,
                    now: namespace.format.performance,
                });
            }
        }
        Ok(())
    }
}

/// The answer as far as it has to go, unless it is shorter or says nothing at all.
fn answer(bytes: &[u8], needed: usize) -> Result<&[u8], Unread> {
    let answer = bytes.get(..needed).ok_or(Unread::Short { len: bytes.len(), needed })?;
    let blank = |byte: u8| answer.iter().all(|own| *own == byte);
    if blank(0) || blank(0xFF) { Err(Unread::Blank) } else { Ok(answer) }
}

/// The number at `at`, big-endian as SCSI has it; 0 beyond the answer, which callers have measured.
fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u16::from_be_bytes(*chunk))
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_be_bytes(*chunk))
}

/// The number at `at`, little-endian as ATA and NVMe have it.
fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u16::from_le_bytes(*chunk))
}

/// The rotation rate of ATA word 217 and of VPD page B1: 0 and reserved values say nothing.
fn rpm(medium_rotation_rate: u16) -> Option<u32> {
    let says = medium_rotation_rate == 1 || (0x0401..=0xFFFE).contains(&medium_rotation_rate);
    says.then_some(medium_rotation_rate.into())
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtaIdentify => "ATA IDENTIFY DEVICE",
            Self::ReadCapacity => "SCSI READ CAPACITY (16)",
            Self::BlockLimits => "SCSI VPD page B0",
            Self::Characteristics => "SCSI VPD page B1",
            Self::BlockLengths => "SCSI VPD page B4",
            Self::NvmeNamespace => "NVMe Identify Namespace",
        })
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted => write!(f, "not permitted; root may ask"),
            Self::NotKnown => write!(f, "the device does not know the question"),
            Self::Failed(why) => write!(f, "{why}"),
            Self::Short { len, needed } => write!(f, "the answer has only {len} bytes of {needed}"),
            Self::Blank => write!(f, "the answer is blank"),
            Self::BadChecksum => write!(f, "the checksum of the answer is wrong"),
            Self::Garbage(why) => write!(f, "the answer makes no sense: {why}"),
        }
    }
}
