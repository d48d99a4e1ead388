//! Why a message has no CDR, and why bytes are not the CDR of a message.

use crate::message::HeaderError;

/// Why a message was not written as CDR. The same message always fails again, but for `TooSmall`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdrWriteError {
    /// The place is too small; with `needed` bytes it would do.
    #[error("the CDR takes {needed} bytes, there is room for {room}")]
    TooSmall {
        /// Bytes that the CDR takes.
        needed: usize,
        /// Bytes that there are.
        room: usize,
    },
    /// The message claims more elements than it has, or a text or sequence is longer than CDR can
    /// count.
    #[error("`{field}` has {found} {of}, at most {limit} can be")]
    TooLong {
        /// ROS's name of the field.
        field: &'static str,
        /// How many there are said to be.
        found: usize,
        /// How many can be.
        limit: usize,
        /// Of what: `elements` or `bytes`.
        of: &'static str,
    },
    /// A text that is not UTF-8, or has a NUL in it, where ROS's strings end.
    #[error("`{field}` is no text: it is not UTF-8, or has a NUL in it")]
    Text {
        /// ROS's name of the field.
        field: &'static str,
    },
    /// A time that ROS cannot say: its seconds have 31 bits and end in January 2038.
    #[error(
        "`{field}` is {found_ns} ns after the epoch, ROS's times end at 2147483647.999999999 s"
    )]
    Time {
        /// ROS's name of the field.
        field: &'static str,
        /// Nanoseconds since the epoch.
        found_ns: u64,
    },
    /// A value for which the ROS type has no place.
    #[error("`{field}` is {found}, for which the ROS type has no place")]
    NoPlace {
        /// ROS's name of the field.
        field: &'static str,
        /// The value.
        found: String,
    },
    /// The fixed part of a message contradicts itself or its data.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// Why bytes are not the CDR of a message of ours. The same bytes always fail again.
///
/// `at` counts from the first byte of the encapsulation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdrError {
    /// The first two bytes name another encoding than plain CDR: `00 02` and `00 03` are parameter
    /// lists, `00 06` to `00 0b` and `00 10` to `00 15` are XCDR version 2.
    #[error(
        "encapsulation {:02x} {:02x}: only plain CDR is read, which begins with 00 00 or 00 01",
        .found[0],
        .found[1]
    )]
    Encapsulation {
        /// What they are.
        found: [u8; 2],
    },
    /// The bytes end too early, or something claims to be longer than they are.
    #[error("at byte {at}: at least {wanted} more bytes are due, {left} are left")]
    Truncated {
        /// Where what is incomplete begins.
        at: usize,
        /// The fewest bytes that would have to follow.
        wanted: usize,
        /// How many do.
        left: usize,
    },
    /// More follows the message than the bytes that fill it up to a multiple of four.
    #[error("the message ends at byte {at}, and {left} bytes follow")]
    Trailing {
        /// Where the message ends.
        at: usize,
        /// Bytes that follow.
        left: usize,
    },
    /// A flag that is neither 0 nor 1.
    #[error("at byte {at}: a bool of {found}, where 0 or 1 is due")]
    Bool {
        /// Where it is.
        at: usize,
        /// What it is.
        found: u8,
    },
    /// A string whose last byte is not NUL.
    #[error("at byte {at}: the last byte of a string, which is not NUL")]
    Unterminated {
        /// Where that byte is.
        at: usize,
    },
    /// A string with a NUL before its end.
    #[error("at byte {at}: a NUL inside a string")]
    Nul {
        /// Where that byte is.
        at: usize,
    },
    /// A string that is not UTF-8.
    #[error("at byte {at}: a string that is not UTF-8")]
    Utf8 {
        /// Where the first wrong byte is.
        at: usize,
    },
    /// A text or sequence that is longer than its place in our message.
    #[error("at byte {at}: `{field}` has {found} {of}, and {limit} fit")]
    TooLong {
        /// Where it begins.
        at: usize,
        /// ROS's name of the field.
        field: &'static str,
        /// How many there are.
        found: usize,
        /// How many fit.
        limit: usize,
        /// Of what: `elements` or `bytes`.
        of: &'static str,
    },
    /// Sequences of one message that belong together have different lengths.
    #[error("at byte {at}: `{field}` has {found} elements, where those before it have {wanted}")]
    Uneven {
        /// Where the sequence begins.
        at: usize,
        /// ROS's name of the field.
        field: &'static str,
        /// How many elements it has.
        found: usize,
        /// How many those before it have.
        wanted: usize,
    },
    /// A time before the epoch, or with a second or more of nanoseconds.
    #[error(
        "at byte {at}: `{field}` is {sec} s and {nanosec} ns, which is no time since the epoch"
    )]
    Time {
        /// Where it begins.
        at: usize,
        /// ROS's name of the field.
        field: &'static str,
        /// Its seconds.
        sec: i32,
        /// Its nanoseconds.
        nanosec: u32,
    },
    /// A value for which our message has no place.
    #[error("before byte {at}: `{field}` is {found}, for which our message has no place")]
    NoPlace {
        /// How far it was read.
        at: usize,
        /// ROS's name of the field.
        field: &'static str,
        /// The value.
        found: String,
    },
    /// The fixed part of a message contradicts itself or its data.
    #[error(transparent)]
    Header(#[from] HeaderError),
}
