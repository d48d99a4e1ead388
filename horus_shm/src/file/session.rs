//! Sessions of endpoints: the processes that own the lanes and the reader slots of a topic, and the
//! words by which an endpoint shows that it has joined.

use std::sync::atomic::AtomicU64;

use crate::file::counters::Participant;
use crate::file::error::OpenError;
use crate::file::segment::{TopicBlocks as _, TopicMemory};
use crate::os::region::Access;
use crate::process::liveness::Owner;
use crate::protocol::deaths::DeathLog;
use crate::protocol::owner;
use crate::protocol::sync::{Word, edge};

/// The two words of a lane or reader slot that tell every process which endpoint has it. In the
/// table, "its process" is the owner word (process number) of the endpoint's process.
///
/// | endpoint | `owner` | `joined` |
/// |---|---|---|
/// | none: the last one has left | 0 | 0 |
/// | none: a process holds the slot, to clear or claim it | that process, `OWNER_HELD_BIT` | any |
/// | is joining or leaving | its process | another value |
/// | has joined; its process may have died since | its process | the same value |
/// | has died, and another process has freed the slot | 0 | its process |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EndpointSession {
    /// The owner word of the process that has the lane or reader slot (the number that stands for
    /// the process in shared memory); 0 if it is free.
    owner: u64,
    /// The owner word (process number) of the endpoint that joined last; 0 if that endpoint has
    /// left.
    joined: u64,
}

/// The identity of a live endpoint: its lane or reader slot, and its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointId {
    /// Index of the lane of a publisher, or of the reader slot of a subscriber.
    pub place: u32,
    /// The number that identifies the endpoint's process, as in [`Participant::owner_id`].
    pub owner_id: u64,
}

/// The way in which an endpoint ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointEnd {
    /// The endpoint was closed.
    Left,
    /// The endpoint's process ended without closing it.
    Died,
    /// Either of the two. The topic remembers only the last deaths, and may have forgotten this
    /// one.
    Unknown,
}

/// Maximum number of times that [`read_without_owner_change`] reads a lane or reader slot.
const ENDPOINT_READS_MAX: u32 = 8;

/// Calls `read` with the result of `session`, which loads the identity of the endpoint that has a
/// lane or reader slot. Calls both again as long as another endpoint has taken the place meanwhile.
/// The value that it returns therefore describes one endpoint.
///
/// Returns `None` if that does not succeed in [`ENDPOINT_READS_MAX`] times.
pub(super) fn read_without_owner_change<S: PartialEq + Copy, T>(
    session: impl Fn() -> S,
    mut read: impl FnMut(S) -> T,
) -> Option<T> {
    let mut before = session();
    for _ in 0..ENDPOINT_READS_MAX {
        let found = read(before);
        let after = session();
        if after == before {
            return Some(found);
        }
        before = after;
    }
    None
}

impl EndpointSession {
    pub(super) fn load(owner: &AtomicU64, joined: &AtomicU64) -> Self {
        // ORDERING(owner): a thread that sees the successor sees that its predecessor left. Pairs
        // with the release in `owner::release_entry`, also through the claim that followed it.
        let owner = Word::load(owner, edge::OWNER_SEE);
        // ORDERING(session_owner): pairs with the stores in `ReaderSlot::announce_join` and
        // `take_over`.
        let joined = Word::load(joined, edge::SESSION_OWNER_SEE);
        Self { owner, joined }
    }

    /// Returns the owner word of the process that has the lane or reader slot; 0 if it is free.
    pub(super) fn owner(self) -> u64 {
        self.owner
    }

    /// Returns the owner word of an endpoint that has joined, although its process may be dead;
    /// `None` if no endpoint has joined.
    pub(super) fn joined_owner(self) -> Option<u64> {
        (self.owner != 0 && self.owner == self.joined).then_some(self.owner)
    }
}

impl TopicMemory {
    /// Returns the session of each lane, in the order of the lanes; nothing if the memory area of
    /// the lanes cannot be mapped.
    fn lane_sessions(&self) -> impl Iterator<Item = EndpointSession> {
        let lanes = 0..self.shape().lane_limit();
        lanes.filter_map(|lane| {
            let block = self.lane_block(lane, Access::Read).ok()?;
            Some(EndpointSession::load(&block.owner, &block.epoch_owner))
        })
    }

