//! Atomics as the lane algorithms see them: words of any memory, and every ordering by its name.
//!
//! Each ordering that another thread or process relies on is a named [`Edge`]. The real memory
//! compiles an edge into the ordering it carries; the memory of the loom models looks the name up
//! first and can weaken that one edge, which must turn a model red. `docs/memory-ordering.md`
//! lists both halves of every label.

use core::ptr;
use core::sync::atomic::{self, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// An ordering with the label under which it is argued, modelled and weakened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// `<pair>/<half>`: both halves of a pair share the part before the slash.
    pub label: &'static str,
    /// What the real memory uses.
    pub ordering: Ordering,
}

impl Edge {
    const fn new(label: &'static str, ordering: Ordering) -> Self {
        Self { label, ordering }
    }
}

/// The edges of the lane protocol. Everything else on shared words is `Relaxed`.
pub mod edge {
    use super::{Edge, Ordering};

    /// ORDERING(slot): Release store of the even stamp. Pairs with [`SLOT_SEE`]: whoever sees the
    /// stamp sees the payload.
    pub const SLOT_PUBLISH: Edge = Edge::new("slot/publish", Ordering::Release);
    /// ORDERING(slot): Acquire load of the stamp. Pairs with [`SLOT_PUBLISH`].
    pub const SLOT_SEE: Edge = Edge::new("slot/see", Ordering::Acquire);

    /// ORDERING(overwrite): Release fence between the odd stamp and the payload words. Pairs with
    /// [`OVERWRITE_CHECK`]: a reader that read one new word sees the odd stamp (or a later one).
    pub const OVERWRITE_BEGIN: Edge = Edge::new("overwrite/begin", Ordering::Release);
    /// ORDERING(overwrite): Acquire fence between the payload words and the second look at the
    /// stamp. Pairs with [`OVERWRITE_BEGIN`].
    pub const OVERWRITE_CHECK: Edge = Edge::new("overwrite/check", Ordering::Acquire);

    /// ORDERING(head): Release store of the head. Pairs with [`HEAD_SEE`]: whoever starts at or
    /// below this head finds slots that are published, and sees the epoch they belong to.
    pub const HEAD_PUBLISH: Edge = Edge::new("head/publish", Ordering::Release);
    /// ORDERING(head): Acquire load of the head. Pairs with [`HEAD_PUBLISH`].
    pub const HEAD_SEE: Edge = Edge::new("head/see", Ordering::Acquire);

    /// ORDERING(cursor): Release store of a gate's cursor. Pairs with [`CURSOR_SEE`]: the reader's
    /// loads of a slot happen before the writer's next stores to it.
    pub const CURSOR_ADVANCE: Edge = Edge::new("cursor/advance", Ordering::Release);
    /// ORDERING(cursor): Acquire load of a gate's cursor. Pairs with [`CURSOR_ADVANCE`].
    pub const CURSOR_SEE: Edge = Edge::new("cursor/see", Ordering::Acquire);

    /// ORDERING(gate): SeqCst fence of a registering reader, between its first cursor and its look
    /// at the head. Pairs with [`GATE_SCAN`], the Dekker way: either the writer's scan sees the
    /// cursor, or the reader sees a head at or past what the writer may count on.
    pub const GATE_JOIN: Edge = Edge::new("gate/join", Ordering::SeqCst);
    /// ORDERING(gate): SeqCst fence of the writer before it reads the gates. Pairs with
    /// [`GATE_JOIN`].
    pub const GATE_SCAN: Edge = Edge::new("gate/scan", Ordering::SeqCst);

    /// ORDERING(owner): Acquire of the exchange that claims a lane or gate. Pairs with
    /// [`OWNER_RELEASE`]: the successor sees all that the predecessor left.
    pub const OWNER_CLAIM: Edge = Edge::new("owner/claim", Ordering::Acquire);
    /// ORDERING(owner): Release store that frees a lane or gate. Pairs with [`OWNER_CLAIM`].
    pub const OWNER_RELEASE: Edge = Edge::new("owner/release", Ordering::Release);

