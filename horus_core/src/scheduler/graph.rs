//! The graph of nodes and topics: the order that follows from it, and likely mistakes in it.

mod components;
mod show;

use std::collections::{BTreeMap, BTreeSet};

use crate::scheduler::api::plan::{Class, Plan};
use crate::scheduler::api::rate::Rate;
use components::components;

/// A node and the topics of its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The node's name.
    pub name: String,
    /// The class of the node.
    pub class: Class,
    /// The order that it was given.
    pub order: i32,
    /// The node's rate, if it has one.
    pub rate: Option<Rate>,
    /// The topics that it receives from.
    pub reads: Vec<String>,
    /// The topics that it publishes on.
    pub writes: Vec<String>,
}

/// The nodes of a scheduler and the flow of messages between them.
///
/// The graph is the same for the same nodes, in whatever sequence they are added.
///
/// ```
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::prelude::*;
///
/// let mut scheduler = Scheduler::new();
/// let mut driver = scheduler.node("driver");
/// let mut commands = driver.subscriber::<CmdVel>("cmd_vel")?;
/// driver.build(move |_: &mut Context<'_>| drop(commands.latest()))?;
/// let mut control = scheduler.node("control");
/// let mut motors = control.publisher::<CmdVel>("cmd_vel")?;
/// let halt = CmdVel::default();
/// control.build(move |_: &mut Context<'_>| motors.send(halt).map_err(Error::from))?;
///
/// let graph = scheduler.graph();
/// assert_eq!((graph.rank("control"), graph.rank("driver")), (Some(0), Some(1)));
/// assert!(graph.findings().is_empty());
/// println!("{graph}");
/// # Ok::<(), horus_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The nodes, sorted by name.
    nodes: Vec<GraphNode>,
    /// The rank of each node.
    ranks: Vec<usize>,
    /// The cycles, as sorted indices of nodes.
    cycles: Vec<Vec<usize>>,
}

/// A likely mistake in a graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// Nodes read a topic that no node writes. No mistake if another program writes it.
    #[error("no node of this program writes '{topic}', which {readers:?} read")]
    NobodyWrites {
        /// The topic.
        topic: String,
        /// The nodes that read it.
        readers: Vec<String>,
    },
    /// Nodes write a topic that no node reads. No mistake if another program reads it.
    #[error("no node of this program reads '{topic}', which {writers:?} write")]
    NobodyReads {
        /// The topic.
        topic: String,
        /// The nodes that write it.
        writers: Vec<String>,
    },
    /// A node runs before the writer of a topic that it reads, so it reads the messages of the
    /// previous round. Not reported for nodes in a cycle, where one of them has to.
    #[error(
        "'{reader}' (order {reader_order}) reads '{topic}' before '{writer}' (order \
         {writer_order}) writes it, so it reads the messages of the previous round"
    )]
    OrderAgainstFlow {
        /// The topic.
        topic: String,
        /// The node that writes it.
        writer: String,
        /// The writer's order.
        writer_order: i32,
        /// The node that reads it.
        reader: String,
        /// The reader's order, which is smaller.
        reader_order: i32,
    },
}

impl Plan {
    /// Returns the part of the plan that a graph shows.
    pub(super) fn graph_node(&self) -> GraphNode {
        GraphNode {
            name: self.name.clone(),
            class: self.class,
            order: self.order,
            rate: self.rate,
            reads: self.reads.clone(),
            writes: self.writes.clone(),
        }
    }
}

/// The readers and writers of a topic: sorted indices of nodes.
#[derive(Debug, Default)]
struct Endpoints {
    readers: Vec<usize>,
    writers: Vec<usize>,
}

