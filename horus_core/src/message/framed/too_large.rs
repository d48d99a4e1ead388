//! The error of converting a message of variable length to one of a fixed size.

/// The message does not fit into the message of a fixed size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLarge {
    /// It has more elements.
    #[error("the message has {found} {of}, and a {message} has room for {limit}")]
    Elements {
        /// The message of a fixed size.
        message: &'static str,
        /// The elements: `ranges` or `joints`.
        of: &'static str,
        /// Number of elements.
        found: usize,
        /// Largest number that fits.
        limit: usize,
    },
    /// A name in it is longer.
    #[error(
        "the name '{name}' has {} bytes, and a {message} has room for {limit}",
        .name.len()
    )]
    Name {
        /// The message of a fixed size.
        message: &'static str,
        /// The name.
        name: String,
        /// Largest length that fits, in bytes.
        limit: usize,
    },
}
