//! Every `unsafe` has a proof.

use super::files::{File, Violation};
use super::lex::{self, Line};

/// The most lines between an `unsafe` and its proof, if that is not attached to the statement.
const LINES_ABOVE_MAX: usize = 3;

/// `safety`: every `unsafe` block and impl has a `SAFETY:` comment close above.
pub(crate) fn safety(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        let unsafes = lex::words(&line.code).filter(|&(_, word)| word == "unsafe");
        let claims = unsafes.filter(|(at, word)| {
            let after = line.code[at + word.len()..].trim_start();
            let next = || {
                file.lines
                    .get(index + 1)
                    .map_or("", |line| line.code.trim_start())
            };
            let after = if after.is_empty() { next() } else { after };
            after.starts_with('{') || after.starts_with("impl")
        });
        if claims.count() > 0 && !is_proven(&file.lines, index) {
            let advice = "prove it in a `// SAFETY:` comment directly above.".to_owned();
            violations.push(file.violation(index, "safety", advice));
        }
    }
    violations
}

fn is_proven(lines: &[Line], index: usize) -> bool {
    let near = &lines[index.saturating_sub(LINES_ABOVE_MAX)..=index];
    near.iter().any(|line| line.comment.contains("SAFETY:"))
        || lex::attached_comment(lines, lex::statement_start(lines, index), index)
            .contains("SAFETY:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unsafe_is_proven_close_by() {
        let long = "// SAFETY: a\n// b\n// c\n// d\nunsafe { e() }";
        let far = "// SAFETY: a\nb();\nc();\nd();\nunsafe { e() }";
        let argument = "// SAFETY: a\nb(\n    c,\n    d,\n    e,\n    unsafe { f() },\n);";
        let table: [(&str, &[usize]); 14] = [
            ("unsafe { a() }", &[1]),
            ("let b = unsafe { a() };", &[1]),
            ("\nunsafe\n{ a() }", &[2]),
            ("unsafe impl Send for A {}", &[1]),
            ("// SAFETY: a\nunsafe { a() }", &[]),
            ("unsafe { a() } // SAFETY: a", &[]),
            ("// SAFETY: a\n\nunsafe impl Send for A {}", &[]),
            (long, &[]),
            (far, &[5]),
            (argument, &[]),
            ("unsafe fn a() {}", &[]),
            ("#[unsafe(no_mangle)]", &[]),
            ("// unsafe { a() }", &[]),
            ("let a = \"unsafe { }\";", &[]),
        ];
        for (text, lines) in table {
            let violations = safety(&File::new("a.rs", text.len(), text.to_owned()));
            let found: Vec<_> = violations.iter().map(|one| one.line).collect();
            assert_eq!(found, lines, "{text}");
        }
    }
}
