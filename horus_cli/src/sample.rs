//! Samples: the topics, nodes, programs and events of a namespace at one moment.
//!
//! This module reads all data of the namespace that `horus top` and `horus monitor` show.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use horus_core::introspect::{Inspector, LivenessCache, Offer, topics};
use horus_core::message::{NODE_METRICS_BUCKETS, NodeEvent, NodeMetrics, timestamp_now_ns};
use horus_core::namespace::Namespace;
use horus_core::scheduler::{Graph, SchedulerInfo, black_box, scheduler_graph, schedulers};
use serde::Serialize;

use crate::blackbox::{Event, NewEventFilter, event_tone};
use crate::context::Context;
use crate::failure::Failure;
use crate::launch::status::{self, ProgramStatus};
use crate::namespace::open_listed_namespace;
use crate::node::metrics::Metrics;
use crate::output::Tone;
use crate::process::{OwnerId, ProcessKey};
use crate::scheduler::liveness::Liveness;
use crate::topic::info::{EndpointProcess, UnmatchedEndpoints};
use crate::topic::latency::Percentiles;
use crate::topic::list::{TopicSettings, TopicSummary};
use crate::topic::meter::{Counters, Meter, Reading, per_second};
use crate::topic::select::is_internal_topic;

/// Time between two reads of the black boxes and of the graphs of the schedulers. WHY so long: a
/// read of a black box takes up to a few milliseconds, and a graph changes only when a scheduler
/// starts.
const EVENT_READ_PERIOD: Duration = Duration::from_secs(1);

/// Maximum number of events in a sample. Older events are left out.
const EVENTS_MAX: usize = 200;

/// The state of a namespace at one moment: its topics, nodes, programs and events.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Sample {
    pub(crate) namespace: String,
    pub(crate) timestamp_ns: u64,
    pub(crate) processes: BTreeSet<EndpointProcess>,
    pub(crate) live_schedulers: usize,
    pub(crate) topics: Vec<Topic>,
    pub(crate) nodes: Vec<Node>,
    /// The programs that live launchers, which are processes of `horus launch`, have started or
    /// will start.
    pub(crate) programs: Vec<Program>,
    /// The events since the last sample. The first sample contains the last events of each black
    /// box.
    pub(crate) events: Vec<SchedulerEvent>,
}

/// A topic at one moment. Its rates are means over the time `window_ns` before that moment.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Topic {
    #[serde(rename = "topic")]
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) details: TopicSummary,
    #[serde(flatten)]
    pub(crate) settings: TopicSettings,
    pub(crate) window_ns: u64,
    pub(crate) refused_per_second: f64,
    pub(crate) lost_per_second: f64,
    /// Number of bytes of messages sent per second; `None` if the messages have different lengths.
    pub(crate) bytes_per_second: Option<f64>,
    /// The latency of the slowest subscriber, which is the one with the largest 99th percentile;
    /// `None` if the latency of no message was measured.
    pub(crate) latency: Option<Percentiles>,
    /// The process ids of the publishers.
    pub(crate) publisher_pids: BTreeSet<u32>,
    /// The process ids of the subscribers.
    pub(crate) subscriber_pids: BTreeSet<u32>,
    /// The owner ids of the processes of the publishers, which identify these processes.
    pub(crate) publisher_owner_ids: BTreeSet<OwnerId>,
    /// The owner ids of the processes of the subscribers.
    pub(crate) subscriber_owner_ids: BTreeSet<OwnerId>,
    /// The pairs of a publisher and a subscriber between which no message passes.
    pub(crate) unmatched: Vec<UnmatchedEndpoints>,
}

/// A node of a scheduler at one moment.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Node {
    #[serde(flatten)]
    pub(crate) metrics: Metrics,
    pub(crate) process_id: Option<u32>,
    /// The owner id of the node's process; `None` if the scheduler is not alive.
    pub(crate) owner_id: Option<OwnerId>,
    /// The names of the topics that the node reads; `None` if they are not known. The field
    /// `writes` has the names of the topics that the node writes.
    pub(crate) reads: Option<Vec<String>>,
    pub(crate) writes: Option<Vec<String>>,
    #[serde(skip)]
    pub(crate) durations: [u64; NODE_METRICS_BUCKETS],
    #[serde(skip)]
    pub(crate) lateness: [u64; NODE_METRICS_BUCKETS],
}

/// A program of `horus launch` at one moment.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Program {
    /// The path of the launch file that contains the program.
    pub(crate) file: String,
    pub(crate) launcher_pid: u32,
    #[serde(flatten)]
    pub(crate) status: ProgramStatus,
}

