//! Counters of the publishers and subscribers of a topic. Any process can read them.

use std::sync::atomic::AtomicU64;

use crate::file::error::OpenError;
use crate::file::header::ExtentId;
use crate::file::label::TopicLabel;
use crate::file::liveness_cache::LivenessCache;
use crate::file::match_settings::{MatchSettings, Mismatch};
use crate::file::namespace::Namespace;
use crate::file::offer::Offer;
use crate::file::segment::{ReadProgress, TopicBlocks as _, TopicMemory};
use crate::file::session::{EndpointSession, read_without_owner_change};
use crate::file::topic_type::{Reliability, TypeInfo};
use crate::os::region::Access;
use crate::process::liveness::{Owner, ProcessInfo};
use crate::protocol::gate::JOINING_BIT;
use crate::protocol::identity::TypeIdentity;
use crate::protocol::lane::{UnreadCounts, message_count_and_end};
use crate::protocol::layout::{LaneBlock, ReaderBlock};
use crate::protocol::owner::OWNER_HELD_BIT;
use crate::protocol::pins::BORROWS_MAX;
use crate::protocol::sync::Word;
use crate::protocol::telemetry::Latencies;

/// The counters of a lane that has, or has had, a publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneCounters {
    /// Index of the lane in the topic.
    pub lane: u32,
    /// The process of the lane's publisher; `None` if that process is no longer alive, or if the
    /// publisher has left.
    pub publisher: Option<Participant>,
    /// Number of messages sent in the lane by all of its publishers since the topic was created.
    pub sent: u64,
    /// Number of times that the lane was claimed by a publisher.
    pub claims: u64,
    /// Number of messages that were not completed, because the publisher died while it wrote them.
    pub aborted: u64,
    /// Number of times that a new publisher found the lane's bookkeeping damaged and repaired it.
    pub corrupt_resyncs: u64,
    /// Number of sends that were refused because the lane was full of messages that a reliable
    /// subscriber had not read.
    pub refused: u64,
    /// Number of system calls by which the lane's publishers woke sleeping subscribers.
    pub wakes: u64,
    /// Number of slots that publishers skipped because a subscriber still held the message in the
    /// slot as borrowed.
    pub skips: u64,
    /// A random number that identifies the publisher, also after it has moved to another topic file
    /// and in another lane; 0 if the lane has no publisher. Publishers of one process differ.
    pub publisher_id: u64,
}

/// The counters of a live subscriber, as other processes see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderCounters {
    /// Index of the subscriber's reader slot.
    pub slot: u32,
    /// The process to which the subscriber belongs.
    pub subscriber: Participant,
    /// Number of messages that the subscriber has received, without the malformed ones.
    pub received: u64,
    /// Number of messages that the subscriber could not read, because their bytes are no message of
    /// its type. It has dropped them.
    pub malformed: u64,
    /// Number of messages that were overwritten before the subscriber read them, whether or not the
    /// subscriber has noticed it.
    pub lost: u64,
    /// Number of readable messages that the subscriber skipped because it asked for the latest
    /// message.
    pub skipped: u64,
    /// Number of messages that the subscriber can still receive. In lanes whose messages can be
    /// borrowed, a slot that a publisher skipped counts as a message until the subscriber has
    /// passed it.
    pub waiting: u64,
    /// Number of receive calls that gave up because publishers kept overwriting what the subscriber
    /// tried to read. The subscriber publishes this number only now and then: the value may be 256
    /// messages old.
    pub busy: u64,
    /// Number of messages that the subscriber holds as borrowed at this moment.
    pub borrowed: u32,
    /// True if the subscriber is asleep until a message is published.
    pub asleep: bool,
    /// True if the subscriber requests reliable delivery. A publisher that offers it does not
    /// overwrite a message that this subscriber has not read: it waits while the ring is full.
    pub is_reliable: bool,
    /// The message type that the subscriber reads, as in [`MatchSettings`]; [`TypeIdentity::NONE`]
    /// while the subscriber is joining.
    pub type_identity: TypeIdentity,
    /// Histogram of the time from the publication of a message to its receipt. Only a sample of the
    /// messages is measured. If a message has waited for more than 18 minutes and 19 seconds, that
    /// time is subtracted from its latency, once or more.
    pub latencies: Latencies,
}

