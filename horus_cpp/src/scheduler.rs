//! The C functions that create, run and stop schedulers.

mod entry;

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use horus_core::fork_epoch;
use horus_core::scheduler::{Handle, Rate, Scheduler, StartError};

use entry::{
    PHASE_RUNNING, SCHEDULERS, SchedulerEntry, SchedulerState, look_up_scheduler,
    running_handle_word, scheduler_in_use_failure, wrong_state_failure,
};

use crate::callback::{DelayedCancellationGuard, is_in_callback};
use crate::event::{EventCallback, EventListener};
use crate::ffi::{
    self, NAME_BYTES_MAX, OutPointer, SizePrefixedStruct, StatusResult, null_argument,
    run_cancellable, run_guarded,
};
use crate::namespace::{HorusNamespace, resolve_namespace};
use crate::node::{CNode, HorusNode, HorusNodeOptions, parse_flag};
use crate::report::{HorusMetrics, HorusReport};
use crate::status::{Failure, HORUS_OK, HORUS_TIMEOUT};

/// The C struct `horus_scheduler_t`, as `scheduler.h` declares it: a handle of a scheduler.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusScheduler {
    /// The handle, as a number. 0 is the null handle.
    pub id: u64,
}

/// The C struct `horus_scheduler_options_t`, as `scheduler.h` declares it: the optional settings of
/// a scheduler.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusSchedulerOptions {
    pub struct_bytes: u32,
    pub compute_threads: u32,
    pub name: *const c_char,
    pub name_space: HorusNamespace,
    pub main_rate_hz: f64,
    pub stop_on_signals: i32,
    pub use_kernel_clock: i32,
    pub on_event: Option<EventCallback>,
    pub on_event_user: *mut c_void,
}

// SAFETY: numbers, pointers and a nullable function, so zeros are valid; the first member is a
// `u32`.
unsafe impl SizePrefixedStruct for HorusSchedulerOptions {
    const FIRST_VERSION_BYTES: usize = 56;
}

/// Calls `call` with exclusive access to the state of the scheduler. Returns `HORUS_E_BUSY` if
/// another call has that access, or if this thread is in a callback of this scheduler.
fn with_state(
    scheduler: HorusScheduler,
    call: impl FnOnce(&SchedulerEntry, &mut SchedulerState) -> StatusResult,
) -> i32 {
    run_guarded(|| {
        let entry = look_up_scheduler(scheduler)?;
        if is_in_callback(scheduler.id) {
            return Err(scheduler_in_use_failure());
        }
        let mut guard = entry.lock()?;
        call(&entry, guard.state())
    })
}

/// The C function `horus_scheduler_open`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_open(
    options: *const HorusSchedulerOptions,
    out: *mut HorusScheduler,
) -> i32 {
    run_guarded(|| {
        let out = OutPointer::new(out, "out")?;
        let mut scheduler = Scheduler::new();
        // SAFETY: the caller's contract: `options` is null or readable for its `struct_bytes`.
        let options = unsafe { HorusSchedulerOptions::read(options, "options") }?;
        if let Some(options) = &options {
            // SAFETY: the caller's contract: the texts and arrays of `options` are as the header
            // says.
            unsafe { options.apply(&mut scheduler) }?;
        }
        let entry = SchedulerEntry::new(scheduler);
        let id = SCHEDULERS.open(entry)?;
        // WHY also without a listener: the first use of a handle installs the fork handlers, by
        // which a child knows that the scheduler belongs to its parent.
        let entry = SCHEDULERS.share(id)?;
        let listener = options.and_then(|options| Some((options.on_event?, options.on_event_user)));
        if let Some((tell, user)) = listener
            && let SchedulerState::Built(scheduler) = entry.lock()?.state()
        {
            let listener = EventListener::new(tell, user, id, Arc::clone(&entry.event_gate));
            scheduler.on_event(move |event| listener.report(event));
        }
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.write(HorusScheduler { id }) };
        Ok(HORUS_OK)
    })
}

impl HorusSchedulerOptions {
    /// Applies these options to `scheduler`, which has not been started.
    ///
    /// # Safety
    ///
    /// The members are as `scheduler.h` requires for `horus_scheduler_open`.
    unsafe fn apply(&self, scheduler: &mut Scheduler) -> Result<(), Failure> {
        // SAFETY: the caller's contract: `self.name` is null or a terminated text.
        if let Some(name) = unsafe { ffi::optional_text(self.name, "name", NAME_BYTES_MAX) }? {
            scheduler.name(name);
        }
        if self.name_space.id != 0 {
            // SAFETY: the caller's contract: no other thread is in a call with the namespace.
            scheduler.namespace(&unsafe { resolve_namespace(self.name_space) }?);
        }
        if self.main_rate_hz != 0.0 {
            let set = scheduler.main_rate(Rate::hz(self.main_rate_hz));
            set.map_err(|error| ffi::invalid_argument(error.to_string()))?;
        }
        if self.compute_threads != 0 {
            scheduler.compute_threads(self.compute_threads as usize);
        }
        if parse_flag("stop_on_signals", self.stop_on_signals)? {
            scheduler.stop_on_signals();
        }
        if parse_flag("use_kernel_clock", self.use_kernel_clock)? {
            scheduler.use_kernel_clock();
        }
        Ok(())
    }
}

