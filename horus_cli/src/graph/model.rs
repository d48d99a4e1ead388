//! The graph of a namespace: its processes, nodes and topics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use horus_core::introspect::{Participant, topics};
use horus_core::namespace::Namespace;
use horus_core::scheduler::{scheduler_graph, schedulers};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::visible;
use crate::process::{OwnerId, ProcessKey};
use crate::topic::hz::wait_for_window;
use crate::topic::info::{MismatchCause, UnmatchedEndpoints};
use crate::topic::list::SHORTEST_PERIOD;
use crate::topic::meter::{Meter, per_second};
use crate::topic::select::is_internal_topic;

/// The graph of a namespace: its processes, nodes and topics.
#[derive(Debug, Default, Serialize)]
pub(super) struct Graph {
    /// The names of the processes.
    #[serde(flatten, serialize_with = "serialize_processes")]
    pub(super) processes: BTreeMap<ProcessKey, String>,
    pub(super) topics: Vec<Topic>,
    pub(super) nodes: Vec<Node>,
}

/// A node of a live scheduler, with the topics that the program passed to the node's builder.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    pub(super) scheduler: String,
    pub(super) node: String,
    #[serde(flatten)]
    pub(super) process: ProcessKey,
    pub(super) reads: Vec<String>,
    pub(super) writes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Topic {
    pub(super) topic: String,
    pub(super) message_type: String,
    pub(super) publishers: Vec<Publisher>,
    pub(super) subscribers: Vec<Subscriber>,
    /// The pairs of a publisher and a subscriber between which no message passes.
    unmatched: Vec<UnmatchedEndpoints>,
}

#[derive(Debug, Serialize)]
pub(super) struct Publisher {
    #[serde(flatten)]
    pub(super) process: ProcessKey,
    pub(super) lane: u32,
    /// The rate; `None` if the user wants none to be measured.
    pub(super) rate_hz: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Subscriber {
    #[serde(flatten)]
    pub(super) process: ProcessKey,
    pub(super) slot: u32,
    pub(super) lost: u64,
}

impl Topic {
    /// Returns the reason why no message passes from the publisher to the subscriber; `None` if
    /// they match.
    pub(super) fn mismatch(
        &self,
        publisher: &Publisher,
        subscriber: &Subscriber,
    ) -> Option<MismatchCause> {
        let is_pair = |pair: &&UnmatchedEndpoints| {
            pair.lane == publisher.lane && pair.slot == subscriber.slot
        };
        self.unmatched.iter().find(is_pair).map(|pair| pair.cause)
    }

    /// Returns true if no publisher of the topic matches the subscriber, although there are
    /// publishers.
    pub(super) fn matches_no_publisher(&self, subscriber: &Subscriber) -> bool {
        let mut publishers = self.publishers.iter();
        !self.publishers.is_empty()
            && publishers.all(|publisher| self.mismatch(publisher, subscriber).is_some())
    }
}

impl Graph {
    /// Reads the graph of the namespace, and measures the rates of topics for the duration
    /// `rate_window`, or not at all if that is 0. Includes the library's internal topics if
    /// `includes_internal` is true.
    pub(super) fn read(
        includes_internal: bool,
        rate_window: Duration,
        context: &Context,
    ) -> Result<Self, Failure> {
        let deadline = context.deadline();
        let mut graph = Self::default();
        let Some(namespace) = context.open_existing_namespace()? else {
            return Ok(graph);
        };
        let names = topics(&namespace).map_err(|error| Failure::from_open_error(&error))?;
        let names = names
            .iter()
            .filter(|name| includes_internal || !is_internal_topic(name));
        // A topic that cannot be opened was removed meanwhile, or is not one of this version.
        let meters = names.filter_map(|name| Meter::open(&namespace, name).ok());
        let mut meters: Vec<_> = meters.collect();
        let has_rates = !rate_window.is_zero();
        if has_rates {
            wait_for_window(rate_window.max(SHORTEST_PERIOD), deadline, context)?;
        }
        for meter in &mut meters {
            graph.add_topic(meter, has_rates);
        }
        graph.add_nodes(&namespace)?;
        Ok(graph)
    }

    fn add_topic(&mut self, meter: &mut Meter, has_rates: bool) {
        let reading = meter.read();
        let Some(topic) = meter.inspector() else {
            return;
        };
        let mut publishers = Vec::new();
        for lane in &reading.lanes {
            if let Some(process) = lane
                .publisher
                .as_ref()
                .and_then(|one| self.add_process(one))
            {
                let rate_hz = has_rates.then(|| per_second(lane.sent, reading.took));
                let lane = lane.lane;
                publishers.push(Publisher {
                    process,
                    lane,
                    rate_hz,
                });
            }
        }
        let mut subscribers = Vec::new();
        for reader in topic.subscribers() {
            if let Some(process) = self.add_process(&reader.subscriber) {
                let (slot, lost) = (reader.slot, reader.lost);
                subscribers.push(Subscriber {
                    process,
                    slot,
                    lost,
                });
            }
        }
        if publishers.is_empty() && subscribers.is_empty() {
            return;
        }
        self.topics.push(Topic {
            topic: meter.name().to_owned(),
            message_type: topic.message_type().to_owned(),
            publishers,
            subscribers,
            unmatched: topic
                .unmatched_pairs()
                .iter()
                .map(UnmatchedEndpoints::new)
                .collect(),
        });
    }

