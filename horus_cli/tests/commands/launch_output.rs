//! `launch` with an output that nobody reads.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, PipeWriter};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::Child;

use crate::common::{Robot, limit_memory, until};
use crate::launch::{event, file, number};

/// Starts `horus launch` with this file; `output` is its stdout and its stderr.
fn launch_to(robot: &Robot, programs: &str, options: &str, output: impl Into<OwnedFd>) -> Launcher {
    let programs = format!("{{programs: {{{programs}}}}}");
    let path = file(robot, "robot.json5", &programs);
    let mut command = robot.command(&format!("launch {} {options}", path.display()));
    let output = output.into();
    command.stderr(output.try_clone().unwrap()).stdout(output);
    Launcher(command.spawn().unwrap())
}

/// A running launcher. Killed when dropped.
struct Launcher(Child);

impl Launcher {
    fn interrupt(&self) {
        // SAFETY: the call takes no pointer, and nobody has waited for the child.
        assert_eq!(unsafe { libc::kill(self.0.id() as i32, libc::SIGINT) }, 0);
    }

    fn exit_code(&mut self) -> Option<i32> {
        let mut status = None;
        until("the launcher ends", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status?.code()
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn set_nonblocking(pipe: &PipeWriter) {
    // SAFETY: the call takes no pointer.
    let set = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(set, 0);
}

/// An output that nobody reads, as on a terminal after Ctrl-S, delays no start, restart or stop.
#[test]
fn supervision_waits_for_no_reader() {
    for is_blocking in [true, false] {
        let robot = Robot::new();
        let (_unread, pipe) = io::pipe().unwrap();
        if !is_blocking {
            set_nonblocking(&pipe);
        }
        let programs = "chatty: {command: ['yes']},
            a: {command: ['sh', '-c', 'sleep 0.2; echo x >> starts; exit 3'], restart_delay: 0.01,
                restarts_max: 3, required: true, after: ['chatty']}";
        let mut launcher = launch_to(&robot, programs, "", pipe);
        assert_eq!(launcher.exit_code(), Some(1));
        let starts = std::fs::read_to_string(robot.dir().join("starts")).unwrap();
        assert_eq!(starts, "x\n".repeat(4));
    }
}

/// Returns the numbers that a line shows: those from the first to the second.
fn numbers_of(line: &str, next: u64) -> Option<(u64, u64)> {
    let in_text = |part: &str| part.strip_prefix("[a] ")?.parse().ok();
    let in_json = |part: &str| {
        let (_, text) = part.split_once("\"text\":\"")?;
        text.strip_suffix("\"}")?.parse().ok()
    };
    if let Some(number) = in_text(line).or_else(|| in_json(line)) {
        return Some((number, number));
    }
    let text = line.strip_prefix("[a] ").and_then(|line| {
        let lines = line.strip_suffix(" not shown")?;
        lines.split(' ').next()?.parse::<u64>().ok()
    });
    let is_report = line.starts_with(&event("a", "not_shown"));
    let count = text.or_else(|| is_report.then(|| number(line, "lines") as u64));
    count.map(|count| (next, next + count - 1))
}

/// The program prints to its end although nobody reads, and each of its lines is shown or counted.
#[test]
fn lines_that_nobody_reads_in_time_are_counted() {
    const LINES: u64 = 100_000;
    for options in ["--quiet", "--json"] {
        let robot = Robot::new();
        let script = format!("seq {LINES}; touch printed; exec sleep 1000");
        let programs = format!("a: {{command: ['sh', '-c', '{script}']}}");
        let (unread, pipe) = io::pipe().unwrap();
        let mut launcher = launch_to(&robot, &programs, options, pipe);
        let printed = robot.dir().join("printed");
        until("it has printed all", || printed.exists());
        let (mut next, mut reports) = (1, 0);
        for line in BufReader::new(unread).lines().map(Result::unwrap) {
            let Some((first, last)) = numbers_of(&line, next) else {
                continue;
            };
            assert_eq!(first, next, "{line}");
            next = last + 1;
            reports += u32::from(line.contains("not"));
            if next > LINES {
                launcher.interrupt();
            }
        }
        assert_eq!(next, LINES + 1);
        assert!(reports > 0);
        assert_eq!(launcher.exit_code(), Some(0));
    }
}

/// A closed pipe and a full disk stop no program, and hide no failure of one.
#[test]
fn programs_run_on_when_nobody_can_read() {
    let closed = || OwnedFd::from(io::pipe().unwrap().1);
    let full = || OwnedFd::from(File::options().write(true).open("/dev/full").unwrap());
    for (output, options, other, code) in [
        (closed(), "", "true", 0),
        (closed(), "--json", "false", 1),
        (full(), "", "false", 1),
    ] {
        let robot = Robot::new();
        let script = "trap 'echo b >> stopped; exit 0' TERM\n\
                      while :; do echo x; echo x >> ticks; sleep 0.01; done";
        file(&robot, "script", script);
        let programs = format!(
            "a: {{command: ['sh', 'script']}}, b: {{command: ['{other}'], restart: 'never'}}"
        );
        let mut launcher = launch_to(&robot, &programs, options, output);
        let ticks = robot.dir().join("ticks");
        let ran_on = || std::fs::metadata(&ticks).is_ok_and(|ticks| ticks.len() > 200);
        until("it runs on", ran_on);
        launcher.interrupt();
        assert_eq!(launcher.exit_code(), Some(code));
        // Its trap was executed: it was stopped in order.
        let stopped = std::fs::read_to_string(robot.dir().join("stopped")).unwrap();
        assert_eq!(stopped, "b\n");
    }
}

/// A launcher that gets no thread for the output of a program tries again.
#[test]
fn a_refused_thread_does_not_end_the_launcher() {
    let robot = Robot::new();
    let started = "command: ['sleep', '1000'], restart_delay: 0.01, restart_delay_max: 0.01";
    let programs = format!(
        "{{programs: {{a: {{command: ['sh', '-c', 'while [ ! -e go ]; do sleep 0.01; done']}},
          b: {{{started}, after: ['a']}}, c: {{{started}, after: ['a']}},
          d: {{{started}, after: ['a']}}}}}}"
    );
    let path = file(&robot, "robot.json5", &programs);
    let stream = robot.stream(&format!("launch {} --json", path.display()));
    stream.line_with(&event("a", "started"));
    limit_memory(stream.id(), true);
    file(&robot, "go", "");
    let refused = stream.line_with("\"event\":\"not_started\"");
    assert!(refused.contains("cannot start a thread"), "{refused}");
    limit_memory(stream.id(), false);
    let name = refused.split('"').nth(5).unwrap();
    stream.line_with(&event(name, "started"));
    stream.signal(libc::SIGTERM);
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
}
