//! `monitor`: real requests, among programs that send, are killed and come back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use horus_core::message::EmergencyStop;
use horus_core::scheduler::emergency_stop_publisher;
use horus_core::topic::Topic;

use crate::common::{Robot, Stream, until};
use crate::golden::check_json_except;

/// A running `horus monitor`.
pub(crate) struct Monitor {
    process: Stream,
    pub(crate) port: u16,
    pub(crate) token: String,
    pub(crate) url: String,
}

/// The answer to a request.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Monitor {
    pub(crate) fn start(robot: &Robot, options: &str) -> Self {
        let process = robot.stream(&format!("monitor --json --port 0 {options}"));
        let line = process.line();
        let part = |key: &str, end: char| {
            let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap();
            rest.split(end).next().unwrap().trim_matches('"').to_owned()
        };
        let port = part("port", ',').parse().unwrap();
        let (token, url) = (part("token", ','), part("url", ','));
        assert_eq!(url, format!("http://127.0.0.1:{port}/#t={token}"));
        Self {
            process,
            port,
            token,
            url,
        }
    }

    /// Sends bytes, and returns all that comes back until the server closes the connection.
    fn send(&self, request: &str) -> Answer {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        connection.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Returns a request with the right host and token, and with more headers and a body.
    fn request(&self, method: &str, target: &str, headers: &str, body: &str) -> String {
        let (port, token, length) = (self.port, &self.token, body.len());
        format!(
            "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
             Authorization: Bearer {token}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        )
    }

    fn get(&self, target: &str) -> Answer {
        self.send(&self.request("GET", target, "", ""))
    }

    /// Sends a command.
    fn post(&self, body: &str) -> Answer {
        let json = "Content-Type: application/json\r\n";
        self.send(&self.request("POST", "/api/command", json, body))
    }

    /// Opens a stream of events.
    fn events(&self, query: &str) -> Events {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        // WHY: a stream that says nothing is a failure, and not a hang.
        let limit = Duration::from_secs(100);
        connection.set_read_timeout(Some(limit)).unwrap();
        let request = self.request("GET", &format!("/api/stream?{query}"), "", "");
        connection.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(connection);
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "HTTP/1.1 200 OK\r\n");
        while line != "\r\n" {
            line.clear();
            lines.read_line(&mut line).unwrap();
        }
        Events(lines)
    }

    pub(crate) fn stop(self, signal: i32) {
        self.process.signal(signal);
        let ran = self.process.wait();
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        assert!(ran.stderr.ends_with(" requests answered\n"), "{ran:?}");
    }
}

/// The events of a stream.
struct Events(BufReader<TcpStream>);

impl Events {
    /// Returns the name and the data of the next event; `None` if the server has ended.
    fn next(&mut self) -> Option<(String, String)> {
        let mut event = String::new();
        while !event.ends_with("\n\n") {
            if self.0.read_line(&mut event).unwrap() == 0 {
                return None;
            }
        }
        let (name, data) = event.trim_end().split_once('\n').unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        let data = data.strip_prefix("data: ").unwrap();
        Some((name.to_owned(), data.to_owned()))
    }

    /// Returns the data of the next event with this name and this part.
    #[track_caller]
    fn until(&mut self, name: &str, part: &str) -> String {
        for _ in 0..10_000 {
            let (found, data) = self.next().expect("the stream goes on");
            if found == name && data.contains(part) {
                return data;
            }
        }
        panic!("no {name} with {part}");
    }
}

