//! Pins, by which readers keep messages that they borrow from being overwritten, and the number of
//! pins that each reader of a topic may use. All readers together may borrow only so many messages
//! that a writer always finds a free slot.
//!
//! Each reader has a *limit* in shared memory, and pins no more messages than that. The sum of all
//! limits is bounded. A reader that needs a higher limit takes it from readers that use less than
//! theirs: it lowers their limits. A reader therefore loads its limit once more after it has stored
//! a pin, and takes the pin back if the limit was lowered meanwhile.

use super::layout::{PARTICIPANTS_MAX, PINS_PER_READER};
use super::sync::{Edge, Word, edge};

/// Maximum number of messages that a reader can hold as borrowed at the same time. Each of them
/// needs a pin, and the last pin is that for copies.
pub const BORROWS_MAX: u32 = PINS_PER_READER as u32 - 1;

/// Number of bits of the word of a [`PinLimit`] that hold each of the two numbers.
const NUMBER_BITS: u32 = 32;

/// The number of messages that a reader may borrow at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PinLimit {
    /// Number of messages that the reader may borrow now.
    pub limit: u64,
    /// Number of messages that the reader may borrow in any case: other readers lower the limit
    /// down to this number at most.
    pub reserved: u64,
}

impl PinLimit {
    /// Returns the value of the word in shared memory.
    #[must_use]
    pub const fn to_word(self) -> u64 {
        self.reserved << NUMBER_BITS | self.limit
    }

    /// Returns the limit that a word in shared memory holds. Neither number is more than
    /// [`BORROWS_MAX`], whatever the word is.
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        let limit = word & ((1 << NUMBER_BITS) - 1);
        let limit = limit.min(BORROWS_MAX.into());
        let reserved = (word >> NUMBER_BITS).min(limit);
        Self { limit, reserved }
    }
}

/// The words of another reader that a reader loads when it raises its own limit.
#[derive(Debug)]
pub struct OtherReader<'a, W> {
    /// The reader's [`PinLimit`].
    pub limit: &'a W,
    /// The reader's pins for borrowed messages.
    pub pins: &'a [W],
}

impl<W: Word> OtherReader<'_, W> {
    /// Returns the number of messages that the reader has pinned.
    fn pinned(&self) -> u64 {
        // Relaxed: the caller's fence orders it.
        self.pins.iter().filter(|pin| pin.get() != 0).count() as u64
    }
}

/// The memory in which a reader raises its limit: its own word, and those of the other readers.
pub trait LimitMemory {
    /// The type of a word.
    type Word: Word;

    /// Returns the word with the [`PinLimit`] of the reader.
    fn own_limit(&self) -> &Self::Word;

    /// Returns the words of all other live readers.
    fn other_readers(&self) -> impl Iterator<Item = OtherReader<'_, Self::Word>>;

    /// Executes a memory fence with the ordering of `edge`.
    fn fence(&self, edge: Edge);
}

/// Sets the limit of a reader to `wanted`. If the sum of all limits were more than `max`, lowers
/// the limits of readers that use less than theirs.
///
/// Returns false if that is not enough. The caller then has to store a limit that this reader had
/// all the time: the number of its pins in use, or what it has reserved.
pub fn raise_limit<M: LimitMemory>(memory: &M, wanted: PinLimit, max: u64) -> bool {
    // Relaxed: the fence orders it before the loads of the others.
    memory.own_limit().set(wanted.to_word());
    // ORDERING(pinlimit): of two readers that raise their limits at once, at least one sees the
    // other. Pairs with itself.
    memory.fence(edge::LIMIT_RAISE);
    let mut counted: [Option<(OtherReader<'_, M::Word>, u64)>; _] =
        [const { None }; PARTICIPANTS_MAX as usize];
    let mut sum = wanted.limit;
    for (entry, other) in counted.iter_mut().zip(memory.other_readers()) {
        // Relaxed: as above.
        let limit = PinLimit::from_word(other.limit.get()).limit;
        sum += limit;
        *entry = Some((other, limit));
    }
    for (other, limit) in counted.iter_mut().flatten() {
        if sum <= max {
            break;
        }
        // Relaxed: as above.
        let word = other.limit.get();
        let present = PinLimit::from_word(word);
        let used = other.pinned().max(present.reserved);
        let lowered = PinLimit {
            limit: present
                .limit
                .min(used.max(present.limit.saturating_sub(sum - max))),
            ..present
        };
        // Relaxed: the fence below orders it before the loads of the pins.
        if lowered.limit < *limit
            && other
                .limit
                .compare_exchange_relaxed(word, lowered.to_word())
        {
            sum -= *limit - lowered.limit;
            *limit = lowered.limit;
        }
    }
    // ORDERING(pinlimit): either the other reader sees that its limit was lowered, or its pin is
    // counted here. Pairs with the fence in `LaneReader::pin_current`. WHY also for limits that
    // were not lowered here: another reader may just have lowered them.
    memory.fence(edge::LIMIT_COUNT);
    let counted = counted.iter().flatten();
    let of_others: u64 = counted
        .map(|(other, limit)| other.pinned().max(*limit))
        .sum();
    wanted.limit + of_others <= max
}

/// Clears the word of a pin, so that the pin protects no slot. The caller must no longer read the
/// slot.
pub fn clear_pin<W: Word>(word: &W) {
    // ORDERING(pinned): pairs with the load in `LaneWriter::pinning_reader`.
    word.store(0, edge::PIN_MOVE);
}

/// Claims the first free pin of a reader, and returns its number. `held` is a private word of the
/// reader's process, the mask of the pins in use. Returns `None` if `limit` pins are in use.
pub fn claim_free_pin<W: Word>(held: &W, limit: u32) -> Option<u32> {
    // ORDERING(reuse): pairs with the store in `free_pin`: the pin was taken back before it is used
    // again.
    let used = held.load(edge::PIN_REUSE);
    // WHY their number, not the index: beside a shorter lane the limit may fall, and any pins be
    // in use then.
    (used.count_ones() < limit).then(|| {
        let pin = used.trailing_ones();
        held.set_bits_relaxed(1 << pin);
        pin
    })
}

/// Frees pin `pin`, so that it can be used for another message. `word` is the pin's word in the
/// file, and `held` is the mask of [`claim_free_pin`].
pub fn free_pin<W: Word>(held: &W, word: &W, pin: u32) {
    clear_pin(word);
    // ORDERING(reuse): pairs with the load in `claim_free_pin`.
    held.clear_bits_at(1 << pin, edge::PIN_FREE);
}
