//! The topics of a running scheduler, through which other processes observe and command it.
//!
//! They are ordinary topics in the scheduler's namespace. A scheduler called `arm` has these
//! topics:
//!
//! | topic | message | what is kept |
//! |---|---|---|
//! | `horus/schedulers/arm/status` | `SchedulerStatus`, all nodes at one moment | the last |
//! | `horus/schedulers/arm/events` | `NodeEvent`, the black box | the last 224 of each lane |
//! | `horus/schedulers/arm/graph` | `Value`, see `Graph::to_value`: sent once | the last |
//! | `horus/schedulers/arm/commands` | `NodeCommand` | nothing: lost while no scheduler runs |
//! | `emergency_stop` | `EmergencyStop`, for all schedulers | the last |
//!
//! The process that publishes the status owns the scheduler's name; the kernel knows whether this
//! process is alive. After it has died, the next scheduler of the same name appends its events to
//! the black box. A lane that is full overwrites its oldest events.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use horus_shm::clock::Clock;
use horus_shm::{Namespace, OpenError};

use crate::message::{
    EmergencyStop, NODE_METRICS_BUCKETS, NodeCommand, NodeEvent, NodeMetrics, SchedulerStatus,
    SchedulerStatusHeader, Text, ViewError,
};
use crate::scheduler::api::metrics::HISTOGRAM_BUCKETS;
use crate::scheduler::api::subscription::SubscriptionEvent;
use crate::scheduler::graph::Graph;
use crate::scheduler::remote::control_topic::ControlTopic;
use crate::scheduler::remote::recorder::{BlackBoxLane, EventRecorder};
use crate::scheduler::remote::scheduler_topics::{
    self, BLACK_BOX_EVENTS_MAX, BLACK_BOX_LANES, COMMANDS_SUFFIX, EMERGENCY_STOP_TOPIC,
    EVENTS_SUFFIX, GRAPH_SUFFIX, STATUS_SUFFIX, SchedulerTopics, emergency_stop_tool_builder,
    none_if_all_lanes_taken,
};
use crate::topic::error::{SendError, TopicError, WriteError};
use crate::topic::{Publisher, Subscriber, TopicBuilder, WaitSet, published_ns};
use crate::value::Value;

const _: () = assert!(HISTOGRAM_BUCKETS == NODE_METRICS_BUCKETS);

/// The largest number that can be appended to a scheduler's name that is already taken. It limits
/// the number of schedulers of the same name that are alive at the same time.
const SCHEDULER_NAME_NUMBER_MAX: u32 = 1000;

/// The endpoints of a running scheduler's topics, through which other processes observe and command
/// it.
#[derive(Debug)]
pub(crate) struct SchedulerEndpoints {
    topics: SchedulerTopics,
    process_id: u32,
    begin_ns: u64,
    nodes_max: usize,
    status: Publisher<SchedulerStatus>,
    /// The publisher of the graph. It has already sent its only message, and is kept open so that
    /// the topic stays in use. `None` if another process uses the topic.
    _graph: Option<Publisher<Value>>,
    lanes: Vec<BlackBoxLane>,
    events: Subscriber<NodeEvent>,
    /// The number of events that were lost when [`Self::take_lost_event_count`] was last called.
    lost_events: u64,
    commands: ControlTopic<NodeCommand>,
    emergency_stop: ControlTopic<EmergencyStop>,
}

