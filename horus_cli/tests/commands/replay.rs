//! `topic pub --lines`: messages from a file or from stdin, such as those that `echo` has printed.

use std::io::Write as _;
use std::process::{Child, Stdio};

use horus_core::message::CmdVel;
use horus_core::topic::{DynamicPublisher, DynamicSubscriber, DynamicType, Qos, Topic};
use horus_core::value::Value;

use crate::common::{Robot, until};

/// Starts the command with a pipe as its stdin.
fn piped(robot: &Robot, arguments: &str) -> Child {
    let mut command = robot.command(arguments);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn what_echo_has_printed_is_sent_again() {
    let robot = Robot::new();
    let topic = Topic::builder("cmd_vel").namespace(robot.namespace());
    // WHY latched: `echo` begins after the messages.
    let mut publisher = topic
        .qos(Qos::latched().capacity(16).history(5))
        .publisher()
        .unwrap();
    for index in 0..5_u8 {
        let message = CmdVel::new(f32::from(index) / 3.0, f32::NAN);
        publisher.send(message).unwrap();
    }
    let printed = robot.answer("topic echo cmd_vel -n 5 --json");
    let file = robot.dir().join("cmd_vel.jsonl");
    std::fs::write(&file, &printed).unwrap();
    let topic = Topic::<CmdVel>::builder("again").namespace(robot.namespace());
    let mut subscriber = topic.qos(Qos::reliable()).subscriber().unwrap();
    let ran = robot.run(&format!("topic pub again @{} --lines", file.display()));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.ends_with("again: sent 5, refused 0\n"),
        "{ran:?}"
    );
    for line in printed.lines() {
        let again = subscriber.recv().unwrap();
        assert!(again.angular.is_nan(), "{again:?}");
        let (time, linear) = (again.timestamp_ns, again.linear);
        let part = format!("\"timestamp_ns\":{time},\"linear\":{linear:?},");
        assert!(line.contains(&part), "no '{part}' in {line}");
    }
    assert!(subscriber.recv().is_none());
}

/// The list of types inside the message of a line counts.
#[test]
fn messages_of_any_shape_are_sent_again_with_their_types() {
    let robot = Robot::new();
    let kind = DynamicType::of::<Value>();
    let open = |topic: &str| -> DynamicPublisher {
        let builder = kind.builder(topic).namespace(robot.namespace());
        builder.qos(Qos::latched()).publisher().unwrap()
    };
    let message = Value::from(vec![Value::from(f64::INFINITY), Value::from(1_u64)]);
    open("state").send(&message).unwrap();
    let file = robot.dir().join("state.jsonl");
    std::fs::write(&file, robot.answer("topic echo state -n 1 --json")).unwrap();
    let mut heard = DynamicSubscriber::open(robot.namespace(), "state").unwrap();
    assert_eq!(heard.recv(), Some(message.clone()));
    robot.answer(&format!("topic pub state @{} --lines", file.display()));
    assert_eq!(heard.recv(), Some(message));
}

#[test]
fn lines_of_a_pipe_are_sent_as_they_come() {
    let robot = Robot::new();
    let topic = Topic::<CmdVel>::builder("cmd_vel").namespace(robot.namespace());
    let mut subscriber = topic.qos(Qos::reliable()).subscriber().unwrap();
    let mut process = piped(&robot, "topic pub cmd_vel - --lines");
    let mut stdin = process.stdin.take().unwrap();
    let mut receive = || {
        let mut message = None;
        until("a message comes", || {
            message = subscriber.recv();
            message.is_some()
        });
        message.unwrap()
    };
    for linear in [1_u8, 2, 3] {
        writeln!(stdin, "{{linear: {linear}}}\n").unwrap();
        let message: CmdVel = receive();
        assert_eq!(message.linear, f32::from(linear));
        assert!(message.timestamp_ns > 0);
    }
    // As fast as the subscriber reads them, none is refused.
    let many = 5_000_u16;
    let writer = std::thread::spawn(move || {
        for linear in 0..many {
            writeln!(stdin, "{{linear: {linear}}}").unwrap();
        }
    });
    for linear in 0..many {
        assert_eq!(receive().linear, f32::from(linear));
    }
    writer.join().unwrap();
    let output = process.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(
        stderr.ends_with("cmd_vel: sent 5,003, refused 0\n"),
        "{stderr}"
    );
}

