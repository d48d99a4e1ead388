//! The logs of real processes: killed, forked, overrun, filtered, and several at once.

use horus_testing as _;

mod actors;
mod forked;
#[path = "log/forks.rs"]
mod forks;
mod noise;
#[path = "log/outside_of_ticks.rs"]
mod outside_of_ticks;
#[path = "log/stderr.rs"]
mod stderr;
#[path = "log/warnings.rs"]
mod warnings;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use actors::{Child, End, hear, namespace_in, private_dir, role, say, until};
use horus_core::introspect::topics;
use horus_core::log::{
    Level, LogEntry, LogFilter, LogReader, LogRecord, LogSettings, set_real_time_thread,
    write_bytes,
};
use horus_core::message::{CmdVel, LogLine, LogLineHeader};
use horus_core::namespace::Namespace;
use horus_core::scheduler::{Context, FailurePolicy, Hertz, NodeResult, Scheduler};
use horus_core::topic::{Qos, Topic};
use noise::result;
use tempfile::TempDir;

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    let Some((role, dir)) = role() else { return };
    if role == "forks" {
        return forks::fork_while_the_log_is_opened(&dir);
    }
    if role.starts_with("no log") {
        return outside_of_ticks::run_without_log(&role, &dir);
    }
    if let Some(how) = role.strip_prefix("warns ") {
        return warnings::cause_warnings(how, &dir);
    }
    let settings = LogSettings::new().namespace(&namespace_in(&dir));
    let settings = settings.program(role.split(' ').next().unwrap());
    match role.as_str() {
        "robot" => settings.init().unwrap(),
        "strict" => {
            let filter = LogFilter::parse("error").unwrap();
            settings.stderr(false).filter(filter).init().unwrap();
        }
        _ => settings.stderr(false).init().unwrap(),
    }
    say("ready");
    while let Some(order) = hear() {
        execute(&order, &dir);
        say("done");
    }
}

/// Executes a line of input.
fn execute(order: &str, dir: &Path) {
    let words: Vec<_> = order.split(' ').collect();
    match *words {
        ["say", text] => log::info!("{text}"),
        ["levels"] => {
            for level in Level::iter() {
                log::log!(level, "{level}");
            }
        }
        ["count", lines] => count(lines.parse().unwrap(), 1),
        ["count", lines, threads] => count(lines.parse().unwrap(), threads.parse().unwrap()),
        ["bytes"] => write_bytes(
            &LogEntry {
                node: "no\u{1b}de",
                target: "",
                source: Some(("x.py", 7)),
                level: Level::Error,
            },
            b"\xff\x1b[2J\nsecond",
        ),
        ["long"] => log::info!("{}", "→".repeat(1000)),
        ["fork"] => assert!(forked::fork(|| {
            log::info!("child");
            true
        })),
        ["accept_broken_pipes"] => stderr::accept_broken_pipes(),
        ["fork_while_stderr_is_full"] => assert!(stderr::fork_while_stderr_is_full()),
        ["again"] => {
            let again = LogSettings::new().init().unwrap_err();
            assert!(again.to_string().contains("open already"), "{again}");
        }
        ["nodes"] => nodes(dir),
        ["node_fails"] => outside_of_ticks::fail(dir),
        ["cost"] => say(format!("cost {} {}", cost(true), cost(false))),
        _ => panic!("unknown order: {order}"),
    }
}

/// Logs numbered lines from several threads at once.
fn count(lines: u64, threads: u64) {
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for line in 0..lines {
                    log::info!("{thread} {line}");
                }
            });
        }
    });
}

/// Returns the mean time of a line, of those that are logged or those that are filtered out, in
/// nanoseconds: in the quickest of many rounds, because others use the machine, too.
fn cost(is_logged: bool) -> u64 {
    const LINES: u64 = 500;
    let level = if is_logged { Level::Info } else { Level::Debug };
    let rounds = (0..200).map(|_| {
        let begin = Instant::now();
        for line in 0..LINES {
            log::log!(level, "the joint {} is at {line}", "elbow");
        }
        begin.elapsed().as_nanos() as u64 / LINES
    });
    rounds.min().unwrap()
}

