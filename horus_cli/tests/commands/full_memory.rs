//! Commands that lack memory or file descriptors: emergency stops and commands for schedulers in a
//! full file system, and lists with few descriptors.

use std::process::{Command, Stdio};

use horus_core::message::CmdVel;
use horus_core::topic::{Qos, Topic};
use horus_testing::skip;

use crate::common::{Robot, Stream, wrapped};
use crate::containers::program_command;

/// Makes a file system of its own, in which a scheduler runs, and fills it. Then each command must
/// find the memory that it needs, also in the second file of a topic.
const SCRIPT: &str = "
    mount -t tmpfs -o size=8m,mode=0700 none \"$HORUS_SHM_DIR\" || exit 9
    SCHEDULE &
    until horus scheduler list | grep -q running; do sleep 0.05; done
    horus doctor > /dev/null
    commands=\"$HORUS_SHM_DIR/default/topics/horus+schedulers+arm+commands\"
    rm \"$commands\"
    until [ -e \"$commands\" ]; do sleep 0.05; done
    lane=\".$(stat -c %i \"$commands\").0.1\"
    until ls -A \"$HORUS_SHM_DIR/default/topics\" | grep -qF \"$lane\"; do sleep 0.05; done
    cat /dev/zero > \"$HORUS_SHM_DIR/default/filler\"
    horus topic pub other CmdVel '{linear: 1}' && exit 8
    # Again if the scheduler had no CPU time, and so counts as one that does not respond.
    for _ in 1 2 3 4 5; do
        horus estop engage
        code=$?
        [ $code -eq 1 ] || break
    done
    [ $code -eq 0 ] || exit 1
    until horus node list | grep -q safe_state; do sleep 0.05; done
    horus estop status && exit 2
    horus estop release || exit 3
    horus node pause arm/controller --timeout 120 || exit 4
    horus scheduler stop arm --timeout 120 || exit 5
    kill -9 $!
";

#[test]
fn schedulers_obey_while_there_is_no_free_memory() {
    let robot = Robot::new();
    let isolated = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
            .env("HORUS_SHM_DIR", robot.dir())
            .env("HORUS_NAMESPACE", "default")
            .stdin(Stdio::null());
        command
    };
    let allowed = isolated("mount -t tmpfs none \"$HORUS_SHM_DIR\"").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        skip("a file system of its own cannot be mounted");
        return;
    }
    let script = SCRIPT.replace("SCHEDULE", &program_command("schedule arm"));
    let script = script.replace("horus ", &format!("{} ", env!("CARGO_BIN_EXE_horus")));
    let output = isolated(&script).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    assert!(errors.contains("no space"), "it was not full: {errors}");
}

/// A scheduler that cannot be read is not shown as missing.
#[test]
fn a_list_with_few_descriptors_is_complete_or_an_error() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("schedule arm");
    robot.until("node list", |list| list.contains("controller"));
    for list in ["node list", "scheduler list"] {
        let complete = |text: &str| match list {
            "node list" => text.contains("controller"),
            _ => text.contains("running"),
        };
        let mut refused = 0;
        for descriptors in 6..24 {
            let script = format!("ulimit -n {descriptors}; exec \"$@\"");
            let command = wrapped(&robot.command(list), &script).output().unwrap();
            let text = String::from_utf8_lossy(&command.stdout);
            if command.status.success() {
                assert!(complete(&text), "{list}, {descriptors}: {text}");
            } else {
                refused += 1;
            }
        }
        assert!(refused > 0, "{list} needs no descriptors");
    }
}

/// The findings are shown, and nothing is removed because it could not be read.
#[test]
fn the_doctor_with_few_descriptors_reports_and_keeps_topics() {
    let robot = Robot::new();
    let names: Vec<_> = (0..40).map(|index| format!("map{index}")).collect();
    for name in &names {
        let topic = Topic::<CmdVel>::builder(name).namespace(robot.namespace());
        let mut publisher = topic.qos(Qos::latched()).publisher().unwrap();
        publisher.send(CmdVel::default()).unwrap();
    }
    let is_there = |name: &String| robot.namespace().topics_path().join(name).exists();
    let (mut unknown, mut complete) = (0, 0);
    for descriptors in (6..20).chain((20..64).step_by(6)) {
        let script = format!("ulimit -n {descriptors}; exec \"$@\"");
        let inner = robot.command("doctor --fix --json");
        let ran = Stream::spawn(&mut wrapped(&inner, &script)).wait();
        assert!(matches!(ran.code, 0 | 1), "{descriptors}: {ran:?}");
        let is_report = ran.stdout.starts_with("{\"horus\":1,\"findings\":[");
        assert!(is_report, "{descriptors}: {ran:?}");
        assert!(!ran.stderr.contains("panic"), "{descriptors}: {ran:?}");
        unknown += u32::from(ran.stdout.contains("Too many open files"));
        complete += u32::from(ran.stdout.contains("40 topics, all without loss"));
        assert!(names.iter().all(is_there), "{descriptors}: {ran:?}");
    }
    assert!(unknown > 0 && complete > 0, "{unknown}, {complete}");
}

