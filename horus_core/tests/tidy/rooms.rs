//! Rooms: the imports allowed between folders of a crate, and the largest allowed import cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{File, Repo, Violation};
use super::lex;

/// The rooms of a folder in the order of their imports: each may import those before it and itself.
/// Rooms of one line do not import each other. Files beside the rooms are above them all.
struct House {
    folder: &'static str,
    floors: &'static [&'static [&'static str]],
}

const HOUSES: [House; 2] = [
    House {
        folder: "horus_shm/src",
        floors: &[
            &["protocol"],
            &["os"],
            &["process"],
            &["wait"],
            &["file", "heap"],
            &["endpoint"],
        ],
    },
    House {
        folder: "horus_core/src/scheduler",
        floors: &[&["api"], &["graph"], &["remote"], &["run"], &["watch"]],
    },
];

/// The folders that are searched for cycles.
const SEARCHED: [&str; 3] = ["horus_shm/src", "horus_core/src", "horus_cpp/src"];

/// The most files that may import each other in a cycle.
const CIRCLE_MAX: usize = 3;

/// A module as a list of names from the root of its crate.
type Module = Vec<String>;

/// `room-wall`: a room imports only those below it.
pub(crate) fn walls(repo: &Repo) -> Vec<Violation> {
    let mut violations = Vec::new();
    for house in &HOUSES {
        let source = house
            .folder
            .find("/src")
            .map_or(house.folder, |at| &house.folder[..at + 4]);
        let base = module(&house.folder[source.len()..]);
        let floor = |room: &str| house.floors.iter().position(|rooms| rooms.contains(&room));
        for file in repo
            .rust()
            .filter(|file| file.is_under(house.folder) && !file.is_test())
        {
            let own = module(&file.path[source.len()..]);
            let room = own.get(base.len()).map_or("", String::as_str);
            let Some(from) = floor(room) else { continue };
            for (index, path) in imports(file, &own) {
                let Some(named) = path.strip_prefix(base.as_slice()) else {
                    continue;
                };
                let Some(to) = named.first() else { continue };
                let is_wrong = match floor(to) {
                    Some(at) => to != room && at >= from,
                    None => repo.has(&format!("{}/{to}.rs", house.folder)),
                };
                if is_wrong {
                    let advice = format!("{room} must not import {to}: turn the arrow round.");
                    violations.push(file.violation(index, "room-wall", advice));
                }
            }
        }
    }
    violations
}

/// `circle`: only a few files may import each other.
pub(crate) fn circles(repo: &Repo) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in SEARCHED {
        let files = repo
            .rust()
            .filter(|file| file.is_under(source) && !file.is_test());
        let files: BTreeMap<Module, &File> = files
            .map(|file| (module(&file.path[source.len()..]), file))
            .collect();
        let mut arrows: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
        for (own, file) in &files {
            for (_, path) in imports(file, own) {
                let named = (1..=path.len()).rev().find_map(|length| {
                    files
                        .get_key_value(&path[..length])
                        .map(|(module, _)| module)
                });
                if let Some(to) = named.filter(|to| *to != own) {
                    arrows.entry(own).or_default().insert(to);
                }
            }
        }
        for circle in components(&arrows)
            .iter()
            .filter(|circle| circle.len() > CIRCLE_MAX)
        {
            let names: Vec<_> = circle.iter().map(|module| module.join("/")).collect();
            let advice = format!(
                "{} files import each other: {}.",
                names.len(),
                names.join(", ")
            );
            violations.push(files[circle[0]].violation(0, "circle", advice));
        }
    }
    violations
}

/// Returns the module of a file, by its path from the folder `src`.
fn module(path: &str) -> Module {
    let path = path.trim_matches('/').trim_end_matches(".rs");
    let names = path
        .split('/')
        .filter(|name| !name.is_empty() && !["mod", "lib"].contains(name));
    names.map(str::to_owned).collect()
}

/// Returns the paths within its own crate that a file names, and their lines, without its unit
/// tests.
fn imports(file: &File, own: &Module) -> Vec<(usize, Module)> {
    let mut found = Vec::new();
    let tests = file
        .lines
        .iter()
        .position(|line| line.code.trim_end() == "mod tests {");
    let code: Vec<&str> = file.lines.iter().map(|line| line.code.as_str()).collect();
    for (index, line) in code.iter().enumerate().take(tests.unwrap_or(code.len())) {
        for (at, word) in lex::words(line) {
            let is_root = !line[..at].trim_end().ends_with("::") && !line[..at].ends_with('(');
            if !is_root || !line[at + word.len()..].starts_with("::") {
                continue;
            }
            let start = match word {
                "crate" => Module::new(),
                "super" => own[..own.len().saturating_sub(1)].to_vec(),
                _ => continue,
            };
            let rest = &line[at + word.len() + 2..];
            let rest = [&[rest], &code[index + 1..]].concat().join(" ");
            found.extend(tree(&rest, &start).into_iter().map(|path| (index, path)));
        }
    }
    found
}

