//! Implements [`Endpoint`] for our rings, topics and channels, and for the channels of others.

use std::slice;
use std::sync::mpsc as std_mpsc;

use disruptor::{
    EventPoller, MultiConsumerBarrier, MultiProducer, MultiProducerBarrier, Producer as _,
    SingleConsumerBarrier, SingleProducer, SingleProducerBarrier,
};
use horus_core::channel::{direct, fanout, mpsc, spmc, spsc};
use horus_core::topic::{Publisher, Subscriber};
use horus_shm::{Consumer, Producer, SendError};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::Payload;
use crate::transport::packet::Packet;

/// Maximum size of a message in bytes for which rtrb is called with values. WHY not larger: its
/// calls with slices were then up to a fifth faster, because a value moves through the stack.
const RTRB_VALUE_BYTES_MAX: usize = 64;

/// Implements [`Endpoint`] for sending ends. Each line has the type of an end, and an expression
/// that sends a message and is true on success.
macro_rules! senders {
    ($bound:ident: $($end:ty => |$tx:ident, $message:ident| $sent:expr;)+) => {$(
        impl<P: $bound> Endpoint<P> for $end {
            #[inline(always)]
            fn send(&mut self, $message: &P) -> bool {
                let $tx = self;
                let sent: bool = $sent;
                sent || pause_and_return_false()
            }
        }
    )+};
}

/// Implements [`Endpoint`] for receiving ends. Each line has the type of an end, and an expression
/// that receives a message into a variable and is true on success. It may also have an expression
/// that calls a function with each available message and is true if there was one, and one that
/// counts the lost messages.
macro_rules! receivers {
    ($bound:ident: $($end:ty => |$rx:ident, $message:ident| $received:expr
        $(, drain |$each:ident| $drained:expr)? $(, lost $lost:expr)?;)+) => {$(
        impl<P: $bound> Endpoint<P> for $end {
            #[inline(always)]
            fn recv(&mut self, $message: &mut P) -> bool {
                let $rx = self;
                $received
            }

            $(
                #[inline(always)]
                fn drain(&mut self, _message: &mut P, $each: &mut impl FnMut(&P)) -> bool {
                    let $rx = self;
                    $drained
                }
            )?

            $(
                fn lost_messages(&self) -> u64 {
                    let $rx = self;
                    $lost
                }
            )?
        }
    )+};
}

/// Reports that there is no space: always returns false, like an [`Endpoint::send`] that failed.
#[inline(always)]
fn pause_and_return_false() -> bool {
    std::hint::spin_loop();
    false
}

/// Returns true if a message was sent, and false if the ring is full. Panics for any other error,
/// because the benchmark cannot continue.
#[inline(always)]
fn is_sent_unless_full<M>(result: Result<(), SendError<M>>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => panic_unless_full(error.is_full()),
    }
}

#[inline(always)]
fn panic_unless_full(is_full: bool) -> bool {
    assert!(
        is_full,
        "the ring is not ours any more, or its memory is gone"
    );
    false
}

senders! { Packet:
    Publisher<P> => |tx, message| is_sent_unless_full(tx.send(message));
    LoanPublisher<P> => |tx, message| match tx.0.loan() {
        Ok(mut loan) => {
            *loan = *message;
            loan.publish().is_ok() || panic_unless_full(false)
        }
        Err(error) => panic_unless_full(error.is_full()),
    };
}

senders! { Payload:
    Producer<P> => |tx, message| is_sent_unless_full(tx.send_ref(message));
    direct::Sender<P> => |tx, message| tx.try_send(*message).is_ok();
    spsc::Sender<P> => |tx, message| tx.try_send_ref(message).is_ok();
    spmc::Sender<P> => |tx, message| tx.try_send_ref(message).is_ok();
    mpsc::Sender<P> => |tx, message| tx.try_send_ref(message).is_ok();
    fanout::Sender<P> => |tx, message| tx.try_send_ref(message).is_ok();
    rtrb::Producer<P> => |tx, message| match size_of::<P>() {
        ..=RTRB_VALUE_BYTES_MAX => tx.push(*message).is_ok(),
        _ => tx.push_entire_slice(slice::from_ref(message)).is_ok(),
    };
    crossbeam_channel::Sender<P> => |tx, message| tx.try_send(*message).is_ok();
    std_mpsc::SyncSender<P> => |tx, message| tx.try_send(*message).is_ok();
    kanal::Sender<P> => |tx, message| matches!(tx.try_send(*message), Ok(true));
    flume::Sender<P> => |tx, message| tx.try_send(*message).is_ok();
    SingleProducer<P, SingleConsumerBarrier> =>
        |tx, message| tx.try_publish(|slot| *slot = *message).is_ok();
    SingleProducer<P, MultiConsumerBarrier> =>
        |tx, message| tx.try_publish(|slot| *slot = *message).is_ok();
    MultiProducer<P, SingleConsumerBarrier> =>
        |tx, message| tx.try_publish(|slot| *slot = *message).is_ok();
}

