//! Waking a blocked receiver in another process: how long it takes, and what it costs the sender.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::wakeup::main()
}
