//! The names of a scheduler's topics, and the settings with which these topics are opened.

use std::sync::Arc;

use horus_shm::{Namespace, OpenError, TopicName, remove_topic, topic_names};

use crate::introspect::Inspector;
use crate::message::{EmergencyStop, NodeCommand, NodeEvent, NodeMetrics, SchedulerStatus};
use crate::message::{Header, SchedulerStatusHeader};
use crate::topic::error::TopicError;
use crate::topic::{Payload, Qos, Topic, TopicBuilder};
use crate::value::Value;

const SCHEDULER_TOPIC_PREFIX: &str = "horus/schedulers/";
/// The latch key of a scheduler's topics, by which a publisher finds the messages that an earlier
/// publisher left. It is the same in all programs, so that a scheduler finds the messages of the
/// previous scheduler of its name.
const SCHEDULER_LATCH_KEY: &str = "scheduler";
pub(crate) const STATUS_SUFFIX: &str = "/status";
pub(crate) const EVENTS_SUFFIX: &str = "/events";
pub(crate) const COMMANDS_SUFFIX: &str = "/commands";
pub(crate) const GRAPH_SUFFIX: &str = "/graph";

/// The topic on which every scheduler of a namespace receives emergency stops.
pub const EMERGENCY_STOP_TOPIC: &str = "emergency_stop";

/// The latch key of the emergency stops that the command `horus estop` sends. Each scheduler
/// reserves the memory for one publisher with this key, so that it can be opened without free
/// memory.
pub const EMERGENCY_STOP_TOOL_KEY: &str = "horus";

/// The longest name of a scheduler, in bytes. It is the size of the name's field in the status.
const SCHEDULER_NAME_BYTES_MAX: usize = 64;

/// Number of lanes of a topic, each of which has room for one publisher.
const LANES_PER_TOPIC: usize = 64;
/// Number of lanes of a black box, the topic with a scheduler's events. It is the largest number
/// that a topic can have.
pub(crate) const BLACK_BOX_LANES: usize = LANES_PER_TOPIC;
/// Number of slots in a lane of the black box. The threads of the lane share them, so one that
/// records many events overwrites those of the others. Up to 192 threads, at most three threads
/// share a lane.
const BLACK_BOX_LANE_SLOTS: u64 = 256;
/// Number of the last events of a lane that a reader gets if it opens the black box later. An
/// eighth of the lane's slots is kept free for the publisher.
const BLACK_BOX_HISTORY_EVENTS: u32 = 224;
/// The largest number of events that [`black_box`](crate::scheduler::black_box) returns. WHY a
/// limit: otherwise reading would not end while events arrive as fast as they are read.
pub(crate) const BLACK_BOX_EVENTS_MAX: usize = BLACK_BOX_LANES * BLACK_BOX_LANE_SLOTS as usize;

/// The names of the topics of one scheduler in one namespace. Its methods open these topics.
#[derive(Debug, Clone)]
pub(crate) struct SchedulerTopics {
    namespace: Arc<Namespace>,
    name: String,
}

/// Returns the name of the status topic of the scheduler called `wanted_name`, as
/// [`SchedulerTopics::new`] makes it.
pub(crate) fn status_topic_name(wanted_name: &str) -> String {
    topic_name(&make_valid_scheduler_name(wanted_name), STATUS_SUFFIX)
}

fn topic_name(scheduler: &str, suffix: &str) -> String {
    format!("{SCHEDULER_TOPIC_PREFIX}{scheduler}{suffix}")
}

/// Makes the name of a scheduler valid, as [`SchedulerTopics::new`] describes.
fn make_valid_scheduler_name(wanted_name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let safe = wanted_name
        .chars()
        .map(|c| if is_safe(c) { c } else { '_' });
    let mut name: String = safe.take(SCHEDULER_NAME_BYTES_MAX).collect();
    if name.is_empty() {
        name.push_str("scheduler");
    }
    name
}

impl SchedulerTopics {
    /// Returns the topics of the scheduler called `wanted`. The name is made valid: any character
    /// except ASCII letters, digits, `-` and `_` becomes `_`, only the first 64 characters are
    /// used, and an empty name becomes `scheduler`.
    pub(crate) fn new(namespace: &Arc<Namespace>, wanted: &str) -> Self {
        Self {
            namespace: Arc::clone(namespace),
            name: make_valid_scheduler_name(wanted),
        }
    }

    /// Returns the topics of a scheduler that has the same name with `number` appended, such as
    /// `arm-2`. If `number` is 1, nothing is appended.
    pub(crate) fn with_name_number(&self, number: u32) -> Self {
        let mut numbered = self.clone();
        if number > 1 {
            let suffix = format!("-{number}");
            // Cannot panic: the name is ASCII, so a character begins at every byte.
            numbered
                .name
                .truncate(SCHEDULER_NAME_BYTES_MAX - suffix.len());
            numbered.name.push_str(&suffix);
        }
        numbered
    }

