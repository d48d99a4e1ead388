//! Nodes and schedulers from C and C++: policies, exceptions, cancels, signals, translation units.

mod compiler;

use horus_testing::PointSample;

use compiler::{Program, cxx, root};

#[test]
fn c_nodes_do_what_the_header_says() {
    Program::new("nodes").run(&[]);
}

/// An exception on each executor, in each callback, of each kind; also a `pthread_cancel` and a
/// signal.
#[test]
fn an_exception_is_a_failure_of_the_node() {
    let elsewhere = root().join("tests/cpp/nodes_elsewhere.cpp");
    for standard in compiler::dialects(1) {
        let flags = [standard, elsewhere.to_str().unwrap()];
        let said = Program::cpp("tests/cpp/nodes.cpp", &flags).run(&[]);
        assert!(said.ends_with("done\n"), "{said}");
    }
}

/// The simplest program: its exit status follows from the status of `run`.
#[test]
fn the_simplest_program_ends_with_an_error_status_when_a_node_failed() {
    let c = Program::new("obvious");
    let cpp = Program::cpp("tests/cpp/obvious.cpp", &["-std=c++17"]);
    for (language, program) in [("C", c), ("C++", cpp)] {
        for call in ["run", "run_for", "finish"] {
            let output = program.command().args([call, "fails"]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{language}, {call}: {said}");
            let text = "node 'wheel' failed: the wheel fell off";
            assert!(said.contains(text), "{language}, {call}: {said}");
            let output = program.command().args([call, "works"]).output().unwrap();
            assert!(output.status.success(), "{language}, {call}: {output:?}");
        }
    }
}

#[test]
fn nodes_need_no_exceptions() {
    let flags = ["-std=c++17", "-fno-exceptions"];
    Program::cpp("tests/cpp/nodes_no_exceptions.cpp", &flags).run(&[]);
}

/// The linker keeps one copy of an inline function, that of the first file. It must not be a copy
/// without the code that catches exceptions.
#[test]
fn a_file_without_exceptions_does_not_change_the_other_files() {
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("mixed_no_exceptions.o");
    let cases = [("-std=c++17", "-O0"), ("-std=c++20", "-O1")];
    for (standard, level) in PointSample::every(cases.len()).select_items(cases) {
        let mut compiler = cxx();
        let source = root().join("tests/cpp/mixed_no_exceptions.cpp");
        compiler.args([standard, level, "-fno-exceptions", "-c"]);
        let output = compiler.arg(source).arg("-o").arg(&object).output();
        let output = output.expect("this test needs a C++ compiler as `c++`");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let flags = [standard, level, object.to_str().unwrap()];
        Program::cpp("tests/cpp/mixed.cpp", &flags).run(&[]);
    }
}
