//! Lanes whose messages are written and read in their slots, without a copy.
//!
//! A writer fills a slot in place, and a reader *pins* the slot that it reads. The writer never
//! writes a pinned slot. It publishes the position of that slot as a *skip*, which readers ignore,
//! and continues with the next position; but only if it can write a later position, because a skip
//! cannot be taken back. Because of skips, the position of a message is not its number. So each
//! slot also contains the number and the length of its message, and the lane counts its skips.

use super::{JumpToNewest, LaneReader, LaneWriter, OVERWRITE_RETRIES_MAX, PollOutcome};
use crate::protocol::copy::PrefetchIntent;
use crate::protocol::layout::{
    LANE_CAPACITY_MAX, PINS_PER_READER, POSITION_MAX, SKIP_BIT, SkipCounter, published_stamp,
    writing_stamp,
};
use crate::protocol::memory::LaneMemory;
use crate::protocol::pins::{PinLimit, clear_pin};
use crate::protocol::sync::{Word, edge};
use crate::protocol::takeover::message_number_in_slot;

/// The memory of a lane whose slots readers can pin (protect), so that messages are written and
/// read in place.
pub trait PinnableLane: LaneMemory {
    /// Returns the index of the lane in its topic.
    fn lane_index(&self) -> u32;

    /// Returns the word with the message number in slot `index`. The first message of a lane has
    /// the number 0.
    fn message_number(&self, index: u64) -> &Self::Word;

    /// Returns the word with the length of the message in slot `index`, in bytes.
    fn message_length(&self, index: u64) -> &Self::Word;

    /// Returns the bit mask of the readers that pin slots: bit i stands for reader i.
    fn pinning_reader_mask(&self) -> &Self::Word;

    /// Returns the number of pins that each reader has. The last pin protects a message only while
    /// the reader copies it.
    fn pin_count(&self) -> u32 {
        PINS_PER_READER as u32
    }

    /// Returns the word of pin number `pin` of reader `reader`, which has announced that it pins
    /// slots. `pin` must be less than [`Self::pin_count`].
    fn pin_word(&self, reader: u32, pin: u32) -> &Self::Word;

    /// Returns the word with the [`PinLimit`] of reader `reader`, which has announced its pins.
    fn pin_limit_word(&self, reader: u32) -> &Self::Word;

    /// Returns true if a process [holds](crate::protocol::owner::is_slot_held) reader slot
    /// `reader`.
    fn is_reader_slot_held(&self, reader: u32) -> bool;

    /// Prefetches the part of slot `index` into which a message of `bytes` bytes will be written.
    /// It is only a hint.
    fn prefetch_message(&self, index: u64, _bytes: u64) {
        self.prefetch(index, PrefetchIntent::Write);
    }
}

/// Number of bits of a pin's word that hold the index of the protected slot plus 1.
const PIN_INDEX_BITS: u32 = 24;
/// Number of bits of a pin's word that hold the number of the extent that contains the slot.
const PIN_GENERATION_BITS: u32 = 32;

/// Returns the value that the word of a pin has while the pin protects slot `index` of `memory`.
fn pin_word_value<M: PinnableLane>(memory: &M, index: u64) -> u64 {
    let generation = memory.generation() & ((1 << PIN_GENERATION_BITS) - 1);
    u64::from(memory.lane_index()) << (PIN_GENERATION_BITS + PIN_INDEX_BITS)
        | generation << PIN_INDEX_BITS
        | (index + 1)
}

const _: () = assert!(LANE_CAPACITY_MAX < 1 << PIN_INDEX_BITS);

/// The reason why a writer cannot claim the next slot for its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotBlocked {
    /// A gated reader has not read the message in the slot yet, so the lane is full.
    NoRoom,
    /// A reader has pinned the slot. The writer has to skip this position, or to wait, unless the
    /// reader turns out to be dead.
    Pinned {
        /// The index of the reader that has pinned the slot.
        reader: u32,
    },
}

impl<M: PinnableLane + Clone> LaneWriter<M> {
    /// Makes this writer continue the message numbers of earlier writers. The number of a message
    /// is its position minus the skipped positions before it, so this loads the number of skips
    /// from the block of the lane.
    #[must_use]
    pub fn with_message_numbers(mut self) -> Self {
        // Relaxed: the claim of the lane ordered it. WHY the minimum: a damaged count must not make
        // a negative number.
        self.skips = SkipCounter::from_word(self.memory.block().skips.get())
            .count
            .min(self.pos);
        self
    }

