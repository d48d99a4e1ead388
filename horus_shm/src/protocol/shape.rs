//! Shapes of topic files and lane files: the sizes and offsets of their parts. The computation
//! cannot overflow.

use core::mem::size_of;
use core::ops::Range;
use core::sync::atomic::AtomicU64;

use crate::protocol::layout::{
    ControlBlock, FILE_BYTES_MAX, FILE_PART_ALIGN_BYTES, HEADER_BYTES, LANE_CAPACITY_MAX,
    LANE_CAPACITY_MIN, LaneBlock, LaneRecord, PARTICIPANTS_MAX, ReaderBlock, STRIDE_MAX,
    WRITER_SEPARATION_BYTES, WaitBlock,
};

/// Alignment in bytes of each slot. No message may require a larger alignment.
pub const SLOT_ALIGN_BYTES: u64 = 64;

/// The offset in bytes of the lane area, which contains the blocks of the lanes, in a topic file.
pub const LANE_AREA_OFFSET: u64 = (HEADER_BYTES as u64).next_multiple_of(FILE_PART_ALIGN_BYTES);
/// The offset in bytes of the first slot in a lane file.
const SLOTS_OFFSET: u64 = (HEADER_BYTES as u64).next_multiple_of(FILE_PART_ALIGN_BYTES);

const STAMP_BYTES: u64 = 8;
const MESSAGE_LENGTH_WORD_BYTES: u64 = 8;
const MESSAGE_NUMBER_WORD_BYTES: u64 = 8;

/// The sizes and options of the lane that a publisher requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeRequest {
    /// Size of a message in bytes. If `sized` is true, the size of the longest message that must
    /// fit.
    pub payload_bytes: u64,
    /// Alignment of a message in bytes: a power of two, at most 64.
    pub payload_align: u32,
    /// Number of slots of the lane: a power of two from 2 to 2^20.
    pub capacity: u64,
    /// True if messages vary in length.
    pub sized: bool,
    /// True if readers may pin slots. Each slot then contains a message number.
    pub pinnable: bool,
}

/// The error for a requested shape that no file can have: one field has a value that is not
/// permitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {found}, and must be {wanted}")]
pub struct ShapeError {
    /// Name of the field of [`ShapeRequest`] that has the value.
    pub field: &'static str,
    /// The value that is not permitted.
    pub found: u64,
    /// A description of the permitted values.
    pub wanted: &'static str,
}

/// Sizes and offsets of the slots of a lane, all in bytes. They are checked, so that computations
/// with them do not overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneShape {
    request: ShapeRequest,
    stride: u64,
}

/// Sizes and offsets of the parts of a topic file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicShape {
    lane_limit: u32,
    reader_limit: u32,
}

/// Returns the distance between the starts of two neighbouring slots in bytes, for messages of up
/// to `payload_bytes` bytes.
#[must_use]
pub const fn slot_stride_bytes(payload_bytes: u64, is_sized: bool, is_pinnable: bool) -> u64 {
    let payload = payload_bytes.next_multiple_of(8);
    let length = if is_sized || is_pinnable {
        MESSAGE_LENGTH_WORD_BYTES
    } else {
        0
    };
    let sequence = if is_pinnable {
        MESSAGE_NUMBER_WORD_BYTES
    } else {
        0
    };
    (payload + length + sequence + STAMP_BYTES).next_multiple_of(SLOT_ALIGN_BYTES)
}

/// Maximum slot size in bytes of a lane whose default number of slots depends on the slot size. A
/// lane with larger slots has [`LARGE_SLOTS_PER_LANE`] slots by default.
const NORMAL_SLOT_BYTES_MAX: u64 = 1 << 20;
/// Default number of slots of a lane whose slots are larger than [`NORMAL_SLOT_BYTES_MAX`].
const LARGE_SLOTS_PER_LANE: u64 = 4;

/// Returns the default number of slots that are `stride_bytes` bytes apart: as many as fit into 256
/// KiB, but at least 16 and at most 1024, rounded up to a power of two. Returns four if the stride
/// is more than 1 MiB.
#[must_use]
pub const fn default_capacity(stride_bytes: u64) -> u64 {
    if stride_bytes > NORMAL_SLOT_BYTES_MAX {
        return LARGE_SLOTS_PER_LANE;
    }
    let slots = (256 * 1024) / stride_bytes;
    let slots = if slots < 16 { 16 } else { slots };
    let slots = if slots > 1024 { 1024 } else { slots };
    slots.next_power_of_two()
}

