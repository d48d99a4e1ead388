//! An open topic file, and the parts of it that are mapped in this process.

use std::io;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use crate::file::extent::{Extent, remove_lane_files};
use crate::file::header::{ExtentId, Provenance};
use crate::file::name::TopicName;
use crate::file::name_watch::NameWatch;
use crate::file::namespace::Namespace;
use crate::file::open;
use crate::file::segment::SEARCHED_EXTENTS_MAX;
use crate::os::descriptor::CheckedFd;
use crate::os::region::Region;
use crate::os::{self, FileStatus};
use crate::protocol::layout::{LaneBlock, POSITION_MAX, SkipCounter};
use crate::protocol::presence::AttachableFile;
use crate::protocol::shape::{TopicShape, lane_block_offset};

/// The identity of a file, which does not depend on its name: its device and inode numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) const fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    pub(crate) const fn inode(&self) -> u64 {
        self.inode
    }

    pub(crate) fn from_stat(stat: &FileStatus) -> Self {
        Self {
            device: stat.dev,
            inode: stat.ino,
        }
    }
}

/// An open topic file, and the parts of it that are mapped in this process. The process is marked
/// as using the file.
#[derive(Debug)]
pub(crate) struct TopicFile {
    /// The watch on the file's name; `None` until this process is marked as using the file.
    /// Declared first, so that it is dropped before `namespace`.
    pub(crate) name_watch: Option<NameWatch>,
    pub(crate) fd: CheckedFd,
    /// The device and inode numbers of the file.
    pub(crate) id: FileId,
    pub(crate) namespace: Arc<Namespace>,
    pub(crate) name: TopicName,
    /// The random id of the topic file. The names of its lane files contain it. Zeros if the file
    /// is unusable.
    pub(crate) topic_id: [u8; 16],
    pub(super) lane_area: PartMappings,
    pub(super) reader_area: PartMappings,
    /// 1 once an extent (file of slots) whose file was found truncated has been unmapped; 0 before.
    pub(crate) has_lost_extent: Arc<AtomicU64>,
}

/// A private copy of the bookkeeping blocks of all lanes of a topic file.
pub(crate) struct LaneBlocksCopy(Vec<u8>);

impl LaneBlocksCopy {
    /// Returns the word at byte offset `offset` in the block of lane `lane`.
    pub(crate) fn word_at(&self, lane: u32, offset: usize) -> u64 {
        let at = lane_block_offset(lane) + offset;
        let word = self.0.get(at..).and_then(|bytes| bytes.first_chunk());
        word.copied().map_or(0, u64::from_le_bytes)
    }
}

/// The mappings of one part of the topic file in this process: none yet, a read-only one, a
/// writable one, or both.
#[derive(Debug, Default)]
pub(super) struct PartMappings {
    pub(super) read: OnceLock<Region>,
    pub(super) write: OnceLock<Region>,
}

impl PartMappings {
    pub(super) fn is_any_mapping_lost(&self) -> bool {
        [&self.read, &self.write]
            .iter()
            .any(|map| map.get().is_some_and(Region::is_mapping_lost))
    }
}

impl TopicFile {
    pub(crate) fn new(fd: OwnedFd, id: FileId, namespace: Arc<Namespace>, name: TopicName) -> Self {
        Self {
            name_watch: None,
            fd: CheckedFd::with_file_id(fd, id.device, id.inode),
            id,
            namespace,
            name,
            topic_id: [0; 16],
            lane_area: PartMappings::default(),
            reader_area: PartMappings::default(),
            has_lost_extent: Arc::default(),
        }
    }

    /// Sets the random id of the topic file, which the caller has read from the file's header.
    pub(crate) const fn with_topic_id(mut self, topic_id: [u8; 16]) -> Self {
        self.topic_id = topic_id;
        self
    }

    /// Returns true if a lane has history that is kept after its publisher has left. If the file is
    /// truncated, there is none.
    ///
    /// # Errors
    ///
    /// The error of a system call.
    pub(crate) fn has_latched_history(&self) -> io::Result<bool> {
        let blocks = self.read_lane_blocks()?;
        let mut lanes = 0..TopicShape::FILE.lane_limit();
        Ok(lanes.any(|lane| {
            let word = |offset| blocks.word_at(lane, offset);
            let latched = word(offset_of!(LaneBlock<AtomicU64>, latched));
            let head = word(offset_of!(LaneBlock<AtomicU64>, head));
            let generation = word(offset_of!(LaneBlock<AtomicU64>, generation));
            latched != 0 && self.has_latched_extent(ExtentId { lane, generation }, head)
        }))
    }

