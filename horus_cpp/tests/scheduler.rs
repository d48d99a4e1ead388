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

/// As the reference page compiles it; whether goals are met is not asked of a busy machine.
#[test]
fn the_benchmark_prints_its_rows() {
    let said = Program::cpp("tests/cpp_benchmark.cpp", &["-std=c++17"]).run(&["--quick"]);
    let rows = [
        "two readings of the clock",
        "abi_version",
        "is_running",
        "Empty scheduler",
        "1 node + callback",
        "10 nodes + callback",
        "50 nodes + callback",
        "Ticks/second",
        "CPU overhead at 1 kHz",
    ];
    for row in rows {
        assert!(said.contains(row), "no row {row} in\n{said}");
    }
}

/// With what the sanitizer of addresses finds, leaks among it.
#[test]
fn the_stress_test_leaks_nothing() {
    let flags = ["-std=c++17", "-fsanitize=address", "-fno-omit-frame-pointer"];
    let said = Program::cpp("tests/cpp_stress_test.cpp", &flags).run(&[]);
    assert!(said.ends_with("done\n"), "{said}");
}
