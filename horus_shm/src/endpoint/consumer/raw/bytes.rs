//! Receives messages as bytes, for callers that know the type or the length of messages only at run
//! time.

use super::{RawConsumer, ReadMode};
use crate::endpoint::sample::{BorrowError, RawSample};
use crate::protocol::copy::FAST_PATH_MESSAGE_BYTES;
use crate::protocol::lane::PollOutcome;
use crate::wait::WaitPolicy;

/// A function that returns a number for a message, such as its send time. Among the newest messages
/// of several publishers, the one with the greatest number is chosen.
pub type Key<'a> = &'a dyn Fn(&[u8]) -> u64;

impl RawConsumer {
    /// Returns the length in bytes of the longest message that a publisher can send now. The value
    /// grows when a publisher sends a longer message.
    #[inline]
    #[must_use]
    pub const fn max_bytes(&self) -> usize {
        self.longest
    }

    /// Returns the number of slots of the longest lane of this consumer.
    #[must_use]
    pub const fn longest_lane_slots(&self) -> u64 {
        self.lap
    }

    /// Prevents later receive calls from cutting messages, and returns the buffer length that they
    /// need now, [`Self::max_bytes`]. With a shorter buffer they return nothing.
    pub fn require_whole_messages(&mut self) -> usize {
        self.whole = true;
        if !self.is_unusable() {
            self.look_for_lanes();
        }
        self.longest
    }

    /// Sets whether receive calls may cut a message to the length of the caller's buffer. If
    /// `whole` is true, they must not: with a buffer shorter than [`Self::max_bytes`], they return
    /// nothing.
    #[inline]
    pub const fn set_requires_whole_messages(&mut self, whole: bool) {
        self.whole = whole;
    }

    /// Returns true if a buffer of `buffer_bytes` bytes is too small for the longest message, and
    /// messages must not be cut.
    #[inline(always)]
    pub(super) const fn would_cut_message(&self, buffer_bytes: usize) -> bool {
        self.whole && buffer_bytes < self.longest
    }

    /// Returns the maximum number of bytes that a receive call copies to a buffer of `buffer_bytes`
    /// bytes.
    #[inline(always)]
    const fn copied_bytes_max(&self, buffer_bytes: usize) -> usize {
        // WHY only if all messages have one length: a publisher may just have begun to send longer
        // ones, and a call limits the copy of a message of variable length by its lane's slots.
        if self.sized || buffer_bytes < self.longest {
            buffer_bytes
        } else {
            self.longest
        }
    }

    /// Copies the next message to the beginning of `buffer`, and returns its length; `None` if
    /// there is no message right now. A message that is longer than the buffer is cut to the
    /// buffer's length. Never blocks.
    #[inline(always)]
    pub fn recv_bytes(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let (buffer, bytes) = (buffer.as_mut_ptr(), self.copied_bytes_max(buffer.len()));
        let polled = if bytes == FAST_PATH_MESSAGE_BYTES {
            // SAFETY: the buffer is writable for that many bytes, which are at most the payload if
            // messages do not vary in length.
            unsafe { self.recv(buffer, FAST_PATH_MESSAGE_BYTES) }
        } else {
            // SAFETY: as above.
            unsafe { self.recv(buffer, bytes) }
        };
        (polled == PollOutcome::Message).then(|| self.last_message_bytes_in_buffer(bytes))
    }

    /// Receives as [`Self::recv_bytes`] does, but waits for a message until `wait_policy` ends.
    /// Blocks in the same way as [`Self::recv_until`].
    pub fn recv_bytes_until(
        &mut self,
        wait_policy: WaitPolicy,
        buffer: &mut [u8],
    ) -> Option<usize> {
        let bytes = self.copied_bytes_max(buffer.len());
        // SAFETY: as in `recv_bytes`.
        let polled = unsafe { self.recv_until(wait_policy, buffer.as_mut_ptr(), bytes) };
        (polled == PollOutcome::Message).then(|| self.last_message_bytes_in_buffer(bytes))
    }

    /// Copies the newest message that has not been received yet into one of two buffers, as
    /// [`Self::recv_bytes`] does. Returns the index of the buffer, and the length of the message.
    /// Older messages are counted as skipped, or as lost if they have already been overwritten.
    /// Never blocks.
    ///
    /// If there are several publishers, chooses the message with the greatest `key` among their
    /// newest ones.
    pub fn latest_bytes(
        &mut self,
        buffers: [&mut [u8]; 2],
        key: Key<'_>,
    ) -> Option<(usize, usize)> {
        let bytes = self.copied_bytes_max(buffers[0].len().min(buffers[1].len()));
        let read = |this: &mut Self, lane, best: Option<&(usize, usize)>| {
            // WHY here: the lanes, and their longest slots, are known only now.
            if this.would_cut_message(bytes) {
                return None;
            }
            let free = best.map_or(0, |(buffer, _)| 1 - buffer);
            let dst: *mut [u8] = &raw mut *buffers[free];
            // SAFETY: as in `recv_bytes`.
            let arrival = unsafe { this.copy_latest_of(lane, dst.cast(), bytes) }?;
            let length = if this.sized { arrival.bytes } else { bytes };
            Some((arrival, key(&buffers[free][..length]), (free, length)))
        };
        self.latest_among(bytes, read)
    }

    /// Borrows the newest message that has not been received yet, as [`Self::borrow`] does. Counts
    /// older messages, and chooses between several publishers, as [`Self::latest_bytes`] does.
    /// Never blocks.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::borrow`].
    pub fn borrow_latest(&mut self, key: Key<'_>) -> Result<Option<RawSample>, BorrowError> {
        if self.read_mode() == ReadMode::Observer {
            return Err(self.observer_borrow_error());
        }
        let mut refused: Option<(BorrowError, u64)> = None;
        let found = self.latest_among(usize::MAX, |this, lane, _| {
            let file = this.segment.file_number();
            // WHY only in later files: they may have newer messages of the same publisher, and the
            // one that cannot be held is received later.
            if refused
                .as_ref()
                .is_some_and(|(_, in_file)| *in_file != file)
            {
                return None;
            }
            // WHY: without a second pin the other lanes are not compared, and stay unread.
            let held = this
                .pin_latest_in_lane(lane)
                .map_err(|error| refused = Some((error, file)));
            let (arrival, sample) = held.ok().flatten()?;
            Some((arrival, key(sample.bytes()), sample))
        });
        match (found, refused) {
            (None, Some((error, _))) => Err(error),
            (found, _) => Ok(found),
        }
    }
}