/// Returns the offset in bytes of the block of lane `lane` within the lane area, which is the same
/// in every topic file.
#[must_use]
pub const fn lane_block_offset(lane: u32) -> usize {
    size_of::<ControlBlock<AtomicU64>>() + lane as usize * size_of::<LaneBlock<AtomicU64>>()
}

impl LaneShape {
    /// Checks the requested sizes, and computes the shape of the lane's file from them.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] names the first field that is out of its range.
    pub fn new(request: ShapeRequest) -> Result<Self, ShapeError> {
        let check = |ok: bool, field, found: u64, wanted| {
            if ok {
                Ok(())
            } else {
                Err(ShapeError {
                    field,
                    found,
                    wanted,
                })
            }
        };
        let r = &request;
        check(
            (1..=STRIDE_MAX - 64).contains(&r.payload_bytes),
            "payload_bytes",
            r.payload_bytes,
            "1 byte to 64 MiB less 64 bytes",
        )?;
        check(
            r.payload_align.is_power_of_two() && u64::from(r.payload_align) <= SLOT_ALIGN_BYTES,
            "payload_align",
            r.payload_align.into(),
            "a power of two up to 64",
        )?;
        check(
            r.capacity.is_power_of_two()
                && (LANE_CAPACITY_MIN..=LANE_CAPACITY_MAX).contains(&r.capacity),
            "capacity",
            r.capacity,
            "a power of two from 2 to 1048576",
        )?;
        let stride = slot_stride_bytes(r.payload_bytes, r.sized, r.pinnable);
        let shape = Self { request, stride };
        // WHY: the largest product is 2^20 slots × 2^26 bytes = 2^46, so the plain arithmetic below
        // cannot overflow; this limit is for the file system.
        check(
            shape.file_bytes() <= FILE_BYTES_MAX,
            "lane file size",
            shape.file_bytes(),
            "at most 2^40 bytes: lower capacity or max_message_bytes",
        )?;
        Ok(shape)
    }

    /// Returns the request from which this shape was computed.
    #[must_use]
    pub const fn request(&self) -> &ShapeRequest {
        &self.request
    }

    /// Returns the distance in bytes between the beginnings of two successive slots.
    #[must_use]
    pub const fn stride(&self) -> u64 {
        self.stride
    }

    /// Returns the number of slots of the lane.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.request.capacity
    }

    /// Returns the size of all slots together, in bytes.
    #[must_use]
    pub const fn slots_bytes(&self) -> u64 {
        self.request.capacity * self.stride
    }

    /// Returns the range of byte offsets that the slots occupy in a lane file.
    #[must_use]
    pub const fn slots(&self) -> Range<u64> {
        SLOTS_OFFSET..SLOTS_OFFSET + self.slots_bytes()
    }

    /// Returns the size of a lane file, in bytes.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        self.slots().end.next_multiple_of(FILE_PART_ALIGN_BYTES)
    }
}

impl TopicShape {
    /// The shape of every topic file, with the maximum numbers of lanes and readers.
    pub const FILE: Self = Self::new(PARTICIPANTS_MAX, PARTICIPANTS_MAX);

    /// Computes the shape of a topic file with `lane_limit` lanes and `reader_limit` readers. Both
    /// must be from 1 to 64.
    #[must_use]
    pub const fn new(lane_limit: u32, reader_limit: u32) -> Self {
        Self {
            lane_limit,
            reader_limit,
        }
    }

    /// Returns the maximum number of lanes of the topic.
    #[must_use]
    pub const fn lane_limit(&self) -> u32 {
        self.lane_limit
    }

    /// Returns the maximum number of readers (without observers) of the topic.
    #[must_use]
    pub const fn reader_limit(&self) -> u32 {
        self.reader_limit
    }

    /// Returns the range of byte offsets of the lane area: the block that all publishers share, and
    /// the blocks and the records of the lanes.
    #[must_use]
    pub const fn lane_area(&self) -> Range<u64> {
        let start = LANE_AREA_OFFSET;
        start..start + self.lane_record_offset(self.lane_limit) as u64
    }