impl ReaderCounters {
    /// Returns the settings that decide which publishers the subscriber matches.
    /// [`MatchSettings::mismatch`] compares them with those of a publisher.
    #[must_use]
    pub const fn match_settings(&self) -> MatchSettings {
        MatchSettings {
            type_identity: self.type_identity,
            reliability: reliability_of(self.is_reliable),
        }
    }
}

/// A live subscriber that has joined, and the settings that decide which publishers it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinedReader {
    /// Index of the subscriber's reader slot.
    pub slot: u32,
    /// The number that identifies the subscriber's process, as in [`Participant::owner_id`].
    pub owner_id: u64,
    /// The type that the subscriber reads, and the reliability that it requests.
    pub match_settings: MatchSettings,
}

/// A process that takes part in a namespace, for example because it publishes or subscribes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Participant {
    /// A number that identifies the process among all that are or were in the namespace. A pid
    /// cannot identify it, because two containers may have processes with the same pid.
    pub owner_id: u64,
    /// Pid, start time and name of the process, for texts that users read; `None` in a ring on the
    /// heap.
    pub process: Option<ProcessInfo>,
}

/// A live publisher and a live subscriber of the same topic that exchange no messages, because they
/// do not match.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedPair {
    /// Index of the publisher's lane.
    pub lane: u32,
    /// The process of the publisher.
    pub publisher: Participant,
    /// Index of the subscriber's reader slot.
    pub slot: u32,
    /// The process of the subscriber.
    pub subscriber: Participant,
    /// The reason why the publisher and the subscriber do not match.
    pub cause: Mismatch,
}

/// A report that a publisher does not match a reader of its topic, so that the reader gets no
/// messages from that publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MismatchedPublisher {
    /// The topic of the publisher and the reader.
    pub topic: TopicLabel,
    /// The process of the publisher; `None` if the publisher has left, so that only its messages
    /// remain.
    pub publisher: Option<Participant>,
    /// The reason why the publisher and the reader do not match.
    pub cause: Mismatch,
    /// The message type that the publisher sends.
    pub offered: TypeInfo,
    /// The message type that the reader requests.
    pub wanted: TypeInfo,
}

impl Participant {
    /// Returns the live processes that have opened a namespace, including this one, and including
    /// those that use no topic. Makes one system call for each process.
    ///
    /// # Errors
    ///
    /// [`OpenError::Forked`] in a forked child, or [`OpenError::Io`].
    pub fn all(namespace: &Namespace) -> Result<Vec<Self>, OpenError> {
        let registry = namespace.registry();
        if registry.is_forked() {
            return Err(OpenError::Forked);
        }
        let processes = registry.processes().map_err(|source| OpenError::Io {
            operation: "read the registry of",
            path: namespace.path().to_owned(),
            source,
        })?;
        let of = |(owner, process): (Owner, ProcessInfo)| Self {
            owner_id: owner.to_bits(),
            process: Some(process),
        };
        Ok(processes.into_iter().map(of).collect())
    }
}

impl TopicMemory {
    /// Returns the counters of all lanes that a publisher has ever claimed. Writes nothing; takes
    /// some 0.3 µs for each lane.
    #[must_use]
    pub fn lane_counters(&self) -> Vec<LaneCounters> {
        self.lane_counters_with(&mut LivenessCache::default())
    }

    /// Returns the counters of all lanes. Assumes that processes in `cache` are still alive, and
    /// otherwise does the same as [`Self::lane_counters`].
    #[must_use]
    pub fn lane_counters_with(&self, cache: &mut LivenessCache) -> Vec<LaneCounters> {
        let lanes = 0..self.shape().lane_limit();
        lanes
            .filter_map(|lane| self.counters_of_lane(lane, cache))
            .collect()
    }

