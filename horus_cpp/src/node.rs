//! Nodes whose behaviour is defined by C callbacks, and the options of such nodes.

use std::ffi::{CString, c_char, c_void};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use horus_core::scheduler::{
    Context, FailurePolicy, MissPolicy, Node, NodeBuilder, NodeError, NodeResult, Rate,
};

use crate::callback::CallbackGuard;
use crate::context::HorusContext;
use crate::ffi::{
    self, HORUS_PRIORITY_ZERO, NAME_BYTES_MAX, SizePrefixedStruct, duration_unless_default,
    invalid_argument,
};
use crate::status::{Failure, HORUS_E_NULL};
use crate::subscriber::{HorusSubscriber, SUBSCRIBERS};
use crate::{HORUS_NO, HORUS_UNSET, HORUS_YES};

/// Policy for missed deadlines of a node: a miss is only counted and reported.
pub const HORUS_MISS_WARN: i32 = 1;
/// Policy for missed deadlines of a node: the tick after a miss is skipped.
pub const HORUS_MISS_SKIP: i32 = 2;
/// Policy for missed deadlines of a node: the node enters its safe state after a miss.
pub const HORUS_MISS_SAFE_MODE: i32 = 3;
/// Policy for missed deadlines of a node: the reaction grows with repeated misses. The first is a
/// warning; then the scheduler halves the node's rate, isolates the node, and at last ends the run.
pub const HORUS_MISS_GRADUATED: i32 = 4;
/// Policy for missed deadlines of a node: the scheduler stops after a miss.
pub const HORUS_MISS_STOP: i32 = 5;

/// Policy for failures of a node, and the default: every node enters its safe state and the
/// scheduler stops.
pub const HORUS_FAILURE_FATAL: i32 = 1;
/// Policy for failures of a node: the node is shut down and initialised again.
pub const HORUS_FAILURE_RESTART: i32 = 2;
/// Policy for failures of a node: the failed tick is skipped. After too many failures in a row, the
/// node pauses for a time.
pub const HORUS_FAILURE_SKIP: i32 = 3;
/// Policy for failures of a node: a failure is only counted and reported.
pub const HORUS_FAILURE_IGNORE: i32 = 4;

/// Maximum length of each array in the options of a node: `wake`, `reads` and `writes`.
const LIST_LENGTH_MAX: usize = 128;

type ContextCallback = unsafe extern "C" fn(*mut c_void, *mut HorusContext) -> i32;
type BoolCallback = unsafe extern "C" fn(*mut c_void) -> i32;
type CallbackWithoutContext = unsafe extern "C" fn(*mut c_void);
type ErrorCallback = unsafe extern "C" fn(*mut c_void, *const c_char);

/// The C struct `horus_node_t`, as `scheduler.h` declares it: the callbacks of a node.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusNode {
    pub struct_bytes: u32,
    pub reserved: u32,
    pub user: *mut c_void,
    pub tick: Option<ContextCallback>,
    pub init: Option<ContextCallback>,
    pub shutdown: Option<ContextCallback>,
    pub enter_safe_state: Option<ContextCallback>,
    pub is_safe_state: Option<BoolCallback>,
    pub on_error: Option<ErrorCallback>,
    pub safe_state: Option<ContextCallback>,
    pub destroy: Option<CallbackWithoutContext>,
}

// SAFETY: numbers, pointers and nullable functions, so zeros are valid; the first member is a
// `u32`.
unsafe impl SizePrefixedStruct for HorusNode {
    const FIRST_VERSION_BYTES: usize = 80;
}

/// The C struct `horus_node_options_t`, as `scheduler.h` declares it: the optional settings of a
/// node.
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
    pub miss_if_sooner_than_ns: u64,
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
unsafe impl SizePrefixedStruct for HorusNodeOptions {
    const FIRST_VERSION_BYTES: usize = 160;
}

