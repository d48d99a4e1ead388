//! The memory of a group of workers: a run queue and an injector for each worker, the state of the
//! search for entries, and the eventcounts at which workers sleep.

use core::cell::UnsafeCell;
use core::fmt;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64};
use std::sync::Arc;

use super::injector::{self, InjectorEntry, InjectorMemory};
use super::run_queue::{self, RunQueueMemory};
use super::search::{self, SearchMemory, WORKERS_MAX};
use super::worker::Worker;
use crate::protocol::sync::{self, Edge, PointerWord, Word};
use crate::wait::{EventcountView, LocalEventcount, execute_process_barrier};

/// Number of slots of each worker's ring. Also the maximum number of entries that a worker keeps
/// when it takes an injector's stack.
pub const RING_SLOTS: u32 = 256;

/// An entry of a run queue: a handle of something that a worker can run, such as an actor. It can
/// be converted to one pointer, and no other handle refers to the same thing.
///
/// # Safety
///
/// * The pointer that `into_raw` returns is valid until it is passed to `from_raw`. Until then,
///   `into_raw` of no other handle returns the same pointer.
/// * The handle may be sent to other threads.
pub unsafe trait QueueEntry {
    /// The type to which the raw pointer of an entry points.
    type Target: InjectorEntry;

    /// Converts the entry to a raw pointer, which owns the entry.
    fn into_raw(self) -> NonNull<Self::Target>;

    /// Converts a raw pointer back to the entry from which it was made.
    ///
    /// # Safety
    ///
    /// `raw` was returned by `into_raw`, and is passed to this function only once.
    unsafe fn from_raw(raw: NonNull<Self::Target>) -> Self;
}

/// The queue of one worker: a ring, a `lifo_slot` for the entry that runs next, and an injector.
/// The parts that the owner writes and the part that senders write are on different cache lines.
#[repr(align(128))]
pub(super) struct WorkerQueue<T> {
    heads: AtomicU64,
    tail: AtomicU64,
    lifo_slot: AtomicPtr<T>,
    /// 1 if other threads may take the entry in the `lifo_slot`, so that the owner has to take it
    /// by an exchange; 0 otherwise.
    has_thieves: AtomicU64,
    /// Number of times that the worker has begun to run an entry. Only the worker stores this word.
    pub(super) activations: AtomicU64,
    chain: AtomicPtr<T>,
    injected: InjectorHead<T>,
    slots: [UnsafeCell<*mut T>; RING_SLOTS as usize],
}

/// The newest entry that was sent to a worker. It has a cache line to which the worker does not
/// write for other purposes.
#[repr(align(128))]
struct InjectorHead<T>(AtomicPtr<T>);

impl<T> WorkerQueue<T> {
    /// Creates an empty queue. `has_thieves` says whether other threads may take the entry in its
    /// `lifo_slot`.
    pub(super) fn new(has_thieves: bool) -> Self {
        let null = ptr::null_mut();
        let [heads, tail, activations] = [0; 3].map(AtomicU64::new);
        let has_thieves = AtomicU64::new(has_thieves.into());
        let [lifo_slot, chain, newest] = [null; 3].map(AtomicPtr::new);
        Self {
            heads,
            tail,
            lifo_slot,
            has_thieves,
            activations,
            chain,
            injected: InjectorHead(newest),
            slots: [const { UnsafeCell::new(ptr::null_mut()) }; RING_SLOTS as usize],
        }
    }

    /// Returns true if other threads may take the entry in the `lifo_slot`.
    #[inline(always)]
    pub(super) fn has_thieves(&self) -> bool {
        // Relaxed: see `admit_thieves`.
        self.has_thieves.get() != 0
    }

    /// Allows the calling thread to take the entry in the `lifo_slot` of the only worker of a
    /// group. Returns false if that is not possible now. `is_running` returns true if the worker
    /// runs an entry.
    ///
    /// WHY two barriers: the owner loads `has_thieves` and stores the empty slot without an
    /// exchange, but only while it runs no entry. If that began before the first barrier, and has
    /// not ended at the second one, `is_running` returned false.
    #[cold]
    fn admit_thieves(&self, is_running: impl FnOnce() -> bool) -> bool {
        // Relaxed: the barrier makes it visible.
        self.has_thieves.set(1);
        // ORDERING(lifo_close): barriers on all CPUs. Pairs with the order of the accesses in
        // `Worker::pop_lifo_entry` and `Worker::begin_activation`.
        execute_process_barrier() && is_running() && execute_process_barrier()
    }
}

impl<T> RunQueueMemory for WorkerQueue<T> {
    type Item = T;
    type Word = AtomicU64;
    type Pointer = AtomicPtr<T>;

    #[inline(always)]
    fn slot_count(&self) -> u32 {
        RING_SLOTS
    }

    #[inline(always)]
    fn heads(&self) -> &AtomicU64 {
        &self.heads
    }

    #[inline(always)]
    fn tail(&self) -> &AtomicU64 {
        &self.tail
    }

    #[inline(always)]
    fn lifo_slot(&self) -> &AtomicPtr<T> {
        &self.lifo_slot
    }

