//! Messages as text and JSON: `topic echo`, `topic pub` and `topic delay`.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use fastrand::Rng;
use horus_core::message::{CmdVel, STANDARD};
use horus_core::topic::{DynamicSubscriber, DynamicType, Qos, Topic};
use horus_core::value::Value;
use horus_core::value::json::from_json;

use crate::common::{Robot, open_terminal};
use crate::golden::{check_json, check_text};

#[test]
fn echo_prints_messages_in_four_forms() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish latched cmd_vel");
    program.tell("send cmd_vel 3");
    let echo = |options: &str| robot.answer(&format!("topic echo cmd_vel -n 1 {options}"));
    check_text("topic_echo", &echo(""), &[]);
    check_json("topic_echo", &echo("--json"));
    check_json("topic_echo_path", &echo("linear --json"));
    assert_eq!(
        echo("--csv"),
        "timestamp_ns,linear,angular\n1763899200123456789,2.0,0.25\n"
    );
    assert_eq!(echo("angular"), "[0 #3] 0.25\n");
    assert_eq!(echo("linear --csv"), "linear\n2.0\n");
    let output = robot
        .command("topic echo cmd_vel --once --raw")
        .output()
        .unwrap();
    assert_eq!(output.stdout.len(), 16);
    assert_eq!(output.stdout[8..12], 2.0_f32.to_le_bytes());
    let ran = robot.run("topic echo cmd_vel speed");
    ran.failed(
        4,
        &[
            "cmd_vel carries CmdVel, which has no field 'speed'",
            "linear, angular",
        ],
    );
    let mut command = robot.command("topic echo cmd_vel -n 1 --timeout 0.05 --where");
    command.arg("linear > 5");
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(124), "{ran:?}");
}

/// A path or a condition that no message can fulfil would wait for ever.
#[test]
fn echo_refuses_what_no_message_can_have() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish imu imu");
    program.tell("publish cmd_vel cmd_vel");
    program.tell("publish image camera");
    let pose = [
        "topic",
        "pub",
        "pose",
        "PoseStamped",
        "{}",
        "--qos",
        "latched",
    ];
    robot.run_with(&pose).succeeded();
    let vector = "imu carries Imu, in which 'angular_velocity' is an array of 3 f64";
    let linear = "cmd_vel carries CmdVel, in which 'linear' is an f32";
    let table = [
        (
            "imu angular_velocity[9]",
            vector,
            "has no angular_velocity[9]: its elements are [0] to [2]",
        ),
        (
            "imu angular_velocity[5:9]",
            vector,
            "has no angular_velocity[5:9]",
        ),
        (
            "imu angular_velocity[1:9][2]",
            "is an array of 2 f64",
            "its elements are [0] to [1]",
        ),
        (
            "imu angular_velocity.x",
            vector,
            "has no field 'x': write angular_velocity[0]",
        ),
        (
            "imu [0]",
            "imu carries Imu, which is no array",
            "its fields: timestamp_ns",
        ),
        (
            "pose frame_id.x",
            "in which 'frame_id' is a text",
            "no field 'x': write frame_id",
        ),
        (
            "pose frame_id[0]",
            "in which 'frame_id' is a text",
            "no array",
        ),
        (
            "cmd_vel linear[0]",
            linear,
            "is no array, so it has no [0]: write linear",
        ),
        ("cmd_vel linear.x", linear, "has no field 'x': write linear"),
        (
            "camera data[0].x",
            "in which 'data[0]' is a u8",
            "has no field 'x'",
        ),
    ];
    for (arguments, part, reason) in table {
        let ran = robot.run(&format!("topic echo {arguments}"));
        ran.failed(4, &[part, reason]);
    }
    let table = [
        (
            "imu",
            "angular_velocity > 1",
            vector,
            "compare one element, such as angular_velocity[0]",
        ),
        (
            "imu",
            "angular_velocity[0:2] > 1",
            "2 f64",
            "such as angular_velocity[0]",
        ),
        (
            "pose",
            "frame_id > 1",
            "'frame_id' is a text",
            "write a text in quotes",
        ),
        (
            "camera",
            "data == 1",
            "'data' is an array of u8, of any length",
            "such as data[0]",
        ),
        (
            "cmd_vel",
            "linear == \"abc\"",
            linear,
            "cannot be compared with \"abc\": write a number",
        ),
        (
            "cmd_vel",
            "angular > 1 || linear == true",
            linear,
            "with true: write a number",
        ),
        (
            "cmd_vel",
            "speed > 1",
            "cmd_vel carries CmdVel",
            "no field 'speed': timestamp_ns, linear",
        ),
        (
            "camera",
            "data[0] == 300",
            "in which 'data[0]' is a u8",
            "comparison with 300 is never true: it is a whole number from 0 to 255",
        ),
        ("camera", "height < 1 || data[0] < 0", "a u8", "with 0 is"),
        ("camera", "data[0] > 255", "a u8", "never true"),
        ("camera", "data[0] == 0.5", "a u8", "with 0.5 is never"),
        ("cmd_vel", "timestamp_ns <= -1", "a u64", "18446744073709"),
        ("cmd_vel", "linear == 1e39", linear, "up to 3.4028235e38"),
    ];
    for (topic, condition, part, reason) in table {
        let ran = robot.run_with(&["topic", "echo", topic, "--where", condition]);
        ran.failed(4, &[part, reason]);
    }
    for path in ["angular_velocity[3:3]", "angular_velocity[2:1]"] {
        robot
            .run(&format!("topic echo imu {path}"))
            .failed_with_usage();
    }
    // What some messages can have is waited for.
    for possible in [
        "imu angular_velocity[2:9]",
        "camera data[1000]",
        "imu orientation",
    ] {
        let ran = robot.run(&format!("topic echo {possible} -n 1 --timeout 0.05"));
        ran.failed(124, &["0 of 1 messages"]);
    }
    for (topic, condition) in [
        ("camera", "data[0] == 255 && data[1] == 0.0"),
        ("camera", "data[0] != 300 && data[1] < 300 && data[2] > -1"),
        (
            "camera",
            "data[0] > 254.5 && data[0] <= 0 && data[0] >= 255",
        ),
        ("cmd_vel", "timestamp_ns == 18446744073709551615"),
        ("cmd_vel", "linear > 1e39 && angular == Infinity"),
    ] {
        let fixed = ["topic", "echo", topic, "-n", "1", "--timeout", "0.05"];
        let ran = robot.run_with(&[&fixed[..], &["--where", condition]].concat());
        ran.failed(124, &["0 of 1 messages"]);
    }
}

