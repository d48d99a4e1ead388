//! Nodes that are C callbacks, and their options.

use std::ffi::{CString, c_char, c_void};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use horus_core::scheduler::{
    Context, FailurePolicy, Miss, Node, NodeBuilder, NodeError, NodeResult, Rate,
};

use crate::callback::Inside;
use crate::context::HorusContext;
use crate::ffi::{self, NAME_BYTES_MAX, Sized32, wrong};
use crate::status::{Failure, HORUS_E_NULL};
use crate::subscriber::{HorusSubscriber, SUBSCRIBERS};
use crate::{HORUS_NO, HORUS_UNSET, HORUS_YES};

/// The miss is counted and reported.
pub const HORUS_MISS_WARN: i32 = 1;
/// The next tick is skipped.
pub const HORUS_MISS_SKIP: i32 = 2;
/// The node enters its safe state.
pub const HORUS_MISS_SAFE_MODE: i32 = 3;
/// Repeated misses escalate in steps, up to the end of the run.
pub const HORUS_MISS_GRADUATED: i32 = 4;
/// The scheduler stops.
pub const HORUS_MISS_STOP: i32 = 5;

/// The scheduler stops.
pub const HORUS_FAILURE_FATAL: i32 = 1;
/// The node is shut down and initialised again.
pub const HORUS_FAILURE_RESTART: i32 = 2;
/// The tick is lost; after too many failures the node backs off.
pub const HORUS_FAILURE_SKIP: i32 = 3;
/// The failure is counted and reported.
pub const HORUS_FAILURE_IGNORE: i32 = 4;

/// The most topics and wake subscribers of one node.
const LIST_MAX: usize = 128;

type WithContext = unsafe extern "C" fn(*mut c_void, *mut HorusContext) -> i32;
type Asked = unsafe extern "C" fn(*mut c_void) -> i32;
type Doing = unsafe extern "C" fn(*mut c_void);
type Told = unsafe extern "C" fn(*mut c_void, *const c_char);

/// `horus_node_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusNode {
    pub struct_bytes: u32,
    pub reserved: u32,
    pub user: *mut c_void,
    pub tick: Option<WithContext>,
    pub init: Option<WithContext>,
    pub shutdown: Option<WithContext>,
    pub enter_safe_state: Option<WithContext>,
    pub is_safe_state: Option<Asked>,
    pub on_error: Option<Told>,
    pub safe_state: Option<WithContext>,
    pub destroy: Option<Doing>,
}

// SAFETY: numbers, pointers and nullable functions, so zeros are valid; the first member is a
// `u32`.
unsafe impl Sized32 for HorusNode {
    const BYTES_MIN: usize = 80;
}

/// `horus_node_options_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusNodeOptions {
    pub struct_bytes: u32,
    pub order: i32,
    pub rate_hz: f64,
    pub at_most_hz: f64,
    pub budget_ns: u64,
    pub deadline_ns: u64,
    pub watchdog_ns: u64,
    pub not_before_ns: u64,
    pub checkpoints: u64,
    pub on_miss: i32,
    pub on_failure: i32,
    pub failures_max: u32,
    pub priority: i32,
    pub pause_ns: u64,
    pub is_pinned: i32,
    pub core: u32,
    pub is_compute: i32,
    pub is_awake: i32,
    pub chain: *const c_char,
    pub wake: *const HorusSubscriber,
    pub wake_count: usize,
    pub reads: *const *const c_char,
    pub reads_count: usize,
    pub writes: *const *const c_char,
    pub writes_count: usize,
}

// SAFETY: numbers and pointers, so zeros are valid, and the first member is a `u32`.
unsafe impl Sized32 for HorusNodeOptions {
    const BYTES_MIN: usize = 160;
}

