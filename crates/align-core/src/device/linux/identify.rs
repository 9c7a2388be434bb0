//! Asks a drive what it is: what sysfs has of its answers first, then the drive itself.
//!
//! Only commands that read are sent, and only those that Linux itself sends to such a device: udev asks ATA drives,
//! and fixed disks behind USB, for IDENTIFY DEVICE; the kernel asks other SCSI disks for their capacity and their
//! pages, but not USB devices, some of which hang on them.

use std::fs::File;

use nix::errno::Errno;

use super::ioctl::{self, ScsiOutcome};
use super::sysfs::SysDisk;
use crate::device::identify::{Identification, Question, Unread};

const TIMEOUT_MS: u32 = 2000;
/// Where a recorded machine has the answers, beside the attributes of the disk.
const RECORDED: [(Question, &str); 6] = [
    (Question::AtaIdentify, "identify/ata"),
    (Question::ReadCapacity, "identify/readcap16"),
    (Question::BlockLimits, "identify/vpd-b0"),
    (Question::Characteristics, "identify/vpd-b1"),
    (Question::BlockLengths, "identify/vpd-b4"),
    (Question::NvmeNamespace, "identify/nvme-ns"),
];

/// What the drive behind `disk` says of itself; nothing where it is no drive (loop devices, virtio, volumes).
pub(super) fn identify(disk: &SysDisk, file: Option<&File>) -> Identification {
    let mut identification = Identification::default();
    match disk.subsystem().as_deref() {
        Some("scsi") if is_disk(disk) => scsi(disk, file, &mut identification),
        Some(nvme) if nvme.starts_with("nvme") => nvme_namespace(disk, file, &mut identification),
        _ => return identification,
    }
    identification.look_up_model(disk.text("device/model"));
    identification
}

/// Direct access, or a zoned disk that its host manages.
fn is_disk(disk: &SysDisk) -> bool {
    disk.text("device/type").is_none_or(|kind| kind == "0" || kind == "20")
}

fn scsi(disk: &SysDisk, file: Option<&File>, identification: &mut Identification) {
    if !disk.is_here() {
        return recorded(disk, identification);
    }
    // The pages that the kernel has read when it found the device can be read without root.
    if let Some(bytes) = disk.bytes("device/vpd_pg89").and_then(identify_in_page_89) {
        identification.hear(Question::AtaIdentify, Ok(bytes));
    }
    let is_known = |identification: &Identification| identification.heard.contains(&Question::AtaIdentify);
    let is_ata = disk.text("device/vendor").as_deref() == Some("ATA");
    let is_fixed = disk.text("removable").as_deref() == Some("0");
    let ask = |identification: &mut Identification, question: Question| {
        if let Some(file) = file {
            identification.hear(question, ask_scsi(file, question));
        }
    };
    if !is_known(identification) && (is_ata || disk.is_on_usb() && is_fixed) {
        ask(identification, Question::AtaIdentify);
    }
    // An ATA disk has no other word; what translates between SCSI and ATA may know more than the drive behind it.
    let is_enough = is_known(identification) && (is_ata || identification.facts.physical.is_some());
    if is_enough || disk.is_on_usb() {
        return;
    }
    ask(identification, Question::ReadCapacity);
    for (question, attribute) in
        [(Question::BlockLimits, "device/vpd_pgb0"), (Question::Characteristics, "device/vpd_pgb1")]
    {
        match disk.bytes(attribute) {
            Some(bytes) => identification.hear(question, Ok(bytes)),
            None => ask(identification, question),
        }
    }
    ask(identification, Question::BlockLengths);
}

fn nvme_namespace(disk: &SysDisk, file: Option<&File>, identification: &mut Identification) {
    if !disk.is_here() {
        return recorded(disk, identification);
    }
    let Some(file) = file else { return };
    let mut data = [0; 4096];
    let answer = match ioctl::nvme_identify_namespace(file, &mut data, TIMEOUT_MS) {
        Ok(0) => Ok(data.to_vec()),
        Ok(status) => Err(Unread::Failed(format!("the drive answers with NVMe status {status:#x}"))),
        Err(errno) => Err(unread(errno)),
    };
    identification.hear(Question::NvmeNamespace, answer);
}

fn recorded(disk: &SysDisk, identification: &mut Identification) {
    for (question, attribute) in RECORDED {
        if let Some(bytes) = disk.bytes(attribute) {
            identification.hear(question, Ok(bytes));
        }
    }
}

/// The answer to IDENTIFY DEVICE in the page "ATA information" (the standard SAT-4). The kernel has the words in its
/// own order of bytes.
fn identify_in_page_89(page: Vec<u8>) -> Option<Vec<u8>> {
    const COMMAND_AT: usize = 56;
    const IDENTIFY_DEVICE: u8 = 0xEC;
    let is_disk = page.get(COMMAND_AT) == Some(&IDENTIFY_DEVICE) && cfg!(target_endian = "little");
    if is_disk { page.get(60..572).map(<[u8]>::to_vec) } else { None }
}

