//! Errors of writing and reading messages as CDR.

use crate::message::HeaderError;

/// The reason why a message was not written as CDR. The same message always fails again, except for
/// `TooSmall`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdrWriteError {
    /// The caller's buffer is too small for the message.
    #[error("the CDR takes {needed} bytes, there is room for {room}")]
    TooSmall {
        /// Number of bytes that the message takes as CDR.
        needed: usize,
        /// Length of the caller's buffer, in bytes.
        room: usize,
    },
    /// The count of elements in the message exceeds the length of the array that it counts; or a
    /// text or sequence is longer than CDR can express.
    #[error("`{field}` has {found} {of}, at most {limit} are possible")]
    TooLong {
        /// Name of the field in the ROS type.
        field: &'static str,
        /// Number of elements or bytes that the field has.
        found: usize,
        /// Maximum number of elements or bytes that the field may have.
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
    /// ROS cannot represent the time: the seconds of a time in ROS have 31 bits, and end in January
    /// 2038.
    #[error(
        "`{field}` is {found_ns} ns after the epoch, ROS's times end at 2147483647.999999999 s"
    )]
    Time {
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The time in the message, in nanoseconds since the epoch.
        found_ns: u64,
    },
    /// The ROS type cannot represent the value of a field.
    #[error("`{field}` is {found}, which the ROS type cannot represent")]
    NotRepresentable {
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The value of the field, formatted as text.
        found: String,
    },
    /// The fields of a message's header contradict each other, or do not match its data.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// The reason why bytes are not the CDR of a message. The same bytes always fail again.
///
/// Each `at` is an offset in bytes from the start of the input, where the encapsulation begins.
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
        /// The two bytes that were found.
        found: [u8; 2],
    },
    /// The bytes end too early, or a length in them exceeds the rest of the input.
    #[error("at byte {at}: at least {wanted} more bytes are needed, {left} are left")]
    Truncated {
        /// Offset of the incomplete value from the start of the input, in bytes.
        at: usize,
        /// Minimum number of bytes that the value still needs.
        wanted: usize,
        /// Number of bytes that are left in the input.
        left: usize,
    },
    /// After the message there are more bytes than the padding to a multiple of four.
    #[error("the message ends at byte {at}, and {left} bytes follow")]
    Trailing {
        /// Offset of the end of the message from the start of the input, in bytes.
        at: usize,
        /// Number of bytes that follow after the message.
        left: usize,
    },
    /// The byte of a boolean is neither 0 nor 1.
    #[error("at byte {at}: a bool is {found}, expected 0 or 1")]
    Bool {
        /// Offset of the boolean from the start of the input, in bytes.
        at: usize,
        /// The value of the invalid byte: neither 0 nor 1.
        found: u8,
    },
    /// The last byte of a string is not NUL.
    #[error("at byte {at}: the last byte of a string is not NUL")]
    Unterminated {
        /// Offset of the last byte of the string from the start of the input.
        at: usize,
    },
    /// A string contains a NUL before its last byte.
    #[error("at byte {at}: a NUL inside a string")]
    Nul {
        /// Offset of the NUL from the start of the input, in bytes.
        at: usize,
    },
    /// A string is not UTF-8.
    #[error("at byte {at}: a string that is not UTF-8")]
    Utf8 {
        /// Offset of the first invalid byte from the start of the input.
        at: usize,
    },
    /// A text or sequence is longer than its field in the horus message.
    #[error("at byte {at}: `{field}` has {found} {of}, and {limit} fit")]
    TooLong {
        /// Offset of the text or sequence from the start of the input, in bytes.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// Number of elements or bytes that were found.
        found: usize,
        /// Maximum number of elements or bytes for which the field has room.
        limit: usize,
        /// The unit of `found` and `limit`: `elements` or `bytes`.
        of: &'static str,
    },
    /// Sequences that must have the same length have different lengths.
    #[error("at byte {at}: `{field}` has {found} elements, where those before it have {wanted}")]
    LengthMismatch {
        /// Offset from the start of the input, in bytes, of the sequence whose length differs.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// Number of elements of the sequence whose length differs.
        found: usize,
        /// Number of elements of the sequences that were read before it.
        wanted: usize,
    },
    /// A time is before the epoch, or its nanosecond part is a second or more.
    #[error(
        "at byte {at}: `{field}` is {sec} s and {nanosec} ns, which is not a time since the epoch"
    )]
    Time {
        /// Offset of the time from the start of the input, in bytes.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The seconds part of the time, as found in the input.
        sec: i32,
        /// The nanoseconds part of the time, as found in the input.
        nanosec: u32,
    },
    /// The horus message cannot represent the value of a field.
    #[error("before byte {at}: `{field}` is {found}, which the horus message cannot represent")]
    NotRepresentable {
        /// Offset of the first byte after the value from the start of the input.
        at: usize,
        /// Name of the field in the ROS type.
        field: &'static str,
        /// The value of the field, formatted as text.
        found: String,
    },
    /// The fields of a message's header contradict each other, or do not match its data.
    #[error(transparent)]
    Header(#[from] HeaderError),
}
