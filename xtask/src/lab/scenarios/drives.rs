//! Drives that were told what they are.

const MIB: u64 = 1 << 20;
/// From here on a claim of 512-byte physical sectors is doubted, whatever the drive says.
const LARGE: u64 = 300_000_000_000;

/// A drive, what it was told to be, and what has to come of it.
pub(super) struct Drive {
    pub(super) name: &'static str,
    /// The device for QEMU, or the options of scsi_debug.
    pub(super) device: &'static str,
    pub(super) size: u64,
    /// Logical and physical sector size and alignment offset by the kernel.
    pub(super) kernel: [i64; 3],
    /// The same by the drive's own word, as it was told, its rotation rate and its optimal size.
    pub(super) drive: [Option<u64>; 5],
    /// The physical size and the offset that count, and why the size does.
    pub(super) counts: (u64, u64, &'static str),
    pub(super) asked: Asked,
}

/// How the drive is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The kernel has its IDENTIFY DEVICE.
    Ata,
    /// By IDENTIFY DEVICE, where the kernel does not have it for everybody, as before Linux 5.5.
    AtaItself,
    /// By READ CAPACITY (16); the kernel has its pages B0 and B1.
    Scsi,
    /// The same, and the kernel reads no pages of a drive with such an old standard.
    OldScsi,
    /// By IDENTIFY DEVICE alone, which QEMU's drives on USB do not know.
    Usb,
    /// By Identify Namespace.
    Nvme,
}

