//! Mechanisms of our topics that wake a process: a single topic, and several topics in a wait set.

use std::sync::Arc;
use std::time::Duration;

use horus_core::topic::{Qos, Subscriber, Topic, TopicBuilder, WaitSet, WakeBarrier};
use horus_shm::Namespace;

use super::{AnyError, Sleeper, WAIT_SET_TOPICS, WakeSender, make_sleeper};
use crate::measure::micro::{self, MicroPlan, MicroResult, WORD_OPERATIONS_PER_BATCH};
use crate::measure::payload::Payload;
use crate::measure::wait::{STALL_LIMIT, WaitError};
use crate::transport::carrier::Mechanism;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::Rendezvous;

/// Time for which a reader sleeps without receiving a message, before the sends to its topic are
/// timed.
const SLEEP_WITHOUT_MESSAGE: Duration = Duration::from_millis(1);

fn topic_builder(
    namespace: &Arc<Namespace>,
    name: &str,
    edge: WakeBarrier,
) -> TopicBuilder<Packet16> {
    Topic::builder(name)
        .namespace(namespace)
        .qos(Qos::new().wake_barrier(edge))
}

fn mechanism_topic(rendezvous: &Rendezvous<'_>, mechanism: Mechanism) -> TopicBuilder<Packet16> {
    let edge = match mechanism {
        Mechanism::TopicFence => WakeBarrier::Fence,
        _ => WakeBarrier::Membarrier,
    };
    topic_builder(
        rendezvous.namespace,
        &rendezvous.shared_direction().name,
        edge,
    )
}

pub(super) fn subscriber(
    rendezvous: &Rendezvous<'_>,
    mechanism: Mechanism,
) -> Result<Subscriber<Packet16>, AnyError> {
    let mut subscriber = mechanism_topic(rendezvous, mechanism).subscriber()?;
    subscriber.set_spin(Duration::ZERO);
    Ok(subscriber)
}

pub(super) fn open_waker(
    rendezvous: &Rendezvous<'_>,
    mechanism: Mechanism,
) -> Result<WakeSender, AnyError> {
    let mut publisher = mechanism_topic(rendezvous, mechanism).publisher()?;
    Ok(Box::new(move |message| Ok(publisher.send(message)?)))
}

pub(super) fn open_sleeper(
    rendezvous: &Rendezvous<'_>,
    mechanism: Mechanism,
) -> Result<Sleeper, AnyError> {
    let mut subscriber = subscriber(rendezvous, mechanism)?;
    Ok(make_sleeper(move || {
        Ok(subscriber.recv_timeout(STALL_LIMIT)?)
    }))
}

/// Returns builders for the topics that a wait set watches.
fn wait_set_topics(rendezvous: &Rendezvous<'_>) -> impl Iterator<Item = TopicBuilder<Packet16>> {
    (0..WAIT_SET_TOPICS).map(|index| {
        let name = format!("{}-{index}", rendezvous.shared_direction().name);
        topic_builder(rendezvous.namespace, &name, WakeBarrier::Membarrier)
    })
}

/// Returns a [`WakeSender`] that sends the messages to the topics of a wait set in turn.
pub(super) fn open_wait_set_waker(rendezvous: &Rendezvous<'_>) -> Result<WakeSender, AnyError> {
    let publishers = wait_set_topics(rendezvous).map(|topic| topic.publisher());
    let mut publishers = publishers.collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(move |message| {
        let index = message.seq() as usize % WAIT_SET_TOPICS;
        Ok(publishers[index].send(message)?)
    }))
}

/// Returns a [`Sleeper`] that sleeps in a wait set, which watches several topics.
pub(super) fn open_wait_set_sleeper(rendezvous: &Rendezvous<'_>) -> Result<Sleeper, AnyError> {
    let subscribers = wait_set_topics(rendezvous).map(|topic| topic.subscriber());
    let mut subscribers = subscribers.collect::<Result<Vec<_>, _>>()?;
    let mut set = WaitSet::new();
    set.set_spin(Duration::ZERO);
    for subscriber in &subscribers {
        set.add(subscriber)?;
    }
    Ok(make_sleeper(move || {
        let ready = !set.wait(STALL_LIMIT)?.is_empty();
        let mut found = subscribers.iter_mut().filter(|_| ready);
        Ok(found.find_map(Subscriber::recv).ok_or(WaitError::Stalled)?)
    }))
}

/// Measures batches of sends while no reader sleeps, on a topic whose reader has slept before. The
/// reader is in this process.
pub fn time_sends_to_awake_reader(
    namespace: &Arc<Namespace>,
    edge: WakeBarrier,
    plan: &MicroPlan,
) -> Result<MicroResult, AnyError> {
    let name = format!("awake_{edge:?}");
    let topic = || topic_builder(namespace, &name, edge);
    let mut subscriber = topic().subscriber()?;
    let mut publisher = topic().publisher()?;
    subscriber.set_spin(Duration::ZERO);
    if subscriber.recv_timeout(SLEEP_WITHOUT_MESSAGE).is_ok() {
        return Err("a message that nobody sent".into());
    }
    let message = Packet16::compose(1);
    let mut outcome = Ok(());
    let micro = micro::run_batches(plan, WORD_OPERATIONS_PER_BATCH, |_| {
        let start = plan.source.start();
        for _ in 0..WORD_OPERATIONS_PER_BATCH {
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
                .is_some_and(|latest| latest.verify(1).is_ok()),
        )
    });
    outcome?;
    Ok(micro)
}
