//! Channels between threads: those of our library and those of other crates.
//!
//! Every channel holds [`CAPACITY`] messages. Each is polled with `try_send` and `try_recv`, or
//! with the calls that are most similar. For every channel this is faster than blocking, as long as
//! each side has a CPU. Several senders take turns in one thread, so that two CPUs are enough.

use std::sync::mpsc::sync_channel;

use disruptor::{BusySpin, build_multi_producer, build_single_producer};
use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{Payload, Seq};
use crate::transport::carrier::Carrier::Channel;
use crate::transport::carrier::ChannelProvider::{
    Crossbeam, Direct, Disruptor, Fanout, Flume, Kanal, Mpsc, Rtrb, Spmc, Spsc, Std,
};
use crate::transport::carrier::ChannelShape::{OneToOne, OneToTwo, TwoToOne, TwoToTwo};
use crate::transport::carrier::{CAPACITY, MessageSize, Transport};
use crate::transport::driver;
use crate::transport::endpoints::kanal;
use crate::transport::groups::{
    AlternatingSenders, BroadcastReceivers, BroadcastSenders, alternating_clones,
};
use crate::transport::packet::{Packet16, Packet304, Packet1480, with_packet};
use crate::transport::rendezvous::{OpenResult, Rendezvous, SideRole, unsuited_error};

/// Number of messages that every measured channel can hold.
const SLOTS: usize = CAPACITY as usize;

/// Returns an endpoint of a channel of ours and a second one like it.
macro_rules! twice {
    ($end:expr) => {{
        let end = $end;
        let other = end.try_clone().expect("there is room for two");
        [end, other]
    }};
}

/// An endpoint that may be in another thread.
trait SendEndpoint<P>: Endpoint<P> + Send + 'static {}

impl<P, E: Endpoint<P> + Send + 'static> SendEndpoint<P> for E {}

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
fn open_two_threads<P: Payload, T: SendEndpoint<P>, R: SendEndpoint<P>>(
    rendezvous: &Rendezvous<'_>,
    make: impl Fn() -> (T, R),
) -> OpenResult {
    let ((there, from_there), (back, from_back)) = (make(), make());
    let far = driver::sendable_driver::<P>((back, from_there));
    rendezvous.far.set(Some(far));
    Ok(driver::sendable_driver::<P>((there, from_back)))
}

/// Creates two channels between two threads, one for each direction. If both ends are in one
/// thread, creates only one channel.
fn open_one_to_one<P: Payload, T: SendEndpoint<P>, R: SendEndpoint<P>>(
    rendezvous: &Rendezvous<'_>,
    make: impl Fn() -> (T, R),
) -> OpenResult {
    match rendezvous.role {
        SideRole::Loop => Ok(driver::both_ends_driver::<P>(make())),
        _ => open_two_threads::<P, T, R>(rendezvous, make),
    }
}

/// Opens channels with one receiver. The sender is either used alone, or cloned into two senders
/// that take turns.
fn open_to_one<P: Payload, T: SendEndpoint<P> + Clone, R: SendEndpoint<P>>(
    transport: Transport,
    rendezvous: &Rendezvous<'_>,
    make: impl Fn() -> (T, R),
) -> OpenResult {
    match transport.carrier {
        Channel(_, OneToOne) => open_one_to_one::<P, T, R>(rendezvous, make),
        Channel(_, TwoToOne) => {
            open_two_threads::<P, _, R>(rendezvous, || alternating_clones(make()))
        }
        _ => Err(unsuited_error(transport)),
    }
}

fn open_ours<P: Payload>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    match transport.carrier {
        Channel(Direct, OneToOne) if rendezvous.role == SideRole::Loop => {
            Ok(driver::both_ends_driver::<P>(direct::channel(SLOTS)))
        }
        Channel(Spsc, OneToOne) => open_one_to_one::<P, _, _>(rendezvous, || spsc::channel(SLOTS)),
        Channel(Mpsc, TwoToOne) => {
            open_two_threads::<P, _, _>(rendezvous, || alternating_clones(mpsc::channel(SLOTS)))
        }
        Channel(Spmc, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = spmc::channel(SLOTS);
            (tx, BroadcastReceivers::new(twice!(rx)))
        }),
        Channel(Fanout, TwoToOne) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(SLOTS);
            (AlternatingSenders::new(twice!(tx)), rx)
        }),
        Channel(Fanout, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(SLOTS);
            (tx, BroadcastReceivers::new(twice!(rx)))
        }),
        Channel(Fanout, TwoToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (tx, rx) = fanout::channel(SLOTS);
            let senders = AlternatingSenders::new(twice!(tx));
            (senders, BroadcastReceivers::new(twice!(rx)))
        }),
        _ => Err(unsuited_error(transport)),
    }
}

fn open_peers<P: Payload>(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let empty = || P::compose(0);
    match transport.carrier {
        Channel(Rtrb, OneToOne) => {
            open_one_to_one::<P, _, _>(rendezvous, || rtrb::RingBuffer::new(SLOTS))
        }
        Channel(Disruptor, OneToOne) => open_one_to_one::<P, _, _>(rendezvous, || {
            let builder = build_single_producer(SLOTS, empty, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            (builder.build(), poller)
        }),
        Channel(Disruptor, TwoToOne) => open_two_threads::<P, _, _>(rendezvous, || {
            let builder = build_multi_producer(SLOTS, empty, BusySpin);
            let (poller, builder) = builder.new_event_poller();
            alternating_clones((builder.build(), poller))
        }),
        Channel(Disruptor, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let builder = build_single_producer(SLOTS, empty, BusySpin);
            let (one, builder) = builder.new_event_poller();
            let (two, builder) = builder.new_event_poller();
            (builder.build(), BroadcastReceivers::new([one, two]))
        }),
        Channel(Crossbeam, OneToTwo) => open_two_threads::<P, _, _>(rendezvous, || {
            let (one, from_one) = crossbeam_channel::bounded(SLOTS);
            let (two, from_two) = crossbeam_channel::bounded(SLOTS);
            let both = BroadcastSenders::new([one, two]);
            (both, BroadcastReceivers::new([from_one, from_two]))
        }),
        Channel(Crossbeam, _) => {
            open_to_one::<P, _, _>(transport, rendezvous, || crossbeam_channel::bounded(SLOTS))
        }
        Channel(Std, _) => open_to_one::<P, _, _>(transport, rendezvous, || sync_channel(SLOTS)),
        Channel(Kanal, _) => open_to_one::<P, _, _>(transport, rendezvous, || kanal(SLOTS)),
        Channel(Flume, _) => {
            open_to_one::<P, _, _>(transport, rendezvous, || flume::bounded(SLOTS))
        }
        _ => Err(unsuited_error(transport)),
    }
}