    /// ORDERING(owner): Acquire load of a lane's owner by a late joiner. Pairs with
    /// [`OWNER_RELEASE`], also through the claim that followed it.
    pub const OWNER_SEE: Edge = Edge::new("owner/see", Ordering::Acquire);

    /// ORDERING(epoch): Release store of the owner whose session begins. Pairs with
    /// [`EPOCH_SEE`]: whoever sees it sees where the session begins.
    pub const EPOCH_PUBLISH: Edge = Edge::new("epoch/publish", Ordering::Release);
    /// ORDERING(epoch): Acquire load of the session's owner. Pairs with [`EPOCH_PUBLISH`].
    pub const EPOCH_SEE: Edge = Edge::new("epoch/see", Ordering::Acquire);

    /// ORDERING(ready): Release of the bit that says a lane's slots are reserved. Pairs with
    /// [`READY_SEE`]: whoever maps the lane may touch it.
    pub const READY_PUBLISH: Edge = Edge::new("ready/publish", Ordering::Release);
    /// ORDERING(ready): Acquire load of the ready bits. Pairs with [`READY_PUBLISH`].
    pub const READY_SEE: Edge = Edge::new("ready/see", Ordering::Acquire);

    /// ORDERING(wake): SeqCst fence of a sender between what it published and its look at the
    /// waiters. Pairs with [`WAKE_ANNOUNCE`], the Dekker way: either the sender sees the waiter,
    /// or the waiter sees what was published. Where waiters make barriers for both, the sender
    /// has none.
    pub const WAKE_LOOK: Edge = Edge::new("wake/look", Ordering::SeqCst);
    /// ORDERING(wake): SeqCst fence of a waiter between its announcement and its last look. Pairs
    /// with [`WAKE_LOOK`].
    pub const WAKE_ANNOUNCE: Edge = Edge::new("wake/announce", Ordering::SeqCst);

    /// ORDERING(pin): SeqCst fence of a reader between its pin and its second look at the stamp.
    /// Pairs with [`PIN_SCAN`], the Dekker way: either the writer sees the pin, or the reader sees
    /// that the slot is being written.
    pub const PIN_HOLD: Edge = Edge::new("pin/hold", Ordering::SeqCst);
    /// ORDERING(pin): SeqCst fence of a writer between the odd stamp and its look at the pins.
    /// Pairs with [`PIN_HOLD`].
    pub const PIN_SCAN: Edge = Edge::new("pin/scan", Ordering::SeqCst);

    /// ORDERING(pin): Acquire load of the count of skips. Pairs with [`PIN_SCAN`], which is a
    /// release too, and lies between a head and the skip that may follow it.
    pub const PIN_COUNT: Edge = Edge::new("pin/count", Ordering::Acquire);

    /// ORDERING(pinned): Release store of a pin. Pairs with [`PIN_SEE`]: what was read under the
    /// pin before happens before the writer's next stores to that slot.
    pub const PIN_MOVE: Edge = Edge::new("pinned/move", Ordering::Release);
    /// ORDERING(pinned): Acquire load of a pin. Pairs with [`PIN_MOVE`].
    pub const PIN_SEE: Edge = Edge::new("pinned/see", Ordering::Acquire);

    /// ORDERING(reuse): Release of the bit that says that a pin is free again. Pairs with
    /// [`PIN_REUSE`]: the pin was taken back before it is used again.
    pub const PIN_FREE: Edge = Edge::new("reuse/free", Ordering::Release);
    /// ORDERING(reuse): Acquire load of the bits of free pins. Pairs with [`PIN_FREE`].
    pub const PIN_REUSE: Edge = Edge::new("reuse/take", Ordering::Acquire);

