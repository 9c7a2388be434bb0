use uuid::Uuid;

use super::{gpt, mbr};
use crate::units::{Lba, SectorSize};

/// A partition as its table has it, in the unit of that table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The number that the kernel gives it: slot plus one, logicals from 5 on.
    pub number: u32,
    /// Its place in the scheme of the table.
    pub kind: PartitionKind,
    /// The first sector.
    pub first: Lba,
    /// The last sector, itself part of the partition. A GPT entry can have it before the first: such a
    /// partition is inverted and has no size.
    pub last: Lba,
    /// What it is for.
    pub type_: PartitionType,
    /// The name in a GPT entry, up to the first NUL; what is no valid UTF-16 is replaced.
    pub name: Option<String>,
    /// The unique GUID of a GPT entry.
    pub id: Option<Uuid>,
}

impl Partition {
    /// Whether the entry ends before it begins: such a partition has no size and no sectors.
    pub fn is_inverted(&self) -> bool {
        self.last < self.first
    }

    /// The size in sectors, `None` when the entry is inverted or the size is 2^64.
    pub fn sectors(&self) -> Option<u64> {
        self.first.sectors_through(self.last)
    }

    /// The position of the first byte.
    pub fn start_position(&self, unit: SectorSize) -> u128 {
        self.first.position(unit)
    }

    /// The position one past the last byte.
    pub fn end_position(&self, unit: SectorSize) -> u128 {
        self.last.position(unit).saturating_add(u128::from(unit.bytes()))
    }

    /// Whether `lba` is one of its sectors.
    pub fn covers(&self, lba: Lba) -> bool {
        self.first <= lba && lba <= self.last
    }
}

/// The place of a partition in the scheme of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionKind {
    /// An entry of the MBR's sector, or any GPT partition.
    Primary,
    /// The container of logical partitions.
    Extended,
    /// A partition inside the container, described by an EBR.
    Logical,
}

impl PartitionKind {
    /// The word used in documents: `primary`, `extended`, `logical`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Extended => "extended",
            Self::Logical => "logical",
        }
    }
}

/// What a partition is for, as its entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionType {
    /// The type byte of an MBR entry.
    Mbr(u8),
    /// The type GUID of a GPT entry.
    Gpt(Uuid),
    /// Not known: the table itself could not be read.
    Unknown,
}

impl PartitionType {
    /// The code: `0x83`, or the GUID in upper case; `None` when it is not known.
    pub fn code(self) -> Option<String> {
        match self {
            Self::Mbr(byte) => Some(format!("0x{byte:02x}")),
            Self::Gpt(guid) => Some(guid.hyphenated().to_string().to_uppercase()),
            Self::Unknown => None,
        }
    }

    /// The type of a [`code`](Self::code), `Unknown` for anything else.
    pub fn from_code(code: &str) -> Self {
        if let Some(byte) = code.strip_prefix("0x").and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            return Self::Mbr(byte);
        }
        Uuid::try_parse(code).map_or(Self::Unknown, Self::Gpt)
    }

    /// What people call it: "Linux", "EFI System". `None` for a type that is in no list.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Mbr(byte) => mbr::type_name(byte),
            Self::Gpt(guid) => gpt::type_name(&guid),
            Self::Unknown => None,
        }
    }

    /// Whether it is a container of logical partitions: 05, 0F or 85, as in the kernel.
    pub fn is_extended(self) -> bool {
        matches!(self, Self::Mbr(0x05 | 0x0F | 0x85))
    }

    /// Whether nothing lives there whose speed matters: it is read once at boot, or never.
    ///
    /// Containers, BIOS boot, Microsoft reserved, PReP, and OEM utilities (MBR type DE).
    pub fn is_exempt(self) -> bool {
        match self {
            Self::Mbr(byte) => self.is_extended() || matches!(byte, 0x41 | 0xDE),
            Self::Gpt(guid) => gpt::EXEMPT_TYPES.contains(&guid),
            Self::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_as_documents_have_them() {
        let esp = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
        for (code, name) in [("0x83", "Linux"), ("0x07", "NTFS / exFAT / HPFS"), (esp, "EFI System")] {
            let type_ = PartitionType::from_code(code);
            assert_eq!(type_.code().as_deref(), Some(code));
            assert_eq!(type_.name(), Some(name));
        }
        assert_eq!(PartitionType::from_code("swap"), PartitionType::Unknown);
    }

    #[test]
    fn what_does_not_matter_is_exempt() {
        let exempt = |code| PartitionType::from_code(code).is_exempt();
        assert!(exempt("0x05") && exempt("0x0f") && exempt("0x85") && exempt("0xde"));
        assert!(exempt("21686148-6449-6E6F-744E-656564454649"), "BIOS boot");
        assert!(exempt("E3C9E316-0B5C-4DB8-817D-F92DF00215AE"), "Microsoft reserved");
        assert!(exempt("9E1A2D38-C612-4316-AA26-8B49521E5A8B"), "PReP");
        assert!(!exempt("0x83") && !exempt("C12A7328-F81F-11D2-BA4B-00A0C93EC93B"));
    }

    #[test]
    fn an_inverted_partition_has_no_size() {
        let partition = Partition {
            number: 1,
            kind: PartitionKind::Primary,
            first: Lba::new(100),
            last: Lba::new(99),
            type_: PartitionType::Unknown,
            name: None,
            id: None,
        };
        assert_eq!(partition.sectors(), None);
        assert!(partition.is_inverted());
        assert!(!partition.covers(Lba::new(99)));
    }
}