    #[inline(always)]
    unsafe fn put(&self, index: u32, item: *mut T) {
        // SAFETY: no other thread accesses the slot, by the contract.
        unsafe { self.slots[index as usize].get().write(item) };
    }

    #[inline(always)]
    unsafe fn read(&self, index: u32) -> *mut T {
        // SAFETY: no other thread stores to the slot, by the contract.
        unsafe { self.slots[index as usize].get().read() }
    }
}

impl<T: InjectorEntry> InjectorMemory for WorkerQueue<T> {
    type Entry = T;
    type Pointer = AtomicPtr<T>;

    #[inline(always)]
    fn newest_entry(&self) -> &AtomicPtr<T> {
        &self.injected.0
    }

    #[inline(always)]
    fn newest_chain_entry(&self) -> &AtomicPtr<T> {
        &self.chain
    }
}

/// The run queues of the workers of a group.
pub struct RunQueues<E: QueueEntry>(QueueGroup<E::Target>);

/// The memory that the workers of a group share: their queues, and the state of their search for
/// entries.
pub(super) struct QueueGroup<T> {
    queues: Box<[WorkerQueue<T>]>,
    /// The word with the state of the workers' search for entries: see
    /// [`SearchState`](super::search::SearchState).
    state: PaddedWord<AtomicU64>,
    events: Box<[LocalEventcount]>,
}

/// A word that shares its cache lines with no other data.
#[repr(align(128))]
struct PaddedWord<T>(T);

// SAFETY: an entry may be sent to other threads, the queues hand each to one thread at a time, and
// a slot is accessed by its owner and by the thief that claimed it only.
unsafe impl<E: QueueEntry> Send for RunQueues<E> {}

// SAFETY: as above.
unsafe impl<E: QueueEntry> Sync for RunQueues<E> {}

impl<E: QueueEntry> RunQueues<E> {
    /// Creates the queues of a group of `workers` workers. Also returns a [`Worker`], the owner's
    /// end, for each queue.
    ///
    /// # Panics
    ///
    /// If `workers` is 0 or more than [`WORKERS_MAX`].
    #[must_use]
    pub fn new(workers: usize) -> (Arc<Self>, Vec<Worker<E>>) {
        assert!(
            (1..=WORKERS_MAX).contains(&workers),
            "a group has 1 to {WORKERS_MAX} workers, not {workers}"
        );
        let queues = Arc::new(Self(QueueGroup {
            queues: (0..workers)
                .map(|_| WorkerQueue::new(workers > 1))
                .collect(),
            state: PaddedWord(AtomicU64::new(0)),
            events: (0..workers)
                .map(|_| LocalEventcount::with_fences())
                .collect(),
        }));
        let ends = (0..workers).map(|index| Worker::new(Arc::clone(&queues), index));
        let ends = ends.collect();
        (queues, ends)
    }

    /// Returns the number of workers of the group.
    #[must_use]
    pub fn worker_count(&self) -> usize {
        self.0.queues.len()
    }

    /// Sends `entry` to worker `worker_index`, modulo the number of workers. Any thread may call
    /// this function. If the queues are closed ([`Self::close`]), takes all entries that were sent
    /// too late back out of that worker's injector, and calls `give_back` with each of them.
    /// `entry` is usually among them; if it is not, another sender has taken it, and calls the
    /// `give_back` of its own call with it.
    #[inline]
    pub fn inject(&self, worker_index: usize, entry: E, give_back: impl FnMut(E)) {
        let queue = &self.0.queues[worker_index % self.0.queues.len()];
        // SAFETY: the pointer of a handle is valid, and in no queue.
        if unsafe { search::inject_and_check_closed(&self.0, queue, entry.into_raw().as_ptr()) } {
            take_injected_entries(queue, give_back);
        }
    }

    /// Closes the injectors. Called when the workers are gone or have stalled. Calls `give_back`
    /// with each entry that was sent or put into a queue, and that no worker has begun to run, also
    /// if its worker still exists. Entries that are sent later go back to their senders; see
    /// [`Self::inject`].
    ///
    /// `is_running` is called with the index of a worker. It has to return true only if the worker
    /// runs an entry: after [`Worker::begin_activation`], and before it takes the next entry. If
    /// there is only one worker and it runs none, the entry in its `lifo_slot` stays there. WHY: a
    /// worker without others takes it without an exchange.
    pub fn close(&self, is_running: impl Fn(usize) -> bool, mut give_back: impl FnMut(E)) {
        search::close(&self.0);
        let stolen = WorkerQueue::new(true);
        for (index, queue) in self.0.queues.iter().enumerate() {
            take_injected_entries(queue, &mut give_back);
            if self.0.queues.len() > 1 || queue.admit_thieves(|| is_running(index)) {
                steal_lifo_entry(queue, &mut give_back);
            }
            steal_ring_entries(queue, &stolen, &mut give_back);
        }
    }

    /// Wakes all sleeping workers, so that they check a condition that does not depend on their
    /// queues.
    pub fn wake_all(&self) {
        search::wake_all(&self.0);
    }

