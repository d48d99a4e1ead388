//! A robot's loop in one process: a sensor at 200 Hz, a controller that it triggers, a log.
//!
//! Ctrl-C stops the nodes in reverse order. `kill -9` stops nothing in order, but the black box
//! survives: the next run shows how the last one ended.

use std::io::{self, Write};
use std::process::ExitCode;

use horus_core::namespace::Namespace;
use horus_core::prelude::*;
use horus_core::scheduler::{FailurePolicy, MissPolicy, Report, black_box};

horus_core::node! {
    /// A gyroscope: simulates a robot that turns unsteadily, and publishes its rate.
    struct Gyroscope {
        publish imu: Imu = "imu",
    }

    fn tick(&mut self, context) -> Result<()> {
        let wobble = context.random_f64() - 0.5;
        self.imu.send(Imu { angular_velocity: [0.0, 0.0, wobble], ..Imu::now() })?;
        Ok(())
    }
}

horus_core::node! {
    /// Steers against the rate of the gyroscope.
    struct Controller {
        wake imu: Imu = "imu",
        publish motors: CmdVel = "cmd_vel",
        state gain: f32 = 0.8,
    }

    fn tick(&mut self) -> Result<()> {
        if let Some(imu) = self.imu.latest() {
            let turn = -self.gain * imu.angular_velocity[2] as f32;
            self.motors.send(CmdVel::new(0.3, turn))?;
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        let _ = self.motors.send(CmdVel::new(0.0, 0.0));
    }

    // After Ctrl-C, only this is called.
    fn shutdown(&mut self) -> NodeResult {
        self.motors.send(CmdVel::new(0.0, 0.0))?;
        Ok(())
    }
}

fn print_report(report: &Report) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{report}")?;
    for node in &report.nodes {
        let late = node.metrics.lateness.quantile(0.99);
        writeln!(out, "{}: p99 of lateness below {late:?}", node.name)?;
    }
    Ok(())
}

fn main() -> Result<ExitCode> {
    if std::env::args().len() > 1 {
        eprintln!("usage: nodes");
        return Ok(ExitCode::from(2));
    }
    let mut scheduler = Scheduler::new();
    scheduler.name("nodes");
    scheduler.stop_on_signals();
    // There is no black box before the first run.
    let last_run = black_box(&Namespace::current()?, "nodes").unwrap_or_default();
    last_run
        .iter()
        .rev()
        .take(3)
        .rev()
        .for_each(|event| println!("last run: {event}"));

    Gyroscope::build(
        scheduler
            .node("gyroscope")
            .rate(200.hz())
            .on_miss(MissPolicy::Skip),
    )?;
    Controller::build(
        scheduler
            .node("controller")
            .failure_policy(FailurePolicy::Ignore),
    )?;
    let mut motors = Subscriber::<CmdVel>::new("cmd_vel")?;
    scheduler
        .node("log")
        .build(move |context: &mut Context<'_>| {
            if let Some(command) = motors.latest().filter(|_| context.tick() % 100 == 0) {
                // Not `println!`: it panics after the terminal was closed.
                let _ = writeln!(io::stdout(), "turning at {:+.2} rad/s", command.angular);
            }
        })?;

    println!("{}", scheduler.graph());
    // An error after a failure of a node, which ends the program with status 1.
    let report = scheduler.run()?;
    // A closed terminal ends the run, too. Nobody reads the report then.
    let _ = print_report(&report);
    Ok(ExitCode::SUCCESS)
}
