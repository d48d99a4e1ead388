//! Eventcounts on real memory: those of a topic file, and those between threads of a process.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::WakeEdge;
use super::{Eventcount, POLL, Sleeper, WaitPolicy, has_sleepers, wait_until, wake};
use crate::os::futex::{self, FutexWaitv, Scope, SleepOutcome, WAITV_MAX};
use crate::process::fork::ForkLocal;
use crate::protocol::layout::WaitBlock;
use crate::protocol::sync::{self, Edge, Word, edge};

/// The source of the store-load order: a fence on both sides, or a barrier by the waiter for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeOrder {
    Fences,
    Barrier,
}

impl WakeOrder {
    /// Returns the order for a sender at a topic with `wake_edge`. Registers this process, once, if
    /// barriers have to reach it; if the kernel refuses, the sender uses fences.
    pub(crate) fn of_sender(wake_edge: WakeEdge) -> Self {
        match wake_edge {
            WakeEdge::Membarrier if registered(Scope::Machine) => Self::Barrier,
            _ => Self::Fences,
        }
    }

    /// Returns the order for a waiter at a topic with `wake_edge`.
    pub(crate) const fn of_waiter(wake_edge: WakeEdge) -> Self {
        match wake_edge {
            WakeEdge::Membarrier => Self::Barrier,
            WakeEdge::Fence => Self::Fences,
        }
    }
}

/// The kernel's answers to the registrations of this process for barriers.
#[derive(Debug, Default)]
struct Registrations {
    process: OnceLock<bool>,
    machine: OnceLock<bool>,
}

static REGISTRATIONS: ForkLocal<Registrations> = ForkLocal::new();

/// Returns true if barriers of `scope` reach this process.
fn registered(scope: Scope) -> bool {
    let registrations = REGISTRATIONS.get();
    let place = match scope {
        Scope::Process => &registrations.process,
        Scope::Machine => &registrations.machine,
    };
    *place.get_or_init(|| {
        let registered = futex::register_for_barriers(scope);
        // ORDERING(wake): a barrier before the registration comes before all that this process
        // sends from here on: it will see that waiter's announcement.
        sync::fence(edge::WAKE_LOOK);
        registered
    })
}

/// Returns true if [`barrier_in_process`] can be relied on. Calls the kernel once.
pub fn reaches_this_process() -> bool {
    registered(Scope::Process)
}

/// Makes a full memory barrier on every CPU that runs a thread of this process; false if the kernel
/// refuses.
pub fn barrier_in_process() -> bool {
    // WHY: a forked child has to register again.
    registered(Scope::Process) && futex::barrier(Scope::Process)
}

/// An eventcount whose words are elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<'a> {
    wake: &'a AtomicU32,
    waiters: &'a AtomicU64,
    sleeper: Sleeper,
    /// The number of threads of this process that sleep under the bit, if several may.
    sharers: Option<&'a Mutex<u32>>,
    order: WakeOrder,
    scope: Scope,
}

impl<'a> Event<'a> {
    /// Shares the bit among several threads of this process. `sharers` counts them; the bit stays
    /// set until the last one has withdrawn its announcement.
    pub(crate) const fn shared(mut self, sharers: &'a Mutex<u32>) -> Self {
        self.sharers = Some(sharers);
        self
    }

    /// Returns the eventcount at which the readers of a topic sleep.
    #[inline(always)]
    pub(crate) const fn of_messages(
        block: &'a WaitBlock<AtomicU64>,
        sleeper: Sleeper,
        order: WakeOrder,
    ) -> Self {
        let (wake, waiters) = (&block.wake, &block.waiters);
        Self { wake, waiters, sleeper, sharers: None, order, scope: Scope::Machine }
    }

    /// Returns the eventcount at which the publishers of a reliable topic wait for room.
    #[inline(always)]
    pub(crate) const fn of_room(
        block: &'a WaitBlock<AtomicU64>,
        sleeper: Sleeper,
        order: WakeOrder,
    ) -> Self {
        let (wake, waiters) = (&block.room, &block.room_waiters);
        Self { wake, waiters, sleeper, sharers: None, order, scope: Scope::Machine }
    }
}