/// Runs nodes that log, and one that fails.
fn nodes(dir: &Path) {
    let mut scheduler = Scheduler::new();
    scheduler.namespace(&namespace_in(dir));
    let tick = |context: &mut Context<'_>| {
        if context.tick() < 3 {
            log::warn!("tick {}", context.tick());
        } else {
            context.stop();
        }
    };
    scheduler.node("timed").rate(200.hz()).build(tick).unwrap();
    scheduler
        .node("quiet")
        .failure_policy(FailurePolicy::Ignore)
        .build(|context: &mut Context<'_>| match context.tick() {
            0 => Err("no such port".into()),
            _ => NodeResult::Ok(()),
        })
        .unwrap();
    scheduler.run().unwrap();
    log::info!("after all nodes");
}

/// A namespace of its own, and its directory.
struct Site {
    // Before the directory: fields are dropped in this order.
    namespace: Arc<Namespace>,
    dir: TempDir,
}

impl Site {
    fn new() -> Self {
        let dir = private_dir();
        Self {
            namespace: namespace_in(dir.path()),
            dir,
        }
    }

    fn child(&self, role: &str) -> Child {
        let mut child = Child::spawn(role, self.dir.path());
        child.await_word("ready");
        child
    }

    /// Returns the lines that are there.
    fn lines(&self) -> (Vec<LogRecord>, u64) {
        read_all(&mut LogReader::new(&self.namespace))
    }
}

/// Reads until nothing is missing, and returns all lines and the number of lost ones.
fn read_all(reader: &mut LogReader) -> (Vec<LogRecord>, u64) {
    let mut lines = reader.poll().unwrap();
    while reader.has_withheld_lines() {
        thread::sleep(Duration::from_millis(1));
        lines.extend(reader.poll().unwrap());
    }
    (lines, reader.lost())
}

fn order(child: &mut Child, order: &str) {
    child.tell(order);
    child.await_word("done");
}

fn texts(lines: &[LogRecord]) -> Vec<String> {
    lines
        .iter()
        .map(|record| record.line.text().into_owned())
        .collect()
}

/// Checks that each line of a process follows the one before it, except the lost ones, and returns
/// the number of lines that there were.
fn check_numbers(lines: &[LogRecord]) -> u64 {
    // For each process, the last number, and those before it that count as lost.
    let mut seen: HashMap<u32, (u64, HashSet<u64>)> = HashMap::new();
    for record in lines {
        let (last, lost) = seen.entry(record.line.process_id).or_default();
        let number = record.line.sequence;
        // A thread may be interrupted for so long that its line counts as lost before it comes.
        let expected_lost = if lost.remove(&number) {
            0
        } else {
            assert!(*last < number, "line {number} comes twice");
            lost.extend(*last + 1..number);
            number - std::mem::replace(last, number) - 1
        };
        assert_eq!(record.lost_before, expected_lost, "before line {number}");
    }
    seen.values().map(|(last, _)| last).sum()
}

#[test]
fn the_last_line_of_a_killed_process_is_kept() {
    let site = Site::new();
    let mut reader = LogReader::new(&site.namespace);
    for round in 0..5 {
        let mut child = site.child("victim");
        order(&mut child, &format!("say round-{round}"));
        child.kill();
        let (lines, lost) = read_all(&mut reader);
        assert_eq!(texts(&lines), [format!("round-{round}")]);
        let line = lines[0].line.header();
        assert_eq!((line.process_id, lost), (child.id(), 0));
        assert_eq!(line.level, LogLineHeader::INFO);
        assert_eq!((line.target.as_str(), line.node.as_str()), ("log", ""));
        assert!(line.source_file.as_str().ends_with("tests/log.rs"));
        assert_eq!(&*lines[0].program, "victim");
        assert_eq!(line.thread, *"child_role");
        assert_ne!(line.thread_id, 0);
    }
}

