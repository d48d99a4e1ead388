//! Counters of a topic's participants, for other processes to read.

use std::sync::atomic::AtomicU64;

use crate::file::segment::{Blocks as _, Segment};
use crate::os::region::Access;
use crate::process::liveness::{Owner, ProcessInfo};
use crate::protocol::lane::count;
use crate::protocol::layout::ReaderBlock;
use crate::protocol::sync::Word;
use crate::protocol::telemetry::Latencies;

/// The counters of a lane that carries messages, or carried some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneCounters {
    /// Index of the lane.
    pub lane: u32,
    /// Its publisher, if it is alive.
    pub publisher: Option<Participant>,
    /// Number of messages that it has carried since the topic was made, by all of its publishers.
    pub sent: u64,
    /// Number of times that it was claimed.
    pub claims: u64,
    /// Number of writes interrupted by the death of a publisher.
    pub aborted: u64,
    /// Number of takeovers that found the lane damaged.
    pub corrupt_resyncs: u64,
    /// Number of sends refused because a reliable subscriber was a whole lane behind.
    pub refused: u64,
    /// Number of wakes of sleeping subscribers, each a system call.
    pub wakes: u64,
    /// Number of positions skipped because a subscriber held the message in the slot.
    pub skips: u64,
}

/// The counters of a live subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderCounters {
    /// Index of its reader slot.
    pub place: u32,
    /// The process.
    pub subscriber: Participant,
    /// Number of messages delivered to it.
    pub received: u64,
    /// Number of messages overwritten before it read them. Up to 256 messages out of date.
    pub lost: u64,
    /// Number of messages that it skipped. As out of date as `lost`.
    pub skipped: u64,
    /// Number of calls in which the publishers were faster. As out of date as `lost`.
    pub busy: u64,
    /// Number of messages that it has borrowed at the moment.
    pub borrowed: u32,
    /// True if it sleeps until a message comes.
    pub asleep: bool,
    /// Histogram of the latencies of sampled messages to it.
    pub latencies: Latencies,
}

/// A process that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Participant {
    /// Pid, start time and name of the process, for people. `None` in a ring on the heap.
    pub process: Option<ProcessInfo>,
}

impl Segment {
    /// Returns the counters of the lanes that were ever claimed. Only reads; some 0.3 µs a lane.
    #[must_use]
    pub fn lane_figures(&self) -> Vec<LaneCounters> {
        let lanes = 0..self.shape().request().lane_limit;
        lanes.filter_map(|lane| self.figures_of_lane(lane)).collect()
    }

    fn figures_of_lane(&self, lane: u32) -> Option<LaneCounters> {
        let block = self.lane_block(lane, Access::Read).ok()?;
        // Relaxed, here and below: counters for people.
        let claims = block.epoch.get();
        let (sent, position) = count(block);
        (claims > 0).then(|| LaneCounters {
            lane,
            publisher: self.participant(block.owner.get()),
            sent,
            claims,
            aborted: block.aborted.get(),
            corrupt_resyncs: block.corrupt_resync.get(),
            refused: block.refused.get(),
            wakes: block.wakes.get(),
            skips: position.saturating_sub(sent),
        })
    }

    /// Returns the counters of the announced subscribers that are alive. Only reads; some 0.3 µs
    /// each.
    #[must_use]
    pub fn reader_figures(&self) -> Vec<ReaderCounters> {
        let waiters = self.wait_block(Access::Read).map_or(0, |wait| wait.waiters.get());
        let readers = 0..self.shape().request().reader_limit;
        let figures = readers.filter_map(|place| {
            let block = self.reader_block(place, Access::Read).ok()?;
            let subscriber = self.participant(block.owner.get())?;
            Some(figures_of_reader(place, block, subscriber, waiters))
        });
        figures.collect()
    }

    /// Returns the live process that an owner word names.
    pub(crate) fn participant(&self, owner: u64) -> Option<Participant> {
        let lives = owner != 0 && !self.is_dead(owner);
        lives.then(|| {
            let registry = self.file().map(|file| file.namespace.registry());
            let process = registry.and_then(|registry| registry.process(Owner::from_bits(owner)));
            Participant { process }
        })
    }
}

fn figures_of_reader(
    place: u32,
    block: &ReaderBlock<AtomicU64>,
    subscriber: Participant,
    waiters: u64,
) -> ReaderCounters {
    ReaderCounters {
        place,
        subscriber,
        received: block.received.get(),
        lost: block.lost.get(),
        skipped: block.skipped.get(),
        busy: block.busy.get(),
        borrowed: block.pins.iter().filter(|pin| pin.get() != 0).count() as u32,
        asleep: waiters & 1 << place != 0,
        latencies: Latencies::of(block),
    }
}
