//! The screens that `top` draws for given samples, and its reactions to keys.

use std::path::Path;

use horus_core::message::{NODE_METRICS_BUCKETS, NodeEvent, NodeMetrics, Text};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::state::{KeyMode, KeyRequest, NodeCommand, NodeCommandVerb, TopState};
use super::view;
use crate::launch::status::{ProgramState, ProgramStatus};
use crate::node::metrics::Metrics;
use crate::process::OwnerId;
use crate::sample::{Node, Program, Sample, SchedulerEvent, Topic};
use crate::scheduler::liveness::Liveness;
use crate::topic::info::EndpointProcess;
use crate::topic::latency::Percentiles;
use crate::topic::list::{TopicSettings, TopicSummary};

/// 23 November 2025, 12:04:11, in nanoseconds since 1970.
const NOON_NS: u64 = 1_763_899_451_000_000_000;

fn topic(name: &str, message_type: &str, rate_hz: f64, lost_per_second: f64) -> Topic {
    let message_bytes = 304;
    Topic {
        name: name.to_owned(),
        details: TopicSummary {
            message_type: message_type.to_owned(),
            publishers: 1,
            subscribers: 2,
            rate_hz: Some(rate_hz),
            sent: 1000,
            refused: 0,
            lost: 12,
        },
        settings: TopicSettings {
            latched: false,
            message_bytes,
            has_variable_size: message_type == "Image",
            capacity: 64,
            reliability: "best effort".to_owned(),
            backend: "SpmcShm".to_owned(),
        },
        window_ns: 1_000_000_000,
        refused_per_second: 0.0,
        lost_per_second,
        bytes_per_second: (message_type != "Image").then_some(rate_hz * message_bytes as f64),
        latency: Some(Percentiles {
            samples: 100,
            p50_ns: Some(256),
            p99_ns: Some(8192),
            max_ns: Some(65536),
        }),
        publisher_pids: [4711].into(),
        subscriber_pids: [4712, 4713].into(),
        publisher_owner_ids: [OwnerId(1)].into(),
        subscriber_owner_ids: [OwnerId(2), OwnerId(3)].into(),
        unmatched: Vec::new(),
    }
}

fn node(name: &str, period_ns: u64, state: u8, last_error: &str) -> Node {
    let mut metrics = NodeMetrics {
        name: Text::try_from(name).unwrap(),
        last_error: Text::try_from(last_error).unwrap(),
        ticks: 1000,
        period_ns,
        max_ns: 190_000,
        node_class: NodeMetrics::CLASS_REAL_TIME,
        state,
        misses: u64::from(!last_error.is_empty()) * 3,
        ..NodeMetrics::default()
    };
    metrics.durations[14] = 900;
    metrics.durations[16] = 100;
    metrics.lateness[10] = 1000;
    Node {
        metrics: Metrics::new("arm", Liveness::Alive, &metrics),
        process_id: Some(4711),
        owner_id: Some(OwnerId(1)),
        reads: last_error
            .is_empty()
            .then(|| vec!["imu".to_owned(), "scan".to_owned()]),
        writes: last_error.is_empty().then(Vec::new),
        durations: metrics.durations,
        lateness: metrics.lateness,
    }
}

fn sample(timestamp_ns: u64) -> Sample {
    let mut event = NodeEvent {
        timestamp_ns: NOON_NS - 2_000_000_000,
        kind: NodeEvent::PAUSED,
        ..NodeEvent::default()
    };
    event.node = Text::try_from("planner").unwrap();
    let process = |pid| EndpointProcess {
        pid,
        name: "robot".to_owned(),
        owner_id: OwnerId(u64::from(pid) - 4710),
    };
    Sample {
        namespace: "default".to_owned(),
        timestamp_ns,
        processes: [4711, 4712, 4713].map(process).into(),
        live_schedulers: 1,
        topics: vec![
            topic("camera/rgb", "Image", 30.0, 0.0),
            topic("imu", "Imu", 1000.1, 2.5),
            topic("a/very/long/name/of/a/topic/in/a/robot", "CmdVel", 0.0, 0.0),
        ],
        nodes: vec![
            node("controller", 1_000_000, NodeMetrics::STATE_ACTIVE, ""),
            node("planner", 50_000_000, NodeMetrics::STATE_PAUSED, "no map"),
        ],
        programs: Vec::new(),
        events: vec![SchedulerEvent::new("arm".to_owned(), &event)],
    }
}

