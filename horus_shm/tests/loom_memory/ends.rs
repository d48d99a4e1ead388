//! The endpoints of a modelled lane: sent messages are distinguishable, received ones are checked.

use std::ops::Range;

use horus_shm::internals::lane::{LaneReader, LaneWriter, NoRoom, PollOutcome};
use horus_shm::internals::memory::{LaneMemory, ReaderId};
use horus_shm::internals::sync::Word;
use horus_shm::internals::{gate, owner, takeover};

use super::mutation::is_step_left_out;
use super::{CopyOptions, LoomLane, MESSAGE_BYTES, UNGATED};

/// An owner word that no process has.
pub(crate) const NOBODY: u64 = u64::MAX;

/// The writing endpoint of a lane: its messages contain their sender and position.
pub(crate) struct Producer {
    pub(crate) writer: LaneWriter<LoomLane>,
    me: u64,
}

/// Returns the message of `me` at position `pos`.
pub(crate) const fn message(me: u64, pos: u64) -> u64 {
    me * 1000 + pos
}

/// Returns the messages of `me` at `positions`.
pub(crate) fn messages(me: u64, positions: Range<u64>) -> Vec<u64> {
    positions.map(|pos| message(me, pos)).collect()
}

impl Producer {
    /// Makes the lane's only producer so far.
    pub(crate) fn first(lane: &LoomLane, me: u64) -> Self {
        Self::from(lane, me, 0)
    }

    fn from(lane: &LoomLane, me: u64, pos: u64) -> Self {
        Self {
            writer: LaneWriter::new(lane.clone(), pos, lane.has_gated_readers()),
            me,
        }
    }

    /// Claims a lane that is free, or whose owner is `dead`, and takes it over.
    pub(crate) fn claim(lane: &LoomLane, me: u64, dead: u64) -> Option<Self> {
        Self::claim_from(lane, me, |owner| owner == dead)
    }

    /// As [`Self::claim`], with a predicate for dead owners.
    pub(crate) fn claim_from(
        lane: &LoomLane,
        me: u64,
        is_dead: impl Fn(u64) -> bool,
    ) -> Option<Self> {
        let owners = [&lane.block().owner];
        owner::claim_first_free_entry(owners.into_iter(), me, is_dead)?;
        Some(Self::from(lane, me, takeover::take_over(lane, me)))
    }

    /// Leaves as the drop of a `RawProducer`.
    pub(crate) fn leave(self) {
        let block = self.writer.memory().block();
        if !is_step_left_out("session/end") {
            takeover::end_session(block);
        }
        owner::release_entry(&block.owner);
    }

    pub(crate) fn send(&mut self) -> Result<(), NoRoom> {
        let value = message(self.me, self.writer.position());
        let bytes = [value; 2];
        // SAFETY: a message is readable for its size, and each model has one live producer.
        unsafe { self.writer.write(bytes.as_ptr().cast(), MESSAGE_BYTES) }
    }

    /// Sends as [`Self::send`] does. If the slowest reader is dead, and its place is held, abandons
    /// its gate and tries again.
    pub(crate) fn send_or_abandon(&mut self) {
        if self.send() == Ok(()) {
            return;
        }
        let Some((reader, cursor)) = self.writer.slowest_reader() else {
            return;
        };
        let word = self.writer.memory().reader_owner(reader);
        if owner::try_abandon_gate(word).is_some() {
            self.writer
                .stop_waiting_for_reader(reader, cursor, ReaderId::default());
            let _ = self.send();
        }
    }

    pub(crate) fn send_all(&mut self, messages: u64) {
        (0..messages).for_each(|_| self.send().unwrap());
    }
}

/// The messages from before it joined that a late joiner requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History {
    pub(crate) messages: u64,
    /// It includes ended sessions.
    pub(crate) persists: bool,
    /// The owner that the joiner finds dead.
    pub(crate) dead: u64,
}

impl History {
    /// Requests the last `messages` of a session that lasts, unless its owner is `dead`.
    pub(crate) const fn of_the_living(messages: u64, dead: u64) -> Self {
        Self {
            messages,
            persists: false,
            dead,
        }
    }

    /// Requests the last `messages` of any sender.
    pub(crate) const fn of_all(messages: u64) -> Self {
        Self {
            messages,
            persists: true,
            dead: NOBODY,
        }
    }
}

/// The reading endpoint of a lane: checks each message, and accounts for all.
pub(crate) struct Consumer {
    pub(crate) reader: LaneReader<LoomLane>,
    pub(crate) start: u64,
    pub(crate) delivered: Vec<u64>,
}

impl Consumer {
    pub(crate) fn ungated(lane: &LoomLane, start: u64) -> Self {
        Self::gated(lane, UNGATED, start)
    }

    /// Makes reader `reader`, which has joined the lane.
    pub(crate) fn gated(lane: &LoomLane, reader: u32, start: u64) -> Self {
        let reader = LaneReader::new(lane.clone(), start, reader);
        Self {
            reader,
            start,
            delivered: Vec::new(),
        }
    }

    /// Makes gated reader `reader`, which joins the lane here, at the head.
    pub(crate) fn join(lane: &LoomLane, reader: u32) -> Self {
        lane.announce(reader);
        Self::gated(lane, reader, gate::join_lane(lane, reader, u64::MAX))
    }

