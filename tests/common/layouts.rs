//! Layouts: what lies where, whatever table says so.

use align_core::table::Partition;
use fixtures::GptEntry;
use proptest::prelude::*;
use proptest::sample::select;

/// One partition of a layout.
#[derive(Clone, Debug)]
pub struct Placed {
    pub first: u64,
    pub last: u64,
    pub kind: [u8; 16],
    pub id: [u8; 16],
    pub attributes: u64,
    pub name: String,
}

impl Placed {
    /// In this slot of a GPT.
    pub fn entry(&self, slot: u32) -> GptEntry {
        GptEntry {
            slot,
            kind: self.kind,
            id: self.id,
            first: self.first,
            last: self.last,
            attributes: self.attributes,
            name: self.name.clone(),
        }
    }
}

/// Type GUIDs: two that are known, one that is exempt, or any.
fn kind() -> impl Strategy<Value = [u8; 16]> {
    let known = [
        "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
        "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
        "21686148-6449-6E6F-744E-656564454649",
    ];
    let any = any::<[u8; 16]>().prop_filter("an unused entry", |kind| *kind != [0; 16]);
    prop_oneof![select(known.map(fixtures::guid).to_vec()), any]
}

/// Up to `count` partitions between two sectors, apart from each other, in order of their starts.
pub fn apart(count: usize, from: u64, to: u64) -> impl Strategy<Value = Vec<Placed>> {
    // Half of the starts are where partitioners put them.
    let bound = (from..=to, any::<bool>())
        .prop_map(move |(lba, round)| if round { (lba & !2047).max(from) } else { lba });
    let bounds = prop::collection::btree_set(bound, 0..=2 * count);
    // A character of up to two UTF-16 units: 18 of them always fit.
    let words = (kind(), any::<[u8; 15]>(), any::<u64>(), "\\PC{0,18}");
    (bounds, prop::collection::vec(words, count)).prop_map(|(bounds, words)| {
        let bounds: Vec<u64> = bounds.into_iter().collect();
        let ranges = bounds.chunks_exact(2).zip(words).zip(1_u8..);
        ranges
            .map(|((range, (kind, id, attributes, name)), index)| {
                // No two GUIDs are the same: one byte is the place in the order.
                let id = std::array::from_fn(|at| id.get(at).copied().unwrap_or(index));
                Placed { first: range[0], last: range[1], kind, id, attributes, name }
            })
            .collect()
    })
}

/// Slots for as many partitions as there may be, in any order.
pub fn slots(count: u32) -> impl Strategy<Value = Vec<u32>> {
    Just((0..count).collect::<Vec<_>>()).prop_shuffle()
}

/// The partitions as we should read them: number, range, type, name, GUID.
pub type Row = (u32, u64, u64, String, Option<String>, Option<[u8; 16]>);

impl Placed {
    pub fn row(&self, slot: u32) -> Row {
        let kind = uuid::Uuid::from_bytes_le(self.kind).hyphenated().to_string().to_uppercase();
        (slot + 1, self.first, self.last, kind, Some(self.name.clone()), Some(self.id))
    }
}

pub fn rows(partitions: &[Partition]) -> Vec<Row> {
    let row = |partition: &Partition| {
        let kind = partition.type_.code().unwrap_or_default();
        let id = partition.id.map(|id| id.to_bytes_le());
        let (first, last) = (partition.first.number(), partition.last.number());
        (partition.number, first, last, kind, partition.name.clone(), id)
    };
    partitions.iter().map(row).collect()
}
