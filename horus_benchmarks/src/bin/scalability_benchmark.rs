//! Measures one topic with increasing numbers of publishers and subscribers, and counts delivered
//! and lost messages.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::scaling::main()
}
