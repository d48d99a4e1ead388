//! The byte layout of topic files and lane files: headers, lane blocks, reader blocks, slots.
//!
//! ```text
//! topic file
//!         0  header area    immutable except `retired`; never mapped, read by `pread`
//!    64 KiB  lane area      ControlBlock, one LaneBlock per lane, then
//!                           one LaneRecord per lane                        (publishers write)
//!       ...  reader area    WaitBlock, then per reader a ReaderBlock and cursors (readers write)
//!
//! lane file: one extent of one lane
//!         0  header area    immutable; never mapped, read by `pread`
//!    64 KiB  slots          capacity × stride bytes                        (its owner writes)
//! ```
//!
//! Each part starts on a multiple of [`FILE_PART_ALIGN_BYTES`], so that it can be mapped separately
//! with every page size. The files are sparse: memory is reserved only for the bytes that are used.
//! `docs/shared-memory.md` has drawings of the layout. Every change of the layout needs a new
//! [`LAYOUT_VERSION`].

use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicU32, AtomicU64};

use bytemuck::{Pod, Zeroable};

use crate::protocol::deaths::DeathLog;

/// The first bytes of every topic file, by which it is recognised.
pub const TOPIC_FILE_MAGIC: [u8; 8] = *b"HORUStpc";
/// The first bytes of every lane file, by which it is recognised.
pub const LANE_FILE_MAGIC: [u8; 8] = *b"HORUSlan";
/// The version of the file layout. A process refuses files of a different version. It is
/// independent of the crate's version.
pub const LAYOUT_VERSION: u32 = 9;
/// Byte order mark, as a little-endian machine stores it. A file with a different value was written
/// in a different byte order.
pub const BYTE_ORDER_MARK: u32 = 0x0102_0304;
/// Distance in bytes that keeps data of two writers on different cache lines, even if the CPU
/// prefetches lines in pairs.
pub const WRITER_SEPARATION_BYTES: usize = 128;
/// Alignment in bytes of every part of a file that is mapped separately. No page size in use is
/// larger.
pub const FILE_PART_ALIGN_BYTES: u64 = 64 * 1024;
/// Size in bytes of the area at the beginning of a file that holds the header and the schema text.
pub const HEADER_BYTES: usize = 16 * 1024;
/// Offset in bytes of the schema text in a topic file or lane file.
pub const SCHEMA_OFFSET: usize = 1024;
/// Maximum length of a schema text, in bytes.
pub const SCHEMA_BYTES_MAX: usize = HEADER_BYTES - SCHEMA_OFFSET;
/// Offset in bytes of the word that says that the file is retired (about to be removed). The
/// header's checksum does not cover this word.
pub const RETIRED_WORD_OFFSET: u64 = 1016;
/// Maximum length of the name of a message type, in bytes.
pub const TYPE_NAME_BYTES_MAX: usize = 128;
/// Maximum length of a topic's name, in bytes.
pub const TOPIC_NAME_BYTES_MAX: usize = 200;

/// Maximum number of shorter versions of a message type whose messages can be exchanged with it.
/// Each version has one top-level field less than the version before.
pub const TYPE_PREFIXES_MAX: usize = 16;

/// Maximum number of slots of a lane. A larger number is refused.
pub const LANE_CAPACITY_MAX: u64 = 1 << 20;
/// Minimum number of slots of a lane. A smaller number is refused.
pub const LANE_CAPACITY_MIN: u64 = 2;
/// Maximum distance in bytes between the beginnings of two slots, and so the maximum size of a
/// slot.
pub const STRIDE_MAX: u64 = 64 << 20;
/// Maximum size in bytes of a topic file or lane file.
pub const FILE_BYTES_MAX: u64 = 1 << 40;
/// Maximum number of lanes of a topic, and of its *announced* readers (readers that have a block in
/// the topic file). Each of them has one bit in a 64-bit mask.
pub const PARTICIPANTS_MAX: u32 = 64;
/// Number of pins of each reader: the number of slots that it can protect from being overwritten at
/// the same time.
pub const PINS_PER_READER: usize = 8;

