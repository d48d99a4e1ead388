//! Samples: messages that are read where they were written.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;

use crate::endpoint::consumer::{Consumer, Key};
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::label::TopicLabel;
use crate::protocol::lane::let_go;

/// Why a message cannot be borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BorrowError {
    /// The topic was made without room for pins.
    #[error(
        "{topic}: its messages are copied, as it is not pinnable: create it as pinnable, or use \
         recv"
    )]
    NotPinnable {
        /// The topic.
        topic: TopicLabel,
    },
    /// This reader maps the topic read-only.
    #[error("{topic}: an observer cannot hold messages: use recv, or subscribe")]
    Observer {
        /// The topic.
        topic: TopicLabel,
    },
    /// As many messages are held as this reader may hold: drop one, or make the topic larger, as
    /// all readers together may hold half of a publisher's slots.
    #[error(
        "{topic}: {held} messages are held, and there are pins for no more: drop one, or create \
         the topic with a larger capacity (readers may hold half of its {capacity} slots, 7 each)"
    )]
    NoPins {
        /// The topic.
        topic: TopicLabel,
        /// Messages that this reader holds.
        held: u32,
        /// Slots of a lane.
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

/// A message in shared memory, whatever it is, that its publisher will not overwrite.
pub struct RawSample {
    address: *const u8,
    bytes: usize,
    number: u64,
    pin: u32,
    place: Arc<ReaderSlot>,
}

// SAFETY: the bytes are not written while they are pinned; pin and record are atomics.
unsafe impl Send for RawSample {}
// SAFETY: as above.
unsafe impl Sync for RawSample {}

impl fmt::Debug for RawSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RawSample");
        debug.field("sequence", &self.number).field("bytes", &self.bytes).finish()
    }
}

impl RawSample {
    /// The message of `bytes` bytes at `address` and its number, held by pin `pin` of `place`.
    ///
    /// # Safety
    ///
    /// The address lies in the segment of `place`, which has that many bytes there, and they stay
    /// as they are until the pin is taken back.
    pub(crate) const unsafe fn new(
        address: *const u8,
        (bytes, number): (usize, u64),
        pin: u32,
        place: Arc<ReaderSlot>,
    ) -> Self {
        Self { address, bytes, number, pin, place }
    }

    /// The message.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: by the contract of `new`, for as long as this value lives.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// Number of the message, counted by its publisher's lane from 1 on.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.number
    }
}

impl Drop for RawSample {
    fn drop(&mut self) {
        // A forked child holds nothing: the pin is its parent's.
        if !self.place.segment().is_forked()
            && let Some(word) = self.place.pin(self.pin)
        {
            let_go(self.place.held(), word, self.pin);
        }
    }
}

/// A message in shared memory that its publisher will not overwrite while this value lives.
///
/// Needs no copy, may be sent to other threads, and outlives its consumer. Keep few: a reader can
/// hold seven at a time, and all together half of the slots of a publisher, which steps over them.
///
/// A forked child reads it for as long as its parent holds it. After that the publisher may write
/// there: copy before a `fork` what the child is to read.
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
    /// Number of the message, counted by its publisher's lane from 1 on.
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
    /// The next message where it lies, or `None` if there is none right now. Never blocks, copies
    /// nothing. Only in pinnable rings.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; nothing is lost by it.
    pub fn borrow(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        let raw = self.raw_mut().borrow()?;
        Ok(raw.map(|raw| Sample { raw, marker: PhantomData }))
    }

    /// [`Self::borrow`] of the newest message that was not received yet; older ones are passed
    /// over. Of those of several publishers the one with the greatest `key` wins.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn borrow_latest(&mut self, key: Key<'_>) -> Result<Option<Sample<T>>, BorrowError> {
        let raw = self.raw_mut().borrow_latest(key)?;
        Ok(raw.map(|raw| Sample { raw, marker: PhantomData }))
    }
}
