//! Measures one topic with many publishers and subscribers. Each is a thread or a process. Each has
//! its own CPU as long as there are enough CPUs.
//!
//! Every subscriber receives every message or counts it as lost, so a message counts once for each
//! subscriber.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use horus_core::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder};
use horus_shm::Namespace;
use serde::{Deserialize, Serialize};

use crate::measure::payload::Payload;
use crate::measure::stats;
use crate::measure::stream::{StreamLedger, StreamPlan, StreamResult};
use crate::measure::tsc::TickSource;
use crate::measure::wait::OtherEndWatch;
use crate::report::rows::Row;
use crate::run::args::QuickOrFull;
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::far_end::{self, FarEndHandle, Placement};
use crate::run::namespace::PrivateNamespace;
use crate::run::session::BenchmarkSession;
use crate::scenario::endpoint_costs;
use crate::scenario::entry::{Outcome, Program};
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::next_connection_number;

/// Name of the role of a child process that publishes or subscribes.
const CHILD_ROLE: &str = "scaling";

const ABOUT: &str = "Measures one topic with 1 to 8 publishers and as many subscribers, as \
threads and as processes: the messages delivered per second, in all and per endpoint, and the \
lost messages. Every subscriber gets every message. Also measures the cost of a message in one \
thread beside up to 1,000 topics, 1,000 topics of a wait set, and 64 publishers or subscribers of \
a topic.";

const MEASUREMENT_METHOD: &str =
    "best-effort topic, 16 B; a message counts once for each subscriber";

/// Number of unread messages that the topic can hold for each publisher.
const TOPIC_CAPACITY: u64 = 1024;

/// Number of streams for each row, and maximum number of messages that each publisher sends in one.
const STREAMS_AND_MESSAGES: QuickOrFull<(u32, u64)> = QuickOrFull((5, 5_000_000), (15, 5_000_000));

/// Approximate duration of a stream.
const STREAM_TIME: QuickOrFull<Duration> =
    QuickOrFull(Duration::from_millis(50), Duration::from_millis(300));

/// Number of messages that each publisher sends in a first, short stream, from which the duration
/// of a stream is estimated.
const PROBE_STREAM_MESSAGES: u64 = 5_000;

/// Position of the lowest bit of the publisher's number in the sequence number of a message.
const PUBLISHER_NUMBER_SHIFT: u32 = 32;

/// Runs the benchmark `scalability_benchmark`.
pub fn main() -> ExitCode {
    let program = Program::new(ABOUT, STREAMS_AND_MESSAGES).without_ratio_goals();
    program.with_child_role((CHILD_ROLE, serve_child)).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    let time = session.args.quick_or_full(STREAM_TIME);
    session.effort.warm_up = 0;
    session.report.set_setting("warm_up_per_round", 0);
    session.report.set_setting("capacity", TOPIC_CAPACITY);
    session
        .report
        .set_setting("stream_ms", time.as_millis() as u64);
    session.add_progress_steps(2 * EndpointCounts::all_measured().count());
    let placements = [
        ("threads", Placement::CrossThread),
        ("processes", Placement::CrossProcess),
    ];
    for (members, placement) in placements {
        let mut base_rate = None;
        for counts in EndpointCounts::all_measured() {
            let id = format!("scalability/{members}/{}", counts.id());
            if session.begin_row_if_selected(&id) {
                let cpus = &session.report.machine.allowed_cpus;
                let source = session.clock.source;
                let mut workers =
                    ScalingWorkers::start(placement, counts, cpus, source, &session.private)?;
                let streams = measure_streams_of_row(session, &mut workers, time)?;
                let ticks_per_s = session.clock.ticks_per_s();
                let row = scaling_row(&id, counts, &streams, ticks_per_s, &mut base_rate);
                session.add_row(row, MEASUREMENT_METHOD);
            }
        }
    }
    endpoint_costs::measure_endpoint_costs(session)
}

