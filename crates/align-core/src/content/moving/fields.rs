use super::super::{BootSector, boot_sector};
use super::inside::{Inside, double, long, word};
use super::origin::{Origin, Start};
use super::{boot_code, exfat};
use crate::device::ReadError;

/// The fields inside a partition that hold where it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// What has to be written when the bytes are at their new place: the offset in the partition in bytes, and the
    /// bytes. Ascending, and no two overlap.
    pub changes: Vec<(u64, Vec<u8>)>,
    /// What could not be put right, or what people have to know, a sentence each.
    pub warnings: Vec<String>,
}

/// The fields of a file system that hold where its partition of `len` bytes begins, and what they have to become when
/// it moves from `old` to `new`.
///
/// They are the "hidden sectors" of FAT, NTFS and BitLocker, and of what SYSLINUX puts before other file systems
/// (offset 0x1C of the boot sector, 32 bits), and the partition offset of exFAT (0x40, 64 bits, under a checksum), in
/// the first sector and in its backups. Only a field that holds the old start now is changed. Boot code that names
/// sectors of the disk cannot be put right here, and is warned of.
///
/// # Errors
/// When the first sector or one that may be a backup cannot be read.
pub fn place_fields(
    inside: &dyn Fn(u64, usize) -> Result<Vec<u8>, ReadError>,
    len: u64,
    old: Origin,
    new: Origin,
) -> Result<Fields, ReadError> {
    let inside = Inside::new(inside, len);
    let front = inside.front(SECTOR)?;
    let mut fields = Fields::default();
    if boot_sector(&front) == Some(BootSector::ExFat) {
        exfat::place(inside, &front, old, new, &mut fields)?;
    } else if let Some(sort) = Sort::of(&front) {
        place(inside, &front, sort, (old, new), &mut fields)?;
    }
    fields.warnings.extend(boot_code::warning(&front, len, old));
    fields.changes.sort();
    Ok(fields)
}

/// As much of a boot sector as holds its fields, whatever the size of a sector.
pub(super) const SECTOR: usize = 512;

const SECTOR_SIZE: usize = 0x0B;
const CLUSTER_SIZE: usize = 0x0D;
const SECTORS_PER_FAT: usize = 0x16;
const HIDDEN_SECTORS: usize = 0x1C;
const NTFS_SECTORS: usize = 0x28;
const FAT32_BACKUP: usize = 0x32;

/// The largest cluster of NTFS, in bytes.
const MAX_CLUSTER: u64 = 2 << 20;

/// The boot sectors that have hidden sectors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Fat,
    Ntfs,
    BitLocker,
    Syslinux,
}

impl Sort {
    fn of(front: &[u8]) -> Option<Self> {
        match boot_sector(front) {
            Some(BootSector::Fat) => return Some(Self::Fat),
            Some(BootSector::Ntfs) => return Some(Self::Ntfs),
            Some(BootSector::ExFat) => return None,
            None => {}
        }
        match front.get(3..11)? {
            b"-FVE-FS-" => Some(Self::BitLocker),
            b"SYSLINUX" | b"EXTLINUX" if front.get(510..512)? == b"\x55\xAA" => Some(Self::Syslinux),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fat => "FAT",
            Self::Ntfs => "NTFS",
            Self::BitLocker => "BitLocker",
            Self::Syslinux => "SYSLINUX",
        }
    }

    /// Where the backups of the boot sector may be: the sector, and how many from there on.
    fn backups(self, front: &[u8], sector_size: u64, len: u64) -> Vec<(u64, u64)> {
        match self {
            // The volume of NTFS ends before the last sector of its partition, which is where the backup goes
            // (`mkntfs`). When the partition has grown since, it is where the volume ends, and when the volume was
            // made smaller (`ntfsresize`), it is somewhere in the cluster that begins there.
            Self::Ntfs => {
                let cluster = match front.get(CLUSTER_SIZE) {
                    Some(count @ 1..=0x80) => u64::from(*count),
                    _ => MAX_CLUSTER.checked_div(sector_size).unwrap_or(1),
                };
                let behind = long(front, NTFS_SECTORS).map(|sectors| (sectors, cluster));
                let last = len.checked_div(sector_size).and_then(|count| count.checked_sub(1));
                behind.into_iter().chain(last.map(|sector| (sector, 1))).collect()
            }
            // FAT12 and FAT16 say the size of a FAT in 16 bits, and have none.
            Self::Fat if word(front, SECTORS_PER_FAT) == Some(0) => {
                let backup = word(front, FAT32_BACKUP).filter(|sector| !matches!(sector, 0 | 0xFFFF));
                backup.map(|sector| (sector.into(), 1)).into_iter().collect()
            }
            Self::Fat | Self::BitLocker | Self::Syslinux => Vec::new(),
        }
    }
}

