//! The values to which the handles of schedulers refer, and the guard that gives exclusive access
//! to the state of a scheduler.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use horus_core::fork_epoch;
use horus_core::scheduler::{Handle, Report, RunError, Running, Scheduler};

use super::HorusScheduler;
use crate::event::EventGate;
use crate::ffi::StatusResult;
use crate::handle::{SharedGuard, SharedSlab};
use crate::status::{
    Failure, HORUS_E_BUSY, HORUS_E_FAILED, HORUS_E_FORKED, HORUS_E_STATE, HORUS_OK, HORUS_STOPPED,
};

/// The state of a scheduler: being built, running, ended or failed. Each state holds the object
/// that exists only in that state.
pub(super) enum SchedulerState {
    Built(Box<Scheduler>),
    Running(Box<Running>),
    Ended(Box<Report>),
    /// The scheduler could not be started. Its handle can only be closed.
    Failed,
}

pub(super) const PHASE_BUILT: u32 = 0;
pub(super) const PHASE_RUNNING: u32 = 1;
pub(super) const PHASE_ENDED: u32 = 2;

/// The value to which the handle of a scheduler refers. Only one thread at a time may use `state`.
/// Any thread may use the other fields.
pub(super) struct SchedulerEntry {
    pub(super) handle: Handle,
    /// The phase of the scheduler: [`PHASE_BUILT`], [`PHASE_RUNNING`] or [`PHASE_ENDED`]. Threads
    /// without access to `state` read it.
    pub(super) phase: AtomicU32,
    /// True while a [`StateGuard`] exists: one thread has exclusive access to `state`.
    pub(super) is_locked: AtomicBool,
    pub(super) state: UnsafeCell<SchedulerState>,
    pub(super) has_nodes: AtomicBool,
    /// Closed together with the handle.
    pub(super) event_gate: Arc<EventGate>,
    /// The fork epoch in which the scheduler was opened. A forked child has a greater one, and gets
    /// an error.
    fork_epoch: u64,
}

// SAFETY: only the thread that has set `is_locked` uses `state`; everything else is `Sync`.
unsafe impl Sync for SchedulerEntry {}

pub(super) static SCHEDULERS: SharedSlab<SchedulerEntry> = SharedSlab::new(6);

/// Maximum number of schedulers for which [`RUNNING_HANDLES`] shows, without looking up the handle,
/// whether they are running.
pub(super) const RUNNING_HANDLES_MAX: usize = 4096;
/// One word for each scheduler. The index is the one in the scheduler's handle. The word is the
/// handle while the scheduler runs and is not stopping, otherwise 0.
pub(super) static RUNNING_HANDLES: [AtomicU64; RUNNING_HANDLES_MAX] =
    [const { AtomicU64::new(0) }; RUNNING_HANDLES_MAX];

/// Returns the word of [`RUNNING_HANDLES`] for the scheduler whose handle is `id`; `None` if the
/// index in the handle is too large.
#[inline(always)]
pub(super) fn running_handle_word(id: u64) -> Option<&'static AtomicU64> {
    RUNNING_HANDLES.get(id as u32 as usize)
}

/// A guard that gives one thread exclusive access to the state of a scheduler. Dropping the guard
/// ends the access.
pub(super) struct StateGuard<'a>(&'a SchedulerEntry);

impl StateGuard<'_> {
    #[inline(always)]
    pub(super) fn state(&mut self) -> &mut SchedulerState {
        // SAFETY: there is one `StateGuard` at a time, and `&mut self` allows one borrow of it.
        unsafe { &mut *self.0.state.get() }
    }
}

impl Drop for StateGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // ORDERING(state_lock): pairs with the swap in `SchedulerEntry::lock`: the next thread sees
        // the changes of this one.
        self.0.is_locked.store(false, Ordering::Release);
    }
}