    #[inline(always)]
    pub(super) fn queue(&self, index: usize) -> &WorkerQueue<E::Target> {
        &self.0.queues[index]
    }

    #[inline(always)]
    pub(super) fn group(&self) -> &QueueGroup<E::Target> {
        &self.0
    }
}

impl<T: InjectorEntry> SearchMemory for QueueGroup<T> {
    type Word = AtomicU64;
    type WorkerEventcount<'a>
        = EventcountView<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn worker_count(&self) -> usize {
        self.queues.len()
    }

    #[inline(always)]
    fn search_state(&self) -> &AtomicU64 {
        &self.state.0
    }

    fn worker_eventcount(&self, index: usize) -> EventcountView<'_> {
        self.events[index].event()
    }

    #[inline(always)]
    fn fence(&self, edge: Edge) {
        sync::fence(edge);
    }

    fn has_entries(&self) -> bool {
        let is_empty =
            |queue: &WorkerQueue<_>| run_queue::is_empty(queue) && injector::is_empty(queue);
        !self.queues.iter().all(is_empty)
    }
}

impl<E: QueueEntry> Drop for RunQueues<E> {
    fn drop(&mut self) {
        for queue in &self.0.queues {
            while let Some(entry) = take_remaining_entry(queue) {
                // SAFETY: the entry was in a queue, and was taken out.
                drop(unsafe { entry_from_pointer::<E>(entry) });
            }
        }
    }
}

/// Takes all entries out of the injector of `queue`, to which other threads send entries, and calls
/// `each` for each of them.
#[cold]
fn take_injected_entries<E: QueueEntry>(queue: &WorkerQueue<E::Target>, mut each: impl FnMut(E)) {
    loop {
        let mut list = injector::take_chain_or_stack(queue);
        if list.is_null() {
            return;
        }
        // SAFETY: the list was taken, so its entries are this thread's.
        while let Some(raw) = NonNull::new(unsafe { injector::pop_from_list(&mut list) }) {
            // SAFETY: the entry was in the queue, and was taken out.
            each(unsafe { E::from_raw(raw) });
        }
    }
}

/// Takes the entry out of the `lifo_slot` of `queue` as a thief, and calls `each` for it.
#[cold]
fn steal_lifo_entry<E: QueueEntry>(queue: &WorkerQueue<E::Target>, each: impl FnOnce(E)) {
    // Relaxed: the exchange decides.
    let next = queue.lifo_slot.get();
    if !next.is_null() && run_queue::try_steal_lifo_entry(queue, next) {
        // SAFETY: the entry was in the queue, and was taken out.
        each(unsafe { entry_from_pointer(next) });
    }
}

/// Takes all entries out of the ring of `queue` as a thief, and calls `each` for each of them.
/// `own` is an empty queue, which only the caller uses, and which is empty again afterwards.
#[cold]
fn steal_ring_entries<E: QueueEntry>(
    queue: &WorkerQueue<E::Target>,
    own: &WorkerQueue<E::Target>,
    mut each: impl FnMut(E),
) {
    loop {
        // SAFETY: by the contract, this thread is the owner of `own`.
        let oldest = unsafe { run_queue::pop_oldest(own) };
        // SAFETY: as above.
        let entry = oldest.or_else(|| unsafe { run_queue::steal_half_of_entries(queue, own) });
        let Some(entry) = entry else { return };
        // SAFETY: the entry was in the queue, and was taken out.
        each(unsafe { entry_from_pointer(entry) });
    }
}

/// Takes an entry out of a queue when the queues are dropped, so that no other thread accesses the
/// queue any more. Returns `None` if the queue is empty.
fn take_remaining_entry<T: InjectorEntry>(queue: &WorkerQueue<T>) -> Option<*mut T> {
    let mut list = injector::take_chain_or_stack(queue);
    // SAFETY: the list was taken, so its entries are the caller's.
    let entry = unsafe { injector::pop_from_list(&mut list) };
    if !list.is_null() {
        // SAFETY: this thread acts as the owner. There is no chain, as all of it was taken first.
        unsafe { injector::put_back_as_chain(queue, list) };
    }
    if entry.is_null() {
        // SAFETY: this thread acts as the owner.
        return run_queue::take_lifo_entry(queue, false)
            .or_else(|| unsafe { run_queue::pop_oldest(queue) });
    }
    Some(entry)
}

/// Converts the pointer of an entry that was taken out of a queue back to the entry.
///
/// # Safety
///
/// `entry` is the pointer of a handle that was put into a queue, and was taken out of it. It is
/// passed to this function only once.
#[inline(always)]
pub(super) unsafe fn entry_from_pointer<E: QueueEntry>(entry: *mut E::Target) -> E {
    // SAFETY: the pointer of a handle is not null.
    let raw = unsafe { NonNull::new_unchecked(entry) };
    // SAFETY: by the contract.
    unsafe { E::from_raw(raw) }
}

impl<E: QueueEntry> fmt::Debug for RunQueues<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunQueues")
            .field("workers", &self.worker_count())
            .finish_non_exhaustive()
    }
}
