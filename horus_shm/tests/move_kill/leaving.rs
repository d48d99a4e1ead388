//! A subscriber that is stopped while it leaves a file that it has read to the end. The file has
//! its name back, and publishers send in it meanwhile.

use std::ffi::OsString;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use horus_shm::internals::{check_names_now, forbid_name_watch_thread};
use horus_shm::{Namespace, OnStalled, RawConsumer, RawProducer, ReadMode};

use super::{MESSAGES, TOPIC, open, receive, send};
use crate::common::{park, say};
use crate::spawn;
use crate::tracer::{Stop, Victim, be_traced, mark};

/// More than the time between two looks whether a file still has publishers.
const OWNER_CHECK_PERIOD: Duration = Duration::from_millis(20);

/// Receives, moves, and leaves the former file between two marks. Then it returns to that file, and
/// prints its counters and what it has received.
pub(super) fn leave() {
    be_traced();
    let segment = open(&spawn::inherited_namespace());
    let mut reader = RawConsumer::new(segment, ReadMode::KeepLast).unwrap();
    mark();
    let mut received = receive(&mut reader);
    mark();
    // The file has another name, and a lane that cannot be mapped.
    check_names_now();
    received.extend(receive(&mut reader));
    thread::sleep(OWNER_CHECK_PERIOD);
    mark();
    // The file has its name back, and no publisher.
    let mut message = [0; 8];
    if reader.recv_bytes(&mut message).is_some() {
        received.push(u64::from_le_bytes(message));
    }
    mark();
    check_names_now();
    received.extend(receive(&mut reader));
    let stats = reader.stats();
    let ledger = [stats.sent, stats.received, stats.lost, stats.waiting];
    say(ledger
        .into_iter()
        .chain(received)
        .fold(String::new(), |line, number| format!("{line} {number}")));
    mark();
    park();
}

fn names_in(namespace: &Namespace) -> Vec<OsString> {
    let entries = fs::read_dir(namespace.topics_path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

/// WHY: all messages that were sent in the file before the look whether it is read to the end
/// belong to the ledger of that file, and all others to what the subscriber finds when it returns.
#[test]
fn a_subscriber_stopped_while_it_leaves_a_file_misses_no_message() {
    forbid_name_watch_thread();
    let mut stops = 0;
    loop {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let producer = || RawProducer::new(open(&namespace), OnStalled::Full).unwrap();
        let topic = namespace.topics_path().join(TOPIC);
        let away = namespace.topics_path().with_file_name("away");
        let mut victim = Victim::spawn("leave", dir.path());
        let [mut moving, mut staying, mut read] = [(); 3].map(|()| producer());
        send(&mut moving, 1, 0..MESSAGES);
        send(&mut staying, 2, 0..MESSAGES);
        send(&mut read, 3, 0..MESSAGES);
        victim.run_to_mark();
        let before = names_in(&namespace);
        let mut unread = producer();
        send(&mut unread, 4, 0..MESSAGES);
        let new = names_in(&namespace);
        let new: Vec<_> = new.iter().filter(|name| !before.contains(name)).collect();
        assert_eq!(new.len(), 1, "{new:?}");
        fs::remove_file(namespace.topics_path().join(new[0])).unwrap();
        drop((read, unread));
        fs::rename(&topic, &away).unwrap();
        check_names_now();
        send(&mut moving, 1, MESSAGES..2 * MESSAGES);
        victim.run_to_mark();
        fs::rename(&away, &topic).unwrap();
        check_names_now();
        let former = Arc::clone(staying.segment());
        drop(staying);
        let has_ended = (0..=stops).any(|_| victim.run_to_system_call() == Stop::Mark);
        let mut late: Vec<_> = (5..=8).map(|sender| (sender, producer())).collect();
        for (sender, producer) in &mut late {
            assert!(producer.segment().is_same_file(&former));
            send(producer, *sender, 0..MESSAGES);
        }
        send(&mut moving, 1, 2 * MESSAGES..3 * MESSAGES);
        assert!(moving.segment().is_same_file(&former));
        if !has_ended {
            victim.run_to_mark();
        }
        victim.run_to_mark();
        let line = victim.listen();
        let mut numbers = line
            .split_whitespace()
            .map(|number| number.parse().unwrap());
        let ledger: Vec<u64> = numbers.by_ref().take(4).collect();
        let mut received: Vec<u64> = numbers.collect();
        received.sort_unstable();
        let of = |sender: u64, end| (0..end).map(move |number| sender << 32 | number);
        let all = of(1, 3 * MESSAGES)
            .chain(of(2, MESSAGES))
            .chain(of(3, MESSAGES));
        let late = (5..=8).flat_map(|sender| of(sender, MESSAGES));
        let all: Vec<_> = all.chain(late).collect();
        assert_eq!(received, all, "stop {stops}");
        let count = all.len() as u64;
        let expected = [count + MESSAGES, count, MESSAGES, 0];
        assert_eq!(
            ledger, expected,
            "stop {stops}: sent, received, lost, waiting"
        );
        if has_ended {
            break;
        }
        stops += 1;
    }
    println!("| {stops} stops at system calls |");
    assert!(stops > 10, "{stops} stops");
}
