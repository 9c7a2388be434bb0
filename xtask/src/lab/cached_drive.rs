//! A drive with a write cache, which a power cut empties: what was not flushed arrives in part, or not at all.
//!
//! It is served by the protocol of network block devices (NBD, `doc/proto.md` of its project), as far as QEMU asks.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::random::Random;

/// What the drive can only write whole, if all goes well.
const PHYSICAL: usize = 4096;
/// What it keeps whole in a power cut.
const SECTOR: usize = 512;

/// What drives of one machine share.
#[derive(Debug, Default)]
pub(super) struct Power {
    is_off: AtomicBool,
    /// Whether the mark was read, from which on writes are counted.
    is_counted: AtomicBool,
}

/// A drive that is served.
#[derive(Debug)]
pub(super) struct CachedDrive {
    sockets: tempfile::TempDir,
    drive: Arc<Mutex<Drive>>,
    server: JoinHandle<()>,
}

/// What is known when it is over.
#[derive(Debug)]
pub(super) struct Unplugged {
    /// What was on the drive when the mark was read.
    pub(super) at_mark: Option<Vec<u8>>,
    /// What is on its medium, without power.
    pub(super) medium: Vec<u8>,
    /// How many writes there were behind the mark.
    pub(super) writes: u64,
}

#[derive(Debug)]
struct Drive {
    power: Arc<Power>,
    /// What reads give.
    now: Vec<u8>,
    /// Where the medium has what it should.
    medium: Vec<u8>,
    /// Written, and not flushed since.
    cached: Vec<Range<usize>>,
    /// A read of 4096 bytes there is the mark.
    mark: Option<u64>,
    at_mark: Option<Vec<u8>>,
    writes: u64,
    /// The power goes off in this write.
    cut_in: Option<u64>,
}

impl Power {
    pub(super) fn is_off(&self) -> bool {
        self.is_off.load(Ordering::SeqCst)
    }
}

impl CachedDrive {
    /// Serves the bytes of `medium`. A read of 4096 bytes at `mark` begins the count of writes, on all drives with that
    /// power; write `cut_in` of this one ends it.
    pub(super) fn serve(
        medium: Vec<u8>,
        power: &Arc<Power>,
        mark: Option<u64>,
        cut_in: Option<u64>,
    ) -> Result<Self, String> {
        // Names of sockets may have a hundred letters only.
        let sockets = tempfile::tempdir().map_err(|error| error.to_string())?;
        let listener = UnixListener::bind(sockets.path().join("nbd")).map_err(|error| error.to_string())?;
        let drive = Drive {
            power: Arc::clone(power),
            now: medium.clone(),
            medium,
            cached: Vec::new(),
            mark,
            at_mark: None,
            writes: 0,
            cut_in,
        };
        let drive = Arc::new(Mutex::new(drive));
        let served = Arc::clone(&drive);
        let server = thread::spawn(move || {
            // It ends with the machine that is connected: what went wrong is seen there.
            let _ = listener.accept().and_then(|(stream, _)| serve(stream, &served));
        });
        Ok(Self { sockets, drive, server })
    }

    /// What `Machine::disk` takes.
    pub(super) fn back_end(&self) -> String {
        let socket = self.sockets.path().join("nbd");
        format!(
            "format=raw,cache=none,file.driver=nbd,file.server.type=unix,file.server.path={}",
            socket.display()
        )
    }

    /// Takes the drive from a machine that is off. What was not flushed is there, or not, as `random` wills.
    pub(super) fn unplug(self, random: &mut Random) -> Result<Unplugged, String> {
        // Nobody may have connected, should the machine not have started.
        let _ = UnixStream::connect(self.sockets.path().join("nbd"));
        self.server.join().map_err(|_| "the server of a drive panicked")?;
        let mut drive = lock(&self.drive);
        drive.lose_power(random);
        Ok(Unplugged {
            at_mark: drive.at_mark.take(),
            medium: std::mem::take(&mut drive.medium),
            writes: drive.writes,
        })
    }
}

