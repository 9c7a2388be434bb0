use super::console::{Line, Transcript};

/// What a scenario found.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    good: usize,
    failures: Vec<String>,
    measured: Option<(&'static str, String)>,
}

impl Outcome {
    /// The checks that a script made itself; and that it came to its end.
    pub(super) fn of(transcript: &Transcript) -> Self {
        let mut outcome = Self::default();
        outcome.add(transcript);
        outcome
    }

    /// The checks of one more script.
    pub(super) fn add(&mut self, transcript: &Transcript) {
        self.add_cut_off(transcript);
        if !transcript.is_whole() {
            self.failures.push("the script did not come to its end".into());
        }
    }

    /// The checks of one more script, whose machine lost its power.
    pub(super) fn add_cut_off(&mut self, transcript: &Transcript) {
        for line in &transcript.lines {
            match line {
                Line::Ok(_) => self.good += 1,
                Line::Fail(name, why) => self.failures.push(format!("{name}: {why}")),
                Line::Value(..) | Line::End => {}
            }
        }
    }

    /// A scenario that could not be run.
    pub(super) fn broken(why: String) -> Self {
        Self { failures: vec![why], ..Self::default() }
    }

    /// A check of what a script reported.
    pub(super) fn check(&mut self, is_good: bool, otherwise: impl FnOnce() -> String) {
        if is_good {
            self.good += 1;
        } else {
            self.failures.push(otherwise());
        }
    }

    /// A check that two things are the same.
    pub(super) fn same<T: PartialEq + std::fmt::Debug>(&mut self, name: &str, found: &T, expected: &T) {
        self.check(found == expected, || format!("{name}: it is {found:?}, expected {expected:?}"));
    }

    /// Keeps a table of figures, for the part of the benchmarks with that heading.
    pub(super) fn measure(&mut self, heading: &'static str, table: String) {
        self.measured = Some((heading, table));
    }

    pub(super) fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    pub(super) fn checks(&self) -> usize {
        self.good + self.failures.len()
    }

    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }

    pub(super) fn measured(&self) -> Option<(&'static str, &str)> {
        self.measured.as_ref().map(|(heading, table)| (*heading, table.as_str()))
    }
}
