//! Extents. An extent is an array of slots of a lane. It has a file of its own beside the topic
//! file, which is called a lane file, or it is on the heap.
//!
//! A lane file is in the directory of the topic files, see [`lane_name`]. When its name appears, it
//! is complete, and all of its memory is reserved. Its size and its header never change. Only the
//! owner of the lane creates lane files, and removes their names. A process that has mapped a lane
//! file keeps its memory until it unmaps the file.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::file::error::OpenError;
use crate::file::header::{self, ExtentBoundary, ExtentId, HeaderError, LaneHeader};
use crate::file::lane_name;
use crate::file::offer::Offer;
use crate::file::open::{no_space_or_io_error, reserve_file_range};
use crate::file::segment::{SEARCHED_EXTENTS_MAX, TopicFile};
use crate::os::cancel::NoCancelGuard;
use crate::os::descriptor::CheckedFd;
use crate::os::fault;
use crate::os::region::{Access, Region};
use crate::os::{self, OpenMode};
use crate::protocol::copy;
use crate::protocol::identity::TypeIdentity;
use crate::protocol::layout::{HEADER_BYTES, LAYOUT_VERSION, LaneBlock};
use crate::protocol::shape::TopicShape;
use crate::protocol::sync::Word as _;
use crate::protocol::tuning::Tuning;

/// Maximum number of extents of one lane whose files exist. There may be more while reliable
/// readers still have to read extents of earlier publishers, or if later extents have no messages.
pub(crate) const EXTENT_FILES_PER_LANE_MAX: usize = 4;

/// Maximum size in bytes of all slots of a lane together that a reader maps as writable memory.
/// WHY: if the slots are small, a writable mapping makes receiving faster. Measured on a Zen 4 with
/// first-level caches of 32 KiB: faster with 16 KiB, not with 32 KiB and more.
const READER_WRITABLE_BYTES_MAX: usize = 16 << 10;

/// The purpose for which an endpoint maps an extent (file of slots).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtentUse {
    /// The endpoint writes messages into the slots.
    Write,
    /// The endpoint reads messages from the slots.
    Read,
    /// The same as [`Self::Read`], and the user has declared that the topic has no other reader.
    ReadAlone,
    /// The endpoint is an observer, which must not write to memory: it reads messages by system
    /// calls.
    Observe,
}

impl ExtentUse {
    /// Returns the access with which an endpoint maps slots that have `slots_bytes` bytes together.
    /// WHY only a reader that is declared to be alone may map them writable: a stray store of its
    /// process could damage a message that another reader receives.
    fn mapping_access(self, slots_bytes: usize) -> Access {
        let is_faster =
            || slots_bytes <= READER_WRITABLE_BYTES_MAX && Tuning::current().maps_slots_writable;
        match self {
            Self::Write => Access::Write,
            Self::ReadAlone if is_faster() => Access::ReadWritable,
            Self::ReadAlone | Self::Read | Self::Observe => Access::Read,
        }
    }

    /// Returns true if the endpoint needs the open lane file after it has mapped the file. WHY
    /// false for a reader: a process may read many lanes, but can have only few open descriptors.
    const fn keeps_descriptor(self) -> bool {
        matches!(self, Self::Write | Self::Observe)
    }
}

/// An extent (file of slots) of a lane, and its mapping in this process.
#[derive(Debug)]
pub(crate) struct Extent {
    pub(crate) id: ExtentId,
    pub(crate) usage: ExtentUse,
    pub(crate) base: ExtentBoundary,
    pub(crate) offer: Offer,
    /// The identity of the message type in `offer`, with which types are compared.
    pub(crate) type_identity: TypeIdentity,
    slots: Region,
    /// The open lane file, if the endpoint needs it ([`ExtentUse::keeps_descriptor`]).
    fd: Option<CheckedFd>,
    /// The flag [`TopicFile::has_lost_extent`], which is set when this extent is dropped and its
    /// file was truncated; `None` on the heap.
    topic_lost: Option<Arc<AtomicU64>>,
}

impl Drop for Extent {
    fn drop(&mut self) {
        // WHY: the topic stays unusable in this process, whichever of its extents is still mapped.
        if self.is_truncated()
            && let Some(lost) = &self.topic_lost
        {
            // Relaxed: the epoch orders it. WHY again: an endpoint may have checked the topic just
            // now, after the extent had left the list of the mapped ones.
            lost.set(1);
            fault::advance_fault_epoch();
        }
    }
}

impl Extent {
    /// Creates an extent whose slots are on the heap.
    pub(crate) fn on_heap(id: ExtentId, base: ExtentBoundary, offer: Offer) -> Self {
        Self {
            id,
            usage: ExtentUse::Write,
            base,
            slots: Region::heap(offer.shape.slots_bytes() as usize),
            type_identity: offer.type_info.identity(),
            offer,
            fd: None,
            topic_lost: None,
        }
    }

