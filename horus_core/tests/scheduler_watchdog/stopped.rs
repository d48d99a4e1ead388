//! A process that is stopped for a while, as by a debugger, while a node is in a tick.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::scheduler::{Context, Hertz, StopReason};

use super::ROLE;
use super::private::Private;

/// The role of the child process.
pub(crate) const IN_A_TICK: &str = "in a tick";

/// The time for which the process is stopped. A tick that lasts so long is endless.
const STOPPED: Duration = Duration::from_millis(2500);

/// Runs a node whose fourth tick lasts until the process was stopped, and a little longer.
pub(crate) fn stopped_in_a_tick() {
    let (mut scheduler, _private) = Private::alone();
    let tick = |context: &mut Context<'_>| {
        if context.tick() == 3 {
            // WHY before the line: the process is stopped as soon as that is read.
            let mut before = Instant::now();
            println!("{IN_A_TICK}");
            while before.elapsed() < STOPPED / 2 {
                before = Instant::now();
                thread::sleep(Duration::from_millis(1));
            }
            (0..20).for_each(|_| thread::sleep(Duration::from_millis(1)));
        }
        if context.tick() == 10 {
            context.stop();
        }
    };
    let node = scheduler.node("works").rate(100.hz());
    node.watchdog(STOPPED / 20).build(tick).unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{report}");
    assert_eq!(report.node("works").unwrap().metrics.ticks, 11);
}

/// A tick that seems to be endless, because the process was stopped in it, does not end the run.
#[test]
fn a_tick_in_which_the_process_was_stopped_is_not_endless() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child_role", "--exact", "--nocapture", "--test-threads=1"]);
    let child = child.env(ROLE, IN_A_TICK).stdout(Stdio::piped());
    let mut child = child.process_group(0).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(IN_A_TICK)));
    for signal in [libc::SIGSTOP, libc::SIGCONT] {
        // SAFETY: the call takes no pointer. The child was not waited for, so the id is its own.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        if signal == libc::SIGSTOP {
            thread::sleep(STOPPED);
        }
    }
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {rest:?}");
}
