//! Matching: finds the lanes that a reader cannot read, because the publisher sends a different
//! type or offers less than the reader requests.

use std::sync::atomic::AtomicU64;

use super::{FollowedLane, RawConsumer, ReadMode};
use crate::file::counters::MismatchedPublisher;
use crate::file::error::RecvError;
use crate::file::extent::Extent;
use crate::file::header::{ExtentBoundary, ExtentId};
use crate::file::match_settings::{MatchSettings, Mismatch};
use crate::file::segment::TopicBlocks as _;
use crate::file::topic_type::Reliability;
use crate::os::region::Access;
use crate::protocol::layout::{LaneBlock, LatchedHistory, NO_SESSION};
use crate::protocol::sync::Word;
use crate::protocol::takeover::history_start;

/// The newest extent (file of slots) of a lane that a reader does not read, because the publisher
/// does not offer what the reader requests.
#[derive(Debug)]
pub(super) struct UnmatchedLane {
    id: ExtentId,
    cause: Mismatch,
    type_identity: [u64; 2],
    /// The session id of the publisher whose mismatch was last reported to the user; `None` if none
    /// was.
    reported: Option<u64>,
    /// The place in the lane (position and message number) from which on this reader gets no
    /// messages.
    pub(super) base: ExtentBoundary,
}

/// Returns true if a lane has messages of earlier publishers that stay for readers that join later.
fn has_latched_messages(block: &LaneBlock<AtomicU64>) -> bool {
    // Relaxed, both: for people.
    let head = block.head.get();
    match LatchedHistory::from_word(block.latched.get()) {
        Some(latched) if latched.continues => head > 0,
        Some(_) => history_start(block, head) < head,
        None => false,
    }
}

impl RawConsumer {
    /// Returns the reason why this reader must not read an extent (file of slots), such as a
    /// different type; `None` if it may read the extent.
    fn mismatch_with_extent(&self, extent: &Extent) -> Option<Mismatch> {
        let is_variable_length = self.segment.request().type_info.sized;
        extent
            .offer
            .mismatch_with(&self.match_settings(), is_variable_length)
    }

    /// Returns the settings that decide which publishers this reader matches: its type and
    /// reliability.
    #[must_use]
    pub fn match_settings(&self) -> MatchSettings {
        MatchSettings {
            type_identity: self.segment.request().type_info.identity(),
            reliability: match self.reading {
                ReadMode::Gated => Reliability::Reliable,
                _ => Reliability::BestEffort,
            },
        }
    }

    /// Returns true if the publisher of an extent (file of slots) matches this reader, so that the
    /// reader may read the extent.
    pub(super) fn matches_extent(&self, extent: &Extent) -> bool {
        self.mismatch_with_extent(extent).is_none()
    }

    /// Records whether this reader may read `extent`, the newest extent (file of slots) of its
    /// lane; returns true if it may. If it may not, it gets no messages from the boundary `base`
    /// on.
    pub(super) fn check_and_record_match(&mut self, extent: &Extent, base: ExtentBoundary) -> bool {
        let mismatch = self.mismatch_with_extent(extent);
        let id = extent.id;
        let reported = self
            .unmatched_lane(id.lane)
            .and_then(|former| former.reported);
        self.unmatched
            .retain(|unmatched| unmatched.id.lane != id.lane);
        if let Some(cause) = mismatch {
            self.unmatched.push(UnmatchedLane {
                id,
                cause,
                type_identity: extent.offer.type_info.identity().exact,
                reported,
                base,
            });
            self.report_mismatch(id.lane);
        }
        mismatch.is_none()
    }

    /// Sets the function that is called once for each publisher that does not match. The receive
    /// call that finds the publisher calls the function.
    ///
    /// For publishers that were already found, the function is called at once.
    pub fn set_on_mismatch(&mut self, on_mismatch: fn(&MismatchedPublisher)) {
        self.on_mismatch = Some(on_mismatch);
        let lanes: Vec<_> = self.unmatched.iter().map(|found| found.id.lane).collect();
        lanes
            .into_iter()
            .for_each(|lane| self.report_mismatch(lane));
    }

