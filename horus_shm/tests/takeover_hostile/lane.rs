//! A lane of words on the heap, and its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use horus_shm::internals::copy::PrefetchIntent;
use horus_shm::internals::lane::{
    LaneReader, LaneWriter, PinnableLane, PollOutcome, ReaderPin, SlotBlocked,
};
use horus_shm::internals::layout::LaneBlock;
use horus_shm::internals::memory::LaneMemory;
use horus_shm::internals::pins::clear_pin;
use horus_shm::internals::sync::Edge;

use super::{PINS, READERS};

/// A lane of words on the heap that counts the loads of its stamps.
#[derive(Debug, Clone)]
pub(crate) struct Lane(pub(crate) Arc<Words>);

#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) block: LaneBlock<AtomicU64>,
    pub(crate) stamps: Box<[AtomicU64]>,
    pub(crate) payloads: Box<[AtomicU64]>,
    pub(crate) gated: AtomicU64,
    /// By reader.
    pub(crate) cursors: Box<[AtomicU64]>,
    pub(crate) numbers: Box<[AtomicU64]>,
    pub(crate) lengths: Box<[AtomicU64]>,
    pub(crate) pinners: AtomicU64,
    /// By reader.
    pub(crate) pins: Box<[AtomicU64]>,
    pin_limits: [AtomicU64; READERS as usize],
    pub(crate) looks: AtomicU64,
}

impl Lane {
    pub(crate) fn new(head: u64, stamps: &[u64]) -> Self {
        let block = LaneBlock::default();
        let lane = Words {
            block,
            stamps: stamps.iter().map(|&stamp| AtomicU64::new(stamp)).collect(),
            payloads: stamps.iter().map(|_| AtomicU64::new(u64::MAX)).collect(),
            gated: AtomicU64::new(0),
            cursors: (0..READERS).map(|_| AtomicU64::new(0)).collect(),
            numbers: stamps.iter().map(|_| AtomicU64::new(u64::MAX)).collect(),
            lengths: stamps.iter().map(|_| AtomicU64::new(u64::MAX)).collect(),
            pinners: AtomicU64::new(0),
            pins: (0..READERS * PINS).map(|_| AtomicU64::new(0)).collect(),
            pin_limits: Default::default(),
            looks: AtomicU64::new(0),
        };
        lane.block.head.store(head, Ordering::Relaxed);
        Self(Arc::new(lane))
    }

    pub(crate) fn head(&self) -> u64 {
        self.0.block.head.load(Ordering::Relaxed)
    }
}

impl LaneMemory for Lane {
    type Word = AtomicU64;

    fn capacity(&self) -> u64 {
        self.0.stamps.len() as u64
    }

    fn block(&self) -> &LaneBlock<AtomicU64> {
        &self.0.block
    }

    fn stamp(&self, index: u64) -> &AtomicU64 {
        self.0.looks.fetch_add(1, Ordering::Relaxed);
        &self.0.stamps[index as usize]
    }

    fn reader_limit(&self) -> u32 {
        READERS
    }

    fn gated_reader_mask(&self) -> &AtomicU64 {
        &self.0.gated
    }

    fn cursor(&self, reader: u32) -> &AtomicU64 {
        &self.0.cursors[reader as usize]
    }

    unsafe fn store_racing(&self, index: u64, src: *const u8, bytes: usize) {
        assert_eq!(bytes, 8);
        // SAFETY: the caller's `src` is readable for eight bytes.
        let message = unsafe { src.cast::<u64>().read_unaligned() };
        self.0.payloads[index as usize].store(message, Ordering::Relaxed);
    }

    unsafe fn load_racing(&self, index: u64, dst: *mut u8, bytes: usize) {
        assert_eq!(bytes, 8);
        let message = self.0.payloads[index as usize].load(Ordering::Relaxed);
        // SAFETY: the caller's `dst` is writable for eight bytes.
        unsafe { dst.cast::<u64>().write_unaligned(message) };
    }

