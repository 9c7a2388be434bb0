use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use align_core::check::Options;
use align_core::device::Disk;
use align_core::fix::{FixError, Fixed, Proposal, Unfinished};
use align_core::patch::{Backup, Folder};
use align_core::realign::{Care, Watch};
use align_core::write::{BackupPlace, KernelState};
use anstream::AutoStream;

use crate::cli::ProgressArg;
use crate::consent;
use crate::exit::Exit;
use crate::json::{FixDocument, write_indented};
use crate::settings::{Consent, FixSettings, MoveSettings, WriteSettings, WriteWhat};
use crate::text::{self, Page};

/// `alignck fix`: moves partitions to where they should be.
pub(crate) fn run(settings: &FixSettings) -> Exit {
    if settings.table_only {
        return crate::write::table_only(settings);
    }
    let how = How {
        command: "fix",
        disk: &settings.disk,
        progress: settings.progress,
        consent: settings.consent,
        backup: settings.backup.as_deref(),
        json: settings.json,
    };
    let task = open(&settings.disk)
        .and_then(|disk| Ok(Task::Move(Box::new(Proposal::of_fix(&disk, &settings.wishes)?))));
    how.run(task)
}

/// What of `resume` and `undo` is about a move; `None` when that is all about a write.
pub(crate) fn take_over(settings: &WriteSettings) -> Option<Exit> {
    let (command, from, moving) = match &settings.what {
        WriteWhat::Resume { from, moving } => ("resume", from, moving),
        WriteWhat::Undo { from, moving, .. } => ("undo", from, moving),
        WriteWhat::Apply { .. } | WriteWhat::Convert { .. } | WriteWhat::TableOnly { .. } => return None,
    };
    let how = How {
        command,
        disk: &settings.disk,
        progress: moving.progress,
        consent: settings.consent,
        backup: settings.backup.as_deref(),
        json: settings.json,
    };
    let disk = Disk::open(&settings.disk).ok()?;
    let named = match from {
        Some(path) => match Backup::read(path) {
            Ok(backup) => Some(backup),
            Err(_) => return None,
        },
        None => None,
    };
    if named.as_ref().is_some_and(|backup| backup.moved.is_none()) {
        return None;
    }
    let task = task(&disk, command, named, &settings.options, moving).transpose()?;
    Some(how.run(task))
}

/// The move that is to be finished or taken back, if there is one.
fn task(
    disk: &Disk,
    command: &str,
    named: Option<Backup>,
    options: &Options,
    moving: &MoveSettings,
) -> Result<Option<Task>, Failure> {
    let unfinished = match &moving.journal {
        Some(path) if path.is_file() => Some(Unfinished::with_journal(disk, path)?),
        _ => {
            let noted: Vec<Backup> = options.unfinished.iter().cloned().chain(named.clone()).collect();
            Unfinished::find(disk, &noted)?
        }
    };
    if let Some(unfinished) = unfinished {
        let record = named.filter(|backup| backup.id == unfinished.id());
        let record = record.or_else(|| Folder::of_user()?.find(unfinished.id()));
        return Ok(Some(Task::Finish {
            unfinished: Box::new(unfinished),
            record: record.map(Box::new),
            is_forward: command == "resume",
            options: options.clone(),
            care: moving.care,
        }));
    }
    if command == "resume" {
        return Ok(None);
    }
    let newest = || {
        let identity = disk.identity()?;
        let backups = Folder::of_user()?.backups_of(&identity).ok()?;
        crate::write::newest_to_undo(disk, backups)
    };
    let Some(backup) = named.or_else(newest).filter(|backup| backup.moved.is_some()) else { return Ok(None) };
    let proposal = Proposal::of_undo(disk, backup, &moving.wishes(options.clone()))?;
    Ok(Some(Task::Move(Box::new(proposal))))
}

/// What is to be done.
enum Task {
    Move(Box<Proposal>),
    Finish {
        unfinished: Box<Unfinished>,
        record: Option<Box<Backup>>,
        is_forward: bool,
        options: Options,
        care: Care,
    },
}

/// What of a task counts when it is done.
#[derive(Clone, Copy)]
struct Wanted {
    /// Partitions that should move cannot.
    has_stuck: bool,
    /// Everything shall go back to where it was.
    goes_back: bool,
}

impl Task {
    fn wanted(&self) -> Wanted {
        Wanted {
            has_stuck: matches!(self, Self::Move(proposal) if !proposal.stuck.is_empty()),
            goes_back: matches!(self, Self::Finish { is_forward: false, .. }),
        }
    }
}

