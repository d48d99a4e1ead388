//! Compares computed graphs with their definition, on small and on random cases.

use super::*;
use crate::scheduler::Hertz;
use crate::value::Value;

fn node(name: &str, order: i32, reads: &[&str], writes: &[&str]) -> GraphNode {
    let owned = |topics: &[&str]| topics.iter().map(|topic| (*topic).to_owned()).collect();
    GraphNode {
        name: name.to_owned(),
        class: NodeClass::BestEffort,
        order,
        rate: None,
        reads: owned(reads),
        writes: owned(writes),
    }
}

/// Returns a graph of sensors, a controller, a motor and a log.
fn robot() -> Graph {
    let control = node("control", 0, &["imu", "scan"], &["cmd_vel"]);
    Graph::new([
        GraphNode {
            class: NodeClass::RealTime,
            rate: Some(100.hz()),
            ..control
        },
        node("motor", 0, &["cmd_vel"], &[]),
        node("imu", 0, &[], &["imu"]),
        node("laser", 0, &[], &["scan"]),
        node("log", 0, &["cmd_vel", "imu"], &[]),
    ])
}

#[test]
fn writers_come_before_readers() {
    let graph = robot();
    let names = graph.nodes().iter().map(|node| node.name.as_str());
    assert!(names.eq(["control", "imu", "laser", "log", "motor"]));
    assert_eq!(graph.ranks(), [1, 0, 0, 2, 2]);
    assert_eq!((graph.rank("log"), graph.rank("nobody")), (Some(2), None));
    assert!(graph.cycles().is_empty() && graph.findings().is_empty());
}

#[test]
fn an_order_goes_first_and_a_contradiction_is_found() {
    let graph = Graph::new([
        node("late", 1, &[], &["topic"]),
        node("early", 0, &["topic"], &["answer"]),
        node("after", 2, &["answer"], &[]),
        node("same", 1, &["topic"], &[]),
    ]);
    let ranks = ["early", "late", "same", "after"].map(|name| graph.rank(name));
    assert_eq!(ranks, [Some(0), Some(0), Some(1), Some(1)]);
    let found: Vec<_> = graph.findings().iter().map(ToString::to_string).collect();
    let wanted = "'early' (order 0) reads 'topic' before 'late' (order 1) writes it, so it reads \
                  the messages of the previous round";
    assert_eq!(found, [wanted]);
}

#[test]
fn a_cycle_is_broken_before_its_first_node_or_where_an_order_says() {
    let plant = [
        ("control", "state", "command"),
        ("motor", "command", "torque"),
    ];
    let cycle = |orders: [i32; 3]| {
        let mut nodes: Vec<_> = plant
            .iter()
            .zip(orders)
            .map(|((name, reads, writes), order)| node(name, order, &[reads], &[writes]))
            .collect();
        nodes.push(node("world", orders[2], &["torque"], &["state"]));
        Graph::new(nodes)
    };
    let graph = cycle([0, 0, 0]);
    assert_eq!(graph.ranks(), [0, 1, 2]);
    assert_eq!(graph.cycles(), [["control", "motor", "world"]]);
    assert!(graph.findings().is_empty());
    // The world runs first.
    let graph = cycle([0, 0, -1]);
    assert_eq!(graph.ranks(), [1, 2, 0]);
    assert!(
        graph.findings().is_empty(),
        "one node of a cycle has to read old messages"
    );
    // A node that reads its own topic waits for no other node.
    let alone = Graph::new([
        node("echo", 0, &["topic"], &["topic"]),
        node("z", 0, &["topic"], &[]),
    ]);
    assert_eq!(
        (alone.ranks(), alone.cycles()),
        ([0, 1].as_slice(), vec![vec!["echo"]])
    );
}

