//! The graph of nodes and topics: computes the order in which nodes run, and finds likely mistakes.

mod components;
mod show;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use crate::scheduler::api::plan::{NodeClass, NodePlan};
use crate::scheduler::api::rate::Rate;
use components::strongly_connected_components;

/// A node of a [`Graph`], with the topics that it reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The node's name.
    pub name: String,
    /// The class of the node, which says how the scheduler runs it.
    pub class: NodeClass,
    /// The node's [order](crate::scheduler::NodeBuilder::order): nodes of smaller order run first.
    pub order: i32,
    /// The node's rate; `None` if the node has none.
    pub rate: Option<Rate>,
    /// The topics from which the node receives, without a leading slash.
    pub reads: Vec<String>,
    /// The topics on which the node publishes, without a leading slash.
    pub writes: Vec<String>,
}

/// The nodes of a scheduler and the flow of messages between them.
///
/// The result depends only on the nodes, and not on the sequence in which they are added.
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
    /// The nodes of the graph, sorted by name.
    nodes: Vec<GraphNode>,
    /// The rank of each node, as described at [`Graph::ranks`], in the order of `nodes`.
    ranks: Vec<usize>,
    /// The cycles of the graph, each as the sorted indices of its nodes in `nodes`.
    cycles: Vec<Vec<usize>>,
}

/// A likely mistake in a graph of nodes and topics.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// Nodes read a topic that no node of this program writes. This is not a mistake if another
    /// program writes the topic.
    #[error(
        "no node of this program writes '{topic}', read by {}",
        quote_names(readers)
    )]
    NobodyWrites {
        /// The name of the topic that no node writes.
        topic: String,
        /// The names of the nodes that read the topic.
        readers: Vec<String>,
    },
    /// Nodes write a topic that no node of this program reads. This is not a mistake if another
    /// program reads the topic.
    #[error(
        "no node of this program reads '{topic}', written by {}",
        quote_names(writers)
    )]
    NobodyReads {
        /// The name of the topic that no node reads.
        topic: String,
        /// The names of the nodes that write the topic.
        writers: Vec<String>,
    },
    /// A node runs before the writer of a topic that it reads, so it gets the messages of the
    /// previous round. This is not reported for nodes of one cycle, because at least one node of a
    /// cycle has to run before its writer.
    #[error(
        "'{reader}' (order {reader_order}) reads '{topic}' before '{writer}' (order \
         {writer_order}) writes it, so it reads the messages of the previous round"
    )]
    OrderAgainstFlow {
        /// The name of the topic that both nodes use.
        topic: String,
        /// The name of the node that writes the topic.
        writer: String,
        /// The [order](crate::scheduler::NodeBuilder::order) of the writer.
        writer_order: i32,
        /// The name of the node that reads the topic.
        reader: String,
        /// The [order](crate::scheduler::NodeBuilder::order) of the reader, which is smaller than
        /// that of the writer.
        reader_order: i32,
    },
}

impl NodePlan {
    /// Returns the node as an entry of a [`Graph`].
    pub(super) fn to_graph_node(&self) -> GraphNode {
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

/// The nodes that read one topic and those that write it, each as sorted indices of nodes.
#[derive(Debug, Default)]
struct TopicEndpoints {
    readers: Vec<usize>,
    writers: Vec<usize>,
}

impl Graph {
    /// Creates the graph of these nodes. This takes time proportional to the number of endpoints.
    /// For each cycle, it takes in addition a time proportional to the number of its endpoints
    /// times the number of its nodes.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = GraphNode>) -> Self {
        let mut nodes: Vec<_> = nodes.into_iter().collect();
        for node in &mut nodes {
            for topics in [&mut node.reads, &mut node.writes] {
                topics.sort_unstable();
                topics.dedup();
            }
        }
        // WHY more than the name: the result has to be unique even if two nodes have the same name,
        // which only a scheduler refuses.
        nodes.sort_by(|a, b| {
            let key = |node: &GraphNode| (node.order, node.rate, node.class as u8);
            let names = a.name.cmp(&b.name).then_with(|| key(a).cmp(&key(b)));
            names.then_with(|| (&a.reads, &a.writes).cmp(&(&b.reads, &b.writes)))
        });
        let all: Vec<_> = (0..nodes.len()).collect();
        let cycles = MessageFlow::between_nodes(&nodes, &all).cycles();
        let ranks = rank_nodes(&nodes);
        Self {
            nodes,
            ranks,
            cycles,
        }
    }

    /// Returns the nodes, sorted by name.
    #[must_use]
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// Returns the ranks of the nodes, in the order of [`Self::nodes`]. The rank of a node is the
    /// length of the longest chain of nodes that have to run before it, so that the writers of a
    /// topic run before its readers.
    ///
    /// The [order](crate::scheduler::NodeBuilder::order) of nodes takes precedence over the topics:
    /// messages from a node of larger order to a node of smaller order are ignored. In a cycle of
    /// nodes of the same order, the node whose name comes first in the alphabet runs first. It
    /// reads what the others wrote in the previous round. Cycles among the remaining nodes are
    /// broken the same way. To make another node run first, give it a smaller order.
    #[must_use]
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// Returns the rank of the node called `name`, as described at [`Self::ranks`]; `None` if there
    /// is no such node.
    #[must_use]
    pub fn rank(&self, name: &str) -> Option<usize> {
        let found = self
            .nodes
            .binary_search_by(|node| node.name.as_str().cmp(name));
        found.ok().map(|index| self.ranks[index])
    }

    /// Returns the cycles: sets of nodes whose messages come back to them, directly or through
    /// other nodes. Each cycle is a sorted list of names. A cycle is not a mistake, because
    /// feedback is usual in robots.
    #[must_use]
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let names = |cycle: &Vec<usize>| cycle.iter().map(|node| self.node_name(*node)).collect();
        self.cycles.iter().map(names).collect()
    }

