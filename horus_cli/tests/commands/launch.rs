//! `launch`: order, readiness, restarts, stops, and launchers that are killed.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use horus_testing::skip;

use crate::common::{Robot, Stream, until};
use crate::golden::check_json_except;
use crate::program::{ROLE, SCRIPT};

/// Writes a launch file.
pub(crate) fn file(robot: &Robot, name: &str, text: &str) -> PathBuf {
    let path = robot.dir().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Starts `horus launch` with the programs of a launch file.
pub(crate) fn launch(robot: &Robot, programs: &str, options: &str) -> Stream {
    let text = format!("{{programs: {{{programs}}}}}");
    let path = file(robot, "robot.json5", &text);
    robot.stream(&format!("launch {} {options}", path.display()))
}

/// Returns a command that takes part as the lines say. `before` is what its shell executes first.
pub(crate) fn participant(before: &str, lines: &str) -> String {
    let test = std::env::current_exe().unwrap().display().to_string();
    let shell = format!("{before} {test} child_role --exact --nocapture");
    format!("command: ['sh', '-c', '{shell}'], env: {{{ROLE}: '1', {SCRIPT}: '{lines}'}}")
}

/// Returns the number after `"key":` in a line of JSON.
pub(crate) fn number(line: &str, key: &str) -> i64 {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).expect(line);
    let end = rest.find([',', '}']).unwrap();
    rest[..end].parse().expect(line)
}

pub(crate) fn event(program: &str, event: &str) -> String {
    format!("{{\"horus\":1,\"program\":\"{program}\",\"event\":\"{event}\"")
}

/// Returns the process id that a program prints.
pub(crate) fn printed_pid(stream: &Stream, program: &str) -> i64 {
    printed_number(&stream.line_with(&event(program, "line")))
}

/// Returns the number that a program has printed in a line of JSON.
pub(crate) fn printed_number(line: &str) -> i64 {
    let (_, text) = line.split_once("\"text\":\"").expect(line);
    text.trim_end_matches("\"}").parse().unwrap()
}

pub(crate) fn is_alive(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    // A zombie has ended; the process that adopts orphans waits for it.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

pub(crate) fn kill(pid: i64) {
    // SAFETY: the call takes no pointer.
    let killed = unsafe { libc::kill(pid as i32, libc::SIGKILL) };
    assert_eq!(killed, 0);
}

#[test]
fn programs_start_when_those_before_them_have_their_topics() {
    let robot = Robot::new();
    let programs = format!(
        "source: {{{}, after: ['sink'], ready: {{publishes: ['cmd_vel']}}}},
         sink: {{{}, ready: {{subscribes: ['cmd_vel'], publishes: ['imu']}}}},
         last: {{command: ['sleep', '1000'], after: ['source']}}",
        participant("exec", "publish best_effort cmd_vel"),
        // WHY not `exec`: a process that the program started has the topics.
        participant(
            "sleep 0.3;",
            "publish imu imu;subscribe best_effort cmd_vel"
        ),
    );
    let stream = launch(&robot, &programs, "--json");
    for expected in [
        event("sink", "started"),
        event("sink", "ready"),
        event("source", "started"),
        event("source", "ready"),
        event("last", "started"),
        event("last", "ready"),
    ] {
        let mut line = stream.line();
        // WHY not what the programs print: it takes another way, and may come before or after.
        while line.contains("\"line\"") {
            line = stream.line();
        }
        assert!(line.starts_with(&expected), "{line}\n{expected}");
    }
    stream.signal(libc::SIGINT);
    let names = ["last", "source", "sink"];
    for (program, word) in names
        .iter()
        .flat_map(|name| [(name, "stopping"), (name, "ended")])
    {
        let line = stream.line_with("\"event\":\"");
        assert!(line.starts_with(&event(program, word)), "{line}");
    }
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(robot.answer("topic list -w 0").lines().count(), 1);
}

#[test]
fn the_policy_decides_on_restarts() {
    let robot = Robot::new();
    let stream = launch(
        &robot,
        "a: {command: ['sh', '-c', 'exit 3'], restart_delay: 0.01, restart_delay_max: 1000,
             restarts_max: 3},
         b: {command: ['sh', '-c', 'exit 4'], restart: 'never'},
         c: {command: ['true'], restart: 'on-failure'},
         d: {command: ['true'], restart: 'always', restarts_max: 1, restart_delay: 0,
             restart_delay_max: 1000},
         e: {command: ['./no-such-program'], restart: 'never'}",
        "--json",
    );
    let mut lines = Vec::new();
    while !lines
        .iter()
        .any(|line: &String| line.starts_with(&event("a", "given_up")))
    {
        lines.push(stream.line());
    }
    let ran = stream.wait();
    lines.extend(ran.stdout.lines().map(str::to_owned));
    let of = |program: &str, word: &str| {
        let begin = event(program, word);
        let found = lines.iter().filter(|line| line.starts_with(&begin));
        found.cloned().collect::<Vec<String>>()
    };
    let delays = of("a", "restarting");
    let delays: Vec<i64> = delays.iter().map(|line| number(line, "delay_ns")).collect();
    assert_eq!(delays, [10_000_000, 20_000_000, 40_000_000]);
    assert_eq!(of("a", "started").len(), 4);
    let has_code_3 = |line: &String| number(line, "code") == 3;
    assert!(of("a", "ended").iter().all(has_code_3));
    let counts = |program: &str| ["started", "given_up"].map(|word| of(program, word).len());
    assert_eq!(counts("b"), [1, 1]);
    assert_eq!(counts("c"), [1, 0]);
    assert_eq!(counts("d"), [2, 0]);
    assert!(of("e", "not_started")[0].contains("there is no program"));
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stderr, "horus: failed: a, b, e\n");
}

