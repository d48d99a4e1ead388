//! Documents are correct: the names, commands and links in them exist.

use std::collections::BTreeSet;

use super::crates;
use super::files::{File, Repo, Violation};
use super::lex;

const MAP: &str = "ARCHITECTURE.md";

/// The document that names what was there once.
const HISTORY: &str = "CHANGELOG.md";

/// Names of other projects, and of examples, in documents.
const FOREIGN: [&str; 11] = [
    "CMAKE_INSTALL_RPATH",
    "RCLCPP_INFO",
    "ROS_DOMAIN_ID",
    "arm_4711_9f3c20b1",
    "coredump_filter",
    "rqt_console",
    "rqt_graph",
    "rqt_image_view",
    "rqt_plot",
    "sched_rt_runtime_us",
    "smp_mb()",
];

/// This test's own files, whose examples name what does not exist.
const EXAMPLES: &str = "horus_core/tests/tidy";

/// A line of a document.
struct DocLine<'a> {
    index: usize,
    text: &'a str,
    /// True if it is in a code block.
    is_code: bool,
}

fn doc_lines(file: &File) -> Vec<DocLine<'_>> {
    let mut in_block = false;
    let mut lines = Vec::new();
    for (index, text) in file.text.lines().enumerate() {
        let fence = text.trim_start().starts_with("```");
        in_block ^= fence;
        lines.push(DocLine {
            index,
            text,
            is_code: in_block || fence,
        });
    }
    lines
}

fn documents(repo: &Repo) -> impl Iterator<Item = &File> {
    repo.files.iter().filter(|file| file.path.ends_with(".md"))
}

/// Returns the texts in backticks in a line of prose.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// `names`: files, crates and identifiers in backticks in the map exist; in the other documents
/// those that cannot be ordinary words.
pub(crate) fn names(repo: &Repo) -> Vec<Violation> {
    let sources = repo
        .files
        .iter()
        .filter(|file| !file.path.ends_with(".md") && !file.path.starts_with(EXAMPLES));
    let words: BTreeSet<&str> = sources
        .flat_map(|file| lex::words(&file.path).chain(lex::words(&file.text)))
        .map(|(_, word)| word)
        .collect();
    let mut violations = Vec::new();
    for file in documents(repo).filter(|file| file.path != HISTORY) {
        let is_checked = |span: &&str| file.path == MAP || is_own_name(span);
        for line in doc_lines(file).iter().filter(|line| !line.is_code) {
            let spans = spans(line.text).filter(is_checked);
            for span in spans.filter(|span| !exists(repo, &words, span)) {
                let advice = format!("`{span}` does not exist: correct the document.");
                violations.push(file.violation(line.index, "names", advice));
            }
        }
    }
    violations
}

/// Returns true if `span` can only be a Rust file, or an identifier of this project.
fn is_own_name(span: &str) -> bool {
    let is_camel_case = span.starts_with(char::is_uppercase)
        && span.chars().skip(1).any(char::is_uppercase)
        && span.contains(char::is_lowercase);
    let is_name = span.contains("::") || span.contains('_') || span.ends_with("()");
    let is_path = span.contains(['/', '.', '-']);
    let is_own = span.ends_with(".rs") || !is_path && (is_name || is_camel_case);
    is_own && !span.starts_with('_') && !FOREIGN.contains(&span)
}

/// Returns true if the item that `span` names exists, or if it is neither a path nor an identifier.
fn exists(repo: &Repo, words: &BTreeSet<&str>, span: &str) -> bool {
    let is_path_char = |c: char| lex::is_word(c) || "/.-".contains(c);
    let extension = span.rsplit_once('.').is_some_and(|(stem, extension)| {
        let letters =
            extension.starts_with(char::is_alphabetic) && extension.chars().all(lex::is_word);
        !stem.is_empty() && extension.len() <= 4 && letters
    });
    if span.chars().all(is_path_char) && (span.contains('/') || extension) {
        let path = span.trim_start_matches("./").trim_end_matches('/');
        let inside = |file: &File| format!("/{}/", file.path).contains(&format!("/{path}/"));
        // WHY: without an extension it may be the id of a benchmark or the name of a topic.
        let known = |part: &str| lex::words(part).all(|(_, word)| words.contains(word));
        let is_id = !extension && !span.ends_with('/') && path.split('/').all(known);
        return is_id || repo.files.iter().any(inside);
    }
    let name = span.trim_end_matches("()").trim_end_matches('!');
    let is_name = |part: &str| part.chars().all(lex::is_word);
    let named = name.split("::").all(is_name) && name.contains(char::is_alphabetic);
    !named || name.split("::").all(|part| words.contains(part))
}

