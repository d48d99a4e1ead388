//! Messages whose length varies. They are encoded into a slot, and decoded from a copy of the slot.

use std::time::Instant;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{OpenError, PublisherProgress, RawConsumer, RawProducer, TypeInfo};

use super::SendError;
use super::payload::{MessageReader, MessageWriter};
use crate::message::Buffer;
use crate::topic::error::WriteError;

/// Number of consecutive messages that cannot be decoded after which a receive gives up and returns
/// `None`.
pub(super) const MALFORMED_MESSAGES_SKIPPED_MAX: u32 = 16;

/// A message whose length varies, which is encoded into a slot and decoded from a copy of the slot.
pub trait Encoded: Sized + Send + 'static {
    /// Returns the description of the message type, which endpoints compare. Its field `bytes` is
    /// the initial capacity of a publisher's slots; slots grow when a longer message is sent.
    fn type_info() -> TypeInfo;

    /// Encodes the message into the beginning of `slot`, and returns the length of the encoded
    /// message in bytes.
    ///
    /// # Errors
    ///
    /// Returns [`WriteError`] if the message cannot be encoded. The contents of the slot are then
    /// unspecified.
    fn encode(&self, slot: &mut [u8]) -> Result<usize, WriteError>;

    /// Decodes the message in the first `bytes` bytes of `buffer`, and may take over the buffer's
    /// memory for the result. Returns `None` if the bytes are not a message.
    fn decode(buffer: &mut Buffer, bytes: usize) -> Option<Self>;

    /// Returns the bytes of a default header. A subscriber takes from them the fields that a
    /// publisher does not know. Returns `None` for types without such fields.
    fn default_bytes() -> Option<Box<[u8]>> {
        None
    }

    /// Returns a number that orders messages by age, such as a time: it is greater for the newer of
    /// two messages.
    fn published_ns(_bytes: &[u8]) -> u64 {
        0
    }
}

/// Implements [`Payload`](super::Payload) for types that implement [`Encoded`].
macro_rules! encoded_payload {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::topic::Payload for $type {
            type Writer = $crate::topic::Encoder;
            type Reader = $crate::topic::MessageDecoder;

            fn type_info() -> ::horus_shm::TypeInfo {
                <Self as $crate::topic::Encoded>::type_info()
            }

            fn default_bytes() -> Option<Box<[u8]>> {
                <Self as $crate::topic::Encoded>::default_bytes()
            }
        }
    };
}
pub(crate) use encoded_payload;

/// Encodes messages of one publisher into the slots of the publisher's lane.
#[doc(hidden)]
#[derive(Debug)]
pub struct Encoder(RawProducer);

impl Encoder {
    /// Returns the producer that writes bytes to the slots of the lane.
    pub(super) const fn raw_mut(&mut self) -> &mut RawProducer {
        &mut self.0
    }

    fn publish<T: Encoded>(
        &mut self,
        wait_policy: Option<WaitPolicy>,
        message: &T,
    ) -> Result<(), SendError<()>> {
        let mut bytes = 0;
        loop {
            let mut loan = match wait_policy {
                Some(wait_policy) => self.0.loan_until(wait_policy, bytes)?,
                None => {
                    self.0.reserve(bytes)?;
                    self.0.loan()?
                }
            };
            let max = loan.capacity_bytes();
            match message.encode(loan.bytes_mut()) {
                Ok(bytes) => return loan.publish(bytes),
                // The slots grow, or that is an error.
                Err(WriteError::TooLong { bytes: needed }) if needed > max as u64 => bytes = needed,
                Err(error) => return Err(error.into_send_error(loan.label(), max)),
            }
        }
    }
}

impl<T: Encoded> MessageWriter<T> for Encoder {
    fn new(raw: RawProducer) -> Self {
        Self(raw)
    }

    fn raw(&self) -> &RawProducer {
        &self.0
    }

    fn reserve(&mut self, bytes: u64) -> Result<(), SendError<()>> {
        self.0.reserve(bytes)
    }

    fn send(&mut self, message: &T) -> Result<(), SendError<()>> {
        self.publish(None, message)
    }

    fn send_until(&mut self, wait_policy: WaitPolicy, message: &T) -> Result<(), SendError<()>> {
        self.publish(Some(wait_policy), message)
    }
}

/// Copies messages out of slots, then decodes them.
///
/// WHY a copy: any process that may write to the topic may change a message while it is decoded,
/// and a decoder that reads the slot itself would see inconsistent bytes.
#[doc(hidden)]
#[derive(Debug)]
pub struct MessageDecoder {
    pub(super) raw: RawConsumer,
    /// The two buffers for copies of messages. Their memory is allocated on first use.
    pub(super) buffers: [Buffer; 2],
    pub(super) malformed: u64,
}

