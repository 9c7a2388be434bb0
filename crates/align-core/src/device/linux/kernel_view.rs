/// The kernel's own list of a disk's partitions, as sysfs shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelView {
    /// The partitions, by number.
    pub partitions: Vec<KernelPartition>,
    /// Whether the kernel looks for a table on this device at all: not on device-mapper volumes, nor on loop
    /// devices that were set up without it.
    pub scans: bool,
}

impl KernelView {
    /// Whether the partitions of a table matter to the kernel: it looks for them, or was told of some. Partitioners
    /// tell it of partitions on loop devices, too, that were set up without a scan.
    pub fn is_concerned(&self) -> bool {
        self.scans || !self.partitions.is_empty()
    }
}

/// A partition as the kernel knows it. Positions are in units of 512 bytes, whatever the device's sector is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPartition {
    /// The partition number.
    pub number: u32,
    /// The device node: `/dev/sda1`.
    pub node: String,
    /// The start, in units of 512 bytes.
    pub start_512: u64,
    /// The size, in units of 512 bytes. Of an extended container the kernel shows its first KiB or sector only.
    pub size_512: u64,
    /// The type as udev has recorded it: `0x83` or a GUID.
    pub kind: Option<String>,
}
