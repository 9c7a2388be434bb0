use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use align_core::device::Disk;
use align_core::fix::{self, FixError};
use align_core::patch::{Backup, Folder, Stage, State};
use align_core::write::{BackupPlace, KernelState, Proposal, Wishes, WriteError, Written};
use anstream::AutoStream;

use crate::consent;
use crate::exit::Exit;
use crate::json::{PlanDocument, WriteDocument, write_indented};
use crate::settings::{Consent, FixSettings, WriteSettings, WriteWhat};
use crate::text::{self, Page};

/// A plan is no larger than this: thousands of partitions fit.
const MAX_PLAN: u64 = 16 << 20;

/// Why it did not come to a write.
enum Failure {
    /// Usage, input, or what a disk is.
    Message(String),
    Write(WriteError),
}

/// `alignck apply`, `resume` and `undo`: shows what will be, asks, and does it.
pub(crate) fn run(settings: &WriteSettings) -> Exit {
    if let Some(exit) = crate::fix::take_over(settings) {
        return exit;
    }
    run_write(settings)
}

/// `alignck fix --table-only`: the table changes, and no other byte.
pub(crate) fn table_only(settings: &FixSettings) -> Exit {
    run_write(&WriteSettings {
        disk: settings.disk.clone(),
        what: WriteWhat::TableOnly { wishes: Box::new(settings.wishes.clone()) },
        options: settings.wishes.options.clone(),
        consent: settings.consent,
        backup: settings.backup.clone(),
        json: settings.json,
    })
}

fn run_write(settings: &WriteSettings) -> Exit {
    let done = if settings.json { run_json(settings) } else { run_text(settings) };
    match done {
        Ok(exit) => exit,
        Err(error) => {
            text::complain(&format!(
                "the output cannot be written ({error}); nothing was written to the disk"
            ));
            Exit::Failed
        }
    }
}

/// What was written is written, whether or not the output about it can be.
pub(crate) fn told(exit: Exit, printed: &io::Result<()>) -> Exit {
    match printed {
        Ok(()) => exit,
        // Who reads the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
        Err(error) => {
            text::complain(&format!("the disk was written, but not the output about it: {error}"));
            Exit::Failed
        }
    }
}

fn run_text(settings: &WriteSettings) -> io::Result<Exit> {
    let page = Page::of_terminal();
    let mut out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
    let proposal = match propose(settings).and_then(|proposal| may_ask(settings).map(|()| proposal)) {
        Ok(proposal) => proposal,
        Err(failure) => return Ok(failure.complain()),
    };
    let wipes = matches!(settings.what, WriteWhat::Apply { wipe: true, .. });
    page.proposal(&mut out, &proposal, wipes)?;
    out.flush()?;
    if settings.consent == Consent::DryRun
        || (settings.consent == Consent::Ask
            && !proposal.changes_nothing()
            && !consent::ask("Write this to", &proposal.before.path)?)
    {
        page.not_written(&mut out, settings.consent)?;
        out.flush()?;
        return Ok(if settings.consent == Consent::DryRun { Exit::Good } else { Exit::Failed });
    }
    let committed = place(settings).and_then(|place| proposal.commit(&place).map_err(Failure::Write));
    match committed {
        Ok(written) => {
            let printed = page.written(&mut out, settings.what.word(), &written).and_then(|()| out.flush());
            Ok(told(exit_of(&written), &printed))
        }
        Err(failure) => Ok(failure.complain()),
    }
}

fn run_json(settings: &WriteSettings) -> io::Result<Exit> {
    let command = settings.what.word();
    let mut is_written = false;
    let (document, exit) = match propose(settings).and_then(|proposal| may_ask(settings).map(|()| proposal)) {
        Err(failure) => failure.document(WriteDocument::failed(command, &settings.disk)),
        Ok(proposal) => {
            let document = WriteDocument::proposed(command, &proposal);
            match (settings.consent, place(settings)) {
                (Consent::DryRun, _) => (document, Exit::Good),
                (_, Err(failure)) => failure.document(document),
                (_, Ok(place)) => match proposal.commit(&place) {
                    Ok(written) => {
                        is_written = written.backup.is_some();
                        (document.with_outcome(&written), exit_of(&written))
                    }
                    Err(error) => Failure::Write(error).document(document),
                },
            }
        }
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let printed =
        write_indented(&mut out, &document, "").and_then(|()| writeln!(out)).and_then(|()| out.flush());
    if is_written || exit == Exit::Unfinished {
        return Ok(told(exit, &printed));
    }
    printed.map(|()| exit)
}

fn exit_of(written: &Written) -> Exit {
    match written.kernel {
        KernelState::Stale(_) => Exit::Stale,
        KernelState::NotConcerned | KernelState::Current => Exit::Good,
    }
}

/// Without a terminal nobody can answer.
fn may_ask(settings: &WriteSettings) -> Result<(), Failure> {
    if settings.consent != Consent::Ask || consent::can_ask(settings.json) {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "{}: nobody can be asked here, so nothing was written: --yes writes without a question, --dry-run shows what \
         would be written",
        settings.disk.display()
    )))
}

