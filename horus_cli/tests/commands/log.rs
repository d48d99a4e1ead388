//! Logs: `horus log` among processes that log, that are killed, and that are too fast.

use std::time::Duration;

use horus_core::message::{LogLine, LogLineHeader, NodeEvent, Text, monotonic_now_ns};
use horus_core::namespace::{Namespace, NamespaceName};
use horus_core::topic::{Qos, Topic};

use crate::common::{Program, Robot, until};
use crate::golden::check_json_except;

/// Starts a program that logs under this name.
fn logger(robot: &Robot, name: &str) -> Program {
    let mut program = robot.program();
    program.tell(&format!("log open {name}"));
    program
}

/// Returns the lines without their times and process ids.
fn bare(lines: &str, programs: &[&Program]) -> Vec<String> {
    let mut lines = lines.to_owned();
    for program in programs {
        lines = lines.replace(&format!("[{}]", program.id()), "");
    }
    let bare = |line: &str| match line.split_once("Z ") {
        Some((_, rest)) if line.starts_with("20") => rest.to_owned(),
        _ => line.to_owned(),
    };
    lines.lines().map(bare).collect()
}

#[test]
fn lines_of_all_processes_are_shown_also_of_killed_ones() {
    let robot = Robot::new();
    robot.answer("log");
    let mut arm = logger(&robot, "arm");
    let mut leg = logger(&robot, "leg");
    arm.tell("log warn shoulder hot");
    leg.tell("log info knee bent");
    arm.tell("log trace elbow step");
    leg.tell("log error knee broken");
    let json = robot.answer("log --json -n 1");
    let times = ["timestamp_ns", "monotonic_ns", "process_id", "thread_id"];
    check_json_except("log", &json, &times);
    let process = arm.id();
    arm.kill();
    let lines = robot.answer("log");
    let lines = bare(&lines.replace(&format!("[{process}]"), ""), &[&leg]);
    assert_eq!(
        lines,
        [
            "WARN  arm shoulder: hot",
            "INFO  leg knee: bent",
            "TRACE arm elbow: step",
            "ERROR leg knee: broken",
        ]
    );
    let selected = [
        ("--node knee", 2),
        ("--level warn", 2),
        ("-l error", 1),
        ("--program arm", 2),
        (&format!("-p {process}"), 2),
        ("--since 0", 0),
        ("--since 1000", 4),
        ("-n 3 --level info", 3),
        ("--node knee -p arm", 0),
    ];
    for (arguments, count) in selected {
        let lines = robot.answer(&format!("log {arguments}"));
        assert_eq!(lines.lines().count(), count, "{arguments}: {lines}");
    }
    robot.run("log --level loud").failed_with_usage();
    let colored = robot.answer("log --level error --color always");
    assert!(colored.contains("\x1b[31mERROR leg"), "{colored}");

    // Logs are internal topics, and are kept until they are removed.
    assert!(!robot.answer("topic list -w 0").contains("horus/log"));
    assert!(
        robot
            .answer("topic list -w 0 --all")
            .contains("horus/log/arm/")
    );
    assert!(robot.answer("clean").contains("kept: horus/log/arm/"));
    assert!(
        robot
            .answer("clean --all")
            .contains("removed: horus/log/arm/")
    );
    assert_eq!(robot.answer("log").lines().count(), 2);
}

/// An empty answer says whether no program logs, or the options select no line.
#[test]
fn an_empty_log_says_why() {
    let robot = Robot::new();
    let said = |arguments: &str| {
        let ran = robot.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        ran.stderr
    };
    let none = "no program has logged in namespace 'default': programs log to horus after \
                horus_core::log::init() in Rust, horus.log_to_topic() in Python, or \
                horus::open_log() in C++";
    assert!(said("log").starts_with(none), "{}", said("log"));
    let mut arm = logger(&robot, "arm");
    arm.tell("log info elbow before");
    let table = [
        (
            "log --program nosuch",
            "none of the 1 lines is of program 'nosuch'. Programs that have logged: arm\n",
        ),
        (
            "log --node knee -p arm",
            "none of the 1 lines is of node 'knee'. Nodes that have logged: elbow\n",
        ),
        (
            "log --level error",
            "none of the 1 lines fulfils all conditions of the options\n",
        ),
        ("log -n 0", ""),
    ];
    for (arguments, expected) in table {
        assert_eq!(said(arguments), expected, "{arguments}");
    }
    let config = robot.namespace().config().clone();
    let other = NamespaceName::new("other").unwrap();
    let _other = Namespace::open(&config.with_name(other)).unwrap();
    let text = said("log -N other");
    let others = "C++. Namespaces with lines: default. Choose one with --namespace";
    assert!(text.contains(others), "{text}");
}