    /// Claims the next slot, and returns its index. If all readers pin the slots that they copy, no
    /// reader accesses the slot until [`Self::publish_claimed_slot`] is called. Until then the
    /// caller may write the slot in any way, even by ordinary stores.
    ///
    /// If the function is called again before the slot is published, it returns the same slot.
    ///
    /// # Errors
    ///
    /// [`SlotBlocked`].
    pub fn claim_slot(&mut self) -> Result<u64, SlotBlocked> {
        self.claim_slot_unless_pinned(self.memory.pin_count())
    }

    /// Claims the next slot as [`Self::claim_slot`] does, but even if a reader has pinned the slot
    /// for a copy. That reader checks the stamp again after its copy, and may lose the message. As
    /// the reader may still be copying, the caller may write the slot only by
    /// [`LaneMemory::store_racing`].
    ///
    /// # Errors
    ///
    /// [`SlotBlocked`].
    pub fn claim_slot_pinned_for_copies(&mut self) -> Result<u64, SlotBlocked> {
        self.claim_slot_unless_pinned(self.memory.pin_count() - 1)
    }

    /// Claims the next slot and returns its index, unless one of the first `pins_per_reader` pins
    /// of a reader protects the slot.
    fn claim_slot_unless_pinned(&mut self, pins_per_reader: u32) -> Result<u64, SlotBlocked> {
        if self.pos >= self.limit && !self.try_find_room() {
            return Err(SlotBlocked::NoRoom);
        }
        let index = self.pos & self.mask;
        // Relaxed: the fence below orders it before the pins, and before the payload.
        self.memory.stamp(index).set(writing_stamp(self.pos));
        // ORDERING(pin): pairs with the fence in `LaneReader::try_pin_current_slot`, and with
        // `owner::try_hold_slot`.
        self.memory.fence(edge::PIN_SCAN);
        match self.find_pinning_reader(index, pins_per_reader) {
            Some(reader) => Err(SlotBlocked::Pinned { reader }),
            None => Ok(index),
        }
    }

    /// Returns the end of the positions that gated readers permit to write now, at most one
    /// capacity from here on.
    pub fn room_end(&mut self) -> u64 {
        let end = self.pos + self.memory.capacity();
        if self.limit < end {
            self.try_find_room();
        }
        self.limit.min(end)
    }

    /// Looks whether the slot of `position`, which lies after the next one, is free of pins; of the
    /// pins for copies only if `excludes_copied_slots` is true. It is a guess: the slot must be
    /// claimed before it is written, and may be pinned then.
    ///
    /// # Errors
    ///
    /// [`SlotBlocked::Pinned`].
    pub fn check_not_pinned(
        &self,
        position: u64,
        excludes_copied_slots: bool,
    ) -> Result<(), SlotBlocked> {
        let pins_per_reader = self.memory.pin_count() - u32::from(!excludes_copied_slots);
        let pinning = self.find_pinning_reader(position & self.mask, pins_per_reader);
        pinning.map_or(Ok(()), |reader| Err(SlotBlocked::Pinned { reader }))
    }

    /// Returns the index of a reader that protects slot `index` by one of its first
    /// `pins_per_reader` pins; `None` if there is none. Leaves out the readers of
    /// [`Self::try_ignore_dead_reader`].
    fn find_pinning_reader(&self, index: u64, pins_per_reader: u32) -> Option<u32> {
        let tag = pin_word_value(&self.memory, index);
        // Relaxed: the fence in `claim_slot_unless_pinned` orders it after the stamp. For later
        // slots the result is only a guess.
        let mut readers = self.memory.pinning_reader_mask().get();
        readers &= u64::MAX >> (64 - self.memory.reader_limit()) & !self.ignored;
        while readers != 0 {
            let reader = readers.trailing_zeros();
            readers &= readers - 1;
            for pin in 0..pins_per_reader {
                // ORDERING(pinned): pairs with the stores in `LaneReader::try_pin_current_slot` and
                // `clear_pin`.
                if self.memory.pin_word(reader, pin).load(edge::PIN_SEE) == tag {
                    return Some(reader);
                }
            }
        }
        None
    }

    /// Ignores the pins of reader `reader` up to the next position if the reader is dead, and
    /// another process, which may be stopped, holds its reader slot. Otherwise returns false. Must
    /// be called after [`Self::claim_slot`] or [`Self::check_not_pinned`] has found a pin of that
    /// reader.
    pub fn try_ignore_dead_reader(&mut self, reader: u32) -> bool {
        let is_held = self.memory.is_reader_slot_held(reader);
        // WHY no pin of the next reader in the place is ignored in the slot of this position: that
        // reader finds the stamp changed. In later slots some may be; they are claimed before use.
        self.ignored |= u64::from(is_held) << reader;
        is_held
    }

