//! Rings of every kind, in memory of every kind, as the suite drives them.

#![allow(unreachable_pub, reason = "a module of a test")]

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use horus_shm::{
    Consumer, FanoutShm, LatchKey, MpscShm, Namespace, OnStalled, OpenError, Pod, PodShm, Producer,
    RawConsumer, RawProducer, ReadMode, Reliability, Request, Segment, SpscShm, TopicName,
    TypeInfo,
};
use tempfile::TempDir;

use crate::lane_oracle::Rules;
use crate::spawn::{namespace, shm_dir};

/// The memory in which rings are made.
pub enum Memory {
    Heap,
    Mapped {
        namespace: Arc<Namespace>,
        _dir: TempDir,
    },
}

impl Memory {
    pub fn mapped() -> Self {
        let dir = shm_dir();
        Self::Mapped {
            namespace: namespace(dir.path()),
            _dir: dir,
        }
    }
}

pub fn unused_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("model/{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// One kind of ring, as the suite drives it.
pub trait Ring: Sized {
    type Message: Pod;

    /// The reading modes of its consumers, by choice or by its kind.
    const READINGS: &[ReadMode];

    fn rules(rng: &mut Rng) -> Rules;
    fn make(memory: &Memory, rules: &Rules) -> Self;
    fn producer(&self, on_stalled: OnStalled) -> Result<Producer<Self::Message>, OpenError>;
    fn consumer(&self, reading: ReadMode) -> Result<Consumer<Self::Message>, OpenError>;
    fn segment(&self) -> &Arc<Segment>;
}

macro_rules! ring {
    ($ring:ident, $reading:expr, |$rng:ident| $rules:expr) => {
        impl<T: Pod> Ring for $ring<T> {
            type Message = T;

            const READINGS: &[ReadMode] = &[$reading];

            fn rules($rng: &mut Rng) -> Rules {
                $rules
            }

            fn make(memory: &Memory, rules: &Rules) -> Self {
                let Memory::Mapped { namespace, .. } = memory else {
                    return Self::heap(&rules.options()).unwrap();
                };
                let name = unused_name();
                let created = Self::create(namespace, &name, &rules.options()).unwrap();
                let opened = Self::open(namespace, &name, &rules.options()).unwrap();
                drop(created);
                opened
            }

            fn producer(&self, _: OnStalled) -> Result<Producer<T>, OpenError> {
                $ring::producer(self)
            }

            fn consumer(&self, _: ReadMode) -> Result<Consumer<T>, OpenError> {
                $ring::consumer(self)
            }

            fn segment(&self) -> &Arc<Segment> {
                $ring::segment(self)
            }
        }
    };
}

ring!(SpscShm, ReadMode::Gated, |rng| Rules::random::<T>(
    rng, 1, 1
)
.one_gated());
ring!(MpscShm, ReadMode::Gated, |rng| {
    let lanes = 1 + rng.u64(..4) as u32;
    Rules::random::<T>(rng, lanes, 1).one_gated()
});
ring!(FanoutShm, ReadMode::KeepLast, |rng| {
    let lanes = 1 + rng.u64(..4) as u32;
    let readers = 1 + rng.u64(..4) as u32;
    Rules::random::<T>(rng, lanes, readers)
});
ring!(PodShm, ReadMode::KeepLast, |rng| {
    let readers = 1 + rng.u64(..4) as u32;
    let rules = Rules::random::<T>(rng, 1, readers);
    let capacity = rules
        .asked
        .map_or(16, |asked| asked.max(4).next_power_of_two());
    Rules {
        history: 1,
        capacity,
        ..rules
    }
});

/// The key of all publishers of a [`Topic`]. WHY not the default: to find that, a publisher reads a
/// file, and miri opens none.
pub const LATCH_KEY: LatchKey = LatchKey(7);

/// An open topic, best effort or reliable, with or without history, and with readers of all kinds.
pub struct Topic<T> {
    pub segment: Arc<Segment>,
    pub marker: PhantomData<T>,
}

impl<T> Topic<T> {
    pub fn request(rules: &Rules) -> Request {
        let mut request = Request::new(TypeInfo::opaque::<T>());
        request.capacity = rules.asked;
        request.lane_limit = Some(rules.lanes);
        request.reader_limit = Some(rules.readers);
        request.history = Some(rules.history);
        request.persists = Some(rules.persists);
        request.latch_key = Some(LATCH_KEY);
        request.pinnable = Some(rules.pinnable);
        request.reliability = rules.reliable.then_some(Reliability::Reliable);
        request
    }
}

impl<T: Pod> Ring for Topic<T> {
    type Message = T;

    const READINGS: &[ReadMode] = &[
        ReadMode::KeepLast,
        ReadMode::Gated,
        ReadMode::Gated,
        ReadMode::Observer,
    ];

    fn rules(rng: &mut Rng) -> Rules {
        let lanes = 1 + rng.u64(..4) as u32;
        let readers = 2 + rng.u64(..4) as u32;
        let mut rules = Rules::random::<T>(rng, lanes, readers);
        rules.reliable = rng.u64(..4) != 0;
        if rng.u64(..2) == 0 {
            rules.history = rng.u64(..rules.capacity + 3) as u32;
            rules.persists = rng.u64(..2) == 0;
        }
        rules
    }

    fn make(memory: &Memory, rules: &Rules) -> Self {
        let request = Self::request(rules);
        let segment = match memory {
            Memory::Heap => Segment::heap(&request),
            Memory::Mapped { namespace, .. } => {
                let name = TopicName::new(&unused_name()).unwrap();
                Segment::open_or_create(namespace, &name, &request)
            }
        };
        Self {
            segment: segment.unwrap(),
            marker: PhantomData,
        }
    }

    fn producer(&self, on_stalled: OnStalled) -> Result<Producer<T>, OpenError> {
        RawProducer::new(Arc::clone(&self.segment), on_stalled).map(Producer::new)
    }

    fn consumer(&self, reading: ReadMode) -> Result<Consumer<T>, OpenError> {
        RawConsumer::new(Arc::clone(&self.segment), reading).map(Consumer::new)
    }

    fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

/// A topic whose slots can be pinned: for a reader that copies, like any other.
pub struct Pinnable<T>(Topic<T>);

impl<T: Pod> Ring for Pinnable<T> {
    type Message = T;

    const READINGS: &[ReadMode] = Topic::<T>::READINGS;

    fn rules(rng: &mut Rng) -> Rules {
        let mut rules = Topic::<T>::rules(rng);
        let stride = (size_of::<T>().next_multiple_of(8) + 24).next_multiple_of(64) as u64;
        let default = (256 * 1024 / stride).clamp(16, 1024).next_power_of_two();
        rules.capacity = rules.asked.map_or(default, u64::next_power_of_two);
        Rules {
            pinnable: true,
            ..rules
        }
    }

    fn make(memory: &Memory, rules: &Rules) -> Self {
        Self(Topic::make(memory, rules))
    }

    fn producer(&self, on_stalled: OnStalled) -> Result<Producer<T>, OpenError> {
        self.0.producer(on_stalled)
    }

    fn consumer(&self, reading: ReadMode) -> Result<Consumer<T>, OpenError> {
        self.0.consumer(reading)
    }

    fn segment(&self) -> &Arc<Segment> {
        self.0.segment()
    }
}
