//! Splits Rust text into code, comments and strings, as far as the rules need it.

/// One line of a source file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code, with comments left out and strings emptied.
    pub(crate) code: String,
    /// The text of the comments, doc comments too.
    pub(crate) comment: String,
    /// The bracket that is open at the start of the line.
    inside: Option<char>,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    Text,
    RawText { hashes: usize },
}

/// Splits `text` into code and comments, line by line.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        if rest[0] == '\n' {
            lines.push(Line::default());
            state = if let State::LineComment = state {
                State::Code
            } else {
                state
            };
            at += 1;
            continue;
        }
        let line = lines.last_mut().expect("there is always a line");
        let taken;
        (state, taken) = match state {
            State::Code => code(rest, line),
            State::LineComment => comment(rest, line, None),
            State::BlockComment { depth } => comment(rest, line, Some(depth)),
            State::Text => text_in_quotes(rest, line),
            State::RawText { hashes } => raw_text(rest, line, hashes),
        };
        at += taken;
    }
    mark_brackets(&mut lines);
    lines
}

fn code(rest: &[char], line: &mut Line) -> (State, usize) {
    match rest {
        ['/', '/', ..] => (State::LineComment, 2),
        ['/', '*', ..] => (State::BlockComment { depth: 1 }, 2),
        ['"', ..] => {
            line.code.push('"');
            (State::Text, 1)
        }
        ['r', '"' | '#', ..] if starts_raw_text(line, rest) => {
            let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
            line.code.push_str("r\"");
            (State::RawText { hashes }, 2 + hashes)
        }
        ['\'', '\\', ..] => {
            let end = rest
                .iter()
                .skip(3)
                .position(|&c| c == '\'')
                .map_or(rest.len(), |end| end + 4);
            line.code.push_str("''");
            (State::Code, end)
        }
        ['\'', _, '\'', ..] => {
            line.code.push_str("''");
            (State::Code, 3)
        }
        [c, ..] => {
            line.code.push(*c);
            (State::Code, 1)
        }
        [] => (State::Code, 1),
    }
}

/// Returns true if the `r` at the start of `rest` begins a raw string, not an identifier.
fn starts_raw_text(line: &Line, rest: &[char]) -> bool {
    let after = rest[1..].iter().find(|&&c| c != '#');
    let before = line.code.strip_suffix(['b', 'c']).unwrap_or(&line.code);
    after == Some(&'"') && !before.ends_with(is_word)
}

fn comment(rest: &[char], line: &mut Line, depth: Option<u32>) -> (State, usize) {
    match (rest, depth) {
        (['*', '/', ..], Some(1)) => (State::Code, 2),
        (['*', '/', ..], Some(depth)) => (State::BlockComment { depth: depth - 1 }, 2),
        (['/', '*', ..], Some(depth)) => (State::BlockComment { depth: depth + 1 }, 2),
        (_, depth) => {
            line.comment.push(rest[0]);
            (
                depth.map_or(State::LineComment, |depth| State::BlockComment { depth }),
                1,
            )
        }
    }
}

fn text_in_quotes(rest: &[char], line: &mut Line) -> (State, usize) {
    match rest {
        ['\\', '\n', ..] => (State::Text, 1),
        ['\\', ..] => (State::Text, 2),
        ['"', ..] => {
            line.code.push('"');
            (State::Code, 1)
        }
        _ => (State::Text, 1),
    }
}

fn raw_text(rest: &[char], line: &mut Line, hashes: usize) -> (State, usize) {
    let closes = rest[0] == '"' && rest[1..].iter().take_while(|&&c| c == '#').count() >= hashes;
    if !closes {
        return (State::RawText { hashes }, 1);
    }
    line.code.push('"');
    (State::Code, 1 + hashes)
}

fn mark_brackets(lines: &mut [Line]) {
    let mut open = Vec::new();
    for line in lines {
        line.inside = open.last().copied();
        for bracket in line.code.chars() {
            match bracket {
                '(' | '[' | '{' => open.push(bracket),
                ')' | ']' | '}' => drop(open.pop()),
                _ => {}
            }
        }
    }
}

