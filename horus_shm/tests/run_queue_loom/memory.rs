//! The memory of a modelled group of workers: loom's words, and plain cells for slots and payloads.

use std::ptr;
use std::sync::atomic::AtomicPtr as CoreAtomicPtr;

use horus_shm::internals::heap::injector::{InjectorEntry, InjectorMemory};
use horus_shm::internals::heap::run_queue::{self, RunQueueMemory};
use horus_shm::internals::heap::search::SearchMemory;
use horus_shm::internals::heap::{injector, search};
use horus_shm::internals::sync::{Edge, PointerWord};

use crate::checker::cell::UnsafeCell;
use crate::checker::sync::atomic::{AtomicPtr, Ordering};
use crate::loom_memory::sleepers::{LoomEvent, fence};
use crate::loom_memory::{LoomWord, mutation};

/// An entry with a number that its receiver reads.
pub(crate) struct Item {
    /// WHY not loom's: its owner alone stores it, and what publishes the payload publishes it.
    link: CoreAtomicPtr<Self>,
    payload: UnsafeCell<u64>,
}

// SAFETY: the link is one word, and only the functions of the injector store to it.
unsafe impl InjectorEntry for Item {
    fn injector_link(&self) -> &CoreAtomicPtr<Self> {
        &self.link
    }
}

impl Item {
    /// Allocates an entry; its payload is stored by the calling thread.
    pub(crate) fn allocate(number: u64) -> *mut Self {
        let item = Box::new(Self {
            link: CoreAtomicPtr::new(ptr::null_mut()),
            payload: UnsafeCell::new(0),
        });
        // SAFETY: the cell is alive, and no other thread knows it.
        item.payload.with_mut(|cell| unsafe { cell.write(number) });
        Box::into_raw(item)
    }

    /// Returns the number of `item`, and frees it. A second receiver would free it again, so the
    /// numbers are checked by the models.
    pub(crate) fn receive(item: *mut Self) -> u64 {
        // SAFETY: allocated by `allocate`; leaked, so that an entry that is received twice fails
        // the model by its number only.
        let item = unsafe { &*item };
        // SAFETY: the cell is alive, and loom fails the model if the sender is in it.
        item.payload.with(|cell| unsafe { cell.read() })
    }
}

/// A shared pointer of the models.
pub(crate) struct LoomPointer(AtomicPtr<Item>);

impl LoomPointer {
    fn null() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
}

impl PointerWord<Item> for LoomPointer {
    fn get(&self) -> *mut Item {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, new: *mut Item) {
        self.0.store(new, Ordering::Relaxed);
    }

    #[track_caller]
    fn store(&self, new: *mut Item, edge: Edge) {
        self.0.store(new, mutation::ordering(edge));
    }

    fn swap_relaxed(&self, new: *mut Item) -> *mut Item {
        self.0.swap(new, Ordering::Relaxed)
    }

    #[track_caller]
    fn swap_ordered(&self, new: *mut Item, edge: Edge) -> *mut Item {
        self.0.swap(new, mutation::ordering(edge))
    }

    #[track_caller]
    fn compare_exchange_ordered(
        &self,
        old: *mut Item,
        new: *mut Item,
        edge: Edge,
    ) -> Result<(), *mut Item> {
        self.0
            .compare_exchange(old, new, mutation::ordering(edge), Ordering::Relaxed)
            .map(drop)
    }
}

/// The number of slots of a modelled ring.
const RING_SLOTS: u32 = 2;

/// The queue of one worker.
pub(crate) struct LoomQueue {
    heads: LoomWord,
    tail: LoomWord,
    lifo_slot: LoomPointer,
    newest: LoomPointer,
    chain: LoomPointer,
    slots: [UnsafeCell<*mut Item>; RING_SLOTS as usize],
}

impl LoomQueue {
    pub(crate) fn new() -> Self {
        Self {
            heads: LoomWord::new(0),
            tail: LoomWord::new(0),
            lifo_slot: LoomPointer::null(),
            newest: LoomPointer::null(),
            chain: LoomPointer::null(),
            slots: std::array::from_fn(|_| UnsafeCell::new(ptr::null_mut())),
        }
    }

    /// Appends an entry with this number, as the owner; returns false if the ring is full.
    pub(crate) fn push(&self, number: u64) -> bool {
        // SAFETY: each queue has one owner in a model.
        unsafe { run_queue::try_append_entry(self, Item::allocate(number)) }
    }

    /// Takes the oldest entry, as the owner.
    pub(crate) fn pop(&self) -> Option<u64> {
        // SAFETY: as above.
        unsafe { run_queue::pop_oldest(self) }.map(Item::receive)
    }