/// Returns the state of `top` after a minute in which the rates of all topics doubled.
fn top() -> TopState {
    let mut top = TopState::new(4.0);
    for second in (0..60).rev() {
        let mut sample = sample(NOON_NS - second * 1_000_000_000);
        for topic in &mut sample.topics {
            let rate_hz = topic.rate_hz() / if second < 30 { 1.0 } else { 2.0 };
            topic.details.rate_hz = Some(rate_hz);
        }
        if second > 0 {
            sample.events.clear();
        }
        top.update(sample);
    }
    top
}

fn drawn(top: &mut TopState, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| view::draw_screen(frame, top))
        .unwrap();
    let rows = terminal.backend().buffer().content.chunks(width.into());
    let line = |row: &[ratatui::buffer::Cell]| {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", line.trim_end())
    };
    rows.map(line).collect()
}

/// Presses keys: letters, or names of keys in angle brackets.
fn press(top: &mut TopState, keys: &str) -> KeyRequest {
    let mut last = KeyRequest::Nothing;
    for key in keys.split_inclusive(['>']) {
        let (letters, named) = key.split_once('<').unwrap_or((key, ""));
        let named = match named {
            "" => None,
            "enter>" => Some(KeyCode::Enter),
            "esc>" => Some(KeyCode::Esc),
            "tab>" => Some(KeyCode::Tab),
            "down>" => Some(KeyCode::Down),
            "end>" => Some(KeyCode::End),
            "home>" => Some(KeyCode::Home),
            "backspace>" => Some(KeyCode::Backspace),
            other => panic!("unknown key {other}"),
        };
        for code in letters.chars().map(KeyCode::Char).chain(named) {
            last = top.handle_key(KeyEvent::new(code, KeyModifiers::NONE));
        }
    }
    last
}

/// Returns the line of the screen that contains the mark of the selected row.
fn marked(top: &mut TopState) -> String {
    let screen = drawn(top, 120, 40);
    let line = screen.lines().find(|line| line.contains('▶'));
    line.unwrap_or_default().to_owned()
}

#[track_caller]
fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("HORUS_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, golden,
        "{name}.txt differs; write it anew with HORUS_WRITE_GOLDEN=1 if that is meant"
    );
}

#[test]
fn a_screen_of_any_size_has_what_fits() {
    for (width, height) in [(80, 24), (120, 40), (60, 15), (40, 10)] {
        let name = format!("top_{width}x{height}");
        check(&name, &drawn(&mut top(), width, height));
    }
    for (width, height) in [(1, 1), (59, 15), (60, 14), (300, 15), (60, 200)] {
        drawn(&mut top(), width, height);
        drawn(&mut TopState::new(4.0), width, height);
    }
}

fn program(name: &str, state: ProgramState, pid: Option<u32>, exit_code: Option<i32>) -> Program {
    Program {
        file: "/home/robot/launch/robot.json5".to_owned(),
        launcher_pid: 4700,
        status: ProgramStatus {
            program: name.to_owned(),
            state,
            pid,
            start_time: None,
            restarts: if exit_code.is_some() { 3 } else { 0 },
            started_ns: NOON_NS - 90_000_000_000,
            exit_code,
            signal: None,
        },
    }
}

#[test]
fn programs_of_a_launch_are_shown_where_there_is_room() {
    let mut top = top();
    let mut later = sample(NOON_NS + 1_000_000_000);
    later.programs = vec![
        program("driver", ProgramState::Running, Some(4711), None),
        program("controller", ProgramState::Restarting, None, Some(101)),
        program("planner", ProgramState::Failed, None, Some(1)),
    ];
    let programs = later.programs.clone();
    top.update(later);
    check("top_programs_80x24", &drawn(&mut top, 80, 24));
    check("top_programs_120x40", &drawn(&mut top, 120, 40));
    assert!(!drawn(&mut top, 60, 15).contains("Programs"));
    // More than fit leave room for the rest.
    let mut later = sample(NOON_NS + 2_000_000_000);
    later.programs = vec![programs[0].clone(); 100];
    top.update(later);
    let screen = drawn(&mut top, 80, 24);
    for title in [": 100 of 100 running ", " Nodes: ", " Topics: ", " Events "] {
        assert!(screen.contains(title), "{screen}");
    }
}

