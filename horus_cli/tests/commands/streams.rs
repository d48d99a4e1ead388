//! The ends of commands: signals, closed pipes, killed participants.

use std::process::Stdio;

use crate::common::Robot;

#[test]
fn a_signal_ends_a_stream_in_order() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    for signal in [libc::SIGINT, libc::SIGTERM] {
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

#[test]
fn a_signal_before_the_answer_is_130() {
    let robot = Robot::new();
    // The handlers are installed before the arguments of `find` are looked at.
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let stream = robot.stream("topic wait nothing -v");
        robot.until("topic list -w 0", |_| true);
        std::thread::sleep(std::time::Duration::from_millis(300));
        stream.signal(signal);
        let ran = stream.wait();
        assert_eq!(ran.code, 130, "{ran:?}");
        assert!(!ran.stderr.contains("internal error"), "{ran:?}");
    }
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
