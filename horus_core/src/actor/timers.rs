//! The timers of a group: what is to happen at a given time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use horus_shm::internals::sync::Word;

/// The timers of a group.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    /// The earliest time in the heap; `u64::MAX` if that is empty.
    next_ns: AtomicU64,
    heap: Mutex<BinaryHeap<Reverse<Timer<T>>>>,
}

/// An actor that pauses until a given time.
#[derive(Debug)]
struct Timer<T> {
    at_ns: u64,
    task: T,
}

impl<T> PartialEq for Timer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.at_ns == other.at_ns
    }
}

impl<T> Eq for Timer<T> {}

impl<T> PartialOrd for Timer<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Timer<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at_ns.cmp(&other.at_ns)
    }
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self {
            next_ns: AtomicU64::new(u64::MAX),
            heap: Mutex::new(BinaryHeap::new()),
        }
    }
}

impl<T> Timers<T> {
    fn lock(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Timer<T>>>> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the earliest time; `u64::MAX` if there is none. Costs a load.
    #[inline(always)]
    pub(crate) fn next_ns(&self) -> u64 {
        // Relaxed: the timers are under a lock, and a worker looks again before it sleeps.
        self.next_ns.get()
    }

    /// Keeps `task` until `at_ns`.
    pub(crate) fn resume_at(&self, at_ns: u64, task: T) {
        let mut heap = self.lock();
        heap.push(Reverse(Timer { at_ns, task }));
        self.note_next(&heap);
    }

    /// Takes a task that is due.
    pub(crate) fn take_due(&self, now_ns: u64) -> Option<T> {
        let mut heap = self.lock();
        let is_due = heap
            .peek()
            .is_some_and(|Reverse(timer)| timer.at_ns <= now_ns);
        let due = if is_due { heap.pop() } else { None };
        self.note_next(&heap);
        due.map(|Reverse(timer)| timer.task)
    }

    /// Takes all tasks.
    pub(crate) fn take_tasks(&self) -> Vec<T> {
        let heap = std::mem::take(&mut *self.lock());
        self.next_ns.set(u64::MAX);
        heap.into_iter().map(|Reverse(timer)| timer.task).collect()
    }

    fn note_next(&self, heap: &BinaryHeap<Reverse<Timer<T>>>) {
        let next = heap.peek().map_or(u64::MAX, |Reverse(timer)| timer.at_ns);
        // Relaxed: as in `next_ns`; stored under the lock.
        self.next_ns.set(next);
    }
}
