//! Rings of every kind, and their two endpoints, in one form each.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Consumer, FanoutShm, MpscShm, Namespace, OnStalled, OpenError, PodShm, Producer, RawConsumer,
    RawProducer, ReadMode, ReadStats, Reliability, Request, RingOptions, Sample, Segment, SpscShm,
    TopicName, TypeInfo,
};

use super::ticket::Ticket;
use crate::stream::Tagged;

/// The slots of a lane in the sweeps.
pub const CAPACITY: u64 = 8;
/// The lanes or readers of a ring that has more than one: none is spare.
pub const PLACES: u32 = 2;

/// The rings that are swept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Spsc,
    Mpsc,
    Fanout,
    Pod,
    /// An open topic whose readers are gated.
    Reliable,
    /// An open topic whose messages can be lent and borrowed.
    Pinnable,
    /// The same, with gated readers.
    PinnableReliable,
    /// The ring that is wrong on purpose.
    Ticket,
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Spsc,
        Self::Mpsc,
        Self::Fanout,
        Self::Pod,
        Self::Reliable,
        Self::Pinnable,
        Self::PinnableReliable,
        Self::Ticket,
    ];

    pub fn parse(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|kind| format!("{kind:?}") == name)
            .unwrap()
    }

    pub const fn has_many_producers(self) -> bool {
        !matches!(self, Self::Spsc | Self::Pod)
    }

    pub const fn has_many_consumers(self) -> bool {
        !matches!(self, Self::Spsc | Self::Mpsc | Self::Ticket)
    }

    /// Returns true if readers hold writers back.
    pub const fn is_gated(self) -> bool {
        matches!(
            self,
            Self::Spsc | Self::Mpsc | Self::Reliable | Self::PinnableReliable
        )
    }

    /// Returns true if messages can be lent and borrowed.
    pub const fn is_pinnable(self) -> bool {
        matches!(self, Self::Pinnable | Self::PinnableReliable)
    }

    /// Returns how many earlier messages of a live sender a new reader gets.
    pub const fn history(self) -> u32 {
        matches!(self, Self::Pod) as u32
    }

    /// Returns true if a new reader continues where a dead one stopped.
    pub const fn resumes(self) -> bool {
        matches!(self, Self::Spsc | Self::Mpsc)
    }
}

/// An open ring.
pub enum Ring<M> {
    Spsc(SpscShm<M>),
    Mpsc(MpscShm<M>),
    Fanout(FanoutShm<M>),
    Pod(PodShm<M>),
    /// A topic with any settings, and its reading mode.
    Topic(Arc<Segment>, ReadMode),
    Ticket(PathBuf),
}

impl<M: Tagged> Ring<M> {
    pub fn create(kind: Kind, namespace: &Arc<Namespace>, name: &str) -> Self {
        Self::make(kind, namespace, name, true).unwrap()
    }

    pub fn open(kind: Kind, namespace: &Arc<Namespace>, name: &str) -> Self {
        Self::make(kind, namespace, name, false).unwrap()
    }