#[test]
fn only_a_page_of_this_server_with_the_token_gets_data() {
    let robot = Robot::new();
    let monitor = Monitor::start(&robot, "");
    let (port, token) = (monitor.port, &monitor.token);
    assert_eq!(token.len(), 32, "{token}");
    assert!(monitor.url.ends_with(&format!("#t={token}")));
    let good_host = format!("Host: 127.0.0.1:{port}\r\n");
    let good_token = format!("Authorization: Bearer {token}\r\n");
    let other_token = format!("Authorization: Bearer {}\r\n", "0".repeat(32));
    let origin = |origin: &str| format!("{good_host}{good_token}Origin: {origin}\r\n");
    let table = [
        (format!("{good_host}{good_token}"), 200),
        (format!("Host: localhost:{port}\r\n{good_token}"), 200),
        (origin(&format!("http://127.0.0.1:{port}")), 200),
        (good_host.clone(), 401),
        (format!("{good_host}{other_token}"), 401),
        (
            format!("{good_host}Authorization: Bearer {}\r\n", &token[1..]),
            401,
        ),
        (
            format!("{good_host}Authorization: Bearer {token}0\r\n"),
            401,
        ),
        (format!("{good_host}Authorization: Bearer \r\n"), 401),
        (format!("{good_host}Authorization: {token}\r\n"), 401),
        // Names that lead to this server, and are not its own.
        (good_token.clone(), 421),
        (format!("Host: robot.example:{port}\r\n{good_token}"), 421),
        (format!("Host: 127.0.0.1\r\n{good_token}"), 421),
        (format!("Host: 127.0.0.1:1\r\n{good_token}"), 421),
        (
            format!("Host: 127.0.0.1:{port}.example\r\n{good_token}"),
            421,
        ),
        (format!("{good_host}{good_host}{good_token}"), 400),
        // Pages of other servers, also on this machine.
        (origin("http://robot.example"), 403),
        (origin("http://127.0.0.1:1"), 403),
        (origin(&format!("https://127.0.0.1:{port}")), 403),
        (origin(&format!("http://localhost:{port}")), 403),
        (origin("null"), 403),
    ];
    for (headers, status) in &table {
        for target in ["/api/state", &format!("/api/state?t={token}")] {
            let answer = monitor.send(&format!("GET {target} HTTP/1.1\r\n{headers}\r\n"));
            assert_eq!(answer.status, *status, "{headers}{answer:?}");
            assert_eq!(answer.body.contains("\"topics\""), *status == 200);
            assert!(!answer.head.contains("Access-Control"), "{answer:?}");
            assert!(!answer.body.contains(token.as_str()), "{answer:?}");
        }
    }
    // The streams of data have the same door.
    for target in ["/api/stream", "/api/stream?values=imu"] {
        let answer = monitor.send(&format!("GET {target} HTTP/1.1\r\n{good_host}\r\n"));
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    // The page holds no data, and needs no token; but its host has to be right.
    let page = monitor.send(&format!("GET / HTTP/1.1\r\n{good_host}\r\n"));
    assert_eq!(page.status, 200, "{page:?}");
    for part in [
        "default-src 'none'; script-src 'self';",
        "require-trusted-types-for 'script'",
        "frame-ancestors 'none'",
        "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff",
        "Content-Type: text/html; charset=utf-8",
    ] {
        assert!(page.head.contains(part), "no {part} in {}", page.head);
    }
    let page = monitor.send("GET / HTTP/1.1\r\nHost: robot.example\r\n\r\n");
    assert_eq!(page.status, 421, "{page:?}");
    monitor.stop(libc::SIGINT);
}

#[test]
fn the_address_and_a_sample_are_json() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish imu imu");
    program.tell("send imu 100");
    program.tell("schedule arm");
    robot.until("node list --json", |list| {
        list.contains("driver") && !list.contains("p50_ns\":null")
    });
    let stream = robot.stream("monitor --json --port 0");
    let varying = ["url", "port", "token"];
    check_json_except("monitor", &stream.line(), &varying);
    let monitor = Monitor::start(&robot, "");
    let varying = [
        "timestamp_ns",
        "publisher_pids",
        "subscriber_pids",
        "publisher_owner_ids",
        "subscriber_owner_ids",
        "process_id",
        "ticks",
        "misses",
        "skipped_ticks",
        "failures",
        "last_ns",
        "lateness_p50_ns",
        "lateness_p99_ns",
        "durations",
        "lateness",
        "last_error",
    ];
    let state = monitor.get("/api/state");
    check_json_except("monitor_state", &state.body, &varying);
    let text = robot.stream("monitor --port 0");
    assert!(text.line().starts_with("http://127.0.0.1:"));
    text.signal(libc::SIGINT);
    let ran = text.wait();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.starts_with("open this address in a browser"),
        "{ran:?}"
    );
    let quiet = robot.run("monitor --port 0 -q --timeout 0");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""), "{quiet:?}");
    // A page that only looks creates nothing.
    let nothing = robot.run("monitor --port 0 -N nothing --timeout 0.6");
    assert_eq!(nothing.code, 0, "{nothing:?}");
    assert!(!robot.dir().join("nothing").exists());
}

