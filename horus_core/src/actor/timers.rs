//! The timers of a group: a queue of entries, each of which is due at a given time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use horus_shm::internals::sync::Word;

/// The timers of a group, sorted by the times at which they are due.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    /// The earliest time at which an entry of the heap is due, in nanoseconds; `u64::MAX` if the
    /// heap is empty.
    next_ns: AtomicU64,
    /// The time until which one worker sleeps on behalf of all workers, in nanoseconds; `u64::MAX`
    /// if no worker does.
    claimed_until_ns: AtomicU64,
    heap: Mutex<TimerHeap<T>>,
    /// Number of entries that were ever added. It becomes the number of the next entry.
    added: AtomicU64,
    /// The function that returns true if an entry was cancelled. Dropping such an entry runs no
    /// user code.
    is_cancelled: fn(&T) -> bool,
}

/// The number of entries at which cancelled ones are removed for the first time.
const ENTRIES_BEFORE_FIRST_REMOVAL: usize = 64;

/// The entries, and the number of entries at which the cancelled ones are removed.
#[derive(Debug)]
struct TimerHeap<T> {
    entries: BinaryHeap<Reverse<TimedEntry<T>>>,
    removal_len: usize,
}

impl<T> TimerHeap<T> {
    /// Removes the cancelled entries, if the number of entries has doubled since the last removal.
    /// WHY only then: the time for each added entry stays the same, whatever their number.
    fn remove_cancelled(&mut self, is_cancelled: fn(&T) -> bool) {
        if self.entries.len() >= self.removal_len {
            self.entries
                .retain(|Reverse(timer)| !is_cancelled(&timer.entry));
            self.removal_len = (2 * self.entries.len()).max(ENTRIES_BEFORE_FIRST_REMOVAL);
        }
    }
}

/// An entry of [`Timers`], with the time at which it is due.
#[derive(Debug)]
struct TimedEntry<T> {
    due_ns: u64,
    /// Number of entries that were added before this one. Of two entries that are due at the same
    /// time, the one that was added first comes first.
    number: u64,
    entry: T,
}

impl<T> PartialEq for TimedEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.due_ns, self.number) == (other.due_ns, other.number)
    }
}

impl<T> Eq for TimedEntry<T> {}

impl<T> PartialOrd for TimedEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for TimedEntry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due_ns, self.number).cmp(&(other.due_ns, other.number))
    }
}

impl<T> Timers<T> {
    /// Creates an empty list. `is_cancelled` returns true if an entry was cancelled; the list may
    /// then drop the entry before it is due. That drop must not run user code.
    pub(crate) const fn new(is_cancelled: fn(&T) -> bool) -> Self {
        Self {
            next_ns: AtomicU64::new(u64::MAX),
            claimed_until_ns: AtomicU64::new(u64::MAX),
            heap: Mutex::new(TimerHeap {
                entries: BinaryHeap::new(),
                removal_len: ENTRIES_BEFORE_FIRST_REMOVAL,
            }),
            added: AtomicU64::new(0),
            is_cancelled,
        }
    }

    fn lock(&self) -> MutexGuard<'_, TimerHeap<T>> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time at which the earliest timer is due, in nanoseconds; `u64::MAX` if there is
    /// no timer. Costs a load.
    #[inline(always)]
    pub(crate) fn next_due_ns(&self) -> u64 {
        // Relaxed: the timers are under a lock, and a worker looks again before it sleeps.
        self.next_ns.get()
    }

    /// Makes the calling worker the one that sleeps until the earliest due time, and returns that
    /// time. After the sleep, the caller has to call [`Self::release_claimed_sleep`]. Returns
    /// `None` if there are no timers, or if another worker already sleeps until that time or an
    /// earlier one.
    ///
    /// WHY only one: otherwise all workers would wake for one timer.
    pub(crate) fn claim_sleep_until_due_ns(&self) -> Option<u64> {
        let next = self.next_due_ns();
        loop {
            // Relaxed, both: a worker that is wrong about it wakes too often.
            let claimed = self.claimed_until_ns.get();
            if next >= claimed {
                return None;
            }
            if self
                .claimed_until_ns
                .compare_exchange_relaxed(claimed, next)
            {
                return Some(next);
            }
        }
    }

