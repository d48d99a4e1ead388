//! Waiting: a look, a short spin, then a sleep on an eventcount. The only place that waits.
//!
//! An eventcount is two words: `waiters` says whether anybody sleeps or is about to, and `wake`
//! is what they sleep on. Who publishes looks at `waiters` afterwards, and only if somebody is
//! there changes `wake` and calls the kernel. Who waits announces itself, looks once more, and
//! sleeps while `wake` is what it was before. That a message is not overlooked by the one while
//! the other overlooks the sleeper takes a full fence between store and load on either side, or a
//! barrier that the sleeper has the kernel make on the sender's CPU. `docs/memory-ordering.md`
//! has the argument.

mod event;

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::protocol::sync::{Edge, FutexWord, Word, edge};

pub use event::EventCount;
pub(crate) use event::{Event, WakeOrder, barrier_in_process, reaches_this_process};

/// Says which side pays for the store-load order between a sender and a reader about to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WakeEdge {
    /// The reader, by a `membarrier` call before it sleeps.
    #[default]
    Membarrier,
    /// The sender, by a fence in every send.
    Fence,
}

/// Eventcounts that one sleep can be about.
pub const EVENTS_MAX: usize = crate::os::futex::WAITV_MAX;

/// Longest sleep between two looks: what a lost wake (of a sender that was killed just before it)
/// can cost at most.
pub const SLICE: Duration = Duration::from_millis(50);

/// Sleep between two looks where nobody can be relied on to wake the sleeper.
pub const POLL: Duration = Duration::from_millis(1);

/// Looks between two looks at the clock.
///
/// WHY one under miri: the interpreter takes as long for a look as a CPU for a whole spin.
const LOOKS: u32 = if cfg!(miri) { 1 } else { 32 };

/// How long to wait, and how much of that without giving the CPU away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    /// When to give up; never if `None`.
    pub deadline: Option<Instant>,
    /// How long to look without a pause before the first sleep.
    pub spin: Duration,
}

impl WaitPolicy {
    /// The spin that ends have unless told otherwise: about what a sleep and a wake cost.
    pub const SPIN: Duration = Duration::from_micros(10);

    /// WaitPolicy for `timeout` from now on; for ever if that is past what the clock can say.
    #[must_use]
    pub fn of(timeout: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(timeout), spin: Self::SPIN }
    }

    /// WaitPolicy without end.
    #[must_use]
    pub const fn endless() -> Self {
        Self { deadline: None, spin: Self::SPIN }
    }

    /// The same with another spin budget.
    #[must_use]
    pub const fn spinning(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// The next sleep, `longest` at most, or `None` if the deadline has come.
    fn slice(&self, longest: Duration) -> Option<Duration> {
        let Some(deadline) = self.deadline else { return Some(longest) };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left.min(longest))
    }
}

thread_local! {
    static OVERSLEPT: Cell<u64> = const { Cell::new(0) };
}

/// Sleeps of this thread that ended by their time, with nobody waking it.
///
/// For tests and tools that look for lost wakes: a message that was sent before such a sleep ended
/// should have ended it.
#[must_use]
pub fn overslept() -> u64 {
    OVERSLEPT.get()
}

/// How a sleeper announces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sleeper {
    /// By a bit of its own, which others can clear if it dies.
    Bit(u32),
    /// By counting: sleepers that die only together with their wakers.
    Counted,
}

/// An eventcount as one of its sleepers, or one who wakes them, sees it.
pub trait Eventcount {
    /// The word that sleepers sleep on.
    type Wake: FutexWord;

    /// The word whose bits say who sleeps.
    type Word: Word;

    /// Counts wakes: a sleeper sleeps while it is what it was before the last look.
    fn wake(&self) -> &Self::Wake;

    /// Not 0 while somebody sleeps or is about to.
    fn waiters(&self) -> &Self::Word;

    /// How this one announces itself.
    fn sleeper(&self) -> Sleeper;

    /// Orders what was published before the look at the waiters.
    fn fence_of_sender(&self, edge: Edge);

    /// Orders the announcements at `events` before the last look; false if that is not to be had.
    fn fence_of_waiter(events: &[&Self], edge: Edge) -> bool;

    /// Makes this one known at `waiters`.
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

    /// Sleeps while each `wake` is as it was `seen`, for `timeout` at most; may return early.
    /// False if nothing but the end of that time ended it.
    fn sleep(events: &[&Self], seen: &[u32], timeout: Duration) -> bool;

    /// Wakes all sleepers; returns how many there were.
    fn rouse(&self) -> u32;
}

/// True if somebody sleeps, or is about to, who may not have seen what the caller just published.
#[inline(always)]
pub fn has_sleepers<E: Eventcount>(event: &E) -> bool {
    // ORDERING(wake): pairs with the fence in `sleep_once`.
    event.fence_of_sender(edge::WAKE_LOOK);
    // Relaxed: the fence orders it after what was published.
    event.waiters().get() != 0
}

/// Wakes all sleepers; returns how many there were.
pub fn wake<E: Eventcount>(event: &E) -> u32 {
    // Relaxed: whoever sees the new count sees what was published, by the fences of both.
    event.wake().fetch_add_one();
    event.rouse()
}

/// Announces the caller at `events`, looks, and if there is nothing sleeps until one of them is
/// notified or `timeout` is over. `None` says: look again.
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

/// Looks until there is something, or until the patience ends: spins, then sleeps at `events`.
///
/// `look` is called at least once. With more than [`EVENTS_MAX`] events it is called every
/// millisecond for the sake of those past the limit.
pub fn wait_until<E: Eventcount, R>(
    events: &[&E],
    wait_policy: WaitPolicy,
    look: impl FnMut() -> Option<R>,
) -> Option<R> {
    let slice = if events.len() > EVENTS_MAX { POLL } else { SLICE };
    wait_in_slices(&events[..events.len().min(EVENTS_MAX)], wait_policy, slice, look)
}

/// [`wait_until`] with sleeps of `slice` at most, for who waits for what nobody wakes it for.
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

/// Announcements, withdrawn on drop: a look may panic.
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
