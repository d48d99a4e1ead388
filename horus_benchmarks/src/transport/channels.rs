//! Channels between threads, ours and those of other crates, as transports of a
//! [`Pair`](crate::transport::pair).
//!
//! All hold [`CAPACITY`] messages. Each is polled: `try_send` and `try_recv`, or what comes next to
//! them, which for all of them is faster than blocking while both ends have a CPU. Shapes with more
//! than one sender have them take turns on one thread, so that two CPUs are enough.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};
use serde::{Deserialize, Serialize};

use crate::measure::loopback;
use crate::measure::micro::{Micro, MicroPlan};
use crate::measure::payload::{Payload, Seq};
use crate::measure::workload::WorkloadError;
use crate::scenario::contest::Entrant;
use crate::transport::ends::{Both, InTurn, Joined, Rx, Tx};
use crate::transport::pair::Way;
use crate::transport::side::{self, OpenPathError, Side};

/// A sending end: what it calls and whether that went well.
macro_rules! tx {
    ($end:ty, |$tx:ident, $message:ident| $sent:expr) => {
        impl<P: Word> Tx<P> for $end {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                let ($tx, $message) = (self, *message);
                $sent || full()
            }
        }
    };
}

/// A receiving end: the message that it gets, if any.
macro_rules! rx {
    ($end:ty, |$rx:ident| $received:expr) => {
        impl<P: Word> Rx<P> for $end {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                let $rx = self;
                $received.map(|found| *message = found).is_some()
            }

            fn lost(&self) -> u64 {
                0
            }
        }
    };
}

mod ours;
mod theirs;

/// There is no room at the moment.
#[inline(always)]
fn full() -> bool {
    std::hint::spin_loop();
    false
}

/// Messages that every channel holds: as large as the examples of most of them, and a power of
/// two, as some want.
pub const CAPACITY: usize = 256;

/// Who makes the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "modules of ours, and crates")]
pub enum Maker {
    Direct,
    Spsc,
    Spmc,
    Mpsc,
    Fanout,
    Rtrb,
    Disruptor,
    Crossbeam,
    Std,
    Kanal,
    Flume,
}

impl Maker {
    /// As it is written in ids.
    pub const fn id(self) -> &'static str {
        match self {
            Maker::Direct => "direct",
            Maker::Spsc => "spsc",
            Maker::Spmc => "spmc",
            Maker::Mpsc => "mpsc",
            Maker::Fanout => "fanout",
            Maker::Rtrb => "rtrb",
            Maker::Disruptor => "disruptor",
            Maker::Crossbeam => "crossbeam",
            Maker::Std => "std",
            Maker::Kanal => "kanal",
            Maker::Flume => "flume",
        }
    }

    /// How it is used.
    const fn basis(self) -> &'static str {
        match self {
            Maker::Direct => "try_send, try_recv",
            Maker::Spsc | Maker::Spmc | Maker::Mpsc | Maker::Fanout => {
                "try_send_ref, try_recv_into; streams received by drain_in_place"
            }
            Maker::Rtrb => "push, pop; streams received by read_chunk of all there is",
            Maker::Disruptor => "BusySpin; try_publish, EventPoller::poll of all there is",
            Maker::Crossbeam => "bounded; try_send, try_recv",
            Maker::Std => "sync_channel; try_send, try_recv",
            Maker::Kanal => "bounded; try_send, try_recv; streams received by drain_into",
            Maker::Flume => "bounded; try_send, try_recv; streams received by drain",
        }
    }

    const fn is_ours(self) -> bool {
        use Maker::{Direct, Fanout, Mpsc, Spmc, Spsc};
        matches!(self, Direct | Spsc | Spmc | Mpsc | Fanout)
    }
}

/// How many ends each side has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// One sender, one receiver.
    OneToOne,
    /// Two senders that take turns, one receiver.
    TwoToOne,
    /// One sender, two receivers that both get every message. Where a channel cannot do that, the
    /// sender has one to each of them.
    OneToTwo,
}

