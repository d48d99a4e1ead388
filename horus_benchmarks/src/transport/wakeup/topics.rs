//! Mechanisms of our topics that wake a process: a single topic, and several topics in a wait set.

use std::sync::Arc;
use std::time::Duration;

use horus_core::topic::{Qos, Subscriber, Topic, TopicBuilder, WaitSet, WakeBarrier};
use horus_shm::Namespace;

use super::WakeupEnd;
use crate::Outcome;
use crate::measure::micro::{self, BatchPlan, BatchResult, WORD_OPERATIONS_PER_BATCH};
use crate::measure::payload::Payload;
use crate::measure::wait::{WAIT_TIMEOUT, WaitError};
use crate::transport::carrier::WakeupMechanism;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::Rendezvous;

/// Time for which a reader sleeps before the sends to its topic are timed.
const SLEEP_WITHOUT_MESSAGE: Duration = Duration::from_millis(1);

/// Number of topics of a wait set. Each message is sent to one of them.
const WAIT_SET_TOPICS: usize = 4;

fn topic_builder(
    namespace: &Arc<Namespace>,
    name: &str,
    barrier: WakeBarrier,
) -> TopicBuilder<Packet16> {
    Topic::builder(name)
        .namespace(namespace)
        .qos(Qos::new().wake_barrier(barrier))
}

fn mechanism_topic_builder(
    rendezvous: &Rendezvous<'_>,
    mechanism: WakeupMechanism,
) -> TopicBuilder<Packet16> {
    let barrier = match mechanism {
        WakeupMechanism::TopicFence => WakeBarrier::Fence,
        _ => WakeBarrier::Membarrier,
    };
    let name = rendezvous.shared_direction().name;
    topic_builder(rendezvous.namespace, &name, barrier)
}

pub(super) fn mechanism_subscriber(
    rendezvous: &Rendezvous<'_>,
    mechanism: WakeupMechanism,
) -> Outcome<Subscriber<Packet16>> {
    let mut subscriber = mechanism_topic_builder(rendezvous, mechanism).subscriber()?;
    subscriber.set_spin(Duration::ZERO);
    Ok(subscriber)
}

pub(super) fn open_topic(
    rendezvous: &Rendezvous<'_>,
    mechanism: WakeupMechanism,
) -> Outcome<WakeupEnd> {
    if rendezvous.is_near_end() {
        let mut publisher = mechanism_topic_builder(rendezvous, mechanism).publisher()?;
        return Ok(WakeupEnd::waker(
            move |message| Ok(publisher.send(message)?),
        ));
    }
    let mut subscriber = mechanism_subscriber(rendezvous, mechanism)?;
    Ok(WakeupEnd::sleeper(move || {
        Ok(subscriber.recv_timeout(WAIT_TIMEOUT)?)
    }))
}

/// Opens one side of several topics. The near side sends to each of them in turn, and the far side
/// sleeps in a wait set.
pub(super) fn open_wait_set(rendezvous: &Rendezvous<'_>) -> Outcome<WakeupEnd> {
    let topics = (0..WAIT_SET_TOPICS).map(|index| {
        let name = format!("{}-{index}", rendezvous.shared_direction().name);
        topic_builder(rendezvous.namespace, &name, WakeBarrier::Membarrier)
    });
    if rendezvous.is_near_end() {
        let publishers = topics.map(|topic| topic.publisher());
        let mut publishers = publishers.collect::<Result<Vec<_>, _>>()?;
        return Ok(WakeupEnd::waker(move |message| {
            let index = message.seq() as usize % WAIT_SET_TOPICS;
            Ok(publishers[index].send(message)?)
        }));
    }
    let subscribers = topics.map(|topic| topic.subscriber());
    let mut subscribers = subscribers.collect::<Result<Vec<_>, _>>()?;
    let mut set = WaitSet::new();
    set.set_spin(Duration::ZERO);
    for subscriber in &subscribers {
        set.add(subscriber)?;
    }
    Ok(WakeupEnd::sleeper(move || {
        let ready = !set.wait(WAIT_TIMEOUT)?.is_empty();
        let mut found = subscribers.iter_mut().filter(|_| ready);
        Ok(found.find_map(Subscriber::recv).ok_or(WaitError::Stalled)?)
    }))
}

/// Measures batches of sends to a reader in this process that is awake, but has slept before.
pub fn time_sends_to_awake_reader(
    namespace: &Arc<Namespace>,
    barrier: WakeBarrier,
    plan: &BatchPlan,
) -> Outcome<BatchResult> {
    let name = format!("awake_{barrier:?}");
    let topic = || topic_builder(namespace, &name, barrier);
    let mut subscriber = topic().subscriber()?;
    let mut publisher = topic().publisher()?;
    subscriber.set_spin(Duration::ZERO);
    if subscriber.recv_timeout(SLEEP_WITHOUT_MESSAGE).is_ok() {
        return Err("a message that nobody sent".into());
    }
    let message = Packet16::compose(1);
    let mut outcome = Ok(());
    let micro = micro::run_batches(plan, WORD_OPERATIONS_PER_BATCH, |_| {
        let start = plan.source.read_at_start();
        for _ in 0..WORD_OPERATIONS_PER_BATCH {
            if let Err(error) = publisher.send(message) {
                outcome = Err(error);
            }
        }
        let ticks = plan.source.read_at_end().since(start);
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
