//! The commands of `horus topic` on topics of other processes.

use horus_core::message::CmdVel;
use horus_core::topic::{Publisher, Topic};

use crate::common::{Robot, until};
use crate::golden::{check_json, check_text};

/// Returns a number of a JSON object in one line.
fn number(json: &str, key: &str) -> f64 {
    let (_, rest) = json.split_once(&format!("\"{key}\":")).unwrap();
    let end = rest.find([',', '}']).unwrap();
    rest[..end].parse().unwrap()
}

#[test]
fn a_list_shows_types_participants_and_losses() {
    let robot = Robot::new();
    let (mut one, mut other) = (robot.program(), robot.program());
    one.tell("publish cmd_vel arm/cmd_vel");
    other.tell("subscribe best_effort arm/cmd_vel");
    one.tell("publish imu imu");
    one.tell("publish image camera/rgb");
    one.tell("publish latched map");
    one.tell("send map 3");
    one.tell("send imu 5");
    one.tell("close map");
    check_text("topic_list", &robot.answer("topic list -w 0"), &[]);
    check_text(
        "topic_list_long",
        &robot.answer("topic list -w 0 --long"),
        &[],
    );
    check_json("topic_list", &robot.answer("topic list -w 0 --json"));
    let table = [
        ("*", "imu map"),
        ("**", "arm/cmd_vel camera/rgb imu map"),
        ("arm/*", "arm/cmd_vel"),
        ("/imu", "imu"),
        ("nothing", ""),
    ];
    for (pattern, expected) in table {
        let listed = robot
            .run_with(&["topic", "list", "-w", "0", pattern])
            .succeeded();
        let names = listed
            .lines()
            .skip(1)
            .map(|line| line.split(' ').next().unwrap());
        assert_eq!(names.collect::<Vec<_>>().join(" "), expected, "{pattern}");
    }
    let listed = robot.answer("topic list -w 0.2");
    assert!(
        listed.contains("0.0 Hz") && listed.contains("latched"),
        "{listed}"
    );
}

#[test]
fn patterns_select_topics_of_the_library_only_if_they_begin_as_these() {
    let robot = Robot::new();
    let mut program = robot.program();
    for topic in ["arm/status", "horus/own/status"] {
        program.tell(&format!("publish cmd_vel {topic}"));
    }
    let listed = |pattern: &str, options: &[&str]| {
        let fixed = ["topic", "list", "-w", "0", pattern];
        let listed = robot.run_with(&[&fixed[..], options].concat()).succeeded();
        let names = listed.lines().skip(1);
        let names: Vec<_> = names.map(|line| line.split(' ').next().unwrap()).collect();
        names.join(" ")
    };
    assert_eq!(listed("**", &[]), "arm/status");
    assert_eq!(listed("**", &["--all"]), "arm/status horus/own/status");
    assert_eq!(listed("horus/**", &[]), "horus/own/status");
    let measured = |pattern: &str| {
        let arguments = ["topic", "hz", pattern, "--for", "0.01", "--json"];
        robot.run_with(&arguments)
    };
    for (pattern, wanted) in [
        ("**/status", "arm/status"),
        ("/horus/**", "horus/own/status"),
    ] {
        let lines = measured(pattern).succeeded();
        assert_eq!(lines.lines().count(), 1, "{lines}");
        assert!(
            lines.contains(&format!("\"topic\":\"{wanted}\"")),
            "{lines}"
        );
    }
    let found = "It matches 'horus/own/status', a topic of the library: such a pattern has to \
                 begin with 'horus/'.";
    measured("*/own/*").failed(3, &["no topic matches '*/own/*'", found]);
}