    /// Ends the claim of the calling worker to be the one that sleeps until `claimed_until_ns`.
    /// Another worker can then make the claim.
    pub(crate) fn release_claimed_sleep(&self, claimed_until_ns: u64) {
        // WHY: another worker may have claimed an earlier time.
        self.claimed_until_ns
            .compare_exchange_relaxed(claimed_until_ns, u64::MAX);
    }

    /// Adds `entry`, which is due at the time `due_ns`. At most half of the entries, or
    /// [`ENTRIES_BEFORE_FIRST_REMOVAL`], are cancelled ones that were added since the last removal.
    pub(crate) fn add(&self, due_ns: u64, entry: T) {
        let mut heap = self.lock();
        // Relaxed: changed under the lock.
        let number = self.added.get();
        self.added.set(number + 1);
        heap.entries.push(Reverse(TimedEntry {
            due_ns,
            number,
            entry,
        }));
        heap.remove_cancelled(self.is_cancelled);
        self.update_next_due_ns(&heap);
    }

    /// Removes and returns the earliest entry, if it is due at `now_ns` or before; `None` if it is
    /// not due or there is none.
    pub(crate) fn take_due_entry(&self, now_ns: u64) -> Option<T> {
        let mut heap = self.lock();
        let is_due = heap
            .entries
            .peek()
            .is_some_and(|Reverse(timer)| timer.due_ns <= now_ns);
        let due = if is_due { heap.entries.pop() } else { None };
        self.update_next_due_ns(&heap);
        due.map(|Reverse(timer)| timer.entry)
    }

    /// Removes and returns all entries, in the order of their due times.
    pub(crate) fn take_all(&self) -> Vec<T> {
        let mut heap = self.lock();
        let mut all = std::mem::take(&mut heap.entries).into_vec();
        self.update_next_due_ns(&heap);
        drop(heap);
        all.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        all.into_iter().map(|Reverse(timer)| timer.entry).collect()
    }

    fn update_next_due_ns(&self, heap: &TimerHeap<T>) {
        let next = heap
            .entries
            .peek()
            .map_or(u64::MAX, |Reverse(timer)| timer.due_ns);
        // Relaxed: as in `next_ns`; stored under the lock.
        self.next_ns.set(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_due_in_the_order_of_their_times() {
        let timers = Timers::new(|_| false);
        assert_eq!(
            (timers.next_due_ns(), timers.take_due_entry(u64::MAX)),
            (u64::MAX, None)
        );
        for due_ns in [30, 10, 20] {
            timers.add(due_ns, due_ns);
        }
        assert_eq!((timers.next_due_ns(), timers.take_due_entry(9)), (10, None));
        assert_eq!(
            (timers.take_due_entry(25), timers.take_due_entry(25)),
            (Some(10), Some(20))
        );
        assert_eq!(
            (timers.take_due_entry(25), timers.next_due_ns()),
            (None, 30)
        );
        assert_eq!(
            (timers.take_all(), timers.next_due_ns()),
            (vec![30], u64::MAX)
        );
    }

    #[test]
    fn one_worker_keeps_the_timers() {
        let timers = Timers::new(|_| false);
        assert_eq!(timers.claim_sleep_until_due_ns(), None);
        timers.add(30, ());
        assert_eq!(
            (
                timers.claim_sleep_until_due_ns(),
                timers.claim_sleep_until_due_ns()
            ),
            (Some(30), None)
        );
        timers.add(20, ());
        assert_eq!(
            timers.claim_sleep_until_due_ns(),
            Some(20),
            "an earlier timer"
        );
        timers.release_claimed_sleep(30);
        assert_eq!(timers.claim_sleep_until_due_ns(), None);
        timers.release_claimed_sleep(20);
        assert_eq!(timers.claim_sleep_until_due_ns(), Some(20));
    }
}
