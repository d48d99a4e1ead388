//! Channels between threads: those of our library and those of other crates.
//!
//! Every channel holds [`CARRIER_CAPACITY`] messages. Each is polled with `try_send` and
//! `try_recv`, or with the calls that are most similar. For every channel this is faster than
//! blocking, as long as each side has a CPU. Several senders take turns in one thread, so that two
//! CPUs are enough.

use std::sync::mpsc::sync_channel;

use disruptor::{BusySpin, build_multi_producer, build_single_producer};
use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{Payload, SeqMessage};
use crate::transport::carrier::Carrier::Channel;
use crate::transport::carrier::ChannelProvider::{
    Crossbeam, Direct, Disruptor, Fanout, Flume, Kanal, Mpsc, Rtrb, Spmc, Spsc, Std,
};
use crate::transport::carrier::ChannelShape::{OneToOne, OneToTwo, TwoToOne, TwoToTwo};
use crate::transport::carrier::{CARRIER_CAPACITY, MessageSize, Transport};
use crate::transport::driver;
use crate::transport::endpoints::kanal_channel;
use crate::transport::groups::{AlternatingSenders, BroadcastPair, clone_to_alternating_senders};
use crate::transport::packet::{Packet16, Packet304, Packet1480, with_packet};
use crate::transport::rendezvous::{OpenResult, Rendezvous, SideRole, unsupported_transport_error};

/// Number of messages that every measured channel can hold.
const CHANNEL_SLOTS: usize = CARRIER_CAPACITY as usize;

/// Returns an endpoint of a channel of ours and a second one like it.
macro_rules! twice {
    ($end:expr) => {{
        let end = $end;
        let other = end.try_clone().expect("there is room for two");
        [end, other]
    }};
}

/// An endpoint that may be in another thread.
trait SendableEndpoint<P>: Endpoint<P> + Send + 'static {}

impl<P, E: Endpoint<P> + Send + 'static> SendableEndpoint<P> for E {}

/// Opens the near side of a transport, and also creates the driver of the far thread. If both ends
/// are in one thread, opens both.
pub(super) fn open(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    if !transport.carrier.is_of_horus() {
        return with_packet!(
            open_peer_channel(transport, rendezvous);
            SeqMessage, Packet16, [u64; 8], [u64; 32], [u64; 128]
        );
    }
    with_packet!(
        open_horus_channel(transport, rendezvous);
        SeqMessage, Packet16, [u64; 8], [u64; 32], Packet304, [u64; 128], Packet1480
    )
}

/// Creates two channels between two threads, one for each direction.
fn open_between_two_threads<P: Payload, T: SendableEndpoint<P>, R: SendableEndpoint<P>>(
    rendezvous: &Rendezvous<'_>,
    make_channel: impl Fn() -> (T, R),
) -> OpenResult {
    let ((there, from_there), (back, from_back)) = (make_channel(), make_channel());
    let far = driver::sendable_driver::<P>((back, from_there));
    rendezvous.far.set(Some(far));
    Ok(driver::sendable_driver::<P>((there, from_back)))
}

/// Creates two channels between two threads, one for each direction. If both ends are in one
/// thread, creates only one channel.
fn open_one_to_one<P: Payload, T: SendableEndpoint<P>, R: SendableEndpoint<P>>(
    rendezvous: &Rendezvous<'_>,
    make_channel: impl Fn() -> (T, R),
) -> OpenResult {
    match rendezvous.role {
        SideRole::Loop => Ok(driver::both_ends_driver::<P>(make_channel())),
        _ => open_between_two_threads::<P, T, R>(rendezvous, make_channel),
    }
}

/// Opens channels with one receiver. The sender is either used alone, or cloned into two senders
/// that take turns.
fn open_with_one_receiver<P: Payload, T: SendableEndpoint<P> + Clone, R: SendableEndpoint<P>>(
    transport: Transport,
    rendezvous: &Rendezvous<'_>,
    make_channel: impl Fn() -> (T, R),
) -> OpenResult {
    match transport.carrier {
        Channel(_, OneToOne) => open_one_to_one::<P, T, R>(rendezvous, make_channel),
        Channel(_, TwoToOne) => open_between_two_threads::<P, _, R>(rendezvous, || {
            clone_to_alternating_senders(make_channel())
        }),
        _ => Err(unsupported_transport_error(transport)),
    }
}

