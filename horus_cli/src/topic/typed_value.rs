//! Parses the values that users type, which are JSON5.

use std::collections::HashSet;
use std::{iter, mem};

use horus_core::value::{DEPTH_MAX, Value};

use crate::output::format::shortened;

/// Parses a value in JSON5.
///
/// # Errors
///
/// A text that says what is wrong: the syntax, lists and objects that are nested more than
/// [`DEPTH_MAX`] deep, a number that no `f64` can hold, or a key that occurs twice in one object. A
/// JSON5 parser overflows its stack, reads such a number as infinity, and silently drops one of the
/// two values.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    if is_nested_too_deeply(text) {
        return Err(format!(
            "more than {DEPTH_MAX} lists and objects in each other"
        ));
    }
    let value = json5::from_str(text).map_err(|error| match too_large_hex_number(text) {
        Some(number) => too_large_error(number),
        None if looks_like_bare_text(text) => format!(
            "not valid JSON5: {error}. A text needs quotes of its own: '\"{}\"'",
            shortened(text)
        ),
        None => match error.to_string().strip_prefix("EOF parsing ") {
            // WHY without its position: that is the start of the text.
            Some(end) => {
                let part = end.split(" at ").next().unwrap_or_default();
                format!("not valid JSON5: the text ends within this part: {part}")
            }
            None => format!("not valid JSON5: {error}"),
        },
    })?;
    if let Some(number) = overflowing_number(text) {
        return Err(too_large_error(number));
    }
    match duplicate_key(&value) {
        Some(path) => Err(format!("the key '{path}' occurs twice: write it once")),
        None => Ok(value),
    }
}

/// Returns true if `text` is probably meant as a text, but has no quotes.
fn looks_like_bare_text(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '/')
        && !text.contains(['"', '\'', '\\', '\n'])
}

/// Returns true if lists and objects in `text` are nested more than [`DEPTH_MAX`] deep. `text` need
/// not be valid JSON5: what follows its first mistake does not matter.
fn is_nested_too_deeply(text: &str) -> bool {
    let mut depth = 0_usize;
    tokens(text).any(|token| {
        match token {
            "[" | "{" => depth += 1,
            "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEPTH_MAX
    })
}

/// Returns the first number in `text` that is infinite as an `f64`, although it is written with
/// digits. `text` must be valid JSON5.
fn overflowing_number(text: &str) -> Option<&str> {
    tokens(text).find(|token| {
        let is_number = token.starts_with(|first: char| first == '.' || first.is_ascii_digit());
        is_number && token.parse().is_ok_and(f64::is_infinite)
    })
}

/// Returns the first hexadecimal number in `text` for which the parser reports an error, because it
/// has more than 128 bits. `text` need not be valid JSON5.
fn too_large_hex_number(text: &str) -> Option<&str> {
    let mut before = "";
    tokens(text).find(|token| {
        let is_negative = mem::replace(&mut before, token) == "-";
        let digits = token.strip_prefix("0x").or(token.strip_prefix("0X"));
        digits.is_some_and(|digits| {
            let is_number = digits.chars().all(|digit| digit.is_ascii_hexdigit());
            let max = if is_negative { 1 << 127 } else { u128::MAX };
            let fits = u128::from_str_radix(digits, 16).is_ok_and(|number| number <= max);
            is_number && !digits.is_empty() && !fits
        })
    })
}

fn too_large_error(number: &str) -> String {
    format!(
        "the number {} is too large: decimal numbers are at most {:e}, hexadecimal ones have at \
         most 32 digits, or write Infinity",
        shortened(number),
        f64::MAX
    )
}

/// Returns the parts of a text in JSON5: strings, comments, numbers and names. Each other character
/// is a part of its own.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match first {
            '"' | '\'' => string_length(rest, first),
            '/' if rest.starts_with("//") => rest.find(is_line_end).unwrap_or(rest.len()),
            '/' => comment_length(rest),
            '.' => word_length(rest),
            // A key without quotes may contain digits.
            first if is_name_character(first) => word_length(rest),
            first => first.len_utf8(),
        };
        let (token, others) = rest.split_at(length);
        rest = others;
        Some(token)
    })
}

/// Returns the length in bytes of the comment at the beginning of `text`, with its ends.
fn comment_length(text: &str) -> usize {
    let inner = text.get(2..).and_then(|inner| inner.find("*/"));
    inner.map_or(text.len(), |length| 2 + length + 2)
}

/// Returns the length in bytes of the string at the beginning of `text`, with its quotes.
pub(super) fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length in bytes of the number or name at the beginning of `text`. The sign of an
/// exponent is part of a number.
fn word_length(text: &str) -> usize {
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        let is_exponent_sign = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E');
        if at > 0 && letter != '.' && !is_name_character(letter) && !is_exponent_sign {
            return at;
        }
        before = letter;
    }
    text.len()
}

/// Returns true if a key without quotes, or a number, can contain `letter`.
fn is_name_character(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '\\') || !letter.is_ascii()
}

