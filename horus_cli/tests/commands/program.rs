//! A program that takes part in a namespace, as its lines of input tell it.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::{Duration, Instant};

use horus_core::log::{LogEntry, LogFilter, LogSettings, write};
use horus_core::message::{CmdVel, Encoding, Image, ImageHeader, Imu};
use horus_core::scheduler::{Context, FailurePolicy, Hertz, Scheduler};
use horus_core::topic::{Publisher, Qos, Subscriber, Topic};

/// The environment variable that gives this role to the test binary.
pub(crate) const ROLE: &str = "HORUS_CLI_TEST_PROGRAM";

/// The environment variable with lines to execute, separated by semicolons, in place of stdin.
pub(crate) const SCRIPT: &str = "HORUS_CLI_TEST_SCRIPT";

/// The endpoints that the program has.
#[derive(Default)]
struct Endpoints {
    imu: BTreeMap<String, Publisher<Imu>>,
    cmd_vel: BTreeMap<String, Publisher<CmdVel>>,
    images: BTreeMap<String, Publisher<Image>>,
    readers: BTreeMap<String, Subscriber<CmdVel>>,
}

/// Executes the lines of stdin, and replies to each by a line that begins with `@`. Dies with its
/// parent.
pub(crate) fn run() {
    // SAFETY: the call takes no pointer.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut endpoints = Endpoints::default();
    if let Ok(script) = std::env::var(SCRIPT) {
        for line in script.split(';') {
            endpoints.execute(&line.split_whitespace().collect::<Vec<_>>());
        }
        loop {
            std::thread::park();
        }
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let reply = endpoints.execute(&words);
        // WHY an empty line: the harness may be in the middle of one.
        println!("\n@{reply}");
    }
}

fn cmd_vel_qos(kind: &str) -> Qos {
    match kind {
        "latched" => Qos::latched(),
        "reliable" => Qos::reliable().capacity(8),
        _ => Qos::new(),
    }
}

impl Endpoints {
    fn execute(&mut self, words: &[&str]) -> String {
        match *words {
            ["publish", "imu", topic] => {
                let publisher = Publisher::new(topic).unwrap();
                self.imu.insert(topic.to_owned(), publisher);
            }
            ["publish", "image", topic] => {
                let publisher = Publisher::with_qos(topic, Qos::new().capacity(16)).unwrap();
                self.images.insert(topic.to_owned(), publisher);
            }
            ["publish", kind, topic] => {
                let publisher = Publisher::with_qos(topic, cmd_vel_qos(kind)).unwrap();
                self.cmd_vel.insert(topic.to_owned(), publisher);
            }
            ["subscribe", kind, topic] => {
                let builder = Topic::builder(topic).qos(cmd_vel_qos(kind));
                let subscriber = builder.subscriber().unwrap();
                self.readers.insert(topic.to_owned(), subscriber);
            }
            ["send", topic, count] => return self.send(topic, count.parse().unwrap()),
            ["recv", topic] => {
                let reader = self.readers.get_mut(topic).unwrap();
                return reader.try_iter().count().to_string();
            }
            ["take", topic] => {
                let reader = self.readers.get_mut(topic).unwrap();
                let wait = Duration::from_secs(100);
                return format!("{:?}", reader.recv_timeout(wait).unwrap());
            }
            ["stream", topic, hertz, seconds] => {
                self.stream(topic, hertz.parse().unwrap(), seconds.parse().unwrap());
            }
            ["wave", topic, hertz, seconds] => {
                self.wave(topic, hertz.parse().unwrap(), seconds.parse().unwrap());
            }
            ["rename", name] => std::fs::write("/proc/self/comm", name).unwrap(),
            ["schedule", name] => schedule(name),
            ["drive", name] => drive(name),
            ["react", name, topic] => react(name, topic),
            ["log", "open", program] => open_log(program),
            ["log", "hostile"] => log("error", "no\u{202e}de", "one\x1b[2J\r\n2026 two"),
            ["log", "count", lines] => {
                let lines: u64 = lines.parse().unwrap();
                (0..lines).for_each(|line| log("info", "", &line.to_string()));
            }
            ["log", level, node, text] => log(level, node, text),
            ["close", topic] => {
                self.imu.remove(topic);
                self.cmd_vel.remove(topic);
                self.images.remove(topic);
                self.readers.remove(topic);
            }
            _ => panic!("unknown line: {words:?}"),
        }
        "done".to_owned()
    }

    /// Sends messages, and returns how many were not refused.
    fn send(&mut self, topic: &str, count: u64) -> String {
        let mut sent = 0;
        for index in 0..count {
            let is_sent = if let Some(publisher) = self.cmd_vel.get_mut(topic) {
                let (linear, angular) = (index as f32, 0.25);
                let message = CmdVel {
                    timestamp_ns: 1_763_899_200_123_456_789,
                    linear,
                    angular,
                };
                publisher.send(message).is_ok()
            } else if let Some(publisher) = self.imu.get_mut(topic) {
                publisher.send(Imu::default()).is_ok()
            } else {
                let publisher = self.images.get_mut(topic).unwrap();
                let header = ImageHeader::new(4, 2 + index as u32, Encoding::MONO8);
                publisher.loan(header).unwrap().publish().is_ok()
            };
            sent += u64::from(is_sent);
        }
        sent.to_string()
    }

