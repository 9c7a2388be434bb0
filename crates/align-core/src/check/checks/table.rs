use crate::Error;
use crate::check::{Code, Finding, Subject};
use crate::content::Kind;
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
    findings.extend(other_sector_size(subject, table));
    findings.extend(remains(table));
    if is_isohybrid(table) {
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
        format!(
            "The disk was partitioned behind another adapter or for another drive: here systems see no \
             partitions, or wrong ones. Nothing is lost; do not initialise or \"repair\" the disk. Connect it as it \
             was before, or look at it through `losetup --find --show --partscan --sector-size {} DISK`.",
            table.sector_size
        ),
    ))
}

fn remains(table: &Table) -> Option<Finding> {
    let sector_size = table.gpt_remains?;
    if is_isohybrid(table) {
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
    Some(Finding::disk(
        Code::GptRemains,
        format!("a GPT for {sector_size}-byte sectors was left behind under {under}"),
        "Some tools and firmwares fall for it and show its partitions, or offer to restore it. When the present \
         layout is the right one, clear only the remains: `wipefs --backup --all --types gpt DISK` (it keeps a \
         copy; `sgdisk --zap` would overwrite more than the signatures).",
    ))
}

fn is_isohybrid(table: &Table) -> bool {
    table.label == Label::Mbr && table.content.is_some_and(|content| content.kind == Kind::Optical)
}
