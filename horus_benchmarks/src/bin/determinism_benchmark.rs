//! Measures how much the latencies of messages vary, within one run and between several runs, with
//! pinned threads and processes.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::determinism::main()
}