/// Messages of any shape can only be judged one by one.
#[test]
fn echo_says_that_messages_lack_the_field() {
    let robot = Robot::new();
    let publish = [
        "topic", "pub", "state", "value", "{a: 1}", "--qos", "latched",
    ];
    robot.run_with(&publish).succeeded();
    for options in [&["b.c"][..], &["--where", "b > 1"]] {
        let fixed = ["topic", "echo", "state", "-n", "1", "--timeout", "0.2"];
        let ran = robot.run_with(&[&fixed[..], options].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (124, ""), "{ran:?}");
        assert!(
            ran.stderr.starts_with("state: a message has no 'b"),
            "{ran:?}"
        );
        let end = "timeout: state: 0 of 1 messages, 1 without the field\n";
        assert!(ran.stderr.ends_with(end), "{ran:?}");
    }
}

/// Each NaN has its path in the list of types.
#[test]
fn echo_does_not_print_a_list_of_types_that_is_much_longer_than_its_message() {
    let robot = Robot::new();
    let value = format!("{{{}: [{}]}}", "k".repeat(20_000), ["NaN"; 2000].join(","));
    let publish = ["topic", "pub", "state", "value", &value, "--qos", "latched"];
    robot.run_with(&publish).succeeded();
    let ran = robot.run("topic echo state -n 1 --timeout 0.2 --json");
    assert_eq!((ran.code, ran.stdout.as_str()), (124, ""), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("state: message not printed: the paths"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.ends_with("timeout: state: 0 of 1 messages\n"),
        "{ran:?}"
    );
}

#[test]
fn echo_is_a_stream_with_a_summary() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let stream = robot.stream("topic echo cmd_vel --json");
    let fast = robot.stream("topic echo cmd_vel --rate 20 --json");
    let mut chosen = robot.command("topic echo cmd_vel linear --where");
    chosen.arg("linear == 7 || linear == 9");
    let chosen = crate::common::Stream::spawn(&mut chosen);
    // Until all of them look.
    for stream in [&stream, &fast] {
        program.tell("send cmd_vel 10");
        while stream.try_line().is_none() {
            program.tell("send cmd_vel 10");
        }
    }
    while chosen.try_line().is_none() {
        program.tell("send cmd_vel 10");
    }
    program.tell("send cmd_vel 1000");
    stream.line_with("\"linear\":999.0");
    fast.line_with("\"linear\":999.0");
    assert!(["7.0", "9.0"].contains(&chosen.line().split_once("] ").unwrap().1));
    for stream in [stream, fast, chosen] {
        stream.signal(libc::SIGINT);
        let ran = stream.wait();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains(" messages, "), "{ran:?}");
    }
}

