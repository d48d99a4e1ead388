//! The types that a topic can carry, and how they are written to a slot and read from it.

use std::fmt::Debug;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Consumer, OpenError, Producer, PublisherProgress, RawConsumer, RawProducer, TypeInfo,
};

use super::SendError;
use super::time_fields::TimeFields;
use crate::message::{FieldKind, Message, Primitive, Schema};

/// A type that a topic can carry. A topic can carry every [`Message`], whose bytes are copied as
/// they are. It can also carry types whose messages vary in length:
/// [`Framed`](crate::message::Framed) messages such as images, [`Value`](crate::value::Value)s, and
/// any type that `serde` can serialize, wrapped in [`Serde`](crate::value::Serde).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be carried by a topic",
    label = "neither plain data of a fixed size nor something that is encoded",
    note = "declare plain data as `horus_core::message! {{ pub struct Name {{ pub x: f64 }} }}`",
    note = "carry anything that implements serde's traits as `Serde<{Self}>`",
    note = "carry any mixture of values as `Value`, and plain bytes as `Bytes`"
)]
pub trait Payload: Sized + 'static {
    /// The type that writes messages of this type to slots, for publishers.
    #[doc(hidden)]
    type Writer: MessageWriter<Self>;
    /// The type that reads messages of this type from slots, for subscribers.
    #[doc(hidden)]
    type Reader: MessageReader<Self>;

    /// Returns the description of the message type, which endpoints compare and which the topic
    /// stores for tools.
    fn type_info() -> TypeInfo;

    /// Returns the bytes of a default message. A subscriber takes from them the fields that a
    /// publisher does not know. Returns `None` for types without such fields.
    #[doc(hidden)]
    fn default_bytes() -> Option<Box<[u8]>> {
        None
    }
}

/// Puts the messages of one publisher into the slots of the publisher's lane.
#[doc(hidden)]
pub trait MessageWriter<T>: Debug + Send + Unpin {
    fn new(raw: RawProducer) -> Self;
    fn raw(&self) -> &RawProducer;
    /// Makes sure that messages of `bytes` bytes fit into the slots of the lane.
    fn reserve(&mut self, bytes: u64) -> Result<(), SendError<()>>;
    fn send(&mut self, message: &T) -> Result<(), SendError<()>>;
    fn send_until(&mut self, wait_policy: WaitPolicy, message: &T) -> Result<(), SendError<()>>;
}

/// Takes the messages of one subscriber out of the slots of all lanes.
#[doc(hidden)]
pub trait MessageReader<T>: Debug + Send + Unpin {
    fn new(raw: RawConsumer) -> Self;
    fn raw(&self) -> &RawConsumer;
    fn ignore_publisher(&mut self, publisher: PublisherProgress<'_>);
    fn include_publisher(&mut self, publisher: PublisherProgress<'_>) -> Result<(), OpenError>;
    fn recv(&mut self) -> Option<T>;
    fn drain(&mut self, each: impl FnMut(T)) -> usize;
    fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<T>;
    fn latest(&mut self) -> Option<T>;
    /// Returns the number of messages that this subscriber has received but could not decode.
    fn malformed_message_count(&self) -> u64;
}

impl<T: Message> Payload for T {
    type Writer = Producer<T>;
    type Reader = Consumer<T>;

    fn type_info() -> TypeInfo {
        let text = T::SCHEMA.text();
        let growth = Schema::parse(&text).map(|schema| schema.field_prefixes());
        TypeInfo {
            name: T::SCHEMA.name.into(),
            schema: text.into(),
            hash: T::HASH.to_be_bytes(),
            bytes: T::SCHEMA.size as u64,
            align: T::SCHEMA.align as u32,
            sized: false,
            growth: growth.unwrap_or_default(),
        }
    }

    fn default_bytes() -> Option<Box<[u8]>> {
        <T as Message>::default_bytes()
    }
}

impl<T: Message> MessageWriter<T> for Producer<T> {
    fn new(raw: RawProducer) -> Self {
        Self::new(raw)
    }

    fn raw(&self) -> &RawProducer {
        self.raw()
    }

    fn reserve(&mut self, _bytes: u64) -> Result<(), SendError<()>> {
        Ok(())
    }

    #[inline(always)]
    fn send(&mut self, message: &T) -> Result<(), SendError<()>> {
        self.send_ref(message)
    }

    fn send_until(&mut self, wait_policy: WaitPolicy, message: &T) -> Result<(), SendError<()>> {
        self.send_until(wait_policy, message)
    }
}

impl<T: Message> MessageReader<T> for Consumer<T> {
    fn new(raw: RawConsumer) -> Self {
        Self::new(raw)
    }

    fn raw(&self) -> &RawConsumer {
        self.raw()
    }

    fn ignore_publisher(&mut self, publisher: PublisherProgress<'_>) {
        self.ignore_publisher(publisher);
    }

    fn include_publisher(&mut self, publisher: PublisherProgress<'_>) -> Result<(), OpenError> {
        self.include_publisher(publisher)
    }

    #[inline(always)]
    fn recv(&mut self) -> Option<T> {
        self.recv()
    }

    #[inline]
    fn drain(&mut self, each: impl FnMut(T)) -> usize {
        self.drain(each)
    }

    fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<T> {
        self.recv_until(wait_policy)
    }

    #[inline]
    fn latest(&mut self) -> Option<T> {
        self.latest_by_key(published_ns_of_message)
    }

    fn malformed_message_count(&self) -> u64 {
        0
    }
}

/// Returns a number that orders messages by age: it is greater for the newer one of two messages.
/// See [`TimeFields`].
pub(crate) fn published_ns_of_message<T: Message>(message: &T) -> u64 {
    published_ns::<T>(bytemuck::bytes_of(message))
}

/// Returns a number that orders messages by age, given the bytes of a message. It is greater for
/// the newer one of two messages. See [`TimeFields`].
pub(crate) fn published_ns<T: Message>(bytes: &[u8]) -> u64 {
    let offset_of = |name: &str| {
        let field = T::SCHEMA.fields.iter().find(|field| field.name == name)?;
        let is_u64 = matches!(field.kind, FieldKind::Primitive(Primitive::U64));
        (is_u64 && field.count == 1).then_some(field.offset)
    };
    TimeFields::find(offset_of).published_ns(bytes)
}
