use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use super::course::{Course, Place};
use super::load::Load;
use super::step::Step;
use crate::device::BlockDevice;

/// Reads the next step while the one before is written. No step writes to what a later one reads, so that is the same
/// before and after.
#[derive(Debug)]
pub(super) struct Ahead {
    ready: Receiver<Ready>,
    free: Sender<Load>,
}

/// A step whose bytes have been read.
#[derive(Debug)]
pub(super) struct Ready {
    /// Where the job is in front of it.
    pub(super) place: Place,
    pub(super) step: Step,
    pub(super) load: Load,
    /// Or not: then it is the last.
    pub(super) is_read: bool,
}

/// One is written, one is read.
const LOADS: usize = 2;

impl Ahead {
    /// Begins to read; it ends by itself when this is dropped.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        disk: &'scope dyn BlockDevice,
        owned: Arc<[Range<u64>]>,
        course: Course,
    ) -> Self {
        let (read, ready) = channel();
        let (free, empty) = channel::<Load>();
        for _ in 0..LOADS {
            // The receiver is still here.
            let _ = free.send(Load::default());
        }
        scope.spawn(move || {
            for ((place, step), mut load) in course.zip(empty) {
                let target = step.write..step.write.saturating_add(step.len);
                let is_laid = load.lay(target, &owned).is_some();
                let is_read = is_laid && disk.read_at(step.read, load.body_mut()).is_ok();
                if read.send(Ready { place, step, load, is_read }).is_err() || !is_read {
                    break;
                }
            }
        });
        Self { ready, free }
    }

    /// The next step; `None` when there is none.
    pub(super) fn next(&self) -> Option<Ready> {
        self.ready.recv().ok()
    }

    /// Gives the memory of a step back.
    pub(super) fn take_back(&self, load: Load) {
        // Whoever has read the last step needs no more.
        let _ = self.free.send(load);
    }
}
