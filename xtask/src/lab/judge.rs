//! What the kernel says of partitions, and what follows from it.

use serde_json::Value;

/// A partition as the kernel has it, in units of 512 bytes whatever the sector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelPartition {
    pub(super) number: u64,
    pub(super) start: u64,
    pub(super) size: u64,
    /// Bytes from its start to the next boundary of the kernel's grid; -1 where there is none.
    pub(super) alignment_offset: i64,
}

/// Reads what the function `partitions` of the scripts prints.
pub(super) fn kernel_partitions(text: &str) -> Result<Vec<KernelPartition>, String> {
    let broken = || format!("no list of partitions: {text}");
    let mut partitions = Vec::new();
    for entry in text.split(';').filter(|entry| !entry.trim().is_empty()) {
        let numbers: Vec<i64> = entry.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [number, start, size, alignment_offset] = numbers[..] else { return Err(broken()) };
        let unsigned = |number: i64| u64::try_from(number).map_err(|_| broken());
        partitions.push(KernelPartition {
            number: unsigned(number)?,
            start: unsigned(start)?,
            size: unsigned(size)?,
            alignment_offset,
        });
    }
    partitions.sort_by_key(|partition| partition.number);
    Ok(partitions)
}

/// Number, start and size of each partition, in units of 512 bytes, of what any of the tools printed.
pub(super) type Places = Vec<(u64, u64, u64)>;

/// The places of the kernel's partitions.
pub(super) fn places(partitions: &[KernelPartition]) -> Places {
    partitions.iter().map(|partition| (partition.number, partition.start, partition.size)).collect()
}

/// The places of a document of ours: a disk of a check, or a plan. Of a container the kernel shows its first 1024
/// bytes only.
pub(super) fn places_of_ours(document: &Value, sector_size: u64) -> Places {
    let unit = sector_size / 512;
    let partitions = document["partitions"].as_array().into_iter().flatten();
    let number = |partition: &Value, key: &str| partition[key].as_u64().unwrap_or(u64::MAX / 4096);
    let mut places: Places = partitions
        .map(|partition| {
            let size = number(partition, "sectors") * unit;
            let size = if partition["kind"] == "extended" { size.min(unit.max(2)) } else { size };
            (number(partition, "number"), number(partition, "start") * unit, size)
        })
        .collect();
    places.sort_unstable();
    places
}

/// The places that `sfdisk --json` prints.
pub(super) fn places_of_sfdisk(document: &Value) -> Places {
    let table = &document["partitiontable"];
    let unit = table["sectorsize"].as_u64().unwrap_or(512) / 512;
    let partitions = table["partitions"].as_array().into_iter().flatten();
    let mut places: Places = partitions
        .map(|partition| {
            let node = partition["node"].as_str().unwrap_or_default();
            let digits = node.len() - node.bytes().rev().take_while(u8::is_ascii_digit).count();
            let number = |key: &str| partition[key].as_u64().unwrap_or(u64::MAX / 4096) * unit;
            let is_container = matches!(partition["type"].as_str(), Some("5" | "f" | "85"));
            let size = if is_container { number("size").min(unit.max(2)) } else { number("size") };
            (node[digits..].parse().unwrap_or(0), number("start"), size)
        })
        .collect();
    places.sort_unstable();
    places
}

/// The places that `parted --machine` prints in bytes.
pub(super) fn places_of_parted(printed: &str) -> Places {
    let lines = printed.split(';').map(|line| line.split(':').collect::<Vec<_>>());
    let byte = |text: &str| text.strip_suffix('B')?.parse::<u64>().ok();
    let place = |fields: &[&str]| match fields {
        [number, start, _, size, ..] => Some((number.parse().ok()?, byte(start)? / 512, byte(size)? / 512)),
        _ => None,
    };
    lines.filter_map(|fields| place(&fields)).collect()
}

/// The places that `lsblk --json` prints: starts in units of 512 bytes, sizes in bytes.
pub(super) fn places_of_lsblk(document: &Value) -> Places {
    let children = document["blockdevices"][0]["children"].as_array().into_iter().flatten();
    let mut places: Places = children
        .filter_map(|child| {
            let name = child["name"].as_str()?;
            let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
            let number = name.get(name.len() - digits..)?.parse().ok()?;
            Some((number, child["start"].as_u64()?, child["size"].as_u64()? / 512))
        })
        .collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_read_in_the_order_of_the_numbers() {
        let partitions = kernel_partitions("10 4096 8 -1;2 63 100 512;").unwrap();
        assert_eq!(places(&partitions), [(2, 63, 100), (10, 4096, 8)]);
        assert_eq!(partitions[1].alignment_offset, -1);
        assert!(kernel_partitions("2 63 100;").is_err());
    }

    #[test]
    fn numbers_of_partitions_end_the_names_of_nodes() {
        let document = serde_json::json!({"partitiontable": {"sectorsize": 4096, "partitions": [
            {"node": "/dev/nvme0n1p12", "start": 256, "size": 10, "type": "83"}]}});
        assert_eq!(places_of_sfdisk(&document), [(12, 2048, 80)]);
    }

    #[test]
    fn places_are_read_from_what_parted_and_lsblk_print() {
        let printed = "BYT;/dev/vda:46137344B:virtblk:512:4096:gpt:Virtio Block Device:;\
            2:10485760B:29360127B:18874368B:xfs::;5:39858176B:39878655B:20480B:::;";
        assert_eq!(places_of_parted(printed), [(2, 20480, 36864), (5, 77848, 40)]);
        let document = serde_json::json!({"blockdevices": [{"name": "nvme0n1", "size": 46_137_344, "children": [
            {"name": "nvme0n1p5", "start": 77848, "size": 20480}]}]});
        assert_eq!(places_of_lsblk(&document), [(5, 77848, 40)]);
    }
}
