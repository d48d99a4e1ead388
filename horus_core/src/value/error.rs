//! Why a value could not be encoded or decoded.

use super::{DEPTH_MAX, TYPED_ARRAY_EXT, TypedArrayError};

/// Why a value was not encoded. What was written before is to be thrown away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The place is too small; with `needed` bytes it would do.
    #[error("the encoded value takes {needed} bytes, there is room for {room}")]
    TooSmall {
        /// Bytes that the encoded value takes.
        needed: usize,
        /// Bytes that there are.
        room: usize,
    },
    /// Arrays and maps are nested too deep, so that no receiver would accept it.
    #[error("more than {DEPTH_MAX} arrays and maps are nested")]
    TooDeep,
    /// More elements, pairs or bytes than 32 bits can count.
    #[error("{count} {of} in one value, MessagePack counts at most 4294967295")]
    TooLong {
        /// How many there are.
        count: usize,
        /// Of what.
        of: &'static str,
    },
    /// An [`Ext`](super::Value::Ext) with the number of typed arrays.
    #[error("extension {TYPED_ARRAY_EXT} is for typed arrays: use `Value::Typed`")]
    ReservedExt,
    /// A typed array of a shape that there is not.
    #[error("a typed array with {problem}")]
    TypedArray {
        /// What is wrong with it.
        problem: TypedArrayError,
    },
    /// The type refused to be serialized, or described itself wrongly.
    #[error("it cannot be serialized: {message}")]
    Type {
        /// What `serde` says.
        message: String,
    },
}

/// Why bytes are not the MessagePack of one value. The same bytes always fail again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end too early, or something claims to be longer than they are.
    #[error("at byte {at}: at least {wanted} more bytes are due, {left} are left")]
    Truncated {
        /// Where the value begins that is incomplete.
        at: usize,
        /// The fewest bytes that would have to follow.
        wanted: usize,
        /// How many do.
        left: usize,
    },
    /// Something follows the value.
    #[error("the value ends at byte {at}, and {left} bytes follow")]
    Trailing {
        /// Where the value ends.
        at: usize,
        /// Bytes that follow.
        left: usize,
    },
    /// Arrays and maps are nested too deep.
    #[error("at byte {at}: more than {DEPTH_MAX} arrays and maps are nested")]
    TooDeep {
        /// Where the innermost begins.
        at: usize,
    },
    /// The byte `0xc1`, which MessagePack does not use.
    #[error("at byte {at}: 0xc1, which begins no value of MessagePack")]
    Reserved {
        /// Where it is.
        at: usize,
    },
    /// A string is not UTF-8.
    #[error("at byte {at}: a string that is not UTF-8")]
    Utf8 {
        /// Where the first wrong byte is.
        at: usize,
    },
    /// The extension of typed arrays with another content.
    #[error("at byte {at}: a typed array with {problem}")]
    TypedArray {
        /// Where the value begins.
        at: usize,
        /// What is wrong with it.
        problem: TypedArrayError,
    },
    /// A value, but not of the type that was asked for.
    #[error("before byte {at}: not a value of the type asked for: {message}")]
    Type {
        /// How far it was read.
        at: usize,
        /// What `serde` says.
        message: String,
    },
}