    /// Creates the file of an extent, reserves all of its memory, and maps it. If a file already
    /// has the name, it was left by a publisher that died before it used the file; it is replaced.
    ///
    /// # Errors
    ///
    /// [`OpenError::NoSpace`] or [`OpenError::Io`].
    pub(crate) fn create(
        topic: &TopicFile,
        id: ExtentId,
        base: ExtentBoundary,
        offer: Offer,
    ) -> Result<Self, OpenError> {
        let place = LaneFilePath { topic, id };
        let dir = topic.namespace.topics_dir();
        let dir = dir.map_err(place.io_error("creating a lane file of"))?;
        let bytes = offer.shape.file_bytes();
        let no_space =
            |operation, source| no_space_or_io_error(dir, operation, topic.path(), bytes, source);
        let fd = os::open_unnamed_file(dir)
            .map_err(|error| no_space("creating a lane file of", error))?;
        os::set_len(fd.as_fd(), bytes).map_err(place.io_error("sizing a lane file of"))?;
        let header = LaneHeader {
            topic_id: topic.topic_id,
            topic_inode: topic.id.inode(),
            id,
            base,
        };
        let header = header::encode_lane_header(&offer, &header, topic.provenance());
        for part in [0..header.len() as u64, offer.shape.slots()] {
            reserve_file_range(fd.as_fd(), part, || topic.path())?;
        }
        os::write_at(fd.as_fd(), &header, 0)
            .map_err(place.io_error("writing the header of a lane file of"))?;
        let access = topic.namespace.access_rule();
        let given = access.apply_to_file(fd.as_fd());
        given.map_err(place.io_error("setting the mode of a lane file of"))?;
        // WHY before it has a name: if it cannot be mapped, no file is left.
        let extent = Self::map_file(&place, &fd, (base, offer), ExtentUse::Write)?;
        match os::link_unnamed_file(fd.as_fd(), dir, place.name()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                os::unlink(dir, place.name())
                    .map_err(place.io_error("removing a leftover lane file of"))?;
                os::link_unnamed_file(fd.as_fd(), dir, place.name())
            }
            linked => linked,
        }
        .map_err(|error| no_space("naming a lane file of", error))?;
        extent.with_descriptor_if_needed(&place, fd)
    }

    /// Opens and maps the lane file of extent `id`. Checks the file before it trusts its content.
    ///
    /// # Errors
    ///
    /// [`OpenError::NotATopic`], [`OpenError::Damaged`] or [`OpenError::Io`].
    pub(crate) fn open(
        topic: &TopicFile,
        id: ExtentId,
        usage: ExtentUse,
    ) -> Result<Self, OpenError> {
        let (fd, base, offer) = Self::open_and_read_header(topic, id, OpenMode::ReadWrite)?;
        let place = LaneFilePath { topic, id };
        Self::map_file(&place, &fd, (base, offer), usage)?.with_descriptor_if_needed(&place, fd)
    }

    /// Reads the header of a lane file. Returns the position and the sequence number at which the
    /// extent begins, and the settings that its publisher offers.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::open`].
    pub(crate) fn read_offer(
        topic: &TopicFile,
        id: ExtentId,
    ) -> Result<(ExtentBoundary, Offer), OpenError> {
        Self::open_and_read_header(topic, id, OpenMode::ReadOnly)
            .map(|(_, base, offer)| (base, offer))
    }

    /// Opens the file of a lane, and reads and checks its header.
    fn open_and_read_header(
        topic: &TopicFile,
        id: ExtentId,
        mode: OpenMode,
    ) -> Result<(OwnedFd, ExtentBoundary, Offer), OpenError> {
        let place = LaneFilePath { topic, id };
        let fd = open_lane_file(topic, id, mode)?;
        let stat = os::fstat(fd.as_fd()).map_err(place.io_error("looking at a lane file of"))?;
        let refused = if !stat.is_file() {
            Some("not a regular file".to_owned())
        } else {
            topic.namespace.access_rule().check_file(&stat).err()
        };
        if let Some(found) = refused {
            let path = place.path();
            return Err(OpenError::NotATopic { path, found });
        }
        let mut bytes = vec![0; HEADER_BYTES.min(stat.size_bytes as usize)];
        os::read_at(fd.as_fd(), &mut bytes, 0)
            .map_err(place.io_error("reading the header of a lane file of"))?;
        let decoded = header::decode_lane_header(&bytes, stat.size_bytes, topic.provenance());
        let (offer, header) = decoded.map_err(|error| place.header_error(error))?;
        place.check_header(&header)?;
        Ok((fd, header.base, offer))
    }

    fn map_file(
        place: &LaneFilePath<'_>,
        fd: &OwnedFd,
        (base, offer): (ExtentBoundary, Offer),
        usage: ExtentUse,
    ) -> Result<Self, OpenError> {
        let range = offer.shape.slots();
        let bytes = offer.shape.slots_bytes() as usize;
        let slots = Region::map(fd.as_fd(), range.start, bytes, usage.mapping_access(bytes));
        Ok(Self {
            id: place.id,
            usage,
            base,
            type_identity: offer.type_info.identity(),
            offer,
            slots: slots.map_err(place.io_error("mapping"))?,
            fd: None,
            topic_lost: Some(Arc::clone(&place.topic.has_lost_extent)),
        })
    }

    /// Stores the descriptor of the lane file in the extent, if the endpoint needs the open file
    /// later.
    fn with_descriptor_if_needed(
        mut self,
        place: &LaneFilePath<'_>,
        fd: OwnedFd,
    ) -> Result<Self, OpenError> {
        if self.usage.keeps_descriptor() {
            self.fd =
                Some(CheckedFd::new(fd).map_err(place.io_error("looking at a lane file of"))?);
        }
        Ok(self)
    }

    /// Returns the address of the first slot.
    pub(crate) const fn first_slot_address(&self) -> *mut u8 {
        self.slots.address()
    }

    /// Returns true if an access to the slots has found that the lane file was truncated, so that
    /// messages are lost.
    pub(crate) fn is_truncated(&self) -> bool {
        self.slots.is_mapping_lost()
    }

    /// Makes the pages of all slots resident with a single system call, so that later writes cause
    /// no page faults.
    pub(crate) fn populate_pages(&self) {
        self.slots
            .populate_pages(self.offer.shape.slots_bytes() as usize);
    }

    /// Copies the first `bytes` bytes of a slot, for a reader that does not pin the slot. Returns
    /// false if that is not possible. The copy may be torn.
    ///
    /// WHY by a system call: a publisher may be filling that slot as a loan, with ordinary stores.
    /// If this process loaded the same bytes at that time, the data race would be undefined
    /// behaviour.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes. `bytes` is at most the payload of a slot, and `index`
    /// is below the capacity.
    pub(crate) unsafe fn try_copy_slot(&self, index: u64, dst: *mut u8, bytes: usize) -> bool {
        let shape = &self.offer.shape;
        let offset = index * shape.stride();
        if let Some(file) = &self.fd {
            let _uncancelled = NoCancelGuard::new();
            let at = shape.slots().start + offset;
            // SAFETY: `dst` is writable for `bytes` bytes by the contract.
            let read = |fd| unsafe { os::read_raw_at(fd, dst, bytes, at) };
            match file.get().map(read) {
                Ok(Ok(())) => return true,
                // WHY continue: if the file was truncated, the load below detects that it is lost.
                Ok(Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => return false,
                // WHY continue: a program that closed the descriptor should still receive.
                Ok(Err(_)) | Err(_) => {}
            }
        }
        // SAFETY: the index is below the capacity, so the slot lies in the region.
        let slot = unsafe { self.first_slot_address().add(offset as usize) };
        // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract. While there
        // is an observer, slots on the heap are written only by racing stores:
        // `Segment::has_observers`.
        unsafe { copy::copy_from_shared(dst, slot, bytes) };
        true
    }
}

