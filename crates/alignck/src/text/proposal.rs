use std::io::{self, Write};

use align_core::check::{Health, Report};
use align_core::patch::Folder;
use align_core::table::Label;
use align_core::units::ByteCount;
use align_core::write::{KernelState, Proposal, Written};

use super::{BAD, DOUBTFUL, GOOD, HEADING, INDENT, Page, count, map, partitions, plain};
use crate::settings::Consent;

impl Page {
    /// What is there, what will be, and what is worth knowing before it is done.
    pub(crate) fn proposal(&self, out: &mut dyn Write, proposal: &Proposal, wipes: bool) -> io::Result<()> {
        let path = proposal.before.path.display().to_string();
        let size =
            proposal.before.size.map(|size| format!(" ({})", ByteCount::new(size))).unwrap_or_default();
        let description =
            proposal.before.description.as_ref().map(|text| format!(", {text}")).unwrap_or_default();
        let line = format!("{path}{size}{description}: {}", proposal.what);
        writeln!(out, "{HEADING}{}{HEADING:#}", textwrap::fill(&plain(&line), self.options("", INDENT)))?;
        self.side(out, "Now:", &proposal.before)?;
        if proposal.changes_nothing() {
            return writeln!(out);
        }
        self.side(out, "Then:", &proposal.after)?;
        writeln!(out)?;
        for warning in &proposal.warnings {
            self.warn(out, warning)?;
        }
        for (number, name) in &proposal.contents {
            let what = if wipes {
                format!("{name} begins where partition {number} will begin; it is cleared, as asked")
            } else {
                format!(
                    "{name} begins where partition {number} will begin, and will be found there; --wipe clears it"
                )
            };
            self.warn(out, &what)?;
        }
        for used in &proposal.uses {
            self.warn(out, &format!("{used}, and stays as it is"))?;
        }
        if !proposal.always_readable {
            self.warn(
                out,
                "for a moment neither the old nor the new table can be read; should the power fail just then, \
                 `alignck resume` finishes it and `alignck undo` takes it back",
            )?;
        }
        let changes = proposal.patch.changes().filter(|change| !change.is_kept()).count();
        let saved = if proposal.is_recovery() {
            "the backup with which it began holds both sides"
        } else {
            "what is there now is saved first"
        };
        let line = format!(
            "The write changes {} in {}, and no other byte; {saved}.",
            ByteCount::new(proposal.patch.bytes()),
            count(changes, "place")
        );
        writeln!(out, "{}", textwrap::fill(&line, self.options(INDENT, INDENT)))
    }

    /// How it went.
    pub(crate) fn written(&self, out: &mut dyn Write, command: &str, written: &Written) -> io::Result<()> {
        let path = written.report.path.display().to_string();
        let Some(backup) = &written.backup else {
            let line = format!("{path}: it is like that already; nothing was written.");
            return writeln!(out, "{}", textwrap::fill(&plain(&line), self.options("", INDENT)));
        };
        writeln!(out, "{GOOD}Written{GOOD:#}, flushed and read back.")?;
        for warning in &written.warnings {
            self.warn(out, warning)?;
        }
        let kernel = match &written.kernel {
            KernelState::NotConcerned => None,
            KernelState::Current => Some("The kernel uses the new partitions.".to_owned()),
            KernelState::Stale(why) => {
                self.warn(
                    out,
                    &format!(
                        "{why}. Until the kernel takes the new table, every access goes to the old places: unmount what \
                         is in use and run `partprobe {path}`, or restart"
                    ),
                )?;
                None
            }
        };
        let file = backup.path.display();
        let back = match command {
            "undo" if backup.undoes.is_none() => {
                format!("{path} is as it was before the write that was cut off.")
            }
            "undo" => format!("What was replaced is in {file}; `alignck undo {path} {file}` brings it back."),
            // Where there is no state folder, nothing finds the backup by itself.
            _ if Folder::of_user().is_none() => {
                format!("What was replaced is in {file}; `alignck undo {path} {file}` puts it back.")
            }
            _ => format!("What was replaced is in {file}; `alignck undo {path}` puts it back."),
        };
        for line in kernel.into_iter().chain([back]) {
            writeln!(out, "{}", textwrap::fill(&plain(&line), self.options("", "")))?;
        }
        Ok(())
    }

    /// What a run that writes nothing ends with.
    pub(crate) fn not_written(&self, out: &mut dyn Write, consent: Consent) -> io::Result<()> {
        let line = match consent {
            Consent::DryRun => "This was a dry run: nothing was written.",
            Consent::Ask | Consent::Given => "Nothing was written.",
        };
        writeln!(out, "{line}")
    }

    pub(super) fn side(&self, out: &mut dyn Write, heading: &str, report: &Report) -> io::Result<()> {
        let mut table = match (report.table.label, report.content) {
            (None, _) => "a table that cannot be read".to_owned(),
            (Some(Label::None), Some(content)) => {
                format!("no partition table, the whole disk holds {}", content.name)
            }
            (Some(Label::None), None) => "no partition table".to_owned(),
            (Some(label), _) => {
                let id = report.table.id.as_deref().map(|id| format!(" {id}")).unwrap_or_default();
                format!("{}{id}", label.word().to_uppercase())
            }
        };
        let style = match report.table.health {
            Health::Ok => anstyle::Style::new(),
            Health::Stale | Health::Unknown => DOUBTFUL,
            Health::Repairable | Health::Damaged => BAD,
        };
        if report.table.label != Some(Label::None) || report.table.health != Health::Ok {
            table.push_str(&format!(", {style}{}{style:#}", report.table.health.word()));
        }
        writeln!(out, "\n{INDENT}{HEADING}{heading:<6}{HEADING:#}{table}")?;
        if report.partitions.is_empty() {
            return Ok(());
        }
        partitions::write(out, report, self.width)?;
        match report.size {
            Some(size) => map::write(out, &partitions::stretches(report), size.into(), self.width),
            None => Ok(()),
        }
    }

    pub(super) fn warn(&self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        let mut letters = text.chars();
        // A path or a number begins as it is.
        let begins = letters.next().filter(|first| first.is_ascii_lowercase());
        let text = match begins {
            Some(first) => format!("{}{}", first.to_ascii_uppercase(), letters.as_str()),
            None => text.to_owned(),
        };
        let filled = textwrap::fill(&plain(&format!("{text}.")), self.options("           ", "           "));
        writeln!(out, "{INDENT}{DOUBTFUL}warning{DOUBTFUL:#}  {}", filled.trim_start())
    }
}
