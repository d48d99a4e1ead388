//! The search for work: decides which workers search for entries, which sleep, and which have to be
//! woken.
//!
//! The state is one word, so that each transition is one atomic exchange. It contains a bit for
//! each worker that sleeps, the number of workers that search, and the *watcher*. The watcher is a
//! sleeping worker that wakes up from time to time, to take the entries of a worker that stays in a
//! handler for too long.
//!
//! A sender publishes an entry, and wakes a worker only if no worker searches. A worker that finds
//! no entry stops searching, and looks at all queues once more before it sleeps. A worker that
//! finds an entry stops searching, too, looks at all queues, and wakes another worker if there are
//! more entries.
//!
//! When the workers are gone, the state becomes *closed*. A sender that has pushed an entry too
//! late sees this when it looks for a worker to wake.

use std::time::Duration;

use super::injector::{self, InjectorMemory};
use crate::protocol::sync::{Edge, Word, edge};
use crate::wait::{Eventcount, has_sleepers, sleep_once, wake};

/// Maximum number of workers of a group, because their state is stored in one word.
pub const WORKERS_MAX: usize = 48;

/// The shared memory in which the workers of a group agree on who searches for entries and who
/// sleeps.
pub trait SearchMemory {
    /// The type of the words in shared memory: ordinary atomics in programs, loom atomics in
    /// models.
    type Word: Word;
    /// The type of the eventcount at which a worker sleeps.
    type WorkerEventcount<'a>: Eventcount
    where
        Self: 'a;

    /// Returns the number of workers of the group: at most [`WORKERS_MAX`].
    fn worker_count(&self) -> usize;

    /// Returns the shared word that contains the [`SearchState`].
    fn search_state(&self) -> &Self::Word;

    /// Returns the eventcount at which the worker with index `index` sleeps.
    fn worker_eventcount(&self, index: usize) -> Self::WorkerEventcount<'_>;

    /// Executes a memory fence with the ordering of `edge`.
    fn fence(&self, edge: Edge);

    /// Returns true if any queue of the group contains an entry.
    fn has_entries(&self) -> bool;
}

/// The state of a group's search for entries, in one word: which workers sleep, which sleeper is
/// the *watcher* (it wakes up regularly to look for stalled workers), how many workers search, and
/// whether the group is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchState(u64);

/// The number of the lowest bit of the field of [`SearchState`] that holds the watcher's index plus
/// 1. The field is 0 if there is no watcher.
const WATCHER_SHIFT: u32 = WORKERS_MAX as u32;

/// The mask of the watcher's field, after the state was shifted by [`WATCHER_SHIFT`].
const WATCHER_MASK: u64 = 0x7f;

/// The bit of [`SearchState`] that is set once the group is closed, so that no worker will run
/// entries.
const CLOSED_BIT: u64 = 1 << (WATCHER_SHIFT + 7);

/// The number of the lowest bit of the field of [`SearchState`] that holds the number of searching
/// workers.
const SEARCHERS_SHIFT: u32 = WATCHER_SHIFT + 8;

impl SearchState {
    const fn sleeper_mask(self) -> u64 {
        self.0 & ((1 << WATCHER_SHIFT) - 1)
    }

    const fn searcher_count(self) -> u64 {
        self.0 >> SEARCHERS_SHIFT
    }

    const fn is_asleep(self, worker: usize) -> bool {
        self.0 >> worker & 1 != 0
    }

    const fn watcher(self) -> Option<usize> {
        ((self.0 >> WATCHER_SHIFT & WATCHER_MASK) as usize).checked_sub(1)
    }

    fn is_watcher(self, worker: usize) -> bool {
        self.watcher() == Some(worker)
    }

    const fn with_watcher(self, worker: usize) -> Self {
        Self(self.without_watcher().0 | (worker as u64 + 1) << WATCHER_SHIFT)
    }

    const fn without_watcher(self) -> Self {
        Self(self.0 & !(WATCHER_MASK << WATCHER_SHIFT))
    }

    const fn is_closed(self) -> bool {
        self.0 & CLOSED_BIT != 0
    }

    const fn with_closed_bit(self) -> Self {
        Self(self.0 | CLOSED_BIT)
    }

    const fn add_searcher(self) -> Self {
        Self(self.0 + (1 << SEARCHERS_SHIFT))
    }

    const fn remove_searcher(self) -> Self {
        Self(self.0 - (1 << SEARCHERS_SHIFT))
    }

    const fn with_sleeper(self, worker: usize) -> Self {
        Self(self.0 | 1 << worker)
    }

    fn without_sleeper(self, worker: usize) -> Self {
        let state = if self.is_watcher(worker) {
            self.without_watcher()
        } else {
            self
        };
        Self(state.0 & !(1 << worker))
    }

    /// Returns true if all `worker_count` workers of the group are asleep.
    const fn are_all_asleep(self, worker_count: usize) -> bool {
        self.sleeper_mask().count_ones() as usize == worker_count
    }