#[test]
fn a_killed_program_is_restarted_and_leaves_nothing() {
    let robot = Robot::new();
    let programs = "a: {command: ['sh', '-c', 'sleep 1000 & echo $!; wait'], restart_delay: 0.01}";
    let stream = launch(&robot, programs, "--json");
    for _ in 0..5 {
        let pid = number(&stream.line_with(&event("a", "started")), "pid");
        let grandchild = printed_pid(&stream, "a");
        assert!(is_alive(grandchild));
        kill(pid);
        let line = stream.line_with(&event("a", "ended"));
        assert_eq!((number(&line, "pid"), number(&line, "signal")), (pid, 9));
        until("its child is gone", || !is_alive(grandchild));
    }
    stream.line_with(&event("a", "started"));
    stream.signal(libc::SIGTERM);
    assert_eq!(stream.wait().code, 0);
}

#[test]
fn a_program_that_does_not_stop_is_killed() {
    let robot = Robot::new();
    let programs =
        "a: {command: ['sh', '-c', 'trap \"\" TERM; echo up; while :; do sleep 0.1; done'],
                        stop_timeout: 0.1}";
    let stream = launch(&robot, programs, "--json");
    stream.line_with("\"text\":\"up\"");
    stream.signal(libc::SIGINT);
    stream.line_with(&event("a", "stopping"));
    stream.line_with(&event("a", "killed"));
    let ended = stream.line_with(&event("a", "ended"));
    assert_eq!(number(&ended, "signal"), 9);
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "horus: failed: a\n"));
}

/// Programs that end in order at SIGTERM do so with the exit code 143, as `horus.run` in Python.
#[test]
fn an_end_because_of_the_stop_is_no_failure() {
    let robot = Robot::new();
    let on_stop = |code: i32| {
        let wait = "echo up; while :; do sleep 0.01; done";
        format!("{{command: ['sh', '-c', 'trap \"exit {code}\" TERM; {wait}']}}")
    };
    let programs = format!(
        "a: {}, b: {{command: ['sh', '-c', 'echo up; exec sleep 1000']}}",
        on_stop(143)
    );
    let up = |stream: &Stream, programs: usize| {
        for _ in 0..programs {
            stream.line_with("\"text\":\"up\"");
        }
    };
    let stream = launch(&robot, &programs, "--json");
    up(&stream, 2);
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    // Another code after the stop is a failure, and so is the same code before it.
    let programs = format!(
        "{programs}, c: {}, d: {}, e: {{command: ['sh', '-c', 'exit 143'], restart: 'never'}}",
        on_stop(130),
        on_stop(7),
    );
    let stream = launch(&robot, &programs, "--json");
    // The lines of the programs and the events come on two ways, so in any order.
    let mut left = 5;
    while left > 0 {
        let line = stream.line();
        let is_end = line.starts_with(&event("e", "ended"));
        left -= usize::from(is_end || line.contains("\"text\":\"up\""));
    }
    stream.signal(libc::SIGTERM);
    let ran = stream.wait();
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "horus: failed: c, d, e\n")
    );
}

