//! Wakes a blocked receiver in another process, and times the wake-up and the sender's call.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::wakeup::main()
}
