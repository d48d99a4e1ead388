//! The names and settings of a scheduler's topics.

use std::sync::Arc;

use horus_shm::{Namespace, OpenError, TopicName, remove_topic, topic_names};

use crate::message::{EmergencyStop, NodeCommand, NodeEvent, NodeMetrics, SchedulerStatus};
use crate::message::{Header, SchedulerStatusHeader};
use crate::topic::error::TopicError;
use crate::topic::{Payload, Qos, Topic, TopicBuilder};

const ROOT: &str = "horus/schedulers/";
pub(crate) const STATUS: &str = "/status";
pub(crate) const EVENTS: &str = "/events";
pub(crate) const COMMANDS: &str = "/commands";

/// The topic on which every scheduler of a namespace receives emergency stops.
pub const EMERGENCY_STOP_TOPIC: &str = "emergency_stop";

/// The longest name of a scheduler, in bytes: a status has room for that.
const NAME_BYTES_MAX: usize = 64;

/// The lanes of a black box: the most that a topic can have.
pub(crate) const LANES: usize = 64;
/// The slots of a lane. A late reader cannot reach one slot in eight, because the publisher may
/// overwrite it: 224 events are left, which is 64 for each of three threads.
const LANE_EVENTS: u64 = 256;
const LANE_HISTORY: u32 = 224;
/// The most events that a reader of a whole black box takes, even if events come as fast as it
/// reads.
pub(crate) const BOX_EVENTS_MAX: usize = LANES * LANE_EVENTS as usize;

/// The topics of a scheduler, by its name in a namespace.
#[derive(Debug, Clone)]
pub(crate) struct SchedulerTopics {
    namespace: Arc<Namespace>,
    name: String,
}

impl SchedulerTopics {
    /// Makes a valid scheduler name of any text: ASCII letters, digits, `-` and `_` stay, any other
    /// character becomes `_`; 64 characters at most, and `scheduler` if there is none.
    pub(crate) fn new(namespace: &Arc<Namespace>, wanted: &str) -> Self {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let safe = wanted.chars().map(|c| if is_safe(c) { c } else { '_' });
        let mut name: String = safe.take(NAME_BYTES_MAX).collect();
        if name.is_empty() {
            name.push_str("scheduler");
        }
        Self { namespace: Arc::clone(namespace), name }
    }

    /// Returns the topics of the same name, from `number` 2 on with the number appended: `arm-2`.
    pub(crate) fn numbered(&self, number: u32) -> Self {
        let mut numbered = self.clone();
        if number > 1 {
            let suffix = format!("-{number}");
            // WHY: the name is ASCII, so that a character begins at any byte.
            numbered.name.truncate(NAME_BYTES_MAX - suffix.len());
            numbered.name.push_str(&suffix);
        }
        numbered
    }

