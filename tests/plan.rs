//! Layouts: the public cases to the sector, and what holds for every request.

use align_core::plan::{Align, Layout, Medium, PlanError, Request, TableKind};
use align_core::table::PartitionKind;
use align_core::topology::{Reported, Topology};
use align_core::units::{PhysicalSize, SectorSize, Size};
use fixtures::{PlanCase, PlanSize};
use proptest::prelude::*;

fn medium(case: &PlanCase) -> Medium {
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

fn request(case: &PlanCase) -> Request {
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

#[test]
fn every_case_comes_out_to_the_sector() {
    let cases = fixtures::cases::plan();
    assert!(cases.len() >= 13, "the cases are in fixtures/cases/plan");
    for case in cases {
        let layout = request(&case).lay_out(&medium(&case)).expect("a case fits");
        let found: Vec<_> = layout
            .partitions
            .iter()
            .map(|planned| {
                (planned.number, planned.kind.word(), planned.first.number(), planned.last.number())
            })
            .collect();
        let expected: Vec<_> = case
            .partitions
            .iter()
            .map(|partition| (partition.number, &*partition.kind, partition.start, partition.end))
            .collect();
        assert_eq!(found, expected, "{}: {}", case.id, case.title);
    }
}

fn disk(sectors: u64) -> Medium {
    Medium {
        sectors,
        sector_size: SectorSize::B512,
        topology: Topology::judge(&Reported::default(), Some(sectors * 512), None, None),
    }
}

#[test]
fn a_jumpered_disk_begins_at_2055() {
    let reported = Reported {
        logical: Some(512),
        physical: Some(4096),
        alignment_offset: Some(3584),
        ..Reported::default()
    };
    let medium = Medium { topology: Topology::judge(&reported, None, None, None), ..disk(1_953_525_168) };
    let layout = Request::new(TableKind::Mbr, [Size::Bytes(10 << 30), Size::Rest]).lay_out(&medium).unwrap();
    let starts: Vec<_> = layout.partitions.iter().map(|planned| planned.first.number()).collect();
    assert_eq!(starts, [2055, 20_973_575]);
}

#[test]
fn what_does_not_fit_says_how_many_bytes_are_missing() {
    let gib = |count: usize| vec![Size::Bytes(1 << 30); count];
    // 1 GiB of 2097152 sectors has 2095104 behind the first MiB: one MiB is missing.
    let one = Request::new(TableKind::Mbr, gib(1)).lay_out(&disk(2_097_152)).unwrap_err();
    assert_eq!(
        one,
        PlanError::DoesNotFit {
            partition: 1,
            asked: 1 << 30,
            available: (1 << 30) - (1 << 20),
            missing: 1 << 20
        }
    );
    // A container of 5 GiB cannot hold 3 and 2: each costs a MiB more (curtin, LP 1513085).
    let sizes = [Size::Bytes(3 << 30), Size::Bytes(2 << 30)];
    let request = Request {
        primaries: Some(1),
        ..Request::new(TableKind::Mbr, [&[Size::Bytes(1 << 20)], &sizes[..]].concat())
    };
    let error = request.lay_out(&disk(2048 + 2048 + (5 << 21))).unwrap_err();
    assert!(
        matches!(error, PlanError::LogicalDoesNotFit { partition: 3, missing: 2_097_152, .. }),
        "{error}"
    );
}

#[test]
fn what_makes_no_sense_is_named() {
    let error =
        |sizes: &[Size], table| Request::new(table, sizes.to_vec()).lay_out(&disk(1 << 32)).unwrap_err();
    assert_eq!(error(&[], TableKind::Gpt), PlanError::Nothing);
    assert_eq!(error(&[Size::Rest, Size::Rest], TableKind::Gpt), PlanError::AfterRest { partition: 2 });
    assert_eq!(error(&[Size::Bytes(5), Size::Bytes(0)], TableKind::Gpt), PlanError::Empty { partition: 2 });
    let many = vec![Size::Bytes(1 << 20); 129];
    assert_eq!(error(&many, TableKind::Gpt), PlanError::TooMany { asked: 129, most: 128, table: "GPT" });
    let request = Request { primaries: Some(4), ..Request::new(TableKind::Mbr, many[..5].to_vec()) };
    assert_eq!(request.lay_out(&disk(1 << 32)), Err(PlanError::Primaries { asked: 4 }));
    let grain = Request { align: Align::Grain(0), ..Request::new(TableKind::Gpt, [Size::Rest]) };
    assert_eq!(grain.lay_out(&disk(1 << 32)), Err(PlanError::Grain { bytes: 0 }));
    let tiny = Request::new(TableKind::Gpt, [Size::Rest]).lay_out(&disk(40)).unwrap_err();
    assert_eq!(tiny, PlanError::DiskTooSmall { bytes: 40 * 512, table: "GPT" });
}

#[test]
fn an_mbr_ends_where_32_bits_do() {
    let three_tib = disk(6 << 30);
    let layout = Request::new(TableKind::Mbr, [Size::Rest]).lay_out(&three_tib).unwrap();
    assert!(layout.partitions[0].last.number() < u64::from(u32::MAX));
    let too_large = Request::new(TableKind::Mbr, [Size::Bytes(5 << 39)]).lay_out(&three_tib).unwrap_err();
    assert!(matches!(too_large, PlanError::DoesNotFit { .. }));
}

fn any_medium() -> impl Strategy<Value = Medium> {
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

fn any_request() -> impl Strategy<Value = Request> {
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

/// What holds for a layout, by arithmetic of its own.
fn check(layout: &Layout, request: &Request, medium: &Medium) {
    let unit = i128::from(medium.sector_size.bytes());
    let physical = i128::from(medium.topology.physical.bytes());
    let offset = i128::from(medium.topology.alignment_offset);
    let grain = i128::from(layout.grain.bytes);
    let usable_end = match request.table {
        TableKind::Gpt => i128::from(medium.sectors) - 1 - (16384 / unit).max(1),
        TableKind::Mbr => i128::from(medium.sectors.min(u64::from(u32::MAX))),
    };
    assert_eq!(grain % physical, 0);
    let mut used: Vec<(i128, i128)> = Vec::new();
    for planned in &layout.partitions {
        let (first, last) = (i128::from(planned.first.number()), i128::from(planned.last.number()));
        // Logical partitions of the minimal policy keep to the physical sectors, which are their grain.
        assert_eq!((first * unit - offset).rem_euclid(grain), 0, "{planned:?}");
        assert!(first <= last && last < usable_end, "{planned:?}");
        let size = (last - first + 1) * unit;
        match planned.asked {
            Some(Size::Bytes(bytes)) => {
                assert!((0..physical).contains(&(size - i128::from(bytes))), "{planned:?}");
            }
            Some(Size::Sectors(sectors)) => assert_eq!(size, i128::from(sectors) * unit),
            Some(Size::Rest) | None => {
                assert_eq!(((last + 1) * unit - offset).rem_euclid(grain), 0, "{planned:?}");
            }
            Some(Size::MilliPercent(_)) => assert_eq!(size % physical, 0),
        }
        if let Some(ebr) = planned.ebr {
            let ebr = i128::from(ebr.number());
            used.push((ebr, ebr));
        }
        if planned.kind != PartitionKind::Extended {
            used.push((first, last));
        }
    }
    used.sort_unstable();
    assert!(used.windows(2).all(|pair| pair[0].1 < pair[1].0), "{used:?}");
    let container = layout.partitions.iter().find(|planned| planned.kind == PartitionKind::Extended);
    for logical in layout.partitions.iter().filter(|planned| planned.kind == PartitionKind::Logical) {
        let container = container.expect("logicals have a container");
        assert!(container.first <= logical.ebr.expect("an EBR") && logical.last <= container.last);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_layout_is_right_or_an_error_says_why(medium in any_medium(), request in any_request()) {
        match request.lay_out(&medium) {
            Ok(layout) => {
                check(&layout, &request, &medium);
                // The sizes that came out, asked for exactly, give the same layout again.
                let exact = layout.partitions.iter().filter(|planned| planned.asked.is_some());
                let again = Request {
                    partitions: exact.map(|planned| Size::Sectors(planned.sectors()).into()).collect(),
                    primaries: request.primaries,
                    ..request.clone()
                };
                let again = again.lay_out(&medium).expect("what fitted fits");
                let places = |layout: &Layout| {
                    layout.partitions.iter().map(|planned| (planned.number, planned.first, planned.last)).collect::<Vec<_>>()
                };
                prop_assert_eq!(places(&again), places(&layout));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
