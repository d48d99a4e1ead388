//! Large messages between two processes, copied and lent, beside a copy within one process.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::large::main()
}
