//! The virtual machine.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::console::Transcript;
use super::{Lab, tools};
use crate::at;

/// A virtual machine with its script and its disks.
pub(super) struct Machine<'l> {
    lab: &'l Lab,
    /// For its console and its disks.
    folder: PathBuf,
    name: String,
    script: String,
    files: Vec<(String, Vec<u8>)>,
    arguments: Vec<String>,
    disks: usize,
}

/// A virtual machine that runs; it ends with this value.
pub(super) struct Running {
    child: Child,
    report: PathBuf,
    console: PathBuf,
    begun: Instant,
}

/// How often a running machine is looked at.
const PAUSE: Duration = Duration::from_millis(20);

impl<'l> Machine<'l> {
    /// A machine that runs `script`; its files are called after `name`.
    pub(super) fn new(lab: &'l Lab, folder: &Path, name: &str, script: &str) -> Self {
        Self {
            lab,
            folder: folder.to_owned(),
            name: name.to_owned(),
            script: script.to_owned(),
            files: Vec::new(),
            arguments: Vec::new(),
            disks: 0,
        }
    }

    /// A file `/lab/NAME` for the script.
    pub(super) fn file(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        self.files.push((name.to_owned(), content.into()));
    }

    /// Arguments of QEMU as they are.
    pub(super) fn arguments<'a>(&mut self, arguments: impl IntoIterator<Item = &'a str>) {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
    }

    /// A new, empty disk of `mebibytes` behind a device such as `virtio-blk-pci,physical_block_size=4096`.
    pub(super) fn blank_disk(&mut self, device: &str, mebibytes: u64) -> Result<(), String> {
        let image = self.folder.join(format!("{}-disk{}.img", self.name, self.disks));
        let file = File::create(&image).map_err(at(&image))?;
        file.set_len(mebibytes << 20).map_err(at(&image))?;
        self.disk(device, &format!("format=raw,discard=unmap,file={}", image.display()));
        Ok(())
    }

    /// A disk with a given back end.
    pub(super) fn disk(&mut self, device: &str, back_end: &str) {
        let id = format!("d{}", self.disks);
        self.disks += 1;
        let drive = format!("if=none,id={id},{back_end}");
        self.arguments(["-drive", &drive, "-device", &format!("{device},drive={id}")]);
    }

    /// Runs it to its end, for as long as `limit` at most.
    pub(super) fn run(self, limit: Duration) -> Result<Transcript, String> {
        let name = self.name.clone();
        let mut running = self.start()?;
        if !running.wait(limit)? {
            let report = running.transcript()?;
            return Err(format!(
                "{name}: the time limit of {} s passed, after {} reports; see {}",
                limit.as_secs(),
                report.lines.len(),
                running.console.display()
            ));
        }
        running.transcript()
    }

    /// Starts it.
    pub(super) fn start(self) -> Result<Running, String> {
        let path = |end: &str| self.folder.join(format!("{}.{end}", self.name));
        let (initrd, report, console, errors) =
            (path("cpio"), path("report"), path("console"), path("errors"));
        let archive = self.lab.initramfs.with_script(&self.script, &self.files);
        fs::write(&initrd, archive).map_err(at(&initrd))?;
        fs::write(&report, "").map_err(at(&report))?;
        let qemu = tools::find("qemu-system-x86_64").ok_or("qemu-system-x86_64 is missing")?;
        let child = Command::new(&qemu)
            .args(["-machine", "q35", "-m", "1024", "-nographic", "-no-reboot", "-net", "none"])
            .args(accelerators())
            // It has random numbers of its own: others take seconds to gather after a start.
            .args(["-cpu", "qemu64,+rdrand"])
            .args(["-nodefaults", "-device", "isa-serial,chardev=console,index=0"])
            .args(["-device", "isa-serial,chardev=report,index=1"])
            .arg("-chardev")
            .arg(format!("file,id=console,path={}", console.display()))
            .arg("-chardev")
            .arg(format!("file,id=report,path={}", report.display()))
            .arg("-kernel")
            .arg(&self.lab.kernel)
            .arg("-initrd")
            .arg(&initrd)
            .args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off rdinit=/init"])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&errors).map_err(at(&errors))?)
            .spawn()
            .map_err(at(&qemu))?;
        Ok(Running { child, report, console, begun: Instant::now() })
    }
}

/// KVM where it works, and emulation. A `/dev/kvm` alone is not enough: there are machines that have it without the
/// processor for it, and there nothing ever starts.
fn accelerators() -> &'static [&'static str] {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_processor = flags.split_whitespace().any(|flag| matches!(flag, "vmx" | "svm"));
    let may_be_used = OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok();
    if has_processor && may_be_used { &["-accel", "kvm", "-accel", "tcg"] } else { &["-accel", "tcg"] }
}

impl Running {
    /// Waits until it has switched itself off. `false` when `limit` passes before.
    pub(super) fn wait(&mut self, limit: Duration) -> Result<bool, String> {
        self.until(limit, |_| Ok(false))
    }

    /// Waits until `done` says so, or it has switched itself off. `false` when `limit` passes before.
    pub(super) fn until(
        &mut self,
        limit: Duration,
        mut done: impl FnMut(&Self) -> Result<bool, String>,
    ) -> Result<bool, String> {
        loop {
            if self.child.try_wait().map_err(|error| error.to_string())?.is_some() || done(self)? {
                return Ok(true);
            }
            if self.begun.elapsed() > limit {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Cuts its power.
    pub(super) fn kill(&mut self) {
        // It may have ended by itself: that is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What the script has reported so far.
    pub(super) fn transcript(&self) -> Result<Transcript, String> {
        let bytes = fs::read(&self.report).map_err(at(&self.report))?;
        let transcript = Transcript::parse(&String::from_utf8_lossy(&bytes));
        Ok(transcript)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
