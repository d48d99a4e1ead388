//! The memory of the models: one lane whose words, payloads and fences belong to the checker.
//!
//! The checker is loom in `lane_loom.rs` and shuttle in `lane_shuttle.rs`. The lane algorithms run
//! on it unchanged. A message is `[u64; 2]` with the same value twice, so that a torn one is
//! detected. A racing payload is two relaxed words, an exclusive one two plain cells in which the
//! checker reports a race.

pub(crate) mod attendance;
pub(crate) mod ends;
pub(crate) mod in_place;
pub(crate) mod mutation;
pub(crate) mod sleepers;
pub(crate) mod tickets;

use std::cell::Cell;
use std::sync::atomic::{self as core_atomic, Ordering};

use horus_shm::internals::copy::PrefetchIntent;
use horus_shm::internals::lane::PinnableLane;
use horus_shm::internals::layout::LaneBlock;
use horus_shm::internals::memory::LaneMemory;
use horus_shm::internals::sync::{Edge, Word};
use horus_shm::internals::{gate, owner};

use crate::checker::Shared;
use crate::checker::cell::UnsafeCell;
use crate::checker::sync::atomic::{self, AtomicU64};
use crate::checker::thread::{self, ThreadId};

thread_local! {
    /// The model thread that is going to die, and the stores it has left. All threads of a model
    /// run on the one thread that explores it.
    static DYING: Cell<Option<(ThreadId, u32)>> = const { Cell::new(None) };
}

/// Runs `last_act`, of whose stores only the first `stores` are executed. For all other threads,
/// this thread was killed after the last of them.
pub(crate) fn killed_after<R>(stores: u32, last_act: impl FnOnce() -> R) -> R {
    DYING.set(Some((thread::current().id(), stores)));
    let result = last_act();
    spare_all();
    result
}

/// Ends the plan to kill a thread.
pub(crate) fn spare_all() {
    DYING.set(None);
}

/// Returns the stores that the running thread has left, if it is going to die.
fn stores_left() -> Option<u32> {
    DYING
        .get()
        .and_then(|(victim, left)| (victim == thread::current().id()).then_some(left))
}

/// Returns true if the running thread executes another store.
fn may_store() -> bool {
    // WHY: a failed model unwinds through drops, and loom cannot be used any more.
    if std::thread::panicking() {
        return false;
    }
    let Some(left) = stores_left() else {
        return true;
    };
    if left == 0 {
        crate::checker::perish();
        return false;
    }
    DYING.set(Some((thread::current().id(), left - 1)));
    true
}

/// A shared word. One made by `default` is unused by the models.
#[derive(Debug, Default)]
pub(crate) enum LoomWord {
    #[default]
    Unused,
    Shared(AtomicU64),
    /// A word that one thread alone accesses: the checker need not see it.
    Private(core_atomic::AtomicU64),
}

impl LoomWord {
    pub(crate) fn new(value: u64) -> Self {
        Self::Shared(AtomicU64::new(value))
    }

    fn atomic(&self) -> &AtomicU64 {
        match self {
            Self::Shared(word) => word,
            _ => panic!("a word outside the model"),
        }
    }
}

impl Word for LoomWord {
    fn get(&self) -> u64 {
        match self {
            Self::Private(word) => word.load(Ordering::Relaxed),
            _ => self.atomic().load(Ordering::Relaxed),
        }
    }

    fn set(&self, value: u64) {
        if may_store() {
            self.atomic().store(value, Ordering::Relaxed);
        }
    }

    #[track_caller]
    fn load(&self, edge: Edge) -> u64 {
        self.atomic().load(mutation::ordering(edge))
    }

    #[track_caller]
    fn store(&self, value: u64, edge: Edge) {
        let ordering = mutation::ordering(edge);
        match self {
            Self::Private(word) => word.store(value, Ordering::Relaxed),
            _ if may_store() => self.atomic().store(value, ordering),
            _ => {}
        }
    }

    #[track_caller]
    fn set_bits_ordered(&self, bits: u64, edge: Edge) {
        let ordering = mutation::ordering(edge);
        if may_store() {
            self.atomic().fetch_or(bits, ordering);
        }
    }

    #[track_caller]
    fn clear_bits_ordered(&self, bits: u64, edge: Edge) {
        let ordering = mutation::ordering(edge);
        if may_store() {
            self.atomic().fetch_and(!bits, ordering);
        }
    }

    fn set_bits_relaxed(&self, bits: u64) {
        if may_store() {
            self.atomic().fetch_or(bits, Ordering::Relaxed);
        }
    }

    fn clear_bits_relaxed(&self, bits: u64) {
        if may_store() {
            self.atomic().fetch_and(!bits, Ordering::Relaxed);
        }
    }