    /// Sends at a rate for some seconds.
    fn stream(&mut self, topic: &str, hertz: f64, seconds: f64) {
        at_rate(hertz, seconds, |_| {
            self.send(topic, 1);
        });
    }

    /// Sends speeds that go up and down, at a rate for some seconds.
    fn wave(&mut self, topic: &str, hertz: f64, seconds: f64) {
        let publisher = self.cmd_vel.get_mut(topic).unwrap();
        at_rate(hertz, seconds, |time| {
            let (linear, angular) = (time.as_secs_f32().sin(), 0.25);
            let _ = publisher.send(CmdVel::new(linear, angular));
        });
    }
}

/// Calls a function with the time since the beginning, at a rate for some seconds.
fn at_rate(hertz: f64, seconds: f64, mut each: impl FnMut(Duration)) {
    let begin = Instant::now();
    let mut next = begin;
    while begin.elapsed().as_secs_f64() < seconds {
        each(begin.elapsed());
        next += Duration::from_secs_f64(1.0 / hertz);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// Opens the log of this process for lines of all levels.
fn open_log(program: &str) {
    let settings = LogSettings::new().program(program).stderr(false);
    let filter = LogFilter::parse("trace").unwrap();
    settings.filter(filter).open().unwrap();
}

/// Logs a line.
fn log(level: &str, node: &str, text: &str) {
    let entry = LogEntry {
        node,
        target: "arm::driver",
        source: Some(("src/driver.rs", 42)),
        ..LogEntry::new(level.parse().unwrap())
    };
    write(&entry, format_args!("{text}"));
}

/// Runs a scheduler with three nodes in a thread of its own.
fn schedule(name: &str) {
    let name = name.to_owned();
    std::thread::spawn(move || {
        let mut scheduler = Scheduler::new();
        scheduler.name(&name);
        scheduler.on_event(|_| {});
        let quiet = |_: &mut Context<'_>| {};
        scheduler
            .node("controller")
            .rate(200.hz())
            .build(quiet)
            .unwrap();
        scheduler
            .node("planner")
            .rate(50.hz())
            .build(quiet)
            .unwrap();
        let fails = |context: &mut Context<'_>| match context.tick() {
            3 => Err(std::io::Error::other("no such port")),
            _ => Ok(()),
        };
        let policy = FailurePolicy::Ignore;
        let node = scheduler
            .node("driver")
            .rate(100.hz())
            .failure_policy(policy);
        node.build(fails).unwrap();
        scheduler.run().unwrap();
    });
}

/// Runs a scheduler with a node that runs whenever the topic has a message, and one whose rate has
/// to fit its deadline.
fn react(name: &str, topic: &str) {
    let (name, topic) = (name.to_owned(), topic.to_owned());
    std::thread::spawn(move || {
        let mut scheduler = Scheduler::new();
        scheduler.name(&name);
        scheduler.on_event(|_| {});
        let mut commands = Subscriber::<CmdVel>::new(&topic).unwrap();
        let reactor = scheduler.node("reactor").on(&commands);
        let tick = move |_: &mut Context<'_>| _ = commands.try_iter().count();
        reactor.build(tick).unwrap();
        let deadline = Duration::from_millis(50);
        let punctual = scheduler.node("punctual").rate(10.hz()).deadline(deadline);
        punctual.build(|_: &mut Context<'_>| {}).unwrap();
        scheduler.run().unwrap();
    });
}

/// Runs a scheduler whose nodes have topics: the planner and the joystick steer the wheels.
fn drive(name: &str) {
    let name = name.to_owned();
    std::thread::spawn(move || {
        let mut scheduler = Scheduler::new();
        scheduler.name(&name);
        scheduler.on_event(|_| {});
        for node in ["planner", "joystick"] {
            let mut node = scheduler.node(node).rate(10.hz());
            let publisher = node.publisher::<CmdVel>("cmd_vel").unwrap();
            // WHY nothing is sent: then no rate varies.
            let tick = move |_: &mut Context<'_>| {
                let _ = publisher.sequence();
            };
            node.build(tick).unwrap();
        }
        let mut wheels = scheduler.node("wheels").rate(10.hz());
        let mut commands = wheels.subscriber::<CmdVel>("cmd_vel").unwrap();
        let odometry = wheels.publisher::<Imu>("imu").unwrap();
        let tick = move |_: &mut Context<'_>| {
            let _ = commands.latest();
            let _ = odometry.sequence();
        };
        wheels.build(tick).unwrap();
        scheduler.run().unwrap();
    });
}
