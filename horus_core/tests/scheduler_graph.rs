//! Nodes whose ends the scheduler knows: it runs writers before readers, and shows who is who.

use horus_testing as _;

mod private;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::Class;
use private::Private;

/// Names of nodes in the order of their turns.
type Turns = Arc<Mutex<Vec<&'static str>>>;

/// A node: its name, order, and the topics that it reads and writes.
type Described = (&'static str, i32, &'static [&'static str], &'static [&'static str]);

/// Adds a node that notes each of its turns, and stops the scheduler in its third.
fn add(scheduler: &mut Scheduler, (name, order, reads, writes): Described, turns: &Turns) {
    let mut builder = scheduler.node(name);
    let mut inputs: Vec<Subscriber<CmdVel>> =
        reads.iter().map(|topic| builder.subscriber(topic).unwrap()).collect();
    let mut outputs: Vec<Publisher<CmdVel>> =
        writes.iter().map(|topic| builder.publisher(topic).unwrap()).collect();
    let turns = Arc::clone(turns);
    let node = move |context: &mut Context<'_>| {
        turns.lock().unwrap().push(name);
        // What writers have sent in this round is there.
        for input in &mut inputs {
            assert!(input.recv().is_some() || context.tick() == 0, "{name}: nothing to read");
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

/// The turns of these nodes, on the main thread or simulated.
fn turns(nodes: &[Described], is_simulated: bool) -> Vec<&'static str> {
    let (private, turns) = (Private::new(), Turns::default());
    let mut scheduler = private.scheduler();
    nodes.iter().for_each(|node| add(&mut scheduler, *node, &turns));
    if is_simulated {
        scheduler.simulate(Duration::from_secs(1), 1, 0).into_result().unwrap();
    } else {
        scheduler.run().unwrap();
    }
    let mut turns = turns.lock().unwrap();
    // The last rounds are as the first one.
    let rest = turns.len() - nodes.len();
    let round = turns.split_off(rest);
    assert!(turns.chunks(nodes.len()).all(|other| other == round), "{turns:?}");
    round
}

#[test]
fn writers_run_before_readers_however_they_were_added() {
    let mut nodes = CHAIN;
    for _ in 0..CHAIN.len() {
        nodes.rotate_left(1);
        let place = |turns: &[&str], name| turns.iter().position(|turn| *turn == name).unwrap();
        let main = turns(&nodes, false);
        let [laser, control, log] = ["laser", "control", "a_log"].map(|name| place(&main, name));
        assert!(laser < control && control < log, "{main:?}");
        assert_eq!(turns(&nodes, true), ["bystander", "laser", "control", "a_log"]);
    }
    // Where nothing follows from topics, as they were added.
    let free: [Described; 3] = [("c", 0, &[], &[]), ("a", 0, &[], &[]), ("b", 0, &[], &[])];
    assert_eq!(turns(&free, false), ["c", "a", "b"]);
    assert_eq!(turns(&free, true), ["a", "b", "c"]);
}

#[test]
fn an_order_that_was_given_counts_more() {
    let mut nodes = CHAIN;
    nodes[0].1 = -1;
    assert_eq!(turns(&nodes, true), ["a_log", "bystander", "laser", "control"]);
    assert_eq!(turns(&nodes, false)[0], "a_log");
}

#[test]
fn a_cycle_is_broken_where_its_names_begin() {
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
fn the_graph_knows_every_end_that_builders_were_told_of() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let quiet = |_: &mut Context<'_>| {};
    let mut builder = scheduler.node("control").rate(100.hz());
    let _ends = (builder.subscriber::<Imu>("imu").unwrap(), builder.subscriber::<Imu>("imu"));
    let _motors = builder.publisher::<CmdVel>("cmd_vel").unwrap();
    // What could not be opened is no end.
    let refused = builder.publisher::<Imu>("cmd_vel").unwrap_err().to_string();
    assert!(refused.contains("another message"), "{refused}");
    assert!(builder.subscriber::<Imu>("no//name").is_err());
    builder.build(quiet).unwrap();
    let scan = private.subscriber::<LaserScan>("scan", Qos::sensor_data());
    let odometry = private.publisher::<Odometry>("odometry", Qos::new());
    let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    let slam = scheduler.node("slam").on(&scan).reads(&commands).writes(&odometry);
    slam.order(1).build(quiet).unwrap();

    let graph = scheduler.graph();
    let [control, slam] = graph.nodes() else { panic!("{graph}") };
    assert_eq!(
        (control.reads.join(" "), control.writes.join(" ")),
        ("imu".into(), "cmd_vel".into())
    );
    assert_eq!((control.class, control.rate), (Class::RealTime, Some(100.hz())));
    assert_eq!(
        (slam.reads.join(" "), slam.writes.join(" ")),
        ("cmd_vel scan".into(), "odometry".into())
    );
    assert_eq!((slam.class, slam.order, slam.rate), (Class::Event, 1, None));
    assert_eq!((graph.rank("control"), graph.rank("slam")), (Some(0), Some(1)));
    // Made in the namespace that was given, and nowhere else.
    assert_eq!(private.topic_files().len(), 4);
}
