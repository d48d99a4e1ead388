//! Measures standard messages of robots on a topic, between threads and between processes:
//! `CmdVel`, `Imu`, `JointCommand` and `LaserScan`. Also shows whether these messages are fast
//! enough for the control loops of robots.

fn main() -> std::process::ExitCode {
    horus_benchmarks::scenario::robot::main()
}
