//! What people read: the verdict first, then why, then what to do.
//!
//! ASCII only, so that it looks the same in every locale, on a serial console and in a mail.

use std::io::{self, Write};

use align_core::check::{Code, Finding, Health, Report, Severity, Status, Verdict};
use align_core::device::Source;
use align_core::device::identify::Unread;
use align_core::table::Label;
use align_core::topology::Basis;
use align_core::units::ByteCount;
use anstyle::{AnsiColor, Style};

mod columns;
mod fix;
mod grid;
mod map;
mod partitions;
mod plan;
mod probe;
mod proposal;

pub(crate) use fix::move_progress;
pub(crate) use probe::{end_progress, progress};

/// The width where there is no terminal.
const USUAL_WIDTH: usize = 80;
/// Prose is not read well on longer lines; the table may use them.
const WIDEST_PROSE: usize = 100;
/// How many findings of one code are shown.
const MAX_ALIKE: usize = 4;
const INDENT: &str = "  ";

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default().bold();
const HEADING: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The paper to print on.
pub(crate) struct Page {
    width: usize,
}

/// How many disks came out how.
#[derive(Default)]
pub(crate) struct Tally {
    counts: [usize; 5],
    bad_tables: usize,
    pub(crate) failed: usize,
}

/// Prints one line of trouble on standard error.
pub(crate) fn complain(message: &str) {
    // When standard error is gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "{BAD}alignck:{BAD:#} {}", plain(message));
}

/// Whether there is nothing to look at: one line is enough.
pub(crate) fn is_all_right(report: &Report) -> bool {
    let fine = matches!(report.status, Status::Aligned | Status::Unpartitioned);
    fine && report.findings.iter().all(|finding| finding.severity() == Severity::Info)
}

impl Page {
    /// As wide as the terminal, within reason.
    pub(crate) fn of_terminal() -> Self {
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        Self { width: width.unwrap_or(USUAL_WIDTH).clamp(40, 200) }
    }

    /// One line for a disk that is all right.
    pub(crate) fn brief(&self, out: &mut dyn Write, report: &Report) -> io::Result<()> {
        self.verdict(out, report)
    }

    /// All of a disk.
    pub(crate) fn full(&self, out: &mut dyn Write, report: &Report, among_others: bool) -> io::Result<()> {
        self.verdict(out, report)?;
        writeln!(out)?;
        for (label, text) in facts(report) {
            self.fact(out, label, &text)?;
        }
        if !report.partitions.is_empty() {
            writeln!(out)?;
            partitions::write(out, report, self.width)?;
            writeln!(out)?;
            if let Some(size) = report.size {
                map::write(out, &partitions::stretches(report), size.into(), self.width)?;
            }
            grid::write(out, report)?;
        }
        self.findings(out, &report.findings)?;
        if among_others {
            writeln!(out)?;
        }
        Ok(())
    }

    /// How many came out how, below several disks.
    pub(crate) fn summary(&self, out: &mut dyn Write, tally: &Tally) -> io::Result<()> {
        let mut parts: Vec<String> = STATUSES
            .iter()
            .zip(tally.counts)
            .filter(|(_, count)| *count > 0)
            .map(|(status, count)| format!("{count} {}", status.word()))
            .collect();
        if tally.bad_tables > 0 {
            parts.push(format!("{} with a bad table", tally.bad_tables));
        }
        if tally.failed > 0 {
            parts.push(format!("{} not checked", tally.failed));
        }
        let disks = tally.counts.iter().sum::<usize>() + tally.failed;
        if disks > 0 {
            writeln!(out, "{HEADING}{}:{HEADING:#} {}", count(disks, "disk"), parts.join(", "))?;
        }
        Ok(())
    }

