//! Schedulers, as C sees them.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use horus_core::scheduler::{Handle, Rate, Report, RunError, Running, Scheduler};

use crate::callback::{Uncancelled, is_inside};
use crate::event::{Listener, OnEvent};
use crate::ffi::{self, Call, NAME_BYTES_MAX, Out, Sized32, guard, guard_quick, null};
use crate::handle::{Shared, SharedSlab};
use crate::namespace::{HorusNamespace, namespace_of};
use crate::node::{CNode, HorusNode, HorusNodeOptions, flag};
use crate::report::{HorusMetrics, HorusReport};
use crate::status::{
    Failure, HORUS_E_BUSY, HORUS_E_FAILED, HORUS_E_FORKED, HORUS_E_STATE, HORUS_OK, HORUS_STOPPED,
};

/// `horus_scheduler_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusScheduler {
    /// The handle.
    pub id: u64,
}

/// `horus_scheduler_options_t`.
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
    pub on_event: Option<OnEvent>,
    pub on_event_user: *mut c_void,
}

// SAFETY: numbers, pointers and a nullable function, so zeros are valid; the first member is a
// `u32`.
unsafe impl Sized32 for HorusSchedulerOptions {
    const BYTES_MIN: usize = 56;
}

/// The states of a scheduler.
enum Own {
    Built(Box<Scheduler>),
    Runs(Box<Running>),
    Over(Box<Report>),
    /// It could not be started.
    Failed,
}

const BUILT: u32 = 0;
const RUNS: u32 = 1;
const OVER: u32 = 2;

/// A scheduler, and the part of its state that any thread may read.
struct Site {
    handle: Handle,
    /// `BUILT`, `RUNS` or `OVER`.
    phase: AtomicU32,
    /// True while a thread uses `own`.
    is_driven: AtomicBool,
    own: UnsafeCell<Own>,
    has_nodes: AtomicBool,
    /// The process that opened the scheduler.
    process_id: u32,
}

// SAFETY: only the thread that has set `is_driven` uses `own`; everything else is `Sync`.
unsafe impl Sync for Site {}

static SCHEDULERS: SharedSlab<Site> = SharedSlab::new(6);

/// The number of schedulers whose running state can be read without looking up the handle.
const SIGNS: usize = 4096;
/// The handle of the scheduler with that index while it runs and is not stopping.
static RUNNING: [AtomicU64; SIGNS] = [const { AtomicU64::new(0) }; SIGNS];

/// Returns the word that holds the scheduler's handle while it runs.
#[inline(always)]
fn sign(id: u64) -> Option<&'static AtomicU64> {
    RUNNING.get(id as u32 as usize)
}

/// Exclusive access of one thread to `own`.
struct Turn<'a>(&'a Site);

impl Turn<'_> {
    #[inline(always)]
    fn own(&mut self) -> &mut Own {
        // SAFETY: there is one `Turn` at a time, and `&mut self` allows one borrow of it.
        unsafe { &mut *self.0.own.get() }
    }
}

impl Drop for Turn<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // ORDERING(turn): pairs with the swap in `Site::turn`: the next thread sees the changes of
        // this one.
        self.0.is_driven.store(false, Ordering::Release);
    }
}

impl Site {
    fn new(scheduler: Scheduler) -> Self {
        Self {
            handle: scheduler.handle(),
            phase: AtomicU32::new(BUILT),
            is_driven: AtomicBool::new(false),
            own: UnsafeCell::new(Own::Built(Box::new(scheduler))),
            has_nodes: AtomicBool::new(false),
            process_id: std::process::id(),
        }
    }

