//! Segments: the memory of one topic in this process. Its parts are mapped when they are needed.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::file::contract::{Contract, Request};
use crate::file::error::{OpenError, UnusableReason};
use crate::file::label::TopicLabel;
use crate::file::name::TopicName;
use crate::file::namespace::Namespace;
use crate::file::open;
use crate::os::cancel::NoCancelGuard;
use crate::os::descriptor::CheckedFd;
use crate::os::fault;
use crate::os::region::{Access, Region};
use crate::os::{self, Stat};
use crate::process::fork::fork_epoch;
use crate::process::liveness::Owner;
use crate::protocol::copy;
use crate::protocol::layout::LaneBlock;
use crate::protocol::memory::{RawLane, RawLaneParts, Readers};
use crate::protocol::presence::{self, Attendance};
use crate::protocol::shape::Shape;

mod blocks;

pub use blocks::Blocks;

/// The owner word of all parts of a heap segment. It always names this process, which the segment
/// cannot outlive.
const HEAP_OWNER: u64 = 1;

/// The memory of a topic in this process, shared by all of the topic's endpoints in it.
///
/// The blocks are not accessible from outside this crate, because safe code that writes them could
/// change a message that is borrowed elsewhere:
///
/// ```compile_fail,E0599
/// # fn f(segment: &horus_shm::Segment) {
/// segment.control(horus_shm::Access::Write);
/// # }
/// ```
#[derive(Debug)]
pub struct Segment {
    contract: Contract,
    backing: Backing,
    /// The topic's label for errors.
    label: TopicLabel,
    epoch: u64,
    /// Number of readers of a heap segment that pin nothing: see [`Self::observe`].
    observers: Mutex<u32>,
    /// Set during drop. Declared last, so that it is dropped after the fields whose drop makes
    /// system calls.
    uncancelled: Option<NoCancelGuard>,
}

#[derive(Debug)]
enum Backing {
    Heap(Region),
    File(Box<TopicFile>),
}

/// The identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        Self {
            device: stat.dev,
            inode: stat.ino,
        }
    }
}

/// An open topic file at which this process is present, and its mapped parts.
#[derive(Debug)]
pub(crate) struct TopicFile {
    pub(crate) fd: CheckedFd,
    /// The identity of the file.
    pub(crate) id: FileId,
    pub(crate) namespace: Arc<Namespace>,
    pub(crate) name: TopicName,
    lane_area: Maps,
    reader_area: Maps,
    lanes: Box<[Maps]>,
}

/// The mappings of one part of the file: a read-only one, a writable one, both, or none yet.
#[derive(Debug, Default)]
struct Maps {
    read: OnceLock<Region>,
    write: OnceLock<Region>,
}

impl Maps {
    fn is_lost(&self) -> bool {
        [&self.read, &self.write]
            .iter()
            .any(|map| map.get().is_some_and(Region::is_lost))
    }
}

impl TopicFile {
    pub(crate) fn new(fd: OwnedFd, id: FileId, namespace: Arc<Namespace>, name: TopicName) -> Self {
        let fd = CheckedFd::with_identity(fd, id.device, id.inode);
        let (lane_area, reader_area, lanes) = Default::default();
        Self {
            fd,
            id,
            namespace,
            name,
            lane_area,
            reader_area,
            lanes,
        }
    }

    /// Returns the file's path, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.namespace.topics_path().join(self.name.file_name())
    }
}

impl Attendance for TopicFile {
    fn share(&self) -> io::Result<bool> {
        self.namespace.registry().presence_share(self.id.inode)
    }

    fn exclude(&self) -> io::Result<bool> {
        self.namespace.registry().presence_exclude(self.id.inode)
    }

    fn release(&self) {
        self.namespace.registry().presence_release(self.id.inode);
    }

    fn is_retired(&self) -> io::Result<bool> {
        let mut mark = [0; 8];
        os::read_at(
            self.fd.get()?,
            &mut mark,
            crate::protocol::layout::RETIRED_OFFSET,
        )?;
        Ok(mark != [0; 8])
    }

    fn set_retired(&self) -> io::Result<()> {
        os::write_at(
            self.fd.get()?,
            &1_u64.to_le_bytes(),
            crate::protocol::layout::RETIRED_OFFSET,
        )
    }

