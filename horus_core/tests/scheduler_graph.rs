//! The graph of nodes: the scheduler runs writers before readers, and shows the endpoints that it
//! knows.

use horus_testing as _;

mod private;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::NodeClass;
use private::Private;

/// The names of nodes in the order of their turns.
type Turns = Arc<Mutex<Vec<&'static str>>>;

/// A node: its name, its order, and the topics that it reads and writes.
type Described = (
    &'static str,
    i32,
    &'static [&'static str],
    &'static [&'static str],
);

/// Adds a node that logs each of its turns, and stops the scheduler in its third.
fn add(scheduler: &mut Scheduler, (name, order, reads, writes): Described, turns: &Turns) {
    let mut builder = scheduler.node(name);
    let mut inputs: Vec<Subscriber<CmdVel>> = reads
        .iter()
        .map(|topic| builder.subscriber(topic).unwrap())
        .collect();
    let mut outputs: Vec<Publisher<CmdVel>> = writes
        .iter()
        .map(|topic| builder.publisher(topic).unwrap())
        .collect();
    let turns = Arc::clone(turns);
    let node = move |context: &mut Context<'_>| {
        turns.lock().unwrap().push(name);
        // The messages that writers sent in this round are there.
        for input in &mut inputs {
            assert!(
                input.recv().is_some() || context.tick() == 0,
                "{name}: nothing to read"
            );
        }
        for output in &mut outputs {
            output.send(CmdVel::default()).unwrap();
        }
        if context.tick() == 2 {
            context.stop();
        }
    };
    builder.order(order).build(node).unwrap();
}

const CHAIN: [Described; 4] = [
    ("a_log", 0, &["command"], &[]),
    ("control", 0, &["scan"], &["command"]),
    ("laser", 0, &[], &["scan"]),
    ("bystander", 0, &[], &[]),
];

/// Returns the turns of these nodes in one round, on the main thread or simulated.
fn turns(nodes: &[Described], is_simulated: bool) -> Vec<&'static str> {
    let private = Private::new();
    let turns = Turns::default();
    let mut scheduler = private.scheduler();
    nodes
        .iter()
        .for_each(|node| add(&mut scheduler, *node, &turns));
    if is_simulated {
        scheduler
            .simulate(Duration::from_secs(1), 1, 0)
            .into_result()
            .unwrap();
    } else {
        scheduler.run().unwrap();
    }
    let mut turns = turns.lock().unwrap();
    // All rounds are the same.
    let rest = turns.len() - nodes.len();
    let round = turns.split_off(rest);
    assert!(
        turns.chunks(nodes.len()).all(|other| other == round),
        "{turns:?}"
    );
    round
}

#[test]
fn writers_run_before_readers_in_whatever_order_they_were_added() {
    let mut nodes = CHAIN;
    for _ in 0..CHAIN.len() {
        nodes.rotate_left(1);
        let place = |turns: &[&str], name| turns.iter().position(|turn| *turn == name).unwrap();
        let main = turns(&nodes, false);
        let [laser, control, log] = ["laser", "control", "a_log"].map(|name| place(&main, name));
        assert!(laser < control && control < log, "{main:?}");
        assert_eq!(
            turns(&nodes, true),
            ["bystander", "laser", "control", "a_log"]
        );
    }
    // Nodes without topics run in the order in which they were added.
    let free: [Described; 3] = [("c", 0, &[], &[]), ("a", 0, &[], &[]), ("b", 0, &[], &[])];
    assert_eq!(turns(&free, false), ["c", "a", "b"]);
    assert_eq!(turns(&free, true), ["a", "b", "c"]);
}

#[test]
fn a_given_order_takes_precedence_over_topics() {
    let mut nodes = CHAIN;
    nodes[0].1 = -1;
    assert_eq!(
        turns(&nodes, true),
        ["a_log", "bystander", "laser", "control"]
    );
    assert_eq!(turns(&nodes, false)[0], "a_log");
}

#[test]
fn a_cycle_is_broken_before_its_first_node_by_name() {
    let cycle: [Described; 3] = [
        ("world", 0, &["torque"], &["state"]),
        ("motor", 0, &["command"], &["torque"]),
        ("control", 0, &["state"], &["command"]),
    ];
    for is_simulated in [false, true] {
        assert_eq!(turns(&cycle, is_simulated), ["control", "motor", "world"]);
    }
}

#[test]
fn the_graph_has_every_endpoint_that_builders_know() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let quiet = |_: &mut Context<'_>| {};
    let mut builder = scheduler.node("control").rate(100.hz());
    let _endpoints = (
        builder.subscriber::<Imu>("imu").unwrap(),
        builder.subscriber::<Imu>("imu"),
    );
    let _motors = builder.publisher::<CmdVel>("cmd_vel").unwrap();
    // An endpoint that could not be opened is not in the graph.
    let strict = Qos::new().strict(true);
    let refused = builder.publisher_with::<Imu>("cmd_vel", strict);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("another message"), "{refused}");
    assert!(builder.subscriber::<Imu>("no//name").is_err());
    builder.build(quiet).unwrap();
    let scan = private.subscriber::<LaserScan>("scan", Qos::sensor_data());
    let odometry = private.publisher::<Odometry>("odometry", Qos::new());
    let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    let slam = scheduler
        .node("slam")
        .on(&scan)
        .reads(&commands)
        .writes(&odometry);
    slam.order(1).build(quiet).unwrap();

    let graph = scheduler.graph();
    let [control, slam] = graph.nodes() else {
        panic!("{graph}")
    };
    assert_eq!(
        (control.reads.join(" "), control.writes.join(" ")),
        ("imu".into(), "cmd_vel".into())
    );
    assert_eq!(
        (control.class, control.rate),
        (NodeClass::RealTime, Some(100.hz()))
    );
    assert_eq!(
        (slam.reads.join(" "), slam.writes.join(" ")),
        ("cmd_vel scan".into(), "odometry".into())
    );
    assert_eq!(
        (slam.class, slam.order, slam.rate),
        (NodeClass::Event, 1, None)
    );
    assert_eq!(
        (graph.rank("control"), graph.rank("slam")),
        (Some(0), Some(1))
    );
    // All topics are in the given namespace.
    assert_eq!(private.topic_files().len(), 4);
}

/// ROS programs write the slash; the topic is the same without it.
#[test]
fn a_leading_slash_makes_no_other_topic() {
    let nodes: [Described; 2] = [
        ("reader", 0, &["scan"], &[]),
        ("writer", 0, &[], &["/scan"]),
    ];
    for is_simulated in [false, true] {
        assert_eq!(turns(&nodes, is_simulated), ["writer", "reader"]);
    }
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let idle = |_: &mut Context<'_>| {};
    let scan = private.subscriber::<LaserScan>("/scan", Qos::sensor_data());
    let reader = scheduler.node("reader").on(&scan).reads_topic("/map");
    reader.build(idle).unwrap();
    let mut writer = scheduler.node("writer").writes_topic("scan");
    let _map = writer.publisher::<LaserScan>("map").unwrap();
    writer.build(idle).unwrap();
    let graph = scheduler.graph();
    assert_eq!(graph.nodes()[0].reads, ["map", "scan"]);
    assert_eq!(graph.nodes()[1].writes, ["map", "scan"]);
    assert!(graph.findings().is_empty(), "{:?}", graph.findings());
}
