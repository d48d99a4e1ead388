//! One program of a launch file: its process and its state, and the functions that start and stop
//! it.

use std::fs;
use std::io::{self, pipe};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use horus_core::child::{execute_without_shell, has_ended, kill_with_parent, signal_process_group};
use horus_core::message::timestamp_now_ns;
use signal_hook::consts::{SIGKILL, SIGTERM};

use super::drain::DrainProcess;
use super::file::ProgramSpec;
use super::guard::GuardProcess;
use super::log::{ReadingGate, start_line_reader};
use super::printer::Printer;
use super::restart::RestartCount;
use super::status::{ProgramState, ProgramStatus};
use crate::process::ProcessStat;

/// A program of a launch file, with its state. It may be running or not.
#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) name: &'a str,
    pub(super) spec: &'a ProgramSpec,
    pub(super) state: ProgramStage,
    pub(super) restarts: RestartCount,
    /// True if the last run of the program was a failure.
    pub(super) has_failed: bool,
    /// Number of attempts to start the program so far.
    starts: u32,
    /// The time of the last attempt to start the program, in nanoseconds since 1970; 0 before the
    /// first attempt.
    started_ns: u64,
    /// The end of the last run that has ended; `None` before the first run has ended.
    last_end: Option<ProcessEnd>,
}

/// The stage of a program in a launch file.
#[derive(Debug)]
pub(super) enum ProgramStage {
    /// The program will be started after this time, when the programs in its `after` are ready.
    Waiting(Instant),
    Running(Process),
    /// The program has ended and will not be restarted.
    Ended,
}

/// The end of a process: its exit status. `None` if the status is not known, because the
/// launcher was not the one that has waited for the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessEnd(Option<ExitStatus>);

/// A running process of a program, and the process group that it leads.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// The start time of the process, as in [`ProcessStat`]; `None` if it could not be read.
    start_time: Option<u64>,
    /// Holds back the lines of the program; `None` after [`Self::start_printing_output`].
    output: Option<[ReadingGate; 2]>,
    /// The process that reads the output if the launcher dies; `None` if there is a guard.
    drain: Option<DrainProcess>,
    pub(super) started: Instant,
    /// The time at which the program was found to be ready; `None` if it is not ready yet.
    pub(super) ready_since: Option<Instant>,
    /// The time at which SIGTERM was sent to the process group; `None` if it has not been sent.
    pub(super) stopped: Option<Instant>,
    pub(super) is_killed: bool,
}

impl<'a> Program<'a> {
    pub(super) fn new(name: &'a str, spec: &'a ProgramSpec) -> Self {
        Self {
            name,
            spec,
            state: ProgramStage::Waiting(Instant::now()),
            restarts: RestartCount::default(),
            has_failed: false,
            starts: 0,
            started_ns: 0,
            last_end: None,
        }
    }

    /// Records that the launcher has attempted to start the program.
    pub(super) fn record_start(&mut self) {
        self.starts = self.starts.saturating_add(1);
        self.started_ns = timestamp_now_ns();
    }

    /// Returns true if the launcher has attempted to start the program exactly once.
    pub(super) const fn is_first_start(&self) -> bool {
        self.starts == 1
    }

    /// Records the end of the program's process. [`Self::status`] reports it.
    pub(super) const fn record_end(&mut self, end: ProcessEnd) {
        self.last_end = Some(end);
    }

    /// Returns the status of the program that the launcher publishes for other processes.
    pub(super) fn status(&self) -> ProgramStatus {
        let (state, pid) = match &self.state {
            ProgramStage::Waiting(_) if self.starts == 0 => (ProgramState::Waiting, None),
            ProgramStage::Waiting(_) => (ProgramState::Restarting, None),
            ProgramStage::Running(process) => (process.state(), Some(process.id())),
            ProgramStage::Ended if self.has_failed => (ProgramState::Failed, None),
            ProgramStage::Ended => (ProgramState::Ended, None),
        };
        let start_time = match &self.state {
            ProgramStage::Running(process) => process.start_time,
            ProgramStage::Waiting(_) | ProgramStage::Ended => None,
        };
        ProgramStatus {
            program: self.name.to_owned(),
            state,
            pid,
            start_time,
            restarts: self.starts.saturating_sub(1),
            started_ns: self.started_ns,
            exit_code: self.last_end.and_then(ProcessEnd::code),
            signal: self.last_end.and_then(ProcessEnd::signal),
        }
    }

    /// Returns the process of the program; `None` if it does not run.
    pub(super) const fn running_process(&self) -> Option<&Process> {
        match &self.state {
            ProgramStage::Running(process) => Some(process),
            _ => None,
        }
    }

