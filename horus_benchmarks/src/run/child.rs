//! Child processes that run the same binary. Each has a role, and ends together with its parent.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::parent_id;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use horus_shm::internals::child::kill_with_parent;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// First argument of a child process. The argument after it is the [`ChildContext`] as JSON.
const CHILD_ARGUMENT: &str = "--child";

/// The settings with which a child process is started.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ChildSpec<'a> {
    /// The role of the child. It selects the work that the `main` function of the child does.
    pub role: &'a str,
    pub cpu: usize,
    pub share_cpu: bool,
    /// Environment variables that are added for the child.
    #[serde(skip)]
    pub env: &'a [(String, OsString)],
}

/// A running child process. It is killed and reaped when this value is dropped. The kernel also
/// kills it when the thread that spawned it ends, which should therefore be the main thread.
#[derive(Debug)]
pub struct ChildProcess {
    process: Child,
    jobs: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl ChildProcess {
    /// Starts a child process that runs this binary.
    pub fn spawn(spec: &ChildSpec<'_>) -> Outcome<ChildProcess> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg(CHILD_ARGUMENT)
            .arg(serde_json::to_string(spec)?)
            .envs(spec.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        kill_with_parent(&mut command);
        let process = command.spawn();
        let mut process =
            process.map_err(|error| format!("cannot start a child process: {error}"))?;
        let jobs = process.stdin.take().expect("stdin was set to a pipe");
        let answers = process.stdout.take().expect("stdout was set to a pipe");
        Ok(ChildProcess {
            process,
            jobs,
            answers: BufReader::new(answers),
        })
    }

    /// Sends one line to the child. Blocks only if the child has not yet read 64 KiB of lines.
    pub fn send_line(&mut self, line: &str) -> Outcome {
        let sent = self.jobs.write_all(format!("{line}\n").as_bytes());
        sent.map_err(|error| {
            self.exit_error_or(format!("cannot talk to the child process: {error}"))
        })
    }

    /// Waits up to `limit` for the next line from the child, and returns it.
    pub fn receive_line(&mut self, limit: Duration) -> Outcome<String> {
        // WHY: a line is asked for only after a job, and a job gets one line, so nothing is left
        // in the buffer that `poll` would not see.
        if !is_readable_within(self.answers.get_ref(), limit)? {
            let limit_s = limit.as_secs_f64();
            let text = format!("no answer from the child process within {limit_s} s");
            return Err(self.exit_error_or(text));
        }
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.ends_with('\n') {
            return Ok(line);
        }
        // The end of the pipe: the child is ending, if it has not yet.
        Err(early_end_error(self.process.wait()?))
    }

    /// Returns a function that returns true if the child has ended. It may be called while this
    /// object exists.
    pub fn child_death_check(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let pid = Pid::from_child(&self.process);
        move || has_child_ended(pid)
    }

    fn exit_error_or(&mut self, otherwise: String) -> Box<dyn Error> {
        match self.process.try_wait() {
            Ok(Some(status)) => early_end_error(status),
            _ => otherwise.into(),
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Both fail only if the child has been reaped already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The settings that a child process got from its parent.
#[derive(Debug, Deserialize)]
pub struct ChildContext {
    pub(crate) role: String,
    pub(crate) cpu: usize,
    pub(crate) share_cpu: bool,
}

impl ChildContext {
    /// Returns the settings of this process if it is a child process. The `main` function of every
    /// benchmark calls this first.
    pub fn from_arguments() -> Option<ChildContext> {
        let mut args = std::env::args().skip(1);
        args.next().filter(|first| first == CHILD_ARGUMENT)?;
        serde_json::from_str(&args.next()?).ok()
    }

    /// Returns a function that returns true if the parent has ended.
    pub fn parent_death_check(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let parent = parent_id();
        move || parent_id() != parent
    }
}

fn early_end_error(status: ExitStatus) -> Box<dyn Error> {
    format!("the child process ended early: {status}").into()
}

/// Waits until `fd` has something to read or its other end is closed. Returns false after `limit`,
/// which begins again after a signal.
fn is_readable_within(fd: &impl AsFd, limit: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    Ok(retry_on_intr(|| poll(&mut fds, Some(&limit)))? > 0)
}

/// Returns true if the child process `pid` has ended. Does not reap it. WHY not other calls:
/// `kill(pid, 0)` also succeeds for a zombie, and `Child::try_wait` needs exclusive access.
fn has_child_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // An error means that there is no such child any more: it was reaped.
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}
