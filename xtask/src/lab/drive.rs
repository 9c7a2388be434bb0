//! Drives whose insides can be seen: nbdkit behind a disk of the virtual machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::tools;
use crate::at;

/// A drive that is served; it ends with this value.
pub(super) struct Drive {
    server: Child,
    /// Names of sockets may have a hundred letters only, so it has a folder of its own.
    sockets: tempfile::TempDir,
    log: PathBuf,
}

/// What reaches the medium of a drive, in the order of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) is_write: bool,
    pub(super) offset: u64,
    pub(super) len: u64,
}

impl Drive {
    /// Serves `plugin` behind `filters`; what is logged is what comes out of them. Their parameters follow the plugin.
    pub(super) fn serve(
        folder: &Path,
        name: &str,
        filters: &[&str],
        plugin: &[&str],
    ) -> Result<Self, String> {
        let sockets = tempfile::tempdir().map_err(|error| error.to_string())?;
        let socket = sockets.path().join("nbd");
        let log = folder.join(format!("{name}.log"));
        let errors = folder.join(format!("{name}.nbdkit"));
        let nbdkit = tools::find("nbdkit").ok_or("nbdkit is missing")?;
        let server = Command::new(&nbdkit)
            .args(["--foreground", "--unix"])
            .arg(&socket)
            .args(filters.iter().chain(&["log"]).map(|filter| format!("--filter={filter}")))
            .args(plugin)
            .arg(format!("logfile={}", log.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&errors).map_err(at(&errors))?)
            .spawn()
            .map_err(at(&nbdkit))?;
        let drive = Self { server, sockets, log };
        for _ in 0..200 {
            if socket.exists() {
                return Ok(drive);
            }
            thread::sleep(Duration::from_millis(25));
        }
        Err(format!("nbdkit did not begin to serve {}", plugin.join(" ")))
    }

    /// What `Machine::disk` takes.
    pub(super) fn back_end(&self) -> String {
        let socket = self.sockets.path().join("nbd");
        format!(
            "format=raw,cache=none,file.driver=nbd,file.server.type=unix,file.server.path={}",
            socket.display()
        )
    }

    /// The requests that have begun so far.
    pub(super) fn requests(&self) -> Result<Vec<Request>, String> {
        let text = fs::read_to_string(&self.log).map_err(at(&self.log))?;
        Ok(text.lines().filter_map(Request::parse).collect())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Request {
    /// A line such as `... connection=1 Read id=1 offset=0x0 count=0x1000 ...`; the end of a request is another line.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_write = match *words.get(3)? {
            "Read" => false,
            "Write" | "Zero" | "Trim" => true,
            _ => return None,
        };
        let number = |key: &str| {
            let value = words.iter().find_map(|word| word.strip_prefix(key))?;
            u64::from_str_radix(value.strip_prefix("0x")?, 16).ok()
        };
        Some(Self { is_write, offset: number("offset=")?, len: number("count=")? })
    }

    pub(super) fn end(self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_log() {
        let begun = "2026-01-01 10:00:00.000001 connection=1 Write id=2 offset=0x1000 count=0x2000 fua=1 ...";
        let request = Request { is_write: true, offset: 4096, len: 8192 };
        assert_eq!(Request::parse(begun), Some(request));
        let ended = "2026-01-01 10:00:00.000002 connection=1 ...Write id=2 return=0";
        assert_eq!(Request::parse(ended), None);
    }
}
