//! Measures how much the times of messages differ from each other, within a run and between runs of
//! pinned threads and processes.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::determinism::main()
}
