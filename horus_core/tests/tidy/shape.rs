//! The shape of files: their length, their first line, and words that must not be merged.

use super::files::{File, Repo, Violation};
use super::lex;

const LINES_MAX: usize = 600;
/// The same for the declarations of a whole library: these are searched, and rarely read.
const DECLARATIONS_MAX: usize = 800;
const COLUMNS_MAX: usize = 100;
const FILE_BYTES_MAX: usize = 512 << 10;

/// The architecture document, which must stay short.
const MAP: &str = "ARCHITECTURE.md";
const MAP_LINES_MAX: usize = 250;

/// The results of benchmarks, which may have any size.
const RECORDS: &str = "benchmarks/record";

const SOURCE_KINDS: [&str; 7] = [".rs", ".py", ".pyi", ".c", ".cpp", ".h", ".hpp"];

const DECLARATION_KINDS: [&str; 2] = [".h", ".pyi"];

/// Macros and attributes that must not be merged, written without spaces.
const BANNED_CODE: [(&str, &str); 4] = [
    ("dbg!", "take it out"),
    ("todo!", "write it, or return an error"),
    ("unimplemented!", "write it, or return an error"),
    ("#[ignore", "make the test fast or remove it"),
];

/// `file-length`, `map-length` and `file-size`.
pub(crate) fn length(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let lines = file.text.lines().count();
    let (rule, max) = if file.path == MAP {
        ("map-length", MAP_LINES_MAX)
    } else if !SOURCE_KINDS.iter().any(|kind| file.path.ends_with(kind)) || file.is_generated() {
        ("file-length", usize::MAX)
    } else if DECLARATION_KINDS
        .iter()
        .any(|kind| file.path.ends_with(kind))
    {
        ("file-length", DECLARATIONS_MAX)
    } else {
        ("file-length", LINES_MAX)
    };
    if lines > max {
        let advice = format!("{lines} lines are more than {max}: make it two files.");
        violations.push(file.violation(max, rule, advice));
    }
    if file.bytes > FILE_BYTES_MAX && !file.is_under(RECORDS) {
        let advice = format!(
            "{} bytes: large files belong in {RECORDS} or nowhere.",
            file.bytes
        );
        violations.push(file.violation(0, "file-size", advice));
    }
    violations
}

/// `line-length`, in Rust.
pub(crate) fn columns(file: &File) -> Vec<Violation> {
    if !file.is_rust() || file.is_generated() {
        return Vec::new();
    }
    let lines = file
        .text
        .lines()
        .map(|line| line.chars().count())
        .enumerate();
    let long = lines.filter(|&(_, columns)| columns > COLUMNS_MAX);
    long.map(|(index, columns)| {
        let advice = format!("{columns} columns are more than {COLUMNS_MAX}: break the line.");
        file.violation(index, "line-length", advice)
    })
    .collect()
}

/// `module-doc`: the first line of a Rust file says what the file owns.
pub(crate) fn module_doc(file: &File) -> Vec<Violation> {
    let concerned = file
        .path
        .split('/')
        .any(|part| ["src", "tests", "benches"].contains(&part));
    let first = file.text.lines().next().unwrap_or_default();
    let said = first
        .strip_prefix("//!")
        .is_some_and(|said| !said.trim().is_empty());
    if !file.is_rust() || !concerned || said {
        return Vec::new();
    }
    let advice = "begin with a `//!` line that says what the file owns.".to_owned();
    vec![file.violation(0, "module-doc", advice)]
}

/// `banned-word`, in Rust: leftovers of work in progress.
pub(crate) fn banned_words(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        let code: String = line.code.chars().filter(|c| !c.is_whitespace()).collect();
        for (word, advice) in BANNED_CODE {
            let standing_alone = |(at, _): (usize, &str)| {
                !word.starts_with(lex::is_word) || !code[..at].ends_with(lex::is_word)
            };
            if code.match_indices(word).any(standing_alone) {
                violations.push(file.violation(
                    index,
                    "banned-word",
                    format!("`{word}`: {advice}."),
                ));
            }
        }
        // WHY: each test file uses only a part of a module that tests share.
        let shared = file.is_test() && code.contains("reason=");
        if code.contains("allow(") && lex::has_word(&line.code, "dead_code") && !shared {
            let advice = "`allow(dead_code)`: remove the code.".to_owned();
            violations.push(file.violation(index, "banned-word", advice));
        }
        let noted = lex::words(&line.comment).any(|(at, word)| {
            let numbered = line.comment[at + word.len()..].starts_with("(#");
            word == "FIXME" || (word == "TODO" && !numbered)
        });
        if noted {
            let advice = "do it now, or name the issue: TODO(#n).".to_owned();
            violations.push(file.violation(index, "banned-word", advice));
        }
    }
    violations
}

