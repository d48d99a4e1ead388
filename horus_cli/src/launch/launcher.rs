//! The launcher: starts programs in order, restarts them, and stops them in reverse order.

use std::io::{self, ErrorKind};
use std::process::{self, Command};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::child::reap_orphans;
use horus_core::namespace::{NamespaceConfig, NamespaceRemoveError};

use super::file::LaunchFile;
use super::guard::GuardProcess;
use super::printer::Printer;
use super::program::{Process, ProcessEnd, Program, ProgramStage};
use super::readiness::missing_topic_text;
use super::report::{OutputFormat, ProgramEvent};
use super::run_namespace::RunNamespace;
use super::status::{LaunchStatus, StatusPublisher};
use super::warnings;
use crate::context::Context;
use crate::failure::{Failure, error_chain_text};
use crate::output::format::visible;

/// Time between two checks of the states of all programs.
const POLL_PERIOD: Duration = Duration::from_millis(20);

/// The id of the process that adopts those whose parents have ended.
const INIT_PROCESS_ID: u32 = 1;

/// The error of the system call that executes a program, for a file that it cannot execute.
const ENOEXEC: i32 = 8;

/// The launcher: starts, restarts and stops the programs of a launch file.
pub(super) struct Launcher<'a> {
    file: &'a LaunchFile,
    /// The programs of the launch file, in the order in which they are started.
    programs: Vec<Program<'a>>,
    printer: Printer,
    /// The guard, which kills the programs if the launcher dies; `None` if the option `--keep` was
    /// given.
    guard: Option<GuardProcess>,
    /// The publisher of the launcher's status for other processes; `None` if its topic cannot be
    /// opened, and after all programs have ended.
    status: Option<StatusPublisher>,
    is_stopping: bool,
    /// True if the namespace was removed, and could not be opened again.
    is_namespace_lost: bool,
    /// Number of times that SIGINT or SIGTERM was received. The second one kills all programs.
    interrupts: u32,
    /// WHY after the fields above, which are dropped first: programs and topics of this process use
    /// the namespace, which may be removed only after them.
    namespace: RunNamespace,
    context: &'a Context,
}

