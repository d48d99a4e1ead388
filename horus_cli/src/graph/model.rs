//! The graph of a namespace: its processes, nodes and topics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use horus_core::introspect::{Participant, topics};
use horus_core::namespace::Namespace;
use horus_core::scheduler::{scheduler_graph, schedulers};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::visible;
use crate::topic::hz::wait_for_window;
use crate::topic::info::{MismatchCause, Unmatched};
use crate::topic::meter::{Meter, per_second};
use crate::topic::select::is_internal_topic;

/// The graph of a namespace: its processes, nodes and topics.
#[derive(Debug, Default, Serialize)]
pub(super) struct Graph {
    /// The names of the processes, by process id.
    pub(super) processes: BTreeMap<u32, String>,
    pub(super) topics: Vec<Topic>,
    pub(super) nodes: Vec<Node>,
}

/// A node of a live scheduler, with the topics that the program passed to the node's builder.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    pub(super) scheduler: String,
    pub(super) node: String,
    pub(super) pid: u32,
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
    unmatched: Vec<Unmatched>,
}

#[derive(Debug, Serialize)]
pub(super) struct Publisher {
    pub(super) pid: u32,
    pub(super) lane: u32,
    pub(super) rate_hz: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Subscriber {
    pub(super) pid: u32,
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
        let is_pair =
            |pair: &&Unmatched| pair.lane == publisher.lane && pair.slot == subscriber.slot;
        self.unmatched.iter().find(is_pair).map(|pair| pair.cause)
    }

    /// Returns true if no publisher of the topic matches the subscriber, although there are
    /// publishers.
    pub(super) fn is_cut_off(&self, subscriber: &Subscriber) -> bool {
        let mut publishers = self.publishers.iter();
        !self.publishers.is_empty()
            && publishers.all(|publisher| self.mismatch(publisher, subscriber).is_some())
    }
}

impl Graph {
    /// Reads the graph of the namespace, and measures the rates of topics for the duration
    /// `window`. Includes the library's internal topics if `all` is true.
    pub(super) fn read(all: bool, window: Duration, context: &Context) -> Result<Self, Failure> {
        let deadline = context.deadline();
        let mut graph = Self::default();
        let Some(namespace) = context.open_existing_namespace()? else {
            return Ok(graph);
        };
        let names = topics(&namespace).map_err(|error| Failure::from_open_error(&error))?;
        let names = names.iter().filter(|name| all || !is_internal_topic(name));
        // A topic that cannot be opened was removed meanwhile, or is not one of this version.
        let meters = names.filter_map(|name| Meter::open(&namespace, name).ok());
        let mut meters: Vec<_> = meters.collect();
        wait_for_window(window, deadline, context)?;
        for meter in &mut meters {
            graph.add_topic(meter);
        }
        graph.add_nodes(&namespace)?;
        Ok(graph)
    }

    fn add_topic(&mut self, meter: &mut Meter) {
        let reading = meter.read();
        let Some(topic) = meter.inspector() else {
            return;
        };
        let mut publishers = Vec::new();
        for lane in &reading.lanes {
            if let Some(pid) = lane
                .publisher
                .as_ref()
                .and_then(|one| self.add_process(one))
            {
                let rate_hz = per_second(lane.sent, reading.took);
                let lane = lane.lane;
                publishers.push(Publisher { pid, lane, rate_hz });
            }
        }
        let mut subscribers = Vec::new();
        for reader in topic.subscribers() {
            if let Some(pid) = self.add_process(&reader.subscriber) {
                let (slot, lost) = (reader.slot, reader.lost);
                subscribers.push(Subscriber { pid, slot, lost });
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
            unmatched: topic.unmatched_pairs().iter().map(Unmatched::new).collect(),
        });
    }

    /// Adds the process of an endpoint to the graph, and returns its process id; `None` if the
    /// process is not known.
    fn add_process(&mut self, participant: &Participant) -> Option<u32> {
        let process = participant.process.as_ref()?;
        self.processes.insert(process.pid, process.name.clone());
        Some(process.pid)
    }

    /// Adds the nodes of those processes that are already in the graph.
    fn add_nodes(&mut self, namespace: &Arc<Namespace>) -> Result<(), Failure> {
        let all = schedulers(namespace).map_err(|error| Failure::from_open_error(&error))?;
        for scheduler in all.iter().filter(|scheduler| scheduler.is_alive) {
            let pid = scheduler.process_id;
            let Some(pid) = pid.filter(|pid| self.processes.contains_key(pid)) else {
                continue;
            };
            let Some(found) = scheduler_graph(namespace, &scheduler.name) else {
                continue;
            };
            self.nodes.extend(found.nodes().iter().map(|node| Node {
                scheduler: scheduler.name.clone(),
                node: node.name.clone(),
                pid,
                reads: node.reads.clone(),
                writes: node.writes.clone(),
            }));
        }
        Ok(())
    }

    /// Returns the indices of those nodes of the process `pid` that write the topic.
    pub(super) fn writers(&self, topic: &Topic, pid: u32) -> Vec<usize> {
        self.nodes_with(pid, |node| node.writes.contains(&topic.topic))
    }

    /// Returns the indices of those nodes of the process `pid` that read the topic.
    pub(super) fn readers(&self, topic: &Topic, pid: u32) -> Vec<usize> {
        self.nodes_with(pid, |node| node.reads.contains(&topic.topic))
    }

    fn nodes_with(&self, pid: u32, has_topic: impl Fn(&Node) -> bool) -> Vec<usize> {
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, node)| node.pid == pid && has_topic(node));
        nodes.map(|(index, _)| index).collect()
    }

    /// Returns the name and the id of a process as text, such as `imu_driver (4711)`.
    pub(super) fn process_label(&self, pid: u32) -> String {
        let name = self.processes.get(&pid).map_or("", String::as_str);
        format!("{} ({pid})", visible(name))
    }
}

impl Node {
    /// Returns the names of the node's scheduler and of the node as one path, such as
    /// `arm/controller`.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.scheduler, self.node)
    }
}