/// Maximum value of a position in a lane. A larger value in a file means that the file is damaged.
pub const POSITION_MAX: u64 = 1 << 61;

/// The highest position that a new owner of a lane accepts in the file. No lane ever gets that far,
/// and the owner can still write as many positions before it reaches [`POSITION_MAX`].
pub const PLAUSIBLE_POSITION_MAX: u64 = POSITION_MAX / 2;
/// The bit of a slot's stamp (last word) that marks a skip: the position was published, but its
/// slot contains no message for it.
pub const SKIP_BIT: u64 = 1 << 63;

/// Returns the stamp (last word) of a slot while the message of position `pos` is being written
/// into it. It is odd.
#[inline(always)]
#[must_use]
pub const fn writing_stamp(pos: u64) -> u64 {
    pos.wrapping_mul(2).wrapping_add(1)
}

/// Returns the stamp (last word) of a slot that contains the complete message of position `pos`. It
/// is even.
#[inline(always)]
#[must_use]
pub const fn published_stamp(pos: u64) -> u64 {
    pos.wrapping_add(1).wrapping_mul(2)
}

/// The fixed part of the header area of a topic file or a lane file. It does not change any more
/// once the file has a name.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct Header {
    /// The magic number: [`TOPIC_FILE_MAGIC`] in a topic file, [`LANE_FILE_MAGIC`] in a lane file.
    pub magic: [u8; 8],
    /// The version of the file layout; always [`LAYOUT_VERSION`].
    pub layout_version: u32,
    /// A number by which a reader recognises the byte order of the file; always
    /// [`BYTE_ORDER_MARK`].
    pub endianness: u32,
    /// The id of the system boot during which the file was created. It is zero in a file system in
    /// memory, whose files are never of another boot.
    pub boot_id: [u8; 16],
    /// The id of the process registry that tells which processes in this file's owner words are
    /// alive.
    pub registry_id: [u8; 16],
    /// Hash of the schema text. Message types whose hashes differ are different types.
    pub schema_hash: [u8; 16],
    /// Size of the whole file, in bytes.
    pub file_bytes: u64,
    /// Size of a message in bytes. If `sized` is 1, the size of the longest message that fits.
    pub payload_bytes: u64,
    /// Distance in bytes between the beginnings of two successive slots.
    pub stride: u64,
    /// Number of slots of the lane.
    pub capacity: u64,
    /// The time when the file was created (CLOCK_REALTIME, in nanoseconds). It is only shown to
    /// users.
    pub created_ns: u64,
    /// Alignment of a message, in bytes.
    pub payload_align: u32,
    /// The reliability that the publisher offers: 0 for best effort, 1 for reliable.
    pub reliability: u32,
    /// Number of messages sent earlier that a reader gets when it joins the topic.
    pub history: u32,
    /// 1 if the history outlives its publisher, and the file outlives the processes that use it;
    /// else 0.
    pub persists: u32,
    /// 1 if readers may pin slots, and each slot contains a message number; else 0.
    pub pinnable: u32,
    /// 1 if messages vary in length, up to `payload_bytes`; else 0.
    pub sized: u32,
    /// The side that pays for the memory ordering of a wake: 0 for the sleeper (by membarrier), 1
    /// for the sender (by a fence).
    pub wake_barrier: u32,
    /// Number of bytes of `topic_name` that are used.
    pub topic_name_bytes: u32,
    /// Number of bytes of `type_name` that are used.
    pub type_name_bytes: u32,
    /// Length in bytes of the schema text, which is at [`SCHEMA_OFFSET`].
    pub schema_bytes: u32,
    /// Length in bytes of a message's fields if data of variable length follows them; else 0.
    pub head_bytes: u32,
    /// Unused; always 0.
    pub reserved: u32,
    /// The random id of the topic file. The names of its lane files contain this id.
    pub topic_id: [u8; 16],
    /// The topic's name, by which a process checks that it has opened the right file.
    pub topic_name: [u8; 208],
    /// The name of the message type.
    pub type_name: [u8; TYPE_NAME_BYTES_MAX],
    /// In a lane file: the number of this extent within its lane, counted from 1. Else 0.
    pub generation: u64,
    /// In a lane file: the position of this extent's first slot. Else 0.
    pub base_position: u64,
    /// In a lane file: the number of messages that were sent in the lane before this extent. Else
    /// 0.
    pub base_number: u64,
    /// In a lane file: the inode number of its topic file. Else 0.
    pub topic_inode: u64,
    /// One entry for the type's list of fields, then one for each of its proper prefixes, longest
    /// first. An entry consists of the hash of the fields, and the offset in bytes at which they
    /// end. Zeros follow the last entry.
    pub growth: [[u64; 2]; TYPE_PREFIXES_MAX + 1],
    /// In a lane file: the random number that identifies the publisher that created the file. Else
    /// 0.
    pub session_id: u64,
    /// In a lane file: the index of its lane in the topic. Else 0.
    pub lane: u32,
    /// CRC-32 of all header bytes before this field, and of the schema text.
    pub crc: u32,
}