fn open_horus_channel<P: Payload>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    match transport.carrier {
        Channel(Direct, OneToOne) if rendezvous.role == SideRole::Loop => Ok(
            driver::both_ends_driver::<P>(direct::channel(CHANNEL_SLOTS)),
        ),
        Channel(Spsc, OneToOne) => {
            open_one_to_one::<P, _, _>(rendezvous, || spsc::channel(CHANNEL_SLOTS))
        }
        Channel(Mpsc, TwoToOne) => open_between_two_threads::<P, _, _>(rendezvous, || {
            clone_to_alternating_senders(mpsc::channel(CHANNEL_SLOTS))
        }),
        Channel(Spmc, OneToTwo) => open_between_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = spmc::channel(CHANNEL_SLOTS);
            (tx, BroadcastPair::new(twice!(rx)))
        }),
        Channel(Fanout, TwoToOne) => open_between_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(CHANNEL_SLOTS);
            (AlternatingSenders::new(twice!(tx)), rx)
        }),
        Channel(Fanout, OneToTwo) => open_between_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(CHANNEL_SLOTS);
            (tx, BroadcastPair::new(twice!(rx)))
        }),
        Channel(Fanout, TwoToTwo) => open_between_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(CHANNEL_SLOTS);
            let senders = AlternatingSenders::new(twice!(tx));
            (senders, BroadcastPair::new(twice!(rx)))
        }),
        _ => Err(unsupported_transport_error(transport)),
    }
}

fn open_peer_channel<P: Payload>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let empty = || P::compose(0);
    match transport.carrier {
        Channel(Rtrb, OneToOne) => {
            open_one_to_one::<P, _, _>(rendezvous, || rtrb::RingBuffer::new(CHANNEL_SLOTS))
        }
        Channel(Disruptor, OneToOne) => open_one_to_one::<P, _, _>(rendezvous, || {
            let builder = build_single_producer(CHANNEL_SLOTS, empty, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            (builder.build(), poller)
        }),
        Channel(Disruptor, TwoToOne) => open_between_two_threads::<P, _, _>(rendezvous, || {
            let builder = build_multi_producer(CHANNEL_SLOTS, empty, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            clone_to_alternating_senders((builder.build(), poller))
        }),
        Channel(Disruptor, OneToTwo) => open_between_two_threads::<P, _, _>(rendezvous, || {
            let builder = build_single_producer(CHANNEL_SLOTS, empty, BusySpin);
            let (one, builder) = builder.new_event_poller();
            let (two, builder) = builder.new_event_poller();
            (builder.build(), BroadcastPair::new([one, two]))
        }),
        Channel(Crossbeam, OneToTwo) => open_between_two_threads::<P, _, _>(rendezvous, || {
            let (one, from_one) = crossbeam_channel::bounded(CHANNEL_SLOTS);
            let (two, from_two) = crossbeam_channel::bounded(CHANNEL_SLOTS);
            let both = BroadcastPair::new([one, two]);
            (both, BroadcastPair::new([from_one, from_two]))
        }),
        Channel(Crossbeam, _) => open_with_one_receiver::<P, _, _>(transport, rendezvous, || {
            crossbeam_channel::bounded(CHANNEL_SLOTS)
        }),
        Channel(Std, _) => {
            open_with_one_receiver::<P, _, _>(transport, rendezvous, || sync_channel(CHANNEL_SLOTS))
        }
        Channel(Kanal, _) => open_with_one_receiver::<P, _, _>(transport, rendezvous, || {
            kanal_channel(CHANNEL_SLOTS)
        }),
        Channel(Flume, _) => open_with_one_receiver::<P, _, _>(transport, rendezvous, || {
            flume::bounded(CHANNEL_SLOTS)
        }),
        _ => Err(unsupported_transport_error(transport)),
    }
}