fn propose(settings: &WriteSettings) -> Result<Proposal, Failure> {
    if settings.disk == Path::new("-") {
        return Err(Failure::Message("standard input cannot be written; name a disk or an image".into()));
    }
    let disk = Disk::open(&settings.disk).map_err(|error| Failure::Message(error.to_string()))?;
    let options = &settings.options;
    match &settings.what {
        WriteWhat::Apply { plan, wipe } => {
            let read = read_plan(plan).and_then(PlanDocument::into_layout);
            let (layout, fingerprint) =
                read.map_err(|reason| Failure::Message(format!("{}: {reason}", plan.display())))?;
            let wishes = Wishes { options: options.clone(), wipe: *wipe, fingerprint };
            Ok(Proposal::of_layout(&disk, &layout, &wishes)?)
        }
        WriteWhat::Convert { to, force } => Ok(Proposal::of_conversion(&disk, *to, options, *force)?),
        WriteWhat::TableOnly { wishes } => {
            Ok(fix::table_only(&disk, wishes).map_err(|error| match error {
                FixError::Write(error) => Failure::Write(error),
                other => Failure::Message(format!("{}: {other}", settings.disk.display())),
            })?)
        }
        WriteWhat::Resume { from, .. } => {
            let backup = backup(&disk, from.as_deref(), |backup, state| {
                backup.stage == Stage::Writing && state == State::Torn
            })?;
            let backup = backup.ok_or_else(|| {
                let path = disk.path().display();
                Failure::Message(format!("{path}: no write to it is unfinished, as far as the backups tell"))
            })?;
            Ok(Proposal::of_resume(&disk, backup, options)?)
        }
        WriteWhat::Undo { from, force, .. } => {
            let backup = backup(&disk, from.as_deref(), is_to_undo)?;
            let backup = backup.ok_or_else(|| no_backup(&disk))?;
            Ok(Proposal::of_undo(&disk, backup, options, *force)?)
        }
    }
}

/// Whether a backup is one that `undo` without a name means.
fn is_to_undo(backup: &Backup, state: State) -> bool {
    let torn = backup.stage == Stage::Writing && state == State::Torn;
    torn || (backup.stage != Stage::Undone && backup.undoes.is_none() && state != State::Before)
}

/// Of the backups of a disk, the newest first, the one that `undo` without a name means.
pub(crate) fn newest_to_undo(disk: &Disk, backups: Vec<Backup>) -> Option<Backup> {
    let device = disk.device()?;
    let state = |backup: &Backup| backup.patch.state(device).unwrap_or(State::Foreign(0));
    backups.into_iter().find(|backup| is_to_undo(backup, state(backup)))
}

fn no_backup(disk: &Disk) -> Failure {
    let folder =
        Folder::of_user().map_or("the state folder".into(), |folder| folder.path().display().to_string());
    Failure::Message(format!(
        "{}: there is no backup of this disk in {folder} that was not put back yet; name one: `alignck undo DISK BACKUP`",
        disk.path().display()
    ))
}

/// The backup that was named, or the newest of this disk that is wanted.
fn backup(
    disk: &Disk,
    named: Option<&Path>,
    wanted: impl Fn(&Backup, State) -> bool,
) -> Result<Option<Backup>, Failure> {
    if let Some(path) = named {
        return Backup::read(path).map(Some).map_err(|error| Failure::Message(error.to_string()));
    }
    let (Some(folder), Some(identity), Some(device)) = (Folder::of_user(), disk.identity(), disk.device())
    else {
        return Ok(None);
    };
    let backups = folder.backups_of(&identity).map_err(|error| Failure::Message(error.to_string()))?;
    let state = |backup: &Backup| backup.patch.state(device).unwrap_or(State::Foreign(0));
    Ok(backups.into_iter().find(|backup| wanted(backup, state(backup))))
}

fn read_plan(path: &Path) -> Result<PlanDocument, String> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().take(MAX_PLAN + 1).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MAX_PLAN + 1).read_to_string(&mut text))
    };
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            "this is no plan as `alignck plan --json` prints it: it is not text".to_owned()
        }
        _ => format!("the plan cannot be read: {error}"),
    })?;
    if text.len() as u64 > MAX_PLAN {
        return Err(format!("the plan is larger than {} MiB, more than any table holds", MAX_PLAN >> 20));
    }
    serde_json::from_str(&text)
        .map_err(|error| format!("this is no plan as `alignck plan --json` prints it: {error}"))
}

fn place(settings: &WriteSettings) -> Result<BackupPlace, Failure> {
    match &settings.backup {
        Some(path) => Ok(BackupPlace::File { path: path.clone(), known_in: Folder::of_user() }),
        None => Folder::of_user()
            .map(BackupPlace::Folder)
            .ok_or_else(|| Failure::Message(align_core::patch::BackupError::NoFolder.to_string())),
    }
}

impl WriteWhat {
    fn word(&self) -> &'static str {
        match self {
            Self::Apply { .. } => "apply",
            Self::TableOnly { .. } => "fix",
            Self::Convert { .. } => "convert",
            Self::Resume { .. } => "resume",
            Self::Undo { .. } => "undo",
        }
    }
}

impl Failure {
    fn complain(&self) -> Exit {
        match self {
            Self::Message(message) => text::complain(message),
            Self::Write(error) => text::complain(&error.to_string()),
        }
        self.exit()
    }

    fn document(&self, document: WriteDocument) -> (WriteDocument, Exit) {
        let document = match self {
            Self::Message(message) => document.with_message(message),
            Self::Write(error) => document.with_error(error),
        };
        (document, self.exit())
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Write(error) if error.is_unfinished() => Exit::Unfinished,
            Self::Message(_) | Self::Write(_) => Exit::Failed,
        }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}