impl HorusNodeOptions {
    /// Applies these options to `builder`, the builder of a node.
    ///
    /// # Safety
    ///
    /// The members are as `scheduler.h` requires for `horus_scheduler_add_node`.
    pub(crate) unsafe fn apply<'a>(
        &self,
        mut node: NodeBuilder<'a>,
    ) -> Result<NodeBuilder<'a>, Failure> {
        // SAFETY: the caller's contract: `wake` is null or readable for `wake_count` items.
        for wake in unsafe { slice_of_caller("wake", self.wake, self.wake_count) }? {
            // SAFETY: the caller's contract: no other thread is in a call with the handle.
            let subscriber = unsafe { SUBSCRIBERS.borrow_value(wake.id) }?;
            let name = subscriber.name();
            let added = node.add_waking_subscriber(name, &*subscriber);
            added.map_err(|error| Failure::from(error).add_topic_name(name))?;
        }
        // SAFETY: the caller's contract: `reads` is null or readable for `reads_count` items.
        for topic in unsafe { slice_of_caller("reads", self.reads, self.reads_count) }? {
            // SAFETY: the caller's contract: `topic` is null or a terminated text.
            node =
                node.reads_topic(unsafe { ffi::required_text(*topic, "reads", NAME_BYTES_MAX) }?);
        }
        // SAFETY: the caller's contract: `writes` is null or readable for `writes_count` items.
        for topic in unsafe { slice_of_caller("writes", self.writes, self.writes_count) }? {
            // SAFETY: the caller's contract: `topic` is null or a terminated text.
            node =
                node.writes_topic(unsafe { ffi::required_text(*topic, "writes", NAME_BYTES_MAX) }?);
        }
        // SAFETY: the caller's contract: `self.chain` is null or a terminated text.
        if let Some(chain) = unsafe { ffi::optional_text(self.chain, "chain", NAME_BYTES_MAX) }? {
            node = node.chain(chain);
        }
        node = node.order(self.order).checkpoints(self.checkpoints);
        node = rate_unless_default(self.rate_hz)
            .into_iter()
            .fold(node, NodeBuilder::rate);
        node = rate_unless_default(self.at_most_hz)
            .into_iter()
            .fold(node, NodeBuilder::at_most);
        node = duration_unless_default("budget_ns", self.budget_ns)?
            .into_iter()
            .fold(node, NodeBuilder::budget);
        node = duration_unless_default("deadline_ns", self.deadline_ns)?
            .into_iter()
            .fold(node, NodeBuilder::deadline);
        node = duration_unless_default("watchdog_ns", self.watchdog_ns)?
            .into_iter()
            .fold(node, NodeBuilder::watchdog);
        node = duration_unless_default("miss_if_sooner_than_ns", self.miss_if_sooner_than_ns)?
            .into_iter()
            .fold(node, NodeBuilder::miss_if_sooner_than);
        node = self
            .miss_policy()?
            .into_iter()
            .fold(node, NodeBuilder::on_miss);
        node = self
            .failure_policy()?
            .into_iter()
            .fold(node, NodeBuilder::failure_policy);
        if self.priority != 0 {
            let priority = u8::try_from(self.priority)
                .ok()
                .filter(|it| (1..=99).contains(it));
            let no_priority = || {
                let found = match self.priority {
                    HORUS_PRIORITY_ZERO => 0,
                    other => other,
                };
                invalid_argument(format!("priority is {found}, not 1 to 99"))
            };
            node = node.priority(priority.ok_or_else(no_priority)?);
        }
        if parse_flag("is_pinned", self.is_pinned)? {
            node = node.core(self.core as usize);
        }
        if parse_flag("is_awake", self.is_awake)? {
            node = node.stay_awake();
        }
        Ok(if parse_flag("is_compute", self.is_compute)? {
            node.compute()
        } else {
            node
        })
    }

    fn miss_policy(&self) -> Result<Option<MissPolicy>, Failure> {
        Ok(Some(match self.on_miss {
            HORUS_UNSET => return Ok(None),
            HORUS_MISS_WARN => MissPolicy::Warn,
            HORUS_MISS_SKIP => MissPolicy::Skip,
            HORUS_MISS_SAFE_MODE => MissPolicy::SafeMode,
            HORUS_MISS_GRADUATED => MissPolicy::Graduated,
            HORUS_MISS_STOP => MissPolicy::Stop,
            other => return Err(invalid_argument(format!("on_miss is {other}, not 0 to 5"))),
        }))
    }

    fn failure_policy(&self) -> Result<Option<FailurePolicy>, Failure> {
        let max = self.failures_max;
        let pause = duration_unless_default("pause_ns", self.pause_ns)?.unwrap_or_default();
        Ok(Some(match self.on_failure {
            HORUS_UNSET => return Ok(None),
            HORUS_FAILURE_FATAL => FailurePolicy::Fatal,
            HORUS_FAILURE_RESTART => FailurePolicy::Restart {
                max,
                backoff: pause,
            },
            HORUS_FAILURE_SKIP => FailurePolicy::Skip {
                max,
                cooldown: pause,
            },
            HORUS_FAILURE_IGNORE => FailurePolicy::Ignore,
            other => {
                return Err(invalid_argument(format!(
                    "on_failure is {other}, not 0 to 4"
                )));
            }
        }))
    }
}

