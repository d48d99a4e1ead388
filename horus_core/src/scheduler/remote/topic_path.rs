//! Where the topics of a scheduler are, and of what kind.

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

/// The topic on which every scheduler of a namespace hears of emergency stops.
pub const EMERGENCY_STOP_TOPIC: &str = "emergency_stop";

/// Longest name of a scheduler, in bytes: what a status has room for.
const NAME_BYTES_MAX: usize = 64;

/// Lanes of a black box: all that a topic can have.
pub(crate) const LANES: usize = 64;
/// Events that a lane keeps. Of the slots one in eight is out of a late reader's reach, because the
/// publisher may come to it: 224 are left, which is 64 for each of three threads.
const LANE_EVENTS: u64 = 256;
const LANE_HISTORY: u32 = 224;
/// What somebody who reads a whole black box stops at, if events come as fast as they are read.
pub(crate) const BOX_EVENTS_MAX: usize = LANES * LANE_EVENTS as usize;

/// The name of a scheduler in a namespace.
#[derive(Debug, Clone)]
pub(crate) struct SchedulerTopics {
    namespace: Arc<Namespace>,
    name: String,
}

impl SchedulerTopics {
    /// What anything becomes as the name of a scheduler: letters, digits, `-` and `_` of ASCII
    /// stay, any other character becomes `_`; 64 of them at most, and `scheduler` if there is none.
    pub(crate) fn new(namespace: &Arc<Namespace>, wanted: &str) -> Self {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let safe = wanted.chars().map(|c| if is_safe(c) { c } else { '_' });
        let mut name: String = safe.take(NAME_BYTES_MAX).collect();
        if name.is_empty() {
            name.push_str("scheduler");
        }
        Self { namespace: Arc::clone(namespace), name }
    }

    /// The same, or from 2 on with this number behind it: `arm-2`.
    pub(crate) fn numbered(&self, number: u32) -> Self {
        let mut numbered = self.clone();
        if number > 1 {
            let suffix = format!("-{number}");
            // WHY: of ASCII, so that any byte is where a character begins.
            numbered.name.truncate(NAME_BYTES_MAX - suffix.len());
            numbered.name.push_str(&suffix);
        }
        numbered
    }

    /// Those of all schedulers that there are or were, sorted by name.
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

    /// The name of one of its topics, as [`STATUS`].
    pub(crate) fn topic(&self, part: &str) -> String {
        format!("{ROOT}{}{part}", self.name)
    }

    fn builder<T: Payload>(&self, part: &str) -> TopicBuilder<T> {
        Topic::builder(&self.topic(part)).namespace(&self.namespace)
    }

    /// The topic of the last status, with room for so many nodes if it is made. Whoever publishes
    /// there has the name.
    pub(crate) fn status(&self, nodes: usize) -> TopicBuilder<SchedulerStatus> {
        // WHY in steps: a scheduler that begins anew with a node more uses the topic as it is.
        let nodes = nodes.next_power_of_two() * size_of::<NodeMetrics>();
        let bytes = (size_of::<SchedulerStatusHeader>() + nodes) as u64;
        // WHY 2: the last position may be one that was stepped over, because somebody held it.
        let qos = Qos::latched().history(2).publishers_max(1);
        let bytes = bytes.max(SchedulerStatusHeader::MAX_MESSAGE_BYTES);
        self.builder(STATUS).qos(qos).max_message_bytes(bytes)
    }

    /// The topic of events that outlives everybody.
    pub(crate) fn events(&self) -> TopicBuilder<NodeEvent> {
        let qos = Qos::sensor_data().capacity(LANE_EVENTS).history(LANE_HISTORY);
        self.builder(EVENTS).qos(qos.persist_after_exit(true).publishers_max(LANES as u32))
    }

    /// The topic of commands: those given while nobody listens are void.
    pub(crate) fn commands(&self) -> TopicBuilder<NodeCommand> {
        let qos = Qos::command().capacity(64).publishers_max(LANES as u32);
        self.builder(COMMANDS).qos(qos)
    }

    /// Opens an end of one of these topics; anew, if what has the name is of another kind, as from
    /// another version of this library, and nobody attends it. `None` if somebody has it.
    pub(crate) fn open<E>(
        &self,
        part: &str,
        end: impl Fn() -> Result<E, TopicError>,
    ) -> Result<Option<E>, TopicError> {
        let open = || match end() {
            Ok(end) => Ok(Found::End(end)),
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
            Found::End(end) => Some(end),
            Found::Taken | Found::Other => None,
        })
    }

    /// Removes one of these topics, unless somebody attends it; true if it is gone.
    pub(crate) fn remove(&self, part: &str) -> Result<bool, TopicError> {
        let name = self.topic(part);
        let removed = TopicName::new(&name).map_err(OpenError::from);
        let removed = removed.and_then(|name| remove_topic(&self.namespace, &name));
        removed.map_err(|error| TopicError::new(&name, error))
    }
}

/// What has the name of a topic.
enum Found<E> {
    End(E),
    Taken,
    Other,
}

fn is_of_another_kind(error: &TopicError) -> bool {
    matches!(error, TopicError::SchemaMismatch { .. })
        || matches!(error.as_open_error(), Some(OpenError::QosMismatch { .. }))
}

/// Opens an end of the topic of emergency stops, whoever made it. Who makes it this way has the
/// last word said there stay for those who come later, also when nobody is left.
pub(crate) fn emergency_stop<E>(
    namespace: &Arc<Namespace>,
    end: impl Fn(TopicBuilder<EmergencyStop>) -> Result<E, TopicError>,
) -> Result<E, TopicError> {
    let topic = || Topic::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    match end(topic().qos(Qos::latched())) {
        Err(error) if is_of_another_kind(&error) => end(topic()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::{NamespaceConfig, NamespaceName};

    #[test]
    fn anything_becomes_a_name_that_a_topic_can_have() {
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
