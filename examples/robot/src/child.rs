//! A node in a process of its own, and the events that it causes.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child as Process, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use crate::Result;
use crate::options::{Options, Role};
use crate::private::PrivateNamespace;
use crate::report::Report;

/// Events for the launcher, sent by any thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// The child with this process id printed a report.
    Report(u32, Report),
    /// The child with this process id ended, or is just about to.
    Ended(u32),
    /// A termination signal for the launcher.
    Signal(i32),
}

/// A running node. It is killed when dropped, if it still runs.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) role: Role,
    process: Process,
}

impl Child {
    /// Starts a node: this program in another role, or the program that the options name as
    /// controller. Its output becomes events.
    pub(crate) fn spawn(
        role: Role,
        options: &Options,
        namespace: &PrivateNamespace,
        events: &Sender<Event>,
    ) -> Result<Self> {
        let (variable, name) = namespace.variable();
        let program = options
            .controller
            .clone()
            .filter(|_| role == Role::Controller);
        let mut command = Command::new(program.map_or_else(std::env::current_exe, Ok)?);
        command
            .arg(role.name())
            .args(options.spin.then_some("--spin"))
            .env(variable, name);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // WHY: Ctrl-C goes to the whole process group of the terminal. It must reach only the
        // launcher, which then stops the nodes in the right order.
        command.process_group(0);
        let mut process = command.spawn()?;
        let id = process.id();
        let stdout = process.stdout.take();
        let events = events.clone();
        thread::spawn(move || listen(id, stdout, &events));
        Ok(Self { role, process })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Closes the node's standard input (the leash), so that the node ends after its present tick.
    pub(crate) fn stop(&mut self) {
        self.process.stdin.take();
    }

    /// Sends SIGKILL, which ends the node at any instruction.
    pub(crate) fn kill(&mut self) -> Result<()> {
        Ok(self.process.kill()?)
    }

    /// Waits until the node has ended; blocks for as long as it runs.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.process.wait()?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Both fail only if the child has ended and was waited for, which is the goal.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Turns the node's lines into events until the node closes its end of the pipe. Sending an event
/// fails only if the launcher is about to end.
fn listen(id: u32, stdout: Option<ChildStdout>, events: &Sender<Event>) {
    for line in stdout
        .into_iter()
        .flat_map(|stdout| BufReader::new(stdout).lines())
    {
        // An incomplete line is the last one of a node that was killed while it wrote.
        let Ok(line) = line else { break };
        let Ok(report) = serde_json::from_str(&line) else {
            break;
        };
        let _ = events.send(Event::Report(id, report));
    }
    let _ = events.send(Event::Ended(id));
}
