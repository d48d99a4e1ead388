//! Counts the messages of a lane that a reader has not yet read, lost or skipped.

/// The numbers of unread messages of a lane at one moment: messages that the reader can still read,
/// and messages that are lost. The result of [`Self::of_positions`] counts positions instead;
/// [`Self::of_messages`] converts it to messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnreadCounts {
    /// Number of unread messages that the reader can still read.
    pub waiting: u64,
    /// Number of unread messages that were overwritten, or that the reader would skip because they
    /// will be overwritten next.
    pub lost: u64,
}

impl UnreadCounts {
    /// Returns how many of the positions from `next` up to, but not including, `end` can still be
    /// read, and how many are lost. `end` is the next position to be written, in an extent (file of
    /// slots) with `capacity` slots.
    #[must_use]
    pub const fn of_positions(next: u64, end: u64, capacity: u64) -> Self {
        let unread = end.saturating_sub(next);
        let waiting = if unread <= capacity {
            unread
        } else {
            lapped_reader_distance(capacity)
        };
        Self {
            waiting,
            lost: unread - waiting,
        }
    }

    /// Converts counts of positions to counts of the `messages` messages at these positions: at
    /// most [`Self::waiting`] messages can still be read, and the others are lost. There are fewer
    /// messages than positions if some positions are skips.
    #[must_use]
    pub const fn of_messages(self, messages: u64) -> Self {
        let waiting = if self.waiting < messages {
            self.waiting
        } else {
            messages
        };
        Self {
            waiting,
            lost: messages - waiting,
        }
    }

    /// Returns the counts of a reader that can no longer access the slots: all unread messages are
    /// lost.
    #[must_use]
    pub const fn all_lost(self) -> Self {
        Self {
            waiting: 0,
            lost: self.waiting.saturating_add(self.lost),
        }
    }

    /// Returns the sums of two counts, such as those of two extents (files of slots) of a lane.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            waiting: self.waiting.saturating_add(other.waiting),
            lost: self.lost.saturating_add(other.lost),
        }
    }
}

/// A jump: the move of a reader to the newest message, which skips the older ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct JumpToNewest {
    /// The reader's position before it moved to the newest message.
    pub(super) start: u64,
    /// The position after the newest message, as it was when the reader moved.
    pub(super) head: u64,
}

impl JumpToNewest {
    /// The value for a reader that does not jump: it wants the next message, so each message that
    /// it does not receive is lost.
    pub(super) const NONE: Self = Self { start: 0, head: 0 };

    /// Returns the reader's position before the jump; `None` if the reader does not jump.
    pub(super) fn start(self) -> Option<u64> {
        (self.head > 0).then_some(self.start)
    }
}

/// Returns the distance in positions between the head and the position at which a reader continues
/// after the writer has lapped it (overwritten its next message). WHY less than the capacity: the
/// writer will overwrite the oldest positions next.
#[must_use]
pub const fn lapped_reader_distance(capacity: u64) -> u64 {
    let margin = if capacity / 8 > 2 { capacity / 8 } else { 2 };
    let kept = capacity.saturating_sub(margin);
    if kept > 1 { kept } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::{UnreadCounts, lapped_reader_distance};

    #[test]
    fn a_reader_that_was_lapped_has_lost_what_it_will_pass_over() {
        for (next, end, capacity, waiting) in [
            (0, 0, 16, 0),
            (5, 21, 16, 16),
            (5, 22, 16, 14),
            (0, 1000, 16, 14),
            (7, 6, 16, 0),
            (0, 1000, 2, 1),
            (0, 4096, 1024, 896),
        ] {
            let unread = UnreadCounts::of_positions(next, end, capacity);
            let all = u64::saturating_sub(end, next);
            assert_eq!(unread.waiting, waiting, "{next} {end} {capacity}");
            assert_eq!(unread.waiting + unread.lost, all);
        }
        let lapped = UnreadCounts::of_positions(0, 20, 16);
        for (messages, waiting) in [(20, 14), (30, 14), (15, 14), (9, 9), (0, 0)] {
            let lost = messages - waiting;
            assert_eq!(lapped.of_messages(messages), UnreadCounts { waiting, lost });
        }
        assert_eq!(lapped_reader_distance(u64::MAX), u64::MAX - u64::MAX / 8);
    }
}
