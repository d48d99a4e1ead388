//! Writes messages in place: loans, and slots that are not overwritten while readers use them.

use std::ptr::NonNull;
use std::sync::Arc;

use super::{RawLane, RawProducer};
use crate::endpoint::loan::{LoanError, RawLoan};
use crate::endpoint::producer::SendError;
use crate::file::extent::Extent;
use crate::os::fault;
use crate::os::futex::monotonic_time;
use crate::os::region::Region;
use crate::protocol::lane::{LaneWriter, NoRoom, SlotBlocked};
use crate::protocol::memory::LaneMemory;
use crate::protocol::telemetry;
use crate::wait::WaitPolicy;

/// A slot that the writer has claimed for its next message, and in which no message is published
/// yet.
struct TakenSlot {
    index: u64,
    /// True if no reader is copying a message out of this slot. Only then may the caller write to
    /// the slot with ordinary stores.
    is_alone: bool,
}

/// Private memory for a loan, used if a reader may be copying from the loan's slot, either without
/// a pin or under a pin that the writer had to ignore. When the loan is published, its content is
/// copied into the slot.
///
/// WHY: the caller writes a loan with ordinary stores. These must not race with a reader's loads,
/// even if the reader discards what it loads.
#[derive(Debug, Default)]
pub(super) struct PrivateLoanMemory {
    /// The private memory of the latest loan that used some. The next such loan uses it again if
    /// nobody holds it any more. `None` if no loan has used private memory yet. Each open
    /// [`LoanMemory`] refers to it too, so that it can outlive the producer.
    memory: Option<Arc<Region>>,
    /// Position of the loan in the lane, and index of its slot; `None` if there is no open loan, or
    /// if it does not use private memory.
    slot: Option<(u64, u64)>,
    /// Position of the last loan in the lane, also if it did not use private memory; `None` before
    /// the first loan.
    loan_position: Option<u64>,
}

impl PrivateLoanMemory {
    /// Returns the address of `bytes` bytes of private memory for a new loan. `bytes` must be the
    /// same in every call.
    fn memory_for_new_loan(&mut self, bytes: u64) -> *mut u8 {
        // WHY not if it is shared: that loan is over, but may still be read.
        let memory = self
            .memory
            .take()
            .filter(|memory| Arc::strong_count(memory) == 1);
        let memory = memory.unwrap_or_else(|| Arc::new(Region::heap(bytes as usize)));
        self.memory.insert(memory).address()
    }
}

/// A guard that keeps the memory of a loan alive, even after its publisher has been dropped.
#[derive(Debug)]
pub struct LoanMemory {
    _extent: Arc<Extent>,
    _apart: Option<Arc<Region>>,
}

impl RawProducer {
    /// Writes a message as [`Self::send`] does, into a slot that no reader has pinned.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::send`].
    pub(super) unsafe fn write_in_place(
        &mut self,
        src: *const u8,
        bytes: usize,
    ) -> Result<(), NoRoom> {
        let TakenSlot { index, .. } = self.take_free_slot()?;
        // SAFETY: `src` is readable for `bytes`, at most the payload, by the contract; the slot is
        // this producer's until it is committed.
        unsafe { self.writer.memory().store_exclusive(index, src, bytes) };
        self.publish_slot(bytes as u64);
        Ok(())
    }

    /// Claims the next slot that no reader has pinned. If all slots are pinned, claims one that is
    /// pinned only while a reader copies it.
    fn take_free_slot(&mut self) -> Result<TakenSlot, NoRoom> {
        for is_alone in [true, false] {
            // Up to this position, skips lead to a slot that was found free.
            let mut free = self.writer.position();
            // WHY a limit: a reader may pin a slot that was free when this looked.
            for _ in 0..self.extent.offer.shape.capacity() {
                match self.claim_next_slot(is_alone) {
                    Ok(index) => return Ok(TakenSlot { index, is_alone }),
                    Err(SlotBlocked::NoRoom) => return Err(NoRoom),
                    // WHY: a loan gave the slot out, so it stays the next one. A reader that still
                    // copies from it has lost that message.
                    Err(SlotBlocked::Pinned { .. }) if self.is_next_slot_given_out() => break,
                    Err(SlotBlocked::Pinned { .. }) => {}
                }
                if free <= self.writer.position() {
                    let Some(position) = self.find_free_position(is_alone)? else {
                        break;
                    };
                    free = position;
                }
                self.writer.skip_pinned_position();
            }
        }
        // Every slot is borrowed: the file is damaged, or a reader is stopped just after it has
        // pinned a message, and before it takes the pin back because others hold the rest.
        Err(NoRoom)
    }

