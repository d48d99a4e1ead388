//! Watches. A watch is for a thread that waits on behalf of a consumer without holding the
//! consumer. It tells whether there is a message for the consumer, and can sleep until there is
//! one.

use std::iter;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::alarm;
use super::health::{ConsumerHealth, ConsumerHealthWatch};
use super::unmatched::UnmatchedLanes;
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::counters::MismatchedPublisher;
use crate::file::error::{LaneNotMapped, OpenError};
use crate::file::match_settings::{MatchSettings, Mismatch};
use crate::file::name_watch::NameState;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::fault;
use crate::os::futex::monotonic_time;
use crate::os::region::{Access, Region};
use crate::protocol::gate::JOINING_BIT;
use crate::protocol::layout::{POSITION_MAX, ReaderBlock, WaitBlock};
use crate::protocol::memory::ReaderBlocks;
use crate::protocol::reading::ReadLanes;
use crate::protocol::shape::reader_bytes;
use crate::protocol::sync::{Word, edge};
use crate::wait::{
    EVENTCOUNTS_MAX, Eventcount, EventcountView, LocalEventcount, POLL_INTERVAL, SLEEP_MAX,
    WaitPolicy, sleep_once, wait_in_slices, wake,
};

/// Maximum length of a sleep of a thread that need not poll, because another thread wakes it when
/// one of its watches [is due](Watch::is_due).
const UNPOLLED_SLEEP_MAX: Duration = Duration::from_secs(3600);

/// The bookkeeping block and the cursors of a consumer in one file. Other threads read them to wait
/// on the consumer's behalf.
#[derive(Debug)]
pub(crate) struct ConsumerProgress {
    /// The blocks of all readers of the topic; if the consumer is an observer, only its own block.
    readers: ReaderBlocks,
    /// Index in `readers` of the consumer's own block.
    reader: u32,
    lanes: u32,
    /// The lanes from which the consumer may receive messages.
    read_lanes: ReadLanes<AtomicU64>,
    /// The lanes whose publishers did not match the consumer when it last searched for lanes; empty
    /// if there was none so far.
    unmatched: OnceLock<UnmatchedLanes>,
    /// Not 0 if the consumer has been dropped, or has left the file.
    closed: AtomicU64,
    /// Not 0 if a task has ever waited for the consumer, so that its drop has to remove alarms.
    has_alarms: AtomicU64,
    /// The part of the consumer's state that stays the same when it moves to another topic file.
    health: Arc<ConsumerHealth>,
    /// The watch on the consumer in the file to which it moved; empty if it has not moved.
    next: OnceLock<Watch>,
    /// The time of the consumer's next attempt to move to another file, in nanoseconds of
    /// CLOCK_MONOTONIC.
    next_move_ns: AtomicU64,
    /// The value of the process-wide fault counter when a watch last found the segment usable;
    /// `u64::MAX` before the first check.
    checked_epoch: AtomicU64,
    /// Keeps the memory of the blocks in `readers` alive.
    memory: Arc<ReaderBlockMemory>,
}