    fn fetch_add_one(&self) {
        if may_store() {
            self.atomic().fetch_add(1, Ordering::Relaxed);
        }
    }

    #[track_caller]
    fn fetch_add_one_ordered(&self, edge: Edge) {
        let ordering = mutation::ordering(edge);
        if may_store() {
            self.atomic().fetch_add(1, ordering);
        }
    }

    fn fetch_sub_one(&self) {
        if may_store() {
            self.atomic().fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[track_caller]
    fn fetch_sub_one_ordered(&self, edge: Edge) {
        let ordering = mutation::ordering(edge);
        if may_store() {
            self.atomic().fetch_sub(1, ordering);
        }
    }

    fn fetch_sub_relaxed(&self, value: u64) -> u64 {
        if !may_store() {
            return self.get();
        }
        self.atomic().fetch_sub(value, Ordering::Relaxed)
    }

    #[track_caller]
    fn fetch_sub_ordered(&self, value: u64, edge: Edge) -> u64 {
        let ordering = mutation::ordering(edge);
        if !may_store() {
            return self.get();
        }
        self.atomic().fetch_sub(value, ordering)
    }

    #[track_caller]
    fn swap_ordered(&self, value: u64, edge: Edge) -> u64 {
        let ordering = mutation::ordering(edge);
        if !may_store() {
            return self.get();
        }
        self.atomic().swap(value, ordering)
    }

    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool {
        let relaxed = Ordering::Relaxed;
        may_store()
            && self
                .atomic()
                .compare_exchange(old, new, relaxed, relaxed)
                .is_ok()
    }

    #[track_caller]
    fn compare_exchange_ordered(&self, old: u64, new: u64, edge: Edge) -> bool {
        let ordering = mutation::ordering(edge);
        may_store()
            && self
                .atomic()
                .compare_exchange(old, new, ordering, Ordering::Relaxed)
                .is_ok()
    }
}

/// The access that readers have to a slot while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyOptions {
    /// An open lane.
    Racing,
    /// A lane of a channel between threads.
    Exclusive,
    /// A lane of a channel between threads whose writer publishes by the head.
    ByHead,
}

#[derive(Debug)]
enum Payload {
    Racing([LoomWord; 2]),
    Exclusive([UnsafeCell<u64>; 2]),
}

#[derive(Debug)]
struct Slot {
    stamp: LoomWord,
    payload: Payload,
    number: LoomWord,
    length: LoomWord,
}

/// The number of pins of a modelled reader.
pub(crate) const PINS: u32 = 2;

/// The number of a modelled reader that is not gated and whose cursor no other thread reads. All of
/// them share the word, which is not modelled.
pub(crate) const UNGATED: u32 = u32::MAX;

#[derive(Debug)]
struct Reader {
    owner: LoomWord,
    cursor: LoomWord,
    /// 1 if it reads messages of the lane's type.
    reads: LoomWord,
}

#[derive(Debug)]
struct Parts {
    block: LaneBlock<LoomWord>,
    slots: Box<[Slot]>,
    gated: LoomWord,
    readers: Box<[Reader]>,
    unread: LoomWord,
    copying: CopyOptions,
    pinners: LoomWord,
    pins: Box<[[LoomWord; PINS as usize]]>,
    pin_limits: Box<[LoomWord]>,
    /// The owner words of the places for readers that can pin slots.
    pin_owners: Box<[LoomWord]>,
}

/// The extent of a lane to which it grows.
#[derive(Debug)]
struct Extent {
    slots: Box<[Slot]>,
    base: u64,
}

/// The generation of the only extent of a modelled lane, or of its first one.
const FIRST_GENERATION: u64 = 1;

/// One process's view of a lane; a clone is another process's view.
#[derive(Debug, Clone)]
pub(crate) struct LoomLane(Shared<Parts>, Option<Shared<Extent>>);

impl LoomLane {
    /// Makes a lane that was never written, is owned by `owner`, and has places for `gated`
    /// readers.
    pub(crate) fn new(capacity: usize, gated: usize, copying: CopyOptions, owner: u64) -> Self {
        Self::pinnable((capacity, gated), 0, copying, owner)
    }

