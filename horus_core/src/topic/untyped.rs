//! Ends of a topic for programs that learn its type from the topic: tools, recorders, bridges.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::wait::Patience;
use horus_shm::{
    Namespace, OnStalled, OpenError, RawConsumer, RawProducer, RawSample, Reading, Reliability,
    Request, Segment, TopicName, TypeInfo, Watch,
};

use super::{Payload, Qos, Stats};
use crate::error::{
    BorrowError, Error, LoanError, RecvError, RecvTimeoutError, SendError, TopicError, WriteError,
};
use crate::message::{Buffer, Layout, ParsedSchema, Primitive, Schema, SchemaTextError, fnv1a_128};
use crate::value::{MSGPACK_SCHEMA, Value};

/// The type of a topic's messages, as the topic tells it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UntypedSchema {
    /// Plain data, of a fixed size or with a tail.
    Plain {
        /// What the fields are.
        schema: ParsedSchema,
        /// Where they are, to read and edit them.
        layout: Layout,
    },
    /// MessagePack: each message says itself what it is.
    MessagePack,
    /// None of these: the text that the topic has instead. Its messages are bytes.
    Unknown(String),
}

impl UntypedSchema {
    fn of(info: &TypeInfo) -> Self {
        if info.schema == MSGPACK_SCHEMA {
            return Self::MessagePack;
        }
        let schema = Schema::parse(&info.schema).ok();
        let plain = schema.and_then(|schema| Some((schema.layout().ok()?, schema)));
        match plain {
            Some((layout, schema)) => Self::Plain { schema, layout },
            None => Self::Unknown(info.schema.clone().into_owned()),
        }
    }

    /// What a message says, or `None` if it is none.
    #[must_use]
    pub fn decode(&self, message: &[u8]) -> Option<Value> {
        match self {
            Self::Plain { layout, .. } => layout.decode(message).ok(),
            Self::MessagePack => Value::decode(message).ok(),
            Self::Unknown(_) => Some(Value::Bytes(message.to_vec())),
        }
    }

    /// The message that says this.
    ///
    /// # Errors
    ///
    /// [`WriteError::Unencodable`] if there is none: says which field is wrong.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, WriteError> {
        let encoded = match (self, value) {
            (Self::Plain { layout, .. }, _) => {
                layout.encode(value).map_err(|error| error.to_string())
            }
            (Self::MessagePack, _) => value.to_msgpack().map_err(|error| error.to_string()),
            (Self::Unknown(_), Value::Bytes(bytes)) => Ok(bytes.clone()),
            (Self::Unknown(_), _) => Err("the topic's type is unknown: send bytes".to_owned()),
        };
        encoded.map_err(|reason| WriteError::Unencodable { reason })
    }
}

/// The type of messages, known when the program runs: by the text of a schema, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageType(TypeInfo);

impl MessageType {
    /// Text of the type of plain bytes; not a schema.
    const BYTES: &str = "horus bytes 1\n";
    /// Alignment of what has a length of its own, as for [`Framed`](crate::message::Framed).
    const SIZED_ALIGN: u32 = 64;
    /// Bytes of the longest message of a topic whose creator says nothing else.
    const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

    /// The type that this canonical text describes: the same as that of a Rust program whose
    /// `message!` has this text.
    ///
    /// # Errors
    ///
    /// [`SchemaTextError`]: the first line that is not canonical.
    pub fn of_schema(text: &str) -> Result<Self, SchemaTextError> {
        let schema = Schema::parse(text)?;
        let sized = schema.tail.is_some();
        Ok(Self(TypeInfo {
            name: schema.name.into(),
            schema: text.to_owned().into(),
            hash: fnv1a_128(text.as_bytes()).to_be_bytes(),
            bytes: if sized { Self::MAX_MESSAGE_BYTES } else { schema.size as u64 },
            align: if sized { Self::SIZED_ALIGN } else { schema.align as u32 },
            sized,
        }))
    }

    /// What a topic keeps of it.
    pub(super) fn into_info(self) -> TypeInfo {
        self.0
    }

    /// Bytes of any number, without a meaning to this library.
    #[must_use]
    pub fn bytes() -> Self {
        Self(TypeInfo {
            name: "bytes".into(),
            schema: Self::BYTES.into(),
            hash: fnv1a_128(Self::BYTES.as_bytes()).to_be_bytes(),
            bytes: Self::MAX_MESSAGE_BYTES,
            align: Self::SIZED_ALIGN,
            sized: true,
        })
    }