impl HorusNodeOptions {
    /// Applies these options to the builder of a node.
    ///
    /// # Safety
    ///
    /// As the header says of `horus_scheduler_add_node`.
    pub(crate) unsafe fn apply<'a>(
        &self,
        mut node: NodeBuilder<'a>,
    ) -> Result<NodeBuilder<'a>, Failure> {
        let time = |ns: u64| Some(Duration::from_nanos(ns)).filter(|time| !time.is_zero());
        // SAFETY: the caller's contract: `wake` is null or readable for `wake_count` items.
        for wake in unsafe { list("wake", self.wake, self.wake_count) }? {
            // SAFETY: the caller's contract: no other thread is in a call with the handle.
            let subscriber = unsafe { SUBSCRIBERS.enter(wake.id) }?;
            let name = subscriber.name();
            let added = node.wake_by(&name, &*subscriber);
            added.map_err(|error| Failure::from(error).of_topic(&name))?;
        }
        // SAFETY: the caller's contract: `reads` is null or readable for `reads_count` items.
        for topic in unsafe { list("reads", self.reads, self.reads_count) }? {
            // SAFETY: the caller's contract: `topic` is null or a terminated text.
            node = node.reads_topic(unsafe { ffi::text(*topic, "reads", NAME_BYTES_MAX) }?);
        }
        // SAFETY: the caller's contract: `writes` is null or readable for `writes_count` items.
        for topic in unsafe { list("writes", self.writes, self.writes_count) }? {
            // SAFETY: the caller's contract: `topic` is null or a terminated text.
            node = node.writes_topic(unsafe { ffi::text(*topic, "writes", NAME_BYTES_MAX) }?);
        }
        // SAFETY: the caller's contract: `self.chain` is null or a terminated text.
        if let Some(chain) = unsafe { ffi::text_if_any(self.chain, "chain", NAME_BYTES_MAX) }? {
            node = node.chain(chain);
        }
        node = node.order(self.order).checkpoints(self.checkpoints);
        node = rate(self.rate_hz).into_iter().fold(node, NodeBuilder::rate);
        node = rate(self.at_most_hz).into_iter().fold(node, NodeBuilder::at_most);
        node = time(self.budget_ns).into_iter().fold(node, NodeBuilder::budget);
        node = time(self.deadline_ns).into_iter().fold(node, NodeBuilder::deadline);
        node = time(self.watchdog_ns).into_iter().fold(node, NodeBuilder::watchdog);
        node = time(self.not_before_ns).into_iter().fold(node, NodeBuilder::not_before);
        node = self.miss()?.into_iter().fold(node, NodeBuilder::on_miss);
        node = self.failure()?.into_iter().fold(node, NodeBuilder::failure_policy);
        if self.priority != 0 {
            let priority = u8::try_from(self.priority).ok().filter(|it| (1..=99).contains(it));
            let no_priority = || wrong(format!("priority is {}, not 1 to 99", self.priority));
            node = node.priority(priority.ok_or_else(no_priority)?);
        }
        if flag("is_pinned", self.is_pinned)? {
            node = node.core(self.core as usize);
        }
        if flag("is_awake", self.is_awake)? {
            node = node.stay_awake();
        }
        Ok(if flag("is_compute", self.is_compute)? { node.compute() } else { node })
    }

    fn miss(&self) -> Result<Option<Miss>, Failure> {
        Ok(Some(match self.on_miss {
            HORUS_UNSET => return Ok(None),
            HORUS_MISS_WARN => Miss::Warn,
            HORUS_MISS_SKIP => Miss::Skip,
            HORUS_MISS_SAFE_MODE => Miss::SafeMode,
            HORUS_MISS_GRADUATED => Miss::Graduated,
            HORUS_MISS_STOP => Miss::Stop,
            other => return Err(wrong(format!("on_miss is {other}, not 0 to 5"))),
        }))
    }

    fn failure(&self) -> Result<Option<FailurePolicy>, Failure> {
        let (max, pause) = (self.failures_max, Duration::from_nanos(self.pause_ns));
        Ok(Some(match self.on_failure {
            HORUS_UNSET => return Ok(None),
            HORUS_FAILURE_FATAL => FailurePolicy::Fatal,
            HORUS_FAILURE_RESTART => FailurePolicy::Restart { max, backoff: pause },
            HORUS_FAILURE_SKIP => FailurePolicy::Skip { max, cooldown: pause },
            HORUS_FAILURE_IGNORE => FailurePolicy::Ignore,
            other => return Err(wrong(format!("on_failure is {other}, not 0 to 4"))),
        }))
    }
}

/// Returns a rate, or `None` for 0. The core validates it.
fn rate(hz: f64) -> Option<Rate> {
    (hz != 0.0).then(|| Rate::hz(hz))
}

pub(crate) fn flag(name: &str, value: i32) -> Result<bool, Failure> {
    match value {
        HORUS_UNSET | HORUS_NO => Ok(false),
        HORUS_YES => Ok(true),
        other => Err(wrong(format!("{name} is {other}, not 0 to 2"))),
    }
}

/// Returns a slice of the caller's array.
///
/// # Safety
///
/// `items` is null or readable for `count` items, for as long as the slice is used.
unsafe fn list<'a, T>(name: &str, items: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(Failure::new(
            HORUS_E_NULL,
            format!("{name} is null, and its count is {count}"),
        ));
    }
    if count > LIST_MAX || !items.is_aligned() {
        return Err(wrong(format!(
            "{name} has {count} items or is not aligned: wanted at most {LIST_MAX}, aligned"
        )));
    }
    // SAFETY: the caller's contract: `items` is readable for `count` items; alignment was checked.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// The caller's `user` pointer with its destructor.
struct User {
    pointer: *mut c_void,
    destroy: Option<Doing>,
    /// True once the node was added; if adding fails, `user` stays the caller's.
    is_ours: AtomicBool,
    scheduler: u64,
}

// SAFETY: the header says that callbacks run on other threads.
unsafe impl Send for User {}
// SAFETY: as above; the header says that `safe_state` may run at the same time as a tick.
unsafe impl Sync for User {}

impl Drop for User {
    fn drop(&mut self) {
        // Relaxed: it was set before the node was passed to another thread.
        if let (true, Some(destroy)) = (self.is_ours.load(Ordering::Relaxed), self.destroy) {
            let _inside = Inside::enter(self.scheduler);
            // SAFETY: the header's contract: `destroy` accepts `user` once, after every other call.
            unsafe { destroy(self.pointer) };
        }
    }
}

