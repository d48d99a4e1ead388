//! Reading messages in their slots: copies under a pin, and borrowed messages.

use std::ptr;
use std::sync::Arc;

use super::{Arrival, Followed, RawConsumer};
use crate::endpoint::reader_slot::{COPY_PIN, ReaderSlot};
use crate::endpoint::sample::{BorrowError, RawSample, SampleMemory};
use crate::protocol::lane::{CopyOptions, PollOutcome, claim_free_pin, free_pin};
use crate::protocol::layout::CAPACITY_MIN;

impl RawConsumer {
    /// Polls each lane of a pinnable topic once, in turn: the poll of [`Self::recv`].
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    pub(super) unsafe fn poll_in_place(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
        let attempt = |this: &mut Self, lane| unsafe { this.copy_of(lane, dst, bytes, false) };
        let found = self.turn(|this, lane| Ok((attempt(this, lane)?, ())));
        found.err().unwrap_or(PollOutcome::Message)
    }

    /// Calls `attempt` for each lane once, in turn, until one returns a message, and counts that as
    /// received.
    fn turn<R>(
        &mut self,
        mut attempt: impl FnMut(&mut Self, usize) -> Result<(Arrival, R), PollOutcome>,
    ) -> Result<R, PollOutcome> {
        let mut nothing = PollOutcome::Empty;
        for look in 0..self.looks() {
            let lane = self.lane_to_look_at(look);
            match attempt(self, lane) {
                Ok((arrival, found)) => {
                    self.count_received(lane, arrival);
                    return Ok(found);
                }
                Err(PollOutcome::Busy) => nothing = PollOutcome::Busy,
                Err(_) => {}
            }
            self.wake_publishers_that_sleep();
        }
        Err(nothing)
    }

