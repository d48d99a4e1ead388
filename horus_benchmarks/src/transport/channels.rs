//! Channels between threads, ours and those of other crates.
//!
//! Every channel holds [`CAPACITY`] messages. Each is polled, with `try_send` and `try_recv` or the
//! closest calls that it has; while both sides have a CPU, this is faster than blocking for all of
//! them. Several senders take turns in one thread, so that two CPUs are enough.

use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{Corrupt, Payload, Seq};
use crate::transport::carrier::{CAPACITY, Carrier, Maker, Shape, Size, Transport};
use crate::transport::driver::{self, Driver};
use crate::transport::endpoints::{Both, Draining, InTurn, cloned};
use crate::transport::packet::{Packet16, Packet304, Packet1480, with_packet};
use crate::transport::peer_channels as peers;
use crate::transport::rendezvous::{ConnectionError, ConnectionSide, Opened, Role};

/// Number of messages that every channel can hold.
pub(super) const CHANNEL_CAPACITY: usize = CAPACITY as usize;

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

/// Opens one side of a transport. The near side makes both sides, and leaves one for the far
/// thread.
pub(super) fn open(transport: Transport, place: &ConnectionSide<'_>) -> Opened {
    if place.role == Role::Far {
        return place.take();
    }
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
fn two_threads<P: Word, T, R>(
    place: &ConnectionSide<'_>,
    make: impl Fn() -> (T, R),
) -> Box<dyn Driver>
where
    T: Endpoint<P> + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    let ((there, from_there), (back, from_back)) = (make(), make());
    place.leave(driver::one_side_send::<P>((back, from_there)));
    driver::one_side_send::<P>((there, from_back))
}

/// Makes two channels between two threads, one for each direction, or one channel within one
/// thread.
fn one_to_one<P: Word, T, R>(
    place: &ConnectionSide<'_>,
    make: impl Fn() -> (T, R),
) -> Box<dyn Driver>
where
    T: Endpoint<P> + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    match place.role {
        Role::Loop => driver::both_ends::<P>(make()),
        _ => two_threads::<P, T, R>(place, make),
    }
}

fn ours<P: Word>(transport: Transport, place: &ConnectionSide<'_>) -> Opened {
    let Carrier::Channel(maker, shape) = transport.carrier else {
        return Err(ConnectionError::Unsuited(transport));
    };
    Ok(match (maker, shape) {
        (Maker::Direct, Shape::OneToOne) if place.role == Role::Loop => {
            driver::both_ends::<P>(direct::channel(CHANNEL_CAPACITY))
        }
        (Maker::Spsc, Shape::OneToOne) => {
            one_to_one::<P, _, _>(place, || spsc::channel(CHANNEL_CAPACITY))
        }
        (Maker::Mpsc, Shape::TwoToOne) => {
            two_threads::<P, _, _>(place, || cloned(mpsc::channel(CHANNEL_CAPACITY)))
        }
        (Maker::Spmc, Shape::OneToTwo) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = spmc::channel(CHANNEL_CAPACITY);
            let other = rx.try_clone().expect(JOINED);
            (tx, Both::new([rx, other]))
        }),
        (Maker::Fanout, Shape::TwoToOne) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = fanout::channel(CHANNEL_CAPACITY);
            let other = tx.try_clone().expect(JOINED);
            (InTurn::new([tx, other]), rx)
        }),
        (Maker::Fanout, Shape::OneToTwo) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = fanout::channel(CHANNEL_CAPACITY);
            let other = rx.try_clone().expect(JOINED);
            (tx, Both::new([rx, other]))
        }),
        (Maker::Fanout, Shape::TwoToTwo) => two_threads::<P, _, _>(place, || {
            let (tx, rx) = fanout::channel(CHANNEL_CAPACITY);
            let other = (tx.try_clone().expect(JOINED), rx.try_clone().expect(JOINED));
            (InTurn::new([tx, other.0]), Both::new([rx, other.1]))
        }),
        _ => return Err(ConnectionError::Unsuited(transport)),
    })
}

fn theirs<P: Word>(transport: Transport, place: &ConnectionSide<'_>) -> Opened {
    use Maker::{Crossbeam, Disruptor, Flume, Kanal, Rtrb, Std};
    let Carrier::Channel(maker, shape) = transport.carrier else {
        return Err(ConnectionError::Unsuited(transport));
    };
    Ok(match (shape, maker) {
        (Shape::OneToOne, Rtrb) => {
            one_to_one::<P, _, _>(place, || rtrb::RingBuffer::new(CHANNEL_CAPACITY))
        }
        (Shape::OneToOne, Disruptor) => one_to_one::<P, _, _>(place, peers::disruptor),
        (Shape::OneToOne, Crossbeam) => {
            one_to_one::<P, _, _>(place, || crossbeam_channel::bounded(CHANNEL_CAPACITY))
        }
        (Shape::OneToOne, Std) => {
            one_to_one::<P, _, _>(place, || std::sync::mpsc::sync_channel(CHANNEL_CAPACITY))
        }
        (Shape::OneToOne, Kanal) => one_to_one::<P, _, _>(place, peers::kanal),
        (Shape::OneToOne, Flume) => {
            one_to_one::<P, _, _>(place, || flume::bounded(CHANNEL_CAPACITY))
        }
        (Shape::TwoToOne, Disruptor) => {
            two_threads::<P, _, _>(place, || cloned(peers::disruptor_multi()))
        }
        (Shape::TwoToOne, Crossbeam) => two_threads::<P, _, _>(place, || {
            cloned(crossbeam_channel::bounded(CHANNEL_CAPACITY))
        }),
        (Shape::TwoToOne, Std) => two_threads::<P, _, _>(place, || {
            cloned(std::sync::mpsc::sync_channel(CHANNEL_CAPACITY))
        }),
        (Shape::TwoToOne, Kanal) => two_threads::<P, _, _>(place, || cloned(peers::kanal())),
        (Shape::TwoToOne, Flume) => {
            two_threads::<P, _, _>(place, || cloned(flume::bounded(CHANNEL_CAPACITY)))
        }
        (Shape::OneToTwo, Disruptor) => two_threads::<P, _, _>(place, || {
            let (tx, receivers) = peers::disruptor_broadcast();
            (tx, Both::new(receivers))
        }),
        (Shape::OneToTwo, Crossbeam) => two_threads::<P, _, _>(place, || {
            let (one, from_one) = crossbeam_channel::bounded(CHANNEL_CAPACITY);
            let (two, from_two) = crossbeam_channel::bounded(CHANNEL_CAPACITY);
            (
                peers::ToBoth::new([one, two]),
                Both::new([from_one, from_two]),
            )
        }),
        _ => return Err(ConnectionError::Unsuited(transport)),
    })
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
            fn drain(
                &mut self,
                _message: &mut P,
                each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
            ) -> Result<bool, Corrupt> {
                let mut draining = Draining::into(each);
                let messages = self.drain_in_place(|message| draining.enter(message));
                draining.end(messages)
            }
        }
    )+};
}

endpoints!(spsc, spmc, mpsc, fanout);
