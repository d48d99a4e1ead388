//! Names of topics and namespaces: their grammar, and the file name of a topic.
//!
//! ```text
//! topic      = token *( ( "/" / "." ) token )     at most 200 bytes, one leading "/" ignored
//! namespace  = token                              at most 64 bytes
//! token      = 1*( A-Z / a-z / 0-9 / "_" / "-" )
//! ```
//!
//! A topic is one file. Its file name is the topic's name, with each `/` written as `+`, which no
//! topic name contains. So the encoding can be reversed, and keeps the length. No token is empty,
//! so no file name is `.`, `..` or hidden.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Longest topic name, in bytes, after the leading slash is stripped.
pub(crate) const TOPIC_NAME_BYTES_MAX: usize = 200;

/// Longest namespace name, in bytes.
pub(crate) const NAMESPACE_NAME_BYTES_MAX: usize = 64;

/// The character that stands for `/` in the name of a topic's file.
const SLASH_IN_FILE_NAMES: &str = "+";

/// The name of a topic, checked and without a leading slash, and the name of its file.
///
/// ```
/// # use horus_shm::TopicName;
/// let name = TopicName::new("/arm/joint.cmd")?;
/// assert_eq!(name.as_str(), "arm/joint.cmd");
/// assert_eq!(TopicName::from_file_name(name.file_name())?, name);
/// # Ok::<(), horus_shm::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicName {
    name: Box<str>,
    file_name: Box<str>,
}

impl TopicName {
    /// Checks `name`, and strips one leading slash.
    ///
    /// # Errors
    ///
    /// [`NameError`] with the fault and the index of its byte.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let start = usize::from(name.starts_with('/'));
        check_name(name, start, NameKind::Topic)?;
        let name: Box<str> = name[start..].into();
        let file_name = name.replace('/', SLASH_IN_FILE_NAMES).into();
        Ok(Self { name, file_name })
    }

    /// Returns the topic whose file is called `file_name`: the inverse of [`TopicName::file_name`].
    ///
    /// # Errors
    ///
    /// [`NameError`] if no topic has a file of this name.
    pub fn from_file_name(file_name: &str) -> Result<Self, NameError> {
        if let Some(at) = file_name.find('/') {
            let name = file_name.into();
            return Err(NameError::BadCharacter {
                kind: NameKind::File,
                name,
                character: '/',
                at,
            });
        }
        let name = file_name.replace(SLASH_IN_FILE_NAMES, "/");
        check_name(&name, 0, NameKind::File)?;
        Ok(Self {
            name: name.into(),
            file_name: file_name.into(),
        })
    }

    /// Returns the name, without a leading slash.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the name of the topic's file: one path component of at most 200 bytes.
    pub fn file_name(&self) -> &str {
        &self.file_name
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for TopicName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::new(name)
    }
}

/// A checked name of a namespace, which is also the name of its directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamespaceName(Box<str>);

impl NamespaceName {
    /// Checks `name`.
    ///
    /// # Errors
    ///
    /// [`NameError`] with the fault and the index of its byte.
    pub fn new(name: &str) -> Result<Self, NameError> {
        check_name(name, 0, NameKind::Namespace)?;
        Ok(Self(name.into()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for NamespaceName {
    /// Returns `default`, the namespace of a user who chose none.
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for NamespaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for NamespaceName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::new(name)
    }
}

/// The kind of object that has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameKind {
    /// A topic.
    Topic,
    /// A namespace.
    Namespace,
    /// The file of a topic.
    File,
}

impl NameKind {
    fn bytes_max(self) -> usize {
        match self {
            Self::Topic | Self::File => TOPIC_NAME_BYTES_MAX,
            Self::Namespace => NAMESPACE_NAME_BYTES_MAX,
        }
    }

    fn is_separator(self, character: char) -> bool {
        matches!(self, Self::Topic | Self::File) && matches!(character, '/' | '.')
    }

    fn grammar(self) -> &'static str {
        match self {
            Self::Topic => "letters, digits, '_' and '-', in tokens joined by one '/' or '.'",
            Self::Namespace => "letters, digits, '_' and '-'",
            Self::File => "letters, digits, '_' and '-', in tokens joined by one '+' or '.'",
        }
    }
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Topic => "topic name",
            Self::Namespace => "namespace name",
            Self::File => "topic file name",
        })
    }
}

/// The reason why a name was refused. Permanent: the name has to change.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty, or only a slash.
    #[error("the {kind} is empty: use {}", kind.grammar())]
    Empty {
        /// The kind of name.
        kind: NameKind,
    },
    /// The name is too long.
    #[error("the {kind} has {bytes} bytes: use at most {bytes_max}")]
    TooLong {
        /// The kind of name.
        kind: NameKind,
        /// The length of the name, in bytes.
        bytes: usize,
        /// The maximum length, in bytes.
        bytes_max: usize,
    },
    /// Two separators follow each other, or one begins or ends the name.
    #[error("the {kind} {name:?} has an empty token at byte {at}: use {}", kind.grammar())]
    EmptyToken {
        /// The kind of name.
        kind: NameKind,
        /// The name as it was given.
        name: String,
        /// Index of the byte of `name` at which a token should begin.
        at: usize,
    },
    /// The name has a character outside the grammar.
    #[error("the {kind} {name:?} has {character:?} at byte {at}: use {}", kind.grammar())]
    BadCharacter {
        /// The kind of name.
        kind: NameKind,
        /// The name as it was given.
        name: String,
        /// The character.
        character: char,
        /// Index of the byte of `name` at which the character begins.
        at: usize,
    },
}

/// Checks `name[start..]`. Errors count bytes from the beginning of `name`, which is what the
/// caller wrote.
fn check_name(name: &str, start: usize, kind: NameKind) -> Result<(), NameError> {
    let bytes = name.len() - start;
    let bytes_max = kind.bytes_max();
    if bytes == 0 {
        return Err(NameError::Empty { kind });
    }
    if bytes > bytes_max {
        return Err(NameError::TooLong {
            kind,
            bytes,
            bytes_max,
        });
    }
    let mut token_start = start;
    for (at, character) in name.char_indices().skip(start) {
        if kind.is_separator(character) {
            if at == token_start {
                return Err(NameError::EmptyToken {
                    kind,
                    name: name.into(),
                    at,
                });
            }
            token_start = at + 1;
        } else if !matches!(character, 'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-') {
            return Err(NameError::BadCharacter {
                kind,
                name: name.into(),
                character,
                at,
            });
        }
    }
    if token_start == name.len() {
        return Err(NameError::EmptyToken {
            kind,
            name: name.into(),
            at: token_start,
        });
    }
    Ok(())
}
