//! The producing end of a ring: one lane, and how to get past readers that do not get on.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use crate::contract::Reliability;
use crate::error::{OpenError, RecvError};
use crate::fault;
use crate::gate;
use crate::lane::LaneWriter;
use crate::memory::RawLane;
use crate::owner;
use crate::region::Access;
use crate::segment::Segment;
use crate::sync::{Word, edge};
use crate::takeover::{end_session, take_over};

/// A full producer asks at most this often whether the reader it waits for is alive.
const PROBE_PERIOD: Duration = Duration::from_millis(1);

/// What a producer does about a live reliable reader that does not get on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStalled {
    /// Refuse the send with [`SendError::Full`], for as long as it takes.
    #[default]
    Full,
    /// Refuse the send for this long, then go on without that reader until it moves again (up to
    /// a lane later it can still be overrun). It learns what it lost, exactly.
    Detach {
        /// Since the first refusal of the message at hand.
        after: Duration,
    },
}

/// Why a message was not sent; it comes back.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// A reliable reader is a whole lane behind. Transient: try again when it has read.
    #[error("a reliable reader is a whole lane behind: try again, or detach stalled readers")]
    Full(T),
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("the handle belongs to the parent process: open a new one after fork")]
    Forked(T),
    /// The ring's memory is gone: its file was truncated under us. Permanent: open it again.
    #[error("the ring's file was truncated: drop all of its handles and open it again")]
    RegionLost(T),
}

impl<T> SendError<T> {
    /// The message that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(message) | Self::Forked(message) | Self::RegionLost(message) => message,
        }
    }

    /// True if trying again later is useful.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// The same refusal of another message.
    pub fn with<U>(self, message: U) -> SendError<U> {
        match self {
            Self::Full(_) => SendError::Full(message),
            Self::Forked(_) => SendError::Forked(message),
            Self::RegionLost(_) => SendError::RegionLost(message),
        }
    }
}

// WHY: messages need not be `Debug`, and can be large.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Forked(_) => "Forked(..)",
            Self::RegionLost(_) => "RegionLost(..)",
        })
    }
}

/// A run of refusals of the same message.
#[derive(Debug, Clone, Copy)]
struct Refused {
    position: u64,
    since: Instant,
    /// When the reader in the way was last asked for.
    probed: Instant,
}

/// The producing end, whatever its messages are.
#[derive(Debug)]
pub struct RawProducer {
    writer: LaneWriter<RawLane>,
    /// Disturbances that did not concern this end.
    seen: u64,
    lane: u32,
    me: u64,
    on_stalled: OnStalled,
    refused: Option<Refused>,
    segment: Arc<Segment>,
}

impl RawProducer {
    /// Claims a lane: a free one, or one whose owner is dead, where that one stopped.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManyPublishers`], [`OpenError::NoSpace`], [`OpenError::Forked`],
    /// [`OpenError::RegionLost`] or [`OpenError::Io`].
    pub fn new(segment: Arc<Segment>, on_stalled: OnStalled) -> Result<Self, OpenError> {
        let seen = segment.expect_usable()?;
        let contract = segment.contract();
        let (gated_only, limit) = (contract.gated_only, contract.shape.request().lane_limit);
        let gated = gated_only || contract.reliability == Reliability::Reliable;
        let me = segment.me();
        let blocks: Vec<_> = (0..limit)
            .map(|lane| segment.lane_block(lane, Access::Write))
            .collect::<Result<_, _>>()?;
        let owners = blocks.iter().map(|block| &block.owner);
        let Some((lane, _)) = owner::claim_first(owners, me, |owner| segment.is_dead(owner)) else {
            return Err(OpenError::TooManyPublishers { limit });
        };
        let block = blocks[lane as usize];
        let raw = match Self::open_lane(&segment, lane) {
            Ok(raw) => raw,
            Err(error) => {
                owner::release(&block.owner);
                return Err(error);
            }
        };
        let pos = take_over(&raw, me);
        let writer = LaneWriter::new(raw, pos, gated, gated_only);
        let this = Self { writer, seen, lane, me, on_stalled, refused: None, segment };
        // WHY: a lane of zeros was never claimed; the drop of this end knows what to do with it.
        this.segment.expect_usable()?;
        Ok(this)
    }

    /// Reserves and maps the lane, and tells readers that it is there.
    fn open_lane(segment: &Segment, lane: u32) -> Result<RawLane, OpenError> {
        let block = segment.lane_block(lane, Access::Write)?;
        segment.reserve_lane(lane)?;
        let raw = segment.lane(lane, Access::Write, Access::Write)?;
        block.ready.set(1);
        // ORDERING(ready): pairs with the load in `RawConsumer::look_for_lanes`.
        segment.control(Access::Write)?.ready.set_bits(1 << lane, edge::READY_PUBLISH);
        Ok(raw)
    }

    /// Publishes the `bytes` bytes at `src`. Wait-free but for the probe of a dead reader.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`], [`SendError::Forked`] or [`SendError::RegionLost`].
    ///
    /// # Safety
    ///
    /// `src` is readable for `bytes` bytes, which are at most the payload of the ring.
    #[inline(always)]
    pub unsafe fn send(&mut self, src: *const u8, bytes: usize) -> Result<(), SendError<()>> {
        if fault::disturbances() != self.seen {
            self.look_around()?;
        }
        // SAFETY: the caller's contract; this end owns the lane.
        let sent = match unsafe { self.writer.write(src, bytes) } {
            Ok(()) => Ok(()),
            // SAFETY: the caller's contract.
            Err(_) => unsafe { self.send_when_full(src, bytes) },
        };
        // WHY again: what was just written may have gone into zeros that nobody shares.
        if fault::disturbances_after() != self.seen {
            self.look_around()?;
        }
        sent
    }

