//! The survivors of a victim that is killed or stopped, and the calls that must still succeed.
//!
//! Every call is made a fixed number of times: an endpoint that makes no progress with that is
//! wedged.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::WaitBlock;
use horus_shm::internals::sync::Word;
use horus_shm::{Access, Namespace, Sample};

use super::ends::{CAPACITY, Kind, Receiver, Ring, Sender};
use crate::stream::{Account, Stream, Tagged};

/// The sender of a message.
pub const VICTIM: u32 = 1;
const OTHER: u32 = 2;
const NEXT: u32 = 3;

/// The messages that must pass after the kill or stop.
const FLOW: u32 = 3 * CAPACITY as u32;
/// The calls after which a receiver must have received everything.
pub const DRAIN_CALLS: u64 = 8 * CAPACITY;

/// The first step after a death: a check of the others, or the successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    OthersFirst,
    SuccessorFirst,
}

pub type Check = Result<(), String>;

struct Source<M> {
    end: Sender<M>,
    id: u32,
    next: u32,
}

struct Reader<M> {
    end: Receiver<M>,
    account: Account,
    /// By source: the first number that this reader must get.
    owed: Vec<(u32, u32)>,
    latest: bool,
    /// Messages borrowed for as long as this reader lives.
    held: Vec<(Sample<M>, Option<(u32, u32)>)>,
}

impl<M: Tagged> Reader<M> {
    fn take(&mut self) -> bool {
        let message = if self.latest {
            self.end.latest()
        } else {
            self.end.recv()
        };
        message
            .inspect(|message| self.account.take(message))
            .is_some()
    }

    fn drain(&mut self) -> Check {
        let got_all = (0..DRAIN_CALLS).any(|_| !self.take());
        if got_all {
            Ok(())
        } else {
            Err("a receiver that never finds the ring empty".into())
        }
    }

    fn ledger(&self) -> Check {
        let Some(stats) = self.end.stats() else {
            return Ok(());
        };
        self.account.expect_sound(stats)?;
        if stats.lost != 0 || stats.waiting != 0 {
            return Err(format!("lost or left: {stats:?}"));
        }
        Ok(())
    }

    /// Borrows the next message, and keeps it.
    fn hold(&mut self) {
        let sample = self.end.borrow().expect("a message to hold");
        self.account.take(&*sample);
        let tag = sample.tag();
        self.held.push((sample, tag));
    }

    fn settle(&self, sources: &[Source<M>]) -> Check {
        self.ledger()?;
        if self
            .held
            .iter()
            .any(|(sample, tag)| sample.tag() != *tag || tag.is_none())
        {
            return Err("a message that changed while it was held".into());
        }
        let newest = sources.last().map(|source| (source.id, source.next));
        for source in sources {
            let owed = self
                .owed
                .iter()
                .find(|(id, _)| *id == source.id)
                .map_or(0, |(_, n)| *n);
            if !self.latest {
                self.account.expect_all(source.id, owed, source.next)?;
            } else if newest == Some((source.id, source.next)) {
                let seen = self.account.of(source.id).map(|stream| stream.next);
                (seen == Some(source.next))
                    .then_some(())
                    .ok_or("not the latest")?;
            }
        }
        Ok(())
    }
}

/// The endpoints that this process has of the ring.
pub struct Survivors<M> {
    kind: Kind,
    ring: Ring<M>,
    sources: Vec<Source<M>>,
    readers: Vec<Reader<M>>,
    /// Bits among the waiters that a test set for a reader that lives.
    asleep: u64,
}

impl<M: Tagged> Survivors<M> {
    /// Makes a ring of which this process has no endpoint yet.
    pub fn bystanders(kind: Kind, namespace: &Arc<Namespace>, topic: &str) -> Self {
        let ring = Ring::create(kind, namespace, topic);
        Self {
            kind,
            ring,
            sources: Vec::new(),
            readers: Vec::new(),
            asleep: 0,
        }
    }

    /// Makes a ring with one free place, for a sender that will be added.
    pub fn beside_sender(kind: Kind, namespace: &Arc<Namespace>, topic: &str) -> Self {
        let mut this = Self::bystanders(kind, namespace, topic);
        this.add_reader(kind == Kind::Pod).unwrap();
        if kind.has_many_consumers() {
            this.add_reader(false).unwrap();
        }
        if kind.has_many_producers() {
            this.add_source(OTHER).unwrap();
        }
        this
    }

    /// Makes a ring with one free place, for a receiver that will be added.
    pub fn beside_receiver(kind: Kind, namespace: &Arc<Namespace>, topic: &str) -> Self {
        let mut this = Self::bystanders(kind, namespace, topic);
        if kind.has_many_consumers() {
            this.add_reader(false).unwrap();
        }
        this.add_source(OTHER).unwrap();
        if kind.has_many_producers() {
            this.add_source(NEXT).unwrap();
        }
        this
    }

    pub fn ring(&self) -> &Ring<M> {
        &self.ring
    }