    fn is_linked(&self) -> io::Result<bool> {
        match os::fstatat(self.namespace.topics_dir()?, self.name.file_name()) {
            Ok(stat) => Ok(FileId::from_stat(&stat) == self.id && stat.links == 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn unlink(&self) -> io::Result<()> {
        os::unlink(self.namespace.topics_dir()?, self.name.file_name())
    }
}

impl Segment {
    /// Creates a segment on the heap, for endpoints within one process. Tools do not see it.
    ///
    /// # Errors
    ///
    /// [`OpenError::Shape`] or [`OpenError::TypeTooLong`].
    pub fn heap(request: &Request) -> Result<Arc<Self>, OpenError> {
        let contract = request.contract()?;
        let region = Region::heap(contract.shape.file_bytes() as usize);
        let backing = Backing::Heap(region);
        let label = TopicLabel::UNNAMED;
        let epoch = fork_epoch();
        let observers = Mutex::new(0);
        Ok(Arc::new(Self {
            contract,
            backing,
            label,
            epoch,
            observers,
            uncancelled: None,
        }))
    }

    /// Opens the topic `name`, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// Any [`OpenError`] except `NotFound`, `AlreadyExists` and those about limits of participants.
    pub fn open_or_create(
        namespace: &Arc<Namespace>,
        name: &TopicName,
        request: &Request,
    ) -> Result<Arc<Self>, OpenError> {
        open::open(namespace, name, request, open::Mode::OpenOrCreate)
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
        open::open(namespace, name, request, open::Mode::Open)
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
        open::open(namespace, name, request, open::Mode::Create)
    }

    /// Opens the topic `name`, whatever its type and settings are. For tools.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::open`], except those about a type or setting that differs.
    pub fn inspect(namespace: &Arc<Namespace>, name: &TopicName) -> Result<Arc<Self>, OpenError> {
        open::inspect(namespace, name)
    }

    pub(crate) fn from_file(contract: Contract, mut file: TopicFile) -> Self {
        let lanes = contract.shape.request().lane_limit;
        file.lanes = (0..lanes).map(|_| Maps::default()).collect();
        Self {
            contract,
            label: TopicLabel::new(&file.name),
            backing: Backing::File(Box::new(file)),
            epoch: fork_epoch(),
            observers: Mutex::new(0),
            uncancelled: None,
        }
    }

    /// Announces a reader that reads slots without pinning them, until [`Self::unobserve`].
    ///
    /// The mutex orders this call against [`Self::is_observed`]. Either that call counts this
    /// reader, or this reader sees, in the stamp of the slot, that a publisher had begun to write
    /// it.
    pub(crate) fn observe(&self) {
        *self.lock_observers() += 1;
    }

    /// Reverses one call of [`Self::observe`], whose reader no longer reads.
    pub(crate) fn unobserve(&self) {
        *self.lock_observers() -= 1;
    }

    fn lock_observers(&self) -> MutexGuard<'_, u32> {
        // WHY poison is ignored: nothing panics while it is locked.
        self.observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a reader that pins nothing may be copying from a slot that a publisher is
    /// about to write. Readers of a file do not count, because they copy with [`Self::load`].
    pub(crate) fn is_observed(&self) -> bool {
        self.file().is_none() && *self.lock_observers() != 0
    }

    /// Copies the first `bytes` bytes of a slot, for a reader that pins nothing; returns false if
    /// that is not possible. The copy may be torn.
    ///
    /// WHY with a system call: a publisher may be filling that slot on loan, with ordinary stores,
    /// and loads of this process that race with those would be undefined behaviour.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes, which are at most the payload.
    pub(crate) unsafe fn load(&self, lane: u32, index: u64, dst: *mut u8, bytes: usize) -> bool {
        let offset = self.shape().lane(lane).start + index * self.shape().stride();
        match &self.backing {
            Backing::Heap(region) => {
                // SAFETY: the region holds the whole file, of which the slot is a part.
                let slot = unsafe { region.address().add(offset as usize) };
                // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
                // While there is an observer, slots of a heap segment are written only by racing
                // stores: `is_observed`.
                unsafe { copy::load(dst, slot, bytes) };
                true
            }
            Backing::File(file) => {
                let _uncancelled = NoCancelGuard::new();
                // SAFETY: `dst` is writable for `bytes` bytes by the contract.
                let read = |fd| unsafe { os::read_raw_at(fd, dst, bytes, offset) };
                match file.fd.get().map(read) {
                    Ok(Ok(())) => return true,
                    // WHY continue: if the file was truncated, the load below detects that it is
                    // lost.
                    Ok(Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => return false,
                    // WHY continue: a program that closed the descriptor should still receive.
                    Ok(Err(_)) | Err(_) => {}
                }
                let Ok(slots) = self.slots(lane, Access::Read) else {
                    return false;
                };
                let slot = slots.wrapping_add(index as usize * self.shape().stride() as usize);
                // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract; the
                // slot is in the lane, which is mapped.
                unsafe { copy::load(dst, slot, bytes) };
                true
            }
        }
    }

    /// Returns the settings that the creator fixed.
    #[must_use]
    pub const fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Returns the sizes and offsets of the topic's parts.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.contract.shape
    }

    /// Returns true in a child that inherited this segment through `fork`.
    #[inline(always)]
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.epoch != fork_epoch()
    }

    /// Returns true once this process found that the topic's file was truncated, or that the
    /// program closed the descriptor with the lock that marks this process as alive. From then on
    /// nothing can be sent or received through this segment.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let Backing::File(file) = &self.backing else {
            return false;
        };
        let areas = [&file.lane_area, &file.reader_area];
        let is_evicted = file.namespace.registry().is_lost();
        is_evicted || areas.into_iter().chain(&file.lanes).any(Maps::is_lost)
    }

