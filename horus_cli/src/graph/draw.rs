//! Writes graphs in the languages of Graphviz and Mermaid.
//!
//! A process is drawn as a box that contains those of its nodes that have topics. If it is unknown
//! to which node of a process a publisher or subscriber belongs, its edge begins or ends at an
//! extra vertex in that box.
//!
//! A publisher and a subscriber between which no message passes are connected by a dashed edge. A
//! subscriber that no publisher of its topic matches has no edge from the topic.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::iter::Sum;

use super::model::{Graph, Topic};
use crate::output::format::{count, rate, visible};
use crate::process::ProcessKey;

/// A vertex of the drawn graph that is not a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Vertex {
    Node(usize),
    /// The vertex for those publishers and subscribers of a process whose node is not known.
    Process(ProcessKey),
}

/// An edge of the drawn graph. The values of an edge between a vertex and a topic are the vertex,
/// the index of the topic, and the label of the edge.
#[derive(Debug)]
enum Edge {
    Writes(Vertex, usize, String),
    Reads(usize, Vertex, String),
    /// Two vertices between which no message passes, and the label of the edge.
    Unmatched(Vertex, Vertex, String),
}

impl Graph {
    pub(super) fn to_dot(&self) -> String {
        let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut text = "digraph topics {\n    rankdir = LR\n".to_owned();
        let edges = self.edges();
        for (process, vertices) in self.vertices(&edges) {
            let label = escape(&self.process_label(process));
            let id = self.process_identifier(process);
            if vertices == [Vertex::Process(process)] {
                // Writing to a string does not fail, here and below.
                let _ = writeln!(text, "    p{id} [shape=box, label=\"{label}\"]");
                continue;
            }
            let _ = writeln!(
                text,
                "    subgraph cluster_{id} {{\n        label=\"{label}\""
            );
            for vertex in vertices {
                let label = escape(&self.vertex_name(vertex));
                let vertex = self.vertex_identifier(vertex);
                let _ = writeln!(text, "        {vertex} [shape=box, label=\"{label}\"]");
            }
            text += "    }\n";
        }
        for (index, topic) in self.topics.iter().enumerate() {
            let label = escape(&topic.topic);
            let _ = writeln!(text, "    t{index} [label=\"{label}\"]");
        }
        let id = |vertex| self.vertex_identifier(vertex);
        for edge in edges {
            let _ = match edge {
                Edge::Writes(vertex, topic, label) => {
                    writeln!(text, "    {} -> t{topic} [label=\"{label}\"]", id(vertex))
                }
                Edge::Reads(topic, vertex, label) => {
                    writeln!(text, "    t{topic} -> {} [label=\"{label}\"]", id(vertex))
                }
                Edge::Unmatched(from, to, label) => {
                    let label = escape(&label);
                    let style = "style=dashed, color=red, constraint=false";
                    let (from, to) = (id(from), id(to));
                    writeln!(text, "    {from} -> {to} [{style}, label=\"{label}\"]")
                }
            };
        }
        text + "}\n"
    }

