//! A child that is forked while another thread starts the first scheduler of the process.

use std::panic;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use horus_core::scheduler::{Report, RunError};

use super::Site;
use crate::actors::{End, arm, say, until};
use crate::forked::fork;

/// The number of times in succession that a thread is found asleep, before the fork.
const LOOKS: u32 = 5;

/// Forks while one thread executes the panic hook, and another one waits for that, because it
/// starts a scheduler and so wants to replace the hook. The child starts a scheduler, too.
pub(super) fn fork_while_a_scheduler_starts(dir: &Path) {
    let (begins, has_begun) = mpsc::channel();
    let (ends, end) = mpsc::channel::<()>();
    let end = Mutex::new(end);
    panic::set_hook(Box::new(move |_| {
        begins.send(()).unwrap();
        let _ = end.lock().unwrap().recv();
    }));
    let panicking = thread::spawn(|| panic!("it executes the hook"));
    has_begun.recv().unwrap();

    let parent_dir = dir.join("parent");
    let (sends_id, id) = mpsc::channel();
    let starting = thread::spawn(move || {
        // SAFETY: the call takes no pointer.
        sends_id.send(unsafe { libc::gettid() }).unwrap();
        run_in(&parent_dir).is_ok()
    });
    let id = id.recv().unwrap();
    let mut asleep = 0;
    until("the other thread waits for the hook", || {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap();
        asleep = if stat.contains(") S ") { asleep + 1 } else { 0 };
        asleep == LOOKS
    });
    let is_well = fork(|| {
        // SAFETY: the call takes no pointer. It ends a child that hangs.
        unsafe { libc::alarm(60) };
        run_in(&dir.join("child")).is_ok()
    });
    say(if is_well { "runs" } else { "hangs" });
    drop(ends);
    panicking.join().unwrap_err();
    assert!(starting.join().unwrap());
}

fn run_in(dir: &Path) -> Result<Report, RunError> {
    arm(dir).run_for(Duration::ZERO)
}

#[test]
fn a_child_forked_while_another_thread_starts_a_scheduler_can_start_one() {
    let site = Site::new();
    let mut child = site.child("forks");
    assert_eq!(child.wait(), End::Code(0));
    assert_eq!([child.count("runs"), child.count("hangs")], [1, 0]);
}