    fn verdict(&self, out: &mut dyn Write, report: &Report) -> io::Result<()> {
        let style = match report.status {
            Status::Aligned | Status::Unpartitioned => GOOD,
            Status::Unknown if report.is_unfinished() => BAD,
            Status::Suboptimal | Status::Unknown => DOUBTFUL,
            Status::Misaligned => BAD,
        };
        let path = match report.source {
            Source::Stream => "standard input".to_owned(),
            Source::Block | Source::Image => plain(&report.path.display().to_string()),
        };
        let word = report.status.word();
        // Wrapped without the colours, which have no width.
        let line = format!("{path}: {word}: {}", reason(report));
        let wrapped = textwrap::fill(&line, self.options("", INDENT));
        let coloured = format!("{HEADING}{path}:{HEADING:#} {style}{word}{style:#}:");
        writeln!(out, "{}", wrapped.replacen(&format!("{path}: {word}:"), &coloured, 1))?;
        let table = match report.table.health {
            Health::Damaged => "The partition table is damaged: see below before anything is written.",
            Health::Repairable => "The partition table needs repair: see below.",
            Health::Ok | Health::Stale | Health::Unknown => return Ok(()),
        };
        writeln!(out, "{INDENT}{BAD}{table}{BAD:#}")
    }

    fn fact(&self, out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
        let initial = format!("{INDENT}{label:<8} ");
        let wrapped = textwrap::fill(text, self.options(&initial, &" ".repeat(initial.len())));
        writeln!(out, "{wrapped}")
    }

    fn findings(&self, out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
        let mut order: Vec<_> = findings.iter().map(|finding| finding.code).collect();
        order.sort_by_key(|code| std::cmp::Reverse(code.severity()));
        let mut shown = Vec::new();
        for code in order {
            if !shown.contains(&code) {
                shown.push(code);
                let alike: Vec<_> = findings.iter().filter(|finding| finding.code == code).collect();
                writeln!(out)?;
                self.alike(out, &alike)?;
            }
        }
        Ok(())
    }

    /// The findings of one code: what was seen of each, and the help where it differs from the one before.
    fn alike(&self, out: &mut dyn Write, findings: &[&Finding]) -> io::Result<()> {
        let Some(first) = findings.first() else { return Ok(()) };
        let severity = first.severity();
        let style = match severity {
            Severity::Error => BAD,
            Severity::Warning => DOUBTFUL,
            Severity::Info => FAINT,
        };
        writeln!(out, "{INDENT}{style}{:<8}{style:#}{HEADING}{}{HEADING:#}", severity.word(), first.code)?;
        let indent = " ".repeat(INDENT.len() + 8);
        let shown = findings.iter().take(MAX_ALIKE);
        for (index, finding) in shown.clone().enumerate() {
            let subject = match finding.partition {
                Some(number) => format!("Partition {number} {}.", finding.message),
                None => capitalised(&finding.message) + ".",
            };
            writeln!(out, "{}", textwrap::fill(&plain(&subject), self.options(&indent, &indent)))?;
            let next = findings.get(index + 1).filter(|_| index + 1 < MAX_ALIKE);
            if next.is_none_or(|next| next.help != finding.help) {
                writeln!(out, "{}", textwrap::fill(&plain(&finding.help), self.options(&indent, &indent)))?;
            }
        }
        if findings.len() > MAX_ALIKE {
            writeln!(
                out,
                "{indent}... and {} more like this (--json lists all).",
                findings.len() - MAX_ALIKE
            )?;
        }
        Ok(())
    }

    fn options<'o>(&self, initial: &'o str, subsequent: &'o str) -> textwrap::Options<'o> {
        textwrap::Options::new(self.width.min(WIDEST_PROSE))
            .initial_indent(initial)
            .subsequent_indent(subsequent)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
    }
}

const STATUSES: [Status; 5] =
    [Status::Misaligned, Status::Suboptimal, Status::Unknown, Status::Unpartitioned, Status::Aligned];

impl Tally {
    pub(crate) fn count(&mut self, report: &Report) {
        for (status, count) in STATUSES.iter().zip(&mut self.counts) {
            *count += usize::from(*status == report.status);
        }
        let bad = matches!(report.table.health, Health::Damaged | Health::Repairable);
        self.bad_tables += usize::from(bad);
    }
}

