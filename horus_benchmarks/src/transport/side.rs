//! One side of an open path: its sending and receiving ends, and what can be measured with them.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use horus_core::TopicError;
use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan};
use horus_core::topic::{Qos, Topic};
use horus_shm::{FanoutShm, MpscShm, Namespace, OpenError, PodShm, RingOptions, SpscShm};

use crate::measure::loopback;
use crate::measure::micro::{Micro, MicroPlan};
use crate::measure::payload::Payload;
use crate::measure::stream::{self, Sent, StreamPlan, Streamed};
use crate::measure::tsc::TickSource;
use crate::measure::wait::Watch;
use crate::measure::workload::{Echo, Round, RoundPlan, WorkloadError, far_end, near_end};
use crate::transport::duplex::{self, Mark, Marked, Others};
use crate::transport::ends::{Borrowing, Both, InTurn, Joined, Latest, Lending, Rx, Tx};
#[cfg(feature = "iceoryx2")]
use crate::transport::iceoryx;
use crate::transport::packet::{
    Packet, Packet8, Packet16, Packet304, Packet1480, Packet4096, Packet16384, Packet65536,
};
use crate::transport::path::{Path, Ring, Size};

/// Why a path cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenPathError {
    /// The ring.
    #[error(transparent)]
    Ring(#[from] OpenError),
    /// The topic.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// Not every message goes every way, and a channel has no name to be opened by.
    #[error("{0:?} cannot be opened this way")]
    NotThisWay(Path),
    /// What the kernel provides: sockets, pipes, queues, memory.
    #[error(transparent)]
    System(#[from] io::Error),
    /// What iceoryx2 said.
    #[error("iceoryx2: {0}")]
    Iceoryx2(String),
}

/// One direction of a path: a ring's name, and who creates it.
#[derive(Debug, Clone, Copy)]
pub struct Direction<'a> {
    /// The name.
    pub name: &'a str,
    /// This end creates the ring; else it must be there.
    pub create: bool,
}

/// One side of an open path, whatever its ring and payload are.
pub trait Side {
    /// [`near_end`] of a round.
    fn ping(
        &mut self,
        plan: &RoundPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Round, WorkloadError>;

    /// [`far_end`] of a round.
    fn echo(
        &mut self,
        plan: &RoundPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Echo, WorkloadError>;

    /// [`stream::stream_send`].
    fn send_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Sent, WorkloadError>;

    /// [`stream::stream_receive`]; compares the losses with what the ring says.
    fn receive_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Streamed, WorkloadError>;

    /// [`duplex::exchange`], if both directions are one ring with an end of each kind on each side.
    fn exchange(
        &mut self,
        plan: &StreamPlan,
        first: bool,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Streamed, WorkloadError>;

    /// [`loopback::send_and_receive`], if both directions are one ring.
    fn loop_round(&mut self, plan: &MicroPlan, first_seq: u64) -> Result<Micro, WorkloadError>;

    /// [`loopback::stream`], if both directions are one ring.
    fn loop_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
    ) -> Result<Streamed, WorkloadError>;
}

/// Opens one side of a path: its sending ends on `out`, its receiving ends on `back`.
pub fn open(
    namespace: &Arc<Namespace>,
    path: Path,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    // WHY not all of all: each is a copy of every loop, and the compiler takes its time.
    let open = match path.size {
        Size::Word => open_between::<Packet8>,
        Size::Small => open_any::<Packet16>,
        Size::Medium => open_any::<Packet304>,
        Size::Large => open_any::<Packet1480>,
        Size::Page => open_ring::<Packet4096>,
        Size::Pages => open_ring::<Packet16384>,
        Size::Huge => open_between::<Packet65536>,
        Size::CmdVel => open_topic::<CmdVel>,
        Size::Imu => open_topic::<Imu>,
        Size::JointCommand => open_topic::<JointCommand>,
        Size::LaserScan => open_topic::<LaserScan>,
    };
    open(namespace, path, out, back)
}

/// Opens both directions as rings of type `$ring`.
macro_rules! rings {
    ($ring:ident, $options:expr, $namespace:expr, $out:expr, $back:expr) => {{
        let open = |direction: Direction<'_>| match direction.create {
            true => $ring::<P>::create($namespace, direction.name, &$options),
            false => $ring::<P>::open($namespace, direction.name, &$options),
        };
        (open($out)?, open($back)?)
    }};
}

/// All arrangements.
fn open_any<P: Packet>(
    namespace: &Arc<Namespace>,
    path: Path,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    let options = RingOptions::capacity(path.size.capacity());
    Ok(match path.ring {
        Ring::SpmcShm => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            joined_here::<P, _, _>(out.producer()?, Both::new([back.consumer()?, back.consumer()?]))
        }
        Ring::FanoutShm2p2s => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            joined_here::<P, _, _>(
                InTurn::new([out.producer()?, out.producer()?]),
                Both::new([back.consumer()?, back.consumer()?]),
            )
        }
        Ring::FanoutShmDuplex => {
            let ring = match out.create {
                true => FanoutShm::<P>::create(namespace, out.name, &options)?,
                false => FanoutShm::<P>::open(namespace, back.name, &options)?,
            };
            duplex_here::<P, _, _>(ring.producer()?, ring.consumer()?, out.create)
        }
        Ring::TopicDuplex => {
            let name = if out.create { out.name } else { back.name };
            let builder = Topic::<P>::builder(name).namespace(namespace);
            let builder = builder.qos(Qos::new().capacity(path.size.capacity()));
            let (publisher, subscriber) = (builder.clone().publisher()?, builder.subscriber()?);
            duplex_here::<P, _, _>(publisher, subscriber, out.create)
        }
        _ => return open_between::<P>(namespace, path, out, back),
    })
}

