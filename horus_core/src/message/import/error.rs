//! Reasons why a `.msg` file was not imported.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a `.msg` file was not imported. The error text says what to do.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A `.msg` file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path of the file that could not be read.
        path: PathBuf,
        /// The system error, or an error because the content is not UTF-8.
        source: io::Error,
    },
    /// A file with generated code could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path of the file that could not be written.
        path: PathBuf,
        /// The error that the operating system reported.
        source: io::Error,
    },
    /// A directory in which to look for messages does not exist, or is a file.
    #[error(
        "the directory {} in which to look for messages does not exist, or is a file: correct its \
         path, or leave it out",
        path.display()
    )]
    Directory {
        /// The path of the directory, as the caller gave it.
        path: PathBuf,
    },
    /// A field or constant cannot be represented in a message, or its line is not valid in a `.msg`
    /// file.
    #[error("{}:{line}: '{field}': {reason}", path.display())]
    Line {
        /// The path of the `.msg` file.
        path: PathBuf,
        /// Number of the faulty line, counted from 1.
        line: usize,
        /// The name of the field or constant, or the whole line if it has none.
        field: String,
        /// A description of what was found, what is wanted, and what to do.
        reason: String,
    },
    /// A message cannot be represented, for a reason that does not concern a single line of its
    /// file.
    #[error("{}: message '{message}': {reason}", path.display())]
    Message {
        /// The path of the `.msg` file that declares the message.
        path: PathBuf,
        /// The name of the message.
        message: String,
        /// A description of what was found, what is wanted, and what to do.
        reason: String,
    },
    /// A bound was given for a field that does not exist, or that does not need one.
    #[error(
        "the bound of '{field}' was not used: no imported message has an array or a string without \
         a bound there; write it as Message.field"
    )]
    UnusedBound {
        /// The name of the field, as the caller gave it.
        field: String,
    },
}

impl ImportError {
    pub(super) fn new_for_line(
        path: &Path,
        line: usize,
        field: &str,
        reason: impl Into<String>,
    ) -> Self {
        Self::Line {
            path: path.to_owned(),
            line,
            field: excerpt(field),
            reason: reason.into(),
        }
    }

    pub(super) fn new_for_message(path: &Path, message: &str, reason: impl Into<String>) -> Self {
        Self::Message {
            path: path.to_owned(),
            message: excerpt(message),
            reason: reason.into(),
        }
    }
}

const EXCERPT_CHARACTERS_MAX: usize = 80;

/// Returns the text without control characters. A text that is too long for an error is truncated.
pub(super) fn excerpt(text: &str) -> String {
    let visible = text.chars().filter(|character| !character.is_control());
    let mut cut: String = visible.take(EXCERPT_CHARACTERS_MAX + 1).collect();
    if let Some((end, _)) = cut.char_indices().nth(EXCERPT_CHARACTERS_MAX) {
        cut.truncate(end);
        cut.push('…');
    }
    cut
}
