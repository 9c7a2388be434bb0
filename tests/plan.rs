//! Layouts: the public cases to the sector, and what holds for every request.

mod common;

use align_core::plan::{Align, Layout, Medium, PlanError, Request, TableKind};
use align_core::topology::{Reported, Topology};
use align_core::units::{SectorSize, Size};
use common::{config, invariants, requests};
use proptest::prelude::*;

#[test]
fn every_case_comes_out_to_the_sector() {
    let cases = fixtures::cases::plan();
    assert!(cases.len() >= 13, "the cases are in fixtures/cases/plan");
    for case in cases {
        let layout = requests::of_case(&case).lay_out(&requests::medium_of(&case)).expect("a case fits");
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

proptest! {
    #![proptest_config(config(1600))]

    #[test]
    fn a_layout_is_right_or_an_error_says_why(medium in requests::media(), request in requests::all()) {
        match request.lay_out(&medium) {
            Ok(layout) => {
                invariants::fresh(&layout, &medium);
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

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn so_many_bytes_more_as_are_missing_would_do(
        table in prop::sample::select(vec![TableKind::Gpt, TableKind::Mbr]),
        sizes in prop::collection::vec(1_u64..100 << 20, 0..7),
        rest in any::<bool>(),
        sectors in 262_144_u64..600_000,
        align in prop_oneof![Just(Align::Optimal), Just(Align::Minimal), (1_u64..1 << 23).prop_map(Align::Grain)],
    ) {
        let sizes = sizes.into_iter().map(Size::Bytes).chain(rest.then_some(Size::Rest));
        let request = Request { align, ..Request::new(table, sizes) };
        let short = |sectors: u64| match request.lay_out(&disk(sectors)) {
            Ok(_) => None,
            Err(PlanError::DoesNotFit { partition, missing, .. }
                | PlanError::LogicalDoesNotFit { partition, missing, .. }) => Some((partition, missing)),
            Err(other) => panic!("{other}"),
        };
        prop_assume!(!request.partitions.is_empty());
        let Some((partition, missing)) = short(sectors) else { return Ok(()) };
        let more = u64::try_from(missing / 512).expect("a small disk");
        prop_assert_eq!(missing, u128::from(more) * 512);
        prop_assert!(short(sectors + more).is_none_or(|(later, _)| later > partition));
        prop_assert_eq!(short(sectors + more - 1), Some((partition, 512)));
    }
}
