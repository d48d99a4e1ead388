//! The list of all standard messages, by domain: what exports, tests and tools go through.

use super::{Message, Schema};

/// Calls the macro of this name with every domain and its messages:
/// `callback! { geometry "Poses, …" { Point3, Vector3, … } sensor "What …" { … } … }`.
#[doc(hidden)]
#[macro_export]
macro_rules! standard_messages {
    ($callback:ident) => {
        $callback! {
            geometry "Poses, transforms, velocities and forces" {
                Point3, Vector3, Quaternion, Transform, Pose2D, Pose3D, PoseStamped,
                PoseWithCovariance, Twist, TwistWithCovariance, Accel, TransformStamped, Wrench,
                WrenchStamped
            }
            sensor "What sensors measure" {
                Imu, LaserScan, RangeSensor, JointState, BatteryState, NavSatFix, MagneticField,
                Temperature, FluidPressure, Illuminance, TactileArray
            }
            control "What actuators and controllers are told" {
                CmdVel, JointCommand, MotorCommand, ServoCommand, DifferentialDriveCommand,
                PidConfig, TrajectoryPoint, ForceCommand, ImpedanceParameters
            }
            navigation "Where a robot is, and is to go" {
                Odometry, NavGoal, GoalResult, Waypoint, NavPath
            }
            perception "What is recognised, and cameras" {
                BoundingBox2D, BoundingBox3D, Detection, Detection3D, TrackedObject, Landmark,
                PlaneDetection, RegionOfInterest, CameraInfo
            }
            diagnostics "How the robot is" {
                Heartbeat, NodeHeartbeat, DiagnosticValue, DiagnosticStatus, EmergencyStop,
                SafetyStatus, ResourceUsage
            }
            time "Other clocks" {
                Clock, TimeReference
            }
            input "What a person does" {
                JoystickInput, KeyboardInput
            }
        }
    };
}

/// The messages of one file of this module.
#[derive(Debug, Clone, Copy)]
pub struct Domain {
    /// Its name, as `geometry`.
    pub name: &'static str,
    /// What is in it.
    pub title: &'static str,
    /// The messages, those inside others first.
    pub messages: &'static [&'static Schema],
}

macro_rules! tables {
    ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
        /// Every standard message, by domain.
        pub const STANDARD: &[&Schema] =
            &[$($(&<super::$domain::$name as Message>::SCHEMA),+),+];

        /// The domains of the standard messages.
        pub const STANDARD_DOMAINS: &[Domain] = &[$(Domain {
            name: stringify!($domain),
            title: $title,
            messages: &[$(&<super::$domain::$name as Message>::SCHEMA),+],
        }),+];
    };
}
standard_messages!(tables);
