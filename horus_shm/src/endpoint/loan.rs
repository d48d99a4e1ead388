//! Loans: the caller borrows a free slot, writes the message into it, and publishes it without a
//! copy.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

use crate::endpoint::producer::{
    Producer, RawProducer, SendError, describe_no_space, describe_too_long,
};
use crate::file::label::TopicLabel;

/// The reason why no slot can be lent to the caller, or why a loan could not be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoanError {
    /// This publisher cannot lend slots, because it always copies messages into them.
    #[error("{topic}: the messages of this publisher are copied: open it as pinnable, or use send")]
    NotPinnable {
        /// The topic of the publisher.
        topic: TopicLabel,
    },
    /// The lane is full, because a reliable reader has not read its oldest message, or because a
    /// reader has borrowed it and all later ones are unread or borrowed, too. Transient: try again
    /// after readers have read or released messages.
    ///
    /// Without a reliable reader, this error occurs only if readers hold every slot of the lane: a
    /// reader may have been stopped within a borrow that it may not complete, or the file is
    /// damaged.
    #[error(
        "{topic}: all slots of this publisher contain messages that a reliable subscriber has not \
         read, or that a subscriber holds: try again, or set Qos::on_stalled"
    )]
    Full {
        /// The topic of the publisher.
        topic: TopicLabel,
    },
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic of the publisher.
        topic: TopicLabel,
    },
    /// The memory of the ring is lost, because its file was truncated, or because the program
    /// closed descriptors of this library. Permanent: open the topic again.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic of the publisher.
        topic: TopicLabel,
    },
    /// The message is longer than this publisher is allowed to send. Permanent.
    #[error("{topic}: {}", describe_too_long(*bytes, *max))]
    TooLong {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The length of the message that the caller wanted to write, in bytes.
        bytes: u64,
        /// The length of the longest message that this publisher may send, in bytes.
        max: u64,
    },
    /// There is no memory for messages of this length. Try again when memory is available.
    #[error("{topic}: {}", describe_no_space(*bytes, *errno))]
    NoSpace {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The length of the message that the caller wanted to write, in bytes.
        bytes: u64,
        /// The system's error number, as in `errno`.
        errno: i32,
    },
    /// The file of the topic was removed or replaced, and this publisher cannot move to the file
    /// that has the topic's name now. Transient: the publisher tries again, at most ten times a
    /// second.
    #[error(
        "{topic}: its file was removed or replaced, and the present one cannot be used: {}: remove \
         that, or free what is missing",
        std::io::Error::from_raw_os_error(*errno)
    )]
    NameLost {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The system's error number, as in `errno`; `EUCLEAN` if the file is unusable, or if the
        /// topic is full.
        errno: i32,
    },
    /// The message is longer than the lent slot. The loan is still open, so the caller may write a
    /// shorter message.
    #[error(
        "{topic}: a message of {bytes} bytes does not fit the lent slot of {slot_bytes}: discard \
         it, reserve more, and take another loan"
    )]
    SlotTooShort {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The length of the message that the caller wanted to publish, in bytes.
        bytes: u64,
        /// The length of the longest message that fits in the lent slot, in bytes.
        slot_bytes: u64,
    },
    /// There is no open loan, because none was taken, or because another message was sent after the
    /// slot was lent.
    #[error("{topic}: nothing is on loan, or a message was sent since: take another loan")]
    Ended {
        /// The topic of the publisher.
        topic: TopicLabel,
    },
}

impl LoanError {
    /// Returns the label of the topic that the error concerns.
    #[must_use]
    pub const fn topic(&self) -> TopicLabel {
        match self {
            Self::NotPinnable { topic }
            | Self::Full { topic }
            | Self::Forked { topic }
            | Self::RegionLost { topic }
            | Self::TooLong { topic, .. }
            | Self::NoSpace { topic, .. }
            | Self::NameLost { topic, .. }
            | Self::SlotTooShort { topic, .. }
            | Self::Ended { topic } => *topic,
        }
    }