    /// Publishes the slot that [`Self::claim_slot`] returned. The slot contains a message of
    /// `bytes` bytes.
    pub fn publish_claimed_slot(&mut self, bytes: u64) {
        let spot = self.next_slot();
        // Relaxed, both: the stamp publishes them like the payload.
        spot.memory
            .message_number(spot.index)
            .set(self.next_message_number());
        spot.memory.message_length(spot.index).set(bytes);
        self.ignored = 0;
        self.publish(&spot, published_stamp(spot.pos));
        if let Some(index) = self.slot_to_prefetch(&spot) {
            // WHY not the whole slot: most slots are far longer than their messages, and the next
            // message probably has the length of this one.
            spot.memory.prefetch_message(index, bytes);
        }
    }

    /// Publishes the current position as skipped, because a reader has pinned its slot, and moves
    /// on to the next position. Must be called after [`Self::claim_slot`] has found the pin.
    pub fn skip_pinned_position(&mut self) {
        (self.skips, self.ignored) = (self.skips + 1, 0);
        let spot = self.next_slot();
        let stamp = published_stamp(spot.pos) | SKIP_BIT;
        let epoch_start = &spot.memory.block().epoch_start;
        if epoch_start.get() == spot.pos {
            // WHY: the session has sent no message yet, and must not hide the history before it.
            // WHY before the stamp: if this owner dies in between, its successor does not take the
            // skip for a message. Relaxed: the fence in `claim_slot_unless_pinned` releases all
            // before it, and the head that follows publishes it.
            epoch_start.set(spot.pos + 1);
        }
        // Relaxed, both: the head that follows publishes them. WHY in this order: after a takeover
        // the successor steps over the skip, and counts it if its predecessor had not.
        spot.stamp().set(stamp);
        spot.memory
            .block()
            .skips
            .set(SkipCounter::new(self.skips, spot.pos).to_word());
        self.publish(&spot, stamp);
    }

    /// Returns the number that the next message gets. It equals the number of messages sent so far,
    /// because the first one has the number 0.
    pub const fn next_message_number(&self) -> u64 {
        self.pos - self.skips
    }
}

/// A message that a reader has pinned in its slot, or has copied out of the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedMessage {
    /// Index of the slot in its extent.
    pub index: u64,
    /// Length of the message in bytes, as the publisher stored it. The caller has to check it
    /// against the size of the slot.
    pub bytes: u64,
    /// Sequence number of the message in its lane, counted from 1.
    pub number: u64,
}

/// The options for copying a message out of a lane whose slots can be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyOptions {
    /// True to copy the newest message; false to copy the next one.
    pub latest: bool,
    /// True if messages vary in length. Then only as many bytes are copied as the message has.
    pub sized: bool,
    /// The index of the reader, and the number of the pin that it uses for copies. A writer
    /// overwrites a slot with that pin only if it has no other choice. `None` for a reader that may
    /// not write to the file, and so cannot pin slots.
    pub pin: Option<(u32, u32)>,
}

/// A pin by which a reader borrows a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderPin {
    /// Index of the reader, which has announced that it pins slots.
    pub reader: u32,
    /// Number of the pin.
    pub pin: u32,
    /// Number of pins that the reader uses for borrowed messages, with this one. The message is
    /// pinned only if the reader's [`PinLimit`] is not less.
    pub in_use: u32,
}

impl<M: PinnableLane + Clone> LaneReader<M> {
    /// Makes this reader count its losses by message numbers, instead of positions. `next` is the
    /// number of the first message that the reader should receive: earlier messages do not count as
    /// lost. `None` means that the reader begins with the first message that it finds.
    #[must_use]
    pub fn with_message_numbers(mut self, next: Option<u64>) -> Self {
        self.numbered = true;
        (self.first_number, self.next_number) = (next, next);
        self
    }

    /// Moves to the next message, past skips and lost messages, without reading it. The amount of
    /// work is bounded. In contrast to [`Self::has_message`], does not take skips and overwritten
    /// messages for messages.
    ///
    /// # Errors
    ///
    /// [`PollOutcome::Empty`] or [`PollOutcome::Busy`] if there is no message.
    pub fn move_to_next_message(&mut self) -> Result<(), PollOutcome> {
        self.try_at_next_message(|this| {
            let number = message_number_in_slot(&this.memory, this.pos)?;
            this.count_missed_before(number, JumpToNewest::NONE);
            Some(())
        })
    }

