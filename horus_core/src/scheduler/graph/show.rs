//! Shows graphs as text: as a table, and in the languages of Graphviz and Mermaid.

use std::fmt::{self, Write as _};

use super::{Graph, GraphNode, endpoints_by_topic};

impl Graph {
    /// Returns the graph in the language of Graphviz, from which `dot -Tsvg` makes a picture. Boxes
    /// are nodes, and ellipses are topics.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = "digraph nodes {\n    rankdir = LR\n".to_owned();
        self.draw_shapes(&mut text, |text, shape| match shape {
            PictureShape::Node(id, node) => {
                let name = escape_dot(&node.name);
                let label = describe_node(node);
                writeln!(text, "    n{id} [shape=box, label=\"{name}\\n{label}\"]")
            }
            PictureShape::Topic(id, name) => {
                writeln!(text, "    t{id} [label=\"{}\"]", escape_dot(name))
            }
            PictureShape::Writes(node, topic) => writeln!(text, "    n{node} -> t{topic}"),
            PictureShape::Reads(topic, node) => writeln!(text, "    t{topic} -> n{node}"),
        });
        text + "}\n"
    }

    /// Returns the graph in the language of Mermaid, which many web pages display as a picture.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        let mut text = "flowchart LR\n".to_owned();
        self.draw_shapes(&mut text, |text, shape| match shape {
            PictureShape::Node(id, node) => {
                let name = escape_mermaid(&node.name);
                let label = describe_node(node);
                writeln!(text, "    n{id}[\"{name}<br>{label}\"]")
            }
            PictureShape::Topic(id, name) => {
                writeln!(text, "    t{id}([\"{}\"])", escape_mermaid(name))
            }
            PictureShape::Writes(node, topic) => writeln!(text, "    n{node} --> t{topic}"),
            PictureShape::Reads(topic, node) => writeln!(text, "    t{topic} --> n{node}"),
        });
        text
    }

    /// Calls `draw` with each shape of the picture, and with `text`: first the nodes and topics,
    /// then the edges between them.
    fn draw_shapes(
        &self,
        text: &mut String,
        mut draw: impl FnMut(&mut String, PictureShape<'_>) -> fmt::Result,
    ) {
        let topics = endpoints_by_topic(&self.nodes);
        let nodes = self
            .nodes
            .iter()
            .enumerate()
            .map(|(id, node)| PictureShape::Node(id, node));
        let names = topics
            .keys()
            .enumerate()
            .map(|(id, name)| PictureShape::Topic(id, name));
        let edges = topics.values().enumerate().flat_map(|(id, endpoints)| {
            let writes = endpoints
                .writers
                .iter()
                .map(move |node| PictureShape::Writes(*node, id));
            writes.chain(
                endpoints
                    .readers
                    .iter()
                    .map(move |node| PictureShape::Reads(id, *node)),
            )
        });
        for shape in nodes.chain(names).chain(edges) {
            // Writing to a string does not fail.
            let _ = draw(text, shape);
        }
    }
}

/// A shape of a picture of the graph: a node, a topic or an edge. The numbers are indices into the
/// lists of nodes and of topics.
enum PictureShape<'a> {
    Node(usize, &'a GraphNode),
    Topic(usize, &'a str),
    Writes(usize, usize),
    Reads(usize, usize),
}

fn describe_node(node: &GraphNode) -> String {
    match node.rate {
        Some(rate) => format!("{}, {rate}", node.class),
        None => node.class.to_string(),
    }
}

fn escape_dot(name: &str) -> String {
    name.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace(char::is_control, " ")
}

fn escape_mermaid(name: &str) -> String {
    let name = name.replace('#', "#35;").replace('"', "#quot;");
    name.replace('<', "#lt;")
        .replace('>', "#gt;")
        .replace(char::is_control, " ")
}

/// Shows a table of the nodes in the order in which they run, then the cycles and the likely
/// mistakes.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["order", "rank", "node", "class", "rate", "reads", "writes"];
        let mut rows = vec![head.map(str::to_owned)];
        let mut turns: Vec<_> = (0..self.nodes.len()).collect();
        // Stable: nodes of one rank stay sorted by name.
        turns.sort_by_key(|node| (self.nodes[*node].order, self.ranks[*node]));
        for (node, rank) in turns
            .iter()
            .map(|node| (&self.nodes[*node], self.ranks[*node]))
        {
            let list = |topics: &[String]| match topics {
                [] => "-".to_owned(),
                topics => topics.join(", "),
            };
            rows.push([
                node.order.to_string(),
                rank.to_string(),
                node.name.clone(),
                node.class.to_string(),
                node.rate.map_or("-".to_owned(), |rate| rate.to_string()),
                list(&node.reads),
                list(&node.writes),
            ]);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: [_; 7] = std::array::from_fn(|column| width(column).unwrap_or(0));
        for row in &rows {
            let cells = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        for cycle in self.cycles() {
            writeln!(f, "in a cycle: {}", cycle.join(", "))?;
        }
        self.findings()
            .iter()
            .try_for_each(|finding| writeln!(f, "{finding}"))
    }
}