impl Eventcount for Event<'_> {
    type Wake = AtomicU32;

    type Word = AtomicU64;

    #[inline(always)]
    fn wake(&self) -> &AtomicU32 {
        self.wake
    }

    #[inline(always)]
    fn waiters(&self) -> &AtomicU64 {
        self.waiters
    }

    fn sleeper(&self) -> Sleeper {
        self.sleeper
    }

    fn announce(&self) {
        match (self.sleeper, self.sharers) {
            (Sleeper::Bit(bit), Some(sharers)) => {
                let mut sharers = sharers.lock().unwrap_or_else(PoisonError::into_inner);
                *sharers += 1;
                self.waiters.fetch_or_relaxed(1 << bit);
            }
            (Sleeper::Bit(bit), None) => self.waiters.fetch_or_relaxed(1 << bit),
            (Sleeper::Counted, _) => self.waiters.fetch_add_one(),
        }
    }

    fn withdraw(&self) {
        match (self.sleeper, self.sharers) {
            (Sleeper::Bit(bit), Some(sharers)) => {
                // WHY a lock: between the decrement and the clearing of the bit another thread
                // could announce itself, and would then sleep without a bit.
                let mut sharers = sharers.lock().unwrap_or_else(PoisonError::into_inner);
                *sharers -= 1;
                if *sharers == 0 {
                    self.waiters.fetch_and_not_relaxed(1 << bit);
                }
            }
            (Sleeper::Bit(bit), None) => self.waiters.fetch_and_not_relaxed(1 << bit),
            (Sleeper::Counted, _) => self.waiters.fetch_sub_one(),
        }
    }

    #[inline(always)]
    fn fence_of_sender(&self, edge: Edge) {
        match self.order {
            WakeOrder::Fences => sync::fence(edge),
            // WHY: for the compiler only; the waiter's barrier orders the accesses on the CPU.
            WakeOrder::Barrier => sync::compiler_fence(edge),
        }
    }

    fn fence_of_waiter(events: &[&Self], edge: Edge) -> bool {
        // WHY even with barriers: senders that could not register use fences.
        sync::fence(edge);
        let needs =
            |scope| events.iter().any(|e| (e.order, e.scope) == (WakeOrder::Barrier, scope));
        let made = |scope| !needs(scope) || futex::barrier(scope);
        made(Scope::Machine) && made(Scope::Process)
    }

    fn sleep(events: &[&Self], seen: &[u32], timeout: Duration) -> bool {
        let slept = match (events, seen) {
            ([event], [seen]) => futex::wait(event.wake, *seen, timeout, event.scope),
            _ => sleep_at_any(events, seen, timeout),
        };
        if slept == SleepOutcome::Unsupported {
            std::thread::sleep(timeout.min(POLL));
        }
        slept == SleepOutcome::Woken
    }

    fn rouse(&self) -> u32 {
        futex::wake_all(self.wake, self.scope)
    }
}

fn sleep_at_any(events: &[&Event<'_>], seen: &[u32], timeout: Duration) -> SleepOutcome {
    if events.is_empty() {
        return SleepOutcome::Unsupported;
    }
    let mut waiters = [FutexWaitv::UNUSED; WAITV_MAX];
    for (waiter, (event, &seen)) in waiters.iter_mut().zip(events.iter().zip(seen)) {
        *waiter = FutexWaitv::new(event.wake, seen, event.scope);
    }
    // SAFETY: the futex words are borrowed for the call.
    unsafe { futex::wait_any(&waiters[..events.len()], timeout) }
}

/// An eventcount between the threads of this process.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::Duration;
///
/// use horus_shm::internals::wait::{EventCount, WaitPolicy};
///
/// let (there, event) = (AtomicBool::new(false), EventCount::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         there.store(true, Ordering::Relaxed);
///         event.notify();
///     });
///     let look = || there.load(Ordering::Relaxed).then_some("found");
///     assert_eq!(event.wait_until(WaitPolicy::endless(), look), Some("found"));
/// });
/// ```
#[derive(Debug)]
#[repr(align(128))]
pub struct EventCount {
    wake: AtomicU32,
    waiters: AtomicU64,
    order: WakeOrder,
}

impl EventCount {
    /// Creates an eventcount without sleepers.
    #[must_use]
    pub fn new() -> Self {
        let order = if registered(Scope::Process) { WakeOrder::Barrier } else { WakeOrder::Fences };
        Self { wake: AtomicU32::new(0), waiters: AtomicU64::new(0), order }
    }

    /// Returns the view that its sleepers and wakers use.
    #[inline(always)]
    pub(crate) fn event(&self) -> Event<'_> {
        let Self { wake, waiters, order } = self;
        let (sleeper, scope) = (Sleeper::Counted, Scope::Process);
        Event { wake, waiters, sleeper, sharers: None, order: *order, scope }
    }

    /// Wakes all sleepers. To be called after the value for which they wait was stored.
    ///
    /// Costs one load, and no system call, if no thread sleeps.
    #[inline(always)]
    pub fn notify(&self) {
        if has_sleepers(&self.event()) {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        wake(&self.event());
    }

    /// Polls `look` until it returns a value, or until `wait_policy` ends.
    ///
    /// Spins, then blocks; wakes at least every 50 ms to poll. `look` is called at least once, and
    /// only by this thread.
    pub fn wait_until<R>(
        &self,
        wait_policy: WaitPolicy,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        wait_until(&[&self.event()], wait_policy, look)
    }
}

impl Default for EventCount {
    fn default() -> Self {
        Self::new()
    }
}
