use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::content::Kind;
use crate::table::gpt::{CopyFault, GptHeader, MAX_ENTRIES, PRIMARY_LBA};
use crate::table::mbr::MbrEntry;
use crate::table::{Gpt, Mbr, SectorSizeBasis, Table};
use crate::units::Lba;

const RESTORE_PRIMARY: &str = "Linux does not look at the backup copy by itself, so it sees no partitions. The \
                               backup is whole: save it (`sgdisk --backup=FILE DISK`), then restore the primary \
                               from it (`sfdisk --relocate gpt-bak-std DISK`).";
const RESTORE_BACKUP: &str = "The primary copy is whole and works; without a backup, one bad sector can lose it. Save \
                              it (`sgdisk --backup=FILE DISK`), then write the backup anew (`sfdisk --relocate \
                              gpt-bak-std DISK`).";
const BRING_BACK: &str = "Bring the missing end of the disk or image back first: tools refuse or claim to repair such a \
                          table without doing it. Only when the end is given up for good, back up and partition anew.";

const FAILING: &str = "The drive or its connection is failing: copy it first (`ddrescue`), and write nothing to it; \
                       then repair the copy.";
const LEAVE_DISC: &str = "It is the image of an optical disc on a larger medium: leave it as it is.";

/// Both copies of a GPT are whole, equal and in place, and its protective MBR fits.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let Some(table) = subject.table else { return Ok(Vec::new()) };
    let Some(gpt) = table.gpt.as_ref().filter(|_| !is_ambiguous(&table.sector_size_basis)) else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    match &table.mbr {
        None => findings.push(Finding::disk(
            Code::GptProtectiveMbrMissing,
            "there is a GPT, but no MBR that protects it",
            "Linux and most tools see no partitions this way, and the next tool may take the disk for empty. \
             `sgdisk --recompute-chs DISK` writes a new protective MBR and leaves the rest as it is. Do not save \
             with fdisk or sfdisk: they would begin an empty table.",
        )),
        Some(mbr) => {
            findings.extend(protective_wrong(subject, gpt, mbr));
            findings.extend(hybrid(subject, mbr));
        }
    }
    findings.extend(copies(subject, gpt));
    if gpt.truncated {
        findings.push(Finding::disk(
            Code::GptTooManyEntries,
            format!("the table has more than {MAX_ENTRIES} partitions; only the first {MAX_ENTRIES} were read"),
            "Linux uses no more than 256 partitions of a disk. Such a table was made by mistake or in bad faith.",
        ));
    }
    if let Some(header) = gpt.header() {
        findings.extend(outside_usable(subject, header));
    }
    Ok(findings)
}

fn is_ambiguous(basis: &SectorSizeBasis) -> bool {
    matches!(basis, SectorSizeBasis::Ambiguous(_))
}

fn copies(subject: &Subject<'_>, gpt: &Gpt) -> Vec<Finding> {
    let end_seen = subject.disk.size().is_some();
    match (&gpt.primary, &gpt.backup) {
        (Ok(primary), Ok(backup)) => {
            let difference = difference(primary, backup);
            difference.into_iter().chain(misplaced(subject, gpt, backup)).collect()
        }
        (Ok(_) | Err(CopyFault::NotSeen), Err(CopyFault::NotSeen)) if !end_seen => Vec::new(),
        (Ok(_), Err(fault)) => {
            let help = match fault {
                CopyFault::PastEnd { .. } => BRING_BACK,
                CopyFault::Unreadable(_) => FAILING,
                _ => RESTORE_BACKUP,
            };
            vec![backup_bad(fault, help)]
        }
        (Err(fault), Ok(backup)) => {
            let bad = primary_bad(fault, &restore_primary(subject, fault));
            std::iter::once(bad).chain(misplaced(subject, gpt, backup)).collect()
        }
        (Err(primary), Err(CopyFault::NotSeen)) if !end_seen => vec![primary_bad(
            primary,
            "The backup copy is at the end of the disk, which was not seen on standard input. Check the image \
             itself.",
        )],
        (Err(primary), Err(backup)) => {
            let unreadable = |fault| matches!(fault, &CopyFault::Unreadable(_));
            let lost = match whole_disk_content(subject) {
                _ if unreadable(primary) || unreadable(backup) => FAILING.to_owned(),
                Some(name) => format!(
                    "The first sectors look like {name} over the whole disk: if the disk is used that way, this is \
                     what an earlier partitioning left behind, and nothing is wrong with the data."
                ),
                None => "Both copies are bad, so the partitions cannot be read. Do not write to the disk; \
                         `testdisk` searches for partitions by what they hold."
                    .to_owned(),
            };
            vec![primary_bad(primary, &lost), backup_bad(backup, &lost)]
        }
    }
}

