//! The two kinds of eventcounts: in a topic file, for processes that wait for each other; and in
//! private memory, for the threads of one process.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::WakeBarrier;
use super::{Eventcount, POLL_INTERVAL, SleeperKind, WaitPolicy, has_sleepers, wait_until, wake};
use crate::os::futex::{self, FutexScope, FutexSleepOutcome, FutexWaitv, WAITV_MAX};
use crate::process::fork::ForkLocal;
use crate::protocol::layout::WaitBlock;
use crate::protocol::sync::{self, Edge, Word, edge};

/// The means by which a store is ordered before a later load, both in the sender and in the waiter:
/// a fence on each side, or a barrier that the waiter makes for both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeOrder {
    Fences,
    Barrier,
}

impl WakeOrder {
    /// Returns the means for a sender whose lane has `wake_barrier`. For barriers, this function
    /// first registers the process with the kernel, if it has not done so before. If the kernel
    /// refuses, the sender uses fences.
    pub(crate) fn of_sender(wake_barrier: WakeBarrier) -> Self {
        match wake_barrier {
            WakeBarrier::Membarrier if register_for_barriers(FutexScope::Machine) => Self::Barrier,
            _ => Self::Fences,
        }
    }
}

/// Caches the results of the registration for barriers, one for each scope, because a process
/// registers only once.
#[derive(Debug, Default)]
struct BarrierRegistrations {
    process: OnceLock<bool>,
    machine: OnceLock<bool>,
}

static BARRIER_REGISTRATIONS: ForkLocal<BarrierRegistrations> = ForkLocal::new();

/// Registers this process for barriers of the scope `scope`, unless that was done before. Returns
/// true if it is registered.
fn register_for_barriers(scope: FutexScope) -> bool {
    let registrations = BARRIER_REGISTRATIONS.get();
    let place = match scope {
        FutexScope::Process => &registrations.process,
        FutexScope::Machine => &registrations.machine,
    };
    *place.get_or_init(|| {
        let is_registered = futex::register_for_membarrier(scope);
        // ORDERING(wake): a barrier before the registration comes before all that this process
        // sends from here on: it will see that waiter's announcement.
        sync::fence(edge::WAKE_SENDER_FENCE);
        is_registered
    })
}

/// Returns true if [`execute_process_barrier`] works on this system. Makes a system call only in
/// the first call.
pub fn can_execute_process_barrier() -> bool {
    register_for_barriers(FutexScope::Process)
}

/// Executes a full memory barrier on every CPU that runs a thread of this process. Returns false if
/// the kernel refuses.
pub fn execute_process_barrier() -> bool {
    // WHY registered first: a forked child has to register again.
    register_for_barriers(FutexScope::Process) && futex::execute_barrier(FutexScope::Process)
}

/// An eventcount (a counter at which threads sleep) whose two words are in a topic file or in a
/// [`LocalEventcount`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventcountView<'a> {
    wake: &'a AtomicU32,
    waiters: &'a AtomicU64,
    sleeper: SleeperKind,
    /// Number of threads of this process that sleep and share the bit of `sleeper`; `None` if only
    /// one thread uses that bit.
    sharers: Option<&'a Mutex<u32>>,
    order: WakeOrder,
    scope: FutexScope,
}

impl<'a> EventcountView<'a> {
    /// Lets several threads of this process share the bit of the sleeper. `sharers` counts the
    /// threads that are announced; the bit stays set until the last of them has withdrawn its
    /// announcement.
    pub(crate) const fn with_shared_bit(mut self, sharers: &'a Mutex<u32>) -> Self {
        self.sharers = Some(sharers);
        self
    }

    /// Returns the eventcount at which the readers of a topic sleep until a message is published.
    #[inline(always)]
    pub(crate) const fn of_messages(
        block: &'a WaitBlock<AtomicU64>,
        sleeper: SleeperKind,
        order: WakeOrder,
    ) -> Self {
        let wake = &block.wake;
        let waiters = &block.waiters;
        Self {
            wake,
            waiters,
            sleeper,
            sharers: None,
            order,
            scope: FutexScope::Machine,
        }
    }

