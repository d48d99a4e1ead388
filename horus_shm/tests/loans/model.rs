//! Random publishers and subscribers of in-place lanes against an oracle, step by step: room,
//! content, order, ledger, growth, and what may be borrowed. `HORUS_TEST_SEED` replays one failed
//! case.

#[path = "oracle.rs"]
mod oracle;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use horus_shm::internals::TopicBlocks as _;
use horus_shm::{
    Access, BorrowError, LoanError, OnStalled, OpenError, RawConsumer, RawProducer, RawSample,
    ReadMode, ReadStats, Reliability, Request, Segment, SendError, TopicName, TypeInfo,
};
use oracle::{Borrowed, Hold, Oracle, Reading, Rules};

use crate::spawn;

const CASES: u64 = 60;
const STEPS: u64 = 400;

/// The length of messages that all have one length.
const BYTES: usize = 64;
/// The length of the longest messages that make slots grow.
const BYTES_MAX: usize = 16 * 1024;
/// Number of bits of a tag that contain the length of the message.
const TAG_BYTES_BITS: u32 = 20;

/// Prints the seed of a failed case.
struct Case(u64);

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with HORUS_TEST_SEED={}", self.0);
        }
    }
}

/// Returns the message with the tag `tag`: every byte of it follows from the tag.
fn message(tag: u64) -> Vec<u8> {
    let bytes = bytes_of(tag);
    let words = (0..bytes.div_ceil(8) as u64).map(|index| tag.wrapping_mul(index * 2 + 1));
    let mut message: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    message.truncate(bytes);
    message
}

/// Returns the tag of a message; panics if a byte is not the one that was sent.
fn tag_of(bytes: &[u8]) -> u64 {
    let tag = tag_in(bytes);
    assert!(bytes == message(tag), "torn: tag {tag}");
    tag
}

/// Returns the length of the message with the tag `tag`.
const fn bytes_of(tag: u64) -> usize {
    (tag & ((1 << TAG_BYTES_BITS) - 1)) as usize
}

