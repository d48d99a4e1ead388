//! Poses and velocities in space, after `geometry_msgs`.
//!
//! Axes follow REP-103: right-handed, x forward, y left, z up; angles are counter-clockwise.

use std::mem::offset_of;

use super::timestamp_now_ns;

crate::message! {
    /// Velocity of a body in space, as in `geometry_msgs/TwistStamped`.
    ///
    /// ```text
    ///  0  timestamp_ns
    ///  8  linear   x, y, z
    /// 32  angular  x, y, z
    /// 56
    /// ```
    #[derive(Default)]
    pub struct Twist {
        /// When it was measured or commanded: CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// Along x, y, z: metres per second.
        pub linear: [f64; 3],
        /// About x, y, z: radians per second.
        pub angular: [f64; 3],
    }
}

const _: () = {
    assert!(size_of::<Twist>() == 56);
    assert!(offset_of!(Twist, timestamp_ns) == 0);
    assert!(offset_of!(Twist, linear) == 8);
    assert!(offset_of!(Twist, angular) == 32);
};

impl Twist {
    /// A velocity stamped with the current time: `linear` in m/s, `angular` in rad/s.
    ///
    /// ```
    /// use horus_core::message::Twist;
    ///
    /// let climb = Twist::new([0.0, 0.0, 0.5], [0.0; 3]);
    /// assert_eq!(climb.linear[2], 0.5);
    /// ```
    #[must_use]
    pub fn new(linear: [f64; 3], angular: [f64; 3]) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), linear, angular }
    }
}

crate::message! {
    /// Position and heading in the plane, as in `geometry_msgs/Pose2D`.
    ///
    /// ```text
    ///  0  timestamp_ns
    ///  8  x
    /// 16  y
    /// 24  theta
    /// 32
    /// ```
    #[derive(Default)]
    pub struct Pose2D {
        /// When it was measured or commanded: CLOCK_REALTIME, nanoseconds.
        pub timestamp_ns: u64,
        /// Metres.
        pub x: f64,
        /// Metres.
        pub y: f64,
        /// Heading from the x axis, counter-clockwise: radians.
        pub theta: f64,
    }
}

const _: () = {
    assert!(size_of::<Pose2D>() == 32);
    assert!(offset_of!(Pose2D, timestamp_ns) == 0);
    assert!(offset_of!(Pose2D, x) == 8);
    assert!(offset_of!(Pose2D, y) == 16);
    assert!(offset_of!(Pose2D, theta) == 24);
};

impl Pose2D {
    /// A pose stamped with the current time: `x` and `y` in metres, `theta` in radians.
    ///
    /// ```
    /// use horus_core::message::Pose2D;
    ///
    /// let dock = Pose2D::new(1.0, 2.0, std::f64::consts::PI);
    /// assert_eq!((dock.x, dock.y), (1.0, 2.0));
    /// ```
    #[must_use]
    pub fn new(x: f64, y: f64, theta: f64) -> Self {
        Self { timestamp_ns: timestamp_now_ns(), x, y, theta }
    }
}