    /// Returns the number of times that publishers have claimed lanes, plus the number of messages
    /// in these lanes, as [`LaneCounters`](crate::LaneCounters) has them.
    ///
    /// # Errors
    ///
    /// The error of a system call.
    pub(crate) fn use_count(&self) -> io::Result<u64> {
        let blocks = self.read_lane_blocks()?;
        let uses = (0..TopicShape::FILE.lane_limit()).map(|lane| {
            let word = |offset| blocks.word_at(lane, offset);
            let claims = word(offset_of!(LaneBlock<AtomicU64>, epoch));
            let head = word(offset_of!(LaneBlock<AtomicU64>, head)).min(POSITION_MAX);
            let skips = SkipCounter::from_word(word(offset_of!(LaneBlock<AtomicU64>, skips)));
            let end = skips.counted_up_to(head, head).unwrap_or(head);
            match claims {
                0 => 0,
                claims => claims.wrapping_add(end.saturating_sub(skips.count)),
            }
        });
        // WHY wrapping: another process may have written anything.
        Ok(uses.fold(0, u64::wrapping_add))
    }

    /// Returns true if the last messages of a lane belong to a history that is kept. They are in
    /// the newest extent that contains messages. `head` is the position after the newest message.
    /// Also returns true if the header of an extent cannot be read.
    fn has_latched_extent(&self, newest: ExtentId, head: u64) -> bool {
        let mut end = head;
        for generation in (1..=newest.generation)
            .rev()
            .take(SEARCHED_EXTENTS_MAX as usize)
        {
            // WHY true: what cannot be read now may be read later, and is removed by hand.
            let read = Extent::read_offer(
                self,
                ExtentId {
                    generation,
                    ..newest
                },
            );
            let Ok((base, offer)) = read else {
                return true;
            };
            if offer.latched_message_count() == 0 || base.position < end {
                return offer.latched_message_count() > 0;
            }
            end = base.position;
        }
        false
    }

    /// Returns the present boot and process registry. The headers of this topic's new files contain
    /// both.
    pub(crate) fn provenance(&self) -> Provenance {
        open::provenance(&self.namespace)
    }

    /// Copies the blocks of all lanes without mapping them. If the file is truncated, the missing
    /// bytes are zero.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub(crate) fn read_lane_blocks(&self) -> io::Result<LaneBlocksCopy> {
        let area = TopicShape::FILE.lane_area();
        let mut bytes = vec![0; (area.end - area.start) as usize];
        match os::read_at(self.fd.get()?, &mut bytes, area.start) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(LaneBlocksCopy(bytes)),
        }
    }

    /// Returns the path of the file, for error texts.
    pub(crate) fn path(&self) -> PathBuf {
        self.namespace.topics_path().join(self.name.file_name())
    }
}

impl AttachableFile for TopicFile {
    fn try_lock_shared(&self) -> io::Result<bool> {
        self.namespace
            .registry()
            .mark_topic_file_used(self.id.inode)
    }

    fn try_lock_exclusive(&self) -> io::Result<bool> {
        self.namespace
            .registry()
            .exclude_others_from_topic_file(self.id.inode)
    }

    fn release_lock(&self) {
        self.namespace.registry().release_topic_file(self.id.inode);
    }

    fn is_retired(&self) -> io::Result<bool> {
        let mut mark = [0; 8];
        os::read_at(
            self.fd.get()?,
            &mut mark,
            crate::protocol::layout::RETIRED_WORD_OFFSET,
        )?;
        Ok(mark != [0; 8])
    }

    fn set_retired(&self) -> io::Result<()> {
        os::write_at(
            self.fd.get()?,
            &1_u64.to_le_bytes(),
            crate::protocol::layout::RETIRED_WORD_OFFSET,
        )
    }

    fn must_be_kept(&self) -> io::Result<bool> {
        self.has_latched_history()
    }

    fn remove_belonging_files(&self) {
        remove_lane_files(self);
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
