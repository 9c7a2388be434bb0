//! A disk that remembers how it was written, and what a crash can leave of that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use align_core::device::{BlockDevice, ReadError};
use fixtures::Image;

/// What reaches the medium whole or not at all, unless a power cut tears it.
const SECTOR: u64 = 512;
/// A physical sector that a power cut can tear.
const BLOCK: u64 = 4096;
/// Of so many sectors between two flushes all subsets are tried; of more only some.
const ALL_SUBSETS_OF: usize = 8;
const RANDOM_SUBSETS: usize = 64;
/// Where the fields of MBR entries and of GPT headers begin, within a sector.
const FIELDS: [u64; 24] =
    [8, 12, 16, 20, 24, 32, 40, 48, 56, 72, 80, 84, 88, 92, 440, 444, 446, 450, 454, 458, 462, 478, 510, 511];

/// The bytes of a disk. Sectors of zeros are not kept, so two disks are the same when these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    size: u64,
    sectors: BTreeMap<u64, [u8; SECTOR as usize]>,
}

/// A write, with its place.
pub type Write = (u64, Vec<u8>);

/// What a crash left.
pub struct Crash {
    pub bytes: Bytes,
    /// The place of the sector that is neither old nor new, where the power cut tore one.
    pub torn: Option<u64>,
}

impl Bytes {
    pub fn of(image: &Image) -> Self {
        let mut bytes = Self { size: image.size, sectors: BTreeMap::new() };
        image.writes.iter().for_each(|(offset, written)| bytes.put(*offset, written));
        bytes
    }

    /// All zero.
    pub fn new(size: u64) -> Self {
        Self { size, sectors: BTreeMap::new() }
    }

    /// The same with these bytes at `offset`.
    #[must_use]
    pub fn with_bytes(mut self, offset: u64, bytes: &[u8]) -> Self {
        self.put(offset, bytes);
        self
    }

    pub fn get(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut found = vec![0; len];
        self.read(offset, &mut found);
        found
    }

    pub fn put(&mut self, offset: u64, bytes: &[u8]) {
        for (at, part) in pieces(offset, bytes, SECTOR) {
            let within = (at % SECTOR) as usize;
            let sector = self.sectors.entry(at - at % SECTOR).or_insert([0; SECTOR as usize]);
            sector[within..within + part.len()].copy_from_slice(part);
            if *sector == [0; SECTOR as usize] {
                self.sectors.remove(&(at - at % SECTOR));
            }
        }
    }

    /// Writes them to a new sparse file.
    pub fn write_to(&self, path: &Path) {
        let file = File::create(path).expect("the scratch folder can be written");
        file.set_len(self.size).expect("the scratch folder takes sparse files");
        for (offset, sector) in &self.sectors {
            file.write_all_at(sector, *offset).expect("the scratch folder has room");
        }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) {
        buffer.fill(0);
        let end = offset + buffer.len() as u64;
        for (at, sector) in self.sectors.range(offset - offset % SECTOR..end) {
            let (from, to) = (offset.max(*at), end.min(at + SECTOR));
            let part = &sector[(from - at) as usize..(to - at) as usize];
            buffer[(from - offset) as usize..(to - offset) as usize].copy_from_slice(part);
        }
    }

    /// The same behind all of these writes.
    #[must_use]
    pub fn after(&self, epochs: &[Vec<Write>]) -> Self {
        self.with(epochs.iter().flatten())
    }

    fn with<'w>(&self, writes: impl IntoIterator<Item = &'w Write>) -> Self {
        let mut bytes = self.clone();
        writes.into_iter().for_each(|(offset, written)| bytes.put(*offset, written));
        bytes
    }
}

/// A disk over [`Bytes`] that notes every write and flush, and can break.
#[derive(Debug)]
pub struct Platter(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    bytes: Bytes,
    /// The writes between two flushes; behind the last flush there are those that may be lost.
    epochs: Vec<Vec<Write>>,
    /// How many more writes and flushes succeed.
    works_for: Option<usize>,
}

impl Platter {
    pub fn new(bytes: &Bytes) -> Self {
        Self(Mutex::new(Inner { bytes: bytes.clone(), epochs: vec![Vec::new()], works_for: None }))
    }