impl Shape {
    /// Part of the place in ids.
    pub const fn id(self) -> &'static str {
        match self {
            Shape::OneToOne => "cross_thread",
            Shape::TwoToOne => "cross_thread_2p1s",
            Shape::OneToTwo => "cross_thread_1p2s",
        }
    }

    /// Who is compared in this shape.
    pub const fn makers(self) -> &'static [Maker] {
        use Maker::{Crossbeam, Disruptor, Fanout, Flume, Kanal, Mpsc, Rtrb, Spmc, Spsc, Std};
        match self {
            Shape::OneToOne => &[Spsc, Rtrb, Disruptor, Crossbeam, Std, Kanal, Flume],
            Shape::TwoToOne => &[Mpsc, Fanout, Disruptor, Crossbeam, Std, Kanal, Flume],
            Shape::OneToTwo => &[Spmc, Fanout, Disruptor, Crossbeam],
        }
    }
}

/// Bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Width {
    B8,
    B16,
    B64,
    B256,
    B1024,
}

impl Width {
    /// From small to large.
    pub const ALL: [Width; 5] = [Width::B8, Width::B16, Width::B64, Width::B256, Width::B1024];

    /// The number.
    pub const fn bytes(self) -> usize {
        match self {
            Width::B8 => 8,
            Width::B16 => 16,
            Width::B64 => 64,
            Width::B256 => 256,
            Width::B1024 => 1024,
        }
    }
}

/// A channel there, and one of the same kind back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Who makes it.
    pub maker: Maker,
    /// How many ends it has.
    pub shape: Shape,
    /// What it carries.
    pub width: Width,
}

impl Channel {
    /// All that are compared in `shape`.
    pub fn entrants(shape: Shape, width: Width) -> Vec<Entrant<Channel>> {
        let entrant = |&maker: &Maker| Entrant {
            // WHY another name: it is compared in two shapes.
            name: match (maker, shape) {
                (Maker::Fanout, Shape::OneToTwo) => "fanout_broadcast",
                _ => maker.id(),
            },
            way: Channel { maker, shape, width },
            is_ours: maker.is_ours(),
            basis: maker.basis(),
        };
        shape.makers().iter().map(entrant).collect()
    }
}

/// Where the side that was made for the far end is left.
#[derive(Clone, Default)]
pub struct Meeting(Arc<Mutex<Option<Box<dyn Side + Send>>>>);

impl Meeting {
    /// Leaves the far side there.
    pub fn leave(&self, side: Box<dyn Side + Send>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(side);
    }

    /// Takes what was left there.
    pub fn take(&self) -> Result<Box<dyn Side>, OpenPathError> {
        let side = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let side = side.ok_or_else(|| std::io::Error::other("nobody made this side"))?;
        Ok(side)
    }
}

impl fmt::Debug for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meeting")
    }
}

impl Way for Channel {
    type Meeting = Meeting;

    fn near(self, meeting: &Meeting, _number: u64) -> Result<Box<dyn Side>, OpenPathError> {
        let [near, far] = match self.width {
            Width::B8 => sides::<Seq>(self),
            Width::B16 => sides::<[u64; 2]>(self),
            Width::B64 => sides::<[u64; 8]>(self),
            Width::B256 => sides::<[u64; 32]>(self),
            Width::B1024 => sides::<[u64; 128]>(self),
        };
        meeting.leave(far);
        Ok(near)
    }

    fn far(self, meeting: &Meeting, _number: u64) -> Result<Box<dyn Side>, OpenPathError> {
        meeting.take()
    }

    fn producers(self) -> u64 {
        if self.shape == Shape::TwoToOne { 2 } else { 1 }
    }

    fn is_lossless(self) -> bool {
        true
    }
}

/// What every message here can do.
pub trait Word: Payload + Send + Sync + 'static {}

impl<P: Payload + Send + Sync + 'static> Word for P {}

/// Both sides of a way, of which one is handed over.
pub type Sides = [Box<dyn Side + Send>; 2];