/// What the disk seems to be used for as a whole, where that overwrote the primary copy.
fn whole_disk_content(subject: &Subject<'_>) -> Option<&'static str> {
    let content = subject.table?.content.filter(|content| content.kind == Kind::FileSystem);
    content.map(|content| content.name)
}

fn restore_primary(subject: &Subject<'_>, fault: &CopyFault) -> String {
    match (fault, whole_disk_content(subject)) {
        (CopyFault::Unreadable(_), _) => FAILING.to_owned(),
        (_, Some(name)) => format!(
            "Do not restore it before you know what the disk is used for: its first sectors look like {name} over \
             the whole disk, which restoring the GPT would destroy. If it is used that way, the GPT is a leftover."
        ),
        (_, None) => RESTORE_PRIMARY.to_owned(),
    }
}

fn primary_bad(fault: &CopyFault, help: &str) -> Finding {
    Finding::disk(Code::GptPrimaryBad, format!("the primary GPT is bad: {}", describe(fault)), help)
}

fn backup_bad(fault: &CopyFault, help: &str) -> Finding {
    Finding::disk(Code::GptBackupBad, format!("the backup GPT is bad: {}", describe(fault)), help)
}

fn describe(fault: &CopyFault) -> String {
    match fault {
        CopyFault::NoSignature { lba } => format!("there is no header at LBA {lba}"),
        CopyFault::Header(reason) => format!("the header is damaged, {reason}"),
        CopyFault::Array(reason) => format!("the array of entries is damaged, {reason}"),
        CopyFault::PastEnd { lba } => {
            format!(
                "it should be at LBA {lba}, beyond the end of the disk (was it shrunk, or the image cut?)"
            )
        }
        CopyFault::NotSeen => "it did not arrive on standard input".to_owned(),
        CopyFault::Unreadable(reason) => format!("it cannot be read, {reason}"),
    }
}

fn difference(primary: &GptHeader, backup: &GptHeader) -> Option<Finding> {
    let what = if primary.disk_id != backup.disk_id {
        "they name different disk GUIDs".to_owned()
    } else if (primary.entry_count, primary.entry_size) != (backup.entry_count, backup.entry_size) {
        format!(
            "one has {} entries of {} bytes, the other {} of {}",
            primary.entry_count, primary.entry_size, backup.entry_count, backup.entry_size
        )
    } else if primary.array_crc != backup.array_crc {
        "their partitions are not the same".to_owned()
    } else if (primary.first_usable, primary.last_usable) != (backup.first_usable, backup.last_usable) {
        format!(
            "one gives LBA {} to {} to partitions, the other {} to {}",
            primary.first_usable, primary.last_usable, backup.first_usable, backup.last_usable
        )
    } else if primary.alternate != backup.my_lba || backup.alternate != PRIMARY_LBA {
        format!(
            "the primary says that the backup is at LBA {}, the backup is at LBA {} and says that the primary \
             is at LBA {}",
            primary.alternate, backup.my_lba, backup.alternate
        )
    } else {
        return None;
    };
    Some(Finding::disk(
        Code::GptCopiesDiffer,
        format!("both copies of the GPT are whole, but {what}"),
        "The primary was used, as systems do. One of the copies is of an earlier state: compare them \
         (`sgdisk --print`, `gdisk` recovery menu) before you let a tool copy one over the other.",
    ))
}

fn misplaced(subject: &Subject<'_>, gpt: &Gpt, backup: &GptHeader) -> Option<Finding> {
    let last = gpt.last_lba.filter(|last| *last != backup.my_lba)?;
    Some(Finding::disk(
        Code::GptBackupMisplaced,
        format!("the backup GPT is at LBA {}, the disk ends at LBA {last}", backup.my_lba),
        if subject.table.is_some_and(Table::is_isohybrid) {
            LEAVE_DISC
        } else {
            "The disk or image was enlarged after it was partitioned. Everything works; the new space can be used \
             once the backup is moved to the end: `sfdisk --relocate gpt-bak-std DISK`. Not on a member of a RAID \
             that keeps its own data at the end."
        },
    ))
}

/// The protective entry begins at LBA 1, or Linux does not see the GPT (`is_pmbr_valid` in
/// `block/partitions/efi.c`), and covers the disk, or as much as 32 bits can say. A hybrid MBR covers less on
/// purpose.
fn protective_wrong(subject: &Subject<'_>, gpt: &Gpt, mbr: &Mbr) -> Option<Finding> {
    let entry: &MbrEntry = mbr.protective()?;
    if Lba::new(entry.start.into()) != PRIMARY_LBA {
        return Some(Finding::disk(
            Code::GptProtectiveMbrMissing,
            format!(
                "the entry of the MBR that should protect the GPT begins at LBA {}, not at 1",
                entry.start
            ),
            "Linux sees no partitions this way. `gdisk DISK` and the keys x, n, w write a new protective MBR and \
             leave the GPT as it is.",
        ));
    }
    let covered = u64::from(entry.sectors);
    let expected = (subject.disk.size()? / gpt.sector_size.bytes()).saturating_sub(1);
    let is_hybrid = mbr.ordinary().next().is_some();
    if is_hybrid || covered == expected || covered == u64::from(u32::MAX) {
        return None;
    }
    Some(Finding::disk(
        Code::GptProtectiveMbrStale,
        format!(
            "the protective entry of the MBR covers {covered} sectors, the disk has {expected} behind the first"
        ),
        if subject.table.is_some_and(Table::is_isohybrid) {
            LEAVE_DISC
        } else {
            "The disk was enlarged or copied after it was partitioned. Linux does not mind, some firmwares do. \
             `sfdisk --relocate gpt-bak-std DISK` writes the entry anew."
        },
    ))
}

fn hybrid(subject: &Subject<'_>, mbr: &Mbr) -> Option<Finding> {
    // An entry of type 0 is a filler in the MBR of disc images.
    let entries: Vec<_> = mbr.ordinary().filter(|(_, entry)| entry.type_byte != 0).collect();
    if entries.is_empty() {
        return None;
    }
    let matches = |entry: &MbrEntry| {
        subject
            .bare_partitions()
            .any(|partition| partition.first == entry.first() && partition.last == entry.last())
    };
    let strays: Vec<String> =
        entries.iter().filter(|(_, entry)| !matches(entry)).map(|(number, _)| number.to_string()).collect();
    let stray = if strays.is_empty() {
        "each is a partition of the GPT too".to_owned()
    } else {
        format!("not in the GPT: MBR entry {}", strays.join(", "))
    };
    Some(Finding::disk(
        Code::GptHybridMbr,
        format!(
            "beside the GPT the MBR lists {} partition(s) of its own (a hybrid MBR); {stray}",
            entries.len()
        ),
        "The GPT was judged, as Linux uses it. Systems that do not know GPT use the MBR; keep both in step by hand. \
         parted drops the entries of the MBR when it saves.",
    ))
}

fn outside_usable(subject: &Subject<'_>, header: &GptHeader) -> Vec<Finding> {
    let outside = |first: Lba, last: Lba| first < header.first_usable || last > header.last_usable;
    subject
        .bare_partitions()
        .filter(|partition| !partition.is_inverted() && outside(partition.first, partition.last))
        .map(|partition| {
            Finding::partition(
                Code::GptOutsideUsable,
                partition.number,
                format!(
                    "lies at LBA {} to {}, not within LBA {} to {} that the header gives to partitions",
                    partition.first, partition.last, header.first_usable, header.last_usable
                ),
                "Tools may refuse to save such a table. Nothing is lost as long as it does not lie over the \
                 table itself.",
            )
        })
        .collect()
}