    pub(super) fn to_mermaid(&self) -> String {
        let escape = |text: &str| {
            let text = text.replace('#', "#35;").replace('"', "#quot;");
            text.replace('<', "#lt;").replace('>', "#gt;")
        };
        let mut text = "flowchart LR\n".to_owned();
        let edges = self.edges();
        for (process, vertices) in self.vertices(&edges) {
            let label = escape(&self.process_label(process));
            let id = self.process_identifier(process);
            if vertices == [Vertex::Process(process)] {
                let _ = writeln!(text, "    p{id}[\"{label}\"]");
                continue;
            }
            let _ = writeln!(text, "    subgraph g{id}[\"{label}\"]");
            for vertex in vertices {
                let label = escape(&self.vertex_name(vertex));
                let vertex = self.vertex_identifier(vertex);
                let _ = writeln!(text, "        {vertex}[\"{label}\"]");
            }
            text += "    end\n";
        }
        for (index, topic) in self.topics.iter().enumerate() {
            let label = escape(&topic.topic);
            let _ = writeln!(text, "    t{index}([\"{label}\"])");
        }
        let id = |vertex| self.vertex_identifier(vertex);
        for edge in edges {
            let _ = match edge {
                Edge::Writes(vertex, topic, label) if label.is_empty() => {
                    writeln!(text, "    {} --> t{topic}", id(vertex))
                }
                Edge::Writes(vertex, topic, label) => {
                    writeln!(text, "    {} -->|\"{label}\"| t{topic}", id(vertex))
                }
                Edge::Reads(topic, vertex, label) if label.is_empty() => {
                    writeln!(text, "    t{topic} --> {}", id(vertex))
                }
                Edge::Reads(topic, vertex, label) => {
                    writeln!(text, "    t{topic} -->|\"{label}\"| {}", id(vertex))
                }
                Edge::Unmatched(from, to, label) => {
                    let (from, to) = (id(from), id(to));
                    writeln!(text, "    {from} -.-x|\"{}\"| {to}", escape(&label))
                }
            };
        }
        text
    }

    /// Returns the edges of all topics. For each topic, the edges of its publishers come first,
    /// then those of its subscribers.
    fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (index, topic) in self.topics.iter().enumerate() {
            let rates = topic
                .publishers
                .iter()
                .map(|one| (one.process, one.rate_hz));
            for (process, hertz) in group_by_process(rates) {
                let endpoints =
                    ProcessEndpoints::of(self.writer_node_indices(topic, process), process, &hertz);
                edges.extend(endpoints.edges().map(|(vertex, hertz)| {
                    let label = hertz.map(|hertz| rate(hertz) + endpoints.label_suffix());
                    let label = label.unwrap_or_default();
                    Edge::Writes(vertex, index, label)
                }));
            }
            let fed = topic
                .subscribers
                .iter()
                .filter(|one| !topic.matches_no_publisher(one));
            let losses = fed.map(|one| (one.process, one.lost));
            for (process, lost) in group_by_process(losses) {
                let endpoints =
                    ProcessEndpoints::of(self.reader_node_indices(topic, process), process, &lost);
                edges.extend(endpoints.edges().map(|(vertex, lost)| {
                    let label_suffix = if lost > 0 {
                        endpoints.label_suffix()
                    } else {
                        ""
                    };
                    Edge::Reads(index, vertex, loss_label(lost) + label_suffix)
                }));
            }
            edges.extend(self.unmatched_edges(topic));
        }
        edges
    }

    /// Returns an edge for each pair of vertices of the topic between which no message passes.
    fn unmatched_edges(&self, topic: &Topic) -> impl Iterator<Item = Edge> {
        let vertices = |nodes: Vec<usize>, process| match nodes.as_slice() {
            [] => vec![Vertex::Process(process)],
            nodes => nodes.iter().copied().map(Vertex::Node).collect(),
        };
        let mut pairs = BTreeSet::new();
        for publisher in &topic.publishers {
            for subscriber in &topic.subscribers {
                let Some(cause) = topic.mismatch(publisher, subscriber) else {
                    continue;
                };
                let to = vertices(
                    self.reader_node_indices(topic, subscriber.process),
                    subscriber.process,
                );
                let writers = self.writer_node_indices(topic, publisher.process);
                for from in vertices(writers, publisher.process) {
                    pairs.extend(to.iter().map(|to| (from, *to, cause)));
                }
            }
        }
        let name = visible(&topic.topic);
        pairs.into_iter().map(move |(from, to, cause)| {
            let label = format!("{name}: no message passes ({})", cause.json_name());
            Edge::Unmatched(from, to, label)
        })
    }

    /// Returns the key of each process, together with the vertices of the process that have edges.
    fn vertices(&self, edges: &[Edge]) -> Vec<(ProcessKey, Vec<Vertex>)> {
        let endpoints = edges.iter().flat_map(|edge| match edge {
            Edge::Writes(vertex, ..) | Edge::Reads(_, vertex, _) => vec![*vertex],
            Edge::Unmatched(from, to, _) => vec![*from, *to],
        });
        let endpoints: BTreeSet<Vertex> = endpoints.collect();
        let of_process = |process: ProcessKey| {
            let vertices = endpoints.iter().copied();
            vertices.filter(move |vertex| self.vertex_process(*vertex) == process)
        };
        let processes = self.processes.keys();
        processes
            .map(|process| (*process, of_process(*process).collect()))
            .collect()
    }

    fn vertex_process(&self, vertex: Vertex) -> ProcessKey {
        match vertex {
            Vertex::Node(node) => self.nodes[node].process,
            Vertex::Process(process) => process,
        }
    }

    /// Returns the text that identifies the vertex in the picture.
    fn vertex_identifier(&self, vertex: Vertex) -> String {
        match vertex {
            Vertex::Node(node) => format!("n{node}"),
            Vertex::Process(process) => format!("p{}", self.process_identifier(process)),
        }
    }

    fn vertex_name(&self, vertex: Vertex) -> String {
        match vertex {
            Vertex::Node(node) => visible(&self.nodes[node].path()),
            Vertex::Process(_) => "other".to_owned(),
        }
    }
}