/// Otherwise nothing says why no node ticks.
#[test]
fn the_doctor_with_few_descriptors_names_an_engaged_emergency_stop_or_the_reason() {
    let robot = Robot::new();
    robot.run("estop engage").failed(3, &[]);
    for descriptors in 6..24 {
        let script = format!("ulimit -n {descriptors}; exec \"$@\"");
        let inner = robot.command("doctor --json");
        let ran = Stream::spawn(&mut wrapped(&inner, &script)).wait();
        let names = ["emergency stop", "Too many open files"];
        let is_named = names.iter().any(|name| ran.stdout.contains(name));
        assert!(ran.code == 1 && is_named, "{descriptors}: {ran:?}");
    }
}

/// A program is only said to have no topic if all topics could be read.
#[test]
fn the_doctor_with_few_descriptors_does_not_deny_the_topics_of_a_program() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish best_effort cmd_vel");
    let entry = format!("{} ({})", program.name(), program.id());
    let (mut incomplete, mut complete) = (0, 0);
    for descriptors in 6..24 {
        let script = format!("ulimit -n {descriptors}; exec \"$@\"");
        let inner = robot.command("doctor");
        let ran = Stream::spawn(&mut wrapped(&inner, &script)).wait();
        let mut lines = ran.stdout.lines();
        let Some(line) = lines.find(|line| line.contains("  processes: ") && line.contains(&entry))
        else {
            continue;
        };
        // The process of this test is in the namespace, too, and has no topic.
        let with_topic = line.split("without a topic").next().unwrap();
        assert!(with_topic.contains(&entry), "{descriptors}: {ran:?}");
        let is_complete = with_topic != line;
        incomplete += u32::from(!is_complete);
        complete += u32::from(is_complete);
    }
    assert!(incomplete > 0 && complete > 0, "{incomplete}, {complete}");
}

/// Otherwise nothing says why the program gets no messages.
#[test]
fn the_doctor_with_few_descriptors_finds_a_removed_namespace_or_says_why_not() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish best_effort cmd_vel");
    robot.remove_namespace("default");
    let mut unknown = 0;
    for descriptors in 4..16 {
        let script = format!("ulimit -n {descriptors}; exec \"$@\"");
        let inner = robot.command("doctor");
        let ran = Stream::spawn(&mut wrapped(&inner, &script)).wait();
        let is_fault = ran.stdout.contains("FAULT  removed namespace: ");
        assert!(ran.code == 1 && is_fault, "{descriptors}: {ran:?}");
        unknown += u32::from(ran.stdout.contains("Too many open files"));
    }
    assert!(unknown > 0, "it needs no descriptors");
}

/// A refused thread is an error of the system, and no defect of the program.
#[test]
fn a_monitor_that_can_start_no_thread_ends_with_an_error() {
    let robot = Robot::new();
    let mut refused = 0;
    for limit in (4 << 10..256 << 10).step_by(512) {
        let script = format!("ulimit -v {limit}; exec \"$@\"");
        let inner = robot.command("monitor --port 0 --timeout 0.01");
        let ran = Stream::spawn(&mut wrapped(&inner, &script)).wait();
        assert_ne!(ran.code, 101, "{limit} KiB: {ran:?}");
        if ran.stderr.contains("cannot start a thread") {
            assert_eq!(ran.code, 5, "{limit} KiB: {ran:?}");
            refused += 1;
        }
        if ran.code == 0 {
            assert!(refused > 0, "{limit} KiB: {ran:?}");
            return;
        }
    }
    panic!("it needs too much memory");
}
