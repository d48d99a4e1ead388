//! The endpoints of a modelled lane whose messages are written and read in place.

use horus_shm::internals::lane::{
    self, LaneReader, LaneWriter, PinnableLane, PinnedMessage, PollOutcome, ReaderPin, SlotBlocked,
    message_count_and_end,
};
use horus_shm::internals::memory::LaneMemory;
use horus_shm::internals::pins::{
    self, OtherReaderPins, PinLimit, PinLimitMemory, claim_free_pin, clear_pin, free_pin,
};
use horus_shm::internals::sync::{Edge, Word};
use horus_shm::internals::{owner, takeover};

use super::{CopyOptions, LoomLane, LoomWord, MESSAGE_BYTES, UNGATED};
use crate::checker::Shared;

/// Returns the content of the message with number `number`, from 0 on.
const fn message(number: u64) -> u64 {
    1000 + number
}

/// The writing endpoint, as a `RawProducer` of a pinnable topic, whose readers are all alive.
pub(crate) struct Lender(LaneWriter<LoomLane>);

impl Lender {
    pub(crate) fn first(lane: &LoomLane) -> Self {
        Self(LaneWriter::new(lane.clone(), 0, false).with_message_numbers())
    }

    /// Takes over the lane of `dead`.
    pub(crate) fn claim(lane: &LoomLane, me: u64, dead: u64) -> Self {
        Self::claim_from(lane, me, |owner| owner == dead).unwrap()
    }

    /// As [`Self::claim`], with a predicate for dead owners.
    pub(crate) fn claim_from(
        lane: &LoomLane,
        me: u64,
        is_dead: impl Fn(u64) -> bool,
    ) -> Option<Self> {
        let owners = [&lane.block().owner];
        owner::claim_first_free_entry(owners.into_iter(), me, is_dead)?;
        let pos = takeover::take_over(lane, me);
        Some(Self(
            LaneWriter::new(lane.clone(), pos, false).with_message_numbers(),
        ))
    }

    /// Claims the slot of the next message, stepping over pinned slots, and does not publish it.
    pub(crate) fn lend(&mut self) {
        while let Err(SlotBlocked::Pinned { .. }) = self.0.claim_slot() {
            self.0.skip_pinned_position();
        }
    }

    /// Sends the next message, stepping over pinned slots, except those of a dead reader whose
    /// place is held; returns false if all slots are pinned.
    pub(crate) fn send(&mut self) -> bool {
        for _ in 0..=self.0.memory().capacity() {
            let mut claimed = self.0.claim_slot();
            if let Err(SlotBlocked::Pinned { reader }) = claimed
                && self.0.try_ignore_dead_reader(reader)
            {
                claimed = self.0.claim_slot();
            }
            match claimed {
                Ok(index) => {
                    self.fill(index);
                    return true;
                }
                Err(SlotBlocked::Pinned { .. }) => self.0.skip_pinned_position(),
                Err(SlotBlocked::NoRoom) => panic!("no reader is gated"),
            }
        }
        false
    }

    /// Sends the next message into the next slot, which at most readers that copy have pinned.
    pub(crate) fn send_over_copies(&mut self) {
        let index = self.0.claim_slot_pinned_for_copies().unwrap();
        self.fill(index);
    }

    fn fill(&mut self, index: u64) {
        let bytes = [message(self.0.next_message_number()); 2];
        let memory = self.0.memory();
        let src = bytes.as_ptr().cast();
        match memory.copying() {
            // SAFETY: a message is readable for its size; only this endpoint writes the slot.
            CopyOptions::Racing => unsafe { memory.store_racing(index, src, MESSAGE_BYTES) },
            // SAFETY: as above.
            CopyOptions::Exclusive | CopyOptions::ByHead => unsafe {
                memory.store_exclusive(index, src, MESSAGE_BYTES)
            },
        }
        self.0.publish_claimed_slot(MESSAGE_BYTES as u64);
    }

    /// Returns the number of messages sent so far, by all owners.
    pub(crate) fn number(&self) -> u64 {
        self.0.next_message_number()
    }
}

/// The reading endpoint, as a `RawConsumer` of a pinnable topic, announced as `reader`.
pub(crate) struct Borrower {
    lane: LoomLane,
    reader: LaneReader<LoomLane>,
    me: u32,
    held: Shared<LoomWord>,
    promised: u64,
    received: u64,
}

