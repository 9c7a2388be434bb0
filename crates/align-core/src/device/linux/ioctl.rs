//! The block-device ioctls, each as a safe function. The only `unsafe` of the project.
//!
//! Numbers are made with `request_code_none!`, since `_IO` differs between architectures. Sources:
//! `include/uapi/linux/fs.h`, `block/ioctl.c` of the kernel; for the questions to drives `include/scsi/sg.h` and
//! `include/uapi/linux/nvme_ioctl.h`.
#![allow(
    unsafe_code,
    reason = "an ioctl has no safe form; each call passes a pointer to a live local of the type that the kernel writes"
)]

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::libc::{c_int, c_uint, c_void};
use nix::{
    ioctl_none, ioctl_none_bad, ioctl_read_bad, ioctl_readwrite, ioctl_readwrite_bad, ioctl_write_ptr_bad,
    request_code_none,
};

ioctl_read_bad!(blksszget, request_code_none!(0x12, 104), c_int);
ioctl_read_bad!(blkpbszget, request_code_none!(0x12, 123), c_uint);
ioctl_read_bad!(blkiomin, request_code_none!(0x12, 120), c_uint);
ioctl_read_bad!(blkioopt, request_code_none!(0x12, 121), c_uint);
ioctl_read_bad!(blkalignoff, request_code_none!(0x12, 122), c_int);
ioctl_none_bad!(blkrrpart, request_code_none!(0x12, 95));
ioctl_write_ptr_bad!(blkpg, request_code_none!(0x12, 105), BlkpgArg);
ioctl_readwrite_bad!(sg_io, 0x2285, SgIoHeader);
ioctl_none!(nvme_namespace_id, b'N', 0x40);
ioctl_readwrite!(nvme_admin, b'N', 0x41, NvmeAdmin);

/// `struct blkpg_ioctl_arg` of `include/uapi/linux/blkpg.h`.
#[repr(C)]
#[derive(Debug)]
pub struct BlkpgArg {
    op: c_int,
    flags: c_int,
    datalen: c_int,
    data: *const c_void,
}

/// `struct blkpg_partition` of the same file: places in bytes.
#[repr(C)]
struct BlkpgPartition {
    start: i64,
    length: i64,
    number: c_int,
    names: [u8; 128],
}

const BLKPG_ADD_PARTITION: c_int = 1;
const BLKPG_DEL_PARTITION: c_int = 2;
const BLKPG_RESIZE_PARTITION: c_int = 3;

/// `struct sg_io_hdr` of `include/scsi/sg.h`, version 3.
#[repr(C)]
#[derive(Debug)]
pub struct SgIoHeader {
    interface_id: c_int,
    direction: c_int,
    command_len: u8,
    max_sense_len: u8,
    iovec_count: u16,
    data_len: c_uint,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: c_uint,
    flags: c_uint,
    pack_id: c_int,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_len: u8,
    host_status: u16,
    driver_status: u16,
    residual: c_int,
    duration_ms: c_uint,
    info: c_uint,
}

const SG_DXFER_FROM_DEV: c_int = -3;
/// The lower bits of the driver's status are an error, the upper ones say that there is sense data.
const DRIVER_ERROR: u16 = 0x07;

/// How a SCSI command came back.
pub(super) struct ScsiOutcome {
    /// How many bytes of data came.
    pub(super) len: usize,
    /// The SCSI status: 0 is good, 2 is "check condition".
    pub(super) status: u8,
    /// What the host adapter says: 0 is good, 3 is a timeout.
    pub(super) host_status: u16,
    /// Whether the driver failed.
    pub(super) driver_failed: bool,
    /// The sense data, in either format; empty where there is none.
    pub(super) sense: Vec<u8>,
}

/// `struct nvme_passthru_cmd` of `include/uapi/linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct NvmeAdmin {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_len: u32,
    data_len: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const NVME_IDENTIFY: u8 = 0x06;