fn lock(drive: &Mutex<Drive>) -> MutexGuard<'_, Drive> {
    drive.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drive {
    fn read(&mut self, offset: u64, len: usize) -> Option<&[u8]> {
        if self.mark == Some(offset) && len == PHYSICAL && self.at_mark.is_none() {
            self.at_mark = Some(self.now.clone());
            self.power.is_counted.store(true, Ordering::SeqCst);
        }
        self.now.get(range(offset, len)?)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Option<()> {
        let range = range(offset, bytes.len())?;
        self.now.get_mut(range.clone())?.copy_from_slice(bytes);
        self.cached.push(range);
        if self.power.is_counted.load(Ordering::SeqCst) {
            self.writes += 1;
            if Some(self.writes) == self.cut_in {
                self.power.is_off.store(true, Ordering::SeqCst);
            }
        }
        Some(())
    }

    fn flush(&mut self) {
        for range in std::mem::take(&mut self.cached) {
            self.medium[range.clone()].copy_from_slice(&self.now[range]);
        }
    }

    /// Of each physical sector in the cache nothing has arrived, or all, or sometimes its first or last part.
    fn lose_power(&mut self, random: &mut Random) {
        let cached = std::mem::take(&mut self.cached);
        let mut sectors: Vec<usize> = cached
            .into_iter()
            .flat_map(|range| range.start / PHYSICAL..range.end.div_ceil(PHYSICAL))
            .collect();
        sectors.sort_unstable();
        sectors.dedup();
        // A cache is written in runs rather than in single sectors.
        let mut run = (0, false);
        for sector in sectors {
            if run.0 == 0 {
                run = (random.below(64) + 1, random.below(2) == 0);
            }
            run.0 -= 1;
            let start = sector * PHYSICAL;
            let end = (start + PHYSICAL).min(self.now.len());
            let torn = (start + SECTOR * usize::try_from(random.below(9)).unwrap_or(0)).min(end);
            let arrived = match (random.below(16), run.1) {
                (0, true) => start..torn,
                (0, false) => torn..end,
                (_, true) => start..end,
                (_, false) => continue,
            };
            self.medium[arrived.clone()].copy_from_slice(&self.now[arrived]);
        }
    }
}

fn range(offset: u64, len: usize) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    Some(start..start.checked_add(len)?)
}

const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Options of the handshake: which export, and that is all.
const GO: u32 = 7;
const ABORT: u32 = 2;
/// Replies of the handshake.
const ACK: u32 = 1;
const INFO: u32 = 3;
const UNSUPPORTED: u32 = (1 << 31) + 1;
/// It has flags, and it can be flushed.
const EXPORT_FLAGS: u16 = 0b101;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
const EINVAL: u32 = 22;

fn serve(mut stream: UnixStream, drive: &Mutex<Drive>) -> io::Result<()> {
    // Fixed newstyle, without zeros behind the handshake.
    stream.write_all(&[&b"NBDMAGIC"[..], &OPTION_MAGIC.to_be_bytes(), &[0, 0b11]].concat())?;
    take::<4>(&mut stream)?;
    loop {
        take::<8>(&mut stream)?;
        let option = u32::from_be_bytes(take(&mut stream)?);
        let mut data = vec![0; u32::from_be_bytes(take(&mut stream)?) as usize];
        stream.read_exact(&mut data)?;
        let mut reply = |type_: u32, data: &[u8]| {
            let len = u32::try_from(data.len()).unwrap_or(0);
            let words = [option, type_, len].map(u32::to_be_bytes).concat();
            stream.write_all(&[&REPLY_MAGIC.to_be_bytes()[..], &words, data].concat())
        };
        match option {
            GO => {
                let size = lock(drive).now.len() as u64;
                // The information with number 0.
                reply(INFO, &[&[0, 0], &size.to_be_bytes()[..], &EXPORT_FLAGS.to_be_bytes()].concat())?;
                reply(ACK, &[])?;
                break;
            }
            ABORT => return reply(ACK, &[]),
            _ => reply(UNSUPPORTED, &[])?,
        }
    }
    while answer(&mut stream, drive)? {}
    Ok(())
}

