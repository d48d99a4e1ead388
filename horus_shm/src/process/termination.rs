//! Recorders of termination signals (SIGINT, SIGTERM, SIGHUP): the first one does not end the
//! process at once, but is recorded for the program.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fork::{ForkLocal, fork_epoch, install_handlers};
use crate::os::termination;

/// The number of [`TerminationSignals`] that exist in this process.
static RECORDER_COUNT: ForkLocal<Mutex<usize>> = ForkLocal::new();

fn lock_recorder_count() -> MutexGuard<'static, usize> {
    RECORDER_COUNT
        .get()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// A recorder of termination signals. While at least one recorder exists in the process, the first
/// SIGINT, SIGTERM or SIGHUP is recorded for all of them. A second SIGINT or SIGTERM ends the
/// process at once, with exit status 128 plus the signal's number, if it arrives at least half a
/// second after the first signal. Before that, it counts as a repetition of the first signal, and
/// has no effect.
///
/// A second SIGHUP has no effect, because a closed terminal sends two: one from the kernel and one
/// from the shell. SIGHUP is not recorded if it is ignored, as `nohup` does.
///
/// When the last recorder is dropped, the previous signal actions are restored, unless the program
/// has set other actions in the meantime. If a signal was recorded, but [`Self::received_signal`]
/// has not returned it, the signal is then sent to the process again, so that no signal is lost.
///
/// A forked child has the previous signal actions, and its copies of recorders do nothing.
#[derive(Debug)]
pub struct TerminationSignals {
    epoch: u64,
}

impl TerminationSignals {
    /// Starts to record termination signals. Makes some system calls.
    ///
    /// # Errors
    ///
    /// The error of the system call; for example, a seccomp filter may forbid to install handlers.
    pub fn install() -> io::Result<Self> {
        install_handlers()?;
        let mut recorders = lock_recorder_count();
        if *recorders == 0 {
            termination::start_recording()?;
        }
        *recorders += 1;
        Ok(Self {
            epoch: fork_epoch(),
        })
    }

    /// Returns the number of the first termination signal that was received; `None` if there was
    /// none. Costs two loads.
    #[must_use]
    pub fn received_signal(&self) -> Option<i32> {
        if self.is_forked() {
            return None;
        }
        termination::received_signal()
    }

    fn is_forked(&self) -> bool {
        self.epoch != fork_epoch()
    }
}

impl Drop for TerminationSignals {
    fn drop(&mut self) {
        if self.is_forked() {
            return;
        }
        let mut recorders = lock_recorder_count();
        *recorders -= 1;
        if *recorders == 0 {
            termination::stop_recording();
        }
    }
}
