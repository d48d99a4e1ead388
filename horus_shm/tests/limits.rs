//! The limits of a topic: all places within a limit can be opened. One more endpoint is refused
//! with that limit, and opened as soon as a place is free because of a leave or a death.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod spawn;

use std::sync::Arc;

use horus_shm::{
    Consumer, Namespace, OnStalled, OpenError, Producer, RawConsumer, RawProducer, ReadMode,
    Reliability, Request, Segment, TopicName, TypeInfo,
};
use tempfile::TempDir;

use common::{Child, park, say, show};

/// The number of processes over which the endpoints are spread, this one included.
const PROCESSES: u32 = 4;

/// The three kinds of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Publisher,
    Subscriber,
    Reliable,
}

impl End {
    const ALL: [Self; 3] = [Self::Publisher, Self::Subscriber, Self::Reliable];

    fn parse(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|end| format!("{end:?}") == name)
            .unwrap()
    }

    /// Returns the number of places of a topic with default settings.
    const fn limit(self) -> u32 {
        match self {
            Self::Publisher | Self::Subscriber | Self::Reliable => 64,
        }
    }

    /// Returns the error text for an endpoint that finds no place.
    const fn refusal(self) -> &'static str {
        match self {
            Self::Publisher => "all 64 places of publishers are taken",
            Self::Subscriber | Self::Reliable => "all 64 places of subscribers are taken",
        }
    }

    fn open(self, segment: &Arc<Segment>) -> Result<Open, OpenError> {
        let segment = Arc::clone(segment);
        let reader = |reading| RawConsumer::new(segment.clone(), reading).map(Consumer::new);
        Ok(match self {
            Self::Publisher => {
                let raw = RawProducer::new(segment, OnStalled::Full)?;
                Open::Producer(Producer::new(raw))
            }
            Self::Subscriber => Open::Consumer(reader(ReadMode::KeepLast)?),
            Self::Reliable => Open::Consumer(reader(ReadMode::Gated)?),
        })
    }

    fn opens(self, segment: &Arc<Segment>, count: u32) -> Vec<Open> {
        (0..count).map(|_| self.open(segment).unwrap()).collect()
    }

    /// Expects that one more endpoint is refused with the limit, and leaves no trace.
    #[track_caller]
    fn expect_full(self, segment: &Arc<Segment>) {
        let counts = || (segment.publisher_count(), segment.subscriber_count());
        let before = counts();
        let refused = self
            .open(segment)
            .err()
            .unwrap_or_else(|| panic!("{self:?}: served"));
        assert!(
            refused.to_string().starts_with(self.refusal()),
            "{self:?}: {refused}"
        );
        assert!(
            refused
                .to_string()
                .contains("close one of them, because no topic has more")
        );
        let limit = match (self, refused) {
            (Self::Publisher, OpenError::TooManyPublishers { limit }) => limit,
            (Self::Subscriber | Self::Reliable, OpenError::TooManySubscribers { limit }) => limit,
            (_, other) => panic!("{other}"),
        };
        assert_eq!(limit, self.limit());
        assert_eq!(counts(), before, "{self:?}");
    }
}

enum Open {
    Producer(Producer<u64>),
    Consumer(Consumer<u64>),
}

fn topic(namespace: &Arc<Namespace>) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.reliability = Some(Reliability::Reliable);
    request.capacity = Some(1024);
    Segment::open_or_create(namespace, &TopicName::new("topic").unwrap(), &request).unwrap()
}

/// Expects every publisher of `ends` to be received, and every reader to receive.
fn expect_served(segment: &Arc<Segment>, ends: &mut [Open]) {
    for (number, end) in ends.iter_mut().enumerate() {
        let message = number as u64;
        match end {
            Open::Producer(producer) => {
                let raw = RawConsumer::new(Arc::clone(segment), ReadMode::KeepLast).unwrap();
                let mut consumer = Consumer::new(raw);
                producer.send(message).unwrap();
                assert_eq!(consumer.recv(), Some(message));
            }
            Open::Consumer(consumer) => {
                let raw = RawProducer::new(Arc::clone(segment), OnStalled::Full).unwrap();
                let mut producer = Producer::new(raw);
                while consumer.recv().is_some() {}
                producer.send(message).unwrap();
                assert_eq!(consumer.recv(), Some(message));
            }
        }
    }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let (end, count) = role.split_once(' ').unwrap();
    let segment = topic(&spawn::inherited_namespace());
    let mut ends = End::parse(end).opens(&segment, count.parse().unwrap());
    expect_served(&segment, &mut ends);
    say("here");
    park();
}