    /// Steals from `from`, as the owner of this queue.
    pub(crate) fn steal_from(&self, from: &Self) -> Option<u64> {
        // SAFETY: as above.
        unsafe { run_queue::steal_half_of_entries(from, self) }.map(Item::receive)
    }

    /// Sends an entry with this number; returns true if the injector was empty.
    pub(crate) fn inject(&self, number: u64) -> bool {
        // SAFETY: the entry is new.
        unsafe { injector::inject_and_check_was_empty(self, Item::allocate(number)) }
    }

    /// Takes all injected entries.
    pub(crate) fn take(&self) -> List {
        List(injector::take_chain_or_stack(self))
    }

    /// Returns the entries of `list` as the chain, as the owner.
    pub(crate) fn put_back_as_chain(&self, list: List) {
        // SAFETY: each queue has one owner in a model, which puts back once.
        unsafe { injector::put_back_as_chain(self, list.0) };
    }

    /// Takes one entry out of the injector of `from`, and makes the others the chain of this queue,
    /// as its owner.
    pub(crate) fn take_one(&self, from: &Self) -> Option<u64> {
        let mut list = from.take();
        let first = list.next();
        if !list.0.is_null() {
            self.put_back_as_chain(list);
        }
        first
    }
}

/// A list of entries that one thread has for itself.
pub(crate) struct List(*mut Item);

impl Iterator for List {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        // SAFETY: the list was taken, so the entries are the caller's.
        let item = unsafe { injector::pop_from_list(&mut self.0) };
        (!item.is_null()).then(|| Item::receive(item))
    }
}

impl List {
    /// Splits the first `most` entries off, oldest first.
    pub(crate) fn split(&mut self, most: u32) -> Self {
        // SAFETY: as above.
        Self(unsafe { injector::take_first_entries_reversed(&mut self.0, most) })
    }
}

impl RunQueueMemory for LoomQueue {
    type Item = Item;
    type Word = LoomWord;
    type Pointer = LoomPointer;

    fn slot_count(&self) -> u32 {
        RING_SLOTS
    }

    fn heads(&self) -> &LoomWord {
        &self.heads
    }

    fn tail(&self) -> &LoomWord {
        &self.tail
    }

    fn lifo_slot(&self) -> &LoomPointer {
        &self.lifo_slot
    }

    unsafe fn put(&self, index: u32, item: *mut Item) {
        // SAFETY: the cell is alive, and loom fails the model if another thread is in it.
        self.slots[index as usize].with_mut(|slot| unsafe { slot.write(item) });
    }

    unsafe fn read(&self, index: u32) -> *mut Item {
        // SAFETY: as above.
        self.slots[index as usize].with(|slot| unsafe { slot.read() })
    }
}

impl InjectorMemory for LoomQueue {
    type Entry = Item;
    type Pointer = LoomPointer;

    fn newest_entry(&self) -> &LoomPointer {
        &self.newest
    }

    fn newest_chain_entry(&self) -> &LoomPointer {
        &self.chain
    }
}

/// The memory of a group of workers.
pub(crate) struct LoomGroup {
    state: LoomWord,
    events: Vec<LoomEvent>,
    pub(crate) queues: Vec<LoomQueue>,
}

impl LoomGroup {
    /// Makes a group in which all workers run.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            state: LoomWord::new(0),
            events: (0..workers).map(|_| LoomEvent::new()).collect(),
            queues: (0..workers).map(|_| LoomQueue::new()).collect(),
        }
    }

    /// Sends an entry with this number to worker `index`.
    pub(crate) fn inject(&self, index: usize, number: u64) {
        assert!(!self.inject_late(index, number));
    }

    /// Sends an entry with this number to worker `index`; returns true if the group is closed.
    pub(crate) fn inject_late(&self, index: usize, number: u64) -> bool {
        // SAFETY: the entry is new.
        unsafe {
            search::inject_and_check_closed(self, &self.queues[index], Item::allocate(number))
        }
    }
}

impl SearchMemory for LoomGroup {
    type Word = LoomWord;
    type WorkerEventcount<'a> = LoomEvent;

    fn worker_count(&self) -> usize {
        self.events.len()
    }

    fn search_state(&self) -> &LoomWord {
        &self.state
    }

    fn worker_eventcount(&self, index: usize) -> LoomEvent {
        self.events[index].clone()
    }

    #[track_caller]
    fn fence(&self, edge: Edge) {
        fence(edge);
    }

    fn has_entries(&self) -> bool {
        let has_entries =
            |queue: &LoomQueue| !run_queue::is_empty(queue) || !injector::is_empty(queue);
        self.queues.iter().any(has_entries)
    }
}
