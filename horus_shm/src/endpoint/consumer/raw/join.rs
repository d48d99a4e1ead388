//! Joining a topic: reader slots, the start in each lane, and lanes that appear later.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::waits::Room;
use super::{Followed, RawConsumer, Reading};
use crate::endpoint::consumer::watch::Progress;
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::error::{LaneNotMapped, OpenError, RecvError};
use crate::file::segment::Blocks as _;
use crate::os::cancel::NoCancelGuard;
use crate::os::region::Access;
use crate::protocol::gate;
use crate::protocol::lane::{self, LaneReader};
use crate::protocol::layout::POSITION_MAX;
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::{Word, edge};
use crate::protocol::takeover;

/// The start of a reader in a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Start {
    pub(super) position: u64,
    /// Number of the first message owed to it; `None` if it takes the first one it finds.
    pub(super) number: Option<u64>,
}

/// The pause between two attempts to map a lane: each attempt is a few system calls.
const RETRY_PERIOD: Duration = Duration::from_millis(100);

/// An attempt to map all lanes that failed for some.
#[derive(Debug)]
pub(super) struct Failed {
    /// The first of them whose messages this reader misses.
    error: Option<LaneNotMapped>,
    /// The number of such lanes.
    lanes: u64,
    /// The ready bits that were tried.
    ready: u64,
    at: Instant,
}

impl RawConsumer {
    /// Claims a reader slot, and joins every lane. `resumes`: at the cursors of a gated reader that
    /// died, if possible.
    pub(super) fn join(&mut self, resumes: bool) -> Result<(), OpenError> {
        let segment = Arc::clone(&self.segment);
        let mut resumed = false;
        if self.reading == Reading::Observer {
            segment.observe();
        } else {
            let claimed = ReaderSlot::claim(&segment, resumes)?;
            let place = self.place.insert(Arc::new(claimed.slot));
            resumed = claimed.resumed;
            self.progress = Arc::new(Progress::announced(&segment, place.index())?);
            if self.in_place {
                place.announce_pins();
            }
        }
        if self.reading == Reading::Gated {
            // WHY before the first cursor: a process that wakes others must be registered with the
            // kernel.
            self.room = Some(Room::of(&segment)?);
            if !resumed {
                let wait = segment.wait_block(Access::Write)?;
                gate::announce(&wait.gated, self.progress.reader());
            }
        }
        for lane in 0..self.starts.len() as u32 {
            self.starts[lane as usize] = self.start(lane, resumed)?;
            self.publish_start(lane);
        }
        self.publish_counters();
        Ok(())
    }

    /// Publishes the start in a lane as the reader's cursor. That of a gated reader already holds
    /// the writer back, at this position or before it.
    fn publish_start(&self, lane: u32) {
        let position = self.starts[lane as usize].position;
        // ORDERING(cursor): pairs with the load in `LaneWriter::find_room`.
        Word::store(
            self.progress.cursor(lane),
            position + 1,
            edge::CURSOR_ADVANCE,
        );
    }

    /// Returns the start in a lane; a gated reader joins it.
    fn start(&self, lane: u32, resumed: bool) -> Result<Start, OpenError> {
        let contract = self.segment.contract();
        let block = self.segment.lane_block(lane, Access::Read)?;
        let (mut head, session) = takeover::session(block, |owner| self.segment.is_dead(owner));
        let mut ended = None;
        if session.is_none_or(|start| start > head) && self.is_ready(lane) {
            let memory = self.map(lane)?;
            head = takeover::pass_over(&memory, head);
            ended = Some(memory);
        }
        let floor = if contract.persists {
            Some(0)
        } else {
            session.map(|start| start.min(head))
        };
        // WHY: as far back as a lapped reader would go, no further.
        let history = u64::from(contract.history).min(contract.shape.capacity() * 7 / 8);
        let back_to = floor.map(|floor| head.saturating_sub(history).max(floor));
        let mut position = back_to.unwrap_or(head);
        if self.reading == Reading::Gated {
            let memory = self.lane_without_slots(lane)?;
            let reader = self.progress.reader();
            if let Some(position) = gate::resume(&memory, reader).filter(|_| resumed) {
                let number = lane::number_at(block, position);
                return Ok(Start { position, number });
            }
            let back_to = back_to.filter(|_| history > 0).unwrap_or(u64::MAX);
            // WHY: the head at which the reader joins may be before the positions just passed.
            position = gate::join(&memory, reader, back_to).max(position);
        }
        if !self.in_place {
            return Ok(Start {
                position,
                number: Some(position),
            });
        }
        if back_to.is_some_and(|back_to| back_to < head) {
            // If there are skips in between, their number is unknown until they are read.
            return Ok(Start {
                position,
                number: lane::number_at(block, position),
            });
        }
        self.start_numbered(lane, ended.as_ref())
    }

