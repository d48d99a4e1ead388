//! Channels between threads, ours and those of other crates.
//!
//! Every channel holds [`CAPACITY`] messages. Each is polled, with `try_send` and `try_recv` or the
//! closest calls that it has; while both sides have a CPU, this is faster than blocking for all of
//! them. Several senders take turns in one thread, so that two CPUs are enough.

use disruptor::{BusySpin, build_multi_producer, build_single_producer};
use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{Payload, Seq};
use crate::transport::carrier::Maker::{
    Crossbeam, Direct, Disruptor, Fanout, Flume, Kanal, Mpsc, Rtrb, Spmc, Spsc, Std,
};
use crate::transport::carrier::Shape::{OneToOne, OneToTwo, TwoToOne, TwoToTwo};
use crate::transport::carrier::{CAPACITY, Carrier, Size, Transport};
use crate::transport::driver::{self, Driver};
use crate::transport::endpoints::{Both, InTurn, cloned};
use crate::transport::packet::{Packet16, Packet304, Packet1480, with_packet};
use crate::transport::peer_channels as peers;
use crate::transport::rendezvous::{ConnectionError, Opened, Rendezvous, Role};

/// Number of messages that every channel can hold.
pub(super) const SLOTS: usize = CAPACITY as usize;

const JOINED: &str = "there is room for two";

/// A message that every channel here can carry.
pub(super) trait Word: Payload + Send + Sync + 'static {}

impl<P: Payload + Send + Sync + 'static> Word for P {}

/// Returns false, because the channel is full at the moment.
#[inline(always)]
pub(super) fn full() -> bool {
    std::hint::spin_loop();
    false
}

/// Opens the near side of a transport, and makes the driver of the far thread as well; or both ends
/// in one thread.
pub(super) fn open(transport: Transport, place: &Rendezvous<'_>) -> Opened {
    if !transport.carrier.is_ours() {
        return with_packet!(
            theirs(transport, place); Seq, Packet16, [u64; 8], [u64; 32], [u64; 128]
        );
    }
    with_packet!(
        ours(transport, place);
        Seq, Packet16, [u64; 8], [u64; 32], Packet304, [u64; 128], Packet1480
    )
}

/// Makes two channels between two threads, one for each direction.
fn two_threads<P: Word, T, R>(place: &Rendezvous<'_>, make: impl Fn() -> (T, R)) -> Driver
where
    T: Endpoint<P> + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    let ((there, from_there), (back, from_back)) = (make(), make());
    let far = driver::one_side::<P>((back, from_there));
    place.far.set(Some(Box::new(far)));
    Box::new(driver::one_side::<P>((there, from_back)))
}

/// Makes two channels between two threads, one for each direction, or one channel within one
/// thread.
fn one_to_one<P: Word, T, R>(place: &Rendezvous<'_>, make: impl Fn() -> (T, R)) -> Driver
where
    T: Endpoint<P> + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    match place.role {
        Role::Loop => driver::both_ends::<P>(make()),
        _ => two_threads::<P, T, R>(place, make),
    }
}

/// Makes channels whose senders can be cloned, in the shapes with one receiver.
fn to_one<P: Word, T, R>(
    transport: Transport,
    place: &Rendezvous<'_>,
    make: impl Fn() -> (T, R),
) -> Opened
where
    T: Endpoint<P> + Clone + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    match transport.carrier {
        Carrier::Channel(_, OneToOne) => Ok(one_to_one::<P, T, R>(place, make)),
        Carrier::Channel(_, TwoToOne) => Ok(two_threads::<P, _, R>(place, || cloned(make()))),
        _ => Err(ConnectionError::Unsuited(transport)),
    }
}

