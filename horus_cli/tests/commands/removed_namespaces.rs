//! Commands that run while somebody removes the namespace, and programs start in a new one.

use horus_core::introspect::processes;

use crate::common::{Program, Robot, until};
use crate::launch::number;

/// Removes the directory of the namespace, and starts a program in a new one that publishes `new`.
fn replace_namespace(robot: &Robot) -> Program {
    robot.remove_namespace("default");
    let mut program = robot.program();
    program.tell("publish cmd_vel new");
    program
}

/// Otherwise the answer would depend on which of the two was there first.
#[test]
fn a_wait_goes_on_in_the_namespace_of_the_name() {
    let robot = Robot::new();
    let stream = robot.stream("topic wait new --timeout 60");
    until("it has opened the namespace", || {
        let all = processes(robot.namespace()).unwrap();
        let mut known = all.iter().flat_map(|found| &found.process);
        known.any(|process| process.pid == stream.id())
    });
    let _new = replace_namespace(&robot);
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("was removed"), "{ran:?}");
}

#[test]
fn streams_of_messages_go_on_in_the_namespace_of_the_name() {
    for arguments in [
        "topic echo new",
        "topic hz new -w 0.2",
        "topic bw new -w 0.2",
        "topic delay new -w 0.2",
    ] {
        let robot = Robot::new();
        let mut old = robot.program();
        old.tell("publish cmd_vel new");
        let stream = robot.stream(&format!("{arguments} --json"));
        until(arguments, || {
            old.tell("send new 1");
            stream.try_line().is_some()
        });
        old.kill();
        let is_echo = arguments.contains("echo");
        if !is_echo {
            stream.line_with("\"messages\":0,");
        }
        let mut new = replace_namespace(&robot);
        until(arguments, || {
            new.tell("send new 5");
            let line = stream.try_line();
            // The former program has sent no message after its first one to `echo`.
            line.is_some_and(|line| match is_echo {
                true => line.contains("\"linear\":4.0"),
                false => number(&line, "messages") > 0,
            })
        });
        stream.signal(libc::SIGINT);
        let ran = stream.wait();
        assert!(ran.stderr.contains("was removed"), "{arguments}: {ran:?}");
    }
}

#[test]
fn a_black_box_is_followed_into_the_namespace_of_the_name() {
    let robot = Robot::new();
    let mut old = robot.program();
    old.tell("schedule arm");
    robot.until("blackbox arm --kind scheduler_started", |text| {
        !text.is_empty()
    });
    let stream = robot.stream("blackbox arm -f --kind scheduler_started --json");
    let first = stream.line();
    robot.remove_namespace("default");
    let mut new = robot.program();
    new.tell("schedule arm");
    let second = stream.line();
    assert_ne!(first, second);
    assert!(
        second.contains(&format!("\"process_id\":{}", new.id())),
        "{second}"
    );
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("was removed"), "{ran:?}");
}

/// Otherwise all is well for the tools, while no command reaches the scheduler, not even an
/// emergency stop.
#[test]
fn a_scheduler_is_found_after_the_directory_of_all_namespaces_was_removed() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("schedule arm");
    robot.until("scheduler list", |text| text.contains("running"));
    let dir = robot.dir().display().to_string();
    robot.remove_all_namespaces();
    let process = format!("{} ({})", program.id(), program.name());
    let ran = robot.run("doctor");
    let found =
        format!("FAULT  removed namespace: process {process} has {dir}/default open, which was");
    assert!(ran.stdout.contains(&found), "{ran:?}");
    assert_eq!(ran.code, 1, "{ran:?}");
    let shm_dir = format!("--shm-dir {dir} topic list");
    for arguments in [
        "topic list",
        "scheduler list",
        "scheduler stop arm",
        "namespace list",
        "estop status",
        "estop release",
        &shm_dir,
        // Makes the directory again.
        "estop engage",
        "topic list -N other",
    ] {
        let ran = robot.run(arguments);
        let named = format!("{process} in 'default'");
        assert!(ran.stderr.contains(&named), "{arguments}: {ran:?}");
        assert!(ran.stderr.contains("Restart them"), "{arguments}: {ran:?}");
        let denial = "no program runs";
        assert!(!ran.stderr.contains(denial), "{arguments}: {ran:?}");
    }
    let mut new = robot.program();
    new.tell("schedule leg");
    let ran = robot.run("estop engage");
    assert!(ran.stderr.contains("namespace 'default': leg\n"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("{process} in ")), "{ran:?}");
    assert!(ran.stderr.contains("not in effect everywhere"), "{ran:?}");
    assert_eq!(ran.code, 1, "{ran:?}");
}
