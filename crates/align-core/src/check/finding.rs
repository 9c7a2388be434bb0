use super::{Code, Severity};

/// Something that was found, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub code: Code,
    /// The number of the partition, `None` when it is about the disk.
    pub partition: Option<u32>,
    /// What was seen, with the numbers; of a partition it continues "partition N".
    pub message: String,
    /// Why it matters and what to do.
    pub help: String,
}

impl Finding {
    /// A finding about the disk.
    pub fn disk(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code, partition: None, message: message.into(), help: help.into() }
    }

    /// A finding about a partition.
    pub fn partition(code: Code, number: u32, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code, partition: Some(number), message: message.into(), help: help.into() }
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