    fn make(
        kind: Kind,
        namespace: &Arc<Namespace>,
        name: &str,
        create: bool,
    ) -> Result<Self, OpenError> {
        let one = RingOptions::capacity(CAPACITY);
        let many_producers = RingOptions {
            producers: Some(PLACES),
            ..one.clone()
        };
        let many_consumers = RingOptions {
            consumers: Some(PLACES),
            ..one.clone()
        };
        let many = RingOptions {
            consumers: Some(PLACES),
            ..many_producers.clone()
        };
        Ok(match (kind, create) {
            (Kind::Spsc, true) => Self::Spsc(SpscShm::create(namespace, name, &one)?),
            (Kind::Spsc, false) => Self::Spsc(SpscShm::open(namespace, name, &one)?),
            (Kind::Mpsc, true) => Self::Mpsc(MpscShm::create(namespace, name, &many_producers)?),
            (Kind::Mpsc, false) => Self::Mpsc(MpscShm::open(namespace, name, &one)?),
            (Kind::Fanout, true) => Self::Fanout(FanoutShm::create(namespace, name, &many)?),
            (Kind::Fanout, false) => Self::Fanout(FanoutShm::open(namespace, name, &one)?),
            (Kind::Pod, true) => Self::Pod(PodShm::create(namespace, name, &many_consumers)?),
            (Kind::Pod, false) => Self::Pod(PodShm::open(namespace, name, &one)?),
            (Kind::Reliable | Kind::Pinnable | Kind::PinnableReliable, _) => {
                let name = TopicName::new(name)?;
                let segment = Segment::open_or_create(namespace, &name, &request::<M>(kind))?;
                let reading = if kind.is_gated() {
                    ReadMode::Gated
                } else {
                    ReadMode::KeepLast
                };
                Self::Topic(segment, reading)
            }
            (Kind::Ticket, create) => {
                let path = namespace.path().join(name);
                if create {
                    Ticket::<M>::create(&path, CAPACITY);
                }
                Self::Ticket(path)
            }
        })
    }

    pub fn sender(&self) -> Result<Sender<M>, OpenError> {
        Ok(Sender::Lane(match self {
            Self::Spsc(ring) => ring.producer()?,
            Self::Mpsc(ring) => ring.producer()?,
            Self::Fanout(ring) => ring.producer()?,
            Self::Pod(ring) => ring.producer()?,
            Self::Topic(segment, _) => {
                Producer::new(RawProducer::new(Arc::clone(segment), OnStalled::Full)?)
            }
            Self::Ticket(path) => return Ok(Sender::Ticket(Ticket::open(path, CAPACITY))),
        }))
    }

    pub fn receiver(&self) -> Result<Receiver<M>, OpenError> {
        Ok(Receiver::Lanes(match self {
            Self::Spsc(ring) => ring.consumer()?,
            Self::Mpsc(ring) => ring.consumer()?,
            Self::Fanout(ring) => ring.consumer()?,
            Self::Pod(ring) => ring.consumer()?,
            Self::Topic(segment, reading) => {
                Consumer::new(RawConsumer::new(Arc::clone(segment), *reading)?)
            }
            Self::Ticket(path) => return Ok(Receiver::Ticket(Ticket::open(path, CAPACITY))),
        }))
    }

    pub fn segment(&self) -> Option<&Arc<Segment>> {
        match self {
            Self::Spsc(ring) => Some(ring.segment()),
            Self::Mpsc(ring) => Some(ring.segment()),
            Self::Fanout(ring) => Some(ring.segment()),
            Self::Pod(ring) => Some(ring.segment()),
            Self::Topic(segment, _) => Some(segment),
            Self::Ticket(_) => None,
        }
    }

    /// Returns all bytes that a peer can see of the ring: those in its files, without the headers.
    pub fn visible_bytes(&self) -> Vec<u8> {
        self.visible().bytes()
    }

    /// Opens what a peer can see of the ring.
    pub fn visible(&self) -> Visible {
        let Some(segment) = self.segment() else {
            let Self::Ticket(path) = self else {
                unreachable!()
            };
            let file = File::open(path).unwrap();
            let all = 0..file.metadata().unwrap().len();
            return Visible {
                parts: vec![(file, all)],
            };
        };
        let shape = segment.shape();
        let file = File::from(segment.fd().unwrap().as_fd().try_clone_to_owned().unwrap());
        let areas = [shape.lane_area(), shape.reader_area()];
        let areas = areas.map(|area| (file.try_clone().unwrap(), area));
        let slots = segment.request().offer().unwrap().shape.slots();
        let lane = |lane| Some((segment.lane_file(lane).ok()?, slots.clone()));
        let lanes = (0..shape.lane_limit()).filter_map(lane);
        Visible {
            parts: areas.into_iter().chain(lanes).collect(),
        }
    }
}

