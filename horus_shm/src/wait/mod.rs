//! Waiting for messages or for room: a thread polls, spins for a short time, and then sleeps on an
//! eventcount.
//!
//! An eventcount has two words: `waiters` is not 0 while a thread sleeps or is about to, and `wake`
//! is the word on which threads sleep. A sender publishes a message and then loads `waiters`. Only
//! if that is not 0, it changes `wake` and calls the kernel. A waiter announces itself in
//! `waiters`, polls once more, and sleeps while `wake` is unchanged. It must not happen that the
//! sender misses the announcement and the waiter misses the message. To prevent this, both sides
//! need a full fence between their store and their load. Alternatively, the waiter asks the kernel
//! for a barrier on the sender's CPU (`membarrier`), and the sender needs no fence.
//! `docs/memory-ordering.md` explains this in detail.

mod backoff;
mod event;

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::protocol::sync::{Edge, FutexWord, Word, edge};

pub use backoff::Backoff;
pub(crate) use event::{EventcountView, WakeOrder};
pub use event::{LocalEventcount, can_execute_process_barrier, execute_process_barrier};

/// The side that executes the memory barrier without which wakes could be lost: the sender or the
/// reader. A sender publishes a message, and then loads the word that shows whether readers sleep.
/// These two steps must not be reordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WakeBarrier {
    /// The reader executes the barrier: it makes a `membarrier` system call before each sleep.
    #[default]
    Membarrier,
    /// The sender executes the barrier: a memory fence in every send.
    Fence,
}

/// Maximum number of eventcounts at which a thread can sleep at the same time.
pub const EVENTCOUNTS_MAX: usize = crate::os::futex::WAITV_MAX;

/// Maximum length of a sleep between two polls. WHY: if a sender is killed after it has published a
/// message but before it has woken the waiter, the waiter finds the message after at most this
/// time.
pub const SLEEP_MAX: Duration = Duration::from_millis(50);

/// Maximum length of a sleep if the sleeper cannot rely on being woken. It polls between the
/// sleeps.
pub const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Number of polls between two readings of the clock, while a waiter spins.
///
/// WHY 1 under miri: the interpreter takes as long for one poll as a CPU takes for a whole spin.
const POLLS_PER_CLOCK_READ: u32 = if cfg!(miri) { 1 } else { 32 };

/// The policy of a wait: its deadline, and the time for which the waiter spins (polls) before it
/// sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    /// The time at which the wait gives up; `None` if it never does.
    pub deadline: Option<Instant>,
    /// The time for which the waiter polls before it sleeps for the first time.
    pub spin: Duration,
}

impl WaitPolicy {
    /// Default spin time of endpoints: about as long as a sleep and a wake take together.
    pub const SPIN: Duration = Duration::from_micros(10);

    /// Returns a policy with a deadline `timeout` from now. If the clock cannot represent that
    /// time, the wait is endless.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(timeout),
            spin: Self::SPIN,
        }
    }

    /// Returns a policy without a deadline.
    #[must_use]
    pub const fn endless() -> Self {
        Self {
            deadline: None,
            spin: Self::SPIN,
        }
    }

    /// Returns the same policy with the spin time `spin`.
    #[must_use]
    pub const fn with_spin(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// Returns the length of the next sleep: until the deadline, but at most `sleep_max`. Returns
    /// `None` if the deadline has passed.
    fn next_sleep(&self, sleep_max: Duration) -> Option<Duration> {
        let Some(deadline) = self.deadline else {
            return Some(sleep_max);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left.min(sleep_max))
    }
}

thread_local! {
    static SLEEPS_WITHOUT_WAKE: Cell<u64> = const { Cell::new(0) };
}

/// Returns how many sleeps of the calling thread ended by their timeout, without a wake.
///
/// It is used by tests and tools that look for lost wakes: a message that was sent before such a
/// sleep ended should have woken the thread.
#[must_use]
pub fn timed_out_sleep_count() -> u64 {
    SLEEPS_WITHOUT_WAKE.get()
}

/// The way in which a sleeper announces itself in the word `waiters`, so that senders know that
/// they have to wake it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleeperKind {
    /// The sleeper sets the bit with this index, which belongs to it alone. If it dies, another
    /// process can clear the bit.
    Bit(u32),
    /// The sleeper adds 1 to a count. If its process died, nobody could subtract that 1. So this is
    /// only for sleepers in the same process as their wakers. Users of an eventcount that never
    /// sleep have this value, too.
    Counted,
}

/// An eventcount: a counter at which threads sleep until a sender increments it.
pub trait Eventcount {
    /// The type of the futex word on which threads sleep.
    type Wake: FutexWord;

    /// The type of the word in which sleepers announce themselves.
    type Word: Word;

    /// Returns the word that counts wakes. A sleeper sleeps only while the word has the value it
    /// had before the sleeper's last poll.
    fn wake_word(&self) -> &Self::Wake;

    /// Returns the word that is not 0 while a thread sleeps, or is about to sleep.
    fn waiters_word(&self) -> &Self::Word;

    /// Returns the way in which the caller announces itself in [`Self::waiters_word`] before it
    /// sleeps: by a bit of its own, or by a count.
    fn sleeper(&self) -> SleeperKind;

    /// Orders the sender's publication before its load of `waiters`, with the memory ordering that
    /// `edge` stands for.
    fn fence_in_sender(&self, edge: Edge);

    /// Orders a waiter's announcements at `events` before its last poll, with the memory ordering
    /// that `edge` stands for. Returns false if that is not possible; the waiter then sleeps only
    /// for a short time.
    fn fence_in_waiter(events: &[&Self], edge: Edge) -> bool;

