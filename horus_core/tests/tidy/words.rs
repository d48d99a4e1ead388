//! Words: comments that begin like a sentence, and names that have been replaced.

use super::files::{File, Violation};
use super::lex;

/// Openings of a clause without a subject, as in "What a node did".
const HEADLESS: [&str; 9] = [
    "What", "Who", "Whom", "Whose", "Where", "Whether", "How", "When", "Why",
];

/// Names and words that were replaced by the field's terms, and those terms.
const REPLACED: [(&str, &str); 16] = [
    ("Deserted", "disconnected"),
    ("Diary", "event log"),
    ("Patience", "wait policy"),
    ("Pulse", "metrics"),
    ("Punctuality", "deadline"),
    ("Wish", "spec"),
    ("ask_ahead", "prefetch"),
    ("await_slot", "prefetch"),
    ("disturbances", "fault epoch"),
    ("heed", "poll"),
    ("look_around", "check_health"),
    ("obey", "apply"),
    ("passed_over", "skipped"),
    ("uncount", "fetch_sub"),
    ("whoever", "a process that, a caller that"),
    ("whomever", "a process that, a caller that"),
];

/// Phrases in comments that were replaced.
const PHRASES: [(&str, &str); 1] = [("but for", "except")];

/// The file that names the words.
const EXEMPT: [&str; 1] = ["horus_core/tests/tidy/words.rs"];

/// `headless`: the first line of a doc comment is the beginning of a sentence.
pub(crate) fn headless(file: &File) -> Vec<Violation> {
    if !file.is_rust() || file.is_generated() || is_exempt(file) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    let mut is_inside = false;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let first = text
            .filter(|_| !is_inside)
            .and_then(|text| text.split_whitespace().next());
        is_inside = text.is_some();
        let opening = first.map(|word| word.trim_end_matches(|c: char| !c.is_alphabetic()));
        if let Some(word) = opening.filter(|word| HEADLESS.contains(word)) {
            let advice = format!("'{word} …' has no subject: begin with a noun, or 'Returns …'.");
            violations.push(file.violation(index, "headless", advice));
        }
    }
    violations
}

/// `replaced-word`: names and comments use the terms that replaced others.
pub(crate) fn replaced(file: &File) -> Vec<Violation> {
    if is_exempt(file) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        let words = lex::words(&line.code).chain(lex::words(&line.comment));
        let words = words.filter_map(|(_, word)| REPLACED.iter().find(|(old, _)| *old == word));
        let phrases = PHRASES.iter().filter(|(old, _)| line.comment.contains(old));
        for (old, new) in words.chain(phrases) {
            let advice = format!("'{old}': use {new}.");
            violations.push(file.violation(index, "replaced-word", advice));
        }
    }
    violations
}

fn is_exempt(file: &File) -> bool {
    EXEMPT.iter().any(|path| file.path.starts_with(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rule: fn(&File) -> Vec<Violation>, text: &str) -> usize {
        rule(&File::new("a/src/b.rs", text.len(), text.to_owned())).len()
    }

    #[test]
    fn doc_comments_begin_like_a_sentence() {
        let table = [
            ("/// What a node did.\nfn a() {}", 1),
            ("    /// Whether it runs.\n    a: bool,", 1),
            ("//! How it is done.", 1),
            (
                "/// Returns what a node did.\n/// What follows is the rest.",
                0,
            ),
            ("/// A node.\n///\n/// What it does.", 0),
            ("/// Whatever.", 0),
            ("// What a node did.", 0),
        ];
        for (text, violations) in table {
            assert_eq!(count(headless, text), violations, "{text}");
        }
    }

    #[test]
    fn replaced_names_stay_away() {
        let table = [
            ("struct Diary;", 1),
            ("struct DiaryEntry;", 0),
            ("let a = Patience::of(b); // but for c", 2),
            ("// Whoever comes", 0),
            ("// for whoever comes", 1),
            ("let a = \"whoever\";", 0),
        ];
        for (text, violations) in table {
            assert_eq!(count(replaced, text), violations, "{text}");
        }
    }
}