impl Borrower {
    /// Makes a reader of the messages that are sent from now on.
    pub(crate) fn join(lane: &LoomLane, me: u32) -> Self {
        lane.pinning_reader_mask().set_bits_relaxed(1 << me);
        let (promised, position) = message_count_and_end(lane.block());
        let reader = LaneReader::new(lane.clone(), position, UNGATED);
        let reader = reader.with_message_numbers(Some(promised));
        let held = Shared::new(LoomWord::new(0));
        Self {
            lane: lane.clone(),
            reader,
            me,
            held,
            promised,
            received: 0,
        }
    }

    /// Makes it count its losses by positions. WHY: to count by numbers it loads the head and the
    /// skips once more, which multiplies the executions of a model that is not about losses.
    pub(crate) fn without_numbers(mut self) -> Self {
        self.reader.stop_counting_by_numbers(self.promised);
        self
    }

    /// Returns the number of the first message that it must get, from 0 on.
    pub(crate) const fn promised(&self) -> u64 {
        self.promised
    }

    /// Returns a pin that the limit of this reader does not concern.
    const fn unlimited(&self, pin: u32) -> ReaderPin {
        ReaderPin {
            reader: self.me,
            pin,
            in_use: 0,
        }
    }

    /// Raises the limit of this reader to `limit`, if the limits of all readers are at most `max`
    /// then.
    pub(crate) fn raise_limit(&self, limit: u64, max: u64) -> bool {
        pins::raise_pin_limit(self, PinLimit { limit, reserved: 0 }, 0, max)
    }

    /// Borrows one message more than it holds, as a `RawConsumer`: first raises its limit, if the
    /// limits of all readers are at most `max` then.
    pub(crate) fn borrow_one_more(self, max: u64) -> Option<Self> {
        // Relaxed, here and below: as in `ReaderSlot`.
        let held = self.held.get().count_ones();
        self.raise_limit(u64::from(held) + 1, max);
        let limit = PinLimit::from_word(self.own_limit_word().get()).limit;
        claim_free_pin(&*self.held, limit as u32)?;
        let in_use = self.held.get().count_ones();
        self.borrow_within_limit(in_use)
    }

    /// Pins the next message if the limit of this reader is `in_use` or more.
    pub(crate) fn borrow_within_limit(mut self, in_use: u32) -> Option<Self> {
        let pin = ReaderPin {
            in_use,
            ..self.unlimited(0)
        };
        self.reader.pin_next(pin).is_ok().then_some(self)
    }

    /// Pins the next message and reads it; the pin stays.
    pub(crate) fn borrow(&mut self) -> Option<(u32, PinnedMessage)> {
        let pin = claim_free_pin(&*self.held, super::PINS).unwrap();
        match self.reader.pin_next(self.unlimited(pin)) {
            Ok(pinned) => {
                self.received += 1;
                self.check(pinned);
                Some((pin, pinned))
            }
            Err(_) => {
                free_pin(&*self.held, self.lane.pin_word(self.me, pin), pin);
                None
            }
        }
    }

    /// Pins the newest message.
    pub(crate) fn borrow_latest(&mut self) -> Option<(u32, PinnedMessage)> {
        let pin = claim_free_pin(&*self.held, super::PINS).unwrap();
        let pinned = self.reader.pin_latest(self.unlimited(pin)).ok();
        if let Some(pinned) = pinned {
            self.received += 1;
            self.check(pinned);
            return Some((pin, pinned));
        }
        free_pin(&*self.held, self.lane.pin_word(self.me, pin), pin);
        None
    }

    /// Checks that the pinned message is whole, and has the number of the pin.
    pub(crate) fn check(&self, pinned: PinnedMessage) {
        check(&self.lane, pinned);
    }

    pub(crate) fn give_back(&self, pin: u32) {
        free_pin(&*self.held, self.lane.pin_word(self.me, pin), pin);
    }

    /// Returns a handle with which another thread can give back a borrowed message.
    pub(crate) fn hand_over(&self, (pin, pinned): (u32, PinnedMessage)) -> Handed {
        Handed {
            lane: self.lane.clone(),
            held: Shared::clone(&self.held),
            me: self.me,
            pin,
            pinned,
        }
    }

    /// Borrows under pin 0, if it is free.
    pub(crate) fn borrow_again(&mut self) {
        if let Some(pin) = claim_free_pin(&*self.held, 1) {
            let _ = self.reader.pin_next(self.unlimited(pin));
        }
    }

    /// Borrows and gives back at once.
    pub(crate) fn recv(&mut self) -> bool {
        let borrowed = self.borrow();
        borrowed.inspect(|&(pin, _)| self.give_back(pin)).is_some()
    }