#[test]
fn topics_without_writers_or_readers_are_found() {
    let graph = Graph::new([node("a", 0, &["in"], &["out"]), node("b", 0, &["in"], &[])]);
    let found: Vec<_> = graph
        .unconnected_topics()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found,
        [
            "no node of this program writes 'in', read by 'a', 'b'",
            "no node of this program reads 'out', written by 'a'",
        ]
    );
}

#[test]
fn a_graph_is_shown_as_table_dot_and_mermaid() {
    let table = "\
order  rank  node     class        rate    reads         writes
0      0     imu      best effort  -       -             imu
0      0     laser    best effort  -       -             scan
0      1     control  real-time    100 Hz  imu, scan     cmd_vel
0      2     log      best effort  -       cmd_vel, imu  -
0      2     motor    best effort  -       cmd_vel       -
";
    assert_eq!(robot().to_string(), table);
    let graph = Graph::new([node("a \"b\\", 0, &["c<#>"], &["d"])]);
    assert_eq!(
        graph.to_dot(),
        r#"digraph nodes {
    rankdir = LR
    n0 [shape=box, label="a \"b\\\nbest effort"]
    t0 [label="c<#>"]
    t1 [label="d"]
    t0 -> n0
    n0 -> t1
}
"#
    );
    assert_eq!(
        graph.to_mermaid(),
        r#"flowchart LR
    n0["a #quot;b\<br>best effort"]
    t0(["c#lt;#35;#gt;"])
    t1(["d"])
    t0 --> n0
    n0 --> t1
"#
    );
}

/// A generator of small pseudo-random numbers and of random nodes.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }

    fn topics(&mut self, topics: usize) -> Vec<String> {
        (0..self.below(3))
            .map(|_| format!("t{}", self.below(topics)))
            .collect()
    }

    fn nodes(&mut self) -> Vec<GraphNode> {
        let count = 1 + self.below(8);
        let topics = 1 + self.below(9);
        let orders = 1 + self.below(3);
        let mut one = |index| GraphNode {
            order: self.below(orders) as i32,
            reads: self.topics(topics),
            writes: self.topics(topics),
            ..node(&format!("n{index}"), 0, &[], &[])
        };
        (0..count).map(&mut one).collect()
    }
}

/// Returns true if messages of `from` reach `to` directly. This is the definition of an edge.
fn flows(from: &GraphNode, to: &GraphNode) -> bool {
    from.writes.iter().any(|topic| to.reads.contains(topic))
}

/// Computes the cycles and the ranks slowly, straight from their definitions: finds cycles by the
/// transitive closure, breaks one after the other, and computes ranks by repeated relaxation.
fn naive(nodes: &[GraphNode]) -> (Vec<Vec<usize>>, Vec<usize>) {
    let all = 0..nodes.len();
    let closure = |edges: &Vec<Vec<bool>>| {
        let mut reach = edges.clone();
        for k in all.clone() {
            for i in all.clone() {
                for j in all.clone() {
                    reach[i][j] |= reach[i][k] && reach[k][j];
                }
            }
        }
        reach
    };
    let edge = |i: usize, j: usize| flows(&nodes[i], &nodes[j]);
    let mut edges: Vec<Vec<_>> = all
        .clone()
        .map(|i| all.clone().map(|j| edge(i, j)).collect())
        .collect();
    let reach = closure(&edges);
    let cycle = |i: usize| {
        all.clone()
            .filter(|j| reach[i][*j] && reach[*j][i])
            .collect::<Vec<_>>()
    };
    let mut cycles: Vec<_> = all
        .clone()
        .map(cycle)
        .filter(|cycle| !cycle.is_empty())
        .collect();
    cycles.sort();
    cycles.dedup();
    for (i, j) in all.clone().flat_map(|i| all.clone().map(move |j| (i, j))) {
        edges[i][j] &= nodes[i].order <= nodes[j].order;
    }
    loop {
        let reach = closure(&edges);
        let Some(head) = all.clone().find(|i| reach[*i][*i]) else {
            break;
        };
        let members: Vec<_> = all
            .clone()
            .filter(|j| reach[head][*j] && reach[*j][head])
            .collect();
        members
            .into_iter()
            .for_each(|member| edges[member][head] = false);
    }
    let mut ranks = vec![0; nodes.len()];
    for _ in all.clone() {
        for (i, j) in all.clone().flat_map(|i| all.clone().map(move |j| (i, j))) {
            if edges[i][j] {
                ranks[j] = ranks[j].max(ranks[i] + 1);
            }
        }
    }
    (cycles, ranks)
}

