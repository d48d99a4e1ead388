//! The queue of a thread that runs its actors itself, without the workers of a group.
//!
//! A sender that wakes such an actor pushes the right to run it to this queue, and wakes the
//! thread. The thread takes all entries at once. The queue consists of an injector and an
//! eventcount, and uses the memory orderings of both.

use core::fmt;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::injector::{self, InjectorMemory};
use super::run_queues::QueueEntry;
use crate::wait::{LocalEventcount, WaitPolicy};

/// A queue of actors that have mail. It belongs to one thread of the program, which runs these
/// actors itself.
pub struct PullQueue<E: QueueEntry> {
    newest: AtomicPtr<E::Target>,
    /// The chain of the injector, which is always null. WHY: the only thread that takes entries
    /// takes all of them.
    chain: AtomicPtr<E::Target>,
    event: LocalEventcount,
    /// The waker of the task that waits for an entry; `None` if no task waits.
    waker: Mutex<Option<Waker>>,
}

// SAFETY: the pointers stand for handles, which may be sent to other threads.
unsafe impl<E: QueueEntry> Send for PullQueue<E> {}
// SAFETY: as above; the injector hands each pointer to one thread.
unsafe impl<E: QueueEntry> Sync for PullQueue<E> {}

impl<E: QueueEntry> InjectorMemory for PullQueue<E> {
    type Entry = E::Target;
    type Pointer = AtomicPtr<E::Target>;

    fn newest_entry(&self) -> &AtomicPtr<E::Target> {
        &self.newest
    }

    fn newest_chain_entry(&self) -> &AtomicPtr<E::Target> {
        &self.chain
    }
}

impl<E: QueueEntry> Default for PullQueue<E> {
    fn default() -> Self {
        Self {
            newest: AtomicPtr::new(ptr::null_mut()),
            chain: AtomicPtr::new(ptr::null_mut()),
            // WHY fenced: a barrier would interrupt every CPU of the process at each wait.
            event: LocalEventcount::with_fences(),
            waker: Mutex::new(None),
        }
    }
}

impl<E: QueueEntry> PullQueue<E> {
    /// Adds `entry`, and wakes the thread or task that waits for entries. Lock-free, unless a task
    /// waits.
    pub fn push(&self, entry: E) {
        // SAFETY: the pointer of a handle is valid, and in no queue.
        unsafe { injector::inject_and_check_was_empty(self, entry.into_raw().as_ptr()) };
        if self.event.notify_sleepers()
            && let Some(waker) = self.take_waker()
        {
            waker.wake();
        }
    }

    /// Takes all entries, and calls `each` for each of them, from the oldest to the newest. Returns
    /// their number.
    pub fn take_all_entries(&self, mut each: impl FnMut(E)) -> usize {
        let mut newest = injector::take_chain_or_stack(self);
        // SAFETY: the list was taken, so its entries are this thread's.
        let mut list = unsafe { injector::take_first_entries_reversed(&mut newest, u32::MAX) };
        let mut count = 0;
        // SAFETY: as above.
        while let Some(raw) = ptr::NonNull::new(unsafe { injector::pop_from_list(&mut list) }) {
            // SAFETY: `push` gave up the handle for this pointer, which was taken out.
            each(unsafe { E::from_raw(raw) });
            count += 1;
        }
        count
    }

    /// Calls `poll` until it returns a value, or until the deadline of `wait_policy`; returns the
    /// value. Between two calls, the thread sleeps until an entry is pushed.
    pub fn wait_until<R>(
        &self,
        wait_policy: WaitPolicy,
        poll: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        self.event.wait_until(wait_policy, poll)
    }

    /// Stores the waker of a task that waits for entries, in place of an earlier one. The next push
    /// wakes the task. Returns false if there are entries already: the caller then has to take
    /// them.
    #[must_use]
    pub fn try_register_waker(&self, waker: &Waker) -> bool {
        let mut registered = self.lock_waker();
        let former = registered.replace(waker.clone());
        if former.is_none() {
            self.event.announce_waiter();
        }
        drop(registered);
        drop(former);
        injector::is_empty(self)
    }

    /// Removes the waker of the waiting task that [`Self::try_register_waker`] has stored, so that
    /// a push no longer wakes the task.
    pub fn remove_waker(&self) {
        drop(self.take_waker());
    }

    /// Removes the stored waker and returns it. Pushes then no longer look for a waker. Returns
    /// `None` if no waker is stored.
    fn take_waker(&self) -> Option<Waker> {
        let waker = self.lock_waker().take();
        if waker.is_some() {
            self.event.withdraw_waiter();
        }
        waker
    }

    fn lock_waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: QueueEntry> fmt::Debug for PullQueue<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PullQueue")
            .field("is_empty", &injector::is_empty(self))
            .finish_non_exhaustive()
    }
}
