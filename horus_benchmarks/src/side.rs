//! One side of an open path: its sending and receiving ends, and what can be measured with them.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use horus_core::TopicError;
use horus_core::topic::{Qos, Topic};
use horus_shm::{FanoutShm, MpscShm, Namespace, OpenError, PodShm, RingOptions, SpscShm};

use crate::ends::{Both, InTurn, Joined, Latest, Rx, Tx};
use crate::loopback;
use crate::micro::{Micro, MicroPlan};
use crate::packet::{Packet, Packet16, Packet304, Packet1480};
use crate::path::{CAPACITY, Path, Ring, Size};
use crate::payload::Payload;
use crate::stream::{self, Sent, StreamPlan, Streamed};
use crate::tsc::TickSource;
use crate::wait::Watch;
use crate::workload::{Echo, Round, RoundPlan, WorkloadError, far_end, near_end};

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
    /// What the kernel provides: sockets, pipes, queues, memory.
    #[error(transparent)]
    System(#[from] io::Error),
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
pub trait Side: Send {
    /// [`near_end`] of a round.
    ///
    /// # Errors
    ///
    /// As there.
    fn ping(
        &mut self,
        plan: &RoundPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Round, WorkloadError>;

    /// [`far_end`] of a round.
    ///
    /// # Errors
    ///
    /// As there.
    fn echo(
        &mut self,
        plan: &RoundPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Echo, WorkloadError>;

    /// [`stream::stream_send`].
    ///
    /// # Errors
    ///
    /// As there.
    fn send_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Sent, WorkloadError>;

    /// [`stream::stream_receive`]; compares the losses with what the ring says.
    ///
    /// # Errors
    ///
    /// As there, and [`WorkloadError::Miscounted`].
    fn receive_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
        watch: &Watch,
    ) -> Result<Streamed, WorkloadError>;

    /// [`loopback::send_and_receive`], if both directions are one ring.
    ///
    /// # Errors
    ///
    /// As there.
    fn loop_round(&mut self, plan: &MicroPlan, first_seq: u64) -> Result<Micro, WorkloadError>;

    /// [`loopback::stream`], if both directions are one ring.
    ///
    /// # Errors
    ///
    /// As there.
    fn loop_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
    ) -> Result<Streamed, WorkloadError>;
}

/// Opens one side of a path: its sending ends on `out`, its receiving ends on `back`.
///
/// # Errors
///
/// [`OpenPathError`].
pub fn open(
    namespace: &Arc<Namespace>,
    path: Path,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    match path.size {
        Size::Small => open_as::<Packet16>(namespace, path.ring, out, back),
        Size::Medium => open_as::<Packet304>(namespace, path.ring, out, back),
        Size::Large => open_as::<Packet1480>(namespace, path.ring, out, back),
    }
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

fn open_as<P: Packet>(
    namespace: &Arc<Namespace>,
    ring: Ring,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    let options = RingOptions::capacity(CAPACITY);
    Ok(match ring {
        Ring::SpscShm => {
            let (out, back) = rings!(SpscShm, options, namespace, out, back);
            joined::<P, _, _>(out.producer()?, back.consumer()?)
        }
        Ring::MpscShm => {
            let (out, back) = rings!(MpscShm, options, namespace, out, back);
            joined::<P, _, _>(InTurn::new([out.producer()?, out.producer()?]), back.consumer()?)
        }
        Ring::SpmcShm => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            joined::<P, _, _>(out.producer()?, Both::new([back.consumer()?, back.consumer()?]))
        }
        Ring::FanoutShm => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            joined::<P, _, _>(out.producer()?, back.consumer()?)
        }
        Ring::FanoutShm2p2s => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            joined::<P, _, _>(
                InTurn::new([out.producer()?, out.producer()?]),
                Both::new([back.consumer()?, back.consumer()?]),
            )
        }
        Ring::PodShm => {
            let options = RingOptions::default();
            let (out, back) = rings!(PodShm, options, namespace, out, back);
            joined::<P, _, _>(out.producer()?, Latest(back.consumer()?))
        }
        Ring::Topic => topic_side::<P>(namespace, Qos::new(), out, back)?,
        Ring::TopicReliable => topic_side::<P>(namespace, Qos::reliable(), out, back)?,
    })
}

fn topic_side<P: Packet>(
    namespace: &Arc<Namespace>,
    qos: Qos,
    out: Direction<'_>,
    back: Direction<'_>,
) -> Result<Box<dyn Side>, OpenPathError> {
    let qos = qos.capacity(CAPACITY);
    let builder = |name| Topic::<P>::builder(name).namespace(namespace).qos(qos);
    Ok(joined::<P, _, _>(builder(out.name).publisher()?, builder(back.name).subscriber()?))
}

/// A side of a sending and a receiving end.
pub fn joined<P, T, R>(out: T, back: R) -> Box<dyn Side>
where
    P: Payload + 'static,
    T: Tx<P> + Send + 'static,
    R: Rx<P> + Send + 'static,
{
    Box::new(OpenSide { link: Joined { out, back }, packet: PhantomData::<fn(P)> })
}

struct OpenSide<P, T, R> {
    link: Joined<T, R>,
    packet: PhantomData<fn(P)>,
}

impl<P: Payload, T: Tx<P> + Send, R: Rx<P> + Send> Side for OpenSide<P, T, R> {
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
        let before = self.link.back.lost();
        let streamed = stream::stream_receive::<P>(&mut self.link, plan, source, watch)?;
        let counted = self.link.back.lost() - before;
        if streamed.lost == counted {
            return Ok(streamed);
        }
        Err(WorkloadError::Miscounted { lost: streamed.lost, counted })
    }

    fn loop_round(&mut self, plan: &MicroPlan, first_seq: u64) -> Result<Micro, WorkloadError> {
        loopback::send_and_receive::<P>(&mut self.link, plan, first_seq)
    }

    fn loop_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
    ) -> Result<Streamed, WorkloadError> {
        loopback::stream::<P>(&mut self.link, plan, source)
    }
}
