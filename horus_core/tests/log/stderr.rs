//! The stderr of a program whose reader is slow or has died.

use std::fs::File;
use std::io::{PipeReader, Read as _, pipe};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;

/// Lets SIGPIPE end this process, as it does in a C or C++ program.
pub(super) fn accept_broken_pipes() {
    // SAFETY: the action is one of the two that every signal can have.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Forks while another thread is inside of a write to stderr, which nobody reads. The child logs.
pub(super) fn fork_while_stderr_is_full() -> bool {
    let writer = thread::spawn(|| (0..2000).for_each(|line| log::info!("line {line}")));
    let is_full = || {
        let mut stderr = libc::pollfd {
            fd: libc::STDERR_FILENO,
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: the one element is valid for the call.
        unsafe { libc::poll(&raw mut stderr, 1, 0) == 0 }
    };
    until("stderr is full", is_full);
    // The thread is probably inside of its next write then; otherwise this proves nothing.
    thread::sleep(Duration::from_millis(50));
    say("full");
    let is_well = forked::fork(|| {
        log::info!("of the child");
        true
    });
    writer.join().unwrap();
    is_well
}

/// Reads all that is written to the pipe, on a thread of its own, until the last writer closes it.
fn read_to_end(reader: PipeReader) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        File::from(OwnedFd::from(reader))
            .read_to_string(&mut text)
            .unwrap();
        text
    })
}

#[test]
fn a_program_outlives_the_reader_of_its_stderr() {
    let site = Site::new();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let mut child = Child::spawn_with("robot", site.dir.path(), |command| {
        command.stderr(writer);
    });
    child.await_word("ready");
    for text in ["accept_broken_pipes", "say one", "say two"] {
        order(&mut child, text);
    }
    assert_eq!(child.wait(), End::Code(0));
    assert_eq!(texts(&site.lines().0), ["one", "two"]);
}

#[test]
fn a_child_forked_during_a_write_to_stderr_can_log() {
    let site = Site::new();
    let (reader, writer) = pipe().unwrap();
    let mut child = Child::spawn_with("robot", site.dir.path(), |command| {
        command.stderr(writer);
    });
    child.await_word("ready");
    child.tell("fork_while_stderr_is_full");
    child.await_word("full");
    let read = read_to_end(reader);
    child.await_word("done");
    assert_eq!(child.wait(), End::Code(0));
    assert!(read.join().unwrap().contains("of the child"));
}

#[test]
fn no_line_is_lost_where_stderr_refuses_to_wait() {
    let site = Site::new();
    let (reader, writer) = pipe().unwrap();
    for (command, value) in [
        (libc::F_SETFL, libc::O_NONBLOCK),
        (libc::F_SETPIPE_SZ, 4096),
    ] {
        // SAFETY: the call takes no pointer.
        let status = unsafe { libc::fcntl(writer.as_raw_fd(), command, value) };
        assert!(status >= 0);
    }
    let mut child = Child::spawn_with("robot", site.dir.path(), |command| {
        command.stderr(writer);
    });
    child.await_word("ready");
    // Far more than the pipe holds.
    child.tell("count 2000");
    thread::sleep(Duration::from_millis(300));
    let read = read_to_end(reader);
    child.await_word("done");
    assert_eq!(child.wait(), End::Code(0));
    let text = read.join().unwrap();
    let numbers = text.lines().map(|line| line.rsplit(' ').next().unwrap());
    let wanted: Vec<_> = (0..2000).map(|number: u32| number.to_string()).collect();
    assert_eq!(numbers.collect::<Vec<_>>(), wanted);
}