/// Measures all streams of one row of the report, each for about `time`. Returns a result for each
/// stream.
fn measure_streams_of_row(
    session: &BenchmarkSession,
    workers: &mut ScalingWorkers,
    time: Duration,
) -> Outcome<Vec<StreamResult>> {
    let samples = session.effort.samples;
    let probe = PROBE_STREAM_MESSAGES.min(samples);
    let probe_ticks = workers.run_stream(probe)?.elapsed_ticks.max(1);
    let seconds = session.clock.to_ns(probe_ticks) / 1e9;
    let fitting = (probe as f64 / seconds * time.as_secs_f64()) as u64;
    let messages = fitting.clamp(probe, samples);
    let streams = 0..session.effort.rounds;
    streams.map(|_| workers.run_stream(messages)).collect()
}

/// Creates the row for a number of publishers and subscribers. `base` stores the rate of the first
/// row, with which the rates of later rows are compared.
fn scaling_row(
    id: &str,
    counts: EndpointCounts,
    streams: &[StreamResult],
    ticks_per_s: f64,
    base_rate: &mut Option<f64>,
) -> Row {
    let rates = streams
        .iter()
        .map(|stream| stream.messages_per_s(ticks_per_s));
    let rates: Vec<f64> = rates.collect();
    let rate = stats::median(&mut rates.clone());
    if counts.total() == 2 {
        *base_rate = Some(rate);
    }
    let pairs = counts.producers.min(counts.consumers) as f64;
    let mut row = Row::from_streams(id, streams, &rates).with_busy_threads(counts.total());
    row.additional.msgs_per_s_per_member = Some(rate / counts.total() as f64);
    row.additional.scaling_percent = base_rate.map(|base| rate / base / pairs * 100.0);
    row
}

/// The number of publishers and the number of subscribers of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointCounts {
    producers: usize,
    consumers: usize,
}