/// Groups the values of endpoints, such as the rates of publishers, by their process.
fn group_by_process<T>(
    endpoints: impl Iterator<Item = (ProcessKey, T)>,
) -> BTreeMap<ProcessKey, Vec<T>> {
    let mut processes = BTreeMap::<ProcessKey, Vec<T>>::new();
    endpoints.for_each(|(process, end)| processes.entry(process).or_default().push(end));
    processes
}

/// The publishers or the subscribers of a topic in one process. `T` is the value that an edge
/// shows: a rate, or a number of lost messages.
#[derive(Debug)]
enum ProcessEndpoints<'a, T> {
    /// All endpoints in the process belong to this vertex. There is one value for each endpoint.
    OfVertex(Vertex, &'a [T]),
    /// The endpoints in the process belong to these nodes, but it is unknown which endpoint belongs
    /// to which node. The value is the sum over all endpoints.
    OfSeveralNodes(Vec<usize>, T),
}

impl<'a, T: Copy + Sum> ProcessEndpoints<'a, T> {
    fn of(nodes: Vec<usize>, process: ProcessKey, endpoints: &'a [T]) -> Self {
        match nodes.as_slice() {
            [] => Self::OfVertex(Vertex::Process(process), endpoints),
            [node] => Self::OfVertex(Vertex::Node(*node), endpoints),
            _ => Self::OfSeveralNodes(nodes, endpoints.iter().copied().sum()),
        }
    }

    /// Returns the edges to draw, each with the value that it shows. There is one edge for each
    /// endpoint. If it is unknown which node an endpoint belongs to, there is one edge for each
    /// node, with the sum over all endpoints.
    fn edges(&self) -> impl Iterator<Item = (Vertex, T)> {
        let (own, shared) = match self {
            Self::OfVertex(vertex, endpoints) => (Some((vertex, endpoints)), None),
            Self::OfSeveralNodes(nodes, sum) => (None, Some((nodes, sum))),
        };
        let own = own.into_iter();
        let own = own.flat_map(|(vertex, endpoints)| endpoints.iter().map(|end| (*vertex, *end)));
        let shared = shared.into_iter();
        let shared =
            shared.flat_map(|(nodes, sum)| nodes.iter().map(|node| (Vertex::Node(*node), *sum)));
        own.chain(shared)
    }

    /// Returns the text that is appended to the label of an edge which shows a sum; empty for other
    /// edges.
    const fn label_suffix(&self) -> &'static str {
        match self {
            Self::OfVertex(..) => "",
            Self::OfSeveralNodes(..) => " together",
        }
    }
}

/// Returns the label of an edge to a subscriber, which is the number of lost messages; empty if no
/// messages were lost.
fn loss_label(lost: u64) -> String {
    if lost > 0 {
        format!("lost {}", count(lost))
    } else {
        String::new()
    }
}
