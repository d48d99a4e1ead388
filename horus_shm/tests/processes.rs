//! Rings between real processes, which start, stream, race and are killed.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod crew;
mod spawn;
mod stream;
mod tracer;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fastrand::Rng;
use horus_shm::internals::TopicBlocks as _;
use horus_shm::{
    Access, Consumer, FanoutShm, Namespace, OnStalled, PodShm, Producer, RawConsumer, RawProducer,
    ReadMode, Request, RingOptions, Segment, TopicName, TypeInfo, sweep,
};

use common::{Child, Guard, eventually, role, say};
use crew::{KINDS, accuse, expect_no_accusation, soon};
use spawn::{die_with_parent, inherited_namespace, namespace, shm_dir, topic_files};
use stream::{Account, Tagged};
use tracer::ends::{CAPACITY, Kind, PLACES, Receiver, Ring, Sender};

type Message = [u64; 128];

/// The sender of the parent's own messages; children have greater numbers.
const PARENT: u32 = 1;
const ECHOES: u32 = 500;
const LEDGER_MESSAGES: u32 = 20_000;
const LEDGER_CAPACITY: u64 = 1024;
const KILL_ROUNDS: u32 = 40;
const CRASHES: u32 = 200;
const RACERS: u32 = 8;
const RACES: u64 = 50;

/// Returns five times as many rounds if `$HORUS_TORTURE` is set.
fn torture(rounds: u32) -> u32 {
    if std::env::var_os("HORUS_TORTURE").is_some() {
        rounds * 5
    } else {
        rounds
    }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    die_with_parent();
    let namespace = inherited_namespace();
    let role: Vec<_> = role.split(' ').collect();
    match role[..] {
        ["echo", kind] => echo(&namespace, Kind::parse(kind)),
        ["send", kind, id, count] => {
            send(
                &namespace,
                Kind::parse(kind),
                id.parse().unwrap(),
                count.parse().unwrap(),
            );
        }
        ["count", kind, total] => count(&namespace, Kind::parse(kind), total.parse().unwrap()),
        ["receive", kind] => receive(&namespace, Kind::parse(kind)),
        ["race", id] => race(&namespace, id.parse().unwrap()),
        _ => panic!("{role:?}"),
    }
}

fn ring(kind: Kind, namespace: &Arc<Namespace>, name: &str) -> Ring<Message> {
    Ring::open(kind, namespace, name)
}

#[track_caller]
fn send_soon(sender: &mut Sender<Message>, message: &Message) {
    soon(|| sender.send(message).then_some(()));
}

// ---- exchange

fn echo(namespace: &Arc<Namespace>, kind: Kind) {
    let there = ring(kind, namespace, "there");
    let back = ring(kind, namespace, "back");
    let mut receiver = there.receiver().unwrap();
    let mut sender = back.sender().unwrap();
    say("ready");
    for _ in 0..ECHOES {
        let message = soon(|| receiver.recv());
        send_soon(&mut sender, &message);
    }
    common::park();
}

#[test]
fn every_ring_carries_messages_to_another_process_and_back() {
    for kind in KINDS {
        let dir = shm_dir();
        let namespace = namespace(dir.path());
        let there = Ring::<Message>::create(kind, &namespace, "there");
        let back = Ring::<Message>::create(kind, &namespace, "back");
        let mut sender = there.sender().unwrap();
        let mut receiver = back.receiver().unwrap();
        let mut child = Child::spawn(&format!("echo {kind:?}"), dir.path());
        assert_eq!(child.listen(), "ready");
        let mut account = Account::default();
        for number in 0..ECHOES {
            send_soon(&mut sender, &Message::new(PARENT, number));
            account.take(&soon(|| receiver.recv()));
        }
        child.finish();
        account.expect_all(PARENT, 0, ECHOES).unwrap();
        account.expect_sound(receiver.stats().unwrap()).unwrap();
        drop((there, back, sender, receiver));
        assert_eq!(topic_files(&namespace), [""; 0], "{kind:?}");
    }
}

/// Sends `count` messages of `id`; with 0, sends for as long as it lives.
fn send(namespace: &Arc<Namespace>, kind: Kind, id: u32, count: u32) {
    let ring = ring(kind, namespace, "topic");
    let mut sender = ring.sender().unwrap();
    say("ready");
    for number in 0..if count == 0 { u32::MAX } else { count } {
        send_soon(&mut sender, &Message::new(id, number));
    }
    common::park();
}

