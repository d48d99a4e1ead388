//! Samples: messages that are read in their slots.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;

use crate::endpoint::consumer::{Consumer, Key, PrivateCopies};
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::extent::Extent;
use crate::file::label::TopicLabel;
use crate::protocol::lane::free_pin;

/// The reason why a message cannot be borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BorrowError {
    /// A publisher is not pinnable: its messages can only be copied.
    #[error("{topic}: the messages of a publisher are copied: open that as pinnable, or use recv")]
    NotPinnable {
        /// The topic.
        topic: TopicLabel,
    },
    /// This reader is an observer: it maps the topic read-only, and cannot pin messages.
    #[error("{topic}: an observer cannot hold messages: use recv, or subscribe")]
    Observer {
        /// The topic.
        topic: TopicLabel,
    },
    /// This reader holds as many messages as it may: drop one, or give the publisher more slots, as
    /// all readers together may hold half of them, or three of four slots.
    #[error(
        "{topic}: this subscriber holds {held} messages, and may hold no more: drop one, or open \
         the publisher with a larger capacity (of its {capacity} slots, all subscribers together \
         may hold {}, and each one 7)",
        borrows_max(*.capacity)
    )]
    NoPins {
        /// The topic.
        topic: TopicLabel,
        /// Number of messages that this reader holds.
        held: u32,
        /// Number of slots of a lane.
        capacity: u64,
    },
}

impl BorrowError {
    /// Returns the label of the topic.
    #[must_use]
    pub const fn topic(&self) -> TopicLabel {
        match self {
            Self::NotPinnable { topic } | Self::Observer { topic } | Self::NoPins { topic, .. } => {
                *topic
            }
        }
    }
}

/// Returns how many messages all readers of a lane of `capacity` slots can borrow at a time: half
/// as many as it has slots, or three of four, so that a send always finds a slot.
pub(crate) const fn borrows_max(capacity: u64) -> u64 {
    let few = if capacity < 4 { capacity } else { 4 };
    let half = capacity / 2;
    if half < few { few - 1 } else { half }
}

/// An untyped message in shared memory that its publisher will not overwrite.
pub struct RawSample {
    address: *const u8,
    bytes: usize,
    number: u64,
    pin: u32,
    place: Arc<ReaderSlot>,
    /// WHY: the reader may leave the extent, or end, while the message is borrowed.
    _memory: SampleMemory,
}

/// The memory that holds a borrowed message.
pub(crate) enum SampleMemory {
    /// The slots of a lane.
    Extent(#[expect(dead_code, reason = "kept mapped")] Arc<Extent>),
    /// The memory that a reader copies messages to, where it cannot pin them.
    PrivateCopies(#[expect(dead_code, reason = "kept allocated")] Arc<PrivateCopies>),
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
    /// Creates the sample of the message of `bytes` bytes with number `number` at `address`, held
    /// by pin `pin` of `place`.
    ///
    /// # Safety
    ///
    /// The address is in `memory`, which has that many bytes there, and they do not change until
    /// the pin is taken back.
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

    /// Returns the message.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes are there and do not change while the pin is held, by the contract of
        // `new`.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// Returns the sequence number of the message in its publisher's lane, from 1 on.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.number
    }
}

impl Drop for RawSample {
    fn drop(&mut self) {
        // WHY: a forked child holds nothing: the pin is its parent's.
        if !self.place.segment().is_forked()
            && let Some(word) = self.place.pin(self.pin)
        {
            free_pin(self.place.held(), word, self.pin);
        }
    }
}

/// A message in shared memory that its publisher will not overwrite while this value lives.
///
/// Needs no copy, may be sent to other threads, and outlives its consumer. Keep few: a reader can
/// hold seven at a time, and all readers together half of the slots of a publisher, which skips
/// those.
///
/// A forked child may read it while its parent holds it. After that the publisher may overwrite it:
/// copy before a `fork` the messages that the child should read.
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
    /// Returns the sequence number of the message in its publisher's lane, from 1 on.
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
    /// Borrows the next message in its slot, or returns `None` if there is none right now. Never
    /// blocks, copies nothing. Only in pinnable rings.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; no message is lost then.
    pub fn borrow(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        let raw = self.raw_mut().borrow()?;
        Ok(raw.map(|raw| Sample {
            raw,
            marker: PhantomData,
        }))
    }

    /// Borrows the newest message that was not received yet, as [`Self::borrow`] does; older ones
    /// are counted as by [`Self::latest_by_key`]. Of the newest ones of several publishers
    /// the one with the greatest `key` wins.
    ///
    /// # Errors
    ///
    /// As [`Self::borrow`].
    pub fn borrow_latest(&mut self, key: Key<'_>) -> Result<Option<Sample<T>>, BorrowError> {
        let raw = self.raw_mut().borrow_latest(key)?;
        Ok(raw.map(|raw| Sample {
            raw,
            marker: PhantomData,
        }))
    }
}
