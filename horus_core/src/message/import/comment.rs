//! Converts the comments of a `.msg` file to doc comments, whose first paragraph ends with the
//! unit.

/// The units that comments contain in brackets, such as `[rad]`, and their names.
const UNIT_NAMES: &[(&str, &str)] = &[
    ("m", "metres"),
    ("mm", "millimetres"),
    ("rad", "radians"),
    ("deg", "degrees"),
    ("degrees", "degrees"),
    ("s", "seconds"),
    ("sec", "seconds"),
    ("seconds", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("m/s", "metres per second"),
    ("m/s^2", "metres per second squared"),
    ("rad/s", "radians per second"),
    ("rad/sec", "radians per second"),
    ("rad/s^2", "radians per second squared"),
    ("N", "newtons"),
    ("Nm", "N·m"),
    ("N-m", "N·m"),
    ("N*m", "N·m"),
    ("kg", "kilograms"),
    ("V", "volts"),
    ("A", "amperes"),
    ("Ah", "ampere hours"),
    ("W", "watts"),
    ("Hz", "hertz"),
    ("Pa", "pascals"),
    ("T", "teslas"),
    ("lx", "lux"),
    ("Lux", "lux"),
    ("C", "degrees Celsius"),
    ("K", "kelvins"),
    ("%", "per cent"),
    ("m/cell", "metres per cell"),
];

/// The comments that belong to one item of a file, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Comments {
    lines: Vec<String>,
}

impl Comments {
    /// Adds the text of one comment, without its `#`.
    pub(super) fn push(&mut self, text: &str) {
        self.lines.push(clean_comment(text));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(String::is_empty)
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.lines.append(&mut other.lines);
    }

    /// Returns the collected lines as one text, without empty lines at its start and its end, and
    /// without two consecutive empty lines.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            if !line.is_empty() || !(out.is_empty() || out.ends_with("\n\n")) {
                out.push_str(line);
                out.push('\n');
            }
        }
        out.trim_end().to_owned()
    }
}

/// Removes or replaces the characters that would end a comment, or act as markup, in any of the
/// generated languages.
fn clean_comment(text: &str) -> String {
    let visible = |letter: &char| {
        let turns_text = matches!(
            letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        );
        !turns_text && (!letter.is_control() || *letter == '\t')
    };
    let text: String = text.chars().filter(visible).collect();
    let text = text.replace('\t', " ");
    // WHY: a backslash at the end continues a comment of C++, `*/` ends one, three backticks or
    // indentation begin code that rustdoc compiles, and three quotes end a docstring.
    let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '#');
    let text = text
        .replace("*/", "* /")
        .replace("/*", "/ *")
        .replace("```", "'''")
        .replace("~~~", "---")
        .replace("\"\"\"", "'''");
    text.trim_end_matches(|letter: char| letter.is_whitespace() || letter == '\\')
        .trim_start()
        .to_owned()
}

/// Converts a text to a doc comment as `message!` stores it: with a space before and a newline
/// after each line.
pub(super) fn to_doc_comment(text: &str) -> String {
    let line = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!(" {line}\n"),
    };
    text.lines().map(line).collect()
}

/// Returns the text with its unit at the end of the first paragraph: `Hip angle: radians.` for
/// `hip angle [rad]`. Text without a unit in brackets is unchanged, except for its first letter.
pub(super) fn move_unit_to_end(text: &str) -> String {
    let text = capitalise(text);
    let Some((before, unit, after)) = split_unit(&text) else {
        return text;
    };
    let before = before.trim_end_matches(is_separator);
    let after = after.trim_start_matches(is_separator);
    let first = match before {
        "" => capitalise(unit),
        before => format!("{before}: {unit}"),
    };
    match after {
        "" => format!("{first}."),
        after => format!("{first}.\n\n{}", capitalise(after)),
    }
}

fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '.' | ',' | ':' | ';' | '-')
}

/// Splits the text at the first brackets with a known unit. Returns the text before the brackets,
/// the name of the unit, and the text after the brackets.
fn split_unit(text: &str) -> Option<(&str, &'static str, &str)> {
    let mut opened = text.match_indices(['[', '(']);
    opened.find_map(|(start, bracket)| {
        let close = if bracket == "[" { ']' } else { ')' };
        let (symbol, after) = text[start + 1..].split_once(close)?;
        let unit = UNIT_NAMES
            .iter()
            .find(|(known, _)| *known == symbol.trim())?
            .1;
        Some((&text[..start], unit, after))
    })
}

/// Returns `text` with a capital first letter. A text that begins with a symbol or a name stays
/// unchanged.
fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let is_word = first_word.chars().all(|letter| letter.is_ascii_lowercase());
    match letters.next() {
        Some(first) if is_word => first.to_ascii_uppercase().to_string() + letters.as_str(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_brackets_end_the_first_paragraph() {
        let table = [
            ("hip angle [rad]", "Hip angle: radians."),
            ("time of a step [seconds]", "Time of a step: seconds."),
            (
                "water depth [m]\n(Note: NaN is no data)",
                "Water depth: metres.\n\n(Note: NaN is no data)",
            ),
            (
                "Charge (Ah). NaN if unknown",
                "Charge: ampere hours.\n\nNaN if unknown",
            ),
            ("[s]", "Seconds."),
            ("one of [0, 1]", "One of [0, 1]"),
            ("x_offset of [m", "x_offset of [m"),
            ("", ""),
        ];
        for (text, wanted) in table {
            assert_eq!(move_unit_to_end(text), wanted);
        }
    }

    #[test]
    fn comments_are_harmless_in_every_language() {
        let table = [
            (" a\tb \\", "a b"),
            ("#### title ####", "title"),
            ("ends */ here /* and ```", "ends * / here / * and '''"),
            ("\u{202e}turned\r", "turned"),
            ("say \"\"\"\"\"x", "say '''\"\"x"),
        ];
        for (text, wanted) in table {
            assert_eq!(clean_comment(text), wanted);
        }
    }
}