/// Both sides of two channels that `make` makes.
pub(crate) fn both<P: Word, T, R>(make: impl Fn() -> (T, R)) -> Sides
where
    T: Tx<P> + Send + 'static,
    R: Rx<P> + Send + 'static,
{
    let ((there, from_there), (back, from_back)) = (make(), make());
    [side::across::<P, T, R>(there, from_back), side::across::<P, T, R>(back, from_there)]
}

fn sides<P: Word>(channel: Channel) -> Sides {
    match channel.shape {
        Shape::OneToOne => one_to_one::<P>(channel.maker),
        Shape::TwoToOne => two_to_one::<P>(channel.maker),
        Shape::OneToTwo => one_to_two::<P>(channel.maker),
    }
}

fn one_to_one<P: Word>(maker: Maker) -> Sides {
    match maker {
        Maker::Spsc => both::<P, _, _>(|| spsc::channel(CAPACITY)),
        Maker::Rtrb => both::<P, _, _>(|| rtrb::RingBuffer::new(CAPACITY)),
        Maker::Disruptor => both::<P, _, _>(theirs::disruptor),
        Maker::Crossbeam => both::<P, _, _>(|| crossbeam_channel::bounded(CAPACITY)),
        Maker::Std => both::<P, _, _>(|| std::sync::mpsc::sync_channel(CAPACITY)),
        Maker::Kanal => both::<P, _, _>(theirs::kanal),
        Maker::Flume => both::<P, _, _>(|| flume::bounded(CAPACITY)),
        other => unreachable!("{other:?} is of another shape"),
    }
}

/// Two of the same sender, in turn.
pub(crate) fn cloned<T: Clone, R>((tx, rx): (T, R)) -> (InTurn<T>, R) {
    (InTurn::new([tx.clone(), tx]), rx)
}

fn two_to_one<P: Word>(maker: Maker) -> Sides {
    match maker {
        Maker::Mpsc => both::<P, _, _>(|| cloned(mpsc::channel(CAPACITY))),
        Maker::Fanout => both::<P, _, _>(|| {
            let (tx, rx) = fanout::channel(CAPACITY);
            let other = tx.try_clone().expect("there is room for two");
            (InTurn::new([tx, other]), rx)
        }),
        Maker::Disruptor => both::<P, _, _>(|| cloned(theirs::disruptor_multi())),
        Maker::Crossbeam => both::<P, _, _>(|| cloned(crossbeam_channel::bounded(CAPACITY))),
        Maker::Std => both::<P, _, _>(|| cloned(std::sync::mpsc::sync_channel(CAPACITY))),
        Maker::Kanal => both::<P, _, _>(|| cloned(theirs::kanal())),
        Maker::Flume => both::<P, _, _>(|| cloned(flume::bounded(CAPACITY))),
        other => unreachable!("{other:?} is of another shape"),
    }
}

fn one_to_two<P: Word>(maker: Maker) -> Sides {
    match maker {
        Maker::Spmc => both::<P, _, _>(|| {
            let (tx, rx) = spmc::channel(CAPACITY);
            let other = rx.try_clone().expect("there is room for two");
            (tx, Both::new([rx, other]))
        }),
        Maker::Fanout => both::<P, _, _>(|| {
            let (tx, rx) = fanout::channel(CAPACITY);
            let other = rx.try_clone().expect("there is room for two");
            (tx, Both::new([rx, other]))
        }),
        Maker::Disruptor => both::<P, _, _>(|| {
            let (tx, receivers) = theirs::disruptor_broadcast();
            (tx, Both::new(receivers))
        }),
        Maker::Crossbeam => both::<P, _, _>(|| {
            let (one, from_one) = crossbeam_channel::bounded(CAPACITY);
            let (two, from_two) = crossbeam_channel::bounded(CAPACITY);
            (theirs::ToBoth::new([one, two]), Both::new([from_one, from_two]))
        }),
        other => unreachable!("{other:?} is of another shape"),
    }
}