/// The rings, topics and services that carry messages of any usual size between two ends.
fn open_between<P: Packet>(
    namespace: &Arc<Namespace>,
    path: Path,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    match path.ring {
        Ring::Topic | Ring::TopicReliable | Ring::TopicDefault | Ring::TopicLoan => {
            open_topic::<P>(namespace, path, out, back)
        }
        #[cfg(feature = "iceoryx2")]
        Ring::Iceoryx2 | Ring::Iceoryx2Local | Ring::Iceoryx2Stream | Ring::Iceoryx2Duplex => {
            iceoryx::side::<P>(namespace, path, out, back)
        }
        _ => open_ring::<P>(namespace, path, out, back),
    }
}

/// The rings, with as few ends as they can have.
fn open_ring<P: Packet>(
    namespace: &Arc<Namespace>,
    path: Path,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    let options = RingOptions::capacity(path.size.capacity());
    Ok(match path.ring {
        Ring::SpscShm => {
            let (out, back) = rings!(SpscShm, options, namespace, out, back);
            joined_here::<P, _, _>(out.producer()?, back.consumer()?)
        }
        Ring::MpscShm => {
            let (out, back) = rings!(MpscShm, options, namespace, out, back);
            let producers = InTurn::new([out.producer()?, out.producer()?]);
            joined_here::<P, _, _>(producers, back.consumer()?)
        }
        Ring::FanoutShm => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            joined_here::<P, _, _>(out.producer()?, back.consumer()?)
        }
        Ring::PodShm => {
            let options = RingOptions::default();
            let (out, back) = rings!(PodShm, options, namespace, out, back);
            joined_here::<P, _, _>(out.producer()?, Latest(back.consumer()?))
        }
        _ => return Err(OpenPathError::NotThisWay(path)),
    })
}

fn open_topic<P: Packet>(
    namespace: &Arc<Namespace>,
    path: Path,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    let capacity = path.size.capacity();
    let qos = match path.ring {
        Ring::Topic => Qos::new().capacity(capacity),
        Ring::TopicReliable => Qos::reliable().capacity(capacity),
        Ring::TopicDefault => Qos::new(),
        Ring::TopicLoan => Qos::new().pinnable(true),
        _ => return Err(OpenPathError::NotThisWay(path)),
    };
    let builder = |name| Topic::<P>::builder(name).namespace(namespace).qos(qos);
    if out.name == back.name {
        // WHY: as one thread would that has both ends: they share a mapping. What is stored through
        // one mapping is forwarded late to a load through another (`mmap_write_read`).
        let (out, back) = builder(out.name).topic()?.split();
        return Ok(joined_here::<P, _, _>(out, back));
    }
    let (out, back) = (builder(out.name).publisher()?, builder(back.name).subscriber()?);
    if path.ring == Ring::TopicLoan {
        return Ok(joined_here::<P, _, _>(Lending(out), Borrowing(back)));
    }
    Ok(joined_here::<P, _, _>(out, back))
}

/// A side of these two ends, for the thread that makes it.
pub fn joined_here<P, T, R>(out: T, back: R) -> Box<dyn Side>
where
    P: Payload + 'static,
    T: Tx<P> + 'static,
    R: Rx<P> + 'static,
{
    Box::new(OpenSide::<P, T, R, Loops>::new(out, back))
}

/// A side of these two ends of one ring, for the thread that makes it. The side that came `first`
/// is told apart from the other one.
pub fn duplex_here<P, T, R>(out: T, back: R, first: bool) -> Box<dyn Side>
where
    P: Payload + 'static,
    T: Tx<P> + 'static,
    R: Rx<P> + 'static,
{
    let mark = Mark::of(first);
    let (out, back) = (Marked::new(out, mark), Others::<R, P>::new(back, mark));
    Box::new(OpenSide::<P, _, _, Exchanges>::new(out, back))
}

