use std::fmt;
use std::str::FromStr;

use super::Health;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing needs to be done.
    Info,
    /// Worth a look: something is not as it should be, and works all the same.
    Warning,
    /// Costs speed or endangers data.
    Error,
}

impl Severity {
    /// The word used in documents: `info`, `warning`, `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $word:literal, $severity:ident, $health:ident;)+) => {
        /// What a finding is about. Each code has a page of its own in `docs/findings/`.
        ///
        /// Codes are added, never renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $code,)+
        }

        impl Code {
            /// All codes, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$code,)+];

            /// The kebab-case word: `start-off-physical`.
            pub fn word(self) -> &'static str {
                match self { $(Self::$code => $word,)+ }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $(Self::$code => Severity::$severity,)+ }
            }

            /// What it says about the health of the table: `Ok` when it is about something else.
            pub fn health(self) -> Health {
                match self { $(Self::$code => Health::$health,)+ }
            }
        }
    };
}

codes! {
    /// A write to the disk was cut off in the middle.
    UnfinishedWrite = "unfinished-write", Error, Unknown;
    /// Partitions are on their way to another place.
    UnfinishedMove = "unfinished-move", Error, Unknown;
    /// A partition does not begin on a physical sector boundary.
    StartOffPhysical = "start-off-physical", Error, Ok;
    /// A partition begins on a physical boundary, but not on the disk's optimal grid.
    StartOffOptimal = "start-off-optimal", Warning, Ok;
    /// A partition begins on a physical boundary, but not on a whole MiB as partitioners do today.
    StartOffMebibyte = "start-off-mebibyte", Info, Ok;
    /// A partition does not end on a physical boundary.
    EndOffPhysical = "end-off-physical", Info, Ok;
    /// The claimed or missing physical sector size is not believed; 4096 is used.
    PhysicalSizeAssumed = "physical-size-assumed", Info, Ok;
    /// The reported physical sector size cannot be one.
    PhysicalSizeInvalid = "physical-size-invalid", Warning, Ok;
    /// The reported logical sector size cannot be one.
    LogicalSizeInvalid = "logical-size-invalid", Warning, Ok;
    /// A reported minimum or optimal I/O size is not believed.
    HintImplausible = "hint-implausible", Info, Ok;
    /// The kernel found no alignment offset that suits all layers of a stack.
    StackMisaligned = "stack-misaligned", Warning, Ok;
    /// The reported alignment offset cannot be one.
    AlignmentOffsetInvalid = "alignment-offset-invalid", Warning, Ok;
    /// sysfs and the device itself tell different sizes.
    KernelSourcesDisagree = "kernel-sources-disagree", Warning, Ok;
    /// The drive itself says something else about its sectors than the kernel.
    DriveAndKernelDisagree = "drive-and-kernel-disagree", Warning, Ok;
    /// The drive could be formatted to sectors that it calls better.
    BetterLbaFormat = "better-lba-format", Info, Ok;
    /// A disk that is used whole begins off the physical grid.
    WholeDiskOffPhysical = "whole-disk-off-physical", Warning, Ok;
    /// The partitions that the kernel uses are not those of the table.
    KernelTableStale = "kernel-table-stale", Warning, Ok;
    /// The table could not be read; only what the kernel shows is judged.
    TableNotRead = "table-not-read", Warning, Unknown;
    /// Part of the disk could not be read, and a table may have been there.
    ReadError = "read-error", Error, Unknown;
    /// The end of the image was not seen.
    EndNotSeen = "end-not-seen", Info, Unknown;
    /// The table is written in another sector size than the device has.
    TableOtherSectorSize = "table-other-sector-size", Warning, Ok;
    /// A file system is made for other sectors than the device has.
    ContentOtherSectorSize = "content-other-sector-size", Warning, Ok;
    /// Several sector sizes have a valid GPT.
    TableSectorSizeAmbiguous = "table-sector-size-ambiguous", Error, Damaged;
    /// An image of an optical disc that is a disk too.
    Isohybrid = "isohybrid", Info, Ok;
    /// An earlier GPT was left behind under an MBR or a file system.
    GptRemains = "gpt-remains", Warning, Ok;
    /// A GPT beside which the MBR has entries of its own.
    GptHybridMbr = "gpt-hybrid-mbr", Info, Ok;
    /// The backup copy of the GPT is not at the end of the disk.
    GptBackupMisplaced = "gpt-backup-misplaced", Warning, Stale;
    /// The protective entry does not fit the disk.
    GptProtectiveMbrStale = "gpt-protective-mbr-stale", Warning, Stale;
    /// A GPT without the entry that protects it.
    GptProtectiveMbrMissing = "gpt-protective-mbr-missing", Error, Repairable;
    /// The primary copy of the GPT is damaged.
    GptPrimaryBad = "gpt-primary-bad", Error, Repairable;
    /// The backup copy of the GPT is damaged or missing.
    GptBackupBad = "gpt-backup-bad", Error, Repairable;
    /// Both copies of the GPT are whole, and not the same.
    GptCopiesDiffer = "gpt-copies-differ", Error, Repairable;
    /// A GPT has more used entries than are read.
    GptTooManyEntries = "gpt-too-many-entries", Error, Damaged;
    /// A partition lies outside the space that the GPT's header gives to partitions.
    GptOutsideUsable = "gpt-outside-usable", Warning, Ok;
    /// A chain of EBRs runs in a circle.
    MbrEbrLoop = "mbr-ebr-loop", Error, Damaged;
    /// An EBR cannot be read or is none.
    MbrEbrBad = "mbr-ebr-bad", Error, Damaged;
    /// A chain has more EBRs than are followed.
    MbrEbrTooMany = "mbr-ebr-too-many", Error, Damaged;
    /// An EBR lies inside a partition.
    MbrEbrInsidePartition = "mbr-ebr-inside-partition", Error, Damaged;
    /// A logical partition reaches out of its container.
    MbrLogicalOutside = "mbr-logical-outside", Warning, Ok;
    /// Two partitions share sectors.
    PartitionsOverlap = "partitions-overlap", Error, Damaged;
    /// A partition ends beyond the disk.
    PartitionBeyondDisk = "partition-beyond-disk", Error, Damaged;
    /// A partition ends before it begins.
    PartitionInverted = "partition-inverted", Error, Damaged;
    /// A partition lies over the partition table itself.
    PartitionOverTable = "partition-over-table", Error, Damaged;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Code {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|code| code.word() == word).ok_or(())
    }
}