#[test]
fn kept_messages_and_images_are_shown() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish latched mode");
    program.tell("send mode 1");
    program.kill();
    let mut camera = robot.program();
    camera.tell("publish image camera");
    let monitor = Monitor::start(&robot, "");
    let mut events = monitor.events("values=mode");
    let values = events.until("values", "\"path\":\"angular\"");
    assert!(values.contains("\"text\":\"0.25\""), "{values}");
    // The first image is one that comes after the first request.
    assert_eq!(monitor.get("/api/image?topic=camera").status, 204);
    let mut picture = monitor.get("/api/image?topic=nothing");
    assert_eq!(picture.status, 204, "{picture:?}");
    crate::common::until("an image comes", || {
        camera.tell("send camera 1");
        picture = monitor.get("/api/image?topic=camera&width=2");
        picture.status == 200
    });
    assert!(
        picture.head.contains("Content-Type: image/bmp\r\n"),
        "{picture:?}"
    );
    assert!(
        picture.head.contains("Horus-Picture: 4x2 mono8"),
        "{picture:?}"
    );
    // 2 × 1 pixels, filled up to 8 bytes.
    assert!(
        picture.head.contains("Content-Length: 62\r\n"),
        "{picture:?}"
    );
    assert!(picture.body.starts_with("BM"), "{picture:?}");
    let (_, number) = picture.head.split_once("Horus-Number: ").unwrap();
    let number = number.lines().next().unwrap();
    let same = monitor.get(&format!("/api/image?topic=camera&after={number}"));
    assert_eq!(same.status, 204, "{same:?}");
    // A topic without images says so.
    let refused = monitor.get("/api/image?topic=mode");
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        refused.body.contains("the message is no image"),
        "{refused:?}"
    );
    for index in 0..8 {
        monitor.get(&format!("/api/image?topic=other{index}"));
    }
    assert_eq!(monitor.get("/api/image?topic=one_more").status, 503);
    monitor.stop(libc::SIGINT);
}

/// A client may send bytes after its request, but only for a short time: it occupies a thread.
#[test]
fn a_client_that_goes_on_sending_is_closed() {
    let robot = Robot::new();
    let monitor = Monitor::start(&robot, "");
    let mut connection = TcpStream::connect(("127.0.0.1", monitor.port)).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", monitor.port);
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
    until("the server closes the connection", || {
        connection.write_all(b"x").is_err()
    });
}

#[test]
fn requests_that_are_wrong_are_refused() {
    let robot = Robot::new();
    let monitor = Monitor::start(&robot, "");
    let long = format!("A: {}\r\n", "a".repeat(9000));
    let table = [
        (monitor.request("GET", "/nothing", "", ""), 404),
        (monitor.request("GET", "/../../etc/passwd", "", ""), 404),
        (monitor.request("GET", "http://robot.example/", "", ""), 400),
        (monitor.request("GET", "/api/state?a=%zz", "", ""), 400),
        (monitor.request("GET", "/api/stream?plot=imu", "", ""), 400),
        (
            monitor.request("GET", "/api/stream?plot=imu:a..b", "", ""),
            400,
        ),
        (
            monitor.request(
                "GET",
                &format!("/api/stream?{}", "plot=a:b&".repeat(17)),
                "",
                "",
            ),
            400,
        ),
        (monitor.request("POST", "/", "", ""), 405),
        (monitor.request("PUT", "/api/state", "", ""), 405),
        (monitor.request("DELETE", "/api/stream", "", ""), 405),
        (monitor.request("OPTIONS", "/api/command", "", ""), 405),
        (monitor.request("GET", "/api/command", "", ""), 405),
        (monitor.request("GET", "/", &long, ""), 431),
        (
            monitor.request("POST", "/api/command", "", &"a".repeat(5000)),
            413,
        ),
        (
            monitor.request("GET", "/", "Transfer-Encoding: chunked\r\n", ""),
            411,
        ),
        ("nonsense\r\n\r\n".to_owned(), 400),
    ];
    for (request, status) in table {
        let answer = monitor.send(&request);
        assert_eq!(answer.status, status, "{request} {answer:?}");
        assert!(
            answer.body.contains("{\"horus\":1,\"error\":\""),
            "{answer:?}"
        );
    }
    let answer = monitor.send(&monitor.request("DELETE", "/api/stream", "", ""));
    assert!(answer.head.contains("\r\nAllow: GET\r\n"), "{answer:?}");
    // A client that says nothing, and one that says half, hold nobody up.
    let _silent = TcpStream::connect(("127.0.0.1", monitor.port)).unwrap();
    let mut half = TcpStream::connect(("127.0.0.1", monitor.port)).unwrap();
    half.write_all(b"GET / HT").unwrap();
    assert_eq!(monitor.get("/api/state").status, 200);
    let mut text = String::new();
    half.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
    let _other = TcpStream::connect(("127.0.0.1", monitor.port)).unwrap();
    monitor.stop(libc::SIGTERM);
}

