//! Records which compiler, and which code generation flags, the benchmarks were built with.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    let version = if version.trim().is_empty() {
        "unknown"
    } else {
        version.trim()
    };
    println!("cargo:rustc-env=HORUS_BENCH_RUSTC={version}");

    // WHY: a benchmark built for the native CPU may not be compared with one that was not.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS")
        .unwrap_or_default()
        .replace('\u{1f}', " ");
    println!("cargo:rustc-env=HORUS_BENCH_RUSTFLAGS={flags}");
    println!("cargo:rerun-if-changed=build.rs");
}