/// A topic that children share with this process, all of its places of one kind taken.
struct Crowd {
    end: End,
    segment: Arc<Segment>,
    mine: Vec<Open>,
    children: Vec<Child>,
    dir: TempDir,
}

impl Crowd {
    fn new(end: End) -> Self {
        let dir = spawn::shm_dir();
        let segment = topic(&spawn::namespace(dir.path()));
        let share = end.limit() / PROCESSES;
        let children = (1..PROCESSES).map(|_| Self::child(end, &dir)).collect();
        let mine = end.opens(&segment, share);
        Self {
            end,
            segment,
            mine,
            children,
            dir,
        }
    }

    fn child(end: End, dir: &TempDir) -> Child {
        let mut child = Child::spawn(&format!("{end:?} {}", end.limit() / PROCESSES), dir.path());
        assert_eq!(child.listen(), "here");
        child
    }

    /// Expects exactly as many free places as one process had.
    fn expect_room_for_one_process(&mut self) {
        let share = self.end.limit() / PROCESSES;
        let mut ends = self.end.opens(&self.segment, share);
        self.end.expect_full(&self.segment);
        self.take_what_is_there();
        expect_served(&self.segment, &mut ends);
    }

    /// Receives all messages, so that no reader of this process blocks a sender.
    fn take_what_is_there(&mut self) {
        for end in &mut self.mine {
            if let Open::Consumer(consumer) = end {
                while consumer.recv().is_some() {}
            }
        }
    }
}

#[test]
fn one_process_may_take_every_place_and_gets_the_limit_when_none_is_left() {
    for end in End::ALL {
        let dir = spawn::shm_dir();
        let segment = topic(&spawn::namespace(dir.path()));
        let mut ends = end.opens(&segment, end.limit() - 1);
        // The last place, again and again.
        for _ in 0..3 {
            ends.push(end.open(&segment).unwrap());
            end.expect_full(&segment);
            end.expect_full(&segment);
            ends.pop();
        }
        ends.push(end.open(&segment).unwrap());
        end.expect_full(&segment);
        expect_served(&segment, &mut ends);
        // Any place becomes free, not only the last.
        for at in [0, ends.len() / 2] {
            drop(ends.remove(at));
            ends.push(end.open(&segment).unwrap());
            end.expect_full(&segment);
        }
        expect_served(&segment, &mut ends);
        show(format_args!(
            "limits: {} {end:?} in one process, and none more",
            ends.len()
        ));
    }
}

#[test]
fn several_processes_share_the_places_and_each_gets_the_limit_when_none_is_left() {
    for end in End::ALL {
        let mut crowd = Crowd::new(end);
        end.expect_full(&crowd.segment);
        // One leaves, and its places are free.
        crowd.children.pop().unwrap().finish();
        crowd.expect_room_for_one_process();
        // Another process takes them.
        crowd.children.push(Crowd::child(end, &crowd.dir));
        end.expect_full(&crowd.segment);
        let processes = crowd.children.len() + 1;
        show(format_args!(
            "limits: {} {end:?} in {processes} processes, and none more",
            end.limit(),
        ));
    }
}

#[test]
fn the_places_of_a_killed_process_are_free_for_the_next() {
    for end in End::ALL {
        let mut crowd = Crowd::new(end);
        end.expect_full(&crowd.segment);
        for _ in 0..3 {
            crowd.children.pop().unwrap().kill();
            crowd.expect_room_for_one_process();
            crowd.children.push(Crowd::child(end, &crowd.dir));
            end.expect_full(&crowd.segment);
        }
        // All processes except this one at once.
        crowd.children.clear();
        let others = end.limit() - crowd.mine.len() as u32;
        let mut ends = end.opens(&crowd.segment, others);
        end.expect_full(&crowd.segment);
        crowd.take_what_is_there();
        expect_served(&crowd.segment, &mut ends);
    }
}
