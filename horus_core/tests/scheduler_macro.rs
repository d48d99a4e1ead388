//! Nodes declared by `node!`.

use horus_testing as _;

mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use horus_core::introspect::Inspector;
use horus_core::node;
use horus_core::prelude::*;
use horus_core::scheduler::{NodeClass, PlanError, StopReason};
use private::Private;

/// The number of shutdowns.
static SHUT_DOWN: AtomicU64 = AtomicU64::new(0);

node! {
    /// Publishes the rotation of the robot.
    struct Gyroscope {
        publish imu: Imu = "imu",
        state turn: f64 = 1.0,
    }

    fn tick(&mut self, context) -> Result<()> {
        self.turn = context.tick() as f64;
        let angular_velocity = [0.0, 0.0, self.turn];
        self.imu.send(Imu { angular_velocity, ..Imu::default() })?;
        Ok(())
    }
}

node! {
    /// Steers against the rotation.
    #[derive(Debug)]
    pub(crate) struct Controller {
        wake imu: Imu = "imu",
        /// The commands to the motors.
        publish motors: CmdVel = "cmd_vel",
        state gain: f32 = 0.5,
        state errors: Vec<String> = Vec::new(),
    }

    fn tick(&mut self) -> NodeResult {
        let Some(imu) = self.imu.recv() else { return Ok(()) };
        if imu.angular_velocity[2] == 5.0 {
            return Err("on purpose".into());
        }
        let errors = self.errors.len() as f32;
        let turn = imu.angular_velocity[2] as f32;
        self.motors.send(CmdVel::new(errors, -self.gain * turn))?;
        Ok(())
    }

    fn on_error(&mut self, error: &horus_core::scheduler::NodeError) {
        self.errors.push(error.to_string());
    }

    fn shutdown(&mut self) -> NodeResult {
        SHUT_DOWN.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

node! {
    struct Motor {
        input commands: CmdVel = ("cmd_vel", Duration::from_millis(100)),
        subscribe odometry: Odometry = "odometry",
        state ticks: u64 = 0,
    }

    fn tick(&mut self, context) {
        self.ticks += 1;
        if self.odometry.recv().is_some() {
            return;
        }
        if self.ticks == 10 {
            let command = self.commands.fresh().unwrap();
            assert_eq!((command.linear, command.angular), (1.0, -4.5));
            context.stop();
        }
    }
}

node! {
    struct Idle {}
    fn tick(&mut self) {}
}

#[test]
fn declared_nodes_run_and_the_scheduler_knows_their_endpoints() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let ignore = horus_core::scheduler::FailurePolicy::Ignore;
    Motor::build(scheduler.node("motor").rate(100.hz()).order(1)).unwrap();
    Controller::build(scheduler.node("control").failure_policy(ignore)).unwrap();
    Gyroscope::build(scheduler.node("gyroscope").rate(100.hz())).unwrap();
    Idle::build(scheduler.node("idle")).unwrap();
    let graph = scheduler.graph();
    let ranks = ["gyroscope", "control", "motor", "idle"].map(|name| graph.rank(name));
    assert_eq!(ranks, [Some(0), Some(1), Some(2), Some(0)], "{graph}");
    let control = &graph.nodes()[0];
    assert_eq!(
        (control.name.as_str(), control.class),
        ("control", NodeClass::Event)
    );
    assert_eq!(
        (control.reads.join(" "), control.writes.join(" ")),
        ("imu".into(), "cmd_vel".into())
    );
    assert_eq!(graph.nodes()[3].reads, ["cmd_vel", "odometry"]);

    let report = scheduler.simulate(Duration::from_secs(1), 1, 0);
    assert_eq!(report.reason, StopReason::Requested);
    let metrics = |name: &str| {
        report
            .nodes
            .iter()
            .find(|node| node.name == name)
            .unwrap()
            .metrics
    };
    assert_eq!(
        (metrics("control").ticks, metrics("control").failures),
        (10, 1)
    );
    assert_eq!(SHUT_DOWN.load(Ordering::Relaxed), 1);
}

#[test]
fn the_error_of_build_names_the_topic_or_setting() {
    let private = Private::new();
    let path = private.namespace().topics_path().join("cmd_vel");
    std::fs::write(path, "not a topic").unwrap();
    let mut scheduler = private.scheduler();
    let error = Motor::build(scheduler.node("motor")).unwrap_err();
    assert!(matches!(&error, Error::Topic(_)), "{error:?}");
    assert!(error.to_string().contains("topic 'cmd_vel': "), "{error}");
    let error = Idle::build(scheduler.node("")).unwrap_err();
    assert!(
        matches!(error, Error::Plan(PlanError::Name { .. })),
        "{error:?}"
    );
    assert!(scheduler.graph().nodes().is_empty());
}

node! {
    /// Keeps its last message for late subscribers, and reads reliable topics.
    struct Careful {
        publish mode: CmdVel = ("mode", Qos::latched()),
        subscribe orders: CmdVel = ("orders", Qos::reliable()),
        wake calls: CmdVel = ("calls", Qos::reliable()),
        input imu: Imu = ("imu", Duration::from_secs(3600), Qos::sensor_data()),
    }

    fn tick(&mut self, context) -> Result<()> {
        let _ = (self.orders.recv(), self.calls.recv(), self.imu.latest());
        self.mode.send(CmdVel::new(1.5, 0.0))?;
        context.stop();
        Ok(())
    }
}

#[test]
fn the_topics_of_a_node_have_the_declared_quality_of_service() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    Careful::build(scheduler.node("careful")).unwrap();
    // A subscriber that requests reliable messages does not match a publisher that offers less.
    let requests_reliable = |topic: &str| {
        let _publisher = private.publisher::<CmdVel>(topic, Qos::new());
        let inspector = Inspector::open_in(private.namespace(), topic).unwrap();
        let subscribers = inspector.subscribers();
        assert_eq!(subscribers.len(), 1, "{topic}");
        subscribers[0].is_reliable
    };
    assert!(requests_reliable("orders") && requests_reliable("calls"));
    let mode = Inspector::open_in(private.namespace(), "mode").unwrap();
    assert!(mode.persists() && mode.history() == 1);
    private
        .publisher::<CmdVel>("calls", Qos::reliable())
        .send(CmdVel::default())
        .unwrap();
    assert_eq!(scheduler.run().unwrap().reason, StopReason::Requested);
    // A late subscriber gets the last message.
    let mut late = private.subscriber::<CmdVel>("mode", Qos::new());
    assert_eq!(late.recv().map(|mode| mode.linear), Some(1.5));
}