#[test]
fn info_shows_both_sides() {
    let robot = Robot::new();
    let (mut one, mut other) = (robot.program(), robot.program());
    one.tell("publish reliable cmd_vel");
    other.tell("subscribe reliable cmd_vel");
    assert_eq!(one.tell("send cmd_vel 20"), "8", "8 slots");
    assert_eq!(other.tell("recv cmd_vel"), "8");
    let info = robot.answer("topic info cmd_vel");
    let (process, reader) = (one.id().to_string(), other.id().to_string());
    let (process_name, reader_name) = (one.name(), other.name());
    // Of the line about the file, and of the latencies.
    let file = info.lines().find(|line| line.contains("  file ")).unwrap();
    let reader_line = info.lines().last().unwrap();
    let times: Vec<&str> = reader_line.split("  ").map(str::trim).collect();
    let times: Vec<&str> = times
        .into_iter()
        .filter(|cell| cell.ends_with(" ns") || cell.ends_with(" µs") || cell.ends_with("ms"))
        .collect();
    let mut varying = vec![
        file,
        process_name.as_str(),
        reader_name.as_str(),
        process.as_str(),
        reader.as_str(),
    ];
    varying.extend(times);
    check_text("topic_info", &info, &varying);
    check_json("topic_info", &robot.answer("topic info /cmd_vel --json"));
    let schema = robot.answer("topic info cmd_vel --schema");
    assert!(
        schema.starts_with("horus schema 1\nmessage CmdVel\n"),
        "{schema}"
    );
    one.kill();
    let info = robot.until("topic info cmd_vel", |info| info.contains("gone"));
    assert!(info.contains("gone"), "{info}");
}

/// The counts are those of the lane, which a new publisher takes over. What publishers offer is
/// shown of each, and only of live ones.
#[test]
fn info_says_whose_counts_and_offers_are_shown() {
    let robot = Robot::new();
    let mut listener = robot.program();
    listener.tell("subscribe best_effort cmd_vel");
    let (mut one, mut other) = (robot.program(), robot.program());
    one.tell("publish reliable cmd_vel");
    one.tell("send cmd_vel 3");
    let reliability = || {
        let list = robot.answer("topic list -w 0 --json");
        let info = robot.answer("topic info cmd_vel --json");
        let of = |json: &str| {
            let (_, rest) = json.split_once("\"reliability\":\"").unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        };
        assert_eq!(of(&list), of(&info));
        of(&list)
    };
    assert_eq!(reliability(), "reliable");
    assert!(!robot.answer("topic info cmd_vel").contains("has had"));
    other.tell("publish best_effort cmd_vel");
    assert_eq!(reliability(), "mixed");
    let info = robot.answer("topic info cmd_vel");
    assert!(info.contains("  mixed reliability, "), "{info}");
    for (lane, offer) in [("  0  ", "  reliable\n"), ("  1  ", "  best effort\n")] {
        let has_both = |line: &str| line.contains(lane) && format!("{line}\n").ends_with(offer);
        assert!(info.lines().any(has_both), "{info}");
    }
    // It has ended, and what it offered does not count any longer.
    one.kill();
    robot.until("topic info cmd_vel", |info| info.contains("gone"));
    assert_eq!(reliability(), "best effort");
    let mut again = robot.program();
    again.tell("publish reliable cmd_vel");
    again.tell("send cmd_vel 2");
    let info = robot.answer("topic info cmd_vel");
    let whose = "  lane 0 has had 2 publishers, one after the other: its counts are those of all\n";
    assert!(info.contains(whose), "{info}");
    assert!(!info.contains("lane 1 has had"), "{info}");
}

mod grown {
    horus_core::message! {
        /// A later version of the message.
        pub struct CmdVel {
            pub timestamp_ns: u64,
            pub linear: f32,
            pub angular: f32,
            pub jerk: f64,
        }
    }
}

/// A topic may carry several versions of a message.
#[test]
fn info_shows_the_message_of_each_lane() {
    let robot = Robot::new();
    let topic = Topic::<CmdVel>::builder("versions").namespace(robot.namespace());
    let _one: Publisher<CmdVel> = topic.publisher().unwrap();
    let info = robot.answer("topic info versions");
    assert!(!info.contains("another message"), "{info}");
    let topic = Topic::<grown::CmdVel>::builder("versions").namespace(robot.namespace());
    let _other: Publisher<grown::CmdVel> = topic.publisher().unwrap();
    let info = robot.answer("topic info versions");
    let wanted = "  lane 1 has another message: CmdVel, 24 bytes, schema ";
    assert!(info.contains(wanted), "{info}");
    let json = robot.answer("topic info versions --json");
    let lane = r#"{"lane":1,"message_type":"CmdVel","schema_hash":""#;
    assert!(json.contains(lane), "{json}");
}