    /// As [`Self::recv`], under the same pin every time.
    pub(crate) fn copy(&mut self) -> bool {
        let pinned = self.reader.pin_next(self.unlimited(0));
        if let Ok(pinned) = pinned {
            self.received += 1;
            self.check(pinned);
            clear_pin(self.lane.pin_word(self.me, 0));
        }
        pinned.is_ok()
    }

    /// Copies without a pin, as an observer.
    pub(crate) fn peek(&mut self, latest: bool) -> bool {
        self.copy_out(lane::CopyOptions {
            latest,
            sized: false,
            pin: None,
        })
    }

    /// Copies under the pin for copies, whether writers can spare the slot or not.
    pub(crate) fn copy_under_pin(&mut self, latest: bool) -> bool {
        let pin = Some((self.me, super::PINS - 1));
        self.copy_out(lane::CopyOptions {
            latest,
            sized: false,
            pin,
        })
    }

    fn copy_out(&mut self, copying: lane::CopyOptions) -> bool {
        let mut bytes = [0_u64; 2];
        let dst = bytes.as_mut_ptr().cast();
        let load = |lane: &LoomLane, index, bytes| {
            match lane.copying() {
                // SAFETY: a message is writable for its size.
                CopyOptions::Racing => unsafe { lane.load_racing(index, dst, bytes) },
                // SAFETY: as above; the checker fails if a writer is in the slot.
                CopyOptions::Exclusive | CopyOptions::ByHead => unsafe {
                    lane.load_exclusive(index, dst, bytes)
                },
            }
            true
        };
        let seen = self.reader.copy_message_by(MESSAGE_BYTES, copying, load);
        if let Ok(PinnedMessage { number, .. }) = seen {
            self.received += 1;
            assert_eq!(
                bytes,
                [message(number - 1); 2],
                "torn, or not the message of its number"
            );
        }
        seen.is_ok()
    }

    /// Reads all that is left of a lane at rest that carried `sent` messages, and accounts for it.
    pub(crate) fn finish(&mut self, sent: u64) {
        while self.recv() {}
        let lost = self.reader.lost();
        let skipped = self.reader.skipped();
        let account = (self.received, lost, skipped);
        assert_eq!(
            self.received + lost + skipped,
            sent - self.promised,
            "{account:?}"
        );
        assert!(matches!(
            self.reader.pin_next(self.unlimited(0)),
            Err(PollOutcome::Empty)
        ));
    }
}

impl PinLimitMemory for Borrower {
    type Word = LoomWord;

    fn own_limit_word(&self) -> &LoomWord {
        self.lane.pin_limit_word(self.me)
    }

    fn other_readers(&self) -> impl Iterator<Item = OtherReaderPins<'_, LoomWord>> {
        let others = (0..self.lane.pinning()).filter(|&reader| reader != self.me);
        others.map(|reader| OtherReaderPins {
            limit: self.lane.pin_limit_word(reader),
            pins: self.lane.borrow_pins(reader),
        })
    }

    #[track_caller]
    fn fence(&self, edge: Edge) {
        self.lane.fence(edge);
    }
}

/// A message that is borrowed, in another thread.
pub(crate) struct Handed {
    lane: LoomLane,
    held: Shared<LoomWord>,
    me: u32,
    pin: u32,
    pinned: PinnedMessage,
}

impl Handed {
    /// Reads the message, and gives it back.
    pub(crate) fn read(self) {
        check(&self.lane, self.pinned);
        free_pin(&*self.held, self.lane.pin_word(self.me, self.pin), self.pin);
    }
}

/// Checks that the pinned message is whole, and has the number of the pin.
fn check(lane: &LoomLane, pinned: PinnedMessage) {
    let mut bytes = [0_u64; 2];
    let dst = bytes.as_mut_ptr().cast();
    match lane.copying() {
        // SAFETY: a message is writable for its size; the slot is pinned.
        CopyOptions::Racing => unsafe { lane.load_racing(pinned.index, dst, MESSAGE_BYTES) },
        // SAFETY: as above.
        CopyOptions::Exclusive | CopyOptions::ByHead => unsafe {
            lane.load_exclusive(pinned.index, dst, MESSAGE_BYTES)
        },
    }
    assert_eq!(
        bytes,
        [message(pinned.number - 1); 2],
        "not the message that was pinned"
    );
    assert_eq!(pinned.bytes, MESSAGE_BYTES as u64, "not its length");
}
