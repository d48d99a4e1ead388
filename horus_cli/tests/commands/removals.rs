//! Reports about topics that were removed: only by the command itself.

use std::fs;
use std::thread;
use std::time::Duration;

use horus_core::message::{CmdVel, EmergencyStop};
use horus_core::topic::{Qos, Topic};
use horus_testing::skip;

use crate::common::{Program, Ran, Robot, Stream, wrapped};

/// Number of runs. In each one, the topic may go at a moment between two looks at it.
const RUNS: u32 = 40;

/// A topic that goes while a command looks was removed by its own processes.
#[test]
fn what_others_remove_is_not_reported_as_removed() {
    let robot = Robot::new();
    let topic = Topic::<CmdVel>::builder("brief").namespace(robot.namespace());
    let _publisher = topic.publisher().unwrap();
    let file = robot.namespace().topics_path().join("brief");
    let away = robot.dir().join("away");
    thread::scope(|scope| {
        let commands = scope.spawn(|| {
            let runs = (0..RUNS).map(|_| (robot.run("clean"), robot.run("doctor")));
            runs.collect::<Vec<_>>()
        });
        while !commands.is_finished() {
            for (from, to) in [(&file, &away), (&away, &file)] {
                fs::rename(from, to).unwrap();
                thread::sleep(Duration::from_micros(500));
            }
        }
        for (cleaned, found) in commands.join().unwrap() {
            assert!(!cleaned.stdout.contains("removed"), "{cleaned:?}");
            assert!(found.stdout.contains("stale topics: none\n"), "{found:?}");
        }
    });
}

/// A topic that cannot be removed keeps no other one, and hides none that was removed.
#[test]
fn all_topics_are_removed_but_those_in_use_which_are_named() {
    let robot = Robot::new();
    let mut program = robot.program();
    let publish = |program: &mut Program, names: &[&str]| {
        for name in names {
            program.tell(&format!("publish latched {name}"));
            program.tell(&format!("send {name} 1"));
        }
    };
    for options in ["", " --json"] {
        publish(&mut program, &["a", "c"]);
        program.tell("close a");
        program.tell("close c");
        publish(&mut program, &["b"]);
        let ran = robot.run(&format!("topic rm a b none c{options}"));
        assert_eq!(ran.code, 4, "{ran:?}");
        let (notes, error) = ran.stderr.split_once("horus: ").unwrap();
        assert!(
            error.starts_with("2 of 4 not removed: b is in use"),
            "{ran:?}"
        );
        assert!(error.contains("; no topic 'none'"), "{ran:?}");
        let lines: Vec<_> = ran.stdout.lines().collect();
        match options {
            "" => assert_eq!(notes, "removed a\nremoved c\n"),
            _ => {
                assert_eq!(lines.len(), 4, "{ran:?}");
                for (line, is_removed) in lines.iter().zip([true, false, false, true]) {
                    let part = format!("\"removed\":{is_removed}");
                    assert!(line.contains(&part), "{part}: {ran:?}");
                }
            }
        }
        program.tell("close b");
        robot.answer("topic rm b");
    }
}

/// Runs the command while the file of the topic `b` is a mount point, which cannot be removed.
/// Returns `None` if that is not allowed here.
fn run_with_fixed_topic(robot: &Robot, arguments: &str) -> Option<Ran> {
    let inner = robot.command(arguments);
    let file = robot.namespace().topics_path().join("b");
    let mount = format!("mount --bind {0} {0}", file.display());
    let border = "unshare --user --map-root-user --mount sh -c";
    let script = format!("exec {border} '{mount} && exec \"$@\"' sh \"$@\"");
    let ran = Stream::spawn(&mut wrapped(&inner, &script)).wait();
    if ran.stderr.contains("unshare: ") || ran.stderr.contains("mount: ") {
        skip("a mount of its own is not allowed");
        return None;
    }
    Some(ran)
}

