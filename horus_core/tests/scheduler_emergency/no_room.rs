//! Schedulers reserve the memory that a sender of stops or commands needs. They run without it, and
//! try again.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::channel;

use horus_core::introspect::Inspector;
use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::namespace::Namespace;
use horus_core::prelude::*;
use horus_core::scheduler::{
    EMERGENCY_STOP_TOPIC, Hertz, RemoteScheduler, emergency_stop_publisher,
};

use super::actors::{Child, End, arm, hear, namespace_in, private_dir, say};
use super::executors::{LONG, Recorded, until};
use super::private::Private;
use super::{Calls, Motor, Speaker};

/// Returns the number of lanes that publishers of the topic have used so far.
fn used_lanes(namespace: &Arc<Namespace>, topic: &str) -> usize {
    let inspector = Inspector::open_in(namespace, topic);
    inspector.map_or(0, |inspector| inspector.publishers().len())
}

/// Opens a subscriber of the emergency stop, which makes the file of the topic without a lane.
fn listen(namespace: &Arc<Namespace>) -> Subscriber<EmergencyStop> {
    let topic = Topic::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    topic.qos(Qos::latched()).subscriber().unwrap()
}

/// Sets the length, in bytes, of the longest file that this process may make; `None` for no limit.
fn limit_files(bytes: Option<u64>) {
    let limit = libc::rlimit {
        rlim_cur: bytes.unwrap_or(libc::RLIM_INFINITY),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the structure is valid for the read.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) };
    assert_eq!(set, 0);
}

/// Plays the role of a scheduler whose process makes no files as long as it is told so.
pub(crate) fn run(dir: &Path) {
    let mut scheduler = arm(dir);
    scheduler.on_event(|event| match event.kind {
        NodeEvent::EMERGENCY_STOP => say("stops"),
        NodeEvent::EMERGENCY_OVER => say("goes on"),
        NodeEvent::FAILED => say(format!("failure: {}", event.text)),
        _ => {}
    });
    let speaker = scheduler.node("speaker").rate(100.hz());
    speaker.build(Speaker).unwrap();
    let mut scheduler = Some(scheduler);
    let mut running = None;
    while let Some(order) = hear() {
        match order.as_str() {
            "limit" => limit_files(Some(0)),
            "lift" => limit_files(None),
            "start" => match scheduler.take().unwrap().start() {
                Ok(begun) => running = Some(begun),
                Err(error) => say(format!("error: {error}")),
            },
            name => scheduler.as_mut().unwrap().name(name),
        }
        say(format!("done {order}"));
    }
    running.unwrap().finish().unwrap();
    say("over");
}

fn request(child: &mut Child, order: &str) {
    child.tell(order);
    let word = format!("done {order}");
    while child.try_listen().unwrap() != word {}
}