fn ours<P: Word>(transport: Transport, place: &Rendezvous<'_>) -> Opened {
    let Carrier::Channel(maker, shape) = transport.carrier else {
        return Err(ConnectionError::Unsuited(transport));
    };
    Ok(match (maker, shape) {
        (Direct, OneToOne) if place.role == Role::Loop => {
            driver::both_ends::<P>(direct::channel(SLOTS))
        }
        (Spsc, OneToOne) => one_to_one::<P, _, _>(place, || spsc::channel(SLOTS)),
        (Mpsc, TwoToOne) => two_threads::<P, _, _>(place, || cloned(mpsc::channel(SLOTS))),
        (Spmc, OneToTwo) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = spmc::channel(SLOTS);
            let other = rx.try_clone().expect(JOINED);
            (tx, Both::new([rx, other]))
        }),
        (Fanout, TwoToOne) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = fanout::channel(SLOTS);
            let other = tx.try_clone().expect(JOINED);
            (InTurn::new([tx, other]), rx)
        }),
        (Fanout, OneToTwo) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = fanout::channel(SLOTS);
            let other = rx.try_clone().expect(JOINED);
            (tx, Both::new([rx, other]))
        }),
        (Fanout, TwoToTwo) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = fanout::channel(SLOTS);
            let other = (tx.try_clone().expect(JOINED), rx.try_clone().expect(JOINED));
            (InTurn::new([tx, other.0]), Both::new([rx, other.1]))
        }),
        _ => return Err(ConnectionError::Unsuited(transport)),
    })
}

fn theirs<P: Word>(transport: Transport, place: &Rendezvous<'_>) -> Opened {
    let Carrier::Channel(maker, shape) = transport.carrier else {
        return Err(ConnectionError::Unsuited(transport));
    };
    Ok(match (maker, shape) {
        (Rtrb, OneToOne) => one_to_one::<P, _, _>(place, || rtrb::RingBuffer::new(SLOTS)),
        (Disruptor, OneToOne) => one_to_one::<P, _, _>(place, || {
            let builder = build_single_producer(SLOTS, empty::<P>, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            (peers::Publisher(builder.build()), peers::Poller(poller))
        }),
        (Disruptor, TwoToOne) => two_threads::<P, _, _>(place, || {
            let builder = build_multi_producer(SLOTS, empty::<P>, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            cloned((peers::Publisher(builder.build()), peers::Poller(poller)))
        }),
        (Disruptor, OneToTwo) => two_threads::<P, _, _>(place, || {
            let builder = build_single_producer(SLOTS, empty::<P>, BusySpin);
            let (one, builder) = builder.new_event_poller();
            let (two, builder) = builder.new_event_poller();
            let pollers = [one, two].map(peers::Poller);
            (peers::Publisher(builder.build()), Both::new(pollers))
        }),
        (Crossbeam, OneToTwo) => two_threads::<P, _, _>(place, || {
            let (one, from_one) = crossbeam_channel::bounded(SLOTS);
            let (two, from_two) = crossbeam_channel::bounded(SLOTS);
            let both = peers::ToBoth::new([one, two]);
            (both, Both::new([from_one, from_two]))
        }),
        (Crossbeam, _) => {
            return to_one::<P, _, _>(transport, place, || crossbeam_channel::bounded(SLOTS));
        }
        (Std, _) => {
            return to_one::<P, _, _>(transport, place, || std::sync::mpsc::sync_channel(SLOTS));
        }
        (Kanal, _) => return to_one::<P, _, _>(transport, place, peers::kanal),
        (Flume, _) => return to_one::<P, _, _>(transport, place, || flume::bounded(SLOTS)),
        _ => return Err(ConnectionError::Unsuited(transport)),
    })
}

/// Returns the initial value of a disruptor's event, before anything was published.
fn empty<P: Word>() -> P {
    P::compose(0)
}

impl<P: Word> Endpoint<P> for direct::Sender<P> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        self.try_send(*message).is_ok() || full()
    }
}

impl<P: Word> Endpoint<P> for direct::Receiver<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.try_recv().ok().map(|found| *message = found).is_some()
    }
}

macro_rules! endpoints {
    ($($module:ident),+) => {$(
        impl<P: Word> Endpoint<P> for $module::Sender<P> {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                self.try_send_ref(message).is_ok() || full()
            }
        }

        impl<P: Word> Endpoint<P> for $module::Receiver<P> {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                self.try_recv_into(message).is_ok()
            }

            #[inline(always)]
            fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
                self.drain_in_place(each) > 0
            }
        }
    )+};
}

endpoints!(spsc, spmc, mpsc, fanout);
