//! The search for work: who searches, who sleeps, and who has to be woken.
//!
//! All of it is one word, so that each transition is one exchange: a bit for each worker that
//! sleeps, the number of those that search, and the *watcher*, a sleeping worker that looks every
//! now and then for entries of a worker that does not return from a handler.
//!
//! A sender publishes an entry, and wakes a worker only if nobody searches. A worker that searches
//! in vain leaves the searchers, and looks at all queues once more before it sleeps. One that finds
//! an entry leaves the searchers too, looks, and wakes another worker if there is more.
//!
//! Once the workers are gone, the word is *closed*. A sender that has pushed an entry too late sees
//! this when it looks for a worker to wake.

use std::time::Duration;

use super::injector::{self, InjectorMemory};
use crate::protocol::sync::{Edge, Word, edge};
use crate::wait::{Eventcount, has_sleepers, sleep_once, wake};

/// Maximum number of workers of a group.
pub const WORKERS_MAX: usize = 48;

/// The shared words on which a group of workers coordinates its search for entries.
pub trait SearchMemory {
    /// The shared words.
    type Word: Word;
    /// The eventcount of one worker.
    type WorkerEvent<'a>: Eventcount
    where
        Self: 'a;

    /// Returns the number of workers: at most [`WORKERS_MAX`].
    fn workers(&self) -> usize;

    /// Returns the word that holds the [`SearchState`].
    fn state(&self) -> &Self::Word;

    /// Returns the eventcount at which worker `index` sleeps.
    fn event(&self, index: usize) -> Self::WorkerEvent<'_>;

    /// Executes a fence.
    fn fence(&self, edge: Edge);

    /// Returns true if any queue of the group has an entry.
    fn has_entries(&self) -> bool;
}

/// The state of a group's search for entries, in one word: which workers sleep, which of them is
/// the watcher, how many search, and whether the group is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchState(u64);

/// The shift in [`SearchState`] of the watcher's index plus 1; 0 stands for no watcher.
const WATCHER_SHIFT: u32 = WORKERS_MAX as u32;

/// The bits of the watcher, from [`WATCHER_SHIFT`] on.
const WATCHER_MASK: u64 = 0x7f;

/// The bit in [`SearchState`] of a group whose workers are gone.
const CLOSED_BIT: u64 = 1 << (WATCHER_SHIFT + 7);

/// The shift in [`SearchState`] of the number of searchers.
const SEARCHERS_SHIFT: u32 = WATCHER_SHIFT + 8;

impl SearchState {
    const fn sleepers(self) -> u64 {
        self.0 & ((1 << WATCHER_SHIFT) - 1)
    }

    const fn searchers(self) -> u64 {
        self.0 >> SEARCHERS_SHIFT
    }

    const fn is_asleep(self, worker: usize) -> bool {
        self.0 >> worker & 1 != 0
    }

    const fn watcher(self) -> Option<usize> {
        ((self.0 >> WATCHER_SHIFT & WATCHER_MASK) as usize).checked_sub(1)
    }

