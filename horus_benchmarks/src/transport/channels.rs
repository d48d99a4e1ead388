//! Channels between threads: those of our library and those of other crates.
//!
//! Every channel holds [`CAPACITY`] messages. Each is polled with `try_send` and `try_recv`, or
//! with the calls that are most similar. For every channel this is faster than blocking, as long as
//! each side has a CPU. Several senders take turns in one thread, so that two CPUs are enough.

use disruptor::{BusySpin, build_multi_producer, build_single_producer};
use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{Payload, Seq};
use crate::transport::carrier::ChannelProvider::{
    Crossbeam, Direct, Disruptor, Fanout, Flume, Kanal, Mpsc, Rtrb, Spmc, Spsc, Std,
};
use crate::transport::carrier::ChannelShape::{OneToOne, OneToTwo, TwoToOne, TwoToTwo};
use crate::transport::carrier::{CAPACITY, Carrier, MessageSize, Transport};
use crate::transport::driver::{self, Driver};
use crate::transport::endpoints::{AlternatingSenders, BroadcastReceivers, alternating_clones};
use crate::transport::packet::{Packet16, Packet304, Packet1480, with_packet};
use crate::transport::peer_channels as peers;
use crate::transport::rendezvous::{OpenResult, Rendezvous, SideRole, unsuited_error};

/// Number of messages that every measured channel can hold.
pub(super) const SLOTS: usize = CAPACITY as usize;

/// Returns an endpoint of a channel of ours and a second one like it.
macro_rules! twice {
    ($end:expr) => {{
        let end = $end;
        let other = end.try_clone().expect("there is room for two");
        [end, other]
    }};
}

/// A message that all measured channels can carry.
pub(super) trait ChannelMessage: Payload + Send + Sync + 'static {}

impl<P: Payload + Send + Sync + 'static> ChannelMessage for P {}

/// Reports that the channel is full: always returns false, like an [`Endpoint::send`] that failed.
#[inline(always)]
pub(super) fn report_full() -> bool {
    std::hint::spin_loop();
    false
}

/// Opens the near side of a transport, and also creates the driver of the far thread. If both ends
/// are in one thread, opens both.
pub(super) fn open(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    if !transport.carrier.is_ours() {
        return with_packet!(
            open_peers(transport, rendezvous); Seq, Packet16, [u64; 8], [u64; 32], [u64; 128]
        );
    }
    with_packet!(
        open_ours(transport, rendezvous);
        Seq, Packet16, [u64; 8], [u64; 32], Packet304, [u64; 128], Packet1480
    )
}

/// Creates two channels between two threads, one for each direction.
fn open_two_threads<P: ChannelMessage, T, R>(
    rendezvous: &Rendezvous<'_>,
    make: impl Fn() -> (T, R),
) -> Driver
where
    T: Endpoint<P> + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    let ((there, from_there), (back, from_back)) = (make(), make());
    let far = driver::sendable_driver::<P>((back, from_there));
    rendezvous.far.set(Some(far));
    driver::sendable_driver::<P>((there, from_back))
}

/// Creates two channels between two threads, one for each direction. If both ends are in one
/// thread, creates only one channel.
fn open_one_to_one<P: ChannelMessage, T, R>(
    rendezvous: &Rendezvous<'_>,
    make: impl Fn() -> (T, R),
) -> Driver
where
    T: Endpoint<P> + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    match rendezvous.role {
        SideRole::Loop => driver::both_ends_driver::<P>(make()),
        _ => open_two_threads::<P, T, R>(rendezvous, make),
    }
}

/// Opens channels with one receiver. The sender is either used alone, or cloned into two senders
/// that take turns.
fn open_to_one<P: ChannelMessage, T, R>(
    transport: Transport,
    rendezvous: &Rendezvous<'_>,
    make: impl Fn() -> (T, R),
) -> OpenResult
where
    T: Endpoint<P> + Clone + Send + 'static,
    R: Endpoint<P> + Send + 'static,
{
    match transport.carrier {
        Carrier::Channel(_, OneToOne) => Ok(open_one_to_one::<P, T, R>(rendezvous, make)),
        Carrier::Channel(_, TwoToOne) => Ok(open_two_threads::<P, _, R>(rendezvous, || {
            alternating_clones(make())
        })),
        _ => Err(unsuited_error(transport)),
    }
}