    /// Every edge above, for the mutation gate and the table in the docs.
    pub const ALL: [Edge; 24] = [
        SLOT_PUBLISH,
        SLOT_SEE,
        OVERWRITE_BEGIN,
        OVERWRITE_CHECK,
        HEAD_PUBLISH,
        HEAD_SEE,
        CURSOR_ADVANCE,
        CURSOR_SEE,
        GATE_JOIN,
        GATE_SCAN,
        OWNER_CLAIM,
        OWNER_RELEASE,
        OWNER_SEE,
        EPOCH_PUBLISH,
        EPOCH_SEE,
        WAKE_LOOK,
        WAKE_ANNOUNCE,
        PIN_HOLD,
        PIN_SCAN,
        PIN_COUNT,
        PIN_MOVE,
        PIN_SEE,
        PIN_FREE,
        PIN_REUSE,
    ];

    /// The edges of lane discovery, where the other side of the pair is a system call.
    pub const DISCOVERY: [Edge; 2] = [READY_PUBLISH, READY_SEE];

    /// ORDERING(ticket): Release store of the stamp that says a value is there. Pairs with
    /// [`TICKET_SEE`]: whoever sees the stamp sees the value.
    pub const TICKET_PUBLISH: Edge = Edge::new("ticket/publish", Ordering::Release);
    /// ORDERING(ticket): Acquire load of a stamp by the receiver. Pairs with [`TICKET_PUBLISH`].
    pub const TICKET_SEE: Edge = Edge::new("ticket/see", Ordering::Acquire);

    /// ORDERING(room): Release store of the stamp that says a slot is free. Pairs with
    /// [`ROOM_SEE`]: values were moved out before others are moved in.
    pub const ROOM_FREE: Edge = Edge::new("room/free", Ordering::Release);
    /// ORDERING(room): Acquire load of a stamp by a sender. Pairs with [`ROOM_FREE`].
    pub const ROOM_SEE: Edge = Edge::new("room/see", Ordering::Acquire);

    /// ORDERING(ends): Release decrement of the senders by one that leaves. Pairs with
    /// [`ENDS_SEE`]: whoever sees that nobody is left sees all that was sent.
    pub const ENDS_LEAVE: Edge = Edge::new("ends/leave", Ordering::Release);
    /// ORDERING(ends): Acquire load of the senders by a receiver that found nothing. Pairs with
    /// [`ENDS_LEAVE`].
    pub const ENDS_SEE: Edge = Edge::new("ends/see", Ordering::Acquire);

    /// The edges of channels between threads: the ticket ring, and who is at the ends.
    pub const CHANNELS: [Edge; 6] =
        [TICKET_PUBLISH, TICKET_SEE, ROOM_FREE, ROOM_SEE, ENDS_LEAVE, ENDS_SEE];

    /// ORDERING(handle): Release store of an entry's handle. Pairs with [`HANDLE_SEE`]: whoever
    /// sees the handle there sees the value it stands for.
    pub const HANDLE_OPEN: Edge = Edge::new("handle/open", Ordering::Release);
    /// ORDERING(handle): Acquire load, or exchange, of an entry's handle. Pairs with
    /// [`HANDLE_OPEN`].
    pub const HANDLE_SEE: Edge = Edge::new("handle/see", Ordering::Acquire);

    /// ORDERING(hazard): SeqCst fence of a call between the word that says which handle it uses
    /// and its look at the entry. Pairs with [`HAZARD_CLOSE`], the Dekker way: either the call
    /// sees that the handle is closed, or the closer sees the call. Where closers have the kernel
    /// make barriers, calls have none.
    pub const HAZARD_ENTER: Edge = Edge::new("hazard/enter", Ordering::SeqCst);
    /// ORDERING(hazard): SeqCst fence of a closer between the mark in the entry and its look at
    /// the calls. Pairs with [`HAZARD_ENTER`].
    pub const HAZARD_CLOSE: Edge = Edge::new("hazard/close", Ordering::SeqCst);

    /// ORDERING(left): Release store of a call that ends. Pairs with [`LEFT_SEE`]: what it did to
    /// the value happens before the value is dropped.
    pub const LEFT_LEAVE: Edge = Edge::new("left/leave", Ordering::Release);
    /// ORDERING(left): Acquire load of a call's word by a closer. Pairs with [`LEFT_LEAVE`].
    pub const LEFT_SEE: Edge = Edge::new("left/see", Ordering::Acquire);