const fn drive(
    name: &'static str,
    (device, size): (&'static str, u64),
    kernel: [i64; 3],
    drive: [Option<u64>; 5],
    counts: (u64, u64, &'static str),
    asked: Asked,
) -> Drive {
    Drive { name, device, size, kernel, drive, counts, asked }
}

const S512: Option<u64> = Some(512);
const S4K: Option<u64> = Some(4096);
const ZERO: Option<u64> = Some(0);

pub(super) const DRIVES: [Drive; 17] = [
    drive(
        "sata-512",
        ("ide-hd,bus=ide.0", 16 * MIB),
        [512, 512, 0],
        [S512, S512, None, None, None],
        (4096, 0, "assumed"),
        Asked::Ata,
    ),
    drive(
        "sata-512e",
        ("ide-hd,bus=ide.1,physical_block_size=4096,rotation_rate=5400", 17 * MIB),
        [512, 4096, 0],
        [S512, S4K, None, Some(5400), None],
        (4096, 0, "identified"),
        Asked::Ata,
    ),
    drive(
        "sata-flash",
        ("ide-hd,bus=ide.2,rotation_rate=1", 18 * MIB),
        [512, 512, 0],
        [S512, S512, None, Some(1), None],
        (4096, 0, "assumed"),
        Asked::Ata,
    ),
    drive(
        "sata-small",
        ("ide-hd,bus=ide.3,rotation_rate=7200", LARGE - 512),
        [512, 512, 0],
        [S512, S512, None, Some(7200), None],
        (512, 0, "identified"),
        Asked::Ata,
    ),
    drive(
        "sata-large",
        ("ide-hd,bus=ide.4,rotation_rate=7200", LARGE),
        [512, 512, 0],
        [S512, S512, None, Some(7200), None],
        (4096, 0, "assumed"),
        Asked::Ata,
    ),
    drive(
        "sata-known",
        ("ide-hd,bus=ide.5,rotation_rate=5400,model=WDC WD10EARS-00Y5B1", 19 * MIB),
        [512, 512, 0],
        [S512, S512, None, Some(5400), None],
        (4096, 0, "known-model"),
        Asked::Ata,
    ),
    drive(
        "sata-asked",
        ("ide-hd,bus=ahci.0,physical_block_size=4096,rotation_rate=7200", 30 * MIB),
        [512, 4096, 0],
        [S512, S4K, None, Some(7200), None],
        (4096, 0, "identified"),
        Asked::AtaItself,
    ),
    drive(
        "scsi-512",
        ("scsi-hd,bus=scsi.0,rotation_rate=10000", 20 * MIB),
        [512, 512, 0],
        [S512, S512, ZERO, Some(10000), None],
        (512, 0, "identified"),
        Asked::Scsi,
    ),
    drive(
        "scsi-512e",
        ("scsi-hd,bus=scsi.0,physical_block_size=4096,opt_io_size=1048576", 21 * MIB),
        [512, 4096, 0],
        [S512, S4K, ZERO, None, Some(MIB)],
        (4096, 0, "identified"),
        Asked::Scsi,
    ),
    drive(
        "scsi-4Kn",
        ("scsi-hd,bus=scsi.0,logical_block_size=4096,physical_block_size=4096,rotation_rate=1", 22 * MIB),
        [4096, 4096, 0],
        [S4K, S4K, ZERO, Some(1), None],
        (4096, 0, "identified"),
        Asked::Scsi,
    ),
    // The kernel drops such a preference, and it is none.
    drive(
        "scsi-placeholder",
        ("scsi-hd,bus=scsi.0,physical_block_size=4096,min_io_size=4096,opt_io_size=33553920", 23 * MIB),
        [512, 4096, 0],
        [S512, S4K, ZERO, None, Some(33_553_920)],
        (4096, 0, "identified"),
        Asked::Scsi,
    ),
    // Of a drive that follows SCSI-2 the kernel only asks READ CAPACITY (10), which has no physical size.
    drive(
        "scsi-2",
        ("scsi-hd,bus=scsi.0,physical_block_size=4096,scsi_version=2,rotation_rate=7200", 24 * MIB),
        [512, 512, 0],
        [S512, S4K, ZERO, Some(7200), None],
        (4096, 0, "identified"),
        Asked::OldScsi,
    ),
    drive(
        "usb-bridge",
        ("scsi-hd,bus=bot.0,physical_block_size=4096", 25 * MIB),
        [512, 512, 0],
        [None; 5],
        (4096, 0, "assumed"),
        Asked::Usb,
    ),
    drive(
        "usb-4Kn",
        ("scsi-hd,bus=bot-4K.0,logical_block_size=4096,physical_block_size=4096", 26 * MIB),
        [4096, 4096, 0],
        [None; 5],
        (4096, 0, "reported"),
        Asked::Usb,
    ),
    drive(
        "usb-uas",
        ("scsi-hd,bus=uas.0,physical_block_size=4096", 27 * MIB),
        [512, 4096, 0],
        [None; 5],
        (4096, 0, "reported"),
        Asked::Usb,
    ),
    drive(
        "nvme-512",
        ("nvme,serial=lab-512", 28 * MIB),
        [512, 512, 0],
        [S512, None, None, None, None],
        (4096, 0, "assumed"),
        Asked::Nvme,
    ),
    drive(
        "nvme-4K",
        ("nvme,serial=lab-4K,logical_block_size=4096,physical_block_size=4096", 29 * MIB),
        [4096, 4096, 0],
        [S4K, None, None, None, None],
        (4096, 0, "reported"),
        Asked::Nvme,
    ),
];

/// The drives of scsi_debug, one after the other; none of them rotates.
pub(super) const DEBUG_DRIVES: [Drive; 5] = [
    drive(
        "1-aligned",
        ("physblk_exp=3 lowest_aligned=7", 8 * MIB),
        [512, 4096, 3584],
        [S512, S4K, Some(3584), Some(1), Some(524_288)],
        (4096, 3584, "identified"),
        Asked::Scsi,
    ),
    drive(
        "1-aligned-scsi-2",
        ("physblk_exp=3 lowest_aligned=7 scsi_level=3", 8 * MIB),
        [512, 512, 0],
        [S512, S4K, Some(3584), Some(1), Some(524_288)],
        (4096, 3584, "identified"),
        Asked::OldScsi,
    ),
    drive(
        "16K",
        ("physblk_exp=5 opt_blks=2048 lowest_aligned=1", 8 * MIB),
        [512, 16384, 512],
        [S512, Some(16384), S512, Some(1), Some(MIB)],
        (16384, 512, "identified"),
        Asked::Scsi,
    ),
    drive(
        "4K-of-8K",
        ("sector_size=4096 physblk_exp=1 opt_blks=64", 8 * MIB),
        [4096, 8192, 0],
        [S4K, Some(8192), ZERO, Some(1), Some(262_144)],
        (8192, 0, "identified"),
        Asked::Scsi,
    ),
    drive(
        "odd-preference",
        ("opt_blks=1023", 8 * MIB),
        [512, 512, 0],
        [S512, S512, ZERO, Some(1), Some(523_776)],
        (4096, 0, "assumed"),
        Asked::Scsi,
    ),
];

/// What the drives hang on, beside the six ports of the machine's own AHCI.
pub(super) const CONTROLLERS: [&str; 6] = [
    "ich9-ahci,id=ahci",
    "virtio-scsi-pci,id=scsi",
    "qemu-xhci,id=usb",
    "usb-bot,id=bot,bus=usb.0",
    "usb-bot,id=bot-4K,bus=usb.0",
    "usb-uas,id=uas,bus=usb.0",
];
