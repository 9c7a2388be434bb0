use std::io::{self, BufWriter, Write};

use anstream::AutoStream;

use crate::exit::Exit;
use crate::json;
use crate::settings::{CheckSettings, Disks, Format};
use crate::targets::check_all;
use crate::text::{self, Page, Tally};

/// `alignck check`: looks at the disks, prints, and says how it went.
pub(crate) fn run(settings: &CheckSettings) -> Exit {
    let mut exit = Exit::Good;
    let printed = match settings.format {
        Format::Text { verbose } => print_text(settings, verbose, &mut exit),
        Format::Json => print_json(settings, &mut exit),
    };
    match printed {
        // Whoever reads the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
        Err(error) => {
            text::complain(&format!("the output cannot be written: {error}"));
            Exit::Failed
        }
        Ok(()) => exit,
    }
}

fn print_text(settings: &CheckSettings, verbose: bool, exit: &mut Exit) -> io::Result<()> {
    let page = Page::of_terminal();
    let mut out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
    let several = match &settings.disks {
        Disks::All => true,
        Disks::Named(disks) => disks.len() > 1,
    };
    let mut tally = Tally::default();
    check_all(settings, |outcome| {
        match &outcome.result {
            Ok(report) => {
                *exit = (*exit).max(Exit::of(report, settings.fail_on));
                let brief = several && !verbose && text::is_all_right(report);
                tally.count(report);
                if brief { page.brief(&mut out, report) } else { page.full(&mut out, report, several) }
            }
            Err(error) => {
                *exit = (*exit).max(Exit::Failed);
                tally.failed += 1;
                // In the order of the disks, where both go to a terminal.
                out.flush()?;
                text::complain(&error.to_string());
                Ok(())
            }
        }
    })?;
    if several {
        page.summary(&mut out, &tally)?;
    }
    out.flush()
}

fn print_json(settings: &CheckSettings, exit: &mut Exit) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    json::write_document(&mut out, |sink| {
        check_all(settings, |outcome| match &outcome.result {
            Ok(report) => {
                *exit = (*exit).max(Exit::of(report, settings.fail_on));
                sink.disk(report)
            }
            Err(error) => {
                *exit = (*exit).max(Exit::Failed);
                sink.error(&outcome.path, error);
                Ok(())
            }
        })
    })?;
    out.flush()
}