    /// What the file at `path` holds now.
    pub fn of_file(path: &Path) -> Self {
        let read = std::fs::read(path).expect("the file is there");
        let mut bytes = Bytes { size: read.len() as u64, sectors: BTreeMap::new() };
        let sectors = read.chunks(SECTOR as usize).zip((0..).step_by(SECTOR as usize));
        let used = sectors.filter(|(sector, _)| **sector != [0; SECTOR as usize]);
        used.for_each(|(sector, at)| bytes.put(at, sector));
        Self::new(&bytes)
    }

    /// A disk of which so many writes and flushes succeed. The next one fails, a write in its middle.
    pub fn that_fails_after(bytes: &Bytes, operations: usize) -> Self {
        let platter = Self::new(bytes);
        platter.fail_after(operations);
        platter
    }

    /// From now on so many writes and flushes succeed.
    pub fn fail_after(&self, operations: usize) {
        self.inner().works_for = Some(operations);
    }

    pub fn bytes(&self) -> Bytes {
        self.inner().bytes.clone()
    }

    /// The writes between the flushes; the last of them were never flushed.
    pub fn epochs(&self) -> Vec<Vec<Write>> {
        self.inner().epochs.clone()
    }

    /// How many flushes there were, and how many writes behind the last.
    pub fn position(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.epochs.len() - 1, inner.epochs.last().expect("there is always one").len())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("nothing panics while it is held")
    }

    pub fn was_written(&self) -> bool {
        self.epochs() != [Vec::new()]
    }
}

