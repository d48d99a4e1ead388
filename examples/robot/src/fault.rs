//! The program that causes a fault: kills the IMU process with SIGKILL at half of the demo's
//! duration.

use std::process::Command;
use std::thread;
use std::time::Duration;

use horus_core::introspect::Inspector;

use crate::report::Report;
use crate::{Result, imu};

/// Kills the IMU process after half of `duration`, and returns when `duration` has passed.
pub(crate) fn kill_imu_at_half_time(duration: Duration) -> Result<()> {
    thread::sleep(duration / 2);
    let topic = Inspector::open(imu::TOPIC)?;
    let publishers = topic.publishers();
    let mut processes = publishers.iter().filter_map(|lane| {
        let participant = lane.publisher.as_ref()?;
        participant.process.as_ref()
    });
    let process = processes
        .next()
        .ok_or("no process publishes the topic imu")?;
    let id = process.pid.to_string();
    let status = Command::new("kill").args(["-9", &id]).status()?;
    if !status.success() {
        return Err(format!("kill -9 {id}: {status}").into());
    }
    Report::Text(format!("imu killed with SIGKILL (process {id})")).print();
    thread::sleep(duration / 2);
    Ok(())
}