fn tag_in(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// A message that a reader has borrowed.
struct Held {
    sample: RawSample,
    tag: u64,
    hold: Hold,
}

/// A publisher, and the slot that it has lent to this test.
struct Publisher {
    raw: RawProducer,
    lent: Option<NonNull<[u8]>>,
}

/// A topic, its endpoints, and the oracle of both.
struct World {
    segment: Arc<Segment>,
    oracle: Oracle,
    publishers: Vec<Publisher>,
    consumers: Vec<RawConsumer>,
    held: Vec<Held>,
    /// The readers that never read, and only pin slots as if they were stopped in a copy.
    copiers: usize,
    /// Number of messages made so far.
    messages: u64,
    buffers: [Vec<u8>; 2],
}

fn rules(rng: &mut Rng) -> Rules {
    let capacity = 2 << rng.u32(..4);
    let has_history = rng.u32(..3) == 0;
    let sized = rng.bool();
    Rules {
        capacity,
        lanes: rng.usize(1..3),
        readers: rng.usize(2..7),
        reliable: rng.u32(..3) != 0,
        sized,
        slot_bytes: if sized { rng.usize(8..100) } else { BYTES },
        history: if has_history && !sized {
            rng.usize(1..capacity + 2)
        } else {
            0
        },
    }
}

fn request(rules: &Rules) -> Request {
    let mut info = TypeInfo::opaque::<u8>();
    (info.sized, info.bytes) = (rules.sized, rules.slot_bytes as u64);
    let mut request = Request::new(info);
    request.capacity = Some(rules.capacity as u64);
    request.lane_limit = Some(rules.lanes as u32);
    request.reader_limit = Some(rules.readers as u32);
    request.history = Some(rules.history as u32);
    request.pinnable = Some(true);
    request.reliability = rules.reliable.then_some(Reliability::Reliable);
    request
}

impl World {
    fn new(segment: Arc<Segment>, rules: &Rules, rng: &mut Rng) -> Self {
        let mut world = Self {
            segment,
            oracle: Oracle::new(rules),
            publishers: Vec::new(),
            consumers: Vec::new(),
            held: Vec::new(),
            copiers: 0,
            messages: 0,
            buffers: [(); 2].map(|()| vec![0; 2 * BYTES_MAX]),
        };
        if rng.u32(..3) == 0 {
            world.copiers = rng.usize(1..rules.readers);
            (0..world.copiers).for_each(|_| world.join_reader(Reading::KeepLast));
        }
        world
    }

    fn step(&mut self, rng: &mut Rng) {
        match rng.u32(..100) {
            0..28 => self.send(rng, 1),
            28..31 => {
                let burst = rng.usize(..self.oracle.rules.capacity * 5 / 2) + 1;
                self.send(rng, burst);
            }
            31..41 => self.lend(rng),
            41..46 => self.publish(rng),
            46..49 => self.discard(rng),
            49..50 => self.reserve(rng),
            50..60 => self.recv(rng),
            60..72 => self.borrow(rng, false),
            72..75 => self.latest(rng),
            75..78 => self.borrow(rng, true),
            78..90 => self.release(rng),
            90..92 => self.join_publisher(rng),
            92..93 => self.drop_publisher(rng),
            93..95 => self.join_any_reader(rng),
            95..96 => self.drop_reader(rng),
            96..99 => self.set_copy_pin(rng),
            _ => self.empty(rng),
        }
        self.map_extents();
        self.expect_sound();
        // WHY seldom: in a file it makes many system calls.
        if rng.u32(..16) == 0 {
            self.expect_same_from_outside();
        }
    }

    /// Makes all readers map the extents that were added. WHY: what they can read then does not
    /// depend on when others map and leave the files that are removed.
    fn map_extents(&mut self) {
        for (index, consumer) in self.consumers.iter_mut().enumerate() {
            consumer.require_whole_messages();
            consumer.set_requires_whole_messages(false);
            self.oracle.discover(index);
        }
    }

    fn expect_sound(&self) {
        for held in &self.held {
            assert_eq!(tag_of(held.sample.bytes()), held.tag, "changed while held");
        }
        for (lane, model) in (0..).zip(&self.oracle.lanes) {
            let block = self.segment.lane_block(lane, Access::Read).unwrap();
            let refused = block.refused.load(Ordering::Relaxed);
            assert_eq!(refused, model.refused, "lane {lane}");
        }
        for publisher in &self.publishers {
            let sent = self.oracle.lanes[publisher.raw.lane() as usize].message_count();
            assert_eq!(publisher.raw.position(), sent);
        }
        for (index, consumer) in self.consumers.iter().enumerate() {
            let reader = &self.oracle.readers[index];
            assert_eq!(consumer.sequence(), reader.sequence, "reader {index}");
            let stats = consumer.stats();
            let (wanted, uncertain) = self.oracle.stats(index);
            let counted = stats.received + stats.lost + stats.skipped + stats.waiting;
            assert_eq!(counted, stats.sent, "reader {index}: {stats:?}");
            let missing = wanted.lost.wrapping_sub(stats.lost);
            assert!(
                missing <= uncertain,
                "reader {index}: {stats:?}, not {wanted:?}"
            );
            let exact = ReadStats {
                lost: stats.lost,
                skipped: stats.skipped,
                waiting: stats.waiting,
                ..wanted
            };
            assert_eq!(stats, exact, "reader {index}: not {wanted:?}");
            assert!(
                stats.skipped >= wanted.skipped,
                "reader {index}: {stats:?}, not {wanted:?}"
            );
            assert!(
                stats.waiting >= wanted.waiting,
                "reader {index}: {stats:?}, not {wanted:?}"
            );
        }
    }

    /// Expects that another process sees of each reader what the reader counts itself. It takes
    /// skipped positions for messages that wait, and not for lost ones.
    fn expect_same_from_outside(&self) {
        let seen = self.segment.reader_counters();
        for (index, consumer) in self.consumers.iter().enumerate() {
            let reader = &self.oracle.readers[index];
            let Some(seen) = seen.iter().find(|seen| seen.slot as usize == reader.place) else {
                assert_eq!(
                    reader.reading,
                    Reading::Observer,
                    "reader {index} is not seen"
                );
                continue;
            };
            let stats = consumer.stats();
            let holds = self.oracle.holds.iter();
            let held = holds.filter(|hold| hold.place == reader.place).count();
            assert_eq!(seen.borrowed as usize, held, "reader {index}");
            let counted = (seen.received, seen.skipped, seen.malformed);
            assert_eq!(
                counted,
                (stats.received, stats.skipped, 0),
                "reader {index}"
            );
            assert!(
                seen.lost <= stats.lost,
                "reader {index}: {seen:?}, not {stats:?}"
            );
            assert!(
                seen.waiting >= stats.waiting,
                "reader {index}: {seen:?}, not {stats:?}"
            );
        }
    }

    /// Returns the index of a publisher, and its lane.
    fn any_publisher(&self, rng: &mut Rng) -> Option<(usize, usize)> {
        let index = rng.usize(..self.publishers.len().max(1));
        let lane = self.publishers.get(index)?.raw.lane();
        Some((index, lane as usize))
    }

    /// Returns the index of a reader that reads.
    fn any_reader(&self, rng: &mut Rng) -> Option<usize> {
        let readers = self.copiers..self.consumers.len();
        (!readers.is_empty()).then(|| rng.usize(readers))
    }

    /// Returns the tag of a new message of `lane`; rarely of one that is longer than its slots.
    fn new_tag(&mut self, rng: &mut Rng, lane: usize, grows: bool) -> u64 {
        let present = self.oracle.lanes[lane].slot_bytes();
        let bytes = if !self.oracle.rules.sized {
            BYTES
        } else if grows && present < BYTES_MAX && rng.u32(..16) == 0 {
            present + rng.usize(1..200)
        } else {
            rng.usize(8..=present.min(200))
        };
        self.messages += 1;
        self.messages << TAG_BYTES_BITS | bytes as u64
    }

    fn send(&mut self, rng: &mut Rng, times: usize) {
        let Some((index, lane)) = self.any_publisher(rng) else {
            return;
        };
        for _ in 0..times {
            let tag = self.new_tag(rng, lane, true);
            let has_room = self.oracle.send(lane, tag, bytes_of(tag));
            let publisher = &mut self.publishers[index];
            // WHY: the send may end the loan.
            publisher.lent = publisher.lent.filter(|_| self.oracle.is_lent(lane));
            match publisher.raw.send_bytes(&message(tag)) {
                Ok(()) => assert!(has_room, "sent into a full lane"),
                Err(SendError::Full { .. }) => assert!(!has_room, "full, and has room"),
                Err(error) => panic!("{error}"),
            }
            self.map_extents();
        }
    }

    /// Reserves slots for longer messages, which the publisher may never send.
    fn reserve(&mut self, rng: &mut Rng) {
        let Some((index, lane)) = self.any_publisher(rng) else {
            return;
        };
        let bytes = self.oracle.lanes[lane].slot_bytes() + rng.usize(1..200);
        if !self.oracle.rules.sized || bytes > BYTES_MAX {
            return;
        }
        let has_room = self.oracle.reserve(lane, bytes);
        let publisher = &mut self.publishers[index];
        publisher.lent = publisher.lent.filter(|_| self.oracle.is_lent(lane));
        match publisher.raw.reserve(bytes as u64) {
            Ok(()) => assert!(has_room, "too many extents"),
            Err(SendError::Full { .. }) => assert!(!has_room, "not full"),
            Err(error) => panic!("{error}"),
        }
        let slot_bytes = self.oracle.lanes[lane].slot_bytes();
        assert_eq!(publisher.raw.slot_bytes() as usize, slot_bytes);
    }

    /// Takes a loan, and publishes it or keeps it open.
    fn lend(&mut self, rng: &mut Rng) {
        let Some((index, lane)) = self.any_publisher(rng) else {
            return;
        };
        let tag = self.new_tag(rng, lane, false);
        let has_room = self.oracle.lend(lane);
        let publisher = &mut self.publishers[index];
        match publisher.raw.lend() {
            Ok(slot) => {
                assert!(has_room, "lent from a full lane");
                publisher.lent = Some(slot);
            }
            Err(LoanError::Full { .. }) => assert!(!has_room, "full, and has room"),
            Err(error) => panic!("{error}"),
        }
        if has_room && rng.u32(..3) == 0 {
            let mut loan = publisher.raw.loan().unwrap();
            loan.bytes_mut()[..bytes_of(tag)].copy_from_slice(&message(tag));
            loan.publish(bytes_of(tag)).unwrap();
            publisher.lent = None;
            assert!(self.oracle.send(lane, tag, bytes_of(tag)));
        }
    }

    fn publish(&mut self, rng: &mut Rng) {
        let Some((index, lane)) = self.any_publisher(rng) else {
            return;
        };
        let tag = self.new_tag(rng, lane, false);
        let is_lent = self.oracle.publish(lane, tag);
        let publisher = &mut self.publishers[index];
        if let Some(mut slot) = publisher.lent.take()
            && is_lent
        {
            // SAFETY: the slot is lent, so no other code accesses it.
            let slot = unsafe { slot.as_mut() };
            slot[..bytes_of(tag)].copy_from_slice(&message(tag));
        }
        match publisher.raw.publish_lent(bytes_of(tag)) {
            Ok(()) => assert!(is_lent, "nothing was lent"),
            Err(LoanError::Ended { .. }) => assert!(!is_lent, "a loan was lost"),
            Err(error) => panic!("{error}"),
        }
    }

    fn discard(&mut self, rng: &mut Rng) {
        let Some((index, lane)) = self.any_publisher(rng) else {
            return;
        };
        let publisher = &mut self.publishers[index];
        publisher.lent = None;
        let was_open = publisher.raw.discard_lent();
        assert_eq!(was_open, self.oracle.discard(lane));
    }

    fn recv(&mut self, rng: &mut Rng) {
        let Some(index) = self.any_reader(rng) else {
            return;
        };
        let wanted = self.oracle.recv(index).map(|found| found.tag);
        let [buffer, _] = &mut self.buffers;
        let bytes = self.consumers[index].recv_bytes(buffer);
        let tag = bytes.map(|bytes| tag_of(&buffer[..bytes]));
        assert_eq!(tag, wanted, "reader {index}");
    }

    fn latest(&mut self, rng: &mut Rng) {
        let Some(index) = self.any_reader(rng) else {
            return;
        };
        let wanted = self.oracle.latest(index).map(|found| found.tag);
        let [one, other] = &mut self.buffers;
        let found = self.consumers[index].latest_bytes([one, other], &tag_in);
        let tag = found.map(|(buffer, bytes)| tag_of(&self.buffers[buffer][..bytes]));
        assert_eq!(tag, wanted, "reader {index}");
    }

    fn borrow(&mut self, rng: &mut Rng, latest: bool) {
        let Some(index) = self.any_reader(rng) else {
            return;
        };
        let consumer = &mut self.consumers[index];
        let borrowed = if latest {
            consumer.borrow_latest(&tag_in)
        } else {
            consumer.borrow()
        };
        let reader = &self.oracle.readers[index];
        if reader.reading == Reading::Observer {
            assert!(matches!(borrowed, Err(BorrowError::Observer { .. })));
            return;
        }
        let place = reader.place;
        let wanted: Borrowed = if latest {
            self.oracle.borrow_latest(index)
        } else {
            self.oracle.borrow(index)
        };
        match (borrowed, wanted) {
            (Ok(Some(sample)), Ok(Some((found, hold)))) => {
                let tag = tag_of(sample.bytes());
                assert_eq!((tag, sample.sequence()), (found.tag, found.sequence));
                self.oracle.holds.push(hold);
                self.held.push(Held { sample, tag, hold });
            }
            (Ok(None), Ok(None)) => {}
            (Err(BorrowError::NoPins { held, capacity, .. }), Err(())) => {
                let holds = self.oracle.holds.iter();
                let own = holds.filter(|hold| hold.place == place).count();
                let wanted = (own, self.oracle.rules.capacity);
                assert_eq!((held as usize, capacity as usize), wanted);
            }
            (borrowed, wanted) => panic!("reader {index}: {borrowed:?}, not {wanted:?}"),
        }
    }

    fn release(&mut self, rng: &mut Rng) {
        if self.held.is_empty() {
            return;
        }
        let Held { sample, hold, .. } = self.held.swap_remove(rng.usize(..self.held.len()));
        drop(sample);
        let holds = &mut self.oracle.holds;
        let at = holds.iter().position(|other| *other == hold).unwrap();
        holds.swap_remove(at);
    }

    /// Returns false for most joins that are refused. WHY: in a file a refusal takes about 10 ms,
    /// because the place of a dead endpoint may be about to be freed.
    fn may_join(&self, rng: &mut Rng, is_full: bool) -> bool {
        self.segment.fd().is_none() || !is_full || rng.u32(..16) == 0
    }

    fn join_publisher(&mut self, rng: &mut Rng) {
        if !self.may_join(rng, self.publishers.len() == self.oracle.rules.lanes) {
            return;
        }
        let made = RawProducer::new(Arc::clone(&self.segment), OnStalled::Full);
        match (made, self.oracle.join_publisher()) {
            (Ok(raw), Some(lane)) => {
                assert_eq!(raw.lane() as usize, lane);
                self.publishers.push(Publisher { raw, lent: None });
            }
            (Err(OpenError::TooManyPublishers { .. }), None) => {}
            (made, wanted) => panic!("{made:?}, not {wanted:?}"),
        }
    }

    fn drop_publisher(&mut self, rng: &mut Rng) {
        if self.publishers.is_empty() {
            return;
        }
        let publisher = self
            .publishers
            .swap_remove(rng.usize(..self.publishers.len()));
        self.oracle.leave(publisher.raw.lane() as usize);
    }

    fn join_any_reader(&mut self, rng: &mut Rng) {
        if !self.may_join(rng, !self.oracle.has_place()) {
            return;
        }
        let reading = match rng.u32(..8) {
            0..4 if self.oracle.rules.reliable => Reading::Gated,
            7 => Reading::Observer,
            _ => Reading::KeepLast,
        };
        self.join_reader(reading);
    }

    fn join_reader(&mut self, reading: Reading) {
        let mode = match reading {
            Reading::KeepLast => ReadMode::KeepLast,
            Reading::Gated => ReadMode::Gated,
            Reading::Observer => ReadMode::Observer,
        };
        let made = RawConsumer::new(Arc::clone(&self.segment), mode);
        match (made, self.oracle.join_reader(reading)) {
            (Ok(consumer), true) => self.consumers.push(consumer),
            (Err(OpenError::TooManySubscribers { .. }), false) => {}
            (made, wanted) => panic!("{made:?}, not {wanted}"),
        }
    }

    fn drop_reader(&mut self, rng: &mut Rng) {
        let Some(index) = self.any_reader(rng) else {
            return;
        };
        drop(self.consumers.swap_remove(index));
        self.oracle.readers.swap_remove(index);
    }

    /// Acts as if a reader were stopped while it copies from a slot, or went on.
    fn set_copy_pin(&mut self, rng: &mut Rng) {
        if self.copiers == 0 {
            return;
        }
        let place = rng.usize(..self.copiers);
        let lane = rng.usize(..self.oracle.rules.lanes);
        let slot = rng.usize(..self.oracle.rules.capacity);
        let mut word = 0;
        if rng.u32(..3) == 0 {
            self.oracle.copies.retain(|copy| copy.place != place);
        } else {
            let extent = self.oracle.add_copy(place, lane, slot);
            word = (lane as u64) << 56 | (extent as u64 + 1) << 24 | (slot as u64 + 1);
        }
        let block = self
            .segment
            .reader_block(place as u32, Access::Write)
            .unwrap();
        block.pins.last().unwrap().store(word, Ordering::Relaxed);
    }

    /// Reads all messages with one reader, so that the rest of the case does not depend on it.
    fn empty(&mut self, rng: &mut Rng) {
        let Some(index) = self.any_reader(rng) else {
            return;
        };
        let [buffer, _] = &mut self.buffers;
        while let Some(wanted) = self.oracle.recv(index) {
            let bytes = self.consumers[index].recv_bytes(buffer);
            let tag = bytes.map(|bytes| tag_of(&buffer[..bytes]));
            assert_eq!(tag, Some(wanted.tag), "reader {index}");
        }
        assert_eq!(self.consumers[index].recv_bytes(buffer), None);
    }
}

/// Returns the topic of a case, in a file or on the heap.
fn segment(dir: &std::path::Path, rules: &Rules, seed: u64) -> Arc<Segment> {
    let request = request(rules);
    // WHY: only in files, lanes that grow keep what somebody has mapped.
    if !rules.sized && !seed.is_multiple_of(8) {
        return Segment::heap(&request).unwrap();
    }
    let name = TopicName::new(&format!("case/{seed}")).unwrap();
    Segment::open_or_create(&spawn::namespace(dir), &name, &request).unwrap()
}

#[test]
fn every_call_does_what_the_oracle_says() {
    let replayed = std::env::var("HORUS_TEST_SEED").ok();
    let replayed = replayed.map(|seed| seed.parse::<u64>().unwrap());
    let dir = spawn::shm_dir();
    for seed in replayed.map_or(0..CASES, |seed| seed..seed + 1) {
        let _case = Case(seed);
        let mut rng = Rng::with_seed(seed);
        let rules = rules(&mut rng);
        let mut world = World::new(segment(dir.path(), &rules, seed), &rules, &mut rng);
        // WHY: most cases start with both endpoints.
        if rng.u32(..4) != 0 {
            world.join_publisher(&mut rng);
            world.join_any_reader(&mut rng);
        }
        for _ in 0..STEPS {
            world.step(&mut rng);
        }
    }
}
