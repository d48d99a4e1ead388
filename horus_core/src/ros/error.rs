//! Errors of writing and reading messages as CDR.

use crate::message::HeaderError;

/// The reason why a message was not written as CDR. The same message always fails again, except for
/// `TooSmall`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdrWriteError {
    /// The buffer is too small.
    #[error("the CDR takes {needed} bytes, there is room for {room}")]
    TooSmall {
        /// Number of bytes of the message as CDR.
        needed: usize,
        /// Length of the caller's buffer, in bytes.
        room: usize,
    },
    /// The message has a count of elements that exceeds the length of its array; or a text or
    /// sequence is longer than CDR can express.
    #[error("`{field}` has {found} {of}, at most {limit} are possible")]
    TooLong {
        /// Name of the field in the ROS type.
        field: &'static str,
        /// Number of elements or bytes.
        found: usize,
        /// Maximum number of elements or bytes.
        limit: usize,
        /// The unit of `found` and `limit`: `elements` or `bytes`.
        of: &'static str,
    },
    /// A text is not UTF-8, or contains a NUL, which ends strings in ROS.
    #[error("`{field}` is not UTF-8, or contains a NUL")]
    Text {
        /// Name of the field in the ROS type.
        field: &'static str,
    },
    /// ROS cannot represent the time: its seconds have 31 bits and end in January 2038.
    #[error(
        "`{field}` is {found_ns} ns after the epoch, ROS's times end at 2147483647.999999999 s"
    )]
    Time {
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The time in nanoseconds since the epoch.
        found_ns: u64,
    },
    /// The ROS type cannot represent the value.
    #[error("`{field}` is {found}, which the ROS type cannot represent")]
    NotRepresentable {
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The value of the field, formatted as text.
        found: String,
    },
    /// The header of a message contradicts itself or its data.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// The reason why bytes are not the CDR of a message. The same bytes always fail again.
///
/// Each `at` is an offset in bytes from the first byte of the encapsulation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdrError {
    /// The first two bytes are the number of an encoding that is not plain CDR. `00 02` and `00 03`
    /// are parameter lists; `00 06` to `00 0b` and `00 10` to `00 15` are XCDR version 2.
    #[error(
        "encapsulation {:02x} {:02x}: only plain CDR is read, which begins with 00 00 or 00 01",
        .found[0],
        .found[1]
    )]
    Encapsulation {
        /// The first two bytes.
        found: [u8; 2],
    },
    /// The bytes end too early, or a length in them exceeds the rest of the input.
    #[error("at byte {at}: at least {wanted} more bytes are needed, {left} are left")]
    Truncated {
        /// Offset of the incomplete value.
        at: usize,
        /// Minimum number of bytes that should follow.
        wanted: usize,
        /// Number of bytes that follow.
        left: usize,
    },
    /// After the message there are more bytes than the padding to a multiple of four.
    #[error("the message ends at byte {at}, and {left} bytes follow")]
    Trailing {
        /// Offset of the end of the message.
        at: usize,
        /// Number of bytes that follow.
        left: usize,
    },
    /// A flag is neither 0 nor 1.
    #[error("at byte {at}: a bool is {found}, expected 0 or 1")]
    Bool {
        /// Offset of the flag.
        at: usize,
        /// The value found.
        found: u8,
    },
    /// The last byte of a string is not NUL.
    #[error("at byte {at}: the last byte of a string is not NUL")]
    Unterminated {
        /// Offset of the last byte of the string.
        at: usize,
    },
    /// A string contains a NUL before its end.
    #[error("at byte {at}: a NUL inside a string")]
    Nul {
        /// Offset of the NUL.
        at: usize,
    },
    /// A string is not UTF-8.
    #[error("at byte {at}: a string that is not UTF-8")]
    Utf8 {
        /// Offset of the first invalid byte.
        at: usize,
    },
    /// A text or sequence is longer than its field in the horus message.
    #[error("at byte {at}: `{field}` has {found} {of}, and {limit} fit")]
    TooLong {
        /// Offset of the text or sequence.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// Number of elements or bytes.
        found: usize,
        /// Maximum number of elements or bytes that fit.
        limit: usize,
        /// The unit of `found` and `limit`: `elements` or `bytes`.
        of: &'static str,
    },
    /// Sequences that must have the same length have different lengths.
    #[error("at byte {at}: `{field}` has {found} elements, where those before it have {wanted}")]
    LengthMismatch {
        /// Offset of the sequence.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// Number of elements of the sequence.
        found: usize,
        /// Number of elements of the sequences before it.
        wanted: usize,
    },
    /// A time is before the epoch, or its nanosecond part is a second or more.
    #[error(
        "at byte {at}: `{field}` is {sec} s and {nanosec} ns, which is not a time since the epoch"
    )]
    Time {
        /// Offset of the time.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The seconds part of the time.
        sec: i32,
        /// The nanoseconds part of the time.
        nanosec: u32,
    },
    /// The horus message cannot represent the value.
    #[error("before byte {at}: `{field}` is {found}, which the horus message cannot represent")]
    NotRepresentable {
        /// Offset of the first byte not read when the error was found.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The value of the field, formatted as text.
        found: String,
    },
    /// The header of a message contradicts itself or its data.
    #[error(transparent)]
    Header(#[from] HeaderError),
}