#[test]
fn types_are_found() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel a");
    program.tell("publish cmd_vel b/c");
    program.tell("publish imu d");
    assert_eq!(robot.answer("topic type a"), "CmdVel\n");
    assert_eq!(robot.answer("topic find CmdVel"), "a\nb/c\n");
    robot
        .run("topic find Image")
        .failed(1, &["no topic has messages of type Image"]);
    robot
        .run("topic find imu")
        .failed(1, &["no topic has messages of type imu. Near: Imu, "]);
    let none = robot.run("topic list nothing*");
    let note = "no topic that matches 'nothing*' in namespace 'default'.\n";
    assert_eq!((none.code, none.stderr.as_str()), (0, note));
    check_json("topic_type", &robot.answer("topic type a --json"));
    check_json("topic_find", &robot.answer("topic find CmdVel --json"));
}

#[test]
fn every_message_counts_in_a_rate() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    program.tell("publish imu imu");
    let stream = robot.stream("topic hz cmd_vel imu -w 0.2 --json");
    // The counters are read before the first window begins.
    let mut lines = vec![stream.line()];
    program.tell("send cmd_vel 100000");
    let of = |lines: &[String], topic: &str| {
        let lines = lines.iter().filter(|line| line.contains(topic));
        lines.map(|line| number(line, "messages")).sum::<f64>()
    };
    while of(&lines, "\"topic\":\"cmd_vel\"") < 100_000.0 {
        assert!(lines.len() < 2000, "{lines:#?}");
        lines.push(stream.line());
    }
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
    lines.extend(ran.stdout.lines().map(str::to_owned));
    assert_eq!(of(&lines, "\"topic\":\"cmd_vel\""), 100_000.0, "{lines:#?}");
    assert_eq!(of(&lines, "\"topic\":\"imu\""), 0.0);
    assert!(
        ran.stderr.contains("cmd_vel: 100,000 messages in "),
        "{ran:?}"
    );
    check_json("topic_hz", &lines[0]);
    // The only line of a measurement is its own summary.
    let ran = robot.run("topic hz cmd_vel --for 0.2");
    assert_eq!(ran.stderr, "");
    let line = ran.succeeded();
    let parts = [
        "cmd_vel  0.0 Hz  (0 messages in ",
        "lane 0: process ",
        "refused 0",
    ];
    assert!(parts.iter().all(|part| line.contains(part)), "{line}");
}

#[test]
fn gaps_lie_between_observed_messages() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish imu imu");
    let stream = robot.stream("topic hz imu --jitter -w 0.2 --for 100 --json");
    check_json("topic_hz_jitter", &stream.line());
    program.begin("stream imu 100 1000");
    let line = loop {
        let line = stream.line();
        if number(&line, "gaps\":{\"gaps") > 2.0 {
            break line;
        }
    };
    assert!(number(&line, "min_ns") <= number(&line, "max_ns"), "{line}");
    assert!(
        number(&line, "max_ns") > 5e6,
        "10 ms are between two: {line}"
    );
    robot.until("topic hz imu --jitter --for 0.3", |text| {
        text.contains(" gaps: min ")
    });
}

/// The observer looks once a millisecond: a burst overwrites what it has not read.
#[test]
fn messages_that_were_missed_are_counted_apart_from_gaps() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish best_effort cmd_vel");
    let stream = robot.stream("topic hz cmd_vel --jitter -w 0.2 --for 100 --json");
    stream.line();
    program.tell("send cmd_vel 1");
    program.begin("send cmd_vel 300000");
    let missed = || number(&stream.line(), "missed");
    until("messages were missed", || missed() > 0.0);
}

