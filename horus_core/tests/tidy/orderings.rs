//! Atomics come in pairs: every ordering has a label, both halves, and a row in the docs.

use std::collections::BTreeMap;

use super::files::{File, Repo, Violation};
use super::lex::{self, Line};

/// The file that declares the edges of the lane protocol.
pub(crate) const EDGES: &str = "horus_shm/src/protocol/sync/edge.rs";

/// The file that declares the edges of handles.
const HANDLE_EDGES: &str = "horus_cpp/src/handle/sync.rs";

/// The document that explains every label.
pub(crate) const DOCS: &str = "docs/memory-ordering.md";

/// Orderings that another thread relies on.
const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// Files of `horus_shm` that name orderings, besides [`EDGES`].
const ORDERING_PLACES: [&str; 8] = [
    EDGES,
    // Words, whose accesses get their orderings from edges.
    "horus_shm/src/protocol/sync.rs",
    // Words of a payload: always relaxed, at any address.
    "horus_shm/src/protocol/copy.rs",
    // Statics of this process that `fork` handlers access; models do not replace that memory.
    "horus_shm/src/process/fork.rs",
    // Statics of this process that a forked child must not wait for.
    "horus_shm/src/os/once.rs",
    // Statics of this process that signal handlers access.
    "horus_shm/src/os/fault.rs",
    "horus_shm/src/os/signal.rs",
    "horus_shm/src/os/termination.rs",
];

/// An ordering with a name: `SLOT_SEE` is the half `see` of the label `slot`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: &'a str,
    pub(crate) half: &'a str,
    file: &'a File,
    index: usize,
}

/// The place of a label.
#[derive(Debug)]
struct Site<'a> {
    file: &'a File,
    index: usize,
    label: String,
}

/// `ordering`, `ordering-half` and `ordering-docs`.
pub(crate) fn orderings(repo: &Repo) -> Vec<Violation> {
    let edges = edges(repo);
    let mut violations = Vec::new();
    let mut sites = Vec::new();
    for file in repo.rust() {
        violations.extend(labelled(file, &edges));
        sites.extend(labels(file));
    }
    violations.extend(paired(&sites));
    violations.extend(halves(repo, &edges));
    if let Some(docs) = repo.get(DOCS) {
        // WHY: the synchronisation of a test itself is not part of the protocol.
        let sites: Vec<_> = sites
            .into_iter()
            .filter(|site| !site.file.is_test())
            .collect();
        violations.extend(documented(docs, &edges, &sites));
    }
    violations
}

/// Returns the edges that the repository declares.
pub(crate) fn edges(repo: &Repo) -> Vec<Edge<'_>> {
    let files = [EDGES, HANDLE_EDGES];
    let files = files.iter().filter_map(|path| repo.get(path));
    files.flat_map(declared).collect()
}

/// Returns the edges that `file` declares: `const NAME: Edge = Edge::new("label/half", …)`.
fn declared(file: &File) -> Vec<Edge<'_>> {
    let edge = |(index, line)| {
        let line: &str = line;
        let (name, value) = line.split_once("const ")?.1.split_once(": Edge = ")?;
        let (label, half) = value.split('"').nth(1)?.split_once('/')?;
        Some(Edge {
            name,
            label,
            half,
            file,
            index,
        })
    };
    file.text.lines().enumerate().filter_map(edge).collect()
}

/// Checks that every use of an ordering or an edge has a label above it, and an edge its own.
fn labelled(file: &File, edges: &[Edge<'_>]) -> Vec<Violation> {
    // WHY: a test that uses an edge stands in for code that already labels the edge.
    let edges = if file.is_test() { &[] } else { edges };
    let mut violations = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        if imports_orderings(&line.code) {
            let advice = "write `Ordering::X` and `edge::X` where they are used.".to_owned();
            violations.push(file.violation(index, "ordering", advice));
        }
        let used = used(&line.code, edges);
        if used.is_empty() {
            continue;
        }
        let found = labels_above(&file.lines, index, edges);
        let advice = if found.is_empty() {
            "name its counterpart in an `// ORDERING(label):` comment directly above.".to_owned()
        } else if let Some(edge) = used
            .iter()
            .flatten()
            .find(|edge| found.iter().all(|label| label != edge.label))
        {
            format!("`{}` needs `ORDERING({})` above.", edge.name, edge.label)
        } else {
            continue;
        };
        violations.push(file.violation(index, "ordering", advice));
    }
    violations
}