/// A side of these two ends, for any thread.
pub fn joined<P, T, R>(out: T, back: R) -> Box<dyn Side + Send>
where
    P: Payload + 'static,
    T: Tx<P> + Send + 'static,
    R: Rx<P> + Send + 'static,
{
    Box::new(OpenSide::<P, T, R, Loops>::new(out, back))
}

/// As [`joined`], if the two directions are never one ring.
pub fn across<P, T, R>(out: T, back: R) -> Box<dyn Side + Send>
where
    P: Payload + 'static,
    T: Tx<P> + Send + 'static,
    R: Rx<P> + Send + 'static,
{
    Box::new(OpenSide::<P, T, R, Nothing>::new(out, back))
}

/// What can be measured of a side beside rounds and streams. WHY a type: each is a copy of its
/// loop for every message and ring, and most are never called.
trait Besides<P: Payload, T: Tx<P>, R: Rx<P>> {
    fn exchange(
        _link: &mut Joined<T, R>,
        _plan: &StreamPlan,
        _first: bool,
        _source: TickSource,
        _watch: &Watch,
    ) -> Result<Streamed, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    fn loop_round(
        _link: &mut Joined<T, R>,
        _plan: &MicroPlan,
        _first_seq: u64,
    ) -> Result<Micro, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    fn loop_stream(
        _link: &mut Joined<T, R>,
        _plan: &StreamPlan,
        _source: TickSource,
    ) -> Result<Streamed, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }
}

struct Nothing;

impl<P: Payload, T: Tx<P>, R: Rx<P>> Besides<P, T, R> for Nothing {}

/// One ring in one thread.
struct Loops;

impl<P: Payload, T: Tx<P>, R: Rx<P>> Besides<P, T, R> for Loops {
    fn loop_round(
        link: &mut Joined<T, R>,
        plan: &MicroPlan,
        first_seq: u64,
    ) -> Result<Micro, WorkloadError> {
        loopback::send_and_receive::<P>(link, plan, first_seq)
    }

    fn loop_stream(
        link: &mut Joined<T, R>,
        plan: &StreamPlan,
        source: TickSource,
    ) -> Result<Streamed, WorkloadError> {
        loopback::stream::<P>(link, plan, source)
    }
}

/// One ring for both directions.
struct Exchanges;

impl<P: Payload, T: Tx<P>, R: Rx<P>> Besides<P, T, R> for Exchanges {
    fn exchange(
        link: &mut Joined<T, R>,
        plan: &StreamPlan,
        first: bool,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Streamed, WorkloadError> {
        duplex::exchange::<P>(link, plan, first, source, watch)
    }
}

struct OpenSide<P, T, R, B> {
    link: Joined<T, R>,
    kind: PhantomData<fn(P, B)>,
}

impl<P: Payload, T: Tx<P>, R: Rx<P>, B: Besides<P, T, R>> OpenSide<P, T, R, B> {
    fn new(out: T, back: R) -> Self {
        OpenSide { link: Joined { out, back }, kind: PhantomData }
    }

    /// Receives, and compares the losses with what the ring says, if it says something.
    fn audited(
        &mut self,
        receive: impl FnOnce(&mut Joined<T, R>) -> Result<Streamed, WorkloadError>,
    ) -> Result<Streamed, WorkloadError> {
        let before = self.link.back.lost();
        let streamed = receive(&mut self.link)?;
        let counted = self.link.back.lost() - before;
        if streamed.lost == counted || !R::COUNTS {
            return Ok(streamed);
        }
        Err(WorkloadError::Miscounted { lost: streamed.lost, counted })
    }
}

impl<P: Payload, T: Tx<P>, R: Rx<P>, B: Besides<P, T, R>> Side for OpenSide<P, T, R, B> {
    fn ping(
        &mut self,
        plan: &RoundPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Round, WorkloadError> {
        near_end::<P>(&mut self.link, plan, source, watch)
    }

    fn echo(
        &mut self,
        plan: &RoundPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Echo, WorkloadError> {
        far_end::<P>(&mut self.link, plan, source, watch)
    }

    fn send_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Sent, WorkloadError> {
        stream::stream_send::<P>(&mut self.link, plan, source, watch)
    }

    fn receive_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Streamed, WorkloadError> {
        self.audited(|link| stream::stream_receive::<P>(link, plan, source, watch))
    }

    fn exchange(
        &mut self,
        plan: &StreamPlan,
        first: bool,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Streamed, WorkloadError> {
        self.audited(|link| B::exchange(link, plan, first, source, watch))
    }

    fn loop_round(&mut self, plan: &MicroPlan, first_seq: u64) -> Result<Micro, WorkloadError> {
        B::loop_round(&mut self.link, plan, first_seq)
    }

    fn loop_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
    ) -> Result<Streamed, WorkloadError> {
        B::loop_stream(&mut self.link, plan, source)
    }
}
