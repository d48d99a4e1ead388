//! Wakes a blocked receiver in another process: how long that takes, and what it costs the sender.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::wakeup::main()
}