    /// ORDERING(spare): Release exchange that puts an entry into the list of free ones. Pairs with
    /// [`SPARE_POP`]: its value was taken out before another one is put in.
    pub const SPARE_PUSH: Edge = Edge::new("spare/push", Ordering::Release);
    /// ORDERING(spare): Acquire load of that list. Pairs with [`SPARE_PUSH`].
    pub const SPARE_POP: Edge = Edge::new("spare/pop", Ordering::Acquire);

    /// ORDERING(record): Release store of a thread that ends. Pairs with [`RECORD_CLAIM`].
    pub const RECORD_RETURN: Edge = Edge::new("record/return", Ordering::Release);
    /// ORDERING(record): Acquire exchange of a thread that takes over the words of one that ended.
    /// Pairs with [`RECORD_RETURN`].
    pub const RECORD_CLAIM: Edge = Edge::new("record/claim", Ordering::Acquire);

    /// ORDERING(chunk): Release exchange that publishes entries that were just made. Pairs with
    /// [`CHUNK_SEE`].
    pub const CHUNK_PUBLISH: Edge = Edge::new("chunk/publish", Ordering::Release);
    /// ORDERING(chunk): Acquire load of where entries lie. Pairs with [`CHUNK_PUBLISH`].
    pub const CHUNK_SEE: Edge = Edge::new("chunk/see", Ordering::Acquire);

    /// ORDERING(records): Release exchange that publishes a thread's words. Pairs with
    /// [`RECORDS_SEE`].
    pub const RECORDS_PUSH: Edge = Edge::new("records/push", Ordering::Release);
    /// ORDERING(records): Acquire load of where they lie. Pairs with [`RECORDS_PUSH`].
    pub const RECORDS_SEE: Edge = Edge::new("records/see", Ordering::Acquire);

    /// The edges of handles that models can weaken; those of pointers are the same pattern.
    pub const HANDLES: [Edge; 8] = [
        HANDLE_OPEN,
        HANDLE_SEE,
        HAZARD_ENTER,
        HAZARD_CLOSE,
        LEFT_LEAVE,
        LEFT_SEE,
        SPARE_PUSH,
        SPARE_POP,
    ];
}

/// Keeps the compiler from moving writes across this. WHY: only for speed, where it matters which
/// cache line is written first; what is right never depends on it.
#[inline(always)]
pub(crate) fn keep_order() {
    // ORDERING(copy_order): SeqCst, for the compiler alone. Pairs with nothing.
    atomic::compiler_fence(Ordering::SeqCst);
}