/// The verdict as the rest of a sentence.
fn reason(report: &Report) -> String {
    let physical = report.topology.physical;
    let with = |verdict| {
        let numbers = report.partitions.iter().filter(move |partition| partition.verdict == verdict);
        numbers.map(|partition| partition.partition.number).collect::<Vec<_>>()
    };
    match report.status {
        Status::Unknown if report.findings.iter().any(|finding| finding.code == Code::UnfinishedMove) => {
            "a move of its partitions is unfinished".to_owned()
        }
        Status::Unknown if report.is_unfinished() => "a write to it was cut off in the middle".to_owned(),
        Status::Misaligned => {
            let numbers = with(Verdict::Misaligned);
            let verb = if numbers.len() == 1 { "does" } else { "do" };
            format!("{} {verb} not begin on a physical sector ({physical} bytes)", enumerate(&numbers))
        }
        Status::Suboptimal => {
            let numbers = with(Verdict::Suboptimal);
            let verb = if numbers.len() == 1 { "begins" } else { "begin" };
            let grid = report.topology.optimal_grid.unwrap_or_default();
            format!(
                "{} {verb} on a physical sector, but off the optimal grid ({grid} bytes)",
                enumerate(&numbers)
            )
        }
        Status::Aligned => match report.partitions.len() {
            1 => format!("its partition begins on a physical sector ({physical} bytes)"),
            _ if with(Verdict::Exempt).is_empty() => {
                format!("all partitions begin on physical sectors ({physical} bytes)")
            }
            _ => format!("all partitions that matter begin on physical sectors ({physical} bytes)"),
        },
        Status::Unpartitioned => match (report.table.label, report.content) {
            (Some(Label::None), Some(content)) => {
                format!("no partition table, the whole disk holds {}", content.name)
            }
            (_, Some(content)) => {
                format!("the partition table is empty, the whole disk holds {}", content.name)
            }
            (Some(Label::None), None) => "no partition table, and nothing that is known".to_owned(),
            _ if report.findings.iter().any(|finding| finding.code == Code::GptRemains) => {
                "the partition table is empty, but there is a GPT that it does not protect".to_owned()
            }
            _ => "the partition table is empty".to_owned(),
        },
        Status::Unknown => {
            let numbers = with(Verdict::Unknown);
            match (report.partitions.len(), report.content) {
                (0, Some(content)) => {
                    format!("its partitions could not be read; it looks like {} as a whole", content.name)
                }
                (0, None) => "its partitions could not be read".to_owned(),
                _ if numbers.is_empty() => "not all of its partitions could be read".to_owned(),
                _ => format!(
                    "{} not on a physical sector ({physical} bytes), but of unknown type: it may not matter",
                    enumerate(&numbers)
                ),
            }
        }
    }
}

/// What was looked at, what was judged by, and the table.
fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let topology = &report.topology;
    let mut disk = match report.size {
        Some(size) => {
            let sectors = size / topology.logical.bytes();
            format!("{}, {sectors} sectors of {} bytes", ByteCount::new(size), topology.logical)
        }
        None => format!("size not known, sectors of {} bytes", topology.logical),
    };
    if topology.logical_basis == Basis::Assumed {
        disk.push_str(" (assumed)");
    }
    if let Some(description) = &report.description {
        disk.push_str(&format!(", {}", plain(description)));
    }
    if let Some(given) = &report.given_partition {
        disk.push_str(&format!("; {} is a partition of it", plain(&given.display().to_string())));
    }
    let mut judged =
        format!("physical sectors of {} bytes ({})", topology.physical, topology.physical_basis.word());
    if topology.alignment_offset > 0 {
        judged.push_str(&format!(", the first boundary at byte {}", topology.alignment_offset));
    }
    if let Some(grid) = topology.optimal_grid {
        judged.push_str(&format!(", optimal grid {grid} bytes"));
    }
    let mut facts = vec![("Disk", disk)];
    facts.extend(drive(report).map(|drive| ("Drive", drive)));
    facts.push(("Judged", format!("by {judged}")));
    let label = match report.table.label {
        Some(Label::Mbr) => "MBR",
        Some(Label::Gpt) => "GPT",
        Some(Label::None) => return facts,
        None => "not read",
    };
    let mut table = label.to_owned();
    if let Some(id) = &report.table.id {
        table.push_str(&format!(" {id}"));
    }
    if let Some(size) = report.table.sector_size.filter(|size| *size != topology.logical) {
        table.push_str(&format!(", in sectors of {size} bytes"));
    }
    table.push_str(&format!(", {}", report.table.health.word()));
    facts.push(("Table", table));
    facts
}