    /// That of messages of a Rust type.
    #[must_use]
    pub fn of<T: Payload>() -> Self {
        Self(T::type_info())
    }
}

/// Opens untyped ends of a topic, as [`TopicBuilder`](super::TopicBuilder) opens typed ones.
#[derive(Debug, Clone)]
#[must_use]
pub struct UntypedBuilder {
    name: String,
    message_type: Option<MessageType>,
    namespace: Option<Arc<Namespace>>,
    qos: Qos,
    max_message_bytes: Option<u64>,
}

impl UntypedBuilder {
    /// Of the topic `name`; without a [`Self::message_type`] it must be there, and says what it is.
    pub fn new(name: &str) -> Self {
        let name = name.to_owned();
        let (message_type, namespace, max_message_bytes) = (None, None, None);
        Self { name, message_type, namespace, qos: Qos::new(), max_message_bytes }
    }

    /// What the messages must be; the topic is created if it is not there.
    pub fn message_type(mut self, message_type: MessageType) -> Self {
        self.message_type = Some(message_type);
        self
    }

    /// The namespace; otherwise that of the environment (`HORUS_SHM_DIR`, `HORUS_NAMESPACE`).
    pub fn namespace(mut self, namespace: &Arc<Namespace>) -> Self {
        self.namespace = Some(Arc::clone(namespace));
        self
    }

    /// Quality of service; everything left open otherwise.
    pub fn qos(mut self, qos: Qos) -> Self {
        self.qos = qos;
        self
    }

    /// Bytes of the longest message, as
    /// [`TopicBuilder::max_message_bytes`](super::TopicBuilder::max_message_bytes).
    pub fn max_message_bytes(mut self, bytes: u64) -> Self {
        self.max_message_bytes = Some(bytes);
        self
    }

    /// A publisher.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn publisher(self) -> Result<UntypedPublisher, TopicError> {
        let segment = self.segment(false);
        let raw = segment.and_then(|segment| RawProducer::new(segment, self.qos.stall_policy()));
        let raw = raw.map_err(|error| TopicError::new(&self.name, error))?;
        let schema = UntypedSchema::of(&raw.segment().contract().type_info);
        Ok(UntypedPublisher { raw, schema })
    }

    /// A subscriber, reliable if the topic is and nothing else is asked for.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn subscriber(self) -> Result<UntypedSubscriber, TopicError> {
        let open = || {
            let segment = self.segment(true)?;
            let topic_is_reliable = segment.contract().reliability == Reliability::Reliable;
            let reading = match self.qos.reads_reliably().unwrap_or(topic_is_reliable) {
                true => Reading::Gated,
                false => Reading::KeepLast,
            };
            RawConsumer::new(segment, reading)
        };
        let raw = open().map_err(|error| TopicError::new(&self.name, error))?;
        Ok(UntypedSubscriber::from_raw(raw))
    }

    fn segment(&self, reader: bool) -> Result<Arc<Segment>, OpenError> {
        let namespace = match &self.namespace {
            Some(namespace) => Arc::clone(namespace),
            None => Namespace::current()?,
        };
        let topic = TopicName::new(&self.name)?;
        let type_info = match &self.message_type {
            Some(message_type) => message_type.0.clone(),
            None => Segment::inspect(&namespace, &topic)?.contract().type_info.clone(),
        };
        let mut request = self.qos.request(type_info, reader);
        request.max_message_bytes = self.max_message_bytes;
        match self.message_type {
            Some(_) => Segment::open_or_create(&namespace, &topic, &request),
            None => Segment::open(&namespace, &topic, &request),
        }
    }
}

/// Opens the topic `name`, which must be there, as what it says it is.
fn open(
    namespace: &Arc<Namespace>,
    name: &str,
    reader: bool,
) -> Result<(Arc<Segment>, UntypedSchema), TopicError> {
    let open = || -> Result<_, OpenError> {
        let topic = TopicName::new(name)?;
        let info = Segment::inspect(namespace, &topic)?.contract().type_info.clone();
        let schema = UntypedSchema::of(&info);
        let mut request = Request::new(info);
        request.reader = reader;
        Ok((Segment::open(namespace, &topic, &request)?, schema))
    };
    open().map_err(|error| TopicError::new(name, error))
}