fn place(
    inside: Inside<'_>,
    front: &[u8],
    sort: Sort,
    (old, new): (Origin, Origin),
    fields: &mut Fields,
) -> Result<(), ReadError> {
    let sector_size = word(front, SECTOR_SIZE).map_or(0, u64::from);
    let sector_size = if sector_size.is_power_of_two() && sector_size >= 512 { sector_size } else { 512 };
    renew(front, 0, sector_size, sort, (old, new), fields);
    let mut seen = 1;
    let mut backups = sort.backups(front, sector_size, inside.len());
    backups.sort_unstable();
    for (first, count) in backups {
        let end = first.saturating_add(count);
        for sector in first.max(seen)..end {
            let Some(offset) = sector.checked_mul(sector_size) else { break };
            let Some(copy) = inside.read(offset, SECTOR)? else { break };
            if is_copy(front, &copy) {
                renew(&copy, offset, sector_size, sort, (old, new), fields);
            }
        }
        seen = seen.max(end);
    }
    if sort == Sort::BitLocker {
        fields.warnings.push(
            "BitLocker may ask for the recovery key after the move: have it at hand. The encrypted boot sector \
             still holds the old start; where Windows is started from this volume in BIOS mode, `bootrec /fixboot` \
             repairs it. Whether that Windows is hibernated cannot be seen: shut it down before, holding Shift while \
             choosing Shut down"
                .into(),
        );
    }
    Ok(())
}

/// Whether a sector is the boot sector of the same file system: name, geometry and size are the same, and only its
/// hidden sectors may differ.
fn is_copy(front: &[u8], copy: &[u8]) -> bool {
    [3..HIDDEN_SECTORS, HIDDEN_SECTORS + 4..0x40, 510..512]
        .into_iter()
        .all(|same| copy.get(same.clone()).is_some_and(|copied| front.get(same) == Some(copied)))
}

