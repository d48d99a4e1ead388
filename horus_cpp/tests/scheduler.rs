//! Nodes and schedulers from C and C++: policies, exceptions, cancels, signals, translation units.

use horus_testing as _;

mod compiler;

use compiler::{Program, root};

#[test]
fn c_nodes_do_what_the_header_says() {
    Program::new("nodes").run(&[]);
}

/// An exception on each executor, in each callback, of each kind; also a `pthread_cancel` and a
/// signal.
#[test]
fn an_exception_is_a_failure_of_the_node() {
    let elsewhere = root().join("tests/cpp/nodes_elsewhere.cpp");
    for standard in ["-std=c++17", "-std=c++20"] {
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