/// `commands`: the commands in documents exist: targets of make, packages, binaries.
pub(crate) fn commands(repo: &Repo) -> Vec<Violation> {
    let targets = repo
        .get("Makefile")
        .map(|file| targets(&file.text))
        .unwrap_or_default();
    let packages = crates::packages(repo);
    let mut violations = Vec::new();
    for file in documents(repo) {
        for line in doc_lines(file) {
            let typed: Vec<&str> = if line.is_code {
                vec![line.text]
            } else {
                spans(line.text).collect()
            };
            let wrong = typed
                .iter()
                .filter_map(|typed| wrong(repo, &targets, &packages, typed));
            violations.extend(wrong.map(|advice| file.violation(line.index, "commands", advice)));
        }
    }
    violations
}

/// Returns the mistake in a line that a reader may type.
fn wrong(repo: &Repo, targets: &[&str], packages: &[String], typed: &str) -> Option<String> {
    let typed = typed.trim().trim_start_matches("$ ").split('#').next()?;
    let words: Vec<&str> = typed.split_whitespace().collect();
    let command = words.iter().position(|word| !word.contains('='))?;
    let after = |options: [&str; 2]| {
        let at = words.iter().position(|word| options.contains(word))?;
        words.get(at + 1).copied()
    };
    match words[command] {
        "make" => {
            let is_target = |word: &&&str| !word.contains('=') && !word.starts_with('-');
            let named = words[command + 1..].iter().filter(is_target);
            let unknown = named.copied().find(|word| !targets.contains(word))?;
            Some(format!("the Makefile has no target `{unknown}`."))
        }
        "cargo" => {
            let package = after(["-p", "--package"]);
            if let Some(package) = package.filter(|name| packages.iter().all(|one| one != name)) {
                return Some(format!("there is no package `{package}`."));
            }
            let (kind, name) = match (after(["--bin"; 2]), after(["--example"; 2])) {
                (Some(name), _) => ("src/bin", name),
                (None, Some(name)) => ("examples", name),
                (None, None) => return None,
            };
            let at = [
                format!("{kind}/{name}.rs"),
                format!("{kind}/{name}/main.rs"),
            ];
            let file = |file: &File| at.iter().any(|end| file.path.ends_with(end.as_str()));
            let exists = repo.files.iter().any(file) || packages.iter().any(|one| one == name);
            (!exists).then(|| format!("there is no `{name}` in {kind} of any package."))
        }
        _ => None,
    }
}

fn targets(makefile: &str) -> Vec<&str> {
    let rules = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#', '.']));
    let rules = rules.filter_map(|line| line.split_once(':'));
    let rules = rules.filter(|(_, rest)| !rest.starts_with('='));
    rules
        .flat_map(|(targets, _)| targets.split_whitespace())
        .collect()
}

/// `links`: the targets of links within the repository exist, including headings.
pub(crate) fn links(repo: &Repo) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in documents(repo) {
        for line in doc_lines(file).iter().filter(|line| !line.is_code) {
            for target in
                link_targets(line.text).filter(|target| !leads_somewhere(repo, file, target))
            {
                let advice = format!("the target of the link to {target} does not exist.");
                violations.push(file.violation(line.index, "links", advice));
            }
        }
    }
    violations
}

/// Returns the targets of `[text](target)` and `[text]: target`.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split('`').step_by(2);
    let inline = prose.flat_map(|prose| {
        prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ']).next())
    });
    let definition = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "));
    inline.chain(definition.map(|(_, target)| target.trim()))
}

fn leads_somewhere(repo: &Repo, from: &File, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() {
        from.path.clone()
    } else {
        resolve(&from.path, path)
    };
    let has_heading = |file: &File| headings(file).iter().any(|one| one == heading);
    let is_document = path.ends_with(".md") && !heading.is_empty();
    repo.has(&path) && (!is_document || repo.get(&path).is_some_and(has_heading))
}