#[test]
fn a_page_changes_nothing_unless_it_is_allowed() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("schedule arm");
    robot.until("node list", |list| list.contains("planner"));
    let pause = r#"{"command":"pause","scheduler":"arm","node":"planner"}"#;
    let stop = r#"{"command":"emergency_stop","reason":"a test"}"#;
    let monitor = Monitor::start(&robot, "");
    for body in [pause, stop, "{}"] {
        let answer = monitor.post(body);
        assert_eq!(answer.status, 403, "{answer:?}");
        assert!(answer.body.contains("--allow-control"), "{answer:?}");
    }
    assert!(
        monitor
            .get("/api/state")
            .body
            .contains("\"allow_control\":false")
    );
    assert!(!robot.answer("node list").contains("paused"));
    assert_eq!(robot.answer("estop status"), "never engaged\n");
    monitor.stop(libc::SIGINT);
    let monitor = Monitor::start(&robot, "--allow-control");
    let answer = monitor.post(pause);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("sent to arm/planner"), "{answer:?}");
    let mut events = monitor.events("");
    events.until("state", "\"state\":\"paused\"");
    events.until("events", "\"node\":\"planner\",\"kind\":\"paused\"");
    assert_eq!(monitor.post(&pause.replace("pause", "resume")).status, 200);
    events.until("events", "\"node\":\"planner\",\"kind\":\"resumed\"");
    let rate = r#"{"command":"rate","scheduler":"arm","node":"planner","rate_hz":25}"#;
    assert_eq!(monitor.post(rate).status, 200);
    events.until("state", "\"rate_hz\":25.0,\"state\":\"active\"");
    let answer = monitor.post(stop);
    assert!(
        answer
            .body
            .contains("sent to the schedulers of namespace 'default': arm")
    );
    events.until("events", "\"kind\":\"emergency_stop\"");
    assert!(robot.run("estop status").stdout.contains("a test"));
    let release = r#"{"command":"release_emergency_stop"}"#;
    assert_eq!(monitor.post(release).status, 200);
    events.until("events", "\"kind\":\"emergency_over\"");
    for (body, status) in [
        (pause.replace("planner", "nobody"), 409),
        (pause.replace("arm", "leg"), 409),
        (rate.replace("25", "-1"), 409),
        (pause.replace("pause", "remove"), 400),
        (pause.replace('}', ",\"more\":1}"), 400),
        ("nonsense".to_owned(), 400),
    ] {
        let answer = monitor.post(&body);
        assert_eq!(answer.status, status, "{body} {answer:?}");
    }
    // A foreign page can send this type without asking, so it is refused even with the token.
    let plain = monitor.request(
        "POST",
        "/api/command",
        "Content-Type: text/plain\r\n",
        pause,
    );
    assert_eq!(monitor.send(&plain).status, 400);
    monitor.stop(libc::SIGINT);
}