#[test]
fn details_show_participants_messages_and_histograms() {
    let mut top = top();
    press(&mut top, "<down><down><enter>");
    let details = top.topic_details().unwrap();
    assert_eq!(details.name, "imu");
    details.description = vec![vec!["imu: Imu, 304 bytes".into()]];
    top.add_messages((0..300).map(|number| format!("[0 #{number}] {{x: 1}}")));
    check("top_topic", &drawn(&mut top, 80, 24));
    press(&mut top, "<esc>e");
    check("top_echo", &drawn(&mut top, 80, 24));
    press(&mut top, "<esc><tab><enter>");
    check("top_node", &drawn(&mut top, 80, 24));
    // A process of another container with the same id.
    top.sample.topics[0].publisher_owner_ids = [OwnerId(9)].into();
    press(&mut top, "<esc><end><enter>");
    let unknown = drawn(&mut top, 80, 24);
    assert!(
        unknown.contains("its process publishes: imu, a/very"),
        "{unknown}"
    );
    press(&mut top, "?");
    check("top_help", &drawn(&mut top, 80, 24));
    assert_eq!(press(&mut top, "x"), KeyRequest::Nothing);
    assert_eq!(top.mode, KeyMode::Browse);
}

#[test]
fn a_selected_row_stays_selected_when_rows_move() {
    let mut top = top();
    assert!(marked(&mut top).contains("a/very/long/name"));
    press(&mut top, "<end>");
    assert!(marked(&mut top).contains("imu"), "{}", marked(&mut top));
    press(&mut top, "s");
    assert_eq!(top.shown_topics()[0].name, "imu");
    assert!(marked(&mut top).contains("imu"));
    let mut later = sample(NOON_NS + 1);
    later.topics.push(topic("faster", "Imu", 5000.0, 0.0));
    top.update(later);
    assert_eq!(top.shown_topics()[0].name, "faster");
    assert!(marked(&mut top).contains("imu"));
    // A topic that is gone leaves the selection at its place.
    let mut later = sample(NOON_NS + 2);
    later.topics.retain(|topic| topic.name != "imu");
    top.update(later);
    assert_ne!(marked(&mut top), "");
    later = sample(NOON_NS + 3);
    later.topics.clear();
    top.update(later);
    assert_eq!(marked(&mut top), "");
    assert_eq!(press(&mut top, "<down><enter>"), KeyRequest::Nothing);
    assert!(top.details.is_none());
}

#[test]
fn orders_are_descending_and_stable() {
    let mut top = top();
    let mut first = Vec::new();
    for _ in 0..5 {
        let topics = top.shown_topics();
        first.push(topics[0].name.clone());
        press(&mut top, "s");
    }
    let long = "a/very/long/name/of/a/topic/in/a/robot";
    assert_eq!(first, [long, "imu", "imu", "imu", long]);
    press(&mut top, "<tab>sss");
    assert_eq!(top.shown_nodes()[0].path(), "arm/planner");
}

#[test]
fn a_filter_leaves_names_and_types() {
    let mut top = top();
    press(&mut top, "/Ima");
    assert_eq!(top.shown_topics().len(), 1);
    assert!(drawn(&mut top, 80, 24).contains("filter: Ima_"));
    press(&mut top, "<backspace><backspace><backspace>imuq");
    assert_eq!(top.shown_topics().len(), 0);
    press(&mut top, "<backspace><enter>");
    assert_eq!(top.shown_topics().len(), 1);
    assert!(drawn(&mut top, 80, 24).contains("Topics: 1 of 3 with 'imu'"));
    press(&mut top, "<esc>");
    assert_eq!(top.shown_topics().len(), 3);
}

#[test]
fn a_command_is_sent_only_after_y() {
    let mut top = top();
    // Topics cannot be paused.
    assert_eq!(press(&mut top, "py"), KeyRequest::Nothing);
    assert_eq!(press(&mut top, "<tab><end>pn"), KeyRequest::Nothing);
    press(&mut top, "r");
    assert!(drawn(&mut top, 80, 24).contains("resume arm/planner? y/N"));
    let action = NodeCommand {
        verb: NodeCommandVerb::Resume,
        scheduler: "arm".to_owned(),
        node: "planner".to_owned(),
    };
    assert_eq!(press(&mut top, "y"), KeyRequest::Send(action));
    assert_eq!(press(&mut top, "w"), KeyRequest::Save);
    assert_eq!(press(&mut top, "q"), KeyRequest::Quit);
    let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    assert_eq!(top.handle_key(control('z')), KeyRequest::Suspend);
    assert_eq!(top.handle_key(control('c')), KeyRequest::Quit);
}

#[test]
fn a_histogram_without_ticks_has_no_rows() {
    let mut top = top();
    let mut empty = sample(NOON_NS + 1);
    empty.nodes[0].durations = [0; NODE_METRICS_BUCKETS];
    empty.nodes[0].lateness = [u64::MAX; NODE_METRICS_BUCKETS];
    top.update(empty);
    press(&mut top, "<tab><enter>");
    let screen = drawn(&mut top, 80, 60);
    assert_eq!(
        screen.matches("< ").count(),
        NODE_METRICS_BUCKETS,
        "{screen}"
    );
}
