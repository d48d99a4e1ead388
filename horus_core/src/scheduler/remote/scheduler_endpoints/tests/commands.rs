//! Tests commands and emergency stops that come from other processes.

use super::super::*;
use super::{Home, RUNNING, now_ns};
use crate::scheduler::remote::client::refusal_text;
use crate::scheduler::{
    EMERGENCY_STOP_TOPIC, Hertz, RemoteError, RemoteScheduler, emergency_stop_publisher,
};
use crate::topic::{DynamicSubscriber, Topic};

#[test]
fn commands_arrive_and_are_refused_when_no_scheduler_runs() {
    let home = Home::new();
    let nobody = RemoteScheduler::open(&home.namespace, "robot").unwrap_err();
    let wanted = "no scheduler 'robot' runs in this namespace; there are: none";
    assert_eq!(nobody.to_string(), wanted);
    let mut child = home.child("obeys");
    assert_eq!(child.listen(), "robot");
    let mut remote = RemoteScheduler::open(&home.namespace, "robot").unwrap();
    remote.pause("arm").unwrap();
    assert_eq!(child.listen(), "pause arm");
    remote.resume("").unwrap();
    assert_eq!(child.listen(), "resume all nodes");
    remote.set_rate("arm", 0.5.hz()).unwrap();
    assert_eq!(child.listen(), "run arm at 0.5 Hz");
    assert!(matches!(
        remote.set_rate("arm", 0.hz()),
        Err(RemoteError::Rate(_))
    ));
    assert!(matches!(
        remote.pause(&"x".repeat(65)),
        Err(RemoteError::NodeName(_))
    ));
    remote.stop_node("arm").unwrap();
    assert_eq!(child.listen(), "stop arm");
    remote.stop().unwrap();
    assert_eq!(child.listen(), "stop the scheduler");
    child.finish();
    assert!(matches!(
        remote.pause("arm"),
        Err(RemoteError::NotRunning { .. })
    ));
    let events = home.black_box("robot");
    let heard = events.iter().map(|event| event.text.as_str());
    assert!(heard.eq([
        "pause arm",
        "resume all nodes",
        "run arm at 0.5 Hz",
        "stop arm",
        "stop the scheduler"
    ]));
}

#[test]
fn a_command_to_an_unknown_node_is_refused() {
    let home = Home::new();
    let mut child = home.child("shows");
    assert_eq!(
        (child.listen(), child.listen()),
        ("robot".into(), "shown".into())
    );
    let mut remote = RemoteScheduler::open(&home.namespace, "robot").unwrap();
    let error = remote.pause("leg").unwrap_err();
    assert_eq!(
        error.to_string(),
        "scheduler 'robot' has no node 'leg'; there are: eye, arm"
    );
    remote.pause("arm").unwrap();
    assert_eq!(remote.info().unwrap(), home.only());
    child.finish();
}

#[test]
fn commands_that_a_node_cannot_apply_are_refused() {
    let home = Home::new();
    let mut endpoints = home.open("robot", 3, 1);
    let node = |name, period_ns, state| NodeMetrics {
        period_ns,
        state,
        ..NodeMetrics::new(name)
    };
    let nodes = [
        node("clocked", 1000, NodeMetrics::STATE_ACTIVE),
        node("woken", 0, NodeMetrics::STATE_ACTIVE),
        node("ended", 1000, NodeMetrics::STATE_STOPPED),
    ];
    let shown = endpoints.publish_status(RUNNING, now_ns(), nodes.into_iter());
    shown.unwrap();
    let mut remote = RemoteScheduler::open(&home.namespace, "robot").unwrap();
    for refused in [
        remote.pause("ended"),
        remote.resume("ended"),
        remote.set_rate("ended", 1.hz()),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, RemoteError::NodeStopped { .. }), "{error}");
    }
    let error = remote.set_rate("woken", 1.hz()).unwrap_err();
    assert!(matches!(error, RemoteError::NoRate { .. }), "{error}");
    assert!(endpoints.commands().recv().is_none(), "nothing was sent");
    remote.stop_node("ended").unwrap();
    remote.set_rate("clocked", 1.hz()).unwrap();
    assert_eq!(remote.last_command_refusal().unwrap(), None);
    let _stop = endpoints.commands().recv().unwrap();
    let command = endpoints.commands().recv().unwrap();
    let refusal = NodeEvent::new(NodeEvent::COMMAND, "clocked", now_ns());
    let refusal = refusal.with_text(&refusal_text(&command, "it is too slow"));
    endpoints.recorder(0).record(refusal);
    assert_eq!(
        remote.last_command_refusal().unwrap().unwrap(),
        "it is too slow"
    );
    // The refusal of an earlier command is not that of the last one.
    remote.set_rate("clocked", 2.hz()).unwrap();
    assert_eq!(remote.last_command_refusal().unwrap(), None);
}

#[test]
fn an_emergency_stop_before_the_start_counts_until_it_is_released() {
    let home = Home::new();
    emergency_stop_publisher(&home.namespace)
        .unwrap()
        .send(EmergencyStop::engage("button", ""))
        .unwrap();
    let mut endpoints = home.open("robot", 1, 1);
    assert!(endpoints.emergency_stop().latest().unwrap().is_engaged());
    let mut button = emergency_stop_publisher(&home.namespace).unwrap();
    button.send(EmergencyStop::release("button", "")).unwrap();
    assert!(!endpoints.emergency_stop().latest().unwrap().is_engaged());
    assert!(
        !home
            .open("other", 1, 1)
            .emergency_stop()
            .latest()
            .unwrap()
            .is_engaged()
    );
}

#[test]
fn an_emergency_stop_topic_of_another_process_is_used_as_it_is() {
    let home = Home::new();
    let topic = Topic::<EmergencyStop>::builder(EMERGENCY_STOP_TOPIC).namespace(&home.namespace);
    let mut theirs = topic.publisher().unwrap();
    let mut endpoints = home.open("robot", 1, 1);
    theirs.send(EmergencyStop::engage("button", "")).unwrap();
    assert!(endpoints.emergency_stop().recv().unwrap().is_engaged());
    emergency_stop_publisher(&home.namespace)
        .unwrap()
        .send(EmergencyStop::release("button", ""))
        .unwrap();
    assert!(!endpoints.emergency_stop().recv().unwrap().is_engaged());
}

/// The emergency stop that was sent last is the last one, even if the clock was set back by an hour
/// before it was sent.
#[test]
fn an_emergency_stop_after_a_step_of_the_clock_is_the_last() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let home = Home::new();
    let mut button = emergency_stop_publisher(&home.namespace).unwrap();
    let mut bumper = emergency_stop_publisher(&home.namespace).unwrap();
    let mut release = EmergencyStop::release("button", "");
    release.timestamp_ns += HOUR_NS;
    let engage = EmergencyStop::engage("bumper", "");
    button.send(release).unwrap();
    bumper.send(engage).unwrap();
    let mut endpoints = home.open("robot", 1, 1);
    assert!(endpoints.emergency_stop().latest().unwrap().is_engaged());
    // The same in the way that other languages take.
    let mut dynamic = DynamicSubscriber::observe(&home.namespace, EMERGENCY_STOP_TOPIC).unwrap();
    let last: EmergencyStop = bytemuck::pod_read_unaligned(dynamic.latest_bytes().unwrap());
    assert_eq!(last, engage);
}
