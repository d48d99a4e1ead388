//! Messages with a ledger: each is dropped exactly once.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The ledger of all messages that were made for it.
#[derive(Debug, Default)]
pub struct Ledger {
    made: AtomicU64,
    dropped: AtomicU64,
    /// True after the first fault.
    fault: AtomicBool,
}

/// The state of a message. A dropped message is marked, so that a second drop is noticed.
const ALIVE: u64 = 0x5a5a_a11e_5a5a_a11e;
const DEAD: u64 = 0xdead_dead_dead_dead;

/// A message with a number, heap memory of its own, and an entry in the ledger.
#[derive(Debug)]
pub struct Counted {
    state: u64,
    // WHY a box: a second drop frees it twice, which the allocator or miri notices, too.
    number: Box<u64>,
    ledger: Arc<Ledger>,
}

impl Ledger {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn message(self: &Arc<Self>, number: u64) -> Counted {
        self.made.fetch_add(1, Ordering::Relaxed);
        Counted {
            state: ALIVE,
            number: Box::new(number),
            ledger: Arc::clone(self),
        }
    }

    /// Returns the number of messages that were made, clones included, and not dropped.
    #[track_caller]
    pub fn alive(&self) -> u64 {
        assert!(
            !self.fault.load(Ordering::Relaxed),
            "dropped twice, or used after its drop"
        );
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