    fn add_source(&mut self, id: u32) -> Check {
        let end = self
            .ring
            .sender()
            .map_err(|error| format!("no successor: {error}"))?;
        self.sources.push(Source { end, id, next: 0 });
        Ok(())
    }

    fn add_reader(&mut self, latest: bool) -> Check {
        let end = self
            .ring
            .receiver()
            .map_err(|error| format!("no successor: {error}"))?;
        let first = |source: &Source<M>| source.next.saturating_sub(self.kind.history());
        let owed = self
            .sources
            .iter()
            .map(|source| (source.id, first(source)))
            .collect();
        let account = Account::default();
        let held = Vec::new();
        self.readers.push(Reader {
            end,
            account,
            owed,
            latest,
            held,
        });
        Ok(())
    }

    /// Makes a ring with one reader, and one free place.
    pub fn beside_sender_and_reader(kind: Kind, namespace: &Arc<Namespace>, topic: &str) -> Self {
        let mut this = Self::bystanders(kind, namespace, topic);
        this.add_reader(false).unwrap();
        this.add_source(OTHER).unwrap();
        this
    }

    /// Makes the first reader borrow the next message, and keep it.
    pub fn hold(&mut self) {
        self.readers[0].hold();
    }

    /// Announces the first reader as asleep, so that each send has a reader to wake.
    pub fn fall_asleep(&mut self) {
        self.asleep = 1;
        self.wait_block()
            .unwrap()
            .waiters
            .set_bits_relaxed(self.asleep);
    }

    fn wait_block(&self) -> Option<&WaitBlock<AtomicU64>> {
        Some(self.ring.segment()?.wait_block(Access::Write).unwrap())
    }

    /// Returns true if another endpoint has announced that it is about to sleep.
    pub fn has_waiter(&self) -> bool {
        self.wait_block()
            .is_some_and(|wait| wait.waiters.get() != self.asleep || wait.room_waiters.get() != 0)
    }

    /// Checks that announcements and pins of the dead were removed, and those of live endpoints
    /// were not.
    fn expect_no_remains(&self) -> Check {
        let (Some(wait), Some(segment)) = (self.wait_block(), self.ring.segment()) else {
            return Ok(());
        };
        if self.has_waiter() {
            let messages = wait.waiters.get();
            let room = wait.room_waiters.get();
            return Err(format!(
                "the bits of dead waiters stay: {messages:#x}, for room {room:#x}"
            ));
        }
        let limit = segment.shape().reader_limit();
        let blocks = (0..limit).map(|reader| segment.reader_block(reader, Access::Read).unwrap());
        let pins = blocks
            .flat_map(|block| &block.pins)
            .filter(|pin| pin.get() != 0)
            .count();
        let held: usize = self.readers.iter().map(|reader| reader.held.len()).sum();
        if pins == held {
            Ok(())
        } else {
            Err(format!("{pins} pins, {held} messages are held"))
        }
    }

    /// Sends `count` messages of every source, none of which may be refused.
    pub fn send(&mut self, count: u32) -> Check {
        (0..self.sources.len()).try_for_each(|index| self.send_of(index, count, false))
    }

    /// The same, and every reader keeps up.
    fn flow(&mut self, count: u32) -> Check {
        (0..self.sources.len()).try_for_each(|index| self.send_of(index, count, true))
    }

    fn send_of(&mut self, index: usize, count: u32, receive: bool) -> Check {
        for _ in 0..count {
            let source = &mut self.sources[index];
            if !source.end.send(&M::new(source.id, source.next)) {
                return Err(format!(
                    "a refused message {} of {}",
                    source.next, source.id
                ));
            }
            source.next += 1;
            if receive {
                self.receive();
            }
        }
        Ok(())
    }

    /// Makes one call of every reader.
    fn receive(&mut self) {
        self.readers.iter_mut().for_each(|reader| _ = reader.take());
    }

    /// Receives all but `left` messages of the victim's `sent`.
    pub fn receive_all_but(&mut self, sent: u32, left: u32) {
        (left..sent).for_each(|_| self.receive());
    }

    pub fn drain(&mut self) -> Check {
        self.readers.iter_mut().try_for_each(Reader::drain)
    }

    fn settle(&self) -> Check {
        self.expect_no_remains()?;
        self.readers
            .iter()
            .try_for_each(|reader| reader.settle(&self.sources))
    }

    /// Checks the ring after the death of a sender in its call number `sent`.
    pub fn bury_sender(&mut self, sent: u32, order: Order) -> Check {
        if order == Order::OthersFirst {
            self.drain()?;
            self.flow(FLOW)?;
            self.drain()?;
            self.readers.iter().try_for_each(Reader::ledger)?;
        }
        self.add_source(NEXT)?;
        self.flow(FLOW)?;
        self.drain()?;
        self.settle()?;
        self.expect_of_victim(&[sent, sent + 1])
    }