receivers! { Packet:
    Subscriber<P> => |rx, message| rx.recv_into(message),
        drain |each| Subscriber::drain(rx, |message| each(&message)) > 0,
        lost Subscriber::lost(rx);
    BorrowSubscriber<P> => |rx, message| {
        let sample = rx.0.borrow().expect("the topic can lend, and one message is borrowed");
        sample.map(|sample| *message = *sample).is_some()
    }, lost Subscriber::lost(&rx.0);
}

receivers! { Payload:
    Consumer<P> => |rx, message| rx.recv_into(message),
        drain |each| Consumer::drain(rx, |message| each(&message)) > 0,
        lost rx.stats().lost;
    LatestValueConsumer<P> => |rx, message| rx.0.latest_into(message),
        lost rx.0.stats().lost + rx.0.stats().skipped;
    direct::Receiver<P> =>
        |rx, message| rx.try_recv().map(|found| *message = found).is_ok();
    spsc::Receiver<P> => |rx, message| rx.try_recv_into(message).is_ok(),
        drain |each| rx.drain_in_place(each) > 0;
    spmc::Receiver<P> => |rx, message| rx.try_recv_into(message).is_ok(),
        drain |each| rx.drain_in_place(each) > 0;
    mpsc::Receiver<P> => |rx, message| rx.try_recv_into(message).is_ok(),
        drain |each| rx.drain_in_place(each) > 0;
    fanout::Receiver<P> => |rx, message| rx.try_recv_into(message).is_ok(),
        drain |each| rx.drain_in_place(each) > 0;
    rtrb::Consumer<P> => |rx, message| match size_of::<P>() {
        ..=RTRB_VALUE_BYTES_MAX => rx.pop().map(|found| *message = found).is_ok(),
        _ => rx.pop_entire_slice(slice::from_mut(message)).is_ok(),
    },
        drain |each| rx.read_chunk(rx.slots()).is_ok_and(|chunk| {
            let (first, second) = chunk.as_slices();
            let found = !first.is_empty();
            first.iter().chain(second).for_each(each);
            chunk.commit_all();
            found
        });
    crossbeam_channel::Receiver<P> =>
        |rx, message| rx.try_recv().map(|found| *message = found).is_ok();
    std_mpsc::Receiver<P> =>
        |rx, message| rx.try_recv().map(|found| *message = found).is_ok();
    KanalReceiver<P> =>
        |rx, message| rx.receiver.try_recv().ok().flatten().map(|found| *message = found).is_some(),
        drain |each| {
            let drained = rx.receiver.drain_into(&mut rx.found);
            rx.found.iter().for_each(each);
            rx.found.clear();
            drained.is_ok_and(|count| count > 0)
        };
    flume::Receiver<P> => |rx, message| rx.try_recv().map(|found| *message = found).is_ok(),
        drain |each| {
            let found = flume::Receiver::drain(rx);
            let count = found.len();
            found.for_each(|message| each(&message));
            count > 0
        };
    EventPoller<P, SingleProducerBarrier> => |rx, message| rx.take(1).is_ok_and(|mut events| {
            (&mut events).next().map(|found| *message = *found).is_some()
        }),
        drain |each| rx.poll().map(|mut events| (&mut events).for_each(each)).is_ok();
    EventPoller<P, MultiProducerBarrier> => |rx, message| rx.take(1).is_ok_and(|mut events| {
            (&mut events).next().map(|found| *message = *found).is_some()
        }),
        drain |each| rx.poll().map(|mut events| (&mut events).for_each(each)).is_ok();
}

/// A publisher of a topic that supports loans: it writes each message directly into the slot.
#[derive(Debug)]
pub(super) struct LoanPublisher<P: Packet>(pub(super) Publisher<P>);

/// A subscriber of a topic that supports loans: it reads each message in its slot.
#[derive(Debug)]
pub(super) struct BorrowSubscriber<P: Packet>(pub(super) Subscriber<P>);

/// A consumer that receives the newest message of a ring which holds only the latest value.
#[derive(Debug)]
pub struct LatestValueConsumer<P>(
    /// The consumer of the ring.
    pub Consumer<P>,
);

/// The receiver of a kanal channel, with a buffer for all messages that one call receives.
pub(super) struct KanalReceiver<P> {
    receiver: kanal::Receiver<P>,
    found: Vec<P>,
}

/// Creates a kanal channel for `capacity` messages and returns both of its endpoints.
pub(super) fn kanal_channel<P: Payload>(capacity: usize) -> (kanal::Sender<P>, KanalReceiver<P>) {
    let (sender, receiver) = kanal::bounded(capacity);
    let found = Vec::with_capacity(capacity);
    (sender, KanalReceiver { receiver, found })
}
