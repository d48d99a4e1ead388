//! A process that is stopped for a while, as by a debugger, also while a node is in a tick.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::scheduler::{Context, Hertz, Report, Scheduler, StopReason};

use super::executors::until;
use super::private::Private;
use super::{Logs, MS, ROLE};

/// The word of the child process that all its nodes tick.
pub(crate) const TICKING: &str = "all nodes tick";

/// Returns the number of the last ticks that were less than 100 ms late.
pub(crate) fn last_ticks_in_time(log: &[(u64, u64)]) -> usize {
    let last = log.iter().rev();
    last.take_while(|(due, begun)| begun - due < 100 * MS)
        .count()
}

/// Runs until all nodes have ticked, the process was stopped, and all nodes have ticked on. WHY not
/// for some time: a busy machine may let the nodes begin late, and go on late.
pub(crate) fn run_until_stopped(scheduler: Scheduler, logs: &Logs) -> Report {
    let mut running = scheduler.start().unwrap();
    let mut run_until = |what, is_so: &dyn Fn(&[(u64, u64)]) -> bool| {
        until(what, || {
            running.run_for(Duration::from_millis(10)).unwrap();
            logs.iter().all(|(_, log)| is_so(&log.lock().unwrap()))
        });
    };
    run_until(TICKING, &|log| log.len() > 10);
    println!("{TICKING}");
    let was_stopped = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&was_stopped);
    // The process that has stopped this one sends a line afterwards.
    thread::spawn(move || {
        std::io::stdin().read_line(&mut String::new()).unwrap();
        set.store(true, Ordering::Relaxed);
    });
    run_until("it is stopped", &|_| was_stopped.load(Ordering::Relaxed));
    let lens: Vec<_> = logs
        .iter()
        .map(|(_, log)| log.lock().unwrap().len())
        .collect();
    until("all go on", || {
        running.run_for(Duration::from_millis(10)).unwrap();
        logs.iter().zip(&lens).all(|((_, log), len)| {
            let log = log.lock().unwrap();
            log.len() > len + 10 && last_ticks_in_time(&log) > 10
        })
    });
    running.finish().unwrap()
}

/// The role of the child process.
pub(crate) const IN_A_TICK: &str = "in a tick";

/// The time for which the process is stopped. A tick that lasts so long is endless.
const STOPPED: Duration = Duration::from_millis(2500);

/// Runs a node whose fourth tick stops the process, and lasts a little longer than that.
///
/// WHY the tick itself: if the parent did it, a busy machine could delay the parent, and the tick
/// would be endless before it was stopped.
pub(crate) fn stopped_in_a_tick() {
    let (mut scheduler, _private) = Private::alone();
    let tick = |context: &mut Context<'_>| {
        if context.tick() == 3 {
            let before = Instant::now();
            // SAFETY: the call takes no pointer. It returns when the process continues.
            assert_eq!(unsafe { libc::raise(libc::SIGSTOP) }, 0);
            assert!(before.elapsed() >= STOPPED);
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

/// Waits until the process with the id `child`, which was not waited for, is stopped.
fn wait_until_stopped(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    let found = unsafe { libc::waitpid(child, &raw mut status, libc::WUNTRACED) };
    assert_eq!(found, child);
    assert!(libc::WIFSTOPPED(status), "it ended: {status:#x}");
}

/// A tick that seems to be endless, because the process was stopped in it, does not end the run.
#[test]
fn a_tick_in_which_the_process_was_stopped_is_not_endless() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child_role", "--exact", "--nocapture", "--test-threads=1"]);
    let child = child.env(ROLE, IN_A_TICK).process_group(0);
    let mut child = child.spawn().unwrap();
    let id = child.id() as libc::pid_t;
    wait_until_stopped(id);
    thread::sleep(STOPPED);
    // SAFETY: the call takes no pointer. The child was not waited for, so the id is its own.
    assert_eq!(unsafe { libc::kill(id, libc::SIGCONT) }, 0);
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
}