/// `missing`: the files that every reader looks for.
pub(crate) fn missing(repo: &Repo, paths: &[&str]) -> Vec<Violation> {
    let absent = paths.iter().filter(|path| !repo.has(path));
    absent
        .map(|path| Violation {
            path: (*path).to_owned(),
            line: 1,
            rule: "missing",
            advice: "write this file.".to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: impl Fn(&File) -> Vec<Violation>, path: &str, text: &str) -> Vec<String> {
        let violations = rule(&File::new(path, text.len(), text.to_owned())).into_iter();
        violations
            .map(|one| format!("{}:{}", one.rule, one.line))
            .collect()
    }

    #[test]
    fn files_have_a_length_that_can_be_read() {
        let table: [(&str, usize, &[&str]); 13] = [
            ("a/src/b.rs", 600, &[]),
            ("a/src/b.rs", 601, &["file-length:601"]),
            ("a/src/b_tests.rs", 600, &[]),
            ("a/tests/b.rs", 600, &[]),
            ("a/tests/b.rs", 601, &["file-length:601"]),
            ("a/include/b.hpp", 600, &[]),
            ("a/include/b.hpp", 601, &["file-length:601"]),
            ("a/include/b.h", 800, &[]),
            ("a/b.pyi", 801, &["file-length:801"]),
            ("ARCHITECTURE.md", 250, &[]),
            ("ARCHITECTURE.md", 251, &["map-length:251"]),
            ("docs/a.md", 9000, &[]),
            ("Cargo.lock", 9000, &[]),
        ];
        for (path, lines, violations) in table {
            assert_eq!(
                found(length, path, &"\n".repeat(lines)),
                violations,
                "{path} {lines}"
            );
        }
        let generated = "// @generated\n".to_owned() + &"\n".repeat(900);
        assert!(found(length, "a/src/b.rs", &generated).is_empty());
    }

    #[test]
    fn blobs_are_refused_except_records() {
        let blob = "x".repeat(FILE_BYTES_MAX + 1);
        assert_eq!(found(length, "docs/a.svg", &blob), ["file-size:1"]);
        assert!(found(length, "benchmarks/record/cpu/a.json", &blob).is_empty());
        assert!(found(length, "docs/a.svg", &blob[1..]).is_empty());
    }

    #[test]
    fn lines_fit_the_page() {
        let wide = "ä".repeat(100);
        assert!(found(columns, "a.rs", &wide).is_empty());
        assert_eq!(
            found(columns, "a.rs", &format!("\n{wide}x")),
            ["line-length:2"]
        );
        assert!(found(columns, "a.md", &format!("{wide}x")).is_empty());
    }

    #[test]
    fn files_begin_with_what_they_own() {
        let table: [(&str, &str, &[&str]); 6] = [
            ("a/src/b.rs", "//! Owns b.\n", &[]),
            ("a/src/b.rs", "\n//! Owns b.\n", &["module-doc:1"]),
            ("a/src/b.rs", "//!\n", &["module-doc:1"]),
            ("a/tests/b.rs", "use c;", &["module-doc:1"]),
            ("a/build.rs", "use c;", &[]),
            ("a/src/b.py", "import c", &[]),
        ];
        for (path, text, violations) in table {
            assert_eq!(found(module_doc, path, text), violations, "{path}: {text}");
        }
    }

    #[test]
    fn leftovers_are_found_where_they_count() {
        const SHARED: &str = "#![allow(dead_code, reason = \"each test uses a part\")]";
        let table: [(&str, usize); 16] = [
            ("dbg!(a);", 1),
            ("my_dbg!(a);", 0),
            ("f(\"dbg!(a)\"); // dbg!", 0),
            ("todo!()", 1),
            ("std::todo!()", 1),
            ("unimplemented!()", 1),
            ("#[ignore]", 1),
            ("#[ignore = \"slow\"]", 1),
            ("#[allow(dead_code)]", 1),
            ("#![allow( dead_code )]", 1),
            ("#[allow(unused_mut, dead_code)]", 1),
            (SHARED, 1),
            ("// FIXME: a", 1),
            ("/// TODO: a", 1),
            ("// TODO(#3): a", 0),
            ("let a = \"FIXME\";", 0),
        ];
        for (text, count) in table {
            assert_eq!(found(banned_words, "a.rs", text).len(), count, "{text}");
        }
        assert!(found(banned_words, "a/tests/b/mod.rs", SHARED).is_empty());
    }

    #[test]
    fn missing_files_are_named() {
        let repo = Repo::of(&[("a.md", "")]);
        let violations = missing(&repo, &["a.md", "docs/b.md"]);
        assert_eq!(violations.len(), 1);
        assert_eq!(
            violations[0].to_string(),
            "docs/b.md:1: missing: write this file."
        );
    }
}
