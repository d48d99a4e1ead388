//! Where a robot is and how it moves, after `nav_msgs`.

use std::mem::offset_of;

crate::message! {
    /// Estimated pose and velocity of a body, as in `nav_msgs/Odometry`.
    ///
    /// The pose is in the `odom` frame, the velocity in the body's own frame (REP-105).
    /// Covariances are row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
    /// unknown.
    ///
    /// ```text
    ///   0  timestamp_ns
    ///   8  position          x, y, z
    ///  32  orientation       x, y, z, w
    ///  64  pose_covariance   6 × 6
    /// 352  linear            x, y, z
    /// 376  angular           x, y, z
    /// 400  twist_covariance  6 × 6
    /// 688
    /// ```
    pub struct Odometry {
        /// When the pose held: CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Of position (m²) and rotation (rad²), and their products (m·rad).
        pub pose_covariance: [f64; 36],
        /// Along x, y, z of the body: metres per second.
        pub linear: [f64; 3],
        /// About x, y, z of the body: radians per second.
        pub angular: [f64; 3],
        /// Of linear (m²/s²) and angular velocity (rad²/s²), and their products (m·rad/s²).
        pub twist_covariance: [f64; 36],
    }
}

const _: () = {
    assert!(size_of::<Odometry>() == 688);
    assert!(offset_of!(Odometry, timestamp_ns) == 0);
    assert!(offset_of!(Odometry, position) == 8);
    assert!(offset_of!(Odometry, orientation) == 32);
    assert!(offset_of!(Odometry, pose_covariance) == 64);
    assert!(offset_of!(Odometry, linear) == 352);
    assert!(offset_of!(Odometry, angular) == 376);
    assert!(offset_of!(Odometry, twist_covariance) == 400);
};

impl Default for Odometry {
    /// At the origin, not rotated, at rest, with unknown covariances and time 0.
    fn default() -> Self {
        Self {
            timestamp_ns: 0,
            position: [0.0; 3],
            orientation: [0.0, 0.0, 0.0, 1.0],
            pose_covariance: [0.0; 36],
            linear: [0.0; 3],
            angular: [0.0; 3],
            twist_covariance: [0.0; 36],
        }
    }
}
