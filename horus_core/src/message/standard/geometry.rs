//! Poses, transforms, velocities and forces in space, after `geometry_msgs`.
//!
//! Axes follow REP-103: right-handed, x forward, y left, z up; angles are counter-clockwise.
//! Quaternions are x, y, z, w.

use std::fmt;

use bytemuck::Zeroable;

use crate::message::{Text, timestamp_now_ns};

/// Maximum length of a frame name in bytes. WHY 32: `left_gripper_camera_optical` has 27.
pub const FRAME_ID_BYTES: usize = 32;

/// The name of a coordinate frame, such as `map`, `odom` or `base_link` (REP-105).
pub type FrameId = Text<FRAME_ID_BYTES>;

/// The quaternion x, y, z, w of no rotation.
pub(crate) const IDENTITY_QUATERNION: [f64; 4] = [0.0, 0.0, 0.0, 1.0];

crate::message! {
    /// A point in space, like `geometry_msgs/Point`. It has no timestamp: it is for use inside
    /// other messages, and for computing.
    #[derive(Default)]
    pub struct Point3 {
        /// Coordinate x: metres.
        pub x: f64,
        /// Coordinate y: metres.
        pub y: f64,
        /// Coordinate z: metres.
        pub z: f64,
    }
}
layout! { Point3 = 24 { x: 0, y: 8, z: 16 } }

impl Point3 {
    /// Returns the point with these coordinates, in metres.
    #[must_use]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }
}

crate::message! {
    /// A direction with a length, like `geometry_msgs/Vector3`. It has no timestamp: it is for use
    /// inside other messages, and for computing.
    #[derive(Default)]
    pub struct Vector3 {
        /// Component along x: depends on the use.
        pub x: f64,
        /// Component along y: depends on the use.
        pub y: f64,
        /// Component along z: depends on the use.
        pub z: f64,
    }
}
layout! { Vector3 = 24 { x: 0, y: 8, z: 16 } }

impl Vector3 {
    /// Returns the vector with these components.
    #[must_use]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }
}

crate::message! {
    /// A rotation in space as a unit quaternion, like `geometry_msgs/Quaternion`. It has no
    /// timestamp: it is for use inside other messages, and for computing.
    pub struct Quaternion {
        /// sin(half the angle) times the axis along x: no unit.
        pub x: f64,
        /// sin(half the angle) times the axis along y: no unit.
        pub y: f64,
        /// sin(half the angle) times the axis along z: no unit.
        pub z: f64,
        /// cos(half the angle): no unit.
        pub w: f64,
    }
}
layout! { Quaternion = 32 { x: 0, y: 8, z: 16, w: 24 } }

impl Quaternion {
    /// The rotation by the angle 0.
    pub const IDENTITY: Self = Self::new(0.0, 0.0, 0.0, 1.0);

    /// Returns the quaternion with these components. It is not normalised.
    #[must_use]
    pub const fn new(x: f64, y: f64, z: f64, w: f64) -> Self {
        Self { x, y, z, w }
    }
}

impl Default for Quaternion {
    /// Returns [`IDENTITY`](Self::IDENTITY).
    fn default() -> Self {
        Self::IDENTITY
    }
}

crate::message! {
    /// Pose of a child frame in its parent frame, like `geometry_msgs/Transform`. It converts
    /// coordinates of the child's frame to the parent's: it rotates them and then translates them.
    /// It has no names and no timestamp: it is for computing; [`TransformStamped`] is the message
    /// to send.
    pub struct Transform {
        /// The child's origin in the parent's frame, x, y, z: metres.
        pub translation: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub rotation: [f64; 4],
    }
}
layout! { Transform = 56 { translation: 0, rotation: 24 } }

impl Transform {
    /// The transform that leaves every point where it is.
    pub const IDENTITY: Self = Self::new([0.0; 3], IDENTITY_QUATERNION);

    /// Returns a transform. `translation` is in metres, and `rotation` is a unit quaternion x, y,
    /// z, w.
    #[must_use]
    pub const fn new(translation: [f64; 3], rotation: [f64; 4]) -> Self {
        Self {
            translation,
            rotation,
        }
    }
}

