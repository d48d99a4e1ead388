//! Reading the newest message only.

use super::{MessageInfo, RawConsumer};
use crate::protocol::lane::PollOutcome;

impl RawConsumer {
    /// Copies the newest message of a lane into `dst`, and skips the older ones. `lane` is the
    /// lane's index in the order of discovery.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
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
        self.wake_publishers_that_sleep();
        found
    }

    /// Takes the newest message of all lanes. `read` is called for each lane with the best message
    /// so far, and returns the lane's newest message with a key; the greatest key wins. The others
    /// count as skipped.
    #[inline(always)]
    pub(in crate::endpoint::consumer) fn latest_among<M>(
        &mut self,
        mut read: impl FnMut(&mut Self, usize, Option<&M>) -> Option<(MessageInfo, u64, M)>,
    ) -> Option<M> {
        if self.is_unusable() {
            if !self.is_draining() || self.segment.check_health().is_err() {
                return None;
            }
            if let Some(message) = self.latest_of_former(&mut read) {
                return Some(message);
            }
        }
        self.latest_in_present_file(read)
    }

    /// Takes as [`Self::latest_among`] does, from the present file only.
    #[inline(always)]
    pub(super) fn latest_in_present_file<M>(
        &mut self,
        mut read: impl FnMut(&mut Self, usize, Option<&M>) -> Option<(MessageInfo, u64, M)>,
    ) -> Option<M> {
        self.look_for_lanes();
        if self.has_later {
            self.skip_former();
        }
        let mut best = None;
        let mut of_best = None;
        for lane in 0..self.lanes.len() {
            let Some((arrival, key, message)) = read(self, lane, best.as_ref()) else {
                continue;
            };
            if of_best.is_some_and(|(_, _, best)| best > key) {
                self.count_as_skipped(lane);
                continue;
            }
            best = Some(message);
            if let Some((passed, ..)) = of_best.replace((lane, arrival, key)) {
                self.count_as_skipped(passed);
            }
        }
        let Some((lane, arrival, _)) = of_best else {
            // WHY: as after an empty poll of `recv`.
            std::hint::spin_loop();
            return None;
        };
        self.count_received(lane, arrival);
        best.filter(|_| self.confirm_message() == PollOutcome::Message)
    }

    /// Counts the message that [`Self::copy_latest_of`] just read from a lane as skipped.
    fn count_as_skipped(&mut self, lane: usize) {
        self.lanes[lane].reader.count_read_as_skipped();
    }
}