fn ask_scsi(file: &File, question: Question) -> Result<Vec<u8>, Unread> {
    let (command, len): (&[u8], usize) = match question {
        // ATA PASS-THROUGH (16): PIO in, from the device, one block by the sector count; IDENTIFY DEVICE.
        Question::AtaIdentify => (&[0x85, 4 << 1, 0x0E, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xEC, 0], 512),
        // SERVICE ACTION IN (16) with the action READ CAPACITY (16).
        Question::ReadCapacity => (&[0x9E, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0], 32),
        // INQUIRY for a page of vital product data.
        Question::BlockLimits => (&[0x12, 1, 0xB0, 0, 64, 0], 64),
        Question::Characteristics => (&[0x12, 1, 0xB1, 0, 64, 0], 64),
        Question::BlockLengths => (&[0x12, 1, 0xB4, 0, 252, 0], 252),
        Question::NvmeNamespace => return Err(Unread::NotKnown),
    };
    let mut data = vec![0; len];
    let outcome = ioctl::scsi_read(file, command, &mut data, TIMEOUT_MS).map_err(unread)?;
    complaint(&outcome).map_or(Ok(()), Err)?;
    data.truncate(outcome.len);
    Ok(data)
}

/// What a SCSI command came to, if not to an answer.
fn complaint(outcome: &ScsiOutcome) -> Option<Unread> {
    const CHECK_CONDITION: u8 = 2;
    const TIMEOUT: u16 = 3;
    /// Not an error: "recovered" is also how an ATA drive hands back its registers.
    const RECOVERED: u8 = 1;
    const ILLEGAL_REQUEST: u8 = 5;
    match (outcome.host_status, outcome.status) {
        (TIMEOUT, _) => return Some(Unread::Failed("the drive did not answer in time".into())),
        (0, 0) if outcome.driver_failed => return Some(Unread::Failed("the driver failed".into())),
        (0, 0) => return None,
        (0, CHECK_CONDITION) => {}
        (0, status) => {
            return Some(Unread::Failed(format!("the drive answers with SCSI status {status:#x}")));
        }
        (host, _) => return Some(Unread::Failed(format!("the host adapter failed (status {host:#x})"))),
    }
    // The key has its place by the format of the sense data: descriptors, or fixed.
    let key = match outcome.sense.first().map(|format| format & 0x7F) {
        Some(0x72 | 0x73) => outcome.sense.get(1),
        _ => outcome.sense.get(2),
    };
    match key.map(|key| key & 0xF) {
        Some(0 | RECOVERED) => None,
        Some(ILLEGAL_REQUEST) => Some(Unread::NotKnown),
        key => Some(Unread::Failed(format!("the drive refuses (sense key {:#x})", key.unwrap_or(0)))),
    }
}

fn unread(errno: Errno) -> Unread {
    match errno {
        Errno::EPERM | Errno::EACCES => Unread::NotPermitted,
        Errno::ENOTTY | Errno::EINVAL | Errno::EOPNOTSUPP => Unread::NotKnown,
        other => Unread::Failed(other.desc().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: u8, sense: &[u8]) -> ScsiOutcome {
        ScsiOutcome { len: 512, status, host_status: 0, driver_failed: false, sense: sense.to_vec() }
    }

    #[test]
    fn sense_data_is_read_in_both_formats() {
        assert_eq!(complaint(&outcome(0, &[])), None);
        // Fixed and with descriptors: illegal request, invalid command.
        assert_eq!(complaint(&outcome(2, &[0x70, 0, 5, 0, 0, 0, 0, 10])), Some(Unread::NotKnown));
        assert_eq!(complaint(&outcome(2, &[0x72, 5, 0x20, 0])), Some(Unread::NotKnown));
        // The registers of an ATA drive, "ATA pass-through information available".
        assert_eq!(complaint(&outcome(2, &[0x72, 1, 0, 0x1D, 0, 0, 0, 14])), None);
        assert!(matches!(complaint(&outcome(2, &[0x72, 0xB, 0, 0])), Some(Unread::Failed(_))));
        assert!(matches!(complaint(&outcome(8, &[])), Some(Unread::Failed(_))));
        let timeout = ScsiOutcome { host_status: 3, ..outcome(0, &[]) };
        assert_eq!(complaint(&timeout), Some(Unread::Failed("the drive did not answer in time".into())));
    }

    #[test]
    fn the_page_of_an_ata_disk_holds_its_answer() {
        let mut page = vec![0; 572];
        page[56] = 0xEC;
        page[60..572].fill(7);
        let expected = cfg!(target_endian = "little").then(|| vec![7; 512]);
        assert_eq!(identify_in_page_89(page.clone()), expected);
        assert_eq!(identify_in_page_89(page[..571].to_vec()), None);
        page[56] = 0xA1;
        assert_eq!(identify_in_page_89(page), None);
    }
}
