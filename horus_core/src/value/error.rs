//! Errors of encoding and decoding values.

use super::{DEPTH_MAX, TYPED_ARRAY_EXT, TypedArrayError};

/// The reason why a value was not encoded. Discard the bytes that were already written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The caller's buffer is too small for the encoded value.
    #[error("the encoded value takes {needed} bytes, there is room for {room}")]
    TooSmall {
        /// Number of bytes that the encoded value takes.
        needed: usize,
        /// Length of the caller's buffer, in bytes.
        room: usize,
    },
    /// Arrays and maps are nested too deeply, so that no receiver would accept the value.
    #[error("more than {DEPTH_MAX} arrays and maps are nested")]
    TooDeep,
    /// An array, map, text or sequence of bytes is longer than MessagePack can express in 32 bits.
    #[error("{count} {of} in one value, MessagePack counts at most 4294967295")]
    TooLong {
        /// Number of elements, pairs or bytes that were found.
        count: usize,
        /// The unit of `count`: elements, pairs or bytes.
        of: &'static str,
    },
    /// A [`Value::Ext`](super::Value::Ext) has the extension number that is reserved for typed
    /// arrays.
    #[error("extension {TYPED_ARRAY_EXT} is for typed arrays: use `Value::Typed`")]
    ReservedExt,
    /// The shape of a typed array is invalid.
    #[error("a typed array with {problem}")]
    TypedArray {
        /// The reason why the array is invalid.
        problem: TypedArrayError,
    },
    /// The `Serialize` implementation of a type returned an error, or announced a wrong number of
    /// elements.
    #[error("the value cannot be serialized: {message}")]
    Type {
        /// The text of the error that the type reported through `serde`.
        message: String,
    },
}

/// The reason why bytes are not the MessagePack of one value. The same bytes always fail again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end too early, or a length in them exceeds the rest of the input.
    #[error("at byte {at}: at least {wanted} more bytes are needed, {left} are left")]
    Truncated {
        /// Offset of the incomplete value from the start of the input, in bytes.
        at: usize,
        /// Minimum number of bytes that are still needed: by the incomplete value, and one for each
        /// value that must follow it.
        wanted: usize,
        /// Number of bytes that are left in the input.
        left: usize,
    },
    /// More bytes follow after the end of the value.
    #[error("the value ends at byte {at}, and {left} bytes follow")]
    Trailing {
        /// Offset of the end of the value from the start of the input, in bytes.
        at: usize,
        /// Number of bytes that follow after the value.
        left: usize,
    },
    /// Arrays and maps in the input are nested more deeply than is allowed.
    #[error("at byte {at}: more than {DEPTH_MAX} arrays and maps are nested")]
    TooDeep {
        /// Offset from the start of the input of the array or map that is nested too deeply, in
        /// bytes.
        at: usize,
    },
    /// The input has the byte `0xc1`, which MessagePack does not use.
    #[error("at byte {at}: 0xc1, which is not used by MessagePack")]
    Reserved {
        /// Offset of the byte `0xc1` from the start of the input.
        at: usize,
    },
    /// The bytes of a string are not valid UTF-8.
    #[error("at byte {at}: a string that is not UTF-8")]
    Utf8 {
        /// Offset of the first invalid byte from the start of the input.
        at: usize,
    },
    /// The payload of a typed array in the input is invalid.
    #[error("at byte {at}: a typed array with {problem}")]
    TypedArray {
        /// Offset of the typed array from the start of the input, in bytes.
        at: usize,
        /// The reason why the array is invalid.
        problem: TypedArrayError,
    },
    /// The input is valid MessagePack, but not a value of the requested type.
    #[error("before byte {at}: not a value of the requested type: {message}")]
    Type {
        /// Offset of the first byte that had not been read when the error was found.
        at: usize,
        /// The text of the error that the type reported through `serde`.
        message: String,
    },
}