/// The directory and the name of a lane file. A lane file is in the same directory as its topic
/// file.
struct LaneFilePath<'a> {
    topic: &'a TopicFile,
    id: ExtentId,
}

impl LaneFilePath<'_> {
    fn name(&self) -> String {
        name_of_lane_file(self.topic, self.id)
    }

    fn path(&self) -> PathBuf {
        self.topic.namespace.topics_path().join(self.name())
    }

    /// Returns a function that converts a system error of `operation`. WHY the result names the
    /// topic file: users know the topic, but not the lane files.
    fn io_error(&self, operation: &'static str) -> impl FnOnce(io::Error) -> OpenError {
        let path = self.topic.path();
        move |source| OpenError::Io {
            operation,
            path,
            source,
        }
    }

    /// Converts the error of a failed open. If the file is missing, or is not a regular file, the
    /// result says so.
    fn open_error(&self, error: io::Error) -> OpenError {
        let found = match error.raw_os_error() {
            Some(libc::ENOENT) => "missing",
            Some(libc::ELOOP) => "a symbolic link",
            Some(libc::EISDIR) => "a directory",
            Some(libc::ENXIO) => "a socket or a device",
            _ => return self.io_error("opening a lane file of")(error),
        };
        let (path, found) = (self.path(), found.to_owned());
        OpenError::NotATopic { path, found }
    }

    /// Checks that the header of the file belongs to this lane and this topic.
    fn check_header(&self, header: &LaneHeader) -> Result<(), OpenError> {
        let found = (header.topic_id, header.topic_inode, header.id);
        let wanted = (self.topic.topic_id, self.topic.id.inode(), self.id);
        if found == wanted {
            return Ok(());
        }
        let describe = |(topic_id, inode, id): ([u8; 16], u64, ExtentId)| {
            format!(
                "the one called '{}'",
                lane_name::lane_file_name(topic_id, inode, id)
            )
        };
        Err(self.header_error(HeaderError::Damaged {
            field: "lane",
            found: describe(found),
            wanted: describe(wanted),
        }))
    }

    fn header_error(&self, error: HeaderError) -> OpenError {
        let path = self.path();
        match error {
            HeaderError::Damaged {
                field,
                found,
                wanted,
            } => OpenError::Damaged {
                path,
                field,
                found,
                wanted,
            },
            HeaderError::Version(found) => OpenError::LayoutVersion {
                path,
                found,
                wanted: LAYOUT_VERSION,
            },
            HeaderError::Magic | HeaderError::Boot | HeaderError::Registry => {
                let found = "not a lane file of this topic".to_owned();
                OpenError::NotATopic { path, found }
            }
        }
    }
}

