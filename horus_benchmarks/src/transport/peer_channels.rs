//! The endpoints of other crates' channels.

use std::sync::mpsc;

use disruptor::{
    BusySpin, EventPoller, MultiConsumerBarrier, MultiProducer, MultiProducerBarrier, Producer,
    SingleConsumerBarrier, SingleProducer, SingleProducerBarrier,
};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::Corrupt;
use crate::transport::channels::{CHANNEL_CAPACITY, Word, full};

/// Implements [`Endpoint`] for a sender, given an expression that sends and is true on success.
macro_rules! sender {
    ($end:ty, |$tx:ident, $message:ident| $sent:expr) => {
        impl<P: Word> Endpoint<P> for $end {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                let ($tx, $message) = (self, *message);
                $sent || full()
            }
        }
    };
}

/// Implements [`Endpoint`] for a receiver, given an expression for the message that it received, if
/// any.
macro_rules! receiver {
    ($end:ty) => {
        impl<P: Word> Endpoint<P> for $end {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                self.try_recv().ok().map(|found| *message = found).is_some()
            }
        }
    };
}

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

impl<P: Word> Endpoint<P> for rtrb::Consumer<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.pop().map(|found| *message = found).is_ok()
    }

    #[inline(always)]
    fn drain(
        &mut self,
        _message: &mut P,
        each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
    ) -> Result<bool, Corrupt> {
        let Ok(chunk) = self.read_chunk(self.slots()) else {
            return Ok(false);
        };
        let (first, second) = chunk.as_slices();
        let found = !first.is_empty();
        first.iter().chain(second).try_for_each(each)?;
        chunk.commit_all();
        Ok(found)
    }
}

/// The receiver of kanal, with a buffer for all messages that it drains.
pub(super) struct Kanal<P> {
    receiver: kanal::Receiver<P>,
    found: Vec<P>,
}

/// Returns both endpoints of kanal.
pub(super) fn kanal<P: Word>() -> (kanal::Sender<P>, Kanal<P>) {
    let (sender, receiver) = kanal::bounded(CHANNEL_CAPACITY);
    (
        sender,
        Kanal {
            receiver,
            found: Vec::with_capacity(CHANNEL_CAPACITY),
        },
    )
}

impl<P: Word> Endpoint<P> for Kanal<P> {
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
    fn drain(
        &mut self,
        _message: &mut P,
        each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
    ) -> Result<bool, Corrupt> {
        let Ok(count) = self.receiver.drain_into(&mut self.found) else {
            return Ok(false);
        };
        self.found.iter().try_for_each(each)?;
        self.found.clear();
        Ok(count > 0)
    }
}

impl<P: Word> Endpoint<P> for flume::Receiver<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.try_recv().map(|found| *message = found).is_ok()
    }

    #[inline(always)]
    fn drain(
        &mut self,
        _message: &mut P,
        each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
    ) -> Result<bool, Corrupt> {
        let mut found = flume::Receiver::drain(self);
        let count = found.len();
        found.try_for_each(|message| each(&message))?;
        Ok(count > 0)
    }
}

/// The sender of a disruptor, in a type of ours that implements [`Endpoint`].
#[derive(Clone)]
pub(super) struct Publisher<E>(E);

/// The receiver of a disruptor.
pub(super) struct Poller<E, B>(EventPoller<E, B>);

macro_rules! publisher {
    ($producer:ty) => {
        impl<P: Word> Endpoint<P> for Publisher<$producer> {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                self.0.try_publish(|slot| *slot = *message).is_ok() || full()
            }
        }
    };
}

publisher!(SingleProducer<P, SingleConsumerBarrier>);
publisher!(SingleProducer<P, MultiConsumerBarrier>);
publisher!(MultiProducer<P, SingleConsumerBarrier>);

macro_rules! poller {
    ($barrier:ty) => {
        impl<P: Word> Endpoint<P> for Poller<P, $barrier> {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                let Ok(mut events) = self.0.take(1) else {
                    return false;
                };
                (&mut events)
                    .next()
                    .map(|found| *message = *found)
                    .is_some()
            }

            #[inline(always)]
            fn drain(
                &mut self,
                _message: &mut P,
                each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
            ) -> Result<bool, Corrupt> {
                let Ok(mut events) = self.0.poll() else {
                    return Ok(false);
                };
                (&mut events).try_for_each(each)?;
                Ok(true)
            }
        }
    };
}

poller!(SingleProducerBarrier);
poller!(MultiProducerBarrier);

/// Returns the initial value of an event, before anything was published.
fn empty<P: Word>() -> P {
    P::compose(0)
}

type Single<P, C> = Publisher<SingleProducer<P, C>>;
type Multi<P> = Publisher<MultiProducer<P, SingleConsumerBarrier>>;

/// Makes one producer and one poller.
pub(super) fn disruptor<P: Word>() -> (
    Single<P, SingleConsumerBarrier>,
    Poller<P, SingleProducerBarrier>,
) {
    let builder = disruptor::build_single_producer(CHANNEL_CAPACITY, empty::<P>, BusySpin);
    let (poller, builder) = builder.new_event_poller();
    (Publisher(builder.build()), Poller(poller))
}

/// Makes producers that can be cloned, and one poller.
pub(super) fn disruptor_multi<P: Word>() -> (Multi<P>, Poller<P, MultiProducerBarrier>) {
    let builder = disruptor::build_multi_producer(CHANNEL_CAPACITY, empty::<P>, BusySpin);
    let (poller, builder) = builder.new_event_poller();
    (Publisher(builder.build()), Poller(poller))
}

/// Makes one producer and two pollers, each of which gets every event.
pub(super) fn disruptor_broadcast<P: Word>() -> (
    Single<P, MultiConsumerBarrier>,
    [Poller<P, SingleProducerBarrier>; 2],
) {
    let builder = disruptor::build_single_producer(CHANNEL_CAPACITY, empty::<P>, BusySpin);
    let (one, builder) = builder.new_event_poller();
    let (two, builder) = builder.new_event_poller();
    (Publisher(builder.build()), [Poller(one), Poller(two)])
}

/// One sender for each of two receivers, for channels that deliver each message to only one
/// receiver.
pub(super) struct ToBoth<T> {
    ends: [T; 2],
    first_has_it: bool,
}

impl<T> ToBoth<T> {
    pub(super) fn new(ends: [T; 2]) -> Self {
        ToBoth {
            ends,
            first_has_it: false,
        }
    }
}

impl<P, T: Endpoint<P>> Endpoint<P> for ToBoth<T> {
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
