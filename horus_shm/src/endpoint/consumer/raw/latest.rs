//! Reads only the newest message, and skips the older ones.

use super::{MessageInfo, RawConsumer};
use crate::protocol::lane::PollOutcome;

impl RawConsumer {
    /// Copies the newest message of a lane into `dst`, and skips the older ones. `lane` is an index
    /// into the list of mapped lanes.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    #[inline(always)]
    pub(in crate::endpoint::consumer) unsafe fn copy_latest_of(
        &mut self,
        lane: usize,
        dst: *mut u8,
        bytes: usize,
    ) -> Option<MessageInfo> {
        let found = if self.in_place {
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            unsafe { self.copy_from_lane(lane, dst, bytes, true) }.ok()
        } else {
            let reader = &mut self.lanes[lane].reader;
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            let polled = unsafe { reader.read_latest(dst, bytes) };
            (polled == PollOutcome::Message).then(|| MessageInfo {
                number: reader.position(),
                bytes,
            })
        };
        self.wake_sleeping_publishers();
        found
    }

    /// Returns the message with the greatest [`Key`](super::bytes::Key) among the newest messages
    /// of all lanes, as `read` has returned it. Calls `read` for each lane, with the best message
    /// so far, whose buffer `read` must not overwrite. `read` takes at most `bytes` bytes of the
    /// lane's newest message, and returns its metadata, its key and the message itself. The
    /// messages that are not chosen are counted as skipped.
    #[inline(always)]
    pub(in crate::endpoint::consumer) fn latest_among<M>(
        &mut self,
        bytes: usize,
        read: impl FnMut(&mut Self, usize, Option<&M>) -> Option<(MessageInfo, u64, M)>,
    ) -> Option<M> {
        if self.is_unusable() {
            if !self.is_reading_former_files() || self.segment.fault_epoch_if_usable().is_err() {
                return None;
            }
            return self.read_latest_from_all_files(bytes, read);
        }
        self.read_latest_in_current_file(read)
    }

    /// Returns the newest message of this reader's current file. Otherwise the same as
    /// [`Self::latest_among`].
    #[inline(always)]
    pub(super) fn read_latest_in_current_file<M>(
        &mut self,
        read: impl FnMut(&mut Self, usize, Option<&M>) -> Option<(MessageInfo, u64, M)>,
    ) -> Option<M> {
        self.look_for_lanes();
        self.read_latest_of_known_lanes(read)
    }

    /// Returns the newest message of the lanes that this reader has found so far. Otherwise the
    /// same as [`Self::read_latest_in_current_file`].
    #[inline(always)]
    pub(super) fn read_latest_of_known_lanes<M>(
        &mut self,
        mut read: impl FnMut(&mut Self, usize, Option<&M>) -> Option<(MessageInfo, u64, M)>,
    ) -> Option<M> {
        if self.has_later {
            self.skip_ended_extents();
        }
        let mut best = None;
        let mut of_best = None;
        for lane in 0..self.lanes.len() {
            let Some((arrival, key, message)) = read(self, lane, best.as_ref()) else {
                continue;
            };
            if of_best.is_some_and(|(_, _, best)| best > key) {
                self.count_last_read_as_skipped(lane);
                continue;
            }
            best = Some(message);
            if let Some((passed, ..)) = of_best.replace((lane, arrival, key)) {
                self.count_last_read_as_skipped(passed);
            }
        }
        let Some((lane, arrival, _)) = of_best else {
            // WHY: as after an empty poll of `recv`.
            std::hint::spin_loop();
            return None;
        };
        self.count_received_message(lane, arrival);
        best.filter(|_| self.confirm_copied_message() == PollOutcome::Message)
    }

    /// Counts as skipped the message that [`Self::copy_latest_of`] has just read from the lane at
    /// index `lane`, because a newer message is delivered instead.
    fn count_last_read_as_skipped(&mut self, lane: usize) {
        self.lanes[lane].reader.count_last_read_as_skipped();
    }
}