#[test]
fn random_graphs_match_the_definition_in_any_sequence_of_nodes() {
    let mut dice = Dice(1);
    let mut with_cycles = 0;
    let mut deep = 0;
    for round in 0..3000 {
        let mut nodes = dice.nodes();
        let graph = Graph::new(nodes.clone());
        let (cycles, ranks) = naive(graph.nodes());
        assert_eq!(
            (&graph.cycles, &graph.ranks),
            (&cycles, &ranks),
            "round {round}: {graph}"
        );
        with_cycles += usize::from(cycles.iter().any(|cycle| cycle.len() > 2));
        deep += usize::from(ranks.iter().any(|rank| *rank > 3));
        for index in (1..nodes.len()).rev() {
            let other = dice.below(index + 1);
            nodes.swap(index, other);
            nodes[index].reads.reverse();
        }
        assert_eq!(Graph::new(nodes), graph, "round {round}");
    }
    // The random graphs had enough cycles and depth.
    assert!(with_cycles > 300 && deep > 50, "{with_cycles} {deep}");
}

#[test]
fn a_thousand_nodes_on_one_topic_are_ranked() {
    let name = |index| format!("{index:04}");
    let nodes = (0..1000).map(|index| node(&name(index), 0, &["bus"], &["bus"]));
    let graph = Graph::new(nodes);
    assert!(graph.ranks().iter().copied().eq(0..1000));
    assert_eq!(graph.cycles().len(), 1);
}

#[test]
fn a_graph_is_read_back_from_its_value_and_nothing_else_is() {
    let classes = [
        NodeClass::RealTime,
        NodeClass::Compute,
        NodeClass::Event,
        NodeClass::AsyncIo,
        NodeClass::BestEffort,
    ];
    let nodes = classes.iter().zip(-2..).map(|(class, order)| GraphNode {
        name: format!("node \"{order}\""),
        class: *class,
        order,
        rate: (order > 0).then(|| Rate::hz(f64::from(order) / 3.0)),
        reads: vec!["scan".into(), "a/b".into()],
        writes: vec![],
    });
    let graph = Graph::new(nodes);
    let value = graph.to_value();
    assert_eq!(Graph::from_value(&value), Some(graph.clone()));
    let bytes = value.to_msgpack().unwrap();
    let decoded = Value::decode(&bytes).unwrap();
    assert_eq!(Graph::from_value(&decoded), Some(graph));
    let first = |value: &Value| value.get("nodes").unwrap().as_array().unwrap()[0].clone();
    let with_node = |pairs: Vec<(Value, Value)>| {
        Value::from([("nodes", Value::Array(vec![Value::Map(pairs)]))])
    };
    let pairs = first(&value).as_map().unwrap().to_vec();
    // Later versions may add keys, and a node need not have a rate; all else is necessary.
    for index in 0..pairs.len() {
        let mut fewer = pairs.clone();
        let (key, _) = fewer.remove(index);
        let is_optional = key == Value::from("rate_hz");
        let found = Graph::from_value(&with_node(fewer));
        assert_eq!(found.is_some(), is_optional, "{key}");
    }
    let more = [pairs, vec![("colour".into(), "red".into())]].concat();
    assert!(Graph::from_value(&with_node(more)).is_some());
    for other in [Value::Nil, Value::from([("nodes", Value::from(1))])] {
        assert_eq!(Graph::from_value(&other), None);
    }
}
