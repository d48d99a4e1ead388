//! The owner's end of a run queue: with it, a worker adds and takes entries, steals from other
//! workers, and sleeps.

use core::fmt;
use core::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use super::injector::{self, InjectorMemory};
use super::run_queue::{self, RunQueueMemory};
use super::run_queues::{QueueEntry, RING_SLOTS, RunQueues, WorkerQueue, entry_from_pointer};
use super::search::{self, WorkerSleepEnd};
use crate::protocol::sync::{self, PointerWord, Word};

/// Time in nanoseconds between two checks of the watcher, an idle worker that looks for workers
/// that have stalled.
const WATCH_INTERVAL_NS: u64 = 500_000;

/// A worker counts as stalled if it has not begun a new entry for this many nanoseconds.
const STALLED_AFTER_NS: u64 = 50_000;

/// The owner's end of the run queue of one worker. It adds and takes entries, steals entries from
/// other workers, and sleeps.
pub struct Worker<E: QueueEntry> {
    queues: Arc<RunQueues<E>>,
    index: usize,
    /// The queue of this worker, whose number is `index`. WHY stored: it is used four times for
    /// each message, and its computation from `index` would cost time.
    own: NonNull<WorkerQueue<E::Target>>,
    /// True while this worker counts as a searcher in the group's
    /// [`SearchState`](super::search::SearchState).
    searches: bool,
    /// The index of the worker from which this worker tries to steal first.
    victim: usize,
    /// For each worker: its activation count when this worker last looked at it, and since when it
    /// has been the same.
    seen: Box<[SeenActivation]>,
}

/// The activation count at which another worker was last seen, and the time at which that count was
/// first seen. If that was long ago, the worker has stalled.
#[derive(Debug, Clone, Copy, Default)]
struct SeenActivation {
    activation: u64,
    since_ns: u64,
}

/// The result of putting a worker to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParkOutcome<E> {
    /// There may be an entry in a queue, or `is_wanted` returned true before the sleep. This worker
    /// is a searcher now, and has to search the queues for an entry.
    Search,
    /// The sleep has ended, but there is no reason to search for entries. Either the time limit has
    /// passed, or this worker was the watcher (the sleeper that looks for stalled workers at
    /// intervals) and found that `is_wanted` returns true. The worker is not a searcher.
    Elapsed,
    /// The worker has taken this entry from a worker that has stalled.
    Found(E),
}

// SAFETY: the pointer leads into `queues`, which may be shared by threads.
unsafe impl<E: QueueEntry> Send for Worker<E> {}

impl<E: QueueEntry> Worker<E> {
    pub(super) fn new(queues: Arc<RunQueues<E>>, index: usize) -> Self {
        let workers = queues.worker_count();
        Self {
            own: NonNull::from(queues.queue(index)),
            queues,
            index,
            searches: false,
            victim: index,
            seen: vec![SeenActivation::default(); workers].into(),
        }
    }

    /// Returns the index of this worker in its group.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the run queues of this worker's group.
    #[must_use]
    pub fn queues(&self) -> &Arc<RunQueues<E>> {
        &self.queues
    }

    #[inline(always)]
    fn queue(&self) -> &WorkerQueue<E::Target> {
        // SAFETY: `self.queues` keeps the queue in its place.
        unsafe { self.own.as_ref() }
    }

    /// Returns true if the group has other workers, which could run the entries of the calling
    /// worker.
    #[inline(always)]
    fn has_peers(&self) -> bool {
        self.seen.len() > 1
    }

    /// Appends `entry` to the ring of this worker, or pushes it to this worker's injector if the
    /// ring is full. Wakes another worker if no worker searches.
    #[inline]
    pub fn push(&mut self, entry: E) {
        let raw = entry.into_raw().as_ptr();
        self.append_entry(raw);
        self.wake_searcher();
    }

    #[inline]
    fn append_entry(&mut self, raw: *mut E::Target) {
        // SAFETY: this is the owner.
        if !unsafe { run_queue::try_append_entry(self.queue(), raw) } {
            // SAFETY: the pointer of a handle is valid, and in no queue.
            unsafe { injector::inject_and_check_was_empty(self.queue(), raw) };
        }
    }

