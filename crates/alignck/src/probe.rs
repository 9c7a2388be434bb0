use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use align_core::check::{self, Options, Report};
use align_core::device::{Disk, Source};
use align_core::probe::{Measured, Outcome, Probe, Progress};
use anstream::AutoStream;

use crate::consent;
use crate::exit::Exit;
use crate::json::{ProbeDocument, write_indented};
use crate::settings::{Consent, ProbeSettings};
use crate::text::{self, Page};

/// `alignck probe`: finds the physical sectors by timing.
pub(crate) fn run(settings: &ProbeSettings) -> Exit {
    let printed = if settings.json { run_json(settings) } else { run_text(settings) };
    match printed {
        Ok(exit) => exit,
        // Who reads the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Good,
        Err(error) => {
            text::complain(&format!("the output cannot be written: {error}"));
            Exit::Failed
        }
    }
}

fn run_text(settings: &ProbeSettings) -> io::Result<Exit> {
    let page = Page::of_terminal();
    let mut out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
    let probe = match prepare(settings) {
        Ok(probe) => probe,
        Err((message, exit)) => {
            text::complain(&message);
            return Ok(exit);
        }
    };
    page.probe(&mut out, &probe)?;
    out.flush()?;
    if settings.consent == Consent::Ask && !consent::ask("Write blocks back to", &settings.disk)? {
        writeln!(out, "Nothing was written.")?;
        out.flush()?;
        return Ok(Exit::Failed);
    }
    match measure(&probe) {
        Ok((measured, judged)) => {
            writeln!(out)?;
            page.measured(&mut out, &probe, &measured, judged.as_ref())?;
            out.flush()?;
            Ok(exit_of(&measured))
        }
        Err(message) => {
            text::complain(&message);
            Ok(Exit::Failed)
        }
    }
}

fn run_json(settings: &ProbeSettings) -> io::Result<Exit> {
    let measured =
        prepare(settings).and_then(|probe| measure(&probe).map_err(|message| (message, Exit::Failed)));
    let (document, exit) = match &measured {
        Ok((measured, judged)) => {
            (ProbeDocument::new(&settings.disk, measured, judged.as_ref()), exit_of(measured))
        }
        Err((message, exit)) => (ProbeDocument::failed(&settings.disk, message), *exit),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    write_indented(&mut out, &document, "")?;
    writeln!(out)?;
    out.flush()?;
    Ok(exit)
}

fn exit_of(measured: &Measured) -> Exit {
    match measured.outcome {
        Outcome::Found(_) | Outcome::NoDifference => Exit::Good,
        Outcome::Unclear(_) => Exit::Failed,
    }
}

/// What can be said before anything is written.
fn prepare(settings: &ProbeSettings) -> Result<Probe, (String, Exit)> {
    let failed = |message: String| (message, Exit::Failed);
    if settings.disk == Path::new("-") {
        return Err(failed("standard input cannot be measured; name a disk or a file".into()));
    }
    if settings.consent == Consent::DryRun {
        return Err(failed(format!(
            "{}: only writes show the physical sectors, reads take equally long everywhere: --write reads blocks and writes the \
             same bytes back where they were; nothing was written",
            settings.disk.display()
        )));
    }
    let disk = Disk::open(&settings.disk).map_err(|error| failed(error.to_string()))?;
    let probe = Probe::of(&disk, &settings.options).map_err(|error| {
        let exit = if error.is_unfinished() { Exit::Unfinished } else { Exit::Failed };
        (error.to_string(), exit)
    })?;
    if settings.consent == Consent::Ask && !consent::can_ask(settings.json) {
        let path = settings.disk.display();
        return Err(failed(format!(
            "{path}: nobody can be asked here, so nothing was written: --yes writes without a question"
        )));
    }
    Ok(probe)
}

/// Measures, and judges the disk by what was found.
fn measure(probe: &Probe) -> Result<(Measured, Option<Report>), String> {
    let mut terminal = io::stderr();
    let shows = terminal.is_terminal();
    let mut show = |progress: Progress| {
        if shows {
            // When standard error is gone there is nobody left to tell.
            let _ = text::progress(&mut terminal, progress);
        }
    };
    let measured = probe.run(&mut show);
    if shows {
        let _ = text::end_progress(&mut terminal);
    }
    let measured = measured.map_err(|error| error.to_string())?;
    let judged = match measured.outcome {
        Outcome::Found(sectors) if probe.report.source == Source::Block => {
            let options = Options { pretend: sectors.into(), ..Options::default() };
            let judged = Disk::open(&probe.report.path).and_then(|disk| check::run(&disk, &options));
            Some(judged.map_err(|error| error.to_string())?)
        }
        _ => None,
    };
    Ok((measured, judged))
}
