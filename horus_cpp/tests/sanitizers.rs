//! C++ programs under sanitizers: no report, except for the deliberate bugs.
//!
//! The library here is the normal one; `.ci/sanitizers` builds it with the sanitizer too.

use horus_testing as _;

mod compiler;

use compiler::{Program, root, sanitizer};

/// The flags of AddressSanitizer and UndefinedBehaviorSanitizer for the C++ code.
const FLAGS: [&str; 3] = [
    "-std=c++17",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

/// Returns the flags, unless all programs already have a sanitizer: only one is possible.
fn flags() -> &'static [&'static str] {
    if sanitizer().is_some() {
        &FLAGS[..1]
    } else {
        &FLAGS
    }
}

/// Includes the schemas: with UBSan, gcc accepts fewer expressions as constants.
#[test]
fn sanitizers_report_nothing_for_topics() {
    Program::cpp("tests/cpp/wrapper.cpp", flags()).run(&[]);
}

#[test]
fn sanitizers_report_nothing_for_nodes() {
    let elsewhere = root().join("tests/cpp/nodes_elsewhere.cpp");
    let flags = [flags(), &[elsewhere.to_str().unwrap()]].concat();
    let said = Program::cpp("tests/cpp/nodes.cpp", &flags).run(&[]);
    assert!(said.ends_with("done\n"), "{said}");
}

#[test]
fn deliberate_bugs_are_found() {
    let program = Program::cpp("tests/cpp/teeth.cpp", flags());
    program.run(&["none"]);
    let bug = if sanitizer().as_deref() == Some("thread") {
        "race"
    } else {
        "late"
    };
    let output = program.command().arg(bug).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("Sanitizer: "),
        "{errors}"
    );
    println!("RESULT cpp_teeth/{bug}: found");
}
