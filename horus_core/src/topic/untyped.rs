//! Ends of a topic for programs that learn its type from the topic: tools, recorders, bridges.

use std::sync::Arc;
use std::time::Duration;

use horus_shm::wait::Patience;
use horus_shm::{
    Namespace, OnStalled, OpenError, RawConsumer, RawProducer, Reading, Request, Segment,
    TopicName, TypeInfo,
};

use super::Stats;
use crate::error::{RecvError, SendError, TopicError, WriteError};
use crate::message::{Buffer, Layout, ParsedSchema, Schema};
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
    buffer: Buffer,
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
        let (segment, schema) = open(namespace, name, true)?;
        let raw = RawConsumer::new(segment, reading);
        let raw = raw.map_err(|error| TopicError::new(name, error))?;
        let buffer = Buffer::zeroed(raw.max_bytes());
        Ok(Self { raw, schema, buffer, malformed: 0 })
    }

    /// The type of the messages.
    #[must_use]
    pub const fn schema(&self) -> &UntypedSchema {
        &self.schema
    }

    /// The bytes of the next message, or `None` if there is none right now. Never blocks.
    pub fn recv_bytes(&mut self) -> Option<&[u8]> {
        let bytes = self.raw.recv_bytes(self.buffer.as_mut())?;
        Some(&self.buffer.as_ref()[..bytes])
    }

    /// [`Self::recv_bytes`], but waits for a message for up to `timeout`. Blocks.
    pub fn recv_bytes_timeout(&mut self, timeout: Duration) -> Option<&[u8]> {
        let patience = Patience::of(timeout);
        let bytes = self.raw.recv_bytes_until(patience, self.buffer.as_mut())?;
        Some(&self.buffer.as_ref()[..bytes])
    }

    /// What the next message says, or `None` if there is none right now. Never blocks.
    ///
    /// Bytes that are no message are left out and counted, see [`Stats::malformed`].
    pub fn recv(&mut self) -> Option<Value> {
        for _ in 0..super::encoded::MALFORMED_MAX {
            let bytes = self.raw.recv_bytes(self.buffer.as_mut())?;
            match self.schema.decode(&self.buffer.as_ref()[..bytes]) {
                Some(value) => return Some(value),
                None => self.malformed += 1,
            }
        }
        None
    }

    /// Whether this subscriber can still receive.
    ///
    /// # Errors
    ///
    /// Why it never will again: [`RecvError::Forked`] or [`RecvError::RegionLost`].
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
    pub fn send_bytes(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        let request = self.raw.segment().shape().request();
        let (bytes, max) = (message.len() as u64, request.payload_bytes);
        if bytes > max {
            return Err(SendError::TooLong { message: (), bytes, max });
        }
        if bytes < max && !request.sized {
            let reason = format!("{bytes} bytes, and messages of the topic have {max}");
            return Err(SendError::Unencodable { message: (), reason });
        }
        Ok(self.raw.send_bytes(message)?)
    }
}