impl<'a> Launcher<'a> {
    /// Creates the launcher of `file`, and opens the namespace. Does not start any program yet. If
    /// `keeps_programs` is true, the programs may outlive the launcher.
    pub(super) fn new(
        file: &'a LaunchFile,
        order: &[&'a str],
        config: NamespaceConfig,
        keeps_programs: bool,
        context: &'a Context,
    ) -> Result<Self, Failure> {
        let namespace = RunNamespace::open(config, file.private)?;
        if file.private {
            // WHY: tools need the name, and nobody can guess it.
            let name = namespace.get().config().name();
            context.print_note(format_args!("horus: the namespace is {name}"));
        }
        let guard = (!keeps_programs).then(GuardProcess::start).transpose();
        let guard = guard
            .map_err(|error| Failure::system(format_args!("cannot start the guard: {error}")))?;
        let status = StatusPublisher::open(namespace.get());
        if let Err(error) = &status {
            let cause = error_chain_text(error);
            context.print_note(format_args!(
                "horus top will not show the programs: {cause}"
            ));
        }
        let status = status.ok();
        let format = OutputFormat {
            is_json: context.is_json(),
            is_quiet: context.is_quiet(),
        };
        let printer = Printer::start(order, format)
            .map_err(|error| Failure::system(format_args!("cannot print: {error}")))?;
        let programs = order.iter().map(|name| {
            let spec = &file.programs[*name];
            Program::new(name, spec)
        });
        Ok(Self {
            file,
            programs: programs.collect(),
            printer,
            guard,
            status,
            is_stopping: false,
            is_namespace_lost: false,
            interrupts: 0,
            namespace,
            context,
        })
    }

    /// Runs the programs. Returns when all programs have ended and their output is written. Fails
    /// if the last run of a program failed, or if a second signal has killed the programs.
    pub(super) fn run(mut self) -> Result<(), Failure> {
        let printer = self.printer.clone();
        // WHY published before: of two launchers that start together, one sees the other.
        self.publish_status();
        let namespace = self.namespace.get();
        warnings::warn_of_other_launchers(namespace, &self.launch_status(), self.context);
        warnings::warn_of_left_programs(namespace, &self.programs, self.context);
        warnings::warn_of_emergency_stop(namespace, self.context);
        self.supervise();
        let result = self.remove_namespace_and_return_result();
        // WHY before the output is written: after a failure of the launcher, this kills programs.
        drop(self);
        printer.print_failure_and_flush(result)
    }

    fn supervise(&mut self) {
        let deadline = self.context.deadline();
        // WHY not earlier, unless the namespace is private: while no program runs, a second signal
        // may end the launcher at once.
        self.context.stop.catch_all_signals();
        // WHY: programs block as soon as the pipes to a suspended launcher are full.
        self.context.stop.catch_suspension();
        while self.has_active_programs() {
            if self.context.stop.is_received() || deadline.is_over() {
                self.is_stopping = true;
            }
            if self.context.stop.take_interrupt() {
                self.interrupts += 1;
                if self.interrupts > 1 {
                    self.kill_all();
                }
            }
            if self.context.stop.take_suspension() {
                let note =
                    "horus launch is not suspended: its programs would block when they print";
                self.printer.print_note(note);
            }
            if !self.is_stopping {
                self.reopen_namespace_if_removed();
            }
            for index in 0..self.programs.len() {
                self.update_program(index);
            }
            if process::id() == INIT_PROCESS_ID {
                self.reap_orphans();
            }
            self.publish_status();
            thread::sleep(POLL_PERIOD);
        }
    }

    /// Waits for the processes that have ended and that others have started. WHY: as process 1 of a
    /// container, the launcher adopts them, and without a wait they would fill the process table.
    fn reap_orphans(&self) {
        let running = self.programs.iter().filter_map(Program::running_process);
        let mut known: Vec<u32> = running.flat_map(Process::child_ids).collect();
        known.extend(self.guard.as_ref().map(GuardProcess::process_id));
        reap_orphans(|id| !known.contains(&id));
    }

    /// Opens the namespace again if it was removed. WHY: programs that start enter the one that has
    /// the name now. In the former one, the launcher would see none of their topics.
    fn reopen_namespace_if_removed(&mut self) {
        let name = self.namespace.get().config().name().clone();
        let note = match self.namespace.reopen_if_removed() {
            Ok(false) => return self.is_namespace_lost = false,
            Ok(true) => {
                self.status = StatusPublisher::open(self.namespace.get()).ok();
                format!(
                    "the namespace {name} was removed: what starts from now on does not see the \
                     topics of what runs"
                )
            }
            Err(_) if self.is_namespace_lost => return,
            Err(failure) => {
                self.is_namespace_lost = true;
                let error = failure.text();
                format!("the namespace {name} was removed, and not opened: {error}")
            }
        };
        self.printer.print_note(&visible(&note));
    }

    /// Kills all running programs, also with `--keep`.
    fn kill_all(&mut self) {
        for index in 0..self.programs.len() {
            if let Some(process) = self.programs[index].process_mut()
                && let Err(error) = process.kill()
            {
                self.abandon_running_program(index, &error);
            }
        }
    }

    /// Gives the program `index` up without its end, because the launcher may not kill it: `error`.
    /// WHY: otherwise the launcher would wait for its end for ever.
    fn abandon_running_program(&mut self, index: usize, error: &io::Error) {
        let Some(process) = self.programs[index].process_mut() else {
            return;
        };
        // WHY: a process that has ended may not be signalled either until it is waited for.
        if let Some(end) = process.poll_end(&mut self.guard, || true) {
            return self.handle_program_end(index, end);
        }
        let pid = process.id();
        // WHY: after its end, another group may get its id.
        if let Some(guard) = &mut self.guard {
            guard.remove_process_group(pid);
        }
        let error = error.to_string();
        self.print_event(index, ProgramEvent::LeftRunning { pid, error: &error });
        self.mark_ended_permanently(index, true);
    }

    /// Returns true if a program is running, or will be started later.
    fn has_active_programs(&self) -> bool {
        let is_active = |program: &Program<'_>| match program.state {
            ProgramStage::Running(_) => true,
            ProgramStage::Waiting(_) => !self.is_stopping,
            ProgramStage::Ended => false,
        };
        self.programs.iter().any(is_active)
    }

