//! Waiting between processes that are killed, stopped, or on a kernel that refuses a needed call.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod confine;
mod sleeper;
mod spawn;
mod stream;
mod tracer;

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox, channel};
use std::thread;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::owner::OWNER_HELD_BIT;
use horus_shm::internals::sync::Word as _;
use horus_shm::internals::wait::{SLEEP_MAX, timed_out_sleep_count};
use horus_shm::{Access, Namespace, Request, Segment, WakeBarrier};

use common::{Child, eventually, role, say};
use confine::refuse;
use sleeper::{
    Message, Receiver, Sender, asleep, consumer, producer, reliable, request, room_waiters,
    room_wakes, topic, waiters, wakes,
};
use spawn::{die_with_parent, inherited_namespace, namespace, shm_dir};
use tracer::{Victim, be_traced, mark};

const EDGES: [WakeBarrier; 2] = [WakeBarrier::Membarrier, WakeBarrier::Fence];
/// The wakes in a row that wake no thread, after which dead sleepers are removed.
const FRUITLESS_WAKES_MAX: u64 = 8;
/// Messages through a process whose kernel refuses a call: less than a lap.
const MESSAGES: u64 = 200;

fn roomy() -> Request {
    let mut request = request(WakeBarrier::Membarrier);
    request.capacity = Some(MESSAGES.next_power_of_two());
    request
}

fn one_of_each(mut request: Request) -> Request {
    (request.reader_limit, request.lane_limit) = (Some(2), Some(1));
    request
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.split(' ').collect();
    let edge = |word| {
        EDGES
            .into_iter()
            .find(|edge| format!("{edge:?}") == word)
            .unwrap()
    };
    match words[..] {
        ["sleep", word] => sleep(&inherited_namespace(), edge(word)),
        ["wait-for-room", word] => wait_for_room(&inherited_namespace(), edge(word)),
        ["send-traced", word] => send_traced(&inherited_namespace(), edge(word)),
        ["receive-without", call, set] => receive_without(call, set == "set"),
        ["send-without", call] => send_without(call),
        _ => panic!("no such role: {role}"),
    }
}

fn sleep(namespace: &Arc<Namespace>, edge: WakeBarrier) {
    die_with_parent();
    let segment = topic(Some(namespace), "topic", &one_of_each(request(edge)));
    let mut reader = consumer(&segment);
    say("ready");
    let _ = reader.recv_until(asleep());
}

#[test]
fn the_bit_of_a_killed_sleeper_costs_a_few_wakes_and_no_more() {
    for edge in EDGES {
        let dir = shm_dir();
        let namespace = namespace(dir.path());
        let segment = topic(Some(&namespace), "topic", &one_of_each(request(edge)));
        let mut writer = producer(&segment);
        let mut child = Child::spawn(&format!("sleep {edge:?}"), dir.path());
        assert_eq!(child.listen(), "ready");
        eventually("the child sleeps", || waiters(&segment) != 0);
        child.kill();
        assert_ne!(
            waiters(&segment),
            0,
            "the bit of a dead process stays at first"
        );
        let mut sends = 0;
        while waiters(&segment) != 0 && sends < 100 {
            sends += 1;
            writer.send([0, sends, 0]).unwrap();
        }
        assert!(
            sends <= FRUITLESS_WAKES_MAX,
            "{edge:?}: {sends} sends called the kernel"
        );
        let before = wakes(&segment);
        (0..1000).for_each(|n| writer.send([0, n, 0]).unwrap());
        assert_eq!(
            wakes(&segment),
            before,
            "{edge:?}: sends still call the kernel"
        );
        assert_eq!(segment.subscriber_count(), 0);
        let places = [consumer(&segment), consumer(&segment)];
        assert_eq!(
            segment.subscriber_count(),
            places.len(),
            "every place is free again"
        );
        let mut out = std::io::stdout().lock();
        let _ = writeln!(
            out,
            "{edge:?}: bit reaped after {sends} sends, {before} wakes in all"
        );
    }
}

/// Also while a live process, which may be stopped, holds its place to free it.
#[test]
fn the_bit_of_a_killed_sleeper_goes_although_its_place_is_held() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let request = one_of_each(request(WakeBarrier::Membarrier));
    let segment = topic(Some(&namespace), "topic", &request);
    let mut writer = producer(&segment);
    let mut child = Child::spawn("sleep Membarrier", dir.path());
    assert_eq!(child.listen(), "ready");
    eventually("the child sleeps", || waiters(&segment) != 0);
    let _live = consumer(&segment);
    child.kill();
    let [dead, live] = [0, 1].map(|place| segment.reader_block(place, Access::Write).unwrap());
    dead.owner.set(live.owner.get() | OWNER_HELD_BIT);
    for number in 0..FRUITLESS_WAKES_MAX {
        assert_ne!(waiters(&segment), 0, "after {number} sends");
        writer.send([0, number, 0]).unwrap();
    }
    assert_eq!(waiters(&segment), 0);
    dead.owner.set(0);
}

