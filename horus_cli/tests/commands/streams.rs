//! The ends of commands: signals, closed pipes, killed participants.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::{CmdVel, Imu};
use horus_core::topic::{Qos, Topic};

use crate::common::{Robot, handles, until};
use crate::launch::{file, number};

#[test]
fn a_signal_ends_a_stream_in_order() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let stream = robot.stream("topic hz cmd_vel -w 0.05");
        // Of a single line, no summary is printed.
        stream.line();
        stream.line();
        stream.signal(signal);
        let ran = stream.wait();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.starts_with("cmd_vel: 0 messages in "), "{ran:?}");
    }
}

/// A number of messages or samples, or a time, that was asked for has not come then.
#[test]
fn a_signal_before_all_is_done_is_130() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    for arguments in [
        "topic echo cmd_vel -n 100000",
        "topic hz cmd_vel -w 0.05 --for 1000",
        "topic hz cmd_vel -w 0.05 --for 1000 --jitter",
        "topic bw cmd_vel -w 0.05 --for 1000",
        "topic delay cmd_vel -w 0.05 --for 1000",
        "top -n 100000 -i 0.05",
    ] {
        let stream = robot.stream(arguments);
        until("it has begun", || {
            program.tell("send cmd_vel 1");
            stream.try_line().is_some()
        });
        stream.signal(libc::SIGINT);
        let ran = stream.wait();
        assert_eq!(ran.code, 130, "{arguments}: {ran:?}");
    }
    let topic = Topic::<CmdVel>::builder("steering").namespace(robot.namespace());
    let mut subscriber = topic.qos(Qos::reliable()).subscriber().unwrap();
    // Without a number, sending has no other end.
    for (number, code) in [("-n 100000", 130), ("", 0)] {
        let stream = robot.stream(&format!("topic pub steering {{}} -r 100 {number}"));
        until("it has sent", || subscriber.recv().is_some());
        stream.signal(libc::SIGINT);
        let ran = stream.wait();
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.starts_with("steering: sent "), "{ran:?}");
        while subscriber.recv().is_some() {}
    }
}

/// A limit that nothing was compared with is not kept.
#[test]
fn a_signal_before_the_first_rate_is_130() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let hz = "topic hz cmd_vel -w 1000";
    for options in ["--min 5", "--max 5"] {
        let stream = robot.stream(&format!("{hz} {options} --jitter"));
        // Its observer maps the file of the lane when it runs.
        until("it has begun", || {
            let maps = std::fs::read_to_string(format!("/proc/{}/maps", stream.id()));
            maps.is_ok_and(|maps| maps.contains("/topics/."))
        });
        stream.signal(libc::SIGINT);
        let ran = stream.wait();
        assert_eq!(ran.code, 130, "{options}: {ran:?}");
    }
}

#[test]
fn a_signal_before_the_answer_is_130() {
    let robot = Robot::new();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let stream = robot.stream("topic wait nothing -v");
        until("it handles the signal", || {
            handles(i64::from(stream.id()), signal)
        });
        stream.signal(signal);
        let ran = stream.wait();
        assert_eq!(ran.code, 130, "{ran:?}");
        assert!(!ran.stderr.contains("internal error"), "{ran:?}");
    }
}

/// The limit of `--timeout` is a failure for a command that was asked for a number of messages or
/// for a time. A stream without such an aim only ends.
#[test]
fn a_time_limit_is_a_failure_if_something_is_missing() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    program.tell("subscribe best_effort cmd_vel");
    let table = [
        ("topic echo cmd_vel", None),
        ("topic echo cmd_vel -n 5", Some("cmd_vel: 0 of 5 messages")),
        ("topic hz cmd_vel", None),
        ("topic hz cmd_vel --for 100", Some("of 100.0 s")),
        (
            "topic hz cmd_vel -w 0.02 --for 100 --jitter",
            Some("of 100.0 s"),
        ),
        ("topic bw cmd_vel", None),
        ("topic bw cmd_vel --for 100", Some("of 100.0 s")),
        ("topic delay cmd_vel", None),
        ("topic delay cmd_vel --for 100", Some("of 100.0 s")),
        ("topic latency cmd_vel --for 100", Some("of 100.0 s")),
        ("topic pub cmd_vel {} -r 100", None),
        ("topic pub cmd_vel {} -n 1000", Some(" of 1000 messages")),
        ("topic list --watch", None),
        ("topic list --watch -w 100", None),
        ("topic list -w 100", Some("of 100.0 s")),
        ("graph -w 100", Some("of 100.0 s")),
        ("top", None),
        ("top -n 100", Some(" of 100 samples")),
        ("log -f", None),
    ];
    for (arguments, missing) in table {
        let ran = robot.run(&format!("{arguments} --timeout 0.05"));
        let expected = if missing.is_some() { 124 } else { 0 };
        assert_eq!(ran.code, expected, "{arguments}: {ran:?}");
        let missing = missing.unwrap_or_default();
        assert!(ran.stderr.contains(missing), "{arguments}: {ran:?}");
        assert_eq!(
            ran.stderr.contains("horus: timeout: "),
            expected == 124,
            "{ran:?}"
        );
    }
    // What is asked for is there before the limit.
    robot.answer("topic hz cmd_vel --for 0.05 --timeout 100");
    robot.answer("topic pub cmd_vel {} -n 2 -r 100 --timeout 100");
    robot.answer("topic list -w 0.05 --timeout 100");
    robot.answer("graph -w 0.05 --timeout 100");
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    // WHY a stream: `echo` notices that the pipe is closed when it prints the next message.
    let mut sender = robot.program();
    sender.tell("publish cmd_vel stream");
    sender.begin("stream stream 100 1000");
    let commands = [
        "--help",
        "--version",
        "topic list -w 0",
        "topic list -w 0 --json",
        "topic info cmd_vel",
        "topic hz cmd_vel -w 0.01",
        "topic hz cmd_vel -w 0.01 --json",
        "topic list --watch -w 0.01",
        "topic echo stream",
        "topic echo stream --json",
        "topic echo stream --csv",
    ];
    for arguments in commands {
        for _ in 0..10 {
            let mut command = robot.command(arguments);
            command.stdin(Stdio::null());
            let mut process = command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            drop(process.stdout.take());
            let output = process.wait_with_output().unwrap();
            let printed = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(
                (output.status.code(), &*printed),
                (Some(0), ""),
                "{arguments}"
            );
        }
    }
}

