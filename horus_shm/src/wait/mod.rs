//! Waiting: a poll, a short spin, then a sleep on an eventcount. All waits are in this module.
//!
//! An eventcount has two words: `waiters` is not 0 while a thread sleeps or is about to, and `wake`
//! is the word on which threads sleep. A sender loads `waiters` after it has published, and only if
//! it is not 0 changes `wake` and calls the kernel. A waiter announces itself, polls once more, and
//! sleeps while `wake` is what it was before. It must not happen that the sender overlooks the
//! waiter while the waiter overlooks the message. That takes a full fence between store and load on
//! both sides, or a barrier that the waiter makes on the sender's CPU by the kernel.
//! `docs/memory-ordering.md` has the argument.

mod event;

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::protocol::sync::{Edge, FutexWord, Word, edge};

pub(crate) use event::{Event, WakeOrder};
pub use event::{EventCount, barrier_in_process, reaches_this_process};

/// The side that pays for the store-load order between a sender and a reader about to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WakeEdge {
    /// The reader, by a `membarrier` call before it sleeps.
    #[default]
    Membarrier,
    /// The sender, by a fence in every send.
    Fence,
}

/// Maximum number of eventcounts for one sleep.
pub const EVENTS_MAX: usize = crate::os::futex::WAITV_MAX;

/// Longest sleep between two polls: the maximum cost of a lost wake (by a sender that was killed
/// just before it).
pub const SLICE: Duration = Duration::from_millis(50);

/// Sleep between two polls where a wake cannot be relied on.
pub const POLL: Duration = Duration::from_millis(1);

/// Number of polls between two reads of the clock.
///
/// WHY one under miri: the interpreter takes as long for a poll as a CPU for a whole spin.
const LOOKS: u32 = if cfg!(miri) { 1 } else { 32 };

/// The length of a wait, and of the spin at its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    /// The time at which the wait ends; `None` for an endless wait.
    pub deadline: Option<Instant>,
    /// The time for which it spins before the first sleep.
    pub spin: Duration,
}

impl WaitPolicy {
    /// The default spin of endpoints: about the cost of a sleep and a wake.
    pub const SPIN: Duration = Duration::from_micros(10);

    /// Returns the policy for `timeout` from now on; endless if the clock cannot represent its end.
    #[must_use]
    pub fn of(timeout: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(timeout), spin: Self::SPIN }
    }

    /// Returns the policy of an endless wait.
    #[must_use]
    pub const fn endless() -> Self {
        Self { deadline: None, spin: Self::SPIN }
    }

    /// Replaces the spin time.
    #[must_use]
    pub const fn spinning(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// Returns the length of the next sleep, at most `longest`, or `None` if the deadline has
    /// passed.
    fn slice(&self, longest: Duration) -> Option<Duration> {
        let Some(deadline) = self.deadline else { return Some(longest) };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left.min(longest))
    }
}

thread_local! {
    static OVERSLEPT: Cell<u64> = const { Cell::new(0) };
}

/// Returns the number of sleeps of this thread that ended by their timeout, without a wake.
///
/// For tests and tools that look for lost wakes: a message that was sent before such a sleep ended
/// should have ended it.
#[must_use]
pub fn overslept() -> u64 {
    OVERSLEPT.get()
}

/// The way in which a sleeper announces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sleeper {
    /// By a bit of its own, which other processes can clear if it dies.
    Bit(u32),
    /// By a count, for sleepers that die only together with their wakers.
    Counted,
}

/// An eventcount from the view of one of its sleepers or wakers.
pub trait Eventcount {
    /// The word on which threads sleep.
    type Wake: FutexWord;

    /// The type of the word in which waiters register, so that a publisher sees them.
    type Word: Word;

    /// Returns the count of wakes: a sleeper sleeps while it is what it was before the last poll.
    fn wake(&self) -> &Self::Wake;

    /// Returns the word that is not 0 while a thread sleeps or is about to.
    fn waiters(&self) -> &Self::Word;

    /// Returns the way in which this sleeper announces itself.
    fn sleeper(&self) -> Sleeper;

    /// Orders the publication before the load of the waiters.
    fn fence_of_sender(&self, edge: Edge);

    /// Orders the announcements at `events` before the last poll; false if that is not possible.
    fn fence_of_waiter(events: &[&Self], edge: Edge) -> bool;

    /// Announces this sleeper in `waiters`.
    fn announce(&self) {
        match self.sleeper() {
            Sleeper::Bit(bit) => self.waiters().fetch_or_relaxed(1 << bit),
            Sleeper::Counted => self.waiters().fetch_add_one(),
        }
    }

