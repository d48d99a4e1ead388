//! Reads messages in their slots: borrows them, or pins them only while they are copied.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::{FollowedLane, MessageInfo, RawConsumer};
use crate::endpoint::reader_slot::{COPY_PIN_INDEX, ReaderSlot};
use crate::endpoint::sample::{BorrowError, RawSample, SampleMemory};
use crate::file::segment::TopicBlocks as _;
use crate::os::region::Access;
use crate::protocol::lane::{CopyOptions, PollOutcome, ReaderPin};
use crate::protocol::layout::LANE_CAPACITY_MAX;
use crate::protocol::pins::{claim_free_pin, free_pin};
use crate::protocol::sync::{Word, edge};

/// Number of attempts to borrow a message while other readers lower the number of messages that
/// this reader may borrow. WHY a limit: `borrow` does not wait for other readers.
const PIN_ATTEMPTS_MAX: u32 = 8;

impl RawConsumer {
    /// Polls each lane once, in turn, and copies the first message that it finds to `dst`.
    /// [`Self::poll`] calls it if the slots of a lane can be pinned.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    pub(super) unsafe fn poll_in_place(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
        let attempt =
            |this: &mut Self, lane| unsafe { this.copy_from_lane(lane, dst, bytes, false) };
        let found = self.poll_lanes_in_turn(|this, lane| Ok((attempt(this, lane)?, ())));
        found.err().unwrap_or(PollOutcome::Message)
    }

    /// Calls `attempt` for each lane in turn, until a call returns a message. Counts that message
    /// as received, and returns the result of the call.
    fn poll_lanes_in_turn<R>(
        &mut self,
        mut attempt: impl FnMut(&mut Self, usize) -> Result<(MessageInfo, R), PollOutcome>,
    ) -> Result<R, PollOutcome> {
        let mut nothing = PollOutcome::Empty;
        if self.lanes.is_empty() {
            return Err(nothing);
        }
        let mut lane = self.take_next_lane_in_turn();
        let mut polls = 0;
        loop {
            match attempt(self, lane) {
                Ok((arrival, found)) => {
                    self.count_received_message(lane, arrival);
                    return Ok(found);
                }
                Err(PollOutcome::Busy) => nothing = PollOutcome::Busy,
                Err(_) => {}
            }
            self.wake_sleeping_publishers();
            polls += 1;
            lane = match self.next_lane_to_poll(polls) {
                Some(lane) => lane,
                None => return Err(nothing),
            };
        }
    }

    /// Copies the next message of a lane into `dst`, or the lane's newest message if `takes_latest`
    /// is set. The slot is pinned during the copy: writers use other slots as long as they can.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    pub(super) unsafe fn copy_from_lane(
        &mut self,
        lane: usize,
        dst: *mut u8,
        bytes: usize,
        takes_latest: bool,
    ) -> Result<MessageInfo, PollOutcome> {
        let pin = self
            .place
            .as_ref()
            .map(|place| (place.index(), COPY_PIN_INDEX));
        let wanted = bytes;
        let FollowedLane {
            reader,
            extent,
            shared,
            other,
            ..
        } = &mut self.lanes[lane];
        let shape = extent.offer.shape.request();
        let bytes = bytes.min(*shared);
        if !shape.pinnable {
            let polled = if takes_latest {
                // SAFETY: `dst` is writable for `bytes`, at most the payload of this lane.
                unsafe { reader.read_latest(dst, bytes) }
            } else {
                // SAFETY: as above.
                unsafe { reader.read(dst, bytes) }
            };
            if polled != PollOutcome::Message {
                return Err(polled);
            }
            if let Some(other) = other {
                // SAFETY: `dst` is writable for `wanted` bytes by the contract.
                unsafe { other.convert_in_place(dst, wanted, bytes) };
            }
            let number = self.lanes[lane].sequence_in_unpinnable_lane();
            return Ok(MessageInfo { number, bytes });
        }
        let sized = shape.sized;
        let copying = CopyOptions {
            latest: takes_latest,
            sized,
            pin,
        };
        let copied = if pin.is_some() {
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            unsafe { reader.copy_message(dst, bytes, copying) }?
        } else {
            // SAFETY: `dst` is writable for `bytes` by the contract; no more than `bytes` are
            // copied.
            let load = |_: &_, index, bytes| unsafe { extent.try_copy_slot(index, dst, bytes) };
            reader.copy_message_by(bytes, copying, load)?
        };
        let number = copied.number;
        let came = copied.bytes.min(bytes as u64) as usize;
        let bytes = match other {
            // SAFETY: `dst` is writable for `wanted` bytes by the contract.
            Some(other) => unsafe { other.convert_in_place(dst, wanted, came) },
            None => came,
        };
        Ok(MessageInfo { number, bytes })
    }

    /// Receives the next message of any lane, polling the lanes in turn, but does not copy it.
    /// Returns its length in bytes; `None` if there is no message. Never blocks.
    pub fn recv_length(&mut self) -> Option<usize> {
        if self.is_unusable() {
            return self.recv_length_from_all_files();
        }
        self.look_for_lanes();
        let poll = |this: &mut Self| {
            this.poll_lanes_in_turn(|this, lane| Ok((this.recv_length_from_lane(lane)?, ())))
        };
        let mut found = poll(self);
        while found.is_err() && self.leave_extents_read_to_end() {
            found = poll(self);
        }
        if found.is_err() {
            self.received_at_empty_poll = self.received;
            self.back_off_after_empty_poll();
            return None;
        }
        (self.confirm_copied_message() == PollOutcome::Message)
            .then(|| self.last_message_bytes_in_buffer(self.longest))
    }

    /// Receives the next message of the lane at index `lane` without copying its bytes. Returns
    /// only its metadata.
    pub(super) fn recv_length_from_lane(
        &mut self,
        lane: usize,
    ) -> Result<MessageInfo, PollOutcome> {
        let FollowedLane {
            reader,
            extent,
            shared,
            other,
            ..
        } = &mut self.lanes[lane];
        let shape = extent.offer.shape.request();
        let bytes = *shared;
        if shape.pinnable {
            let copying = CopyOptions {
                latest: false,
                sized: shape.sized,
                pin: None,
            };
            let passed = reader.copy_message_by(bytes, copying, |_, _, _| true)?;
            let came = passed.bytes.min(bytes as u64) as usize;
            return Ok(MessageInfo {
                number: passed.number,
                bytes: other
                    .as_ref()
                    .map_or(came, |other| other.converted_length(came)),
            });
        }
        // SAFETY: no byte is written.
        match unsafe { reader.read(ptr::dangling_mut(), 0) } {
            PollOutcome::Message => Ok(MessageInfo {
                number: self.lanes[lane].sequence_in_unpinnable_lane(),
                bytes,
            }),
            polled => Err(polled),
        }
    }

    /// Reserves pins, so that this reader can borrow `messages` messages at the same time, whatever
    /// other readers borrow.
    ///
    /// # Errors
    ///
    /// [`BorrowError`] if there are not enough pins. All readers together can hold at most half of
    /// a publisher's slots; without a publisher, each one can reserve as many as it has pins. If a
    /// publisher with fewer slots appears later, this reader loses the pins that are too many for
    /// that lane.
    pub fn reserve_borrows(&mut self, messages: u32) -> Result<(), BorrowError> {
        let place = self
            .place
            .clone()
            .ok_or_else(|| self.observer_borrow_error())?;
        loop {
            let error = if !self.can_borrow_from_all_lanes() {
                self.not_pinnable_error()
            } else if place.try_raise_pin_limit(messages, true, self.pinnable_slots) {
                return Ok(());
            } else {
                self.no_pins_error(&place)
            };
            if !self.try_exclude_ended_lanes() {
                return Err(error);
            }
        }
    }

    /// Returns true if the messages of every lane can be borrowed. WHY also without lanes: only the
    /// settings of publishers decide that, and those of the reader do not.
    fn can_borrow_from_all_lanes(&self) -> bool {
        let mut lanes = self.lanes.iter();
        lanes.all(|followed| followed.can_be_borrowed() || followed.has_ended)
    }

    fn not_pinnable_error(&self) -> BorrowError {
        BorrowError::NotPinnable {
            topic: self.segment.label(),
        }
    }

    /// Excludes the lanes that have no publisher and no unread message from the limits on
    /// borrowing. Returns true if this changes the limits.
    #[cold]
    fn try_exclude_ended_lanes(&mut self) -> bool {
        let was_limited_by = (self.can_borrow_from_all_lanes(), self.pinnable_slots);
        self.update_pinnable_slot_count(|_| true);
        (self.can_borrow_from_all_lanes(), self.pinnable_slots) != was_limited_by
    }

    /// Stores in `pinnable_slots` the number of slots of the shortest lane among those that allow
    /// pins and have not ended. A lane has ended if it has no publisher and no unread message.
    /// Checks this only for the lanes that `may_have_ended` selects, with a system call for each of
    /// them that has an owner; takes all others as not ended.
    pub(super) fn update_pinnable_slot_count(&mut self, may_have_ended: fn(&FollowedLane) -> bool) {
        for at in 0..self.lanes.len() {
            let has_ended = may_have_ended(&self.lanes[at]) && self.lane_has_ended(at);
            self.lanes[at].has_ended = has_ended;
        }
        self.pinnable_slots = self.slot_count_of_shortest_pinnable_lane();
    }

    /// Returns true if the lane at index `at` has no publisher, and no message that this reader has
    /// not read.
    fn lane_has_ended(&mut self, at: usize) -> bool {
        let followed = &mut self.lanes[at];
        let Ok(block) = self.segment.lane_block(followed.lane, Access::Read) else {
            return false;
        };
        // ORDERING(owner): pairs with the release in `owner::release_entry`: the messages of an
        // owner that left are seen below.
        let owner = Word::load(&block.owner, edge::OWNER_SEE);
        let is_owned = owner != 0 && !self.segment.is_dead(owner);
        // Relaxed: ordered by the line above.
        let is_newest = block.generation.get() == followed.extent.id.generation;
        !is_owned && is_newest && !followed.move_to_next_message()
    }

    fn no_pins_error(&self, place: &ReaderSlot) -> BorrowError {
        let topic = self.segment.label();
        BorrowError::NoPins {
            topic,
            held: place.pins_in_use(),
            capacity: self.pinnable_slots,
        }
    }

    /// Returns the error for an observer that tries to borrow a message. An observer has no reader
    /// slot, and therefore no pins.
    pub(super) fn observer_borrow_error(&self) -> BorrowError {
        BorrowError::Observer {
            topic: self.segment.label(),
        }
    }

    /// Borrows the next message of any lane in its slot. Polls the lanes in turn; never blocks.
    ///
    /// # Errors
    ///
    /// [`BorrowError`] if the message cannot be borrowed. The message is not lost then.
    pub fn borrow(&mut self) -> Result<Option<RawSample>, BorrowError> {
        if self.is_unusable() {
            return self.borrow_from_all_files();
        }
        self.look_for_lanes();
        let mut found = self.borrow_in_turn()?;
        while found.is_none() && self.leave_extents_read_to_end() {
            found = self.borrow_in_turn()?;
        }
        if found.is_none() {
            self.back_off_after_empty_poll();
        }
        Ok(found.map(|(held, pin)| self.make_sample(held, pin)))
    }

    /// Polls the lanes in turn, and protects the first message that it finds by a pin.
    #[inline]
    fn borrow_in_turn(&mut self) -> Result<Option<(HeldMessage, HeldPin)>, BorrowError> {
        let lanes = 0..self.lanes.len();
        self.call_with_claimed_pin(lanes, |this, pin| {
            let held = |this: &mut Self, lane| {
                let held = this.pin_or_copy_message(lane, pin, false)?;
                Ok((held.arrival, held))
            };
            let found = this.poll_lanes_in_turn(held).ok()?;
            (!this.is_unusable_after_access()).then_some(found)
        })
    }

    /// Borrows the next message of the lane at index `lane`; `None` if it has no unread message.
    pub(super) fn borrow_from_lane(
        &mut self,
        lane: usize,
    ) -> Result<Option<RawSample>, BorrowError> {
        let found = self.call_with_claimed_pin(lane..lane + 1, |this, pin| {
            let held = this.pin_or_copy_message(lane, pin, false).ok()?;
            this.count_received_message(lane, held.arrival);
            (!this.is_unusable_after_access()).then_some(held)
        })?;
        Ok(found.map(|(held, pin)| self.make_sample(held, pin)))
    }

    /// Pins the newest message of a lane in its slot. Older messages are counted as skipped, or as
    /// lost if they have already been overwritten.
    ///
    /// # Errors
    ///
    /// [`BorrowError`] if the message cannot be borrowed.
    pub(super) fn pin_latest_in_lane(
        &mut self,
        lane: usize,
    ) -> Result<Option<(MessageInfo, RawSample)>, BorrowError> {
        let found = self.call_with_claimed_pin(lane..lane + 1, |this, pin| {
            let held = this.pin_or_copy_message(lane, pin, true);
            this.wake_sleeping_publishers();
            held.ok()
        })?;
        Ok(found.map(|(held, pin)| (held.arrival, self.make_sample(held, pin))))
    }

    /// Protects the next message of a lane with the pin `pin`, or the newest message if
    /// `takes_latest` is true. The message stays in its slot, or is copied to private memory if
    /// missing fields have to be added.
    fn pin_or_copy_message(
        &mut self,
        lane: usize,
        pin: ReaderPin,
        takes_latest: bool,
    ) -> Result<HeldMessage, PollOutcome> {
        if self.lanes[lane].has_ended {
            return Err(PollOutcome::Empty);
        }
        if self.lanes[lane].other.is_some() {
            return self.copy_to_private_memory(lane, pin.pin, takes_latest);
        }
        let FollowedLane {
            reader,
            extent,
            shared,
            ..
        } = &mut self.lanes[lane];
        let pinned = if takes_latest {
            reader.pin_latest(pin)?
        } else {
            reader.pin_next(pin)?
        };
        let is_variable_length = extent.offer.shape.request().sized;
        let length = pinned.bytes.min(*shared as u64) as usize;
        let arrival = MessageInfo {
            number: pinned.number,
            bytes: if is_variable_length { length } else { *shared },
        };
        Ok(HeldMessage {
            arrival,
            address: reader.memory().slot_address(pinned.index),
            memory: SampleMemory::Extent(Arc::clone(extent)),
        })
    }

    /// Copies the next message of a lane, or the newest message if `takes_latest` is true, to the
    /// private memory of a pin, because missing fields have to be added to it.
    fn copy_to_private_memory(
        &mut self,
        lane: usize,
        pin: u32,
        takes_latest: bool,
    ) -> Result<HeldMessage, PollOutcome> {
        // WHY not the longest of all lanes: the lanes of other publishers may have grown far.
        let room = match self.sized {
            true => self.max_message_bytes_of(&self.lanes[lane]),
            false => self.longest,
        };
        let other = self.lanes[lane].other.as_mut();
        let copy = other.and_then(|other| other.memory_for_private_copy(pin, room));
        let (address, copies) = copy.ok_or(PollOutcome::Empty)?;
        // SAFETY: the copy has room for a message, and no sample has this pin.
        let arrival = unsafe { self.copy_from_lane(lane, address, room, takes_latest) }?;
        Ok(HeldMessage {
            arrival,
            address,
            memory: SampleMemory::PrivateMessageCopies(copies),
        })
    }

    /// Returns the number of slots of the shortest lane that has not ended and whose slots can be
    /// pinned; if there is none, the greatest number that a lane can have.
    fn slot_count_of_shortest_pinnable_lane(&self) -> u64 {
        let lanes = self.lanes.iter().filter(|followed| !followed.has_ended);
        let shapes = lanes.map(|followed| followed.extent.offer.shape);
        let slots = shapes.filter(|shape| shape.request().pinnable);
        let least = slots.map(|shape| shape.capacity()).min();
        least.unwrap_or(LANE_CAPACITY_MAX)
    }

    /// Builds the [`RawSample`] that a borrow returns, for a message that a pin of this reader
    /// protects.
    fn make_sample(&self, held: HeldMessage, pin: HeldPin) -> RawSample {
        let MessageInfo { number, bytes } = held.arrival;
        let bytes = if self.sized { bytes } else { self.longest };
        // SAFETY: the message is in that memory, with as many bytes as one of this reader has, and
        // held.
        unsafe { RawSample::new(held.address, (bytes, number), pin, held.memory) }
    }

    /// Claims a free pin, and calls `attempt` to protect a message of the lanes at the indices
    /// `lanes` by it. Returns the result of `attempt`, and the pin; `None` if `attempt` found no
    /// message. Calls `attempt` again with another pin if other readers have meanwhile lowered the
    /// number of messages that this reader may borrow.
    ///
    /// # Errors
    ///
    /// [`BorrowError`] if the messages cannot be borrowed, or if there is a message, but no pin.
    #[inline]
    fn call_with_claimed_pin<R>(
        &mut self,
        lanes: Range<usize>,
        mut attempt: impl FnMut(&mut Self, ReaderPin) -> Option<R>,
    ) -> Result<Option<(R, HeldPin)>, BorrowError> {
        let place = self
            .place
            .clone()
            .ok_or_else(|| self.observer_borrow_error())?;
        for _ in 0..PIN_ATTEMPTS_MAX {
            let pin = match self.claim_pin(&place, lanes.clone()) {
                Ok(Some(pin)) => pin,
                Ok(None) => return Ok(None),
                Err(_) if self.try_exclude_ended_lanes() => continue,
                Err(BorrowError::NoPins { .. }) if !self.move_to_next_message(lanes) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            let in_use = place.pins_in_use();
            let reader = place.index();
            let claimed = ReaderPin {
                reader,
                pin,
                in_use,
            };
            if let Some(found) = attempt(self, claimed) {
                return Ok(Some((found, (place, pin))));
            }
            release_pin(&place, pin);
            if in_use <= place.pin_limit(self.pinnable_slots) {
                return Ok(None);
            }
        }
        Err(self.no_pins_error(&place))
    }

    /// Moves this reader to the next message of each of the lanes at the indices `lanes`, up to the
    /// first one that has a message. Returns true if one has.
    fn move_to_next_message(&mut self, lanes: Range<usize>) -> bool {
        let has_message = self.lanes[lanes]
            .iter_mut()
            .any(FollowedLane::move_to_next_message);
        self.wake_sleeping_publishers();
        has_message
    }

    /// Claims a free pin of this reader. If the reader may not borrow one more message, raises the
    /// number of messages that it may borrow. Returns `None` if it would have to raise that number,
    /// but the lanes at the indices `lanes` have no message. WHY: otherwise readers that wait, and
    /// hold a message each, would take the same pins from one another all the time.
    #[inline]
    fn claim_pin(
        &self,
        place: &ReaderSlot,
        lanes: Range<usize>,
    ) -> Result<Option<u32>, BorrowError> {
        if !self.can_borrow_from_all_lanes() {
            return Err(self.not_pinnable_error());
        }
        let slots = self.pinnable_slots;
        let claim = || claim_free_pin(place.held_pin_mask(), place.pin_limit(slots));
        if let Some(pin) = claim() {
            return Ok(Some(pin));
        }
        let mut lanes = self.lanes[lanes].iter();
        if !lanes.any(|followed| followed.reader.has_message()) {
            return Ok(None);
        }
        // WHY again: another reader may lower the limit at once.
        for _ in 0..PIN_ATTEMPTS_MAX {
            if !place.try_raise_pin_limit(place.pins_in_use() + 1, false, slots) {
                break;
            }
            if let Some(pin) = claim() {
                return Ok(Some(pin));
            }
        }
        Err(self.no_pins_error(place))
    }
}

impl FollowedLane {
    /// Moves the reader to the next message, past skipped positions and lost messages, without
    /// reading it; does not move it if slots cannot be pinned. Returns false if there is none.
    fn move_to_next_message(&mut self) -> bool {
        if self.extent.offer.shape.request().pinnable {
            self.reader.move_to_next_message() != Err(PollOutcome::Empty)
        } else {
            self.reader.has_message()
        }
    }
}

/// A pin of this reader that protects a message: the reader's slot, and the number of the pin.
type HeldPin = (Arc<ReaderSlot>, u32);

/// A message that is protected by a pin of this reader, and the place where its bytes are.
struct HeldMessage {
    arrival: MessageInfo,
    address: *const u8,
    memory: SampleMemory,
}

/// Releases the pin with index `pin`, which no longer protects a message.
fn release_pin(place: &ReaderSlot, pin: u32) {
    if let Some(word) = place.pin_word(pin) {
        free_pin(place.held_pin_mask(), word, pin);
    }
}
