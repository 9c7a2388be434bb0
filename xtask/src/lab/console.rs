//! What the scripts in the virtual machine report, line by line.

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// `LAB ok NAME`: a check that the script made itself.
    Ok(String),
    /// `LAB FAIL NAME: WHY`
    Fail(String, String),
    /// `LAB value KEY VALUE`: something for the judge outside.
    Value(String, String),
    /// `LAB end`: the script came to its end.
    End,
}

/// All that a script reported.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) lines: Vec<Line>,
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let rest = line.trim_end().strip_prefix("LAB ")?;
        if rest == "end" {
            return Some(Self::End);
        }
        let (word, rest) = rest.split_once(' ')?;
        match word {
            "ok" => Some(Self::Ok(rest.to_owned())),
            "FAIL" => {
                let (name, why) = rest.split_once(": ").unwrap_or((rest, ""));
                Some(Self::Fail(name.to_owned(), why.to_owned()))
            }
            "value" => {
                let (key, value) = rest.split_once(' ').unwrap_or((rest, ""));
                Some(Self::Value(key.to_owned(), value.to_owned()))
            }
            _ => None,
        }
    }
}

impl Transcript {
    pub(super) fn parse(text: &str) -> Self {
        Self { lines: text.lines().filter_map(Line::parse).collect() }
    }

    /// Whether the script came to its end, and the machine was not lost under it.
    pub(super) fn is_whole(&self) -> bool {
        self.lines.contains(&Line::End)
    }

    /// Puts the name of a round in front of the names of its checks.
    pub(super) fn prefix(&mut self, context: &str) {
        for line in &mut self.lines {
            if let Line::Ok(name) | Line::Fail(name, _) = line {
                *name = format!("{context}: {name}");
            }
        }
    }

    /// The value of a key.
    pub(super) fn value(&self, wanted: &str) -> Result<&str, String> {
        let mut values = self.lines.iter().filter_map(|line| match line {
            Line::Value(key, value) if key == wanted => Some(value.as_str()),
            _ => None,
        });
        values.next().ok_or_else(|| format!("the script did not report {wanted}"))
    }

    /// The value of a key as JSON.
    pub(super) fn json(&self, wanted: &str) -> Result<serde_json::Value, String> {
        let value = self.value(wanted)?;
        serde_json::from_str(value).map_err(|error| format!("{wanted} is no JSON ({error}): {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_protocol_are_told_from_all_others() {
        let text = "Booting\r\nLAB ok sda1\r\nLAB FAIL sda2: it is 3: no 4\r\nLAB value a b c\r\nLAB value e\r\nLAB end";
        let transcript = Transcript::parse(text);
        let fail = Line::Fail("sda2".into(), "it is 3: no 4".into());
        assert_eq!(transcript.lines[..2], [Line::Ok("sda1".into()), fail]);
        assert_eq!((transcript.value("a").unwrap(), transcript.value("e").unwrap()), ("b c", ""));
        assert!(transcript.is_whole());
    }
}
