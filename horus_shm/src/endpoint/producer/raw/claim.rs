//! Claims a lane for a new publisher, which prefers the lane that contains its own earlier
//! messages.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::moving::PAUSES_PER_MOVE_MAX;
use crate::file::error::OpenError;
use crate::file::latch_key::LatchKey;
use crate::file::offer::Offer;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::layout::{LaneBlock, LaneRecord, LatchedHistory};
use crate::protocol::owner;
use crate::protocol::sync::{Word, edge, fence};
use crate::protocol::takeover::discard_history_before;

/// A lane that a publisher has claimed, but into which it cannot write yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneClaim {
    pub(super) lane: u32,
    /// The description of the publisher's history if that history stays after the publisher has
    /// left; otherwise `None`.
    latched: Option<LatchedHistory>,
    pub(super) found: HistoryFoundInLane,
    /// True if the publisher claims this lane because it is moving here from another file.
    pub(super) is_moving: bool,
}

/// The kind of history (earlier messages for new readers) that was found in a newly claimed lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HistoryFoundInLane {
    /// History that an earlier publisher with the same [`LatchKey`] has left. Readers can get it
    /// until the new publisher sends its first message.
    Own,
    /// There is no history that was to be kept after its publisher had left.
    None,
    /// History that a publisher with another [`LatchKey`] has left. It ends now. The value is the
    /// number of that publisher's claim. It grows with every claim by a publisher whose history is
    /// kept, so it shows which history is older.
    Other(u16),
}

impl HistoryFoundInLane {
    fn of_latched(latched: Option<LatchedHistory>, own: Option<LatchKey>) -> Self {
        match latched {
            None => Self::None,
            Some(latched) if own == Some(LatchKey(latched.key_hash)) => Self::Own,
            Some(latched) => Self::Other(latched.claim),
        }
    }
}

/// Returns the description of the history that was kept in a lane; `None` if the lane has no such
/// history.
fn latched_history_in(block: &LaneBlock<AtomicU64>) -> Option<LatchedHistory> {
    // Relaxed: before the claim it only sets the order in which lanes are tried, and the claim
    // orders it.
    LatchedHistory::from_word(block.latched.get())
}

/// The order in which a publisher tries the lanes: the least rank first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LaneClaimRank {
    /// True if the claiming publisher comes from another file, and a publisher has used this lane
    /// before. Such a publisher prefers a lane that was never used.
    is_reused_by_move: bool,
    /// True if the lane's last publisher left it to continue in another file.
    is_left_to_move: bool,
    found: HistoryFoundInLane,
}

impl LaneClaimRank {
    fn of(
        (block, record): (&LaneBlock<AtomicU64>, &LaneRecord<AtomicU64>),
        own: Option<LatchKey>,
        is_moving: bool,
    ) -> Self {
        // Relaxed, here and below: as in `latched_history_in`.
        let moved = record.moved_session_id.get();
        Self {
            is_reused_by_move: is_moving && (block.generation.get() != 0 || block.head.get() != 0),
            is_left_to_move: moved != 0 && moved == block.session_id.get(),
            found: HistoryFoundInLane::of_latched(latched_history_in(block), own),
        }
    }
}

/// Maximum number of lanes that a publisher claims in one file, if others use each of these lanes
/// before it does.
const CLAIMS_PER_FILE_MAX: u32 = 8;

/// Maximum number of files in which a publisher claims a lane, while the files of its topic keep
/// losing their name.
const FILES_TRIED_FOR_LANE_MAX: u32 = 8;

impl LaneClaim {
    /// Claims a lane of `segment` as [`Self::new`] does; or else of the file that has the topic's
    /// name, if the file of `segment` has lost it. Returns the file, too.
    ///
    /// WHY: a publisher that moves from a file leaves its lane there, in which readers find how far
    /// they have read its messages. It leaves the lane after the file has lost its name. So a
    /// process that claims the lane then finds by the name that it must not take it over, even if
    /// its own last check of the name was too early. WHY also in a lane that was never used:
    /// readers leave a file that has lost its name when they find no publisher in it. If the name
    /// is lost only after the claim, they find this one.
    ///
    /// # Errors
    ///
    /// Those of [`Self::new`] and of [`Segment::reopen`].
    pub(super) fn claim_in_named_file(
        mut segment: Arc<Segment>,
        offer: &Offer,
        is_moving: bool,
    ) -> Result<(Arc<Segment>, Self), OpenError> {
        for _ in 1..FILES_TRIED_FOR_LANE_MAX {
            let claim = Self::new(&segment, offer, is_moving)?;
            // ORDERING(name_lost): pairs with the fence in `RawConsumer::finish_file_if_read`.
            fence(edge::NAME_LOST_CLAIM_FENCE);
            if !segment.is_name_lost_now() {
                return Ok((segment, claim));
            }
            owner::release_entry(&segment.lane_block(claim.lane, Access::Write)?.owner);
            segment = if is_moving {
                segment.reopen_within(true, PAUSES_PER_MOVE_MAX)?
            } else {
                segment.reopen(true)?
            };
        }
        let claim = Self::new(&segment, offer, is_moving)?;
        Ok((segment, claim))
    }