    /// Returns the session of each reader slot, in the order of the slots; nothing if the memory
    /// area of the readers cannot be mapped.
    fn reader_sessions(&self) -> impl Iterator<Item = EndpointSession> {
        let readers = 0..self.shape().reader_limit();
        readers.filter_map(|reader| {
            let block = self.reader_block(reader, Access::Read).ok()?;
            Some(EndpointSession::load(&block.owner, &block.joined))
        })
    }

    /// Returns the number of live publishers of this topic file, in all processes, that can send.
    /// Takes about 0.2 µs for each publisher.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        let owners = self
            .lane_sessions()
            .filter_map(EndpointSession::joined_owner);
        owners.filter(|&owner| self.is_owner_live(owner)).count()
    }

    /// Returns true if this topic file has a live publisher that can send. Takes about 0.2 µs for
    /// each publisher that has died, and for one that lives.
    pub(crate) fn has_publisher(&self) -> bool {
        let mut owners = self
            .lane_sessions()
            .filter_map(EndpointSession::joined_owner);
        owners.any(|owner| self.is_owner_live(owner))
    }

    /// Returns the number of live readers that have joined, in all processes, without observers. A
    /// message sent after this call reaches them. Takes about 0.2 µs for each reader.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        let owners = self
            .reader_sessions()
            .filter_map(EndpointSession::joined_owner);
        owners.filter(|&owner| self.is_owner_live(owner)).count()
    }

    /// Returns the ids of the live publishers of this topic file, in all processes. Takes about 0.2
    /// µs for each publisher.
    #[must_use]
    pub fn live_publishers(&self) -> Vec<EndpointId> {
        self.live_endpoints(self.lane_sessions())
    }

    /// Returns the ids of the live readers that have joined this topic file, in all processes,
    /// without observers. Takes about 0.2 µs for each reader.
    #[must_use]
    pub fn live_subscribers(&self) -> Vec<EndpointId> {
        self.live_endpoints(self.reader_sessions())
    }

    /// Returns the live publishers, each with the random number of its session. A publisher keeps
    /// that number when it moves to another file.
    pub(crate) fn publishers_with_session_ids(&self) -> Vec<(EndpointId, u64)> {
        let live = self.live_publishers().into_iter();
        let numbered = live.filter_map(|end| {
            let block = self.lane_block(end.place, Access::Read).ok()?;
            // Relaxed: the load of its session ordered it.
            Some((end, block.session_id.get()))
        });
        numbered.collect()
    }

    /// Returns the number of the topic file to which reader `reader` of this file has moved; 0 if
    /// the reader has not moved.
    pub(crate) fn file_number_moved_to(&self, reader: u32) -> u64 {
        let block = self.reader_block(reader, Access::Read);
        block.map_or(0, |block| {
            // ORDERING(session_owner): pairs with the store in `ReaderSlot::announce_move`: a
            // thread that sees that the reader moved sees that it has joined the other file.
            Word::load(&block.moved_to, edge::SESSION_OWNER_SEE)
        })
    }

    fn live_endpoints(&self, sessions: impl Iterator<Item = EndpointSession>) -> Vec<EndpointId> {
        let endpoints = (0..).zip(sessions).filter_map(|(place, session)| {
            let owner_id = session.joined_owner()?;
            Some(EndpointId { place, owner_id })
        });
        endpoints
            .filter(|end| !self.is_dead(end.owner_id))
            .collect()
    }

    /// Returns true if the publisher's process died before the publisher left the topic. The topic
    /// remembers only the last deaths; see [`Self::end_of_publisher`].
    #[must_use]
    pub fn has_publisher_died(&self, publisher: EndpointId) -> bool {
        self.end_of_publisher(publisher, self.publisher_deaths()) == EndpointEnd::Died
    }

    /// Returns how a publisher ended. `deaths` is the result of [`Self::publisher_deaths`] from a
    /// moment before the publisher was last known to be alive.
    #[must_use]
    pub fn end_of_publisher(&self, publisher: EndpointId, deaths: u64) -> EndpointEnd {
        let sessions = self.lane_sessions();
        let log = self.control(Access::Read).map(|block| &block.deaths);
        self.end_of_endpoint(publisher, sessions, log.ok(), deaths)
    }

    /// Returns how a subscriber ended. `deaths` is the result of [`Self::subscriber_deaths`] from a
    /// moment before the subscriber was last known to be alive.
    #[must_use]
    pub fn end_of_subscriber(&self, subscriber: EndpointId, deaths: u64) -> EndpointEnd {
        let sessions = self.reader_sessions();
        let log = self.wait_block(Access::Read).map(|block| &block.deaths);
        self.end_of_endpoint(subscriber, sessions, log.ok(), deaths)
    }

    /// Returns the number of publishers that died in this file, and whose lanes others have taken
    /// over since.
    #[must_use]
    pub fn publisher_deaths(&self) -> u64 {
        let control = self.control(Access::Read);
        control.map_or(0, |block| block.deaths.death_count())
    }

    /// Returns the number of subscribers that died in this file, and whose reader slots others have
    /// taken over since.
    #[must_use]
    pub fn subscriber_deaths(&self) -> u64 {
        let wait = self.wait_block(Access::Read);
        wait.map_or(0, |block| block.deaths.death_count())
    }

    fn end_of_endpoint(
        &self,
        endpoint: EndpointId,
        mut sessions: impl Iterator<Item = EndpointSession>,
        log: Option<&DeathLog<AtomicU64>>,
        earlier_deaths: u64,
    ) -> EndpointEnd {
        let session = sessions.nth(endpoint.place as usize).unwrap_or_default();
        if session.joined == endpoint.owner_id {
            // WHY the process decides: it may have left, and have taken the same place again.
            return match self.is_dead(endpoint.owner_id) {
                true => EndpointEnd::Died,
                false => EndpointEnd::Left,
            };
        }
        // WHY not whether the process is dead: it may have left, and ended since. If it had died in
        // the place, the endpoint that came after it would have recorded that.
        match log {
            Some(log) if log.contains_death(endpoint.place, endpoint.owner_id) => EndpointEnd::Died,
            Some(log) if log.may_have_dropped_deaths_since(earlier_deaths) => EndpointEnd::Unknown,
            _ => EndpointEnd::Left,
        }
    }

    /// Records the death of the publisher that joined lane `lane` last, unless it has left. The
    /// caller has claimed the lane, and has not joined it yet.
    pub(crate) fn record_publisher_death(&self, lane: u32) -> Result<(), OpenError> {
        // Relaxed: the claim of the lane ordered it.
        let joined = self.lane_block(lane, Access::Write)?.epoch_owner.get();
        if joined != 0 {
            self.control(Access::Write)?
                .deaths
                .record_death(lane, joined);
        }
        Ok(())
    }

    /// Records the death of the reader that joined in slot `reader` last, unless it has left. The
    /// caller has claimed the slot, and has not joined yet.
    pub(crate) fn record_subscriber_death(&self, reader: u32) -> Result<(), OpenError> {
        // Relaxed: the claim of the slot ordered it.
        let joined = self.reader_block(reader, Access::Write)?.joined.get();
        if joined != 0 {
            self.wait_block(Access::Write)?
                .deaths
                .record_death(reader, joined);
        }
        Ok(())
    }

    pub(super) fn is_owner_live(&self, owner_word: u64) -> bool {
        owner_word != 0 && !self.is_dead(owner_word)
    }

    /// Returns the process for which the owner word `owner_word` stands, alive or dead. The
    /// process's description is missing if another process has taken its entry in the registry
    /// since then.
    #[must_use]
    pub fn process_of(&self, owner_word: u64) -> Participant {
        let registry = self.file().map(|file| file.namespace.registry());
        let owner_id = owner::process_bits_of_owner(owner_word);
        let process = registry.and_then(|registry| registry.process(Owner::from_bits(owner_id)));
        Participant { owner_id, process }
    }
}