    /// Returns the eventcount at which the reliable publishers of a topic sleep until a slot
    /// becomes free.
    #[inline(always)]
    pub(crate) const fn of_room(
        block: &'a WaitBlock<AtomicU64>,
        sleeper: SleeperKind,
        order: WakeOrder,
    ) -> Self {
        let wake = &block.room;
        let waiters = &block.room_waiters;
        Self {
            wake,
            waiters,
            sleeper,
            sharers: None,
            order,
            scope: FutexScope::Machine,
        }
    }
}

impl Eventcount for EventcountView<'_> {
    type Wake = AtomicU32;

    type Word = AtomicU64;

    #[inline(always)]
    fn wake_word(&self) -> &AtomicU32 {
        self.wake
    }

    #[inline(always)]
    fn waiters_word(&self) -> &AtomicU64 {
        self.waiters
    }

    fn sleeper(&self) -> SleeperKind {
        self.sleeper
    }

    fn announce_waiter(&self) {
        match (self.sleeper, self.sharers) {
            (SleeperKind::Bit(bit), Some(sharers)) => {
                let mut sharers = sharers.lock().unwrap_or_else(PoisonError::into_inner);
                *sharers += 1;
                self.waiters.set_bits_relaxed(1 << bit);
            }
            (SleeperKind::Bit(bit), None) => self.waiters.set_bits_relaxed(1 << bit),
            (SleeperKind::Counted, _) => self.waiters.fetch_add_one(),
        }
    }

    fn withdraw_waiter(&self) {
        match (self.sleeper, self.sharers) {
            (SleeperKind::Bit(bit), Some(sharers)) => {
                // WHY a lock: otherwise another thread could announce itself between the decrement
                // and the clearing of the bit, and would then sleep without the bit.
                let mut sharers = sharers.lock().unwrap_or_else(PoisonError::into_inner);
                *sharers -= 1;
                if *sharers == 0 {
                    self.waiters.clear_bits_relaxed(1 << bit);
                }
            }
            (SleeperKind::Bit(bit), None) => self.waiters.clear_bits_relaxed(1 << bit),
            (SleeperKind::Counted, _) => self.waiters.fetch_sub_one(),
        }
    }

    #[inline(always)]
    fn fence_in_sender(&self, edge: Edge) {
        match self.order {
            WakeOrder::Fences => sync::fence(edge),
            // WHY: for the compiler only; the waiter's barrier orders the accesses on the CPU.
            WakeOrder::Barrier => sync::compiler_fence(edge),
        }
    }

    fn fence_in_waiter(events: &[&Self], edge: Edge) -> bool {
        // WHY even with barriers: senders that could not register use fences.
        sync::fence(edge);
        let needs = |scope| {
            events
                .iter()
                .any(|e| (e.order, e.scope) == (WakeOrder::Barrier, scope))
        };
        let made = |scope| !needs(scope) || futex::execute_barrier(scope);
        made(FutexScope::Machine) && made(FutexScope::Process)
    }

    fn sleep(events: &[&Self], expected: &[u32], timeout: Duration) -> bool {
        let slept = match (events, expected) {
            ([event], [expected]) => futex::wait(event.wake, *expected, timeout, event.scope),
            _ => sleep_on_any(events, expected, timeout),
        };
        if slept == FutexSleepOutcome::Unsupported {
            std::thread::sleep(timeout.min(POLL_INTERVAL));
        }
        slept == FutexSleepOutcome::SleepEnd
    }

    fn wake_sleepers(&self) -> u32 {
        futex::wake_all(self.wake, self.scope)
    }
}