/// Receives the messages of a topic whose type the program does not know.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::namespace::Namespace;
/// use horus_core::prelude::*;
/// use horus_core::topic::UntypedSubscriber;
///
/// let mut publisher: Publisher<CmdVel> = Publisher::new("cmd_vel")?;
/// let mut tool = UntypedSubscriber::observe(&Namespace::current()?, "cmd_vel")?;
/// publisher.send(CmdVel { timestamp_ns: 7, linear: 0.5, angular: 0.25 })?;
/// let message = tool.recv().expect("a message was sent");
/// assert_eq!(message.to_string(), r#"{"timestamp_ns": 7, "linear": 0.5, "angular": 0.25}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UntypedSubscriber {
    raw: RawConsumer,
    schema: UntypedSchema,
    /// Where messages say when they were made.
    time_offset: Option<usize>,
    /// Made when they are needed.
    buffers: [Buffer; 2],
    spin: Duration,
    malformed: u64,
}

impl UntypedSubscriber {
    /// Subscribes to the topic `name`, which must be there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        Self::reading(namespace, name, Reading::KeepLast)
    }

    /// [`Self::open`], but maps everything read-only, holds nobody back and is not counted.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn observe(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        Self::reading(namespace, name, Reading::Observer)
    }

    fn reading(
        namespace: &Arc<Namespace>,
        name: &str,
        reading: Reading,
    ) -> Result<Self, TopicError> {
        let (segment, _) = open(namespace, name, true)?;
        let raw = RawConsumer::new(segment, reading);
        Ok(Self::from_raw(raw.map_err(|error| TopicError::new(name, error))?))
    }

    fn from_raw(raw: RawConsumer) -> Self {
        let type_info = &raw.segment().contract().type_info;
        let schema = UntypedSchema::of(type_info);
        let time_offset = time_offset(&schema);
        let buffers = Default::default();
        let (spin, malformed) = (Patience::SPIN, 0);
        Self { raw, schema, time_offset, buffers, spin, malformed }
    }

    /// The type of the messages.
    #[must_use]
    pub const fn schema(&self) -> &UntypedSchema {
        &self.schema
    }

    /// The bytes of the next message, or `None` if there is none right now. Never blocks.
    pub fn recv_bytes(&mut self) -> Option<&[u8]> {
        let buffer = &mut self.buffers[0];
        buffer.make_room(self.raw.max_bytes());
        let bytes = self.raw.recv_bytes(buffer.as_mut())?;
        Some(&self.buffers[0].as_ref()[..bytes])
    }

    /// [`Self::recv_bytes`], but waits for a message for up to `timeout`. Blocks.
    pub fn recv_bytes_timeout(&mut self, timeout: Duration) -> Option<&[u8]> {
        let patience = Patience::of(timeout).spinning(self.spin);
        let buffer = &mut self.buffers[0];
        buffer.make_room(self.raw.max_bytes());
        let bytes = self.raw.recv_bytes_until(patience, buffer.as_mut())?;
        Some(&self.buffers[0].as_ref()[..bytes])
    }

    /// Copies the next message to the beginning of `buffer` and returns its length, or `None` if
    /// there is none right now. Never blocks.
    ///
    /// A message that is longer than the buffer is cut to its length: give it
    /// [`Self::max_message_bytes`].
    #[inline]
    pub fn recv_into(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.raw.recv_bytes(buffer)
    }

    /// [`Self::recv_into`], but waits for a message for up to `timeout`. Blocks, as
    /// [`Subscriber::recv_timeout`](super::Subscriber::recv_timeout).
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`] if none came; the other variants if none ever will.
    pub fn recv_into_timeout(
        &mut self,
        buffer: &mut [u8],
        timeout: Duration,
    ) -> Result<usize, RecvTimeoutError> {
        let patience = Patience::of(timeout).spinning(self.spin);
        let received = self.raw.recv_bytes_until(patience, buffer);
        received.ok_or_else(|| match self.check() {
            Ok(()) => RecvTimeoutError::Timeout,
            Err(error) => error.into(),
        })
    }

    /// The newest message that was not received yet, as
    /// [`Subscriber::latest`](super::Subscriber::latest). Never blocks.
    pub fn latest_bytes(&mut self) -> Option<&[u8]> {
        let [first, second] = &mut self.buffers;
        first.make_room(self.raw.max_bytes());
        second.make_room(self.raw.max_bytes());
        let at = self.time_offset;
        let buffers = [first.as_mut(), second.as_mut()];
        let (newest, bytes) =
            self.raw.latest_bytes(buffers, &|message| published_ns(at, message))?;
        Some(&self.buffers[newest].as_ref()[..bytes])
    }

    /// The next message where it lies in shared memory, or `None` if there is none right now, as
    /// [`Subscriber::borrow`](super::Subscriber::borrow). Never blocks.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; nothing is lost by it.
    pub fn borrow(&mut self) -> Result<Option<RawSample>, BorrowError> {
        self.raw.borrow()
    }

    /// [`Self::borrow`] of the newest message, as [`Self::latest_bytes`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn borrow_latest(&mut self) -> Result<Option<RawSample>, BorrowError> {
        let at = self.time_offset;
        self.raw.borrow_latest(&|message| published_ns(at, message))
    }

    /// How long the calls that wait look for a message before they sleep, as
    /// [`Subscriber::set_spin`](super::Subscriber::set_spin).
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Bytes of the longest message that the topic can carry.
    #[inline]
    #[must_use]
    pub fn max_message_bytes(&self) -> u64 {
        self.raw.max_bytes() as u64
    }

    /// Messages have lengths of their own, up to that.
    #[inline]
    #[must_use]
    pub fn is_sized(&self) -> bool {
        self.raw.segment().shape().request().sized
    }

    /// Number of the last message received, as its publisher counts; 0 before the first.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.sequence()
    }

    /// Live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw.segment().publisher_count()
    }

    /// Live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw.segment().subscriber_count()
    }

    /// What the next message says, or `None` if there is none right now. Never blocks.
    ///
    /// Bytes that are no message are left out and counted, see [`Stats::malformed`].
    pub fn recv(&mut self) -> Option<Value> {
        for _ in 0..super::encoded::MALFORMED_MAX {
            let buffer = &mut self.buffers[0];
            buffer.make_room(self.raw.max_bytes());
            let bytes = self.raw.recv_bytes(buffer.as_mut())?;
            match self.schema.decode(&buffer.as_ref()[..bytes]) {
                Some(value) => return Some(value),
                None => self.malformed += 1,
            }
        }
        None
    }

    /// The topic's name.
    #[must_use]
    pub fn name(&self) -> String {
        let path = self.raw.segment().path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        TopicName::from_file_name(&file).map_or_else(|_| file.into_owned(), |name| name.to_string())
    }

    /// What a wait set looks at.
    pub(super) fn watch(&self) -> Watch {
        self.raw.watch()
    }

    /// Whether this subscriber can still receive.
    ///
    /// # Errors
    ///
    /// Why it never will again: [`RecvError::Forked`] or [`RecvError::RegionLost`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.raw.check()
    }

    /// The ledger since this subscriber joined.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(self.raw.stats(), self.malformed)
    }
}

/// Publishes on a topic whose type the program does not know.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::namespace::Namespace;
/// use horus_core::prelude::*;
/// use horus_core::topic::UntypedPublisher;
///
/// let mut motors: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
/// let mut tool = UntypedPublisher::open(&Namespace::current()?, "cmd_vel")?;
/// tool.send(&Value::from([("linear", 0.5)]))?;
/// assert_eq!(motors.recv().unwrap().linear, 0.5);
/// let error = tool.send(&Value::from([("speed", 0.5)])).unwrap_err();
/// assert!(error.to_string().contains("speed"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UntypedPublisher {
    raw: RawProducer,
    schema: UntypedSchema,
}

impl UntypedPublisher {
    /// Publishes on the topic `name`, which must be there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        let (segment, schema) = open(namespace, name, false)?;
        let raw = RawProducer::new(segment, OnStalled::Full);
        Ok(Self { raw: raw.map_err(|error| TopicError::new(name, error))?, schema })
    }

    /// The type of the messages.
    #[must_use]
    pub const fn schema(&self) -> &UntypedSchema {
        &self.schema
    }

    /// Publishes the message that says this; fields that it does not name are 0. Never blocks.
    ///
    /// # Errors
    ///
    /// [`SendError::Unencodable`] names the field that is wrong; else as [`Self::send_bytes`].
    pub fn send(&mut self, value: &Value) -> Result<(), SendError<()>> {
        let message = self.schema.encode(value).map_err(|error| error.refuses(0))?;
        self.send_bytes(&message)
    }

    /// Publishes these bytes. Never blocks.
    ///
    /// # Errors
    ///
    /// [`SendError::TooLong`], [`SendError::Unencodable`] if the topic's messages are of another
    /// size; [`SendError::Full`], [`SendError::Forked`] or [`SendError::RegionLost`].
    #[inline(always)]
    pub fn send_bytes(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        self.check_length(message.len())?;
        Ok(self.raw.send_bytes(message)?)
    }

    /// [`Self::send_bytes`], but waits for room for up to `timeout` while the topic is full.
    /// Blocks, as [`Publisher::send_timeout`](super::Publisher::send_timeout).
    ///
    /// # Errors
    ///
    /// As there; [`SendError::Full`] only after the timeout.
    pub fn send_bytes_timeout(
        &mut self,
        message: &[u8],
        timeout: Duration,
    ) -> Result<(), SendError<()>> {
        self.check_length(message.len())?;
        Ok(self.raw.send_bytes_until(Patience::of(timeout), message)?)
    }

    #[inline(always)]
    fn check_length(&self, bytes: usize) -> Result<(), SendError<()>> {
        let request = self.raw.segment().shape().request();
        let (bytes, max) = (bytes as u64, request.payload_bytes);
        if bytes == max || bytes < max && request.sized {
            return Ok(());
        }
        Err(Self::refuse_length(bytes, max))
    }

    #[cold]
    fn refuse_length(bytes: u64, max: u64) -> SendError<()> {
        if bytes > max {
            return SendError::TooLong { message: (), bytes, max };
        }
        let reason = format!("{bytes} bytes, and messages of the topic have {max}");
        SendError::Unencodable { message: (), reason }
    }

    /// Lends the next slot in shared memory, for those who cannot keep a borrow: fill it, then
    /// [`Self::publish_lent`]. The address is good until then, or until anything else is sent, or
    /// this end is dropped. Never blocks; costs the same whatever the size.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn lend(&mut self) -> Result<NonNull<[u8]>, LoanError> {
        self.raw.lend()
    }

    /// Publishes the first `bytes` bytes of what was lent. Never blocks, copies nothing.
    ///
    /// # Errors
    ///
    /// [`LoanError::Ended`] if nothing is on loan; [`SendError::TooLong`] and
    /// [`SendError::Unencodable`] as of [`Self::send_bytes`], and then it still is.
    pub fn publish_lent(&mut self, bytes: usize) -> Result<(), Error> {
        self.check_length(bytes)?;
        Ok(self.raw.publish_lent(bytes)?)
    }

    /// Takes back what was lent, as if it had not been asked for. True if something was.
    pub const fn discard_lent(&mut self) -> bool {
        self.raw.discard_lent()
    }

    /// Bytes of the longest message that the topic can carry.
    #[inline]
    #[must_use]
    pub fn max_message_bytes(&self) -> u64 {
        self.raw.segment().shape().request().payload_bytes
    }

    /// Messages have lengths of their own, up to that.
    #[inline]
    #[must_use]
    pub fn is_sized(&self) -> bool {
        self.raw.segment().shape().request().sized
    }

    /// As [`Publisher::sequence`](super::Publisher::sequence).
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.position()
    }

    /// Live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw.segment().publisher_count()
    }

    /// Live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw.segment().subscriber_count()
    }
}

/// Where the messages of a schema say when they were made.
fn time_offset(schema: &UntypedSchema) -> Option<usize> {
    let UntypedSchema::Plain { schema, .. } = schema else { return None };
    let field = schema.fields.iter().find(|field| field.path == "timestamp_ns")?;
    let is_time = field.shape.primitive == Primitive::U64 && field.shape.count == 1;
    is_time.then_some(field.shape.offset)
}

fn published_ns(offset: Option<usize>, message: &[u8]) -> u64 {
    let time = offset.and_then(|offset| message.get(offset..offset + 8)?.try_into().ok());
    time.map_or(0, u64::from_ne_bytes)
}