/// Opens the lane file of extent `id` in the access mode `mode`, and checks that it is a regular
/// file with the right owner.
///
/// # Errors
///
/// [`OpenError::NotATopic`] or [`OpenError::Io`].
pub(super) fn open_lane_file(
    topic: &TopicFile,
    id: ExtentId,
    mode: OpenMode,
) -> Result<OwnedFd, OpenError> {
    let place = LaneFilePath { topic, id };
    let dir = topic.namespace.topics_dir();
    let dir = dir.map_err(place.io_error("opening a lane file of"))?;
    let fd = os::open_file(dir, place.name(), mode);
    fd.map_err(|error| place.open_error(error))
}

/// Returns the path of the lane file of extent `id`.
pub(super) fn lane_file_path(topic: &TopicFile, id: ExtentId) -> PathBuf {
    LaneFilePath { topic, id }.path()
}

/// Returns the name of the lane file of extent `id`.
fn name_of_lane_file(topic: &TopicFile, id: ExtentId) -> String {
    lane_name::lane_file_name(topic.topic_id, topic.id.inode(), id)
}

/// Returns true if the lane file of extent `id` still exists in the directory, so that readers can
/// open it.
pub(crate) fn lane_file_exists(topic: &TopicFile, id: ExtentId) -> bool {
    let dir = topic.namespace.topics_dir();
    dir.is_ok_and(|dir| os::fstatat(dir, name_of_lane_file(topic, id)).is_ok())
}

/// Removes the file of extent `id` from its directory, if it exists. WHY there is no error: a file
/// that cannot be removed now is removed with the topic, or by a sweep.
pub(crate) fn remove_lane_file(topic: &TopicFile, id: ExtentId) {
    if let Ok(dir) = topic.namespace.topics_dir() {
        let _ = os::unlink(dir, name_of_lane_file(topic, id));
    }
}

/// Removes the names of all lane files of a topic file that no process uses. If the name of a lane
/// file cannot be removed, the next sweep removes it, because the lane file then has no topic file.
///
/// WHY it lists the directory: the lane blocks of the topic file, which say which lane files exist,
/// cannot be trusted, and the file may be truncated.
pub(crate) fn remove_lane_files(topic: &TopicFile) {
    let Ok(dir) = topic.namespace.topics_dir() else {
        return;
    };
    let Ok(names) = os::list_dir(dir) else {
        return remove_lane_files_without_listing(topic);
    };
    let names = names.iter().map(|name| name.to_string_lossy());
    let prefix = lane_name::lane_files_prefix(topic.topic_id);
    for name in names.filter(|name| name.starts_with(&prefix)) {
        let _ = os::unlink(dir, &*name);
    }
}

/// Removes the lane files whose numbers are in the lane blocks of the topic file, and those with
/// nearby numbers. Unlike listing the directory, this needs no free descriptor.
fn remove_lane_files_without_listing(topic: &TopicFile) {
    let Ok(blocks) = topic.read_lane_blocks() else {
        return;
    };
    for lane in 0..TopicShape::FILE.lane_limit() {
        let newest = blocks.word_at(lane, offset_of!(LaneBlock<AtomicU64>, generation));
        // An owner that died while it grew left a file with the next generation.
        let oldest = blocks.word_at(lane, offset_of!(LaneBlock<AtomicU64>, oldest));
        let last = newest.saturating_sub(SEARCHED_EXTENTS_MAX)..=newest.saturating_add(1);
        for generation in last.chain([oldest]) {
            remove_lane_file(topic, ExtentId { lane, generation });
        }
    }
}