/// The memory that contains the block of a consumer. This value keeps the memory alive.
#[derive(Debug)]
enum ReaderBlockMemory {
    /// Private memory that contains the block of an observer.
    Own(#[expect(dead_code, reason = "held for its memory")] Region),
    /// The topic's mapped memory, which contains the block of every other reader.
    Topic(#[expect(dead_code, reason = "held for its memory")] Arc<Segment>),
}

impl ConsumerProgress {
    /// Creates the block and the cursors of an observer of a topic with `lanes` lanes, in memory
    /// that other processes cannot see.
    pub(super) fn in_private_memory(lanes: u32, health: Arc<ConsumerHealth>) -> Self {
        let wait_bytes = size_of::<WaitBlock<AtomicU64>>();
        let bytes = reader_bytes(lanes);
        let region = Region::heap(wait_bytes + bytes);
        let wait = region.address();
        // SAFETY: the region has this size.
        let block = unsafe { wait.add(wait_bytes) };
        // SAFETY: the region, which `memory` keeps, holds a wait block, and one reader's block and
        // cursors; zeroed memory is valid for them.
        let readers = unsafe { ReaderBlocks::new(wait.cast(), block, bytes, 1) };
        let memory = Arc::new(ReaderBlockMemory::Own(region));
        Self::new((readers, 0), lanes, memory, health)
    }

    /// Creates a view of the block and the cursors in shared memory that belong to the reader slot
    /// with index `reader`, which the consumer has claimed.
    pub(super) fn in_shared_memory(
        segment: &Arc<Segment>,
        reader: u32,
        health: Arc<ConsumerHealth>,
    ) -> Result<Self, OpenError> {
        let readers = segment.readers(Access::Write)?;
        let lanes = segment.shape().lane_limit();
        let memory = Arc::new(ReaderBlockMemory::Topic(Arc::clone(segment)));
        Ok(Self::new((readers, reader), lanes, memory, health))
    }

    fn new(
        (readers, reader): (ReaderBlocks, u32),
        lanes: u32,
        memory: Arc<ReaderBlockMemory>,
        health: Arc<ConsumerHealth>,
    ) -> Self {
        let (read_lanes, unmatched, closed, has_alarms, next, next_move_ns) = Default::default();
        Self {
            readers,
            reader,
            lanes,
            read_lanes,
            unmatched,
            closed,
            has_alarms,
            health,
            next,
            next_move_ns,
            checked_epoch: AtomicU64::new(u64::MAX),
            memory,
        }
    }

    /// Creates the progress, in this file, of the consumer whose other state is `health`, and which
    /// moves or returns to this file.
    pub(super) fn renewed_for_consumer(&self, health: &Arc<ConsumerHealth>) -> Self {
        let (memory, health) = (Arc::clone(&self.memory), Arc::clone(health));
        Self::new((self.readers, self.reader), self.lanes, memory, health)
    }

    /// Returns the blocks of all readers of the topic, including that of the consumer.
    pub(super) const fn readers(&self) -> ReaderBlocks {
        self.readers
    }

    /// Returns the index of the consumer's own block in [`Self::readers`].
    pub(super) const fn reader_index(&self) -> u32 {
        self.reader
    }

    /// Returns the consumer's own block, which contains its counters.
    pub(super) fn reader_block(&self) -> &ReaderBlock<AtomicU64> {
        self.readers.block(self.reader)
    }

    /// Returns the word with the consumer's read position in the lane with index `lane`, which must
    /// be below the lane limit.
    pub(super) fn cursor(&self, lane: u32) -> &AtomicU64 {
        debug_assert!(lane < self.lanes);
        self.readers.cursor(self.reader, lane)
    }

    /// Stores the error of a lane that cannot be mapped, so that watches report it; `None` if all
    /// lanes of all files of the consumer are mapped.
    #[cold]
    pub(super) fn set_unmapped_lane(&self, error: Option<LaneNotMapped>) {
        let unmapped = self.health.unmapped.lock();
        *unmapped.unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Records the lanes from which the consumer may receive messages before the change counter,
    /// whose present value is `change_count`, changes again.
    pub(super) fn set_read_lanes(&self, lane_mask: u64, change_count: u64) {
        self.read_lanes.publish(lane_mask, change_count);
    }

    /// Records the lanes whose publishers do not match the consumer, whose settings are `reader`
    /// and `is_variable_length`, with the number of times that each lane had been claimed.
    pub(super) fn set_unmatched_lanes(
        &self,
        reader: MatchSettings,
        is_variable_length: bool,
        unmatched: &[(u32, u64)],
    ) {
        if unmatched.is_empty() && self.unmatched.get().is_none() {
            return;
        }
        let lanes = || UnmatchedLanes::new(reader, is_variable_length, self.lanes);
        self.unmatched.get_or_init(lanes).replace_lanes(unmatched);
    }

    /// Returns the lanes that may have messages for the consumer; none if it is closed.
    /// `change_count` is the present value of the change counter.
    ///
    /// WHY not all lanes: a wait set polls all of its topics, and most topics use one of their 64
    /// lanes.
    fn lanes_to_poll(&self, change_count: u64) -> impl Iterator<Item = u32> + use<> {
        let all = u64::MAX >> (u64::BITS - self.lanes);
        let lanes = self
            .read_lanes
            .mask_for_change_count(change_count)
            .unwrap_or(all)
            & all;
        // WHY none of a closed consumer: its cursors may be those of another one by now.
        let mut left = if self.closed.get() == 0 { lanes } else { 0 };
        iter::from_fn(move || {
            let lane = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (lane < u64::BITS).then_some(lane)
        })
    }

    /// Stores the reason why no live publisher matches the consumer, so that watches report it;
    /// `None` if one matches. Only if the reason has changed, calls `find_publisher` to get a
    /// publisher that does not match.
    pub(super) fn set_mismatch(
        &self,
        cause: Option<Mismatch>,
        find_publisher: impl FnOnce() -> Option<MismatchedPublisher>,
    ) {
        let mismatch = self.health.mismatch.lock();
        let mut mismatch = mismatch.unwrap_or_else(PoisonError::into_inner);
        if mismatch.as_ref().map(|(cause, _)| *cause) != cause {
            *mismatch = cause.map(|cause| (cause, find_publisher().map(Box::new)));
        }
    }

    /// Returns the part of the consumer's state that stays the same when it moves to another topic
    /// file.
    pub(super) const fn health(&self) -> &Arc<ConsumerHealth> {
        &self.health
    }

    /// Records that the consumer has found that its namespace was removed; watches report it.
    pub(super) fn set_namespace_removed(&self) {
        // Relaxed: for people.
        self.health.namespace_removed.set(1);
    }

    /// Records that the consumer has found that the memory of its topic is lost; watches report it.
    /// Does nothing if that is the memory of a former file, because the consumer continues in the
    /// next file.
    pub(super) fn set_memory_lost(&self) {
        if !self.has_moved_to_other_file() {
            // Relaxed: for people.
            self.health.lost.set(1);
        }
    }

    /// Returns true if the consumer has moved from this file to another one.
    pub(super) fn has_moved_to_other_file(&self) -> bool {
        self.next.get().is_some()
    }

    /// Stores the watch on the consumer in the file to which it moved, so that watches on this file
    /// can follow.
    pub(super) fn set_watch_of_next_file(&self, watch: Watch) {
        self.health.set_segment(watch.segment());
        let _ = self.next.set(watch);
        // Relaxed: for people, and only the consumer stores it.
        self.health.moves.set(self.health.moves.get() + 1);
    }

    /// Records that the consumer makes its next attempt to move to another file after the time
    /// `pause`.
    pub(super) fn delay_next_move(&self, pause: Duration) {
        // Relaxed: only when a watch shows that the consumer should try.
        self.next_move_ns
            .set((monotonic_time() + pause).as_nanos() as u64);
    }

    /// Returns true if the consumer's next receive call would try to move to another file.
    fn is_move_attempt_due(&self) -> bool {
        monotonic_time().as_nanos() as u64 >= self.next_move_ns.get()
    }

    /// Records that a task has waited for this consumer, so that the consumer removes its alarms
    /// when it is dropped.
    pub(super) fn set_has_alarms(&self) {
        self.has_alarms.set(1);
    }
}

/// Marks the consumer of `progress` as dropped, so that its watches report it, and wakes the
/// threads that sleep on them.
#[cold]
pub(super) fn close_consumer(progress: &Arc<ConsumerProgress>, place: Option<&ReaderSlot>) {
    // Relaxed: the fence below orders it before the load of the sleepers.
    progress.closed.set(1);
    if !progress.has_moved_to_other_file() {
        progress.health.closed.set(1);
    }
    if let Some(event) = place.and_then(ReaderSlot::event) {
        // ORDERING(wake): pairs with the fence in `sleep_once`.
        crate::protocol::sync::fence(edge::WAKE_SENDER_FENCE);
        // Relaxed: as in `wait::has_sleepers`.
        if event.waiters_word().get() != 0 {
            wake(&event);
        }
    }
    if progress.has_alarms.get() != 0 {
        alarm::remove_alarms_of(progress);
    }
}

/// A watch on a [`RawConsumer`](crate::RawConsumer): with it, another thread can wait for messages
/// without holding the consumer.
///
/// It is `Send` and `Sync`; any number of threads may wait on one watch. It keeps the topic open in
/// this process, but does not keep the consumer's reader slot.
#[derive(Debug, Clone)]
pub struct Watch {
    segment: Arc<Segment>,
    progress: Arc<ConsumerProgress>,
    /// The consumer's reader slot; `None` for an observer. All threads that wait for the consumer
    /// use the bit of this slot to announce that they sleep.
    place: Option<Weak<ReaderSlot>>,
}

impl Watch {
    pub(super) fn new(
        segment: &Arc<Segment>,
        progress: &Arc<ConsumerProgress>,
        place: Option<&Arc<ReaderSlot>>,
    ) -> Self {
        let segment = Arc::clone(segment);
        let progress = Arc::clone(progress);
        Self {
            segment,
            progress,
            place: place.map(Arc::downgrade),
        }
    }

    /// Returns true if some lane contains a message that the consumer has not read.
    ///
    /// Loads the head of each lane, which takes a few nanoseconds for each lane that has changed.
    /// May also return true if there is no message for the consumer at that position: its slot was
    /// skipped, or the file is damaged. Returns true in a forked child and for a truncated file, so
    /// that the caller polls the consumer and gets the error. If a publisher was killed just before
    /// it stored the head, its last message becomes visible only when the next one is published.
    #[must_use]
    pub fn has_message(&self) -> bool {
        !self.is_usable()
            || self
                .heads_and_positions(|_| true)
                .any(|(head, position)| head > position && head <= POSITION_MAX)
            || match self.progress.next.get() {
                Some(next) => next.has_message(),
                // WHY: the consumer has to be called so that it moves.
                None => self.segment.is_name_lost() && self.progress.is_move_attempt_due(),
            }
    }

    /// Returns true if the segment can be used. Costs two relaxed loads, unless the process has
    /// forked, or some memory was lost, since the last call.
    fn is_usable(&self) -> bool {
        // Relaxed: the value is an epoch in which some thread found the segment usable.
        let checked_epoch = &self.progress.checked_epoch;
        let checked = || {
            self.segment
                .fault_epoch_if_usable()
                .map(|seen| checked_epoch.set(seen))
        };
        checked_epoch.get() == fault::fault_epoch() || checked().is_ok()
    }

    /// Returns true if the consumer can never receive again, because the topic's memory is lost:
    /// its file was truncated, or the program closed descriptors of this library. Costs two relaxed
    /// loads, unless some memory was lost since the last call.
    #[must_use]
    pub fn is_memory_lost(&self) -> bool {
        // WHY only the last file: a consumer receives there, even if a former one is lost.
        match self.progress.next.get() {
            Some(next) => next.is_memory_lost(),
            None => !self.is_usable() && !self.is_forked(),
        }
    }

    /// Returns true if the namespace of the topic was removed, so that the consumer does not
    /// receive from publishers that open the topic from now on. Costs some relaxed loads.
    pub(super) fn is_namespace_removed(&self) -> bool {
        // WHY only the last file: a former one lost its name while the namespace existed.
        match self.progress.next.get() {
            Some(next) => next.is_namespace_removed(),
            None => self.segment.name_state() == NameState::NamespaceRemoved,
        }
    }

    /// Makes this watch refer to the topic file that its consumer reads now. Does nothing if the
    /// consumer has not moved to another file.
    pub fn follow_consumer(&mut self) {
        while self.progress.closed.get() != 0
            && let Some(next) = self.progress.next.get()
        {
            *self = next.clone();
        }
    }

    /// Returns true if the consumer has been dropped, so that no more messages will come.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        // Relaxed: as in `has_message`.
        self.progress.health.closed.get() != 0
    }

    /// Returns true if this is a copy in a forked child. The consumer receives nothing there.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.segment.is_forked()
    }

    /// Returns a number that changes with every message that is published, even if the consumer has
    /// already received the message. Makes some system calls if a publisher that does not match has
    /// made a lane file since the consumer was last called.
    #[must_use]
    pub fn publication_count(&self) -> u64 {
        // WHY: after a change, all lanes are polled until the consumer is called.
        let unmatched = self.progress.unmatched.get();
        let matched =
            |lane: &u32| !unmatched.is_some_and(|all| all.contains_lane(&self.segment, *lane));
        let own = self
            .heads_and_positions(matched)
            .fold(0_u64, |sum, (head, _)| sum.wrapping_add(head));
        let next = self.progress.next.get();
        own.wrapping_add(next.map_or(0, Self::publication_count))
    }

    /// Returns for each lane that the consumer reads, and for which `is_lane_wanted` is true: the
    /// lane's head (position after its newest message), and the consumer's position.
    ///
    /// All loads are relaxed: no payload is read because of their results, and a thread that is
    /// about to sleep executes a fence before it calls this.
    fn heads_and_positions(
        &self,
        is_lane_wanted: impl Fn(&u32) -> bool,
    ) -> impl Iterator<Item = (u64, u64)> {
        let control = self.segment.control(Access::Read);
        let changes = control.map_or(0, |control| control.changes.get());
        let lanes = self.progress.lanes_to_poll(changes).filter(is_lane_wanted);
        lanes.filter_map(|lane| {
            let cursor = self.progress.cursor(lane).get() & !JOINING_BIT;
            let position = cursor.checked_sub(1)?;
            let block = self.segment.lane_block(lane, Access::Read);
            let head = block.map_or(0, |block| block.head.get());
            Some((head, position))
        })
    }

    /// Calls `look` until it returns a value, or until `wait_policy` ends. Between two calls,
    /// sleeps until one of the `watches` has a message, or until its consumer is dropped.
    ///
    /// Blocks. Calls `look` at least every 50 ms. Calls it every millisecond in these cases: one of
    /// the watches belongs to an observer, which cannot be woken; there are more than 128 watches;
    /// or there are several and the kernel lacks `futex_waitv` (Linux before 5.16).
    pub fn wait_any<R>(
        watches: &[Self],
        wait_policy: WaitPolicy,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        Self::wait_any_or_notified(&[], watches, wait_policy, look)
    }

    /// Waits as [`Self::wait_any`] does, but also wakes up when one of `own_eventcounts` is
    /// notified.
    ///
    /// Each of `own_eventcounts` takes the place of one watch among the 128 that can end a sleep.
    pub fn wait_any_or_notified<R>(
        own_eventcounts: &[&LocalEventcount],
        watches: &[Self],
        wait_policy: WaitPolicy,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        Self::call_with_eventcounts(own_eventcounts, watches, SLEEP_MAX, |events, slice| {
            wait_in_slices(events, wait_policy, slice, look)
        })
    }

    /// Waits as [`Self::wait_any_or_notified`] does, but does not wake up every 50 ms to poll.
    ///
    /// Requires that another thread checks the watches every 50 ms, and notifies one of
    /// `own_eventcounts` if a watch [is due](Self::is_due). WHY: the wake for a message may be
    /// lost.
    pub fn wait_any_without_polling<R>(
        own_eventcounts: &[&LocalEventcount],
        watches: &[Self],
        wait_policy: WaitPolicy,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        Self::call_with_eventcounts(
            own_eventcounts,
            watches,
            UNPOLLED_SLEEP_MAX,
            |events, slice| wait_in_slices(events, wait_policy, slice, look),
        )
    }

    /// Sleeps once, for at most an hour. The sleep ends early if `own_eventcounts` is notified, if
    /// one of `watches` gets a message, or if the consumer of one of them is dropped. If `look`
    /// returns a value, returns it without sleeping; otherwise returns `None` after the sleep. See
    /// [`Self::wait_any_without_polling`].
    ///
    /// Sleeps for only a millisecond if wakes are not reliable, for instance if there are more than
    /// 127 watches.
    pub fn sleep_without_polling<R>(
        own_eventcounts: &LocalEventcount,
        watches: &[Self],
        look: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        Self::call_with_eventcounts(
            &[own_eventcounts],
            watches,
            UNPOLLED_SLEEP_MAX,
            |events, slice| sleep_once(events, slice, look),
        )
    }

    /// Returns true if the consumer should be polled now: it may have a message or an error, or it
    /// has been dropped.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.has_message() || self.is_closed()
    }