/// Adds what the hidden sectors of the boot sector at `offset` have to become.
fn renew(
    sector: &[u8],
    offset: u64,
    sector_size: u64,
    sort: Sort,
    (old, new): (Origin, Origin),
    fields: &mut Fields,
) {
    let Some(held) = double(sector, HIDDEN_SECTORS) else { return };
    let Some(start) = Start::of(held.into(), sector_size, old, new) else { return };
    let value = start.value(u32::MAX.into()).and_then(|value| u32::try_from(value).ok());
    if value.is_none() {
        let warning = format!(
            "the boot sector of {} cannot say that its partition begins at byte {}: 0 is written there. Only the \
             boot code of old systems needs it",
            sort.name(),
            start.bytes()
        );
        if !fields.warnings.contains(&warning) {
            fields.warnings.push(warning);
        }
    }
    let value = value.unwrap_or(0);
    let place = offset.checked_add(HIDDEN_SECTORS as u64).filter(|_| value != held);
    fields.changes.extend(place.map(|place| (place, value.to_le_bytes().to_vec())));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const OLD: Origin = Origin { absolute: 63 * 512, relative: None };
    const NEW: Origin = Origin { absolute: 2048 * 512, relative: None };

    fn fields(partition: &[u8], old: Origin, new: Origin) -> Fields {
        let read = |at: u64, len: usize| {
            let at = usize::try_from(at).unwrap();
            Ok(partition[at..at + len].to_vec())
        };
        place_fields(&read, partition.len() as u64, old, new).unwrap()
    }

    fn ntfs(sectors: usize, hidden: u32) -> Vec<u8> {
        let mut sector = vec![0; 512];
        sector[..11].copy_from_slice(b"\xEB\x52\x90NTFS    ");
        sector[11..13].copy_from_slice(&512_u16.to_le_bytes());
        sector[0x1C..0x20].copy_from_slice(&hidden.to_le_bytes());
        sector[0x28..0x30].copy_from_slice(&(sectors as u64 - 1).to_le_bytes());
        sector[510..].copy_from_slice(b"\x55\xAA");
        let mut volume = vec![0; sectors * 512];
        volume[..512].copy_from_slice(&sector);
        volume[sectors * 512 - 512..].copy_from_slice(&sector);
        volume
    }

    #[test]
    fn ntfs_has_a_copy_in_its_last_sector() {
        let value = 2048_u32.to_le_bytes().to_vec();
        let both = [(28, value.clone()), (99 * 512 + 28, value)];
        assert_eq!(fields(&ntfs(100, 63), OLD, NEW).changes, both);
        let mut grown = ntfs(100, 63);
        grown.resize(60_000, 0);
        assert_eq!(fields(&grown, OLD, NEW).changes, both);
        assert_eq!(fields(&ntfs(100, 64), OLD, NEW), Fields::default());
    }

    #[test]
    fn what_is_no_copy_is_left_alone() {
        let mut volume = ntfs(100, 63);
        let other = ntfs(90, 63);
        volume[99 * 512..].copy_from_slice(&other[..512]);
        assert_eq!(fields(&volume, OLD, NEW).changes.len(), 1);
    }

    #[test]
    fn what_does_not_fit_is_zeroed_and_said() {
        let far = Origin { absolute: 1 << 41, relative: None };
        let found = fields(&ntfs(100, 63), OLD, far);
        assert_eq!(found.changes, [(28, vec![0; 4]), (99 * 512 + 28, vec![0; 4])]);
        assert_eq!(found.warnings.len(), 1);
        let last = Origin { absolute: u64::from(u32::MAX) * 512, relative: None };
        assert_eq!(fields(&ntfs(100, 63), OLD, last).warnings, Vec::<String>::new());
    }

    #[test]
    fn bitlocker_and_syslinux_have_the_field_too() {
        for name in [b"-FVE-FS-", b"SYSLINUX"] {
            let mut volume = ntfs(100, 63);
            volume[3..11].copy_from_slice(name);
            assert_eq!(fields(&volume, OLD, NEW).changes, [(28, 2048_u32.to_le_bytes().to_vec())]);
        }
    }

    /// Bytes in which something is recognised rather often.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let starts = vec![
            &b"\xEB\x52\x90NTFS    \0\x02\x08"[..],
            b"\xEB\x58\x90mkfs.fat\0\x02\x01\x20\0\x02",
            b"\xEB\x76\x90EXFAT   ",
            b"\xEB\x58\x90-FVE-FS-\0\x02",
            b"\xEB\x58\x90EXTLINUX\0\x10",
            b"",
        ];
        let field = select(vec![[0; 4], [63, 0, 0, 0], [0, 8, 0, 0], [8, 0, 0, 0], [0xFF; 4]]);
        let ranges = 0_u8..=255;
        (select(starts), field, proptest::collection::vec(ranges, 0..4096), any::<bool>()).prop_map(
            |(start, field, mut bytes, copies)| {
                let parts = [(0, start), (28, &field[..]), (64, &field[..]), (510, &b"\x55\xAA"[..])];
                for (at, part) in parts {
                    if let Some(place) = bytes.get_mut(at..at + part.len()) {
                        place.copy_from_slice(part);
                    }
                }
                if copies && bytes.len() > 1024 {
                    let first = bytes[..512].to_vec();
                    for sector in bytes.chunks_exact_mut(512).skip(1) {
                        sector.copy_from_slice(&first);
                    }
                }
                bytes
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn hostile_bytes_give_changes_that_can_be_written(
            bytes in hostile(),
            (old, new) in (any::<(u64, Option<u64>)>(), any::<(u64, Option<u64>)>()),
            plain in any::<bool>(),
        ) {
            let origin = |(absolute, relative)| Origin { absolute, relative };
            let (old, new) = if plain { (OLD, NEW) } else { (origin(old), origin(new)) };
            let found = fields(&bytes, old, new);
            let mut end = 0;
            for (at, change) in &found.changes {
                prop_assert!(*at >= end && !change.is_empty());
                end = at + change.len() as u64;
            }
            prop_assert!(end <= bytes.len() as u64);
        }

        #[test]
        fn done_twice_and_back_is_as_before(bytes in hostile()) {
            let mut moved = bytes.clone();
            let first = fields(&bytes, OLD, NEW);
            for (at, change) in &first.changes {
                let at = usize::try_from(*at).unwrap();
                moved[at..at + change.len()].copy_from_slice(change);
            }
            prop_assert_eq!(fields(&moved, OLD, NEW).changes, Vec::new());
            for (at, change) in fields(&moved, NEW, OLD).changes {
                let at = usize::try_from(at).unwrap();
                moved[at..at + change.len()].copy_from_slice(&change);
            }
            prop_assert!(moved == bytes || first.changes.is_empty());
        }
    }
}
