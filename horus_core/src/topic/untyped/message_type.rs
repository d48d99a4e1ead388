//! Types of messages that are known when the program runs.

use horus_shm::TypeInfo;

use crate::message::{Schema, SchemaTextError, fnv1a_128};
use crate::topic::Payload;

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
    pub(in crate::topic) fn into_info(self) -> TypeInfo {
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