impl Inner {
    fn work(&mut self) -> io::Result<()> {
        match &mut self.works_for {
            Some(0) => Err(io::Error::other("the cable was pulled")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl BlockDevice for Platter {
    fn size(&self) -> Option<u64> {
        Some(self.inner().bytes.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let inner = self.inner();
        let (size, end) = (inner.bytes.size, u128::from(offset) + buffer.len() as u128);
        if end > size.into() {
            return Err(ReadError::PastEnd { size, end });
        }
        inner.bytes.read(offset, buffer);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.inner();
        let worked = inner.work();
        let bytes = if worked.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        inner.bytes.put(offset, bytes);
        inner.epochs.last_mut().expect("there is always one").push((offset, bytes.to_vec()));
        worked
    }

    fn flush(&self) -> io::Result<()> {
        let mut inner = self.inner();
        inner.work()?;
        inner.epochs.push(Vec::new());
        Ok(())
    }
}

/// What a crash leaves when sectors are written whole: everything up to a flush, and behind it any of the sectors.
pub fn cut_off(before: &Bytes, epochs: &[Vec<Write>]) -> Vec<Crash> {
    let mut base = before.clone();
    let mut crashes = vec![Crash { bytes: base.clone(), torn: None }];
    for epoch in epochs {
        let differs = |(at, part): &Write| base.get(*at, part.len()) != *part;
        let parts = epoch.iter().flat_map(|(offset, bytes)| pieces(*offset, bytes, SECTOR));
        let parts: Vec<Write> = parts.map(|(at, part)| (at, part.to_vec())).filter(differs).collect();
        for subset in subsets(parts.len()) {
            let survived = parts.iter().zip(0..).filter(|(_, index)| subset >> index & 1 == 1);
            crashes.push(Crash { bytes: base.with(survived.map(|(part, _)| part)), torn: None });
        }
        base = base.with(epoch);
    }
    crashes
}

/// What a crash leaves when it tears a physical sector of 4096 bytes: its front is new and the rest old, or the other
/// way round, while all else between the same two flushes arrived or did not.
pub fn torn(before: &Bytes, epochs: &[Vec<Write>]) -> Vec<Crash> {
    let mut base = before.clone();
    let mut crashes = Vec::new();
    for epoch in epochs {
        let whole = base.with(epoch);
        let touched = epoch.iter().flat_map(|(offset, bytes)| pieces(*offset, bytes, BLOCK));
        let blocks: BTreeSet<u64> = touched.map(|(at, _)| at - at % BLOCK).collect();
        for block in blocks {
            let (old, new) = (base.get(block, BLOCK as usize), whole.get(block, BLOCK as usize));
            for (cut, others) in cuts(&old, &new).into_iter().zip([&base, &whole].into_iter().cycle()) {
                let mixed = |front: &[u8], rest: &[u8]| {
                    let mut bytes = others.clone();
                    bytes.put(block, &[&front[..cut], &rest[cut..]].concat());
                    bytes
                };
                let within = cut % SECTOR as usize;
                let differs = |range: std::ops::Range<usize>| range.into_iter().any(|at| old[at] != new[at]);
                let is_torn = differs(cut - within..cut)
                    && differs(cut..(cut - within + SECTOR as usize).min(old.len()));
                let torn = is_torn.then_some(block + (cut - within) as u64);
                crashes.push(Crash { bytes: mixed(&new, &old), torn });
                crashes.push(Crash { bytes: mixed(&old, &new), torn });
            }
        }
        base = whole;
    }
    crashes
}

/// Some of what a crash between the same two flushes leaves, sectors being written whole: nothing, all, what is in front
/// of a sector or behind it, and sectors at random.
pub fn cut_off_somewhere(before: &Bytes, epoch: &[Write], crashes: usize, dice: &mut u64) -> Vec<Bytes> {
    let differs = |(at, part): &(u64, &[u8])| before.get(*at, part.len()) != *part;
    let parts = epoch.iter().flat_map(|(offset, bytes)| pieces(*offset, bytes, SECTOR));
    let parts: Vec<(u64, &[u8])> = parts.filter(differs).collect();
    let mut next = || {
        *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*dice >> 33) as usize
    };
    let crash = |kind: usize| {
        let at = next() % (parts.len() + 1);
        let mut bytes = before.clone();
        for (index, (offset, part)) in parts.iter().enumerate() {
            let survives = match kind {
                0 => false,
                1 => true,
                _ => [index < at, index >= at, next() % 2 == 0][kind % 3],
            };
            if survives {
                bytes.put(*offset, part);
            }
        }
        bytes
    };
    (0..if parts.is_empty() { 1 } else { crashes }).map(crash).collect()
}

/// What a crash leaves when all of a physical sector that is being written becomes noise, also what was not written of it,
/// while all else between the same two flushes arrived or did not.
pub fn smeared(before: &Bytes, epoch: &[Write]) -> Vec<Bytes> {
    let whole = before.with(epoch);
    let touched = epoch.iter().flat_map(|(offset, bytes)| pieces(*offset, bytes, BLOCK));
    let blocks: BTreeSet<u64> = touched.map(|(at, _)| at - at % BLOCK).collect();
    let smear = |block: u64| {
        let noise = vec![0x5A; BLOCK.min(before.size - block) as usize];
        [before, &whole].map(|others| others.clone().with_bytes(block, &noise))
    };
    blocks.into_iter().flat_map(smear).collect()
}

/// Every 64 bytes and at fields; of cuts that lead to the same bytes only one.
fn cuts(old: &[u8], new: &[u8]) -> Vec<usize> {
    let regular = (0..BLOCK).step_by(64);
    let fields = (0..BLOCK).step_by(SECTOR as usize).flat_map(|sector| FIELDS.map(|field| sector + field));
    let cuts: BTreeSet<usize> = regular.chain(fields).map(|cut| cut as usize).collect();
    let mut seen = BTreeSet::new();
    let differing: Vec<usize> = (0..old.len()).filter(|at| old[*at] != new[*at]).collect();
    let in_front = |cut: usize| differing.partition_point(|at| *at < cut);
    cuts.into_iter()
        .filter(|cut| !matches!(in_front(*cut), 0) && in_front(*cut) < differing.len())
        .filter(|cut| seen.insert(in_front(*cut)))
        .collect()
}

/// Subsets of `count` things as masks: all of a few; of many those that are a front, a rest, one or all but one, and
/// some at random, always the same.
fn subsets(count: usize) -> BTreeSet<u128> {
    assert!(count < 128, "{count} sectors between two flushes are more than a mask holds");
    let all = (1_u128 << count) - 1;
    if count <= ALL_SUBSETS_OF {
        return (0..=all).collect();
    }
    let mut random = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834_u128;
    let mut next = || {
        random ^= random << 25;
        random ^= random >> 59;
        random ^= random << 42;
        random & all
    };
    let few = (0..count).flat_map(|at| [(1 << at) - 1, all & !((1 << at) - 1), 1 << at, all & !(1 << at)]);
    let mut subsets: BTreeSet<u128> = few.chain([all]).collect();
    subsets.extend((0..RANDOM_SUBSETS).map(|_| next()));
    subsets
}

/// The parts of some bytes at `offset` that lie between multiples of `unit`.
fn pieces(offset: u64, bytes: &[u8], unit: u64) -> impl Iterator<Item = (u64, &[u8])> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let len = ((unit - at % unit) as usize).min(bytes.len() - done);
        let part = &bytes[done..done + len];
        done += len;
        (len > 0).then_some((at, part))
    })
}
