//! The table of orderings names the functions that use each edge, and no others.

use std::collections::BTreeSet;

use super::files::{File, Repo, Violation};
use super::lex::{self, Line};
use super::orderings::{self, Edge};

/// `ordering-uses`: the last column of the row of an edge in the docs has exactly the functions
/// that use the edge.
pub(crate) fn uses(repo: &Repo) -> Vec<Violation> {
    let Some(docs) = repo.get(orderings::DOCS) else {
        return Vec::new();
    };
    let edges = orderings::edges(repo);
    let mut violations = Vec::new();
    for (index, line) in docs.text.lines().enumerate() {
        let Some((label, functions)) = row(line) else {
            continue;
        };
        let is_edge = |edge: &&Edge<'_>| format!("{}/{}", edge.label, edge.half) == label;
        let Some(edge) = edges.iter().find(is_edge) else {
            continue;
        };
        let used = users(repo, edge.name);
        let is_user = |name: &&&str| used.iter().any(|(file, user)| is_name_of(name, file, user));
        let wrong = functions.iter().filter(|name| !is_user(name));
        let wrong = wrong.map(|name| format!("`{name}` does not use `{label}`: correct the row."));
        let is_named = |user: &str| functions.iter().any(|name| last_part(name) == user);
        let missing: BTreeSet<_> = used.iter().map(|&(_, user)| user).collect();
        let missing = missing.into_iter().filter(|user| !is_named(user));
        let missing = missing.map(|user| format!("`{user}` uses `{label}`: add it to the row."));
        let advice = wrong.chain(missing);
        violations.extend(advice.map(|text| docs.violation(index, "ordering-uses", text)));
    }
    violations
}

/// Returns the text in backticks in the first cell of a row, and those in the last cell.
fn row(line: &str) -> Option<(&str, Vec<&str>)> {
    let cells = line.strip_prefix('|')?.strip_suffix('|')?;
    let (first, rest) = cells.split_once('|')?;
    let label = first.split('`').nth(1)?;
    let last = rest.rsplit('|').next()?;
    Some((label, last.split('`').skip(1).step_by(2).collect()))
}

/// Returns the functions that use the edge `name` outside of tests, with their files.
fn users<'a>(repo: &'a Repo, name: &str) -> Vec<(&'a File, &'a str)> {
    let mut users = Vec::new();
    let names_it = |file: &&File| !file.is_test() && file.text.contains(name);
    for file in repo.rust().filter(names_it) {
        let mut function = "";
        for line in file.lines.iter().take_while(|line| !begins_tests(line)) {
            function = defined(&line.code).unwrap_or(function);
            let is_use = |(at, word)| word == name && line.code[..at].ends_with("edge::");
            if lex::words(&line.code).any(is_use) {
                users.push((file, function));
            }
        }
    }
    users
}

fn begins_tests(line: &Line) -> bool {
    line.code.starts_with("mod tests {")
}

/// Returns the name of the function that `code` defines.
fn defined(code: &str) -> Option<&str> {
    let mut words = lex::words(code);
    // WHY the blank: the type of a function, as in `fn(u32)`, has none.
    words.find(|&(at, word)| word == "fn" && code[at + 2..].starts_with(' '))?;
    words.next().map(|(_, name)| name)
}

fn last_part(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// Returns true if `name` names `function` of `file`, alone or behind the name of its type or file.
fn is_name_of(name: &str, file: &File, function: &str) -> bool {
    let owner = name.rsplit_once("::").map_or("", |(owner, _)| owner);
    let in_path = lex::has_word(&file.path, owner);
    let in_code = || {
        file.lines
            .iter()
            .any(|line| line.code.contains("impl") && lex::has_word(&line.code, owner))
    };
    last_part(name) == function && (owner.is_empty() || in_path || in_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: &str = "pub const SLOT_SEE: Edge = Edge::new(\"slot/see\", Ordering::Acquire);";
    const USES: &str = "\
impl Reader {
    fn read(&self) {
        // edge::SLOT_SEE
        a.load(edge::SLOT_SEE);
    }
    fn idle(&self) {}
}
fn poll(a: &A, edge: fn(&B)) { a.load(edge::SLOT_SEE); }
mod tests {
    fn check() { a.load(edge::SLOT_SEE); }
}
";

    #[test]
    fn rows_name_the_functions_that_use_an_edge() {
        let table: [(&str, &[&str]); 7] = [
            ("`Reader::read`, `lane::poll`", &[]),
            ("`read` and `poll`", &[]),
            ("`Reader::read`", &["poll"]),
            ("`Writer::read`, `poll`", &["Writer::read"]),
            ("`read`, `poll`, `idle`", &["idle"]),
            ("`read`, `poll`, `check`", &["check"]),
            ("`read`, `gone`", &["gone", "poll"]),
        ];
        for (cell, names) in table {
            let docs = format!("| `slot/see` | load | {cell} |\n| `flag` | | `gone` |\n");
            let found = uses(&Repo::of(&[
                (orderings::EDGES, EDGES),
                ("horus_shm/src/lane.rs", USES),
                ("horus_shm/tests/lane.rs", &USES.replace("read", "test")),
                (orderings::DOCS, &docs),
            ]));
            let found = found.iter().map(|one| one.advice.split('`').nth(1));
            let names = names.iter().map(|&name| Some(name));
            assert!(found.eq(names), "{cell}");
        }
    }
}
