//! The byte layout of topic files and lane files: headers, lane blocks, reader blocks, slots.
//!
//! ```text
//! topic file
//!         0  header area    immutable except `retired`; never mapped, read by `pread`
//!    64 KiB  lane area      ControlBlock, then one LaneBlock per lane      (publishers write)
//!       ...  reader area    WaitBlock, then per reader a ReaderBlock and cursors (readers write)
//!
//! lane file: one extent of one lane
//!         0  header area    immutable; never mapped, read by `pread`
//!    64 KiB  slots          capacity × stride bytes                        (its owner writes)
//! ```
//!
//! Each part starts on a multiple of [`PART_ALIGN`], so that it can be mapped separately on every
//! page size; the file is sparse, and only what is used is reserved. `docs/shared-memory.md`
//! draws it. A change here is a new [`LAYOUT_VERSION`].

use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicU32, AtomicU64};

use bytemuck::{Pod, Zeroable};

/// First bytes of every topic file.
pub const MAGIC: [u8; 8] = *b"HORUStpc";
/// First bytes of every lane file.
pub const LANE_MAGIC: [u8; 8] = *b"HORUSlan";
/// The layout's own version, independent of the crate's version.
pub const LAYOUT_VERSION: u32 = 7;
/// Byte order mark, as stored by a little-endian machine; another value means another byte order.
pub const ENDIANNESS: u32 = 0x0102_0304;
/// Distance that keeps two writers on different cache lines (adjacent-line prefetch included).
pub const SEPARATION_BYTES: usize = 128;
/// Every mapped part starts on a multiple of this value, the largest page size in use.
pub const PART_ALIGN: u64 = 64 * 1024;
/// Bytes of the header area: the fixed header and the schema text.
pub const HEADER_BYTES: usize = 16 * 1024;
/// Offset of the schema text in a topic file or a lane file, in bytes.
pub const SCHEMA_OFFSET: usize = 1024;
/// Maximum length of a schema text, in bytes.
pub const SCHEMA_BYTES_MAX: usize = HEADER_BYTES - SCHEMA_OFFSET;
/// The offset of the word that marks the file as retired. Not covered by the checksum.
pub const RETIRED_OFFSET: u64 = 1016;
/// Maximum length of the name of a message type, in bytes.
pub const TYPE_NAME_BYTES_MAX: usize = 128;
/// Maximum length of a topic's name, in bytes.
pub const TOPIC_NAME_BYTES_MAX: usize = 200;

/// Maximum number of shorter versions of a message type that match it. Each has one field less at
/// the top level than the one before.
pub const PREFIXES_MAX: usize = 16;

/// Maximum number of slots of a lane.
pub const CAPACITY_MAX: u64 = 1 << 20;
/// Minimum number of slots of a lane.
pub const CAPACITY_MIN: u64 = 2;
/// Maximum size of a slot, in bytes.
pub const STRIDE_MAX: u64 = 64 << 20;
/// Maximum size of a file, in bytes.
pub const FILE_BYTES_MAX: u64 = 1 << 40;
/// Maximum number of lanes, and of *announced* readers (those that have a block), of a topic: each
/// has one bit in a mask.
pub const PARTICIPANTS_MAX: u32 = 64;
/// Number of pins that each reader has.
pub const PINS_PER_READER: usize = 8;

/// Positions stay below this value; a larger one in a file is damage.
pub const POSITION_MAX: u64 = 1 << 61;

/// The highest position that a new owner of a lane accepts: far more than any lane reaches, and far
/// enough below [`POSITION_MAX`] for the owner to go on.
pub const PLAUSIBLE_POSITION_MAX: u64 = POSITION_MAX / 2;
/// Bit of a stamp that marks a skip: the position is published, but its slot holds no message.
pub const SKIP: u64 = 1 << 63;

/// Returns the stamp of a slot while position `pos` is being written into it.
#[inline(always)]
#[must_use]
pub const fn writing(pos: u64) -> u64 {
    pos.wrapping_mul(2).wrapping_add(1)
}

/// Returns the stamp of a slot that holds position `pos`.
#[inline(always)]
#[must_use]
pub const fn published(pos: u64) -> u64 {
    pos.wrapping_add(1).wrapping_mul(2)
}

