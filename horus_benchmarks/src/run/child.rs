//! Child processes that run the same binary. Each has a role, and ends together with its parent.

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

/// First argument of a child process. The arguments after it are `ROLE CPU SHARE_CPU`.
const CHILD_ARGUMENT: &str = "--child";

/// An error in the communication between a parent process and its child.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ChildError {
    #[error("cannot start a child process")]
    Spawn(#[source] io::Error),
    #[error("the child process ended early: {0}")]
    Died(ExitStatus),
    #[error("no answer from the child process within {} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("cannot talk to the child process")]
    Pipe(#[source] io::Error),
}

/// The settings with which a child process is started.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ChildSpec<'a> {
    /// The role of the child. It selects the work that the `main` function of the child does.
    pub role: &'a str,
    pub cpu: usize,
    pub share_cpu: bool,
    /// Environment variables that are added for the child.
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
    pub fn spawn(spec: &ChildSpec<'_>) -> Result<ChildProcess, ChildError> {
        let binary = std::env::current_exe().map_err(ChildError::Spawn)?;
        let mut command = Command::new(binary);
        command
            .arg(CHILD_ARGUMENT)
            .arg(spec.role)
            .arg(spec.cpu.to_string())
            .arg(spec.share_cpu.to_string())
            .envs(spec.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        kill_with_parent(&mut command);
        let mut process = command.spawn().map_err(ChildError::Spawn)?;
        let jobs = process.stdin.take().expect("stdin was set to a pipe");
        let answers = process.stdout.take().expect("stdout was set to a pipe");
        Ok(ChildProcess {
            process,
            jobs,
            answers: BufReader::new(answers),
        })
    }

    /// Sends one line to the child. Blocks only if the child has not yet read 64 KiB of lines.
    pub fn send_line(&mut self, line: &str) -> Result<(), ChildError> {
        let sent = self.jobs.write_all(format!("{line}\n").as_bytes());
        sent.map_err(|error| self.exit_error_or(ChildError::Pipe(error)))
    }

    /// Waits up to `limit` for the next line from the child, and returns it.
    pub fn receive_line(&mut self, limit: Duration) -> Result<String, ChildError> {
        // WHY: a line is asked for only after a job, and a job gets one line, so nothing is left
        // in the buffer that `poll` would not see.
        if !is_readable_within(self.answers.get_ref(), limit).map_err(ChildError::Pipe)? {
            return Err(self.exit_error_or(ChildError::Silent(limit)));
        }
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .map_err(ChildError::Pipe)?;
        if line.ends_with('\n') {
            return Ok(line);
        }
        // The end of the pipe: the child is ending, if it has not yet.
        self.process
            .wait()
            .map_or_else(|e| Err(ChildError::Pipe(e)), |s| Err(ChildError::Died(s)))
    }

    /// Returns a function that returns true if the child has ended. It may be called while this
    /// object exists.
    pub fn child_death_check(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let pid = Pid::from_child(&self.process);
        move || has_child_ended(pid)
    }

    fn exit_error_or(&mut self, otherwise: ChildError) -> ChildError {
        match self.process.try_wait() {
            Ok(Some(status)) => ChildError::Died(status),
            _ => otherwise,
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
#[derive(Debug)]
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
        if args.next()? != CHILD_ARGUMENT {
            return None;
        }
        Some(ChildContext {
            role: args.next()?,
            cpu: args.next()?.parse().ok()?,
            share_cpu: args.next()?.parse().ok()?,
        })
    }

    /// Returns a function that returns true if the parent has ended.
    pub fn parent_death_check(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let parent = parent_id();
        move || parent_id() != parent
    }
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
