//! The guard: a process that kills the programs of a launcher, and the processes that they have
//! started, if the launcher dies.
//!
//! The kernel kills the programs together with their launcher, but not the processes that these
//! programs have started. The guard knows the process groups of all programs, and kills them when
//! its standard input is closed.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use horus_core::child::signal_process_group;
use signal_hook::consts::SIGKILL;

use crate::context::Context;

/// Name of the hidden command of `horus` that runs the guard process.
pub(crate) const GUARD_COMMAND: &str = "__guard";

/// A running guard process, which kills what the launcher has started if the launcher dies. The
/// guard ends when this value is dropped.
#[derive(Debug)]
pub(super) struct GuardProcess(Child);

impl GuardProcess {
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        // WHY a group of its own: Ctrl-C on a terminal must not end it.
        command.arg(GUARD_COMMAND).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().map(Self)
    }

    pub(super) fn process_id(&self) -> u32 {
        self.0.id()
    }

    /// Adds the process group `group_id` to those that the guard kills if the launcher dies.
    pub(super) fn add_process_group(&mut self, group_id: u32) {
        self.send_line(format!("+{group_id}\n"));
    }

    /// Removes the process group `group_id`, which has ended, from those that the guard kills.
    pub(super) fn remove_process_group(&mut self, group_id: u32) {
        self.send_line(format!("-{group_id}\n"));
    }

    fn send_line(&mut self, line: String) {
        if let Some(stdin) = &mut self.0.stdin {
            // WHY the error is ignored: without a guard, the kernel still kills the programs.
            let _ = stdin.write_all(line.as_bytes());
        }
    }
}

impl Drop for GuardProcess {
    fn drop(&mut self) {
        self.0.stdin.take();
        let _ = self.0.wait();
    }
}

/// Runs the guard process. Reads the ids of process groups from stdin until stdin is closed. Then
/// kills those process groups that have not ended.
pub(crate) fn run(context: &Context) {
    // WHY: signals to all processes of a session or a service must not end the guard before the
    // launcher has stopped the programs.
    context.stop.catch_all_signals();
    let mut groups: BTreeSet<u32> = BTreeSet::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let (sign, group) = line.split_at(line.len().min(1));
        let Ok(group) = group.parse() else { continue };
        if sign == "+" {
            groups.insert(group);
        } else {
            groups.remove(&group);
        }
    }
    for group in groups {
        // It fails if the whole group has ended.
        let _ = signal_process_group(group, SIGKILL);
    }
}