/// The fixed part of the header area of a topic file or a lane file: immutable once the file has a
/// name.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct Header {
    /// [`MAGIC`] or [`LANE_MAGIC`].
    pub magic: [u8; 8],
    /// [`LAYOUT_VERSION`].
    pub layout_version: u32,
    /// [`ENDIANNESS`].
    pub endianness: u32,
    /// The id of the system's boot in which the file was made.
    pub boot_id: [u8; 16],
    /// The id of the process registry that decides which users of this file are alive.
    pub registry_id: [u8; 16],
    /// Hash of the schema text. Types with different hashes are different types.
    pub schema_hash: [u8; 16],
    /// Size of the whole file, in bytes.
    pub file_bytes: u64,
    /// Size of a message in bytes; of the longest one if `sized` is set.
    pub payload_bytes: u64,
    /// Distance of two slots, in bytes.
    pub stride: u64,
    /// Number of slots that the lane has.
    pub capacity: u64,
    /// CLOCK_REALTIME of creation, in nanoseconds, for display only.
    pub created_ns: u64,
    /// Alignment of a message.
    pub payload_align: u32,
    /// 0 best effort, 1 reliable.
    pub reliability: u32,
    /// Number of messages that a late joiner still gets.
    pub history: u32,
    /// 1: history outlives its publishers, and the file outlives its processes.
    pub persists: u32,
    /// 1: slots carry a message number, and readers may pin them.
    pub pinnable: u32,
    /// 1: messages have lengths of their own, up to `payload_bytes`.
    pub sized: u32,
    /// Side that pays for a wake: 0 the sleeper (membarrier), 1 the sender (fence).
    pub wake_edge: u32,
    /// Number of bytes used in `topic_name`.
    pub topic_name_bytes: u32,
    /// Number of bytes used in `type_name`.
    pub type_name_bytes: u32,
    /// Number of bytes used by the schema text at [`SCHEMA_OFFSET`].
    pub schema_bytes: u32,
    /// Length of the fields in bytes, if data of variable length follow them. Else 0.
    pub head_bytes: u32,
    /// Zero.
    pub reserved: u32,
    /// The random id of the topic file. The names of its lane files contain it.
    pub topic_id: [u8; 16],
    /// The topic's name, with which a process checks that it opened the requested file.
    pub topic_name: [u8; 208],
    /// The message type's name.
    pub type_name: [u8; TYPE_NAME_BYTES_MAX],
    /// Of a lane file: the number of the extent among those of its lane, from 1 on. Else 0.
    pub generation: u64,
    /// Of a lane file: the first position in this extent. Else 0.
    pub base_position: u64,
    /// Of a lane file: the number of messages of the lane before this extent. Else 0.
    pub base_number: u64,
    /// Of a lane file: the inode of its topic file. Else 0.
    pub topic_inode: u64,
    /// Of the list of fields of the type, then of its proper prefixes, longest first: the hash, and
    /// the offset in bytes at which the fields end. Zeros follow the last entry.
    pub growth: [[u64; 2]; PREFIXES_MAX + 1],
    /// Of a lane file: the random number of the publisher that made it. Else 0.
    pub session: u64,
    /// Of a lane file: the index of its lane. Else 0.
    pub lane: u32,
    /// CRC-32 of the header before this field, then of the schema text.
    pub crc: u32,
}

/// The block that all publishers of a topic share.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct ControlBlock<W> {
    /// Number of times that a lane got a new extent or a new publisher: a reader that sees a new
    /// value looks at the generations of all lanes.
    pub changes: W,
    /// Zero.
    pub reserved: [W; 15],
}

/// The bookkeeping of one lane. Only its owner writes it, except for the word `owner`.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct LaneBlock<W> {
    /// The process that writes the lane: `(index of its registry entry + 1) << 48 | generation of
    /// that entry`; 0 when free.
    pub owner: W,
    /// The number of times that the lane was claimed.
    pub epoch: W,
    /// Position at which the present owner began.
    pub epoch_start: W,
    /// Generation of the newest extent, which the owner writes; 0 before the first.
    pub generation: W,
    /// Number of writes that the death of a writer interrupted. The successor wrote the same
    /// positions again.
    pub aborted: W,
    /// Number of takeovers that found the head damaged and scanned the stamps.
    pub corrupt_resync: W,
    /// The owner whose session began at `epoch_start`. While this word differs from `owner`, a
    /// takeover is in progress, and `epoch_start` belongs to the predecessor.
    pub epoch_owner: W,
    /// Generation of the oldest extent whose file still has a name; 0 before the first.
    pub oldest: W,
    /// Position after the newest published one, in a cache line that no reader polls.
    pub head: W,
    /// Number of positions skipped because their slots were pinned; see [`SkipCounter`].
    pub skips: W,
    /// The publication time of a message whose latency readers measure; see `telemetry.rs`.
    pub sample: W,
    /// Number of sends refused for lack of room.
    pub refused: W,
    /// Number of wakes of sleeping readers, each a system call.
    pub wakes: W,
    /// The history that outlives the owner, and keeps the topic file; see [`LatchedHistory`]. 0 for
    /// none.
    pub latched: W,
    /// Position where the history before `epoch_start` begins: with the last session that sent
    /// messages.
    pub history_start: W,
    /// A random number of the publisher, which it keeps when it moves to another topic file; 0 if
    /// it has none.
    pub session: W,
}

