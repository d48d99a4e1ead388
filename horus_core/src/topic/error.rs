//! Errors of topics and their endpoints.

use std::fmt;

pub use horus_shm::{
    BorrowError, LaneNotMapped, LoanError, Mismatch, OpenError, RecvError, SendError, TopicLabel,
};

use crate::message::{SchemaDifference, first_difference};

/// The reasons why a topic could not be opened. A failed open leaves nothing behind.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The topic was created with a message type that differs from that of the endpoint, and the
    /// endpoint is [strict](crate::topic::Qos::strict). The error names the first field that
    /// differs.
    #[error(
        "topic '{}' carries another message: {difference}",
        escape_controls(topic)
    )]
    SchemaMismatch {
        /// The name of the topic that could not be opened.
        topic: String,
        /// The first difference between the message types of the topic and the endpoint.
        difference: Box<SchemaDifference>,
    },
    /// The topic could not be opened for a reason that does not concern the message type.
    #[error("topic '{}': {cause}", escape_controls(topic))]
    Open {
        /// The name of the topic that could not be opened.
        topic: String,
        /// The reason why the topic could not be opened.
        cause: Box<OpenError>,
    },
}

impl TopicError {
    pub(crate) fn new(topic: &str, error: OpenError) -> Self {
        let topic = topic.to_owned();
        match error {
            OpenError::SchemaMismatch { wanted, found, .. } => {
                let difference = first_difference(&wanted.schema, &found.schema);
                Self::SchemaMismatch {
                    topic,
                    difference: Box::new(difference),
                }
            }
            OpenError::Shape(mut error) => {
                error.field = qos_setting_name(error.field);
                Self::Open {
                    topic,
                    cause: Box::new(OpenError::Shape(error)),
                }
            }
            error => Self::Open {
                topic,
                cause: Box::new(error),
            },
        }
    }

    /// Returns the reason why the topic could not be opened. Returns `None` if the message types
    /// differ.
    #[must_use]
    pub fn as_open_error(&self) -> Option<&OpenError> {
        match self {
            Self::Open { cause, .. } => Some(cause),
            Self::SchemaMismatch { .. } => None,
        }
    }
}

/// Returns `name` with control characters, and characters that change the direction of text,
/// replaced by escapes, so that a terminal shows them and does not execute them.
fn escape_controls(name: &str) -> String {
    let is_obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}')
    };
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if is_obeyed(c) {
            text.extend(c.escape_default())
        } else {
            text.push(c)
        }
    }
    text
}

/// The reasons why a lent slot was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishLentError {
    /// The message in the lent slot does not fit the topic. The slot is still lent.
    #[error(transparent)]
    Send(#[from] SendError<()>),
    /// No slot is lent, or the topic can no longer be used.
    #[error(transparent)]
    Loan(#[from] LoanError),
}

/// The reasons why a message cannot be encoded into a slot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The slot is too short for the message.
    #[error("the message is too long: it has {bytes} bytes, more than the slot")]
    TooLong {
        /// Length of the encoded message in bytes.
        bytes: u64,
    },
    /// The message cannot be encoded.
    #[error("{reason}")]
    Unencodable {
        /// The reason why the message cannot be encoded.
        reason: String,
    },
}

impl WriteError {
    /// Converts this error to the error of a send to `topic`, whose slots have `slot_bytes` bytes.
    pub(crate) fn into_send_error(self, topic: TopicLabel, slot_bytes: usize) -> SendError<()> {
        let message = ();
        let max = slot_bytes as u64;
        match self {
            Self::TooLong { bytes } => SendError::TooLong {
                topic,
                message,
                bytes,
                max,
            },
            Self::Unencodable { reason } => SendError::Unencodable {
                topic,
                message,
                reason,
            },
        }
    }
}

/// The reasons why no message was received in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvTimeoutError {
    /// No message came before the timeout. Transient: try again.
    #[error("{topic}: no message came in time{}", no_publisher_note(*has_publisher))]
    Timeout {
        /// The topic from which no message came.
        topic: TopicLabel,
        /// True if the topic had a live publisher when the wait ended. Otherwise, its name may be
        /// misspelt.
        has_publisher: bool,
    },
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic of the inherited handle.
        topic: TopicLabel,
    },
    /// The topic's memory is lost: its file was truncated, or the program closed descriptors of
    /// this library. Permanent: open the topic again.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic whose memory is lost.
        topic: TopicLabel,
    },
    /// The memory of a publisher's lane cannot be mapped, and no other lane has a message.
    /// Transient: each call tries again, ten times a second at most.
    #[error("{topic}: {cause}; each call that receives tries again, ten times a second at most")]
    LaneNotMapped {
        /// The topic with the lane that cannot be mapped.
        topic: TopicLabel,
        /// The lane that cannot be mapped, and the reason.
        cause: LaneNotMapped,
    },
    /// No live publisher offers what this subscriber requests. Transient: a publisher that offers
    /// enough may join later.
    #[error("{topic}: {cause}{}", note_in_parentheses(*difference))]
    Incompatible {
        /// The topic whose publishers do not match this subscriber.
        topic: TopicLabel,
        /// Index of the lane of one of the publishers that do not match.
        lane: u32,
        /// The reason why that publisher does not match this subscriber.
        cause: Mismatch,
        /// The text of [`schema_difference`](crate::topic::Subscriber::schema_difference): the
        /// first difference between the message types. `None` if it is not known, and for a
        /// subscriber whose type is chosen at run time.
        difference: Option<&'static str>,
    },
    /// The namespace of the topic was removed or replaced. Permanent: open the namespace and the
    /// topic again.
    #[error(
        "{topic}: its namespace was removed or replaced: drop all handles, open the namespace \
         again, and then the topic"
    )]
    NamespaceRemoved {
        /// The topic whose namespace was removed or replaced.
        topic: TopicLabel,
    },
    /// The file of the topic was removed or replaced, and this subscriber cannot use the file that
    /// now has this name. Transient: calls that receive try again ten times a second at most.
    #[error(
        "{topic}: its file was removed or replaced, and the present one cannot be used: {}: remove \
         that, or free what is missing",
        std::io::Error::from_raw_os_error(*errno)
    )]
    NameLost {
        /// The topic whose file was removed or replaced.
        topic: TopicLabel,
        /// The number of the system error, as in `errno`, that occurred when the present file was
        /// opened.
        errno: i32,
    },
}