/// Returns the paths of `a::b` or `a::{b, c::d}` at the beginning of `text`, which continue
/// `start`.
fn tree(text: &str, start: &Module) -> Vec<Module> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return items(group)
            .iter()
            .flat_map(|item| tree(item, start))
            .collect();
    }
    let length = text.find(|c| !lex::is_word(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(length);
    let mut path = start.clone();
    match name {
        "" => return vec![path],
        "super" => drop(path.pop()),
        "self" => {}
        name => path.push(name.to_owned()),
    }
    match rest.trim_start().strip_prefix("::") {
        Some(rest) => tree(rest, &path),
        None => vec![path],
    }
}

/// Splits a group at its commas, up to the brace that closes it.
fn items(group: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut depth = 0;
    let mut from = 0;
    for (at, c) in group.char_indices() {
        match c {
            '}' if depth == 0 => {
                found.push(&group[from..at]);
                break;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.retain(|item| !item.trim().is_empty());
    found
}

/// Returns the strongly connected components of a graph, by Tarjan's algorithm (1972).
fn components<'a>(arrows: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> Vec<Vec<&'a Module>> {
    struct Search<'a, 'b> {
        arrows: &'b BTreeMap<&'a Module, BTreeSet<&'a Module>>,
        lowest: BTreeMap<&'a Module, usize>,
        path: Vec<&'a Module>,
        found: Vec<Vec<&'a Module>>,
    }
    impl<'a> Search<'a, '_> {
        fn visit(&mut self, at: &'a Module) -> usize {
            let number = self.lowest.len();
            self.lowest.insert(at, number);
            self.path.push(at);
            let mut lowest = number;
            for &to in self.arrows.get(at).into_iter().flatten() {
                let reached = match self.lowest.get(to) {
                    None => self.visit(to),
                    Some(&reached) if self.path.contains(&to) => reached,
                    Some(_) => continue,
                };
                lowest = lowest.min(reached);
            }
            self.lowest.insert(at, lowest);
            if lowest == number {
                let from = self.path.iter().position(|&one| one == at).unwrap_or(0);
                self.found.push(self.path.split_off(from));
            }
            lowest
        }
    }
    let mut search = Search {
        arrows,
        lowest: BTreeMap::new(),
        path: Vec::new(),
        found: Vec::new(),
    };
    for &at in arrows.keys() {
        if !search.lowest.contains_key(at) {
            search.visit(at);
        }
    }
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(violations: Vec<Violation>) -> Vec<String> {
        let text = |one: &Violation| format!("{}:{}:{}", one.path, one.line, one.rule);
        violations.iter().map(text).collect()
    }

    #[test]
    fn a_room_imports_those_below_it() {
        let table = [
            ("horus_shm/src/os/a.rs", "use crate::protocol::b::C;", 0),
            ("horus_shm/src/os/a.rs", "use crate::os::b::C;", 0),
            ("horus_shm/src/os/a.rs", "use crate::file::b::C;", 1),
            ("horus_shm/src/os/a.rs", "// crate::file::b::C", 0),
            (
                "horus_shm/src/os/a.rs",
                "use crate::{protocol::b, file::{c, d}};",
                2,
            ),
            ("horus_shm/src/os/a.rs", "use super::super::file::b;", 1),
            ("horus_shm/src/os/a.rs", "let a = crate::file::b::c();", 1),
            ("horus_shm/src/heap/a.rs", "use crate::file::b;", 1),
            (
                "horus_shm/src/os/a.rs",
                "mod tests {\nuse crate::file::b;",
                0,
            ),
            (
                "horus_core/src/scheduler/api/a.rs",
                "use crate::topic::Topic;",
                0,
            ),
            (
                "horus_core/src/scheduler/api/a.rs",
                "use crate::scheduler::run::b;",
                1,
            ),
            (
                "horus_core/src/scheduler/builder.rs",
                "use crate::scheduler::watch::b;",
                0,
            ),
        ];
        for (path, text, count) in table {
            assert_eq!(
                walls(&Repo::of(&[(path, text)])).len(),
                count,
                "{path}: {text}"
            );
        }
    }

    #[test]
    fn a_circle_of_four_files_is_found() {
        let files = [
            ("horus_shm/src/a.rs", "use crate::b::B;"),
            ("horus_shm/src/b.rs", "use super::c::C;"),
            ("horus_shm/src/c.rs", "use crate::{d::D, e};"),
            ("horus_shm/src/d.rs", "use crate::a::A;"),
            ("horus_shm/src/e.rs", "use crate::c;"),
        ];
        assert_eq!(
            found(circles(&Repo::of(&files))),
            ["horus_shm/src/a.rs:1:circle"]
        );
        assert_eq!(found(circles(&Repo::of(&files[1..]))), [""; 0]);
    }
}