/// A shared 64-bit word: a core atomic in real memory, a loom atomic in a model.
pub trait Word {
    /// Relaxed load. Enough where a caller says why.
    fn get(&self) -> u64;
    /// Relaxed store. Enough where a caller says why.
    fn set(&self, value: u64);
    /// Load at the edge's ordering.
    fn load(&self, edge: Edge) -> u64;
    /// Store at the edge's ordering.
    fn store(&self, value: u64, edge: Edge);
    /// Sets `bits` at the edge's ordering.
    fn fetch_or_at(&self, bits: u64, edge: Edge);
    /// Clears `bits` at the edge's ordering.
    fn fetch_and_not_at(&self, bits: u64, edge: Edge);
    /// Sets `bits`, relaxed.
    fn fetch_or_relaxed(&self, bits: u64);
    /// Clears `bits`, relaxed.
    fn fetch_and_not_relaxed(&self, bits: u64);
    /// Counts one more, relaxed and in one step.
    fn fetch_add_one(&self);
    /// Counts one less, relaxed and in one step.
    fn fetch_sub_one(&self);
    /// Counts one less, at the edge's ordering and in one step.
    fn fetch_sub_one_at(&self, edge: Edge);
    /// Replaces `old` by `new`, relaxed. True if it did.
    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool;
    /// Replaces `old` by `new` at the edge's ordering; relaxed on failure. True if it did.
    fn compare_exchange_at(&self, old: u64, new: u64, edge: Edge) -> bool;
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        AtomicU64::load(self, Ordering::Relaxed)
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        AtomicU64::store(self, value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn load(&self, edge: Edge) -> u64 {
        AtomicU64::load(self, edge.ordering)
    }

    #[inline(always)]
    fn store(&self, value: u64, edge: Edge) {
        AtomicU64::store(self, value, edge.ordering);
    }

    #[inline]
    fn fetch_or_at(&self, bits: u64, edge: Edge) {
        AtomicU64::fetch_or(self, bits, edge.ordering);
    }

    #[inline]
    fn fetch_and_not_at(&self, bits: u64, edge: Edge) {
        AtomicU64::fetch_and(self, !bits, edge.ordering);
    }

    fn fetch_or_relaxed(&self, bits: u64) {
        self.fetch_or(bits, Ordering::Relaxed);
    }

    fn fetch_and_not_relaxed(&self, bits: u64) {
        self.fetch_and(!bits, Ordering::Relaxed);
    }

    fn fetch_add_one(&self) {
        self.fetch_add(1, Ordering::Relaxed);
    }

    fn fetch_sub_one(&self) {
        self.fetch_sub(1, Ordering::Relaxed);
    }

    fn fetch_sub_one_at(&self, edge: Edge) {
        self.fetch_sub(1, edge.ordering);
    }

    #[inline]
    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool {
        self.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn compare_exchange_at(&self, old: u64, new: u64, edge: Edge) -> bool {
        self.compare_exchange(old, new, edge.ordering, Ordering::Relaxed).is_ok()
    }
}

/// A shared word that the kernel compares before a sleep: a core atomic in real memory, a loom
/// atomic in a model.
///
/// WHY of 32 bits: the kernel compares as many, and an access to a part of a larger atomic would be
/// a race by the letter.
pub trait FutexWord {
    /// Relaxed load. Enough where a caller says why.
    fn load_relaxed(&self) -> u32;
    /// Counts one more, relaxed and in one step; 0 follows the greatest number.
    fn fetch_add_one(&self);
}

impl FutexWord for AtomicU32 {
    fn load_relaxed(&self) -> u32 {
        AtomicU32::load(self, Ordering::Relaxed)
    }

    fn fetch_add_one(&self) {
        self.fetch_add(1, Ordering::Relaxed);
    }
}

/// Keeps the compiler from moving accesses across, where a barrier that another process makes has
/// the CPU follow.
#[inline(always)]
pub(crate) fn compiler_fence(edge: Edge) {
    atomic::compiler_fence(edge.ordering);
}

/// The fence of real memory.
#[inline(always)]
pub(crate) fn fence(edge: Edge) {
    atomic::fence(edge.ordering);
}

/// Where a thing lies that is made once.
#[inline(always)]
pub(crate) fn load_pointer<T>(place: &AtomicPtr<T>, edge: Edge) -> *mut T {
    place.load(edge.ordering)
}

/// Says where a thing lies; false if it was said before.
pub(crate) fn publish_pointer<T>(place: &AtomicPtr<T>, new: *mut T, edge: Edge) -> bool {
    let nothing = ptr::null_mut();
    place.compare_exchange(nothing, new, edge.ordering, Ordering::Relaxed).is_ok()
}

/// Puts `new`, of which `next` is the link, before the first of a list.
pub(crate) fn push_pointer<T>(first: &AtomicPtr<T>, next: &AtomicPtr<T>, new: *mut T, edge: Edge) {
    // Relaxed: nothing is read through it here.
    let mut found = first.load(Ordering::Relaxed);
    loop {
        next.store(found, Ordering::Relaxed);
        match first.compare_exchange(found, new, edge.ordering, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => found = other,
        }
    }
}

/// Counts one more, and says how many that makes.
pub(crate) fn next_number(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Ordering::Relaxed) + 1
}
