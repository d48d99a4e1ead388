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

/// Width in bits of each of the two numbers of a [`PinLimit`], which share one word.
const PIN_LIMIT_NUMBER_BITS: u32 = 32;

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
        self.reserved << PIN_LIMIT_NUMBER_BITS | self.limit
    }

    /// Decodes a word in shared memory. Accepts every word: lowers `limit` to [`BORROWS_MAX`], and
    /// `reserved` to `limit`, if they are higher.
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        let limit = word & ((1 << PIN_LIMIT_NUMBER_BITS) - 1);
        let limit = limit.min(BORROWS_MAX.into());
        let reserved = (word >> PIN_LIMIT_NUMBER_BITS).min(limit);
        Self { limit, reserved }
    }
}

/// The words of another reader that a reader loads when it raises its own limit.
#[derive(Debug)]
pub struct OtherReaderPins<'a, W> {
    /// The word that holds the reader's [`PinLimit`]: how many messages it may borrow at a time.
    pub limit: &'a W,
    /// The reader's pins for borrowed messages.
    pub pins: &'a [W],
}

impl<W: Word> OtherReaderPins<'_, W> {
    /// Returns the number of messages that the reader has pinned.
    fn pinned_message_count(&self) -> u64 {
        // Relaxed: the fences of `store_pin_limit` order it.
        self.pins.iter().filter(|pin| pin.get() != 0).count() as u64
    }
}

/// The memory in which a reader raises its limit: its own word, and those of the other readers.
pub trait PinLimitMemory {
    /// The type of a word.
    type Word: Word;

    /// Returns the word with the [`PinLimit`] of the reader.
    fn own_limit_word(&self) -> &Self::Word;

    /// Returns the words of all other live readers.
    fn other_readers(&self) -> impl Iterator<Item = OtherReaderPins<'_, Self::Word>>;

    /// Executes a memory fence with the ordering of `edge`.
    fn fence(&self, edge: Edge);
}

/// Sets the limit of a reader to `wanted`. If the sum of all limits were more than `limit_sum_max`,
/// lowers the limits of readers that use less than theirs. `reserved_before` is the number that the
/// reader has reserved so far, which must not be more than `wanted.reserved`.
///
/// Returns false if that is not enough. The reader may then borrow no more than it has reserved.
/// Messages that it holds beyond that stay pinned.
pub fn raise_pin_limit<M: PinLimitMemory>(
    memory: &M,
    wanted: PinLimit,
    reserved_before: u64,
    limit_sum_max: u64,
) -> bool {
    // WHY not `wanted.reserved` yet: nobody can lower that, and this process may be stopped here.
    let raised = PinLimit {
        reserved: reserved_before,
        ..wanted
    };
    let own = memory.own_limit_word();
    let is_raised = wanted.limit <= BORROWS_MAX.into()
        && store_pin_limit(memory, raised, limit_sum_max)
        // Relaxed: that no reader has lowered the limit meanwhile is the value of the word itself.
        && (raised == wanted || own.compare_exchange_relaxed(raised.to_word(), wanted.to_word()));
    if !is_raised {
        // WHY not the number of pins in use: another reader may have counted, or lowered the limit
        // to, fewer, because another thread has given a message back. WHY this is no more than any
        // reader counts: no limit is lowered below what is reserved. Relaxed: as the store in
        // `store_pin_limit`.
        let (limit, reserved) = (reserved_before, reserved_before);
        own.set(PinLimit { limit, reserved }.to_word());
    }
    is_raised
}