/// Answers a request. `false` when there will be no more.
fn answer(stream: &mut UnixStream, drive: &Mutex<Drive>) -> io::Result<bool> {
    if u32::from_be_bytes(take(stream)?) != REQUEST_MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    take::<2>(stream)?;
    let command = u16::from_be_bytes(take(stream)?);
    let handle: [u8; 8] = take(stream)?;
    let offset = u64::from_be_bytes(take(stream)?);
    let len = u32::from_be_bytes(take(stream)?) as usize;
    let mut bytes = vec![0; if command == 1 { len } else { 0 }];
    stream.read_exact(&mut bytes)?;
    let mut drive = lock(drive);
    if drive.power.is_off() {
        return silent(stream);
    }
    let answer = match command {
        0 => drive.read(offset, len).map(<[u8]>::to_vec),
        1 => drive.write(offset, &bytes).map(|()| Vec::new()),
        2 => return Ok(false),
        3 => {
            drive.flush();
            Some(Vec::new())
        }
        _ => None,
    };
    if drive.power.is_off() {
        return silent(stream);
    }
    drop(drive);
    let error = if answer.is_some() { 0 } else { EINVAL };
    let head = [SIMPLE_REPLY_MAGIC, error].map(u32::to_be_bytes).concat();
    stream.write_all(&[&head[..], &handle, &answer.unwrap_or_default()].concat())?;
    Ok(true)
}

/// Without power there are no answers, not even errors.
fn silent(stream: &mut UnixStream) -> io::Result<bool> {
    io::copy(stream, &mut io::sink()).map(|_| false)
}

fn take<const LEN: usize>(stream: &mut UnixStream) -> io::Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(cut_in: Option<u64>) -> Drive {
        let power = Arc::default();
        let bytes = vec![0; 64 * PHYSICAL];
        let (now, medium, cached, at_mark) = (bytes.clone(), bytes, Vec::new(), None);
        Drive { power, now, medium, cached, mark: Some(0), at_mark, writes: 0, cut_in }
    }

    #[test]
    fn what_was_flushed_outlives_a_power_cut_and_of_the_rest_a_part_does() {
        let mut drive = drive(None);
        drive.write(0, &[1; 16 * PHYSICAL]).unwrap();
        drive.flush();
        drive.write(16 * PHYSICAL as u64, &[2; 48 * PHYSICAL]).unwrap();
        let mut seen = [false; 2];
        for seed in 0..20 {
            let mut cut = Drive { power: Arc::default(), now: drive.now.clone(), ..self::drive(None) };
            (cut.medium, cut.cached) = (drive.medium.clone(), drive.cached.clone());
            cut.lose_power(&mut Random::new(seed));
            let (flushed, rest) = cut.medium.split_at(16 * PHYSICAL);
            assert!(flushed.iter().all(|byte| *byte == 1));
            seen[0] |= rest.contains(&2);
            seen[1] |= rest.contains(&0);
        }
        assert_eq!(seen, [true, true]);
    }

    #[test]
    fn writes_are_counted_from_the_mark_on() {
        let mut drive = drive(Some(2));
        drive.write(0, &[1; SECTOR]).unwrap();
        drive.read(0, SECTOR).unwrap();
        drive.write(0, &[2; SECTOR]).unwrap();
        drive.read(0, PHYSICAL).unwrap();
        assert_eq!(drive.at_mark.as_ref().map(|bytes| bytes[0]), Some(2));
        drive.write(0, &[3; SECTOR]).unwrap();
        assert!(!drive.power.is_off());
        drive.write(0, &[4; SECTOR]).unwrap();
        assert!(drive.power.is_off());
    }
}