    /// Starts behind the last message of a pinnable lane, whose number is known. `ended` is the
    /// lane if its session has ended.
    fn start_numbered(&self, lane: u32, ended: Option<&RawLane>) -> Result<Start, OpenError> {
        let (number, position) = match ended {
            Some(memory) => lane::count_all(memory),
            None => lane::count(self.segment.lane_block(lane, Access::Read)?),
        };
        Ok(Start {
            position,
            number: Some(number),
        })
    }

    fn is_ready(&self, lane: u32) -> bool {
        // ORDERING(ready): pairs with the bits set in `RawProducer::open_lane`.
        Word::load(self.ready(), edge::READY_SEE) & 1 << lane != 0
    }

    /// Maps a lane whose ready bit is set.
    fn map(&self, lane: u32) -> Result<RawLane, OpenError> {
        // WHY: with a wrong bit this process would read a hole, which on a full file system raises
        // SIGBUS. Reserving what is reserved costs one system call.
        self.segment.reserve_lane(lane)?;
        let readers = self.progress.readers();
        self.segment.lane(lane, Access::Read, readers)
    }

    /// Returns block and cursors of a lane, without its slots.
    fn lane_without_slots(&self, lane: u32) -> Result<RawLane, OpenError> {
        let readers = self.progress.readers();
        let parts = self
            .segment
            .lane_without_slots(lane, Access::Read, readers)?;
        // SAFETY: block and cursors are mapped by the segment; no slot is accessed.
        Ok(unsafe { RawLane::new(parts) })
    }

    #[inline(always)]
    fn ready(&self) -> &AtomicU64 {
        // SAFETY: it points into the segment, which this consumer keeps; it is an atomic.
        unsafe { &*self.ready }
    }

    #[inline(always)]
    pub(in crate::endpoint::consumer) fn look_for_lanes(&mut self) {
        // ORDERING(ready): pairs with the bits set in `RawProducer::open_lane`.
        let ready = Word::load(self.ready(), edge::READY_SEE);
        if ready != self.known {
            self.discover(ready);
        }
    }

    /// Maps the lanes whose bits are set in `ready`. If a lane cannot be mapped, it is tried again
    /// after [`RETRY_PERIOD`], and [`Self::check`] meanwhile returns the error.
    #[cold]
    fn discover(&mut self, ready: u64) {
        if let Some(failed) = &self.failed
            && failed.ready == ready
            && failed.at.elapsed() < RETRY_PERIOD
        {
            return;
        }
        let _uncancelled = NoCancelGuard::new();
        let mut failed = Failed {
            error: None,
            lanes: 0,
            ready,
            at: Instant::now(),
        };
        let mut complete = true;
        for lane in 0..self.starts.len() as u32 {
            let bit = 1 << lane;
            if ready & bit == 0 || self.mapped & bit != 0 {
                continue;
            }
            let raw = match self.map(lane) {
                Ok(raw) => raw,
                Err(cause) => {
                    complete = false;
                    if let Some(error) = self.not_mapped(lane, &cause) {
                        failed.lanes += 1;
                        failed.error.get_or_insert(error);
                    }
                    continue;
                }
            };
            let Start { position, number } = self.starts[lane as usize];
            let mut reader = LaneReader::new(raw, position, self.progress.reader());
            if self.in_place {
                reader = reader.numbering(number);
            }
            self.lanes.push(Followed { lane, reader });
            self.mapped |= bit;
        }
        self.note_failed((!complete).then(|| Box::new(failed)));
        if complete {
            self.known = ready;
        }
    }

