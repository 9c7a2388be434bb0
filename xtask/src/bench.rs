//! `cargo xtask bench`: the command against its peers, in the same run on the same machine.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use align_core::check::{self, Options};
use align_core::device::{BlockDevice, Disk, FaultDevice, MemoryDevice, Reader};
use align_core::table::Table;
use fixtures::gpt::HeaderFields;
use fixtures::{GptEntry, GptSpec, Image, Logical, MbrEntry, guid};

use crate::benchmarks;
use crate::{at, moves, root};

/// How many images the long command line has, and how many of them the shell loop gets.
const MANY: usize = 10_000;
const LOOPED: usize = 1000;

/// Measures everything, or only moves, and writes the figures down.
pub(crate) fn run(only_moves: bool) -> Result<(), String> {
    if !only_moves {
        run_others()?;
    }
    let text = moves::measure()?;
    print!("{text}");
    benchmarks::write(benchmarks::MOVES, &text)
}

fn run_others() -> Result<(), String> {
    for (tool, package) in
        [("sfdisk", "fdisk"), ("parted", "parted"), ("hyperfine", "hyperfine"), ("/usr/bin/time", "time")]
    {
        let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.map_err(|_| format!("{tool} is missing: apt-get install {package}"))?;
    }
    let alignck = build()?;
    let scratch = tempfile::tempdir_in(fixtures::scratch_dir()).map_err(|error| error.to_string())?;
    let mut text = String::from(HEAD);
    single_image(&mut text, &alignck, scratch.path())?;
    many_images(&mut text, &alignck, scratch.path())?;
    reads(&mut text)?;
    large_tables(&mut text)?;
    plans(&mut text)?;
    writes(&mut text, &alignck, scratch.path())?;
    print!("{text}");
    benchmarks::write(benchmarks::MEASURED, &text)
}

const HEAD: &str = "\
# Benchmarks

Written by `cargo xtask bench`: all figures of a table come from one run on one machine (2 cores), so compare
them with each other and not with those of another day.
";

fn build() -> Result<PathBuf, String> {
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--release", "--package", "alignck"])
        .current_dir(root())
        .status();
    match status {
        Ok(status) if status.success() => Ok(root().join("target/release/alignck")),
        _ => Err("the command could not be built".into()),
    }
}

/// A GPT of `used` Linux partitions of 1 MiB each.
fn gpt_image(used: u32) -> Image {
    let mut image = Image::blank(256 << 20);
    let entries = (0..used).map(|slot| {
        let first = 2048 + u64::from(slot) * 2048;
        GptEntry { slot, first, last: first + 2047, kind: linux(), id: [1; 16], ..GptEntry::default() }
    });
    fixtures::gpt::write(&mut image, &GptSpec { entries: entries.collect(), ..GptSpec::default() });
    image
}

fn linux() -> [u8; 16] {
    guid("0FC63DAF-8483-4772-8E79-3D69D8477DE4")
}

fn single_image(text: &mut String, alignck: &Path, scratch: &Path) -> Result<(), String> {
    let image = scratch.join("gpt-128.img");
    gpt_image(120).write_to(&image).map_err(at(&image))?;
    let commands = [
        format!("{} --json {}", alignck.display(), image.display()),
        format!("sfdisk -J {}", image.display()),
        format!("parted -m -s {} unit s print", image.display()),
    ];
    let medians = hyperfine(&commands, 100, scratch)?;
    let _ = writeln!(text, "\n## One GPT image with 120 partitions, whole process\n");
    let _ = writeln!(text, "| command | median | against sfdisk |\n|---|---|---|");
    for (name, median) in ["alignck --json", "sfdisk -J", "parted -m -s ... print"].iter().zip(&medians) {
        let _ = writeln!(text, "| `{name}` | {:.2} ms | {:.2} |", median * 1000.0, median / medians[1]);
    }
    let output = Command::new("/usr/bin/time").args(["-f", "%M"]).arg(alignck).arg(&image).output();
    let output = output.map_err(|error| error.to_string())?;
    let kib = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
    let _ = writeln!(text, "\nPeak memory of `alignck`: {kib} KiB.");
    Ok(())
}

