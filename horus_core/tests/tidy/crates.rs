//! The imports that each crate may have, and the crates that may call the kernel.

use super::files::{File, Repo, Violation};
use super::lex;

/// The support of all tests: code of any crate may import it, but no crate ships with it.
const TESTING: &str = "horus_testing";

/// The crates of this workspace that each crate may import, besides itself. All others: [`ABOVE`].
const LAYERS: [(&str, &[&str]); 7] = [
    ("horus_shm", &[]),
    (TESTING, &[]),
    ("horus_core", &["horus_shm"]),
    ("horus_py", &["horus_core"]),
    ("horus_cpp", &["horus_core"]),
    ("horus_cpp_cxx", &["horus_core", "horus_cpp"]),
    ("horus_benchmarks", &["horus_core", "horus_shm"]),
];

/// The crates of this workspace that examples, tools and bridges may import.
const ABOVE: &[&str] = &["horus_core"];

/// Crates that reach the kernel or map files.
const SYSTEM: [&str; 4] = ["libc", "memmap2", "nix", "rustix"];

/// The places that may use those, besides tests: crates, and the real-time set-up.
const SYSTEM_PLACES: [&str; 5] = [
    "horus_shm/",
    "horus_benchmarks/",
    "horus_testing/",
    "horus_core/src/rt.rs",
    "horus_core/src/rt/",
];

/// The places of `horus_core` that may allow `unsafe`.
const UNSAFE_PLACES: [&str; 3] = [
    // `message!` proves its `unsafe impl` by compile-time checks.
    "horus_core/src/message/declare.rs",
    // Priority, affinity and memory locking are system calls.
    "horus_core/src/rt.rs",
    "horus_core/src/rt/",
];

/// A crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Crate {
    name: String,
    folder: String,
}

/// `import-direction` and `kernel`: the imports in manifests and in code are allowed.
pub(crate) fn imports(repo: &Repo) -> Vec<Violation> {
    let crates = crates(repo);
    let mut violations = Vec::new();
    for this in &crates {
        for file in repo.files.iter().filter(|file| file.is_under(&this.folder)) {
            let is_manifest = file.path == format!("{}/Cargo.toml", this.folder);
            let named = if is_manifest {
                dependencies(&file.text)
            } else {
                used(file)
            };
            let wrong = named.into_iter().filter_map(|(line, name)| {
                let (rule, advice) = judge(&crates, this, file, &name)?;
                Some(file.violation(line, rule, advice))
            });
            violations.extend(wrong);
        }
    }
    violations
}

/// Returns the rule that `this` breaks by importing `to` in `file`, and the advice.
fn judge(crates: &[Crate], this: &Crate, file: &File, to: &str) -> Option<(&'static str, String)> {
    let from = this.name.as_str();
    let ours = crates.iter().any(|one| one.name == to) && from != to;
    // WHY: it is only a dev-dependency, so only tests can import it.
    if to == TESTING && !file.path.ends_with("Cargo.toml") {
        return None;
    }
    if ours && !allowed(from).contains(&to) {
        let allowed = allowed(from).join(", ");
        return Some((
            "import-direction",
            format!("{from} must not import {to}, only: {allowed}."),
        ));
    }
    // WHY: the manifest cannot separate the real-time set-up from the rest of a crate; the code
    // can.
    let is_allowed = |place: &&str| match file.path.strip_suffix("Cargo.toml") {
        Some(folder) => place.starts_with(folder),
        None => file.path.starts_with(*place) || file.is_test(),
    };
    (SYSTEM.contains(&to) && !SYSTEM_PLACES.iter().any(is_allowed)).then(|| {
        (
            "kernel",
            format!("move the code that needs {to} to horus_shm (or to horus_core::rt)."),
        )
    })
}

fn allowed(from: &str) -> &'static [&'static str] {
    LAYERS
        .iter()
        .find(|(name, _)| *name == from)
        .map_or(ABOVE, |(_, allowed)| allowed)
}

fn crates(repo: &Repo) -> Vec<Crate> {
    let manifests = repo.files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("/Cargo.toml")?;
        Some(Crate {
            name: package(&file.text)?.replace('-', "_"),
            folder: folder.to_owned(),
        })
    });
    manifests.collect()
}

/// Returns the names of all packages.
pub(crate) fn packages(repo: &Repo) -> Vec<String> {
    let manifests = repo
        .files
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"));
    manifests.filter_map(|file| package(&file.text)).collect()
}

fn package(manifest: &str) -> Option<String> {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[package]")
        .skip(1);
    let name = lines.find_map(|line| line.strip_prefix("name")?.trim().strip_prefix('='));
    Some(name?.trim().trim_matches('"').to_owned())
}

