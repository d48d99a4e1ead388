//! Segments: the memory of one topic in this process. Each part of a topic file is mapped when it
//! is first needed.

use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::file::error::{OpenError, UnusableReason};
use crate::file::extent::{self, Extent};
use crate::file::header::{ExtentBoundary, ExtentId};
use crate::file::label::TopicLabel;
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::file::offer::{Offer, Request};
use crate::file::open;
use crate::file::topic_type::TypeInfo;
use crate::os::cancel::NoCancelGuard;
use crate::os::cpu;
use crate::os::fault;
use crate::os::region::{Access, Region};
use crate::process::fork::fork_epoch;
use crate::process::liveness::Owner;
use crate::protocol::identity::TypeIdentity;
use crate::protocol::layout::{LANE_CAPACITY_MIN, LaneBlock, PARTICIPANTS_MAX};
use crate::protocol::memory::{RawLane, RawLaneParts, ReaderBlocks};
use crate::protocol::owner;
use crate::protocol::presence::{self, AttachableFile};
use crate::protocol::shape::{SLOT_ALIGN_BYTES, TopicShape};
use crate::protocol::sync::Word as _;

mod blocks;
mod extents;
mod present;
mod topic_file;
mod unread;

pub use blocks::TopicBlocks;
use extents::ExtentList;
pub(crate) use extents::SEARCHED_EXTENTS_MAX;
use topic_file::PartMappings;
pub(crate) use topic_file::{FileId, TopicFile};
pub(crate) use unread::ReadProgress;

/// The owner word of every lane and reader slot of a segment on the heap. It always means this
/// process, because the segment cannot outlive the process.
const HEAP_OWNER_WORD: u64 = 1;

/// A topic that this process has opened with a [`Request`], which contains the settings for its
/// endpoints. All parts of this process that opened the topic share the memory.
#[derive(Debug)]
pub struct Segment {
    request: Request,
    memory: Arc<TopicMemory>,
}

/// The memory of a topic in this process, which all of its endpoints in this process share.
///
/// The blocks are not accessible from outside this crate. Otherwise safe code could write to them,
/// and so change a message that is borrowed elsewhere:
///
/// ```compile_fail,E0599
/// # fn f(segment: &horus_shm::Segment) {
/// segment.control(horus_shm::Access::Write);
/// # }
/// ```
#[derive(Debug)]
pub struct TopicMemory {
    type_info: TypeInfo,
    shape: TopicShape,
    backing: SegmentBacking,
    /// The name of the topic, for error texts.
    label: TopicLabel,
    epoch: u64,
    extents: Mutex<ExtentList>,
    /// The headers of the extents that this process knows, in no particular order. They are kept so
    /// that no file has to be read twice.
    headers: Mutex<Vec<(ExtentId, ExtentBoundary, Offer)>>,
    /// Number of readers of a segment on the heap that do not pin slots: see
    /// [`Self::add_observer`].
    observers: Mutex<u32>,
    /// A guard that prevents the cancellation of the thread while this value is dropped; `None`
    /// before that. Declared last, so that it is dropped after the fields whose drop makes system
    /// calls.
    uncancelled: Option<NoCancelGuard>,
}

#[derive(Debug)]
enum SegmentBacking {
    Heap(Region),
    File(Box<TopicFile>),
}

impl Segment {
    /// Creates a segment on the heap, for endpoints of the same process. Command-line tools cannot
    /// see it.
    ///
    /// # Errors
    ///
    /// [`OpenError::Shape`] or [`OpenError::TypeTooLong`].
    pub fn heap(request: &Request) -> Result<Arc<Self>, OpenError> {
        let type_info = request.offer()?.type_info;
        Ok(Self::new(request, TopicMemory::heap(type_info, request)))
    }