    /// Returns the number of times that the lane with index `lane` was claimed by a publisher; 0 if
    /// there is no such lane.
    #[must_use]
    pub fn lane_claims(&self, lane: u32) -> u64 {
        let block = self.lane_block(lane, Access::Read);
        // Relaxed: a counter for tools.
        block.map_or(0, |block| block.epoch.get())
    }

    /// Returns the index of each lane with the offer of its publisher, or of its last publisher.
    /// Lanes whose file cannot be read are left out. Makes some system calls for each lane.
    #[must_use]
    pub fn offers(&self) -> Vec<(u32, Offer)> {
        let offer = |(id, _): (ExtentId, u64)| Some((id.lane, self.offer_of_extent(id)?));
        self.newest_extents().filter_map(offer).collect()
    }

    /// Returns the newest extent (file of slots) of each lane that has one, and the owner word,
    /// which identifies the process of the lane's publisher.
    fn newest_extents(&self) -> impl Iterator<Item = (ExtentId, u64)> {
        let lanes = 0..self.shape().lane_limit();
        lanes.filter_map(|lane| {
            let block = self.lane_block(lane, Access::Read).ok()?;
            // Relaxed: system calls order the lane file.
            let (generation, owner) = (block.generation.get(), block.owner.get());
            (generation != 0).then_some((ExtentId { lane, generation }, owner))
        })
    }

    /// Returns the type of the messages that the topic carries now. This is the type of the first
    /// live publisher; if there is none, the type of the kept messages; if there are none, the type
    /// with which the topic was created. Makes some system calls for each lane that it examines.
    #[must_use]
    pub fn present_type(&self) -> TypeInfo {
        let type_if = |id, is_it: fn(&Offer) -> bool| {
            let found =
                self.with_header(id, |_, offer| is_it(offer).then(|| offer.type_info.clone()));
            found.flatten()
        };
        let live = |(id, owner)| {
            self.is_owner_live(owner)
                .then(|| type_if(id, |_| true))
                .flatten()
        };
        let kept = |(id, _)| type_if(id, |offer| offer.latched_message_count() > 0);
        let found = self.newest_extents().find_map(live);
        let found = found.or_else(|| self.newest_extents().find_map(kept));
        found.unwrap_or_else(|| self.type_info().clone())
    }

    /// Returns each pair of a live publisher and a live subscriber that do not match. Observers are
    /// left out. Makes some system calls for each lane.
    #[must_use]
    pub fn unmatched_pairs(&self) -> Vec<UnmatchedPair> {
        let readers = self.joined_readers();
        let mut pairs = Vec::new();
        for lane in 0..self.shape().lane_limit() {
            let Some((offer, Some(publisher))) = self.offer_and_publisher(lane) else {
                continue;
            };
            let offered = offer.match_settings();
            pairs.extend(readers.iter().filter_map(|reader| {
                Some(UnmatchedPair {
                    lane,
                    publisher: publisher.clone(),
                    slot: reader.slot,
                    cause: offered.mismatch(&reader.match_settings)?,
                    subscriber: self.process_of(reader.owner_id),
                })
            }));
        }
        pairs
    }

    /// Returns the newest offer in lane `lane`, and the process of the lane's publisher, if it is
    /// alive. If another publisher claims the lane meanwhile, reads both again. Returns `None` if
    /// the lane has no offer, or if its file cannot be read.
    pub(crate) fn offer_and_publisher(&self, lane: u32) -> Option<(Offer, Option<Participant>)> {
        let block = self.lane_block(lane, Access::Read).ok()?;
        // Relaxed: system calls order the lane file.
        let claim = || (lane_session_and_claim_count(block), block.generation.get());
        let found = read_without_owner_change(claim, |((session, _), generation)| {
            let id = (generation != 0).then_some(ExtentId { lane, generation })?;
            Some((
                self.offer_of_extent(id)?,
                self.live_participant(session.owner()),
            ))
        });
        found.flatten()
    }