/// Receives until `total` messages were sent and none is waiting; prints the received and the lost.
fn count(namespace: &Arc<Namespace>, kind: Kind, total: u64) {
    let ring = ring(kind, namespace, "topic");
    let mut receiver = ring.receiver().unwrap();
    let mut account = Account::default();
    say("ready");
    let mut guard = Guard::new();
    let stats = loop {
        while let Some(message) = receiver.recv() {
            account.take(&message);
        }
        let stats = receiver.stats().unwrap();
        if stats.sent == total && stats.waiting == 0 {
            break stats;
        }
        guard.stuck(stats.sent + stats.received);
        std::thread::yield_now();
    };
    if let Err(fault) = account.expect_sound(stats) {
        accuse(&fault);
    }
    let missed: u64 = [2, 3]
        .map(|id| u64::from(account.of(id).unwrap().first))
        .iter()
        .sum();
    let ends = [2, 3].map(|id| account.of(id).unwrap().next);
    if missed + account.gaps != stats.lost || ends != [LEDGER_MESSAGES; 2] {
        accuse(&format!(
            "{missed} + {} missing, {stats:?}, to {ends:?}",
            account.gaps
        ));
    }
    say(format!("{} {}", stats.received, stats.lost));
    common::park();
}

#[test]
fn fanout_between_four_processes_accounts_for_every_message() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let options = RingOptions::capacity(LEDGER_CAPACITY);
    let _ring = FanoutShm::<Message>::create(&namespace, "topic", &options).unwrap();
    let total = 2 * u64::from(LEDGER_MESSAGES);
    let spawn = |role: String| {
        let mut child = Child::spawn(&role, dir.path());
        assert_eq!(child.listen(), "ready");
        child
    };
    let consumers: Vec<_> = (0..2)
        .map(|_| spawn(format!("count Fanout {total}")))
        .collect();
    let producers: Vec<_> = (2..4)
        .map(|id| spawn(format!("send Fanout {id} {LEDGER_MESSAGES}")))
        .collect();
    for mut consumer in consumers {
        let said = consumer.listen();
        println!("of {total} received and lost: {said}");
        let parts = said.split(' ').map(|part| part.parse::<u64>().unwrap());
        assert_eq!(parts.sum::<u64>(), total);
        consumer.finish();
    }
    producers.into_iter().for_each(Child::finish);
    expect_no_accusation(dir.path());
}

// ---- random kills

/// Receives for as long as it lives, and reports each broken promise.
fn receive(namespace: &Arc<Namespace>, kind: Kind) {
    let ring = ring(kind, namespace, "topic");
    let mut receiver = ring.receiver().unwrap();
    let mut account = Account::default();
    say("ready");
    for looks in 0_u64.. {
        if let Some(message) = receiver.recv() {
            account.take(&message);
        }
        if looks % 64 == 0 {
            // WHY not the whole ledger: while a sender is running, its counts are of different
            // moments.
            let fault = account.faults.first().cloned();
            let lost = receiver.stats().map_or(0, |stats| stats.lost);
            let gap = (kind.is_gated() && account.gaps + lost > 0).then(|| "a gap".to_owned());
            if let Some(fault) = fault.or(gap) {
                accuse(&fault);
            }
            std::thread::yield_now();
        }
    }
}

/// Returns a short time, random in a way that a failing run can repeat.
fn pause(dice: &mut Rng) -> Duration {
    Duration::from_micros(dice.u64(..1500))
}

/// Passes a few laps of messages of `id` from the sender to the receiver. With an empty lane and a
/// reader that receives at once, no send may be refused.
fn pass(
    sender: &mut Sender<Message>,
    receiver: &mut Receiver<Message>,
    account: &mut Account,
    id: u32,
) {
    let mut drain = || {
        while let Some(message) = receiver.recv() {
            account.take(&message);
        }
    };
    let end = 3 * CAPACITY as u32;
    for number in 0..end {
        // Receives the messages that the dead left, before the first send.
        drain();
        assert!(
            sender.send(&Message::new(id, number)),
            "message {number} of {id} was refused"
        );
    }
    drain();
    account.expect_all(id, 0, end).unwrap();
}

#[test]
fn a_consumer_outlives_producers_that_are_killed_at_random() {
    for kind in KINDS {
        let dir = shm_dir();
        let mut dice = Rng::with_seed(0x5eed_0001);
        let namespace = namespace(dir.path());
        let ring = Ring::<Message>::create(kind, &namespace, "topic");
        let mut receiver = ring.receiver().unwrap();
        let mut account = Account::default();
        let rounds = torture(KILL_ROUNDS);
        for round in 0..rounds {
            let mut child = Child::spawn(&format!("send {kind:?} {} 0", 2 + round), dir.path());
            assert_eq!(child.listen(), "ready", "{kind:?} round {round}");
            let end = Instant::now() + pause(&mut dice);
            while Instant::now() < end {
                receiver.recv().inspect(|message| account.take(message));
            }
            child.kill();
            while let Some(message) = receiver.recv() {
                account.take(&message);
            }
            let first = account.of(2 + round).map_or(0, |stream| stream.first);
            let missed = u64::from(first) + account.gaps;
            assert!(
                !kind.is_gated() || missed == 0,
                "{kind:?} round {round}: a gap"
            );
        }
        pass(
            &mut ring.sender().unwrap(),
            &mut receiver,
            &mut account,
            PARENT,
        );
        let stats = receiver.stats().unwrap();
        account.expect_sound(stats).unwrap();
        println!("{kind:?}: {rounds} producers killed, {stats:?}");
        assert_eq!(stats.waiting, 0);
    }
}