impl MessageDecoder {
    pub(super) fn new(raw: RawConsumer) -> Self {
        Self {
            raw,
            buffers: Default::default(),
            malformed: 0,
        }
    }

    /// Counts the message just received as one that cannot be decoded.
    pub(super) fn count_malformed(&mut self) {
        self.malformed += 1;
        self.raw.publish_malformed();
    }

    /// Calls `recv`, which copies a message to the first buffer. Returns the length of the message
    /// in bytes; `None` if there is no message.
    pub(super) fn copy_next_to_buffer(
        &mut self,
        mut recv: impl FnMut(&mut RawConsumer, &mut [u8]) -> Option<usize>,
    ) -> Option<usize> {
        loop {
            let whole = self.raw.require_whole_messages();
            let buffer = &mut self.buffers[0];
            buffer.set_length(whole);
            let received = recv(&mut self.raw, buffer.as_mut());
            // WHY again: a publisher began to send longer messages meanwhile.
            if received.is_some() || self.raw.max_bytes() <= whole {
                return received;
            }
        }
    }

    /// Copies the newest message to one of the buffers. Returns the index of that buffer and the
    /// length of the message in bytes; `None` if there is no message.
    pub(super) fn copy_latest_to_buffer(
        &mut self,
        published_ns: &dyn Fn(&[u8]) -> u64,
    ) -> Option<(usize, usize)> {
        loop {
            let whole = self.raw.require_whole_messages();
            let [first, second] = &mut self.buffers;
            first.set_length(whole);
            second.set_length(whole);
            let buffers = [first.as_mut(), second.as_mut()];
            let received = self.raw.latest_bytes(buffers, published_ns);
            // WHY again: as in `copy_next_to_buffer`.
            if received.is_some() || self.raw.max_bytes() <= whole {
                return received;
            }
        }
    }

    /// Calls `recv` until it has copied a message that `decode` can decode, and returns the
    /// message. Returns `None` if there is no message, or after [`MALFORMED_MESSAGES_SKIPPED_MAX`]
    /// messages that cannot be decoded.
    pub(super) fn receive_decodable<T>(
        &mut self,
        mut recv: impl FnMut(&mut RawConsumer, &mut [u8]) -> Option<usize>,
        mut decode: impl FnMut(&mut Buffer, usize) -> Option<T>,
    ) -> Option<T> {
        for _ in 0..MALFORMED_MESSAGES_SKIPPED_MAX {
            let bytes = self.copy_next_to_buffer(&mut recv)?;
            match decode(&mut self.buffers[0], bytes) {
                Some(message) => return Some(message),
                None => self.count_malformed(),
            }
        }
        None
    }
}

impl<T: Encoded> MessageReader<T> for MessageDecoder {
    fn new(raw: RawConsumer) -> Self {
        Self::new(raw)
    }

    fn raw(&self) -> &RawConsumer {
        &self.raw
    }

    fn ignore_publisher(&mut self, publisher: PublisherProgress<'_>) {
        self.raw.ignore_publisher(publisher);
    }

    fn include_publisher(&mut self, publisher: PublisherProgress<'_>) -> Result<(), OpenError> {
        self.raw.include_publisher(publisher)
    }

    fn recv(&mut self) -> Option<T> {
        self.receive_decodable(RawConsumer::recv_bytes, T::decode)
    }

    fn drain(&mut self, each: impl FnMut(T)) -> usize {
        self.raw.require_whole_messages();
        let lap = self.raw.longest_lane_slots() as usize;
        std::iter::from_fn(|| self.recv())
            .take(lap)
            .map(each)
            .count()
    }

    fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<T> {
        loop {
            let malformed = self.malformed;
            let received = self.receive_decodable(
                |raw, buffer| raw.recv_bytes_until(wait_policy, buffer),
                T::decode,
            );
            // WHY the deadline, too: messages that cannot be decoded may come without end.
            let is_over = || {
                wait_policy
                    .deadline
                    .is_some_and(|end| end <= Instant::now())
            };
            let gave_up = self.malformed - malformed >= u64::from(MALFORMED_MESSAGES_SKIPPED_MAX);
            if received.is_some() || !gave_up || is_over() {
                return received;
            }
        }
    }

    fn latest(&mut self) -> Option<T> {
        let (newest, bytes) = self.copy_latest_to_buffer(&T::published_ns)?;
        let message = T::decode(&mut self.buffers[newest], bytes);
        if message.is_none() {
            self.count_malformed();
        }
        message
    }

    fn malformed_message_count(&self) -> u64 {
        self.malformed
    }
}