#[test]
fn a_rate_has_limits() {
    let robot = Robot::new();
    let ran = robot.run("topic hz cmd_vel --min 5 --max 2");
    ran.failed(
        2,
        &["no rate is at least 5 Hz (--min) and at most 2 Hz (--max)"],
    );
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let ran = robot.run("topic hz cmd_vel --for 0.1 --min 10 -q");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("cmd_vel has 0.0 Hz, less than 10.0 Hz"),
        "{ran:?}"
    );
    robot.answer("topic hz cmd_vel --for 0.1 --max 10");
    program.begin("stream cmd_vel 200 1000");
    until("the rate is too high", || {
        robot.run("topic hz cmd_vel --for 0.5 --max 10").code == 1
    });
}

#[test]
fn bandwidth_is_that_of_the_messages() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    program.tell("publish image camera");
    let stream = robot.stream("topic bw cmd_vel camera -w 0.5 --json");
    stream.line();
    stream.line();
    let mut cmd_vel = String::new();
    // In one window, which may end in the middle of the messages.
    until("a window has all messages", || {
        program.tell("send cmd_vel 1000");
        program.tell("send camera 10");
        let mut windows = (0..100).map(|_| [(); 2].map(|()| stream.line()));
        let window = windows.find(|[_, camera]| number(camera, "messages") > 0.0);
        let [vel, camera] = window.expect("messages of camera");
        let is_whole = number(&vel, "messages") == 1000.0 && number(&camera, "messages") == 10.0;
        if is_whole {
            assert_eq!(number(&vel, "mean_bytes"), 16.0);
            assert_eq!(number(&camera, "measured"), 10.0, "{camera}");
            // Headers, and 4 × 2 to 4 × 11 pixels.
            let header = number(&camera, "min_bytes") - 8.0;
            assert_eq!(number(&camera, "max_bytes"), header + 44.0, "{camera}");
            assert_eq!(number(&camera, "mean_bytes"), header + 26.0, "{camera}");
            cmd_vel = vel;
        }
        is_whole
    });
    check_json("topic_bw", &cmd_vel);
    stream.signal(libc::SIGINT);
    assert_eq!(stream.wait().code, 0);
}

#[test]
fn latency_is_that_of_the_subscribers() {
    let robot = Robot::new();
    let (mut one, mut other) = (robot.program(), robot.program());
    one.tell("publish cmd_vel cmd_vel");
    let none = robot.run("topic latency cmd_vel --json");
    assert!(
        none.stderr.contains("no subscribers") && none.stdout.is_empty(),
        "{none:?}"
    );
    other.tell("subscribe best_effort cmd_vel");
    for _ in 0..20 {
        one.tell("send cmd_vel 256");
        other.tell("recv cmd_vel");
    }
    let line = robot.answer("topic latency cmd_vel --json");
    assert_eq!(number(&line, "samples"), 20.0, "{line}");
    assert!(number(&line, "p50_ns") <= number(&line, "max_ns"));
    check_json("topic_latency", &line);
    let stream = robot.stream("topic latency cmd_vel --for 0.2 --json");
    let line = stream.line();
    assert_eq!(number(&line, "samples"), 0.0, "{line}");
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr
            .contains("no samples: it received no message in "),
        "{ran:?}"
    );
}

#[test]
fn a_topic_is_removed_unless_it_is_used() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish latched map");
    program.tell("send map 1");
    let ran = robot.run("topic rm map");
    ran.failed(4, &["map is in use", "process", &program.id().to_string()]);
    program.tell("close map");
    check_json("topic_rm", &robot.answer("topic rm map --json"));
    robot.run("topic rm map").failed(3, &["no topic 'map'"]);
    assert_eq!(robot.answer("topic list -w 0").lines().count(), 1);
}