impl SchedulerEndpoints {
    /// Opens the topics of the scheduler, which reserves its name. If another scheduler has the
    /// name, tries the same name with `-2`, `-3`, … appended. [`SchedulerTopics::new`] describes
    /// the allowed names.
    ///
    /// Publishes `graph`. Messages of the status topic get room for the nodes of the graph. The
    /// black box gets a lane of 64 KiB for each of `threads` threads, but at most 64 lanes. Blocks
    /// for some milliseconds at most.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`], for instance if memory, permission or a free name is lacking.
    pub(crate) fn open(
        namespace: &Arc<Namespace>,
        wanted_name: &str,
        graph: &Graph,
        threads: usize,
    ) -> Result<Self, TopicError> {
        let wanted = SchedulerTopics::new(namespace, wanted_name);
        for number in 1..=SCHEDULER_NAME_NUMBER_MAX {
            if let Some(endpoints) =
                Self::try_open(&wanted.with_name_number(number), graph, threads)?
            {
                return Ok(endpoints);
            }
        }
        let error = OpenError::TooManyPublishers {
            limit: SCHEDULER_NAME_NUMBER_MAX,
        };
        Err(TopicError::new(&wanted.topic_name(STATUS_SUFFIX), error))
    }

    /// Opens the topics of the scheduler for one possible name. Returns `None` if another scheduler
    /// has that name.
    fn try_open(
        topics: &SchedulerTopics,
        graph: &Graph,
        threads: usize,
    ) -> Result<Option<Self>, TopicError> {
        let nodes = graph.nodes().len();
        // WHY the commands first: other processes send commands once they see the status, and none
        // may be lost.
        let commands = topics.open_endpoint(COMMANDS_SUFFIX, || {
            let topics = topics.clone();
            let name = topics.topic_name(COMMANDS_SUFFIX);
            ControlTopic::open(&name, move || topics.commands().subscriber())
        })?;
        let status = topics.open_endpoint(STATUS_SUFFIX, || topics.status(nodes).publisher())?;
        let (Some(commands), Some(status)) = (commands, status) else {
            return Ok(None);
        };
        let Some(first) = topics.open_endpoint(EVENTS_SUFFIX, || topics.events().publisher())?
        else {
            return Ok(None);
        };
        let lanes = open_black_box_lanes(first, threads)?;
        let graph = publish_graph(topics, graph)?;
        let mut events = topics.events().subscriber()?;
        // WHY skipped: this scheduler has sent nothing yet, so these are events of earlier
        // schedulers of the name.
        let _earlier = events.try_iter().take(BLACK_BOX_EVENTS_MAX).count();
        Ok(Some(Self {
            topics: topics.clone(),
            process_id: std::process::id(),
            begin_ns: Clock::kernel().now_ns(),
            nodes_max: nodes,
            status,
            _graph: graph,
            lanes,
            lost_events: events.lost(),
            events,
            commands,
            emergency_stop: open_emergency_stop(topics.namespace())?,
        }))
    }

    /// Returns the scheduler's name. It has a number appended if another scheduler already had the
    /// requested name.
    pub(crate) fn name(&self) -> &str {
        self.topics.scheduler_name()
    }

    /// Returns the recorder with which thread number `thread_index` writes events. Each thread
    /// writes to its own lane, unless there are more threads than lanes.
    pub(crate) fn recorder(&self, thread_index: usize) -> EventRecorder {
        EventRecorder::new(&self.lanes[thread_index % self.lanes.len()])
    }

    /// Publishes the status. `state` is one of the `STATE_` constants of `SchedulerStatusHeader`.
    /// If there is no room for all nodes, the last ones are left out. Never blocks, and allocates
    /// no memory.
    ///
    /// # Errors
    ///
    /// Returns [`SendError::Forked`], [`SendError::RegionLost`], or [`SendError::Full`] while
    /// subscribers read all slots of the topic.
    pub(crate) fn publish_status(
        &mut self,
        state: u8,
        monotonic_ns: u64,
        nodes: impl Iterator<Item = NodeMetrics>,
    ) -> Result<(), SendError<()>> {
        let header = SchedulerStatusHeader {
            monotonic_ns,
            uptime_ns: monotonic_ns.saturating_sub(self.begin_ns),
            process_id: self.process_id,
            state,
            ..SchedulerStatusHeader::new(self.topics.scheduler_name(), self.nodes_max as u32)
        };
        let mut loan = self.status.loan(header)?;
        let topic = loan.topic_label();
        let refused = |error: ViewError| {
            WriteError::Unencodable {
                reason: error.to_string(),
            }
            .into_send_error(topic, 0)
        };
        let mut count = 0;
        for (place, node) in loan.data_as_mut().map_err(refused)?.iter_mut().zip(nodes) {
            *place = node;
            count += 1;
        }
        loan.header_mut().count = count;
        loan.publish()
    }

