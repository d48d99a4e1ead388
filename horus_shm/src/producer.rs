//! The producing end of a ring: one lane, and how to get past readers that do not get on.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use crate::contract::Reliability;
use crate::copy::COMMAND_BYTES;
use crate::error::{OpenError, RecvError};
use crate::fault;
use crate::gate;
use crate::lane::{Blocked, LaneWriter, NoRoom};
use crate::layout::WaitBlock;
use crate::loan::{LoanError, RawLoan};
use crate::memory::{LaneMemory, RawLane};
use crate::owner;
use crate::place::{self, FRUITLESS_MAX};
use crate::region::Access;
use crate::segment::Segment;
use crate::sync::{Word, edge};
use crate::takeover::{end_session, take_over};
use crate::telemetry;
use crate::wait::{
    Event, Order, POLL, Patience, SLICE, Sleeper, has_sleepers, wait_in_slices, wake,
};

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
    wait: *const WaitBlock<AtomicU64>,
    order: Order,
    fruitless: u32,
    /// Slots can be pinned, and are used in place.
    in_place: bool,
    /// Where the lane was when a slot of it was lent by [`Self::lend`].
    lent: Option<u64>,
    segment: Arc<Segment>,
}

// SAFETY: `wait` points into the segment, which is kept and is `Sync`; all else is `Send`.
unsafe impl Send for RawProducer {}

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
        let wait: *const _ = segment.wait_block(Access::Write)?;
        // WHY: before a lane is claimed, as `docs/memory-ordering.md` argues.
        let order = Order::of_sender(contract.wake_edge);
        let me = segment.me();
        let blocks: Vec<_> = (0..limit)
            .map(|lane| segment.lane_block(lane, Access::Write))
            .collect::<Result<_, _>>()?;
        let owners = blocks.iter().map(|block| &block.owner);
        let Some((lane, _)) = owner::claim_first(owners, me, |owner| segment.is_dead(owner)) else {
            return Err(OpenError::TooManyPublishers { limit });
        };
        let block = blocks[lane as usize];
        // A predecessor may have died waiting for room.
        segment.wait_block(Access::Write)?.room_waiters.lower(1 << lane);
        let raw = match Self::open_lane(&segment, lane) {
            Ok(raw) => raw,
            Err(error) => {
                owner::release(&block.owner);
                return Err(error);
            }
        };
        let pos = take_over(&raw, me);
        let in_place = contract.shape.request().pinnable;
        let mut writer = LaneWriter::new(raw, pos, gated, gated_only);
        if in_place {
            writer = writer.numbering();
        }
        let (refused, fruitless) = (None, 0);
        let lent = None;
        #[rustfmt::skip]
        let this = Self {
            writer, seen, lane, me, on_stalled, refused, wait, order, fruitless, in_place, lent,
            segment,
        };
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

    /// Has the kernel map the whole lane now, so that no message waits for a page. Blocks for some
    /// 0.1 ms a MiB. Does nothing before Linux 5.14.
    pub fn touch(&self) {
        self.segment.touch_lane(self.lane);
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
        let sent = match unsafe { self.write(src, bytes) } {
            Ok(()) => {
                self.tell();
                Ok(())
            }
            Err(NoRoom) => self.when_full(|this| {
                // SAFETY: the caller's contract.
                unsafe { this.write(src, bytes) }.map(|()| this.tell())
            }),
        };
        self.confirm()?;
        sent
    }

    /// Publishes `message`. Wait-free but for the probe of a dead reader.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    ///
    /// # Panics
    ///
    /// If messages of the ring cannot have that length.
    #[inline(always)]
    pub fn send_bytes(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        let request = self.segment.shape().request();
        let (bytes, max) = (message.len() as u64, request.payload_bytes);
        assert!(bytes == max || request.sized && bytes < max, "{bytes} bytes, not {max}");
        if message.len() == COMMAND_BYTES {
            // SAFETY: the slice is readable, and no longer than the payload.
            return unsafe { self.send(message.as_ptr(), COMMAND_BYTES) };
        }
        // SAFETY: as above.
        unsafe { self.send(message.as_ptr(), message.len()) }
    }

    /// [`Self::send_bytes`], but waits for room until the patience ends. Blocks as
    /// [`Self::send_until`].
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after that.
    ///
    /// # Panics
    ///
    /// As [`Self::send_bytes`].
    pub fn send_bytes_until(
        &mut self,
        patience: Patience,
        message: &[u8],
    ) -> Result<(), SendError<()>> {
        let request = self.segment.shape().request();
        let (bytes, max) = (message.len() as u64, request.payload_bytes);
        assert!(bytes == max || request.sized && bytes < max, "{bytes} bytes, not {max}");
        // SAFETY: the slice is readable, and no longer than the payload.
        unsafe { self.send_until(patience, message.as_ptr(), message.len()) }
    }

    /// After shared memory was touched: what was written may have gone into zeros that nobody
    /// shares.
    #[inline(always)]
    fn confirm(&mut self) -> Result<(), SendError<()>> {
        if fault::disturbances_after() != self.seen {
            self.look_around()?;
        }
        Ok(())
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

    /// Copies a message into the next slot and publishes it.
    ///
    /// # Safety
    ///
    /// As [`Self::send`].
    #[inline(always)]
    unsafe fn write(&mut self, src: *const u8, bytes: usize) -> Result<(), NoRoom> {
        if self.in_place {
            // SAFETY: the caller's contract.
            return unsafe { self.write_in_place(src, bytes) };
        }
        let pos = self.writer.position();
        if telemetry::is_sampled(pos) {
            telemetry::note_published(self.writer.memory().block(), pos);
        }
        // SAFETY: the caller's contract; this end owns the lane.
        unsafe { self.writer.write(src, bytes) }
    }

    /// # Safety
    ///
    /// As [`Self::send`].
    unsafe fn write_in_place(&mut self, src: *const u8, bytes: usize) -> Result<(), NoRoom> {
        let index = self.begin()?;
        // SAFETY: the caller's contract; the slot is this end's until it is committed.
        unsafe { self.writer.memory().store_exclusive(index, src, bytes) };
        self.commit(bytes as u64);
        Ok(())
    }

    /// Takes the next slot that nobody has pinned; if there is none, one that is only being copied.
    fn begin(&mut self) -> Result<u64, NoRoom> {
        let request = *self.segment.shape().request();
        let mut skips = 0;
        // Every slot is looked at twice, and every reader is asked for once.
        for _ in 0..2 * request.capacity + u64::from(request.reader_limit) {
            let begun = if skips < request.capacity {
                self.writer.begin()
            } else {
                self.writer.begin_over_copies()
            };
            match begun {
                Ok(index) => return Ok(index),
                Err(Blocked::NoRoom) => return Err(NoRoom),
                Err(Blocked::Pinned { reader }) => {
                    // WHY: the pins of the dead do not count.
                    if !place::reap(&self.segment, reader) {
                        self.writer.skip();
                        skips += 1;
                    }
                }
            }
        }
        // Every slot is borrowed, which only a damaged file can say.
        Err(NoRoom)
    }

    /// Publishes the slot that [`Self::begin`] gave.
    fn commit(&mut self, bytes: u64) {
        let pos = self.writer.position();
        if telemetry::is_sampled(pos) {
            telemetry::note_published(self.writer.memory().block(), pos);
        }
        self.writer.commit(bytes);
    }

    /// Lends the next slot, to be filled where it is.
    ///
    /// Wait-free but for the probe of a dead reader and of pins. One at a time.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn loan(&mut self) -> Result<RawLoan<'_>, LoanError> {
        let address = self.take_slot()?;
        Ok(RawLoan::new(self, address))
    }

    /// [`Self::loan`], but waits for room until the patience ends. Blocks as [`Self::send_until`].
    ///
    /// # Errors
    ///
    /// [`LoanError`]; [`LoanError::Full`] only after that.
    pub fn loan_until(&mut self, patience: Patience) -> Result<RawLoan<'_>, LoanError> {
        let address = match self.take_slot() {
            Err(LoanError::Full) => {
                let look = |this: &mut Self| match this.take_slot() {
                    Err(LoanError::Full) => None,
                    outcome => Some(outcome),
                };
                self.wait_for_room(patience, look).unwrap_or(Err(LoanError::Full))?
            }
            outcome => outcome?,
        };
        Ok(RawLoan::new(self, address))
    }

    /// [`Self::loan`] for those who cannot keep a borrow: lends the next slot until
    /// [`Self::publish_lent`] or any other send. Nobody else writes it until then; after that, and
    /// when this end is gone, the address must not be used any more.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn lend(&mut self) -> Result<NonNull<[u8]>, LoanError> {
        let address = self.take_slot()?;
        self.lent = Some(self.writer.position());
        let bytes = self.segment.shape().request().payload_bytes as usize;
        let slot = NonNull::new(std::ptr::slice_from_raw_parts_mut(address, bytes));
        slot.ok_or(LoanError::RegionLost)
    }

    /// Publishes the first `bytes` bytes of what was lent, or all of it if that is less.
    ///
    /// # Errors
    ///
    /// [`LoanError::Ended`] if nothing is lent, or something was sent since;
    /// [`LoanError::Forked`] or [`LoanError::RegionLost`].
    pub fn publish_lent(&mut self, bytes: usize) -> Result<(), LoanError> {
        if self.lent.take() != Some(self.writer.position()) {
            return Err(LoanError::Ended);
        }
        let max = self.segment.shape().request().payload_bytes;
        Ok(self.publish((bytes as u64).min(max))?)
    }

    /// Ends the loan without publishing. True if there was one.
    pub const fn discard_lent(&mut self) -> bool {
        self.lent.take().is_some()
    }

    /// Takes the next slot, to be filled. Taking it again gives the same one.
    fn take_slot(&mut self) -> Result<*mut u8, LoanError> {
        self.confirm()?;
        if !self.in_place {
            return Err(LoanError::NotPinnable { path: self.segment.path() });
        }
        let index = match self.begin() {
            Ok(index) => index,
            Err(NoRoom) => self.when_full(Self::begin)?,
        };
        self.confirm()?;
        Ok(self.writer.memory().slot(index))
    }

    /// Publishes a loan of `bytes` bytes.
    pub(crate) fn publish(&mut self, bytes: u64) -> Result<(), SendError<()>> {
        self.confirm()?;
        self.commit(bytes);
        self.tell();
        self.confirm()
    }

    /// Wakes the readers that sleep: a load of a line that rarely changes if none does.
    #[inline(always)]
    fn tell(&mut self) {
        if has_sleepers(&self.readers()) {
            self.wake();
        }
    }

    #[inline(always)]
    fn readers(&self) -> Event<'_> {
        // SAFETY: points into the segment, which this end keeps; all of it atomics.
        Event::of_messages(unsafe { &*self.wait }, Sleeper::Counted, self.order)
    }

    #[cold]
    fn wake(&mut self) {
        self.writer.memory().block().wakes.count();
        if wake(&self.readers()) > 0 {
            self.fruitless = 0;
            return;
        }
        // WHY: a sleeper that died leaves its bit, and each send would cost a system call.
        self.fruitless += 1;
        if self.fruitless < FRUITLESS_MAX {
            return;
        }
        self.fruitless = 0;
        place::reap_sleepers(&self.segment);
    }

    /// [`Self::send`], but waits for room until the patience ends.
    ///
    /// Blocks: spins, then sleeps until a reader has read on, and looks at least every 50 ms.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after that.
    ///
    /// # Safety
    ///
    /// As [`Self::send`].
    pub unsafe fn send_until(
        &mut self,
        patience: Patience,
        src: *const u8,
        bytes: usize,
    ) -> Result<(), SendError<()>> {
        // SAFETY: the caller's contract.
        match unsafe { self.send(src, bytes) } {
            Err(SendError::Full(())) => {}
            outcome => return outcome,
        }
        let look = |this: &mut Self| {
            // SAFETY: the caller's contract.
            let outcome = unsafe { this.send(src, bytes) };
            (!matches!(outcome, Err(SendError::Full(())))).then_some(outcome)
        };
        self.wait_for_room(patience, look).unwrap_or(Err(SendError::Full(())))
    }

    /// Looks until something comes of it or the patience ends, asleep until there may be room.
    fn wait_for_room<R>(
        &mut self,
        patience: Patience,
        mut look: impl FnMut(&mut Self) -> Option<R>,
    ) -> Option<R> {
        let (segment, on_stalled) = (Arc::clone(&self.segment), self.on_stalled);
        let event = segment.wait_block(Access::Write).ok().map(|block| {
            let order = Order::of_waiter(segment.contract().wake_edge);
            Event::of_room(block, Sleeper::Bit(self.lane), order)
        });
        let events: &[&Event<'_>] = match &event {
            Some(event) => &[event],
            None => &[],
        };
        // WHY: a reader is only given up by a send, so one must come by when it is time.
        let slice = match on_stalled {
            OnStalled::Detach { after } => after.clamp(POLL, SLICE),
            OnStalled::Full => SLICE,
        };
        wait_in_slices(events, patience, slice, || look(self))
    }

    /// Looks after the reader that holds this lane back, and tries again if that made room.
    #[cold]
    fn when_full<R>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<R, NoRoom>,
    ) -> Result<R, SendError<()>> {
        let now = Instant::now();
        self.writer.memory().block().refused.count();
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
            if let Ok(done) = attempt(self) {
                return Ok(done);
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
        self.writer.number()
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
        // SAFETY: as in `readers`.
        unsafe { &*self.wait }.room_waiters.lower(1 << self.lane);
        if let Ok(block) = self.segment.lane_block(self.lane, Access::Write) {
            end_session(block);
            owner::release(&block.owner);
        }
    }
}

/// The producing end of a ring of `T`. `Send`, not `Sync`: one thread at a time.
pub struct Producer<T> {
    raw: RawProducer,
    // A cell-like marker keeps the end from being shared between threads.
    marker: PhantomData<(fn(T), std::cell::Cell<()>)>,
}

// WHY: messages need not be `Debug`.
impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
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

    /// [`Self::send_ref`], but waits for room until the patience ends.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after that.
    pub fn send_until(&mut self, patience: Patience, message: &T) -> Result<(), SendError<()>> {
        let src = std::ptr::from_ref(message).cast();
        // SAFETY: as in `send_ref`.
        unsafe { self.raw.send_until(patience, src, size_of::<T>()) }
    }

    /// What lies under the type.
    #[must_use]
    pub const fn raw(&self) -> &RawProducer {
        &self.raw
    }

    pub(crate) const fn raw_mut(&mut self) -> &mut RawProducer {
        &mut self.raw
    }

    /// Messages that this lane has carried since the ring was made, by all of its owners.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.raw.position()
    }
}
