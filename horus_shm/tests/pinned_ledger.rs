//! Exact ledgers where messages are held: sent messages are delivered, lost, skipped or still in
//! the ring; stepped-over positions count as none of these, and held messages do not change.

use horus_testing as _;

mod common;
#[path = "pinned_ledger/holder.rs"]
mod holder;
mod hostile;
mod spawn;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::SkipCounter;
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Access, Consumer, LoanError, Namespace, OnStalled, Producer, RawConsumer, RawProducer,
    ReadMode, Reliability, Request, Segment, TopicName, TypeInfo,
};

use common::{Child, Raised, eventually, result, role, say};
use holder::{Held, Holder, let_go_elsewhere};
use hostile::rounds;
use stream::Tagged;

type Message = [u64; 16];

const CAPACITY: u64 = 16;
const HISTORY: u32 = 4;
const JOINS: u64 = 5000;
const SENDERS: [u32; 2] = [1, 2];
/// The messages of a long reliable run. WHY fewer than elsewhere: with rings of 16 and more threads
/// than CPUs, every sixteenth message costs some context switches.
const RELIABLE_MAX: u64 = 2_000_000;

fn request(reliability: Reliability) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<Message>());
    (request.capacity, request.pinnable) = (Some(CAPACITY), Some(true));
    (request.lane_limit, request.reader_limit) = (Some(2), Some(8));
    (request.reliability, request.history) = (Some(reliability), Some(HISTORY));
    request
}

fn segment(namespace: &Arc<Namespace>, reliability: Reliability) -> Arc<Segment> {
    let name = TopicName::new("ledger").unwrap();
    Segment::open_or_create(namespace, &name, &request(reliability)).unwrap()
}

fn producer(segment: &Arc<Segment>) -> Producer<Message> {
    Producer::new(RawProducer::new(Arc::clone(segment), OnStalled::Full).unwrap())
}

fn reading(segment: &Segment) -> ReadMode {
    match segment.request().reliability.unwrap_or_default() {
        Reliability::BestEffort => ReadMode::KeepLast,
        Reliability::Reliable => ReadMode::Gated,
    }
}

/// Sends messages `0..count` of `sender`, some on loan.
fn stream_of(segment: &Arc<Segment>, sender: u32, count: u32) {
    let mut producer = producer(segment);
    let wait_policy = WaitPolicy::endless();
    let is_reliable = reading(segment) == ReadMode::Gated;
    for number in 0..count {
        let message = Message::new(sender, number);
        if number % CAPACITY as u32 == 0 {
            // WHY: with fewer CPUs than threads, readers would not run before the last send.
            std::thread::yield_now();
        }
        if number % 3 != 0 {
            let sent = match is_reliable {
                true => producer.send_until(wait_policy, &message),
                false => producer.send_ref(&message),
            };
            sent.unwrap();
            continue;
        }
        let mut loan = loop {
            match producer.loan() {
                Ok(loan) => break loan,
                Err(LoanError::Full { .. }) if is_reliable => {}
                Err(error) => panic!("{error}"),
            }
            std::thread::yield_now();
        };
        *loan = message;
        loan.publish().unwrap();
    }
}

/// Returns the number of positions that all lanes stepped over.
fn skip_count(segment: &Segment) -> u64 {
    let skips = |lane| {
        let block = segment.lane_block(lane, Access::Read).unwrap();
        SkipCounter::from_word(block.skips.load(Ordering::Relaxed)).count
    };
    (0..segment.shape().lane_limit()).map(skips).sum()
}

/// Expects that all lanes stepped over few positions for that many messages, and returns their
/// number.
#[track_caller]
fn expect_few_skips(segment: &Segment, messages: u64) -> u64 {
    let skips = skip_count(segment);
    // WHY 15: in a lap half of the slots can be borrowed, and each of 8 readers can be copying.
    assert!(
        skips <= 15 * messages + CAPACITY,
        "{skips} skips of {messages} messages"
    );
    skips
}