/// The word [`LaneBlock::latched`], if it is not 0: the owner and the length of the latched
/// history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatchedHistory {
    /// A hash of the publisher's key.
    pub key: u32,
    /// Number of the claim: higher than those of all earlier claims by latching publishers, until
    /// it wraps around to 0. It has 15 bits.
    pub claim: u16,
    /// True if the history continues those of the predecessors in the lane.
    pub continues: bool,
    /// Maximum number of messages in the history. `u16::MAX` stands for any larger number, too.
    pub messages: u16,
}

impl LatchedHistory {
    const CLAIM_MAX: u16 = u16::MAX >> 1;

    /// Decodes the word [`LaneBlock::latched`]; returns `None` for a lane without latched history.
    #[must_use]
    pub const fn from_word(word: u64) -> Option<Self> {
        let messages = word as u16;
        if messages == 0 {
            return None;
        }
        Some(Self {
            key: (word >> 32) as u32,
            claim: (word >> 16) as u16 & Self::CLAIM_MAX,
            continues: word >> 31 & 1 == 1,
            messages,
        })
    }

    /// Encodes the word [`LaneBlock::latched`].
    #[must_use]
    pub const fn to_word(self) -> u64 {
        let claim = (self.claim & Self::CLAIM_MAX) as u64 | (self.continues as u64) << 15;
        (self.key as u64) << 32 | claim << 16 | self.messages as u64
    }
}

/// The content of the word [`LaneBlock::skips`]: the number of positions that were ever skipped,
/// and the low bits of the position after the last skipped one, so that both change in one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkipCounter {
    /// Number of skipped positions.
    pub count: u64,
    /// Position after the last skipped one, modulo 2^28.
    behind: u64,
}

impl SkipCounter {
    const POSITION_BITS: u32 = 28;
    const POSITION_MASK: u64 = (1 << Self::POSITION_BITS) - 1;

    /// Creates the value for `count` skips, the last one at `pos`.
    #[must_use]
    pub const fn new(count: u64, pos: u64) -> Self {
        Self {
            count,
            behind: (pos + 1) & Self::POSITION_MASK,
        }
    }

    /// Decodes the word [`LaneBlock::skips`].
    #[must_use]
    pub const fn from_word(word: u64) -> Self {
        Self {
            count: word >> Self::POSITION_BITS,
            behind: word & Self::POSITION_MASK,
        }
    }

    /// Encodes the word [`LaneBlock::skips`].
    #[must_use]
    pub const fn to_word(self) -> u64 {
        self.count << Self::POSITION_BITS | self.behind
    }

    /// Returns true if the last skipped position is `pos`.
    #[must_use]
    pub const fn includes(self, pos: u64) -> bool {
        self.behind == (pos + 1) & Self::POSITION_MASK && self.count > 0
    }

    /// Returns true if all skips lie before `position`, given that `head` was loaded after this
    /// word.
    #[must_use]
    pub const fn all_before(self, position: u64, head: u64) -> bool {
        let since = head.wrapping_sub(self.behind) & Self::POSITION_MASK;
        // WHY: a skip is counted before the head passes it, so the last skip can be at the head.
        let at_head = self.behind == (head + 1) & Self::POSITION_MASK;
        self.count == 0 || (!at_head && position <= head && head - position <= since)
    }

    /// Returns the position up to which [`Self::count`] counts skips: `before`, or the position
    /// behind the last skip if that is later. `before` is the head as loaded before this word,
    /// `after` as loaded after it.
    ///
    /// If the last skip is long ago, its low bits may make it seem later than it was. The returned
    /// position is then between the two heads, and as usable as `before`.
    #[must_use]
    pub const fn position(self, before: u64, after: u64) -> u64 {
        let ahead = self.behind.wrapping_sub(before) & Self::POSITION_MASK;
        // WHY one more: a skip is counted before the head passes it.
        let reached = after.saturating_sub(before) + 1;
        if ahead <= reached && self.count > 0 {
            before + ahead
        } else {
            before
        }
    }
}

