//! The lanes of a file whose publishers do not match a consumer. Other threads look here before
//! they count messages for the consumer.

use std::sync::atomic::AtomicU64;

use crate::file::header::ExtentId;
use crate::file::match_settings::MatchSettings;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::sync::Word;

/// The lanes of a file whose publishers do not match a consumer, and the settings of the consumer.
#[derive(Debug)]
pub(super) struct UnmatchedLanes {
    reader: MatchSettings,
    /// True if the messages that the consumer reads differ in length.
    is_variable_length: bool,
    /// For each lane: how often it had been claimed when its publisher did not match; 0 if it
    /// matched, or if there was none.
    claims: Box<[AtomicU64]>,
}

impl UnmatchedLanes {
    /// Creates the record of a consumer with the settings `reader` and `is_variable_length` in a
    /// file with `lanes` lanes. It contains no lane yet.
    pub(super) fn new(reader: MatchSettings, is_variable_length: bool, lanes: u32) -> Self {
        Self {
            reader,
            is_variable_length,
            claims: (0..lanes).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Replaces the lanes by those in `lanes_and_claims`, each with the number of times that it had
    /// been claimed.
    pub(super) fn replace_lanes(&self, lanes_and_claims: &[(u32, u64)]) {
        for (lane, word) in (0..).zip(&self.claims) {
            let found = lanes_and_claims
                .iter()
                .find(|(unmatched, _)| *unmatched == lane);
            // Relaxed: each value says by itself for which publisher it holds.
            word.set(found.map_or(0, |(_, claims)| *claims));
        }
    }

    /// Returns true if the publisher of the lane did not match the consumer when it last searched
    /// for lanes, and no other publisher has claimed the lane since. Makes some system calls if the
    /// publisher has made a lane file since then.
    pub(super) fn contains_lane(&self, segment: &Segment, lane: u32) -> bool {
        // Relaxed, all: no payload is read because of them.
        let claims = self.claims[lane as usize].get();
        if claims == 0 || claims != segment.lane_claims(lane) {
            return false;
        }
        let block = segment.lane_block(lane, Access::Read);
        let generation = block.map_or(0, |block| block.generation.get());
        // WHY: a publisher may have claimed the lane before the search, and began to send after it.
        let id = ExtentId { lane, generation };
        let mismatch = segment.with_header(id, |_, offer| {
            offer.mismatch_with(&self.reader, self.is_variable_length)
        });
        generation != 0 && mismatch.flatten().is_some()
    }
}