/// The parts of a ring's files that a peer can see, without the headers. The lanes are those that
/// had a file when this was opened.
pub struct Visible {
    parts: Vec<(File, Range<u64>)>,
}

impl Visible {
    pub fn bytes(&self) -> Vec<u8> {
        let length = |(_, part): &(File, Range<u64>)| (part.end - part.start) as usize;
        let mut bytes = vec![0; self.parts.iter().map(length).sum()];
        let mut rest = &mut bytes[..];
        for part in &self.parts {
            let (these, others) = rest.split_at_mut(length(part));
            part.0.read_exact_at(these, part.1.start).unwrap();
            rest = others;
        }
        bytes
    }
}

fn request<M>(kind: Kind) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<M>());
    request.capacity = Some(CAPACITY);
    request.pinnable = Some(kind.is_pinnable());
    request.lane_limit = Some(PLACES);
    if kind.is_gated() {
        request.reliability = Some(Reliability::Reliable);
    }
    request.reader_limit = Some(PLACES);
    request
}

#[allow(
    clippy::large_enum_variant,
    reason = "a box would add steps to the sweep"
)]
pub enum Sender<M> {
    Lane(Producer<M>),
    Ticket(Ticket<M>),
}

impl<M: Tagged> Sender<M> {
    /// Sends a message; returns false if the ring is full.
    #[inline(always)]
    pub fn send(&mut self, message: &M) -> bool {
        match self {
            Self::Lane(producer) => producer.send_ref(message).is_ok(),
            Self::Ticket(ring) => ring.send(message),
        }
    }

    /// Sends a message without a copy; returns false if no slot can be lent.
    #[inline(always)]
    pub fn lend(&mut self, message: &M) -> bool {
        let Self::Lane(producer) = self else {
            return false;
        };
        let Ok(mut loan) = producer.loan() else {
            return false;
        };
        *loan = *message;
        loan.publish().is_ok()
    }

    /// Sends a message after waiting for room.
    #[inline(always)]
    pub fn send_until(&mut self, wait_policy: WaitPolicy, message: &M) -> bool {
        let Self::Lane(producer) = self else {
            return false;
        };
        producer.send_until(wait_policy, message).is_ok()
    }
}

#[allow(
    clippy::large_enum_variant,
    reason = "a box would add steps to the sweep"
)]
pub enum Receiver<M> {
    Lanes(Consumer<M>),
    Ticket(Ticket<M>),
}

impl<M: Tagged> Receiver<M> {
    #[inline(always)]
    pub fn recv(&mut self) -> Option<M> {
        match self {
            Self::Lanes(consumer) => consumer.recv(),
            Self::Ticket(ring) => ring.recv(),
        }
    }

    #[inline(always)]
    pub fn latest(&mut self) -> Option<M> {
        match self {
            Self::Lanes(consumer) => consumer.latest(),
            Self::Ticket(ring) => ring.recv(),
        }
    }

    /// Adds all available messages to `found`, which has room for them.
    #[inline(always)]
    pub fn drain_into(&mut self, found: &mut Vec<M>) {
        match self {
            Self::Lanes(consumer) => _ = consumer.drain(|message| found.push(message)),
            Self::Ticket(ring) => found.extend(ring.recv()),
        }
    }

    /// Borrows the next message in place, if there is one and it can be borrowed.
    #[inline(always)]
    pub fn borrow(&mut self) -> Option<Sample<M>> {
        let Self::Lanes(consumer) = self else {
            return None;
        };
        consumer.borrow().ok().flatten()
    }

    /// Receives a message after waiting for it.
    #[inline(always)]
    pub fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<M> {
        let Self::Lanes(consumer) = self else {
            return None;
        };
        consumer.recv_until(wait_policy)
    }

    /// Returns the ring's own ledger, if it keeps one.
    pub fn stats(&self) -> Option<ReadStats> {
        match self {
            Self::Lanes(consumer) => Some(consumer.stats()),
            Self::Ticket(_) => None,
        }
    }
}