    /// Claims a lane that is free, or whose owner is dead. Prefers a lane with history of the
    /// publisher's key, then one without kept history, then the one with the oldest kept history.
    /// Lanes that a publisher left to move to another file come last. WHY: if this file gets its
    /// name back, that publisher may return to another lane of it, and readers find in the former
    /// one how far they have read its messages. A publisher that moves here from another file
    /// (`is_moving`) prefers a lane that was never used.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManyPublishers`], or an error of `Segment::lane_block`.
    fn new(segment: &Segment, offer: &Offer, is_moving: bool) -> Result<Self, OpenError> {
        // WHY: a caller that has claimed a lane relies on it that this is mapped.
        segment.wait_block(Access::Write)?;
        let request = segment.request();
        let limits = segment.shape().lane_limit();
        let limit = request.lane_limit.map_or(limits, |own| own.min(limits));
        let blocks: Vec<_> = (0..limit)
            .map(|lane| segment.lane_block(lane, Access::Write))
            .collect::<Result<_, _>>()?;
        let records: Vec<_> = (0..limit)
            .map(|lane| segment.lane_record(lane, Access::Write))
            .collect::<Result<_, _>>()?;
        let key = (offer.latched_message_count() > 0)
            .then(|| request.latch_key.unwrap_or_else(LatchKey::of_program));
        let rank = |lane: u32| {
            let words = (blocks[lane as usize], records[lane as usize]);
            LaneClaimRank::of(words, key, is_moving)
        };
        let is_dead = |owner| segment.is_dead(owner);
        let mut claims = 1..=CLAIMS_PER_FILE_MAX;
        let (lane, found) = loop {
            let mut ranked: Vec<_> = (0..limit).map(|lane| (rank(lane), lane)).collect();
            ranked.sort_unstable();
            let owners = ranked.iter().map(|&(_, lane)| &blocks[lane as usize].owner);
            let me = segment.own_owner_word();
            let Some((place, _)) = owner::claim_first_free_entry(owners, me, is_dead) else {
                return Err(OpenError::TooManyPublishers { limit });
            };
            let (before, lane) = ranked[place as usize];
            // WHY again: others may have used the lane since it got its rank, and may have left
            // their history there, or have moved. From the claim on, only this publisher changes
            // the rank.
            let now = rank(lane);
            claims.next();
            if now <= before || claims.is_empty() {
                break (lane, now.found);
            }
            owner::release_entry(&blocks[lane as usize].owner);
        };
        let latched = blocks.iter().filter_map(|block| latched_history_in(block));
        let newest = latched.map(|latched| latched.claim).max();
        Ok(Self {
            lane,
            latched: key.map(|LatchKey(key_hash)| LatchedHistory {
                key_hash,
                claim: LatchedHistory::next_claim_number(newest),
                continues: request.continues_history,
                messages: offer.latched_message_count().try_into().unwrap_or(u16::MAX),
            }),
            found,
            is_moving,
        })
    }

    /// Stores under which key the lane's history is kept from now on. Called after the takeover at
    /// `position`, and before the first message. WHY in this order: a publisher that dies in
    /// between leaves no history under a key that is not its own.
    pub(super) fn publish_history_key(&self, block: &LaneBlock<AtomicU64>, position: u64) {
        if self.found != HistoryFoundInLane::Own {
            discard_history_before(block, position);
        }
        // Relaxed: only the owner of the lane writes it, and the head orders it.
        block
            .latched
            .set(self.latched.map_or(0, LatchedHistory::to_word));
    }
}
