//! Messages that keep a ledger of themselves: each is dropped once, and none is forgotten.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What became of all messages that were made for it.
#[derive(Debug, Default)]
pub struct Ledger {
    made: AtomicU64,
    dropped: AtomicU64,
    /// The first thing that went wrong.
    fault: AtomicBool,
}

/// The life of a message. What was dropped is marked, so that it shows if it is dropped again.
const ALIVE: u64 = 0x5a5a_a11e_5a5a_a11e;
const DEAD: u64 = 0xdead_dead_dead_dead;

/// A message with a number, heap memory of its own, and an entry in the ledger.
#[derive(Debug)]
pub struct Counted {
    state: u64,
    // WHY: a second drop would free it twice, which the allocator or miri notices too.
    number: Box<u64>,
    ledger: Arc<Ledger>,
}

impl Ledger {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn message(self: &Arc<Self>, number: u64) -> Counted {
        self.made.fetch_add(1, Ordering::Relaxed);
        Counted { state: ALIVE, number: Box::new(number), ledger: Arc::clone(self) }
    }

    /// Messages that were made, clones included, and not dropped.
    #[track_caller]
    pub fn alive(&self) -> u64 {
        assert!(!self.fault.load(Ordering::Relaxed), "dropped twice, or used after its drop");
        self.made.load(Ordering::Relaxed) - self.dropped.load(Ordering::Relaxed)
    }
}

impl Counted {
    pub fn number(&self) -> u64 {
        if self.state != ALIVE {
            self.ledger.fault.store(true, Ordering::Relaxed);
        }
        *self.number
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.ledger.message(self.number())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if std::mem::replace(&mut self.state, DEAD) != ALIVE {
            self.ledger.fault.store(true, Ordering::Relaxed);
        }
        self.ledger.dropped.fetch_add(1, Ordering::Relaxed);
    }
}
