use std::io::{self, Write};

use align_core::check::Code;
use anstream::AutoStream;

use crate::exit::Exit;
use crate::text;

/// `alignck explain`: the page of a finding, or the list of all.
pub(crate) fn run(code: Option<Code>) -> Exit {
    let mut out = AutoStream::auto(io::stdout().lock());
    let printed = match code {
        Some(code) => out.write_all(page(code).as_bytes()),
        None => list(&mut out),
    };
    match printed.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            text::complain(&format!("the output cannot be written: {error}"));
            Exit::Failed
        }
        _ => Exit::Good,
    }
}

fn list(out: &mut impl Write) -> io::Result<()> {
    for code in Code::ALL {
        let title =
            page(*code).lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
        writeln!(out, "{:<8}{code}\n{}", code.severity().word(), textwrap::indent(title, "        "))?;
    }
    Ok(())
}

macro_rules! pages {
    ($($code:ident = $file:literal;)+) => {
        /// The page on a finding, as it stands in the documentation.
        fn page(code: Code) -> &'static str {
            match code {
                $(Code::$code => include_str!(concat!("../findings/", $file, ".md")),)+
                // A test holds this list against `Code::ALL`.
                _ => "This finding has no page.\n",
            }
        }
    };
}

pages! {
    UnfinishedMove = "unfinished-move";
    UnfinishedWrite = "unfinished-write";
    ContentOtherSectorSize = "content-other-sector-size";
    StartOffPhysical = "start-off-physical";
    StartOffOptimal = "start-off-optimal";
    StartOffMebibyte = "start-off-mebibyte";
    EndOffPhysical = "end-off-physical";
    PhysicalSizeAssumed = "physical-size-assumed";
    PhysicalSizeInvalid = "physical-size-invalid";
    LogicalSizeInvalid = "logical-size-invalid";
    HintImplausible = "hint-implausible";
    StackMisaligned = "stack-misaligned";
    AlignmentOffsetInvalid = "alignment-offset-invalid";
    ReadError = "read-error";
    KernelSourcesDisagree = "kernel-sources-disagree";
    DriveAndKernelDisagree = "drive-and-kernel-disagree";
    BetterLbaFormat = "better-lba-format";
    WholeDiskOffPhysical = "whole-disk-off-physical";
    KernelTableStale = "kernel-table-stale";
    TableNotRead = "table-not-read";
    EndNotSeen = "end-not-seen";
    TableOtherSectorSize = "table-other-sector-size";
    TableSectorSizeAmbiguous = "table-sector-size-ambiguous";
    Isohybrid = "isohybrid";
    GptRemains = "gpt-remains";
    GptHybridMbr = "gpt-hybrid-mbr";
    GptBackupMisplaced = "gpt-backup-misplaced";
    GptProtectiveMbrStale = "gpt-protective-mbr-stale";
    GptProtectiveMbrMissing = "gpt-protective-mbr-missing";
    GptPrimaryBad = "gpt-primary-bad";
    GptBackupBad = "gpt-backup-bad";
    GptCopiesDiffer = "gpt-copies-differ";
    GptTooManyEntries = "gpt-too-many-entries";
    GptOutsideUsable = "gpt-outside-usable";
    MbrEbrLoop = "mbr-ebr-loop";
    MbrEbrBad = "mbr-ebr-bad";
    MbrEbrTooMany = "mbr-ebr-too-many";
    MbrEbrInsidePartition = "mbr-ebr-inside-partition";
    MbrLogicalOutside = "mbr-logical-outside";
    PartitionsOverlap = "partitions-overlap";
    PartitionBeyondDisk = "partition-beyond-disk";
    PartitionInverted = "partition-inverted";
    PartitionOverTable = "partition-over-table";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_of_its_own() {
        for code in Code::ALL {
            let page = page(*code);
            assert!(page.starts_with(&format!("# {code}\n")), "{code}");
            for heading in ["## What was seen", "## Why it matters", "## What to do", "## When to ignore it"]
            {
                assert!(page.contains(heading), "{code} lacks '{heading}'");
            }
        }
    }
}