impl Default for Transform {
    /// Returns [`IDENTITY`](Self::IDENTITY).
    fn default() -> Self {
        Self::IDENTITY
    }
}

crate::message! {
    /// Position and heading in the plane, like `geometry_msgs/Pose2D`; in the frame of the topic.
    #[derive(Default)]
    pub struct Pose2D {
        /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Coordinate x: metres.
        pub x: f64,
        /// Coordinate y: metres.
        pub y: f64,
        /// Heading from the x axis, counter-clockwise: radians.
        pub theta: f64,
    }
}
layout! { Pose2D = 32 { timestamp_ns: 0, x: 8, y: 16, theta: 24 } }

impl Pose2D {
    /// Returns a pose stamped with the current time: `x` and `y` in metres, `theta` in radians.
    ///
    /// ```
    /// use horus_core::message::Pose2D;
    ///
    /// let dock = Pose2D::new(1.0, 2.0, std::f64::consts::PI);
    /// assert_eq!((dock.x, dock.y), (1.0, 2.0));
    /// ```
    #[must_use]
    pub fn new(x: f64, y: f64, theta: f64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            x,
            y,
            theta,
        }
    }
}

impl fmt::Display for Pose2D {
    /// Formats the pose like `(1.000, 2.000) m, 3.142 rad`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:.3}, {:.3}) m, {:.3} rad", self.x, self.y, self.theta)
    }
}

crate::message! {
    /// Position and orientation in space, like `geometry_msgs/Pose` with a time; in the frame of
    /// the topic. Its size is one cache line.
    pub struct Pose3D {
        /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
    }
}
layout! { Pose3D = 64 { timestamp_ns: 0, position: 8, orientation: 32 } }

impl Pose3D {
    /// Returns a pose stamped with the current time: `position` in metres, `orientation` x, y, z,
    /// w.
    ///
    /// ```
    /// use horus_core::message::{Pose3D, Quaternion};
    ///
    /// let hover = Pose3D::new([0.0, 0.0, 1.5], Quaternion::IDENTITY.into());
    /// assert_eq!(hover.to_string(), "(0.000, 0.000, 1.500) m, xyzw (0.000, 0.000, 0.000, 1.000)");
    /// ```
    #[must_use]
    pub fn new(position: [f64; 3], orientation: [f64; 4]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            position,
            orientation,
        }
    }
}

impl Default for Pose3D {
    /// Returns a pose at the origin, not rotated, with time 0.
    fn default() -> Self {
        Self {
            orientation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

impl fmt::Display for Pose3D {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format_pose(f, self.position, self.orientation)
    }
}

/// Formats a pose like `(1.000, 2.000, 0.000) m, xyzw (0.000, 0.000, 0.000, 1.000)`.
fn format_pose(
    f: &mut fmt::Formatter<'_>,
    [x, y, z]: [f64; 3],
    [qx, qy, qz, qw]: [f64; 4],
) -> fmt::Result {
    write!(
        f,
        "({x:.3}, {y:.3}, {z:.3}) m, xyzw ({qx:.3}, {qy:.3}, {qz:.3}, {qw:.3})"
    )
}

crate::message! {
    /// Position and orientation in a named frame, like `geometry_msgs/PoseStamped`.
    pub struct PoseStamped {
        /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of the pose: text.
        pub frame_id: FrameId,
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
    }
}
layout! { PoseStamped = 96 { timestamp_ns: 0, frame_id: 8, position: 40, orientation: 64 } }

impl PoseStamped {
    /// Returns a pose in `frame_id`, stamped with the current time: `position` in metres,
    /// `orientation` x, y, z, w.
    #[must_use]
    pub fn new(frame_id: FrameId, position: [f64; 3], orientation: [f64; 4]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            frame_id,
            position,
            orientation,
        }
    }
}

impl Default for PoseStamped {
    /// Returns a pose at the origin of a frame without a name, not rotated, with time 0.
    fn default() -> Self {
        Self {
            orientation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

impl fmt::Display for PoseStamped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.frame_id)?;
        format_pose(f, self.position, self.orientation)
    }
}

crate::message! {
    /// An estimated pose, like `geometry_msgs/PoseWithCovariance` with a time; in the frame of the
    /// topic, usually `map`.
    ///
    /// The covariance is row-major 6 × 6 over (x, y, z, rotation about x, y, z); all zeros means
    /// unknown.
    pub struct PoseWithCovariance {
        /// Time for which the pose is valid, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Position x, y, z: metres.
        pub position: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub orientation: [f64; 4],
        /// Covariance of the position, of position and rotation, and of the rotation: m², m·rad,
        /// rad².
        pub covariance: [f64; 36],
    }
}
layout! {
    PoseWithCovariance = 352 {
        timestamp_ns: 0, position: 8, orientation: 32, covariance: 64,
    }
}

impl PoseWithCovariance {
    /// Returns an estimate stamped with the current time: `position` in metres, `orientation` x, y,
    /// z, w, `covariance` row-major 6 × 6 over (x, y, z, rotation about x, y, z).
    #[must_use]
    pub fn new(position: [f64; 3], orientation: [f64; 4], covariance: [f64; 36]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            position,
            orientation,
            covariance,
        }
    }
}

