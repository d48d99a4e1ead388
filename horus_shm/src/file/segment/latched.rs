//! Latched histories, which stay after their publishers have left: which one of a key counts.

use crate::file::segment::{Blocks as _, TopicMemory};
use crate::os::region::Access;
use crate::protocol::layout::LatchedHistory;
use crate::protocol::sync::Word as _;

impl TopicMemory {
    /// Returns true if `history`, which lane `lane` keeps, is out of date: a publisher of the same
    /// key that claimed another lane later has sent a message there. New readers do not get such a
    /// history after its publisher has left.
    ///
    /// WHY not if it continues earlier ones: the messages of all publishers belong together then,
    /// such as the lines of a log.
    pub(crate) fn is_superseded(&self, lane: u32, history: LatchedHistory) -> bool {
        let supersedes = |other| {
            let Ok(block) = self.lane_block(other, Access::Read) else {
                return false;
            };
            // Relaxed, all: a publisher that sends its first message now may be seen or not.
            let later = LatchedHistory::from_word(block.latched.get());
            let is_later =
                later.is_some_and(|later| later.key == history.key && later.claim > history.claim);
            is_later && block.head.get() > block.epoch_start.get()
        };
        let mut others = (0..self.shape().lane_limit()).filter(|&other| other != lane);
        !history.continues && others.any(supersedes)
    }
}
