use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use align_core::fix::{Fixed, Proposal, Unfinished};
use align_core::patch::{Folder, Move};
use align_core::realign::Stand;
use align_core::units::{ByteCount, SectorSize};
use align_core::write::KernelState;

use super::columns::{Column, print};
use super::{DOUBTFUL, GOOD, HEADING, INDENT, Page, plain};

/// The cells of a bar.
const CELLS: u64 = 30;

const COLUMNS: [Column; 5] = [
    Column::right("Nr"),
    Column::right("From"),
    Column::right("To"),
    Column::right("By"),
    Column::right("Bytes"),
];

impl Page {
    /// What moves where, why the others stay, and what comes after it.
    pub(crate) fn moves(&self, out: &mut dyn Write, proposal: &Proposal) -> io::Result<()> {
        let report = &proposal.before;
        let size = report.size.map(|size| format!(" ({})", ByteCount::new(size))).unwrap_or_default();
        let description = report.description.as_ref().map(|text| format!(", {text}")).unwrap_or_default();
        let line = format!("{}{size}{description}: {}", report.path.display(), proposal.what);
        writeln!(out, "{HEADING}{}{HEADING:#}", textwrap::fill(&plain(&line), self.options("", INDENT)))?;
        self.side(out, "Now:", &proposal.before)?;
        if proposal.changes_nothing() {
            writeln!(out)?;
            self.stuck(out, proposal)?;
            if proposal.stuck.is_empty() {
                let line =
                    "No partition has to move: none begins off the physical sectors. Nothing was written.";
                writeln!(out, "{}", textwrap::fill(line, self.options(INDENT, INDENT)))?;
            }
            return Ok(());
        }
        self.side(out, "Then:", &proposal.after)?;
        writeln!(out)?;
        let unit = report.unit();
        let rows: Vec<Vec<String>> = proposal.moves.iter().map(|moved| row(*moved, unit)).collect();
        print(out, &COLUMNS, &rows, self.width, |_| anstyle::Style::new())?;
        writeln!(out)?;
        self.stuck(out, proposal)?;
        for warning in &proposal.warnings {
            self.warn(out, warning)?;
        }
        for used in &proposal.uses {
            self.warn(out, &format!("{used}, and stays as it is"))?;
        }
        for text in &proposal.attention {
            self.note(out, "then", text)?;
        }
        let time = proposal.seconds.map_or(String::new(), |seconds| format!(", about {}", duration(seconds)));
        let journal =
            proposal.journal().map(|journal| format!("; its journal is in {journal}")).unwrap_or_default();
        let line = format!(
            "{} move{time}{journal}. The power may fail at any time: `alignck resume` finishes it, `alignck undo` takes it \
             back.",
            ByteCount::new(proposal.bytes())
        );
        writeln!(out, "{}", textwrap::fill(&plain(&line), self.options(INDENT, INDENT)))
    }

    fn stuck(&self, out: &mut dyn Write, proposal: &Proposal) -> io::Result<()> {
        for (number, why) in &proposal.stuck {
            self.warn(out, &format!("partition {number} stays where it is: {why}"))?;
        }
        Ok(())
    }

    /// A move that was found, and what will be done with it.
    pub(crate) fn unfinished(
        &self,
        out: &mut dyn Write,
        disk: &Path,
        unfinished: &Unfinished,
        is_forward: bool,
    ) -> io::Result<()> {
        let stand = match unfinished.stand {
            Stand::Begun => "it has just begun",
            Stand::Moving => "bytes are on their way",
            Stand::Finishing => "all bytes are at their new place, and the table is being written",
            Stand::Restoring => "all bytes are back, and the table is being written",
            Stand::Finished | Stand::Restored => "it is over",
        };
        let line = format!("{}: {} is unfinished: {stand}", disk.display(), unfinished.note.what);
        writeln!(out, "{HEADING}{}{HEADING:#}", textwrap::fill(&plain(&line), self.options("", INDENT)))?;
        writeln!(out)?;
        let unit = SectorSize::new(unfinished.note.sector_size).unwrap_or(SectorSize::B512);
        let rows: Vec<Vec<String>> = unfinished.note.moves.iter().map(|moved| row(*moved, unit)).collect();
        print(out, &COLUMNS, &rows, self.width, |_| anstyle::Style::new())?;
        writeln!(out)?;
        let line = match (is_forward, unfinished.stand) {
            (true, Stand::Restoring) => "It was being taken back; now it is done all the same.".to_owned(),
            (true, _) => "The rest is done, from where it stopped.".to_owned(),
            (false, Stand::Finishing) => {
                "It has come too far to be taken back: it is finished, and `alignck undo` moves everything back then."
                    .to_owned()
            }
            (false, _) => "Everything goes back to where it was.".to_owned(),
        };
        let line = format!("{line} Its journal is in {}.", unfinished.journal);
        writeln!(out, "{}", textwrap::fill(&plain(&line), self.options(INDENT, INDENT)))
    }

