//! Large messages between two processes, copied or loaned, next to a copy within one process.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::large::main()
}
