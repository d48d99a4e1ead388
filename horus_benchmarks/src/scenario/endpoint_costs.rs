//! Measures what a message costs in one thread, as a function of the number of topics in the
//! process, of topics in a wait set, of publishers of a topic, and of its subscribers.

use std::sync::Arc;
use std::time::Duration;

use horus_core::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder, WaitSet};
use horus_shm::Namespace;

use crate::measure::micro::{self, BatchPlan, BatchResult};
use crate::measure::payload::Payload;
use crate::measure::pin;
use crate::report::rows::Row;
use crate::run::args::QuickOrFull;
use crate::run::session::BenchmarkSession;
use crate::scenario::entry::Outcome;
use crate::transport::packet::Packet16;

/// Number of timed batches of a row.
const BATCHES_PER_ROW: QuickOrFull<u64> = QuickOrFull(200, 2_000);

/// Minimum number of messages in a batch. A batch has at least one message of each topic.
const BATCH_MESSAGES_MIN: usize = 128;

/// Number of unread messages that a topic can hold for each publisher.
const TOPIC_CAPACITY: u64 = 8;

/// The kind of object whose number differs from row to row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountedObject {
    /// Topics of one process. Each gets a message in turn.
    Topics,
    /// Topics of one wait set. One after another gets a message, and the set waits for it.
    WaitSet,
    /// Publishers of one topic. Each sends in turn.
    Publishers,
    /// Publishers of one topic, of which only the last one sends.
    IdlePublishers,
    /// Subscribers of one topic. Each receives every message.
    Subscribers,
}

/// The numbers of endpoints to measure. WHY at most 64: a topic has no more.
const ENDPOINT_COUNTS: &[usize] = &[1, 2, 4, 8, 16, 64];

/// The kinds of objects. For each one: its name in the ids of rows, and the numbers of objects to
/// measure.
const COUNTED_OBJECTS: [(CountedObject, &str, &[usize]); 5] = [
    (CountedObject::Topics, "topics", &[1, 10, 100, 1000]),
    (
        CountedObject::WaitSet,
        "wait_set",
        &[1, 2, 8, 32, 128, 1000],
    ),
    (CountedObject::Publishers, "publishers", ENDPOINT_COUNTS),
    (
        CountedObject::IdlePublishers,
        "idle_publishers",
        ENDPOINT_COUNTS,
    ),
    (CountedObject::Subscribers, "subscribers", ENDPOINT_COUNTS),
];

/// The endpoints of a row. A message goes from a publisher to all of its subscribers.
struct RowEndpoints {
    publishers: Vec<Publisher<Packet16>>,
    subscribers: Vec<Subscriber<Packet16>>,
    counted: CountedObject,
    wait_set: WaitSet,
}

/// Measures what a message costs with different numbers of topics, publishers and subscribers (see
/// [`COUNTED_OBJECTS`]), and adds a row for each of these numbers to the report.
pub(super) fn measure_endpoint_costs(session: &mut BenchmarkSession) -> Outcome {
    pin::pin_current_thread(session.cpus.near)?;
    let asked = session.args.samples.unwrap_or(u64::MAX);
    let batches = session.args.quick_or_full(BATCHES_PER_ROW).min(asked);
    let plan = BatchPlan::new(session.clock.source, batches);
    for (counted, name, counts) in COUNTED_OBJECTS {
        for &count in counts {
            let id = format!("cost/{name}/{count}");
            if session.args.wants_row(&id) {
                let mut endpoints = RowEndpoints::open(counted, count, &session.private.open()?)?;
                let micro = endpoints.measure(&plan)?;
                let row = Row::from_batches(&id, &micro, &session.clock);
                session.add_row(row, counted.measurement_method());
            }
        }
    }
    Ok(())
}

impl CountedObject {
    const fn measurement_method(self) -> &'static str {
        match self {
            CountedObject::WaitSet => "send + wait + recv in one thread, 16 B, in batches",
            CountedObject::Subscribers => "send + recv by each in one thread, 16 B, in batches",
            _ => "send + recv in one thread, 16 B, in batches",
        }
    }

    /// Returns true if there are several topics, each with one publisher and one subscriber.
    const fn has_several_topics(self) -> bool {
        matches!(self, CountedObject::Topics | CountedObject::WaitSet)
    }
}

impl RowEndpoints {
    fn open(
        counted: CountedObject,
        count: usize,
        namespace: &Arc<Namespace>,
    ) -> Outcome<RowEndpoints> {
        // WHY the kind of object is part of the name: rows do not share files.
        let topic = |number: usize| -> TopicBuilder<Packet16> {
            let number = if counted.has_several_topics() {
                number
            } else {
                0
            };
            let builder = Topic::builder(&format!("cost/{counted:?}/{number}"));
            builder
                .namespace(namespace)
                .qos(Qos::new().capacity(TOPIC_CAPACITY))
        };
        let (publishers, subscribers) = match counted {
            CountedObject::Topics | CountedObject::WaitSet => (count, count),
            CountedObject::Publishers | CountedObject::IdlePublishers => (count, 1),
            CountedObject::Subscribers => (1, count),
        };
        let publishers = (0..publishers).map(|number| topic(number).publisher());
        let publishers = publishers.collect::<Result<Vec<_>, _>>()?;
        let subscribers = (0..subscribers).map(|number| topic(number).subscriber());
        let subscribers = subscribers.collect::<Result<Vec<_>, _>>()?;
        let mut wait_set = WaitSet::new();
        if counted == CountedObject::WaitSet {
            for subscriber in &subscribers {
                wait_set.add(subscriber)?;
            }
        }
        Ok(RowEndpoints {
            publishers,
            subscribers,
            counted,
            wait_set,
        })
    }

    fn measure(&mut self, plan: &BatchPlan) -> Outcome<BatchResult> {
        let batch = BATCH_MESSAGES_MIN.max(self.publishers.len()) as u64;
        let receivers = if self.counted.has_several_topics() {
            1
        } else {
            self.subscribers.len()
        };
        let wanted = batch * receivers as u64;
        let mut seq = 1;
        let mut failure = None;
        let result = micro::run_batches(plan, batch, |_| {
            let start = plan.source.read_at_start();
            let mut arrived = Ok(0);
            for _ in 0..batch {
                arrived = arrived.and_then(|sum| Ok(sum + self.send_and_receive_message(seq)?));
                seq += 1;
            }
            let ticks = plan.source.read_at_end().since(start);
            let is_right = matches!(arrived, Ok(arrived) if arrived == wanted);
            failure = failure.take().or(arrived.err());
            (ticks, is_right)
        });
        failure.map_or(Ok(result), Err)
    }

    /// Sends message `seq`, and receives it. Returns the number of subscribers that got it.
    fn send_and_receive_message(&mut self, seq: u64) -> Outcome<u64> {
        let turn = seq as usize % self.publishers.len();
        let sender = if self.counted == CountedObject::IdlePublishers {
            self.publishers.len() - 1
        } else {
            turn
        };
        self.publishers[sender].send(Packet16::compose(seq))?;
        if self.counted == CountedObject::WaitSet {
            let ready = self.wait_set.wait(Duration::from_secs(1))?;
            if ready.len() != 1 {
                return Err(format!("{} topics are ready instead of one", ready.len()).into());
            }
        }
        let receivers = if self.counted.has_several_topics() {
            turn..turn + 1
        } else {
            0..self.subscribers.len()
        };
        let mut arrived = 0;
        for subscriber in &mut self.subscribers[receivers] {
            arrived += u64::from(subscriber.recv().is_some_and(|got| got.verify(seq).is_ok()));
        }
        Ok(arrived)
    }
}