/// The order in which a robot starts its programs decides nothing.
#[test]
fn lines_are_followed_before_the_first_program_and_after_a_removal() {
    let robot = Robot::new();
    let mut follow = robot.stream("log -f -N new");
    // WHY awaited: otherwise it may begin when there is a program.
    assert!(follow.note().contains("no namespace 'new'"));
    let watch = robot.stream("topic list --watch -w 0.01 --json -N new");
    assert_eq!(
        watch.line(),
        "{\"horus\":1,\"namespace\":\"new\",\"topics\":[]}"
    );
    for name in ["one", "two"] {
        let mut program = robot.program_in("new");
        program.tell(&format!("log open {name}"));
        program.tell("log info elbow up");
        program.tell(&format!("publish imu {name}"));
        assert!(follow.line().ends_with(" elbow: up"));
        watch.line_with(&format!("\"topic\":\"{name}\""));
        robot.remove_namespace("new");
    }
    for (stream, note) in [(follow, "\n2 lines, 0 lost\n"), (watch, "")] {
        stream.signal(libc::SIGINT);
        let ran = stream.wait();
        assert!(
            ran.code == 0 && ran.stderr.contains("no namespace 'new'"),
            "{ran:?}"
        );
        assert!(ran.stderr.ends_with(note), "{ran:?}");
    }
}

/// They may say why a program has ended.
#[test]
fn the_last_lines_before_a_removal_are_followed() {
    let robot = Robot::new();
    let program = |name: &str| {
        let mut program = robot.program_in("new");
        program.tell(&format!("log open {name}"));
        program
    };
    let mut one = program("one");
    one.tell("log info elbow up");
    let follow = robot.stream("log -f -N new");
    assert!(follow.line().ends_with(" elbow: up"));
    // WHY suspended: it sees the lines and the new namespace at once.
    follow.signal(libc::SIGSTOP);
    until("it is suspended", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", follow.id())).unwrap();
        stat.contains(") T ")
    });
    one.tell("log error elbow jammed");
    one.kill();
    robot.remove_namespace("new");
    let mut two = program("two");
    two.tell("log info elbow again");
    follow.signal(libc::SIGCONT);
    assert!(follow.line().ends_with(" elbow: jammed"));
    assert!(follow.line().ends_with(" elbow: again"));
    follow.signal(libc::SIGINT);
    let ran = follow.wait();
    assert_eq!(ran.stderr, "3 lines, 0 lost\n", "{ran:?}");
}

#[test]
fn new_lines_are_followed_until_a_signal() {
    let robot = Robot::new();
    let mut arm = logger(&robot, "arm");
    arm.tell("log info elbow before");
    let follow = robot.stream("log -f");
    assert!(follow.line().ends_with(" elbow: before"));
    arm.tell("log info elbow after");
    assert!(follow.line().ends_with(" elbow: after"));
    let mut leg = logger(&robot, "leg");
    leg.tell("log info knee new");
    assert!(follow.line().ends_with(" knee: new"));
    leg.tell("log info knee last");
    leg.kill();
    assert!(follow.line().ends_with(" knee: last"));
    // A log that is followed can be removed once its process has died.
    robot.until("clean --all", |cleaned| !cleaned.contains("horus/log/leg"));
    follow.signal(libc::SIGINT);
    let ran = follow.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "4 lines, 0 lost\n"));
    let timed = robot.run("log -f --timeout 0.2 --json");
    assert_eq!(timed.code, 0, "{timed:?}");
    assert_eq!(timed.stdout.lines().count(), 2, "{timed:?}");
}

#[test]
fn lost_lines_are_counted() {
    let robot = Robot::new();
    let mut arm = logger(&robot, "arm");
    arm.tell("log count 3000");
    let ran = robot.run("log");
    let shown = ran.stdout.lines().count();
    assert!(shown >= 448, "{shown}");
    let lost = 3000 - shown;
    let (thousands, rest) = (lost / 1000, lost % 1000);
    let note = format!("arm[{}]: {thousands},{rest:03} lines lost\n", arm.id());
    assert_eq!((ran.code, ran.stderr), (0, note));
    let json = robot.answer("log --json");
    assert!(
        json.lines()
            .next()
            .unwrap()
            .contains(&format!("\"lost_before\":{lost},"))
    );
    assert!(json.lines().nth(1).unwrap().contains("\"lost_before\":0,"));
    assert_eq!(robot.answer("log -q -n 1").lines().count(), 1);
}