impl Default for PoseWithCovariance {
    /// Returns a pose at the origin, not rotated, with an unknown covariance and time 0.
    fn default() -> Self {
        Self {
            orientation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

impl fmt::Display for PoseWithCovariance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format_pose(f, self.position, self.orientation)
    }
}

crate::message! {
    /// Velocity of a body in space, like `geometry_msgs/TwistStamped`; in the body's own frame.
    #[derive(Default)]
    pub struct Twist {
        /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Velocity along x, y, z: metres per second.
        pub linear: [f64; 3],
        /// Angular velocity about x, y, z: radians per second.
        pub angular: [f64; 3],
    }
}
layout! { Twist = 56 { timestamp_ns: 0, linear: 8, angular: 32 } }

impl Twist {
    /// Returns a velocity stamped with the current time: `linear` in m/s, `angular` in rad/s.
    ///
    /// ```
    /// use horus_core::message::Twist;
    ///
    /// let climb = Twist::new([0.0, 0.0, 0.5], [0.0; 3]);
    /// assert_eq!(climb.linear[2], 0.5);
    /// ```
    #[must_use]
    pub fn new(linear: [f64; 3], angular: [f64; 3]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            linear,
            angular,
        }
    }
}

crate::message! {
    /// An estimated velocity, like `geometry_msgs/TwistWithCovariance` with a time; in the body's
    /// own frame.
    ///
    /// The covariance is row-major 6 × 6 over (velocity along x, y, z, and about x, y, z); all
    /// zeros means unknown.
    pub struct TwistWithCovariance {
        /// Time for which the velocity is valid, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Velocity along x, y, z: metres per second.
        pub linear: [f64; 3],
        /// Angular velocity about x, y, z: radians per second.
        pub angular: [f64; 3],
        /// Covariance of the linear velocity, of linear and angular velocity, and of the angular
        /// velocity: m²/s², m·rad/s², rad²/s².
        pub covariance: [f64; 36],
    }
}
layout! { TwistWithCovariance = 344 { timestamp_ns: 0, linear: 8, angular: 32, covariance: 56 } }

impl TwistWithCovariance {
    /// Returns an estimate stamped with the current time: `linear` in m/s, `angular` in rad/s,
    /// `covariance` row-major 6 × 6 over (velocity along x, y, z, and about x, y, z).
    #[must_use]
    pub fn new(linear: [f64; 3], angular: [f64; 3], covariance: [f64; 36]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            linear,
            angular,
            covariance,
        }
    }
}

impl Default for TwistWithCovariance {
    /// Returns the velocity of a body at rest, with an unknown covariance and time 0.
    fn default() -> Self {
        Self::zeroed()
    }
}

