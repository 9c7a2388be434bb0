use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::device::Source;
use crate::table::{Evidence, Label, SectorSizeBasis, Table};
use crate::topology::Basis;

/// The table was read whole, in a unit that is known, and is the only one.
pub(in crate::check) fn check(subject: &Subject<'_>) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    findings.extend(subject.disk.unread().map(|error| {
        Finding::disk(
            Code::TableNotRead,
            format!("only the kernel's list of partitions was judged, not the table itself ({error})"),
            "Types are known only where udev has recorded them, the state of the table is not known at all.",
        )
    }));
    let Some(table) = subject.table else { return Ok(findings) };
    if subject.disk.size().is_none() {
        findings.push(Finding::disk(
            Code::EndNotSeen,
            "the end of the image was not seen on standard input",
            "What lies there (the backup GPT, partitions that reach beyond the end) is not known. Check the \
             image itself for that.",
        ));
    }
    findings.extend(table.unread_front.as_ref().map(|fault| {
        Finding::disk(
            Code::ReadError,
            format!("the front of the disk could not be read whole: {fault}"),
            "A partition table or a file system may be there all the same. The drive or its connection is failing: \
             copy it first (`ddrescue`), and write nothing to it.",
        )
    }));
    findings.extend(other_sector_size(subject, table));
    findings.extend(remains(subject, table));
    if table.is_isohybrid() {
        findings.push(Finding::disk(
            Code::Isohybrid,
            "this is the image of an optical disc that can also be started from a stick (isohybrid)",
            "Its partitions begin where the disc has its files, often off the grid. It is only read, so that costs \
             nothing. Do not repair or move anything in it.",
        ));
    }
    Ok(findings)
}

fn other_sector_size(subject: &Subject<'_>, table: &Table) -> Option<Finding> {
    let topology = subject.topology;
    let is_image = subject.disk.source() != Source::Block && topology.logical_basis != Basis::Reported;
    let device = (topology.logical_basis == Basis::Reported).then_some(topology.logical);
    let evidence = match &table.sector_size_basis {
        SectorSizeBasis::Device => return None,
        SectorSizeBasis::GptHeader => match device {
            None => return None,
            Some(_) => format!("its GPT header stands at byte {}", table.sector_size),
        },
        SectorSizeBasis::Evidence(Evidence::BeyondDevice { partition }) => format!(
            "in sectors of {} bytes partition {partition} would end beyond the disk, in sectors of {} all fit",
            subject.topology.logical, table.sector_size
        ),
        SectorSizeBasis::Evidence(Evidence::ContentAt { partition, name, position }) => {
            format!("partition {partition} holds {name} at byte {position}, where such sectors put it")
        }
        SectorSizeBasis::Ambiguous(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            return Some(Finding::disk(
                Code::TableSectorSizeAmbiguous,
                format!("there is a valid GPT for sectors of {} bytes each", sizes.join(" and of ")),
                "One of them is a leftover; which one cannot be told from the image. Say which sectors its disk \
                 has with --topology logical=BYTES.",
            ));
        }
    };
    let against =
        device.map_or(String::new(), |size| format!(", but the device has sectors of {size} bytes"));
    Some(Finding::disk(
        Code::TableOtherSectorSize,
        format!("the table is written in sectors of {} bytes{against}: {evidence}", table.sector_size),
        if is_image {
            format!(
                "It was made for disks with such sectors. On others, systems see no partitions or wrong ones; so do \
                 tools that are not told (`--sector-size {}`, `-b` or PARTED_SECTOR_SIZE).",
                table.sector_size
            )
        } else {
            format!(
                "The disk was partitioned behind another adapter or for another drive: here systems see no \
             partitions, or wrong ones. Nothing is lost; do not initialise or \"repair\" the disk. Connect it as it \
             was before, or look at it through `losetup --find --show --partscan --sector-size {} DISK`.",
                table.sector_size
            )
        },
    ))
}

fn remains(subject: &Subject<'_>, table: &Table) -> Option<Finding> {
    let sector_size = table.gpt_remains?;
    if table.is_isohybrid() {
        return Some(Finding::disk(
            Code::GptRemains,
            format!("a GPT for {sector_size}-byte sectors lies beside the MBR, which counts"),
            "Images of optical discs carry one for firmwares that want it. Leave it.",
        ));
    }
    let under = match (table.label, table.content) {
        (Label::Mbr, _) => "the MBR, which counts".to_owned(),
        (_, Some(content)) => format!("{} over the whole disk", content.name),
        _ => "what the disk holds now".to_owned(),
    };
    // wipefs leaves a GPT inside an image alone unless it is forced.
    let force = if subject.disk.source() == Source::Block { "" } else { "--force " };
    let doubt = if table.partitions.is_empty() && table.content.is_none() {
        "Should the disk have partitions? Then this GPT is what you want back, and only its protective entry is \
         lost: look at it with `gdisk` and clear nothing. "
    } else {
        ""
    };
    Some(Finding::disk(
        Code::GptRemains,
        format!("a GPT for {sector_size}-byte sectors was left behind under {under}"),
        format!(
            "{doubt}Some tools and firmwares fall for it and show its partitions, or offer to restore it. When the \
             present layout is the right one, clear only the remains: `wipefs --backup {force}--all --types gpt \
             DISK` (it keeps a copy; `sgdisk --zap` would overwrite more than the signatures)."
        ),
    ))
}