/// The arm to which the node belongs.
const ARM: &&str = &"left";

node! {
    /// Has topics whose names are made when the node is built.
    struct Named {
        wake calls: CmdVel = &format!("{ARM}/calls"),
        subscribe orders: CmdVel = &["orders", ARM].join("/"),
        input imu: Imu = (&format!("{ARM}/imu"), Duration::from_secs(3600)),
        input pose: Imu = (&format!("{ARM}/pose"), Duration::from_secs(3600), Qos::sensor_data()),
        publish mode: CmdVel = (&format!("{ARM}/mode"), Qos::latched()),
        publish arm: CmdVel = ARM,
    }

    fn tick(&mut self) {
        let _ = (self.calls.recv(), self.orders.recv(), self.imu.latest(), self.pose.latest());
        let _ = (&self.mode, &self.arm);
    }
}

#[test]
fn the_name_of_a_topic_may_be_any_text_even_a_temporary_one() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    Named::build(scheduler.node("named")).unwrap();
    let graph = scheduler.graph();
    let named = &graph.nodes()[0];
    assert_eq!(named.class, NodeClass::Event);
    let mut reads = named.reads.clone();
    let mut writes = named.writes.clone();
    reads.sort();
    writes.sort();
    reads.dedup();
    assert_eq!(
        reads,
        ["left/calls", "left/imu", "left/pose", "orders/left"]
    );
    assert_eq!(writes, ["left", "left/mode"]);
}