    /// Wakes a sleeping worker to search for entries, unless a worker already searches.
    #[inline]
    fn wake_searcher(&self) {
        if self.has_peers() {
            search::wake_searcher(self.queues.group());
        }
    }

    /// Puts `entry` into the `lifo_slot`, so that this worker runs it next. The entry that was in
    /// it is appended to the ring.
    #[inline]
    pub fn push_lifo_entry(&mut self, entry: E) {
        let former = run_queue::put_lifo_entry(self.queue(), entry.into_raw().as_ptr());
        if let Some(former) = former {
            self.append_displaced_entry(former);
        }
        self.request_watcher();
    }

    /// Appends an entry that was in the `lifo_slot`. WHY a separate function, which is not inlined:
    /// the `lifo_slot` is mostly empty.
    #[inline(never)]
    fn append_displaced_entry(&mut self, former: *mut E::Target) {
        self.append_entry(former);
        self.wake_searcher();
    }

    /// Makes sure that a sleeping worker is the watcher: it takes the entries of the calling worker
    /// if that stalls while it runs an entry.
    #[inline]
    pub fn request_watcher(&self) {
        if self.has_peers() {
            search::request_watcher(self.queues.group());
        }
    }

    /// Records that this worker begins to run an entry. If another worker sees it run the same
    /// entry for 50 µs, it counts as stalled, and that worker may take even the entry in its
    /// `lifo_slot`.
    #[inline]
    pub fn begin_activation(&mut self) {
        // WHY: a timer gives an entry, too, and nobody is woken while one searches.
        self.end_search_if_searching();
        // ORDERING(lifo_close): for the compiler only, as in `pop_lifo_entry`.
        sync::keep_compiler_order();
        let activations = &self.queue().activations;
        // Relaxed, both: only the owner stores it, and thieves only compare it.
        activations.set(activations.get() + 1);
    }

    /// Takes the entry that was to run next out of the `lifo_slot`; returns `None` if the slot is
    /// empty.
    #[inline]
    pub fn pop_lifo_entry(&mut self) -> Option<E> {
        // ORDERING(lifo_close): for the compiler only. Pairs with the barriers in `admit_thieves`:
        // the worker does this after it has run an entry, and before it runs the next one.
        sync::keep_compiler_order();
        let queue = self.queue();
        let entry = run_queue::take_lifo_entry(queue, queue.has_thieves())?;
        self.end_search_if_searching();
        // SAFETY: taken out of the queue.
        Some(unsafe { entry_from_pointer(entry) })
    }

    /// Returns true if this worker has an entry: in its `lifo_slot`, its ring or its injector.
    #[inline]
    #[must_use]
    pub fn has_own_entry(&self) -> bool {
        let queue = self.queue();
        // Relaxed: only a hint, for the owner.
        let has_next = !RunQueueMemory::lifo_slot(queue).get().is_null();
        has_next || !run_queue::is_empty(queue) || !injector::is_empty(queue)
    }

    /// Takes the oldest entry of this worker's ring; returns `None` if the ring is empty.
    #[inline]
    pub fn pop(&mut self) -> Option<E> {
        // SAFETY: this is the owner.
        let entry = unsafe { run_queue::pop_oldest(self.queue()) }?;
        self.end_search_if_searching();
        // SAFETY: taken out of the queue.
        Some(unsafe { entry_from_pointer(entry) })
    }

    /// Takes the entries that other threads have sent to this worker. Returns one of them, appends
    /// up to 255 to the ring, and puts the others back as a chain, from which this worker or
    /// thieves can take them later. Returns `None` if there is no entry.
    pub fn pop_injected_entry(&mut self) -> Option<E> {
        let entry = self.take_injected_entry_of(self.index)?;
        self.end_search_if_searching();
        Some(entry)
    }

