//! The error of converting a message of variable length to one of a fixed size.

/// The reason why a message of variable length does not fit into a message of a fixed size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLarge {
    /// The message has more elements than the message of a fixed size has room for.
    #[error("the message has {found} {of}, and a {message} has room for {limit}")]
    Elements {
        /// Name of the message type of a fixed size, such as `LaserScan`.
        message: &'static str,
        /// The word for the elements in the error text: `ranges` or `joints`.
        of: &'static str,
        /// Number of elements of the message of variable length.
        found: usize,
        /// The most elements that the fixed-size message can hold.
        limit: usize,
    },
    /// A name in the message is longer than its field in the message of a fixed size.
    #[error(
        "the name '{name}' has {} bytes, and a {message} has room for {limit}",
        .name.len()
    )]
    Name {
        /// Name of the message type of a fixed size, such as `LaserScan`.
        message: &'static str,
        /// The name that is too long.
        name: String,
        /// Maximum length of the name that fits, in bytes.
        limit: usize,
    },
}
