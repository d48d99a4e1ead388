//! Access to the bookkeeping blocks in a segment. Only this crate, its models and its tests may use
//! it.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

use crate::file::error::OpenError;
use crate::file::extent;
use crate::file::header::ExtentId;
use crate::file::offer::Offer;
use crate::file::segment::TopicMemory;
use crate::os::OpenMode;
use crate::os::region::Access;
use crate::protocol::lane;
use crate::protocol::layout::{ControlBlock, LaneBlock, LaneRecord, ReaderBlock, WaitBlock};
use crate::protocol::sync::Word;

/// Access to the bookkeeping blocks of a topic: the shared words by which its endpoints coordinate.
///
/// A write that violates the protocol of a block corrupts messages that other processes have
/// borrowed. That is why these are not methods of [`TopicMemory`]: the trait is exported only in
/// [`internals`](crate::internals).
///
/// # Errors
///
/// Every method returns [`OpenError::Io`] if the memory area that holds the block cannot be mapped.
///
/// # Panics
///
/// A method panics if its index is not below the limit of the segment.
pub trait TopicBlocks {
    /// Returns the block that all publishers of the topic share.
    fn control(&self, access: Access) -> Result<&ControlBlock<AtomicU64>, OpenError>;

    /// Returns the bookkeeping block of the lane with index `lane`.
    fn lane_block(&self, lane: u32, access: Access) -> Result<&LaneBlock<AtomicU64>, OpenError>;

    /// Returns the record of the lane with index `lane`: words about its earlier owners.
    fn lane_record(&self, lane: u32, access: Access) -> Result<&LaneRecord<AtomicU64>, OpenError>;

    /// Returns the block that all readers of the topic share, at which they sleep.
    fn wait_block(&self, access: Access) -> Result<&WaitBlock<AtomicU64>, OpenError>;

    /// Returns the bookkeeping block of the reader in the reader slot with index `reader`.
    fn reader_block(
        &self,
        reader: u32,
        access: Access,
    ) -> Result<&ReaderBlock<AtomicU64>, OpenError>;

    /// Returns the cursors (read positions) of the reader in the reader slot with index `reader`:
    /// one word for each lane.
    fn cursors(&self, reader: u32, access: Access) -> Result<&[AtomicU64], OpenError>;

    /// Opens the file of the newest extent of lane `lane` for reading and writing.
    ///
    /// # Errors
    ///
    /// [`OpenError::NotATopic`] or [`OpenError::Io`] if the lane has no such file, for example on
    /// the heap.
    fn lane_file(&self, lane: u32) -> Result<File, OpenError>;

    /// Adds an extent with the settings `offer` to lane `lane`, as the lane's owner does. Opens the
    /// file of the extent for reading and writing.
    ///
    /// # Errors
    ///
    /// The same as for a publisher that claims the lane.
    fn add_lane_file(&self, lane: u32, offer: Offer) -> Result<File, OpenError>;
}

impl TopicBlocks for TopicMemory {
    fn control(&self, access: Access) -> Result<&ControlBlock<AtomicU64>, OpenError> {
        let area = self.lane_area(access)?;
        // SAFETY: the lane area begins with this block.
        Ok(unsafe { self.block_at(area, 0) })
    }

    fn lane_block(&self, lane: u32, access: Access) -> Result<&LaneBlock<AtomicU64>, OpenError> {
        assert!(
            lane < self.shape().lane_limit(),
            "lane {lane} is past the limit"
        );
        let area = self.lane_area(access)?;
        // SAFETY: this is the offset of the block of a lane below the limit, in the lane area.
        Ok(unsafe { self.block_at(area, self.shape().lane_block_offset(lane)) })
    }

    fn lane_record(&self, lane: u32, access: Access) -> Result<&LaneRecord<AtomicU64>, OpenError> {
        assert!(
            lane < self.shape().lane_limit(),
            "lane {lane} is past the limit"
        );
        let area = self.lane_area(access)?;
        // SAFETY: this is the offset of the record of a lane below the limit, in the lane area.
        Ok(unsafe { self.block_at(area, self.shape().lane_record_offset(lane)) })
    }

    fn wait_block(&self, access: Access) -> Result<&WaitBlock<AtomicU64>, OpenError> {
        let area = self.reader_area(access)?;
        // SAFETY: the reader area begins with this block.
        Ok(unsafe { self.block_at(area, 0) })
    }

    fn reader_block(
        &self,
        reader: u32,
        access: Access,
    ) -> Result<&ReaderBlock<AtomicU64>, OpenError> {
        assert!(
            reader < self.shape().reader_limit(),
            "reader {reader} is past the limit"
        );
        let area = self.reader_area(access)?;
        // SAFETY: this is the offset of the block of a reader below the limit, in the reader area.
        Ok(unsafe { self.block_at(area, self.shape().reader_block_offset(reader)) })
    }

    fn cursors(&self, reader: u32, access: Access) -> Result<&[AtomicU64], OpenError> {
        assert!(
            reader < self.shape().reader_limit(),
            "reader {reader} is past the limit"
        );
        let block = self.shape().reader_block_offset(reader);
        let offset = block + size_of::<ReaderBlock<AtomicU64>>();
        // SAFETY: the cursors follow the reader's block, within the reader area.
        let cursors = unsafe { self.reader_area(access)?.add(offset) };
        let lanes = self.shape().lane_limit() as usize;
        // SAFETY: there is one word for each lane, all of them in the reader area.
        Ok(unsafe { std::slice::from_raw_parts(cursors.cast(), lanes) })
    }

    fn lane_file(&self, lane: u32) -> Result<File, OpenError> {
        // Relaxed: for tests.
        let generation = self.lane_block(lane, Access::Read)?.generation.get();
        let no_file = || OpenError::Io {
            operation: "opening a lane file of",
            path: self.path(),
            source: io::ErrorKind::NotFound.into(),
        };
        let topic = self.file().ok_or_else(no_file)?;
        extent::open_lane_file(topic, ExtentId { lane, generation }, OpenMode::ReadWrite)
            .map(File::from)
    }

    fn add_lane_file(&self, lane: u32, offer: Offer) -> Result<File, OpenError> {
        let (_, position) = lane::message_count_and_end(self.lane_block(lane, Access::Read)?);
        let extent = self.make_extent(lane, position, offer)?;
        self.publish_extent(extent.id)?;
        self.lane_file(lane)
    }
}
