//! `cargo xtask docs`: what is generated from the command's own definition.

use std::fs;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::{at, root};

/// Writes the generated files, or only compares them with those that are committed.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let files = generate()?;
    if !check {
        for (path, content) in files {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(at(folder))?;
            }
            fs::write(&path, content).map_err(at(&path))?;
        }
        return Ok(());
    }
    let stale: Vec<String> = files
        .iter()
        .filter(|(path, content)| fs::read(path).ok().as_ref() != Some(content))
        .map(|(path, _)| path.display().to_string())
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("not up to date, run `cargo xtask docs`: {}", stale.join(", ")))
}

fn generate() -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let docs = root().join("docs");
    // The word `help` has no page; building gives the others their full names.
    let mut command = alignck::cli::command().disable_help_subcommand(true);
    command.build();
    let mut files = man_pages(&command)?
        .into_iter()
        .map(|(name, page)| (docs.join("man").join(name), page))
        .collect::<Vec<_>>();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut alignck::cli::command(), "alignck", &mut script);
        files.push((docs.join("completions").join(format!("alignck.{shell}")), script));
    }
    for (name, schema) in [
        ("alignck-check.json", schema_of::<alignck::json::CheckDocument>()),
        ("alignck-plan.json", schema_of::<alignck::json::PlanDocument>()),
        ("alignck-fix.json", schema_of::<alignck::json::FixDocument>()),
        ("alignck-probe.json", schema_of::<alignck::json::ProbeDocument>()),
        ("alignck-write.json", schema_of::<alignck::json::WriteDocument>()),
    ] {
        let text = serde_json::to_string_pretty(&schema).map_err(|error| error.to_string())? + "\n";
        files.push((docs.join("schema").join(name), text.into_bytes()));
    }
    Ok(files)
}

/// What is written always has all keys; a key that does not apply is null.
fn schema_of<T: schemars::JsonSchema>() -> schemars::Schema {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

/// One page for the command and one for each of its words.
fn man_pages(command: &clap::Command) -> Result<Vec<(String, Vec<u8>)>, String> {
    let words = command.get_subcommands().filter(|word| word.get_name() != "help");
    std::iter::once(command)
        .chain(words)
        .map(|command| {
            let man = clap_mangen::Man::new(command.clone()).manual("alignck").date("");
            let mut page = Vec::new();
            man.render(&mut page).map_err(|error| error.to_string())?;
            Ok((man.get_filename(), page))
        })
        .collect()
}