    /// Opens the topic `name`, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// Any [`OpenError`] except `NotFound`, `AlreadyExists` and those about the number of
    /// endpoints.
    pub fn open_or_create(
        namespace: &Arc<Namespace>,
        name: &TopicName,
        request: &Request,
    ) -> Result<Arc<Self>, OpenError> {
        let memory = open::open(
            namespace,
            name,
            request,
            open::OpenRule::OpenOrCreate,
            open::TOPIC_OPEN_ATTEMPTS_MAX,
        )?;
        Ok(Self::new(request, memory))
    }

    /// Opens the topic `name`, which must exist.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::open_or_create`], and [`OpenError::NotFound`].
    pub fn open(
        namespace: &Arc<Namespace>,
        name: &TopicName,
        request: &Request,
    ) -> Result<Arc<Self>, OpenError> {
        let memory = open::open(
            namespace,
            name,
            request,
            open::OpenRule::Open,
            open::TOPIC_OPEN_ATTEMPTS_MAX,
        )?;
        Ok(Self::new(request, memory))
    }

    /// Creates the topic `name`, which must not exist.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::open_or_create`], and [`OpenError::AlreadyExists`].
    pub fn create(
        namespace: &Arc<Namespace>,
        name: &TopicName,
        request: &Request,
    ) -> Result<Arc<Self>, OpenError> {
        let memory = open::open(
            namespace,
            name,
            request,
            open::OpenRule::Create,
            open::TOPIC_OPEN_ATTEMPTS_MAX,
        )?;
        Ok(Self::new(request, memory))
    }

    /// Opens the topic `name`, whatever its type is. Meant for tools.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::open`], except the one for a different type.
    pub fn inspect(namespace: &Arc<Namespace>, name: &TopicName) -> Result<Arc<Self>, OpenError> {
        let memory = open::inspect(namespace, name)?;
        Ok(Self::new(&Request::new(memory.type_info.clone()), memory))
    }

    fn new(request: &Request, memory: Arc<TopicMemory>) -> Arc<Self> {
        let request = request.clone();
        Arc::new(Self { request, memory })
    }

    /// Returns the request (settings) with which the topic was opened.
    #[must_use]
    pub const fn request(&self) -> &Request {
        &self.request
    }
}

impl Deref for Segment {
    type Target = TopicMemory;

    fn deref(&self) -> &TopicMemory {
        &self.memory
    }
}

impl TopicMemory {
    fn heap(type_info: TypeInfo, request: &Request) -> Arc<Self> {
        let limit =
            |limit: Option<u32>| limit.unwrap_or(PARTICIPANTS_MAX).clamp(1, PARTICIPANTS_MAX);
        let shape = TopicShape::new(limit(request.lane_limit), limit(request.reader_limit));
        let region = Region::heap(shape.file_bytes() as usize);
        Arc::new(Self::new(
            type_info,
            shape,
            SegmentBacking::Heap(region),
            TopicLabel::UNNAMED,
        ))
    }

    fn new(
        type_info: TypeInfo,
        shape: TopicShape,
        backing: SegmentBacking,
        label: TopicLabel,
    ) -> Self {
        // WHY here: every endpoint that copies has a segment. The call chooses the settings.
        cpu::machine();
        let on_heap = matches!(backing, SegmentBacking::Heap(_));
        let (headers, observers) = Default::default();
        Self {
            type_info,
            shape,
            backing,
            label,
            epoch: fork_epoch(),
            extents: Mutex::new(ExtentList::new(on_heap)),
            headers,
            observers,
            uncancelled: None,
        }
    }

    pub(crate) fn from_file(type_info: TypeInfo, file: TopicFile) -> Self {
        let label = TopicLabel::new(&file.name);
        Self::new(
            type_info,
            TopicShape::FILE,
            SegmentBacking::File(Box::new(file)),
            label,
        )
    }