#[test]
fn only_schedulers_count_as_stopped() {
    let robot = Robot::new();
    let topic = Topic::<EmergencyStop>::builder("emergency_stop").namespace(robot.namespace());
    let _listener = topic.subscriber().unwrap();
    let monitor = Monitor::start(&robot, "--allow-control");
    let answer = monitor.post(r#"{"command":"emergency_stop","reason":"a test"}"#);
    assert_eq!(answer.status, 200, "{answer:?}");
    let none = "no scheduler runs in this namespace, so none has received it";
    assert!(answer.body.contains(none), "{answer:?}");
    // The message that is kept is the one with the greatest `monotonic_ns`.
    let release = EmergencyStop {
        monotonic_ns: u64::MAX / 2,
        ..EmergencyStop::release("other", "")
    };
    let mut publisher = emergency_stop_publisher(robot.namespace()).unwrap();
    publisher.send(release).unwrap();
    let answer = monitor.post(r#"{"command":"emergency_stop","reason":"a test"}"#);
    assert_eq!(answer.status, 409, "{answer:?}");
    assert!(answer.body.contains("is not kept"), "{answer:?}");
}

#[test]
fn streams_follow_programs_that_are_killed() {
    let robot = Robot::new();
    let monitor = Monitor::start(&robot, "");
    let mut events = monitor.events("values=cmd_vel&plot=cmd_vel:angular&plot=cmd_vel:linear");
    events.until("state", "\"topics\":[]");
    for _ in 0..3 {
        let mut program = robot.program();
        program.tell("publish best_effort cmd_vel");
        program.begin("stream cmd_vel 500 1000");
        events.until("state", &format!("\"publisher_pids\":[{}]", program.id()));
        let values = events.until("values", "\"path\":\"angular\"");
        assert!(
            values.starts_with("{\"topic\":\"cmd_vel\",\"number\":"),
            "{values}"
        );
        let line = "{\"path\":\"angular\",\"text\":\"0.25\",\"is_number\":true}";
        assert!(values.contains(line), "{values}");
        let points = events.until("points", "\"field\":\"linear\"");
        assert!(points.contains(",0.25,0.25]"), "{points}");
        program.kill();
        events.until("state", "\"publisher_pids\":[]");
    }
    let state = monitor.get("/api/state").body;
    assert!(state.contains("\"topic\":\"cmd_vel\""), "{state}");
    // The page takes no part: the topic is removed as if nobody had looked.
    let mut reader = robot.program();
    reader.tell("subscribe best_effort cmd_vel");
    reader.tell("close cmd_vel");
    crate::common::until("the topic is removed", || {
        robot.answer("clean");
        !robot.answer("topic list --json").contains("cmd_vel")
    });
    events.until("state", "\"topics\":[]");
    monitor.process.signal(libc::SIGINT);
    while events.next().is_some() {}
    assert_eq!(monitor.process.wait().code, 0);
}

#[test]
fn pages_that_read_slowly_hold_nobody_up() {
    let robot = Robot::new();
    let monitor = Monitor::start(&robot, "");
    let mut program = robot.program();
    program.tell("publish best_effort cmd_vel");
    // They are open, and read nothing after the first lines.
    let mut pages: Vec<_> = (0..8).map(|_| monitor.events("values=cmd_vel")).collect();
    let answer = monitor.get("/api/stream");
    assert_eq!(answer.status, 503, "{answer:?}");
    let mut last = pages.pop().unwrap();
    last.until("state", "\"topic\":\"cmd_vel\"");
    drop(last);
    // Its place is free as soon as the server has noticed.
    crate::common::until("there is room for a page", || {
        let connection = TcpStream::connect(("127.0.0.1", monitor.port)).unwrap();
        let mut lines = BufReader::new(connection);
        let request = monitor.request("GET", "/api/stream", "", "");
        lines.get_mut().write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line.starts_with("HTTP/1.1 200 ")
    });
    // With pages that are open, it still ends at once.
    monitor.stop(libc::SIGTERM);
}

#[test]
fn a_port_in_use_and_a_bad_token_file_are_clear_errors() {
    let robot = Robot::new();
    let monitor = Monitor::start(&robot, "");
    let ran = robot.run(&format!("monitor --port {}", monitor.port));
    let address = format!("127.0.0.1:{}", monitor.port);
    ran.failed(5, &["cannot listen on", &address, "in use", "--port 0"]);
    // The file is created for its owner only, and keeps the address.
    let file = robot.dir().join("token");
    let option = format!("--token-file {}", file.display());
    let first = Monitor::start(&robot, &option);
    let second = Monitor::start(&robot, &option);
    assert_eq!(first.token, second.token);
    assert_ne!(first.token, monitor.token);
    let chmod = |mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    };
    chmod(0o644);
    let refused = robot.run(&format!("monitor --port 0 {option}"));
    refused.failed(
        5,
        &["cannot use the token file", "mode is 644", "chmod 600"],
    );
    chmod(0o600);
    std::fs::write(&file, "short\n").unwrap();
    let refused = robot.run(&format!("monitor --port 0 {option}"));
    refused.failed(5, &["it holds no token", "32 letters"]);
    robot.run("monitor --port 99999").failed_with_usage();
    let timeout = robot.run("monitor --port 0 --timeout 0.1");
    assert_eq!(timeout.code, 0, "{timeout:?}");
    assert!(
        timeout.stdout.starts_with("http://127.0.0.1:"),
        "{timeout:?}"
    );
    for monitor in [monitor, first, second] {
        monitor.stop(libc::SIGINT);
    }
}