impl EndpointCounts {
    /// Returns the numbers of publishers and subscribers to measure. The rates of all are compared
    /// with the rate of the first.
    pub fn all_measured() -> impl Iterator<Item = EndpointCounts> {
        let more_producers = [(1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (8, 1)];
        let more_consumers = [(1, 2), (1, 4), (1, 8), (2, 2), (4, 4), (8, 8)];
        let all = more_producers.into_iter().chain(more_consumers);
        all.map(|(producers, consumers)| EndpointCounts {
            producers,
            consumers,
        })
    }

    /// Returns the total number of publishers and subscribers.
    pub const fn total(self) -> usize {
        self.producers + self.consumers
    }

    /// Returns the name of these numbers in the ids of rows, such as `2p1c` for two publishers and
    /// one subscriber.
    pub fn id(self) -> String {
        format!("{}p{}c", self.producers, self.consumers)
    }
}

/// A job for a publisher or a subscriber.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum ScalingJob {
    /// Opens an endpoint of the topic with this number.
    Open { number: u64, publishes: bool },
    /// Sends or receives the messages of a stream. `index` is the number of the endpoint.
    Run { index: usize, plan: ScalingPlan },
    /// Closes the endpoint.
    Close,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ScalingPlan {
    producers: usize,
    /// Number of messages that each publisher sends in the stream.
    messages: u64,
    source: TickSource,
}

impl ScalingPlan {
    /// Returns the plan of the messages that publisher `index` sends. The upper bits of the number
    /// of a message are the number of its publisher.
    fn stream_plan_of_publisher(&self, index: usize) -> StreamPlan {
        StreamPlan {
            messages: self.messages,
            first_seq: (index as u64) << PUBLISHER_NUMBER_SHIFT | 1,
            producers: 1,
        }
    }
}

/// The publishers and subscribers of a row. Each sleeps between two jobs.
struct ScalingWorkers {
    /// The publishers, and then the subscribers. A subscriber answers [`ScalingJob::Run`] with the
    /// result of its stream. All other answers are `None`.
    members: Vec<FarEndHandle<ScalingJob, Option<StreamResult>>>,
    counts: EndpointCounts,
    source: TickSource,
}

impl ScalingWorkers {
    /// Starts all publishers and subscribers, pinned to `cpus` in turn. If there are fewer CPUs
    /// than endpoints, an endpoint that waits yields its CPU.
    fn start(
        placement: Placement,
        counts: EndpointCounts,
        cpus: &[usize],
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Outcome<ScalingWorkers> {
        let namespace = private.open()?;
        let env = &private.environment();
        let member = |number: usize| {
            let spec = ChildSpec {
                role: CHILD_ROLE,
                cpu: cpus[number % cpus.len()],
                share_cpu: counts.total() > cpus.len(),
                env,
            };
            let namespace = Arc::clone(&namespace);
            FarEndHandle::launch(placement, &spec, move || make_job_runner(namespace))
        };
        let members = (0..counts.total()).map(member);
        Ok(ScalingWorkers {
            members: members.collect::<Result<_, _>>()?,
            counts,
            source,
        })
    }

    /// Streams `messages` messages from each publisher on a new topic. A message counts once for
    /// each subscriber. The duration of the stream is that of the slowest subscriber.
    fn run_stream(&mut self, messages: u64) -> Outcome<StreamResult> {
        let number = next_connection_number();
        let EndpointCounts {
            producers,
            consumers,
        } = self.counts;
        let plan = ScalingPlan {
            producers,
            messages,
            source: self.source,
        };
        // WHY publishers first, and all subscribers before anything is sent: a subscriber gets
        // what is sent after it joined.
        for (index, member) in self.members.iter_mut().enumerate() {
            let publishes = index < producers;
            member.run_job(ScalingJob::Open { number, publishes })?;
        }
        for index in (producers..self.members.len()).chain(0..producers) {
            self.members[index].start_job(ScalingJob::Run { index, plan })?;
        }
        let mut all = StreamResult::default();
        for member in &mut self.members {
            all = all.combine(member.finish_job()?.unwrap_or_default());
        }
        let sent = messages * (producers * consumers) as u64;
        let counted = all.sent_messages();
        if counted != sent {
            let text = format!("{sent} messages were sent, and {counted} accounted for");
            return Err(text.into());
        }
        for member in &mut self.members {
            member.run_job(ScalingJob::Close)?;
        }
        Ok(all)
    }
}

/// Performs the role [`CHILD_ROLE`] in a child process, until the parent closes the connection.
fn serve_child(context: &ChildContext) -> ExitCode {
    far_end::serve_jobs(context, || Ok(make_job_runner(Namespace::current()?)))
}

enum ScalingEndpoint {
    Publisher(Publisher<Packet16>),
    Subscriber(Subscriber<Packet16>),
}

/// Returns a function that runs the jobs of one publisher or subscriber.
fn make_job_runner(
    namespace: Arc<Namespace>,
) -> impl FnMut(ScalingJob, &OtherEndWatch) -> Outcome<Option<StreamResult>> {
    let mut endpoint = None;
    move |job, watch| {
        match job {
            ScalingJob::Open { number, publishes } => {
                let builder = topic_builder(number, &namespace);
                endpoint = Some(match publishes {
                    true => ScalingEndpoint::Publisher(builder.publisher()?),
                    false => ScalingEndpoint::Subscriber(builder.subscriber()?),
                });
            }
            ScalingJob::Run { index, plan } => match &mut endpoint {
                Some(ScalingEndpoint::Publisher(publisher)) => send_stream(publisher, index, plan)?,
                Some(ScalingEndpoint::Subscriber(subscriber)) => {
                    return receive_stream(subscriber, plan, watch).map(Some);
                }
                None => return Err("no topic is open".into()),
            },
            ScalingJob::Close => endpoint = None,
        }
        Ok(None)
    }
}

/// Sends messages whose sequence numbers contain the number of their publisher, which is `index`.
fn send_stream(publisher: &mut Publisher<Packet16>, index: usize, plan: ScalingPlan) -> Outcome {
    let first_seq = plan.stream_plan_of_publisher(index).first_seq;
    for number in 0..plan.messages {
        publisher.send(Packet16::compose(first_seq + number))?;
    }
    Ok(())
}

/// Receives until all messages have arrived or are known to be lost. The measured time starts with
/// the first message.
fn receive_stream(
    subscriber: &mut Subscriber<Packet16>,
    plan: ScalingPlan,
    watch: &OtherEndWatch,
) -> Outcome<StreamResult> {
    let ledgers =
        (0..plan.producers).map(|index| StreamLedger::new(&plan.stream_plan_of_publisher(index)));
    let mut ledgers: Vec<StreamLedger> = ledgers.collect();
    let mut incomplete = plan.producers;
    let mut message = Packet16::compose(0);
    let mut start = None;
    while incomplete > 0 {
        watch.spin_until(|| subscriber.recv_into(&mut message).then_some(()))?;
        start.get_or_insert_with(|| plan.source.read_at_start());
        let publisher = (message.seq() >> PUBLISHER_NUMBER_SHIFT) as usize;
        let ledger = ledgers.get_mut(publisher).ok_or("a message of nobody")?;
        ledger.count_message(&message)?;
        incomplete -= usize::from(ledger.is_complete());
    }
    let end = plan.source.read_at_end();
    let elapsed_ticks = start.map_or(0, |start| end.since(start));
    let results = ledgers.iter().map(|ledger| ledger.result(elapsed_ticks));
    let all = results.fold(StreamResult::default(), StreamResult::combine);
    let (lost, counted) = (all.lost, subscriber.lost());
    if lost != counted {
        return Err(format!("{lost} did not arrive, {counted} counted as lost").into());
    }
    Ok(all)
}

fn topic_builder(number: u64, namespace: &Arc<Namespace>) -> TopicBuilder<Packet16> {
    let builder = Topic::<Packet16>::builder(&format!("scaling/{number}")).namespace(namespace);
    builder.qos(Qos::new().capacity(TOPIC_CAPACITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::pin;

    #[test]
    fn a_crowd_of_threads_receives_or_loses_what_it_sends() {
        let private = PrivateNamespace::create().unwrap();
        let cpus = pin::allowed_cpus().unwrap();
        for (producers, consumers) in [(1, 1), (3, 2)] {
            let counts = EndpointCounts {
                producers,
                consumers,
            };
            let source = TickSource::detect();
            let mut workers =
                ScalingWorkers::start(Placement::CrossThread, counts, &cpus, source, &private)
                    .unwrap();
            for _ in 0..2 {
                let all = workers.run_stream(2000).unwrap();
                assert_eq!(all.sent_messages(), (2000 * producers * consumers) as u64);
                assert!(all.received > 0);
            }
        }
    }

    #[test]
    fn what_comes_twice_or_from_nobody_is_an_error() {
        let private = PrivateNamespace::create().unwrap();
        let namespace = private.open().unwrap();
        let plan = ScalingPlan {
            producers: 2,
            messages: 3,
            source: TickSource::detect(),
        };
        let watch = OtherEndWatch::new(true, || false);
        let second = plan.stream_plan_of_publisher(1).first_seq;
        for (number, wrong) in [
            (1, second + 1),
            (2, 1),
            (3, plan.stream_plan_of_publisher(2).first_seq),
        ] {
            let mut publisher = topic_builder(number, &namespace).publisher().unwrap();
            let mut subscriber = topic_builder(number, &namespace).subscriber().unwrap();
            for seq in [1, 3, second + 1, wrong] {
                publisher.send(Packet16::compose(seq)).unwrap();
            }
            assert!(receive_stream(&mut subscriber, plan, &watch).is_err());
        }
    }
}