/// The block that all readers of a topic share with the senders that wake them.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct WaitBlock<W> {
    /// Futex word on which readers sleep: the number of wakes modulo 2^32.
    pub wake: AtomicU32,
    /// Zero.
    pub reserved_wake: AtomicU32,
    /// Bit i: announced reader i sleeps, or is about to sleep.
    pub waiters: W,
    /// Bit i: announced reader i has pinned a slot at some time.
    pub pinners: W,
    /// Bit i: announced reader i is gated: writers do not pass its cursors.
    pub gated: W,
    /// Zero.
    pub reserved: [W; 12],
    /// Bit i: the owner of lane i waits for room.
    pub room_waiters: W,
    /// Futex word on which those owners sleep: the number of wakes modulo 2^32.
    pub room: AtomicU32,
    /// Zero.
    pub reserved_room: AtomicU32,
    /// Zero.
    pub reserved_tail: [W; 14],
}

/// The block of one announced reader; its cursors, one word a lane, follow in cache lines of their
/// own. A cursor is the position that the reader reads next, plus one; 0 if it does not read that
/// lane.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct ReaderBlock<W> {
    /// The process that reads, encoded as [`LaneBlock::owner`]; 0 when free.
    pub owner: W,
    /// Number of pins that the reader may hold at a time.
    pub pin_limit: W,
    /// The owner word, once the reader has joined: messages sent after that reach it. Until this
    /// word equals `owner`, the reader is joining or leaving. Nobody clears it for a reader that
    /// died.
    pub joined: W,
    /// The message type that the reader reads: two words that differ between types. Publishers of
    /// types that do not match it do not wait for the reader.
    pub type_identity: [W; 2],
    /// The hash of the list of fields of the type that the reader reads; 0 if that type matches
    /// only itself.
    pub type_fields: W,
    /// The first 8 bytes of [`Header::topic_id`] of the topic file that the reader has joined since
    /// this file lost its name; 0 for none.
    pub moved_to: W,
    /// Zero.
    pub reserved: W,
    /// Number of positions before its cursors at which it received no message: those before it
    /// joined, lost or skipped ones, and those that held none.
    pub passed: W,
    /// Number of messages that were overwritten before the reader read them.
    pub lost: W,
    /// Number of messages that the reader skipped because it wanted only the newest one.
    pub skipped: W,
    /// Number of receive calls that returned nothing because the writers kept overwriting what the
    /// reader copied.
    pub busy: W,
    /// The number of times that a writer stopped waiting for this reader.
    pub detached: W,
    /// Zero.
    pub reserved_counters: [W; 3],
    /// Slots that must not be overwritten. A pin is `lane << 56 | generation << 24 | (index + 1)`,
    /// with the low 32 bits of the generation; 0 if it is free.
    pub pins: [W; PINS_PER_READER],
    /// Histogram of the latencies of sampled messages; see `telemetry.rs`.
    pub latency: [W; 8],
    /// Hashes of the proper prefixes of the list of fields, longest first, of the type that the
    /// reader reads.
    pub type_prefixes: [W; PREFIXES_MAX],
}

const _: () = {
    assert!(size_of::<Header>() == 824);
    assert!(offset_of!(Header, file_bytes) == 64);
    assert!(offset_of!(Header, payload_align) == 104);
    assert!(offset_of!(Header, topic_name) == 168);
    assert!(offset_of!(Header, type_name) == 376);
    assert!(offset_of!(Header, generation) == 504);
    assert!(offset_of!(Header, growth) == 536);
    assert!(offset_of!(Header, crc) == 820);
    assert!(size_of::<Header>() <= RETIRED_OFFSET as usize);
    assert!(size_of::<ControlBlock<AtomicU64>>() == 128);
    assert!(size_of::<LaneBlock<AtomicU64>>() == 128);
    assert!(offset_of!(LaneBlock<AtomicU64>, head) == 64);
    assert!(size_of::<WaitBlock<AtomicU64>>() == 256);
    assert!(offset_of!(WaitBlock<AtomicU64>, waiters) == 8);
    assert!(offset_of!(WaitBlock<AtomicU64>, gated) == 24);
    assert!(offset_of!(WaitBlock<AtomicU64>, room_waiters) == 128);
    assert!(offset_of!(WaitBlock<AtomicU64>, room) == 136);
    assert!(size_of::<ReaderBlock<AtomicU64>>() == 384);
    assert!(offset_of!(ReaderBlock<AtomicU64>, pins) == 128);
    assert!(offset_of!(ReaderBlock<AtomicU64>, type_prefixes) == 256);
};
