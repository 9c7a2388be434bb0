//! A table as the other tools print it.

use std::path::Path;

use serde_json::Value;

use super::tools::{run, text};

/// A partition; the last three are empty where they are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub number: u64,
    pub start: u64,
    pub end: u64,
    /// As our documents have it: `0x83`, or a GUID in upper case.
    pub type_: String,
    pub id: String,
    pub name: String,
}

/// A table.
#[derive(Clone)]
pub struct Listing {
    /// As our documents have it: `mbr` or `gpt`.
    pub label: String,
    pub sector_size: u64,
    pub id: String,
    pub rows: Vec<Row>,
}

/// The partitions of one of our documents: a plan, or a disk of a check.
pub fn rows(document: &Value) -> Vec<Row> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().expect("a number");
    let partitions = document["partitions"].as_array().expect("an array").iter();
    let rows = partitions.map(|partition| Row {
        number: number(&partition["number"]),
        start: number(&partition["start"]),
        end: number(&partition["end"]),
        type_: word(&partition["type"]),
        id: word(&partition["id"]),
        name: word(&partition["name"]),
    });
    rows.collect()
}

pub fn by_sfdisk(disk: &Path) -> Listing {
    let printed = run("sfdisk", &["--json", text(disk)], "").output;
    let document: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let table = &document["partitiontable"];
    let is_mbr = table["label"] == "dos";
    let listed = table["partitions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let row = |listed: &Value| {
        let word = |key: &str| listed[key].as_str().unwrap_or_default().to_owned();
        let start = listed["start"].as_u64().expect("a number");
        let type_ = word("type");
        Row {
            number: number_of(&word("node"), disk),
            start,
            end: start + listed["size"].as_u64().expect("a number") - 1,
            type_: if is_mbr { format!("0x{type_:0>2}") } else { type_ },
            id: word("uuid"),
            name: word("name"),
        }
    };
    let mut rows: Vec<Row> = listed.iter().map(row).collect();
    rows.sort_by_key(|row| row.number);
    Listing {
        label: if is_mbr { "mbr" } else { "gpt" }.to_owned(),
        sector_size: table["sectorsize"].as_u64().expect("a number"),
        id: table["id"].as_str().expect("a text").to_owned(),
        rows,
    }
}

/// The number at the end of a partition's node.
pub fn number_of(node: &str, disk: &Path) -> u64 {
    let number = node.strip_prefix(text(disk)).expect("the node begins with the disk's path");
    number.trim_start_matches('p').trim_start_matches("-part").parse().expect("the node ends with the number")
}

pub fn by_sgdisk(disk: &Path) -> Vec<Row> {
    let printed = run("sgdisk", &["-p", text(disk)], "").output;
    let listed = printed.lines().skip_while(|line| !line.starts_with("Number")).skip(1);
    let places: Vec<(u64, u64, u64)> = listed
        .map(|line| {
            let mut words = line.split_whitespace().map(|word| word.parse::<u64>());
            let mut number = || words.next().and_then(Result::ok).expect(line);
            (number(), number(), number())
        })
        .collect();
    // Of all at once: a table may have many.
    let asked: Vec<String> = places.iter().map(|(number, ..)| format!("-i{number}")).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).chain([text(disk)]).collect();
    let details = run("sgdisk", &asked, "").output;
    let all = |key: &str| -> Vec<&str> {
        let values: Vec<&str> = details.lines().filter_map(|line| line.strip_prefix(key)).collect();
        assert_eq!(values.len(), places.len(), "{key} {details}");
        values.into_iter().map(str::trim).collect()
    };
    let first_word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let (firsts, lasts) = (all("First sector:"), all("Last sector:"));
    let (types, ids, names) =
        (all("Partition GUID code:"), all("Partition unique GUID:"), all("Partition name:"));
    let row = |(at, (number, start, end)): (usize, &(u64, u64, u64))| {
        assert_eq!([first_word(firsts[at]), first_word(lasts[at])], [start.to_string(), end.to_string()]);
        Row {
            number: *number,
            start: *start,
            end: *end,
            type_: first_word(types[at]),
            id: ids[at].to_owned(),
            name: names[at].trim_matches('\'').to_owned(),
        }
    };
    places.iter().enumerate().map(row).collect()
}