/// Returns the dependencies of a manifest outside its tests: the line, and the crate's name in
/// code.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_table = false;
    for (index, line) in manifest.lines().map(str::trim).enumerate() {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            let (parent, last) = table.rsplit_once('.').unwrap_or(("", table));
            in_table = is_dependency_table(table);
            if is_dependency_table(parent) {
                found.push((index, last.replace('-', "_")));
            }
        } else if in_table
            && let Some((key, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            let key = key.trim().split('.').next().unwrap_or_default();
            let renamed = value
                .split_once("package")
                .map(|(_, rest)| rest.split('"').nth(1));
            found.push((index, renamed.flatten().unwrap_or(key).replace('-', "_")));
        }
    }
    found
}

fn is_dependency_table(table: &str) -> bool {
    let table = table.rsplit_once("'.").map_or(table, |(_, table)| table);
    matches!(table, "dependencies" | "build-dependencies")
}

/// Returns the crates that a Rust file names: the line, and the name.
fn used(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        for (at, word) in lex::words(&line.code) {
            let before = line.code[..at].trim_end();
            let after = &line.code[at + word.len()..];
            let imported = before.ends_with("use") || before.ends_with("extern crate");
            let is_root = !before.ends_with("::") || before.ends_with(" ::");
            if (imported || after.trim_start().starts_with("::")) && is_root {
                found.push((index, word.to_owned()));
            }
        }
    }
    found
}

/// `unsafe-code`: `horus_core` denies it, except in a few places.
pub(crate) fn safe_core(repo: &Repo) -> Vec<Violation> {
    let mut violations = Vec::new();
    if let Some(root) = repo.get("horus_core/src/lib.rs") {
        let denies = |line: &lex::Line| {
            ["#![deny(unsafe_code)]", "#![forbid(unsafe_code)]"].contains(&line.code.trim())
        };
        if !root.lines.iter().any(denies) {
            let advice = "add `#![deny(unsafe_code)]`.".to_owned();
            violations.push(root.violation(0, "unsafe-code", advice));
        }
    }
    let exempt = |file: &File| {
        UNSAFE_PLACES
            .iter()
            .any(|place| file.path.starts_with(place))
    };
    for file in repo
        .rust()
        .filter(|file| file.is_under("horus_core/src") && !exempt(file))
    {
        for (index, line) in file.lines.iter().enumerate() {
            let lifts = ["allow", "expect", "warn"]
                .iter()
                .any(|word| lex::has_word(&line.code, word));
            if lifts && lex::has_word(&line.code, "unsafe_code") {
                let advice = "unsafe code belongs in horus_shm.".to_owned();
                violations.push(file.violation(index, "unsafe-code", advice));
            }
        }
    }
    violations
}

