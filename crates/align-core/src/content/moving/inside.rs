use crate::device::ReadError;

/// The bytes of a partition, from its own start on.
#[derive(Clone, Copy)]
pub(super) struct Inside<'a> {
    read: &'a dyn Fn(u64, usize) -> Result<Vec<u8>, ReadError>,
    len: u64,
}

impl<'a> Inside<'a> {
    pub(super) fn new(read: &'a dyn Fn(u64, usize) -> Result<Vec<u8>, ReadError>, len: u64) -> Self {
        Self { read, len }
    }

    /// The size of the partition in bytes.
    pub(super) fn len(self) -> u64 {
        self.len
    }

    /// All of the `len` bytes at `offset`, `None` when the partition ends before.
    ///
    /// # Errors
    /// Those of the closure.
    pub(super) fn read(self, offset: u64, len: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let end = u64::try_from(len).ok().and_then(|len| offset.checked_add(len));
        if end.is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        let bytes = (self.read)(offset, len)?;
        Ok((bytes.len() == len).then_some(bytes))
    }

    /// As many of the first `len` bytes as there are.
    ///
    /// # Errors
    /// Those of the closure.
    pub(super) fn front(self, len: usize) -> Result<Vec<u8>, ReadError> {
        let len = usize::try_from(self.len).map_or(len, |all| all.min(len));
        Ok(self.read(0, len)?.unwrap_or_default())
    }
}

/// The `N` bytes at `at`.
pub(super) fn bytes<const N: usize>(of: &[u8], at: usize) -> Option<[u8; N]> {
    of.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The little-endian number of 16 bits at `at`.
pub(super) fn word(of: &[u8], at: usize) -> Option<u16> {
    bytes(of, at).map(u16::from_le_bytes)
}

/// The little-endian number of 32 bits at `at`.
pub(super) fn double(of: &[u8], at: usize) -> Option<u32> {
    bytes(of, at).map(u32::from_le_bytes)
}

/// The little-endian number of 64 bits at `at`.
pub(super) fn long(of: &[u8], at: usize) -> Option<u64> {
    bytes(of, at).map(u64::from_le_bytes)
}