    #[inline(always)]
    fn turn(&self) -> Result<Turn<'_>, Failure> {
        // ORDERING(turn): pairs with the store in `Turn::drop`.
        if self.is_driven.swap(true, Ordering::Acquire) { Err(busy()) } else { Ok(Turn(self)) }
    }

    fn expect_unforked(&self) -> Result<(), Failure> {
        if self.process_id == std::process::id() {
            return Ok(());
        }
        let text = "the scheduler belongs to the parent process: open a new one after fork";
        Err(Failure::new(HORUS_E_FORKED, text))
    }

    /// Starts the scheduler, if it has not started.
    fn running<'a>(&self, id: u64, own: &'a mut Own) -> Result<&'a mut Running, Failure> {
        if let Own::Built(_) = own {
            let Own::Built(scheduler) = std::mem::replace(own, Own::Failed) else {
                return Err(not_any_more(own));
            };
            // WHY before: the nodes may read it from their first tick on, before `start` has
            // returned.
            self.is_now(RUNS);
            if let Some(sign) = sign(id) {
                self.handle.show_in(sign, id);
            }
            *own = Own::Runs(Box::new(scheduler.start().inspect_err(|_| {
                self.is_now(OVER);
                self.handle.stop();
            })?));
        }
        match own {
            Own::Runs(running) => Ok(running),
            own => Err(not_any_more(own)),
        }
    }

    /// Ends the run and keeps its report.
    fn finish(&self, own: &mut Own) -> Call {
        self.is_now(OVER);
        if let Own::Runs(running) = std::mem::replace(own, Own::Failed) {
            let (report, failure) = match running.finish() {
                Ok(report) => (report, None),
                Err(error) => {
                    let failure = Failure::new(HORUS_E_FAILED, error.to_string());
                    (error.into_report()?, Some(failure))
                }
            };
            *own = Own::Over(Box::new(report));
            return failure.map_or(Ok(HORUS_OK), Err);
        }
        Ok(HORUS_OK)
    }

    fn is_now(&self, phase: u32) {
        // Relaxed: it only informs other threads, and orders nothing.
        self.phase.store(phase, Ordering::Relaxed);
    }

    /// Returns the status of a call that does not end the run: running, stopped or failed.
    #[inline(always)]
    fn runs(&self) -> Call {
        if self.handle.is_stopping() { self.stopped() } else { Ok(HORUS_OK) }
    }

    /// Returns the status of a round of ticks.
    #[inline(always)]
    fn ticked(&self, outcome: Result<bool, RunError>) -> Call {
        if matches!(outcome, Ok(true)) { Ok(HORUS_OK) } else { self.stopped() }
    }

    /// Returns the status after the end: an error if a node failed, else `HORUS_STOPPED`.
    #[cold]
    fn stopped(&self) -> Call {
        match self.handle.reason() {
            Some(reason) if reason.is_failure() => {
                Err(Failure::new(HORUS_E_FAILED, reason.to_string()))
            }
            _ => Ok(HORUS_STOPPED),
        }
    }
}

#[cold]
fn busy() -> Failure {
    let text = "the scheduler is in use: by a call of another thread, or by the calling callback";
    Failure::new(HORUS_E_BUSY, text)
}

#[cold]
fn not_any_more(own: &Own) -> Failure {
    let text = match own {
        Own::Built(_) => "the scheduler has not been started",
        Own::Runs(_) => "the scheduler has already started",
        Own::Over(_) => "the scheduler has ended: open another one",
        Own::Failed => "the scheduler could not be started: open another one",
    };
    Failure::new(HORUS_E_STATE, text)
}

fn share(scheduler: HorusScheduler) -> Result<Shared<'static, Site>, Failure> {
    Ok(SCHEDULERS.share(scheduler.id)?)
}

/// Runs a call that is exclusive to one thread, and not allowed in a node's callback.
fn drive(scheduler: HorusScheduler, call: impl FnOnce(&Site, &mut Own) -> Call) -> i32 {
    guard(|| {
        let site = share(scheduler)?;
        site.expect_unforked()?;
        if is_inside(scheduler.id) {
            return Err(busy());
        }
        let mut turn = site.turn()?;
        call(&site, turn.own())
    })
}

/// `horus_scheduler_open`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_open(
    options: *const HorusSchedulerOptions,
    out: *mut HorusScheduler,
) -> i32 {
    guard(|| {
        let out = Out::new(out, "out")?;
        let mut scheduler = Scheduler::new();
        // SAFETY: the caller's contract: `options` is null or readable for its `struct_bytes`.
        let options = unsafe { HorusSchedulerOptions::read(options, "options") }?;
        if let Some(options) = &options {
            // SAFETY: the caller's contract: the texts and arrays of `options` are as the header
            // says.
            unsafe { options.apply(&mut scheduler) }?;
        }
        let site = Site::new(scheduler);
        let id = SCHEDULERS.open(site)?;
        let listener = options.and_then(|options| Some((options.on_event?, options.on_event_user)));
        if let Some((tell, user)) = listener {
            let site = SCHEDULERS.share(id)?;
            if let Own::Built(scheduler) = site.turn()?.own() {
                let listener = Listener::new(tell, user, id);
                scheduler.on_event(move |event| listener.hear(event));
            }
        }
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.set(HorusScheduler { id }) };
        Ok(HORUS_OK)
    })
}