impl Graph {
    /// Makes the graph of these nodes. Takes time in proportion to the number of endpoints, and in
    /// cycles that times the number of nodes in them.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = GraphNode>) -> Self {
        let mut nodes: Vec<_> = nodes.into_iter().collect();
        for node in &mut nodes {
            for topics in [&mut node.reads, &mut node.writes] {
                topics.sort_unstable();
                topics.dedup();
            }
        }
        // WHY more than the name: the order has to be unique even if two nodes had one name, which
        // no scheduler allows.
        nodes.sort_by(|a, b| {
            let key = |node: &GraphNode| (node.order, node.rate, node.class as u8);
            let names = a.name.cmp(&b.name).then_with(|| key(a).cmp(&key(b)));
            names.then_with(|| (&a.reads, &a.writes).cmp(&(&b.reads, &b.writes)))
        });
        let all: Vec<_> = (0..nodes.len()).collect();
        let cycles = Flow::of(&nodes, &all).cycles();
        let ranks = ranks(&nodes);
        Self { nodes, ranks, cycles }
    }

    /// Returns the nodes, by name.
    #[must_use]
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// Returns the number of nodes, in a chain, that have to run before each of [`Self::nodes`], so
    /// that writers of a topic come before its readers.
    ///
    /// A given order takes precedence: a flow from a node of a larger order to one of a smaller
    /// order is ignored. A cycle within one order is broken before its first node by name, which
    /// then reads what the other nodes wrote in the previous round; what is left of the cycle is
    /// treated the same way. To break the cycle elsewhere, give that node a smaller order.
    #[must_use]
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Returns the rank of the node of this name, see [`Self::ranks`].
    #[must_use]
    pub fn rank(&self, name: &str) -> Option<usize> {
        let found = self.nodes.binary_search_by(|node| node.name.as_str().cmp(name));
        found.ok().map(|index| self.ranks[index])
    }

    /// Returns sets of nodes that receive, directly or through other nodes, what they write
    /// themselves: the sorted names of each set. Feedback is usual in robots; this shows where it
    /// is.
    #[must_use]
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let names = |cycle: &Vec<usize>| cycle.iter().map(|node| self.name(*node)).collect();
        self.cycles.iter().map(names).collect()
    }

    /// Returns the topics that no node of this program writes, or none reads, by name.
    #[must_use]
    pub fn dangling(&self) -> Vec<Finding> {
        let names = |nodes: Vec<usize>| nodes.iter().map(|n| self.name(*n).to_owned()).collect();
        let mut found = Vec::new();
        for (topic, Endpoints { readers, writers }) in topics(&self.nodes) {
            let topic = topic.to_owned();
            if writers.is_empty() {
                found.push(Finding::NobodyWrites { topic, readers: names(readers) });
            } else if readers.is_empty() {
                found.push(Finding::NobodyReads { topic, writers: names(writers) });
            }
        }
        found
    }

    /// Returns the orders that contradict the flow of messages, by topic.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Finding> {
        let mut cycle_of = vec![None; self.nodes.len()];
        for (number, cycle) in self.cycles.iter().enumerate() {
            cycle.iter().for_each(|node| cycle_of[*node] = Some(number));
        }
        let mut found = Vec::new();
        for (topic, ends) in topics(&self.nodes) {
            for (writer, reader) in pairs(&ends) {
                let orders = [writer, reader].map(|node| self.nodes[node].order);
                let in_cycle = cycle_of[writer].is_some() && cycle_of[writer] == cycle_of[reader];
                if orders[1] < orders[0] && !in_cycle {
                    let [writer, reader] = [writer, reader].map(|node| self.name(node).to_owned());
                    let (topic, [writer_order, reader_order]) = (topic.to_owned(), orders);
                    found.push(Finding::OrderAgainstFlow {
                        topic,
                        writer,
                        writer_order,
                        reader,
                        reader_order,
                    });
                }
            }
        }
        found
    }

    /// Returns all likely mistakes.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = self.contradictions();
        found.append(&mut self.dangling());
        found
    }

    fn name(&self, node: usize) -> &str {
        &self.nodes[node].name
    }
}

/// Returns the endpoints of each topic, by topic name.
fn topics(nodes: &[GraphNode]) -> BTreeMap<&str, Endpoints> {
    let mut topics = BTreeMap::<&str, Endpoints>::new();
    for (index, node) in nodes.iter().enumerate() {
        node.reads.iter().for_each(|name| topics.entry(name).or_default().readers.push(index));
        node.writes.iter().for_each(|name| topics.entry(name).or_default().writers.push(index));
    }
    topics
}

/// Returns each writer of a topic with each reader.
fn pairs(ends: &Endpoints) -> impl Iterator<Item = (usize, usize)> {
    ends.writers.iter().flat_map(|writer| ends.readers.iter().map(|reader| (*writer, *reader)))
}

/// Returns the rank of each node. It goes from order to order, since a smaller order runs first in
/// any case.
fn ranks(nodes: &[GraphNode]) -> Vec<usize> {
    let mut ranks = vec![0; nodes.len()];
    // The lowest rank of a topic's readers, as far as nodes of smaller orders write it.
    let mut least = BTreeMap::<&str, usize>::new();
    for order in nodes.iter().map(|node| node.order).collect::<BTreeSet<_>>() {
        let group: Vec<_> = (0..nodes.len()).filter(|node| nodes[*node].order == order).collect();
        let mut flow = Flow::of(nodes, &group);
        flow.break_cycles();
        for (node, rank) in flow.depths(|topic| least.get(topic).copied().unwrap_or(0)) {
            ranks[node] = rank;
        }
        for node in group {
            for topic in &nodes[node].writes {
                let least = least.entry(topic).or_default();
                *least = (*least).max(ranks[node] + 1);
            }
        }
    }
    ranks
}

