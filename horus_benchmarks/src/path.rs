//! The paths a message can take: which ring or topic, how many ends, which payload.
//!
//! ```text
//!              near                                       far
//! spsc_shm     1 producer  ── there (gated-only) ──▶      1 consumer     and the same back
//! mpsc_shm     2 producers ── there (gated-only) ──▶      1 consumer     in turn
//! spmc_shm     1 producer  ── there (open) ──▶            2 consumers    both, then the echo
//! fanout_shm   1 producer  ── there (open) ──▶            1 consumer
//! …_2p2s       2 producers ── there (open) ──▶            2 consumers    in turn; both
//! pod_shm      1 producer  ── there (latest value) ──▶    1 consumer     `latest`
//! topic        1 publisher ── there (open) ──▶            1 subscriber
//! ```
//!
//! Each side has one thread for all of its ends, so that two CPUs are enough. A round trip goes
//! there and back over rings of the same kind, so half of it is one way of that kind.

use std::sync::Arc;

use horus_core::TopicError;
use horus_core::topic::{Qos, Topic};
use horus_shm::{FanoutShm, MpscShm, Namespace, OpenError, PodShm, RingOptions, SpscShm};
use serde::{Deserialize, Serialize};

use crate::ends::{Both, InTurn, Joined, Latest, Rx, Tx};
use crate::loopback;
use crate::micro::{Micro, MicroPlan};
use crate::packet::{Packet, Packet16, Packet304, Packet1480};
use crate::payload::{Payload, size_label};
use crate::stream::{self, Sent, StreamPlan, Streamed};
use crate::tsc::TickSource;
use crate::wait::Watch;
use crate::workload::{Echo, Round, RoundPlan, WorkloadError, far_end, near_end};

/// Slots of every lane but the latest-value ring's.
pub const CAPACITY: u64 = 256;

/// A ring or a topic, and how many ends it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ring {
    /// 1:1, gated-only.
    SpscShm,
    /// N:1 with two producers, gated-only.
    MpscShm,
    /// 1:N with two consumers, open lane.
    SpmcShm,
    /// 1:1, open lane.
    FanoutShm,
    /// N:N with two of each, open lanes.
    FanoutShm2p2s,
    /// Latest value.
    PodShm,
    /// A best-effort topic, 1:1.
    Topic,
    /// A reliable topic, 1:1.
    TopicReliable,
}

impl Ring {
    /// As it is written in ids.
    pub fn id(self) -> &'static str {
        match self {
            Ring::SpscShm => "spsc_shm",
            Ring::MpscShm => "mpsc_shm",
            Ring::SpmcShm => "spmc_shm",
            Ring::FanoutShm => "fanout_shm",
            Ring::FanoutShm2p2s => "fanout_shm_2p2s",
            Ring::PodShm => "pod_shm",
            Ring::Topic => "topic",
            Ring::TopicReliable => "topic_reliable",
        }
    }

    /// How the ends are arranged, for people.
    pub fn arrangement(self) -> &'static str {
        match self {
            Ring::SpscShm => "1:1, gated-only",
            Ring::MpscShm => "2:1, gated-only, producers in turn",
            Ring::SpmcShm => "1:2, open lane, both receive",
            Ring::FanoutShm => "1:1, open lane",
            Ring::FanoutShm2p2s => "2:2, open lanes, producers in turn, both receive",
            Ring::PodShm => "1:1, latest()",
            Ring::Topic => "1:1, best-effort topic (open lane)",
            Ring::TopicReliable => "1:1, reliable topic",
        }
    }

    /// Producing ends of each direction.
    pub fn producers(self) -> u64 {
        match self {
            Ring::MpscShm | Ring::FanoutShm2p2s => 2,
            _ => 1,
        }
    }

    /// Nothing is overwritten unread: a lost message is an error.
    pub fn is_lossless(self) -> bool {
        matches!(self, Ring::SpscShm | Ring::MpscShm | Ring::TopicReliable)
    }
}

/// The size of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// [`Packet16`].
    Small,
    /// [`Packet304`].
    Medium,
    /// [`Packet1480`].
    Large,
}

impl Size {
    /// From small to large.
    pub const ALL: [Size; 3] = [Size::Small, Size::Medium, Size::Large];

    /// Bytes of a message.
    pub fn bytes(self) -> usize {
        match self {
            Size::Small => Packet16::BYTES,
            Size::Medium => Packet304::BYTES,
            Size::Large => Packet1480::BYTES,
        }
    }
}

/// A path: what carries the messages, and how large they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// What carries them.
    pub ring: Ring,
    /// How large they are.
    pub size: Size,
}

impl Path {
    /// All sizes over each of `rings`, as the rows are ordered.
    pub fn over(rings: &[Ring]) -> impl Iterator<Item = Path> + use<'_> {
        rings.iter().flat_map(|&ring| Size::ALL.map(|size| Path { ring, size }))
    }

    /// As it is written in ids: `spsc_shm/16B`.
    pub fn id(self) -> String {
        format!("{}/{}", self.ring.id(), size_label(self.size.bytes()))
    }
}

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
            side::<P, _, _>(out.producer()?, back.consumer()?)
        }
        Ring::MpscShm => {
            let (out, back) = rings!(MpscShm, options, namespace, out, back);
            side::<P, _, _>(InTurn::new([out.producer()?, out.producer()?]), back.consumer()?)
        }
        Ring::SpmcShm => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            side::<P, _, _>(out.producer()?, Both::new([back.consumer()?, back.consumer()?]))
        }
        Ring::FanoutShm => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            side::<P, _, _>(out.producer()?, back.consumer()?)
        }
        Ring::FanoutShm2p2s => {
            let (out, back) = rings!(FanoutShm, options, namespace, out, back);
            side::<P, _, _>(
                InTurn::new([out.producer()?, out.producer()?]),
                Both::new([back.consumer()?, back.consumer()?]),
            )
        }
        Ring::PodShm => {
            let options = RingOptions::default();
            let (out, back) = rings!(PodShm, options, namespace, out, back);
            side::<P, _, _>(out.producer()?, Latest(back.consumer()?))
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
    Ok(side::<P, _, _>(builder(out.name).publisher()?, builder(back.name).subscriber()?))
}

fn side<P, T, R>(out: T, back: R) -> Box<dyn Side>
where
    P: Packet,
    T: Tx<P> + Send + 'static,
    R: Rx<P> + Send + 'static,
{
    Box::new(OpenSide { link: Joined { out, back }, packet: std::marker::PhantomData::<fn(P)> })
}

struct OpenSide<P, T, R> {
    link: Joined<T, R>,
    packet: std::marker::PhantomData<fn(P)>,
}

impl<P: Packet, T: Tx<P> + Send, R: Rx<P> + Send> Side for OpenSide<P, T, R> {
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
