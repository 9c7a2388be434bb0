//! What the virtual machine boots into: busybox, the tools with their libraries, modules, `alignck`, a script.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cpio::Cpio;
use super::kernel::Kernel;
use super::tools::{self, GUEST};
use crate::{at, root};

/// The part that all scenarios share, as bytes of an archive.
pub(super) struct Initramfs {
    base: Vec<u8>,
    alignck: Vec<u8>,
}

const FOLDERS: [&str; 16] = [
    "bin", "sbin", "usr", "usr/bin", "usr/sbin", "proc", "sys", "dev", "run", "tmp", "etc", "mnt", "lab",
    "root", "lib", "var",
];

/// Files that the tools read.
const SETTINGS: [&str; 1] = ["/etc/mke2fs.conf"];

impl Initramfs {
    /// Packs the shared part, or takes it from `folder` when none of its files has changed since.
    pub(super) fn build(kernel: &Kernel, folder: &Path) -> Result<Self, String> {
        let alignck = build_alignck()?;
        let programs = GUEST.iter().filter_map(|tool| tools::find(tool.name));
        let mut files: BTreeSet<PathBuf> = programs.collect();
        let mut libraries = BTreeSet::new();
        for program in files.iter().chain([&alignck]) {
            libraries.extend(libraries_of(program)?);
        }
        files.extend(libraries);
        files.extend(kernel.module_files()?);
        files.extend(SETTINGS.map(PathBuf::from).into_iter().filter(|path| path.exists()));
        let busybox = tools::find("busybox").ok_or("busybox is missing")?;

        let alignck = fs::read(&alignck).map_err(at(&alignck))?;
        let key = key_of(files.iter().chain([&busybox]))?;
        let (archive, known) = (folder.join("base.cpio"), folder.join("base.key"));
        if fs::read_to_string(&known).is_ok_and(|known| known == key) {
            let base = fs::read(&archive).map_err(at(&archive))?;
            return Ok(Self { base, alignck });
        }
        let base = pack(&files, &busybox)?;
        fs::write(&archive, &base).map_err(at(&archive))?;
        fs::write(&known, key).map_err(at(&known))?;
        Ok(Self { base, alignck })
    }

    /// The whole archive: the shared part, `alignck`, and the script of a scenario with the files that it reads.
    pub(super) fn with_script(&self, script: &str, files: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut archive = Cpio::default();
        archive.file("init", include_bytes!("../../lab/init"));
        archive.file("lab/lib.sh", include_bytes!("../../lab/lib.sh"));
        archive.file("lab/run.sh", script.as_bytes());
        archive.file("usr/bin/alignck", &self.alignck);
        for (name, content) in files {
            archive.file(&format!("lab/{name}"), content);
        }
        let mut whole = self.base.clone();
        whole.extend(archive.into_bytes());
        whole
    }
}

/// The build of the tests is good enough, and has its assertions.
fn build_alignck() -> Result<PathBuf, String> {
    let status =
        Command::new("cargo").args(["build", "--quiet", "--package", "alignck"]).current_dir(root()).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("the command could not be built".into());
    }
    Ok(alignck())
}

/// The command that was built, for what is done outside of a machine.
pub(super) fn alignck() -> PathBuf {
    root().join("target/debug/alignck")
}

fn pack(files: &BTreeSet<PathBuf>, busybox: &Path) -> Result<Vec<u8>, String> {
    let mut archive = Cpio::default();
    let mut made = BTreeSet::new();
    for folder in FOLDERS {
        made.insert(PathBuf::from("/").join(folder));
        archive.folder(folder);
    }
    archive.file("bin/busybox", &fs::read(busybox).map_err(at(busybox))?);
    let dash = tools::find("dash").ok_or("dash is missing")?;
    archive.link("bin/sh", &dash.to_string_lossy());
    for file in files {
        for folder in file.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            if folder != Path::new("/") && made.insert(folder.to_owned()) {
                archive.folder(&folder.to_string_lossy());
            }
        }
        // What links lead to is what is wanted: a library by the name that programs ask for.
        archive.file(&file.to_string_lossy(), &fs::read(file).map_err(at(file))?);
    }
    Ok(archive.into_bytes())
}

/// The libraries of a program, and of those in turn; none of a static one.
fn libraries_of(program: &Path) -> Result<Vec<PathBuf>, String> {
    let ldd = tools::find("ldd").ok_or("ldd is missing")?;
    let output = Command::new(&ldd).arg(program).output().map_err(at(&ldd))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths = printed.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    Ok(paths.map(PathBuf::from).collect())
}

/// Changes when one of the files does.
fn key_of<'p>(files: impl Iterator<Item = &'p PathBuf>) -> Result<String, String> {
    let mut key = String::new();
    for file in files {
        let metadata = file.metadata().map_err(at(file))?;
        let modified = metadata.modified().map_err(at(file))?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        key.push_str(&format!("{} {} {}\n", file.display(), metadata.len(), since.as_nanos()));
    }
    Ok(key)
}