    /// Checks one program and changes its state: starts it if it is due, and reacts if it has
    /// ended, has become ready or must be stopped.
    fn update_program(&mut self, index: usize) {
        match &mut self.programs[index].state {
            ProgramStage::Ended => {}
            ProgramStage::Waiting(due) => {
                let is_due = Instant::now() >= *due && !self.is_stopping;
                if is_due && self.may_start(index) {
                    self.start(index);
                }
            }
            ProgramStage::Running(process) => {
                // WHY after the end: systemd signals the launcher and its programs together.
                let is_stopping = || self.is_stopping || self.context.stop.is_received();
                match process.poll_end(&mut self.guard, is_stopping) {
                    Some(end) => self.handle_program_end(index, end),
                    None => self.update_running_program(index),
                }
            }
        }
    }

    /// Returns true if all programs for which the program `index` waits are ready.
    fn may_start(&self, index: usize) -> bool {
        let after = &self.programs[index].spec.after;
        let needed = self.programs.iter();
        let mut needed = needed.filter(|other| after.iter().any(|name| name == other.name));
        needed.all(Program::is_ready)
    }

    /// Returns true if the program `index` waits for a program that has failed and will not be
    /// restarted.
    fn waits_for_failed_program(&self, index: usize) -> bool {
        let after = &self.programs[index].spec.after;
        self.programs.iter().any(|other| {
            let is_needed = after.iter().any(|name| name == other.name);
            is_needed && other.has_failed && matches!(other.state, ProgramStage::Ended)
        })
    }

    /// Returns true if the program `index` can be stopped, because no running program depends on
    /// it. A program depends on those listed in its `after`, and on all on which these depend, even
    /// if they do not run.
    fn may_stop(&self, index: usize) -> bool {
        let mut needed_names = vec![self.programs[index].name];
        // A program comes after those in its `after`, so one pass finds all.
        for program in &self.programs[index + 1..] {
            let mut after = program.spec.after.iter();
            if after.any(|needed| needed_names.contains(&needed.as_str())) {
                if matches!(program.state, ProgramStage::Running(_)) {
                    return false;
                }
                needed_names.push(program.name);
            }
        }
        true
    }