#[test]
fn a_wrong_line_is_named_and_limits_hold() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let file = robot.dir().join("lines");
    let publish = |text: &str, options: &str| {
        std::fs::write(&file, text).unwrap();
        robot.run(&format!(
            "topic pub cmd_vel @{} --lines {options}",
            file.display()
        ))
    };
    let place = |line: u32| format!("{}: line {line}: ", file.display());
    let ran = publish("{linear: 1}\n\n{linear: \n{}", "");
    assert_eq!(ran.code, 2, "{ran:?}");
    let error = format!("{}not valid JSON5", place(3));
    assert!(
        ran.stderr.contains(&error) && ran.stderr.contains("sent 1,"),
        "{ran:?}"
    );
    let ran = publish(&format!("{{}}\n{}\n", "[".repeat(100_000)), "");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let error = format!("{}more than 64 lists and objects", place(2));
    assert!(ran.stderr.contains(&error), "{}", ran.stderr);
    let ran = publish("{}\n{speed: 1}\n", "");
    assert_eq!(ran.code, 4, "{ran:?}");
    let error = format!(
        "{}cmd_vel carries CmdVel, which has no field 'speed'",
        place(2)
    );
    assert!(ran.stderr.contains(&error), "{ran:?}");
    let ran = publish("{}\n{}\n{}\n", "-n 2 -r 1000");
    assert!(
        ran.code == 0 && ran.stderr.ends_with("sent 2, refused 0\n"),
        "{ran:?}"
    );
    let ran = publish("", "");
    assert!(
        ran.code == 0 && ran.stderr.ends_with("sent 0, refused 0\n"),
        "{ran:?}"
    );
    let error = "in place of '{}'";
    robot
        .run("topic pub cmd_vel {} --lines")
        .failed(2, &["write @FILE or -", error]);
    robot
        .run("topic pub cmd_vel @/nosuch --lines")
        .failed(3, &["cannot read /nosuch"]);
    let directory = format!("topic pub cmd_vel @{} --lines", robot.dir().display());
    let ran = robot.run(&directory);
    assert!(
        ran.code == 2 && ran.stderr.contains("Is a directory"),
        "{ran:?}"
    );
    std::fs::write(&file, b"{}\n\n\xff\n").unwrap();
    let ran = robot.run(&format!("topic pub cmd_vel @{} --lines", file.display()));
    let error = format!("{}stream did not contain valid UTF-8", place(3));
    assert!(ran.code == 2 && ran.stderr.contains(&error), "{ran:?}");
    robot
        .run("topic pub cmd_vel - --lines --once")
        .failed_with_usage();
    // The input has no end.
    let mut process = piped(&robot, "topic pub cmd_vel - --lines --timeout 0.05");
    let stdin = process.stdin.take();
    assert_eq!(process.wait().unwrap().code(), Some(124));
    drop(stdin);
}

#[test]
fn a_signal_ends_lines_that_do_not_come() {
    let robot = Robot::new();
    let mut subscriber = robot.program();
    subscriber.tell("subscribe reliable cmd_vel");
    let mut process = piped(&robot, "topic pub cmd_vel - --lines");
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(b"{linear: 1}\n").unwrap();
    subscriber.tell("take cmd_vel");
    // SAFETY: the call takes no pointer, and the child has not been waited for.
    assert_eq!(unsafe { libc::kill(process.id() as i32, libc::SIGINT) }, 0);
    assert_eq!(process.wait().unwrap().code(), Some(0));
    drop(stdin);
}

#[test]
fn an_error_does_not_repeat_a_long_value() {
    let nested = "[".repeat(100_000);
    let ran = Robot::new().run(&format!("topic pub state value {nested}"));
    assert_eq!(ran.code, 2, "{}", ran.stderr.len());
    let expected = "more than 64 lists and objects";
    assert!(ran.stderr.contains(expected) && ran.stderr.len() < 200);
}