impl HorusSchedulerOptions {
    /// # Safety
    ///
    /// As the header says of `horus_scheduler_open`.
    unsafe fn apply(&self, scheduler: &mut Scheduler) -> Result<(), Failure> {
        // SAFETY: the caller's contract: `self.name` is null or a terminated text.
        if let Some(name) = unsafe { ffi::text_if_any(self.name, "name", NAME_BYTES_MAX) }? {
            scheduler.name(name);
        }
        if self.name_space.id != 0 {
            // SAFETY: the caller's contract: no other thread is in a call with the namespace.
            scheduler.namespace(&unsafe { namespace_of(self.name_space) }?);
        }
        if self.main_rate_hz != 0.0 {
            let rate = Rate::hz(self.main_rate_hz).check();
            scheduler.main_rate(rate.map_err(|error| ffi::wrong(error.to_string()))?);
        }
        if self.compute_threads != 0 {
            scheduler.compute_threads(self.compute_threads as usize);
        }
        if flag("stop_on_signals", self.stop_on_signals)? {
            scheduler.stop_on_signals();
        }
        if flag("use_kernel_clock", self.use_kernel_clock)? {
            scheduler.use_kernel_clock();
        }
        Ok(())
    }
}

/// `horus_scheduler_close`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_close(scheduler: HorusScheduler) -> i32 {
    guard(|| {
        let site = share(scheduler)?;
        if site.expect_unforked().is_err() {
            drop(site);
            // WHY forgotten: its drop would wait for threads that exist only in the parent.
            std::mem::forget(SCHEDULERS.close(scheduler.id)?);
            return Ok(HORUS_OK);
        }
        if is_inside(scheduler.id) {
            return Err(busy());
        }
        site.handle.stop();
        drop(site);
        drop(SCHEDULERS.close(scheduler.id)?);
        Ok(HORUS_OK)
    })
}

/// `horus_scheduler_add_node`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_add_node(
    scheduler: HorusScheduler,
    name: *const c_char,
    options: *const HorusNodeOptions,
    node: *const HorusNode,
) -> i32 {
    drive(scheduler, |site, own| {
        let Own::Built(built) = own else { return Err(not_any_more(own)) };
        // SAFETY: the caller's contract: `name` is null or a terminated text.
        let name = unsafe { ffi::text(name, "name", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: `node` is null or readable for its `struct_bytes`.
        let node = unsafe { HorusNode::read(node, "node") }?.ok_or_else(|| null("node"))?;
        let (node, receipt, safe_state) = CNode::new(node, scheduler.id)?;
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
        receipt.accept();
        // Relaxed: read only by the thread that has the `Turn`, or later.
        site.has_nodes.store(true, Ordering::Relaxed);
        Ok(HORUS_OK)
    })
}

/// `horus_scheduler_start`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_start(scheduler: HorusScheduler) -> i32 {
    drive(scheduler, |site, own| {
        let Own::Built(_) = own else { return Err(not_any_more(own)) };
        site.running(scheduler.id, own)?;
        site.runs()
    })
}

/// `horus_scheduler_tick_once`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_tick_once(scheduler: HorusScheduler) -> i32 {
    guard_quick(|| {
        let site = share(scheduler)?;
        // Relaxed: both change only in calls that end before this one begins, or in other threads'
        // calls.
        let runs = site.phase.load(Ordering::Relaxed) == RUNS;
        // WHY: without nodes to call, exclusive access is not needed.
        if runs && !site.has_nodes.load(Ordering::Relaxed) {
            return site.runs();
        }
        let mut turn = site.turn()?;
        let Own::Runs(running) = turn.own() else {
            drop(turn);
            return start_and_tick(scheduler);
        };
        let _uncancelled = Uncancelled::begin();
        site.ticked(running.tick_once())
    })
}

#[cold]
fn start_and_tick(scheduler: HorusScheduler) -> Call {
    let status = drive(scheduler, |site, own| {
        let ticked = site.running(scheduler.id, own)?.tick_once();
        site.ticked(ticked)
    });
    Ok(status)
}

