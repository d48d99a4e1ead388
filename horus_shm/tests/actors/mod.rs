//! A group of actors with one queue, for tests: the test itself is the worker.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use horus_shm::internals::heap::{ActivationOutcome, Group, MailboxRoomEventcounts, Runnable};

/// The workers' side of a test: a queue of actors with mail.
#[derive(Debug, Default)]
pub struct Queue {
    runnable: Mutex<VecDeque<Runnable<Queue>>>,
    mailbox_room_eventcounts: MailboxRoomEventcounts,
    /// Number of actors that have ended.
    pub ended: AtomicU64,
}

/// The things besides messages that the actors of tests handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// From now on, messages are logged with this version.
    Swap(u32),
    /// A number to be logged.
    Note(u32),
    /// The actor ends.
    Stop,
}

impl Group for Queue {
    type Control = Control;
    type Worker = ();

    fn schedule(&self, runnable: Runnable<Self>) {
        self.runnable.lock().unwrap().push_back(runnable);
    }

    fn mailbox_room_eventcounts(&self) -> &MailboxRoomEventcounts {
        &self.mailbox_room_eventcounts
    }
}

impl Queue {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Takes the actor that waits longest.
    pub fn pop(&self) -> Option<Runnable<Self>> {
        self.runnable.lock().unwrap().pop_front()
    }

    /// Runs one activation of up to `max` messages; returns false if no actor has mail.
    pub fn run_one(&self, max: u32) -> bool {
        let Some(runnable) = self.pop() else {
            return false;
        };
        match runnable.run(self, &mut (), max) {
            ActivationOutcome::Slept => {}
            ActivationOutcome::More(runnable) | ActivationOutcome::Suspended(runnable) => {
                self.schedule(runnable)
            }
            ActivationOutcome::Ended => {
                self.ended.fetch_add(1, Ordering::Relaxed);
            }
        }
        true
    }

    /// Runs until no actor has mail.
    pub fn run_all(&self) {
        while self.run_one(256) {}
    }

    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Drops all actors that have mail, which ends them.
    pub fn clear(&self) {
        while let Some(runnable) = self.pop() {
            drop(runnable);
        }
    }
}