    /// As [`Self::new`], with `pinning` readers that can pin slots.
    pub(crate) fn pinnable(
        (capacity, gated): (usize, usize),
        pinning: usize,
        copying: CopyOptions,
        owner: u64,
    ) -> Self {
        let word = |()| LoomWord::new(0);
        let slot = |_| Slot::new(copying);
        let reader = |_| Reader {
            owner: word(()),
            cursor: word(()),
            reads: word(()),
        };
        let block = LaneBlock {
            owner: LoomWord::new(owner),
            epoch: LoomWord::new(0),
            epoch_start: LoomWord::new(0),
            history_start: LoomWord::new(0),
            aborted: LoomWord::new(0),
            corrupt_resync: LoomWord::new(0),
            epoch_owner: LoomWord::new(owner),
            head: LoomWord::new(0),
            skips: LoomWord::new(0),
            generation: LoomWord::new(FIRST_GENERATION),
            latched: LoomWord::new(0),
            session_id: LoomWord::new(0),
            ..LaneBlock::default()
        };
        let slots = (0..capacity).map(slot).collect();
        let readers = (0..gated).map(reader).collect();
        let pin = |_| std::array::from_fn(|_| word(()));
        let pins = (0..pinning).map(pin).collect();
        let [pin_limits, pin_owners] = [(); 2].map(|()| (0..pinning).map(|_| word(())).collect());
        let parts = Shared::new(Parts {
            block,
            slots,
            gated: word(()),
            readers,
            unread: LoomWord::Private(core_atomic::AtomicU64::new(0)),
            copying,
            pinners: word(()),
            pins,
            pin_limits,
            pin_owners,
        });
        Self(parts, None)
    }

    /// Makes the extent to which this lane grows, from position `base` on, with as many slots.
    pub(crate) fn grown(&self, base: u64) -> Self {
        let slots = self.0.slots.iter().map(|_| Slot::new(self.0.copying));
        let slots = slots.collect();
        let extent = Shared::new(Extent { slots, base });
        Self(Shared::clone(&self.0), Some(extent))
    }

    fn slot(&self, index: u64) -> &Slot {
        let slots = match &self.1 {
            Some(extent) => &extent.slots,
            None => &self.0.slots,
        };
        &slots[index as usize]
    }

    pub(crate) fn copying(&self) -> CopyOptions {
        self.0.copying
    }

    /// Returns the owner words of the places for gated readers.
    pub(crate) fn reader_owners(&self) -> impl Iterator<Item = &LoomWord> + Clone {
        self.0.readers.iter().map(|reader| &reader.owner)
    }

    /// Returns the number of readers that can pin slots.
    pub(crate) fn pinning(&self) -> u32 {
        self.0.pins.len() as u32
    }

    /// Returns the pins of a reader for borrowed messages.
    pub(crate) fn borrow_pins(&self, reader: u32) -> &[LoomWord] {
        &self.0.pins[reader as usize][..PINS as usize - 1]
    }

    /// Returns the owner word of place `reader` for readers that can pin slots.
    pub(crate) fn pin_owner(&self, reader: u32) -> &LoomWord {
        &self.0.pin_owners[reader as usize]
    }

    /// Returns the owner word of place `reader`.
    pub(crate) fn reader_owner(&self, reader: u32) -> &LoomWord {
        &self.0.readers[reader as usize].owner
    }

    /// Returns true if readers may be gated.
    pub(crate) fn has_gated_readers(&self) -> bool {
        !self.0.readers.is_empty()
    }

    /// Marks `reader`, which has no cursors, as gated, and as one that reads messages of the lane.
    pub(crate) fn announce(&self, reader: u32) {
        self.0.readers[reader as usize].reads.set(1);
        gate::announce_gated_reader(self.gated_reader_mask(), reader);
    }

    /// Frees place `reader`, which is `owner`'s; returns false if another thread was faster than
    /// `me`.
    pub(crate) fn free_reader(&self, reader: u32, owner: u64, me: u64) -> bool {
        let word = &self.0.readers[reader as usize].owner;
        owner::try_free_slot(word, owner, me, || self.ungate(reader))
    }

    /// Clears what the owner of place `reader`, or its predecessor, left.
    pub(crate) fn ungate(&self, reader: u32) {
        gate::withdraw_gated_reader(self.gated_reader_mask(), reader);
        gate::leave_lane(self.cursor(reader));
    }
}

impl Slot {
    fn new(copying: CopyOptions) -> Self {
        Self {
            stamp: LoomWord::new(0),
            payload: Payload::new(copying),
            number: LoomWord::new(0),
            length: LoomWord::new(0),
        }
    }
}

impl Payload {
    fn new(copying: CopyOptions) -> Self {
        match copying {
            CopyOptions::Racing => Self::Racing([LoomWord::new(0), LoomWord::new(0)]),
            CopyOptions::Exclusive | CopyOptions::ByHead => {
                Self::Exclusive([UnsafeCell::new(0), UnsafeCell::new(0)])
            }
        }
    }
}

/// The bytes of a message.
pub(crate) const MESSAGE_BYTES: usize = size_of::<[u64; 2]>();

impl LaneMemory for LoomLane {
    type Word = LoomWord;

    fn capacity(&self) -> u64 {
        self.0.slots.len() as u64
    }

    fn base_position(&self) -> u64 {
        self.1.as_ref().map_or(0, |extent| extent.base)
    }

    fn generation(&self) -> u64 {
        FIRST_GENERATION + u64::from(self.1.is_some())
    }

