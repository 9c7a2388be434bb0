//! Disks of every kind that there is.

use crate::lab::machine::Machine;

/// A disk as it comes to the virtual machine, and as the kernel there has to describe it.
pub(super) struct Topology {
    /// For people, and for keys.
    pub(super) name: &'static str,
    /// The kernel's name of the disk.
    pub(super) disk: &'static str,
    /// Logical, physical, minimum and optimal size, and the alignment offset, in bytes.
    pub(super) limits: [i64; 5],
    /// Whether the kernel itself looks for partitions on it.
    pub(super) kernel_scans: bool,
}

const fn disk(name: &'static str, disk: &'static str, limits: [i64; 5]) -> Topology {
    Topology { name, disk, limits, kernel_scans: true }
}

/// All of them; the order of the virtio disks is that of `attach`.
pub(super) const TOPOLOGIES: [Topology; 9] = [
    disk("512n", "vda", [512, 512, 512, 0, 0]),
    disk("512e", "sda", [512, 4096, 4096, 0, 0]),
    disk("4Kn", "nvme0n1", [4096, 4096, 4096, 4096, 0]),
    disk("1-aligned", "sdb", [512, 4096, 4096, 524_288, 3584]),
    disk("16K", "vdb", [512, 16384, 16384, 0, 0]),
    disk("hardware-raid", "vdc", [512, 4096, 262_144, 786_432, 0]),
    disk("usb-bridge", "vdd", [512, 512, 512, 33_553_920, 0]),
    disk("md-raid0", "md0", [512, 4096, 65536, 131_072, 0]),
    Topology { name: "dm-stripe", disk: "dm-0", limits: [512, 4096, 65536, 131_072, 0], kernel_scans: false },
];

/// How large each of them is in MiB; the arrays are twice as large.
const SIZE: u64 = 64;

/// Gives the machine all of these disks, and the list of them; `topologies.sh` makes those that are arrays.
pub(super) fn attach(machine: &mut Machine<'_>) -> Result<(), String> {
    machine.file("topologies.sh", include_str!("../../../lab/topologies.sh"));
    let names = TOPOLOGIES.iter().map(|topology| format!("{}:{}\n", topology.name, topology.disk));
    machine.file("disks", names.collect::<String>());
    machine.blank_disk("ide-hd,bus=ide.0,logical_block_size=512,physical_block_size=4096", SIZE)?;
    machine.blank_disk("nvme,serial=lab,logical_block_size=4096,physical_block_size=4096", SIZE)?;
    for sizes in [
        "",
        ",physical_block_size=16384",
        ",physical_block_size=4096,min_io_size=262144,opt_io_size=786432",
        ",opt_io_size=33553920",
        ",physical_block_size=4096",
        ",physical_block_size=4096",
        ",physical_block_size=4096",
        ",physical_block_size=4096",
    ] {
        machine.blank_disk(&format!("virtio-blk-pci{sizes}"), SIZE)?;
    }
    Ok(())
}