/// Stores `wanted`, the number of messages that this reader may borrow. If the limits of all
/// readers then add up to more than `limit_sum_max`, lowers the limits of other readers that use
/// less than theirs. A reader that has more messages pinned than its limit counts with their
/// number. Returns true if the sum is at most `limit_sum_max` in the end.
fn store_pin_limit<M: PinLimitMemory>(memory: &M, wanted: PinLimit, limit_sum_max: u64) -> bool {
    // Relaxed: the fence orders it before the loads of the others.
    memory.own_limit_word().set(wanted.to_word());
    // ORDERING(pin_limit): of two readers that raise their limits at once, at least one sees the
    // other. Pairs with itself.
    memory.fence(edge::PIN_LIMIT_RAISE_FENCE);
    let mut counted: [Option<(OtherReaderPins<'_, M::Word>, u64)>; _] =
        [const { None }; PARTICIPANTS_MAX as usize];
    let mut sum = wanted.limit;
    for (entry, other) in counted.iter_mut().zip(memory.other_readers()) {
        // Relaxed: as above.
        let limit = PinLimit::from_word(other.limit.get()).limit;
        // WHY the pins, too: a reader whose attempt to raise its limit failed has a limit below
        // their number.
        sum += limit.max(other.pinned_message_count());
        *entry = Some((other, limit));
    }
    for (other, limit) in counted.iter_mut().flatten() {
        if sum <= limit_sum_max {
            break;
        }
        // Relaxed: as above.
        let word = other.limit.get();
        let present = PinLimit::from_word(word);
        let used = other.pinned_message_count().max(present.reserved);
        let lowered = PinLimit {
            limit: present
                .limit
                .min(used.max(present.limit.saturating_sub(sum - limit_sum_max))),
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
    // ORDERING(pin_limit): either the other reader sees that its limit was lowered, or its pin is
    // counted here. Pairs with the fence in `LaneReader::try_pin_current_slot`. WHY also for limits
    // that were not lowered here: another reader may just have lowered them.
    memory.fence(edge::PIN_LIMIT_SUM_FENCE);
    let counted = counted.iter().flatten();
    let of_others: u64 = counted
        .map(|(other, limit)| other.pinned_message_count().max(*limit))
        .sum();
    wanted.limit + of_others <= limit_sum_max
}

/// Clears the word of a pin, so that the pin protects no slot. The caller must no longer read the
/// slot.
pub fn clear_pin<W: Word>(word: &W) {
    // ORDERING(pinned): pairs with the load in `LaneWriter::find_pinning_reader`.
    word.store(0, edge::PIN_MOVE);
}

/// Claims the first free pin of a reader, and returns its number. `used_pins` is a private word of
/// the reader's process, the mask of the pins in use. Returns `None` if `pins_max` pins are in use.
pub fn claim_free_pin<W: Word>(used_pins: &W, pins_max: u32) -> Option<u32> {
    // ORDERING(reuse): pairs with the store in `free_pin`: the pin was taken back before it is used
    // again.
    let used = used_pins.load(edge::PIN_REUSE);
    // WHY their number, not the index: beside a shorter lane the limit may fall, and any pins be
    // in use then.
    (used.count_ones() < pins_max).then(|| {
        let pin = used.trailing_ones();
        used_pins.set_bits_relaxed(1 << pin);
        pin
    })
}

/// Frees pin `pin`, so that it can be used for another message. `word` is the pin's word in the
/// file, and `used_pins` is the mask of [`claim_free_pin`].
pub fn free_pin<W: Word>(used_pins: &W, word: &W, pin: u32) {
    clear_pin(word);
    // ORDERING(reuse): pairs with the load in `claim_free_pin`.
    used_pins.clear_bits_ordered(1 << pin, edge::PIN_FREE);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Number of messages that all readers together may borrow.
    const MAX: u64 = 3;

    /// The limit and the pins of a reader.
    #[derive(Default)]
    struct Reader {
        limit: AtomicU64,
        pins: [AtomicU64; 2],
    }

    impl Reader {
        fn limit(&self) -> PinLimit {
            PinLimit::from_word(self.limit.get())
        }
    }

    /// The readers of a topic, as the first one sees them. It calls `between` where it has lowered
    /// the limits of the others, and has not yet counted their pins.
    struct Topic<'a, F> {
        own: &'a Reader,
        others: &'a [&'a Reader],
        between: F,
    }

    impl<F: Fn()> PinLimitMemory for Topic<'_, F> {
        type Word = AtomicU64;

        fn own_limit_word(&self) -> &AtomicU64 {
            &self.own.limit
        }

        fn other_readers(&self) -> impl Iterator<Item = OtherReaderPins<'_, AtomicU64>> {
            self.others.iter().map(|reader| OtherReaderPins {
                limit: &reader.limit,
                pins: &reader.pins,
            })
        }

        fn fence(&self, edge: Edge) {
            if edge.label == "pin_limit/sum_fence" {
                (self.between)();
            }
        }
    }

    /// Raises the limit of `own` to `limit`, and reserves that number if `reserves` is true.
    fn raise(own: &Reader, others: &[&Reader], limit: u64, reserves: bool) -> bool {
        raise_while(own, others, (limit, reserves), || {})
    }

    /// Does the same as [`raise`], and calls `between` as [`Topic`] says.
    fn raise_while(
        own: &Reader,
        others: &[&Reader],
        (limit, reserves): (u64, bool),
        between: impl Fn(),
    ) -> bool {
        let topic = Topic {
            own,
            others,
            between,
        };
        let reserved = own.limit().reserved;
        let wanted = PinLimit {
            limit,
            reserved: if reserves { limit } else { reserved },
        };
        raise_pin_limit(&topic, wanted, reserved, MAX)
    }

    #[test]
    fn a_reader_that_fails_keeps_only_what_it_has_reserved() {
        for reserved in [0, 1] {
            let [one, other] = [(); 2].map(|()| Reader::default());
            assert!(raise(&one, &[&other], reserved, true));
            assert!(raise(&other, &[&one], 2, false));
            other.pins.iter().for_each(|pin| pin.set(1));
            assert!(!raise(&one, &[&other], 2, false));
            let kept = PinLimit {
                limit: reserved,
                reserved,
            };
            assert_eq!(one.limit(), kept);
            assert!(!raise(&one, &[&other], u64::from(BORROWS_MAX) + 1, true));
            assert_eq!(one.limit(), kept, "more than its pins");
        }
    }

    /// The pins of a reader without a limit take what others may borrow and do not.
    #[test]
    fn what_a_reader_without_a_limit_holds_is_taken_from_those_that_use_less() {
        let [holder, idle, needy] = [(); 3].map(|()| Reader::default());
        holder.pins[0].set(1);
        assert!(raise(&idle, &[&holder, &needy], 2, false));
        assert!(raise(&needy, &[&holder, &idle], 2, false));
        assert_eq!([&idle, &needy].map(|reader| reader.limit().limit), [0, 2]);
    }

    /// Nobody waits for a reader that is stopped before it has reserved its pins.
    #[test]
    fn pins_that_are_being_reserved_can_be_taken_away() {
        let [stopped, needy] = [(); 2].map(|()| Reader::default());
        let reserved = raise_while(&stopped, &[&needy], (3, true), || {
            assert!(
                raise(&needy, &[&stopped], 3, false),
                "{:?}",
                stopped.limit()
            );
        });
        assert!(!reserved);
        assert_eq!(stopped.limit(), PinLimit::default());
        assert_eq!(needy.limit().limit, 3);
    }
}