    /// Returns the topics of all schedulers of a namespace, sorted by the names of the schedulers.
    /// Includes live schedulers, and those that have left topics behind.
    pub(crate) fn list(namespace: &Arc<Namespace>) -> Result<Vec<Self>, OpenError> {
        let name_of = |topic: &TopicName| {
            let name = topic
                .as_str()
                .strip_prefix(SCHEDULER_TOPIC_PREFIX)?
                .strip_suffix(STATUS_SUFFIX)?;
            let topics = Self::new(namespace, name);
            (topics.name == name).then_some(topics)
        };
        let mut places: Vec<_> = topic_names(namespace)?.iter().filter_map(name_of).collect();
        places.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(places)
    }

    pub(crate) fn scheduler_name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Returns the full name of one of the scheduler's topics. `suffix` selects the topic: it is
    /// [`STATUS_SUFFIX`], [`EVENTS_SUFFIX`], [`COMMANDS_SUFFIX`] or [`GRAPH_SUFFIX`].
    pub(crate) fn topic_name(&self, suffix: &str) -> String {
        topic_name(&self.name, suffix)
    }

    fn topic_builder<T: Payload>(&self, suffix: &str, qos: Qos) -> TopicBuilder<T> {
        let builder = Topic::builder(&self.topic_name(suffix)).namespace(&self.namespace);
        // WHY strict: a scheduler owns these topics, and replaces those of another version.
        builder.qos(qos.strict(true))
    }

    /// Returns the builder of the status topic, which keeps the last status. Its messages have room
    /// for `node_count` nodes. The process that publishes on it owns the scheduler's name.
    pub(crate) fn status(&self, node_count: usize) -> TopicBuilder<SchedulerStatus> {
        let nodes_bytes = node_count * size_of::<NodeMetrics>();
        let bytes = (size_of::<SchedulerStatusHeader>() + nodes_bytes) as u64;
        // WHY a history of 2: the last slot may be one that the publisher has skipped because a
        // reader had pinned it.
        let qos = Qos::latched()
            .latch_key(SCHEDULER_LATCH_KEY)
            .history(2)
            .publishers_max(1);
        let bytes = bytes.max(SchedulerStatusHeader::MAX_MESSAGE_BYTES);
        self.topic_builder(STATUS_SUFFIX, qos)
            .max_message_bytes(bytes)
    }

    /// Returns the builder of the events topic, which is also called the black box. It keeps the
    /// last events even after all processes have ended.
    pub(crate) fn events(&self) -> TopicBuilder<NodeEvent> {
        let qos = Qos::sensor_data()
            .capacity(BLACK_BOX_LANE_SLOTS)
            .history(BLACK_BOX_HISTORY_EVENTS);
        let qos = qos.publishers_max(BLACK_BOX_LANES as u32);
        let qos = qos.persist_after_exit(true).continue_history();
        self.topic_builder(EVENTS_SUFFIX, qos.latch_key(SCHEDULER_LATCH_KEY))
    }

    /// Returns the builder of the commands topic. Commands are lost if no scheduler receives them.
    pub(crate) fn commands(&self) -> TopicBuilder<NodeCommand> {
        let qos = Qos::command()
            .capacity(64)
            .publishers_max(BLACK_BOX_LANES as u32);
        self.topic_builder(COMMANDS_SUFFIX, qos)
    }

    /// Returns the builder of the graph topic, which keeps the graph of the last run. A message may
    /// have up to `message_bytes_max` bytes.
    pub(crate) fn graph(&self, message_bytes_max: u64) -> TopicBuilder<Value> {
        let qos = Qos::latched()
            .latch_key(SCHEDULER_LATCH_KEY)
            .publishers_max(1);
        self.topic_builder(GRAPH_SUFFIX, qos)
            .max_message_bytes(message_bytes_max)
    }

    /// Opens an endpoint of a topic of the scheduler with `make`. `suffix` is the end of the
    /// topic's name, as for [`Self::topic_name`]. If the existing topic is incompatible, for
    /// instance because it comes from another version of this library, it is replaced, unless a
    /// process has it open. Returns `None` if another process uses the topic.
    pub(crate) fn open_endpoint<E>(
        &self,
        suffix: &str,
        make: impl Fn() -> Result<E, TopicError>,
    ) -> Result<Option<E>, TopicError> {
        let open = || match make() {
            Ok(endpoint) => Ok(OpenOutcome::Endpoint(endpoint)),
            Err(TopicError::SchemaMismatch { .. }) => Ok(OpenOutcome::Other),
            Err(error) => match error.as_open_error() {
                Some(OpenError::TooManyPublishers { .. }) => Ok(OpenOutcome::Taken),
                _ => Err(error),
            },
        };
        let mut found = open()?;
        if matches!(found, OpenOutcome::Other) && self.remove_topic(suffix)? {
            found = open()?;
        }
        Ok(match found {
            OpenOutcome::Endpoint(endpoint) => Some(endpoint),
            OpenOutcome::Taken | OpenOutcome::Other => None,
        })
    }