    /// Checks whether this segment is still usable, after the fault epoch has changed. Returns the
    /// present epoch if it is, otherwise the reason why not.
    #[cold]
    pub(crate) fn check_health(&self) -> Result<u64, UnusableReason> {
        // WHY loaded before the check: a loss that follows the check then shows as a new epoch.
        let seen = fault::epoch_before_check();
        if self.is_forked() {
            return Err(UnusableReason::Forked);
        }
        if self.is_lost() {
            Err(UnusableReason::RegionLost)
        } else {
            Ok(seen)
        }
    }

    /// Like [`Self::check_health`], with the errors of a call that opens an endpoint.
    pub(crate) fn expect_usable(&self) -> Result<u64, OpenError> {
        self.check_health().map_err(|error| match error {
            UnusableReason::Forked => OpenError::Forked,
            UnusableReason::RegionLost => OpenError::RegionLost { path: self.path() },
        })
    }

    /// Returns the owner word of this process.
    #[must_use]
    pub fn me(&self) -> u64 {
        match &self.backing {
            Backing::Heap(_) => HEAP_OWNER,
            Backing::File(file) => file.namespace.registry().me().to_bits(),
        }
    }

    /// Returns true if the process that an owner word names will never store again. Takes about 0.2
    /// µs: only for slow paths.
    #[must_use]
    pub fn is_dead(&self, owner: u64) -> bool {
        match &self.backing {
            Backing::Heap(_) => false,
            Backing::File(file) => {
                owner != 0 && file.namespace.registry().is_dead(Owner::from_bits(owner))
            }
        }
    }

    /// Returns the topic's name; `None` for a ring on the heap.
    #[must_use]
    pub fn topic(&self) -> Option<&TopicName> {
        self.file().map(|file| &file.name)
    }

    /// Returns the label of the topic, for errors. Does not allocate.
    #[must_use]
    pub const fn label(&self) -> TopicLabel {
        self.label
    }