    fn watches(self, worker: usize) -> bool {
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

    const fn close(self) -> Self {
        Self(self.0 | CLOSED_BIT)
    }

    const fn add_searcher(self) -> Self {
        Self(self.0 + (1 << SEARCHERS_SHIFT))
    }

    const fn remove_searcher(self) -> Self {
        Self(self.0 - (1 << SEARCHERS_SHIFT))
    }

    const fn sleep(self, worker: usize) -> Self {
        Self(self.0 | 1 << worker)
    }

    fn wake_up(self, worker: usize) -> Self {
        let state = if self.watches(worker) {
            self.without_watcher()
        } else {
            self
        };
        Self(state.0 & !(1 << worker))
    }

    /// Returns true if no worker runs or searches.
    const fn all_asleep(self, workers: usize) -> bool {
        self.sleepers().count_ones() as usize == workers
    }

    /// Returns the sleeper to wake: the watcher only if there is no other.
    fn choose_sleeper(self) -> Option<usize> {
        let others = match self.watcher() {
            Some(watcher) => self.sleepers() & !(1 << watcher),
            None => self.sleepers(),
        };
        let among = if others == 0 { self.sleepers() } else { others };
        (among != 0).then(|| among.trailing_zeros() as usize)
    }
}

/// Loads the state. Relaxed: each decision on it is an exchange, or comes after a fence.
#[inline(always)]
fn load_state<M: SearchMemory>(memory: &M) -> SearchState {
    SearchState(memory.state().get())
}

/// Replaces the state by what `change` makes of it, unless that is `None`; returns the new state.
fn update_state<M: SearchMemory>(
    memory: &M,
    mut change: impl FnMut(SearchState) -> Option<SearchState>,
) -> Option<SearchState> {
    loop {
        let old = load_state(memory);
        let new = change(old)?;
        // Relaxed: the queues order the entries, and the fences the state.
        if memory.state().compare_exchange_relaxed(old.0, new.0) {
            return Some(new);
        }
        std::hint::spin_loop();
    }
}

/// Wakes a sleeping worker, if no worker searches for entries. A thread calls this after it has
/// published an entry.
#[inline]
pub fn wake_searcher<M: SearchMemory>(memory: &M) {
    // ORDERING(search): pairs with the fences in `found`, `announce` and `close`.
    memory.fence(edge::SEARCH_LOOK);
    wake_searcher_if_none(memory);
}

#[inline]
fn wake_searcher_if_none<M: SearchMemory>(memory: &M) {
    let state = load_state(memory);
    if state.searchers() == 0 && state.sleepers() != 0 {
        wake_as_searcher(memory);
    }
}

/// Makes a sleeping worker a searcher and wakes it, unless another worker has begun to search
/// meanwhile.
#[cold]
fn wake_as_searcher<M: SearchMemory>(memory: &M) {
    let mut chosen = None;
    update_state(memory, |state| {
        chosen = state.choose_sleeper().filter(|_| state.searchers() == 0);
        chosen.map(|worker| state.wake_up(worker).add_searcher())
    });
    if let Some(worker) = chosen {
        wake_worker(memory, worker);
    }
}

fn wake_worker<M: SearchMemory>(memory: &M, worker: usize) {
    let event = memory.event(worker);
    if has_sleepers(&event) {
        wake(&event);
    }
}

/// Sends `entry` to the injector `queue` of the group, and wakes a worker if none searches. Returns
/// true if the group is closed: the caller has to take all entries out of the injector.
///
/// # Safety
///
/// As of [`injector::inject`].
#[inline]
pub unsafe fn inject<M, Q>(memory: &M, queue: &Q, entry: *mut Q::Entry) -> bool
where
    M: SearchMemory,
    Q: InjectorMemory,
{
    // SAFETY: the contract.
    let was_empty = unsafe { injector::inject(queue, entry) };
    // WHY not for later ones: until the stack is taken, each worker that goes to sleep sees the
    // first one, and so does the thread that closes the group, or the sender of the first one.
    if !was_empty {
        return false;
    }
    wake_searcher(memory);
    // Relaxed: after the fence in `wake_searcher`.
    load_state(memory).is_closed()
}

/// Marks the group as closed: its workers take no entries any more. The caller has to take all
/// entries out of the injectors afterwards.
pub fn close<M: SearchMemory>(memory: &M) {
    update_state(memory, |state| Some(state.close()));
    // ORDERING(search): pairs with the fence in `wake_searcher`.
    memory.fence(edge::SEARCH_CLOSE);
}

/// Wakes all sleepers, each as a searcher, because of something that the caller has stored.
pub fn wake_all<M: SearchMemory>(memory: &M) {
    // ORDERING(search): pairs with the fence in `announce`.
    memory.fence(edge::SEARCH_LOOK);
    for worker in 0..memory.workers() {
        let woken = update_state(memory, |state| {
            let state = state.is_asleep(worker).then(|| state.wake_up(worker))?;
            Some(state.add_searcher())
        });
        if woken.is_some() {
            wake_worker(memory, worker);
        }
    }
}

/// Makes a sleeper the watcher, if there is none. The owner of a `lifo_slot` calls this when it
/// fills the slot, as searchers do not look there.
#[inline]
pub fn need_watcher<M: SearchMemory>(memory: &M) {
    let state = load_state(memory);
    if state.watcher().is_none() && state.sleepers() != 0 {
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

/// Makes the calling worker a searcher; returns false if half of the workers search already.
#[must_use]
pub fn begin_search<M: SearchMemory>(memory: &M) -> bool {
    let most = (memory.workers() as u64 / 2).max(1);
    let begun = update_state(memory, |state| {
        (state.searchers() < most).then(|| state.add_searcher())
    });
    begun.is_some()
}

/// Ends the search of the calling worker, which found an entry. Wakes another worker if there are
/// more entries.
pub fn end_search_with_entry<M: SearchMemory>(memory: &M) {
    update_state(memory, |state| Some(state.remove_searcher()));
    // ORDERING(search): pairs with the fence in `wake_searcher`.
    memory.fence(edge::SEARCH_LEAVE);
    if memory.has_entries() {
        wake_searcher_if_none(memory);
    }
}

/// The reason for which [`sleep_announced`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepEnd {
    /// There may be entries; the worker is a searcher now.
    Search,
    /// The sleep took as long as it may, or the worker is the watcher and has to look for stalled
    /// workers. The worker is still announced as a sleeper.
    Look,
}

/// Announces worker `index` as a sleeper, and looks at all queues; `is_searcher` is true if it has
/// searched. Returns false if there is an entry, or if `is_wanted` returns true: the worker is a
/// searcher then.
#[must_use]
pub fn announce_sleeper<M: SearchMemory>(
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
        let state = state.sleep(index);
        let watches = state.watcher().is_none() && !state.all_asleep(memory.workers());
        Some(if watches {
            state.with_watcher(index)
        } else {
            state
        })
    });
    // ORDERING(search): pairs with the fence in `wake_searcher`.
    memory.fence(edge::SEARCH_LEAVE);
    if !memory.has_entries() && !is_wanted() {
        return true;
    }
    withdraw_sleeper(memory, index, true);
    false
}