    /// How it went.
    pub(crate) fn moved(&self, out: &mut dyn Write, command: &str, fixed: &Fixed) -> io::Result<()> {
        let path = fixed.report.path.display();
        let word = if fixed.is_forward { "Moved" } else { "Taken back" };
        let status = fixed.report.status.word();
        writeln!(out, "{GOOD}{word}{GOOD:#}; the disk is {status} now.")?;
        for warning in &fixed.warnings {
            self.warn(out, warning)?;
        }
        for range in &fixed.skipped {
            self.warn(
                out,
                &format!(
                    "bytes {} to {} could not be read and are zeros now; check the file system that they were in",
                    range.start,
                    range.end.saturating_sub(1)
                ),
            )?;
        }
        match &fixed.kernel {
            KernelState::NotConcerned => {}
            KernelState::Current => writeln!(out, "The kernel uses the new partitions.")?,
            KernelState::Stale(why) => self.warn(
                out,
                &format!(
                    "{why}. Until the kernel takes the new table, every access goes to the old places: run `partprobe \
                     {path}`, or restart before anything is mounted"
                ),
            )?,
        }
        let back = match (&fixed.backup, fixed.is_forward) {
            (Some(backup), true) if Folder::of_user().is_none() => {
                let file = backup.path.display();
                format!("What is needed to move everything back is in {file}: `alignck undo {path} {file}`.")
            }
            (Some(backup), true) if backup.undoes.is_some() => {
                let file = backup.path.display();
                format!("`alignck undo {path} {file}` moves everything again.")
            }
            (Some(backup), true) => {
                format!("`alignck undo {path}` moves everything back ({}).", backup.path.display())
            }
            (None, true) if command == "fix" => format!("{path}: nothing had to move."),
            (None, true) => String::new(),
            (_, false) => format!("{path} is as it was before the move."),
        };
        if back.is_empty() {
            return Ok(());
        }
        writeln!(out, "{}", textwrap::fill(&plain(&back), self.options("", "")))
    }

    fn note(&self, out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
        let filled = textwrap::fill(&plain(&format!("{text}.")), self.options("           ", "           "));
        writeln!(out, "{INDENT}{DOUBTFUL}{label:<7}{DOUBTFUL:#}  {}", filled.trim_start())
    }
}

fn row(moved: Move, unit: SectorSize) -> Vec<String> {
    let sector = |byte: u64| (byte / unit.bytes()).to_string();
    let sign = if moved.to > moved.from { "+" } else { "-" };
    vec![
        moved.number.to_string(),
        sector(moved.from),
        sector(moved.to),
        format!("{sign}{}", ByteCount::new(moved.distance())),
        ByteCount::new(moved.len).to_string(),
    ]
}

/// Draws how far a move is, over what was drawn before.
pub(crate) fn move_progress(
    terminal: &mut dyn Write,
    (done, of): (u64, u64),
    moved: u64,
    took: Duration,
) -> io::Result<()> {
    let whole = u128::from(of.max(1));
    let part = |scale: u64| u64::try_from(u128::from(done) * u128::from(scale) / whole).unwrap_or(scale);
    let filled = usize::try_from(part(CELLS)).unwrap_or(0);
    let bar: String = (0..30).map(|cell| if cell < filled { '#' } else { '.' }).collect();
    let nanos = took.as_nanos().max(1);
    let rate = u64::try_from(u128::from(moved) * 1_000_000_000 / nanos).unwrap_or(0);
    let rest = match rate {
        0 => String::new(),
        rate => format!(", {} left", duration(of.saturating_sub(done).div_ceil(rate))),
    };
    write!(
        terminal,
        "\r{INDENT}[{bar}] {:>3} %  {} of {}, {}/s{rest}\x1b[K",
        part(100),
        ByteCount::new(done),
        ByteCount::new(of),
        ByteCount::new(rate)
    )?;
    terminal.flush()
}

/// A time for people.
fn duration(seconds: u64) -> String {
    match seconds {
        0..=1 => "a second".to_owned(),
        2..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{}.{} hours", seconds / 3600, seconds % 3600 / 360),
    }
}
