//! Child processes that play a role: the test binary, executed again.
//!
//! A test file that uses them has a test called `child_role`. It plays the role that [`role`]
//! names, and otherwise passes at once.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const ROLE_VARIABLE: &str = "HORUS_TEST_ROLE";

/// The longest wait for an event that has to happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest time without progress, in a test that may take long.
const LONG_PATIENCE: Duration = Duration::from_secs(60);

/// Returns the role that this process plays, if it is a child.
pub fn role() -> Option<String> {
    env::var(ROLE_VARIABLE).ok()
}

/// Makes a directory that can serve as a `$HORUS_SHM_DIR`.
pub fn private_dir() -> TempDir {
    let private = PermissionsExt::from_mode(0o700);
    tempfile::Builder::new()
        .permissions(private)
        .tempdir()
        .unwrap()
}

/// Prints a line for the parent by one write, so that it can be used after a fork.
pub fn say(line: impl std::fmt::Display) {
    let line = format!("\n@{line}\n");
    io::stdout()
        .write_all(line.as_bytes())
        .and_then(|()| io::stdout().flush())
        .unwrap();
}

/// Prints the results of a property, also of a test that passes.
pub fn show(line: impl std::fmt::Display) {
    // One write, so that lines of parallel tests do not mix. A failed write fails no test.
    let _ = io::stdout()
        .lock()
        .write_all(format!("| {line}\n").as_bytes());
}

/// Prints the results of a property as `RESULT <id>: <figures>`, past the capture of the harness.
/// `grep ^RESULT` finds all of them in a log.
pub fn result(id: &str, figures: impl std::fmt::Display) {
    let line = format!("RESULT {id}: {figures}\n");
    // WHY: the harness may be in the middle of a line of its own, which has to end first.
    io::stdout()
        .lock()
        .write_all(format!("\n{line}").as_bytes())
        .unwrap();
}

/// Blocks until the parent ends, or closes the child's input.
pub fn park() {
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// Polls until `condition` holds.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets a flag when this is dropped.
pub struct Raised<'a>(pub &'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Panics if a peer makes no progress for too long.
pub struct Guard {
    last: u64,
    since: Instant,
}

impl Guard {
    pub fn new() -> Self {
        Self {
            last: u64::MAX,
            since: Instant::now(),
        }
    }

    /// Returns how long `progress` has not changed; panics if that is too long.
    #[track_caller]
    pub fn stuck(&mut self, progress: u64) -> Duration {
        if progress != self.last {
            (self.last, self.since) = (progress, Instant::now());
        }
        assert!(
            self.since.elapsed() < LONG_PATIENCE,
            "nothing moves, at {progress}"
        );
        self.since.elapsed()
    }
}

/// Ends this process by SIGALRM if it does not call this function again within [`LONG_PATIENCE`].
pub fn limit_time() {
    // SAFETY: the call takes no pointer.
    unsafe { libc::alarm(LONG_PATIENCE.as_secs() as u32) };
}

/// Locked exclusively while a child is started: until its `exec`, it has a copy of each descriptor
/// of this process.
static CHILD_STARTS: RwLock<()> = RwLock::new(());

/// Prevents the other threads from starting a child until the guard is dropped, so that a file that
/// this thread closes is open nowhere. This thread must not start a child meanwhile.
pub fn prevent_child_starts() -> RwLockReadGuard<'static, ()> {
    CHILD_STARTS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Starts `command`; returns when the child has called `exec`.
fn start(command: &mut Command) -> process::Child {
    let _exclusive = CHILD_STARTS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn().unwrap()
}

/// Returns a command that runs this binary again, to play `role`.
fn command(role: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["child_role", "--exact", "--nocapture", "--test-threads=1"]);
    command
        .env(ROLE_VARIABLE, role)
        .env_remove("HORUS_NAMESPACE");
    command
}

/// Runs a child in `role` to its end, with `dir` as its `$HORUS_SHM_DIR`, and returns its output
/// and status.
pub fn outcome(role: &str, dir: &Path) -> process::Output {
    let mut command = command(role);
    command.env("HORUS_SHM_DIR", dir).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    start(&mut command).wait_with_output().unwrap()
}

/// A process that plays a role; killed when dropped.
pub struct Child {
    process: process::Child,
    said: BufReader<ChildStdout>,
    stdin: Option<ChildStdin>,
}

impl Child {
    /// Starts a child in `role`, with `dir` as its `$HORUS_SHM_DIR`.
    pub fn spawn(role: &str, dir: &Path) -> Self {
        let mut command = command(role);
        command.env("HORUS_SHM_DIR", dir).stdin(Stdio::piped());
        let mut process = start(command.stdout(Stdio::piped()));
        let said = BufReader::new(process.stdout.take().unwrap());
        let stdin = process.stdin.take();
        Self {
            process,
            said,
            stdin,
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Returns the next line that the child prints.
    pub fn listen(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let bytes = self.said.read_line(&mut line).unwrap();
            assert_ne!(bytes, 0, "the child ended without printing a line");
            if let Some(said) = line.strip_prefix('@') {
                return said.trim_end().into();
            }
        }
    }

    /// Writes a line to the child, and returns the next line that the child prints.
    pub fn ask(&mut self, line: &str) -> String {
        let stdin = self.stdin.as_mut().expect("the child was let go");
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.listen()
    }

    /// Returns the next number that the child prints.
    pub fn listen_u64(&mut self) -> u64 {
        self.listen().parse().unwrap()
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the call takes no pointer. The child was not waited for, so the id is its own.
        assert_eq!(unsafe { libc::kill(self.pid() as i32, signal) }, 0);
    }

    /// Waits for the end of the child, and returns its status.
    pub fn wait(&mut self) -> process::ExitStatus {
        drop(self.stdin.take());
        // The rest of its output must not fill the pipe.
        let _ = io::copy(&mut self.said, &mut io::sink());
        self.process.wait().unwrap()
    }

    /// Kills the child and reaps it.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Lets a parked child continue.
    pub fn free_pin(&mut self) {
        drop(self.stdin.take());
    }

    /// Lets a parked child continue, and expects it to succeed.
    pub fn finish(mut self) {
        assert!(self.wait().success());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Forks; the child runs `body` and exits with its result. The parent keeps the values that `body`
/// owns.
pub fn fork(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child is a copy without the other threads, and `body` takes no lock of theirs.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let is_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(i32::from(!is_well.unwrap_or(false))) };
    }
    std::mem::forget(body);
    pid
}

/// Forks, and waits for the child, which exits with the result of `body`. Returns that result.
///
/// Waits until no thread prevents the start of children: the child has a copy of each descriptor of
/// this process until it exits. `body` must not start a child itself.
pub fn fork_and_join(body: impl FnOnce() -> bool) -> bool {
    let _exclusive = CHILD_STARTS.write().unwrap_or_else(PoisonError::into_inner);
    join_fork(fork(body))
}

/// Waits for a forked child, and returns whether its `body` returned true.
pub fn join_fork(pid: i32) -> bool {
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status == 0
}

/// Waits for a forked child, and describes how it ended.
pub fn fate(pid: i32) -> String {
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    if libc::WIFSIGNALED(status) {
        format!("killed by signal {}", libc::WTERMSIG(status))
    } else {
        format!("exited with {}", libc::WEXITSTATUS(status))
    }
}