/// Ends the sleep of worker `index`, which is announced as a sleeper. Returns true if the worker is
/// a searcher now: `searches` is true, or a sender that was faster has made it one.
pub fn withdraw_sleeper<M: SearchMemory>(memory: &M, index: usize, searches: bool) -> bool {
    let awake = update_state(memory, |state| {
        let state = state.is_asleep(index).then(|| state.wake_up(index))?;
        Some(if searches {
            state.add_searcher()
        } else {
            state
        })
    });
    searches || awake.is_none()
}

/// Sleeps once, for at most `timeout`, as worker `index`, which is announced. `watches` is what
/// [`keeps_watch`] returned before; the sleep ends if that changes.
pub fn sleep_announced<M: SearchMemory>(
    memory: &M,
    index: usize,
    watches: bool,
    timeout: Duration,
) -> SleepEnd {
    let event = memory.event(index);
    let awake = || {
        let state = load_state(memory);
        let is_woken = !state.is_asleep(index);
        (is_woken || state.watches(index) != watches).then_some(is_woken)
    };
    let woken = sleep_once(&[&event], timeout, awake).or_else(awake);
    if woken == Some(true) {
        SleepEnd::Search
    } else {
        SleepEnd::Look
    }
}

/// Returns true if worker `index`, which is announced, has to look for stalled workers. If all
/// workers of the group sleep, the watcher stops watching.
pub fn keeps_watch<M: SearchMemory>(memory: &M, index: usize) -> bool {
    let resigned = update_state(memory, |state| {
        let is_idle = state.watches(index) && state.all_asleep(memory.workers());
        is_idle.then(|| state.without_watcher())
    });
    resigned.is_none() && load_state(memory).watches(index)
}
