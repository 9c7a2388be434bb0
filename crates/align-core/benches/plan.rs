//! How long a plan takes, by the number of its partitions.
#![allow(missing_docs, reason = "the macros of criterion make functions without")]

use align_core::plan::{Medium, Request, TableKind};
use align_core::topology::{Reported, Topology};
use align_core::units::{SectorSize, Size};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn plan(criterion: &mut Criterion) {
    let medium = Medium {
        sectors: 1 << 33,
        sector_size: SectorSize::B512,
        topology: Topology::judge(&Reported::default(), Some(1 << 42), None, None),
    };
    for table in [TableKind::Gpt, TableKind::Mbr] {
        let mut group = criterion.benchmark_group(format!("plan {}", table.name()));
        for partitions in [16, 32, 64, 128] {
            let request = Request::new(table, vec![Size::Bytes(10 << 30); partitions]);
            group.throughput(Throughput::Elements(partitions as u64));
            let run = |bencher: &mut criterion::Bencher<'_>, request: &Request| {
                bencher.iter(|| request.lay_out(&medium).expect("it fits"));
            };
            group.bench_with_input(BenchmarkId::from_parameter(partitions), &request, run);
        }
        group.finish();
    }
}

criterion_group!(benches, plan);
criterion_main!(benches);