    /// Returns the index of the sleeping worker that should be woken; `None` if no worker sleeps.
    /// Chooses the watcher only if no other worker sleeps.
    fn choose_sleeper(self) -> Option<usize> {
        let others = match self.watcher() {
            Some(watcher) => self.sleeper_mask() & !(1 << watcher),
            None => self.sleeper_mask(),
        };
        let among = if others == 0 {
            self.sleeper_mask()
        } else {
            others
        };
        (among != 0).then(|| among.trailing_zeros() as usize)
    }
}

/// Loads the state. WHY relaxed: each decision that depends on the state is made by an atomic
/// exchange, or after a fence.
#[inline(always)]
fn load_state<M: SearchMemory>(memory: &M) -> SearchState {
    SearchState(memory.search_state().get())
}

/// Replaces the state by the result of `change`, atomically, and returns the new state. Returns
/// `None` and changes nothing if `change` returns `None`.
fn update_state<M: SearchMemory>(
    memory: &M,
    mut change: impl FnMut(SearchState) -> Option<SearchState>,
) -> Option<SearchState> {
    loop {
        let old = load_state(memory);
        let new = change(old)?;
        // Relaxed: the queues order the entries, and the fences the state.
        if memory.search_state().compare_exchange_relaxed(old.0, new.0) {
            return Some(new);
        }
        std::hint::spin_loop();
    }
}

/// Wakes a sleeping worker, unless a worker is already searching for entries. A thread calls this
/// function after it has published an entry.
#[inline]
pub fn wake_searcher<M: SearchMemory>(memory: &M) {
    // ORDERING(search): pairs with the fences in `end_search_with_entry`, `try_announce_sleeper`
    // and `close`.
    memory.fence(edge::SEARCH_SENDER_FENCE);
    wake_searcher_if_none(memory);
}

#[inline]
fn wake_searcher_if_none<M: SearchMemory>(memory: &M) {
    let state = load_state(memory);
    if state.searcher_count() == 0 && state.sleeper_mask() != 0 {
        wake_sleeper_to_search(memory);
    }
}

/// Wakes a sleeping worker as a searcher, unless another worker has begun to search in the
/// meantime.
#[cold]
fn wake_sleeper_to_search<M: SearchMemory>(memory: &M) {
    let mut chosen = None;
    update_state(memory, |state| {
        chosen = state
            .choose_sleeper()
            .filter(|_| state.searcher_count() == 0);
        chosen.map(|worker| state.without_sleeper(worker).add_searcher())
    });
    if let Some(worker) = chosen {
        wake_worker(memory, worker);
    }
}

fn wake_worker<M: SearchMemory>(memory: &M, worker: usize) {
    let event = memory.worker_eventcount(worker);
    if has_sleepers(&event) {
        wake(&event);
    }
}

/// Pushes `entry` to the injector `queue` of the group. If the injector's stack was empty before,
/// wakes a worker if no worker searches, and returns true if the group is closed: the caller then
/// has to take all entries out of the injector. Otherwise the sender of the first entry does all
/// this.
///
/// # Safety
///
/// As for [`injector::inject_and_check_was_empty`].
#[inline]
pub unsafe fn inject_and_check_closed<M, Q>(memory: &M, queue: &Q, entry: *mut Q::Entry) -> bool
where
    M: SearchMemory,
    Q: InjectorMemory,
{
    // SAFETY: the contract.
    let was_empty = unsafe { injector::inject_and_check_was_empty(queue, entry) };
    // WHY not for later ones: until the stack is taken, each worker that goes to sleep sees the
    // first one, and so does the thread that closes the group, or the sender of the first one.
    if !was_empty {
        return false;
    }
    wake_searcher(memory);
    // Relaxed: after the fence in `wake_searcher`.
    load_state(memory).is_closed()
}

/// Marks the group as closed, which means that its workers take no entries any more. The caller has
/// to take all entries out of the injectors afterwards.
pub fn close<M: SearchMemory>(memory: &M) {
    update_state(memory, |state| Some(state.with_closed_bit()));
    // ORDERING(search): pairs with the fence in `wake_searcher`.
    memory.fence(edge::SEARCH_CLOSE_FENCE);
}

/// Wakes all sleeping workers as searchers, so that they see a value that the caller has stored
/// before.
pub fn wake_all<M: SearchMemory>(memory: &M) {
    // ORDERING(search): pairs with the fence in `try_announce_sleeper`.
    memory.fence(edge::SEARCH_SENDER_FENCE);
    for worker in 0..memory.worker_count() {
        let woken = update_state(memory, |state| {
            let state = state
                .is_asleep(worker)
                .then(|| state.without_sleeper(worker))?;
            Some(state.add_searcher())
        });
        if woken.is_some() {
            wake_worker(memory, worker);
        }
    }
}

