//! Samples: messages that a reader borrows from shared memory, and reads in their slots without a
//! copy.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;

use crate::endpoint::consumer::{Consumer, Key, PrivateMessageCopies};
use crate::endpoint::reader_slot::{BORROWS_MAX, ReaderSlot};
use crate::file::extent::Extent;
use crate::file::label::TopicLabel;
use crate::protocol::pins::free_pin;

/// The reason why a reader cannot borrow a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BorrowError {
    /// The messages of at least one publisher cannot be borrowed, because its slots cannot be
    /// pinned. They can only be copied.
    #[error("{topic}: the messages of a publisher are copied: open that as pinnable, or use recv")]
    NotPinnable {
        /// The topic of the reader.
        topic: TopicLabel,
    },
    /// This reader is an observer, which maps the topic read-only, so it cannot pin the slots of
    /// messages.
    #[error("{topic}: an observer cannot hold messages: use recv, or subscribe")]
    Observer {
        /// The topic of the reader.
        topic: TopicLabel,
    },
    /// There is a message, but this reader, or all readers together, hold as many messages as they
    /// may. Drop one, copy the message, or open the publisher with more slots. All readers together
    /// may hold half of a publisher's slots, or three if it has four slots.
    #[error(
        "{topic}: this subscriber holds {held} messages, and {}, or open the publisher with a \
         larger capacity (of its {capacity} slots, all subscribers together may hold {}, and each \
         one {BORROWS_MAX})",
        no_pins_reason(*.held, *.capacity),
        borrows_max(*.capacity)
    )]
    NoPins {
        /// The topic of the reader.
        topic: TopicLabel,
        /// Number of messages that this reader holds as borrowed now.
        held: u32,
        /// Number of slots of the lane that limits how many messages may be borrowed.
        capacity: u64,
    },
}

impl BorrowError {
    /// Returns the label of the topic that the error concerns.
    #[must_use]
    pub const fn topic(&self) -> TopicLabel {
        match self {
            Self::NotPinnable { topic } | Self::Observer { topic } | Self::NoPins { topic, .. } => {
                *topic
            }
        }
    }
}

/// Returns why a reader that holds `held` messages may hold no more if its shortest lane has
/// `capacity` slots, and what its program can do.
fn no_pins_reason(held: u32, capacity: u64) -> &'static str {
    if u64::from(held) < borrows_max(capacity).min(BORROWS_MAX.into()) {
        "others hold or reserve the rest: copy this message by recv"
    } else {
        "may hold no more: drop one"
    }
}

/// Returns how many messages all readers together can borrow at the same time from a lane of
/// `lane_slots` slots. This is half the number of slots, or three of four slots, so that a send
/// always finds a free slot.
pub(crate) const fn borrows_max(lane_slots: u64) -> u64 {
    let few = if lane_slots < 4 { lane_slots } else { 4 };
    let half = lane_slots / 2;
    if half < few { few - 1 } else { half }
}

/// A borrowed message, as bytes. Its publisher does not overwrite the message while this value
/// exists.
pub struct RawSample {
    address: *const u8,
    bytes: usize,
    number: u64,
    pin: u32,
    place: Arc<ReaderSlot>,
    /// Keeps the memory of the message mapped. WHY: the reader may leave the extent, or be dropped,
    /// while the message is borrowed.
    _memory: SampleMemory,
}

/// The memory that holds a borrowed message. This value keeps the memory alive.
pub(crate) enum SampleMemory {
    /// The extent (file of slots) that contains the message's slot.
    Extent(#[expect(dead_code, reason = "kept mapped")] Arc<Extent>),
    /// Private memory to which the reader has copied the message, because it cannot be read in its
    /// slot.
    PrivateMessageCopies(#[expect(dead_code, reason = "kept allocated")] Arc<PrivateMessageCopies>),
}

// SAFETY: the bytes are not written while they are pinned; pin and record are atomics.
unsafe impl Send for RawSample {}
// SAFETY: the bytes are not written while they are pinned; pin and record are atomics.
unsafe impl Sync for RawSample {}

impl fmt::Debug for RawSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RawSample");
        debug
            .field("sequence", &self.number)
            .field("bytes", &self.bytes)
            .finish()
    }
}

impl RawSample {
    /// Creates the sample of a message of `bytes` bytes at `address`. `number` is the sequence
    /// number of the message, and pin `pin` of the reader slot `place` holds it.
    ///
    /// # Safety
    ///
    /// `address` points into `memory`, to at least `bytes` bytes, which do not change until the pin
    /// is released.
    pub(crate) unsafe fn new(
        address: *const u8,
        (bytes, number): (usize, u64),
        (place, pin): (Arc<ReaderSlot>, u32),
        memory: SampleMemory,
    ) -> Self {
        Self {
            address,
            bytes,
            number,
            pin,
            place,
            _memory: memory,
        }
    }

    /// Returns the bytes of the message.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes are there and do not change while the pin is held, by the contract of
        // `new`.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// Returns the sequence number of the message, counted from 1 in its publisher's lane.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.number
    }
}

impl Drop for RawSample {
    fn drop(&mut self) {
        // WHY: a forked child holds nothing: the pin is its parent's.
        if !self.place.segment().is_forked()
            && let Some(word) = self.place.pin_word(self.pin)
        {
            free_pin(self.place.held_pin_mask(), word, self.pin);
        }
    }
}

/// A borrowed message of type `T` in shared memory. Its publisher does not overwrite the message
/// while this value exists.
///
/// A sample needs no copy, may be sent to other threads, and may outlive its consumer. Keep only a
/// few: a reader can hold at most seven at the same time, and all readers together at most half of
/// a publisher's slots. The publisher skips the slots of messages that are held.
///
/// A forked child may read the message while its parent holds it. After that, the publisher may
/// overwrite it. If the child should read messages, copy them before the `fork`.
pub struct Sample<T> {
    raw: RawSample,
    marker: PhantomData<T>,
}

impl<T: fmt::Debug + Pod> fmt::Debug for Sample<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Sample<T> {
    /// Returns the sequence number of the message, counted from 1 in its publisher's lane.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.sequence()
    }
}

impl<T: Pod> Deref for Sample<T> {
    type Target = T;

    fn deref(&self) -> &T {
        bytemuck::from_bytes(self.raw.bytes())
    }
}

impl<T: Pod> Consumer<T> {
    /// Borrows the next message in its slot; returns `None` if there is no message right now. Never
    /// blocks, and copies nothing. Works only in pinnable rings.
    ///
    /// # Errors
    ///
    /// [`BorrowError`] if the message cannot be borrowed. The message is not lost then.
    pub fn borrow(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        let raw = self.raw_mut().borrow()?;
        Ok(raw.map(|raw| Sample {
            raw,
            marker: PhantomData,
        }))
    }

    /// Borrows the newest message that has not been received yet, as [`Self::borrow`] does. Older
    /// messages are counted as by [`Self::latest_by_key`]. If there are several publishers, borrows
    /// the message with the greatest `key` among the newest messages of all publishers.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::borrow`].
    pub fn borrow_latest(&mut self, key: Key<'_>) -> Result<Option<Sample<T>>, BorrowError> {
        let raw = self.raw_mut().borrow_latest(key)?;
        Ok(raw.map(|raw| Sample {
            raw,
            marker: PhantomData,
        }))
    }
}
