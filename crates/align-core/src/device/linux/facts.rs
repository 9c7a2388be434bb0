use std::fs::File;

use super::identify::identify;
use super::ioctl;
use super::sysfs::SysDisk;
use crate::device::identify::Identification;
use crate::topology::Reported;

/// A value that sysfs and the ioctl of the same device tell differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// What it is: "logical sector size".
    pub what: &'static str,
    /// The value in sysfs, which is used.
    pub sysfs: i128,
    /// The value of the ioctl.
    pub ioctl: i128,
}

/// What is reported of a device: by the kernel, from both sources, and by the drive itself.
#[derive(Debug, Default)]
pub(crate) struct DeviceFacts {
    pub(crate) reported: Reported,
    pub(crate) disagreements: Vec<Disagreement>,
    pub(crate) identification: Identification,
}

impl DeviceFacts {
    /// Asks sysfs (where the device is known there), then the open device (where it could be opened), then the drive.
    pub(crate) fn gather(sys: Option<&SysDisk>, file: Option<&File>) -> Self {
        let mut facts = Self::default();
        let from_sys = sys.map(SysDisk::reported).unwrap_or_default();
        let from_ioctl = |ask: fn(&File) -> Option<u64>| file.and_then(ask);
        facts.reported = Reported {
            logical: facts.choose("logical sector size", from_sys.logical, from_ioctl(ioctl::logical)),
            physical: facts.choose("physical sector size", from_sys.physical, from_ioctl(ioctl::physical)),
            minimum_io: facts.choose("minimum I/O size", from_sys.minimum_io, from_ioctl(ioctl::minimum_io)),
            optimal_io: facts.choose("optimal I/O size", from_sys.optimal_io, from_ioctl(ioctl::optimal_io)),
            alignment_offset: facts.choose(
                "alignment offset",
                from_sys.alignment_offset,
                file.and_then(ioctl::alignment_offset),
            ),
            ..from_sys
        };
        facts.identification = sys.map(|sys| identify(sys, file)).unwrap_or_default();
        facts.reported.rpm = facts.identification.facts.rpm;
        facts
    }

    fn choose<T>(&mut self, what: &'static str, sysfs: Option<T>, ioctl: Option<T>) -> Option<T>
    where
        T: Copy + PartialEq + Into<i128>,
    {
        if let (Some(sysfs), Some(ioctl)) = (sysfs, ioctl)
            && sysfs != ioctl
        {
            self.disagreements.push(Disagreement { what, sysfs: sysfs.into(), ioctl: ioctl.into() });
        }
        sysfs.or(ioctl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_wins_and_a_disagreement_is_kept() {
        let mut facts = DeviceFacts::default();
        assert_eq!(facts.choose("logical sector size", Some(512_u64), Some(4096)), Some(512));
        assert_eq!(facts.choose("alignment offset", None, Some(-1_i64)), Some(-1));
        assert_eq!(facts.choose::<u64>("optimal I/O size", None, None), None);
        let expected = Disagreement { what: "logical sector size", sysfs: 512, ioctl: 4096 };
        assert_eq!(facts.disagreements, [expected]);
    }
}