#[test]
fn csv_puts_each_value_below_its_name() {
    let robot = Robot::new();
    let publish = |value: &str| {
        let arguments = ["topic", "pub", "state", "value", value, "--qos", "latched"];
        robot.run_with(&arguments).succeeded();
    };
    publish("{a: [1, 2], b: 3}");
    let stream = robot.stream("topic echo state --csv");
    assert_eq!(stream.line(), "a[0],a[1],b");
    assert_eq!(stream.line(), "1,2,3");
    let table = [
        ("{a: [1], b: 3}", "1,,3"),
        ("{b: 4, c: 5, a: [6, 7]}", "6,7,4"),
        ("{d: 8}", ",,"),
    ];
    for (value, line) in table {
        publish(value);
        assert_eq!(stream.line(), line, "{value}");
    }
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    let note = "state: a message has values that the first one lacks, which are left out: c\n";
    assert!(ran.stderr.starts_with(note), "{ran:?}");
    assert_eq!(ran.stderr.matches("left out").count(), 1, "{ran:?}");
}

/// Runs the command with a terminal as its stdout, and returns what the terminal would get.
pub(crate) fn print_to_terminal(mut command: Command) -> String {
    let [terminal, stdout] = open_terminal();
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut process = command.stdout(stdout).spawn().unwrap();
    // Closes the other end here.
    drop(command);
    let mut printed = Vec::new();
    // The terminal ends by an error.
    let _ = File::from(terminal).read_to_end(&mut printed);
    assert!(process.wait().unwrap().success());
    String::from_utf8(printed).unwrap()
}

