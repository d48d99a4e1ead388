//! Snapshots for tools: a process that reads the counters and settings of endpoints is stopped at
//! each of its system calls. Meanwhile an endpoint is killed, and one of another process takes its
//! place. The snapshot shows the one or the other, and no mixture.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod spawn;
mod stream;
mod tracer;

use std::sync::Arc;

use horus_shm::internals::forbid_name_watch_thread;
use horus_shm::{
    Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Reliability, Request, Segment,
    TopicName, TypeInfo,
};

use common::Child;
use tracer::{Victim, be_traced, mark};

/// The number of messages in the lane: those that the first reader receives.
const MESSAGES: u64 = 3;

fn open(namespace: &Arc<Namespace>, reliability: Reliability) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.reliability = Some(reliability);
    request.capacity = Some(16);
    Segment::open_or_create(namespace, &TopicName::new("seen").unwrap(), &request).unwrap()
}

fn publisher(namespace: &Arc<Namespace>, reliability: Reliability) -> RawProducer {
    RawProducer::new(open(namespace, reliability), OnStalled::Full).unwrap()
}

fn reader(namespace: &Arc<Namespace>, reading: ReadMode) -> RawConsumer {
    RawConsumer::new(open(namespace, Reliability::Reliable), reading).unwrap()
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    forbid_name_watch_thread();
    let namespace = spawn::inherited_namespace();
    match role.as_str() {
        "reader" => {
            spawn::die_with_parent();
            let mut reader = reader(&namespace, ReadMode::KeepLast);
            common::say("here");
            let mut message = [0; 8];
            let mut received = 0;
            while received < MESSAGES {
                received += u64::from(reader.recv_bytes(&mut message).is_some());
            }
            common::say("received");
            common::park();
        }
        "best-effort publisher" => {
            spawn::die_with_parent();
            let _publisher = publisher(&namespace, Reliability::BestEffort);
            common::say("here");
            common::park();
        }
        what => look(&namespace, what),
    }
}

/// Takes a snapshot between two marks, and prints it.
fn look(namespace: &Arc<Namespace>, what: &str) {
    let topic = open(namespace, Reliability::Reliable);
    be_traced();
    mark();
    let shown = match what {
        "readers" => shown(topic.reader_counters(), |reader| {
            (reader.subscriber.owner_id, reader.received)
        }),
        "lanes" => shown(topic.lane_counters(), |lane| {
            let publisher = lane.publisher.as_ref();
            (publisher.map_or(0, |who| who.owner_id), lane.claims)
        }),
        "pairs" => shown(topic.unmatched_pairs(), |pair| (pair.publisher.owner_id, 0)),
        "match settings" => shown(topic.joined_readers(), |reader| {
            let is_reliable = reader.match_settings.reliability == Reliability::Reliable;
            (reader.owner_id, is_reliable.into())
        }),
        _ => panic!("{what}"),
    };
    common::say(shown);
    mark();
    common::park();
}

/// Returns a line with the process of each endpoint and a number.
fn shown<T>(found: Vec<T>, of: impl Fn(&T) -> (u64, u64)) -> String {
    let pairs = found.iter().map(|one| {
        let (owner, number) = of(one);
        format!("{owner}:{number}")
    });
    format!("seen {}", pairs.collect::<Vec<_>>().join(" "))
}

/// Runs a victim to the entry of a system call, after `earlier` of them. Returns false if it comes
/// to its mark first.
fn run_to_call(victim: &mut Victim, earlier: u64) -> bool {
    for _ in 0..earlier {
        if victim.next_call().is_none() {
            return false;
        }
        victim.end_call();
    }
    victim.next_call().is_some()
}

/// Starts the endpoint `first`, and stops a process that looks at `what` at each of its system
/// calls. There, kills the first endpoint and calls `second`, which opens one in its place. Checks
/// that the look shows `numbers`: that of the first endpoint, or that of the second.
fn swap_endpoints<E>(
    (first, what): (&str, &str),
    numbers: [Option<u64>; 2],
    mut second: impl FnMut(&Arc<Namespace>) -> E,
) {
    forbid_name_watch_thread();
    for stops in 0.. {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        // An endpoint that stays: a publisher for a reader, and a reader for a publisher.
        let mut lane = (first == "reader").then(|| publisher(&namespace, Reliability::Reliable));
        let mut child = Child::spawn(first, dir.path());
        assert_eq!(child.listen(), "here");
        let topic = open(&namespace, Reliability::Reliable);
        let find = |topic: &Segment| match first {
            "reader" => topic.live_subscribers()[0],
            _ => topic.live_publishers()[0],
        };
        if let Some(lane) = &mut lane {
            (0..MESSAGES).for_each(|_| lane.send_bytes(&[0; 8]).unwrap());
            assert_eq!(child.listen(), "received");
        }
        let before = find(&topic);
        let _awaiting = (first != "reader").then(|| reader(&namespace, ReadMode::Gated));
        let mut victim = Victim::spawn(what, dir.path());
        if !run_to_call(&mut victim, stops) {
            assert!(stops > 2, "a look without system calls");
            break;
        }
        child.kill();
        let _second = second(&namespace);
        let after = find(&topic);
        assert_eq!(before.place, after.place);
        victim.end_call();
        victim.run_to_mark();
        let said = victim.listen();
        let of = |owner: u64, number: Option<u64>| number.map(|number| format!("{owner}:{number}"));
        let [first, second] = numbers;
        let expected = [of(before.owner_id, first), of(after.owner_id, second)];
        let expected = expected.map(Option::unwrap_or_default);
        assert!(
            expected
                .iter()
                .any(|expected| said == format!("seen {expected}").trim_end()),
            "stop {stops}: {said:?} was shown, wanted one of {expected:?}"
        );
    }
}

#[test]
fn counters_of_a_reader_are_those_of_its_process() {
    swap_endpoints(
        ("reader", "readers"),
        [Some(MESSAGES), Some(0)],
        |namespace| reader(namespace, ReadMode::KeepLast),
    );
}

#[test]
fn the_match_settings_of_a_reader_are_those_of_its_process() {
    swap_endpoints(
        ("reader", "match settings"),
        [Some(0), Some(1)],
        |namespace| reader(namespace, ReadMode::Gated),
    );
}

#[test]
fn counters_of_a_lane_name_the_publisher_of_that_claim() {
    let ends = ("best-effort publisher", "lanes");
    swap_endpoints(ends, [Some(1), Some(2)], |namespace| {
        publisher(namespace, Reliability::Reliable)
    });
}

#[test]
fn a_publisher_that_matches_is_not_listed_with_its_predecessors_settings() {
    let ends = ("best-effort publisher", "pairs");
    swap_endpoints(ends, [Some(0), None], |namespace| {
        publisher(namespace, Reliability::Reliable)
    });
}
