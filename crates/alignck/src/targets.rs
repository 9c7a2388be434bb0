use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::{collections::BTreeMap, thread};

use align_core::Error;
use align_core::check::{self, Report};
use align_core::device::Disk;

use crate::settings::{CheckSettings, Disks};

/// What became of one disk.
pub(crate) struct Outcome {
    pub(crate) path: PathBuf,
    pub(crate) result: Result<Report, Error>,
}

/// As many disks are looked at at once, so that slow ones wait together; each thread is small.
const MAX_THREADS: usize = 16;

/// Checks all disks, several at a time, and hands each outcome to `take`, in the order of the command line, as
/// soon as it and all before it are there. Ends early when `take` says so. That `--all` finds no disk is an outcome
/// too.
pub(crate) fn check_all(
    settings: &CheckSettings,
    mut take: impl FnMut(Outcome) -> io::Result<()>,
) -> io::Result<()> {
    let paths = match &settings.disks {
        Disks::Named(paths) => paths.clone(),
        Disks::All => match settings.host.whole_disks() {
            Ok(paths) => paths,
            Err(error) => return take(Outcome { path: PathBuf::from("--all"), result: Err(error) }),
        },
    };
    let skip_empty_drives = matches!(settings.disks, Disks::All);
    let seen = Mutex::new(HashSet::new());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let threads = paths.len().min(MAX_THREADS);
    thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (paths, next, seen) = (&paths, &next, &seen);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(index) else { return };
                    let result = check_one(settings, path, seen);
                    if sender.send((index, path.clone(), result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        let mut taken = 0;
        for (index, path, result) in receiver {
            waiting.insert(index, (path, result));
            while let Some((path, result)) = waiting.remove(&due) {
                due += 1;
                let done = match result {
                    None => Ok(()),
                    Some(Err(error)) if skip_empty_drives && error.is_no_medium() => Ok(()),
                    Some(result) => {
                        taken += 1;
                        take(Outcome { path, result })
                    }
                };
                if let Err(error) = done {
                    next.store(paths.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        if taken == 0 {
            let none = Error::unusable(Path::new("--all"), "there is no disk with a medium on this machine");
            return take(Outcome { path: PathBuf::from("--all"), result: Err(none) });
        }
        Ok(())
    })
}

/// Checks one disk; `None` when it is a disk to which another argument has led already.
fn check_one(
    settings: &CheckSettings,
    path: &Path,
    seen: &Mutex<HashSet<PathBuf>>,
) -> Option<Result<Report, Error>> {
    let disk = if path == Path::new("-") {
        if io::stdin().is_terminal() {
            return Some(Err(Error::unusable(path, "standard input is a terminal; pipe an image into it")));
        }
        Disk::stream(path, io::stdin())
    } else {
        match Disk::open_on(&settings.host, path) {
            Ok(disk) => disk,
            Err(error) => return Some(Err(error)),
        }
    };
    // Two partitions of one disk ask for it twice.
    if disk.given_partition().is_some() || disk.kernel().is_some() {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Links lead to the same disk too.
        let path = std::fs::canonicalize(disk.path()).unwrap_or_else(|_| disk.path().to_owned());
        if !seen.insert(path) {
            return None;
        }
    }
    Some(check::run(&disk, &settings.options))
}