    fn counters_of_lane(&self, lane: u32, cache: &mut LivenessCache) -> Option<LaneCounters> {
        let block = self.lane_block(lane, Access::Read).ok()?;
        let counters = |publisher: Option<Participant>, claims| {
            let (sent, position) = message_count_and_end(block);
            // Relaxed, here and below: counters for people.
            let publisher_id = if publisher.is_some() {
                block.session_id.get()
            } else {
                0
            };
            LaneCounters {
                lane,
                publisher,
                sent,
                claims,
                aborted: block.aborted.get(),
                corrupt_resyncs: block.corrupt_resync.get(),
                refused: block.refused.get(),
                wakes: block.wakes.get(),
                skips: position.saturating_sub(sent),
                publisher_id,
            }
        };
        let found = read_without_owner_change(
            || lane_session_and_claim_count(block),
            |(session, claims)| counters(cache.live_participant(self, session.owner()), claims),
        );
        let found = found.unwrap_or_else(|| counters(None, block.epoch.get()));
        (found.claims > 0).then_some(found)
    }

    /// Returns all live subscribers that have joined, with their match settings, without observers.
    /// A process that opens a publisher compares these settings with its own. Writes nothing, and
    /// reads no file, so the cost does not depend on how many messages wait for the subscribers.
    #[must_use]
    pub fn joined_readers(&self) -> Vec<JoinedReader> {
        let readers = (0..self.shape().reader_limit()).filter_map(|slot| self.joined_reader(slot));
        readers
            .filter(|reader| !reader.match_settings.type_identity.is_none())
            .collect()
    }

    fn joined_reader(&self, slot: u32) -> Option<JoinedReader> {
        let block = self.reader_block(slot, Access::Read).ok()?;
        let wait = self.wait_block(Access::Read).ok()?;
        let session = || EndpointSession::load(&block.owner, &block.joined);
        let reader = read_without_owner_change(session, |session| {
            let owner_id = session.joined_owner()?;
            (!self.is_dead(owner_id)).then(|| JoinedReader {
                slot,
                owner_id,
                match_settings: MatchSettings {
                    type_identity: TypeIdentity::of_reader(block),
                    reliability: reliability_of(wait.gated.get() & 1 << slot != 0),
                },
            })
        });
        reader.flatten()
    }

    /// Returns the counters of all live subscribers, without observers. Writes nothing. Takes some
    /// 0.3 µs for each subscriber, and some 20 ns for each of its lanes. Opens lane files that are
    /// new since the last call, and makes a system call for each earlier lane file in which a
    /// subscriber has unread messages.
    #[must_use]
    pub fn reader_counters(&self) -> Vec<ReaderCounters> {
        self.reader_counters_with(&mut LivenessCache::default())
    }

    /// Returns the counters of all live readers. Assumes that processes in `cache` are still alive,
    /// and otherwise does the same as [`Self::reader_counters`].
    #[must_use]
    pub fn reader_counters_with(&self, cache: &mut LivenessCache) -> Vec<ReaderCounters> {
        let readers = 0..self.shape().reader_limit();
        readers
            .filter_map(|slot| self.counters_of_slot(slot, cache))
            .collect()
    }

    fn counters_of_slot(&self, slot: u32, cache: &mut LivenessCache) -> Option<ReaderCounters> {
        let block = self.reader_block(slot, Access::Read).ok()?;
        let cursors = self.cursors(slot, Access::Read).ok()?;
        let wait = self.wait_block(Access::Read).ok();
        let session = || EndpointSession::load(&block.owner, &block.joined);
        let counters = read_without_owner_change(session, |session| {
            let subscriber = cache.live_participant(self, session.owner())?;
            let words = wait.map_or((0, 0), |wait| (wait.waiters.get(), wait.gated.get()));
            let mut counters = counters_of_reader(slot, (block, cursors), subscriber, words);
            let unread = self.unread_counts(cursors, counters.match_settings());
            counters.waiting = unread.waiting;
            counters.lost = counters.lost.saturating_add(unread.lost);
            Some(counters)
        });
        counters.flatten()
    }