fn sleep_on_any(
    events: &[&EventcountView<'_>],
    expected: &[u32],
    timeout: Duration,
) -> FutexSleepOutcome {
    if events.is_empty() {
        return FutexSleepOutcome::Unsupported;
    }
    let mut waiters = [FutexWaitv::UNUSED; WAITV_MAX];
    for (waiter, (event, &expected)) in waiters.iter_mut().zip(events.iter().zip(expected)) {
        *waiter = FutexWaitv::new(event.wake, expected, event.scope);
    }
    // SAFETY: the futex words are borrowed for the call.
    unsafe { futex::wait_any(&waiters[..events.len()], timeout) }
}

/// An eventcount in private memory, at which only threads of this process sleep.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::Duration;
///
/// use horus_shm::internals::wait::{LocalEventcount, WaitPolicy};
///
/// let (there, event) = (AtomicBool::new(false), LocalEventcount::new());
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
pub struct LocalEventcount {
    wake: AtomicU32,
    waiters: AtomicU64,
    order: WakeOrder,
}

impl LocalEventcount {
    /// Creates an eventcount at which no thread sleeps.
    #[must_use]
    pub fn new() -> Self {
        let order = if register_for_barriers(FutexScope::Process) {
            WakeOrder::Barrier
        } else {
            WakeOrder::Fences
        };
        Self {
            wake: AtomicU32::new(0),
            waiters: AtomicU64::new(0),
            order,
        }
    }

    /// Creates an eventcount whose sleepers and wakers both use fences. This is better if threads
    /// sleep often: the alternative is a barrier before each sleep, which interrupts every CPU that
    /// the process uses.
    #[must_use]
    pub const fn with_fences() -> Self {
        Self {
            wake: AtomicU32::new(0),
            waiters: AtomicU64::new(0),
            order: WakeOrder::Fences,
        }
    }

    /// Returns this eventcount in the form that the functions of [`crate::wait`] take.
    #[inline(always)]
    pub(crate) fn event(&self) -> EventcountView<'_> {
        let Self {
            wake,
            waiters,
            order,
        } = self;
        let sleeper = SleeperKind::Counted;
        let scope = FutexScope::Process;
        EventcountView {
            wake,
            waiters,
            sleeper,
            sharers: None,
            order: *order,
            scope,
        }
    }

    /// Wakes all sleeping threads. The caller must have stored the value for which they wait.
    ///
    /// If no thread sleeps, the call costs one load, and a fence if the eventcount uses fences, but
    /// no system call.
    #[inline(always)]
    pub fn notify(&self) {
        self.notify_sleepers();
    }

    /// Does the same as [`Self::notify`]. Returns true if there may be sleepers, or a waiting task
    /// that was announced by [`Self::announce_waiter`].
    #[inline(always)]
    pub fn notify_sleepers(&self) -> bool {
        let has_sleepers = has_sleepers(&self.event());
        if has_sleepers {
            self.wake_all();
        }
        has_sleepers
    }

    /// Announces a task that waits without a sleeping thread. The announcement is valid until
    /// [`Self::withdraw_waiter`]. The caller has to poll once more after this call. If it does not
    /// see a value then, the [`Self::notify_sleepers`] that follows the store of that value returns
    /// true.
    pub fn announce_waiter(&self) {
        let event = self.event();
        event.announce_waiter();
        // ORDERING(wake): pairs with the fence in `has_sleepers`.
        sync::fence(edge::WAKE_WAITER_FENCE);
    }

    /// Withdraws the announcement that [`Self::announce_waiter`] made, because the caller does not
    /// sleep after all, or has woken up.
    pub fn withdraw_waiter(&self) {
        self.event().withdraw_waiter();
    }

    #[cold]
    fn wake_all(&self) {
        wake(&self.event());
    }

    /// Calls `poll` until it returns a value, or until the deadline of `wait_policy`. Returns the
    /// value; `None` after the deadline.
    ///
    /// Spins first, and then sleeps between the polls, each time for at most 50 ms. `poll` is
    /// called at least once, and only by this thread.
    pub fn wait_until<R>(
        &self,
        wait_policy: WaitPolicy,
        poll: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        wait_until(&[&self.event()], wait_policy, poll)
    }
}

impl Default for LocalEventcount {
    fn default() -> Self {
        Self::new()
    }
}
