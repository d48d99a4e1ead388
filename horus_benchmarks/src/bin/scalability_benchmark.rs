//! Publishers and subscribers of one topic, more and more of them: delivered and lost messages.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::scaling::main()
}