/// One topic that cannot be removed hides none that was removed.
#[test]
fn a_topic_that_cannot_be_removed_does_not_hide_the_others() {
    for options in ["", " --json"] {
        let robot = Robot::new();
        let mut program = robot.program();
        for name in ["a", "b", "c"] {
            program.tell(&format!("publish latched {name}"));
            program.tell(&format!("send {name} 1"));
        }
        program.kill();
        let Some(ran) = run_with_fixed_topic(&robot, &format!("clean --all{options}")) else {
            return;
        };
        assert_eq!(ran.code, 5, "{ran:?}");
        let removed = match options {
            "" => "removed: a\nremoved: c",
            _ => "\"removed\":[\"a\",\"c\"]",
        };
        assert!(ran.stdout.contains(removed), "{ran:?}");
        assert!(ran.stderr.contains("1 of 3 not removed: "), "{ran:?}");
    }
}

/// A stop that is removed is forgotten, and the next scheduler would drive.
#[test]
fn an_engaged_emergency_stop_is_not_removed() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish latched map");
    program.tell("send map 1");
    program.kill();
    // Its code is 3, because no scheduler runs.
    robot.run("estop engage").failed(3, &["It is kept there"]);
    let is_refused = |command: &str, namespace: &str| {
        let ran = robot.run(command);
        assert_eq!(ran.code, 4, "{command}: {ran:?}");
        let advice = format!("horus -N {namespace} estop release");
        for part in ["is engaged", &advice] {
            assert!(ran.stderr.contains(part), "no '{part}' in {ran:?}");
        }
        let status = robot.run(&format!("-N {namespace} estop status"));
        assert_eq!(status.code, 1, "{command}: {status:?}");
    };
    is_refused("topic rm emergency_stop", "default");
    is_refused("clean --all", "default");
    is_refused("clean --all --json", "default");
    let left = robot.answer("topic list -w 0");
    assert!(!left.contains("map"), "nothing else is kept: {left}");
    robot.run("-N other estop engage").failed(3, &[]);
    is_refused("namespace rm other", "other");
    robot.answer("-N other estop release");
    robot.answer("namespace rm other");
    robot.answer("estop release");
    robot.answer("clean --all");
    assert_eq!(robot.answer("estop status"), "never engaged\n");
}

/// Whoever reads only the first reason would not know of the stop.
#[test]
fn a_topic_that_cannot_be_removed_does_not_hide_an_engaged_stop() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish latched b");
    program.tell("send b 1");
    program.kill();
    robot.run("estop engage").failed(3, &["It is kept there"]);
    let Some(ran) = run_with_fixed_topic(&robot, "clean --all") else {
        return;
    };
    assert_eq!(ran.code, 5, "{ran:?}");
    for part in ["2 of 2 not removed: ", "horus -N default estop release"] {
        assert!(ran.stderr.contains(part), "no '{part}' in {ran:?}");
    }
}

/// A process that lacks file descriptors does not know whether the stop is engaged.
#[test]
fn a_stop_that_cannot_be_read_now_is_not_removed() {
    for command in [
        "-N other topic rm emergency_stop",
        "-N other clean --all",
        "namespace rm other",
    ] {
        let robot = Robot::new();
        robot.run("-N other estop engage").failed(3, &[]);
        let mut refused = 0;
        for descriptors in 6..16 {
            let script = format!("ulimit -n {descriptors}; exec \"$@\"");
            let ran = Stream::spawn(&mut wrapped(&robot.command(command), &script)).wait();
            assert!(
                matches!(ran.code, 4 | 5),
                "{command}, {descriptors}: {ran:?}"
            );
            refused += u32::from(ran.code == 5);
            let status = robot.run("-N other estop status");
            assert_eq!(status.code, 1, "{command}, {descriptors}: {status:?}");
        }
        assert!(refused > 0, "{command} needs no descriptors");
    }
}

/// A message without content is an engaged stop, too.
#[test]
fn a_stop_without_a_source_and_a_time_is_described() {
    let robot = Robot::new();
    let topic = Topic::<EmergencyStop>::builder("emergency_stop").namespace(robot.namespace());
    let mut publisher = topic.qos(Qos::latched()).publisher().unwrap();
    let stop = EmergencyStop {
        engaged: 1,
        ..EmergencyStop::default()
    };
    publisher.send(stop).unwrap();
    drop(publisher);
    let status = robot.run("estop status");
    let removed = robot.run("topic rm emergency_stop");
    for text in [status.stdout, removed.stderr] {
        for part in ["a sender without a name", "an unknown time"] {
            assert!(text.contains(part), "no '{part}' in {text}");
        }
        assert!(!text.contains("1970"), "{text}");
    }
}