    /// Calls `sleep` with two arguments. The first is a list of eventcounts: those in
    /// `own_eventcounts`, and those of the watched topics. The second is the maximum length of the
    /// sleep: `longest_sleep`, or [`POLL_INTERVAL`] if some of the eventcounts cannot end the
    /// sleep.
    fn call_with_eventcounts<R>(
        own_eventcounts: &[&LocalEventcount],
        watches: &[Self],
        longest_sleep: Duration,
        sleep: impl FnOnce(&[&EventcountView<'_>], Duration) -> R,
    ) -> R {
        // WHY kept: the bit under which this thread sleeps must not be given to another reader.
        let mut places = Vec::with_capacity(watches.len());
        watches
            .iter()
            .for_each(|watch| watch.collect_reader_slots(&mut places));
        let theirs = places.iter().filter_map(|place| place.event());
        let own_events = own_eventcounts.iter().map(|own| own.event());
        let events: Vec<_> = own_events.chain(theirs).take(EVENTCOUNTS_MAX).collect();
        let all = own_eventcounts.len() + watches.iter().map(Self::read_file_count).sum::<usize>();
        let slice = if events.len() < all {
            POLL_INTERVAL
        } else {
            longest_sleep
        };
        let events: Vec<_> = events.iter().collect();
        sleep(&events, slice)
    }

    /// Appends to `reader_slots` the reader slot that the consumer has in each of its files.
    fn collect_reader_slots(&self, reader_slots: &mut Vec<Arc<ReaderSlot>>) {
        reader_slots.extend(self.place.as_ref().and_then(Weak::upgrade));
        if let Some(next) = self.progress.next.get() {
            next.collect_reader_slots(reader_slots);
        }
    }

    /// Returns the number of topic files that the consumer reads now.
    fn read_file_count(&self) -> usize {
        let next = self.progress.next.get().map_or(0, Self::read_file_count);
        next + usize::from(self.progress.closed.get() == 0)
    }

    /// Returns a watch on the same consumer that only reports its state, such as whether all of its
    /// lanes are mapped.
    #[must_use]
    pub fn health_watch(&self) -> ConsumerHealthWatch {
        match self.progress.next.get() {
            Some(next) => next.health_watch(),
            None => ConsumerHealthWatch::new(&self.progress.health, &self.segment),
        }
    }

    /// Returns the block and the cursors of the watched consumer.
    pub(super) const fn progress(&self) -> &Arc<ConsumerProgress> {
        &self.progress
    }

    /// Returns the segment (mapped memory) of the topic.
    #[must_use]
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}