    /// Returns the scheduler's subscriber to its own black box, which receives the events of this
    /// run.
    pub(crate) const fn events(&mut self) -> &mut Subscriber<NodeEvent> {
        &mut self.events
    }

    /// Returns the number of events that were overwritten before [`Self::events`] received them,
    /// since the last call.
    pub(crate) fn take_lost_event_count(&mut self) -> u64 {
        let lost = self.events.lost();
        lost.saturating_sub(std::mem::replace(&mut self.lost_events, lost))
    }

    /// Returns the topic from which commands for this scheduler are received from other processes.
    pub(crate) const fn commands(&mut self) -> &mut ControlTopic<NodeCommand> {
        &mut self.commands
    }

    /// Returns the topic from which emergency stops are received. The last message that was sent
    /// before the scheduler started is received, too.
    pub(crate) const fn emergency_stop(&mut self) -> &mut ControlTopic<EmergencyStop> {
        &mut self.emergency_stop
    }

    /// Returns the topics whose messages wake the supervisor: commands and emergency stops. WHY not
    /// the topic of events: events can wait until the next check.
    pub(crate) fn supervisor_wait_set(&self) -> WaitSet {
        let mut wake = WaitSet::new();
        wake.set_spin(Duration::ZERO);
        self.commands.add_to_wait_set(&mut wake);
        self.emergency_stop.add_to_wait_set(&mut wake);
        wake
    }

    /// Returns true if a topic of commands or emergency stops has to be opened again.
    pub(crate) fn has_lost_topics(&self) -> bool {
        self.commands.is_lost() || self.emergency_stop.is_lost()
    }

    /// Waits until one of the topics of `wake` has a message, but at most for `timeout`. `wake` is
    /// the result of [`Self::supervisor_wait_set`]. If the messages of a publisher cannot be
    /// received, sleeps for the whole `timeout`. WHY: these messages would end each wait at once.
    pub(crate) fn wait_for_messages(&self, wake: &mut WaitSet, timeout: Duration) {
        if self.commands.has_unmapped_publisher() || self.emergency_stop.has_unmapped_publisher() {
            thread::sleep(timeout);
        } else {
            // WHY a failed wait is ignored: it fails in a forked child only.
            let _ = wake.wait(timeout);
        }
    }

    /// Opens the lost topics of commands and emergency stops again. Returns an event for each.
    /// The result of [`Self::supervisor_wait_set`] must have been dropped.
    pub(crate) fn reopen_lost_topics(&mut self) -> impl Iterator<Item = SubscriptionEvent> + use<> {
        let commands = self.commands.is_lost().then(|| self.commands.reopen());
        let stop = self.emergency_stop.is_lost();
        let stop = stop.then(|| self.emergency_stop.reopen());
        [commands, stop].into_iter().flatten().flatten()
    }

    /// Prepares each new file of the topics of commands and emergency stops: reserves the memory
    /// that a sender needs, so that it can send while there is no free memory. Makes `last_stop`,
    /// the message about an emergency stop that was applied last, known in the new file of its
    /// topic, if it engages the stop or the file says that the stop is engaged, and unless the file
    /// has a later message. Does the same again at the next call if it fails. Returns the text of
    /// an event for the first failure in a file. Takes some system calls for a new file.
    ///
    /// WHY `last_stop`: the file that kept the stop is gone, perhaps with the process that sent it.
    /// Other schedulers would start without it. And a former file that has got its name back may
    /// keep a stop that was released in the other file: tools would show it, and it would hold
    /// other schedulers.
    pub(crate) fn prepare_new_topic_files(
        &mut self,
        last_stop: Option<EmergencyStop>,
    ) -> impl Iterator<Item = Text<128>> + use<> {
        let Self {
            topics,
            commands,
            emergency_stop,
            ..
        } = self;
        let commands = commands.prepare_file(|| reserve_command_lane(topics));
        let stop = emergency_stop
            .prepare_file(|| prepare_emergency_stop_file(topics.namespace(), last_stop));
        let texts = [commands, stop].into_iter().flatten();
        texts.map(|text| Text::truncated(&text))
    }