    /// Reports that the publisher of a lane does not match, if the publisher is alive or has left
    /// messages for readers that join later. Reports nothing about a process that only reserves the
    /// lane. WHY only once for each publisher: it may create more extents, each of which would be
    /// reported.
    #[cold]
    pub(super) fn report_mismatch(&mut self, lane: u32) {
        let Some(on_mismatch) = self.on_mismatch else {
            return;
        };
        let Ok(block) = self.segment.lane_block(lane, Access::Read) else {
            return;
        };
        // Relaxed: for people.
        let session_id = block.session_id.get();
        let Some((offer, publisher)) = self.segment.offer_and_publisher(lane) else {
            return;
        };
        // WHY only a live one: a process may have died while it reserved a lane with kept messages.
        let is_reported = match publisher {
            Some(_) => session_id != NO_SESSION,
            None => has_latched_messages(block),
        };
        if !is_reported {
            return;
        }
        let mut unmatched = self.unmatched.iter_mut();
        let Some(unmatched) = unmatched.find(|unmatched| unmatched.id.lane == lane) else {
            return;
        };
        if unmatched.reported.replace(session_id) == Some(session_id) {
            return;
        }
        on_mismatch(&MismatchedPublisher {
            topic: self.segment.label(),
            publisher,
            cause: unmatched.cause,
            offered: offer.type_info,
            wanted: self.segment.request().type_info.clone(),
        });
    }

    /// Returns the publisher that [`RecvError::Incompatible`] reports; `None` if [`Self::check`]
    /// does not return this error. Makes a few system calls.
    #[must_use]
    pub fn mismatched_publisher(&self) -> Option<MismatchedPublisher> {
        let Err(RecvError::Incompatible {
            topic, lane, cause, ..
        }) = self.check()
        else {
            return None;
        };
        let (offer, publisher) = self.segment.offer_and_publisher(lane)?;
        let settings = offer.match_settings();
        let offered = offer.type_info;
        let wanted = self.segment.request().type_info.clone();
        // WHY: another publisher may have taken the lane meanwhile.
        let differs = match cause {
            Mismatch::Type => !wanted.is_same_as(&offered),
            _ => settings.mismatch(&self.match_settings()) == Some(cause),
        };
        differs.then_some(MismatchedPublisher {
            topic,
            publisher,
            cause,
            offered,
            wanted,
        })
    }

    /// Returns the newest extent of the lane with index `lane` if the last check found that its
    /// publisher does not match; otherwise `None`.
    pub(super) fn unmatched_lane(&self, lane: u32) -> Option<&UnmatchedLane> {
        self.unmatched
            .iter()
            .find(|unmatched| unmatched.id.lane == lane)
    }

    /// Returns true if an earlier check found that the publisher of extent `id` does not match this
    /// reader.
    pub(super) fn is_extent_unmatched(&self, id: ExtentId) -> bool {
        self.unmatched.iter().any(|unmatched| unmatched.id == id)
    }

    /// Returns an error if this reader's file has live publishers, but none that matches the
    /// reader, and no former file has one that does. WHY not also for publishers in former files
    /// that do not match: the reader leaves a file that has no others.
    pub(super) fn check_any_publisher_matches(&self) -> Result<(), RecvError> {
        let unmatched = self.unmatched.iter();
        let unmatched = unmatched.filter(|unmatched| self.is_lane_owner_alive(unmatched.id.lane));
        // WHY the least: the reason must not depend on the order of the lanes.
        let rank = |unmatched: &&UnmatchedLane| {
            let is_of_type = unmatched.cause == Mismatch::Reliability;
            (!is_of_type, unmatched.type_identity)
        };
        let Some(unmatched) = unmatched.min_by_key(rank) else {
            return Ok(());
        };
        if self
            .readers_of_all_files()
            .any(Self::has_live_matching_publisher)
        {
            return Ok(());
        }
        Err(RecvError::Incompatible {
            topic: self.segment.label(),
            lane: unmatched.id.lane,
            cause: unmatched.cause,
            difference: None,
        })
    }

    /// Returns true if the publisher that owns a lane of this reader's file is alive.
    fn is_lane_owner_alive(&self, lane: u32) -> bool {
        let block = self.segment.lane_block(lane, Access::Read);
        // Relaxed: for people.
        block.is_ok_and(|block| {
            let owner = block.owner.get();
            owner != 0 && !self.segment.is_dead(owner)
        })
    }

    /// Returns true if a lane of this reader's file has a live publisher that matches.
    fn has_live_matching_publisher(&self) -> bool {
        let is_matched = |followed: &FollowedLane| {
            self.is_lane_owner_alive(followed.lane) && self.unmatched_lane(followed.lane).is_none()
        };
        self.lanes.iter().any(is_matched)
    }

    /// Stores the result of [`Self::check_any_publisher_matches`], so that watches on this reader
    /// can report it.
    pub(super) fn store_mismatch_for_watches(&self) {
        let cause = match self.check_any_publisher_matches() {
            Err(RecvError::Incompatible { cause, .. }) => Some(cause),
            _ => None,
        };
        self.progress
            .set_mismatch(cause, || self.mismatched_publisher());
    }
}
