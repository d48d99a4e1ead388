//! The text of a log line: cut to the maximum length, and shown without control characters.

use std::fmt::{self, Write as _};

use crate::message::LogLineHeader;

/// The text of a log line, cut to the maximum length, and the number of bytes that were cut off.
#[derive(Debug)]
pub(super) struct TextBuffer {
    bytes: [u8; LogLineHeader::TEXT_BYTES_MAX],
    len: usize,
    cut: u64,
}

impl TextBuffer {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; LogLineHeader::TEXT_BYTES_MAX],
            len: 0,
            cut: 0,
        }
    }

    /// Returns a buffer that contains these bytes, which need not be valid UTF-8. Bytes beyond the
    /// maximum length are cut off.
    pub(super) fn from_bytes(text: &[u8]) -> Self {
        let mut buffer = Self::new();
        buffer.push(text);
        buffer
    }

    /// Records that `bytes` more bytes of the text were left out by the caller.
    pub(super) fn add_left_out_bytes(&mut self, bytes: u64) {
        self.cut = self.cut.saturating_add(bytes);
    }

    /// Formats a text into the buffer. Bytes beyond the maximum length are cut off.
    pub(super) fn format(&mut self, text: fmt::Arguments<'_>) {
        if let Some(text) = text.as_str() {
            self.push(text.as_bytes());
        } else if self.write_fmt(text).is_err() {
            // `write_str` never fails, so an implementation of `Display` has.
            self.push(b" (its text cannot be formatted)");
        }
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the number of bytes of the text that were cut off, at most `u32::MAX`.
    pub(super) fn cut_bytes(&self) -> u32 {
        u32::try_from(self.cut).unwrap_or(u32::MAX)
    }

    fn push(&mut self, text: &[u8]) {
        // WHY: once something was left out, nothing may follow it.
        let free = if self.cut == 0 {
            self.bytes.len() - self.len
        } else {
            0
        };
        let end = floor_char_boundary(text, free);
        self.bytes[self.len..][..end].copy_from_slice(&text[..end]);
        self.len += end;
        self.cut += (text.len() - end) as u64;
    }
}

impl fmt::Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// Returns the length, in bytes, of the longest prefix of `text` that has at most `max` bytes and,
/// if `text` is UTF-8, does not end within a character.
fn floor_char_boundary(text: &[u8], max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    let is_inner = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    // No character has more than three bytes after its first one.
    let back = (0..=3).find(|back| *back <= max && !is_inner(text[max - back]));
    max - back.unwrap_or(0)
}

/// Shows a text of unknown origin safely: escapes control characters, which a terminal might
/// execute, and characters that change the direction of text.
///
/// ```
/// use horus_core::log::EscapedText;
///
/// assert_eq!(EscapedText("a\x1b[31mb\nc").to_string(), r"a\u{1b}[31mb\nc");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct EscapedText<'a>(pub &'a str);

impl EscapedText<'_> {
    /// Returns true if `c` is neither a control character nor a character that changes the
    /// direction of text.
    #[must_use]
    pub fn is_visible(c: char) -> bool {
        let directs = matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        );
        !c.is_control() && !directs
    }
}

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| {
            if Self::is_visible(c) {
                f.write_char(c)
            } else {
                write!(f, "{}", c.escape_default())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = LogLineHeader::TEXT_BYTES_MAX;

    #[test]
    fn a_text_is_cut_between_characters_and_the_rest_is_counted() {
        for before in 0..4 {
            let text = format!("{}{}", "a".repeat(before), "→".repeat(MAX));
            let mut buffer = TextBuffer::new();
            buffer.format(format_args!("{}{}", text, "tail"));
            let room = MAX - before;
            let wanted = before + room / 3 * 3;
            assert_eq!(buffer.text(), &text.as_bytes()[..wanted], "{before}");
            assert_eq!(buffer.cut_bytes() as usize, text.len() + 4 - wanted);
            assert_eq!(
                TextBuffer::from_bytes(text.as_bytes()).text(),
                buffer.text()
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let buffer = TextBuffer::from_bytes(&[0x80; 2 * MAX]);
        assert_eq!(
            (buffer.text().len(), buffer.cut_bytes() as usize),
            (MAX, MAX)
        );
        assert_eq!(TextBuffer::from_bytes(b"\xff\0x").text(), b"\xff\0x");
    }

    #[test]
    fn a_broken_display_is_no_panic() {
        struct Broken;
        impl fmt::Display for Broken {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        let mut buffer = TextBuffer::new();
        buffer.format(format_args!("x{Broken}"));
        assert_eq!(buffer.text(), b"x (its text cannot be formatted)");
    }
}