    pub(super) const fn process_mut(&mut self) -> Option<&mut Process> {
        match &mut self.state {
            ProgramStage::Running(process) => Some(process),
            _ => None,
        }
    }

    /// Returns true if programs that wait for this program may start: it is ready, or has ended
    /// without a failure.
    pub(super) const fn is_ready(&self) -> bool {
        match &self.state {
            ProgramStage::Running(process) => process.is_ready(),
            ProgramStage::Ended => !self.has_failed,
            ProgramStage::Waiting(_) => false,
        }
    }
}

impl Process {
    /// Starts the program in a new process group. So Ctrl-C on a terminal reaches only the
    /// launcher, which then stops the programs in order. If there is a guard, the process does not
    /// outlive the launcher. Without one, it may outlive the launcher, and a drain then reads its
    /// output. The caller must then call [`Self::start_printing_output`].
    ///
    /// `path` is that of the program's file; `None` if there is none, and the start fails then.
    /// `index` is the index of the program in the launcher.
    pub(super) fn start(
        (mut command, path): (Command, Option<PathBuf>),
        guard: &mut Option<GuardProcess>,
        index: usize,
        printer: &Printer,
    ) -> io::Result<Self> {
        if guard.is_some() {
            kill_with_parent(&mut command);
        }
        command.process_group(0).stdin(Stdio::null());
        let (stdout, stdout_end) = pipe()?;
        let (stderr, stderr_end) = pipe()?;
        // WHY before the program: the launcher may die at any moment.
        let drain = match guard {
            Some(_) => None,
            None => Some(DrainProcess::start(&stdout, &stderr)?),
        };
        command.stdout(stdout_end).stderr(stderr_end);
        // WHY before the program: the system may refuse a thread.
        let reader = |pipe, stream| {
            let source = printer.line_source(index, stream);
            start_line_reader(pipe, source).map_err(|error| {
                let text = "cannot start a thread that reads its output";
                io::Error::other(format!("{text}: {error}"))
            })
        };
        let output = [reader(stdout, "stdout")?, reader(stderr, "stderr")?];
        if let Some(path) = path {
            execute_without_shell(&mut command, &path)?;
        }
        let child = command.spawn()?;
        if let Some(guard) = guard {
            guard.add_process_group(child.id());
        }
        Ok(Self {
            // WHY here: the id is that of this process until somebody has waited for it.
            start_time: ProcessStat::read(child.id()).map(|stat| stat.start_time),
            child,
            output: Some(output),
            drain,
            started: Instant::now(),
            ready_since: None,
            stopped: None,
            is_killed: false,
        })
    }

    /// Starts to print the lines of the program.
    pub(super) fn start_printing_output(&mut self) {
        self.output = None;
    }

    /// Returns the id of the process, which is also the id of its process group.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the ids of the processes that the launcher has started for the program.
    pub(super) fn child_ids(&self) -> impl Iterator<Item = u32> {
        let drain = self.drain.as_ref().map(DrainProcess::process_id);
        [self.id()].into_iter().chain(drain)
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.ready_since.is_some()
    }

    const fn state(&self) -> ProgramState {
        if self.is_killed || self.stopped.is_some() {
            ProgramState::Stopping
        } else if self.is_ready() {
            ProgramState::Running
        } else {
            ProgramState::Starting
        }
    }