#[test]
fn a_wait_ends_when_it_is_so() {
    let robot = Robot::new();
    let mut program = robot.program();
    robot
        .run("topic wait imu --timeout 0.05")
        .failed(124, &["imu: no such topic"]);
    let topic = robot.stream("topic wait imu");
    let two = robot.stream("topic wait imu --pubs 2");
    let subscriber = robot.stream("topic wait cmd_vel --subs 1");
    program.tell("publish imu imu");
    assert_eq!(topic.wait().code, 0);
    let missing = robot.run("topic wait imu --pubs 2 --timeout 0.05");
    missing.failed(124, &["imu: 1 of 2 publishers"]);
    robot
        .run("topic wait imu --message --timeout 0.05")
        .failed(124, &["imu: no message"]);
    let mut other = robot.program();
    other.tell("publish imu imu");
    assert_eq!(two.wait().code, 0);
    program.tell("subscribe best_effort cmd_vel");
    assert_eq!(subscriber.wait().code, 0);
    let message = robot.stream("topic wait imu --message");
    program.begin("stream imu 100 1000");
    assert_eq!(message.wait().code, 0);
}

/// A topic that is created anew has no message before its publisher has sent one.
#[test]
fn a_wait_for_a_message_is_not_ended_by_a_restart() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish imu imu");
    program.tell("send imu 3");
    let waiting = robot.stream("topic wait imu --message --timeout 3");
    std::thread::sleep(std::time::Duration::from_millis(500));
    program.tell("close imu");
    let file = robot.namespace().topics_path().join("imu");
    until("the topic is gone", || !file.exists());
    std::thread::sleep(std::time::Duration::from_millis(300));
    program.tell("publish imu imu");
    let ran = waiting.wait();
    assert_eq!(ran.code, 124, "{ran:?}");
    let waiting = robot.stream("topic wait imu --message");
    program.begin("stream imu 100 1000");
    assert_eq!(waiting.wait().code, 0);
}

#[test]
fn looking_keeps_no_topic_alive() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel shared");
    let stream = robot.stream("topic hz shared -w 0.05 --json");
    stream.line();
    program.tell("close shared");
    let file = robot.namespace().topics_path().join("shared");
    until("the topic is gone", || !file.exists());
    // Another type, which the first topic would refuse.
    program.tell("publish imu shared");
    program.tell("send shared 5");
    let line = stream.line_with("\"messages\":5");
    assert!(line.contains("\"rate_hz\""), "{line}");
}

#[test]
fn a_graph_shows_who_sends_to_whom() {
    let robot = Robot::new();
    let (mut one, mut other) = (robot.program(), robot.program());
    one.tell("publish cmd_vel cmd_vel");
    other.tell("subscribe best_effort cmd_vel");
    other.tell("subscribe best_effort lonely");
    let (sender, reader) = (one.id().to_string(), other.id().to_string());
    let (sender_name, reader_name) = (one.name(), other.name());
    let varying = [
        sender_name.as_str(),
        reader_name.as_str(),
        sender.as_str(),
        reader.as_str(),
    ];
    check_text("graph", &robot.answer("graph -w 0.05"), &varying);
    check_text("graph_dot", &robot.answer("graph -w 0.01 --dot"), &varying);
    check_text(
        "graph_mermaid",
        &robot.answer("graph -w 0.01 --mermaid"),
        &varying,
    );
    let json = robot.answer("graph -w 0.01 --json");
    let process = format!("\"{sender}\":\"{sender_name}\"");
    assert!(json.contains(&process), "{json}");
    let publisher = format!("\"publishers\":[{{\"pid\":{sender},\"owner_id\":\"");
    assert!(json.contains(&publisher), "{json}");
    // WHY not the processes: their ids are keys.
    let (_, topics) = json.split_once("],\"topics\":").unwrap();
    check_json("graph", topics);
}

/// Between two reads without a wait, any rate would be 0, or thousands.
#[test]
fn a_graph_without_a_window_has_no_rates() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let json = robot.answer("graph -w 0 --json");
    assert!(json.contains("\"rate_hz\":null"), "{json}");
    for format in ["", " --dot", " --mermaid"] {
        let shown = robot.answer(&format!("graph -w 0{format}"));
        assert!(
            shown.contains("cmd_vel") && !shown.contains("Hz"),
            "{shown}"
        );
    }
}