    /// Returns an event for each topic of commands or emergency stops whose state has changed since
    /// the last call.
    pub(crate) fn control_topic_changes(
        &mut self,
    ) -> impl Iterator<Item = SubscriptionEvent> + use<> {
        let events = [
            self.commands.next_change(),
            self.emergency_stop.next_change(),
        ];
        events.into_iter().flatten()
    }
}

/// Opens the topic of emergency stops.
fn open_emergency_stop(
    namespace: &Arc<Namespace>,
) -> Result<ControlTopic<EmergencyStop>, TopicError> {
    let namespace = Arc::clone(namespace);
    ControlTopic::open(EMERGENCY_STOP_TOPIC, move || {
        let open = |topic: TopicBuilder<EmergencyStop>| topic.subscriber();
        scheduler_topics::open_emergency_stop_endpoint(&namespace, open)
    })
}

/// Reserves the memory for a command in the present file of the commands topic. Returns the text of
/// an event if it fails.
fn reserve_command_lane(topics: &SchedulerTopics) -> Result<(), String> {
    none_if_all_lanes_taken(topics.commands().reserve_lane())
        .map(|_| ())
        .map_err(|error| describe_failure("no memory is reserved for a command", &error))
}

/// Reserves the memory for the command `horus estop` in the present file of the emergency-stop
/// topic. Publishes `last_stop` there, the message that was applied last, if the file lacks it; see
/// [`SchedulerEndpoints::prepare_new_topic_files`]. Returns the text of an event if it fails.
fn prepare_emergency_stop_file(
    namespace: &Arc<Namespace>,
    last_stop: Option<EmergencyStop>,
) -> Result<(), String> {
    let not_kept = match last_stop {
        Some(last) if last.is_engaged() => "the emergency stop is not kept",
        _ => "the release of the emergency stop is not kept",
    };
    let not_reserved = match last_stop {
        Some(last) if last.is_engaged() => not_kept,
        _ => "no memory is reserved for a stop",
    };
    let topic = reserve_emergency_stop_lane(namespace)
        .map_err(|error| describe_failure(not_reserved, &error))?;
    let Some(last) = last_stop else {
        return Ok(());
    };
    let is_kept = keep_last_stop(namespace, topic, last)
        .map_err(|error| describe_failure(not_kept, &error))?;
    if is_kept {
        return Ok(());
    }
    Err(format!(
        "{not_kept}: all places of publishers have been used: remove the topic when it is not in \
         use"
    ))
}

/// Reserves the memory for the command `horus estop` in the present file of the emergency-stop
/// topic. Returns the builder of its publisher; `None` if all lanes of the topic have been used.
fn reserve_emergency_stop_lane(
    namespace: &Arc<Namespace>,
) -> Result<Option<TopicBuilder<EmergencyStop>>, TopicError> {
    let topic = emergency_stop_tool_builder(namespace)?;
    if let Some(topic) = &topic {
        none_if_all_lanes_taken(topic.clone().reserve_lane())?;
    }
    Ok(topic)
}