/// The part of a topic file that all publishers of the topic share.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct ControlBlock<W> {
    /// Number of times that any lane got a new extent or a new publisher. A reader that sees a new
    /// value checks the generations of all lanes.
    pub changes: W,
    /// The last deaths of publishers whose lanes other publishers have taken over.
    pub deaths: DeathLog<W>,
    /// Unused; always 0.
    pub reserved: [W; 3],
}

/// The bookkeeping of one lane. Only the owner of the lane writes it, except for the word `owner`.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct LaneBlock<W> {
    /// The process that writes the lane: `(index of its registry entry + 1) << 48 | generation of
    /// that entry`; 0 if no process owns the lane.
    pub owner: W,
    /// The number of times that publishers have claimed the lane.
    pub epoch: W,
    /// Position of the first message of the lane's present owner. While the owner has sent none,
    /// the next position that it writes.
    pub epoch_start: W,
    /// The number of the lane's newest extent (file of slots), into which the owner writes; 0
    /// before the first extent.
    pub generation: W,
    /// Number of messages that their writer did not complete, because it died. The next writer used
    /// the same positions again.
    pub aborted: W,
    /// Number of times that a new owner found the head damaged, and had to find its position by the
    /// stamps of all slots.
    pub corrupt_resync: W,
    /// The owner word of the process whose session began at `epoch_start`. While this word differs
    /// from `owner`, a takeover is in progress, and `epoch_start` is still that of the previous
    /// owner.
    pub epoch_owner: W,
    /// The number of the lane's oldest extent whose file still exists; 0 before the first extent.
    pub oldest: W,
    /// The head: the position after the newest message. No reader polls this cache line, except in
    /// a channel whose sender publishes by the head.
    pub head: W,
    /// Number of positions that were skipped because readers had pinned the slots; see
    /// [`SkipCounter`] for the encoding.
    pub skips: W,
    /// The position and the publication time of the last message whose latency is measured; see
    /// `telemetry.rs` for the encoding.
    pub sample: W,
    /// Number of sends that were refused because the lane was full.
    pub refused: W,
    /// Number of system calls by which the lane's owner woke sleeping readers.
    pub wakes: W,
    /// The history that outlives the owner, and for which the topic file is kept; see
    /// [`LatchedHistory`] for the encoding. 0 if there is none.
    pub latched: W,
    /// Position at which the history before `epoch_start` begins: the first position of the last
    /// session that sent messages.
    pub history_start: W,
    /// A random number that identifies the publisher, even after it has moved to another topic
    /// file; [`NO_SESSION`] if there is none.
    pub session_id: W,
}