    /// Pins the next message by `pin`. The amount of work is bounded.
    ///
    /// The slot does not change until [`free_pin`] is called. This reader moves on to the position
    /// after the message.
    ///
    /// [`free_pin`]: crate::protocol::pins::free_pin
    ///
    /// # Errors
    ///
    /// [`PollOutcome::Empty`], or [`PollOutcome::Busy`], also if the reader's [`PinLimit`] is less
    /// than `pin.in_use`. No slot is pinned then.
    pub fn pin_next(&mut self, pin: ReaderPin) -> Result<PinnedMessage, PollOutcome> {
        self.try_at_next_message(|this| this.pin_and_move_past(pin, JumpToNewest::NONE))?
    }

    /// Does the same as [`Self::pin_next`] for the newest message. The unread messages before it
    /// count as skipped, or as lost if they have already been overwritten.
    ///
    /// # Errors
    ///
    /// As [`Self::pin_next`].
    pub fn pin_latest(&mut self, pin: ReaderPin) -> Result<PinnedMessage, PollOutcome> {
        self.try_at_latest_message(|this, jump| this.pin_and_move_past(pin, jump))?
    }

    /// Pins the message of the current position, and moves to the position after it. Returns `None`
    /// if the writer has overwritten the message, and [`PollOutcome::Busy`] if the reader may not
    /// pin so many messages any more.
    fn pin_and_move_past(
        &mut self,
        pin: ReaderPin,
        jump: JumpToNewest,
    ) -> Option<Result<PinnedMessage, PollOutcome>> {
        if !self.try_pin_current_slot(pin) {
            return None;
        }
        // Relaxed: the fence in `try_pin_current_slot` orders it after the pin.
        let limit = PinLimit::from_word(self.memory.pin_limit_word(pin.reader).get()).limit;
        if limit < pin.in_use.into() {
            clear_pin(self.memory.pin_word(pin.reader, pin.pin));
            self.count_passed_messages(jump.start());
            return Some(Err(PollOutcome::Busy));
        }
        Some(Ok(self.move_past_message(jump)))
    }

    /// Moves to the newest message, and calls `attempt` to get it; returns the result of `attempt`.
    /// The second argument of `attempt` says from which position the reader came. If `attempt`
    /// returns `None`, because the writer has overwritten the message, tries again a few times.
    fn try_at_latest_message<R>(
        &mut self,
        mut attempt: impl FnMut(&mut Self, JumpToNewest) -> Option<R>,
    ) -> Result<R, PollOutcome> {
        let start = self.pos;
        for _ in 0..=OVERWRITE_RETRIES_MAX {
            if !self.has_message() {
                if self.pos > start {
                    self.count_passed_messages(Some(start));
                }
                return Err(self.count_empty_poll());
            }
            // Relaxed: only the place where the search begins; the stamps decide. A head from
            // behind the end of this extent finds no message here, and changes nothing.
            let head = self.memory.block().head.get().min(POSITION_MAX);
            let head = self.clamp_head_to_extent(head).unwrap_or(self.pos + 1);
            let oldest = self.pos.max(head.saturating_sub(self.memory.capacity()));
            let newest = (oldest..head).rev().find(|&pos| {
                // Relaxed: the stamp is loaded again below.
                self.memory.stamp(pos & self.mask).get() == published_stamp(pos)
            });
            if let Some(newest) = newest {
                self.advance_and_count(newest, 0, 0);
            } else {
                self.move_to_next_message()?;
                // Relaxed: as above. WHY: the message may not be the newest one. It is, if its
                // publisher has died before it could store the head.
                if self.pos < self.memory.block().head.get() {
                    continue;
                }
            }
            let want = published_stamp(self.pos);
            // ORDERING(slot): pairs with the store in `LaneWriter::publish`.
            let stamp = self.memory.stamp(self.pos & self.mask).load(edge::SLOT_SEE);
            if stamp == want
                && let Some(found) = attempt(self, JumpToNewest { start, head })
            {
                return Ok(found);
            }
            if stamp == want | SKIP_BIT {
                self.advance_and_count(self.pos + 1, 0, 0);
            }
        }
        self.busy += 1;
        self.count_passed_messages(Some(start));
        Err(PollOutcome::Busy)
    }

