//! Every ring as a row of a table: its constructor, its endpoints, and its guarantees.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::sync::Arc;
use std::time::Duration;

use horus_shm::{
    Consumer, FanoutShm, MpscShm, Namespace, OnStalled, OpenError, Pod, PodShm, Producer,
    RawConsumer, RawProducer, ReadMode, Reliability, Request, RingOptions, Segment, SpscShm,
    TopicName, TypeInfo,
};

/// The constructor that makes the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Spsc,
    Mpsc,
    Fanout,
    Pod,
    /// A topic, made as `horus_core` makes it.
    Topic(Reliability),
}

/// One ring, and the endpoints that a test gives it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub kind: Kind,
    pub senders: u32,
    /// The reading mode of each receiver.
    pub readings: &'static [ReadMode],
    pub on_stalled: OnStalled,
    /// The receivers read only the latest message.
    pub latest: bool,
}

/// The longest that a reader may stall where it is detached.
const STALL: Duration = Duration::from_millis(2);

/// Rows for pinned and borrowed messages belong here, too.
pub const CASES: [Case; 7] = [
    Case::new("spsc", Kind::Spsc, 1, &[ReadMode::Gated]),
    Case::new("mpsc", Kind::Mpsc, 3, &[ReadMode::Gated]),
    Case::new("fanout", Kind::Fanout, 3, &[ReadMode::KeepLast; 3]),
    Case {
        latest: true,
        ..Case::new("pod", Kind::Pod, 1, &[ReadMode::KeepLast; 3])
    },
    Case::new(
        "best_effort",
        BEST_EFFORT,
        2,
        &[ReadMode::KeepLast, ReadMode::Observer],
    ),
    Case::new("reliable_full", RELIABLE, 2, MIXED),
    Case {
        on_stalled: OnStalled::Detach { after: STALL },
        ..Case::new("reliable_detach", RELIABLE, 2, MIXED)
    },
];

const BEST_EFFORT: Kind = Kind::Topic(Reliability::BestEffort);
const RELIABLE: Kind = Kind::Topic(Reliability::Reliable);
const MIXED: &[ReadMode] = &[ReadMode::Gated, ReadMode::KeepLast, ReadMode::Gated];

impl Case {
    const fn new(
        name: &'static str,
        kind: Kind,
        senders: u32,
        readings: &'static [ReadMode],
    ) -> Self {
        Self {
            name,
            kind,
            senders,
            readings,
            on_stalled: OnStalled::Full,
            latest: false,
        }
    }

    pub fn named(name: &str) -> &'static Self {
        CASES.iter().find(|case| case.name == name).unwrap()
    }

    /// Returns true if receiver `index` may not lose a message.
    pub fn is_lossless(&self, index: usize) -> bool {
        self.readings[index] == ReadMode::Gated && self.on_stalled == OnStalled::Full
    }

    /// Makes the ring on the heap, with lanes of `capacity` slots.
    pub fn heap<M: Pod>(&self, capacity: u64) -> Arc<Segment> {
        let options = RingOptions::capacity(capacity);
        match self.kind {
            Kind::Spsc => SpscShm::<M>::heap(&options).map(|ring| Arc::clone(ring.segment())),
            Kind::Mpsc => MpscShm::<M>::heap(&options).map(|ring| Arc::clone(ring.segment())),
            Kind::Fanout => FanoutShm::<M>::heap(&options).map(|ring| Arc::clone(ring.segment())),
            Kind::Pod => PodShm::<M>::heap(&options).map(|ring| Arc::clone(ring.segment())),
            Kind::Topic(reliability) => Segment::heap(&request::<M>(reliability, capacity)),
        }
        .unwrap()
    }

    /// Makes the ring in the file `name`, with lanes of `capacity` slots, or opens it if it exists.
    pub fn file<M: Pod>(
        &self,
        namespace: &Arc<Namespace>,
        name: &str,
        capacity: u64,
    ) -> Arc<Segment> {
        let options = RingOptions::capacity(capacity);
        let segment = match self.kind {
            Kind::Spsc => SpscShm::<M>::create(namespace, name, &options)
                .or_else(|error| existing(error, || SpscShm::open(namespace, name, &options)))
                .map(|ring| Arc::clone(ring.segment())),
            Kind::Mpsc => MpscShm::<M>::create(namespace, name, &options)
                .or_else(|error| existing(error, || MpscShm::open(namespace, name, &options)))
                .map(|ring| Arc::clone(ring.segment())),
            Kind::Fanout => FanoutShm::<M>::create(namespace, name, &options)
                .or_else(|error| existing(error, || FanoutShm::open(namespace, name, &options)))
                .map(|ring| Arc::clone(ring.segment())),
            Kind::Pod => PodShm::<M>::create(namespace, name, &options)
                .or_else(|error| existing(error, || PodShm::open(namespace, name, &options)))
                .map(|ring| Arc::clone(ring.segment())),
            Kind::Topic(reliability) => {
                let request = request::<M>(reliability, capacity);
                Segment::open_or_create(namespace, &TopicName::new(name).unwrap(), &request)
            }
        };
        segment.unwrap()
    }

    pub fn sender<M: Pod>(&self, segment: &Arc<Segment>) -> Producer<M> {
        Producer::new(RawProducer::new(Arc::clone(segment), self.on_stalled).unwrap())
    }

    pub fn receiver<M: Pod>(&self, segment: &Arc<Segment>, index: usize) -> Consumer<M> {
        Consumer::new(RawConsumer::new(Arc::clone(segment), self.readings[index]).unwrap())
    }

    /// Receives by the call that the receivers of this ring use.
    #[inline(always)]
    pub fn take<M: Pod>(&self, consumer: &mut Consumer<M>) -> Option<M> {
        if self.latest {
            consumer.latest()
        } else {
            consumer.recv()
        }
    }
}

/// Opens a ring that another process created first.
fn existing<R>(
    error: OpenError,
    open: impl FnOnce() -> Result<R, OpenError>,
) -> Result<R, OpenError> {
    if matches!(error, OpenError::AlreadyExists { .. }) {
        open()
    } else {
        Err(error)
    }
}

fn request<M>(reliability: Reliability, capacity: u64) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<M>());
    (request.capacity, request.reliability) = (Some(capacity), Some(reliability));
    request
}
