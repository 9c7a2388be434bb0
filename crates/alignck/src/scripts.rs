//! A layout as input for the tools that people have. Each gives exactly the sectors of the layout.

use std::io::{self, Write};
use std::path::Path;

use align_core::plan::{Layout, Planned, TableKind};
use align_core::table::{PartitionKind, PartitionType};

use crate::cli::OutputArg;

/// What stands for the disk where none was named.
const NO_DISK: &str = "DISK";

/// Why the tool cannot make exactly this, if it cannot.
pub(crate) fn cannot_say(output: OutputArg, layout: &Layout) -> Option<String> {
    if output == OutputArg::Sgdisk && layout.table == TableKind::Mbr {
        return Some("sgdisk makes only GPTs; use --output sfdisk or parted for an MBR".into());
    }
    let (tool, is_bad): (_, fn(char) -> bool) = match output {
        OutputArg::Table | OutputArg::Json => return None,
        // It cuts a name at the colon, and writes no second half of a pair of surrogates.
        OutputArg::Sgdisk => ("sgdisk", |c| c == ':' || c.is_control() || c.len_utf16() > 1),
        OutputArg::Sfdisk => ("sfdisk", is_bad_in_quotes),
        OutputArg::Parted => ("parted", is_bad_in_quotes),
    };
    let names = layout.partitions.iter().filter_map(|planned| planned.name.as_ref());
    let name = names.into_iter().find(|name| name.chars().any(is_bad))?;
    Some(format!("{tool} cannot be given the name '{}'; `alignck apply` writes it", name.escape_debug()))
}

fn is_bad_in_quotes(c: char) -> bool {
    matches!(c, '"' | '\\') || c.is_control() || c.len_utf16() > 1
}

/// A script for the standard input of sfdisk.
pub(crate) fn sfdisk(out: &mut dyn Write, layout: &Layout) -> io::Result<()> {
    let label = match layout.table {
        TableKind::Gpt => "gpt",
        TableKind::Mbr => "dos",
    };
    writeln!(out, "label: {label}\nunit: sectors\nsector-size: {}", layout.sector_size)?;
    // libfdisk would begin at its own first sector otherwise, and refuse what comes before.
    if layout.table == TableKind::Gpt {
        writeln!(out, "first-lba: {}", layout.first_usable)?;
    }
    writeln!(out)?;
    for planned in &layout.partitions {
        write!(
            out,
            "{} : start={}, size={}, type={}",
            planned.number,
            planned.first,
            planned.sectors(),
            code(planned)
        )?;
        if let Some(name) = &planned.name {
            write!(out, ", name=\"{name}\"")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A command line of sgdisk.
pub(crate) fn sgdisk(out: &mut dyn Write, layout: &Layout, disk: Option<&Path>) -> io::Result<()> {
    // An alignment of 1 keeps sgdisk from moving starts.
    write!(out, "sgdisk --clear --set-alignment=1")?;
    for planned in &layout.partitions {
        let number = planned.number;
        write!(
            out,
            " \\\n  --new={number}:{}:{} --typecode={number}:{}",
            planned.first,
            planned.last,
            code(planned)
        )?;
        if let Some(name) = &planned.name {
            write!(out, " --change-name={}", shell(&format!("{number}:{name}")))?;
        }
    }
    writeln!(out, " \\\n  {}", disk_word(disk))
}

/// A command line of parted.
pub(crate) fn parted(out: &mut dyn Write, layout: &Layout, disk: Option<&Path>) -> io::Result<()> {
    let label = match layout.table {
        TableKind::Gpt => "gpt",
        TableKind::Mbr => "msdos",
    };
    write!(out, "parted --script --align none {} \\\n  unit s mklabel {label}", disk_word(disk))?;
    for planned in &layout.partitions {
        let what = match (layout.table, planned.kind, &planned.name) {
            (TableKind::Gpt, _, name) => shell(&format!("\"{}\"", name.as_deref().unwrap_or_default())),
            (TableKind::Mbr, kind, _) => kind.word().to_owned(),
        };
        write!(out, " \\\n  mkpart {what} {}s {}s", planned.first, planned.last)?;
    }
    for planned in &layout.partitions {
        if let Some(flag) = flag(planned) {
            write!(out, " \\\n  set {} {flag} on", planned.number)?;
        }
    }
    writeln!(out)
}

/// parted knows types by flags only.
fn flag(planned: &Planned) -> Option<&'static str> {
    if planned.kind == PartitionKind::Extended {
        return None;
    }
    let is = |word| {
        [TableKind::Gpt, TableKind::Mbr].iter().any(|table| table.partition_type(word) == Some(planned.type_))
    };
    let flags = [
        ("esp", "esp"),
        ("swap", "swap"),
        ("lvm", "lvm"),
        ("raid", "raid"),
        ("bios-boot", "bios_grub"),
        ("msr", "msftres"),
        ("prep", "prep"),
        ("ntfs", "msftdata"),
    ];
    flags.into_iter().find(|(word, _)| is(*word)).map(|(_, flag)| flag)
}

/// The type as sfdisk and sgdisk read it.
fn code(planned: &Planned) -> String {
    match planned.type_ {
        PartitionType::Mbr(byte) => format!("{byte:x}"),
        other => other.code().unwrap_or_default(),
    }
}

fn disk_word(disk: Option<&Path>) -> String {
    disk.map_or(NO_DISK.to_owned(), |disk| shell(&disk.display().to_string()))
}

/// As one word of a shell.
fn shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':' | '=' | '+');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(shell("/dev/sda"), "/dev/sda");
        assert_eq!(shell("1:my disk"), "'1:my disk'");
        assert_eq!(shell("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(shell(""), "''");
    }
}
