//! C++ programs under sanitizers: nothing to report, but for the bugs that are there on purpose.
//!
//! Here the library is as it always is; `.ci/sanitizers` builds it, too, with the sanitizer.

use horus_testing as _;

mod compiler;

use compiler::{Program, root, sanitizer};

/// What C++ itself, and the undefined, are looked at with.
const FLAGS: [&str; 3] =
    ["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// The flags, unless all programs have a sanitizer already, beside which there can be no other.
fn flags() -> &'static [&'static str] {
    if sanitizer().is_some() { &FLAGS[..1] } else { &FLAGS }
}

/// Also the schemas: with UBSan, gcc takes less for a constant.
#[test]
fn topics_have_nothing_to_report() {
    Program::cpp("tests/cpp/wrapper.cpp", flags()).run(&[]);
}

#[test]
fn nodes_have_nothing_to_report() {
    let elsewhere = root().join("tests/cpp/nodes_elsewhere.cpp");
    let flags = [flags(), &[elsewhere.to_str().unwrap()]].concat();
    let said = Program::cpp("tests/cpp/nodes.cpp", &flags).run(&[]);
    assert!(said.ends_with("done\n"), "{said}");
}

#[test]
fn bugs_on_purpose_are_found() {
    let program = Program::cpp("tests/cpp/teeth.cpp", flags());
    program.run(&["none"]);
    let bug = if sanitizer().as_deref() == Some("thread") { "race" } else { "late" };
    let output = program.command().arg(bug).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("Sanitizer: "), "{errors}");
    println!("RESULT cpp_teeth/{bug}: found");
}
