//! The extents (files of slots) of a topic. This module lists those that this process has mapped,
//! and maps, creates and removes extents.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use crate::file::error::OpenError;
use crate::file::extent::{Extent, ExtentUse, lane_file_exists, remove_lane_file};
use crate::file::header::{ExtentBoundary, ExtentId};
use crate::file::offer::Offer;
use crate::file::segment::{TopicBlocks as _, TopicMemory};
use crate::os::region::Access;
use crate::protocol::layout::{LaneBlock, PLAUSIBLE_POSITION_MAX, SkipCounter};
use crate::protocol::sync::{Word, edge};

/// Maximum number of extents (files of slots) of a lane that are searched for a reader's messages.
/// The search goes backwards from the newest extent.
pub(crate) const SEARCHED_EXTENTS_MAX: u64 = 16;

/// The beginning of a lane, with its first extent (file of slots).
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneBeginning {
    /// The first position, which is also the sequence number of the first message. It is past 0 if
    /// the first publisher moved here from another topic file.
    pub(crate) position: u64,
    /// The random number that identifies the publisher that began the lane.
    pub(crate) session_id: u64,
}

/// The extents (files of slots) of a topic that this process has mapped.
///
/// WHY weak references: an extent is unmapped when its last user drops it. So no mapping outlives
/// its users, and each user finds the mappings of all others here.
#[derive(Debug, Default)]
pub(super) struct ExtentList {
    /// All extents that this process has mapped, in no particular order.
    mapped: Vec<Weak<Extent>>,
    /// The extents that stay mapped even without a user, while `keepers` is not 0.
    kept: Vec<Arc<Extent>>,
    /// The number of [`KeptExtents`]; one more on the heap, where readers can find an extent only
    /// in this list, until its owner removes it.
    keepers: u32,
}

impl ExtentList {
    pub(super) fn new(on_heap: bool) -> Self {
        Self {
            keepers: on_heap.into(),
            ..Self::default()
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Arc<Extent>> {
        self.mapped.iter().filter_map(Weak::upgrade)
    }

    fn push(&mut self, extent: &Arc<Extent>) {
        self.mapped.retain(|known| known.strong_count() > 0);
        self.mapped.push(Arc::downgrade(extent));
        if self.keepers > 0 {
            self.kept.push(Arc::clone(extent));
        }
    }

    fn remove(&mut self, id: ExtentId) {
        self.kept.retain(|kept| kept.id != id);
        let is_other = |known: &Weak<Extent>| known.upgrade().is_some_and(|known| known.id != id);
        self.mapped.retain(is_other);
    }
}

/// A guard: an extent (file of slots) that this process maps while the guard exists stays mapped at
/// least until the guard is dropped. WHY: an endpoint that is being opened looks into extents
/// before it uses them, and must not map them twice.
pub(crate) struct KeptExtents<'a>(&'a TopicMemory);

impl Drop for KeptExtents<'_> {
    fn drop(&mut self) {
        let mut extents = self.0.lock_extents();
        extents.keepers -= 1;
        let unused = if extents.keepers == 0 {
            std::mem::take(&mut extents.kept)
        } else {
            Vec::new()
        };
        // WHY in this order: no other thread has to wait while they are unmapped.
        drop(extents);
        drop(unused);
    }
}

