//! A real-time node that logs: it allocates nothing, makes no system call and waits for nobody,
//! also while nobody reads stderr.

use horus_testing as _;

mod actors;
mod heap;
mod kernel;
mod noise;

use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actors::{Child, End, hear, namespace_in, role, say, until};
use horus_core::log::{LogReader, LogSettings};
use horus_core::scheduler::{Context, Hertz, Scheduler};
use noise::result;

/// The ticks before the measurement: the first use of something may cost something.
const WARM_UP: u64 = 50;
/// The measured ticks.
const TICKS: u64 = 500;
/// The lines of a tick that are logged.
const LINES: u64 = 3;

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    let Some((role, dir)) = role() else { return };
    match role.as_str() {
        "robot" => robot(&dir),
        other => panic!("no role '{other}'"),
    }
}

/// Runs a node that logs, and says what that has cost its thread.
fn robot(dir: &Path) {
    let settings = LogSettings::new().namespace(&namespace_in(dir));
    settings
        .lines(4 * LINES as u32 * (WARM_UP + TICKS) as u32)
        .init()
        .unwrap();
    let mut scheduler = Scheduler::new();
    scheduler.namespace(&namespace_in(dir));
    scheduler.on_event(|_| {});
    let bytes = Arc::new(AtomicU64::new(0));
    let peak = Arc::clone(&bytes);
    let mut longest = Duration::ZERO;
    let work = move |context: &mut Context<'_>| {
        let tick = context.tick();
        if tick == WARM_UP {
            kernel::watch();
        }
        let begin = std::time::Instant::now();
        let ((), held) = heap::peak(|| {
            log::info!("tick {tick} of {}", "many");
            log::warn!(target: "other", "{tick:>900}");
            log::error!("done {:?} {:.3}", Some(tick), 0.5);
            log::debug!("never {tick}");
        });
        longest = longest.max(begin.elapsed());
        if tick >= WARM_UP {
            peak.fetch_max(held as u64, Ordering::Relaxed);
        }
        if tick + 1 == WARM_UP + TICKS {
            kernel::look_away();
            say(format!("longest {}", longest.as_nanos()));
            context.stop();
        }
    };
    scheduler.node("arm").rate(1.khz()).build(work).unwrap();
    say("ready");
    let running = scheduler.start().unwrap();
    while !running.is_stopping() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // WHY: the end of the run does not wait long for the printer, which waits for a reader.
    assert_eq!(hear().as_deref(), Some("somebody reads"));
    running.finish().unwrap();
    say(format!("peak {}", bytes.load(Ordering::Relaxed)));
    let calls = kernel::calls();
    // Else no other call would be seen either.
    assert!(calls.as_ref().is_none_or(|calls| !calls.is_empty()));
    let calls = calls.unwrap_or_default();
    let others: Vec<_> = calls
        .iter()
        .filter(|(number, _)| *number != libc::SYS_clock_nanosleep)
        .collect();
    say(format!("calls {others:?}"));
    while hear().is_some() {}
}

#[test]
fn a_line_of_a_real_time_node_allocates_nothing_and_calls_no_kernel() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::set_permissions(
        dir.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let mut child = Child::spawn_with("robot", dir.path(), |command| {
        command.stderr(Stdio::piped());
    });
    // Nobody reads stderr until the node has done all its ticks: its pipe is full long before.
    child.await_word("ready");
    let longest = child.await_word("longest");
    let mut stderr = child.stderr();
    let reading = std::thread::spawn(move || {
        let mut all = String::new();
        stderr.read_to_string(&mut all).unwrap();
        all
    });
    child.tell("somebody reads");
    let peak = child.await_word("peak");
    let calls = child.await_word("calls");
    assert_eq!(child.wait(), End::Code(0));
    let printed = reading.join().unwrap();
    result(
        "log_real_time/node",
        format!("{longest} ns, {peak} bytes, {calls}"),
    );
    assert_eq!(peak, "peak 0");
    assert_eq!(calls, "calls []");
    let mut reader = LogReader::new(&namespace_in(dir.path()));
    let mut lines = Vec::new();
    until("the lines", || {
        lines.extend(reader.poll().unwrap());
        !reader.has_withheld_lines()
    });
    assert_eq!(
        (lines.len() as u64, reader.lost()),
        (LINES * (WARM_UP + TICKS), 0)
    );
    assert!(lines.iter().all(|record| record.line.node == *"arm"));
    // A thread of the scheduler has printed each line, in order.
    let mut rest = printed.as_str();
    for record in &lines {
        let text = record.line.text();
        let at = rest
            .find(&*text)
            .unwrap_or_else(|| panic!("'{text}' is missing in '{rest}'"));
        rest = &rest[at + text.len()..];
    }
}