/// An event from the black box of a scheduler, with the name of the scheduler.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SchedulerEvent {
    pub(crate) scheduler: String,
    #[serde(flatten)]
    pub(crate) event: Event,
    #[serde(skip)]
    pub(crate) text: String,
    #[serde(skip)]
    pub(crate) tone: Tone,
}

/// Takes samples of a namespace. Keeps each topic open between two samples, and closes topics that
/// no process uses.
#[derive(Debug)]
pub(crate) struct Sampler {
    shows_internal: bool,
    /// The minimum time over which the rates of topics are measured.
    window: Duration,
    namespace: Option<Arc<Namespace>>,
    topics: BTreeMap<String, Option<CountedTopic>>,
    black_boxes: BTreeMap<String, NewEventFilter>,
    graphs: BTreeMap<String, Graph>,
    next_events: Instant,
}

/// A topic whose messages the sampler counts.
#[derive(Debug)]
struct CountedTopic {
    meter: Meter,
    /// The readings of the topic's counters that cover the last window, oldest first, each with
    /// the number of bytes that were sent meanwhile; `None` if messages differ in length.
    readings: VecDeque<(Reading, Option<u64>)>,
}

impl Sampler {
    pub(crate) fn new(shows_internal: bool, window: Duration) -> Self {
        Self {
            shows_internal,
            window,
            namespace: None,
            topics: BTreeMap::new(),
            black_boxes: BTreeMap::new(),
            graphs: BTreeMap::new(),
            next_events: Instant::now(),
        }
    }

    /// Returns the namespace that is sampled; `None` if it does not exist yet.
    pub(crate) const fn namespace(&self) -> Option<&Arc<Namespace>> {
        self.namespace.as_ref()
    }

    /// Reads the current state of all topics, nodes and programs of the namespace. The sample is
    /// empty if the namespace does not exist.
    pub(crate) fn take_sample(&mut self, context: &Context) -> Result<Sample, Failure> {
        let config = context.namespace_config()?;
        let mut sample = Sample {
            namespace: config.name().to_string(),
            timestamp_ns: timestamp_now_ns(),
            ..Sample::default()
        };
        // WHY opened each time: a user may have removed the namespace, and programs may have
        // created it again. While it is the same, this call returns the namespace that is already
        // open.
        let namespace = open_listed_namespace(&config)?;
        self.set_namespace(namespace.clone());
        let Some(namespace) = namespace else {
            return Ok(sample);
        };
        self.read_topics(&namespace, &mut sample)?;
        self.read_schedulers(&namespace, &mut sample)?;
        sample.programs = read_programs(&namespace);
        Ok(sample)
    }

    /// Sets the namespace that is sampled. If it differs from the last one, forgets all that was
    /// read from that one.
    fn set_namespace(&mut self, namespace: Option<Arc<Namespace>>) {
        let is_same = match (&self.namespace, &namespace) {
            (Some(last), Some(now)) => Arc::ptr_eq(last, now),
            (last, now) => last.is_none() && now.is_none(),
        };
        if !is_same {
            self.topics.clear();
            self.black_boxes.clear();
            self.graphs.clear();
            self.next_events = Instant::now();
            self.namespace = namespace;
        }
    }

    fn read_topics(
        &mut self,
        namespace: &Arc<Namespace>,
        sample: &mut Sample,
    ) -> Result<(), Failure> {
        let names = topics(namespace).map_err(|error| Failure::from_open_error(&error))?;
        self.topics.retain(|name, _| names.contains(name));
        let mut cache = LivenessCache::default();
        for name in names {
            let watched = self.topics.entry(name.clone());
            // An unreadable topic has no meter: `topic list` says why.
            let watched = watched.or_insert_with(|| CountedTopic::open(namespace, &name));
            let Some(watched) = watched else { continue };
            let (reading, bytes) = watched.read_counts_and_bytes(self.window, &mut cache);
            if let Some(topic) = watched.meter.inspector() {
                let counters = watched.meter.counters();
                let ends = counters.participants();
                let processes = ends.filter_map(|end| EndpointProcess::of(Some(end)));
                sample.processes.extend(processes);
                if self.shows_internal || !is_internal_topic(&name) {
                    sample
                        .topics
                        .push(Topic::new(name, topic, counters, (&reading, bytes)));
                }
            }
            watched.meter.close_if_unused();
        }
        Ok(())
    }

