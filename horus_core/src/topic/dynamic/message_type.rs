//! Types of messages that are known only at run time.

use horus_shm::{FieldPrefixes, TypeInfo};

use crate::message::{Layout, ParsedSchema, Primitive, Schema, SchemaTextError, fnv1a_128};
use crate::topic::Payload;
use crate::topic::error::WriteError;
use crate::topic::time_fields::TimeFields;
use crate::value::{MSGPACK_SCHEMA, Value};

/// A message type that is known only at run time. Its messages are plain data, which the text of a
/// schema describes; or MessagePack, which describes itself; or bytes that this library does not
/// interpret.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir_in("/dev/shm")?;
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::message::{CmdVel, Message};
/// use horus_core::topic::{DynamicType, Subscriber};
///
/// let mut motors: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
/// let cmd_vel = DynamicType::parse(&CmdVel::SCHEMA.text())?;
/// let mut publisher = cmd_vel.builder("cmd_vel").publisher()?;
/// publisher.send_bytes(&[0; 16])?;
/// assert!(motors.recv().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct DynamicType {
    info: TypeInfo,
    schema: DynamicSchema,
    time_fields: TimeFields,
}

/// The encoding of the messages of a [`DynamicType`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DynamicSchema {
    /// Plain data: the fields that a schema describes and, in some types, data of varying length
    /// after them.
    Plain {
        /// The schema of the message type, which lists the fields.
        schema: Box<ParsedSchema>,
        /// The offsets of the message's fields, which are needed to read and edit a message.
        layout: Layout,
    },
    /// MessagePack: each message describes the types of the values that it contains.
    MessagePack,
    /// Any other encoding: this library treats the messages as plain bytes.
    Unknown,
}

impl DynamicType {
    /// The text that a topic stores instead of a schema if its messages are plain bytes.
    const PLAIN_BYTES_SCHEMA: &str = "horus bytes 1\n";
    /// The alignment, in bytes, of messages whose length varies. It is the same as that of
    /// [`Framed`](crate::message::Framed) messages.
    const VARIABLE_LENGTH_ALIGN_BYTES: u32 = 64;
    /// Initial capacity of a publisher's slots for messages whose length varies, in bytes. Slots
    /// grow when a longer message is sent.
    pub(in crate::topic) const DEFAULT_MAX_MESSAGE_BYTES: u64 = 64 * 1024;

    /// Parses the canonical text of a schema and returns the type that it describes. A message type
    /// that a Rust program declares with `message!` is the same type if its schema has this text.
    ///
    /// # Errors
    ///
    /// Returns [`SchemaTextError`], which names the first line that is not canonical.
    pub fn parse(text: &str) -> Result<Self, SchemaTextError> {
        let schema = Schema::parse(text)?;
        let sized = schema.tail.is_some();
        let growth = schema.field_prefixes();
        Ok(Self::new(TypeInfo {
            name: schema.name.into(),
            schema: text.to_owned().into(),
            hash: fnv1a_128(text.as_bytes()).to_be_bytes(),
            bytes: if sized {
                Self::DEFAULT_MAX_MESSAGE_BYTES
            } else {
                schema.size as u64
            },
            align: if sized {
                Self::VARIABLE_LENGTH_ALIGN_BYTES
            } else {
                schema.align as u32
            },
            sized,
            growth,
        }))
    }

    /// Returns the type of plain bytes: messages of any length that this library does not
    /// interpret.
    #[must_use]
    pub fn bytes() -> Self {
        Self::new(TypeInfo {
            name: "bytes".into(),
            schema: Self::PLAIN_BYTES_SCHEMA.into(),
            hash: fnv1a_128(Self::PLAIN_BYTES_SCHEMA.as_bytes()).to_be_bytes(),
            bytes: Self::DEFAULT_MAX_MESSAGE_BYTES,
            align: Self::VARIABLE_LENGTH_ALIGN_BYTES,
            sized: true,
            growth: FieldPrefixes::default(),
        })
    }