crate::message! {
    /// Acceleration of a body in space, like `geometry_msgs/AccelStamped`; in the body's own frame.
    #[derive(Default)]
    pub struct Accel {
        /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Acceleration along x, y, z: m/s².
        pub linear: [f64; 3],
        /// Angular acceleration about x, y, z: rad/s².
        pub angular: [f64; 3],
    }
}
layout! { Accel = 56 { timestamp_ns: 0, linear: 8, angular: 32 } }

impl Accel {
    /// Returns an acceleration stamped with the current time: `linear` in m/s², `angular` in
    /// rad/s².
    #[must_use]
    pub fn new(linear: [f64; 3], angular: [f64; 3]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            linear,
            angular,
        }
    }
}

crate::message! {
    /// Pose of the frame `child_frame_id` in the frame `frame_id`, like
    /// `geometry_msgs/TransformStamped`. It converts coordinates of the child's frame to the
    /// parent's.
    pub struct TransformStamped {
        /// Time for which the transform is valid, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Name of the parent, such as `odom`: text.
        pub frame_id: FrameId,
        /// Name of the child, such as `base_link`: text.
        pub child_frame_id: FrameId,
        /// The child's origin in the parent's frame, x, y, z: metres.
        pub translation: [f64; 3],
        /// Unit quaternion x, y, z, w: no unit.
        pub rotation: [f64; 4],
    }
}
layout! {
    TransformStamped = 128 {
        timestamp_ns: 0, frame_id: 8, child_frame_id: 40, translation: 72, rotation: 96,
    }
}

impl TransformStamped {
    /// Returns the transform that gives the pose of `child_frame_id` in `frame_id`. It is stamped
    /// with the current time.
    #[must_use]
    pub fn new(frame_id: FrameId, child_frame_id: FrameId, transform: Transform) -> Self {
        let Transform {
            translation,
            rotation,
        } = transform;
        let timestamp_ns = timestamp_now_ns();
        Self {
            timestamp_ns,
            frame_id,
            child_frame_id,
            translation,
            rotation,
        }
    }

    /// Returns the transform alone, without frame names and time.
    #[must_use]
    pub const fn transform(&self) -> Transform {
        Transform::new(self.translation, self.rotation)
    }
}

impl Default for TransformStamped {
    /// Returns the identity transform between two frames without names, with time 0.
    fn default() -> Self {
        Self {
            rotation: IDENTITY_QUATERNION,
            ..Self::zeroed()
        }
    }
}

impl fmt::Display for TransformStamped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}: ", self.child_frame_id, self.frame_id)?;
        format_pose(f, self.translation, self.rotation)
    }
}

crate::message! {
    /// Force and torque on a body about the origin of its frame, like `geometry_msgs/Wrench` with a
    /// time. The frame is that of the body or of the sensor.
    #[derive(Default)]
    pub struct Wrench {
        /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Force along x, y, z: newtons.
        pub force: [f64; 3],
        /// Torque about x, y, z: N·m.
        pub torque: [f64; 3],
    }
}
layout! { Wrench = 56 { timestamp_ns: 0, force: 8, torque: 32 } }

impl Wrench {
    /// Returns a wrench stamped with the current time: `force` in N, `torque` in N·m.
    #[must_use]
    pub fn new(force: [f64; 3], torque: [f64; 3]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            force,
            torque,
        }
    }
}

crate::message! {
    /// Force and torque in a named frame and about its origin, like `geometry_msgs/WrenchStamped`.
    #[derive(Default)]
    pub struct WrenchStamped {
        /// Time of the measurement or command, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Frame of force and torque: text.
        pub frame_id: FrameId,
        /// Force along x, y, z: newtons.
        pub force: [f64; 3],
        /// Torque about x, y, z: N·m.
        pub torque: [f64; 3],
    }
}
layout! { WrenchStamped = 88 { timestamp_ns: 0, frame_id: 8, force: 40, torque: 64 } }

impl WrenchStamped {
    /// Returns a wrench in `frame_id`, stamped with the current time: `force` in N, `torque` in
    /// N·m.
    #[must_use]
    pub fn new(frame_id: FrameId, force: [f64; 3], torque: [f64; 3]) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            frame_id,
            force,
            torque,
        }
    }
}