    /// Returns the range of byte offsets of the reader area: the block that all readers share, and
    /// each reader's block and cursors.
    #[must_use]
    pub const fn reader_area(&self) -> Range<u64> {
        let start = self.lane_area().end.next_multiple_of(FILE_PART_ALIGN_BYTES);
        start..start + self.reader_block_offset(self.reader_limit) as u64
    }

    /// Returns the size of the topic file, in bytes.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        self.reader_area()
            .end
            .next_multiple_of(FILE_PART_ALIGN_BYTES)
    }

    /// Returns the offset in bytes of the block of lane `lane` within the lane area.
    #[must_use]
    pub const fn lane_block_offset(&self, lane: u32) -> usize {
        lane_block_offset(lane)
    }

    /// Returns the offset in bytes of the record of lane `lane` within the lane area.
    #[must_use]
    pub const fn lane_record_offset(&self, lane: u32) -> usize {
        lane_block_offset(self.lane_limit) + lane as usize * size_of::<LaneRecord<AtomicU64>>()
    }

    /// Returns the offset in bytes of the block of reader `reader` within the reader area.
    #[must_use]
    pub const fn reader_block_offset(&self, reader: u32) -> usize {
        size_of::<WaitBlock<AtomicU64>>() + reader as usize * self.reader_bytes()
    }

    /// Returns the distance in bytes between the blocks of two neighbouring readers. Each block is
    /// followed by one cursor for each lane; readers do not share cache lines.
    #[must_use]
    pub const fn reader_bytes(&self) -> usize {
        reader_bytes(self.lane_limit)
    }
}

/// Returns the size in bytes of a reader's block together with its cursors in `lanes` lanes.
#[must_use]
pub const fn reader_bytes(lanes: u32) -> usize {
    let cursors = lanes as usize * size_of::<u64>();
    size_of::<ReaderBlock<AtomicU64>>() + cursors.next_multiple_of(WRITER_SEPARATION_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> ShapeRequest {
        ShapeRequest {
            payload_bytes: 16,
            payload_align: 8,
            capacity: 1024,
            sized: false,
            pinnable: false,
        }
    }

    #[test]
    fn a_56_byte_message_is_one_cache_line() {
        assert_eq!(slot_stride_bytes(56, false, false), 64);
        assert_eq!(slot_stride_bytes(57, false, false), 128);
        assert_eq!(slot_stride_bytes(56, true, false), 128);
        assert_eq!(slot_stride_bytes(40, false, true), 64);
    }

    #[test]
    fn default_capacity_is_256_kib_within_limits() {
        assert_eq!(default_capacity(64), 1024);
        assert_eq!(default_capacity(1536), 256);
        assert_eq!(default_capacity(1 << 20), 16);
        assert_eq!(default_capacity((1 << 20) + 64), 4);
    }

    #[test]
    fn parts_follow_each_other_without_overlap() {
        let topic = TopicShape::FILE;
        assert!(topic.lane_area().start >= HEADER_BYTES as u64);
        assert!(topic.reader_area().start >= topic.lane_area().end);
        assert!(topic.file_bytes() >= topic.reader_area().end);
        assert_eq!(topic.file_bytes() % FILE_PART_ALIGN_BYTES, 0);
        let lane = LaneShape::new(request()).unwrap();
        assert!(lane.slots().start >= HEADER_BYTES as u64);
        assert!(lane.file_bytes() >= lane.slots().end);
    }

    #[test]
    fn every_field_out_of_range_is_named() {
        let name = |change: fn(&mut ShapeRequest)| {
            let mut r = request();
            change(&mut r);
            LaneShape::new(r).unwrap_err().field
        };
        assert_eq!(name(|r| r.payload_bytes = 0), "payload_bytes");
        assert_eq!(name(|r| r.payload_bytes = u64::MAX), "payload_bytes");
        assert_eq!(name(|r| r.payload_align = 128), "payload_align");
        assert_eq!(name(|r| r.capacity = 3), "capacity");
        assert_eq!(name(|r| r.capacity = 1 << 63), "capacity");
    }

    #[test]
    fn the_file_size_has_a_limit_of_its_own() {
        let mut r = request();
        (r.payload_bytes, r.capacity) = (60 << 20, 1 << 20);
        assert_eq!(LaneShape::new(r).unwrap_err().field, "lane file size");
    }
}