    unsafe fn store_exclusive(&self, index: u64, src: *const u8, bytes: usize) {
        // SAFETY: the caller's `src` is readable for `bytes`.
        unsafe { self.store_racing(index, src, bytes) }
    }

    unsafe fn load_exclusive(&self, index: u64, dst: *mut u8, bytes: usize) {
        // SAFETY: the caller's `dst` is writable for `bytes`.
        unsafe { self.load_racing(index, dst, bytes) }
    }

    fn fence(&self, _edge: Edge) {}

    fn prefetch(&self, index: u64, _intent: PrefetchIntent) {
        assert!(index < self.capacity());
    }
}

impl PinnableLane for Lane {
    fn lane_index(&self) -> u32 {
        0
    }

    fn message_number(&self, index: u64) -> &AtomicU64 {
        &self.0.numbers[index as usize]
    }

    fn message_length(&self, index: u64) -> &AtomicU64 {
        &self.0.lengths[index as usize]
    }

    fn pinning_reader_mask(&self) -> &AtomicU64 {
        &self.0.pinners
    }

    fn pin_count(&self) -> u32 {
        PINS
    }

    fn pin_word(&self, reader: u32, pin: u32) -> &AtomicU64 {
        assert!(reader < READERS && pin < PINS);
        &self.0.pins[(reader * PINS + pin) as usize]
    }

    fn pin_limit_word(&self, reader: u32) -> &AtomicU64 {
        &self.0.pin_limits[reader as usize]
    }

    fn is_reader_slot_held(&self, _reader: u32) -> bool {
        false
    }
}

/// Lends the next slot without a pin, and publishes it. Looks at the slots behind it first, as a
/// publisher does.
pub(crate) fn lend(writer: &mut LaneWriter<Lane>, message: u64) -> bool {
    for _ in 0..=writer.memory().capacity() {
        let next = writer.position();
        let room = next..writer.room_end();
        assert!(room.end <= next + writer.memory().capacity(), "{room:?}");
        for position in room {
            let looked = writer.check_not_pinned(position, position % 2 == 0);
            assert_ne!(looked, Err(SlotBlocked::NoRoom));
        }
        match writer.claim_slot() {
            Ok(index) => {
                let src = (&raw const message).cast();
                // SAFETY: eight bytes of a `u64`; the lane has one writer.
                unsafe { writer.memory().store_exclusive(index, src, 8) };
                writer.publish_claimed_slot(8);
                return true;
            }
            Err(SlotBlocked::NoRoom) => return false,
            Err(SlotBlocked::Pinned { .. }) => writer.skip_pinned_position(),
        }
    }
    false
}

/// Returns pin number `pin` of the first reader.
pub(crate) const fn first_reader_pin(pin: u32) -> ReaderPin {
    ReaderPin {
        reader: 0,
        pin,
        in_use: 0,
    }
}

/// Borrows the next message, or the newest one, and gives it back.
pub(crate) fn borrow(reader: &mut LaneReader<Lane>, rng: &mut Rng) -> Result<u64, PollOutcome> {
    let pin = first_reader_pin(rng.u32(..PINS));
    let pinned = if rng.u64(..4) == 0 {
        reader.pin_latest(pin)
    } else {
        reader.pin_next(pin)
    };
    let pinned = pinned?;
    let mut message = 0_u64;
    let dst = (&raw mut message).cast();
    // SAFETY: eight bytes of a `u64`.
    unsafe { reader.memory().load_exclusive(pinned.index, dst, 8) };
    clear_pin(reader.memory().pin_word(0, pin.pin));
    Ok(message)
}

pub(crate) fn send(writer: &mut LaneWriter<Lane>, message: u64) -> bool {
    // SAFETY: eight bytes of a `u64`; the lane has one writer.
    unsafe { writer.write((&raw const message).cast(), 8) }.is_ok()
}

pub(crate) fn recv(reader: &mut LaneReader<Lane>) -> Option<u64> {
    let mut message = 0_u64;
    // SAFETY: eight bytes of a `u64`.
    let polled = unsafe { reader.read((&raw mut message).cast(), 8) };
    (polled == PollOutcome::Message).then_some(message)
}
