//! The topic of the emergency stop, if its name no longer leads to the file that the scheduler
//! reads: a stop that is sent in another file cannot be received.

use std::fs;

use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::namespace::Namespace;
use horus_core::prelude::*;
use horus_core::scheduler::{
    EMERGENCY_STOP_TOPIC, Health, Hertz, Running, emergency_stop_publisher,
};

use super::executors::{Recorded, until};
use super::private::Private;
use super::{Calls, Motor};

/// The number of lanes of a topic.
const LANES: usize = 64;

/// Makes a scheduler with a motor.
fn scheduler_with_motor(private: &Private, recorded: &Recorded, calls: &Calls) -> Scheduler {
    let mut scheduler = recorded.scheduler(private);
    let motor = Motor::new("motor", calls);
    scheduler.node("motor").rate(100.hz()).build(motor).unwrap();
    scheduler
}

/// Waits for the first event of an emergency stop, and returns its text.
fn text_of_stop(recorded: &Recorded) -> String {
    until("it is an event", || {
        recorded.count("", NodeEvent::EMERGENCY_STOP) > 0
    });
    let event = recorded.of("", NodeEvent::EMERGENCY_STOP).remove(0);
    event.text.as_str().to_owned()
}

/// Something that is no topic has the name. Later, the name is free again.
#[test]
fn an_emergency_stop_topic_that_cannot_be_followed_counts_as_engaged() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let scheduler = scheduler_with_motor(&private, &recorded, &calls);
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let health = || handle.metrics("motor").unwrap().health;
    let file = private.namespace().topics_path().join("emergency_stop");
    // WHY moved there: the scheduler makes a new file when it finds none.
    let other = private.namespace().path().join("no_topic");
    fs::write(&other, "no topic").unwrap();
    fs::rename(other, &file).unwrap();
    until("it is safe", || health() == Health::Safe);
    let text = text_of_stop(&recorded);
    let begin = "until the new file of 'emergency_stop' can be opened: ";
    assert!(text.starts_with(begin), "{text}");
    fs::remove_file(&file).unwrap();
    until("it ticks again", || health() == Health::Active);
    until("it is over", || {
        recorded.count("", NodeEvent::EMERGENCY_OVER) == 1
    });
    super::engage(&private);
    until("it is safe again", || health() == Health::Safe);
    running.finish().unwrap();
    assert_eq!(calls.of("motor"), ["safe", "safe", "shutdown"]);
}

/// A program that moves the topic to another file does not stop the robot.
#[test]
fn a_removed_file_of_the_emergency_stop_stops_no_node() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let scheduler = scheduler_with_motor(&private, &recorded, &calls);
    let running = scheduler.start().unwrap();
    let file = private.namespace().topics_path().join("emergency_stop");
    for moves in 1..4 {
        fs::remove_file(&file).unwrap();
        until("it has moved", || {
            recorded.count("", NodeEvent::TOPIC_MOVED) == moves
        });
    }
    running.finish().unwrap();
    assert_eq!(recorded.count("", NodeEvent::EMERGENCY_STOP), 0);
    assert_eq!(calls.of("motor"), ["shutdown"]);
}

/// Other programs then make the namespace and its topics anew.
#[test]
fn a_removed_namespace_counts_as_an_emergency_stop() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let scheduler = scheduler_with_motor(&private, &recorded, &calls);
    let running = scheduler.start().unwrap();
    // WHY moved before: otherwise the scheduler may make new files in it meanwhile.
    let away = private.namespace().path().with_extension("removed");
    fs::rename(private.namespace().path(), &away).unwrap();
    fs::remove_dir_all(away).unwrap();
    let text = text_of_stop(&recorded);
    assert!(text.starts_with("until its program is started"), "{text}");
    let namespace = Namespace::open(private.namespace().config()).unwrap();
    let mut publisher = emergency_stop_publisher(&namespace).unwrap();
    publisher.send(EmergencyStop::release("test", "")).unwrap();
    running.finish().unwrap();
    assert_eq!(calls.of("motor"), ["safe", "shutdown"]);
}

/// Returns the last emergency stop that a program finds which opens the topic now.
fn kept_stop(private: &Private) -> Option<EmergencyStop> {
    let topic = Topic::builder(EMERGENCY_STOP_TOPIC).namespace(private.namespace());
    topic.observer().ok()?.latest()
}

/// The sender has ended. The schedulers that know of its stop tell those that start later.
#[test]
fn an_engaged_stop_outlives_the_file_of_its_topic() {
    let private = Private::new();
    let (recorded, calls) = (Recorded::default(), Calls::default());
    let start = || scheduler_with_motor(&private, &recorded, &calls).start();
    let health = |running: &Running| running.handle().metrics("motor").unwrap().health;
    let running = [start().unwrap(), start().unwrap()];
    let sent = EmergencyStop::engage("test", "front hit");
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(sent).unwrap();
    drop(publisher);
    for one in &running {
        until("it is safe", || health(one) == Health::Safe);
    }
    let file = private.namespace().topics_path().join("emergency_stop");
    for _ in 0..3 {
        fs::remove_file(&file).unwrap();
        until("it is kept again", || kept_stop(&private) == Some(sent));
    }
    let later = start().unwrap();
    until("the later one is safe", || health(&later) == Health::Safe);
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(EmergencyStop::release("test", "")).unwrap();
    for one in running.iter().chain([&later]) {
        until("it ticks again", || health(one) == Health::Active);
    }
    fs::remove_file(&file).unwrap();
    until("the file is there again", || file.exists());
    assert!(kept_stop(&private).is_none_or(|stop| !stop.is_engaged()));
    for one in running.into_iter().chain([later]) {
        one.finish().unwrap();
    }
}