/// `horus_scheduler_run_for`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_run_for(scheduler: HorusScheduler, time_ns: i64) -> i32 {
    drive(scheduler, |site, own| {
        let time = u64::try_from(time_ns).map_or(Duration::MAX, Duration::from_nanos);
        // The error is dropped: the handle keeps the reason.
        let _ = site.running(scheduler.id, own)?.run_for(time);
        site.runs()
    })
}

/// `horus_scheduler_run`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_run(scheduler: HorusScheduler) -> i32 {
    drive(scheduler, |site, own| {
        // The error is dropped: `finish` reports it.
        let _ = site.running(scheduler.id, own)?.run_for(Duration::MAX);
        site.finish(own)
    })
}

/// `horus_scheduler_finish`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_finish(scheduler: HorusScheduler) -> i32 {
    drive(scheduler, |site, own| match own {
        Own::Runs(_) => site.finish(own),
        own => Err(not_any_more(own)),
    })
}

/// `horus_scheduler_report`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_report(
    scheduler: HorusScheduler,
    out: *mut HorusReport,
) -> i32 {
    drive(scheduler, |_, own| {
        let Own::Over(report) = own else { return Err(not_any_more(own)) };
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { HorusReport::write(&HorusReport::new(report), out, "out") }?;
        Ok(HORUS_OK)
    })
}

/// `horus_scheduler_is_running`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_is_running(scheduler: HorusScheduler) -> i32 {
    // Relaxed: it only informs. WHY not 0: the word of a scheduler that does not run is 0.
    let is_running = |sign: &AtomicU64| sign.load(Ordering::Relaxed) == scheduler.id;
    if scheduler.id != 0 && sign(scheduler.id).is_some_and(is_running) {
        return 1;
    }
    is_running_by_handle(scheduler)
}

#[cold]
fn is_running_by_handle(scheduler: HorusScheduler) -> i32 {
    guard(|| {
        let site = share(scheduler)?;
        // Relaxed: it only informs.
        let runs = site.phase.load(Ordering::Relaxed) == RUNS && !site.handle.is_stopping();
        Ok(runs.into())
    })
}

/// `horus_scheduler_stop`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_scheduler_stop(scheduler: HorusScheduler) -> i32 {
    guard(|| {
        let site = share(scheduler)?;
        site.expect_unforked()?;
        site.handle.stop();
        Ok(HORUS_OK)
    })
}

/// Applies a command to the node of this name; any thread may call it.
///
/// # Safety
///
/// As the header says.
unsafe fn steer(
    scheduler: HorusScheduler,
    node: *const c_char,
    act: impl FnOnce(&Handle, &str) -> Result<(), Failure>,
) -> i32 {
    guard(|| {
        let site = share(scheduler)?;
        site.expect_unforked()?;
        // SAFETY: the caller's contract: `node` is null or a terminated text.
        act(&site.handle, unsafe { ffi::text(node, "node", NAME_BYTES_MAX) }?)?;
        Ok(HORUS_OK)
    })
}

/// `horus_scheduler_pause`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_pause(
    scheduler: HorusScheduler,
    node: *const c_char,
) -> i32 {
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { steer(scheduler, node, |handle, node| Ok(handle.pause(node)?)) }
}

/// `horus_scheduler_resume`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_resume(
    scheduler: HorusScheduler,
    node: *const c_char,
) -> i32 {
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { steer(scheduler, node, |handle, node| Ok(handle.resume(node)?)) }
}

/// `horus_scheduler_stop_node`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_stop_node(
    scheduler: HorusScheduler,
    node: *const c_char,
) -> i32 {
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { steer(scheduler, node, |handle, node| Ok(handle.stop_node(node)?)) }
}

/// `horus_scheduler_set_rate`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_set_rate(
    scheduler: HorusScheduler,
    node: *const c_char,
    rate_hz: f64,
) -> i32 {
    let set = |handle: &Handle, node: &str| Ok(handle.set_rate(node, Rate::hz(rate_hz))?);
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { steer(scheduler, node, set) }
}

/// `horus_scheduler_metrics`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_scheduler_metrics(
    scheduler: HorusScheduler,
    node: *const c_char,
    out: *mut HorusMetrics,
) -> i32 {
    let figures = |handle: &Handle, node: &str| {
        let figures = HorusMetrics::new(&handle.metrics(node)?);
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { HorusMetrics::write(&figures, out, "out") }
    };
    // SAFETY: the caller's contract: `node` is null or a terminated text.
    unsafe { steer(scheduler, node, figures) }
}
