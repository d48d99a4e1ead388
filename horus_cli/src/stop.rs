//! The reasons why a command ends early: Ctrl-C, SIGTERM, a closed terminal (SIGHUP), and the time
//! limit of `--timeout`.

use std::fs;
use std::io;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::{SigId, flag, low_level};

use crate::failure::{EXIT_INTERRUPTED, Failure};

/// Maximum time until a sleeping command notices that it has received a signal.
const SIGNAL_POLL_PERIOD: Duration = Duration::from_millis(10);

/// A flag that is set when a signal that ends the command is received.
///
/// A command that gives one answer ends at the first signal, with exit code 130. A command that
/// prints a stream prints its last output at the first signal, and ends at once at a second signal.
///
/// SIGHUP counts as a first signal, but never as a second one. WHY: when a terminal is closed, both
/// the shell and the kernel send it, and systemd sends it after SIGTERM.
#[derive(Debug)]
pub(crate) struct StopSignal {
    is_received: Arc<AtomicBool>,
    /// True from the receipt of SIGINT or SIGTERM until [`Self::take_interrupt`].
    is_interrupted: Arc<AtomicBool>,
    /// True if the next SIGINT or SIGTERM ends the process at once, instead of only setting the
    /// flags.
    is_final: Arc<AtomicBool>,
    /// True if the next SIGHUP ends the process at once.
    is_hangup_final: Arc<AtomicBool>,
    /// True from the receipt of SIGTSTP, after [`Self::catch_suspension`], until
    /// [`Self::take_suspension`].
    is_suspended: Arc<AtomicBool>,
    /// The signal actions that set `is_final`.
    final_actions: Vec<SigId>,
}

impl StopSignal {
    /// Installs the signal handlers. The first signal ends the process, unless
    /// [`Self::catch_next_signal`] was called before. If SIGHUP is ignored, as after `nohup`, it
    /// stays ignored. SIGCHLD does not.
    pub(crate) fn install() -> io::Result<Self> {
        let is_received = Arc::new(AtomicBool::new(false));
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let is_final = Arc::new(AtomicBool::new(true));
        let is_hangup_final = Arc::new(AtomicBool::new(true));
        let exit_code = EXIT_INTERRUPTED.into();
        let mut final_actions = Vec::new();
        for signal in [SIGINT, SIGTERM] {
            // WHY this order: the handlers run in it, so the first signal of a stream only sets
            // the flags, and the second finds them set.
            flag::register_conditional_shutdown(signal, exit_code, Arc::clone(&is_final))?;
            final_actions.push(flag::register(signal, Arc::clone(&is_final))?);
            flag::register(signal, Arc::clone(&is_interrupted))?;
            flag::register(signal, Arc::clone(&is_received))?;
        }
        if !is_ignored(SIGHUP) {
            flag::register_conditional_shutdown(SIGHUP, exit_code, Arc::clone(&is_hangup_final))?;
            flag::register(SIGHUP, Arc::clone(&is_received))?;
        }
        // WHY a handler that does nothing: supervisors often ignore this signal, which is
        // inherited. The kernel would then reap the children of this process, and nobody could
        // wait for them. What this process executes gets the default action, because it inherits
        // no handler.
        flag::register(SIGCHLD, Arc::default())?;
        Ok(Self {
            is_received,
            is_interrupted,
            is_final,
            is_hangup_final,
            is_suspended: Arc::default(),
            final_actions,
        })
    }

    /// Makes the next signal only set a flag instead of ending the process. A command that prints a
    /// stream can then still print its summary.
    pub(crate) fn catch_next_signal(&self) {
        // Relaxed: each flag stands alone.
        self.is_final.store(false, Ordering::Relaxed);
        self.is_hangup_final.store(false, Ordering::Relaxed);
    }

    /// Makes all signals only set flags, also the second one. The command itself has to react to
    /// the second one, see [`Self::take_interrupt`]. WHY: a process that supervises others must not
    /// end before it has killed them.
    pub(crate) fn catch_all_signals(&self) {
        for action in &self.final_actions {
            low_level::unregister(*action);
        }
        self.catch_next_signal();
    }

    /// Returns true if SIGINT or SIGTERM was received since the last call. Several of them between
    /// two calls count as one.
    pub(crate) fn take_interrupt(&self) -> bool {
        // Relaxed: as above.
        self.is_interrupted.swap(false, Ordering::Relaxed)
    }

    /// Makes Ctrl-Z (SIGTSTP) only set a flag instead of suspending the process. Processes that
    /// this one starts get the default action, because they inherit no handler.
    pub(crate) fn catch_suspension(&self) {
        // WHY the error is ignored: the system allows a handler for this signal.
        let _ = flag::register(SIGTSTP, Arc::clone(&self.is_suspended));
    }

    /// Returns true if Ctrl-Z was received since the last call, after [`Self::catch_suspension`].
    pub(crate) fn take_suspension(&self) -> bool {
        // Relaxed: as above.
        self.is_suspended.swap(false, Ordering::Relaxed)
    }

    /// Returns true if a signal that ends the command has been received.
    pub(crate) fn is_received(&self) -> bool {
        // Relaxed: as above.
        self.is_received.load(Ordering::Relaxed)
    }

    /// Sleeps until `due`, or until a signal is received. Returns true if no signal was received.
    pub(crate) fn sleep_until(&self, due: Instant) -> bool {
        while !self.is_received() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(SIGNAL_POLL_PERIOD));
        }
        false
    }
}

/// Returns true if this process ignores the signal, as it does if its parent ignored the signal.
/// Returns false if the kernel does not report ignored signals.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Starts a thread. Returns a failure if the system refuses it.
pub(crate) fn start_thread(
    run: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, Failure> {
    let started = thread::Builder::new().spawn(run);
    started.map_err(|error| Failure::system(format_args!("cannot start a thread: {error}")))
}

/// The time at which a command stops waiting; `None` if it waits without a limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// Returns the deadline that is `timeout` from now. For `None`, returns a deadline that never
    /// passes.
    pub(crate) fn after(timeout: Option<Duration>) -> Self {
        // WHY none on overflow: that time never comes.
        Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    /// Returns true if the deadline has passed. A deadline of `None` never passes.
    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|due| Instant::now() >= due)
    }

    /// Calls `wait`, a function that may block for ever, on another thread. Returns its result;
    /// `None` if the deadline passes before. The thread then runs on until this process ends.
    ///
    /// # Errors
    ///
    /// The system refuses a thread.
    pub(crate) fn call_until_deadline<T: Send + 'static>(
        self,
        wait: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, Failure> {
        let (sender, result) = channel();
        // It fails if nobody waits any more.
        let thread = start_thread(move || _ = sender.send(wait()))?;
        let found = match self.0 {
            Some(due) => result.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => result.recv().map_err(RecvTimeoutError::from),
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            // The thread has panicked.
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Ok(()) => Ok(None),
                Err(panic) => panic::resume_unwind(panic),
            },
        }
    }

    /// Reads the file at `path`, which may be a pipe that never ends.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the deadline passes before its end.
    pub(crate) fn read_file(self, path: &Path) -> Result<Vec<u8>, Failure> {
        let shown = path.display();
        let owned = path.to_owned();
        match self.call_until_deadline(move || fs::read(owned))? {
            Some(read) => read.map_err(|error| Failure::unreadable_file(&shown, &error)),
            None => Err(Failure::timeout(format_args!("{shown} has not ended"))),
        }
    }

    /// Returns the earlier of this deadline and the time `other`.
    pub(crate) fn or_earlier(self, other: Instant) -> Instant {
        self.0.map_or(other, |due| due.min(other))
    }
}