/// Returns true if `letter` ends a line in JSON5.
const fn is_line_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Returns the path of the first key that occurs twice in one map; `None` if there is none.
fn duplicate_key(value: &Value) -> Option<String> {
    match value {
        Value::Map(pairs) => {
            let mut known = HashSet::new();
            pairs.iter().find_map(|(key, value)| {
                let key = key.as_str().unwrap_or_default();
                if !known.insert(key) {
                    return Some(key.to_owned());
                }
                let inner = duplicate_key(value)?;
                let dot = if inner.starts_with('[') { "" } else { "." };
                Some(format!("{key}{dot}{inner}"))
            })
        }
        Value::Array(values) => values.iter().enumerate().find_map(|(index, value)| {
            let inner = duplicate_key(value)?;
            let dot = if inner.starts_with('[') { "" } else { "." };
            Some(format!("[{index}]{dot}{inner}"))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_overflow_are_refused() {
        for (text, number) in [
            ("1e400", "1e400"),
            ("{linear: -1e400}", "1e400"),
            ("[1, .5E+999]", ".5E+999"),
            (
                "{a: '1e400\\'', /* 1e400 */ b: [{c: 2e308}]} // 1e400",
                "2e308",
            ),
            ("{a1e400: 3.e309}", "3.e309"),
        ] {
            let error = parse(text).unwrap_err();
            let wanted = format!("the number {number} is too large");
            assert!(error.starts_with(&wanted), "{text}: {error}");
        }
        for text in [
            "1e308",
            "-Infinity",
            "{x: Infinity, y: +Infinity}",
            "'1e400'",
            "{\"1e400\": 1}",
            "{a: 1, // 1e400\n b: \"\\\"1e400\"}",
            "{a1e400: 1, $9e999: 2, ä9e999: 3}",
            "0xE400",
            "1e-400",
            "[1,2.5e3,-.5]",
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn hexadecimal_numbers_that_the_parser_refuses_are_named() {
        let long = format!("0x1{}", "0".repeat(32));
        let least = format!("0X{:x}", (1_u128 << 127) + 1);
        let most = format!("0x{:x}", u128::MAX);
        for (text, number) in [
            (long.clone(), &long),
            (format!("{{linear: -{least}}}"), &least),
            (format!("[{most}, {long}]"), &long),
        ] {
            let error = parse(&text).unwrap_err();
            let wanted = format!("the number {number} is too large: decimal");
            assert!(error.starts_with(&wanted), "{text}: {error}");
        }
        assert!(parse(&most).is_ok() && parse(&format!("-0x{:x}", 1_u128 << 127)).is_ok());
        let elsewhere = parse(&format!("{{a: {most}, '0x1': 2, b: ?}}")).unwrap_err();
        assert!(elsewhere.starts_with("not valid JSON5"), "{elsewhere}");
    }

    #[test]
    fn a_text_that_ends_too_soon_has_no_wrong_position() {
        for (text, part) in [("{linear: 1", "object"), ("[1, [2]", "array")] {
            let wanted = format!("not valid JSON5: the text ends within this part: {part}");
            assert_eq!(parse(text).unwrap_err(), wanted);
        }
    }

    #[test]
    fn an_error_about_a_long_number_is_short() {
        for text in ["9".repeat(5000), format!("0x{}", "9".repeat(5000))] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains("9… is too large"), "{error}");
            assert!(error.len() < 300, "{error}");
        }
    }

    #[test]
    fn keys_that_occur_twice_are_refused() {
        for (text, path) in [
            ("{linear: 1, linear: 2}", "linear"),
            ("{linear: 1, 'linear': 1}", "linear"),
            ("{a: [0, {b: {c: 1, d: 2, c: 3}}]}", "a[1].b.c"),
            ("[[{x: 1, x: 1}]]", "[0][0].x"),
        ] {
            let error = parse(text).unwrap_err();
            let wanted = format!("the key '{path}' occurs twice");
            assert!(error.starts_with(&wanted), "{text}: {error}");
        }
        assert!(parse("{a: {a: 1}, b: {a: 1}}").is_ok());
    }

    #[test]
    fn values_that_are_nested_too_deeply_are_refused() {
        for (open, inner, close) in [("[", "1", "]"), ("{a:", "1", "}"), ("[/*]*/", "']'", "]")] {
            let nested = |depth: usize| open.repeat(depth) + inner + &close.repeat(depth);
            assert!(parse(&nested(64)).is_ok(), "{open}");
            for text in [nested(65), nested(100_000), open.repeat(100_000)] {
                let error = parse(&text).unwrap_err();
                assert_eq!(error, "more than 64 lists and objects in each other");
            }
        }
        for text in ["'[", "/*[", "[/*/[*/1]", "// ["] {
            let text = text.replace('[', &"[".repeat(1000));
            let error = parse(&text).err().unwrap_or_default();
            assert_eq!(
                error.contains("in each other"),
                text.starts_with("[["),
                "{error}"
            );
        }
    }

    #[test]
    fn a_text_without_quotes_is_explained() {
        for text in ["hello", "/odom", "two words"] {
            let error = parse(text).unwrap_err();
            let advice = format!("A text needs quotes of its own: '\"{text}\"'");
            assert!(error.contains(&advice), "{error}");
        }
        for text in ["{a: hello", "[1", "", "\"hello"] {
            let error = parse(text).unwrap_err();
            assert!(!error.contains("quotes of its own"), "{error}");
        }
    }
}