#[test]
fn a_producer_outlives_consumers_that_are_killed_at_random() {
    for kind in KINDS {
        let dir = shm_dir();
        let mut dice = Rng::with_seed(0x5eed_0002);
        let namespace = namespace(dir.path());
        let ring = Ring::<Message>::create(kind, &namespace, "topic");
        let mut sender = ring.sender().unwrap();
        let mut number = 0;
        let rounds = torture(KILL_ROUNDS);
        for round in 0..rounds {
            let mut child = Child::spawn(&format!("receive {kind:?}"), dir.path());
            assert_eq!(child.listen(), "ready", "{kind:?} round {round}");
            let end = Instant::now() + pause(&mut dice);
            while Instant::now() < end {
                number += u32::from(sender.send(&Message::new(PARENT, number)));
            }
            child.kill();
            // No dead reader holds the sender back.
            for _ in 0..3 * CAPACITY {
                send_soon(&mut sender, &Message::new(PARENT, number));
                number += 1;
            }
        }
        println!("{kind:?}: {rounds} consumers killed, {number} messages sent");
        expect_no_accusation(dir.path());
    }
}

#[test]
fn a_ring_outlives_both_of_its_endpoints_killed_at_random() {
    for kind in KINDS {
        let dir = shm_dir();
        let mut dice = Rng::with_seed(0x5eed_0003);
        let namespace = namespace(dir.path());
        let ring = Ring::<Message>::create(kind, &namespace, "topic");
        for round in 0..torture(KILL_ROUNDS) {
            let roles = [format!("receive {kind:?}"), format!("send {kind:?} 2 0")];
            let mut children = roles.map(|role| Child::spawn(&role, dir.path()));
            children
                .iter_mut()
                .for_each(|child| assert_eq!(child.listen(), "ready"));
            std::thread::sleep(pause(&mut dice));
            if dice.bool() {
                children.reverse();
            }
            children.iter_mut().for_each(Child::kill);
            let mut receiver = ring.receiver().unwrap();
            let mut sender = ring.sender().unwrap();
            let mut account = Account::default();
            let id = 3 + round;
            pass(&mut sender, &mut receiver, &mut account, id);
            account.expect_sound(receiver.stats().unwrap()).unwrap();
        }
        expect_no_accusation(dir.path());
    }
}

// ---- nothing leaks

#[test]
fn a_crash_loop_costs_no_lane_no_descriptor_and_no_file() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = Ring::<Message>::create(Kind::Fanout, &namespace, "topic");
    let mut receiver = ring.receiver().unwrap();
    let mut account = Account::default();
    let segment = Arc::clone(ring.segment().unwrap());
    let generation = |lane| &segment.lane_block(lane, Access::Read).unwrap().generation;
    let lanes = || 0..segment.shape().lane_limit();
    let extents = || -> u64 { lanes().map(|lane| generation(lane).load(Relaxed)).sum() };
    let mut before = None;
    for round in 0..CRASHES {
        let mut child = Child::spawn(&format!("send Fanout {} 0", 2 + round), dir.path());
        assert_eq!(child.listen(), "ready");
        account.take(&soon(|| receiver.recv()));
        child.kill();
        drop(child);
        let descriptors = spawn::open_descriptors(dir.path());
        let now = (extents(), descriptors, topic_files(&namespace));
        assert_eq!(
            before.get_or_insert_with(|| now.clone()),
            &now,
            "round {round}"
        );
    }
    assert_eq!(extents(), 1, "every producer had the same lane file");
    let epoch = segment
        .lane_block(0, Access::Read)
        .unwrap()
        .epoch
        .load(Relaxed);
    assert_eq!(epoch, u64::from(CRASHES));
    pass(
        &mut ring.sender().unwrap(),
        &mut receiver,
        &mut account,
        PARENT,
    );
    account.expect_sound(receiver.stats().unwrap()).unwrap();
}