fn many_images(text: &mut String, alignck: &Path, scratch: &Path) -> Result<(), String> {
    let folder = scratch.join("many");
    fs::create_dir(&folder).map_err(at(&folder))?;
    let image = gpt_image(2);
    for number in 0..MANY {
        let path = folder.join(format!("{number}.img"));
        image.write_to(&path).map_err(at(&path))?;
    }
    let folder = folder.display();
    let all = format!("sh -c 'exec {} --json {folder}/*.img'", alignck.display());
    // Files of up to three digits: a tenth of them.
    let tenth = "[0-9].img [0-9][0-9].img [0-9][0-9][0-9].img";
    let some = tenth.split(' ').map(|glob| format!("{folder}/{glob}")).collect::<Vec<_>>().join(" ");
    let tenth_at_once = format!("sh -c 'exec {} --json {some}'", alignck.display());
    let looped = format!("sh -c 'for image in {some}; do sfdisk -J $image; done'");
    let medians = hyperfine(&[all, tenth_at_once, looped], 3, scratch)?;
    let per_image = |seconds: f64, images: usize| seconds * 1e6 / images as f64;
    let _ = writeln!(text, "\n## Many images in one call\n");
    let _ = writeln!(text, "| command | images | median | per image |\n|---|---|---|---|");
    for (name, images, median) in [
        ("alignck --json *.img", MANY, medians[0]),
        ("alignck --json *.img", LOOPED, medians[1]),
        ("shell loop over sfdisk -J", LOOPED, medians[2]),
    ] {
        let _ =
            writeln!(text, "| `{name}` | {images} | {median:.3} s | {:.0} us |", per_image(median, images));
    }
    let faster = per_image(medians[2], LOOPED) / per_image(medians[0], MANY);
    let _ = writeln!(text, "\nPer image the one call is {faster:.0} times as fast as the loop.");
    Ok(())
}

/// The median seconds of each command.
fn hyperfine(commands: &[String], runs: u32, scratch: &Path) -> Result<Vec<f64>, String> {
    let export = scratch.join("hyperfine.json");
    let status = Command::new("hyperfine")
        .args(["--shell=none", "--ignore-failure", "--style=none", "--warmup=3", "--runs", &runs.to_string()])
        .arg("--export-json")
        .arg(&export)
        .args(commands)
        .stdout(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("hyperfine failed".into());
    }
    let json = fs::read(&export).map_err(at(&export))?;
    let json: serde_json::Value = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    let results = json["results"].as_array().into_iter().flatten();
    let medians: Vec<f64> = results.filter_map(|result| result["median"].as_f64()).collect();
    if medians.len() == commands.len() { Ok(medians) } else { Err("hyperfine gave no medians".into()) }
}

/// How many reads a check costs, counted by the device.
fn reads(text: &mut String) -> Result<(), String> {
    let _ = writeln!(text, "\n## Reads of one check\n\n| disk | reads |\n|---|---|");
    let mut primaries = Image::blank(1 << 30);
    let entry = MbrEntry { boot: 0, kind: 0x83, start: 2048, sectors: 2_000_000 };
    fixtures::mbr::write(&mut primaries, 512, 1, &[entry]);
    for (name, image) in [
        ("healthy GPT, 120 partitions", gpt_image(120)),
        ("MBR, one primary", primaries),
        ("MBR, 10 logicals", chain_image(10)),
        ("MBR, 250 logicals", chain_image(250)),
    ] {
        let device = counted(&image)?;
        let reader = Reader::new(&device);
        Table::read(&reader, None).map_err(|error| error.to_string())?;
        let _ = writeln!(text, "| {name} | {} |", device.reads());
    }
    Ok(())
}

/// An MBR whose container holds a chain of `links` logicals of 1 MiB, 1 MiB apart.
fn chain_image(links: u32) -> Image {
    let mut image = Image::blank(1 << 30);
    let container = MbrEntry { boot: 0, kind: 0x05, start: 2048, sectors: (1 << 21) - 2048 };
    fixtures::mbr::write(&mut image, 512, 1, &[container]);
    let logicals: Vec<Logical> = (0..links)
        .map(|link| {
            let ebr = 2048 + link * 4096;
            Logical { ebr, kind: 0x83, start: ebr + 2048, sectors: 2048 }
        })
        .collect();
    fixtures::mbr::write_chain(&mut image, 512, 2048, &logicals);
    image
}

fn counted(image: &Image) -> Result<FaultDevice<MemoryDevice>, String> {
    let device = MemoryDevice::new(image.size);
    for (offset, bytes) in &image.writes {
        device.write_at(*offset, bytes).map_err(|error| error.to_string())?;
    }
    Ok(FaultDevice::new(device))
}

