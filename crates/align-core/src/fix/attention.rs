//! What somebody has to look after when partitions have moved.

use super::Inside;
use crate::content;
use crate::device::BlockDevice;
use crate::patch::Move;
use crate::table::{Label, Table};

/// Where boot code ends in sector 0.
const BOOT_CODE_LEN: usize = 440;
/// The flag of an MBR entry that is started from.
const ACTIVE: u8 = 0x80;

/// What belongs to something larger.
const MEMBERS: [&str; 6] =
    ["LUKS", "LVM physical volume", "md RAID member", "bcache", "bcachefs", "Ceph BlueStore"];

pub(super) fn list(device: &dyn BlockDevice, table: &Table, moves: &[Move]) -> Vec<String> {
    let content = |moved: &Move| {
        let inside = Inside { device, start: moved.from, len: moved.len };
        let len = usize::try_from(moved.len).unwrap_or(usize::MAX).min(content::FRONT_LEN);
        let front = inside.read(0, len).unwrap_or_default();
        (content::recognise(&front).map(|content| content.name), starts(&front))
    };
    let contents: Vec<_> = moves.iter().map(content).collect();
    let mbr = table.mbr.as_ref().filter(|_| table.label == Label::Mbr);
    let has_code = mbr.is_some_and(|mbr| {
        mbr.sector().get(..BOOT_CODE_LEN).is_some_and(|code| code.iter().any(|byte| *byte != 0))
    });
    let is_active = |number: u32| {
        let entry = |mbr: &crate::table::Mbr| {
            let slot = usize::try_from(number.checked_sub(1)?).ok()?;
            Some(mbr.entries().get(slot)?.boot_indicator == ACTIVE)
        };
        mbr.and_then(entry).unwrap_or(false)
    };
    let mut list = Vec::new();
    let holds =
        |names: &[&str]| contents.iter().any(|(name, _)| name.is_some_and(|name| names.contains(&name)));
    if mbr.is_some() && holds(&["NTFS", "ReFS", "BitLocker"]) {
        list.push(
            "Windows on an MBR disk knows its partitions by where they begin: should it start from this disk, repair its \
             boot entry from the installation medium (`bootrec /rebuildbcd`), and drive letters may change"
                .to_owned(),
        );
    }
    let has_loader = moves
        .iter()
        .zip(&contents)
        .any(|(moved, (_, starts))| *starts || (has_code && is_active(moved.number)));
    if has_code && (has_loader || holds(&["ext4", "ext3", "ext2", "XFS", "btrfs"])) {
        list.push(
            "the boot loader of this disk may have noted sectors (LILO, extlinux and GRUB without its own space do): have \
             a rescue medium at hand and install it again (`grub-install`) if the disk does not start"
                .to_owned(),
        );
    }
    for (moved, (name, _)) in moves.iter().zip(&contents) {
        if let Some(name) = name.filter(|name| MEMBERS.contains(name)) {
            list.push(format!(
                "partition {} holds {}, which moves like any other: what is on top of it finds it where it is then",
                moved.number,
                with_article(name)
            ));
        }
    }
    if holds(&["swap"]) {
        list.push(
            "a system that resumes from this swap by its offset on the disk has to be told the new one"
                .into(),
        );
    }
    list.push(
        "whatever names these partitions by sectors or bytes (mount -o offset=, dmsetup and kpartx tables, virtual \
         machines that use them raw) has to be told the new places; by UUID, label or number they are found as before"
            .to_owned(),
    );
    list
}

/// Whether the first sector looks like one that a computer starts from.
fn starts(front: &[u8]) -> bool {
    front.get(510..512) == Some(&[0x55, 0xAA])
        && front.first().is_some_and(|first| [0xEB, 0xE9, 0xFA, 0x33].contains(first))
}

fn with_article(name: &str) -> String {
    if name.ends_with("member") || name.ends_with("volume") {
        let article = if name.starts_with(['L', 'm']) { "an" } else { "a" };
        return format!("{article} {name}");
    }
    name.to_owned()
}
