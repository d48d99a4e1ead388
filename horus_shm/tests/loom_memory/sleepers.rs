//! An eventcount of the models: loom's words, and a futex made of a lock and a condition.

use std::time::Duration;

use horus_shm::internals::sync::{Edge, FutexWord};
use horus_shm::internals::wait::{Eventcount, SleeperKind};

use super::{LoomWord, mutation};
use crate::checker::Shared;
use crate::checker::sync::atomic::{self, AtomicU32, Ordering};
use crate::checker::sync::{Condvar, Mutex};

/// A futex word of the models.
#[derive(Debug)]
pub(crate) struct LoomFutex(AtomicU32);

impl FutexWord for LoomFutex {
    fn load_relaxed(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn fetch_add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Parts {
    wake: LoomFutex,
    waiters: LoomWord,
    /// The kernel's lock: comparing the word and going to sleep are one step.
    bucket: Mutex<()>,
    asleep: Condvar,
}

/// One sleeper's view of an eventcount, or a waker's.
#[derive(Debug, Clone)]
pub(crate) struct LoomEvent {
    parts: Shared<Parts>,
    sleeper: SleeperKind,
}

impl LoomEvent {
    pub(crate) fn new() -> Self {
        let parts = Parts {
            wake: LoomFutex(AtomicU32::new(0)),
            waiters: LoomWord::new(0),
            bucket: Mutex::new(()),
            asleep: Condvar::new(),
        };
        Self {
            parts: Shared::new(parts),
            sleeper: SleeperKind::Counted,
        }
    }

    /// Returns the same eventcount for another sleeper.
    pub(crate) fn seen_by(&self, sleeper: SleeperKind) -> Self {
        Self {
            parts: Shared::clone(&self.parts),
            sleeper,
        }
    }
}

impl Eventcount for LoomEvent {
    type Wake = LoomFutex;

    type Word = LoomWord;

    fn wake_word(&self) -> &LoomFutex {
        &self.parts.wake
    }

    fn waiters_word(&self) -> &LoomWord {
        &self.parts.waiters
    }

    fn sleeper(&self) -> SleeperKind {
        self.sleeper
    }

    #[track_caller]
    fn fence_in_sender(&self, edge: Edge) {
        fence(edge);
    }

    #[track_caller]
    fn fence_in_waiter(_events: &[&Self], edge: Edge) -> bool {
        fence(edge);
        true
    }

    /// Sleeps without a limit: a lost wake shows as a deadlock.
    fn sleep(events: &[&Self], seen: &[u32], _timeout: Duration) -> bool {
        let ([event], [seen]) = (events, seen) else {
            panic!("the models sleep at one event")
        };
        let bucket = event.parts.bucket.lock().unwrap();
        if event.parts.wake.load_relaxed() == *seen {
            drop(event.parts.asleep.wait(bucket).unwrap());
        }
        true
    }

    fn wake_sleepers(&self) -> u32 {
        drop(self.parts.bucket.lock().unwrap());
        self.parts.asleep.notify_all();
        0
    }
}

/// Executes the fence of the models, outside a lane.
#[track_caller]
pub(crate) fn fence(edge: Edge) {
    let ordering = mutation::ordering(edge);
    if ordering != Ordering::Relaxed {
        atomic::fence(ordering);
    }
}