    /// Pins the slot of the current position. Returns true if the slot still holds the message of
    /// that position; otherwise clears the pin.
    fn try_pin_current_slot(&mut self, ReaderPin { reader, pin, .. }: ReaderPin) -> bool {
        let index = self.pos & self.mask;
        let word = self.memory.pin_word(reader, pin);
        // ORDERING(pinned): the reads under this pin's previous value are over. Pairs with the load
        // in `LaneWriter::find_pinning_reader`.
        word.store(pin_word_value(&self.memory, index), edge::PIN_MOVE);
        // ORDERING(pin): pairs with the fence in `LaneWriter::claim_slot_unless_pinned`, and with
        // `pin_limit/sum_fence` in `store_pin_limit`.
        self.memory.fence(edge::PIN_HOLD);
        // Relaxed: the fence orders it after the pin.
        let held = self.memory.stamp(index).get() == published_stamp(self.pos);
        if !held {
            clear_pin(word);
        }
        held
    }

    /// Moves the reader to the position after the current message, and returns that message. Counts
    /// it as received, and the messages that were jumped over as lost or skipped.
    fn move_past_message(&mut self, jump: JumpToNewest) -> PinnedMessage {
        let index = self.pos & self.mask;
        // Relaxed, both: the stamp published them, and the pin keeps the writer out.
        let number = self.memory.message_number(index).get();
        let bytes = self.memory.message_length(index).get();
        self.count_received_message(number, jump);
        self.advance_to(self.pos + 1);
        PinnedMessage {
            index,
            bytes,
            number: number.wrapping_add(1),
        }
    }

    /// Copies the next message, or the newest one, into `dst`: at most `bytes` bytes. The length in
    /// the returned [`PinnedMessage`] may be greater.
    ///
    /// # Errors
    ///
    /// As [`Self::pin_next`].
    ///
    /// # Safety
    ///
    /// As [`Self::read`].
    pub unsafe fn copy_message(
        &mut self,
        dst: *mut u8,
        bytes: usize,
        options: CopyOptions,
    ) -> Result<PinnedMessage, PollOutcome> {
        self.copy_message_by(bytes, options, |memory, index, bytes| {
            // SAFETY: `dst` is writable for the caller's `bytes`, and this `bytes` is not more.
            unsafe { memory.load_racing(index, dst, bytes) };
            true
        })
    }

    /// Does the same as [`Self::copy_message`], but calls `load` to copy the message out of its
    /// slot. `load` gets the number of bytes to copy, which is at most `bytes`, and returns false
    /// if it cannot copy them.
    ///
    /// # Errors
    ///
    /// As [`Self::pin_next`].
    pub fn copy_message_by(
        &mut self,
        bytes: usize,
        options: CopyOptions,
        mut load: impl FnMut(&M, u64, usize) -> bool,
    ) -> Result<PinnedMessage, PollOutcome> {
        let mut attempt = |this: &mut Self, jump| {
            let copy_pin = |(reader, pin)| ReaderPin {
                reader,
                pin,
                in_use: 0,
            };
            if let Some(pin) = options.pin
                && !this.try_pin_current_slot(copy_pin(pin))
            {
                return None;
            }
            let copied = this.try_copy(bytes, (options.sized, jump), &mut load);
            if let Some((reader, pin)) = options.pin {
                clear_pin(this.memory.pin_word(reader, pin));
            }
            copied
        };
        if options.latest {
            self.try_at_latest_message(attempt)
        } else {
            self.try_at_next_message(|this| attempt(this, JumpToNewest::NONE))
        }
    }

    /// Copies the message of the current position, and checks that the slot still holds it after
    /// the copy. `sized` is as in [`CopyOptions`].
    fn try_copy(
        &mut self,
        bytes: usize,
        (sized, jump): (bool, JumpToNewest),
        load: &mut impl FnMut(&M, u64, usize) -> bool,
    ) -> Option<PinnedMessage> {
        let index = self.pos & self.mask;
        let want = published_stamp(self.pos);
        // Relaxed, both: they are used only if the slot still holds this message below.
        let number = self.memory.message_number(index).get();
        // WHY: where all messages have one size, that is their length, whatever the word says. The
        // caller takes every byte as written, and could not distinguish a short message from
        // damage.
        let length = match sized {
            true => self.memory.message_length(index).get(),
            false => bytes as u64,
        };
        if !load(&self.memory, index, length.min(bytes as u64) as usize) {
            return None;
        }
        // ORDERING(overwrite): pairs with the fence in `LaneWriter::claim_slot_unless_pinned`,
        // which is stronger.
        self.memory.fence(edge::OVERWRITE_CHECK);
        // Relaxed: the fence orders it after the payload.
        if self.memory.stamp(index).get() != want {
            return None;
        }
        self.count_received_message(number, jump);
        self.advance_to(self.pos + 1);
        Some(PinnedMessage {
            index,
            bytes: length,
            number: number.wrapping_add(1),
        })
    }
}
