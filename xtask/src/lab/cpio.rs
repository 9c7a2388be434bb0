//! Archives of the kind that the kernel unpacks when it starts (`newc`).

use std::io::Write as _;

/// An archive that grows.
#[derive(Default)]
pub(super) struct Cpio {
    bytes: Vec<u8>,
    entries: u32,
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

impl Cpio {
    pub(super) fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER, &[]);
    }

    /// A file that can be run, too.
    pub(super) fn file(&mut self, path: &str, content: &[u8]) {
        self.entry(path, PROGRAM, content);
    }

    pub(super) fn link(&mut self, path: &str, to: &str) {
        self.entry(path, LINK, to.as_bytes());
    }

    /// The archive, ended and padded so that another one can follow.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.pad(512);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let path = path.trim_start_matches('/');
        let (len, name_len) = (content.len(), path.len() + 1);
        // Number, mode, owner, group, links, time, length, four device numbers, length of the name, checksum.
        let inode = self.entries;
        let _ = write!(
            self.bytes,
            "070701{inode:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{0:08x}{len:08x}{0:08x}{0:08x}{0:08x}{0:08x}{name_len:08x}{0:08x}",
            0, 1
        );
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad(4);
        self.bytes.extend_from_slice(content);
        self.pad(4);
    }

    fn pad(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_a_head_of_110_bytes_and_begin_on_multiples_of_4() {
        let mut archive = Cpio::default();
        archive.file("/a", b"xyz");
        let bytes = archive.into_bytes();
        assert_eq!(&bytes[..6], b"070701");
        assert_eq!(&bytes[54..62], b"00000003");
        assert_eq!(&bytes[110..112], b"a\0");
        assert_eq!(&bytes[112..116], b"xyz\0");
        assert_eq!(&bytes[116..122], b"070701");
        assert_eq!(bytes.len() % 512, 0);
    }
}
