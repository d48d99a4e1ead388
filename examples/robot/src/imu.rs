//! The IMU: publishes 1000 samples per second of a robot that turns left and right.

use horus_core::message::timestamp_now_ns;
use horus_core::prelude::*;

use crate::check;
use crate::node_process;

pub(crate) const TOPIC: &str = "imu";

const GRAVITY_M_S2: f64 = 9.81;
const YAW_RATE_MAX_RAD_S: f64 = 0.3;
const YAW_PERIOD_TICKS: f64 = 2000.0;
/// Variance of the measurement noise on each axis, in rad²/s².
const ANGULAR_VELOCITY_VARIANCE_RAD2_S2: f64 = 1e-6;
const ACCELERATION_VARIANCE_M2_S4: f64 = 1e-4;

horus_core::node! {
    struct ImuNode {
        publish samples: Imu = TOPIC,
    }

    fn tick(&mut self, context) -> horus_core::Result<()> {
        Ok(self.samples.send(sample_at(context.tick()))?)
    }
}

pub(crate) fn run() -> crate::Result<()> {
    node_process::run_node("imu", TOPIC, 1.khz(), ImuNode::build)
}

/// Returns the IMU sample that is published `tick` periods after the start.
pub(crate) fn sample_at(tick: u64) -> Imu {
    let phase = std::f64::consts::TAU * tick as f64 / YAW_PERIOD_TICKS;
    let shake = (phase * 97.0).sin();
    let mut sample = Imu::default();
    // The unit provides no orientation, so this field can carry the process id and the tick.
    sample.orientation_covariance[1] = f64::from(std::process::id());
    sample.orientation_covariance[2] = tick as f64;
    sample.angular_velocity = [
        0.01 * shake,
        -0.01 * shake,
        YAW_RATE_MAX_RAD_S * phase.sin(),
    ];
    sample.angular_velocity_covariance = diagonal_matrix(ANGULAR_VELOCITY_VARIANCE_RAD2_S2);
    sample.linear_acceleration = [0.1 * shake, 0.05 * shake, GRAVITY_M_S2];
    sample.linear_acceleration_covariance = diagonal_matrix(ACCELERATION_VARIANCE_M2_S4);
    sample.timestamp_ns = timestamp_now_ns();
    check::with_checksum(sample)
}

/// Returns the id of the process that published the sample. The sample carries it in one of its
/// fields.
pub(crate) fn publisher_process_id(sample: &Imu) -> u32 {
    sample.orientation_covariance[1] as u32
}

fn diagonal_matrix(variance: f64) -> [f64; 9] {
    let v = variance;
    [v, 0.0, 0.0, 0.0, v, 0.0, 0.0, 0.0, v]
}