fn wait_for_room(namespace: &Arc<Namespace>, edge: WakeBarrier) {
    die_with_parent();
    let segment = topic(Some(namespace), "topic", &one_of_each(reliable(edge, 2)));
    let mut writer = producer(&segment);
    for number in 0..3 {
        writer.send_until(asleep(), &[0, number, 0]).unwrap();
    }
}

#[test]
fn the_bit_of_a_publisher_killed_waiting_for_room_goes_too() {
    for edge in EDGES {
        let dir = shm_dir();
        let namespace = namespace(dir.path());
        let segment = topic(Some(&namespace), "topic", &one_of_each(reliable(edge, 2)));
        let mut reader = consumer(&segment);
        let mut child = Child::spawn(&format!("wait-for-room {edge:?}"), dir.path());
        eventually("the child waits", || room_waiters(&segment) != 0);
        child.kill();
        assert_ne!(
            room_waiters(&segment),
            0,
            "the bit of a dead process stays at first"
        );
        assert_eq!(reader.recv(), Some([0, 0, 0]));
        assert_eq!(reader.recv(), Some([0, 1, 0]));
        for _ in 0..FRUITLESS_WAKES_MAX {
            assert_eq!(reader.recv(), None);
        }
        assert_eq!(room_waiters(&segment), 0, "{edge:?}");
        let before = room_wakes(&segment);
        let mut writer = producer(&segment);
        for number in 0..100 {
            writer.send([1, number, 0]).unwrap();
            assert_eq!(reader.recv(), Some([1, number, 0]), "the lane goes on");
        }
        assert_eq!(
            room_wakes(&segment),
            before,
            "{edge:?}: reads still call the kernel"
        );
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{edge:?}: room bit reaped after {before} wakes");
    }
}

fn send_traced(namespace: &Arc<Namespace>, edge: WakeBarrier) {
    horus_shm::internals::forbid_name_watch_thread();
    let segment = topic(Some(namespace), "topic", &request(edge));
    let mut sender = Sender::new(&segment, 0);
    sender.send();
    be_traced();
    loop {
        mark();
        sender.send();
        mark();
    }
}

/// Starts a thread that sleeps for one message at each request.
fn sleeping_reader(segment: &Arc<Segment>) -> (Outbox<()>, Inbox<(Message, u64)>) {
    let (ask, asked) = channel();
    let (answer, answers) = channel();
    let mut reader = consumer(segment);
    thread::spawn(move || {
        for () in asked {
            let before = timed_out_sleep_count();
            let message = reader.recv_until(asleep()).expect("a message");
            let _ = answer.send((message, timed_out_sleep_count() - before));
        }
    });
    (ask, answers)
}

/// The sender is stopped at many points of a send with a sleeping reader. A published message
/// arrives, although the sender is stopped before it wakes a reader.
#[test]
fn a_message_of_a_sender_stopped_before_the_wake_arrives_all_the_same() {
    let torture = std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1");
    for edge in EDGES {
        let dir = shm_dir();
        let namespace = namespace(dir.path());
        let segment = topic(Some(&namespace), "topic", &request(edge));
        let (mut look, (ask, answers)) = (consumer(&segment), sleeping_reader(&segment));
        let mut victim = Victim::spawn(&format!("send-traced {edge:?}"), dir.path());
        ask.send(()).unwrap();
        answers.recv().unwrap();
        assert!(look.recv().is_some());
        let is_asleep = || waiters(&segment) != 0;
        // Counts the instructions of a send that wakes a reader.
        ask.send(()).unwrap();
        eventually("the reader sleeps", is_asleep);
        let instructions = victim.step(u64::MAX);
        answers.recv().unwrap();
        assert!(look.recv().is_some());
        let step = if torture { 1 } else { instructions / 40 + 1 };
        let mut points = 0;
        let mut early = 0;
        let mut slices = 0;
        for point in (1..instructions).step_by(step as usize) {
            victim.run_to_mark();
            ask.send(()).unwrap();
            eventually("the reader sleeps", is_asleep);
            if victim.step(point) < point {
                // This send took another path, because it had to wake a reader.
                answers.recv().unwrap();
                assert!(look.recv().is_some());
                continue;
            }
            let published = look.recv();
            let arrived = published.map(|_| answers.recv().unwrap());
            victim.run_to_mark();
            let (message, overslept) = arrived.unwrap_or_else(|| answers.recv().unwrap());
            assert_eq!(published.or_else(|| look.recv()), Some(message));
            points += 1;
            early += u64::from(published.is_some());
            slices += if published.is_some() { overslept } else { 0 };
        }
        assert!(
            early > 0 && slices > 0,
            "{edge:?}: never stopped between publishing and waking"
        );
        let mut out = std::io::stdout().lock();
        let _ = writeln!(
            out,
            "{edge:?}: stopped at {points} of {instructions} points, {early} after publishing, \
             {slices} slices"
        );
    }
}