/// Who is compared with both ends on one thread.
pub const IN_ONE_THREAD: [Maker; 8] = {
    use Maker::{Crossbeam, Direct, Disruptor, Flume, Kanal, Rtrb, Spsc, Std};
    [Direct, Spsc, Rtrb, Disruptor, Crossbeam, Std, Kanal, Flume]
};

/// A send and a receive on one thread, over and over: see [`loopback::send_and_receive`].
pub fn in_one_thread(maker: Maker, width: Width, plan: &MicroPlan) -> Result<Micro, WorkloadError> {
    match width {
        Width::B8 => looped::<Seq>(maker, plan),
        Width::B16 => looped::<[u64; 2]>(maker, plan),
        Width::B64 => looped::<[u64; 8]>(maker, plan),
        Width::B256 => looped::<[u64; 32]>(maker, plan),
        Width::B1024 => looped::<[u64; 128]>(maker, plan),
    }
}

fn looped<P: Word>(maker: Maker, plan: &MicroPlan) -> Result<Micro, WorkloadError> {
    fn run<P: Word>(
        plan: &MicroPlan,
        (out, back): (impl Tx<P>, impl Rx<P>),
    ) -> Result<Micro, WorkloadError> {
        loopback::send_and_receive::<P>(&mut Joined { out, back }, plan, 1)
    }
    match maker {
        Maker::Direct => run::<P>(plan, direct::channel(CAPACITY)),
        Maker::Spsc => run::<P>(plan, spsc::channel(CAPACITY)),
        Maker::Spmc => run::<P>(plan, spmc::channel(CAPACITY)),
        Maker::Mpsc => run::<P>(plan, mpsc::channel(CAPACITY)),
        Maker::Fanout => run::<P>(plan, fanout::channel(CAPACITY)),
        Maker::Rtrb => run::<P>(plan, rtrb::RingBuffer::new(CAPACITY)),
        Maker::Disruptor => run::<P>(plan, theirs::disruptor()),
        Maker::Crossbeam => run::<P>(plan, crossbeam_channel::bounded(CAPACITY)),
        Maker::Std => run::<P>(plan, std::sync::mpsc::sync_channel(CAPACITY)),
        Maker::Kanal => run::<P>(plan, theirs::kanal()),
        Maker::Flume => run::<P>(plan, flume::bounded(CAPACITY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::pin::{self, CpuPair};
    use crate::measure::tsc::TickSource;
    use crate::measure::workload::Timing;
    use crate::transport::pair::Pair;

    #[test]
    fn every_channel_carries_rounds_and_streams_in_every_shape() {
        let cpu = pin::allowed_cpus().unwrap()[0];
        let cpus = CpuPair { near: cpu, far: cpu };
        // A thread of its own, so that the test runner's threads keep their freedom.
        std::thread::spawn(move || {
            pin::pin_current_thread(cpu).unwrap();
            let meeting = Meeting::default();
            let both = [meeting.clone(), meeting];
            let mut pair = Pair::<Channel>::threads(cpus, TickSource::detect(), both).unwrap();
            let mut widths = Width::ALL.into_iter().cycle();
            for shape in [Shape::OneToOne, Shape::TwoToOne, Shape::OneToTwo] {
                for entrant in Channel::entrants(shape, widths.next().unwrap()) {
                    pair.open(entrant.way).unwrap();
                    let (round, echo) = pair.round(Timing::RoundTrip, 5, 40).unwrap();
                    assert_eq!((round.received, echo.echoed), (40, 45), "{entrant:?}");
                    let (_, streamed) = pair.stream(1000).unwrap();
                    assert_eq!((streamed.received, streamed.lost), (1000, 0), "{entrant:?}");
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn every_channel_works_on_one_thread() {
        let plan = MicroPlan { source: TickSource::detect(), warm_up: 1, batches: 3 };
        for maker in IN_ONE_THREAD {
            let micro = in_one_thread(maker, Width::B16, &plan).unwrap();
            assert_eq!(micro.verified, micro.done, "{maker:?}");
        }
    }
}