#[test]
fn a_killed_participant_ends_no_stream() {
    let robot = Robot::new();
    let mut reader = robot.program();
    reader.tell("subscribe best_effort cmd_vel");
    let hz = robot.stream("topic hz cmd_vel -w 0.05 --json");
    let list = robot.stream("topic list --watch -w 0.05 --json");
    for _ in 0..3 {
        let mut program = robot.program();
        program.tell("publish cmd_vel cmd_vel");
        hz.line_with(&format!("\"pid\":{}", program.id()));
        list.line_with("\"publishers\":1");
        program.begin("stream cmd_vel 2000 100");
        list.line_with("\"publishers\":1");
        program.kill();
        hz.line_with("\"lanes\":[]");
        list.line_with("\"publishers\":0");
    }
    for stream in [hz, list] {
        stream.signal(libc::SIGINT);
        assert_eq!(stream.wait().code, 0);
    }
}

/// A command that was stopped, as by Ctrl-Z, does not make up for what it has missed.
#[test]
fn a_stopped_stream_skips_what_it_has_missed() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("subscribe best_effort cmd_vel");
    for arguments in [
        "topic pub cmd_vel CmdVel {} -r 50 --json",
        "top --json -i 0.02",
    ] {
        let begin = Instant::now();
        let stream = robot.stream(arguments);
        if arguments.starts_with("top ") {
            stream.line();
        } else {
            until("messages come", || program.tell("recv cmd_vel") != "0");
        }
        stream.signal(libc::SIGSTOP);
        let stat = format!("/proc/{}/stat", stream.id());
        until("it is stopped", || {
            std::fs::read_to_string(&stat).unwrap().contains(") T ")
        });
        let stopped = Instant::now();
        thread::sleep(Duration::from_secs(1));
        let stopped = stopped.elapsed();
        stream.signal(libc::SIGCONT);
        thread::sleep(Duration::from_millis(200));
        stream.signal(libc::SIGINT);
        let ran = stream.wait();
        let most = (begin.elapsed() - stopped).as_secs_f64() * 50.0 + 3.0;
        assert_eq!(ran.code, 0, "{ran:?}");
        let done = match arguments.starts_with("top ") {
            // The first line has been read above.
            true => 1 + ran.stdout.lines().count() as i64,
            false => number(&ran.stdout, "sent"),
        };
        assert!(
            done > 0 && done as f64 <= most,
            "{arguments}: {done} of {most}"
        );
    }
}

/// Starts the command with a pipe as its stdin, which stays open.
fn run_with_open_stdin(robot: &Robot, arguments: &str) -> i32 {
    let mut command = robot.command(arguments);
    let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = process.stdin.take();
    let status = process.wait().unwrap();
    drop(stdin);
    status.code().unwrap()
}

#[test]
fn a_time_limit_ends_what_does_not_end_itself() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let endless = file(&robot, "robot.py", "while True:\n    pass\n");
    let fifo = robot.dir().join("fifo");
    let made = Command::new("mkfifo")
        .args(["-m", "600"])
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    for arguments in [
        "topic pub cmd_vel -".to_owned(),
        format!("topic pub cmd_vel @{}", fifo.display()),
        format!("topic pub cmd_vel @{} --lines", fifo.display()),
        format!("launch --check {}", fifo.display()),
        format!("launch {}", fifo.display()),
        format!("msg show --file {}", fifo.display()),
        format!("monitor --token-file {}", fifo.display()),
        format!("launch --check {}", endless.display()),
        "doctor --rt=600".to_owned(),
    ] {
        let code = run_with_open_stdin(&robot, &format!("{arguments} --timeout 0.3"));
        assert_eq!(code, 124, "{arguments}");
    }
}