    /// Copies the next message of a lane, or its newest one if `latest`, into `dst`. The copy is
    /// made under a pin: writers do not use the slot while they have another one.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    pub(super) unsafe fn copy_of(
        &mut self,
        lane: usize,
        dst: *mut u8,
        bytes: usize,
        latest: bool,
    ) -> Result<Arrival, PollOutcome> {
        let pin = self.place.as_ref().map(|place| (place.index(), COPY_PIN));
        let wanted = bytes;
        let Followed {
            reader,
            extent,
            shared,
            other,
            ..
        } = &mut self.lanes[lane];
        let shape = extent.offer.shape.request();
        let bytes = bytes.min(*shared);
        if !shape.pinnable {
            let polled = if latest {
                // SAFETY: `dst` is writable for `bytes`, at most the payload of this lane.
                unsafe { reader.read_latest(dst, bytes) }
            } else {
                // SAFETY: as above.
                unsafe { reader.read(dst, bytes) }
            };
            let number = reader.position();
            if polled != PollOutcome::Message {
                return Err(polled);
            }
            if let Some(other) = other {
                // SAFETY: `dst` is writable for `wanted` bytes by the contract.
                unsafe { other.complete(dst, wanted, bytes) };
            }
            return Ok(Arrival { number, bytes });
        }
        let sized = shape.sized;
        let copying = CopyOptions { latest, sized, pin };
        let copied = if pin.is_some() {
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            unsafe { reader.copy_message(dst, bytes, copying) }?
        } else {
            // SAFETY: `dst` is writable for `bytes` by the contract; no more than `bytes` are
            // copied.
            let load = |_: &_, index, bytes| unsafe { extent.copy_slot(index, dst, bytes) };
            reader.copy_message_by(bytes, copying, load)?
        };
        let number = copied.number;
        let came = copied.bytes.min(bytes as u64) as usize;
        let bytes = match other {
            // SAFETY: `dst` is writable for `wanted` bytes by the contract.
            Some(other) => unsafe { other.complete(dst, wanted, came) },
            None => came,
        };
        Ok(Arrival { number, bytes })
    }

    /// Receives the next message of any lane without copying it, from the lanes in turn, and
    /// returns its length in bytes. Never blocks.
    pub fn recv_length(&mut self) -> Option<usize> {
        if self.is_unusable() {
            return self.recv_length_draining();
        }
        self.look_for_lanes();
        let found = self.turn(|this, lane| Ok((this.pass_next(lane)?, ())));
        if found.is_err() {
            self.rested = self.received;
            self.spin_back_off();
            return None;
        }
        (self.confirmed() == PollOutcome::Message).then(|| self.length(self.longest))
    }

    /// Passes over the next message of a lane, as [`Self::copy_of`] does, but copies nothing.
    pub(super) fn pass_next(&mut self, lane: usize) -> Result<Arrival, PollOutcome> {
        let Followed {
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
            return Ok(Arrival {
                number: passed.number,
                bytes: other.as_ref().map_or(came, |other| other.length(came)),
            });
        }
        // SAFETY: no byte is written.
        match unsafe { reader.read(ptr::dangling_mut(), 0) } {
            PollOutcome::Message => Ok(Arrival {
                number: reader.position(),
                bytes,
            }),
            polled => Err(polled),
        }
    }

    /// Reserves pins so that `messages` messages can be borrowed at a time.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]. All readers together can hold at most half of a publisher's slots. If this
    /// reader meets a publisher with fewer slots later, it loses pins that are too many beside it.
    pub fn reserve_borrows(&mut self, messages: u32) -> Result<(), BorrowError> {
        if !self.is_pinnable() {
            return Err(BorrowError::NotPinnable {
                topic: self.segment.label(),
            });
        }
        let place = self.place.as_ref().ok_or_else(|| self.not_announced())?;
        place
            .reserve_pins(messages, self.pinnable_slots)
            .map_err(|_| self.no_pins(place))
    }

    /// Returns true if messages of all lanes can be borrowed.
    fn is_pinnable(&self) -> bool {
        let mut lanes = self.lanes.iter();
        if self.lanes.is_empty() {
            let offer = self.segment.request().offer();
            return offer.is_ok_and(|offer| offer.shape.request().pinnable);
        }
        // WHY also shorter ones: they are borrowed as private copies.
        lanes.all(|followed| {
            followed.extent.offer.shape.request().pinnable || followed.other.is_some()
        })
    }

    fn no_pins(&self, place: &ReaderSlot) -> BorrowError {
        let topic = self.segment.label();
        BorrowError::NoPins {
            topic,
            held: place.pins_in_use(),
            capacity: self.pinnable_slots,
        }
    }

    /// Returns the error of an observer, which has no slot for pins.
    pub(super) fn not_announced(&self) -> BorrowError {
        BorrowError::Observer {
            topic: self.segment.label(),
        }
    }

    /// Borrows the next message of any lane, in its slot, from the lanes in turn. Never blocks.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; no message is lost then.
    pub fn borrow(&mut self) -> Result<Option<RawSample>, BorrowError> {
        if self.is_unusable() {
            return self.borrow_draining();
        }
        self.look_for_lanes();
        let (place, pin) = self.free_pin()?;
        let held = |this: &mut Self, lane| {
            let held = this.hold(lane, (&place, pin), false)?;
            Ok((held.arrival, held))
        };
        let found = self.turn(held);
        if let Ok(held) = found
            && !self.became_unusable()
        {
            return Ok(Some(self.sample(held, (place, pin))));
        }
        give_back(&place, pin);
        self.spin_back_off();
        Ok(None)
    }

    /// Borrows the next message of a lane, as [`Self::borrow`] does.
    pub(super) fn borrow_from(&mut self, lane: usize) -> Result<Option<RawSample>, BorrowError> {
        let (place, pin) = self.free_pin()?;
        if let Ok(held) = self.hold(lane, (&place, pin), false) {
            self.count_received(lane, held.arrival);
            if !self.became_unusable() {
                return Ok(Some(self.sample(held, (place, pin))));
            }
        }
        give_back(&place, pin);
        Ok(None)
    }

    /// Pins the newest message of a lane in its slot; the ones before it count as skipped, or as
    /// lost if they are overwritten already.
    ///
    /// # Errors
    ///
    /// [`BorrowError`].
    pub(super) fn hold_latest_of(
        &mut self,
        lane: usize,
    ) -> Result<Option<(Arrival, RawSample)>, BorrowError> {
        let (place, pin) = self.free_pin()?;
        let held = self.hold(lane, (&place, pin), true);
        self.wake_publishers_that_sleep();
        let Ok(held) = held else {
            give_back(&place, pin);
            return Ok(None);
        };
        Ok(Some((held.arrival, self.sample(held, (place, pin)))))
    }

    /// Holds the next message of a lane, or its newest one if `latest`, under the given pin: in its
    /// slot, or as a private copy if this reader has to complete it with defaults.
    fn hold(
        &mut self,
        lane: usize,
        (place, pin): (&ReaderSlot, u32),
        latest: bool,
    ) -> Result<Held, PollOutcome> {
        let other = self.lanes[lane].other.as_ref();
        if let Some((copy, copies)) = other.and_then(|other| other.private_copy(pin, self.longest))
        {
            // SAFETY: the copy has room for a message, and no sample has this pin.
            let arrival = unsafe { self.copy_of(lane, copy, self.longest, latest) }?;
            return Ok(Held {
                arrival,
                address: copy,
                memory: SampleMemory::Copies(copies),
            });
        }
        let Followed {
            reader,
            extent,
            shared,
            ..
        } = &mut self.lanes[lane];
        let pinned = if latest {
            reader.pin_latest(place.index(), pin)?
        } else {
            reader.pin_next(place.index(), pin)?
        };
        let is_sized = extent.offer.shape.request().sized;
        let length = pinned.bytes.min(*shared as u64) as usize;
        let arrival = Arrival {
            number: pinned.number,
            bytes: if is_sized { length } else { *shared },
        };
        Ok(Held {
            arrival,
            address: reader.memory().slot_address(pinned.index),
            memory: SampleMemory::Extent(Arc::clone(extent)),
        })
    }

    /// Returns the number of slots of the shortest lane whose slots can be pinned, or of a lane
    /// that this process would offer.
    pub(super) fn least_pinnable_slots(&self) -> u64 {
        let shapes = self
            .lanes
            .iter()
            .map(|followed| followed.extent.offer.shape);
        let slots = shapes.filter(|shape| shape.request().pinnable);
        let own = || {
            self.segment
                .request()
                .offer()
                .map(|offer| offer.shape.capacity())
        };
        let least = slots.map(|shape| shape.capacity()).min();
        least.or_else(|| own().ok()).unwrap_or(CAPACITY_MIN)
    }

    /// Returns the message that a pin of this reader holds.
    fn sample(&self, held: Held, pin: (Arc<ReaderSlot>, u32)) -> RawSample {
        let Arrival { number, bytes } = held.arrival;
        let bytes = if self.sized { bytes } else { self.longest };
        // SAFETY: the message is in that memory, with as many bytes as one of this reader has, and
        // held.
        unsafe { RawSample::new(held.address, (bytes, number), pin, held.memory) }
    }

    /// Takes a free pin for a message to be borrowed; reserves one more if there is none, or if the
    /// pins were reserved before this reader met its shortest lane.
    fn free_pin(&mut self) -> Result<(Arc<ReaderSlot>, u32), BorrowError> {
        if !self.is_pinnable() {
            return Err(BorrowError::NotPinnable {
                topic: self.segment.label(),
            });
        }
        let place = self.place.clone().ok_or_else(|| self.not_announced())?;
        let slots = self.pinnable_slots;
        let take = || claim_free_pin(place.held(), place.pin_limit(slots));
        let pin = match take() {
            Some(pin) => pin,
            None => {
                self.reserve_borrows(place.pins_in_use() + 1)?;
                take().ok_or_else(|| self.no_pins(&place))?
            }
        };
        Ok((place, pin))
    }
}

/// A message that a pin of this reader holds.
struct Held {
    arrival: Arrival,
    address: *const u8,
    memory: SampleMemory,
}

/// Gives back a pin under which no message is held.
fn give_back(place: &ReaderSlot, pin: u32) {
    if let Some(word) = place.pin(pin) {
        free_pin(place.held(), word, pin);
    }
}