/// The value of [`LaneBlock::session_id`] of a lane without a publisher. It is also stored while a
/// process owns the lane only to reserve its memory, and sends nothing.
pub const NO_SESSION: u64 = 0;

/// A record of the earlier owners of one lane, which readers and later publishers need. It is apart
/// from [`LaneBlock`] because that has no word left. Only the owner of the lane writes it.
#[repr(C)]
#[derive(Debug, Default)]
pub struct LaneRecord<W> {
    /// The number [`LaneBlock::session_id`] of the last publisher that left the lane, or was about
    /// to leave it, to continue in another topic file; 0 if there was none.
    pub moved_session_id: W,
    /// Position at which the lane began, which is also the number of its first message. It is past
    /// 0 if the first owner moved here from another topic file. Valid if the lane has an extent
    /// (file of slots), also after its first extents are gone.
    pub first_position: W,
    /// The number [`LaneBlock::session_id`] of the publisher that began the lane.
    pub first_session_id: W,
    /// Unused; always 0.
    pub reserved: W,
}

/// The decoded word [`LaneBlock::latched`] if that is not 0. It describes messages that stay
/// available after their publisher has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatchedHistory {
    /// Hash of the key by which a restarted publisher finds the lane with its earlier messages.
    pub key_hash: u32,
    /// Number of this claim of the lane. It is higher than the numbers of all earlier claims by
    /// publishers with latched history. It has 15 bits, and stays at the greatest value.
    pub claim: u16,
    /// True if the messages of previous owners of the lane belong to the history, too.
    pub continues: bool,
    /// Maximum number of messages in the history. `u16::MAX` means that number or more.
    pub messages: u16,
}

impl LatchedHistory {
    const CLAIM_NUMBER_MAX: u16 = u16::MAX >> 1;

    /// Returns the number of the next claim; `newest` is the greatest number so far. WHY it does
    /// not wrap around: the newest histories would then be taken for the oldest, and end first.
    #[must_use]
    pub const fn next_claim_number(newest: Option<u16>) -> u16 {
        match newest {
            Some(newest) if newest >= Self::CLAIM_NUMBER_MAX => Self::CLAIM_NUMBER_MAX,
            Some(newest) => newest + 1,
            None => 1,
        }
    }

    /// Decodes a value of the word [`LaneBlock::latched`]; returns `None` if the lane has no such
    /// history.
    #[must_use]
    pub const fn from_word(word: u64) -> Option<Self> {
        let messages = word as u16;
        if messages == 0 {
            return None;
        }
        Some(Self {
            key_hash: (word >> 32) as u32,
            claim: (word >> 16) as u16 & Self::CLAIM_NUMBER_MAX,
            continues: word >> 31 & 1 == 1,
            messages,
        })
    }

    /// Encodes this value for the word [`LaneBlock::latched`].
    #[must_use]
    pub const fn to_word(self) -> u64 {
        let claim = (self.claim & Self::CLAIM_NUMBER_MAX) as u64 | (self.continues as u64) << 15;
        (self.key_hash as u64) << 32 | claim << 16 | self.messages as u64
    }
}

/// The content of the word [`LaneBlock::skips`]: the number of positions that were ever skipped,
/// and the low bits of the position after the last skipped one. A publisher skips a position if a
/// reader has pinned its slot. Readers use this word so that they do not count skipped positions as
/// lost messages. WHY one word: both values change in one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkipCounter {
    /// Number of positions that have been skipped since the lane exists.
    pub count: u64,
    /// The position after the one that was skipped last, modulo 2^22.
    behind: u64,
}

impl SkipCounter {
    /// Number of bits of the word that hold the position.
    ///
    /// WHY not more: the count has the other 42 bits, which last for 150 days even if a lane with a
    /// borrowed slot carries a million messages a second. WHY not fewer: they must distinguish more
    /// positions than the maximum capacity of a lane.
    const POSITION_BITS: u32 = 22;
    const POSITION_MASK: u64 = (1 << Self::POSITION_BITS) - 1;