fn threads(reliability: Reliability, each: u32) {
    let dir = spawn::shm_dir();
    let segment = segment(&spawn::namespace(dir.path()), reliability);
    let (elsewhere, handed) = channel();
    let holders: Vec<_> = (0..3)
        .map(|seed| Holder::new(&segment, seed, elsewhere.clone()))
        .collect();
    drop(elsewhere);
    let is_over = AtomicBool::new(false);
    let outlived = std::thread::scope(|scope| {
        scope.spawn(move || let_go_elsewhere(handed));
        scope.spawn(|| join_late_and_leave(&segment, &is_over));
        for sender in SENDERS {
            let segment = &segment;
            scope.spawn(move || stream_of(segment, sender, each));
        }
        let readers = holders.into_iter().map(|mut holder| {
            scope.spawn(move || {
                holder.read_all(2 * u64::from(each));
                let told = holder.expect_exact(2 * u64::from(each));
                let slowness = holder.slowness;
                let refused = holder.refused;
                result(
                    "pinned-ledger",
                    format_args!("{reliability}, {slowness} × slower: {told}, {refused} unpinned"),
                );
                holder.end()
            })
        });
        // WHY: after a panic here the other threads must stop, too.
        let _over = Raised(&is_over);
        let readers: Vec<_> = readers.collect();
        let outlived: Vec<_> = readers
            .into_iter()
            .flat_map(|reader| reader.join().unwrap())
            .collect();
        outlived
    });
    // A later publisher in the same lanes does not touch messages that outlived their consumer.
    let mut later = producer(&segment);
    (0..3 * CAPACITY as u32).for_each(|number| _ = later.send(Message::new(9, number)));
    outlived.iter().for_each(Held::expect_intact);
    let messages = 2 * u64::from(each);
    let skips = expect_few_skips(&segment, messages);
    result(
        "pinned-ledger",
        format_args!("{reliability}: {messages} messages in threads, {skips} positions skipped"),
    );
}

/// Joins again and again, reads a little, and checks its ledger, with history.
fn join_late_and_leave(segment: &Arc<Segment>, is_over: &AtomicBool) {
    let (nobody, _) = channel();
    let mut seed = 0;
    while !is_over.load(Ordering::Relaxed) {
        seed += 3;
        let mut late = Holder::new(segment, seed, nobody.clone());
        for _ in 0..50 {
            late.step();
        }
        late.expect_sound();
        std::thread::yield_now();
    }
}

#[test]
fn every_message_is_accounted_for_while_readers_hold_some() {
    let messages = rounds(40_000, 10_000_000) as u32;
    threads(Reliability::BestEffort, messages / 2);
}

#[test]
fn no_message_is_lost_to_reliable_readers_that_hold_some() {
    let messages = rounds(40_000, RELIABLE_MAX) as u32;
    threads(Reliability::Reliable, messages / 2);
}

/// Runs two senders and two readers in processes of their own, and a reader here.
fn processes(reliability: Reliability, each: u32) {
    let dir = spawn::shm_dir();
    let segment = segment(&spawn::namespace(dir.path()), reliability);
    let (nobody, _) = channel();
    let mut holder = Holder::new(&segment, 0, nobody);
    let spawn =
        |part: &str, id| Child::spawn(&format!("{part} {reliability:?} {id} {each}"), dir.path());
    let mut readers: Vec<_> = (1..3).map(|seed| spawn("hold", seed)).collect();
    readers
        .iter_mut()
        .for_each(|reader| assert_eq!(reader.listen(), "joined"));
    let mut senders: Vec<_> = SENDERS.iter().map(|&id| spawn("send", id)).collect();
    holder.read_all(2 * u64::from(each));
    let told = holder.expect_exact(2 * u64::from(each));
    result(
        "pinned-ledger",
        format_args!("{reliability}, across processes: {told}"),
    );
    for reader in &mut readers {
        result(
            "pinned-ledger",
            format_args!("{reliability}, across processes: {}", reader.listen()),
        );
    }
    for sender in &mut senders {
        assert_eq!(sender.listen(), format!("sent {each}"));
    }
    readers.into_iter().chain(senders).for_each(Child::finish);
    holder.end().iter().for_each(Held::expect_intact);
    expect_few_skips(&segment, 2 * u64::from(each));
}

#[test]
fn every_message_is_accounted_for_across_processes() {
    let messages = rounds(40_000, 10_000_000) as u32;
    processes(Reliability::BestEffort, messages / 2);
}

#[test]
fn no_message_is_lost_to_reliable_readers_across_processes() {
    let messages = rounds(40_000, RELIABLE_MAX) as u32;
    processes(Reliability::Reliable, messages / 2);
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    spawn::die_with_parent();
    let role: Vec<_> = role.split(' ').collect();
    let [part, reliability, id, each] = role[..] else {
        panic!("{role:?}")
    };
    let reliability = match reliability {
        "Reliable" => Reliability::Reliable,
        _ => Reliability::BestEffort,
    };
    let segment = segment(&spawn::inherited_namespace(), reliability);
    let id = id.parse().unwrap();
    let each = each.parse().unwrap();
    if part == "send" {
        stream_of(&segment, id, each);
        return say(format_args!("sent {each}"));
    }
    let (nobody, _) = channel();
    let mut holder = Holder::new(&segment, id.into(), nobody);
    say("joined");
    holder.read_all(2 * u64::from(each));
    say(holder.expect_exact(2 * u64::from(each)));
    holder.end().iter().for_each(Held::expect_intact);
}

