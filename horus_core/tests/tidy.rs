//! The repository's own rules, over every file that belongs to it.

use horus_testing as _;

use std::path::Path;

mod tidy {
    pub(crate) mod crates;
    pub(crate) mod docs;
    pub(crate) mod files;
    pub(crate) mod lex;
    pub(crate) mod orderings;
    pub(crate) mod proofs;
    pub(crate) mod rooms;
    pub(crate) mod shape;
    pub(crate) mod used_in;
    pub(crate) mod words;
}

use tidy::files::{File, Repo, Violation};
use tidy::{crates, docs, orderings, proofs, rooms, shape, used_in, words};

/// The files that every reader looks for.
const EXPECTED: [&str; 9] = [
    ".ci/run",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "rust-toolchain.toml",
    orderings::DOCS,
];

/// The rules that check one file.
const FILE_RULES: [fn(&File) -> Vec<Violation>; 8] = [
    orderings::ordering_imports,
    proofs::safety,
    shape::banned_words,
    shape::columns,
    shape::length,
    shape::module_doc,
    words::headless,
    words::replaced,
];

/// The rules that compare files.
const REPO_RULES: [fn(&Repo) -> Vec<Violation>; 11] = [
    |repo| shape::missing(repo, &EXPECTED),
    crates::imports,
    crates::safe_core,
    crates::time_limits,
    docs::commands,
    docs::links,
    docs::names,
    orderings::orderings,
    rooms::circles,
    rooms::walls,
    used_in::uses,
];

#[test]
fn the_repository_keeps_its_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a crate has a workspace");
    let repo = Repo::read(root);
    assert!(
        repo.has("horus_core/tests/tidy.rs"),
        "no files found below {}",
        root.display()
    );
    let of_files = repo
        .files
        .iter()
        .flat_map(|file| FILE_RULES.iter().flat_map(|rule| rule(file)));
    let mut violations: Vec<_> = of_files
        .chain(REPO_RULES.iter().flat_map(|r| r(&repo)))
        .collect();
    violations.sort();
    for violation in &violations {
        eprintln!("{violation}");
    }
    assert!(
        violations.is_empty(),
        "{} violations, listed above",
        violations.len()
    );
}