    /// Returns the dynamic type of the messages that the Rust type `T` represents.
    #[must_use]
    pub fn of<T: Payload>() -> Self {
        Self::new(T::type_info())
    }

    /// Returns the message type that `info` describes. A topic stores such type information.
    pub(super) fn new(info: TypeInfo) -> Self {
        let schema = Schema::parse(&info.schema).ok();
        let time_fields = TimeFields::find(|name| u64_field_offset(schema.as_ref()?, name));
        let plain = schema.and_then(|schema| Some((schema.layout().ok()?, schema)));
        let schema = match plain {
            _ if info.schema == MSGPACK_SCHEMA => DynamicSchema::MessagePack,
            Some((layout, schema)) => DynamicSchema::Plain {
                schema: Box::new(schema),
                layout,
            },
            None => DynamicSchema::Unknown,
        };
        Self {
            info,
            schema,
            time_fields,
        }
    }

    /// Returns the name of the message type, without a path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the encoding of the messages: plain data (with the schema), MessagePack or unknown.
    #[must_use]
    pub const fn schema(&self) -> &DynamicSchema {
        &self.schema
    }

    /// Returns the text by which a topic describes this type: the canonical text of the schema. For
    /// a type without a schema, it is a short text that names the encoding.
    #[must_use]
    pub fn schema_text(&self) -> &str {
        &self.info.schema
    }

    /// Returns the hash of [`Self::schema_text`], by which endpoints compare message types.
    #[must_use]
    pub const fn hash(&self) -> u128 {
        u128::from_be_bytes(self.info.hash)
    }

    /// Returns true if messages differ in length, and false if all have one fixed size.
    #[must_use]
    pub const fn has_variable_size(&self) -> bool {
        self.info.sized
    }

    /// Decodes a message; returns `None` if the bytes are not a message of this type.
    #[must_use]
    pub fn decode(&self, message: &[u8]) -> Option<Value> {
        match &self.schema {
            DynamicSchema::Plain { layout, .. } => layout.decode(message).ok(),
            DynamicSchema::MessagePack => Value::decode(message).ok(),
            DynamicSchema::Unknown => Some(Value::Bytes(message.to_vec())),
        }
    }

    /// Encodes `value` as a message of this type.
    ///
    /// # Errors
    ///
    /// Returns [`WriteError::Unencodable`], which names the field of `value` that does not fit.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, WriteError> {
        let encoded = match (&self.schema, value) {
            (DynamicSchema::Plain { layout, .. }, _) => {
                layout.encode(value).map_err(|error| error.to_string())
            }
            (DynamicSchema::MessagePack, _) => {
                value.to_msgpack().map_err(|error| error.to_string())
            }
            (DynamicSchema::Unknown, Value::Bytes(bytes)) => Ok(bytes.clone()),
            (DynamicSchema::Unknown, _) => {
                Err("the topic's type is unknown: send bytes".to_owned())
            }
        };
        encoded.map_err(|reason| WriteError::Unencodable { reason })
    }

    /// Returns the description of this type that a topic stores.
    pub(crate) const fn info(&self) -> &TypeInfo {
        &self.info
    }

    /// Returns a number that orders messages by age: it is greater for the newer one of two
    /// messages.
    pub(super) fn published_ns(&self, message: &[u8]) -> u64 {
        self.time_fields.published_ns(message)
    }
}

impl PartialEq for DynamicType {
    fn eq(&self, other: &Self) -> bool {
        self.info == other.info
    }
}

impl Eq for DynamicType {}

/// Returns the offset in bytes of the field `name`; `None` if there is no `u64` field of this name.
fn u64_field_offset(schema: &ParsedSchema, name: &str) -> Option<usize> {
    let field = schema.fields.iter().find(|field| field.path == name)?;
    let is_u64 = field.shape.primitive == Primitive::U64 && field.shape.count == 1;
    is_u64.then_some(field.shape.offset)
}
