//! Measures how long it takes to wake a blocked receiver in another process, and how long the
//! sender's call takes.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::wakeup::main()
}