fn send_stop(private: &Private, stop: EmergencyStop) {
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(stop).unwrap();
}

fn motor_health(running: &Running) -> Health {
    running.handle().metrics("motor").unwrap().health
}

/// The file has a release that was sent before the stop, which is in the other file.
#[test]
fn an_engaged_stop_is_kept_in_a_former_file_that_gets_its_name_back() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let start = || scheduler_with_motor(&private, &recorded, &calls).start();
    let send = |stop| send_stop(&private, stop);
    let running = start().unwrap();
    send(EmergencyStop::engage("test", "first"));
    until("it is safe", || motor_health(&running) == Health::Safe);
    send(EmergencyStop::release("test", ""));
    until("it ticks again", || {
        motor_health(&running) == Health::Active
    });
    let file = private.namespace().topics_path().join("emergency_stop");
    let away = private.namespace().path().join("away");
    fs::rename(&file, &away).unwrap();
    until("it has moved", || {
        recorded.count("", NodeEvent::TOPIC_MOVED) == 1
    });
    let sent = EmergencyStop::engage("test", "second");
    send(sent);
    until("it is safe again", || {
        motor_health(&running) == Health::Safe
    });
    fs::rename(&away, &file).unwrap();
    until("it is kept", || kept_stop(&private) == Some(sent));
    let later = start().unwrap();
    until("the later one is safe", || {
        motor_health(&later) == Health::Safe
    });
    send(EmergencyStop::release("test", ""));
    for one in [running, later] {
        until("it ticks again", || motor_health(&one) == Health::Active);
        one.finish().unwrap();
    }
}

/// The file keeps the stop. A person who reads that it is engaged must not meet a robot that moves.
#[test]
fn a_release_is_kept_in_a_former_file_that_gets_its_name_back() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let start = || scheduler_with_motor(&private, &recorded, &calls).start();
    let send = |stop| send_stop(&private, stop);
    let running = start().unwrap();
    let file = private.namespace().topics_path().join("emergency_stop");
    let away = private.namespace().path().join("away");
    let stop = EmergencyStop::engage("test", "");
    send(stop);
    until("it is safe", || motor_health(&running) == Health::Safe);
    fs::rename(&file, &away).unwrap();
    until("it is kept", || kept_stop(&private) == Some(stop));
    send(EmergencyStop::release("test", ""));
    until("it ticks again", || {
        motor_health(&running) == Health::Active
    });
    fs::rename(&away, &file).unwrap();
    until("the release is kept", || {
        kept_stop(&private).is_some_and(|kept| !kept.is_engaged())
    });
    let later = start().unwrap();
    until("the later one ticks", || {
        motor_health(&later) == Health::Active
    });
    for one in [running, later] {
        one.finish().unwrap();
    }
}

/// All lanes of the file have been used, so the scheduler cannot publish without the risk that it
/// replaces a message that is kept. It must not seem as if it had.
#[test]
fn a_stop_or_release_that_cannot_be_kept_in_a_former_file_is_an_event() {
    let (stop, release) = (EmergencyStop::engage, EmergencyStop::release);
    let cases = [
        (release("test", ""), stop("test", ""), "the emergency stop"),
        (stop("test", ""), release("test", ""), "the release"),
    ];
    for (former, last, what) in cases {
        let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
        let former = EmergencyStop {
            monotonic_ns: former.monotonic_ns - 1,
            ..former
        };
        for key in 0..LANES {
            let qos = Qos::latched().latch_key(&key.to_string());
            private
                .publisher(EMERGENCY_STOP_TOPIC, qos)
                .send(former)
                .unwrap();
        }
        let scheduler = scheduler_with_motor(&private, &recorded, &calls);
        let running = scheduler.start().unwrap();
        let health = |is_engaged| {
            let wanted = match is_engaged {
                true => Health::Safe,
                false => Health::Active,
            };
            until("it follows", || motor_health(&running) == wanted);
        };
        health(former.is_engaged());
        let file = private.namespace().topics_path().join("emergency_stop");
        let away = private.namespace().path().join("away");
        fs::rename(&file, &away).unwrap();
        until("it has moved", || {
            recorded.count("", NodeEvent::TOPIC_MOVED) == 1
        });
        send_stop(&private, last);
        health(last.is_engaged());
        let texts = || {
            let events = recorded.of("", NodeEvent::FAILED).into_iter();
            let mut texts: Vec<_> = events.map(|event| event.text.as_str().to_owned()).collect();
            // A busy machine may delay the motor.
            texts.retain(|text| !text.contains("not in their safe state"));
            texts
        };
        assert_eq!(texts(), [""; 0]);
        fs::rename(&away, &file).unwrap();
        until("it is an event", || texts().len() == 1);
        let text = texts().remove(0);
        assert!(text.starts_with(what), "{text}");
        assert!(text.contains("is not kept: "), "{text}");
        assert_eq!(kept_stop(&private), Some(former));
        health(last.is_engaged());
        running.finish().unwrap();
    }
}