/// Why nothing came of it.
enum Failure {
    Message(String),
    Fix(Box<FixError>),
}

/// How it is done, whatever it is.
struct How<'s> {
    command: &'static str,
    disk: &'s Path,
    progress: ProgressArg,
    consent: Consent,
    backup: Option<&'s Path>,
    json: bool,
}

impl How<'_> {
    fn run(&self, task: Result<Task, Failure>) -> Exit {
        let done = if self.json { self.run_json(task) } else { self.run_text(task) };
        done.unwrap_or_else(|error| {
            text::complain(&format!(
                "the output cannot be written ({error}); nothing was written to the disk"
            ));
            Exit::Failed
        })
    }

    fn run_text(&self, task: Result<Task, Failure>) -> io::Result<Exit> {
        let page = Page::of_terminal();
        let mut out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
        let task = match task.and_then(|task| self.may_ask(task)) {
            Ok(task) => task,
            Err(failure) => return Ok(self.complain(&failure)),
        };
        let wanted = task.wanted();
        let question = match &task {
            Task::Move(proposal) => {
                page.moves(&mut out, proposal)?;
                if proposal.changes_nothing() {
                    out.flush()?;
                    return Ok(if proposal.stuck.is_empty() { Exit::Good } else { Exit::Failed });
                }
                "Move this on"
            }
            Task::Finish { unfinished, is_forward, .. } => {
                page.unfinished(&mut out, self.disk, unfinished, *is_forward)?;
                if *is_forward { "Finish this on" } else { "Take this back on" }
            }
        };
        out.flush()?;
        if self.consent == Consent::DryRun
            || (self.consent == Consent::Ask && !consent::ask(question, self.disk)?)
        {
            page.not_written(&mut out, self.consent)?;
            out.flush()?;
            let leaves = matches!(task, Task::Finish { .. });
            return Ok(match self.consent {
                Consent::DryRun if leaves => Exit::Unfinished,
                Consent::DryRun => Exit::Good,
                Consent::Ask | Consent::Given => Exit::Failed,
            });
        }
        match self.work(task) {
            Ok(fixed) => {
                let printed = page.moved(&mut out, self.command, &fixed).and_then(|()| out.flush());
                Ok(crate::write::told(exit_of(&fixed, wanted), &printed))
            }
            Err(failure) => Ok(self.complain(&failure)),
        }
    }

    fn run_json(&self, task: Result<Task, Failure>) -> io::Result<Exit> {
        let mut has_written = false;
        let empty = || FixDocument::failed(self.command, self.disk);
        let (document, exit) = match task.and_then(|task| self.may_ask(task)) {
            Err(failure) => {
                (empty().with_error(&failure.to_string(), failure.is_unfinished()), failure.exit())
            }
            Ok(task) => {
                let document = match &task {
                    Task::Move(proposal) => FixDocument::proposed(self.command, proposal),
                    Task::Finish { unfinished, .. } => {
                        FixDocument::unfinished(self.command, self.disk, unfinished)
                    }
                };
                match (&task, self.consent) {
                    (Task::Move(proposal), _) if proposal.changes_nothing() => {
                        let exit = if proposal.stuck.is_empty() { Exit::Good } else { Exit::Failed };
                        (document, exit)
                    }
                    (Task::Finish { .. }, Consent::DryRun) => (document, Exit::Unfinished),
                    (_, Consent::DryRun) => (document, Exit::Good),
                    _ => {
                        has_written = true;
                        let wanted = task.wanted();
                        match self.work(task) {
                            Ok(fixed) => (document.with_outcome(&fixed), exit_of(&fixed, wanted)),
                            Err(failure) => (
                                document.with_error(&failure.to_string(), failure.is_unfinished()),
                                failure.exit(),
                            ),
                        }
                    }
                }
            }
        };
        let mut out = BufWriter::new(io::stdout().lock());
        let printed =
            write_indented(&mut out, &document, "").and_then(|()| writeln!(out)).and_then(|()| out.flush());
        if has_written {
            return Ok(crate::write::told(exit, &printed));
        }
        printed.map(|()| exit)
    }

    /// Without a terminal nobody can answer.
    fn may_ask(&self, task: Task) -> Result<Task, Failure> {
        let changes_nothing = matches!(&task, Task::Move(proposal) if proposal.changes_nothing());
        if self.consent != Consent::Ask || consent::can_ask(self.json) || changes_nothing {
            return Ok(task);
        }
        Err(Failure::Message(format!(
            "{}: nobody can be asked here, so nothing was written: --yes moves without a question, --dry-run shows what would \
             be moved",
            self.disk.display()
        )))
    }

    fn work(&self, task: Task) -> Result<Fixed, Failure> {
        let mut watch = Show::new(self.progress);
        let fixed = match task {
            Task::Move(proposal) => self.place().and_then(|place| Ok(proposal.commit(&place, &mut watch)?)),
            Task::Finish { unfinished, record, is_forward, options, care } => {
                open(self.disk).and_then(|disk| {
                    Ok(unfinished.finish(
                        &disk,
                        is_forward,
                        &options,
                        care,
                        record.map(|record| *record),
                        &mut watch,
                    )?)
                })
            }
        };
        watch.end();
        fixed
    }

    fn place(&self) -> Result<BackupPlace, Failure> {
        match self.backup {
            Some(path) => Ok(BackupPlace::File { path: path.to_owned(), known_in: Folder::of_user() }),
            None => Folder::of_user()
                .map(BackupPlace::Folder)
                .ok_or_else(|| Failure::Message(align_core::patch::BackupError::NoFolder.to_string())),
        }
    }

    fn complain(&self, failure: &Failure) -> Exit {
        match failure {
            Failure::Fix(error) if !error.names_disk() => {
                text::complain(&format!("{}: {error}", self.disk.display()));
            }
            other => text::complain(&other.to_string()),
        }
        failure.exit()
    }
}

