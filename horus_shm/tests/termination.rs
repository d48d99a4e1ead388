//! Termination signals: forked children, and handlers that the program installs during a run.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use horus_shm::internals::termination::TerminationSignals;
use libc::{c_int, sigaction};

use common::{fate, fork, join_fork, limit_time};

const SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Runs `body` in a process of its own, where all signals have their default actions, and returns
/// how that process ended.
fn end_of(body: impl FnOnce() -> bool) -> String {
    fate(fork(|| {
        SIGNALS
            .iter()
            .for_each(|&signal| set_action(signal, libc::SIG_DFL));
        limit_time();
        body()
    }))
}

/// Waits until a signal ends this process.
fn pause() -> bool {
    limit_time();
    loop {
        // SAFETY: the call takes nothing.
        unsafe { libc::pause() };
    }
}

fn send(process: c_int, signal: c_int) {
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

/// Sends `signal` to this thread, and returns when it was handled.
fn raise(signal: c_int) {
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

fn action_of(signal: c_int) -> usize {
    // SAFETY: an action of zeros is valid.
    let mut action: sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: null requests no change, and `action` is valid for the write.
    let status = unsafe { libc::sigaction(signal, ptr::null(), &mut action) };
    assert_eq!(status, 0);
    action.sa_sigaction
}

/// Makes `handler`, which takes one argument, the handler of `signal`.
fn set_action(signal: c_int, handler: usize) {
    // SAFETY: an action of zeros is valid.
    let mut action: sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // SAFETY: the action is valid; the handlers of this test only use atomics.
    let status = unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
    assert_eq!(status, 0);
}

// Forked children.

#[test]
fn a_forked_child_is_ended_by_the_signals_that_its_parent_records() {
    for signal in SIGNALS {
        let end = end_of(|| {
            let recorder = TerminationSignals::install().unwrap();
            let child = fork(pause);
            send(child, signal);
            let end = fate(child);
            assert_eq!(recorder.received_signal(), None);
            assert_eq!(end, format!("killed by signal {signal}"));
            true
        });
        assert_eq!(end, "exited with 0", "signal {signal}");
    }
}

#[test]
fn a_signal_before_the_fork_does_not_count_in_the_child() {
    let end = end_of(|| {
        let recorder = TerminationSignals::install().unwrap();
        raise(libc::SIGTERM);
        let child = fork(|| {
            assert_eq!(recorder.received_signal(), None);
            pause()
        });
        send(child, libc::SIGTERM);
        assert_eq!(fate(child), format!("killed by signal {}", libc::SIGTERM));
        assert_eq!(recorder.received_signal(), Some(libc::SIGTERM));
        true
    });
    assert_eq!(end, "exited with 0");
}

#[test]
fn a_forked_child_has_the_actions_from_before_and_may_record_signals_itself() {
    let end = end_of(|| {
        set_action(libc::SIGINT, count as *const () as usize);
        let inherited = TerminationSignals::install().unwrap();
        join_fork(fork(move || {
            assert_eq!(action_of(libc::SIGINT), count as *const () as usize);
            assert_eq!(action_of(libc::SIGTERM), libc::SIG_DFL);
            let own = TerminationSignals::install().unwrap();
            drop(inherited);
            raise(libc::SIGTERM);
            assert_eq!(own.received_signal(), Some(libc::SIGTERM));
            drop(own);
            raise(libc::SIGINT);
            COUNTED.load(Ordering::Relaxed) == 1
        }))
    });
    assert_eq!(end, "exited with 0");
}

#[test]
fn a_child_forked_while_another_thread_installs_a_recorder_can_install_its_own() {
    let end = end_of(|| {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    drop(TerminationSignals::install().unwrap());
                }
            });
            for _ in 0..300 {
                // WHY again: on a busy machine, all rounds together may take long.
                limit_time();
                let child = fork(|| {
                    limit_time();
                    TerminationSignals::install().is_ok()
                });
                assert!(join_fork(child), "the child hangs");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        true
    });
    assert_eq!(end, "exited with 0");
}

// Handlers that the program installs during a run.

/// The number of signals that the handlers of this test have counted.
static COUNTED: AtomicUsize = AtomicUsize::new(0);
/// The handler to which [`chain`] passes its signals.
static CHAINED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: c_int) {
    COUNTED.fetch_add(1, Ordering::Relaxed);
}

/// Counts a signal, and calls the handler that was set before.
extern "C" fn chain(signal: c_int) {
    count(signal);
    let before: *const () = ptr::with_exposed_provenance(CHAINED.load(Ordering::Relaxed));
    // SAFETY: the handler of this library takes one argument.
    let before: extern "C" fn(c_int) = unsafe { std::mem::transmute(before) };
    before(signal);
}

#[test]
fn a_handler_that_calls_the_one_of_the_library_gets_each_later_signal_once() {
    let end = end_of(|| {
        let recorder = TerminationSignals::install().unwrap();
        CHAINED.store(action_of(libc::SIGTERM), Ordering::Relaxed);
        set_action(libc::SIGTERM, chain as *const () as usize);
        raise(libc::SIGTERM);
        assert_eq!(recorder.received_signal(), Some(libc::SIGTERM));
        drop(recorder);
        raise(libc::SIGTERM);
        raise(libc::SIGTERM);
        COUNTED.load(Ordering::Relaxed) == 3
    });
    assert_eq!(end, "exited with 0");
}

#[test]
fn a_handler_that_calls_the_one_of_the_library_may_be_installed_after_the_last_recorder() {
    let end = end_of(|| {
        let recorder = TerminationSignals::install().unwrap();
        CHAINED.store(action_of(libc::SIGTERM), Ordering::Relaxed);
        drop(recorder);
        set_action(libc::SIGTERM, chain as *const () as usize);
        raise(libc::SIGTERM);
        let first = COUNTED.load(Ordering::Relaxed);
        raise(libc::SIGTERM);
        // The first one may be sent again, but not without end.
        assert!(first <= 2, "{first}");
        COUNTED.load(Ordering::Relaxed) == first + 1
    });
    assert_eq!(end, "exited with 0");
}

/// Sets the library's handler again after the last recorder was dropped, as a program does that
/// restores what it found. Returns the handler.
fn restore_late() -> usize {
    let recorder = TerminationSignals::install().unwrap();
    let found = action_of(libc::SIGTERM);
    drop(recorder);
    set_action(libc::SIGTERM, found);
    found
}

#[test]
fn a_handler_of_the_library_that_is_restored_late_gives_way_to_the_action_from_before() {
    let end = end_of(|| {
        restore_late();
        raise(libc::SIGTERM);
        false
    });
    assert_eq!(end, format!("killed by signal {}", libc::SIGTERM));

    let end = end_of(|| {
        let counting = count as *const () as usize;
        set_action(libc::SIGTERM, counting);
        let ours = restore_late();
        drop(TerminationSignals::install().unwrap());
        assert_eq!(action_of(libc::SIGTERM), counting);
        set_action(libc::SIGTERM, ours);
        raise(libc::SIGTERM);
        assert_eq!(action_of(libc::SIGTERM), counting);
        raise(libc::SIGTERM);
        COUNTED.load(Ordering::Relaxed) == 2
    });
    assert_eq!(end, "exited with 0");
}
