//! Base64, the text form of bytes in JSON: the standard alphabet, with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The character that is appended to base64 until its length is a multiple of four characters.
const PADDING: u8 = b'=';

/// Converts `bytes` to base64 text.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * index) & 0x3f) as usize];
            let is_used = index <= group.len();
            text.push(char::from(if is_used { digit } else { PADDING }));
        }
    }
    text
}

/// Converts base64 to the bytes that it represents. Returns `None` if `text` is not exactly as
/// [`encode`] writes it.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches(char::from(PADDING));
    if text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.as_bytes().chunks(4) {
        let mut bits = 0;
        for index in 0..4 {
            bits = bits << 6
                | group
                    .get(index)
                    .map_or(Some(0), |digit| digit_value(*digit))?;
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    // WHY: unused bits that are not 0, and a group of one digit, have no bytes.
    (encode(&bytes) == text).then_some(bytes)
}

fn digit_value(digit: u8) -> Option<u32> {
    let found = ALPHABET.iter().position(|known| *known == digit);
    found.map(|index| index as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vectors_of_rfc_4648_hold() {
        let table = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in table {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        for wrong in ["Zg", "Zg=", "Zh==", "====", "Z===", "Zm9 ", "Zg==Zg=="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
