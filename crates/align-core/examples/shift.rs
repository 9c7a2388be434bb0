//! Moves bytes of an image or a disk, and tells how long that took: `shift PATH FROM TO LEN JOURNAL [WINDOW]`, all in
//! bytes. The benchmarks use it.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use align_core::device::{BulkDevice, FileDevice};
use align_core::realign::{Job, Mover, Quiet, Shift, WINDOW};

#[allow(clippy::print_stdout, reason = "it is a command")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, numbers @ ..] = &arguments[..] else { return Err("which disk?".into()) };
    let numbers: Vec<u64> = numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>()?;
    let (&[from, to, len, journal], window) = numbers.split_first_chunk().ok_or("four numbers are needed")?;
    let window = window.first().copied().unwrap_or(WINDOW);

    let disk = BulkDevice::new(FileDevice::open_writable(Path::new(path))?);
    let job = Job { shifts: vec![Shift { from, to, len }], ..Job::default() };
    let start = Instant::now();
    Mover::begin(&disk, &disk, journal, &job, window)?.forward(&mut Quiet)?;
    println!("{:.3}", start.elapsed().as_secs_f64());
    Ok(())
}