/// A graph whose vertices are the nodes of a group, and then their topics.
///
/// WHY topics too: edges from each writer to each reader would be too many.
struct Flow<'a> {
    /// The vertices that are nodes, as indices into all nodes.
    nodes: &'a [usize],
    topics: Vec<&'a str>,
    /// The vertices to which messages go from each vertex.
    next: Vec<Vec<usize>>,
}

impl<'a> Flow<'a> {
    fn of(all: &'a [GraphNode], nodes: &'a [usize]) -> Self {
        let names = |node: &'a usize| all[*node].reads.iter().chain(&all[*node].writes);
        let topics: BTreeSet<_> = nodes.iter().flat_map(names).map(String::as_str).collect();
        let topics: Vec<_> = topics.into_iter().collect();
        let mut next = vec![Vec::new(); nodes.len() + topics.len()];
        let vertex =
            |topic: &String| nodes.len() + topics.partition_point(|name| *name < topic.as_str());
        for (index, node) in nodes.iter().enumerate() {
            next[index].extend(all[*node].writes.iter().map(vertex));
            all[*node].reads.iter().for_each(|topic| next[vertex(topic)].push(index));
        }
        Self { nodes, topics, next }
    }

    /// Returns the sets of nodes that reach each other, and nodes that reach themselves.
    fn cycles(&self) -> Vec<Vec<usize>> {
        // A component with a topic in it is a cycle: a node reaches the topic, and the topic
        // reaches a node.
        let found = components(&self.next).into_iter().filter(|component| component.len() > 1);
        let mut cycles: Vec<Vec<_>> = found
            .map(|component| component.into_iter().filter(|v| *v < self.nodes.len()).collect())
            .collect();
        cycles.iter_mut().for_each(|cycle| cycle.sort_unstable());
        cycles.sort_unstable();
        cycles
    }

    /// Removes the edges to the first node of each cycle from within the cycle, until there is no
    /// cycle.
    fn break_cycles(&mut self) {
        let mut sets = vec![(0..self.next.len()).collect::<Vec<_>>()];
        while let Some(set) = sets.pop() {
            let local = |to: &usize| set.binary_search(to).ok();
            let next = set.iter().map(|from| self.next[*from].iter().filter_map(local).collect());
            let next: Vec<_> = next.collect();
            for component in components(&next).into_iter().filter(|cycle| cycle.len() > 1) {
                let mut cycle: Vec<_> = component.into_iter().map(|index| set[index]).collect();
                cycle.sort_unstable();
                self.cut(&cycle);
                sets.push(cycle);
            }
        }
    }

    /// Removes the edges from within this cycle to its first node, and keeps those from outside.
    fn cut(&mut self, cycle: &[usize]) {
        let (head, begin) = (cycle[0], self.nodes.len());
        for topic in cycle.iter().copied().filter(|vertex| *vertex >= begin) {
            let readers = self.next[topic].len();
            self.next[topic].retain(|node| *node != head);
            if self.next[topic].len() == readers {
                continue;
            }
            // A topic for the messages of writers outside the cycle. It is in no cycle.
            let other = self.next.len();
            self.next.push(vec![head]);
            self.topics.push(self.topics[topic - begin]);
            let writers = (0..begin).filter(|node| cycle.binary_search(node).is_err());
            for writer in writers {
                if self.next[writer].contains(&topic) {
                    self.next[writer].push(other);
                }
            }
        }
    }

    /// Returns, for each node by its index into all nodes, the length of the longest chain of nodes
    /// before it. The graph must have no cycles.
    fn depths(&self, least: impl Fn(&str) -> usize) -> Vec<(usize, usize)> {
        let mut depths = vec![0; self.next.len()];
        for (depth, topic) in depths[self.nodes.len()..].iter_mut().zip(&self.topics) {
            *depth = least(topic);
        }
        // WHY this order: Tarjan's algorithm finds a component after all components that it
        // reaches.
        for vertex in components(&self.next).into_iter().rev().flatten() {
            let step = usize::from(vertex < self.nodes.len());
            for next in &self.next[vertex] {
                depths[*next] = depths[*next].max(depths[vertex] + step);
            }
        }
        self.nodes.iter().copied().zip(depths).collect()
    }
}

#[cfg(test)]
mod tests;