    /// Removes the scheduler's topic whose name ends with `suffix`, such as [`STATUS_SUFFIX`],
    /// unless a process has it open. Returns true if the topic no longer exists.
    pub(crate) fn remove_topic(&self, suffix: &str) -> Result<bool, TopicError> {
        let name = self.topic_name(suffix);
        let removed = TopicName::new(&name).map_err(OpenError::from);
        let removed = removed.and_then(|name| remove_topic(&self.namespace, &name));
        removed.map_err(|error| TopicError::new(&name, error))
    }
}

/// The outcome of an attempt to open an endpoint. `Taken` means that no lane of the topic is free
/// for another publisher, and `Other` that the topic has messages of another type.
enum OpenOutcome<E> {
    Endpoint(E),
    Taken,
    Other,
}

/// Opens an endpoint of the emergency-stop topic with `make`. The topic keeps a publisher's last
/// message for later subscribers, even after all processes have ended.
pub(crate) fn open_emergency_stop_endpoint<E>(
    namespace: &Arc<Namespace>,
    make: impl Fn(TopicBuilder<EmergencyStop>) -> Result<E, TopicError>,
) -> Result<E, TopicError> {
    let topic = Topic::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    // WHY strict: a stop of another type that nobody reads must not look like one.
    make(topic.qos(Qos::latched().strict(true)))
}

/// Returns the builder with which the command `horus estop` opens its publisher of the
/// emergency-stop topic, too. If its lane was reserved, the command can send while there is no free
/// memory. Returns `None` if all lanes of the topic have been used: then they all have memory, and
/// a publisher might take the place of a kept message.
pub(crate) fn emergency_stop_tool_builder(
    namespace: &Arc<Namespace>,
) -> Result<Option<TopicBuilder<EmergencyStop>>, TopicError> {
    let used = Inspector::open_in(namespace, EMERGENCY_STOP_TOPIC)?.publishers();
    if used.len() >= LANES_PER_TOPIC {
        return Ok(None);
    }
    let qos = Qos::latched()
        .strict(true)
        .latch_key(EMERGENCY_STOP_TOOL_KEY);
    let topic = Topic::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    Ok(Some(topic.qos(qos)))
}

/// Returns `None` instead of the error that all lanes of the topic have publishers.
pub(crate) fn none_if_all_lanes_taken<E>(
    opened: Result<E, TopicError>,
) -> Result<Option<E>, TopicError> {
    match opened {
        Ok(endpoint) => Ok(Some(endpoint)),
        Err(error) => match error.as_open_error() {
            Some(OpenError::TooManyPublishers { .. }) => Ok(None),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::{NamespaceConfig, NamespaceName};

    #[test]
    fn any_text_becomes_a_name_that_a_topic_can_have() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        let long = "x".repeat(100);
        let table = [
            ("arm", "arm"),
            ("Arm_2-b", "Arm_2-b"),
            ("left arm/v1.2", "left_arm_v1_2"),
            ("größe", "gr__e"),
            ("", "scheduler"),
            ("../..", "_____"),
            (&long, &long[..64]),
        ];
        for (wanted, name) in table {
            let place = SchedulerTopics::new(&namespace, wanted);
            assert_eq!(place.scheduler_name(), name, "{wanted:?}");
            for place in [
                place.clone(),
                place.with_name_number(2),
                place.with_name_number(1000),
            ] {
                assert!(
                    TopicName::new(&place.topic_name(STATUS_SUFFIX)).is_ok(),
                    "{place:?}"
                );
                assert_eq!(
                    SchedulerTopics::new(&namespace, place.scheduler_name()).scheduler_name(),
                    place.scheduler_name()
                );
            }
        }
        assert_eq!(
            SchedulerTopics::new(&namespace, "arm")
                .with_name_number(1)
                .scheduler_name(),
            "arm"
        );
        assert_eq!(
            SchedulerTopics::new(&namespace, "arm")
                .with_name_number(3)
                .scheduler_name(),
            "arm-3"
        );
        let numbered = SchedulerTopics::new(&namespace, &long).with_name_number(12);
        assert_eq!(numbered.scheduler_name(), format!("{}-12", &long[..61]));
    }
}