/// The lost lines may have been those that the user looks for.
#[test]
fn lost_lines_are_counted_also_before_lines_that_are_not_selected() {
    let robot = Robot::new();
    let mut arm = logger(&robot, "arm");
    arm.tell("log error motor hot");
    arm.tell("log count 3000");
    let lost = 3001 - robot.run("log").stdout.lines().count();
    let (thousands, rest) = (lost / 1000, lost % 1000);
    let note = format!("arm[{}]: {thousands},{rest:03} lines lost\n", arm.id());
    for options in ["--level error", "--node motor", "--program leg"] {
        let ran = robot.run(&format!("log {options}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        // Those of another program do not matter to one.
        let is_named = options != "--program leg";
        assert_eq!(ran.stderr.contains(&note), is_named, "{ran:?}");
        let ran = robot.run(&format!("log {options} --json -q"));
        let object = format!(
            "{{\"horus\":1,\"program\":\"arm\",\"process_id\":{},\"lost\":{lost}}}",
            arm.id()
        );
        assert_eq!(ran.stdout.trim_end() == object, is_named, "{ran:?}");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    }
    arm.tell("log warn motor warm");
    let ran = robot.run("log --level warn");
    let lost = lost + 1;
    let (thousands, rest) = (lost / 1000, lost % 1000);
    let note = format!("arm[{}]: {thousands},{rest:03} lines lost\n", arm.id());
    assert_eq!((ran.code, ran.stderr), (0, note));
    assert_eq!(ran.stdout.lines().count(), 1);
    let json = robot.answer("log --level warn --json");
    assert!(json.contains(&format!("\"lost_before\":{lost},")), "{json}");
    // The lines before the last ones are not asked for.
    assert_eq!(robot.run("log -n 1").stderr, "");
}

/// The clock of a board without a battery begins in 1970, until NTP sets it. Otherwise what was
/// logged before is hidden.
#[test]
fn what_was_recorded_before_the_clock_was_set_is_selected_by_its_age() {
    const SECOND_NS: u64 = 1_000_000_000;
    let robot = Robot::new();
    let qos = || Qos::new().capacity(64).history(16);
    let now_ns = monotonic_now_ns();
    // The old ones are of the start of the machine.
    let half_uptime = now_ns / 2 / SECOND_NS;
    let logs = Topic::<LogLine>::builder("horus/log/board/1-1").namespace(robot.namespace());
    let mut log = logs.qos(qos()).publisher().unwrap();
    let events = "horus/schedulers/arm/events";
    let events = Topic::<NodeEvent>::builder(events).namespace(robot.namespace());
    let mut black_box = events.qos(qos()).publisher().unwrap();
    for (sequence, monotonic_ns, text) in [(1, 1, "old"), (2, now_ns, "young")] {
        let header = LogLineHeader {
            timestamp_ns: 8 * SECOND_NS,
            monotonic_ns,
            sequence,
            level: LogLineHeader::INFO,
            text_bytes: text.len() as u32,
            ..LogLineHeader::default()
        };
        log.send(LogLine::new(header, text.as_bytes()).unwrap())
            .unwrap();
        let event = NodeEvent {
            timestamp_ns: 8 * SECOND_NS,
            monotonic_ns,
            kind: NodeEvent::COMMAND,
            text: Text::truncated(text),
            ..NodeEvent::default()
        };
        black_box.send(event).unwrap();
    }
    for command in ["log", "blackbox arm --all-runs"] {
        let all = robot.answer(command);
        assert_eq!(all.lines().count(), 2, "{command}: {all}");
        let young = robot.answer(&format!("{command} --since {half_uptime}"));
        assert_eq!(young.lines().count(), 1, "{command}: {young}");
        assert!(young.contains("young"), "{command}: {young}");
        assert_eq!(robot.answer(&format!("{command} --since 0")), "");
    }
}

#[test]
fn a_terminal_acts_on_no_text() {
    let robot = Robot::new();
    let mut evil = logger(&robot, "evil");
    evil.tell("log hostile");
    assert_eq!(
        bare(&robot.answer("log"), &[&evil]),
        [
            "ERROR evil no\\u{202e}de: one\\u{1b}[2J\\r",
            "    | 2026 two"
        ]
    );
    let json = robot.answer("log --json");
    assert!(
        json.contains("\"text\":\"one\\u001b[2J\\r\\n2026 two\""),
        "{json}"
    );
}

#[test]
fn a_reader_that_goes_ends_the_stream_quietly() {
    let robot = Robot::new();
    let mut arm = logger(&robot, "arm");
    let mut command = robot.command("log -f");
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut process = command.spawn().unwrap();
    drop(process.stdout.take());
    crate::common::until("the command has ended", || {
        arm.tell("log count 10");
        std::thread::sleep(Duration::from_millis(10));
        process.try_wait().unwrap().is_some()
    });
    let output = process.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
