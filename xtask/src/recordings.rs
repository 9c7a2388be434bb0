//! `cargo xtask fixtures`: what the tests compare with, made by the real tools.

use crate::{at, root};

/// Records all tables, and writes the bundled images and the seeds of the fuzz targets; needs the tools that the
/// recordings are of.
pub(crate) fn run(keep_recorded: bool) -> Result<(), String> {
    let images = root().join("fixtures/images");
    fixtures::bundled::write_all(&images).map_err(at(&images))?;
    if !keep_recorded {
        fixtures::recorded::record_all(&root().join("fixtures/recorded"))?;
    }
    write_seeds()
}

/// Which sort of input for the target `plan` the rest is.
const BESIDE_MBR: u8 = 3;
const BESIDE_GPT: u8 = 4;
/// A disk with physical sectors of 4096 bytes without hints, its offset one less than the last number; the optimal
/// policy, and three partitions: 1 MiB, 2048 sectors, the rest.
const BESIDE: [u8; 50] = [
    12, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, // disk
    0, 0, 0, 0, 0, 0, 0, 0, 0, 3, // policy, grain, count
    0, 0, 0, 16, 0, 0, 0, 0, 0, // in bytes
    1, 0, 8, 0, 0, 0, 0, 0, 0, // in sectors
    3, 0, 0, 0, 0, 0, 0, 0, 0, // the rest
];

/// Writes the seeds of the fuzz targets (`fuzz/bodies.rs` says what their bytes mean) from the recorded tables.
fn write_seeds() -> Result<(), String> {
    let corpus = root().join("fuzz/corpus");
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let path = corpus.join(target).join(name);
        std::fs::create_dir_all(corpus.join(target)).map_err(at(&path))?;
        std::fs::write(&path, bytes).map_err(at(&path))
    };
    for recorded in fixtures::recorded::all() {
        let image = recorded.image();
        let unit = usize::try_from(recorded.sector_size).map_err(|error| error.to_string())?;
        let flags = u8::try_from((unit / 512).trailing_zeros()).map_err(|error| error.to_string())? | 4;
        let front = image.get(0, usize::try_from(image.size.min(36 << 10)).unwrap_or(0));
        let used = front.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        put("image", &recorded.name, &front[..used.next_multiple_of(512).min(front.len())])?;
        if recorded.listing.is_empty() || image.size < 65536 {
            continue;
        }
        if front.get(unit..unit + 8) == Some(b"EFI PART") {
            let exponent = u8::try_from(image.size.ilog2() - 17).map_err(|error| error.to_string())?;
            let header = &front[unit..unit + 92];
            let array = &front[2 * unit..2 * unit + 1024];
            let seed = [&[flags, exponent], header, array].concat();
            put("gpt", &recorded.name, &seed)?;
            put("plan", &recorded.name, &[&[BESIDE_GPT], &BESIDE[..], &seed].concat())?;
        } else {
            let mut seed = vec![flags];
            let sectors = recorded.blocks.iter().map(|block| block.offset / recorded.sector_size);
            for lba in sectors.take(16) {
                let sector = image.get(lba * recorded.sector_size, 512);
                if sector[510..] == [0x55, 0xAA] {
                    let lba = u32::try_from(lba).map_err(|error| error.to_string())?;
                    seed.extend(lba.to_le_bytes());
                    seed.extend(&sector[446..]);
                }
            }
            put("mbr", &recorded.name, &seed)?;
            put("plan", &recorded.name, &[&[BESIDE_MBR], &BESIDE[..], &seed].concat())?;
        }
    }
    let sizes = [
        "512",
        "4KiB",
        "10M",
        "1.5T",
        "10MB",
        "2048s",
        "rest",
        "25%",
        "12.125%",
        "0.1K",
        "16E",
        "-1M",
        "1.2.3",
        " 10 GiB ",
        "18446744073709551615",
        "18446744073709551616",
        "1.000000000000000001E",
        "٣M",
    ];
    for (number, size) in sizes.iter().enumerate() {
        put("size", &format!("{number:02}"), size.as_bytes())?;
    }
    Ok(())
}