    /// Returns a finding for each topic that no node of this program writes, and for each topic
    /// that no node of this program reads. The findings are sorted by topic.
    #[must_use]
    pub fn unconnected_topics(&self) -> Vec<Finding> {
        let names = |nodes: Vec<usize>| {
            nodes
                .iter()
                .map(|n| self.node_name(*n).to_owned())
                .collect()
        };
        let mut found = Vec::new();
        for (topic, TopicEndpoints { readers, writers }) in endpoints_by_topic(&self.nodes) {
            let topic = topic.to_owned();
            if writers.is_empty() {
                found.push(Finding::NobodyWrites {
                    topic,
                    readers: names(readers),
                });
            } else if readers.is_empty() {
                found.push(Finding::NobodyReads {
                    topic,
                    writers: names(writers),
                });
            }
        }
        found
    }

    /// Returns a finding for each pair of a topic's writer and reader whose orders make the reader
    /// run before the writer. The findings are of the kind [`Finding::OrderAgainstFlow`], and are
    /// sorted by topic.
    #[must_use]
    pub fn order_contradictions(&self) -> Vec<Finding> {
        let mut cycle_of = vec![None; self.nodes.len()];
        for (number, cycle) in self.cycles.iter().enumerate() {
            cycle.iter().for_each(|node| cycle_of[*node] = Some(number));
        }
        let mut found = Vec::new();
        for (topic, ends) in endpoints_by_topic(&self.nodes) {
            for (writer, reader) in writer_reader_pairs(&ends) {
                let orders = [writer, reader].map(|node| self.nodes[node].order);
                let in_cycle = cycle_of[writer].is_some() && cycle_of[writer] == cycle_of[reader];
                if orders[1] < orders[0] && !in_cycle {
                    let [writer, reader] =
                        [writer, reader].map(|node| self.node_name(node).to_owned());
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

    /// Returns all likely mistakes: first [`Self::order_contradictions`], then
    /// [`Self::unconnected_topics`].
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = self.order_contradictions();
        found.append(&mut self.unconnected_topics());
        found
    }

    fn node_name(&self, node_index: usize) -> &str {
        &self.nodes[node_index].name
    }
}

/// Returns the names in quotes, separated by commas.
fn quote_names(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}

/// Returns, for each topic by its name, the nodes that read and write it.
fn endpoints_by_topic(nodes: &[GraphNode]) -> BTreeMap<&str, TopicEndpoints> {
    let mut topics = BTreeMap::<&str, TopicEndpoints>::new();
    for (index, node) in nodes.iter().enumerate() {
        node.reads
            .iter()
            .for_each(|name| topics.entry(name).or_default().readers.push(index));
        node.writes
            .iter()
            .for_each(|name| topics.entry(name).or_default().writers.push(index));
    }
    topics
}

/// Returns each pair of a node that writes a topic and a node that reads it, as the indices of the
/// two nodes. `endpoints` contains the readers and writers of the topic.
fn writer_reader_pairs(endpoints: &TopicEndpoints) -> impl Iterator<Item = (usize, usize)> {
    endpoints
        .writers
        .iter()
        .flat_map(|writer| endpoints.readers.iter().map(|reader| (*writer, *reader)))
}

/// Returns the rank of each node. Handles the orders one after the other, from the smallest,
/// because nodes of a smaller order always run first.
fn rank_nodes(nodes: &[GraphNode]) -> Vec<usize> {
    let mut ranks = vec![0; nodes.len()];
    // For each topic that nodes of smaller orders write, the lowest rank that a reader can have.
    let mut min_ranks = BTreeMap::<&str, usize>::new();
    for order in nodes.iter().map(|node| node.order).collect::<BTreeSet<_>>() {
        let group: Vec<_> = (0..nodes.len())
            .filter(|node| nodes[*node].order == order)
            .collect();
        let mut flow = MessageFlow::between_nodes(nodes, &group);
        flow.break_cycles();
        for (node, rank) in
            flow.node_indices_and_depths(|topic| min_ranks.get(topic).copied().unwrap_or(0))
        {
            ranks[node] = rank;
        }
        for node in group {
            for topic in &nodes[node].writes {
                let min_ranks = min_ranks.entry(topic).or_default();
                *min_ranks = (*min_ranks).max(ranks[node] + 1);
            }
        }
    }
    ranks
}

/// The flow of messages between some of the nodes, as a directed graph. The first vertices of the
/// graph stand for these nodes; the others stand for their topics.
///
/// WHY topics are vertices: one edge for each pair of a writer and a reader of a topic would be too
/// many edges.
struct MessageFlow<'a> {
    /// For each vertex that stands for a node, the index of that node in the list of all nodes.
    nodes: &'a [usize],
    topics: Vec<&'a str>,
    /// For each vertex, the vertices that receive its messages.
    next: Vec<Vec<usize>>,
}

impl<'a> MessageFlow<'a> {
    fn between_nodes(all_nodes: &'a [GraphNode], node_indices: &'a [usize]) -> Self {
        let names = |node: &'a usize| {
            all_nodes[*node]
                .reads
                .iter()
                .chain(&all_nodes[*node].writes)
        };
        let topics: BTreeSet<_> = node_indices
            .iter()
            .flat_map(names)
            .map(String::as_str)
            .collect();
        let topics: Vec<_> = topics.into_iter().collect();
        let mut next = vec![Vec::new(); node_indices.len() + topics.len()];
        let vertex = |topic: &String| {
            node_indices.len() + topics.partition_point(|name| *name < topic.as_str())
        };
        for (index, node) in node_indices.iter().enumerate() {
            next[index].extend(all_nodes[*node].writes.iter().map(vertex));
            all_nodes[*node]
                .reads
                .iter()
                .for_each(|topic| next[vertex(topic)].push(index));
        }
        Self {
            nodes: node_indices,
            topics,
            next,
        }
    }

    /// Returns the cycles, each as the sorted vertices of its nodes. A cycle is a set of nodes
    /// whose messages reach each other, or a single node that reads a topic that it also writes.
    fn cycles(&self) -> Vec<Vec<usize>> {
        // A component with a topic in it is a cycle: a node reaches the topic, and the topic
        // reaches a node.
        let found = strongly_connected_components(&self.next)
            .into_iter()
            .filter(|component| component.len() > 1);
        let mut cycles: Vec<Vec<_>> = found
            .map(|component| {
                component
                    .into_iter()
                    .filter(|v| *v < self.nodes.len())
                    .collect()
            })
            .collect();
        cycles.iter_mut().for_each(|cycle| cycle.sort_unstable());
        cycles.sort_unstable();
        cycles
    }

    /// Breaks all cycles: removes, in each cycle, the edges that lead from the cycle to its first
    /// node. Repeats that until no cycle is left.
    fn break_cycles(&mut self) {
        let mut sets = vec![(0..self.next.len()).collect::<Vec<_>>()];
        while let Some(set) = sets.pop() {
            let local = |to: &usize| set.binary_search(to).ok();
            let next = set
                .iter()
                .map(|from| self.next[*from].iter().filter_map(local).collect());
            let next: Vec<_> = next.collect();
            for component in strongly_connected_components(&next)
                .into_iter()
                .filter(|cycle| cycle.len() > 1)
            {
                let mut cycle: Vec<_> = component.into_iter().map(|index| set[index]).collect();
                cycle.sort_unstable();
                self.remove_edges_to_first_node(&cycle);
                sets.push(cycle);
            }
        }
    }

    /// Removes those edges to the first node of `cycle` that come from within the cycle. Keeps
    /// those that come from outside.
    fn remove_edges_to_first_node(&mut self, cycle: &[usize]) {
        let head = cycle[0];
        let begin = self.nodes.len();
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

    /// Returns, for each node, its index among all nodes and its depth: the length of the longest
    /// chain of nodes before it. The readers of a topic get at least the depth that
    /// `min_depth_of_topic` returns for that topic. The graph must have no cycles.
    fn node_indices_and_depths(
        &self,
        min_depth_of_topic: impl Fn(&str) -> usize,
    ) -> Vec<(usize, usize)> {
        let mut depths = vec![0; self.next.len()];
        for (depth, topic) in depths[self.nodes.len()..].iter_mut().zip(&self.topics) {
            *depth = min_depth_of_topic(topic);
        }
        // WHY this order: Tarjan's algorithm finds a component after all components that it
        // reaches.
        for vertex in strongly_connected_components(&self.next)
            .into_iter()
            .rev()
            .flatten()
        {
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
