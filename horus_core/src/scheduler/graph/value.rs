//! Converts graphs to and from values, the messages of a scheduler's graph topic.

use super::{Graph, GraphNode};
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::api::rate::Rate;
use crate::value::Value;

/// The word that stands for each class of node in a published graph. Programs in other languages
/// read these words.
const NODE_CLASS_NAMES: [(NodeClass, &str); 6] = [
    (NodeClass::RealTime, "real_time"),
    (NodeClass::Compute, "compute"),
    (NodeClass::Event, "event"),
    (NodeClass::AsyncIo, "async_io"),
    (NodeClass::BestEffort, "best_effort"),
    (NodeClass::Actors, "actors"),
];

impl Graph {
    /// Returns the graph as schedulers publish it: a map with the list `nodes`. Each node is a map
    /// with `name`, `class` (such as `real_time`), `order`, `rate_hz` (nil without a rate), and the
    /// lists of topics `reads` and `writes`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let nodes = self.nodes.iter().map(GraphNode::to_value).collect();
        Value::from([("nodes", Value::Array(nodes))])
    }

    /// Converts a value that [`Self::to_value`] returned, perhaps in another version of this
    /// library, back into a graph. Unknown keys are ignored. Returns `None` if the value does not
    /// contain a graph.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let nodes = value.get("nodes")?.as_array()?.iter();
        let nodes: Option<Vec<_>> = nodes.map(GraphNode::from_value).collect();
        nodes.map(Self::new)
    }
}

impl GraphNode {
    fn to_value(&self) -> Value {
        let topics = |names: &[String]| {
            let names = names.iter().map(|name| Value::from(name.as_str()));
            Value::Array(names.collect())
        };
        let class = NODE_CLASS_NAMES
            .iter()
            .find(|(class, _)| *class == self.class);
        Value::from([
            ("name", Value::from(self.name.as_str())),
            ("class", class.map_or("", |(_, word)| word).into()),
            ("order", self.order.into()),
            (
                "rate_hz",
                self.rate
                    .map_or(Value::Nil, |rate| Value::Float(rate.hertz())),
            ),
            ("reads", topics(&self.reads)),
            ("writes", topics(&self.writes)),
        ])
    }

    fn from_value(value: &Value) -> Option<Self> {
        let topics = |key: &str| -> Option<Vec<String>> {
            let names = value.get(key)?.as_array()?.iter();
            names.map(|name| name.as_str().map(str::to_owned)).collect()
        };
        let class = value.get("class")?.as_str()?;
        let rate = value.get("rate_hz").and_then(Value::as_f64);
        Some(Self {
            name: value.get("name")?.as_str()?.to_owned(),
            class: NODE_CLASS_NAMES.iter().find(|(_, word)| *word == class)?.0,
            order: i32::try_from(value.get("order")?.as_i64()?).ok()?,
            rate: rate.and_then(|hertz| Rate::hz(hertz).check().ok()),
            reads: topics("reads")?,
            writes: topics("writes")?,
        })
    }
}