impl TopicMemory {
    /// Keeps each extent that this process maps from now on mapped, until the result is dropped.
    pub(crate) fn keep_extents_mapped(&self) -> KeptExtents<'_> {
        self.lock_extents().keepers += 1;
        KeptExtents(self)
    }

    pub(super) fn lock_extents(&self) -> MutexGuard<'_, ExtentList> {
        // WHY poison is ignored: nothing panics while it is locked.
        self.extents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns extent `id` of a lane. Maps it first if this process has not yet mapped it for the
    /// use `usage`. If an observer cannot map it, returns a mapping of the same extent that this
    /// process already has for another use, such as a publisher's.
    ///
    /// # Errors
    ///
    /// The same as for [`Extent::open`].
    pub(crate) fn extent(&self, id: ExtentId, usage: ExtentUse) -> Result<Arc<Extent>, OpenError> {
        let mut extents = self.lock_extents();
        let on_heap = self.file().is_none();
        let suits = |extent: &Arc<Extent>| {
            extent.usage == usage
                || on_heap
                || (usage, extent.usage) == (ExtentUse::ReadAlone, ExtentUse::Read)
        };
        let known = extents
            .iter()
            .find(|extent| extent.id == id && suits(extent));
        if let Some(extent) = known {
            return Ok(extent);
        }
        let Some(file) = self.file() else {
            // A reader of the heap came too late: nobody keeps that extent any more.
            return Err(OpenError::Io {
                operation: "mapping a lane of",
                path: self.path(),
                source: io::ErrorKind::NotFound.into(),
            });
        };
        let extent = match Extent::open(file, id, usage) {
            Ok(extent) => Arc::new(extent),
            Err(error) if usage == ExtentUse::Observe => {
                return self.extent_for_observer(&extents, id).ok_or(error);
            }
            Err(error) => return Err(error),
        };
        extents.push(&extent);
        drop(extents);
        self.remember_header(id, extent.base, &extent.offer);
        Ok(extent)
    }

    /// Returns extent `id` from `extents`, the mappings of this process, so that an observer can
    /// read it without opening its file; `None` if no mapping is suitable. WHY: a user may have
    /// removed the lane files together with the topic file, and a publisher that moves has to
    /// repeat its messages.
    ///
    /// WHY a publisher's mapping of the newest extent, but any mapping of an earlier one: nobody
    /// writes an earlier extent any more, so it can be read from memory. The newest one must be
    /// read by system calls (see [`Extent::try_copy_slot`]). They need the open file, which a
    /// publisher's mapping keeps.
    fn extent_for_observer(&self, extents: &ExtentList, id: ExtentId) -> Option<Arc<Extent>> {
        // Relaxed: an earlier extent never becomes the newest one again.
        let newest = self
            .lane_block(id.lane, Access::Read)
            .ok()?
            .generation
            .get();
        let is_open = |usage| match usage {
            ExtentUse::Write => true,
            ExtentUse::Read => id.generation < newest,
            ExtentUse::ReadAlone | ExtentUse::Observe => false,
        };
        let mut extents = extents.iter();
        extents.find(|extent| extent.id == id && is_open(extent.usage))
    }

    /// Creates the next extent (file of slots) of lane `lane`, which begins at `position`. Readers
    /// find it only after [`Self::publish_extent`]. The caller owns the lane, and has written
    /// nothing at `position` or later.
    ///
    /// # Errors
    ///
    /// The same as for [`Extent::create`].
    pub(crate) fn make_extent(
        &self,
        lane: u32,
        position: u64,
        offer: Offer,
    ) -> Result<Arc<Extent>, OpenError> {
        let block = self.lane_block(lane, Access::Write)?;
        let id = self.next_extent_id(lane, block);
        // Relaxed, here and below: the caller alone writes them.
        let skips = SkipCounter::from_word(block.skips.get()).count;
        // WHY: the words of the block are input, and openers check the header.
        let position = if position > PLAUSIBLE_POSITION_MAX {
            0
        } else {
            position
        };
        let number = position.saturating_sub(skips);
        let base = ExtentBoundary {
            position,
            number,
            session_id: block.session_id.get(),
        };
        let extent = Arc::new(match self.file() {
            Some(file) => Extent::create(file, id, base, offer)?,
            None => Extent::on_heap(id, base, offer),
        });
        self.lock_extents().push(&extent);
        self.remember_header(id, base, &extent.offer);
        if block.oldest.get() == 0 {
            block.oldest.set(id.generation);
        }
        // WHY not if readers know the lane: then it has begun before.
        if block.generation.get() == 0 {
            let record = self.lane_record(lane, Access::Write)?;
            record.first_position.set(position);
            record.first_session_id.set(base.session_id);
        }
        if block.head.get() < position {
            // WHY only now: a lane whose extent cannot be made stays as it was.
            // ORDERING(head): pairs with the load in `message_count_and_end`: a thread that
            // sees that the head is not 0 sees where the lane begins.
            Word::store(&block.head, position, edge::HEAD_PUBLISH);
        }
        Ok(extent)
    }

    /// Returns the beginning of a lane; `None` if the lane has no extent (file of slots), or if its
    /// record is damaged. The caller must have loaded the topic's change counter or the lane's head
    /// before.
    pub(crate) fn lane_beginning(&self, lane: u32) -> Option<LaneBeginning> {
        // Relaxed, all: that load ordered them. WHY the maximum: other processes can write
        // anything here.
        let block = self.lane_block(lane, Access::Read).ok()?;
        let record = self.lane_record(lane, Access::Read).ok()?;
        let position = record.first_position.get();
        let is_valid = block.generation.get() != 0 && position <= block.head.get();
        (is_valid && position <= PLAUSIBLE_POSITION_MAX).then(|| LaneBeginning {
            position,
            session_id: record.first_session_id.get(),
        })
    }

    /// Stores an extent (file of slots) as the newest one of its lane, so that readers find it. The
    /// caller must own the lane.
    pub(crate) fn publish_extent(&self, id: ExtentId) -> Result<(), OpenError> {
        let block = self.lane_block(id.lane, Access::Write)?;
        // Relaxed: the count publishes it.
        block.generation.set(id.generation);
        self.publish_lane_change()
    }

    /// Increments the topic's change counter, so that readers check all lanes for new extents.
    pub(crate) fn publish_lane_change(&self) -> Result<(), OpenError> {
        let control = self.control(Access::Write)?;
        // ORDERING(change_counter): pairs with the load in `RawConsumer::look_for_lanes`.
        control
            .changes
            .fetch_add_one_ordered(edge::CHANGE_COUNTER_PUBLISH);
        Ok(())
    }

    fn lock_headers(&self) -> MutexGuard<'_, Vec<(ExtentId, ExtentBoundary, Offer)>> {
        // WHY poison is ignored: nothing panics while it is locked.
        self.headers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an unused id for the next extent (file of slots) of a lane that the caller owns. It
    /// differs from the ids of all extents that this process has mapped, even if the number in the
    /// file was damaged.
    fn next_extent_id(&self, lane: u32, block: &LaneBlock<AtomicU64>) -> ExtentId {
        let extents = self.lock_extents();
        let of_lane = extents.iter().filter(|extent| extent.id.lane == lane);
        let newest = of_lane.map(|extent| extent.id.generation).max();
        // Relaxed: the caller owns the lane.
        let stored =
            Some(block.generation.get()).filter(|&stored| stored <= PLAUSIBLE_POSITION_MAX);
        let generation = newest.max(stored).unwrap_or(0) + 1;
        ExtentId { lane, generation }
    }

    /// Returns the offer (settings) of the publisher of extent `id`; `None` if the extent's file
    /// cannot be read.
    pub(crate) fn offer_of_extent(&self, id: ExtentId) -> Option<Offer> {
        self.header_of(id).map(|(_, offer)| offer)
    }

    /// Returns the boundary at which an extent (file of slots) begins, and the offer of its
    /// publisher; `None` if the extent's file cannot be read.
    fn header_of(&self, id: ExtentId) -> Option<(ExtentBoundary, Offer)> {
        self.with_header(id, |base, offer| (base, offer.clone()))
    }

    /// Reads the header of an extent (file of slots) with `read`, and returns the result; `None` if
    /// the extent's file cannot be read. The arguments of `read` are the boundary at which the
    /// extent begins, and the offer of its publisher. The file is read only once, because a header
    /// never changes. `read` must not access other headers.
    pub(crate) fn with_header<R>(
        &self,
        id: ExtentId,
        read: impl Fn(ExtentBoundary, &Offer) -> R,
    ) -> Option<R> {
        let known = self.with_known_header(id, &read);
        // WHY no file on the heap: what is unknown there was removed.
        known.or_else(|| {
            let (base, offer) = Extent::read_offer(self.file()?, id).ok()?;
            self.remember_header(id, base, &offer);
            Some(read(base, &offer))
        })
    }

    fn with_known_header<R>(
        &self,
        id: ExtentId,
        read: impl Fn(ExtentBoundary, &Offer) -> R,
    ) -> Option<R> {
        let headers = self.lock_headers();
        let (_, base, offer) = headers.iter().find(|known| known.0 == id)?;
        Some(read(*base, offer))
    }

    /// Stores the header of an extent, so that it is still known after the extent's file was
    /// removed, and is not read twice.
    fn remember_header(&self, id: ExtentId, base: ExtentBoundary, offer: &Offer) {
        let mut headers = self.lock_headers();
        // WHY: a publisher that grows often must not fill the memory of its observers.
        headers.retain(|(old, ..)| {
            let distance = old.generation.abs_diff(id.generation);
            old.lane != id.lane || (1..SEARCHED_EXTENTS_MAX).contains(&distance)
        });
        headers.push((id, base, offer.clone()));
    }

    /// Returns the boundary between an extent (file of slots) and the next one of the lane; `None`
    /// if there is no next extent, or the file of the next extent cannot be read.
    pub(crate) fn end_of_extent(
        &self,
        ExtentId { lane, generation }: ExtentId,
    ) -> Option<ExtentBoundary> {
        let generation = generation + 1;
        self.with_header(ExtentId { lane, generation }, |base, _| base)
    }

    /// Returns true if extent `id` is mapped in this process, or its file still exists, so that a
    /// reader can map it.
    pub(crate) fn is_extent_reachable(&self, id: ExtentId) -> bool {
        let on_heap = self.file().is_none();
        let is_it =
            |extent: &Arc<Extent>| extent.id == id && (extent.usage != ExtentUse::Write || on_heap);
        let is_mapped = self.lock_extents().iter().any(|extent| is_it(&extent));
        is_mapped || self.file().is_some_and(|file| lane_file_exists(file, id))
    }

    /// Removes an extent (file of slots) of a lane that the caller owns. Readers that have mapped
    /// it keep it, but other readers no longer find it.
    pub(crate) fn remove_extent(&self, id: ExtentId) {
        match self.file() {
            Some(file) => remove_lane_file(file, id),
            None => self.lock_extents().remove(id),
        }
    }
}