    /// Announces an observer, which reads slots without pinning them. [`Self::remove_observer`]
    /// ends the announcement.
    ///
    /// The mutex orders this call against [`Self::has_observers`]. Either that call counts this
    /// reader, or the stamp of the slot shows this reader that a publisher has begun to write the
    /// slot.
    pub(crate) fn add_observer(&self) {
        *self.lock_observers() += 1;
    }

    /// Reverses one call of [`Self::add_observer`]. The observer must not read slots after this
    /// call.
    pub(crate) fn remove_observer(&self) {
        *self.lock_observers() -= 1;
    }

    fn lock_observers(&self) -> MutexGuard<'_, u32> {
        // WHY poison is ignored: nothing panics while it is locked.
        self.observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a reader that does not pin slots may be copying from a slot that a publisher
    /// is about to write. Observers of a topic file are not counted, because they copy by system
    /// calls ([`Extent::try_copy_slot`]).
    pub(crate) fn has_observers(&self) -> bool {
        self.file().is_none() && *self.lock_observers() != 0
    }

    /// Returns the type of the topic's messages, as its file states it.
    #[must_use]
    pub const fn type_info(&self) -> &TypeInfo {
        &self.type_info
    }

    /// Returns the sizes and offsets of the parts of the topic file.
    #[must_use]
    pub const fn shape(&self) -> &TopicShape {
        &self.shape
    }