/// Returns the rate of an option, in hertz. 0 stands for no rate, and -0 for a rate of 0, which C++
/// programs may give. `horus_core` checks whether the rate is valid.
fn rate_unless_default(hz: f64) -> Option<Rate> {
    let is_given = hz.to_bits() != 0;
    // WHY a sum: its 0 has no sign in errors.
    is_given.then(|| Rate::hz(hz + 0.0))
}

pub(crate) fn parse_flag(name: &str, value: i32) -> Result<bool, Failure> {
    match value {
        HORUS_UNSET | HORUS_NO => Ok(false),
        HORUS_YES => Ok(true),
        other => Err(invalid_argument(format!("{name} is {other}, not 0 to 2"))),
    }
}

/// Returns the caller's array as a slice, without copying it. `name` is the name of the array in
/// errors.
///
/// # Safety
///
/// `items` is null or readable for `count` items, for as long as the slice is used.
unsafe fn slice_of_caller<'a, T>(
    name: &str,
    items: *const T,
    count: usize,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(Failure::new(
            HORUS_E_NULL,
            format!("{name} is null, and its count is {count}"),
        ));
    }
    if count > LIST_LENGTH_MAX || !items.is_aligned() {
        return Err(invalid_argument(format!(
            "{name} has {count} items or is not aligned: wanted at most {LIST_LENGTH_MAX}, aligned"
        )));
    }
    // SAFETY: the caller's contract: `items` is readable for `count` items; alignment was checked.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// The pointer `user` that the C program passed for a node, and the function that destroys the
/// object to which it points.
struct UserData {
    pointer: *mut c_void,
    destroy: Option<CallbackWithoutContext>,
    /// True after the node has been added: the library then destroys the object. If adding the node
    /// fails, the C program still owns the object.
    is_owned_by_library: AtomicBool,
    scheduler: u64,
}

// SAFETY: the header says that callbacks run on other threads.
unsafe impl Send for UserData {}
// SAFETY: as above; the header says that `safe_state` may run at the same time as a tick.
unsafe impl Sync for UserData {}

impl Drop for UserData {
    fn drop(&mut self) {
        // Relaxed: it was set before the node was passed to another thread.
        if let (true, Some(destroy)) = (
            self.is_owned_by_library.load(Ordering::Relaxed),
            self.destroy,
        ) {
            let _in_callback = CallbackGuard::enter(self.scheduler);
            // SAFETY: the header's contract: `destroy` accepts `user` once, after every other call.
            unsafe { destroy(self.pointer) };
        }
    }
}

/// A node that calls C callbacks to initialise, tick and shut down.
pub(crate) struct CNode {
    tick: ContextCallback,
    calls: HorusNode,
    user: Arc<UserData>,
    /// The error text that the running callback has set with `horus_context_set_error`.
    error_text: String,
}

// SAFETY: its `user` is `Send`, and the other members are functions and a text.
unsafe impl Send for CNode {}

/// A value that transfers the ownership of a node's `user` pointer from the C program to the
/// library. The transfer is made after the node has been added.
pub(crate) struct UserDataOwnership(Arc<UserData>);

impl UserDataOwnership {
    pub(crate) fn transfer_to_library(self) {
        // Relaxed: see `UserData::drop`.
        self.0.is_owned_by_library.store(true, Ordering::Relaxed);
    }
}

/// A callback that brings a node into its safe state while a tick of the node hangs.
pub(crate) type SafeStateCallback = Box<dyn FnMut() + Send>;