/// `time-limit`: every test binary links the crate that ends it if it hangs.
pub(crate) fn time_limits(repo: &Repo) -> Vec<Violation> {
    let has_limit = |file: &File| {
        file.lines
            .iter()
            .any(|line| lex::has_word(&line.code, TESTING))
    };
    let mut violations = Vec::new();
    for this in crates(repo).iter().filter(|this| this.name != TESTING) {
        let source = format!("{}/src", this.folder);
        let has_unit_tests = repo.rust().any(|file| {
            let is_unit_test = |line: &lex::Line| line.code.trim() == "#[test]";
            file.is_under(&source) && file.lines.iter().any(is_unit_test)
        });
        let lacks = |file: &&File| {
            let Some(name) = file.path.strip_prefix(&format!("{}/", this.folder)) else {
                return false;
            };
            let is_binary = match name.strip_prefix("tests/") {
                Some(name) => !name.contains('/'),
                None => has_unit_tests && ["src/lib.rs", "src/main.rs"].contains(&name),
            };
            is_binary && !has_limit(file)
        };
        violations.extend(repo.rust().filter(lacks).map(|file| {
            let advice = format!("add `use {TESTING} as _;`, in src with `#[cfg(test)]`.");
            file.violation(0, "time-limit", advice)
        }));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\n{rest}")
    }

    /// Returns the violations of a workspace in which `path` has `text`, as `path:line: rule`.
    fn found(path: &str, text: &str) -> Vec<String> {
        let names = [
            "horus_shm",
            "horus_core",
            "horus_py",
            "horus_benchmarks",
            TESTING,
            "robot",
        ];
        let folder = |name| {
            if name == "robot" {
                "examples/robot"
            } else {
                name
            }
        };
        let manifests =
            names.map(|name| (format!("{}/Cargo.toml", folder(name)), manifest(name, "")));
        let mut files: Vec<(&str, &str)> = manifests
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        files.retain(|(other, _)| *other != path);
        files.push((path, text));
        let violations = imports(&Repo::of(&files)).into_iter();
        violations
            .map(|one| format!("{}:{}", one.rule, one.line))
            .collect()
    }

    #[test]
    fn code_imports_downwards_only() {
        let table: [(&str, &str, &[&str]); 15] = [
            (
                "horus_shm/src/a.rs",
                "use horus_core::b;",
                &["import-direction:1"],
            ),
            ("horus_shm/src/a.rs", "use horus_testing as _;", &[]),
            ("horus_shm/tests/a.rs", "use horus_shm::b;", &[]),
            ("horus_core/src/a.rs", "use horus_shm::b;\n", &[]),
            (
                "horus_core/src/a.rs",
                "\nuse horus_py::b;",
                &["import-direction:2"],
            ),
            (
                "horus_py/src/a.rs",
                "let a = ::horus_shm::b();",
                &["import-direction:1"],
            ),
            ("horus_py/src/a.rs", "// horus_shm::b", &[]),
            ("horus_benchmarks/src/a.rs", "use horus_shm::b;", &[]),
            (
                "examples/robot/src/main.rs",
                "use horus_shm as b;",
                &["import-direction:1"],
            ),
            (
                "examples/robot/src/main.rs",
                "use horus_core::horus_shm::b;",
                &[],
            ),
            ("horus_core/src/a.rs", "libc::read();", &["kernel:1"]),
            (
                "horus_core/src/a.rs",
                "use memmap2::MmapRaw;",
                &["kernel:1"],
            ),
            ("horus_core/src/rt.rs", "libc::mlockall();", &[]),
            ("horus_core/tests/a.rs", "libc::kill();", &[]),
            ("horus_shm/src/a.rs", "libc::read();", &[]),
        ];
        for (path, text, violations) in table {
            assert_eq!(found(path, text), violations, "{path}: {text}");
        }
    }

    #[test]
    fn manifests_depend_downwards_only() {
        let table: [(&str, &str, &[&str]); 11] = [
            (
                "horus_shm",
                "[dependencies]\nhorus_testing = {}",
                &["import-direction:4"],
            ),
            ("horus_shm", "[dev-dependencies]\nhorus_testing = {}", &[]),
            (
                "horus_shm",
                "[dependencies]\nhorus_core.workspace = true",
                &["import-direction:4"],
            ),
            (
                "horus_shm",
                "[dependencies.horus-core]\n",
                &["import-direction:3"],
            ),
            (
                "horus_shm",
                "[dependencies]\na = { package = \"horus-core\" }",
                &["import-direction:4"],
            ),
            (
                "horus_shm",
                "[target.'cfg(unix)'.dependencies]\nhorus_py = {}",
                &["import-direction:4"],
            ),
            (
                "horus_shm",
                "[dev-dependencies]\nhorus_core.workspace = true",
                &[],
            ),
            (
                "horus_py",
                "[dependencies]\nhorus_shm = { path = \"\" }",
                &["import-direction:4"],
            ),
            ("horus_py", "[dependencies]\nlibc = \"0.2\"", &["kernel:4"]),
            (
                "horus_benchmarks",
                "[dependencies]\nlibc = \"0.2\"\nhorus_shm = {}",
                &[],
            ),
            (
                "horus_core",
                "[dependencies]\nlibc = \"0.2\"\nhorus_shm = {}",
                &[],
            ),
        ];
        for (name, rest, violations) in table {
            let text = manifest(name, rest);
            assert_eq!(
                found(&format!("{name}/Cargo.toml"), &text),
                violations,
                "{text}"
            );
        }
    }

    #[test]
    fn every_test_binary_has_a_time_limit() {
        let limited = "use horus_testing as _;\n#[test]\nfn a() {}";
        let table: [(&str, &str, &[&str]); 7] = [
            ("horus_shm/tests/a.rs", "fn a() {}", &["time-limit:1"]),
            (
                "horus_shm/tests/a.rs",
                "// horus_testing",
                &["time-limit:1"],
            ),
            ("horus_shm/tests/a.rs", limited, &[]),
            ("horus_shm/tests/a/mod.rs", "fn a() {}", &[]),
            ("horus_shm/src/lib.rs", "fn a() {}", &[]),
            (
                "horus_shm/src/lib.rs",
                "#[test]\nfn a() {}",
                &["time-limit:1"],
            ),
            ("horus_shm/src/lib.rs", limited, &[]),
        ];
        for (path, text, violations) in table {
            let manifest = manifest("horus_shm", "");
            let files = [("horus_shm/Cargo.toml", &*manifest), (path, text)];
            let found = time_limits(&Repo::of(&files)).into_iter();
            let found: Vec<_> = found
                .map(|one| format!("{}:{}", one.rule, one.line))
                .collect();
            assert_eq!(found, violations, "{path}: {text}");
        }
    }

    #[test]
    fn the_core_denies_unsafe_code() {
        let table: [(&str, &str, &[usize]); 5] = [
            ("horus_core/src/lib.rs", "#![deny(unsafe_code)]", &[]),
            ("horus_core/src/lib.rs", "//! deny(unsafe_code)", &[1]),
            ("horus_core/src/a.rs", "a();\n#[allow(unsafe_code)]", &[2]),
            ("horus_core/src/rt.rs", "#![allow(unsafe_code)]", &[]),
            ("horus_shm/src/a.rs", "#![allow(unsafe_code)]", &[]),
        ];
        for (path, text, lines) in table {
            let violations = safe_core(&Repo::of(&[(path, text)]));
            let found: Vec<_> = violations.iter().map(|one| one.line).collect();
            assert_eq!(found, lines, "{path}: {text}");
        }
    }
}
