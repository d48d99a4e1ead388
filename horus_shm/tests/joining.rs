//! A reader that joins while a publisher sends its first message. The reader is held at each system
//! call of its join, and the publisher, in one test, within its takeover. The reader gets the
//! message, either as a new one or as history.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;
mod spawn;
mod stream;
mod tracer;

use std::path::Path;
use std::sync::Arc;

use horus_shm::{
    Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Reliability, Request, Segment,
    TopicName, TypeInfo,
};
use horus_testing::PointSample;

use tracer::{Stop, Victim, be_traced, mark};

/// The message of the publisher that sends while the reader joins.
const FIRST: u64 = 7;

/// The number of calls in which the reader looks for messages.
const CALLS: u32 = 16;

/// The number of messages that an earlier publisher of the lane has sent.
const FORMER_MESSAGES: u64 = 5;

const READINGS: [(&str, ReadMode); 3] = [
    ("join gated", ReadMode::Gated),
    ("join keep-last", ReadMode::KeepLast),
    ("join as observer", ReadMode::Observer),
];

/// A publisher, by what it offers.
#[derive(Debug, Clone, Copy)]
struct Offered {
    is_pinnable: bool,
    is_latched: bool,
    history: u32,
}

impl Offered {
    fn request(self) -> Request {
        let mut request = Request::new(TypeInfo::opaque::<u64>());
        request.reliability = Some(Reliability::Reliable);
        request.capacity = Some(16);
        request.history = Some(self.history);
        request.pinnable = Some(self.is_pinnable);
        request.persists = Some(self.is_latched);
        request
    }

    fn producer(self, namespace: &Arc<Namespace>) -> RawProducer {
        RawProducer::new(open(namespace, &self.request()), OnStalled::Full).unwrap()
    }

    /// Sends some messages, and leaves the lane.
    fn send_and_leave(self, namespace: &Arc<Namespace>) {
        let mut producer = self.producer(namespace);
        for number in 0..FORMER_MESSAGES {
            producer.send_bytes(&(100 + number).to_le_bytes()).unwrap();
        }
    }

    /// Returns the name of the role of a child that offers this.
    fn role(self) -> String {
        format!("send {self:?}")
    }
}

fn open(namespace: &Arc<Namespace>, request: &Request) -> Arc<Segment> {
    Segment::open_or_create(namespace, &TopicName::new("first").unwrap(), request).unwrap()
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let role = common::role();
    let reading = READINGS
        .iter()
        .find(|(name, _)| Some(*name) == role.as_deref());
    if let Some((_, reading)) = reading {
        join(*reading);
    }
    if let Some(offered) = offers().find(|offered| role == Some(offered.role())) {
        send_first(offered);
    }
}

/// Sends the first message as a new publisher of the topic.
fn send_first(offered: Offered) {
    be_traced();
    let segment = open(&spawn::inherited_namespace(), &offered.request());
    mark();
    let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    producer.send_bytes(&FIRST.to_le_bytes()).unwrap();
    mark();
    common::park();
}

/// Joins the topic, and prints what it receives.
fn join(reading: ReadMode) {
    be_traced();
    let request = Request::new(TypeInfo::opaque::<u64>());
    let segment = open(&spawn::inherited_namespace(), &request);
    mark();
    let mut reader = RawConsumer::new(segment, reading).unwrap();
    mark();
    let mut message = [0; 8];
    let mut received = Vec::new();
    // WHY several calls: one may only find another extent of the lane.
    for _ in 0..CALLS {
        if reader.recv_bytes(&mut message).is_some() {
            received.push(u64::from_le_bytes(message));
        }
    }
    common::say(format_args!("{received:?}, lost {}", reader.stats().lost));
    mark();
    common::park();
}

/// Holds a reader at the system call `stop` of its join, counted from 0, while `send` sends.
/// Returns what the reader prints then, and true if it had joined before that system call.
fn join_during<P>(role: &str, dir: &Path, stop: usize, send: impl FnOnce() -> P) -> (String, bool) {
    let mut reader = Victim::spawn(role, dir);
    let has_joined = (0..=stop).any(|_| reader.run_to_system_call() == Stop::Mark);
    let _producer = send();
    if !has_joined {
        reader.run_to_mark();
    }
    reader.run_to_mark();
    (reader.listen(), has_joined)
}