    fn block(&self) -> &LaneBlock<LoomWord> {
        &self.0.block
    }

    fn stamp(&self, index: u64) -> &LoomWord {
        assert!(!self.publishes_by_head(), "a slot without a stamp");
        &self.slot(index).stamp
    }

    fn is_exclusive(&self) -> bool {
        self.0.copying != CopyOptions::Racing && self.0.pins.is_empty()
    }

    fn publishes_by_head(&self) -> bool {
        self.0.copying == CopyOptions::ByHead
    }

    fn reader_limit(&self) -> u32 {
        self.0.readers.len().max(self.0.pins.len()) as u32
    }

    fn gated_reader_mask(&self) -> &LoomWord {
        &self.0.gated
    }

    fn is_read_by(&self, reader: u32) -> bool {
        self.0.readers[reader as usize].reads.get() == 1
    }

    fn cursor(&self, reader: u32) -> &LoomWord {
        if reader == UNGATED || !self.has_gated_readers() {
            return &self.0.unread;
        }
        &self.0.readers[reader as usize].cursor
    }

    unsafe fn store_racing(&self, index: u64, src: *const u8, bytes: usize) {
        assert_eq!(bytes, MESSAGE_BYTES);
        let Payload::Racing(words) = &self.slot(index).payload else {
            panic!("a racing store on an exclusive lane");
        };
        // SAFETY: the caller's `src` is readable for a message, which is two words.
        let message = unsafe { src.cast::<[u64; 2]>().read_unaligned() };
        words
            .iter()
            .zip(message)
            .for_each(|(word, value)| word.set(value));
    }

    unsafe fn load_racing(&self, index: u64, dst: *mut u8, bytes: usize) {
        assert_eq!(bytes, MESSAGE_BYTES);
        let Payload::Racing(words) = &self.slot(index).payload else {
            panic!("a racing load on an exclusive lane");
        };
        let message = words.each_ref().map(LoomWord::get);
        // SAFETY: the caller's `dst` is writable for a message, which is two words.
        unsafe { dst.cast::<[u64; 2]>().write_unaligned(message) };
    }

    unsafe fn store_exclusive(&self, index: u64, src: *const u8, bytes: usize) {
        assert_eq!(bytes, MESSAGE_BYTES);
        let Payload::Exclusive(cells) = &self.slot(index).payload else {
            panic!("an exclusive store on an open lane");
        };
        // SAFETY: the caller's `src` is readable for a message, which is two words.
        let message = unsafe { src.cast::<[u64; 2]>().read_unaligned() };
        for (cell, value) in cells.iter().zip(message) {
            if may_store() {
                // SAFETY: the cell is alive, and the checker fails the model if another thread is
                // in it.
                cell.with_mut(|word| unsafe { word.write(value) });
            }
        }
    }

    unsafe fn load_exclusive(&self, index: u64, dst: *mut u8, bytes: usize) {
        assert_eq!(bytes, MESSAGE_BYTES);
        let Payload::Exclusive(cells) = &self.slot(index).payload else {
            panic!("an exclusive load on an open lane");
        };
        // SAFETY: the cell is alive, and the checker fails the model if a writer is in it.
        let message = cells
            .each_ref()
            .map(|cell| cell.with(|word| unsafe { word.read() }));
        // SAFETY: the caller's `dst` is writable for a message, which is two words.
        unsafe { dst.cast::<[u64; 2]>().write_unaligned(message) };
    }

    #[track_caller]
    fn fence(&self, edge: Edge) {
        let ordering = mutation::ordering(edge);
        // WHY: there is no relaxed fence, so a weakened one is left out. A fence after the last
        // store orders nothing that is visible after a death.
        if ordering != Ordering::Relaxed && stores_left() != Some(0) {
            atomic::fence(ordering);
        }
    }

    fn prefetch(&self, _index: u64, _intent: PrefetchIntent) {}
}

impl PinnableLane for LoomLane {
    fn lane_index(&self) -> u32 {
        3
    }

    fn message_number(&self, index: u64) -> &LoomWord {
        &self.slot(index).number
    }

    fn message_length(&self, index: u64) -> &LoomWord {
        &self.slot(index).length
    }

    fn pinning_reader_mask(&self) -> &LoomWord {
        &self.0.pinners
    }

    fn pin_count(&self) -> u32 {
        PINS
    }

    fn pin_word(&self, reader: u32, pin: u32) -> &LoomWord {
        &self.0.pins[reader as usize][pin as usize]
    }

    fn pin_limit_word(&self, reader: u32) -> &LoomWord {
        &self.0.pin_limits[reader as usize]
    }

    fn is_reader_slot_held(&self, reader: u32) -> bool {
        owner::is_slot_held(self.pin_owner(reader))
    }
}