#[test]
fn a_message_file_that_is_missing_is_not_found() {
    let robot = Robot::new();
    for name in ["nosuch.msg", "nosuch.txt"] {
        let path = robot.dir().join(name);
        let ran = robot.run(&format!("msg show --file {}", path.display()));
        ran.failed(3, &["cannot read ", name]);
    }
}

/// Rare messages that fulfil the condition would otherwise never be printed.
#[test]
fn the_rate_of_echo_is_that_of_the_messages_that_fulfil_the_condition() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let stream = robot.stream("topic echo cmd_vel --rate 0.001 -n 1 --where linear==4");
    let mut sent = 0;
    until("the message is printed", || {
        // First for a while only messages that do not fulfil it; the last one of five does.
        program.tell(if sent < 20 {
            "send cmd_vel 1"
        } else {
            "send cmd_vel 5"
        });
        sent += 1;
        stream.try_line().is_some()
    });
}

/// Each part of a command would otherwise have the whole time.
#[test]
fn a_time_limit_counts_from_the_beginning() {
    // WHY several times: a command that starts late has ended before it sees the subscriber.
    for seconds in [3, 12, 48] {
        let robot = Robot::new();
        let topic = || Topic::<CmdVel>::builder("cmd_vel").namespace(robot.namespace());
        let _publisher = topic().publisher().unwrap();
        let options = format!("--wait-subs 1 -n 1000 -r 10 --timeout {seconds}");
        let stream = robot.stream(&format!("topic pub cmd_vel {{}} {options}"));
        thread::sleep(Duration::from_secs(seconds) * 5 / 6);
        let _subscriber = topic().subscriber().unwrap();
        let ran = stream.wait();
        assert_eq!(ran.code, 124, "{ran:?}");
        let (_, sent) = ran
            .stderr
            .rsplit_once("timeout: cmd_vel: ")
            .expect(&ran.stderr);
        let Some((sent, _)) = sent.split_once(" of 1000 messages") else {
            continue;
        };
        assert!(sent.parse::<u64>().unwrap() < 25 * seconds / 3, "{ran:?}");
        return;
    }
    panic!("the command never saw the subscriber");
}

/// After a restart of a publisher with another version of its message, and beside an older one.
#[test]
fn the_bandwidth_is_that_of_the_messages_of_each_publisher() {
    let robot = Robot::new();
    let (mut one, mut other) = (robot.program(), robot.program());
    one.tell("publish cmd_vel state");
    let stream = robot.stream("topic bw state -w 0.1 --json");
    stream.line();
    one.kill();
    other.tell("publish imu state");
    let mut newer = robot.program();
    newer.tell("publish cmd_vel state");
    let sizes = [size_of::<CmdVel>(), size_of::<Imu>()].map(|bytes| bytes as i64);
    let mut measured = (0, 0.0);
    other.tell("send state 10");
    newer.tell("send state 30");
    until("all are measured", || {
        let line = stream.line();
        let (messages, (_, mean)) = (
            number(&line, "messages"),
            line.split_once("\"mean_bytes\":").unwrap(),
        );
        let mean: f64 = mean.split_once(',').unwrap().0.parse().unwrap();
        measured = (measured.0 + messages, measured.1 + messages as f64 * mean);
        measured.0 == 40
    });
    let bytes = (30 * sizes[0] + 10 * sizes[1]) as f64;
    assert!((measured.1 - bytes).abs() < 0.5, "{measured:?} {bytes}");
    // The next publisher has messages of different lengths.
    other.kill();
    newer.kill();
    let mut images = robot.program();
    images.tell("publish image state");
    until("lengths are read", || {
        images.tell("send state 5");
        let line = stream.line();
        number(&line, "max_bytes") > number(&line, "min_bytes")
    });
}

/// In the window in which that starts, the length of no message is known.
#[test]
fn the_bandwidth_of_one_window_does_not_take_a_slot_for_a_message() {
    // WHY again: a window may end between the calls below.
    until("one window has all messages", || {
        let robot = Robot::new();
        let mut program = robot.program();
        program.tell("publish cmd_vel state");
        let stream = robot.stream("topic bw state -w 0.3 --json");
        stream.line();
        program.tell("close state");
        program.tell("publish image state");
        program.tell("send state 5");
        let line = stream.line();
        let is_whole = number(&line, "messages") == 5;
        assert!(number(&line, "max_bytes") < 1000, "{line}");
        assert!(!is_whole || number(&line, "measured") == 0, "{line}");
        is_whole
    });
}