    /// Returns true if a loan gave out the slot of the next position, and was not published.
    fn is_next_slot_given_out(&self) -> bool {
        self.apart.loan_position == Some(self.writer.position())
    }

    /// Returns the first position after the next one whose slot is not pinned; `None` if all slots
    /// of the lane are pinned. The next position may be skipped only if there is such a position.
    ///
    /// # Errors
    ///
    /// [`NoRoom`] if the positions up to the unread messages of gated readers are all pinned. WHY
    /// they must not be skipped: readers that then release the messages would leave no room, until
    /// other messages are read.
    fn find_free_position(&mut self, excludes_copied_slots: bool) -> Result<Option<u64>, NoRoom> {
        let next = self.writer.position();
        let end = self.writer.room_end();
        let free = (next + 1..end).find(|&position| {
            self.retry_without_dead_readers(|writer| {
                writer.check_not_pinned(position, excludes_copied_slots)
            })
            .is_ok()
        });
        let is_cut = end < next + self.extent.offer.shape.capacity();
        if free.is_none() && is_cut {
            return Err(NoRoom);
        }
        Ok(free)
    }

    /// Claims the next slot, also if a dead reader has pinned it. If `excludes_copied_slots` is
    /// false, also if a reader has pinned it only for a copy.
    fn claim_next_slot(&mut self, excludes_copied_slots: bool) -> Result<u64, SlotBlocked> {
        let claim = if excludes_copied_slots {
            LaneWriter::claim_slot
        } else {
            LaneWriter::claim_slot_pinned_for_copies
        };
        self.retry_without_dead_readers(claim)
    }

    /// Calls `attempt`, and calls it again as long as a dead reader has pinned the slot.
    fn retry_without_dead_readers<R>(
        &mut self,
        mut attempt: impl FnMut(&mut LaneWriter<RawLane>) -> Result<R, SlotBlocked>,
    ) -> Result<R, SlotBlocked> {
        let mut outcome = attempt(&mut self.writer);
        // WHY a limit: every reader may be dead, and the pins are input.
        for _ in 0..self.segment.shape().reader_limit() {
            let Err(SlotBlocked::Pinned { reader }) = outcome else {
                break;
            };
            if !self.releases_pins_of_dead_reader(reader) {
                break;
            }
            outcome = attempt(&mut self.writer);
        }
        outcome
    }

    /// Publishes the slot that [`Self::take_free_slot`] returned, as a message of `bytes` bytes.
    fn publish_slot(&mut self, bytes: u64) {
        let pos = self.writer.position();
        if telemetry::is_latency_sampled(pos) {
            telemetry::record_publication_time(self.writer.memory().block(), pos, monotonic_time);
        }
        self.writer.publish_claimed_slot(bytes);
        self.remove_obsolete_extents_if_due();
    }