/// The C function `horus_scheduler_close`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_close(scheduler: HorusScheduler) -> i32 {
    run_guarded(|| {
        let entry = SCHEDULERS.share(scheduler.id)?;
        if entry.is_forked() {
            drop(entry);
            // WHY leaked: its drop would wait for threads that exist only in the parent process.
            std::mem::forget(SCHEDULERS.close(scheduler.id)?);
            return Ok(HORUS_OK);
        }
        if is_in_callback(scheduler.id) {
            return Err(scheduler_in_use_failure());
        }
        entry.handle.stop();
        drop(entry);
        let closed = SCHEDULERS.close(scheduler.id)?;
        let event_gate = Arc::clone(&closed.event_gate);
        drop(closed);
        if event_gate.close() {
            return Ok(HORUS_OK);
        }
        let text = "on_event has not returned: its argument is in use until it does";
        Err(Failure::new(HORUS_TIMEOUT, text))
    })
}

/// The C function `horus_scheduler_add_node`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_add_node(
    scheduler: HorusScheduler,
    name: *const c_char,
    options: *const HorusNodeOptions,
    node: *const HorusNode,
) -> i32 {
    with_state(scheduler, |entry, state| {
        let SchedulerState::Built(built) = state else {
            return Err(wrong_state_failure(state));
        };
        // SAFETY: the caller's contract: `name` is null or a terminated text.
        let name = unsafe { ffi::required_text(name, "name", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: `node` is null or readable for its `struct_bytes`.
        let node =
            unsafe { HorusNode::read(node, "node") }?.ok_or_else(|| null_argument("node"))?;
        let (node, ownership, safe_state) = CNode::new(node, scheduler.id)?;
        let mut builder = built.node(name);
        // SAFETY: the caller's contract: `options` is null or readable for its `struct_bytes`.
        if let Some(options) = unsafe { HorusNodeOptions::read(options, "options") }? {
            // SAFETY: the caller's contract: the texts and arrays of `options` are as the header
            // says.
            builder = unsafe { options.apply(builder) }?;
        }
        if let Some(safe_state) = safe_state {
            builder = builder.safe_state(safe_state);
        }
        builder.build(node)?;
        ownership.transfer_to_library();
        // Relaxed: read only by the thread that has the `StateGuard`, or later.
        entry.has_nodes.store(true, Ordering::Relaxed);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_scheduler_start`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_start(scheduler: HorusScheduler) -> i32 {
    with_state(scheduler, |entry, state| {
        let SchedulerState::Built(_) = state else {
            return Err(wrong_state_failure(state));
        };
        let running = entry.start_if_built(scheduler.id, state)?;
        entry.status_during_run().inspect_err(|_| {
            // This shuts the nodes down. Its error is that of `status_during_run`.
            drop(running.tick_once());
        })
    })
}

/// The C function `horus_scheduler_tick_once`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_tick_once(scheduler: HorusScheduler) -> i32 {
    run_cancellable(|| {
        let entry = look_up_scheduler(scheduler)?;
        // WHY not left to the lock: after `horus_scheduler_start`, no call has it, and the nodes of
        // the main thread would tick on the thread of the callback.
        if is_in_callback(scheduler.id) {
            return Err(scheduler_in_use_failure());
        }
        // Relaxed: both change only in calls that end before this one begins, or in other threads'
        // calls.
        let runs = entry.phase.load(Ordering::Relaxed) == PHASE_RUNNING;
        // WHY: without nodes there is nothing to call, so exclusive access is not needed.
        if runs && !entry.has_nodes.load(Ordering::Relaxed) {
            return entry.status_during_run();
        }
        let mut guard = entry.lock()?;
        let SchedulerState::Running(running) = guard.state() else {
            drop(guard);
            return start_and_tick_once(scheduler);
        };
        let _delayed_cancel = DelayedCancellationGuard::begin();
        entry.status_after_ticks(running.tick_once())
    })
}

#[cold]
fn start_and_tick_once(scheduler: HorusScheduler) -> StatusResult {
    let status = with_state(scheduler, |entry, state| {
        let ticked = entry.start_if_built(scheduler.id, state)?.tick_once();
        entry.status_after_ticks(ticked)
    });
    Ok(status)
}

/// The C function `horus_scheduler_run_for`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_run_for(scheduler: HorusScheduler, time_ns: i64) -> i32 {
    with_state(scheduler, |entry, state| {
        // A negative time is infinite.
        let time = u64::try_from(time_ns).map_or(Duration::MAX, Duration::from_nanos);
        // The error is dropped: the handle keeps the reason.
        let _ = entry.start_if_built(scheduler.id, state)?.run_for(time);
        entry.status_during_run()
    })
}

/// The C function `horus_scheduler_run`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_run(scheduler: HorusScheduler) -> i32 {
    with_state(scheduler, |entry, state| {
        // Relaxed: this thread has the `StateGuard`.
        if !entry.has_nodes.load(Ordering::Relaxed) {
            return Err(StartError::NoNodes.into());
        }
        // The error is dropped: `finish` reports it.
        let _ = entry
            .start_if_built(scheduler.id, state)?
            .run_for(Duration::MAX);
        entry.end_run(state)
    })
}

/// The C function `horus_scheduler_finish`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_finish(scheduler: HorusScheduler) -> i32 {
    with_state(scheduler, |entry, state| match state {
        SchedulerState::Running(_) => entry.end_run(state),
        state => Err(wrong_state_failure(state)),
    })
}

/// The C function `horus_scheduler_report`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_report(
    scheduler: HorusScheduler,
    out: *mut HorusReport,
) -> i32 {
    with_state(scheduler, |_, state| {
        let SchedulerState::Ended(report) = state else {
            return Err(wrong_state_failure(state));
        };
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { HorusReport::write(&HorusReport::new(report), out, "out") }?;
        Ok(HORUS_OK)
    })
}

/// The C function `horus_scheduler_is_running`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_is_running(scheduler: HorusScheduler) -> i32 {
    // Relaxed: it only informs. WHY not for 0: the word of a scheduler that does not run is 0.
    let is_running = |running_handle_word: &AtomicU64| {
        running_handle_word.load(Ordering::Relaxed) == scheduler.id
    };
    // WHY not in a forked child: it inherits the words of its parent.
    let may_trust_word = scheduler.id != 0 && fork_epoch() == 0;
    if may_trust_word && running_handle_word(scheduler.id).is_some_and(is_running) {
        return 1;
    }
    is_running_by_state(scheduler)
}

#[cold]
fn is_running_by_state(scheduler: HorusScheduler) -> i32 {
    run_guarded(|| {
        let entry = look_up_scheduler(scheduler)?;
        // Relaxed: it only informs.
        let runs =
            entry.phase.load(Ordering::Relaxed) == PHASE_RUNNING && !entry.handle.is_stopping();
        Ok(runs.into())
    })
}

/// The C function `horus_scheduler_stop`: see `scheduler.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_stop(scheduler: HorusScheduler) -> i32 {
    run_guarded(|| {
        let entry = look_up_scheduler(scheduler)?;
        entry.handle.stop();
        Ok(HORUS_OK)
    })
}

/// Calls `act` with the scheduler and the name of the node `node`. Needs no exclusive access to the
/// scheduler, so any thread can call it, even in a callback.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
unsafe fn apply_command_to_node(
    scheduler: HorusScheduler,
    node: *const c_char,
    act: impl FnOnce(&Handle, &str) -> Result<(), Failure>,
) -> i32 {
    run_guarded(|| {
        let entry = look_up_scheduler(scheduler)?;
        // SAFETY: the caller's contract: `node` is null or a terminated text.
        act(&entry.handle, unsafe {
            ffi::required_text(node, "node", NAME_BYTES_MAX)
        }?)?;
        Ok(HORUS_OK)
    })
}

/// The C function `horus_scheduler_pause`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_pause(
    scheduler: HorusScheduler,
    node: *const c_char,
) -> i32 {
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { apply_command_to_node(scheduler, node, |handle, node| Ok(handle.pause(node)?)) }
}

/// The C function `horus_scheduler_resume`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_resume(
    scheduler: HorusScheduler,
    node: *const c_char,
) -> i32 {
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { apply_command_to_node(scheduler, node, |handle, node| Ok(handle.resume(node)?)) }
}

/// The C function `horus_scheduler_stop_node`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_stop_node(
    scheduler: HorusScheduler,
    node: *const c_char,
) -> i32 {
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { apply_command_to_node(scheduler, node, |handle, node| Ok(handle.stop_node(node)?)) }
}

/// The C function `horus_scheduler_set_rate`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_set_rate(
    scheduler: HorusScheduler,
    node: *const c_char,
    rate_hz: f64,
) -> i32 {
    let set = |handle: &Handle, node: &str| Ok(handle.set_rate(node, Rate::hz(rate_hz))?);
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { apply_command_to_node(scheduler, node, set) }
}

/// The C function `horus_scheduler_metrics`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_metrics(
    scheduler: HorusScheduler,
    node: *const c_char,
    out: *mut HorusMetrics,
) -> i32 {
    let metrics = |handle: &Handle, node: &str| {
        let metrics = HorusMetrics::new(&handle.metrics(node)?);
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { HorusMetrics::write(&metrics, out, "out") }
    };
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { apply_command_to_node(scheduler, node, metrics) }
}
