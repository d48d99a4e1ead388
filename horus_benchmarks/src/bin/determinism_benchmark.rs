//! Measures how much the time of one message differs from that of another: runs of pinned threads
//! and processes.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::determinism::main()
}