fn imports_orderings(code: &str) -> bool {
    let code = code.trim();
    let import = code.starts_with("use ") || code.starts_with("pub use ");
    let strong = || code.contains('*') || STRONG.iter().any(|word| lex::has_word(code, word));
    import && (code.contains("edge::") || (code.contains("Ordering::") && strong()))
}

/// Returns the edges that `code` uses by name, and `None` for each ordering.
fn used<'a>(code: &str, edges: &'a [Edge<'a>]) -> Vec<Option<&'a Edge<'a>>> {
    let mut found = Vec::new();
    for (at, word) in lex::words(code) {
        let before = &code[..at];
        if STRONG.contains(&word) && before.ends_with("Ordering::") {
            found.push(None);
        } else if before.ends_with("edge::") {
            found.extend(edges.iter().find(|edge| edge.name == word).map(Some));
        }
    }
    found
}

/// Returns the labels of the statement in line `index`, and of the one directly above if that uses
/// an ordering too.
fn labels_above(lines: &[Line], index: usize, edges: &[Edge]) -> Vec<String> {
    let mut last = index;
    loop {
        let first = lex::statement_start(lines, last);
        let found = labels_in(&lex::attached_comment(lines, first, last));
        let above = first
            .checked_sub(1)
            .filter(|&above| !used(&lines[above].code, edges).is_empty());
        match above {
            Some(above) if found.is_empty() => last = above,
            _ => return found,
        }
    }
}

fn labels_in(comment: &str) -> Vec<String> {
    let rest = comment.split("ORDERING(").skip(1);
    rest.filter_map(|rest| rest.split_once(')'))
        .map(|(label, _)| label.to_owned())
        .collect()
}

fn labels(file: &File) -> impl Iterator<Item = Site<'_>> {
    file.lines
        .iter()
        .enumerate()
        .flat_map(move |(index, line)| {
            labels_in(&line.comment)
                .into_iter()
                .map(move |label| Site { file, index, label })
        })
}

/// Checks that every label occurs in at least two places.
fn paired(sites: &[Site]) -> Vec<Violation> {
    let mut count = BTreeMap::new();
    for site in sites {
        *count.entry(&site.label).or_insert(0) += 1;
    }
    let single = sites.iter().filter(|site| count[&site.label] == 1);
    let violation = |site: &Site| {
        let advice = format!("`{}` occurs only here: label its other half.", site.label);
        site.file.violation(site.index, "ordering-half", advice)
    };
    single.map(violation).collect()
}

