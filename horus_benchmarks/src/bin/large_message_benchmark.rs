//! Sends large messages between two processes, copied or loaned, and compares them with a plain
//! copy within one process.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::large::main()
}