impl SchedulerEntry {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self {
            handle: scheduler.handle(),
            phase: AtomicU32::new(PHASE_BUILT),
            is_locked: AtomicBool::new(false),
            state: UnsafeCell::new(SchedulerState::Built(Box::new(scheduler))),
            has_nodes: AtomicBool::new(false),
            event_gate: Arc::default(),
            fork_epoch: fork_epoch(),
        }
    }

    #[inline(always)]
    pub(super) fn lock(&self) -> Result<StateGuard<'_>, Failure> {
        // ORDERING(state_lock): pairs with the store in `StateGuard::drop`.
        if self.is_locked.swap(true, Ordering::Acquire) {
            Err(scheduler_in_use_failure())
        } else {
            Ok(StateGuard(self))
        }
    }

    /// Returns true if the scheduler was opened by an ancestor of this process.
    #[inline(always)]
    pub(super) fn is_forked(&self) -> bool {
        self.fork_epoch != fork_epoch()
    }

    /// Starts the scheduler unless it has been started, and returns the running scheduler. Returns
    /// an error if the run has ended, or the scheduler could not be started.
    pub(super) fn start_if_built<'a>(
        &self,
        id: u64,
        state: &'a mut SchedulerState,
    ) -> Result<&'a mut Running, Failure> {
        if let SchedulerState::Built(_) = state {
            let SchedulerState::Built(scheduler) = std::mem::replace(state, SchedulerState::Failed)
            else {
                return Err(wrong_state_failure(state));
            };
            // WHY before `start`: the nodes may read it from their first tick on, before `start`
            // has returned.
            self.set_phase(PHASE_RUNNING);
            if let Some(running_handle_word) = running_handle_word(id) {
                self.handle.set_while_running(running_handle_word, id);
            }
            *state = SchedulerState::Running(Box::new(scheduler.start().inspect_err(|_| {
                self.set_phase(PHASE_ENDED);
                self.handle.stop();
            })?));
        }
        match state {
            SchedulerState::Running(running) => Ok(running),
            state => Err(wrong_state_failure(state)),
        }
    }

    /// Ends the run of the scheduler and stores the report of the run in the state.
    pub(super) fn end_run(&self, state: &mut SchedulerState) -> StatusResult {
        self.set_phase(PHASE_ENDED);
        if let SchedulerState::Running(running) = std::mem::replace(state, SchedulerState::Failed) {
            let (report, failure) = match running.finish() {
                Ok(report) => (report, None),
                Err(error) => {
                    let failure = Failure::new(HORUS_E_FAILED, error.to_string());
                    (error.into_report()?, Some(failure))
                }
            };
            *state = SchedulerState::Ended(Box::new(report));
            return failure.map_or(Ok(HORUS_OK), Err);
        }
        Ok(HORUS_OK)
    }

    pub(super) fn set_phase(&self, phase: u32) {
        // Relaxed: it only informs other threads, and orders nothing.
        self.phase.store(phase, Ordering::Relaxed);
    }

    /// Returns the status of a call that is made during the run. It is `HORUS_OK`, or, after a
    /// stop, the result of [`Self::status_after_stop`].
    #[inline(always)]
    pub(super) fn status_during_run(&self) -> StatusResult {
        if self.handle.is_stopping() {
            self.status_after_stop()
        } else {
            Ok(HORUS_OK)
        }
    }

    /// Returns the C status for the result of a round of ticks. It is `HORUS_OK` while the run
    /// continues, otherwise the result of [`Self::status_after_stop`].
    #[inline(always)]
    pub(super) fn status_after_ticks(&self, outcome: Result<bool, RunError>) -> StatusResult {
        if matches!(outcome, Ok(true)) {
            Ok(HORUS_OK)
        } else {
            self.status_after_stop()
        }
    }

    /// Returns the status for a scheduler that has stopped. It is an error if the failure of a node
    /// was the reason, otherwise `HORUS_STOPPED`.
    #[cold]
    pub(super) fn status_after_stop(&self) -> StatusResult {
        match self.handle.reason() {
            Some(reason) if reason.is_failure() => {
                Err(Failure::new(HORUS_E_FAILED, reason.to_string()))
            }
            _ => Ok(HORUS_STOPPED),
        }
    }
}

#[cold]
pub(super) fn scheduler_in_use_failure() -> Failure {
    let text = "the scheduler is in use: by a call of another thread, or by the calling callback";
    Failure::new(HORUS_E_BUSY, text)
}

#[cold]
pub(super) fn wrong_state_failure(state: &SchedulerState) -> Failure {
    let text = match state {
        SchedulerState::Built(_) => "the scheduler has not been started",
        SchedulerState::Running(_) => "the scheduler has already started",
        SchedulerState::Ended(_) => "the scheduler has ended: open another one",
        SchedulerState::Failed => "the scheduler could not be started: open another one",
    };
    Failure::new(HORUS_E_STATE, text)
}

#[cold]
fn forked_failure() -> Failure {
    let text = "the scheduler belongs to the parent process: open a new one after fork";
    Failure::new(HORUS_E_FORKED, text)
}

/// Returns access to the entry of the scheduler. Returns an error if an ancestor of this process
/// opened the scheduler.
#[inline(always)]
pub(super) fn look_up_scheduler(
    scheduler: HorusScheduler,
) -> Result<SharedGuard<'static, SchedulerEntry>, Failure> {
    let entry = SCHEDULERS.share(scheduler.id)?;
    if entry.is_forked() {
        return Err(forked_failure());
    }
    Ok(entry)
}