    /// Creates the value for `count` skipped positions, the last of which is `pos`.
    #[must_use]
    pub const fn new(count: u64, pos: u64) -> Self {
        Self {
            count,
            behind: (pos + 1) & Self::POSITION_MASK,
        }
    }

    /// Decodes a value of the word [`LaneBlock::skips`].
    #[must_use]
    pub const fn from_word(word: u64) -> Self {
        Self {
            count: word >> Self::POSITION_BITS,
            behind: word & Self::POSITION_MASK,
        }
    }

    /// Encodes this value for the word [`LaneBlock::skips`].
    #[must_use]
    pub const fn to_word(self) -> u64 {
        self.count << Self::POSITION_BITS | self.behind
    }

    /// Returns true if `pos` is the position that was skipped last.
    #[must_use]
    pub const fn is_last_skip(self, pos: u64) -> bool {
        self.behind == (pos + 1) & Self::POSITION_MASK && self.count > 0
    }

    /// Returns true if all skipped positions are before `position`. `head` is the lane's head,
    /// loaded after this word.
    #[must_use]
    pub const fn are_all_skips_before(self, position: u64, head: u64) -> bool {
        let since = head.wrapping_sub(self.behind) & Self::POSITION_MASK;
        // WHY: a skip is counted before the head passes it, so the last skip can be at the head.
        let at_head = self.behind == (head + 1) & Self::POSITION_MASK;
        self.count == 0 || (!at_head && position <= head && head - position <= since)
    }

    /// Returns the position up to which [`Self::count`] counts skips: `head_before`, or the
    /// position after the last skip if that is later. `head_before` is the lane's head as it was
    /// loaded before this word, and `head_after` is the head as it was loaded after this word.
    /// Returns `None` if the heads are so far apart that the low bits fit several positions between
    /// them.
    ///
    /// If the last skip was long ago, its low bits may make it seem more recent than it was. The
    /// returned position is then between the two heads, and [`Self::count`] is valid for it, too.
    #[must_use]
    pub const fn counted_up_to(self, head_before: u64, head_after: u64) -> Option<u64> {
        let ahead = self.behind.wrapping_sub(head_before) & Self::POSITION_MASK;
        // WHY one more: a skip is counted before the head passes it.
        let reached = head_after.saturating_sub(head_before) + 1;
        if self.count == 0 {
            return Some(head_before);
        }
        if reached > Self::POSITION_MASK {
            return None;
        }
        Some(if ahead <= reached {
            head_before + ahead
        } else {
            head_before
        })
    }
}

const _: () = assert!(LANE_CAPACITY_MAX <= SkipCounter::POSITION_MASK);

/// The part of a topic file that all readers of the topic share with the senders that wake them.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct WaitBlock<W> {
    /// The futex word at which readers sleep. It is incremented by each wake, and wraps around to
    /// 0.
    pub wake: AtomicU32,
    /// Unused; always 0.
    pub reserved_wake: AtomicU32,
    /// Bit i is set while reader i sleeps, or is about to sleep.
    pub waiters: W,
    /// Bit i is set if reader i has ever pinned a slot, so that writers have to check its pins.
    pub pinners: W,
    /// Bit i is set if reader i is gated: writers do not overwrite a message that it has not read.
    pub gated: W,
    /// The last deaths of readers whose slots other readers have taken over.
    pub deaths: DeathLog<W>,
    /// Bit i is set while the owner of lane i waits for a free slot.
    pub room_waiters: W,
    /// The futex word at which lane owners sleep until a slot is free. It is incremented by each
    /// wake, and wraps around to 0.
    pub room: AtomicU32,
    /// Unused; always 0.
    pub reserved_room: AtomicU32,
    /// Unused; always 0.
    pub reserved_tail: [W; 14],
}

