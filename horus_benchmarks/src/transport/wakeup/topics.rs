//! Mechanisms of our topics: a single topic, and several topics in a wait set.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use horus_core::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder, WaitSet, WakeEdge};
use horus_shm::Namespace;

use super::{AnyError, SET_TOPICS, Sleeper, Waker};
use crate::measure::micro::{self, Micro, MicroPlan, WORD_BATCH};
use crate::measure::payload::Payload;
use crate::measure::wait::{STALL_LIMIT, WaitError};
use crate::transport::carrier::Mechanism;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::ConnectionSide;

/// Time for which a reader sleeps in vain before the sends to its topic are timed.
const VAIN: Duration = Duration::from_millis(1);

fn builder(namespace: &Arc<Namespace>, name: &str, edge: WakeEdge) -> TopicBuilder<Packet16> {
    Topic::builder(name)
        .namespace(namespace)
        .qos(Qos::new().wake_edge(edge))
}

pub(super) fn topic(place: &ConnectionSide<'_>, mechanism: Mechanism) -> TopicBuilder<Packet16> {
    let edge = match mechanism {
        Mechanism::TopicFence => WakeEdge::Fence,
        _ => WakeEdge::Membarrier,
    };
    builder(place.namespace(), &place.there(), edge)
}

fn set_topic(place: &ConnectionSide<'_>, index: usize) -> TopicBuilder<Packet16> {
    let name = format!("{}-{index}", place.there());
    builder(place.namespace(), &name, WakeEdge::Membarrier)
}

pub(super) fn subscriber(
    place: &ConnectionSide<'_>,
    mechanism: Mechanism,
) -> Result<Subscriber<Packet16>, AnyError> {
    let mut subscriber = topic(place, mechanism).subscriber()?;
    subscriber.set_spin(Duration::ZERO);
    Ok(subscriber)
}

impl Waker for Publisher<Packet16> {
    fn send(&mut self, message: Packet16) -> Result<(), AnyError> {
        Ok(Publisher::send(self, message)?)
    }
}

impl Sleeper for Subscriber<Packet16> {
    fn sleep(&mut self) -> Result<Packet16, AnyError> {
        Ok(self.recv_timeout(STALL_LIMIT)?)
    }
}

/// The publishers of a wait set's topics; the next message goes to the next publisher.
pub(super) struct InTurn(Vec<Publisher<Packet16>>);

pub(super) fn publishers(place: &ConnectionSide<'_>) -> Result<InTurn, AnyError> {
    let publishers = (0..SET_TOPICS).map(|index| set_topic(place, index).publisher());
    Ok(InTurn(publishers.collect::<Result<_, _>>()?))
}

impl Waker for InTurn {
    fn send(&mut self, message: Packet16) -> Result<(), AnyError> {
        let index = message.seq() as usize % SET_TOPICS;
        Waker::send(&mut self.0[index], message)
    }
}

/// The subscribers of several topics, and the wait set that watches them.
pub(super) struct Set {
    subscribers: Vec<Subscriber<Packet16>>,
    set: WaitSet,
}

impl Set {
    pub(super) fn open(place: &ConnectionSide<'_>) -> Result<Self, AnyError> {
        let subscribers = (0..SET_TOPICS).map(|index| set_topic(place, index).subscriber());
        let subscribers = subscribers.collect::<Result<Vec<_>, _>>()?;
        let mut set = WaitSet::new();
        set.set_spin(Duration::ZERO);
        for subscriber in &subscribers {
            set.add(subscriber)?;
        }
        Ok(Self { subscribers, set })
    }
}

impl Sleeper for Set {
    fn sleep(&mut self) -> Result<Packet16, AnyError> {
        let ready = !self.set.wait(STALL_LIMIT)?.is_empty();
        let mut found = self.subscribers.iter_mut().filter(|_| ready);
        Ok(found.find_map(Subscriber::recv).ok_or(WaitError::Stalled)?)
    }
}

/// Measures batches of sends while no reader sleeps, on a topic whose reader has slept before. The
/// reader is in this process.
pub fn awake_sends(
    namespace: &Arc<Namespace>,
    edge: WakeEdge,
    plan: &MicroPlan,
) -> Result<Micro, Box<dyn Error>> {
    let name = format!("awake_{edge:?}");
    let topic = || builder(namespace, &name, edge);
    let mut subscriber = topic().subscriber()?;
    let mut publisher = topic().publisher()?;
    subscriber.set_spin(Duration::ZERO);
    if subscriber.recv_timeout(VAIN).is_ok() {
        return Err("a message that nobody sent".into());
    }
    let message = Packet16::compose(1);
    let mut outcome = Ok(());
    let micro = micro::run(plan, WORD_BATCH, |_| {
        let start = plan.source.start();
        for _ in 0..WORD_BATCH {
            if let Err(error) = publisher.send(message) {
                outcome = Err(error);
            }
        }
        let ticks = plan.source.stop().since(start);
        // The newest one shows that they were sent.
        (
            ticks,
            subscriber
                .latest()
                .is_some_and(|latest| latest.check(1).is_ok()),
        )
    });
    outcome?;
    Ok(micro)
}
