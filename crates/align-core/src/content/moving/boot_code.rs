use super::fields::SECTOR;
use super::inside::{double, long};
use super::origin::Origin;

/// The messages of GRUB's boot sector (`grub-core/boot/i386/pc/boot.S`, and `stage1.S` of GRUB Legacy).
const GRUB: &[u8] = b"GRUB \0Geom\0Hard Disk\0Read\0";
/// Where it says in which 512-byte sector of the disk it goes on.
const GRUB_NEXT: usize = 0x5C;
const LEGACY_NEXT: usize = 0x44;

/// What to say of boot code in the first sector of a partition that goes on at a sector of the disk which moves with
/// the partition. The sector there names further ones, so that only an installation of the boot loader puts it right.
pub(super) fn warning(front: &[u8], len: u64, old: Origin) -> Option<String> {
    let sector = front.get(..SECTOR)?;
    if !sector.windows(GRUB.len()).any(|window| window == GRUB) {
        return None;
    }
    let next = [long(sector, GRUB_NEXT), double(sector, LEGACY_NEXT).map(u64::from)];
    let mut within =
        next.into_iter().flatten().filter_map(|next| next.checked_mul(512)?.checked_sub(old.absolute));
    within.any(|within| within < len).then(|| {
        "GRUB in the boot sector of the partition knows its files by their sectors on the disk: install it again \
         after the move (`grub-install --force` with the node of the partition), or what chain-loads it will not \
         start"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grub_that_goes_on_inside_the_partition_is_told_of() {
        let mut front = vec![0; 512];
        front[0x180..0x180 + GRUB.len()].copy_from_slice(GRUB);
        // As `grub-install` has made it in a partition at sector 63.
        front[0x5C..0x64].copy_from_slice(&41665_u64.to_le_bytes());
        let old = Origin { absolute: 63 * 512, relative: None };
        assert!(warning(&front, 200 << 20, old).is_some());
        assert_eq!(warning(&front, 1 << 20, old), None);
        assert_eq!(warning(&[0; 512], 200 << 20, old), None);
        assert_eq!(warning(&front[..100], 200 << 20, old), None);
    }
}