    /// Announces in `waiters` that this sleeper is about to sleep.
    fn announce_waiter(&self) {
        match self.sleeper() {
            SleeperKind::Bit(bit) => self.waiters_word().set_bits_relaxed(1 << bit),
            SleeperKind::Counted => self.waiters_word().fetch_add_one(),
        }
    }

    /// Withdraws the announcement that [`Self::announce_waiter`] made.
    fn withdraw_waiter(&self) {
        match self.sleeper() {
            SleeperKind::Bit(bit) => self.waiters_word().clear_bits_relaxed(1 << bit),
            SleeperKind::Counted => self.waiters_word().fetch_sub_one(),
        }
    }

    /// Sleeps for at most `timeout`, while the word `wake` of each event has the value that
    /// `expected` contains for that event. May return early. Returns false if the sleep ended by
    /// the timeout.
    fn sleep(events: &[&Self], expected: &[u32], timeout: Duration) -> bool;

    /// Wakes all threads that sleep on the futex word `wake`. Returns the number of threads that it
    /// woke.
    fn wake_sleepers(&self) -> u32;
}

/// Returns true if a thread sleeps or is about to sleep, and may have missed what the caller has
/// published before. The caller then has to call [`wake`].
#[inline(always)]
pub fn has_sleepers<E: Eventcount>(event: &E) -> bool {
    // ORDERING(wake): pairs with the fence in `sleep_once`.
    event.fence_in_sender(edge::WAKE_SENDER_FENCE);
    // Relaxed: the fence orders it after the publication.
    event.waiters_word().get() != 0
}

/// Increments the futex word, and wakes all threads that sleep on it. Returns the number of threads
/// that it woke.
pub fn wake<E: Eventcount>(event: &E) -> u32 {
    // Relaxed: a thread that sees the new count sees the publication, by the fences of both.
    event.wake_word().fetch_add_one();
    event.wake_sleepers()
}

/// Announces the caller at all `events`, and calls `poll`. If `poll` returns a value, returns that
/// value without a sleep. Otherwise sleeps until one of the events is notified, or for at most
/// `timeout`, and returns `None`; the caller then has to poll again.
pub fn sleep_once<E: Eventcount, R>(
    events: &[&E],
    timeout: Duration,
    poll: impl FnOnce() -> Option<R>,
) -> Option<R> {
    let mut seen = [0; EVENTCOUNTS_MAX];
    for (event, seen) in events.iter().zip(&mut seen) {
        // Relaxed: as in `wake`.
        *seen = event.wake_word().load_relaxed();
    }
    let announced = WaiterAnnouncement::at(events);
    // ORDERING(wake): pairs with the fence in `has_sleepers`.
    let ordered = E::fence_in_waiter(events, edge::WAKE_WAITER_FENCE);
    let found = poll();
    if found.is_none() {
        let timeout = if ordered {
            timeout
        } else {
            timeout.min(POLL_INTERVAL)
        };
        if !E::sleep(events, &seen[..events.len()], timeout) {
            SLEEPS_WITHOUT_WAKE.set(SLEEPS_WITHOUT_WAKE.get() + 1);
        }
    }
    drop(announced);
    found
}

/// Calls `poll` until it returns a value, or until the deadline of `wait_policy`. Returns the
/// value; `None` after the deadline. Spins first, and then sleeps at `events` between the polls.
///
/// `poll` is called at least once. With more than [`EVENTCOUNTS_MAX`] events it is called every
/// millisecond, because the events past the limit cannot wake the caller.
pub fn wait_until<E: Eventcount, R>(
    events: &[&E],
    wait_policy: WaitPolicy,
    poll: impl FnMut() -> Option<R>,
) -> Option<R> {
    let slice = if events.len() > EVENTCOUNTS_MAX {
        POLL_INTERVAL
    } else {
        SLEEP_MAX
    };
    wait_in_slices(
        &events[..events.len().min(EVENTCOUNTS_MAX)],
        wait_policy,
        slice,
        poll,
    )
}

/// Does the same as [`wait_until`], but sleeps for at most `slice` at a time. For waits that also
/// have to poll for conditions of which no wake informs them.
pub(crate) fn wait_in_slices<E: Eventcount, R>(
    events: &[&E],
    wait_policy: WaitPolicy,
    slice: Duration,
    mut poll: impl FnMut() -> Option<R>,
) -> Option<R> {
    let mut found = poll_while_spinning(wait_policy, &mut poll);
    while found.is_none() {
        let timeout = wait_policy.next_sleep(slice)?;
        found = sleep_once(events, timeout, &mut poll).or_else(&mut poll);
    }
    found
}

fn poll_while_spinning<R>(
    wait_policy: WaitPolicy,
    poll: &mut impl FnMut() -> Option<R>,
) -> Option<R> {
    let mut found = poll();
    if found.is_some() || wait_policy.spin.is_zero() {
        return found;
    }
    let begin = Instant::now();
    while found.is_none() && begin.elapsed() < wait_policy.spin {
        if wait_policy
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            break;
        }
        for _ in 0..POLLS_PER_CLOCK_READ {
            std::hint::spin_loop();
            found = poll();
            if found.is_some() {
                break;
            }
        }
    }
    found
}

/// A guard that withdraws the caller's announcements when it is dropped. WHY a guard: the caller's
/// `poll` may panic.
struct WaiterAnnouncement<'a, E: Eventcount>(&'a [&'a E]);

impl<'a, E: Eventcount> WaiterAnnouncement<'a, E> {
    fn at(events: &'a [&'a E]) -> Self {
        events.iter().for_each(|event| event.announce_waiter());
        Self(events)
    }
}

impl<E: Eventcount> Drop for WaiterAnnouncement<'_, E> {
    fn drop(&mut self) {
        self.0.iter().for_each(|event| event.withdraw_waiter());
    }
}
