//! The controller: computes 500 commands per second from the messages of the IMU and the laser
//! scanner.

use std::sync::atomic::Ordering;
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::Input;

use crate::check;
use crate::ledger::MessageCounts;
use crate::report::Report;
use crate::{imu, laser, node_process};

pub(crate) const TOPIC: &str = "cmd_vel";

/// Maximum time without a message from a sensor. If a sensor is silent for longer, the robot stops.
const SENSOR_SILENCE_MAX: Duration = Duration::from_millis(100);
/// The robot drives at full speed if the nearest object is at least this far away, in metres. If
/// the object is nearer, the speed is proportionally lower.
const FULL_SPEED_DISTANCE_M: f32 = 2.0;
const SPEED_MAX_M_S: f32 = 1.0;
/// Strength of the counter-steering: the commanded turn rate in rad/s for each rad/s that the robot
/// turns.
const YAW_GAIN: f32 = 0.8;

horus_core::node! {
    struct Controller {
        input imu: Imu = (imu::TOPIC, SENSOR_SILENCE_MAX),
        input scan: LaserScan = (laser::TOPIC, SENSOR_SILENCE_MAX),
        publish commands: CmdVel = TOPIC,
        state yaw_rate: Option<f32> = None,
        state nearest_m: Option<f32> = None,
        state imu_counts: MessageCounts = MessageCounts::default(),
        state scan_counts: MessageCounts = MessageCounts::default(),
    }

    fn tick(&mut self) -> horus_core::Result<()> {
        self.receive_sensor_messages();
        let is_blind = self.imu.is_stale() || self.scan.is_stale();
        self.commands.send(match (self.yaw_rate, self.nearest_m) {
            (Some(yaw_rate), Some(nearest_m)) if !is_blind => {
                let share = (nearest_m / FULL_SPEED_DISTANCE_M).min(1.0);
                velocity_command(SPEED_MAX_M_S * share, -YAW_GAIN * yaw_rate)
            }
            _ => velocity_command(0.0, 0.0),
        })?;
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.stop_motors();
    }

    fn shutdown(&mut self) -> NodeResult {
        self.stop_motors();
        // Receives the last messages of the sensors, which were stopped before.
        self.receive_sensor_messages();
        let imu = self.imu.subscriber().stats();
        let scan = self.scan.subscriber().stats();
        Report::Received(self.imu_counts.ledger("controller", imu::TOPIC, &imu)).print();
        Report::Received(self.scan_counts.ledger("controller", laser::TOPIC, &scan)).print();
        Ok(())
    }
}

impl Controller {
    fn stop_motors(&mut self) {
        // It can fail only if the topic's memory is lost; then its ticks have failed, too.
        if self.commands.send(velocity_command(0.0, 0.0)).is_ok() {
            node_process::MESSAGES_SENT_OUTSIDE_OF_TICKS.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn receive_sensor_messages(&mut self) {
        if let Some(mean) = mean_yaw_rate(&mut self.imu, &mut self.imu_counts) {
            self.yaw_rate = Some(mean);
        }
        // Only the newest scan matters; older ones are counted as skipped.
        if let Some(scan) = self.scan.latest() {
            self.scan_counts.count_received(&scan);
            let nearest_m = scan
                .measured()
                .iter()
                .copied()
                .fold(f32::INFINITY, f32::min);
            self.nearest_m = Some(nearest_m);
        }
    }
}

pub(crate) fn run() -> crate::Result<()> {
    node_process::run_node("controller", TOPIC, 500.hz(), Controller::build)
}

/// Returns the mean yaw rate of the IMU samples that arrived since the last call; `None` if none
/// arrived. Counts the samples in `imu_counts`.
fn mean_yaw_rate(imu: &mut Input<Imu>, imu_counts: &mut MessageCounts) -> Option<f32> {
    let mut sum = 0.0;
    let mut count = 0_u32;
    while let Some(sample) = imu.recv() {
        imu_counts.count_received(&sample);
        sum += sample.angular_velocity[2];
        count += 1;
    }
    (count > 0).then(|| (sum / f64::from(count)) as f32)
}

/// Returns a command message that contains its checksum, as [`check`] describes it. The checksum
/// takes the two lowest bytes of `angular_rad_s`, which makes its magnitude up to 1 % smaller.
pub(crate) fn velocity_command(linear_m_s: f32, angular_rad_s: f32) -> CmdVel {
    check::with_checksum(CmdVel::new(linear_m_s, angular_rad_s))
}
