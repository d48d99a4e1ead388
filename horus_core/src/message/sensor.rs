//! What sensors measure, after `sensor_msgs`.

use std::mem::offset_of;

crate::message! {
    /// One sample of an inertial measurement unit, as in `sensor_msgs/Imu`.
    ///
    /// Covariances are row-major 3 × 3 over x, y, z. All zeros means unknown; −1 as the first
    /// element means that the unit does not provide this quantity.
    ///
    /// ```text
    ///   0  timestamp_ns
    ///   8  orientation                     x, y, z, w
    ///  40  orientation_covariance          3 × 3
    /// 112  angular_velocity                x, y, z
    /// 136  angular_velocity_covariance     3 × 3
    /// 208  linear_acceleration             x, y, z
    /// 232  linear_acceleration_covariance  3 × 3
    /// 304
    /// ```
    pub struct Imu {
        /// When it was sampled: CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Of rotations about x, y, z: rad².
        pub orientation_covariance: [f64; 9],
        /// About x, y, z: radians per second.
        pub angular_velocity: [f64; 3],
        /// rad²/s².
        pub angular_velocity_covariance: [f64; 9],
        /// Along x, y, z, with gravity, as accelerometers report it: m/s².
        pub linear_acceleration: [f64; 3],
        /// m²/s⁴.
        pub linear_acceleration_covariance: [f64; 9],
    }
}

const _: () = {
    assert!(size_of::<Imu>() == 304);
    assert!(offset_of!(Imu, timestamp_ns) == 0);
    assert!(offset_of!(Imu, orientation) == 8);
    assert!(offset_of!(Imu, orientation_covariance) == 40);
    assert!(offset_of!(Imu, angular_velocity) == 112);
    assert!(offset_of!(Imu, angular_velocity_covariance) == 136);
    assert!(offset_of!(Imu, linear_acceleration) == 208);
    assert!(offset_of!(Imu, linear_acceleration_covariance) == 232);
};

impl Default for Imu {
    /// At rest with time 0, and an orientation that is marked as not provided.
    fn default() -> Self {
        let mut orientation_covariance = [0.0; 9];
        orientation_covariance[0] = -1.0;
        Self {
            timestamp_ns: 0,
            orientation: [0.0, 0.0, 0.0, 1.0],
            orientation_covariance,
            angular_velocity: [0.0; 3],
            angular_velocity_covariance: [0.0; 9],
            linear_acceleration: [0.0; 3],
            linear_acceleration_covariance: [0.0; 9],
        }
    }
}

/// The most ranges one [`LaserScan`] holds: one per degree of a full turn.
pub const LASER_RANGES_MAX: usize = 360;

crate::message! {
    /// One sweep of a planar range finder, as in `sensor_msgs/LaserScan` without intensities.
    ///
    /// Angles are about z, counter-clockwise, 0 along x. After REP-117 a range of +∞ means that
    /// nothing was seen, −∞ that something is too close, NaN that the measurement failed.
    ///
    /// ```text
    ///    0  timestamp_ns
    ///    8  angle_min
    ///   12  angle_max
    ///   16  angle_increment
    ///   20  time_increment
    ///   24  scan_time
    ///   28  range_min
    ///   32  range_max
    ///   36  count
    ///   40  ranges  360
    /// 1480
    /// ```
    pub struct LaserScan {
        /// When the first ray was measured: CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// Of the first ray: radians.
        pub angle_min: f32,
        /// Of the last ray: radians.
        pub angle_max: f32,
        /// From one ray to the next: radians.
        pub angle_increment: f32,
        /// From one ray to the next: seconds.
        pub time_increment: f32,
        /// From one sweep to the next: seconds.
        pub scan_time: f32,
        /// Shorter ranges are not valid: metres.
        pub range_min: f32,
        /// Longer ranges are not valid: metres.
        pub range_max: f32,
        /// How many of `ranges` were measured, from the first.
        pub count: u32,
        /// Distances in order of their angles: metres.
        pub ranges: [f32; LASER_RANGES_MAX],
    }
}

const _: () = {
    assert!(size_of::<LaserScan>() == 1480);
    assert!(offset_of!(LaserScan, timestamp_ns) == 0);
    assert!(offset_of!(LaserScan, angle_min) == 8);
    assert!(offset_of!(LaserScan, angle_max) == 12);
    assert!(offset_of!(LaserScan, angle_increment) == 16);
    assert!(offset_of!(LaserScan, time_increment) == 20);
    assert!(offset_of!(LaserScan, scan_time) == 24);
    assert!(offset_of!(LaserScan, range_min) == 28);
    assert!(offset_of!(LaserScan, range_max) == 32);
    assert!(offset_of!(LaserScan, count) == 36);
    assert!(offset_of!(LaserScan, ranges) == 40);
};

impl LaserScan {
    /// The ranges that were measured: the first `count`, or all if a peer claims more.
    ///
    /// ```
    /// use horus_core::message::LaserScan;
    ///
    /// let mut scan = LaserScan { count: 2, ..LaserScan::default() };
    /// scan.ranges[..2].copy_from_slice(&[1.5, f32::INFINITY]);
    /// assert_eq!(scan.measured(), [1.5, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn measured(&self) -> &[f32] {
        let count = usize::try_from(self.count).unwrap_or(LASER_RANGES_MAX);
        &self.ranges[..count.min(LASER_RANGES_MAX)]
    }
}

impl Default for LaserScan {
    /// No ranges, all zeros.
    fn default() -> Self {
        bytemuck::Zeroable::zeroed()
    }
}
