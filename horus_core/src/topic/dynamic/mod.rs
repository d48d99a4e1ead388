//! Endpoints for programs that learn a topic's type from the topic: tools, recorders, bridges.

mod builder;
mod message_type;
mod publisher;
mod subscriber;

use std::sync::Arc;

use horus_shm::{Namespace, OpenError, Request, Segment, TopicName, TypeInfo};

pub use builder::UntypedBuilder;
pub use message_type::MessageType;
pub use publisher::UntypedPublisher;
pub use subscriber::UntypedSubscriber;

use crate::message::{Layout, ParsedSchema, Schema};
use crate::topic::error::{TopicError, WriteError};
use crate::value::{MSGPACK_SCHEMA, Value};

/// The type of a topic's messages, as it is stored in the topic.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UntypedSchema {
    /// Plain data, of a fixed size or with a tail.
    Plain {
        /// The fields.
        schema: ParsedSchema,
        /// The offsets of the fields, to read and edit them.
        layout: Layout,
    },
    /// MessagePack: each message describes itself.
    MessagePack,
    /// None of these: the type text that the topic has instead. Its messages are bytes.
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

    /// Decodes a message; `None` if the bytes are not a message of this type.
    #[must_use]
    pub fn decode(&self, message: &[u8]) -> Option<Value> {
        match self {
            Self::Plain { layout, .. } => layout.decode(message).ok(),
            Self::MessagePack => Value::decode(message).ok(),
            Self::Unknown(_) => Some(Value::Bytes(message.to_vec())),
        }
    }

    /// Encodes this value as a message.
    ///
    /// # Errors
    ///
    /// [`WriteError::Unencodable`] names the field that does not fit.
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

/// Opens the topic `name`, which must exist, with the type that it has.
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
