//! `launch` with a private namespace, and with one that is removed meanwhile.

use crate::common::{Robot, Stream, wrapped};
use crate::launch::{event, file, kill, number, participant};

/// A tool that looks at a private namespace keeps it, and changes no result.
#[test]
fn an_observer_of_a_private_namespace_hides_no_result() {
    for (end, code, failed) in [("exit 0", 0, ""), ("exit 1", 1, "horus: failed: a\n")] {
        let robot = Robot::new();
        let say = "echo $HORUS_NAMESPACE";
        let wait = "while [ ! -e go ]; do sleep 0.01; done";
        let text = format!(
            "{{private: true, programs: {{a: {{command: ['sh', '-c', '{say}; {wait}; {end}'], \
             restart: 'never'}}}}}}"
        );
        let path = file(&robot, "robot.json5", &text);
        let stream = robot.stream(&format!("launch {} --json", path.display()));
        let line = stream.line_with(&event("a", "line"));
        let (_, name) = line.split_once("\"text\":\"").expect(&line);
        let name = name.trim_end_matches("\"}");
        let observer = robot.stream(&format!("top --json -i 0.05 -N {name}"));
        observer.line();
        file(&robot, "go", "");
        let ran = stream.wait();
        assert_eq!(ran.code, code, "{ran:?}");
        let first = format!("horus: the namespace is {name}\n");
        let notes = ran.stderr.strip_prefix(&first).expect(&ran.stderr);
        let (note, rest) = notes.split_once('\n').expect(notes);
        assert_eq!(rest, failed);
        let user = format!(
            "in use by process {} (horus), so it is kept. ",
            observer.id()
        );
        assert!(note.contains(&user), "{note}");
        observer.signal(libc::SIGTERM);
        assert_eq!(observer.wait().code, 0);
        // What the note says works.
        let (_, advice) = note.split_once(": horus ").expect(note);
        assert_eq!(advice, format!("namespace rm {name}"));
        robot.answer(advice);
    }
}

/// Returns the names of the private namespaces that are left.
fn left_namespaces(robot: &Robot) -> Vec<String> {
    let left = std::fs::read_dir(robot.dir()).unwrap().flatten();
    let names = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("default_")).collect()
}

/// A launcher that fails after it has opened the namespace removes it.
#[test]
fn a_launcher_that_fails_leaves_no_private_namespace() {
    let robot = Robot::new();
    let text = "{private: true, programs: {a: {command: ['true'], restart: 'never'}}}";
    let path = file(&robot, "robot.json5", text);
    let mut failures = 0;
    for descriptors in 3..100 {
        let inner = robot.command(&format!("launch {}", path.display()));
        let limit = format!("ulimit -n {descriptors}; exec \"$@\"");
        let ran = Stream::spawn(&mut wrapped(&inner, &limit)).wait();
        if ran.code == 0 {
            assert!(failures > 0, "{ran:?}");
            return;
        }
        failures += usize::from(ran.stderr.contains("the namespace is "));
        assert_eq!(left_namespaces(&robot), [""; 0], "{descriptors}: {ran:?}");
    }
    panic!("it needs too many descriptors");
}

/// The programs enter the namespace that has the name now, and the launcher has to follow them.
#[test]
fn a_namespace_that_is_replaced_makes_no_program_late() {
    for settings in ["namespace: 'arm'", "namespace: 'arm', private: true"] {
        let robot = Robot::new();
        let program = participant("echo $HORUS_NAMESPACE; exec", "publish imu imu");
        let text = format!(
            "{{{settings}, programs: {{a: {{{program}, ready: {{publishes: ['imu']}}, \
             restart_delay: 0.01}}}}}}"
        );
        let path = file(&robot, "robot.json5", &text);
        let stream = robot.stream(&format!("launch {} --json", path.display()));
        let started = stream.line_with(&event("a", "started"));
        stream.line_with(&event("a", "ready"));
        let names = std::fs::read_dir(robot.dir()).unwrap().flatten();
        let mut names = names.map(|entry| entry.file_name().into_string().unwrap());
        let name = names.find(|name| name.starts_with("arm")).unwrap();
        std::fs::remove_dir_all(robot.dir().join(&name)).unwrap();
        kill(number(&started, "pid"));
        stream.line_with(&event("a", "started"));
        let mut line = stream.line();
        while line.contains("\"event\":\"line\"") {
            line = stream.line();
        }
        assert!(line.starts_with(&event("a", "ready")), "{line}");
        let programs = robot.answer(&format!("top --json -n 1 -i 0.05 -N {name}"));
        assert!(programs.contains("\"program\":\"a\""), "{programs}");
        stream.signal(libc::SIGTERM);
        let ran = stream.wait();
        assert_eq!(ran.code, 0, "{ran:?}");
        let note = format!("the namespace {name} was removed");
        assert_eq!(ran.stderr.matches(&note).count(), 1, "{ran:?}");
        assert_eq!(left_namespaces(&robot), [""; 0]);
    }
}

/// Two signals at once come from two supervisors, or from the window of a terminal that is closed.
#[test]
fn two_signals_at_the_start_leave_no_private_namespace() {
    let robot = Robot::new();
    let text = "{private: true, programs: {a: {command: ['sleep', '1000']}}}";
    let path = file(&robot, "robot.json5", text);
    for _ in 0..8 {
        let stream = robot.stream(&format!("launch {}", path.display()));
        while left_namespaces(&robot).is_empty() {}
        stream.signal(libc::SIGINT);
        stream.signal(libc::SIGTERM);
        let ran = stream.wait();
        assert_eq!(left_namespaces(&robot), [""; 0], "{ran:?}");
    }
}