#[test]
fn a_killed_launcher_leaves_no_program_unless_asked() {
    let robot = Robot::new();
    let programs = "a: {command: ['sleep', '1000']},
                    b: {command: ['sh', '-c', 'sleep 1000 & echo $!; wait'], after: ['a']}";
    for options in ["--json", "--json --keep"] {
        let stream = launch(&robot, programs, options);
        let mut pids = Vec::new();
        for name in ["a", "b"] {
            let line = stream.line_with(&event(name, "started"));
            pids.push(number(&line, "pid"));
        }
        pids.push(printed_pid(&stream, "b"));
        stream.signal(libc::SIGKILL);
        assert_eq!(stream.wait().code, -9);
        if options.contains("keep") {
            assert!(pids.iter().all(|pid| is_alive(*pid)));
            pids.iter().for_each(|pid| kill(*pid));
        }
        until("all are gone", || !pids.iter().any(|pid| is_alive(*pid)));
    }
}

#[test]
fn a_program_that_is_not_ready_in_time_holds_the_others() {
    let robot = Robot::new();
    let stream = launch(
        &robot,
        "a: {command: ['sleep', '1000'], ready: {publishes: ['imu']}, ready_timeout: 0.05,
             restart_delay: 0.01, restarts_max: 1},
         b: {command: ['true'], after: ['a']}",
        "--json",
    );
    for _ in 0..2 {
        let line = stream.line_with(&event("a", "not_ready"));
        assert!(line.contains("it does not publish imu"), "{line}");
    }
    let ran = stream.wait();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!ran.stdout.contains("\"program\":\"b\""), "{ran:?}");
}

/// The reason names what is in the way: a topic that cannot be opened, or another process.
#[test]
fn the_reason_why_a_program_is_not_ready_is_named() {
    let robot = Robot::new();
    let mut other = robot.program();
    other.tell("publish imu imu");
    let damaged = robot.dir().join("default/topics/damaged");
    std::fs::write(&damaged, [0x5a; 4096]).unwrap();
    std::fs::set_permissions(&damaged, PermissionsExt::from_mode(0o600)).unwrap();
    let program = |ready: &str| {
        format!(
            "{{command: ['sleep', '1000'], ready: {{{ready}}}, ready_timeout: 0.05,
               restart: 'never'}}"
        )
    };
    let programs = format!(
        "a: {}, b: {}, c: {}",
        program("publishes: ['imu']"),
        program("publishes: ['damaged']"),
        program("subscribes: ['damaged']")
    );
    let ran = launch(&robot, &programs, "").wait();
    let publisher = format!(
        "publish imu; process {} ({}) does, but",
        other.id(),
        other.name()
    );
    for part in [
        publisher.as_str(),
        "not known whether it does publish damaged: ",
        "not known whether it does subscribe to damaged: ",
    ] {
        assert!(ran.stderr.contains(part), "no '{part}' in {}", ran.stderr);
    }
}

#[test]
fn the_end_of_a_required_program_stops_all() {
    let robot = Robot::new();
    let path = file(
        &robot,
        "robot.json5",
        "{namespace: 'demo', private: true, env: {WORD: 'from all'}, programs: {
            a: {command: ['sleep', '1000']},
            b: {command: ['sh', '-c', 'echo $HORUS_NAMESPACE $WORD; echo bad >&2; printf end'],
                required: true, after: ['a']}}}",
    );
    let mut command = robot.command(&format!("launch {}", path.display()));
    command.env_remove("HORUS_NAMESPACE");
    let stream = Stream::spawn(&mut command);
    let id = stream.id();
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
    let rest = ran.stdout.strip_prefix(&format!("[b] demo_{id}_"));
    let (digits, rest) = rest.expect(&ran.stdout).split_at(8);
    assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!(rest, " from all\n[b] end");
    let namespace = format!("horus: the namespace is demo_{id}_{digits}\n");
    for part in [
        namespace.as_str(),
        "[a] started (process ",
        "[b] bad\n",
        "[b] ended with exit code 0",
        "[a] stopping",
    ] {
        assert!(ran.stderr.contains(part), "no '{part}' in {}", ran.stderr);
    }
    // The namespace of the run is gone.
    let left = std::fs::read_dir(robot.dir()).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("demo"));
    assert_eq!(left.count(), 0);
}

/// A program that prints without a pause keeps nothing from being noticed.
#[test]
fn a_program_that_prints_all_the_time_hinders_nothing() {
    let robot = Robot::new();
    let programs = "chatty: {command: ['yes']},
        b: {command: ['sh', '-c', 'sleep 0.2; exit 3'], restart: 'never', required: true}";
    let path = file(&robot, "a.json5", &format!("{{programs: {{{programs}}}}}"));
    let mut command = robot.command(&format!("launch {}", path.display()));
    let mut launcher = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the launcher ends", || {
        launcher.try_wait().unwrap().is_some()
    });
    assert_eq!(launcher.wait().unwrap().code(), Some(1));
}

