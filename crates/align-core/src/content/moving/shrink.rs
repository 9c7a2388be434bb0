/// How people make the content of a partition smaller, before the partition itself: a sentence with the commands.
///
/// The content has the `name` that [`recognise`](crate::content::recognise) gives it, the partition has this `node`,
/// and afterwards the content shall have at most `to_bytes` bytes; a tool that counts in larger units is given less.
/// `None` for what is not known to be resized in any way.
pub fn shrink_advice(name: &str, node: &str, to_bytes: u64) -> Option<String> {
    let kibibytes = whole(to_bytes, KIB);
    Some(match name {
        "ext2" | "ext3" | "ext4" => format!(
            "unmount it, run `e2fsck -f {node}` and `resize2fs {node} {}K`, then make the partition smaller",
            whole(kibibytes, 4).saturating_mul(4)
        ),
        "btrfs" => format!(
            "mount it, run `btrfs filesystem resize {}K MOUNTPOINT` and unmount it, then make the partition smaller",
            whole(kibibytes, 4).saturating_mul(4)
        ),
        "NTFS" => format!(
            "unmount it and run `ntfsresize --size {} {node}`, or shrink the volume in the disk management of \
             Windows; then make the partition smaller",
            whole(to_bytes, PAGE).saturating_mul(PAGE)
        ),
        // It rounds up, and takes the partition with it.
        "FAT" => format!(
            "unmount it and run `fatresize --size {} {node}`, which makes the partition smaller too (FAT16 and \
             FAT32; of FAT12 back up the files and make it anew)",
            whole(to_bytes, MIB).saturating_sub(1).saturating_mul(MIB)
        ),
        "reiserfs" => format!(
            "unmount it and run `resize_reiserfs -s {}K {node}`, then make the partition smaller",
            whole(kibibytes, 4).saturating_mul(4)
        ),
        "NILFS2" => format!(
            "mount it, run `nilfs-resize {node} {}K` and unmount it, then make the partition smaller",
            whole(kibibytes, 4).saturating_mul(4)
        ),
        "LVM physical volume" => format!(
            "run `pvresize --setphysicalvolumesize {kibibytes}K {node}`, after `pvmove` of what lies behind that; \
             then make the partition smaller"
        ),
        "LUKS" => format!(
            "open it, shrink what is inside to {kibibytes} KiB less the offset of the data that `cryptsetup luksDump \
             {node}` names, and close it; then make the partition smaller, whose size LUKS takes by itself"
        ),
        "md RAID member" => format!(
            "shrink what is on the array first, then the array with `mdadm --grow ARRAY --size=KIBIBYTES`, to \
             {kibibytes} less the data offset that `mdadm --examine {node}` names; then make the partitions smaller"
        ),
        "swap" => format!(
            "run `swapoff {node}`, make the partition smaller, and make the swap area anew with `mkswap --uuid UUID \
             {node}`, with the UUID that `blkid {node}` names before"
        ),
        "suspended system in swap" => format!(
            "start the system that is suspended there and shut it down, without hibernation; then make the partition \
             smaller, and the swap area anew with `mkswap {node}`"
        ),
        "BitLocker" | "ReFS" => {
            format!("shrink the volume to at most {kibibytes} KiB in the disk management of Windows")
        }
        "HFS+" | "HFSX" => format!("run `diskutil resizeVolume {node} {kibibytes}K` in macOS"),
        "APFS" => format!("run `diskutil apfs resizeContainer {node} {kibibytes}K` in macOS"),
        "XFS" | "exFAT" | "F2FS" | "JFS" | "bcache" | "bcachefs" | "Ceph BlueStore" | "VDO" => format!(
            "{name} cannot shrink: back up what is on {node}, make the partition smaller, make it anew, and bring \
             everything back"
        ),
        "squashfs" | "EROFS" | "ISO 9660" | "UDF" => format!(
            "{name} is written once, and cannot shrink: `blkid --probe {node}` may say that it is smaller than its \
             partition; else make it anew with less in it"
        ),
        _ => return None,
    })
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const PAGE: u64 = 4 << 10;

/// How many whole units there are.
fn whole(bytes: u64, unit: u64) -> u64 {
    bytes.checked_div(unit).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(name: &str, to_bytes: u64) -> String {
        shrink_advice(name, "/dev/sda1", to_bytes).expect("it is known")
    }

    #[test]
    fn sizes_are_rounded_down_to_what_the_tool_takes() {
        assert!(advice("ext4", 4096 * 1000 + 4095).contains("`resize2fs /dev/sda1 4000K`"));
        assert!(advice("btrfs", 1_050_623).contains("resize 1024K"));
        assert!(advice("NTFS", 10_000).contains("`ntfsresize --size 8192 /dev/sda1`"));
        assert!(advice("FAT", (64 << 20) + 5).contains("--size 66060288 "));
        assert!(advice("LVM physical volume", 5000).contains(" 4K "));
        assert!(advice("FAT", 0).contains("--size 0 "));
        assert!(advice("ext4", u64::MAX).contains("18014398509481980K"));
    }

    #[test]
    fn what_cannot_shrink_is_said_to_have_to_be_made_anew() {
        for name in ["XFS", "exFAT", "F2FS"] {
            assert!(advice(name, 1 << 30).starts_with(&format!("{name} cannot shrink: back up")));
        }
        assert_eq!(shrink_advice("a Sun disk label", "/dev/sda1", 1 << 30), None);
    }
}
