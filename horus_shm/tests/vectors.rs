//! Programs that are compiled for CPUs with vectors of 256 bits keep them across every copy.
//!
//! The copies are assembly that is compiled into its callers. A register that it changes without
//! declaring it destroys a value of the caller. That shows only in an optimised program with such
//! vectors, so one is built and run here: for this CPU, and with `HORUS_TORTURE=1` for all with
//! AVX2.

#![cfg(target_arch = "x86_64")]

use horus_testing as _;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn vectors_are_kept_across_every_copy() {
    // For this CPU, and for all CPUs with AVX2. WHY not always both: each is a build of its own.
    let mut cpus = vec![("native", std::is_x86_feature_detected!("avx"))];
    if std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1") {
        cpus.push(("x86-64-v3", has_v3()));
    }
    for (cpu, keeps) in cpus {
        if cpu != "native" && !keeps {
            horus_testing::skip(format_args!("this CPU is older than {cpu}, which has AVX2"));
            continue;
        }
        let wanted = if keeps {
            "vectors kept\n"
        } else {
            "no AVX: nothing to keep\n"
        };
        assert_eq!(run_for(cpu), wanted, "for {cpu}");
    }
}

/// Returns true if this CPU runs programs that are compiled for `x86-64-v3`.
fn has_v3() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("f16c")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("lzcnt")
        && std::is_x86_feature_detected!("movbe")
}

/// Builds the program for `cpu`, runs it, and returns its output.
fn run_for(cpu: &str) -> String {
    let shm = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vectors");
    fs::create_dir_all(&folder).unwrap();
    let program = shm.join("tests/vectors/program.rs");
    let manifest = format!(
        "[package]\nname = \"vectors\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [[bin]]\nname = \"vectors\"\npath = {program:?}\n\
         [workspace]\n[dependencies.horus_shm]\npath = {shm:?}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The same versions as in this build, so that no package has to be downloaded.
    fs::copy(shm.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();

    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["run", "--release", "--offline", "--quiet"])
        .current_dir(&folder);
    // WHY an explicit target: without one, macros would be compiled anew for each CPU.
    let libc = if cfg!(target_env = "musl") {
        "musl"
    } else {
        "gnu"
    };
    cargo
        .arg("--target")
        .arg(format!("x86_64-unknown-linux-{libc}"));
    cargo.env("CARGO_TARGET_DIR", folder.join("target"));
    cargo
        .env("RUSTFLAGS", format!("-C target-cpu={cpu}"))
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "for {cpu}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}