#[test]
fn a_graph_marks_pairs_between_which_no_message_passes() {
    let robot = Robot::new();
    let (mut one, mut other, mut third) = (robot.program(), robot.program(), robot.program());
    one.tell("publish best_effort cmd_vel");
    other.tell("subscribe reliable cmd_vel");
    third.tell("publish imu cmd_vel");
    let [from, to, imu] = [&one, &other, &third].map(|program| program.id().to_string());
    let rows = robot.answer("graph -w 0.01");
    let verdict = |from: &str| {
        let row = rows.lines().find(|row| row.contains(&format!("({from})")));
        row.unwrap().rsplit("  ").next().unwrap().to_owned()
    };
    assert_eq!(verdict(&from), "no: reliability", "{rows}");
    assert_eq!(verdict(&imu), "no: type", "{rows}");
    let dot = robot.answer("graph -w 0.01 --dot");
    let mermaid = robot.answer("graph -w 0.01 --mermaid");
    let reliability = "cmd_vel: no message passes (reliability)";
    let kind = "cmd_vel: no message passes (type)";
    for (from, label) in [(&from, reliability), (&imu, kind)] {
        let style = "style=dashed, color=red, constraint=false";
        let edge = format!("    p{from} -> p{to} [{style}, label=\"{label}\"]\n");
        assert!(dot.contains(&edge), "no '{edge}' in {dot}");
        let edge = format!("    p{from} -.-x|\"{label}\"| p{to}\n");
        assert!(mermaid.contains(&edge), "no '{edge}' in {mermaid}");
    }
    assert!(!dot.contains(&format!("t0 -> p{to}")), "{dot}");
    assert!(!mermaid.contains(&format!("t0 --> p{to}")), "{mermaid}");
    let json = robot.answer("graph -w 0.01 --json");
    for cause in ["type", "reliability"] {
        let cause = format!("\"cause\":\"{cause}\"");
        assert!(json.contains(&cause), "no '{cause}' in {json}");
    }
    // A publisher that matches it.
    other.tell("publish reliable cmd_vel");
    let dot = robot.answer("graph -w 0.01 --dot");
    assert!(dot.contains(&format!("t0 -> p{to}")), "{dot}");
    assert_eq!(dot.matches("style=dashed").count(), 2, "{dot}");
    assert_eq!(robot.answer("graph -w 0.01").matches("  yes").count(), 1);
}

#[test]
fn a_graph_shows_nodes_where_they_are_known() {
    let robot = Robot::new();
    let (mut nodes, mut other) = (robot.program(), robot.program());
    other.tell("subscribe best_effort cmd_vel");
    nodes.tell("drive car");
    robot.until("node list", |list| list.contains("wheels"));
    let (pid, reader) = (nodes.id().to_string(), other.id().to_string());
    let (name, reader_name) = (nodes.name(), other.name());
    let varying = [&*name, &*reader_name, &*pid, &*reader];
    // Nodes of one process that write the same topic cannot be told apart.
    check_text("graph_nodes", &robot.answer("graph -w 0.01"), &varying);
    check_text(
        "graph_nodes_dot",
        &robot.answer("graph -w 0.01 --dot"),
        &varying,
    );
    let mermaid = robot.answer("graph -w 0.01 --mermaid");
    check_text("graph_nodes_mermaid", &mermaid, &varying);
    let json = robot.answer("graph -w 0.01 --json");
    let (_, found) = json.split_once(",\"nodes\":").unwrap();
    check_json("graph_nodes", found);
    let info = robot.answer("node info wheels");
    assert!(info.contains("  reads cmd_vel; writes imu\n"), "{info}");
    let info = robot.answer("node info wheels --json");
    let topics = "\"reads\":[\"cmd_vel\"],\"writes\":[\"imu\"]";
    assert!(info.contains(topics), "{info}");
    // Those of a dead scheduler are known, but it sends nothing.
    nodes.kill();
    let info = robot.answer("node info planner");
    assert!(info.contains("  reads nothing; writes cmd_vel\n"), "{info}");
    let json = robot.answer("graph -w 0.01 --json");
    assert!(json.contains("\"nodes\":[]"), "{json}");
}
