//! Conversions of points, vectors and quaternions to arrays, and of poses to transforms.

use crate::message::{
    NavGoal, Odometry, Point3, Pose2D, Pose3D, PoseStamped, PoseWithCovariance, Quaternion,
    Transform, TransformStamped, Vector3, Waypoint,
};

/// Implements `From` in both directions between a struct and an array of its fields, in the same
/// order.
macro_rules! arrays {
    ($($type:ident [$($part:ident),+] $count:literal)+) => {$(
        impl From<[f64; $count]> for $type {
            fn from([$($part),+]: [f64; $count]) -> Self {
                Self { $($part),+ }
            }
        }

        impl From<$type> for [f64; $count] {
            fn from($type { $($part),+ }: $type) -> Self {
                [$($part),+]
            }
        }
    )+};
}

arrays! {
    Point3 [x, y, z] 3
    Vector3 [x, y, z] 3
    Quaternion [x, y, z, w] 4
}

impl From<Point3> for Vector3 {
    /// Converts a point to the vector that leads from the origin to it.
    fn from(Point3 { x, y, z }: Point3) -> Self {
        Self { x, y, z }
    }
}

impl From<Vector3> for Point3 {
    /// Converts a vector to the point to which it leads from the origin.
    fn from(Vector3 { x, y, z }: Vector3) -> Self {
        Self { x, y, z }
    }
}

/// Implements the conversion to a [`Transform`] for messages with a position and an orientation.
macro_rules! poses {
    ($($type:ident)+) => {$(
        impl From<&$type> for Transform {
            /// Returns the transform from the frame of the body to the frame in which the pose is
            /// given.
            fn from(pose: &$type) -> Self {
                Self::new(pose.position, pose.orientation)
            }
        }
    )+};
}

poses! { Pose3D PoseStamped PoseWithCovariance Odometry NavGoal Waypoint }

impl From<&TransformStamped> for Transform {
    fn from(stamped: &TransformStamped) -> Self {
        stamped.transform()
    }
}

impl From<&Pose2D> for Pose3D {
    /// Converts a planar pose to a pose in space: at height 0, without roll and pitch, and with the
    /// same time.
    fn from(pose: &Pose2D) -> Self {
        let (sin, cos) = (pose.theta / 2.0).sin_cos();
        let position = [pose.x, pose.y, 0.0];
        Self {
            timestamp_ns: pose.timestamp_ns,
            position,
            orientation: [0.0, 0.0, sin, cos],
        }
    }
}