/// Publishes `last`, the message that was applied last, in the present file of the emergency-stop
/// topic if the file lacks it. `topic` is the result of [`reserve_emergency_stop_lane`]. Returns
/// false if the file still lacks it, because no lane is free.
fn keep_last_stop(
    namespace: &Arc<Namespace>,
    topic: Option<TopicBuilder<EmergencyStop>>,
    last: EmergencyStop,
) -> Result<bool, TopicError> {
    let open = |topic: TopicBuilder<EmergencyStop>| topic.observer();
    let mut observer = scheduler_topics::open_emergency_stop_endpoint(namespace, open)?;
    let sent_ns = |stop: &EmergencyStop| published_ns::<EmergencyStop>(bytemuck::bytes_of(stop));
    let lacks_last = |kept: Option<EmergencyStop>| match kept {
        None => last.is_engaged(),
        // WHY it may be earlier: the file may have been away and have got its name back.
        Some(kept) => {
            let is_earlier = kept != last && sent_ns(&kept) < sent_ns(&last);
            is_earlier && (last.is_engaged() || kept.is_engaged())
        }
    };
    let kept = observer.latest();
    if !lacks_last(kept) {
        return Ok(true);
    }
    let publisher = topic.map(|topic| none_if_all_lanes_taken(topic.publisher()));
    let Some(mut publisher) = publisher.transpose()?.flatten() else {
        return Ok(false);
    };
    // WHY again: a message may have come before the publisher was open.
    if lacks_last(observer.latest().or(kept)) {
        // WHY ignored: it fails only if this file is lost, too. Then there is a newer one.
        let _ = publisher.send(last);
    }
    Ok(true)
}

/// Returns the text of an event: `failed` says what failed, and `error` why. WHY without the names
/// of the topic and of its file: the reason would be cut off.
fn describe_failure(failed: &str, error: &TopicError) -> String {
    let Some(cause) = error.as_open_error() else {
        return format!("{failed}: the topic carries another message");
    };
    match cause {
        OpenError::NoSpace {
            available_files: Some(0),
            ..
        } => format!("{failed}: the file system has no inode left"),
        OpenError::NoSpace {
            needed_bytes,
            available_bytes,
            ..
        } => format!("{failed}: {needed_bytes} bytes needed, {available_bytes} available"),
        OpenError::Io { source, .. } => format!("{failed}: {source}"),
        OpenError::LaneNotMapped { cause, .. } => format!("{failed}: {cause}"),
        cause => format!("{failed}: {cause}"),
    }
}

/// Publishes the graph on the graph topic, which keeps it for later readers. Returns the publisher.
/// If another process uses that topic, returns `None` and does not publish the graph.
fn publish_graph(
    topics: &SchedulerTopics,
    graph: &Graph,
) -> Result<Option<Publisher<Value>>, TopicError> {
    let value = graph.to_value();
    // It cannot fail: a graph is not nested deeply.
    let bytes = value.encoded_bytes().unwrap_or_default() as u64;
    let mut publisher = topics.open_endpoint(GRAPH_SUFFIX, || topics.graph(bytes).publisher())?;
    if let Some(publisher) = &mut publisher {
        // WHY ignored: a scheduler that cannot show its graph runs all the same.
        let _ = publisher.send(&value);
    }
    Ok(publisher)
}

/// Opens publishers of the black box, each with its own lane, until there is one for each thread or
/// no lane is free. `first_publisher` is the publisher that already has a lane. Returns all
/// publishers.
fn open_black_box_lanes(
    first_publisher: Publisher<NodeEvent>,
    thread_count: usize,
) -> Result<Vec<BlackBoxLane>, TopicError> {
    let mut lanes = vec![first_publisher];
    while lanes.len() < thread_count.min(BLACK_BOX_LANES) {
        match lanes[0].try_clone() {
            Ok(lane) => lanes.push(lane),
            // WHY this is no error: threads of an earlier run in this process that hang may still
            // own lanes.
            Err(error) => match error.as_open_error() {
                Some(OpenError::TooManyPublishers { .. }) => break,
                _ => return Err(error),
            },
        }
    }
    // WHY: the first event must not cost a real-time thread a page fault.
    lanes.iter().for_each(Publisher::prefault);
    Ok(lanes
        .into_iter()
        .map(|lane| Arc::new(Mutex::new(lane)))
        .collect())
}
