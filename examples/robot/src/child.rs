//! A node as a process of its own, and what becomes of it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child as Process, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use crate::Result;
use crate::options::{Options, Role};
use crate::private::PrivateNamespace;
use crate::report::Report;

/// What reaches the launcher, from any thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// The child with this process id says something.
    Report(u32, Report),
    /// The child with this process id ended, or is just about to.
    Ended(u32),
    /// A signal asks the launcher to end.
    Signal(i32),
}

/// A running node. Killed, if it still runs, when dropped.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) role: Role,
    process: Process,
}

impl Child {
    /// Starts this very program, or that of the options, in another role; what it says becomes
    /// events.
    pub(crate) fn spawn(
        role: Role,
        options: &Options,
        namespace: &PrivateNamespace,
        events: &Sender<Event>,
    ) -> Result<Self> {
        let (variable, name) = namespace.variable();
        let program = options.controller.clone().filter(|_| role == Role::Controller);
        let mut command = Command::new(program.map_or_else(std::env::current_exe, Ok)?);
        command.arg(role.name()).args(options.spin.then_some("--spin")).env(variable, name);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // WHY: Ctrl-C goes to the whole process group of the terminal. It shall reach the launcher
        // only, which then stops the nodes in the right order.
        command.process_group(0);
        let mut process = command.spawn()?;
        let (id, stdout) = (process.id(), process.stdout.take());
        let events = events.clone();
        thread::spawn(move || listen(id, stdout, &events));
        Ok(Self { role, process })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Cuts its leash: the node ends after its present turn.
    pub(crate) fn stop(&mut self) {
        self.process.stdin.take();
    }

    /// Sends SIGKILL. The node ends at whatever instruction it is.
    pub(crate) fn kill(&mut self) -> Result<()> {
        Ok(self.process.kill()?)
    }

    /// Waits until it has ended; blocks for as long as it runs.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.process.wait()?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Both fail only if it has ended and was waited for, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Turns lines into events, for as long as the node has its end of the pipe. A launcher that does
/// not listen any more is about to end.
fn listen(id: u32, stdout: Option<ChildStdout>, events: &Sender<Event>) {
    for line in stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        // A line that is cut off is the last one of a node that was killed in it.
        let Ok(line) = line else { break };
        let Ok(report) = serde_json::from_str(&line) else { break };
        let _ = events.send(Event::Report(id, report));
    }
    let _ = events.send(Event::Ended(id));
}