/// All other topics have their memory from an earlier run.
#[test]
fn a_scheduler_starts_although_no_memory_can_be_reserved_for_a_stop() {
    let dir = private_dir();
    let namespace = namespace_in(dir.path());
    let mut child = Child::spawn("no room", dir.path());
    request(&mut child, "start");
    // WHY: it keeps the topic of the commands, which is removed with its last user. WHY two: the
    // lane of the other one is free then, and has its memory.
    let open = || RemoteScheduler::open(&namespace, "arm").unwrap();
    let (_remote, other) = (open(), open());
    drop(other);
    assert_eq!(child.wait(), End::Code(0));
    let files = namespace.topics_path();
    for entry in fs::read_dir(files).unwrap().map(Result::unwrap) {
        if entry
            .file_name()
            .to_str()
            .unwrap()
            .contains("emergency_stop")
        {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let subscriber = listen(&namespace);
    let mut child = Child::spawn("no room", dir.path());
    request(&mut child, "limit");
    request(&mut child, "start");
    assert_eq!(child.told("error: "), [""; 0]);
    assert_eq!(used_lanes(&namespace, EMERGENCY_STOP_TOPIC), 0);
    until("it is an event", || !child.told("failure: ").is_empty());
    request(&mut child, "lift");
    until("it is reserved", || {
        used_lanes(&namespace, EMERGENCY_STOP_TOPIC) == 1
    });
    drop(subscriber);
    let mut publisher = emergency_stop_publisher(&namespace).unwrap();
    publisher.send(EmergencyStop::engage("test", "")).unwrap();
    child.await_word("safe");
    assert_eq!(child.wait(), End::Code(0));
    let mut failures = child.told("failure: ");
    // A busy machine may delay the speaker.
    failures.retain(|text| !text.contains("not in their safe state"));
    let text = format!("no memory is reserved for a stop: {}", files_too_long());
    assert_eq!(failures, [text]);
}

/// Returns the text of the error of a process that must not make files.
fn files_too_long() -> io::Error {
    io::Error::from_raw_os_error(libc::EFBIG)
}

/// The names of the topic and of its file have no place in an event besides the reason.
#[test]
fn an_event_about_memory_for_a_command_says_why_there_is_none() {
    for name in ["arm", &"x".repeat(64)] {
        let dir = private_dir();
        let namespace = namespace_in(dir.path());
        let mut child = Child::spawn("no room", dir.path());
        for order in [name, "start", "limit"] {
            request(&mut child, order);
        }
        let file = format!("horus+schedulers+{name}+commands");
        fs::remove_file(namespace.topics_path().join(file)).unwrap();
        // It has the only lane of the new file.
        let remote = RemoteScheduler::open(&namespace, name).unwrap();
        until("it is an event", || !child.told("failure: ").is_empty());
        request(&mut child, "lift");
        drop(remote);
        assert_eq!(child.wait(), End::Code(0));
        let text = format!("no memory is reserved for a command: {}", files_too_long());
        assert_eq!(child.told("failure: "), [text]);
    }
}

/// The file of the topic is truncated. Another process makes the new one.
#[test]
fn a_lost_emergency_stop_topic_is_opened_again_although_no_memory_can_be_reserved() {
    let dir = private_dir();
    let namespace = namespace_in(dir.path());
    let mut child = Child::spawn("no room", dir.path());
    request(&mut child, "start");
    request(&mut child, "limit");
    let file = namespace.topics_path().join("emergency_stop");
    let opened = fs::File::options().write(true).open(&file).unwrap();
    opened.set_len(0).unwrap();
    child.await_word("stops");
    fs::remove_file(file).unwrap();
    let _subscriber = listen(&namespace);
    child.await_word("goes on");
    assert_eq!(used_lanes(&namespace, EMERGENCY_STOP_TOPIC), 0);
    request(&mut child, "lift");
    until("it is reserved", || {
        used_lanes(&namespace, EMERGENCY_STOP_TOPIC) == 1
    });
    assert_eq!(child.wait(), End::Code(0));
}

/// Each file gets the memory for the next command and for the next stop.
#[test]
fn memory_is_reserved_again_in_a_new_file() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    scheduler.name("arm");
    let motor = Motor::new("motor", &calls);
    scheduler.node("motor").rate(100.hz()).build(motor).unwrap();
    let running = scheduler.start().unwrap();
    let namespace = private.namespace();
    for topic in ["horus/schedulers/arm/commands", EMERGENCY_STOP_TOPIC] {
        assert_eq!(used_lanes(namespace, topic), 1, "{topic}");
        let file = namespace.topics_path().join(topic.replace('/', "+"));
        fs::remove_file(file).unwrap();
        until(topic, || used_lanes(namespace, topic) == 1);
    }
    let mut remote = RemoteScheduler::open(namespace, "arm").unwrap();
    remote.pause("motor").unwrap();
    until("it pauses", || {
        let metrics = running.handle().metrics("motor").unwrap();
        metrics.health == super::Health::Paused
    });
    running.finish().unwrap();
    assert_eq!(recorded.count("", NodeEvent::FAILED), 0);
}

/// Plays the role of a program that requests reliable delivery of the emergency stop, in which
/// schedulers start and end. Then a stop is sent, which does not reach the subscriber.
pub(crate) fn request_reliable(dir: &Path) {
    let namespace = namespace_in(dir);
    let topic = Topic::<EmergencyStop>::builder(EMERGENCY_STOP_TOPIC).namespace(&namespace);
    let qos = Qos::latched().reliability(Reliability::Reliable);
    let mut subscriber = topic.qos(qos).subscriber().unwrap();
    let file = namespace.topics_path().join("emergency_stop");
    for _ in 0..3 {
        let mut scheduler = arm(dir);
        let (moved, has_moved) = channel();
        scheduler.on_event(move |event| {
            if event.kind == NodeEvent::TOPIC_MOVED {
                let _ = moved.send(());
            }
        });
        let speaker = scheduler.node("speaker").rate(100.hz());
        speaker.build(Speaker).unwrap();
        let running = scheduler.start().unwrap();
        assert!(subscriber.recv().is_none());
        fs::remove_file(&file).unwrap();
        has_moved.recv_timeout(LONG).unwrap();
        until("it is reserved", || {
            assert!(subscriber.recv().is_none());
            used_lanes(&namespace, EMERGENCY_STOP_TOPIC) == 1
        });
        running.finish().unwrap();
        assert!(subscriber.recv().is_none());
    }
    eprintln!("{STOP_IS_SENT}");
    let mut publisher = emergency_stop_publisher(&namespace).unwrap();
    publisher.send(EmergencyStop::engage("test", "")).unwrap();
    assert!(subscriber.recv().is_none());
}

/// The line that the program prints before it sends the stop.
const STOP_IS_SENT: &str = "a stop is sent";

/// The scheduler sends nothing in the lane that it reserves, so nothing is missed.
#[test]
fn no_warning_is_printed_about_a_reservation_that_does_not_match_a_subscriber() {
    let dir = private_dir();
    let mut child = Child::spawn_with("request reliable", dir.path(), |command| {
        command.stderr(Stdio::piped());
    });
    let mut printed = String::new();
    child.stderr().read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait(), End::Code(0), "{printed}");
    let (before, after) = printed.split_once(STOP_IS_SENT).unwrap();
    assert!(!before.contains("nothing from"), "{before}");
    for publisher in ["nothing from this publisher", "nothing from process"] {
        assert!(after.contains(publisher), "{after}");
    }
}