/// A program is not restarted after one that it needs has failed for good.
#[test]
fn a_program_does_not_wait_for_one_that_has_failed() {
    let robot = Robot::new();
    let end = robot.dir().join("end of b");
    let programs = format!(
        "a: {{command: ['sh', '-c', 'sleep 0.2; exit 1'], restart: 'never'}},
        b: {{command: ['sh', '-c', 'until [ -e \"$0\" ]; do sleep 0.1; done; exit 1', {end:?}],
        after: ['a']}}"
    );
    let mut launched = launch(&robot, &programs, "");
    let mut note = launched.note();
    while !note.contains("[a] ended") {
        assert!(!note.is_empty(), "the launcher has ended");
        note = launched.note();
    }
    std::fs::write(&end, "").unwrap();
    let ran = launched.wait();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!ran.stderr.contains("[b] restarting"), "{ran:?}");
    // One that is not to be restarted stops no other.
    let programs = "a: {command: ['sh', '-c', 'sleep 0.2; exit 1'], restart: 'never'},
        b: {command: ['sh', '-c', 'sleep 0.6'], restart: 'never', after: ['a']},
        c: {command: ['sh', '-c', 'sleep 1; echo whole']}";
    let ran = launch(&robot, programs, "").wait();
    assert!(ran.stdout.contains("[c] whole"), "{ran:?}");
}