    /// Stores the result of an attempt to map all lanes, also for the watches of this reader.
    fn note_failed(&mut self, failed: Option<Box<Failed>>) {
        let error = |failed: &Option<Box<Failed>>| failed.as_ref().and_then(|failed| failed.error);
        let before = error(&self.failed);
        let now = error(&failed);
        self.failed = failed;
        if now != before {
            self.progress.set_unmapped(now);
        }
    }

    /// Returns the error of a lane that cannot be mapped; `None` if this reader misses nothing by
    /// it, because no publisher has the lane, and no message waits there.
    fn not_mapped(&self, lane: u32, cause: &OpenError) -> Option<LaneNotMapped> {
        let range = self.segment.shape().lane(lane);
        let error = LaneNotMapped::new(lane, range.end - range.start, cause);
        // Relaxed, both: a publisher that comes later is found by the next attempt.
        let matters = self
            .segment
            .lane_block(lane, Access::Read)
            .map_or(true, |block| {
                let waiting = block.head.get() > self.starts[lane as usize].position;
                block.owner.get() != 0 || waiting
            });
        matters.then_some(error)
    }

    /// Returns the error of a lane that could not be mapped when it was last tried.
    #[inline]
    pub(super) fn expect_mapped(&self) -> Result<(), RecvError> {
        match self.failed.as_ref().and_then(|failed| failed.error) {
            Some(cause) => Err(RecvError::LaneNotMapped {
                topic: self.segment.label(),
                cause,
            }),
            None => Ok(()),
        }
    }

    /// Returns the number of lanes with the error of [`Self::expect_mapped`].
    pub(super) fn unmapped(&self) -> u64 {
        self.failed.as_ref().map_or(0, |failed| failed.lanes)
    }

    /// Returns the bit of a lane in masks, if the topic can have that lane.
    fn lane_bit(&self, lane: u32) -> Option<u64> {
        ((lane as usize) < self.starts.len()).then(|| 1 << lane)
    }

    /// Leaves lane `lane` out of everything, the ledger included. For the lane of the participant
    /// itself.
    ///
    /// Does nothing if the topic cannot have this lane.
    pub fn ignore(&mut self, lane: u32) {
        let Some(bit) = self.lane_bit(lane).filter(|bit| self.ignored & bit == 0) else {
            return;
        };
        self.ignored |= bit;
        self.mapped |= bit;
        if let Some(at) = self.lanes.iter().position(|followed| followed.lane == lane) {
            let reader = self.lanes.remove(at).reader;
            let start = self.starts[lane as usize];
            let passed = match reader.numbers() {
                Some((first, next)) => next.wrapping_sub(first),
                None => reader.position().wrapping_sub(start.position),
            };
            let skipped = reader.lost().wrapping_add(reader.skipped());
            let received = passed.wrapping_sub(skipped);
            self.received = self.received.saturating_sub(received);
            self.rested = self.received;
            self.next = 0;
        }
        gate::leave(self.progress.cursor(lane));
        self.publish_counters();
    }

    /// Receives from lane `lane` again, from now on, after [`Self::ignore`]: its next owner may be
    /// another participant.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`]; the lane stays ignored.
    pub fn include(&mut self, lane: u32) -> Result<(), OpenError> {
        let Some(bit) = self.lane_bit(lane).filter(|bit| self.ignored & bit != 0) else {
            return Ok(());
        };
        let memory = self.lane_without_slots(lane)?;
        let position = match self.reading {
            Reading::Gated => gate::join(&memory, self.progress.reader(), u64::MAX),
            // ORDERING(head): pairs with the store in `LaneWriter::publish`.
            _ => Word::load(&memory.block().head, edge::HEAD_SEE).min(POSITION_MAX),
        };
        let plain = Start {
            position,
            number: Some(position),
        };
        let start = if self.in_place {
            self.start_numbered(lane, None)?
        } else {
            plain
        };
        self.starts[lane as usize] = start;
        self.publish_start(lane);
        self.ignored &= !bit;
        self.publish_counters();
        self.mapped &= !bit;
        // WHY: the next call then looks for lanes.
        self.known = 0;
        self.note_failed(None);
        Ok(())
    }
}