    /// Adds the process of an endpoint to the graph, and returns its key; `None` if the process is
    /// not known.
    fn add_process(&mut self, participant: &Participant) -> Option<ProcessKey> {
        let key = ProcessKey::of(participant)?;
        let name = &participant.process.as_ref()?.name;
        self.processes.insert(key, name.clone());
        Some(key)
    }

    /// Adds the nodes of those processes that are already in the graph.
    fn add_nodes(&mut self, namespace: &Arc<Namespace>) -> Result<(), Failure> {
        let all = schedulers(namespace).map_err(|error| Failure::from_open_error(&error))?;
        for scheduler in all.iter().filter(|scheduler| scheduler.is_alive) {
            let process = ProcessKey::of_scheduler(scheduler);
            let Some(process) = process.filter(|one| self.processes.contains_key(one)) else {
                continue;
            };
            let Some(found) = scheduler_graph(namespace, &scheduler.name) else {
                continue;
            };
            self.nodes.extend(found.nodes().iter().map(|node| Node {
                scheduler: scheduler.name.clone(),
                node: node.name.clone(),
                process,
                reads: node.reads.clone(),
                writes: node.writes.clone(),
            }));
        }
        Ok(())
    }

    /// Returns the indices of those nodes of the process that write the topic.
    pub(super) fn writer_node_indices(&self, topic: &Topic, process: ProcessKey) -> Vec<usize> {
        self.node_indices_with(process, |node| node.writes.contains(&topic.topic))
    }

    /// Returns the indices of those nodes of the process that read the topic.
    pub(super) fn reader_node_indices(&self, topic: &Topic, process: ProcessKey) -> Vec<usize> {
        self.node_indices_with(process, |node| node.reads.contains(&topic.topic))
    }

    fn node_indices_with(
        &self,
        process: ProcessKey,
        has_topic: impl Fn(&Node) -> bool,
    ) -> Vec<usize> {
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, node)| node.process == process && has_topic(node));
        nodes.map(|(index, _)| index).collect()
    }

    /// Returns the name and the id of a process as text, such as `imu_driver (4711)`.
    pub(super) fn process_label(&self, process: ProcessKey) -> String {
        let name = self.processes.get(&process).map_or("", String::as_str);
        format!("{} ({})", visible(name), process.pid)
    }

    /// Returns a text that identifies a process in a picture: its process id, and a number if
    /// earlier processes of the graph have the same one.
    pub(super) fn process_identifier(&self, process: ProcessKey) -> String {
        let first = ProcessKey {
            owner_id: OwnerId(0),
            ..process
        };
        match self.processes.range(first..process).count() {
            0 => process.pid.to_string(),
            earlier => format!("{}_{}", process.pid, earlier + 1),
        }
    }
}

/// Writes the fields `processes`, which has the names by process id, and `process_list`, which also
/// has the processes with the same process id.
fn serialize_processes<S: Serializer>(
    processes: &BTreeMap<ProcessKey, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct NamedProcess<'a> {
        #[serde(flatten)]
        key: ProcessKey,
        name: &'a str,
    }
    let names: BTreeMap<u32, &str> = processes
        .iter()
        .map(|(key, name)| (key.pid, name.as_str()))
        .collect();
    let list = processes.iter();
    let list: Vec<_> = list
        .map(|(&key, name)| NamedProcess { key, name })
        .collect();
    let mut fields = serializer.serialize_map(Some(2))?;
    fields.serialize_entry("processes", &names)?;
    fields.serialize_entry("process_list", &list)?;
    fields.end()
}

impl Node {
    /// Returns the names of the node's scheduler and of the node as one path, such as
    /// `arm/controller`.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.scheduler, self.node)
    }
}

#[cfg(test)]
mod tests {
    use horus_core::introspect::processes;

    use super::*;
    use crate::testing::private_namespace;

    /// Processes of two containers often have the same process id.
    #[test]
    fn processes_with_the_same_id_stay_apart() {
        let (_dir, namespace) = private_namespace();
        let one = processes(&namespace).unwrap().remove(0);
        let mut other = one.clone();
        other.owner_id += 1;
        other.process.as_mut().unwrap().name = "other".to_owned();
        let mut graph = Graph::default();
        let keys = [&one, &other].map(|process| graph.add_process(process).unwrap());
        graph.add_process(&one);
        let label = |key: ProcessKey| (graph.process_label(key), graph.process_identifier(key));
        let process = one.process.unwrap();
        let pid = process.pid;
        assert_eq!(
            keys.map(label),
            [
                (format!("{} ({pid})", process.name), pid.to_string()),
                (format!("other ({pid})"), format!("{pid}_2")),
            ]
        );
        let json = serde_json::to_string(&graph).unwrap();
        let list = format!(
            "\"process_list\":[{{\"pid\":{pid},\"owner_id\":\"{:016x}\",\"name\":\"{}\"}},",
            one.owner_id, process.name
        );
        assert!(json.contains(&list), "{json}");
        let by_pid = format!("{{\"processes\":{{\"{pid}\":\"other\"}},");
        assert!(json.starts_with(&by_pid), "{json}");
    }
}