    /// Returns true if this segment was inherited through `fork`, so that it cannot be used.
    #[inline(always)]
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.epoch != fork_epoch()
    }

    /// Returns true if this process has found that the topic's file was truncated, or that the
    /// program closed the descriptor whose lock marks this process as alive. From then on nothing
    /// can be sent or received through this segment.
    #[must_use]
    pub fn is_memory_lost(&self) -> bool {
        let SegmentBacking::File(file) = &self.backing else {
            return false;
        };
        let areas = [&file.lane_area, &file.reader_area];
        let is_evicted = file.namespace.registry().is_lost();
        let is_lost = || {
            let extents = self.lock_extents();
            let is_lost = extents.iter().any(|extent| extent.is_truncated());
            // Relaxed: the fault epoch orders it.
            is_lost || file.has_lost_extent.get() != 0
        };
        // WHY not in a forked child: a thread that it does not have may have locked them.
        let is_lost = || !self.is_forked() && is_lost();
        is_evicted || areas.into_iter().any(PartMappings::is_any_mapping_lost) || is_lost()
    }

    /// Checks whether this segment is still usable, after the fault epoch has changed. Returns the
    /// present epoch if it is usable, and otherwise the reason why not.
    #[cold]
    pub(crate) fn fault_epoch_if_usable(&self) -> Result<u64, UnusableReason> {
        // WHY loaded before the check: a loss that follows the check then shows as a new epoch.
        let seen = fault::fault_epoch_before_check();
        if self.is_forked() {
            return Err(UnusableReason::Forked);
        }
        if self.is_memory_lost() {
            Err(UnusableReason::RegionLost)
        } else {
            Ok(seen)
        }
    }

    /// Does the same as [`Self::fault_epoch_if_usable`], but returns the errors of calls that open
    /// an endpoint.
    pub(crate) fn fault_epoch_or_open_error(&self) -> Result<u64, OpenError> {
        self.fault_epoch_if_usable().map_err(|error| match error {
            UnusableReason::Forked => OpenError::Forked,
            UnusableReason::RegionLost => OpenError::RegionLost { path: self.path() },
        })
    }

    /// Returns the owner word of this process: the number that identifies it in shared memory.
    #[must_use]
    pub fn own_owner_word(&self) -> u64 {
        match &self.backing {
            SegmentBacking::Heap(_) => HEAP_OWNER_WORD,
            SegmentBacking::File(file) => file.namespace.registry().own_owner_word().to_bits(),
        }
    }

    /// Returns true if the process for which the owner word `owner` stands can never write to the
    /// memory again. Takes about 0.2 µs: do not call it for each message.
    #[must_use]
    pub fn is_dead(&self, owner: u64) -> bool {
        match &self.backing {
            SegmentBacking::Heap(_) => false,
            SegmentBacking::File(file) => {
                // WHY a word of marks alone is dead: no process stores it, so it is damage.
                let process = Owner::from_bits(owner::process_bits_of_owner(owner));
                owner != 0 && file.namespace.registry().is_dead(process)
            }
        }
    }

    /// Returns the topic's name; `None` for a ring on the heap.
    #[must_use]
    pub fn topic(&self) -> Option<&TopicName> {
        self.file().map(|file| &file.name)
    }

    /// Returns the label (name) of the topic, for error texts. Does not allocate.
    #[must_use]
    pub const fn label(&self) -> TopicLabel {
        self.label
    }

    /// Returns the path of the topic file, for error texts.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.backing {
            SegmentBacking::Heap(_) => PathBuf::from("(heap)"),
            SegmentBacking::File(file) => file.path(),
        }
    }

    /// Returns the address of a part of the segment. Maps the part first if it is not yet mapped
    /// with the access `access`.
    #[inline]
    fn part_address(
        &self,
        mappings_of: impl FnOnce(&TopicFile) -> &PartMappings,
        range: std::ops::Range<u64>,
        access: Access,
    ) -> Result<*mut u8, OpenError> {
        let file = match &self.backing {
            SegmentBacking::Heap(region) => {
                // SAFETY: the region holds the whole file, and the range is a part of it.
                return Ok(unsafe { region.address().add(range.start as usize) });
            }
            SegmentBacking::File(file) => file,
        };
        let mappings = mappings_of(file);
        let place = match access {
            Access::Read | Access::ReadWritable => &mappings.read,
            Access::Write => &mappings.write,
        };
        match place.get() {
            Some(region) => Ok(region.address()),
            None => self.map_part(file, place, range, access),
        }
    }

    /// Maps a part of the file, and stores the mapping in `place`. Returns its address.
    #[cold]
    fn map_part(
        &self,
        file: &TopicFile,
        place: &OnceLock<Region>,
        range: std::ops::Range<u64>,
        access: Access,
    ) -> Result<*mut u8, OpenError> {
        let bytes = (range.end - range.start) as usize;
        let fd = file.fd.get();
        let region = fd
            .and_then(|fd| Region::map(fd, range.start, bytes, access))
            .map_err(|source| OpenError::Io {
                operation: "mapping",
                path: file.path(),
                source,
            })?;
        // WHY: if another thread mapped it meanwhile, that mapping stays and this one is unmapped.
        Ok(place.get_or_init(|| region).address())
    }

    fn lane_area(&self, access: Access) -> Result<*mut u8, OpenError> {
        self.part_address(|file| &file.lane_area, self.shape().lane_area(), access)
    }

    fn reader_area(&self, access: Access) -> Result<*mut u8, OpenError> {
        self.part_address(|file| &file.reader_area, self.shape().reader_area(), access)
    }

    /// Returns a reference to the bookkeeping block at byte offset `offset` of a mapped area.
    ///
    /// # Safety
    ///
    /// At `offset`, there is a block of type `B`, which contains only atomics.
    unsafe fn block_at<B>(&self, area: *mut u8, offset: usize) -> &B {
        // SAFETY: the block at `offset` is in the area, by the contract.
        let block = unsafe { area.add(offset) };
        // SAFETY: blocks are aligned in their area, and mapped for as long as this segment lives;
        // atomics may be shared with other processes that write them.
        unsafe { &*block.cast() }
    }

    /// Returns access to the bookkeeping blocks of all readers.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if the reader area cannot be mapped.
    pub(crate) fn readers(&self, access: Access) -> Result<ReaderBlocks, OpenError> {
        let area = self.reader_area(access)?;
        let limit = self.shape().reader_limit();
        let offset = self.shape().reader_block_offset(0);
        // SAFETY: block and cursors of each reader are in the reader area.
        let blocks = unsafe { area.add(offset) };
        // SAFETY: the area begins with the wait block. It is mapped for as long as this segment
        // lives, which every endpoint keeps, with the access that the caller requests for its use.
        Ok(unsafe { ReaderBlocks::new(area.cast(), blocks, self.shape().reader_bytes(), limit) })
    }

    /// Returns the control block and the cursors of the lane with index `lane`, without its slots.
    /// This suffices to publish a cursor in the lane.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a part cannot be mapped.
    pub(crate) fn lane_parts_without_slots(
        &self,
        lane: u32,
        lane_area: Access,
        readers: ReaderBlocks,
    ) -> Result<RawLaneParts, OpenError> {
        let block: *const LaneBlock<AtomicU64> = self.lane_block(lane, lane_area)?;
        Ok(RawLaneParts {
            slots: std::ptr::null_mut(),
            stride: SLOT_ALIGN_BYTES as usize,
            capacity: LANE_CAPACITY_MIN,
            base: 0,
            generation: 0,
            block,
            lane,
            type_identity: &TypeIdentity::NONE,
            readers,
        })
    }

    /// Returns the lane to which `extent` belongs, with the slots of that extent.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a part cannot be mapped.
    pub(crate) fn lane(
        &self,
        extent: &Arc<Extent>,
        block: Access,
        readers: ReaderBlocks,
    ) -> Result<RawLane, OpenError> {
        let shape = &extent.offer.shape;
        let parts = RawLaneParts {
            slots: extent.first_slot_address(),
            base: extent.base.position,
            generation: extent.id.generation,
            stride: shape.stride() as usize,
            capacity: shape.capacity(),
            type_identity: &raw const extent.type_identity,
            ..self.lane_parts_without_slots(extent.id.lane, block, readers)?
        };
        // SAFETY: slots and identity are there for as long as the extent lives, and the block for
        // as long as this segment, with the access that the caller requests for its use; every
        // endpoint keeps both.
        Ok(unsafe { RawLane::new(parts) })
    }

    /// Returns the topic file; `None` if the segment is on the heap.
    pub(crate) fn file(&self) -> Option<&TopicFile> {
        match &self.backing {
            SegmentBacking::Heap(_) => None,
            SegmentBacking::File(file) => Some(file),
        }
    }

    /// Returns the path of the newest extent's file for each lane that has an extent. The list is
    /// empty for a segment on the heap.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if the lane area cannot be mapped.
    pub fn lane_paths(&self) -> Result<Vec<PathBuf>, OpenError> {
        let Some(file) = self.file() else {
            return Ok(Vec::new());
        };
        let mut paths = Vec::new();
        for lane in 0..self.shape().lane_limit() {
            // Relaxed: for people.
            let generation = self.lane_block(lane, Access::Read)?.generation.get();
            if generation != 0 {
                paths.push(extent::lane_file_path(file, ExtentId { lane, generation }));
            }
        }
        Ok(paths)
    }

    /// Returns the descriptor of the topic file, for tests that examine the bytes of the file;
    /// `None` if the segment is on the heap.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file()?.fd.get().ok()
    }
}

impl Drop for TopicMemory {
    fn drop(&mut self) {
        self.uncancelled = Some(NoCancelGuard::new());
        // WHY nothing more: a forked child has neither locks nor lanes, so it only unmaps.
        if self.is_forked() {
            return;
        }
        if let SegmentBacking::File(file) = &self.backing {
            open::release_file_in_use(file, || {
                // WHY first: no lock that would stop openers is needed to keep a file. WHY false if
                // it cannot be read: a file that was truncated has no history.
                if file.has_latched_history().unwrap_or(false) {
                    file.release_lock();
                } else {
                    // WHY the error is ignored: a file that cannot be removed now is removed by the
                    // next sweep.
                    let _ = presence::retire_file_unless_kept(&**file);
                }
            });
        }
    }
}
