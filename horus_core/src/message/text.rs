//! Text of a fixed size: what a name or a frame is in a message.

use std::fmt;

use super::{FieldKind, FieldType};

/// UTF-8 of at most `N` bytes, filled up with NUL, as a field of a message.
///
/// `char[N]` in C++ (which need not end in NUL), `S<N>` in numpy. A peer may have written any
/// bytes: [`as_str`](Self::as_str) ends at the first that is NUL or not UTF-8.
///
/// Two texts are equal if all their bytes are. What the constructors make is filled up with NUL, so
/// of those, equal strings are equal texts.
///
/// ```
/// use horus_core::message::Text;
///
/// let frame: Text<32> = Text::new("base_link")?;
/// assert_eq!(frame, *"base_link");
/// assert_eq!(frame.to_string(), "base_link");
/// assert_eq!(Text::<4>::cut("map→odom"), *"map");
/// assert!(Text::<4>::new("odometry").is_err());
/// # Ok::<(), horus_core::message::TextTooLong>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Text<const N: usize>([u8; N]);

/// The text does not fit; a shorter one or [`Text::cut`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a text of {bytes} bytes where {bytes_max} fit: shorten it, or use `Text::cut`")]
#[non_exhaustive]
pub struct TextTooLong {
    /// Length of the text.
    pub bytes: usize,
    /// What fits.
    pub bytes_max: usize,
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const EMPTY: Self = Self([0; N]);

    /// The text, if it fits. A NUL in it ends it.
    ///
    /// # Errors
    ///
    /// It is longer than `N` bytes.
    pub const fn new(text: &str) -> Result<Self, TextTooLong> {
        if text.len() > N {
            return Err(TextTooLong { bytes: text.len(), bytes_max: N });
        }
        Ok(Self::of(text.as_bytes(), text.len()))
    }

    /// As many whole characters of the text as fit. A NUL in it ends it.
    #[must_use]
    pub const fn cut(text: &str) -> Self {
        let mut end = if text.len() < N { text.len() } else { N };
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self::of(text.as_bytes(), end)
    }

    /// A text known when the program is compiled: `const MAP: Text<32> = Text::literal("map");`
    ///
    /// # Panics
    ///
    /// If it does not fit; in a `const`, that is a compile error.
    #[must_use]
    pub const fn literal(text: &'static str) -> Self {
        assert!(text.len() <= N, "the text is longer than the field");
        Self::of(text.as_bytes(), text.len())
    }

    /// As many whole characters as fit of a formatted text: `Text::format(format_args!("{x} m"))`.
    /// Allocates nothing.
    #[must_use]
    pub fn format(text: fmt::Arguments<'_>) -> Self {
        let mut cut = Cut { bytes: [0; N], len: 0 };
        // An error only says that it is full.
        let _ = fmt::write(&mut cut, text);
        Self::of(&cut.bytes, cut.len)
    }

    const fn of(text: &[u8], bytes: usize) -> Self {
        let mut filled = [0; N];
        let mut index = 0;
        while index < bytes && text[index] != 0 {
            filled[index] = text[index];
            index += 1;
        }
        Self(filled)
    }

    /// What is before the first byte that is NUL or not UTF-8. Takes any bytes, never panics.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let ended = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        match std::str::from_utf8(ended) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&ended[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// All bytes, as they are in the message.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// Whether [`as_str`](Self::as_str) is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

/// Takes text until it is full.
struct Cut<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> fmt::Write for Cut<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut end = text.len().min(N - self.len);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes[self.len..self.len + end].copy_from_slice(&text.as_bytes()[..end]);
        self.len += end;
        if end == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

// An array of none is refused by the check of the schema.
impl<const N: usize> FieldType for Text<N> {
    const KIND: FieldKind = FieldKind::Text(N);
    const COUNT: usize = if N == 0 { 0 } else { 1 };
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> From<[u8; N]> for Text<N> {
    /// These bytes, whatever they are.
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> TryFrom<&str> for Text<N> {
    type Error = TextTooLong;

    fn try_from(text: &str) -> Result<Self, TextTooLong> {
        Self::new(text)
    }
}

impl<const N: usize> PartialEq<str> for Text<N> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl<const N: usize> PartialEq<&str> for Text<N> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
