//! Implements [`Endpoint`] for the channels of other crates, and for that of ours within one
//! thread, which has the same calls.

use std::sync::mpsc;

use disruptor::{EventPoller, MultiProducerBarrier, Producer, SingleProducerBarrier};
use horus_core::channel::direct;

use crate::measure::endpoint::Endpoint;
use crate::transport::channels::{ChannelMessage, SLOTS, report_full};

/// Implements [`Endpoint`] for a sender of another crate. Its argument is an expression that sends
/// a message and is true on success.
macro_rules! sender {
    ($end:ty, |$tx:ident, $message:ident| $sent:expr) => {
        impl<P: ChannelMessage> Endpoint<P> for $end {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                let ($tx, $message) = (self, *message);
                $sent || report_full()
            }
        }
    };
}

/// Implements [`Endpoint`] for a receiver of another crate. Its argument is an expression that
/// receives a message, if there is one.
macro_rules! receiver {
    ($end:ty) => {
        impl<P: ChannelMessage> Endpoint<P> for $end {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                self.try_recv().ok().map(|found| *message = found).is_some()
            }
        }
    };
}

sender!(direct::Sender<P>, |tx, message| tx
    .try_send(message)
    .is_ok());
receiver!(direct::Receiver<P>);
sender!(crossbeam_channel::Sender<P>, |tx, message| tx
    .try_send(message)
    .is_ok());
receiver!(crossbeam_channel::Receiver<P>);
sender!(mpsc::SyncSender<P>, |tx, message| tx
    .try_send(message)
    .is_ok());
receiver!(mpsc::Receiver<P>);
sender!(kanal::Sender<P>, |tx, message| matches!(
    tx.try_send(message),
    Ok(true)
));
sender!(flume::Sender<P>, |tx, message| tx.try_send(message).is_ok());
sender!(rtrb::Producer<P>, |tx, message| tx.push(message).is_ok());

impl<P: ChannelMessage> Endpoint<P> for rtrb::Consumer<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.pop().map(|found| *message = found).is_ok()
    }

    #[inline(always)]
    fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        let Ok(chunk) = self.read_chunk(self.slots()) else {
            return false;
        };
        let (first, second) = chunk.as_slices();
        let found = !first.is_empty();
        first.iter().chain(second).for_each(each);
        chunk.commit_all();
        found
    }
}

/// The receiver of a kanal channel, with a buffer for all messages that one call receives.
pub(super) struct KanalReceiver<P> {
    receiver: kanal::Receiver<P>,
    found: Vec<P>,
}

/// Creates a kanal channel and returns both of its endpoints.
pub(super) fn kanal<P: ChannelMessage>() -> (kanal::Sender<P>, KanalReceiver<P>) {
    let (sender, receiver) = kanal::bounded(SLOTS);
    (
        sender,
        KanalReceiver {
            receiver,
            found: Vec::with_capacity(SLOTS),
        },
    )
}

impl<P: ChannelMessage> Endpoint<P> for KanalReceiver<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.receiver
            .try_recv()
            .ok()
            .flatten()
            .map(|found| *message = found)
            .is_some()
    }

    #[inline(always)]
    fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        let drained = self.receiver.drain_into(&mut self.found);
        self.found.iter().for_each(each);
        self.found.clear();
        drained.is_ok_and(|count| count > 0)
    }
}

impl<P: ChannelMessage> Endpoint<P> for flume::Receiver<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.try_recv().map(|found| *message = found).is_ok()
    }

    #[inline(always)]
    fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        let found = flume::Receiver::drain(self);
        let count = found.len();
        found.for_each(|message| each(&message));
        count > 0
    }
}

/// The sender of a channel of the crate disruptor. It is wrapped in a type of this crate, so that
/// it can implement [`Endpoint`].
#[derive(Clone)]
pub(super) struct DisruptorSender<E>(pub(super) E);

impl<P: ChannelMessage, E: Producer<P>> Endpoint<P> for DisruptorSender<E> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        self.0.try_publish(|slot| *slot = *message).is_ok() || report_full()
    }
}

/// The receiver of a channel of the crate disruptor.
pub(super) struct DisruptorReceiver<E, B>(pub(super) EventPoller<E, B>);

/// Implements [`Endpoint`] for the receiver of a disruptor. WHY a macro: the trait of the
/// disruptor's barriers is private.
macro_rules! poller {
    ($barrier:ty) => {
        impl<P: ChannelMessage> Endpoint<P> for DisruptorReceiver<P, $barrier> {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                let Ok(mut events) = self.0.take(1) else {
                    return false;
                };
                let found = (&mut events).next();
                found.map(|found| *message = *found).is_some()
            }

            #[inline(always)]
            fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
                let events = self.0.poll();
                events
                    .map(|mut events| (&mut events).for_each(each))
                    .is_ok()
            }
        }
    };
}

poller!(SingleProducerBarrier);
poller!(MultiProducerBarrier);

/// A pair of senders, one for each of two receivers. It is used for channels that deliver each
/// message to only one receiver.
pub(super) struct BroadcastSenders<T> {
    ends: [T; 2],
    first_has_it: bool,
}

impl<T> BroadcastSenders<T> {
    pub(super) fn new(ends: [T; 2]) -> Self {
        BroadcastSenders {
            ends,
            first_has_it: false,
        }
    }
}

impl<P, T: Endpoint<P>> Endpoint<P> for BroadcastSenders<T> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        if !self.first_has_it {
            self.first_has_it = self.ends[0].send(message);
        }
        let sent = self.first_has_it && self.ends[1].send(message);
        self.first_has_it &= !sent;
        sent
    }
}