    /// Takes entries that were sent to the worker with index `from`, and returns one of them. Puts
    /// the others into this worker's ring and chain, as [`Self::pop_injected_entry`] does. Returns
    /// `None` if there is no entry, or if `from` is another worker while this worker has a chain
    /// already.
    fn take_injected_entry_of(&mut self, from: usize) -> Option<E> {
        if from != self.index && self.has_chain() {
            return None;
        }
        let mut list = injector::take_chain_or_stack(self.queues.queue(from));
        let most = RING_SLOTS.min(run_queue::free_slot_count(self.queue()) + 1);
        // SAFETY: the list was taken, so its entries are the caller's.
        let mut kept = unsafe { injector::take_first_entries_reversed(&mut list, most) };
        // SAFETY: as above.
        let first = unsafe { injector::pop_from_list(&mut kept) };
        if first.is_null() {
            return None;
        }
        let is_alone = kept.is_null() && list.is_null();
        self.append_list(kept);
        if !list.is_null() {
            // SAFETY: this is the owner. It has no chain: its own was taken, or there was none.
            unsafe { injector::put_back_as_chain(self.queue(), list) };
        }
        if !is_alone {
            self.wake_searcher();
        }
        // SAFETY: taken out of the queue.
        Some(unsafe { entry_from_pointer(first) })
    }

    fn append_list(&mut self, mut list: *mut E::Target) {
        loop {
            // SAFETY: the entries of the list are the caller's.
            let entry = unsafe { injector::pop_from_list(&mut list) };
            if entry.is_null() {
                return;
            }
            self.append_entry(entry);
        }
    }

    fn has_chain(&self) -> bool {
        let chain = InjectorMemory::newest_chain_entry(self.queue());
        // Relaxed: only the owner stores another value than null.
        !chain.get().is_null()
    }

    /// Steals entries from the first other worker that has some, and returns one of them. Takes
    /// half of the entries in that worker's ring, or the entries that were sent to it. If this
    /// worker was a searcher and finds an entry, it stops being a searcher.
    pub fn steal(&mut self) -> Option<E> {
        let workers = self.seen.len();
        for offset in 0..workers {
            let from = (self.victim + offset) % workers;
            if from == self.index {
                continue;
            }
            if let Some(entry) = self.steal_from(from) {
                // WHY the same one first: it has had more than one entry.
                self.victim = from;
                self.end_search_with_entry();
                return Some(entry);
            }
        }
        None
    }

    fn steal_from(&mut self, from: usize) -> Option<E> {
        // SAFETY: this is the owner of the queue that is filled.
        let stolen =
            unsafe { run_queue::steal_half_of_entries(self.queues.queue(from), self.queue()) };
        match stolen {
            // SAFETY: taken out of the queue.
            Some(entry) => Some(unsafe { entry_from_pointer(entry) }),
            None => self.take_injected_entry_of(from),
        }
    }

    /// Makes this worker stop being a searcher, if it is one, because it has found an entry.
    #[inline]
    fn end_search_if_searching(&mut self) {
        if self.searches {
            self.end_search_with_entry();
        }
    }

    #[cold]
    fn end_search_with_entry(&mut self) {
        if std::mem::take(&mut self.searches) {
            search::end_search_with_entry(self.queues.group());
        } else {
            self.wake_searcher();
        }
    }

    /// Steals an entry from the queue of a worker that has stalled: earlier calls, the first of
    /// them at least 50 µs ago, saw it run the same activation. Also takes the entry in its
    /// `lifo_slot`. `now_ns` is the present time in nanoseconds.
    pub fn steal_stalled_entry(&mut self, now_ns: u64) -> Option<E> {
        let entry = self.find_stalled_entry(now_ns)?;
        self.end_search_with_entry();
        Some(entry)
    }

    fn find_stalled_entry(&mut self, now_ns: u64) -> Option<E> {
        for from in 0..self.seen.len() {
            if from != self.index && self.is_stalled(from, now_ns) {
                let entry = self
                    .steal_lifo_entry_of(from)
                    .or_else(|| self.steal_from(from));
                if entry.is_some() {
                    return entry;
                }
            }
        }
        None
    }