/// Sends a SCSI command that makes the device send data, and nothing else (SG_IO). What the command is decides the
/// caller; the direction is fixed.
pub(super) fn scsi_read(
    file: &File,
    command: &[u8],
    data: &mut [u8],
    timeout_ms: u32,
) -> nix::Result<ScsiOutcome> {
    let out_of_range = |_| nix::errno::Errno::EINVAL;
    let mut sense = [0_u8; 64];
    let mut header = SgIoHeader {
        interface_id: c_int::from(b'S'),
        direction: SG_DXFER_FROM_DEV,
        command_len: u8::try_from(command.len()).map_err(out_of_range)?,
        max_sense_len: u8::try_from(sense.len()).map_err(out_of_range)?,
        iovec_count: 0,
        data_len: c_uint::try_from(data.len()).map_err(out_of_range)?,
        data: data.as_mut_ptr().cast(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms,
        flags: 0,
        pack_id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_len: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the header is a live local. The kernel reads `command_len` bytes of the command, writes at most `data_len`
    // bytes of data and `max_sense_len` of sense, each the length of the live buffer behind its pointer, and keeps none
    // of the pointers beyond the call.
    unsafe { sg_io(file.as_raw_fd(), &mut header) }?;
    let missing = usize::try_from(header.residual).unwrap_or(0);
    Ok(ScsiOutcome {
        len: data.len().saturating_sub(missing),
        status: header.status,
        host_status: header.host_status,
        driver_failed: header.driver_status & DRIVER_ERROR != 0,
        sense: sense.iter().copied().take(header.sense_len.into()).collect(),
    })
}

/// Identify Namespace of the namespace that is opened, by NVMe Identify (NVME_IOCTL_ID, NVME_IOCTL_ADMIN_CMD). Gives
/// the NVMe status, 0 for success.
pub(super) fn nvme_identify_namespace(
    file: &File,
    data: &mut [u8; 4096],
    timeout_ms: u32,
) -> nix::Result<u32> {
    // SAFETY: the ioctl takes no argument.
    let namespace = unsafe { nvme_namespace_id(file.as_raw_fd()) }?;
    let mut command = NvmeAdmin {
        opcode: NVME_IDENTIFY,
        namespace: u32::try_from(namespace).map_err(|_| nix::errno::Errno::EINVAL)?,
        address: data.as_mut_ptr() as u64,
        data_len: 4096,
        timeout_ms,
        ..NvmeAdmin::default()
    };
    // SAFETY: the command is a live local; the kernel writes `data_len` bytes, the length of the live buffer behind
    // the address, and keeps neither beyond the call.
    let status = unsafe { nvme_admin(file.as_raw_fd(), &mut command) }?;
    Ok(u32::try_from(status).unwrap_or(0))
}

/// Lets the kernel read the partition table anew (BLKRRPART); it refuses while a partition is in use.
pub(super) fn reread_partitions(file: &File) -> nix::Result<()> {
    // SAFETY: the ioctl takes no argument.
    unsafe { blkrrpart(file.as_raw_fd()) }.map(|_| ())
}

/// Makes a partition known to the kernel, without a table; start and length in bytes (BLKPG_ADD_PARTITION).
pub(super) fn add_partition(file: &File, number: u32, start: u64, len: u64) -> nix::Result<()> {
    change_partition(file, BLKPG_ADD_PARTITION, number, start, len)
}

/// Makes the kernel forget a partition; it refuses while that is in use (BLKPG_DEL_PARTITION).
pub(super) fn delete_partition(file: &File, number: u32) -> nix::Result<()> {
    change_partition(file, BLKPG_DEL_PARTITION, number, 0, 0)
}

/// Changes the length of a partition that the kernel knows, also while it is in use (BLKPG_RESIZE_PARTITION).
pub(super) fn resize_partition(file: &File, number: u32, start: u64, len: u64) -> nix::Result<()> {
    change_partition(file, BLKPG_RESIZE_PARTITION, number, start, len)
}

fn change_partition(file: &File, op: c_int, number: u32, start: u64, len: u64) -> nix::Result<()> {
    let out_of_range = |_| nix::errno::Errno::ERANGE;
    let partition = BlkpgPartition {
        start: i64::try_from(start).map_err(out_of_range)?,
        length: i64::try_from(len).map_err(out_of_range)?,
        number: c_int::try_from(number).map_err(out_of_range)?,
        names: [0; 128],
    };
    let datalen = c_int::try_from(size_of::<BlkpgPartition>()).map_err(out_of_range)?;
    let data = (&raw const partition).cast::<c_void>();
    let argument = BlkpgArg { op, flags: 0, datalen, data };
    // SAFETY: the kernel reads the argument and, through its pointer, the partition; both outlive the call.
    unsafe { blkpg(file.as_raw_fd(), &argument) }.map(|_| ())
}

/// The logical sector size in bytes (BLKSSZGET).
pub(super) fn logical(file: &File) -> Option<u64> {
    let mut value: c_int = 0;
    // SAFETY: the kernel writes one int through the pointer.
    unsafe { blksszget(file.as_raw_fd(), &mut value) }.ok()?;
    u64::try_from(value).ok()
}

/// The physical sector size in bytes (BLKPBSZGET).
pub(super) fn physical(file: &File) -> Option<u64> {
    let mut value: c_uint = 0;
    // SAFETY: the kernel writes one unsigned int through the pointer.
    unsafe { blkpbszget(file.as_raw_fd(), &mut value) }.ok()?;
    Some(value.into())
}

/// The minimum I/O size in bytes (BLKIOMIN).
pub(super) fn minimum_io(file: &File) -> Option<u64> {
    let mut value: c_uint = 0;
    // SAFETY: the kernel writes one unsigned int through the pointer.
    unsafe { blkiomin(file.as_raw_fd(), &mut value) }.ok()?;
    Some(value.into())
}

/// The optimal I/O size in bytes, 0 where there is none (BLKIOOPT).
pub(super) fn optimal_io(file: &File) -> Option<u64> {
    let mut value: c_uint = 0;
    // SAFETY: the kernel writes one unsigned int through the pointer.
    unsafe { blkioopt(file.as_raw_fd(), &mut value) }.ok()?;
    Some(value.into())
}

/// The alignment offset in bytes; -1 where no offset suits the whole stack (BLKALIGNOFF, signed).
pub(super) fn alignment_offset(file: &File) -> Option<i64> {
    let mut value: c_int = 0;
    // SAFETY: the kernel writes one int through the pointer.
    unsafe { blkalignoff(file.as_raw_fd(), &mut value) }.ok()?;
    Some(value.into())
}
