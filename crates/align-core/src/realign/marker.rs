use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::device::BlockDevice;
use crate::patch::Spot;
use crate::table::{Label, PartitionType, gpt};

/// What a partition begins with while its bytes move: by it the journal is found, and nothing else is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The id of the job.
    pub id: Uuid,
    /// Where its journal is.
    pub journal: Spot,
}

/// How long a marker is, in bytes.
pub const MARKER_LEN: usize = 4096;
/// The first line, for whoever looks at the bytes.
const TITLE: &str = "alignck move 1: these bytes are on their way; `alignck resume DISK` brings them home";
/// Non-file-system data: nothing mounts it.
const MBR_TYPE: u8 = 0xDA;

/// The type that a partition has in its table while its bytes move: one that no system mounts. `None` without a table.
pub fn moving_type(label: Label) -> Option<PartitionType> {
    match label {
        Label::Mbr => Some(PartitionType::Mbr(MBR_TYPE)),
        Label::Gpt => Some(PartitionType::Gpt(gpt::MOVING_TYPE)),
        Label::None => None,
    }
}

impl Marker {
    /// The bytes of the marker; `None` when the path of the journal is too long for them.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let body = serde_json::to_string(self).ok()?;
        let text = format!("{TITLE}\ncrc32 {:08x}\n{body}\n", crc32fast::hash(body.as_bytes()));
        let mut bytes = text.into_bytes();
        (bytes.len() <= MARKER_LEN).then(|| {
            bytes.resize(MARKER_LEN, 0);
            bytes
        })
    }

    /// The marker at `offset`, if there is one.
    pub fn read(device: &dyn BlockDevice, offset: u64) -> Option<Self> {
        let mut bytes = vec![0; MARKER_LEN];
        device.read_at(offset, &mut bytes).ok()?;
        Self::decode(&bytes)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(TITLE.as_bytes())?.strip_prefix(b"\ncrc32 ")?;
        let (crc, rest) = rest.split_at_checked(8)?;
        let body = rest.strip_prefix(b"\n")?.split(|byte| *byte == b'\n').next()?;
        let found = format!("{:08x}", crc32fast::hash(body));
        (found.as_bytes() == crc).then(|| serde_json::from_slice(body).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::device::MemoryDevice;

    #[test]
    fn a_marker_is_read_as_it_was_written_and_no_other_way() {
        let disk = MemoryDevice::new(1 << 20);
        for journal in [Spot::Disk(1 << 40), Spot::File(PathBuf::from("/root/\n \"odd\u{e9}\".journal"))] {
            let marker = Marker { id: Uuid::new_v4(), journal };
            let bytes = marker.encode().unwrap();
            assert_eq!(bytes.len(), MARKER_LEN);
            disk.write_at(512, &bytes).unwrap();
            assert_eq!(Marker::read(&disk, 512), Some(marker));
            for at in [0, 90, 95, 120, 140] {
                disk.write_at(512 + at, b"~").unwrap();
                assert_eq!(Marker::read(&disk, 512), None, "byte {at}");
                disk.write_at(512, &bytes).unwrap();
            }
        }
        let long = Marker { id: Uuid::nil(), journal: Spot::File("x".repeat(MARKER_LEN).into()) };
        assert_eq!(long.encode(), None);
        assert_eq!(Marker::read(&disk, (1 << 20) - 8), None);
    }
}
