//! Neither end of a benchmark outlives or waits for the other one when that is killed.

use horus_testing as _;

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const RAW_BASELINES: &str = env!("CARGO_BIN_EXE_raw_baselines");

/// Long enough for any machine; a hang is what is being excluded.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that would take hours; killed when dropped, so that it does not go on after a failure.
struct EndlessRun(Child);

impl EndlessRun {
    fn start() -> Self {
        let run = Command::new(RAW_BASELINES)
            .args(["--filter", "cross_process", "--samples", "100000000000"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self(run)
    }
}

impl Drop for EndlessRun {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// The fields of `/proc/PID/stat` from the state on: state, parent, ….
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// The benchmark's child, once it runs as such (and not as a fork that has yet to exec).
fn child_of(parent: u32) -> Option<u32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        entry.ok().and_then(|entry| {
            entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
        })
    });
    let mut children = pids.filter(|&pid| stat(pid).is_some_and(|s| s[1] == parent.to_string()));
    let is_far_end = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command)
            .split('\0')
            .any(|argument| argument == "--child")
    };
    children.find(is_far_end)
}

fn is_running(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| !["Z", "X"].contains(&fields[0].as_str()))
}

fn kill(pid: u32) {
    let killed = Command::new("sh")
        .args(["-c", &format!("kill -9 {pid}")])
        .status()
        .unwrap();
    assert!(killed.success());
}

fn wait_with_patience(process: &mut Child) -> ExitStatus {
    wait_until("the end of the run", || process.try_wait().unwrap())
}

#[test]
fn a_child_does_not_outlive_its_parent() {
    let parent = EndlessRun::start();
    let child = wait_until("the child's start", || child_of(parent.0.id()));
    drop(parent);
    wait_until("the child's end", || (!is_running(child)).then_some(()));
}

#[test]
fn a_parent_whose_child_is_killed_fails_and_says_so() {
    let mut parent = EndlessRun::start();
    let child = wait_until("the child's start", || child_of(parent.0.id()));
    kill(child);
    assert_eq!(wait_with_patience(&mut parent.0).code(), Some(1));
    let mut message = String::new();
    io::Read::read_to_string(&mut parent.0.stderr.take().unwrap(), &mut message).unwrap();
    assert!(message.starts_with("raw_baselines: "), "{message}");
}