    /// Returns the path of the topic file, for messages.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.backing {
            Backing::Heap(_) => PathBuf::from("(heap)"),
            Backing::File(file) => file.path(),
        }
    }

    /// Reserves the memory of a lane, so that an access to it cannot fail later.
    ///
    /// # Errors
    ///
    /// [`OpenError::NoSpace`] or [`OpenError::Io`].
    pub(crate) fn reserve_lane(&self, lane: u32) -> Result<(), OpenError> {
        match &self.backing {
            Backing::Heap(_) => Ok(()),
            Backing::File(file) => {
                let path = || file.path();
                let lane = self.shape().lane(lane);
                let fd = file.fd.get().map_err(|source| OpenError::Io {
                    operation: "reserving a lane of",
                    path: path(),
                    source,
                })?;
                open::reserve(fd, lane, path)
            }
        }
    }

    /// Returns the address of a part of the segment. Maps the part first if it is not mapped with
    /// this access.
    fn part(
        &self,
        maps: impl FnOnce(&TopicFile) -> &Maps,
        range: std::ops::Range<u64>,
        access: Access,
    ) -> Result<*mut u8, OpenError> {
        let file = match &self.backing {
            Backing::Heap(region) => {
                // SAFETY: the region holds the whole file, and the range is a part of it.
                return Ok(unsafe { region.address().add(range.start as usize) });
            }
            Backing::File(file) => file,
        };
        let maps = maps(file);
        let place = if access == Access::Read {
            &maps.read
        } else {
            &maps.write
        };
        if let Some(region) = place.get() {
            return Ok(region.address());
        }
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

    fn slots(&self, lane: u32, access: Access) -> Result<*mut u8, OpenError> {
        self.part(
            |file| &file.lanes[lane as usize],
            self.shape().lane(lane),
            access,
        )
    }

    fn lane_area(&self, access: Access) -> Result<*mut u8, OpenError> {
        self.part(|file| &file.lane_area, self.shape().lane_area(), access)
    }

    fn reader_area(&self, access: Access) -> Result<*mut u8, OpenError> {
        self.part(|file| &file.reader_area, self.shape().reader_area(), access)
    }

    /// Returns the block at `offset` of a mapped area.
    ///
    /// # Safety
    ///
    /// A block of type `B`, which contains only atomics, is there.
    unsafe fn block<B>(&self, area: *mut u8, offset: usize) -> &B {
        // SAFETY: the block at `offset` is in the area, by the contract.
        let block = unsafe { area.add(offset) };
        // SAFETY: blocks are aligned in their area, and mapped for as long as this segment lives;
        // atomics may be shared with other processes that write them.
        unsafe { &*block.cast() }
    }

    /// Returns the blocks of all readers.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if the reader area cannot be mapped.
    pub(crate) fn readers(&self, access: Access) -> Result<Readers, OpenError> {
        let area = self.reader_area(access)?;
        let limit = self.shape().request().reader_limit;
        let offset = self.shape().reader_block_offset(0);
        // SAFETY: block and cursors of each reader are in the reader area.
        let blocks = unsafe { area.add(offset) };
        // SAFETY: the area begins with the wait block. It is mapped for as long as this segment
        // lives, which every endpoint keeps, with the access that the caller requests for its use.
        Ok(unsafe { Readers::new(area.cast(), blocks, self.shape().reader_bytes(), limit) })
    }

    /// Returns lane `lane` without its slots: that is enough to join it.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a part cannot be mapped.
    pub(crate) fn lane_without_slots(
        &self,
        lane: u32,
        lane_area: Access,
        readers: Readers,
    ) -> Result<RawLaneParts, OpenError> {
        let request = self.shape().request();
        let block: *const LaneBlock<AtomicU64> = self.lane_block(lane, lane_area)?;
        Ok(RawLaneParts {
            slots: std::ptr::null_mut(),
            stride: self.shape().stride() as usize,
            capacity: request.capacity,
            block,
            lane,
            readers,
        })
    }

    /// Returns lane `lane` with its slots, whose memory must be reserved.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a part cannot be mapped.
    pub(crate) fn lane(
        &self,
        lane: u32,
        slots: Access,
        readers: Readers,
    ) -> Result<RawLane, OpenError> {
        let mut parts = self.lane_without_slots(lane, slots, readers)?;
        parts.slots = self.slots(lane, slots)?;
        // SAFETY: slots and block are mapped for as long as this segment lives, with the access
        // that the caller requests for its use; every endpoint keeps the segment, and its readers.
        Ok(unsafe { RawLane::new(parts) })
    }

    /// Populates the pages of a lane that this process writes, all at once.
    pub(crate) fn populate_lane(&self, lane: u32) {
        let range = self.shape().lane(lane);
        let place = self.file().map(|file| &file.lanes[lane as usize].write);
        if let Some(region) = place.and_then(|place| place.get()) {
            region.populate((range.end - range.start) as usize);
        }
    }

    /// Returns the topic file, if the segment has one.
    pub(crate) fn file(&self) -> Option<&TopicFile> {
        match &self.backing {
            Backing::Heap(_) => None,
            Backing::File(file) => Some(file),
        }
    }

    /// Returns the descriptor of the topic file, for tests and tools that look at its bytes.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file()?.fd.get().ok()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.uncancelled = Some(NoCancelGuard::new());
        // WHY nothing more: a forked child has neither locks nor lanes, so it only unmaps.
        if self.is_forked() {
            return;
        }
        if let Backing::File(file) = &self.backing {
            open::leave_table(file, || {
                if self.contract.persists {
                    file.release();
                } else {
                    // WHY the error is ignored: a file that cannot be removed now is removed by the
                    // next sweep.
                    let _ = presence::retire(&**file);
                }
            });
        }
    }
}