impl CNode {
    pub(crate) fn new(
        calls: HorusNode,
        scheduler: u64,
    ) -> Result<(Self, UserDataOwnership, Option<SafeStateCallback>), Failure> {
        let tick = calls
            .tick
            .ok_or_else(|| Failure::new(HORUS_E_NULL, "node->tick is null"))?;
        let user = Arc::new(UserData {
            pointer: calls.user,
            destroy: calls.destroy,
            is_owned_by_library: AtomicBool::new(false),
            scheduler,
        });
        let ownership = UserDataOwnership(Arc::clone(&user));
        let safe_state = calls.safe_state.map(|call| {
            let user = Arc::clone(&user);
            let mut error_text = String::new();
            let act = move || {
                // WHY the whole `UserData`: a closure that captured only its pointer would not be
                // `Send`.
                let user: &UserData = &user;
                let _in_callback = CallbackGuard::enter(user.scheduler);
                let mut c_context = HorusContext::new_outside_tick(&mut error_text);
                // SAFETY: the header's contract: `safe_state` accepts `user` and a context, on any
                // thread.
                let code = unsafe { call(user.pointer, &raw mut c_context) };
                if code != 0 {
                    // WHY: as in `enter_safe_state`.
                    resume_unwind(Box::new(take_error_text(code, &mut error_text)));
                }
            };
            Box::new(act) as SafeStateCallback
        });
        Ok((
            Self {
                tick,
                calls,
                user,
                error_text: String::new(),
            },
            ownership,
            safe_state,
        ))
    }

    /// Calls `call`, a C callback of the node, with the full context of a tick.
    #[inline(always)]
    fn call_with_tick_context(
        &mut self,
        call: ContextCallback,
        context: &mut Context<'_>,
    ) -> NodeResult {
        let _in_callback = CallbackGuard::enter(self.user.scheduler);
        let mut c_context = HorusContext::new(context, &mut self.error_text);
        // SAFETY: the header's contract: the callback accepts `user` and a context, on any thread.
        let code = unsafe { call(self.user.pointer, &raw mut c_context) };
        self.node_result_of_status(code)
    }

    /// Calls `call`, a C callback of the node, outside of a tick. The callback can use its context
    /// only to set an error.
    fn call_outside_tick(&mut self, call: ContextCallback) -> NodeResult {
        let _in_callback = CallbackGuard::enter(self.user.scheduler);
        let mut c_context = HorusContext::new_outside_tick(&mut self.error_text);
        // SAFETY: the header's contract: the callback accepts `user` and a context, on any thread.
        let code = unsafe { call(self.user.pointer, &raw mut c_context) };
        self.node_result_of_status(code)
    }

    #[inline(always)]
    fn node_result_of_status(&mut self, code: i32) -> NodeResult {
        if code == 0 {
            Ok(())
        } else {
            Err(self.node_error(code))
        }
    }

    #[cold]
    fn node_error(&mut self, code: i32) -> NodeError {
        take_error_text(code, &mut self.error_text).into()
    }
}

/// Returns the error text that a callback has set, and clears it. If the callback has set none,
/// returns a text about `code`, the nonzero result of the callback.
fn take_error_text(code: i32, error_text: &mut String) -> String {
    if error_text.is_empty() {
        // The C++ wrapper turns false into -1.
        let result = if code == -1 {
            "false or -1"
        } else {
            &code.to_string()
        };
        return format!("the callback returned {result}, and set no error text");
    }
    std::mem::take(error_text)
}

impl Node for CNode {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.calls
            .init
            .map_or(Ok(()), |init| self.call_with_tick_context(init, context))
    }

    #[inline]
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.call_with_tick_context(self.tick, context)
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls
            .shutdown
            .map_or(Ok(()), |shutdown| self.call_outside_tick(shutdown))
    }

    fn enter_safe_state(&mut self) {
        let entered = self
            .calls
            .enter_safe_state
            .map_or(Ok(()), |enter| self.call_outside_tick(enter));
        if let Err(error) = entered {
            // WHY: the scheduler treats a panic as a failed safe state, and `resume_unwind` prints
            // nothing.
            resume_unwind(Box::new(error.to_string()));
        }
    }

    fn is_safe_state(&self) -> bool {
        let Some(is_safe) = self.calls.is_safe_state else {
            return true;
        };
        let _in_callback = CallbackGuard::enter(self.user.scheduler);
        // SAFETY: the header's contract: `is_safe_state` accepts `user`, on any thread.
        unsafe { is_safe(self.user.pointer) != 0 }
    }

    fn on_error(&mut self, error: &NodeError) {
        let Some(tell) = self.calls.on_error else {
            return;
        };
        let text = CString::new(error.to_string().replace('\0', "?")).unwrap_or_default();
        let _in_callback = CallbackGuard::enter(self.user.scheduler);
        // SAFETY: the header's contract: `on_error` accepts `user` and a text, which lives during
        // the call.
        unsafe { tell(self.user.pointer, text.as_ptr()) };
    }
}