/// Resolves `target` in the document `from` to a path from the root.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the anchors of a document's headings.
fn headings(file: &File) -> Vec<String> {
    let lines = doc_lines(file).into_iter().filter(|line| !line.is_code);
    let titles = lines.filter_map(|line| {
        line.text
            .starts_with('#')
            .then(|| line.text.trim_start_matches('#').trim())
    });
    titles.map(anchor).collect()
}

fn anchor(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|&c| lex::is_word(c) || c == '-' || c == ' ');
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rule: impl Fn(&Repo) -> Vec<Violation>, path: &str, text: &str) -> usize {
        let repo = Repo::of(&[
            (path, text),
            ("horus_shm/Cargo.toml", "[package]\nname = \"horus_shm\""),
            ("horus_shm/src/lane.rs", "struct LaneWriter; fn write() {}"),
            ("horus_shm/src/bin/floor.rs", "//! Measures."),
            (
                "docs/format.md",
                "# The format\n\n## Lanes, and `gates`\n\n```\n# no heading\n```\n",
            ),
            (
                "Makefile",
                "X := y\n\ntest lint: tools\n\tcargo test\n\n.PHONY: test\n",
            ),
            ("horus_core/tests/tidy/docs.rs", "struct Gone;"),
        ]);
        rule(&repo).len()
    }

    #[test]
    fn the_map_names_what_exists() {
        let table = [
            (
                "`horus_shm/src/lane.rs` `src/lane.rs` `lane.rs` `horus_shm/`",
                0,
            ),
            ("`horus_shm/src/gone.rs`", 1),
            ("`gone.rs` and `gone/` and `src/`", 2),
            ("`lane/write` but `lane/gone` and `lane/write/`", 2),
            ("`horus_shm` but `horus_gone`", 1),
            (
                "`LaneWriter` `LaneWriter::write` `lane::LaneWriter` `write()`",
                0,
            ),
            ("`LaneReader`", 1),
            ("`LaneWriter::gone`", 1),
            ("`Gone`", 1),
            ("`a -> b` `0.5` `2 * n + 1` `\"x\"`", 0),
            ("LaneReader\n```\n`LaneReader`\n```", 0),
        ];
        for (text, violations) in table {
            assert_eq!(count(names, MAP, text), violations, "{text}");
        }
    }

    #[test]
    fn documents_name_what_exists() {
        let table = [
            ("`lane.rs` `LaneWriter` `LaneWriter::write` `write()`", 0),
            ("`gone.rs` `src/gone.rs`", 2),
            ("`LaneReader` `LaneWriter::gone` `gone()` `gone_away`", 4),
            ("`Gone` `gone` `GONE` `gone.so` `a/gone_b` `_gone`", 0),
            ("`CMAKE_INSTALL_RPATH`", 0),
        ];
        for (text, violations) in table {
            assert_eq!(count(names, "README.md", text), violations, "{text}");
        }
        assert_eq!(count(names, HISTORY, "`gone_away`"), 0);
    }

    #[test]
    fn commands_in_documents_exist() {
        let table = [
            ("```\nmake test\n$ make lint X=y -j2 # gone\n```", 0),
            ("```\nmake gone\n```", 1),
            ("Run `make gone`, or make gone.", 1),
            ("```\nCI=1 cargo run -p horus_shm --bin floor\n```", 0),
            ("```\ncargo run -p gone\n```", 1),
            ("`cargo run --bin gone`", 1),
            ("`cargo run --example gone`", 1),
            ("`cargo build`", 0),
        ];
        for (text, violations) in table {
            assert_eq!(count(commands, "README.md", text), violations, "{text}");
        }
    }

    #[test]
    fn links_have_targets() {
        let table = [
            ("[a](docs/format.md) ![b](docs) [c](../d/e)", 1),
            ("[a](https://b.c/d)", 0),
            (
                "[a](docs/format.md#the-format) [b](docs/format.md#lanes-and-gates)",
                0,
            ),
            ("[a](docs/format.md#no-heading)", 1),
            ("# Top\n[a](#top) [b](#bottom)", 1),
            ("[a]: docs/gone.md", 1),
            ("`[a](gone)`\n```\n[a](gone)\n```", 0),
        ];
        for (text, violations) in table {
            assert_eq!(count(links, "README.md", text), violations, "{text}");
        }
        assert_eq!(
            count(links, "docs/a.md", "[a](format.md) [b](../Makefile)"),
            0
        );
        assert_eq!(count(links, "docs/a.md", "[a](docs/format.md)"), 1);
    }
}