#[test]
fn a_terminal_acts_on_no_value() {
    let robot = Robot::new();
    let long = "0,".repeat(17);
    let value = format!(r#"{{"k\u001b[1m": "a\u001b[31mb\n", "long\u001b": [{long}]}}"#);
    let publish = ["topic", "pub", "state", "value", &value, "--qos", "latched"];
    robot.run_with(&publish).succeeded();
    for options in ["--csv", ""] {
        let arguments = format!("topic echo state --once {options}");
        let shown = print_to_terminal(robot.command(&arguments));
        assert!(shown.contains("[31mb"), "{shown:?}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    // A file gets the text itself.
    let ran = robot.run("topic echo state --once --csv");
    assert_eq!(ran.stdout, "k\u{1b}[1m\n\"a\u{1b}[31mb\n\"\n");
    assert!(
        ran.stderr.contains("left out without --full: long"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn every_standard_message_is_read_back_from_json_bit_by_bit() {
    let robot = Robot::new();
    let mut rng = Rng::with_seed(3);
    let mut checked = 0;
    for schema in STANDARD {
        let kind = DynamicType::parse(&schema.text()).unwrap();
        let topic = format!("topic_{}", schema.name);
        let qos = horus_core::topic::Qos::latched();
        let builder = kind.builder(&topic).namespace(robot.namespace()).qos(qos);
        let mut publisher = builder.publisher().unwrap();
        let tail = schema.tail.map_or(0, |tail| 5 * tail.primitive.size());
        let mut message = vec![0; schema.size + tail];
        rng.fill(&mut message);
        publisher.send_bytes(&message).unwrap();
        let line = robot.answer(&format!("topic echo {topic} --once --json"));
        let object: Value = serde_json::from_str(&line).unwrap();
        let read = from_json(object.get("message").unwrap()).unwrap();
        assert_eq!(
            kind.encode(&read).unwrap(),
            message,
            "{}: {line}",
            schema.name
        );
        checked += 1;
    }
    assert!(checked >= 62, "{checked}");
}

/// Returns a reader of the topic, which exists.
fn reader(robot: &Robot, topic: &str) -> DynamicSubscriber {
    DynamicSubscriber::open(robot.namespace(), topic).unwrap()
}

#[test]
fn what_is_typed_is_published() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("subscribe best_effort cmd_vel");
    let publish = |words: &[&str]| robot.run_with(&[&["topic", "pub", "cmd_vel"], words].concat());
    let table = [
        ("{linear: 0.5, angular: 0.1}", "linear: 0.5, angular: 0.1 }"),
        ("{\"linear\": 0x10,}", "linear: 16.0, angular: 0.0 }"),
        (
            "{linear: -Infinity, timestamp_ns: 7}",
            "timestamp_ns: 7, linear: -inf, angular: 0.0 }",
        ),
        ("{}", "linear: 0.0, angular: 0.0 }"),
    ];
    for (value, expected) in table {
        publish(&[value]).succeeded();
        let message = program.tell("take cmd_vel");
        assert!(message.ends_with(expected), "{value}: {message}");
        let is_stamped = value.contains("timestamp_ns") || !message.contains("timestamp_ns: 0,");
        assert!(is_stamped, "{message}");
    }
    check_json("topic_pub", &publish(&["{}", "--json"]).succeeded());
    let file = robot.dir().join("value.json5");
    std::fs::write(&file, "// Slow.\n{linear: 0.25}").unwrap();
    publish(&[&format!("@{}", file.display())]).succeeded();
    let mut command = robot.command("topic pub cmd_vel CmdVel -");
    let mut process = command
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    process
        .stdin
        .take()
        .unwrap()
        .write_all(b"{linear: 0.75}")
        .unwrap();
    assert!(process.wait().unwrap().success());
    program.tell("take cmd_vel");
    assert!(program.tell("take cmd_vel").contains("linear: 0.25"));
    assert!(program.tell("take cmd_vel").contains("linear: 0.75"));
    let ran = publish(&["{speed: 1}"]);
    let error = "cmd_vel carries CmdVel, which has no field 'speed': timestamp_ns, linear, angular";
    ran.failed(4, &[error]);
    publish(&[]).failed(2, &["the value is missing after the topic 'cmd_vel'"]);
    publish(&["CmdVel"]).failed(2, &["the value is missing after the type 'CmdVel'"]);
    publish(&["value"]).failed(2, &["the value is missing after the type 'value'"]);
    publish(&["value", "hello"]).failed(2, &["hello: not valid", "quotes of its own: '\"hello\"'"]);
    publish(&["{linear: 1e400}"]).failed(2, &["{linear: 1e400}: the number 1e400 is too large"]);
    publish(&["{linear: 1, linear: 2}"]).failed(2, &["the key 'linear' occurs twice"]);
    publish(&["{linear: 'fast'}"]).failed(4, &["'linear' is an f32, not a text"]);
    publish(&["Imu", "{}"]).failed(4, &["cmd_vel"]);
    publish(&["CmdVol", "{}"]).failed(3, &["no message type 'CmdVol'. Near: CmdVel"]);
    publish(&["@/nothing"]).failed(3, &["/nothing"]);
    let ran = robot.run_with(&["topic", "pub", "cmd_val", "{}"]);
    ran.failed(
        3,
        &[
            "no topic 'cmd_val'",
            "Near: cmd_vel. To create it, name the type",
        ],
    );
    let ran = Robot::new().run_with(&["topic", "pub", "other", "{}"]);
    ran.failed(
        3,
        &["no topic 'other' in namespace 'default'. To create it"],
    );
}

#[test]
fn topics_are_created_with_a_type() {
    let robot = Robot::new();
    let publish = |words: &[&str]| robot.run_with(&[&["topic", "pub"], words].concat());
    publish(&[
        "pose",
        "PoseStamped",
        "{position: [1.5, 0, 0]}",
        "--qos",
        "latched",
    ])
    .succeeded();
    let echo = robot.answer("topic echo pose --once");
    let expected = "position: [1.5, 0.0, 0.0], orientation: [0.0, 0.0, 0.0, 1.0]";
    assert!(echo.contains(expected), "{echo}");
    let ran = publish(&["pose", "{u: 1}"]);
    ran.failed(
        4,
        &["no field 'u': timestamp_ns, frame_id, position, orientation"],
    );
    publish(&[
        "state",
        "value",
        "{a: [1, 2.5, 'x'], b: {c: null}}",
        "--qos",
        "latched",
    ])
    .succeeded();
    let echo = robot.answer("topic echo state --once");
    assert_eq!(echo, "[0 #1] {a: [1, 2.5, \"x\"], b: {c: null}}\n");
    assert_eq!(robot.answer("topic echo state b.c --once"), "[0 #1] null\n");
    publish(&["state", "{t: '/wA=', $types: {t: 'bytes'}}"]).succeeded();
    assert_eq!(
        robot.answer("topic echo state --once"),
        "[0 #2] {t: b\"\\xff\\x00\"}\n"
    );
}

#[test]
fn messages_are_published_at_a_rate() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let mut messages = reader(&robot, "cmd_vel");
    let ran = robot.run_with(&["topic", "pub", "cmd_vel", "{}", "-r", "200", "-n", "20"]);
    assert!(
        ran.stderr.contains("cmd_vel: sent 20, refused 0"),
        "{ran:?}"
    );
    let received = std::iter::from_fn(|| messages.recv());
    assert_eq!(received.count(), 20);
    let stream = robot.command_with(&["topic", "pub", "cmd_vel", "{}", "-r", "100", "--json"]);
    let mut stream = stream;
    let stream = crate::common::Stream::spawn(&mut stream);
    crate::common::until("messages come", || messages.recv().is_some());
    stream.signal(libc::SIGTERM);
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("{\"horus\":1,"), "{ran:?}");
}

#[test]
fn a_full_topic_refuses() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("subscribe reliable cmd_vel");
    // The slots are the publisher's: 1024 by default.
    let fill = ["topic", "pub", "cmd_vel", "{}", "-r", "10000", "-n", "1030"];
    let ran = robot.run_with(&fill);
    assert!(ran.stderr.contains("sent 1,024, refused 6"), "{ran:?}");
    assert_eq!(ran.code, 4);
    let reason = "horus: cmd_vel: 6 of 1030 messages were refused, because a reliable subscriber";
    assert!(ran.stderr.contains(reason), "{ran:?}");
    assert_eq!(program.tell("recv cmd_vel"), "1024");
    // No topic of that name carries anything yet.
    let ran = robot.run_with(&["topic", "pub", "new", "CmdVel", "{speed: 1}"]);
    assert!(
        ran.stderr
            .starts_with("horus: CmdVel has no field 'speed': "),
        "{ran:?}"
    );
    let waiting = robot.run("topic pub cmd_vel {} --wait-subs 2 --timeout 0.05");
    waiting.failed(124, &["cmd_vel: 1 of 2 subscribers"]);
}

#[test]
fn delays_are_ages() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    for options in ["", "--exact"] {
        let arguments = format!("topic delay cmd_vel -w 0.1 --for 100 --json {options}");
        let stream = robot.stream(&arguments);
        stream.line_with("\"messages\":0");
        program.begin("stream cmd_vel 100 1");
        let line = loop {
            let line = stream.line();
            if !line.contains("\"messages\":0") {
                break line;
            }
        };
        let (before, after) = line.split_once("\"messages\":").unwrap();
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        check_json("topic_delay", &format!("{before}\"messages\":N{after}"));
        stream.signal(libc::SIGINT);
        assert_eq!(stream.wait().code, 130);
        assert_eq!(program.reply(), "done");
    }
    program.tell("publish image camera");
    robot.run("topic pub state value {} --qos latched");
    assert_eq!(robot.run("topic delay state --for 0.05").code, 4);
}

/// Messages whose `timestamp_ns` is 0 are counted, because nothing else says why there are no ages.
#[test]
fn delays_of_messages_without_a_time_are_refused() {
    let robot = Robot::new();
    let topic = Topic::builder("cmd_vel").namespace(robot.namespace());
    let mut publisher = topic.qos(Qos::latched()).publisher().unwrap();
    publisher.send(CmdVel::default()).unwrap();
    let ran = robot.run("topic delay cmd_vel --for 0.2");
    assert_eq!(ran.code, 4, "{ran:?}");
    let line = "(0 messages, 1 more with timestamp_ns 0 or missing)";
    assert!(ran.stdout.contains(line), "{ran:?}");
    assert!(ran.stderr.contains("all 1 messages have no age"), "{ran:?}");
    publisher.send(CmdVel::new(0.5, 0.25)).unwrap();
    robot.answer("topic delay cmd_vel --for 0.2");
}
