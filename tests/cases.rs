//! The public cases, each with its right answer, through the library and through the command.

mod common;

use align_core::check::{self, Options};
use align_core::device::Disk;
use align_core::topology::Reported;
use fixtures::CheckCase;
use serde_json::Value;

/// Of these codes a case lists exactly those that must be reported; others it lists must be there too.
const EXACT: [&str; 7] = [
    "start-off-physical",
    "start-off-optimal",
    "hint-implausible",
    "stack-misaligned",
    "table-other-sector-size",
    "physical-size-assumed",
    "physical-size-invalid",
];

fn reported(case: &CheckCase) -> Reported {
    let disk = &case.disk;
    Reported {
        logical: Some(disk.logical),
        physical: Some(disk.physical),
        minimum_io: Some(disk.minimum_io),
        optimal_io: Some(disk.optimal_io),
        alignment_offset: Some(disk.alignment_offset),
        rotational: disk.rotational,
        rpm: disk.rpm,
    }
}

fn assert_findings(case: &CheckCase, found: &[&str]) {
    let expected = &case.expect.findings;
    let is_expected = |code: &str| expected.iter().any(|listed| listed == code);
    for code in expected {
        assert!(found.contains(&code.as_str()), "{}: {code} is missing from {found:?}", case.id);
    }
    for code in EXACT {
        assert!(is_expected(code) || !found.contains(&code), "{}: {code} is noise", case.id);
    }
}

#[test]
fn the_library_gives_the_right_answer_to_every_case() {
    let cases = fixtures::cases::check();
    assert!(cases.len() >= 35, "the cases are in fixtures/cases/check");
    for case in cases {
        let disk = Disk::image(&case.id, common::memory(&case.image()));
        let options = Options { pretend: reported(&case), physical: None, ..Options::default() };
        let report = check::run(&disk, &options).expect("a case can be read");

        assert_eq!(report.status.word(), case.expect.status, "{}", case.id);
        assert_eq!(report.topology.physical.bytes(), case.expect.judged_physical, "{}", case.id);
        assert_eq!(report.table.label.map(|label| label.word()), Some(&*case.table.label), "{}", case.id);
        assert_eq!(report.table.health.word(), "ok", "{}: {:?}", case.id, report.findings);
        let found: Vec<_> = report
            .partitions
            .iter()
            .map(|report| {
                let partition = &report.partition;
                let (start, end) = (partition.first.number(), partition.last.number());
                (partition.number, start, end, report.verdict.word(), report.remainder)
            })
            .collect();
        let expected: Vec<_> = case
            .partitions
            .iter()
            .map(|listed| (listed.number, listed.start, listed.end, &*listed.verdict, listed.remainder))
            .collect();
        assert_eq!(found, expected, "{}", case.id);
        assert_findings(&case, &common::codes(&report));
    }
}

#[test]
fn the_command_gives_the_right_answer_to_every_case() {
    let folder = common::scratch();
    for case in fixtures::cases::check() {
        let path = common::file(folder.path(), &case.id, &case.image());
        let output =
            common::alignck().args(["check", "--json", "-t", &case.topology_option()]).arg(&path).output();
        std::fs::remove_file(&path).expect("it was just written");
        let (document, exit) = common::json(&output.expect("the command runs"));

        assert_eq!(exit, i32::from(case.expect.status == "misaligned"), "{}", case.id);
        assert_eq!(document["errors"], Value::Array(Vec::new()), "{}", case.id);
        let disk = &document["disks"][0];
        assert_eq!(disk["status"], case.expect.status, "{}", case.id);
        assert_eq!(disk["size_bytes"], case.disk.sectors * case.disk.logical, "{}", case.id);
        assert_eq!(disk["topology"]["effective"]["physical"], case.expect.judged_physical, "{}", case.id);
        assert_eq!(disk["table"]["sector_size"], case.table.sector_size, "{}", case.id);
        for (listed, partition) in
            case.partitions.iter().zip(disk["partitions"].as_array().expect("an array"))
        {
            assert_eq!(partition["number"], listed.number, "{}", case.id);
            assert_eq!(partition["start"], listed.start, "{}", case.id);
            assert_eq!(partition["end"], listed.end, "{}", case.id);
            assert_eq!(partition["sectors"], listed.end - listed.start + 1, "{}", case.id);
            assert_eq!(partition["verdict"], *listed.verdict, "{}", case.id);
            assert_eq!(partition["remainder"], listed.remainder, "{}", case.id);
        }
        let findings = disk["findings"].as_array().expect("an array").iter();
        let found: Vec<_> = findings.map(|finding| finding["code"].as_str().expect("a text")).collect();
        assert_findings(&case, &found);
    }
}
