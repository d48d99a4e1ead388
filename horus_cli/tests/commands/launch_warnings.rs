//! `launch`: warnings at the start.

use horus_core::topic::{DynamicBuilder, DynamicPublisher, Qos};
use horus_core::value::encode_serde;

use crate::common::{Robot, Stream};
use crate::launch::{event, file, kill, number};

/// Starts `horus launch` with a file of this name and these programs.
fn launch(robot: &Robot, name: &str, programs: &str) -> Stream {
    let path = file(robot, name, &format!("{{programs: {{{programs}}}}}"));
    robot.stream(&format!("launch {} --json", path.display()))
}

#[test]
fn a_second_launch_of_the_same_programs_is_noticed() {
    let robot = Robot::new();
    let sleeps = "command: ['sleep', '1000']";
    let first = launch(
        &robot,
        // What its status says is printed without what acts on a terminal.
        "first\x1b.json5",
        &format!(
            "a: {{{sleeps}}}, b: {{{sleeps}}}, e: {{command: ['true']}}, \
             w: {{{sleeps}, after: ['c']}}, c: {{{sleeps}, ready: {{publishes: ['imu']}}}}"
        ),
    );
    let ended = "\"program\":\"e\",\"state\":\"ended\"";
    robot.until("top --json -n 1 -i 0.01", |sample| sample.contains(ended));
    // Programs that have ended, and those of other names, are no reason.
    let other = launch(
        &robot,
        "other.json5",
        "d: {command: ['true']}, e: {command: ['true']}",
    );
    let ran = other.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // Nor are those in another namespace.
    let path = file(&robot, "b.json5", "{programs: {b: {command: ['true']}}}");
    let ran = robot.run(&format!("launch -N elsewhere --json {}", path.display()));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let second = launch(
        &robot,
        "second.json5",
        "b: {command: ['true']}, w: {command: ['true']}, e: {command: ['true']}",
    );
    let ran = second.wait();
    let (id, dir) = (first.id(), robot.dir().display());
    let expected = format!(
        "warning: the namespace 'default' already has programs with these names: b, w. The horus \
         launch with the process id {id} runs them from {dir}/first\\u{{1b}}.json5. Programs that \
         run twice publish on the same topics. Stop that launch (kill {id}), or launch this file \
         with another namespace (-N)\n"
    );
    assert_eq!((ran.code, ran.stderr), (0, expected));
    // A launcher that has ended runs nothing.
    first.signal(libc::SIGTERM);
    assert_eq!(first.wait().code, 0);
    let path = file(&robot, "b.json5", "{programs: {b: {command: ['true']}}}");
    let ran = robot.run(&format!("launch --json {}", path.display()));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

/// A status may be read while its launcher dies and another one takes the lane over.
#[test]
fn a_status_that_the_owner_of_its_lane_has_not_sent_is_not_shown() {
    let robot = Robot::new();
    let first = launch(&robot, "first.json5", "a: {command: ['sleep', '1000']}");
    let of_first = format!("\"launcher_pid\":{}", first.id());
    let sample = "top --json -n 1 -i 0.01";
    robot.until(sample, |sample| sample.contains(&of_first));
    let next = DynamicBuilder::for_existing_topic("horus/launch").namespace(robot.namespace());
    let qos = Qos::latched().persist_after_exit(false);
    let mut next = next.qos(qos).publisher().unwrap();
    let publish = |next: &mut DynamicPublisher, owner: u64| {
        let status = serde_json::json!({
            "owner_id": owner,
            "file": "f",
            "launcher_pid": 1,
            "programs": [{
                "program": "b", "state": "running", "pid": 2, "restarts": 0,
                "started_ns": 1, "exit_code": null, "signal": null,
            }],
        });
        let mut bytes = [0; 1024];
        let length = encode_serde(&status, &mut bytes).unwrap();
        next.send_bytes(&bytes[..length]).unwrap();
        robot.answer(sample)
    };
    let own = robot.namespace().registry().own_owner_word().to_bits();
    let of_next = "\"launcher_pid\":1,\"program\":\"b\"";
    let found = publish(&mut next, own ^ 1);
    assert!(found.contains(&of_first), "{found}");
    assert!(!found.contains(of_next), "{found}");
    // 0 stands for a launcher of a version that does not publish it.
    for owner in [own, 0] {
        let found = publish(&mut next, owner);
        assert!(
            found.contains(&of_first) && found.contains(of_next),
            "{found}"
        );
    }
}

#[test]
fn a_program_that_a_killed_launcher_left_is_noticed() {
    let robot = Robot::new();
    let horus = env!("CARGO_BIN_EXE_horus");
    let program = format!("command: ['{horus}', 'topic', 'pub', 'note', 'value', '1', '-r', '1']");
    let path = file(
        &robot,
        "a.json5",
        &format!("{{programs: {{a: {{{program}}}}}}}"),
    );
    let stream = robot.stream(&format!("launch {} --json --keep", path.display()));
    let started = stream.line_with(&event("a", "started"));
    robot.until("topic list", |topics| topics.contains("note"));
    // As long as its launcher runs, this is no program without one.
    let other = format!("{{programs: {{b: {{{program}}}}}}}");
    let other = file(&robot, "b.json5", &other);
    let launch_b = || {
        let launch = robot.stream(&format!("launch {} --json", other.display()));
        launch.line_with(&event("b", "started"));
        launch.signal(libc::SIGTERM);
        // WHY only warnings: a command that is stopped before it publishes ends with 130, which
        // counts as a failure of b.
        let stderr = launch.wait().stderr;
        let warnings = stderr.lines().filter(|line| line.starts_with("warning: "));
        warnings.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(launch_b(), "");
    stream.signal(libc::SIGKILL);
    assert_eq!(stream.wait().code, -9);
    let pid = number(&started, "pid");
    let expected = format!(
        "warning: the process {pid} in the namespace 'default' already runs the command of 'b', \
         and no horus launch that still runs has started it. Programs that run twice publish on \
         the same topics. Stop it (kill {pid}), or launch this file with another namespace (-N)\n"
    );
    assert_eq!(launch_b(), expected);
    kill(pid);
}

/// Otherwise all programs are ready, and nothing says why nothing moves.
#[test]
fn an_engaged_emergency_stop_is_noticed() {
    let robot = Robot::new();
    let path = file(&robot, "a.json5", "{programs: {a: {command: ['true']}}}");
    let launch = |options: &str| {
        let ran = robot.run(&format!("launch --json {} {options}", path.display()));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stderr
    };
    assert_eq!(launch(""), "");
    let engage = ["estop", "engage", "--reason", "front\x1bhit"];
    // No scheduler runs yet.
    assert_eq!(robot.run_with(&engage).code, 3);
    let warning = launch("");
    let (stop, rest) = warning.split_once(" since ").expect(&warning);
    assert_eq!(
        stop,
        "warning: EMERGENCY STOP by horus estop: front\\u{1b}hit is engaged in the namespace \
         'default'"
    );
    let (_, rest) = rest.split_once(". ").expect(&warning);
    assert_eq!(
        rest,
        "All nodes start in their safe states, and none ticks until 'horus estop release -N \
         default'\n"
    );
    // The time is the one that `estop status` shows.
    let status = robot.run("estop status").stdout;
    let (time, _) = status.split_once(" EMERGENCY").expect(&status);
    assert!(warning.contains(&format!(" since {time}. ")), "{warning}");
    assert_eq!(launch("-N elsewhere"), "");
    assert_eq!(launch("--quiet"), "");
    robot.answer("estop release");
    assert_eq!(launch(""), "");
}
