//! The Makefile reports missing tools before a command fails without them.

use horus_testing as _;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `make tools` with a fake cargo that reports the Rust `version`.
fn make_tools(version: &str) -> Output {
    let cargo = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cargo-{version}"));
    fs::write(
        &cargo,
        format!("#!/bin/sh\necho 'cargo {version} (0123abcde 2025-01-01)'\n"),
    )
    .unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut make = Command::new("make");
    make.arg("tools")
        // WHY not the file itself: another test may fork while it is open for writing here.
        .arg(format!("CARGO=sh {}", cargo.display()))
        .current_dir(root);
    make.env_remove("MAKEFLAGS")
        .output()
        .expect("this test needs `make`")
}

#[test]
fn a_rust_that_is_too_old_is_an_error_that_says_what_to_do() {
    for version in ["1.85.0", "1.88.1", "0.66.0"] {
        let output = make_tools(version);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{version} passes");
        for part in [version, "https://rustup.rs", "rustup update stable"] {
            assert!(printed.contains(part), "no '{part}' in: {printed}");
        }
    }
}

#[test]
fn the_oldest_rust_and_newer_ones_are_taken() {
    for version in ["1.89.0", "1.100.0", "2.0.0"] {
        let output = make_tools(version);
        assert!(
            output.status.success(),
            "{version}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// A machine that has the shell's own tools only: the first one that is missing is QEMU.
#[test]
fn a_missing_emulator_is_an_error_that_names_its_package() {
    let few = Path::new(env!("CARGO_TARGET_TMPDIR")).join("few-tools");
    fs::create_dir_all(&few).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for tool in ["bash", "dirname"] {
        let mut found = std::env::split_paths(&path).map(|dir| dir.join(tool));
        let found = found.find(|found| found.exists()).unwrap();
        let link = few.join(tool);
        if !link.exists() {
            symlink(found, link).unwrap();
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(few.join("bash"))
        .arg(root.join(".ci/aarch64"))
        .env("PATH", &few)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert_eq!(
        printed,
        "error: no qemu-aarch64: apt-get install qemu-user\n"
    );
}
