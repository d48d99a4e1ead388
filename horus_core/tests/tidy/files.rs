//! The input of the rules: the files that belong to the repository.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::lex::{self, Line};

/// Files longer than this are not read as text.
const TEXT_BYTES_MAX: usize = 2 << 20;

/// A file, by its path from the root.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: usize,
    /// Empty if the file is not text.
    pub(crate) text: String,
    /// The lexed lines, of Rust files only.
    pub(crate) lines: Vec<Line>,
}

impl File {
    pub(crate) fn new(path: &str, bytes: usize, text: String) -> Self {
        let lines = if path.ends_with(".rs") {
            lex::lines(&text)
        } else {
            Vec::new()
        };
        Self {
            path: path.to_owned(),
            bytes,
            text,
            lines,
        }
    }

    /// Returns a violation in line `index`, counted from 0.
    pub(crate) fn violation(&self, index: usize, rule: &'static str, advice: String) -> Violation {
        Violation {
            path: self.path.clone(),
            line: index + 1,
            rule,
            advice,
        }
    }

    /// Returns true if the file belongs to the crate in `folder`.
    pub(crate) fn is_under(&self, folder: &str) -> bool {
        self.path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Returns true if the file is only compiled for tests.
    pub(crate) fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.split('/').any(|part| part == "tests")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
    }

    pub(crate) fn is_generated(&self) -> bool {
        self.text
            .lines()
            .take(5)
            .any(|line| line.contains("@generated"))
    }
}

/// A broken rule: its place, and the advice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    pub(crate) advice: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}: {}",
            self.path, self.line, self.rule, self.advice
        )
    }
}

/// All files of the repository.
#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) files: Vec<File>,
}

impl Repo {
    /// Reads what git tracks below `root` or would track; without git, what `.gitignore` leaves.
    pub(crate) fn read(root: &Path) -> Self {
        let mut paths = tracked(root).unwrap_or_else(|| walk(root));
        paths.sort();
        paths.dedup();
        // WHY: git also lists deleted files until the deletion is committed.
        let files = paths.iter().filter_map(|path| read(root, path)).collect();
        Self { files }
    }

    /// Builds a repository for a test.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File::new(path, text.len(), text.to_owned());
        Self {
            files: files.iter().map(file).collect(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns true if `path` is a file, or a folder with files in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self
                .files
                .iter()
                .any(|file| file.path == path || file.is_under(path))
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }
}

fn read(root: &Path, path: &str) -> Option<File> {
    let full = root.join(path);
    let meta = fs::symlink_metadata(&full)
        .ok()
        .filter(|meta| meta.is_file())?;
    let bytes = meta.len() as usize;
    let text = if bytes > TEXT_BYTES_MAX {
        Vec::new()
    } else {
        fs::read(&full).ok()?
    };
    Some(File::new(
        path,
        bytes,
        String::from_utf8(text).unwrap_or_default(),
    ))
}

/// Returns the tracked files; `None` without git, or if the root is not a checkout of this
/// repository.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["ls-files", "-z", "-co", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let paths = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = paths.split_terminator('\0').map(str::to_owned).collect();
    paths
        .iter()
        .any(|path| path == "Cargo.toml")
        .then_some(paths)
}

fn walk(root: &Path) -> Vec<String> {
    let ignore = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            if path == ".git" || ignore.lines().any(|pattern| ignores(pattern, &path)) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path + "/"),
                Ok(kind) if kind.is_file() => paths.push(path),
                _ => {}
            }
        }
    }
    paths
}

/// Matches the patterns that this repository's `.gitignore` may have: `/path`, `name`, `name/` and
/// `*.extension`.
fn ignores(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim().trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    if pattern.is_empty() || pattern.starts_with('#') {
        false
    } else if let Some(rooted) = pattern.strip_prefix('/') {
        path == rooted
    } else if let Some(suffix) = pattern.strip_prefix('*') {
        name.ends_with(suffix)
    } else {
        name == pattern || path == pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_recognised() {
        let table = [
            ("/target", "target", true),
            ("/target", "a/target", false),
            ("__pycache__/", "a/__pycache__", true),
            ("*.pyc", "a/b.pyc", true),
            ("*.pyc", "a/b.py", false),
            ("# *.pyc", "a/b.pyc", false),
            ("", "a", false),
        ];
        for (pattern, path, ignored) in table {
            assert_eq!(ignores(pattern, path), ignored, "{pattern} {path}");
        }
    }

    #[test]
    fn a_tree_without_git_is_walked() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["a/target", "target/b", ".git", ".ci"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in [
            ".ci/run",
            ".git/x",
            "Cargo.toml",
            "a/target/c",
            "target/b/d",
            "e.pyc",
        ] {
            fs::write(root.path().join(file), "text").unwrap();
        }
        fs::write(root.path().join(".gitignore"), "/target\n*.pyc\n").unwrap();
        let mut paths = walk(root.path());
        paths.sort();
        assert_eq!(paths, [".ci/run", ".gitignore", "Cargo.toml", "a/target/c"]);
    }

    #[test]
    fn a_folder_counts_as_present_if_it_holds_a_file() {
        let repo = Repo::of(&[("docs/a.md", ""), ("documents", "")]);
        for (path, present) in [
            ("docs", true),
            ("docs/", true),
            ("doc", false),
            ("documents", true),
        ] {
            assert_eq!(repo.has(path), present, "{path}");
        }
    }
}