    /// Returns the topics of all schedulers that live or have left topics, sorted by name.
    pub(crate) fn all(namespace: &Arc<Namespace>) -> Result<Vec<Self>, OpenError> {
        let name_of = |topic: &TopicName| {
            let name = topic.as_str().strip_prefix(ROOT)?.strip_suffix(STATUS)?;
            let place = Self::new(namespace, name);
            (place.name == name).then_some(place)
        };
        let mut places: Vec<_> = topic_names(namespace)?.iter().filter_map(name_of).collect();
        places.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(places)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Returns the name of one of its topics, such as [`STATUS`].
    pub(crate) fn topic(&self, part: &str) -> String {
        format!("{ROOT}{}{part}", self.name)
    }

    fn builder<T: Payload>(&self, part: &str) -> TopicBuilder<T> {
        Topic::builder(&self.topic(part)).namespace(&self.namespace)
    }

    /// Returns the topic of the last status, with room for `nodes` nodes if it is created. Its
    /// publisher has the name.
    pub(crate) fn status(&self, nodes: usize) -> TopicBuilder<SchedulerStatus> {
        // WHY in powers of two: a scheduler that restarts with one node more can use the same
        // topic.
        let nodes = nodes.next_power_of_two() * size_of::<NodeMetrics>();
        let bytes = (size_of::<SchedulerStatusHeader>() + nodes) as u64;
        // WHY 2: the last slot may be one that the publisher skipped, because a reader held it.
        let qos = Qos::latched().history(2).publishers_max(1);
        let bytes = bytes.max(SchedulerStatusHeader::MAX_MESSAGE_BYTES);
        self.builder(STATUS).qos(qos).max_message_bytes(bytes)
    }

    /// Returns the topic of events. It stays when all processes are gone.
    pub(crate) fn events(&self) -> TopicBuilder<NodeEvent> {
        let qos = Qos::sensor_data().capacity(LANE_EVENTS).history(LANE_HISTORY);
        self.builder(EVENTS).qos(qos.persist_after_exit(true).publishers_max(LANES as u32))
    }

    /// Returns the topic of commands. A command is lost while no scheduler receives it.
    pub(crate) fn commands(&self) -> TopicBuilder<NodeCommand> {
        let qos = Qos::command().capacity(64).publishers_max(LANES as u32);
        self.builder(COMMANDS).qos(qos)
    }

    /// Opens an endpoint of one of these topics. Replaces a topic of another kind, as of another
    /// version of this library, unless a process has it open. `None` if another process has the
    /// topic.
    pub(crate) fn open<E>(
        &self,
        part: &str,
        make: impl Fn() -> Result<E, TopicError>,
    ) -> Result<Option<E>, TopicError> {
        let open = || match make() {
            Ok(endpoint) => Ok(Found::Endpoint(endpoint)),
            Err(error) if is_of_another_kind(&error) => Ok(Found::Other),
            Err(error) => match error.as_open_error() {
                Some(OpenError::TooManyPublishers { .. }) => Ok(Found::Taken),
                _ => Err(error),
            },
        };
        let mut found = open()?;
        if matches!(found, Found::Other) && self.remove(part)? {
            found = open()?;
        }
        Ok(match found {
            Found::Endpoint(endpoint) => Some(endpoint),
            Found::Taken | Found::Other => None,
        })
    }

    /// Removes one of these topics, unless a process has it open; returns true if it is gone.
    pub(crate) fn remove(&self, part: &str) -> Result<bool, TopicError> {
        let name = self.topic(part);
        let removed = TopicName::new(&name).map_err(OpenError::from);
        let removed = removed.and_then(|name| remove_topic(&self.namespace, &name));
        removed.map_err(|error| TopicError::new(&name, error))
    }
}

/// The result of opening an endpoint by the topic's name.
enum Found<E> {
    Endpoint(E),
    Taken,
    Other,
}

fn is_of_another_kind(error: &TopicError) -> bool {
    matches!(error, TopicError::SchemaMismatch { .. })
        || matches!(error.as_open_error(), Some(OpenError::QosMismatch { .. }))
}

/// Opens an endpoint of the topic of emergency stops. If this creates the topic, the last message
/// stays for later subscribers, also when all processes are gone.
pub(crate) fn emergency_stop<E>(
    namespace: &Arc<Namespace>,
    make: impl Fn(TopicBuilder<EmergencyStop>) -> Result<E, TopicError>,
) -> Result<E, TopicError> {
    let topic = || Topic::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    match make(topic().qos(Qos::latched())) {
        Err(error) if is_of_another_kind(&error) => make(topic()),
        result => result,
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
            assert_eq!(place.name(), name, "{wanted:?}");
            for place in [place.clone(), place.numbered(2), place.numbered(1000)] {
                assert!(TopicName::new(&place.topic(STATUS)).is_ok(), "{place:?}");
                assert_eq!(SchedulerTopics::new(&namespace, place.name()).name(), place.name());
            }
        }
        assert_eq!(SchedulerTopics::new(&namespace, "arm").numbered(1).name(), "arm");
        assert_eq!(SchedulerTopics::new(&namespace, "arm").numbered(3).name(), "arm-3");
        let numbered = SchedulerTopics::new(&namespace, &long).numbered(12);
        assert_eq!(numbered.name(), format!("{}-12", &long[..61]));
    }
}