    /// Finds out whether a disturbance concerns this end.
    #[cold]
    fn look_around(&mut self) -> Result<(), SendError<()>> {
        self.seen = self.segment.look_around().map_err(|error| match error {
            RecvError::Forked => SendError::Forked(()),
            RecvError::RegionLost => SendError::RegionLost(()),
        })?;
        Ok(())
    }

    /// Looks after the reader that holds this lane back, and tries again if that made room.
    ///
    /// # Safety
    ///
    /// As [`Self::send`].
    #[cold]
    unsafe fn send_when_full(&mut self, src: *const u8, bytes: usize) -> Result<(), SendError<()>> {
        let now = Instant::now();
        let position = self.position();
        // WHY: a send that succeeded since then began a new run, without having to say so.
        let run = self.refused.filter(|run| run.position == position);
        if run.is_some_and(|run| now - run.probed < PROBE_PERIOD) {
            return Err(SendError::Full(()));
        }
        let since = run.map_or(now, |run| run.since);
        self.refused = Some(Refused { position, since, probed: now });
        // Every gate may need it, one after the other.
        for _ in 0..self.segment.shape().request().gate_limit {
            if !self.clear_slowest_gate(now - since) {
                break;
            }
            // SAFETY: the caller's contract; this end owns the lane.
            if unsafe { self.writer.write(src, bytes) }.is_ok() {
                return Ok(());
            }
        }
        Err(SendError::Full(()))
    }

    /// Frees the slowest gate if its owner is dead, or gives it up if it stalled for too long.
    fn clear_slowest_gate(&mut self, stalled: Duration) -> bool {
        let Some((gate, cursor)) = self.writer.slowest_gate() else { return true };
        let Ok(block) = self.segment.gate_block(gate, Access::Write) else { return false };
        // Relaxed: the exchange in `gate::free` decides.
        let owner = block.owner.get();
        if owner == 0 || self.segment.is_dead(owner) {
            let Ok(cursors) = self.segment.cursors(gate, Access::Write) else { return false };
            // WHY: a probe by system call came before, and the dead reader's last loads before
            // its lock was released; the exchange keeps two reapers from each other.
            return gate::free(block, cursors.iter(), owner, self.me);
        }
        match self.on_stalled {
            OnStalled::Detach { after } if stalled >= after && !self.is_exclusive() => {
                self.writer.give_up(gate, cursor);
                block.detached.count();
                true
            }
            _ => false,
        }
    }

    fn is_exclusive(&self) -> bool {
        self.segment.contract().gated_only
    }

    /// Messages that this lane has carried since the file was made, by all of its owners.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.writer.position()
    }

    /// Index of the lane.
    #[must_use]
    pub const fn lane(&self) -> u32 {
        self.lane
    }

    /// The topic.
    #[must_use]
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

impl Drop for RawProducer {
    fn drop(&mut self) {
        // A forked child owns nothing here.
        if self.segment.is_forked() {
            return;
        }
        if let Ok(block) = self.segment.lane_block(self.lane, Access::Write) {
            end_session(block);
            owner::release(&block.owner);
        }
    }
}

/// The producing end of a ring of `T`. `Send`, not `Sync`: one thread at a time.
#[derive(Debug)]
pub struct Producer<T> {
    raw: RawProducer,
    // A cell-like marker keeps the end from being shared between threads.
    marker: PhantomData<(fn(T), std::cell::Cell<()>)>,
}

impl<T: Pod> Producer<T> {
    /// A typed view of `raw`.
    ///
    /// # Panics
    ///
    /// If the ring's messages are not of the size of `T`.
    #[must_use]
    pub fn new(raw: RawProducer) -> Self {
        let bytes = raw.segment.shape().request().payload_bytes;
        assert_eq!(bytes, size_of::<T>() as u64, "the ring's payload has another size");
        Self { raw, marker: PhantomData }
    }

    /// Copies `message` into the next slot and publishes it, without blocking.
    ///
    /// Wait-free: no loop, no allocation, no system call, unless a reliable reader is a whole lane
    /// behind; then it is looked after, by a few system calls at most once a millisecond.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if a reliable reader is a whole lane behind; [`SendError::Forked`] in a
    /// forked child; [`SendError::RegionLost`] if the ring's file was truncated (the message may
    /// have been delivered before). The message comes back.
    #[inline(always)]
    pub fn send(&mut self, message: T) -> Result<(), SendError<T>> {
        self.send_ref(&message).map_err(|error| error.with(message))
    }

    /// [`Self::send`] for a message that is already in memory: one copy less of a large one.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    #[inline(always)]
    pub fn send_ref(&mut self, message: &T) -> Result<(), SendError<()>> {
        let src = std::ptr::from_ref(message).cast();
        // SAFETY: a `T` is readable for its size, which `new` compared with the ring's payload.
        unsafe { self.raw.send(src, size_of::<T>()) }
    }

    /// What lies under the type.
    #[must_use]
    pub const fn raw(&self) -> &RawProducer {
        &self.raw
    }

    /// Messages that this lane has carried since the ring was made, by all of its owners.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.raw.position()
    }
}