#[test]
fn top_shows_the_programs_of_every_launch() {
    let robot = Robot::new();
    let stream = launch(
        &robot,
        "a: {command: ['sleep', '1000'], required: true},
         b: {command: ['sh', '-c', 'exit 3'], restarts_max: 2, restart_delay: 0.01,
             restart_delay_max: 1000},
         c: {command: ['true'], after: ['a']},
         d: {command: ['sleep', '1000'], after: ['e']},
         e: {command: ['sleep', '1000'], ready: {publishes: ['imu']}}",
        "--json",
    );
    let is_settled = |sample: &str| {
        let states = ["running", "failed", "ended", "waiting", "starting"];
        let mut states = states.iter();
        states.all(|state| sample.contains(&format!("\"state\":\"{state}\"")))
    };
    let sample = robot.until("top --json -n 1 -i 0.01", is_settled);
    let (_, programs) = sample.split_once("\"programs\":").unwrap();
    let (programs, _) = programs.split_once(",\"events\"").unwrap();
    let launcher = format!("\"launcher_pid\":{}", stream.id());
    assert_eq!(programs.matches(&launcher).count(), 5, "{programs}");
    check_json_except(
        "top_programs",
        programs,
        &["file", "launcher_pid", "started_ns"],
    );
    let text = robot.answer("top -n 1 -i 0.01");
    let row = text.lines().find(|line| line.starts_with("b ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells[..7],
        ["b", "failed", "-", "2", "-", "exit", "code"],
        "{text}"
    );
    // Another launcher of the namespace has its own programs.
    let path = file(
        &robot,
        "other.json5",
        "{programs: {z: {command: ['sleep', '1000']}}}",
    );
    let other = robot.stream(&format!("launch {}", path.display()));
    let count = |sample: &str| sample.matches("\"launcher_pid\"").count();
    let both = robot.until("top --json -n 1 -i 0.01", |sample| count(sample) == 6);
    assert!(both.contains("\"program\":\"z\",\"state\":"), "{both}");
    // What a killed launcher knew last is not shown.
    kill(i64::from(other.id()));
    robot.until("top --json -n 1 -i 0.01", |sample| count(sample) == 5);
    drop(other);
    stream.signal(libc::SIGTERM);
    stream.wait();
    let sample = robot.answer("top --json -n 1 -i 0.01");
    assert!(sample.contains("\"programs\":[]"), "{sample}");
}

/// Returns false, and says so, if there is no Python.
fn has_python() -> bool {
    let has_it = Command::new("python3").arg("--version").output().is_ok();
    if !has_it {
        skip("no python3: apt-get install python3");
    }
    has_it
}

#[test]
fn a_file_in_python_defines_the_same_structure() {
    if !has_python() {
        return;
    }
    let robot = Robot::new();
    std::fs::write(robot.dir().join("parts.py"), "SLEEP = ['sleep', '1000']\n").unwrap();
    let text = "import os, pathlib, sys\n\
                from parts import SLEEP\n\
                print('evaluated by', os.path.basename(sys.argv[0]))\n\
                def launch():\n    \
                    here = pathlib.Path(__file__).parent\n    \
                    names = [f'camera{n}' for n in range(3)]\n    \
                    programs = {name: {'command': SLEEP} for name in names}\n    \
                    programs['last'] = {'command': ['echo', here], 'after': names,\n        \
                        'env': {'A': '${HOME}'}, 'required': True}\n    \
                    return {'programs': programs}\n";
    let path = file(&robot, "robot.py", text);
    let path = path.display();
    let check = robot.run(&format!("launch --check {path}"));
    assert_eq!(check.stdout, "camera0\ncamera1\ncamera2\nlast\n");
    assert_eq!(check.stderr, "evaluated by robot.py\n");
    let ran = robot.run(&format!("launch {path} --json"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = event("last", "line");
    let dir = robot.dir().display();
    let line = format!("{line},\"stream\":\"stdout\",\"text\":\"{dir}\"");
    assert!(ran.stdout.contains(&line), "{ran:?}");
    // A variable in place of a function; JSON5 has no such file.
    let path = file(
        &robot,
        "variable.PY",
        "launch = {'programs': {'a': {'command': ['true']}}}",
    );
    robot.answer(&format!("launch --check {}", path.display()));
}

#[test]
fn mistakes_in_a_file_in_python_are_named_with_their_line() {
    if !has_python() {
        return;
    }
    let robot = Robot::new();
    let table = [
        ("x = 1\n", "robot.py: it defines no 'launch'"),
        (
            "launch = {'programs': {}}\nx = 1 / 0\n",
            "line 2: ZeroDivisionError: ",
        ),
        (
            "def launch():\n    return y\n",
            "line 2: NameError: name 'y' is not",
        ),
        ("launch = {\n", "line 1: SyntaxError: "),
        ("import no_such_module\n", "line 1: ModuleNotFoundError: "),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
        (
            "import os\nos._exit(3)\n",
            "did not evaluate it (exit status: 3)",
        ),
        (
            "launch = {'programs': {'a': {'command': {1}}}}",
            "TypeError: ",
        ),
        (
            "launch = {'programs': {'a': {}}}",
            "program 'a': 'command' is missing: ",
        ),
        (
            "launch = {'programs': {'a': {'command': ['x'], 'reastart': 1}}}",
            "program 'a': 'reastart' is an unknown setting. Near: restart, ",
        ),
        (
            "launch = {'programs': {'a': {'command': []}}}",
            "program 'a': 'command' is [], which names no program",
        ),
        (
            "launch = {'program': {}}",
            "'program' is an unknown setting. Near: programs, ",
        ),
        (
            "launch = {'programs': {'a': {'command': 'x'}}}",
            "robot.py: program 'a': 'command' is \"x\", but a list of texts is wanted",
        ),
        (
            "launch = {'programs': {'a': {'command': ['x'], 'restart_delay': float('inf')}}}",
            "ValueError: ",
        ),
        (
            "launch = 7",
            "the launch file is 7, but an object is wanted",
        ),
    ];
    for (text, part) in table {
        let path = file(&robot, "robot.py", text);
        let ran = robot.run(&format!("launch {}", path.display()));
        ran.failed(2, &["robot.py: ", part]);
    }
    let path = file(&robot, "robot.py", "launch = {}");
    let mut command = robot.command(&format!("launch {}", path.display()));
    let output = command.env("PATH", "/nowhere").output().unwrap();
    let found = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{found}");
    assert!(found.contains("there is no python3 in PATH"), "{found}");
    robot
        .run("launch nothing.py")
        .failed(3, &["cannot read nothing.py"]);
}

#[test]
fn the_demo_is_the_same_in_both_languages() {
    if !has_python() {
        return;
    }
    let robot = Robot::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/robot/robot");
    let order = |extension: &str| {
        let path = format!("{examples}.{extension}");
        // WHY without the programs: nobody may have built the demo.
        robot.run(&format!("launch --check {path}")).stdout
    };
    let names = order("json5");
    assert_eq!(names.lines().next(), Some("monitor"));
    assert_eq!(order("py"), names);
}

#[test]
fn a_program_that_does_not_exist_is_not_tried_again() {
    let robot = Robot::new();
    let programs = "a: {command: ['./none'], required: true},
        b: {command: ['sleep', '1000']}";
    let ran = launch(&robot, programs, "").wait();
    assert_eq!(ran.code, 1);
    let of_a = ran.stderr.lines().filter(|line| line.starts_with("[a]"));
    let of_a: Vec<_> = of_a.collect();
    assert!(of_a[0].contains("there is no program"), "{of_a:?}");
    assert_eq!(of_a[1..], ["[a] not restarted"]);
}
