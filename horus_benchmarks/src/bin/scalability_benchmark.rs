//! Increasing numbers of publishers and subscribers of one topic: counts delivered and lost
//! messages.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::scaling::main()
}