    /// Lends the next slot to the caller, who writes a message into it.
    ///
    /// Wait-free, except that it may check whether a reader is alive, and check the readers' pins.
    /// Only one loan can exist at a time.
    ///
    /// # Errors
    ///
    /// [`LoanError`] if no slot can be lent.
    pub fn loan(&mut self) -> Result<RawLoan<'_>, LoanError> {
        let address = self.take_slot_for_loan()?;
        Ok(RawLoan::new(self, address))
    }

    /// Lends a slot of at least `bytes` bytes; calls [`Self::reserve`] first. Waits for room in the
    /// lane until `wait_policy` ends. Blocks in the same way as [`Self::send_until`].
    ///
    /// # Errors
    ///
    /// [`LoanError`] if no slot can be lent; [`LoanError::Full`] only after the wait.
    pub fn loan_until(
        &mut self,
        wait_policy: WaitPolicy,
        bytes: u64,
    ) -> Result<RawLoan<'_>, LoanError> {
        let address = self.retry_until_room(wait_policy, LoanError::is_full, |this| {
            this.reserve(bytes)?;
            this.take_slot_for_loan()
        })?;
        Ok(RawLoan::new(self, address))
    }

    /// Waits until [`Self::loan`] can lend a slot of at least `bytes` bytes, or until `wait_policy`
    /// ends, as a part of a wait that the caller divides. Reserves and blocks as
    /// [`Self::loan_until`] does, and leaves the count of refused sends to the caller, as
    /// [`Self::send_bytes_uncounted`] does.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::loan_until`].
    pub fn wait_for_slot_uncounted(
        &mut self,
        wait_policy: WaitPolicy,
        bytes: u64,
    ) -> Result<(), LoanError> {
        self.retry_without_counting_refusal(wait_policy, &LoanError::is_full, |this| {
            this.reserve(bytes)?;
            this.take_slot_for_loan()
        })?;
        Ok(())
    }

    /// Lends the next slot until [`Self::publish_lent`] or any other send. Meant for callers that
    /// cannot keep a value that borrows this producer, as [`Self::loan`] returns. Until then, no
    /// other code writes the slot. After that, and after this producer is dropped, the memory may
    /// only be read, and only while the value of [`Self::lent_memory`] is kept.
    ///
    /// # Errors
    ///
    /// [`LoanError`] if no slot can be lent.
    pub fn lend(&mut self) -> Result<NonNull<[u8]>, LoanError> {
        let address = self.take_slot_for_loan()?;
        self.lent = Some(self.writer.position());
        let bytes = self.slot_bytes as usize;
        let slot = NonNull::new(std::ptr::slice_from_raw_parts_mut(address, bytes));
        slot.ok_or_else(|| LoanError::RegionLost {
            topic: self.segment.label(),
        })
    }

    /// Returns a guard that keeps the memory of the open loan alive. If no loan is open, this is
    /// the memory of the last loan, or, if the lane has grown since, that of the new slots.
    #[must_use]
    pub fn lent_memory(&self) -> LoanMemory {
        LoanMemory {
            _extent: Arc::clone(&self.extent),
            _apart: self.apart.memory.clone(),
        }
    }

    /// Publishes the first `bytes` bytes of the lent slot as a message, or the whole slot if
    /// `bytes` is larger.
    ///
    /// # Errors
    ///
    /// [`LoanError::Ended`] if no slot is lent, or if a message was sent since it was lent;
    /// [`LoanError::Forked`] or [`LoanError::RegionLost`] if this producer is unusable.
    pub fn publish_lent(&mut self, bytes: usize) -> Result<(), LoanError> {
        if self.lent.take() != Some(self.writer.position()) {
            return Err(LoanError::Ended {
                topic: self.segment.label(),
            });
        }
        Ok(self.publish_loan((bytes as u64).min(self.slot_bytes))?)
    }

    /// Ends the loan that [`Self::lend`] began without publishing a message. Returns true if a loan
    /// was open.
    pub const fn discard_lent(&mut self) -> bool {
        self.lent.take().is_some()
    }

    /// Claims the next slot, and returns its address. Until a message is sent, further calls return
    /// the same slot.
    fn take_slot_for_loan(&mut self) -> Result<*mut u8, LoanError> {
        if fault::fault_epoch() != self.seen_epoch {
            self.check_health_and_move()?;
        }
        if !self.in_place {
            return Err(LoanError::NotPinnable {
                topic: self.segment.label(),
            });
        }
        let TakenSlot { index, is_alone } = match self.take_free_slot() {
            Ok(taken) => taken,
            Err(NoRoom) => self.make_room_and_retry(Self::take_free_slot)?,
        };
        self.apart.loan_position = Some(self.writer.position());
        self.check_file_not_truncated()?;
        if is_alone && !self.segment.has_observers() {
            self.apart.slot = None;
            return Ok(self.writer.memory().slot_address(index));
        }
        self.apart.slot = Some((self.writer.position(), index));
        Ok(self.apart.memory_for_new_loan(self.slot_bytes))
    }

    /// Publishes the first `bytes` bytes of the lent slot as a message, and thereby ends the loan.
    pub(crate) fn publish_loan(&mut self, bytes: u64) -> Result<(), SendError<()>> {
        self.check_file_not_truncated()?;
        if let Some((position, index)) = self.apart.slot.take()
            && position == self.writer.position()
            && let Some(memory) = &self.apart.memory
        {
            let src = memory.address();
            // SAFETY: the memory apart has the length of a payload, which is not less than `bytes`;
            // the slot is this producer's until it is committed.
            unsafe {
                self.writer
                    .memory()
                    .store_exclusive(index, src, bytes as usize)
            };
        }
        self.publish_slot(bytes);
        self.wake_readers();
        self.check_file_not_truncated()
    }
}
