use gpt::partition_types as guids;
use uuid::Uuid;

use super::TableKind;
use crate::table::PartitionType;

/// The aliases with the MBR type byte and the GPT type of each; a type that a table does not have is `None`.
static ALIASES: &[(&str, Option<u8>, Option<&guids::Type>)] = &[
    ("linux", Some(0x83), Some(&guids::LINUX_FS)),
    ("esp", Some(0xEF), Some(&guids::EFI)),
    ("efi", Some(0xEF), Some(&guids::EFI)),
    ("swap", Some(0x82), Some(&guids::LINUX_SWAP)),
    ("lvm", Some(0x8E), Some(&guids::LINUX_LVM)),
    ("raid", Some(0xFD), Some(&guids::LINUX_RAID)),
    ("home", Some(0x83), Some(&guids::LINUX_HOME)),
    ("root", Some(0x83), Some(ROOT)),
    ("bios-boot", None, Some(&guids::BIOS)),
    ("msr", None, Some(&guids::MICROSOFT_RESERVED)),
    ("prep", Some(0x41), Some(&guids::PPC_BOOT)),
    ("ntfs", Some(0x07), Some(&guids::BASIC)),
    ("fat32", Some(0x0C), Some(&guids::BASIC)),
];

/// The root partition of this machine's kind, by the Discoverable Partitions Specification.
#[cfg(target_arch = "aarch64")]
const ROOT: &guids::Type = &guids::LINUX_ROOT_ARM_64;
#[cfg(target_arch = "x86_64")]
const ROOT: &guids::Type = &guids::LINUX_ROOT_X64;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
const ROOT: &guids::Type = &guids::LINUX_FS;

/// The type that an alias stands for.
pub(super) fn named(table: TableKind, word: &str) -> Option<PartitionType> {
    let (_, byte, guid) = ALIASES.iter().find(|(alias, ..)| alias.eq_ignore_ascii_case(word))?;
    match table {
        TableKind::Mbr => byte.map(PartitionType::Mbr),
        TableKind::Gpt => guid.map(|type_| PartitionType::Gpt(type_.guid)),
    }
}

/// The type that a raw code stands for: a byte in hexadecimal, or a GUID. 0 would mean a free slot.
pub(super) fn coded(table: TableKind, word: &str) -> Option<PartitionType> {
    match table {
        TableKind::Mbr => {
            let hex = word.strip_prefix("0x").unwrap_or(word);
            let byte = u8::from_str_radix(hex, 16).ok().filter(|byte| *byte != 0)?;
            // A container and a protective entry are no partitions that hold anything.
            let type_ = PartitionType::Mbr(byte);
            (!type_.is_extended() && byte != crate::table::mbr::PROTECTIVE_TYPE).then_some(type_)
        }
        TableKind::Gpt => Uuid::try_parse(word).ok().filter(|guid| !guid.is_nil()).map(PartitionType::Gpt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_types_of_the_table() {
        let code = |table: TableKind, word| table.partition_type(word).and_then(PartitionType::code);
        assert_eq!(code(TableKind::Mbr, "esp").as_deref(), Some("0xef"));
        let esp = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
        assert_eq!(code(TableKind::Gpt, "ESP").as_deref(), Some(esp));
        assert_eq!(code(TableKind::Gpt, esp).as_deref(), Some(esp));
        assert_eq!(code(TableKind::Mbr, "8e").as_deref(), Some("0x8e"));
        assert_eq!(code(TableKind::Mbr, "0x07").as_deref(), Some("0x07"));
        for (table, word) in [
            (TableKind::Mbr, "msr"),
            (TableKind::Mbr, "05"),
            (TableKind::Mbr, "ee"),
            (TableKind::Mbr, "0"),
            (TableKind::Mbr, esp),
            (TableKind::Gpt, "8e"),
            (TableKind::Gpt, "00000000-0000-0000-0000-000000000000"),
            (TableKind::Gpt, "linus"),
        ] {
            assert_eq!(table.partition_type(word), None, "{word}");
        }
    }
}