    /// Makes a gated reader in a place that it claims, free or of `dead`, as a `RawConsumer`
    /// without history, that of an `SpscShm`.
    pub(crate) fn adopt(lane: &LoomLane, me: u64, dead: u64) -> Option<Self> {
        Self::adopt_from(lane, me, |owner| owner == dead)
    }

    /// As [`Self::adopt`], with a predicate for dead owners.
    pub(crate) fn adopt_from(
        lane: &LoomLane,
        me: u64,
        is_dead: impl Fn(u64) -> bool,
    ) -> Option<Self> {
        let (reader, predecessor) =
            owner::hold_first_free_slot(lane.reader_owners(), me, is_dead, || false)?;
        let word = lane.reader_owner(reader);
        let resumes = predecessor != 0
            && lane.gated_reader_mask().get() & 1 << reader != 0
            && owner::try_continue_gate(word, predecessor, me);
        let resumed = if resumes {
            gate::dead_reader_position(lane, reader)
        } else {
            lane.ungate(reader);
            owner::own_held_slot(word);
            lane.announce(reader);
            None
        };
        let start = resumed.unwrap_or_else(|| gate::join_lane(lane, reader, u64::MAX));
        Some(Self::gated(lane, reader, start))
    }

    /// Makes a reader with the history that it requests, gated as `reader` or [`UNGATED`], as a
    /// `RawConsumer`.
    pub(crate) fn late(lane: &LoomLane, reader: u32, asked: History) -> Self {
        let (mut head, session) =
            takeover::head_and_live_session_start(lane.block(), |owner| owner == asked.dead);
        if session.is_none_or(|start| start > head) && !is_step_left_out("session/pass over") {
            head = takeover::first_unpublished_position(lane, head);
        }
        let floor = if asked.persists {
            Some(takeover::history_start(lane.block(), head))
        } else {
            session.map(|start| start.min(head))
        };
        let history = asked.messages.min(lane.capacity() * 7 / 8);
        let back_to = floor.map(|floor| head.saturating_sub(history).max(floor));
        if reader == UNGATED {
            return Self::ungated(lane, back_to.unwrap_or(head));
        }
        let least = if is_step_left_out("session/least") {
            0
        } else {
            back_to.unwrap_or(head)
        };
        let back_to = back_to.filter(|_| history > 0).unwrap_or(u64::MAX);
        lane.announce(reader);
        Self::gated(
            lane,
            reader,
            gate::join_lane(lane, reader, back_to).max(least),
        )
    }

    pub(crate) fn poll(&mut self) -> PollOutcome {
        // SAFETY: the closure passes a message that is writable for its size.
        self.look(|reader, dst| unsafe { reader.read(dst, MESSAGE_BYTES) })
    }

    /// Receives all available messages, up to `limit`, and publishes its cursor in steps of `step`.
    pub(crate) fn drain(&mut self, limit: u64, step: u64) -> u64 {
        let load = |lane: &LoomLane, index| {
            let mut bytes = [0u64; 2];
            let dst = bytes.as_mut_ptr().cast();
            match lane.copying() {
                // SAFETY: the message is writable for its size.
                CopyOptions::Racing => unsafe { lane.load_racing(index, dst, MESSAGE_BYTES) },
                // SAFETY: as above, and the reader is gated.
                CopyOptions::Exclusive | CopyOptions::ByHead => unsafe {
                    lane.load_exclusive(index, dst, MESSAGE_BYTES)
                },
            }
            Some(bytes)
        };
        let delivered = &mut self.delivered;
        self.reader.drain(limit, step, load, |[value, same]| {
            assert_eq!(value, same, "torn");
            delivered.push(value);
        })
    }

    pub(crate) fn poll_latest(&mut self) -> PollOutcome {
        // SAFETY: the closure passes a message that is writable for its size.
        self.look(|reader, dst| unsafe { reader.read_latest(dst, MESSAGE_BYTES) })
    }

    fn look(
        &mut self,
        read: impl Fn(&mut LaneReader<LoomLane>, *mut u8) -> PollOutcome,
    ) -> PollOutcome {
        let mut bytes = [0u64; 2];
        let before = self.reader.position();
        let polled = read(&mut self.reader, bytes.as_mut_ptr().cast());
        if polled == PollOutcome::Message {
            let [value, same] = bytes;
            assert_eq!(value, same, "torn");
            assert_eq!(
                value % 1000 + 1,
                self.reader.position(),
                "not this position's message"
            );
            assert!(self.reader.position() > before, "delivered twice");
            self.delivered.push(value);
        }
        let passed = self.delivered.len() as u64 + self.reader.lost() + self.reader.skipped();
        assert_eq!(self.start + passed, self.reader.position(), "miscounted");
        polled
    }

    pub(crate) fn polls(mut self, polls: u32) -> Self {
        for _ in 0..polls {
            self.poll();
        }
        self
    }

    /// Reads all that is left, once the lane is at rest at position `end`.
    pub(crate) fn finish(&mut self, end: u64) -> &[u64] {
        while self.poll() == PollOutcome::Message {}
        assert_eq!(self.reader.position(), end, "not at the end of the lane");
        &self.delivered
    }
}