/// A reader that joins while positions are stepped over gets every message from a first number on.
/// That number lies between the messages sent before it joined and those begun afterwards.
#[test]
fn the_first_number_promised_is_exact_in_the_middle_of_skips() {
    let dir = spawn::shm_dir();
    let mut request = request(Reliability::BestEffort);
    (request.history, request.lane_limit) = (None, Some(1));
    let name = TopicName::new("joins").unwrap();
    let segment = Segment::create(&spawn::namespace(dir.path()), &name, &request).unwrap();
    let mut holder = Consumer::<Message>::new(
        RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap(),
    );
    let mut producer = producer(&segment);
    let mut held = Vec::new();
    for number in 0..100 {
        producer.send(Message::new(1, number)).unwrap();
        if held.len() < 7 {
            held.extend(holder.borrow().unwrap());
        }
    }
    assert_eq!(held.len(), 7);
    let joins = rounds(JOINS, 20 * JOINS);
    // Messages begun, and messages sent.
    let progress = Mutex::new((100, 100));
    let is_paused = AtomicBool::new(false);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 100.. {
                while is_paused.load(Ordering::Relaxed) && !is_over.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                progress.lock().unwrap().0 = u64::from(number) + 1;
                producer.send(Message::new(1, number)).unwrap();
                progress.lock().unwrap().1 = u64::from(number) + 1;
            }
        });
        let _over = Raised(&is_over);
        (0..joins)
            .try_for_each(|_| expect_promise(&segment, &progress, &is_paused))
            .unwrap();
    });
    let messages = progress.lock().unwrap().0;
    let skips = expect_few_skips(&segment, messages);
    result(
        "pinned-ledger",
        format_args!("{joins} joins among {messages} messages and {skips} skips: all exact"),
    );
    drop(held);
}

/// Joins, waits for a message, and checks the number of the first message that it must get.
fn expect_promise(
    segment: &Arc<Segment>,
    progress: &Mutex<(u64, u64)>,
    is_paused: &AtomicBool,
) -> Result<(), String> {
    let (_, before) = *progress.lock().unwrap();
    let raw = RawConsumer::new(Arc::clone(segment), ReadMode::KeepLast).unwrap();
    let (after, _) = *progress.lock().unwrap();
    let mut consumer = Consumer::<Message>::new(raw);
    let message = consumer
        .recv_until(WaitPolicy::endless())
        .ok_or("nothing comes")?;
    let (_, number) = message.tag().ok_or("a torn message")?;
    is_paused.store(true, Ordering::Relaxed);
    let first = loop {
        let progress = progress.lock().unwrap();
        // WHY: then no message is being sent until the lock is released.
        if progress.0 == progress.1 {
            break progress.1.wrapping_sub(consumer.stats().sent);
        }
        drop(progress);
        std::thread::yield_now();
    };
    is_paused.store(false, Ordering::Relaxed);
    if consumer.raw().sequence() != u64::from(number) + 1 {
        return Err(format!(
            "{} is called {}",
            number + 1,
            consumer.raw().sequence()
        ));
    }
    if !(before..=after).contains(&first) {
        return Err(format!(
            "the first message is {first}, but it joined at {before} to {after}: {:?}",
            consumer.stats()
        ));
    }
    Ok(())
}

/// Slots were skipped within its history, so that positions are no numbers.
#[test]
fn a_late_reader_counts_a_history_with_skips_at_once() {
    let dir = spawn::shm_dir();
    for reliability in [Reliability::BestEffort, Reliability::Reliable] {
        let segment = segment(&spawn::namespace(dir.path()), reliability);
        let reader = || {
            let raw = RawConsumer::new(Arc::clone(&segment), reading(&segment));
            Consumer::<Message>::new(raw.unwrap())
        };
        let mut holder = reader();
        let mut producer = producer(&segment);
        producer.send(Message::new(1, 0)).unwrap();
        let held = holder.borrow().unwrap().expect("a message");
        for number in 1..=CAPACITY as u32 {
            producer.send(Message::new(1, number)).unwrap();
            if number == 1 {
                holder.recv().unwrap();
            }
        }
        assert_eq!(skip_count(&segment), 1);
        for reads_latest in [false, true] {
            let mut late = reader();
            let ledger = |late: &Consumer<Message>| {
                let stats = late.stats();
                [stats.sent, stats.received, stats.skipped, stats.waiting]
            };
            assert_eq!(ledger(&late), [4, 0, 0, 4], "{reliability}");
            let (message, skipped) = match reads_latest {
                true => (late.latest(), 3),
                false => (late.recv(), 0),
            };
            let number = CAPACITY - 3 + skipped;
            assert_eq!(message.unwrap().tag(), Some((1, number as u32)));
            assert_eq!(ledger(&late), [4, 1, skipped, 3 - skipped], "{reliability}");
        }
        drop(held);
    }
}