    /// Returns true if the error is [`Self::Full`]: the caller may try again after readers have
    /// read.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

impl From<SendError<()>> for LoanError {
    fn from(error: SendError<()>) -> Self {
        match error {
            SendError::Full { topic, .. } => Self::Full { topic },
            SendError::Forked { topic, .. } => Self::Forked { topic },
            SendError::RegionLost { topic, .. } => Self::RegionLost { topic },
            SendError::TooLong {
                topic, bytes, max, ..
            } => Self::TooLong { topic, bytes, max },
            SendError::NoSpace {
                topic,
                bytes,
                errno,
                ..
            } => Self::NoSpace {
                topic,
                bytes,
                errno,
            },
            SendError::NameLost { topic, errno, .. } => Self::NameLost { topic, errno },
            // WHY: only an encoder returns it, whose loan is over then.
            SendError::Unencodable { topic, .. } => Self::Ended { topic },
        }
    }
}

impl From<LoanError> for SendError<()> {
    fn from(error: LoanError) -> Self {
        let topic = error.topic();
        let message = ();
        let reason = match error {
            LoanError::Full { .. } => return Self::Full { topic, message },
            LoanError::Forked { .. } => return Self::Forked { topic, message },
            LoanError::RegionLost { .. } => return Self::RegionLost { topic, message },
            LoanError::TooLong { bytes, max, .. } => {
                return Self::TooLong {
                    topic,
                    message,
                    bytes,
                    max,
                };
            }
            LoanError::NoSpace { bytes, errno, .. } => {
                return Self::NoSpace {
                    topic,
                    message,
                    bytes,
                    errno,
                };
            }
            LoanError::NameLost { errno, .. } => {
                return Self::NameLost {
                    topic,
                    message,
                    errno,
                };
            }
            // WHY not the error's own text: it would name the topic a second time.
            LoanError::NotPinnable { .. } => {
                "it needs a slot to be lent, and the publisher is not pinnable: open it as pinnable"
            }
            LoanError::SlotTooShort { .. } => "it does not fit the lent slot",
            LoanError::Ended { .. } => "no slot is lent",
        };
        Self::Unencodable {
            topic,
            message,
            reason: reason.to_owned(),
        }
    }
}

/// A slot that is lent to the caller as bytes. A loan that is dropped without being published has
/// no effect on the topic.
pub struct RawLoan<'a> {
    producer: &'a mut RawProducer,
    address: *mut u8,
}

impl fmt::Debug for RawLoan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawLoan")
            .field("capacity_bytes", &self.capacity_bytes())
            .finish()
    }
}

impl<'a> RawLoan<'a> {
    /// Creates the loan of a slot of `producer`. The producer has already claimed the slot, and
    /// `address` is its first byte.
    pub(crate) const fn new(producer: &'a mut RawProducer, address: *mut u8) -> Self {
        Self { producer, address }
    }

    /// Returns the length of the lent slot: that of the longest message that fits in it, in bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.producer.slot_bytes() as usize
    }

    /// Returns the label (name) of the publisher's topic, for error texts.
    #[must_use]
    pub fn label(&self) -> TopicLabel {
        self.producer.segment().label()
    }

    /// Returns the bytes of the lent slot. Until the caller writes to it, they are an older message
    /// or zeros.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the slot has the length of the payload; until it is published no other code
        // writes it, and the bytes of a mapping always have a value.
        unsafe { std::slice::from_raw_parts(self.address, self.capacity_bytes()) }
    }

    /// Returns the bytes of the lent slot, into which the caller writes the message.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`. No reader of this process loads from it meanwhile: either the slot
        // was begun with no pin on it and no observer, or this is memory outside the slot.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.capacity_bytes()) }
    }

    /// Publishes the first `bytes` bytes of the lent slot as a message, or the whole slot if
    /// `bytes` is larger.
    ///
    /// # Errors
    ///
    /// [`SendError::Forked`] if the slot was lent before a `fork`; [`SendError::RegionLost`] if the
    /// file was truncated.
    pub fn publish(self, bytes: usize) -> Result<(), SendError<()>> {
        let bytes = bytes.min(self.capacity_bytes());
        self.producer.publish_loan(bytes as u64)
    }
}

/// A slot that is lent to the caller, who writes a message of type `T` into it and publishes it
/// without a copy.
///
/// At first it has the slot's old content. Dropping it without publishing has no effect on the
/// topic. In a forked child, it is private memory of the child, and cannot be published.
pub struct Loan<'a, T> {
    raw: RawLoan<'a>,
    marker: PhantomData<&'a mut T>,
}

impl<T> fmt::Debug for Loan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loan(..)")
    }
}

impl<T: Pod> Loan<'_, T> {
    /// Publishes the message that the caller has written into the lent slot. Does not block.
    ///
    /// # Errors
    ///
    /// The same as for [`RawLoan::publish`].
    pub fn publish(self) -> Result<(), SendError<()>> {
        self.raw.publish(size_of::<T>())
    }
}

impl<T: Pod> Deref for Loan<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        bytemuck::from_bytes(&self.raw.bytes()[..size_of::<T>()])
    }
}

impl<T: Pod> DerefMut for Loan<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        bytemuck::from_bytes_mut(&mut self.raw.bytes_mut()[..size_of::<T>()])
    }
}

impl<T: Pod> Producer<T> {
    /// Lends the next slot to the caller, who writes a message into it and then calls
    /// [`Loan::publish`]. Works only in pinnable rings.
    ///
    /// Does not block, and copies nothing. Only one loan can exist at a time.
    ///
    /// # Errors
    ///
    /// [`LoanError`] if no slot can be lent.
    pub fn loan(&mut self) -> Result<Loan<'_, T>, LoanError> {
        Ok(Loan {
            raw: self.raw_mut().loan()?,
            marker: PhantomData,
        })
    }
}
