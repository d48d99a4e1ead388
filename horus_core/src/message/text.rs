//! Text of a fixed size, for names in messages.

use std::fmt;

use super::{FieldKind, FieldType};

/// The type of a message's field that holds a UTF-8 text of at most `N` bytes, padded with NUL.
///
/// In C++ it is `char[N]`, without a NUL at the end if all bytes are used. In numpy it is `S<N>`.
/// Another process may have written any bytes: [`as_str`](Self::as_str) ends at the first byte that
/// is NUL or not UTF-8.
///
/// Two texts are equal if all their bytes are equal. The constructors pad with NUL, so the texts
/// that they make from equal strings are equal.
///
/// ```
/// use horus_core::message::Text;
///
/// let frame: Text<32> = Text::new("base_link")?;
/// assert_eq!(frame, *"base_link");
/// assert_eq!(frame.to_string(), "base_link");
/// assert_eq!(Text::<4>::truncated("map→odom"), *"map");
/// assert!(Text::<4>::new("odometry").is_err());
/// # Ok::<(), horus_core::message::TextTooLong>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Text<const N: usize>([u8; N]);

/// The error for a text that does not fit into a [`Text`]. Shorten it, or use [`Text::truncated`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text has {bytes} bytes, but {bytes_max} fit: shorten it, or use `Text::truncated`")]
#[non_exhaustive]
pub struct TextTooLong {
    /// Length of the text, in bytes.
    pub bytes: usize,
    /// Maximum length of the text that fits, in bytes.
    pub bytes_max: usize,
}

impl<const N: usize> Text<N> {
    /// A text without characters: all bytes are NUL.
    pub const EMPTY: Self = Self([0; N]);

    /// Makes a text of fixed size from `text`, up to its first NUL.
    pub const fn new(text: &str) -> Result<Self, TextTooLong> {
        if text.len() > N {
            return Err(TextTooLong {
                bytes: text.len(),
                bytes_max: N,
            });
        }
        Ok(Self::from_prefix(text.as_bytes(), text.len()))
    }

    /// Makes a value from as many whole characters of the text as fit, up to its first NUL.
    #[must_use]
    pub const fn truncated(text: &str) -> Self {
        let mut end = if text.len() < N { text.len() } else { N };
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self::from_prefix(text.as_bytes(), end)
    }

    /// Makes a value from a text that is known at compile time: `const MAP: Text<32> =
    /// Text::literal("map");`
    ///
    /// # Panics
    ///
    /// If the text does not fit. In a `const`, that is a compile error.
    #[must_use]
    pub const fn literal(text: &'static str) -> Self {
        assert!(text.len() <= N, "the text is longer than the field");
        Self::from_prefix(text.as_bytes(), text.len())
    }

    /// Formats a text and keeps as many whole characters as fit: `Text::format(format_args!("{x}
    /// m"))`. Does not allocate.
    #[must_use]
    pub fn format(text: fmt::Arguments<'_>) -> Self {
        let mut buffer = TruncatingBuffer {
            bytes: [0; N],
            len: 0,
        };
        // The error is ignored: it only says that the buffer is full.
        let _ = fmt::write(&mut buffer, text);
        Self::from_prefix(&buffer.bytes, buffer.len)
    }

    const fn from_prefix(text: &[u8], bytes: usize) -> Self {
        let mut filled = [0; N];
        let mut index = 0;
        while index < bytes && text[index] != 0 {
            filled[index] = text[index];
            index += 1;
        }
        Self(filled)
    }

    /// Returns the text before the first byte that is NUL or not UTF-8. It accepts any bytes and
    /// never panics.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let ended = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        match std::str::from_utf8(ended) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&ended[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// Returns all `N` bytes, including the padding.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// Returns true if the text has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

/// A buffer of `N` bytes for text. When it is full, it drops the rest of the text and returns an
/// error.
struct TruncatingBuffer<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> fmt::Write for TruncatingBuffer<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut end = text.len().min(N - self.len);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes[self.len..self.len + end].copy_from_slice(&text.as_bytes()[..end]);
        self.len += end;
        if end == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

// WHY: `checked` refuses an array of length 0, so `N` may be any number here.
impl<const N: usize> FieldType for Text<N> {
    const KIND: FieldKind = FieldKind::Text(N);
    const ELEMENT_COUNT: usize = if N == 0 { 0 } else { 1 };
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> From<[u8; N]> for Text<N> {
    /// Makes a text from its `N` bytes, which may be any bytes.
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
