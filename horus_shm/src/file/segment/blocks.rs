//! Access to the blocks of a segment, for this crate, its models and its tests only.

use std::sync::atomic::AtomicU64;

use crate::file::error::OpenError;
use crate::file::segment::Segment;
use crate::os::region::Access;
use crate::protocol::layout::{ControlBlock, LaneBlock, ReaderBlock, WaitBlock};

/// The blocks of a segment.
///
/// A block that is written against its protocol corrupts what other processes borrow. That is why
/// these are not methods of [`Segment`]: the trait is exported only in
/// [`internals`](crate::internals).
///
/// # Errors
///
/// Every method returns [`OpenError::Io`] if the area of its block cannot be mapped.
///
/// # Panics
///
/// A method panics if its index is not below the limit of the segment.
pub trait Blocks {
    /// Returns the block that all publishers share.
    fn control(&self, access: Access) -> Result<&ControlBlock<AtomicU64>, OpenError>;

    /// Returns the block of lane `lane`.
    fn lane_block(&self, lane: u32, access: Access) -> Result<&LaneBlock<AtomicU64>, OpenError>;

    /// Returns the block that all readers share.
    fn wait_block(&self, access: Access) -> Result<&WaitBlock<AtomicU64>, OpenError>;

    /// Returns the block of the announced reader at index `reader`.
    fn reader_block(
        &self,
        reader: u32,
        access: Access,
    ) -> Result<&ReaderBlock<AtomicU64>, OpenError>;

    /// Returns the cursors of the announced reader at index `reader`, one word a lane.
    fn cursors(&self, reader: u32, access: Access) -> Result<&[AtomicU64], OpenError>;
}

impl Blocks for Segment {
    fn control(&self, access: Access) -> Result<&ControlBlock<AtomicU64>, OpenError> {
        let area = self.lane_area(access)?;
        // SAFETY: the lane area begins with this block.
        Ok(unsafe { self.block(area, 0) })
    }

    fn lane_block(&self, lane: u32, access: Access) -> Result<&LaneBlock<AtomicU64>, OpenError> {
        assert!(
            lane < self.shape().request().lane_limit,
            "lane {lane} is past the limit"
        );
        let area = self.lane_area(access)?;
        // SAFETY: this is the offset of the block of a lane below the limit, in the lane area.
        Ok(unsafe { self.block(area, self.shape().lane_block_offset(lane)) })
    }

    fn wait_block(&self, access: Access) -> Result<&WaitBlock<AtomicU64>, OpenError> {
        let area = self.reader_area(access)?;
        // SAFETY: the reader area begins with this block.
        Ok(unsafe { self.block(area, 0) })
    }

    fn reader_block(
        &self,
        reader: u32,
        access: Access,
    ) -> Result<&ReaderBlock<AtomicU64>, OpenError> {
        assert!(
            reader < self.shape().request().reader_limit,
            "reader {reader} is past the limit"
        );
        let area = self.reader_area(access)?;
        // SAFETY: this is the offset of the block of a reader below the limit, in the reader area.
        Ok(unsafe { self.block(area, self.shape().reader_block_offset(reader)) })
    }

    fn cursors(&self, reader: u32, access: Access) -> Result<&[AtomicU64], OpenError> {
        let request = self.shape().request();
        assert!(
            reader < request.reader_limit,
            "reader {reader} is past the limit"
        );
        let block = self.shape().reader_block_offset(reader);
        let offset = block + size_of::<ReaderBlock<AtomicU64>>();
        // SAFETY: the cursors follow the reader's block, within the reader area.
        let cursors = unsafe { self.reader_area(access)?.add(offset) };
        let lanes = request.lane_limit as usize;
        // SAFETY: there is one word for each lane, all of them in the reader area.
        Ok(unsafe { std::slice::from_raw_parts(cursors.cast(), lanes) })
    }
}