    /// Returns how many messages of all lanes still wait for a reader, and how many it has lost
    /// without having noticed it. `cursors` are the reader's positions, one for each lane.
    fn unread_counts(&self, cursors: &[AtomicU64], match_settings: MatchSettings) -> UnreadCounts {
        let mut unread = UnreadCounts::default();
        for (lane, cursor) in cursors.iter().enumerate() {
            // Relaxed: a counter for people. While the reader joins a lane, it is owed nothing.
            let cursor = Some(cursor.get()).filter(|cursor| cursor & JOINING_BIT == 0);
            if let Some(next) = cursor.and_then(|cursor| cursor.checked_sub(1)) {
                let reader = ReadProgress {
                    position: next,
                    number: None,
                    match_settings,
                    followed: None,
                    own_end: None,
                };
                unread = unread.plus(self.unread_counts_in(lane as u32, reader));
            }
        }
        unread
    }

    /// Returns the process of the endpoint with the owner word `owner_word`; `None` if that process
    /// is dead, or only holds the lane or reader slot to clear or claim it.
    pub(crate) fn live_participant(&self, owner_word: u64) -> Option<Participant> {
        let lives =
            owner_word != 0 && owner_word & OWNER_HELD_BIT == 0 && !self.is_dead(owner_word);
        lives.then(|| self.process_of(owner_word))
    }
}

/// Returns the session of a lane, and how often the lane was claimed. At least one of them changes
/// when another publisher claims the lane.
fn lane_session_and_claim_count(block: &LaneBlock<AtomicU64>) -> (EndpointSession, u64) {
    // Relaxed: a counter for people.
    (
        EndpointSession::load(&block.owner, &block.epoch_owner),
        block.epoch.get(),
    )
}

/// Returns the reliability that a subscriber requests: `Reliable` if its bit in the word
/// `WaitBlock::gated` is set (`is_gated`), otherwise `BestEffort`.
const fn reliability_of(is_gated: bool) -> Reliability {
    if is_gated {
        Reliability::Reliable
    } else {
        Reliability::BestEffort
    }
}

/// Returns the number of messages that a reader has received. `block` and `cursors` are those of
/// the reader.
fn received_count(block: &ReaderBlock<AtomicU64>, cursors: &[AtomicU64]) -> u64 {
    // WHY: the numbers of a reader that is joining do not fit together yet.
    if block.joined.get() != block.owner.get() {
        return 0;
    }
    let passed = block.passed.get();
    let positions = cursors
        .iter()
        .filter_map(|cursor| (cursor.get() & !JOINING_BIT).checked_sub(1));
    // WHY not below 0: the reader may be between its stores of the two.
    let received = positions.fold(0, u64::wrapping_add).wrapping_sub(passed);
    if received > i64::MAX as u64 {
        0
    } else {
        received
    }
}

fn counters_of_reader(
    slot: u32,
    (block, cursors): (&ReaderBlock<AtomicU64>, &[AtomicU64]),
    subscriber: Participant,
    (waiter_mask, gated_mask): (u64, u64),
) -> ReaderCounters {
    let has_joined = block.joined.get() == block.owner.get();
    let type_identity = TypeIdentity::of_reader(block);
    let malformed = block.malformed.get();
    ReaderCounters {
        slot,
        subscriber,
        received: received_count(block, cursors).saturating_sub(malformed),
        malformed,
        lost: block.lost.get(),
        skipped: block.skipped.get(),
        waiting: 0,
        busy: block.busy.get(),
        // WHY not all: the last pin is that of a copy.
        borrowed: block.pins[..BORROWS_MAX as usize]
            .iter()
            .filter(|pin| pin.get() != 0)
            .count() as u32,
        asleep: waiter_mask & 1 << slot != 0,
        is_reliable: gated_mask & 1 << slot != 0,
        type_identity: if has_joined {
            type_identity
        } else {
            TypeIdentity::NONE
        },
        latencies: Latencies::of_reader(block),
    }
}