/// Checks that every label has two edges or more, and that every edge is used.
fn halves(repo: &Repo, edges: &[Edge<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for edge in edges {
        let other = |other: &&Edge| other.label == edge.label && other.half != edge.half;
        if edges.iter().find(other).is_none() {
            let advice = format!("declare the other half of `{}`.", edge.label);
            violations.push(edge.file.violation(edge.index, "ordering-half", advice));
        }
        let path = format!("edge::{}", edge.name);
        let uses = |file: &File| {
            let names =
                |line: &Line| line.code.contains(&path) && lex::has_word(&line.code, edge.name);
            !file.is_test() && file.lines.iter().any(names)
        };
        if !repo.rust().any(uses) {
            let advice = format!("no code uses `{}`: remove it.", edge.name);
            violations.push(edge.file.violation(edge.index, "ordering-half", advice));
        }
    }
    violations
}

/// Checks that the table of the docs lists exactly the edges and the other labels of the code.
fn documented(docs: &File, edges: &[Edge<'_>], sites: &[Site]) -> Vec<Violation> {
    let mut expected = BTreeMap::new();
    for edge in edges {
        expected.insert(
            format!("{}/{}", edge.label, edge.half),
            (edge.file, edge.index),
        );
    }
    let others = sites
        .iter()
        .filter(|site| edges.iter().all(|edge| edge.label != site.label));
    for site in others {
        expected
            .entry(site.label.clone())
            .or_insert((site.file, site.index));
    }
    let rows = rows(docs);
    let mut violations = Vec::new();
    let missing = expected
        .iter()
        .filter(|(label, _)| rows.iter().all(|(_, row)| row != *label));
    for (label, &(file, index)) in missing {
        let advice = format!("give `{label}` a row in {DOCS}.");
        violations.push(file.violation(index, "ordering-docs", advice));
    }
    for (index, label) in rows
        .into_iter()
        .filter(|(_, label)| !expected.contains_key(label))
    {
        let advice = format!("no code has the label `{label}`: remove the row.");
        violations.push(docs.violation(index, "ordering-docs", advice));
    }
    violations
}

/// Returns the labels of the docs: the texts in backticks in the first column of a table.
fn rows(docs: &File) -> Vec<(usize, String)> {
    let mut rows = Vec::new();
    for (index, line) in docs.text.lines().enumerate() {
        let cell = line
            .strip_prefix('|')
            .and_then(|line| line.split('|').next());
        let labels = cell.unwrap_or_default().split('`').skip(1).step_by(2);
        rows.extend(labels.map(|label| (index, label.to_owned())));
    }
    rows
}

/// `ordering-import`: in `horus_shm` orderings are named in one place.
pub(crate) fn ordering_imports(file: &File) -> Vec<Violation> {
    if !file.is_under("horus_shm/src") || ORDERING_PLACES.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let names = |line: &&(usize, &Line)| {
        let code = &line.1.code;
        let path = |(at, word): (usize, &str)| {
            let named = STRONG.contains(&word) || word == "Relaxed";
            named && code[..at].ends_with("Ordering::")
        };
        let import = lex::has_word(code, "atomic") && lex::has_word(code, "Ordering");
        import || lex::words(code).any(path)
    };
    let lines: Vec<_> = file.lines.iter().enumerate().collect();
    let first = lines.iter().find(names);
    let advice = || format!("take the ordering from {EDGES}, where models can weaken it.");
    first
        .map(|(index, _)| file.violation(*index, "ordering-import", advice()))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: &str = "\
//! Edges.
/// ORDERING(slot): a.
pub const SLOT_PUBLISH: Edge = Edge::new(\"slot/publish\", Ordering::Release);
/// ORDERING(slot): b.
pub const SLOT_SEE: Edge = Edge::new(\"slot/see\", Ordering::Acquire);
pub const ALL: [Edge; 2] = [SLOT_PUBLISH, SLOT_SEE];
";
    const USES: &str = "\
//! Uses.
// ORDERING(slot): a.
a.store(1, edge::SLOT_PUBLISH);
// ORDERING(slot): b.
a.load(edge::SLOT_SEE);
// ORDERING(flag): a.
b.load(Ordering::Acquire);
// ORDERING(flag): b.
b.store(1, Ordering::Release);
";
    const TABLE: &str = "\
# Orderings

| label | why |
|---|---|
| `slot/publish` | because `so` |
| `slot/see` | |
| `flag` | |
";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let violations = orderings(&Repo::of(files)).into_iter();
        violations
            .map(|one| format!("{}:{}:{}", one.path, one.line, one.rule))
            .collect()
    }

    #[test]
    fn every_ordering_carries_a_label() {
        let sync = File::new(EDGES, 0, SYNC.to_owned());
        let edges = declared(&sync);
        assert_eq!(edges.len(), 2);
        let run = "// ORDERING(a): b\nc.load(Ordering::SeqCst);\nd.load(Ordering::SeqCst);";
        let cut = "// ORDERING(a): b\nc();\nd.load(Ordering::SeqCst);";
        let long = "// ORDERING(a): b\nc.exchange(\n    d,\n    Ordering::SeqCst,\n);";
        let table: [(&str, &[usize]); 17] = [
            ("a.load(Ordering::Acquire);", &[1]),
            ("a.load(Ordering::Relaxed);", &[]),
            ("a.cmp(b) == Ordering::Less", &[]),
            ("a.load(edge::SLOT_SEE);", &[1]),
            ("for edge in edge::LANE_EDGES {}", &[]),
            ("// ORDERING(slot): a\nb.load(edge::SLOT_SEE);", &[]),
            ("// ORDERING(head): a\nb.load(edge::SLOT_SEE);", &[2]),
            ("// Acquire: a\nb.load(Ordering::Acquire);", &[2]),
            ("// ORDERING(a): b\n\nc.load(Ordering::Acquire);", &[3]),
            ("c.load(Ordering::Acquire); // ORDERING(a): b", &[]),
            (run, &[]),
            (cut, &[3]),
            (long, &[]),
            ("use core::sync::atomic::Ordering;", &[]),
            ("use core::sync::atomic::Ordering::Relaxed;", &[]),
            (
                "use core::sync::atomic::Ordering::{Acquire, Release};",
                &[1],
            ),
            ("use crate::sync::edge::SLOT_SEE;", &[1, 1]),
        ];
        for (text, lines) in table {
            let violations = labelled(&File::new("a.rs", 0, text.to_owned()), &edges);
            let found: Vec<_> = violations.iter().map(|one| one.line).collect();
            assert_eq!(found, lines, "{text}");
        }
        let test = File::new("tests/a.rs", 0, "a.load(edge::SLOT_SEE);".to_owned());
        assert!(labelled(&test, &edges).is_empty());
    }

    #[test]
    fn pairs_that_are_used_and_documented_are_fine() {
        assert_eq!(
            found(&[(EDGES, SYNC), ("a/src/b.rs", USES), (DOCS, TABLE)]),
            [""; 0]
        );
    }

    #[test]
    fn a_label_has_both_halves() {
        let single = "//! Single.\n// ORDERING(flag): a.\na.load(Ordering::Acquire);\n";
        assert_eq!(
            found(&[("a/src/b.rs", single)]),
            ["a/src/b.rs:2:ordering-half"]
        );
        let half: String = SYNC
            .lines()
            .take(3)
            .map(|line| line.to_owned() + "\n")
            .collect();
        let uses: String = USES
            .lines()
            .take(3)
            .map(|line| line.to_owned() + "\n")
            .collect();
        let halved = found(&[(EDGES, &half), ("a/src/b.rs", &uses)]);
        assert_eq!(halved, [format!("{EDGES}:3:ordering-half")]);
    }

    #[test]
    fn an_edge_is_used_outside_tests() {
        let unused = [
            format!("{EDGES}:3:ordering-half"),
            format!("{EDGES}:5:ordering-half"),
        ];
        assert_eq!(found(&[(EDGES, SYNC)]), unused);
        assert_eq!(found(&[(EDGES, SYNC), ("a/tests/b.rs", USES)]), unused);
    }

    #[test]
    fn docs_and_code_have_the_same_labels() {
        let code = [(EDGES, SYNC), ("a/src/b.rs", USES)];
        let table = [
            (TABLE.to_owned(), vec![]),
            (
                TABLE.replace("`flag`", "flag"),
                vec!["a/src/b.rs:6:ordering-docs".to_owned()],
            ),
            (
                TABLE.replace("`slot/see`", ""),
                vec![format!("{EDGES}:5:ordering-docs")],
            ),
            (
                TABLE.to_owned() + "| `slot/gone` | |\n",
                vec![format!("{DOCS}:8:ordering-docs")],
            ),
            (
                TABLE.to_owned() + "| `gone` | |\n",
                vec![format!("{DOCS}:8:ordering-docs")],
            ),
        ];
        for (docs, violations) in table {
            assert_eq!(
                found(&[code[0], code[1], (DOCS, &docs)]),
                violations,
                "{docs}"
            );
        }
    }

    #[test]
    fn orderings_are_named_in_one_place() {
        let table = [
            (
                "horus_shm/src/a.rs",
                "use std::sync::atomic::{AtomicU64, Ordering};",
                1,
            ),
            ("horus_shm/src/a.rs", "a.load(atomic::Ordering::Relaxed)", 1),
            ("horus_shm/src/a.rs", "use std::cmp::Ordering;", 0),
            (
                "horus_shm/src/process/fork.rs",
                "use std::sync::atomic::Ordering;",
                0,
            ),
            (
                "horus_shm/tests/a.rs",
                "use std::sync::atomic::Ordering;",
                0,
            ),
            ("horus_core/src/a.rs", "use std::sync::atomic::Ordering;", 0),
        ];
        for (path, text, count) in table {
            let violations = ordering_imports(&File::new(path, 0, text.to_owned()));
            assert_eq!(violations.len(), count, "{path}: {text}");
        }
    }
}
