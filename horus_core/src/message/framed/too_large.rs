//! The error of converting a message of variable length to one of a fixed size.

/// The message does not fit into the message of a fixed size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLarge {
    /// The message has more elements than fit.
    #[error("the message has {found} {of}, and a {message} has room for {limit}")]
    Elements {
        /// Name of the message of a fixed size.
        message: &'static str,
        /// The elements: `ranges` or `joints`.
        of: &'static str,
        /// Number of elements.
        found: usize,
        /// Largest number that fits.
        limit: usize,
    },
    /// A name in the message is longer than its field in the message of a fixed size.
    #[error(
        "the name '{name}' has {} bytes, and a {message} has room for {limit}",
        .name.len()
    )]
    Name {
        /// Name of the message of a fixed size.
        message: &'static str,
        /// The name that is too long.
        name: String,
        /// Largest length that fits, in bytes.
        limit: usize,
    },
}
