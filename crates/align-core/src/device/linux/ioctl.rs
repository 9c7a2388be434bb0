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

use nix::libc::{c_int, c_uint};
use nix::{ioctl_read_bad, request_code_none};

ioctl_read_bad!(blksszget, request_code_none!(0x12, 104), c_int);
ioctl_read_bad!(blkpbszget, request_code_none!(0x12, 123), c_uint);
ioctl_read_bad!(blkiomin, request_code_none!(0x12, 120), c_uint);
ioctl_read_bad!(blkioopt, request_code_none!(0x12, 121), c_uint);
ioctl_read_bad!(blkalignoff, request_code_none!(0x12, 122), c_int);

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