    /// Checks the ring after the death of a sender that was freeing, or about to free, a dead
    /// reader's place.
    pub fn bury_reaper(&mut self, order: Order) -> Check {
        if order == Order::OthersFirst {
            self.add_source(NEXT)?;
            self.send(FLOW)?;
            self.add_reader(false)?;
        } else {
            self.add_reader(false)?;
            self.drain()?;
            self.add_source(NEXT)?;
        }
        self.settle_without_gaps()
    }

    /// Adds a sender, which sends as many messages as its lane holds.
    pub fn fill_lane(&mut self) {
        self.add_source(OTHER).unwrap();
        self.send(CAPACITY as u32).unwrap();
    }

    /// Checks that the senders continue while a process is stopped that was freeing or taking a
    /// dead reader's place, and that may still have that place.
    pub fn work_beside_stopped_reaper(&mut self) -> Check {
        if self.sources.is_empty() {
            self.add_source(NEXT)?;
        }
        self.send(FLOW)
    }

    /// Checks the ring after the stopped process went on: a new reader has a place.
    pub fn check_resumed_reaper(&mut self) -> Check {
        self.send(FLOW)?;
        self.add_reader(false)?;
        self.settle_without_gaps()
    }

    /// Checks that messages pass, and that the newest reader has received all of them.
    fn settle_without_gaps(&mut self) -> Check {
        self.flow(FLOW)?;
        self.drain()?;
        self.settle()?;
        match self.readers.last().map_or(0, |reader| reader.account.gaps) {
            0 => Ok(()),
            gaps => Err(format!("{gaps} messages are missing")),
        }
    }

    /// Checks that every full account of the victim's messages ends at one of `ends`.
    pub fn expect_of_victim(&self, ends: &[u32]) -> Check {
        for reader in self.readers.iter().filter(|reader| !reader.latest) {
            let Some(Stream {
                first: 0,
                next,
                count,
            }) = reader.account.of(VICTIM)
            else {
                return Err("the victim's first messages are missing".into());
            };
            if u64::from(next) != count || !ends.contains(&next) {
                return Err(format!(
                    "{count} messages of the victim to {next}, wanted {ends:?}"
                ));
            }
        }
        Ok(())
    }

    /// Checks that a stopped sender is not taken for dead, and that the others go on.
    pub fn work_beside_stopped_sender(&mut self) -> Check {
        if self.kind != Kind::Ticket && self.ring.sender().is_ok() {
            return Err("the stopped sender was taken for dead".into());
        }
        self.drain()?;
        self.flow(FLOW)?;
        self.drain()
    }

    /// Checks the ring after a stopped sender went on and ended its call, the `sent`-th.
    pub fn check_resumed_sender(&mut self, sent: u32) -> Check {
        self.drain()?;
        self.settle()?;
        self.expect_of_victim(&[sent])
    }

    /// Checks the ring after the death of a receiver that had received `warm` messages of every
    /// source. Where a successor continues, up to `passed_max` messages died with it.
    pub fn bury_receiver(
        &mut self,
        warm: u32,
        order: Order,
        latest: bool,
        passed_max: u32,
    ) -> Check {
        if order == Order::OthersFirst {
            self.drain()?;
            self.flow(FLOW)?;
        }
        self.add_reader(latest)?;
        if order == Order::SuccessorFirst && self.kind.resumes() {
            self.resume(warm, passed_max)?;
        }
        self.flow(FLOW)?;
        self.drain()?;
        self.settle()
    }

    /// Checks that the last reader, in a dead one's place, begins there or a few messages later.
    fn resume(&mut self, warm: u32, passed_max: u32) -> Check {
        let reader = self.readers.last_mut().expect("one was just added");
        reader.drain()?;
        let mut passed = 0;
        for (id, owed) in &mut reader.owed {
            let first = reader.account.of(*id).map_or(*owed, |stream| stream.first);
            if first < warm {
                return Err(format!("resumed at {first} of {id}, {warm} were received"));
            }
            passed += first - warm;
            *owed = first;
        }
        if passed > passed_max {
            return Err(format!("{passed} messages were never received"));
        }
        Ok(())
    }

    /// Checks that a stopped receiver is not taken for dead, and that senders get an answer.
    pub fn work_beside_stopped_receiver(&mut self) -> Check {
        if self.ring.receiver().is_ok() {
            return Err("the stopped receiver was taken for dead".into());
        }
        if !self.kind.is_gated() {
            self.flow(FLOW)?;
            return self.drain();
        }
        for index in 0..self.sources.len() {
            let full = (0..=CAPACITY).any(|_| self.send_of(index, 1, true).is_err());
            if !full || (0..4).any(|_| self.send_of(index, 1, true).is_ok()) {
                return Err("a sender that overran the stopped receiver".into());
            }
        }
        self.drain()
    }

    /// Returns the number of all sent messages, and the next number of each source.
    pub fn sent(&self) -> (u64, Vec<(u32, u32)>) {
        let ends: Vec<_> = self
            .sources
            .iter()
            .map(|source| (source.id, source.next))
            .collect();
        (ends.iter().map(|(_, next)| u64::from(*next)).sum(), ends)
    }
}