    /// Returns true if the worker with index `index` counts as stalled: this worker first saw it in
    /// its present activation at least 50 µs ago. `now_ns` is the present time in nanoseconds.
    fn is_stalled(&mut self, index: usize, now_ns: u64) -> bool {
        // Relaxed: only compared with itself.
        let activation = self.queues.queue(index).activations.get();
        let seen = &mut self.seen[index];
        if seen.activation != activation {
            *seen = SeenActivation {
                activation,
                since_ns: now_ns,
            };
        }
        now_ns.saturating_sub(seen.since_ns) >= STALLED_AFTER_NS
    }

    fn steal_lifo_entry_of(&self, from: usize) -> Option<E> {
        let queue = self.queues.queue(from);
        // Relaxed: the exchange decides.
        let seen = RunQueueMemory::lifo_slot(queue).get();
        if seen.is_null() || !run_queue::try_steal_lifo_entry(queue, seen) {
            return None;
        }
        // SAFETY: taken out of the queue.
        Some(unsafe { entry_from_pointer(seen) })
    }

    /// Makes this worker a searcher, which looks for entries in the queues of other workers.
    /// Returns false if half of the workers search already.
    pub fn try_begin_search(&mut self) -> bool {
        self.searches = self.searches || search::try_begin_search(self.queues.group());
        self.searches
    }

    /// Sleeps until there may be an entry, or for at most `timeout`. Does not sleep if `is_wanted`
    /// returns true, because the caller wants this worker for something else. A thread that changes
    /// the result of `is_wanted` to true has to call [`RunQueues::wake_all`] afterwards; otherwise
    /// only the watcher notices the change. `now_ns` returns the present time in nanoseconds.
    pub fn park(
        &mut self,
        timeout: Duration,
        mut now_ns: impl FnMut() -> u64,
        is_wanted: impl Fn() -> bool,
    ) -> ParkOutcome<E> {
        let was_searcher = std::mem::replace(&mut self.searches, true);
        if !search::try_announce_sleeper(self.queues.group(), self.index, was_searcher, &is_wanted)
        {
            return ParkOutcome::Search;
        }
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let (mut now, mut suspects) = (now_ns(), false);
        let end_ns = now.saturating_add(timeout_ns);
        while now < end_ns {
            let watches = search::stays_watcher(self.queues.group(), self.index);
            // WHY not twice in a row: busy workers often have a next entry.
            suspects = watches && !suspects && self.has_peer_lifo_entry();
            let slice = match (watches, suspects) {
                (true, true) => STALLED_AFTER_NS,
                (true, false) => WATCH_INTERVAL_NS,
                (false, _) => u64::MAX,
            };
            let slice = Duration::from_nanos(slice.min(end_ns - now));
            if search::sleep_after_announcing(self.queues.group(), self.index, watches, slice)
                == WorkerSleepEnd::Search
            {
                return ParkOutcome::Search;
            }
            now = now_ns();
            if watches && let Some(entry) = self.find_stalled_entry(now) {
                search::withdraw_sleeper(self.queues.group(), self.index, true);
                // WHY: another worker may have stalled, too, and this one may be the next.
                search::request_watcher(self.queues.group());
                self.end_search_with_entry();
                return ParkOutcome::Found(entry);
            }
            if watches && is_wanted() {
                break;
            }
        }
        self.searches = search::withdraw_sleeper(self.queues.group(), self.index, false);
        if self.searches {
            ParkOutcome::Search
        } else {
            ParkOutcome::Elapsed
        }
    }

    /// Returns true if another worker has an entry in its `lifo_slot`. WHY this matters: if that
    /// worker has stalled, only the watcher can take the entry.
    fn has_peer_lifo_entry(&self) -> bool {
        let mut others = (0..self.seen.len()).filter(|&other| other != self.index);
        // Relaxed: only a hint.
        let has_next = |other| {
            !RunQueueMemory::lifo_slot(self.queues.queue(other))
                .get()
                .is_null()
        };
        others.any(has_next)
    }
}

impl<E: QueueEntry> fmt::Debug for Worker<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index)
            .field("searches", &self.searches)
            .finish_non_exhaustive()
    }
}