    /// Sends SIGTERM to all processes of the group, so that they can end in order.
    ///
    /// # Errors
    ///
    /// The launcher may not signal any of them, because they have become processes of another user.
    /// If it may signal one of them, there is no error: see
    /// [`Self::running_process_of_other_user`].
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.stopped = Some(Instant::now());
        self.signal(SIGTERM)
    }

    /// Sends SIGKILL to all processes of the group.
    ///
    /// # Errors
    ///
    /// As for [`Self::stop`].
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.is_killed = true;
        self.signal(SIGKILL)
    }

    fn signal(&self, signal: i32) -> io::Result<()> {
        match signal_process_group(self.child.id(), signal) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
            // Another error means that all of them have ended.
            _ => Ok(()),
        }
    }

    /// Returns the id of a process of the group that still runs, and the error of signalling the
    /// group, if the launcher may signal none of its processes because they belong to another user
    /// now. Otherwise returns `None`.
    ///
    /// Call it when the process has ended and [`Self::poll_end`] has killed its group.
    /// Reads all of `/proc` only if there is such a process.
    pub(super) fn running_process_of_other_user(&self) -> Option<(u32, io::Error)> {
        // Signal 0 only checks the permission.
        let error = self.signal(0).err()?;
        Some((self.find_running_group_process().ok().flatten()?, error))
    }

    /// Returns the id of a process of the group that has not ended; `None` if there is none, or if
    /// `/proc` does not show it. Reads all of `/proc`.
    ///
    /// # Errors
    ///
    /// It is not known whether there is one: `/proc` cannot be read, or is that of another PID
    /// namespace.
    fn find_running_group_process(&self) -> io::Result<Option<u32>> {
        let own_id = fs::read_link("/proc/self")?;
        if own_id.as_os_str() != process::id().to_string().as_str() {
            return Err(io::Error::other("/proc shows other process ids"));
        }
        let group = self.child.id();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let stat = ProcessStat::try_read(pid)?;
            if stat.is_some_and(|stat| stat.group == group && !stat.has_ended()) {
                return Ok(Some(pid));
            }
        }
        Ok(None)
    }

    /// Returns true if SIGTERM was sent more than `timeout` ago and SIGKILL has not been sent yet.
    pub(super) fn is_overdue(&self, timeout: Duration) -> bool {
        !self.is_killed
            && self
                .stopped
                .is_some_and(|stopped| stopped.elapsed() > timeout)
    }

    /// Returns true if the program itself has ended, and it cannot be known whether others of its
    /// group run on, because there is no `/proc` that shows them.
    pub(super) fn has_ended_without_proc(&self) -> bool {
        matches!(has_ended(&self.child), Ok(true)) && self.find_running_group_process().is_err()
    }

    /// Returns true if `/proc` shows that the process has not ended.
    fn is_running_in_proc(&self) -> bool {
        let stat = ProcessStat::read(self.child.id());
        // WHY the start time: another process may have this id by now.
        let stat = stat.filter(|stat| Some(stat.start_time) == self.start_time);
        stat.is_some_and(|stat| !stat.has_ended())
    }

    /// Returns how the process has ended; `None` if it has not. When it has ended, also kills the
    /// remaining processes of its group.
    ///
    /// If the launcher `is_stopping`, the process counts as running until all processes of its
    /// group have ended or [`Self::kill`] was called. WHY: a shell ends at once at SIGTERM, and the
    /// robot's program that it has started needs the time to stop the motors. It also counts as
    /// running while it is not known whether they have ended.
    pub(super) fn poll_end(
        &mut self,
        guard: &mut Option<GuardProcess>,
        is_stopping: impl FnOnce() -> bool,
    ) -> Option<ProcessEnd> {
        let is_waited_for = match has_ended(&self.child) {
            Ok(false) => return None,
            Ok(true) => false,
            // WHY: an error says only that this process cannot wait for it.
            Err(_) if self.is_running_in_proc() => return None,
            Err(_) => true,
        };
        if !self.is_killed
            && is_stopping()
            && !matches!(self.find_running_group_process(), Ok(None))
        {
            return None;
        }
        // WHY before the wait: until then, no other group can have this id.
        let _ = signal_process_group(self.child.id(), SIGKILL);
        if let Some(guard) = guard {
            guard.remove_process_group(self.child.id());
        }
        if is_waited_for {
            return Some(ProcessEnd(None));
        }
        Some(ProcessEnd(self.child.wait().ok()))
    }

    /// Returns true if `end` is a failure. An end because of SIGTERM is not a failure if
    /// [`Self::stop`] has sent the signal, or if `is_launcher_stopping`.
    ///
    /// WHY: systemd sends the signal to the launcher and to all programs together.
    pub(super) fn is_failure(&self, end: ProcessEnd, is_launcher_stopping: bool) -> bool {
        let is_stopped = (is_launcher_stopping || self.stopped.is_some()) && end.is_by_sigterm();
        // WHY also if it was killed: a part of its group has not stopped in time.
        self.is_killed || (end.code() != Some(0) && !is_stopped)
    }
}

impl ProcessEnd {
    /// Returns the exit code; `None` if a signal has ended the process, or if that is not known.
    pub(super) fn code(self) -> Option<i32> {
        self.0?.code()
    }

    /// Returns the signal that has ended the process; `None` if it has exited, or if that is not
    /// known.
    pub(super) fn signal(self) -> Option<i32> {
        self.0?.signal()
    }

    /// Returns true if SIGTERM has ended the process: either the signal itself or a handler of the
    /// signal, which then exits with 128 plus its number, as shells report it.
    fn is_by_sigterm(self) -> bool {
        self.signal() == Some(SIGTERM) || self.code() == Some(128 + SIGTERM)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The group has ended, unless the launcher fails: then nothing may be left.
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // WHY not always: a process that may not be killed may never end.
            if self.kill().is_ok() {
                let _ = self.child.wait();
            }
        }
    }
}
