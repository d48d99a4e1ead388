//! Measures what the scheduler costs, how late its nodes are, and how fast a topic wakes one.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::scheduler::main()
}
