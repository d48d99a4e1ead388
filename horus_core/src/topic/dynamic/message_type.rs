//! Types of messages that are known only at run time.

use horus_shm::TypeInfo;

use crate::message::{Schema, SchemaTextError, fnv1a_128};
use crate::topic::Payload;

/// A message type that is known only at run time: the text of a schema, or plain bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageType(TypeInfo);

impl MessageType {
    /// The type text of plain bytes; it is not a schema.
    const BYTES: &str = "horus bytes 1\n";
    /// The alignment of messages with their own length, as for [`Framed`](crate::message::Framed).
    const SIZED_ALIGN: u32 = 64;
    /// The default length of the longest message in bytes.
    const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

    /// Parses the type that this canonical text describes. It is the same as the type of a Rust
    /// program whose `message!` has this text.
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

    /// Returns the type information that the topic stores.
    pub(in crate::topic) fn into_info(self) -> TypeInfo {
        self.0
    }

    /// Returns the type of plain bytes: messages of any length that this library does not
    /// interpret.
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

    /// Returns the type of the messages of a Rust type.
    #[must_use]
    pub fn of<T: Payload>() -> Self {
        Self(T::type_info())
    }
}