#[test]
fn a_process_that_is_killed_while_it_logs_leaves_whole_lines() {
    let site = Site::new();
    let mut rounds = 0;
    let mut lines_read = 0;
    for round in 0..20 {
        let mut child = Child::spawn("victim", site.dir.path());
        child.await_word("ready");
        child.tell("count 100000000 2");
        let mut reader = LogReader::new(&site.namespace);
        // The reader also gets the lines of earlier victims.
        let id = child.id();
        let is_of_child = |record: &LogRecord| record.line.process_id == id;
        let begin = Instant::now();
        let mut of_child = Vec::new();
        while begin.elapsed() < Duration::from_millis(5 + round) || of_child.is_empty() {
            of_child.extend(reader.poll().unwrap().into_iter().filter(is_of_child));
        }
        child.kill();
        let (rest, lost) = read_all(&mut reader);
        of_child.extend(rest.into_iter().filter(is_of_child));
        for record in &of_child {
            let text = record.line.text().into_owned();
            let words: Vec<_> = text.split(' ').map(str::parse::<u64>).collect();
            assert!(
                words.len() == 2 && words.iter().all(Result::is_ok),
                "{text}"
            );
        }
        let last = of_child.last().unwrap().line.sequence;
        assert!(last >= of_child.len() as u64 && lost > 0 || last == of_child.len() as u64);
        rounds += 1;
        lines_read += of_child.len();
    }
    result(
        "log/killed",
        format!("{rounds} rounds, {lines_read} whole lines read"),
    );
}

#[test]
fn overwritten_lines_are_counted_exactly() {
    let site = Site::new();
    let mut child = site.child("many");
    order(&mut child, "count 448");
    let (lines, lost) = site.lines();
    assert_eq!((lines.len(), lost), (448, 0));
    order(&mut child, "count 10000");
    for is_alive in [true, false] {
        if !is_alive {
            child.kill();
        }
        let (lines, lost) = site.lines();
        assert!(lines.len() >= 448, "{}", lines.len());
        assert_eq!(lines.len() as u64 + lost, 10_448);
        assert_eq!(lines[0].lost_before, lost);
        assert_eq!(check_numbers(&lines), 10_448);
        assert_eq!(lines.last().unwrap().line.text(), "0 9999");
    }
}

#[test]
fn a_reader_of_several_busy_processes_knows_each_line_that_it_lost() {
    const LINES: u64 = 20_000;
    let site = Site::new();
    let mut children = [site.child("left"), site.child("right")];
    let mut reader = LogReader::new(&site.namespace);
    let mut lines = Vec::new();
    for child in &mut children {
        child.tell(&format!("count {} 4", LINES / 4));
    }
    until("all lines", || {
        lines.extend(reader.poll().unwrap());
        children.iter_mut().all(|child| child.count("done") == 1)
    });
    let (rest, lost) = read_all(&mut reader);
    lines.extend(rest);
    assert_eq!(lines.len() as u64 + lost, 2 * LINES);
    assert_eq!(check_numbers(&lines), 2 * LINES);
    // Each thread's own lines are in its order.
    let mut last: HashMap<(u32, u32), u64> = HashMap::new();
    for record in &lines {
        let text = record.line.text().into_owned();
        let number = text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() + 1;
        let thread = (record.line.process_id, record.line.thread_id);
        assert!(last.insert(thread, number).unwrap_or(0) < number);
    }
    result(
        "log/busy",
        format!(
            "8 threads of 2 processes: {} lines read, {lost} lost",
            lines.len()
        ),
    );
}

#[test]
fn lines_of_two_processes_are_merged_by_time() {
    let site = Site::new();
    let mut one = site.child("one");
    let mut two = site.child("two");
    for round in 0..10 {
        order(&mut one, &format!("say {}", 2 * round));
        order(&mut two, &format!("say {}", 2 * round + 1));
    }
    one.kill();
    let (lines, lost) = site.lines();
    let wanted: Vec<_> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!((texts(&lines), lost), (wanted, 0));
}

#[test]
fn a_long_text_is_cut_and_says_by_how_much() {
    let site = Site::new();
    let mut child = site.child("long");
    order(&mut child, "long");
    order(&mut child, "bytes");
    let (lines, _) = site.lines();
    assert_eq!(lines[0].line.text(), "→".repeat(250));
    assert_eq!(lines[0].line.cut_bytes, 2250);
    assert!(lines[0].line.to_string().ends_with("→… (2250 bytes more)"));
    let bytes = &lines[1].line;
    assert_eq!(bytes.data(), b"\xff\x1b[2J\nsecond");
    assert_eq!(bytes.text(), "\u{fffd}\x1b[2J\nsecond");
    assert_eq!((bytes.source_file.as_str(), bytes.source_line), ("x.py", 7));
    order(&mut child, "again");
}