/// Holds readers at the system calls of a sample, while the function that `scene` returns sends.
/// `scene` gets the namespace and its directory. What sends lives until the reader has received.
fn sweep<P>(
    case: &str,
    role: &str,
    scene: impl Fn(&Arc<Namespace>, &Path) -> Box<dyn FnOnce() -> P>,
) {
    for stop in PointSample::every(5).points() {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        // WHY: the topic lives, although nobody sends.
        let _topic = open(&namespace, &Request::new(TypeInfo::opaque::<u64>()));
        let send = scene(&namespace, dir.path());
        let (received, has_joined) = join_during(role, dir.path(), stop, send);
        assert_eq!(
            received,
            format!("[{FIRST}], lost 0"),
            "{case}, {role}, {stop}"
        );
        if has_joined {
            println!("| {case} | {role} | {stop} system calls |");
            assert!(stop > 4, "{stop} system calls");
            return;
        }
    }
}

fn offers() -> impl Iterator<Item = Offered> {
    [(false, false), (false, true), (true, false), (true, true)]
        .into_iter()
        .map(|(is_pinnable, is_latched)| Offered {
            is_pinnable,
            is_latched,
            history: 2,
        })
}

#[test]
fn a_reader_gets_the_first_message_of_a_lane_that_is_sent_while_it_joins() {
    for offered in offers() {
        for (role, _) in READINGS {
            sweep(&format!("{offered:?}"), role, |namespace, _| {
                let mut producer = offered.producer(namespace);
                Box::new(move || {
                    producer.send_bytes(&FIRST.to_le_bytes()).unwrap();
                    Some(producer)
                })
            });
        }
    }
}

/// The reader has seen the lane without an owner.
#[test]
fn a_reader_gets_the_first_message_of_a_publisher_that_takes_over_a_lane_while_it_joins() {
    for offered in offers() {
        for (role, _) in READINGS {
            sweep(&format!("{offered:?} again"), role, |namespace, _| {
                let former = Offered {
                    is_latched: false,
                    ..offered
                };
                former.send_and_leave(namespace);
                let namespace = Arc::clone(namespace);
                Box::new(move || {
                    let mut producer = offered.producer(&namespace);
                    producer.send_bytes(&FIRST.to_le_bytes()).unwrap();
                    // What is latched stays when its publisher has left.
                    (!offered.is_latched).then_some(producer)
                })
            });
        }
    }
}

/// The reader looks at a lane whose next publisher has counted its claim, but has not shown its
/// history yet. That one needs an extent (file of slots) of its own, which takes system calls.
#[test]
fn a_reader_that_joins_during_a_takeover_gets_the_first_message() {
    for offered in offers() {
        for (role, _) in READINGS {
            sweep(&format!("{offered:?} held"), role, |namespace, dir| {
                let former = Offered {
                    is_latched: false,
                    history: 0,
                    ..offered
                };
                former.send_and_leave(namespace);
                let mut producer = taking_over(namespace, dir, offered);
                Box::new(move || {
                    producer.run_to_mark();
                    producer
                })
            });
        }
    }
}

/// Starts a publisher in a process of its own, and holds it after it has counted its claim of the
/// only lane that was used before.
fn taking_over(namespace: &Arc<Namespace>, dir: &Path, offered: Offered) -> Victim {
    let topic = open(namespace, &Request::new(TypeInfo::opaque::<u64>()));
    let claims = topic.lane_claims(0);
    let mut producer = Victim::spawn(&offered.role(), dir);
    while topic.lane_claims(0) == claims {
        assert_eq!(producer.run_to_system_call(), Stop::SystemCall);
    }
    let shown: Vec<_> = topic.offers().into_iter().map(|(lane, _)| lane).collect();
    assert_eq!(shown, [0]);
    assert_eq!(topic.offers()[0].1.history, 0, "it has shown its history");
    producer
}