#[test]
fn a_killed_reader_leaves_its_place_to_the_next() {
    for kind in [Kind::Fanout, Kind::Reliable] {
        let dir = shm_dir();
        let namespace = namespace(dir.path());
        let ring = Ring::<Message>::create(kind, &namespace, "topic");
        let first = ring.receiver().unwrap();
        for round in 0..20 {
            let mut child = Child::spawn(&format!("receive {kind:?}"), dir.path());
            assert_eq!(child.listen(), "ready", "{kind:?} round {round}");
            assert!(
                ring.receiver().is_err(),
                "{kind:?}: {PLACES} places, both taken"
            );
            child.kill();
        }
        let second = ring.receiver().unwrap();
        assert!(ring.receiver().is_err());
        drop((first, second));
    }
}

/// The sender died between its two stores, of the stamp and of the head.
#[test]
fn a_newcomer_gets_no_message_past_the_head_of_a_dead_sender() {
    for kind in KINDS {
        let dir = shm_dir();
        let namespace = namespace(dir.path());
        let ring = Ring::<Message>::create(kind, &namespace, "topic");
        let mut child = Child::spawn(&format!("send {kind:?} 2 3"), dir.path());
        let block = ring
            .segment()
            .unwrap()
            .lane_block(0, Access::Write)
            .unwrap();
        eventually("all are sent", || block.head.load(Relaxed) == 3);
        child.kill();
        block.head.store(2, Relaxed);
        let mut receiver = ring.receiver().unwrap();
        assert!(
            receiver.recv().is_none() && receiver.latest().is_none(),
            "{kind:?}"
        );
        let mut sender = ring.sender().unwrap();
        for number in 0..20 {
            send_soon(&mut sender, &Message::new(PARENT, number));
            let received = receiver.recv().and_then(|message| message.tag());
            assert_eq!(received, Some((PARENT, number)), "{kind:?}");
        }
    }
}

// ---- creation race

fn race_request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.lane_limit, request.reader_limit) = (Some(RACERS), Some(RACERS));
    request.capacity = Some(16);
    request
}

/// Opens the same fresh topic as all other racers at the parent's first signal, and exchanges a
/// message with each of them at the second one.
fn race(namespace: &Arc<Namespace>, id: u64) {
    let start = PodShm::<u64>::open(namespace, "start", &RingOptions::default()).unwrap();
    let mut start = start.consumer().unwrap();
    let mut signal = |wanted: u64| soon(|| start.latest().filter(|found| *found == wanted));
    say("ready");
    for round in 0..RACES {
        signal(2 * round + 1);
        let name = TopicName::new("race").unwrap();
        let segment = Segment::open_or_create(namespace, &name, &race_request()).unwrap();
        let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
        let mut producer = Producer::<u64>::new(raw);
        let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
        let mut consumer = Consumer::<u64>::new(raw);
        let file = File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
        say(file.metadata().unwrap().ino());
        signal(2 * round + 2);
        producer.send(id).unwrap();
        let mut seen = 0_u64;
        soon(|| {
            seen |= consumer.recv().map_or(0, |id| 1 << id);
            (seen == (1 << RACERS) - 1).then_some(())
        });
        drop((producer, consumer, segment));
        say("left");
    }
    common::park();
}

#[test]
fn racing_creators_end_on_one_file_and_the_last_to_leave_removes_it() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let start = PodShm::<u64>::create(&namespace, "start", &RingOptions::default()).unwrap();
    let mut start = start.producer().unwrap();
    let spawn = |id: u32| Child::spawn(&format!("race {id}"), dir.path());
    let mut racers: Vec<_> = (0..RACERS).map(spawn).collect();
    racers
        .iter_mut()
        .for_each(|racer| assert_eq!(racer.listen(), "ready"));
    let mut left_behind = 0;
    for round in 0..RACES {
        start.send(2 * round + 1).unwrap();
        let inodes: Vec<_> = racers.iter_mut().map(Child::listen_u64).collect();
        assert!(
            inodes.iter().all(|inode| *inode == inodes[0]),
            "round {round}: {inodes:?}"
        );
        start.send(2 * round + 2).unwrap();
        racers
            .iter_mut()
            .for_each(|racer| assert_eq!(racer.listen(), "left"));
        let files = topic_files(&namespace);
        left_behind += u32::from(files != ["start"]);
    }
    racers.into_iter().for_each(Child::finish);
    println!("{RACES} races, {left_behind} files left by the last process");
    sweep(&namespace).unwrap();
    assert_eq!(topic_files(&namespace), ["start"]);
    assert_eq!(left_behind, 0);
}

#[test]
fn a_killed_process_is_dead_to_others_soon() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = Ring::<Message>::create(Kind::Spsc, &namespace, "topic");
    let mut child = Child::spawn("send Spsc 2 0", dir.path());
    assert_eq!(child.listen(), "ready");
    assert!(ring.sender().is_err());
    child.signal(libc::SIGKILL);
    eventually("the only lane is free", || ring.sender().is_ok());
}