/// Makes a sleeping worker the watcher, if there is no watcher. A worker calls this function when
/// it fills its `lifo_slot`: searchers do not look there, so only the watcher would find the entry
/// if the worker stalls.
#[inline]
pub fn request_watcher<M: SearchMemory>(memory: &M) {
    let state = load_state(memory);
    if state.watcher().is_none() && state.sleeper_mask() != 0 {
        appoint_watcher(memory);
    }
}

#[cold]
fn appoint_watcher<M: SearchMemory>(memory: &M) {
    let mut chosen = None;
    update_state(memory, |state| {
        chosen = state.choose_sleeper().filter(|_| state.watcher().is_none());
        chosen.map(|worker| state.with_watcher(worker))
    });
    if let Some(worker) = chosen {
        wake_worker(memory, worker);
    }
}

/// Makes the calling worker a searcher. Returns false, and does nothing, if half of the workers
/// already search.
#[must_use]
pub fn try_begin_search<M: SearchMemory>(memory: &M) -> bool {
    let most = (memory.worker_count() as u64 / 2).max(1);
    let begun = update_state(memory, |state| {
        (state.searcher_count() < most).then(|| state.add_searcher())
    });
    begun.is_some()
}

/// Ends the search of the calling worker, because it has found an entry. If there are more entries,
/// wakes another worker.
pub fn end_search_with_entry<M: SearchMemory>(memory: &M) {
    update_state(memory, |state| Some(state.remove_searcher()));
    // ORDERING(search): pairs with the fence in `wake_searcher`.
    memory.fence(edge::SEARCH_WORKER_FENCE);
    if memory.has_entries() {
        wake_searcher_if_none(memory);
    }
}

/// The reason why the sleep of a worker in [`sleep_after_announcing`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerSleepEnd {
    /// There may be entries. The worker is a searcher now, and has to search for them.
    Search,
    /// The time limit has passed, or the worker has become the watcher or has stopped being it. The
    /// worker is still announced as a sleeper.
    Look,
}

/// Announces worker `index` as a sleeper, and then looks at all queues. `is_searcher` says whether
/// the worker has been a searcher until now. Returns false if there is an entry, or if `is_wanted`
/// returns true because the caller wants the worker to stay awake: the worker is then a searcher
/// instead of a sleeper.
#[must_use]
pub fn try_announce_sleeper<M: SearchMemory>(
    memory: &M,
    index: usize,
    is_searcher: bool,
    is_wanted: impl FnOnce() -> bool,
) -> bool {
    update_state(memory, |state| {
        let state = if is_searcher {
            state.remove_searcher()
        } else {
            state
        };
        let state = state.with_sleeper(index);
        let becomes_watcher =
            state.watcher().is_none() && !state.are_all_asleep(memory.worker_count());
        Some(if becomes_watcher {
            state.with_watcher(index)
        } else {
            state
        })
    });
    // ORDERING(search): pairs with the fence in `wake_searcher`.
    memory.fence(edge::SEARCH_WORKER_FENCE);
    if !memory.has_entries() && !is_wanted() {
        return true;
    }
    withdraw_sleeper(memory, index, true);
    false
}

/// Withdraws the announcement of worker `index` as a sleeper. If `becomes_searcher` is true, makes
/// the worker a searcher. Returns true if the worker is a searcher now, either for that reason or
/// because a sender was faster and has made it one.
pub fn withdraw_sleeper<M: SearchMemory>(memory: &M, index: usize, becomes_searcher: bool) -> bool {
    let awake = update_state(memory, |state| {
        let state = state
            .is_asleep(index)
            .then(|| state.without_sleeper(index))?;
        Some(if becomes_searcher {
            state.add_searcher()
        } else {
            state
        })
    });
    becomes_searcher || awake.is_none()
}

/// Sleeps once, for at most `timeout`, as worker `index`, which is announced as a sleeper.
/// `is_watcher` is the result of the last call of [`stays_watcher`]. The sleep ends when the worker
/// becomes the watcher or stops being it.
pub fn sleep_after_announcing<M: SearchMemory>(
    memory: &M,
    index: usize,
    is_watcher: bool,
    timeout: Duration,
) -> WorkerSleepEnd {
    let event = memory.worker_eventcount(index);
    let awake = || {
        let state = load_state(memory);
        let is_woken = !state.is_asleep(index);
        (is_woken || state.is_watcher(index) != is_watcher).then_some(is_woken)
    };
    let woken = sleep_once(&[&event], timeout, awake).or_else(awake);
    if woken == Some(true) {
        WorkerSleepEnd::Search
    } else {
        WorkerSleepEnd::Look
    }
}

/// Returns true if worker `index`, which is announced as a sleeper, is the watcher and has to look
/// for stalled workers. If all workers of the group sleep, the watcher stops being the watcher.
pub fn stays_watcher<M: SearchMemory>(memory: &M, index: usize) -> bool {
    let resigned = update_state(memory, |state| {
        let is_idle = state.is_watcher(index) && state.are_all_asleep(memory.worker_count());
        is_idle.then(|| state.without_watcher())
    });
    resigned.is_none() && load_state(memory).is_watcher(index)
}