/// The count is placed correctly however far the writer goes between two loads of a joining reader.
#[test]
fn a_count_of_skips_is_put_where_it_belongs() {
    for (before, after) in [(0, 0), (1, 2), (1000, 5000), (1 << 40, (1 << 40) + 100_000)] {
        for skip in [before, (before + after) / 2, after] {
            let skips = SkipCounter::from_word(SkipCounter::new(7, skip).to_word());
            assert_eq!(
                skips.counted_up_to(before, after),
                Some(skip + 1),
                "{before} {after}"
            );
        }
        let old = SkipCounter::new(7, before.wrapping_sub(1) % (1 << 50));
        assert_eq!(old.counted_up_to(before, after), Some(before));
    }
    // The skip may be anywhere in between if the writer went as far as its low bits go.
    let far = SkipCounter::new(7, 1000 + (1 << 22));
    assert_eq!(far.counted_up_to(1000, 1000 + (1 << 22)), None);
    assert_eq!(
        SkipCounter::new(0, 0).counted_up_to(1000, 1 << 40),
        Some(1000)
    );
    // A skip that is counted, but not under the head yet, is not before the head.
    assert!(!SkipCounter::new(7, 10).are_all_skips_before(8, 10));
    assert!(!SkipCounter::new(7, 9).are_all_skips_before(8, 10));
    assert!(SkipCounter::new(7, 7).are_all_skips_before(8, 10));
}

/// The next send takes back all pins and places of readers that died with borrowed messages.
#[test]
fn readers_that_die_with_borrowed_messages_leave_nothing_behind() {
    let cycles = rounds(60, 2000);
    let dir = spawn::shm_dir();
    let segment = segment(&spawn::namespace(dir.path()), Reliability::BestEffort);
    let mut producer = producer(&segment);
    let mut refused = 0;
    for cycle in 0..cycles {
        let pid = common::fork(|| borrow_and_die(dir.path()));
        let mut status = 0;
        let mut number = 0;
        eventually("a death", || {
            number += 1;
            refused += u64::from(producer.send(Message::new(1, number)).is_err());
            // SAFETY: `status` is valid for the write.
            unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) == pid }
        });
        assert!(
            libc::WIFSIGNALED(status),
            "cycle {cycle}: the reader was not killed"
        );
        for number in 0..4 * CAPACITY as u32 {
            refused += u64::from(producer.send(Message::new(2, number)).is_err());
        }
        expect_vacant(&segment, cycle);
    }
    assert_eq!(refused, 0);
    result(
        "pinned-ledger",
        format_args!("{cycles} readers borrowed and died: no place, pin or bit is left"),
    );
}

/// Opens the topic anew in a forked child, borrows all it can, and is killed.
fn borrow_and_die(dir: &std::path::Path) -> bool {
    let segment = segment(&spawn::namespace(dir), Reliability::BestEffort);
    let raw = RawConsumer::new(segment, ReadMode::KeepLast).unwrap();
    let mut consumer = Consumer::<Message>::new(raw);
    let mut held = Vec::new();
    while held.len() < 5 {
        held.extend(consumer.borrow().unwrap());
    }
    // SAFETY: the call takes no pointer.
    unsafe { libc::raise(libc::SIGKILL) };
    unreachable!();
}

/// Expects that no place is taken, pinned, waited at or set aside for pins.
#[track_caller]
fn expect_vacant(segment: &Segment, cycle: u64) {
    let wait = segment.wait_block(Access::Read).unwrap();
    for bits in [&wait.waiters, &wait.pinners, &wait.room_waiters] {
        assert_eq!(bits.load(Ordering::Relaxed), 0, "cycle {cycle}");
    }
    for reader in 0..segment.shape().reader_limit() {
        let block = segment.reader_block(reader, Access::Read).unwrap();
        let words = block.pins.iter().chain([&block.owner, &block.pin_limit]);
        assert!(
            words
                .map(|word| word.load(Ordering::Relaxed))
                .all(|word| word == 0)
        );
    }
}
