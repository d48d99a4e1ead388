//! Ways over topics: one, and several in a wait set.

use std::sync::Arc;
use std::time::Duration;

use horus_core::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder, WaitSet, WakeEdge};
use horus_shm::Namespace;

use super::{SET_TOPICS, Sleeper, Waker, stalled};
use crate::measure::micro::{self, Micro, MicroPlan, WORD_BATCH};
use crate::measure::payload::Payload;
use crate::measure::wait::STALL_LIMIT;
use crate::transport::carrier::Mechanism;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::Place;

/// The time that a reader sleeps in vain whose topic is sent to afterwards.
const VAIN: Duration = Duration::from_millis(1);

fn builder(namespace: &Arc<Namespace>, name: &str, edge: WakeEdge) -> TopicBuilder<Packet16> {
    Topic::builder(name).namespace(namespace).qos(Qos::new().wake_edge(edge))
}

fn topic(place: &Place<'_>, mechanism: Mechanism) -> TopicBuilder<Packet16> {
    let edge = match mechanism {
        Mechanism::TopicFence => WakeEdge::Fence,
        _ => WakeEdge::Membarrier,
    };
    builder(place.namespace(), &place.there(), edge)
}

fn set_topic(place: &Place<'_>, index: usize) -> TopicBuilder<Packet16> {
    let name = format!("{}-{index}", place.there());
    builder(place.namespace(), &name, WakeEdge::Membarrier)
}

pub(super) fn publisher(
    place: &Place<'_>,
    mechanism: Mechanism,
) -> Result<Publisher<Packet16>, String> {
    topic(place, mechanism).publisher().map_err(|error| error.to_string())
}

pub(super) fn subscriber(
    place: &Place<'_>,
    mechanism: Mechanism,
) -> Result<Subscriber<Packet16>, String> {
    let subscriber = topic(place, mechanism).subscriber();
    let mut subscriber = subscriber.map_err(|error| error.to_string())?;
    subscriber.set_spin(Duration::ZERO);
    Ok(subscriber)
}

impl Waker for Publisher<Packet16> {
    fn send(&mut self, message: Packet16) -> Result<(), String> {
        Publisher::send(self, message).map_err(|error| error.to_string())
    }
}

impl Sleeper for Subscriber<Packet16> {
    fn sleep(&mut self) -> Result<Packet16, String> {
        self.recv_timeout(STALL_LIMIT).map_err(|error| error.to_string())
    }
}

/// The publishers of a wait set's topics; each message goes to the next one.
pub(super) struct InTurn(Vec<Publisher<Packet16>>);

pub(super) fn publishers(place: &Place<'_>) -> Result<InTurn, String> {
    let publishers = (0..SET_TOPICS).map(|index| set_topic(place, index).publisher());
    let publishers = publishers.collect::<Result<_, _>>();
    publishers.map(InTurn).map_err(|error| error.to_string())
}

impl Waker for InTurn {
    fn send(&mut self, message: Packet16) -> Result<(), String> {
        let index = message.seq() as usize % SET_TOPICS;
        Waker::send(&mut self.0[index], message)
    }
}

/// The subscribers of several topics, and the set that watches them.
pub(super) struct Set {
    subscribers: Vec<Subscriber<Packet16>>,
    set: WaitSet,
}

impl Set {
    pub(super) fn open(place: &Place<'_>) -> Result<Self, String> {
        let subscribers = (0..SET_TOPICS).map(|index| set_topic(place, index).subscriber());
        let subscribers = subscribers.collect::<Result<Vec<_>, _>>();
        let subscribers = subscribers.map_err(|error| error.to_string())?;
        let mut set = WaitSet::new();
        set.set_spin(Duration::ZERO);
        for subscriber in &subscribers {
            set.add(subscriber).map_err(|error| error.to_string())?;
        }
        Ok(Self { subscribers, set })
    }
}

impl Sleeper for Set {
    fn sleep(&mut self) -> Result<Packet16, String> {
        let ready = self.set.wait(STALL_LIMIT).map_err(|error| error.to_string())?;
        if ready.is_empty() {
            return Err(stalled());
        }
        self.subscribers.iter_mut().find_map(Subscriber::recv).ok_or_else(stalled)
    }
}

/// Measures a send while nobody sleeps: on a topic whose reader, in this process, has slept
/// before. Timed in batches.
pub fn awake_sends(
    namespace: &Arc<Namespace>,
    edge: WakeEdge,
    plan: &MicroPlan,
) -> Result<Micro, String> {
    let name = format!("awake_{edge:?}");
    let text = |error: &dyn std::error::Error| error.to_string();
    let subscriber = builder(namespace, &name, edge).subscriber();
    let mut subscriber = subscriber.map_err(|error| text(&error))?;
    let publisher = builder(namespace, &name, edge).publisher();
    let mut publisher = publisher.map_err(|error| text(&error))?;
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
                outcome = Err(error.to_string());
            }
        }
        let ticks = plan.source.stop().since(start);
        // The newest one shows that they were sent.
        (ticks, subscriber.latest().is_some_and(|latest| latest.check(1).is_ok()))
    });
    outcome?;
    Ok(micro)
}