    fn read_schedulers(
        &mut self,
        namespace: &Arc<Namespace>,
        sample: &mut Sample,
    ) -> Result<(), Failure> {
        let all = schedulers(namespace).map_err(|error| Failure::from_open_error(&error))?;
        sample.live_schedulers = all.iter().filter(|one| one.is_alive).count();
        if Instant::now() >= self.next_events {
            self.next_events = Instant::now() + EVENT_READ_PERIOD;
            let names = || all.iter().map(|scheduler| scheduler.name.as_str());
            sample.events = self.read_events(namespace, names());
            let graph = |name: &str| Some((name.to_owned(), scheduler_graph(namespace, name)?));
            self.graphs = names().filter_map(graph).collect();
        }
        for scheduler in &all {
            let graph = self.graphs.get(&scheduler.name);
            let nodes = scheduler.nodes.iter();
            sample
                .nodes
                .extend(nodes.map(|node| Node::new(scheduler, node, graph)));
        }
        Ok(())
    }

    /// Returns the events of all schedulers since the last call, oldest first.
    fn read_events<'a>(
        &mut self,
        namespace: &Arc<Namespace>,
        schedulers: impl Iterator<Item = &'a str>,
    ) -> Vec<SchedulerEvent> {
        let mut events = Vec::new();
        for name in schedulers {
            // A black box that cannot be read was removed meanwhile.
            let Ok(all) = black_box(namespace, name) else {
                continue;
            };
            let news = self.black_boxes.entry(name.to_owned()).or_default();
            let new = news.take_new_events(all);
            events.extend(new.into_iter().map(|event| (name.to_owned(), event)));
        }
        events.sort_by_key(|(_, event)| event.timestamp_ns);
        let excess = events.len().saturating_sub(EVENTS_MAX);
        let kept = events.into_iter().skip(excess);
        kept.map(|(scheduler, event)| SchedulerEvent::new(scheduler, &event))
            .collect()
    }
}

/// Returns the programs of all live launchers of a namespace.
fn read_programs(namespace: &Arc<Namespace>) -> Vec<Program> {
    let launches = status::read_statuses(namespace).into_iter();
    let programs = launches.flat_map(|launch| {
        launch.programs.into_iter().map(move |status| Program {
            file: launch.file.clone(),
            launcher_pid: launch.launcher_pid,
            status,
        })
    });
    programs.collect()
}

impl CountedTopic {
    fn open(namespace: &Arc<Namespace>, name: &str) -> Option<Self> {
        let meter = Meter::open(namespace, name).ok()?;
        Some(Self {
            meter,
            readings: VecDeque::new(),
        })
    }

    /// Counts the messages since the last call. Returns the sum of the readings that cover the last
    /// window, and the number of bytes that were sent in it; `None` if messages differ in length.
    fn read_counts_and_bytes(
        &mut self,
        window: Duration,
        cache: &mut LivenessCache,
    ) -> (Reading, Option<u64>) {
        let reading = self.meter.read_with(cache);
        let offers = self.meter.inspector().map(Inspector::offers);
        let bytes = sent_bytes(&reading, &offers.unwrap_or_default());
        self.readings.push_back((reading, bytes));
        let mut took: Duration = self.readings.iter().map(|(reading, _)| reading.took).sum();
        while let Some((oldest, _)) = self.readings.front()
            && took - oldest.took >= window
            && self.readings.len() > 1
        {
            took -= oldest.took;
            self.readings.pop_front();
        }
        let mut total = Reading::default();
        self.readings
            .iter()
            .for_each(|(reading, _)| total.add(reading));
        (total, self.readings.iter().map(|(_, bytes)| *bytes).sum())
    }
}

/// Returns the number of bytes of the messages that were sent during `reading`. `offers` contains
/// the offer of each lane, whose message types may differ in length. Returns `None` if a publisher
/// sends messages of different lengths, because the counters count only messages.
fn sent_bytes(reading: &Reading, offers: &[(u32, Offer)]) -> Option<u64> {
    let lanes = reading.lanes.iter().filter(|lane| lane.sent > 0);
    let bytes = lanes.map(|lane| {
        let (_, offer) = offers.iter().find(|(index, _)| *index == lane.lane)?;
        let message_type = &offer.type_info;
        (!message_type.sized).then_some(lane.sent * message_type.bytes)
    });
    bytes.sum()
}

