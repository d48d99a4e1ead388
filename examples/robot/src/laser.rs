//! The laser scanner: publishes 40 scans per second of a square room in which a person walks in
//! front of the robot.

use std::f32::consts::TAU;
use std::time::Duration;

use horus_core::message::{LASER_RANGES_MAX, timestamp_now_ns};
use horus_core::prelude::*;
use horus_core::scheduler::Rate;

use crate::check;
use crate::node_process;

pub(crate) const TOPIC: &str = "scan";
const PERIOD: Duration = Duration::from_millis(25);

const WALL_DISTANCE_M: f32 = 4.0;
/// Minimum and maximum distance of the walking person from the scanner, in metres.
const WALKER_DISTANCE_M: (f32, f32) = (0.5, 2.5);
const WALKER_HALF_WIDTH_RAYS: usize = 10;
const WALKER_PERIOD_TICKS: f32 = 160.0;

horus_core::node! {
    struct LaserNode {
        publish scans: LaserScan = TOPIC,
    }

    fn tick(&mut self, context) -> horus_core::Result<()> {
        Ok(self.scans.send(scan_at(context.tick()))?)
    }
}

pub(crate) fn run() -> crate::Result<()> {
    node_process::run_node("laser", TOPIC, Rate::every(PERIOD), LaserNode::build)
}

/// Returns the laser scan that is published `tick` periods after the start.
pub(crate) fn scan_at(tick: u64) -> LaserScan {
    let ray_rad = TAU / LASER_RANGES_MAX as f32;
    let mut scan = LaserScan {
        angle_max: TAU - ray_rad,
        angle_increment: ray_rad,
        time_increment: PERIOD.as_secs_f32() / LASER_RANGES_MAX as f32,
        scan_time: PERIOD.as_secs_f32(),
        range_min: 0.05,
        range_max: 10.0,
        count: LASER_RANGES_MAX as u32,
        ..LaserScan::default()
    };
    let (near_m, far_m) = WALKER_DISTANCE_M;
    let swing = (TAU * tick as f32 / WALKER_PERIOD_TICKS).cos();
    let walker_m = near_m + (far_m - near_m) * (1.0 + swing) / 2.0;
    for (ray, range) in scan.ranges.iter_mut().enumerate() {
        let (sin, cos) = (ray as f32 * ray_rad).sin_cos();
        let is_ahead = ray.min(LASER_RANGES_MAX - ray) <= WALKER_HALF_WIDTH_RAYS;
        *range = if is_ahead {
            walker_m
        } else {
            WALL_DISTANCE_M / sin.abs().max(cos.abs())
        };
    }
    // The timestamp is taken last, because making up a scan takes longer than sending it.
    scan.timestamp_ns = timestamp_now_ns();
    check::with_checksum(scan)
}