fn call_number(name: &str) -> (i64, i32) {
    match name {
        "membarrier" => (libc::SYS_membarrier, libc::EPERM),
        "futex_waitv" => (libc::SYS_futex_waitv, libc::ENOSYS),
        // As seccomp filters of older container runtimes refuse a call that they do not know.
        "forbidden-futex_waitv" => (libc::SYS_futex_waitv, libc::EPERM),
        _ => panic!("no such call: {name}"),
    }
}

fn receive_without(call: &str, in_set: bool) {
    die_with_parent();
    let (number, error) = call_number(call);
    refuse(number, error);
    let namespace = inherited_namespace();
    let open = |name| topic(Some(&namespace), name, &roomy());
    let segment = open("topic");
    let silent = open("silent");
    let mut receiver = match in_set {
        true => Receiver::in_set(consumer(&segment), vec![consumer(&silent)]),
        false => Receiver::new(consumer(&segment)),
    };
    // WHY not once: on a busy machine, sleeps end late, and then few of them fit in. A thread that
    // sleeps for whole slices makes two in each round.
    let mut rounds = (0..50).map(|_| receiver.wait_in_vain(2 * SLEEP_MAX));
    let polls = rounds.find(|&sleeps| sleeps > 2).unwrap_or(2);
    say("ready");
    let numbers: Vec<_> = (0..MESSAGES).map(|_| receiver.receive()[1]).collect();
    assert!(numbers.into_iter().eq(0..MESSAGES));
    say(polls);
    common::park();
}

/// Sends a message whenever the child is asleep; returns how often the child had polled in two
/// slices without a message.
fn feed(role: &str) -> u64 {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let segment = topic(Some(&namespace), "topic", &roomy());
    let mut child = Child::spawn(role, dir.path());
    assert_eq!(child.listen(), "ready");
    let mut sender = Sender::new(&segment, 0);
    for _ in 0..MESSAGES {
        eventually("the child sleeps", || waiters(&segment) != 0);
        sender.send();
    }
    let polls = child.listen_u64();
    child.finish();
    polls
}

#[test]
fn a_waiter_that_may_make_no_barriers_looks_every_millisecond() {
    for role in [
        "receive-without membarrier one",
        "receive-without membarrier set",
    ] {
        let polls = feed(role);
        let mut out = std::io::stdout().lock();
        let _ = writeln!(
            out,
            "{role}: {MESSAGES} messages, {polls} sleeps in two slices"
        );
        assert!(polls > 2, "it slept longer than a poll period");
    }
}

#[test]
fn a_set_without_futex_waitv_gets_every_message_and_sleeps_a_millisecond_at_a_time() {
    for call in ["futex_waitv", "forbidden-futex_waitv"] {
        let polls = feed(&format!("receive-without {call} set"));
        let mut out = std::io::stdout().lock();
        let _ = writeln!(
            out,
            "no {call}: {MESSAGES} messages, {polls} sleeps in two slices"
        );
        assert!(polls > 2, "nothing was refused");
        let polls_max = (2 * SLEEP_MAX).as_millis() as u64 + 2;
        assert!(
            polls <= polls_max,
            "{call}: {polls} polls, it did not sleep"
        );
    }
}

fn send_without(call: &str) {
    die_with_parent();
    let (number, error) = call_number(call);
    refuse(number, error);
    let namespace = inherited_namespace();
    let segment = topic(Some(&namespace), "topic", &roomy());
    let mut sender = Sender::new(&segment, 0);
    for _ in 0..MESSAGES {
        eventually("the parent sleeps", || waiters(&segment) != 0);
        sender.send();
    }
    common::park();
}

#[test]
fn a_sender_that_barriers_do_not_reach_wakes_all_the_same() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let segment = topic(Some(&namespace), "topic", &roomy());
    let mut receiver = Receiver::new(consumer(&segment));
    let child = Child::spawn("send-without membarrier", dir.path());
    for number in 0..MESSAGES {
        assert_eq!(receiver.receive()[1], number);
    }
    assert_eq!(receiver.lost_wakes, 0);
    child.finish();
}
