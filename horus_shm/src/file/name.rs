//! Names of topics and namespaces: their grammar, and the file name of a topic.
//!
//! ```text
//! topic      = token *( ( "/" / "." ) token )     at most 200 bytes, one leading "/" ignored
//! namespace  = token                              at most 64 bytes
//! token      = 1*( A-Z / a-z / 0-9 / "_" / "-" )
//! ```
//!
//! A topic is one file. Its file name is the topic's name, in which each `/` is replaced by `+`. No
//! topic name contains a `+`, so the replacement can be reversed; it also keeps the length. No
//! token is empty, so no file name is `.`, `..` or hidden.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Maximum length in bytes of a topic's name, without the leading slash.
pub(crate) const TOPIC_NAME_BYTES_MAX: usize = 200;

/// Maximum length in bytes of a namespace's name.
pub(crate) const NAMESPACE_NAME_BYTES_MAX: usize = 64;

/// The character that replaces `/` in file names: the topic `a/b` has the file `a+b`.
const SLASH_REPLACEMENT_IN_FILE_NAMES: &str = "+";

/// The checked name of a topic, without a leading slash, and the name of the topic's file.
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
    /// Checks that `name` is a valid topic name, and strips one leading slash.
    ///
    /// # Errors
    ///
    /// [`NameError`], which says what is wrong, and at which byte.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let start = usize::from(name.starts_with('/'));
        check_name(name, start, NameKind::Topic)?;
        let name: Box<str> = name[start..].into();
        let file_name = name.replace('/', SLASH_REPLACEMENT_IN_FILE_NAMES).into();
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
        let name = file_name.replace(SLASH_REPLACEMENT_IN_FILE_NAMES, "/");
        check_name(&name, 0, NameKind::File)?;
        Ok(Self {
            name: name.into(),
            file_name: file_name.into(),
        })
    }

    /// Returns the topic's name, without a leading slash.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the name of the topic's file: a single path component of at most 200 bytes.
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

/// The checked name of a namespace (a set of topics). The directory of the namespace has the same
/// name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamespaceName(Box<str>);

impl NamespaceName {
    /// Checks that `name` is a valid name of a namespace.
    ///
    /// # Errors
    ///
    /// [`NameError`], which says what is wrong, and at which byte.
    pub fn new(name: &str) -> Result<Self, NameError> {
        check_name(name, 0, NameKind::Namespace)?;
        Ok(Self(name.into()))
    }

    /// Returns the namespace's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for NamespaceName {
    /// Returns the name `default`, which is used if the user selects no namespace.
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

/// The kind of object that a name was given to. Error texts contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameKind {
    /// The name was given to a topic.
    Topic,
    /// The name was given to a namespace.
    Namespace,
    /// The name is that of a topic's file.
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

/// The reason why a name is invalid. Permanent: choose a different name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty, or consists only of a slash.
    #[error("the {kind} is empty: use {}", kind.grammar())]
    Empty {
        /// The kind of object to which the name should be given.
        kind: NameKind,
    },
    /// The name is longer than permitted.
    #[error("the {kind} has {bytes} bytes: use at most {bytes_max}")]
    TooLong {
        /// The kind of object to which the name should be given.
        kind: NameKind,
        /// The length of the name, in bytes.
        bytes: usize,
        /// The maximum length of a name of this kind, in bytes.
        bytes_max: usize,
    },
    /// The name has an empty part: two separators in a row, or a separator at the beginning or the
    /// end.
    #[error(
        "the {kind} {name:?} has an empty token at byte {at}, in {:?}: use {}",
        separators_around(name, *at, *kind),
        kind.grammar()
    )]
    EmptyToken {
        /// The kind of object to which the name should be given.
        kind: NameKind,
        /// The name that the caller passed.
        name: String,
        /// Index in `name` of the byte at which a part of the name was expected.
        at: usize,
    },
    /// The name contains a character that is not permitted.
    #[error("the {kind} {name:?} has {character:?} at byte {at}: use {}", kind.grammar())]
    BadCharacter {
        /// The kind of object to which the name should be given.
        kind: NameKind,
        /// The name that the caller passed.
        name: String,
        /// The character that is not permitted.
        character: char,
        /// Index in `name` of the first byte of that character.
        at: usize,
    },
}

/// Returns all separators directly before and after byte `at` of `name`, where a token is missing.
/// Error texts quote them.
fn separators_around(name: &str, at: usize, kind: NameKind) -> &str {
    let is_separator = |character: char| kind.is_separator(character);
    // The index may come from a caller, who can build the error.
    let (before, after) = name.split_at_checked(at).unwrap_or((name, ""));
    let start = before.trim_end_matches(is_separator).len();
    let end = name.len() - after.trim_start_matches(is_separator).len();
    &name[start..end]
}

/// Checks the part of `name` from byte `start` on. Errors contain indexes into the whole of `name`,
/// because that is what the caller passed.
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