    /// Takes [`Self::announce`] back.
    fn withdraw(&self) {
        match self.sleeper() {
            Sleeper::Bit(bit) => self.waiters().fetch_and_not_relaxed(1 << bit),
            Sleeper::Counted => self.waiters().fetch_sub_one(),
        }
    }

    /// Sleeps while each `wake` is as it was `seen`, for at most `timeout`; may return early.
    /// Returns false if only the timeout ended the sleep.
    fn sleep(events: &[&Self], seen: &[u32], timeout: Duration) -> bool;

    /// Wakes all sleepers; returns how many there were.
    fn rouse(&self) -> u32;
}

/// Returns true if a thread sleeps, or is about to, that may have missed the caller's publication.
#[inline(always)]
pub fn has_sleepers<E: Eventcount>(event: &E) -> bool {
    // ORDERING(wake): pairs with the fence in `sleep_once`.
    event.fence_of_sender(edge::WAKE_LOOK);
    // Relaxed: the fence orders it after the publication.
    event.waiters().get() != 0
}

/// Wakes all sleepers; returns how many there were.
pub fn wake<E: Eventcount>(event: &E) -> u32 {
    // Relaxed: a thread that sees the new count sees the publication, by the fences of both.
    event.wake().fetch_add_one();
    event.rouse()
}

/// Announces the caller at `events`, polls `look`, and if that returns `None` sleeps until one of
/// them is notified or `timeout` is over. After `None` the caller has to poll again.
pub fn sleep_once<E: Eventcount, R>(
    events: &[&E],
    timeout: Duration,
    look: impl FnOnce() -> Option<R>,
) -> Option<R> {
    let mut seen = [0; EVENTS_MAX];
    for (event, seen) in events.iter().zip(&mut seen) {
        // Relaxed: as in `wake`.
        *seen = event.wake().load_relaxed();
    }
    let announced = Announced::at(events);
    // ORDERING(wake): pairs with the fence in `has_sleepers`.
    let ordered = E::fence_of_waiter(events, edge::WAKE_ANNOUNCE);
    let found = look();
    if found.is_none() {
        let timeout = if ordered { timeout } else { timeout.min(POLL) };
        if !E::sleep(events, &seen[..events.len()], timeout) {
            OVERSLEPT.set(OVERSLEPT.get() + 1);
        }
    }
    drop(announced);
    found
}

/// Polls `look` until it returns a value, or until `wait_policy` ends: spins, then sleeps at
/// `events`.
///
/// `look` is called at least once. With more than [`EVENTS_MAX`] events it is called every
/// millisecond, because the events past the limit cannot wake the caller.
pub fn wait_until<E: Eventcount, R>(
    events: &[&E],
    wait_policy: WaitPolicy,
    look: impl FnMut() -> Option<R>,
) -> Option<R> {
    let slice = if events.len() > EVENTS_MAX { POLL } else { SLICE };
    wait_in_slices(&events[..events.len().min(EVENTS_MAX)], wait_policy, slice, look)
}

/// Does the same as [`wait_until`] with sleeps of at most `slice`, for a wait for something that
/// causes no wake.
pub(crate) fn wait_in_slices<E: Eventcount, R>(
    events: &[&E],
    wait_policy: WaitPolicy,
    slice: Duration,
    mut look: impl FnMut() -> Option<R>,
) -> Option<R> {
    let mut found = spin(wait_policy, &mut look);
    while found.is_none() {
        let timeout = wait_policy.slice(slice)?;
        found = sleep_once(events, timeout, &mut look).or_else(&mut look);
    }
    found
}

fn spin<R>(wait_policy: WaitPolicy, look: &mut impl FnMut() -> Option<R>) -> Option<R> {
    let mut found = look();
    if found.is_some() || wait_policy.spin.is_zero() {
        return found;
    }
    let begin = Instant::now();
    while found.is_none() && begin.elapsed() < wait_policy.spin {
        if wait_policy.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        for _ in 0..LOOKS {
            std::hint::spin_loop();
            found = look();
            if found.is_some() {
                break;
            }
        }
    }
    found
}

/// Guard that withdraws announcements on drop: `look` may panic.
struct Announced<'a, E: Eventcount>(&'a [&'a E]);

impl<'a, E: Eventcount> Announced<'a, E> {
    fn at(events: &'a [&'a E]) -> Self {
        events.iter().for_each(|event| event.announce());
        Self(events)
    }
}

impl<E: Eventcount> Drop for Announced<'_, E> {
    fn drop(&mut self) {
        self.0.iter().for_each(|event| event.withdraw());
    }
}