    fn start(&mut self, index: usize) {
        self.programs[index].record_start();
        let program = &self.programs[index];
        let command = self.build_command(program);
        let path = self.file.executed_path(program.name);
        match Process::start((command, path), &mut self.guard, index, &self.printer) {
            Ok(mut process) => {
                let pid = process.id();
                self.print_event(index, ProgramEvent::Started { pid });
                // WHY after the report: no line of a program may come before its start.
                process.start_printing_output();
                self.programs[index].state = ProgramStage::Running(process);
            }
            Err(error) => {
                // WHY not later: a program that ran may be replaced by a new one at this moment.
                let is_wrong_file = matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
                );
                let is_wrong_format = error.raw_os_error() == Some(ENOEXEC);
                let is_final = program.is_first_start() && (is_wrong_file || is_wrong_format);
                let obstacle = match is_wrong_format {
                    true => self.file.format_obstacle(program.name),
                    false => self.file.start_obstacle(program.name),
                };
                let error = match obstacle {
                    Some(obstacle) => obstacle,
                    None => format!("{}: {error}", program.spec.command[0]),
                };
                self.print_event(index, ProgramEvent::NotStarted { error: &error });
                if is_final {
                    self.mark_ended_permanently(index, true);
                } else {
                    self.restart_or_give_up(index, true, Duration::ZERO);
                }
            }
        }
    }

    fn build_command(&self, program: &Program<'_>) -> Command {
        let mut command = Command::new(&program.spec.command[0]);
        command.args(&program.spec.command[1..]);
        command.current_dir(self.file.dir.join(&program.spec.dir));
        let config = self.namespace.get().config();
        command.env("HORUS_SHM_DIR", config.dir());
        command.env("HORUS_NAMESPACE", config.name().as_str());
        command.envs(&self.file.env).envs(&program.spec.env);
        command
    }

    /// Reports a running program that has become ready. Stops or kills the program if that is due.
    fn update_running_program(&mut self, index: usize) {
        let is_stopping = self.is_stopping;
        let may_stop = is_stopping && self.may_stop(index);
        let program = &mut self.programs[index];
        let spec = program.spec;
        let Some(process) = program.process_mut() else {
            return;
        };
        let pid = process.id();
        if process.is_killed {
            // WHY again: the first one may have killed only those that the launcher may signal.
            return match process.kill() {
                Ok(()) => {}
                Err(error) => self.abandon_running_program(index, &error),
            };
        }
        if process.is_overdue(spec.stop_timeout) {
            // WHY no kill: it has stopped in time, and only what is left of its group is unknown.
            if process.has_ended_without_proc() {
                if let Some(end) = process.poll_end(&mut self.guard, || false) {
                    self.handle_program_end(index, end);
                }
                return;
            }
            return match process.kill() {
                Ok(()) => self.print_event(index, ProgramEvent::Killed { pid }),
                Err(error) => self.abandon_running_program(index, &error),
            };
        }
        if may_stop && process.stopped.is_none() {
            let stopped = process.stop();
            self.print_event(index, ProgramEvent::Stopping { pid });
            if let Err(error) = stopped {
                let error = error.to_string();
                self.print_event(index, ProgramEvent::NotSignalled { pid, error: &error });
            }
            return;
        }
        // WHY not while stopping: no program waits for its topics any longer, and it must have the
        // time of its `stop_timeout` to end in order.
        if process.is_ready() || is_stopping {
            return;
        }
        let after = process.started.elapsed();
        match missing_topic_text(self.namespace.get(), &spec.ready, pid) {
            None => {
                process.ready_since = Some(Instant::now());
                let after_ns = after.as_nanos() as u64;
                self.print_event(index, ProgramEvent::Ready { after_ns });
            }
            Some(missing) if after > spec.ready_timeout => {
                let killed = process.kill();
                self.print_event(index, ProgramEvent::NotReady { missing: &missing });
                if let Err(error) = killed {
                    self.abandon_running_program(index, &error);
                }
            }
            Some(_) => {}
        }
    }

    fn handle_program_end(&mut self, index: usize, end: ProcessEnd) {
        // WHY again: a signal to the launcher and the program may have come since the last check.
        self.is_stopping |= self.context.stop.is_received();
        let is_stopping = self.is_stopping;
        self.programs[index].record_end(end);
        let Some(process) = self.programs[index].process_mut() else {
            return;
        };
        let (pid, is_failure) = (process.id(), process.is_failure(end, is_stopping));
        let ready_for = process.ready_since.map(|since| since.elapsed());
        let (code, signal) = (end.code(), end.signal());
        let left = process.running_process_of_other_user();
        self.print_event(index, ProgramEvent::Ended { pid, code, signal });
        if let Some((pid, error)) = left {
            let error = error.to_string();
            self.print_event(index, ProgramEvent::LeftRunning { pid, error: &error });
            // WHY no restart: the program would run twice.
            return self.mark_ended_permanently(index, true);
        }
        self.restart_or_give_up(index, is_failure, ready_for.unwrap_or_default());
    }

    fn restart_or_give_up(&mut self, index: usize, is_failure: bool, ready_for: Duration) {
        let program = &mut self.programs[index];
        program.has_failed = is_failure;
        program.state = ProgramStage::Ended;
        if self.is_stopping {
            return;
        }
        let restart = program
            .restarts
            .next_delay(&program.spec.policy, is_failure, ready_for);
        if restart.is_some() && self.waits_for_failed_program(index) {
            self.is_stopping = true;
            return self.print_event(index, ProgramEvent::GivenUp);
        }
        let Some(delay) = restart else {
            return self.mark_ended_permanently(index, is_failure);
        };
        self.programs[index].state = ProgramStage::Waiting(Instant::now() + delay);
        let delay_ns = delay.as_nanos() as u64;
        self.print_event(index, ProgramEvent::Restarting { delay_ns });
    }

    /// Marks the program `index` as ended without a restart. Stops all other programs if this
    /// program is required, or if it has failed and other programs wait for it.
    fn mark_ended_permanently(&mut self, index: usize, is_failure: bool) {
        let program = &mut self.programs[index];
        program.has_failed = is_failure;
        program.state = ProgramStage::Ended;
        self.is_stopping |= program.spec.required;
        // WHY: programs that wait for this one would wait for ever.
        let name = program.name;
        let mut others = self.programs.iter();
        let is_awaited = others.any(|other| {
            let is_waiting = matches!(other.state, ProgramStage::Waiting(_));
            is_waiting && other.spec.after.iter().any(|needed| needed == name)
        });
        self.is_stopping |= is_failure && is_awaited;
        if is_failure {
            self.print_event(index, ProgramEvent::GivenUp);
        }
    }

    /// Publishes the status of all programs, so that other processes such as `horus top` can show
    /// it.
    fn publish_status(&mut self) {
        let status = self.launch_status();
        if let Some(publisher) = &mut self.status {
            publisher.publish(status);
        }
    }

    fn launch_status(&self) -> LaunchStatus {
        LaunchStatus {
            owner_id: self.namespace.get().registry().own_owner_word().to_bits(),
            file: self.file.path.display().to_string(),
            launcher_pid: process::id(),
            programs: self.programs.iter().map(Program::status).collect(),
        }
    }

    /// Prints an event of the program `index`. Never waits. If the output is closed, the programs
    /// continue to run.
    fn print_event(&self, index: usize, event: ProgramEvent<'_>) {
        self.printer.print_event(index, &event);
    }

    /// Removes the namespace if it is private. Returns an error if a second signal has killed the
    /// programs, or if the last run of a program failed.
    fn remove_namespace_and_return_result(&mut self) -> Result<(), Failure> {
        // WHY before the namespace: with a topic that is open, it cannot be removed.
        self.status = None;
        let result = self.result_of_programs();
        let Err(error) = self.namespace.remove_if_private() else {
            return result;
        };
        let name = self.namespace.get().config().name();
        let note = match &error {
            // WHY no failure: a tool that looks at the programs must not change their result.
            NamespaceRemoveError::InUse { .. } => format!(
                "{error}, so it is kept. Remove it when that process has ended: horus namespace \
                 rm {name}"
            ),
            _ if result.is_ok() => return Err(Failure::system(error)),
            _ => error.to_string(),
        };
        self.printer.print_note(&visible(&note));
        result
    }

    fn result_of_programs(&self) -> Result<(), Failure> {
        if self.interrupts > 1 {
            return Err(Failure::interrupted());
        }
        let failed = self.programs.iter().filter(|program| program.has_failed);
        let failed: Vec<&str> = failed.map(|program| program.name).collect();
        if failed.is_empty() {
            return Ok(());
        }
        Err(Failure::answer_no_because(format_args!(
            "failed: {}",
            failed.join(", ")
        )))
    }
}