fn open_ours<P: ChannelMessage>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let Carrier::Channel(maker, shape) = transport.carrier else {
        return Err(unsuited_error(transport));
    };
    Ok(match (maker, shape) {
        (Direct, OneToOne) if rendezvous.role == SideRole::Loop => {
            driver::both_ends_driver::<P>(direct::channel(SLOTS))
        }
        (Spsc, OneToOne) => open_one_to_one::<P, _, _>(rendezvous, || spsc::channel(SLOTS)),
        (Mpsc, TwoToOne) => {
            open_two_threads::<P, _, _>(rendezvous, || alternating_clones(mpsc::channel(SLOTS)))
        }
        (Spmc, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = spmc::channel(SLOTS);
            (tx, BroadcastReceivers::new(twice!(rx)))
        }),
        (Fanout, TwoToOne) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(SLOTS);
            (AlternatingSenders::new(twice!(tx)), rx)
        }),
        (Fanout, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(SLOTS);
            (tx, BroadcastReceivers::new(twice!(rx)))
        }),
        (Fanout, TwoToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(SLOTS);
            let senders = AlternatingSenders::new(twice!(tx));
            (senders, BroadcastReceivers::new(twice!(rx)))
        }),
        _ => return Err(unsuited_error(transport)),
    })
}

fn open_peers<P: ChannelMessage>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let Carrier::Channel(maker, shape) = transport.carrier else {
        return Err(unsuited_error(transport));
    };
    Ok(match (maker, shape) {
        (Rtrb, OneToOne) => open_one_to_one::<P, _, _>(rendezvous, || rtrb::RingBuffer::new(SLOTS)),
        (Disruptor, OneToOne) => open_one_to_one::<P, _, _>(rendezvous, || {
            let builder = build_single_producer(SLOTS, empty_message::<P>, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            (
                peers::DisruptorSender(builder.build()),
                peers::DisruptorReceiver(poller),
            )
        }),
        (Disruptor, TwoToOne) => open_two_threads::<P, _, _>(rendezvous, || {
            let builder = build_multi_producer(SLOTS, empty_message::<P>, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            alternating_clones((
                peers::DisruptorSender(builder.build()),
                peers::DisruptorReceiver(poller),
            ))
        }),
        (Disruptor, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let builder = build_single_producer(SLOTS, empty_message::<P>, BusySpin);
            let (one, builder) = builder.new_event_poller();
            let (two, builder) = builder.new_event_poller();
            let pollers = [one, two].map(peers::DisruptorReceiver);
            (
                peers::DisruptorSender(builder.build()),
                BroadcastReceivers::new(pollers),
            )
        }),
        (Crossbeam, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (one, from_one) = crossbeam_channel::bounded(SLOTS);
            let (two, from_two) = crossbeam_channel::bounded(SLOTS);
            let both = peers::BroadcastSenders::new([one, two]);
            (both, BroadcastReceivers::new([from_one, from_two]))
        }),
        (Crossbeam, _) => {
            return open_to_one::<P, _, _>(transport, rendezvous, || {
                crossbeam_channel::bounded(SLOTS)
            });
        }
        (Std, _) => {
            return open_to_one::<P, _, _>(transport, rendezvous, || {
                std::sync::mpsc::sync_channel(SLOTS)
            });
        }
        (Kanal, _) => return open_to_one::<P, _, _>(transport, rendezvous, peers::kanal),
        (Flume, _) => {
            return open_to_one::<P, _, _>(transport, rendezvous, || flume::bounded(SLOTS));
        }
        _ => return Err(unsuited_error(transport)),
    })
}

/// Returns the value that an event of a disruptor has before anything was published.
fn empty_message<P: ChannelMessage>() -> P {
    P::compose(0)
}

macro_rules! endpoints {
    ($($module:ident),+) => {$(
        impl<P: ChannelMessage> Endpoint<P> for $module::Sender<P> {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                self.try_send_ref(message).is_ok() || report_full()
            }
        }

        impl<P: ChannelMessage> Endpoint<P> for $module::Receiver<P> {
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
