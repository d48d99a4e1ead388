//! Readers that hold messages for a while: no held message changes, and the ledger of each reader
//! is exact.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use fastrand::Rng;
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{BorrowError, Consumer, RawConsumer, ReadMode, Sample, Segment};

use super::{Message, SENDERS, reading};
use crate::stream::{Account, Tagged};

/// The approximate slowness of each reader, relative to a sender.
const SLOWNESS: [u32; 3] = [2, 10, 50];
/// The pauses of the CPU that make a reader slower by about one send.
const PAUSES: u32 = 4;
/// The longest that a message is held, in messages of its reader.
const HOLD_MAX: u64 = 64;
/// The number of empty waits of 20 ms, after which a reader fails.
const IDLE_MAX: u32 = 1500;

/// A held message, and the tag that it must have until it is released.
pub(crate) struct Held {
    sample: Sample<Message>,
    tag: (u32, u32),
    until: u64,
}

impl Held {
    pub(crate) fn expect_intact(&self) {
        assert_eq!(
            self.sample.tag(),
            Some(self.tag),
            "a message that changed while it was held"
        );
    }
}

/// A reader that holds messages for a while, and hands some to another thread.
pub(crate) struct Holder {
    consumer: Consumer<Message>,
    account: Account,
    held: Vec<Held>,
    elsewhere: Sender<Held>,
    rng: Rng,
    pub(crate) slowness: u32,
    pub(crate) refused: u64,
}

impl Holder {
    pub(crate) fn new(segment: &Arc<Segment>, seed: u64, elsewhere: Sender<Held>) -> Self {
        let raw = RawConsumer::new(Arc::clone(segment), reading(segment)).unwrap();
        Self {
            consumer: Consumer::new(raw),
            account: Account::default(),
            held: Vec::new(),
            elsewhere,
            slowness: SLOWNESS[seed as usize % SLOWNESS.len()],
            rng: Rng::with_seed(seed),
            refused: 0,
        }
    }

    /// Makes one call and checks the ledger now and then; returns false if there was no message.
    pub(crate) fn step(&mut self) -> bool {
        let got = match self.rng.u64(..20) {
            0..10 => self.borrow(),
            // The older messages count as skipped.
            10 => self
                .consumer
                .latest()
                .inspect(|message| self.account.take(message))
                .is_some(),
            _ => self
                .consumer
                .recv()
                .inspect(|message| self.account.take(message))
                .is_some(),
        };
        self.free_pin();
        if self.rng.u64(..16) == 0 {
            self.expect_sound();
        }
        let pauses = if got { self.slowness * PAUSES } else { 0 };
        (0..pauses).for_each(|_| std::hint::spin_loop());
        got
    }

    fn borrow(&mut self) -> bool {
        match self.consumer.borrow() {
            Ok(None) => false,
            Ok(Some(sample)) => {
                self.account.take(&*sample);
                let tag = sample.tag().unwrap_or_default();
                let until = self.account.received + self.rng.u64(..HOLD_MAX);
                self.held.push(Held { sample, tag, until });
                true
            }
            Err(BorrowError::NoPins { .. }) => {
                self.refused += 1;
                // The next call receives the message that this one could not borrow.
                let message = self.consumer.recv();
                message
                    .inspect(|message| self.account.take(message))
                    .is_some()
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Releases the messages that were held long enough, every other one in another thread.
    fn free_pin(&mut self) {
        let now = self.account.received;
        for held in self.held.extract_if(.., |held| held.until <= now) {
            held.expect_intact();
            if held.until % 2 == 0 {
                // Without a receiving thread it is dropped here.
                let _ = self.elsewhere.send(held);
            }
        }
    }

    #[track_caller]
    pub(crate) fn expect_sound(&self) {
        self.account.expect_sound(self.consumer.stats()).unwrap();
        self.held.iter().for_each(Held::expect_intact);
    }

    /// Checks the full ledger after all `total` messages.
    #[track_caller]
    pub(crate) fn expect_exact(&self, total: u64) -> String {
        let stats = self.consumer.stats();
        self.expect_sound();
        assert_eq!((stats.sent, stats.waiting), (total, 0), "{stats:?}");
        let streams = SENDERS.iter().filter_map(|&sender| self.account.of(sender));
        assert_eq!(
            stats.received,
            streams.map(|stream| stream.count).sum::<u64>()
        );
        if self.consumer.raw().read_mode() == ReadMode::Gated {
            assert_eq!(stats.lost, 0, "{stats:?}");
        }
        let received = stats.received;
        let lost = stats.lost;
        let skipped = stats.skipped;
        format!("{received} delivered + {lost} lost + {skipped} skipped = {total} sent")
    }

    /// Reads until nothing is left of `total` messages.
    pub(crate) fn read_all(&mut self, total: u64) {
        let mut idle = 0;
        loop {
            if self.step() {
                idle = 0;
                continue;
            }
            let stats = self.consumer.stats();
            if stats.sent == total && stats.waiting == 0 {
                return;
            }
            idle += 1;
            assert!(
                idle < IDLE_MAX,
                "no message arrives any more: {stats:?} of {total}"
            );
            let wait_policy = WaitPolicy::with_timeout(Duration::from_millis(20));
            if let Some(message) = self.consumer.recv_until(wait_policy) {
                self.account.take(&message);
                idle = 0;
            }
        }
    }

    /// Drops the consumer; the held messages outlive it.
    pub(crate) fn end(self) -> Vec<Held> {
        let Self { consumer, held, .. } = self;
        drop(consumer);
        held.iter().for_each(Held::expect_intact);
        held
    }
}

/// Releases, late, the messages that other threads borrowed.
pub(crate) fn let_go_elsewhere(handed: Receiver<Held>) {
    let mut kept = Vec::new();
    for held in handed {
        kept.push(held);
        if kept.len() > 2 {
            kept.remove(0).expect_intact();
        }
    }
    kept.iter().for_each(Held::expect_intact);
}
