//! Every command line of the reference page that concerns Rust works, with the names that it has
//! there: package, binary, feature, profile.
//!
//! WHY no release build: it would take longer than all other tests. Cargo is given each line as it
//! stands, with a compiler that refuses to compile: it has understood the line, and found package,
//! binary and features, once it asks for that. What the lines would then run is run in the profile
//! of the tests, by the script that runs everything (`research.rs`).

use horus_testing as _;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use horus_testing::write_program;

const REACHED: &str = "the compiler was asked";

const COMPILER: &str = r#"#!/bin/sh
case "$*" in
*"--crate-name ___"*) exec "$@" ;;
*--crate-name*) echo "the compiler was asked" >&2; exit 1 ;;
*) exec "$@" ;;
esac
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn lines(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("benchmarks/research").join(file)).unwrap();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// Returns the output of cargo for a line of arguments, with a compiler that refuses.
fn ask_cargo(arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let compiler = directory.path().join("compiler");
    write_program(&compiler, COMPILER);
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root())
        .env("CARGO_TARGET_DIR", directory.path().join("target"))
        .env("RUSTC_WRAPPER", &compiler)
        .output()
        .expect("cargo runs these tests");
    assert!(
        !output.status.success(),
        "the compiler refused, and {arguments:?} worked"
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_cargo_line_of_the_page_is_understood() {
    let lines = lines("page_commands.txt");
    let cargo: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("cargo "))
        .collect();
    assert!(cargo.len() >= 12, "{cargo:?}");
    for line in cargo {
        let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
        let said = ask_cargo(&arguments);
        assert!(said.contains(REACHED), "{line}\n{said}");
    }
}

#[test]
fn a_wrong_name_does_not_pass_for_a_line_that_works() {
    for (arguments, wanted) in [
        (
            "run --release -p horus_benchmarks --bin no_such_benchmark",
            "no bin target",
        ),
        ("run --release -p horus_no --bin raw_baselines", "horus_no"),
        (
            "run --release -p horus_benchmarks --bin raw_baselines --features none",
            "none",
        ),
        (
            "bench -p horus_benchmarks --bench no_such_bench",
            "no bench target",
        ),
    ] {
        let said = ask_cargo(&arguments.split_whitespace().collect::<Vec<_>>());
        assert!(
            !said.contains(REACHED) && said.contains(wanted),
            "{arguments}\n{said}"
        );
    }
}

#[test]
fn every_program_of_the_page_is_run_by_the_script_and_every_program_of_the_script_exists() {
    let programs: Vec<String> = lines("programs.txt")
        .iter()
        .filter_map(|line| Some(line.split_once('|')?.0.trim().to_owned()))
        .collect();
    for line in lines("page_commands.txt") {
        if let Some((_, rest)) = line.split_once("--bin ") {
            let name = rest.split_whitespace().next().unwrap();
            assert!(
                programs.iter().any(|one| one == name),
                "programs.txt lacks {name}"
            );
        } else if let Some(script) = line.strip_prefix("./") {
            let script = script.split_whitespace().next().unwrap();
            let mode = fs::metadata(root().join(script))
                .unwrap()
                .permissions()
                .mode();
            assert!(mode & 0o111 != 0, "{script} cannot be run");
        }
    }
    for name in &programs {
        let source = format!("horus_benchmarks/src/bin/{name}.rs");
        assert!(
            root().join(&source).is_file(),
            "programs.txt has {name}, and there is no {source}"
        );
    }
}

#[test]
fn the_filter_of_the_page_finds_micro_benchmarks() {
    let benches = root().join("horus_benchmarks/benches");
    let found = fs::read_dir(&benches).unwrap_or_else(|error| panic!("{benches:?}: {error}"));
    let mut texts = found.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert!(
        texts.any(|text| text.contains("topic_latency")),
        "no bench is called topic_latency"
    );
}
