//! The JSON documents against their committed schemas.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its scene has failed")]

mod common;

use std::path::Path;

use serde_json::Value;

fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(name);
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn complaints(document: &Value) -> Vec<String> {
    complaints_by("alignck-check.json", document)
}

fn complaints_by(name: &str, document: &Value) -> Vec<String> {
    schema(name).iter_errors(document).map(|error| format!("{}: {error}", error.instance_path)).collect()
}

#[test]
fn every_document_fits_the_schema() {
    let folder = common::scratch();
    let mut images: Vec<_> = fixtures::recorded::all()
        .iter()
        .map(|recorded| common::file(folder.path(), &recorded.name, &recorded.image()))
        .collect();
    images.push(folder.path().join("missing"));
    let output = common::alignck().arg("--json").args(&images).output().unwrap();
    let (document, _) = common::json(&output);
    assert!(document["disks"].as_array().unwrap().len() > 20);
    assert_eq!(complaints(&document), Vec::<String>::new());
}

#[test]
fn a_missing_or_misspelt_word_does_not_fit() {
    let folder = common::scratch();
    let path = common::file(folder.path(), "image", &fixtures::recorded::named("sfdisk-gpt").image());
    let output = common::alignck().arg("--json").arg(path).output().unwrap();
    let (document, _) = common::json(&output);

    let mut without_status = document.clone();
    without_status["disks"][0].as_object_mut().unwrap().remove("status");
    assert!(!complaints(&without_status).is_empty());
    let mut misspelt = document.clone();
    misspelt["disks"][0]["partitions"][0]["verdict"] = "alined".into();
    assert!(!complaints(&misspelt).is_empty());
    // What does not apply is null, never absent.
    let mut absent = document;
    absent["disks"][0]["partitions"][0].as_object_mut().unwrap().remove("node");
    assert!(!complaints(&absent).is_empty());
}

#[test]
fn plans_fit_their_schema() {
    let folder = common::scratch();
    let disk = common::file(folder.path(), "disk", &fixtures::Image::blank(1 << 30));
    let disk = disk.display().to_string();
    for arguments in [
        vec!["--size", "10G", "x5"],
        vec!["--size", "1G", "x5", "--table", "mbr", "--align", "minimal"],
        vec!["--size", "100M,type=esp,name=EFI", "--size", "rest", "--grain", "4M", &disk],
    ] {
        let output = common::alignck().args(["plan", "--json"]).args(&arguments).output().unwrap();
        let (document, exit) = common::json(&output);
        assert_eq!(exit, 0);
        assert_eq!(complaints_by("alignck-plan.json", &document), Vec::<String>::new(), "{arguments:?}");
        let named = arguments.contains(&&*disk);
        assert_eq!(document["disk_fingerprint"].is_object(), named, "{arguments:?}");
    }
}

#[test]
fn what_writes_fits_its_schema_whatever_comes_of_it() {
    let folder = common::scratch();
    let image = folder.path().join("disk.img");
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::copy(top.join("fixtures/images/old-installer.img"), &image).unwrap();
    let plan = top.join("fixtures/plans/old-installer.json").display().to_string();
    let disk = image.display().to_string();
    let run = |arguments: &[&str]| {
        let state = folder.path().join("state");
        let output = common::alignck().env("XDG_STATE_HOME", state).args(arguments).output().unwrap();
        common::json(&output)
    };
    for (arguments, result, exit) in [
        (vec!["convert", &disk, "--to", "4096", "--json", "--yes"], "failed", 2),
        (vec!["apply", &plan, &disk, "--json"], "failed", 2),
        (vec!["apply", &plan, &disk, "--json", "--dry-run"], "dry-run", 0),
        (vec!["apply", &plan, &disk, "--json", "--yes"], "written", 0),
        (vec!["convert", &disk, "--to", "4096", "--json"], "failed", 2),
        (vec!["convert", &disk, "--to", "4096", "--json", "--dry-run"], "dry-run", 0),
        (vec!["convert", &disk, "--to", "4096", "--json", "--yes"], "written", 0),
        (vec!["convert", &disk, "--to", "4096", "--json", "--yes"], "unchanged", 0),
        (vec!["undo", &disk, "--json", "--yes"], "written", 0),
        (vec!["undo", &disk, "--json", "--yes"], "written", 0),
        (vec!["undo", &disk, "--json", "--yes"], "failed", 2),
        (vec!["resume", &disk, "--json", "--yes"], "failed", 2),
    ] {
        let (document, found) = run(&arguments);
        assert_eq!(document["result"], result, "{arguments:?}: {document}");
        assert_eq!(found, exit, "{arguments:?}");
        assert_eq!(complaints_by("alignck-write.json", &document), Vec::<String>::new(), "{arguments:?}");
    }
}

#[test]
fn moves_fit_their_schema_whatever_comes_of_them() {
    let folder = common::scratch();
    let image = folder.path().join("disk.img");
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::copy(top.join("fixtures/images/old-installer.img"), &image).unwrap();
    let disk = image.display().to_string();
    for (arguments, result, exit) in [
        (vec!["fix", &disk, "--json"], "failed", 2),
        (vec!["fix", &disk, "--json", "--dry-run"], "dry-run", 0),
        (vec!["fix", &disk, "--json", "--yes", "--partition", "9"], "failed", 2),
        (vec!["fix", &disk, "--json", "--yes"], "moved", 0),
        (vec!["fix", &disk, "--json", "--yes"], "unchanged", 0),
        (vec!["undo", &disk, "--json", "--dry-run"], "dry-run", 0),
        (vec!["undo", &disk, "--json", "--yes"], "moved", 0),
    ] {
        let state = folder.path().join("state");
        let output = common::alignck().env("XDG_STATE_HOME", state).args(&arguments).output().unwrap();
        let (document, found) = common::json(&output);
        assert_eq!(document["result"], result, "{arguments:?}: {document}");
        assert_eq!(found, exit, "{arguments:?}");
        assert_eq!(complaints_by("alignck-fix.json", &document), Vec::<String>::new(), "{arguments:?}");
    }
}

#[test]
fn probes_fit_their_schema_whatever_comes_of_them() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema-probe.img");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    for arguments in [&["probe", "--json"][..], &["probe", "--json", "--write", "--yes"]] {
        let output = common::alignck().args(arguments).arg(&path).output().unwrap();
        let (document, exit) = common::json(&output);
        assert_eq!(complaints_by("alignck-probe.json", &document), Vec::<String>::new(), "{document}");
        assert_eq!(document["error"].is_string(), document["result"] == "failed", "{document}");
        assert_eq!(
            exit == 2,
            matches!(document["result"].as_str(), Some("failed" | "unclear")),
            "{document}"
        );
    }
}
