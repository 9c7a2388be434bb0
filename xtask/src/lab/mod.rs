//! `cargo xtask lab`: a small virtual machine with a stock kernel has the disks that this machine lacks.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

mod cached_drive;
mod console;
mod cpio;
mod drive;
mod initramfs;
mod judge;
mod kernel;
mod machine;
mod outcome;
mod random;
mod scenarios;
mod tools;

use initramfs::Initramfs;
use outcome::Outcome;
use scenarios::{SCENARIOS, Scenario};

use crate::{at, root};

/// What every scenario needs: a kernel, what it boots into, and a place for disks.
struct Lab {
    kernel: PathBuf,
    initramfs: Initramfs,
    /// Below `target`, so that a failure can be looked into afterwards.
    folder: PathBuf,
    /// How often what takes time is measured.
    passes: u32,
}

/// For figures that are written down.
const PASSES_OF_A_RECORD: u32 = 5;

/// Runs all scenarios or one, a line for each; `record` writes what they measured into the documentation.
pub(crate) fn run(only: Option<&str>, record: bool) -> Result<(), String> {
    let wanted: Vec<&Scenario> =
        SCENARIOS.iter().filter(|scenario| only.is_none_or(|only| only == scenario.name)).collect();
    if wanted.is_empty() {
        let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        return Err(format!("no scenario has that name; there are: {}", names.join(", ")));
    }
    tools::require()?;
    let lab = Lab::prepare(if record { PASSES_OF_A_RECORD } else { 1 })?;
    let begun = Instant::now();
    let finished = run_all(&lab, &wanted);
    let failed = finished.iter().filter(|outcome| !outcome.is_good()).count();
    let checks: usize = finished.iter().map(Outcome::checks).sum();
    for (_, table) in finished.iter().filter_map(Outcome::measured) {
        println!("\n{table}");
    }
    println!(
        "{} of {} scenarios ok, {checks} checks, {} s",
        wanted.len().saturating_sub(failed),
        wanted.len(),
        begun.elapsed().as_secs()
    );
    if failed > 0 {
        return Err(format!("{failed} failed; what their consoles said is in {}", lab.folder.display()));
    }
    for (heading, table) in finished.iter().filter_map(Outcome::measured).filter(|_| record) {
        crate::benchmarks::write(heading, table)?;
    }
    Ok(())
}

/// As many machines run at once; each is busy with one processor.
const AT_ONCE: usize = 2;

/// Runs the scenarios and prints a line for each when it is done. Those that measure time run alone, after the others.
fn run_all(lab: &Lab, wanted: &[&Scenario]) -> Vec<Outcome> {
    let (alone, others): (Vec<&Scenario>, Vec<&Scenario>) =
        wanted.iter().copied().partition(|scenario| scenario.measures);
    let next = AtomicUsize::new(0);
    let finished = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(scenario) = others.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run_one(lab, scenario);
                    finished.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                }
            });
        }
    });
    let mut finished = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
    finished.extend(alone.into_iter().map(|scenario| run_one(lab, scenario)));
    finished
}

fn run_one(lab: &Lab, scenario: &Scenario) -> Outcome {
    let begun = Instant::now();
    let outcome = (scenario.run)(lab).unwrap_or_else(Outcome::broken);
    let word = if outcome.is_good() { "ok  " } else { "FAIL" };
    let (checks, seconds) = (outcome.checks(), begun.elapsed().as_secs());
    let mut text = format!("{word} {:<18} {} ({checks} checks, {seconds} s)", scenario.name, scenario.what);
    for failure in outcome.failures() {
        text.push_str("\n       ");
        text.push_str(failure);
    }
    println!("{text}");
    outcome
}

impl Lab {
    fn prepare(passes: u32) -> Result<Self, String> {
        let folder = root().join("target/lab");
        std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        let kernel = kernel::find()?;
        let initramfs = Initramfs::build(&kernel, &folder)?;
        Ok(Self { kernel: kernel.image, initramfs, folder, passes })
    }
}