/// Starts a child whose stderr goes to a file, and returns what is in the file after its end.
fn stderr_of(site: &Site, variables: &[(&str, &str)], orders: &[&str]) -> String {
    let path = site.dir.path().join("stderr");
    let file = File::create(&path).unwrap();
    let mut child = Child::spawn_with("robot", site.dir.path(), |command| {
        command.envs(variables.iter().copied()).stderr(file);
    });
    child.await_word("ready");
    for one in orders {
        order(&mut child, one);
    }
    assert_eq!(child.wait(), End::Code(0));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_environment_selects_lines_and_what_it_cannot_say_is_reported() {
    let site = Site::new();
    let all = stderr_of(&site, &[("HORUS_LOG", "warn,log=debug,x=9,")], &["levels"]);
    let lines: Vec<_> = all.lines().collect();
    assert_eq!(
        lines[0],
        "horus: HORUS_LOG: 'x=9' is no part of a log filter: '9' is none of the levels off, \
         error, warn, info, debug and trace; it has no effect"
    );
    assert_eq!(lines.len(), 5, "{all}");
    for (line, level) in lines[1..].iter().zip(["ERROR", "WARN ", "INFO ", "DEBUG"]) {
        let wanted = format!("Z {level} log: {}", level.trim());
        assert!(line.ends_with(&wanted), "{line}");
    }
    let (lines, _) = site.lines();
    assert_eq!(texts(&lines), ["ERROR", "WARN", "INFO", "DEBUG"]);
    let silent = [("HORUS_LOG_STDERR", "off"), ("HORUS_LOG", "off,log=trace")];
    assert_eq!(stderr_of(&site, &silent, &["levels"]), "");
    assert_eq!(site.lines().0.len(), 9);
    let odd = stderr_of(&site, &[("HORUS_LOG_STDERR", "maybe")], &["levels"]);
    assert!(
        odd.starts_with("horus: HORUS_LOG_STDERR: 'maybe' is none of on and off; it has no"),
        "{odd}"
    );
    assert_eq!(odd.lines().count(), 4, "{odd}");
}

#[test]
fn a_variable_without_a_valid_part_leaves_the_filter_of_the_program() {
    for (text, selected) in [
        ("", vec!["ERROR"]),
        (" , ", vec!["ERROR"]),
        ("debgu", vec!["ERROR"]),
        ("debgu,warn", vec!["ERROR", "WARN"]),
    ] {
        let site = Site::new();
        let mut child = Child::spawn_with("strict", site.dir.path(), |command| {
            command.env("HORUS_LOG", text);
        });
        child.await_word("ready");
        order(&mut child, "levels");
        assert_eq!(texts(&site.lines().0), selected, "'{text}'");
    }
}

#[test]
fn lines_and_failures_of_nodes_have_the_names_of_the_nodes() {
    let site = Site::new();
    let stderr = stderr_of(&site, &[("HORUS_LOG", "info")], &["nodes"]);
    let (lines, lost) = site.lines();
    let of = |node: &str| {
        let of_node = lines.iter().filter(|record| record.line.node == *node);
        of_node
            .map(|record| record.line.text().into_owned())
            .collect::<Vec<_>>()
    };
    let mut timed = of("timed");
    // On a slow machine, a tick may miss its deadline, which the scheduler logs.
    timed.retain(|text| text.starts_with("tick"));
    assert_eq!(timed, ["tick 0", "tick 1", "tick 2"]);
    let failed = of("quiet");
    assert!(
        failed
            .iter()
            .any(|text| text.contains("failed: no such port")),
        "{failed:?}"
    );
    assert_eq!(of(""), ["after all nodes"]);
    assert_eq!(lost, 0);
    // Each line is on stderr, also those of the real-time thread, which another thread prints.
    for tick in 0..3 {
        let wanted = format!("Z WARN  timed: tick {tick}\n");
        assert_eq!(stderr.matches(&wanted).count(), 1, "{stderr}");
    }
    assert_eq!(stderr.lines().count(), lines.len(), "{stderr}");
}

#[test]
fn old_logs_of_dead_processes_are_removed() {
    let site = Site::new();
    let mut living = site.child("living");
    order(&mut living, "say still");
    for program in ["other", "restarted"] {
        for round in 0..7 {
            let mut child = site.child(program);
            order(&mut child, &format!("say {round}"));
            child.kill();
        }
    }
    let mut last = site.child("last");
    let (lines, lost) = site.lines();
    let texts = texts(&lines);
    assert_eq!(
        texts,
        ["still", "3", "4", "5", "6", "3", "4", "5", "6"],
        "{lost}"
    );
    last.kill();
    // A log without a line is not kept, and that of a living process does not count.
    let names = topics(&site.namespace).unwrap();
    assert_eq!(names.len(), 10, "{names:?}");
    let mut later = site.child("last");
    let names = topics(&site.namespace).unwrap();
    assert_eq!(names.len(), 10, "{names:?}");
    later.kill();
    order(&mut living, "say alive");
}

#[test]
fn the_newest_logs_are_kept_although_the_clock_was_set_back() {
    let site = Site::new();
    for number in 1..=4 {
        // The log of a process that began while the clock was ahead.
        let name = format!("horus/log/restarted/9999999999999999-{number}");
        let topic = Topic::<LogLine>::builder(&name).namespace(&site.namespace);
        let qos = Qos::new().capacity(64).history(16).persist_after_exit(true);
        let header = LogLineHeader {
            sequence: 1,
            monotonic_ns: number,
            ..LogLineHeader::default()
        };
        let line = LogLine::new(header, b"").unwrap();
        topic.qos(qos).publisher().unwrap().send(line).unwrap();
    }
    let mut child = site.child("restarted");
    order(&mut child, "say last-words");
    child.kill();
    let _again = site.child("restarted");
    let texts = texts(&site.lines().0);
    assert_eq!(texts, ["", "", "", "last-words"]);
}

#[test]
fn a_hostile_log_is_read_like_any_other() {
    let site = Site::new();
    let name = |number: u32| format!("horus/log/evil/{number}-1");
    let line = |sequence: u64, text: &str| {
        let header = LogLineHeader {
            sequence,
            monotonic_ns: u64::MAX - sequence,
            level: 200,
            text_bytes: text.len() as u32,
            ..LogLineHeader::default()
        };
        LogLine::new(header, text.as_bytes()).unwrap()
    };
    let qos = Qos::new().capacity(64).history(16);
    let open = |name: &str| {
        Topic::<LogLine>::builder(name)
            .namespace(&site.namespace)
            .qos(qos)
    };
    let mut one = open(&name(1)).publisher().unwrap();
    for (sequence, text) in [
        (0, "a"),
        (u64::MAX, "b"),
        (7, "c"),
        (7, "d"),
        (u64::MAX, "e"),
    ] {
        one.send(line(sequence, text)).unwrap();
    }
    let other = Topic::<CmdVel>::builder(&name(2)).namespace(&site.namespace);
    let _other = other.publisher().unwrap();
    let mut reader = LogReader::new(&site.namespace);
    let (lines, _) = read_all(&mut reader);
    assert!(!lines.is_empty());
    one.send(line(u64::MAX, "f")).unwrap();
    let (lines, _) = read_all(&mut reader);
    assert_eq!(texts(&lines), ["f"]);
    assert_eq!(lines[0].line.level_name(), "?");
}

#[test]
fn a_line_that_is_filtered_out_costs_less_than_one_that_is_logged() {
    let site = Site::new();
    let mut child = site.child("cost");
    child.tell("cost");
    let cost = child.await_word("cost");
    let costs: Vec<u64> = cost
        .split(' ')
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    result(
        "log/cost",
        format!(
            "{} ns for a line, {} ns for one that is filtered out",
            costs[0], costs[1]
        ),
    );
    assert!(costs[1] < costs[0]);
    let filter = LogFilter::default();
    assert!(!filter.allows(Level::Debug, "", "log"));
}