/// A node whose methods call the C callbacks.
pub(crate) struct CNode {
    tick: WithContext,
    calls: HorusNode,
    user: Arc<User>,
    /// The error text that the running callback has set.
    said: String,
}

// SAFETY: its `user` is `Send`, and the other members are functions and a text.
unsafe impl Send for CNode {}

/// A receipt of a node that was added, with which its `user` is destroyed.
pub(crate) struct Receipt(Arc<User>);

impl Receipt {
    pub(crate) fn accept(self) {
        // Relaxed: see `User::drop`.
        self.0.is_ours.store(true, Ordering::Relaxed);
    }
}

/// The callback for a tick that does not return.
pub(crate) type SafeState = Box<dyn FnMut() + Send>;

impl CNode {
    pub(crate) fn new(
        calls: HorusNode,
        scheduler: u64,
    ) -> Result<(Self, Receipt, Option<SafeState>), Failure> {
        let tick = calls.tick.ok_or_else(|| Failure::new(HORUS_E_NULL, "node->tick is null"))?;
        let user = Arc::new(User {
            pointer: calls.user,
            destroy: calls.destroy,
            is_ours: AtomicBool::new(false),
            scheduler,
        });
        let receipt = Receipt(Arc::clone(&user));
        let safe_state = calls.safe_state.map(|call| {
            let (user, mut said) = (Arc::clone(&user), String::new());
            let act = move || {
                // WHY the whole `User`: a closure that captured only the pointer would not be
                // `Send`.
                let user: &User = &user;
                let _inside = Inside::enter(user.scheduler);
                let mut given = HorusContext::without_tick(&mut said);
                // SAFETY: the header's contract: `safe_state` accepts `user` and a context, on any
                // thread.
                let code = unsafe { call(user.pointer, &raw mut given) };
                if code != 0 {
                    // WHY: as in `enter_safe_state`.
                    resume_unwind(Box::new(text_of(code, &mut said)));
                }
            };
            Box::new(act) as SafeState
        });
        Ok((Self { tick, calls, user, said: String::new() }, receipt, safe_state))
    }

    /// Calls a callback with the full context of a tick.
    #[inline(always)]
    fn call(&mut self, call: WithContext, context: &mut Context<'_>) -> NodeResult {
        let _inside = Inside::enter(self.user.scheduler);
        let mut given = HorusContext::new(context, &mut self.said);
        // SAFETY: the header's contract: the callback accepts `user` and a context, on any thread.
        let code = unsafe { call(self.user.pointer, &raw mut given) };
        self.outcome(code)
    }

    /// Calls a callback outside of ticks, whose context can only set an error.
    fn call_between(&mut self, call: WithContext) -> NodeResult {
        let _inside = Inside::enter(self.user.scheduler);
        let mut given = HorusContext::without_tick(&mut self.said);
        // SAFETY: the header's contract: the callback accepts `user` and a context, on any thread.
        let code = unsafe { call(self.user.pointer, &raw mut given) };
        self.outcome(code)
    }

    #[inline(always)]
    fn outcome(&mut self, code: i32) -> NodeResult {
        if code == 0 { Ok(()) } else { Err(self.failure(code)) }
    }

    #[cold]
    fn failure(&mut self, code: i32) -> NodeError {
        text_of(code, &mut self.said).into()
    }
}

/// Returns the error text of a callback that returned a number other than 0.
fn text_of(code: i32, said: &mut String) -> String {
    if said.is_empty() {
        return format!("the callback returned {code}");
    }
    std::mem::take(said)
}

impl Node for CNode {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.calls.init.map_or(Ok(()), |init| self.call(init, context))
    }

    #[inline]
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.call(self.tick, context)
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls.shutdown.map_or(Ok(()), |shutdown| self.call_between(shutdown))
    }

    fn enter_safe_state(&mut self) {
        let entered = self.calls.enter_safe_state.map_or(Ok(()), |enter| self.call_between(enter));
        if let Err(error) = entered {
            // WHY: the scheduler takes a panic for a failed safe state; `resume_unwind` prints
            // nothing.
            resume_unwind(Box::new(error.to_string()));
        }
    }

    fn is_safe_state(&self) -> bool {
        let Some(is_safe) = self.calls.is_safe_state else { return true };
        let _inside = Inside::enter(self.user.scheduler);
        // SAFETY: the header's contract: `is_safe_state` accepts `user`, on any thread.
        unsafe { is_safe(self.user.pointer) != 0 }
    }

    fn on_error(&mut self, error: &NodeError) {
        let Some(tell) = self.calls.on_error else { return };
        let text = CString::new(error.to_string().replace('\0', "?")).unwrap_or_default();
        let _inside = Inside::enter(self.user.scheduler);
        // SAFETY: the header's contract: `on_error` accepts `user` and a text, which lives during
        // the call.
        unsafe { tell(self.user.pointer, text.as_ptr()) };
    }
}
