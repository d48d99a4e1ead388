//! Nodes and schedulers from C and C++: policies, exceptions, cancels, signals, translation units.

mod compiler;

use compiler::{Program, root};

#[test]
fn c_nodes_do_what_the_header_says() {
    Program::new("nodes").run(&[]);
}

/// From each executor, in each callback, of each kind; and a `pthread_cancel`, and a signal.
#[test]
fn what_is_thrown_is_a_failure_of_the_node() {
    let elsewhere = root().join("tests/cpp/nodes_elsewhere.cpp");
    for standard in ["-std=c++17", "-std=c++20"] {
        let flags = [standard, elsewhere.to_str().unwrap()];
        let said = Program::cpp("tests/cpp/nodes.cpp", &flags).run(&[]);
        assert!(said.ends_with("done\n"), "{said}");
    }
}

#[test]
fn nodes_need_no_exceptions() {
    let flags = ["-std=c++17", "-fno-exceptions"];
    Program::cpp("tests/cpp/nodes_no_exceptions.cpp", &flags).run(&[]);
}