impl Topic {
    /// Describes a topic whose counters have changed by `reading` in the last window. `bytes` is
    /// the number of bytes that were sent in it; `None` if messages differ in length.
    fn new(
        name: String,
        topic: &Inspector,
        counters: &Counters,
        (reading, bytes): (&Reading, Option<u64>),
    ) -> Self {
        let Counters { lanes, readers, .. } = counters;
        let settings = TopicSettings::new(topic, counters);
        let latencies = readers
            .iter()
            .map(|reader| Percentiles::of(&reader.latencies));
        let publishers = lanes.iter().filter_map(|lane| lane.publisher.as_ref());
        let publishers: Vec<_> = publishers.filter_map(ProcessKey::of).collect();
        let subscribers = readers.iter().map(|reader| &reader.subscriber);
        let subscribers: Vec<_> = subscribers.filter_map(ProcessKey::of).collect();
        // WHY not always: the pairs cost some system calls.
        let has_pairs = !publishers.is_empty() && !subscribers.is_empty();
        let pairs = has_pairs.then(|| topic.unmatched_pairs());
        Self {
            name,
            window_ns: reading.took.as_nanos() as u64,
            refused_per_second: per_second(reading.refused, reading.took),
            lost_per_second: per_second(reading.lost, reading.took),
            bytes_per_second: bytes
                .filter(|_| !settings.has_variable_size)
                .map(|bytes| per_second(bytes, reading.took)),
            latency: latencies
                .filter(|latency| latency.samples > 0)
                .max_by_key(|latency| latency.p99_ns),
            publisher_pids: publishers.iter().map(|process| process.pid).collect(),
            subscriber_pids: subscribers.iter().map(|process| process.pid).collect(),
            publisher_owner_ids: publishers.iter().map(|process| process.owner_id).collect(),
            subscriber_owner_ids: subscribers.iter().map(|process| process.owner_id).collect(),
            unmatched: pairs
                .iter()
                .flatten()
                .map(UnmatchedEndpoints::new)
                .collect(),
            details: TopicSummary::new(topic, counters, Some(reading.rate_hz())),
            settings,
        }
    }

    pub(crate) fn rate_hz(&self) -> f64 {
        self.details.rate_hz.unwrap_or(0.0)
    }
}

impl Node {
    fn new(scheduler: &SchedulerInfo, node: &NodeMetrics, graph: Option<&Graph>) -> Self {
        let topics = graph.and_then(|graph| {
            let mut nodes = graph.nodes().iter();
            nodes.find(|other| node.name == *other.name)
        });
        Self {
            metrics: Metrics::new(&scheduler.name, Liveness::of(scheduler), node),
            process_id: scheduler.process_id,
            owner_id: scheduler.owner_id.map(OwnerId),
            reads: topics.map(|node| node.reads.clone()),
            writes: topics.map(|node| node.writes.clone()),
            durations: node.durations,
            lateness: node.lateness,
        }
    }

    /// Returns the names of the node's scheduler and of the node as one path, such as
    /// `arm/controller`.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.metrics.scheduler, self.metrics.node)
    }
}

impl SchedulerEvent {
    pub(crate) fn new(scheduler: String, event: &NodeEvent) -> Self {
        Self {
            scheduler,
            text: event.to_string(),
            tone: event_tone(event),
            event: Event::new(event),
        }
    }
}

#[cfg(test)]
mod tests {
    use horus_core::message::{CmdVel, Imu};
    use horus_core::topic::{Publisher, Topic as CoreTopic};

    use super::*;
    use crate::testing::private_namespace;

    /// A publisher of a longer type, which does not send, changes nothing.
    #[test]
    fn bytes_are_those_of_the_messages_that_were_sent() {
        let (_dir, namespace) = private_namespace();
        let topic = CoreTopic::<CmdVel>::builder("shared").namespace(&namespace);
        let mut publisher: Publisher<CmdVel> = topic.publisher().unwrap();
        let topic = CoreTopic::<Imu>::builder("shared").namespace(&namespace);
        let _silent: Publisher<Imu> = topic.publisher().unwrap();
        let mut watched = CountedTopic::open(&namespace, "shared").unwrap();
        for _ in 0..5 {
            publisher.send(CmdVel::new(0.5, 0.25)).unwrap();
        }
        let (reading, bytes) =
            watched.read_counts_and_bytes(Duration::ZERO, &mut LivenessCache::default());
        let topic = Inspector::open_in(&namespace, "shared").unwrap();
        let counters = watched.meter.counters();
        let row = Topic::new("shared".to_owned(), &topic, counters, (&reading, bytes));
        let per_message = row.bytes_per_second.unwrap() / row.rate_hz();
        assert!((per_message - 16.0).abs() < 1e-6, "{per_message}");
    }
}