/// What tables of extreme sizes cost: time by their size, memory by none.
fn large_tables(text: &mut String) -> Result<(), String> {
    let _ = writeln!(
        text,
        "\n## Tables of extreme size, in the library built without optimisation\n\n| table | time |\n|---|---|"
    );
    for links in [64, 128, 256] {
        let image = chain_image(links);
        let device = counted(&image)?;
        let start = Instant::now();
        Table::read(&Reader::new(&device), None).map_err(|error| error.to_string())?;
        let _ = writeln!(text, "| EBR chain of {links} | {:.0} us |", start.elapsed().as_secs_f64() * 1e6);
    }
    for millions in [1_u32, 2, 4, 8, 16] {
        let disk = Disk::image("sparse", sparse_gpt(millions * 1_000_000)?);
        let start = Instant::now();
        let report = check::run(&disk, &Options::default()).map_err(|error| error.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        let _ = writeln!(
            text,
            "| GPT of {millions} million entries, both copies, health {} | {:.2} s |",
            report.table.health.word(),
            seconds
        );
    }
    Ok(())
}

/// What a plan costs, by the number of its partitions; measured by criterion.
fn plans(text: &mut String) -> Result<(), String> {
    let output = Command::new("cargo")
        .args([
            "bench",
            "--quiet",
            "--package",
            "align-core",
            "--bench",
            "plan",
            "--",
            "--output-format",
            "bencher",
        ])
        .current_dir(root())
        .output()
        .map_err(|error| error.to_string())?;
    let _ = writeln!(text, "\n## A plan in the library\n\n| layout | time |\n|---|---|");
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines = printed.lines().filter_map(|line| line.strip_prefix("test plan ")?.split_once(" ... bench:"));
    let mut measured = 0;
    for (name, time) in lines {
        let nanoseconds = time.split_whitespace().next().unwrap_or_default().replace(',', "");
        let nanoseconds: f64 = nanoseconds.parse().map_err(|_| format!("criterion printed: {time}"))?;
        let name = name.replace('/', ", ");
        let _ = writeln!(text, "| {name} partitions | {:.1} us |", nanoseconds / 1000.0);
        measured += 1;
    }
    if measured == 0 { Err("criterion printed no measurements".into()) } else { Ok(()) }
}

/// Writing a table to an image, against sfdisk with the same script.
fn writes(text: &mut String, alignck: &Path, scratch: &Path) -> Result<(), String> {
    let _ = writeln!(text, "\n## Writing a table to an image, whole process\n");
    let _ = writeln!(text, "| layout | `alignck apply --yes` | `sfdisk` | ratio |\n|---|---|---|---|");
    let state = scratch.join("state");
    for (name, arguments) in [
        ("GPT, 1 partition", vec!["--size", "100M"]),
        ("GPT, 120 partitions", vec!["--size", "1M", "x120"]),
        ("MBR, 3 primaries and 20 logicals", vec!["--table", "mbr", "--size", "1M", "x23"]),
    ] {
        let plan = |output: &str, file: &str| -> Result<PathBuf, String> {
            let path = scratch.join(file);
            let command = Command::new(alignck)
                .args(["plan", "--disk-size", "256M", "--output", output])
                .args(&arguments)
                .output();
            let printed = command.map_err(|error| error.to_string())?;
            fs::write(&path, printed.stdout).map_err(at(&path))?;
            Ok(path)
        };
        let (json, script) = (plan("json", "plan.json")?, plan("sfdisk", "plan.sfdisk")?);
        let images = [scratch.join("apply.img"), scratch.join("sfdisk.img")];
        for image in &images {
            Image::blank(256 << 20).write_to(image).map_err(at(image))?;
        }
        let [own, theirs] = images.each_ref().map(|image| image.display());
        // Random identifiers make every run write.
        let commands = [
            format!(
                "env XDG_STATE_HOME={} {} apply --yes {} {own}",
                state.display(),
                alignck.display(),
                json.display()
            ),
            format!("sh -c 'exec sfdisk --quiet {theirs} < {}'", script.display()),
        ];
        let medians = hyperfine(&commands, 20, scratch)?;
        let _ = writeln!(
            text,
            "| {name} | {:.0} ms | {:.0} ms | {:.2} |",
            medians[0] * 1000.0,
            medians[1] * 1000.0,
            medians[0] / medians[1]
        );
        fs::remove_dir_all(&state).map_err(at(&state))?;
    }
    Ok(())
}

/// A 64 GiB disk with an array of `count` empty entries in both copies.
fn sparse_gpt(count: u32) -> Result<MemoryDevice, String> {
    let size: u64 = 64 << 30;
    let last = size / 512 - 1;
    let bytes = u64::from(count) * 128;
    let array_sectors = bytes.div_ceil(512);
    let mut hasher = crc32fast::Hasher::new();
    let zeros = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(zeros.len()).min(zeros.len());
        hasher.update(&zeros[..step]);
        left -= step as u64;
    }
    let primary = HeaderFields {
        my_lba: 1,
        alternate_lba: last,
        first_usable: 2 + array_sectors,
        last_usable: last - array_sectors - 1,
        array_lba: 2,
        entry_count: count,
        entry_size: 128,
        array_crc: hasher.finalize(),
        ..HeaderFields::default()
    };
    let backup =
        HeaderFields { my_lba: last, alternate_lba: 1, array_lba: last - array_sectors, ..primary.clone() };
    let mut image = Image::blank(size);
    fixtures::gpt::write_protective(&mut image, 512);
    image.put(512, &fixtures::gpt::header_bytes(&primary, 512));
    image.put(last * 512, &fixtures::gpt::header_bytes(&backup, 512));
    let device = MemoryDevice::new(size);
    for (offset, bytes) in &image.writes {
        device.write_at(*offset, bytes).map_err(|error| error.to_string())?;
    }
    Ok(device)
}
