use std::io::{self, Write};
use std::time::Duration;

use align_core::check::Report;
use align_core::device::Source;
use align_core::probe::{Measured, Outcome, Probe, Progress, Samples, Sectors};
use align_core::topology::Basis;
use align_core::units::ByteCount;

use super::{DOUBTFUL, GOOD, HEADING, INDENT, Page, count, plain};

impl Page {
    /// What will be done to find the sectors.
    pub(crate) fn probe(&self, out: &mut dyn Write, probe: &Probe) -> io::Result<()> {
        let report = &probe.report;
        let path = plain(&report.path.display().to_string());
        let size = report.size.map(|size| format!(" ({})", ByteCount::new(size))).unwrap_or_default();
        let description =
            report.description.as_ref().map(|text| format!(", {}", plain(text))).unwrap_or_default();
        let line = format!("{path}{size}{description}: find its physical sectors by timing");
        writeln!(out, "{HEADING}{}{HEADING:#}\n", textwrap::fill(&line, self.options("", INDENT)))?;
        let partitions = match report.partitions.len() {
            0 => String::new(),
            1 => " Its partition stays as it is.".to_owned(),
            partitions => format!(" Its {partitions} partitions stay as they are."),
        };
        let text = format!(
            "Blocks of the {} from byte {} on are read, twice, and the same bytes are written back, past all caches. No \
             byte changes, also when this is stopped or killed; a power cut can leave a sector unreadable, as with any \
             write. It takes seconds, or some minutes on a slow disk.{partitions}",
            ByteCount::new(probe.area.len),
            probe.area.start
        );
        writeln!(out, "{}", textwrap::fill(&text, self.options(INDENT, INDENT)))
    }

    /// What was found; `judged` is the disk, judged by that.
    pub(crate) fn measured(
        &self,
        out: &mut dyn Write,
        probe: &Probe,
        measured: &Measured,
        judged: Option<&Report>,
    ) -> io::Result<()> {
        let path = plain(&probe.report.path.display().to_string());
        let (style, word, rest) = match measured.outcome {
            Outcome::Found(sectors) => {
                (GOOD, format!("physical sectors of {} bytes", sectors.physical), begin(sectors, probe))
            }
            Outcome::NoDifference => (DOUBTFUL, "no difference found".to_owned(), String::new()),
            Outcome::Unclear(_) => (DOUBTFUL, "not clear".to_owned(), String::new()),
        };
        writeln!(out, "{HEADING}{path}:{HEADING:#} {style}{word}{style:#}{rest}\n")?;
        for samples in &measured.samples {
            self.fact(out, "Measured", &times(samples))?;
        }
        self.fact(out, "Reported", &reported(probe))?;
        writeln!(out)?;
        for paragraph in advice(probe, measured) {
            writeln!(out, "{}", textwrap::fill(&plain(&paragraph), self.options(INDENT, INDENT)))?;
        }
        match judged {
            Some(judged) => {
                writeln!(out, "\n{INDENT}Judged by that:")?;
                self.brief(out, judged)
            }
            None => Ok(()),
        }
    }
}

/// One line that takes the place of itself, for a terminal.
pub(crate) fn progress(out: &mut dyn Write, progress: Progress) -> io::Result<()> {
    let again = if progress.turn > 1 { ", once more" } else { "" };
    let (done, rounds) = (progress.done, progress.rounds);
    write!(out, "\r\x1b[KWrites of {} bytes{again}: round {done} of {rounds}", progress.series.block)?;
    out.flush()
}

/// Clears the line of [`progress`].
pub(crate) fn end_progress(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\r\x1b[K")?;
    out.flush()
}

fn begin(sectors: Sectors, probe: &Probe) -> String {
    let of = if probe.report.source == Source::Image { " of the file" } else { "" };
    format!(", the first at byte {}{of}", sectors.offset)
}

/// "320 writes of 4096 bytes in steps of 512: 8.2 ms where a sector begins, 24.1 ms elsewhere".
fn times(samples: &Samples) -> String {
    let series = samples.series;
    let writes =
        format!("{} of {} bytes in steps of {}", count(samples.writes(), "write"), series.block, series.step);
    match samples.sectors() {
        Some(sectors) => format!(
            "{writes}: {} where a sector begins, {} elsewhere",
            milliseconds(samples.median(|offset| sectors.begin_at(offset))),
            milliseconds(samples.median(|offset| !sectors.begin_at(offset)))
        ),
        None => {
            let medians: Vec<_> =
                series.offsets().map(|offset| samples.median(|other| other == offset)).collect();
            let (least, most) = (medians.iter().min(), medians.iter().max());
            let time = |time: Option<&Duration>| milliseconds(time.copied().unwrap_or_default());
            format!("{writes}: {} to {}, in no pattern", time(least), time(most))
        }
    }
}

fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    if milliseconds < 1.0 { format!("{milliseconds:.3} ms") } else { format!("{milliseconds:.1} ms") }
}

fn reported(probe: &Probe) -> String {
    let reported = &probe.report.topology.reported;
    let size = |size: Option<u64>| size.map_or("none".to_owned(), |size| format!("{size} bytes"));
    if reported.logical.is_none() && reported.physical.is_none() {
        return "nothing: it is a file".to_owned();
    }
    format!("physical sectors of {}, logical ones of {}", size(reported.physical), size(reported.logical))
}

fn advice(probe: &Probe, measured: &Measured) -> Vec<String> {
    let topology = &probe.report.topology;
    let path = probe.report.path.display();
    match measured.outcome {
        Outcome::Found(sectors) if probe.report.source == Source::Image => vec![if sectors.offset == 0 {
            "The bytes of the file begin where sectors of the disk do: its file system lies right on them."
                .to_owned()
        } else {
            format!(
                "The bytes of the file begin {} bytes past a sector of the disk: the partition of its file system, or \
                 something below it, is misaligned. `alignck` says of a disk which partitions are.",
                sectors.physical.bytes() - sectors.offset
            )
        }],
        Outcome::Found(sectors) => {
            let is_as_judged =
                topology.physical == sectors.physical && topology.alignment_offset == sectors.offset;
            let judged = if is_as_judged {
                let basis = match topology.physical_basis {
                    Basis::Assumed => "as is assumed of a disk that says nothing credible",
                    Basis::KnownModel => "as is known of this model",
                    Basis::Reported | Basis::Identified | Basis::Forced => "as it says itself",
                };
                format!("That is {basis}.")
            } else {
                format!(
                    "Without a probe it is judged by {} bytes from byte {} on. This judges it by what was measured:",
                    topology.physical, topology.alignment_offset
                )
            };
            let command =
                format!("alignck -t physical={},offset={} {path}", sectors.physical, sectors.offset);
            if is_as_judged { vec![judged] } else { vec![judged, command] }
        }
        Outcome::NoDifference => vec![format!(
            "Where a write begins makes no difference beyond chance. Either its physical sectors are no larger than {} bytes, or the \
             drive hides them behind flash or a cache.",
            measured.samples.first().map_or(topology.logical.bytes(), |samples| samples.series.step)
        )],
        Outcome::Unclear(shown) => {
            let shown = shown.map(|sectors| match sectors {
                Some(sectors) => format!("{} bytes from byte {} on", sectors.physical, sectors.offset),
                None => "nothing".to_owned(),
            });
            vec![format!(
                "Three measurements show three different things: {}. Something else keeps the disk or the machine busy: try \
                 again when it is quiet.",
                shown.join("; ")
            )]
        }
    }
}