/// What the drive says of itself, and what it could not be asked; `None` where no drive was asked.
fn drive(report: &Report) -> Option<String> {
    let identification = &report.identification;
    let facts = &identification.facts;
    let mut says = Vec::new();
    match (facts.logical, facts.physical) {
        (Some(logical), Some(physical)) => says.push(format!("sectors of {logical} / {physical} bytes")),
        (Some(logical), None) => says.push(format!("sectors of {logical} bytes")),
        (None, _) => {}
    }
    let offset = facts.alignment_offset.filter(|offset| *offset > 0);
    says.extend(offset.map(|offset| format!("the first boundary at byte {offset}")));
    let granularity = facts.write_granularity.filter(|size| Some(*size) > facts.logical);
    says.extend(granularity.map(|size| format!("writes of {size} bytes or more")));
    says.extend(facts.optimal_io.map(|size| format!("best transfers of {size} bytes")));
    says.extend(facts.rpm.map(|rpm| match rpm {
        0 | 1 => "no rotation".to_owned(),
        rpm => format!("{rpm} rpm"),
    }));
    let mut text = Vec::new();
    if !says.is_empty() {
        text.push(format!("says {}", says.join(", ")));
    } else if !identification.heard.is_empty() {
        text.push("says nothing about its sectors".to_owned());
    }
    // Of questions that it need not know, no answer is no news while another one was answered.
    let unread = identification.unread.iter().filter(|(_, why)| says.is_empty() || *why != Unread::NotKnown);
    text.extend(unread.map(|(question, why)| format!("{question}: {why}")));
    (!text.is_empty()).then(|| text.join("; "))
}

/// "partition 3", "partitions 1, 2 and 5", "partitions 1, 2, 3, 4, 5 and 20 more".
fn enumerate(numbers: &[u32]) -> String {
    const MOST: usize = 6;
    let word = if numbers.len() == 1 { "partition" } else { "partitions" };
    let shown: Vec<String> = numbers.iter().take(MOST).map(ToString::to_string).collect();
    let list = match (shown.split_last(), numbers.len()) {
        (Some((last, [])), _) => last.clone(),
        (Some((last, rest)), all) if all <= MOST => format!("{} and {last}", rest.join(", ")),
        (_, all) => format!("{} and {} more", shown.join(", "), all.saturating_sub(MOST)),
    };
    format!("{word} {list}")
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The text without characters that could steer the terminal: names on a disk are anybody's bytes.
fn plain(text: &str) -> String {
    // Marks that turn the direction of writing can disguise a name.
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_a_person_would_say_them() {
        assert_eq!(enumerate(&[3]), "partition 3");
        assert_eq!(enumerate(&[1, 2]), "partitions 1 and 2");
        assert_eq!(enumerate(&[1, 2, 5]), "partitions 1, 2 and 5");
        assert_eq!(enumerate(&(1..=9).collect::<Vec<_>>()), "partitions 1, 2, 3, 4, 5, 6 and 3 more");
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\u{9b}c\nd"), "a?[2Jb?c?d");
    }
}
