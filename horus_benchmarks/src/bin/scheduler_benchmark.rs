//! Measures the costs of the scheduler, how late its nodes are, and how fast a topic wakes a node.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::scheduler::main()
}