impl RecvTimeoutError {
    /// Returns the label of the topic from which no message was received.
    #[must_use]
    pub const fn topic(&self) -> TopicLabel {
        match self {
            Self::Timeout { topic, .. }
            | Self::Forked { topic }
            | Self::RegionLost { topic }
            | Self::LaneNotMapped { topic, .. }
            | Self::Incompatible { topic, .. }
            | Self::NamespaceRemoved { topic }
            | Self::NameLost { topic, .. } => *topic,
        }
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(error: RecvError) -> Self {
        let topic = error.topic();
        match error {
            RecvError::RegionLost { .. } => Self::RegionLost { topic },
            RecvError::LaneNotMapped { cause, .. } => Self::LaneNotMapped { topic, cause },
            RecvError::Incompatible {
                lane,
                cause,
                difference,
                ..
            } => Self::Incompatible {
                topic,
                lane,
                cause,
                difference,
            },
            RecvError::NamespaceRemoved { .. } => Self::NamespaceRemoved { topic },
            RecvError::NameLost { errno, .. } => Self::NameLost { topic, errno },
            _ => Self::Forked { topic },
        }
    }
}

/// Returns the end of the text about a wait that no message has ended.
const fn no_publisher_note(has_publisher: bool) -> &'static str {
    if has_publisher {
        ""
    } else {
        ", and the topic has no publisher: start it, or compare the names"
    }
}

/// Returns the end of a text: `note` in parentheses, or nothing.
fn note_in_parentheses(note: Option<&str>) -> String {
    note.map_or_else(String::new, |note| format!(" ({note})"))
}

/// The two kinds of endpoints of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// An endpoint that publishes messages.
    Publisher,
    /// An endpoint that receives messages, and is not an observer.
    Subscriber,
}

impl fmt::Display for EndpointKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Publisher => "publisher",
            Self::Subscriber => "subscriber",
        })
    }
}

/// The reasons why the endpoints of a topic cannot be determined. All are permanent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The handle was inherited through `fork`: open a new one in the child.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic of the inherited handle.
        topic: TopicLabel,
    },
    /// The topic's memory is lost: its file was truncated, or the program closed descriptors of
    /// this library. Open the topic again.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic whose memory is lost.
        topic: TopicLabel,
    },
}

/// The reasons why a wait for publishers or subscribers ended without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointWaitError {
    /// Too few endpoints joined before the timeout. Transient: try again.
    #[error("{topic}: not enough {kind}s came in time: found {found}, wanted {wanted}")]
    Timeout {
        /// The topic to which too few endpoints were added.
        topic: TopicLabel,
        /// The kind of endpoints that the call waited for.
        kind: EndpointKind,
        /// Number of endpoints that the topic had at the last count.
        found: usize,
        /// Number of endpoints that the call waited for.
        wanted: usize,
    },
    /// The topic can never have as many endpoints as the call waits for. Permanent: wait for fewer.
    #[error("{topic}: {wanted} {kind}s can never be there: the topic has room for {limit}")]
    TooMany {
        /// The topic that cannot have so many endpoints.
        topic: TopicLabel,
        /// The kind of endpoints that the call waited for.
        kind: EndpointKind,
        /// Number of endpoints that the call waited for.
        wanted: usize,
        /// The maximum number of endpoints of this kind in the topic, not counting the caller's
        /// own.
        limit: usize,
    },
    /// This process cannot determine which publishers and subscribers the topic has: it is a forked
    /// child, or the topic's memory is lost. Permanent.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// The error for a wait set that is full and takes no more entries of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a wait set holds at most {limit} {kind}: divide them among several sets and threads")]
pub struct WaitSetFull {
    /// The kind of entry of which the set has the maximum number: topics or intervals.
    pub kind: &'static str,
    /// The maximum number of entries of this kind in a wait set.
    pub limit: usize,
}

/// The reasons why a wait set cannot wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The set is empty, so that nothing would end the wait.
    #[error("the set is empty, so nothing would end the wait: add a subscriber or an interval")]
    Empty,
    /// A subscriber was inherited through `fork`. Permanent: open new ones in the child.
    #[error("the set belongs to the parent process: make a new one after fork")]
    Forked,
}

/// Returns the name of the setting in [`Qos`](crate::topic::Qos) that determines `field`, a field
/// of the settings of the crate `horus_shm`.
fn qos_setting_name(field: &'static str) -> &'static str {
    match field {
        "lane_limit" => "publishers_max",
        "reader_limit" => "subscribers_max",
        "payload_bytes" => "the length of a message (max_message_bytes)",
        "payload_align" => "the alignment of a message",
        field => field,
    }
}