/// Returns true if `c` may be part of an identifier.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the identifiers of `code` and the byte at which each starts.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = code
        .char_indices()
        .filter(|&(at, c)| is_word(c) && !code[..at].ends_with(is_word));
    starts.map(|(at, _)| {
        let length = code[at..].find(|c| !is_word(c)).unwrap_or(code.len() - at);
        (at, &code[at..at + length])
    })
}

/// Returns true if `word` is one of the identifiers of `code`.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    words(code).any(|(_, found)| found == word)
}

/// Returns the first line of the statement (or field, or match arm) that contains line `index`.
pub(crate) fn statement_start(lines: &[Line], index: usize) -> usize {
    let mut first = index;
    while first > 0 && continues(lines, first) {
        first -= 1;
    }
    first
}

/// Returns true if line `index` continues a statement that began above.
fn continues(lines: &[Line], index: usize) -> bool {
    if matches!(lines[index].inside, Some('(' | '[')) {
        return true;
    }
    let mut above = lines[..index].iter().rev().map(|line| line.code.trim());
    match above.find(|code| !code.is_empty()) {
        None => false,
        Some(code) => !code.ends_with([';', '{', '}', ',']) && !code.starts_with("#"),
    }
}

/// Returns the comments of lines `first..=last`, and of the block directly above them.
pub(crate) fn attached_comment(lines: &[Line], first: usize, last: usize) -> String {
    let is_attached = |line: &&Line| {
        let code = line.code.trim();
        let attribute = code.starts_with('#') && code.ends_with(']');
        (code.is_empty() && !line.comment.is_empty()) || attribute
    };
    let above = lines[..first].iter().rev().take_while(is_attached).count();
    let comments = lines[first - above..=last]
        .iter()
        .map(|line| line.comment.as_str());
    comments.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        let table = [
            ("a // b", "a "),
            ("a /* b /* c */ d */ e", "a  e"),
            (r#"f("x // \" y") + 1"#, r#"f("") + 1"#),
            (r##"r"a" r#"b"c"# br"d" bar"e""##, r#"r"" r"" br"" bar"""#),
            (
                r"'a' '\'' '\n' 'static b'x' r#type",
                "'' '' '' 'static b'' r#type",
            ),
            (r"'\u{1f600}' x", "'' x"),
        ];
        for (text, code) in table {
            assert_eq!(codes(text), [code], "{text}");
        }
    }

    #[test]
    fn lines_stay_apart_in_strings_and_comments() {
        assert_eq!(codes("\"a\nb\" c\n/* d\ne */ f"), ["\"", "\" c", "", " f"]);
        assert_eq!(codes("\"a\\\nb\" c"), ["\"", "\" c"]);
        assert_eq!(lines("x // y\nz")[0].comment, " y");
    }

    #[test]
    fn words_end_where_identifiers_end() {
        assert!(has_word("core::mem", "core"));
        assert!(!has_word("horus_core::mem", "core"));
        let all: Vec<_> = words("a.b_c(1)").map(|(_, word)| word).collect();
        assert_eq!(all, ["a", "b_c", "1"]);
    }

    #[test]
    fn statements_begin_after_the_one_before() {
        let text =
            "a();\nlet b = c(\n    d,\n    e,\n)\n.f();\nmatch g {\n    h =>\n    i,\n    j,\n}";
        let lines = lines(text);
        let starts: Vec<_> = (0..lines.len())
            .map(|at| statement_start(&lines, at))
            .collect();
        assert_eq!(starts, [0, 1, 1, 1, 1, 1, 6, 7, 7, 9, 10]);
    }

    #[test]
    fn a_closure_in_an_argument_has_statements_of_its_own() {
        let lines = lines("a(|| {\n    b();\n    c(\n    d);\n})");
        assert_eq!(statement_start(&lines, 3), 2);
    }

    #[test]
    fn an_attached_comment_is_not_cut_off_by_an_attribute_but_by_an_empty_line() {
        let lines = lines("// a\n\n// b\n#[c]\n// d\nlet e = // f\ng;");
        assert_eq!(attached_comment(&lines, 5, 6), " b\n\n d\n f\n");
    }
}