fn open(path: &Path) -> Result<Disk, Failure> {
    if path == Path::new("-") {
        return Err(Failure::Message("standard input cannot be written; name a disk or an image".into()));
    }
    Disk::open(path).map_err(|error| Failure::Message(error.to_string()))
}

fn exit_of(fixed: &Fixed, wanted: Wanted) -> Exit {
    match fixed.kernel {
        KernelState::Stale(_) => Exit::Stale,
        // It had come too far, and was finished instead.
        _ if wanted.goes_back && fixed.is_forward => Exit::Failed,
        _ if wanted.has_stuck => Exit::Misaligned,
        KernelState::NotConcerned | KernelState::Current => Exit::Good,
    }
}

impl Failure {
    fn is_unfinished(&self) -> bool {
        matches!(self, Self::Fix(error) if error.is_unfinished())
    }

    fn exit(&self) -> Exit {
        if self.is_unfinished() { Exit::Unfinished } else { Exit::Failed }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Message(message) => f.write_str(message),
            Self::Fix(error) => error.fmt(f),
        }
    }
}

impl From<FixError> for Failure {
    fn from(error: FixError) -> Self {
        Self::Fix(Box::new(error))
    }
}

/// Shows the progress on standard error, and hears of Ctrl-C and SIGTERM.
struct Show {
    how: ProgressArg,
    is_stopped: Arc<AtomicBool>,
    begun: Instant,
    first: Option<u64>,
    shown: Option<Instant>,
}

/// So often at most.
const PAUSE: Duration = Duration::from_millis(200);

impl Show {
    fn new(how: ProgressArg) -> Self {
        let is_stopped = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            // Where a signal cannot be had, it kills: that is safe too.
            let _ = signal_hook::flag::register(signal, Arc::clone(&is_stopped));
        }
        let how =
            if how == ProgressArg::Bar && !io::stderr().is_terminal() { ProgressArg::None } else { how };
        Self { how, is_stopped, begun: Instant::now(), first: None, shown: None }
    }

    fn end(&mut self) {
        if self.how == ProgressArg::Bar && self.shown.is_some() {
            let _ = writeln!(io::stderr());
        }
    }
}

impl Watch for Show {
    fn moved(&mut self, done: u64, of: u64) {
        let first = *self.first.get_or_insert(done);
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PAUSE) || done == of;
        if !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let took = self.begun.elapsed();
        // When standard error is gone there is nobody left to tell.
        let _ = match self.how {
            ProgressArg::Bar => {
                text::move_progress(&mut io::stderr(), (done, of), done.abs_diff(first), took)
            }
            ProgressArg::Json => writeln!(
                io::stderr(),
                "{{\"event\":\"progress\",\"bytes_done\":{done},\"bytes\":{of},\"seconds\":{:.3}}}",
                took.as_secs_f64()
            ),
            ProgressArg::None => Ok(()),
        };
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}
