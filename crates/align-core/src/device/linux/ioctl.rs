//! The block-device ioctls, each as a safe function. The only `unsafe` of the project.
//!
//! Numbers are made with `request_code_none!`, since `_IO` differs between architectures. Sources:
//! `include/uapi/linux/fs.h`, `block/ioctl.c` of the kernel.
#![allow(
    unsafe_code,
    reason = "an ioctl has no safe form; each call passes a pointer to a live local of the type that the kernel writes"
)]

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::libc::{c_int, c_uint, c_void};
use nix::{ioctl_none_bad, ioctl_read_bad, ioctl_write_ptr_bad, request_code_none};

ioctl_read_bad!(blksszget, request_code_none!(0x12, 104), c_int);
ioctl_read_bad!(blkpbszget, request_code_none!(0x12, 123), c_uint);
ioctl_read_bad!(blkiomin, request_code_none!(0x12, 120), c_uint);
ioctl_read_bad!(blkioopt, request_code_none!(0x12, 121), c_uint);
ioctl_read_bad!(blkalignoff, request_code_none!(0x12, 122), c_int);
ioctl_none_bad!(blkrrpart, request_code_none!(0x12, 95));
ioctl_write_ptr_bad!(blkpg, request_code_none!(0x12, 105), BlkpgArg);

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
