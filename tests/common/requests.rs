//! Disks and requests for plans: those of the public cases, and any.

use align_core::plan::{Align, Medium, Request, TableKind};
use align_core::topology::{Reported, Topology};
use align_core::units::{PhysicalSize, SectorSize, Size};
use fixtures::{PlanCase, PlanSize};
use proptest::prelude::*;

pub fn medium_of(case: &PlanCase) -> Medium {
    let disk = &case.disk;
    let reported = Reported {
        logical: Some(disk.logical),
        minimum_io: Some(disk.minimum_io),
        optimal_io: Some(disk.optimal_io),
        alignment_offset: Some(disk.alignment_offset),
        ..Reported::default()
    };
    let capacity = disk.sectors * disk.logical;
    let physical = PhysicalSize::new(disk.physical);
    Medium {
        sectors: disk.sectors,
        sector_size: SectorSize::new(disk.logical).expect("a case has a real sector size"),
        topology: Topology::judge(&reported, Some(capacity), physical, None),
    }
}

pub fn of_case(case: &PlanCase) -> Request {
    let asked = &case.request;
    let size = |size: &PlanSize| match *size {
        PlanSize::Bytes(bytes) => Size::Bytes(bytes),
        PlanSize::Sectors(sectors) => Size::Sectors(sectors),
        PlanSize::Rest => Size::Rest,
    };
    Request {
        table: if asked.table == "gpt" { TableKind::Gpt } else { TableKind::Mbr },
        partitions: asked.sizes.iter().map(|asked| size(asked).into()).collect(),
        align: match (asked.grain, &*asked.align) {
            (Some(grain), _) => Align::Grain(grain),
            (None, "minimal") => Align::Minimal,
            (None, _) => Align::Optimal,
        },
        primaries: asked.primaries,
    }
}

pub fn media() -> impl Strategy<Value = Medium> {
    let logical = prop::sample::select(vec![512_u64, 1024, 4096]);
    let physical = prop::sample::select(vec![512_u64, 4096, 8192, 65536, 1 << 20]);
    let hint = || {
        prop::sample::select(vec![
            0_u64,
            4096,
            65536,
            192 << 10,
            768 << 10,
            1 << 20,
            3 << 20,
            16 << 20,
            33_553_920,
        ])
    };
    let offset = prop::sample::select(vec![0_i64, 512, 3584, 4096, -1]);
    let sectors = prop_oneof![60_u64..20_000, 20_000_u64..4_000_000, 4_000_000_u64..40_000_000_000];
    (logical, physical, hint(), hint(), offset, sectors).prop_map(
        |(logical, physical, minimum, optimal, offset, sectors)| {
            let reported = Reported {
                logical: Some(logical),
                physical: Some(physical),
                minimum_io: Some(minimum),
                optimal_io: Some(optimal),
                alignment_offset: Some(offset),
                ..Reported::default()
            };
            Medium {
                sectors,
                sector_size: SectorSize::new(logical).expect("of the list"),
                topology: Topology::judge(&reported, Some(sectors * logical), None, None),
            }
        },
    )
}

pub fn all() -> impl Strategy<Value = Request> {
    let size = prop_oneof![
        (1_u64..1 << 36).prop_map(Size::Bytes),
        (1_u64..1 << 24).prop_map(Size::Bytes),
        (1_u64..1 << 20).prop_map(Size::Sectors),
        (1_u32..50_000).prop_map(Size::MilliPercent),
    ];
    let align = prop_oneof![
        3 => Just(Align::Optimal),
        1 => Just(Align::Minimal),
        1 => (1_u64..1 << 26).prop_map(Align::Grain),
    ];
    let table = prop::sample::select(vec![TableKind::Gpt, TableKind::Mbr]);
    (table, prop::collection::vec(size, 0..9), any::<bool>(), align, prop::option::of(1_u32..5)).prop_map(
        |(table, mut sizes, rest, align, primaries)| {
            sizes.extend(rest.then_some(Size::Rest));
            Request { table, partitions: sizes.into_iter().map(Into::into).collect(), align, primaries }
        },
    )
}