/// The block of one announced reader. The reader's cursors, one word for each lane, follow the
/// block in separate cache lines. A cursor is the position that the reader reads next, plus one; 0
/// if the reader does not read that lane.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct ReaderBlock<W> {
    /// The process of the reader, encoded as in [`LaneBlock::owner`]; 0 if the reader slot is free.
    /// While a process clears the slot or claims it, this is that process, with
    /// [`OWNER_HELD_BIT`](crate::protocol::owner::OWNER_HELD_BIT).
    pub owner: W,
    /// Number of messages that the reader may borrow at the same time (lower 32 bits), and number
    /// that it may borrow in any case (upper 32 bits): see `pins.rs`.
    pub pin_limit: W,
    /// A copy of the word `owner`, stored when the reader has joined the topic; messages that are
    /// sent after that reach the reader. While this word differs from `owner`, the reader is
    /// joining or leaving. The word is not cleared if the reader dies.
    pub joined: W,
    /// The identity of the message type that the reader reads: two words that differ between types.
    /// Publishers of types that do not match this type do not wait for the reader.
    pub type_identity: [W; 2],
    /// Hash of the list of fields of the message type that the reader expects; 0 if that type is
    /// compatible only with itself.
    pub type_fields: W,
    /// If this topic file has lost its name, and the reader has joined the topic file that replaced
    /// it: the first 8 bytes of the [`Header::topic_id`] of that other file. Else 0.
    pub moved_to: W,
    /// Unused; always 0.
    pub reserved: W,
    /// Number of positions before the reader's cursors at which it received no message: positions
    /// before it joined, positions of lost or skipped messages, and positions without a message.
    pub passed: W,
    /// Number of messages that were overwritten before this reader read them.
    pub lost: W,
    /// Number of messages that this reader skipped because it wanted only the newest one.
    pub skipped: W,
    /// Number of receive calls that returned nothing because the writers kept overwriting the slots
    /// while the reader copied them.
    pub busy: W,
    /// The number of times that a writer stopped waiting for this reader because it did not read.
    pub detached: W,
    /// Number of messages that this reader received, and that are no messages of its type.
    pub malformed: W,
    /// Unused; always 0.
    pub reserved_counters: [W; 2],
    /// The reader's pins, each of which protects a slot from being overwritten. A pin is `lane <<
    /// 56 | generation << 24 | (index + 1)`, with the low 32 bits of the generation of the slot's
    /// extent; 0 if the pin is free.
    pub pins: [W; PINS_PER_READER],
    /// Histogram of the latencies (from publication to receipt) that the reader measured; see
    /// `telemetry.rs`.
    pub latency: [W; 8],
    /// Hashes of the lists of the first fields of the message type that the reader expects, longest
    /// first.
    pub type_prefixes: [W; TYPE_PREFIXES_MAX],
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
    assert!(size_of::<Header>() <= RETIRED_WORD_OFFSET as usize);
    assert!(size_of::<ControlBlock<AtomicU64>>() == 128);
    assert!(size_of::<LaneBlock<AtomicU64>>() == 128);
    assert!(offset_of!(LaneBlock<AtomicU64>, head) == 64);
    assert!(size_of::<LaneRecord<AtomicU64>>() == 32);
    assert!(size_of::<WaitBlock<AtomicU64>>() == 256);
    assert!(offset_of!(WaitBlock<AtomicU64>, waiters) == 8);
    assert!(offset_of!(WaitBlock<AtomicU64>, gated) == 24);
    assert!(offset_of!(WaitBlock<AtomicU64>, room_waiters) == 128);
    assert!(offset_of!(WaitBlock<AtomicU64>, room) == 136);
    assert!(size_of::<ReaderBlock<AtomicU64>>() == 384);
    assert!(offset_of!(ReaderBlock<AtomicU64>, pins) == 128);
    assert!(offset_of!(ReaderBlock<AtomicU64>, type_prefixes) == 256);
};
